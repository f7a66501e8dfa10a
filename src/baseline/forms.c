/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/forms.h"

#include "base/config.h"

static const sb_spanning_t *const forms[] = {
#define SB_FORM_ADDRESS(symbol, name) &sb_bcast_##symbol,
    SB_EACH_FORM(SB_FORM_ADDRESS)
#undef SB_FORM_ADDRESS
};

_Static_assert(SB_COUNT_OF(forms) == SB_FORMS - SB_FORM_cp_tree, "forms are numbered in order");

size_t sb_form_count(void)
{
    return SB_COUNT_OF(forms);
}

const sb_spanning_t *sb_form_at(size_t index)
{
    return forms[index];
}

static bool is_power_of_two(uint32_t number)
{
    return (number & (number - 1)) == 0;
}

/* The published form for a message of so many bytes. */
static sb_form_t published(const sb_cluster_t *cluster, size_t bytes, bool competitive)
{
    const sb_settings_t *settings = &cluster->settings;
    bool doubles = settings->bcast_rdaas == SB_RDAAS_POWER_OF_TWO && bytes < settings->bcast_long &&
                   is_power_of_two(cluster->map.nodes);

    if (bytes < settings->bcast_short)
        return competitive ? SB_FORM_cp_bt : SB_FORM_p_bt;
    if (doubles)
        return competitive ? SB_FORM_cp_rdaas : SB_FORM_p_rdaas;
    return competitive ? SB_FORM_cp_ringaas : SB_FORM_p_ringaas;
}

const sb_spanning_t *sb_form_find(const sb_cluster_t *cluster, sb_form_t form, size_t bytes)
{
    if (form == SB_FORM_P || form == SB_FORM_CP)
        form = published(cluster, bytes, form == SB_FORM_CP);
    return forms[form - SB_FORM_cp_tree];
}

void sb_leaders_fixed(sb_cluster_t *cluster, uint32_t root)
{
    for (uint32_t node = 0; node < cluster->map.nodes; node++)
        cluster->doorway->leader[node] = sb_leader_of(cluster, node, root);
}
