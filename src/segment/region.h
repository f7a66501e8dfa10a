/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_REGION_H
#define SB_SEGMENT_REGION_H

#include "base/status.h"
#include "segment/extents.h"

#include <sys/types.h>

/*
 * A region is shared memory that one process owns and places; peers attach to it. It has no name
 * that outlives its set-up, cannot fail when it is used, and is readable by the same user only.
 */
typedef enum sb_region_kind { SB_REGION_MEMFD = 1, SB_REGION_NAMED = 2 } sb_region_kind_t;

/* What a peer needs to attach to a region, and to prove that it got the right one. Plain data. */
typedef struct sb_remote_key {
    uint64_t nonce[2];
    uint64_t bytes;
    uint64_t pid_namespace; /* inode number of the owner's PID namespace; 0: unknown */
    uint64_t start_time;    /* of the owner, in clock ticks since boot: tells a reused pid */
    int32_t pid;
    int32_t fd;
    uint32_t kind;
    uint32_t reserved;
} sb_remote_key_t;

typedef struct sb_region {
    sb_remote_key_t key;
    char *base;
    int fd;                /* open while this process owns the region; -1 in a peer */
    bool linked;           /* a name in /dev/shm still exists */
    size_t touched;        /* the owner has touched what is before, see sb_region_touch */
    size_t huge_page;      /* bytes of those in its beginning; 0: it has none */
    uint64_t huge_touched; /* bit i: number i is there */
} sb_region_t;

/* Room for a message that says why a region could not be had. */
typedef struct sb_reason {
    char text[160];
} sb_reason_t;

/* Fills in the reason, and returns the status. */
sb_status_t sb_region_fail(sb_reason_t *reason, sb_status_t status, const char *format, ...)
    SB_PRINTF(3, 4);

/* Bytes at the start of a region that belong to the region itself. */
#define SB_REGION_HEADER 4096

/*
 * Makes a region of `bytes` (whole pages), placed on the NUMA node `numa_node` (-1: wherever). All
 * of it is reserved where using it could fail later: memory with a name. Its beginning is touched.
 * On failure returns SB_ERR_MEMORY or SB_ERR_SYSTEM and fills `reason`.
 */
sb_status_t sb_region_create(sb_region_t *region, sb_region_kind_t kind, size_t bytes,
                             int numa_node, sb_reason_t *reason);

/*
 * The kernel clears a page when it is touched first, and puts it into the table of who does that.
 * Here the owner does it for the pages of [from, to), which takes half as long as page by page in
 * use: so long blocks are touched as they are needed. A huge page comes as a whole.
 */
void sb_region_touch(sb_region_t *region, size_t from, size_t to);

/* What touching SB_PAGE of new memory takes in this process, as was measured; 0: not yet. Not for
 * several threads at once. */
uint64_t sb_region_page_ns(void);

/* What that is held to be, known so far, after so many pages took so long each. */
uint64_t sb_page_ns_after(uint64_t known, uint64_t ns, size_t pages);

/* Bytes of an own region that have no page yet: it will take them from what the limits leave. */
size_t sb_region_missing(const sb_region_t *region);

/* Attaches to a peer's region and checks the nonce. */
sb_status_t sb_region_attach(sb_region_t *region, const sb_remote_key_t *key, sb_reason_t *reason);

/* Removes the region's name, if it still has one. To be called once every peer has attached. */
void sb_region_unlink(sb_region_t *region);

/* Unmaps the region, and ends it if this process owns it. */
void sb_region_close(sb_region_t *region);

/*
 * Whether the owner of a region lives: false only if that is certain. Owners in another PID
 * namespace cannot be seen and count as living.
 */
bool sb_owner_alive(const sb_remote_key_t *key);

/* Says to peers that the owner leaves in good order: its end is then no failure. */
void sb_region_depart(sb_region_t *region);

/* Whether the owner of an attached region has said so. */
bool sb_region_departed(const sb_region_t *region);

/* Says to peers that the owner gives the region up, while it lives on; and whether it has. */
void sb_region_end(sb_region_t *region);
bool sb_region_ended(const sb_region_t *region);

/* Makes a file of shared memory so long, where the process's limits allow it; or sets errno. */
bool sb_region_resize(int fd, size_t bytes);

/* Reserves its bytes, whatever signals come; or returns what is wrong, as errno has it. */
int sb_region_reserve(int fd, size_t from, size_t bytes);

/*
 * Maps a file of shared memory, or returns NULL. Not for children of fork: they have no part in the
 * team, and memory would outlive the job with them.
 */
void *sb_region_map(int fd, size_t bytes);

/* Removes regions' names that processes of this user left when they were killed during set-up. */
void sb_region_sweep(void);

#endif
