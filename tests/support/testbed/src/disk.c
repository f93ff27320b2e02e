/* Replaces the C library's fsync and fdatasync (LD_PRELOAD). They sync the file and then pause for
   number() milliseconds, so durability is unchanged. With -1 they fail without syncing. With -2
   they succeed without syncing, like a disk that lies. With -3 they wait until the number changes.
   If TESTBED_SYNCED names a directory, a file is copied there just before it is synced, so the
   copies have what survives a power cut. Removing a file with unlink also removes its copy. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Reads through the caller's descriptor, because closing another descriptor of the same file would
   release the process's locks on it. */
static int copy(int from, const char *to) {
    char bytes[65536];
    off_t copied = 0;
    ssize_t length;
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (target < 0) {
        return -1;
    }
    while ((length = pread(from, bytes, sizeof bytes, copied)) > 0 &&
           write(target, bytes, length) == length) {
        copied += length;
    }
    return close(target) == 0 && length == 0 ? 0 : -1;
}

static int keep(int file, const char *directory) {
    char link[64], path[PATH_MAX], kept[2 * PATH_MAX], part[2 * PATH_MAX + 8];
    struct stat status;
    /* A write-only file cannot be read through its descriptor, so it is not copied. Database files
       are open for reading and writing. */
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        (fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY) {
        return 0;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) {
        return -1;
    }
    path[length] = 0;
    const char *name = strrchr(path, '/');
    snprintf(kept, sizeof kept, "%s%s", directory, name ? name : "/");
    snprintf(part, sizeof part, "%s.part", kept);
    /* All copies of a file use the same .part file, so lock the directory to make one copy at a
       time. */
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        return -1;
    }
    int result = copy(file, part) == 0 ? rename(part, kept) : -1;
    close(lock);
    return result;
}

static int sync_file(long call, int file) {
    long milliseconds;
    struct timespec left = {0, 10000000};
    while ((milliseconds = number()) == -3) {
        nanosleep(&left, NULL);
    }
    const char *directory = getenv("TESTBED_SYNCED");
    if (milliseconds == -2) {
        return 0;
    }
    if (milliseconds < 0 || (directory && keep(file, directory) != 0)) {
        errno = EIO;
        return -1;
    }
    long result = syscall(call, file);
    int error = errno;
    left = (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = error;
    return (int)result;
}

int fsync(int file) { return sync_file(SYS_fsync, file); }
int fdatasync(int file) { return sync_file(SYS_fdatasync, file); }

int unlink(const char *path) {
    const char *directory = getenv("TESTBED_SYNCED"), *name = strrchr(path, '/');
    char kept[2 * PATH_MAX];
    if (directory && name) {
        snprintf(kept, sizeof kept, "%s%s", directory, name);
        syscall(SYS_unlinkat, AT_FDCWD, kept, 0);
    }
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
