/* Fuzzing functions: theory of operation.
 *
 * Each target is planned by its language and built, in a cell. Then every worker is an engine in a cell of its own, which lives
 * as long as the engine does; all workers of a target share its corpus through a folder. We only listen: to what the engines say
 * on stderr, and to what they leave in a folder. What made a target fail is done again in fresh cells that see nothing the
 * engine wrote but that one input, made small there, and told while the others go on. When time is over, what waits is still
 * looked at. All of it is one thread and one loop: job_wait turns it too. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/term.h"
#include "fuzz/function/core/cover.h"
#include "fuzz/function/core/history.h"
#include "fuzz/function/core/run.h"

#define TURN_MS 100
#define LOOK_NS (300 * NS_PER_MS)
#define SIZE_NS (2 * NS_PER_S)
#define TELL_NS (100 * NS_PER_MS)
#define BUILD_MS 300000u
#define PROBE_MS 60000u
#define GAPS_MAX 100u
#define LATE_NS (60 * NS_PER_S) /* for what waits when time is over */
#define LOG_SHOWN 2000

void function_result_done(struct function_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		finding_done(&result->findings[i]);
	free(result->findings);
	free(result->totals);
	for (size_t i = 0; i < result->target_count; i++)
		strings_done(&result->problems[i]);
	free(result->problems);
	coverage_done(&(struct coverage){result->coverage, result->coverage_count});
	free(result->covered);
	free(result->changes);
	strings_done(&result->gaps);
	strings_done(&result->fixed);
	strings_done(&result->gone);
	*result = (struct function_result){0};
}

void fuzzing_gap(struct fuzzing *it, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (size_t i = 0; i < it->result->gaps.count; i++)
		if (strcmp(it->result->gaps.items[i], text) == 0)
			return;
	if (it->result->gaps.count < GAPS_MAX)
		strings_add(&it->result->gaps, text);
}

