/* P18, P19: speaks to the host itself, past the worker that it lives in: on the worker's own sockets. It may
 * use everything that it owns; the host must not trust it. -DDEED=name -DMOMENT=rows. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "deed.h"

enum { MAIN = 3, SIDE = 4, ARENA = 5 };

#ifndef SEED
#define SEED 0
#endif
static uint64_t chance = 0x9E3779B97F4A7C15u + SEED * 0xD1342543DE82EF95u;
static uint64_t next_chance(void) {
  chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
  return chance;
}

static void send_bytes(int socket, const void *bytes, size_t size) {
  (void)!send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_chance(int socket, size_t size) {
  static uint8_t bytes[1 << 18];
  size_t i;
  for (i = 0; i < size && i < sizeof bytes; i++) bytes[i] = (uint8_t)next_chance();
  send_bytes(socket, bytes, size);
}

static void run(void *(*body)(void *)) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, NULL);
}

/* Nonsense */

A_DEED(sends_nothing) { send_bytes(MAIN, "", 0); }
A_DEED(sends_a_byte) { send_bytes(MAIN, "x", 1); }
A_DEED(sends_text) { send_bytes(MAIN, "{\"rows\":[]}", 11); }
A_DEED(sends_zeros) {
  static const char zeros[4096];
  send_bytes(MAIN, zeros, sizeof zeros);
}
A_DEED(sends_ones) {
  char ones[256];
  memset(ones, 0xFF, sizeof ones);
  send_bytes(MAIN, ones, sizeof ones);
}
A_DEED(sends_chance) {
  int i;
  for (i = 0; i < 100; i++) send_chance(MAIN, 1 + next_chance() % 300);
}
A_DEED(sends_a_large_message) { send_chance(MAIN, 1 << 17); }
A_DEED(sends_nothing_aside) { send_bytes(SIDE, "", 0); }
A_DEED(sends_chance_aside) {
  int i;
  for (i = 0; i < 100; i++) send_chance(SIDE, 1 + next_chance() % 300);
}
A_DEED(sends_descriptors) {
  int i, files[16];
  char control[CMSG_SPACE(sizeof files)];
  struct iovec piece = {"x", 1};
  for (i = 0; i < 16; i++) files[i] = 0;
  for (i = 0; i < 64; i++) {
    struct msghdr message = {0};
    struct cmsghdr *head;
    message.msg_iov = &piece, message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(head), files, sizeof files);
    (void)!sendmsg(MAIN, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!sendmsg(SIDE, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

/* Floods */

static void *flood_main(void *unused) {
  for (;;) send_chance(MAIN, 64);
  return unused;
}
static void *flood_side(void *unused) {
  for (;;) send_chance(SIDE, 64);
  return unused;
}
A_DEED(floods) { run(flood_main); }
A_DEED(floods_aside) { run(flood_side); }
A_DEED(floods_aside_and_never_comes_back) { flood_side(NULL); }

/* Ends of the connection */

A_DEED(shuts_down) { shutdown(MAIN, SHUT_RDWR); }
A_DEED(shuts_down_writing) { shutdown(MAIN, SHUT_WR); }
A_DEED(shuts_down_reading) { shutdown(MAIN, SHUT_RD); }
A_DEED(shuts_down_aside) { shutdown(SIDE, SHUT_RDWR); }
A_DEED(shuts_down_and_never_comes_back) {
  shutdown(MAIN, SHUT_RDWR), shutdown(SIDE, SHUT_RDWR);
  for (;;) sleep(3600);
}
A_DEED(exchanges_the_lines) {
  int other = dup(MAIN);
  dup2(SIDE, MAIN), dup2(other, SIDE);
}
A_DEED(talks_to_itself) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) return;
  dup2(pair[0], MAIN);
}

/* Forgeries: a message of the host is received, changed and sent back as an answer. The first 56 bytes of a packet
 * are its head: two words of token, the number of the message, the kind of the packet, the length of the message,
 * the offset of this piece and its length. */

enum { HEAD_WORDS = 7 };

static uint64_t heard[1 << 15];

/* The thread that has waited longest gets the next packet: this one, and not the one that serves. */
static ssize_t hear(int flags) { return recv(MAIN, heard, sizeof heard, flags); }

static void *echo(void *unused) {
  for (;;) {
    ssize_t size = hear(0);
    if (size <= 0) return unused;
    send_bytes(MAIN, heard, (size_t)size);
  }
}
static void *echo_changed(void *unused) {
  for (;;) {
    ssize_t size = hear(0);
    int i;
    if (size <= 0) return unused;
    for (i = 0; i < 4; i++) ((uint8_t *)heard)[next_chance() % (size_t)size] = (uint8_t)next_chance();
    send_bytes(MAIN, heard, (size_t)size);
  }
}
/* Answers with a valid head and a random body: usually "done", followed by small numbers. */
static void *answer_by_chance(void *unused) {
  for (;;) {
    ssize_t size = hear(0);
    size_t i, words;
    if (size <= 0) return unused;
    words = next_chance() % 64;
    for (i = 0; i < words; i++) heard[HEAD_WORDS + i] = next_chance() >> next_chance() % 64;
    if (words > 0 && next_chance() % 4 != 0) heard[HEAD_WORDS] = 1;
    heard[4] = words * 8;
    send_bytes(MAIN, heard, (HEAD_WORDS + words) * 8);
  }
}
static void *steal(void *unused) {
  while (hear(0) > 0) {}
  return unused;
}
static void *answer_twice(void *unused) {
  ssize_t size = hear(MSG_PEEK);
  if (size > 0) send_bytes(MAIN, heard, (size_t)size), send_bytes(MAIN, heard, (size_t)size);
  return unused;
}
A_DEED(echoes) { run(echo); }
A_DEED(echoes_changed) { run(echo_changed); }
A_DEED(answers_by_chance) { run(answer_by_chance); }
A_DEED(steals) { run(steal); }
A_DEED(answers_first_and_twice) { run(answer_twice); }

/* -DFIELD=…: the invalid word of the head; -DVALUE=…: its value. */
#ifdef FIELD
static void *answer_with(void *unused) {
  ssize_t size = hear(0);
  if (size <= 0) return unused;
  heard[FIELD] = VALUE;
  send_bytes(MAIN, heard, (size_t)size);
  return unused;
}
A_DEED(answers_with_a_strange_head) { run(answer_with); }

/* Does the same for a message that is announced in pieces. */
static void *announce(void *unused) {
  ssize_t size = hear(0);
  if (size <= 0) return unused;
  heard[3] = 2, heard[4] = 1 << 20, heard[5] = 0, heard[6] = 1 << 16;
  heard[FIELD] = VALUE;
  /* The pieces never come. Each request for the next piece gets the same answer again. */
  do send_bytes(MAIN, heard, HEAD_WORDS * 8);
  while (recv(MAIN, heard + HEAD_WORDS, sizeof heard - HEAD_WORDS * 8, 0) > 0);
  return unused;
}
A_DEED(announces_strange_pieces) { run(announce); }
#endif

/* The arena */

static void *ruin_arena(void *unused) {
  struct stat status;
  uint64_t *words;
  size_t count;
  if (fstat(ARENA, &status) != 0) return unused;
  words = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, ARENA, 0);
  if (words == MAP_FAILED) return unused;
  count = (size_t)status.st_size / 8;
  if (count > 1 << 16) count = 1 << 16;
  for (;;) words[next_chance() % count] = next_chance() & next_chance();
}
A_DEED(ruins_the_arena) { run(ruin_arena); }
A_DEED(shortens_the_arena) {
  if (ftruncate(ARENA, 0) != 0) (void)!ftruncate(ARENA, 4096);
  (void)!ftruncate(ARENA, (off_t)1 << 40);
  fallocate(ARENA, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
}
A_DEED(seals_the_arena) { fcntl(ARENA, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW); }
