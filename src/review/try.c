#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json_read.h"
#include "base/term.h"
#include "review/observe/scene.h"

#define WORDS_MAX 128
#define RESULT_MAX ((size_t)1 << 20)
#define GONE_MS 3000 /* processes of a cell must have ended by then */
#define END_MS 5000 /* what a hotcell that is told to end has for tidying up */
#define REASON_MAX 600
#define NO_SUCH_ATTACK 99 /* what the program exits with that was asked for what it does not have */

/* ---- verdicts ---- */

static bool same_cause(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

/* An escape outweighs everything, and a failure what is not an escape. */
static void conclude(struct review_try *try, enum review_verdict verdict, const char *format, va_list args)
{
	static const int weights[REVIEW_VERDICT_COUNT] = {
		[REVIEW_ESCAPED] = 3, [REVIEW_FAILED] = 2, [REVIEW_NOT_APPLICABLE] = 1};
	own(buf_done) struct buf line = {0};
	char text[400];

	if (weights[verdict] <= weights[try->verdict])
		return;
	(void)vsnprintf(text, sizeof(text), format, args);
	term_line(text, strlen(text), REASON_MAX, &line); /* it may quote what an attack printed */
	try->verdict = verdict;
	free(try->reason);
	try->reason = xstrdup(buf_text(&line));
}

/* Keeps the first of each cause: one that nothing explains must not hide behind another. */
static void escape(struct review_try *try, const char *cause, const char *format, va_list args)
{
	size_t count = try->held.escape_count, at = 0;
	va_list again;

	while (at < count && at < ARRAY_LEN(try->held.escapes) && !same_cause(try->held.escapes[at].cause, cause))
		at++;
	if (at == count && at < ARRAY_LEN(try->held.escapes)) {
		va_copy(again, args);
		try->held.escapes[at].cause = cause;
		(void)vsnprintf(try->held.escapes[at].reason, sizeof(try->held.escapes[at].reason), format, again);
		va_end(again);
	}
	if (at == count || at == ARRAY_LEN(try->held.escapes))
		try->held.escape_count = at + 1;
	conclude(try, REVIEW_ESCAPED, format, args);
}

void try_escaped(struct review_try *try, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	escape(try, NULL, format, args);
	va_end(args);
}

void try_escaped_for(struct review_try *try, const char *protections, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	escape(try, protections, format, args);
	va_end(args);
}

void try_not_applicable(struct review_try *try, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	conclude(try, REVIEW_NOT_APPLICABLE, format, args);
	va_end(args);
}

void try_failed(struct review_try *try, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	conclude(try, REVIEW_FAILED, format, args);
	va_end(args);
}

/* ---- the command line ---- */

struct words {
	char *items[WORDS_MAX + 1];
	size_t count;
};

static void words_done(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
}

static void put_word(struct words *words, char *word)
{
	if (words->count < WORDS_MAX)
		words->items[words->count++] = word;
	else
		free(word);
}

static void put_words(struct words *words, const struct review_try *try, const char *text)
{
	own(freep) char *copy = xstrdup(text ? text : "");
	char *rest = copy;

	for (char *word; (word = strsep(&rest, " "));) {
		own(buf_done) struct buf full = {0};
		if (!*word)
			continue;
		scene_expand(try->scene, try, word, &full);
		put_word(words, xstrdup(buf_text(&full)));
	}
}

static char *expanded(const struct review_try *try, const char *text)
{
	struct buf full = {0};

	scene_expand(try->scene, try, text, &full);
	return full.data ? buf_take(&full) : xstrdup("");
}

static void put_command(struct words *words, const struct review_try *try, const struct try_command *command)
{
	put_word(words, xstrdup("--"));
	if (command->words) {
		for (const char *const *word = command->words; *word; word++)
			put_word(words, expanded(try, *word));
	} else if (command->shell || command->python) {
		put_word(words, xstrdup(command->shell ? "/bin/sh" : "python3"));
		put_word(words, xstrdup("-c"));
		put_word(words, expanded(try, command->shell ? command->shell : command->python));
		put_word(words, xstrdup(try->mark));
	} else {
		put_word(words, try->outside ? xfmt("%s/attack", scene_program(try->scene)) : xstrdup("/review/attack"));
		put_word(words, xstrdup(try->mark));
		put_words(words, try, command->program);
	}
}

static void put_line(struct words *words, const struct review_try *try, const struct try_command *command, bool reports)
{
	put_word(words, xstrdup(try->options->hotcell));
	put_words(words, try, command->verb ? command->verb : "run");
	put_word(words, xfmt("--backend=%s", try->options->backend));
	if (try->options->image)
		put_word(words, xfmt("--image=%s", try->options->image));
	if (try->gentle)
		put_word(words, xstrdup("--env=ATTACK_GENTLE=1"));
	if (reports)
		put_word(words, xfmt("--json-file=%s/%s.json", scene_folder(try->scene), try->mark + 1));
	if (!try->outside) /* which has no mounts, and sees the host's files */
		put_word(words, xfmt("--mount=%s:/review", scene_program(try->scene)));
	put_words(words, try, command->flags);
	put_command(words, try, command);
}

/* ---- running ---- */

struct pipes {
	int out, err;
};

static void pipes_done(struct pipes *pipes)
{
	fd_close(&pipes->out);
	fd_close(&pipes->err);
}

/* In a process group of its own: what is typed at the terminal comes to us, and from us to it, once. */
_Noreturn static void become(const struct review_try *try, char *const *argv, int in, int out, int err)
{
	scene_child(try->scene, SIGTERM);
	(void)setpgid(0, 0);
	(void)signal(SIGPIPE, SIG_DFL);
	if (try->enter && !try->enter(try))
		_exit(127);
	(void)dup2(in >= 0 ? in : open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	if (strcmp(argv[0], try->options->hotcell) == 0) {
		scene_lend(try->scene);
		(void)setenv("REVIEW_TOKEN", scene_token(try->scene), 1);
		if (try->options->weaken)
			(void)setenv("HOTCELL_WEAKEN", try->options->weaken, 1);
	}
	(void)execvp(argv[0], argv);
	_exit(127);
}

/* A terminal that changes nothing of what is written to it. */
static int start_on_terminal(struct review_try *try, char *const *argv, struct pipes *ret)
{
	struct termios raw;
	char name[64];

	ret->out = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ret->out < 0 || grantpt(ret->out) < 0 || unlockpt(ret->out) < 0 || ptsname_r(ret->out, name, sizeof(name)) != 0) {
		try_failed(try, "no terminal: %s", strerror(errno));
		return -1;
	}
	own(fd_closep) int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || tcgetattr(slave, &raw) < 0) {
		try_failed(try, "no terminal: %s", strerror(errno));
		return -1;
	}
	cfmakeraw(&raw);
	(void)tcsetattr(slave, TCSANOW, &raw);
	pid_t pid = fork();
	if (pid == 0) {
		(void)setsid();
		(void)ioctl(slave, TIOCSCTTY, 0);
		become(try, argv, slave, slave, slave);
	}
	if (pid < 0) {
		try_failed(try, "no process: %s", strerror(errno));
		return -1;
	}
	try->hotcell = pid;
	return 0;
}

