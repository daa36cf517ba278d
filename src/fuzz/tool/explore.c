/* How calls are made, and what is learned from an answer. See the theory of operation in explorer.c. */
#include <string.h>

#include "base/clock.h"
#include "base/term.h"
#include "fuzz/tool/explorer.h"

#define SIMPLE_CALLS 4 /* of each subject, before anything else */
#define FIRST_CALLS 24 /* of each subject, before calls go where something new comes of them */
#define EVEN_ODDS 10 /* one call in so many goes to the subject with the fewest */
#define HOPE 0.02 /* new kinds a call that are expected of any subject, so that none is given up */
#define FADING 0.02 /* how fast the past counts less */
#define KEPT_ENOUGH 16 /* inputs, with which every other value is made of kept ones; fewer tell less */
#define MUTATE_TRIES 4
#define CHAINED_ODDS 2 /* one call in so many takes something of an earlier answer */
#define BOUT_CALLS 8u /* of a chain among calls that are each for themselves */
#define BOUT_FIRST 64u /* calls between two of those, at first; each needs a new process, which may cost as much as thousands of calls */
#define BOUT_SLOWER 8u /* after so many of them there are twice as many calls in between */
#define BOUT_SHIFT_MAX 32u
#define HEARD_MAX 64u /* kinds of answers of one subject that are looked at for what another takes */
#define BOUT_ODDS 4 /* all calls of it but one in so many go to who takes what was answered */

void quarry_done(struct quarry *quarry)
{
	for (size_t i = 0; i < quarry->kept_count; i++)
		record_done(&quarry->kept[i]);
	free(quarry->kept);
	draw_done(&quarry->draw);
	draw_done(&quarry->dice);
	novelty_done(&quarry->novelty);
}

void worker_done(struct worker *worker)
{
	session_free(worker->session);
	step_done(&worker->now);
	for (size_t i = 0; i < HISTORY_MAX; i++)
		step_done(&worker->past[i]);
	free(worker->choices);
}

/* ---- which subject ---- */

static struct quarry *least_called(struct explorer *explorer)
{
	struct quarry *least = &explorer->quarries[0];

	for (size_t i = 1; i < explorer->quarry_count; i++) {
		if (explorer->quarries[i].made < least->made)
			least = &explorer->quarries[i];
	}
	return least;
}

struct quarry *quarry_choose(struct explorer *explorer)
{
	double sum = 0;

	if (explorer->quarry_count == 1)
		return &explorer->quarries[0];
	if (explorer->begun < FIRST_CALLS * explorer->quarry_count || draw_raw(&explorer->dice, EVEN_ODDS) == 0)
		return least_called(explorer);
	for (size_t i = 0; i < explorer->quarry_count; i++)
		sum += explorer->quarries[i].lately + HOPE;
	sum *= (double)(draw_random(&explorer->dice) >> 11) * 0x1p-53;
	for (size_t i = 0; i + 1 < explorer->quarry_count; i++) {
		sum -= explorer->quarries[i].lately + HOPE;
		if (sum < 0)
			return &explorer->quarries[i];
	}
	return &explorer->quarries[explorer->quarry_count - 1];
}

/* ---- chains in between ---- */

static bool is_one_by_one(const struct explorer *explorer)
{
	return explorer->mode == TARGET_EXEC || explorer->mode == TARGET_ARGS;
}

/* Whether one of the subjects takes something by a name that this answer has for what it made. */
static void giver_find(struct explorer *explorer, struct worker *worker, const struct exchange *seen)
{
	struct quarry *quarry = worker->quarry;

	if (explorer->options->sequence || quarry->gives || quarry->heard >= HEARD_MAX || seen->reply.kind != REPLY_OK ||
		is_one_by_one(explorer))
		return;
	quarry->heard++;
	chain_forget(&explorer->heard);
	chain_harvest(&explorer->heard, &seen->reply);
	for (size_t i = 0; i < explorer->quarry_count && !quarry->gives; i++)
		quarry->gives = chain_fits(&explorer->heard, &explorer->quarries[i].subject->input_value, &worker->now.input);
}

