/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases inside a node. Different nodes may do them by different algorithms: nothing of that is
 * seen outside.
 */
#include "cluster/cluster.h"
#include "coll/vector/vector.h"
#include "team/copy_policy.h"

#include <string.h>

/* Where a phase goes wrong for good, so does the cluster. */
static sb_status_t judge(sb_cluster_t *cluster, sb_status_t status)
{
    if (cluster->team->failure != SB_OK || sb_status_ends(status))
        sb_cluster_fails(cluster, sb_first(status, cluster->team->failure));
    sb_data_ends(cluster, status);
    return cluster->failure;
}

/* What suits; and where memory is short, what needs none. */
static const sb_algorithm_t *algorithm_for(sb_cluster_t *cluster, sb_collective_t collective,
                                           size_t bytes, bool ordered)
{
    const sb_planned_t *planned = sb_planned(&cluster->plan, collective, bytes, ordered);

    if (planned->algorithm != NULL &&
        sb_algorithm_prepare(planned->algorithm, cluster->team, bytes) == SB_OK)
        return planned->algorithm;
    return sb_algorithm_find(collective, collective == SB_ALLGATHERV ? "direct" : "slots");
}

/* What a leader broadcasts on its node. */
typedef struct source {
    sb_cluster_t *cluster;
    const sb_stream_t *stream;
} source_t;

/* While it copies fragment after fragment without a wait, its messages have to go on. */
static sb_status_t read(void *context, size_t offset, void *to, size_t bytes)
{
    const source_t *source = context;

    sb_programs_turn(source->cluster);
    return sb_stream_read(source->stream, offset, to, bytes);
}

sb_status_t sb_node_bcast(sb_cluster_t *cluster, uint32_t leader, const sb_stream_t *stream)
{
    if (cluster->team == NULL || stream->bytes == 0)
        return cluster->failure;
    const sb_algorithm_t *algorithm = algorithm_for(cluster, SB_BCAST, stream->bytes, false);
    source_t source = {cluster, stream};
    sb_stream_t turning = {.bytes = stream->bytes, .read = read, .context = &source};
    cluster->team->from_afar = true;
    sb_status_t status = algorithm->bcast(cluster->team, cluster->map.local_of[leader],
                                          leader == cluster->rank ? &turning : stream);
    cluster->team->from_afar = false;
    return judge(cluster, status);
}

static sb_status_t reduce(sb_cluster_t *cluster, const sb_algorithm_t *algorithm, uint32_t leader,
                          const sb_operator_t *operation, const char *send, char *to, size_t bytes)
{
    sb_reduction_t reduction = {.root = cluster->map.local_of[leader],
                                .operation = operation,
                                .bytes = bytes,
                                .send = send,
                                .receive = cluster->rank == leader ? to : NULL};

    return judge(cluster, algorithm->reduction(cluster->team, &reduction));
}

sb_status_t sb_node_reduce(sb_cluster_t *cluster, uint32_t leader, const sb_operator_t *operation,
                           const char *send, char *to, size_t bytes)
{
    if (cluster->team == NULL) {
        if (send != to)
            sb_copy(to, send, bytes);
        return cluster->failure;
    }
    return reduce(cluster, algorithm_for(cluster, SB_REDUCE, bytes, !operation->commutative),
                  leader, operation, send, to, bytes);
}

/* Whether somebody named an algorithm of the node's part. */
static bool is_named(const sb_cluster_t *cluster, sb_collective_t collective)
{
    const char *name = cluster->team->settings.algorithm[collective];

    return strcmp(name, "auto") != 0 && strcmp(name, "host") != 0;
}

/* What leaders that change suits: in slots and rings a rank that has gone ahead waits until the
 * leader before has taken what it sent, while its own messages wait. */
static const sb_algorithm_t *reducer_in_turn(sb_cluster_t *cluster, const sb_operator_t *operation,
                                             size_t bytes)
{
    const sb_algorithm_t *usual = algorithm_for(cluster, SB_REDUCE, bytes, !operation->commutative);
    const sb_algorithm_t *sliced = sb_algorithm_find(SB_REDUCE, "reduce-scatter-allgather");

    if (is_named(cluster, SB_REDUCE) || !operation->commutative || bytes <= SB_SLOT_PAYLOAD ||
        sb_algorithm_prepare(sliced, cluster->team, bytes) != SB_OK)
        return usual;
    return sliced;
}

