/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_PROGRAM_H
#define SB_CLUSTER_PROGRAM_H

#include "cluster/net/partners.h"
#include "coll/coll.h"
#include "machine/net.h"

/*
 * A program is what one leader does between nodes with one segment: steps one after another, each
 * of some messages that are under way together. A step is over when all of them are done and what
 * came is combined. Programs go on whenever somebody turns them: from the progress of any wait of
 * the team, and in waits for the network. Several may be open; they do not wait for each other.
 */

struct sb_cluster;
struct sb_program;

/* What becomes of bytes that have come. */
typedef enum sb_landing {
    SB_STAYS,      /* they stay where they are */
    SB_FOLD_LEFT,  /* they are combined into what is at `into`: before it, */
    SB_FOLD_RIGHT, /* or after it */
} sb_landing_t;

typedef struct sb_message {
    uint32_t node; /* to or from */
    bool receives;
    bool at_most; /* fewer bytes may come; then `bytes` becomes theirs */
    sb_landing_t landing;
    char *data; /* of what is sent it stays as it is */
    size_t bytes;
    char *into;
    char *also;                /* and into this; or NULL */
    sb_net_request_t *request; /* the program's own */
} sb_message_t;

/* As many as a binomial tree over all nodes that 32 bits can number needs. */
#define SB_MESSAGES_MOST 32

typedef struct sb_step {
    uint32_t count; /* 0: nothing is to be done */
    uint32_t folds; /* messages that are combined */
    sb_message_t message[SB_MESSAGES_MOST];
} sb_step_t;

/* Bytes [from, from + most) of the part of each rank, or what it has of them, packed node by node.
 */
typedef struct sb_packing {
    const struct sb_map *map;
    const sb_stream_t *part; /* of each rank; may be NULL if */
    size_t each;             /* all are of so many bytes; 0: they are not */
    size_t from;
    size_t most;
} sb_packing_t;

/* Writes step `number`; false: there are no more. */
typedef bool sb_program_step_t(struct sb_program *program, uint32_t number, sb_step_t *step);

typedef struct sb_program {
    sb_program_step_t *write_step;
    bool open;
    bool last_leads; /* the last rank of each node speaks for it, whatever `root` is */
    uint32_t tag;
    uint32_t number; /* of the step under way */
    sb_step_t step;
    /* For write_step. */
    uint32_t nodes;
    uint32_t self; /* node */
    uint32_t root; /* rank that speaks for its node */
    uint32_t root_node;
    char *bytes_at; /* what the program is about: of the call's bytes */
    size_t offset;  /* from here on */
    size_t bytes;   /* so many */
    char *scratch;  /* a segment */
    char *before;   /* of an exscan: where what is before the node comes */
    bool laned;     /* between ranks of one number on their nodes, not between leaders */
    const sb_partners_t *partners; /* or between those that have to do with each other; or NULL */
    const uint32_t *leaders;       /* of each node, where these are not as `root` says; or NULL */
    uint32_t halvings;             /* rounds that halve what is combined, before others double it */
    uint32_t split_digits;         /* that a round of those covers, */
    uint32_t digits;               /* and one of recursive doubling */
    const sb_operator_t *operation;
    bool in_order; /* a reduction combines in the order of nodes, whichever is the root's */
    sb_packing_t packing;
    void *context;
} sb_program_t;

/*
 * The program of the call's segment of that number, closed, with `root` as in sb_leader_of: to be
 * completed and begun. The program SB_WINDOW segments before is over.
 */
sb_program_t *sb_program_of(struct sb_cluster *cluster, size_t segment, uint32_t root);
/* The tag of the call's messages of that segment. */
uint32_t sb_tag_of(const struct sb_cluster *cluster, size_t segment);
/* Of what leaders and root say to each other, in all calls: see arrival/words.h. */
uint32_t sb_word_tag(bool to_root);
void sb_program_begin(struct sb_cluster *cluster, sb_program_t *program);

/* Looks at a message of so many bytes, or at most so many: once it is over there is no request. How
 * many came. */
size_t sb_request_look(struct sb_cluster *cluster, sb_net_request_t **request, size_t bytes,
                       bool at_most);

