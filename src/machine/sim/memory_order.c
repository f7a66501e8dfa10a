/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/memory_order.h"

#include <stdlib.h>
#include <string.h>

/* Values of a word that are kept; an older one is not seen any more. A power of two. */
#define DEPTH 8u

typedef struct message {
    uint64_t value;
    uint64_t store; /* number of the store, counted over all words */
    uint32_t writer;
    uint32_t epoch; /* the writer's when it stored */
    bool releases;  /* the clock beside it counts */
    bool whole;     /* and is the writer's own: knowing the epoch is knowing the clock */
    const sb_site_t *site;
} message_t;

typedef struct word {
    sb_where_t where;
    uint32_t next;   /* of the block, counted from 1; 0: none */
    uint32_t newest; /* number of the newest message; message m is at m % DEPTH */
    message_t messages[DEPTH];
} word_t;

/*
 * The newest message that a rank has seen in a word, and from which epoch on. Two such pairs: who
 * knows the rank's epoch since[i] must not see a message older than message[i].
 */
typedef struct seen {
    uint32_t message[2];
    uint32_t since[2];
    sb_stamp_t last; /* the last access, for the end of the block */
} seen_t;

typedef struct table {
    uint64_t bytes;
    uint64_t capacity; /* of index */
    uint32_t *index;   /* for each 4 bytes, the number of its word, if that word says so too */
    uint32_t first;    /* of its words in the order in which they were met, counted from 1; */
    uint32_t last;     /* 0: none */
} table_t;

struct sb_history {
    uint32_t ranks;
    uint32_t width; /* of a clock: what happened before, then what must be seen; an epoch a rank */
    uint32_t *clocks;
    uint32_t *fenced; /* what all fences so far have made visible: the second half of a clock */
    uint64_t stores;
    uint64_t floor; /* stores up to this one were there at the last fence of all ranks */
    sb_choose_value_t *choose;
    void *context;
    word_t *words;
    seen_t *seen;             /* ranks for each word */
    uint32_t *message_clocks; /* DEPTH clocks for each word */
    uint32_t count;
    uint32_t capacity;
    table_t *tables;
    uint32_t table_count;
};

static uint32_t *clock_of(const sb_history_t *history, uint32_t rank)
{
    return history->clocks + (size_t)rank * history->width;
}

static uint32_t *message_clock(const sb_history_t *history, const word_t *word, uint32_t message)
{
    size_t number = (size_t)(word - history->words) * DEPTH + message % DEPTH;

    return history->message_clocks + number * history->width;
}

static seen_t *seen_by(const sb_history_t *history, const word_t *word, uint32_t rank)
{
    return &history->seen[(size_t)(word - history->words) * history->ranks + rank];
}

static void join(uint32_t *to, const uint32_t *from, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++)
        to[i] = to[i] < from[i] ? from[i] : to[i];
}

static void die_without_memory(void)
{
    /* The checker of a test tool has nothing to fall back to. */
    abort();
}

static void *grown(void *memory, size_t bytes)
{
    void *more = realloc(memory, bytes);

    if (more == NULL)
        die_without_memory();
    return more;
}

sb_history_t *sb_history_new(uint32_t ranks)
{
    sb_history_t *history = calloc(1, sizeof *history);

    if (history == NULL)
        return NULL;
    history->ranks = ranks;
    history->width = 2 * ranks;
    history->clocks = calloc((size_t)ranks * history->width, sizeof *history->clocks);
    history->fenced = calloc(ranks, sizeof *history->fenced);
    if (history->clocks != NULL && history->fenced != NULL)
        return history;
    sb_history_free(history);
    return NULL;
}

void sb_history_free(sb_history_t *history)
{
    if (history == NULL)
        return;
    for (uint32_t i = 0; i < history->table_count; i++)
        free(history->tables[i].index);
    free(history->tables);
    free(history->words);
    free(history->seen);
    free(history->message_clocks);
    free(history->clocks);
    free(history->fenced);
    free(history);
}

