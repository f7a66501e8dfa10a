/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_STUB_COMPLAIN_H
#define SB_STUB_COMPLAIN_H

/* One line on standard error: what, and the detail behind a colon if it is not empty. */
__attribute__((visibility("hidden"))) void sb_stub_complain(const char *what, const char *detail);

/* The same of what all ranks of a node find alike: said by the first of them. */
__attribute__((visibility("hidden"))) void sb_stub_complain_once(const char *what,
                                                                 const char *detail);

#endif
