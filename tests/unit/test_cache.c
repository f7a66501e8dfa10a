/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of what was measured: what is read, what is refused, which entry is for whom. */
#include "testing.h"

#include "select/cache.h"
#include "select/select.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD "sobor-prices 1\n"
#define MACHINE "machine M\nprocessors 8\nranks 4\n"

static sb_cache_t cache;
static char error[2048];
static char folder[] = "/tmp/sobor-cache-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL && setenv("XDG_CACHE_HOME", folder, 1) == 0 ? 0 : -1;
}

static char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("sobor/prices"));
    rmdir(path_of("sobor"));
    return rmdir(folder);
}

/* Reads the text as a file of that mode. */
static sb_cache_read_t read_as(const char *text, mode_t mode)
{
    FILE *file = fopen(path_of("text"), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path_of("text"), mode), 0);
    sb_cache_read_t answer = sb_cache_read(path_of("text"), &cache, error, sizeof error);
    unlink(path_of("text"));
    return answer;
}

static size_t place_of(const char *name)
{
    return sb_price_find(name);
}

static void everything_is_read(void **state)
{
    (void)state;
    assert_int_equal(
        read_as(HEAD "# mine\n\n" MACHINE "mpi Open MPI 4.1.4\nby tune\nmade 17\n"
                     "price line 140000\nprice byte 30\nrule bcast 1 64 4 0 ring\n"
                     "rule barrier 0 - 4 1 host\nend\nmachine N  2\nprocessors 1\nranks 1\nend\n",
                0600),
        SB_CACHE_READ);
    const sb_cache_entry_t *entry = &cache.entry[0];
    assert_int_equal(cache.count, 2);
    assert_string_equal(entry->key.mpi, "Open MPI 4.1.4");
    assert_string_equal(entry->by, "tune");
    assert_int_equal(entry->made, 17);
    assert_int_equal(entry->known, 1u << place_of("line") | 1u << place_of("byte"));
    assert_true(entry->prices.line == 140.0 && entry->prices.byte == 0.03);
    assert_int_equal(entry->rules.count, 2);
    assert_int_equal(entry->rules.rule[0].bytes_to, 64);
    assert_int_equal(entry->rules.rule[0].ranks_to, 4);
    assert_int_equal(entry->rules.rule[0].measured, 1);
    assert_int_equal(entry->rules.rule[1].oversubscribed, 1);
    assert_int_equal(entry->rules.rule[1].value[SB_TUNE_ALGORITHM], SB_RULE_HOST);
    assert_string_equal(cache.entry[1].key.processor, "N  2");
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "line 0: expected sobor-prices 1, found \"the end of the file\""},
        {"sobor-prices 2\n", "line 1: expected sobor-prices 1, found \"sobor-prices 2\""},
        {"{\"prices\": []}\n", "line 1: expected sobor-prices 1, "},
        {HEAD "ranks 2\n", "line 2: expected machine, found \"ranks 2\""},
        {HEAD MACHINE, "line 4: expected end, found \"the end of the file\""},
        {HEAD MACHINE "end", "line 5: expected the end of the line, found \"end\""},
        {HEAD "machine M\nranks 2\nend\n", "line 4: expected end, after processors and ranks"},
        {HEAD MACHINE "machine N\n", "line 5: expected end before the next entry"},
        {HEAD "machine \n", "line 2: expected a model's name"},
        {HEAD "machine a\033[2J\n", "line 2: expected a model's name"},
        {HEAD MACHINE "ranks -2\nend\n", "line 5: expected a number, found \"-2\""},
        {HEAD MACHINE "ranks 4294967296\nend\n", "line 5: expected a number"},
        {HEAD MACHINE "price line 70.5\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "price line -70000\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "price line 0\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "price line 4000\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "price line 1200000\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "price line 99999999999999999999\nend\n", "line 5: expected a price of"},
        {HEAD MACHINE "price lime 70.5\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "price line\nend\n", "line 5: expected a price of a sixteenth"},
        {HEAD MACHINE "rule bcast 1 64 4 0\nend\n", "line 5: expected six words"},
        {HEAD MACHINE "rule bcast 1 64 4 0 ring x\nend\n", "line 5: expected six words"},
        {HEAD MACHINE "rule bcast 65 64 4 0 ring\nend\n", "line 5: expected sizes from and to"},
        {HEAD MACHINE "rule barrier 1 64 4 0 flat\nend\n", "line 5: expected sizes from and to"},
        {HEAD MACHINE "rule bcast 1 64 4 2 ring\nend\n", "line 5: expected ranks, and 0 or 1"},
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(wrong); i++) {
        assert_int_equal(read_as(wrong[i].text, 0600), SB_CACHE_BROKEN);
        const char *told = error + strlen(path_of("text")) + 2;
        if (strncmp(told, wrong[i].error, strlen(wrong[i].error)) != 0)
            fail_msg("expected %s, found %s", wrong[i].error, told);
        assert_int_equal(cache.count, 0);
    }
}