/* One of those that give, or that take what there is; NULL: there is none. */
static struct quarry *bout_pick(struct explorer *explorer, const struct chain *taken)
{
	struct quarry *picked = NULL;

	for (size_t i = 0, count = 0; i < explorer->quarry_count; i++) {
		struct quarry *one = &explorer->quarries[i];
		if (taken ? !chain_fits(taken, &one->subject->input_value, NULL) : !one->gives)
			continue;
		if (draw_raw(&explorer->dice, ++count) == 0)
			picked = one;
	}
	return picked;
}

/* With a process that nobody called: an id that counts what was made on it is the same when it is seen again. */
static void bout_begin(struct explorer *explorer, struct worker *worker)
{
	unsigned shift = explorer->bouts++ / BOUT_SLOWER;

	explorer->bout_next = explorer->begun + BOUT_CALLS + ((uint64_t)BOUT_FIRST << (shift < BOUT_SHIFT_MAX ? shift : BOUT_SHIFT_MAX));
	worker->bout = BOUT_CALLS;
	if (worker->past_count > 0)
		session_restart(worker->session);
	worker->past_count = 0;
	chain_forget(&worker->chain);
}

/* NULL: this call is for itself. */
static struct quarry *bout_choose(struct explorer *explorer, struct worker *worker)
{
	if (!worker->bout) {
		if (explorer->options->sequence || explorer->begun < FIRST_CALLS * explorer->quarry_count ||
			explorer->begun < explorer->bout_next || !bout_pick(explorer, NULL))
			return NULL;
		bout_begin(explorer, worker);
	}
	struct quarry *picked = worker->chain.count && draw_raw(&explorer->dice, BOUT_ODDS) ? bout_pick(explorer, &worker->chain) : NULL;
	return picked ? picked : bout_pick(explorer, NULL);
}

/* ---- which value ---- */

/* The simplest, the largest, and two in between: what most programs are written for, and where bounds are. */
static int make_simple(struct quarry *quarry, struct made *ret, struct err *err)
{
	uint64_t choices[64] = {0};
	size_t count = quarry->made == 0 ? 1 : ARRAY_LEN(choices);

	for (size_t i = 1; i < count; i++)
		choices[i] = quarry->made == 1 ? 1 : quarry->made == 2 ? UINT64_MAX : draw_raw(&quarry->dice, 4);
	draw_replay(&quarry->draw, choices, count);
	return generator_make(quarry->subject->generator, &quarry->draw, ret, err);
}

static int make_fresh(struct quarry *quarry, struct made *ret, struct err *err)
{
	draw_replay(&quarry->draw, NULL, 0);
	return generator_make(quarry->subject->generator, &quarry->draw, ret, err);
}

/* Something kept, changed; often with a part of another, or of one that is made just for that. */
static int make_mutated(struct explorer *explorer, struct quarry *quarry, struct made *ret, struct err *err)
{
	struct draw *dice = &quarry->dice;
	const struct record *record = &quarry->kept[draw_raw(dice, quarry->kept_count)];
	struct record other = quarry->kept[draw_raw(dice, quarry->kept_count)];
	int failed = -1;

	if (draw_raw(dice, 2) == 0 && make_fresh(quarry, ret, err) == 0)
		other = (struct record){quarry->draw.choices, quarry->draw.count, quarry->draw.spans, quarry->draw.span_count};
	struct buf *changed = &explorer->scratch;
	record_mutate(record, &other, dice, changed); /* `other` may be the draw's own record: read before it is replaced */
	for (int i = 0; i < MUTATE_TRIES && failed; i++) {
		draw_replay(&quarry->draw, (const uint64_t *)(const void *)changed->data, changed->len / sizeof(uint64_t));
		failed = generator_make(quarry->subject->generator, &quarry->draw, ret, err);
		if (failed)
			record_mutate(record, &quarry->kept[draw_raw(dice, quarry->kept_count)], dice, changed);
	}
	return failed;
}

