/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The primitives: each is a point where another rank may be next, costs time, is shown to the
 * watch, and then takes effect.
 */
#include "machine/machine.h"

#include "machine/sim/state.h"

#include <inttypes.h>
#include <string.h>

/* Picoseconds that pass for a rank whose guide has it give up a wait: longer than any patience. */
#define GIVEN_UP UINT64_C(1000000000000)

static void changed(const sb_rank_t *rank)
{
    if (sb_sim->progress < rank->clock)
        sb_sim->progress = rank->clock;
}

/* An atomic word, where it is. */
typedef struct word {
    uint32_t block;
    uint64_t offset;
    sb_memory_block_t *memory; /* NULL: private to the rank */
} word_t;

static word_t find_word(const void *address)
{
    word_t word = {NOBODY, 0, NULL};

    word.memory = sb_sim_find(address, &word.block, &word.offset);
    return word;
}

static void pay_load(sb_rank_t *self, const word_t *word)
{
    sb_line_place_t place;

    if (!sb_sim->guided && sb_sim_line(word->memory, word->offset, &place))
        self->clock = sb_lines_read(self, &place, self->clock);
}

/* What a word of 4 or 8 bytes holds. */
static uint64_t get_word(const void *address, size_t bytes)
{
    uint64_t wide;
    uint32_t narrow;

    if (bytes == sizeof narrow) {
        memcpy(&narrow, address, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, address, sizeof wide);
    return wide;
}

static void set_word(void *address, size_t bytes, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;

    if (bytes == sizeof narrow)
        memcpy(address, &narrow, sizeof narrow);
    else
        memcpy(address, &value, sizeof value);
}

static uint64_t load(const void *address, size_t bytes, sb_order_t order)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    sb_rank_t *self = sb_sim->running;
    word_t word = find_word(address);

    if (word.memory == NULL)
        return get_word(address, bytes);
    sb_sim_step(SB_SIM_READS, word.block, word.offset);
    uint64_t value = get_word(address, bytes);
    if (watch != NULL) {
        value = watch->load(watch->context, self->number, word.block, word.offset, value,
                            (memory_order)order, self->spot.site);
        sb_sim_check_failed();
    }
    pay_load(self, &word);
    return value;
}

uint64_t sb_sim_load64(const sb_word64_t *word, sb_order_t order)
{
    return load((const void *)(uintptr_t)word, 8, order);
}

uint32_t sb_sim_load32(const sb_word32_t *word, sb_order_t order)
{
    return (uint32_t)load((const void *)(uintptr_t)word, 4, order);
}

static void pay_store(sb_rank_t *self, const word_t *word, sb_order_t order)
{
    sb_line_place_t place;

    if (sb_sim->guided || !sb_sim_line(word->memory, word->offset, &place))
        return;
    uint64_t commit = sb_lines_write(self, &place, self->clock);
    self->clock += sb_sim->machine.store;
    if (order == SB_SEQ_CST)
        self->clock = self->serial = commit;
}

static void store(void *address, size_t bytes, uint64_t value, sb_order_t order)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    sb_rank_t *self = sb_sim->running;
    word_t word = find_word(address);

    if (word.memory == NULL) {
        set_word(address, bytes, value);
        return;
    }
    sb_sim_step(SB_SIM_WRITES, word.block, word.offset);
    if (watch != NULL) {
        watch->store(watch->context, self->number, word.block, word.offset,
                     get_word(address, bytes), value, (memory_order)order, self->spot.site);
        sb_sim_check_failed();
    }
    uint64_t begin = self->clock;
    set_word(address, bytes, value);
    pay_store(self, &word, order);
    changed(self);
    sb_sim_note(SB_SIM_NOTIFIES, begin, self->clock);
}

void sb_sim_store64(sb_word64_t *word, uint64_t value, sb_order_t order)
{
    store((void *)word, 8, value, order);
}

