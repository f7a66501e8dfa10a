/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/copy_policy.h"

#include "base/config.h"
#include "team/block_policy.h"
#include "team/copy_loss.h"

/* Messages of a class before its first trial: who sends fewer keeps to what is safe everywhere. */
#define FIRST_TRIAL_AFTER 8

/*
 * Messages after a change of mode that are not counted: the others follow with the next one, and
 * caches hold what the mode before has left in them.
 */
#define SETTLING 2

/* A lap of a trial has so many messages at least. */
#define WARMING_LEAST 2
#define TIMING_LEAST 4

/*
 * From one trial to the next there are so many times its messages. After the first trial it is
 * REST_FIRST: what was measured in new memory may mislead. Then it doubles with each trial, up to
 * REST. A mode whose trials go badly waits longer from one of them to the next, up to REST_MOST.
 */
#define REST_FIRST 2
#define REST 32
#define REST_MOST 256

/* From the third trial on, with no new memory any more, those of a slower mode take at most this
 * part of all time; what they move counts as lost, for it leaves memory in another state. */
#define REST_SETTLED 8
#define SHARE 64

/* Outside trials one message of so many is timed; of short ones fewer, one in about so many ns: who
 * reads the clock first waits for all that was asked for. */
#define TIMED_EVERY 8u
#define TIMED_SELDOM 64u
#define TIMED_NS 32000u

/* Of the samples of a second lap so many that are well above another mode's time end a trial, one
 * after the other: that part of its messages. */
#define LONGER_LEAST 2
#define LONGER_PART 12

/* The fastest that is known, but for one; `none`: there is no other. */
static uint8_t fastest_but(const sb_copy_class_t *class, uint8_t but, uint8_t none)
{
    uint8_t best = none;

    for (uint8_t mode = 0; mode < SB_COPY_MODES; mode++) {
        bool better = best == none || class->ns[mode] < class->ns[best];
        if (mode != but && class->ns[mode] > 0 && better)
            best = mode;
    }
    return best;
}

/* How a class begins: by the kernel where that was best for shorter messages, for what else was may
 * have come out of caches that longer ones do not fit; else in the safe mode. */
static uint8_t first_mode(const sb_copy_policy_t *policy, const sb_copy_choice_t *choice)
{
    for (size_t number = sb_copy_class(choice->bytes); number-- > 0;) {
        const sb_copy_class_t *same = &policy->of[choice->again][number];
        const sb_copy_class_t *other = &policy->of[!choice->again][number];
        const sb_copy_class_t *class = same->rest > 0 ? same : other;
        if (class->rest > 0)
            return sb_copy_is_steady(policy, class->usual, choice) ? class->usual : SB_COPY_SAFE;
    }
    return SB_COPY_SAFE;
}

/*
 * The mode that is safe everywhere is left only for a gain of a twentieth, and taken again as soon
 * as nothing is gained. One sample is enough to try: whatever is in use is timed all the time.
 */
static uint8_t usual_mode(const sb_copy_policy_t *policy, const sb_copy_class_t *class,
                          const sb_copy_choice_t *choice)
{
    uint8_t other = fastest_but(class, SB_COPY_SAFE, SB_COPY_SAFE);
    uint64_t gain = class->usual == SB_COPY_SAFE ? class->ns[SB_COPY_SAFE] / 20 : 0;

    if (class->ns[SB_COPY_SAFE] == 0) {
        uint8_t first = first_mode(policy, choice);
        return first == SB_COPY_SAFE || class->ns[first] == 0 ? first : other;
    }
    return other != SB_COPY_SAFE && class->ns[other] + gain < class->ns[SB_COPY_SAFE]
               ? other
               : SB_COPY_SAFE;
}

/* The time that a mode has to be better than; 0: none is known. */
static uint64_t rival_of(const sb_copy_class_t *class, uint8_t mode)
{
    uint8_t rival = fastest_but(class, mode, mode);

    return rival == mode ? 0 : class->ns[rival];
}

