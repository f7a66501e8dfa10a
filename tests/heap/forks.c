/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that forks, while another reads its memory: each sees its own. To be run with the heap
 * preloaded; the words are those of the part, without any: all.
 */
#include "../long_form.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define WORDS ((size_t)32 << 10)
#define BYTES (WORDS * sizeof(uint64_t))
#define READ_BEFORE_FORKS 3

/* What owner and reader have in common. */
typedef struct common {
    _Atomic uint64_t told;  /* message that is in the buffer, */
    _Atomic uint64_t read;  /* and the last that was read */
    _Atomic uint64_t loads; /* of the reader */
    _Atomic bool over;
    pid_t owner;
    const uint64_t *buffer;
} common_t;

static common_t *common;

static uint64_t *make_buffer(void)
{
    uint64_t *buffer = malloc(BYTES);

    CHECK(is_shared(buffer), "the heap is not used");
    return buffer;
}

static void fill(uint64_t *buffer, uint64_t number)
{
    for (size_t i = 0; i < WORDS; i++)
        buffer[i] = number + i;
}

static void check(const uint64_t *buffer, uint64_t number, const char *whose)
{
    for (size_t i = 0; i < WORDS; i++)
        CHECK(buffer[i] == number + i, "%s word %zu is of message %ld, not %lu", whose, i,
              (long)(buffer[i] - i), (unsigned long)number);
}

static void wait_for(pid_t child, const char *whose)
{
    int how = 0;

    CHECK(waitpid(child, &how, 0) == child, "waitpid: errno %d", errno);
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0, "%s: status %x", whose, (unsigned)how);
}

/* A child's new blocks are the C library's, which may have them anywhere in the address space. */
static void use_new_blocks(void)
{
    enum { BLOCKS = 16 };
    void *block[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = calloc(1, BYTES << (i % 8));
        CHECK(block[i] != NULL, "no block %zu", i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        memset(block[i], 1, BYTES);
        free(block[i]);
    }
}

/* What one writes after a fork the other does not see; nor after the second. */
static void apart(void)
{
    uint64_t *buffer = make_buffer();

    fill(buffer, 1);
    for (uint64_t number = 2; number < 5; number++) {
        pid_t child = fork();
        if (child == 0) {
            check(buffer, number - 1, "child's");
            fill(buffer, 1000);
            usleep(2000);
            check(buffer, 1000, "child's");
            free(buffer);
            buffer = calloc(WORDS, sizeof *buffer);
            for (size_t i = 0; i < WORDS; i++)
                CHECK(buffer[i] == 0, "child's calloc is not zero");
            free(buffer);
            use_new_blocks();
            _exit(0);
        }
        fill(buffer, number);
        wait_for(child, "child");
        check(buffer, number, "parent's");
    }
    free(buffer);
    sb_heap_counts_t counts;
    own_heap()->count(&counts);
    CHECK(counts.end == SB_HEAP_FORK, "it is said to have ended by %d", (int)counts.end);
}

static void scribble_in_a_child(char *at, size_t bytes)
{
    pid_t child = fork();

    if (child == 0) {
        memset(at, 6, bytes);
        _exit(0);
    }
    wait_for(child, "child");
    for (size_t i = 0; i < bytes; i++)
        CHECK(at[i] == 5, "the child's bytes are the parent's");
}

/* What a program has done to the rights of pages stays. */
static void rights(void)
{
    char *block = aligned_alloc(4096, BYTES);

    CHECK(is_shared(block), "the heap is not used");
    memset(block, 5, BYTES);
    mprotect(block, 4096, PROT_READ);
    scribble_in_a_child(block + 4096, BYTES - 4096);
    CHECK(madvise(block, 4096, MADV_POPULATE_WRITE) != 0, "a page can be written again");
}

/* A program may close whatever is open. */
static void closed(void)
{
    char *block = malloc(BYTES);

    CHECK(is_shared(block), "the heap is not used");
    memset(block, 5, BYTES);
    for (int file = 3; file < 64; file++)
        close(file);
    scribble_in_a_child(block, BYTES);
}

/* KiB of this process's own pages. */
static long own_pages(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long found = -1;

    while (file != NULL && found < 0 && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "Anonymous: %ld", &found);
    if (file != NULL)
        fclose(file);
    CHECK(found >= 0, "no figure of memory");
    return found;
}

/* To free a block after a fork takes no memory. */
static void freed(void)
{
    size_t bytes = 64 * BYTES;
    char *block = malloc(bytes);

    CHECK(is_shared(block), "the heap is not used");
    memset(block, 5, bytes);
    scribble_in_a_child(block, BYTES);
    long before = own_pages();
    free(block);
    CHECK(own_pages() < before + (long)(bytes >> 11), "%ld KiB before, %ld after", before,
          own_pages());
}

/* Who makes a child past the C library makes one that has none of the heap. */
static void past_the_library(void)
{
    uint64_t *buffer = make_buffer();
    int how = 0;

    fill(buffer, 1);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        fill(buffer, 2);
        _exit(0);
    }
    waitpid(child, &how, 0);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV, "the child has got data: %x",
          (unsigned)how);
    check(buffer, 1, "parent's");
    free(buffer);
}

