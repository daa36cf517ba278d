/* hotcell.h: sealed cells and function fuzzing, for programs that are not hotcell.
 *
 *	struct hotcell_error error;
 *	struct hotcell *hotcell = hotcell_open(&error);
 *	struct hotcell_job *job = hotcell_job_open(hotcell, HOTCELL_RUN, &error);
 *	hotcell_job_set(job, "memory", "64M", &error);
 *	hotcell_job_add(job, "id", &error);
 *	struct hotcell_result *result = hotcell_job_run(job, &error);
 *	if (result)
 *		fwrite(hotcell_result_cell(result)->out, 1, hotcell_result_cell(result)->out_len, stdout);
 *	else
 *		fprintf(stderr, "%s\n", error.text);
 *	hotcell_result_free(result);
 *	hotcell_job_free(job);
 *	hotcell_close(hotcell);
 *
 * How it works. The library carries the program hotcell in its own file, copies it into memory that is never a file of
 * the machine, and starts it once for every job, as a child process. Cells are made by that child, never by the
 * caller's process: nothing is forked that goes on with the caller's memory, and a caller with many threads is as good
 * as any.
 *
 * Errors. A call that can fail takes a struct hotcell_error last, which may be NULL, and returns -1 or NULL then. The
 * text is one sentence. The library never exits, aborts or prints.
 *
 * Threads. A struct hotcell may be used by all threads at once. A job belongs to one thread at a time, but for
 * hotcell_job_stop, which any thread and any signal handler may call as long as the job is not freed. A result does
 * not change: all may read it.
 *
 * Processes. While hotcell_job_run is under way there is one child more, in a process group of its own; it is waited
 * for by its own descriptor, and a caller that waits for all its children, or ignores SIGCHLD, takes nothing from it.
 * It ends with the caller's process, kill -9 included, and everything in the cell ends with it. No signal handler,
 * mask, limit or folder of the caller is changed. After a fork the child process may go on to use what it inherited,
 * but for jobs that were running. Every descriptor is closed on exec.
 *
 * Versions. Functions and members are added at the end and never taken away, and HOTCELL_API grows with them. The
 * structs below are made by the library alone: read them through the pointers it gives; do not copy them, nor ask for
 * their sizes. */
#ifndef HOTCELL_H
#define HOTCELL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOTCELL_API 1
#define HOTCELL_EXPORT __attribute__((visibility("default")))

HOTCELL_EXPORT unsigned hotcell_api(void); /* HOTCELL_API of the library, which may be newer than this header */
HOTCELL_EXPORT const char *hotcell_version(void); /* "0.1.0" */

/* ---- errors ---- */

enum hotcell_error_code {
	HOTCELL_OK = 0,
	HOTCELL_E_USAGE = 1, /* what was asked for is wrong: the sentence says what */
	HOTCELL_E_SYSTEM = 2, /* the machine refused memory, a descriptor or a process */
	HOTCELL_E_FAILED = 3, /* there is no result: hotcell could not do it, or was killed */
	HOTCELL_E_STOPPED = 4, /* there is no result: it was stopped before there could be one */
};

struct hotcell_error {
	int code; /* enum hotcell_error_code */
	char text[500];
};

/* ---- the library ---- */

struct hotcell;

/* NULL: an error. It holds one descriptor and about 14 MB of memory, which all jobs share. */
HOTCELL_EXPORT struct hotcell *hotcell_open(struct hotcell_error *error);
/* NULL is fine. Jobs and results that are still there stay good. */
HOTCELL_EXPORT void hotcell_close(struct hotcell *hotcell);

/* ---- what is asked for ---- */

enum hotcell_kind {
	HOTCELL_RUN = 1, /* a command in a cell of its own: hotcell-run(1) */
	HOTCELL_FUZZ_FUNCTION = 2, /* functions, with the engines of their languages: hotcell-fuzz-function(1) */
};

/* One thing to do, once. Life: hotcell_job_open, the calls that say what, hotcell_job_run, hotcell_job_free. */
struct hotcell_job;

HOTCELL_EXPORT struct hotcell_job *hotcell_job_open(struct hotcell *hotcell, int kind, struct hotcell_error *error);
/* Not while it runs. NULL is fine. */
HOTCELL_EXPORT void hotcell_job_free(struct hotcell_job *job);

/* An option by the name that the manual page has it under, without the dashes: "memory", "timeout", "mount", "env",
 * "duration". Those that the manual calls repeatable may be set more than once. NULL for a value: an option that takes
 * none, such as "tmp-exec". What the library itself needs is refused ("json", "stdin", "quiet", "tty" and such).
 * Whether an option is there and what its value means is said by hotcell_job_run. */
HOTCELL_EXPORT int hotcell_job_set(struct hotcell_job *job, const char *option, const char *value, struct hotcell_error *error);
/* The next word of the command; or one more target: "file.py:function", a harness's file, a folder. */
HOTCELL_EXPORT int hotcell_job_add(struct hotcell_job *job, const char *word, struct hotcell_error *error);
/* What the command reads from its stdin; nothing if it is not called. The bytes are copied. Of HOTCELL_RUN only. */
HOTCELL_EXPORT int hotcell_job_input(struct hotcell_job *job, const void *bytes, size_t len, struct hotcell_error *error);
/* The folder that relative paths begin at, and that the state folder is looked for from; else the caller's. */
HOTCELL_EXPORT int hotcell_job_folder(struct hotcell_job *job, const char *folder, struct hotcell_error *error);

