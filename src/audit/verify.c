/* The reader: every line against the one before it, and the end against the head. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/chain.h"
#include "base/beneath.h"

/* ---- lines ---- */

struct lines {
	int fd;
	struct buf held;
	size_t at; /* what was given already */
	bool ended; /* nothing more to read */
};

static void lines_done(struct lines *lines)
{
	fd_close(&lines->fd);
	buf_done(&lines->held);
}

static int lines_open(struct lines *lines, const char *path, struct err *err)
{
	own(freep) char *folder = NULL;
	own(freep) char *name = beneath_split(path, &folder);
	struct stat st;

	if (beneath_is_held(folder)) { /* a state folder's own; any other file may be named by a link */
		own(fd_closep) int state = beneath_root(folder, err);
		lines->fd = state < 0 ? -1 : beneath_open(state, name, O_RDONLY, 0, err);
		return lines->fd < 0 ? err_wrap(err, "open the audit log") : 0;
	}
	lines->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (lines->fd < 0 || fstat(lines->fd, &st) < 0)
		return err_errno(err, errno, "open the audit log '%s'", path);
	return S_ISREG(st.st_mode) ? 0 : err_set(err, ERR_USAGE, "'%s' is not a regular file", path);
}

static int lines_fill(struct lines *lines, struct err *err)
{
	char bytes[65536];
	ssize_t got = read(lines->fd, bytes, sizeof(bytes));

	if (got < 0 && errno == EINTR)
		return 0;
	if (got < 0)
		return err_errno(err, errno, "read the audit log");
	lines->ended = got == 0;
	if (lines->at > 0) {
		lines->held.len -= lines->at;
		memmove(lines->held.data, lines->held.data + lines->at, lines->held.len);
		lines->at = 0;
	}
	if (got > 0)
		buf_add(&lines->held, bytes, (size_t)got);
	return 0;
}

struct piece {
	const char *bytes;
	size_t len;
	bool whole; /* a newline follows; else it is the end, or more than a line may be */
};

/* 1: a piece; 0: the end; -1: error. */
static int lines_next(struct lines *lines, struct piece *ret, struct err *err)
{
	for (size_t seen = 0;;) {
		const char *from = buf_text(&lines->held) + lines->at;
		size_t left = lines->held.len - lines->at;
		const char *end = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
		size_t len = end ? (size_t)(end - from) : left;
		if (end || (lines->ended && left > 0) || left >= CHAIN_LINE_MAX) {
			*ret = (struct piece){.bytes = from, .len = len, .whole = end};
			lines->at += len + (end != NULL);
			return 1;
		}
		if (lines->ended)
			return 0;
		seen = left;
		if (lines_fill(lines, err) < 0)
			return -1;
	}
}

int audit_each(const char *path, audit_line_fn *fn, void *data, struct err *err)
{
	own(lines_done) struct lines lines = {.fd = -1};
	struct piece piece;
	int rc, said = 0;

	if (lines_open(&lines, path, err) < 0)
		return -1;
	for (uint64_t number = 1; said == 0 && (rc = lines_next(&lines, &piece, err)) != 0; number++) {
		struct chain_line line;
		if (rc < 0)
			return -1;
		bool good = chain_read(piece.bytes, piece.len, &line);
		said = fn(data, number, good ? &line.value : NULL, piece.bytes, piece.len);
		if (good)
			value_done(&line.value);
	}
	return said;
}

/* ---- the chain ---- */

struct verifier {
	struct audit_report *report;
	audit_problem_fn *fn;
	void *data;
	const struct audit_head *outside;
	struct audit_head beside; /* seq 0: none */
	bool beside_met, outside_met;
	uint64_t number; /* of the line */
	struct buf odd; /* lines that are none, with their newlines; a later one may account for them */
	uint64_t odd_line;
	bool odd_too_long;
};

static void problem(struct verifier *it, uint64_t line, const char *format, ...) PRINTF_LIKE(3, 4);
static void problem(struct verifier *it, uint64_t line, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	it->report->problems++;
	it->fn(it->data, line, text);
}

static void odd_add(struct verifier *it, const struct piece *piece)
{
	if (it->odd.len == 0)
		it->odd_line = it->number;
	it->odd_too_long = it->odd_too_long || it->odd.len + piece->len > CHAIN_LINE_MAX;
	if (!it->odd_too_long)
		buf_add(&it->odd, piece->bytes, piece->len);
	if (!it->odd_too_long && piece->whole)
		buf_char(&it->odd, '\n');
	if (it->odd.len == 0)
		it->odd_too_long = true; /* remembered all the same */
}

static bool odd_any(const struct verifier *it)
{
	return it->odd.len > 0 || it->odd_too_long;
}

/* A record follows: does it account for what stands in front of it? */
static void odd_settle(struct verifier *it, const struct chain_line *line)
{
	own(buf_done) struct buf torn = {0};
	bool kept = line && chain_torn(&line->value, &torn), same = false;

	if (kept && !it->odd_too_long && torn.len > 0 && it->odd.len >= torn.len &&
		memcmp(it->odd.data, torn.data, torn.len) == 0)
		same = it->odd.len == torn.len || (it->odd.len == torn.len + 1 && it->odd.data[torn.len] == '\n');
	if (kept && same)
		it->report->torn++;
	else if (odd_any(it))
		problem(it, it->odd_line, "is no record: it was edited, or put in");
	else if (kept)
		problem(it, it->number, "tells of a torn line in front of it that is not there: it was dropped");
	it->odd.len = 0;
	it->odd_too_long = false;
}

