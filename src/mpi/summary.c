/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/summary.h"

#include "base/config.h"
#include "base/log.h"
#include "mpi/comm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *separator(bool *any)
{
    const char *text = *any ? ", " : "";

    *any = true;
    return text;
}

static void put_calls(FILE *file, const sb_usage_t *sum)
{
    bool any = false;

    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++) {
        if (sum->calls[c] > 0)
            fprintf(file, "%s\"%s\": %" PRIu64, separator(&any), sb_collective_name(c),
                    sum->calls[c]);
    }
}

static void put_passed(FILE *file, const sb_usage_t *sum)
{
    bool any = false;

    for (int why = 0; why < SB_WHY_COUNT; why++) {
        if (sum->passed[why] > 0)
            fprintf(file, "%s\"%s\": %" PRIu64, separator(&any), sb_why_word(why),
                    sum->passed[why]);
    }
}

static void put(FILE *file, const char *host, int ranks, const sb_usage_t *sum)
{
    fprintf(file,
            "{\"version\": 1, \"sobor\": \"" SOBOR_VERSION "\", \"host\": \"%s\", \"pid\": %d, "
            "\"ended\": %lld, \"ranks\": %d, \"bytes\": %" PRIu64 ", \"served\": {",
            host, (int)getpid(), (long long)time(NULL), ranks, sum->bytes);
    put_calls(file, sum);
    fprintf(file, "}, \"passed\": {");
    put_passed(file, sum);
    fprintf(file, "}}\n");
}

/* One more than any folder should have of one name. */
#define SAME_MOST 10000

/* Containers may all have one name, and the same few numbers of processes: what another job has
 * written stays. */
static FILE *create(char path[PATH_MAX], const char *folder, const char *host)
{
    FILE *file = NULL;

    for (int same = 0; same < SAME_MOST && file == NULL; same++) {
        char number[16] = "";
        if (same > 0)
            snprintf(number, sizeof number, ".%d", same);
        snprintf(path, PATH_MAX, "%s/sobor-%s-%d%s.json", folder, host, (int)getpid(), number);
        file = fopen(path, "wxe");
        if (file == NULL && errno != EEXIST)
            break;
    }
    return file;
}

void sb_summary_write(void)
{
    const char *folder = sb_config()->summary.text;
    char host[64] = "", path[PATH_MAX];
    sb_usage_t sum = {.calls = {0}};
    int rank = -1, ranks = 0;

    if (folder[0] == '\0')
        return;
    sb_host.Comm_rank(sb_host.comm_world, &rank);
    sb_host.Comm_size(sb_host.comm_world, &ranks);
    if (rank != 0)
        return;
    gethostname(host, sizeof host - 1);
    FILE *file = create(path, folder, host);
    if (file == NULL) {
        sb_log("SOBOR_SUMMARY: %s: %s", path, strerror(errno));
        return;
    }
    sb_comm_totals(&sum);
    put(file, host, ranks, &sum);
    bool good = fflush(file) == 0 && !ferror(file);
    if (fclose(file) == 0 && good)
        return;
    sb_log("SOBOR_SUMMARY: %s: %s", path, strerror(errno));
    unlink(path); /* half of a file is read by nobody */
}
