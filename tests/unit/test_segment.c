/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing.h"

#include "segment/arena.h"
#include "segment/huge.h"
#include "segment/limits.h"
#include "segment/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void extents_merge(void **state)
{
    sb_extents_t extents;
    size_t at[4];

    (void)state;
    assert_true(sb_extents_init(&extents, 100, 400));
    for (int i = 0; i < 4; i++)
        assert_true(sb_extents_take(&extents, 100, &at[i]));
    assert_false(sb_extents_take(&extents, 1, &at[0]));
    assert_true(sb_extents_give(&extents, at[1], 100));
    assert_true(sb_extents_give(&extents, at[3], 100));
    assert_int_equal(extents.count, 2);
    assert_true(sb_extents_give(&extents, at[2], 100));
    assert_int_equal(extents.count, 1);
    assert_true(sb_extents_give(&extents, at[0], 100));
    assert_int_equal(extents.count, 1);
    assert_int_equal(sb_extents_free_bytes(&extents), 400);
    sb_extents_destroy(&extents);
}

/* Against a plain map of what is taken: no overlap, nothing lost. */
static void extents_survive_random_use(void **state)
{
    enum { SPACE = 4096, HELD = 64 };
    static unsigned char taken[SPACE];
    size_t offset[HELD], bytes[HELD] = {0};
    sb_extents_t extents;

    (void)state;
    srand(7);
    assert_true(sb_extents_init(&extents, 0, SPACE));
    for (int step = 0; step < 20000; step++) {
        int i = rand() % HELD;
        if (bytes[i] == 0) {
            size_t want = 1 + (size_t)rand() % 200;
            if (!sb_extents_take(&extents, want, &offset[i]))
                continue;
            bytes[i] = want;
            for (size_t b = offset[i]; b < offset[i] + want; b++)
                assert_int_equal(taken[b]++, 0);
        } else {
            memset(taken + offset[i], 0, bytes[i]);
            assert_true(sb_extents_give(&extents, offset[i], bytes[i]));
            bytes[i] = 0;
        }
    }
    size_t held = 0;
    for (size_t b = 0; b < SPACE; b++)
        held += taken[b];
    assert_int_equal(sb_extents_free_bytes(&extents), SPACE - held);
    sb_extents_destroy(&extents);
}