static void a_file_that_others_may_write_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_as(HEAD, 0644), SB_CACHE_READ);
    assert_int_equal(read_as(HEAD, 0622), SB_CACHE_BROKEN);
    assert_non_null(strstr(error, "found one that others may write"));
    assert_int_equal(read_as(HEAD, 0660), SB_CACHE_BROKEN);
    assert_int_equal(sb_cache_read(folder, &cache, error, sizeof error), SB_CACHE_BROKEN);
    assert_non_null(strstr(error, "found no plain file"));
    assert_int_equal(sb_cache_read(path_of("none"), &cache, error, sizeof error), SB_CACHE_ABSENT);
    if (geteuid() != 0)
        return;
    assert_int_equal(setegid(1) == 0 && seteuid(1) == 0, true);
    sb_cache_read_t of_root = sb_cache_read("/etc/passwd", &cache, error, sizeof error);
    bool told = strstr(error, "line 1: expected sobor-prices 1") != NULL;
    assert_int_equal(seteuid(0) == 0 && setegid(0) == 0, true);
    assert_int_equal(of_root, SB_CACHE_BROKEN);
    assert_true(told);
    FILE *file = fopen(path_of("text"), "w");
    fputs(HEAD, file);
    fclose(file);
    assert_int_equal(chown(path_of("text"), 1, 1), 0);
    assert_int_equal(sb_cache_read(path_of("text"), &cache, error, sizeof error), SB_CACHE_BROKEN);
    assert_non_null(strstr(error, "found another user's"));
    unlink(path_of("text"));
}

static void more_entries_than_there_may_be_are_refused(void **state)
{
    char text[4096] = HEAD;

    (void)state;
    for (int i = 0; i < SB_CACHE_ENTRIES_MOST; i++)
        strcat(text, MACHINE "end\n");
    assert_int_equal(read_as(text, 0600), SB_CACHE_READ);
    strcat(text, MACHINE "end\n");
    assert_int_equal(read_as(text, 0600), SB_CACHE_BROKEN);
}

static sb_cache_entry_t entry_of(const char *model, uint32_t ranks, const char *mpi, double line)
{
    sb_cache_entry_t entry = {.key = {.processors = 8, .ranks = ranks},
                              .prices = sb_prices_standard};

    strcpy(entry.key.processor, model);
    strcpy(entry.key.mpi, mpi);
    strcpy(entry.by, "tune");
    if (line > 0)
        assert_true(sb_price_learn(&entry.prices, &entry.known, place_of("line"), line));
    return entry;
}