void fuzzing_problem(struct fuzzing *it, size_t place, const char *format, ...)
{
	char text[2400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	own(buf_done) struct buf shown = {0};
	if (it->options->hidden && redactor_knows(it->options->hidden))
		redact_show(it->options->hidden, REDACT_VALUES, text, strlen(text), &shown);
	strings_add(&it->result->problems[place], shown.len ? buf_text(&shown) : text);
	it->places[place].out = true;
}

/* ---- while it goes on ---- */

/* Before it begins, all of the time is left. */
static uint64_t left_ns(const struct fuzzing *it, uint64_t now)
{
	uint64_t end = (it->begun_ns ? it->begun_ns : now) + it->options->duration_ns;

	return it->options->duration_ns && now < end ? end - now : 0;
}

static void tell(struct fuzzing *it, uint64_t now)
{
	struct function_progress progress = {.ns = now - it->started_ns,
		.workers = it->shown,
		.worker_count = it->worker_count,
		.left_ns = left_ns(it, now),
		.doing = it->doing,
		.folder_fd = it->folder_fd,
		.waiting = it->pending_count,
		.targets = it->result->totals,
		.target_count = it->place_count,
		.findings = (unsigned)it->result->count,
		.fresh = it->fresh,
		.covered = it->covered};

	for (size_t i = 0; i < it->place_count; i++) {
		struct target_progress *total = &it->result->totals[i];
		total->execs = it->places[i].done_execs;
		total->rate = it->over && it->places[i].fuzzed_ns
			? (double)it->places[i].done_execs * 1e9 / (double)it->places[i].fuzzed_ns
			: 0;
		total->since_new_ns = it->places[i].new_ns && it->places[i].new_ns < now ? now - it->places[i].new_ns : 0;
		total->fuzzed_ns = it->places[i].fuzzed_ns;
	}
	for (unsigned i = 0; i < it->worker_count; i++) {
		const struct worker *worker = &it->workers[i];
		const struct stats *stats = &worker->job.stats.now;
		it->shown[i] = (struct worker_progress){.target = worker->place, .doing = it->doing ? it->doing : "waiting"};
		if (!worker->busy)
			continue;
		it->shown[i].doing = stats->begun ? "fuzzing" : "starting";
		it->shown[i].execs = worker_execs(it, worker, now);
		it->shown[i].rate = worker_rate(it, worker);
		it->result->totals[worker->place].execs += it->shown[i].execs;
		it->result->totals[worker->place].rate += it->shown[i].rate;
	}
	for (size_t i = 0; i < it->place_count; i++)
		progress.execs += it->result->totals[i].execs;
	if (!it->over && progress.execs < it->shown_execs)
		progress.execs = it->shown_execs;
	it->shown_execs = progress.execs;
	history_point(it, now);
	it->told_ns = now;
	if (it->options->progress)
		it->options->progress(it->options->data, &progress);
}

static void watch_sizes(struct fuzzing *it)
{
	for (size_t i = 0; i < it->place_count; i++)
		place_full_tell(it, i);
	disk_watch(it);
}

void fuzzing_tick(struct fuzzing *it)
{
	uint64_t now = clock_now();

	if (it->options->stop && it->options->stop(it->options->data))
		it->stopped = it->over = true;
	if (it->workers)
		workers_tick(it);
	deepening_tick(it);
	if (now - it->looked_ns >= LOOK_NS) {
		it->looked_ns = now;
		for (size_t i = 0; i < it->place_count; i++)
			if (it->places[i].begun_ns && it->places[i].plan.goes_on)
				crash_look(it, i);
	}
	if (now - it->sized_ns >= SIZE_NS) {
		it->sized_ns = now;
		watch_sizes(it);
	}
	if (now - it->told_ns >= TELL_NS)
		tell(it, now);
}

/* ---- before it begins ---- */

bool fuzzing_do(
	struct fuzzing *it, size_t index, const struct strings *words, bool build, uint64_t timeout_ms, struct buf *said)
{
	const struct job_spec spec = {.words = words, .build = build, .timeout_ms = timeout_ms};
	struct place *place = &it->places[index];
	struct job job;
	struct err err = {0};

	if ((build && work_lend(it, place, &err) < 0) || job_start(&job, it, place, &spec, &err) < 0) {
		buf_str(said, err.text);
		(void)!work_return(it, place, false, &err);
		return false;
	}
	const char *before = it->doing;
	it->doing = before ? before : build ? "building" : "looking for the engine";
	bool good = job_wait(&job) && job.outcome == CELL_EXITED && job.exit_code == 0;
	it->doing = before;
	if (*job.why)
		buf_str(said, job.why);
	if (job.done && job.outcome == CELL_TIMEOUT)
		buf_fmt(said, "it took longer than %" PRIu64 " s\n", timeout_ms / 1000);
	buf_add(said, buf_text(&job.said), job.said.len);
	job_end(&job);
	if (!good)
		work_full_tell(it, said);
	if (build && work_return(it, place, good, &err) < 0) {
		buf_fmt(said, "%s\n", err.text);
		good = false;
	}
	return good;
}

bool fuzzing_need(struct fuzzing *it, size_t index, const struct language_need *need)
{
	own(strings_done) struct strings words = {0};
	own(buf_done) struct buf said = {0}, line = {0};

	for (size_t i = 0; need->probe[i]; i++)
		strings_add(&words, strcmp(need->probe[i], "@python") == 0 ? it->places[index].plan.run.items[0] : need->probe[i]);
	if (fuzzing_do(it, index, &words, false, PROBE_MS, &said))
		return true;
	if (it->stopped)
		return false;
	size_t from = said.len > 300 ? said.len - 300 : 0;
	term_line(buf_text(&said) + from, said.len - from, 300, &line);
	fuzzing_problem(it, index, "%s is not there; to install it: %s%s%s%s", need->what, need->install, line.len ? " (tried: " : "",
		buf_text(&line), line.len ? ")" : "");
	it->result->missing = true;
	return false;
}

/* What the language and the plan need, tried in a cell; once a language would do, but a project may hide what another has. */
static bool needs_are_there(struct fuzzing *it, size_t index)
{
	const struct place *place = &it->places[index];

	for (size_t i = 0; i < index; i++) /* told or found there */
		if (it->places[i].language == place->language && !it->places[i].out)
			return true;
	for (const struct language_need *need = place->language->needs; need->what; need++)
		if (!fuzzing_need(it, index, need))
			return false;
	for (const struct language_need *need = place->plan.needs; need && need->what; need++)
		if (!fuzzing_need(it, index, need))
			return false;
	return true;
}

/* Whoever tells a problem of a target names it first. */
static const char *without_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(text, name, len) != 0 || (text[len] != ' ' && strncmp(text + len, ": ", 2) != 0))
		return text;
	return text + len + (text[len] == ' ' ? 1 : 2);
}

