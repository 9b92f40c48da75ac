/* Samples the allocations of a program that loads this library before its C library (LD_PRELOAD).
 *
 *   program -> malloc here -> malloc of the next library       nearly always: one subtraction, one jump
 *                |
 *                `-> culprit_sampled(address, ...)             a sample: the recorder's uprobe is on it
 *
 * Which allocations: a Poisson process over allocated bytes. Each thread counts down the bytes to its next
 * sample, a random number with an exponential distribution around a mean. An allocation of `size` bytes is
 * sampled with probability 1 - exp(-(size + OVERHEAD) / mean), whatever was allocated before, so sums over
 * samples weighted by its inverse are unbiased. The mean goes up when a thread has many samples a second.
 * Each sample carries the mean that it was drawn with, so sums stay unbiased.
 *
 * Which frees: those of sampled allocations. Their addresses are in a table. `free` reads one byte of it,
 * which is nearly always zero. A row of the table is one cache line, so a free is never dearer than that.
 *
 * It works with any C library: it takes the functions behind its own from the dynamic symbol tables of the
 * libraries that follow it. The only symbol that it needs is dl_iterate_phdr, of glibc and musl alike. It
 * never allocates, takes no lock and calls nothing that does while a program allocates. */

#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(what) __builtin_expect(!!(what), 1)
#define EXPORT __attribute__((visibility("default")))
#define COLD __attribute__((noinline, cold))

/* Every block counts as this much larger, which is about what an allocator needs for it: blocks of no
 * bytes can be sampled then, too, and counts of small blocks are less noisy. The recorder knows it. */
#define OVERHEAD 16

/* Behind these words stands the mean number of bytes between samples. Who writes this library to a file
 * writes another mean there. */
EXPORT const volatile struct {
    char words[24];
    uint64_t mean;
} culprit_sampling = {"culprit sampling mean: ", 512 << 10};

/* ---- Events: the recorder places uprobes on these functions. -------------------------------------------
 *
 * A five-byte nop is what the kernel gets past most quickly. */

EXPORT void culprit_sampled(void *address, size_t size, uint64_t mean, uint64_t is_tracked, void *function);
EXPORT void culprit_freed(void *address);
EXPORT void culprit_attached(void *first_malloc, void *own_code);

#ifndef CULPRIT_TEST
#if defined(__x86_64__)
#define EMPTY ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tret\n"
#elif defined(__aarch64__)
#define EMPTY "nop\n\tret\n"
#else
#error "no such machine"
#endif
#define EVENT(name)                                                                                     \
    __asm__(".pushsection .text\n\t.balign 16\n\t.globl " #name "\n\t.type " #name ", %function\n" #name \
            ":\n\t.cfi_startproc\n\t" EMPTY "\t.cfi_endproc\n\t.size " #name ", . - " #name "\n\t.popsection")
EVENT(culprit_sampled);
EVENT(culprit_freed);
EVENT(culprit_attached);
#endif

/* ---- The functions behind ours. ------------------------------------------------------------------------ */

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *block, size_t size);
static void first_free(void *block);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    /* Null where the C library has none. */
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
} next = {first_malloc, first_calloc, first_realloc, first_free, 0, 0, 0, 0, 0};

extern int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *) __attribute__((weak));

/* The dynamic symbols of a library, as its dynamic section tells them. */
struct library {
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
    const uint16_t *versions;
    uintptr_t base;
};

/* What is looked for, and where. */
struct search {
    const char *name;
    /* Only in libraries that were loaded after ours. */
    int behind_us;
    int is_behind_us;
    void *found;
};

static int is_same(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++, b++;
    }
    return *a == *b;
}

static int symbol_is(const struct library *in, uint32_t at, const char *name) {
    const ElfW(Sym) *symbol = &in->symbols[at];
    unsigned type = symbol->st_info & 15;
    int is_default = !in->versions || !(in->versions[at] & 0x8000);
    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) && is_default &&
           is_same(in->strings + symbol->st_name, name);
}

