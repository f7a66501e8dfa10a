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
 * The functions: name, number of arguments, and what these are, each by a letter:
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
#define EACH_CALL(CALL)                                                                            \
    CALL(Bcast, 5, "bn-rh")                                                                        \
    CALL(Scatter, 8, "ba-bn-rh")                                                                   \
    CALL(Scatterv, 9, "bcp-bn-rh")                                                                 \
    CALL(Gather, 8, "bn-ba-rh")                                                                    \
    CALL(Gatherv, 9, "bn-bcp-rh")                                                                  \
    CALL(Allgather, 7, "bn-bn-h")                                                                  \
    CALL(Allgatherv, 8, "bn-bCP-h")                                                                \
    CALL(Alltoall, 7, "bn-bn-h")                                                                   \
    CALL(Alltoallv, 9, "bCP-bCP-h")                                                                \
    CALL(Alltoallw, 9, "bCP-bCP-h")                                                                \
    CALL(Reduce, 7, "--n--rh")                                                                     \
    CALL(Allreduce, 6, "--n--h")                                                                   \
    CALL(Reduce_scatter, 6, "--O--h")                                                              \
    CALL(Reduce_scatter_block, 6, "--n--h")                                                        \
    CALL(Scan, 6, "--n--h")                                                                        \
    CALL(Exscan, 6, "--n--h")                                                                      \
    CALL(Win_create, 6, "--n-h-")                                                                  \
    CALL(Win_allocate, 6, "-n-h--")                                                                \
    CALL(Win_allocate_shared, 6, "-n-h--")

enum {
#define PLACE(name, count, letters) OF_##name,
    EACH_CALL(PLACE) CALLS
};

static function_t *hosts[CALLS];

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

static int pass(function_t *host, passed_t *passed)
{
    const word_t *w = passed->words;
    int error = look_at(passed);

    if (error != 0)
        return error;
    narrow(passed);
    if (passed->fits) {
        error = host(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]);
    } else {
        error = ERR_COUNT;
        raise_error(word_of(passed, 'h'), error);
    }
    for (int i = 0; i < WORDS; i++)
        free(passed->made[i]);
    return error;
}

#define TAKE_5 word_t a, word_t b, word_t c, word_t d, word_t e
#define TAKE_6 TAKE_5, word_t f
#define TAKE_7 TAKE_6, word_t g
#define TAKE_8 TAKE_7, word_t h
#define TAKE_9 TAKE_8, word_t i
#define GIVE_5 a, b, c, d, e
#define GIVE_6 GIVE_5, f
#define GIVE_7 GIVE_6, g
#define GIVE_8 GIVE_7, h
#define GIVE_9 GIVE_8, i

#define NARROW(name, count, letters)                                                               \
    static int narrow_##name(TAKE_##count)                                                         \
    {                                                                                              \
        _Static_assert(sizeof letters - 1 == count, "a letter for each argument");                 \
        passed_t passed = {.shape = letters, .words = {GIVE_##count}, .fits = true};               \
        return pass(hosts[OF_##name], &passed);                                                    \
    }
EACH_CALL(NARROW)

void *sb_stub_narrow(void *libmpi, const char *name)
{
    static const struct {
        const char *name;
        void (*narrow)(void);
    } calls[CALLS] = {
#define ROW(name, count, letters) {#name, (void (*)(void))narrow_##name},
        EACH_CALL(ROW)};

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
        hosts[call] = (function_t *)(uintptr_t)dlsym(libmpi, symbol);
        return hosts[call] == NULL ? NULL : (void *)(uintptr_t)calls[call].narrow;
    }
    return NULL;
}
