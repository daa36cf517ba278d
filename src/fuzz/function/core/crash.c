/* Crashes: read back as a stranger's files, done again in cells that nobody used before, made small, told. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/term.h"
#include "fuzz/function/core/run.h"

#define REPLAYS 3u
#define HANG_REPLAYS 2u /* each takes all the time that an input may */
#define START_MS 20000u /* of a replay, until the input is given */
#define SMALLER_S 2u /* of one step; a smaller one begins another */
#define SMALLER_STEPS 5u
#define SMALLER_MS 10000u
#define SMALLER_FEW 64u /* bytes, of which few are smaller: these are tried long before the time is over, */
#define SMALLER_RUNS 50000u /* by so many runs of a step for each byte */
#define LOOK_MAX 10000u /* names in a folder */
#define TAKEN_MAX 5000u
#define REPORT_MAX ((size_t)128 << 10)

void crash_done(struct crash *crash)
{
	buf_done(&crash->input);
	buf_done(&crash->report);
	*crash = (struct crash){0};
}

/* Values that the user gave as secrets are taken out first: neither a finding nor its id has them. */
bool crash_judge(const struct fuzzing *it, const struct place *place, enum engine_end end, const char *report, size_t len,
	struct finding *ret)
{
	own(buf_done) struct buf shown = {0}, safe = {0};
	struct term_filter filter = {0};

	if (it->options->hidden && redactor_knows(it->options->hidden)) {
		redact_show(it->options->hidden, REDACT_VALUES, report, len, &shown);
		report = buf_text(&shown);
		len = shown.len;
	}
	if (!verdict_read(place->target, end, report, len, ret))
		return false;
	term_filter(&filter, report, len, &safe); /* kept as a file, which somebody may look at in a terminal */
	term_filter_end(&filter, &safe);
	ret->report = safe.len ? buf_take(&safe) : NULL;
	return true;
}

static bool is_met(const struct fuzzing *it, size_t place, enum engine_end end, const char *report, size_t len)
{
	const struct place *where = &it->places[place];
	struct finding finding = {0};

	if (!len || !crash_judge(it, where, end, report, len, &finding))
		return false;
	bool met = strings_have(&where->met, finding.id);
	finding_done(&finding);
	return met;
}

void crash_add(struct fuzzing *it, size_t place, enum engine_end end, const struct buf *input, const char *report, size_t len)
{
	struct target_progress *total = &it->result->totals[place];

	if (!total->first_crash_ns)
		total->first_crash_ns = clock_now() - it->places[place].begun_ns;
	if (is_met(it, place, end, report, len))
		return;
	for (size_t i = 0; i < it->pending_count; i++) {
		const struct crash *other = &it->pending[i];
		if (other->place == place && other->input.len == input->len &&
			memcmp(buf_text(&other->input), buf_text(input), input->len) == 0)
			return;
	}
	if (it->pending_count == PENDING_MAX)
		return; /* the engine meets it again */
	struct crash *crash = &it->pending[it->pending_count++];
	*crash = (struct crash){.place = place, .end = end};
	buf_add(&crash->input, buf_text(input), input->len);
	buf_add(&crash->report, report, len);
}

/* ---- what engines that go on have left ---- */

static bool is_input(const char *name, size_t *ret_len)
{
	size_t len = strlen(name), at = 0;

	if (len < 7 || len > 60 || strcmp(name + len - 6, ".input") != 0)
		return false;
	while (at < len - 6 && ((name[at] >= '0' && name[at] <= '9') || (name[at] >= 'a' && name[at] <= 'f')))
		at++;
	*ret_len = len - 6;
	return at == len - 6;
}

void crash_look(struct fuzzing *it, size_t index)
{
	struct place *place = &it->places[index];
	DIR *dir = beneath_list(place->fds[PLACE_CRASHES], ".");
	unsigned seen = 0;
	size_t len;

	if (!dir)
		return;
	for (struct dirent *entry; it->pending_count < PENDING_MAX && seen++ < LOOK_MAX && (entry = readdir(dir));) {
		if (!is_input(entry->d_name, &len) || place->taken.count >= TAKEN_MAX || strings_have(&place->taken, entry->d_name))
			continue;
		own(buf_done) struct buf input = {0}, report = {0};
		own(freep) char *text = xfmt("%.*s.txt", (int)len, entry->d_name);
		strings_add(&place->taken, entry->d_name);
		if (place_read(place->fds[PLACE_CRASHES], entry->d_name, INPUT_MAX, &input) &&
			place_read(place->fds[PLACE_CRASHES], text, REPORT_MAX, &report))
			crash_add(it, index, ENGINE_CRASH, &input, buf_text(&report), report.len);
	}
	(void)closedir(dir);
}

/* ---- once more ---- */

static bool by_libfuzzer(const struct place *place)
{
	return !place->plan.goes_on || place->plan.replays_as_engine;
}

