/* Bytes between two connected sockets, both ways, until both have ended.
 *
 * What is read is written at once; what cannot be written waits, and until it is gone nothing more is read. Large
 * amounts go through a pipe inside the kernel (splice), so that they are never copied. */
#ifndef HOTCELL_NET_RELAY_H
#define HOTCELL_NET_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"

struct relay;

struct relay_events {
	/* So many bytes went from the near to the far side, and back. False ends it. */
	bool (*passed)(void *data, size_t sent, size_t received);
	/* How many of these bytes from the near side may go on; less than `len`: nothing after them ever will. NULL: all. */
	size_t (*gate)(void *data, const char *bytes, size_t len);
	/* Both sides have ended, or one failed, or `passed` said no. Told once; relay_free is the callee's. */
	void (*over)(void *data);
	void *data;
	/* How many bytes may wait here for one side at a time. NULL: as many as are read at once. */
	size_t (*room)(void *data);
};

/* Both descriptors stay the caller's, must not block, and live longer. `sent` bytes came from the near side already and
 * go first. */
struct relay *relay_start(struct loop *loop, int near, int far, const char *sent, size_t sent_len,
	const struct relay_events *events);
void relay_open_gate(struct relay *relay); /* all may go on from here; also from within the gate */
struct relay *relay_free(struct relay *relay); /* NULL is fine; returns NULL */
/* Bytes from the far side are the callee's to change on their way: it adds to `out` what goes to the near side now, may
 * keep the rest, and says false when the others shall pass as they are. len 0: there are no more. */
typedef bool relay_answer_fn(void *data, const char *bytes, size_t len, struct buf *out);
void relay_on_answer(struct relay *relay, relay_answer_fn *fn); /* right after relay_start */
void relay_at_once(int fd); /* what is written there goes out in the pieces it came in */
uint64_t relay_active_ns(const struct relay *relay); /* when something passed last */

#endif
