/* What the measurements share: samples, plain programs, a pool of cells, and contenders that are
 * measured in turns, so that whatever else the machine does hits all of them alike. */
#ifndef HOTCELL_BENCH_BENCH_H
#define HOTCELL_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "cell/cell.h"

/* ---- samples ---- */

struct samples {
	uint64_t *ns;
	size_t count, cap;
	bool sorted;
};
void samples_add(struct samples *samples, uint64_t ns);
void samples_done(struct samples *samples);
uint64_t samples_at(struct samples *samples, double share); /* 0.5: the median; 0 when empty */
/* "key": {"count":..,"sum_us":..,"p10_us":..,"p50_us":..,"p90_us":..,"p99_us":..} */
void samples_json(struct samples *samples, struct json *json, const char *key);

/* ---- plain programs ---- */

/* vfork and exec; `in` and `out` become its stdin and stdout, -1: it keeps ours. */
MUST_CHECK int plain_spawn(const char *const *argv, int in, int out, pid_t *ret_pid, struct err *err);
/* With ours, and wait for it. Anything but exit code 0 is an error. */
MUST_CHECK int plain_run(const char *const *argv, struct err *err);

/* ---- cells ---- */

struct bench_pool {
	struct loop *loop;
	struct cell_pool *pool;
};
MUST_CHECK int bench_pool_open(struct bench_pool *ret, struct err *err);
void bench_pool_done(struct bench_pool *pool);
/* Keeps `count` cells of this spec ready and waits until the pool has come to rest. */
MUST_CHECK int bench_pool_warm(
	struct bench_pool *pool, const struct cell_spec *spec, unsigned count, struct err *err);
/* Lets the pool do what it has to do until nothing happens for a while. */
void bench_pool_rest(struct bench_pool *pool, int quiet_ms);

/* One kind of cell, run one at a time: fill pool and spec, bench_cell_run, bench_cell_done. */
struct bench_cell {
	struct bench_pool *pool;
	struct cell_spec spec;
	/* what came of the last one */
	bool ended, full;
	enum cell_outcome outcome;
	int exit_code;
	struct samples setup, wall; /* of all runs so far, as the results tell */
	struct buf weaker; /* protections that were not fully on, comma-separated */
	struct err err;
};
MUST_CHECK int bench_cell_run(struct bench_cell *cell, struct err *err);
void bench_cell_done(struct bench_cell *cell);
/* Whether a result is the good end of a program that should exit with 0. */
MUST_CHECK int bench_result_check(const struct cell_result *result, struct err *err);

/* ---- contenders ---- */

struct contender {
	const char *name;
	unsigned per_block; /* how often in its turn; 0: not taking part */
	int (*once)(void *data, uint64_t *ret_ns, struct err *err); /* runs one and times it */
	void (*rest)(void *data); /* after its turn, unmeasured; may be NULL */
	void *data;
	struct samples samples;
};
/* Each contender in its turn, `blocks` times over. The first `skip` runs of a turn are not counted.
 */
MUST_CHECK int contend(
	struct contender *list, size_t count, unsigned blocks, unsigned skip, struct err *err);
/* For `once`: data is an argv, or a struct bench_cell. */
int contend_plain(void *argv, uint64_t *ret_ns, struct err *err);
int contend_cell(void *cell, uint64_t *ret_ns, struct err *err);
void contend_cell_rest(void *cell);

/* ---- the measurements: one file each, one row in cells.c ---- */

struct bench_options {
	const char *program; /* on the host; mounted on BENCH_PROGRAM in cells */
	const char *work; /* likewise */
	const char *hotcell, *bwrap, *folder, *kind;
	uint64_t blocks, count, cells, others, warm, workers, rounds, most, ms, limit_bytes;
	uint32_t cpus;
};
#define BENCH_PROGRAM "/bench/program"

/* A default cell with `program` mounted on BENCH_PROGRAM; *mount and argv must live as long as the
 * spec. */
void bench_spec(struct cell_spec *ret, struct cell_mount *mount, const char *program,
	const char *const *argv);

typedef int measure_fn(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err);
measure_fn measure_steady, measure_cold, measure_command, measure_rate, measure_flood, measure_idle,
	measure_work, measure_live, measure_mounts;

#endif
