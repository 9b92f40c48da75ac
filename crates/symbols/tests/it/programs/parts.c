// Functions of which the compiler moves a part away, since it is seldom executed.
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))
#define SELDOM __attribute__((noinline, noclone, cold))

APART void fill(int *values, int count) {
    for (int i = 0; i < count; i++)
        values[i] = rand() % 100;
}

SELDOM void complain(const int *values, int count) {
    for (int i = 0; i < count; i++)
        fprintf(stderr, "%d\n", values[i]);
}

#define WORK(name, size)                                                                           \
    int name(int limit) {                                                                          \
        int values[size], total = 0;                                                               \
        fill(values, size);                                                                        \
        for (int i = 0; i < size; i++)                                                             \
            total += values[i];                                                                    \
        if (total < limit) {                                                                       \
            complain(values, size);                                                                \
            total = -limit;                                                                        \
        }                                                                                          \
        return total;                                                                              \
    }

APART WORK(work, 8)

// Its symbol goes with `strip`: nothing names it, nor its part.
static APART WORK(hidden, 16)

APART WORK(other, 24)

int main(int count, char **arguments) {
    (void)arguments;
    return work(-count) + hidden(-count) + other(-count) < 0;
}
