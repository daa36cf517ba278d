/* HTTP exchanges of secret doors, kept to be played again. Pure.
 *
 * A recording is a file of lines, one JSON object an exchange:
 *
 *	{"door":"anthropic","method":"POST","path":"/v1/messages","request_sha256":"...","request":{"headers":{...},
 *	 "body":"..."},"status":200,"headers":{...},"body":"...","delays_ms":[0,12,...],"pieces":[100,220,...]}
 *
 * Bodies are text where they are UTF-8, else {"base64":"..."}. Credentials are not in it: the door's own field is left
 * out and everything was scrubbed before. `pieces` says in which pieces, and how long after the one before, a streamed
 * body came. */
#ifndef HOTCELL_DOOR_EXCHANGE_H
#define HOTCELL_DOOR_EXCHANGE_H

#include "base/buf.h"
#include "base/err.h"
#include "door/http.h"

#define EXCHANGE_BODY_MAX (8u << 20) /* a longer body is cut, and such an exchange is not played again */

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
MUST_CHECK int exchange_read(struct exchange *ret, const char *line, size_t len, struct err *err);

/* Which recorded exchange answers a request: the first not yet used with the same door, method, path and body; else
 * the first not yet used with the same door, method and path (an agent's prompts differ in times and ids); else the
 * last one of these. NULL: none ever matches. */
struct exchange_book {
	struct exchange *items;
	bool *used;
	size_t count;
};
MUST_CHECK int book_read(struct exchange_book *ret, const char *bytes, size_t len, const char *file, struct err *err);
void book_done(struct exchange_book *book);
const struct exchange *book_find(struct exchange_book *book, const char *door, const char *method, const char *path,
	const char *body, size_t len, bool *ret_exact);

#endif
