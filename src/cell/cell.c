/* The life of a cell, the same for all backends.
 *
 *	STARTING    cell_start was called; the backend makes the place. A clock of its own guards this.
 *	RUNNING     the program runs (`started`); the timeout counts from here.
 *	COLLECTING  everything inside is dead; much was left in the workspace, and a child of ours copies it.
 *	FLUSHING    that is over, and all is read; a slow sink has not taken it all yet.
 *	DONE        `done` was called.
 *
 * Only the first reason to end a cell counts. `done` comes from the loop and is the last thing done
 * with a cell: it may free it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/term.h"
#include "base/weaken.h"
#include "cell/backend.h"
#include "cell/collect.h"
#include "cell/pump.h"

#define SETUP_EXTRA_NS (10 * NS_PER_S) /* making the place may take as long as the run, and this */
#define FLUSH_NS NS_PER_S /* for a sink, when we ended the cell: whoever set a clock expects it to hold */
#define FREE_NS (10 * NS_PER_S) /* a backend ends a cell within one second */
#define NAME_SHOWN 200 /* bytes of a forbidden name in a sentence */

static const struct cell_backend *const backends[] = {&cell_native, &cell_none};
const char *const cell_backends[] = {"native", "none", NULL};
_Static_assert(ARRAY_LEN(cell_backends) == ARRAY_LEN(backends) + 1, "a backend has no name");

enum cell_state {
	STATE_STARTING,
	STATE_RUNNING,
	STATE_COLLECTING,
	STATE_FLUSHING,
	STATE_DONE
};

struct cell_pool {
	const struct cell_backend *backend;
	struct cell_backend_pool *backend_pool;
	struct loop *loop;
	struct cell *cells; /* all not freed */
	int pid;
	bool closing;
	cell_watch_fn *watch; /* NULL: nobody */
	void *watch_data;
	cell_warn_fn *warn; /* NULL: nobody, or it was told */
	void *warn_data;
};

struct cell {
	struct cell_pool *pool;
	struct cell *next, *prev;
	char id[24];
	enum cell_state state;
	enum cell_reason reason;
	bool abandoned; /* its owner is gone: free it when it ends, tell nobody */
	bool *freed; /* set when it is */
	struct cell_backend_run *run; /* until it ended */
	struct pump pump;
	struct loop_source *timer;
	uint64_t start_ns, started_ns, timeout_ns;
	uint32_t required;
	struct collect collect;
	bool flushed; /* the sinks have everything */
	void (*listening)(void *data, const int *fds, size_t count); /* of its io */
	void (*effect)(void *data, const struct cell_effect *effect); /* likewise */
	bool effects; /* they are asked for; and, as far as is known, told */
	uint64_t effects_dropped;
	cell_done_fn *done;
	void *data;
	struct cell_result result;
};

/* ---- pools ---- */

static const struct cell_backend *backend_find(const char *name)
{
	if (!name)
		return backends[0];
	for (size_t i = 0; i < ARRAY_LEN(backends); i++)
		if (strcmp(cell_backends[i], name) == 0)
			return backends[i];
	return NULL;
}

bool cell_backend_can(const char *name, enum cell_ability ability)
{
	const struct cell_backend *backend = backend_find(name);

	return backend && (backend->abilities & ability) != 0;
}

unsigned cell_orphans(void)
{
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_LEN(backends); i++)
		count += backends[i]->orphans ? backends[i]->orphans() : 0;
	return count;
}

/* A pipe whose reader left must be an error of write, not the end of the supervisor. */
static void ignore_sigpipe(void)
{
	struct sigaction now;
	if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		(void)signal(SIGPIPE, SIG_IGN);
}

struct cell_pool *cell_pool_open_with(const struct cell_backend *backend, struct loop *loop, struct err *err)
{
	own(cell_pool_freep) struct cell_pool *pool = xcalloc(1, sizeof(*pool));
	pool->backend = backend;
	pool->loop = loop;
	pool->pid = getpid();
	ignore_sigpipe();
	pool->backend_pool = backend->open(loop, err);
	if (!pool->backend_pool)
		return NULL;
	return ptr_take(&pool);
}

