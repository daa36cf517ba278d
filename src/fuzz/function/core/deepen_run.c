/* Deepened inputs, tried beside the engines: theory of operation.
 *
 * Engines grow inputs slowly, and give up on long ones; a stack ends at depths that they never reach. So what they
 * keep in the corpus, which is what the target took, is read every other second, deepened by pure code (deepen.c),
 * and a batch of it is given to the same engine as files, in a cell of its own: engines run the files that they are
 * named, and nothing else. Nothing goes into the corpus: long inputs would slow down all that follow from them. A
 * crash goes the way of all crashes; an input that only takes long, or much memory, is none: it is long.
 *
 * It takes two seconds and a fortieth of the time, and ends when the corpus gives nothing new. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "fuzz/function/core/deepen.h"
#include "fuzz/function/core/run.h"

#define LOOK_NS (1500 * NS_PER_MS)
#define GRACE_NS (2 * NS_PER_S) /* of work that is not counted: what is deep is mostly found at once */
#define SHARE 40u /* one part in so many of the time that has gone */
#define BATCH_FILES 60u
#define BATCH_BYTES ((size_t)6 << 20)
#define BATCH_MS 30000u
#define BATCH_CRASHES 4u /* of different kinds that are taken */
#define BATCH_FAILURES 3u /* after which it is begun again with the rest */
#define MET_MAX 100u
#define LOOK_MAX 5000u /* names in a corpus */
#define NEW_MAX 200u /* inputs that are learned from at a time */
#define LEARNED_MAX 20000u /* of a target */
#define DEEPEST ((size_t)256 << 10) /* bytes, where the language says nothing */
#define INPUT_TIMEOUT "-timeout=4"
#define NAME_SIZE 32
#define STEPS 8u /* in which the depth of a crash is narrowed down */

static const size_t depths[] = {1000, 8000, 64000, 512000};

struct trial {
	size_t deep, times; /* its place in the batch */
	size_t less; /* times that did no harm */
};

struct found {
	struct deep deep;
	size_t times, less;
};

struct deepening {
	struct job job;
	bool busy;
	size_t place;
	struct deep deeps[BATCH_FILES];
	size_t deep_count;
	struct trial trials[BATCH_FILES];
	size_t trial_count, begun; /* the first that this process was given */
	size_t bytes;
	unsigned failures;
	bool more; /* than a batch waits */
	bool narrowing; /* the trials are one deep's, to find how deep it must be */
	struct found found[BATCH_CRASHES];
	size_t found_count;
	struct strings met; /* ids of its crashes */
	struct buf enough; /* what was repeated in them: with another part beside it, it would do the same again; with NULs between */
	uint64_t looked_ns, started_ns, used_ns;
};

struct learned { /* names of a corpus that were looked at */
	struct deepen *deepen;
	uint64_t *names; /* hashes; a table */
	size_t count;
};

#define NAMES_SIZE 65536u

struct learned *learned_free(struct learned *learned)
{
	if (learned) {
		learned->deepen = deepen_free(learned->deepen);
		free(learned->names);
	}
	free(learned);
	return NULL;
}

static struct learned *learned_open(void)
{
	struct learned *learned = xcalloc(1, sizeof(*learned));

	learned->deepen = deepen_open();
	learned->names = xcalloc(NAMES_SIZE, sizeof(*learned->names));
	return learned;
}

static bool is_new(struct learned *learned, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	hash = hash ? hash : 1;
	size_t at = hash & (NAMES_SIZE - 1);
	while (learned->names[at] && learned->names[at] != hash)
		at = (at + 1) & (NAMES_SIZE - 1);
	if (learned->names[at] || learned->count >= LEARNED_MAX)
		return false;
	learned->names[at] = hash;
	learned->count++;
	return true;
}

static void learn(struct place *place)
{
	DIR *dir = beneath_list(place->fds[PLACE_CORPUS], ".");
	unsigned seen = 0, fresh = 0;

	if (!dir)
		return;
	for (struct dirent *entry; fresh < NEW_MAX && seen++ < LOOK_MAX && (entry = readdir(dir));) {
		own(buf_done) struct buf input = {0};
		if (*entry->d_name == '.' || !is_new(place->learned, entry->d_name))
			continue;
		fresh++;
		if (place_read(dirfd(dir), entry->d_name, DEEPEN_INPUT_MAX, &input))
			deepen_learn(place->learned->deepen, buf_text(&input), input.len);
	}
	(void)closedir(dir);
}

/* ---- a batch ---- */

static void trial_name(size_t index, char name[NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "deep-%04zu", index);
}

static void batch_clear(struct fuzzing *it, struct deepening *at)
{
	char name[NAME_SIZE];

	for (size_t i = 0; i < at->trial_count; i++) {
		trial_name(i, name);
		(void)beneath_unlink(it->places[at->place].fds[PLACE_INPUT], name, 0);
	}
	for (size_t i = 0; i < at->deep_count; i++)
		deep_done(&at->deeps[i]);
	at->deep_count = at->trial_count = at->begun = at->bytes = 0;
	at->failures = 0;
	at->narrowing = false;
}

