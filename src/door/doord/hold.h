/* Seen by secret.c and carry.c: a request waits until it is whole, so that the most it can cost is known and reserved
 * before a byte of it goes upstream. Only where a budget of money or tokens is set. */
#ifndef HOTCELL_DOOR_DOORD_HOLD_H
#define HOTCELL_DOOR_DOORD_HOLD_H

#include "door/doord/carry.h"

void hold_begin(struct conn *conn, const struct http_head *head); /* after its head was put into the queue */
void hold_sent(struct conn *conn); /* all of it is on its way */
bool hold_takes(const struct conn *conn); /* its body comes here */
void hold_piece(struct conn *conn, struct span piece);
/* The body is whole: it is judged, and put into the queue, or the trouble is noted. */
void hold_end(struct conn *conn);
bool hold_waits(const struct conn *conn); /* nothing is to be connected to yet */
/* Of an answer from which an event is taken out: whether it may have it; and its length is not known any more. */
bool hold_strips(const struct http_head *head);
void hold_drop_length(struct buf *fields);
void hold_done(struct conn *conn);

#endif
