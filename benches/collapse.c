// What stackcollapse-perf.pl does, compiled: folds the text of `perf script` on stdin to one line a
// distinct stack with its number of samples. Names lose their offsets, as there.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *stack;
    uint64_t hash, count;
};

static struct entry *table;
static size_t size = 1 << 16, used;

static struct entry *place(struct entry *in, size_t room, const char *stack, uint64_t hash) {
    size_t at = hash & (room - 1);
    while (in[at].stack && (in[at].hash != hash || strcmp(in[at].stack, stack))) at = (at + 1) & (room - 1);
    return &in[at];
}

static void count(const char *stack) {
    uint64_t hash = 1469598103934665603u;
    for (const char *at = stack; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    struct entry *entry = place(table, size, stack, hash);
    if (!entry->stack) {
        *entry = (struct entry){strdup(stack), hash, 0};
        used++;
    }
    entry->count++;
    if (used * 2 < size) return;
    struct entry *more = calloc(size * 2, sizeof *more);
    for (size_t at = 0; at < size; at++)
        if (table[at].stack) *place(more, size * 2, table[at].stack, table[at].hash) = table[at];
    free(table);
    table = more;
    size *= 2;
}

int main(void) {
    static char frames[1024][256], stack[1 << 18], name[64];
    int depth = 0;
    char *line = 0;
    size_t room = 0;
    ssize_t length;
    table = calloc(size, sizeof *table);
    while ((length = getline(&line, &room, stdin)) >= 0) {
        if (length && line[length - 1] == '\n') line[--length] = 0;
        if (length == 0) {
            if (!name[0]) continue;
            char *to = stpcpy(stack, name);
            while (depth > 0 && to < stack + sizeof stack - 260) {
                *to++ = ';';
                to = stpcpy(to, frames[--depth]);
            }
            count(stack);
            name[0] = 0;
            depth = 0;
        } else if (line[0] != '\t' && line[0] != ' ') {
            char *end = strchr(line, ' ');
            snprintf(name, sizeof name, "%.*s", end ? (int)(end - line) : (int)length, line);
        } else if (depth < 1024) {
            char *at = line + strspn(line, " \t");
            at += strcspn(at, " ");
            at += *at == ' ';
            char *module = strrchr(at, '(');
            size_t end = module && module > at ? (size_t)(module - at - 1) : strlen(at);
            for (size_t back = end; back-- > 1;)
                if (at[back] == '+') {
                    end = back;
                    break;
                }
            if (end > 255) end = 255;
            memcpy(frames[depth], at, end);
            frames[depth++][end] = 0;
        }
    }
    for (size_t at = 0; at < size; at++)
        if (table[at].stack) printf("%s %llu\n", table[at].stack, (unsigned long long)table[at].count);
    return 0;
}
