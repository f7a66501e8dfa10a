/* SPDX-License-Identifier: BSD-3-Clause */
#include "select/tuning.h"

#include "base/config.h"
#include "base/log.h"
#include "select/select.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MOST ((size_t)256 << 10)

#define ALL_COLLECTIVES UINT32_MAX
#define BCAST_ONLY (1u << SB_BCAST)

/* What a rule may set, and where that has a meaning. */
static const struct {
    const char *name;
    const char *variable; /* that says how it is written, and that overrules; NULL: by collective */
    uint32_t collectives;
    bool once; /* memory is made by it once for a communicator: not by size */
} tunables[SB_TUNABLES] = {
    [SB_TUNE_ALGORITHM] = {"algorithm", NULL, ALL_COLLECTIVES, false},
    [SB_TUNE_FRAGMENT] = {"fragment", "SOBOR_FRAGMENT", BCAST_ONLY, false},
    [SB_TUNE_ARITY] = {"arity", "SOBOR_TREE_ARITY", BCAST_ONLY | 1u << SB_BARRIER, false},
    [SB_TUNE_RING] = {"ring", "SOBOR_RING", BCAST_ONLY, true},
    [SB_TUNE_SLOTS] = {"slots", "SOBOR_BCAST_SLOTS", BCAST_ONLY, true},
    [SB_TUNE_SETS] = {"sets", "SOBOR_BCAST_SETS", BCAST_ONLY, true},
    [SB_TUNE_TREE] = {"tree", "SOBOR_BCAST_TREE", BCAST_ONLY, false},
};

/*
 * Of these all members know the bytes of a call alike: of the others each knows its own alone, and
 * a barrier has none.
 */
static const uint32_t sized = 1u << SB_BCAST | 1u << SB_SCATTER | 1u << SB_GATHER |
                              1u << SB_ALLGATHER | 1u << SB_ALLTOALL | 1u << SB_REDUCE |
                              1u << SB_ALLREDUCE | 1u << SB_REDUCE_SCATTER |
                              1u << SB_REDUCE_SCATTER_BLOCK | 1u << SB_SCAN | 1u << SB_EXSCAN;

const char *sb_tunable_name(sb_tunable_t tunable)
{
    return tunables[tunable].name;
}

bool sb_tuning_sized(sb_collective_t collective)
{
    return (sized & (1u << collective)) != 0;
}

bool sb_tuning_algorithm(sb_rule_t *rule, const char *name)
{
    const sb_algorithm_t *found = sb_algorithm_find((sb_collective_t)rule->collective, name);
    uint64_t *value = &rule->value[SB_TUNE_ALGORITHM];

    *value = SB_RULE_FIRST;
    rule->levels = found == NULL ? 0 : found->levels;
    if (strcmp(name, "auto") == 0 || strcmp(name, "host") == 0) {
        *value = name[0] == 'a' ? SB_RULE_AUTO : SB_RULE_HOST;
        return true;
    }
    while (found != NULL && sb_algorithm_at(*value - SB_RULE_FIRST) != found)
        ++*value;
    return found != NULL;
}

const char *sb_tuning_algorithm_name(uint64_t value)
{
    if (value == SB_RULE_AUTO || value == SB_RULE_HOST)
        return value == SB_RULE_AUTO ? "auto" : "host";
    return sb_algorithm_at(value - SB_RULE_FIRST)->name;
}

/* ---- a rule as it is written ---- */

/* The keys of a rule that are no tunables. */
static const char *const conditions[] = {"collective",     "bytes", "ranks",
                                         "oversubscribed", "note",  "measured"};

enum { CONDITIONS = SB_COUNT_OF(conditions), KEYS = CONDITIONS + SB_TUNABLES };

static const char *key_name(int key)
{
    return key < CONDITIONS ? conditions[key] : tunables[key - CONDITIONS].name;
}

/* Where the reading is, and room for the first error. */
typedef struct reader {
    uint32_t number; /* of the rule */
    char *error;
    size_t room;
} reader_t;

