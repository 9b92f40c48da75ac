// Functions that say where they were called from, and calls that end a function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

// Nothing is known of the function where it is called, and it is not copied.
#define APART __attribute__((noipa))

// Prints the module and the address in it of a return address and of a function that runs.
static APART void report(const char *label, void *back, void *here) {
    Dl_info from, at;
    if (dladdr(back, &from) && dladdr(here, &at))
        printf("%s %s %lx %s %lx\n", label, from.dli_fname, (char *)back - (char *)from.dli_fbase,
               at.dli_fname, (char *)here - (char *)at.dli_fbase);
}

#define LEAF(name)                                              \
    APART int name(int x) {                                     \
        report(#name, __builtin_return_address(0), (void *)name); \
        return x + 1;                                           \
    }
