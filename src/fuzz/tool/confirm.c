/* How a surprise becomes a finding: seen again on processes that nobody called before, made small, written down.
 *
 * A surprise is believed when it comes again. First its call alone is tried; where that never does it, the calls
 * before it on its process come along, and as many of them as can be are taken away again. All of it happens on one
 * session of its own, while the sessions that explore wait for their answers. */
#include <string.h>

#include "base/clock.h"
#include "fuzz/tool/explorer.h"

#define AGAIN_CALLS 250 /* that a process gets while something is made smaller */
#define DEFAULT_REPLAYS 5u
#define TURN_MS 50
#define LATE_REPLAYS 2u
#define FRESH_TRIES 2u
#define REPEATED_MORE 8u /* times as often as its process was called: a call may do less than those before it did */
#define REPEATED_LOOK 16u /* calls between two looks */
#define CROWD 8u /* findings of one subject and oracle, after which the others come first */
#define LAST_SHARE 3 /* of the time: the last part, in which what waits comes first */

void verdict_drop(struct verdict *verdict)
{
	free(verdict->message);
	free(verdict->shape);
	free(verdict->file);
	strings_done(&verdict->evidence);
	strings_done(&verdict->frames);
	*verdict = (struct verdict){0};
}

void surprise_done(struct surprise *surprise)
{
	steps_done(&surprise->steps);
	free(surprise->choices);
	free(surprise->message);
	*surprise = (struct surprise){0};
}

/* ---- surprises ---- */

static bool is_pending(const struct explorer *explorer, const char *id)
{
	for (size_t i = 0; i < explorer->pending_count; i++) {
		if (strcmp(explorer->pending[i].id, id) == 0)
			return true;
	}
	return false;
}

static struct message message_of(const char *text, const struct step *step)
{
	return (struct message){text, buf_text(&step->input), step->input.len, &step->subject->input_value};
}

/* Whether it is what the surprise was, but for what the input put into its message. */
static bool is_like(const struct verdict *verdict, const struct step *step, const struct surprise *surprise)
{
	const struct step *last = surprise->steps.count ? &surprise->steps.list[surprise->steps.count - 1] : NULL;

	if (!last || !surprise->message || !verdict->shape || last->subject != step->subject ||
		strcmp(surprise->oracle, verdict->oracle) != 0)
		return false;
	const struct message one = message_of(surprise->message, last), other = message_of(verdict->message, step);
	return message_same(&one, &other);
}

/* The same, of what was told already. */
static bool is_told(const struct explorer *explorer, const struct verdict *verdict, const struct step *step)
{
	const struct message other = message_of(verdict->message, step);

	for (size_t i = 0; verdict->shape && i < explorer->result->count; i++) {
		const struct finding *finding = &explorer->result->findings[i];
		if (!finding->shape || finding->binary || strcmp(finding->oracle, verdict->oracle) != 0 ||
			strcmp(finding->subject, step->subject->name) != 0)
			continue;
		const struct message one = {finding->message, finding->input, strlen(finding->input), &step->subject->input_value};
		if (message_same(&one, &other))
			return true;
	}
	return false;
}

static bool is_waiting(const struct explorer *explorer, const struct verdict *verdict, const struct step *step)
{
	for (size_t i = 0; i < explorer->pending_count; i++) {
		if (is_like(verdict, step, &explorer->pending[i]))
			return true;
	}
	return false;
}

void surprise_add(struct explorer *explorer, const struct verdict *verdict, const struct witness *witness)
{
	char id[FINDING_ID_LEN + 1];

	verdict_identify(explorer, witness->step->subject, verdict, id);
	const struct met *met = explorer_met(explorer, id);
	if ((met && (met->found || met->tries >= MET_TRIES)) || is_pending(explorer, id) ||
		is_waiting(explorer, verdict, witness->step))
		return;
	if (is_told(explorer, verdict, witness->step)) {
		struct met *told = explorer_meet(explorer, id);
		if (told)
			told->found = true;
		return;
	}
	if (explorer->pending_count == PENDING_MAX) {
		explorer->surprises_lost++;
		return;
	}
	struct surprise *surprise = &explorer->pending[explorer->pending_count++];
	*surprise = (struct surprise){.oracle = verdict->oracle, .late = witness->late, .lived = witness->lived};
	memcpy(surprise->id, id, sizeof(id));
	surprise->message = verdict->shape ? xstrdup(verdict->message) : NULL;
	uint64_t kept = witness->past_count < HISTORY_MAX ? witness->past_count : HISTORY_MAX;
	for (uint64_t i = witness->past_count - kept; i < witness->past_count; i++)
		steps_add(&surprise->steps, &witness->past[i % HISTORY_MAX]);
	steps_add(&surprise->steps, witness->step);
	if (!witness->choices)
		return;
	surprise->choices = xcalloc(witness->choice_count + 1, sizeof(*surprise->choices));
	memcpy(surprise->choices, witness->choices, witness->choice_count * sizeof(*surprise->choices));
	surprise->choice_count = witness->choice_count;
}

