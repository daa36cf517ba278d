/* The process of a session and its streams. See session_private.h.
 *
 * Everything is bounded: a line, the lines and bytes of one call, what is kept of stderr, what is read of the dead.
 * Whatever is read may end the call, and that may start a new process: `generation` tells. */
#include "fuzz/tool/session_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"

#define READ_MAX ((size_t)64 << 10)
#define DRAIN_MAX ((size_t)4 << 20) /* read of a dead one, at most */
#define MESSAGES_MAX 10000u /* that come in one call */
#define HEARD_MAX ((uint64_t)4 * TARGET_LINE_MAX) /* bytes of one call */

/* ---- the end of it ---- */

void streams_drop(struct session *session)
{
	session->in_source = loop_remove(session->in_source);
	session->out_source = loop_remove(session->out_source);
	fd_close(&session->in);
	fd_close(&session->out);
}

static void streams_close(struct session *session)
{
	streams_drop(session);
	session->err_source = loop_remove(session->err_source);
	fd_close(&session->err);
}

/* Nothing of it is wanted any more. It is killed, and goes when it is dead. */
void process_retire(struct session *session)
{
	struct life *life = ptr_take(&session->life);

	if (session->mode->http)
		link_end(session);
	streams_close(session);
	session->got.len = session->looked = 0;
	session->talk.out.len = session->sent = 0;
	session->stale = false;
	session->state = session->state == STATE_SETTLED ? STATE_SETTLED : STATE_COLD;
	if (!life)
		return;
	life->session = NULL;
	if (life->result) {
		life->cell = cell_free(life->cell);
		free(life);
	} else {
		cell_cancel(life->cell);
	}
}

/* ---- what it says ---- */

static void message_asked(struct session *session, const char *text, size_t len)
{
	enum talk_event event = session->mode->message(&session->talk, text, len);

	if (event == TALK_READY) {
		session_flush(session);
		session_ready(session);
	} else if (event == TALK_ANSWERED) {
		buf_add(&session->text, text, len);
		if (session->talk.answer.lost)
			session_broken(session);
		else
			session_settle(session);
	} else if (session->talk.out.len) {
		session_flush(session);
	}
}

void message_take(struct session *session, const char *text, size_t len)
{
	bool asked = session->state == STATE_STARTING || session->state == STATE_ASKED;

	if (len && text[len - 1] == '\r')
		len--;
	if (++session->messages > MESSAGES_MAX || session->heard > HEARD_MAX) {
		answer_broken(&session->talk.answer, true, "it wrote %" PRIu64 " lines, %" PRIu64 " bytes, without answering",
			session->messages, session->heard);
		session_broken(session);
	} else if (asked) {
		message_asked(session, text, len);
	} else if (!session->told || session->talk.answer.kind != REPLY_BROKEN) {
		session->mode->unasked(&session->talk, text, len);
		if (session->talk.answer.kind == REPLY_BROKEN && session->talk.answer.lost)
			session_broken(session);
		else if (session->talk.out.len)
			session_flush(session);
	}
}

static void lines_take(struct session *session)
{
	uint64_t generation = session->generation;
	size_t at = 0;

	while (session->out >= 0 && !session->stale) {
		char *end = memchr(session->got.data + session->looked, '\n', session->got.len - session->looked);
		if (!end)
			break;
		size_t next = (size_t)(end - session->got.data) + 1;
		*end = '\0';
		session->looked = next;
		message_take(session, session->got.data + at, next - 1 - at);
		if (session->generation != generation)
			return;
		at = next;
	}
	session->got.len -= at;
	memmove(session->got.data, session->got.data + at, session->got.len);
	session->looked = session->got.len;
	if (session->got.len > TARGET_LINE_MAX && !session->stale) {
		answer_broken(&session->talk.answer, true, "it wrote a line of more than %zu bytes", TARGET_LINE_MAX);
		session_broken(session);
	}
}

/* Of a process a call, all that it says is its answer. */
static void output_take(struct session *session, const char *bytes, size_t len)
{
	size_t room = TARGET_LINE_MAX - session->got.len;

	session->cut = session->cut || len > room;
	buf_add(&session->got, bytes, len < room ? len : room);
}

