/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/sim/fibre.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define BEFORE_SWITCH(from, to)                                                                    \
    __sanitizer_start_switch_fiber(&(from)->fake_stack, (to)->stack, (to)->bytes)
#define AFTER_SWITCH(self) arrive(self)

/* The stack of the thread itself is not known before the first switch away from it. */
static sb_fibre_t *left;

static void arrive(sb_fibre_t *self)
{
    const void *bottom;
    size_t bytes;

    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &bytes);
    if (left != NULL && left->stack == NULL) {
        left->stack = (char *)(uintptr_t)bottom;
        left->bytes = bytes;
    }
}
#define LEAVING(fibre) (left = (fibre))
/* A fibre that was left for good has not cleared the marks of its frames. */
#define CLEAR_MARKS(fibre) __asan_unpoison_memory_region((fibre)->stack, (fibre)->bytes)
#else
#define BEFORE_SWITCH(from, to) ((void)0)
#define AFTER_SWITCH(self) ((void)0)
#define LEAVING(fibre) ((void)0)
#define CLEAR_MARKS(fibre) ((void)0)
#endif

/* Stacks of fibres that are no more, for those to come: machines are made and freed by thousands,
 * and their stacks are of one size. A sanitizer sees each stack anew. */
#if defined(__SANITIZE_ADDRESS__)
static const bool keeps = false;
#else
static const bool keeps = true;
#endif
enum { KEPT_MOST = 64 };
static char *kept_stack[KEPT_MOST];
static size_t kept_bytes;
static uint32_t kept_stacks;

static char *map_stack(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *low = mmap(NULL, bytes + page, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (low == MAP_FAILED)
        return NULL;
    if (mprotect(low + page, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(low, bytes + page);
        return NULL;
    }
    return low + page;
}

static void unmap_stack(char *stack, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    munmap(stack - page, bytes + page);
}

static void keep_stack(char *stack, size_t bytes)
{
    while (kept_stacks > 0 && kept_bytes != bytes)
        unmap_stack(kept_stack[--kept_stacks], kept_bytes);
    kept_bytes = bytes;
    if (keeps && kept_stacks < KEPT_MOST)
        kept_stack[kept_stacks++] = stack;
    else
        unmap_stack(stack, bytes);
}

bool sb_fibre_new(sb_fibre_t *fibre, size_t bytes)
{
    *fibre = (sb_fibre_t){0};
    if (kept_stacks > 0 && kept_bytes == bytes)
        fibre->stack = kept_stack[--kept_stacks];
    else
        fibre->stack = map_stack(bytes);
    fibre->bytes = bytes;
    return fibre->stack != NULL;
}

void sb_fibre_free(sb_fibre_t *fibre)
{
    if (fibre->stack != NULL)
        keep_stack(fibre->stack, fibre->bytes);
    *fibre = (sb_fibre_t){0};
}

static sb_fibre_t *starting;

static void begin(void)
{
    sb_fibre_t *self = starting;

    AFTER_SWITCH(self);
    self->entry(self->argument);
    abort();
}

#if defined(__x86_64__)

void sb_fibre_exchange(void **save, void *load);
__asm__(".text\n"
        ".globl sb_fibre_exchange\n"
        ".hidden sb_fibre_exchange\n"
        ".type sb_fibre_exchange, @function\n"
        "sb_fibre_exchange:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size sb_fibre_exchange, .-sb_fibre_exchange\n");

/* Six registers, the place to return to, and a word that keeps the stack as after a call. */
static void lay_out(sb_fibre_t *fibre)
{
    void **top = (void **)(void *)(fibre->stack + fibre->bytes);

    top[-1] = NULL;
    top[-2] = (void *)(uintptr_t)begin;
    for (int i = 3; i <= 8; i++)
        top[-i] = NULL;
    fibre->stack_pointer = &top[-8];
}

#else /* AArch64 */

void sb_fibre_exchange(void **save, void *load);
__asm__(".text\n"
        ".globl sb_fibre_exchange\n"
        ".hidden sb_fibre_exchange\n"
        ".type sb_fibre_exchange, %function\n"
        "sb_fibre_exchange:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size sb_fibre_exchange, .-sb_fibre_exchange\n");

static void lay_out(sb_fibre_t *fibre)
{
    void **top = (void **)(void *)(fibre->stack + fibre->bytes);

    for (int i = 1; i <= 20; i++)
        top[-i] = NULL;
    top[-20 + 11] = (void *)(uintptr_t)begin; /* x30 */
    fibre->stack_pointer = &top[-20];
}

#endif

void sb_fibre_prepare(sb_fibre_t *fibre, void (*entry)(void *argument), void *argument)
{
    fibre->entry = entry;
    fibre->argument = argument;
    fibre->fake_stack = NULL;
    CLEAR_MARKS(fibre);
    lay_out(fibre);
}

void sb_fibre_switch(sb_fibre_t *from, sb_fibre_t *to)
{
    starting = to;
    LEAVING(from);
    BEFORE_SWITCH(from, to);
    sb_fibre_exchange(&from->stack_pointer, to->stack_pointer);
    AFTER_SWITCH(from);
}
