/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between nodes go to the host MPI in pieces that its counts can say. */
#include "testing.h"

#include "mpi/net.h"

#include <string.h>
#include <sys/mman.h>

#define PIECE ((size_t)1 << 30)
#define PIECES_MOST 8
#define ROOM (3 * PIECE)

/* What the host was given, piece by piece, and what the other end has sent. */
static struct {
    size_t begun;
    size_t tested;
    size_t count[PIECES_MOST];
    const char *data[PIECES_MOST];
    int peer[PIECES_MOST];
    size_t met;      /* pieces that are done only when the receiver is there */
    size_t arriving; /* bytes of the whole message */
    size_t looks;    /* for one from anybody; the first finds none */
    /* What is withdrawn: */
    size_t open;      /* begun, and not over */
    size_t cancelled; /* receives, which then end at the next look */
    size_t unmet;     /* looks before a send ends; SIZE_MAX: it never does */
    bool holds;       /* what is begun ends as these say */
    bool revoked;
} host;

/* Of a request that ends late. */
enum { SENDS = 1, RECEIVES, CANCELLED };

static int begin(const void *data, int count, int peer)
{
    if (host.holds) {
        host.open++;
        return MPI_SUCCESS;
    }
    assert_true(host.begun < PIECES_MOST && host.tested == host.begun);
    host.data[host.begun] = data;
    host.count[host.begun] = (size_t)count;
    host.peer[host.begun++] = peer;
    return MPI_SUCCESS;
}

static int fake_send(const void *data, int count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    (void)type;
    (void)tag;
    (void)comm;
    *request = (MPI_Request)(uintptr_t)SENDS;
    return begin(data, count, peer);
}

static int fake_receive(void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                        MPI_Request *request)
{
    (void)type;
    (void)tag;
    (void)comm;
    *request = (MPI_Request)(uintptr_t)RECEIVES;
    return begin(data, count, peer);
}

/* A send ends when it is met, a receive when it is cancelled. */
static int test_late(const MPI_Request *request, int *done)
{
    uintptr_t kind = (uintptr_t)*request;

    host.tested++;
    *done = kind == CANCELLED || (kind == SENDS && host.tested > host.unmet);
    host.open -= *done != 0;
    return MPI_SUCCESS;
}

static int fake_cancel(MPI_Request *request)
{
    assert_int_equal((uintptr_t)*request, RECEIVES);
    *request = (MPI_Request)(uintptr_t)CANCELLED;
    host.cancelled++;
    return MPI_SUCCESS;
}

static int fake_revoke(MPI_Comm comm)
{
    (void)comm;
    assert_int_equal(host.cancelled, 0);
    host.revoked = true;
    return MPI_SUCCESS;
}

static int fake_is_revoked(MPI_Comm comm, int *revoked)
{
    (void)comm;
    *revoked = host.revoked;
    return MPI_SUCCESS;
}

static int fake_test(MPI_Request *request, int *done, MPI_Status *status)
{
    if (host.holds)
        return test_late(request, done);
    host.tested++;
    *done = 1;
    status->MPI_SOURCE = 3;
    return MPI_SUCCESS;
}

static int fake_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    size_t before = (host.tested - 1) * PIECE;

    (void)status;
    (void)type;
    *count = (int)sb_min(host.arriving - before, PIECE);
    return MPI_SUCCESS;
}

static int fake_probe(int peer, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    (void)tag;
    (void)comm;
    assert_int_equal(peer, MPI_ANY_SOURCE);
    *found = ++host.looks > 1;
    status->MPI_SOURCE = 3;
    return MPI_SUCCESS;
}

static int fake_met_send(const void *data, int count, MPI_Datatype type, int peer, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    host.met++;
    return fake_send(data, count, type, peer, tag, comm, request);
}

static void make_host(void)
{
    sb_host = (sb_host_t){.Isend = fake_send,
                          .Issend = fake_met_send,
                          .Irecv = fake_receive,
                          .Iprobe = fake_probe,
                          .Test = fake_test,
                          .Cancel = fake_cancel,
                          .Get_count = fake_count};
}

static const size_t sizes[] = {0,         1,         PIECE - 1,     PIECE,
                               PIECE + 1, 2 * PIECE, 2 * PIECE + 7, ROOM - 1};

/* Tests the request until it is done, as often as there are pieces. */
static sb_net_news_t finish(const sb_net_t *net, sb_net_request_t *request, size_t bytes)
{
    size_t pieces = bytes / PIECE + 1;
    sb_net_news_t news = {0};
    bool done = false;

    for (size_t i = 0; i < pieces; i++) {
        assert_false(done);
        assert_int_equal(net->test(net->context, &request, &done, &news), SB_OK);
    }
    assert_true(done);
    assert_null(request);
    assert_int_equal(host.begun, pieces);
    return news;
}

