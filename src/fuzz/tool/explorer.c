/* Fuzzing by schema: theory of operation.
 *
 * One thread, one loop: the only other processes are the targets', each in a cell behind a session
 * (target.h).
 *
 *	known findings --> retried ----------------.
 *	                                            v
 *	subjects --> explore.c: choose, make --> sessions --> judge (oracle.h) --> surprise
 *	                ^                           |                                |
 *	                '--- novelty.c, chain.c <---'              confirm.c: seen again? smaller.c --> finding
 *
 * Exploring. `workers` sessions each have one call under way. For the next one a subject is chosen (the one from
 * which new kinds of answers come lately, but one call in ten goes to whoever had the fewest), then a value: a few
 * simple ones first, then the generator's, or one made of the recorded choices of an input that was answered in a
 * new way. Whether an answer is of a new kind is all that leads it; there is no coverage. With `sequence` calls
 * build on each other: a session is kept for so many, and what earlier answers told is put into later calls. Without
 * being asked for, such chains are made now and then once a subject answered something by the name that one takes it by;
 * each begins with a new process, so there are ever fewer of them.
 *
 * Judging. The oracles see every exchange. What they find wrong has an id (finding.h); an id that was met before
 * costs nothing more. A new one is a surprise, and is dealt with before the next call begins: see confirm.c.
 *
 * Determinism. A subject's values derive from the seed and its name alone; which subject is next, from the seed. So
 * with one worker and a target that answers alike the same calls are made in the same order. With more workers the
 * order of answers, and what is learned from them, depends on time.
 *
 * The end. Time, calls, enough findings, or `stop`. Calls that are under way then are waited for, briefly, and what was
 * found by then is seen again. All of that has its time, too: what it is not enough for is told. Where
 * nothing was answered, or everything was rejected, nothing was really fuzzed: that is said instead of "no
 * findings". */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fuzz/tool/explorer.h"

#define VALUE_MIN 6 /* bytes: a shorter value is in texts by chance */
#define TOLD_NS (NS_PER_S / 5)
#define ASKED_NS (20 * NS_PER_MS) /* how often `stop` is asked */
#define RATE_NS NS_PER_S
#define DEAF_CALLS 100u /* without one answer, after which it is given up; and so many of each subject */
#define DEAF_EACH 5u
#define TURN_MS 50
#define DRAIN_NS (2 * NS_PER_S) /* for calls under way at the end */
#define SLACK_NS (2 * NS_PER_S) /* after the end, or the tenth part of the time there is */
#define SLACK_SHARE 10
#define DEFAULT_FINDINGS 100u
#define GRACE_NS (10 * NS_PER_S)
#define GRACE_SHARE 5 /* or the fifth part of the time there is */
#define UNSTABLE_EVERY 50u

/* ---- ids ---- */

struct met *explorer_met(struct explorer *explorer, const char *id)
{
	for (size_t i = explorer->met_count; i-- > 0;) {
		if (memcmp(explorer->met[i].id, id, FINDING_ID_LEN) == 0)
			return &explorer->met[i];
	}
	return NULL;
}

struct met *explorer_meet(struct explorer *explorer, const char *id)
{
	struct met *met = explorer_met(explorer, id);

	if (met || explorer->met_count >= MET_MAX)
		return met;
	explorer->met = xrealloc(explorer->met, explorer->met_count + 1, sizeof(*explorer->met));
	met = &explorer->met[explorer->met_count++];
	*met = (struct met){0};
	memcpy(met->id, id, FINDING_ID_LEN);
	return met;
}

static void identify(const struct explorer *explorer, const struct subject *subject, const struct verdict *verdict, char *shape,
	char ret[FINDING_ID_LEN + 1])
{
	struct finding named = {.oracle = (char *)(uintptr_t)verdict->oracle,
		.subject = subject->name,
		.target = (char *)(uintptr_t)target_name(explorer->options->target),
		.message = verdict->message,
		.shape = shape,
		.frames = verdict->frames};

	finding_identify(&named);
	memcpy(ret, named.id, sizeof(named.id));
}

void verdict_identify(const struct explorer *explorer, const struct subject *subject, const struct verdict *verdict,
	char ret[FINDING_ID_LEN + 1])
{
	identify(explorer, subject, verdict, verdict->shape, ret);
}

