/* What only a real cell shows: that its limits hold, by a program that goes beyond each, and that a
 * default cell can be made. The programs need nothing but /bin/sh and are bounded, so that they do
 * little harm where nothing holds them. */
#include "cell/native/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"

#define MIB (UINT64_C(1) << 20)
#define MEMORY_LIMIT (16 * MIB)
#define CPU_LIMIT_MILLI 100
#define CPU_MS 150
#define PROCESSES 16
#define WANTED_PROCESSES 40

struct lab {
	struct loop *loop;
	struct cell_pool *pool;
	int quiet[2]; /* a stdin on which nothing ever comes */
	struct err err; /* why there is no pool */
};

struct lab *lab_open(void)
{
	struct lab *lab = xcalloc(1, sizeof(*lab));

	lab->quiet[0] = lab->quiet[1] = -1;
	lab->loop = loop_open(&lab->err);
	if (lab->loop == NULL)
		return lab;
	if (pipe2(lab->quiet, O_CLOEXEC) < 0)
		(void)err_errno(&lab->err, errno, "make a pipe");
	else
		lab->pool = cell_pool_open("native", lab->loop, &lab->err);
	return lab;
}

struct lab *lab_free(struct lab *lab)
{
	lab->pool = cell_pool_free(lab->pool);
	lab->loop = loop_free(lab->loop);
	fd_close(&lab->quiet[0]);
	fd_close(&lab->quiet[1]);
	free(lab);
	return NULL;
}

/* ---- one cell ---- */

struct waiting {
	bool done;
	struct cell_result result; /* nothing is collected, so it owns nothing */
};

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct waiting *waiting = data;

	(void)cell;
	waiting->result = *result;
	waiting->done = true;
}

static int lab_run(
	struct lab *lab, const struct cell_spec *spec, struct cell_result *ret, struct err *err)
{
	struct waiting waiting = {0};
	const struct cell_io io = {.in = lab->quiet[0], .out = -1, .err = -1};

	if (lab->pool == NULL) {
		*err = lab->err;
		return -1;
	}
	struct cell *cell = cell_start(lab->pool, spec, &io, on_done, &waiting, err);
	if (cell == NULL)
		return -1;
	while (!waiting.done)
		if (loop_turn(lab->loop, -1) < 0 && errno != EINTR)
			break;
	(void)cell_free(cell);
	*ret = waiting.result;
	if (!waiting.done)
		return err_errno(err, errno, "wait for a cell");
	if (ret->outcome == CELL_SETUP_FAILED) {
		*err = ret->err;
		return -1;
	}
	return 0;
}

static int lab_script(struct lab *lab, const char *script, const struct cell_limits *limits,
	struct cell_result *ret, struct err *err)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct cell_spec spec;

	cell_spec_defaults(&spec);
	spec.argv = argv;
	spec.limits = *limits;
	return lab_run(lab, &spec, ret, err);
}

static struct cell_limits default_limits(void)
{
	struct cell_spec spec;

	cell_spec_defaults(&spec);
	return spec.limits;
}

/* ---- what came of it ---- */

static void detail(struct cell_probe *probe, enum cell_grade grade, const char *text)
{
	probe->grade = grade;
	(void)snprintf(probe->detail, sizeof(probe->detail), "%.159s", text);
}

/* No cell at all: the same for each of these probes. */
static void put_no_cell(
	const struct machine *machine, const struct err *err, struct cell_probe *ret)
{
	bool no_user_ns = !machine->root && !native_user_ns_works();
	const struct err refused = {.code = EPERM};

	detail(ret, CELL_OFF,
		no_user_ns ? "no cell can be made: it needs a user namespace" : err->text);
	if (no_user_ns && pretend("no-userns"))
		(void)snprintf(
			ret->fix, sizeof(ret->fix), "take 'no-userns' out of HOTCELL_PRETEND");
	else if (no_user_ns)
		advice_user_ns(machine, &refused, ret->fix);
	else if (pretend("cgroup-refuses"))
		(void)snprintf(
			ret->fix, sizeof(ret->fix), "take 'cgroup-refuses' out of HOTCELL_PRETEND");
	else
		advice_cell(machine, err, ret->fix);
}

/* It was held: fully by a cgroup, or by what does without one, and then why is told. */
static void put_held(const struct machine *machine, const struct cell_result *result,
	enum cell_protection protection, enum controller controller, const char *seen,
	struct cell_probe *ret)
{
	const char *note = result->receipt.note[protection];
	char why[120];

	ret->grade = (enum cell_grade)result->receipt.grade[protection];
	if (ret->grade == CELL_ON) {
		(void)snprintf(ret->detail, sizeof(ret->detail), "%.90s, %.60s", seen, note);
		return;
	}
	lack_text(machine, controller, why, sizeof(why));
	if (pretend("no-cgroup")) {
		(void)snprintf(why, sizeof(why), "HOTCELL_PRETEND says so");
		(void)snprintf(
			ret->fix, sizeof(ret->fix), "take 'no-cgroup' out of HOTCELL_PRETEND");
	} else {
		advice_cgroup(machine, controller, ret->fix);
	}
	(void)snprintf(ret->detail, sizeof(ret->detail), "%.50s, no cgroup: %.95s", seen, why);
}

static void put_loose(const struct machine *machine, enum controller controller, const char *seen,
	struct cell_probe *ret)
{
	detail(ret, CELL_OFF, seen);
	if (pretend("no-cgroup"))
		(void)snprintf(
			ret->fix, sizeof(ret->fix), "take 'no-cgroup' out of HOTCELL_PRETEND");
	else
		advice_cgroup(machine, controller, ret->fix);
}

