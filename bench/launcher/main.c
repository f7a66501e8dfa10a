/* SPDX-License-Identifier: BSD-3-Clause */
/* The bench's host program.
 *
 * It is linked to no MPI, so one binary serves all of them: it brings the libmpi named on the
 * command line into the global scope and loads the body built for that library's ABI. */

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int bench_main(int argc, char **argv);

static const char USAGE[] =
    "usage: sobor-bench --abi NAME --libmpi PATH [bench options]\n"
    "  --abi NAME      ompi40, mpich12 or mpiabi1\n"
    "  --libmpi PATH   the MPI library to measure, such as /usr/lib/.../libmpi.so.40\n";

static int fail(const char *what, const char *found)
{
    fprintf(stderr, "sobor-bench: %s: %s\n", what, found);
    return 2;
}

/* Takes the two options that are this program's own out of argv; the body sees the rest. */
static int take_own_options(int argc, char **argv, const char **abi, const char **libmpi)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        const char **target = NULL;
        if (strcmp(argv[i], "--abi") == 0)
            target = abi;
        else if (strcmp(argv[i], "--libmpi") == 0)
            target = libmpi;
        if (target != NULL && i + 1 < argc)
            *target = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    return kept;
}

static int body_path(const char *abi, char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return -1;
    self[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash == NULL)
            return -1;
        *slash = '\0';
    }
    int needed = snprintf(path, size, "%s/lib/sobor/libsobor-bench-%s.so", self, abi);
    return needed < 0 || (size_t)needed >= size ? -1 : 0;
}

static bench_main *load_body(const char *abi)
{
    char path[PATH_MAX];
    if (body_path(abi, path, sizeof path) != 0) {
        fail("--abi: no path for the body of", abi);
        return NULL;
    }
    void *body = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (body == NULL) {
        fail("--abi: the bench was not built for it, or does not fit --libmpi", dlerror());
        return NULL;
    }
    bench_main *entry = (bench_main *)dlsym(body, "sobor_bench_main");
    if (entry == NULL)
        fail("sobor_bench_main not found", path);
    return entry;
}

int main(int argc, char **argv)
{
    const char *abi = NULL;
    const char *libmpi = NULL;
    argc = take_own_options(argc, argv, &abi, &libmpi);
    if (abi == NULL || libmpi == NULL) {
        fputs(USAGE, stderr);
        return fail("expected --abi and --libmpi, found no", abi == NULL ? "--abi" : "--libmpi");
    }
    if (dlopen(libmpi, RTLD_NOW | RTLD_GLOBAL) == NULL)
        return fail("--libmpi: cannot be loaded", dlerror());
    /* The body learns the library by this variable, so that its option list stays its own. */
    if (setenv("SOBOR_BENCH_LIBMPI", libmpi, 1) != 0)
        return fail("setenv failed for", "SOBOR_BENCH_LIBMPI");
    bench_main *entry = load_body(abi);
    return entry == NULL ? 2 : entry(argc, argv);
}
