/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/host.h"

#include "base/log.h"

#include <dlfcn.h>
#include <link.h>
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

/* What only some hosts have. */
static void take_extras(void)
{
    take(&sb_host.Type_get_envelope_c, "PMPI_Type_get_envelope_c");
    take(&sb_host.Type_get_contents_c, "PMPI_Type_get_contents_c");
    take(&sb_host.Win_create_c, "PMPI_Win_create_c");
    take(&sb_host.Win_allocate_c, "PMPI_Win_allocate_c");
    take(&sb_host.Win_allocate_shared_c, "PMPI_Win_allocate_shared_c");
    take(&sb_host.fault_tolerance, "ompi_ftmpi_enabled");
    /* Open MPI 4.1, of the same ABI, has neither this nor the classes. */
    if (take(&sb_host.is_revoked, "PMPIX_Comm_is_revoked") || !SB_CLASSES_BY_REVOKED) {
        sb_host.class_proc_failed = SB_CLASS_PROC_FAILED;
        sb_host.class_revoked = SB_CLASS_REVOKED;
    }
    take(&sb_host.test_threadcomm, "PMPIX_Comm_test_threadcomm");
    take(&sb_host.revoke, "PMPIX_Comm_revoke");
    take(&sb_host.cuda_support, "MPIX_Query_cuda_support");
    take(&sb_host.rocm_support, "MPIX_Query_rocm_support");
    take(&sb_host.ze_component, "mca_accelerator_ze_component");
    take(&sb_host.device_kind_support, "MPIX_GPU_query_support");
    take(&sb_host.opal_progress, "opal_progress");
    take(&sb_host.opal_set_yield, "opal_progress_set_yield_when_idle");
}

bool sb_host_open(void *libmpi)
{
    bool complete = true;

    library = libmpi;
#define SB_HOST(name) complete = take(&sb_host.name, "PMPI_" #name) && complete;
#define SB_HOST_OBJECT(type, name, handle) sb_host.name = handle;
#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    SB_HOST(name)                                                                                  \
    take(&sb_host.name##_c, "PMPI_" #name "_c");
#include "mpi/host.def"
    take_extras();
    return complete;
}

const char *sb_host_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    sb_host.Get_library_version(text, &length);
    return text;
}

bool sb_host_revokes(void)
{
    return sb_host.is_revoked != NULL &&
           (sb_host.fault_tolerance == NULL || *sb_host.fault_tolerance);
}

MPI_Comm sb_host_comm_like(MPI_Comm comm)
{
    MPI_Comm made = sb_host.comm_null;
    MPI_Group group;

    if (sb_host.Comm_group(comm, &group) != MPI_SUCCESS)
        return made;
    if (sb_host.Comm_create(comm, group, &made) != MPI_SUCCESS)
        made = sb_host.comm_null;
    sb_host.Group_free(&group);
    return made;
}

#define GIVEN_EQUAL(side) side->count, side->type
#define GIVEN_VARYING(side) side->counts, side->places, side->type
#define GIVEN_TYPED(side) side->counts, side->places, side->types
#define COUNTS_EQUAL given->count
#define COUNTS_VARYING given->counts
#define GIVEN_ROOTED root,
#define GIVEN_ROOTLESS
#define NO_CASE(...)

