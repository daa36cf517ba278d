/* Corpora with the engine that knows what an input is worth: at the end of a run, and by themselves.
 *
 * libFuzzer's merge runs every input once and leaves those that together reach all that all of them reach, the smallest
 * first; what crashes or hangs in it is left out. It is the target's code that runs: so it does in a cell, which sees
 * the corpus read-only and a folder for what is left. What comes out is a stranger's again. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "fuzz/function/core/run.h"

#define MERGE_LEAST 16u /* inputs: fewer are not worth an engine's start */
#define MERGE_PART 4u /* of the time that the run had */
#define MERGE_LEAST_MS 10000u
#define MERGE_MOST_MS 120000u
#define SEED_DEPTH 8u

/* From the corpus to the folder beside it. False: nothing came of it, and everything stays as it is. */
static bool merge(struct fuzzing *it, struct place *place, uint64_t ms, struct buf *why)
{
	own(strings_done) struct strings flags = {0};
	const struct job_spec spec = {.words = place->plan.merge.count ? &place->plan.merge
			: place->plan.replays_as_engine                ? &place->plan.replay
								       : &place->plan.run,
		.more = &flags,
		.merge = true,
		.timeout_ms = ms};
	struct job job;
	struct err err = {0};

	engine_limits(it, place, &flags);
	strings_add_all(&flags,
		(const char *const[]){
			"-merge=1", "-artifact_prefix=/tmp/", FUNCTION_WORK "/merged", FUNCTION_WORK "/corpus", NULL});
	if (job_start(&job, it, place, &spec, &err) < 0) {
		buf_str(why, err.text);
		return false;
	}
	bool done = job_wait(&job) && job.outcome == CELL_EXITED && job.exit_code == 0;
	if (!done && !it->stopped) {
		if (job.outcome == CELL_TIMEOUT)
			buf_fmt(why, "it took more than %llu s", (unsigned long long)(ms / 1000));
		else
			buf_fmt(why, "the engine ended with %d", job.exit_code);
	}
	job_end(&job);
	return done;
}

/* ---- at the end of a run ---- */

static uint64_t merge_ms(const struct fuzzing *it)
{
	uint64_t ms = it->options->duration_ns / NS_PER_MS / MERGE_PART;

	return ms < MERGE_LEAST_MS ? MERGE_LEAST_MS : ms > MERGE_MOST_MS ? MERGE_MOST_MS : ms;
}

