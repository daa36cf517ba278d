/* How many a second, with so many at once: cells and plain spawns in alternating slices; or cells
 * alone, by a process that whoever measures stops and lets go on. */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"

struct tally {
	struct samples samples;
	uint64_t busy_ns; /* of all slices together */
};

static void tally_done(struct tally *tally)
{
	samples_done(&tally->samples);
}

static void tally_json(
	struct tally *tally, struct json *json, const char *key, const char *rate_key)
{
	double seconds = (double)tally->busy_ns / (double)NS_PER_S;

	samples_json(&tally->samples, json, key);
	json_put_real(json, rate_key, seconds > 0 ? (double)tally->samples.count / seconds : 0, 1);
}

/* ---- cells ---- */

struct worker {
	struct cells_slice_state *slice;
	struct cell *cell; /* NULL: free to start one */
	uint64_t started;
	bool ended;
};

struct cells_slice_state {
	struct tally *tally;
	struct err err;
};

static volatile sig_atomic_t told_to_end;

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct worker *worker = data;

	(void)cell;
	worker->ended = true;
	if (bench_result_check(result, &worker->slice->err) == 0)
		samples_add(&worker->slice->tally->samples, clock_now() - worker->started);
}

static int cells_slice(struct bench_pool *pool, const struct cell_spec *spec, unsigned count,
	uint64_t ns, struct tally *tally, struct err *err)
{
	own(freep) struct worker *workers = xcalloc(count, sizeof(*workers));
	struct cells_slice_state slice = {.tally = tally};
	struct cell_io io = {.in = -1, .out = -1, .err = -1};
	uint64_t start = clock_now();
	unsigned busy;

	do {
		bool more = !told_to_end && clock_now() - start < ns;
		busy = 0;
		for (unsigned i = 0; i < count; i++) {
			struct worker *worker = &workers[i];
			if (worker->ended)
				worker->cell = cell_free(worker->cell);
			if (!worker->cell && more) {
				*worker = (struct worker){.slice = &slice, .started = clock_now()};
				worker->cell =
					cell_start(pool->pool, spec, &io, on_done, worker, err);
				if (!worker->cell)
					return -1;
			}
			busy += worker->cell != NULL;
		}
		if (busy > 0)
			(void)loop_turn(pool->loop, -1);
	} while (busy > 0);
	tally->busy_ns += clock_now() - start;
	if (slice.err.code) {
		*err = slice.err;
		return -1;
	}
	bench_pool_rest(pool, 20);
	return 0;
}

/* ---- plain spawns ---- */

struct child {
	pid_t pid; /* 0: none */
	uint64_t started;
};

static struct child *find_child(struct child *children, unsigned count, pid_t pid)
{
	for (unsigned i = 0; i < count; i++)
		if (children[i].pid == pid)
			return &children[i];
	return NULL;
}

static int spawns_slice(
	const char *const *argv, unsigned count, uint64_t ns, struct tally *tally, struct err *err)
{
	own(freep) struct child *children = xcalloc(count, sizeof(*children));
	uint64_t start = clock_now();
	unsigned busy = 0;

	for (;;) {
		while (busy < count && clock_now() - start < ns) {
			struct child *child = find_child(children, count, 0);
			child->started = clock_now();
			if (plain_spawn(argv, -1, -1, &child->pid, err) < 0)
				return -1;
			busy++;
		}
		if (busy == 0)
			break;
		pid_t pid = waitpid(-1, NULL, 0);
		struct child *child = pid > 0 ? find_child(children, count, pid) : NULL;
		if (pid < 0 && errno != EINTR)
			return err_errno(err, errno, "wait for plain programs");
		if (!child)
			continue; /* the pool's own process, if it died: the next cell tells */
		samples_add(&tally->samples, clock_now() - child->started);
		child->pid = 0;
		busy--;
	}
	tally->busy_ns += clock_now() - start;
	return 0;
}

static int pool_for_program(struct bench_pool *pool, struct cell_spec *spec,
	struct cell_mount *mount, const struct bench_options *options, struct err *err)
{
	static const char *const inside[] = {BENCH_PROGRAM, NULL};

	bench_spec(spec, mount, options->program, inside);
	if (bench_pool_open(pool, err) < 0)
		return -1;
	return bench_pool_warm(pool, spec, (unsigned)options->warm, err);
}

int measure_rate(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	const char *const plain[] = {options->program, NULL};
	unsigned workers = (unsigned)options->workers;
	uint64_t slice = options->ms * NS_PER_MS / (options->blocks > 0 ? options->blocks : 1);
	own(bench_pool_done) struct bench_pool pool = {0};
	own(tally_done) struct tally cells = {0}, spawns = {0};
	struct cell_spec spec;
	struct cell_mount mount;

	(void)command;
	if (pool_for_program(&pool, &spec, &mount, options, err) < 0)
		return -1;
	for (unsigned block = 0; block < options->blocks; block++)
		if (spawns_slice(plain, workers, slice, &spawns, err) < 0 ||
			cells_slice(&pool, &spec, workers, slice, &cells, err) < 0)
			return -1;
	json_put_uint(json, "workers", workers);
	tally_json(&cells, json, "cell", "cells_per_second");
	tally_json(&spawns, json, "spawn", "spawns_per_second");
	return 0;
}

/* ---- until told ---- */

static void on_told(int number)
{
	(void)number;
	told_to_end = 1;
}

/* Our own clock says nothing here: it also counts while we are stopped. */
int measure_flood(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	const struct sigaction told = {.sa_handler = on_told}; /* no SA_RESTART: a wait ends */
	own(bench_pool_done) struct bench_pool pool = {0};
	own(tally_done) struct tally cells = {0};
	struct cell_spec spec;
	struct cell_mount mount;

	(void)command;
	(void)sigaction(SIGTERM, &told, NULL);
	if (pool_for_program(&pool, &spec, &mount, options, err) < 0 ||
		cells_slice(&pool, &spec, (unsigned)options->workers, UINT64_MAX, &cells, err) < 0)
		return -1;
	json_put_uint(json, "cells", cells.samples.count);
	return 0;
}
