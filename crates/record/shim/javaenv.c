/* Notes which variables a Java program asks System.getenv for (-agentpath).
 *
 *   System.getenv(name) -> ProcessEnvironment -> Collections$UnmodifiableMap.m -> culprit.Environment -> variables
 *                                                                                    `-> a line of the report
 *
 * When the JVM has started, the map in between is put there. No capability that makes the JVM slower is asked
 * for, and no method is changed: a program that asks for nothing runs as before. Names are reported, never
 * values. Where the JVM has other classes, nothing is changed, and nothing is reported.
 *
 * A line of the report is JSON, as from the hook of Python. The first call of each line of Java is reported at once,
 * and its number of calls when the JVM ends.
 *
 * It is linked without a C library and takes functions of the JVM's own, glibc or musl. The numbers of the JVM's
 * functions are those of the tables in the specifications of JNI (chapter 4) and JVM TI. */

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void *Object;
typedef void *Id;
/* The environment of JNI, of JVM TI, and the JVM itself: each begins with its table of functions. */
typedef void ***Table;

/* The function with a number. JVM TI counts from 1. */
#define CALL(table, number, result, ...) ((result (*)(Table, ##__VA_ARGS__))(*(table))[number])
#define TI(table, number, ...) CALL(table, (number)-1, int, ##__VA_ARGS__)

enum { JNI_VERSION = 0x00010006, TI_VERSION = 0x30010000 };
enum { VM_INIT = 50, VM_DEATH = 51 };
/* Bits of jvmtiCapabilities. */
enum { CAN_GET_SOURCE_FILE_NAME = 1 << 11, CAN_GET_LINE_NUMBERS = 1 << 12 };

/* The class that stands in between. */
extern const unsigned char class_begin[], class_end[];
__asm__(".pushsection .rodata\n"
        "class_begin: .incbin \"Environment.class\"\n"
        "class_end:\n"
        ".popsection");

struct frame {
    Id method;
    int64_t at;
};

struct line {
    int64_t first, number; /* jvmtiLineNumberEntry: jlocation and jint */
};

/* A place that has asked for a name. */
struct seen {
    struct seen *next;
    struct seen *same; /* The first on the same line of Java. */
    struct frame frame;
    uint64_t count;
    int value, number;
    char *name, *file, *function;
};

/* A class whose frames are not the program's: between it and the map. */
static const char *const between[] = {
    "Lculprit/Environment;",
    "Ljava/util/Collections$UnmodifiableMap;",
    "Ljava/lang/ProcessEnvironment;",
    "Ljava/lang/System;",
};

enum { FRAMES = 8, ROWS = 1024, MOST_PLACES = 65536 };
static struct seen *rows[ROWS];
static int places;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Table ti;
static Object text_class;
static char report[256];

/* ---- The report ----------------------------------------------------------------------------------------- */

/* Appends a text with JSON's escapes; the JVM's texts are UTF-8 but for zeros and pairs of surrogates. */
static char *quoted(char *to, const char *end, const char *text) {
    for (; *text && to + 8 < end; text++) {
        unsigned char letter = *text;
        if (letter == '"' || letter == '\\' || letter < ' ')
            to += snprintf(to, 8, "\\u%04x", letter);
        else
            *to++ = letter;
    }
    *to = 0;
    return to;
}

