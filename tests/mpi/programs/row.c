/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs one after the other in one job, since to begin a job takes longer than some of them. Of
 * each Sobor, where it is there and serves new communicators at once, must have served calls.
 *
 * usage: row PROGRAM [ARGUMENT...] [+ PROGRAM [ARGUMENT...]]... */
#include "support.h"

#include "../../../include/sobor/sobor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* building.py gives each program's own `main` such a name. */
#define PROGRAMS(PROGRAM)                                                                          \
    PROGRAM(barriers)                                                                              \
    PROGRAM(basics)                                                                                \
    PROGRAM(communicators)                                                                         \
    PROGRAM(datatypes)                                                                             \
    PROGRAM(early)                                                                                 \
    PROGRAM(intercomm)                                                                             \
    PROGRAM(mixed)                                                                                 \
    PROGRAM(unequal)

#define DECLARE(program) int program##_main(int argc, char **argv);
PROGRAMS(DECLARE)

#define NAME_AND_MAIN(program) {#program, program##_main},
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} programs[] = {PROGRAMS(NAME_AND_MAIN)};

static unsigned long long served(void)
{
    int (*ask)(sobor_counters_t *) =
        (int (*)(sobor_counters_t *))dlsym(RTLD_DEFAULT, "sobor_counters");
    sobor_counters_t counters = {0, 0, 0};

    CHECK(ask == NULL || ask(&counters) == 0, "no answer");
    return ask == NULL ? 0 : counters.served;
}

static void run(int argc, char **argv)
{
    unsigned long long before = served();
    size_t i = 0;

    while (i < sizeof programs / sizeof *programs && strcmp(programs[i].name, argv[0]) != 0)
        i++;
    CHECK(i < sizeof programs / sizeof *programs, "no program %s", argv[0]);
    programs[i].run(argc, argv);
    CHECK(dlsym(RTLD_DEFAULT, "sobor_counters") == NULL || getenv("SOBOR_SERVE_AFTER") == NULL ||
              served() > before,
          "Sobor served no call of %s", argv[0]);
}

int main(int argc, char **argv)
{
    test_row_begin(&argc, &argv);
    for (int first = 1, next; first < argc; first = next + 1) {
        for (next = first; next < argc && strcmp(argv[next], "+") != 0; next++)
            ;
        argv[next] = NULL;
        run(next - first, argv + first);
    }
    return test_row_end();
}
