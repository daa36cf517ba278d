/* A secret door: HTTP to one upstream, with a credential that the cell never has.
 *
 *	head	the request's head is read; what this door does not carry, and what no budget is left for, ends here
 *	dial	the upstream is connected to, with TLS
 *	carry	request and answer pass (carry.c), until the answer is over: a connection is for one request
 *
 * The cell speaks plain HTTP/1.1 to its own loopback. Its own idea of a credential is dropped and the real one added
 * (rewrite.c); what comes back is scrubbed. Redirects are answers like others: nobody follows them here. In a replay
 * nothing is connected to, and what was recorded answers. */
#include "door/doord/secret.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/weaken.h"
#include "door/doord/carry.h"
#include "door/doord/hold.h"
#include "door/policy/rewrite.h"

#define DIAL_NS (30 * NS_PER_S)
#define PATH_SHOWN 500
#define METHOD_SHOWN 32
#define SHAKES_MAX 16 /* of one run at a time: beginning TLS takes long enough for others to notice */
#define WANTED_MAX (64u << 20) /* bytes of all requests that wait to be compared: of those beyond only the path is */

/* ---- answers of our own ---- */

static const struct own_answer {
	unsigned status;
	const char *text, *type;
} own_answers[] = {
	{ 400, "Bad Request", "invalid_request" },
	{ 403, "Forbidden", "refused" },
	{ 408, "Request Timeout", "timeout" },
	{ 413, "Content Too Large", "request_too_large" },
	{ 429, "Too Many Requests", "budget_exhausted" },
	{ 431, "Request Header Fields Too Large", "invalid_request" },
	{ 502, "Bad Gateway", "upstream_failed" },
	{ 504, "Gateway Timeout", "timeout" },
	{ 0, "Error", "error" },
};

/* In the form in which clients of language models expect errors. */
static void error_body(struct json *json, const char *type, const char *message)
{
	json_open(json, '{');
	json_put_string(json, "type", "error");
	json_key(json, "error");
	json_open(json, '{');
	json_put_string(json, "type", type);
	json_put_string(json, "message", message);
	json_close(json, '}');
	json_close(json, '}');
	buf_char(&json->out, '\n');
}

void secret_release(struct conn *conn)
{
	struct carrying *own = conn->own;

	conn->dial = dial_cancel(conn->dial);
	conn->far_source = loop_remove(conn->far_source);
	own->far = far_free(own->far);
	own->shaking = false;
	secret_shaken(conn);
	fd_close(&conn->far);
}

void secret_answer(struct conn *conn, unsigned status, const char *why)
{
	struct carrying *own = conn->own;
	const struct own_answer *row = own_answers;
	own(json_done) struct json body = { 0 };
	own(buf_done) struct buf text = { 0 };
	own(freep) char *message = xfmt("hotcell: %s: %s", conn->door, why);

	while (row->status != status && row->status != 0)
		row++;
	conn_judged(conn, status == 502 || status == 504 ? VERDICT_FAILED : VERDICT_REFUSED, why);
	secret_release(conn);
	meter_close(&own->meter, conn, false);
	if (own->status != 0) { /* too late to say anything */
		conn_free(conn);
		return;
	}
	own->status = status;
	error_body(&body, row->type, message);
	buf_fmt(&text, "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
		status, row->text, body.out.len, status != 429 ? "" :
		own->retry	? "X-Should-Retry: true\r\nRetry-After: 1\r\n" : "X-Should-Retry: false\r\n");
	if (own->method == NULL || strcmp(own->method, "HEAD") != 0)
		buf_add(&text, body.out.data, body.out.len);
	(void)!send(conn->client, text.data, text.len, MSG_NOSIGNAL); /* it fits: nothing was sent before */
	conn_linger(conn);
}

/* ---- from the recording ---- */

static size_t wanted; /* bytes of all */

void secret_want(struct carrying *own, struct span piece)
{
	if (own->wanted.len + piece.len > EXCHANGE_BODY_MAX || wanted + piece.len > WANTED_MAX)
		return;
	buf_add(&own->wanted, piece.at, piece.len);
	wanted += piece.len;
}

static void want_no_more(struct carrying *own)
{
	wanted -= own->wanted.len;
	buf_done(&own->wanted);
}

/* The fields as they were, but for a length that somebody may have made wrong by editing the body. */
static bool played_fields(const struct exchange *exchange, bool has_body, struct buf *ret)
{
	static const char name[] = "content-length:";
	const char *at = buf_text(&exchange->fields), *end;
	bool has_length = false;

	for (; (end = strstr(at, "\r\n")) != NULL; at = end + 2) {
		if (has_body && strncasecmp(at, name, strlen(name)) == 0) {
			has_length = true;
			buf_add(ret, at, strlen(name));
			buf_fmt(ret, " %zu\r\n", exchange->body.len);
			continue;
		}
		buf_add(ret, at, (size_t)(end + 2 - at));
	}
	return has_length;
}

