// Runs a command and prints as JSON what it took from its start to its end: `wall_ns` and `cpu_ns`, with that
// of the processes that it waited for, and in `pieces_ns` how long after each other its lines of output came.
//
// usage: timed COMMAND [ARGUMENT...]
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECES 100000

static long long pieces[PIECES];

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long ns(struct timeval time) {
    return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL;
}

// Reads lines until the other end is closed, and returns how many.
static int read_pieces(int output) {
    char buffer[4096];
    int count = 0;
    long long before = now();
    for (ssize_t size; (size = read(output, buffer, sizeof buffer)) > 0;) {
        long long at = now();
        for (ssize_t i = 0; i < size; i++) {
            if (buffer[i] != '\n' || count == PIECES) continue;
            pieces[count++] = at - before;
            before = at;
        }
    }
    return count;
}

int main(int argc, char **argv) {
    int ends[2];
    if (argc < 2 || pipe(ends) < 0) return 2;
    long long start = now();
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    close(ends[1]);
    int count = child < 0 ? 0 : read_pieces(ends[0]);
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        perror("timed");
        return 1;
    }
    long long wall = now() - start, cpu = ns(usage.ru_utime) + ns(usage.ru_stime);
    printf("{\"wall_ns\": %lld, \"cpu_ns\": %lld, \"pieces_ns\": [", wall, cpu);
    for (int i = 0; i < count; i++) printf(i ? ", %lld" : "%lld", pieces[i]);
    printf("]}\n");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
