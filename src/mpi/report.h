/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_REPORT_H
#define SB_MPI_REPORT_H

#include "mpi/comm.h"

/*
 * What SOBOR_VERBOSE reports: one line for each communicator, from its rank 0, in the order in
 * which they ended, at MPI_Finalize (or, without it, at the end of the process).
 */

/* Whether calls are timed for the report. */
bool sb_report_wanted(void);

/* A team was made: one line at SOBOR_VERBOSE=2. */
void sb_report_team(sb_comm_t *comm);

/* The communicator is about to be freed: its name can still be asked for. */
void sb_report_name(sb_comm_t *comm);

/* The communicator has ended: keeps its line. */
void sb_report_end(sb_comm_t *comm);

/* Prints all lines; communicators still in use included. Once. */
void sb_report_print(void);

#endif
