/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/simulate_parts.h"

#include <string.h>

static const char *const names[] = {
#define SB_ROW(enumerator, name) #name,
    SB_EACH_COUNTS(SB_ROW)
#undef SB_ROW
};

bool sb_counts_parse(const char *text, sb_counts_t *counts)
{
    for (size_t i = 0; i < SB_COUNT_OF(names); i++) {
        if (strcmp(names[i], text) != 0)
            continue;
        *counts = (sb_counts_t)i;
        return true;
    }
    return false;
}

const char *sb_counts_name(sb_counts_t counts)
{
    return names[counts];
}

static bool is_scatter(const sb_vector_case_t *call)
{
    return call->collective == SB_SCATTER || call->collective == SB_SCATTERV;
}

static bool is_gather(const sb_vector_case_t *call)
{
    return call->collective == SB_GATHER || call->collective == SB_GATHERV;
}

static bool is_allgather(const sb_vector_case_t *call)
{
    return call->collective == SB_ALLGATHER || call->collective == SB_ALLGATHERV;
}

static bool has_counts(const sb_vector_case_t *call)
{
    return call->collective != SB_SCATTER && call->collective != SB_GATHER &&
           call->collective != SB_ALLGATHER && call->collective != SB_ALLTOALL;
}

/* Bytes of part number i of p. */
static size_t part_bytes(const sb_vector_case_t *call, uint32_t i)
{
    size_t others = sb_max(call->ranks, 2) - 1;

    switch (has_counts(call) ? call->counts : SB_COUNTS_EQUAL) {
    case SB_COUNTS_LINEAR:
        return 2 * call->bytes * i / others;
    case SB_COUNTS_HEAVY:
        return i == call->ranks / 2 ? call->bytes * call->ranks / 2
                                    : call->bytes * call->ranks / 2 / others;
    case SB_COUNTS_RANDOM:
        return (size_t)((i + 1) * UINT64_C(2654435761) % (2 * (uint64_t)call->bytes + 1));
    case SB_COUNTS_HALF:
        return i % 2 == 0 ? 2 * call->bytes : 0;
    default:
        return call->bytes;
    }
}

static size_t bytes_between(const sb_vector_case_t *call, uint32_t from, uint32_t to)
{
    if (is_scatter(call))
        return part_bytes(call, to);
    if (is_gather(call) || is_allgather(call))
        return part_bytes(call, from);
    return part_bytes(call, (from + to) % call->ranks);
}

size_t sb_parts_room(const sb_vector_case_t *call)
{
    return 2 * call->bytes * (call->ranks + 1);
}

/* The first byte of what goes from one rank to another; allgather sends all the same. */
static uint8_t first_byte(const sb_vector_case_t *call, uint32_t from, uint32_t to)
{
    uint32_t to_whom = is_allgather(call) ? 0 : to;

    return (uint8_t)(from * 7 + to_whom * 101 + call->number * 13 + 1);
}

enum { ROW = 256 };

/* Byte i of what goes is 31 * i + i / 256 more than the first: here a row of them, each changed
 * by `flip`, of which the compiler makes vectors. */
static void lay_row(char *restrict to, uint8_t first, uint8_t flip)
{
    for (unsigned i = 0; i < ROW; i++, first += 31)
        to[i] = (char)(first ^ flip);
}

static char *lay_bytes(char *to, size_t bytes, uint8_t first, uint8_t flip)
{
    for (; bytes >= ROW; bytes -= ROW, to += ROW, first++)
        lay_row(to, first, flip);
    for (size_t i = 0; i < bytes; i++, first += 31)
        to[i] = (char)(first ^ flip);
    return to + bytes;
}

/* How many of them are right. */
static size_t count_right(const char *from, size_t bytes, uint8_t first)
{
    char row[ROW];
    size_t i = 0;

    for (; bytes - i >= ROW; i += ROW, first++) {
        lay_row(row, first, 0);
        if (memcmp(from + i, row, ROW) != 0)
            break;
    }
    for (; i < bytes && (uint8_t)from[i] == first; i++)
        first += 31;
    return i;
}

static uint32_t receiver_of(const sb_vector_case_t *call, uint32_t i)
{
    return is_gather(call) ? call->root : i;
}

static uint32_t sender_of(const sb_vector_case_t *call, uint32_t i)
{
    return is_scatter(call) ? call->root : i;
}

/* How many parts a rank sends, and receives. */
static uint32_t sends(const sb_vector_case_t *call, uint32_t rank)
{
    if (is_scatter(call))
        return rank == call->root ? call->ranks : 0;
    return is_gather(call) || is_allgather(call) ? 1 : call->ranks;
}

static uint32_t receives(const sb_vector_case_t *call, uint32_t rank)
{
    if (is_gather(call))
        return rank == call->root ? call->ranks : 0;
    return is_scatter(call) ? 1 : call->ranks;
}

/* The parts that a scatter's receiver has its only one from, and so on: the rank that is meant. */
static uint32_t peer_of(uint32_t count, uint32_t whole, uint32_t i, uint32_t rank)
{
    return count == whole ? i : rank;
}

sb_parts_t sb_parts_lay(const sb_vector_case_t *call, uint32_t rank, char *sent, char *received,
                        sb_stream_t *streams)
{
    uint32_t out = sends(call, rank), in = receives(call, rank);
    sb_stream_t *send = streams, *receive = streams + call->ranks;

    for (uint32_t i = 0; i < out; i++) {
        uint32_t to = receiver_of(call, peer_of(out, call->ranks, i, rank));
        send[i] = (sb_stream_t){.base = sent, .bytes = bytes_between(call, rank, to)};
        sent = lay_bytes(sent, send[i].bytes, first_byte(call, rank, to), 0);
    }
    for (uint32_t i = 0; i < in; i++) {
        uint32_t from = sender_of(call, peer_of(in, call->ranks, i, rank));
        receive[i] = (sb_stream_t){.base = received, .bytes = bytes_between(call, from, rank)};
        received = lay_bytes(received, receive[i].bytes, first_byte(call, from, rank), 0xff);
    }
    return (sb_parts_t){
        .root = call->root, .send = out == 0 ? NULL : send, .receive = in == 0 ? NULL : receive};
}

bool sb_parts_check(const sb_vector_case_t *call, uint32_t rank, const sb_parts_t *parts,
                    uint32_t *from, size_t *place)
{
    uint32_t in = receives(call, rank);

    for (uint32_t i = 0; i < in; i++) {
        const sb_stream_t *got = &parts->receive[i];
        *from = sender_of(call, peer_of(in, call->ranks, i, rank));
        *place = count_right(got->base, got->bytes, first_byte(call, *from, rank));
        if (*place < got->bytes)
            return false;
    }
    return true;
}
