/* A live instance of a target: its cell, what is said to it and what it says. See target.h.
 *
 *	COLD      no process, or one that is not to be used any more
 *	STARTING  it runs, and is greeted; a call may wait for that
 *	IDLE      it can be called
 *	ASKED     a call was made
 *	ENDING    its result is due: it closed its stdout, or we kill it
 *	SETTLED   the call is over; session_poll tells it. Else like IDLE
 *
 * A call costs one write, one turn of the loop and one read. There is one timer, which is set anew only when it fires: until
 * then every deadline is later than it.
 *
 * What a process does after its answer belongs to the next call: an effect is told with it, an end that was none of its own
 * wish makes it REPLY_ENDED. */
#include "fuzz/target_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/term.h"

#define READ_MAX ((size_t)64 << 10)
#define DRAIN_MAX ((size_t)4 << 20) /* read of a dead one, at most */
#define MESSAGES_MAX 10000u /* that come in one call */
#define HEARD_MAX ((uint64_t)4 * TARGET_LINE_MAX) /* bytes of one call */
#define END_NS (3 * NS_PER_S) /* from the end of its stdout to its own */
#define STARTS_MAX 3u /* tries to get it ready */
#define MEMORY_MAX 64u /* samples kept */
#define MEMORY_STRIDE 16u /* calls between the first of them */

enum state { STATE_COLD, STATE_STARTING, STATE_IDLE, STATE_ASKED, STATE_ENDING, STATE_SETTLED };

/* A cell, which may outlive its session by the time it takes to die. */
struct life {
	struct session *session; /* NULL: nobody wants it any more */
	struct cell *cell;
	const struct cell_result *result; /* when it is over; the cell's */
};

struct session {
	struct target *target;
	const struct mode *mode;
	enum state state;
	struct life *life;
	bool stale; /* the process is not to be called again */
	unsigned starts; /* since it was ready last */
	uint64_t restarts;
	int in, out, err;
	struct loop_source *in_source, *out_source, *err_source, *timer;
	uint64_t timer_at, deadline, began;
	struct talk talk;
	size_t sent; /* of talk.out */
	struct buf got; /* from stdout, not taken yet */
	size_t looked; /* of it, for the end of a line */
	struct buf said;
	uint64_t heard, messages; /* in this call */
	bool cut;
	/* a call that waits until it is ready */
	bool waiting;
	const struct subject *subject;
	struct buf input;
	/* what came of it */
	enum reply_kind ending; /* ENDING: what it will be */
	bool told;
	struct buf text;
	struct answer answer;
	struct exchange exchange;
	struct effect effects[TARGET_EFFECTS_MAX];
	size_t effect_count;
	uint64_t effects_over, dropped_before;
	uint64_t memory[MEMORY_MAX];
	size_t memory_count;
	uint64_t memory_stride, calls;
};

static void session_settle(struct session *session);

/* ---- effects ---- */

static void effect_done(struct effect *effect)
{
	free(effect->what);
	free(effect->by);
	texts_done(&effect->words);
	*effect = (struct effect){0};
}

/* Forgets those that were told; what came since is the next call's. */
static void effects_forget(struct session *session, size_t told)
{
	for (size_t i = 0; i < told; i++)
		effect_done(&session->effects[i]);
	session->effect_count -= told;
	memmove(session->effects, session->effects + told, session->effect_count * sizeof(*session->effects));
	session->effects_over = 0;
}

static void on_effect(void *data, const struct cell_effect *effect)
{
	struct life *life = data;
	struct session *session = life->session;

	if (!session)
		return;
	if (session->effect_count == TARGET_EFFECTS_MAX) {
		session->effects_over++;
		return;
	}
	struct effect *kept = &session->effects[session->effect_count++];
	*kept = (struct effect){.kind = effect->kind, .what = xstrdup(effect->what), .len = strlen(effect->what),
		.by = xstrdup(effect->by ? effect->by : "")};
	for (size_t i = 0; effect->words && effect->words[i]; i++)
		texts_add(&kept->words, effect->words[i]);
}

/* All of what it did before what we have read of it. */
static void effects_gather(struct session *session)
{
	struct target *target = session->target;

	if (!target->spec.effects || !session->life)
		return;
	target->sees_effects = cell_effects(session->life->cell);
	uint64_t dropped = cell_effects_dropped(session->life->cell);
	session->effects_over += dropped - session->dropped_before;
	session->dropped_before = dropped;
}

