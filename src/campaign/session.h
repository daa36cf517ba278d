/* A session's folder, `fuzz/runs/NNN/`: what is left of a run for people and scripts.
 *
 *	stdout.log stderr.log	while it runs, and after
 *	result.json		how it ended, with the receipt
 *	network.jsonl		every verdict of its doors, if it has any
 *	exchanges.jsonl		what was said at its secret doors, if that is kept
 *	...			what the run left in its workspace
 *	SUCCESS|ERROR|TIMEOUT	exactly one, made last, by a rename
 *
 * The names above are ours: a file of the run with such a name is not taken over (and is reported).
 * All of the campaign's folders are in one folder that belongs to it: `.hotcell-campaign` in it says whose. */
#ifndef HOTCELL_CAMPAIGN_SESSION_H
#define HOTCELL_CAMPAIGN_SESSION_H

#include "base/buf.h"
#include "base/err.h"
#include "campaign/ledger/record.h"
#include "redact/redact.h"

#define SESSION_TAIL 4096 /* bytes of the log that an ERROR marker carries */

extern const char *const session_reserved[]; /* the names above, NULL-terminated */

/* The folder of all sessions. Takes one that is missing or empty, or that this uuid has taken before; any
 * other is an error that says what is in it. `*ret_fd` is the folder. */
MUST_CHECK int sessions_open(const char *path, const char *uuid, int *ret_fd, struct err *err);
/* It, whosever it is: opened through no link in its last step, nor in the one before where that is "fuzz", which is ours. */
MUST_CHECK int sessions_folder(const char *path, bool make, struct err *err);
int sessions_folder_remove(const char *path); /* if it is empty. -1 with errno */
/* Held while the descriptor is open: no other supervisor writes there, whatever ledger it has. Else ERR_USAGE. */
MUST_CHECK int sessions_lock(int sessions, const char *path, struct err *err);
/* It is no campaign's any more, and goes if it is empty. */
void sessions_disown(const char *path, const char *uuid);
/* Whether a new campaign could take it: missing or empty. */
bool sessions_free(const char *path);

struct session {
	int dir, out, err; /* the folder and its two logs; -1: none */
	char name[24];
};
/* Makes it afresh: what an earlier try left there is removed. */
MUST_CHECK int session_create(struct session *ret, int sessions, const char *name, struct err *err);
void session_done(struct session *session); /* closes; removes nothing */
/* A further log of it, made afresh and opened for appending; the caller closes it. */
MUST_CHECK int session_log(const struct session *session, const char *name, struct err *err);
/* doors: it has some, and run->network holds. spent: that a budget is used up, in a sentence; may be NULL. What the redactor
 * (which may be NULL) knows is not in what is written. */
MUST_CHECK int session_result(const struct session *session, const struct campaign_record *campaign,
	const struct run_record *run, const struct cell_result *result, bool doors, const char *spent,
	const struct redactor *redactor, struct err *err);
/* Makes the marker of a final state, from what the ledger knows. One that is there already is left. */
MUST_CHECK int session_mark(int sessions, const char *name, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err);
/* The same for whoever has made the folder and not marked it yet: nothing is looked for first. */
MUST_CHECK int session_mark_own(int sessions, const char *name, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err);
MUST_CHECK int session_remove(int sessions, const char *name, struct err *err);
/* "Completed in 42.3s\n", "Exit code: 3\n\nLogs:\n...", "Timed out after 900s\n". What it quotes of the log is redacted, with
 * keys by their shape and homes. Pure. */
void session_marker_text(const struct run_record *run, uint64_t timeout_ms, const char *tail, size_t tail_len,
	const struct redactor *redactor, struct buf *ret);

#endif
