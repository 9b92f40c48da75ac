/* Small allocations of known numbers from five functions, with some work for each: about five million a second
 * on one thread. A thousand blocks live at a time; one in a thousand is never freed.
 *
 * usage: allocations COUNT [ROUNDS]
 *   COUNT   allocations in all
 *   ROUNDS  rounds of work for each, 75 by default; 0 for none
 * prints: {"count":N,"cpu_ns":N,"sites":{"NAME":N,...},"bytes":{"NAME":N,...}}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define APART __attribute__((noinline, noclone))
#define LIVING 1024

static struct site {
    const char *name;
    long count, bytes;
} sites[] = {{"parse", 0, 0}, {"index_word", 0, 0}, {"copy_row", 0, 0}, {"answer", 0, 0}, {"log_line", 0, 0}};

static char *living[LIVING];
static unsigned long state = 88172645463325252UL, hash;
static long rounds = 75;

static unsigned long draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* What a program does with a block. */
static void use(struct site *site, char *block, size_t size) {
    if (block == NULL)
        exit(1);
    memset(block, (int)size, size);
    for (long round = 0; round < rounds; round++)
        hash = (hash ^ (unsigned char)block[(unsigned long)round % size]) * 1099511628211UL;
    site->count++;
    site->bytes += (long)size;
    if (site->count % 1000 == 0)
        return; /* never freed */
    char **place = &living[hash % LIVING];
    free(*place);
    *place = block;
}

#define SITE(number, name, size)                        \
    APART static void name(void) {                      \
        size_t bytes = (size);                          \
        use(&sites[number], malloc(bytes), bytes);      \
    }

SITE(0, parse, 16 + draw() % 48)
SITE(1, index_word, 24)
SITE(2, copy_row, 64 + draw() % 128)
SITE(3, answer, 200)
SITE(4, log_line, 100 + draw() % 400)

static long long cpu_ns(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000LL +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000LL;
}

static void print(const char *key, int bytes) {
    printf("\"%s\":{", key);
    for (unsigned at = 0; at < sizeof sites / sizeof *sites; at++)
        printf("%s\"%s\":%ld", at ? "," : "", sites[at].name, bytes ? sites[at].bytes : sites[at].count);
    printf("}");
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 30000000;
    rounds = argc > 2 ? atol(argv[2]) : rounds;
    long long before = cpu_ns();
    for (long at = 0; at < count; at++) {
        unsigned long of_hundred = draw() % 100;
        if (of_hundred < 40)
            parse();
        else if (of_hundred < 65)
            index_word();
        else if (of_hundred < 85)
            copy_row();
        else if (of_hundred < 95)
            answer();
        else
            log_line();
    }
    printf("{\"count\":%ld,\"cpu_ns\":%lld,", count, cpu_ns() - before);
    print("sites", 0);
    printf(",");
    print("bytes", 1);
    printf("}\n");
    return hash == 1;
}
