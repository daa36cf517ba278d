/* The same work outside and inside a cell; the programs hold the watch.
 *
 * All of them live as long as the measurement and wait to be asked, so that no start and no end of a cell is in anybody's
 * time; each does a little in its turn, so that what else the machine does hits all of them alike. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#define PARTS 1000000 /* ratios are kept as whole numbers of these */
#define SKIPPED 2 /* rounds at the beginning, for caches */

enum { OUTSIDE, INSIDE, FILTERED, GUARDED, WORKERS };
static const struct {
	const char *times, *ratio, *under; /* under: the last word of its command, or NULL */
} kinds[] = {
	[OUTSIDE] = {"outside", NULL, NULL},
	[INSIDE] = {"inside", "ratio", NULL},
	[FILTERED] = {"filtered", "filtered_ratio", "filtered"},
	[GUARDED] = {"guarded", "guarded_ratio", "guarded"},
};
_Static_assert(sizeof(kinds) / sizeof(*kinds) == WORKERS, "a worker has no name");

struct worker {
	int ask, answer; /* we write a byte, it does its work and writes nanoseconds */
	pid_t pid; /* 0: it is in the cell */
	struct samples samples, ratio;
};
struct crew {
	struct worker list[WORKERS];
};

/* ---- asking ---- */

static int worker_turn(struct worker *worker, uint64_t *ret_ns, struct err *err)
{
	char text[64] = "";
	ssize_t got = write(worker->ask, "", 1) == 1 ? read(worker->answer, text, sizeof(text) - 1) : -1;

	*ret_ns = got > 0 ? strtoull(text, NULL, 10) : 0;
	return *ret_ns == 0 ? err_set(err, EINVAL, "the program did not print its time") : 0;
}

/* Who begins is another one each time: whoever comes after the same one always has its caches. */
static int crew_round(struct crew *crew, unsigned round, struct err *err)
{
	uint64_t ns[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		unsigned at = (i + round) % WORKERS;
		if (worker_turn(&crew->list[at], &ns[at], err) < 0)
			return -1;
	}
	for (unsigned i = 0; i < WORKERS && round >= SKIPPED; i++) {
		samples_add(&crew->list[i].samples, ns[i]);
		samples_add(&crew->list[i].ratio, ns[i] * PARTS / ns[OUTSIDE]);
	}
	return 0;
}

/* ---- starting ---- */

