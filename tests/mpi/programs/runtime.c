/* SPDX-License-Identifier: BSD-3-Clause */
/* A made-up device runtime, with what Sobor looks for in CUDA's, or in HIP's of the version HIP:
 * which memory is the device's the program says itself. */
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_TYPE = 2, OWNED_MOST = 8 };

int asked;

static struct {
    uintptr_t from, to;
} owned[OWNED_MOST];
static int owned_count;

void own(const void *address, size_t bytes);

void own(const void *address, size_t bytes)
{
    owned[owned_count].from = (uintptr_t)address;
    owned[owned_count++].to = (uintptr_t)address + bytes;
}

#ifdef HIP
#define init hipInit
#define get_attribute hipPointerGetAttribute
enum { HOST = HIP < 6 ? 0 : 1, DEVICE };

int hipRuntimeGetVersion(int *version);

int hipRuntimeGetVersion(int *version)
{
    *version = HIP * 10000000 + 422803;
    return 0;
}
#else
#define init cuInit
#define get_attribute cuPointerGetAttribute
enum { HOST = 1, DEVICE };
#endif

int init(unsigned flags);
int get_attribute(void *data, int attribute, uintptr_t address);

int init(unsigned flags)
{
    return (int)flags;
}

int get_attribute(void *data, int attribute, uintptr_t address)
{
    if (attribute != MEMORY_TYPE)
        return 1;
    asked++;
    *(unsigned *)data = HOST;
    for (int i = 0; i < owned_count; i++)
        if (address >= owned[i].from && address < owned[i].to)
            *(unsigned *)data = DEVICE;
    return 0;
}
