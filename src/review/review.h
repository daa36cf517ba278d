/* Attacks on the sandbox, tried for real on this machine, and what observers outside saw of them.
 *
 * An attack is a row of a table. It runs in a cell that `hotcell run` makes, as a user's program would; beside it stand
 * observers of ours: canary files, a victim process, sockets that must stay silent, the cell's processes as the host
 * sees them. The verdict is theirs. What the attack says of itself counts only against the cell.
 *
 *	own(review_done) struct review review = {0};
 *	if (review_run(&review, &options, &err) < 0) ...
 *	for (size_t i = 0; i < review.count; i++) ... review.rows[i].verdict ...
 */
#ifndef HOTCELL_REVIEW_REVIEW_H
#define HOTCELL_REVIEW_REVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/value.h"

struct review_try; /* one attack under way: attack.h */
struct review_group;

struct review_attack {
	const char *id; /* "kernel.namespaces": its group, a dot, its name. Stable: saved reviews are compared by it */
	const char *technique; /* what is tried, in a line */
	const char *cve; /* "CVE-2019-5736, CVE-2024-21626", or NULL */
	const char *safe; /* what must come of it, in a line */
	/* Space-separated: protections (cell_protection_name) and parts of them (the names of --weaken), any one of which
	 * being gone lets it through. Where the machine cannot give one of them, getting through is `degraded`. */
	const char *without;
	/* Further ones for want of which getting through is `degraded`, and which are never left out to see it: of `harsh` rows. */
	const char *wants;
	/* Why neither names anything: what holds it is the kernel's, or no part that could be left out. In a line; or NULL. */
	const char *by;

	const char *flags; /* further words for `hotcell run`; or NULL. Here and below "{name}" stands for what attack.h lists */
	const char *program; /* the words after the attack program's name: "kernel namespaces" */
	const char *shell, *python; /* or a text for sh or python3 */

	const char *outcomes; /* how the run may end, space-separated, also "crashed"; NULL: it must exit with 0 */
	unsigned tries; /* it must tell of at least so many tries: one that did nothing has not been held */
	const char *but; /* of its tries, those that may be "ok": globs, space-separated */
	/* Only for whole cells: in none, or a weakened one, it would do harm to the machine. Nor where the review has just seen that
	 * cells do not hold (REVIEW_FIRST). */
	bool harsh;

	/* Who tells that it got through when what holds it is gone: only its own program, by a call that worked or a number that it
	 * says, for whatever observers are beside it see nothing of it then. False: an observer outside. */
	bool own_word;

	void (*before)(struct review_try *try); /* puts up further observers; may say it does not apply. Or NULL */
	void (*during)(struct review_try *try); /* once the program has printed the line "ready". Or NULL */
	void (*judge)(struct review_try *try); /* after the end, besides what is judged for every attack. Or NULL */
	void (*alone)(struct review_try *try); /* does everything by itself, with try_run as often as it wants */
};

/* ---- what came of it ---- */

enum review_verdict {
	REVIEW_HELD,
	REVIEW_ESCAPED,
	REVIEW_DEGRADED, /* it got through, and this machine lacks the protection that would have held it */
	REVIEW_NOT_APPLICABLE,
	REVIEW_FAILED, /* it could not be tried: nothing is known */
	REVIEW_VERDICT_COUNT
};
bool review_names(const char *list, const char *word); /* whether it is among them; a list of NULL is empty */
const char *review_verdict_name(enum review_verdict verdict); /* "held", "ESCAPED", "not applicable", ... */

struct review_row {
	const struct review_group *group;
	const struct review_attack *attack;
	enum review_verdict verdict;
	/* What was seen, why it does not apply, which protection is missing; held: what of it could not be looked at, mostly "".
	 * One line, without secrets. */
	char *reason;
	char *lacking; /* degraded: the protections, space-separated; else "" */
	unsigned tries;
	uint64_t wall_ns;
};

struct review {
	struct review_row *rows;
	size_t count, counts[REVIEW_VERDICT_COUNT];
	const char *backend, *weakened; /* weakened: NULL but in test builds */
	char *image; /* NULL: the host; without homes and keys, as reasons are */
	bool root; /* who reviewed: root, or an ordinary user */
	uint64_t wall_ns;
	char kernel[65], machine[65]; /* of uname */
	char time[32]; /* when it began: "2026-11-16T07:50:58Z" */
	struct value receipt; /* an ordinary cell's, as `hotcell run --json` gives it */
};
void review_done(struct review *review);

/* ---- doing it ---- */

struct review_options {
	const char *hotcell; /* the program to review: our own */
	const char *backend; /* "native", "none", ... */
	const char *image; /* "host", or a folder */
	const char *const *only; /* globs of ids, or names of groups; NULL: everything */
	const char *weaken; /* in test builds: a protection to leave out; else NULL */
	void (*progress)(void *data, size_t done, size_t count, const struct review_row *next); /* next NULL: that was all. Or NULL */
	void *data;
	const int *stop; /* a descriptor: when it becomes readable the review ends and tidies up; or NULL */
};

/* Errors are of the request (ERR_USAGE: `only` names nothing), of this machine (ERR_MISSING: not even an ordinary cell
 * can be had), ECANCELED (stopped), or of the review itself: no verdicts then, and nothing is left behind. */
MUST_CHECK int review_run(struct review *ret, const struct review_options *options, struct err *err);

/* The catalogue: groups in the order they are run in, and their attacks. */
struct review_group {
	const char *name; /* "kernel" */
	const char *title; /* "The kernel's surface" */
	const struct review_attack *attacks; /* ends with an id of NULL */
};
extern const struct review_group review_groups[]; /* ends with a name of NULL */
#define REVIEW_FIRST "proc.namespaces" /* tried before all others, if it is among them */

/* ---- telling it ---- */

/* What holds an attack, in a line: the protections it names, or why there is none to name. `quote` is around each name. */
void review_held_by(const struct review_attack *attack, const char *quote, struct buf *out);
const char *review_judged_by(const struct review_attack *attack); /* "observers", or "its own word" */
void review_json_members(const struct review *review, struct json *json); /* into an open object */
/* The catalogue as Markdown: what is covered, by which protection and attack, and what is not. */
void review_threats(struct buf *out);

/* ---- keeping it ---- */

/* The review as a file, with the SHA-256 sum of what it says: not of its layout. */
void review_save(const struct review *review, struct buf *out);
void review_sum(const struct review *review, char ret[SHA256_HEX]); /* the sum of that file */
/* Reads such a file. One that is none, or says something else than when it was saved, is ERR_USAGE. *ret is its body, as
 * review_json_members wrote it; the caller's to value_done. */
MUST_CHECK int review_load(const char *text, size_t len, const char *name, struct value *ret, struct err *err);

struct review_change {
	bool worse; /* else better */
	char *text; /* "kernel.keys was held and is ESCAPED now: ..." */
};
struct review_changes {
	struct review_change *items;
	size_t count, worse;
	size_t compared; /* attacks that are in both */
	char *note; /* what makes the two hard to compare (another backend, user, image); "" if nothing does */
};
/* What is different from `then`, worse first. Attacks that were not asked for now are not compared; those that the
 * catalogue no longer has are missed. */
void review_compare(const struct value *then, const struct review *now, struct review_changes *ret);
void review_changes_done(struct review_changes *changes);

#endif
