/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_REAL_PRIMITIVE_H
#define SB_MACHINE_REAL_PRIMITIVE_H

/* The real machine: C11 atomics on memory shared between processes, and the kernel's futex. */

#include "base/heap.h"
#include "base/instructions.h"
#include "machine/real/patience.h"

#include <string.h>
#include <time.h>

/* The order is a constant at each use, so each of these is one instruction or two. */
static inline uint64_t sb_load64(const sb_word64_t *word, sb_order_t order)
{
    return atomic_load_explicit(word, (memory_order)order);
}

static inline void sb_store64(sb_word64_t *word, uint64_t value, sb_order_t order)
{
    atomic_store_explicit(word, value, (memory_order)order);
}

static inline uint64_t sb_add64(sb_word64_t *word, uint64_t amount, sb_order_t order)
{
    return atomic_fetch_add_explicit(word, amount, (memory_order)order);
}

static inline uint32_t sb_load32(const sb_word32_t *word, sb_order_t order)
{
    return atomic_load_explicit(word, (memory_order)order);
}

static inline void sb_store32(sb_word32_t *word, uint32_t value, sb_order_t order)
{
    atomic_store_explicit(word, value, (memory_order)order);
}

static inline uint32_t sb_add32(sb_word32_t *word, uint32_t amount, sb_order_t order)
{
    return atomic_fetch_add_explicit(word, amount, (memory_order)order);
}

static inline uint32_t sb_note_read(const uint32_t *note)
{
    return *note;
}

static inline void sb_note_write(uint32_t *note, uint32_t value)
{
    *note = value;
}

/* The empty statement keeps what does nothing but fetch from being left out by compilers. */
static inline void sb_fetch_ahead(const void *from, size_t bytes)
{
    __asm__ __volatile__("");
    for (size_t at = 0; at < bytes; at += SB_LINE)
        __builtin_prefetch((const char *)from + at);
}

/* Processors without this instruction pass over it. */
static inline void sb_fetch_to_write(void *to, size_t bytes)
{
    __asm__ __volatile__("");
    for (size_t at = 0; at < bytes; at += SB_LINE) {
#if defined(__x86_64__)
        __asm__ __volatile__("prefetchw %0" ::"m"(((char *)to)[at]));
#else
        __builtin_prefetch((char *)to + at, 1);
#endif
    }
}

/* So much is asked for between two looks. They are relaxed: nothing is read for what they see, and
 * the wait that follows acquires. */
#define SB_FETCH_STEP ((size_t)4 * SB_LINE)

static inline void sb_fetch_until(const sb_word64_t *word, uint64_t value, const void *read,
                                  void *write, size_t bytes)
{
    for (size_t at = 0; at < bytes && sb_load64(word, SB_RELAXED) < value; at += SB_FETCH_STEP) {
        size_t some = bytes - at < SB_FETCH_STEP ? bytes - at : SB_FETCH_STEP;
        if (read != NULL)
            sb_fetch_ahead((const char *)read + at, some);
        sb_fetch_to_write((char *)write + at, some);
    }
}

/* From here on the library's memcpy may turn to string instructions: what is best was measured. */
#define SB_COPY_LONG ((size_t)2048)

typedef void sb_copy_t(void *restrict to, const void *restrict from, size_t bytes);

/* Takes the loop for this set from now on. False: this processor or build does not have it. */
bool sb_copy_use(sb_instructions_t set);

/* For each class of sizes takes the best loop or the library's memcpy, by a short measurement. */
void sb_copy_start(void);

/* Of bytes less than that, whose target goes over the end of a page: copy.c says why apart. */
void sb_copy_over_page(void *restrict to, const void *restrict from, size_t bytes);

/* Of SB_COPY_LONG bytes and more. */
void sb_copy_long(void *restrict to, const void *restrict from, size_t bytes);
void sb_copy_shared_long(void *restrict to, const void *restrict from, size_t bytes);

