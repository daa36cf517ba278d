/* A live instance of a target: its cell, what is said to it and what it says. See target.h.
 *
 *	COLD      no process, or one that is not to be used any more
 *	STARTING  it runs, and is greeted; a call may wait for that
 *	IDLE      it can be called
 *	ASKED     a call was made
 *	ENDING    its result is due: it closed its stdout, or we kill it
 *	SETTLED   the call is over; session_poll tells it. Else like IDLE
 *
 * Its process and its streams are in stream.c. A call costs one write, one turn of the loop and one read. There is one
 * timer, which is set anew only when it fires: until then every deadline is later than it.
 *
 * What a process does after its answer belongs to the next call: an effect is told with it, an end that was none of
 * its own wish makes it REPLY_ENDED. */
#include "fuzz/tool/session_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/term.h"

#define END_NS (3 * NS_PER_S) /* from the end of its stdout to its own */
#define FILE_EFFECTS_MAX (TARGET_EFFECTS_MAX * 3 / 4) /* files leave room for programs and connections, which say more */
#define STARTS_MAX 3u /* tries to get it ready */

/* ---- effects ---- */

void effect_done(struct effect *effect)
{
	free(effect->what);
	free(effect->by);
	strings_done(&effect->words);
	*effect = (struct effect){0};
}

void effect_copy(struct effect *to, const struct effect *from)
{
	*to = (struct effect){.kind = from->kind, .what = xstrdup(from->what), .len = from->len, .by = xstrdup(from->by)};
	for (size_t i = 0; i < from->words.count; i++)
		strings_add(&to->words, from->words.items[i]);
}

bool effect_same(const struct effect *a, const struct effect *b)
{
	if (a->kind != b->kind || strcmp(a->what, b->what) != 0 || a->words.count != b->words.count)
		return false;
	for (size_t i = 0; i < a->words.count; i++)
		if (strcmp(a->words.items[i], b->words.items[i]) != 0)
			return false;
	return true;
}

/* In the first call of a process: what is its start. */
static void effects_of_start(struct session *session)
{
	const struct target *target = session->target;
	size_t kept = 0;

	for (size_t i = 0; i < session->effect_count; i++) {
		bool start = false;
		for (size_t j = 0; j < target->startup_count && !start; j++)
			start = effect_same(&session->effects[i], &target->startup[j]);
		if (start)
			effect_done(&session->effects[i]);
		else
			session->effects[kept++] = session->effects[i];
	}
	session->effect_count = kept;
}

void effects_forget(struct session *session, size_t told)
{
	for (size_t i = 0; i < told; i++)
		effect_done(&session->effects[i]);
	session->effect_count -= told;
	memmove(session->effects, session->effects + told, session->effect_count * sizeof(*session->effects));
	session->effects_over = 0;
}

static bool words_same(const struct strings *kept, const char *const *words)
{
	size_t count = 0;

	for (; words && words[count]; count++)
		if (count >= kept->count || strcmp(kept->items[count], words[count]) != 0)
			return false;
	return count == kept->count;
}

/* What it does again and again is told once: else it would leave no room for what it does after that. */
static bool effect_is_kept(const struct session *session, const struct cell_effect *effect)
{
	const char *by = effect->by ? effect->by : "";

	for (size_t i = 0; i < session->effect_count; i++) {
		const struct effect *kept = &session->effects[i];
		if (kept->kind == effect->kind && strcmp(kept->what, effect->what) == 0 && strcmp(kept->by, by) == 0 &&
			words_same(&kept->words, effect->words))
			return true;
	}
	return false;
}

void session_effect(void *data, const struct cell_effect *effect)
{
	struct life *life = data;
	struct session *session = life->session;

	if (!session || (session->mode->http && bridge_effect(session->target, effect)))
		return;
	if (effect_is_kept(session, effect))
		return;
	bool file = effect->kind == CELL_EFFECT_WRITE || effect->kind == CELL_EFFECT_REMOVE;
	if (session->effect_count >= (file ? FILE_EFFECTS_MAX : TARGET_EFFECTS_MAX)) {
		session->effects_over++;
		return;
	}
	struct effect *kept = &session->effects[session->effect_count++];
	*kept = (struct effect){.kind = effect->kind, .what = xstrdup(effect->what), .len = strlen(effect->what),
		.by = xstrdup(effect->by ? effect->by : "")};
	for (size_t i = 0; effect->words && effect->words[i]; i++)
		strings_add(&kept->words, effect->words[i]);
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

void deadline_set(struct session *session, uint64_t ns)
{
	session->deadline = ns ? clock_now() + ns : 0;
	if (!ns || (session->timer && session->timer_at <= session->deadline))
		return;
	session->timer = loop_remove(session->timer);
	session->timer_at = session->deadline;
	session->timer = loop_add_timer(session->target->loop, session->timer_at, on_timer, session);
}

/* ---- ends ---- */

void session_ending(struct session *session, enum reply_kind kind, bool kill)
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
		answer_broken(&session->talk.answer, true, session->mode->http ? "it closed the connection instead of answering" :
			"it closed its stdout and went on without answering");
		session_ending(session, REPLY_BROKEN, true);
	} else if (session->state == STATE_ENDING) {
		settle_as(session, session->ending); /* its cell does not die: nobody waits for that here */
	}
}

void session_over(struct session *session)
{
	if (session->state == STATE_ASKED && session->mode->single)
		settle_process(session);
	else if (session->state == STATE_STARTING || session->state == STATE_ASKED)
		settle_as(session, REPLY_ENDED);
	else if (session->state == STATE_ENDING)
		settle_as(session, session->ending);
}

void session_ready(struct session *session)
{
	session->state = STATE_IDLE;
	session->starts = 0;
	session->deadline = 0;
	effects_gather(session); /* of its start: nobody's */
	effects_forget(session, session->effect_count);
	if (!session->waiting)
		return;
	session->waiting = false;
	session_ask(session, session->subject, buf_text(&session->input), session->input.len);
}

/* What came is wrong and nothing more of it will be read: else a flood would be. */
void session_broken(struct session *session)
{
	session->stale = true;
	if (session->out_source)
		loop_set_events(session->out_source, 0);
	if (session->state == STATE_STARTING || session->state == STATE_ASKED) {
		session->talk.asked = false;
		session_settle(session);
	}
}

/* ---- calls ---- */

/* Sends it. */
void session_ask(struct session *session, const struct subject *subject, const char *input, size_t len)
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
	if (session->out < 0 && !session->mode->http)
		session_ending(session, REPLY_ENDED, false); /* it closed its stdout before */
}

void session_settle(struct session *session)
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

int session_begin(struct session *session, const struct subject *subject, const char *input, size_t len,
	struct err *err)
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
	if (session->life && !session->stale && !session->life->result && !session->mode->single) {
		session_ask(session, subject, input, len);
		return 0;
	}
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
	if (session->calls == 1)
		effects_of_start(session);
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
	exchange->ended = reply->kind == REPLY_ENDED || reply->kind == REPLY_LATE ||
		(exchange->result && !session->mode->single);
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

const struct exchange *session_call(struct session *session, const struct subject *subject, const char *input,
	size_t len, struct err *err)
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
	process_retire(session);
	session->timer = loop_remove(session->timer);
	exchange_forget(session);
	effects_forget(session, session->effect_count);
	talk_done(&session->talk);
	buf_done(&session->got);
	buf_done(&session->wire);
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

