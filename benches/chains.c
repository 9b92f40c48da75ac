// Work for a profiler: some hundred call chains of 12 to 28 frames, that end in user code, in libc,
// in page faults and in system calls.
//
// usage: chains THREADS SECONDS
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int done;

static int ascending(const void *a, const void *b) {
    return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

__attribute__((noinline)) static uint64_t spin(uint64_t seed) {
    for (int i = 0; i < 2000; i++) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

__attribute__((noinline)) static uint64_t sort(uint64_t seed) {
    uint32_t numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = (uint32_t)(seed = seed * 6364136223846793005u + 1);
    qsort(numbers, 64, sizeof *numbers, ascending);
    return seed ^ numbers[7];
}

__attribute__((noinline)) static uint64_t touch(uint64_t seed) {
    char *pages = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return seed;
    for (int i = 0; i < 1 << 16; i += 4096) pages[i] = (char)seed;
    munmap(pages, 1 << 16);
    return seed + 1;
}

__attribute__((noinline)) static uint64_t ask(uint64_t seed) {
    for (int i = 0; i < 20; i++) seed += (uint64_t)syscall(SYS_getppid);
    return seed;
}

static uint64_t down(uint64_t path, int left);

#define STEP(name, twist)                                                  \
    __attribute__((noinline)) static uint64_t name(uint64_t path, int left) { \
        uint64_t got = down(path >> 1, left - 1);                           \
        return got ^ (twist);                                               \
    }
STEP(parse, 1)
STEP(plan, 2)
STEP(join, 3)
STEP(scan, 4)
STEP(filter, 5)
STEP(encode, 6)
STEP(write_out, 7)
STEP(lookup, 8)

__attribute__((noinline)) static uint64_t down(uint64_t path, int left) {
    if (left <= 0) {
        switch (path & 7) {
        case 0: return touch(path);
        case 1: return ask(path);
        case 2: case 3: case 4: return sort(path);
        default: return spin(path);
        }
    }
    uint64_t got;
    switch (path & 7) {
    case 0: got = parse(path, left); break;
    case 1: got = plan(path, left); break;
    case 2: got = join(path, left); break;
    case 3: got = scan(path, left); break;
    case 4: got = filter(path, left); break;
    case 5: got = encode(path, left); break;
    case 6: got = write_out(path, left); break;
    default: got = lookup(path, left); break;
    }
    return got + 1;
}

static void *serve(void *arg) {
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    while (!done) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        // 512 paths; the upper bits repeat them, so that the whole depth has its turns.
        uint64_t path = seed >> 55;
        down(path | path << 9 | path << 18, 6 + (int)(path % 9));
    }
    return 0;
}

int main(int count, char **words) {
    int threads = count > 1 ? atoi(words[1]) : 2;
    double seconds = count > 2 ? atof(words[2]) : 1;
    pthread_t ids[64];
    if (threads > 64) threads = 64;
    for (int i = 0; i < threads; i++) pthread_create(&ids[i], 0, serve, (void *)(uintptr_t)(i + 1));
    struct timespec pause = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&pause, 0);
    done = 1;
    for (int i = 0; i < threads; i++) pthread_join(ids[i], 0);
    return 0;
}
