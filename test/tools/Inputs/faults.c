// Preloaded: the FAULT-th call that changes a file or folder fails with FAULT_ERROR (a number of errno), or the process is
// killed there (FAULT_ERROR=kill). The number of calls goes to FAULT_COUNT at the end. Standard streams are not counted.
// With FAULT_ERROR=memory it is the FAULT-th allocation of a page or more that fails: that is what a system without memory
// refuses. (MLIR does not look at what malloc gives it for the interfaces of an operation, some bytes each.)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;
static atomic_long allocations;
static long failingAllocation = -1; // -1: unknown yet, 0: none

/// The allocator of the program that is examined, which need not be the one of the C library.
static void *allocate(size_t size) {
  static void *(*real)(size_t);
  if (!real)
    real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  return real(size);
}

static int isOfMemory(void) {
  const char *error = getenv("FAULT_ERROR");
  return error && strcmp(error, "memory") == 0;
}

void *malloc(size_t size) {
  if (size < 4096)
    return allocate(size);
  long number = ++allocations;
  if (failingAllocation < 0) {
    const char *fault = getenv("FAULT");
    failingAllocation = fault && isOfMemory() ? atol(fault) : 0;
  }
  if (failingAllocation == 0 || number != failingAllocation)
    return allocate(size);
  errno = ENOMEM;
  return NULL;
}

/// Whether this call is the one to fail; errno is set.
static int fails(void) {
  const char *number = getenv("FAULT"), *error = getenv("FAULT_ERROR");
  int call = ++calls;
  if (!number || !error || isOfMemory() || call != atoi(number))
    return 0;
  if (strcmp(error, "kill") == 0)
    raise(SIGKILL);
  errno = atoi(error);
  return 1;
}

__attribute__((destructor)) static void count(void) {
  const char *path = getenv("FAULT_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file)
    fprintf(file, "%d %ld\n", calls, allocations), fclose(file);
}

#define NEXT(result, name, ...)                                                                                         \
  static result (*real)(__VA_ARGS__);                                                                                  \
  if (!real)                                                                                                           \
  real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t write(int file, const void *data, size_t size) {
  NEXT(ssize_t, "write", int, const void *, size_t);
  return file > STDERR_FILENO && fails() ? -1 : real(file, data, size);
}
int fsync(int file) {
  NEXT(int, "fsync", int);
  return fails() ? -1 : real(file);
}
int ftruncate(int file, off_t size) {
  NEXT(int, "ftruncate", int, off_t);
  return fails() ? -1 : real(file, size);
}
int rename(const char *from, const char *to) {
  NEXT(int, "rename", const char *, const char *);
  return fails() ? -1 : real(from, to);
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  NEXT(int, "renameat2", int, const char *, int, const char *, unsigned);
  return fails() ? -1 : real(from, old, to, new, flags);
}
int link(const char *from, const char *to) {
  NEXT(int, "link", const char *, const char *);
  return fails() ? -1 : real(from, to);
}
int unlink(const char *path) {
  NEXT(int, "unlink", const char *);
  return fails() ? -1 : real(path);
}
int unlinkat(int folder, const char *path, int flags) {
  NEXT(int, "unlinkat", int, const char *, int);
  return fails() ? -1 : real(folder, path, flags);
}
int mkdir(const char *path, mode_t mode) {
  NEXT(int, "mkdir", const char *, mode_t);
  return fails() ? -1 : real(path, mode);
}
int open(const char *path, int flags, ...) {
  NEXT(int, "open", const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return (flags & O_CREAT) && fails() ? -1 : real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  NEXT(int, "open64", const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return (flags & O_CREAT) && fails() ? -1 : real(path, flags, mode);
}