static void an_entry_is_for_its_machine_and_about_as_many_ranks(void **state)
{
    sb_cache_key_t key = {.processor = "M", .processors = 8};

    (void)state;
    cache.count = 3;
    cache.entry[0] = entry_of("M", 4, "", 71);
    cache.entry[1] = entry_of("M", 16, "", 72);
    cache.entry[2] = entry_of("N", 8, "", 73);
    static const uint32_t ranks[] = {0, 1, 2, 4, 8, 9, 11, 16, 32, 33};
    static const double lines[] = {72, 0, 71, 71, 72, 72, 72, 72, 72, 0};
    for (size_t i = 0; i < SB_COUNT_OF(ranks); i++) {
        key.ranks = ranks[i];
        const sb_cache_entry_t *fit = sb_cache_fit(&cache, &key);
        assert_true((fit == NULL ? 0 : fit->prices.line) == lines[i]);
    }
    key.processors = 4;
    key.ranks = 4;
    assert_null(sb_cache_fit(&cache, &key));
}

static void rules_are_for_their_mpi(void **state)
{
    sb_cache_key_t key = {.processor = "M", .processors = 8, .ranks = 64, .mpi = "MPICH 4"};
    sb_rules_t rules = {0};

    (void)state;
    cache.count = 2;
    cache.entry[0] = entry_of("M", 4, "MPICH 4", 0);
    cache.entry[1] = entry_of("M", 4, "Open MPI 5", 0);
    assert_true(sb_cache_rule(&cache.entry[0], "bcast 0 - 4 0 ring", error, sizeof error));
    assert_true(sb_cache_rule(&cache.entry[1], "bcast 0 - 4 0 tree", error, sizeof error));
    sb_cache_rules(&cache, &key, &rules);
    assert_int_equal(rules.count, 1);
    assert_int_equal(rules.rule[0].ranks_from, 4);
    strcpy(key.mpi, "");
    sb_cache_rules(&cache, &key, &rules);
    assert_int_equal(rules.count, 1);
}

/* There is room for so many: first come those for as many ranks as the job has. */
static void rules_of_the_jobs_ranks_come_first(void **state)
{
    sb_cache_key_t key = {.processor = "M", .processors = 8, .ranks = 4, .mpi = "MPI"};
    sb_rules_t rules = {0};

    (void)state;
    cache.count = 3;
    for (uint32_t i = 0; i < cache.count; i++) {
        char text[64];
        cache.entry[i] = entry_of("M", 2u << i, "MPI", 0);
        snprintf(text, sizeof text, "bcast 0 - %u 0 host", 2u << i);
        for (uint32_t k = 0; k < SB_RULES_MOST; k++)
            assert_true(sb_cache_rule(&cache.entry[i], text, error, sizeof error));
    }
    cache.entry[1].rules.count = 3;
    sb_cache_rules(&cache, &key, &rules);
    assert_int_equal(rules.count, SB_RULES_MOST);
    assert_int_equal(rules.rule[2].ranks_from, 4);
    assert_int_equal(rules.rule[3].ranks_from, 2);
    assert_int_equal(rules.rule[SB_RULES_MOST - 1].ranks_from, 2);
}

/* As much as there may be is read again. */
static void a_full_file_can_be_read(void **state)
{
    char path[SB_CACHE_PATH];

    (void)state;
    for (uint32_t i = 0; i < SB_CACHE_ENTRIES_MOST; i++) {
        sb_cache_entry_t entry = entry_of("a model", 1000000 + i, "MPI", 70);
        for (uint32_t k = 0; k < SB_RULES_MOST; k++)
            assert_true(sb_cache_rule(&entry, "allgather 10000000 20000000 1000000 0 numa-relay",
                                      error, sizeof error));
        assert_true(sb_cache_keep(&entry, error, sizeof error));
    }
    assert_true(sb_cache_path(SB_CACHE_USER, path, sizeof path));
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    assert_int_equal(cache.count, SB_CACHE_ENTRIES_MOST);
    assert_int_equal(unlink(path), 0);
}

