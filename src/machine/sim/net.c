/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/net.h"

#include "machine/sim/state.h"

#include <stdlib.h>
#include <string.h>

/* What a receive's memory holds until it is done. */
#define POISON 0xdb

/* A message, or the word that it waits, on its way or there. Of each receiver in the order of
 * arrival. */
typedef struct sb_message {
    sb_net_news_t news;
    uint64_t arrival;
    sb_net_request_t *waits; /* the send whose bytes have not left; NULL: they have */
    bool bound;              /* a receive is to take it */
    char *data;
    const char *near; /* of a sender on this node: where its bytes are; NULL: elsewhere */
    uint32_t *clock;  /* of the watch */
    struct sb_message *next;
} sb_message_t;

struct sb_net_request {
    bool receives;
    bool left;     /* of a send: the bytes are on their way, */
    uint64_t done; /* and the node is done with them; or, until then, they may leave */
    uint32_t peer; /* to or from */
    uint32_t tag;
    char *data;
    size_t bytes; /* or room */
    char *copy;   /* of what is sent */
    sb_message_t *message;
    sb_net_request_t *next;
};

static void free_message(sb_message_t *message)
{
    free(message->data);
    free(message->clock);
    free(message);
}

/* When a message that is ready at `now` has arrived; *left: when its node is done with it. */
static uint64_t pass_network(uint32_t from, uint32_t to, size_t bytes, uint64_t now, uint64_t *left)
{
    const sb_sim_network_t *network = &sb_sim->machine.network;
    sb_wire_t *out = &sb_sim->wire[from];
    sb_wire_t *in = &sb_sim->wire[to];
    uint64_t link = sb_bytes_time(network->kib, bytes);
    uint64_t injection = sb_bytes_time(network->injection_kib, bytes);
    uint64_t start = sb_later(now, out->out);

    if (network->star)
        start = sb_book(&sb_sim->star, now, start, link);
    out->out = start + injection;
    *left = out->out;
    uint64_t entered = sb_book(&in->in, now, start + network->latency, injection);
    sb_sim->messages.count++;
    sb_sim->messages.bytes += bytes;
    out->sent.count++;
    out->sent.bytes += bytes;
    return entered + sb_later(link, injection);
}

/* Inside a node only word of it comes; the receiver copies the bytes itself. */
static uint64_t pass_memory(uint64_t now, uint64_t *left)
{
    *left = now;
    return now + sb_sim->machine.read[SB_NEAR_MACHINE];
}

static uint64_t pass(const sb_rank_t *from, const sb_rank_t *to, size_t bytes, uint64_t now,
                     uint64_t *left)
{
    return from->node == to->node ? pass_memory(now, left)
                                  : pass_network(from->node, to->node, bytes, now, left);
}

/* When a word without a message, from one rank to the other, has come. */
static uint64_t pass_word(const sb_rank_t *from, const sb_rank_t *to, uint64_t now)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;

    return now +
           (from->node == to->node ? machine->read[SB_NEAR_MACHINE] : machine->network.latency);
}

static void *take_memory(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);

    if (memory == NULL)
        sb_sim_stop("the simulator is out of memory");
    return memory;
}

/* In the order of arrival; none overtakes another of its sender. Of those that are bound the place
 * is of no meaning any more. */
static void deliver(sb_rank_t *receiver, sb_message_t *message)
{
    sb_message_t **at = &receiver->mail;

    for (const sb_message_t *known = *at; known != NULL; known = known->next) {
        if (known->news.from == message->news.from && !known->bound)
            message->arrival = sb_later(message->arrival, known->arrival);
    }
    while (*at != NULL && ((*at)->bound || (*at)->arrival <= message->arrival))
        at = &(*at)->next;
    message->next = *at;
    *at = message;
    sb_sim_mail_comes(receiver, message->arrival);
}

static bool is_past(uint64_t time)
{
    return sb_sim->guided || time <= sb_sim->running->clock;
}

/* --- what a rank does whenever it looks at the network ------------------------------------- */

/* The first receive that may take the message. */
static sb_net_request_t *find_taker(const sb_rank_t *self, const sb_message_t *message)
{
    for (sb_net_request_t *request = self->requests; request != NULL; request = request->next) {
        if (request->receives && request->message == NULL && request->tag == message->news.tag &&
            (request->peer == SB_NET_ANY || request->peer == message->news.from))
            return request;
    }
    return NULL;
}