/* ---- clocks ---- */

static void on_timer(void *data);

static void deadline_set(struct session *session, uint64_t ns)
{
	session->deadline = ns ? clock_now() + ns : 0;
	if (!ns || (session->timer && session->timer_at <= session->deadline))
		return;
	session->timer = loop_remove(session->timer);
	session->timer_at = session->deadline;
	session->timer = loop_add_timer(session->target->loop, session->timer_at, on_timer, session);
}

/* ---- the end of a process ---- */

static void streams_close(struct session *session)
{
	session->in_source = loop_remove(session->in_source);
	session->out_source = loop_remove(session->out_source);
	session->err_source = loop_remove(session->err_source);
	fd_close(&session->in);
	fd_close(&session->out);
	fd_close(&session->err);
}

/* Nothing of it is wanted any more. It is killed, and goes when it is dead. */
static void session_retire(struct session *session)
{
	struct life *life = ptr_take(&session->life);

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

/* Waits for its result, to be told as `kind`. */
static void session_ending(struct session *session, enum reply_kind kind, bool kill)
{
	session->ending = kind;
	session->state = STATE_ENDING;
	session->stale = true;
	deadline_set(session, END_NS);
	if (kill)
		cell_cancel(session->life->cell);
}

/* It is over without an answer. The message that is there stays. */
static void settle_as(struct session *session, enum reply_kind kind)
{
	struct answer *answer = &session->talk.answer;

	answer->kind = kind;
	if (answer->message.len == 0 && session->life && session->life->result)
		result_say(session->life->result, &answer->message);
	session->stale = true;
	buf_add(&session->text, buf_text(&session->got), session->got.len);
	session_settle(session);
}

static void settle_process(struct session *session)
{
	const struct process_end end = {.result = session->life->result, .out = buf_text(&session->got),
		.out_len = session->got.len, .said = buf_text(&session->said), .said_len = session->said.len, .cut = session->cut};

	answer_process(&session->talk.answer, session->target->options.reject_member, &end);
	buf_add(&session->text, end.out, end.out_len);
	session->stale = true;
	session_settle(session);
}

static void late(struct session *session, const char *what, uint64_t ns)
{
	struct answer *answer = &session->talk.answer;

	answer->message.len = 0;
	buf_fmt(&answer->message, "it did not %s within %" PRIu64 " ms", what, ns / NS_PER_MS);
	if (session->talk.noise)
		buf_fmt(&answer->message, ", but wrote %" PRIu64 " lines that belong to nothing", session->talk.noise);
	session_ending(session, REPLY_LATE, true);
}

static void on_timer(void *data)
{
	struct session *session = data;
	const struct target_options *options = &session->target->options;

	session->timer = loop_remove(session->timer);
	if (!session->deadline)
		return;
	if (clock_now() < session->deadline) {
		session->timer_at = session->deadline;
		session->timer = loop_add_timer(session->target->loop, session->timer_at, on_timer, session);
	} else if (session->state == STATE_STARTING) {
		late(session, "get ready", options->start_ns);
	} else if (session->state == STATE_ASKED) {
		late(session, "answer", options->call_ns);
	} else if (session->state == STATE_ENDING && session->ending == REPLY_ENDED) {
		/* It lives on without a stdout. */
		answer_broken(&session->talk.answer, true, "it closed its stdout and went on without answering");
		session_ending(session, REPLY_BROKEN, true);
	} else if (session->state == STATE_ENDING) {
		settle_as(session, session->ending); /* its cell does not die: nobody waits for that here */
	}
}

/* ---- what it says ---- */

static int session_ask(struct session *session, const struct subject *subject, const char *input, size_t len);

static void session_ready(struct session *session)
{
	session->state = STATE_IDLE;
	session->starts = 0;
	session->deadline = 0;
	effects_gather(session); /* of its start: nobody's */
	effects_forget(session, session->effect_count);
	if (!session->waiting)
		return;
	session->waiting = false;
	(void)session_ask(session, session->subject, buf_text(&session->input), session->input.len);
}

/* What came is wrong and nothing more of it will be read: else a flood would be. */
static void session_broken(struct session *session)
{
	session->stale = true;
	if (session->out_source)
		loop_set_events(session->out_source, 0);
	if (session->state == STATE_STARTING || session->state == STATE_ASKED) {
		session->talk.asked = false;
		session_settle(session);
	}
}

static void session_flush(struct session *session);

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

static void message_take(struct session *session, const char *text, size_t len)
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
	size_t at = 0;

	while (session->out >= 0 && !session->stale) {
		char *end = memchr(session->got.data + session->looked, '\n', session->got.len - session->looked);
		if (!end)
			break;
		size_t next = (size_t)(end - session->got.data) + 1;
		*end = '\0';
		session->looked = next;
		message_take(session, session->got.data + at, next - 1 - at);
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

/* What a dead process has written is still in the pipes. What it left outside of its cell (without one) may write on. */
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
	session_drain(session);
	streams_close(session);
	if (session->state == STATE_ASKED && session->mode->single)
		settle_process(session);
	else if (session->state == STATE_STARTING || session->state == STATE_ASKED)
		settle_as(session, REPLY_ENDED);
	else if (session->state == STATE_ENDING)
		settle_as(session, session->ending);
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

static void session_flush(struct session *session)
{
	struct buf *out = &session->talk.out;

	if (session->in < 0) {
		out->len = session->sent = 0;
		return;
	}
	ssize_t put = out->len > session->sent ? write(session->in, out->data + session->sent, out->len - session->sent) : 0;
	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		in_close(session); /* it reads no more: it may still answer, or end */
		return;
	}
	session->sent += put > 0 ? (size_t)put : 0;
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

/* Pipes, not sockets: it is what programs are used to, and what Node writes to before it goes on. Ours alone do not block:
 * the other end is another open file. */
static int pipes_open(struct pipes *pipes, struct err *err)
{
	for (int i = 0; i < 3; i++) {
		int ours = i == 0 ? 1 : 0;
		if (pipe2(pipes->fds[i], O_CLOEXEC) < 0 || fcntl(pipes->fds[i][ours], F_SETFL, O_NONBLOCK) < 0)
			return err_errno(err, errno, "make a pipe to the target");
	}
	return 0;
}

static int life_start(struct session *session, const struct pipes *pipes, struct err *err)
{
	const struct cell_io io = {.in = pipes->fds[0][0], .out = pipes->fds[1][1], .err = pipes->fds[2][1], .direct = true,
		.effect = on_effect};
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

static int streams_open(struct session *session, struct pipes *pipes, struct err *err)
{
	struct loop *loop = session->target->loop;

	session->in = fd_take(&pipes->fds[0][1]);
	session->out = fd_take(&pipes->fds[1][0]);
	session->err = fd_take(&pipes->fds[2][0]);
	session->out_source = loop_add_fd(loop, session->out, EPOLLIN, on_out, session);
	session->err_source = loop_add_fd(loop, session->err, EPOLLIN, on_err, session);
	if (!session->out_source || !session->err_source)
		return err_errno(err, errno, "listen to the target");
	return 0;
}

/* A process that nobody called before. A call that waits for it is in `input`. */
static int process_start(struct session *session, struct err *err)
{
	own(pipes_close) struct pipes pipes = {{{-1, -1}, {-1, -1}, {-1, -1}}};

	session_retire(session);
	session->calls = session->memory_count = session->dropped_before = 0;
	session->memory_stride = MEMORY_STRIDE;
	session->messages = session->heard = 0;
	session->said.len = 0;
	session->starts++;
	answer_done(&session->talk.answer);
	if (pipes_open(&pipes, err) < 0 || life_start(session, &pipes, err) < 0)
		return -1;
	if (streams_open(session, &pipes, err) < 0) {
		session_retire(session);
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

/* ---- calls ---- */

/* Sends it. */
static int session_ask(struct session *session, const struct subject *subject, const char *input, size_t len)
{
	const struct target_options *options = &session->target->options;

	session->state = STATE_ASKED;
	session->calls++;
	session->messages = session->heard = session->talk.noise = 0;
	session->said.len = 0;
	session->mode->call(&session->talk, subject, input, len);
	/* A process a call has a clock of its own in its cell, from its start on; ours is for a cell that fails at that. */
	deadline_set(session, session->mode->single ? options->start_ns + options->call_ns : options->call_ns);
	session->began = session->deadline - (session->mode->single ? options->start_ns + options->call_ns : options->call_ns);
	session_flush(session);
	if (session->out < 0)
		session_ending(session, REPLY_ENDED, false); /* it closed its stdout before */
	return 0;
}

static void session_settle(struct session *session)
{
	struct reply *reply = &session->exchange.reply;
	bool was_start = session->state == STATE_STARTING || session->waiting;
	struct err ignored;

	/* A start that fails is tried again: the call has not reached anybody. */
	if (was_start && session->starts > 0 && session->starts < STARTS_MAX && session->waiting) {
		session->text.len = 0;
		session->state = STATE_COLD;
		if (process_start(session, &ignored) == 0)
			return;
	}
	reply->ns = session->began ? clock_now() - session->began : 0;
	if (session->mode->single && session->life && session->life->result)
		reply->ns = session->life->result->wall_ns;
	session->deadline = 0;
	session->waiting = false;
	session->told = false;
	session->state = STATE_SETTLED;
}

/* It ended, and not by its own wish, after it had answered. */
static bool ended_badly(const struct session *session)
{
	const struct cell_result *result = session->life ? session->life->result : NULL;

	return result && !session->mode->single && !(result->outcome == CELL_EXITED && result->exit_code == 0) &&
		result->outcome != CELL_CANCELLED;
}

static void exchange_forget(struct session *session)
{
	effects_forget(session, session->told && session->exchange.effect_count <= session->effect_count ?
		session->exchange.effect_count : 0);
	session->exchange = (struct exchange){0};
	answer_done(&session->answer);
	session->text.len = 0;
	session->cut = false;
	session->began = 0;
	session->told = false;
}

int session_begin(struct session *session, const struct subject *subject, const char *input, size_t len, struct err *err)
{
	exchange_forget(session);
	if (session->talk.answer.kind == REPLY_BROKEN && session->life) {
		session->stale = true; /* it spoke before it was asked */
		session_settle(session);
		return 0;
	}
	answer_done(&session->talk.answer);
	if (!session->stale && ended_badly(session)) {
		buf_str(&session->talk.answer.message, "after its answer to the call before, ");
		settle_as(session, REPLY_ENDED);
		return 0;
	}
	if (session->life && !session->stale && !session->life->result && !session->mode->single)
		return session_ask(session, subject, input, len);
	session->restarts += session->life && !session->mode->single;
	session->input.len = 0;
	buf_add(&session->input, input, len);
	session->subject = subject;
	session->waiting = true;
	session->starts = 0;
	session->state = STATE_COLD;
	return process_start(session, err);
}

/* Memory now and then: as many samples as are kept, over all the calls so far. */
static void memory_sample(struct session *session)
{
	if (!session->life || session->life->result || (session->calls - 1) % session->memory_stride != 0)
		return;
	uint64_t now = cell_memory(session->life->cell);
	if (now == 0)
		return;
	if (session->memory_count == MEMORY_MAX) {
		for (size_t i = 0; i < MEMORY_MAX / 2; i++)
			session->memory[i] = session->memory[2 * i];
		session->memory_count = MEMORY_MAX / 2;
		session->memory_stride *= 2;
	}
	session->memory[session->memory_count++] = now;
}

static void exchange_fill(struct session *session)
{
	struct exchange *exchange = &session->exchange;
	struct reply *reply = &exchange->reply;
	static const struct cell_result unknown = {.outcome = CELL_CANCELLED, .exit_code = -1, .lost = true};

	effects_gather(session);
	memory_sample(session);
	session->answer = session->talk.answer;
	if (session->answer.output == &session->talk.answer.document)
		session->answer.output = &session->answer.document;
	session->talk.answer = (struct answer){0};
	size_t said_from = session->said.len > TARGET_SAID_MAX ? session->said.len - TARGET_SAID_MAX : 0;
	reply->kind = session->answer.kind;
	reply->text = buf_text(&session->text);
	reply->len = session->text.len;
	reply->cut = session->cut;
	reply->output = session->answer.output;
	reply->message = buf_text(&session->answer.message);
	reply->code = session->answer.code;
	reply->said = buf_text(&session->said) + said_from;
	reply->said_len = session->said.len - said_from;
	exchange->effects = session->effects;
	exchange->effect_count = session->effect_count;
	exchange->effects_dropped = session->effects_over;
	exchange->result = session->life ? session->life->result : NULL;
	exchange->ended = reply->kind == REPLY_ENDED || reply->kind == REPLY_LATE || (exchange->result && !session->mode->single);
	if (exchange->ended && !exchange->result)
		exchange->result = &unknown;
	exchange->memory = session->memory;
	exchange->memory_count = session->memory_count;
	exchange->calls = session->calls;
	session->stale = session->stale || exchange->ended;
	session->told = true;
}

const struct exchange *session_poll(struct session *session)
{
	if (session->state != STATE_SETTLED)
		return NULL;
	if (!session->told)
		exchange_fill(session);
	return &session->exchange;
}

const struct exchange *session_call(struct session *session, const struct subject *subject, const char *input, size_t len,
	struct err *err)
{
	if (session_begin(session, subject, input, len, err) < 0)
		return NULL;
	for (;;) {
		const struct exchange *exchange = session_poll(session);
		if (exchange)
			return exchange;
		if (loop_turn(session->target->loop, -1) < 0) {
			(void)err_errno(err, errno, "wait for the target");
			return NULL;
		}
	}
}

/* ---- life ---- */

/* Why it is not ready, and the end of what it said on stderr. */
static void start_error(const struct session *session, struct err *err)
{
	own(buf_done) struct buf said = {0};
	size_t len = session->said.len, from = len > 160 ? len - 160 : 0;

	while (len > from && (session->said.data[len - 1] == '\n' || session->said.data[len - 1] == ' '))
		len--;
	term_line(buf_text(&session->said) + from, len - from, 200, &said);
	(void)err_set(err, EPROTO, "'%s' cannot be spoken with: %.*s%s%s%s", session->target->name,
		(int)(session->talk.answer.message.len < 160 ? session->talk.answer.message.len : 160),
		buf_text(&session->talk.answer.message), len > from ? "; the end of its stderr: '" : "",
		buf_text(&said), len > from ? "'" : "");
}

struct session *session_open_asking(struct target *target, struct subjects *subjects, struct err *err)
{
	own(session_freep) struct session *session = xcalloc(1, sizeof(*session));

	session->target = target;
	session->mode = target->mode;
	session->in = session->out = session->err = -1;
	session->talk = (struct talk){.options = &target->options, .remarks = &target->remarks, .subjects = subjects,
		.about = subjects ? &target->about : NULL};
	if (session->mode->single)
		return ptr_take(&session);
	if (process_start(session, err) < 0)
		return NULL;
	/* A program that does not speak first is given a moment to fail when it is started for the first time. */
	uint64_t until = subjects ? clock_now() + TARGET_FAIL_NS : 0;
	while (session->state == STATE_STARTING || session->state == STATE_ENDING ||
		(session->state == STATE_IDLE && !session->talk.mcp.greeted && !session->life->result && clock_now() < until)) {
		if (loop_turn(target->loop, 10) < 0) {
			(void)err_errno(err, errno, "wait for the target");
			return NULL;
		}
	}
	if (session->state == STATE_IDLE && session->life->result && session->talk.answer.message.len == 0)
		result_say(session->life->result, &session->talk.answer.message);
	if (session->state != STATE_IDLE || (subjects && session->life->result)) {
		start_error(session, err);
		return NULL;
	}
	session->talk.subjects = NULL;
	session->talk.about = NULL;
	return ptr_take(&session);
}

struct session *session_open(struct target *target, struct err *err)
{
	return session_open_asking(target, NULL, err);
}

struct session *session_free(struct session *session)
{
	if (!session)
		return NULL;
	session_retire(session);
	session->timer = loop_remove(session->timer);
	exchange_forget(session);
	effects_forget(session, session->effect_count);
	talk_done(&session->talk);
	buf_done(&session->got);
	buf_done(&session->said);
	buf_done(&session->input);
	buf_done(&session->text);
	free(session);
	return NULL;
}

void session_freep(struct session **session)
{
	*session = session_free(*session);
}

void session_restart(struct session *session)
{
	session->stale = true;
}

bool session_sees_effects(const struct session *session)
{
	return session->target->sees_effects;
}

uint64_t session_restarts(const struct session *session)
{
	return session->restarts;
}
