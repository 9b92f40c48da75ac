/* A service that adds up orders again and again; its image holds nothing else. */
#include <stdint.h>
#include <time.h>

static volatile uint64_t orders[4096];

__attribute__((noinline)) static uint64_t add_up_orders(int rounds) {
    uint64_t sum = 0;
    for (int round = 0; round < rounds; round++)
        for (int at = 0; at < 4096; at++)
            sum += orders[at] * (uint64_t)(round + 1);
    return sum;
}

int main(void) {
    struct timespec pause = {0, 2000000};
    uint64_t sum = 1;
    /* It ends by itself, should nobody end it. */
    for (time_t end = time(NULL) + 60; time(NULL) < end; nanosleep(&pause, NULL))
        sum += add_up_orders(2000);
    return sum == 0;
}
