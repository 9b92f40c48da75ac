/* A database that maps its data file and scans it part by part, several times, beside a little memory
 * of its own: 512 MiB mapped, 32 MiB allocated.
 *
 *   keep       pages stay resident until the kernel wants them back
 *   give-back  pages of a part are given back when it has been scanned
 *
 * The file has no blocks, so the case needs no room on the disk and waits for none.
 * Usage: database keep|give-back */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 512 << 20, PART = 32 << 20, OWN = 32 << 20, PAGE = 4096, SCANS = 3 };

__attribute__((noinline)) static unsigned long scan(const volatile char *part) {
  unsigned long sum = 0;
  for (int at = 0; at < PART; at += PAGE)
    sum += (unsigned char)part[at] + 1;
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  const int gives_back = !strcmp(argv[1], "give-back");
  const int file = open("data", O_CREAT | O_TRUNC | O_RDWR, 0600);
  char *own = malloc(OWN);
  if (file < 0 || !own || unlink("data") || ftruncate(file, SIZE))
    return perror("data"), 1;
  memset(own, 1, OWN);
  char *data = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
  if (data == MAP_FAILED)
    return perror("mmap"), 1;
  unsigned long pages = 0;
  for (int n = 0; n < SCANS; n++)
    for (long at = 0; at < SIZE; at += PART) {
      pages += scan(data + at);
      usleep(20000);
      if (gives_back && madvise(data + at, PART, MADV_DONTNEED))
        return perror("madvise"), 1;
    }
  if (pages != (unsigned long)SCANS * (SIZE / PAGE) || own[OWN - 1] != 1)
    return 1;
  printf("%lu pages scanned, %s\n", pages, argv[1]);
  return 0;
}
