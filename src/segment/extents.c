/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/extents.h"

#include <stdlib.h>
#include <string.h>

bool sb_extents_init(sb_extents_t *extents, size_t offset, size_t bytes)
{
    extents->list = malloc(8 * sizeof *extents->list);
    extents->room = 8;
    extents->count = 1;
    if (extents->list == NULL)
        return false;
    extents->list[0] = (sb_extent_t){offset, bytes};
    return true;
}

static void erase(sb_extents_t *extents, size_t index)
{
    extents->count--;
    memmove(&extents->list[index], &extents->list[index + 1],
            (extents->count - index) * sizeof *extents->list);
}

static bool insert(sb_extents_t *extents, size_t index, sb_extent_t extent)
{
    if (extents->count == extents->room) {
        sb_extent_t *list = realloc(extents->list, 2 * extents->room * sizeof *list);
        if (list == NULL)
            return false;
        extents->list = list;
        extents->room *= 2;
    }
    memmove(&extents->list[index + 1], &extents->list[index],
            (extents->count - index) * sizeof *extents->list);
    extents->list[index] = extent;
    extents->count++;
    return true;
}

/* Takes what lies `pad` bytes into the extent; what is left before and behind it stays. */
static bool carve(sb_extents_t *extents, size_t index, size_t pad, size_t bytes)
{
    sb_extent_t *extent = &extents->list[index];
    sb_extent_t behind = {extent->offset + pad + bytes, extent->bytes - pad - bytes};

    if (pad > 0 && behind.bytes > 0 && !insert(extents, index + 1, behind))
        return false;
    extent = &extents->list[index];
    if (pad > 0)
        extent->bytes = pad;
    else if (behind.bytes > 0)
        *extent = behind;
    else
        erase(extents, index);
    return true;
}

bool sb_extents_take(sb_extents_t *extents, size_t bytes, size_t alignment, size_t *offset)
{
    for (size_t i = 0; i < extents->count; i++) {
        *offset = sb_round_up(extents->list[i].offset, alignment);
        size_t pad = *offset - extents->list[i].offset;
        if (extents->list[i].bytes >= pad + bytes)
            return carve(extents, i, pad, bytes);
    }
    return false;
}

bool sb_extents_give(sb_extents_t *extents, size_t offset, size_t bytes)
{
    size_t at = 0;

    while (at < extents->count && extents->list[at].offset < offset)
        at++;
    sb_extent_t *before = at > 0 ? &extents->list[at - 1] : NULL;
    sb_extent_t *after = at < extents->count ? &extents->list[at] : NULL;
    bool joins_before = before != NULL && before->offset + before->bytes == offset;
    bool joins_after = after != NULL && offset + bytes == after->offset;

    if (joins_before) {
        before->bytes += bytes + (joins_after ? after->bytes : 0);
        if (joins_after)
            erase(extents, at);
        return true;
    }
    if (joins_after) {
        after->offset = offset;
        after->bytes += bytes;
        return true;
    }
    return insert(extents, at, (sb_extent_t){offset, bytes});
}
