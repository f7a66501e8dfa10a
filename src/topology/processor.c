/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *doc;
    const char *maker;
    unsigned long family;
    unsigned long first, last; /* models */
} processors[SB_PROCESSORS] = {
    [SB_PROCESSOR_OTHER] = {.name = "other", .doc = "", .maker = ""},
#define SB_PROCESSOR(id, name, maker, family, first, last, doc)                                    \
    [SB_PROCESSOR_##id] = {name, doc, maker, family, first, last},
#include "topology/processors.def"
#undef SB_PROCESSOR
};

sb_processor_t sb_processor_find(const char *maker, const char *family, const char *model)
{
    if (maker == NULL || family == NULL)
        return SB_PROCESSOR_OTHER;
    unsigned long kin = strtoul(family, NULL, 0), which = model ? strtoul(model, NULL, 0) : 0;
    sb_processor_t found = SB_PROCESSORS - 1;
    while (found != SB_PROCESSOR_OTHER &&
           (strcmp(processors[found].maker, maker) != 0 || processors[found].family != kin ||
            which < processors[found].first || which > processors[found].last))
        found--;
    return found;
}

sb_processor_t sb_processor_named(const char *name)
{
    sb_processor_t found = SB_PROCESSOR_OTHER;

    while (found != SB_PROCESSORS && strcmp(processors[found].name, name) != 0)
        found++;
    return found;
}

const char *sb_processor_names(char *text, size_t room)
{
    snprintf(text, room, "%s", processors[0].name);
    for (size_t i = 1; i < SB_PROCESSORS; i++) {
        size_t length = strlen(text);
        snprintf(text + length, room - length, ", %s", processors[i].name);
    }
    return text;
}

const char *sb_processor_name(sb_processor_t processor)
{
    return processors[processor].name;
}

const char *sb_processor_doc(sb_processor_t processor)
{
    return processors[processor].doc;
}
