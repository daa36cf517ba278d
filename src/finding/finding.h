/* A finding: something a target did that it must not do, seen, seen again, made small, and kept so that anybody can see it
 * a third time.
 *
 * One finding is one file, the capsule: JSON with the input, what it was given to, how, and what came of it. The same
 * surprise has the same id in every campaign and on every machine: it is made from the oracle, the subject, and the
 * message or the frames with everything that varies taken out (finding_id). Pure, but for store.h. */
#ifndef HOTCELL_FINDING_FINDING_H
#define HOTCELL_FINDING_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strings.h"
#include "base/value.h"

#define FINDING_ID_LEN 16
#define FINDING_FORMAT "hotcell-finding-1"
#define CAPSULE_MAX ((size_t)16 << 20) /* bytes of a capsule's file */

enum severity { SEVERITY_NOTE, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_CRITICAL, SEVERITY_COUNT };
const char *severity_name(enum severity severity); /* "note", "low", ... */
bool severity_read(const char *text, enum severity *ret);
/* As code scanning has them: "error", "warning", "note"; and the number from 0.0 to 10.0. */
const char *severity_level(enum severity severity);
const char *severity_score(enum severity severity);

/* What an oracle's findings are, one row each: its severity, its weakness, and why. */
struct finding_rule {
	const char *oracle; /* "canary" */
	const char *title; /* "A file outside of its reach was read" */
	const char *help; /* a paragraph: what it means, what to do */
	enum severity severity;
	int cwe; /* 0: none */
	const char *why; /* the reason for the severity, a sentence */
};
extern const struct finding_rule finding_rules[]; /* ends with an oracle of NULL */
const struct finding_rule *finding_rule(const char *oracle); /* NULL if there is none */

enum finding_state { FINDING_OPEN, FINDING_FIXED, FINDING_SUPPRESSED, FINDING_STATE_COUNT };
const char *finding_state_name(enum finding_state state);

struct finding {
	char id[FINDING_ID_LEN + 1];
	char *oracle; /* a row's */
	char *subject; /* the tool or function: "read_file" */
	char *target; /* what it belongs to, for people: "mcp-server-git" */
	char *message; /* one line: what was wrong */
	char *shape; /* of a message that the target wrote: its words without what the input said (message_shape); NULL: it is ours */
	struct strings frames; /* of the target's own code, innermost first */
	char *file; /* where in the user's tree, or where the subject is declared; may be NULL */
	unsigned line; /* 0: not known */
	struct strings evidence; /* what proves it, line by line */

	char *input; /* smallest that does it: a JSON text, or bytes in base64 */
	char *found; /* as it was found; NULL if it is the same */
	bool binary; /* both are base64 */
	bool core; /* a core, and the program that it is of, are files beside the capsule */
	char *core_from; /* the folder that these are to be moved from; NULL: they are there, or there are none */
	bool unfinished; /* there was no time to make it as small as can be */
	char *report; /* all that was said of it; a file beside the capsule, and not in it; NULL: there is none */

	/* how to do it again */
	char *kind; /* "mcp", "tool-lines", "tool-exec", "tool-args", "function-python", ... */
	struct strings command; /* the target's words */
	struct strings flags; /* of the cell: "--memory=64M" */
	struct strings environment; /* names only: values may be secret */
	char *target_sha256; /* of the program or file; NULL if it cannot be told */
	char *profile; /* its name; NULL: default */
	uint64_t seed;

	/* how sure it is */
	unsigned seen, tried; /* of so many replays, so many did it again */

	enum finding_state state;
	char *reason; /* of a suppression */
	int64_t until; /* of a suppression, seconds since 1970; 0: for ever */
	int64_t first_seen, last_seen;
	uint64_t times; /* in how many campaigns */
};

/* What it is worth: by its oracle's row and, of functions, by what a sanitizer or the language says of it. */
struct finding_weakness {
	enum severity severity;
	int cwe; /* 0: none */
	const char *why; /* the reason for the severity, a sentence; "": none */
};
struct finding_weakness finding_weakness(const struct finding *finding);

void finding_done(struct finding *finding);
enum severity finding_severity(const struct finding *finding);
int finding_order(const struct finding *a, const struct finding *b); /* by severity, then id, as qsort wants it */
/* Whether a suppression holds at that moment. */
bool finding_is_suppressed(const struct finding *finding, int64_t now);
/* Neither always nor never. */
bool finding_is_flaky(const struct finding *finding);

/* ---- the same, or another ---- */

/* Fills id from oracle, target, subject, and frames or, if there are none, shape, or, if there is none either, message. */
void finding_identify(struct finding *finding);
/* A message without what varies from one time to the next: numbers, addresses, hashes, quoted texts, paths' folders. */
void message_normalise(const char *message, struct buf *ret);

/* A message that a target wrote, and what it was called with, which may be in it. */
struct message {
	const char *text;
	const char *input; /* JSON; NULL: not known */
	size_t len;
	const struct value *schema; /* of the input: its names of members are the target's words; NULL: not known */
};
/* Its words, with none of what it was called with, and no others that vary: quoted texts, numbers, folders, and words of one
 * or two letters, which may be the input's. Adds to `ret`, which is empty. */
void message_shape(const struct message *message, struct buf *ret);
/* Whether both can be the same message, to two inputs: a word that is in only one of them may be its input's, or was cut
 * off. */
bool message_same(const struct message *one, const struct message *other);
/* echo.c: the message, bounded, with blanks where it repeats a text of its input, however escaped or cut. */
void message_unecho(const struct message *message, struct buf *ret);

/* ---- how sure ---- */

struct interval {
	double low, high; /* of the rate, from 0 to 1 */
};
/* Wilson's, at 95 %. */
struct interval rate_interval(unsigned seen, unsigned tried);

/* ---- capsules ---- */

void capsule_write(const struct finding *finding, struct json *json); /* one object */
/* The text is a stranger's. Errors are ERR_USAGE and name the member. */
MUST_CHECK int capsule_read(struct finding *ret, const char *text, size_t len, const char *name, struct err *err);

#endif