static bool trial_add(struct fuzzing *it, struct deepening *at, size_t deep, size_t times, size_t less)
{
	own(buf_done) struct buf text = {0};
	struct err err = {0};
	char name[NAME_SIZE];

	deep_write(&at->deeps[deep], times, &text);
	trial_name(at->trial_count, name);
	if (at->trial_count == BATCH_FILES ||
		place_write(it->places[at->place].fds[PLACE_INPUT], name, buf_text(&text), text.len, &err) < 0)
		return false;
	at->bytes += text.len;
	at->trials[at->trial_count++] = (struct trial){deep, times, less};
	return true;
}

static size_t deepest(const struct place *place)
{
	return place->plan.deepest ? place->plan.deepest : DEEPEST;
}

/* Whether what is repeated holds something that ended the target already. */
static bool is_enough(const struct deepening *at, const struct deep *deep)
{
	const char *open = deep->bytes + deep->head;

	for (size_t from = 0, len; from < at->enough.len; from += len + 1) {
		len = strlen(at->enough.data + from); /* of one that holds a NUL itself, its beginning counts */
		if (len && memmem(open, deep->open, at->enough.data + from, len))
			return true;
	}
	return false;
}

static void batch_fill(struct fuzzing *it, struct deepening *at)
{
	struct place *place = &it->places[at->place];

	while (at->trial_count + ARRAY_LEN(depths) < BATCH_FILES && at->deep_count < BATCH_FILES &&
		at->bytes < BATCH_BYTES) {
		struct deep *deep = &at->deeps[at->deep_count];
		size_t less = 0;
		at->more = deepen_next(place->learned->deepen, deep);
		if (!at->more)
			return;
		if (is_enough(at, deep)) {
			deep_done(deep);
			continue;
		}
		size_t most = deep_most(deep, deepest(place)), index = at->deep_count++;
		for (size_t i = 0; i < ARRAY_LEN(depths) && less < most; i++) {
			size_t times = depths[i] < most ? depths[i] : most;
			if (!trial_add(it, at, index, times, less))
				return;
			less = times;
		}
	}
}

static bool batch_start(struct fuzzing *it, struct deepening *at, uint64_t now)
{
	struct place *place = &it->places[at->place];
	own(strings_done) struct strings more = {0};
	/* one that goes on leaves what it finds in crashes/, as when it fuzzes; others end, and say where */
	const bool goes_on = place->plan.goes_on && !place->plan.replays_as_engine;
	const struct job_spec spec = {.words = goes_on ? &place->plan.run : &place->plan.replay,
		.more = &more,
		.engine = true,
		.small = true,
		.timeout_ms = BATCH_MS};
	struct err err = {0};
	char name[NAME_SIZE];

	engine_limits(it, place, &more);
	strings_add(&more, INPUT_TIMEOUT);
	strings_add(&more, "-artifact_prefix=/tmp/");
	for (size_t i = at->begun; i < at->trial_count; i++) {
		trial_name(i, name);
		own(freep) char *path = xfmt(FUNCTION_WORK "/input/%s", name);
		strings_add(&more, path);
	}
	if (at->begun >= at->trial_count || job_start(&at->job, it, place, &spec, &err) < 0)
		return false;
	at->busy = true;
	at->started_ns = now;
	return true;
}

/* The trial that it was at when it ended, as it says; none: trial_count. */
static size_t trial_of(const struct deepening *at)
{
	static const char words[] = "Running: " FUNCTION_WORK "/input/deep-";
	const char *text = buf_text(&at->job.said), *found = NULL;
	size_t len = at->job.said.len, index = 0;

	for (const char *next = text; (next = memmem(next, len - (size_t)(next - text), words, sizeof(words) - 1));)
		found = next += sizeof(words) - 1;
	for (size_t i = 0; found && found + i < text + len && i < 4 && found[i] >= '0' && found[i] <= '9'; i++)
		index = index * 10 + (size_t)(found[i] - '0');
	return found && index >= at->begun && index < at->trial_count ? index : at->trial_count;
}

/* ---- what came of it ---- */

/* One kind of crash is enough: it is tried again, and made small, once. */
static bool is_known(struct fuzzing *it, struct deepening *at)
{
	const struct job *job = &at->job;
	struct finding finding = {0};
	bool known = false;

	if (!crash_judge(it, &it->places[at->place], ENGINE_CRASH, buf_text(&job->said), job->said.len, &finding))
		return true;
	known = strings_have(&it->places[at->place].met, finding.id) || strings_have(&at->met, finding.id);
	if (!known && at->met.count < MET_MAX)
		strings_add(&at->met, finding.id);
	finding_done(&finding);
	return known;
}

/* The next one of another deep: deeper ones would do the same again. */
static size_t skip_deep(const struct deepening *at, size_t index)
{
	size_t next = index;

	while (next < at->trial_count && at->trials[next].deep == at->trials[index].deep)
		next++;
	return next;
}

