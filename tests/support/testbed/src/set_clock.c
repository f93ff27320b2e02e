/* Replaces the C library's clock_gettime and gettimeofday (LD_PRELOAD). The wall clock moves by
   number() seconds, and monotonic clocks are unchanged. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        time->tv_sec += number();
    }
    return result;
}

/* PostgreSQL reads the wall clock with this function. */
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, time, zone);
    if (result == 0) {
        time->tv_sec += number();
    }
    return result;
}
