/* Sleeps below a function whose variables take more of the stack than a copy of it holds: twenty times for a
 * millisecond, then, with an argument, once for three seconds. Before the recorder comes to its first record
 * it reads the kernel's symbols. Built without frame pointers the stacks can only be found by unwinding. */
#define _GNU_SOURCE
#include <time.h>

#define NEVER_INLINED __attribute__((noinline))

static volatile int sink;

NEVER_INLINED void pause_here(long milliseconds)
{
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&t, NULL);
    sink++;
}

NEVER_INLINED void roomy(long milliseconds)
{
    volatile char room[40000];
    room[sink] = 1;
    pause_here(milliseconds);
    sink += room[sink % 100];
}

NEVER_INLINED void outer(int count, long milliseconds)
{
    for (int i = 0; i < count; i++) {
        roomy(milliseconds);
        sink++;
    }
}

int main(int count, char **arguments)
{
    (void)arguments;
    outer(20, 1);
    outer(count - 1, 3000);
    return 0;
}
