/* A capsule tried again. See fuzz.h. */
#include <errno.h>
#include <string.h>

#include "fuzz/tool/explorer.h"

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
	strings_done(&repro->evidence);
	*repro = (struct repro){0};
}

/* One time: what of it is the finding, and what is something else. */
static void repro_take(struct explorer *explorer, const struct finding *finding, const struct steps *steps,
	struct verdicts *verdicts, struct repro *ret)
{
	const struct subject *subject = steps->list[steps->count - 1].subject;
	bool came = false;

	for (size_t i = 0; i < verdicts->count; i++) {
		struct verdict *verdict = &verdicts->list[i];
		if (verdict_is(explorer, subject, verdict, finding->id)) {
			came = true;
			strings_done(&ret->evidence);
			ret->evidence = verdict->evidence;
			verdict->evidence = (struct strings){0};
		} else if (!ret->other.id[0]) {
			finding_make(explorer, steps, verdict, &ret->other);
		}
	}
	ret->seen += came;
	ret->tried++;
}

static int repro_run(struct explorer *explorer, const struct finding *finding, unsigned times, struct repro *ret)
{
	own(steps_done) struct steps steps = {0};

	if (finding->binary)
		return err_set(explorer->err, ERR_USAGE, "the finding's input is no JSON: it is not of a target with a schema");
	if (steps_read(&steps, target_subjects(explorer->options->target), finding->subject, finding->input, explorer->err) < 0)
		return -1;
	bool twice = finding->oracle && strcmp(finding->oracle, "unstable") == 0;
	for (unsigned i = 0; i < times && !explorer->stopped; i++) {
		own(verdicts_done) struct verdicts verdicts = {0};
		if (trial(explorer, &steps, true, twice, &verdicts) == 0)
			repro_take(explorer, finding, &steps, &verdicts, ret);
		else if (explorer->broken)
			return -1;
	}
	if (ret->tried == 0)
		return err_set(explorer->err, ECANCELED, "it was stopped before the first try was over");
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
	own(explorer_done) struct explorer explorer;
	own(fuzz_result_done) struct fuzz_result result;

	*ret = (struct repro){0};
	explorer_init(&explorer, options, &result, err);
	result.totals.doing = "trying it again";
	if (repro_run(&explorer, finding, times ? times : 1, ret) == 0)
		return 0;
	repro_done(ret);
	return -1;
}

/* ---- smaller ---- */

static int minimise(struct explorer *explorer, struct finding *finding, bool *ret_smaller)
{
	own(steps_done) struct steps steps = {0};
	own(verdict_drop) struct verdict proof = {0};
	struct surprise surprise = {.oracle = finding->oracle ? finding->oracle : ""};
	unsigned times = explorer->options->replays ? explorer->options->replays : 5;

	if (finding->binary)
		return err_set(explorer->err, ERR_USAGE, "the finding's input is no JSON: it is not of a target with a schema");
	if (steps_read(&steps, target_subjects(explorer->options->target), finding->subject, finding->input, explorer->err) < 0)
		return -1;
	memcpy(surprise.id, finding->id, sizeof(surprise.id));
	struct tally tally = {0};
	trial_count(explorer, &steps, &surprise, times, &tally, &proof);
	if (explorer->broken)
		return -1;
	if (!tally.tried && explorer->past)
		return err_set(explorer->err, ETIMEDOUT, "it took longer than there was time for to see it again once");
	if (!tally.seen)
		return err_set(explorer->err, ERR_MISSING,
			"it did not come again in %u tries: there is nothing to make smaller", tally.tried);
	surprise.late = explorer->again_late;
	confirm_time(explorer);
	confirm_reduce(explorer, &steps, &surprise, times, &tally, &proof);
	if (explorer->broken)
		return -1;
	finding->unfinished = explorer->again_cut;
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
	strings_done(&finding->evidence);
	finding->evidence = proof.evidence;
	proof.evidence = (struct strings){0};
	return 0;
}

int fuzz_minimise(const struct fuzz_options *options, struct finding *finding, bool *ret_smaller, struct err *err)
{
	own(explorer_done) struct explorer explorer;
	own(fuzz_result_done) struct fuzz_result result;

	*ret_smaller = false;
	explorer_init(&explorer, options, &result, err);
	explorer.grace_ns = options->duration_ns ? options->duration_ns : explorer.grace_ns;
	result.totals.doing = "minimising";
	return minimise(&explorer, finding, ret_smaller);
}
