/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_STATE_H
#define SB_MACHINE_SIM_STATE_H

/* For the files of this folder only: what the engine is made of. */

#include "machine/primitive.h"
#include "machine/sim/booking.h"
#include "machine/sim/engine.h"
#include "machine/sim/fibre.h"
#include "machine/sim/net.h"

#define SB_SIM_PAGE 4096
#define SB_SIM_PAGE_LINES (SB_SIM_PAGE / SB_LINE)
#define NOBODY UINT32_MAX
/* So far behind a user's memory is where others see it. */
#define SB_SIM_VIEW ((size_t)1 << 37)

/*
 * One line of shared memory, as the caches see it. `sets`: the cores that hold it, by bits; behind
 * these, where third-level caches serve their own cores, until when each is busy with it. All that
 * an access needs lies together: a simulation of many ranks waits for its own caches most of all.
 */
typedef struct sb_line {
    uint64_t commit;      /* the last write is visible from then on */
    uint64_t free;        /* the next request is served from then on */
    uint32_t stamp_core;  /* lines that the writer, */
    uint32_t stamp_group; /* and its third-level cache, had moved at the last write */
    uint32_t owner;       /* core that wrote last; NOBODY: nobody did */
    uint32_t waiting;     /* first of the ranks that spin on it, or NOBODY */
    uint64_t sets[];
} sb_line_t;

/* One page of memory, found by its address. */
typedef struct sb_page {
    union {
        char *lines;   /* of shared memory: each has line_bytes; NULL: none was used */
        uint64_t held; /* of a user's buffer: by bits, those that its rank's caches hold, */
    };
    uint32_t stamp_core; /* since then */
    uint32_t stamp_group;
    uint32_t block;
    uint32_t place; /* in the block */
    uint8_t numa;   /* its node; NO_NUMA: untouched */
} sb_page_t;

typedef struct sb_memory_block {
    char *base;
    uint64_t bytes;
    sb_page_t *pages;
    uint32_t owner;
    uint32_t node; /* machine */
    bool shared;
    bool dead;
    bool heaped; /* others read it by loads, */
    char *file;  /* and see this, since its owner has forked */
} sb_memory_block_t;

#define NO_NUMA 0xff

/* A line with all that belongs to it. */
typedef struct sb_place_of_line {
    const sb_memory_block_t *block;
    sb_line_t *line;
    uint64_t *holders;
    uint64_t *served; /* [third-level cache]; NULL: all requests wait in one queue */
    uint8_t numa;
} sb_line_place_t;

typedef enum sb_rank_state {
    SB_RANK_READY, /* waits for its processor */
    SB_RANK_RUNS,  /* has it, and a turn by its clock, unless it is the running rank */
    SB_RANK_SPINS, /* has it, looks at a line; its turn is when it loses patience */
    SB_RANK_SLEEPS,
    SB_RANK_MEETS,
    SB_RANK_RECEIVES, /* has its processor; its turn is when its mail comes, if any is known */
    SB_RANK_ENDED,
} sb_rank_state_t;

/* What a rank's heap tells: to others, and to itself; written by the thread that forks. */
typedef struct sb_heap_words {
    sb_word32_t ended;
    sb_word32_t own;
    sb_word32_t mapped; /* a place in the order of steps, for the new mapping */
} sb_heap_words_t;

typedef struct sb_heap_state {
    sb_heap_words_t *words; /* NULL: all that the rank has is shared, and stays so */
    uint32_t room;          /* blocks; UINT32_MAX: no end */
} sb_heap_state_t;

typedef struct sb_own_state {
    const void *key;
    void *state;
    struct sb_own_state *next;
} sb_own_state_t;

/* What a rank waits for, for reports. */
typedef struct sb_awaited {
    uint32_t block; /* NOBODY: nothing */
    uint64_t offset;
    uint64_t wanted;
} sb_awaited_t;

