/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"

const char *sb_status_string(sb_status_t status)
{
    switch (status) {
    case SB_OK:
        return "success";
    case SB_ERR_MEMORY:
        return "out of memory";
    case SB_ERR_SYSTEM:
        return "a system call failed";
    case SB_ERR_PEER_DEAD:
        return "a peer process ended";
    case SB_ERR_TRUNCATE:
        return "ranks disagree on the number of bytes";
    case SB_ERR_SHORT:
        return "the root sent fewer bytes than this rank expects";
    case SB_ERR_BOOTSTRAP:
        return "the exchange over the host MPI failed";
    case SB_ERR_UNSUPPORTED:
        return "not supported by this team";
    case SB_ERR_REVOKED:
        return "the communicator was revoked";
    case SB_ERR_DATA:
        return "packing or unpacking failed";
    }
    return "unknown status";
}