void sb_history_begin(sb_history_t *history, sb_choose_value_t *choose, void *context)
{
    memset(history->clocks, 0, (size_t)history->ranks * history->width * sizeof *history->clocks);
    memset(history->fenced, 0, history->ranks * sizeof *history->fenced);
    for (uint32_t rank = 0; rank < history->ranks; rank++)
        clock_of(history, rank)[rank] = clock_of(history, rank)[history->ranks + rank] = 1;
    for (uint32_t i = 0; i < history->table_count; i++)
        history->tables[i].bytes = history->tables[i].first = 0;
    history->stores = history->floor = 0;
    history->count = 0;
    history->choose = choose;
    history->context = context;
}

void sb_history_block(sb_history_t *history, uint32_t block, uint64_t bytes)
{
    if (block >= history->table_count) {
        uint32_t count = block + block / 2 + 16;
        history->tables = grown(history->tables, count * sizeof *history->tables);
        memset(history->tables + history->table_count, 0,
               (count - history->table_count) * sizeof *history->tables);
        history->table_count = count;
    }
    history->tables[block].bytes = bytes;
}

/* The entry of a word's place in its block's index, which is made when it is first asked for. */
static uint32_t *entry(sb_history_t *history, sb_where_t where)
{
    table_t *table = &history->tables[where.block];

    if (SB_UNLIKELY(table->capacity * 4 < table->bytes)) {
        uint64_t capacity = (table->bytes + 3) / 4;
        table->index = grown(table->index, capacity * sizeof *table->index);
        memset(table->index + table->capacity, 0,
               (capacity - table->capacity) * sizeof *table->index);
        table->capacity = capacity;
    }
    return &table->index[where.offset / 4];
}

static bool is_at(const word_t *word, sb_where_t where)
{
    return word->where.block == where.block && word->where.offset == where.offset;
}

static void make_room(sb_history_t *history)
{
    if (history->count < history->capacity)
        return;
    size_t capacity = history->capacity * 2 + 64;
    history->words = grown(history->words, capacity * sizeof *history->words);
    history->seen = grown(history->seen, capacity * history->ranks * sizeof *history->seen);
    history->message_clocks = grown(history->message_clocks, capacity * DEPTH * history->width *
                                                                 sizeof *history->message_clocks);
    history->capacity = (uint32_t)capacity;
}

/* Makes the word the last of its block's. */
static void chain(sb_history_t *history, word_t *word, uint32_t number)
{
    table_t *table = &history->tables[word->where.block];

    word->next = 0;
    if (table->first == 0)
        table->first = number + 1;
    else
        history->words[table->last - 1].next = number + 1;
    table->last = number + 1;
}

/* The word at a place; new ones hold `now`, which everybody knows. */
static word_t *word_at(sb_history_t *history, sb_where_t where, uint64_t now)
{
    uint32_t *number = entry(history, where);

    if (SB_LIKELY(*number < history->count && is_at(&history->words[*number], where)))
        return &history->words[*number];
    make_room(history);
    *number = history->count++;
    word_t *word = &history->words[*number];
    word->where = where;
    chain(history, word, *number);
    word->newest = 0;
    word->messages[0] = (message_t){.value = now};
    memset(seen_by(history, word, 0), 0, history->ranks * sizeof(seen_t));
    return word;
}

static const word_t *find_word(const sb_history_t *history, sb_where_t where)
{
    if (where.block >= history->table_count)
        return NULL;
    const table_t *table = &history->tables[where.block];
    if (where.offset / 4 >= table->capacity)
        return NULL;
    uint32_t number = table->index[where.offset / 4];
    if (number >= history->count || !is_at(&history->words[number], where))
        return NULL;
    return &history->words[number];
}

/* Whether the rank must see the message, or a newer one. */
static bool is_known(const sb_history_t *history, const message_t *message, uint32_t rank)
{
    return message->store <= history->floor ||
           clock_of(history, rank)[history->ranks + message->writer] >= message->epoch;
}

/* The oldest message that the rank's own knowledge of stores lets it see. */
static uint32_t oldest_unknown(const sb_history_t *history, const word_t *word, uint32_t rank)
{
    uint32_t oldest = word->newest < DEPTH ? 0 : word->newest - DEPTH + 1;
    uint32_t message = word->newest;

    while (message > oldest && !is_known(history, &word->messages[message % DEPTH], rank))
        message--;
    return message;
}

