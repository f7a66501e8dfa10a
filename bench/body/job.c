/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "base/mpi_name.h"
#include "cold.h"
#include "parts.h"
#include "reductions.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *libmpi_handle(void)
{
    const char *path = getenv("SOBOR_BENCH_LIBMPI");
    return path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

/* dlsym on the library's own handle never meets a preloaded object of the same name. */
static void *host_symbol(void *libmpi, const char *name)
{
    void *symbol = dlsym(libmpi, name);
    if (symbol == NULL)
        fprintf(stderr, "sobor-bench: SOBOR_BENCH_LIBMPI: the library has no %s\n", name);
    return symbol;
}

/* A body called with another family's handles would crash; this names the mistake instead. */
static const char *library_abi(void *libmpi)
{
    int major = -1;
    int minor = -1;
    int (*abi_version)(int *, int *) = NULL;
    *(void **)&abi_version = dlsym(libmpi, "MPI_Abi_get_version");
    if (abi_version != NULL)
        abi_version(&major, &minor);
    if (major > 0)
        return "mpiabi1";
    return dlsym(libmpi, "ompi_mpi_comm_world") != NULL ? "ompi40" : "mpich12";
}

static const char *body_abi(void)
{
#if defined(OPEN_MPI)
    return "ompi40";
#elif defined(MPICH_NUMVERSION)
    return "mpich12";
#else
    return "mpiabi1";
#endif
}

static int check_abi(void *libmpi)
{
    const char *found = library_abi(libmpi);
    if (strcmp(found, body_abi()) == 0)
        return 0;
    fprintf(stderr, "sobor-bench: --abi: expected %s for this --libmpi, found %s\n", found,
            body_abi());
    return -1;
}

static int find_functions(struct bench_job *job, void *libmpi)
{
    job->host.barrier = (bench_barrier *)host_symbol(libmpi, "PMPI_Barrier");
    job->host.bcast = (bench_bcast *)host_symbol(libmpi, "PMPI_Bcast");
    *(void **)&job->reduce = host_symbol(libmpi, "PMPI_Reduce");
    *(void **)&job->allreduce = host_symbol(libmpi, "PMPI_Allreduce");
    job->program.barrier = MPI_Barrier;
    job->program.bcast = MPI_Bcast;
    *(void **)&job->last_algorithm = dlsym(RTLD_DEFAULT, "sobor_last_algorithm");
    *(void **)&job->sobor_node = dlsym(RTLD_DEFAULT, "sobor_node");
    if (!job->host.barrier || !job->host.bcast || !job->reduce || !job->allreduce)
        return -1;
    return bench_parts_find(job, libmpi) == 0 ? bench_reductions_find(job, libmpi) : -1;
}

/* A preload lies in another object than the library's own PMPI_Barrier. */
static bool is_preloaded(const struct bench_job *job)
{
    Dl_info host, program;
    return dladdr((void *)job->host.barrier, &host) != 0 &&
           dladdr((void *)job->program.barrier, &program) != 0 &&
           host.dli_fbase != program.dli_fbase;
}

static void read_version(struct bench_job *job)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    sb_mpi_name(text, job->library, sizeof job->library);
}

/* Those that any rank of the node may run on. */
static void find_processors(struct bench_job *job, MPI_Comm node)
{
    union {
        cpu_set_t set;
        unsigned long words[sizeof(cpu_set_t) / sizeof(unsigned long)];
    } mine, all;
    CPU_ZERO(&mine.set);
    sched_getaffinity(0, sizeof mine.set, &mine.set);
    all = mine;
    job->allreduce(mine.words, all.words, sizeof mine.words / sizeof *mine.words, MPI_UNSIGNED_LONG,
                   MPI_BOR, node);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all.set))
            continue;
        if (job->processors < 2)
            job->first_two[job->processors] = i;
        job->processors++;
    }
    if (job->node_rank == 0)
        job->caches = bench_caches_of(&all.set, "");
    job->host.bcast(&job->caches, 1, MPI_UINT64_T, 0, node);
}

static void find_nodes(struct bench_job *job)
{
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &job->node_ranks);
    MPI_Comm_rank(node, &job->node_rank);
    find_processors(job, node);
    job->fits = bench_maximum(job, job->node_ranks <= job->processors ? 0.0 : 1.0) == 0.0;
    job->nodes = (int)bench_sum(job, job->node_rank == 0 ? 1.0 : 0.0);
    job->one_node = job->nodes == 1;
    job->node = job->leaders = MPI_COMM_NULL;
    if (job->one_node) {
        MPI_Comm_free(&node);
        return;
    }
    job->node = node;
    MPI_Comm_split(MPI_COMM_WORLD, job->node_rank == 0 ? 0 : MPI_UNDEFINED, 0, &job->leaders);
}

int bench_job_start(struct bench_job *job, int *argc, char ***argv)
{
    *job = (struct bench_job){0};
    void *libmpi = libmpi_handle();
    if (libmpi == NULL) {
        fprintf(stderr, "sobor-bench: SOBOR_BENCH_LIBMPI: expected the library already loaded, "
                        "found none; start the bench through bin/sobor-bench\n");
        return -1;
    }
    if (check_abi(libmpi) != 0 || find_functions(job, libmpi) != 0 ||
        MPI_Init(argc, argv) != MPI_SUCCESS)
        return -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->ranks);
    job->preloaded = is_preloaded(job);
    read_version(job);
    find_nodes(job);
    return 0;
}

void bench_job_end(struct bench_job *job)
{
    if (job->leaders != MPI_COMM_NULL)
        MPI_Comm_free(&job->leaders);
    if (job->node != MPI_COMM_NULL)
        MPI_Comm_free(&job->node);
    MPI_Finalize();
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

long bench_agree(const struct bench_job *job, long value)
{
    job->host.bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return value;
}

double bench_maximum(const struct bench_job *job, double value)
{
    double largest = value;
    job->allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

double bench_sum(const struct bench_job *job, double value)
{
    double sum = value;
    job->allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

struct bench_sharing bench_job_sharing(const struct bench_job *job)
{
    sobor_node_t node = {.processors = (unsigned)job->processors,
                         .oversubscribed = job->node_ranks > job->processors};
    if (job->sobor_node != NULL)
        job->sobor_node(&node);
    double here = job->node_rank == 0 ? node.processors : 0.0;
    return (struct bench_sharing){.processors = (int)bench_sum(job, here),
                                  .oversubscribed = bench_maximum(job, node.oversubscribed) != 0.0};
}
