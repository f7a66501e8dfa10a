/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_FIBRE_H
#define SB_MACHINE_SIM_FIBRE_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * Fibres: stacks that are switched by a few instructions, without the kernel.
 */
typedef struct sb_fibre {
    void *stack_pointer;
    char *stack;
    size_t bytes;
    void (*entry)(void *argument);
    void *argument;
    void *fake_stack; /* of the address sanitizer */
} sb_fibre_t;

/* Gives the fibre a stack of `bytes`, with a guard page below; false if there is no memory. */
bool sb_fibre_new(sb_fibre_t *fibre, size_t bytes);
void sb_fibre_free(sb_fibre_t *fibre);

/* The fibre will begin with `entry`, which must not return. */
void sb_fibre_prepare(sb_fibre_t *fibre, void (*entry)(void *argument), void *argument);

/* Goes on with `to`; returns when someone switches to `from`. */
void sb_fibre_switch(sb_fibre_t *from, sb_fibre_t *to);

#endif