sb_status_t sb_node_reduce_in_turn(sb_cluster_t *cluster, uint32_t leader,
                                   const sb_operator_t *operation, const char *send, char *to,
                                   size_t bytes)
{
    if (cluster->team == NULL)
        return sb_node_reduce(cluster, leader, operation, send, to, bytes);
    return reduce(cluster, reducer_in_turn(cluster, operation, bytes), leader, operation, send, to,
                  bytes);
}

sb_status_t sb_node_scan(sb_cluster_t *cluster, sb_collective_t collective,
                         const sb_operator_t *operation, const char *send, char *to, size_t bytes)
{
    if (cluster->team == NULL) {
        if (collective == SB_SCAN && send != to)
            sb_copy(to, send, bytes);
        return cluster->failure;
    }
    sb_reduction_t reduction = {
        .operation = operation, .bytes = bytes, .send = send, .receive = to};
    const sb_algorithm_t *algorithm =
        algorithm_for(cluster, collective, bytes, !operation->commutative);
    return judge(cluster, algorithm->reduction(cluster->team, &reduction));
}

/* Bytes of a part that are worth a run of copies. */
#define DEALT_LEAST ((size_t)1 << 10)
/* So many ranks are too many to read something of each: simulated, 16 take 0.5 to 0.95 of the time
 * by groups, 64 on machines of today 0.35 to 0.7. Their parts may be as short as a line; where they
 * are few on several packages, two lines: there 8 take 0.5 to 0.95. */
#define GROUPED_LEAST 16
#define GROUPED_LEAST_APART 8

/* By groups, where there are enough ranks for that. */
static const sb_algorithm_t *dealer_for(const sb_cluster_t *cluster)
{
    uint32_t least = cluster->plan.shape.apart ? GROUPED_LEAST_APART : GROUPED_LEAST;

    return sb_algorithm_find(SB_REDUCE_SCATTER,
                             cluster->team->size >= least ? "dealt-by-groups" : "dealt");
}

/* Windows in rings wait for each other where messages come one after the other, and those of slices
 * have a barrier each: what is dealt out at once has one. */
static const sb_algorithm_t *scatterer_for(sb_cluster_t *cluster, const sb_operator_t *operation,
                                           size_t bytes)
{
    const sb_algorithm_t *algorithm =
        algorithm_for(cluster, SB_REDUCE_SCATTER, bytes, !operation->commutative);
    uint32_t size = cluster->team->size;
    const sb_algorithm_t *dealt = dealer_for(cluster);
    size_t least = size * (!dealt->brackets       ? DEALT_LEAST
                           : size < GROUPED_LEAST ? 2 * SB_LINE
                                                  : SB_LINE);

    if (!is_named(cluster, SB_REDUCE_SCATTER) && !cluster->team->settings.loads && bytes >= least &&
        sb_algorithm_prepare(dealt, cluster->team, bytes) == SB_OK)
        return dealt;
    const sb_algorithm_t *sliced = sb_algorithm_find(SB_REDUCE_SCATTER, "reduce-scatter-allgather");
    bool in_rings = strcmp(algorithm->name, "rings") == 0;
    return in_rings && sb_algorithm_prepare(sliced, cluster->team, bytes) == SB_OK ? sliced
                                                                                   : algorithm;
}

bool sb_node_past_caches(const sb_cluster_t *cluster, size_t bytes)
{
    return sb_copy_past_caches(sb_copy_cached_most(cluster->team), bytes);
}

sb_status_t sb_node_reduce_scatter(sb_cluster_t *cluster, const sb_operator_t *operation,
                                   const char *send, char *to, size_t bytes)
{
    sb_reduction_t reduction = {.operation = operation,
                                .bytes = bytes,
                                .parts = cluster->parts,
                                .send = send,
                                .receive = to};
    const sb_algorithm_t *algorithm = scatterer_for(cluster, operation, bytes);

    return judge(cluster, algorithm->reduction(cluster->team, &reduction));
}

