/* What the rows of the catalogue are written with. Seen only inside src/review.
 *
 * For every attack the scene is set in the same way, and looked at in the same way when it is over:
 *
 *	{canary}	a file of the host with a token in it, readable by everybody, in a folder that no cell is shown
 *	{review}	where the attack program is: /review in a cell
 *	{dir}		a folder of the host for this attack alone, empty, which everybody may enter; try_dir
 *	{shown}		where an attack finds {dir} that is mounted at /shown: there, or {dir} itself without a cell
 *	{token}		32 characters that are nowhere but in the canaries
 *	{mark}		"@" and what this attack's processes are known by; comes first in their arguments
 *	{victim}	the process id of a process of the host, with the token in its memory and environment
 *	{port}		where the host listens on 127.0.0.1 (TCP and UDP) and ::1
 *	{socket}	the path of a unix socket on which the host listens; {abstract}: the name of an abstract one
 *	{shm}		the id of SysV shared memory of the host with the token in it
 *
 * hotcell itself is started with the token in its environment (REVIEW_TOKEN), with a descriptor of the canary (137) and of the
 * host's root folder (138). Then it must hold, or the attack has got through: no byte of output has the token; the canaries are
 * what they were; the victim lives and got no signal; nobody spoke to a socket of the host; no process of the attack is
 * left; hotcell ended by itself in time, with a result.
 *
 * An attack that fell over has held nothing: a program that crashed is `failed`, whatever its row's outcomes are, unless
 * "crashed" is among them. So is one with fewer tries than its row says, whether it has outcomes or not. */
#ifndef HOTCELL_REVIEW_ATTACK_H
#define HOTCELL_REVIEW_ATTACK_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/sanitized.h"
#include "base/value.h"
#include "review/review.h"

struct scene;

struct review_try {
	const struct review_attack *attack;
	const struct review_options *options;
	struct scene *scene;
	bool gentle; /* no whole cell: nothing may be done that harms a machine. The program knows by ATTACK_GENTLE */
	bool outside; /* the backend "none": there is no cell at all */
	char mark[40]; /* "@..." */
	char *dir; /* {dir} */
	void *own; /* the row's, between its functions; before() makes it, judge() frees it */
	void (*forget)(struct review_try *try); /* frees it where judge() is never called: stopped in between; or NULL */
	bool (*enter)(const struct review_try *try); /* in the process that becomes hotcell, at once: into a network, say. Or NULL */

	/* Of the run that is on, or was last. */
	pid_t hotcell; /* the supervisor while it runs, else 0 */
	int status; /* its exit code; -N: a signal ended it */
	struct buf out, err; /* what it printed, the first TRY_OUTPUT_MAX of each */
	uint64_t out_bytes, err_bytes; /* all of it */
	bool leaked; /* the token was in what lies beyond */
	uint64_t wall_ns;
	struct value result; /* its JSON result; VALUE_NULL when it gave none */

	/* So far. The first escape stays. */
	enum review_verdict verdict;
	char *reason;
	unsigned tries;
	uint64_t until; /* when the row must be done with everything: clock_now(); 0: whenever */
	bool stopped; /* the user wants no more: nothing is judged, and nothing further is run */

	struct { /* private */
		char carry[2][128]; /* the last bytes of output that was not kept */
		size_t carry_len[2], ready_from;
		char said[4][256];
		unsigned said_next;
		struct {
			const char *cause; /* NULL: what the row names */
			char reason[400];
		} escapes[8]; /* the first of each cause */
		size_t escape_count; /* beyond 8: some are not kept */
	} held;
};
#define TRY_OUTPUT_MAX ((size_t)8 << 20)
#define TRY_TIMEOUT_MS 30000 /* hotcell must have ended by then, whatever its cell does */
#define TRY_GENTLE_MS 15000 /* without a whole cell: many do not end by themselves then */
#define TRY_ALONE_MS (SANITIZED ? 300000 : 90000) /* for all an `alone` does: try_run fails when it is over */