static void write_line(const char *line, size_t length) {
    int file = open(report, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return;
    /* A short write leaves a broken line, which the reader leaves out. */
    if (write(file, line, length) < 0)
        report[0] = 0;
    close(file);
}

static void write_seen(const struct seen *seen) {
    char line[4096], *at = line;
    const char *end = line + sizeof line - 256;
    at += snprintf(at, 64, "{\"pid\":%d,\"use\":\"%s\",\"name\":\"", getpid(), seen->value ? "get" : "in");
    at = quoted(at, end, seen->name);
    at += snprintf(at, 64, "\",\"count\":%llu,\"file\":\"", (unsigned long long)seen->count);
    at = quoted(at, end, seen->file);
    at += snprintf(at, 64, "\",\"line\":%d,\"function\":\"", seen->number);
    at = quoted(at, end, seen->function);
    at += snprintf(at, 64, "\",\"through\":\"System.getenv\"}\n");
    write_line(line, at - line);
}

/* ---- Places --------------------------------------------------------------------------------------------- */

static void release(void *text) {
    if (text)
        TI(ti, 47, void *)(ti, text);
}

/* Methods that are known to be in between: asking the JVM costs more than all the rest. */
static _Atomic(Id) known[8];

static int is_known(Id method) {
    for (size_t at = 0; at < sizeof known / sizeof *known; at++)
        if (known[at] == method)
            return 1;
    return 0;
}

static int is_between(Table jni, Id method) {
    char *signature = NULL;
    Object class = NULL;
    int found = 0;
    if (is_known(method))
        return 1;
    if (TI(ti, 65, Id, Object *)(ti, method, &class))
        return 0;
    TI(ti, 48, Object, char **, char **)(ti, class, &signature, NULL);
    for (size_t at = 0; signature && at < sizeof between / sizeof *between; at++)
        found |= !strcmp(signature, between[at]);
    release(signature);
    CALL(jni, 23, void, Object)(jni, class);
    for (size_t at = 0; found && at < sizeof known / sizeof *known; at++) {
        Id none = NULL;
        if (atomic_compare_exchange_strong(&known[at], &none, method))
            break;
    }
    return found;
}

static int line_of(struct frame frame) {
    struct line *lines = NULL;
    int count = 0, number = 0;
    if (TI(ti, 70, Id, int *, struct line **)(ti, frame.method, &count, &lines))
        return 0;
    for (int at = 0; at < count; at++)
        if (lines[at].first <= frame.at)
            number = (int32_t)lines[at].number;
    release(lines);
    return number;
}

/* The first frame that is not in between. Answers whether there is one. */
static int caller(Table jni, struct frame *caller) {
    struct frame frames[FRAMES];
    int count = 0;
    if (TI(ti, 104, Object, int, int, struct frame *, int *)(ti, NULL, 1, FRAMES, frames, &count))
        return 0;
    for (int at = 0; at < count; at++) {
        if (!is_between(jni, frames[at].method)) {
            *caller = frames[at];
            return 1;
        }
    }
    return 0;
}

/* `Class.method`, and the file. */
static void describe(Table jni, struct seen *seen) {
    Object class = NULL;
    char *signature = NULL, *method = NULL, *file = NULL, text[1024];
    if (TI(ti, 65, Id, Object *)(ti, seen->frame.method, &class))
        return;
    TI(ti, 48, Object, char **, char **)(ti, class, &signature, NULL);
    TI(ti, 64, Id, char **, char **, char **)(ti, seen->frame.method, &method, NULL, NULL);
    TI(ti, 50, Object, char **)(ti, class, &file);
    /* Ljava/lang/Object; */
    size_t length = signature ? strlen(signature) : 0;
    if (length > 2)
        signature[length - 1] = 0;
    for (char *letter = signature; letter && *letter; letter++)
        if (*letter == '/')
            *letter = '.';
    snprintf(text, sizeof text, "%s.%s", length > 2 ? signature + 1 : "", method ? method : "");
    seen->function = strdup(text);
    seen->file = strdup(file ? file : "");
    seen->number = line_of(seen->frame);
    release(signature);
    release(method);
    release(file);
    CALL(jni, 23, void, Object)(jni, class);
}

static unsigned row_of(const char *name, struct frame frame) {
    uint64_t sum = (uintptr_t)frame.method ^ (uint64_t)frame.at << 20;
    while (*name)
        sum = sum * 31 + (unsigned char)*name++;
    return (sum ^ sum >> 32) % ROWS;
}

static struct seen *on_same_line(const struct seen *other) {
    for (int row = 0; row < ROWS; row++)
        for (struct seen *seen = rows[row]; seen; seen = seen->next)
            if (seen->number == other->number && seen->value == other->value && !strcmp(seen->name, other->name)
                && !strcmp(seen->function, other->function) && !strcmp(seen->file, other->file))
                return seen->same;
    return NULL;
}

/* To be called with the lock. */
static void count(Table jni, const char *name, int value, struct frame frame) {
    unsigned row = row_of(name, frame);
    for (struct seen *seen = rows[row]; seen; seen = seen->next) {
        if (seen->frame.method == frame.method && seen->frame.at == frame.at && seen->value == value
            && !strcmp(seen->name, name)) {
            seen->same->count++;
            return;
        }
    }
    struct seen *seen = places < MOST_PLACES ? calloc(1, sizeof *seen) : NULL;
    char *copy = seen ? strdup(name) : NULL;
    if (!copy)
        return;
    places++;
    seen->frame = frame;
    seen->value = value;
    seen->name = copy;
    describe(jni, seen);
    struct seen *same = seen->function && seen->file ? on_same_line(seen) : NULL;
    seen->same = same ? same : seen;
    seen->same->count++;
    seen->next = rows[row];
    rows[row] = seen;
    if (!same && seen->function && seen->file)
        write_seen(seen);
}

/* culprit.Environment.note(Object name, boolean value) */
static void note(Table jni, Object self, Object name, unsigned char value) {
    struct frame frame;
    (void)self;
    if (!name || !report[0] || !CALL(jni, 32, unsigned char, Object, Object)(jni, name, text_class))
        return;
    if (!caller(jni, &frame))
        return;
    const char *text = CALL(jni, 169, const char *, Object, unsigned char *)(jni, name, NULL);
    if (text) {
        pthread_mutex_lock(&lock);
        count(jni, text, value, frame);
        pthread_mutex_unlock(&lock);
        CALL(jni, 170, void, Object, const char *)(jni, name, text);
    } else {
        CALL(jni, 17, void)(jni);
    }
}

/* ---- The map in between --------------------------------------------------------------------------------- */

static Object class_of(Table jni, const char *name) {
    return CALL(jni, 6, Object, const char *)(jni, name);
}

/* Answers whether the map is in its place. After a failure the JVM may have an exception that waits. */
static int put_between(Table jni) {
    struct {
        const char *name, *signature;
        void *function;
    } native = {"note", "(Ljava/lang/Object;Z)V", note};
    const char *map = "Ljava/util/Map;";
    Object text = class_of(jni, "java/lang/String");
    Object process = text ? class_of(jni, "java/lang/ProcessEnvironment") : NULL;
    Object unmodifiable = process ? class_of(jni, "java/util/Collections$UnmodifiableMap") : NULL;
    if (!unmodifiable)
        return 0;
    Id field = CALL(jni, 144, Id, Object, const char *, const char *)(jni, process, "theUnmodifiableEnvironment", map);
    Id inner = field ? CALL(jni, 94, Id, Object, const char *, const char *)(jni, unmodifiable, "m", map) : NULL;
    Object outer = inner ? CALL(jni, 145, Object, Object, Id)(jni, process, field) : NULL;
    if (!outer || !CALL(jni, 32, unsigned char, Object, Object)(jni, outer, unmodifiable))
        return 0;
    Object variables = CALL(jni, 95, Object, Object, Id)(jni, outer, inner);
    Object class = CALL(jni, 5, Object, const char *, Object, const unsigned char *, int)(
        jni, "culprit/Environment", NULL, class_begin, (int)(class_end - class_begin));
    Id new = class ? CALL(jni, 33, Id, Object, const char *, const char *)(jni, class, "<init>", "(Ljava/util/Map;)V") : NULL;
    if (!new || CALL(jni, 215, int, Object, void *, int)(jni, class, &native, 1))
        return 0;
    Object between_them = CALL(jni, 28, Object, Object, Id, ...)(jni, class, new, variables);
    text_class = CALL(jni, 21, Object, Object)(jni, text);
    if (!between_them || !text_class)
        return 0;
    CALL(jni, 104, void, Object, Id, Object)(jni, outer, inner, between_them);
    return 1;
}

static void started(Table tools, Table jni, Object thread) {
    char line[64];
    (void)tools, (void)thread;
    int done = put_between(jni);
    if (CALL(jni, 228, unsigned char)(jni)) {
        CALL(jni, 17, void)(jni);
        done = 0;
    }
    if (done)
        write_line(line, snprintf(line, sizeof line, "{\"pid\":%d,\"use\":\"hello\"}\n", getpid()));
}

static void ended(Table tools, Table jni) {
    (void)tools, (void)jni;
    pthread_mutex_lock(&lock);
    for (int row = 0; row < ROWS; row++)
        for (struct seen *seen = rows[row]; seen; seen = seen->next)
            if (seen->same == seen && seen->count > 1 && seen->function && seen->file)
                write_seen(seen);
    pthread_mutex_unlock(&lock);
}

/* The JVM calls it first. A failure here would end the JVM. */
EXPORT int Agent_OnLoad(Table vm, const char *options, void *reserved);
int Agent_OnLoad(Table vm, const char *options, void *reserved) {
    void (*events[35])(void) = {(void (*)(void))started, (void (*)(void))ended};
    unsigned capabilities[4] = {CAN_GET_SOURCE_FILE_NAME | CAN_GET_LINE_NUMBERS};
    (void)reserved;
    if (!options || strlen(options) >= sizeof report)
        return 0;
    strcpy(report, options);
    /* GetEnv of the invocation interface. */
    if (CALL(vm, 6, int, Table *, int)(vm, &ti, TI_VERSION))
        return 0;
    TI(ti, 142, unsigned *)(ti, capabilities);
    if (TI(ti, 122, void *, int)(ti, events, sizeof events))
        return 0;
    TI(ti, 2, int, int, Object, ...)(ti, 1, VM_INIT, NULL);
    TI(ti, 2, int, int, Object, ...)(ti, 1, VM_DEATH, NULL);
    return 0;
}
