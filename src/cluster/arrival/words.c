/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/arrival/words.h"

#include <stdlib.h>

void sb_word_say(sb_cluster_t *cluster, uint32_t to, bool to_root, sb_word_t word)
{
    sb_doorway_t *doorway = cluster->doorway;
    uint32_t place = doorway->words++;

    word.call = cluster->calls;
    doorway->said[place] = word;
    sb_message_sends(cluster, to, sb_word_tag(to_root), &doorway->said[place], sizeof word, false,
                     &doorway->saying[place]);
}

bool sb_words_are_gone(sb_cluster_t *cluster)
{
    sb_doorway_t *doorway = cluster->doorway;

    for (uint32_t i = doorway->spoken; i < doorway->words; i++) {
        if (doorway->saying[i] != NULL)
            sb_message_tested(cluster, &doorway->saying[i], NULL);
    }
    while (doorway->spoken < doorway->words && doorway->saying[doorway->spoken] == NULL)
        doorway->spoken++;
    return doorway->spoken == doorway->words;
}

void sb_word_listen(sb_cluster_t *cluster, uint32_t from, sb_word_t *word,
                    sb_net_request_t **request)
{
    sb_message_comes(cluster, from, sb_word_tag(from == SB_NET_ANY), word, sizeof *word, request);
}

/* Who is some calls ahead may be heard too early. */
static void keep(sb_cluster_t *cluster, const sb_word_t *word)
{
    sb_doorway_t *doorway = cluster->doorway;

    if (doorway->early_count == doorway->early_room) {
        uint32_t room = 2 * doorway->early_room + 8;
        sb_word_t *early = realloc(doorway->early, room * sizeof *early);
        if (early == NULL) {
            sb_cluster_fails(cluster, SB_ERR_MEMORY);
            return;
        }
        doorway->early = early;
        doorway->early_room = room;
    }
    doorway->early[doorway->early_count++] = *word;
}

bool sb_word_has_come(sb_cluster_t *cluster, uint32_t from, sb_word_t *word,
                      sb_net_request_t **request)
{
    sb_net_news_t news = {0};

    if (*request == NULL || !sb_message_tested(cluster, request, &news))
        return false;
    if (from == SB_NET_ANY && word->call > cluster->calls) {
        keep(cluster, word);
        sb_word_listen(cluster, from, word, request);
        return false;
    }
    if (word->call != cluster->calls || news.bytes != sizeof *word)
        sb_cluster_fails(cluster, SB_ERR_TRUNCATE);
    return cluster->failure == SB_OK;
}

bool sb_word_kept(sb_cluster_t *cluster, sb_word_t *word)
{
    sb_doorway_t *doorway = cluster->doorway;

    for (uint32_t i = 0; i < doorway->early_count; i++) {
        if (doorway->early[i].call == cluster->calls) {
            *word = doorway->early[i];
            doorway->early[i] = doorway->early[--doorway->early_count];
            return true;
        }
    }
    return false;
}
