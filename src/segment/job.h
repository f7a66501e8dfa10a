/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_JOB_H
#define SB_SEGMENT_JOB_H

#include <stdbool.h>
#include <stdint.h>

/* What the launcher told this process of its job, before any message. */
typedef struct sb_job {
    uint64_t key; /* of the job on this node; another job's is another */
    uint32_t rank;
    uint32_t size;
    uint32_t local; /* ranks on this node; 0: not said */
} sb_job_t;

/*
 * Returns false if this launcher does not say enough. All ranks of a job get the same answer: it
 * follows from what the launcher does alike for all. Where words of another launcher, which runs
 * the launcher, are mixed with its own, that is said too, by a size of 0 where no rank of its
 * number can be. `open_mpi`: the program's MPI is that.
 */
bool sb_job_read(sb_job_t *job, bool open_mpi);

#endif