/* ---- trials ---- */

/* Not session_call: whoever wants it to stop is heard while it waits. */
static const struct exchange *again_wait(struct explorer *explorer, const struct step *step)
{
	struct loop *loop = target_loop(explorer->options->target);
	const struct exchange *seen;

	if (session_begin(explorer->again, step->subject, buf_text(&step->input), step->input.len, explorer->err) < 0) {
		explorer->broken = true;
		return NULL;
	}
	while (!(seen = session_poll(explorer->again)) && !explorer_tick(explorer, NULL))
		(void)loop_turn(loop, TURN_MS);
	return seen;
}

static const struct exchange *again_call(struct explorer *explorer, const struct step *step)
{
	const struct exchange *seen = explorer_tick(explorer, NULL) ? NULL : again_wait(explorer, step);

	explorer->result->totals.confirm_calls++;
	explorer->again_calls++;
	if (!seen)
		return NULL;
	explorer->again_late = seen->reply.kind == REPLY_LATE;
	explorer->again_lived = seen->calls;
	if (seen->ended)
		explorer->again_calls = 0;
	return seen;
}

static const struct exchange *again_run(struct explorer *explorer, const struct steps *steps, bool fresh)
{
	const struct exchange *seen = NULL;

	if (explorer_open_again(explorer) < 0)
		return NULL;
	if ((fresh || steps->count > 1 || steps_repeat(steps) || explorer->again_calls >= AGAIN_CALLS) && explorer->again_calls > 0) {
		session_restart(explorer->again);
		explorer->again_calls = 0;
	}
	for (size_t i = 0; i < steps->count; i++) {
		unsigned left = steps->list[i].times > 1 ? steps->list[i].times : 1;
		for (bool often = left > 1; left > 0; left--) {
			seen = again_call(explorer, &steps->list[i]);
			if (!seen || (often && seen->ended)) /* what they led to, sooner than the last time */
				return seen;
		}
	}
	return seen;
}

int trial(struct explorer *explorer, const struct steps *steps, bool fresh, bool twice, struct verdicts *ret)
{
	own(buf_done) struct buf before = {0};
	const struct exchange *seen;

	if (twice) { /* what is looked at is whether two answers are the same: both on fresh processes */
		seen = again_run(explorer, steps, true);
		if (!seen)
			return -1;
		buf_add(&before, seen->reply.text, seen->reply.len);
	}
	seen = again_run(explorer, steps, fresh || twice);
	if (!seen)
		return -1;
	explorer_judge(explorer, &steps->list[steps->count - 1], seen, twice ? buf_text(&before) : NULL, before.len, ret);
	return 0;
}

static bool is_twice(const char *oracle)
{
	return strcmp(oracle, "unstable") == 0;
}

bool trial_once(struct explorer *explorer, const struct steps *steps, const struct surprise *surprise, bool fresh,
	struct verdict *ret)
{
	own(verdicts_done) struct verdicts verdicts = {0};
	const struct step *last = &steps->list[steps->count - 1];
	bool came = false;

	if (trial(explorer, steps, fresh, is_twice(surprise->oracle), &verdicts) < 0)
		return false;
	for (size_t i = 0; i < verdicts.count; i++) {
		if (!verdict_is(explorer, last->subject, &verdicts.list[i], surprise->id) &&
			!is_like(&verdicts.list[i], last, surprise)) {
			/* a chain of a capsule may be longer than what is remembered of a session */
			size_t past = steps->count - 1 < HISTORY_MAX ? steps->count - 1 : HISTORY_MAX;
			struct witness witness = {
				.step = last, .past = last - past, .past_count = past, .late = explorer->again_late,
				.lived = explorer->again_lived};
			surprise_add(explorer, &verdicts.list[i], &witness);
			continue;
		}
		came = true;
		if (!ret)
			continue;
		verdict_drop(ret);
		*ret = verdicts.list[i];
		verdicts.list[i] = (struct verdict){.oracle = ret->oracle};
	}
	return came;
}

