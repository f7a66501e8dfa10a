/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_CGROUP_H
#define SB_TOPOLOGY_CGROUP_H

/*
 * The processors' worth of time that this process's control group grants it, by the tightest of the
 * group and the groups above it, v1 or v2: 1.5 for a quota of 150 ms in each 100 ms. 0: no limit.
 * `root` is "" or, in tests, a folder that stands for /.
 */
double sb_cgroup_cpus(const char *root);

#endif