/* One after the other: the parts of ranks from `first` on, and those of the others. */
static sb_status_t reduce_halves(sb_cluster_t *cluster, const sb_operator_t *operation,
                                 const char *send, char *to, size_t bytes, uint32_t first)
{
    uint32_t size = cluster->team->size;
    size_t *parts = cluster->parts, *others = parts + size, begin = 0;
    sb_status_t status = SB_OK;

    for (uint32_t rank = 0; rank < size; rank++) {
        others[rank] = rank < first ? parts[rank] : 0;
        parts[rank] -= others[rank];
        begin += parts[rank];
    }
    if (begin > 0)
        status = sb_node_reduce_scatter(cluster, operation, send, to, begin);
    memcpy(parts, others, size * sizeof *parts);
    return status == SB_OK && bytes > begin
               ? sb_node_reduce_scatter(cluster, operation, send + begin, to, bytes - begin)
               : status;
}

sb_status_t sb_node_reduce_turned(sb_cluster_t *cluster, const sb_operator_t *operation,
                                  const char *send, char *to, size_t bytes, uint32_t first)
{
    const sb_algorithm_t *dealt = dealer_for(cluster);
    sb_reduction_t reduction = {.operation = operation,
                                .bytes = bytes,
                                .parts = cluster->parts,
                                .first = first,
                                .send = send,
                                .receive = to};

    if (is_named(cluster, SB_REDUCE_SCATTER) ||
        sb_algorithm_prepare(dealt, cluster->team, bytes) != SB_OK)
        return reduce_halves(cluster, operation, send, to, bytes, first);
    return judge(cluster, dealt->reduction(cluster->team, &reduction));
}

sb_status_t sb_node_allgather(sb_cluster_t *cluster, const sb_stream_t *send, const sb_stream_t *to)
{
    bool in_place = send->base != NULL && send->base == to[cluster->local].base;
    sb_parts_t parts = {.in_place = in_place, .send = send, .receive = to};
    size_t bytes = 0;

    for (uint32_t i = 0; i < cluster->team->size; i++)
        bytes += to[i].bytes;
    const sb_algorithm_t *algorithm =
        algorithm_for(cluster, SB_ALLGATHERV, bytes / cluster->team->size, false);
    return judge(cluster, algorithm->parts(cluster->team, &parts));
}

sb_status_t sb_node_gather(sb_cluster_t *cluster, uint32_t leader, const sb_stream_t *send,
                           const sb_stream_t *to, bool in_place)
{
    if (cluster->team == NULL) {
        sb_data_ends(cluster, in_place ? SB_OK : sb_copy_own(send, to));
        return cluster->failure;
    }
    sb_parts_t parts = {.root = cluster->map.local_of[leader],
                        .in_place = in_place,
                        .send = send,
                        .receive = cluster->rank == leader ? to : NULL};
    return judge(cluster, sb_algorithm_find(SB_GATHERV, "direct")->parts(cluster->team, &parts));
}

sb_status_t sb_node_scatter(sb_cluster_t *cluster, uint32_t leader, const sb_stream_t *from,
                            const sb_stream_t *receive)
{
    bool leads = cluster->rank == leader;
    sb_parts_t parts = {.root = cluster->map.local_of[leader],
                        .in_place = leads,
                        .send = leads ? from : NULL,
                        .receive = leads ? NULL : receive};

    if (cluster->team == NULL)
        return cluster->failure;
    return judge(cluster, sb_algorithm_find(SB_SCATTERV, "direct")->parts(cluster->team, &parts));
}

sb_status_t sb_node_alltoall(sb_cluster_t *cluster, const sb_stream_t *send,
                             const sb_stream_t *receive)
{
    sb_parts_t parts = {.send = send, .receive = receive};

    if (cluster->team == NULL) {
        sb_data_ends(cluster, sb_copy_own(send, receive));
        return cluster->failure;
    }
    return judge(cluster, sb_algorithm_find(SB_ALLTOALLV, "direct")->parts(cluster->team, &parts));
}
