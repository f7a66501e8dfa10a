/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_PROCESSOR_H
#define SB_TOPOLOGY_PROCESSOR_H

#include <stddef.h>

/* What kind of processor a machine has, see processors.def. */
typedef enum sb_processor {
    SB_PROCESSOR_OTHER, /* none of those that are known */
#define SB_PROCESSOR(id, name, maker, family, first, last, doc) SB_PROCESSOR_##id,
#include "topology/processors.def"
#undef SB_PROCESSOR
    SB_PROCESSORS
} sb_processor_t;

/*
 * The one that says this of itself, in numbers as the system writes them: of x86 vendor, family and
 * model, of Arm implementer and part. NULL: not said.
 */
sb_processor_t sb_processor_find(const char *maker, const char *family, const char *model);

/* The one of that name; SB_PROCESSORS: there is none. */
sb_processor_t sb_processor_named(const char *name);

/* Writes all names, "other, zen4, ...", cut to `room`. Returns `text`. */
const char *sb_processor_names(char *text, size_t room);

/* "other" and the names of processors.def. */
const char *sb_processor_name(sb_processor_t processor);

/* What it is called in words; of "other" "". */
const char *sb_processor_doc(sb_processor_t processor);

#endif
