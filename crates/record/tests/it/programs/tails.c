// Functions that hand on to another one by a jump, and one that works below them.
#define APART __attribute__((noipa))
static int turn; // turns are not equally long: samples would find the same function in each
APART long works(long n) {
    for (volatile int i = 0; i < 300000 + turn % 11 * 130000; i++) {
    }
    return n + 1;
}
APART long middle(long n) { return works(n * 3); }
APART long outer(long n) { return middle(n + 1); }

APART long toils(long n) {
    for (volatile int i = 0; i < 300000 + turn % 11 * 130000; i++) {
    }
    return n + 2;
}
APART long left(long n) { return toils(n + 5); }
APART long right(long n) { return toils(n * 5); }
APART long forks(long n) { return n & 1 ? left(n) : right(n); }

int main(void) {
    long n = 0;
    for (; turn < 50; turn++) {
        n += outer(n);
        n += forks(n);
    }
    return n == 1;
}
