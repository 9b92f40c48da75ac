/* Allocates in every way, in threads and in a child, and looks whether blocks are as they should be. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int holds) {
    if (!holds) {
        abort();
    }
}

static void *churn(void *unused) {
    for (size_t i = 0; i < 100000; i++) {
        char *block = malloc(i % 3000);
        check(block != NULL);
        memset(block, 1, i % 3000);
        free(block);
    }
    return unused;
}

static void all_ways(void) {
    for (size_t i = 1; i < 20000; i++) {
        char *block = calloc(i % 100 + 1, 3);
        check(block && block[0] == 0 && block[i % 100] == 0);
        block[0] = 7;
        block = realloc(block, i + 1);
        check(block && block[0] == 7);
        void *aligned;
        check(posix_memalign(&aligned, 64, i) == 0 && (uintptr_t)aligned % 64 == 0);
        free(aligned);
        aligned = aligned_alloc(32, i / 32 * 32 + 32);
        check(aligned && (uintptr_t)aligned % 32 == 0);
        free(aligned);
        free(block);
    }
    volatile size_t most = SIZE_MAX;
    check(malloc(most - 64) == NULL);
    check(calloc(most / 2, 3) == NULL);
    free(NULL);
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        check(pthread_create(&threads[i], NULL, churn, NULL) == 0);
    }
    all_ways();
    pid_t child = fork();
    if (child == 0) {
        all_ways();
        _exit(3);
    }
    int status = 0;
    check(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    for (int i = 0; i < 2; i++) {
        check(pthread_join(threads[i], NULL) == 0);
    }
    puts("ok");
    return 0;
}
