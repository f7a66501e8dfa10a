/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/device.h"

#include "base/config.h"
#include "base/lines.h"
#include "mpi/host.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

SB_EVERY_CALL bool sb_device_watched;

/* The runtimes of the vendors: how the names of their libraries begin, a function that every
 * program which uses one has loaded, and one that says whose memory an address is. */
static const struct {
    const char *library;
    const char *mark;
    const char *attribute; /* NULL: there is none that needs no more than the address */
    const char *version;   /* NULL: all versions count alike */
} runtimes[] = {
    {"libcuda.so", "cuInit", "cuPointerGetAttribute", NULL},
    {"libamdhip64.so", "hipInit", "hipPointerGetAttribute", "hipRuntimeGetVersion"},
    {"libze_loader.so", "zeInit", NULL, NULL},
};

#define RUNTIMES SB_COUNT_OF(runtimes)

typedef int attribute_t(void *data, int attribute, uintptr_t address);
typedef int version_t(int *version);

/* Whose memory an address is: an attribute of CUDA, which HIP has by the same number. Memory of the
 * processor is 1, what is larger is a device's, or may be. HIP counted from 0 before its version 6,
 * so a device's was 1. */
#define MEMORY_TYPE 2
#define HOST_MEMORY 1
#define HIP_COUNTS_LIKE_CUDA 60000000

/* Objects that the process had loaded when it was looked through; private to no thread, but every
 * thread that sees another number looks again. */
static _Atomic unsigned long long looked_at;
static _Atomic(attribute_t *) ask[RUNTIMES];
static _Atomic(version_t *) ask_version[RUNTIMES];
static _Atomic uint32_t present; /* a bit for each runtime */

static int read_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
    (void)size;
    *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

/* Objects that the process has loaded so far. */
static unsigned long long count_loaded(void)
{
    unsigned long long adds = 0;

    dl_iterate_phdr(read_adds, &adds);
    return adds;
}

/* A loaded object by the beginning of its file's name. */
typedef struct object {
    const char *begins;
    char path[1024]; /* one that is longer is not found: what is global is all the same */
} object_t;

static int is_wanted(struct dl_phdr_info *info, size_t size, void *wanted)
{
    object_t *object = wanted;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash == NULL ? info->dlpi_name : slash + 1;
    size_t length = strlen(info->dlpi_name);

    (void)size;
    if (strncmp(name, object->begins, strlen(object->begins)) != 0 || length >= sizeof object->path)
        return 0;
    memcpy(object->path, info->dlpi_name, length + 1);
    return 1;
}

/* Pairs with the release of present in look_for: who sees a bit may read what is asked. */
static uint32_t are_present(void)
{
    return atomic_load_explicit(&present, memory_order_acquire);
}

/* What is found stays loaded, as it will be asked. */
static void look_for(size_t i)
{
    object_t object = {.begins = runtimes[i].library};
    void *handle = dl_iterate_phdr(is_wanted, &object) != 0
                       ? dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD)
                       : NULL;
    void *scope = handle != NULL ? handle : RTLD_DEFAULT;

    if (dlsym(scope, runtimes[i].mark) == NULL) {
        if (handle != NULL)
            dlclose(handle);
        return;
    }
    if (runtimes[i].attribute != NULL)
        atomic_store_explicit(&ask[i],
                              (attribute_t *)(uintptr_t)dlsym(scope, runtimes[i].attribute),
                              memory_order_relaxed);
    if (runtimes[i].version != NULL)
        atomic_store_explicit(&ask_version[i],
                              (version_t *)(uintptr_t)dlsym(scope, runtimes[i].version),
                              memory_order_relaxed);
    atomic_fetch_or_explicit(&present, 1u << i, memory_order_release);
}

/* The runtimes that are loaded; looks for them if objects were loaded since the last time. */
static uint32_t loaded_runtimes(void)
{
    unsigned long long adds = count_loaded();

    /* Pairs with the release of looked_at below: whoever sees the number sees what was found. */
    if (adds == atomic_load_explicit(&looked_at, memory_order_acquire))
        return are_present();
    for (size_t i = 0; i < RUNTIMES; i++) {
        if ((are_present() >> i & 1) == 0)
            look_for(i);
    }
    atomic_store_explicit(&looked_at, adds, memory_order_release);
    return are_present();
}

#if defined(SB_ABI_OMPI40)
/* What this host is loaded with where it can use devices that it does not answer for: Level Zero's
 * and, before 5.0, those of ROCm. To look through some hundred objects takes longer than all else
 * that begins a team, so they are looked through once they are more. */
static bool has_component(void)
{
    static const char *const components[] = {"mca_accelerator_ze.", "libuct_ze.", "libuct_rocm."};
    /* As looked_at; the lowest bit: whether there was one. 0: nobody has looked. */
    static _Atomic unsigned long long found;
    unsigned long long adds = count_loaded(), known;

    /* Relaxed: there is nothing but the word itself. */
    known = atomic_load_explicit(&found, memory_order_relaxed);
    if (known >> 1 == adds)
        return (known & 1) != 0;
    bool has = sb_host.ze_component != NULL;
    for (size_t i = 0; i < SB_COUNT_OF(components) && !has; i++) {
        object_t component = {.begins = components[i]};
        has = dl_iterate_phdr(is_wanted, &component) != 0;
    }
    atomic_store_explicit(&found, adds << 1 | has, memory_order_relaxed);
    return has;
}

static bool host_supports_devices(void)
{
    return (sb_host.cuda_support != NULL && sb_host.cuda_support() != 0) ||
           (sb_host.rocm_support != NULL && sb_host.rocm_support() != 0) || has_component();
}
#else
/* These hosts answer for each kind of device: CUDA, Level Zero, HIP. */
static bool host_supports_devices(void)
{
    int supported = sb_host.device_kind_support == NULL;

    for (int kind = 0; !supported && kind < 3; kind++) {
        if (sb_host.device_kind_support(kind, &supported) != MPI_SUCCESS)
            supported = 0;
    }
    return supported != 0;
}
#endif

uint32_t sb_device_objection(void)
{
    switch (sb_config()->device.number) {
    case SB_DEVICE_NEVER:
        return 0;
    case SB_DEVICE_ALWAYS:
        return 1;
    case SB_DEVICE_CHECK:
        sb_device_watched = true;
        break;
    default:
        sb_device_watched = host_supports_devices();
        break;
    }
    return sb_device_watched && loaded_runtimes() != 0;
}

static bool is_device(size_t i, unsigned kind)
{
    version_t *asked = atomic_load_explicit(&ask_version[i], memory_order_relaxed);
    int version = 0;

    if (kind != HOST_MEMORY || asked == NULL)
        return kind > HOST_MEMORY;
    return asked(&version) != 0 || version < HIP_COUNTS_LIKE_CUDA;
}

static bool holds(size_t i, const void *address)
{
    attribute_t *asked = atomic_load_explicit(&ask[i], memory_order_relaxed);
    unsigned kind = 0;

    return asked == NULL ||
           (asked(&kind, MEMORY_TYPE, (uintptr_t)address) == 0 && is_device(i, kind));
}

bool sb_device_may_hold(const void *address)
{
    uint32_t there = loaded_runtimes();

    for (size_t i = 0; i < RUNTIMES; i++) {
        if ((there >> i & 1) != 0 && holds(i, address))
            return true;
    }
    return false;
}
