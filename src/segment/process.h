/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_PROCESS_H
#define SB_SEGMENT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* What the system says of processes, and what they have left. */

/* Inode number of this process's PID namespace, read once, or 0 if it could not be read. */
uint64_t sb_process_namespace(void);

/*
 * Whether a process that found this number for its own namespace is in this one's, so that its pid
 * means the same here. Numbers that could not be read tell nothing: false.
 */
bool sb_process_reachable(uint64_t pid_namespace);

/* When the process started, in clock ticks since boot, or 0 if it cannot be read. */
uint64_t sb_process_start_time(int pid);

/* A number for the node that this process is on, read once: another on another node. */
uint64_t sb_process_node(void);

/*
 * False if it is certain that the process has ended: there is none of this pid, it waits to be
 * reaped, all its threads included, or it is another one that started at another time (start_time
 * 0: not compared; nor is it in a process that was itself restored from a checkpoint since).
 */
bool sb_process_alive(int pid, uint64_t start_time);

/* Removes the names of shared memory ("/sobor...") that are said to be left by the dead. */
void sb_process_sweep(bool (*is_left)(const char *name));

#endif
