/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_MPI_NAME_H
#define SB_BASE_MPI_NAME_H

#include <stdio.h>
#include <string.h>

/*
 * What an MPI is called, from what MPI_Get_library_version says: "Open MPI v4.1.4, package: ..."
 * becomes "Open MPI 4.1.4", and so on for the others. In a header: the bench is linked with nothing
 * of the library.
 */
static inline void sb_mpi_name(const char *text, char *name, size_t size)
{
    int part[2] = {0, 0};
    const char *start = text + strcspn(text, "0123456789");
    size_t number = strspn(start, "0123456789.");

    if (strncmp(text, "Open MPI", 8) == 0)
        snprintf(name, size, "Open MPI %.*s", (int)number, start);
    else if (strncmp(text, "MPICH", 5) == 0)
        snprintf(name, size, "MPICH %.*s", (int)number, start);
    else if (strncmp(text, "Intel", 5) == 0 && sscanf(start, "%d.%d", &part[0], &part[1]) == 2)
        snprintf(name, size, "Intel MPI %d.%d", part[0], part[1]);
    else
        snprintf(name, size, "%.*s", (int)strcspn(text, ",\n"), text);
}

#endif
