/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread forks while another takes the process's first long block: the child has no half of an
 * arena. The word says when that is: `before` the heap's own handler of the fork, `after` it, or
 * `within`, where the fork comes while the arena is being made; or `twice`: it comes while another
 * one ends the sharing. To be run with the heap preloaded.
 */
#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define BYTES ((size_t)1 << 20)

static bool takes_after, waits, parts;
static sem_t making, forked;
static char *first;

static void *take_first(void *unused)
{
    first = memset(malloc(BYTES), 7, BYTES);
    return unused;
}

static void take_in_a_thread(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, take_first, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void take_after(void)
{
    if (takes_after)
        take_in_a_thread();
    takes_after = false;
}

/* What is registered first is called last before a fork: this comes before the heap's handler. */
static void register_first(void)
{
    pthread_atfork(take_after, NULL, NULL);
}

typedef void early_t(void);
__attribute__((section(".preinit_array"), used)) static early_t *const early = register_first;

/* The heap's, in the middle of the making: in the child nobody waits. */
__attribute__((visibility("default"))) int memfd_create(const char *name, unsigned flags)
{
    if (waits) {
        waits = false;
        sem_post(&making);
        sem_wait(&forked);
    }
    return (int)syscall(SYS_memfd_create, name, flags);
}

/* The heap's, when its memory is about to become the process's alone. Who forks meanwhile waits for
 * that, and does not come to `forked`. */
__attribute__((visibility("default"))) ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    if (parts) {
        struct timespec until;
        parts = false;
        sem_post(&making);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        sem_timedwait(&forked, &until);
    }
    return syscall(SYS_pread64, file, to, bytes, from);
}

static void check_blocks(const char *whose)
{
    char *block = memset(malloc(BYTES), 5, BYTES);

    for (size_t i = 0; first != NULL && i < BYTES; i++)
        CHECK(first[i] == 7, "%s first block holds %d", whose, first[i]);
    memset(first == NULL ? block : first, 8, BYTES);
    CHECK(block[BYTES - 1] == 5 || first == NULL, "%s blocks are one", whose);
    free(block);
}

/* `shares`: the child makes an arena of its own. */
static void fork_and_check(bool shares)
{
    int how = 0;
    pid_t child = fork();

    if (child == 0) {
        check_blocks("the child's");
        char *block = malloc(BYTES);
        CHECK(is_shared(block) == shares, "the child's blocks are %s shared", shares ? "not" : "");
        free(block);
        free(first);
        _exit(0);
    }
    CHECK(waitpid(child, &how, 0) == child && how == 0, "the child ended with %x", (unsigned)how);
}

static void fork_within(void)
{
    pthread_t thread;

    sem_init(&making, 0, 0);
    sem_init(&forked, 0, 0);
    waits = true;
    CHECK(pthread_create(&thread, NULL, take_first, NULL) == 0, "no thread");
    sem_wait(&making);
    fork_and_check(true);
    sem_post(&forked);
    pthread_join(thread, NULL);
}

static void *fork_first(void *unused)
{
    fork_and_check(false);
    return unused;
}

static void fork_twice(void)
{
    pthread_t thread;

    sem_init(&making, 0, 0);
    sem_init(&forked, 0, 0);
    take_first(NULL);
    parts = true;
    CHECK(pthread_create(&thread, NULL, fork_first, NULL) == 0, "no thread");
    sem_wait(&making);
    fork_and_check(false);
    sem_post(&forked);
    pthread_join(thread, NULL);
}

int main(int count, char **words)
{
    const char *when = count > 1 ? words[1] : "";
    bool before = strcmp(when, "before") == 0, twice = strcmp(when, "twice") == 0;

    if (before)
        pthread_atfork(take_in_a_thread, NULL, NULL);
    takes_after = strcmp(when, "after") == 0;
    if (before || takes_after)
        fork_and_check(!before);
    else if (twice)
        fork_twice();
    else
        fork_within();
    check_blocks("the parent's");
    char *block = malloc(BYTES);
    CHECK(is_shared(block) == !(before || twice),
          "the parent's next blocks are not what they should be");
    free(block);
    return 0;
}
