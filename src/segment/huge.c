/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/huge.h"

#include "base/file.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SETTINGS "/sys/kernel/mm/transparent_hugepage"

/* "always within_size [advise] never": the word in brackets. */
static void find_chosen(const char *line, char *word, size_t room)
{
    const char *start = strchr(line, '[');
    size_t length = start == NULL ? 0 : strcspn(start + 1, "]\n");

    if (length > 0)
        snprintf(word, room, "%.*s", (int)length, start + 1);
}

/* Newer systems have a setting for each size of page, which may be the one for all. */
static void read_size_setting(const char *root, const char *setting, sb_huge_mode_t *mode)
{
    char line[128], word[sizeof mode->word] = "inherit";

    if (sb_file_line(line, sizeof line, "%s" SETTINGS "/hugepages-%zukB/%s", root, mode->page >> 10,
                     setting))
        find_chosen(line, word, sizeof word);
    if (strcmp(word, "inherit") != 0 && strcmp(mode->word, "deny") != 0)
        snprintf(mode->word, sizeof mode->word, "%s", word);
}

static void read_mode(const char *root, const char *setting, sb_huge_mode_t *mode)
{
    char line[128];

    *mode = (sb_huge_mode_t){.word = "unknown"};
    if (!sb_file_line(line, sizeof line, "%s" SETTINGS "/hpage_pmd_size", root) ||
        sscanf(line, "%zu", &mode->page) != 1 ||
        !sb_file_line(line, sizeof line, "%s" SETTINGS "/%s", root, setting))
        return;
    find_chosen(line, mode->word, sizeof mode->word);
    read_size_setting(root, setting, mode);
}

void sb_huge_read(const char *root, sb_huge_mode_t *mode)
{
    read_mode(root, "shmem_enabled", mode);
}

void sb_huge_read_private(const char *root, sb_huge_mode_t *mode)
{
    read_mode(root, "enabled", mode);
}

bool sb_huge_possible(const sb_huge_mode_t *mode)
{
    static const char *const open[] = {"always", "within_size", "advise", "force"};
    bool possible = false;

    for (size_t i = 0; i < SB_COUNT_OF(open); i++)
        possible = possible || strcmp(mode->word, open[i]) == 0;
    return possible && mode->page > 0;
}

static sb_huge_mode_t own;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void read_own(void)
{
    sb_huge_read("", &own);
}

bool sb_huge_advise(char *base, size_t bytes, bool wanted, size_t *page)
{
    pthread_once(&own_once, read_own);
    *page = 0;
    if (!sb_huge_possible(&own))
        return false;
    size_t whole = wanted ? bytes / own.page * own.page : 0;
    if (whole > 0 && madvise(base, whole, MADV_HUGEPAGE) == 0)
        *page = own.page;
    if (bytes > whole)
        madvise(base + whole, bytes - whole, MADV_NOHUGEPAGE);
    return true;
}

size_t sb_huge_mapped(const char *base, size_t bytes)
{
    uintptr_t first = (uintptr_t)base, last = first + bytes, begin, end;
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[512];
    size_t found = 0, kib;
    bool inside = false;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            inside = begin >= first && end <= last;
        else if (inside && sscanf(line, "ShmemPmdMapped: %zu kB", &kib) == 1)
            found += kib << 10;
    }
    if (file != NULL)
        fclose(file);
    return found;
}