struct cell_pool *cell_pool_open(const char *name, struct loop *loop, struct err *err)
{
	const struct cell_backend *backend = backend_find(name);
	if (!backend) {
		(void)err_set(err, ERR_USAGE, "no backend is named '%s'; there are native and none", name);
		return NULL;
	}
	return cell_pool_open_with(backend, loop, err);
}

struct cell_backend_pool *cell_pool_backend(struct cell_pool *pool, const struct cell_backend **ret)
{
	*ret = pool->backend;
	return pool->backend_pool;
}

static bool pool_is_idle(const struct cell_pool *pool)
{
	for (const struct cell *cell = pool->cells; cell; cell = cell->next)
		if (cell->state != STATE_DONE)
			return false;
	return true;
}

static void pool_close(struct cell_pool *pool, bool leaving)
{
	if (!pool)
		return;
	pool->closing = true;
	for (struct cell *cell = pool->cells; cell; cell = cell->next)
		cell_cancel(cell);
	uint64_t until = clock_now() + FREE_NS;
	while (!pool_is_idle(pool) && clock_now() < until && loop_turn(pool->loop, 100) == 0)
		;
	if (pool->backend_pool)
		pool->backend->close(pool->backend_pool, leaving);
	for (struct cell *cell = pool->cells; cell; cell = cell->next) {
		collect_done(&cell->collect); /* of one that did not die in time nothing more is heard */
		cell->pool = NULL; /* what is done can still be read and freed */
	}
	free(pool);
}

struct cell_pool *cell_pool_free(struct cell_pool *pool)
{
	pool_close(pool, false);
	return NULL;
}

void cell_pool_leave(struct cell_pool *pool)
{
	pool_close(pool, true);
}

void cell_pool_freep(struct cell_pool **pool)
{
	*pool = cell_pool_free(*pool);
}

uint64_t cell_pool_cleanup_failures(const struct cell_pool *pool)
{
	return pool->backend->cleanup_failures ? pool->backend->cleanup_failures(pool->backend_pool) : 0;
}

void cell_pool_watch(struct cell_pool *pool, cell_watch_fn *fn, void *data)
{
	pool->watch = fn;
	pool->watch_data = data;
}

void cell_pool_warn(struct cell_pool *pool, cell_warn_fn *fn, void *data)
{
	pool->warn = fn;
	pool->warn_data = data;
}

int cell_pool_warm(struct cell_pool *pool, const struct cell_spec *spec, unsigned count, struct err *err)
{
	if (cell_spec_check(spec, err) < 0)
		return -1;
	return pool->backend->warm ? pool->backend->warm(pool->backend_pool, spec, count, err) : 0;
}

/* ---- the end ---- */

static void cell_unlink(struct cell *cell)
{
	if (cell->next)
		cell->next->prev = cell->prev;
	if (cell->prev)
		cell->prev->next = cell->next;
	else if (cell->pool)
		cell->pool->cells = cell->next;
	cell->next = cell->prev = NULL;
}

static struct cell *cell_destroy(struct cell *cell)
{
	cell_unlink(cell);
	cell->timer = loop_remove(cell->timer);
	pump_done(&cell->pump);
	cell_result_done(&cell->result);
	if (cell->freed)
		*cell->freed = true;
	collect_done(&cell->collect);
	free(cell);
	return NULL;
}

static void cell_freep(struct cell **cell)
{
	if (*cell)
		*cell = cell_destroy(*cell);
}

static void set_timer(struct cell *cell, uint64_t at_ns, loop_timer_fn *fn)
{
	cell->timer = loop_remove(cell->timer);
	cell->timer = loop_add_timer(cell->pool->loop, at_ns, fn, cell);
}

static void cell_finish(struct cell *cell)
{
	struct cell_result *result = &cell->result;
	cell->timer = loop_remove(cell->timer);
	pump_close(&cell->pump);
	result->stdout_bytes = cell->pump.out[0].bytes;
	result->stdout_unfinished = result->stdout_bytes > 0 && cell->pump.out[0].last != '\n';
	result->stderr_bytes = cell->pump.out[1].bytes;
	result->dropped_bytes = cell->pump.dropped;
	if (result->err.code == 0)
		result->err = cell->pump.err;
	cell->state = STATE_DONE;
	if (cell->pool && cell->pool->watch)
		cell->pool->watch(cell->pool->watch_data, cell, result);
	if (cell->abandoned)
		(void)cell_destroy(cell);
	else
		cell->done(cell->data, cell, result);
}

