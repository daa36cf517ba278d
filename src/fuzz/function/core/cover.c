/* Coverage: the plan's own command over the corpus, in a cell that leaves lcov behind. It comes last, so the
 * folder of what was built can be its to write in. What it leaves is a stranger's word about the stranger's code:
 * it is shown, and decides nothing. */
#include "fuzz/function/core/cover.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/term.h"
#include "fuzz/function/core/lcov.h"
#include "fuzz/function/cover_history.h"

#define BRIEF_ALL_NS (30 * NS_PER_S) /* for all targets, where nobody asked for it */
#define LEFT "coverage.info"
#define SAID_SHOWN 300

static void gap_of(struct fuzzing *it, const struct place *place, const struct job *job)
{
	const char *name = place->target->name;
	own(buf_done) struct buf line = {0}, shown = {0};
	size_t from = job->said.len > SAID_SHOWN ? job->said.len - SAID_SHOWN : 0;

	term_line(buf_text(&job->said) + from, job->said.len - from, SAID_SHOWN, &line);
	if (it->options->hidden && redactor_knows(it->options->hidden))
		redact_show(it->options->hidden, REDACT_VALUES, buf_text(&line), line.len, &shown);
	const char *said = shown.len ? buf_text(&shown) : buf_text(&line);
	fuzzing_gap(it, "the coverage of %s was not measured (%s, exit %d)%s%s%s%s", name, cell_outcome_name(job->outcome),
		job->exit_code, *job->why ? ": " : "", job->why, *said ? "; it said: " : "", said);
}

/* Whether the cell had it: it tells of what it likes. */
static bool is_shown(const struct fuzzing *it, const struct function_target *target,
	const struct coverage_file *file)
{
	const char *const *hide = it->options->spec->hide;

	return !(target->alone && strcmp(file->name, target->file) != 0) &&
		!(hide && fs_is_hidden(hide, file->root, file->name));
}

/* `late`: it was ended at its time, and may have left a part. */
static void take(struct fuzzing *it, struct place *place, bool late)
{
	own(buf_done) struct buf text = {0};
	struct lcov_left left;
	struct stat st;

	if (late) {
		bool part = beneath_stat(work_folder(it, place), LEFT, &st) == 0 && S_ISREG(st.st_mode) && st.st_size;
		fuzzing_gap(it, "the coverage of %s was %smeasured within %u s%s", place->target->name, part ? "only partly " : "not ",
			cover_seconds(it->options), it->options->coverage == COVER_WHOLE ? "" : "; --coverage takes longer");
		if (!part)
			return;
	}
	if (!place_read(work_folder(it, place), LEFT, LCOV_MAX, &text)) {
		fuzzing_gap(it, "the coverage of %s was measured, and nothing, or more than %zu MB, was left of it", place->target->name,
			LCOV_MAX >> 20);
		return;
	}
	lcov_read(buf_text(&text), text.len, FUNCTION_ROOT, place->target->root, &place->coverage, &left);
	if (!place->coverage.count) /* where there is no cell, it is where it is */
		lcov_read(buf_text(&text), text.len, place->target->root, place->target->root, &place->coverage, &left);
	if (left.beyond)
		fuzzing_gap(it, "the coverage of %s is told in part: it has more files, lines or functions than are taken",
			place->target->name);
	if (!place->coverage.count)
		fuzzing_gap(it, "the coverage of %s tells of no source of it", place->target->name);
	for (size_t i = 0; i < place->coverage.count; i++) {
		struct coverage_file *file = &place->coverage.files[i];
		own(buf_done) struct buf source = {0};
		char sum[65];
		/* without a sum it is not shown to anybody */
		if (is_shown(it, place->target, file) &&
			cover_source_read(file->root, file->name, &source, sum))
			file->sha256 = xstrdup(sum);
	}
}

static void cover_one(struct fuzzing *it, struct place *place)
{
	own(strings_done) struct strings corpus = {0};
	const struct job_spec spec = {.words = &place->plan.cover, .more = &corpus, .cover = true,
		.timeout_ms = cover_seconds(it->options) * 1000};
	struct job job;
	struct err err = {0};

	strings_add(&corpus, FUNCTION_WORK "/corpus");
	/* engines begin with it, and keep no file of it; the corpus was copied to where it is kept already */
	if (place_write(place->fds[PLACE_CORPUS], "empty", "", 0, &err) < 0)
		err = (struct err){0};
	(void)beneath_unlink(place->fds[PLACE_WORK], LEFT, 0); /* what a build left is no measurement */
	if (work_lend(it, place, &err) < 0 || job_start(&job, it, place, &spec, &err) < 0) {
		fuzzing_gap(it, "the coverage of %s was not measured: %s", place->target->name, err.text);
		(void)!work_return(it, place, false, &err);
		return;
	}
	if (job_wait(&job)) {
		bool late = job.outcome == CELL_TIMEOUT;
		if (late || (job.outcome == CELL_EXITED && job.exit_code == 0))
			take(it, place, late);
		else
			gap_of(it, place, &job);
	}
	job_end(&job);
	(void)!work_return(it, place, false, &err);
}

void cover_all(struct fuzzing *it)
{
	struct coverage all = {0};
	uint64_t from = clock_now();

	if (it->options->coverage == COVER_NONE)
		return;
	it->doing = "measuring";
	for (size_t i = 0; i < it->place_count && !it->stopped; i++) {
		struct place *place = &it->places[i];
		if (!place->begun_ns || place->out)
			continue;
		if (!place->plan.cover.count) {
			if (it->options->coverage == COVER_WHOLE)
				fuzzing_gap(it, "the coverage of %s cannot be measured: there is no way to for %s yet", place->target->name,
					place->language->title);
			continue;
		}
		if (it->options->coverage == COVER_BRIEF && clock_now() - from > BRIEF_ALL_NS) {
			fuzzing_gap(it, "the coverage of %s and what follows was not measured: it takes too long; --coverage takes the time",
				place->target->name);
			break;
		}
		cover_one(it, place);
		it->result->covered[i] = coverage_sums(place->coverage.files, place->coverage.count);
		coverage_merge(&all, &place->coverage);
	}
	it->doing = NULL;
	it->result->coverage = all.files;
	it->result->coverage_count = all.count;
}
