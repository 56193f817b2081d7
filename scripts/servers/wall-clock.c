/* Gives a server another wall clock: preloaded, it adds the milliseconds that stand in the file
 * WALL_CLOCK to the time of the system, which it asks without the C library. libfaketime cannot do
 * that for a Redis, whose memory allocator asks for the time before libfaketime can answer. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const long *added_ms;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("WALL_CLOCK");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) abort();
  added_ms = page;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, id, now);
  if (failed || added_ms == NULL || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
    return failed;
  long ns = now->tv_nsec + *added_ms % 1000 * 1000000;
  long carried = ns < 0 ? -1 : ns >= 1000000000;
  now->tv_nsec = ns - carried * 1000000000;
  now->tv_sec += *added_ms / 1000 + carried;
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (at != NULL) *at = exact.tv_sec;
  return exact.tv_sec;
}
