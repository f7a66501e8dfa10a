/* SPDX-License-Identifier: BSD-3-Clause */
#include "select/cache.h"

#include "base/config.h"
#include "base/pages.h"
#include "select/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than as many entries and rules as there may be take. */
#define FILE_BYTES_MOST ((size_t)512 << 10)
#define TEXT_BYTES (FILE_BYTES_MOST + 1)

/* With what the first line begins in all versions. */
#define FORMATS "sobor-prices "

/* ---- reading ---- */

/* Where the reading is, and room for the first error. */
typedef struct reader {
    sb_cache_t *cache;
    sb_cache_entry_t *entry; /* that has begun; NULL: none has */
    unsigned line;
    char *error;
    size_t room;
} reader_t;

static bool refuse(const reader_t *reader, const char *expected, const char *found)
{
    snprintf(reader->error, reader->room, "line %u: expected %s, found \"%.40s\"", reader->line,
             expected, found);
    return false;
}

/* A newer Sobor's line: `word`, and what is behind it. One for which there is no room is lost when
 * the file is written anew. */
static bool pass_over(const reader_t *reader, const char *word, const char *value)
{
    char *newer = reader->cache->newer[reader->cache->count];
    size_t used = strlen(newer), room = SB_CACHE_NEWER - used;

    if ((size_t)snprintf(newer + used, room, "%s%s%s\n", word, *value == '\0' ? "" : " ", value) >=
        room)
        newer[used] = '\0';
    return true;
}

/* A word of people: to be printed, and with no line's end in it. */
static bool read_text(char *text, size_t room, const char *value)
{
    for (const char *at = value; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    }
    return *value != '\0' && (size_t)snprintf(text, room, "%s", value) < room;
}

static bool read_number(uint32_t *number, const char *value)
{
    uint64_t wide;

    if (!sb_parse_count(value, &wide) || wide == 0 || wide > UINT32_MAX)
        return false;
    *number = (uint32_t)wide;
    return true;
}

static bool begin_entry(reader_t *reader, const char *value)
{
    if (reader->entry != NULL)
        return refuse(reader, "end before the next entry", "machine");
    if (reader->cache->count == SB_CACHE_ENTRIES_MOST)
        return refuse(reader, "fewer entries", value);
    reader->entry = &reader->cache->entry[reader->cache->count];
    *reader->entry = (sb_cache_entry_t){.prices = sb_prices_standard};
    reader->cache->newer[reader->cache->count][0] = '\0';
    return read_text(reader->entry->key.processor, SB_CACHE_MODEL, value) ||
           refuse(reader, "a model's name", value);
}

static bool end_entry(reader_t *reader, const char *value)
{
    const sb_cache_key_t *key = &reader->entry->key;

    if (*value != '\0' || key->processors == 0 || key->ranks == 0)
        return refuse(reader, "end, after processors and ranks", value);
    reader->cache->count++;
    reader->entry = NULL;
    return true;
}

static bool read_processors(reader_t *reader, const char *value)
{
    return read_number(&reader->entry->key.processors, value) || refuse(reader, "a number", value);
}

static bool read_ranks(reader_t *reader, const char *value)
{
    return read_number(&reader->entry->key.ranks, value) || refuse(reader, "a number", value);
}

static bool read_mpi(reader_t *reader, const char *value)
{
    return read_text(reader->entry->key.mpi, SB_CACHE_MPI, value) ||
           refuse(reader, "an MPI's name", value);
}

static bool read_by(reader_t *reader, const char *value)
{
    return read_text(reader->entry->by, sizeof reader->entry->by, value) ||
           refuse(reader, "a word", value);
}

static bool read_made(reader_t *reader, const char *value)
{
    return sb_parse_count(value, &reader->entry->made) || refuse(reader, "a number", value);
}

/* "line 71200" */
static bool read_price(reader_t *reader, const char *value)
{
    char name[32] = "";
    uint64_t thousandths;
    size_t length = strcspn(value, " ");

    snprintf(name, sizeof name, "%.*s", (int)sb_min(length, sizeof name - 1), value);
    size_t index = sb_price_find(name);
    bool right = value[length] == ' ' && sb_parse_count(value + length + 1, &thousandths);
    if (right && index == sb_price_count())
        return pass_over(reader, "price", value);
    if (!right || !sb_price_learn(&reader->entry->prices, &reader->entry->known, index,
                                  (double)thousandths / 1000))
        return refuse(reader, "a price of a sixteenth to sixteen times what is usual", value);
    return true;
}

/* The words of a rule. */
typedef struct words {
    char collective[24], from[24], to[24], ranks[16], shared[4], algorithm[SB_NAME_BYTES];
} words_t;

