/* From an engine's last words to a finding. Pure; the words are a stranger's. */
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "fuzz/function/core/run.h"
#include "oracle/oracle.h"

#define MESSAGE_MAX 300
#define EVIDENCE_LINES 40
#define LINE_MAX_SHOWN 240
#define PANIC_WORDS 6u
#define JAZZER_JS "=== Jazzer.js bug detector: ===\n" /* our harness says so; the detector's own name follows */
#define JAVA_MARK "== Java Exception: "
#define JAVA_ISSUE JAVA_MARK "com.code_intelligence.jazzer.api.FuzzerSecurityIssue"

/* A line that says what happened, one row each; the first row that is there counts. */
static const struct {
	const char *mark; /* what is before it on its line */
	const char *oracle;
	const char *before; /* in the message */
	bool next; /* the line after it */
	bool last; /* the last line that is not set in */
	const char *until; /* what comes from here on differs each time; may be NULL */
	const char *more; /* the line behind it begins with this, and more of it follows */
	bool signal; /* its name is told where it is known */
} marks[] = {
	{"ERROR: AddressSanitizer: ", "crash", "AddressSanitizer: ", .until = " on "},
	{"MemorySanitizer: ", "crash", "MemorySanitizer: "},
	{"\nfatal error: runtime: out of memory", "memory", "one input took too much memory"},
	{"\nfatal error: ", "crash", "fatal error: "},
	{"\npanic: ", "exception", "panic: ", .until = " [recovered"},
	{"\n--- FAIL: ", "exception", "failed: "},
	{": runtime error: ", "crash", "undefined behaviour: "},
	{"ERROR: UndefinedBehaviorSanitizer: ", "crash", "", .until = " on "}, /* Rust: it watches for signals */
	{"ERROR: libFuzzer: timeout", "hang", "one input took too long"},
	{"ALARM: working on the last Unit", "hang", "one input took too long"},
	{HANG_MARK, "hang", "one input took too long"},
	{"ERROR: libFuzzer: out-of-memory", "memory", "one input took too much memory"},
	{"=== Uncaught Python exception: ===", "exception", "", .next = true},
	{"Fatal Python error: ", "crash", "Fatal Python error: "},
	{"Traceback (most recent call last)", "exception", "", .last = true},
	{" has overflowed its stack", "crash", "stack-overflow"}, /* Rust's own words, from here on */
	{"memory allocation of ", "memory", "one input asked for too much memory"},
	{"panicked at ", "exception", "", .next = true},
	{"JavaScript heap out of memory", "memory", "one input took too much memory"},
	{JAZZER_JS "Command Injection", "command", "", .next = true},
	{JAZZER_JS "Remote Code Execution", "command", "", .next = true},
	{JAZZER_JS "Server Side Request Forgery", "network", "", .next = true},
	{JAZZER_JS, "exception", "", .next = true},
	{"=== Uncaught JavaScript exception: ===", "exception", "", .next = true},
	{JAVA_ISSUE "Low: Out of memory", "memory", "one input took too much memory"},
	{JAVA_ISSUE "Low: Stack overflow", "exception", "java.lang.StackOverflowError", .until = ""}, /* Jazzer adds how to see it */
	{JAVA_ISSUE "Critical: OS Command Injection", "command", "OS Command Injection", .until = ""},
	{JAVA_ISSUE "High: Remote Code Execution", "command", "Remote Code Execution"},
	{JAVA_ISSUE, "exception", "FuzzerSecurityIssue"},
	{JAVA_MARK "java.lang.OutOfMemoryError", "memory", "one input took too much memory"},
	{JAVA_MARK, "exception", ""},
	{"terminate called after throwing an instance of '", "exception", "", .until = "'", .more = "  what():  "},
	{"terminating with uncaught exception of type ", "exception", ""},
	{"terminating due to uncaught exception of type ", "exception", ""},
	{": Assertion `", "crash", "assertion failed: ", .until = "' failed"},
	{"ERROR: libFuzzer: deadly signal", "crash", "a signal ended it", .signal = true},
	{"ERROR: libFuzzer: fuzz target exited", "crash", "it ended the process"},
	{"ERROR: libFuzzer: ", "crash", ""},
};

static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline : end;
}

/* Python's last line: behind the frames, which are set in. */
static const char *last_line(const char *at, const char *end)
{
	const char *found = at;
	bool framed = false;

	for (at = line_end(at, end); at < end; at = line_end(at + 1, end)) {
		const char *line = at + 1;
		if (line >= end)
			break;
		if (isspace((unsigned char)*line)) {
			framed = framed || *line == ' ';
		} else if (framed) {
			found = line;
			framed = false;
		}
	}
	return found;
}

