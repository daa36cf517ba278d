/* Messages between our own processes: a length, then fields, over a unix SOCK_SEQPACKET or a
 * memfd. Numbers are little-endian and fixed-width, strings have a length. A reader never trusts
 * a length: reading past the end sets `bad` and yields zeros and "" from then on. */
#ifndef HOTCELL_BASE_WIRE_H
#define HOTCELL_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define WIRE_MAX_FDS 16

struct wire_reader {
	const char *data;
	size_t len, pos;
	bool bad;
};

void wire_put_u32(struct buf *buf, uint32_t value);
void wire_put_u64(struct buf *buf, uint64_t value);
void wire_put_str(struct buf *buf, const char *text); /* NULL is kept apart from "" */
void wire_put_list(struct buf *buf, const char *const *list); /* NULL-terminated */

uint32_t wire_get_u32(struct wire_reader *reader);
uint64_t wire_get_u64(struct wire_reader *reader);
/* Points into the message, NUL-terminated there; NULL for NULL. */
const char *wire_get_str(struct wire_reader *reader);
/* A NULL-terminated array the caller frees; its strings point into the message. At most max
 * entries, else bad. */
const char **wire_get_list(struct wire_reader *reader, size_t max);

/* One datagram with descriptors. EINTR is retried; all else is the caller's. On receipt every
 * descriptor is close-on-exec; those beyond `max_fds` are closed and the message fails. */
MUST_CHECK int wire_send(int socket, const void *data, size_t len, const int *fds, size_t fd_count);
/* The same with MSG_DONTWAIT or so, and a word behind the call's own arguments, for a system call filter to know it by. */
MUST_CHECK int wire_send_marked(int socket, const void *data, size_t len, const int *fds, size_t fd_count, int flags,
	uint64_t mark);
/* Returns the length, 0 at end of file, -1 with errno (EAGAIN when flags has MSG_DONTWAIT). */
MUST_CHECK ssize_t wire_recv(int socket, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_fds,
	int flags);

/* A sealed memfd holding these bytes, for messages of any size; and the way back (capped). */
MUST_CHECK int wire_to_memfd(const struct buf *buf, struct err *err);
MUST_CHECK int wire_from_memfd(int fd, size_t max, struct buf *ret, struct err *err);

#endif