static int worker_pipes(struct worker *worker, int *ret_in, int *ret_out, struct err *err)
{
	int ask[2], answer[2];

	if (pipe2(ask, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	*ret_in = ask[0];
	worker->ask = ask[1];
	if (pipe2(answer, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	worker->answer = answer[0];
	*ret_out = answer[1];
	return 0;
}

static int worker_start(struct worker *worker, const char *const *argv, struct err *err)
{
	own(fd_closep) int in = -1;
	own(fd_closep) int out = -1;

	return worker_pipes(worker, &in, &out, err) < 0 ? -1 : plain_spawn(argv, in, out, &worker->pid, err);
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	(void)cell;
	if (bench_result_check(result, data) == 0)
		(void)err_set(data, EINVAL, "the program in the cell has ended"); /* it should wait for more */
}

/* Until it has done its work once: nothing is made meanwhile, and the loop need not turn any more. */
static int worker_wait(struct worker *worker, struct bench_pool *pool, const struct err *ended, struct err *err)
{
	struct pollfd answer = {.fd = worker->answer, .events = POLLIN};
	char text[64];

	if (write(worker->ask, "", 1) != 1)
		return err_errno(err, errno, "ask the program in the cell");
	while (!ended->code && poll(&answer, 1, 0) == 0)
		(void)loop_turn(pool->loop, 10);
	if (ended->code || read(worker->answer, text, sizeof(text)) <= 0) {
		*err = *ended;
		return -1;
	}
	bench_pool_rest(pool, 100);
	return 0;
}

static struct cell *worker_seal(struct worker *worker, struct bench_pool *pool, const struct cell_spec *spec, struct err *ended,
	struct err *err)
{
	own(fd_closep) int in = -1;
	own(fd_closep) int out = -1;

	if (worker_pipes(worker, &in, &out, err) < 0)
		return NULL;
	struct cell_io io = {.in = in, .out = out, .err = -1, .direct = true};
	struct cell *cell = cell_start(pool->pool, spec, &io, on_done, ended, err);
	return cell && worker_wait(worker, pool, ended, err) < 0 ? cell_free(cell) : cell;
}

/* Where there is no CPU cgroup a cell is pinned, which shortens some work: everybody is then. */
static void crew_pin(struct crew *crew, pid_t like)
{
	cpu_set_t cpus;

	for (unsigned i = 0; i < WORKERS && sched_getaffinity(like, sizeof(cpus), &cpus) == 0; i++)
		if (crew->list[i].pid > 0)
			(void)sched_setaffinity(crew->list[i].pid, sizeof(cpus), &cpus);
}

static void crew_done(struct crew *crew)
{
	for (struct worker *worker = crew->list; worker < crew->list + WORKERS; worker++) {
		fd_close(&worker->ask);
		fd_close(&worker->answer);
		if (worker->pid > 0)
			(void)waitpid(worker->pid, NULL, 0);
		samples_done(&worker->samples);
		samples_done(&worker->ratio);
	}
}

static int crew_measure(struct crew *crew, unsigned rounds, struct json *json, struct err *err)
{
	for (unsigned round = 0; round < rounds + SKIPPED; round++)
		if (crew_round(crew, round, err) < 0)
			return -1;
	for (unsigned i = 0; i < WORKERS; i++) {
		samples_json(&crew->list[i].samples, json, kinds[i].times);
		if (kinds[i].ratio)
			json_put_real(json, kinds[i].ratio, (double)samples_at(&crew->list[i].ratio, 0.5) / PARTS, 4);
	}
	return 0;
}

static void cell_freep(struct cell **cell)
{
	*cell = cell_free(*cell);
}

int measure_work(const struct bench_options *options, char *const *command, struct json *json, struct err *err)
{
	own(freep) char *count = xfmt("%llu", (unsigned long long)options->count);
	const char *const inside[] = {BENCH_PROGRAM, options->kind, count, NULL};
	own(bench_pool_done) struct bench_pool pool = {0};
	own(cell_freep) struct cell *cell = NULL;
	own(crew_done) struct crew crew = {0};
	struct cell_mount mounts[2] = {{0}, {.source = options->folder, .target = "/bench/folder"}};
	struct cell_spec spec;
	struct err ended = {0};

	(void)command;
	for (unsigned i = 0; i < WORKERS; i++)
		crew.list[i].ask = crew.list[i].answer = -1;
	bench_spec(&spec, &mounts[0], options->work, inside);
	spec.mount_count += options->folder != NULL;
	spec.limits.timeout_ms = 3600 * 1000;
	if (options->cpus > 0)
		spec.limits.cpus_milli = options->cpus;
	if (bench_pool_open(&pool, err) < 0 || bench_pool_warm(&pool, &spec, 1, err) < 0)
		return -1;
	for (unsigned i = 0; i < WORKERS; i++) {
		const char *const argv[] = {options->work, options->kind, count, kinds[i].under, NULL};
		if (i != INSIDE && worker_start(&crew.list[i], argv, err) < 0)
			return -1;
	}
	cell = worker_seal(&crew.list[INSIDE], &pool, &spec, &ended, err);
	if (!cell)
		return -1;
	crew_pin(&crew, cell_pid(cell));
	int failed = crew_measure(&crew, (unsigned)options->rounds, json, err);
	if (failed < 0)
		bench_pool_rest(&pool, 100); /* a cell that has ended says why */
	if (ended.code)
		*err = ended;
	return failed;
}
