/* Plain programs, and a pool of cells in which one is run at a time. */
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

extern char **environ;

/* ---- plain programs ---- */

int plain_spawn(const char *const *argv, int in, int out, pid_t *ret_pid, struct err *err)
{
	posix_spawn_file_actions_t actions;
	int failed;

	(void)posix_spawn_file_actions_init(&actions);
	if (in >= 0)
		(void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (out >= 0)
		(void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	failed = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char **)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return failed ? err_errno(err, failed, "start '%s'", argv[0]) : 0;
}

int plain_run(const char *const *argv, struct err *err)
{
	pid_t pid;
	int status;

	if (plain_spawn(argv, -1, -1, &pid, err) < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(err, errno, "wait for '%s'", argv[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, EINVAL, "'%s' ended with wait status %d", argv[0], status);
	return 0;
}

/* ---- the pool ---- */

int bench_pool_open(struct bench_pool *ret, struct err *err)
{
	*ret = (struct bench_pool){.loop = loop_open(err)};
	if (!ret->loop)
		return -1;
	ret->pool = cell_pool_open("native", ret->loop, err);
	return ret->pool ? 0 : -1;
}

void bench_pool_done(struct bench_pool *pool)
{
	pool->pool = cell_pool_free(pool->pool);
	pool->loop = loop_free(pool->loop);
}

void bench_pool_rest(struct bench_pool *pool, int quiet_ms)
{
	for (;;) {
		uint64_t start = clock_now();
		(void)loop_turn(pool->loop, quiet_ms);
		if (clock_now() - start >= (uint64_t)quiet_ms * NS_PER_MS)
			return;
	}
}

int bench_pool_warm(
	struct bench_pool *pool, const struct cell_spec *spec, unsigned count, struct err *err)
{
	if (cell_pool_warm(pool->pool, spec, count, err) < 0)
		return -1;
	bench_pool_rest(pool, 100);
	return 0;
}

/* ---- one cell at a time ---- */

void bench_spec(struct cell_spec *ret, struct cell_mount *mount, const char *program,
	const char *const *argv)
{
	cell_spec_defaults(ret);
	*mount = (struct cell_mount){.source = program, .target = BENCH_PROGRAM};
	ret->mounts = mount;
	ret->mount_count = 1;
	ret->argv = argv;
}

int bench_result_check(const struct cell_result *result, struct err *err)
{
	if (result->outcome == CELL_EXITED && result->exit_code == 0)
		return 0;
	if (result->err.code) {
		*err = result->err;
		return err_wrap(err, "a cell");
	}
	return err_set(err, EINVAL, "a cell ended as '%s' (exit code %d, signal %d)",
		cell_outcome_name(result->outcome), result->exit_code, result->signal);
}

static void note_receipt(struct bench_cell *cell, const struct cell_receipt *receipt)
{
	cell->full = cell_receipt_full(receipt);
	for (int p = 0; p < CELL_PROTECTION_COUNT; p++)
		if (receipt->grade[p] != CELL_ON)
			buf_fmt(&cell->weaker, "%s%s", cell->weaker.len > 0 ? ", " : "",
				cell_protection_name(p));
}

static void on_done(void *data, struct cell *ended, const struct cell_result *result)
{
	struct bench_cell *cell = data;

	(void)ended;
	cell->ended = true;
	cell->err.code = 0;
	if (bench_result_check(result, &cell->err) == 0) {
		samples_add(&cell->setup, result->setup_ns);
		samples_add(&cell->wall, result->wall_ns);
		if (cell->setup.count == 1)
			note_receipt(cell, &result->receipt);
	}
}

int bench_cell_run(struct bench_cell *cell, struct err *err)
{
	struct cell_io io = {.in = -1, .out = -1, .err = STDERR_FILENO};

	cell->ended = false;
	struct cell *started = cell_start(cell->pool->pool, &cell->spec, &io, on_done, cell, err);
	if (!started)
		return -1;
	while (!cell->ended)
		(void)loop_turn(cell->pool->loop, -1);
	(void)cell_free(started);
	if (cell->err.code) {
		*err = cell->err;
		return -1;
	}
	return 0;
}

void bench_cell_done(struct bench_cell *cell)
{
	samples_done(&cell->setup);
	samples_done(&cell->wall);
	buf_done(&cell->weaker);
}
