/* Secret doors as doord serves them, confined as it always is: the test is the supervisor, the cell and the upstream. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/loop.h"
#include "door/doors.h"
#include "door/policy/ask.h"
#include "door/policy/exchange.h"
#include "tls_upstream.h"

#define SECRET "sk-real-0123456789abcdef"
#define SECRET_BASE64 "c2stcmVhbC0wMTIzNDU2Nzg5YWJjZGVm"
#define STARS "************************"
#define HEAD "Host: api.door\r\n"

#define DOORS 2 /* at most */

struct world {
	struct loop *loop;
	struct authority authority;
	struct upstream upstream;
	struct door_policy policy;
	struct doors *doors;
	struct doors_run *run;
	int log, record, replay; /* -1: none */
	uint16_t ports[DOORS]; /* of the doors */
	struct door_totals totals; /* when it was closed */
	bool closed;
	unsigned spent, said;
};

static void on_spent(void *data, uint64_t run, const char *sentence, bool over)
{
	(void)run;
	(void)over;
	(void)sentence;
	((struct world *)data)->spent++;
}

static void on_said(void *data, const char *text)
{
	(void)data;
	fail_msg("%s", text);
}

static void on_closed(void *data, const struct door_totals *totals)
{
	struct world *w = data;

	w->totals = *totals;
	w->closed = true;
}

/* ---- a world ---- */

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct err err;

	(void)signal(SIGPIPE, SIG_IGN);
	w->loop = loop_open(&err);
	w->record = w->replay = -1;
	w->log = memfd_create("log", MFD_CLOEXEC);
	authority_make(&w->authority, "authority");
	upstream_open(&w->upstream);
	prices_defaults(&w->policy.prices);
	*state = w;
	return w->loop != NULL && w->log >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct world *w = *state;

	w->doors = doors_free(w->doors);
	w->loop = loop_free(w->loop);
	policy_done(&w->policy);
	upstream_done(&w->upstream);
	authority_done(&w->authority);
	fd_close(&w->log);
	fd_close(&w->record);
	fd_close(&w->replay);
	free(w);
	return 0;
}

static void add_door(struct world *w, const char *scheme, const char *host, const char *rest)
{
	size_t index = w->policy.secret_count;
	own(freep) char *text = xfmt("%s=%s://%s:%u%s,env=KEY,private", index == 0 ? "api" : "other", scheme, host,
		w->upstream.port, rest);
	struct err err;

	if (policy_add_secret(&w->policy, text, &err) < 0)
		fail_msg("%s", err.text);
	struct secret_door *door = &w->policy.secrets[index];
	door->secret = xstrdup(SECRET);
	if (door->tls)
		door->ca_text = authority_text(&w->authority);
}

static void serve(struct world *w)
{
	const struct doors_events events = { on_spent, on_said, w };
	struct err err;
	own(fd_closep) int first = socket_listen(&w->ports[0]), second = socket_listen(&w->ports[1]);
	const int listeners[DOORS] = { first, second };

	w->doors = doors_open(w->loop, &w->policy, NULL, &events, &err);
	if (w->doors == NULL)
		fail_msg("%s", err.text);
	w->run = doors_run_open(w->doors, 1, NULL, w->log, w->record, w->replay);
	doors_run_listen(w->run, listeners, w->policy.secret_count);
}

/* A door with TLS to an upstream that deserves it. */
static void open_world(struct world *w, const char *rest)
{
	upstream_secure(&w->upstream, &w->authority, "DNS:localhost,IP:127.0.0.1", -3600, 3600);
	add_door(w, "https", "localhost", rest);
	serve(w);
}

static void close_run(struct world *w)
{
	w->closed = false;
	doors_run_close(w->run, on_closed, w);
	w->run = NULL;
	while (!w->closed)
		assert_true(loop_turn(w->loop, -1) >= 0);
}

/* The same once more, answered from what was recorded. */
static void open_replay(struct world *w)
{
	close_run(w);
	w->doors = doors_free(w->doors);
	upstream_done(&w->upstream);
	upstream_open(&w->upstream);
	w->policy.replay = true;
	free(w->policy.secrets[0].secret);
	free(w->policy.secrets[0].ca_text);
	w->policy.secrets[0].secret = w->policy.secrets[0].ca_text = NULL;
	w->replay = w->record;
	w->record = -1;
	serve(w);
}

static void file_text(int fd, struct buf *ret)
{
	char bytes[4096];
	ssize_t got;
	off_t at = 0;

	while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		buf_add(ret, bytes, (size_t)got);
		at += got;
	}
}

/* ---- the cell ---- */

static int cell_ask_at(uint16_t port, const char *request)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t len = (ssize_t)strlen(request);

	assert_true(fd >= 0);
	socket_patient(fd);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, request, (size_t)len, MSG_NOSIGNAL), len);
	return fd;
}

static int cell_ask(const struct world *w, const char *request)
{
	return cell_ask_at(w->ports[0], request);
}

/* Reads until it ends with this. */
static void cell_hear(int fd, struct buf *answer, const char *end)
{
	size_t len = strlen(end);
	char bytes[4096];

	while (answer->len < len || memcmp(answer->data + answer->len - len, end, len) != 0) {
		ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
		if (got <= 0)
			fail_msg("ended before '%s': '%s'", end, buf_text(answer));
		buf_add(answer, bytes, (size_t)got);
	}
}

static void cell_hear_all(int fd, struct buf *answer)
{
	char bytes[4096];
	ssize_t got;

	while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		buf_add(answer, bytes, (size_t)got);
}

