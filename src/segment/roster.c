/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/roster.h"

#include "segment/board.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* By the thread that calls MPI_Init. */
static const sb_roster_keeper_t *keeper;

void sb_roster_sign(const sb_roster_keeper_t *where, uint32_t rank, const sb_signature_t *signature)
{
    char text[SB_ROSTER_TEXT];

    snprintf(text, sizeof text, "%" PRIx64 ".%" PRIu64 ".%" PRIu64, signature->build,
             signature->serve_after, signature->traces);
    keeper = where->sign(rank, text) ? where : NULL;
}

sb_signature_t sb_roster_read(uint32_t rank)
{
    sb_signature_t signature;
    char text[SB_ROSTER_TEXT];

    if (keeper == NULL || !keeper->read(rank, text) ||
        sscanf(text, "%" SCNx64 ".%" SCNu64 ".%" SCNu64, &signature.build, &signature.serve_after,
               &signature.traces) != 3)
        return (sb_signature_t){0};
    return signature;
}

enum { WHOLE = 1, TRACED = 2 };

/* What rank 0 and every so manyth rank from `number` on have in common. */
static uint32_t compare(const sb_signature_t *first, uint32_t ranks, uint32_t number,
                        uint32_t count)
{
    uint32_t found = (first->build != 0 ? WHOLE : 0) | (first->traces != 0 ? TRACED : 0);

    for (uint32_t rank = number == 0 ? count : number; rank < ranks && found != 0; rank += count) {
        sb_signature_t other = sb_roster_read(rank);
        found &= (other.build == first->build ? WHOLE : 0) |
                 (other.traces == first->traces ? TRACED : 0);
    }
    return found;
}

sb_roster_verdict_t sb_roster_judge(uint32_t ranks, bool (*progress)(void *context))
{
    sb_signature_t first = sb_roster_read(0);
    uint32_t number = 0, count = 1, all;
    bool shared = sb_board_share(&number, &count);
    uint32_t found = compare(&first, ranks, number, count);

    sb_board_find(found);
    if (shared && found != 0)
        found = sb_board_found(&all, progress) ? all : compare(&first, ranks, 0, 1);
    return (sb_roster_verdict_t){(found & WHOLE) != 0, (found & TRACED) != 0, first.serve_after};
}

void sb_roster_abstain(void)
{
    sb_board_find(0);
    sb_roster_close();
}

void sb_roster_close(void)
{
    if (keeper != NULL)
        keeper->close();
    keeper = NULL;
}
