/* How the cost of a new cell grows with the cells that live and with the mounts it has. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#define AT_ONCE 8 /* live cells that are being started */

/* ---- a process that spawns for us ---- */

/* A parent with thousands of descriptors spawns slowly, since each child gets a copy of its table.
 * Forked before the crowd, this one stays small, so that only what the machine has become is
 * measured. */
struct spawner {
	pid_t pid;
	int ask, answer; /* we write a byte, it writes the nanoseconds; both -1: none */
};

_Noreturn static void spawner_main(const char *const *argv, int asked, int answer)
{
	char byte;
	struct err err;

	while (read(asked, &byte, 1) == 1) {
		uint64_t ns;
		if (contend_plain((void *)argv, &ns, &err) < 0)
			ns = 0;
		if (write(answer, &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

static int spawner_start(struct spawner *ret, const char *const *argv, struct err *err)
{
	int ask[2], answer[2];

	if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make pipes");
	ret->pid = fork();
	if (ret->pid == 0) {
		(void)close(ask[1]);
		spawner_main(argv, ask[0], answer[1]);
	}
	(void)close(ask[0]);
	(void)close(answer[1]);
	ret->ask = ask[1];
	ret->answer = answer[0];
	return ret->pid < 0 ? err_errno(err, errno, "fork") : 0;
}

static void spawner_done(struct spawner *spawner)
{
	fd_close(&spawner->ask);
	fd_close(&spawner->answer);
	if (spawner->pid > 0)
		(void)waitpid(spawner->pid, NULL, 0);
}

static int contend_spawner(void *data, uint64_t *ret_ns, struct err *err)
{
	struct spawner *spawner = data;

	if (write(spawner->ask, "", 1) != 1 ||
		read(spawner->answer, ret_ns, sizeof(*ret_ns)) != sizeof(*ret_ns) || *ret_ns == 0)
		return err_set(err, EINVAL, "the spawning process failed");
	return 0;
}

/* ---- live cells ---- */

struct crowd {
	struct cell **cells;
	unsigned count;
	struct err err;
};

static void crowd_done(struct crowd *crowd)
{
	for (unsigned i = 0; i < crowd->count; i++)
		(void)cell_free(crowd->cells[i]);
	free(crowd->cells);
}

static void on_early_end(void *data, struct cell *cell, const struct cell_result *result)
{
	struct crowd *crowd = data;

	(void)cell;
	if (result->outcome == CELL_CANCELLED)
		return;
	if (bench_result_check(result, &crowd->err) == 0)
		(void)err_set(&crowd->err, EINVAL, "a cell that should sleep ended");
}

static uint64_t available_kb(void)
{
	char line[128];
	unsigned long long kb = 0;
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && kb == 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "MemAvailable: %llu", &kb);
	if (file)
		(void)fclose(file);
	return kb;
}

/* Starts cells until `want` live; each has printed its line, so it has really come up. */
static int crowd_grow(struct crowd *crowd, struct bench_pool *pool, const struct cell_spec *spec,
	unsigned want, struct err *err)
{
	struct cell_io io = {.in = -1, .out = -1, .err = -1};
	unsigned up = crowd->count;

	crowd->cells = xrealloc(crowd->cells, want, sizeof(*crowd->cells));
	while (up < want) {
		while (crowd->count < want && crowd->count - up < AT_ONCE) {
			struct cell *cell =
				cell_start(pool->pool, spec, &io, on_early_end, crowd, err);
			if (!cell)
				return err_wrap(err, "start live cell %u", crowd->count + 1);
			crowd->cells[crowd->count++] = cell;
		}
		(void)loop_turn(pool->loop, 1000);
		if (crowd->err.code) {
			*err = crowd->err;
			return err_wrap(err, "live cell %u of %u", up + 1, want);
		}
		while (up < crowd->count && cell_printed(crowd->cells[up]) > 0)
			up++;
	}
	bench_pool_rest(pool, 50);
	return 0;
}

static int put_level(const char *key, unsigned level, struct contender list[2], uint64_t used_kb,
	struct json *json)
{
	json_open(json, '{');
	json_put_uint(json, key, level);
	samples_json(&list[0].samples, json, "spawn");
	samples_json(&list[1].samples, json, "cell");
	if (used_kb > 0)
		json_put_uint(json, "used_bytes", used_kb * 1024);
	json_close(json, '}');
	samples_done(&list[0].samples);
	samples_done(&list[1].samples);
	return 0;
}

static void more_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int measure_live(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	static const unsigned levels[] = {1, 10, 100, 1000};
	const char *const plain[] = {options->program, NULL},
			  *const inside[] = {BENCH_PROGRAM, NULL};
	const char *const asleep[] = {BENCH_PROGRAM, "sleep", "0", NULL};
	own(bench_pool_done) struct bench_pool pool = {0};
	own(bench_cell_done) struct bench_cell cell = {.pool = &pool};
	own(crowd_done) struct crowd crowd = {0};
	own(spawner_done) struct spawner spawner = {.ask = -1, .answer = -1};
	struct cell_spec sleeper;
	struct cell_mount mount, sleeper_mount;
	struct contender list[] = {
		{.name = "spawn",
			.per_block = (unsigned)options->count,
			.once = contend_spawner,
			.data = &spawner},
		{.name = "cell",
			.per_block = (unsigned)options->cells,
			.once = contend_cell,
			.rest = contend_cell_rest,
			.data = &cell},
	};

	(void)command;
	more_descriptors();
	bench_spec(&cell.spec, &mount, options->program, inside);
	bench_spec(&sleeper, &sleeper_mount, options->work, asleep);
	sleeper.limits.processes = 8;
	sleeper.limits.timeout_ms = 3600 * 1000;
	if (spawner_start(&spawner, plain, err) < 0 || bench_pool_open(&pool, err) < 0 ||
		bench_pool_warm(&pool, &cell.spec, (unsigned)options->warm, err) < 0)
		return -1;
	uint64_t before = available_kb();
	json_key(json, "levels");
	json_open(json, '[');
	for (size_t i = 0; i < ARRAY_LEN(levels) && levels[i] <= options->most; i++) {
		if (crowd_grow(&crowd, &pool, &sleeper, levels[i], err) < 0)
			return -1;
		uint64_t now = available_kb(), used = now < before ? before - now : 0;
		if (contend(list, ARRAY_LEN(list), (unsigned)options->blocks, 4, err) < 0)
			return -1;
		(void)put_level("live", levels[i], list, used, json);
		/* ten times as many would take ten times as much */
		if (used * 1024 * 10 > options->limit_bytes)
			break;
	}
	json_close(json, ']');
	return 0;
}

/* ---- mounts ---- */

struct mounted {
	struct cell_mount *mounts;
	char **targets;
	unsigned count;
};

static void mounted_done(struct mounted *m)
{
	for (unsigned i = 0; i < m->count; i++)
		free(m->targets[i]);
	free(m->targets);
	free(m->mounts);
}

/* The program and `count` mounts of the same folder in different places. */
static void mounted_init(
	struct mounted *ret, const struct cell_mount *program, const char *folder, unsigned count)
{
	*ret = (struct mounted){
		.mounts = xcalloc(count + 1, sizeof(*ret->mounts)),
		.targets = xcalloc(count, sizeof(*ret->targets)),
		.count = count,
	};
	for (unsigned i = 0; i < count; i++) {
		ret->targets[i] = xfmt("/mounted/m%u", i);
		ret->mounts[i] = (struct cell_mount){.source = folder, .target = ret->targets[i]};
	}
	ret->mounts[count] = *program;
}

#define LEVELS 3

/* One pool, a kind of cell a level. */
int measure_mounts(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	static const unsigned levels[LEVELS] = {1, 10, 50};
	const char *const plain[] = {options->program, NULL};
	const char *const inside[] = {BENCH_PROGRAM, NULL};
	own(bench_pool_done) struct bench_pool pool = {0};
	struct bench_cell cell[LEVELS] = {0};
	struct mounted mounted[LEVELS] = {0};
	struct contender list[LEVELS + 1] = {
		{.name = "spawn",
			.per_block = (unsigned)options->count,
			.once = contend_plain,
			.data = (void *)plain},
	};
	struct cell_mount program;

	(void)command;
	int failed = bench_pool_open(&pool, err);
	for (size_t i = 0; i < LEVELS && failed == 0; i++) {
		cell[i] = (struct bench_cell){.pool = &pool};
		bench_spec(&cell[i].spec, &program, options->program, inside);
		mounted_init(&mounted[i], &program, options->folder, levels[i]);
		cell[i].spec.mounts = mounted[i].mounts;
		cell[i].spec.mount_count = levels[i] + 1;
		list[i + 1] = (struct contender){.name = "cell",
			.per_block = (unsigned)options->cells,
			.once = contend_cell,
			.rest = contend_cell_rest,
			.data = &cell[i]};
		failed = bench_pool_warm(&pool, &cell[i].spec, (unsigned)options->warm, err);
	}
	if (failed == 0)
		failed = contend(list, ARRAY_LEN(list), (unsigned)options->blocks, 4, err);
	json_key(json, "levels");
	json_open(json, '[');
	for (size_t i = 0; i < LEVELS; i++) {
		json_open(json, '{');
		json_put_uint(json, "mounts", levels[i]);
		samples_json(&list[0].samples, json, "spawn");
		samples_json(&list[i + 1].samples, json, "cell");
		json_close(json, '}');
		samples_done(&list[i + 1].samples);
		bench_cell_done(&cell[i]);
		mounted_done(&mounted[i]);
	}
	json_close(json, ']');
	samples_done(&list[0].samples);
	return failed;
}