bool verdict_is(const struct explorer *explorer, const struct subject *subject, const struct verdict *verdict, const char *id)
{
	char own_id[FINDING_ID_LEN + 1];

	identify(explorer, subject, verdict, verdict->shape, own_id);
	if (strcmp(own_id, id) == 0 || !verdict->shape)
		return strcmp(own_id, id) == 0;
	identify(explorer, subject, verdict, NULL, own_id);
	return strcmp(own_id, id) == 0;
}

/* ---- what it was given ---- */

/* Values of variables are in no finding: their names stand for them. Ids are made of what is left. */
static void hide_values(char **text, const char *const *environment)
{
	for (; environment && *environment && *text; environment++) {
		const char *value = strchr(*environment, '='), *at = *text, *next;
		own(buf_done) struct buf out = {0};
		size_t len = value ? strlen(++value) : 0;
		if (len < VALUE_MIN || !strstr(*text, value))
			continue;
		for (; (next = strstr(at, value)); at = next + len) {
			buf_add(&out, at, (size_t)(next - at));
			buf_fmt(&out, "[%.*s]", (int)(value - 1 - *environment), *environment);
		}
		buf_str(&out, at);
		free(*text);
		*text = buf_take(&out);
	}
}

static void hide_all(struct verdict *verdict, const char *const *environment)
{
	hide_values(&verdict->message, environment);
	for (size_t i = 0; i < verdict->evidence.count; i++)
		hide_values(&verdict->evidence.items[i], environment);
	for (size_t i = 0; i < verdict->frames.count; i++)
		hide_values(&verdict->frames.items[i], environment);
}

/* ---- judging ---- */

/* The target wrote the message, and what it was called with may be in it. */
static bool is_its_own(const char *oracle)
{
	return strcmp(oracle, "exception") == 0 || strcmp(oracle, "protocol") == 0 || strcmp(oracle, "refused") == 0;
}

static void shape_set(const struct step *step, struct verdict *verdict)
{
	own(buf_done) struct buf shape = {0};

	if (verdict->frames.count || !is_its_own(verdict->oracle))
		return;
	const struct message message = {verdict->message, buf_text(&step->input), step->input.len, &step->subject->input_value};
	message_shape(&message, &shape);
	verdict->shape = xstrdup(buf_text(&shape));
}

void explorer_judge(struct explorer *explorer, const struct step *step, const struct exchange *seen, const char *before,
	size_t before_len, struct verdicts *ret)
{
	const struct fuzz_options *options = explorer->options;
	const char *mark = options->plant ? plant_mark(options->plant) : NULL;

	explorer->result->totals.unseen += seen->effects_dropped;
	struct observation observation = {
		.subject = step->subject->name,
		.input = buf_text(&step->input),
		.len = step->input.len,
		.malformed = step->malformed,
		.violation = step->malformed && step->violation[0] ? step->violation : NULL,
		.output_schema = step->subject->output,
		.reply = seen->reply,
		.effects = seen->effects,
		.effect_count = seen->effect_count,
		.effects_dropped = seen->effects_dropped,
		.ended = seen->ended,
		.result = seen->result,
		.limit_ns = options->call_ns,
		.memory = seen->memory,
		.memory_count = seen->memory_count,
		.calls = seen->calls,
		.allowed = options->allowed,
		.environment = options->environment,
		.before = before,
		.before_len = before_len,
	};

	if (mark && memmem(observation.input, observation.len, mark, strlen(mark)))
		observation.mark = mark;
	if (options->plant)
		observation.canaries = plant_canaries(options->plant, &observation.canary_count);
	oracle_judge(&observation, options->oracles, ret);
	for (size_t i = 0; i < ret->count; i++) {
		hide_all(&ret->list[i], options->environment);
		shape_set(step, &ret->list[i]);
	}
}

/* Now and then the same call is made on two fresh processes, and the answers are compared. */
static void look_twice(struct explorer *explorer, const struct step *step)
{
	own(verdicts_done) struct verdicts verdicts = {0};
	own(steps_done) struct steps steps = {0};

	steps_add(&steps, step);
	if (trial(explorer, &steps, true, true, &verdicts) < 0)
		return;
	const struct witness witness = {.step = step, .late = explorer->again_late};
	for (size_t i = 0; i < verdicts.count; i++)
		surprise_add(explorer, &verdicts.list[i], &witness);
}