static inline bool sb_copy_goes_over_page(const void *to, size_t bytes)
{
    return (((uintptr_t)to + bytes - 1) ^ (uintptr_t)to) >= SB_PAGE;
}

/* Of up to SB_COPY_FEW bytes: their two halves, which may overlap. */
static inline void sb_copy_few(void *restrict to, const void *restrict from, size_t bytes)
{
#define SB_COPY_HALVES(half)                                                                       \
    do {                                                                                           \
        memcpy(to, from, half);                                                                    \
        memcpy((char *)to + bytes - (half), (const char *)from + bytes - (half), half);            \
    } while (0)
    if (bytes >= 32)
        SB_COPY_HALVES(32);
    else if (bytes >= 16)
        SB_COPY_HALVES(16);
    else if (bytes >= 8)
        SB_COPY_HALVES(8);
    else if (bytes >= 4)
        SB_COPY_HALVES(4);
    else if (bytes >= 2)
        SB_COPY_HALVES(2);
    else if (bytes == 1)
        memcpy(to, from, 1);
#undef SB_COPY_HALVES
}

/*
 * Of less than SB_COPY_LONG. For most it is memcpy and three instructions that jump nowhere: 256
 * bytes take no longer than some twenty. Of a number that is not known but has a small bound the
 * compiler would make a loop that copies byte by byte.
 */