/* A value as it stands in the file; cut where it is long. */
static const char *show(const json_t *value, char *text, size_t room)
{
    char *whole = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    snprintf(text, room, "%s", whole == NULL ? "nothing" : whole);
    free(whole);
    return text;
}

/* Says "rule 3: bytes: expected a size, found "x"". Returns false. */
static bool refuse(const reader_t *reader, const char *key, const char *expected,
                   const json_t *found)
{
    char text[48];

    snprintf(reader->error, reader->room, "rule %u: %s: expected %s, found %s", reader->number, key,
             expected, show(found, text, sizeof text));
    return false;
}

/* A value as one would write it in a variable; empty if it is not a single one. */
static void word_of(const json_t *value, char *word, size_t room)
{
    word[0] = '\0';
    if (json_is_string(value))
        snprintf(word, room, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(word, room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static bool is_key(const char *name)
{
    int key = 0;

    while (key < KEYS && strcmp(key_name(key), name) != 0)
        key++;
    return key < KEYS;
}

static bool check_keys(const reader_t *reader, json_t *rule)
{
    char known[256] = "";
    const char *name;
    json_t *value;

    for (int key = 0; key < KEYS; key++) {
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", key > 0 ? ", " : "", key_name(key));
    }
    json_object_foreach(rule, name, value)
    {
        if (is_key(name))
            continue;
        snprintf(reader->error, reader->room, "rule %u: expected keys out of %s, found \"%s\"",
                 reader->number, known, name);
        return false;
    }
    return true;
}

/* ---- what it means ---- */

static bool find_collective(const reader_t *reader, const json_t *given, sb_rule_t *rule)
{
    const char *wanted = json_string_value(given);
    char known[256] = "a collective operation: ";

    for (uint32_t c = 0; c < SB_COLLECTIVES; c++) {
        const char *name = sb_collective_name((sb_collective_t)c);
        size_t length = strlen(known);
        rule->collective = c;
        if (wanted != NULL && strcmp(name, wanted) == 0)
            return true;
        snprintf(known + length, sizeof known - length, "%s%s", c > 0 ? ", " : "", name);
    }
    return refuse(reader, "collective", known, given);
}

typedef bool (*number_reader_t)(const char *text, uint64_t *number);

/* One end of a range, if it is given. */
static bool find_end(const reader_t *reader, const char *key, const char *expected,
                     number_reader_t read, const json_t *given, uint64_t *end)
{
    char word[64];

    if (given == NULL)
        return true;
    word_of(given, word, sizeof word);
    return read(word, end) || refuse(reader, key, expected, given);
}

/* {"from": "4KiB", "to": "1MiB"}, either of them, or one value for both; all, if it is not given.
 */
static bool find_range(const reader_t *reader, const char *key, const char *expected,
                       number_reader_t read, const json_t *given, uint64_t *from, uint64_t *to)
{
    bool object = json_is_object(given);
    const json_t *lower = object ? json_object_get(given, "from") : given;
    const json_t *upper = object ? json_object_get(given, "to") : given;

    *from = 0;
    *to = UINT64_MAX;
    if (object && json_object_size(given) != (size_t)(lower != NULL) + (upper != NULL))
        return refuse(reader, key, "the keys from and to", given);
    if (!find_end(reader, key, expected, read, lower, from) ||
        !find_end(reader, key, expected, read, upper, to))
        return false;
    return *from <= *to || refuse(reader, key, "from below to", given);
}

static bool find_bytes(const reader_t *reader, const json_t *given, sb_rule_t *rule)
{
    char expected[160];

    snprintf(expected, sizeof expected, "none for %s, %s",
             sb_collective_name((sb_collective_t)rule->collective),
             rule->collective == SB_BARRIER ? "which has no message"
                                            : "whose sizes the ranks do not know of each other");
    if (given != NULL && !sb_tuning_sized((sb_collective_t)rule->collective))
        return refuse(reader, "bytes", expected, given);
    return find_range(reader, "bytes", "a size such as 64KiB", sb_parse_bytes, given,
                      &rule->bytes_from, &rule->bytes_to);
}

/* -1: it is not given. */
static bool find_truth(const reader_t *reader, const char *key, const json_t *given, int32_t *truth)
{
    *truth = given == NULL ? -1 : json_is_true(given);
    return given == NULL || json_is_boolean(given) || refuse(reader, key, "true or false", given);
}

static bool find_algorithm(const reader_t *reader, const json_t *given, sb_rule_t *rule)
{
    sb_collective_t collective = (sb_collective_t)rule->collective;
    char name[64], known[320];

    word_of(given, name, sizeof name);
    if (sb_tuning_algorithm(rule, name))
        return true;
    sb_algorithm_names(collective, known, sizeof known);
    return refuse(reader, "algorithm", known, given);
}

/* Whether the rule may set this at all. */
static bool check_place(const reader_t *reader, sb_tunable_t tunable, const sb_rule_t *rule)
{
    const char *name = tunables[tunable].name;

    if ((tunables[tunable].collectives & (1u << rule->collective)) == 0)
        snprintf(reader->error, reader->room,
                 "rule %u: %s: expected with collective bcast%s, found with %s", reader->number,
                 name, tunables[tunable].collectives == BCAST_ONLY ? "" : " or barrier",
                 sb_collective_name((sb_collective_t)rule->collective));
    else if (tunables[tunable].once && (rule->bytes_from > 0 || rule->bytes_to < UINT64_MAX))
        snprintf(reader->error, reader->room,
                 "rule %u: %s: expected without bytes, as this memory is made once for a "
                 "communicator; found with bytes",
                 reader->number, name);
    else
        return true;
    return false;
}

/* As its variable is written. */
static bool find_value(const reader_t *reader, sb_tunable_t tunable, const json_t *given,
                       sb_rule_t *rule)
{
    const char *name = tunables[tunable].name;
    char word[64];
    sb_value_t value;

    if (!check_place(reader, tunable, rule))
        return false;
    if (tunable == SB_TUNE_ALGORITHM)
        return find_algorithm(reader, given, rule);
    const char *named = tunables[tunable].variable;
    const sb_variable_t *variable = sb_variable_find(named, strlen(named));
    word_of(given, word, sizeof word);
    const char *expected = sb_variable_parse(variable, word, &value);
    if (expected != NULL)
        return refuse(reader, name, expected, given);
    rule->value[tunable] = value.number;
    return true;
}

static bool find_conditions(const reader_t *reader, const json_t *given, sb_rule_t *rule)
{
    int32_t measured;
    bool right = find_truth(reader, "measured", json_object_get(given, "measured"), &measured);

    rule->measured = measured > 0;
    return right && find_collective(reader, json_object_get(given, "collective"), rule) &&
           find_bytes(reader, json_object_get(given, "bytes"), rule) &&
           find_range(reader, "ranks", "a number of ranks", sb_parse_count,
                      json_object_get(given, "ranks"), &rule->ranks_from, &rule->ranks_to) &&
           find_truth(reader, "oversubscribed", json_object_get(given, "oversubscribed"),
                      &rule->oversubscribed);
}

static bool read_rule(const reader_t *reader, json_t *given, sb_rule_t *rule)
{
    *rule = (sb_rule_t){.number = reader->number};
    if (!json_is_object(given))
        return refuse(reader, "it", "an object, { ... }", given);
    if (!check_keys(reader, given) || !find_conditions(reader, given, rule))
        return false;
    for (uint32_t t = 0; t < SB_TUNABLES; t++) {
        const json_t *value = json_object_get(given, tunables[t].name);
        if (value != NULL && !find_value(reader, (sb_tunable_t)t, value, rule))
            return false;
        rule->sets |= (uint32_t)(value != NULL) << t;
    }
    return rule->sets != 0 || refuse(reader, "it", "something to set, such as algorithm", NULL);
}

static bool read_rules(const json_t *root, sb_rules_t *rules, char *error, size_t room)
{
    json_t *list = json_object_get(root, "rules");
    size_t known = (size_t)(list != NULL) + (json_object_get(root, "note") != NULL);

    if (!json_is_array(list) || json_object_size(root) != known) {
        char text[48];
        snprintf(error, room,
                 "expected an object with the list rules, and perhaps a note; found %s",
                 show(root, text, sizeof text));
        return false;
    }
    if (json_array_size(list) > SB_RULES_MOST) {
        snprintf(error, room, "rules: expected at most %d, found %zu", SB_RULES_MOST,
                 json_array_size(list));
        return false;
    }
    for (; rules->count < json_array_size(list); rules->count++) {
        reader_t reader = {.number = rules->count + 1, .error = error, .room = room};
        if (!read_rule(&reader, json_array_get(list, rules->count), &rules->rule[rules->count]))
            return false;
    }
    return true;
}

/* ---- files ---- */

/* The file's content, or NULL, with what is wrong. */
static json_t *load(const char *path, char *error, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe has nobody at its end */
    struct stat info;
    json_error_t wrong;
    json_t *root = NULL;

    if (file < 0 || fstat(file, &info) != 0) {
        snprintf(error, room, "it cannot be read: %s", strerror(errno));
    } else if (!S_ISREG(info.st_mode) || info.st_size > (off_t)FILE_BYTES_MOST) {
        snprintf(error, room, "expected a file of at most %zu KiB, found %s", FILE_BYTES_MOST >> 10,
                 S_ISREG(info.st_mode) ? "a larger one" : "no plain file");
    } else {
        root = json_loadfd(file, JSON_REJECT_DUPLICATES, &wrong);
        if (root == NULL)
            snprintf(error, room, "line %d: %s", wrong.line, wrong.text);
    }
    if (file >= 0)
        close(file);
    return root;
}

bool sb_tuning_read(const char *path, sb_rules_t *rules, char *error, size_t room)
{
    int length = snprintf(error, room, "%s: ", path);
    size_t used = sb_min((size_t)length, room - 1);
    json_t *root = load(path, error + used, room - used);

    *rules = (sb_rules_t){0};
    bool right = root != NULL && read_rules(root, rules, error + used, room - used);
    json_decref(root);
    if (!right)
        *rules = (sb_rules_t){0};
    return right;
}

const char *sb_tuning_overruled(const sb_rule_t *rule, sb_tunable_t tunable)
{
    const char *name = tunables[tunable].variable != NULL
                           ? tunables[tunable].variable
                           : sb_collective_variable((sb_collective_t)rule->collective);
    bool given;

    sb_variable_value(sb_variable_find(name, strlen(name)), &given);
    return given ? name : NULL;
}

static sb_rules_t own;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Takes out of the rule what variables overrule. */
static void give_way(sb_rule_t *rule)
{
    for (uint32_t t = 0; t < SB_TUNABLES; t++) {
        if (sb_tuning_overruled(rule, (sb_tunable_t)t) != NULL)
            rule->sets &= ~(1u << t);
    }
}

static void read_own(void)
{
    const char *path = sb_config()->tuning.text;
    char error[1024];

    if (*path == '\0')
        return;
    if (!sb_tuning_read(path, &own, error, sizeof error))
        sb_log_once("SOBOR_TUNING: %s; going on without the file", error);
    for (uint32_t i = 0; i < own.count; i++)
        give_way(&own.rule[i]);
}

void sb_tuning_add(const sb_rules_t *rules)
{
    pthread_once(&once, read_own);
    for (uint32_t i = 0; i < rules->count && own.count < SB_RULES_MOST; i++) {
        own.rule[own.count] = rules->rule[i];
        give_way(&own.rule[own.count++]);
    }
}

const sb_rules_t *sb_tuning_self(void)
{
    pthread_once(&once, read_own);
    return own.count > 0 ? &own : NULL;
}