void secret_play(struct conn *conn)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf fields = { 0 };
	bool exact = false;
	const struct exchange *found = book_find(&conn->run->book, conn->door, own->method, own->target,
		buf_text(&own->wanted), own->wanted.len, &exact);

	want_no_more(own);
	if (found == NULL) {
		carry_trouble(conn, 502, "nothing in the recording answers this request");
		return;
	}
	(void)snprintf(conn->reason, sizeof(conn->reason), "answered from the recording%s",
		exact ? "" : ", by another request with this path");
	bool has_body = strcmp(own->method, "HEAD") != 0 && found->status != 204 && found->status != 304;
	bool has_length = played_fields(found, has_body, &fields);
	own->chunks = has_body && !has_length && !own->old;
	carry_head(conn, found->status, found->status / 100 == 2 ? (struct span){ "OK", 2 } : (struct span){ "", 0 }, &fields);
	play_begin(&own->play, found, clock_now());
}

/* ---- from the head to the upstream ---- */

static void on_event(void *data, int fd, uint32_t events)
{
	(void)fd;
	(void)events; /* reading and writing tell more */
	carry_on(data);
}

static void on_dialled(void *data, int fd, struct loop_source *source, enum dial_end end, const char *why)
{
	struct conn *conn = data;
	struct carrying *own = conn->own;
	struct doord *doord = conn->run->doord;

	conn->dial = NULL;
	conn->far = fd;
	conn->far_source = source;
	if (end != DIAL_OK) {
		secret_answer(conn, end == DIAL_REFUSED ? 403 : 502, why);
		return;
	}
	relay_at_once(fd);
	own->far = far_open(doord->tls[conn->secret_index], fd);
	if (own->far == NULL) {
		conn->far_source = loop_remove(conn->far_source);
		secret_answer(conn, 502, "no memory for another connection");
		return;
	}
	loop_hand_over(conn->far_source, EPOLLIN | EPOLLOUT, on_event, conn);
	own->shaking = true;
	carry_on(conn);
}

static void dial(struct conn *conn)
{
	struct doord *doord = conn->run->doord;
	const struct dial_place place = { .host = conn->secret->host, .port = conn->secret->port,
		.private_ok = conn->secret->private_ok, .private_only = !conn->secret->tls,
		.proxy_host = conn->secret->tls ? doord->policy.upstream_host : NULL, /* no credential in clear text there, either */
		.proxy_port = doord->policy.upstream_port };
	struct carrying *own = conn->own;

	own->waits = conn->run->shaking >= SHAKES_MAX;
	if (own->waits)
		return;
	own->counted = true;
	conn->run->shaking++;
	conn->dial = dial_start(doord->loop, doord->resolver, &place, on_dialled, conn);
}

void secret_shaken(struct conn *conn)
{
	struct carrying *own = conn->own;
	struct conn *next = NULL;

	conn->deadline_ns = clock_now() + IDLE_NS;
	own->waits = false;
	if (!own->counted)
		return;
	own->counted = false;
	conn->run->shaking--;
	for (struct conn *at = conn->run->conns; at != NULL; at = at->next) /* the last is the oldest */
		if (at->kind == &door_secret && at->own != NULL && ((const struct carrying *)at->own)->waits)
			next = at;
	if (next != NULL)
		dial(next);
}

void secret_begin_dial(struct conn *conn)
{
	loop_set_events(conn->source, 0); /* what more it sends waits where it is */
	conn->deadline_ns = clock_now() + DIAL_NS;
	dial(conn);
}

static void begin_request(struct conn *conn, const struct http_head *head)
{
	struct carrying *own = conn->own;
	const struct door_run *run = conn->run;
	const struct http_field *expect = http_field(head, "expect");
	own(buf_done) struct buf fields = { 0 };

	if (expect != NULL && span_is(expect->value, "100-continue") && head->minor > 0)
		(void)!send(conn->client, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
	rewrite_request_fields(conn->secret, head, &fields);
	if (run->record >= 0 && !run->doord->policy.replay) {
		own->keep = keep_open(conn->door, own->method, own->target);
		keep_request_fields(own->keep, &fields);
	}
	if (!run->doord->policy.replay)
		rewrite_request(conn->secret, head, &fields, &own->up.bytes);
	http_body_init(&own->asked, head);
	hold_begin(conn, head);
}

static char *span_text(struct span span)
{
	struct buf text = { 0 };

	buf_add(&text, span.at, span.len);
	return buf_take(&text);
}

static void judge(struct conn *conn, const struct http_head *head)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf sentence = { 0 };
	const char *refusal = rewrite_refusal(conn->secret, head);

	own->method = span_text(head->method);
	own->target = span_text(head->target);
	own->old = head->minor == 0;
	if (refusal != NULL) {
		secret_answer(conn, 400, refusal);
		return;
	}
	if (!conn_may_begin(conn, &sentence)) {
		secret_answer(conn, 429, buf_text(&sentence));
		return;
	}
	conn_judged(conn, VERDICT_ALLOWED, "");
	begin_request(conn, head);
	carry_passed(conn, head->size, 0);
	own(buf_done) struct buf all = conn->head;
	conn->head = (struct buf){ 0 };
	carry_body(conn, all.data + head->size, all.len - head->size);
	if (own->asked.done)
		hold_end(conn);
	conn->source = loop_remove(conn->source);
	conn->source = loop_add_fd(conn->run->doord->loop, conn->client, EPOLLIN, on_event, conn);
	if (own->trouble != 0 || conn->run->doord->policy.replay)
		carry_on(conn);
	else if (!hold_waits(conn))
		secret_begin_dial(conn);
}

