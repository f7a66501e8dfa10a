/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list in the key-value space of PMIx, by which Open MPI is started. Its library is the one
 * that the host has loaded or is about to load; it counts who has initialised it, so the host's own
 * use is not disturbed. The types are those of its standard, of which all versions agree so far.
 * Cost: a look-up in what this node's server has for each rank.
 */
#include "segment/roster.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 256 /* PMIX_MAX_NSLEN + 1 */
#define KEY_BYTES 512  /* PMIX_MAX_KEYLEN + 1 */

enum { TYPE_BOOL = 1, TYPE_STRING = 3, SCOPE_GLOBAL = 3 };

typedef struct process {
    char name[NAME_BYTES];
    uint32_t rank;
} process_t;

typedef struct value {
    uint16_t type;
    union {
        bool flag;
        char *string;
        uint64_t room[3];
    } data;
} value_t;

typedef struct info {
    char key[KEY_BYTES];
    uint32_t flags;
    value_t value;
} info_t;

static struct {
    int (*init)(process_t *process, info_t *info, size_t count);
    int (*put)(uint8_t scope, const char *key, value_t *value);
    int (*commit)(void);
    int (*get)(const process_t *process, const char *key, const info_t *info, size_t count,
               value_t **value);
    int (*finalize)(const info_t *info, size_t count);
} pmix;

static process_t self;

static bool take(void *library, void *target, const char *symbol)
{
    void *function = dlsym(library, symbol);

    memcpy(target, &function, sizeof function);
    return function != NULL;
}

static bool load(void)
{
    void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);

    return library != NULL && take(library, &pmix.init, "PMIx_Init") &&
           take(library, &pmix.put, "PMIx_Put") && take(library, &pmix.commit, "PMIx_Commit") &&
           take(library, &pmix.get, "PMIx_Get") && take(library, &pmix.finalize, "PMIx_Finalize");
}

static bool sign(uint32_t rank, const char *text)
{
    char key[32], copy[SB_ROSTER_TEXT];
    value_t value = {.type = TYPE_STRING, .data = {.string = copy}};

    if (getenv("PMIX_NAMESPACE") == NULL || !load() || pmix.init(&self, NULL, 0) != 0)
        return false;
    snprintf(key, sizeof key, "sobor-%u", rank);
    snprintf(copy, sizeof copy, "%s", text);
    if (pmix.put(SCOPE_GLOBAL, key, &value) == 0 && pmix.commit() == 0)
        return true;
    pmix.finalize(NULL, 0);
    return false;
}

/* MPI_Init has brought what all have put: nobody is asked for it now. */
static bool look_up(uint32_t rank, char *text)
{
    info_t now = {.key = "pmix.immediate", .value = {.type = TYPE_BOOL, .data = {.flag = true}}};
    process_t process = self;
    value_t *value = NULL;
    char key[32];

    process.rank = rank;
    snprintf(key, sizeof key, "sobor-%u", rank);
    if (pmix.get(&process, key, &now, 1, &value) != 0 || value == NULL)
        return false;
    bool found = value->type == TYPE_STRING && value->data.string != NULL;
    if (found) {
        snprintf(text, SB_ROSTER_TEXT, "%s", value->data.string);
        free(value->data.string);
    }
    free(value);
    return found;
}

static void leave(void)
{
    pmix.finalize(NULL, 0);
}

const sb_roster_keeper_t sb_roster_pmix = {sign, look_up, leave};
