#include "door/doord/hold.h"

#include <string.h>
#include <strings.h>

#include "base/weaken.h"
#include "door/policy/rewrite.h"

#define REQUEST_MAX (32u << 20) /* what interfaces take */
#define HELD_MAX (256u << 20) /* bytes of all requests that wait, shared by runs */

static size_t held; /* bytes of all */

static bool has_budget(const struct conn *conn)
{
	const struct door_policy *policy = &conn->run->doord->policy;
	const struct door_budget *both[] = { &policy->budget, &policy->run_budget };

	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		if (both[i]->limit[BUDGET_MICRODOLLARS] > 0 || both[i]->limit[BUDGET_TOKENS] > 0)
			return true;
	return false;
}

/* What only asks for what is there costs nothing, unless it brings something. */
static bool may_cost(const struct http_head *head)
{
	static const char *const methods[] = { "GET", "HEAD", "OPTIONS", "DELETE" };

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (span_is(head->method, methods[i]))
			return head->framing == FRAME_CHUNKED || (head->framing == FRAME_LENGTH && head->length > 0);
	return true;
}

void hold_begin(struct conn *conn, const struct http_head *head)
{
	struct carrying *own = conn->own;

	if (conn->run->doord->policy.replay || !has_budget(conn) || !may_cost(head) || weakened("door-budget"))
		return;
	own->holds = true;
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		if (rewrite_same_field(field->name, "content-encoding") &&
			!span_is(field->value, "identity"))
			carry_trouble(conn, 400, "its body is encoded: what it may cost cannot be read");
		if (rewrite_same_field(field->name, "content-type") &&
			!rewrite_is_plain(field->value))
			carry_trouble(conn, 400, "its body is in another character set than UTF-8: what it may cost cannot be read");
	}
	if (head->framing == FRAME_LENGTH && head->length > REQUEST_MAX)
		carry_trouble(conn, 413, "its body is larger than 32 MB: what it may cost cannot be read");
}

bool hold_takes(const struct conn *conn)
{
	const struct carrying *own = conn->own;

	return own->holds;
}

bool hold_waits(const struct conn *conn)
{
	const struct carrying *own = conn->own;

	return own->holds && !own->released;
}

static void forget(struct conn *conn)
{
	struct carrying *own = conn->own;

	held -= own->held_size;
	conn->run->held -= own->held_size;
	own->held_size = 0;
	buf_done(&own->held);
}

void hold_sent(struct conn *conn)
{
	forget(conn);
}

void hold_piece(struct conn *conn, struct span piece)
{
	struct carrying *own = conn->own;
	size_t share = HELD_MAX / (conn->run->doord->run_count + 1);

	if (own->trouble != 0)
		return;
	if (own->held.len + piece.len > REQUEST_MAX) {
		carry_trouble(conn, 413, "its body is larger than 32 MB: what it may cost cannot be read");
	} else if (held + piece.len > HELD_MAX || (conn->run->held > 0 && conn->run->held + piece.len > share)) {
		own->retry = true;
		carry_trouble(conn, 429, "too many large requests at once");
	} else {
		buf_add(&own->held, piece.at, piece.len);
		held += piece.len;
		conn->run->held += piece.len;
		own->held_size += piece.len;
	}
}

/* ---- sending it ---- */

/* The length that these fields say becomes another line. */
static void length_set(struct buf *fields, const char *line)
{
	static const char name[] = "content-length:";
	own(buf_done) struct buf changed = { 0 };
	const char *at = buf_text(fields), *end;

	for (; (end = strstr(at, "\r\n")) != NULL; at = end + 2) {
		if (strncasecmp(at, name, strlen(name)) == 0)
			buf_str(&changed, line);
		else
			buf_add(&changed, at, (size_t)(end + 2 - at));
	}
	fields->len = 0;
	buf_add(fields, buf_text(&changed), changed.len);
}

bool hold_strips(const struct http_head *head)
{
	static const char events[] = "text/event-stream";
	const struct http_field *type = http_field(head, "content-type");

	return head->status == 200 && type != NULL && type->value.len >= strlen(events) &&
		span_is((struct span){ type->value.at, strlen(events) }, events);
}

void hold_drop_length(struct buf *fields)
{
	length_set(fields, "");
}

static void release(struct conn *conn, const struct ask *ask)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf body = { 0 };

	ask_edit(ask, buf_text(&own->held), own->held.len, &body);
	own->strips = ask->edit != ASK_AS_IT_IS;
	own(freep) char *line = xfmt("Content-Length: %zu\r\n", body.len);
	if (own->strips && own->asked.framing == FRAME_LENGTH)
		length_set(&own->up.bytes, line);
	carry_queue_body(own, &body);
	own->released = true;
	buf_done(&own->held); /* it waits in the queue now, and counts until that is empty */
}

void hold_end(struct conn *conn)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf sentence = { 0 };
	own(freep) char *target = xfmt("%s%s", conn->secret->path, own->target);
	struct ask ask;

	if (!own->holds || own->released || own->trouble != 0)
		return;
	ask_read(&ask, (struct span){ target, strlen(target) }, buf_text(&own->held), own->held.len);
	if (ask.fault != NULL)
		carry_trouble(conn, 400, ask.fault);
	else if (!meter_reserve(&own->meter, conn, &ask, &sentence, &own->retry))
		carry_trouble(conn, 429, buf_text(&sentence));
	else
		release(conn, &ask);
	if (own->trouble != 0)
		forget(conn);
}

void hold_done(struct conn *conn)
{
	struct carrying *own = conn->own;

	forget(conn);
	strip_done(&own->strip);
}
