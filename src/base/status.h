/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_STATUS_H
#define SB_BASE_STATUS_H

#include <stdbool.h>

/* What every function of the core that can fail returns, and how people are told. */
#define SB_EACH_STATUS(X)                                                                          \
    X(SB_OK, "success")                                                                            \
    X(SB_ERR_MEMORY, "out of memory")           /* shared or private, within the bound */          \
    X(SB_ERR_SYSTEM, "a system call failed")    /* the detail was logged where it happened */      \
    X(SB_ERR_PEER_DEAD, "a peer process ended") /* while we waited for it */                       \
    X(SB_ERR_TRUNCATE, "ranks disagree on the number of bytes") /* or are out of step */           \
    X(SB_ERR_SHORT,                                                                                \
      "the root sent fewer bytes than this rank expects") /* it has what there was */              \
    X(SB_ERR_BOOTSTRAP, "the exchange over the host MPI failed")                                   \
    X(SB_ERR_UNSUPPORTED, "not supported by this team") /* as all members agree */                 \
    X(SB_ERR_REVOKED, "the communicator was revoked")                                              \
    X(SB_ERR_NETWORK, "a message between nodes failed")                                            \
    X(SB_ERR_DATA, "packing or unpacking failed")

typedef enum sb_status {
#define SB_ENUMERATOR(enumerator, phrase) enumerator,
    SB_EACH_STATUS(SB_ENUMERATOR)
#undef SB_ENUMERATOR
} sb_status_t;

/* Whether nothing can follow. What is wrong with this rank's own data is told when others have been
 * served. */
static inline bool sb_status_ends(sb_status_t status)
{
    return status != SB_OK && status != SB_ERR_DATA;
}

/* A short English phrase for a status, for messages. Never NULL. */
const char *sb_status_string(sb_status_t status);

#endif
