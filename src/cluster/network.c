/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/network.h"

#include "base/config.h"
#include "base/log.h"
#include "cluster/choice.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Longer or dearer than any network: nothing computed from it overflows. */
#define LARGEST 1e12

/* Where the reading is, and room for the first error. */
typedef struct reader {
    const char *path;
    const json_t *parameters;
    char *error;
    size_t room;
} reader_t;

/* Less than that is nothing. */
#define LEAST 1e-6

/* A parameter from `least` on, or `standard` if it is not there; NAN, and the error, if it is
 * wrong. */
static double read_number(const reader_t *reader, const char *name, double least, double standard)
{
    const json_t *entry = json_object_get(reader->parameters, name);
    const json_t *value = json_object_get(entry, "value");
    double number = json_number_value(value);

    if (entry == NULL)
        return standard;
    if (value == NULL) {
        snprintf(reader->error, reader->room, "%s: parameters: %s: expected an object with a value",
                 reader->path, name);
        return NAN;
    }
    if (json_is_number(value) && number >= least && number <= LARGEST)
        return number;
    char *found = json_dumps(value, JSON_ENCODE_ANY);
    snprintf(reader->error, reader->room,
             "%s: parameters: %s: value: expected a number from %g to %g, found %.40s",
             reader->path, name, least, LARGEST, found == NULL ? "nothing" : found);
    free(found);
    return NAN;
}

/* A node's link carries so many bytes a nanosecond; a message alone may be slower. An eager limit
 * of 0: there is none. */
static sb_net_prices_t read_prices(const reader_t *reader)
{
    const sb_net_prices_t *standard = &sb_net_prices_standard;
    double link = read_number(reader, "net_injection", LEAST, LARGEST);
    double byte = read_number(reader, "net_byte", LEAST, 0);
    double eager = read_number(reader, "net_eager", 0, standard->eager);

    return (sb_net_prices_t){
        .latency = read_number(reader, "net_latency", LEAST, 0),
        .overhead = read_number(reader, "net_overhead", 0, standard->overhead),
        .byte = isnan(link) || isnan(byte) ? NAN : fmax(byte, 1 / link),
        .eager = eager == 0 ? LARGEST : eager,
    };
}

static bool read_file(const reader_t *reader, sb_net_prices_t *prices)
{
    const json_t *given = reader->parameters;

    if (json_object_get(given, "net_latency") == NULL ||
        json_object_get(given, "net_byte") == NULL) {
        snprintf(reader->error, reader->room,
                 "%s: parameters: expected net_latency and net_byte, found no network",
                 reader->path);
        return false;
    }
    sb_net_prices_t read = read_prices(reader);
    if (isnan(read.latency + read.overhead + read.byte + read.eager))
        return false;
    *prices = read;
    return true;
}

bool sb_network_read(const char *path, sb_net_prices_t *prices, char *error, size_t room)
{
    json_error_t wrong;
    json_t *file = json_load_file(path, 0, &wrong);
    reader_t reader = {path, json_object_get(file, "parameters"), error, room};

    if (file == NULL)
        snprintf(error, room, "%s: line %d: expected a machine file, found: %s", path, wrong.line,
                 wrong.text);
    bool read = file != NULL && read_file(&reader, prices);
    json_decref(file);
    return read;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sb_net_prices_t own;

static void read_own(void)
{
    const char *path = sb_config()->network.text;
    char error[1024];

    if (*path != '\0' && !sb_network_read(path, &own, error, sizeof error))
        sb_log_once("SOBOR_NETWORK: %s; going on without the file", error);
}

sb_net_prices_t sb_network_self(void)
{
    pthread_once(&once, read_own);
    return own;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sb_net_prices_t seen;

void sb_network_note(const sb_net_prices_t *prices)
{
    pthread_mutex_lock(&lock);
    seen = *prices;
    pthread_mutex_unlock(&lock);
}

sb_net_prices_t sb_network_seen(void)
{
    pthread_mutex_lock(&lock);
    sb_net_prices_t noted = seen;
    pthread_mutex_unlock(&lock);
    return noted;
}
