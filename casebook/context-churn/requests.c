/* A server whose requests take their memory from an arena.
 *
 *   anew   the arena is freed at a request's end and made again for the next
 *   kept   it is set back to its beginning
 *
 * Usage: requests anew|kept NUMBER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 2048

struct block {
  struct block *next;
  size_t used;
  char bytes[BLOCK];
};

struct arena {
  struct block *first, *current;
};

__attribute__((noinline)) static struct block *make_block(void) {
  struct block *block = malloc(sizeof *block);
  if (!block)
    abort();
  block->next = NULL;
  block->used = 0;
  return block;
}

static struct arena *make_arena(void) {
  struct arena *arena = malloc(sizeof *arena);
  if (!arena)
    abort();
  arena->first = arena->current = make_block();
  return arena;
}

__attribute__((noinline)) static void free_blocks(struct arena *arena) {
  struct block *next;
  for (struct block *block = arena->first; block; block = next) {
    next = block->next;
    free(block);
  }
  free(arena);
}

static void rewind_arena(struct arena *arena) {
  for (struct block *block = arena->first; block; block = block->next)
    block->used = 0;
  arena->current = arena->first;
}

static void *take(struct arena *arena, size_t bytes) {
  struct block *block = arena->current;
  if (block->used + bytes > BLOCK) {
    if (!block->next)
      block->next = make_block();
    arena->current = block = block->next;
  }
  void *taken = block->bytes + block->used;
  block->used += bytes;
  return taken;
}

struct row {
  struct row *next;
  long key, value;
  char text[1000];
};

/* Answers a request from rows that live as long as it does. */
static long answer(struct arena *arena, long request) {
  struct row *rows = NULL;
  for (int n = 0; n < 60; n++) {
    struct row *row = take(arena, sizeof *row);
    row->next = rows;
    row->key = request ^ n;
    row->value = row->key % 17;
    rows = row;
  }
  long sum = 0;
  for (struct row *row = rows; row; row = row->next)
    sum += row->value;
  return sum;
}

int main(int count, char **words) {
  if (count < 3)
    return 2;
  int keep = !strcmp(words[1], "kept");
  long number = atol(words[2]), sum = 0;
  struct arena *arena = NULL;
  for (long request = 0; request < number; request++) {
    if (!arena)
      arena = make_arena();
    sum += answer(arena, request);
    if (keep) {
      rewind_arena(arena);
    } else {
      free_blocks(arena);
      arena = NULL;
    }
  }
  return printf("%ld requests, check %ld\n", number, sum) < 0;
}
