/* A wire on which packets get lost and overtake each other: `bad-wire FILE 10.1.2.1`. It makes a
 * network of two addresses: what is sent to the second one, 10.1.2.2, comes back to the first one,
 * as from the second, so that a server of this host which listens at the first is reached at the
 * second, by TCP as it is. The first word of FILE is how many packets of a thousand are lost, the
 * second how many are late; it ends with its standard input. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX 2048
#define LATE_MAX 512
#define LATE_MS_MAX 60

static struct { long due_ms; ssize_t length; unsigned char bytes[PACKET_MAX]; } late[LATE_MAX];
static int late_count;

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int failed(const char *what) {
  perror(what);
  return -1;
}

static int wire_at(const char *address) {
  struct ifreq wire = { 0 };
  struct sockaddr_in *name = (struct sockaddr_in *)&wire.ifr_addr;
  int tun = open("/dev/net/tun", O_RDWR), any = socket(AF_INET, SOCK_DGRAM, 0);
  if (tun < 0) return failed("/dev/net/tun");
  wire.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(tun, TUNSETIFF, &wire)) return failed("TUNSETIFF");
  name->sin_family = AF_INET;
  inet_pton(AF_INET, address, &name->sin_addr);
  if (ioctl(any, SIOCSIFADDR, &wire)) return failed("SIOCSIFADDR");
  inet_pton(AF_INET, "255.255.255.252", &name->sin_addr);
  if (ioctl(any, SIOCSIFNETMASK, &wire)) return failed("SIOCSIFNETMASK");
  wire.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(any, SIOCSIFFLAGS, &wire)) return failed("SIOCSIFFLAGS");
  close(any);
  return tun;
}

/* Both addresses change places, which changes no checksum. */
static void send_back(int tun, unsigned char *packet, ssize_t length) {
  unsigned char from[4];
  memcpy(from, packet + 12, 4);
  memcpy(packet + 12, packet + 16, 4);
  memcpy(packet + 16, from, 4);
  /* What does not get through is lost, as on any wire. */
  if (write(tun, packet, (size_t)length) < 0) return;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  int file = open(words[1], O_RDONLY), tun = wire_at(words[2]);
  volatile long *chances = mmap(NULL, 2 * sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (tun < 0 || chances == MAP_FAILED) return 1;
  puts("up");
  fflush(stdout);
  for (;;) {
    struct pollfd events[2] = { { tun, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
    poll(events, 2, late_count > 0 ? 1 : -1);
    if (events[1].revents) return 0;
    if (events[0].revents & POLLIN) {
      unsigned char packet[PACKET_MAX];
      ssize_t length = read(tun, packet, sizeof packet);
      int is_ipv4 = length >= 20 && packet[0] >> 4 == 4;
      if (is_ipv4 && rand() % 1000 >= chances[0]) {
        if (rand() % 1000 < chances[1] && late_count < LATE_MAX) {
          late[late_count].due_ms = now_ms() + 1 + rand() % LATE_MS_MAX;
          late[late_count].length = length;
          memcpy(late[late_count++].bytes, packet, (size_t)length);
        } else {
          send_back(tun, packet, length);
        }
      }
    }
    for (int at = late_count - 1; at >= 0; at--) {
      if (late[at].due_ms > now_ms()) continue;
      send_back(tun, late[at].bytes, late[at].length);
      late[at] = late[--late_count];
    }
  }
}
