// Something to record: calls of known depth that spin, a thread that naps, memory that is touched.
//
// usage: work DEPTH ROUNDS NAPS
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile uint64_t sink;

__attribute__((noinline)) void spin(void) {
    for (int i = 0; i < 300000; i++) sink = sink * 6364136223846793005u + 1;
}

__attribute__((noinline)) void touch(void) {
    char *pages = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return;
    for (int at = 0; at < 1 << 16; at += 4096) pages[at] = 1;
    munmap(pages, 1 << 16);
}

__attribute__((noinline)) void parse(int depth) {
    volatile char room[64];
    room[depth & 63] = 1;
    if (depth > 0) parse(depth - 1);
    else spin();
    sink += (uint64_t)room[0];
}

__attribute__((noinline)) void serve(int depth) {
    parse(depth);
    touch();
    sink++;
}

static void *nap(void *naps) {
    for (intptr_t left = (intptr_t)naps; left > 0; left--) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, 0);
    }
    return 0;
}

int main(int count, char **words) {
    int depth = count > 1 ? atoi(words[1]) : 3, rounds = count > 2 ? atoi(words[2]) : 100;
    pthread_t napper;
    pthread_create(&napper, 0, nap, (void *)(intptr_t)(count > 3 ? atoi(words[3]) : 20));
    for (int round = 0; round < rounds; round++) serve(round % (depth + 1));
    pthread_join(napper, 0);
    return 0;
}
