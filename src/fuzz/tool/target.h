/* What is fuzzed: a program in a cell with subjects (tools), each with a schema, that is called and replies.
 *
 * A target is opened once: its program is started in a cell, asked what it offers (MCP) or told (a schema file), and ended.
 * A session is one live instance in a cell of its own. Everything it sends is a stranger's: lines, depth, tools, schemas and
 * time are bounded; what is beyond a bound makes a reply REPLY_BROKEN, never an error of ours.
 *
 *	own(target_freep) struct target *target = target_open(&options, loop, pool, &err);
 *	own(session_freep) struct session *session = session_open(target, &err);
 *	const struct exchange *seen = session_call(session, &target_subjects(target)->list[0], "{}", 2);
 */
#ifndef HOTCELL_FUZZ_TOOL_TARGET_H
#define HOTCELL_FUZZ_TOOL_TARGET_H

#include "base/loop.h"
#include "cell/cell.h"
#include "oracle/oracle.h"
#include "schema/generate.h"

struct target;
struct session;

enum target_mode {
	TARGET_MCP, /* a Model Context Protocol server on stdin and stdout */
	TARGET_MCP_HTTP, /* the same over streamable HTTP: the program listens in its cell */
	TARGET_LINES, /* one JSON document a line in, one a line out */
	TARGET_EXEC, /* a process a call: the document on stdin, the answer on stdout */
	/* A process a call: "{name}" and "{/pointer}" in its words are replaced by the call's values, "{}" by the document: texts
	 * as they are up to a NUL, which no argument can hold, all else as JSON; what is longer than the kernel takes is cut. A
	 * word that is nothing but the place of a value that is not there is left out. */
	TARGET_ARGS,
	TARGET_MODE_COUNT
};
const char *target_mode_kind(enum target_mode mode); /* "mcp", "mcp-http", "tool-lines", "tool-exec", "tool-args": a finding's kind */
bool target_mode_read(const char *kind, enum target_mode *ret);

/* One thing that can be called. */
struct subject {
	char *name; /* no two of a target are the same */
	char *called; /* as the target calls it; NULL: by its name */
	char *description; /* may be NULL */
	struct value input_value, output_value; /* the schemas as they came */
	struct schema *input; /* NULL: it cannot be fuzzed, `problem` says why */
	struct schema *output; /* NULL: none */
	struct generator *generator; /* of `input` */
	char *problem; /* a sentence; NULL: none */
	unsigned kind; /* SUBJECT_TOOL, ... */
};
enum { SUBJECT_TOOL, SUBJECT_RESOURCE, SUBJECT_PROMPT };

struct subjects {
	struct subject *list;
	size_t count;
};

struct target_options {
	enum target_mode mode;
	const struct cell_spec *spec; /* of every cell; stays the caller's, and in place. Its argv is the command */
	const char *name; /* of the target, for people; NULL: the command's last part */
	const char *schema_text, *output_schema_text; /* tools: of the one subject; MCP: NULL */
	size_t schema_len, output_schema_len;
	const char *schema_name, *output_schema_name; /* files, for errors */
	const char *subject; /* tools: its name; NULL: the target's */
	const char *const *words; /* --dict, and where canaries are; NULL-terminated; may be NULL */
	uint16_t port; /* TARGET_MCP_HTTP: where it listens, in its cell */
	const char *path; /* TARGET_MCP_HTTP: "/mcp" */
	uint64_t start_ns, call_ns; /* that its start (handshake and lists) and a call may take */
	const char *reject_member; /* tools: a top-level member whose presence in the answer declares a rejection; NULL: "error", "rejected", "status": "rejected", "isError": true */
	bool plain; /* generator: no dictionaries */
};

/* Starts it, and asks what it offers. NULL if it does not start, does not keep the protocol or offers nothing: *err says what
 * it did instead, with the end of its stderr; code ERR_MISSING where it offers nothing, ERR_USAGE where a schema that the user
 * gave is wrong, else another. */
MUST_CHECK struct target *target_open(const struct target_options *options, struct loop *loop, struct cell_pool *pool, struct err *err);
struct target *target_free(struct target *target); /* NULL is fine; returns NULL */
void target_freep(struct target **target);
const struct subjects *target_subjects(const struct target *target);
const char *target_name(const struct target *target);
const char *target_version(const struct target *target); /* what it says of itself: "name 1.2"; "" */
/* What was wrong while it was started and asked: protocol breaches, tools without a schema, two of one name. */
const struct strings *target_remarks(const struct target *target);
/* As it was opened. */
enum target_mode target_mode(const struct target *target);
const struct cell_spec *target_spec(const struct target *target);
struct loop *target_loop(const struct target *target);

/* ---- sessions ---- */

/* One call, and all that was seen of it. */
struct exchange {
	struct reply reply;
	const struct effect *effects;
	size_t effect_count;
	uint64_t effects_dropped;
	bool ended; /* its process is gone; the session makes a new one when it is called again */
	const struct cell_result *result; /* if `ended` */
	const uint64_t *memory; /* as in an observation */
	size_t memory_count;
	uint64_t calls;
};

/* Ready to be called, if the target still does what it did when it was opened. */
MUST_CHECK struct session *session_open(struct target *target, struct err *err);
struct session *session_free(struct session *session); /* NULL is fine; returns NULL. What runs is killed */
void session_freep(struct session **session);
/* The next call begins with a process that nobody called before. */
void session_restart(struct session *session);

/* Begins a call; one at a time. -1 only where no cell can be had. `input` may be malformed JSON Schema-wise, never as JSON. */
MUST_CHECK int session_begin(struct session *session, const struct subject *subject, const char *input, size_t len, struct err *err);
/* What came of it, when it did; NULL: not yet, turn the loop. Good until the session's next call. */
const struct exchange *session_poll(struct session *session);
/* Both, turning the loop in between. NULL only where no cell can be had. */
const struct exchange *session_call(struct session *session, const struct subject *subject, const char *input, size_t len, struct err *err);
bool session_sees_effects(const struct session *session);
uint64_t session_restarts(const struct session *session);

#define TARGET_LINE_MAX ((size_t)4 << 20) /* bytes of one line that is read; more is REPLY_BROKEN */
#define TARGET_SAID_MAX ((size_t)64 << 10) /* of stderr kept of one call */
#define TARGET_SUBJECTS_MAX 1000u
#define TARGET_EFFECTS_MAX 256u /* of one call; the rest is counted */

#endif
