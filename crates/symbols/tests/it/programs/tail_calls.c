// Every way to get to a function by a call and jumps.
#include "tail_calls.h"
#include <execinfo.h>
#include <setjmp.h>

int lib_leaf(int x);
int lib_end(int x);
int lib_wraps(int x);

static volatile int seed = 1;

LEAF(direct)

LEAF(one)
APART int wraps_one(int x) { return one(x + 1); }

LEAF(chained)
APART int inner(int x) { return chained(x * 3); }
APART int middle(int x) { return inner(x - 7); }
APART int outer(int x) { return middle(x + 2); }

LEAF(picked)
LEAF(other)
APART int picks(int x) { return x > 0 ? picked(x) : other(x); }

LEAF(both)
APART int left(int x) { return both(x + 5); }
APART int right(int x) { return both(x * 5); }
APART int forks(int x) { return x > 0 ? left(x) : right(x); }

LEAF(pointed)
int (*volatile pointer)(int) = direct;
APART int through_pointer(int x) { return x > 0 ? pointed(x) : pointer(x); }

LEAF(selected)
static int (*volatile table[4])(int) = {direct, one, selected, picked};
APART int through_table(int x) { return x > 0 ? selected(x) : table[x & 3](x); }

// With debug information it is known that the jump through the table stays in the function.
LEAF(switched)
APART int switches(int x, int y) {
    switch (y) {
    case 0: x += 3; break;
    case 1: x *= 7; break;
    case 2: x -= 99; break;
    case 3: x ^= 55; break;
    case 4: x = x * x; break;
    case 5: return other(x);
    }
    return switched(x);
}

LEAF(circled)
APART int odd(int x);
APART int even(int x) { return x == 0 ? circled(x) : odd(x - 1); }
APART int odd(int x) { return even(x - 1); }

LEAF(normal)
APART int calls(int x) { return normal(x) * 2; }

APART int wraps_lib(int x) { return lib_leaf(x + 4); }

// The part that is seldom executed runs, and calls what does not return. A function that asks for its own
// return address is not split, so the one that it calls walks the stack.
static jmp_buf back_in_main;
__attribute__((cold, noreturn)) APART void seldom(void) {
    void *stack[3];
    if (backtrace(stack, 3) == 3)
        report("seldom", stack[2], (char *)stack[1] - 1);
    longjmp(back_in_main, 1);
}
APART int splits(int x) {
    if (x > 0)
        seldom();
    return x - seed;
}
APART int wraps_splits(int x) { return splits(x + 1); }

int main(void) {
    volatile int sum = direct(seed);
    sum += wraps_one(seed);
    sum += outer(seed);
    sum += picks(seed);
    sum += forks(seed);
    sum += through_pointer(seed);
    sum += through_table(seed);
    sum += switches(seed, seed);
    sum += even(seed * 2);
    sum += calls(seed);
    sum += wraps_lib(seed);
    sum += lib_wraps(seed);
    if (!setjmp(back_in_main))
        sum += splits(seed);
    if (!setjmp(back_in_main))
        sum += wraps_splits(seed);
    sum += pointer(seed);
    return sum == 0;
}