static inline void sb_copy_short(void *restrict to, const void *restrict from, size_t bytes)
{
    if (!__builtin_constant_p(bytes)) {
        if (bytes <= SB_COPY_FEW) {
            sb_copy_few(to, from, bytes);
            return;
        }
        __asm__("" : "+r"(bytes));
    }
    if (SB_UNLIKELY(sb_copy_goes_over_page(to, bytes)))
        sb_copy_over_page(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

static inline void sb_copy(void *restrict to, const void *restrict from, size_t bytes)
{
    if (bytes < SB_COPY_LONG)
        sb_copy_short(to, from, bytes);
    else
        sb_copy_long(to, from, bytes);
}

/*
 * Whole words, read one by one as they were written. A processor hands a store that waits for its
 * line on to a load of no more than its bytes; a longer load waits for that store, and so for all
 * lines that others read and that were written before it.
 */
static inline void sb_copy_words(void *restrict to, const void *restrict from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] = ((const volatile uint64_t *)from)[i];
}

static inline void sb_copy_shared(void *restrict to, const void *restrict from, size_t bytes)
{
    if (bytes < SB_COPY_LONG)
        sb_copy_short(to, from, bytes);
    else
        sb_copy_shared_long(to, from, bytes);
}

/* From here on it may pay to ask for lines of several places at once. */
#define SB_COPY_FAR ((size_t)32 << 10)

/* Of SB_COPY_LONG bytes and more. `usual`: the copy that does not. */
void sb_copy_far_long(void *restrict to, const void *restrict from, size_t bytes, sb_copy_t *usual);

static inline void sb_copy_far(void *restrict to, const void *restrict from, size_t bytes)
{
    if (bytes < SB_COPY_FAR)
        sb_copy(to, from, bytes);
    else
        sb_copy_far_long(to, from, bytes, sb_copy_shared_long);
}

/*
 * A message of another program, which chose where it and its target lie: that may be in the trap of
 * string instructions (copy.c). So whatever is long enough for those finds out which way is faster.
 */
static inline void sb_copy_message(void *restrict to, const void *restrict from, size_t bytes,
                                   sb_copy_t *usual)
{
    if (bytes < SB_COPY_LONG)
        sb_copy_short(to, from, bytes);
    else
        sb_copy_far_long(to, from, bytes, usual);
}

void sb_copy_fresh(void *restrict to, const void *restrict from, size_t bytes, size_t whole,
                   bool far);

/* What it stored is ordered before the stores that follow. */
void sb_copy_streaming(void *restrict to, const void *restrict from, size_t bytes);

/* The same of a source that comes from memory or another core, most likely: asked for ahead. */
void sb_copy_streaming_far(void *restrict to, const void *restrict from, size_t bytes);

uint64_t sb_page_faults(void);
uint64_t sb_process_self(void);
bool sb_pull(uint64_t process, void *to, uint64_t from, size_t bytes);
bool sb_push(uint64_t process, uint64_t to, const void *from, size_t bytes);

/* Of the preloaded object with the heap; NULL: there is none. Set once, before the first team. */
extern const sb_heap_t *sb_heap;

static inline const char *sb_reach(uint64_t process, uint64_t address, size_t bytes, bool told)
{
    return SB_LIKELY(sb_heap == NULL) ? NULL : sb_heap->reach((int)process, address, bytes, told);
}

static inline bool sb_shares(const void *base, size_t bytes)
{
    return SB_UNLIKELY(sb_heap != NULL) && sb_heap->shares(base, bytes);
}

static inline bool sb_may_share(const void *base, size_t bytes)
{
    return SB_UNLIKELY(sb_heap != NULL) && sb_heap->may_share(base, bytes);
}

static inline const uint64_t *sb_shared_number(void)
{
    return sb_heap == NULL ? NULL : sb_heap->number();
}

static inline sb_status_t sb_combine(const sb_operator_t *combination, void *to,
                                     const void *const from[], uint32_t n, size_t bytes)
{
    return combination->fold(combination, to, from, n, bytes);
}

static inline void sb_keep_order(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

/* Stores past the caches are not ordered by a release, and programs may leave no fence behind them.
 */
static inline void sb_order_streamed(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

static inline void sb_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

/* Only looking tells. */
#define sb_until_mail() ((void)0)

/* Baselines show what messages cost at least. */
#define sb_handle_message() ((void)0)

static inline uint64_t sb_spin(const sb_word64_t *word, uint64_t value, uint32_t looks, bool paused)
{
    uint64_t seen = 0;

    for (uint32_t i = 0; i < looks; i++) {
        seen = sb_load64(word, SB_ACQUIRE);
        if (seen >= value)
            break;
        if (paused)
            sb_pause();
    }
    return seen;
}

/*
 * How many ranks of the job sleep: where its ranks have memory in common, a word of that; else a
 * word that is never 0. A publisher reads it in place of the flag's own line, which its reader may
 * have taken away by then. Relaxed: another thread may make the first team with outsiders, and only
 * that team's flags have to be published by the new word, which its set-up comes before.
 */
extern sb_word32_t *_Atomic sb_sleepers;

/* From now on this process counts its sleeps there, and looks there for others'. */
void sb_sleepers_share(sb_word32_t *word);

/* From now on it looks at each flag: some that it publishes are for sleepers counted elsewhere. */
void sb_sleepers_unknown(void);

/* This process is in a wait in which it sleeps (1), or that has ended (-1). */
void sb_count_sleeper(int by);

/* False: nobody who may wait for a flag of this process sleeps. */
static inline bool sb_anyone_sleeps(void)
{
    /* Relaxed: see "Waking a sleeper" in flag.h for what orders it after the store of the flag. */
    sb_word32_t *word = atomic_load_explicit(&sb_sleepers, memory_order_relaxed);
    return atomic_load_explicit(word, memory_order_relaxed) != 0;
}

void sb_fence_all(void);
void sb_futex_wait(uint32_t *word, uint32_t expected, uint64_t limit_ns);
void sb_futex_wake(uint32_t *word);
void sb_give_processor(void);
static inline uint64_t sb_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
void sb_machine_start(void);

#define SB_PROCESS_STATE(type, name, ...)                                                          \
    static type *name(void)                                                                        \
    {                                                                                              \
        static type state = __VA_ARGS__;                                                           \
        return &state;                                                                             \
    }

#define SB_SITED(call) (call)
#define SB_SITED_VOID(call) (call)

#endif
