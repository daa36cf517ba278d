/* Workers: engines in cells. One that ended is looked at, and begun again: on the same target, or on one that gives more. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/term.h"
#include "fuzz/function/core/power.h"
#include "fuzz/function/core/run.h"

#define READY_NS (60 * NS_PER_S)
#define WAITED_NS (5 * NS_PER_S)
#define SHORT_RUNS_MAX 20u
#define LONG_RUN_NS (2 * NS_PER_S) /* of an engine that did its work before it ended */
#define EXTRA_MS 60000u /* of a cell beyond its engine's time */
#define DAY_S 86400u
#define GRACE_NS (1500 * NS_PER_MS) /* for engines to end by themselves, and say what they did */
/* libFuzzer tells of itself when something is new and, some seconds after its start, when its count is a power of two. */
#define PULSES_NS (3 * NS_PER_S)
#define SURE_NS (100 * NS_PER_MS) /* over less, a rate is chance */
#define WORTH_NS (500 * NS_PER_MS) /* with less left, none is begun */

uint64_t engine_memory(const struct fuzzing *it, const struct place *place)
{
	uint64_t memory = it->options->spec->limits.memory;

	return it->options->memory_fixed || memory > place->plan.memory ? memory : place->plan.memory;
}

uint64_t engine_input_ms(const struct fuzzing *it)
{
	return it->options->input_ms ? it->options->input_ms : FUNCTION_INPUT_MS;
}

void engine_limits(const struct fuzzing *it, const struct place *place, struct strings *ret)
{
	uint64_t memory = engine_memory(it, place);
	char text[64];

	(void)snprintf(text, sizeof(text), "-rss_limit_mb=%" PRIu64, (memory >> 20) * 7 / 8);
	strings_add(ret, text);
	(void)snprintf(text, sizeof(text), "-timeout=%" PRIu64, (engine_input_ms(it) + 999) / 1000);
	strings_add(ret, text);
	strings_add(ret, "-detect_leaks=0"); /* it would look at its own process from another, which a cell does not allow */
}

/* ---- which target ---- */

static struct power_target *powers(const struct fuzzing *it, uint64_t now)
{
	struct power_target *list = xcalloc(it->place_count, sizeof(*list));

	for (size_t i = 0; i < it->place_count; i++) {
		const struct place *place = &it->places[i];
		list[i] = (struct power_target){.out = place->out,
			.yield = it->result->totals[i].yield,
			.spent_s = (double)place->fuzzed_ns / (double)NS_PER_S,
			.running = place->running,
			.begun = place->begun_ns != 0};
	}
	for (unsigned i = 0; i < it->worker_count; i++)
		if (it->workers[i].busy)
			list[it->workers[i].place].spent_s += (double)(now - it->workers[i].started_ns) / (double)NS_PER_S;
	return list;
}

static size_t place_next(const struct fuzzing *it, uint64_t now, uint64_t *ret_seconds)
{
	own(freep) struct power_target *list = powers(it, now);
	uint64_t left = it->deadline_ns == UINT64_MAX ? 0
		: it->deadline_ns > now               ? (it->deadline_ns - now + NS_PER_S - 1) / NS_PER_S
						      : 1;

	*ret_seconds = power_slice(list, it->place_count, it->worker_count, left);
	return power_next(list, it->place_count);
}

/* ---- starting ---- */

static uint64_t execs_of(const struct fuzzing *it)
{
	uint64_t execs = 0;

	for (size_t i = 0; i < it->place_count; i++)
		execs += it->places[i].done_execs;
	for (unsigned i = 0; i < it->worker_count; i++)
		execs += it->workers[i].busy ? it->workers[i].job.stats.now.execs : 0;
	return execs;
}

/* From its own count and our clock, since its own rate has whole seconds; at first, as the target's engines before it. */
double worker_rate(const struct fuzzing *it, const struct worker *worker)
{
	const struct stats *stats = &worker->job.stats.now;
	const struct place *place = &it->places[worker->place];
	uint64_t ns = worker->ready_ns && worker->told_ns > worker->ready_ns ? worker->told_ns - worker->ready_ns : 0;

	if (ns > SURE_NS)
		return (double)stats->execs * 1e9 / (double)ns;
	return stats->rate ? (double)stats->rate
		: stats->begun && place->fuzzed_ns ? (double)place->done_execs * 1e9 / (double)place->fuzzed_ns
						   : 0;
}