struct hotcell_progress {
	uint64_t ms; /* since it began */
	uint64_t execs, execs_per_s, findings; /* of fuzzing, as last told */
	const char *json; /* what was told this time, one object as of --stats-json; NULL: nothing new, or a cell */
};

/* Called in the thread of hotcell_job_run, about five times a second, and never after it returned. Not 0 stops the job. */
typedef int hotcell_watch_fn(void *data, const struct hotcell_progress *progress);
HOTCELL_EXPORT int hotcell_job_watch(struct hotcell_job *job, hotcell_watch_fn *watch, void *data, struct hotcell_error *error);

/* Returns when it is over, and everything that it started is dead. NULL: there is no result. That a program failed,
 * ran out of time or could not be started in its cell is a result, not an error. */
HOTCELL_EXPORT struct hotcell_result *hotcell_job_run(struct hotcell_job *job, struct hotcell_error *error);
/* Ends it soon, also one that has not begun. What was found until then is in the result. */
HOTCELL_EXPORT void hotcell_job_stop(struct hotcell_job *job);

/* ---- what came of it ---- */

struct hotcell_result;

HOTCELL_EXPORT void hotcell_result_free(struct hotcell_result *result); /* NULL is fine */
HOTCELL_EXPORT const char *hotcell_result_json(const struct hotcell_result *result); /* all of it; never NULL */
/* What hotcell remarked and warned of, lines; "" if nothing. */
HOTCELL_EXPORT const char *hotcell_result_said(const struct hotcell_result *result);

enum hotcell_outcome {
	HOTCELL_UNKNOWN = 0, /* one that this library does not know; its name says it */
	HOTCELL_EXITED = 1, /* the program ended by itself */
	HOTCELL_SIGNALED = 2, /* a signal ended it */
	HOTCELL_TIMEOUT = 3, /* its time was over */
	HOTCELL_OOM = 4, /* it went beyond its memory */
	HOTCELL_OUTPUT_LIMIT = 5, /* it printed more than it may */
	HOTCELL_DISK_LIMIT = 6, /* its scratch space was full */
	HOTCELL_DENIED = 7, /* the system call filter ended it */
	HOTCELL_SETUP_FAILED = 8, /* it never ran; `error` says why */
	HOTCELL_CANCELLED = 9, /* it was stopped */
};

/* A protection that the cell had not, or not in full. */
struct hotcell_gap {
	const char *protection; /* "memory-limit", "landlock", ... */
	const char *state; /* "off", or "weaker": less than the full mechanism */
	const char *note; /* why, or what stood in for it; "" if there is nothing to say */
};

struct hotcell_cell {
	int outcome; /* enum hotcell_outcome */
	const char *outcome_name; /* "exited", "output-limit", ... */
	int exit_code; /* of the main program; -1: it has none */
	int signal; /* that ended the main program; 0: none */
	const char *out; /* its stdout, as it was; a NUL follows that is not counted */
	size_t out_len;
	const char *err; /* its stderr, likewise */
	size_t err_len;
	double wall_ms, setup_ms; /* of the program; of making the cell before it */
	double user_ms, system_ms; /* CPU time of everything in the cell */
	uint64_t peak_memory; /* bytes; 0: not known */
	uint64_t refused; /* system calls that were refused */
	int full; /* every protection was there: gap_count is 0 */
	const struct hotcell_gap *gaps;
	size_t gap_count;
	const char *receipt; /* every protection and its state, as JSON */
	const char *error; /* why it never ran, or what failed after it; NULL: nothing */
};
/* NULL: it is not of HOTCELL_RUN. */
HOTCELL_EXPORT const struct hotcell_cell *hotcell_result_cell(const struct hotcell_result *result);

struct hotcell_finding {
	const char *id; /* the same again for the same fault */
	const char *oracle; /* who says so: "crash", "exception", "hang", "memory" */
	const char *severity; /* "critical", "high", "medium", "low" */
	const char *target, *subject; /* "parser.py:parse"; the function */
	const char *message; /* one line */
	const char *file; /* where; NULL: not known */
	unsigned line; /* 0: not known */
	const unsigned char *input; /* the bytes that did it */
	size_t input_len;
	unsigned seen, tried; /* it did the same so often, of so many times in fresh cells */
	int is_new; /* the state folder did not have it */
	const char *json; /* the whole finding */
};

struct hotcell_fuzz {
	uint64_t execs, wall_ms;
	const char *seed; /* as digits; give it as the option "seed" for the same choices */
	const struct hotcell_finding *findings;
	size_t finding_count;
	const char *const *problems; /* why something was not fuzzed, "TARGET: ..."; a build's log */
	size_t problem_count;
	int stopped; /* before its time */
};
/* NULL: it is not of HOTCELL_FUZZ_FUNCTION. */
HOTCELL_EXPORT const struct hotcell_fuzz *hotcell_result_fuzz(const struct hotcell_result *result);

#ifdef __cplusplus
}
#endif

#endif
