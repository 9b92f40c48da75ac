// The other side of calls from one module into another.
#include "tail_calls.h"

LEAF(lib_leaf)
LEAF(lib_end)
APART int lib_wraps(int x) { return lib_end(x + 9); }
