/* Known numbers of allocations of known sizes, each kind from a function of its own.
 *
 *   allocs N   ten times as many of the plain ones when N is 10
 *
 * `plain` 1000 times 64 bytes, `zeroed` 200 times 3 x 50, `grown` 100 times from nothing to 40 bytes
 * and then to 4000, `aligned` 50 times 256 bytes by three functions, `helper` 300 times 128 bytes in a
 * thread. `realloc` of nothing and alignments that need no care become `malloc` inside the C library,
 * which is no second allocation. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static void *volatile kept;

APART static void plain(long times) {
    for (long i = 0; i < times; i++) {
        kept = malloc(64);
        free(kept);
    }
}

APART static void zeroed(void) {
    for (int i = 0; i < 200; i++) {
        kept = calloc(3, 50);
        free(kept);
    }
}

APART static void grown(void) {
    for (int i = 0; i < 100; i++) {
        void *volatile nothing = NULL;
        kept = realloc(nothing, 40);
        kept = realloc(kept, 4000);
        free(kept);
    }
}

APART static void aligned(void) {
    for (int i = 0; i < 50; i++) {
        void *here;
        if (posix_memalign(&here, 16, 256) == 0) {
            kept = here;
            free(kept);
        }
        kept = aligned_alloc(16, 256);
        free(kept);
        kept = memalign(64, 256);
        free(kept);
    }
}

APART static void *helper(void *unused) {
    for (int i = 0; i < 300; i++) {
        kept = malloc(128);
        free(kept);
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    plain(1000 * (count > 1 ? atol(words[1]) : 1));
    zeroed();
    grown();
    aligned();
    if (pthread_create(&thread, NULL, helper, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    return 0;
}
