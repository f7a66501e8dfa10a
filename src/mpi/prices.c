/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/prices.h"

#include "base/config.h"
#include "base/log.h"
#include "base/mpi_name.h"
#include "mpi/host.h"
#include "segment/board.h"
#include "select/measured.h"

/* By the thread that calls MPI_Init. */
static sb_measured_t measured;
static bool to_measure;

/* What harms nobody is told only to those who want to know. */
static bool is_told(const char *error)
{
    return *error != '\0' && sb_config()->verbose.number > 0;
}

/* Where ranks take turns, a measurement says more of the turns than of the machine. */
static bool have_processors(void)
{
    sb_place_t place;

    sb_place_self(&place);
    return !sb_places_oversubscribed(&place, 1);
}

bool sb_prices_read(uint32_t ranks)
{
    char name[SB_CACHE_MPI];

    if (!sb_measured_wanted())
        return false;
    sb_mpi_name(sb_host_version(), name, sizeof name);
    sb_measured_find(&measured, ranks, name);
    if (is_told(measured.error))
        sb_log_once("a file of what was measured counts for nothing: %s", measured.error);
    sb_measured_adopt(&measured);
    to_measure = measured.from == SB_PRICES_BUILT_IN && ranks > 1 && have_processors();
    return to_measure;
}

void sb_prices_measure(void)
{
    char error[SB_CACHE_PATH + 256];
    sb_gauge_result_t found = {0};

    if (!to_measure)
        return;
    bool first = sb_board_gauge(&found);
    sb_measured_price(&measured, "line", found.line);
    sb_measured_price(&measured, "next_line", found.next_line);
    sb_measured_price(&measured, "byte", found.byte);
    sb_settings_price(&measured.prices);
    /* Whichever rank that is: the others know nothing of it. */
    if (first && measured.from == SB_PRICES_MEASURED &&
        !sb_measured_keep(&measured, "start", error, sizeof error) && is_told(error))
        sb_log("what was measured is not kept: %s", error);
}

const char *sb_prices_origin(void)
{
    static const char *const origins[] = {
        [SB_PRICES_BUILT_IN] = "built in", [SB_PRICES_MEASURED] = "measured now"};

    return measured.from == SB_PRICES_READ ? measured.file : origins[measured.from];
}