static void has(const struct buf *text, const char *part)
{
	if (strstr(buf_text(text), part) == NULL)
		fail_msg("'%s' is not in '%s'", part, buf_text(text));
}

static void lacks(const struct buf *text, const char *part)
{
	if (strstr(buf_text(text), part) != NULL)
		fail_msg("'%s' is in '%s'", part, buf_text(text));
}

/* One request, this answer of the upstream, and what the cell gets. The upstream hangs up afterwards. */
static void exchange(struct world *w, const char *request, const char *end, const char *answer, struct buf *ret)
{
	own(fd_closep) int fd = cell_ask(w, request);

	upstream_hear(&w->upstream, end);
	upstream_say(&w->upstream, answer);
	upstream_hang_up(&w->upstream, true);
	ret->len = 0;
	cell_hear_all(fd, ret);
	assert_true(ret->len > 0);
}

static void has_log(struct world *w, const char *part)
{
	own(buf_done) struct buf log = { 0 };

	close_run(w);
	file_text(w->log, &log);
	has(&log, part);
	lacks(&log, SECRET);
}

/* The run is over. */
static void has_log_again(const struct world *w, const char *part)
{
	own(buf_done) struct buf log = { 0 };

	file_text(w->log, &log);
	has(&log, part);
}

/* ---- requests ---- */

static void the_credential_is_added_and_what_the_cell_has_is_dropped(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, "/base,header=x-api-key");
	exchange(w, "POST /v1/messages?q=1 HTTP/1.1\r\n" HEAD "X-Api-Key: placeholder\r\nx_api_key: placeholder\r\n"
		"Authorization: Bearer placeholder\r\nAccept-Encoding: gzip\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
		"X-Kept: yes\r\nContent-Length: 4\r\n\r\nbody", "body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &answer);
	has(&w->upstream.request, "POST /base/v1/messages?q=1 HTTP/1.1\r\nHost: localhost:");
	has(&w->upstream.request, "\r\nx-api-key: " SECRET "\r\n");
	has(&w->upstream.request, "\r\nX-Kept: yes\r\n");
	has(&w->upstream.request, "\r\nContent-Length: 4\r\n");
	has(&w->upstream.request, "\r\nAccept-Encoding: identity\r\n");
	lacks(&w->upstream.request, "placeholder");
	lacks(&w->upstream.request, "X-Hop");
	lacks(&w->upstream.request, "keep-alive");
	has(&answer, "HTTP/1.1 200 OK\r\n");
	has(&answer, "\r\n\r\nhi");
	has_log(w, "\"verdict\":\"allowed\",\"reason\":\"\",\"method\":\"POST\",\"path\":\"/v1/messages\",\"status\":200,");
}