static bool find_collective(const words_t *words, sb_rule_t *rule)
{
    for (uint32_t c = 0; c < SB_REDUCE; c++) {
        rule->collective = c;
        if (strcmp(sb_collective_name((sb_collective_t)c), words->collective) == 0)
            return true;
    }
    return false;
}

static bool find_sizes(const words_t *words, sb_rule_t *rule)
{
    bool all = strcmp(words->to, "-") == 0;

    rule->bytes_to = UINT64_MAX;
    return sb_parse_count(words->from, &rule->bytes_from) &&
           (all || sb_parse_count(words->to, &rule->bytes_to)) &&
           rule->bytes_from <= rule->bytes_to &&
           ((all && rule->bytes_from == 0) || sb_tuning_sized((sb_collective_t)rule->collective));
}

static bool find_ranks(const words_t *words, sb_rule_t *rule)
{
    uint64_t shared;
    bool right = sb_parse_count(words->ranks, &rule->ranks_from) &&
                 sb_parse_count(words->shared, &shared) && shared <= 1;

    rule->ranks_to = rule->ranks_from;
    rule->oversubscribed = right ? (int32_t)shared : -1;
    return right;
}

/* NULL, or what was expected. `newer`: a newer Sobor may know it, or have room for it. */
static const char *add_rule(sb_cache_entry_t *entry, const char *text, bool *newer)
{
    sb_rule_t rule = {
        .number = entry->rules.count + 1, .sets = 1u << SB_TUNE_ALGORITHM, .measured = 1};
    words_t words;
    int end = 0;

    *newer = false;
    if (sscanf(text, "%23s %23s %23s %15s %3s %39s%n", words.collective, words.from, words.to,
               words.ranks, words.shared, words.algorithm, &end) != 6 ||
        text[end] != '\0')
        return "six words";
    *newer = !find_collective(&words, &rule);
    if (*newer)
        return "a collective that combines nothing";
    if (!find_sizes(&words, &rule))
        return "sizes from and to, or 0 and -";
    if (!find_ranks(&words, &rule))
        return "ranks, and 0 or 1 for shared processors";
    *newer = !sb_tuning_algorithm(&rule, words.algorithm);
    if (*newer)
        return "an algorithm that there is";
    *newer = entry->rules.count == SB_RULES_MOST;
    if (*newer)
        return "fewer rules";
    entry->rules.rule[entry->rules.count++] = rule;
    return NULL;
}

bool sb_cache_rule(sb_cache_entry_t *entry, const char *text, char *error, size_t room)
{
    bool newer;
    const char *expected = add_rule(entry, text, &newer);

    if (expected != NULL)
        snprintf(error, room, "%s", expected);
    return expected == NULL;
}

static bool read_rule(reader_t *reader, const char *value)
{
    bool newer;
    const char *expected = add_rule(reader->entry, value, &newer);

    if (newer)
        return pass_over(reader, "rule", value);
    return expected == NULL || refuse(reader, expected, value);
}

static const struct {
    const char *word;
    bool (*read)(reader_t *reader, const char *value);
} lines[] = {
    {"machine", begin_entry}, {"end", end_entry},    {"processors", read_processors},
    {"ranks", read_ranks},    {"mpi", read_mpi},     {"by", read_by},
    {"made", read_made},      {"price", read_price}, {"rule", read_rule},
};

static bool read_line(reader_t *reader, char *line)
{
    size_t length = strcspn(line, " ");
    const char *value = line[length] == ' ' ? line + length + 1 : "";
    size_t i = 0;

    if (reader->line == 1) {
        bool right = strcmp(line, SB_CACHE_FORMAT) == 0;
        reader->cache->other_format = !right && strncmp(line, FORMATS, strlen(FORMATS)) == 0;
        return right || refuse(reader, SB_CACHE_FORMAT, line);
    }
    if (*line == '\0' || *line == '#')
        return true;
    while (i < SB_COUNT_OF(lines) &&
           (strlen(lines[i].word) != length || strncmp(lines[i].word, line, length) != 0))
        i++;
    if (reader->entry == NULL && (i == SB_COUNT_OF(lines) || lines[i].read != begin_entry))
        return refuse(reader, "machine", line);
    return i == SB_COUNT_OF(lines) ? pass_over(reader, line, "") : lines[i].read(reader, value);
}

static bool read_lines(reader_t *reader, char *text)
{
    bool right = true;

    while (right && *text != '\0') {
        size_t length = strcspn(text, "\n");
        bool whole = text[length] == '\n';
        text[length] = '\0';
        reader->line++;
        right = whole ? read_line(reader, text) : refuse(reader, "the end of the line", text);
        text += length + whole;
    }
    if (right && (reader->line == 0 || reader->entry != NULL))
        return refuse(reader, reader->line == 0 ? SB_CACHE_FORMAT : "end", "the end of the file");
    return right;
}

