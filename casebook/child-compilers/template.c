/* A page as a template engine writes it: much code of the same kind, so that a compiler has to work
 * for some tenths of a second. PAGE is the number of the page. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIELD(n)                                                                                   \
  static int field_##n(char *page, size_t room, const char *value, time_t when) {                  \
    char quoted[256];                                                                              \
    size_t used = 0;                                                                               \
    for (; *value && used < sizeof quoted - 6; value++)                                            \
      switch (*value) {                                                                            \
      case '<': memcpy(quoted + used, "&lt;", 4), used += 4; break;                                \
      case '>': memcpy(quoted + used, "&gt;", 4), used += 4; break;                                \
      case '&': memcpy(quoted + used, "&amp;", 5), used += 5; break;                               \
      default: quoted[used++] = *value;                                                            \
      }                                                                                            \
    quoted[used] = 0;                                                                              \
    return snprintf(page, room, "<p id=f%d-%d class=%s>%s, %ld", PAGE, n, used > 9 ? "a" : "b",    \
                    quoted, (long)when % (n + PAGE));                                              \
  }
#define TEN(n)                                                                                     \
  FIELD(n##0) FIELD(n##1) FIELD(n##2) FIELD(n##3) FIELD(n##4)                                      \
  FIELD(n##5) FIELD(n##6) FIELD(n##7) FIELD(n##8) FIELD(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8)

#define CALL(n) used += field_##n(page + used, room - used, value, when);
#define CALLS(n)                                                                                   \
  CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4)                                           \
  CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)
int render(char *page, size_t room, const char *value, time_t when) {
  int used = 0;
  CALLS(1) CALLS(2) CALLS(3) CALLS(4) CALLS(5) CALLS(6) CALLS(7) CALLS(8)
  return used;
}
