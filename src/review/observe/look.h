/* A cell's processes as the host's kernel describes them, for rows whose program holds what it gained. Nothing a program
 * does to its name, arguments or session hides it: what is below hotcell is found by its parents. Seen only inside
 * src/review. */
#ifndef HOTCELL_REVIEW_OBSERVE_LOOK_H
#define HOTCELL_REVIEW_OBSERVE_LOOK_H

#include "review/observe/scene.h"

struct look_stat { /* of /proc/PID/stat */
	char state;
	int parent, group, session, terminal;
	long nice;
	uint64_t start;
	unsigned policy;
};
bool look_stat(pid_t pid, struct look_stat *ret); /* false: it is gone */

struct look_process {
	pid_t pid;
	uint64_t start; /* with it a number is one process for ever */
};
#define LOOK_MAX 256
struct look_processes {
	struct look_process items[LOOK_MAX];
	size_t count;
	char *cgroup; /* look_cgroup; or NULL */
};
/* All that descend from `top`, itself not among them. */
void look_below(pid_t top, struct look_processes *ret);
/* Where the kernel accounts for the attack's processes (/proc/PID/cgroup), if that is a place of the cell's own; the caller
 * frees. NULL: they are where hotcell is, since there is no cgroup to be had; a row that is held says so. */
char *look_cgroup(struct review_try *try);
/* Waits for them to be gone, and for their cgroup to be empty; who is left is an escape, and is killed. */
void look_gone(struct review_try *try, const struct look_processes *were);

/* The attack's processes, and the cell's init. None: try_failed, and 0. */
size_t look_cell(struct review_try *try, pid_t *ret, size_t max);
/* Tells the attack's processes that they have been looked at. */
void look_release(struct review_try *try);

/* For rows' `during`: each looks for one thing, then releases. */
void look_namespaces(struct review_try *try); /* each is the cell's own, and its user's owns none of them */
void look_credentials(struct review_try *try); /* nobody's user, no capability, no_new_privs, a filter */
void look_session(struct review_try *try); /* its own, without a terminal */
void look_descriptors(struct review_try *try); /* 0, 1 and 2 only, and nothing of the host's */
void look_gains(struct review_try *try); /* no descriptor of what only a filter refuses; no namespaces but the first's */
void look_priority(struct review_try *try); /* neither real-time nor before others */
void look_proc(struct review_try *try); /* every procfs it sees is read-only */
void look_secrets(struct review_try *try); /* none in the arguments and environments of hotcell's own processes */

/* For rows' `judge`: an error that only the kernel behind the filter gives is an escape. */
void look_reached(struct review_try *try);

#endif
