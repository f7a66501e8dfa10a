/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/host.h"

#include "base/log.h"

#include <dlfcn.h>
#include <string.h>

sb_host_t sb_host;

static void *library;

#if defined(SB_ABI_OMPI40)
/*
 * The global scope first: a program that names a predefined object may hold a copy of it that the
 * whole process uses, and the library's own symbol then leads to a stale one.
 */
void *sb_host_object(const char *symbol)
{
    void *object = dlsym(RTLD_DEFAULT, symbol);

    return object != NULL ? object : dlsym(library, symbol);
}
#endif

static bool take(void *target, const char *symbol)
{
    void *function = dlsym(library, symbol);

    memcpy(target, &function, sizeof function);
    return function != NULL;
}

static bool take_functions(void)
{
    bool complete = true;

#define SB_HOST(name) complete = take(&sb_host.name, "PMPI_" #name) && complete;
#define SB_HOST_COLLECTIVE(name, lower)                                                            \
    SB_HOST(name)                                                                                  \
    take(&sb_host.name##_c, "PMPI_" #name "_c");
#if SB_LARGE_COUNTS
#define SB_HOST_LARGE(name) take(&sb_host.name, "PMPI_" #name);
#else
#define SB_HOST_LARGE(name)
#endif
#include "mpi/host.def"
#undef SB_HOST
#undef SB_HOST_COLLECTIVE
#undef SB_HOST_LARGE
    return complete;
}

/* What only some hosts have. */
static void take_extras(void)
{
    take(&sb_host.is_revoked, "PMPIX_Comm_is_revoked");
    take(&sb_host.device_support, "MPIX_Query_cuda_support");
    take(&sb_host.device_kind_support, "MPIX_GPU_query_support");
    take(&sb_host.opal_progress, "opal_progress");
    take(&sb_host.opal_set_yield, "opal_progress_set_yield_when_idle");
}

bool sb_host_open(void *libmpi)
{
    library = libmpi;
    if (!take_functions())
        return false;
    take_extras();
    sb_host.comm_null = MPI_COMM_NULL;
    sb_host.comm_self = MPI_COMM_SELF;
    sb_host.comm_world = MPI_COMM_WORLD;
    sb_host.datatype_null = MPI_DATATYPE_NULL;
    sb_host.byte = MPI_BYTE;
    sb_host.op_null = MPI_OP_NULL;
    sb_host.errors_are_fatal = MPI_ERRORS_ARE_FATAL;
    sb_host.errors_return = MPI_ERRORS_RETURN;
    return true;
}

_Atomic uint64_t sb_host_verdicts[SB_CALL_SITES];

/* Plug-ins of Open MPI are mca_*.so; the other hosts have everything in their library. */
static bool is_host_object(const char *path)
{
    Dl_info host;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    if (strncmp(name, "mca_", 4) == 0)
        return true;
    return dladdr((void *)(uintptr_t)sb_host.Initialized, &host) &&
           strcmp(host.dli_fname, path) == 0;
}

/* Some libraries hold their Fortran bindings as well: mpi_bcast_, mpi_bcast_f08ts_,
 * MPIR_Bcast_cdesc. */
static bool is_binding(const char *symbol)
{
    return symbol != NULL && (strncmp(symbol, "mpi_", 4) == 0 || strncmp(symbol, "pmpi", 4) == 0 ||
                              strstr(symbol, "_cdesc") != NULL);
}

static bool judge(const void *return_address)
{
    Dl_info caller;

    return dladdr(return_address, &caller) && caller.dli_fname != NULL &&
           is_host_object(caller.dli_fname) && !is_binding(caller.dli_sname);
}

bool sb_host_judge(uint64_t site)
{
    bool host = judge((const void *)(uintptr_t)site);

    /* Relaxed: an entry is complete in itself. */
    atomic_store_explicit(SB_VERDICT_ON(site), site << 1 | host, memory_order_relaxed);
    return host;
}
