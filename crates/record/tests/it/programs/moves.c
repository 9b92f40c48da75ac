/* Moves known numbers of bytes, each kind below a function of its own.
 *
 *   moves FILE
 *
 * `save` writes 100 times 1000 bytes, `load` reads them back by 50 times 2000 and meets the end,
 * `pass` sends 20 times 10 bytes through a pipe and reads them, `fail` asks of what is not open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static char block[4096];
static volatile long moved;

/* The C library's functions keep no frame pointer, so frame pointers alone lose their callers. */
APART static void put(int file, size_t bytes) { moved += write(file, block, bytes); }
APART static void get(int file, size_t bytes) { moved += read(file, block, bytes); }
APART static void get_at(int file, size_t bytes, off_t at) {
    moved += pread(file, block, bytes, at);
}

APART static void save(int file) {
    for (int i = 0; i < 100; i++) {
        put(file, 1000);
    }
    moved = 0;
}

APART static void load(int file) {
    for (off_t at = 0; at < 100000; at += 2000) {
        get_at(file, 2000, at);
    }
    lseek(file, 0, SEEK_END);
    get(file, 100);
    moved = 0;
}

APART static void pass(int from, int to) {
    for (int i = 0; i < 20; i++) {
        put(to, 10);
        get(from, 100);
    }
    moved = 0;
}

APART static void fail(void) {
    for (int i = 0; i < 10; i++) {
        get(-1, 10);
    }
    moved = 0;
}

APART static void all(int file, int *ends) {
    save(file);
    load(file);
    pass(ends[0], ends[1]);
    fail();
    moved = 0;
}

int main(int count, char **words) {
    int ends[2];
    int file = count > 1 ? open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0 || pipe(ends) != 0) {
        return 1;
    }
    all(file, ends);
    return 0;
}
