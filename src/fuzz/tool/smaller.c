/* Steps made smaller that do it: fewer of them, and each with less in it. See explorer.h. */
#include <string.h>

#include "base/clock.h"
#include "fuzz/tool/explorer.h"

#define DEFAULT_SHRINK 500u
#define LATE_SHRINK 30u /* calls where each costs all the time a call may take */
#define REPEATED_SHRINK 60u /* where each is many calls */
#define SURE_TRIES 8u /* of a smaller input, that all have to come, where others came sometimes */
#define SURE_SHARE 4u /* times as many calls then: fewer of them are one input each */
#define FLAKY_TRIES 3u /* of a smaller input, before it is given up */

struct smaller {
	struct explorer *explorer;
	struct steps *steps; /* the best so far, but for the one that is tried */
	size_t at; /* that one */
	const struct surprise *surprise;
	struct shrinking how;
	unsigned left; /* calls */
	struct verdict *proof; /* of the best so far */
	bool proven; /* it came on a process that nobody had called */
};

static bool is_late(const struct explorer *explorer)
{
	return explorer_is_over(explorer) || clock_now() >= explorer->again_ends;
}

static bool is_over(const struct smaller *smaller)
{
	return smaller->left == 0 || is_late(smaller->explorer);
}

static bool comes(struct smaller *smaller)
{
	struct shrinking how = smaller->how;
	unsigned tries = how.flaky ? FLAKY_TRIES : how.sure ? SURE_TRIES : 1;
	bool came = false, proven = false;

	for (unsigned i = 0; i < tries && !is_over(smaller); i++) {
		bool unused = how.fresh || smaller->explorer->again_calls == 0;
		smaller->left--;
		came = trial_once(smaller->explorer, smaller->steps, smaller->surprise, how.fresh, smaller->proof);
		proven |= came && unused;
		if (came != how.sure)
			break;
	}
	if (came)
		smaller->proven = proven;
	return came;
}

/* Whether it still comes with another text for the step that is tried; if not, the step is as it was. */
static bool comes_with(struct smaller *smaller, const char *text, size_t len)
{
	struct step *step = &smaller->steps->list[smaller->at];
	struct step was = *step;
	const char *keep = smaller->surprise->keep;

	if (is_over(smaller) || (keep && smaller->at == smaller->steps->count - 1 && !memmem(text, len, keep, strlen(keep))))
		return false;
	step->input = (struct buf){0};
	buf_add(&step->input, text, len);
	if (step->malformed)
		step_judge(step);
	bool still = comes(smaller);
	if (still)
		buf_done(&was.input);
	else {
		buf_done(&step->input);
		*step = was;
	}
	return still;
}

/* A long text is tried in many ways that never come to a call: the time ends those too. */
static bool is_over_now(void *context)
{
	return is_over(context);
}

static bool still_made(void *context, const struct made *made)
{
	return comes_with(context, made->text, made->len);
}

static bool still_text(void *context, const char *text, size_t len)
{
	return comes_with(context, text, len);
}

static void shrink_choices(struct smaller *smaller, const uint64_t *choices, size_t count)
{
	const struct step *step = &smaller->steps->list[smaller->at];
	struct shrink run = {.generator = step->subject->generator,
		.malformed = step->malformed,
		.still = still_made,
		.over = is_over_now,
		.context = smaller,
		.max_calls = smaller->left};
	own(freep) uint64_t *less = NULL;
	size_t less_count;
	struct err err;

	if (smaller->left)
		(void)!shrink(&run, choices, count, &less, &less_count, &err); /* the best one is in the step already */
}

static void shrink_text(struct smaller *smaller, size_t at)
{
	struct step *step = &smaller->steps->list[at];
	struct value_shrink run = {.schema = step->subject->input,
		.malformed = step->malformed,
		.still = still_text,
		.over = is_over_now,
		.context = smaller,
		.max_calls = smaller->left};
	own(buf_done) struct buf text = {0};
	struct err err;

	smaller->at = at;
	buf_add(&text, buf_text(&step->input), step->input.len);
	(void)!value_shrink(&run, &text, &err); /* the same */
}

/* Calls before the last are taken away: halves first. */
static void shrink_steps(struct smaller *smaller)
{
	struct steps *steps = smaller->steps;

	for (size_t size = steps->count - 1; size > 0 && !is_over(smaller); size /= 2) {
		for (size_t at = 0; at + 1 < steps->count && !is_over(smaller);) {
			size_t end = at + size < steps->count ? at + size : steps->count - 1;
			struct steps fewer = {0};
			for (size_t i = 0; i < steps->count; i++) {
				if (i < at || i >= end)
					steps_add(&fewer, &steps->list[i]);
			}
			if (steps_repeat(steps))
				steps_spread(&fewer, steps_total(steps));
			struct smaller tried = *smaller;
			tried.steps = &fewer;
			bool still = comes(&tried);
			smaller->left = tried.left;
			smaller->proven = tried.proven;
			if (still) {
				struct steps was = *steps;
				*steps = fewer;
				fewer = was;
			} else {
				at = end;
			}
			steps_done(&fewer);
		}
	}
}

/* Once each, or half as often, for as long as that does it. */
static void shrink_times(struct smaller *smaller)
{
	struct steps *steps = smaller->steps;

	for (uint64_t total = steps->count; steps_repeat(steps) && !is_over(smaller);) {
		struct steps was = {0};
		steps_copy(&was, steps);
		steps_spread(steps, total);
		bool still = comes(smaller);
		if (!still) {
			steps_done(steps);
			*steps = was;
			was = (struct steps){0};
		}
		steps_done(&was);
		if (!still && total > steps->count)
			return;
		total = steps_total(steps) / 2;
	}
}

bool confirm_shrink(struct explorer *explorer, struct steps *steps, const struct surprise *surprise, struct shrinking how,
	struct verdict *proof)
{
	unsigned left = explorer->options->max_shrink ? explorer->options->max_shrink : DEFAULT_SHRINK * (how.sure ? SURE_SHARE : 1);
	unsigned most = surprise->late ? LATE_SHRINK : steps_repeat(steps) ? REPEATED_SHRINK : left;
	struct smaller smaller = {.explorer = explorer,
		.steps = steps,
		.surprise = surprise,
		.how = how,
		.proof = proof,
		.left = left > most ? most : left};

	/* what comes of it may have to be looked for once more: a third of the time is kept for that */
	uint64_t now = clock_now(), left_ns = explorer->again_until > now ? explorer->again_until - now : 0;
	explorer->again_ends = now + left_ns / 3 * 2;
	if (steps_repeat(steps))
		shrink_times(&smaller);
	if (steps->count > 1)
		shrink_steps(&smaller);
	smaller.at = steps->count - 1;
	if (surprise->choices && steps->count == 1)
		shrink_choices(&smaller, surprise->choices, surprise->choice_count);
	for (size_t i = steps->count; i-- > 0 && !is_over(&smaller);)
		shrink_text(&smaller, i);
	explorer->again_cut |= is_late(explorer);
	return smaller.proven;
}
