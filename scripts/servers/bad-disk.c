/* Runs a server on a bad disk: `bad-disk FILE FOLDER command arguments`. The first word of FILE is
 * how many milliseconds longer each fsync takes; while the second is not zero, nothing can be
 * written to a file in FOLDER, since the disk is full. The kernel asks about each such call
 * (seccomp), so that it does not matter what a server is written in, nor whether it asks the C
 * library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELD_MAX 1024
#define ASKED(call) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int listen_to_calls(void) {
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ASKED(SYS_fsync), ASKED(SYS_fdatasync), ASKED(SYS_write), ASKED(SYS_writev),
    ASKED(SYS_pwrite64), ASKED(SYS_pwritev), ASKED(SYS_fallocate),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
  unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* By a socket: the one who asks and the one who is asked are two processes. */
static void pass(int socket, int *file, int is_sender) {
  char byte = 0, space[CMSG_SPACE(sizeof(int))] = { 0 };
  struct iovec part = { &byte, 1 };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (is_sender) {
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), file, sizeof(int));
    if (sendmsg(socket, &message, 0) != 1) exit(1);
  } else {
    if (recvmsg(socket, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == NULL) exit(1);
    memcpy(file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  }
}

static int is_in(const char *folder, const struct seccomp_notif *call) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/%u/fd/%d", call->pid, (int)call->data.args[0]);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

static void answer(int listener, __u64 id, int error) {
  struct seccomp_notif_resp said = { .id = id, .error = error };
  if (!error) said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  /* Who asked may be gone. */
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
}

/* Until nobody is left who could ask. */
static void decide(int listener, const volatile long *words, const char *folder) {
  struct { __u64 id; long from_ms; } held[HELD_MAX];
  int held_count = 0;
  for (;;) {
    struct pollfd event = { listener, POLLIN, 0 };
    poll(&event, 1, held_count > 0 ? 1 : -1);
    if (event.revents & (POLLHUP | POLLERR)) return;
    if (event.revents & POLLIN) {
      struct seccomp_notif call = { 0 };
      if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) continue;
      int is_sync = call.data.nr == SYS_fsync || call.data.nr == SYS_fdatasync;
      if (is_sync && words[0] > 0 && held_count < HELD_MAX) {
        held[held_count].id = call.id;
        held[held_count++].from_ms = now_ms();
      } else {
        answer(listener, call.id, !is_sync && words[1] && is_in(folder, &call) ? -ENOSPC : 0);
      }
    }
    for (int at = held_count - 1; at >= 0; at--) {
      if (now_ms() - held[at].from_ms < words[0]) continue;
      answer(listener, held[at].id, 0);
      held[at] = held[--held_count];
    }
  }
}

int main(int count, char **words) {
  if (count < 4) return 2;
  int file = open(words[1], O_RDONLY), pair[2], listener;
  void *page = mmap(NULL, 2 * sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 1;
  pid_t between = fork();
  if (between == 0) {
    /* Its child is nobody's, and no server waits for it. */
    if (fork() != 0) _exit(0);
    setsid();
    close(pair[0]);
    int nothing = open("/dev/null", O_RDWR);
    for (int at = 0; at < 3; at++) dup2(nothing, at);
    pass(pair[1], &listener, 0);
    close(pair[1]);
    decide(listener, page, words[2]);
    _exit(0);
  }
  waitpid(between, NULL, 0);
  listener = listen_to_calls();
  if (listener < 0) {
    perror("seccomp");
    return 1;
  }
  pass(pair[0], &listener, 1);
  close(listener);
  close(pair[0]);
  close(pair[1]);
  close(file);
  execv(words[3], words + 3);
  return 1;
}
