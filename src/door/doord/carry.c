/* A request on its way up and an answer on its way down. Every step does what can be done now and notes what went wrong;
 * what becomes of the connection is decided in one place, at the end (settle).
 *
 * What waits for a slow reader is bounded: beyond conn_room nothing more is read from the other side. Everything of the
 * answer is scrubbed before it is put into the queue towards the cell, and what was read is passed on at once.
 *
 * A cell that hangs up early has asked all the same, and the upstream charges for it: as long as the answer may tell
 * what it cost it is read to its end. Otherwise whoever stops listening just before the figures would pay nothing. One
 * that stays and reads no more is taken for gone after a while, for the same reason. */
#include "door/doord/carry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "door/doord/hold.h"
#include "door/policy/rewrite.h"

#define TURN 8 /* pieces of one connection before others have their turn */
#define INTERIM_MAX 32
#define STALL_NS (60 * NS_PER_S) /* for the cell to take some of what waits for it */

/* ---- queues ---- */

static size_t queue_len(const struct queue *queue)
{
	return queue->bytes.len - queue->sent;
}

static void queue_add(struct queue *queue, const char *bytes, size_t len)
{
	if (queue->sent > 0 && queue->sent >= queue_len(queue)) {
		memmove(queue->bytes.data, queue->bytes.data + queue->sent, queue_len(queue));
		queue->bytes.len -= queue->sent;
		queue->sent = 0;
	}
	buf_add(&queue->bytes, bytes, len);
}

static void queue_drop(struct queue *queue)
{
	buf_done(&queue->bytes);
	queue->sent = 0;
}

static void queue_took(struct queue *queue, size_t len)
{
	queue->sent += len;
	if (queue_len(queue) == 0)
		queue_drop(queue); /* most of its life a connection waits: its memory shall not */
}

