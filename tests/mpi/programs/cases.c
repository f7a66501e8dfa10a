/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCH = 64 };

static bool parse_word(struct cases *cases, const char *option, const char *word)
{
    unsigned long long value = strtoull(word, NULL, 0);

    if (strcmp(option, "--seed") == 0)
        cases->seed = value;
    else if (strcmp(option, "--cases") == 0)
        cases->cases = (long)value;
    else if (strcmp(option, "--first") == 0)
        cases->first = (long)value;
    else if (strcmp(option, "--max-bytes") == 0)
        cases->max_bytes = (size_t)value;
    else if (strcmp(option, "--only") == 0)
        cases->only = word;
    else if (strcmp(option, "--op") == 0)
        cases->op = word;
    else if (strcmp(option, "--types") == 0)
        cases->types = word;
    else
        return false;
    return true;
}

void cases_parse(struct cases *cases, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2)
        CHECK(i + 1 < argc && parse_word(cases, argv[i], argv[i + 1]), "unknown option %s",
              argv[i]);
}

static void make_comms(const struct cases *cases, long epoch, MPI_Comm *comms)
{
    uint64_t random = mix(cases->seed, (uint64_t)epoch);
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), periodic = 1;
    int shift = (int)random_below(&random, (size_t)size);
    int excluded = (int)random_below(&random, (size_t)size);
    int colour = (int)(mix(next_random(&random), (uint64_t)rank) % 2);

    comms[0] = MPI_COMM_WORLD;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comms[2]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, (rank + shift) % size, &comms[3]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank == excluded ? MPI_UNDEFINED : 1, -rank, &comms[4]));
    if (cases->comms == COMMS_SPLIT)
        return;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[5]));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &comms[6]));
}

static void free_comms(const struct cases *cases, MPI_Comm *comms)
{
    for (int i = 1; i < cases->comms; i++)
        if (comms[i] != MPI_COMM_NULL)
            CALL(MPI_Comm_free(&comms[i]));
}

void cases_run(const struct cases *cases, void (*run)(long number, MPI_Comm const *comms))
{
    MPI_Comm comms[COMMS_MOST];
    long end = cases->first + cases->cases;

    make_comms(cases, cases->first / EPOCH, comms);
    for (long number = cases->first; number < end; number++) {
        if (number != cases->first && number % EPOCH == 0) {
            free_comms(cases, comms);
            make_comms(cases, number / EPOCH, comms);
        }
        run(number, comms);
    }
    free_comms(cases, comms);
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("cases %ld\n", cases->cases);
}

size_t cases_bytes(const struct cases *cases, uint64_t *random)
{
    size_t doublings = 0;

    while ((size_t)1 << doublings < cases->max_bytes)
        doublings++;
    size_t top = (size_t)1 << random_below(random, doublings + 1);
    return random_below(random, 2 * top);
}