/* ---- how it goes ---- */

bool explorer_is_enough(const struct explorer *explorer)
{
	const struct fuzz_progress *totals = &explorer->result->totals;
	unsigned max = explorer->options->max_findings;

	/* a limit that nobody asked for: what is known may be more, and would end every run before its first call */
	return max ? totals->counted >= max : totals->fresh >= DEFAULT_FINDINGS;
}

bool explorer_is_over(const struct explorer *explorer)
{
	return explorer->stopped || explorer->broken || explorer->past;
}

int explorer_open_again(struct explorer *explorer)
{
	if (!explorer->again && !explorer->broken)
		explorer->again = session_open(explorer->options->target, explorer->err);
	explorer->broken |= !explorer->again;
	return explorer->broken ? -1 : 0;
}

const char *explorer_blind(const struct explorer *explorer, const char *oracle)
{
	const struct session *any = explorer->workers ? explorer->workers[0].session : explorer->again;

	for (const struct oracle *row = oracles; row->name; row++) {
		if (row->needs_effects && strcmp(row->name, oracle) == 0 && any && !session_sees_effects(any))
			return "what its programs do is not seen";
	}
	return strcmp(oracle, "canary") == 0 && !explorer->options->plant ? "nothing is planted" : NULL;
}

static void progress_tell(struct explorer *explorer, uint64_t now)
{
	struct fuzz_progress *totals = &explorer->result->totals;
	uint64_t since = now - explorer->told_ns;

	totals->ns = now - explorer->started;
	totals->restarts = explorer->again ? session_restarts(explorer->again) : 0;
	for (unsigned i = 0; explorer->workers && i < explorer->options->workers; i++)
		totals->restarts += explorer->workers[i].session ? session_restarts(explorer->workers[i].session) : 0;
	if (since >= RATE_NS || totals->rate == 0) {
		totals->rate = since ? (double)(totals->calls - explorer->told_calls) * (double)NS_PER_S / (double)since : 0;
		explorer->told_calls = totals->calls;
		explorer->told_ns = now;
	}
	if (explorer->options->progress)
		explorer->options->progress(explorer->options->data, totals);
}

bool explorer_tick(struct explorer *explorer, const char *doing)
{
	const struct fuzz_options *options = explorer->options;
	struct fuzz_progress *totals = &explorer->result->totals;
	uint64_t now = clock_now();

	if (doing)
		totals->doing = doing;
	if (now - explorer->asked_ns < ASKED_NS && explorer->asked_ns)
		return explorer->stopped || explorer->past;
	explorer->asked_ns = now;
	explorer->past = explorer->ends && now >= explorer->last;
	if (options->stop && options->stop(options->data))
		explorer->stopped = true;
	if (now - explorer->shown_ns >= TOLD_NS) {
		explorer->shown_ns = now;
		progress_tell(explorer, now);
	}
	return explorer->stopped || explorer->past;
}

void gap_add(struct fuzz_result *result, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	strings_add(&result->gaps, text);
}

/* What nobody wants to hear of does not end a run. */
static bool is_counted(const struct explorer *explorer, const struct finding *finding)
{
	const struct fuzz_options *options = explorer->options;
	const struct finding *known = options->known ? store_find(options->known, finding->id) : NULL;

	return !(known && finding_is_suppressed(known, (int64_t)time(NULL))) &&
		!(options->baseline && strings_have(options->baseline, finding->id));
}

void finding_put(struct explorer *explorer, struct finding *finding, bool is_new)
{
	struct fuzz_result *result = explorer->result;

	result->findings = xrealloc(result->findings, result->count + 1, sizeof(*result->findings));
	result->findings[result->count++] = *finding;
	result->totals.findings++;
	result->totals.fresh += is_new;
	result->totals.counted += is_counted(explorer, finding);
	result->totals.flaky += finding_is_flaky(finding);
	for (size_t i = 0; i < result->totals.subject_count; i++) {
		if (strcmp(result->totals.subjects[i].subject->name, finding->subject) == 0) {
			result->totals.subjects[i].findings++;
			break;
		}
	}
	if (explorer->options->found)
		explorer->options->found(explorer->options->data, finding, is_new);
}

/* ---- beginning ---- */

