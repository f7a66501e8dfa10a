/* Barriers and broadcasts, checked, and then where the shared memory that this rank owns is:
 *     place rank=3 cpus=6,7 pages=3:259 absent=0
 * one line for each rank, pages counted by NUMA node.
 *
 * usage: places [ALGORITHM...]; each barrier named is used on a communicator of its own, too. Since
 * a communicator has the settings of its first rank, rank i asks for the i-th, and the communicator
 * begins with rank i and goes round. */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BARRIERS = 6, ROUNDS = 6, NODES = 64, PAGE = 4096, LINE = 512, REGIONS = 64 };

static const size_t SIZES[] = {0, 1, 300, 5000, 70000, 1500000};

/* Memory files that this process made: those of its peers it maps too, but does not keep open. */
struct files {
    ino_t inode[REGIONS];
    size_t count;
};

struct pages {
    size_t on[NODES];
    size_t absent;
};

static bool is_ours(const char *target)
{
    return strncmp(target, "/memfd:sobor", 12) == 0 || strncmp(target, "/dev/shm/sobor.", 15) == 0;
}

static void note_file(struct files *files, const char *descriptor)
{
    char path[300];
    char target[300];
    struct stat about;
    snprintf(path, sizeof path, "/proc/self/fd/%s", descriptor);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return;
    target[length] = '\0';
    if (is_ours(target) && stat(path, &about) == 0) {
        CHECK(files->count < REGIONS, "more than %d regions", REGIONS);
        files->inode[files->count++] = about.st_ino;
    }
}

static struct files find_files(void)
{
    struct files files = {.count = 0};
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL, "/proc/self/fd cannot be read");
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        note_file(&files, entry->d_name);
    closedir(folder);
    return files;
}

static bool contains(const struct files *files, ino_t inode)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->inode[i] == inode)
            return true;
    return false;
}

static void count_page(struct pages *pages, volatile char *address)
{
    void *page = (void *)(uintptr_t)address;
    int node = -1;
    (void)*address; /* a page that this process never touched is not in its table */
    CHECK(syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0) == 0, "move_pages refused");
    CHECK(node < NODES, "node %d", node);
    if (node >= 0)
        pages->on[node]++;
    else
        pages->absent++;
}

static struct pages count_pages(void)
{
    struct files files = find_files();
    struct pages pages = {.absent = 0};
    char line[LINE];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL, "/proc/self/maps cannot be read");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin;
        unsigned long end;
        unsigned long inode;
        char name[LINE];
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu %511s", &begin, &end, &inode, name) != 4)
            continue;
        if (!is_ours(name) || !contains(&files, inode))
            continue;
        for (unsigned long at = begin; at < end; at += PAGE)
            count_page(&pages, (volatile char *)at);
    }
    fclose(maps);
    return pages;
}

static void append(char *line, const char *separator, size_t first, const char *more)
{
    size_t length = strlen(line);
    snprintf(line + length, LINE - length, "%s%zu%s", separator, first, more);
}

static void describe(char *line)
{
    struct pages pages = count_pages();
    const char *separator = "";
    char count[32];
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0, "sched_getaffinity refused");
    snprintf(line, LINE, "place rank=%d cpus=", rank_of(MPI_COMM_WORLD));
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus)) {
            append(line, separator, cpu, "");
            separator = ",";
        }
    separator = " pages=";
    for (size_t node = 0; node < NODES; node++)
        if (pages.on[node] > 0) {
            snprintf(count, sizeof count, ":%zu", pages.on[node]);
            append(line, separator, node, count);
            separator = ",";
        }
    append(line, " absent=", pages.absent, "");
}

static void print_places(void)
{
    char mine[LINE] = "";
    int size = size_of(MPI_COMM_WORLD);
    char *all = calloc((size_t)size, LINE);
    CHECK(all != NULL, "no memory");
    describe(mine);
    CALL(MPI_Gather(mine, LINE, MPI_CHAR, all, LINE, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int rank = 0; rank < size && rank_of(MPI_COMM_WORLD) == 0; rank++)
        printf("%s\n", all + (size_t)rank * LINE);
    free(all);
}

/* The launcher's number of this rank, which it has before MPI has begun. */
static int launched_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    if (text == NULL)
        text = getenv("PMI_RANK");
    CHECK(text != NULL, "the launcher does not say which rank this is");
    return atoi(text);
}

static void ask_for(int count, char **algorithms)
{
    int rank = launched_rank();
    if (rank >= 1 && rank <= count)
        CHECK(setenv("SOBOR_BARRIER_ALGORITHM", algorithms[rank - 1], 1) == 0, "setenv");
}

static void try_algorithm(int first, uint64_t *tick)
{
    int size = size_of(MPI_COMM_WORLD);
    char name[32];
    MPI_Comm comm;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, (rank_of(MPI_COMM_WORLD) - first + size) % size, &comm));
    snprintf(name, sizeof name, "from_%d", first);
    CALL(MPI_Comm_set_name(comm, name));
    for (int i = 0; i < ROUNDS; i++)
        checked_barrier(comm, ++*tick);
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    int algorithms = argc - 1;
    uint64_t tick = 0;
    ask_for(algorithms, argv + 1);
    test_begin(&argc, &argv);
    int last = size_of(MPI_COMM_WORLD) - 1;
    int roots[] = {0, last / 2, last};
    watch_begin();
    for (int i = 0; i < BARRIERS; i++)
        checked_barrier(MPI_COMM_WORLD, ++tick);
    for (int first = 1; first <= algorithms; first++)
        try_algorithm(first, &tick);
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
        for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
            checked_bcast(MPI_COMM_WORLD, SIZES[s], roots[r], mix(s, r));
    print_places();
    watch_end();
    return test_end();
}
