/* Messages of the Model Context Protocol over streamable HTTP: each of ours is a POST, and answers come as JSON or as
 * a stream of events. Pure: bytes in, messages out. Requests are sent without waiting for the answers to those before
 * (pipelining).
 *
 * What the server asks of us inside a stream is answered on the same connection, so only after the stream has ended: a
 * server that waits for that inside its call is late. */
#ifndef HOTCELL_FUZZ_TOOL_MCP_HTTP_H
#define HOTCELL_FUZZ_TOOL_MCP_HTTP_H

#include <stdint.h>

#include "base/buf.h"
#include "net/http.h"

struct http_talk {
	char *session; /* Mcp-Session-Id; NULL: none was given */
	struct buf unanswered; /* POSTs whose answer has not begun, as they were sent */
	struct buf asked; /* of each of those: its length, and whether it wants a message back */
	struct buf head; /* of an answer, as far as it came */
	bool in_body, wants, events;
	unsigned status;
	struct http_body body;
	struct buf text; /* the body, or a line of a stream of events */
	struct buf data; /* of an event */
	uint64_t messages; /* in this answer */
};

struct http_events {
	void (*message)(void *data, const char *text, size_t len);
	/* An answer without a message, to one that wants one, or with a status that is no success. */
	void (*status)(void *data, unsigned status, bool wanted, const char *text, size_t len);
	bool (*stop)(void *data); /* asked after each of them: whether what was read is still wanted */
	void *data;
};

void http_talk_done(struct http_talk *talk); /* leaves it empty */
/* A connection ended: what was not answered is to be sent again, on a new one, and is added to `out`. -1 if an answer
 * was cut in the middle. */
MUST_CHECK int http_talk_again(struct http_talk *talk, struct buf *out);
/* Adds a POST of one message. `version` is the protocol's; NULL before it is agreed. */
void http_talk_post(struct http_talk *talk, uint16_t port, const char *path, const char *version, const char *message,
	size_t len, struct buf *out);
/* -1: it is no HTTP; *ret_why says why, static. */
MUST_CHECK int http_talk_feed(struct http_talk *talk, const char *bytes, size_t len, const struct http_events *events,
	const char **ret_why);

#endif
