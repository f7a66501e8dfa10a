/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_FORMS_H
#define SB_BASELINE_FORMS_H

#include "cluster/arrival/arrival.h"

/*
 * The forms of a broadcast over nodes that are taken by name alone, by SOBOR_CLUSTER_BCAST: the
 * published ones, and cp-tree.
 */
#define SB_FORM_DECLARATION(symbol, name) extern const sb_spanning_t sb_bcast_##symbol;
SB_EACH_FORM(SB_FORM_DECLARATION)
#undef SB_FORM_DECLARATION

/* All of them and cp-chain, in the order of SB_EACH_FORM. */
size_t sb_form_count(void);
const sb_spanning_t *sb_form_at(size_t index);

/* For sb_form_by_name, and for sb_named_allgather. */
sb_form_find_t sb_form_find;
extern const sb_named_allgather_t sb_cluster_bagds;

/* Writes the leaders of all nodes into `doorway->leader`: the fixed ones; or those that were
 * elected, of whom the root hears, and tells all, who wait for that. */
void sb_leaders_fixed(sb_cluster_t *cluster, uint32_t root);
sb_status_t sb_leaders_elected(sb_cluster_t *cluster, uint32_t root, size_t bytes);

/* A broadcast to the leader of each node, as `doorway->leader` has them, by a binomial tree. */
sb_status_t sb_bcast_down_tree(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream);

#endif