static bool matches(const char *const *globs, const char *name)
{
	for (size_t i = 0; globs && globs[i]; i++) {
		if (fnmatch(globs[i], name, 0) == 0)
			return true;
	}
	return false;
}

static uint64_t seed_of(uint64_t seed, const char *name)
{
	uint64_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211u;
	return hash ^ seed * 0x9e3779b97f4a7c15u;
}

static void quarry_add(struct explorer *explorer, const struct subject *subject)
{
	struct quarry *quarry = &explorer->quarries[explorer->quarry_count];

	quarry->subject = subject;
	quarry->place = explorer->quarry_count++;
	draw_init(&quarry->draw, seed_of(explorer->options->seed, subject->name));
	draw_init(&quarry->dice, seed_of(explorer->options->seed + 1, subject->name));
	explorer->result->totals.subjects[quarry->place].subject = subject;
	explorer->result->totals.subject_count++;
}

static void quarries_find(struct explorer *explorer)
{
	const struct fuzz_options *options = explorer->options;
	const struct subjects *subjects = target_subjects(options->target);

	explorer->quarries = xcalloc(subjects->count + 1, sizeof(*explorer->quarries));
	explorer->result->totals.subjects = xcalloc(subjects->count + 1, sizeof(*explorer->result->totals.subjects));
	for (size_t i = 0; i < subjects->count; i++) {
		const struct subject *subject = &subjects->list[i];
		if ((options->only && options->only[0] && !matches(options->only, subject->name)) ||
			matches(options->exclude, subject->name))
			continue;
		if (subject->input && subject->generator)
			quarry_add(explorer, subject);
		else
			gap_add(explorer->result, "%s was not fuzzed: %s", subject->name,
				subject->problem ? subject->problem : "it has no schema");
	}
	const struct strings *remarks = target_remarks(options->target);
	for (size_t i = 0; remarks && i < remarks->count; i++)
		strings_add(&explorer->result->gaps, remarks->items[i]);
}

void explorer_init(struct explorer *explorer, const struct fuzz_options *options, struct fuzz_result *result, struct err *err)
{
	*explorer = (struct explorer){.options = options, .result = result, .err = err, .mode = target_mode(options->target)};
	*result = (struct fuzz_result){0};
	explorer->started = explorer->told_ns = explorer->shown_ns = clock_now();
	explorer->ends = options->duration_ns ? explorer->started + options->duration_ns : 0;
	explorer->last = explorer->ends +
		(options->duration_ns / SLACK_SHARE > SLACK_NS ? options->duration_ns / SLACK_SHARE : SLACK_NS);
	explorer->grace_ns = options->duration_ns && options->duration_ns / GRACE_SHARE < GRACE_NS
		? options->duration_ns / GRACE_SHARE
		: GRACE_NS;
	draw_init(&explorer->dice, options->seed);
}

void explorer_done(struct explorer *explorer)
{
	for (size_t i = 0; i < explorer->quarry_count; i++)
		quarry_done(&explorer->quarries[i]);
	for (unsigned i = 0; explorer->workers && i < explorer->options->workers; i++)
		worker_done(&explorer->workers[i]);
	for (size_t i = 0; i < explorer->pending_count; i++)
		surprise_done(&explorer->pending[i]);
	session_free(explorer->again);
	draw_done(&explorer->dice);
	buf_done(&explorer->scratch);
	free(explorer->quarries);
	free(explorer->workers);
	free(explorer->met);
	free(explorer->sha256);
}

static int workers_open(struct explorer *explorer)
{
	unsigned count = explorer->options->workers;

	explorer->workers = xcalloc(count, sizeof(*explorer->workers));
	for (unsigned i = 0; i < count; i++) {
		explorer->workers[i].session = session_open(explorer->options->target, explorer->err);
		if (!explorer->workers[i].session) {
			explorer->broken = true;
			return -1;
		}
	}
	return 0;
}

/* ---- exploring ---- */

static bool is_deaf(const struct explorer *explorer)
{
	uint64_t enough = DEAF_EACH * explorer->quarry_count;

	return explorer->answered == 0 && explorer->result->totals.calls >= (enough > DEAF_CALLS ? enough : DEAF_CALLS);
}