static void *address_of(const struct library *in, uint32_t at) {
    void *address = (void *)(in->base + in->symbols[at].st_value);
    if ((in->symbols[at].st_info & 15) == STT_GNU_IFUNC) {
        return ((void *(*)(void))address)();
    }
    return address;
}

/* Format: "GNU Hash ELF Sections", as ld.so and musl's dynlink.c read it. */
static void *in_gnu_hash(const struct library *in, const char *name) {
    uint32_t hash = 5381, buckets = in->gnu_hash[0], first = in->gnu_hash[1], words = in->gnu_hash[2];
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        hash = hash * 33 + *at;
    }
    const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(in->gnu_hash + 4) + words);
    const uint32_t *chain = bucket + buckets;
    uint32_t at = buckets ? bucket[hash % buckets] : 0;
    if (at < first || at == 0) {
        return NULL;
    }
    for (;; at++) {
        uint32_t known = chain[at - first];
        if ((known | 1) == (hash | 1) && symbol_is(in, at, name)) {
            return address_of(in, at);
        }
        if (known & 1) {
            return NULL;
        }
    }
}

/* Format: System V ABI, chapter 5. */
static void *in_hash(const struct library *in, const char *name) {
    uint32_t hash = 0, buckets = in->hash[0];
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        hash = (hash << 4) + *at;
        hash ^= (hash & 0xf0000000) >> 24;
        hash &= 0x0fffffff;
    }
    const uint32_t *bucket = in->hash + 2, *chain = bucket + buckets;
    for (uint32_t at = buckets ? bucket[hash % buckets] : 0; at; at = chain[at]) {
        if (symbol_is(in, at, name)) {
            return address_of(in, at);
        }
    }
    return NULL;
}

/* glibc has added the base to the addresses in most dynamic sections, musl in none. */
static const void *pointer(const struct library *in, ElfW(Addr) value) {
    return (const void *)(value < in->base ? value + in->base : value);
}

static void *find_in(const struct dl_phdr_info *info, const char *name) {
    struct library in = {0, 0, 0, 0, 0, info->dlpi_addr};
    const ElfW(Dyn) *entry = NULL;
    for (unsigned at = 0; at < info->dlpi_phnum; at++) {
        if (info->dlpi_phdr[at].p_type == PT_DYNAMIC) {
            entry = (const ElfW(Dyn) *)(in.base + info->dlpi_phdr[at].p_vaddr);
        }
    }
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = pointer(&in, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            in.symbols = at;
            break;
        case DT_STRTAB:
            in.strings = at;
            break;
        case DT_GNU_HASH:
            in.gnu_hash = at;
            break;
        case DT_HASH:
            in.hash = at;
            break;
        case DT_VERSYM:
            in.versions = at;
            break;
        }
    }
    if (!in.symbols || !in.strings) {
        return NULL;
    }
    return in.gnu_hash ? in_gnu_hash(&in, name) : in.hash ? in_hash(&in, name) : NULL;
}

static int holds_us(const struct dl_phdr_info *info) {
    for (unsigned at = 0; at < info->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[at];
        uintptr_t offset = (uintptr_t)holds_us - (info->dlpi_addr + part->p_vaddr);
        if (part->p_type == PT_LOAD && offset < part->p_memsz) {
            return 1;
        }
    }
    return 0;
}

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    struct search *search = data;
    (void)size;
    if (search->behind_us && !search->is_behind_us) {
        search->is_behind_us = holds_us(info);
        return 0;
    }
    search->found = find_in(info, search->name);
    return search->found != NULL;
}

static COLD void *find(const char *name, int behind_us) {
    struct search search = {name, behind_us, 0, NULL};
    if (dl_iterate_phdr) {
        dl_iterate_phdr(look, &search);
    }
    return search.found;
}

static void *no_block(size_t size) {
    (void)size;
    return NULL;
}

static void *no_blocks(size_t count, size_t size) {
    (void)count, (void)size;
    return NULL;
}

static void *no_other_block(void *block, size_t size) {
    (void)block, (void)size;
    return NULL;
}

static void keep(void *block) {
    (void)block;
}

