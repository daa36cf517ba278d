/* A target whose behaviour is a C function of the input, and a few oracles: what the engine is tested with. It defines all of
 * target.h and oracle.h by itself, so a test that includes it has neither cells nor the real oracles. */
#ifndef HOTCELL_TESTS_FAKE_TARGET_H
#define HOTCELL_TESTS_FAKE_TARGET_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/json_read.h"
#include "base/own.h"
#include "fuzz/fuzz.h"

#include <fcntl.h>

#define FAKE_SUBJECTS 20

struct fake_call {
	const char *subject;
	const struct value *input; /* NULL: `unread` was asked for */
	const char *text;
	size_t len;
	struct session *session;
};

struct session {
	struct target *target;
	bool open, begun;
	int state[4]; /* of the process */
	uint64_t calls, restarts;
	char words[256]; /* what it answered */
	char message[256];
	struct value output;
	struct exchange seen;
	bool ended;
};

struct target {
	struct subject list[FAKE_SUBJECTS];
	struct subjects subjects;
	/* Fills session->seen.reply (OK, empty and without output, before); `ended` ends the process. */
	void (*behave)(const struct fake_call *call, struct reply *reply);
	bool unread; /* inputs are not read */
	bool blind; /* tells no effects */
	bool no_cells;
	uint64_t calls; /* of all sessions */
	struct strings remarks;
	struct strings log; /* "subject input", if wanted */
	bool logged;
	int echo; /* a behaviour's own */
};

/* ---- making one ---- */

static inline void fake_subject(struct target *target, const char *name, const char *schema, const char *const *words)
{
	struct subject *subject = &target->list[target->subjects.count++];
	struct generator_options options = {.words = words};
	struct err err = {0};

	target->subjects.list = target->list;
	subject->name = xstrdup(name);
	subject->input = schema_read(schema, strlen(schema), NULL, NULL, &err);
	subject->generator = subject->input ? generator_open(subject->input, &options, &err) : NULL;
	if (json_read(schema, strlen(schema), &schema_text_limits, NULL, &subject->input_value, &err) < 0 || !subject->generator)
		subject->problem = xstrdup(err.text);
}

/* One of bench/schemas. */
static inline void fake_subject_file(struct target *target, const char *name, const char *file, const char *const *words)
{
	own(freep) char *path = xfmt("%s/%s", SCHEMAS, file);
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, path, 1 << 20, &text, &err) == 0)
		fake_subject(target, name, buf_text(&text), words);
}

static inline void fake_done(struct target *target)
{
	for (size_t i = 0; i < target->subjects.count; i++) {
		generator_free(target->list[i].generator);
		schema_free(target->list[i].input);
		value_done(&target->list[i].input_value);
		free(target->list[i].name);
		free(target->list[i].problem);
	}
	strings_done(&target->remarks);
	strings_done(&target->log);
}

static inline void fake_fail(const struct fake_call *call, struct reply *reply, const char *message)
{
	(void)snprintf(call->session->message, sizeof(call->session->message), "%s", message);
	reply->message = call->session->message;
	reply->kind = REPLY_FAILED;
}

static inline void fake_crash(const struct fake_call *call, struct reply *reply)
{
	reply->kind = REPLY_ENDED;
	call->session->ended = true;
}

static inline void fake_say(const struct fake_call *call, struct reply *reply, const char *text)
{
	reply->len = (size_t)snprintf(call->session->words, sizeof(call->session->words), "%s", text);
	reply->text = call->session->words;
}

/* ---- target.h ---- */

const char *target_mode_kind(enum target_mode mode)
{
	(void)mode;
	return "tool-lines";
}

enum target_mode target_mode(const struct target *target)
{
	(void)target;
	return TARGET_LINES;
}

const struct cell_spec *target_spec(const struct target *target)
{
	static const char *const argv[] = {"fake", "--serve", NULL};
	static const struct cell_spec spec = {.image = "host", .argv = argv};

	(void)target;
	return &spec;
}

struct loop *target_loop(const struct target *target)
{
	(void)target;
	return NULL;
}

const struct subjects *target_subjects(const struct target *target)
{
	return &target->subjects;
}

const char *target_name(const struct target *target)
{
	(void)target;
	return "fake";
}