static bool on_trial(const sb_copy_class_t *class)
{
    return class->stage != SB_COPY_SETTLED;
}

/* Messages of a lap, of the first or the second in a trial. */
static uint32_t lap_messages(size_t lap, size_t bytes, uint32_t least)
{
    return (uint32_t)sb_max(lap / bytes, least);
}

/* From one trial of this mode to the next, in lengths of them, by what it costs. */
static uint64_t rest_of(const sb_copy_class_t *class, uint8_t usual, uint8_t mode)
{
    uint64_t now = class->ns[usual], tried = class->ns[mode];

    if (class->rest < REST_SETTLED || tried <= now || !class->proven[mode])
        return class->spoilt[mode];
    return sb_max(class->spoilt[mode], sb_min(SHARE * tried / now, REST_MOST));
}

static uint32_t trial_messages(size_t lap, size_t bytes)
{
    return lap_messages(lap, bytes, WARMING_LEAST) + lap_messages(lap, bytes, TIMING_LEAST);
}

/* The last trial has had its rest, and this mode has had one from its own: those of others, which
 * may be shorter, do not keep it waiting; nor do they one that goes round in more than they do, and
 * has not been tried yet. Such ones follow each other at once where trials are short. */
static bool time_for_trial(const sb_copy_class_t *class, uint8_t usual, uint8_t mode, size_t lap,
                           size_t bytes)
{
    uint64_t rest = class->rest, length = trial_messages(lap, bytes);
    uint64_t due = rest > 0 ? rest * class->length : FIRST_TRIAL_AFTER;
    uint64_t known = sb_max(rest_of(class, usual, mode), rest);
    uint64_t own = (class->ns[mode] > 0 ? known : sb_min(rest, REST_FIRST)) * length;
    bool first = rest > 0 && class->ns[mode] == 0 && !class->proven[mode];

    if (first && sb_max(length, class->length) <= FIRST_TRIAL_AFTER)
        return true;
    return class->since >= due && class->since + class->waited[mode] >= own;
}

/* Windows have to be earned so much less: they are as short as the messages, and in caches they are
 * the best way most often. */
#define WINDOW_SHARE 8

static uint64_t pages_beyond(size_t end, size_t touched)
{
    return (sb_max(end, touched) - touched) / SB_PAGE;
}

/*
 * Pages without which such messages could not go by this mode, as they have to be earned. Those by
 * ordinary stores are in the beginning of a window, where there is one; what passes the caches is
 * not, but in the same buffers each time it also earns the window's first, for what is tried next.
 */
static uint64_t pages_to_earn(const sb_copy_policy_t *policy, uint8_t mode,
                              const sb_copy_choice_t *choice)
{
    uint64_t area = pages_beyond(policy->reach[mode], *policy->touched);
    size_t end = sb_round_up(choice->bytes, SB_PAGE);

    if (end > policy->window)
        return SB_COPY_SHARE_OF_FIRST * area;
    uint64_t window = pages_beyond(end, *policy->window_touched);
    if (policy->mode[mode] == SB_COPY_CACHED)
        return SB_COPY_SHARE_OF_FIRST / WINDOW_SHARE * window;
    bool too = policy->mode[mode] == SB_COPY_NON_TEMPORAL && choice->again;
    return SB_COPY_SHARE_OF_FIRST * (too ? area + window : area);
}

/* Whether a mode that was not tried yet may have the pages that it needs. */
static bool may_touch(const sb_copy_policy_t *policy, const sb_copy_class_t *class, uint8_t mode,
                      const sb_copy_choice_t *choice)
{
    return policy->touched == NULL || class->ns[mode] > 0 ||
           class->spent >= pages_to_earn(policy, mode, choice) * *policy->page_ns;
}

