/* One connection of a cell: what all sorts of doors have in common. */
#include "door/doord/doord.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "door/proto.h"

#define LOG_MAX (16u << 20) /* bytes of a run's record */
#define LINES_MAX (16u << 10) /* that wait */
#define WAITS_MAX (8u << 20) /* bytes of a run that wait for slow readers, one way */
#define ROOM_MAX (64u << 10) /* and of one connection */
#define LINGER_NS (2 * NS_PER_S)
#define LINGER_MAX (1u << 20) /* bytes thrown away meanwhile */

/* ---- the record ---- */

static const char *const verdict_names[] = {
	[VERDICT_NONE] = "none", [VERDICT_ALLOWED] = "allowed", [VERDICT_REFUSED] = "refused", [VERDICT_FAILED] = "failed",
};

static void time_text(uint64_t ms, char ret[32])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char day[24];

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret, 32, "%s.%03uZ", day, (unsigned)(ms % 1000));
}

void conn_put_text(const struct conn *conn, struct json *json, const char *key, struct buf *text)
{
	if (text->len > 0)
		(void)scrub_text(conn->run->doord->log_words, text->data, text->len);
	json_key(json, key);
	json_bytes(json, buf_text(text), text->len);
}

static void record(const struct conn *conn)
{
	struct door_run *run = conn->run;
	own(json_done) struct json json = { 0 };
	own(buf_done) struct buf host = { 0 }, reason = { 0 };
	char time[32];

	if (run->log < 0 || run->log_len > LOG_MAX || conn->verdict == VERDICT_NONE)
		return;
	time_text(conn->since_ms, time);
	json_open(&json, '{');
	json_put_string(&json, "time", time);
	json_put_string(&json, "door", conn->door);
	buf_str(&host, conn->host);
	conn_put_text(conn, &json, "name", &host);
	json_put_uint(&json, "port", conn->port);
	json_put_string(&json, "verdict", verdict_names[conn->verdict]);
	buf_str(&reason, conn->reason);
	conn_put_text(conn, &json, "reason", &reason);
	if (conn->kind->describe != NULL)
		conn->kind->describe(conn, &json);
	json_put_uint(&json, "sent", conn->sent);
	json_put_uint(&json, "received", conn->received);
	json_put_real(&json, "duration_ms", (double)(clock_now() - conn->since_ns) / NS_PER_MS, 1);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	run->log_len += json.out.len;
	if (run->log_len > LOG_MAX) {
		json.out.len = 0;
		buf_str(&json.out, "{\"verdict\":\"none\",\"reason\":\"the record is full: what follows is only counted\"}\n");
	}
	buf_add(&run->lines, json.out.data, json.out.len);
	if (run->lines.len > LINES_MAX)
		run_write(run);
	else
		doord_write_soon(run->doord);
}

/* A pipe takes all of a line or nothing, as long as it is short; a file takes all, or the disk is full. */
static bool log_write(const struct door_run *run, const char *lines, size_t len)
{
	return write(run->log, lines, len) == (ssize_t)len;
}

/* A reader who is too slow finds out how much it missed. */
static void write_lines(struct door_run *run)
{
	for (size_t at = 0, len; at < run->lines.len; at += len) {
		len = (size_t)((char *)memchr(run->lines.data + at, '\n', run->lines.len - at) - (run->lines.data + at)) + 1;
		own(freep) char *lost = run->lines_lost == 0 ? NULL
			: xfmt("{\"verdict\":\"none\",\"reason\":\"%llu lines were lost: nobody read them\"}\n",
				(unsigned long long)run->lines_lost);
		if (lost != NULL && log_write(run, lost, strlen(lost)))
			run->lines_lost = 0;
		if (run->lines_lost > 0 || len > PIPE_BUF || !log_write(run, run->lines.data + at, len))
			run->lines_lost++;
	}
}

/* Several lines at a time: a cell that knocks thousands of times a second is not worth a write each. */
void run_write(struct door_run *run)
{
	if (run->log >= 0 && run->lines.len > 0 && run->log_is_file)
		(void)log_write(run, run->lines.data, run->lines.len); /* a full disk loses lines of it, not the verdicts */
	else if (run->log >= 0)
		write_lines(run);
	run->lines.len = 0;
}