void trial_count(struct explorer *explorer, const struct steps *steps, const struct surprise *surprise, unsigned times,
	struct tally *tally, struct verdict *ret)
{
	while (tally->tried < times) {
		/* one more hang would be worth less than the time that nobody granted it */
		if (surprise->late && tally->seen >= FRESH_TRIES && explorer->ends && clock_now() >= explorer->ends)
			break;
		bool came = trial_once(explorer, steps, surprise, tally->tried < FRESH_TRIES || tally->seen < tally->tried, ret);
		if (!came && explorer_is_over(explorer))
			break; /* this one was not tried to its end */
		tally->seen += came;
		tally->tried++;
	}
}

/* ---- one surprise ---- */

static unsigned replays(const struct explorer *explorer)
{
	return explorer->options->replays ? explorer->options->replays : DEFAULT_REPLAYS;
}

/* Of one that takes all the time of a call each time: as many as the last part of the run has room for. */
static unsigned replays_of(const struct explorer *explorer, const struct surprise *surprise)
{
	const struct fuzz_options *options = explorer->options;
	unsigned all = replays(explorer);
	uint64_t room = options->call_ns ? options->duration_ns / LAST_SHARE / options->call_ns : all;

	if (!surprise->late || !options->duration_ns || room >= all)
		return all;
	return room > LATE_REPLAYS ? (unsigned)room : all < LATE_REPLAYS ? all : LATE_REPLAYS;
}

static bool is_same(const struct steps *a, const struct steps *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct buf *one = &a->list[i].input, *other = &b->list[i].input;
		if (a->list[i].times != b->list[i].times || one->len != other->len ||
			memcmp(buf_text(one), buf_text(other), one->len) != 0)
			return false;
	}
	return true;
}

/* Twice where it comes both times: what becomes of it when it is small is counted. Else as often as is wanted. */
static struct tally first_look(
	struct explorer *explorer, const struct steps *steps, const struct surprise *surprise, unsigned times, struct verdict *proof)
{
	struct tally tally = {0};

	trial_count(explorer, steps, surprise, times < FRESH_TRIES ? times : FRESH_TRIES, &tally, proof);
	if (tally.seen < tally.tried)
		trial_count(explorer, steps, surprise, times, &tally, proof);
	return tally;
}

/* ---- what many calls do, and none of them alone ---- */

static bool shows(struct explorer *explorer, const struct steps *steps, const struct surprise *surprise, const struct exchange *seen)
{
	own(verdicts_done) struct verdicts verdicts = {0};
	const struct step *last = &steps->list[steps->count - 1];

	explorer_judge(explorer, last, seen, NULL, 0, &verdicts);
	for (size_t i = 0; i < verdicts.count; i++) {
		if (verdict_is(explorer, last->subject, &verdicts.list[i], surprise->id))
			return true;
	}
	return false;
}

/* Calls them in turn on one process until it shows; then each of the steps has its number of times, with some to spare. */
static bool repeat_find(struct explorer *explorer, struct steps *steps, const struct surprise *surprise)
{
	uint64_t most = surprise->lived * REPEATED_MORE + REPEATED_LOOK, until = clock_now() + explorer->grace_ns / 2;

	if (explorer->again_calls > 0)
		session_restart(explorer->again);
	explorer->again_calls = 0;
	most = most < REPEATED_MAX ? most : REPEATED_MAX;
	for (uint64_t i = 1; i <= most && clock_now() < until; i++) {
		const struct exchange *seen = again_call(explorer, &steps->list[i % steps->count]);
		if (!seen)
			return false;
		bool look = i % REPEATED_LOOK == 0 || seen->ended;
		if (look && shows(explorer, steps, surprise, seen)) {
			steps_spread(steps, i + i / 8 + steps->count);
			return true;
		}
		if (seen->ended)
			return false;
	}
	return false;
}

/* A leak of a little each time, handles that run out: the call again and again, or the last calls in turn. */
static struct tally see_repeated(
	struct explorer *explorer, const struct surprise *surprise, struct steps *ret, struct verdict *proof)
{
	struct tally tally = {0};

