/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SERVER_H
#define SB_MPI_SERVER_H

#include "cluster/operations.h"
#include "coll/bcast/bcast.h"

/*
 * What serves the calls of a communicator: a team, where all ranks are on one node, or a cluster,
 * where they are on several. Which of them is asked at each call, by one branch: the team first,
 * whose calls are the short ones.
 */
typedef struct sb_server {
    sb_team_t *team;
    sb_cluster_t *cluster; /* both NULL: the host serves, or nothing was decided yet */
} sb_server_t;

static inline bool sb_server_exists(const sb_server_t *server)
{
    return SB_LIKELY(server->team != NULL) || server->cluster != NULL;
}

/* Not SB_OK: no call can follow. */
static inline sb_status_t sb_server_failure(const sb_server_t *server)
{
    return SB_LIKELY(server->team != NULL) ? server->team->failure : server->cluster->failure;
}

/* Nothing follows on this rank. */
static inline sb_status_t sb_server_fail(const sb_server_t *server, sb_status_t status)
{
    if (server->team != NULL)
        server->team->failure = status;
    else
        sb_cluster_fails(server->cluster, status);
    return status;
}

/* Those of rank 0. */
static inline const sb_settings_t *sb_server_settings(const sb_server_t *server)
{
    return server->team != NULL ? &server->team->settings : &server->cluster->settings;
}

/* As sb_algorithm_prepare; what a cluster needs it gets in its calls. */
static inline sb_status_t sb_server_prepare(const sb_server_t *server,
                                            const sb_algorithm_t *algorithm, size_t bytes)
{
    return server->team != NULL ? sb_algorithm_prepare(algorithm, server->team, bytes) : SB_OK;
}

static inline sb_status_t sb_server_barrier(const sb_server_t *server,
                                            const sb_algorithm_t *algorithm)
{
    return SB_LIKELY(server->team != NULL) ? algorithm->barrier(server->team)
                                           : sb_cluster_barrier(server->cluster);
}

static inline sb_status_t sb_server_bcast(const sb_server_t *server,
                                          const sb_algorithm_t *algorithm, uint32_t root,
                                          const sb_stream_t *stream)
{
    return SB_LIKELY(server->team != NULL) ? sb_bcast(algorithm, server->team, root, stream)
                                           : sb_cluster_bcast(server->cluster, root, stream);
}

static inline sb_status_t sb_server_parts(const sb_server_t *server,
                                          const sb_algorithm_t *algorithm, const sb_parts_t *parts)
{
    return SB_LIKELY(server->team != NULL)
               ? algorithm->parts(server->team, parts)
               : sb_cluster_operation_of(algorithm)->parts(server->cluster, parts);
}

static inline sb_status_t sb_server_reduce(const sb_server_t *server,
                                           const sb_algorithm_t *algorithm,
                                           const sb_reduction_t *reduction)
{
    return SB_LIKELY(server->team != NULL)
               ? algorithm->reduction(server->team, reduction)
               : sb_cluster_operation_of(algorithm)->reduction(server->cluster, reduction);
}

#endif
