/* Seen by secret.c and carry.c only: one request of a cell and its answer. */
#ifndef HOTCELL_DOOR_DOORD_CARRY_H
#define HOTCELL_DOOR_DOORD_CARRY_H

#include "door/doord/doord.h"
#include "door/doord/meter.h"
#include "door/doord/replay.h"
#include "door/policy/strip.h"
#include "net/tls.h"

struct queue { /* bytes that wait for somebody who reads slowly */
	struct buf bytes;
	size_t sent; /* of them */
};

struct carrying {
	char *method, *target; /* as the cell wrote them; NULL until its head was read */
	bool old; /* HTTP/1.0: it knows no chunks */

	struct far *far; /* NULL: not connected, or a replay */
	bool waits; /* for its turn to connect */
	bool counted; /* among those of its run that begin TLS */
	bool shaking;

	/* towards the upstream */
	struct http_body asked;
	struct buf wanted; /* the body, where it is only compared with a recording */
	struct buf held; /* the body, until it is whole: see hold.h */
	size_t held_size; /* bytes that count as held: those, and then those of the queue */
	bool holds, released;
	bool retry; /* what it is refused for may be over soon */
	struct queue up;
	bool deaf; /* the upstream takes no more of it, and may answer all the same */

	/* towards the cell */
	struct buf answer; /* until its head is whole */
	unsigned status; /* 0: nothing was passed on yet */
	unsigned skipped; /* interim answers */
	struct http_body answered;
	bool chunks; /* how the cell is told of the end */
	struct queue down;
	bool strips; /* an event that the cell did not ask for */
	struct strip strip;
	struct scrub scrub;
	struct meter meter;
	struct keep *keep;
	struct play play;
	struct loop_source *timer; /* of its next piece */
	bool ended; /* nothing more will come */
	bool cut; /* and it is not all */

	bool stalled; /* much waits for the cell, and nothing more is read until it takes some */
	bool gone; /* the cell does not listen any more */
	bool over; /* there is nothing to do any more */
	unsigned trouble; /* 0, or the status that tells the cell of `why` */
	char why[400];
};

/* Counts them, and notes it when there may be no more. */
void carry_passed(struct conn *conn, size_t sent, size_t received);
/* Bytes of the request's body that came with its head. */
void carry_body(struct conn *conn, const char *bytes, size_t len);
void carry_queue_body(struct carrying *own, const struct buf *body); /* all of it, for the upstream */
/* The status line and all; what follows is the body. */
void carry_head(struct conn *conn, unsigned status, struct span reason, const struct buf *fields);
void carry_trouble(struct conn *conn, unsigned status, const char *why); /* the first is told */
/* Moves whatever can be moved, and waits for the rest. May free the connection. */
void carry_on(struct conn *conn);

/* ---- secret.c ---- */

void secret_answer(struct conn *conn, unsigned status, const char *why); /* in place of the upstream's */
void secret_want(struct carrying *own, struct span piece); /* of a body to compare with the recording */
void secret_play(struct conn *conn); /* the request is whole: finds what answers it */
void secret_shaken(struct conn *conn); /* TLS has begun, or it is over: another one may have its turn */
void secret_release(struct conn *conn); /* the upstream */
void secret_begin_dial(struct conn *conn); /* the request may go */

#endif
