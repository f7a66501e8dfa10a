/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/net.h"

#include "machine/sim/state.h"

#include <stdlib.h>
#include <string.h>

/* A message on its way, or there and not yet received. Of each receiver in the order of arrival. */
typedef struct sb_message {
    sb_net_news_t news;
    uint64_t arrival;
    char *data;
    struct sb_message *next;
} sb_message_t;

struct sb_net_request {
    bool receives;
    uint64_t done; /* of a send: the node has put it on the way */
    uint32_t from;
    uint32_t tag;
    void *data;
    size_t room;
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t bytes_time(uint64_t kib, uint64_t bytes)
{
    return (uint64_t)((unsigned __int128)kib * bytes / 1024);
}

/* When a message that is ready at `now` has arrived; *left: when its node is done with it. */
static uint64_t pass_network(uint32_t from, uint32_t to, size_t bytes, uint64_t now, uint64_t *left)
{
    const sb_sim_network_t *network = &sb_sim->machine.network;
    sb_wire_t *out = &sb_sim->wire[from];
    sb_wire_t *in = &sb_sim->wire[to];
    uint64_t link = bytes_time(network->kib, bytes);
    uint64_t injection = bytes_time(network->injection_kib, bytes);
    uint64_t start = later(now, out->out);

    if (network->star) {
        start = later(start, sb_sim->star_busy);
        sb_sim->star_busy = start + link;
    }
    out->out = start + injection;
    *left = out->out;
    uint64_t entered = later(start + network->latency, in->in);
    in->in = entered + injection;
    sb_sim->messages.count++;
    sb_sim->messages.bytes += bytes;
    return entered + later(link, injection);
}

static uint64_t pass_memory(size_t bytes, uint64_t now, uint64_t *left)
{
    const sb_sim_machine_t *machine = &sb_sim->machine;

    *left = now + bytes_time(machine->copy_kib[SB_NEAR_CORE], bytes);
    return *left + machine->read[SB_NEAR_MACHINE];
}

/* In the order of arrival; of one time, in the order of sending. */
static void deliver(sb_rank_t *receiver, sb_message_t *message)
{
    sb_message_t **at = &receiver->mail;

    while (*at != NULL && (*at)->arrival <= message->arrival)
        at = &(*at)->next;
    message->next = *at;
    *at = message;
}

static sb_message_t **find_mail(sb_rank_t *receiver, const sb_net_request_t *request)
{
    for (sb_message_t **at = &receiver->mail; *at != NULL; at = &(*at)->next) {
        const sb_net_news_t *news = &(*at)->news;
        if (news->tag == request->tag &&
            (request->from == SB_NET_ANY || request->from == news->from))
            return at;
    }
    return NULL;
}

static sb_net_request_t *new_request(void)
{
    sb_net_request_t *request = calloc(1, sizeof *request);

    if (request == NULL)
        sb_sim_stop("the simulator is out of memory");
    return request;
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
                            size_t bytes, sb_net_request_t **request)
{
    sb_message_t *message = malloc(sizeof *message);
    char *copy = malloc(bytes + 1);

    (void)context;
    if (message == NULL || copy == NULL)
        sb_sim_stop("the simulator is out of memory");
    pay_overhead();
    sb_rank_t *self = sb_sim->running;
    sb_rank_t *receiver = &sb_sim->rank[to];
    *request = new_request();
    memcpy(copy, data, bytes);
    *message = (sb_message_t){.news = {self->number, tag, bytes}, .data = copy};
    message->arrival =
        self->node == receiver->node
            ? pass_memory(bytes, self->clock, &(*request)->done)
            : pass_network(self->node, receiver->node, bytes, self->clock, &(*request)->done);
    deliver(receiver, message);
    sb_sim_mail_comes(receiver, message->arrival);
    return SB_OK;
}

static sb_status_t net_receive(void *context, uint32_t from, uint32_t tag, void *data, size_t room,
                               sb_net_request_t **request)
{
    (void)context;
    *request = new_request();
    **request =
        (sb_net_request_t){.receives = true, .from = from, .tag = tag, .data = data, .room = room};
    return SB_OK;
}

static sb_status_t take_mail(sb_message_t **at, sb_net_request_t *request, sb_net_news_t *news)
{
    sb_message_t *message = *at;
    size_t bytes = message->news.bytes;
    sb_status_t status = bytes > request->room ? SB_ERR_TRUNCATE : SB_OK;

    *at = message->next;
    memcpy(request->data, message->data, sb_min(bytes, request->room));
    if (news != NULL)
        *news = message->news;
    free(message->data);
    free(message);
    return status;
}

/* One look. `patient`: later mail that is known counts, and so does a send that will be done. */
static bool finish_one(sb_net_request_t **request, bool patient, sb_net_news_t *news,
                       sb_status_t *status)
{
    sb_rank_t *self = sb_sim->running;
    sb_message_t **mail = (*request)->receives ? find_mail(self, *request) : NULL;

    *status = SB_OK;
    if ((*request)->receives && mail == NULL)
        return false;
    uint64_t done = mail == NULL ? (*request)->done : (*mail)->arrival;
    if (!sb_sim->guided && done > self->clock) {
        if (!patient)
            return false;
        self->clock = self->serial = done;
    }
    if (mail != NULL) {
        self->clock += sb_sim->machine.network.overhead;
        *status = take_mail(mail, *request, news);
    }
    free(*request);
    *request = NULL;
    if (sb_sim->progress < self->clock)
        sb_sim->progress = self->clock;
    return true;
}

static sb_status_t net_test(void *context, sb_net_request_t **request, bool *done,
                            sb_net_news_t *news)
{
    sb_status_t status;

    (void)context;
    sb_sim->running->clock += sb_sim->machine.read[SB_NEAR_CORE];
    sb_sim_step(SB_SIM_STARTS, NOBODY, 0);
    *done = finish_one(request, false, news, &status);
    return status;
}

/*
 * Others may still send something that comes earlier than what is known now: the rank goes on only
 * when all that happens before is done.
 */
static sb_status_t net_wait(void *context, sb_net_request_t **request, sb_net_news_t *news)
{
    sb_rank_t *self = sb_sim->running;
    sb_status_t status;

    (void)context;
    for (;;) {
        sb_sim_step(SB_SIM_STARTS, NOBODY, 0);
        if (finish_one(request, false, news, &status))
            return status;
        if (!(*request)->receives) {
            finish_one(request, true, news, &status);
            return status;
        }
        sb_message_t **mail = find_mail(self, *request);
        sb_sim_await_mail(mail == NULL ? UINT64_MAX : (*mail)->arrival);
    }
}

sb_net_t sb_sim_net(void)
{
    return (sb_net_t){.rank = sb_sim->running->number,
                      .ranks = sb_sim->ranks,
                      .send = net_send,
                      .receive = net_receive,
                      .test = net_test,
                      .wait = net_wait};
}

void sb_sim_messages(sb_sim_messages_t *messages)
{
    *messages = sb_sim->messages;
}

void sb_sim_net_begin(sb_sim_t *sim)
{
    memset(sim->wire, 0, sim->machine.nodes * sizeof *sim->wire);
    sim->star_busy = 0;
    sim->messages = (sb_sim_messages_t){0};
    for (uint32_t i = 0; i < sim->ranks; i++) {
        while (sim->rank[i].mail != NULL) {
            sb_message_t *message = sim->rank[i].mail;
            sim->rank[i].mail = message->next;
            free(message->data);
            free(message);
        }
    }
}