/* This user, the system's, and for the installation's own file whom that belongs to. */
static bool may_own(uid_t owner, const char *path)
{
    char installed[SB_CACHE_PATH];
    uid_t installer;

    return owner == geteuid() || owner == 0 ||
           (sb_cache_path(SB_CACHE_INSTALLED, installed, sizeof installed) &&
            strcmp(path, installed) == 0 && sb_cache_installer(&installer) && owner == installer);
}

/* For nobody else to write, and not too long. */
static bool is_trusted(int file, const char *path, size_t *bytes, const char **found)
{
    struct stat info = {0};

    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        *found = "no plain file";
    else if (!may_own(info.st_uid, path))
        *found = "another user's";
    else if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        *found = "one that others may write";
    else if (info.st_size > (off_t)FILE_BYTES_MOST)
        *found = "a longer one";
    else
        *found = NULL;
    *bytes = (size_t)info.st_size;
    return *found == NULL;
}

/* The text of the file, in TEXT_BYTES of pages; or NULL, with what is wrong. */
static char *load(int file, const char *path, char *error, size_t room)
{
    const char *found;
    char *text = NULL;
    size_t bytes;

    if (!is_trusted(file, path, &bytes, &found)) {
        snprintf(error, room, "expected this user's or root's file of at most %zu KiB, found %s",
                 FILE_BYTES_MOST >> 10, found);
        return NULL;
    }
    text = sb_pages_take(TEXT_BYTES);
    ssize_t length = text == NULL ? -1 : read(file, text, bytes);
    if (length >= 0 && memchr(text, '\0', (size_t)length) == NULL)
        return text;
    snprintf(error, room, "expected text, found %s", length < 0 ? strerror(errno) : "a zero byte");
    sb_pages_give(text, TEXT_BYTES);
    return NULL;
}

sb_cache_read_t sb_cache_read(const char *path, sb_cache_t *cache, char *error, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int length = snprintf(error, room, "%s: ", path);
    size_t used = sb_min((size_t)length, room - 1);
    reader_t reader = {.cache = cache, .error = error + used, .room = room - used};

    cache->count = 0;
    cache->other_format = false;
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return SB_CACHE_ABSENT;
    if (file < 0)
        snprintf(reader.error, reader.room, "%s", strerror(errno));
    char *text = file < 0 ? NULL : load(file, path, reader.error, reader.room);
    bool right = text != NULL && read_lines(&reader, text);
    if (!right)
        cache->count = 0;
    sb_pages_give(text, TEXT_BYTES);
    if (file >= 0)
        close(file);
    return right ? SB_CACHE_READ : SB_CACHE_BROKEN;
}

/* ---- what it holds ---- */

bool sb_cache_same_machine(const sb_cache_key_t *a, const sb_cache_key_t *b)
{
    return a->processors == b->processors && strcmp(a->processor, b->processor) == 0;
}

/* How far apart numbers of ranks are; 0: it is not known how many there are. */
static double ratio_of(uint32_t a, uint32_t b)
{
    return a == 0 || b == 0 ? 1 : (double)sb_max(a, b) / (double)sb_min(a, b);
}

const sb_cache_entry_t *sb_cache_fit(const sb_cache_t *cache, const sb_cache_key_t *key)
{
    const sb_cache_entry_t *best = NULL;
    double nearest = 2;

    for (uint32_t i = 0; i < cache->count; i++) {
        const sb_cache_entry_t *entry = &cache->entry[i];
        double ratio = ratio_of(entry->key.ranks, key->ranks);
        if (entry->known != 0 && sb_cache_same_machine(&entry->key, key) && ratio <= nearest) {
            best = entry;
            nearest = ratio;
        }
    }
    return best;
}

static void add_rules(const sb_cache_entry_t *entry, const sb_cache_key_t *key, sb_rules_t *rules)
{
    if (!sb_cache_same_machine(&entry->key, key) || strcmp(entry->key.mpi, key->mpi) != 0)
        return;
    for (uint32_t r = 0; r < entry->rules.count && rules->count < SB_RULES_MOST; r++) {
        if (key->ranks == 0 || entry->rules.rule[r].ranks_from <= key->ranks)
            rules->rule[rules->count++] = entry->rules.rule[r];
    }
}

void sb_cache_rules(const sb_cache_t *cache, const sb_cache_key_t *key, sb_rules_t *rules)
{
    for (uint32_t other = 0; other < 2; other++) {
        for (uint32_t i = 0; i < cache->count; i++) {
            if ((cache->entry[i].key.ranks != key->ranks) == (other == 1))
                add_rules(&cache->entry[i], key, rules);
        }
    }
}