static void on_give_up_flushing(void *data)
{
	cell_finish(data);
}

static void on_flushed(void *data)
{
	struct cell *cell = data;
	cell->flushed = true;
	if (cell->state == STATE_FLUSHING)
		cell_finish(cell);
}

static void cell_release(struct cell *cell)
{
	struct cell_backend_run *run = ptr_take(&cell->run);
	if (run)
		cell->pool->backend->release(run);
}

static void copy_end(struct cell_result *result, const struct cell_end *end)
{
	result->exit_code = WIFEXITED(end->wait_status) ? WEXITSTATUS(end->wait_status) : -1;
	result->signal = WIFSIGNALED(end->wait_status) ? WTERMSIG(end->wait_status) : 0;
	result->user_us = end->user_us;
	result->system_us = end->system_us;
	result->peak_memory = end->peak_memory;
	result->oom_kills = end->oom_kills;
	result->processes = end->processes;
	result->written_bytes = end->written_bytes;
	result->refused_total = end->refused_total;
	memcpy(result->refused, end->refused, sizeof(result->refused));
	result->observed = end->observed;
}

static void cell_flush(struct cell *cell)
{
	cell->state = STATE_FLUSHING;
	cell_release(cell);
	if (cell->flushed || cell->abandoned)
		cell_finish(cell);
	else if (cell->reason != CELL_REASON_NONE)
		set_timer(cell, clock_now() + FLUSH_NS, on_give_up_flushing);
}

static void on_collected(void *data)
{
	cell_flush(data);
}

/* True when it is over; else on_collected follows. */
static bool cell_collect(struct cell *cell, int given)
{
	struct cell_result *result = &cell->result;
	own(fd_closep) int workspace = given;
	if (cell->collect.to < 0)
		return true;
	if (workspace < 0) {
		if (!result->lost)
			(void)err_set(&result->err, ERR_MISSING, "collect output: the cell left no workspace");
		return true;
	}
	if (cell->abandoned || (cell->pool->closing && !collect_is_small(workspace))) {
		collect_unmake(&cell->collect); /* nobody waits for it */
		return true;
	}
	return collect_begin(&cell->collect, cell->pool->loop, fd_take(&workspace), result, on_collected, cell);
}

/* ---- what happens to it ---- */

static void cell_kill(struct cell *cell, enum cell_reason reason)
{
	if (cell->reason != CELL_REASON_NONE)
		return;
	cell->reason = reason;
	if (cell->run && (cell->state == STATE_STARTING || cell->state == STATE_RUNNING))
		cell->pool->backend->kill(cell->run);
}

static void on_timeout(void *data)
{
	struct cell *cell = data;
	cell->timer = loop_remove(cell->timer);
	cell_kill(cell, CELL_REASON_TIMEOUT);
}

static void on_setup_timeout(void *data)
{
	struct cell *cell = data;
	cell->timer = loop_remove(cell->timer);
	(void)err_set(&cell->result.err, ERR_LIMIT, "the cell was not ready after %.1f s",
		(double)(clock_now() - cell->start_ns) / (double)NS_PER_S);
	cell_kill(cell, CELL_REASON_SETUP);
}

/* May be found only when all is read, after the end: then it is a reason all the same. */
static void on_over(void *data)
{
	cell_kill(data, CELL_REASON_OUTPUT);
}

static void give_own_protections(struct cell_receipt *receipt)
{
	receipt->grade[CELL_OUTPUT_LIMITED] = CELL_ON;
	receipt->grade[CELL_WALL_CLOCK] = CELL_ON;
}

static void on_listening(void *data, const int *fds, size_t count)
{
	struct cell *cell = data;
	if (cell->listening && !cell->abandoned)
		cell->listening(cell->data, fds, count);
}

static void on_effect(void *data, const struct cell_effect *effect, uint64_t dropped)
{
	struct cell *cell = data;
	cell->effects_dropped = dropped;
	if (effect && cell->effect && !cell->abandoned)
		cell->effect(cell->data, effect);
}

