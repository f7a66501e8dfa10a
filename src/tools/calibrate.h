/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOOLS_CALIBRATE_H
#define SB_TOOLS_CALIBRATE_H

#include "machine/machine.h"
#include "tools/cores.h"
#include "tools/tool.h"

/*
 * sobor-calibrate measures this machine and writes it as a machine file for the simulator. What
 * this machine cannot tell, having too few cores or nodes, is marked as assumed, with the reason.
 */

typedef enum sb_number {
#define SB_NUMBER(identifier, name, unit) SB_NUMBER_##identifier,
#include "tools/calibrate.def"
#undef SB_NUMBER
    SB_NUMBERS,
} sb_number_t;

typedef struct sb_measure {
    double value; /* 0: not known yet */
    bool assumed;
    char source[200];
} sb_measure_t;

/* Levels at which two cores can be nearest to each other: sb_level_kind_t with the machine. */
#define SB_NEARNESS (SB_LEVEL_TOP + 1)

typedef struct sb_calibration {
    const sb_topology_t *topology;
    sb_core_t *cores;
    size_t count;
    size_t partners; /* of the cores before it that each is measured with; 0: all */
    double seconds;  /* for everything, about */
    double *hops;    /* count × count, ns: half of a round trip over two flags */
    sb_measure_t number[SB_NUMBERS];
} sb_calibration_t;

void sb_measured(sb_calibration_t *calibration, sb_number_t number, double value,
                 const char *format, ...) SB_PRINTF(4, 5);
void sb_assumed(sb_calibration_t *calibration, sb_number_t number, double value, const char *format,
                ...) SB_PRINTF(4, 5);

/* Whether it was measured or assumed; a number that is known may be 0. */
bool sb_is_known(const sb_calibration_t *calibration, sb_number_t number);

/* The cores of this machine that this process may use. */
void sb_calibration_read_machine(sb_calibration_t *calibration);

/* Whether a pair of cores is measured, a < b: each with the one before it, and with as many more as
 * partners says, dealt evenly over the rest. */
bool sb_calibration_has_pair(size_t partners, size_t a, size_t b);

/* How many pairs of so many cores that are. */
size_t sb_calibration_pairs(size_t partners, size_t count);

/* Mean time of a hop between any two of the first cores, ns: the measured ones stand for all. */
double sb_calibration_mean_hop(const sb_calibration_t *calibration, size_t cores);

/* Each fills in the numbers that it is named after, using a share of the seconds. */
void sb_calibrate_lines(sb_calibration_t *calibration);
void sb_calibrate_memory(sb_calibration_t *calibration);
void sb_calibrate_system(sb_calibration_t *calibration);
void sb_calibrate_scheduler(sb_calibration_t *calibration);

/* Of these the parts that tell what passing lines, bytes and the processor costs. */
void sb_calibrate_copies(sb_calibration_t *calibration);
void sb_calibrate_switch(sb_calibration_t *calibration);

/* Fills in what is left, and makes farther never cheaper than nearer. */
void sb_calibration_complete(sb_calibration_t *calibration);

/* Writes the machine file, or ends the program. */
void sb_calibration_write(const sb_calibration_t *calibration, const char *path, const char *name);

/* --- What the measurements share: calibrate_tools.c. --- */

/* The calling thread runs on that processor from now on. */
void sb_pin(unsigned cpu);

/* Zeroed memory on the node, never NULL, for sb_unmap; shared: with forked processes. */
void *sb_map(size_t bytes, int numa_node);
void *sb_map_shared(size_t bytes, int numa_node);
void sb_unmap(void *memory, size_t bytes);

/* Samples of one quantity; the median counts. Of very many, later ones take the place of others. */
typedef struct sb_samples {
    size_t count;
    size_t seen;
    double value[1024];
} sb_samples_t;

void sb_sample(sb_samples_t *samples, double value);
double sb_median(sb_samples_t *samples);

/* Whether to take another sample: at least `least`, then until `until`, as sb_now_ns tells. */
bool sb_sample_more(const sb_samples_t *samples, size_t least, uint64_t until);

/* sb_now_ns() after that many seconds. */
uint64_t sb_until(double seconds);

/* A thread on another core that does tasks, one after the other. */
typedef struct sb_partner sb_partner_t;
typedef void sb_task_t(void *argument);

sb_partner_t *sb_partner_start(void);
void sb_partner_move(sb_partner_t *partner, unsigned cpu);
/* Begins a task; sb_partner_finish waits for its end. */
void sb_partner_begin(sb_partner_t *partner, sb_task_t *task, void *argument);
void sb_partner_finish(sb_partner_t *partner);
void sb_partner_run(sb_partner_t *partner, sb_task_t *task, void *argument);
void sb_partner_stop(sb_partner_t *partner);

/* Makes the compiler believe that the pointer is used, and may be another one from here on. */
#define SB_USE(pointer) __asm__ __volatile__("" : "+r"(pointer) : : "memory")

/* Looks at the word until it is at least `value`, giving the processor away now and then. */
void sb_await(const sb_word64_t *word, uint64_t value);

#endif
