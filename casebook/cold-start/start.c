/* The start of a program whose code and data lie in one large file that no earlier start has left in
 * the page cache, as after a restart of the machine or the first start of a container.
 *
 *   touch       pages are read one by one, when they are first touched (a fault each)
 *   read-ahead  the file is read from its beginning to its end first, then touched
 *
 * Usage: start make|touch|read-ahead FILE */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 64 << 20, PAGE = 4096, PAGES = SIZE / PAGE, TOUCHES = 12000 };

static int make(int file) {
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  for (int n = 0; n < SIZE >> 20; n++)
    if (write(file, block, sizeof block) != (ssize_t)sizeof block)
      return 1;
  return fsync(file);
}

/* Some page of the file: each step leads somewhere else, as calls between libraries do. */
static int next_page(int page) { return (int)((page * 5L + 4099) % PAGES); }

__attribute__((noinline)) static unsigned long start_up(const volatile char *image) {
  unsigned long sum = 0;
  for (int n = 0, page = 1; n < TOUCHES; n++, page = next_page(page))
    sum += (unsigned char)image[(long)page * PAGE];
  return sum;
}

__attribute__((noinline)) static void read_ahead(int file) {
  static char block[1 << 20];
  while (read(file, block, sizeof block) > 0)
    ;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  const int making = !strcmp(argv[1], "make");
  const int file = open(argv[2], making ? O_CREAT | O_TRUNC | O_RDWR : O_RDONLY, 0600);
  if (file < 0 || (making && make(file)))
    return perror(argv[2]), 1;
  /* Cold: what is written already leaves the cache when it is asked to. */
  posix_fadvise(file, 0, SIZE, POSIX_FADV_DONTNEED);
  if (making)
    return 0;
  char *image = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
  if (image == MAP_FAILED)
    return perror("mmap"), 1;
  madvise(image, SIZE, MADV_RANDOM);
  if (!strcmp(argv[1], "read-ahead"))
    read_ahead(file);
  return start_up(image) != (unsigned long)TOUCHES * 'x';
}
