/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SUMMARY_H
#define SB_MPI_SUMMARY_H

/* Where SOBOR_SUMMARY names a folder, rank 0 of MPI_COMM_WORLD writes one JSON file into it: what
 * became of its calls. Before the host's MPI_Finalize. Told if it cannot be written. */
void sb_summary_write(void);

#endif
