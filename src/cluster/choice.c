/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an allreduce goes over nodes. The cost of a call is that of its first segment, alone, and for
 * each further one that of the slowest stage: the node's link, or a processor. A step of k messages
 * of g bytes each takes a latency, k + 1 times what a message costs a processor, which takes the
 * first in while the others come, and k g times a byte. Where ranks share processors nobody's work
 * is hidden: 2 k times. Numbers of bytes to try are powers of two.
 */
#include "cluster/cluster.h"
#include "cluster/cost.h"

#include <math.h>

#define PARTNERS_LEAST ((size_t)2048)

/* Digits of a round: the others of a group all send at once, and what they send has to fit. */
#define DIGITS_MOST 3

/* A lane with less has nothing to do that is worth its messages. */
#define LANE_LEAST ((size_t)SB_LINE)

/* What a node does with a segment before and after the messages, on a processor of today: so many
 * lines that it waits for, and so many copies of each byte. A leader alone has to hand the bytes on
 * once more. */
#define INSIDE_LINES 40
#define INSIDE_COPIES 6
#define LEADER_COPIES 8

/* Of what the lanes of a node have in a segment, each copies and combines as much as it has of the
 * whole: the messages of one go on while the node works on the next, so long ones hide more. */
#define LANES_MOST ((size_t)128 << 10)

/* Where a ring's parts are so long, nothing is taken that sends more bytes than a ring does: the
 * network may have other work. */
#define PART_LONG ((size_t)4096)

typedef struct asked {
    uint32_t nodes;
    uint32_t lanes;
    uint32_t rounds; /* that halve the largest power of two among the nodes */
    const sb_net_prices_t *prices;
    size_t bytes;
    bool crowded;
} asked_t;

/* Of programs with segments of one length, what the model tells apart. */
#define WORTH_ALIKE 0.95

static void take_program(const asked_t *asked, sb_schedule_t *way, sb_schedule_t other)
{
    if (!asked->crowded && other.segment == way->segment && other.cost < WORTH_ALIKE * way->cost)
        *way = other;
    else
        sb_schedule_take(way, other);
}

static size_t segment_most(const asked_t *asked)
{
    size_t most = SB_SEGMENT_BYTES * asked->lanes;

    return asked->lanes > 1 ? sb_min(most, LANES_MOST) : most;
}

/* A step of one lane, if it had the link alone. */
static double alone(const asked_t *asked, double messages, size_t bytes)
{
    const sb_net_prices_t *prices = asked->prices;
    double one = (double)bytes * prices->byte;
    double next = asked->crowded ? 2 * prices->overhead + one : fmax(prices->overhead, one);

    return sb_cost_message(prices, bytes) + (messages - 1) * next;
}

/* The steps of a segment, one after another. */
typedef struct steps {
    const asked_t *asked;
    double cost; /* until the first lane begins the next one, */
    double tail; /* and from then until the last lane is through */
} steps_t;

/*
 * So many steps more, in each of which the lanes of a node send so many bytes together, so many
 * times. The link has the first message of each lane before the second of any, so a lane whose
 * messages have come goes on while those of others are on the way, but not before all but one of
 * each are.
 */
static void add_steps(steps_t *steps, double count, double messages, size_t bytes)
{
    const asked_t *asked = steps->asked;
    size_t own = bytes / asked->lanes;
    double link = messages * (double)bytes * asked->prices->byte;
    double rest = link / messages, through = sb_cost_empty(asked->prices, own) + link;
    double each = fmax(alone(asked, messages, own), fmax(link, through - rest));

    if (count > 0) {
        steps->cost += count * each;
        steps->tail = fmax(0, through - each);
    }
}

static double cost_of(const steps_t *steps)
{
    return steps->cost + steps->tail;
}

/* Where N is no power of two some nodes give their bytes to a neighbour, and get the result. */
static steps_t begin_steps(const asked_t *asked, size_t bytes)
{
    steps_t steps = {.asked = asked};

    if (1u << asked->rounds != asked->nodes)
        add_steps(&steps, 2, 1, bytes);
    return steps;
}

/* Steps in which those that differ in some digits give each other so many bytes; of so many digits
 * at a time, and then of those that are left. */
static void add_exchanges(steps_t *steps, uint32_t all, uint32_t digits, size_t bytes)
{
    uint32_t rest = all % digits;

    add_steps(steps, all / digits, (1u << digits) - 1, bytes);
    if (rest > 0)
        add_steps(steps, 1, (1u << rest) - 1, bytes);
}

static double inside(const asked_t *asked, size_t bytes)
{
    const sb_prices_t *price = &sb_prices_standard;
    double copies = asked->lanes > 1 ? INSIDE_COPIES : LEADER_COPIES;

    return INSIDE_LINES * price->line + copies * price->byte * (double)bytes;
}

/* `one`: of a segment alone, between nodes; `sent`, `handled`: times its bytes that a link has, and
 * messages that a processor has, besides the work inside. */
