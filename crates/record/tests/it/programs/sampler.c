/* The sampler of allocations in a program of its own, with a fixed seed and events that are counted.
 *
 * Prints for each kind of allocation the true number and bytes, then the number of samples, and what they say:
 * number, bytes, the variances of both. The weights are computed as the recorder computes them. */
#ifndef CULPRIT_TEST
#define CULPRIT_TEST 20261127
#endif
#define MANY UINT64_MAX
#include "../../../shim/allocations.c"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL, MIXED, LARGE, ZEROED, GROWN, ALIGNED, THREAD, KINDS };

static const char *const names[] = {"small", "mixed", "large", "zeroed", "grown", "aligned", "thread"};

static struct {
    double true_count, true_bytes, count, bytes, count_variance, bytes_variance;
    unsigned long samples, untracked;
} kinds[KINDS];

static __thread int kind;
static unsigned long freed, attached;

void culprit_sampled(void *address, size_t size, uint64_t mean, uint64_t is_tracked, void *function) {
    double weight = 1 / -expm1(-(double)(size + OVERHEAD) / (double)mean);
    double variance = weight * weight - weight;
    (void)address, (void)function;
    kinds[kind].samples++;
    kinds[kind].untracked += !is_tracked;
    kinds[kind].count += weight;
    kinds[kind].bytes += weight * (double)size;
    kinds[kind].count_variance += variance;
    kinds[kind].bytes_variance += variance * (double)size * (double)size;
}

void culprit_freed(void *address) {
    (void)address;
    __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

void culprit_attached(void *first_malloc, void *own_code) {
    attached += first_malloc == malloc && own_code == (void *)holds_us;
}

static void *volatile kept;

static void asked(size_t size) {
    kinds[kind].true_count++;
    kinds[kind].true_bytes += (double)size;
}

static void *helper(void *unused) {
    kind = THREAD;
    for (int i = 0; i < 100000; i++) {
        asked(128);
        kept = malloc(128);
        free(kept);
    }
    return unused;
}

static void allocate(void) {
    kind = SMALL;
    for (int i = 0; i < 2000000; i++) {
        asked(24);
        kept = malloc(24);
        free(kept);
    }
    kind = MIXED;
    for (unsigned i = 0; i < 300000; i++) {
        size_t size = (i * 2654435761u) >> 20;
        asked(size);
        kept = malloc(size);
        free(kept);
    }
    kind = LARGE;
    for (int i = 0; i < 300; i++) {
        asked(1 << 20);
        kept = malloc(1 << 20);
        free(kept);
    }
    kind = ZEROED;
    for (int i = 0; i < 100000; i++) {
        asked(150);
        kept = calloc(3, 50);
        free(kept);
    }
    kind = GROWN;
    for (int i = 0; i < 20000; i++) {
        asked(40);
        asked(4000);
        kept = realloc(NULL, 40);
        kept = reallocarray(kept, 40, 100);
        free(kept);
    }
    kind = ALIGNED;
    for (int i = 0; i < 30000; i++) {
        void *here;
        asked(256);
        asked(256);
        kept = posix_memalign(&here, 64, 256) == 0 ? here : NULL;
        free(kept);
        kept = aligned_alloc(64, 256);
        free(kept);
    }
}

/* The siblings of a fork draw numbers of their own; in this test they all get the seed's. */
static int forks(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(here.mean != 0 || here.left != 0);
    }
    int status = 1;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

/* The table has room for a thousand blocks at any distance from each other, from 16 bytes to 16 MiB. */
static int lacks_room(void) {
    for (unsigned shift = 4; shift <= 24; shift++) {
        for (uintptr_t at = 1; at <= 1024; at++) {
            if (!insert((void *)((at << shift) + 16))) {
                fprintf(stderr, "block %lu at a distance of 2^%u finds no room\n", (unsigned long)at, shift);
                return 1;
            }
        }
        for (uintptr_t at = 1; at <= 1024; at++) {
            take_out((void *)((at << shift) + 16));
        }
    }
    return 0;
}

int main(void) {
    pthread_t thread;
    int failed = lacks_room();
    allocate();
    if (pthread_create(&thread, NULL, helper, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    unsigned long samples = 0, untracked = 0;
    failed |= attached != 1 || forks();
    for (int at = 0; at < KINDS; at++) {
        printf("%s %.0f %.0f %lu %.0f %.0f %.0f %.0f\n", names[at], kinds[at].true_count, kinds[at].true_bytes,
               kinds[at].samples, kinds[at].count, kinds[at].bytes, kinds[at].count_variance,
               kinds[at].bytes_variance);
        samples += kinds[at].samples;
        untracked += kinds[at].untracked;
    }
    /* What stays: rows of the table that are in use. */
    unsigned long remaining = 0;
    for (int row = 0; row < ROWS; row++) {
        remaining += used[row];
    }
    printf("freed %lu of %lu, %lu live, %lu untracked\n", freed, samples, remaining, untracked);
    return failed;
}
