/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_ALLTOALL_ROWS_H
#define SB_COLL_ALLTOALL_ROWS_H

#include "coll/coll.h"
#include "coll/resources.h"
#include "team/block_policy.h"

/*
 * The parts of an alltoall where ranks share processors, but for very long ones. There most of the
 * ranks run one after the other on one core, and each finds what the others have written in that
 * core's caches: if it is little, and always in the same place. So a rank has no flow to each other
 * one but writes its parts side by side, in a row that all read, with one flag:
 *
 *     row[SB_ROWS]            flag, bytes of the parts, if they are not alike; a cell for each rank
 *     cells[SB_ROWS_LARGE]    larger ones of a row whose parts are too long for those
 *
 * The team counts rows, and every rank writes one in each call that has them, even if it has no
 * such parts: then it says that they come by flows (coll/vector/mesh.h), and so it does of each
 * longer one. Row r lies in place r mod SB_ROWS, and its flag becomes r + 1. Who writes it has seen
 * that all others have written row r - SB_ROWS + 1: so they have read row r - SB_ROWS, which was of
 * an earlier call. Those who send each other something have seen that anyway. In the same way what
 * uses larger cells has seen that all others have written the row before.
 *
 * No deadlock: of the ranks that are at the earliest row none waits for room, since the others have
 * written that row, or the one before it at least.
 *
 * Three ways are tried for what is not short (team/block_policy.h): the writer's stores go into its
 * caches, which is best for readers that share them; or past them, which is best for readers on a
 * core far off, who would take each line from the writer's, and have it taken back; or parts of
 * some pages and more are exposed on their flows, for the kernel to copy. Rank 0 decides, says it
 * in its row, and the others do so from their next call of such lengths on.
 *
 * Memory of a rank: SB_ROWS (192 + 4 p + p cells) bytes, and SB_ROWS_LARGE p larger cells: of those
 * only what parts were long enough for is touched. About SOBOR_RING at most.
 */
#define SB_ROWS 4
#define SB_ROWS_LARGE 2

/* What rank 0 decides of calls, of those in place and all others. */
typedef struct sb_rows_ways {
    sb_block_policy_t policy;          /* rank 0 */
    uint8_t followed[SB_COPY_CLASSES]; /* sb_copy_mode_t; what rank 0 did, as the others heard it */
} sb_rows_ways_t;

/* Private to the rank. */
typedef struct sb_rows {
    sb_resource_t resource;
    size_t part_most;              /* bytes of the longest part that has room, */
    size_t part_near;              /* and in the row itself */
    size_t stride;                 /* of a row */
    uint64_t count;                /* of rows that this rank has read, or need not */
    uint64_t met;                  /* so many all others are known to have written */
    size_t touched[SB_ROWS_LARGE]; /* bytes of the larger cells in each place */
    sb_rows_ways_t ways[2];
    sb_copy_mode_t mode; /* of this call: cached, non-temporal, or pulled */
    bool sends_here;     /* in this call: parts that are in the row, */
    bool sends_others;   /* some that are not, */
    bool sends_longer;   /* and among them some of which flows choose how they go */
    uint32_t late;       /* ranks whose row was not there at first: */
    uint32_t *is_late;   /* which */
    uint32_t *bytes;     /* of each part that this rank sends, as the row says it */
    bool *comes_by_row;  /* of the part of each rank */
} sb_rows_t;

static inline sb_rows_t *sb_rows(const sb_team_t *team)
{
    return (sb_rows_t *)(void *)team->resource[SB_RESOURCE_ROWS];
}

/*
 * Makes the rows where ranks share processors. Collective; all get the same outcome. SB_OK too
 * where there are none: then sb_rows is NULL.
 */
sb_status_t sb_rows_prepare(sb_team_t *team);

/* Whether parts that are as long as that one on every rank pass in rows. */
static inline bool sb_rows_serve(const sb_team_t *team, size_t bytes)
{
    const sb_rows_t *rows = sb_rows(team);

    return rows != NULL && bytes <= rows->part_most;
}

/* Writes this rank's row of the call. `data`: of parts that could not be read. */
sb_status_t sb_rows_write(sb_team_t *team, const sb_parts_t *parts, sb_status_t *data);

/* Shorter parts are never pulled: the kernel would take longer to be called. A class of sizes
 * begins here: which of its lengths comes first does not decide what all of them may try. */
#define SB_ROWS_PULLED (((size_t)16 << 10) + 1)

/* Where ranks share processors, parts of so many bytes and less are best staged: measured, two and
 * four ranks to a processor. */
#define SB_ROWS_STAGED ((size_t)32 << 10)

/* Whether this rank's part is in the row in this call. */
static inline bool sb_goes_by_row(const sb_rows_t *rows, const sb_stream_t *part)
{
    bool pulled = rows->mode == SB_COPY_PULLED && part->bytes >= SB_ROWS_PULLED;

    return part->bytes <= rows->part_most && !pulled;
}

/* What is done before a wait for a row: it waits for nobody. */
typedef sb_status_t sb_meanwhile_t(sb_team_t *team, const sb_parts_t *parts);

/*
 * Takes from the rows of the others, as they come, what is in them for this rank. `meanwhile` (or
 * NULL) comes before each wait for one of them. Sets `others` if some part is in none: see
 * comes_by_row, which says of rows that have not come that it is. The call's row is done with.
 */
sb_status_t sb_rows_take(sb_team_t *team, const sb_parts_t *parts, sb_meanwhile_t *meanwhile,
                         sb_status_t *data, bool *others);

#endif