/* Threads may do this at once: they find the same. `malloc` comes last, after what depends on it. */
static COLD void find_next(void) {
    void *found;
    next.posix_memalign = find("posix_memalign", 1);
    next.aligned_alloc = find("aligned_alloc", 1);
    next.memalign = find("memalign", 1);
    next.valloc = find("valloc", 1);
    next.pvalloc = find("pvalloc", 1);
    found = find("free", 1);
    next.free = found ? found : keep;
    found = find("calloc", 1);
    next.calloc = found ? found : no_blocks;
    found = find("realloc", 1);
    next.realloc = found ? found : no_other_block;
    found = find("malloc", 1);
    next.malloc = found ? found : no_block;
}

static COLD void *first_malloc(size_t size) {
    find_next();
    return next.malloc(size);
}

static COLD void *first_calloc(size_t count, size_t size) {
    find_next();
    return next.calloc(count, size);
}

static COLD void *first_realloc(void *block, size_t size) {
    find_next();
    return next.realloc(block, size);
}

static COLD void first_free(void *block) {
    find_next();
    next.free(block);
}

/* ---- Addresses of sampled allocations that live. ------------------------------------------------------- */

#define ROWS 8192
#define PLACES 8

static uint8_t used[ROWS];
static uintptr_t live[ROWS][PLACES] __attribute__((aligned(64)));

/* Rows of blocks that lie side by side are side by side, so what a program frees and what is read for it
 * stay in the cache alike: one line of `used` for a page of blocks. The upper bits are for large blocks,
 * whose lower bits are all the same: those of pages, and of pages of 2 MiB. */
static inline unsigned row_of(const void *block) {
    uintptr_t address = (uintptr_t)block;
    return (unsigned)((address >> 6) ^ (address >> 19)) & (ROWS - 1);
}

/* False where the row is full. */
static int insert(void *block) {
    unsigned row = row_of(block);
    for (int at = 0; at < PLACES; at++) {
        uintptr_t none = 0;
        if (__atomic_compare_exchange_n(&live[row][at], &none, (uintptr_t)block, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&used[row], 1, __ATOMIC_ACQ_REL);
            return 1;
        }
    }
    return 0;
}

/* Whether it was there. */
static int take_out(void *block) {
    unsigned row = row_of(block);
    for (int at = 0; block && at < PLACES; at++) {
        uintptr_t known = (uintptr_t)block;
        if (__atomic_load_n(&live[row][at], __ATOMIC_RELAXED) == known &&
            __atomic_compare_exchange_n(&live[row][at], &known, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_fetch_sub(&used[row], 1, __ATOMIC_ACQ_REL);
            return 1;
        }
    }
    return 0;
}

static inline int may_be_live(const void *block) {
    return __atomic_load_n(&used[row_of(block)], __ATOMIC_RELAXED) != 0;
}

/* ---- The thread's countdown. --------------------------------------------------------------------------- */

/* More than any program allocates: while it counts down from here, nothing is sampled. */
#define NEVER (INT64_C(1) << 62)

static __thread __attribute__((tls_model("initial-exec"))) struct {
    /* Bytes to the next sample; below zero when it is due. */
    int64_t left;
    /* 0 in a thread that has not allocated, and in the child of a fork. */
    uint64_t mean;
    uint64_t random;
    /* Samples since `then`, when the mean was last judged: CLOCK_MONOTONIC, ns. */
    uint64_t samples;
    uint64_t then;
} here;

static long kernel(long number, long a, long b) {
    long result;
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    result = x0;
#endif
    return result;
}

#if defined(__x86_64__)
#define SYS_CLOCK_GETTIME 228
#define SYS_GETTID 186
#else
#define SYS_CLOCK_GETTIME 113
#define SYS_GETTID 178
#endif

static uint64_t now(void) {
    int64_t time[2] = {0, 0};
    kernel(SYS_CLOCK_GETTIME, 1, (long)time);
    return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

/* splitmix64's last step: spreads a seed over all bits. */
static uint64_t spread(uint64_t seed) {
    seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    seed = (seed ^ (seed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return seed ^ (seed >> 31);
}

/* xorshift64*, Marsaglia 2003 and Vigna 2016: its upper bits are good. */
static uint64_t random_bits(void) {
    here.random ^= here.random >> 12;
    here.random ^= here.random << 25;
    here.random ^= here.random >> 27;
    return here.random * UINT64_C(0x2545f4914f6cdd1d);
}

/* -ln(bits / 2^53), for bits from 1 to 2^53: the logarithm of the power of two, and that of the rest, m from
 * 1 to 2, as 2 artanh((m - 1) / (m + 1)). Off by less than 1e-7. */
static double minus_log(uint64_t bits) {
    int power = 63 - __builtin_clzll(bits);
    double m = (double)bits / (double)(UINT64_C(1) << power);
    double s = (m - 1) / (m + 1), q = s * s;
    double rest = 2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q / 11)))));
    return (53 - power) * 0.69314718055994530942 - rest;
}

