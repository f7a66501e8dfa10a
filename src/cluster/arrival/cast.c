/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/arrival/cast.h"

#include "cluster/arrival/words.h"
#include "cluster/cost.h"

#include <math.h>

/* --- at the root --------------------------------------------------------------------------- */

static sb_guest_t *guest_of(const sb_cast_t *cast, uint32_t node)
{
    return &cast->cluster->doorway->guest[node];
}

void sb_cast_from(sb_cast_t *cast, uint32_t node, uint32_t from, bool last)
{
    sb_word_say(cast->cluster, guest_of(cast, node)->leader, false,
                (sb_word_t){.kind = SB_FROM, .rank = from, .last = last});
}

void sb_cast_serve(sb_cast_t *cast, uint32_t node, uint32_t to, bool last)
{
    sb_guest_t *guest = guest_of(cast, node);
    uint32_t rank = guest_of(cast, to)->leader;

    guest->told++;
    if (node == cast->cluster->node)
        cast->cluster->doorway->child[cast->transit.children++] = rank;
    else
        sb_word_say(cast->cluster, guest->leader, false,
                    (sb_word_t){.kind = SB_SERVE, .rank = rank, .last = last});
}

static void let_leave(sb_cast_t *cast, sb_guest_t *guest)
{
    guest->open = false;
    sb_word_say(cast->cluster, guest->leader, false, (sb_word_t){.kind = SB_LEAVE, .last = true});
}

static bool is_in_segments(const sb_cast_t *cast)
{
    return cast->transit.segments > 1;
}

static void settle(sb_cast_t *cast, sb_guest_t *guest)
{
    guest->settles = false;
    cast->unsettled--;
}

/* Of what was said before it heard of all that it is to serve nothing follows. */
static void is_free(sb_cast_t *cast, sb_guest_t *guest, uint32_t served)
{
    if (served != guest->told || !guest->settles)
        return;
    if (guest->open)
        let_leave(cast, guest);
    settle(cast, guest);
}

static void asks(sb_cast_t *cast, uint32_t node, const sb_word_t *word)
{
    sb_cluster_t *cluster = cast->cluster;

    if (word->bytes != cast->transit.stream->bytes)
        sb_cluster_fails(cluster, SB_ERR_TRUNCATE);
    guest_of(cast, node)->leader = word->rank;
    cast->missing--;
    cast->asked(cast, node);
}

/* All have asked: those that may be told of more are told to leave, one in each turn. */
static void let_next_leave(sb_cast_t *cast)
{
    uint32_t nodes = cast->cluster->map.nodes;

    while (cast->leaving < nodes && !guest_of(cast, cast->leaving)->open)
        cast->leaving++;
    if (cast->leaving < nodes)
        let_leave(cast, guest_of(cast, cast->leaving));
}

static void take_at_root(sb_cast_t *cast, const sb_word_t *word)
{
    uint32_t node = cast->cluster->map.node_of[word->rank];

    if (word->kind == SB_ASK)
        asks(cast, node, word);
    else
        is_free(cast, guest_of(cast, node), word->count);
}

/* --- the choice of who serves -------------------------------------------------------------- */

/* If the guest's next is served by `server`: when that begins, and when it has all. */
typedef struct prospect {
    uint32_t server;
    double begin;
    double end;
} prospect_t;

/* What the root has still to send, as it is and not as it should be: prices may be wrong. */
static double unsent(const sb_cast_t *cast)
{
    const sb_transit_t *transit = &cast->transit;
    uint64_t segments = (uint64_t)transit->children * transit->segments - transit->sent;

    return (double)segments * (double)transit->segment * cast->cluster->seen.byte;
}