static int start(struct review_try *try, char *const *argv, struct pipes *ret)
{
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) < 0) {
		try_failed(try, "no pipe: %s", strerror(errno));
		return -1;
	}
	if (pipe2(err, O_CLOEXEC) < 0) {
		try_failed(try, "no pipe: %s", strerror(errno));
		(void)close(out[0]), (void)close(out[1]);
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0)
		become(try, argv, -1, out[1], err[1]);
	(void)close(out[1]), (void)close(err[1]);
	ret->out = out[0], ret->err = err[0];
	if (pid < 0) {
		try_failed(try, "no process: %s", strerror(errno));
		pipes_done(ret);
		return -1;
	}
	try->hotcell = pid;
	return 0;
}

/* Beyond what is kept only the token is looked for, also where two pieces meet. */
static void look_beyond(struct review_try *try, int stream, const char *bytes, size_t len)
{
	char *carry = try->held.carry[stream];
	size_t size = sizeof(try->held.carry[stream]), *held = &try->held.carry_len[stream];
	own(buf_done) struct buf joined = {0};

	buf_add(&joined, carry, *held);
	buf_add(&joined, bytes, len);
	try->leaked = try->leaked || scene_has_token(try->scene, joined.data, joined.len);
	*held = joined.len < size ? joined.len : size;
	memcpy(carry, joined.data + joined.len - *held, *held);
}

