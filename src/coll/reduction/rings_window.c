/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of messages through rings. */
#include "coll/reduction/rings.h"

/* Windows of a message, unless they get smaller or larger; two above what goes in one alone. */
#define WINDOWS 8
#define LEAST sb_flow_piece_usual(0)
#define MOST ((size_t)32 << 10)

size_t sb_reduction_rings_window(const sb_team_t *team, const sb_reduction_t *reduction,
                                 size_t span)
{
    size_t element = reduction->operation->element, window = (size_t)team->settings.fragment_bytes;
    size_t bytes = reduction->bytes, least = sb_min(bytes / 2, LEAST);

    /* Most messages: the divisions below would take longer than anything else. */
    if (window == 0 && bytes <= sb_min(SB_RINGS_ALONE, span / SB_RINGS_WINDOWS))
        return bytes;
    if (window == 0)
        window = sb_min(sb_max(bytes / WINDOWS, least), MOST);
    window = sb_min(sb_round_up(window, SB_LINE), span / SB_RINGS_WINDOWS);
    return window / element * element;
}
