/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program does to pages of its long blocks is as it would be in memory of its own: their
 * rights stay while the heap grows and over a fork, what it maps there is left alone, and output
 * does not go there. To be run with the heap preloaded, and without a standard error.
 */
#include "support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define ALL (4 * MIB)
#define PAGE ((size_t)4096)

static char *block_of(size_t bytes)
{
    char *block = aligned_alloc(PAGE, bytes);

    CHECK(is_shared(block), "the heap is not used");
    return block;
}

/* Of the mapping that has the address. */
static void get_rights(const char *at, char rights[5])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    memcpy(rights, "none", 5);
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char seen[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, seen) == 3 && (unsigned long)at >= from &&
            (unsigned long)at < to)
            memcpy(rights, seen, sizeof seen);
    }
    fclose(maps);
}

static void check_rights(const char *at, const char *expected, const char *when)
{
    char rights[5];

    get_rights(at, rights);
    CHECK(strncmp(rights, expected, 3) == 0, "%s: rights %s", when, rights);
}

static void check_pages(char *block, const char *when)
{
    check_rights(block, "r-x", when);
    check_rights(block + PAGE, "rw-", when);
    check_rights(block + 2 * PAGE, "---", when);
    CHECK(block[0] == 1 && block[PAGE] == 1, "%s: %d and %d", when, block[0], block[PAGE]);
}

static void grow(void)
{
    char *block = memset(block_of(ALL), 1, ALL);

    CHECK(mprotect(block, PAGE, PROT_READ | PROT_EXEC) == 0 &&
              mprotect(block + 2 * PAGE, PAGE, PROT_NONE) == 0,
          "rights are not changed");
    for (size_t i = 0; i < 10; i++)
        memset(block_of(10 * MIB), 2, PAGE);
    check_pages(block, "longer");
}

/* The child has what the parent had, also where the program has closed all that it did not open. */
static void become_parent(void)
{
    char *block = memset(block_of(ALL), 1, ALL);
    int status;

    CHECK(mprotect(block, PAGE, PROT_READ | PROT_EXEC) == 0 &&
              mprotect(block + 2 * PAGE, PAGE, PROT_NONE) == 0,
          "rights are not changed");
    for (int file = 3; file < 64; file++)
        close(file);
    pid_t child = fork();
    check_pages(block, child == 0 ? "child" : "parent");
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
}

/* Where all of the heap's addresses are in use there is no rest to keep from the child. */
static void be_full(void)
{
    int said = memfd_create("said", 0), status;

    for (size_t i = 0; i < 63; i++)
        block_of(GIB - PAGE);
    for (char *block = NULL; (block = malloc(8 * MIB)) != NULL && is_shared(block);)
        memset(block, 1, 1);
    CHECK(dup2(said, STDERR_FILENO) == STDERR_FILENO, "no place for what is said");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    CHECK(lseek(said, 0, SEEK_END) == 0, "something is said");
}

static void map_file(int flags)
{
    char *block = memset(block_of(ALL), 1, ALL), path[] = "/tmp/heap-pages-XXXXXX", seen = 0;
    int file = mkstemp(path);

    unlink(path);
    for (size_t i = 0; i < MIB / PAGE; i++)
        CHECK(write(file, memset(block, 9, PAGE), PAGE) == (ssize_t)PAGE, "not written");
    CHECK(mmap(block + MIB, MIB, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) != MAP_FAILED,
          "not mapped");
    CHECK(madvise(block + MIB, MIB, MADV_DONTNEED) == 0, "not given back");
    CHECK(block[MIB + 5] == 9, "the file's byte is %d", block[MIB + 5]);
    CHECK(pread(file, &seen, 1, 5) == 1 && seen == 9, "the file has %d", seen);
    CHECK(madvise(block + 2 * MIB, MIB, MADV_DONTNEED) == 0, "not given back");
    CHECK(block[2 * MIB] == 0 && block[ALL - 1] == 1, "its own: %d, %d", block[2 * MIB],
          block[ALL - 1]);
    close(file);
}

/* Standard error is closed: what goes to its number reaches no block. */
static void speak(void)
{
    char *block = memset(block_of(MIB), 1, MIB);
    char words[PAGE];

    memset(words, 7, sizeof words);
    if (write(STDERR_FILENO, words, sizeof words) == (ssize_t)sizeof words)
        CHECK(false, "there is a standard error");
    for (size_t i = 0; i < MIB; i++)
        CHECK(block[i] == 1, "byte %zu is %d", i, block[i]);
}

static void map_shared_file(void)
{
    map_file(MAP_SHARED);
}

static void map_private_file(void)
{
    map_file(MAP_PRIVATE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"grow", grow},
                {"parent", become_parent},
                {"full", be_full},
                {"shared_file", map_shared_file},
                {"private_file", map_private_file},
                {"speak", speak}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            return 0;
        }
    }
    CHECK(false, "expected a way, found %s", argc > 1 ? argv[1] : "none");
    return 1;
}