static bool may_lose(const sb_copy_policy_t *policy, uint8_t usual, uint8_t mode, size_t lap,
                     const sb_copy_choice_t *choice)
{
    return sb_copy_may_lose(policy, choice, usual, mode, trial_messages(lap, choice->bytes));
}

/* Whether it is one that is compared by what calls take, for such a message, and might be faster.
 */
static bool may_gain(const sb_copy_policy_t *policy, const sb_copy_class_t *class, uint8_t usual,
                     uint8_t mode, const sb_copy_choice_t *choice)
{
    bool by_calls = !choice->loads || !sb_copy_policy_is_loaded(policy, mode);

    return by_calls && choice->bytes >= policy->least[mode] &&
           class->ns[usual] > policy->floor[mode];
}

/* Whether a trial of that mode may begin with this message. */
static bool may_try(const sb_copy_policy_t *policy, const sb_copy_class_t *class, uint8_t usual,
                    uint8_t mode, size_t lap, const sb_copy_choice_t *choice)
{
    return mode != usual && may_gain(policy, class, usual, mode, choice) &&
           time_for_trial(class, usual, mode, lap, choice->bytes) &&
           may_touch(policy, class, mode, choice) && may_lose(policy, usual, mode, lap, choice);
}

/* All that are for such messages and might be faster have their turn, but for the one in use; it
 * itself: it is no time for a trial. Of those never tried the shortest trial comes first. */
static uint8_t next_to_try(const sb_copy_policy_t *policy, const sb_copy_class_t *class,
                           uint8_t usual, const size_t *laps, const sb_copy_choice_t *choice)
{
    uint8_t found = usual;

    for (uint8_t i = 1; i <= policy->modes && class->ns[usual] > 0; i++) {
        uint8_t next = (uint8_t)((class->tried + i) % policy->modes);
        bool sooner = found == usual ||
                      (class->ns[found] == 0 && class->ns[next] == 0 && laps[next] < laps[found]);
        if (sooner && may_try(policy, class, usual, next, laps[next], choice))
            found = next;
    }
    return found;
}

static void start_trial(sb_copy_class_t *class, uint8_t mode, size_t lap, size_t bytes)
{
    for (uint8_t i = 0; i < SB_COPY_MODES; i++)
        class->waited[i] = i == mode ? 0 : class->waited[i] + class->since;
    class->tried = mode;
    class->loss[mode] = 0;
    class->length = trial_messages(lap, bytes);
    class->stage = SB_COPY_FIRST_LAP;
    class->trial = (sb_copy_trial_t){.left = lap_messages(lap, bytes, WARMING_LEAST),
                                     .second = lap_messages(lap, bytes, TIMING_LEAST),
                                     .fresh = true};
    class->rest = class->rest == 0 ? REST_FIRST : (uint32_t)sb_min(2 * class->rest, REST);
    class->since = 0;
}

static void end_trial(sb_copy_class_t *class, uint16_t spoilt)
{
    class->stage = SB_COPY_SETTLED;
    class->proven[class->tried] = true;
    class->spoilt[class->tried] = spoilt;
}

/* The next message of the trial: whether it is still of the first lap. */
static bool go_on_trying(sb_copy_class_t *class)
{
    bool warming = class->stage == SB_COPY_FIRST_LAP;

    if (--class->trial.left > 0)
        return warming;
    if (warming) {
        class->stage = SB_COPY_SECOND_LAP;
        class->trial.left = class->trial.second;
    } else {
        end_trial(class, 0);
    }
    return warming;
}

static uint32_t timed_every(uint64_t ns)
{
    bool seldom = ns != 0 && ns < TIMED_NS / TIMED_EVERY;

    return seldom ? sb_min(TIMED_NS / (uint32_t)ns, TIMED_SELDOM) : TIMED_EVERY;
}

/* Outside trials: whether the next message is timed. */
static bool is_timed(sb_copy_class_t *class)
{
    bool early = class->rest == 0 && class->since < FIRST_TRIAL_AFTER;

    return early || class->doubtful || class->since % timed_every(class->ns[class->usual]) == 0;
}

