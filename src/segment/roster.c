/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/roster.h"

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

void sb_roster_close(void)
{
    if (keeper != NULL)
        keeper->close();
    keeper = NULL;
}
