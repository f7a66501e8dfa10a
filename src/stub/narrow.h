/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_STUB_NARROW_H
#define SB_STUB_NARROW_H

/*
 * Where no back end was loaded: what stands in for the host's MPI_X_c that it lacks, by its name
 * without MPI_, such as "Bcast_c". This object exports it, and language bindings that find a
 * function take no other. NULL: it is no such function, or the host has no MPI_X either. One thread
 * at a time.
 */
__attribute__((visibility("hidden"))) void *sb_stub_narrow(void *libmpi, const char *name);

#endif
