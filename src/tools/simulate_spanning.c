/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives over several nodes on the simulated machine: Sobor's, which the cluster layer does,
 * and beside it the flat algorithms of hosts. All add the same numbers, in whatever order.
 */
#include "tools/simulate.h"

#include "baseline/bcast_ideal.h"
#include "baseline/forms.h"
#include "baseline/heads_ideal.h"
#include "baseline/host.h"

#include <stdio.h>
#include <string.h>

/* What is Sobor's; NULL: the host serves. A scan is by nodes only where those follow each other. */
static const sb_spanning_t *own_of(const sb_simulate_t *options)
{
    bool scans = options->collective == SB_SCAN || options->collective == SB_EXSCAN;

    return scans && options->dealt ? NULL : &sb_cluster_operations[options->collective].spanning;
}

/* Another one of Sobor's, that is asked for by name. */
static const sb_spanning_t *form_of(sb_collective_t collective, const char *name)
{
    for (size_t i = 0; collective == SB_BCAST && i < sb_form_count(); i++) {
        if (strcmp(name, sb_form_at(i)->name) == 0)
            return sb_form_at(i);
    }
    if (collective == SB_BCAST)
        return strcmp(name, sb_bcast_cp_ideal.name) == 0 ? &sb_bcast_cp_ideal : NULL;
    return sb_heads_ideal(collective, name);
}

/* A flat one, numbered from 1 on; NULL: there are no more. */
static const sb_spanning_t *flat(sb_collective_t collective, size_t number)
{
    for (size_t i = 0; i < sb_host_count(); i++) {
        const sb_spanning_t *host = sb_host_at(i);
        if (host->collective == collective && --number == 0)
            return host;
    }
    return NULL;
}

/* "auto" is what Sobor does. */
static const sb_spanning_t *find(const sb_simulate_t *options, const char *name)
{
    const sb_spanning_t *own = own_of(options), *host;

    if (own != NULL && (strcmp(name, "auto") == 0 || strcmp(name, own->name) == 0))
        return own;
    for (size_t i = 1; (host = flat(options->collective, i)) != NULL; i++) {
        if (strcmp(name, host->name) == 0)
            return host;
    }
    return form_of(options->collective, name);
}

static void add_name(char *names, size_t room, const char *name)
{
    size_t length = strlen(names);

    snprintf(names + length, room - length, ", %s", name);
}

_Noreturn static void refuse(const sb_simulate_t *options, const char *name)
{
    const sb_spanning_t *own = own_of(options), *host;
    sb_collective_t collective = options->collective;
    char known[512] = "";

    for (size_t i = 0; collective == SB_BCAST && i < sb_form_count(); i++)
        add_name(known, sizeof known, sb_form_at(i)->name);
    if (collective == SB_BCAST)
        add_name(known, sizeof known, sb_bcast_cp_ideal.name);
    for (const char *const *ideal = (const char *const[]){"first-ideal", "last-ideal", NULL};
         *ideal != NULL; ideal++) {
        if (sb_heads_ideal(collective, *ideal) != NULL)
            add_name(known, sizeof known, *ideal);
    }
    for (size_t i = 1; (host = flat(collective, i)) != NULL; i++)
        add_name(known, sizeof known, host->name);
    sb_tool_fail("--algorithm: over several nodes expected all%s%s for a %s, found \"%s\"",
                 own == NULL ? "" : ", auto, cluster", known, sb_collective_name(collective), name);
}

static void run_one(const sb_simulate_t *options, const sb_simulated_t *machine,
                    const sb_spanning_t *spanning, size_t bytes, json_t *results)
{
    const sb_algorithm_t kind = {
        .name = spanning->name, .collective = options->collective, .reorders = true};

    json_array_append_new(results, sb_simulate_run(options, machine, &kind, spanning, bytes));
}

void sb_simulate_spanning(const sb_simulate_t *options, const sb_simulated_t *machine, size_t bytes,
                          json_t *results)
{
    sb_collective_t collective = options->collective;
    const sb_spanning_t *spanning = own_of(options);
    char name[SB_NAME_BYTES];

    if (strcmp(options->algorithms, "all") == 0) {
        if (spanning != NULL)
            run_one(options, machine, spanning, bytes, results);
        for (size_t i = 1; (spanning = flat(collective, i)) != NULL; i++)
            run_one(options, machine, spanning, bytes, results);
        return;
    }
    for (const char *at = options->algorithms; *at != '\0';) {
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        spanning = find(options, name);
        if (spanning == NULL)
            refuse(options, name);
        run_one(options, machine, spanning, bytes, results);
        at += length + (at[length] == ',');
    }
}