uint64_t worker_execs(const struct fuzzing *it, const struct worker *worker, uint64_t now)
{
	const struct stats *stats = &worker->job.stats.now;
	double about = (double)stats->execs;
	uint64_t next = 1;

	bool over = stats->done || worker->job.done;
	if (it->places[worker->place].plan.stats != STATS_LIBFUZZER || !stats->begun || over || now < worker->told_ns)
		return stats->execs;
	about += worker_rate(it, worker) * (double)(now - worker->told_ns) / 1e9;
	if (!worker->ready_ns || worker->told_ns < worker->ready_ns + PULSES_NS)
		return about < 1e18 ? (uint64_t)about : stats->execs;
	while (next <= stats->execs && next < UINT64_MAX / 4)
		next *= 2;
	return about < (double)next ? (uint64_t)about : stats->execs < next ? next - 1 : stats->execs;
}

void engine_flags(const struct fuzzing *it, const struct place *place, uint64_t seconds, struct strings *ret)
{
	char text[64];

	strings_add_all(ret,
		(const char *const[]){"-artifact_prefix=" FUNCTION_WORK "/crashes/", "-print_final_stats=1", "-reload=1", NULL});
	if (!place->plan.tells_on_stdout)
		strings_add(ret, "-close_fd_mask=1");
	engine_limits(it, place, ret);
	if (seconds) { /* it ends when more whole seconds than these are over */
		(void)snprintf(text, sizeof(text), "-max_total_time=%" PRIu64, seconds > 1 ? seconds - 1 : 1);
		strings_add(ret, text);
	}
	if (it->options->seed) {
		(void)snprintf(text, sizeof(text), "-seed=%u", (unsigned)((it->options->seed + it->starts) % 0x7fffffff + 1));
		strings_add(ret, text);
	}
	if (it->options->max_execs) {
		uint64_t done = execs_of(it), left = it->options->max_execs > done ? it->options->max_execs - done : 1;
		(void)snprintf(text, sizeof(text), "-runs=%" PRIu64, (left + it->worker_count - 1) / it->worker_count);
		strings_add(ret, text);
	}
	if (place->skips)
		strings_add(ret, SKIP_FLAG);
	if (place->dict)
		strings_add(ret, "-dict=" FUNCTION_WORK "/dict");
	strings_add(ret, FUNCTION_WORK "/corpus");
}

static void worker_start(struct fuzzing *it, struct worker *worker, uint64_t now)
{
	uint64_t seconds;
	size_t index = place_next(it, now, &seconds);
	own(strings_done) struct strings flags = {0};
	struct err err = {0};

	if (index == it->place_count)
		return;
	struct place *place = &it->places[index];
	engine_flags(it, place, seconds, &flags);
	bool other = place->skips && place->plan.run_skipping.count;
	const struct job_spec spec = {.words = other ? &place->plan.run_skipping : &place->plan.run, .more = &flags, .engine = true,
		.timeout_ms = (seconds ? seconds : DAY_S) * 1000 + EXTRA_MS};
	it->starts++;
	if (job_start(&worker->job, it, place, &spec, &err) < 0) {
		fuzzing_problem(it, index, "%s", err.text);
		return;
	}
	worker->busy = true;
	worker->place = index;
	worker->started_ns = now;
	worker->news = worker->told_execs = worker->ready_ns = 0;
	worker->told_ns = now;
	place->running++;
	if (!place->begun_ns) {
		place->begun_ns = now;
		it->result->totals[index].begun_ns = now - it->started_ns;
	}
}

/* ---- the end of one ---- */

/* What was said, without the lines in which engines tell how they begin. */
static void without_engine(const struct buf *said, struct buf *out)
{
	static const char *const heads[] = {"INFO: ", "WARNING: Failed to find function "};
	const char *end = buf_text(said) + said->len, *next;

	for (const char *line = buf_text(said); line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		bool engine = false;
		next = stop ? stop + 1 : end;
		for (size_t i = 0; i < ARRAY_LEN(heads); i++)
			engine = engine || ((size_t)(next - line) > strlen(heads[i]) && strncmp(line, heads[i], strlen(heads[i])) == 0);
		if (!engine)
			buf_add(out, line, (size_t)(next - line));
	}
	while (out->len && out->data[out->len - 1] == '\n')
		out->len--;
}

