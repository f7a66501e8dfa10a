/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ARRIVAL_ARRIVAL_H
#define SB_CLUSTER_ARRIVAL_ARRIVAL_H

#include "base/forms.h"
#include "cluster/operations.h"

/*
 * Broadcasts over nodes whose leaders are the ranks that come first. On each node an election in a
 * queue of requests (hall.c) tells its ranks who leads. A message has to be sent to a rank, and
 * nobody but the node knows who that is: so leaders ask the root, the only rank that is certain to
 * come, and the root tells each whom it gets the message from, and whom to send it on to. These are
 * words of a few bytes (words.h). The message itself is in transit from leader to leader
 * (transit.h).
 */

extern const sb_spanning_t sb_bcast_cp_chain;

/*
 * The forms that are taken by name alone (baseline/forms.h), for a message of so many bytes. Set
 * before there are clusters; NULL: they are not here, and then nobody has asked for one.
 */
typedef const sb_spanning_t *sb_form_find_t(const sb_cluster_t *cluster, sb_form_t form,
                                            size_t bytes);
extern sb_form_find_t *sb_form_by_name;

/* From a rank to the root, or back. */
typedef enum sb_word_kind {
    SB_ASK,   /* the rank leads its node and wants the message */
    SB_FREE,  /* it has served all `count` that it was told of */
    SB_FROM,  /* the message comes from `rank` */
    SB_SERVE, /* send it to `rank`, too */
    SB_LEAVE, /* nothing else will be asked */
} sb_word_kind_t;

typedef struct sb_word {
    uint64_t call;
    uint64_t bytes; /* of the message */
    uint32_t kind;
    uint32_t rank;
    uint32_t count;
    uint32_t last; /* to the root: not looked at; from it: no further word comes */
} sb_word_t;

/* What a root knows of a node: its leader, and when that has what, in ns of the root's clock. */
typedef struct sb_guest {
    uint32_t leader; /* SB_NET_ANY: nobody has asked */
    uint32_t told;   /* how many it serves */
    bool open;       /* it may be told of more */
    bool settles;    /* it has still to say that it is done with what it was told */
    double first;    /* the first segment is there, */
    double whole;    /* and all */
    double idle;     /* its link has nothing more to send */
} sb_guest_t;

typedef struct sb_waits {
    uint64_t calls;
    uint64_t agree_at; /* calls after which all agree again */
    uint64_t came;     /* to the present call */
    int64_t lost;      /* by this rank, since all agreed last, in ns */
    uint64_t counted;  /* calls since then */
    bool suffers;      /* as all agreed: to wait for fixed leaders costs more than to ask */
    bool watched;      /* the node has a hall */
} sb_waits_t;

/* What a rank keeps for all calls. */
typedef struct sb_doorway {
    uint64_t elections; /* counted alike by all */
    uint64_t passed;    /* by all ranks of the node, as far as is known here */
    sb_waits_t waits;
    sb_guest_t *guest; /* of each node */
    uint32_t *child;   /* ranks to serve, one for each node */
    uint32_t *leader;  /* of each node, for the forms that are taken by name alone */
    sb_word_t *said;   /* words under way: three for each node, and their */
    sb_net_request_t **saying;
    sb_word_t heard;
    uint32_t words;   /* said in the present call */
    uint32_t spoken;  /* of which so many are gone */
    sb_word_t *early; /* of later calls */
    uint32_t early_count;
    uint32_t early_room;
} sb_doorway_t;

/* Makes it at the first call. SB_ERR_MEMORY: nothing follows. */
sb_status_t sb_doorway_need(sb_cluster_t *cluster);
void sb_doorway_free(sb_cluster_t *cluster);

/*
 * The election for the present call: *leader is the rank that came first of this node, or `root`,
 * if it is of this node. All ranks of a node take part in all elections. Where the node has no
 * memory for the queue it is its lowest rank.
 */
sb_status_t sb_hall_enter(sb_cluster_t *cluster, sb_collective_t collective, uint32_t root,
                          uint32_t *leader);

/* The hall without an election. SB_ERR_UNSUPPORTED, alike on the node: there is none. */
sb_status_t sb_hall_need(sb_cluster_t *cluster);
/* This rank comes to the call, by sb_now_ns. Calls are numbered from 1 on. */
void sb_hall_stamp(const sb_cluster_t *cluster, uint64_t call, uint64_t time);
/* When the rank with that number on the node came to it; false: it has not. */
bool sb_hall_time(const sb_cluster_t *cluster, uint32_t local, uint64_t call, uint64_t *time);

/*
 * What the ranks lose by waiting for the fixed leader of their node: every rank counts that in each
 * broadcast whose form is not given, and now and then all agree on the mean. These begin and end
 * such a call. Return the cluster's failure.
 */
sb_status_t sb_waits_begin(sb_cluster_t *cluster, uint32_t root);
sb_status_t sb_waits_end(sb_cluster_t *cluster, uint32_t root);

/*
 * The heads of a scatter's nodes, by SOBOR_CLUSTER_SCATTER. The first gets the teams what moving
 * parts needs, begins to count waits, where they decide, and says whether heads are those that come
 * first. SB_ERR_UNSUPPORTED: nothing was begun. The second ends the call. Return the cluster's
 * failure.
 */
sb_status_t sb_heads_begin(sb_cluster_t *cluster, uint32_t root, bool *first);
sb_status_t sb_heads_end(sb_cluster_t *cluster, uint32_t root);
/* The election of the present call's head of this node: the first to come, or the root. */
sb_status_t sb_heads_elect(sb_cluster_t *cluster, uint32_t root, uint32_t *leader);

/*
 * What a directed broadcast takes longer if all come together: a message to the root and one back,
 * and two of each other node that the root handles.
 */
double sb_order_extra(const sb_cluster_t *cluster);

/*
 * Whether the order of arrival is taken because ranks suffer. Where ranks share processors their
 * waits are the scheduler's, and each word costs a turn of it.
 */
bool sb_waits_speak(const sb_cluster_t *cluster);

/* What every form begins with: the call, and who leads: elected, or as ever. */
sb_status_t sb_form_opens(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream,
                          bool elects, uint32_t *leader);

/*
 * The same, of a form in which the node is led by one broadcast. True: this rank is to lead it.
 * False: it was led, or nothing can follow, and the call is over with *status.
 */
bool sb_form_begins(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream, bool elects,
                    sb_status_t *status);

#endif
