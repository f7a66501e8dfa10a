/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_FLAG_H
#define SB_MACHINE_SIM_FLAG_H

/* Operations on flags and counters are reported by the line of the algorithm that uses them. */

/* For timelines: the running rank begins or ends to wait for a flag. */
void sb_sim_wait_begins(const sb_flag_t *flag, uint64_t value);
sb_status_t sb_sim_wait_ends(sb_status_t status);

static inline sb_status_t sb_flag_wait_noted(sb_flag_t *flag, uint64_t value,
                                             const sb_waiter_t *waiter)
{
    sb_sim_wait_begins(flag, value);
    return sb_sim_wait_ends(sb_flag_wait(flag, value, waiter));
}

#define sb_flag_read(flag) SB_SITED(sb_flag_read(flag))
#define sb_flag_publish(flag, value) SB_SITED_VOID(sb_flag_publish(flag, value))
#define sb_flag_set_note(flag, note) SB_SITED_VOID(sb_flag_set_note(flag, note))
#define sb_flag_note(flag) SB_SITED(sb_flag_note(flag))
#define sb_flag_wait(flag, value, waiter) SB_SITED(sb_flag_wait_noted(flag, value, waiter))
#define sb_counter_add(counter, amount) SB_SITED(sb_counter_add(counter, amount))
#define sb_counter_read(counter) SB_SITED(sb_counter_read(counter))

#endif
