/* SPDX-License-Identifier: BSD-3-Clause */
#include "select/measured.h"

#include "base/config.h"
#include "base/pages.h"
#include "select/tuning.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool sb_measured_wanted(void)
{
    return sb_config()->enabled.number != 0 && sb_config()->prices.number == SB_PRICES_AUTO;
}

/* The machine's own part of the key. */
static void describe_machine(sb_cache_key_t *key)
{
    const sb_topology_t *topology = sb_topology_self();
    const char *model = topology == NULL ? "" : topology->model;
    sb_topology_counts_t counts;

    sb_topology_count(topology, &counts);
    key->processors = (uint32_t)counts.pus;
    snprintf(key->processor, sizeof key->processor, "%s", *model == '\0' ? "unknown" : model);
    for (char *at = key->processor; *at != '\0'; at++)
        *at = (unsigned char)*at < ' ' || *at == 127 ? ' ' : *at;
}

static void take_prices(sb_measured_t *measured, const sb_cache_t *cache, const char *path)
{
    const sb_cache_entry_t *entry =
        measured->known == 0 ? sb_cache_fit(cache, &measured->key) : NULL;

    if (entry == NULL)
        return;
    measured->known = entry->known;
    measured->prices = entry->prices;
    measured->from = SB_PRICES_READ;
    snprintf(measured->by, sizeof measured->by, "%s", entry->by);
    snprintf(measured->file, sizeof measured->file, "%s", path);
    sb_prices_follow(&measured->prices, measured->known);
}

static void look_in(sb_measured_t *measured, sb_cache_t *cache, const char *path)
{
    char error[sizeof measured->error];

    switch (sb_cache_read(path, cache, error, sizeof error)) {
    case SB_CACHE_READ:
        take_prices(measured, cache, path);
        sb_cache_rules(cache, &measured->key, &measured->rules);
        break;
    case SB_CACHE_BROKEN:
        memcpy(measured->error, error, sizeof error);
        break;
    case SB_CACHE_ABSENT:
        break;
    }
}

void sb_measured_find(sb_measured_t *measured, uint32_t ranks, const char *mpi)
{
    char path[SB_CACHE_PATH];

    *measured = (sb_measured_t){.prices = sb_prices_standard, .key = {.ranks = ranks}};
    describe_machine(&measured->key);
    snprintf(measured->key.mpi, sizeof measured->key.mpi, "%s", mpi);
    if (!sb_measured_wanted() || sb_config()->cache.number == 0)
        return;
    sb_cache_t *cache = sb_pages_take(sizeof *cache);
    for (int place = 0; cache != NULL && place < SB_CACHE_PLACES; place++) {
        if (sb_cache_path(place, path, sizeof path))
            look_in(measured, cache, path);
    }
    sb_pages_give(cache, sizeof *cache);
}

void sb_measured_price(sb_measured_t *measured, const char *name, double value)
{
    if (!sb_price_learn(&measured->prices, &measured->known, sb_price_find(name), value))
        return;
    measured->from = SB_PRICES_MEASURED;
    sb_prices_follow(&measured->prices, measured->known);
}

static bool keep(sb_cache_entry_t *entry, const char *by, char *error, size_t room)
{
    *error = '\0';
    if (sb_config()->cache.number == 0)
        return false;
    entry->made = (uint64_t)time(NULL);
    snprintf(entry->by, sizeof entry->by, "%s", by);
    return sb_cache_keep(entry, error, room);
}

bool sb_measured_keep(const sb_measured_t *measured, const char *by, char *error, size_t room)
{
    sb_cache_entry_t entry = {
        .key = measured->key, .known = measured->known, .prices = measured->prices};

    /* Prices are the machine's, whatever MPI it was that measured. */
    entry.key.mpi[0] = '\0';
    return keep(&entry, by, error, room);
}

bool sb_measured_keep_rules(const sb_measured_t *measured, const sb_rules_t *rules, const char *by,
                            char *error, size_t room)
{
    sb_cache_entry_t entry = {.key = measured->key, .prices = sb_prices_standard, .rules = *rules};

    return keep(&entry, by, error, room);
}

void sb_measured_adopt(const sb_measured_t *measured)
{
    sb_settings_price(&measured->prices);
    sb_tuning_add(&measured->rules);
}