/* Whether the class has not settled to the mode of its next message. */
static bool is_settling(sb_copy_class_t *class, uint8_t mode)
{
    if (class->present != mode)
        class->settling = SETTLING;
    class->present = mode;
    if (class->settling == 0)
        return false;
    class->settling--;
    return true;
}

/* Whether all modes that may be tried have been; beside those by loads there may be one alone. */
static bool is_known(const sb_copy_policy_t *policy, const sb_copy_class_t *class, uint8_t usual,
                     const size_t *laps, const sb_copy_choice_t *choice)
{
    bool known = !on_trial(class) && (class->ns[usual] > 0 || policy->modes == policy->loaded + 1);

    for (uint8_t mode = 0; mode < policy->modes && known; mode++)
        known = class->ns[mode] > 0 || !may_gain(policy, class, usual, mode, choice) ||
                !may_touch(policy, class, mode, choice) ||
                !may_lose(policy, usual, mode, laps[mode], choice);
    return known;
}

/* Whether blocks of calls decide. What a call by the kernel took says nothing of loads. */
static bool may_load(const sb_copy_policy_t *policy, sb_copy_class_t *class, const void *buffer,
                     size_t bytes)
{
    bool may = policy->blocks != NULL && bytes >= policy->least[policy->loads] && buffer != NULL &&
               sb_may_share(buffer, bytes);

    for (uint8_t i = 0; i < policy->loaded && may && !on_trial(class); i++)
        class->ns[policy->loads + i] = 0;
    return may;
}

/* The way of a message for which that holds, 0: not by loads; `compares`: nothing else is to be
 * tried with it. */
static uint8_t loaded_way(const sb_copy_policy_t *policy, const sb_copy_class_t *class,
                          uint8_t usual, const size_t *laps, const sb_copy_choice_t *choice,
                          bool *compares)
{
    sb_block_policy_t *blocks = &policy->blocks[choice->again];
    uint8_t count = 1 + policy->loaded, way = 0;
    sb_block_ways_t ways = {.count = count, .fresh = policy->reads && !choice->again};

    if (is_known(policy, class, usual, laps, choice))
        way = sb_block_choose(blocks, choice->bytes, ways,
                              sb_block_looks(blocks, choice->bytes) ? sb_now_ns() : 0);
    else
        sb_block_interrupt(blocks, choice->bytes);
    *compares = sb_block_compares(blocks, choice->bytes);
    return way;
}

sb_copy_choice_t sb_copy_choose(sb_copy_policy_t *policy, size_t bytes, const void *buffer,
                                const size_t *laps)
{
    sb_copy_choice_t choice = {.mode = policy->fixed, .bytes = bytes};

    if (bytes < SB_COPY_LEAST)
        choice.mode = SB_COPY_CACHED;
    if (choice.mode != SB_COPY_ANY)
        return choice;
    choice.again = sb_copy_used_before(policy->last[sb_copy_class(bytes)], buffer);
    sb_copy_class_t *class = &policy->of[choice.again][sb_copy_class(bytes)];
    choice.loads = may_load(policy, class, buffer, bytes);
    uint8_t usual = usual_mode(policy, class, &choice);
    bool compares = false;
    uint8_t way = choice.loads ? loaded_way(policy, class, usual, laps, &choice, &compares) : 0;
    if (way != 0) {
        /* Of what other ways need to be tried they give as much as messages by these. Where this
         * rank reads, trials would interrupt blocks that count what ways take in use. */
        class->spent += policy->reads ? 0 : sb_copy_expected(bytes, class->ns[usual]);
        class->since += !policy->reads;
        class->present = policy->loads + way - 1;
        choice.mode = policy->mode[class->present];
        return choice;
    }
    bool tries = !on_trial(class) && !compares;
    uint8_t other = tries ? next_to_try(policy, class, usual, laps, &choice) : usual;
    if (other != usual)
        start_trial(class, other, laps[other], bytes);
    class->usual = usual;
    uint8_t mode = on_trial(class) ? class->tried : usual;
    bool settling = is_settling(class, mode);
    choice.mode = policy->mode[mode];
    if (on_trial(class)) {
        choice.timed = true;
        choice.warming = go_on_trying(class);
    } else {
        choice.warming = settling && class->since == 0 && class->rest > 0;
        choice.timed = choice.warming || (is_timed(class) && !settling);
        class->since++;
        class->spent += sb_copy_expected(bytes, class->ns[usual]);
    }
    return choice;
}

