/* What the store has of this target is tried before anything new is looked for. What is still there is told as found;
 * what does not come any more is fixed, if this run could have seen it: with the oracle that saw it, the options that
 * it was found with, a target that answers. That is said in the end: until then exploring may come upon it.
 *
 * An input may hold tokens of the plant of its own run. They are replaced by those of this one: any seed will do. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fuzz/tool/explorer.h"

#define KNOWN_PART 4u /* of the time */
#define KNOWN_LEAST_NS (5 * NS_PER_S) /* but never more than half of it */
#define KNOWN_OPEN_NS (30 * NS_PER_S) /* where there is no end */
#define TRIES 3u /* of one that may be gone; more where it is flaky */
#define DEFAULT_REPLAYS 5u
#define SHOWN 120

struct known {
	struct explorer *explorer;
	uint64_t ends;
	size_t late; /* not tried, or not to the end: there was no time */
};

/* ---- whether it can be seen ---- */

/* NULL: it can. */
static const char *why_not(const struct explorer *explorer, const struct finding *known)
{
	if (known->binary)
		return "its input is no JSON";
	if (!oracle_in(explorer->options->oracles, known->oracle))
		return "its oracle is not among those that look";
	return explorer_blind(explorer, known->oracle);
}

/* Options that say nothing of what a target does. */
static bool is_idle(const char *flag)
{
	static const char *const names[] = {"--oracles=", "--name=", "--source-file=", "--start-timeout=", "--require="};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(flag, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The first of these that is not among the others. */
static const char *missing(const struct strings *these, const struct strings *in)
{
	for (size_t i = 0; these && i < these->count; i++)
		if (!is_idle(these->items[i]) && !(in && strings_have(in, these->items[i])))
			return these->items[i];
	return NULL;
}

static bool same_command(const struct cell_spec *spec, const struct strings *words)
{
	size_t count = 0;

	while (spec && spec->argv && spec->argv[count]) {
		if (count >= words->count || strcmp(spec->argv[count], words->items[count]) != 0)
			return false;
		count++;
	}
	return !spec || count == words->count;
}

/* In what this run is another than the one that found it, as it stands after "but"; false: in nothing that matters. */
static bool is_other(const struct explorer *explorer, const struct finding *known, char ret[SHOWN + 40])
{
	const struct fuzz_options *options = explorer->options;
	const struct strings *names = options->environment_names;
	const char *less = missing(&known->flags, options->flags), *more = missing(options->flags, &known->flags);
	const char *unset = missing(&known->environment, names), *set = missing(names, &known->environment);

	if (less || more)
		(void)snprintf(ret, SHOWN + 40, "%s %.*s", less ? "without" : "with", SHOWN, less ? less : more);
	else if (unset || set)
		(void)snprintf(ret, SHOWN + 40, "%s the variable %.*s", unset ? "without" : "with", SHOWN, unset ? unset : set);
	else if (strcmp(known->profile ? known->profile : "", options->profile ? options->profile : "") != 0)
		(void)snprintf(ret, SHOWN + 40, "with another profile");
	else if (!same_command(target_spec(options->target), &known->command))
		(void)snprintf(ret, SHOWN + 40, "with another command");
	else
		return false;
	return true;
}

/* ---- one ---- */

static unsigned tries_of(const struct explorer *explorer, const struct finding *known)
{
	unsigned replays = explorer->options->replays ? explorer->options->replays : DEFAULT_REPLAYS;

	return finding_is_flaky(known) || replays < TRIES ? replays : TRIES;
}

static void renew(const struct explorer *explorer, const struct finding *known, char *text, size_t len)
{
	if (explorer->options->plant)
		plant_renew(explorer->options->plant, known->seed, text, len);
}

static void still_there(
	struct explorer *explorer, const struct finding *known, const struct steps *steps, const struct verdict *proof)
{
	struct finding finding = {0};

	explorer_met(explorer, known->id)->found = true;
	finding_make(explorer, steps, proof, &finding);
	finding.seen = known->seen;
	finding.tried = known->tried;
	finding.first_seen = known->first_seen;
	finding.unfinished = known->unfinished;
	if (known->found) {
		finding.found = xstrdup(known->found);
		renew(explorer, known, finding.found, strlen(finding.found));
	}
	finding_put(explorer, &finding, false);
	if (explorer->options->retried)
		explorer->options->retried(explorer->options->data, known, true);
}

static void not_seen(struct explorer *explorer, const struct finding *known)
{
	char other[SHOWN + 40];

	if (!is_other(explorer, known, other))
		explorer_met(explorer, known->id)->gone = known;
	else if (known->state != FINDING_FIXED)
		gap_add(explorer->result,
			"%s was not seen again, but %s, other than when it was found; 'hotcell findings repro %s' says whether it is fixed",
			known->id, other, known->id);
}

static bool is_over(const struct known *it)
{
	return clock_now() >= it->ends;
}

static void try_steps(struct known *it, const struct finding *known, const struct steps *steps)
{
	own(verdict_drop) struct verdict proof = {0};
	struct surprise surprise = {.oracle = known->oracle};
	struct explorer *explorer = it->explorer;

	memcpy(surprise.id, known->id, sizeof(surprise.id));
	for (unsigned left = tries_of(explorer, known); left > 0; left--) {
		if (trial_once(explorer, steps, &surprise, true, &proof)) {
			still_there(explorer, known, steps, &proof);
			return;
		}
		if (explorer_is_over(explorer))
			return;
		if (left > 1 && is_over(it)) {
			it->late++;
			return;
		}
	}
	not_seen(explorer, known);
}

static void try_one(struct known *it, const struct finding *known)
{
	own(steps_done) struct steps steps = {0};
	struct explorer *explorer = it->explorer;
	const struct met *met = explorer_meet(explorer, known->id);
	const char *why = why_not(explorer, known);
	struct err err;

	if (met && met->found)
		return;
	if (!why && steps_read(&steps, target_subjects(explorer->options->target), known->subject, known->input, &err) < 0)
		why = err.text;
	if (why && known->state != FINDING_FIXED)
		gap_add(explorer->result, "%s was not tried again: %s", known->id, why);
	if (why)
		return;
	for (size_t i = 0; i < steps.count; i++)
		renew(explorer, known, steps.list[i].input.data, steps.list[i].input.len);
	if (met)
		try_steps(it, known, &steps);
	else
		it->late++;
}

/* ---- all ---- */

static uint64_t time_for_it(const struct fuzz_options *options)
{
	uint64_t part = options->duration_ns / KNOWN_PART, half = options->duration_ns / 2;

	if (!options->duration_ns)
		return KNOWN_OPEN_NS;
	return part >= KNOWN_LEAST_NS ? part : half < KNOWN_LEAST_NS ? half : KNOWN_LEAST_NS;
}

static bool is_of(const struct explorer *explorer, const struct finding *finding)
{
	return finding->target && finding->kind && finding->oracle &&
		strcmp(finding->target, target_name(explorer->options->target)) == 0 &&
		strcmp(finding->kind, target_mode_kind(explorer->mode)) == 0;
}

/* Hangs come last: one of them may take as long as all others. */
void confirm_known(struct explorer *explorer)
{
	const struct finding_store *known = explorer->options->known;
	struct known it = {.explorer = explorer, .ends = clock_now() + time_for_it(explorer->options)};
	size_t tried = 0;

	for (unsigned hangs = 0; hangs < 2; hangs++) {
		for (size_t i = 0; known && i < known->count; i++) {
			const struct finding *finding = &known->items[i];
			if (!is_of(explorer, finding) || (strcmp(finding->oracle, "hang") == 0) != hangs)
				continue;
			if (explorer_tick(explorer, "reproducing known findings") || explorer_is_enough(explorer) || explorer_open_again(explorer) < 0)
				return;
			if (tried++ && is_over(&it))
				it.late++;
			else
				try_one(&it, finding);
		}
	}
	if (it.late)
		gap_add(explorer->result, "%zu of what is known %s not tried again: a part of the time is for that, and it was over",
			it.late, it.late == 1 ? "was" : "were");
}

/* Whether exploring came upon it after all. */
static bool was_seen(const struct explorer *explorer, const struct met *met)
{
	for (size_t i = 0; i < explorer->pending_count; i++)
		if (strcmp(explorer->pending[i].id, met->id) == 0)
			return true;
	return met->tries > 0;
}

void known_tell(struct explorer *explorer)
{
	struct fuzz_result *result = explorer->result;

	for (size_t i = 0; i < explorer->met_count; i++) {
		const struct met *met = &explorer->met[i];
		const struct finding *known = met->gone;
		if (!known || met->found)
			continue;
		if (result->end == FUZZ_NOTHING || was_seen(explorer, met)) {
			gap_add(result, "%s did not come again as it is kept, but %s: it is not said to be fixed", known->id,
				result->end == FUZZ_NOTHING ? "nothing was really fuzzed" : "was seen once");
			continue;
		}
		if (finding_is_suppressed(known, (int64_t)time(NULL)))
			strings_add(&result->gone, known->id);
		else if (known->state != FINDING_FIXED)
			strings_add(&result->fixed, known->id);
		if (explorer->options->retried)
			explorer->options->retried(explorer->options->data, known, false);
	}
}