static double course_cost(const asked_t *asked, double one, size_t segment, double sent,
                          double handled)
{
    size_t bytes = sb_min(segment, asked->bytes);
    double within = inside(asked, bytes);
    double messages = handled * asked->prices->overhead;
    /* Each lane has both; while a leader has messages its node goes on. */
    double busy = asked->lanes > 1 ? within + messages : fmax(within, messages);
    double each = fmax(busy, sent * (double)bytes * asked->prices->byte);

    return within + one + (double)(sb_divide_up(asked->bytes, segment) - 1) * each;
}

static void try_doubling(sb_schedule_t *way, const asked_t *asked)
{
    size_t segment = segment_most(asked), bytes = sb_min(segment, asked->bytes);

    for (uint32_t digits = 1; digits <= DIGITS_MOST; digits++) {
        uint32_t others = (1u << digits) - 1;
        if (digits > 1 && others * bytes > segment)
            break;
        steps_t steps = begin_steps(asked, bytes);
        add_exchanges(&steps, asked->rounds, digits, bytes);
        double cost =
            course_cost(asked, cost_of(&steps), segment, asked->rounds, 2.0 * asked->rounds);
        take_program(asked, way,
                     (sb_schedule_t){.name = "recursive-doubling",
                                     .write_step = sb_net_halving,
                                     .digits = digits,
                                     .segment = segment,
                                     .cost = cost});
    }
}

/* Messages of steps that cover so many digits in all, some at a time. */
static uint32_t messages_of(uint32_t all, uint32_t digits)
{
    return all / digits * ((1u << digits) - 1) + (1u << all % digits) - 1;
}

/* What is given back goes as it came, the first last. */
static double halving_cost(const asked_t *asked, const sb_schedule_t *way, size_t bytes)
{
    uint32_t halvings = way->halvings, split = way->split_digits;
    steps_t steps = begin_steps(asked, bytes);

    add_exchanges(&steps, asked->rounds - halvings, way->digits, bytes >> halvings);
    for (uint32_t turn = (halvings + split - 1) / split; turn > 0; turn--) {
        uint32_t first = (turn - 1) * split, end = (uint32_t)sb_min(first + split, halvings);
        add_steps(&steps, 2, (1u << (end - first)) - 1, bytes >> end);
    }
    return cost_of(&steps);
}

static void try_halvings(sb_schedule_t *way, const asked_t *asked, uint32_t halvings,
                         uint32_t split_digits, uint32_t digits)
{
    double part = 1.0 / (1u << halvings);
    uint32_t doublings = messages_of(asked->rounds - halvings, digits);
    double sent = 2 * (1 - part) + doublings * part + (1u << asked->rounds < asked->nodes);
    double handled = 4.0 * messages_of(halvings, split_digits) + 2.0 * doublings;
    size_t most = segment_most(asked);
    sb_schedule_t other = {.name = "halving",
                           .write_step = sb_net_halving,
                           .halvings = halvings,
                           .split_digits = split_digits,
                           .digits = digits};

    for (size_t segment = most; segment >= 4 * SB_SEGMENT_LEAST; segment /= 2) {
        if (segment < most && segment >= asked->bytes)
            continue; /* all are as long as the call */
        double one = halving_cost(asked, &other, sb_min(segment, asked->bytes));
        other.segment = segment;
        other.cost = course_cost(asked, one, segment, sent, handled);
        take_program(asked, way, other);
    }
}

/* Where the last rounds would halve little, each costs two latencies: there doubling costs one. Of
 * several digits at a time halving sends no byte more, but more messages, which are somebody's time
 * where ranks share processors; and what doubling receives has to fit. */
static void try_halving(sb_schedule_t *way, const asked_t *asked, bool fewest_bytes)
{
    uint32_t least = fewest_bytes ? asked->rounds : 1,
             digits_most = asked->crowded ? 1 : DIGITS_MOST;

    for (uint32_t halvings = least; halvings <= asked->rounds; halvings++) {
        uint32_t split_most = (uint32_t)sb_min(digits_most, halvings);
        uint32_t rest = asked->rounds - halvings;
        uint32_t most = (uint32_t)sb_max(1, sb_min(digits_most, sb_min(halvings, rest)));
        for (uint32_t split = 1; split <= split_most; split++)
            for (uint32_t digits = 1; digits <= most; digits++)
                try_halvings(way, asked, halvings, split, digits);
    }
}

/* A leader's parts fit the window, so a segment may be longer; of lanes the segment has to. */
static void try_ring(sb_schedule_t *way, const asked_t *asked)
{
    double steps = 2 * ((double)asked->nodes - 1);
    size_t most = asked->lanes > 1 ? segment_most(asked) : SB_SEGMENT_BYTES * asked->nodes;

    for (size_t segment = most; segment >= asked->nodes * SB_SEGMENT_LEAST; segment /= 2) {
        steps_t way_round = {.asked = asked};
        add_steps(&way_round, steps, 1, sb_min(segment, asked->bytes) / asked->nodes);
        double cost =
            course_cost(asked, cost_of(&way_round), segment, steps / asked->nodes, 2 * steps);
        take_program(asked, way,
                     (sb_schedule_t){.name = "ring",
                                     .write_step = sb_net_ring,
                                     .parts = asked->nodes,
                                     .segment = segment,
                                     .cost = cost});
    }
}

