/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOBOR_SOBOR_H
#define SOBOR_SOBOR_H

/*
 * For programs and tools that want to ask what Sobor does. The functions are in the preloaded
 * object, so a program finds them only when it runs with Sobor: ask dlsym(RTLD_DEFAULT,
 * "sobor_...") for them, and go without where it returns NULL.
 */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The name of the algorithm that served this process's last collective operation, "host" if the
 * host MPI did, or NULL before the first call. The string is never freed. Any thread may ask; with
 * several threads in MPI the answer is about the call that ended last.
 */
const char *sobor_last_algorithm(void);

#ifdef __cplusplus
}
#endif

#endif