/* What is kept is read again, and what has its key gives way to it. */
static void what_is_kept_is_found(void **state)
{
    sb_cache_entry_t first = entry_of("M", 4, "", 80.5), second = entry_of("M", 8, "MPI", 0);
    struct stat info;
    char path[SB_CACHE_PATH];

    (void)state;
    assert_true(sb_cache_rule(&second, "alltoall 3 900 8 0 host", error, sizeof error));
    assert_true(sb_cache_keep(&first, error, sizeof error));
    assert_true(sb_cache_keep(&second, error, sizeof error));
    assert_true(sb_price_learn(&first.prices, &first.known, place_of("line"), 90.25));
    assert_true(sb_cache_keep(&first, error, sizeof error));
    assert_true(sb_cache_path(SB_CACHE_USER, path, sizeof path));
    assert_string_equal(path, path_of("sobor/prices"));
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    assert_int_equal(cache.count, 2);
    assert_true(cache.entry[0].prices.line == 90.25);
    assert_string_equal(cache.entry[1].key.mpi, "MPI");
    assert_int_equal(cache.entry[1].rules.rule[0].bytes_from, 3);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_not_equal(access(path_of("sobor/prices.new"), F_OK), 0);
}

/* Puts the text where the user's file is; returns its path. */
static const char *put_file(const char *text)
{
    static char path[SB_CACHE_PATH];

    mkdir(path_of("sobor"), 0700);
    assert_true(sb_cache_path(SB_CACHE_USER, path, sizeof path));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    return path;
}

static const char *text_of(const char *path)
{
    static char text[4096];
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* An older one measures and keeps what it has measured: the newer one's is still there. */
static void what_a_newer_one_keeps_stays(void **state)
{
    static const char *const newer[] = {"price lime 70000\n", "rule bcast 1 64 4 0 rings\n",
                                        "rule allreduce 1 64 4 0 slots\n", "weight 3 kg\n"};
    sb_cache_entry_t entry = entry_of("N", 4, "", 70);
    char text[1024] = HEAD MACHINE "mpi MPI\nprice line 80000\nrule bcast 1 64 4 0 ring\n";
    const char *path;

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(newer); i++)
        strcat(text, newer[i]);
    path = put_file(strcat(text, "end\n"));
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    assert_int_equal(cache.entry[0].rules.count, 1);
    assert_int_equal(cache.entry[0].known, 1u << place_of("line"));
    for (int round = 0; round < 2; round++) {
        assert_true(sb_cache_keep(&entry, error, sizeof error));
        for (size_t i = 0; i < SB_COUNT_OF(newer); i++)
            assert_non_null(strstr(text_of(path), newer[i]));
    }
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    assert_int_equal(cache.count, 2);
    /* In place of the entry that has them there are none. */
    entry = entry_of("M", 4, "MPI", 70);
    assert_true(sb_cache_keep(&entry, error, sizeof error));
    assert_null(strstr(text_of(path), "lime"));
    unlink(path);
}

/* What there is no room for is lost, and no more than that. */
static void too_much_of_a_newer_one_is_no_error(void **state)
{
    sb_cache_entry_t entry = entry_of("N", 4, "", 70);
    char text[2 * SB_CACHE_NEWER] = HEAD MACHINE;
    const char *path;

    (void)state;
    for (int i = 0; i < SB_CACHE_NEWER / 20 + 10; i++)
        strcat(text, "price lime 70000000\n");
    path = put_file(strcat(text, "price line 80000\nend\n"));
    assert_true(sb_cache_keep(&entry, error, sizeof error));
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    assert_int_equal(cache.count, 2);
    assert_true(cache.entry[0].prices.line == 80);
    assert_true(strlen(cache.newer[0]) > SB_CACHE_NEWER - 21);
    unlink(path);
}

/* What cannot be read is written anew, but for what another version writes otherwise. */
static void another_format_stays(void **state)
{
    static const char other[] = "sobor-prices 2\n# and so on\n";
    sb_cache_entry_t entry = entry_of("N", 4, "", 70);
    const char *path = put_file(other);

    (void)state;
    assert_false(sb_cache_keep(&entry, error, sizeof error));
    assert_non_null(strstr(error, "line 1: expected sobor-prices 1, found"));
    assert_string_equal(text_of(path), other);
    assert_int_not_equal(access(path_of("sobor/prices.new"), F_OK), 0);
    put_file(HEAD MACHINE);
    assert_true(sb_cache_keep(&entry, error, sizeof error));
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    unlink(path);
}