/* What the second combination on a node waits for, and copies of what its lanes have. */
#define MIDDLE_LINES 8
#define MIDDLE_COPIES 2

/* Of a node's lines so many are waited for once, however many segments there are. */
#define ONCE_LINES 20

/* Late by so much of the link's time beyond that in which lanes send: many come to one at once. */
#define LATE 0.5

/* Segments whose messages fill the gap between the two steps of one. */
#define SEGMENTS_BETWEEN 2

/* A link has the bytes of all segments, and stands still between the steps of the first one, but
 * for what the next ones have meanwhile; or the processors are what all waits for. */
static double partners_cost(const asked_t *asked, sb_partners_t partners, size_t segment)
{
    double line = sb_prices_standard.line, byte = sb_prices_standard.byte;
    size_t bytes = sb_min(segment, asked->bytes), slice = bytes / asked->nodes + 1;
    double segments = (double)asked->bytes / (double)bytes;
    double link = (asked->nodes - 1.0) * (double)slice * asked->prices->byte;
    double late = LATE * fmax(0, link - (partners.each - 1) * asked->prices->overhead);
    double still =
        fmax(sb_cost_empty(asked->prices, slice), alone(asked, partners.each, slice) - link);
    double within = inside(asked, bytes) * asked->lanes / partners.lanes;
    double middle = MIDDLE_LINES * line + MIDDLE_COPIES * byte * (double)(slice * partners.lanes);
    double gap = still + late + middle - fmin(ceil(segments) - 1, SEGMENTS_BETWEEN) * link;
    double handled = 4 * partners.each * asked->prices->overhead;
    double work = within - ONCE_LINES * line + middle + handled;

    return fmax(within + 2 * segments * link + fmax(0, gap) + late, segments * work) + still;
}

/* By allreduce_partners.c, in few segments. There is room for what the lanes give, for what that
 * makes, and for what comes to one; slices differ by two lines at most. */
static void try_partners(sb_schedule_t *way, const asked_t *asked)
{
    sb_partners_t partners = sb_partners(asked->nodes, asked->lanes);
    size_t room = SB_SEGMENT_BYTES / (partners.lanes + partners.each + 1) / (2 * SB_LINE) * SB_LINE;
    double least = way->cost;

    for (size_t segment = LANES_MOST; segment >= PARTNERS_LEAST; segment /= 2) {
        bool longer = segment > PARTNERS_LEAST && segment / 2 >= asked->bytes;
        sb_schedule_t other = {.name = "partners",
                               .partners = partners.each,
                               .lanes = partners.lanes,
                               .segment = segment,
                               .cost = partners_cost(asked, partners, segment)};
        bool fits = segment <= room * asked->nodes && asked->bytes <= SB_WINDOW * segment;
        if (fits && !longer && other.cost < WORTH_ALIKE * least) {
            least = other.cost;
            *way = other;
        }
    }
}

/* In a segment of several lanes there may be less than a ring of so many nodes can do with. */
static bool ring_fits(const asked_t *asked)
{
    return asked->lanes == 1 || segment_most(asked) >= asked->nodes * SB_SEGMENT_LEAST;
}

static sb_schedule_t schedule_of(const asked_t *asked, bool ring)
{
    bool whole = 1u << asked->rounds == asked->nodes;
    bool is_long = ring && asked->bytes >= asked->nodes * PART_LONG;
    sb_schedule_t way = {0};

    if (!is_long)
        try_doubling(&way, asked);
    if (asked->nodes > 2 && (whole || !is_long))
        try_halving(&way, asked, is_long);
    if (ring)
        try_ring(&way, asked);
    if (asked->nodes > 2 && asked->lanes > 1 &&
        asked->nodes <= asked->lanes * (SB_MESSAGES_MOST / 2))
        try_partners(&way, asked);
    if (way.partners == 0)
        way.lanes = asked->lanes;
    return way;
}

sb_schedule_t sb_schedule_of_allreduce(uint32_t nodes, uint32_t lanes,
                                       const sb_net_prices_t *prices, size_t bytes,
                                       bool commutative)
{
    asked_t asked = {.nodes = nodes,
                     .lanes = (uint32_t)sb_max(1, lanes),
                     .rounds = sb_rounds(nodes + 1) - 1,
                     .prices = prices,
                     .bytes = bytes,
                     .crowded = lanes == 0};
    bool ring = nodes > 2 && commutative;

    if (bytes / asked.lanes < LANE_LEAST)
        asked.lanes = 1;
    sb_schedule_t way = schedule_of(&asked, ring && ring_fits(&asked));
    if (ring && !ring_fits(&asked)) {
        asked.lanes = 1;
        sb_schedule_take(&way, schedule_of(&asked, true));
    }
    way.digits = sb_max(1, way.digits);
    way.split_digits = sb_max(1, way.split_digits);
    way.parts = way.parts == 0 ? 1 : way.parts;
    return way;
}
