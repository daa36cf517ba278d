/* Between the files that speak with a target. Who does what:
 *
 *	session.c   descriptors, clocks, cells: the only one that does I/O. It cuts what comes into messages.
 *	mode        a row a way of speaking (mcp.c, tool.c): messages in, messages out. Pure.
 *	reply.c     from an answer to its kind. Pure.
 *
 * A talk is what a mode knows of one live process. A mode adds to `talk->out` what is to be sent, and says what a
 * message that came meant. */
#ifndef HOTCELL_FUZZ_TOOL_TARGET_PRIVATE_H
#define HOTCELL_FUZZ_TOOL_TARGET_PRIVATE_H

#include "base/buf.h"
#include "base/json_read.h"
#include "fuzz/tool/target.h"

/* ---- an answer: reply.c ---- */

struct answer {
	enum reply_kind kind;
	struct buf message; /* escaped where it repeats what came */
	int64_t code;
	struct value document; /* what came, as JSON */
	const struct value *output; /* in the document, or NULL */
	bool lost; /* nobody can say what comes next from this process: it is made anew */
};

extern const struct json_limits answer_limits;

void answer_done(struct answer *answer); /* leaves it empty */
/* REPLY_BROKEN with a sentence. `lost`: see above. */
void answer_broken(struct answer *answer, bool lost, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same with what came, quoted: "SENTENCE: 'what came'". */
void answer_broken_quote(struct answer *answer, const char *sentence, const char *text, size_t len);
/* A tool's document. `reject_member` as in target_options. */
void answer_tool(struct answer *answer, const char *reject_member, const char *text, size_t len);
/* A process that ended, with all that it said; `started`: else it never ran. */
struct process_end {
	const struct cell_result *result;
	const char *out, *said;
	size_t out_len, said_len;
	bool cut; /* it said more than `out` */
};
void answer_process(struct answer *answer, const char *reject_member, const struct process_end *end);
/* A JSON-RPC error object, and the result of a call, both in `document`. */
void answer_rpc_error(struct answer *answer, const struct value *error);
void answer_mcp_result(struct answer *answer, unsigned subject_kind, const struct value *result);
/* How a process ended, for sentences: "it ended with exit code 3", "signal 11 (Segmentation fault) ended it". */
void result_say(const struct cell_result *result, struct buf *out);

/* ---- what is offered ---- */

/* Adds a subject; its schemas, which may be NULL, are taken out of where they are. False: it was left out, and a
 * remark says why. */
bool subjects_add(struct subjects *subjects, struct strings *remarks, unsigned kind, const struct value *name,
	const struct value *description, struct value *input, struct value *output);
void subjects_done(struct subjects *subjects);
/* Compiles the schemas, when no subject moves any more. */
void subjects_compile(struct subjects *subjects, struct strings *remarks,
	const struct generator_options *options);
/* Once each, and not too many. */
bool remarked(const struct strings *remarks, const char *beginning);
void remark_add(struct strings *remarks, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- a way of speaking ---- */

enum talk_event {
	TALK_WAIT, /* nothing that matters */
	TALK_READY, /* calls can be made now */
	TALK_ANSWERED, /* talk->answer holds */
};

/* What MCP knows of a process: mcp.c. */
enum mcp_list { MCP_TOOLS, MCP_RESOURCES, MCP_TEMPLATES, MCP_PROMPTS, MCP_LIST_COUNT };
struct mcp {
	int64_t id; /* of what is asked now; 0: nothing */
	int64_t last_id; /* given so far */
	bool greeted;
	enum mcp_list list; /* asked for now; MCP_LIST_COUNT: all are here, or none is wanted */
	unsigned pages;
	bool offers[MCP_LIST_COUNT];
	unsigned subject_kind; /* of the call */
	struct value uris; /* a list: examples for resources/read */
	char *version; /* of the protocol, as agreed */
};

struct talk {
	const struct target_options *options;
	struct buf out; /* messages to be sent, a line each */
	struct answer answer;
	bool asked; /* a call waits for its answer */
	uint64_t noise; /* messages that belong to nothing, since the call began */
	struct strings *remarks;
	struct subjects *subjects; /* to be filled while it starts; NULL: it was asked before */
	char **about; /* "name 1.2"; may be NULL */
	struct mcp mcp;
};

struct mode {
	const char *kind;
	bool single; /* a process a call: its stdin ends after the call, its end is the answer */
	bool http; /* messages are carried by http.c, through a bridge */
	/* The process is new. TALK_READY if nothing has to come first. */
	enum talk_event (*start)(struct talk *talk);
	void (*call)(struct talk *talk, const struct subject *subject, const char *input, size_t len);
	enum talk_event (*message)(struct talk *talk, const char *text, size_t len); /* not for `single` */
	/* A further message right behind the answer, in the same breath, or one before anything was asked. */
	void (*unasked)(struct talk *talk, const char *text, size_t len);
	/* `single`: this call's words; NULL: those of the spec. The caller's to words_free. */
	char **(*words)(const struct target_options *options, const char *input, size_t len);
};
extern const struct mode modes[TARGET_MODE_COUNT];

void talk_done(struct talk *talk);

enum talk_event mcp_start(struct talk *talk);
void mcp_call(struct talk *talk, const struct subject *subject, const char *input, size_t len);
enum talk_event mcp_message(struct talk *talk, const char *text, size_t len);
void mcp_unasked(struct talk *talk, const char *text, size_t len);

enum talk_event tool_start(struct talk *talk);
void tool_call(struct talk *talk, const struct subject *subject, const char *input, size_t len);
enum talk_event tool_message(struct talk *talk, const char *text, size_t len);
void tool_unasked(struct talk *talk, const char *text, size_t len);
char **args_words(const struct target_options *options, const char *input, size_t len);
void words_free(char **words);

/* ---- the target ---- */

struct target {
	struct target_options options; /* its spec is ours: */
	struct cell_spec spec;
	const struct mode *mode;
	struct loop *loop;
	struct cell_pool *pool;
	char *name, *about;
	struct subjects subjects;
	struct strings remarks;
	bool sees_effects; /* its cells tell them */
	struct effect *startup; /* of a line server: what it does before its first call, whatever that is */
	size_t startup_count;
	char bridge[40]; /* a file of ours; "": none */
	struct cell_mount *mounts; /* the spec's, with it */
};

#define TARGET_BRIDGE "/hotcell-bridge" /* as its cells see it */
/* link.c: makes the file, and a mount of it. Removing is fine without. */
MUST_CHECK int bridge_place(struct target *target, struct err *err);
void bridge_remove(struct target *target);
/* What our own bridge does is nobody's effect; that the target does the same is none either. */
bool bridge_effect(const struct target *target, const struct cell_effect *effect);
void effect_copy(struct effect *to, const struct effect *from);
void effect_done(struct effect *effect);
bool effect_same(const struct effect *a, const struct effect *b);

#define TARGET_FAIL_NS (UINT64_C(2) * 1000 * 1000 * 1000) /* that a program gets to end by itself,
	where nothing else is waited for */

/* A session that fills the target's subjects while it starts. The program is spoken with until it is ready. */
MUST_CHECK struct session *session_open_asking(struct target *target, struct subjects *subjects, struct err *err);

#endif
