/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 64, LINE = 64 };

static const char *program = "?";
static int world_rank = -1;
static bool in_row;

static size_t watch_bytes;
static MPI_Group world_group;
static _Atomic uint64_t *watch_ticks;

static void note_program(char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    program = slash == NULL ? argv[0] : slash + 1;
    world_rank = rank_of(MPI_COMM_WORLD);
}

void test_begin(int *argc, char ***argv)
{
    if (!in_row)
        CALL(MPI_Init(argc, argv));
    note_program(*argv);
}

void test_row_begin(int *argc, char ***argv)
{
    test_begin(argc, argv);
    in_row = true;
}

int test_begin_threads(int *argc, char ***argv, int required)
{
    int provided = 0;
    CALL(MPI_Init_thread(argc, argv, required, &provided));
    note_program(*argv);
    return provided;
}

int test_end(void)
{
    if (!in_row)
        CALL(MPI_Finalize());
    if (world_rank == 0)
        printf("PASS %s\n", program);
    return 0;
}

int test_row_end(void)
{
    in_row = false;
    program = "row";
    return test_end();
}

int test_skip(const char *reason)
{
    int done = 0;
    MPI_Initialized(&done);
    if (done)
        MPI_Finalize();
    if (world_rank <= 0)
        printf("SKIP %s\n", reason);
    return 0;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    char text[1024];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL rank %d %s:%d: %s\n", world_rank, file, line, text);
    fflush(stderr);
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

int rank_of(MPI_Comm comm)
{
    int rank = -1;
    CALL(MPI_Comm_rank(comm, &rank));
    return rank;
}

int size_of(MPI_Comm comm)
{
    int size = -1;
    CALL(MPI_Comm_size(comm, &size));
    return size;
}

uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return mix(*state, 0);
}

size_t random_below(uint64_t *state, size_t limit)
{
    return (size_t)(next_random(state) % limit);
}

/* Tests fill and check gigabytes: only the first word of a block is mixed, the others are a step
 * apart from each other. */
enum { WORD = sizeof(uint64_t), BLOCK = 8 * WORD };
typedef uint64_t block_t __attribute__((vector_size(BLOCK)));
#define STEP 0x9e3779b97f4a7c15u

static uint64_t word_at(uint64_t seed, size_t at)
{
    return mix(seed, at / BLOCK) + at % BLOCK / WORD * STEP;
}

static inline void draw_block(block_t *block, uint64_t seed, size_t at)
{
    *block = mix(seed, at / BLOCK) +
             (block_t){0, STEP, 2 * STEP, 3 * STEP, 4 * STEP, 5 * STEP, 6 * STEP, 7 * STEP};
}

void fill(void *buffer, size_t bytes, uint64_t seed)
{
    size_t whole = bytes - bytes % WORD, at = 0;
    uint64_t word;

    for (block_t block; at + BLOCK <= bytes; at += BLOCK) {
        draw_block(&block, seed, at);
        memcpy((char *)buffer + at, &block, BLOCK);
    }
    for (; at < whole; at += WORD) {
        word = word_at(seed, at);
        memcpy((char *)buffer + at, &word, WORD);
    }
    if (whole == bytes)
        return;
    word = word_at(seed, whole);
    memcpy((char *)buffer + whole, &word, bytes - whole);
}

/* The first of so many bytes that is not that of the word; their number if there is none. */
static size_t differs(const char *found, uint64_t word, size_t bytes)
{
    size_t i = 0;

    while (i < bytes && found[i] == ((const char *)&word)[i])
        i++;
    return i;
}

size_t mismatch(const void *buffer, size_t bytes, uint64_t seed)
{
    const char *found = buffer;
    size_t whole = bytes - bytes % WORD, at = 0;

    for (block_t block; at + BLOCK <= bytes; at += BLOCK) {
        draw_block(&block, seed, at);
        if (memcmp(found + at, &block, BLOCK) != 0)
            break;
    }
    for (; at < whole; at += WORD) {
        uint64_t word = word_at(seed, at);
        if (memcmp(found + at, &word, WORD) != 0)
            return at + differs(found + at, word, WORD);
    }
    return whole == bytes ? bytes : at + differs(found + at, word_at(seed, at), bytes - at);
}

struct search {
    const char *name;
    void *found;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct search *search = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *file = slash == NULL ? info->dlpi_name : slash + 1;
    if (strncmp(file, "libmpi.so", 9) != 0 && strncmp(file, "libmpich.so", 11) != 0 &&
        strncmp(file, "libmpi_abi.so", 13) != 0)
        return 0;
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    search->found = handle == NULL ? NULL : dlsym(handle, search->name);
    return search->found != NULL;
}

void *host_function(const char *name)
{
    struct search search = {.name = name};
    dl_iterate_phdr(search_object, &search);
    CHECK(search.found != NULL, "no MPI library with %s is loaded", name);
    return search.found;
}

