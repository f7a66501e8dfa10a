/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the ranks of one node share, past their MPI. */
#ifndef SOBOR_BENCH_SHARE_H
#define SOBOR_BENCH_SHARE_H

#include "job.h"

/* Collective. Zero at first; NULL on every rank where one of them cannot have it. */
void *bench_share(const struct bench_job *job, size_t bytes);

void bench_unshare(void *memory, size_t bytes);

#endif