static void chunks_are_passed_on_and_expectations_are_answered_here(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=authorization,prefix=Bearer ");
	own(fd_closep) int fd = cell_ask(w, "PUT /x HTTP/1.1\r\n" HEAD "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
	cell_hear(fd, &answer, "HTTP/1.1 100 Continue\r\n\r\n");
	assert_int_equal(send(fd, "3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n", 29, 0), 29);
	upstream_hear(&w->upstream, "\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
	lacks(&w->upstream.request, "Expect");
	has(&w->upstream.request, "\r\nauthorization: Bearer " SECRET "\r\n");
	upstream_say(&w->upstream, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
	cell_hear_all(fd, &answer);
	has(&answer, "\r\n\r\nHTTP/1.1 204 No Content\r\n");
	lacks(&answer, "103");
}

static void what_a_door_does_not_carry_is_refused_before_anything_is_connected_to(void **state)
{
	static const struct {
		const char *request, *status;
	} cases[] = {
		{ "GET /../admin HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 400" },
		{ "GET /a/%2e%2E/b HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 400" },
		{ "TRACE / HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 400" },
		{ "CONNECT other.example:443 HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 400" },
		{ "GET http://other.example/ HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 400" },
		{ "OPTIONS * HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 400" },
		{ "POST / HTTP/1.1\r\n" HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 400" },
		{ "POST / HTTP/1.1\r\n" HEAD "Transfer-Encoding: chunked\r\n\r\nnone\r\n", "HTTP/1.1 400" },
		{ "nonsense\r\n\r\n", "HTTP/1.1 400" },
	};
	struct world *w = *state;
	struct pollfd came;

	open_world(w, "/v1,header=x-api-key");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf answer = { 0 };
		own(fd_closep) int fd = cell_ask(w, cases[i].request);
		cell_hear_all(fd, &answer);
		has(&answer, cases[i].status);
		has(&answer, "\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":\"invalid_request\",\"message\":\"hotcell: api: ");
	}
	came = (struct pollfd){ .fd = w->upstream.listener, .events = POLLIN };
	assert_int_equal(poll(&came, 1, 0), 0);
	has_log(w, "\"verdict\":\"refused\",\"reason\":\"a path that may lead out of the door's own\"");
}

/* ---- answers ---- */

static void an_echo_of_the_credential_is_scrubbed(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	exchange(w, "GET / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n",
		"HTTP/1.1 200 " SECRET "\r\nX-Echo: a" SECRET "b\r\nLocation: /?" SECRET "\r\nTransfer-Encoding: chunked\r\n\r\n"
		"e\r\n1sk-real-01234\r\n19\r\n56789abcdef2 " SECRET_BASE64 "\r\n0\r\n\r\n", &answer);
	lacks(&answer, SECRET);
	lacks(&answer, SECRET_BASE64);
	has(&answer, "HTTP/1.1 200 " STARS "\r\n");
	has(&answer, "\r\nX-Echo: a" STARS "b\r\n");
	has(&answer, "1" STARS "2 ");
}

static void a_credential_split_over_pieces_is_held_back_until_it_is_whole(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	upstream_hear(&w->upstream, "\r\n\r\n");
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n< sk-real-01234");
	cell_hear(fd, &answer, "\r\n\r\n< ");
	upstream_say(&w->upstream, "56789abcdef>");
	cell_hear(fd, &answer, "< " STARS ">");
}

/* The cell may choose what an honest upstream says back: what it sees come out must not tell it which letters are right. */
static void what_is_held_back_is_the_same_whether_a_guess_is_right(void **state)
{
	static const char *const guesses[] = { "sk-real-01234", "sk-real-01230", "XXXXXXXXXXXXX" };
	struct world *w = *state;

	open_world(w, ",header=x-api-key");
	for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
		own(buf_done) struct buf answer = { 0 };
		own(freep) char *said = xfmt("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n15\r\nyou say %s\r\n", guesses[i]);
		own(freep) char *chunk = xfmt("\r\n\r\n8\r\nyou say \r\nf\r\n%s. \r\n0\r\n\r\n", guesses[i]);
		own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
		upstream_hear(&w->upstream, "\r\n\r\n");
		upstream_say(&w->upstream, said);
		cell_hear(fd, &answer, "you say \r\n");
		assert_int_equal(answer.len, strstr(buf_text(&answer), "\r\n\r\n") + strlen("\r\n\r\n8\r\nyou say \r\n") - answer.data);
		upstream_say(&w->upstream, "2\r\n. \r\n0\r\n\r\n");
		cell_hear_all(fd, &answer);
		has(&answer, chunk);
		upstream_hang_up(&w->upstream, true);
	}
}

/* The first half of one must not come out because the rest never came. */
static void half_a_credential_is_not_told_when_an_answer_is_cut(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	exchange(w, "GET / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n12\r\nabc sk-real-012345\r\n", &answer);
	has(&answer, "abc ");
	lacks(&answer, "sk-real");
	lacks(&answer, "\r\n0\r\n\r\n");
	has_log(w, "\"verdict\":\"failed\",\"reason\":\"its answer was cut short\"");
}

static void events_pass_one_by_one(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, "POST /v1/messages HTTP/1.1\r\n" HEAD "Content-Length: 0\r\n\r\n");
	upstream_hear(&w->upstream, "\r\n\r\n");
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
	cell_hear(fd, &answer, "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		own(freep) char *event = xfmt("data: %d\n\n", i), *chunk = xfmt("9\r\n%s\r\n", event);
		upstream_say(&w->upstream, event);
		cell_hear(fd, &answer, chunk);
	}
	upstream_hang_up(&w->upstream, true);
	cell_hear(fd, &answer, "\r\n0\r\n\r\n");
}

static void an_answer_without_an_end_that_was_said_is_cut(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	upstream_hear(&w->upstream, "\r\n\r\n");
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\n\r\nhalf of it ");
	cell_hear(fd, &answer, "half of it \r\n");
	upstream_hang_up(&w->upstream, false);
	cell_hear_all(fd, &answer);
	lacks(&answer, "\r\n0\r\n\r\n");
	has_log(w, "\"reason\":\"it hung up without ending TLS\"");
}

static void answers_that_cannot_be_passed_on_are_told_as_such(void **state)
{
	static const struct {
		const char *answer, *told, *reason;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "encoded", "encoded" },
		{ "HTTP/1.1 101 Switching Protocols\r\n\r\n", "nobody asked for", "" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "its answer is none", "" },
		{ "SSH-2.0-OpenSSH\r\n\r\n", "its answer is none", "" },
		{ "HTTP/1.1 200 OK\r\nA: ", "without an answer", "" },
	};
	struct world *w = *state;

	open_world(w, ",header=x-api-key");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf answer = { 0 };
		exchange(w, "GET / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", cases[i].answer, &answer);
		has(&answer, "HTTP/1.1 502 Bad Gateway\r\n");
		has(&answer, cases[i].told);
		lacks(&answer, SECRET);
	}
	has_log(w, "\"verdict\":\"failed\",\"reason\":\"its answer is encoded");
}

static void a_redirect_leads_back_to_the_door_and_is_not_followed(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };
	struct pollfd came;

	open_world(w, "/v1,header=x-api-key");
	own(freep) char *text = xfmt("HTTP/1.1 302 Found\r\nLocation: https://LOCALHOST:%u/v1/there?x#y\r\nContent-Length: 0\r\n\r\n",
		w->upstream.port);
	exchange(w, "GET /here HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", text, &answer);
	has(&answer, "\r\nLocation: http://api.door/there?x#y\r\n");
	exchange(w, "GET /here HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: https://other.example/\r\nContent-Length: 0\r\n\r\n", &answer);
	has(&answer, "\r\nLocation: https://other.example/\r\n");
	came = (struct pollfd){ .fd = w->upstream.listener, .events = POLLIN };
	assert_int_equal(poll(&came, 1, 0), 0);
}