/* Once: the cells of a pool are alike. */
static void warn_forbidden(struct cell_pool *pool, const char *list, size_t len)
{
	cell_warn_fn *warn = pool->warn;
	own(buf_done) struct buf sentence = {0};
	const char *name, *path;

	pool->warn = NULL;
	for (size_t at = 0; warn && cell_forbidden_next(list, len, &at, &name, &path);) {
		if (*path)
			continue;
		sentence.len = 0;
		buf_str(&sentence, "--forbid '");
		term_line(name, strlen(name), NAME_SHOWN, &sentence);
		buf_str(&sentence, "' matches no program in this cell: check the spelling");
		warn(pool->warn_data, buf_text(&sentence));
	}
}

static void on_forbidden(void *data, const char *list, size_t len)
{
	struct cell *cell = data;

	cell->result.forbidden = xrealloc(cell->result.forbidden, len, 1);
	memcpy(cell->result.forbidden, list, len);
	cell->result.forbidden_len = len;
	warn_forbidden(cell->pool, list, len);
}

static void on_started(void *data, uint64_t at_ns, int tty_master)
{
	struct cell *cell = data;
	struct err missing = {0};
	uint64_t now = clock_now();
	cell->state = STATE_RUNNING;
	cell->started_ns = at_ns >= cell->start_ns && at_ns <= now ? at_ns : now;
	cell->result.setup_ns = cell->started_ns - cell->start_ns;
	give_own_protections(&cell->result.receipt);
	pump_started(&cell->pump, cell->started_ns, tty_master);
	set_timer(cell, cell->started_ns + cell->timeout_ns, on_timeout);
	/* The backend has refused before; this holds for one that forgot. */
	if (cell->required && cell_require_check(cell->required, &cell->result.receipt, &missing) < 0) {
		cell->result.err = missing;
		cell_kill(cell, CELL_REASON_SETUP);
	}
}

static void cell_lost(struct cell_result *result)
{
	result->lost = true;
	(void)err_set(&result->err, ERR_LOST,
		"the cell's own process was killed from outside: how its program would have ended is not known");
}

static void on_ended(void *data, const struct cell_end *end, int workspace)
{
	struct cell *cell = data;
	uint64_t now = clock_now();
	cell->effects = cell->effects && cell->pool->backend->effects(cell->run);
	cell->state = STATE_COLLECTING;
	cell->timer = loop_remove(cell->timer);
	cell->result.wall_ns = cell->started_ns ? now - cell->started_ns : 0;
	if (end->started_ns >= cell->start_ns && end->ended_ns >= end->started_ns && end->ended_ns <= now) {
		cell->result.setup_ns = end->started_ns - cell->start_ns;
		cell->result.wall_ns = end->ended_ns - end->started_ns;
	}
	copy_end(&cell->result, end);
	if (end->lost && cell->reason == CELL_REASON_NONE)
		cell_lost(&cell->result);
	cell->flushed = pump_ended(&cell->pump);
	cell->result.outcome = cell_decide(end, cell->reason);
	if (cell_collect(cell, workspace))
		cell_flush(cell);
}

static void on_failed(void *data, const struct err *err)
{
	struct cell *cell = data;
	bool cancelled = cell->reason == CELL_REASON_CANCEL;
	cell->state = STATE_FLUSHING;
	cell->timer = loop_remove(cell->timer);
	cell->result.outcome = cancelled ? CELL_CANCELLED : CELL_SETUP_FAILED;
	cell->result.lost = err->code == ERR_LOST && cell->reason == CELL_REASON_NONE;
	if (!cancelled && cell->result.err.code == 0)
		cell->result.err = *err;
	cell->flushed = pump_ended(&cell->pump);
	collect_unmake(&cell->collect);
	cell_flush(cell);
}

/* ---- starting ---- */

/* Unique on this machine while the supervisor lives: its pid, scrambled without loss so that the
 * ids of neighbours differ from the start, and the cell's number when it is not the first. */
static void make_id(struct cell *cell)
{
	static unsigned count;
	uint32_t scrambled = ((uint32_t)cell->pool->pid * UINT32_C(0x9e3779b1)) & 0xffffff;
	unsigned number = count++;
	if (number == 0)
		(void)snprintf(cell->id, sizeof(cell->id), "c%06" PRIx32, scrambled);
	else
		(void)snprintf(cell->id, sizeof(cell->id), "c%06" PRIx32 "-%x", scrambled, number);
}

