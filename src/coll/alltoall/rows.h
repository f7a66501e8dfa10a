/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_ALLTOALL_ROWS_H
#define SB_COLL_ALLTOALL_ROWS_H

#include "coll/coll.h"
#include "coll/resources.h"

/*
 * The short parts of an alltoall where ranks share processors. There most of the ranks run one
 * after the other on one core, and each finds what the others have written in that core's caches:
 * if it is little, and always in the same place. So a rank has no flow to each other one but writes
 * its short parts side by side, in a row that all read, with one flag:
 *
 *     row[SB_ROWS]       flag, bytes of the parts, if they are not alike; one cell for each rank
 *     cells[SB_ROWS]     larger ones of a row whose parts are too long for those
 *
 * The team counts rows, and every rank writes one in each call that has them, even if it has no
 * short parts: then it says that they come by flows (coll/vector/mesh.h), and so it does of each
 * longer one. Row r lies in place r mod SB_ROWS, and its flag becomes r + 1. Who writes it has seen
 * that all others have written row r - SB_ROWS + 1: so they have read row r - SB_ROWS, which was of
 * an earlier call. Those who send each other something have seen that anyway.
 *
 * No deadlock: of the ranks that are at the earliest row none waits for room, since the others have
 * written that row, or the one before it at least.
 *
 * Memory of a rank: SB_ROWS (192 + 4 p + p cells) bytes, and as many larger cells: of those only
 * what parts were long enough for is touched. About a quarter of SOBOR_RING at most.
 */
#define SB_ROWS 4

/* Private to the rank. */
typedef struct sb_rows {
    sb_resource_t resource;
    size_t part_most;   /* bytes of the longest part that has room, */
    size_t part_near;   /* and in the row itself */
    size_t stride;      /* of a row */
    uint64_t count;     /* of rows that this rank has read, or need not */
    uint64_t met;       /* so many all others are known to have written */
    bool sends_others;  /* in this call: longer parts too */
    uint32_t late;      /* ranks whose row was not there at first: */
    uint32_t *is_late;  /* which */
    uint32_t *bytes;    /* of each part that this rank sends, as the row says it */
    bool *comes_by_row; /* of the part of each rank */
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

/* Whether this rank's part for that one is in the row. */
static inline bool sb_goes_by_row(const sb_rows_t *rows, const sb_stream_t *part)
{
    return part->bytes <= rows->part_most;
}

/*
 * Takes from the rows of the others, as they come, what is in them for this rank. Sets `others` if
 * some part is not: see comes_by_row. The call's row is done with.
 */
sb_status_t sb_rows_take(sb_team_t *team, const sb_parts_t *parts, sb_status_t *data, bool *others);

#endif
