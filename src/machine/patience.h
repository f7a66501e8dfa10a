/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_PATIENCE_H
#define SB_MACHINE_PATIENCE_H

#include <stdint.h>

/*
 * How long a rank that has a processor of its own keeps it in a wait.
 *
 * A busy program that runs there too has the processor for milliseconds each time it is given away,
 * and what is waited for often comes in tenths of one. To keep it for as long as others would have
 * it costs at most twice what the better of the two would. But where the rank that is waited for is
 * off its processor itself, all of that is in vain, and whoever else could run has lost it. So a
 * process keeps account: what it won by waits that ended while it had kept its processor longer
 * than usual, less what it kept in vain. It does so again as long as the account is not overdrawn,
 * and a part of each loss without it is put in, so that it is tried again now and then.
 */

/* How long the wait that begins now keeps the processor: `usual` nanoseconds, or longer, up to
 * `most`. */
uint64_t sb_patience_ns(uint64_t usual, uint64_t most);

/* Gives the processor away for the first time in a wait, in which it was kept for `kept`. */
void sb_patience_ended(uint64_t kept, uint64_t usual);

/* A wait has ended after `waited`, more than `usual`, without that. */
void sb_patience_paid(uint64_t waited, uint64_t usual);

#endif
