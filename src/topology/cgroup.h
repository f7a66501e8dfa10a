/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_CGROUP_H
#define SB_TOPOLOGY_CGROUP_H

#include <stdbool.h>

/* Looks at one control group: its folder, and whether it is of version 2. */
typedef void sb_cgroup_look_t(void *context, const char *folder, bool unified);

/*
 * Looks at this process's groups of a controller ("cpu", "memory"), of version 1 or 2, and at every
 * group above them. The mount itself comes last: inside a container it is the container's own
 * group, whatever path the kernel shows. `root` is "" or, in tests, a folder that stands for /.
 */
void sb_cgroup_each(const char *root, const char *controller, sb_cgroup_look_t *look,
                    void *context);

/*
 * The processors' worth of time that the tightest of these groups grants: 1.5 for a quota of 150 ms
 * in each 100 ms. 0: no limit.
 */
double sb_cgroup_cpus(const char *root);

#endif