/* Nobody sees a value older than one seen by somebody before something that it knows. */
static uint32_t raise_to_seen(const sb_history_t *history, const word_t *word, uint32_t rank,
                              uint32_t message)
{
    const uint32_t *visible = clock_of(history, rank) + history->ranks;

    for (uint32_t other = 0; other < history->ranks; other++) {
        const seen_t *seen = seen_by(history, word, other);
        for (int i = 0; i < 2; i++) {
            if (seen->since[i] <= visible[other] && seen->message[i] > message)
                message = seen->message[i];
        }
    }
    return message;
}

static uint32_t choose_message(sb_history_t *history, const word_t *word, uint32_t rank)
{
    if (history->choose == NULL)
        return word->newest;
    uint32_t oldest = oldest_unknown(history, word, rank);
    if (oldest < word->newest)
        oldest = raise_to_seen(history, word, rank, oldest);
    if (oldest == word->newest)
        return word->newest;
    return word->newest - history->choose(history->context, word->newest - oldest + 1);
}

/*
 * The rank has seen the message. Of what it saw in earlier epochs one pair is kept; where that must
 * give way, it takes the newer message and the older epoch: others may then see less than C11
 * allows, never more.
 */
static void note_seen(seen_t *seen, uint32_t message, uint32_t epoch)
{
    if (message == seen->message[1])
        return;
    if (epoch != seen->since[1]) {
        seen->message[0] = seen->message[1];
        if (seen->since[0] == 0)
            seen->since[0] = seen->since[1];
        seen->since[1] = epoch;
    }
    seen->message[1] = message;
}

static void touch(sb_history_t *history, word_t *word, uint32_t rank, uint32_t message,
                  const sb_site_t *site)
{
    seen_t *seen = seen_by(history, word, rank);
    uint32_t epoch = clock_of(history, rank)[rank];

    note_seen(seen, message, epoch);
    seen->last = (sb_stamp_t){rank, epoch, site};
}