/* How the team waits: a program was begun, or the call is over. */
void sb_programs_hurry(struct sb_cluster *cluster, bool under_way);

/* Turns all open programs as far as they go now. */
void sb_programs_turn(struct sb_cluster *cluster);

/* Waits until the segment's program is over. Returns the cluster's failure, or of the wait. */
sb_status_t sb_program_wait(struct sb_cluster *cluster, size_t segment);

/* Waits until no program is open. Returns as sb_program_wait. */
sb_status_t sb_programs_end(struct sb_cluster *cluster);

/* Waits for what `ready` says; programs are turned before each look. */
sb_status_t sb_cluster_wait(struct sb_cluster *cluster, bool (*ready)(void *context),
                            void *context);

/* The next message of the step. */
static inline sb_message_t *sb_step_add(sb_step_t *step, uint32_t node, void *data, size_t bytes)
{
    sb_message_t *message = &step->message[step->count++];

    *message = (sb_message_t){.node = node, .data = data, .bytes = bytes};
    return message;
}

static inline void sb_step_send(sb_step_t *step, uint32_t node, void *data, size_t bytes)
{
    sb_step_add(step, node, data, bytes);
}

static inline void sb_step_receive(sb_step_t *step, uint32_t node, void *data, size_t bytes)
{
    sb_step_add(step, node, data, bytes)->receives = true;
}

/* What the program is about goes from one node to another, unless that is the same. */
static inline void sb_step_pass(const sb_program_t *program, sb_step_t *step, uint32_t from,
                                uint32_t to)
{
    if (program->self == from && from != to)
        sb_step_send(step, to, program->bytes_at, program->bytes);
    else if (program->self == to && from != to)
        sb_step_receive(step, from, program->bytes_at, program->bytes);
}

/* Receives into the program's scratch memory and combines into `into`. Of several in a step, all of
 * the same bytes, those that land left stand before those that land right, each in the order in
 * which they were added. */
static inline void sb_step_fold(const sb_program_t *program, sb_step_t *step, uint32_t node,
                                char *into, size_t bytes, sb_landing_t landing)
{
    char *room = program->scratch + step->folds++ * bytes;
    sb_message_t *message = sb_step_add(step, node, room, bytes);

    message->receives = true;
    message->landing = landing;
    message->into = into;
}

/* The schedules, each in a file of net/. */
sb_program_step_t sb_net_dissemination;
sb_program_step_t sb_net_halving;
sb_program_step_t sb_net_ring;
sb_program_step_t sb_net_reduce_binomial;
sb_program_step_t sb_net_reduce_chain;

sb_program_step_t sb_net_exscan_doubling;
sb_program_step_t sb_net_exscan_chain;
sb_program_step_t sb_net_from_before;
sb_program_step_t sb_net_to_next;
sb_program_step_t sb_net_last_to_root;
sb_program_step_t sb_net_bruck;
sb_program_step_t sb_net_ring_blocks;
sb_program_step_t sb_net_gather;
sb_program_step_t sb_net_scatter;

/* Packed bytes of a rank, and of the first so many ranks in the order of nodes. */
size_t sb_packed_bytes(const sb_packing_t *packing, uint32_t rank);
size_t sb_packed_before(const sb_packing_t *packing, uint32_t members);

/* So many blocks up to that of the node `last`, which may begin behind the end. */
void sb_step_blocks(const sb_program_t *program, sb_step_t *step, uint32_t peer, bool receives,
                    uint32_t last, uint32_t count);

/* A tree of nodes, rooted at the root's, for broadcasts: writes the children and the parent. */
typedef struct sb_net_tree {
    uint32_t parent; /* of no meaning at the root */
    uint32_t children;
    uint32_t child[SB_MESSAGES_MOST];
} sb_net_tree_t;

/* Whether a chain makes so many segments arrive sooner than a binomial tree. */
bool sb_net_chain_suits(uint32_t nodes, size_t segments);
/* A chain, or a binomial tree. */
sb_net_tree_t sb_net_tree(uint32_t nodes, uint32_t self, uint32_t root, bool chain);

#endif
