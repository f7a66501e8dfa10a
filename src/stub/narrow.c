/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions with large counts for a host that has none: each calls the host's function with int
 * counts. No MPI's header is known here: a handle is a word, as is an int, and both processors pass
 * words of either size in registers or places of 8 bytes.
 */
#include "stub/narrow.h"

#include "base/compiler.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t word_t;

/* The most arguments. Who has fewer takes no notice of more. */
#define WORDS 9
typedef int function_t(word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t);

/*
 * What the arguments are, each by a letter:
 *
 *   b       a buffer, to which counts and places behind it belong
 *   n       a count, or the displacement unit of a window
 *   a c p   at the root alone: a count, and an array of counts and one of places
 *   C P     arrays, unless the buffer is MPI_IN_PLACE
 *   O       an array of counts for the own group
 *   r       the root
 *   h       the communicator
 *   -       anything else
 */
enum { BCAST, SCATTER, SCATTERV, GATHER, GATHERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV };
enum { ALLTOALLW = ALLTOALLV + 1, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN };
enum { EXSCAN = SCAN + 1, WIN_CREATE, WIN_ALLOCATE, WIN_ALLOCATE_SHARED, CALLS };

static struct {
    const char *name, *shape;
    function_t *host;
} calls[CALLS] = {
    [BCAST] = {"Bcast", "bn-rh", NULL},
    [SCATTER] = {"Scatter", "ba-bn-rh", NULL},
    [SCATTERV] = {"Scatterv", "bcp-bn-rh", NULL},
    [GATHER] = {"Gather", "bn-ba-rh", NULL},
    [GATHERV] = {"Gatherv", "bn-bcp-rh", NULL},
    [ALLGATHER] = {"Allgather", "bn-bn-h", NULL},
    [ALLGATHERV] = {"Allgatherv", "bn-bCP-h", NULL},
    [ALLTOALL] = {"Alltoall", "bn-bn-h", NULL},
    [ALLTOALLV] = {"Alltoallv", "bCP-bCP-h", NULL},
    [ALLTOALLW] = {"Alltoallw", "bCP-bCP-h", NULL},
    [REDUCE] = {"Reduce", "--n--rh", NULL},
    [ALLREDUCE] = {"Allreduce", "--n--h", NULL},
    [REDUCE_SCATTER] = {"Reduce_scatter", "--O--h", NULL},
    [REDUCE_SCATTER_BLOCK] = {"Reduce_scatter_block", "--n--h", NULL},
    [SCAN] = {"Scan", "--n--h", NULL},
    [EXSCAN] = {"Exscan", "--n--h", NULL},
    [WIN_CREATE] = {"Win_create", "--n-h-", NULL},
    [WIN_ALLOCATE] = {"Win_allocate", "-n-h--", NULL},
    [WIN_ALLOCATE_SHARED] = {"Win_allocate_shared", "-n-h--", NULL},
};

/* The host's, which take a communicator and the address of an int, or an error. */
typedef int ask_t(word_t comm, int *answer);
typedef int raise_t(word_t comm, int error);
static ask_t *test_inter, *own_size, *remote_size, *own_rank;
static raise_t *raise_error;

/* The same number in Open MPI and MPICH; so are these of MPI_IN_PLACE, of the one and of the other.
 * MPI_ROOT is -4 and -3, and nothing else is below -2. */
#define ERR_COUNT 2
#define IS_IN_PLACE(buffer) ((buffer) == 1 || (buffer) == -1)
#define BELOW_ROOTS (-2)

/* A call on its way to the host. */
typedef struct passed {
    const char *shape;
    word_t words[WORDS];
    int *made[WORDS]; /* arrays of ints in the place of those that were given */
    int own, members; /* the ranks of the own group, and of those that arrays speak of */
    bool is_root;
    bool fits;
} passed_t;

static word_t word_of(const passed_t *passed, char letter)
{
    const char *at = strchr(passed->shape, letter);

    return at == NULL ? 0 : passed->words[at - passed->shape];
}

/* Returns the host's error: it has raised that. */
static int look_at(passed_t *passed)
{
    word_t comm = word_of(passed, 'h');
    int root = (int)word_of(passed, 'r'), inter = 0, rank = -1;
    int error = test_inter(comm, &inter);

    if (error == 0)
        error = own_size(comm, &passed->own);
    if (error == 0)
        error = inter ? remote_size(comm, &passed->members) : own_rank(comm, &rank);
    if (!inter)
        passed->members = passed->own;
    passed->is_root = inter ? root < BELOW_ROOTS : root == rank;
    return error;
}

static void narrow_count(passed_t *passed, int i, bool significant)
{
    word_t count = passed->words[i];

    if (significant && count > INT_MAX)
        passed->fits = false;
    passed->words[i] = count < 0 ? -1 : count > INT_MAX ? 0 : count;
}

/* A NULL is the host's to judge. */
static void narrow_array(passed_t *passed, int i, int n, bool significant)
{
    const int64_t *given = (const int64_t *)(uintptr_t)passed->words[i]; /* MPI_Count, MPI_Aint */

    if (!significant || given == NULL) {
        passed->words[i] = 0;
        return;
    }
    int *made = malloc(sizeof *made * (n > 0 ? (size_t)n : 1));
    if (made == NULL)
        abort();
    for (int j = 0; j < n; j++) {
        passed->fits = passed->fits && given[j] >= INT_MIN && given[j] <= INT_MAX;
        made[j] = (int)given[j];
    }
    passed->made[i] = made;
    passed->words[i] = (word_t)(uintptr_t)made;
}

