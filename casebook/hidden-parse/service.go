// A service whose start-up hook reads settings, among them times.
//
//	service guilty     times are text, read in the way of the user's culture
//	service fixed      times are constants of the program's own format
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	cultures = 240
	settings = 400000
)

// culture is how a user writes numbers and times.
type culture struct {
	separators map[string]string
}

var ofUser = sync.OnceValue(loadCulture)

// loadCulture reads the profile store: what each culture writes, to find the user's.
//
//go:noinline
func loadCulture() culture {
	found := culture{map[string]string{}}
	for n := range cultures {
		text, err := os.ReadFile(profile(n))
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			found.separators[strings.ToLower(name)] = value
		}
	}
	return found
}

// parseTimeSpan reads days.hours:minutes:seconds.
//
//go:noinline
func parseTimeSpan(text string, separator string) time.Duration {
	days, rest, _ := strings.Cut(text, ".")
	parts := strings.Split(rest, separator)
	seconds := number(days)*24*3600 + number(parts[0])*3600 + number(parts[1])*60 + number(parts[2])
	return time.Duration(seconds) * time.Second
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}

// readTimeout is two levels below the hook, and nobody who reads the hook sees the culture.
//
//go:noinline
func readTimeout(kind string, minutes int) time.Duration {
	separator := ":"
	if kind == "guilty" {
		separator = ofUser().separators["time.7"]
	}
	return parseTimeSpan(fmt.Sprintf("00.00:%02d:00", minutes), separator)
}

//go:noinline
func onStart(kind string) (all time.Duration) {
	for n := range settings {
		all += readTimeout(kind, n%60)
		register(n)
	}
	return all
}

var registered [1 << 16]uint64

// register is what the hook does with every setting.
//
//go:noinline
func register(setting int) {
	sum := uint64(setting)
	for range 200 {
		sum = sum*6364136223846793005 + 1442695040888963407
	}
	registered[setting%len(registered)] ^= sum
}

func profile(n int) string {
	return filepath.Join("profiles", fmt.Sprintf("culture-%d", n))
}

// makeProfiles writes the profile store.
func makeProfiles() {
	if err := os.MkdirAll("profiles", 0o755); err != nil {
		panic(err)
	}
	for n := range cultures {
		var text strings.Builder
		for k := range 6000 {
			fmt.Fprintf(&text, "Time.%d=:\n", n*6000+k)
		}
		if err := os.WriteFile(profile(n), []byte(text.String()), 0o644); err != nil {
			panic(err)
		}
	}
	syscall.Sync()
}

// forget drops the store from the page cache, as after a boot.
func forget() {
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	for n := range cultures {
		file, err := os.Open(profile(n))
		if err != nil {
			panic(err)
		}
		syscall.Syscall6(syscall.SYS_FADVISE64, file.Fd(), 0, 0, dontNeed, 0, 0)
		file.Close()
	}
}

func main() {
	if os.Args[1] == "make" {
		makeProfiles()
		return
	}
	// User interfaces and the like want their thread.
	runtime.LockOSThread()
	forget()
	all := onStart(os.Args[1])
	if all != settings/60*1770*time.Minute+remainder() {
		panic(all)
	}
	fmt.Println("timeouts of", all, "in all")
}

// remainder is what the last settings that fill no hour add.
func remainder() (rest time.Duration) {
	for n := range settings % 60 {
		rest += time.Duration(n) * time.Minute
	}
	return rest
}
