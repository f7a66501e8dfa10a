/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_PRIMITIVE_H
#define SB_MACHINE_SIM_PRIMITIVE_H

/*
 * The primitives of the simulated machine: functions of the engine. Each use notes the line of
 * source that it stands in; within an operation that has noted its own line, such as a publish,
 * that line stays.
 */

#include "machine/sim/site.h"

/* Where a rank is: what reports name by `site`, of things that nest the outermost. */
typedef struct sb_sim_spot {
    const sb_site_t *site;
    uint32_t depth;
} sb_sim_spot_t;

/* Of the running rank. */
extern sb_sim_spot_t *sb_sim_spot;

static inline void sb_sim_enter(const sb_site_t *site)
{
    if (sb_sim_spot->depth++ == 0)
        sb_sim_spot->site = site;
}

static inline void sb_sim_leave(void)
{
    sb_sim_spot->depth--;
}

#define SB_SITED(call)                                                                             \
    __extension__({                                                                                \
        static const sb_site_t sb_here = {__FILE__, __LINE__};                                     \
        sb_sim_enter(&sb_here);                                                                    \
        __auto_type sb_result = (call);                                                            \
        sb_sim_leave();                                                                            \
        sb_result;                                                                                 \
    })
#define SB_SITED_VOID(call)                                                                        \
    __extension__({                                                                                \
        static const sb_site_t sb_here = {__FILE__, __LINE__};                                     \
        sb_sim_enter(&sb_here);                                                                    \
        (call);                                                                                    \
        sb_sim_leave();                                                                            \
    })

uint64_t sb_sim_load64(const sb_word64_t *word, sb_order_t order);
void sb_sim_store64(sb_word64_t *word, uint64_t value, sb_order_t order);
uint64_t sb_sim_add64(sb_word64_t *word, uint64_t amount, sb_order_t order);
uint32_t sb_sim_load32(const sb_word32_t *word, sb_order_t order);
void sb_sim_store32(sb_word32_t *word, uint32_t value, sb_order_t order);
uint32_t sb_sim_add32(sb_word32_t *word, uint32_t amount, sb_order_t order);
uint32_t sb_sim_note_read(const uint32_t *note);
void sb_sim_note_write(uint32_t *note, uint32_t value);
void sb_sim_fetch_ahead(const void *from, size_t bytes);
void sb_sim_fetch_to_write(const void *to, size_t bytes);
void sb_sim_copy(void *to, const void *from, size_t bytes);
void sb_sim_copy_streaming(void *to, const void *from, size_t bytes);
uint64_t sb_sim_process_self(void);
bool sb_sim_pull(uint64_t process, void *to, uint64_t from, size_t bytes);
bool sb_sim_push(uint64_t process, uint64_t to, const void *from, size_t bytes);
const char *sb_sim_reach_by_loads(uint64_t process, uint64_t address, bool told);
bool sb_sim_shares(const void *base);
const uint64_t *sb_sim_shared_number(void);
sb_status_t sb_sim_combine(const sb_operator_t *operation, void *to, const void *const from[],
                           uint32_t n, size_t bytes);
uint64_t sb_sim_spin(const sb_word64_t *word, uint64_t value, uint32_t looks, bool paused);
void sb_sim_fence_all(void);
void sb_sim_futex_wait(const uint32_t *word, uint32_t expected, uint64_t limit_ns);
void sb_sim_futex_wake(const uint32_t *word);
void sb_sim_pause(void);
void sb_sim_handle_message(void);
void sb_sim_give_processor(void);
void sb_sim_until_mail(void);
uint64_t sb_sim_now_ns(void);

