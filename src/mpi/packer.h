/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_PACKER_H
#define SB_MPI_PACKER_H

#include "coll/coll.h"
#include "data/view.h"
#include "mpi/datatype.h"

/*
 * A call's data as a stream. Data that lies in memory as it is sent is given by its address. Data
 * with a layout is moved by it. What has no layout goes through the host's pack and unpack, some
 * elements at a time; the stream's bytes may come in any order there too, but only in order is it
 * fast.
 */
typedef struct sb_packer {
    sb_view_t view; /* without a layout: element count, extent and address only; the host packs */
    sb_layout_t *hold; /* the view's while the stream is open; NULL: it lasts as long by itself */

    MPI_Datatype type;
    MPI_Comm comm;
    size_t size;  /* packed bytes of an element */
    char *stage;  /* packed bytes of some elements */
    size_t room;  /* elements it holds */
    size_t first; /* element at its beginning */
    size_t held;  /* reading: elements in it */
    size_t begin; /* writing: bytes [begin, end) are new */
    size_t end;
    int error;  /* the host's, if packing failed */
    bool moved; /* type is one of our own, see move_origin() */
} sb_packer_t;

/*
 * Makes `stream` read or write `count` elements at `buffer`. If private memory is exhausted the
 * stream fails when it is used: the rank still takes part, so that the others are served. Ended by
 * sb_packer_close, which returns the error, or MPI_SUCCESS.
 */
void sb_packer_open(sb_packer_t *packer, sb_stream_t *stream, void *buffer, size_t count,
                    MPI_Datatype type, const sb_type_t *description, MPI_Comm comm);
int sb_packer_close(sb_packer_t *packer);

/* The same, of a type that an open packer has which is closed later: that one holds the layout. */
void sb_packer_open_beside(sb_packer_t *packer, sb_stream_t *stream, void *buffer, size_t count,
                           MPI_Datatype type, const sb_type_t *description, MPI_Comm comm);

#endif