static void prepare(struct fuzzing *it, size_t index)
{
	struct place *place = &it->places[index];
	own(buf_done) struct buf said = {0}, shown = {0};
	struct err err = {0};

	if (place_open(it, index, &err) < 0) {
		fuzzing_problem(it, index, "%s", without_name(err.text, place->target->name));
		return;
	}
	bool asked = !place->plan.build_proves;
	if ((asked && !needs_are_there(it, index)) || !place->plan.build.count || it->stopped)
		return;
	if (fuzzing_do(it, index, &place->plan.build, true, BUILD_MS, &said) || it->stopped || (!asked && !needs_are_there(it, index)))
		return;
	size_t from = said.len > LOG_SHOWN ? said.len - LOG_SHOWN : 0;
	struct term_filter filter = {0};
	term_filter(&filter, buf_text(&said) + from, said.len - from, &shown);
	term_filter_end(&filter, &shown);
	fuzzing_problem(it, index, it->options->bare ? "it cannot be built:\n%1$s" : "it cannot be built (" FUNCTION_ROOT " is %2$s):\n%1$s",
		buf_text(&shown), place->target->root);
}

static void tell_passed_over(struct fuzzing *it, const struct place *place)
{
	const struct function_options *options = it->options;
	const struct function_target *target = place->target;
	const struct {
		bool given;
		unsigned takes;
		const char *option;
	} rows[] = {
		{options->expect && *options->expect, TAKES_EXPECT | (target->harness ? 0 : TAKES_EXPECT_MADE), "--expect"},
		{options->sanitizer != SANITIZER_DEFAULT, TAKES_SANITIZER, "--sanitizer"},
		{options->build_flags && *options->build_flags, TAKES_BUILD_FLAGS, "--cflag"},
		{options->afl, TAKES_AFL, "--fuzzer afl++"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].given && !(place->language->takes & rows[i].takes))
			fuzzing_gap(it, "%s: %s means nothing to %s%s, and was passed over", target->name, rows[i].option,
				target->harness ? "a harness of " : "", place->language->title);
}

void fuzzing_prepare(struct fuzzing *it, size_t index)
{
	prepare(it, index);
	if (!it->places[index].out)
		tell_passed_over(it, &it->places[index]);
	if (it->options->core && !it->places[index].out && !it->stopped)
		core_prepare(it, index);
	if (index + 1 == it->place_count || it->stopped)
		cache_return(it);
}

/* ---- the whole ---- */

int fuzzing_open(struct fuzzing *it, struct err *err)
{
	const struct function_options *options = it->options;
	size_t count = options->targets->count;

	it->lent_work = -1;
	if (run_folder_open(options->state, &it->folder, &it->folder_fd, err) < 0)
		return -1;
	it->places = xcalloc(count, sizeof(*it->places));
	it->place_count = it->result->target_count = count;
	it->result->totals = xcalloc(count, sizeof(*it->result->totals));
	it->result->problems = xcalloc(count, sizeof(*it->result->problems));
	it->result->covered = xcalloc(count, sizeof(*it->result->covered));
	it->result->changes = xcalloc(count, sizeof(*it->result->changes));
	for (size_t i = 0; i < count; i++) {
		it->places[i].target = &options->targets->list[i];
		it->places[i].language = language_find(it->places[i].target->language);
		for (int k = 0; k < PLACE_FOLDER_COUNT; k++)
			it->places[i].fds[k] = -1;
		it->places[i].cache_fd = -1;
	}
	return 0;
}

void fuzzing_done(struct fuzzing *it)
{
	struct err err;

	deepening_stop(it);
	if (it->workers)
		workers_stop(it);
	free(it->workers);
	free(it->shown);
	for (size_t i = 0; i < it->pending_count; i++)
		crash_done(&it->pending[i]);
	cache_return(it);
	for (size_t i = 0; i < it->place_count; i++)
		place_done(&it->places[i]);
	free(it->places);
	if (it->folder && run_folder_remove(it->options->state, it->folder, &err) < 0)
		fuzzing_gap(it, "'%s' could not be removed: %s", it->folder, err.text);
	if (it->folder)
		fd_close(&it->folder_fd);
	free(it->folder);
}

