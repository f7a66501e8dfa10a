/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose memory an address is, as the front end finds it out of made-up runtimes (runtime.c), and
 * whether a runtime is looked out for at all. One process, which does not begin MPI.
 *
 * usage: devices memory LIBRARY...
 *        devices support NAME LIBRARY...   (NAME: what alone says that the host can use devices) */
#include "mpi/device.h"
#include "mpi/host.h"
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define RUNTIMES_MOST 4

static void *load(const char *library)
{
    void *runtime = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    CHECK(runtime != NULL, "%s", dlerror());
    return runtime;
}

/* Memory of each runtime is told from that of none, by the time that all are loaded. */
static void memory(int count, char **libraries)
{
    static char bytes[RUNTIMES_MOST + 1][64];

    CHECK(!sb_device_may_hold(bytes[0]), "memory of a device without a runtime");
    for (int i = 0; i < count; i++) {
        void *runtime = load(libraries[i]);
        void (*own)(const void *, size_t) = (void (*)(const void *, size_t))dlsym(runtime, "own");
        own(bytes[i], sizeof bytes[i]);
        for (int j = 0; j <= count; j++)
            CHECK(sb_device_may_hold(bytes[j]) == (j <= i), "runtimes 0 to %d, memory %d", i, j);
    }
}

static int yes(void)
{
    return 1;
}

static void support(const char *name, int count, char **libraries)
{
    for (int i = 0; i < count; i++)
        load(libraries[i]);
#if defined(SB_ABI_OMPI40)
    if (strcmp(name, "cuda") == 0)
        sb_host.cuda_support = yes;
    if (strcmp(name, "rocm") == 0)
        sb_host.rocm_support = yes;
    if (strcmp(name, "ze") == 0)
        sb_host.ze_component = &yes;
#endif
    bool expected = strcmp(name, "none") != 0;
    CHECK((sb_device_objection() != 0) == expected, "objection");
    CHECK(sb_device_watched == expected, "watched: %d", sb_device_watched);
}

int main(int argc, char **argv)
{
    if (argc > 2 && argc <= 2 + RUNTIMES_MOST && strcmp(argv[1], "memory") == 0)
        memory(argc - 2, argv + 2);
    else if (argc > 3 && strcmp(argv[1], "support") == 0)
        support(argv[2], argc - 3, argv + 3);
    else
        return 2;
    printf("PASS devices\n");
    return 0;
}
