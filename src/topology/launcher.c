/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/launcher.h"

#include "base/compiler.h"
#include "base/config.h"

#include <ctype.h>
#include <stdlib.h>

/*
 * The launcher nearest to the rank comes first: mpirun inside a Slurm job leaves Slurm's variables
 * in place, and they then speak of mpirun's own daemons.
 */
static const char *const count_variables[] = {
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "PMI_LOCAL_SIZE",
    "MV2_COMM_WORLD_LOCAL_SIZE",
};

/* The first of them that counts. */
static size_t nearest;

void sb_launcher_set_pmi(bool pmi)
{
    nearest = pmi ? 1 : 0;
}

/* Reads a positive number and moves `text` behind it; 0 if there is none. */
static uint32_t read_count(const char **text)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return 0;
    unsigned long count = strtoul(*text, &end, 10);
    *text = end;
    return count <= INT32_MAX ? (uint32_t)count : 0;
}

static uint32_t plain_count(const char *name)
{
    const char *text = getenv(name);
    uint64_t count;

    return text != NULL && sb_parse_count(text, &count) && count <= INT32_MAX ? (uint32_t)count : 0;
}

/* Slurm's list for the nodes in order, "4(x2),3": the entry of node `node`. 0 if there is none. */
static uint32_t list_entry(const char *text, uint32_t node)
{
    for (;;) {
        uint32_t count = read_count(&text);
        uint32_t times = 1;
        if (text[0] == '(' && text[1] == 'x') {
            text += 2;
            times = read_count(&text);
            if (*text++ != ')')
                return 0;
        }
        if (count == 0 || times == 0 || node < times)
            return node < times ? count : 0;
        node -= times;
        if (*text++ != ',')
            return 0;
    }
}

/* The step's list is exact. The other is what the user asked for, and only under srun. */
static uint32_t slurm_count(void)
{
    const char *list = getenv("SLURM_STEP_TASKS_PER_NODE");

    if (list == NULL)
        return plain_count("SLURM_NTASKS_PER_NODE");
    const char *node = getenv("SLURM_NODEID");
    return list_entry(list, node == NULL ? 0 : read_count(&node));
}

uint32_t sb_launcher_local_ranks(void)
{
    for (size_t i = nearest; i < SB_COUNT_OF(count_variables); i++) {
        uint32_t count = plain_count(count_variables[i]);
        if (count > 0)
            return count;
    }
    return slurm_count();
}