static void problem_said(struct fuzzing *it, const struct worker *worker, const char *what)
{
	const struct job *job = &worker->job;
	own(buf_done) struct buf text = {0}, said = {0};

	without_engine(&job->said, &said);
	size_t from = said.len > 1500 ? said.len - 1500 : 0;
	term_line(buf_text(&said) + from, said.len - from, 1500, &text);
	fuzzing_problem(it, worker->place, "%s%s%s%s%s", what, *job->why ? ": " : "", job->why, text.len ? "; it said: " : "",
		buf_text(&text));
}

/* The engine always begins with nothing and, of no corpus, with a newline. What fails with these begins with others. */
static void skip_first(struct place *place)
{
	static const char zeros[64];
	static const struct {
		const char *name, *bytes;
		size_t len;
	} others[] = {{"first-1", "0", 1}, {"first-2", "hotcell", 7}, {"first-3", zeros, sizeof(zeros)}};
	struct err err = {0};

	for (size_t i = 0; !place->skips && i < ARRAY_LEN(others); i++)
		if (place_write(place->fds[PLACE_CORPUS], others[i].name, others[i].bytes, others[i].len, &err) < 0)
			break; /* it is begun without */
	place->skips = true;
}

static bool take_artifact(struct fuzzing *it, struct worker *worker)
{
	struct place *place = &it->places[worker->place];
	const struct job *job = &worker->job;
	const char *name = job->stats.now.artifact;
	own(buf_done) struct buf input = {0};
	enum engine_end end = job->outcome == CELL_OOM ? ENGINE_MEMORY : engine_end(job->exit_code);

	if (!*name || !place_read(place->fds[PLACE_CRASHES], name, INPUT_MAX, &input))
		return false;
	(void)beneath_unlink(place->fds[PLACE_CRASHES], name, 0);
	crash_add(it, worker->place, end == ENGINE_DONE ? ENGINE_CRASH : end, &input, buf_text(&job->said), job->said.len);
	place->short_runs = job->stats.now.begun || place_drop(place, &input) ? 0 : place->short_runs + 1;
	if (place->short_runs)
		skip_first(place);
	return true;
}

/* In the middle of its work, and nobody has the input. One that does so now and then is fuzzed on. */
static void end_silent(struct fuzzing *it, struct worker *worker, uint64_t now)
{
	struct place *place = &it->places[worker->place];
	const struct job *job = &worker->job;
	char what[120];

	it->result->lost = true;
	fuzzing_gap(it, "%s: its process ended in the middle of its work (%s, exit %d), and the input that did it is not known",
		place->target->name, cell_outcome_name(job->outcome), job->exit_code);
	place->short_runs = worker->ready_ns && now - worker->ready_ns > LONG_RUN_NS ? 0 : place->short_runs + 1;
	if (place->short_runs < SHORT_RUNS_MAX)
		return;
	(void)snprintf(what, sizeof(what), "it ended its process %u times in a row without a crash (%s, exit %d)", SHORT_RUNS_MAX,
		cell_outcome_name(job->outcome), job->exit_code);
	problem_said(it, worker, what);
}

static void worker_judge(struct fuzzing *it, struct worker *worker, uint64_t now)
{
	struct place *place = &it->places[worker->place];
	const struct job *job = &worker->job;
	char what[120];

	if (job->outcome == CELL_OOM)
		place_weight_tell(it, place);
	if (job->outcome == CELL_SETUP_FAILED) {
		problem_said(it, worker, "its cell could not be made");
	} else if (take_artifact(it, worker)) {
		if (place->short_runs >= SHORT_RUNS_MAX)
			fuzzing_problem(it, worker->place, "it fails whenever it is begun, with what the engine tries first");
	} else if (job->stats.now.done && job->exit_code == 0) {
		place->short_runs = 0;
	} else if (!job->stats.now.begun) {
		(void)snprintf(what, sizeof(what), "it ended before it could be called (%s, exit %d)",
			cell_outcome_name(job->outcome), job->exit_code);
		problem_said(it, worker, what);
	} else {
		end_silent(it, worker, now);
	}
}

