/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types are taken apart with MPI_Type_get_envelope and MPI_Type_get_contents. Hosts with large
 * counts are asked by the functions for those: they know types of both kinds, while the others
 * reject the large kind. The two kinds give the same numbers in nearly the same order, so they are
 * read from one array.
 */
#include "mpi/source.h"

#include "mpi/predefined.h"

#include <stdlib.h>

static bool allocate(sb_source_t *source)
{
    source->number = calloc(sb_max(source->numbers, 1), sizeof *source->number);
    source->type = calloc(sb_max(source->types, 1), sizeof(MPI_Datatype));
    return source->number != NULL && source->type != NULL;
}

#if SB_LARGE_COUNTS
static bool read_large(MPI_Datatype type, sb_source_t *source)
{
    MPI_Count integers, addresses, counts, types;

    if (sb_host.Type_get_envelope_c(type, &integers, &addresses, &counts, &types,
                                    &source->combiner) != MPI_SUCCESS)
        return false;
    source->large = counts > 0;
    source->numbers = (size_t)(integers + addresses + counts);
    source->types = (size_t)types;
    if (types == 0)
        return true;
    int *integer = calloc((size_t)integers + 1, sizeof *integer);
    MPI_Aint *address = calloc((size_t)addresses + 1, sizeof *address);
    bool done = allocate(source) && integer != NULL && address != NULL &&
                sb_host.Type_get_contents_c(type, integers, addresses, counts, types, integer,
                                            address, source->number + integers + addresses,
                                            source->type) == MPI_SUCCESS;
    for (MPI_Count i = 0; done && i < integers; i++)
        source->number[i] = integer[i];
    for (MPI_Count i = 0; done && i < addresses; i++)
        source->number[integers + i] = address[i];
    free(integer);
    free(address);
    return done;
}
#endif

static bool read_small(MPI_Datatype type, sb_source_t *source)
{
    int integers, addresses, types;

    if (sb_host.Type_get_envelope(type, &integers, &addresses, &types, &source->combiner) !=
        MPI_SUCCESS)
        return false;
    source->numbers = (size_t)integers + (size_t)addresses;
    source->types = (size_t)types;
    if (types == 0)
        return true;
    int *integer = calloc((size_t)integers + 1, sizeof *integer);
    MPI_Aint *address = calloc((size_t)addresses + 1, sizeof *address);
    bool done = allocate(source) && integer != NULL && address != NULL &&
                sb_host.Type_get_contents(type, integers, addresses, types, integer, address,
                                          source->type) == MPI_SUCCESS;
    for (int i = 0; done && i < integers; i++)
        source->number[i] = integer[i];
    for (int i = 0; done && i < addresses; i++)
        source->number[integers + i] = address[i];
    free(integer);
    free(address);
    return done;
}

/* Reads how the type was built. Named types, which may not be asked for more, have no types. */
bool sb_source_read(MPI_Datatype type, sb_source_t *source)
{
    *source = (sb_source_t){0};
#if SB_LARGE_COUNTS
    if (sb_host.Type_get_envelope_c != NULL && sb_host.Type_get_contents_c != NULL)
        return read_large(type, source);
#endif
    return read_small(type, source);
}

static bool get_combiner(MPI_Datatype type, int *combiner)
{
#if SB_LARGE_COUNTS
    MPI_Count large[4];

    if (sb_host.Type_get_envelope_c != NULL)
        return sb_host.Type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3],
                                           combiner) == MPI_SUCCESS;
#endif
    int small[3];

    return sb_host.Type_get_envelope(type, &small[0], &small[1], &small[2], combiner) ==
           MPI_SUCCESS;
}

static bool is_permanent(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

bool sb_type_is_permanent(MPI_Datatype type)
{
    int combiner;

    return get_combiner(type, &combiner) && is_permanent(combiner);
}

/* A combiner that this file knows to have been made by a constructor. */
bool sb_combiner_is_known(int combiner)
{
    switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
    case MPI_COMBINER_RESIZED:
        return true;
    default:
        return false;
    }
}

/* Reading contents hands out derived types as new handles; others must not be freed. */
void sb_source_release(sb_source_t *source, bool read)
{
    int combiner;

    for (size_t i = 0; read && i < source->types; i++) {
        if (sb_predefined_find(source->type[i]) == NULL &&
            get_combiner(source->type[i], &combiner) && sb_combiner_is_known(combiner))
            sb_host.Type_free(&source->type[i]);
    }
    free(source->number);
    free(source->type);
}