static void old_clients_get_answers_without_chunks(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	exchange(w, "GET / HTTP/1.0\r\n\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		&answer);
	has(&answer, "\r\nConnection: close\r\n\r\nhi");
	lacks(&answer, "chunked");
	assert_string_equal(answer.data + answer.len - 2, "hi");
}

static void an_upstream_without_tls_is_served_too(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	add_door(w, "http", "127.0.0.1", ",header=x-api-key");
	serve(w);
	exchange(w, "HEAD / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", &answer);
	has(&w->upstream.request, SECRET);
	has(&answer, "\r\nContent-Length: 99\r\n");
}

static void an_answer_may_come_before_the_request_is_whole(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	exchange(w, "POST / HTTP/1.1\r\n" HEAD "Content-Length: 1000000\r\n\r\nbegin", "begin",
		"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", &answer);
	has(&answer, "HTTP/1.1 413 Too Large\r\n");
	has(&answer, "\r\n\r\nno");
}

static void a_request_that_is_never_whole_goes_no_further(void **state)
{
	struct world *w = *state;
	char byte;

	open_world(w, ",header=x-api-key");
	int fd = cell_ask(w, "POST / HTTP/1.1\r\n" HEAD "Content-Length: 10\r\n\r\nbegin");
	upstream_hear(&w->upstream, "begin");
	fd_close(&fd);
	assert_true(SSL_read(w->upstream.ssl, &byte, 1) <= 0);
}

/* ---- certificates ---- */

struct bad_certificate {
	const char *name, *alternatives;
	long from_s, to_s;
	bool stranger; /* signed by somebody else */
	const char *reason;
};

static const struct bad_certificate bad_certificates[] = {
	{ "localhost", "DNS:other.example", -3600, 3600, false, "its certificate is for another name" },
	{ "localhost", "DNS:*.localhost,DNS:localhost.example", -3600, 3600, false, "its certificate is for another name" },
	{ "localhost", "IP:127.0.0.1", -3600, 3600, false, "its certificate is for another name" },
	{ "127.0.0.1", "DNS:localhost,DNS:127.0.0.1,IP:127.0.0.2", -3600, 3600, false, "its certificate is for another name" },
	{ "localhost", "DNS:localhost", -3600, -60, false, "its certificate has expired" },
	{ "localhost", "DNS:localhost", 3600, 7200, false, "its certificate is not valid yet" },
	{ "localhost", "DNS:localhost", -3600, 3600, true, "its certificate is from an unknown authority" },
};

static void check_certificate(struct world *w, const struct bad_certificate *bad)
{
	struct authority stranger;
	own(buf_done) struct buf answer = { 0 };

	authority_make(&stranger, "stranger");
	upstream_secure(&w->upstream, bad->stranger ? &stranger : &w->authority, bad->alternatives, bad->from_s, bad->to_s);
	add_door(w, "https", bad->name, ",header=x-api-key");
	serve(w);
	own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	bool agreed = upstream_accept(&w->upstream);
	char byte;
	assert_true(!agreed || SSL_read(w->upstream.ssl, &byte, 1) <= 0);
	cell_hear_all(fd, &answer);
	has(&answer, "HTTP/1.1 502 ");
	has(&answer, bad->reason);
	has_log(w, bad->reason);
	authority_done(&stranger);
}

static void a_certificate_that_is_not_the_upstreams_gets_no_credential(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_certificates); i++) {
		void *other = NULL;
		assert_int_equal(setup(&other), 0);
		check_certificate(other, &bad_certificates[i]);
		assert_int_equal(teardown(&other), 0);
	}
	(void)state;
}