/* What each step needs comes first. */
typedef struct sb_rank {
    uint32_t number;
    uint32_t node;
    uint32_t core;
    uint32_t processor;
    sb_rank_state_t state;
    bool expired;     /* a spin or a sleep has come to its limit */
    bool interrupted; /* its clock was moved while it waited */
    bool copies;      /* what it moves are bytes, for which bandwidths tell, and no flags */
    bool pending_spin;
    uint32_t next; /* on the line, or in a processor's queue, or among sleepers */
    uint64_t clock;
    uint64_t drain;  /* its stores are visible from then on */
    uint64_t serial; /* loads cannot have been sent before */
    uint64_t sent;   /* when the last one was */
    sb_fibre_t fibre;
    sb_sim_spot_t spot;
    sb_line_t *line; /* that it spins on */
    uint64_t deadline;
    uint32_t loads;
    uint32_t stores;
    uint64_t retired[SB_OVERLAP_MOST];
    uint64_t written[SB_OVERLAP_MOST]; /* when each of the last stores became visible */
    uint32_t futex_block;
    uint64_t futex_offset;
    sb_awaited_t awaited;
    uint64_t wait_began;
    uint64_t pending_wanted; /* a guided spin: enabled when the word is as large */
    sb_own_state_t *own;
    sb_heap_state_t heap;
    struct sb_message *mail;
    struct sb_net_request *requests; /* under way, in the order in which they were begun */
    uint64_t mail_news;              /* counts what has happened to either */
    bool mail_active;                /* it has begun something, or a look was not in vain */
    bool mail_in_vain;               /* a look was; at the first of them */
    uint64_t mail_seen;              /* that was the count, */
    uint64_t mail_looked;            /* and this the time */
} sb_rank_t;

typedef struct sb_processor {
    uint32_t current; /* rank, or NOBODY */
    uint32_t last;
    uint32_t first; /* queue */
    uint32_t tail;
    uint64_t slice_end;
    uint64_t next_noise;
    uint64_t noise_state;
} sb_processor_t;

/* What a core has fetched last, and when it had it. */
typedef struct sb_fill {
    const sb_line_t *line;
    uint64_t done;
} sb_fill_t;

typedef struct sb_meeting {
    uint32_t members;
    uint32_t here;
    uint64_t latest;
    char *board;
    size_t board_bytes;
} sb_meeting_t;

/* A node's way to the network, */
typedef struct sb_wire {
    uint64_t out;    /* until then it is busy with what was sent; */
    sb_booking_t in; /* and what comes to it */
    sb_sim_messages_t sent;
} sb_wire_t;

/* When a rank goes on: its time, below that who is first at one time, and the rank. One number: no
 * processor guesses right which is less. */
typedef unsigned __int128 sb_turn_t;
#define NO_TURN (~(sb_turn_t)0)

struct sb_sim {
    sb_sim_options_t options;
    sb_sim_machine_t machine;
    uint32_t ranks;
    sb_rank_t *rank;
    sb_rank_t *running;
    sb_fibre_t outside;
    sb_sim_body_t *body;
    void *argument;
    uint32_t alive;
    sb_sim_end_t end;
    char problem[16384];

    /* Ranks by clock. */
    sb_turn_t *turns;  /* see set_turn */
    uint32_t leaves;   /* ranks, rounded up to a power of two, at least 2 */
    uint32_t *tie;     /* of each rank: who is first at one time */
    uint64_t progress; /* the last time that something changed */

    sb_processor_t *processors;
    uint32_t processors_per_node;
    uint32_t sleepers;      /* first */
    sb_meeting_t *meetings; /* of each node, and of all */

    bool guided;
    uint64_t reached;          /* copies by the kernel while it was guided */
    sb_sim_pending_t *pending; /* of each rank */

    /* Caches; all indexed by node * cores + core, but the masks by core. */
    uint32_t words;      /* of a set of cores */
    uint32_t line_bytes; /* of an sb_line_t with its sets */
    uint64_t *mask;      /* [core][distance][word] */
    uint8_t *distance;   /* [core][core] */
    uint32_t *numa_package;
    uint32_t *traffic_core;
    uint32_t *traffic_group;
    uint32_t groups; /* third-level caches of one node */
    sb_fill_t *fill;
    uint64_t *home;         /* [node][numa] */
    uint64_t *link_line;    /* [node][package] */
    uint64_t *controller;   /* [node][numa] */
    uint64_t *link_package; /* [node][numa][numa] */
    uint64_t *link_machine; /* [node][package][package] */
    sb_sim_lines_t lines;
    sb_wire_t *wire; /* of each node */
    sb_booking_t star;
    sb_sim_messages_t messages;

