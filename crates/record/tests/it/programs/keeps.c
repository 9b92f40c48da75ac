/* Allocations of known number and size: 10 that are freed, 4 that grow and are freed, 9 that are kept, 2 of
 * different sizes in one class. Fewer than 32 in all, after which a thread with so many samples a second takes fewer. */
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static void *volatile block;
static void *volatile blocks[9];

APART static void dropped(void) {
    for (int i = 0; i < 10; i++) {
        block = malloc(64);
        free(block);
    }
}

APART static void grown(void) {
    for (int i = 0; i < 4; i++) {
        void *volatile nothing = NULL;
        block = realloc(nothing, 40);
        block = realloc(block, 4000);
        free(block);
    }
}

APART static void kept(void) {
    for (int i = 0; i < 9; i++) {
        blocks[i] = malloc(500);
    }
}

/* Not known to the compiler: there is one call, not one for each size. */
static volatile size_t largest = 60;

APART static void varied(void) {
    for (size_t size = 40; size <= largest; size += 20) {
        block = malloc(size);
        free(block);
    }
}

int main(void) {
    dropped();
    grown();
    varied();
    kept();
    return block == blocks[0];
}