static void an_address_in_the_certificate_will_do_for_an_address(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	upstream_secure(&w->upstream, &w->authority, "IP:127.0.0.1", -3600, 3600);
	add_door(w, "https", "127.0.0.1", ",header=x-api-key");
	serve(w);
	exchange(w, "GET / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &answer);
	has(&answer, "\r\n\r\nhi");
}

static void doors_that_trust_the_same_each_have_their_own_name(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	upstream_secure(&w->upstream, &w->authority, "DNS:localhost", -3600, 3600);
	add_door(w, "https", "localhost", ",header=x-api-key");
	add_door(w, "https", "127.0.0.1", ",header=x-api-key");
	serve(w);
	exchange(w, "GET / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &answer);
	has(&answer, "\r\n\r\nhi");
	own(fd_closep) int fd = cell_ask_at(w->ports[1], "GET / HTTP/1.1\r\n" HEAD "\r\n");
	(void)upstream_accept(&w->upstream);
	answer.len = 0;
	cell_hear_all(fd, &answer);
	has(&answer, "its certificate is for another name");
}

/* ---- budgets and accounts ---- */

static void a_request_beyond_the_budget_is_answered_with_429(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	w->policy.run_budget.limit[BUDGET_REQUESTS] = 1;
	open_world(w, ",header=x-api-key");
	exchange(w, "GET / HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &answer);
	has(&answer, "\r\n\r\nhi"); /* the last that may pass, passes */
	own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	answer.len = 0;
	cell_hear_all(fd, &answer);
	has(&answer, "HTTP/1.1 429 Too Many Requests\r\n");
	has(&answer, "\r\nX-Should-Retry: false\r\n");
	has(&answer, "{\"type\":\"error\",\"error\":{\"type\":\"budget_exhausted\",\"message\":\"hotcell: api: the budget of 1 ");
	close_run(w);
	assert_int_equal(w->spent, 1);
	assert_int_equal(w->totals.count[COUNT_REQUESTS], 1);
	assert_int_equal(w->totals.count[COUNT_REFUSED], 1);
}

static void a_budget_of_bytes_cuts_an_answer(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	w->policy.budget.limit[BUDGET_RECEIVED] = 1000;
	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	upstream_hear(&w->upstream, "\r\n\r\n");
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
	for (int i = 0; i < 20; i++)
		upstream_say(&w->upstream, "--------------------------------------------------------------- ");
	cell_hear_all(fd, &answer);
	assert_true(answer.len < 2000);
	has_log(w, "\"reason\":\"cut off: a budget is used up\"");
}

#define USED "{\"id\":\"x\",\"model\":\"claude-sonnet-4-5\",\"content\":[],\"usage\":{\"input_tokens\":1000," \
	"\"cache_read_input_tokens\":200,\"output_tokens\":100}}"
#define EVENT_START "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\"," \
	"\"usage\":{\"input_tokens\":500,\"output_tokens\":1}}}\n\n"
#define EVENT_TEXT "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\n"
#define EVENT_DELTA "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\n"
#define POST "POST /v1/messages HTTP/1.1\r\n" HEAD "Content-Length: 2\r\n\r\n{}"

static void what_answers_say_they_used_is_counted(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };
	struct door_totals totals;

	open_world(w, ",header=x-api-key");
	exchange(w, POST, "{}", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" USED, &answer);
	doors_run_totals(w->run, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 1200);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 100);
	assert_true(totals.count[COUNT_MICRODOLLARS] > 0);
	assert_int_equal(totals.count[COUNT_UNPRICED], 0);
	exchange(w, POST, "{}", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" EVENT_START EVENT_TEXT EVENT_DELTA, &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 1700);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 140);
	exchange(w, POST, "{}", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}", &answer);
	exchange(w, POST, "{}", "HTTP/1.1 500 Oh\r\nContent-Type: application/json\r\n\r\n" USED, &answer);
	exchange(w, "GET /v1/messages HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 1700);
	assert_int_equal(totals.count[COUNT_UNPRICED], 1);
	assert_int_equal(totals.count[COUNT_REQUESTS], 5);
	has_log(w, "\"tokens_in\":1200,\"tokens_out\":100,\"microdollars\":");
}

/* Some interfaces answer at once, work on, and tell what it cost when somebody asks for what came of it. */
static void what_is_told_later_is_counted_too(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	exchange(w, "GET /v1/responses/1 HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" USED, &answer);
	exchange(w, "GET /v1/models HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}", &answer);
	close_run(w);
	assert_int_equal(w->totals.count[COUNT_TOKENS_IN], 1200);
	assert_int_equal(w->totals.count[COUNT_TOKENS_OUT], 100);
	assert_int_equal(w->totals.count[COUNT_UNPRICED], 0); /* a list of models tells of none, and that is not odd */
}

static void who_hangs_up_before_the_figures_come_pays_all_the_same(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	char byte;

	open_world(w, ",header=x-api-key");
	int fd = cell_ask(w, POST);
	upstream_hear(&w->upstream, "{}");
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" EVENT_START EVENT_TEXT);
	cell_hear(fd, &answer, "\"hi\"}}\n\n\r\n");
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	fd_close(&fd);
	for (int i = 0; i < 100; i++)
		upstream_say(&w->upstream, EVENT_TEXT);
	upstream_say(&w->upstream, EVENT_DELTA);
	(void)SSL_shutdown(w->upstream.ssl);
	assert_int_equal(recv(w->upstream.fd, &byte, 1, 0), 0); /* when it was heard to its end, and not before */
	close_run(w);
	assert_int_equal(w->totals.count[COUNT_TOKENS_IN], 500);
	assert_int_equal(w->totals.count[COUNT_TOKENS_OUT], 40);
}

#define POST_40 "POST /v1/messages HTTP/1.1\r\n" HEAD "Content-Length: 17\r\n\r\n{\"max_tokens\":40}"

static void the_answer_that_uses_the_budget_up_comes_whole(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	w->policy.budget.limit[BUDGET_TOKENS] = 540;
	open_world(w, ",header=x-api-key");
	exchange(w, POST_40, ":40}", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" EVENT_START EVENT_TEXT EVENT_DELTA, &answer);
	has(&answer, "\"output_tokens\":40}}\n\n\r\n0\r\n\r\n");
	own(fd_closep) int fd = cell_ask(w, POST_40);
	answer.len = 0;
	cell_hear_all(fd, &answer);
	has(&answer, "HTTP/1.1 429 ");
	has(&answer, "the budget of 540 tokens is used up (540)");
	has_log(w, "\"verdict\":\"allowed\",\"reason\":\"\"");
}

/* What an answer that is under way may still cost leaves nothing for the next; when it is over it costs what it says. */
static void what_is_under_way_is_reserved_and_what_it_did_not_use_comes_back(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };
	struct door_totals totals;

	w->policy.budget.limit[BUDGET_TOKENS] = 1000;
	open_world(w, ",header=x-api-key");
	own(fd_closep) int first = cell_ask(w, "POST /v1/messages HTTP/1.1\r\n" HEAD "Content-Length: 18\r\n\r\n{\"max_tokens\":700}");
	upstream_hear(&w->upstream, ":700}");
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN] + totals.count[COUNT_TOKENS_OUT], 18 + 64 + 700);
	own(fd_closep) int second = cell_ask(w, "POST /v1/messages HTTP/1.1\r\n" HEAD "Content-Length: 18\r\n\r\n{\"max_tokens\":300}");
	cell_hear_all(second, &answer);
	has(&answer, "HTTP/1.1 429 ");
	has(&answer, "\r\nX-Should-Retry: true\r\n");
	has(&answer, "a request that may cost up to 382 was refused: of the budget of 1000 tokens only 218 is left (782 is reserved by requests under "
		     "way); a lower max_tokens may fit");
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
		"{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}");
	upstream_hang_up(&w->upstream, true);
	answer.len = 0;
	cell_hear_all(first, &answer);
	close_run(w);
	assert_int_equal(w->totals.count[COUNT_TOKENS_IN], 7);
	assert_int_equal(w->totals.count[COUNT_TOKENS_OUT], 3);
	assert_int_equal(w->totals.count[COUNT_UNPRICED], 0);
	assert_int_equal(w->spent, 0);
}

static void what_tells_nothing_is_estimated_and_what_is_cut_costs_all_that_was_reserved(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };
	struct door_totals totals;

	w->policy.budget.limit[BUDGET_TOKENS] = 100000;
	open_world(w, ",header=x-api-key");
	exchange(w, POST_40, ":40}", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 81);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 40); /* what it thought and did not show is in no byte */
	assert_int_equal(totals.count[COUNT_UNPRICED], 1);
	exchange(w, POST_40, ":40}", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 162);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 80);
	exchange(w, POST_40, ":40}", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 4000\r\n\r\n" EVENT_START, &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 662);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 120);
	exchange(w, POST_40, ":40}", "HTTP/1.1 429 No\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 662);
	exchange(w, POST_40, ":40}", "HTTP/1.1 504 Late\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 743);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 160);
	exchange(w, POST_40, ":40}", "HTTP/1.1 524 Late\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 824);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 200);
	exchange(w, POST_40, ":40}", "HTTP/1.1 521 Down\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", &answer);
	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], 905);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], 200); /* nobody was asked */
	has_log(w, "\"tokens_in\":81,\"tokens_out\":40,\"microdollars\":");
	has_log_again(w, "\"estimated\":true");
}

