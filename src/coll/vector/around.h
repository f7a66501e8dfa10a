/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_AROUND_H
#define SB_COLL_VECTOR_AROUND_H

#include "coll/coll.h"

/*
 * Whether what a rank receives goes to its buffer past the caches. Ranks that share a third-level
 * cache and together receive more than it holds push each other's data out of it before anybody
 * reads that; and they would first read from memory every line that they overwrite. Only this
 * rank's own buffer is concerned, so nothing has to be agreed.
 */

/* Bytes received in one call above which they go past the caches; SIZE_MAX: they never do. */
size_t sb_around_above(const sb_team_t *team);

/* The bytes of all streams. */
static inline size_t sb_streams_bytes(const sb_stream_t *streams, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += streams[i].bytes;
    return bytes;
}

/* As sb_stream_write; data in one piece past the caches. */
static inline sb_status_t sb_stream_write_around(const sb_stream_t *stream, size_t offset,
                                                 const void *from, size_t bytes)
{
    if (stream->base == NULL)
        return stream->write(stream->context, offset, from, bytes);
    sb_copy_streaming(stream->base + offset, from, bytes);
    return SB_OK;
}

/* What it copies is reported by the line of the algorithm. */
#define sb_stream_write_around(...) SB_SITED(sb_stream_write_around(__VA_ARGS__))

#endif