static void take(struct review_try *try, int *fd, int stream)
{
	struct buf *into = stream ? &try->err : &try->out;
	char chunk[65536];
	ssize_t got = read(*fd, chunk, sizeof(chunk));

	if (got <= 0) {
		if (got == 0 || errno != EINTR)
			fd_close(fd);
		return;
	}
	*(stream ? &try->err_bytes : &try->out_bytes) += (uint64_t)got;
	size_t room = into->len < TRY_OUTPUT_MAX ? TRY_OUTPUT_MAX - into->len : 0;
	size_t kept = (size_t)got < room ? (size_t)got : room;
	buf_add(into, chunk, kept);
	if (kept < (size_t)got) {
		size_t before = try->held.carry_len[stream] || into->len < sizeof(try->held.carry[0]) ? 0 : sizeof(try->held.carry[0]);
		if (before)
			look_beyond(try, stream, into->data + into->len - before, before);
		look_beyond(try, stream, chunk + kept, (size_t)got - kept);
	}
}

/* Whether the line "ready" has come; what was looked at is not looked at again. */
static bool is_ready(struct review_try *try)
{
	static const char line[] = "ready\n";
	const struct buf *out = &try->out;
	const size_t len = sizeof(line) - 1;

	for (size_t at = try->held.ready_from; at + len <= out->len; at++) {
		const char *next = memchr(out->data + at, 'r', out->len - at);
		at = next ? (size_t)(next - out->data) : out->len;
		if (at + len <= out->len && (at == 0 || out->data[at - 1] == '\n') && memcmp(out->data + at, line, len) == 0)
			return true;
	}
	try->held.ready_from = out->len > len ? out->len - len : 0;
	return false;
}

/* Waits for descriptors (-1: none), at most so long; also whether the user wants no more. */
static bool wait_on(struct review_try *try, struct pollfd *polled, size_t count, uint64_t ns)
{
	struct pollfd all[3] = {{.fd = try->options->stop ? *try->options->stop : -1, .events = POLLIN}};

	for (size_t i = 0; i < count; i++) /* which may be none, of NULL */
		all[1 + i] = polled[i];
	if (poll(all, 1 + (nfds_t)count, (int)(ns / NS_PER_MS) + 1) < 0) {
		for (size_t i = 0; i < count; i++)
			polled[i].revents = 0;
		return errno == EINTR;
	}
	for (size_t i = 0; i < count; i++)
		polled[i] = all[1 + i];
	try->stopped = try->stopped || all[0].revents;
	return !try->stopped;
}

static bool is_over(const struct review_try *try)
{
	return try->until && clock_now() >= try->until;
}

bool try_sleep(struct review_try *try, unsigned ms)
{
	uint64_t until = clock_now() + ms * NS_PER_MS;

	for (uint64_t now; !try->stopped && (now = clock_now()) < until;)
		if (is_over(try) || !wait_on(try, NULL, 0, until - now))
			return false;
	return !try->stopped && !is_over(try);
}

/* Reads until both ends are closed or time is up; false then. */
static bool listen_to(struct review_try *try, struct pipes *pipes, uint64_t until, void (*during)(struct review_try *))
{
	while (pipes->out >= 0 || pipes->err >= 0) {
		struct pollfd polled[2] = {{.fd = pipes->out, .events = POLLIN}, {.fd = pipes->err, .events = POLLIN}};
		uint64_t now = clock_now();
		if (now >= until || !wait_on(try, polled, 2, until - now))
			return false;
		if (polled[0].revents)
			take(try, &pipes->out, 0);
		if (polled[1].revents)
			take(try, &pipes->err, 1);
		if (during && is_ready(try)) {
			during(try);
			during = NULL;
		}
	}
	return true;
}

