/* Stands before the C library's fsync and fdatasync (LD_PRELOAD) and makes each take
   number() milliseconds longer; a negative number makes them fail. Otherwise the real
   call is made first, so durability is what it was. */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int sync_later(long call, int of) {
    long milliseconds = number();
    if (milliseconds < 0) {
        errno = EIO;
        return -1;
    }
    long result = syscall(call, of);
    int error = errno;
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = error;
    return (int)result;
}

int fsync(int file) { return sync_later(SYS_fsync, file); }
int fdatasync(int file) { return sync_later(SYS_fdatasync, file); }
