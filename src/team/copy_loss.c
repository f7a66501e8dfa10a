/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/copy_loss.h"

#include "base/config.h"

/* One message is charged at most so many times what it takes as it usually goes: a rank that was
 * off its processor says nothing of the mode. */
#define CHARGED_MOST 2

/* What is known of a mode for the messages of a class. */
typedef struct prospect {
    uint64_t ns;   /* of one message, as its class keeps it; 0: nothing is known */
    uint64_t loss; /* of a trial */
} prospect_t;

bool sb_copy_is_steady(const sb_copy_policy_t *policy, uint8_t mode, const sb_copy_choice_t *choice)
{
    bool loads = choice->loads && sb_copy_policy_is_loaded(policy, mode);

    return !loads && (policy->mode[mode] == SB_COPY_PULLED || policy->mode[mode] == SB_COPY_ANY);
}

/* By what was found in the class `by` of shorter ones: in that both the bytes and the usual mode's
 * times lead there, the shorter counts. A trial loses by as much more as each of its messages. */
static prospect_t prospect_by(const sb_copy_policy_t *policy, const sb_copy_class_t *class,
                              const sb_copy_class_t *by, uint8_t usual, uint8_t mode)
{
    uint64_t ns = by->ns[mode], floor = sb_min(policy->floor[mode], ns);
    uint64_t now = class->ns[usual], before = by->ns[usual];
    prospect_t found = {.ns = sb_min(floor + ((ns - floor) << (class - by)), ns * now / before)};

    if (ns > before && found.ns > now)
        found.loss = by->loss[mode] * (found.ns - now) / (ns - before);
    return found;
}

/*
 * Of one that was not tried yet: by the longest that it was tried with, but of the kernel's copies
 * by whichever of them promises most. One trial that something else ran in would put them off for
 * all longer ones, and they do not get worse where caches end.
 */
static prospect_t prospect_of(const sb_copy_policy_t *policy, const sb_copy_choice_t *choice,
                              uint8_t usual, uint8_t mode)
{
    const sb_copy_class_t *first = policy->of[choice->again];
    const sb_copy_class_t *class = first + sb_copy_class(choice->bytes), *by = class;
    prospect_t best = {class->ns[mode], class->loss[mode]};
    bool tried = best.ns > 0, steady = sb_copy_is_steady(policy, mode, choice);

    while (!tried && by-- > first && (best.ns == 0 || steady)) {
        bool proven = mode == SB_COPY_SAFE || by->proven[mode];
        if (!proven || by->ns[mode] == 0 || by->ns[usual] == 0)
            continue;
        prospect_t found = prospect_by(policy, class, by, usual, mode);
        found.loss = sb_copy_expected(choice->bytes, found.loss);
        if (best.ns == 0 || found.ns < best.ns)
            best = found;
    }
    return best;
}

bool sb_copy_may_lose(const sb_copy_policy_t *policy, const sb_copy_choice_t *choice, uint8_t usual,
                      uint8_t mode, uint32_t messages)
{
    const sb_copy_class_t *class = &policy->of[choice->again][sb_copy_class(choice->bytes)];
    const prospect_t prospect = prospect_of(policy, choice, usual, mode);
    uint64_t now = class->ns[usual], ns = prospect.ns;

    if (ns <= now)
        return true;
    messages = ns > 2 * now ? SB_COPY_BAD_MOST : messages;
    uint64_t more = sb_copy_expected(choice->bytes, messages * (ns - now));
    uint64_t loss = sb_max(more, prospect.loss);
    return class->spent >= SB_COPY_SHARE_OF_FIRST * (class->lost + loss);
}

void sb_copy_charge(sb_copy_class_t *class, size_t bytes, uint64_t kept)
{
    uint64_t now = class->ns[class->usual];
    uint64_t longer = kept > now ? sb_min(kept - now, CHARGED_MOST * now) : 0;

    longer = sb_copy_expected(bytes, longer);
    class->loss[class->tried] += longer;
    class->lost += longer;
}
