/* SPDX-License-Identifier: BSD-3-Clause */
/* The linker's build id: a hash of everything that was linked, which the object carries as a note.
 */
#include "base/build.h"

#include "base/compiler.h"
#include "base/hash.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

/* The linker's name for the start of the object that this code is in. Its headers are read beyond
 * the first, so it has no size. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static uint64_t hash_notes(const char *at, const char *end)
{
    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
        const char *name = at + sizeof *note;
        const char *content = name + sb_round_up(note->n_namesz, 4);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            return sb_hash_bytes(SB_HASH_START, content, note->n_descsz);
        at = content + sb_round_up(note->n_descsz, 4);
    }
    return 0;
}

uint64_t sb_build_id(void)
{
    const char *base = __ehdr_start;
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)(const void *)base;
    const ElfW(Phdr) *header = (const ElfW(Phdr) *)(const void *)(base + file->e_phoff);
    uint64_t found = 0;

    /* Notes come first in the file, and what comes first is mapped as it stands there. */
    for (size_t i = 0; i < file->e_phnum && found == 0; i++) {
        const char *notes = base + header[i].p_offset;
        if (header[i].p_type == PT_NOTE)
            found = hash_notes(notes, notes + header[i].p_filesz);
    }
    return found == 0 ? 1 : found;
}