void sb_sim_store32(sb_word32_t *word, uint32_t value, sb_order_t order)
{
    store((void *)word, 4, value, order);
}

/*
 * What an addition takes on its line: more where several others are before it, which take the line
 * from each other in the middle of it and have to begin again.
 */
static uint64_t addition_time(const sb_line_t *line, uint64_t begin)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    uint64_t one = machine->invalidate[SB_NEAR_MACHINE] + machine->atomic_extra;

    return machine->atomic_extra + (line->free > begin + one ? machine->atomic_crowded : 0);
}

/* An addition waits for the line, and for the stores before it. */
static void pay_add(sb_rank_t *self, const word_t *word)
{
    sb_line_place_t place;

    if (sb_sim->guided || !sb_sim_line(word->memory, word->offset, &place))
        return;
    uint64_t begin = self->clock > self->drain ? self->clock : self->drain;
    uint64_t takes = addition_time(place.line, begin);
    uint64_t done = sb_lines_write(self, &place, begin) + takes;
    place.line->commit = place.line->free = done;
    self->drain = self->clock = self->serial = done;
}

static uint64_t add(void *address, size_t bytes, uint64_t amount, sb_order_t order)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    sb_rank_t *self = sb_sim->running;
    word_t word = find_word(address);

    if (word.memory != NULL)
        sb_sim_step(SB_SIM_WRITES, word.block, word.offset);
    uint64_t before = get_word(address, bytes);
    if (word.memory != NULL && watch != NULL) {
        watch->add(watch->context, self->number, word.block, word.offset, before, amount,
                   (memory_order)order, self->spot.site);
        sb_sim_check_failed();
    }
    set_word(address, bytes, before + amount);
    if (word.memory != NULL)
        pay_add(self, &word);
    return before;
}

uint64_t sb_sim_add64(sb_word64_t *word, uint64_t amount, sb_order_t order)
{
    uint64_t before = add((void *)word, 8, amount, order);

    changed(sb_sim->running);
    return before;
}

/* Sleepers are counted with it: what a rank in vain does is no progress. */
uint32_t sb_sim_add32(sb_word32_t *word, uint32_t amount, sb_order_t order)
{
    return (uint32_t)add((void *)word, 4, amount, order);
}

static void watch_plain(const void *address, size_t bytes, bool written)
{
    sb_sim_net_touch(address, bytes, written);
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    const sb_rank_t *self = sb_sim->running;
    uint32_t block;
    uint64_t offset;

    if (watch == NULL)
        return;
    const sb_memory_block_t *memory = sb_sim_find(address, &block, &offset);
    if (memory == NULL || !memory->shared)
        return;
    (written ? watch->write : watch->read)(watch->context, self->number, block, offset, bytes,
                                           self->spot.site);
    sb_sim_check_failed();
}

uint32_t sb_sim_note_read(const uint32_t *note)
{
    word_t word = find_word(note);

    sb_sim_reach();
    watch_plain(note, sizeof *note, false);
    if (word.memory != NULL)
        pay_load(sb_sim->running, &word);
    return *note;
}

void sb_sim_note_write(uint32_t *note, uint32_t value)
{
    word_t word = find_word(note);

    sb_sim_reach();
    watch_plain(note, sizeof *note, true);
    *note = value;
    if (word.memory != NULL)
        pay_store(sb_sim->running, &word, SB_RELAXED);
}

/* Bytes up to the end of the page; where private memory lies must make no difference. */
size_t sb_sim_page_rest(const void *address)
{
    return sb_sim_page_of(address) == NULL ? SB_SIM_PAGE
                                           : SB_SIM_PAGE - (uintptr_t)address % SB_SIM_PAGE;
}

/* The real machine may copy in any order, and take it that both sides are apart. */
static void refuse_overlap(const void *to, const void *from, size_t bytes)
{
    uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;

    if (target < source + bytes && source < target + bytes)
        sb_sim_stop("rank %" PRIu32 " copies %zu bytes to where they overlap with themselves",
                    sb_sim->running->number, bytes);
}