static void queue_piece(struct queue *queue, const char *bytes, size_t len, bool chunk)
{
	char size[24];

	if (chunk)
		queue_add(queue, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", len));
	queue_add(queue, bytes, len);
	if (chunk)
		queue_add(queue, "\r\n", 2);
}

/* ---- what happens to it ---- */

void carry_trouble(struct conn *conn, unsigned status, const char *why)
{
	struct carrying *own = conn->own;

	if (own->trouble != 0)
		return;
	own->trouble = status;
	(void)snprintf(own->why, sizeof(own->why), "%s", why);
}

static bool idle(const struct carrying *own)
{
	return own->trouble != 0 || own->over;
}

void carry_passed(struct conn *conn, size_t sent, size_t received)
{
	struct carrying *own = conn->own;

	conn->deadline_ns = clock_now() + IDLE_NS;
	if (conn_passed(conn, sent, received))
		return;
	if (own->status == 0)
		carry_trouble(conn, 429, "a budget is used up");
	else
		own->over = true;
}

/* ---- the request ---- */

static void request_piece(struct conn *conn, struct span piece)
{
	struct carrying *own = conn->own;

	keep_request(own->keep, piece.at, piece.len);
	if (conn->run->doord->policy.replay)
		secret_want(own, piece);
	else if (hold_takes(conn))
		hold_piece(conn, piece);
	else
		queue_piece(&own->up, piece.at, piece.len, own->asked.framing == FRAME_CHUNKED);
}

void carry_queue_body(struct carrying *own, const struct buf *body)
{
	bool chunk = own->asked.framing == FRAME_CHUNKED;

	if (body->len > 0)
		queue_piece(&own->up, body->data, body->len, chunk);
	if (chunk)
		queue_add(&own->up, "0\r\n\r\n", 5);
}

/* What follows the body is not looked at: a connection is for one request. */
void carry_body(struct conn *conn, const char *bytes, size_t len)
{
	struct carrying *own = conn->own;
	size_t used = 0;

	if (own->asked.done)
		return;
	while (used < len && !own->asked.done && !own->asked.bad) {
		struct span piece = { 0 };
		size_t now = http_body_take(&own->asked, bytes + used, len - used, &piece);
		if (piece.len > 0)
			request_piece(conn, piece);
		if (now == 0)
			break;
		used += now;
	}
	if (own->asked.bad)
		carry_trouble(conn, 400, "its body is no body");
	else if (own->asked.done && own->asked.framing == FRAME_CHUNKED && !conn->run->doord->policy.replay && !hold_takes(conn))
		queue_add(&own->up, "0\r\n\r\n", 5);
	carry_passed(conn, used, 0);
	if (own->asked.done)
		hold_end(conn);
}

static bool wants_request(const struct conn *conn)
{
	const struct carrying *own = conn->own;

	return !own->asked.done && !own->deaf && !own->gone && !own->ended && queue_len(&own->up) < conn_room(conn);
}

static void take_request(struct conn *conn)
{
	struct carrying *own = conn->own;
	char bytes[16384];

	if (idle(own) || !wants_request(conn))
		return;
	ssize_t got = recv(conn->client, bytes, sizeof(bytes), 0);
	if (got > 0)
		carry_body(conn, bytes, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		own->gone = true;
}

static void send_request(struct conn *conn)
{
	struct carrying *own = conn->own;
	enum far_end end = FAR_OK;

	while (!idle(own) && own->far != NULL && queue_len(&own->up) > 0 && end == FAR_OK) {
		size_t sent = 0;
		end = far_write(own->far, own->up.bytes.data + own->up.sent, queue_len(&own->up), &sent);
		queue_took(&own->up, sent);
		if (sent > 0)
			conn->deadline_ns = clock_now() + IDLE_NS;
	}
	if (end == FAR_FAILED) {
		own->deaf = true;
		queue_drop(&own->up);
	} else if (own->far != NULL && own->asked.done && queue_len(&own->up) == 0) {
		own->meter.sent = true;
		hold_sent(conn);
	}
}

/* ---- the answer ---- */

static void put_piece(struct conn *conn, const char *bytes, size_t len)
{
	struct carrying *own = conn->own;

	if (len == 0)
		return;
	keep_piece(own->keep, bytes, len, clock_now());
	if (!own->gone)
		queue_piece(&own->down, bytes, len, own->chunks);
}

/* What is held back when it is cut short may be the first half of a secret: it stays. */
static void end_answer(struct conn *conn, bool cut)
{
	struct carrying *own = conn->own;
	const struct door_run *run = conn->run;
	own(buf_done) struct buf rest = { 0 };

	if (own->ended)
		return;
	if (!cut) {
		if (own->strips) {
			own(buf_done) struct buf left = { 0 };
			strip_end(&own->strip, &left);
			scrub_take(&own->scrub, run->doord->words, buf_text(&left), left.len, &rest);
		}
		scrub_end(&own->scrub, run->doord->words, &rest);
		put_piece(conn, rest.data, rest.len);
		if (own->chunks)
			queue_add(&own->down, "0\r\n\r\n", 5);
		if (own->keep != NULL)
			keep_write(own->keep, run->record, run->doord->words);
	}
	own->ended = true;
	own->cut = cut;
	meter_close(&own->meter, conn, !cut);
}

static void cut_answer(struct conn *conn, const char *why)
{
	conn_judged(conn, VERDICT_FAILED, why);
	end_answer(conn, true);
}

static void answer_body(struct conn *conn, const char *bytes, size_t len)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf out = { 0 }, whole = { 0 };
	size_t used = 0;

	while (used < len && !own->answered.done && !own->answered.bad) {
		struct span piece = { 0 };
		size_t now = http_body_take(&own->answered, bytes + used, len - used, &piece);
		if (piece.len > 0) {
			meter_take(&own->meter, conn, piece.at, piece.len);
			if (own->strips)
				strip_take(&own->strip, piece.at, piece.len, &whole);
			else
				buf_add(&whole, piece.at, piece.len);
		}
		if (now == 0)
			break;
		used += now;
	}
	if (whole.len > 0) /* once for all chunks: what waits is looked at again each time */
		scrub_take(&own->scrub, conn->run->doord->words, whole.data, whole.len, &out);
	put_piece(conn, out.data, out.len);
	if (own->answered.bad)
		cut_answer(conn, "its answer's body is no body");
	else if (own->answered.done)
		end_answer(conn, false);
}

void carry_head(struct conn *conn, unsigned status, struct span reason, const struct buf *fields)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf line = { 0 };

	own->status = status;
	buf_fmt(&line, "HTTP/1.1 %u ", status);
	buf_add(&line, reason.at, reason.len);
	(void)scrub_text(conn->run->doord->words, line.data, line.len);
	buf_str(&line, "\r\n");
	buf_add(&line, fields->data, fields->len);
	if (own->chunks)
		buf_str(&line, "Transfer-Encoding: chunked\r\n");
	buf_str(&line, "Connection: close\r\n\r\n");
	if (!own->gone)
		queue_add(&own->down, line.data, line.len);
}

