/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap against a model: threads allocate, grow, shrink and free at random, and each block holds
 * what was written to it, at its alignment, until it is freed. To be run with the heap preloaded.
 * Words: whether blocks are the heap's, on or off; the random numbers' seed; each thread's steps.
 */
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS 4
#define BLOCKS 96
#define LONGEST ((size_t)6 << 20)

typedef struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char mark;
} block_t;

static unsigned seed = 1, steps = 6000;

/* The first and the last byte of each page. */
static void fill(block_t *block, unsigned char mark)
{
    block->mark = mark;
    for (size_t i = 0; i < block->bytes; i += 4096)
        block->at[i] = mark;
    block->at[block->bytes - 1] = mark;
}

static void check_filled(const block_t *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        CHECK(block->at[i] == block->mark, "byte %zu of %zu is %u, not %u", i, bytes, block->at[i],
              block->mark);
}

static void check_zero(const block_t *block)
{
    for (size_t i = 0; i < block->bytes; i += 512)
        CHECK(block->at[i] == 0, "byte %zu of calloc is %u", i, block->at[i]);
}

static size_t draw_bytes(unsigned *state)
{
    size_t most = rand_r(state) % 8 == 0 ? LONGEST : (size_t)160 << 10;

    return 1 + ((size_t)rand_r(state) * 64 + (size_t)rand_r(state) % 64) % most;
}

static void allocate(block_t *block, unsigned *state)
{
    size_t alignment = (size_t)8 << rand_r(state) % 19;
    void *at = NULL;
    unsigned kind = (unsigned)rand_r(state) % 5;

    block->bytes = draw_bytes(state);
    if (kind == 0)
        at = calloc(1, block->bytes);
    else if (kind == 1 && posix_memalign(&at, alignment, block->bytes) != 0)
        at = NULL;
    else if (kind == 2)
        at = aligned_alloc(alignment, block->bytes);
    else if (kind > 2)
        at = malloc(block->bytes);
    block->at = at;
    CHECK(at != NULL, "no %zu bytes", block->bytes);
    CHECK(malloc_usable_size(at) >= block->bytes, "%zu bytes of %zu", malloc_usable_size(at),
          block->bytes);
    if (kind == 1 || kind == 2)
        CHECK((uintptr_t)at % alignment == 0, "%p for alignment %zu", at, alignment);
    if (kind == 0)
        check_zero(block);
}

static void resize(block_t *block, unsigned *state)
{
    size_t bytes = draw_bytes(state), least = bytes < block->bytes ? bytes : block->bytes;

    block->at = realloc(block->at, bytes);
    CHECK(block->at != NULL, "no %zu bytes", bytes);
    check_filled(block, least);
    block->bytes = bytes;
}

static void *work(void *number)
{
    unsigned state = seed + (unsigned)(uintptr_t)number;
    block_t blocks[BLOCKS] = {0};

    for (unsigned step = 0; step < steps; step++) {
        block_t *block = &blocks[rand_r(&state) % BLOCKS];
        unsigned kind = (unsigned)rand_r(&state) % 4;
        if (block->at == NULL) {
            allocate(block, &state);
        } else {
            check_filled(block, block->bytes);
            if (kind == 0) {
                resize(block, &state);
            } else {
                free(block->at);
                block->at = NULL;
                continue;
            }
        }
        fill(block, (unsigned char)rand_r(&state));
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i].at);
    return NULL;
}

