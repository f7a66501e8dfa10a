/* SPDX-License-Identifier: BSD-3-Clause */
#include "select/tuning.h"

#include "base/config.h"
#include "base/json.h"
#include "base/log.h"
#include "select/select.h"

#include <errno.h>
#include <fcntl.h>
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
    bool once;      /* memory is made by it once for a communicator: not by size */
    uint64_t least; /* smaller numbers are refused */
} tunables[SB_TUNABLES] = {
    [SB_TUNE_ALGORITHM] = {"algorithm", NULL, ALL_COLLECTIVES, false, 0},
    [SB_TUNE_FRAGMENT] = {"fragment", "SOBOR_FRAGMENT", BCAST_ONLY, false, 0},
    [SB_TUNE_ARITY] = {"arity", "SOBOR_TREE_ARITY", BCAST_ONLY | 1u << SB_BARRIER, false, 1},
    [SB_TUNE_RING] = {"ring", "SOBOR_RING", BCAST_ONLY, true, 1},
    [SB_TUNE_SLOTS] = {"slots", "SOBOR_BCAST_SLOTS", BCAST_ONLY, true, 0},
    [SB_TUNE_SETS] = {"sets", "SOBOR_BCAST_SETS", BCAST_ONLY, true, 0},
    [SB_TUNE_TREE] = {"tree", "SOBOR_BCAST_TREE", BCAST_ONLY, false, 0},
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

/* ---- a rule as it is written ---- */

/* The keys of a rule; those of the tunables follow. */
enum { COLLECTIVE, BYTES, RANKS, OVERSUBSCRIBED, NOTE, CONDITIONS };
enum { KEYS = CONDITIONS + SB_TUNABLES };

static const char *const conditions[CONDITIONS] = {
    [COLLECTIVE] = "collective",         [BYTES] = "bytes", [RANKS] = "ranks",
    [OVERSUBSCRIBED] = "oversubscribed", [NOTE] = "note",
};

typedef struct word {
    sb_json_kind_t kind; /* SB_JSON_NONE: not given */
    uint32_t line;
    char text[64];
} word_t;

/* Words, before it is known what they mean: members may stand in any order. */
typedef struct draft {
    uint32_t number;
    uint32_t line;
    uint32_t seen;    /* bit k: key k */
    word_t key[KEYS]; /* of bytes and ranks: the lower end */
    word_t to[CONDITIONS];
} draft_t;

/* The reading of a file. */
typedef struct reader {
    sb_json_t json;
    sb_rules_t *rules;
} reader_t;

static const char *key_name(int key)
{
    return key < CONDITIONS ? conditions[key] : tunables[key - CONDITIONS].name;
}

/* Ends the reading: "rule 3: bytes: expected a size, found "x"". */
static bool refuse(reader_t *reader, const draft_t *draft, uint32_t line, const char *key,
                   const char *expected, const char *found)
{
    return sb_json_fail(&reader->json, line, "rule %u: %s: expected %s, found \"%s\"",
                        draft->number, key, expected, found);
}

static bool read_word(reader_t *reader, const draft_t *draft, const char *key, word_t *word)
{
    sb_json_kind_t kind = sb_json_kind(&reader->json);

    word->line = reader->json.line;
    if (kind == SB_JSON_OBJECT || kind == SB_JSON_ARRAY || kind == SB_JSON_NULL)
        return sb_json_fail(&reader->json, word->line,
                            "rule %u: %s: expected a single value, found %s", draft->number, key,
                            kind == SB_JSON_OBJECT  ? "an object"
                            : kind == SB_JSON_ARRAY ? "a list"
                                                    : "null");
    word->kind = sb_json_scalar(&reader->json, word->text, sizeof word->text);
    return word->kind != SB_JSON_NONE;
}

/* {"from": "4KiB", "to": "1MiB"}, either of them, or one value for both. */
static bool read_range(reader_t *reader, draft_t *draft, int key)
{
    word_t *from = &draft->key[key], *to = &draft->to[key];
    char end[16];

    if (sb_json_kind(&reader->json) != SB_JSON_OBJECT) {
        bool read = read_word(reader, draft, key_name(key), from);
        *to = *from;
        return read;
    }
    sb_json_enter(&reader->json, SB_JSON_OBJECT);
    while (sb_json_member(&reader->json, end, sizeof end)) {
        bool lower = strcmp(end, "from") == 0;
        word_t *word = lower ? from : to;
        if (!lower && strcmp(end, "to") != 0)
            return refuse(reader, draft, reader->json.line, key_name(key), "from or to", end);
        if (word->kind != SB_JSON_NONE)
            return refuse(reader, draft, reader->json.line, key_name(key), "each end once", end);
        read_word(reader, draft, key_name(key), word);
    }
    if (from->kind == SB_JSON_NONE && to->kind == SB_JSON_NONE)
        return refuse(reader, draft, reader->json.line, key_name(key), "from or to", "");
    return !reader->json.failed;
}

static int find_key(const char *name)
{
    int key = 0;

    while (key < KEYS && strcmp(key_name(key), name) != 0)
        key++;
    return key;
}

static bool refuse_key(reader_t *reader, const draft_t *draft, const char *found)
{
    char known[256] = "";

    for (int key = 0; key < KEYS; key++) {
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", key > 0 ? ", " : "", key_name(key));
    }
    return sb_json_fail(&reader->json, reader->json.line,
                        "rule %u: expected keys out of %s, found \"%s\"", draft->number, known,
                        found);
}

static bool read_draft(reader_t *reader, draft_t *draft)
{
    char name[40];

    sb_json_kind(&reader->json); /* to the line where it begins */
    *draft = (draft_t){.number = draft->number, .line = reader->json.line};
    sb_json_enter(&reader->json, SB_JSON_OBJECT);
    while (sb_json_member(&reader->json, name, sizeof name)) {
        int key = find_key(name);
        if (key == KEYS)
            return refuse_key(reader, draft, name);
        if ((draft->seen & (1u << key)) != 0)
            return sb_json_fail(&reader->json, reader->json.line,
                                "rule %u: %s: expected once, found again", draft->number, name);
        draft->seen |= 1u << key;
        if (key == BYTES || key == RANKS)
            read_range(reader, draft, key);
        else
            read_word(reader, draft, name, &draft->key[key]);
    }
    return !reader->json.failed;
}

/* ---- what it means ---- */

static bool find_collective(reader_t *reader, const draft_t *draft, sb_rule_t *rule)
{
    const word_t *word = &draft->key[COLLECTIVE];
    char known[256] = "a collective operation: ";

    for (uint32_t c = 0; c < SB_COLLECTIVES; c++) {
        const char *name = sb_collective_name((sb_collective_t)c);
        size_t length = strlen(known);
        rule->collective = c;
        if (strcmp(name, word->text) == 0)
            return true;
        snprintf(known + length, sizeof known - length, "%s%s", c > 0 ? ", " : "", name);
    }
    return refuse(reader, draft, word->kind == SB_JSON_NONE ? draft->line : word->line,
                  "collective", known, word->kind == SB_JSON_NONE ? "nothing" : word->text);
}

/* The limits of a range that was given; `read` tells a number from a text. */
static bool find_range(reader_t *reader, const draft_t *draft, int key, const char *expected,
                       bool (*read)(const char *text, uint64_t *number), uint64_t *from,
                       uint64_t *to)
{
    const word_t *lower = &draft->key[key], *upper = &draft->to[key];

    *from = 0;
    *to = UINT64_MAX;
    if (lower->kind != SB_JSON_NONE && !read(lower->text, from))
        return refuse(reader, draft, lower->line, key_name(key), expected, lower->text);
    if (upper->kind != SB_JSON_NONE && !read(upper->text, to))
        return refuse(reader, draft, upper->line, key_name(key), expected, upper->text);
    if (*from > *to)
        return sb_json_fail(&reader->json, lower->line,
                            "rule %u: %s: expected from below to, found from %s to %s",
                            draft->number, key_name(key), lower->text, upper->text);
    return true;
}

static bool read_count(const char *text, uint64_t *number)
{
    char *end;

    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

static bool find_bytes(reader_t *reader, const draft_t *draft, sb_rule_t *rule)
{
    bool given = draft->key[BYTES].kind != SB_JSON_NONE || draft->to[BYTES].kind != SB_JSON_NONE;
    uint32_t line = sb_max(draft->key[BYTES].line, draft->to[BYTES].line);

    if (given && (sized & (1u << rule->collective)) == 0)
        return sb_json_fail(
            &reader->json, line, "rule %u: bytes: expected none for %s, %s; found %s",
            draft->number, sb_collective_name((sb_collective_t)rule->collective),
            rule->collective == SB_BARRIER ? "which has no message"
                                           : "whose sizes the ranks do not know of each other",
            draft->key[BYTES].text[0] != '\0' ? draft->key[BYTES].text : draft->to[BYTES].text);
    return find_range(reader, draft, BYTES, "a size such as 64KiB", sb_parse_bytes,
                      &rule->bytes_from, &rule->bytes_to);
}

static bool find_oversubscribed(reader_t *reader, const draft_t *draft, sb_rule_t *rule)
{
    const word_t *word = &draft->key[OVERSUBSCRIBED];

    rule->oversubscribed = word->kind == SB_JSON_NONE ? -1 : word->kind == SB_JSON_TRUE;
    if (word->kind != SB_JSON_NONE && word->kind != SB_JSON_TRUE && word->kind != SB_JSON_FALSE)
        return refuse(reader, draft, word->line, "oversubscribed", "true or false", word->text);
    return true;
}

static bool find_algorithm(reader_t *reader, const draft_t *draft, const word_t *word,
                           sb_rule_t *rule)
{
    uint64_t *value = &rule->value[SB_TUNE_ALGORITHM];
    sb_collective_t collective = (sb_collective_t)rule->collective;
    const sb_algorithm_t *found = sb_algorithm_find(collective, word->text);
    char known[320];

    *value = SB_RULE_FIRST;
    if (strcmp(word->text, "auto") == 0 || strcmp(word->text, "host") == 0)
        *value = word->text[0] == 'a' ? SB_RULE_AUTO : SB_RULE_HOST;
    else if (found != NULL)
        while (sb_algorithm_at(*value - SB_RULE_FIRST) != found)
            ++*value;
    else {
        sb_algorithm_names(collective, known, sizeof known);
        return refuse(reader, draft, word->line, "algorithm", known, word->text);
    }
    return true;
}

static const sb_variable_t *find_variable(const char *name, size_t *index)
{
    for (*index = 0; strcmp(sb_variable_at(*index)->name, name) != 0;)
        ++*index;
    return sb_variable_at(*index);
}

/* As its variable is written. */
static bool find_value(reader_t *reader, const draft_t *draft, sb_tunable_t tunable,
                       sb_rule_t *rule)
{
    const word_t *word = &draft->key[CONDITIONS + tunable];
    const char *name = tunables[tunable].name;
    size_t index;
    sb_value_t value;

    if ((tunables[tunable].collectives & (1u << rule->collective)) == 0)
        return sb_json_fail(&reader->json, word->line,
                            "rule %u: %s: expected with collective bcast%s, found with %s",
                            draft->number, name,
                            tunables[tunable].collectives == BCAST_ONLY ? "" : " or barrier",
                            sb_collective_name((sb_collective_t)rule->collective));
    if (tunables[tunable].once && (rule->bytes_from > 0 || rule->bytes_to < UINT64_MAX))
        return sb_json_fail(&reader->json, word->line,
                            "rule %u: %s: expected without bytes, as this memory is made once for "
                            "a communicator; found with bytes",
                            draft->number, name);
    if (tunable == SB_TUNE_ALGORITHM)
        return find_algorithm(reader, draft, word, rule);
    const sb_variable_t *variable = find_variable(tunables[tunable].variable, &index);
    const char *expected = sb_variable_parse(variable, word->text, &value);
    if (expected != NULL)
        return refuse(reader, draft, word->line, name, expected, word->text);
    bool automatic = strcmp(word->text, "auto") == 0;
    if (!automatic && (value.number < tunables[tunable].least || value.number > UINT32_MAX))
        return refuse(reader, draft, word->line, name, "a number from 1 to 4294967295", word->text);
    rule->value[tunable] = value.number;
    return true;
}

/* Gives the words their meaning. */
static bool settle(reader_t *reader, const draft_t *draft, sb_rule_t *rule)
{
    *rule = (sb_rule_t){.number = draft->number};
    bool right = find_collective(reader, draft, rule) && find_bytes(reader, draft, rule) &&
                 find_range(reader, draft, RANKS, "a number of ranks", read_count,
                            &rule->ranks_from, &rule->ranks_to) &&
                 find_oversubscribed(reader, draft, rule);

    for (uint32_t t = 0; right && t < SB_TUNABLES; t++) {
        if (draft->key[CONDITIONS + t].kind == SB_JSON_NONE)
            continue;
        right = find_value(reader, draft, (sb_tunable_t)t, rule);
        rule->sets |= 1u << t;
    }
    if (right && rule->sets == 0)
        return sb_json_fail(&reader->json, draft->line,
                            "rule %u: expected something to set, such as algorithm, found nothing",
                            draft->number);
    return right;
}

static bool read_rules(reader_t *reader)
{
    sb_rules_t *rules = reader->rules;

    sb_json_enter(&reader->json, SB_JSON_ARRAY);
    while (sb_json_element(&reader->json)) {
        draft_t draft = {.number = rules->count + 1};
        if (rules->count == SB_RULES_MOST)
            return sb_json_fail(&reader->json, reader->json.line,
                                "rules: expected at most %d, found more", SB_RULES_MOST);
        if (!read_draft(reader, &draft) || !settle(reader, &draft, &rules->rule[rules->count]))
            return false;
        rules->count++;
    }
    return !reader->json.failed;
}

bool sb_tuning_parse(const char *text, sb_rules_t *rules, char *error, size_t room)
{
    reader_t reader = {.rules = rules};
    bool found = false;
    char key[16], note[16];

    *rules = (sb_rules_t){0};
    sb_json_open(&reader.json, text);
    sb_json_enter(&reader.json, SB_JSON_OBJECT);
    while (sb_json_member(&reader.json, key, sizeof key)) {
        if (strcmp(key, "rules") == 0 && !found)
            found = read_rules(&reader);
        else if (strcmp(key, "note") == 0)
            sb_json_scalar(&reader.json, note, sizeof note);
        else
            sb_json_fail(&reader.json, reader.json.line,
                         "expected the keys rules and note, found \"%s\"%s", key,
                         found ? " again" : "");
    }
    if (sb_json_close(&reader.json) && !found)
        sb_json_fail(&reader.json, reader.json.line, "expected the key rules, found none");
    if (!reader.json.failed)
        return true;
    *rules = (sb_rules_t){0};
    snprintf(error, room, "%u: %s", reader.json.error_line, reader.json.error);
    return false;
}

/* ---- files ---- */

/* Returns the bytes read, or -1. */
static ssize_t read_all(int file, char *text, size_t room)
{
    size_t length = 0;
    ssize_t got;

    while ((got = read(file, text + length, room - length)) != 0) {
        if (got < 0 && errno != EINTR)
            return -1;
        length += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)length;
}

/* The file's text, to be freed, or NULL, with what is wrong. */
static char *load(const char *path, char *error, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe has nobody at its end */
    struct stat info;
    char *text = NULL;

    if (file < 0 || fstat(file, &info) != 0) {
        snprintf(error, room, "%s: it cannot be read: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode) || info.st_size > (off_t)FILE_BYTES_MOST) {
        snprintf(error, room, "%s: expected a file of at most %zu KiB, found %s", path,
                 FILE_BYTES_MOST >> 10, S_ISREG(info.st_mode) ? "a larger one" : "no plain file");
    } else {
        text = calloc(1, FILE_BYTES_MOST + 1);
        ssize_t length = text == NULL ? -1 : read_all(file, text, FILE_BYTES_MOST);
        if (length < 0 || strlen(text) != (size_t)length) {
            snprintf(error, room, "%s: it cannot be read: %s", path,
                     length < 0 ? strerror(errno) : "it is no text");
            free(text);
            text = NULL;
        }
    }
    if (file >= 0)
        close(file);
    return text;
}

bool sb_tuning_read(const char *path, sb_rules_t *rules, char *error, size_t room)
{
    char *text = load(path, error, room);
    char detail[600];

    *rules = (sb_rules_t){0};
    if (text == NULL)
        return false;
    bool right = sb_tuning_parse(text, rules, detail, sizeof detail);
    if (!right)
        snprintf(error, room, "%s:%s", path, detail);
    free(text);
    return right;
}

const char *sb_tuning_overruled(const sb_rule_t *rule, sb_tunable_t tunable)
{
    const char *name = tunables[tunable].variable != NULL
                           ? tunables[tunable].variable
                           : sb_collective_variable((sb_collective_t)rule->collective);
    size_t index;
    bool given;

    find_variable(name, &index);
    sb_variable_value(index, &given);
    return given ? name : NULL;
}

static sb_rules_t own;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_own(void)
{
    const char *path = sb_config()->tuning.text;
    char error[1024];

    if (*path == '\0')
        return;
    if (!sb_tuning_read(path, &own, error, sizeof error))
        sb_log_once("SOBOR_TUNING: %s; going on without the file", error);
    for (uint32_t i = 0; i < own.count; i++) {
        for (uint32_t t = 0; t < SB_TUNABLES; t++) {
            if (sb_tuning_overruled(&own.rule[i], (sb_tunable_t)t) != NULL)
                own.rule[i].sets &= ~(1u << t);
        }
    }
}

const sb_rules_t *sb_tuning_self(void)
{
    pthread_once(&once, read_own);
    return own.count > 0 ? &own : NULL;
}

void sb_tuning_fit(sb_settings_t *settings, uint32_t ranks, bool oversubscribed, sb_rules_t *room)
{
    const sb_rules_t *rules = sb_tuning_self();

    settings->rules = NULL;
    if (rules == NULL)
        return;
    *room = *rules;
    sb_rules_keep(room, ranks, oversubscribed);
    settings->rules = room;
}