static void begin_answer(struct conn *conn, const struct http_head *head)
{
	struct carrying *own = conn->own;
	own(buf_done) struct buf fields = { 0 };
	const struct http_field *type = http_field(head, "content-type");
	const char *fault = rewrite_answer_fault(head);

	if (fault != NULL) {
		carry_trouble(conn, 502, fault);
		return;
	}
	rewrite_answer_fields(conn->secret, head, conn->run->doord->words, &fields);
	own->strips = own->strips && hold_strips(head);
	if (own->strips)
		hold_drop_length(&fields);
	own->chunks = (head->framing == FRAME_CHUNKED || head->framing == FRAME_CLOSE || own->strips) && !own->old;
	carry_head(conn, head->status, head->reason, &fields);
	keep_answer(own->keep, head->status, &fields);
	meter_open(&own->meter, type != NULL ? type->value : (struct span){ "", 0 }, head->status, strcmp(own->method, "POST") == 0);
	http_body_init(&own->answered, head);
	if (own->answered.done)
		end_answer(conn, false);
}

/* Whether the end of a head is there. One that has it in a wrong way is refused like any other that is wrong. */
static bool has_end(const struct buf *bytes)
{
	return bytes->len > HTTP_ANSWER_MAX || memmem(bytes->data, bytes->len, "\r\n\r\n", 4) != NULL ||
		memmem(bytes->data, bytes->len, "\n\n", 2) != NULL;
}

static void answer_head(struct conn *conn)
{
	struct carrying *own = conn->own;
	struct http_head head;

	while (has_end(&own->answer)) {
		enum http_read read =
			http_read_response(own->answer.data, own->answer.len, strcmp(own->method, "HEAD") == 0, &head);
		if (read == HTTP_MORE)
			return;
		if (read != HTTP_DONE || head.status == 101 || (head.status < 200 && ++own->skipped > INTERIM_MAX)) {
			own(freep) char *why = xfmt("its answer is none: %s",
				read == HTTP_DONE ? "a switch of protocols nobody asked for" : head.why);
			carry_trouble(conn, 502, why);
			return;
		}
		own(buf_done) struct buf all = own->answer;
		own->answer = (struct buf){ 0 };
		if (head.status < 200) {
			buf_add(&own->answer, all.data + head.size, all.len - head.size);
			continue;
		}
		begin_answer(conn, &head);
		if (!idle(own) && !own->ended)
			answer_body(conn, all.data + head.size, all.len - head.size);
		return;
	}
}

static void answer_bytes(struct conn *conn, const char *bytes, size_t len)
{
	struct carrying *own = conn->own;

	conn->deadline_ns = clock_now() + IDLE_NS;
	if (own->status != 0) {
		answer_body(conn, bytes, len);
		return;
	}
	buf_add(&own->answer, bytes, len);
	answer_head(conn);
}

static void answer_over(struct conn *conn, bool failed)
{
	struct carrying *own = conn->own;

	if (own->status == 0) {
		carry_trouble(conn, 502, failed ? far_why(own->far) : "it hung up without an answer");
		return;
	}
	if (!failed)
		http_body_end(&own->answered);
	if (own->answered.done)
		end_answer(conn, false);
	else
		cut_answer(conn, failed ? far_why(own->far) : "its answer was cut short");
}

static bool wants_answer(const struct conn *conn)
{
	const struct carrying *own = conn->own;

	return !own->ended && queue_len(&own->down) < conn_room(conn);
}

static void take_answer(struct conn *conn)
{
	struct carrying *own = conn->own;
	static char bytes[FAR_PIECE];

	for (int i = 0; i < TURN && !idle(own) && own->far != NULL && wants_answer(conn); i++) {
		size_t len;
		enum far_end end = far_read(own->far, bytes, &len);
		if (end == FAR_WAIT)
			return;
		if (end == FAR_OK)
			answer_bytes(conn, bytes, len);
		else
			answer_over(conn, end == FAR_FAILED);
	}
}