static prospect_t prospect_of(const sb_cast_t *cast, uint32_t server, double now)
{
    const sb_net_prices_t *prices = &cast->cluster->seen;
    const sb_guest_t *guest = guest_of(cast, server);
    const sb_transit_t *transit = &cast->transit;
    bool here = server == cast->cluster->node;
    double told = here ? now : now + sb_cost_word(prices);
    double link = (double)(transit->stream->bytes - transit->segment) * prices->byte;
    double way = sb_cost_message(prices, transit->segment);
    double idle = here ? fmax(guest->idle, now + unsent(cast)) : guest->idle;
    double begin = fmax(fmax(told, idle), guest->first);
    double end = fmax(begin + way + link, guest->whole + way);

    return (prospect_t){server, begin, end};
}

/* Of a message in segments only the end of the chain stays, for whoever comes next. */
static void keep_end(sb_cast_t *cast, uint32_t end)
{
    for (uint32_t node = 0; node < cast->cluster->map.nodes; node++) {
        sb_guest_t *guest = guest_of(cast, node);
        if (node != end && guest->open)
            let_leave(cast, guest);
    }
}

/* Who serves already sends the message once more only where that saves a tenth, in segments only
 * where it saves half: so what each node sends stays even. */
#define ONCE_MORE 1.1
#define ONCE_MORE_IN_SEGMENTS 2

static double weight_of(const sb_cast_t *cast, const prospect_t *prospect, double now)
{
    double more = is_in_segments(cast) ? ONCE_MORE_IN_SEGMENTS : ONCE_MORE;

    return (prospect->end - now) * (guest_of(cast, prospect->server)->told > 0 ? more : 1);
}

static prospect_t soonest(const sb_cast_t *cast, double now)
{
    uint32_t self = cast->cluster->node;
    prospect_t best = prospect_of(cast, self, now);

    for (uint32_t node = 0; node < cast->cluster->map.nodes; node++) {
        if (!guest_of(cast, node)->open)
            continue;
        prospect_t other = prospect_of(cast, node, now);
        if (weight_of(cast, &other, now) < weight_of(cast, &best, now))
            best = other;
    }
    return best;
}

void sb_cast_soonest(sb_cast_t *cast, uint32_t node)
{
    const sb_net_prices_t *prices = &cast->cluster->seen;
    sb_guest_t *guest = guest_of(cast, node);
    prospect_t best = soonest(cast, (double)sb_now_ns());
    sb_guest_t *server = guest_of(cast, best.server);
    bool last = cast->missing == 0, chain = is_in_segments(cast);

    guest->first = best.begin + sb_cost_message(prices, cast->transit.segment);
    guest->whole = best.end;
    guest->idle = 0;
    guest->open = !last;
    guest->settles = !last && !chain;
    cast->unsettled += guest->settles;
    server->idle = best.end - sb_cost_word(prices);
    server->open = server->open && !chain;
    sb_cast_serve(cast, best.server, node, chain);
    sb_cast_from(cast, node, server->leader, last);
    if (chain)
        keep_end(cast, node);
}

/* --- elsewhere ----------------------------------------------------------------------------- */

static void say_free(sb_cast_t *cast)
{
    uint32_t served = cast->transit.children;

    if (!cast->open || cast->freed == served + 1)
        return;
    cast->freed = served + 1;
    sb_word_say(cast->cluster, cast->root, true,
                (sb_word_t){.kind = SB_FREE, .rank = cast->cluster->rank, .count = served});
}

static void take_from_root(sb_cast_t *cast, const sb_word_t *word)
{
    cast->over = word->last != 0;
    if (word->kind == SB_FROM) {
        cast->transit.source = word->rank;
        cast->open = cast->asked == sb_cast_soonest && !is_in_segments(cast) && !cast->over;
    } else if (word->kind == SB_SERVE) {
        cast->cluster->doorway->child[cast->transit.children++] = word->rank;
    } else if (!is_in_segments(cast)) {
        say_free(cast);
    }
    if (cast->over)
        cast->open = false;
}

/* --- both ---------------------------------------------------------------------------------- */

static bool is_root(const sb_cast_t *cast)
{
    return cast->cluster->rank == cast->root;
}

/* Whether another word is to come. */
static bool expects(const sb_cast_t *cast)
{
    return is_root(cast) ? cast->missing > 0 || cast->unsettled > 0 : !cast->over;
}