	for (bool all = false;; all = true) {
		steps_done(ret);
		if (all)
			steps_copy(ret, &surprise->steps);
		else
			steps_add(ret, &surprise->steps.list[surprise->steps.count - 1]);
		if (repeat_find(explorer, ret, surprise))
			tally = first_look(explorer, ret, surprise, replays(explorer), proof);
		if (tally.seen || all || surprise->steps.count == 1 || explorer_is_over(explorer))
			return tally;
	}
}

/* The call alone, or with those before it, or many times. What does it is in *ret; none seen: nothing did. */
static struct tally see_again(
	struct explorer *explorer, const struct surprise *surprise, struct steps *ret, struct verdict *proof)
{
	bool memory = strcmp(surprise->oracle, "memory") == 0 && surprise->lived > 1;
	unsigned times = replays_of(explorer, surprise);
	struct tally tally;

	steps_add(ret, &surprise->steps.list[surprise->steps.count - 1]);
	tally = first_look(explorer, ret, surprise, memory ? FRESH_TRIES : times, proof);
	if (tally.seen || explorer_is_over(explorer))
		return tally;
	if (surprise->steps.count > 1 && !memory) {
		steps_done(ret);
		steps_copy(ret, &surprise->steps);
		tally = first_look(explorer, ret, surprise, times, proof);
	}
	if (tally.seen || explorer_is_over(explorer) || surprise->late || !(memory || surprise->lived > HISTORY_MAX + 1))
		return tally;
	return see_repeated(explorer, surprise, ret, proof);
}

/* ---- smaller ---- */

/* What waits behind it gets as much of what is left. */
void confirm_time(struct explorer *explorer)
{
	uint64_t now = clock_now(), most = explorer->grace_ns;

	if (explorer->ends) {
		uint64_t until = explorer->ends + (explorer->last - explorer->ends) / 2;
		uint64_t share = until > now ? (until - now) / (explorer->pending_count + 1) : 0;
		most = share < most ? share : most;
	}
	explorer->again_until = now + most;
	explorer->again_cut = false;
}

void confirm_reduce(struct explorer *explorer, struct steps *steps, const struct surprise *surprise, unsigned times,
	struct tally *tally, struct verdict *proof)
{
	bool flaky = tally->seen < tally->tried;
	struct shrinking how = {.flaky = flaky, .fresh = flaky || steps->count > 1 || steps_repeat(steps)};

	explorer->again_cut |= explorer_is_over(explorer);
	for (bool again = true; again && !explorer_is_over(explorer);) {
		struct steps smaller = {0};
		own(verdict_drop) struct verdict seen = {0};
		steps_copy(&smaller, steps);
		bool proven = confirm_shrink(explorer, &smaller, surprise, how, &seen) && !flaky;
		struct tally its = {proven, proven};
		again = !is_same(&smaller, steps) && !explorer->broken;
		if (again && !explorer_is_over(explorer))
			trial_count(explorer, &smaller, surprise, times, &its, &seen);
		bool came = again && its.seen > 0;
		if (came && (flaky || its.seen == its.tried)) {
			struct steps was = *steps;
			*steps = smaller;
			smaller = was;
			verdict_drop(proof);
			*proof = seen;
			seen = (struct verdict){0};
			*tally = its;
			again = false;
		}
		steps_done(&smaller);
		if (came && !how.sure)
			how.sure = true; /* the smaller one comes sometimes: the smallest that comes each time is looked for */
		else if (!came && !how.fresh)
			how.fresh = true; /* what one call left in the process helped the next */
		else
			break;
	}
	trial_count(explorer, steps, surprise, times, tally, proof);
	if (!flaky && tally->seen < tally->tried && !explorer_is_over(explorer))
		confirm_reduce(explorer, steps, surprise, times, tally, proof); /* it only looked sure: it was looked at as if it were */
}

/* The mark, if it is what proves it: any other text in a program's arguments may be there by chance. */
static const char *proving_mark(const struct explorer *explorer, const struct verdict *proof)
{
	const char *mark = explorer->options->plant ? plant_mark(explorer->options->plant) : NULL;

	for (size_t i = 0; mark && i < proof->evidence.count; i++) {
		if (strstr(proof->evidence.items[i], mark))
			return mark;
	}
	return NULL;
}

/* Of one that has another id now that it is small. False: it was told before. */
static bool told_once(struct explorer *explorer, struct finding *finding)
{
	struct met *met = explorer_meet(explorer, finding->id);
	bool known = met && met->found;

	if (met)
		met->found = true;
	if (known)
		finding_done(finding);
	return !known;
}