static int64_t draw(void) {
    return (int64_t)((double)here.mean * minus_log((random_bits() >> 11) + 1));
}

static uint64_t least_mean(void) {
    return culprit_sampling.mean < 1 ? 1 : culprit_sampling.mean;
}

/* A thread that has more samples a second than this doubles its mean. A sample and its end cost up to 14 us,
 * so the 512 of the usual mean take at most 0.7 % of its time. Who asks for a smaller mean wants more samples,
 * and pays for them. */
#ifndef MANY
#define MANY many()
static uint64_t many(void) {
    uint64_t wanted = (UINT64_C(256) << 20) / least_mean();
    return wanted < 512 ? 512 : wanted > 8192 ? 8192 : wanted;
}
#endif
#define ROUND 32
#define MOST (UINT64_C(1) << 40)

static void judge_mean(void) {
    if (++here.samples < ROUND) {
        return;
    }
    uint64_t time = now(), took = time - here.then, quick = UINT64_C(1000000000) * ROUND / MANY;
    if (took < quick && here.mean < MOST) {
        here.mean *= 2;
    } else if (took > 4 * quick && here.mean / 2 >= least_mean()) {
        here.mean /= 2;
    }
    here.samples = 0;
    here.then = time;
}

static COLD void begin_thread(void) {
    here.mean = least_mean();
    here.then = now();
    here.samples = 0;
#ifdef CULPRIT_TEST
    here.random = spread(CULPRIT_TEST);
#else
    here.random = spread(here.then ^ spread((uintptr_t)&here ^ ((uint64_t)kernel(SYS_GETTID, 0, 0) << 40)));
#endif
    here.random |= !here.random;
}

/* A sample is due, or the thread begins: `here.left` is already less by the block. `function` is what the
 * program called. */
static COLD void due(void *block, size_t size, void *function) {
    if (here.mean == 0) {
        begin_thread();
        here.left = draw() - (int64_t)(size + OVERHEAD);
        if (here.left >= 0) {
            return;
        }
    }
    uint64_t mean = here.mean;
    judge_mean();
    here.left = draw();
    if (block) {
        culprit_sampled(block, size, mean, insert(block), function);
    }
}

/* ---- What programs call. ------------------------------------------------------------------------------- */

/* C libraries may call one of these functions from another (musl's calloc calls malloc): what they ask
 * for on the way is asked for once. So the countdown stands while they work. */
#define COUNTED(function, block, size, call)                                                           \
    int64_t left = (int64_t)((uint64_t)here.left - ((uint64_t)(size) + OVERHEAD));                        \
    here.left = NEVER;                                                                                  \
    void *block = call;                                                                                 \
    here.left = left;                                                                                   \
    if (!LIKELY(left >= 0)) {                                                                           \
        due(block, size, function);                                                                     \
    }

EXPORT void *malloc(size_t size);

/* Apart from malloc, which then needs no frame of its own. */
static COLD void *malloc_when_due(size_t size) {
    int64_t left = here.left;
    here.left = NEVER;
    void *block = next.malloc(size);
    here.left = left;
    due(block, size, malloc);
    return block;
}

