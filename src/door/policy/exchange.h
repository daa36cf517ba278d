/* HTTP exchanges of secret doors, kept to be played again. Pure.
 *
 * A recording is a file of lines, one JSON object an exchange:
 *
 *	{"door":"anthropic","method":"POST","path":"/v1/messages","request":{"headers":{...},"body":"..."},
 *	 "status":200,"headers":{...},"body":"...","delays_ms":[0,12,...],"pieces":[100,220,...]}
 *
 * Bodies are text where they are UTF-8 without NULs, else {"base64":"..."}; so are the values of headers, and one that
 * is there several times has a list of them. Credentials are not in it: the door's own field is left out and
 * everything was scrubbed before. `pieces` says in which pieces, and how long after the one before, a streamed body
 * came. "cut":true marks an exchange that is not whole. */
#ifndef HOTCELL_DOOR_POLICY_EXCHANGE_H
#define HOTCELL_DOOR_POLICY_EXCHANGE_H

#include "base/buf.h"
#include "base/err.h"
#include "net/http.h"

#define EXCHANGE_BODY_MAX (8u << 20) /* a longer body is cut, and such an exchange is not played again */
#define EXCHANGE_PIECES_MAX 65536 /* what came in more has its end written as one */

struct exchange_piece {
	uint32_t len, delay_ms;
};

struct exchange {
	char *door, *method, *path;
	struct buf request_fields, request; /* fields: "Name: value\r\n" each */
	unsigned status;
	struct buf fields, body;
	struct exchange_piece *pieces;
	size_t piece_count;
	bool cut;
};
void exchange_done(struct exchange *exchange);
void exchange_write(const struct exchange *exchange, struct buf *ret); /* the line, with its newline */
/* The pieces of what is read are those of its body, exactly. After a failure *ret is empty. */
MUST_CHECK int exchange_read(struct exchange *ret, const char *line, size_t len, struct err *err);

struct exchange_book {
	struct exchange *items;
	bool *used;
	size_t count;
};
/* A last line without its newline is what was being written when something ended; it is left out. */
MUST_CHECK int book_read(struct exchange_book *ret, const char *bytes, size_t len, const char *file, struct err *err);
void book_done(struct exchange_book *book);
/* Which recorded exchange answers a request: the first not yet used with the same door, method, path and body; else
 * the first not yet used with the same door, method and path (an agent's prompts differ in times and ids); else the
 * last one of these. It is used then. *ret_exact: the body is the same. NULL: none ever matches. */
const struct exchange *book_find(struct exchange_book *book, const char *door, const char *method, const char *path,
	const char *body, size_t len, bool *ret_exact);

#endif