    /* Memory. */
    sb_memory_block_t *block;
    uint32_t blocks;
    uint64_t segment_pages; /* so far, where it is one */
    uint64_t ahead;         /* pages below are placed, */
    uint8_t ahead_numa;     /* there */

    sb_sim_record_t *records;
    size_t record_count;
    size_t record_room;
};

/* The one simulation. */
extern sb_sim_t *sb_sim;

static inline uint64_t sb_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of so many bytes at so many picoseconds a KiB. */
static inline uint64_t sb_bytes_time(uint64_t kib, uint64_t bytes)
{
    return (uint64_t)((unsigned __int128)kib * bytes / 1024);
}

/* schedule.c */
void sb_sim_reach(void);
void sb_sim_step(sb_sim_step_t step, uint32_t block, uint64_t offset);
void sb_sim_spin_on(sb_line_t *line, uint64_t deadline);
void sb_sim_wake_line(sb_line_t *line, uint64_t time);
void sb_sim_sleep_on(uint32_t block, uint64_t offset, uint64_t limit);
uint32_t sb_sim_wake_sleepers(uint32_t block, uint64_t offset, uint64_t time);
void sb_sim_yield(void);
void sb_sim_guided_wait(uint32_t block, uint64_t offset, uint64_t wanted);
void sb_sim_guided_sleep(uint32_t block, uint64_t offset);
void sb_sim_check_failed(void);
void sb_sim_await_mail(uint64_t arrival);
void sb_sim_mail_comes(sb_rank_t *rank, uint64_t arrival);
bool sb_sim_schedule_new(sb_sim_t *sim);
void sb_sim_schedule_begin(sb_sim_t *sim);
void sb_sim_schedule_free(sb_sim_t *sim);

/* memory.c */
typedef struct sb_range {
    char *base;
    sb_page_t *page; /* what is known of each */
    size_t open;     /* bytes that may be used */
    size_t used;
} sb_range_t;

/* Where all blocks lie; it outlives a simulation. */
extern sb_range_t sb_sim_range;

_Noreturn void sb_sim_refuse_dead(const sb_memory_block_t *block, uint32_t number);
void sb_sim_place_pages(sb_memory_block_t *block, uint64_t offset, const sb_rank_t *rank);
void sb_sim_make_lines(sb_page_t *page);
void sb_sim_memory_begin(sb_sim_t *sim);
void sb_sim_memory_free(sb_sim_t *sim);

/* NULL: it is no simulated memory. */
static inline const sb_page_t *sb_sim_page_of(const void *address)
{
    uintptr_t at = (uintptr_t)address - (uintptr_t)sb_sim_range.base;

    return at >= sb_sim_range.used ? NULL : &sb_sim_range.page[at / SB_SIM_PAGE];
}

/* In its block. */
static inline uint64_t sb_sim_offset_of(const sb_page_t *page, const void *address)
{
    return (uint64_t)page->place * SB_SIM_PAGE + (uintptr_t)address % SB_SIM_PAGE;
}

static inline sb_memory_block_t *sb_sim_find(const void *address, uint32_t *block, uint64_t *offset)
{
    const sb_page_t *page = sb_sim_page_of(address);

    if (page == NULL)
        return NULL;
    sb_memory_block_t *found = &sb_sim->block[page->block];
    *block = page->block;
    *offset = sb_sim_offset_of(page, address);
    if (SB_UNLIKELY(found->dead) && sb_sim->options.watch == NULL)
        sb_sim_refuse_dead(found, page->block);
    return found;
}

/* The first touch of a page places it. */
static inline sb_page_t *sb_sim_touch(sb_memory_block_t *block, uint64_t offset,
                                      const sb_rank_t *rank)
{
    sb_page_t *page = &block->pages[offset / SB_SIM_PAGE];

    if (SB_UNLIKELY(page->numa == NO_NUMA))
        sb_sim_place_pages(block, offset, rank);
    return page;
}

bool sb_sim_is_view(const void *address);

/* heap.c: the bytes that are read at an address, and where their owner has them. */
const void *sb_sim_seen(const void *address, const void **owners);

