/* SPDX-License-Identifier: BSD-3-Clause */
/* A made-up device runtime, with what Sobor looks for in CUDA's: which memory is the device's the
 * program says itself. */
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_TYPE = 2, HOST = 1, DEVICE = 2, OWNED_MOST = 8 };

int asked;

static struct {
    uintptr_t from, to;
} owned[OWNED_MOST];
static int owned_count;

void own(const void *address, size_t bytes);
int cuInit(unsigned flags);
int cuPointerGetAttribute(void *data, int attribute, uintptr_t address);

void own(const void *address, size_t bytes)
{
    owned[owned_count].from = (uintptr_t)address;
    owned[owned_count++].to = (uintptr_t)address + bytes;
}

int cuInit(unsigned flags)
{
    return (int)flags;
}

int cuPointerGetAttribute(void *data, int attribute, uintptr_t address)
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