/* Bytes read; 0: no more now, or ever. */
static size_t out_read(struct session *session, bool *ret_end)
{
	char bytes[READ_MAX];
	ssize_t got = read(session->out, bytes, sizeof(bytes));

	*ret_end = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	if (got <= 0)
		return 0;
	session->heard += (uint64_t)got;
	if (session->mode->single) {
		output_take(session, bytes, (size_t)got);
	} else if (session->mode->http) {
		link_feed(session, bytes, (size_t)got);
	} else if (!session->stale) {
		buf_add(&session->got, bytes, (size_t)got);
		lines_take(session);
	}
	return (size_t)got;
}

static size_t err_read(struct session *session, bool *ret_end)
{
	char bytes[READ_MAX];
	ssize_t got = read(session->err, bytes, sizeof(bytes));

	*ret_end = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	if (got <= 0)
		return 0;
	buf_add(&session->said, bytes, (size_t)got);
	if (session->said.len > 4 * TARGET_SAID_MAX) {
		size_t extra = session->said.len - TARGET_SAID_MAX;
		memmove(session->said.data, session->said.data + extra, TARGET_SAID_MAX);
		session->said.len = TARGET_SAID_MAX;
	}
	return (size_t)got;
}

static void on_out(void *data, int fd, uint32_t events)
{
	struct session *session = data;
	bool end;

	(void)fd, (void)events;
	(void)out_read(session, &end);
	if (!end || !session->out_source)
		return;
	if (session->mode->http) {
		link_lost(session);
		return;
	}
	session->out_source = loop_remove(session->out_source);
	fd_close(&session->out);
	bool asked = session->state == STATE_STARTING || session->state == STATE_ASKED;
	if (asked && !session->mode->single)
		session_ending(session, REPLY_ENDED, false); /* most likely it has ended */
}

static void on_err(void *data, int fd, uint32_t events)
{
	struct session *session = data;
	bool end;

	(void)fd, (void)events;
	(void)err_read(session, &end);
	if (!end)
		return;
	session->err_source = loop_remove(session->err_source);
	fd_close(&session->err);
}

/* What a dead process has written is still in the pipes. What it left outside of its cell (without one) may write
 * on. */
static void session_drain(struct session *session)
{
	bool end = false;

	for (size_t read = 0, got = 1; session->out >= 0 && !end && got && read < DRAIN_MAX; read += got)
		got = out_read(session, &end);
	end = false;
	for (size_t read = 0, got = 1; session->err >= 0 && !end && got && read < DRAIN_MAX; read += got)
		got = err_read(session, &end);
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct life *life = data;
	struct session *session = life->session;

	life->result = result;
	if (!session) {
		(void)cell_free(cell);
		free(life);
		return;
	}
	uint64_t generation = session->generation;
	session_drain(session);
	if (session->generation != generation)
		return; /* what it left to be read made a new one of it */
	if (session->mode->http)
		link_end(session);
	streams_close(session);
	session_over(session);
}

/* ---- what is said to it ---- */

static void on_in(void *data, int fd, uint32_t events)
{
	(void)fd, (void)events;
	session_flush(data);
}

static void in_close(struct session *session)
{
	session->in_source = loop_remove(session->in_source);
	fd_close(&session->in);
	session->talk.out.len = session->sent = 0;
}

void session_flush(struct session *session)
{
	struct buf *out = session->mode->http ? &session->wire : &session->talk.out;

	if (session->mode->http)
		link_wrap(session);
	if (session->in < 0) {
		if (!session->mode->http) /* else it waits for a connection */
			out->len = session->sent = 0;
		return;
	}
	ssize_t put = out->len > session->sent ? write(session->in, out->data + session->sent, out->len - session->sent) : 0;
	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		in_close(session); /* it reads no more: it may still answer, or end */
		return;
	}
	session->sent += put > 0 ? (size_t)put : 0;
	if (session->mode->http)
		link_hurry(session);
	if (session->sent < out->len) {
		if (!session->in_source)
			session->in_source = loop_add_fd(session->target->loop, session->in, EPOLLOUT, on_in, session);
		else
			loop_set_events(session->in_source, EPOLLOUT);
		return;
	}
	out->len = session->sent = 0;
	if (session->mode->single && session->state == STATE_ASKED)
		in_close(session);
	else if (session->in_source)
		loop_set_events(session->in_source, 0);
}

