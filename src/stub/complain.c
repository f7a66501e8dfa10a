/* SPDX-License-Identifier: BSD-3-Clause */
#include "stub/complain.h"

#include "base/compiler.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sb_stub_complain(const char *what, const char *detail)
{
    char line[1024];
    int length =
        snprintf(line, sizeof line, "sobor: %s%s%s\n", what, detail[0] ? ": " : "", detail);

    if (length > 0 && write(STDERR_FILENO, line, sb_min((size_t)length, sizeof line - 1)) < 0)
        return; /* nobody left to tell */
}

/* Whether this process is the first of its node, or its launcher does not tell. One launcher in
 * another's rank leaves its words in place, so the first of either is one. */
static bool is_first(void)
{
    static const char *const numbers[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "PMI_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK"};
    /* In a script of sbatch it is 0, also for what other launchers start there. */
    const char *slurm = getenv("SLURM_LOCALID");
    bool told = false;

    for (size_t i = 0; i < SB_COUNT_OF(numbers); i++) {
        const char *number = getenv(numbers[i]);
        if (number != NULL && strcmp(number, "0") == 0)
            return true;
        told = told || number != NULL;
    }
    return !told && (slurm == NULL || strcmp(slurm, "0") == 0);
}

void sb_stub_complain_once(const char *what, const char *detail)
{
    if (is_first())
        sb_stub_complain(what, detail);
}