static void copy(void *to, const void *from, size_t bytes, sb_access_t access)
{
    sb_rank_t *self = sb_sim->running;
    uint64_t begin = self->clock;
    const void *theirs;
    const void *seen = sb_sim_seen(from, &theirs);

    if (bytes == 0)
        return;
    refuse_overlap(to, theirs, bytes);
    watch_plain(theirs, bytes, false);
    watch_plain(to, bytes, true);
    if (sb_sim->guided) {
        memcpy(to, seen, bytes);
        return;
    }
    for (size_t done = 0; done < bytes;) {
        char *target = (char *)to + done;
        const char *source = (const char *)theirs + done;
        size_t piece =
            sb_min(bytes - done, sb_min(sb_sim_page_rest(target), sb_sim_page_rest(source)));
        sb_sim_reach();
        memcpy(target, source, piece);
        self->clock = sb_copy_cost(self, target, source, piece, access, done == 0);
        done += piece;
    }
    self->serial = self->clock;
    changed(self);
    sb_sim_note(SB_SIM_COPIES, begin, self->clock);
}

typedef uint64_t line_action_t(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now);

/* Each line of shared memory in turn; the core's clock is when it goes on after the last. */
static void at_each_line(const void *from, size_t bytes, line_action_t *action)
{
    sb_rank_t *self = sb_sim->running;
    word_t first = find_word(from);
    sb_line_place_t place;

    if (sb_sim->guided || first.memory == NULL || !first.memory->shared || bytes == 0)
        return;
    sb_sim_reach();
    for (uint64_t line = first.offset / SB_LINE; line <= (first.offset + bytes - 1) / SB_LINE;
         line++) {
        if (sb_sim_line(first.memory, line * SB_LINE, &place))
            self->clock = action(self, &place, self->clock);
    }
}

/* Costs what loads would that nothing waits for but the end of the last: some are under way at
 * once. */
void sb_sim_fetch_ahead(const void *from, size_t bytes)
{
    at_each_line(from, bytes, sb_lines_fetch);
}

/* The core goes on as soon as the last of the lines is asked for. */
void sb_sim_fetch_to_write(const void *to, size_t bytes)
{
    at_each_line(to, bytes, sb_lines_own);
}

void sb_sim_copy(void *to, const void *from, size_t bytes)
{
    copy(to, from, bytes, SB_ACCESS_WRITE);
}

void sb_sim_copy_streaming(void *to, const void *from, size_t bytes)
{
    copy(to, from, bytes, SB_ACCESS_STREAM);
}

uint64_t sb_sim_process_self(void)
{
    return sb_sim->running->number;
}

/*
 * All ranks are of one process here. What it costs to reach into another's memory, beside the copy:
 * a system call that finds the other process, about two plain ones, and for each page a look at
 * where it is.
 */
static void pay_reach(uint64_t address, size_t bytes)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    uint64_t pages = (address % SB_SIM_PAGE + bytes + SB_SIM_PAGE - 1) / SB_SIM_PAGE;

    sb_sim->running->clock += 2 * machine->yield + pages * machine->memory[SB_NEAR_NUMA];
}

/* Whether the system allows it; from some time on it may not. */
static bool reaches(void)
{
    uint64_t most = sb_sim->options.reaches;

    return most == 0 || !sb_sim->guided || ++sb_sim->reached <= most;
}

bool sb_sim_pull(uint64_t process, void *to, uint64_t from, size_t bytes)
{
    (void)process;
    if (!reaches())
        return false;
    pay_reach(from, bytes);
    copy(to, (const void *)(uintptr_t)from, bytes, SB_ACCESS_WRITE);
    return true;
}

bool sb_sim_push(uint64_t process, uint64_t to, const void *from, size_t bytes)
{
    (void)process;
    if (!reaches())
        return false;
    pay_reach(to, bytes);
    copy((void *)(uintptr_t)to, from, bytes, SB_ACCESS_WRITE);
    return true;
}