static int make_valid(struct explorer *explorer, struct quarry *quarry, struct made *ret, struct err *err)
{
	if (quarry->made < SIMPLE_CALLS && make_simple(quarry, ret, err) == 0)
		return 0;
	if (draw_raw(&quarry->dice, KEPT_ENOUGH) < quarry->kept_count && draw_raw(&quarry->dice, 2) == 0 &&
		make_mutated(explorer, quarry, ret, err) == 0)
		return 0;
	return make_fresh(quarry, ret, err);
}

static bool make_malformed(struct worker *worker, struct quarry *quarry, struct made *ret)
{
	struct err err;

	if (quarry->no_malformed)
		return false;
	draw_replay(&quarry->draw, NULL, 0);
	if (generator_make_malformed(quarry->subject->generator, &quarry->draw, ret, &err) == 0) {
		worker->now.malformed = true;
		return true;
	}
	quarry->no_malformed = true;
	return false;
}

static void choices_keep(struct worker *worker, const struct draw *draw)
{
	if (draw->count > worker->choice_room) {
		worker->choice_room = draw->count * 2;
		worker->choices = xrealloc(worker->choices, worker->choice_room, sizeof(*worker->choices));
	}
	memcpy(worker->choices, draw->choices, draw->count * sizeof(*worker->choices));
	worker->choice_count = draw->count;
	worker->chosen = true;
}

/* -1 if the generator made nothing: then this turn is without a call. */
static int worker_make(struct explorer *explorer, struct worker *worker, struct quarry *quarry, struct err *err)
{
	const struct fuzz_options *options = explorer->options;
	struct step *now = &worker->now;
	struct made made;

	now->subject = quarry->subject;
	now->malformed = false;
	now->violation[0] = '\0';
	bool malformed = options->malformed && explorer->begun % options->malformed == options->malformed - 1 && !worker->bout;
	if (!(malformed && make_malformed(worker, quarry, &made)) && make_valid(explorer, quarry, &made, err) < 0)
		return -1;
	choices_keep(worker, &quarry->draw);
	now->input.len = 0;
	if (!now->malformed && worker->chain.count && (worker->bout || draw_raw(&quarry->dice, CHAINED_ODDS) == 0) &&
		chain_use(&worker->chain, quarry->subject->input, (struct value *)(uintptr_t)made.value, &quarry->dice, &now->input))
		worker->chosen = false;
	else
		buf_add(&now->input, made.text, made.len);
	if (now->malformed)
		step_judge(now);
	return 0;
}

static void gap_make_failed(struct explorer *explorer, struct quarry *quarry, const struct err *err)
{
	own(buf_done) struct buf name = {0};

	term_line(quarry->subject->name, strlen(quarry->subject->name), 100, &name);
	gap_add(explorer->result, "%s was called less often than it should: %s", buf_text(&name), err->text);
	quarry->none_made = true;
}

int explorer_begin(struct explorer *explorer, struct worker *worker)
{
	struct quarry *chained = bout_choose(explorer, worker), *quarry = chained ? chained : quarry_choose(explorer);
	struct err err;

	if (worker_make(explorer, worker, quarry, &err) < 0) {
		if (!quarry->none_made)
			gap_make_failed(explorer, quarry, &err);
		quarry->made++; /* its turn all the same: the others go on */
		explorer->begun++;
		return 0;
	}
	quarry->made++;
	explorer->begun++;
	worker->quarry = quarry;
	if (session_begin(worker->session, quarry->subject, worker->now.input.data, worker->now.input.len, explorer->err) < 0) {
		explorer->broken = true;
		return -1;
	}
	worker->busy = true;
	return 0;
}

/* ---- what is learned ---- */

static void count_reply(struct subject_progress *progress, enum reply_kind kind)
{
	uint64_t *const counts[] = {
		[REPLY_OK] = &progress->ok, [REPLY_REJECTED] = &progress->rejected, [REPLY_FAILED] = &progress->failed,
		[REPLY_BROKEN] = &progress->broken, [REPLY_ENDED] = &progress->ended, [REPLY_LATE] = &progress->late,
	};

	_Static_assert(ARRAY_LEN(counts) == REPLY_KIND_COUNT, "a kind of reply is not counted");
	progress->calls++;
	++*counts[kind];
}

