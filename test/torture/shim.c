/*
 * Stands between a process and its files (LD_PRELOAD): records every write, truncation and sync of files whose path
 * contains a word, in the order they happened, and fails some of them when told to.
 *
 *   SHIM_PATH    the word; other files are left alone
 *   SHIM_TRACE   file to append the record to
 *   SHIM_WRITE   fail every Nth write
 *   SHIM_SYNC    fail every Nth sync
 *   SHIM_ERRNO   with this number: 5 is EIO, 28 is ENOSPC
 *   SHIM_SHORT   the failing write first writes half of its bytes and says so; the next one fails
 *   SHIM_ONLY    fail only on files whose path contains this word
 *   SHIM_ARMED   1: fail from the start. Else from when "1" is written to a file named "control", until "0" is
 *
 * A lock around each call and its record makes the order exact across threads.
 *
 * A record: u32 kind (1 write, 2 sync, 3 truncate), u32 errno or 0, u64 offset or size, u32 bytes of data, u32 bytes of
 * path, the path, the data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, TRUNCATE = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *watched, *only;
static int trace = -1, armed, error_number, short_writes, fail_next;
static long every_write, every_sync, writes, syncs;

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
  watched = getenv("SHIM_PATH");
  only = getenv("SHIM_ONLY");
  every_write = number("SHIM_WRITE", 0);
  every_sync = number("SHIM_SYNC", 0);
  error_number = (int)number("SHIM_ERRNO", EIO);
  short_writes = (int)number("SHIM_SHORT", 0);
  armed = (int)number("SHIM_ARMED", 0);
  const char *file = getenv("SHIM_TRACE");
  if (file) trace = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* The path of a watched file, or 0. */
static int find(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return watched && strstr(path, watched) != NULL;
}

static void put(const void *data, size_t size) {
  const char *from = data;
  while (size > 0) {
    ssize_t done = syscall(SYS_write, trace, from, size);
    if (done <= 0) return;
    from += done;
    size -= (size_t)done;
  }
}

static void record(uint32_t kind, int error, uint64_t at, const void *data, uint32_t bytes, const char *path) {
  if (trace < 0) return;
  struct { uint32_t kind, error; uint64_t at; uint32_t bytes, path; } head = {kind, (uint32_t)error, at, bytes, (uint32_t)strlen(path)};
  put(&head, sizeof head);
  put(path, head.path);
  if (bytes) put(data, bytes);
}

static int is_named(const char *path, const char *name) {
  const char *end = strrchr(path, '/');
  return end && strcmp(end + 1, name) == 0;
}

/* Not what the program that is watched tells its watchers. */
static int may_fail(const char *path) {
  return armed && (!only || strstr(path, only)) && !is_named(path, "control") && !is_named(path, "acks");
}

/* offset < 0: at the file's own position. */
static ssize_t do_write(int fd, const void *data, size_t size, off64_t offset) {
  char path[4096];
  if (!find(fd, path, sizeof path)) {
    return offset < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, offset);
  }
  pthread_mutex_lock(&lock);
  if (is_named(path, "control")) armed = size > 0 && *(const char *)data == '1';
  off64_t at = offset < 0 ? lseek64(fd, 0, SEEK_CUR) : offset;
  size_t taken = size;
  int error = 0;
  if (may_fail(path)) {
    if (fail_next) {
      fail_next = 0;
      error = error_number;
    } else if (every_write > 0 && ++writes % every_write == 0) {
      if (short_writes && size > 1) {
        taken = size / 2;
        fail_next = 1;
      } else error = error_number;
    }
  }
  ssize_t done = -1;
  if (error == 0) {
    done = offset < 0 ? syscall(SYS_write, fd, data, taken) : syscall(SYS_pwrite64, fd, data, taken, offset);
    if (done < 0) error = errno;
  }
  record(WRITE, error, (uint64_t)at, data, done > 0 ? (uint32_t)done : 0, path);
  pthread_mutex_unlock(&lock);
  if (done < 0) errno = error;
  return done;
}

static int do_sync(int fd, long call) {
  char path[4096];
  if (!find(fd, path, sizeof path)) return (int)syscall(call, fd);
  pthread_mutex_lock(&lock);
  int error = may_fail(path) && every_sync > 0 && ++syncs % every_sync == 0 ? error_number : 0;
  if (error == 0 && syscall(call, fd) != 0) error = errno;
  record(SYNC, error, 0, NULL, 0, path);
  pthread_mutex_unlock(&lock);
  if (error) errno = error;
  return error ? -1 : 0;
}

static int do_truncate(int fd, off64_t size) {
  char path[4096];
  if (!find(fd, path, sizeof path)) return (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_lock(&lock);
  int error = syscall(SYS_ftruncate, fd, size) == 0 ? 0 : errno;
  record(TRUNCATE, error, (uint64_t)size, NULL, 0, path);
  pthread_mutex_unlock(&lock);
  if (error) errno = error;
  return error ? -1 : 0;
}

ssize_t write(int fd, const void *data, size_t size) { return do_write(fd, data, size, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return do_write(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return do_write(fd, data, size, at); }
int fsync(int fd) { return do_sync(fd, SYS_fsync); }
int fdatasync(int fd) { return do_sync(fd, SYS_fdatasync); }
int ftruncate(int fd, off_t size) { return do_truncate(fd, size); }
int ftruncate64(int fd, off64_t size) { return do_truncate(fd, size); }
