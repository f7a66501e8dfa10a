/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ARRIVAL_WORDS_H
#define SB_CLUSTER_ARRIVAL_WORDS_H

#include "cluster/arrival/arrival.h"

/* Words between leaders and the root: all are short enough to leave before they are waited for. */

/* Says it, of the present call. To the root, or from it. */
void sb_word_say(sb_cluster_t *cluster, uint32_t to, bool to_root, sb_word_t word);

/* Looks after what was said in this call; true: all of it is gone. */
bool sb_words_are_gone(sb_cluster_t *cluster);

/* Begins to hear one: the root from anybody, others from it. */
void sb_word_listen(sb_cluster_t *cluster, uint32_t from, sb_word_t *word,
                    sb_net_request_t **request);

/* Whether it has come. One of a later call, at the root, is kept for it, and the next is listened
 * for. */
bool sb_word_has_come(sb_cluster_t *cluster, uint32_t from, sb_word_t *word,
                      sb_net_request_t **request);

/* A word of this call that came during an earlier one; false: there is none. */
bool sb_word_kept(sb_cluster_t *cluster, sb_word_t *word);

#endif