int sb_host_vector(sb_collective_t collective, const void *from, const sb_given_t *out, void *to,
                   const sb_given_t *in, int root, MPI_Comm comm)
{
    switch (collective) {
#define CASE_MESSAGE NO_CASE
#define CASE_VECTOR(enumerator, name, sends, out_how, receives, in_how, rooted)                    \
    case SB_##enumerator:                                                                          \
        return sb_host.name(from, GIVEN_##out_how(out), to, GIVEN_##in_how(in),                    \
                            GIVEN_##rooted comm);
#define CASE_REDUCTION NO_CASE
#define SB_COLLECTIVE(kind, ...) CASE_##kind(__VA_ARGS__)
#include "mpi/collectives.def"
    default:
        return MPI_ERR_INTERN;
    }
}

int sb_host_reduction(sb_collective_t collective, const void *from, void *to,
                      const sb_given_t *given, MPI_Op op, int root, MPI_Comm comm)
{
    switch (collective) {
#undef CASE_VECTOR
#undef CASE_REDUCTION
#define CASE_VECTOR NO_CASE
#define CASE_REDUCTION(enumerator, name, how, rooted)                                              \
    case SB_##enumerator:                                                                          \
        return sb_host.name(from, to, COUNTS_##how, given->type, op, GIVEN_##rooted comm);
#define SB_COLLECTIVE(kind, ...) CASE_##kind(__VA_ARGS__)
#include "mpi/collectives.def"
    default:
        return MPI_ERR_INTERN;
    }
}

_Atomic uint64_t sb_host_verdicts[SB_CALL_SITES];

/* The object in which a place is. */
typedef struct sought {
    uintptr_t place;
    bool is_host;
} sought_t;

static bool has(const struct dl_phdr_info *object, uintptr_t place)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && place - object->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

/* Plug-ins of Open MPI are mca_*.so; the other hosts have everything in their library. */
static int is_in_host(struct dl_phdr_info *object, size_t bytes, void *place)
{
    sought_t *sought = place;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash == NULL ? object->dlpi_name : slash + 1;

    (void)bytes;
    if (!has(object, sought->place))
        return 0;
    sought->is_host = strncmp(name, "mca_", 4) == 0 || has(object, (uintptr_t)sb_host.Initialized);
    return 1;
}

/* MPI_BCAST or PMPI_BCAST: MPI's own functions have small letters. */
static bool is_in_capitals(const char *symbol)
{
    const char *name = symbol + (symbol[0] == 'P');

    return strncmp(name, "MPI_", 4) == 0 && strpbrk(name, "abcdefghijklmnopqrstuvwxyz") == NULL;
}

/* Some libraries hold their Fortran bindings as well: mpi_bcast_, mpi_bcast_f08ts_,
 * MPIR_Bcast_cdesc. Where a binding has several names dladdr tells any of them. */
static bool is_binding(const char *symbol)
{
    return symbol != NULL && (strncmp(symbol, "mpi_", 4) == 0 || strncmp(symbol, "pmpi", 4) == 0 ||
                              strstr(symbol, "_cdesc") != NULL || is_in_capitals(symbol));
}

/*
 * Whether the instruction before is a call of a function by its name, as the host's own are. A
 * callback of the program that ends with a call may have jumped there: then the place is behind the
 * host's call of the callback, by an address in a register or in a structure.
 */
static bool is_behind_direct_call(uintptr_t site)
{
#if defined(__x86_64__)
    const uint8_t *code = (const uint8_t *)site;

    /* E8: to a place beside, which may lead to another object; FF 15: by an address beside. */
    return code[-5] == 0xe8 || (code[-6] == 0xff && code[-5] == 0x15);
#else
    uint32_t word;

    memcpy(&word, (const void *)(site - sizeof word), sizeof word);
    return word >> 26 == 0x25; /* BL; a call by a register is BLR */
#endif
}

/* dladdr searches all names of the object: it is asked where nothing else tells. */
bool sb_host_judge(uint64_t site)
{
    sought_t sought = {.place = (uintptr_t)site};
    Dl_info caller;

    dl_iterate_phdr(is_in_host, &sought);
    bool host = sought.is_host && is_behind_direct_call((uintptr_t)site) &&
                dladdr((const void *)(uintptr_t)site, &caller) != 0 &&
                !is_binding(caller.dli_sname);

    /* Relaxed: an entry is complete in itself. */
    atomic_store_explicit(SB_VERDICT_ON(site), site << 1 | host, memory_order_relaxed);
    return host;
}