const struct strings *target_remarks(const struct target *target)
{
	return &target->remarks;
}

struct session *session_open(struct target *target, struct err *err)
{
	if (target->no_cells) {
		(void)err_set(err, ERR_MISSING, "no cell can be had");
		return NULL;
	}
	struct session *session = xcalloc(1, sizeof(*session));
	session->target = target;
	return session;
}

struct session *session_free(struct session *session)
{
	if (session)
		value_done(&session->output);
	free(session);
	return NULL;
}

void session_restart(struct session *session)
{
	memset(session->state, 0, sizeof(session->state));
	session->calls = 0;
	session->restarts++;
}

int session_begin(struct session *session, const struct subject *subject, const char *input, size_t len, struct err *err)
{
	struct target *target = session->target;
	struct fake_call call = {.subject = subject->name, .text = input, .len = len, .session = session};
	own(value_done) struct value value = {0};
	struct reply *reply = &session->seen.reply;

	if (session->ended)
		session_restart(session);
	session->ended = false;
	target->calls++;
	session->calls++;
	if (target->logged) {
		own(freep) char *line = xfmt("%s %.*s", subject->name, (int)len, input);
		strings_add(&target->log, line);
	}
	if (!target->unread) {
		if (json_read(input, len, &schema_text_limits, NULL, &value, err) < 0)
			return -1;
		call.input = &value;
	}
	value_done(&session->output);
	session->seen = (struct exchange){.reply = {.text = "", .message = "", .said = ""}};
	target->behave(&call, reply);
	session->seen.ended = session->ended;
	session->seen.calls = session->calls;
	session->begun = true;
	return 0;
}

const struct exchange *session_poll(struct session *session)
{
	return session->begun ? &session->seen : NULL;
}

const struct exchange *session_call(struct session *session, const struct subject *subject, const char *input, size_t len, struct err *err)
{
	return session_begin(session, subject, input, len, err) < 0 ? NULL : &session->seen;
}

bool session_sees_effects(const struct session *session)
{
	return !session->target->blind;
}

uint64_t session_restarts(const struct session *session)
{
	return session->restarts;
}

/* ---- oracle.h ---- */

void verdicts_done(struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++) {
		free(verdicts->list[i].message);
		free(verdicts->list[i].shape);
		free(verdicts->list[i].file);
		strings_done(&verdicts->list[i].evidence);
		strings_done(&verdicts->list[i].frames);
	}
	free(verdicts->list);
	*verdicts = (struct verdicts){0};
}

static inline void fake_verdict(struct verdicts *ret, const char *oracle, const char *message)
{
	ret->list = xrealloc(ret->list, ret->count + 1, sizeof(*ret->list));
	ret->list[ret->count] = (struct verdict){.oracle = oracle, .message = xstrdup(message)};
	strings_add(&ret->list[ret->count++].evidence, message);
}

const struct oracle oracles[] = {
	{.name = "crash"}, {.name = "exception"}, {.name = "hang"}, {.name = "accepted"}, {.name = "unstable"},
	{.name = "command", .needs_effects = true}, {0},
};

bool oracle_in(oracle_set set, const char *name)
{
	for (size_t i = 0; oracles[i].name; i++) {
		if (strcmp(oracles[i].name, name) == 0)
			return set >> i & 1;
	}
	return false;
}

void oracle_judge(const struct observation *seen, oracle_set set, struct verdicts *ret)
{
	if (seen->reply.kind == REPLY_ENDED)
		fake_verdict(ret, "crash", "it ended");
	if (seen->reply.kind == REPLY_FAILED)
		fake_verdict(ret, "exception", seen->reply.message);
	if (seen->reply.text && memmem(seen->reply.text, seen->reply.len, "planted", 7))
		fake_verdict(ret, "secret", "it tells what was planted");
	if (seen->reply.kind == REPLY_LATE)
		fake_verdict(ret, "hang", "no answer");
	if (seen->malformed && seen->reply.kind == REPLY_OK && seen->violation)
		fake_verdict(ret, "accepted", "it took what does not fit");
	if (oracle_in(set, "unstable") && seen->before &&
		(seen->before_len != seen->reply.len || memcmp(seen->before, seen->reply.text, seen->reply.len) != 0))
		fake_verdict(ret, "unstable", "two answers differ");
}

#endif
