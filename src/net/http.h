/* HTTP/1.1 messages, read strictly: what two readers could understand differently is an error. Pure.
 *
 * Bytes are never copied: spans point into what was given. */
#ifndef HOTCELL_NET_HTTP_H
#define HOTCELL_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define HTTP_HEAD_MAX 8192 /* of a request; a response's may be HTTP_ANSWER_MAX */
#define HTTP_ANSWER_MAX 65536
#define HTTP_FIELDS_MAX 100

struct span {
	const char *at;
	size_t len;
};
bool span_is(struct span span, const char *text); /* ignoring ASCII case */

enum http_read {
	HTTP_MORE, /* not whole yet */
	HTTP_DONE,
	HTTP_BAD, /* `why` says what is wrong */
	HTTP_LARGE /* more than its maximum without an end */
};

struct http_field {
	struct span name, value; /* without blanks around it */
};

/* How the body is delimited. */
enum http_framing {
	FRAME_NONE,
	FRAME_LENGTH,
	FRAME_CHUNKED,
	FRAME_CLOSE /* responses only: until the end of the connection */
};

struct http_head {
	struct span method, target; /* of a request */
	unsigned status; /* of a response */
	struct span reason;
	unsigned minor; /* HTTP/1.minor: 0 or 1 */
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t field_count;
	size_t size; /* bytes, with the empty line */
	enum http_framing framing;
	uint64_t length; /* FRAME_LENGTH */
	bool close; /* the sender closes afterwards: HTTP/1.0 without keep-alive, or Connection: close */
	const char *why; /* static */
};

/* Refused: bare CR or LF, NUL and other control bytes, blanks before a colon, obsolete folding, an empty or odd
 * field name, two Content-Length, Content-Length beside Transfer-Encoding, a Transfer-Encoding other than one
 * "chunked", more than one Host or none in HTTP/1.1, a version other than 1.0 and 1.1, HTTP/1.0 with chunks, a method
 * with lower-case letters, a target that does not fit the method, a Connection that names one of these fields, a name
 * that differs from theirs by '_' only, CONNECT with a body. A verdict other than HTTP_MORE never changes when more
 * bytes come. Whether Host and an absolute target say the same is for the caller to see. */
enum http_read http_read_request(const char *bytes, size_t len, struct http_head *ret);
/* `asked_head`: the request was HEAD. 1xx, 204, 304 and answers to HEAD have no body. 1xx are heads of their own: the
 * answer follows. */
enum http_read http_read_response(const char *bytes, size_t len, bool asked_head, struct http_head *ret);
const struct http_field *http_field(const struct http_head *head, const char *name); /* the first; NULL: none */
void http_put_field(struct buf *out, struct span name, struct span value); /* as a line of a head */
/* Fields that belong to one connection: Connection and what it names, Keep-Alive, Proxy-*, TE, Trailer,
 * Transfer-Encoding, Upgrade. */
bool http_is_hop(const struct http_head *head, const struct http_field *field);

/* HOST:PORT of a CONNECT target. The host is any bytes without a colon, or in brackets; port > 65535: not a number. */
bool http_authority(struct span target, struct span *ret_host, unsigned *ret_port);
/* http://HOST[:PORT]/PATH of a request to a proxy. *ret_path begins with '/' ("/" when there was none, or "/?query" with an empty path is
 * refused). Userinfo and fragments are refused. */
bool http_absolute(struct span target, struct span *ret_host, unsigned *ret_port, struct span *ret_path);

/* A body as it streams by. */
struct http_body {
	enum http_framing framing;
	uint64_t left; /* of the length, or of the current chunk */
	int state; /* of the chunk reader; private */
	size_t line; /* bytes of the current chunk-size or trailer line; private */
	bool done, bad;
};
void http_body_init(struct http_body *body, const struct http_head *head);
/* Takes up to `len` bytes: *ret_data is the next piece of the body itself (may be empty), and the result is how many
 * bytes were used up, framing included. Call again with the rest until it is done, bad, or uses nothing. Chunk
 * extensions and trailers are swallowed, and bounded. */
size_t http_body_take(struct http_body *body, const char *bytes, size_t len, struct span *ret_data);
void http_body_end(struct http_body *body); /* the connection ended: done for FRAME_CLOSE, else bad if it was not done */

#endif