/* Well above that time, if there is one. */
static bool is_longer(uint64_t ns, uint64_t rival)
{
    return rival > 0 && 4 * ns > 5 * rival;
}

/* Ends a trial that goes badly, or of which no more is to be hoped. Not where pages still come. */
static void judge_trial(const sb_copy_policy_t *policy, sb_copy_class_t *class, uint64_t ns,
                        bool warming)
{
    sb_copy_trial_t *trial = &class->trial;
    uint64_t rival = rival_of(class, class->tried);
    bool fresh = warming && !class->proven[class->tried];
    bool pages = fresh && policy->reach[class->tried] > policy->reach[class->usual];

    trial->bad = rival > 0 && ns > 2 * rival && !pages ? trial->bad + 1 : 0;
    trial->longer = !warming && is_longer(ns, rival) ? trial->longer + 1 : 0;
    if (trial->bad >= SB_COPY_BAD_MOST) {
        uint32_t spoilt = sb_max(2u * class->spoilt[class->tried], REST);
        end_trial(class, (uint16_t)sb_min(spoilt, REST_MOST));
        class->rest = REST;
        class->ns[class->tried] = ns;
    } else if (trial->longer >= sb_max(LONGER_LEAST, class->length / LONGER_PART)) {
        end_trial(class, 0);
    }
}

/*
 * A rank that was off its processor makes a sample long: longer samples count for less than shorter
 * ones, and as twice the usual at most; one that is well above another mode's time counts only if
 * the one before was too, or it alone would turn away from a mode that is a tenth faster. What an
 * earlier trial has found is forgotten with the first sample of the next.
 */
static void smooth(sb_copy_class_t *class, uint8_t mode, uint64_t sample)
{
    uint64_t *usual = &class->ns[mode];
    uint64_t rival = rival_of(class, mode);
    bool forget = on_trial(class) && class->trial.fresh && mode == class->tried;
    bool doubtful = is_longer(sample, rival);

    if (*usual == 0 || forget) {
        *usual = rival > 0 ? sb_min(sample, 2 * rival) : sample;
        class->trial.fresh = false;
    } else if (sample < *usual) {
        *usual -= (*usual - sample) / 2;
    } else if (!doubtful || class->doubtful) {
        *usual += (sb_min(sample, 2 * *usual) - *usual) / 8;
    }
    class->doubtful = doubtful;
}

void sb_copy_record(sb_copy_policy_t *policy, const sb_copy_choice_t *choice, uint64_t ns)
{
    sb_copy_class_t *class = &policy->of[choice->again][sb_copy_class(choice->bytes)];
    uint8_t mode = policy->modes - 1;
    uint64_t kept = sb_copy_kept(choice->bytes, ns);

    while (mode > SB_COPY_SAFE && policy->mode[mode] != choice->mode)
        mode--;
    bool tried = on_trial(class) && mode == class->tried;
    /* Of another rank's trials nothing is charged. */
    if (tried || (choice->warming && !on_trial(class) && class->since == 1))
        sb_copy_charge(class, choice->bytes, kept);
    if (tried)
        judge_trial(policy, class, kept, choice->warming);
    if (!choice->warming)
        smooth(class, mode, kept);
}
