/* What is kept of a fuzzed function from one run to the next: a file each in the state folder, functions/ID.json,
 * with the figures of the last run, how they grew, which lines its corpus reaches, and what of that is new.
 * Bounded, and written whole or not at all. A file that is read is a stranger's: a state folder may
 * be anybody's. */
#ifndef HOTCELL_FUZZ_FUNCTION_COVER_HISTORY_H
#define HOTCELL_FUZZ_FUNCTION_COVER_HISTORY_H

#include "base/json.h"
#include "fuzz/function/corpus.h"
#include "fuzz/function/function.h"

#define COVER_ID_LEN CORPUS_ID_LEN
#define COVER_HISTORY_FORMAT "hotcell-function-1"
#define COVER_HISTORY_MAX ((size_t)8 << 20) /* bytes of a file */
#define COVER_HISTORIES_MAX 500u
#define COVER_SERIES_MAX 200u

struct series_point {
	uint64_t ms, execs, features, corpus;
};

/* Points in time, about evenly spread: when there are too many, every second one goes, and they come half as often. */
struct cover_series {
	struct series_point points[COVER_SERIES_MAX];
	size_t count;
	uint64_t step_ms;
};
/* `last`: it is kept, however soon after the one before it comes. */
void cover_series_add(struct cover_series *series, const struct series_point *point, bool last);

struct cover_history {
	char id[COVER_ID_LEN + 1]; /* the one that its corpus is kept by */
	char *name, *language, *root, *file, *function;
	uint64_t ended_ms, took_ms; /* since 1970; of the last run */
	struct target_progress totals;
	struct cover_series series;
	struct coverage coverage; /* with marks against the run before */
	uint64_t covered_ms; /* when that was measured; 0: never */
	struct function_change change;
};
void cover_history_done(struct cover_history *history);

/* Marks lines of `now` against `before`, of a run before it, and counts them. Pure. */
void cover_history_compare(const struct cover_history *before, struct cover_history *now);
void cover_history_write(const struct cover_history *history, struct json *json); /* one object */
/* Errors are ERR_USAGE and name the member. */
MUST_CHECK int cover_history_read(
	struct cover_history *ret, const char *text, size_t len, const char *name, struct err *err);

/* None is ENOENT. */
MUST_CHECK int cover_history_load(const char *state, const char *id, struct cover_history *ret, struct err *err);
MUST_CHECK int cover_history_save(const char *state, const struct cover_history *history, struct err *err);

struct cover_histories {
	struct cover_history *list; /* by name, then id */
	size_t count;
	struct strings unread; /* "NAME: why" of files that are none */
};
/* A folder that is not there has none. */
MUST_CHECK int cover_histories_open(const char *state, struct cover_histories *ret, struct err *err);
void cover_histories_done(struct cover_histories *histories);

/* A source below a root: no link on the way, a regular file, bounded. With its sum in hex. False: it cannot be read. */
bool cover_source_read(const char *root, const char *name, struct buf *ret, char ret_sha256[65]);

#endif
