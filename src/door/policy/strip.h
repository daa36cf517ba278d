/* Takes one event out of a stream: the last one, with the usage, which a door asked for and the cell did not. Clients of
 * chat completions index "choices" of each event, which is empty in this one. Pure.
 *
 * An event waits until it is whole, but no longer than STRIP_EVENT_MAX bytes: the one that is looked for is short. How the
 * bytes are split changes nothing. */
#ifndef HOTCELL_DOOR_POLICY_STRIP_H
#define HOTCELL_DOOR_POLICY_STRIP_H

#include "base/buf.h"

#define STRIP_EVENT_MAX 16384

struct strip { /* zero is a new one */
	struct buf event; /* so far */
	size_t line_len; /* of its current line */
	bool passes; /* the event is too long to be the one: what is left of it passes */
	bool after_cr;
};

void strip_take(struct strip *strip, const char *bytes, size_t len, struct buf *ret); /* what goes on, added */
void strip_end(struct strip *strip, struct buf *ret); /* what is left */
void strip_done(struct strip *strip);

#endif
