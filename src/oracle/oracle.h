/* Decides whether what a target did is wrong. Pure: an observation in, verdicts out; every verdict carries what proves it.
 *
 * A row of the table is one oracle, with a rule of the same name in finding/rules.c. An oracle without evidence says
 * nothing. All texts of an observation are a stranger's. */
#ifndef HOTCELL_ORACLE_ORACLE_H
#define HOTCELL_ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell/cell.h"
#include "finding/finding.h"
#include "schema/schema.h"

/* ---- what was seen of one call ---- */

enum reply_kind {
	REPLY_OK, /* it answered, and says that it did what was asked */
	REPLY_REJECTED, /* it answered that it will not: an error as its protocol or its convention declares them */
	REPLY_FAILED, /* it answered with an error that nobody declared: an exception, an internal error */
	REPLY_BROKEN, /* what it sent is not what the protocol allows: `message` says what */
	REPLY_ENDED, /* its process ended before it answered */
	REPLY_LATE, /* it did not answer in time */
	REPLY_KIND_COUNT
};
const char *reply_kind_name(enum reply_kind kind); /* "ok", "rejected", ... */

struct reply {
	enum reply_kind kind;
	const char *text; /* all that it said in answer, as it came; bounded */
	size_t len;
	bool cut; /* it said more than `text` */
	const struct value *output; /* what its output schema is about; NULL: it gave nothing structured */
	const char *message; /* of a rejection, a failure or a broken protocol; one line or more, never NULL */
	int64_t code; /* the protocol's or the process's; 0: none */
	const char *said; /* on stderr during the call; bounded */
	size_t said_len;
	uint64_t ns; /* from the call to its answer */
};

/* cell.h's, kept. */
struct effect {
	enum cell_effect_kind kind;
	char *what; /* a path, an address, a program */
	size_t len;
	struct strings words; /* CELL_EFFECT_EXEC: its arguments */
	char *by; /* the program that did it */
};

/* A token that was put where the target has no business. */
struct canary {
	const char *token; /* unique to this session; letters and digits */
	const char *where; /* "/etc/passwd", "the environment variable BACKUP_KEY" */
	bool secret; /* it is in its environment, where it may read but not tell: oracle "secret" instead of "canary" */
};

/* What the user said is its work. */
struct allowed {
	const char *const *write; /* folders and files, absolute, as the cell sees them; NULL-terminated */
	const char *const *spawn; /* names of programs; "*": any */
	bool net;
};

struct observation {
	const char *subject; /* the tool's name */
	const char *input; /* the call's arguments, JSON; not NUL-terminated */
	size_t len;
	bool malformed; /* the input breaks its schema, so it must be rejected */
	const char *violation; /* in what; may be NULL */
	const char *mark; /* a text that is in the input, unique, and in nothing else: in a program's arguments it proves how it came there; may be NULL */
	const struct schema *output_schema; /* NULL: none is declared; else an answer without output that can be checked breaks it, too */
	struct reply reply;
	const struct effect *effects;
	size_t effect_count;
	uint64_t effects_dropped;
	bool ended; /* its process is gone: `result` */
	const struct cell_result *result;
	uint64_t limit_ns; /* that a call may take */
	const uint64_t *memory; /* of the cell, bytes, sampled over its calls so far, oldest first; 0 entries: not known */
	size_t memory_count;
	uint64_t calls; /* of this session, this one included */
	const struct canary *canaries;
	size_t canary_count;
	const struct allowed *allowed;
	const char *const *environment; /* "K=V" that it was given; values that are told again are leaks; NULL-terminated; may be NULL */
	const char *before; /* the reply's text to the same call on another fresh session; NULL: not asked */
	size_t before_len;
};

/* ---- what is wrong with it ---- */

struct verdict {
	const char *oracle; /* a row's name, static */
	char *message; /* one line, for people */
	char *shape; /* as in a finding; whoever judges may fill it; NULL: none */
	struct strings evidence; /* what proves it, a line each; at least one; bounded, raw bytes made safe to show */
	struct strings frames; /* of a stack trace, the target's own code, innermost first */
	char *file; /* where, if the trace says; NULL */
	unsigned line;
};

struct verdicts {
	struct verdict *list; /* the worst first */
	size_t count;
};
void verdicts_done(struct verdicts *verdicts);

typedef uint32_t oracle_set; /* a bit each, by place in the table */

struct oracle {
	const char *name; /* "canary" */
	const char *help; /* one line, for --oracles help and the manual */
	bool needs_effects; /* it sees nothing where the cell tells no effects */
	void (*judge)(const struct observation *seen, struct verdicts *ret);
};
extern const struct oracle oracles[]; /* ends with a name of NULL */

#define ORACLES_ALL ((oracle_set)-1)
/* "all", "canary,crash", "all,-refused". Errors are ERR_USAGE and name the word. The default leaves out "refused" and "unstable". */
MUST_CHECK int oracle_set_read(const char *text, oracle_set *ret, struct err *err);
extern const char oracle_set_default[];
bool oracle_in(oracle_set set, const char *name);

void oracle_judge(const struct observation *seen, oracle_set set, struct verdicts *ret);
/* Adds one; oracles use it. Returns it so that evidence can be put in. */
struct verdict *verdict_add(struct verdicts *ret, const char *oracle, const char *format, ...) PRINTF_LIKE(3, 4);
void verdict_prove(struct verdict *verdict, const char *format, ...) PRINTF_LIKE(2, 3);
/* The place in an answer where something is, with a little around it, safe to show. */
void verdict_quote(struct verdict *verdict, const char *label, const char *text, size_t len, size_t at, size_t size);

/* ---- reading texts, for oracles and for whoever makes replies ---- */

/* Whether a text looks like an exception that nobody caught, as against a sentence that says what is wrong with the input:
 * "Traceback (most recent call last)", "TypeError: Cannot read properties of undefined", "'NoneType' object has no attribute".
 * One table of shapes. */
bool text_is_exception(const char *text, size_t len);
/* A stack trace in the text (Python, Node, Go, Rust, Java, C sanitizers): its frames, innermost first, runtime's left out. */
bool text_trace(const char *text, size_t len, struct strings *frames, char **file, unsigned *line);

#endif
