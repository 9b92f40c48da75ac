/* Allocations of known number and size: 1000 that are freed, 100 that grow and are freed, 300 that are kept. */
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static void *volatile block;
static void *volatile blocks[300];

APART static void dropped(void) {
    for (int i = 0; i < 1000; i++) {
        block = malloc(64);
        free(block);
    }
}

APART static void grown(void) {
    for (int i = 0; i < 100; i++) {
        void *volatile nothing = NULL;
        block = realloc(nothing, 40);
        block = realloc(block, 4000);
        free(block);
    }
}

APART static void kept(void) {
    for (int i = 0; i < 300; i++) {
        blocks[i] = malloc(500);
    }
}

int main(void) {
    dropped();
    grown();
    kept();
    return block == blocks[0];
}
