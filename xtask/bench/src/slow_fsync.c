/* Stands before the C library's fsync and fdatasync (LD_PRELOAD) and makes each
   take a millisecond longer than it does: a disk that has to wait for its
   platter or its network, on a machine whose own does not. The real call is made
   first, so durability is what it was. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int and_a_millisecond(long result) {
    struct timespec left = {0, 1000000};
    int error = errno;
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = error;
    return (int)result;
}

int fsync(int file) { return and_a_millisecond(syscall(SYS_fsync, file)); }
int fdatasync(int file) { return and_a_millisecond(syscall(SYS_fdatasync, file)); }
