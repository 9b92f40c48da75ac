/* Lives until it is killed: one thread ticks every 5 ms, two wait for good, one of them in a system call
 * that keeps no register on the stack, and every 100 ms a young one is born and ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static sem_t never;
static int silent[2];

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
    sink++;
}

__attribute__((noinline)) void tick(void)
{
    pause_ms(5);
    sink++;
}

static void *ticker(void *unused)
{
    pthread_setname_np(pthread_self(), "ticker");
    for (;;)
        tick();
    return unused;
}

__attribute__((noinline)) void wait_for_good(void)
{
    sem_wait(&never);
    sink++;
}

static void *asleep(void *unused)
{
    pthread_setname_np(pthread_self(), "asleep");
    wait_for_good();
    return unused;
}

__attribute__((noinline)) void read_nothing(void)
{
    char bytes[64];
    sink += read(silent[0], bytes, sizeof bytes);
}

__attribute__((noinline)) void serve(void)
{
    read_nothing();
    sink++;
}

static void *reader(void *unused)
{
    pthread_setname_np(pthread_self(), "reader");
    serve();
    return unused;
}

static void *young(void *unused)
{
    pthread_setname_np(pthread_self(), "young");
    pause_ms(10);
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&never, 0, 0);
    if (pipe(silent))
        return 1;
    pthread_create(&thread, NULL, ticker, NULL);
    pthread_create(&thread, NULL, asleep, NULL);
    pthread_create(&thread, NULL, reader, NULL);
    for (;;) {
        pause_ms(90);
        pthread_create(&thread, NULL, young, NULL);
        pthread_join(thread, NULL);
    }
}