static bool acquires(memory_order order)
{
    return order == memory_order_acquire || order == memory_order_consume ||
           order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static bool releases(memory_order order)
{
    return order == memory_order_release || order == memory_order_acq_rel ||
           order == memory_order_seq_cst;
}

static void acquire(sb_history_t *history, const word_t *word, uint32_t message, uint32_t rank)
{
    const message_t *from = &word->messages[message % DEPTH];
    uint32_t *clock = clock_of(history, rank);

    if (!from->releases || (from->whole && clock[from->writer] >= from->epoch))
        return;
    join(clock, message_clock(history, word, message), history->width);
}

static void next_epoch(sb_history_t *history, uint32_t rank)
{
    uint32_t *clock = clock_of(history, rank);

    clock[history->ranks + rank] = ++clock[rank];
}

/* Appends a message. `sequence`: it continues the release sequence of the one before. */
static void append(sb_history_t *history, word_t *word, uint32_t rank, uint64_t value, bool release,
                   bool sequence, const sb_site_t *site)
{
    const message_t *before = &word->messages[word->newest % DEPTH];
    const uint32_t *inherited =
        sequence && before->releases ? message_clock(history, word, word->newest) : NULL;
    uint32_t number = ++word->newest;
    uint32_t *clock = message_clock(history, word, number);

    word->messages[number % DEPTH] = (message_t){
        .value = value,
        .store = ++history->stores,
        .writer = rank,
        .epoch = clock_of(history, rank)[rank],
        .releases = release || inherited != NULL,
        .whole = release && inherited == NULL,
        .site = site,
    };
    if (release)
        memcpy(clock, clock_of(history, rank), history->width * sizeof *clock);
    if (inherited != NULL && release)
        join(clock, inherited, history->width);
    else if (inherited != NULL)
        memcpy(clock, inherited, history->width * sizeof *clock);
    touch(history, word, rank, number, site);
    if (release)
        next_epoch(history, rank);
}

uint64_t sb_history_load(sb_history_t *history, uint32_t rank, sb_where_t where, uint64_t now,
                         memory_order order, const sb_site_t *site)
{
    if (order == memory_order_seq_cst)
        sb_history_fence(history, rank);
    word_t *word = word_at(history, where, now);
    uint32_t message = choose_message(history, word, rank);

    touch(history, word, rank, message, site);
    if (acquires(order))
        acquire(history, word, message, rank);
    return word->messages[message % DEPTH].value;
}

void sb_history_store(sb_history_t *history, uint32_t rank, sb_where_t where, uint64_t now,
                      uint64_t value, memory_order order, const sb_site_t *site)
{
    if (order == memory_order_seq_cst)
        sb_history_fence(history, rank);
    append(history, word_at(history, where, now), rank, value, releases(order), false, site);
}

void sb_history_add(sb_history_t *history, uint32_t rank, sb_where_t where, uint64_t now,
                    uint64_t amount, memory_order order, const sb_site_t *site)
{
    if (order == memory_order_seq_cst)
        sb_history_fence(history, rank);
    word_t *word = word_at(history, where, now);

    if (acquires(order))
        acquire(history, word, word->newest, rank);
    /* Who acquires and releases passes on, with its own clock, what it has acquired. */
    bool sequence = !(acquires(order) && releases(order));
    append(history, word, rank, now + amount, releases(order), sequence, site);
}

void sb_history_fence(sb_history_t *history, uint32_t rank)
{
    uint32_t *visible = clock_of(history, rank) + history->ranks;

    join(history->fenced, visible, history->ranks);
    memcpy(visible, history->fenced, history->ranks * sizeof *visible);
    next_epoch(history, rank);
}

void sb_history_fence_all(sb_history_t *history)
{
    history->floor = history->stores;
    for (uint32_t rank = 0; rank < history->ranks; rank++) {
        join(history->fenced, clock_of(history, rank) + history->ranks, history->ranks);
        next_epoch(history, rank);
    }
    for (uint32_t rank = 0; rank < history->ranks; rank++)
        join(clock_of(history, rank) + history->ranks, history->fenced, history->ranks);
}

void sb_history_meet(sb_history_t *history)
{
    uint32_t *first = clock_of(history, 0);

    for (uint32_t rank = 1; rank < history->ranks; rank++)
        join(first, clock_of(history, rank), history->width);
    for (uint32_t rank = 1; rank < history->ranks; rank++)
        memcpy(clock_of(history, rank), first, history->width * sizeof *first);
    for (uint32_t rank = 0; rank < history->ranks; rank++)
        next_epoch(history, rank);
}

uint32_t *sb_history_send(sb_history_t *history, uint32_t rank)
{
    size_t bytes = history->width * sizeof(uint32_t);
    uint32_t *clock = malloc(bytes);

    if (clock == NULL)
        return NULL;
    memcpy(clock, clock_of(history, rank), bytes);
    next_epoch(history, rank);
    return clock;
}

void sb_history_receive(sb_history_t *history, uint32_t rank, const uint32_t *clock)
{
    join(clock_of(history, rank), clock, history->width);
}

uint32_t sb_history_epoch(const sb_history_t *history, uint32_t rank)
{
    return clock_of(history, rank)[rank];
}

bool sb_history_before(const sb_history_t *history, const sb_stamp_t *access, uint32_t rank)
{
    return access->epoch <= clock_of(history, rank)[access->rank];
}

sb_stamp_t sb_history_last_store(const sb_history_t *history, sb_where_t where)
{
    const word_t *word = find_word(history, where);

    if (word == NULL)
        return (sb_stamp_t){0};
    const message_t *newest = &word->messages[word->newest % DEPTH];
    return (sb_stamp_t){newest->writer, newest->epoch, newest->site};
}

void sb_history_visit(const sb_history_t *history, uint32_t block,
                      bool (*visit)(void *context, sb_where_t where, const sb_stamp_t *access),
                      void *context)
{
    uint32_t number = block < history->table_count ? history->tables[block].first : 0;

    for (; number != 0; number = history->words[number - 1].next) {
        const word_t *word = &history->words[number - 1];
        for (uint32_t rank = 0; rank < history->ranks; rank++) {
            const sb_stamp_t *last = &seen_by(history, word, rank)->last;
            if (last->epoch != 0 && !visit(context, word->where, last))
                return;
        }
    }
}
