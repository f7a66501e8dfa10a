/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall in place, of parts that are far longer than what is under way at a time: what is sent
 * must not be lost to what is received. Once in one piece; once as two elements of a type with too
 * many blocks for a layout, which the host packs one after the other. "lean": the first takes less
 * memory than a part has, as nothing is copied to a place of its own. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BLOCKS = 2200000, EXTENT = 4 * BLOCKS + 16, ELEMENTS = 2, SPAN = ELEMENTS * EXTENT };

static int rank, size;
static int *places, *lengths;

static uint64_t seed_of(int from, int to)
{
    return mix((uint64_t)from + 1, (uint64_t)to + 1);
}

/* Rank r has a part for each rank; whom it is from and for shows in every byte. */
static unsigned char *make_parts(void)
{
    unsigned char *parts = malloc((size_t)size * SPAN);

    CHECK(parts != NULL, "no memory");
    for (int to = 0; to < size; to++)
        fill(parts + (size_t)to * SPAN, SPAN, seed_of(rank, to));
    return parts;
}

/* Bytes that this process had at most. */
static size_t peak(void)
{
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0, "no usage");
    return (size_t)usage.ru_maxrss << 10;
}

static void exchange_plain(bool lean)
{
    unsigned char *parts = make_parts();
    size_t before = peak();

    CALL(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, SPAN, MPI_BYTE, MPI_COMM_WORLD));
    CHECK(!lean || peak() - before < SPAN, "%zu more bytes for parts of %d", peak() - before, SPAN);
    for (int from = 0; from < size; from++) {
        size_t wrong = mismatch(parts + (size_t)from * SPAN, SPAN, seed_of(from, rank));
        CHECK(wrong == SPAN, "plain: byte %zu of the part from rank %d", wrong, from);
    }
    free(parts);
}

static MPI_Datatype blocks_type(void)
{
    MPI_Datatype blocks, spaced;

    for (int i = 0; i < BLOCKS; i++) {
        places[i] = 4 * i + i % 3 % 2;
        lengths[i] = 1 + i % 2;
    }
    CALL(MPI_Type_indexed(BLOCKS, lengths, places, MPI_BYTE, &blocks));
    CALL(MPI_Type_create_resized(blocks, 0, EXTENT, &spaced));
    CALL(MPI_Type_commit(&spaced));
    CALL(MPI_Type_free(&blocks));
    return spaced;
}

/* What is between the blocks stays as it was. */
static void check_blocks(const unsigned char *part, int from)
{
    unsigned char *wanted = malloc(SPAN), *sent = malloc(SPAN);

    CHECK(wanted != NULL && sent != NULL, "no memory");
    fill(wanted, SPAN, seed_of(rank, from));
    fill(sent, SPAN, seed_of(from, rank));
    for (int i = 0; i < ELEMENTS * BLOCKS; i++) {
        size_t at = (size_t)(i / BLOCKS * EXTENT + places[i % BLOCKS]);
        memcpy(wanted + at, sent + at, (size_t)lengths[i % BLOCKS]);
    }
    CHECK(memcmp(part, wanted, SPAN) == 0, "blocks: the part from rank %d", from);
    free(wanted);
    free(sent);
}

static void exchange_blocks(void)
{
    unsigned char *parts = make_parts();
    MPI_Datatype type = blocks_type();

    CALL(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, ELEMENTS, type, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        check_blocks(parts + (size_t)from * SPAN, from);
    CALL(MPI_Type_free(&type));
    free(parts);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    places = malloc(BLOCKS * sizeof *places);
    lengths = malloc(BLOCKS * sizeof *lengths);
    CHECK(places != NULL && lengths != NULL, "no memory");
    exchange_plain(argc > 1 && strcmp(argv[1], "lean") == 0);
    exchange_blocks();
    free(places);
    free(lengths);
    return test_end();
}