static void on_head(void *data, int fd, uint32_t events)
{
	struct conn *conn = data;
	struct http_head head;

	(void)fd;
	(void)events;
	if (conn_read(conn, 2 * HTTP_HEAD_MAX) <= 0)
		return;
	switch (http_read_request(conn->head.data, conn->head.len, &head)) {
	case HTTP_MORE: break;
	case HTTP_DONE: judge(conn, &head); break;
	case HTTP_BAD: secret_answer(conn, 400, head.why); break;
	case HTTP_LARGE: secret_answer(conn, 431, "the request's head is too large"); break;
	}
}

/* ---- life ---- */

static void accepted(struct conn *conn)
{
	struct carrying *own = xcalloc(1, sizeof(*own));

	own->scrub.even = !weakened("door-even"); /* a cell chooses what an honest server says back, and sees when it comes */
	conn->own = own;
	(void)snprintf(conn->host, sizeof(conn->host), "%s", conn->secret->host);
	conn->port = conn->secret->port;
	relay_at_once(conn->client);
	conn->source = loop_add_fd(conn->run->doord->loop, conn->client, EPOLLIN, on_head, conn);
}

/* It may wait for ever, but what its answer cost is to be known. */
static void end_stall(struct conn *conn)
{
	struct carrying *own = conn->own;

	conn_cut(conn, "cut off: the cell does not read its answer");
	own->gone = true;
	conn->deadline_ns = clock_now() + IDLE_NS;
	carry_on(conn);
}

static void late(struct conn *conn)
{
	const struct carrying *own = conn->own;

	if (own->stalled)
		end_stall(conn);
	else if (own->method == NULL)
		secret_answer(conn, 408, "the request took too long");
	else if (conn->dial != NULL || own->shaking || own->waits)
		secret_answer(conn, 502, "no answer in time");
	else
		secret_answer(conn, 504, own->asked.done ? "no answer in time" : "the request took too long");
}

static void freed(struct conn *conn)
{
	struct carrying *own = conn->own;

	if (own == NULL)
		return;
	meter_close(&own->meter, conn, false);
	secret_release(conn);
	hold_done(conn);
	own->timer = loop_remove(own->timer);
	own->keep = keep_free(own->keep);
	scrub_done(&own->scrub);
	want_no_more(own);
	buf_done(&own->answer);
	buf_done(&own->up.bytes);
	buf_done(&own->down.bytes);
	free(own->method);
	free(own->target);
	free(own);
	conn->own = NULL;
}

static void ending(struct conn *conn)
{
	struct carrying *own = conn->own;

	if (own != NULL)
		meter_close(&own->meter, conn, false);
}

/* What follows a question mark is the client's own. */
static void put_path(const struct carrying *own, struct buf *ret)
{
	size_t len = own->target != NULL ? strcspn(own->target, "?") : 0;

	buf_add(ret, own->target, len < PATH_SHOWN ? len : PATH_SHOWN);
}

static void asked(const struct conn *conn, struct buf *ret)
{
	const struct carrying *own = conn->own;

	if (own->method == NULL)
		return;
	buf_add(ret, own->method, strnlen(own->method, METHOD_SHOWN));
	buf_char(ret, ' ');
	put_path(own, ret);
}

static void describe(const struct conn *conn, struct json *json)
{
	const struct carrying *own = conn->own;
	own(buf_done) struct buf path = { 0 };

	if (own->method == NULL)
		return;
	put_path(own, &path);
	json_put_string(json, "method", own->method);
	conn_put_text(conn, json, "path", &path);
	if (own->status != 0)
		json_put_uint(json, "status", own->status);
	meter_describe(&own->meter, json);
}

const struct door_kind door_secret = { .accepted = accepted, .late = late, .freed = freed, .describe = describe,
	.asked = asked, .ending = ending };

/* An earlier one that trusts the same. */
static const struct tls *find_same(const struct doord *doord, size_t index)
{
	const struct secret_door *doors = doord->policy.secrets;

	for (size_t i = 0; i < index; i++)
		if (doord->tls[i] != NULL && strcmp(doors[i].ca_text, doors[index].ca_text) == 0)
			return doord->tls[i];
	return NULL;
}

int secrets_prepare(struct doord *doord, struct err *err)
{
	const struct door_policy *policy = &doord->policy;

	doord->tls = xcalloc(policy->secret_count + 1, sizeof(*doord->tls));
	for (size_t i = 0; i < policy->secret_count; i++) {
		const struct secret_door *door = &policy->secrets[i];
		if (!door->tls || policy->replay)
			continue;
		doord->tls[i] = tls_open(door->ca_text, find_same(doord, i), door->host, err);
		if (doord->tls[i] == NULL)
			return err_wrap(err, "secret door '%s'", door->name);
	}
	return 0;
}
