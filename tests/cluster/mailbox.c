/* SPDX-License-Identifier: BSD-3-Clause */
#include "mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What goes before a message's bytes. */
typedef struct header {
    uint64_t tag;
    uint64_t bytes;
} header_t;

struct sb_net_request {
    bool receives;
    bool done;
    uint32_t peer;
    header_t header; /* bytes: of a receive, the room */
    char *data;
    size_t moved; /* of header and data */
    sb_net_news_t news;
    sb_net_request_t *next;
};

/* A message that is coming, or has come before its receive. */
typedef struct letter {
    uint32_t from;
    header_t header;
    size_t moved;
    char *data;
    struct letter *next;
} letter_t;

struct mailbox {
    uint32_t ranks;
    uint32_t rank;
    int *socket;                /* of each pair, from the first to the second */
    sb_net_request_t *requests; /* in the order in which they were begun */
    letter_t *letters;          /* in the order in which they began to come */
};

static int *socket_of(const mailbox_t *box, uint32_t from, uint32_t to)
{
    return &box->socket[from * box->ranks + to];
}

mailbox_t *mailbox_new(uint32_t ranks)
{
    mailbox_t *box = calloc(1, sizeof *box);

    box->ranks = ranks;
    box->socket = calloc((size_t)ranks * ranks, sizeof *box->socket);
    for (uint32_t i = 0; i < ranks; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            int pair[2] = {-1, -1};
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
                abort();
            *socket_of(box, i, j) = pair[0];
            if (i != j)
                *socket_of(box, j, i) = pair[1];
        }
    }
    return box;
}

void mailbox_free(mailbox_t *box)
{
    for (uint32_t i = 0; i < box->ranks * box->ranks; i++)
        close(box->socket[i]);
    free(box->socket);
    free(box);
}

/* So many bytes of a header and what follows it are moved on; false: no more go now. */
static bool move(int socket, bool in, header_t *header, char *data, size_t *moved)
{
    bool head = *moved < sizeof *header;
    char *at = head ? (char *)header + *moved : data + (*moved - sizeof *header);
    size_t left = (head ? sizeof *header : sizeof *header + header->bytes) - *moved;
    ssize_t done = in ? recv(socket, at, left, 0) : send(socket, at, left, MSG_NOSIGNAL);

    if (done <= 0)
        return false;
    *moved += (size_t)done;
    return true;
}

static bool is_whole(const header_t *header, size_t moved)
{
    return moved >= sizeof *header && moved - sizeof *header == header->bytes;
}

/* The letter of that peer which is not whole yet; there is one, if only to begin. */
static letter_t *letter_from(mailbox_t *box, uint32_t from)
{
    letter_t **at = &box->letters;

    for (; *at != NULL; at = &(*at)->next) {
        if ((*at)->from == from && !is_whole(&(*at)->header, (*at)->moved))
            return *at;
    }
    *at = calloc(1, sizeof **at);
    (*at)->from = from;
    return *at;
}

static void forget(mailbox_t *box, letter_t *letter)
{
    letter_t **at = &box->letters;

    while (*at != letter)
        at = &(*at)->next;
    *at = letter->next;
    free(letter->data);
    free(letter);
}

static void bring_in(mailbox_t *box, uint32_t from)
{
    letter_t *letter = letter_from(box, from);

    while (move(*socket_of(box, box->rank, from), true, &letter->header, letter->data,
                &letter->moved)) {
        if (letter->moved == sizeof letter->header)
            letter->data = malloc(letter->header.bytes + 1);
        if (is_whole(&letter->header, letter->moved))
            letter = letter_from(box, from);
    }
    if (letter->moved == 0)
        forget(box, letter);
}

/* Of each peer one after another. */
static void send_out(mailbox_t *box)
{
    for (sb_net_request_t *send = box->requests; send != NULL; send = send->next) {
        bool first = !send->receives && !send->done;
        for (const sb_net_request_t *before = box->requests; before != send; before = before->next)
            first = first && (before->receives || before->done || before->peer != send->peer);
        if (!first)
            continue;
        int socket = box->rank == send->peer ? -1 : *socket_of(box, box->rank, send->peer);
        while (!is_whole(&send->header, send->moved) &&
               move(socket, false, &send->header, send->data, &send->moved))
            continue;
        send->done = is_whole(&send->header, send->moved);
    }
}

static void hand_out(mailbox_t *box)
{
    for (sb_net_request_t *request = box->requests; request != NULL; request = request->next) {
        letter_t *letter = request->receives && !request->done ? box->letters : NULL;
        while (letter != NULL && (letter->moved < sizeof letter->header ||
                                  letter->header.tag != request->header.tag ||
                                  (request->peer != SB_NET_ANY && request->peer != letter->from)))
            letter = letter->next;
        if (letter == NULL || !is_whole(&letter->header, letter->moved))
            continue;
        request->news =
            (sb_net_news_t){letter->from, (uint32_t)letter->header.tag, letter->header.bytes};
        memcpy(request->data, letter->data, sb_min(letter->header.bytes, request->header.bytes));
        request->done = true;
        forget(box, letter);
    }
}

static sb_status_t begin(mailbox_t *box, sb_net_request_t given, sb_net_request_t **request)
{
    sb_net_request_t **at = &box->requests;

    while (*at != NULL)
        at = &(*at)->next;
    *at = malloc(sizeof **at);
    **at = given;
    *request = *at;
    return SB_OK;
}

static sb_status_t start_send(void *context, uint32_t to, uint32_t tag, const void *data,
                              size_t bytes, bool met, sb_net_request_t **request)
{
    sb_net_request_t given = {.peer = to, .header = {tag, bytes}, .data = (char *)(uintptr_t)data};

    (void)met;
    return begin(context, given, request);
}

static sb_status_t start_receive(void *context, uint32_t from, uint32_t tag, void *data,
                                 size_t room, sb_net_request_t **request)
{
    sb_net_request_t given = {.receives = true, .peer = from, .header = {tag, room}, .data = data};

    return begin(context, given, request);
}

static sb_status_t test(void *context, sb_net_request_t **request, bool *done, sb_net_news_t *news)
{
    mailbox_t *box = context;
    sb_net_request_t *tested = *request, **at = &box->requests;

    send_out(box);
    for (uint32_t from = 0; from < box->ranks; from++) {
        if (from != box->rank)
            bring_in(box, from);
    }
    hand_out(box);
    *done = tested->done;
    if (!tested->done)
        return SB_OK;
    while (*at != tested)
        at = &(*at)->next;
    *at = tested->next;
    *request = NULL;
    bool truncated = tested->receives && tested->news.bytes > tested->header.bytes;
    if (tested->receives && news != NULL)
        *news = tested->news;
    free(tested);
    return truncated ? SB_ERR_TRUNCATE : SB_OK;
}

/* What is to be sent may have begun: the others get no more of it. */
static bool drop(void *context)
{
    mailbox_t *box = context;

    while (box->requests != NULL) {
        sb_net_request_t *request = box->requests;
        box->requests = request->next;
        free(request);
    }
    return true;
}

sb_net_t mailbox_net(mailbox_t *box, uint32_t rank)
{
    box->rank = rank;
    return (sb_net_t){.context = box,
                      .rank = rank,
                      .ranks = box->ranks,
                      .send = start_send,
                      .receive = start_receive,
                      .test = test,
                      .drop = drop};
}

bool mailbox_is_empty(mailbox_t *box)
{
    for (uint32_t from = 0; from < box->ranks; from++) {
        if (from != box->rank)
            bring_in(box, from);
    }
    return box->requests == NULL && box->letters == NULL;
}
