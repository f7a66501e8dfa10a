/* SPDX-License-Identifier: BSD-3-Clause */
/* What speaks of this process and the machine that it runs on. */
#include "topology/read.h"

#include "base/config.h"
#include "base/log.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES_AT_ONCE 512

/* The kernel has no more NUMA nodes. */
#define NODES_MOST 1024
#define WORD_BITS (8 * sizeof(unsigned long))

static sb_topology_t *self;
static pthread_once_t self_once = PTHREAD_ONCE_INIT;

static void load_self(void)
{
    self = sb_topology_read(NULL);
    if (self == NULL)
        sb_log_once(
            "the machine's topology could not be read (hwloc: %s); it is taken for one NUMA "
            "node without levels",
            strerror(errno));
}

const sb_topology_t *sb_topology_self(void)
{
    pthread_once(&self_once, load_self);
    return self;
}

static sb_place_t place_self;
static pthread_once_t place_once = PTHREAD_ONCE_INIT;

static void read_place(void)
{
    sb_place_read(&place_self, "", sb_topology_self());
}

void sb_place_self(sb_place_t *place)
{
    pthread_once(&place_once, read_place);
    *place = place_self;
}

/* A refusal harms no one, so it is told only to those who ask how teams are set up. */
static void note_refusal(int numa_node)
{
    static bool noted;

    if (sb_config()->verbose.number >= 2 && !__atomic_exchange_n(&noted, true, __ATOMIC_RELAXED))
        sb_log("memory could not be bound to NUMA node %d: %s", numa_node, strerror(errno));
}

/* A preference, and no more: a node that is full does not end the program. */
static bool bind(void *address, size_t bytes, unsigned os_index)
{
    unsigned long nodes[NODES_MOST / WORD_BITS] = {0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = (char *)((uintptr_t)address & ~(uintptr_t)(page - 1));

    nodes[os_index % NODES_MOST / WORD_BITS] = 1UL << os_index % WORD_BITS;
    /* One more than the bits that count: the kernel leaves out the last. */
    return syscall(SYS_mbind, start, bytes + (size_t)((char *)address - start), MPOL_PREFERRED,
                   nodes, NODES_MOST + 1, 0) == 0;
}

sb_status_t sb_topology_prefer(void *address, size_t bytes, int numa_node)
{
    const sb_topology_t *topology = sb_topology_self();

    if (numa_node < 0 || bytes == 0 || sb_topology_numa_nodes() == 1)
        return SB_OK;
    errno = ENOENT;
    if ((size_t)numa_node < topology->counts.numa_nodes &&
        (!topology->here || bind(address, bytes, topology->nodes[numa_node].os_index)))
        return SB_OK;
    note_refusal(numa_node);
    return SB_ERR_SYSTEM;
}

/* Logical index of the node that the system calls `os_index`, or -1. */
static int logical_node(const sb_topology_t *topology, int os_index)
{
    if (topology == NULL)
        return os_index;
    for (size_t i = 0; i < topology->counts.numa_nodes; i++) {
        if (topology->nodes[i].os_index == (unsigned)os_index)
            return (int)i;
    }
    return -1;
}

static void count_pages(const int *status, size_t pages, size_t *counts, size_t nodes,
                        size_t *elsewhere)
{
    const sb_topology_t *topology = sb_topology_self();

    for (size_t i = 0; i < pages; i++) {
        int node = status[i] < 0 ? -1 : logical_node(topology, status[i]);
        if (node >= 0 && (size_t)node < nodes)
            counts[node]++;
        else
            (*elsewhere)++;
    }
}

sb_status_t sb_topology_pages(const void *address, size_t bytes, size_t *counts, size_t nodes,
                              size_t *elsewhere)
{
    void *pages[PAGES_AT_ONCE];
    int status[PAGES_AT_ONCE];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = (char *)((uintptr_t)address & ~(uintptr_t)(page - 1));
    const char *end = (const char *)address + bytes;

    memset(counts, 0, nodes * sizeof counts[0]);
    *elsewhere = 0;
    while (at < end) {
        size_t count = 0;
        for (; count < PAGES_AT_ONCE && at < end; at += page)
            pages[count++] = at;
        if (syscall(SYS_move_pages, 0, count, pages, NULL, status, 0) != 0) {
            sb_log("move_pages: %s", strerror(errno));
            return SB_ERR_SYSTEM;
        }
        count_pages(status, count, counts, nodes, elsewhere);
    }
    return SB_OK;
}
