/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"

const char *sb_status_string(sb_status_t status)
{
    static const char *const phrases[] = {
#define SB_PHRASE(enumerator, phrase) phrase,
        SB_EACH_STATUS(SB_PHRASE)
#undef SB_PHRASE
    };

    return phrases[status];
}
