/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_STATUS_H
#define SB_BASE_STATUS_H

/* What every function of the core that can fail returns. Zero is success. */
typedef enum sb_status {
    SB_OK = 0,
    SB_ERR_MEMORY,      /* no shared or private memory left within the bound */
    SB_ERR_SYSTEM,      /* a system call failed; the detail was logged where it happened */
    SB_ERR_PEER_DEAD,   /* a member of the team ended while we waited for it */
    SB_ERR_TRUNCATE,    /* there was more than this rank expects, or ranks are out of step */
    SB_ERR_SHORT,       /* there was less than this rank expects; it has what there was */
    SB_ERR_BOOTSTRAP,   /* the front end's exchange failed */
    SB_ERR_UNSUPPORTED, /* agreed by all members: this team cannot do it */
    SB_ERR_REVOKED,     /* the front end says that the communicator was revoked */
    SB_ERR_DATA,        /* the front end could not pack or unpack the user's data */
} sb_status_t;

/* A short English phrase for a status, for messages. Never NULL. */
const char *sb_status_string(sb_status_t status);

#endif
