/* SPDX-License-Identifier: BSD-3-Clause */
/* Intel MPI sleeps for a quarter of a second in MPI_Init, which is more than all the rest of a
 * short job, to see how fast the processor's counter is beside the clock. A 25th of that tells it
 * within some ten thousandths. */
#include <time.h>
#include <unistd.h>

enum { CALIBRATION = 250000, SHORTER = 10000 };

int usleep(useconds_t microseconds)
{
    useconds_t wanted = microseconds == CALIBRATION ? SHORTER : microseconds;
    const struct timespec time = {.tv_sec = wanted / 1000000, .tv_nsec = wanted % 1000000 * 1000};

    return nanosleep(&time, NULL);
}