static void confirm_one(struct explorer *explorer, struct surprise *surprise)
{
	own(steps_done) struct steps steps = {0};
	own(verdict_drop) struct verdict proof = {0};
	struct met *met = explorer_meet(explorer, surprise->id);

	if (!met || met->found)
		return;
	met->tries++;
	struct tally tally = see_again(explorer, surprise, &steps, &proof);
	if (!tally.seen) {
		if (explorer_is_over(explorer))
			explorer->cut++;
		else if (met->tries == 1)
			explorer->result->totals.unconfirmed++;
		return;
	}
	met = explorer_met(explorer, surprise->id);
	explorer->result->totals.unconfirmed -= met->tries > 1;
	met->found = true;
	surprise->keep = proving_mark(explorer, &proof);
	own(freep) char *found = steps_text(&steps);
	confirm_time(explorer);
	confirm_reduce(explorer, &steps, surprise, replays_of(explorer, surprise), &tally, &proof);
	struct finding finding = {0};
	finding_make(explorer, &steps, &proof, &finding);
	finding.unfinished = explorer->again_cut;
	if (strcmp(finding.id, surprise->id) != 0 && !told_once(explorer, &finding))
		return;
	finding.seen = tally.seen;
	finding.tried = tally.tried;
	if (strcmp(found, finding.input) != 0)
		finding.found = ptr_take(&found);
	const struct finding_store *known = explorer->options->known;
	finding_put(explorer, &finding, !known || !store_find(known, finding.id));
}

/* One fault that looks like many: more of a kind than of any other. They come when nothing else waits. */
static bool is_crowded(const struct explorer *explorer, const struct surprise *surprise)
{
	const char *subject = surprise->steps.list[surprise->steps.count - 1].subject->name;
	unsigned told = 0;

	for (size_t i = 0; i < explorer->result->count; i++) {
		const struct finding *finding = &explorer->result->findings[i];
		told += strcmp(finding->oracle, surprise->oracle) == 0 && strcmp(finding->subject, subject) == 0;
	}
	return told >= CROWD;
}

/* Half of the time is for exploring, until what is left of it is needed for what waits. */
static bool is_due(const struct explorer *explorer)
{
	uint64_t now = clock_now();
	uint64_t all = explorer->ends - explorer->started, part = all / LAST_SHARE, two = 2 * explorer->options->call_ns;
	bool quick = false, late = false; /* hangs wait for the last part: one of them may take as long as all others */

	for (size_t i = 0; i < explorer->pending_count; i++) {
		quick |= !explorer->pending[i].late && !is_crowded(explorer, &explorer->pending[i]);
		late |= explorer->pending[i].late;
	}
	if (late && part < two)
		part = two < all / 2 ? two : all / 2;
	return !explorer->ends || explorer->pending_count > PENDING_MAX / 2 || (quick && 2 * explorer->again_ns <= now - explorer->started) ||
		now + part >= explorer->ends;
}

static enum severity severity_of(const struct surprise *surprise)
{
	const struct finding_rule *rule = finding_rule(surprise->oracle);

	return rule ? rule->severity : SEVERITY_NOTE;
}

/* Whether the one comes before the other. */
static bool is_before(const struct explorer *explorer, const struct surprise *one, const struct surprise *other)
{
	bool crowded = is_crowded(explorer, one), too = is_crowded(explorer, other);

	if (crowded != too)
		return too;
	return one->late != other->late ? other->late : severity_of(one) > severity_of(other);
}

static struct surprise pending_take(struct explorer *explorer)
{
	size_t worst = 0;

	for (size_t i = 1; i < explorer->pending_count; i++)
		if (is_before(explorer, &explorer->pending[i], &explorer->pending[worst]))
			worst = i;
	struct surprise taken = explorer->pending[worst];
	memmove(explorer->pending + worst, explorer->pending + worst + 1, (--explorer->pending_count - worst) * sizeof(taken));
	return taken;
}

void confirm_pending(struct explorer *explorer)
{
	const char *doing = explorer->result->totals.doing;

	while (explorer->pending_count && !explorer_is_over(explorer) && !explorer_is_enough(explorer) && is_due(explorer)) {
		own(surprise_done) struct surprise surprise = pending_take(explorer);
		uint64_t began = clock_now();
		(void)explorer_tick(explorer, "minimising");
		confirm_one(explorer, &surprise);
		explorer->again_ns += clock_now() - began;
	}
	explorer->result->totals.doing = doing;
}
