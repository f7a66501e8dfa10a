/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list in the key-value space of PMI 1 as Hydra has it, the process manager of MPICH: lines of
 * text over a socket to the daemon of this node, which the host's library uses from MPI_Init on.
 * Each line of ours has its answer before the host goes on, so neither takes the other's. Cost: a
 * question for each rank of the job, on each node.
 */
#include "segment/roster.h"

#include "machine/machine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 1024

/* A daemon that is no such one may never answer the first question. One that has, answers: however
 * long that takes, the host waits for it too. */
#define ANSWER_MS 5000
#define NS_PER_MS 1000000
#define NO_LIMIT UINT64_MAX

static int socket_fd = -1;
static char space[256]; /* its name */

/* Whether something has come, by that time. A signal of the program's must not leave an answer
 * behind: the host would take it for its own. */
static bool has_come(uint64_t until)
{
    struct pollfd answer = {.fd = socket_fd, .events = POLLIN};
    int ready;

    do {
        uint64_t now = sb_now_ns();
        int left = until == NO_LIMIT ? -1 : (int)((sb_max(until, now) - now) / NS_PER_MS);
        ready = poll(&answer, 1, left);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/* What has come of the line, and no byte behind it: that would be the host's. A manager whose other
 * end is no socket lets nobody look ahead. */
static size_t receive_some(char *to, size_t room)
{
    ssize_t seen, got;

    do
        seen = recv(socket_fd, to, room, MSG_PEEK);
    while (seen < 0 && errno == EINTR);
    if (seen == 0)
        return 0;
    const char *end = seen < 0 ? NULL : memchr(to, '\n', (size_t)seen);
    size_t wanted = seen < 0 ? 1 : end != NULL ? (size_t)(end - to) + 1 : (size_t)seen;
    do
        got = read(socket_fd, to, wanted);
    while (got < 0 && errno == EINTR);
    return got < 0 ? 0 : (size_t)got;
}

static bool receive_line(char *line, uint64_t until)
{
    size_t length = 0;

    while (length < LINE_BYTES - 1 && has_come(until)) {
        size_t got = receive_some(line + length, LINE_BYTES - 1 - length);
        length += got;
        if (got == 0)
            return false;
        if (line[length - 1] == '\n') {
            line[length - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* Sends the line, and takes the answer in its place. */
static bool ask_until(char *line, uint64_t until)
{
    size_t length = strlen(line);

    return write(socket_fd, line, length) == (ssize_t)length && receive_line(line, until);
}

static bool ask(char *line)
{
    return ask_until(line, NO_LIMIT);
}

/* The word after ` name=`. */
static bool find_word(const char *line, const char *name, char *word, size_t room)
{
    char pattern[32];

    snprintf(pattern, sizeof pattern, " %s=", name);
    const char *at = strstr(line, pattern);
    if (at == NULL)
        return false;
    at += strlen(pattern);
    snprintf(word, room, "%.*s", (int)strcspn(at, " \n"), at);
    return true;
}

/*
 * Hydra tells ranks their place on the node by the second name; other managers have another
 * protocol. Intel MPI's own is left out: it was not seen yet on several nodes.
 */
static bool is_hydra(void)
{
    const char *descriptor = getenv("PMI_FD");

    if (descriptor == NULL || getenv("MPI_LOCALRANKID") == NULL || getenv("PMI_SPAWNED") != NULL ||
        getenv("HYDRA_BSTRAP_LOCALHOST") != NULL)
        return false;
    socket_fd = atoi(descriptor);
    return true;
}

/* What is put before the first line of this kind is lost. The host will send it again. */
static bool open_space(char *line)
{
    snprintf(line, LINE_BYTES, "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (!ask_until(line, sb_now_ns() + (uint64_t)ANSWER_MS * NS_PER_MS))
        return false;
    snprintf(line, LINE_BYTES, "cmd=get_my_kvsname\n");
    return ask(line) && find_word(line, "kvsname", space, sizeof space);
}

static bool sign(uint32_t rank, const char *text)
{
    char line[LINE_BYTES], code[16];

    if (!is_hydra() || !open_space(line))
        return false;
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=sobor-%u value=%s\n", space, rank, text);
    return ask(line) && find_word(line, "rc", code, sizeof code) && strcmp(code, "0") == 0;
}

static bool look_up(uint32_t rank, char *text)
{
    char line[LINE_BYTES], code[16];

    snprintf(line, sizeof line, "cmd=get kvsname=%s key=sobor-%u\n", space, rank);
    return ask(line) && find_word(line, "rc", code, sizeof code) && strcmp(code, "0") == 0 &&
           find_word(line, "value", text, SB_ROSTER_TEXT);
}

static void forget(void)
{
    socket_fd = -1;
}

const sb_roster_keeper_t sb_roster_pmi = {sign, look_up, forget};
