/* What the files of this folder share. */
#ifndef HOTCELL_API_PRIVATE_H
#define HOTCELL_API_PRIVATE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/hotcell.h"
#include "base/own.h"

/* The program, as tools/embed puts it into the library. */
extern const unsigned char hotcell_image[], hotcell_image_end[];

/* Fills it, if there is one, and returns -1. api_errno appends what errno means. */
int api_fail(struct hotcell_error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);
int api_errno(struct hotcell_error *error, int number, const char *format, ...) PRINTF_LIKE(3, 4);

struct hotcell {
	atomic_uint users; /* the opener and every job: the last one frees it */
	int image; /* descriptor of the program */
};
void hotcell_unuse(struct hotcell *hotcell);

/* Words that end with a NULL. */
struct words {
	char **list; /* NULL: none yet */
	size_t count;
};
int words_take(struct words *words, char *word); /* owns it, also when it fails; a NULL word fails. -1: no memory */
void words_free(struct words *words);

struct hotcell_job {
	struct hotcell *hotcell;
	int kind;
	struct words options, words; /* "--name=value"; the command, or targets */
	char *folder; /* NULL: the caller's */
	int input; /* memory to read stdin from; -1: none */
	int stop; /* an eventfd: readable when it shall end */
	bool ran;
	hotcell_watch_fn *watch; /* may be NULL */
	void *watch_data;
};

/* ---- the child ---- */

/* Its descriptors, in their order. What it says is apart from what the cell prints; what it is told is in memory, since
 * every user of the machine could read a command line. */
enum { CHILD_IN, CHILD_OUT, CHILD_SAID, CHILD_JSON, CHILD_ERR, CHILD_WORDS, CHILD_FDS };

struct child {
	int pidfd;
	bool known; /* how it ended was seen. A caller that waits for all children may have taken it */
	int status, signal; /* its exit code, or the signal that ended it; else 0 */
};

/* The number is never below CHILD_FDS, so that it can be put in its place, and closed on exec. -1 on errors, as errno. */
int high_fd(int fd); /* takes the descriptor */
int memory_fd(const char *name, unsigned flags);

/* Starts the program in `folder` (NULL: here); its words are in fds[CHILD_WORDS]. -1: an error; then there is no child. */
MUST_CHECK int child_start(struct child *child, int image, const char *folder, const int fds[CHILD_FDS],
	struct hotcell_error *error);
void child_signal(const struct child *child, int number);
void child_wait(struct child *child); /* for its end, and lets go of it */

/* ---- results ---- */

struct bytes {
	char *data; /* with a NUL behind them */
	size_t len;
};

struct hotcell_result {
	int kind;
	char *json;
	char *said;
	struct bytes out, err; /* of a cell */
	struct hotcell_cell cell;
	struct hotcell_fuzz fuzz;
	struct hotcell_gap *gaps;
	struct hotcell_finding *findings;
	struct words texts; /* everything that the structs point to */
	struct words problems;
	unsigned char **inputs; /* a finding each */
};

/* Reads the JSON that *json holds, which it takes, also when it fails. NULL: no memory, or no JSON of hotcell. */
MUST_CHECK struct hotcell_result *result_read(int kind, char **json, size_t len, struct hotcell_error *error);

#endif