static enum engine_end end_of(const struct place *place, const struct job *job)
{
	if (job->outcome == CELL_TIMEOUT)
		return ENGINE_HANG;
	if (job->outcome == CELL_OOM)
		return ENGINE_MEMORY;
	if (job->outcome == CELL_SETUP_FAILED || job->outcome == CELL_CANCELLED)
		return ENGINE_DONE;
	if (!by_libfuzzer(place) && job->exit_code == 1 && memmem(buf_text(&job->said), job->said.len, HANG_MARK, strlen(HANG_MARK)))
		return ENGINE_HANG; /* the harness' own clock */
	if (!by_libfuzzer(place) && job->exit_code == 1)
		return ENGINE_DONE; /* the harness itself failed: nothing is said of the target */
	return job->outcome == CELL_EXITED ? engine_end(job->exit_code) : ENGINE_CRASH;
}

void crash_words(const struct fuzzing *it, const struct place *place, const char *name, struct strings *ret)
{
	own(freep) char *path = xfmt(FUNCTION_WORK "/input/%s", name);

	if (by_libfuzzer(place)) {
		engine_limits(it, place, ret);
		strings_add(ret, "-artifact_prefix=/tmp/");
	}
	strings_add(ret, path);
}

bool crash_replay(struct fuzzing *it, struct place *place, const char *name, struct finding *ret)
{
	own(strings_done) struct strings more = {0};
	const struct job_spec spec = {.words = &place->plan.replay, .more = &more, .small = true,
		.timeout_ms = START_MS + 2 * engine_input_ms(it)};
	struct job job;
	struct err err = {0};

	crash_words(it, place, name, &more);
	if (job_start(&job, it, place, &spec, &err) < 0) {
		fuzzing_gap(it, "%s: an input was not tried again: %s", place->target->name, err.text);
		return false;
	}
	it->doing = "replaying";
	bool wrong = job_wait(&job) && crash_judge(it, place, end_of(place, &job), buf_text(&job.said), job.said.len, ret);
	it->doing = NULL;
	job_end(&job);
	return wrong;
}

/* A smaller input is left in the folder `out`, under the name; or none is. */
static void make_smaller(struct fuzzing *it, struct place *place, const char *name, size_t len, uint64_t ms)
{
	const bool own_way = place->plan.minimise.count > 0;
	const unsigned long long whole = ms / 1000, step = whole / SMALLER_STEPS > SMALLER_S ? whole / SMALLER_STEPS : SMALLER_S;
	own(strings_done) struct strings more = {0};
	own(freep) char *from = xfmt(FUNCTION_WORK "/input/%s", name), *to = xfmt(FUNCTION_WORK "/out/%s", name);
	own(freep) char *seconds = xfmt("%llu", ms > SMALLER_MS ? whole : SMALLER_S), *limit = xfmt("-max_total_time=%llu", step),
		*exact = xfmt("-exact_artifact_path=%s", to), *runs = xfmt("-runs=%zu", SMALLER_RUNS * len);
	const struct job_spec spec = {.words = own_way ? &place->plan.minimise
			: place->plan.merge.count      ? &place->plan.merge
						       : &place->plan.replay,
		.more = &more,
		.small = true,
		.timeout_ms = ms};
	struct job job;
	struct err err = {0};

	if (own_way) {
		strings_add_all(&more, (const char *const[]){from, to, seconds, NULL});
	} else {
		engine_limits(it, place, &more);
		strings_add_all(&more, (const char *const[]){"-minimize_crash=1", limit, exact, from, NULL});
		if (len <= SMALLER_FEW && ms <= SMALLER_MS) /* who asks for more time has it */
			strings_add(&more, runs);
	}
	if (job_start(&job, it, place, &spec, &err) < 0)
		return;
	it->doing = "minimising";
	(void)job_wait(&job);
	it->doing = NULL;
	job_end(&job);
}

static char *base64_of(const struct buf *bytes)
{
	struct buf text = {0};

	base64_write(buf_text(bytes), bytes->len, &text);
	return text.len ? buf_take(&text) : xstrdup("");
}

void crash_put(struct fuzzing *it, struct finding *finding)
{
	struct function_result *result = it->result;
	bool is_new = !it->options->known || !store_find(it->options->known, finding->id);

	it->fresh += is_new;
	if (it->options->found)
		it->options->found(it->options->data, finding, is_new);
	result->findings = xrealloc(result->findings, result->count + 1, sizeof(*result->findings));
	result->findings[result->count++] = *finding;
}

/* Distinct verdicts of the same input: the first counts. */
static void see_again(
	struct fuzzing *it, struct place *place, const char *name, unsigned times, struct finding *ret, unsigned *seen, unsigned *tried)
{
	for (*seen = *tried = 0; *tried < times && !it->stopped; (*tried)++) {
		struct finding now = {0};
		bool wrong = crash_replay(it, place, name, &now);
		if (wrong && !*seen)
			*ret = now;
		*seen += wrong && strcmp(now.id, ret->id) == 0;
		if (wrong && ret->oracle != now.oracle)
			finding_done(&now);
		if (!wrong && it->stopped)
			break;
	}
}

