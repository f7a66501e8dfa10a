/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an arena is to the system: a sealed file of its owner's alone, which another process maps to
 * be read, and which only its owner dumps; where huge pages of it would be; and what of it stays
 * when all is freed. To be run with the heap preloaded.
 */
#include "support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define BYTES ((size_t)1 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define KEPT_MOST ((long)(64 + 4) << 10) /* KiB that stay, and some more */

static const char *const name = "/memfd:sobor-heap";

/* The descriptor of this process's arena. */
static int arena_file(void)
{
    char path[64], link[64];

    for (int file = 3; file < 64; file++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        ssize_t length = readlink(path, link, sizeof link);
        if (length > 0 && strncmp(link, name, strlen(name)) == 0)
            return file;
    }
    CHECK(false, "no descriptor is an arena's");
    return -1;
}

static void check_file(void)
{
    int file = arena_file(), seals = fcntl(file, F_GET_SEALS);
    struct stat status;

    CHECK(fstat(file, &status) == 0 && (status.st_mode & 07777) == 0600, "rights %o",
          (unsigned)status.st_mode);
    CHECK((seals & F_SEAL_SHRINK) != 0 && (seals & F_SEAL_SEAL) != 0, "seals %x", (unsigned)seals);
    CHECK((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0, "programs that are started inherit it");
    CHECK(ftruncate(file, 4096) != 0, "the file can be cut");
}

/* A huge page is mapped whole where its place is a multiple of it in memory as in the file. */
static void check_place(const char *line)
{
    unsigned long begin, offset;

    CHECK(sscanf(line, "%lx-%*x %*s %lx", &begin, &offset) == 2 &&
              (begin - offset) % HUGE_PAGE == 0,
          "mapped at %lx from %lx on", begin, offset);
}

/* Mappings of arenas with these rights, of which `dumped` are part of a dump. */
static unsigned mappings(const char *rights, unsigned *dumped)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512], seen[8];
    unsigned count = 0;
    bool wanted = false;

    *dumped = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%*x-%*x %7s", seen) == 1) {
            wanted = strstr(line, name) != NULL && strcmp(seen, rights) == 0;
            count += wanted;
            if (wanted)
                check_place(line);
        } else if (wanted && strncmp(line, "VmFlags:", 8) == 0) {
            *dumped += strstr(line, " dd ") == NULL;
        }
    }
    if (file != NULL)
        fclose(file);
    return count;
}

static void read_of(pid_t owner, const char *block)
{
    char *into = malloc(BYTES);
    struct iovec local = {into, BYTES}, remote = {(void *)(uintptr_t)block, BYTES};
    sb_heap_counts_t counts;
    unsigned dumped;

    CHECK(process_vm_readv(owner, &local, 1, &remote, 1, 0) == (ssize_t)BYTES, "not read");
    CHECK(into[0] == 7 && into[BYTES - 1] == 7, "bytes %d and %d", into[0], into[BYTES - 1]);
    own_heap()->count(&counts);
    CHECK(counts.loads == 1, "%lu loads", (unsigned long)counts.loads);
    CHECK(mappings("r--s", &dumped) == 1, "another's arena is not mapped to be read alone");
    CHECK(dumped == 0, "another's arena is part of a dump");
    CHECK(mappings("rw-s", &dumped) == 1 && dumped == 1, "the own arena: %u mapped", dumped);
    CHECK(mappings("---s", &dumped) > 0 && dumped == 0, "what is not in use is part of a dump");
}

/* What the owner has put in a block's place is what is read. */
static void read_replaced(pid_t owner, const char *block)
{
    char *into = malloc(BYTES);
    struct iovec local = {into, BYTES}, remote = {(void *)(uintptr_t)block, BYTES};

    CHECK(process_vm_readv(owner, &local, 1, &remote, 1, 0) == (ssize_t)BYTES, "not read");
    CHECK(into[0] == 9 && into[BYTES - 1] == 9, "replaced: %d and %d", into[0], into[BYTES - 1]);
}

/* KiB of shared pages. */
static long shared_pages(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long found = -1;

    while (file != NULL && found < 0 && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "RssShmem: %ld", &found);
    if (file != NULL)
        fclose(file);
    return found;
}

/* Freed pages are kept up to a bound. */
static void check_kept(void)
{
    enum { BLOCKS = 24 };
    char *block[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++)
        block[i] = memset(malloc(8 * BYTES), 1, 8 * BYTES);
    CHECK(shared_pages() > KEPT_MOST, "%ld KiB are shared", shared_pages());
    for (size_t i = 0; i < BLOCKS; i++)
        free(block[i]);
    CHECK(shared_pages() <= KEPT_MOST, "%ld KiB stay", shared_pages());
}

static bool may_be_huge(void)
{
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "r");
    char line[128] = "";
    bool may = file != NULL && fgets(line, sizeof line, file) != NULL &&
               strstr(line, "[never]") == NULL && strstr(line, "[deny]") == NULL;

    if (file != NULL)
        fclose(file);
    return may;
}

/* numpy asks for huge pages for each long array; a fork moves the pages of one mapping. */
static void check_advised(void)
{
    char *block = malloc(4 * HUGE_PAGE);
    unsigned dumped;

    CHECK(madvise(block, HUGE_PAGE, MADV_HUGEPAGE) == 0, "advice is refused");
    CHECK(may_be_huge() || mappings("rw-s", &dumped) == 1, "the arena is cut");
    free(block);
}

/* The reader is older than the arena, or it would have it by the fork. */
static pid_t start_reader(pid_t owner, int told, void (*look)(pid_t owner, const char *block))
{
    char *block = NULL;
    pid_t reader = fork();

    if (reader != 0)
        return reader;
    CHECK(read(told, &block, sizeof block) == (ssize_t)sizeof block, "not told");
    look(owner, block);
    _exit(0);
}

static void tell(pid_t reader, int told, char *block)
{
    int how = 0;

    CHECK(write(told, &block, sizeof block) == (ssize_t)sizeof block, "not told");
    CHECK(waitpid(reader, &how, 0) == reader && how == 0, "reader: status %x", (unsigned)how);
}

/* A block whose place another mapping takes is no longer shared. */
static void check_replaced(pid_t reader, int told)
{
    char *block = aligned_alloc(4096, BYTES), *other = malloc(BYTES);

    memset(block, 8, BYTES);
    memset(other, 5, BYTES);
    CHECK(is_shared(block), "the heap is not used");
    CHECK(mmap(block, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == block,
          "the block cannot be replaced");
    memset(block, 9, BYTES);
    tell(reader, told, block);
    CHECK(other[0] == 5 && other[BYTES - 1] == 5, "another block: %d", other[0]);
}

int main(void)
{
    int told[2], again[2];

    CHECK(pipe(told) == 0 && pipe(again) == 0, "no pipe");
    pid_t owner = getpid();
    pid_t first = start_reader(owner, told[0], read_of);
    pid_t second = start_reader(owner, again[0], read_replaced);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    char *block = malloc(BYTES);
    CHECK(is_shared(block), "the heap is not used");
    memset(block, 7, BYTES);
    check_file();
    check_advised();
    tell(first, told[1], block);
    free(block);
    check_kept();
    check_replaced(second, again[1]);
    return 0;
}
