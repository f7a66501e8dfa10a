/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/patience.h"

#include "machine/machine.h"

/* Of how long others had the processor, each time counts so much for what is expected. */
#define LENT_WEIGHT 8

/* One in so many losses without patience would pay for one try in vain. */
#define LOSSES_PER_TRY 32

/* What is won counts for so many tries in vain at most: other programs come and go. */
#define MOST_TRIES 8

/* Relaxed all: nothing but a patience follows from these, and threads may spoil each other's. */
typedef struct account {
    sb_word64_t lent; /* how long others have the processor when it is given away; 0: not known */
    sb_word64_t balance; /* nanoseconds, a two's complement */
} account_t;

SB_PROCESS_STATE(account_t, account, {0, 0})

static uint64_t lent(void)
{
    return sb_load64(&account()->lent, SB_RELAXED);
}

static int64_t balance(void)
{
    return (int64_t)sb_load64(&account()->balance, SB_RELAXED);
}

static void put_in(int64_t nanoseconds)
{
    int64_t most = (int64_t)(MOST_TRIES * lent()), sum = balance() + nanoseconds;

    sb_store64(&account()->balance, (uint64_t)(sum < most ? sum : most), SB_RELAXED);
}

uint64_t sb_patience_ns(uint64_t usual, uint64_t most)
{
    return balance() < 0 ? usual : sb_max(usual, sb_min(lent(), most));
}

void sb_patience_ended(uint64_t kept, uint64_t usual)
{
    uint64_t given = sb_now_ns(), before = lent();

    sb_give_processor();
    uint64_t took = sb_now_ns() - given;
    uint64_t expected = before == 0 ? took : before - before / LENT_WEIGHT + took / LENT_WEIGHT;
    sb_store64(&account()->lent, expected, SB_RELAXED);
    if (balance() < 0)
        put_in((int64_t)(took / LOSSES_PER_TRY));
    else if (kept > usual)
        put_in((int64_t)usual - (int64_t)kept);
}

void sb_patience_paid(uint64_t waited, uint64_t usual)
{
    put_in((int64_t)(usual + lent()) - (int64_t)waited);
}