/* libFuzzer has no name for it. Ours has its number; else what is on the stack may tell. */
static void put_signal(const char *at, const char *end, struct buf *text)
{
	int number = at + 2 < end && memcmp(at, " (", 2) == 0 ? atoi(at + 2) : 0;
	const char *name = number > 0 && number < NSIG ? sigabbrev_np(number) : NULL;

	if (!name && memmem(at, (size_t)(end - at), " in abort", 9))
		name = sigabbrev_np(SIGABRT);
	if (name)
		buf_fmt(text, ": SIG%s", name);
}

static void put_more(const char *more, const char *at, const char *end, struct buf *text)
{
	size_t len = strlen(more);

	at += at < end; /* the newline */
	if ((size_t)(end - at) <= len || memcmp(at, more, len) != 0)
		return;
	buf_str(text, ": ");
	term_line(at + len, (size_t)(line_end(at, end) - at) - len, MESSAGE_MAX, text);
}

static void put_message(size_t row, const char *at, const char *end, struct finding *ret)
{
	own(buf_done) struct buf text = {0};

	buf_str(&text, marks[row].before);
	if (marks[row].next) {
		at = line_end(at, end);
		at = at < end ? at + 1 : end;
	} else if (marks[row].last) {
		at = last_line(at, end);
	} else {
		at += strlen(marks[row].mark);
	}
	const char *stop = line_end(at, end);
	const char *cut = marks[row].until ? memmem(at, (size_t)(stop - at), marks[row].until, strlen(marks[row].until)) : NULL;
	bool whole = strcmp(marks[row].oracle, "hang") == 0 || strcmp(marks[row].oracle, "memory") == 0;
	if (!whole && !(text.len && strncmp(marks[row].mark, "ERROR: libFuzzer", 16) == 0))
		term_line(at, (size_t)((cut ? cut : stop) - at), MESSAGE_MAX, &text);
	if (marks[row].more)
		put_more(marks[row].more, stop, end, &text);
	if (marks[row].signal)
		put_signal(at, end, &text);
	if (strncmp(buf_text(&text), "MemoryError", 11) == 0) {
		free(ret->oracle);
		ret->oracle = xstrdup("memory");
	}
	ret->message = text.len ? buf_take(&text) : xstrdup("it failed without a word");
}

static bool is_harness_frame(const char *frame)
{
	return strstr(frame, "harness_of_hotcell") || strstr(frame, "hotcell_fuzz_one") ||
		strncmp(frame, "LLVMFuzzerTestOneInput", 22) == 0 || strstr(frame, ".fuzzerTestOneInput (");
}

/* What called the target's code is no part of it. A harness that the user wrote is, where nothing else is left. */
static void drop_harness(struct finding *finding)
{
	struct strings *frames = &finding->frames;
	size_t kept = 0;

	while (kept < frames->count && !is_harness_frame(frames->items[kept]))
		kept++;
	for (size_t i = kept; kept > 0 && i < frames->count; i++) {
		free(frames->items[i]);
		frames->items[i] = NULL;
	}
	frames->count = kept > 0 ? kept : frames->count;
}

/* Go's panics and failed tests have no types that are told, so their words count: up to what is in brackets or quotes, a number or another
 * colon, which is where the input begins to speak. */
static size_t panic_kind(const char *message)
{
	size_t len = strncmp(message, "panic: runtime error: ", 22) == 0 ? 22 : strcspn(message, ":") + 1, words = 0;

	for (; message[len] && !strchr("[:'\"`0123456789", message[len]) && words < PANIC_WORDS; len++)
		words += message[len] == ' ';
	while (len > 5 && (message[len - 1] == ' ' || message[len - 1] == ':'))
		len--;
	return len;
}

/* Up to the first colon; those of C++'s names are none. */
static size_t plain_kind(const char *message)
{
	size_t len = strcspn(message, ":");

	while (message[len] && message[len + 1] == ':')
		len += 2 + strcspn(message + len + 2, ":");
	return len;
}

/* Two kinds of failure in one function are two findings: the kind stands before the frames, of which ids are made. */
static void put_kind(struct finding *finding)
{
	struct strings all = {0};
	const char *message = finding->message;
	bool whole = strncmp(message, "AddressSanitizer: ", 18) == 0 || strncmp(message, "fatal error: ", 13) == 0;
	bool words = strncmp(message, "panic: ", 7) == 0 || strncmp(message, "failed: ", 8) == 0;
	size_t len = whole ? strlen(message) : words ? panic_kind(message) : plain_kind(message);
	own(freep) char *kind = xfmt("%.*s", (int)len, message);

	if (!finding->frames.count)
		return;
	strings_add(&all, kind);
	for (size_t i = 0; i < finding->frames.count; i++)
		strings_add(&all, finding->frames.items[i]);
	strings_done(&finding->frames);
	finding->frames = all;
}

