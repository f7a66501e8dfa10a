/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/calibrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_LEAST 0.1
#define SECONDS_MOST 3600
#define SECONDS_USUAL 20

typedef struct asked {
    const char *output;
    const char *name;
    double seconds;
} asked_t;

static void parse_seconds(const sb_option_t *option, void *field, const char *value)
{
    char *end;
    double seconds = strtod(value, &end);

    if (*value == '\0' || *end != '\0' || !(seconds >= SECONDS_LEAST && seconds <= SECONDS_MOST))
        sb_tool_fail("--%s: expected a number from %g to %d, found \"%s\"", option->name,
                     SECONDS_LEAST, SECONDS_MOST, value);
    *(double *)field = seconds;
}

static const sb_option_t known[] = {
    {"output", "FILE", sb_option_text, .doc = "the file", offsetof(asked_t, output)},
    {"name", "NAME", sb_option_text, .doc = "the machine's name in it", offsetof(asked_t, name)},
    {"seconds", "S", parse_seconds, .doc = "about how long it may take; 20 if not given",
     offsetof(asked_t, seconds)},
};

static const sb_options_t options = {"sobor-calibrate", known, SB_COUNT_OF(known)};

static void print_help(void)
{
    printf("Usage: sobor-calibrate --output FILE --name NAME [--seconds S]\n"
           "Measures this machine and writes a machine file for sobor simulate.\n");
    sb_options_print(&options);
}

int main(int argc, char **argv)
{
    static sb_calibration_t calibration;
    asked_t asked = {.seconds = SECONDS_USUAL};

    if (sb_tool_help(argc, argv)) {
        print_help();
        return 0;
    }
    sb_options_read(&options, UINT32_MAX, &asked, argc, argv);
    if (asked.output == NULL || asked.name == NULL)
        sb_tool_fail("sobor-calibrate needs --output and --name");
    sb_calibration_read_machine(&calibration);
    calibration.seconds = asked.seconds;
    sb_calibrate_system(&calibration);
    sb_calibrate_scheduler(&calibration);
    sb_calibrate_lines(&calibration);
    sb_calibrate_memory(&calibration);
    sb_calibration_complete(&calibration);
    sb_calibration_write(&calibration, asked.output, asked.name);
    free(calibration.cores);
    free(calibration.hops);
    return 0;
}
