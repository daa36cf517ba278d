/* What makes a cell. cell.c does everything that is the same for all backends (stdio, clocks,
 * limits on output, collecting, the outcome); a backend starts one program in one sealed place
 * and reports how it ended. Seen only inside src/cell. */
#ifndef HOTCELL_CELL_BACKEND_H
#define HOTCELL_CELL_BACKEND_H

#include "cell/cell.h"

struct cell_backend_pool; /* the backend's own */
struct cell_backend_run; /* the backend's own */

struct cell_space {
	struct cell_pool *pool; /* NULL where a backend only knows it by its id */
	uint64_t id; /* never that of another in this process; not 0 */
	int view; /* the backend's: what leads cells there; -1: none */
	int top; /* for us; -1: none */
};

/* How a program ended, and what the backend knows of it. */
struct cell_end {
	int wait_status; /* of the main program, as from waitpid */
	uint64_t started_ns, ended_ns; /* clock_now of the program's start and end, where known better; else 0 */
	uint64_t user_us, system_us;
	uint64_t peak_memory, oom_kills, processes, written_bytes;
	bool disk_full; /* scratch space was exhausted at the end */
	bool filter_killed; /* the system call filter ended it */
	bool memory_killed; /* a watcher ended it for its memory */
	bool timed_out; /* the backend's own clock ended it, ours being late */
	bool lost; /* nobody saw how it ended: what was to look was killed, and not by us */
	uint64_t refused_total;
	struct cell_refused refused[CELL_REFUSED_KEPT];
	struct cell_observed observed;
};

/* A backend calls these from the loop, never from within start: either failed once, or started
 * once and then ended once. Nothing after failed or ended. */
struct cell_backend_events {
	/* The cell's listeners, if it is to have any: before its program runs. They stay the backend's. */
	void (*listening)(void *data, const int *fds, size_t count);
	/* With spec->effects: one of them, or NULL, and how many were dropped so far. From the loop or from within `effects`. */
	void (*effect)(void *data, const struct cell_effect *effect, uint64_t dropped);
	/* With spec->forbid: what was covered, as cell_forbidden_next reads it; right before `started`. It stays the backend's. */
	void (*forbidden)(void *data, const char *list, size_t len);
	/* The program runs, since `at_ns` of clock_now. tty_master: the terminal's other side (now the callee's), or
	 * -1. A backend may tell a little later, or of a short run only with its end. */
	void (*started)(void *data, uint64_t at_ns, int tty_master);
	/* Everything in the cell is dead. workspace: a descriptor of the folder it left (now the callee's), or -1. The
	 * folder stays until release. */
	void (*ended)(void *data, const struct cell_end *end, int workspace);
	/* It never ran: err says why; ERR_LOST when what was to start it was killed, and not by us. */
	void (*failed)(void *data, const struct err *err);
	void *data;
};

/* One row of the table in cell.c. A member may be NULL only where its comment says so. */
struct cell_backend {
	const char *name;
	unsigned abilities; /* of enum cell_ability */
	MUST_CHECK struct cell_backend_pool *(*open)(struct loop *loop, struct err *err);
	/* Waits until nothing is left; need not, if we are `leaving`: this process is about to end. */
	void (*close)(struct cell_backend_pool *pool, bool leaving);
	/* Cells that did not end by themselves when they should have. Optional. */
	uint64_t (*cleanup_failures)(const struct cell_backend_pool *pool);
	/* Keeps so many cells of this spec ready. NULL where none can be. */
	MUST_CHECK int (*warm)(struct cell_backend_pool *pool, const struct cell_spec *spec, unsigned count,
		struct err *err);
	/* stdio are the cell's ends (all -1 with spec->tty; stdin -1 where there is none: it is at its end); they stay
	 * the caller's, which closes them right after. `receipt` comes zeroed but for what cell.c gives every cell (the clock, the
	 * output limit) and is filled by the time `started` is called. Before the program runs the
	 * backend asks cell_require_check and fails if it must. */
	MUST_CHECK struct cell_backend_run *(*start)(struct cell_backend_pool *pool, const struct cell_spec *spec,
		const int stdio[3], struct cell_receipt *receipt, const struct cell_backend_events *events,
		struct err *err);
	/* Ends everything inside; `ended` (or `failed`) follows within a second. */
	void (*kill)(struct cell_backend_run *run);
	/* After ended or failed, and possibly from within them: gives back what the run held, in the
	 * background. The run is not used again. */
	void (*release)(struct cell_backend_run *run);
	uint64_t (*memory)(const struct cell_backend_run *run);
	int (*pid)(const struct cell_backend_run *run);
	/* `done` comes once, from the loop, and before `ended`. NULL where it cannot be done. */
	MUST_CHECK int (*exec)(struct cell_backend_run *run, const char *const *argv, const char *const *env,
		const int fds[3], bool tty, cell_exec_fn *done, void *data, struct err *err);
	/* Calls the event for all that wait to be told, before the end and never after it. False where there are none. It may
	 * call `started`, but none of the others. Optional. */
	bool (*effects)(struct cell_backend_run *run);
	/* Fills view and top. NULL where there are none. */
	MUST_CHECK int (*space_open)(struct cell_backend_pool *pool, uint64_t bytes, uint64_t files, struct cell_space *ret,
		struct err *err);
	/* Lets go of what shows it to cells to come. NULL where there are none. */
	void (*space_close)(struct cell_backend_pool *pool, const struct cell_space *space);
	/* What dead supervisors left on this machine. NULL where nothing can be left. */
	unsigned (*orphans)(void);
	size_t (*probe)(struct cell_probe *ret, size_t max);
	void (*explain)(const struct cell_spec *spec, struct buf *ret);
};

extern const struct cell_backend cell_native, cell_none;

/* A pool of any backend: for tests with a scripted one. */
MUST_CHECK struct cell_pool *cell_pool_open_with(const struct cell_backend *backend, struct loop *loop,
	struct err *err);

/* spec->require as one bit for each protection, and whether a receipt has them all on. Pure. */
uint32_t cell_required(const struct cell_spec *spec);
MUST_CHECK int cell_require_check(uint32_t required, const struct cell_receipt *receipt, struct err *err);

struct cell_backend_pool *cell_pool_backend(struct cell_pool *pool, const struct cell_backend **ret);

/* The spec's calls and paths. Pure; part of cell_spec_check. */
MUST_CHECK int cell_rules_check(const struct cell_spec *spec, struct err *err);
/* An absolute path in the cell, as the kernel would walk it without surprises; `what` begins the error. */
MUST_CHECK int cell_inside_path_check(const char *path, const char *what, struct err *err);

/* Why we ended a cell. The first reason stays. */
enum cell_reason {
	CELL_REASON_NONE, /* we did not: it ended by itself */
	CELL_REASON_CANCEL,
	CELL_REASON_TIMEOUT,
	CELL_REASON_OUTPUT, /* it printed more than it may */
	CELL_REASON_SETUP, /* it was not up in time, or not as required */
	CELL_REASON_COUNT
};

/* What a run that ended is called. Pure. What we did comes first, then what the kernel says it died
 * of, then how the main program ended. */
enum cell_outcome cell_decide(const struct cell_end *end, enum cell_reason reason);

#endif
