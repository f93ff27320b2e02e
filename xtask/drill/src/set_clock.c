/* Stands before the C library's clock_gettime (LD_PRELOAD) and moves the wall clock by as
   many seconds as the file named by DRILL_CLOCK_S says at that moment. Monotonic clocks
   stay what they are. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        long seconds = 0;
        const char *path = getenv("DRILL_CLOCK_S");
        FILE *file = path ? fopen(path, "re") : NULL;
        if (file) {
            if (fscanf(file, "%ld", &seconds) != 1) {
                seconds = 0;
            }
            fclose(file);
        }
        time->tv_sec += seconds;
    }
    return result;
}