static struct cell *cell_new(struct cell_pool *pool, const struct cell_spec *spec, cell_done_fn *done, void *data)
{
	struct cell *cell = xcalloc(1, sizeof(*cell));
	cell->pool = pool;
	cell->start_ns = clock_now();
	cell->timeout_ns = spec->limits.timeout_ms * NS_PER_MS;
	cell->required = cell_required(spec);
	cell->collect.to = -1;
	cell->done = done;
	cell->data = data;
	cell->result.exit_code = -1;
	cell->result.receipt.backend = pool->backend->name;
	cell->result.profile = spec->profile ? xstrdup(spec->profile) : NULL;
	give_own_protections(&cell->result.receipt);
	make_id(cell);
	cell->next = pool->cells;
	if (cell->next)
		cell->next->prev = cell;
	pool->cells = cell;
	return cell;
}

static void close_ends(int ends[3])
{
	for (int i = 0; i < 3; i++)
		fd_close(&ends[i]);
}

static int cell_launch(struct cell *cell, const struct cell_spec *spec, const struct cell_io *io, struct err *err)
{
	struct cell_pool *pool = cell->pool;
	struct pump_events pump_events = {.over = on_over, .flushed = on_flushed, .data = cell};
	struct cell_backend_events events = {.listening = on_listening, .effect = on_effect,
		.forbidden = on_forbidden, .started = on_started, .ended = on_ended, .failed = on_failed, .data = cell};
	int ends[3];
	cell->listening = io->listening;
	cell->effect = io->effect;
	cell->effects = spec->effects && pool->backend->effects;
	const struct cell_io nothing = {.in = -1, .out = -1, .err = -1};
	int rc = pump_open(&cell->pump, pool->loop, io->direct ? &nothing : io, cell->data, spec->tty, spec->limits.output,
		&pump_events, ends, err);
	if (rc == 0) {
		const int given[3] = {io->in, io->out, io->err};
		int cells[3];
		for (int i = 0; i < 3; i++)
			cells[i] = io->direct && given[i] >= 0 ? given[i] : ends[i];
		cell->run = pool->backend->start(pool->backend_pool, spec, cells, &cell->result.receipt, &events, err);
		rc = cell->run ? 0 : -1;
	}
	close_ends(ends);
	return rc;
}

#ifdef HOTCELL_WEAKEN
/* A limit that is left out is one that nobody reaches. */
static struct cell_limits weaken_limits(struct cell_limits limits)
{
	const uint64_t much = UINT64_C(64) << 30;

