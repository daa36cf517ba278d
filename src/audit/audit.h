/* The audit log: an append-only file of JSON lines in which each carries a number and the SHA-256 of the line before it.
 *
 *	{"seq":7,"prev":"<64 digits>","time":"2026-11-16T07:50:58.123Z","event":"cell-end",...}
 *
 * `prev` is the sum of the bytes of the line before, without its newline; 64 zeros in the first. Several processes may
 * write to one log: each append holds its lock and begins where the last one ended. The head, which is the number and
 * the sum of the last line, is kept beside it (audit.jsonl has audit.head): without it nobody could see that lines are
 * missing at the end. Who can write both can make up a whole new log: only a copy of the head that is kept elsewhere
 * tells.
 *
 * Texts are redacted before they are kept even in memory. Events wait until audit_flush, which writes all of them at
 * once. */
#ifndef HOTCELL_AUDIT_AUDIT_H
#define HOTCELL_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/value.h"
#include "redact/redact.h"

/* ---- writing ---- */

struct audit;
/* Opens or makes the file (0600) and says what is wrong with it; writes nothing. The redactor must live on; NULL:
 * nothing is known but shapes. */
MUST_CHECK struct audit *audit_open(const char *path, const struct redactor *redactor, struct err *err);
struct audit *audit_free(struct audit *audit); /* what was not flushed is lost; NULL is fine; returns NULL */
void audit_freep(struct audit **audit);

/* One event: audit_begin, members, audit_end. Numbers and our own words go to the json directly; whatever else is text,
 * with audit_text. */
struct json *audit_begin(struct audit *audit, const char *event);
void audit_text(struct audit *audit, const char *key, const char *text); /* redacted, and cut at AUDIT_TEXT_MAX; NULL: nothing */
void audit_words(struct audit *audit, const char *key, const char *const *words); /* one text, with blanks between them */
void audit_end(struct audit *audit);
#define AUDIT_TEXT_MAX 2000

bool audit_clean(const struct audit *audit); /* nothing waits */
/* Appends what waits. After a failure it still waits. EAGAIN: somebody else holds the lock. What a writer that was
 * killed left half-written is kept as an event of its own, "torn". */
MUST_CHECK int audit_flush(struct audit *audit, struct err *err);

/* ---- reading ---- */

struct audit_head {
	uint64_t seq; /* of the last line; 0: there is none */
	unsigned char sum[SHA256_SIZE];
};
#define AUDIT_HEAD_TEXT (20 + 1 + SHA256_HEX)
void audit_head_text(const struct audit_head *head, char ret[AUDIT_HEAD_TEXT]); /* "7:<64 digits>" */
bool audit_head_parse(const char *text, struct audit_head *ret);
char *audit_head_path(const char *path); /* the caller frees */

struct audit_report {
	uint64_t lines; /* that are records */
	uint64_t problems;
	uint64_t torn; /* pieces that killed writers left and later ones kept */
	size_t torn_end; /* bytes of such a piece at the end, which nobody has kept yet */
	uint64_t unheaded; /* lines behind the head: their writer was killed before it was moved */
	bool headless; /* there is no head beside it */
	struct audit_head head; /* of what was read */
};

typedef void audit_problem_fn(void *data, uint64_t line, const char *text);
/* Reads all of it. `outside`: a head that was kept elsewhere, which must be in the log; NULL: none. Problems are told in
 * their order, with the line of the file, or 0 for all of it; an error is only that it cannot be read, or (ERR_USAGE) that it is no log: it has
 * no record, no beginning of one and no head. */
MUST_CHECK int audit_verify(const char *path, const struct audit_head *outside, audit_problem_fn *fn, void *data,
	struct audit_report *ret, struct err *err);

/* Calls `fn` with each record, and with a NULL value for what is none. Nonzero ends it and is returned. */
typedef int audit_line_fn(void *data, uint64_t line, const struct value *value, const char *text, size_t len);
MUST_CHECK int audit_each(const char *path, audit_line_fn *fn, void *data, struct err *err);

#endif