static void on_due(void *data)
{
	struct conn *conn = data;
	struct carrying *own = conn->own;

	own->timer = loop_remove(own->timer);
	carry_on(conn);
}

static void play_answer(struct conn *conn)
{
	struct carrying *own = conn->own;
	struct span piece;

	if (!idle(own) && own->status == 0 && own->asked.done && conn->run->doord->policy.replay)
		secret_play(conn);
	if (idle(own) || own->play.exchange == NULL || own->timer != NULL || own->ended)
		return;
	while (wants_answer(conn) && play_next(&own->play, clock_now(), FAR_PIECE, &piece))
		put_piece(conn, piece.at, piece.len);
	if (play_over(&own->play))
		end_answer(conn, false);
	else if (wants_answer(conn))
		own->timer = loop_add_timer(conn->run->doord->loop, own->play.due_ns, on_due, conn);
}

static void send_answer(struct conn *conn)
{
	struct carrying *own = conn->own;

	while (!own->over && !own->gone && queue_len(&own->down) > 0) {
		ssize_t sent = send(conn->client, own->down.bytes.data + own->down.sent, queue_len(&own->down), MSG_NOSIGNAL);
		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (sent < 0) {
			own->gone = true;
			break;
		}
		queue_took(&own->down, (size_t)sent);
		carry_passed(conn, 0, (size_t)sent);
	}
	if (own->gone)
		queue_drop(&own->down);
}

/* ---- both ---- */

static void watch(struct conn *conn)
{
	struct carrying *own = conn->own;
	bool sends = queue_len(&own->up) > 0;

	own->stalled = !own->gone && !own->ended && !wants_answer(conn);
	if (own->stalled)
		conn->deadline_ns = clock_now() + STALL_NS;
	/* One of which nothing is wanted is not listened to at all, or its hanging up would be told without end. */
	loop_set_events(conn->source, own->gone ? 0 : (wants_request(conn) ? EPOLLIN : 0) |
		(queue_len(&own->down) > 0 ? EPOLLOUT : 0));
	if (conn->far_source != NULL)
		loop_set_events(conn->far_source, own->shaking ? far_events(own->far, true, false) :
			far_events(own->far, wants_answer(conn), sends));
}

/* HTTP/1.0 tells a whole answer from half of one only by how the connection ends. */
static void end_cut(struct conn *conn)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (((const struct carrying *)conn->own)->old)
		(void)setsockopt(conn->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	conn_free(conn);
}

/* Nobody listens: whether there is still something to learn about what it cost. */
static bool is_worth_hearing(const struct carrying *own)
{
	return own->far != NULL && own->asked.done && !own->ended &&
		(own->status == 0 || own->meter.reader != NULL || own->meter.reserved);
}

static void settle(struct conn *conn)
{
	struct carrying *own = conn->own;

	if (own->trouble != 0 && !own->gone && !own->over) {
		secret_answer(conn, own->trouble, own->why);
		return;
	}
	if (own->trouble != 0)
		conn_judged(conn, VERDICT_FAILED, own->why);
	if (own->over || own->trouble != 0 || (own->gone && !is_worth_hearing(own))) {
		conn_free(conn);
		return;
	}
	if (own->ended && queue_len(&own->down) == 0) {
		if (own->cut) {
			end_cut(conn);
			return;
		}
		secret_release(conn);
		conn_linger(conn);
		return;
	}
	watch(conn);
}

static void shake(struct conn *conn)
{
	struct carrying *own = conn->own;

	switch (far_shake(own->far)) {
	case FAR_OK:
		own->shaking = false;
		secret_shaken(conn);
		break;
	case FAR_WAIT: break;
	default: carry_trouble(conn, 502, far_why(own->far)); break;
	}
}

void carry_on(struct conn *conn)
{
	struct carrying *own = conn->own;

	if (own->shaking)
		shake(conn);
	if (!own->shaking) {
		take_request(conn);
		if (own->released && own->far == NULL && conn->dial == NULL && !own->waits && !idle(own)) {
			secret_begin_dial(conn);
			return;
		}
		send_request(conn);
		take_answer(conn);
		play_answer(conn);
		send_answer(conn);
	}
	settle(conn);
}