/* A path as the cell has it, on the host. */
static void place_file(const struct function_target *target, struct finding *finding)
{
	static const char root[] = FUNCTION_ROOT "/";
	size_t len = strlen(target->root);

	if (finding->file && strncmp(finding->file, target->root, len) == 0 && finding->file[len] == '/')
		return; /* there was no cell */
	if (finding->file && strncmp(finding->file, root, sizeof(root) - 1) == 0) {
		char *host = xfmt("%s/%s", target->root, finding->file + sizeof(root) - 1);
		free(finding->file);
		finding->file = host;
		return;
	}
	const char *slash = strrchr(target->file, '/'), *name = slash ? slash + 1 : target->file;
	bool own = finding->file && strcmp(finding->file, name) == 0; /* Java has names without folders */
	free(finding->file);
	finding->file = xfmt("%s/%s", target->root, target->file);
	finding->line = own ? finding->line : 0;
}

static bool is_noise(const char *line, size_t len)
{
	return len == 0 || *line == '#' ? !memmem(line, len, " 0x", 3)
					: strncmp(line, "INFO: ", 6) == 0 || strncmp(line, "[INFO]", 6) == 0 ||
			strncmp(line, "WARNING: Failed to find", 23) == 0;
}

static void put_evidence(const char *at, const char *end, struct finding *ret)
{
	while (at < end && ret->evidence.count < EVIDENCE_LINES) {
		const char *stop = line_end(at, end);
		own(buf_done) struct buf line = {0};
		if (!is_noise(at, (size_t)(stop - at))) {
			term_line(at, (size_t)(stop - at), LINE_MAX_SHOWN, &line);
			strings_add(&ret->evidence, buf_text(&line));
		}
		if (stop - at > 9 && memcmp(at, "SUMMARY: ", 9) == 0)
			return; /* what follows is the memory around it */
		at = stop < end ? stop + 1 : end;
	}
}

static const char *by_end(enum engine_end end, const char **ret_message)
{
	*ret_message = end == ENGINE_HANG ? "one input took too long" : end == ENGINE_MEMORY ? "one input took too much memory" :
									"it ended the process";
	return end == ENGINE_HANG ? "hang" : end == ENGINE_MEMORY ? "memory" : "crash";
}

/* What is told first counts: what follows may be words of the target. Of two on one line, the row that stands first does. */
static size_t first_mark(const char *report, size_t len, const char **ret)
{
	const char *line = NULL;
	size_t found = 0;

	*ret = NULL;
	for (size_t row = 0; len && row < ARRAY_LEN(marks); row++) {
		const char *at = memmem(report, len, marks[row].mark, strlen(marks[row].mark)), *begin = at;
		while (begin && begin > report && begin[-1] != '\n')
			begin--;
		if (!at || (line && begin >= line))
			continue;
		*ret = at;
		line = begin;
		found = row;
	}
	return found;
}

bool verdict_read(const struct function_target *target, enum engine_end end, const char *report, size_t len, struct finding *ret)
{
	const char *stop = report + len, *at = NULL, *begin = report;

	if (end == ENGINE_DONE)
		return false;
	size_t row = first_mark(report, len, &at);
	if (at) {
		ret->oracle = xstrdup(marks[row].oracle);
		put_message(row, at, stop, ret);
		at += *at == '\n';
		for (begin = at; begin > report && begin[-1] != '\n';)
			begin--;
	}
	if (!at) {
		const char *message;
		ret->oracle = xstrdup(by_end(end, &message));
		ret->message = xstrdup(message);
	}
	ret->subject = xstrdup(target->function);
	ret->target = xstrdup(target->name);
	ret->kind = xfmt("function-%s", target->language);
	ret->binary = true;
	if (len && strcmp(ret->oracle, "hang") != 0 && strcmp(ret->oracle, "memory") != 0 &&
		text_trace(begin, (size_t)(stop - begin), &ret->frames, &ret->file, &ret->line))
		drop_harness(ret);
	if (message_is_recursion(ret->message))
		recursion_frames(begin, (size_t)(stop - begin), ret);
	put_kind(ret);
	place_file(target, ret);
	put_evidence(begin, stop, ret);
	if (!ret->evidence.count)
		strings_add(&ret->evidence, ret->message);
	finding_identify(ret);
	return true;
}