/* As many as it takes to decide. */
static size_t count_files(int folder)
{
	DIR *dir = beneath_list(folder, ".");
	size_t count = 0;

	if (!dir)
		return 0;
	for (struct dirent *entry; count < MERGE_LEAST && (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	(void)closedir(dir);
	return count;
}

void place_keep(struct fuzzing *it, struct place *place)
{
	own(corpus_taken_done) struct corpus_taken taken = {0};
	own(buf_done) struct buf why = {0};
	struct err err = {0};

	if (place->fds[PLACE_CORPUS] < 0 || !place->begun_ns || place->kept)
		return;
	place->kept = true;
	bool worth = !it->stopped && !place->out && place->plan.stats == STATS_LIBFUZZER &&
		count_files(place->fds[PLACE_CORPUS]) >= MERGE_LEAST;
	bool merged = worth && merge(it, place, merge_ms(it), &why) && count_files(place->fds[PLACE_MERGED]) > 0;
	if (why.len)
		fuzzing_gap(it, "the corpus of %s was kept as it is, and not made small: %s", place->target->name,
			buf_text(&why));
	if (corpus_keep(it->options->state, &place->about, place->fds[merged ? PLACE_MERGED : PLACE_CORPUS], 0,
		    merged ? &place->had : NULL, 1, &taken, &err) < 0)
		fuzzing_gap(it, "the corpus of %s was not kept: %s", place->target->name, err.text);
	if (taken.full)
		fuzzing_gap(it, "the corpus of %s is full: 'hotcell corpus minimise' makes room", place->target->name);
}

/* ---- by itself ---- */

void corpus_worked_done(struct corpus_worked *worked)
{
	strings_done(&worked->why);
	strings_done(&worked->problems);
	*worked = (struct corpus_worked){0};
}

static void measure(
	const struct function_options *options, const struct place *place, uint64_t *ret_count, uint64_t *ret_bytes)
{
	own(corpora_done) struct corpora all = {0};
	struct err err = {0};

	*ret_count = *ret_bytes = 0;
	const struct corpus_about *about =
		corpora_read(options->state, &all, &err) < 0 ? NULL : corpora_find(&all, place->about.id);
	if (about) {
		*ret_count = about->count;
		*ret_bytes = about->bytes;
	}
}

/* To merge, what the corpus has lies where the engine leaves things: what it has is had, and only what adds to it
 * comes. */
static int take_folders(struct place *place, const struct corpus_work *work, struct corpus_worked *ret, struct err *err)
{
	const struct corpus_caps had = {.files = CORPUS_FILES_MAX, .bytes = CORPUS_BYTES_MAX, .named = true};
	own(corpus_taken_done) struct corpus_taken old = {0};

	if (corpus_copy(place->fds[PLACE_CORPUS], place->fds[PLACE_MERGED], &had, &old, err) < 0)
		return -1;
	for (size_t i = 0; i < place->had.count; i++)
		(void)beneath_unlink(place->fds[PLACE_CORPUS], place->had.list[i], 0);
	for (size_t i = 0; i < work->from_count; i++) {
		const struct corpus_caps caps = {
			.files = CORPUS_FILES_MAX, .bytes = CORPUS_BYTES_MAX, .depth = SEED_DEPTH};
		own(corpus_taken_done) struct corpus_taken taken = {0};
		if (corpus_copy(work->from[i], place->fds[PLACE_CORPUS], &caps, &taken, err) < 0)
			return -1;
		ret->looked_at += taken.files + taken.known;
		ret->left_out += taken.left_out;
		strings_copy(&ret->why, &taken.why, CORPUS_WHY_MAX);
	}
	return 0;
}

static int work_on(struct fuzzing *it, const struct corpus_work *work, struct corpus_worked *ret, struct err *err)
{
	struct place *place = &it->places[0];
	own(corpus_taken_done) struct corpus_taken taken = {0};
	own(buf_done) struct buf why = {0};

	measure(it->options, place, &ret->before, &ret->bytes_before);
	if (work->from_count && take_folders(place, work, ret, err) < 0)
		return -1;
	if (work->from_count ? ret->looked_at == 0 : ret->before == 0) {
		ret->after = ret->before;
		ret->bytes_after = ret->bytes_before;
		return 0;
	}
	bool merged = merge(it, place, work->timeout_ms, &why) && count_files(place->fds[PLACE_MERGED]) > 0;
	if (!merged && !it->stopped)
		strings_add(&ret->problems,
			why.len ? buf_text(&why)
				: "the engine left nothing: every input made it fail, or none of its code is instrumented");
	if (!merged)
		return 0;
	if (corpus_keep(it->options->state, &place->about, place->fds[PLACE_MERGED], 0,
		    work->from_count ? NULL : &place->had, 0, &taken, err) < 0)
		return -1;
	measure(it->options, place, &ret->after, &ret->bytes_after);
	return 0;
}

int corpus_work(const struct function_options *options, const struct corpus_work *work, struct loop *loop,
	struct cell_pool *pool, struct corpus_worked *ret, struct err *err)
{
	own(function_result_done) struct function_result result = {0};
	struct function_options roomy = *options;
	own(fuzzing_done) struct fuzzing it = {
		.options = &roomy, .loop = loop, .pool = pool, .result = &result, .started_ns = clock_now()};

	*ret = (struct corpus_worked){0};
	/* what it has, what is left of it, and each folder; a corpus of small files takes more than its bytes */
	uint64_t room = (work->from_count + 4) * CORPUS_BYTES_MAX;
	if (function_corpus_max(options) < room)
		roomy.corpus_max = room;
	if (fuzzing_open(&it, err) < 0)
		return -1;
	fuzzing_prepare(&it, 0);
	for (size_t i = 0; i < result.problems[0].count; i++)
		strings_add(&ret->problems, result.problems[0].items[i]);
	if (!ret->problems.count && !it.stopped && it.places[0].plan.stats != STATS_LIBFUZZER)
		strings_add(&ret->problems, "its engine cannot merge: that is done by those that are built on libFuzzer");
	int rc = ret->problems.count || it.stopped ? 0 : work_on(&it, work, ret, err);
	ret->stopped = it.stopped;
	return rc;
}
