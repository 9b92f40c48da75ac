/* Computes far below main(): its stack is deeper than its copy. The functions of this file keep frame pointers; main()
 * is called by what keeps none, and the register holds there the address of a table of functions, as in
 * __libc_start_main() of glibc. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <time.h>

#define NEVER_INLINED __attribute__((noinline))

static volatile uint64_t sink;

NEVER_INLINED void spin(int ms)
{
    struct timespec start, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do {
        for (int i = 0; i < 100000; i++)
            sink = sink * 6364136223846793005u + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec - start.tv_nsec
             < ms * 1000000LL);
}

/* More variables than the copy of a stack holds. */
NEVER_INLINED void deep(void)
{
    volatile char room[40000];
    memset((char *)room, 1, sizeof room);
    spin(400);
    sink += room[sink % sizeof room];
}

NEVER_INLINED void work(void)
{
    spin(100);
    deep();
    sink++;
}

/* As crtstuff.c of gcc: a function that states no size, then another one. A look-up one byte before the second finds
 * the first. */
__asm__(".text\n.p2align 4\n.globl never_before\n.type never_before, STT_FUNC\nnever_before:\nret\n"
        ".p2align 4\n.globl never_called\n.type never_called, STT_FUNC\nnever_called:\nret\n");
void never_called(void);

/* Looks like frames to who follows the register: a next frame, and a function as return address. */
struct frame {
    const struct frame *next;
    void (*returns)(void);
};
const struct frame end = {0, never_called};
const struct frame table = {&end, never_called};

/* As compilers use the register for anything. */
NEVER_INLINED void leads_astray(void);
#ifdef __x86_64__
__asm__(".text\n.p2align 4\n.globl leads_astray\n.type leads_astray, STT_FUNC\nleads_astray:\n"
        ".cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "lea table(%rip), %rbp\ncall work\npop %rbp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
        ".size leads_astray, .-leads_astray\n");
#else
__asm__(".text\n.p2align 4\n.globl leads_astray\n.type leads_astray, STT_FUNC\nleads_astray:\n"
        ".cfi_startproc\nstp x29, x30, [sp, -16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\nadrp x29, table\nadd x29, x29, :lo12:table\nbl work\n"
        "ldp x29, x30, [sp], 16\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\nret\n"
        ".cfi_endproc\n.size leads_astray, .-leads_astray\n");
#endif

int main(void)
{
    leads_astray();
    return 0;
}