static void check_guards(const unsigned char *memory, size_t bytes, uint64_t seed)
{
    CHECK(mismatch(memory, GUARD, seed + 1) == GUARD, "bytes before the buffer changed");
    CHECK(mismatch(memory + GUARD + bytes, GUARD, seed + 2) == GUARD,
          "bytes behind the buffer changed (%zu bytes)", bytes);
}

void checked_bcast(MPI_Comm comm, size_t bytes, int root, uint64_t seed)
{
    unsigned char *memory = malloc(bytes + 2 * GUARD);
    CHECK(memory != NULL, "no memory for %zu bytes", bytes);
    unsigned char *buffer = memory + GUARD;
    fill(memory, GUARD, seed + 1);
    fill(buffer + bytes, GUARD, seed + 2);
    fill(buffer, bytes, rank_of(comm) == root ? seed : ~seed);
    CALL(MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, comm));
    size_t wrong = mismatch(buffer, bytes, seed);
    CHECK(wrong == bytes, "bcast of %zu bytes from root %d: byte %zu is wrong", bytes, root, wrong);
    check_guards(memory, bytes, seed);
    /* What the root does to its buffer after the call is its own business. */
    memset(buffer, 0xee, bytes);
    free(memory);
}

/* A file is seen by hosts that are emulated on this machine too, which share no other memory. */
static void *map_watch(const char *name, size_t bytes)
{
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(file >= 0 && ftruncate(file, (off_t)bytes) == 0, "no file %s", name);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED, "%s cannot be mapped", name);
    close(file);
    return memory;
}

void watch_begin(void)
{
    char name[32];
    int owner = (int)getpid();
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm) = NULL;
    int (*barrier)(MPI_Comm) = NULL;
    *(void **)&bcast = host_function("PMPI_Bcast");
    *(void **)&barrier = host_function("PMPI_Barrier");
    CALL(bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(name, sizeof name, "watch.%d", owner);
    watch_bytes = (size_t)size_of(MPI_COMM_WORLD) * LINE;
    watch_ticks = map_watch(name, watch_bytes);
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world_group));
    CALL(barrier(MPI_COMM_WORLD));
    if (world_rank == 0)
        unlink(name);
}

void watch_end(void)
{
    CALL(MPI_Group_free(&world_group));
    munmap((void *)watch_ticks, watch_bytes);
}

static _Atomic uint64_t *tick_of(int rank)
{
    return &watch_ticks[rank * (LINE / (int)sizeof *watch_ticks)];
}

static void check_came(int rank, uint64_t tick)
{
    uint64_t seen = atomic_load(tick_of(rank));
    CHECK(seen >= tick, "left a barrier before rank %d came (%llu < %llu)", rank,
          (unsigned long long)seen, (unsigned long long)tick);
}

static void check_all_came(MPI_Comm comm, uint64_t tick)
{
    MPI_Group group;
    CALL(MPI_Comm_group(comm, &group));
    for (int member = 0; member < size_of(comm); member++) {
        int rank = 0;
        CALL(MPI_Group_translate_ranks(group, 1, &member, world_group, &rank));
        check_came(rank, tick);
    }
    CALL(MPI_Group_free(&group));
}

void checked_barrier(MPI_Comm comm, uint64_t tick)
{
    atomic_store(tick_of(world_rank), tick);
    CALL(MPI_Barrier(comm));
    check_all_came(comm, tick);
}

void watched_barrier(MPI_Comm comm, const int *members, int size, uint64_t tick)
{
    atomic_store(tick_of(world_rank), tick);
    CALL(MPI_Barrier(comm));
    for (int i = 0; i < size; i++)
        check_came(members[i], tick);
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static int count_maps(void)
{
    int count = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL)
        return 0;
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "sobor") != NULL && strstr(line, "rw-s") != NULL;
    fclose(maps);
    return count;
}

struct holdings holdings(void)
{
    return (struct holdings){count_descriptors(), count_maps()};
}

/* What is open, by name: of a descriptor too many the number alone says nothing. */
static void list_descriptors(void)
{
    char path[32], name[256];
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t bytes = readlink(path, name, sizeof name - 1);
        if (bytes >= 0)
            fprintf(stderr, "descriptor %d: %.*s\n", fd, (int)bytes, name);
    }
}

void check_holdings(struct holdings before)
{
    struct holdings now = holdings();
    if (now.descriptors > before.descriptors)
        list_descriptors();
    CHECK(now.descriptors <= before.descriptors, "%d descriptors open, %d before", now.descriptors,
          before.descriptors);
    CHECK(now.maps <= before.maps, "%d maps of shared memory, %d before", now.maps, before.maps);
}

void sleep_ms(long milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
