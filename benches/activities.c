/* What activities are recorded of, and nothing else, on one thread of one CPU: requests over both
 * ends of a loopback connection, or calls of a function. Without a switch of threads, so that what
 * a recording adds is what the activities add.
 *
 * usage: activities requests PORT COUNT | activities calls 0 COUNT
 * prints: {"count":N,"cpu_ns":N}
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static long long cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

static __attribute__((noinline, noclone)) void called(long turn)
{
    __asm__ volatile("" ::"r"(turn) : "memory");
}

static void pass(int from, int to)
{
    char byte = 0;
    if (send(from, &byte, 1, 0) != 1 || recv(to, &byte, 1, 0) != 1)
        exit(1);
}

static void connect_ends(int port, int *ends)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1) ||
        connect(ends[0], (struct sockaddr *)&at, sizeof at))
        exit(1);
    ends[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long count = atol(argv[3]);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    int ends[2], requests = strcmp(argv[1], "requests") == 0;
    if (requests)
        connect_ends(atoi(argv[2]), ends);
    long long start = cpu_ns();
    for (long i = 0; i < count; i++) {
        if (requests) {
            pass(ends[0], ends[1]);
            pass(ends[1], ends[0]);
        } else {
            called(i);
        }
    }
    printf("{\"count\":%ld,\"cpu_ns\":%lld}\n", count, cpu_ns() - start);
    return 0;
}