static void listen(sb_cast_t *cast)
{
    if (expects(cast))
        sb_word_listen(cast->cluster, is_root(cast) ? SB_NET_ANY : cast->root,
                       &cast->cluster->doorway->heard, &cast->hearing);
}

static void take(sb_cast_t *cast, const sb_word_t *word)
{
    if (is_root(cast))
        take_at_root(cast, word);
    else
        take_from_root(cast, word);
}

/* One word, if there is one. */
static bool hear(sb_cast_t *cast)
{
    uint32_t from = is_root(cast) ? SB_NET_ANY : cast->root;
    sb_word_t *heard = &cast->cluster->doorway->heard;

    if (!sb_word_has_come(cast->cluster, from, heard, &cast->hearing))
        return false;
    take(cast, heard);
    listen(cast);
    return true;
}

/*
 * At the root, a word waits for the segments that its link has been given. So these are few while
 * there are words to say, and one in the beginning: the first guest is to hear of the second when
 * it has a segment for it.
 */
static void give_way(sb_cast_t *cast)
{
    uint32_t guests = cast->cluster->map.nodes - 1 - cast->missing;
    uint32_t few = guests > 1 || cast->transit.sent > 1 ? 2 : 1;

    cast->transit.met = cast->missing > 0;
    cast->transit.ahead = cast->missing == 0 ? cast->ahead : sb_min(few, cast->ahead);
}

/* The message goes on between words: of these the root hears and says many. */
static void turn(void *context)
{
    sb_cast_t *cast = context;
    bool heard;

    do {
        heard = hear(cast);
        if (is_root(cast) && cast->missing == 0)
            let_next_leave(cast);
        if (is_root(cast) && is_in_segments(cast))
            give_way(cast);
        sb_words_are_gone(cast->cluster);
        if (cast->cluster->failure == SB_OK)
            sb_transit_turn(&cast->transit);
    } while (heard && cast->cluster->failure == SB_OK);
    if (cast->open && sb_transit_is_under_way(&cast->transit))
        say_free(cast);
}

static bool is_done(void *context)
{
    const sb_cast_t *cast = context;

    return !expects(cast) && sb_transit_is_done(&cast->transit) &&
           cast->cluster->doorway->spoken == cast->cluster->doorway->words;
}

/* The root knows itself, and nobody else yet. */
static void receive_guests(sb_cast_t *cast)
{
    sb_cluster_t *cluster = cast->cluster;
    sb_word_t word;

    for (uint32_t node = 0; node < cluster->map.nodes; node++)
        *guest_of(cast, node) = (sb_guest_t){.leader = SB_NET_ANY};
    guest_of(cast, cluster->node)->leader = cluster->rank;
    cast->missing = cluster->map.nodes - 1;
    while (cluster->failure == SB_OK && sb_word_kept(cluster, &word))
        take(cast, &word);
}

static sb_status_t lead(sb_cast_t *cast)
{
    sb_cluster_t *cluster = cast->cluster;

    if (is_root(cast))
        receive_guests(cast);
    else
        sb_word_say(cluster, cast->root, true,
                    (sb_word_t){.kind = SB_ASK,
                                .rank = cluster->rank,
                                .bytes = cast->transit.stream->bytes});
    listen(cast);
    cluster->refill = turn;
    cluster->refill_context = cast;
    sb_programs_turn(cluster);
    if (sb_transit_on_node(&cast->transit) == SB_OK)
        sb_cluster_wait(cluster, is_done, cast);
    return sb_transit_close(&cast->transit);
}

sb_status_t sb_cast(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream, size_t segment,
                    uint32_t ahead, sb_asked_t *asked)
{
    sb_cast_t cast = {.cluster = cluster, .asked = asked, .root = root, .ahead = ahead};
    sb_status_t status;

    if (!sb_form_begins(cluster, root, stream, true, &status))
        return status;
    status = sb_transit_open(&cast.transit, cluster, root, stream, segment, ahead);
    return status == SB_OK ? lead(&cast) : status;
}