/* What a thread makes longer and shorter all the time. */
typedef struct resized {
    uint64_t *buffer;
    atomic_bool over;
} resized_t;

static void *go_on_resizing(void *block)
{
    resized_t *resized = block;

    for (size_t i = 0; !atomic_load(&resized->over); i++)
        resized->buffer = realloc(resized->buffer, BYTES - i % 2);
    return NULL;
}

/* A child makes a block shorter too, whatever the other thread was about when it was forked. */
static void beside_a_thread(void)
{
    uint64_t *buffer = make_buffer();
    resized_t resized = {.buffer = make_buffer()};
    pthread_t thread;

    fill(buffer, 1);
    pthread_create(&thread, NULL, go_on_resizing, &resized);
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            buffer = realloc(buffer, BYTES - 1);
            check(buffer, 1, "child's");
            _exit(0);
        }
        wait_for(child, "child beside a thread");
    }
    atomic_store(&resized.over, true);
    pthread_join(thread, NULL);
    free(resized.buffer);
    free(buffer);
}

/* A first fork ends the reads by loads, so it waits for some: on a busy machine no time is sure to
 * be long enough for them. */
static void *go_on_forking(void *forks)
{
    uint64_t *buffer = (uint64_t *)(uintptr_t)common->buffer;

    while (atomic_load(&common->read) < READ_BEFORE_FORKS)
        usleep(10);
    for (size_t i = 0; i < (size_t)(uintptr_t)forks; i++) {
        pid_t child = i % 2 == 0 ? fork() : _Fork();
        if (child == 0) {
            fill(buffer, 1u << 30);
            check(buffer, 1u << 30, "child's");
            _exit(0);
        }
        wait_for(child, "child");
    }
    atomic_store(&common->over, true);
    return NULL;
}

/* Writes, tells, and waits until it was read. */
static void send_all(size_t forks)
{
    uint64_t *buffer = make_buffer();
    pthread_t thread;

    common->owner = getpid();
    common->buffer = buffer;
    pthread_create(&thread, NULL, go_on_forking, (void *)(uintptr_t)forks);
    for (uint64_t number = 1; !atomic_load(&common->over); number++) {
        fill(buffer, number);
        /* Release: pairs with the reader's load. */
        atomic_store_explicit(&common->told, number, memory_order_release);
        while (atomic_load(&common->read) < number)
            sched_yield();
        check(buffer, number, "owner's");
    }
    pthread_join(thread, NULL);
    atomic_store(&common->told, UINT64_MAX);
}

static void receive_all(void)
{
    uint64_t *into = malloc(BYTES), number = 0;
    sb_heap_counts_t counts;

    for (;;) {
        /* Acquire: pairs with the owner's store of `told`. */
        while (atomic_load_explicit(&common->told, memory_order_acquire) == number)
            sched_yield();
        number = atomic_load_explicit(&common->told, memory_order_acquire);
        if (number == UINT64_MAX)
            break;
        struct iovec local = {into, BYTES}, remote = {(void *)(uintptr_t)common->buffer, BYTES};
        ssize_t got = process_vm_readv(common->owner, &local, 1, &remote, 1, 0);
        CHECK(got == (ssize_t)BYTES, "read %zd: errno %d", got, errno);
        check(into, number, "reader's");
        atomic_store(&common->read, number);
    }
    own_heap()->count(&counts);
    atomic_store(&common->loads, counts.loads);
}

/* Owner and reader are forked before there is an arena. */
static void among_messages(size_t rounds, size_t forks)
{
    uint64_t loads = 0;

    for (size_t round = 0; round < rounds; round++) {
        *common = (common_t){0};
        pid_t reader = fork();
        if (reader == 0) {
            receive_all();
            _exit(0);
        }
        pid_t owner = fork();
        if (owner == 0) {
            prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
            send_all(forks);
            _exit(0);
        }
        wait_for(owner, "owner");
        wait_for(reader, "reader");
        loads += common->loads;
    }
    CHECK(loads >= rounds * READ_BEFORE_FORKS, "%lu reads by loads", (unsigned long)loads);
}

static void in_a_process(void (*part)(void))
{
    pid_t child = fork();

    if (child == 0) {
        part();
        _exit(0);
    }
    wait_for(child, "part");
}

int main(int count, char **words)
{
    const char *wanted = count > 1 ? words[1] : "all";
    size_t rounds = is_long_form() ? 1000 : 50;

    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (strcmp(wanted, "messages") != 0) {
        in_a_process(apart);
        in_a_process(rights);
        in_a_process(closed);
        in_a_process(freed);
        in_a_process(past_the_library);
        in_a_process(beside_a_thread);
    }
    if (strcmp(wanted, "apart") != 0)
        among_messages(rounds, 20);
    return 0;
}