/* The smaller input, if it does the same as often: one that only just runs out of a stack may not do it the next time.
 * Where it does, *finding is of it. */
bool crash_smaller(struct fuzzing *it, struct place *place, const char *name, const struct buf *input, uint64_t ms,
	struct finding *finding)
{
	own(buf_done) struct buf smaller = {0};
	struct finding again = {0};
	struct err err = {0};
	unsigned seen, tried;
	own(freep) char *second = xfmt("%s-small", name);

	free(finding->input);
	finding->input = base64_of(input);
	/* of a hang every try would take as long as an input may */
	if (input->len <= 1 || it->stopped || strcmp(finding->oracle, "hang") == 0)
		return false;
	make_smaller(it, place, name, input->len, ms);
	if (it->stopped || !place_read(place->fds[PLACE_OUT], name, INPUT_MAX, &smaller) || smaller.len > input->len)
		return false;
	if (smaller.len == input->len && memcmp(buf_text(&smaller), buf_text(input), input->len) == 0)
		return false;
	if (place_write(place->fds[PLACE_INPUT], second, buf_text(&smaller), smaller.len, &err) < 0)
		return false;
	see_again(it, place, second, REPLAYS, &again, &seen, &tried);
	bool same = seen && strcmp(again.id, finding->id) == 0 && seen * finding->tried >= finding->seen * tried;
	if (same) {
		again.found = ptr_take(&finding->input);
		again.input = base64_of(&smaller);
		again.seen = seen;
		again.tried = tried;
		again.seed = finding->seed;
		struct finding was = *finding;
		*finding = again;
		again = was;
	}
	finding_done(&again);
	return same;
}

static void meet(const struct fuzzing *it, struct place *place, const struct crash *crash, const struct finding *finding)
{
	struct finding first = {0};

	if (finding && !strings_have(&place->met, finding->id))
		strings_add(&place->met, finding->id);
	/* as the engine tells it, where that differs: it is not tried again */
	if (crash->report.len && crash_judge(it, place, crash->end, buf_text(&crash->report), crash->report.len, &first)) {
		if (!strings_have(&place->met, first.id))
			strings_add(&place->met, first.id);
		finding_done(&first);
	}
}

static void confirm(struct fuzzing *it, const struct crash *crash)
{
	struct place *place = &it->places[crash->place];
	struct finding finding = {0};
	struct err err = {0};
	unsigned seen, tried;
	own(freep) char *name = xfmt("%zu", place->met.count + place->taken.count + (size_t)it->starts + it->result->count * 1000);

	if (is_met(it, crash->place, crash->end, buf_text(&crash->report), crash->report.len))
		return;
	(void)beneath_unlink(place->fds[PLACE_INPUT], name, 0);
	if (place_write(place->fds[PLACE_INPUT], name, buf_text(&crash->input), crash->input.len, &err) < 0) {
		fuzzing_gap(it, "%s: an input was not tried again: %s", place->target->name, err.text);
		return;
	}
	see_again(it, place, name, crash->end == ENGINE_HANG ? HANG_REPLAYS : REPLAYS, &finding, &seen, &tried);
	own(freep) char *sum = NULL;
	bool changed = place_is_changed(it, place, &sum); /* what was built stays what it was */
	if (!seen || it->stopped) {
		meet(it, place, crash, NULL);
		if (!it->stopped)
			fuzzing_gap(it, "%s: an input that made it fail did not do so again in %u cells of its own", place->target->name, tried);
		finding_done(&finding);
		return;
	}
	bool old = strings_have(&place->met, finding.id);
	meet(it, place, crash, &finding);
	if (old) {
		finding_done(&finding);
		return;
	}
	finding.seen = seen;
	finding.tried = tried;
	finding.seed = it->options->seed;
	it->result->totals[crash->place].crashes++;
	(void)crash_smaller(it, place, name, &crash->input, SMALLER_MS, &finding);
	free(finding.target_sha256);
	finding.target_sha256 = !changed || place->plan.build.count ? xstrdup(place->sum) : ptr_take(&sum);
	core_take(it, place, &finding);
	crash_put(it, &finding);
}

/* What is quick comes first: a hang may take as long as all others. */
void crash_confirm(struct fuzzing *it)
{
	size_t at = 0;

	if (!it->pending_count)
		return;
	while (at + 1 < it->pending_count && it->pending[at].end == ENGINE_HANG)
		at++;
	at = it->pending[at].end == ENGINE_HANG ? 0 : at;
	own(crash_done) struct crash crash = it->pending[at];
	memmove(it->pending + at, it->pending + at + 1, (--it->pending_count - at) * sizeof(*it->pending));
	confirm(it, &crash);
}