/* ---- starting ---- */

struct pipes {
	int fds[3][2];
};

static void pipes_close(struct pipes *pipes)
{
	for (int i = 0; i < 3; i++) {
		fd_close(&pipes->fds[i][0]);
		fd_close(&pipes->fds[i][1]);
	}
}

/* Pipes, not sockets: it is what programs are used to, and what Node writes to before it goes on. Ours alone do not
 * block: the other end is another open file. */
static int pipes_open(struct pipes *pipes, struct err *err)
{
	for (int i = 0; i < 3; i++) {
		int ours = i == 0 ? 1 : 0;
		if (pipe2(pipes->fds[i], O_CLOEXEC) < 0 || fcntl(pipes->fds[i][ours], F_SETFL, O_NONBLOCK) < 0)
			return err_errno(err, errno, "make a pipe to the target");
	}
	return 0;
}

/* One that listens is reached otherwise: what it writes is for people. */
static int life_start(struct session *session, const struct pipes *pipes, struct err *err)
{
	bool http = session->mode->http;
	const struct cell_io io = {.in = http ? -1 : pipes->fds[0][0], .out = http ? pipes->fds[2][1] : pipes->fds[1][1],
		.err = pipes->fds[2][1], .direct = true, .effect = session_effect};
	struct target *target = session->target;
	struct cell_spec spec = target->spec;
	char **words = session->mode->words ?
		session->mode->words(&target->options, buf_text(&session->input), session->input.len) : NULL;
	struct life *life = xcalloc(1, sizeof(*life));

	if (words)
		spec.argv = (const char *const *)words;
	life->session = session;
	life->cell = cell_start(target->pool, &spec, &io, on_done, life, err);
	words_free(words);
	if (!life->cell) {
		free(life);
		return -1;
	}
	session->life = life;
	return 0;
}

int streams_add(struct session *session, int in, int out, struct err *err)
{
	session->in = in;
	session->out = out;
	session->out_source = loop_add_fd(session->target->loop, out, EPOLLIN, on_out, session);
	if (!session->out_source)
		return err_errno(err, errno, "listen to the target");
	return 0;
}

static int streams_open(struct session *session, struct pipes *pipes, struct err *err)
{
	session->err = fd_take(&pipes->fds[2][0]);
	session->err_source = loop_add_fd(session->target->loop, session->err, EPOLLIN, on_err, session);
	if (!session->err_source)
		return err_errno(err, errno, "listen to the target");
	if (session->mode->http) {
		link_begin(session);
		return 0;
	}
	return streams_add(session, fd_take(&pipes->fds[0][1]), fd_take(&pipes->fds[1][0]), err);
}

/* A process that nobody called before. A call that waits for it is in `input`. */
int process_start(struct session *session, struct err *err)
{
	own(pipes_close) struct pipes pipes = {{{-1, -1}, {-1, -1}, {-1, -1}}};

	process_retire(session);
	session->calls = session->memory_count = session->dropped_before = 0;
	session->memory_stride = MEMORY_STRIDE;
	session->messages = session->heard = 0;
	session->said.len = 0;
	session->starts++;
	session->generation++;
	answer_done(&session->talk.answer);
	if (pipes_open(&pipes, err) < 0 || life_start(session, &pipes, err) < 0)
		return -1;
	if (streams_open(session, &pipes, err) < 0) {
		process_retire(session);
		return -1;
	}
	session->state = STATE_STARTING;
	deadline_set(session, session->target->options.start_ns);
	enum talk_event event = session->mode->start(&session->talk);
	session_flush(session);
	if (event == TALK_READY)
		session_ready(session);
	return 0;
}