/* ---- to the supervisor ---- */

static void put_text(const struct conn *conn, struct buf *message, struct buf *text)
{
	if (text->len > 0)
		(void)scrub_text(conn->run->doord->log_words, text->data, text->len);
	wire_put_str(message, buf_text(text));
}

static void tell(const struct conn *conn, enum doors_judged judged)
{
	own(buf_done) struct buf message = { 0 }, host = { 0 }, reason = { 0 }, rule = { 0 }, request = { 0 };

	if (!conn->run->tell)
		return;
	buf_str(&host, conn->host);
	buf_str(&reason, conn->reason);
	if (conn->rule != NULL)
		rule_text(conn->rule, &rule);
	if (conn->kind->asked != NULL)
		conn->kind->asked(conn, &request);
	wire_put_u32(&message, PROTO_VERDICT);
	wire_put_u64(&message, conn->run->id);
	wire_put_u32(&message, judged);
	wire_put_u32(&message, conn->port);
	wire_put_str(&message, conn->door);
	put_text(conn, &message, &host);
	put_text(conn, &message, &reason);
	wire_put_str(&message, buf_text(&rule));
	put_text(conn, &message, &request);
	doord_say(conn->run->doord, &message);
}

/* ---- accounts ---- */

static void count(struct conn *conn, enum door_count what, uint64_t amount)
{
	struct door_totals more = { 0 };

	more.count[what] = amount;
	totals_add(&conn->run->account->used, &more);
	totals_add(&conn->run->doord->accounts[0].used, &more);
}

void conn_judged(struct conn *conn, enum verdict verdict, const char *reason)
{
	static const enum door_count counts[] = { [VERDICT_REFUSED] = COUNT_REFUSED, [VERDICT_FAILED] = COUNT_FAILED };
	static const enum doors_judged told[] = { [VERDICT_ALLOWED] = DOORS_ALLOWED, [VERDICT_REFUSED] = DOORS_REFUSED,
		[VERDICT_FAILED] = DOORS_FAILED };

	if (conn->verdict == VERDICT_REFUSED || conn->verdict == VERDICT_FAILED)
		return;
	conn->verdict = verdict;
	(void)snprintf(conn->reason, sizeof(conn->reason), "%s", reason);
	tell(conn, told[verdict]);
	if (verdict != VERDICT_ALLOWED) {
		count(conn, counts[verdict], 1);
		return;
	}
	count(conn, COUNT_CONNECTIONS, 1);
	count(conn, COUNT_REQUESTS, 1);
}

void conn_cut(struct conn *conn, const char *reason)
{
	(void)snprintf(conn->reason, sizeof(conn->reason), "%s", reason);
	if (!conn->cut)
		tell(conn, DOORS_CUT);
	conn->cut = true;
}

/* What still counts when something is under way: bytes. That there may be no more requests, or no more money, is for
 * the next one. */
static struct door_budget of_bytes(const struct door_budget *budget)
{
	struct door_budget bytes = { 0 };

	bytes.limit[BUDGET_SENT] = budget->limit[BUDGET_SENT];
	bytes.limit[BUDGET_RECEIVED] = budget->limit[BUDGET_RECEIVED];
	return bytes;
}

/* The budget that is used up: the run's, or that of all. */
static bool is_spent(const struct conn *conn, bool under_way, struct buf *ret_sentence)
{
	struct doord *doord = conn->run->doord;
	const struct {
		const struct door_budget *budget;
		const struct door_account *account;
		uint64_t number;
	} both[] = { { &doord->policy.budget, &doord->accounts[0], 0 },
		{ &doord->policy.run_budget, conn->run->account, conn->run->number } };
	struct door_totals totals;

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		const struct door_budget bytes = of_bytes(both[i].budget);
		account_settled(both[i].account, &totals); /* what is reserved may come back */
		enum budget_kind kind = budget_reached(under_way ? &bytes : both[i].budget, &totals);
		bool *told = i == 0 ? &doord->told_spent : &conn->run->told_spent;
		if (kind == BUDGET_KINDS)
			continue;
		if (ret_sentence != NULL)
			budget_sentence(both[i].budget, &totals, kind, ret_sentence);
		if (!*told)
			doord_spent(doord, both[i].number, kind, 0, true);
		*told = true;
		return true;
	}
	return false;
}