static void tokens_are(const struct world *w, uint64_t in, uint64_t out)
{
	struct door_totals totals;

	doors_totals(w->doors, &totals);
	assert_int_equal(totals.count[COUNT_TOKENS_IN], in);
	assert_int_equal(totals.count[COUNT_TOKENS_OUT], out);
}

#define POST_ODD "POST /odd HTTP/1.1\r\n" HEAD "Content-Length: 12\r\n\r\ntell a story"
#define ODD_USAGE "{\"usage\":{\"input_tokens\":7,\"output_tokens\":300}}"

/* It may be a model's, in a way that we do not know. */
static void an_unknown_interface_is_reserved_and_charged_on_the_safe_side(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	w->policy.budget.limit[BUDGET_TOKENS] = 300000;
	open_world(w, ",header=x-api-key");
	own(fd_closep) int first = cell_ask(w, POST_ODD);
	upstream_hear(&w->upstream, "a story");
	tokens_are(w, 13, ASK_OUTPUT_UNKNOWN);
	upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nonce upon ");
	upstream_hang_up(&w->upstream, true);
	cell_hear_all(first, &answer);
	tokens_are(w, 13, 11);
	exchange(w, POST_ODD, "a story", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" ODD_USAGE, &answer);
	tokens_are(w, 20, 311);
	exchange(w, "GET /odd HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" ODD_USAGE, &answer);
	tokens_are(w, 27, 611);
	exchange(w, "GET /odd HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonce", &answer);
	tokens_are(w, 27, 611);
	exchange(w, POST_ODD, "a story", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nonce", &answer);
	tokens_are(w, 40, 611 + ASK_OUTPUT_UNKNOWN);
}

#define CHAT "POST /v1/chat/completions HTTP/1.1\r\n" HEAD
#define CHAT_BODY "{\"model\":\"gpt-4o-mini\",\"stream\":true,\"max_tokens\":9}"
#define CHAT_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
#define CHAT_TEXT "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"choices\\\":[],\\\"usage\\\":{}\"}}],\"usage\":null}\n\n"
#define CHAT_USAGE "data: {\"model\":\"gpt-4o-mini\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":4}}\n\n"

static void a_stream_is_asked_for_its_usage_and_the_cell_gets_what_it_asked_for(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };
	own(freep) char *request = xfmt(CHAT "Content-Length: %zu\r\n\r\n" CHAT_BODY, strlen(CHAT_BODY));

	w->policy.budget.limit[BUDGET_MICRODOLLARS] = 1000000;
	open_world(w, ",header=x-api-key");
	exchange(w, request, "\"max_tokens\":9,\"stream_options\":{\"include_usage\":true}}",
		CHAT_HEAD "\r\n" CHAT_TEXT CHAT_USAGE "data: [DONE]\n\n", &answer);
	has(&w->upstream.request, "\r\nContent-Length: 92\r\n");
	has(&answer, "\"usage\":null}\n\n");
	lacks(&answer, "prompt_tokens");
	has(&answer, "data: [DONE]\n\n");
	close_run(w);
	assert_int_equal(w->totals.count[COUNT_TOKENS_IN], 5);
	assert_int_equal(w->totals.count[COUNT_TOKENS_OUT], 4);
	assert_int_equal(w->totals.count[COUNT_UNPRICED], 0);
}

/* ---- slow readers ---- */

#define FLOOD (64u << 20)

/* How much the upstream gets rid of while the cell reads nothing is bounded by the sockets between them. */
static void a_cell_that_does_not_read_holds_the_upstream_back(void **state)
{
	struct world *w = *state;
	static char zeros[65536];
	own(freep) char *head = xfmt("HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", FLOOD);
	size_t wrote = 0, heard = 0;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	upstream_hear(&w->upstream, "\r\n\r\n");
	upstream_say(&w->upstream, head);
	cell_hear(fd, &answer, "\r\n\r\n");
	SSL_set_mode(w->upstream.ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	assert_int_equal(fcntl(w->upstream.fd, F_SETFL, O_NONBLOCK), 0);
	struct pollfd writable = { .fd = w->upstream.fd, .events = POLLOUT };
	while (wrote < FLOOD && poll(&writable, 1, 500) == 1) {
		int now = SSL_write(w->upstream.ssl, zeros, sizeof(zeros));
		wrote += now > 0 ? (size_t)now : 0;
	}
	assert_true(wrote < FLOOD / 2);
	/* and when it reads, all of it comes */
	while (wrote < FLOOD || heard < FLOOD) {
		ssize_t got = recv(fd, zeros, sizeof(zeros), wrote < FLOOD ? MSG_DONTWAIT : 0);
		assert_true(got > 0 || wrote < FLOOD);
		heard += got > 0 ? (size_t)got : 0;
		memset(zeros, 0, sizeof(zeros));
		size_t left = FLOOD - wrote < sizeof(zeros) ? FLOOD - wrote : sizeof(zeros);
		int now = left > 0 ? SSL_write(w->upstream.ssl, zeros, (int)left) : 0;
		wrote += now > 0 ? (size_t)now : 0;
	}
	assert_int_equal(heard, FLOOD);
}

static void an_upstream_that_does_not_read_holds_the_cell_back(void **state)
{
	struct world *w = *state;
	static char zeros[65536];
	size_t wrote = 0;
	own(freep) char *request = xfmt("POST / HTTP/1.1\r\n" HEAD "Content-Length: %u\r\n\r\n", FLOOD);

	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, request);
	upstream_hear(&w->upstream, "\r\n\r\n");
	struct pollfd writable = { .fd = fd, .events = POLLOUT };
	while (wrote < FLOOD && poll(&writable, 1, 500) == 1) {
		ssize_t now = send(fd, zeros, sizeof(zeros), MSG_DONTWAIT);
		wrote += now > 0 ? (size_t)now : 0;
	}
	assert_true(wrote < FLOOD / 2);
}

#define MANY 40 /* more than begin TLS at a time */

static void requests_wait_for_their_turn_and_all_are_answered(void **state)
{
	struct world *w = *state;
	int fds[MANY];

	open_world(w, ",header=x-api-key");
	for (size_t i = 0; i < MANY; i++)
		fds[i] = cell_ask(w, "GET / HTTP/1.1\r\n" HEAD "\r\n");
	for (size_t i = 0; i < MANY; i++) {
		upstream_hear(&w->upstream, "\r\n\r\n");
		upstream_say(&w->upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
		upstream_hang_up(&w->upstream, true);
	}
	for (size_t i = 0; i < MANY; i++) {
		own(buf_done) struct buf answer = { 0 };
		cell_hear_all(fds[i], &answer);
		has(&answer, "\r\n\r\nhi");
		fd_close(&fds[i]);
	}
}

/* Messages of TLS without any data, as fast as they can be sent, until it is killed. */
static pid_t flood(SSL *ssl)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	while (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1)
		continue;
	_exit(0);
}

static void an_upstream_that_sends_no_data_without_end_keeps_nobody_waiting(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf answer = { 0 };

	open_world(w, ",header=x-api-key");
	own(fd_closep) int fd = cell_ask(w, "GET /first HTTP/1.1\r\n" HEAD "\r\n");
	upstream_hear(&w->upstream, "\r\n\r\n");
	pid_t child = flood(w->upstream.ssl);
	upstream_hang_up(&w->upstream, false); /* the child has it */
	exchange(w, "GET /second HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &answer);
	has(&answer, "\r\n\r\nhi");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- recordings ---- */

static void what_was_recorded_is_played_again(void **state)
{
	struct world *w = *state;
	own(buf_done) struct buf first = { 0 }, second = { 0 }, recording = { 0 }, answer = { 0 };

	w->record = memfd_create("record", MFD_CLOEXEC);
	open_world(w, ",header=x-api-key");
	exchange(w, "POST /a?key=" SECRET " HTTP/1.1\r\n" HEAD "Authorization: Bearer mine\r\nContent-Length: 26\r\n\r\n<" SECRET ">", SECRET ">",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Echo: " SECRET "\r\n\r\n" EVENT_START "data: " SECRET "\n\n" EVENT_DELTA, &first);
	exchange(w, "GET /b HTTP/1.1\r\n" HEAD "\r\n", "\r\n\r\n", "HTTP/1.1 404 \r\nContent-Length: 3\r\n\r\n\xffno", &second);
	close_run(w);
	w->run = doors_run_open(w->doors, 2, NULL, -1, -1, -1); /* open_replay closes one */
	file_text(w->record, &recording);
	lacks(&recording, SECRET);
	lacks(&recording, "mine");
	has(&recording, "\"path\":\"/b\"");
	open_replay(w);
	own(fd_closep) int a = cell_ask(w, "POST /a?key=" STARS " HTTP/1.1\r\n" HEAD "Content-Length: 26\r\n\r\n<" STARS ">");
	cell_hear_all(a, &answer);
	assert_string_equal(buf_text(&answer), buf_text(&first));
	own(fd_closep) int b = cell_ask(w, "GET /b HTTP/1.1\r\n" HEAD "\r\n");
	answer.len = 0;
	cell_hear_all(b, &answer);
	assert_int_equal(answer.len, second.len);
	assert_memory_equal(answer.data, second.data, second.len);
	own(fd_closep) int c = cell_ask(w, "GET /c HTTP/1.1\r\n" HEAD "\r\n");
	answer.len = 0;
	cell_hear_all(c, &answer);
	has(&answer, "HTTP/1.1 502 ");
	has(&answer, "nothing in the recording answers this request");
	has_log(w, "\"reason\":\"answered from the recording\",\"method\":\"POST\"");
	assert_int_equal(w->totals.count[COUNT_TOKENS_IN], 0);
}

#define BIG EXCHANGE_BODY_MAX
#define BIGS 9 /* one more than wait at a time */

static void cell_say_much(int fd, const char *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t sent = send(fd, bytes + done, len - done, MSG_NOSIGNAL);
		assert_true(sent > 0);
		done += (size_t)sent;
	}
}

/* A cell could otherwise have doord keep eight megabytes for each of a thousand connections. */
static void requests_that_wait_to_be_compared_are_bounded(void **state)
{
	struct world *w = *state;
	struct exchange_piece piece = { .len = 2 };
	char door[] = "api", method[] = "POST", path[] = "/big", ok[] = "ok";
	own(freep) char *body = xcalloc(BIG, 1);
	own(buf_done) struct buf line = { 0 };
	int fds[BIGS];

	memset(body, 'x', BIG);
	const struct exchange kept = { .door = door, .method = method, .path = path, .request = { .data = body, .len = BIG },
		.status = 200, .body = { .data = ok, .len = 2 }, .pieces = &piece, .piece_count = 1 };
	exchange_write(&kept, &line);
	w->replay = memfd_create("replay", MFD_CLOEXEC);
	assert_int_equal(write(w->replay, line.data, line.len), line.len);
	w->policy.replay = true;
	add_door(w, "https", "localhost", ",header=x-api-key");
	serve(w);
	for (size_t i = 0; i < BIGS; i++) {
		own(freep) char *head = xfmt("POST /big HTTP/1.1\r\n" HEAD "Content-Length: %u\r\n\r\n", BIG);
		fds[i] = cell_ask(w, head);
		cell_say_much(fds[i], body, BIG - 1);
	}
	for (size_t i = 0; i < BIGS; i++) {
		own(buf_done) struct buf answer = { 0 };
		cell_say_much(fds[i], "x", 1);
		cell_hear_all(fds[i], &answer);
		has(&answer, "HTTP/1.1 200 ");
		fd_close(&fds[i]);
	}
	has_log(w, "by another request with this path");
}

/* ---- the supervisor ---- */

static void on_said_by_the_way(void *data, const char *text)
{
	assert_non_null(strstr(text, "another one takes its place"));
	((struct world *)data)->said++;
}

/* 0: there is none just now. */
static pid_t child_of_ours(void)
{
	own(freep) char *path = xfmt("/proc/self/task/%d/children", (int)getpid());
	own(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
	return (pid_t)strtol(text, NULL, 10);
}

/* Whoever has taken doord over cannot hold the supervisor up by not reading what it is told. */
static void one_that_does_not_listen_is_replaced(void **state)
{
	struct world *w = *state;
	const struct doors_events events = { on_spent, on_said_by_the_way, w };
	struct err err;

	add_door(w, "http", "127.0.0.1", ",header=x-api-key");
	w->doors = doors_open(w->loop, &w->policy, NULL, &events, &err);
	assert_non_null(w->doors);
	pid_t first = child_of_ours();
	assert_int_equal(kill(first, SIGSTOP), 0);
	for (int i = 0; i < 2000; i++)
		doors_run_close(doors_run_open(w->doors, 1, NULL, -1, -1, -1), NULL, NULL);
	w->run = doors_run_open(w->doors, 2, NULL, -1, -1, -1);
	assert_true(w->said > 0);
	for (pid_t now = first; now == first || now == 0; now = child_of_ours())
		assert_true(loop_turn(w->loop, -1) >= 0);
	close_run(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_credential_is_added_and_what_the_cell_has_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(chunks_are_passed_on_and_expectations_are_answered_here, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_door_does_not_carry_is_refused_before_anything_is_connected_to, setup, teardown),
		cmocka_unit_test_setup_teardown(an_echo_of_the_credential_is_scrubbed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_credential_split_over_pieces_is_held_back_until_it_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_held_back_is_the_same_whether_a_guess_is_right, setup, teardown),
		cmocka_unit_test_setup_teardown(half_a_credential_is_not_told_when_an_answer_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(events_pass_one_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_without_an_end_that_was_said_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_that_cannot_be_passed_on_are_told_as_such, setup, teardown),
		cmocka_unit_test_setup_teardown(a_redirect_leads_back_to_the_door_and_is_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(old_clients_get_answers_without_chunks, setup, teardown),
		cmocka_unit_test_setup_teardown(an_upstream_without_tls_is_served_too, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_may_come_before_the_request_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_request_that_is_never_whole_goes_no_further, setup, teardown),
		cmocka_unit_test(a_certificate_that_is_not_the_upstreams_gets_no_credential),
		cmocka_unit_test_setup_teardown(an_address_in_the_certificate_will_do_for_an_address, setup, teardown),
		cmocka_unit_test_setup_teardown(doors_that_trust_the_same_each_have_their_own_name, setup, teardown),
		cmocka_unit_test_setup_teardown(a_request_beyond_the_budget_is_answered_with_429, setup, teardown),
		cmocka_unit_test_setup_teardown(a_budget_of_bytes_cuts_an_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(what_answers_say_they_used_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_told_later_is_counted_too, setup, teardown),
		cmocka_unit_test_setup_teardown(who_hangs_up_before_the_figures_come_pays_all_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(the_answer_that_uses_the_budget_up_comes_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_under_way_is_reserved_and_what_it_did_not_use_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(what_tells_nothing_is_estimated_and_what_is_cut_costs_all_that_was_reserved, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unknown_interface_is_reserved_and_charged_on_the_safe_side, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stream_is_asked_for_its_usage_and_the_cell_gets_what_it_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cell_that_does_not_read_holds_the_upstream_back, setup, teardown),
		cmocka_unit_test_setup_teardown(an_upstream_that_does_not_read_holds_the_cell_back, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_wait_for_their_turn_and_all_are_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(an_upstream_that_sends_no_data_without_end_keeps_nobody_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_recorded_is_played_again, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_that_wait_to_be_compared_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_does_not_listen_is_replaced, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