static void narrow(passed_t *passed)
{
    bool in_place = false;

    for (int i = 0; passed->shape[i] != '\0'; i++) {
        switch (passed->shape[i]) {
        case 'b':
            in_place = IS_IN_PLACE(passed->words[i]);
            break;
        case 'n':
            narrow_count(passed, i, !in_place);
            break;
        case 'a':
            narrow_count(passed, i, passed->is_root);
            break;
        case 'c':
        case 'p':
            narrow_array(passed, i, passed->members, passed->is_root);
            break;
        case 'C':
        case 'P':
            narrow_array(passed, i, passed->members, !in_place);
            break;
        case 'O':
            narrow_array(passed, i, passed->own, true);
            break;
        }
    }
}

static int pass(int call, const passed_t *given)
{
    passed_t passed = *given;
    const word_t *w = passed.words;

    passed.shape = calls[call].shape;
    passed.fits = true;
    int error = look_at(&passed);
    if (error != 0)
        return error;
    narrow(&passed);
    if (passed.fits) {
        error = calls[call].host(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]);
    } else {
        error = ERR_COUNT;
        raise_error(word_of(&passed, 'h'), error);
    }
    for (int i = 0; i < WORDS; i++)
        free(passed.made[i]);
    return error;
}

/* The functions, by how many arguments they have. */
#define PASS(call, ...) return pass(call, &(passed_t){.words = {__VA_ARGS__}})
#define WITH_5(name, call)                                                                         \
    static int name(word_t a, word_t b, word_t c, word_t d, word_t e)                              \
    {                                                                                              \
        PASS(call, a, b, c, d, e);                                                                 \
    }
#define WITH_6(name, call)                                                                         \
    static int name(word_t a, word_t b, word_t c, word_t d, word_t e, word_t f)                    \
    {                                                                                              \
        PASS(call, a, b, c, d, e, f);                                                              \
    }
#define WITH_7(name, call)                                                                         \
    static int name(word_t a, word_t b, word_t c, word_t d, word_t e, word_t f, word_t g)          \
    {                                                                                              \
        PASS(call, a, b, c, d, e, f, g);                                                           \
    }
#define WITH_8(name, call)                                                                         \
    static int name(word_t a, word_t b, word_t c, word_t d, word_t e, word_t f, word_t g,          \
                    word_t h)                                                                      \
    {                                                                                              \
        PASS(call, a, b, c, d, e, f, g, h);                                                        \
    }
#define WITH_9(name, call)                                                                         \
    static int name(word_t a, word_t b, word_t c, word_t d, word_t e, word_t f, word_t g,          \
                    word_t h, word_t i)                                                            \
    {                                                                                              \
        PASS(call, a, b, c, d, e, f, g, h, i);                                                     \
    }

WITH_5(bcast, BCAST)
WITH_8(scatter, SCATTER)
WITH_9(scatterv, SCATTERV)
WITH_8(gather, GATHER)
WITH_9(gatherv, GATHERV)
WITH_7(allgather, ALLGATHER)
WITH_8(allgatherv, ALLGATHERV)
WITH_7(alltoall, ALLTOALL)
WITH_9(alltoallv, ALLTOALLV)
WITH_9(alltoallw, ALLTOALLW)
WITH_7(reduce, REDUCE)
WITH_6(allreduce, ALLREDUCE)
WITH_6(reduce_scatter, REDUCE_SCATTER)
WITH_6(reduce_scatter_block, REDUCE_SCATTER_BLOCK)
WITH_6(scan, SCAN)
WITH_6(exscan, EXSCAN)
WITH_6(win_create, WIN_CREATE)
WITH_6(win_allocate, WIN_ALLOCATE)
WITH_6(win_allocate_shared, WIN_ALLOCATE_SHARED)

#define ADDRESS(function) ((void *)(uintptr_t)(function))

void *sb_stub_narrow(void *libmpi, const char *name)
{
    void *const functions[CALLS] = {
        ADDRESS(bcast),
        ADDRESS(scatter),
        ADDRESS(scatterv),
        ADDRESS(gather),
        ADDRESS(gatherv),
        ADDRESS(allgather),
        ADDRESS(allgatherv),
        ADDRESS(alltoall),
        ADDRESS(alltoallv),
        ADDRESS(alltoallw),
        ADDRESS(reduce),
        ADDRESS(allreduce),
        ADDRESS(reduce_scatter),
        ADDRESS(reduce_scatter_block),
        ADDRESS(scan),
        ADDRESS(exscan),
        ADDRESS(win_create),
        ADDRESS(win_allocate),
        ADDRESS(win_allocate_shared),
    };

    test_inter = (ask_t *)(uintptr_t)dlsym(libmpi, "PMPI_Comm_test_inter");
    own_size = (ask_t *)(uintptr_t)dlsym(libmpi, "PMPI_Comm_size");
    remote_size = (ask_t *)(uintptr_t)dlsym(libmpi, "PMPI_Comm_remote_size");
    own_rank = (ask_t *)(uintptr_t)dlsym(libmpi, "PMPI_Comm_rank");
    raise_error = (raise_t *)(uintptr_t)dlsym(libmpi, "PMPI_Comm_call_errhandler");
    for (int call = 0; call < CALLS; call++) {
        size_t length = strlen(calls[call].name);
        char symbol[64];
        if (strncmp(name, calls[call].name, length) != 0 || strcmp(name + length, "_c") != 0)
            continue;
        snprintf(symbol, sizeof symbol, "PMPI_%s", calls[call].name);
        calls[call].host = (function_t *)(uintptr_t)dlsym(libmpi, symbol);
        return calls[call].host == NULL ? NULL : functions[call];
    }
    return NULL;
}
