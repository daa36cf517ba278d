/* The proxy: CONNECT to names on the allowlist, and plain HTTP to them.
 *
 *	head	the request's head is read and judged (rules.c); what is refused ends here
 *	dial	the name is resolved, its addresses are judged, one is connected to
 *	hello	in a tunnel the client's first bytes: on port 443 they must be TLS; TLS must want the name that
 *		was asked for
 *	relay	bytes pass both ways. Of a plain request just the request: the connection is for one alone, so that
 *		nothing after it goes unjudged */
#include "door/doord/doord.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/weaken.h"
#include "net/hello.h"
#include "net/http.h"

#define TLS_PORT 443 /* nothing but TLS passes there */

struct proxying {
	bool tunnel;
	size_t head_size; /* of conn->head: what follows came after it */
	struct buf request; /* a plain one as it is sent on */
	struct buf answer; /* as much of the answer's head as came */
	struct http_body body;
	struct hello_watch watch; /* of a tunnel with TLS */
};

static void refuse(struct conn *conn, unsigned status, const char *reason)
{
	own(freep) char *body = xfmt("hotcell: %s%s%s", conn->host, conn->host[0] == '\0' ? "" : ": ", reason);

	conn_judged(conn, status == 502 ? VERDICT_FAILED : VERDICT_REFUSED, reason);
	conn_answer(conn, status, body);
}

/* ---- plain requests ---- */

static size_t body_gate(void *data, const char *bytes, size_t len)
{
	struct proxying *own = ((struct conn *)data)->own;
	size_t used = 0;

	if (weakened("door-one-request"))
		return len;
	while (used < len && !own->body.done && !own->body.bad) {
		struct span piece;
		size_t now = http_body_take(&own->body, bytes + used, len - used, &piece);
		if (now == 0)
			break;
		used += now;
	}
	return own->body.bad ? 0 : used;
}

/* Answers with a body that has not been asked for yet would keep some clients waiting. */
static bool wants_continue(const struct http_head *head)
{
	const struct http_field *expect = http_field(head, "expect");

	return expect != NULL && span_is(expect->value, "100-continue");
}

static void request_build(struct conn *conn, const struct http_head *head, struct span path)
{
	struct proxying *own = conn->own;
	struct buf *out = &own->request;

	buf_add(out, head->method.at, head->method.len);
	buf_char(out, ' ');
	buf_add(out, path.at, path.len);
	buf_fmt(out, " HTTP/1.1\r\nHost: %s", conn->host);
	if (conn->port != 80)
		buf_fmt(out, ":%u", conn->port);
	buf_str(out, "\r\nConnection: close\r\n");
	if (head->framing == FRAME_CHUNKED)
		buf_str(out, "Transfer-Encoding: chunked\r\n");
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		if (http_is_hop(head, field) || span_is(field->name, "host") || span_is(field->name, "expect"))
			continue;
		http_put_field(out, field->name, field->value);
	}
	buf_str(out, "\r\n");
	http_body_init(&own->body, head);
}

/* Servers need not say that they close, and some do not: a client that kept the connection for its next request would
 * find it closed. */
static void answer_closing(const struct http_head *head, const char *bytes, struct buf *out)
{
	const char *line_end = memchr(bytes, '\r', head->size);

	buf_add(out, bytes, (size_t)(line_end - bytes));
	buf_str(out, "\r\nConnection: close\r\n");
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		if (span_is(field->name, "connection") || span_is(field->name, "keep-alive"))
			continue;
		http_put_field(out, field->name, field->value);
	}
	buf_str(out, "\r\n");
}

/* Holds the head until it is whole. What is no answer is the client's to judge. */
static bool on_answer(void *data, const char *bytes, size_t len, struct buf *out)
{
	struct proxying *own = ((struct conn *)data)->own;
	own(buf_done) struct buf held = own->answer;
	struct http_head head = { .status = 100 };
	size_t used = 0;
	enum http_read read = HTTP_DONE;

	own->answer = (struct buf){ 0 };
	if (len > 0)
		buf_add(&held, bytes, len);
	if (len > 0 && held.len < HTTP_ANSWER_MAX && memchr(bytes, '\n', len) == NULL) { /* no line has ended: no news */
		own->answer = held;
		held = (struct buf){ 0 };
		return true;
	}
	const char *all = buf_text(&held);
	while (head.status < 200 && (read = http_read_response(all + used, held.len - used, false, &head)) == HTTP_DONE) {
		if (head.status < 200)
			buf_add(out, all + used, head.size);
		else
			answer_closing(&head, all + used, out);
		used += head.size;
	}
	bool more = read == HTTP_MORE && len > 0;
	buf_add(more ? &own->answer : out, all + used, held.len - used);
	return more;
}