/* Bytes from `offset` on up to where one of the sides comes to the end of its page. */
static size_t combined_piece(const void *to, const void *const from[], uint32_t n, size_t offset,
                             size_t bytes)
{
    size_t piece = sb_min(bytes - offset, sb_sim_page_rest((const char *)to + offset));

    for (uint32_t i = 0; i < n; i++)
        piece = sb_min(piece, sb_sim_page_rest((const char *)from[i] + offset));
    return piece;
}

sb_status_t sb_sim_combine(const sb_operator_t *operation, void *to, const void *const from[],
                           uint32_t n, size_t bytes)
{
    sb_rank_t *self = sb_sim->running;
    uint64_t begin = self->clock;

    if (bytes == 0)
        return SB_OK;
    const void *theirs[n], *seen[n];
    for (uint32_t i = 0; i < n; i++) {
        seen[i] = sb_sim_seen(from[i], &theirs[i]);
        watch_plain(theirs[i], bytes, false);
    }
    watch_plain(to, bytes, true);
    if (sb_sim->guided)
        return operation->fold(operation, to, seen, n, bytes);
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = combined_piece(to, theirs, n, done, bytes);
        sb_sim_reach();
        self->clock = sb_combine_cost(self, to, theirs, n, done, piece);
    }
    /* An element may lie across two pages, so all are combined together. */
    sb_status_t status = operation->fold(operation, to, seen, n, bytes);
    self->serial = self->clock;
    changed(self);
    sb_sim_note(SB_SIM_COPIES, begin, self->clock);
    return status;
}

/* In a guided run a spin is one step that waits, unless the guide has the rank give up at once. */
static uint64_t guided_spin(const sb_word64_t *word, uint64_t value)
{
    const sb_sim_guide_t *guide = sb_sim->options.guide;
    sb_rank_t *self = sb_sim->running;
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    word_t at = find_word((const void *)(uintptr_t)word);

    if (guide->gives_up(guide->context, self->number)) {
        self->clock += GIVEN_UP;
        return load((const void *)(uintptr_t)word, 8, SB_ACQUIRE);
    }
    for (;;) {
        if (sb_sim_has_news(self)) /* no time passes, but it would look at the network by and by */
            return load((const void *)(uintptr_t)word, 8, SB_ACQUIRE);
        sb_sim_guided_wait(at.block, at.offset, value);
        uint64_t seen = *(const uint64_t *)(const void *)(uintptr_t)word;
        if (watch != NULL) {
            seen = watch->load(watch->context, self->number, at.block, at.offset, seen,
                               memory_order_acquire, self->spot.site);
            sb_sim_check_failed();
        }
        if (seen >= value)
            return seen;
    }
}

uint64_t sb_sim_spin(const sb_word64_t *word, uint64_t value, uint32_t looks, bool paused)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;
    sb_rank_t *self = sb_sim->running;
    uint64_t look = machine->read[SB_NEAR_CORE] + (paused ? machine->pause : 0);
    uint64_t deadline = self->clock + looks * look;
    sb_line_place_t place;
    bool waited = false;

    if (looks == 0)
        return 0;
    if (sb_sim->guided)
        return guided_spin(word, value);
    for (;; waited = true) {
        uint64_t seen = load((const void *)(uintptr_t)word, 8, SB_ACQUIRE);
        /* The processor took it for granted that it would go round once more. */
        if (waited)
            self->serial = self->clock;
        if (seen >= value || self->clock >= deadline)
            return seen;
        word_t at = find_word((const void *)(uintptr_t)word);
        if (at.memory == NULL || !sb_sim_line(at.memory, at.offset, &place))
            return seen;
        sb_sim_spin_on(place.line, deadline);
        if (self->expired)
            return seen;
    }
}

