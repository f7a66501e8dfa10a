/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/calibrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_LEAST 0.1
#define SECONDS_MOST 3600
#define SECONDS_USUAL 20

typedef struct options {
    const char *output;
    const char *name;
    double seconds;
} options_t;

static void print_help(void)
{
    printf("Usage: sobor-calibrate --output FILE --name NAME [--seconds S]\n"
           "Measures this machine and writes a machine file for sobor simulate.\n"
           "  --output FILE  the file\n"
           "  --name NAME    the machine's name in it\n"
           "  --seconds S    about how long it may take; %d if not given\n",
           SECONDS_USUAL);
}

static double parse_seconds(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);

    if (*text == '\0' || *end != '\0' || !(seconds >= SECONDS_LEAST && seconds <= SECONDS_MOST))
        sb_calibration_fail("--seconds: expected a number from %g to %d, found \"%s\"",
                            SECONDS_LEAST, SECONDS_MOST, text);
    return seconds;
}

static options_t parse_options(char **words)
{
    options_t options = {.seconds = SECONDS_USUAL};

    for (; *words != NULL; words += 2) {
        if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
            print_help();
            exit(0);
        }
        if (words[1] == NULL)
            sb_calibration_fail("%s: expected a value after it, found nothing", words[0]);
        if (strcmp(words[0], "--output") == 0)
            options.output = words[1];
        else if (strcmp(words[0], "--name") == 0)
            options.name = words[1];
        else if (strcmp(words[0], "--seconds") == 0)
            options.seconds = parse_seconds(words[1]);
        else
            sb_calibration_fail("sobor-calibrate: \"%s\" is no option here; see --help", words[0]);
    }
    if (options.output == NULL || options.name == NULL)
        sb_calibration_fail("sobor-calibrate needs --output and --name");
    return options;
}

int main(int argc, char **argv)
{
    static sb_calibration_t calibration;
    options_t options = parse_options(argv + (argc > 0));

    sb_calibration_read_machine(&calibration);
    calibration.seconds = options.seconds;
    sb_calibrate_system(&calibration);
    sb_calibrate_scheduler(&calibration);
    sb_calibrate_lines(&calibration);
    sb_calibrate_memory(&calibration);
    sb_calibration_complete(&calibration);
    sb_calibration_write(&calibration, options.output, options.name);
    free(calibration.cores);
    free(calibration.hops);
    return 0;
}