static void relay_request(struct conn *conn)
{
	struct proxying *own = conn->own;
	const char *rest = conn->head.data + own->head_size;
	size_t len = conn->head.len - own->head_size, may = body_gate(conn, rest, len);

	if (own->body.bad) {
		refuse(conn, 400, "its body is no body");
		return;
	}
	buf_add(&own->request, rest, may);
	conn_relay(conn, own->request.data, own->request.len, body_gate);
	relay_on_answer(conn->relay, on_answer);
	buf_done(&own->request);
}

/* ---- tunnels ---- */

/* What refuses a tunnel after it was opened can only close it. */
static void hang_up(struct conn *conn, const char *reason)
{
	conn_judged(conn, VERDICT_REFUSED, reason);
	conn_free(conn);
}

#define SECOND_HELLO "TLS with a second hello for another name"

/* What is refused goes no further; the sweep closes it. */
static size_t hello_gate(void *data, const char *bytes, size_t len)
{
	struct conn *conn = data;
	struct proxying *own = conn->own;
	enum hello_watched watched = hello_watch(&own->watch, conn->host, (const uint8_t *)bytes, len);

	if (watched == WATCH_OVER)
		relay_open_gate(conn->relay);
	if (watched != WATCH_BAD)
		return len;
	conn_judged(conn, VERDICT_REFUSED, SECOND_HELLO);
	conn->deadline_ns = clock_now();
	return 0;
}

static void look_at_hello(struct conn *conn)
{
	struct proxying *own = conn->own;
	enum hello_watched watched = WATCH_OVER;
	char name[HOST_MAX + 1] = "";
	const char *rest = conn->head.data + own->head_size;
	size_t len = conn->head.len - own->head_size;

	if (len == 0)
		return;
	enum hello hello = hello_read((const uint8_t *)rest, len, name);
	if (hello == HELLO_MORE)
		return;
	if (hello != HELLO_OK && weakened("door-sni"))
		hello = HELLO_OK;
	if (hello == HELLO_OK && strcmp(name, conn->host) != 0 && !weakened("door-sni")) {
		hang_up(conn, "TLS for another name than the tunnel's");
		return;
	}
	if (hello != HELLO_OK && !(hello == HELLO_NOT_TLS && conn->port != TLS_PORT)) {
		hang_up(conn, hello_reason(hello));
		return;
	}
	if (hello == HELLO_OK)
		watched = hello_watch_first(&own->watch, conn->host, (const uint8_t *)rest, len);
	if (watched == WATCH_BAD) {
		hang_up(conn, SECOND_HELLO);
		return;
	}
	own(buf_done) struct buf sent = conn->head;
	size_t skip = own->head_size;
	conn->head = (struct buf){ 0 };
	conn_relay(conn, sent.data + skip, sent.len - skip, watched == WATCH_ON ? hello_gate : NULL);
}

/* A protocol in which the server speaks first is not TLS; but a client that has begun a hello is held to it. */
static void on_far_first(void *data, int fd, uint32_t events)
{
	struct conn *conn = data;
	size_t skip = ((const struct proxying *)conn->own)->head_size;

	(void)fd;
	(void)events;
	if (conn->head.len > skip) {
		loop_set_events(conn->far_source, 0);
		return;
	}
	own(buf_done) struct buf sent = conn->head;
	conn->head = (struct buf){ 0 };
	conn_relay(conn, sent.data + skip, sent.len - skip, NULL);
}

static void open_tunnel(struct conn *conn)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	if (send(conn->client, yes, sizeof(yes) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(yes) - 1) {
		conn_free(conn);
		return;
	}
	loop_set_events(conn->source, EPOLLIN);
	loop_hand_over(conn->far_source, conn->port != TLS_PORT ? EPOLLIN : 0, on_far_first, conn);
	conn->deadline_ns = clock_now() + HEAD_NS;
}

/* ---- from the head to the far side ---- */

static void on_dialled(void *data, int fd, struct loop_source *source, enum dial_end end, const char *why)
{
	struct conn *conn = data;
	struct proxying *own = conn->own;

	conn->dial = NULL;
	conn->far = fd;
	conn->far_source = source;
	if (end != DIAL_OK)
		refuse(conn, end == DIAL_REFUSED ? 403 : 502, why);
	else if (own->tunnel)
		open_tunnel(conn);
	else
		relay_request(conn);
}

static void dial(struct conn *conn, const struct door_rule *rule)
{
	struct doord *doord = conn->run->doord;
	const struct dial_place place = { .host = conn->host, .port = (uint16_t)conn->port, .private_ok = rule->private_ok,
		.proxy_host = doord->policy.upstream_host, .proxy_port = doord->policy.upstream_port };

	conn->rule = rule;
	conn_judged(conn, VERDICT_ALLOWED, "");
	conn->deadline_ns = clock_now() + 2 * HEAD_NS;
	conn->dial = dial_start(doord->loop, doord->resolver, &place, on_dialled, conn);
}

