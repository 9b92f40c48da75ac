/* Two processes hand one byte to and fro through two pipes on one CPU: two context switches a round
 * trip and hardly any other work, below DEPTH frames of its own. Prints the switches and the CPU
 * time that both processes used, so that a recorder's cost can be told from the program's.
 *
 * usage: pingpong ROUND_TRIPS [DEPTH]
 * prints: {"switches":N,"cpu_ns":N,"wall_ns":N}
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long cpu_ns(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

static void play(int in, int out, long rounds, int serve)
{
    char byte = 0;
    for (long i = 0; i < rounds; i++) {
        if (serve && write(out, &byte, 1) != 1)
            exit(1);
        if (read(in, &byte, 1) != 1)
            exit(1);
        if (!serve && write(out, &byte, 1) != 1)
            exit(1);
    }
}

/* Adds frames between main and the system call, as real programs have them. */
static __attribute__((noinline)) void descend(int depth, int in, int out, long rounds, int serve)
{
    if (depth > 0)
        descend(depth - 1, in, out, rounds, serve);
    else
        play(in, out, rounds, serve);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    int depth = argc > 2 ? atoi(argv[2]) : 8;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);

    int there[2], back[2];
    if (pipe(there) || pipe(back))
        return 1;
    long long start = clock_ns(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        descend(depth, there[0], back[1], rounds, 0);
        _exit(0);
    }
    descend(depth, back[0], there[1], rounds, 1);
    int status;
    waitpid(child, &status, 0);
    printf("{\"switches\":%ld,\"cpu_ns\":%lld,\"wall_ns\":%lld}\n", 2 * rounds,
           cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN), clock_ns(CLOCK_MONOTONIC) - start);
    return status != 0;
}
