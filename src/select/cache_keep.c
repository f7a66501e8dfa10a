/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the file of what was measured is, and how it is written. The new content is made in a file
 * beside it that takes its name at last, so that readers see one or the other. That there is such a
 * file keeps other writers away; one that was left by a process that died is removed after a
 * minute.
 */
#include "select/cache.h"

#include "base/pages.h"
#include "select/tuning.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STALE_SECONDS 60

/* ---- places ---- */

static bool user_folder(char *path, size_t room)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    /* Relative ones are to be ignored, says the specification of these folders. */
    if (cache != NULL && cache[0] == '/')
        return (size_t)snprintf(path, room, "%s/sobor", cache) < room;
    return home != NULL && home[0] == '/' &&
           (size_t)snprintf(path, room, "%s/.cache/sobor", home) < room;
}

/* Back ends and tools are two folders below the prefix, as in lib/sobor. */
static bool installed_folder(char *path, size_t room)
{
    Dl_info here;
    char file[SB_CACHE_PATH];

    if (dladdr((void *)(uintptr_t)installed_folder, &here) == 0 ||
        realpath(here.dli_fname, path) == NULL)
        return false;
    snprintf(file, sizeof file, "%s", path);
    return (size_t)snprintf(path, room, "%s/share/sobor", dirname(dirname(dirname(file)))) < room;
}

bool sb_cache_path(int place, char *path, size_t room)
{
    char folder[4096];
    bool there = place == SB_CACHE_SYSTEM ||
                 (place == SB_CACHE_USER ? user_folder(folder, sizeof folder)
                                         : installed_folder(folder, sizeof folder));

    if (place == SB_CACHE_SYSTEM)
        snprintf(folder, sizeof folder, "/etc/sobor");
    return there && (size_t)snprintf(path, room, "%s/prices", folder) < room;
}

bool sb_cache_installer(uid_t *owner)
{
    Dl_info here;
    struct stat info;

    if (dladdr((void *)(uintptr_t)installed_folder, &here) == 0 || stat(here.dli_fname, &info) != 0)
        return false;
    *owner = info.st_uid;
    return true;
}

/* ---- writing ---- */

static void write_prices(FILE *file, const sb_cache_entry_t *entry)
{
    for (size_t i = 0; i < sb_price_count(); i++) {
        if (entry->known >> i & 1)
            fprintf(file, "price %s %" PRIu64 "\n", sb_price_at(i)->name,
                    (uint64_t)(sb_price_get(&entry->prices, i) * 1000 + 0.5));
    }
}

static void write_rule(FILE *file, const sb_rule_t *rule)
{
    char to[24] = "-";

    if (rule->bytes_to != UINT64_MAX)
        snprintf(to, sizeof to, "%" PRIu64, rule->bytes_to);
    fprintf(file, "rule %s %" PRIu64 " %s %" PRIu64 " %d %s\n",
            sb_collective_name((sb_collective_t)rule->collective), rule->bytes_from, to,
            rule->ranks_from, (int)rule->oversubscribed,
            sb_tuning_algorithm_name(rule->value[SB_TUNE_ALGORITHM]));
}

/* `newer`: its lines that are not known. */
static void write_entry(FILE *file, const sb_cache_entry_t *entry, const char *newer)
{
    fprintf(file, "\nmachine %s\nprocessors %u\nranks %u\n", entry->key.processor,
            entry->key.processors, entry->key.ranks);
    if (entry->key.mpi[0] != '\0')
        fprintf(file, "mpi %s\n", entry->key.mpi);
    if (entry->by[0] != '\0')
        fprintf(file, "by %s\n", entry->by);
    fprintf(file, "made %" PRIu64 "\n", entry->made);
    write_prices(file, entry);
    for (uint32_t i = 0; i < entry->rules.count; i++)
        write_rule(file, &entry->rules.rule[i]);
    fprintf(file, "%send\n", newer);
}

