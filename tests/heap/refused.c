/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each single call that the heap makes of the system is refused to it, once or from there on: the
 * program's blocks hold what it has written, in a child too, and so does what another process reads
 * of them. To be run with the heap preloaded; the word is the object that refuses.
 */
#include "../long_form.h"
#include "support.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define WORDS ((size_t)128 << 10)
#define BYTES (WORDS * sizeof(uint64_t))
/* More than is kept of what was freed. */
#define MANY ((size_t)96 << 20)

/* Calls of the reader, which nobody counts. */
#define LEAST 4

/* Then all has to be as it should be, and not only right. */
static bool is_all_had(void)
{
    return strcmp(getenv("REFUSED"), "nothing") == 0;
}

static void fill(uint64_t *block, size_t words, uint64_t number)
{
    for (size_t i = 0; i < words; i++)
        block[i] = number + i;
}

static void check(const uint64_t *block, size_t words, uint64_t number, const char *whose)
{
    for (size_t i = 0; i < words; i++)
        CHECK(block[i] == number + i, "%s word %zu is %lu", whose, i, (unsigned long)block[i]);
}

/* Blocks come, grow, become shorter and go. */
static void allocate(void)
{
    uint64_t *block[8];
    enum { BLOCKS = sizeof block / sizeof *block };

    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = i % 2 == 0 ? malloc(BYTES) : aligned_alloc((size_t)4096 << i, BYTES);
        CHECK(block[i] != NULL, "no block %zu", i);
        fill(block[i], WORDS, i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t words = i % 3 == 0 ? WORDS / 2 : WORDS;
        block[i] = realloc(block[i], i % 3 == 0 ? BYTES / 2 : 3 * BYTES);
        CHECK(block[i] != NULL, "no block %zu", i);
        check(block[i], words, i, "its own");
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(block[i]);
    char *many = malloc(MANY);
    CHECK(many != NULL, "no long block");
    many[MANY - 1] = 1;
    free(many);
    uint64_t *zeros = calloc(WORDS, sizeof *zeros);
    CHECK(zeros != NULL, "no zeros");
    for (size_t i = 0; i < WORDS; i++)
        CHECK(zeros[i] == 0, "word %zu is not zero", i);
    free(zeros);
}

typedef struct reader {
    pid_t process;
    int ask[2], answer[2];
} reader_t;

/* Reads another process's block; what it cannot have is refused. */
static void read_for(const reader_t *reader, pid_t owner)
{
    static uint64_t seen[WORDS];
    uint64_t *block;
    char done = 1;

    while (read(reader->ask[0], &block, sizeof block) == sizeof block) {
        struct iovec here = {seen, BYTES}, there = {block, BYTES};
        if (process_vm_readv(owner, &here, 1, &there, 1, 0) == (ssize_t)BYTES)
            check(seen, WORDS, 7, "read");
        sb_heap_counts_t counts;
        own_heap()->count(&counts);
        CHECK(counts.loads > 0 || !is_all_had(), "nothing was read by loads");
        CHECK(write(reader->answer[1], &done, 1) == 1, "no answer");
    }
    _exit(0);
}

/* Before there is a heap, so that it is no child of a process that has one. */
static void start_reader(reader_t *reader)
{
    pid_t owner = getpid();

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    CHECK(pipe(reader->ask) == 0 && pipe(reader->answer) == 0, "no pipes");
    reader->process = fork();
    if (reader->process == 0) {
        close(reader->ask[1]);
        read_for(reader, owner);
    }
    close(reader->answer[1]);
}

static void have_read(const reader_t *reader, uint64_t *block)
{
    char done;

    CHECK(write(reader->ask[1], &block, sizeof block) == sizeof block, "no question");
    CHECK(read(reader->answer[0], &done, 1) == 1, "no answer");
}

static void have_ended(const reader_t *reader)
{
    int how;

    close(reader->ask[1]);
    CHECK(waitpid(reader->process, &how, 0) == reader->process && how == 0, "the reader: %x", how);
}

/* A child and its parent have the same, and then each its own. Where the heap has said that it
 * cannot keep them apart, the child has none of it. */
static void have_child(uint64_t *block)
{
    int gone[2], how;
    char word;

    CHECK(pipe(gone) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        close(gone[1]);
        CHECK(read(gone[0], &word, 1) == 0, "the parent has written");
        check(block, WORDS, 7, "child's");
        fill(block, WORDS, 9);
        allocate();
        _exit(0);
    }
    fill(block, WORDS, 8);
    close(gone[0]);
    close(gone[1]);
    CHECK(waitpid(child, &how, 0) == child, "no child");
    if (WIFSIGNALED(how))
        printf("no child\n");
    else
        CHECK(how == 0, "the child: %x", how);
    check(block, WORDS, 8, "parent's");
}

typedef const char *calls_t(unsigned function, unsigned *number);

/* One program: what the driver has preloaded refuses. At its end it says how often it was asked. */
static int work(void)
{
    calls_t *calls = (calls_t *)(uintptr_t)dlsym(RTLD_DEFAULT, "refusing_calls");
    reader_t reader;
    unsigned number;
    const char *name;

    CHECK(calls != NULL, "nothing refuses");
    start_reader(&reader);
    allocate();
    uint64_t *block = malloc(BYTES);
    CHECK(block != NULL, "no block");
    CHECK(is_shared(block) || !is_all_had(), "the heap is not used");
    fill(block, WORDS, 7);
    have_read(&reader, block);
    have_child(block);
    have_ended(&reader);
    free(block);
    allocate();
    for (unsigned f = 0; (name = calls(f, &number)) != NULL; f++)
        printf("asked %s %u\n", name, number);
    return 0;
}

enum { NAME_BYTES = 32, FUNCTIONS_MOST = 32 };

typedef struct asked {
    char name[NAME_BYTES];
    unsigned number;
} asked_t;

/* Runs one with this refused. Returns how many functions it has said that it asked; 0: it failed.
 */
static unsigned run(const char *self, const char *refused, asked_t *asked)
{
    char line[512];
    bool apart = true, child = true, failed = false;
    unsigned count = 0;

    snprintf(line, sizeof line, "REFUSED=%s exec %s 2>&1", refused, self); /* not to the shell */
    FILE *output = popen(line, "r");
    CHECK(output != NULL, "popen");
    while (fgets(line, sizeof line, output) != NULL) {
        child = child && strncmp(line, "no child", 8) != 0;
        apart = apart && strstr(line, "cannot be kept from other processes") == NULL;
        failed = failed || strncmp(line, "FAILED", 6) == 0;
        if (strncmp(line, "FAILED", 6) == 0)
            printf("%s: %s", refused, line);
        if (count < FUNCTIONS_MOST &&
            sscanf(line, "asked %31s %u", asked[count].name, &asked[count].number) == 2)
            count++;
    }
    int how = pclose(output);
    if (how == 0 && !failed && (child || !apart))
        return count;
    printf("FAILED: REFUSED=%s, status %x%s\n", refused, (unsigned)how, child ? "" : ", no child");
    return 0;
}

static int refuse(const char *self, const asked_t *asked, bool on)
{
    char refused[64];
    asked_t again[FUNCTIONS_MOST];

    snprintf(refused, sizeof refused, "%.31s:%u%s", asked->name, asked->number, on ? ":on" : "");
    return run(self, refused, again) == 0;
}

/* In the long form either way of each call, else one by turns. */
static int run_all(const char *self)
{
    asked_t asked[FUNCTIONS_MOST];
    unsigned count = run(self, "nothing", asked);
    int failures = count == 0;

    for (unsigned f = 0; f < count; f++) {
        unsigned all = asked[f].number > LEAST ? asked[f].number : LEAST;
        for (asked[f].number = 1; asked[f].number <= all; asked[f].number++) {
            for (unsigned on = 0; on < 2; on++) {
                if (is_long_form() || (asked[f].number + f) % 2 == on)
                    failures += refuse(self, &asked[f], on != 0);
            }
        }
        printf("%-16s %3u calls\n", asked[f].name, all);
    }
    return failures;
}

int main(int argc, char **argv)
{
    char preload[8192];
    const char *heap = getenv("LD_PRELOAD");

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        return work();
    CHECK(heap != NULL, "nothing is preloaded");
    snprintf(preload, sizeof preload, "%s:%s", heap, argv[1]);
    setenv("LD_PRELOAD", preload, 1);
    return run_all(argv[0]) == 0 ? 0 : 1;
}
