// Functions that hand on to another one by a jump, and one that waits below them.
#include <time.h>

#define APART __attribute__((noipa))

APART long rests(long n) {
    struct timespec moment = {0, 2000000};
    nanosleep(&moment, 0);
    return n + 1;
}
APART long middle(long n) { return rests(n * 3); }
APART long outer(long n) { return middle(n + 1); }

APART long naps(long n) {
    struct timespec moment = {0, 2000000};
    nanosleep(&moment, 0);
    return n + 2;
}
APART long left(long n) { return naps(n + 5); }
APART long right(long n) { return naps(n * 5); }
APART long forks(long n) { return n & 1 ? left(n) : right(n); }

int main(void) {
    long n = 0;
    for (int i = 0; i < 50; i++) {
        n += outer(n);
        n += forks(n);
    }
    return n == 1;
}
