/* SPDX-License-Identifier: BSD-3-Clause */
/* What launchers say of a job, also where one runs another and passes on what it was told. */
#include "testing.h"

#include "segment/job.h"
#include "topology/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int clear(void **state)
{
    static const char *const words[] = {"PMIX_RANK",
                                        "PMIX_NAMESPACE",
                                        "PMIX_SERVER_URI41",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_FD",
                                        "PMI_SPAWNED",
                                        "MPI_LOCALNRANKS",
                                        "SLURM_NTASKS",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMIX_SERVER_URI4",
                                        "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI21",
                                        "PMIX_SERVER_URI2"};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        unsetenv(words[i]);
    return 0;
}

/* mpirun of Open MPI. */
static void say_open_mpi(const char *rank, const char *size)
{
    setenv("PMIX_RANK", rank, 1);
    setenv("PMIX_NAMESPACE", "job", 1);
    setenv("PMIX_SERVER_URI41", "server.1;tcp4://127.0.0.1:1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", size, 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", size, 1);
}

/* Hydra: the other end of the socket is the daemon's. */
static void say_hydra(const char *rank, const char *size)
{
    int ends[2];
    char number[16];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(number, sizeof number, "%d", ends[0]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_SIZE", size, 1);
    setenv("MPI_LOCALNRANKS", size, 1);
}

static void check(bool open_mpi, uint32_t rank, uint32_t size)
{
    sb_job_t job;

    assert_true(sb_job_read(&job, open_mpi));
    assert_int_equal(job.rank, rank);
    assert_int_equal(job.size, size);
    assert_int_equal(job.local, size);
}

static void each_launcher_speaks(void **state)
{
    sb_job_t job;

    (void)state;
    assert_false(sb_job_read(&job, true));
    say_open_mpi("2", "4");
    check(true, 2, 4);
    clear(NULL);
    say_hydra("1", "3");
    check(false, 1, 3);
}

/* In whichever order one has run the other. */
static void the_programs_own_launcher_is_believed(void **state)
{
    sb_job_t job;

    (void)state;
    say_open_mpi("1", "2");
    say_hydra("5", "8");
    check(true, 1, 2);
    check(false, 5, 8);
    assert_int_equal(sb_launcher_local_ranks(), 8);
    setenv("PMI_SPAWNED", "1", 1);
    assert_false(sb_job_read(&job, false));
}

/* Of a rank that the job cannot have: not as if nothing were said. A job of one rank says nothing.
 */
static void words_of_two_jobs_are_told(void **state)
{
    sb_job_t job;

    (void)state;
    say_open_mpi("3", "2");
    check(true, 0, 0);
    say_open_mpi("3", "1");
    assert_false(sb_job_read(&job, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_launcher_speaks, clear),
        cmocka_unit_test_setup(words_of_two_jobs_are_told, clear),
        cmocka_unit_test_setup(the_programs_own_launcher_is_believed, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