/* Each piece is full but the last, which may be empty: so both ends know it. */
static void sent_in_pieces(void **state)
{
    const char *data = *state;
    sb_wire_t wire = {.unused = NULL};
    sb_net_t net = sb_wire_net(&wire, 0, 4);

    for (size_t i = 0; i < SB_COUNT_OF(sizes); i++) {
        sb_net_request_t *request;
        memset(&host, 0, sizeof host);
        assert_int_equal(net.send(net.context, 2, 5, data, sizes[i], false, &request), SB_OK);
        finish(&net, request, sizes[i]);
        for (size_t k = 0; k < host.begun; k++) {
            assert_ptr_equal(host.data[k], data + k * PIECE);
            assert_int_equal(host.count[k], sb_min(sizes[i] - k * PIECE, PIECE));
            assert_int_equal(host.peer[k], 2);
        }
        assert_int_equal(host.met, 0);
    }
    sb_wire_close(&wire);
}

/* What is to be done only when it is met is so in each piece, and nothing after it. */
static void met_in_pieces(void **state)
{
    sb_wire_t wire = {.unused = NULL};
    sb_net_t net = sb_wire_net(&wire, 0, 4);
    sb_net_request_t *request;

    memset(&host, 0, sizeof host);
    assert_int_equal(net.send(net.context, 2, 5, *state, ROOM - 1, true, &request), SB_OK);
    finish(&net, request, ROOM - 1);
    assert_int_equal(host.met, 3);
    memset(&host, 0, sizeof host);
    assert_int_equal(net.send(net.context, 2, 5, *state, PIECE, false, &request), SB_OK);
    finish(&net, request, PIECE);
    assert_int_equal(host.met, 0);
    sb_wire_close(&wire);
}

/* What may come from anybody is received from whoever has sent it, once it is there. */
static void received_in_pieces(void **state)
{
    sb_wire_t wire = {.unused = NULL};
    sb_net_t net = sb_wire_net(&wire, 0, 4);

    for (size_t i = 0; i < SB_COUNT_OF(sizes); i++) {
        sb_net_request_t *request;
        memset(&host, 0, sizeof host);
        host.arriving = sizes[i];
        assert_int_equal(net.receive(net.context, SB_NET_ANY, 5, *state, ROOM, &request), SB_OK);
        bool done = true;
        assert_int_equal(net.test(net.context, &request, &done, NULL), SB_OK);
        assert_true(!done && request != NULL && host.begun == 0);
        sb_net_news_t news = finish(&net, request, sizes[i]);
        assert_int_equal(news.bytes, sizes[i]);
        assert_int_equal(news.from, 3);
        for (size_t k = 0; k < host.begun; k++)
            assert_int_equal(host.peer[k], 3);
    }
    sb_wire_close(&wire);
}

/* Two sends, two receives, one from anybody that has not come, and one piece of a long message. */
static void begin_some(const sb_net_t *net, char *data)
{
    sb_net_request_t *request;

    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(net->send(net->context, i, 5, data, 8, false, &request), SB_OK);
        assert_int_equal(net->receive(net->context, i, 5, data, ROOM, &request), SB_OK);
    }
    assert_int_equal(net->receive(net->context, SB_NET_ANY, 6, data, 8, &request), SB_OK);
    assert_int_equal(net->send(net->context, 3, 5, data, ROOM - 1, false, &request), SB_OK);
}

/* Receives are cancelled, sends are waited for, but not for ever. So few looks are made before the
 * clock is read first. */
static void all_is_withdrawn(void **state)
{
    static const size_t unmet[] = {0, 100, SIZE_MAX};
    static const bool yes = true;
    sb_wire_t wire = {.unused = NULL};
    sb_net_t net = sb_wire_net(&wire, 0, 4);

    for (size_t i = 0; i < SB_COUNT_OF(unmet); i++) {
        memset(&host, 0, sizeof host);
        host.holds = true;
        host.unmet = unmet[i];
        sb_host.revoke = fake_revoke;
        sb_host.is_revoked = i == 0 ? fake_is_revoked : NULL;
        sb_host.fault_tolerance = &yes;
        begin_some(&net, *state);
        assert_int_equal(host.open, 5);
        assert_int_equal(net.drop(net.context), unmet[i] != SIZE_MAX);
        assert_int_equal(host.cancelled, 2);
        assert_int_equal(host.open, unmet[i] != SIZE_MAX ? 0 : 3);
        assert_int_equal(host.revoked, i == 0);
    }
    sb_host.revoke = NULL;
    sb_wire_close(&wire);
}

/* Addresses that nobody looks at. */
static int take_room(void **state)
{
    *state = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    make_host();
    return *state == MAP_FAILED;
}

static int give_room(void **state)
{
    return munmap(*state, ROOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sent_in_pieces),
        cmocka_unit_test(met_in_pieces),
        cmocka_unit_test(received_in_pieces),
        cmocka_unit_test(all_is_withdrawn),
    };

    return cmocka_run_group_tests(tests, take_room, give_room);
}