#define sb_load64(word, order) SB_SITED(sb_sim_load64(word, order))
#define sb_store64(word, value, order) SB_SITED_VOID(sb_sim_store64(word, value, order))
#define sb_add64(word, amount, order) SB_SITED(sb_sim_add64(word, amount, order))
#define sb_load32(word, order) SB_SITED(sb_sim_load32(word, order))
#define sb_store32(word, value, order) SB_SITED_VOID(sb_sim_store32(word, value, order))
#define sb_add32(word, amount, order) SB_SITED(sb_sim_add32(word, amount, order))
#define sb_note_read(note) SB_SITED(sb_sim_note_read(note))
#define sb_note_write(note, value) SB_SITED_VOID(sb_sim_note_write(note, value))
#define sb_fetch_ahead(from, bytes) sb_sim_fetch_ahead(from, bytes)
#define sb_fetch_to_write(to, bytes) sb_sim_fetch_to_write(to, bytes)
/* A rank has its private memory near. */
#define sb_fetch_until(word, value, read, write, bytes)                                            \
    ((void)(word), (void)(value), (void)(read), (void)(write), (void)(bytes))
#define sb_copy(to, from, bytes) SB_SITED_VOID(sb_sim_copy(to, from, bytes))
#define sb_copy_few(to, from, bytes) sb_copy(to, from, bytes)
#define sb_copy_words(to, from, bytes) sb_copy(to, from, bytes)
#define sb_copy_shared(to, from, bytes) sb_copy(to, from, bytes)
#define sb_copy_far(to, from, bytes) sb_copy(to, from, bytes)
#define sb_copy_fresh(to, from, bytes, whole, far)                                                 \
    ((void)(whole), (void)(far), sb_copy(to, from, bytes))
#define sb_copy_streaming(to, from, bytes) SB_SITED_VOID(sb_sim_copy_streaming(to, from, bytes))
#define sb_page_faults() UINT64_C(0)
#define sb_process_self() sb_sim_process_self()
#define sb_pull(process, to, from, bytes) SB_SITED(sb_sim_pull(process, to, from, bytes))
#define sb_push(process, to, from, bytes) SB_SITED(sb_sim_push(process, to, from, bytes))
#define sb_reach(process, address, bytes, told)                                                    \
    SB_SITED(((void)(bytes), sb_sim_reach_by_loads(process, address, told)))
#define sb_shares(base, bytes) SB_SITED(((void)(bytes), sb_sim_shares(base)))
#define sb_may_share(base, bytes) sb_shares(base, bytes)
#define sb_shared_number() SB_SITED(sb_sim_shared_number())
#define sb_combine(operation, to, from, n, bytes)                                                  \
    SB_SITED(sb_sim_combine(operation, to, from, n, bytes))
#define sb_spin(word, value, looks, paused) SB_SITED(sb_sim_spin(word, value, looks, paused))
#define sb_fence_all() SB_SITED_VOID(sb_sim_fence_all())
#define sb_futex_wait(word, expected, limit) SB_SITED_VOID(sb_sim_futex_wait(word, expected, limit))
#define sb_futex_wake(word) SB_SITED_VOID(sb_sim_futex_wake(word))
#define sb_pause() sb_sim_pause()
#define sb_give_processor() sb_sim_give_processor()
/* Nothing else runs there. */
#define sb_lend_processor() sb_give_processor()
#define sb_patience_ns(usual) (usual)
#define sb_patience_among(processors) ((void)(processors))
#define sb_until_mail() sb_sim_until_mail()
#define sb_handle_message() sb_sim_handle_message()
#define sb_now_ns() sb_sim_now_ns()
#define sb_machine_start() ((void)0)
/* Here the line of a flag is looked at: its number of sleepers is exact. */
#define sb_anyone_sleeps() true
#define sb_count_sleeper(by) ((void)0)
#define sb_sleepers_unknown() ((void)0)
/* A rank executes its source line by line. */
#define sb_keep_order() ((void)0)
#define sb_order_streamed() ((void)0)

/* The state of the running rank that stands for a process's own; made as a copy of `start`. */
void *sb_sim_process_state(const void *start, size_t bytes);

#define SB_PROCESS_STATE(type, name, ...)                                                          \
    static type *name(void)                                                                        \
    {                                                                                              \
        static const type start = __VA_ARGS__;                                                     \
        return sb_sim_process_state(&start, sizeof start);                                         \
    }

#endif