/* The receiver is there: a sender that waits may go on when it has heard of it. */
static void bind(sb_rank_t *self, sb_message_t *message, sb_net_request_t *taker)
{
    sb_rank_t *sender = &sb_sim->rank[message->news.from];

    taker->message = message;
    message->bound = true;
    if (message->waits == NULL)
        return;
    message->waits->done = pass_word(self, sender, self->clock);
    sb_sim_mail_comes(sender, message->waits->done);
}

static void take_in(sb_rank_t *self)
{
    for (sb_message_t *message = self->mail; message != NULL; message = message->next) {
        sb_net_request_t *taker =
            message->bound || !is_past(message->arrival) ? NULL : find_taker(self, message);
        if (taker != NULL)
            bind(self, message, taker);
    }
}

/* The bytes of a send that has waited leave. */
static void let_leave(sb_rank_t *self, sb_net_request_t *send)
{
    sb_message_t *message = send->message;
    sb_rank_t *receiver = &sb_sim->rank[send->peer];

    message->waits = NULL;
    send->left = true;
    message->arrival = pass(self, receiver, send->bytes, self->clock, &send->done);
    sb_sim_mail_comes(receiver, message->arrival);
}

static void look_at_network(sb_rank_t *self)
{
    take_in(self);
    for (sb_net_request_t *request = self->requests; request != NULL; request = request->next) {
        if (!request->receives && !request->left && request->message->bound &&
            is_past(request->done))
            let_leave(self, request);
    }
}

/* --- requests ------------------------------------------------------------------------------ */

static sb_net_request_t *begin_request(sb_net_request_t given)
{
    sb_rank_t *self = sb_sim->running;
    sb_net_request_t **at = &self->requests;
    sb_net_request_t *request = take_memory(sizeof *request);

    while (*at != NULL)
        at = &(*at)->next;
    *request = given;
    *at = request;
    self->mail_active = true;
    return request;
}

static void end_request(sb_rank_t *self, sb_net_request_t *request)
{
    sb_net_request_t **at = &self->requests;

    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    free(request->copy);
    free(request);
}

/* The processor's share of a message; with others that were earlier done first. */
static void pay_overhead(void)
{
    sb_rank_t *self = sb_sim->running;

    self->clock += sb_sim->machine.network.overhead;
    self->serial = self->clock;
    sb_sim_step(SB_SIM_STARTS, NOBODY, 0);
}

static sb_status_t net_send(void *context, uint32_t to, uint32_t tag, const void *data,
                            size_t bytes, bool met, sb_net_request_t **request)
{
    uint64_t eager = sb_sim->machine.network.eager;
    const sb_sim_watch_t *watch = sb_sim->options.watch;
    sb_message_t *message = take_memory(sizeof *message);

    (void)context;
    (void)met; /* nothing is held back here */
    pay_overhead();
    sb_rank_t *self = sb_sim->running;
    sb_rank_t *receiver = &sb_sim->rank[to];
    sb_net_request_t *send = begin_request((sb_net_request_t){
        .peer = to, .tag = tag, .data = (char *)(uintptr_t)data, .bytes = bytes});
    *message = (sb_message_t){.news = {self->number, tag, bytes}, .data = take_memory(bytes)};
    if (watch != NULL && watch->send != NULL)
        message->clock = watch->send(watch->context, self->number);
    message->near = self->node == receiver->node ? data : NULL;
    send->copy = take_memory(bytes);
    memcpy(send->copy, data, bytes);
    memcpy(message->data, data, bytes);
    send->left = eager == 0 || bytes <= eager;
    message->waits = send->left ? NULL : send;
    send->message = send->left ? NULL : message;
    message->arrival = send->left ? pass(self, receiver, bytes, self->clock, &send->done)
                                  : pass_word(self, receiver, self->clock);
    deliver(receiver, message);
    look_at_network(self);
    *request = send;
    return SB_OK;
}

static sb_status_t net_receive(void *context, uint32_t from, uint32_t tag, void *data, size_t room,
                               sb_net_request_t **request)
{
    (void)context;
    *request = begin_request((sb_net_request_t){
        .receives = true, .peer = from, .tag = tag, .data = data, .bytes = room});
    memset(data, POISON, room);
    look_at_network(sb_sim->running);
    return SB_OK;
}