/* lines.c */
bool sb_sim_caches_new(sb_sim_t *sim);
void sb_sim_caches_begin(sb_sim_t *sim);
void sb_sim_caches_free(sb_sim_t *sim);
uint64_t sb_lines_read(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now);
uint64_t sb_lines_write(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now);
uint64_t sb_lines_fetch(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now);
uint64_t sb_lines_own(sb_rank_t *rank, const sb_line_place_t *place, uint64_t now);

/* Where a line is to be had from. */
typedef struct sb_source {
    sb_distance_t near;
    bool memory;
} sb_source_t;

/* Queues of a line: one for each third-level cache, or 0: the line has but one. */
static inline uint32_t sb_lines_queues(void)
{
    return sb_sim->machine.share_service == 0 ? 0 : sb_sim->groups;
}

/* The line at an offset of shared memory that is in use; false: it is neither. */
static inline bool sb_sim_line(sb_memory_block_t *block, uint64_t offset, sb_line_place_t *place)
{
    const sb_sim_t *sim = sb_sim;

    if (!block->shared || block->dead)
        return false;
    sb_page_t *page = sb_sim_touch(block, offset, sim->running);
    if (SB_UNLIKELY(page->lines == NULL))
        sb_sim_make_lines(page);
    uint64_t index = offset % SB_SIM_PAGE / SB_LINE;
    sb_line_t *line = (sb_line_t *)(void *)(page->lines + index * sim->line_bytes);
    *place = (sb_line_place_t){.block = block,
                               .line = line,
                               .holders = line->sets,
                               .served = sb_lines_queues() == 0 ? NULL : line->sets + sim->words,
                               .numa = page->numa};
    return true;
}

bool sb_lines_holds(const sb_rank_t *rank, const sb_line_place_t *place);
sb_source_t sb_lines_source(const sb_rank_t *rank, const sb_line_place_t *place);
sb_source_t sb_lines_rivals(const sb_rank_t *rank, const sb_line_place_t *place, uint32_t *rivals);
uint64_t sb_lines_turn(const sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                       uint64_t start);
sb_distance_t sb_lines_distance(const sb_rank_t *rank, const sb_rank_t *other);
sb_distance_t sb_lines_memory_distance(const sb_rank_t *rank, uint32_t numa);
void sb_lines_fetched(sb_rank_t *rank, const sb_line_place_t *place, sb_source_t source,
                      uint64_t done);
void sb_lines_owned(sb_rank_t *rank, const sb_line_place_t *place, uint64_t commit);
void sb_lines_forgotten(const sb_line_place_t *place);
void sb_lines_moved(const sb_rank_t *rank, uint32_t lines);

/* The NUMA node that a line comes from: that of its last writer, or of its memory. */
uint32_t sb_lines_origin(const sb_line_place_t *place, sb_source_t source);

/* links.c: bytes from a NUMA node, from memory or a cache there, pass what all cores share. */
typedef struct sb_passage {
    uint64_t wait; /* for those before */
    uint64_t done;
} sb_passage_t;

sb_passage_t sb_links_pass(const sb_rank_t *rank, uint32_t numa, sb_source_t source, uint64_t bytes,
                           uint64_t now);

/* copy.c: what a copy does at its target; streaming goes past the caches. */
typedef enum sb_access { SB_ACCESS_READ, SB_ACCESS_WRITE, SB_ACCESS_STREAM } sb_access_t;

uint64_t sb_combine_cost(sb_rank_t *rank, void *to, const void *const from[], uint32_t n,
                         size_t offset, size_t bytes);
/* primitive.c: bytes up to the end of the page. */
size_t sb_sim_page_rest(const void *address);

uint64_t sb_copy_cost(sb_rank_t *rank, void *to, const void *from, size_t bytes, sb_access_t access,
                      bool first);

/* net.c */
void sb_sim_net_begin(sb_sim_t *sim);
void sb_sim_net_end(sb_sim_t *sim);
bool sb_sim_has_news(const sb_rank_t *rank);
void sb_sim_net_touch(const void *address, size_t bytes, bool written);

/* engine.c */
void sb_sim_note(sb_sim_activity_t activity, uint64_t begin, uint64_t end);

static inline uint32_t sb_sim_core_index(const sb_rank_t *rank)
{
    return rank->node * sb_sim->machine.cores + rank->core;
}

#endif
