/* See mcp_http.h. */
#include "fuzz/tool/mcp_http.h"

#include <string.h>

#include "fuzz/tool/target_private.h"

#define SESSION_ID_MAX 1000u

struct asked {
	size_t len;
	bool wants;
};

void http_talk_done(struct http_talk *talk)
{
	free(talk->session);
	buf_done(&talk->unanswered);
	buf_done(&talk->asked);
	buf_done(&talk->head);
	buf_done(&talk->text);
	buf_done(&talk->data);
	*talk = (struct http_talk){0};
}

/* ---- out ---- */

void http_talk_post(struct http_talk *talk, uint16_t port, const char *path, const char *version, const char *message,
	size_t len, struct buf *out)
{
	size_t begin = talk->unanswered.len;
	struct buf *to = &talk->unanswered;

	buf_fmt(to, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/json\r\n", path, port);
	buf_fmt(to, "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n", len);
	if (talk->session)
		buf_fmt(to, "Mcp-Session-Id: %s\r\n", talk->session);
	if (version)
		buf_fmt(to, "MCP-Protocol-Version: %s\r\n", version);
	buf_str(to, "\r\n");
	buf_add(to, message, len);
	/* What has a method and an id wants an answer; both are at the beginning of what we write. */
	const struct asked asked = {.len = to->len - begin, .wants = memmem(message, len < 200 ? len : 200, "\"method\"", 8) &&
		memmem(message, len < 200 ? len : 200, "\"id\"", 4)};
	buf_add(&talk->asked, &asked, sizeof(asked));
	buf_add(out, to->data + begin, asked.len);
}

static void buf_drop(struct buf *buf, size_t len)
{
	buf->len -= len;
	memmove(buf->data, buf->data + len, buf->len);
}

int http_talk_again(struct http_talk *talk, struct buf *out)
{
	if (talk->in_body || talk->head.len)
		return -1;
	buf_add(out, buf_text(&talk->unanswered), talk->unanswered.len);
	return 0;
}

/* ---- in ---- */

/* True: what follows is not wanted any more. */
static bool give(struct http_talk *talk, const struct http_events *events, const char *text, size_t len)
{
	talk->messages++;
	events->message(events->data, text, len);
	return events->stop(events->data);
}

/* A line of a stream of events: data is gathered until an empty one; all other fields are of no use here. */
static bool event_line(struct http_talk *talk, const struct http_events *events)
{
	const char *line = buf_text(&talk->text);
	size_t len = talk->text.len;

	if (len && line[len - 1] == '\r')
		len--;
	if (len >= 5 && memcmp(line, "data:", 5) == 0) {
		size_t from = len > 5 && line[5] == ' ' ? 6 : 5;
		if (talk->data.len)
			buf_char(&talk->data, '\n');
		buf_add(&talk->data, line + from, len - from);
	}
	talk->text.len = 0;
	if (len || !talk->data.len)
		return false;
	own(buf_done) struct buf whole = talk->data;
	talk->data = (struct buf){0};
	return give(talk, events, buf_text(&whole), whole.len);
}

static const char too_long[] = "a message is longer than what is read";

/* A piece of the body. 1: stop; -1: too long. */
static int body_piece(struct http_talk *talk, struct span piece, const struct http_events *events)
{
	while (talk->events && piece.len) {
		const char *end = memchr(piece.at, '\n', piece.len);
		size_t len = end ? (size_t)(end - piece.at) : piece.len;
		buf_add(&talk->text, piece.at, len);
		if (talk->text.len + talk->data.len > TARGET_LINE_MAX)
			return -1;
		if (end && event_line(talk, events))
			return 1;
		len += end != NULL;
		piece.at += len;
		piece.len -= len;
	}
	buf_add(&talk->text, piece.at, piece.len);
	return talk->text.len > TARGET_LINE_MAX ? -1 : 0;
}

static bool body_over(struct http_talk *talk, const struct http_events *events)
{
	own(buf_done) struct buf text = talk->text;
	bool success = talk->status >= 200 && talk->status < 300;

	talk->text = (struct buf){0};
	talk->data.len = 0;
	talk->in_body = false;
	if (!talk->events && success && text.len && talk->wants)
		return give(talk, events, buf_text(&text), text.len);
	if (!success || (talk->wants && !talk->messages))
		events->status(events->data, talk->status, talk->wants, buf_text(&text), text.len);
	return events->stop(events->data);
}

static void session_keep(struct http_talk *talk, const struct http_head *head)
{
	const struct http_field *id = http_field(head, "mcp-session-id");

	if (!id || id->value.len == 0 || id->value.len > SESSION_ID_MAX)
		return;
	free(talk->session);
	talk->session = xfmt("%.*s", (int)id->value.len, id->value.at);
}

/* Bytes used of the head; 0: more is needed; -1. */
static int head_take(struct http_talk *talk, const char **ret_why)
{
	static _Thread_local struct http_head head;
	enum http_read got = http_read_response(buf_text(&talk->head), talk->head.len, false, &head);

	if (got == HTTP_MORE)
		return 0;
	if (got != HTTP_DONE) {
		*ret_why = got == HTTP_BAD ? head.why : "the head of its answer is too large";
		return -1;
	}
	if (head.status < 200) {
		buf_drop(&talk->head, head.size);
		return talk->head.len ? head_take(talk, ret_why) : 0;
	}
	struct asked asked;
	if (talk->asked.len < sizeof(asked)) {
		*ret_why = "it answered what was not asked";
		return -1;
	}
	memcpy(&asked, talk->asked.data, sizeof(asked));
	buf_drop(&talk->asked, sizeof(asked));
	buf_drop(&talk->unanswered, asked.len);
	const struct http_field *type = http_field(&head, "content-type");
	talk->events = type && type->value.len >= 17 && strncasecmp(type->value.at, "text/event-stream", 17) == 0;
	talk->wants = asked.wants;
	talk->status = head.status;
	talk->messages = 0;
	talk->in_body = true;
	session_keep(talk, &head);
	http_body_init(&talk->body, &head);
	return (int)head.size;
}

/* Takes the body out of `head`, where all that came is. 1: stop. */
static int body_take(struct http_talk *talk, const struct http_events *events, const char **ret_why)
{
	size_t used = 0;
	int rc = 0;

	while (!talk->body.done && !talk->body.bad && used < talk->head.len && rc == 0) {
		struct span piece = {0};
		size_t took = http_body_take(&talk->body, talk->head.data + used, talk->head.len - used, &piece);
		used += took;
		if (piece.len)
			rc = body_piece(talk, piece, events);
		if (!took && !piece.len)
			break;
	}
	if (rc == 1)
		return 1; /* what is left belongs to nobody: it may be gone already */
	buf_drop(&talk->head, used);
	if (rc < 0 || talk->body.bad) {
		*ret_why = rc < 0 ? too_long : "the body of its answer is cut or not framed as HTTP has it";
		return -1;
	}
	return talk->body.done && body_over(talk, events) ? 1 : 0;
}

int http_talk_feed(struct http_talk *talk, const char *bytes, size_t len, const struct http_events *events,
	const char **ret_why)
{
	if (len == 0 && talk->in_body) { /* the end of the connection */
		http_body_end(&talk->body);
		if (talk->body.done)
			(void)body_over(talk, events);
		*ret_why = "it closed the connection inside its answer";
		return talk->body.bad ? -1 : 0;
	}
	buf_add(&talk->head, bytes, len);
	while (talk->head.len || (talk->in_body && talk->body.done)) {
		if (!talk->in_body) {
			int used = head_take(talk, ret_why);
			if (used <= 0)
				return used;
			buf_drop(&talk->head, (size_t)used);
		}
		int rc = body_take(talk, events, ret_why);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (talk->in_body)
			return 0;
	}
	return 0;
}