_Noreturn static void complain(const sb_net_request_t *request, const char *what)
{
    sb_sim_stop("rank %u: %s (%zu bytes %s rank %u, tag %u)", sb_sim->running->number, what,
                request->bytes, request->receives ? "from" : "to", request->peer, request->tag);
}

/* The receiver's copy of a message out of the memory of a rank on its node. */
static void pay_copy(sb_rank_t *self, char *to, const char *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        size_t rest = sb_min(sb_sim_page_rest(to + done), sb_sim_page_rest(from + done));
        size_t piece = sb_min(bytes - done, rest);
        sb_sim_reach();
        self->clock = sb_copy_cost(self, to + done, from + done, piece, SB_ACCESS_WRITE, done == 0);
        done += piece;
    }
}

/* Each byte is as the one before it. */
static bool is_poison(const char *data, size_t bytes)
{
    return bytes == 0 ||
           ((unsigned char)data[0] == POISON && memcmp(data, data + 1, bytes - 1) == 0);
}

static sb_status_t take_message(sb_rank_t *self, sb_net_request_t *request, sb_net_news_t *news)
{
    sb_message_t *message = request->message, **at = &self->mail;
    size_t bytes = message->news.bytes;

    if (!is_poison(request->data, request->bytes))
        complain(request, "bytes that were being received have changed");
    if (message->near != NULL && !sb_sim->guided)
        pay_copy(self, request->data, message->near, sb_min(bytes, request->bytes));
    while (*at != message)
        at = &(*at)->next;
    *at = message->next;
    self->clock += sb_sim->machine.network.overhead;
    memcpy(request->data, message->data, sb_min(bytes, request->bytes));
    if (news != NULL)
        *news = message->news;
    if (message->clock != NULL)
        sb_sim->options.watch->receive(sb_sim->options.watch->context, self->number,
                                       message->clock);
    free_message(message);
    return bytes > request->bytes ? SB_ERR_TRUNCATE : SB_OK;
}

static bool is_done(const sb_net_request_t *request)
{
    const sb_message_t *message = request->message;

    if (request->receives)
        return message != NULL && message->waits == NULL && is_past(message->arrival);
    return request->left && is_past(request->done);
}

static sb_status_t net_test(void *context, sb_net_request_t **request, bool *done,
                            sb_net_news_t *news)
{
    sb_status_t status = SB_OK;

    (void)context;
    sb_sim_step(SB_SIM_STARTS, NOBODY, 0);
    sb_rank_t *self = sb_sim->running;
    look_at_network(self);
    *done = is_done(*request);
    if (!*done) {
        if (!self->mail_in_vain) {
            self->mail_seen = self->mail_news;
            self->mail_looked = self->clock;
        }
        self->mail_in_vain = true;
        self->clock += sb_sim->machine.read[SB_NEAR_CORE];
        return SB_OK;
    }
    self->mail_active = true;
    if ((*request)->receives)
        status = take_message(self, *request, news);
    else if (memcmp((*request)->data, (*request)->copy, (*request)->bytes) != 0)
        complain(*request, "bytes that were being sent have changed");
    end_request(self, *request);
    *request = NULL;
    if (sb_sim->progress < self->clock)
        sb_sim->progress = self->clock;
    return status;
}

/* Bytes that were announced leave without their sender. */
static bool net_drop(void *context)
{
    sb_rank_t *self = sb_sim->running;

    (void)context;
    while (self->requests != NULL) {
        sb_net_request_t *request = self->requests;
        if (request->receives && request->message != NULL)
            request->message->bound = false;
        if (!request->receives && !request->left)
            let_leave(self, request);
        end_request(self, request);
    }
    return true;
}

/* In a guided run: what is under way at the rank would go on if it looked at the network now. */
bool sb_sim_has_news(const sb_rank_t *rank)
{
    for (const sb_net_request_t *request = rank->requests; request != NULL;
         request = request->next) {
        if (is_done(request) || (!request->receives && request->message->bound))
            return true;
    }
    for (const sb_message_t *message = rank->mail; message != NULL; message = message->next) {
        if (!message->bound && find_taker(rank, message) != NULL)
            return true;
    }
    return false;
}

