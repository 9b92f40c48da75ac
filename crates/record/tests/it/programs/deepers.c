/* Sleeps a hundred times below three functions, then computes for 200 ms of CPU time. Built without frame
 * pointers its stacks can only be found by unwinding. */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>

#define NEVER_INLINED __attribute__((noinline))

static volatile uint64_t sink;

NEVER_INLINED void pause_here(int i)
{
    struct timespec t = {0, 1000000 + i % 2};
    nanosleep(&t, NULL);
    sink++;
}

NEVER_INLINED void middle(int i)
{
    volatile char room[200];
    room[i % 200] = (char)i;
    pause_here(i);
    sink += room[i % 200];
}

NEVER_INLINED void outer(void)
{
    for (int i = 0; i < 100; i++) {
        middle(i);
        sink++;
    }
}

NEVER_INLINED void spin(void)
{
    struct timespec start, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    do {
        for (int i = 0; i < 100000; i++)
            sink = sink * 6364136223846793005u + 1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec - start.tv_nsec < 200000000);
}

int main(void)
{
    outer();
    spin();
    return 0;
}
