/* A capsule tried again. See fuzz.h. */
#include <errno.h>
#include <string.h>

#include "fuzz/engine.h"

static const char *const names[] = {
	[REPRO_SAME] = "reproduced", [REPRO_FIXED] = "fixed", [REPRO_DIFFERENT] = "different",
};
_Static_assert(sizeof(names) / sizeof(*names) == REPRO_COUNT, "a verdict has no name");

const char *repro_name(enum repro_verdict verdict)
{
	return names[verdict];
}

void repro_done(struct repro *repro)
{
	finding_done(&repro->other);
	texts_done(&repro->evidence);
	*repro = (struct repro){0};
}

/* One time: what of it is the finding, and what is something else. */
static void repro_take(struct engine *engine, const struct finding *finding, const struct steps *steps,
	struct verdicts *verdicts, struct repro *ret)
{
	const struct subject *subject = steps->list[steps->count - 1].subject;
	bool came = false;

	for (size_t i = 0; i < verdicts->count; i++) {
		struct verdict *verdict = &verdicts->list[i];
		if (verdict_is(engine, subject, verdict, finding->id)) {
			came = true;
			texts_done(&ret->evidence);
			ret->evidence = verdict->evidence;
			verdict->evidence = (struct finding_texts){0};
		} else if (!ret->other.id[0]) {
			finding_make(engine, steps, verdict, &ret->other);
		}
	}
	ret->seen += came;
	ret->tried++;
}

static int repro_run(struct engine *engine, const struct finding *finding, unsigned times, struct repro *ret)
{
	own(steps_done) struct steps steps = {0};

	if (finding->binary)
		return err_set(engine->err, ERR_USAGE, "the finding's input is no JSON: it is not of a target with a schema");
	if (steps_read(&steps, target_subjects(engine->options->target), finding->subject, finding->input, engine->err) < 0)
		return -1;
	bool twice = finding->oracle && strcmp(finding->oracle, "unstable") == 0;
	for (unsigned i = 0; i < times && !engine->stopped; i++) {
		own(verdicts_done) struct verdicts verdicts = {0};
		if (trial(engine, &steps, true, twice, &verdicts) == 0)
			repro_take(engine, finding, &steps, &verdicts, ret);
		else if (engine->broken)
			return -1;
	}
	if (ret->tried == 0)
		return err_set(engine->err, ECANCELED, "it was stopped before the first try was over");
	ret->verdict = ret->seen ? REPRO_SAME : ret->other.id[0] ? REPRO_DIFFERENT : REPRO_FIXED;
	if (ret->verdict == REPRO_DIFFERENT)
		ret->other.seen = 1, ret->other.tried = 1;
	else
		finding_done(&ret->other);
	return 0;
}

int fuzz_repro(const struct fuzz_options *options, const struct finding *finding, unsigned times, struct repro *ret,
	struct err *err)
{
	own(engine_done) struct engine engine;
	own(fuzz_result_done) struct fuzz_result result;

	*ret = (struct repro){0};
	engine_init(&engine, options, &result, err);
	result.totals.doing = "trying it again";
	if (repro_run(&engine, finding, times ? times : 1, ret) == 0)
		return 0;
	repro_done(ret);
	return -1;
}

/* ---- smaller ---- */

static int minimise(struct engine *engine, struct finding *finding, bool *ret_smaller)
{
	own(steps_done) struct steps steps = {0};
	own(verdict_drop) struct verdict proof = {0};
	struct surprise surprise = {.oracle = finding->oracle ? finding->oracle : ""};
	unsigned times = engine->options->replays ? engine->options->replays : 5;

	if (finding->binary)
		return err_set(engine->err, ERR_USAGE, "the finding's input is no JSON: it is not of a target with a schema");
	if (steps_read(&steps, target_subjects(engine->options->target), finding->subject, finding->input, engine->err) < 0)
		return -1;
	memcpy(surprise.id, finding->id, sizeof(surprise.id));
	struct tally tally = {0};
	trial_count(engine, &steps, &surprise, times, &tally, &proof);
	if (engine->broken)
		return -1;
	if (!tally.tried && engine->past)
		return err_set(engine->err, ETIMEDOUT, "it took longer than there was time for to see it again once");
	if (!tally.seen)
		return err_set(engine->err, ERR_MISSING,
			"it did not come again in %u tries: there is nothing to make smaller", tally.tried);
	surprise.late = engine->again_late;
	confirm_time(engine);
	confirm_reduce(engine, &steps, &surprise, times, &tally, &proof);
	if (engine->broken)
		return -1;
	finding->unfinished = engine->again_cut;
	own(freep) char *input = steps_text(&steps);
	if (strlen(input) >= strlen(finding->input))
		return 0;
	*ret_smaller = true;
	if (!finding->found)
		finding->found = ptr_take(&finding->input);
	free(finding->input);
	finding->input = ptr_take(&input);
	finding->seen = tally.seen;
	finding->tried = tally.tried;
	texts_done(&finding->evidence);
	finding->evidence = proof.evidence;
	proof.evidence = (struct finding_texts){0};
	return 0;
}

int fuzz_minimise(const struct fuzz_options *options, struct finding *finding, bool *ret_smaller, struct err *err)
{
	own(engine_done) struct engine engine;
	own(fuzz_result_done) struct fuzz_result result;

	*ret_smaller = false;
	engine_init(&engine, options, &result, err);
	engine.grace_ns = options->duration_ns ? options->duration_ns : engine.grace_ns;
	result.totals.doing = "making smaller";
	return minimise(&engine, finding, ret_smaller);
}