static void by_threads(void)
{
    pthread_t thread[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* What is beyond all memory is refused as ever; what is no number of bytes too. */
static void beyond(void)
{
    volatile size_t huge = SIZE_MAX - 4096, half = SIZE_MAX / 2;
    void *block = malloc(1 << 20);

    errno = 0;
    CHECK(malloc(huge) == NULL && errno == ENOMEM, "malloc of all: errno %d", errno);
    CHECK(calloc(half, 4) == NULL, "calloc of more than all");
    CHECK(reallocarray(block, half, 4) == NULL, "reallocarray of more than all");
    CHECK(realloc(block, huge) == NULL, "realloc to all");
    CHECK(posix_memalign(&block, 24, 1 << 20) == EINVAL, "an alignment of 24");
    free(block);
}

/* Pages that a program gives back are zero afterwards; so are those of calloc. */
static void given_back(void)
{
    size_t bytes = (size_t)1 << 20;
    block_t block = {aligned_alloc(4096, bytes), bytes, 0};

    fill(&block, 7);
    CHECK(madvise(block.at, bytes, MADV_DONTNEED) == 0, "madvise: errno %d", errno);
    check_zero(&block);
    free(block.at);
    for (int i = 0; i < 200; i++) {
        block.at = calloc(1, block.bytes = (size_t)(i % 7 + 1) << 20);
        check_zero(&block);
        fill(&block, 7);
        free(block.at);
    }
}

/* The kernel gives back whole pages, where the program may read them or not, and refuses what does
 * not begin on one. */
static void given_back_as_ever(void)
{
    static const int rights[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
    size_t bytes = (size_t)1 << 20;
    block_t block = {aligned_alloc(4096, bytes), bytes, 0};

    fill(&block, 7);
    errno = 0;
    CHECK(madvise(block.at + 8, bytes / 2, MADV_DONTNEED) != 0 && errno == EINVAL,
          "within a page: errno %d", errno);
    check_filled(&block, bytes);
    memset(block.at, 7, bytes);
    CHECK(madvise(block.at, 100, MADV_DONTNEED) == 0, "madvise: errno %d", errno);
    CHECK(block.at[4095] == 0 && block.at[4096] == 7, "a page: %u, the next: %u", block.at[4095],
          block.at[4096]);
    for (size_t i = 0; i < 3; i++) {
        memset(block.at, 7, bytes);
        mprotect(block.at, bytes / 2, rights[i]);
        CHECK(madvise(block.at, bytes, MADV_DONTNEED) == 0, "madvise: errno %d", errno);
        mprotect(block.at, bytes / 2, PROT_READ | PROT_WRITE);
        check_zero(&block);
    }
    free(block.at);
}

static void given_back_after_a_fork(void)
{
    size_t bytes = (size_t)1 << 20;
    block_t block = {aligned_alloc(4096, bytes), bytes, 0};
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, NULL, 0) == child, "no child");
    fill(&block, 7);
    CHECK(madvise(block.at + 8, bytes / 2, MADV_DONTNEED) != 0, "within a page");
    check_filled(&block, bytes);
    mprotect(block.at + bytes / 2, bytes / 2, PROT_READ);
    CHECK(madvise(block.at, bytes, MADV_DONTNEED) == 0, "madvise: errno %d", errno);
    check_zero(&block);
    free(block.at);
}

/* More than the whole arena has room for: the rest is the C library's. */
static void more_than_room(void)
{
    enum { PARTS = 24 };
    char *part[PARTS];

    for (size_t i = 0; i < PARTS; i++) {
        part[i] = malloc((size_t)4 << 30);
        CHECK(part[i] != NULL, "no part %zu", i);
        part[i][i] = (char)i;
    }
    for (size_t i = 0; i < PARTS; i++) {
        CHECK(part[i][i] == (char)i, "part %zu", i);
        free(part[i]);
    }
}

typedef void free_sized_t(void *block, size_t bytes);
typedef void free_aligned_sized_t(void *block, size_t alignment, size_t bytes);

/* C23's: this C library may not have them, a program that asks by name finds the heap's. */
static void by_size(void)
{
    enum { TIMES = 200 }; /* the arena has no room for so many */
    size_t bytes = (size_t)1 << 30, alignment = 4096;
    free_sized_t *free_sized = NULL;
    free_aligned_sized_t *free_aligned_sized = NULL;

    *(void **)&free_sized = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&free_aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    CHECK(free_sized != NULL && free_aligned_sized != NULL, "no free_sized");
    for (int i = 0; i < TIMES; i++) {
        void *block = i % 2 == 0 ? malloc(bytes) : aligned_alloc(alignment, bytes);
        CHECK(is_shared(block), "block %d is not the heap's", i);
        if (i % 2 == 0)
            free_sized(block, bytes);
        else
            free_aligned_sized(block, alignment, bytes);
    }
}

int main(int count, char **words)
{
    bool expected = count < 2 || strcmp(words[1], "off") != 0;
    void *block = malloc(1 << 20);

    seed = count > 2 ? (unsigned)atoi(words[2]) : 1;
    steps = count > 3 ? (unsigned)atoi(words[3]) : steps;
    CHECK(is_shared(block) == expected, "the heap is %s", expected ? "not used" : "used");
    free(block);
    by_threads();
    beyond();
    given_back();
    given_back_as_ever();
    if (expected) {
        by_size();
        more_than_room();
    }
    given_back_after_a_fork();
    return 0;
}