static void the_oldest_entry_gives_way(void **state)
{
    char path[SB_CACHE_PATH];

    (void)state;
    for (uint32_t i = 0; i < SB_CACHE_ENTRIES_MOST + 2; i++) {
        sb_cache_entry_t entry = entry_of("K", 100 + i, "", 70);
        entry.made = i == 3 ? 1 : 1000 + i;
        assert_true(sb_cache_keep(&entry, error, sizeof error));
    }
    assert_true(sb_cache_path(SB_CACHE_USER, path, sizeof path));
    assert_int_equal(sb_cache_read(path, &cache, error, sizeof error), SB_CACHE_READ);
    assert_int_equal(cache.count, SB_CACHE_ENTRIES_MOST);
    for (uint32_t i = 0; i < cache.count; i++)
        assert_int_not_equal(cache.entry[i].key.ranks, 103);
}

static void one_process_writes_at_a_time(void **state)
{
    sb_cache_entry_t entry = entry_of("W", 4, "", 70);
    char fresh[256];

    (void)state;
    mkdir(path_of("sobor"), 0700);
    strcpy(fresh, path_of("sobor/prices.new"));
    fclose(fopen(fresh, "w"));
    assert_false(sb_cache_keep(&entry, error, sizeof error));
    assert_non_null(strstr(error, "another process is writing it"));
    /* A minute later its writer is no more, nor is one of a time to come. */
    const time_t wrong[] = {1000, time(NULL) + 100000};
    for (size_t i = 0; i < SB_COUNT_OF(wrong); i++) {
        const struct timespec times[2] = {{wrong[i], 0}, {wrong[i], 0}};
        fclose(fopen(fresh, "w"));
        assert_int_equal(utimensat(AT_FDCWD, fresh, times, 0), 0);
        assert_true(sb_cache_keep(&entry, error, sizeof error));
        assert_int_not_equal(access(fresh, F_OK), 0);
    }
}

/* Sets the variable; NULL: it is none. */
static void name_folder(const char *variable, const char *name)
{
    assert_int_equal(name == NULL ? unsetenv(variable) : setenv(variable, name, 1), 0);
}

static void where_nothing_can_be_written_nothing_is_kept(void **state)
{
    sb_cache_entry_t entry = entry_of("M", 4, "", 70);

    (void)state;
    name_folder("XDG_CACHE_HOME", "/dev/null/x");
    assert_false(sb_cache_keep(&entry, error, sizeof error));
    assert_non_null(strstr(error, "/dev/null/x/sobor/prices: "));
    name_folder("XDG_CACHE_HOME", path_of("locked"));
    assert_int_equal(mkdir(path_of("locked"), 0555), 0);
    assert_int_equal(geteuid() != 0 || chmod(folder, 0755) == 0, true);
    assert_int_equal(geteuid() != 0 || seteuid(1) == 0, true);
    bool kept = sb_cache_keep(&entry, error, sizeof error);
    assert_int_equal(getuid() != 0 || seteuid(0) == 0, true);
    assert_false(kept);
    assert_non_null(strstr(error, "/locked/sobor/prices: "));
    assert_int_equal(rmdir(path_of("locked")), 0);
    name_folder("XDG_CACHE_HOME", folder);
}