/* The parts of a record are not kept with a call: they come of making its value again. */
static void quarry_keep(struct explorer *explorer, struct quarry *quarry, const struct worker *worker)
{
	struct made made;
	struct err err;

	if (!worker->chosen || worker->now.malformed || worker->choice_count > RECORD_MAX)
		return;
	draw_replay(&quarry->draw, worker->choices, worker->choice_count);
	if (generator_make(quarry->subject->generator, &quarry->draw, &made, &err) < 0)
		return;
	if (!quarry->kept)
		quarry->kept = xcalloc(KEPT_MAX, sizeof(*quarry->kept));
	size_t at = quarry->kept_count < KEPT_MAX ? quarry->kept_count++ : (size_t)draw_raw(&quarry->dice, KEPT_MAX);
	record_set(&quarry->kept[at], &quarry->draw);
	explorer->result->totals.kept++;
}

static void learn(struct explorer *explorer, struct worker *worker, const struct exchange *seen)
{
	struct quarry *quarry = worker->quarry;
	struct subject_progress *progress = &explorer->result->totals.subjects[quarry->place];
	const struct buf *input = &worker->now.input;

	count_reply(progress, seen->reply.kind);
	explorer->result->totals.calls++;
	explorer->answered += seen->reply.kind <= REPLY_FAILED;
	uint64_t signature = novelty_signature(
		&seen->reply, seen->effects, seen->effect_count, input->data, input->len, &explorer->scratch);
	bool is_new = novelty_add(&quarry->novelty, signature);
	is_new |= novelty_coverage(&quarry->novelty, &seen->reply);
	quarry->lately += FADING * ((is_new ? 1.0 : 0.0) - quarry->lately);
	if (!is_new)
		return;
	progress->kinds++;
	giver_find(explorer, worker, seen);
	quarry_keep(explorer, quarry, worker);
}

/* What was planted, and came back, is no name: it would be proof of something else wherever it came back again. */
static bool tells_secrets(const struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++) {
		const char *oracle = verdicts->list[i].oracle;
		if (strcmp(oracle, "canary") == 0 || strcmp(oracle, "secret") == 0)
			return true;
	}
	return false;
}

static void remember(struct explorer *explorer, struct worker *worker, const struct exchange *seen, const struct verdicts *verdicts)
{
	bool harvest = !tells_secrets(verdicts);
	bool one_by_one = is_one_by_one(explorer);

	if (seen->ended || one_by_one) {
		worker->past_count = 0;
		worker->chained = seen->ended && !one_by_one ? 0 : worker->chained;
	} else {
		step_copy(&worker->past[worker->past_count++ % HISTORY_MAX], &worker->now);
	}
	if (worker->bout) {
		if (harvest)
			chain_harvest(&worker->chain, &seen->reply);
		if (--worker->bout == 0 || seen->ended) {
			worker->bout = 0;
			chain_forget(&worker->chain);
		}
	}
	if (explorer->options->sequence <= 1)
		return;
	if (harvest)
		chain_harvest(&worker->chain, &seen->reply);
	if (++worker->chained < explorer->options->sequence && !seen->ended)
		return;
	if (!seen->ended)
		session_restart(worker->session);
	worker->chained = 0;
	worker->past_count = 0;
	chain_forget(&worker->chain);
}

void worker_take(struct explorer *explorer, struct worker *worker, const struct exchange *seen)
{
	own(verdicts_done) struct verdicts verdicts = {0};

	worker->busy = false;
	learn(explorer, worker, seen);
	explorer_judge(explorer, &worker->now, seen, NULL, 0, &verdicts);
	const struct witness witness = {.step = &worker->now,
		.past = worker->past,
		.past_count = worker->past_count,
		.choices = worker->chosen ? worker->choices : NULL,
		.choice_count = worker->choice_count,
		.late = seen->reply.kind == REPLY_LATE,
		.lived = seen->calls};
	for (size_t i = 0; i < verdicts.count; i++)
		surprise_add(explorer, &verdicts.list[i], &witness);
	remember(explorer, worker, seen, &verdicts);
}