bool conn_passed(struct conn *conn, size_t sent, size_t received)
{
	conn->sent += sent;
	conn->received += received;
	if (sent > 0)
		count(conn, COUNT_SENT, sent);
	if (received > 0)
		count(conn, COUNT_RECEIVED, received);
	if (!is_spent(conn, true, NULL))
		return true;
	conn_cut(conn, "cut off: a budget is used up");
	return false;
}

static uint64_t amount_of(const struct door_totals *most, enum budget_kind kind)
{
	return kind == BUDGET_MICRODOLLARS ? most->count[COUNT_MICRODOLLARS]
					   : most->count[COUNT_TOKENS_IN] + most->count[COUNT_TOKENS_OUT];
}

bool conn_reserve(struct conn *conn, const struct door_totals *most, struct buf *ret_sentence, bool *ret_retry)
{
	struct doord *doord = conn->run->doord;
	const struct {
		const struct door_budget *budget;
		struct door_account *account;
		uint64_t number;
		bool *told, *told_over;
	} both[] = { /* the run's first: what it may not do is no matter of others */
		{ &doord->policy.run_budget, conn->run->account, conn->run->number, &conn->run->told_short, &conn->run->told_spent },
		{ &doord->policy.budget, &doord->accounts[0], 0, &doord->told_short, &doord->told_spent } };

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		enum budget_kind kind = budget_short(both[i].budget, both[i].account, most);
		if (kind == BUDGET_KINDS)
			continue;
		struct door_account alone = { 0 };
		account_settled(both[i].account, &alone.used);
		*ret_retry = budget_short(both[i].budget, &alone, most) == BUDGET_KINDS;
		bool over = budget_is_low(both[i].budget, both[i].account, kind);
		bool *told = over ? both[i].told_over : both[i].told;
		budget_short_sentence(both[i].budget, both[i].account, kind, most, ret_sentence);
		if (!*told && !*ret_retry)
			doord_spent(doord, both[i].number, kind, amount_of(most, kind), over);
		*told = *told || !*ret_retry;
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		account_reserve(both[i].account, most);
	return true;
}

bool conn_may_begin(struct conn *conn, struct buf *ret_sentence)
{
	if (!is_spent(conn, false, ret_sentence))
		return true;
	conn_judged(conn, VERDICT_REFUSED, buf_text(ret_sentence));
	return false;
}

/* ---- answers of our own ---- */

static const char *status_text(unsigned status)
{
	switch (status) {
	case 400: return "Bad Request";
	case 403: return "Forbidden";
	case 408: return "Request Timeout";
	case 429: return "Too Many Requests";
	case 431: return "Request Header Fields Too Large";
	case 501: return "Not Implemented";
	case 502: return "Bad Gateway";
	default: return "Error";
	}
}

static void on_linger(void *data, int fd, uint32_t events)
{
	struct conn *conn = data;
	char bytes[4096];
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	conn->discarded += got > 0 ? (size_t)got : 0;
	if (got <= 0 || conn->discarded > LINGER_MAX)
		conn_free(conn);
}

/* Closing at once while bytes of the client are unread would reset the connection, and the answer with it. */
void conn_linger(struct conn *conn)
{
	conn->dial = dial_cancel(conn->dial);
	conn->source = loop_remove(conn->source);
	conn->far_source = loop_remove(conn->far_source);
	(void)shutdown(conn->client, SHUT_WR);
	conn->lingering = true;
	conn->deadline_ns = clock_now() + LINGER_NS;
	conn->source = loop_add_fd(conn->run->doord->loop, conn->client, EPOLLIN, on_linger, conn);
}

void conn_answer(struct conn *conn, unsigned status, const char *body)
{
	const char *type = body[0] == '{' ? "application/json" : "text/plain; charset=utf-8";
	own(freep) char *text = xfmt("HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
		status, status_text(status), type, strlen(body) + 1, body);

	(void)!send(conn->client, text, strlen(text), MSG_NOSIGNAL); /* it fits: nothing was sent before */
	conn_linger(conn);
}