static bool any_left(const struct fuzzing *it)
{
	for (size_t i = 0; i < it->place_count; i++)
		if (!it->places[i].out)
			return true;
	return false;
}

static bool is_enough(const struct fuzzing *it)
{
	return it->options->max_findings && it->result->count >= it->options->max_findings;
}

/* What was never called is not clean. */
static void tell_unfuzzed(struct fuzzing *it)
{
	const char *why = is_enough(it) ? "as many findings as are asked for came before it"
		: it->deadline_ns <= clock_now() ? "the time was over before it; --duration gives more"
						 : "what may be executed was used up before it";

	for (size_t i = 0; i < it->place_count && !it->stopped; i++)
		if (!it->places[i].out && !it->result->totals[i].first_exec_ns && !it->result->totals[i].first_crash_ns)
			fuzzing_problem(it, i, "it had no turn: %s", why);
}

static void explore(struct fuzzing *it)
{
	const struct function_options *options = it->options;

	it->worker_count = options->workers ? options->workers : 1;
	it->shown = xcalloc(it->worker_count, sizeof(*it->shown));
	it->workers = xcalloc(it->worker_count, sizeof(*it->workers));
	for (unsigned i = 0; i < it->worker_count; i++)
		it->workers[i].job.fd = -1;
	it->deadline_ns = options->duration_ns ? it->begun_ns + options->duration_ns : UINT64_MAX;
	fuzzing_tick(it);
	while (!it->over && any_left(it)) {
		(void)loop_turn(it->loop, TURN_MS);
		fuzzing_tick(it);
		crash_confirm(it);
	}
	it->over = true;
	deepening_stop(it);
	workers_stop(it);
	tell_unfuzzed(it);
	for (size_t i = 0; i < it->place_count; i++)
		if (it->places[i].begun_ns && it->places[i].plan.goes_on)
			crash_look(it, i);
	for (uint64_t late = clock_now() + LATE_NS; it->pending_count && !it->stopped && !is_enough(it) && clock_now() < late;)
		crash_confirm(it);
	if (it->pending_count && !it->stopped && !is_enough(it))
		fuzzing_gap(it, "%zu inputs that made a target fail were not tried again: there was no time left", it->pending_count);
	tell(it, clock_now());
}

int function_run(const struct function_options *options, struct loop *loop, struct cell_pool *pool, struct function_result *ret,
	struct err *err)
{
	own(fuzzing_done) struct fuzzing it = {
		.options = options, .loop = loop, .pool = pool, .result = ret, .started_ns = clock_now()};

	*ret = (struct function_result){0};
	if (fuzzing_open(&it, err) < 0)
		return -1;
	for (size_t i = 0; i < it.place_count && !it.stopped; i++)
		fuzzing_prepare(&it, i);
	it.begun_ns = clock_now();
	if (!it.stopped && any_left(&it))
		known_try(&it);
	if (!it.stopped && any_left(&it))
		explore(&it);
	for (size_t i = 0; i < it.place_count; i++) {
		(void)place_is_changed(&it, &it.places[i], NULL);
		place_keep(&it, &it.places[i]);
	}
	cover_all(&it);
	struct coverage_sums covered = coverage_sums(ret->coverage, ret->coverage_count);
	it.covered = covered.files ? &covered : NULL;
	if (it.covered)
		tell(&it, clock_now());
	history_keep(&it);
	ret->stopped = it.stopped;
	ret->ns = clock_now() - it.started_ns;
	return 0;
}

/* ---- a finding again ---- */

void function_again_done(struct function_again *again)
{
	finding_done(&again->last);
	strings_done(&again->problems);
	strings_done(&again->gaps);
	*again = (struct function_again){0};
}

static void try_again(struct fuzzing *it, const struct finding *finding, unsigned times, struct function_again *ret)
{
	while (ret->tried < times && !it->stopped) {
		struct finding now = {0};
		bool wrong = crash_replay(it, &it->places[0], "again", &now);
		if (it->stopped) {
			finding_done(&now);
			return;
		}
		ret->tried++;
		if (!wrong)
			continue;
		ret->seen += strcmp(now.id, finding->id) == 0;
		finding_done(&ret->last);
		ret->last = now;
	}
}