static void worker_end(struct fuzzing *it, struct worker *worker, uint64_t now)
{
	struct place *place = &it->places[worker->place];
	struct target_progress *total = &it->result->totals[worker->place];
	double seconds = (double)(now - worker->started_ns) / (double)NS_PER_S;

	total->yield = power_yield(total->yield, place->best_features - place->told_features, seconds);
	place->told_features = place->best_features; /* of two workers, the first to end is given it */
	place->done_execs += worker_execs(it, worker, now);
	place->fuzzed_ns += now - worker->started_ns;
	place->running--;
	worker->busy = false;
	place_full_tell(it, worker->place);
	job_end(&worker->job);
	place_release(it, place);
}

/* ---- all of them ---- */

static void worker_look(struct fuzzing *it, struct worker *worker, uint64_t now)
{
	const struct stats *stats = &worker->job.stats.now;
	struct place *place = &it->places[worker->place];
	struct target_progress *total = &it->result->totals[worker->place];

	if (stats->begun && !total->first_exec_ns)
		total->first_exec_ns = now - place->begun_ns;
	if (stats->execs)
		it->result->fuzzed = true;
	if (stats->news > worker->news || !place->new_ns)
		place->new_ns = now;
	worker->news = stats->news;
	if (stats->begun && !worker->ready_ns)
		worker->ready_ns = now;
	if (stats->execs != worker->told_execs) {
		worker->told_execs = stats->execs;
		worker->told_ns = now;
	}
	total->corpus = stats->corpus > total->corpus ? stats->corpus : total->corpus;
	total->coverage = stats->coverage > total->coverage ? stats->coverage : total->coverage;
	total->features = stats->features > total->features ? stats->features : total->features;
	place->best_features = total->features;
	if (stats->begun && !place->begun_features) {
		place->begun_features = true;
		place->told_features = place->best_features; /* what its seeds reach is nothing new */
	}
}

/* Before its end. One that did not get as far as calling its target, though it had time, or where nothing else was fuzzed, is told of. */
static void worker_cut(struct fuzzing *it, struct worker *worker, uint64_t now)
{
	bool waited = !it->result->fuzzed || now - worker->started_ns > WAITED_NS;

	if (!it->stopped && waited && !worker->job.stats.now.begun && !it->result->totals[worker->place].first_exec_ns &&
		!it->places[worker->place].out)
		problem_said(it, worker, "it was not ready to be called before the time was over");
	worker_end(it, worker, now);
}

static bool any_fuzzes(const struct fuzzing *it)
{
	for (unsigned i = 0; i < it->worker_count; i++)
		if (it->workers[i].busy && it->workers[i].job.stats.now.begun)
			return true;
	return false;
}

void workers_tick(struct fuzzing *it)
{
	uint64_t now = clock_now();
	bool late = now >= it->deadline_ns, worth = it->deadline_ns == UINT64_MAX || now + WORTH_NS < it->deadline_ns;

	if (it->options->max_findings && it->result->count >= it->options->max_findings)
		it->over = true;
	if ((late && (now >= it->deadline_ns + GRACE_NS || !any_fuzzes(it))) ||
		(it->options->max_execs && execs_of(it) >= it->options->max_execs))
		it->over = true;
	for (unsigned i = 0; i < it->worker_count; i++) {
		struct worker *worker = &it->workers[i];
		if (worker->busy)
			worker_look(it, worker, now);
		if (worker->busy && worker->job.done) {
			worker_judge(it, worker, now);
			worker_end(it, worker, now);
		} else if (worker->busy && !worker->job.stats.now.begun && now - worker->started_ns > READY_NS) {
			problem_said(it, worker, "it was not ready to be called within 60 s");
			worker_end(it, worker, now);
		} else if (worker->busy && (it->over || it->places[worker->place].out)) {
			worker_cut(it, worker, now);
		}
		if (!worker->busy && !it->over && !it->stopped && worth)
			worker_start(it, worker, now);
	}
}

void workers_stop(struct fuzzing *it)
{
	uint64_t now = clock_now();

	for (unsigned i = 0; i < it->worker_count; i++) {
		struct worker *worker = &it->workers[i];
		if (worker->busy)
			worker_cut(it, worker, now);
	}
}
