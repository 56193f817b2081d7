/* Gives a Redis a slow disk: preloaded, an fsync of its append-only file does not end while the
 * first word of the file SLOW_DISK is not zero. The second is how much of it the last one kept. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long *words;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("SLOW_DISK");
  int file = path == NULL ? -1 : open(path, O_RDWR);
  size_t size = 2 * sizeof(long);
  int access = PROT_READ | PROT_WRITE;
  void *page = file < 0 ? MAP_FAILED : mmap(NULL, size, access, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) abort();
  words = page;
}

static int is_append_only(int file) {
  char link[32], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, ".incr.aof") != NULL;
}

int fdatasync(int file) {
  struct stat before;
  if (!is_append_only(file) || fstat(file, &before)) return (int)syscall(SYS_fdatasync, file);
  while (words[0]) usleep(1000);
  int failed = (int)syscall(SYS_fdatasync, file);
  if (!failed) words[1] = before.st_size;
  return failed;
}
