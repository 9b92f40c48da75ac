/* Lives until it is killed: one thread ticks every 5 ms, one waits for good, and every 100 ms a
 * young one is born and ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static volatile unsigned long sink;
static sem_t never;

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

static void *asleep(void *unused)
{
    pthread_setname_np(pthread_self(), "asleep");
    sem_wait(&never);
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
    pthread_create(&thread, NULL, ticker, NULL);
    pthread_create(&thread, NULL, asleep, NULL);
    for (;;) {
        pause_ms(90);
        pthread_create(&thread, NULL, young, NULL);
        pthread_join(thread, NULL);
    }
}