/* ---- life ---- */

void run_deafen(struct door_run *run, bool deaf)
{
	if (deaf == run->deaf)
		return;
	run->deaf = deaf;
	for (size_t i = 0; i < run->listener_count; i++)
		loop_set_events(run->listeners[i].source, deaf ? 0 : EPOLLIN);
}

/* Two descriptors for each connection, and now and then two more for a pipe: nobody takes another run's share. */
void run_hear(struct door_run *run)
{
	const struct doord *doord = run->doord;
	size_t share = doord->files / 3 / (doord->run_count + 1);

	run_deafen(run, run->conn_count >= (share < CONNS_MAX ? share : CONNS_MAX));
}

static void choose_door(struct conn *conn, size_t listener)
{
	const struct door_policy *policy = &conn->run->doord->policy;
	size_t at = listener;

	if (policy->proxy && at-- == 0) {
		conn->kind = &door_proxy;
		conn->door = "proxy";
		return;
	}
	if (at < policy->service_count) {
		conn->kind = &door_service;
		conn->service = &policy->services[at];
		conn->door = conn->service->name;
		return;
	}
	conn->secret_index = at - policy->service_count;
	conn->kind = &door_secret;
	conn->secret = &policy->secrets[conn->secret_index];
	conn->door = conn->secret->name;
}

struct conn *conn_new(struct door_run *run, size_t listener, int client)
{
	struct conn *conn = xcalloc(1, sizeof(*conn));
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	*conn = (struct conn){ .run = run, .client = client, .far = -1, .next = run->conns, .link = &run->conns };
	if (conn->next != NULL)
		conn->next->link = &conn->next;
	run->conns = conn;
	run->conn_count++;
	conn->since_ns = clock_now();
	conn->since_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
	conn->deadline_ns = conn->since_ns + HEAD_NS;
	choose_door(conn, listener);
	run_hear(run);
	return conn;
}

void conn_free(struct conn *conn)
{
	struct door_run *run = conn->run;

	if (conn->kind->ending != NULL)
		conn->kind->ending(conn);
	record(conn);
	(void)is_spent(conn, false, NULL); /* whoever waits for that is told now, not at the next request */
	if (conn->kind->freed != NULL)
		conn->kind->freed(conn);
	conn->source = loop_drop(conn->source);
	conn->far_source = loop_drop(conn->far_source);
	conn->dial = dial_cancel(conn->dial);
	conn->relay = relay_free(conn->relay);
	fd_close(&conn->client);
	fd_close(&conn->far);
	buf_done(&conn->head);
	*conn->link = conn->next;
	if (conn->next != NULL)
		conn->next->link = conn->link;
	run->conn_count--;
	run_hear(run);
	free(conn);
}

int conn_read(struct conn *conn, size_t max)
{
	char bytes[16384];
	size_t room = max > conn->head.len ? max - conn->head.len : 0;
	ssize_t got = room == 0 ? 0 : recv(conn->client, bytes, room < sizeof(bytes) ? room : sizeof(bytes), 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0) {
		conn_free(conn);
		return -1;
	}
	buf_add(&conn->head, bytes, (size_t)got);
	return 1;
}

/* ---- relaying ---- */

static bool on_passed(void *data, size_t sent, size_t received)
{
	return conn_passed(data, sent, received);
}

static void on_over(void *data)
{
	conn_free(data);
}

size_t conn_room(const struct conn *conn)
{
	size_t share = WAITS_MAX / conn->run->conn_count;

	return share < ROOM_MAX ? share : ROOM_MAX;
}

static size_t on_room(void *data)
{
	return conn_room(data);
}

void conn_relay(struct conn *conn, const char *sent, size_t len, size_t (*gate)(void *, const char *, size_t))
{
	const struct relay_events events = { .passed = on_passed, .gate = gate, .over = on_over, .data = conn, .room = on_room };

	conn->source = loop_remove(conn->source);
	conn->far_source = loop_remove(conn->far_source);
	conn->deadline_ns = 0; /* from now on it is about being idle */
	conn->relay = relay_start(conn->run->doord->loop, conn->client, conn->far, sent, len, &events);
	(void)conn_passed(conn, len, 0);
	buf_done(&conn->head);
}