/* ---- the probes ---- */

void lab_memory(struct lab *lab, const struct machine *machine, struct cell_probe *ret)
{
	/* 16 bytes doubled 22 times; then it says so, and lets itself be seen */
	static const char bomb[] =
		"x=0123456789abcdef i=0; while [ $i -lt 22 ]; do x=$x$x i=$((i+1)); done; echo; sleep 0.2";
	struct cell_limits limits = default_limits();
	struct cell_result result;
	struct err err;
	char seen[64], size[16];

	limits.memory = MEMORY_LIMIT;
	limits.timeout_ms = 5000; /* it takes 30 ms, and more where a machine is only emulated */
	if (lab_script(lab, bomb, &limits, &result, &err) < 0) {
		put_no_cell(machine, &err, ret);
		return;
	}
	if (result.outcome != CELL_OOM) {
		put_loose(machine, MEMORY,
			result.stdout_bytes > 0 ? "a program took 64 MB where 16 MB were allowed"
						: "a program that wanted 64 MB ended otherwise",
			ret);
		return;
	}
	uint64_t peak = result.peak_memory > MEMORY_LIMIT ? result.peak_memory : MEMORY_LIMIT;
	(void)snprintf(seen, sizeof(seen), "a memory bomb was killed at %s (of 16 MB)",
		size_text(peak, size, sizeof(size)));
	put_held(machine, &result, CELL_MEMORY_LIMIT, MEMORY, seen, ret);
}

void lab_cpu(struct lab *lab, const struct machine *machine, struct cell_probe *ret)
{
	struct cell_limits limits = default_limits();
	struct cell_result result;
	struct err err;
	char seen[64];

	limits.cpus_milli = CPU_LIMIT_MILLI;
	limits.timeout_ms = CPU_MS;
	if (lab_script(lab, "while :; do :; done", &limits, &result, &err) < 0) {
		put_no_cell(machine, &err, ret);
		return;
	}
	uint64_t wall_us = result.wall_ns / 1000;
	unsigned percent = (unsigned)(100 * (result.user_us + result.system_us) /
		(wall_us == 0 ? 1 : wall_us));
	(void)snprintf(seen, sizeof(seen), "a busy loop got %u%% of a CPU where 10%% was allowed",
		percent);
	if (result.receipt.grade[CELL_CPU_LIMIT] == CELL_ON && percent > 50) {
		put_loose(machine, CPU, seen, ret);
		return;
	}
	if (result.receipt.grade[CELL_CPU_LIMIT] != CELL_ON)
		(void)snprintf(
			seen, sizeof(seen), "only pinned to one CPU, got %u%% of it", percent);
	put_held(machine, &result, CELL_CPU_LIMIT, CPU, seen, ret);
}

void lab_processes(struct lab *lab, const struct machine *machine, struct cell_probe *ret)
{
	/* each child prints one byte and waits; a background job's own stdin would be empty */
	static const char bomb[] =
		"exec 3<&0; i=0; while [ $i -lt 40 ]; do { echo; read x <&3; } & i=$((i+1)); done; read x";
	struct cell_limits limits = default_limits();
	struct cell_result result;
	struct err err;
	char seen[64];

	limits.processes = PROCESSES;
	limits.timeout_ms = 400;
	if (lab_script(lab, bomb, &limits, &result, &err) < 0) {
		put_no_cell(machine, &err, ret);
		return;
	}
	if (result.stdout_bytes >= WANTED_PROCESSES) {
		put_loose(machine, PIDS, "a program made 40 processes where 16 were allowed", ret);
		return;
	}
	(void)snprintf(
		seen, sizeof(seen), "%d of %d processes came to be", PROCESSES, WANTED_PROCESSES);
	put_held(machine, &result, CELL_PROCESS_LIMIT, PIDS, seen, ret);
}

static void put_lacking(const struct cell_receipt *receipt, struct cell_probe *ret)
{
	own(buf_done) struct buf text = {0};

	buf_str(&text, "made, but not in full:");
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (receipt->grade[i] != CELL_ON)
			buf_fmt(&text, " %s", cell_protection_name((enum cell_protection)i));
	detail(ret, CELL_WEAKER, buf_text(&text));
	(void)snprintf(ret->fix, sizeof(ret->fix), "fix the lines above");
}

void lab_whole(struct lab *lab, const struct machine *machine, struct cell_probe *ret)
{
	const char *const argv[] = {"true", NULL};
	struct cell_spec spec;
	struct cell_result result;
	struct err err;
	char time[24];

	cell_spec_defaults(&spec);
	spec.argv = argv;
	if (lab_run(lab, &spec, &result, &err) < 0) {
		put_no_cell(machine, &err, ret);
		return;
	}
	if (result.outcome != CELL_EXITED || result.exit_code != 0) {
		(void)err_set(
			&err, EINVAL, "'true' ended as %s", cell_outcome_name(result.outcome));
		put_no_cell(machine, &err, ret);
		return;
	}
	if (!cell_receipt_full(&result.receipt)) {
		put_lacking(&result.receipt, ret);
		return;
	}
	ret->grade = CELL_ON;
	(void)snprintf(ret->detail, sizeof(ret->detail),
		"'true' ran in a default cell made in %s; every protection was on",
		duration_text(result.setup_ns, time, sizeof(time)));
}