/* Runs `attach` in a child and returns whether it attached and saw the byte. */
static bool child_sees(const sb_ticket_t *ticket, char byte)
{
    pid_t child = fork();

    if (child == 0) {
        sb_region_t region;
        sb_reason_t reason;
        bool seen = sb_region_attach(&region, ticket, &reason) == SB_OK &&
                    region.base[SB_REGION_HEADER] == byte;
        if (seen)
            region.base[SB_REGION_HEADER] = (char)(byte + 1);
        _exit(!seen);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void share_region(sb_region_kind_t kind)
{
    sb_region_t region;
    sb_reason_t reason;

    assert_int_equal(sb_region_create(&region, kind, 65536, -1, &reason), SB_OK);
    region.base[SB_REGION_HEADER] = 'a';
    assert_true(child_sees(&region.ticket, 'a'));
    assert_int_equal(region.base[SB_REGION_HEADER], 'b');
    sb_ticket_t wrong = region.ticket;
    wrong.nonce[1] ^= 1;
    assert_false(child_sees(&wrong, 'b'));
    wrong = region.ticket;
    wrong.bytes *= 2;
    assert_false(child_sees(&wrong, 'b'));
    sb_region_unlink(&region);
    assert_false(region.linked);
    sb_region_close(&region);
    assert_false(child_sees(&wrong, 'b'));
}

static void anonymous_regions_are_shared(void **state)
{
    (void)state;
    share_region(SB_REGION_MEMFD);
}

static int count_names(void)
{
    int count = 0;
    FILE *names = popen("ls /dev/shm | grep -c '^sobor\\.'", "r");

    assert_int_equal(fscanf(names, "%d", &count), 1);
    pclose(names);
    return count;
}

static void named_regions_are_shared_and_leave_no_name(void **state)
{
    int before = count_names();

    (void)state;
    share_region(SB_REGION_NAMED);
    assert_int_equal(count_names(), before);
}

static void regions_are_private_to_the_user(void **state)
{
    sb_region_t region;
    sb_reason_t reason;
    struct stat file;

    (void)state;
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
    assert_int_equal(fstat(region.fd, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_true((size_t)file.st_blocks * 512 >= 65536); /* reserved */
    sb_region_close(&region);
}

static void departure_is_seen(void **state)
{
    sb_region_t region;
    sb_reason_t reason;

    (void)state;
    assert_int_equal(sb_region_create(&region, SB_REGION_MEMFD, 65536, -1, &reason), SB_OK);
    assert_false(sb_region_departed(&region));
    sb_region_depart(&region);
    assert_true(sb_region_departed(&region));
    sb_region_close(&region);
}

static void leftover_names_are_swept(void **state)
{
    sb_region_t mine;
    sb_reason_t reason;
    int before = count_names();
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        sb_region_t region;
        _exit(sb_region_create(&region, SB_REGION_NAMED, 65536, -1, &reason) != SB_OK);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(count_names(), before + 1);
    assert_int_equal(sb_region_create(&mine, SB_REGION_NAMED, 65536, -1, &reason), SB_OK);
    sb_region_sweep();
    assert_int_equal(count_names(), before + 1); /* the living one's stays */
    sb_region_close(&mine);
    assert_int_equal(count_names(), before);
}

static void the_dead_are_known(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        pause();
    uint64_t started = sb_process_start_time(child);
    assert_true(started > 0);
    assert_true(sb_process_alive(child, started));
    assert_false(sb_process_alive(child, started + 1)); /* a pid that was used again */
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    assert_false(sb_process_alive(child, started)); /* not reaped yet */
    waitpid(child, NULL, 0);
    assert_false(sb_process_alive(child, started));
}

static void arena_is_bounded_and_reused(void **state)
{
    enum { MOST = 64 };
    sb_block_t blocks[MOST];
    sb_reason_t reason;
    sb_arena_usage_t usage;
    int taken = 0;

    (void)state; /* the environment of this test gives 4 MiB */
    while (taken < MOST &&
           sb_arena_take(&blocks[taken], 300 << 10, SB_ARENA_ANY, 1, &reason) == SB_OK)
        taken++;
    assert_true(taken >= 8 && taken < 14);
    assert_non_null(strstr(reason.text, "SOBOR_MEMORY"));
    sb_arena_usage(&usage);
    assert_int_equal(usage.bound, 4 << 20);
    assert_true(usage.owned <= usage.bound && usage.taken <= usage.owned);
    blocks[0].address[100] = 1;
    for (int i = 0; i < taken; i++)
        sb_arena_give(&blocks[i]);
    sb_arena_usage(&usage);
    assert_int_equal(usage.taken, 0);
    for (int round = 0; round < 1000; round++) {
        assert_int_equal(sb_arena_take(&blocks[0], 300 << 10, SB_ARENA_ANY, 1, &reason), SB_OK);
        assert_int_equal(blocks[0].address[100], 0);
        blocks[0].address[100] = 1;
        sb_arena_give(&blocks[0]);
    }
    size_t regions = usage.regions;
    sb_arena_usage(&usage);
    assert_int_equal(usage.regions, regions);
}

static void write_file(const char *root, const char *path, const char *text)
{
    char command[1024], whole[512];

    snprintf(whole, sizeof whole, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p $(dirname %s)", whole);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void limits_of_control_groups(void **state)
{
    char root[] = "/tmp/sobor-limits-XXXXXX", command[128];
    sb_limits_t limits;

    (void)state;
    assert_non_null(mkdtemp(root));
    sb_limits_read(root, &limits);
    assert_true(sb_limits_available(&limits) == UINT64_MAX);

    write_file(root, "/proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    2000 kB\n");
    write_file(root, "/proc/self/cgroup", "0::/job/step\n");
    write_file(root, "/sys/fs/cgroup/job/memory.max", "1000000\n");
    write_file(root, "/sys/fs/cgroup/job/memory.current", "400000\n");
    write_file(root, "/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 100000\n");
    write_file(root, "/sys/fs/cgroup/job/step/memory.max", "max\n");
    write_file(root, "/sys/fs/cgroup/job/step/memory.current", "300000\n");
    sb_limits_read(root, &limits);
    assert_int_equal(limits.group_limit, 1000000);
    assert_int_equal(limits.group_available, 700000);
    assert_int_equal(limits.machine_available, 2000 * 1024);

    write_file(root, "/proc/self/cgroup", "5:cpu,memory:/old\n1:name=systemd:/\n");
    write_file(root, "/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "500000\n");
    write_file(root, "/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "600000\n");
    write_file(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "600000\n");
    sb_limits_read(root, &limits);
    assert_int_equal(sb_limits_available(&limits), 0);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* A system's settings, in a folder that stands for /. NULL: the file is not there. */
static sb_huge_mode_t huge_mode(const char *size, const char *all, const char *of_size)
{
    const char *const names[] = {"hpage_pmd_size", "shmem_enabled",
                                 "hugepages-2048kB/shmem_enabled"};
    const char *const texts[] = {size, all, of_size};
    char root[] = "/tmp/sobor-huge-XXXXXX", command[300];
    sb_huge_mode_t mode;

    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < SB_COUNT_OF(names); i++) {
        if (texts[i] == NULL)
            continue;
        snprintf(command, sizeof command,
                 "d=%s/sys/kernel/mm/transparent_hugepage; mkdir -p $d/hugepages-2048kB; "
                 "echo '%s' >$d/%s",
                 root, texts[i], names[i]);
        assert_int_equal(system(command), 0);
    }
    sb_huge_read(root, &mode);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    return mode;
}

static void the_system_says_whether_pages_are_huge(void **state)
{
    static const struct {
        const char *size, *all, *of_size, *word;
        bool possible;
    } systems[] = {
        {NULL, NULL, NULL, "unknown", false},
        {"2097152", NULL, NULL, "unknown", false},
        {"2097152", "always within_size advise [never] deny force", NULL, "never", false},
        {"2097152", "always within_size [advise] never deny force", NULL, "advise", true},
        {"2097152", "[always] within_size advise never deny force", NULL, "always", true},
        {"2097152", "always within_size advise never [deny] force", NULL, "deny", false},
        {"2097152", "always within_size [advise] never deny force",
         "always [inherit] within_size advise never", "advise", true},
        {"2097152", "always within_size advise [never] deny force",
         "always inherit [within_size] advise never", "within_size", true},
        {"2097152", "[always] within_size advise never deny force",
         "always inherit within_size advise [never]", "never", false},
        {"2097152", "always within_size advise never [deny] force",
         "[always] inherit within_size advise never", "deny", false},
        {"2097152", "nonsense", NULL, "unknown", false},
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(systems); i++) {
        sb_huge_mode_t mode = huge_mode(systems[i].size, systems[i].all, systems[i].of_size);
        assert_string_equal(mode.word, systems[i].word);
        assert_int_equal(sb_huge_possible(&mode), systems[i].possible);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_merge),
        cmocka_unit_test(extents_survive_random_use),
        cmocka_unit_test(anonymous_regions_are_shared),
        cmocka_unit_test(named_regions_are_shared_and_leave_no_name),
        cmocka_unit_test(regions_are_private_to_the_user),
        cmocka_unit_test(departure_is_seen),
        cmocka_unit_test(leftover_names_are_swept),
        cmocka_unit_test(the_dead_are_known),
        cmocka_unit_test(arena_is_bounded_and_reused),
        cmocka_unit_test(limits_of_control_groups),
        cmocka_unit_test(the_system_says_whether_pages_are_huge),
    };

    setenv("SOBOR_MEMORY", "4MiB", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
