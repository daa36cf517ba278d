/* Between the files of a session: session.c (calls and what came of them), stream.c (its process and its streams) and
 * link.c (the way to one that listens). See target_private.h. */
#ifndef HOTCELL_FUZZ_TOOL_SESSION_PRIVATE_H
#define HOTCELL_FUZZ_TOOL_SESSION_PRIVATE_H

#include "fuzz/tool/mcp_http.h"
#include "fuzz/tool/target_private.h"

#define MEMORY_MAX 64u /* samples kept */
#define MEMORY_STRIDE 16u /* calls between the first of them */

enum state { STATE_COLD, STATE_STARTING, STATE_IDLE, STATE_ASKED, STATE_ENDING, STATE_SETTLED };

/* A cell, which may outlive its session by the time it takes to die. */
struct life {
	struct session *session; /* NULL: nobody wants it any more */
	struct cell *cell;
	const struct cell_result *result; /* when it is over; the cell's */
};

struct session {
	struct target *target;
	const struct mode *mode;
	enum state state;
	struct life *life;
	uint64_t generation; /* of processes: another one, another number */
	bool stale; /* the process is not to be called again */
	unsigned starts; /* since it was ready last */
	uint64_t restarts;
	int in, out, err;
	struct loop_source *in_source, *out_source, *err_source, *timer;
	uint64_t timer_at, deadline, began;
	struct talk talk;
	size_t sent; /* of talk.out, or of the wire */
	/* a program that listens */
	struct buf wire; /* what is sent: talk.out, wrapped */
	struct http_talk http;
	struct loop_source *link_timer;
	unsigned links; /* connections since the last answer */
	struct buf got; /* from stdout, not taken yet */
	size_t looked; /* of it, for the end of a line */
	struct buf said;
	uint64_t heard, messages; /* in this call */
	bool cut;
	/* a call that waits until it is ready */
	bool waiting;
	const struct subject *subject;
	struct buf input;
	/* what came of it */
	enum reply_kind ending; /* ENDING: what it will be */
	bool told;
	struct buf text; /* the answer as it came */
	struct answer answer;
	struct exchange exchange;
	struct effect effects[TARGET_EFFECTS_MAX];
	size_t effect_count;
	uint64_t effects_over, dropped_before;
	uint64_t memory[MEMORY_MAX];
	size_t memory_count;
	uint64_t memory_stride, calls;
};

/* session.c */
void session_ready(struct session *session); /* it can be called: a call that waits is made */
void session_settle(struct session *session); /* the call is over, as talk.answer says */
void session_ask(struct session *session, const struct subject *subject, const char *input, size_t len);
void deadline_set(struct session *session, uint64_t ns); /* from now; 0: none */
void effects_forget(struct session *session, size_t told); /* the first `told`; what came since is the next call's */
void session_effect(void *data, const struct cell_effect *effect); /* with a life */
void session_over(struct session *session); /* its process has a result */
/* Waits for its result, to be told as `kind`. */
void session_ending(struct session *session, enum reply_kind kind, bool kill);
void session_broken(struct session *session); /* as talk.answer says; nothing more of this process is read */

/* stream.c */
MUST_CHECK int process_start(struct session *session, struct err *err); /* a call that waits for it is in `input` */
void process_retire(struct session *session); /* nothing of it is wanted any more */
void session_flush(struct session *session); /* sends what there is to send */
void message_take(struct session *session, const char *text, size_t len);
MUST_CHECK int streams_add(struct session *session, int in, int out, struct err *err); /* both ours from now on */
void streams_drop(struct session *session); /* in and out */

/* link.c: a program that listens is reached through a bridge in its cell, one a connection. */
void link_begin(struct session *session);
void link_end(struct session *session);
void link_feed(struct session *session, const char *bytes, size_t len);
void link_lost(struct session *session); /* the connection ended */
void link_wrap(struct session *session); /* what is in talk.out is put on the wire */
void link_hurry(struct session *session); /* after each write and read: what comes is acknowledged at once */

#endif
