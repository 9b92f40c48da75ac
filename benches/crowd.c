/* Threads that have nothing to do but wake up twenty times a second each: what else lives on a machine.
 *
 * usage: crowd THREADS; runs until it is ended
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *live(void *unused)
{
    struct timespec pause = {0, 50000000};
    (void)unused;
    for (;;)
        nanosleep(&pause, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 200); i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, live, NULL))
            return 1;
    }
    pause();
    return 0;
}
