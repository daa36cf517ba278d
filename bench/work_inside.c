/* The same work outside and inside a cell, turn by turn; the program itself holds the watch. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PARTS 1000000 /* ratios are kept as whole numbers of these */

/* What the program printed into the pipe, as a sample. */
static int take_number(int fd, struct samples *samples, struct err *err)
{
	char text[64] = "";
	ssize_t got = read(fd, text, sizeof(text) - 1);
	unsigned long long ns = got > 0 ? strtoull(text, NULL, 10) : 0;

	if (ns == 0)
		return err_set(err, EINVAL, "the program did not print its time");
	samples_add(samples, ns);
	return 0;
}

int measure_work(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	own(freep) char *rounds = xfmt("%llu", (unsigned long long)options->count);
	const char *const plain[] = {options->work, options->kind, rounds, NULL};
	const char *const filtered[] = {options->work, options->kind, rounds, "filtered", NULL};
	const char *const guarded[] = {options->work, options->kind, rounds, "guarded", NULL};
	const char *const inside[] = {BENCH_PROGRAM, options->kind, rounds, NULL};
	own(bench_pool_done) struct bench_pool pool = {0};
	own(bench_cell_done) struct bench_cell cell = {.pool = &pool};
	own(samples_done) struct samples in = {0}, out = {0}, floor = {0}, guard = {0}, ratio = {0},
					 floor_ratio = {0}, guard_ratio = {0};
	struct cell_mount mount;
	int pipe_fd[2];

	(void)command;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	own(fd_closep) int from = pipe_fd[0];
	own(fd_closep) int into = pipe_fd[1];
	cell.out = into;
	bench_spec(&cell.spec, &mount, options->work, inside);
	if (options->cpus > 0)
		cell.spec.limits.cpus_milli = options->cpus;
	if (bench_pool_open(&pool, err) < 0 || bench_pool_warm(&pool, &cell.spec, 1, err) < 0)
		return -1;
	for (unsigned round = 0; round < options->rounds; round++) {
		if (plain_run(plain, into, err) < 0 || take_number(from, &out, err) < 0 ||
			bench_cell_run(&cell, err) < 0 || take_number(from, &in, err) < 0 ||
			plain_run(filtered, into, err) < 0 || take_number(from, &floor, err) < 0 ||
			plain_run(guarded, into, err) < 0 || take_number(from, &guard, err) < 0)
			return -1;
		/* neighbours in time, so that what the machine does besides hits both */
		samples_add(&ratio, in.ns[round] * PARTS / out.ns[round]);
		samples_add(&floor_ratio, floor.ns[round] * PARTS / out.ns[round]);
		samples_add(&guard_ratio, guard.ns[round] * PARTS / out.ns[round]);
		bench_pool_rest(&pool, 10);
	}
	samples_json(&out, json, "outside");
	samples_json(&in, json, "inside");
	samples_json(&floor, json, "filtered");
	samples_json(&guard, json, "guarded");
	json_put_real(json, "ratio", (double)samples_at(&ratio, 0.5) / PARTS, 4);
	json_put_real(json, "filtered_ratio", (double)samples_at(&floor_ratio, 0.5) / PARTS, 4);
	json_put_real(json, "guarded_ratio", (double)samples_at(&guard_ratio, 0.5) / PARTS, 4);
	return 0;
}
