/* Stands before the C library's fsync and fdatasync (LD_PRELOAD) and makes each take
   as many milliseconds longer as the file named by DRILL_FSYNC_MS says at that moment.
   The real call is made first, so durability is what it was. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int later(long result) {
    int error = errno;
    long milliseconds = 0;
    const char *path = getenv("DRILL_FSYNC_MS");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file) {
        if (fscanf(file, "%ld", &milliseconds) != 1) {
            milliseconds = 0;
        }
        fclose(file);
    }
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = error;
    return (int)result;
}

int fsync(int file) { return later(syscall(SYS_fsync, file)); }
int fdatasync(int file) { return later(syscall(SYS_fdatasync, file)); }