	limits.memory = weakened("memory-limit") ? much : limits.memory;
	limits.cpus_milli = weakened("cpu-limit") ? (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000 : limits.cpus_milli;
	limits.processes = weakened("process-limit") ? 100000 : limits.processes;
	limits.tmp = weakened("tmp-size") ? much : limits.tmp;
	limits.disk = weakened("disk-limit") ? much : limits.disk;
	limits.shm = weakened("shm-size") ? much : limits.shm;
	limits.output = weakened("output-limit") ? much : limits.output;
	limits.timeout_ms = weakened("wall-clock") ? 3600 * 1000 : limits.timeout_ms;
	return limits;
}
#endif

struct cell *cell_start(struct cell_pool *pool, const struct cell_spec *spec, const struct cell_io *io,
	cell_done_fn *done, void *data, struct err *err)
{
	if (cell_spec_check(spec, err) < 0)
		return NULL;
#ifdef HOTCELL_WEAKEN
	struct cell_spec weak = *spec;
	weak.limits = weaken_limits(spec->limits);
	spec = &weak;
#endif
	own(cell_freep) struct cell *cell = cell_new(pool, spec, done, data);
	/* pump_done is due whatever happens next */
	cell->pump.out[0].fd = cell->pump.out[0].sink.fd = -1;
	cell->pump.out[1].fd = cell->pump.out[1].sink.fd = cell->pump.in.to = -1;
	if (collect_open(&cell->collect, spec, err) < 0)
		return NULL;
	if (cell_launch(cell, spec, io, err) < 0) {
		collect_unmake(&cell->collect);
		return NULL;
	}
	set_timer(cell, cell->start_ns + cell->timeout_ns + SETUP_EXTRA_NS, on_setup_timeout);
	if (pool->watch)
		pool->watch(pool->watch_data, cell, NULL);
	return ptr_take(&cell);
}

/* However it ended before: nobody has what it left as a whole. */
static void cancel_collecting(struct cell *cell)
{
	cell->reason = CELL_REASON_CANCEL;
	cell->result.outcome = CELL_CANCELLED;
	collect_cancel(&cell->collect);
}

void cell_cancel(struct cell *cell)
{
	if (cell->state == STATE_FLUSHING)
		set_timer(cell, clock_now(), on_give_up_flushing); /* from the loop, as always */
	else if (cell->state == STATE_COLLECTING)
		cancel_collecting(cell);
	else if (cell->state != STATE_DONE)
		cell_kill(cell, CELL_REASON_CANCEL);
}

struct cell *cell_free(struct cell *cell)
{
	if (!cell)
		return NULL;
	if (cell->state == STATE_FLUSHING && cell->pool && cell->pool->watch)
		cell->pool->watch(cell->pool->watch_data, cell, &cell->result);
	if (cell->state == STATE_DONE || cell->state == STATE_FLUSHING || !cell->pool)
		return cell_destroy(cell);
	bool freed = false;
	struct loop *loop = cell->pool->loop;
	uint64_t until = clock_now() + FREE_NS;
	cell->abandoned = true; /* from here on it frees itself when it ends */
	cell->freed = &freed;
	cell_cancel(cell);
	while (!freed && clock_now() < until && loop_turn(loop, 100) == 0)
		;
	if (!freed)
		cell->freed = NULL;
	return NULL;
}

/* ---- a live cell ---- */

const char *cell_id(const struct cell *cell)
{
	return cell->id;
}

uint64_t cell_age_ns(const struct cell *cell)
{
	return clock_now() - cell->start_ns;
}

uint64_t cell_memory(const struct cell *cell)
{
	return cell->run && cell->pool->backend->memory ? cell->pool->backend->memory(cell->run) : 0;
}

int cell_pid(const struct cell *cell)
{
	return cell->run && cell->pool->backend->pid ? cell->pool->backend->pid(cell->run) : 0;
}

const struct cell_receipt *cell_receipt(const struct cell *cell)
{
	return &cell->result.receipt;
}

void cell_tail(const struct cell *cell, struct buf *ret)
{
	pump_tail(&cell->pump, ret);
}

uint64_t cell_printed(const struct cell *cell)
{
	return cell->pump.total;
}

bool cell_effects(struct cell *cell)
{
	if (cell->effects && cell->run && cell->pool)
		cell->effects = cell->pool->backend->effects(cell->run);
	return cell->effects;
}

uint64_t cell_effects_dropped(const struct cell *cell)
{
	return cell->effects_dropped;
}

bool cell_is_cut(const struct cell *cell)
{
	return pump_is_cut(&cell->pump);
}

void cell_resize(struct cell *cell, unsigned rows, unsigned columns)
{
	pump_resize(&cell->pump, rows, columns);
}

int cell_exec(struct cell *cell, const char *const *argv, const char *const *env, const int fds[3], bool tty,
	cell_exec_fn *done, void *data, struct err *err)
{
	if (!argv || !argv[0] || !argv[0][0])
		return err_set(err, ERR_USAGE, "no command to run");
	if (cell->state != STATE_RUNNING || cell->reason != CELL_REASON_NONE)
		return err_set(err, ESRCH, "cell %s is %s", cell->id,
			cell->state == STATE_STARTING ? "not running yet" : "ending");
	if (!cell->pool->backend->exec)
		return err_set(err, ENOTSUP, "a cell of the backend '%s' takes no further program",
			cell->pool->backend->name);
	return cell->pool->backend->exec(cell->run, argv, env, fds, tty, done, data, err);
}

/* ---- what a backend says of itself ---- */

size_t cell_probe(const char *name, struct cell_probe *ret, size_t max)
{
	const struct cell_backend *backend = backend_find(name);
	return backend && backend->probe ? backend->probe(ret, max) : 0;
}

void cell_explain(const char *name, const struct cell_spec *spec, struct buf *ret)
{
	const struct cell_backend *backend = backend_find(name);
	if (backend && backend->explain)
		backend->explain(spec, ret);
}
