/* Nested inlining, a static function, a cold part, a tail call and a loop: shapes that a symbol lookup
   has to tell apart. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned mix(unsigned a, unsigned b) {
    a ^= b << 13;
    a ^= a >> 17;
    return a * 2654435761u + b;
}

static inline __attribute__((always_inline)) unsigned twice(unsigned a) {
    unsigned first = mix(a, 3);
    return mix(first, 5);
}

static __attribute__((noinline)) unsigned work(unsigned rounds) {
    unsigned sum = 1;
    for (unsigned i = 0; i < rounds; i++) {
        sum += twice(sum + i);
        if (__builtin_expect(sum == 0xdeadbeef, 0)) {
            fprintf(stderr, "unlikely %u\n", sum);
            abort();
        }
    }
    return sum;
}

__attribute__((noinline)) unsigned outer(unsigned rounds) { return work(rounds) + mix(rounds, 7); }

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    printf("%u\n", outer(rounds));
    return 0;
}