/* ---- verdicts ---- */

void try_escaped(struct review_try *try, const char *format, ...) PRINTF_LIKE(2, 3); /* what was seen */
/* The same of what only these protections would have held, space-separated, whatever else the row names: only for want of
 * one of them is it degraded; "": it never is. What a sight tells of more than the row's technique is said with this. */
void try_escaped_for(struct review_try *try, const char *protections, const char *format, ...) PRINTF_LIKE(3, 4);
void try_not_applicable(struct review_try *try, const char *format, ...) PRINTF_LIKE(2, 3);
void try_failed(struct review_try *try, const char *format, ...) PRINTF_LIKE(2, 3); /* could not be tried */

/* ---- running ---- */

/* Runs `hotcell run` with the review's backend and image, these flags, and this program in it, whatever the row says; any
 * of the three may be NULL. Judges nothing. -1: it could not be started (try_failed was called). */
struct try_command {
	const char *flags, *program, *shell, *python; /* as in a row */
	const char *const *words; /* or a command of its own, word by word; NULL-terminated */
	const char *verb; /* NULL: "run" */
	void (*during)(struct review_try *try);
	bool terminal; /* hotcell has a terminal for stdin, stdout and stderr; what it shows is all in `out` */
};
int try_run(struct review_try *try, const struct try_command *command);
/* Starts one that runs beside what follows, and prints and reports to nobody: its process id, which is the caller's to
 * wait for, or -1. */
pid_t try_beside(struct review_try *try, const struct try_command *command);
/* What is judged for every attack, for an `alone` that ran one: the scene, then outcomes, tries and but of its row. */
void try_judge(struct review_try *try);
/* Any program of the host, to its end; its exit code, or -1. What it prints is added to `ret`, at most TRY_OUTPUT_MAX. */
int try_host(struct review_try *try, const char *const *argv, struct buf *ret);
int try_host_terminal(struct review_try *try, const char *const *argv); /* on a terminal; what it shows is all in `out` */

/* Waits, for rows that must; false: the row's time is over, or the user wants no more. */
bool try_sleep(struct review_try *try, unsigned ms);

/* ---- what was seen ---- */

/* What the program said of "what": "ok", "EPERM", a number; NULL if nothing. The last line counts. Good for four calls. */
const char *try_said(struct review_try *try, const char *what);
/* A member of the JSON result, by its path: "receipt.protections.seccomp.state"; NULL if there is none. */
const char *try_result(const struct review_try *try, const char *path);
uint64_t try_result_number(const struct review_try *try, const char *path); /* 0 if there is none */
bool try_outcome_is(const struct review_try *try, const char *outcome);
/* The cell's processes as the host sees them (ids there): those with the mark in their arguments. */
size_t try_processes(const struct review_try *try, pid_t *ret, size_t max);
/* A file of the host's /proc of such a process: "status", "cgroup", "uid_map". false if it is gone. */
bool try_proc(const struct review_try *try, pid_t pid, const char *file, struct buf *ret);
/* A line "NAME:\tVALUE" of a status file; NULL if there is none. Good for four calls. */
const char *try_status_line(const struct buf *status, const char *name);
/* Where a link of /proc/PID/ goes: "ns/net", "fd/3", "root". false if it cannot be told. */
bool try_link(pid_t pid, const char *name, char *ret, size_t size);

/* ---- the scene's things, for rows that want them by themselves ---- */

const char *scene_canary(const struct scene *scene); /* path */
const char *scene_token(const struct scene *scene);
pid_t scene_victim(const struct scene *scene);
bool scene_has_token(const struct scene *scene, const char *bytes, size_t len); /* as it is, in hex or in base64 */

/* ---- the groups ---- */

extern const struct review_attack review_files[], review_proc[], review_kernel[], review_exhaustion[], review_output[],
	review_doors[], review_bypass[];

#endif