/* Where its input is in PLACE_INPUT, or the problems say why not. */
static int again_open(struct fuzzing *it, const struct finding *finding, struct buf *input, struct strings *problems,
	struct err *err)
{
	if (!finding->binary || !base64_read(finding->input, strlen(finding->input), input) || input->len > INPUT_MAX)
		return err_set(err, ERR_USAGE, "the finding's input is not one of a function");
	if (fuzzing_open(it, err) < 0)
		return -1;
	fuzzing_prepare(it, 0);
	strings_copy(problems, &it->result->problems[0], SIZE_MAX);
	return problems->count || it->stopped ? 0 : place_write(it->places[0].fds[PLACE_INPUT], "again", buf_text(input), input->len, err);
}

static void again_core(struct fuzzing *it, const struct finding *finding, struct strings *gaps)
{
	struct finding traced = *finding; /* borrows all but this: */

	traced.core_from = NULL;
	core_take(it, &it->places[0], &traced);
	if (traced.core_from)
		it->options->found(it->options->data, &traced, false);
	free(traced.core_from);
	if (it->options->core)
		strings_copy(gaps, &it->result->gaps, SIZE_MAX);
}

int function_again(const struct function_options *options, const struct finding *finding, unsigned times, struct loop *loop,
	struct cell_pool *pool, struct function_again *ret, struct err *err)
{
	own(function_result_done) struct function_result result = {0};
	own(fuzzing_done) struct fuzzing it = {
		.options = options, .loop = loop, .pool = pool, .result = &result, .started_ns = clock_now(), .plain = true};
	own(buf_done) struct buf input = {0};

	*ret = (struct function_again){0};
	if (again_open(&it, finding, &input, &ret->problems, err) < 0)
		return -1;
	if (!ret->problems.count && !it.stopped)
		try_again(&it, finding, times, ret);
	if (ret->seen && !it.stopped)
		again_core(&it, finding, &ret->gaps);
	ret->stopped = it.stopped;
	return 0;
}

/* ---- a finding made smaller ---- */

static int smaller(struct fuzzing *it, struct finding *finding, const struct buf *input, uint64_t ms, bool *ret_smaller,
	struct err *err)
{
	struct finding now = {0};

	if (!crash_replay(it, &it->places[0], "again", &now) || strcmp(now.id, finding->id) != 0) {
		finding_done(&now);
		return it->stopped ? 0 : err_set(err, ERR_MISSING, "it does not do it any more: there is nothing to make smaller");
	}
	now.seen = finding->seen;
	now.tried = finding->tried;
	*ret_smaller = crash_smaller(it, &it->places[0], "again", input, ms, &now);
	if (*ret_smaller) {
		finding->seen = now.seen;
		finding->tried = now.tried;
		if (!finding->found)
			finding->found = ptr_take(&finding->input);
		free(finding->input);
		finding->input = ptr_take(&now.input);
		free(finding->report);
		finding->report = ptr_take(&now.report);
		struct strings evidence = finding->evidence;
		finding->evidence = now.evidence;
		now.evidence = evidence;
	}
	finding_done(&now);
	return 0;
}

int function_minimise(const struct function_options *options, struct finding *finding, uint64_t ms, struct loop *loop,
	struct cell_pool *pool, bool *ret_smaller, bool *ret_stopped, struct err *err)
{
	own(function_result_done) struct function_result result = {0};
	own(fuzzing_done) struct fuzzing it = {
		.options = options, .loop = loop, .pool = pool, .result = &result, .started_ns = clock_now(), .plain = true};
	own(strings_done) struct strings problems = {0};
	own(buf_done) struct buf input = {0};

	*ret_smaller = false;
	if (strcmp(finding->oracle, "hang") == 0)
		return err_set(err, ERR_USAGE, "the input of a hang is not made smaller: every try would take as long as an input may");
	if (again_open(&it, finding, &input, &problems, err) < 0)
		return -1;
	if (problems.count)
		return err_set(err, ERR_LOST, "%.380s", problems.items[0]);
	int rc = it.stopped ? 0 : smaller(&it, finding, &input, ms, ret_smaller, err);
	*ret_stopped = it.stopped;
	return rc;
}