/* Host must name what the target does. Without a port it is that of plain HTTP, or the tunnel's: some clients leave it
 * out there. */
static bool host_agrees(const struct http_head *head, struct span host, unsigned port, bool tunnel)
{
	const struct http_field *field = http_field(head, "host");
	struct span other;
	unsigned other_port;
	char a[HOST_MAX + 1], b[HOST_MAX + 1];

	if (field == NULL)
		return true;
	if (!http_authority(field->value, &other, &other_port)) {
		other = field->value;
		other_port = tunnel ? port : 80;
	}
	return other_port == port && host_canonical(host.at, host.len, a) == HOST_NAME &&
		host_canonical(other.at, other.len, b) == HOST_NAME && strcmp(a, b) == 0;
}

/* Why not even an allowed name is reached by it; NULL: it is. */
static const char *request_fault(const struct conn *conn, const struct http_head *head, struct span host)
{
	bool tunnel = ((const struct proxying *)conn->own)->tunnel;

	if (tunnel && conn->head.len > head->size)
		return "bytes for a tunnel that is not open yet";
	if (!host_agrees(head, host, conn->port, tunnel))
		return "its Host is another than its target's";
	return !tunnel && conn->port == TLS_PORT ? "plain HTTP to a port where only TLS passes" : NULL;
}

/* The host's bytes may be anything: only its canonical form is ever shown. */
static void judge(struct conn *conn, const struct http_head *head)
{
	struct proxying *own = conn->own;
	struct span host, path = { 0 };
	unsigned port;
	own(buf_done) struct buf sentence = { 0 };

	own->tunnel = span_is(head->method, "CONNECT");
	own->head_size = head->size;
	if (!(own->tunnel ? http_authority(head->target, &host, &port) : http_absolute(head->target, &host, &port, &path))) {
		refuse(conn, 400, own->tunnel ? "CONNECT needs HOST:PORT" : "a proxy needs an http:// URL");
		return;
	}
	const struct door_verdict verdict = rules_judge(&conn->run->doord->policy.rules, host.at, host.len, port);
	(void)snprintf(conn->host, sizeof(conn->host), "%s", verdict.host);
	conn->port = port;
	if (verdict.rule == NULL) {
		refuse(conn, verdict.status, verdict.reason);
		return;
	}
	const char *fault = weakened("door-syntax") ? NULL : request_fault(conn, head, host);
	if (fault != NULL) {
		refuse(conn, 400, fault);
		return;
	}
	if (!conn_may_begin(conn, &sentence)) {
		conn_answer(conn, 429, buf_text(&sentence));
		return;
	}
	if (!own->tunnel) {
		if (wants_continue(head))
			(void)!send(conn->client, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
		request_build(conn, head, path);
	}
	dial(conn, verdict.rule);
}

static void on_client(void *data, int fd, uint32_t events)
{
	struct conn *conn = data;
	struct http_head head;

	(void)fd;
	(void)events;
	if (conn->dial != NULL) { /* what more it sends waits where it is */
		loop_set_events(conn->source, 0);
		return;
	}
	if (conn->far >= 0) {
		if (conn_read(conn, HTTP_HEAD_MAX + HELLO_MAX + 4096) > 0)
			look_at_hello(conn);
		return;
	}
	if (conn_read(conn, 2 * HTTP_HEAD_MAX) <= 0)
		return;
	switch (http_read_request(conn->head.data, conn->head.len, &head)) {
	case HTTP_MORE: break;
	case HTTP_DONE: judge(conn, &head); break;
	case HTTP_BAD: refuse(conn, 400, head.why); break;
	case HTTP_LARGE: refuse(conn, 431, "the request's head is too large"); break;
	}
}

static void accepted(struct conn *conn)
{
	conn->own = xcalloc(1, sizeof(struct proxying));
	conn->source = loop_add_fd(conn->run->doord->loop, conn->client, EPOLLIN, on_client, conn);
}

static void late(struct conn *conn)
{
	const struct proxying *own = conn->own;

	if (conn->dial != NULL)
		refuse(conn, 502, "no answer in time");
	else if (conn->far >= 0 && own->tunnel)
		hang_up(conn, "nothing was said in the tunnel");
	else
		refuse(conn, 408, "the request took too long");
}

static void freed(struct conn *conn)
{
	struct proxying *own = conn->own;

	if (own != NULL) {
		buf_done(&own->request);
		buf_done(&own->answer);
		hello_watch_done(&own->watch);
	}
	free(own);
}

const struct door_kind door_proxy = { .accepted = accepted, .late = late, .freed = freed };