static void check_link(struct verifier *it, const struct chain_line *line)
{
	const struct audit_head *before = &it->report->head;
	uint64_t next = before->seq + 1;
	unsigned long long seq = line->seq, expected = next;

	if (line->seq > next && expected + 1 == seq)
		problem(it, it->number, "has number %llu where %llu is next: a line before it was dropped", seq, expected);
	else if (line->seq > next)
		problem(it, it->number, "has number %llu where %llu is next: the lines between them were dropped", seq, expected);
	else if (line->seq < next)
		problem(it, it->number, "has number %llu where %llu is next: out of order, or put in", seq, expected);
	else if (memcmp(line->prev, before->sum, sizeof(line->prev)) != 0 && it->number > 1)
		problem(it, it->number - 1, "was edited: the line behind it has another sum");
	else if (memcmp(line->prev, before->sum, sizeof(line->prev)) != 0)
		problem(it, it->number, "does not begin a log: it has the sum of a line before it");
}

static void check_head(struct verifier *it, const struct audit_head *head, const char *whose, bool *met)
{
	const struct audit_head *now = &it->report->head;

	if (*met || head->seq != now->seq)
		return;
	*met = true;
	if (memcmp(head->sum, now->sum, sizeof(now->sum)) != 0)
		problem(it, it->number, "was edited: it is not what the head %s says", whose);
}

static void take(struct verifier *it, const struct piece *piece)
{
	struct chain_line line;

	it->number++;
	if (!piece->whole || !chain_read(piece->bytes, piece->len, &line)) {
		odd_add(it, piece);
		return;
	}
	odd_settle(it, &line);
	check_link(it, &line);
	chain_head_of(piece->bytes, piece->len, line.seq, &it->report->head);
	it->report->lines++;
	it->report->unheaded += it->beside_met;
	check_head(it, &it->beside, "beside it", &it->beside_met);
	if (it->outside)
		check_head(it, it->outside, "you gave", &it->outside_met);
	value_done(&line.value);
}

/* What is left at the end, if it does not end with a newline, was torn off its writer. */
static void settle_end(struct verifier *it, bool unended)
{
	if (odd_any(it) && unended && !it->odd_too_long)
		it->report->torn_end = it->odd.len;
	else if (odd_any(it))
		odd_settle(it, NULL);
}

static void check_end(struct verifier *it, const struct audit_head *head, const char *whose, bool met)
{
	if (head->seq > it->report->head.seq && it->number == 0)
		problem(it, 0, "is empty, and the head %s says %llu: all of it was cut off", whose, (unsigned long long)head->seq);
	else if (head->seq > it->report->head.seq)
		problem(it, it->number, "is the last: it has number %llu, and the head %s says %llu: the end was cut off",
			(unsigned long long)it->report->head.seq, whose, (unsigned long long)head->seq);
	else if (!met)
		problem(it, it->number, "is the last, and none has number %llu, which the head %s says",
			(unsigned long long)head->seq, whose);
}

/* A log is made together with its first line: one without any was emptied, or its first writer did not get so far, which
 * nobody can tell from outside. */
static void check_headless(struct verifier *it)
{
	if (it->report->lines > 0)
		problem(it, it->number, "is the last that is there: the head beside it is missing, so more may have been");
	else if (it->number > 0)
		problem(it, it->number, "is all there is, and no record; the head beside it is missing, too: the lines of this log were cut off");
	else
		problem(it, 0, "is empty, and the head beside it is missing: the lines of this log were cut off, or none was ever written");
}

/* Something is there, and nothing says that it was ever a log: neither a record, nor a head, nor the beginning of a line. */
static bool is_other_file(const struct verifier *it)
{
	if (it->report->lines > 0 || !it->report->headless || it->outside || !odd_any(it))
		return false;
	return it->odd.len == 0 || !chain_begins(it->odd.data, it->odd.len);
}

static void verifier_done(struct verifier *it)
{
	buf_done(&it->odd);
}

int audit_verify(const char *path, const struct audit_head *outside, audit_problem_fn *fn, void *data,
	struct audit_report *ret, struct err *err)
{
	own(lines_done) struct lines lines = {.fd = -1};
	own(verifier_done) struct verifier it = {.report = ret, .fn = fn, .data = data, .outside = outside};
	struct piece piece = {.whole = true};
	int rc;

	*ret = (struct audit_report){0};
	/* the head first: one that is moved while we read only says less */
	int head = chain_head_load(path, &it.beside, err);
	if (head < 0 || lines_open(&lines, path, err) < 0)
		return -1;
	ret->headless = head > 0;
	if (ret->headless)
		it.beside.seq = 0;
	while ((rc = lines_next(&lines, &piece, err)) > 0)
		take(&it, &piece);
	if (rc < 0)
		return -1;
	if (is_other_file(&it))
		return err_set(err, ERR_USAGE, "'%s' is no audit log: it has no record and no head", path);
	settle_end(&it, !piece.whole);
	if (!ret->headless)
		check_end(&it, &it.beside, "beside it", it.beside_met);
	else if (!outside)
		check_headless(&it);
	if (outside)
		check_end(&it, outside, "you gave", it.outside_met);
	return 0;
}