/* The user's place follows the two variables; a folder that is not absolute is none. */
static void a_users_place_is_below_the_folder_that_is_named(void **state)
{
    static const struct {
        const char *cache, *home, *path;
    } is[] = {
        {"/c", "/h", "/c/sobor/prices"},
        {"/c", NULL, "/c/sobor/prices"},
        {NULL, "/h", "/h/.cache/sobor/prices"},
        {"", "/h", "/h/.cache/sobor/prices"},
        {"c", "/h", "/h/.cache/sobor/prices"},
        {"c", "h", NULL},
        {NULL, "", NULL},
        {NULL, NULL, NULL},
    };
    sb_cache_entry_t entry = entry_of("M", 4, "", 70);
    char path[SB_CACHE_PATH], home[SB_CACHE_PATH] = "", longer[SB_CACHE_PATH + 1];
    bool had_home = getenv("HOME") != NULL;

    (void)state;
    snprintf(home, sizeof home, "%s", had_home ? getenv("HOME") : "");
    for (size_t i = 0; i < SB_COUNT_OF(is); i++) {
        name_folder("XDG_CACHE_HOME", is[i].cache);
        name_folder("HOME", is[i].home);
        assert_int_equal(sb_cache_path(SB_CACHE_USER, path, sizeof path), is[i].path != NULL);
        if (is[i].path != NULL)
            assert_string_equal(path, is[i].path);
    }
    assert_false(sb_cache_keep(&entry, error, sizeof error));
    assert_non_null(strstr(error, "neither XDG_CACHE_HOME nor HOME is set"));
    /* What does not fit is no place: cut, it would be another's. */
    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    name_folder("XDG_CACHE_HOME", longer);
    assert_false(sb_cache_path(SB_CACHE_USER, path, sizeof path));
    name_folder("XDG_CACHE_HOME", folder);
    name_folder("HOME", had_home ? home : NULL);
}

/* Whatever variables say: of the system, and of the installation that this program is part of. */
static void other_places_are_fixed(void **state)
{
    char path[SB_CACHE_PATH], expected[SB_CACHE_PATH + 32], self[SB_CACHE_PATH] = "";

    (void)state;
    assert_true(sb_cache_path(SB_CACHE_SYSTEM, path, sizeof path));
    assert_string_equal(path, "/etc/sobor/prices");
    assert_false(sb_cache_path(SB_CACHE_SYSTEM, path, strlen("/etc/sobor/prices")));
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    for (int i = 0; i < 3; i++)
        *strrchr(self, '/') = '\0';
    snprintf(expected, sizeof expected, "%s/share/sobor/prices", self);
    assert_true(sb_cache_path(SB_CACHE_INSTALLED, path, sizeof path));
    assert_string_equal(path, expected);
}

static void unknown_prices_follow_the_known(void **state)
{
    sb_cache_entry_t entry = entry_of("M", 4, "", 140);

    (void)state;
    sb_prices_follow(&entry.prices, entry.known);
    assert_true(entry.prices.line == 140);
    assert_true(entry.prices.next_line == 2 * sb_prices_standard.next_line);
    assert_true(entry.prices.relay == 2 * sb_prices_standard.relay);
    assert_true(entry.prices.byte == sb_prices_standard.byte);
    assert_true(entry.prices.turn == sb_prices_standard.turn);
    for (size_t i = 0; i < sb_price_count(); i++) {
        assert_true(place_of(sb_price_at(i)->follows) <= i);
        assert_true(sb_price_sane(i, sb_price_get(&sb_prices_standard, i)));
    }
    assert_false(sb_price_sane(0, (double)NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_file_that_others_may_write_is_refused),
        cmocka_unit_test(more_entries_than_there_may_be_are_refused),
        cmocka_unit_test(an_entry_is_for_its_machine_and_about_as_many_ranks),
        cmocka_unit_test(rules_are_for_their_mpi),
        cmocka_unit_test(rules_of_the_jobs_ranks_come_first),
        cmocka_unit_test(a_full_file_can_be_read),
        cmocka_unit_test(what_is_kept_is_found),
        cmocka_unit_test(what_a_newer_one_keeps_stays),
        cmocka_unit_test(too_much_of_a_newer_one_is_no_error),
        cmocka_unit_test(another_format_stays),
        cmocka_unit_test(the_oldest_entry_gives_way),
        cmocka_unit_test(one_process_writes_at_a_time),
        cmocka_unit_test(where_nothing_can_be_written_nothing_is_kept),
        cmocka_unit_test(a_users_place_is_below_the_folder_that_is_named),
        cmocka_unit_test(other_places_are_fixed),
        cmocka_unit_test(unknown_prices_follow_the_known),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