/* --- waiting ------------------------------------------------------------------------------- */

static uint64_t sooner(uint64_t best, uint64_t time)
{
    return time > sb_sim->running->mail_looked && time < best ? time : best;
}

/* When something that is known has come to the rank, or was done, since it looked, or will be. */
static uint64_t next_news(const sb_rank_t *self)
{
    uint64_t best = UINT64_MAX;

    for (const sb_message_t *message = self->mail; message != NULL; message = message->next)
        best = sooner(best, message->arrival);
    for (const sb_net_request_t *request = self->requests; request != NULL;
         request = request->next) {
        if (!request->receives && (request->left || request->message->bound))
            best = sooner(best, request->done);
    }
    return best;
}

/*
 * Looks in vain cost nothing that others would notice, so the rank sleeps through them until
 * something has happened since the first. Where one of its looks was not, or it has begun something
 * since it was here last, it looks again: others may have come since it looked at them.
 */
void sb_sim_until_mail(void)
{
    sb_rank_t *self = sb_sim->running;
    bool in_vain = self->mail_in_vain && !self->mail_active;

    self->mail_in_vain = self->mail_active = false;
    if (in_vain && self->mail_seen == self->mail_news)
        sb_sim_await_mail(sb_sim->guided ? UINT64_MAX : sb_later(next_news(self), self->clock));
}

/* Of the simulated machine; one that makes no difference of lengths sends all at once. */
static sb_net_prices_t prices_of(const sb_sim_network_t *network)
{
    uint64_t kib = sb_later(network->kib, network->injection_kib);

    return (sb_net_prices_t){.latency = (double)network->latency / 1000,
                             .overhead = (double)network->overhead / 1000,
                             .byte = (double)kib / 1024 / 1000,
                             .eager = network->eager == 0 ? 1e12 : (double)network->eager};
}

sb_net_t sb_sim_net(void)
{
    return (sb_net_t){.rank = sb_sim->running->number,
                      .ranks = sb_sim->ranks,
                      .prices = prices_of(&sb_sim->machine.network),
                      .send = net_send,
                      .receive = net_receive,
                      .test = net_test,
                      .drop = net_drop};
}

void sb_sim_messages(sb_sim_messages_t *messages)
{
    *messages = sb_sim->messages;
}

void sb_sim_sent(uint32_t node, sb_sim_messages_t *messages)
{
    *messages = sb_sim->wire[node].sent;
}

/* --- checks -------------------------------------------------------------------------------- */

void sb_sim_net_touch(const void *address, size_t bytes, bool written)
{
    const char *from = address;

    for (const sb_net_request_t *request = sb_sim->running->requests; request != NULL;
         request = request->next) {
        if (from >= request->data + request->bytes || request->data >= from + bytes)
            continue;
        if (request->receives)
            complain(request, written ? "bytes that are being received are written"
                                      : "bytes that are being received are read");
        if (written)
            complain(request, "bytes that are being sent are written");
    }
}

void sb_sim_net_settled(void)
{
    const sb_net_request_t *request = sb_sim->running->requests;

    if (request != NULL)
        complain(request,
                 request->receives ? "a receive is left under way" : "a send is left under way");
}

void sb_sim_net_end(sb_sim_t *sim)
{
    for (uint32_t i = 0; i < sim->ranks; i++) {
        const sb_message_t *message = sim->rank[i].mail;
        if (message != NULL)
            sb_sim_stop("a message that nobody received: %zu bytes from rank %u to rank %u, tag %u",
                        message->news.bytes, message->news.from, i, message->news.tag);
    }
}

static void forget(sb_rank_t *rank)
{
    while (rank->requests != NULL)
        end_request(rank, rank->requests);
    while (rank->mail != NULL) {
        sb_message_t *message = rank->mail;
        rank->mail = message->next;
        free_message(message);
    }
}

void sb_sim_net_begin(sb_sim_t *sim)
{
    for (uint32_t i = 0; i < sim->machine.nodes; i++) {
        sb_booking_clear(&sim->wire[i].in);
        sim->wire[i] = (sb_wire_t){.in = sim->wire[i].in};
    }
    sb_booking_clear(&sim->star);
    sim->messages = (sb_sim_messages_t){0};
    for (uint32_t i = 0; i < sim->ranks; i++)
        forget(&sim->rank[i]);
}
