/* Writes copies of its own registers and stack at random moments, as a recorder would take them.
 *
 * Usage: dumper FOLDER COUNT. Each file `dump.N` holds the instruction pointer, the 16 general registers in
 * DWARF order (8 bytes each) and the stack from the stack pointer upwards. `maps` holds the memory map.
 * A dump is taken by a timer signal in the main thread, in a thread, below a libc callback, in a function
 * with a realigned stack, in the vDSO, and inside another signal's handler. */
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static const char *folder;
static volatile int wanted, taken, again;
static volatile unsigned sink;

static void dump(int number, void *context) {
    static const int order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long header[17];
    char name[4096];
    snprintf(name, sizeof name, "%s/dump.%d", folder, number);
    int file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    header[0] = (unsigned long)registers[REG_RIP];
    for (int i = 0; i < 16; i++) header[i + 1] = (unsigned long)registers[order[i]];
    /* The second write ends early where the stack does. */
    if (write(file, header, sizeof header) < 0 || write(file, (void *)registers[REG_RSP], 65528) < 0) abort();
    close(file);
}

/* One shot at a time: a periodic timer that fires while the handler still writes would be delivered again
   at once, and all dumps would stand at one place. */
static void arm(void) {
    struct itimerval once = {{0, 0}, {0, 150 + taken * 7919 % 400}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void on_timer(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    if (taken < wanted) dump(taken++, context);
    if (taken < wanted && again) arm();
}

/* Spins until a second signal was dumped: the stack then crosses a signal frame. */
static void on_outer(int signal) {
    (void)signal;
    int target = taken + 1;
    arm();
    while (taken < target) sink++;
}

__attribute__((noinline)) static unsigned leaf(unsigned x) {
    for (int i = 0; i < 50; i++) x = x * 1103515245u + 12345u;
    return x;
}

__attribute__((noinline)) static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    sink += leaf((unsigned)x);
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) static unsigned sorting(void) {
    int items[64];
    for (int i = 0; i < 64; i++) items[i] = (int)leaf((unsigned)i);
    qsort(items, 64, sizeof *items, compare);
    return (unsigned)items[7];
}

__attribute__((noinline)) static unsigned realigned(unsigned n) {
    _Alignas(64) volatile char block[128];
    volatile char *room = alloca(n % 100 + 16);
    for (unsigned i = 0; i < 16; i++) block[i] = room[i] = (char)leaf(i);
    unsigned found = sorting();
    return found + (unsigned)block[3] + (unsigned)room[5];
}

__attribute__((noinline)) static unsigned clocks(void) {
    struct timespec now;
    unsigned sum = 0;
    for (int i = 0; i < 200; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sum += (unsigned)now.tv_nsec;
    }
    return sum;
}

__attribute__((noinline)) static unsigned middle(unsigned n) {
    char text[256];
    snprintf(text, sizeof text, "%u %f", n, (double)n / 3);
    return realigned(n) + clocks() + (unsigned)strlen(text);
}

__attribute__((noinline)) static unsigned outer(unsigned n) { return middle(n) + 1; }

__attribute__((noinline)) static void loop(void) {
    arm();
    while (taken < wanted) sink += outer(sink);
}

static void *thread(void *mask) {
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    loop();
    sink++;
    return NULL;
}

static void copy_maps(void) {
    char name[4096], buffer[65536];
    snprintf(name, sizeof name, "%s/maps", folder);
    int from = open("/proc/self/maps", O_RDONLY), to = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;)
        if (write(to, buffer, (size_t)n) != n) abort();
    close(from), close(to);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    folder = argv[1];
    int count = atoi(argv[2]);
    struct sigaction timer = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction nesting = {.sa_handler = on_outer, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &timer, NULL);
    sigaction(SIGUSR1, &nesting, NULL);
    outer(1); /* resolves lazily bound functions */
    copy_maps();
    again = 1;
    wanted = count; /* main thread */
    loop();
    wanted += count; /* thread: the only one that may take the signal */
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before);
    pthread_t other;
    pthread_create(&other, NULL, thread, &before);
    pthread_join(other, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    again = 0;
    wanted += count; /* inside a handler */
    while (taken < wanted) raise(SIGUSR1);
    return 0;
}