static void take_crash(struct fuzzing *it, struct deepening *at, size_t index)
{
	own(buf_done) struct buf input = {0};

	deep_write(&at->deeps[at->trials[index].deep], at->trials[index].times, &input);
	crash_add(it, at->place, ENGINE_CRASH, &input, buf_text(&at->job.said), at->job.said.len);
}

/* True: there is more to do of this batch. */
static bool batch_judge(struct fuzzing *it, struct deepening *at)
{
	const struct job *job = &at->job;
	enum engine_end end = job->outcome == CELL_EXITED ? engine_end(job->exit_code)
		: job->outcome == CELL_SIGNALED           ? ENGINE_CRASH
							  : ENGINE_OTHER;
	size_t index = trial_of(at);

	if (end == ENGINE_DONE || index == at->trial_count)
		return false;
	if (at->narrowing) {
		if (end == ENGINE_CRASH)
			take_crash(it, at, index);
		return false;
	}
	at->begun = skip_deep(at, index);
	if (end == ENGINE_CRASH && at->found_count < BATCH_CRASHES && !is_known(it, at)) {
		const struct trial *trial = &at->trials[index];
		const struct deep *deep = &at->deeps[trial->deep];
		at->found[at->found_count++] = (struct found){*deep, trial->times, trial->less};
		buf_add(&at->enough, deep->bytes + deep->head, deep->open);
		buf_char(&at->enough, '\0');
		at->deeps[trial->deep] = (struct deep){0};
	}
	return at->begun < at->trial_count && ++at->failures < BATCH_FAILURES;
}

/* Trials between what did no harm and what did, of one crash that was found: the first that does is taken. False:
 * there is none left. */
static bool narrow(struct fuzzing *it, struct deepening *at)
{
	batch_clear(it, at);
	if (!at->found_count)
		return false;
	const struct found found = at->found[--at->found_count];
	size_t step = (found.times - found.less) / STEPS;
	at->deeps[at->deep_count++] = found.deep;
	at->narrowing = true;
	for (unsigned i = 1; step && i < STEPS; i++)
		(void)trial_add(it, at, 0, found.less + step * i, 0);
	(void)trial_add(it, at, 0, found.times, 0);
	return true;
}

static void batch_end(struct fuzzing *it, struct deepening *at, uint64_t now)
{
	bool more = batch_judge(it, at);

	at->used_ns += now - at->started_ns;
	at->busy = false;
	job_end(&at->job);
	if (more && batch_start(it, at, now))
		return;
	while (narrow(it, at))
		if (batch_start(it, at, now))
			return;
}

/* ---- when ---- */

static bool is_meant(const struct fuzzing *it, size_t place)
{
	return !it->places[place].out && it->places[place].plan.stats == STATS_LIBFUZZER &&
		it->result->totals[place].first_exec_ns;
}

/* Targets take turns. */
static bool place_turn(struct fuzzing *it, struct deepening *at, uint64_t now)
{
	for (size_t i = 1; i <= it->place_count; i++) {
		size_t index = (at->place + i) % it->place_count;
		struct place *place = &it->places[index];
		if (!is_meant(it, index))
			continue;
		if (!place->learned)
			place->learned = learned_open();
		learn(place);
		at->place = index;
		batch_fill(it, at);
		if (batch_start(it, at, now))
			return true;
		batch_clear(it, at);
	}
	return false;
}

void deepening_tick(struct fuzzing *it)
{
	uint64_t now = clock_now();

	if (it->options->no_deepen || !it->workers)
		return;
	if (!it->deepening) {
		it->deepening = xcalloc(1, sizeof(*it->deepening));
		it->deepening->job.fd = -1;
	}
	struct deepening *at = it->deepening;
	if (at->busy && at->job.done)
		batch_end(it, at, now);
	if (at->busy || it->over || (!at->more && now - at->looked_ns < LOOK_NS) ||
		at->used_ns > GRACE_NS + (now - it->started_ns) / SHARE)
		return;
	at->looked_ns = now;
	(void)place_turn(it, at, now);
}

static void take_late(struct fuzzing *it, const struct deepening *at, const struct deep *deep, size_t times)
{
	own(buf_done) struct buf input = {0};

	deep_write(deep, times, &input);
	crash_add(it, at->place, ENGINE_CRASH, &input, "", 0);
}

/* What was found and not narrowed down yet is taken as it is. */
void deepening_stop(struct fuzzing *it)
{
	struct deepening *at = it->deepening;

	if (!at)
		return;
	if (at->busy && at->narrowing && at->trial_count)
		take_late(it, at, &at->deeps[0], at->trials[at->trial_count - 1].times);
	if (at->busy)
		job_end(&at->job);
	for (size_t i = 0; i < at->found_count; i++) {
		take_late(it, at, &at->found[i].deep, at->found[i].times);
		deep_done(&at->found[i].deep);
	}
	batch_clear(it, at);
	strings_done(&at->met);
	buf_done(&at->enough);
	free(at);
	it->deepening = NULL;
}