/* No further call is begun. */
static bool is_over(const struct explorer *explorer)
{
	const struct fuzz_options *options = explorer->options;

	return explorer->stopped || explorer->broken || (options->max_calls && explorer->begun >= options->max_calls) ||
		(explorer->ends && clock_now() >= explorer->ends) || explorer_is_enough(explorer) || is_deaf(explorer);
}

/* An answer, if there is one, and what follows from it. */
static bool worker_turn(struct explorer *explorer, struct worker *worker, bool unstable)
{
	const struct exchange *seen = session_poll(worker->session);

	if (!seen)
		return false;
	bool twice = unstable && seen->reply.kind == REPLY_OK && !worker->now.malformed &&
		explorer->result->totals.calls % UNSTABLE_EVERY == 0;
	worker_take(explorer, worker, seen);
	if (explorer->pending_count)
		confirm_pending(explorer);
	if (twice && !explorer->stopped && !explorer->broken) {
		look_twice(explorer, &worker->now);
		confirm_pending(explorer);
	}
	return true;
}

static uint64_t drain_end(const struct explorer *explorer)
{
	uint64_t until = clock_now() + DRAIN_NS, half = explorer->ends + (explorer->last - explorer->ends) / 2;

	return explorer->ends && half < until ? half : until;
}

static void explore(struct explorer *explorer)
{
	bool unstable = oracle_in(explorer->options->oracles, "unstable"), busy = true;
	struct loop *loop = target_loop(explorer->options->target);
	uint64_t drained = 0;

	while (busy && !explorer->stopped && !explorer->broken) {
		bool over = is_over(explorer), any = false;
		busy = !over;
		for (unsigned i = 0; i < explorer->options->workers && !explorer->broken; i++) {
			struct worker *worker = &explorer->workers[i];
			if (worker->busy && worker_turn(explorer, worker, unstable))
				any = true;
			if (!worker->busy && !over && !is_over(explorer) && explorer_begin(explorer, worker) == 0)
				any |= worker->busy; /* if nothing could be made: a turn of the loop, where signals come in */
			busy |= worker->busy;
		}
		(void)explorer_tick(explorer, "exploring");
		if (!any && loop)
			(void)loop_turn(loop, TURN_MS);
		if (over && !drained)
			drained = drain_end(explorer);
		if (over && clock_now() >= drained)
			return;
	}
}

/* ---- the end ---- */

static void why(struct fuzz_result *result, const char *format, ...) PRINTF_LIKE(2, 3);
static void why(struct fuzz_result *result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(result->why, sizeof(result->why), format, args);
	va_end(args);
	result->end = FUZZ_NOTHING;
}

static void sum_up(const struct fuzz_progress *totals, struct subject_progress *ret)
{
	for (size_t i = 0; i < totals->subject_count; i++) {
		const struct subject_progress *one = &totals->subjects[i];
		ret->calls += one->calls;
		ret->ok += one->ok;
		ret->rejected += one->rejected;
		ret->failed += one->failed;
		ret->ended += one->ended;
		ret->late += one->late;
		ret->broken += one->broken;
	}
}

static bool all_blind(const struct explorer *explorer)
{
	bool any = false;

	for (const struct oracle *oracle = oracles; oracle->name; oracle++) {
		if (!oracle_in(explorer->options->oracles, oracle->name))
			continue;
		if (!explorer_blind(explorer, oracle->name))
			return false;
		any = true;
	}
	return any;
}

/* Whether it was fuzzed at all. What was found says nothing of that: a target that is closed may tell a path in every
 * rejection, and one that hangs was known to. */
static void nothing_check(struct explorer *explorer, size_t subjects)
{
	struct fuzz_result *result = explorer->result;
	struct subject_progress all = {0};

	sum_up(&result->totals, &all);
	if (result->end == FUZZ_STOPPED)
		return;
	if (subjects == 0)
		why(result, "the target offers nothing to call");
	else if (result->totals.subject_count == 0 && result->gaps.count)
		why(result, "none of the subjects could be fuzzed: %s", result->gaps.items[0]);
	else if (result->totals.subject_count == 0)
		why(result, "no subject has such a name");
	else if (all.calls == 0 && result->end == FUZZ_ENOUGH)
		return; /* what is known was enough */
	else if (all.calls == 0)
		why(result, "no call was made in the time there was");
	else if (all.ok + all.rejected + all.failed == 0)
		why(result,
			"no call was answered: of %" PRIu64 " the target ended in %" PRIu64 ", was late in %" PRIu64
			" and broke its protocol in %" PRIu64,
			all.calls, all.ended, all.late, all.broken);
	else if (all.ok + all.failed == 0)
		why(result,
			"every call was rejected, %" PRIu64 " of %" PRIu64 ": nothing behind its checks was reached",
			all.rejected, all.calls);
	else if (all_blind(explorer))
		why(result, "none of the oracles that were asked for can see anything here");
}