static bool same_key(const sb_cache_key_t *a, const sb_cache_key_t *b)
{
    return sb_cache_same_machine(a, b) && a->ranks == b->ranks && strcmp(a->mpi, b->mpi) == 0;
}

static void set_entry(sb_cache_t *cache, uint32_t place, const sb_cache_entry_t *entry)
{
    cache->entry[place] = *entry;
    cache->newer[place][0] = '\0';
}

/* In place of the one with its key, or at the end; then the oldest gives way. */
static void put_entry(sb_cache_t *cache, const sb_cache_entry_t *entry)
{
    uint32_t place = 0;

    for (uint32_t i = 0; i < cache->count; i++) {
        if (same_key(&cache->entry[i].key, &entry->key)) {
            set_entry(cache, i, entry);
            return;
        }
        if (cache->entry[i].made < cache->entry[place].made)
            place = i;
    }
    if (cache->count < SB_CACHE_ENTRIES_MOST)
        place = cache->count++;
    set_entry(cache, place, entry);
}

static bool write_file(int file, const sb_cache_t *cache)
{
    FILE *stream = fdopen(file, "w");

    if (stream == NULL) {
        close(file);
        return false;
    }
    fprintf(stream, SB_CACHE_FORMAT "\n# What Sobor measured on this machine. It may be deleted "
                                    "at any time.\n");
    for (uint32_t i = 0; i < cache->count; i++)
        write_entry(stream, &cache->entry[i], cache->newer[i]);
    bool right = ferror(stream) == 0;
    return fclose(stream) == 0 && right;
}

/* The user's folder, and the one that it is in. */
static void make_folders(const char *path)
{
    char inner[SB_CACHE_PATH], outer[SB_CACHE_PATH];

    snprintf(inner, sizeof inner, "%s", path);
    snprintf(outer, sizeof outer, "%s", dirname(inner));
    mkdir(dirname(outer), 0700);
    mkdir(inner, 0700);
}

/* Also where it is of a time to come: by a clock, or a server's, that was wrong. */
static bool is_stale(const struct stat *left)
{
    time_t now = time(NULL);

    return now >= left->st_mtime + STALE_SECONDS || now + STALE_SECONDS <= left->st_mtime;
}

/* A file that is this process's alone; -1: it cannot be had. */
static int open_new(const char *path)
{
    struct stat left;
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int file = open(path, flags, 0600);

    if (file >= 0 || errno != EEXIST)
        return file;
    if (lstat(path, &left) != 0 || !is_stale(&left) || unlink(path) != 0) {
        errno = EEXIST;
        return -1;
    }
    return open(path, flags, 0600);
}

/* What it says is wrong begins with the file's name. */
static bool replace(const char *path, const char *fresh, sb_cache_t *cache,
                    const sb_cache_entry_t *entry, char *error, size_t room)
{
    int file = open_new(fresh);

    snprintf(error, room, "%s: %s", path,
             errno == EEXIST ? "another process is writing it" : strerror(errno));
    if (file < 0)
        return false;
    sb_cache_read(path, cache, error, room);
    if (cache->other_format) {
        close(file);
        unlink(fresh);
        return false;
    }
    put_entry(cache, entry);
    if (write_file(file, cache) && rename(fresh, path) == 0)
        return true;
    snprintf(error, room, "%s: %s", path, strerror(errno));
    unlink(fresh);
    return false;
}

bool sb_cache_keep(const sb_cache_entry_t *entry, char *error, size_t room)
{
    char path[SB_CACHE_PATH], fresh[SB_CACHE_PATH + 4];
    sb_cache_t *cache = sb_pages_take(sizeof *cache);

    if (cache == NULL || !sb_cache_path(SB_CACHE_USER, path, sizeof path)) {
        snprintf(error, room, "there is no folder for it: neither XDG_CACHE_HOME nor HOME is set");
        sb_pages_give(cache, sizeof *cache);
        return false;
    }
    make_folders(path);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    bool kept = replace(path, fresh, cache, entry, error, room);
    sb_pages_give(cache, sizeof *cache);
    return kept;
}