EXPORT void *malloc(size_t size) {
    int64_t left = (int64_t)((uint64_t)here.left - ((uint64_t)size + OVERHEAD));
    here.left = left;
    if (LIKELY(left >= 0)) {
        return next.malloc(size);
    }
    return malloc_when_due(size);
}

static COLD void free_what_may_be_live(void *block) {
    if (take_out(block)) {
        /* Before others may get the address. */
        culprit_freed(block);
    }
    next.free(block);
}

EXPORT void free(void *block) {
    if (LIKELY(!may_be_live(block))) {
        next.free(block);
    } else {
        free_what_may_be_live(block);
    }
}

EXPORT void *calloc(size_t count, size_t size) {
    COUNTED(calloc, block, count * size, next.calloc(count, size));
    return block;
}

EXPORT void *realloc(void *old, size_t size) {
    if (!LIKELY(!may_be_live(old)) && take_out(old)) {
        culprit_freed(old);
    }
    COUNTED(realloc, block, size, next.realloc(old, size));
    return block;
}

/* C libraries call realloc for it, so we do not ask theirs. */
EXPORT void *reallocarray(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return next.realloc(NULL, SIZE_MAX); /* sets errno */
    }
    if (!LIKELY(!may_be_live(old)) && take_out(old)) {
        culprit_freed(old);
    }
    COUNTED(reallocarray, block, bytes, next.realloc(old, bytes));
    return block;
}

static void *posix_aligned(size_t alignment, size_t size) {
    void *block = NULL;
    if (!next.posix_memalign || next.posix_memalign(&block, alignment, size) != 0) {
        return NULL;
    }
    return block;
}

static void *aligned(size_t alignment, size_t size) {
    return next.memalign        ? next.memalign(alignment, size)
           : next.aligned_alloc ? next.aligned_alloc(alignment, size)
                                : posix_aligned(alignment, size);
}

static void find_aligned(void) {
    if (!next.memalign && next.malloc == first_malloc) {
        find_next();
    }
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size) {
    find_aligned();
    if (!next.posix_memalign) {
        return 12; /* ENOMEM */
    }
    void *made = NULL;
    int error;
    COUNTED(posix_memalign, block, size, ((error = next.posix_memalign(&made, alignment, size)), error ? NULL : made));
    if (!error) {
        *result = block;
    }
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    find_aligned();
    COUNTED(aligned_alloc, block, size,
            next.aligned_alloc ? next.aligned_alloc(alignment, size) : aligned(alignment, size));
    return block;
}

EXPORT void *memalign(size_t alignment, size_t size) {
    find_aligned();
    COUNTED(memalign, block, size, aligned(alignment, size));
    return block;
}

#define PAGE 4096

EXPORT void *valloc(size_t size) {
    find_aligned();
    COUNTED(valloc, block, size, next.valloc ? next.valloc(size) : aligned(PAGE, size));
    return block;
}

EXPORT void *pvalloc(size_t size) {
    find_aligned();
    COUNTED(pvalloc, block, size,
            next.pvalloc ? next.pvalloc(size) : aligned(PAGE, (size + PAGE - 1) & ~(size_t)(PAGE - 1)));
    return block;
}

/* ---- The process. -------------------------------------------------------------------------------------- */

/* A child goes on with its parent's countdown and random numbers, and so does each of its siblings: they
 * would all sample the same allocation. */
static void after_fork(void) {
    here.mean = 0;
    here.left = 0;
}

/* The recorder is told whose malloc programs reach: where it is not ours, no sample can come. */
__attribute__((constructor)) static void attach(void) {
    int (*glibc)(void *, void *, void *, void *) = find("__register_atfork", 0);
    int (*posix)(void *, void *, void *) = glibc ? NULL : find("pthread_atfork", 0);
    if (glibc) {
        glibc(NULL, NULL, after_fork, NULL);
    } else if (posix) {
        posix(NULL, NULL, after_fork);
    }
    /* Not our malloc's address: the linker would give us that of the first one. */
    culprit_attached(find("malloc", 0), holds_us);
}
