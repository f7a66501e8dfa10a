/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/device.h"

#include "base/config.h"
#include "mpi/host.h"

#include <dlfcn.h>

/* A function of each vendor's runtime that every program which uses it has loaded. */
static bool runtime_is_loaded(void)
{
    static const char *const marks[] = {"cuInit", "hipInit", "zeInit"};
    static const char *const libraries[] = {"libcuda.so.1", "libamdhip64.so", "libze_loader.so.1"};

    for (size_t i = 0; i < SB_COUNT_OF(marks); i++) {
        void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL)
            dlclose(handle);
        if (handle != NULL || dlsym(RTLD_DEFAULT, marks[i]) != NULL)
            return true;
    }
    return false;
}

#if defined(SB_ABI_OMPI40)
static bool host_supports_devices(void)
{
    return sb_host.device_support != NULL && sb_host.device_support() != 0;
}
#else
/* These hosts answer for each kind of device, and whether they were built for it is not all: asking
 * for the runtime is what tells. */
static bool host_supports_devices(void)
{
    return true;
}
#endif

uint32_t sb_device_objection(void)
{
    switch (sb_config()->device.number) {
    case SB_DEVICE_NEVER:
        return 0;
    case SB_DEVICE_ALWAYS:
        return 1;
    default:
        return host_supports_devices() && runtime_is_loaded();
    }
}
