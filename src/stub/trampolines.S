/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One trampoline for each exported name: jump to the target if it is known, else ask
 * sb_stub_resolve(index, return address) for it first. All arguments stay where they are. The target
 * is loaded with acquire: another thread may just have loaded the back end that it lies in.
 */
#include "base/collectives.h"

    .section .note.GNU-stack, "", %progbits
    .text
    .hidden sb_stub_targets
    .hidden sb_stub_resolve
#ifdef SB_COUNTING
    .hidden sb_stub_counts
#endif

#if defined(__x86_64__)

    .type resolve_and_jump, @function
resolve_and_jump: /* index in eax */
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %rax /* keeps the stack aligned */
    mov %eax, %edi
    mov 56(%rsp), %rsi
    call sb_stub_resolve
    add $8, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    jmp *%rax
    .size resolve_and_jump, . - resolve_and_jump

.macro TRAMPOLINE name, index, counts=0
    .globl \name
    .type \name, @function
    .p2align 5
\name:
    endbr64
    .if \counts
    lock incq sb_stub_counts + 8 * (\index)(%rip)
    .endif
    mov sb_stub_targets + 8 * (\index)(%rip), %rax
    test %rax, %rax
    je 1f
    jmp *%rax
1:  mov $(\index), %eax
    jmp resolve_and_jump
    .size \name, . - \name
.endm

#elif defined(__aarch64__)

    .type resolve_and_jump, %function
resolve_and_jump: /* index in x16 */
    stp x29, x30, [sp, #-96]!
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    mov x0, x16
    mov x1, x30
    bl sb_stub_resolve
    mov x16, x0
    ldr x8, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #96
    br x16
    .size resolve_and_jump, . - resolve_and_jump

.macro TRAMPOLINE name, index, counts=0
    .globl \name
    .type \name, %function
    .p2align 5
\name:
    hint #34 /* bti c */
    .if \counts
    adrp x16, sb_stub_counts + 8 * (\index)
    add x16, x16, #:lo12:sb_stub_counts + 8 * (\index)
2:  ldxr x17, [x16]
    add x17, x17, #1
    stxr w15, x17, [x16]
    cbnz w15, 2b
    .endif
    adrp x16, sb_stub_targets + 8 * (\index)
    add x16, x16, #:lo12:sb_stub_targets + 8 * (\index)
    ldar x16, [x16]
    cbz x16, 1f
    br x16
1:  mov x16, #(\index)
    b resolve_and_jump
    .size \name, . - \name
.endm

#endif

#define TAKEN(prefix, name, counts)                                                                \
    TRAMPOLINE prefix##name, next_index, counts;                                                   \
    .set next_index, next_index + 1;

.set next_index, 0
#define SB_FUNCTION(name) TAKEN(MPI_, name, 0)
#include "base/functions.def"
#ifdef SB_COUNTING
#define SB_FUNCTION(name) TAKEN(MPI_, name, 1)
#include "base/counted.def"
#endif
#define SB_FUNCTION(name) TAKEN(PMPI_, name, 0)
#include "base/functions.def"
#ifdef SB_COUNTING
#define SB_FUNCTION(name) TAKEN(PMPI_, name, 1)
#include "base/counted.def"
#endif