void sb_sim_fence_all(void)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;

    sb_sim_step(SB_SIM_FENCES, NOBODY, 0);
    if (watch != NULL)
        watch->fence_all(watch->context);
    sb_rank_t *self = sb_sim->running;
    self->clock += sb_sim->machine.yield;
    self->serial = self->clock;
}

/*
 * What the kernel sees when it compares: the low half of an atomic word of 8 bytes. The kernel's
 * own fence does not make others' stores visible that have not come out of their store buffers.
 */
static uint32_t futex_look(sb_rank_t *self, const void *word, uint32_t block, uint64_t offset)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    const uint64_t *whole = (const void *)((const char *)word - offset % 8);
    uint64_t seen = *whole;

    if (watch != NULL) {
        watch->fence(watch->context, self->number);
        seen = watch->load(watch->context, self->number, block, offset - offset % 8, seen,
                           memory_order_relaxed, self->spot.site);
        sb_sim_check_failed();
    }
    return (uint32_t)seen;
}

void sb_sim_futex_wait(const uint32_t *word, uint32_t expected, uint64_t limit_ns)
{
    sb_rank_t *self = sb_sim->running;
    word_t at = find_word(word);

    if (at.memory == NULL)
        return;
    sb_sim_step(SB_SIM_WRITES, at.block, at.offset - at.offset % 8);
    uint32_t now = futex_look(self, word, at.block, at.offset);
    self->clock += sb_sim->machine.futex_wait;
    self->serial = self->clock;
    if (now != expected)
        return;
    if (sb_sim->guided)
        sb_sim_guided_sleep(at.block, at.offset);
    else
        sb_sim_sleep_on(at.block, at.offset, limit_ns * 1000);
}

void sb_sim_futex_wake(const uint32_t *word)
{
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    sb_rank_t *self = sb_sim->running;
    word_t at = find_word(word);

    sb_sim_step(SB_SIM_WRITES, at.block, at.offset - at.offset % 8);
    if (watch != NULL)
        watch->fence(watch->context, self->number);
    self->clock += sb_sim->machine.yield;
    self->serial = self->clock;
    sb_sim_wake_sleepers(at.block, at.offset, self->clock + sb_sim->machine.futex_wake);
}

void sb_sim_pause(void)
{
    sb_sim->running->clock += sb_sim->machine.pause;
}

void sb_sim_handle_message(void)
{
    sb_sim->running->clock += sb_sim->machine.message;
}

/* In a guided run who waits for a flag gives its processor away until the flag is there, unless the
 * guide has it go on to its next way of waiting. */
static void guided_give(sb_rank_t *self)
{
    const sb_sim_guide_t *guide = sb_sim->options.guide;

    if (self->awaited.block == NOBODY)
        return;
    if (guide->gives_up(guide->context, self->number))
        self->clock += GIVEN_UP;
    else
        sb_sim_guided_wait(self->awaited.block, self->awaited.offset, self->awaited.wanted);
}

void sb_sim_give_processor(void)
{
    if (sb_sim->guided) {
        guided_give(sb_sim->running);
        return;
    }
    sb_sim_reach();
    sb_sim_yield();
}

uint64_t sb_sim_now_ns(void)
{
    sb_sim->running->clock += sb_sim->machine.clock_read;
    return sb_sim->running->clock / 1000;
}

void sb_sim_wait_begins(const sb_flag_t *flag, uint64_t value)
{
    sb_rank_t *self = sb_sim->running;

    self->wait_began = self->clock;
    self->awaited.wanted = value;
    if (!sb_sim_locate(&flag->value, &self->awaited.block, &self->awaited.offset))
        self->awaited.block = NOBODY;
}

sb_status_t sb_sim_wait_ends(sb_status_t status)
{
    sb_rank_t *self = sb_sim->running;

    self->awaited.block = NOBODY;
    sb_sim_note(SB_SIM_WAITS, self->wait_began, self->clock);
    return status;
}
