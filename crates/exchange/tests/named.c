/* Forks a process for each argument, which takes it for its name and works for a while; the last
 * one does so in two threads. */
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void parse(double seconds) {
    struct timespec now;
    do {
        for (int i = 0; i < 20000; i++) sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec + now.tv_nsec * 1e-9 < seconds);
}

__attribute__((noinline)) static void serve(double seconds) {
    parse(seconds);
    sink++;
}

__attribute__((noinline)) static void read_files(void) {
    char bytes[4096];
    for (int i = 0; i < 400; i++) {
        if (gethostname(bytes, sizeof bytes) != 0 || getcwd(bytes, sizeof bytes) == 0) break;
        memset(bytes, 0, sizeof bytes);
    }
    sink++;
}

static void *thread(void *name) {
    prctl(PR_SET_NAME, name);
    serve(0.015);
    return 0;
}

int main(int count, char **names) {
    for (int at = 1; at < count; at++) {
        if (fork() == 0) {
            prctl(PR_SET_NAME, names[at]);
            pthread_t other;
            int two = at + 1 == count && pthread_create(&other, 0, thread, names[1]) == 0;
            serve(0.015);
            read_files();
            if (two) pthread_join(other, 0);
            _exit(0);
        }
    }
    while (wait(0) > 0) {}
    return 0;
}
