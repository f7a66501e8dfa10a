/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/job.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/hash.h"
#include "segment/process.h"
#include "topology/launcher.h"

#include <stdlib.h>
#include <sys/socket.h>

static const char *first_of(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL && *text != '\0')
            return text;
    }
    return NULL;
}

/* A number of 0 or more, or -1. */
static int64_t number_of(const char *const *names, size_t count)
{
    const char *text = first_of(names, count);
    uint64_t number;

    return text != NULL && sb_parse_count(text, &number) && number <= INT32_MAX ? (int64_t)number
                                                                                : -1;
}

/* PMIx gives each job a name, and its server on this node an address. */
static bool hash_pmix(uint64_t *key)
{
    static const char *const servers[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                                          "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                          "PMIX_SERVER_URI2"};
    const char *job = getenv("PMIX_NAMESPACE"), *server = first_of(servers, SB_COUNT_OF(servers));

    if (job == NULL || server == NULL)
        return false;
    *key = sb_hash_text(sb_hash_text(*key, job), server);
    return true;
}

/*
 * PMI gives no name, but a socket whose other end was made by the launcher's daemon on this node:
 * one daemon for each job, but perhaps the same one for what that spawns.
 */
static bool hash_pmi(uint64_t *key)
{
    const char *descriptor = getenv("PMI_FD");
    struct ucred daemon;
    socklen_t length = sizeof daemon;

    if (descriptor == NULL || getenv("PMI_SPAWNED") != NULL ||
        getsockopt(atoi(descriptor), SOL_SOCKET, SO_PEERCRED, &daemon, &length) != 0 ||
        daemon.pid <= 0)
        return false;
    const uint64_t parts[] = {(uint64_t)daemon.pid, sb_process_start_time(daemon.pid)};
    *key = sb_hash_bytes(*key, parts, sizeof parts);
    return true;
}

/*
 * Hydra passes on what its own shell was told by another launcher, as by `srun --mpi=pmix` or by
 * mpirun of Open MPI: then each rank has that shell's words of PMIx too. mpirun of Open MPI passes
 * PMI's on, to programs of its own MPI.
 */
static bool is_of_pmi(bool open_mpi)
{
    return !(open_mpi && getenv("OMPI_COMM_WORLD_SIZE") != NULL) && getenv("PMI_RANK") != NULL &&
           getenv("PMI_SIZE") != NULL;
}

/*
 * Where ranks go by words of two jobs, those whose numbers the other job has too find nothing wrong
 * before MPI_Init, and go without. So must the rest, and not as if there were no words: they would
 * wait for the former. A job of one rank goes by none.
 */
static bool tell_mixed(sb_job_t *job, int64_t size)
{
    *job = (sb_job_t){.size = 0};
    return size > 1;
}

bool sb_job_read(sb_job_t *job, bool open_mpi)
{
    static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};

    *job = (sb_job_t){.key = SB_HASH_START};
    bool of_pmi = is_of_pmi(open_mpi), by_pmi = of_pmi && hash_pmi(&job->key);
    int64_t rank = number_of(ranks + by_pmi, SB_COUNT_OF(ranks) - by_pmi);
    int64_t size = number_of(sizes + by_pmi, SB_COUNT_OF(sizes) - by_pmi);
    if (rank < 0 || size < 0 || (of_pmi && getenv("PMI_SPAWNED") != NULL) ||
        !(by_pmi || hash_pmix(&job->key) || hash_pmi(&job->key)))
        return false;
    sb_launcher_set_pmi(by_pmi);
    if (size <= rank)
        return tell_mixed(job, size);
    job->rank = (uint32_t)rank;
    job->size = (uint32_t)size;
    job->local = sb_launcher_local_ranks();
    return true;
}
