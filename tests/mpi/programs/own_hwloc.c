/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that uses hwloc itself says how many plug-ins a topology of its own has, and what its
 * environment is after MPI_Init: neither may depend on what reads the machine for the library. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count_plugin(struct dl_phdr_info *object, size_t size, void *count)
{
    (void)size;
    *(int *)count += strstr(object->dlpi_name, "/hwloc_") != NULL;
    return 0;
}

int main(int argc, char **argv)
{
    int (*init)(void **) = NULL;
    void (*destroy)(void *) = NULL;
    void *topology, *library;
    int plugins = 0;

    test_begin(&argc, &argv);
    library = dlopen("libhwloc.so.15", RTLD_NOW);
    if (library == NULL)
        return test_skip("hwloc is not installed");
    *(void **)&init = dlsym(library, "hwloc_topology_init");
    *(void **)&destroy = dlsym(library, "hwloc_topology_destroy");
    CHECK(init(&topology) == 0, "hwloc_topology_init");
    dl_iterate_phdr(count_plugin, &plugins);
    destroy(topology);
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("plug-ins %d, path %s\n", plugins,
               getenv("HWLOC_PLUGINS_PATH") == NULL ? "not set" : getenv("HWLOC_PLUGINS_PATH"));
    return test_end();
}
