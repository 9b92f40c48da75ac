/* The smallest allocator: it never gives anything back. */
#include <stddef.h>

static char memory[16 << 20];
static size_t used;

void *malloc(size_t size) {
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (at + size + 32 > sizeof memory) {
        return NULL;
    }
    *(size_t *)(memory + at) = size;
    return memory + at + 16;
}

void free(void *block) {
    (void)block;
}

void *calloc(size_t count, size_t size) {
    return malloc(count * size);
}

void *realloc(void *old, size_t size) {
    char *block = malloc(size);
    size_t had = old ? *(size_t *)((char *)old - 16) : 0;
    for (size_t at = 0; block && at < had && at < size; at++) {
        block[at] = ((char *)old)[at];
    }
    return block;
}
