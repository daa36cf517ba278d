/* Live cells, seen from other processes.
 *
 * Each supervisor has a control socket named by its pid in a folder that only its user can enter.
 * Through it the verbs ps, kill, logs, exec and doors reach the cells of this user (or, for root, root's). */
#ifndef HOTCELL_LIVE_LIVE_H
#define HOTCELL_LIVE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "cell/cell.h"

/* ---- the supervisor's side ---- */

struct live;

/* One for each process. */
MUST_CHECK struct live *live_open(struct loop *loop, struct err *err);
struct live *live_free(struct live *live); /* NULL is fine; the socket goes; returns NULL */
const char *live_path(const struct live *live);
/* From live_add until live_remove the cell must live. argv is copied, shortened. */
void live_add(struct live *live, struct cell *cell, const char *const *argv);
void live_remove(struct live *live, const struct cell *cell); /* followers get the last output */

/* Tells of the supervisor's doors: one JSON object. Called whenever somebody asks, until live_free. */
typedef void live_doors_fn(void *data, struct json *json);
void live_set_doors(struct live *live, live_doors_fn *fn, void *data);

/* Told of each program that somebody brings into a cell: before it begins (failing keeps it out) and when it has ended, even
 * after live_free. */
struct live_execs {
	int (*begins)(void *data, const char *cell, int asker, const char *const *argv, struct err *err); /* asker: a pid; 0: not known */
	void (*ended)(void *data, const char *cell, int wait_status, const struct err *err); /* err NULL when it ran */
	void *data;
};
void live_set_execs(struct live *live, const struct live_execs *execs); /* copied */

/* ---- the asking side; blocking, each answer awaited for a few seconds at most ---- */

struct live_cell {
	char *id, *command; /* the command's bytes are as given: escape them before a terminal sees them */
	char *backend;
	char *folder, *socket; /* where its supervisor listens */
	int supervisor; /* pid of that hotcell */
	int pid; /* a process of the cell on this machine; 0 if not known */
	uint64_t age_ns, memory, printed;
};

struct live_list {
	struct live_cell *cells;
	size_t count;
	unsigned silent; /* supervisors that did not answer */
};

/* All live cells of this user, oldest first. Sockets of dead supervisors are swept away. */
void live_list(struct live_list *ret);
void live_list_done(struct live_list *list);
/* The cell with this id, or the only one whose id begins so. The error names the live ones. */
MUST_CHECK const struct live_cell *live_find(const struct live_list *list, const char *id, struct err *err);

/* What each supervisor that has doors says of them. */
struct live_doors {
	int supervisor; /* its pid */
	char *json; /* one object, as it came: parse it as a stranger's */
	size_t len;
};
struct live_doors_list {
	struct live_doors *items;
	size_t count;
	unsigned silent;
};
void live_doors_list(struct live_doors_list *ret);
void live_doors_list_done(struct live_doors_list *list);

MUST_CHECK int live_kill(const struct live_cell *cell, struct err *err);

/* What it printed from *offset on, as far as it is kept; *offset moves on. With `wait`, waits until
 * there is more or the cell is over. Returns 1, or 0 when the cell is over: there is no more. A follower
 * that asks again before it shows what it got misses nothing. */
struct live_tail;
MUST_CHECK struct live_tail *live_tail_open(const struct live_cell *cell, struct err *err);
MUST_CHECK int live_tail_ask(struct live_tail *tail, uint64_t offset, bool wait, struct err *err);
MUST_CHECK int live_tail_get(struct live_tail *tail, uint64_t *ret_offset, struct buf *ret, struct err *err);
struct live_tail *live_tail_free(struct live_tail *tail);

/* Starts a program in the cell with these descriptors, which are copied. Returns a descriptor that
 * becomes readable when it is over, for live_exec_result. The caller closes it. */
MUST_CHECK int live_exec(const struct live_cell *cell, const char *const *argv, const char *const *env,
	const int fds[3], bool tty, struct err *err);
MUST_CHECK int live_exec_result(int fd, int *ret_wait_status, struct err *err);

#endif
