/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/device.h"

#include "base/config.h"
#include "base/lines.h"
#include "mpi/host.h"

#include <dlfcn.h>
#include <link.h>

SB_EVERY_CALL bool sb_device_watched;

/* The runtimes of the vendors: a function that every program which uses one has loaded, and one
 * that says whose memory an address is. */
static const struct {
    const char *mark;
    const char *library;
    const char *attribute; /* NULL: there is none that needs no more than the address */
} runtimes[] = {
    {"cuInit", "libcuda.so.1", "cuPointerGetAttribute"},
    {"hipInit", "libamdhip64.so", "hipPointerGetAttribute"},
    {"zeInit", "libze_loader.so.1", NULL},
};

typedef int attribute_t(void *data, int attribute, uintptr_t address);

/* Whose memory an address is: an attribute of CUDA, which HIP has by the same number. Memory of the
 * processor is 1 for CUDA, and 0 or 1 for HIP. */
#define MEMORY_TYPE 2
#define HOST_MEMORY 1

/* Objects that the process had loaded when it was looked through; private to no thread, but every
 * thread that sees another number looks again. */
static _Atomic unsigned long long looked_at;
static _Atomic(attribute_t *) ask;
static atomic_bool present;

static int read_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
    (void)size;
    *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

/* Pairs with the release of present in runtime_is_loaded: who sees it may read ask. */
static bool is_present(void)
{
    return atomic_load_explicit(&present, memory_order_acquire);
}

/* Looks for a runtime if objects were loaded since the last time. */
static bool runtime_is_loaded(void)
{
    unsigned long long adds = 0;

    dl_iterate_phdr(read_adds, &adds);
    /* Pairs with the release of looked_at below: whoever sees the number sees what was found. */
    if (adds == atomic_load_explicit(&looked_at, memory_order_acquire) || is_present())
        return is_present();
    for (size_t i = 0; i < SB_COUNT_OF(runtimes); i++) {
        void *handle = dlopen(runtimes[i].library, RTLD_LAZY | RTLD_NOLOAD);
        void *scope = handle != NULL ? handle : RTLD_DEFAULT;
        if (dlsym(scope, runtimes[i].mark) != NULL) {
            if (runtimes[i].attribute != NULL)
                atomic_store_explicit(&ask,
                                      (attribute_t *)(uintptr_t)dlsym(scope, runtimes[i].attribute),
                                      memory_order_relaxed);
            atomic_store_explicit(&present, true, memory_order_release);
        }
        if (handle != NULL)
            dlclose(handle);
    }
    atomic_store_explicit(&looked_at, adds, memory_order_release);
    return is_present();
}

#if defined(SB_ABI_OMPI40)
static bool host_supports_devices(void)
{
    return sb_host.device_support != NULL && sb_host.device_support() != 0;
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
    return sb_device_watched && runtime_is_loaded();
}

bool sb_device_may_hold(const void *address)
{
    unsigned kind = 0;

    if (!runtime_is_loaded())
        return false;
    attribute_t *asked = atomic_load_explicit(&ask, memory_order_relaxed);
    return asked == NULL ||
           (asked(&kind, MEMORY_TYPE, (uintptr_t)address) == 0 && kind > HOST_MEMORY);
}