static int worse(const void *a, const void *b)
{
	const struct finding *one = a, *other = b;
	int less = (int)finding_severity(other) - (int)finding_severity(one);

	return less ? less : strcmp(one->id, other->id);
}

static void blind_tell(struct explorer *explorer)
{
	own(buf_done) struct buf names = {0};

	if (!explorer->workers || !explorer->workers[0].session || session_sees_effects(explorer->workers[0].session))
		return;
	for (const struct oracle *oracle = oracles; oracle->name; oracle++) {
		if (oracle->needs_effects && oracle_in(explorer->options->oracles, oracle->name))
			buf_fmt(&names, "%s%s", names.len ? ", " : "", oracle->name);
	}
	if (names.len)
		gap_add(explorer->result, "what its programs did was not seen, so these oracles were blind: %s", buf_text(&names));
}

static void finish(struct explorer *explorer)
{
	struct fuzz_result *result = explorer->result;

	blind_tell(explorer);
	if (result->totals.unseen)
		gap_add(result, "%llu of the files, programs and connections of its calls were too many to be looked at: it may hide something behind them",
			(unsigned long long)result->totals.unseen);
	if (result->totals.unconfirmed)
		gap_add(result, "%u %s never came again, and %s not told", result->totals.unconfirmed,
			result->totals.unconfirmed == 1 ? "surprise" : "surprises", result->totals.unconfirmed == 1 ? "is" : "are");
	size_t waiting = explorer->pending_count + explorer->cut, large = 0;
	if (waiting)
		gap_add(result, "%s%zu %s not looked into: it ended before", explorer->surprises_lost ? "at least " : "", waiting,
			waiting == 1 ? "surprise was" : "surprises were");
	for (size_t i = 0; i < result->count; i++)
		large += result->findings[i].unfinished;
	if (large)
		gap_add(result, "%zu %s not made as small as can be: it ended before; 'hotcell findings minimise ID' goes on", large,
			large == 1 ? "finding was" : "findings were");
	if (is_deaf(explorer))
		gap_add(result, "it ended early: none of the first %" PRIu64 " calls was answered", result->totals.calls);
	if (result->count > 1)
		qsort(result->findings, result->count, sizeof(*result->findings), worse);
	result->end = explorer_is_enough(explorer) ? FUZZ_ENOUGH : FUZZ_DONE;
	if (explorer->broken || explorer->stopped)
		result->end = explorer->broken ? FUZZ_BROKEN : FUZZ_STOPPED;
	if (!explorer->broken) {
		nothing_check(explorer, target_subjects(explorer->options->target)->count);
		known_tell(explorer);
	}
	result->totals.doing = "done";
	progress_tell(explorer, clock_now());
	if (result->totals.ns)
		result->totals.rate = (double)result->totals.calls * (double)NS_PER_S / (double)result->totals.ns;
}

int fuzz_run(const struct fuzz_options *options, struct fuzz_result *ret, struct err *err)
{
	own(explorer_done) struct explorer explorer;

	explorer_init(&explorer, options, ret, err);
	quarries_find(&explorer);
	confirm_known(&explorer);
	if (explorer.quarry_count && !explorer_is_over(&explorer) && !explorer_is_enough(&explorer) && workers_open(&explorer) == 0) {
		confirm_pending(&explorer);
		explore(&explorer);
		confirm_pending(&explorer);
	}
	finish(&explorer);
	return explorer.broken ? -1 : 0;
}

void fuzz_result_done(struct fuzz_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		finding_done(&result->findings[i]);
	free(result->findings);
	free(result->totals.subjects);
	strings_done(&result->fixed);
	strings_done(&result->gone);
	strings_done(&result->gaps);
	*result = (struct fuzz_result){0};
}