/* Its exit code; -N: a signal ended it. Who has not ended by then is killed. */
static int wait_for(struct review_try *try, uint64_t until)
{
	int status = 0;

	for (;;) {
		pid_t got = waitpid(try->hotcell, &status, WNOHANG);
		if (got == try->hotcell || (got < 0 && errno != EINTR))
			break;
		if (clock_now() >= until) {
			(void)kill(try->hotcell, SIGKILL);
			(void)waitpid(try->hotcell, &status, 0);
			break;
		}
		(void)poll(NULL, 0, 1);
	}
	try->hotcell = 0;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void forget(struct review_try *try)
{
	try->out.len = try->err.len = 0;
	if (try->out.data)
		try->out.data[0] = '\0';
	if (try->err.data)
		try->err.data[0] = '\0';
	try->out_bytes = try->err_bytes = 0;
	try->held.carry_len[0] = try->held.carry_len[1] = try->held.ready_from = 0;
	try->leaked = false;
	value_done(&try->result);
}

static void read_result(struct review_try *try)
{
	static const struct json_limits limits = {.bytes = RESULT_MAX, .values = 100000, .depth = 32};
	own(freep) char *path = xfmt("%s/%s.json", scene_folder(try->scene), try->mark + 1);
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, path, RESULT_MAX, &text, &err) == 0 && text.len > 0)
		(void)!json_read(text.data, text.len, &limits, NULL, &try->result, &err);
	(void)unlink(path);
}

static bool may_run(struct review_try *try)
{
	if (is_over(try))
		try_failed(try, "its time was over before it was done");
	return !is_over(try) && !try->stopped;
}

/* To the end, or the end of its time. */
static bool run_words(struct review_try *try, char *const *argv, const struct try_command *command)
{
	own(pipes_done) struct pipes pipes = {-1, -1};
	const uint64_t patience = try->gentle ? TRY_GENTLE_MS : TRY_TIMEOUT_MS;
	uint64_t begun = clock_now(), until = begun + patience * NS_PER_MS;

	forget(try);
	if (!may_run(try) || (command->terminal ? start_on_terminal : start)(try, argv, &pipes) < 0)
		return false;
	bool ended = listen_to(try, &pipes, until, command->during);
	if (!ended && try->hotcell > 0)
		(void)kill(try->hotcell, SIGTERM); /* its chance to tidy up */
	try->status = wait_for(try, ended ? until : clock_now() + END_MS * NS_PER_MS);
	try->wall_ns = clock_now() - begun;
	if (!ended && !try->stopped)
		try_escaped_for(try, "", "hotcell did not end within %d s", (int)(patience / 1000));
	return !try->stopped;
}

int try_run(struct review_try *try, const struct try_command *command)
{
	own(words_done) struct words words = {0};

	put_line(&words, try, command, true);
	if (words.count == WORDS_MAX) {
		try_failed(try, "its command line has too many words");
		return -1;
	}
	if (!run_words(try, words.items, command))
		return -1;
	read_result(try);
	return 0;
}

pid_t try_beside(struct review_try *try, const struct try_command *command)
{
	own(words_done) struct words words = {0};
	own(fd_closep) int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	put_line(&words, try, command, false);
	pid_t pid = fork();
	if (pid == 0)
		become(try, words.items, -1, nowhere, nowhere);
	if (pid < 0)
		try_failed(try, "no process: %s", strerror(errno));
	return pid;
}

int try_host(struct review_try *try, const char *const *argv, struct buf *ret)
{
	if (!run_words(try, (char *const *)(uintptr_t)argv, &(struct try_command){0}))
		return -1;
	buf_add(ret, buf_text(&try->out), try->out.len);
	return try->status;
}

int try_host_terminal(struct review_try *try, const char *const *argv)
{
	return run_words(try, (char *const *)(uintptr_t)argv, &(struct try_command){.terminal = true}) ? try->status : -1;
}

/* ---- judging ---- */

/* How the run ended, in the words of a row's outcomes. A signal that a program of ours brings on itself by an error is a
 * crash: it must not pass for one that was ended. */
static const char *ending(const struct review_try *try)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
	const char *outcome = try_result(try, "outcome");
	uint64_t number = try_result_number(try, "signal");

	if (!outcome)
		return NULL;
	for (size_t i = 0; strcmp(outcome, "signaled") == 0 && i < ARRAY_LEN(crashes); i++)
		if (number == (uint64_t)crashes[i])
			return "crashed";
	return outcome;
}

static void judge_outcome(struct review_try *try)
{
	const char *outcome = ending(try), *wanted = try->attack->outcomes;
	bool exited = outcome && strcmp(outcome, "exited") == 0;
	uint64_t code = try_result_number(try, "exit_code");
	own(buf_done) struct buf said = {0};

	buf_add(&said, buf_text(&try->err), try->err.len < 200 ? try->err.len : 200);
	if (try->verdict == REVIEW_ESCAPED)
		return;
	if (!outcome)
		try_failed(try, "hotcell gave no result and ended with %d: %s", try->status, buf_text(&said));
	else if (strcmp(outcome, "setup-failed") == 0 && !review_names(wanted, outcome))
		try_failed(try, "there was no cell: %s", buf_text(&said));
	else if (strcmp(outcome, "crashed") == 0 && !review_names(wanted, outcome))
		try_failed(try, "the attack itself crashed (signal %s)", try_result(try, "signal"));
	else if (wanted && !review_names(wanted, outcome))
		try_escaped(try, "the run ended as '%s', not as '%s'", outcome, wanted);
	else if (exited && (code >= 126 || code == NO_SUCH_ATTACK || (!wanted && code != 0)))
		try_failed(try, "the attack itself failed (exit code %s): %s", try_result(try, "exit_code"), buf_text(&said));
	else if (!exited && !wanted)
		try_failed(try, "the attack itself failed (%s): %s", outcome, buf_text(&said));
}

/* No process with the mark may be there once hotcell has ended; a little time is given to those about to die. */
static void judge_left(struct review_try *try)
{
	uint64_t until = clock_now() + GONE_MS * NS_PER_MS;
	pid_t left[16];
	size_t count;

	while ((count = try_processes(try, left, ARRAY_LEN(left))) > 0) {
		if (clock_now() < until && wait_on(try, NULL, 0, 10 * NS_PER_MS))
			continue;
		try_escaped_for(try, "pid-namespace", "%zu of its processes were left on the host", count);
		for (size_t i = 0; i < count; i++)
			(void)kill(left[i], SIGKILL);
		return;
	}
}

void try_judge(struct review_try *try)
{
	if (try->stopped)
		return;
	scene_look(try->scene, try);
	try_judge_said(try);
	judge_outcome(try);
	judge_left(try);
	if (try->tries < try->attack->tries)
		try_failed(try, "it told of %u tries, not of %u", try->tries, try->attack->tries);
}

/* ---- one row ---- */

static bool applies(struct review_try *try)
{
	if (try->attack->harsh && try->gentle)
		try_not_applicable(try, "outside of a whole cell it would harm this machine");
	return try->verdict == REVIEW_HELD;
}

static void folder_make(struct review_try *try)
{
	try->dir = xfmt("%s/%s", scene_folder(try->scene), try->mark + 1);
	if (mkdir(try->dir, 0755) < 0 || chmod(try->dir, 0777) < 0)
		try_failed(try, "make '%s': %s", try->dir, strerror(errno));
}

void try_attack(struct review_try *try)
{
	const struct review_attack *attack = try->attack;
	const struct try_command command = {.flags = attack->flags, .program = attack->program, .shell = attack->shell,
		.python = attack->python, .during = attack->during};
	uint64_t begun = clock_now();

	if (!applies(try))
		return;
	try->until = begun + (attack->alone ? TRY_ALONE_MS : 2 * TRY_TIMEOUT_MS) * NS_PER_MS;
	folder_make(try);
	if (attack->before)
		attack->before(try);
	if (try->verdict == REVIEW_HELD && attack->alone) {
		attack->alone(try);
	} else if (try->verdict == REVIEW_HELD && try_run(try, &command) == 0) {
		try_judge(try);
		if (attack->judge)
			attack->judge(try);
	}
	try->wall_ns = clock_now() - begun;
}

void try_done(struct review_try *try)
{
	struct err err;

	if (try->own && try->forget)
		try->forget(try);
	if (try->dir)
		(void)!fs_remove_tree(AT_FDCWD, try->dir, &err);
	free(try->dir);
	free(try->reason);
	buf_done(&try->out);
	buf_done(&try->err);
	value_done(&try->result);
}
