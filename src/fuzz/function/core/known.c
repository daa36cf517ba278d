/* What the store knows of a target is tried before anything new is looked for: what is still there counts as known and
 * is not taken for a find, what does it no more is fixed. Where a harness takes many inputs at once, one cell is enough
 * for those that are still there; that something is gone is only believed of cells of its own. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "fuzz/function/core/run.h"

#define KNOWN_PART 4u /* of the time */
#define KNOWN_LEAST_NS (5 * NS_PER_S)
#define KNOWN_OPEN_NS (30 * NS_PER_S) /* where there is no end */
#define TRIES 3u /* of one that may be gone */
#define BATCH 16u
#define BATCH_MS 60000u

struct known {
	struct fuzzing *it;
	struct place *place;
	size_t index; /* of the place */
	uint64_t ends;
	size_t late; /* not tried: there was no time */
};

/* ---- which ---- */

/* A finding names its file as it was typed: one that ends like that is the same, wherever it is called from. */
static bool is_file_of(const struct function_target *target, const struct finding *finding)
{
	const char *word = finding->command.count ? finding->command.items[0] : "", *colon = function_word_colon(word);
	size_t len = target->harness || !colon ? strlen(word) : (size_t)(colon - word);
	own(freep) char *path = xfmt("%s/%s", target->root, target->file);
	size_t whole = strlen(path);

	return len && len <= whole && memcmp(path + whole - len, word, len) == 0 &&
		(len == whole || path[whole - len - 1] == '/');
}

static bool is_of(const struct function_target *target, const struct finding *finding)
{
	return strncmp(finding->kind, "function-", 9) == 0 && strcmp(finding->kind + 9, target->language) == 0 &&
		finding->binary && strcmp(finding->target, target->name) == 0 &&
		strcmp(finding->subject, target->function) == 0 && is_file_of(target, finding);
}

/* Options that decide what is wrong with a target. */
static bool decides(const char *flag)
{
	static const char *const names[] = {"--expect=", "--sanitizer=", "--cflag=", "--schema=", "--input-timeout=", "--memory="};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(flag, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool has_all(const struct strings *these, const struct strings *in)
{
	for (size_t i = 0; these && i < these->count; i++)
		if (decides(these->items[i]) && !(in && strings_have(in, these->items[i])))
			return false;
	return true;
}

static bool same_flags(const struct fuzzing *it, const struct finding *finding)
{
	return has_all(&finding->flags, it->options->flags) && has_all(it->options->flags, &finding->flags);
}

/* ---- what comes of it ---- */

static void still_there(struct known *known, const struct finding *old, struct finding *now)
{
	now->input = xstrdup(old->input);
	now->found = old->found ? xstrdup(old->found) : NULL;
	now->seen = old->seen;
	now->tried = old->tried;
	now->seed = old->seed;
	now->first_seen = old->first_seen;
	if (!strings_have(&known->place->met, now->id))
		strings_add(&known->place->met, now->id);
	known->it->result->fuzzed = true; /* it was really called */
	known->it->result->totals[known->index].crashes++;
	if (!old->core)
		core_take(known->it, known->place, now);
	crash_put(known->it, now);
	if (known->it->options->retried)
		known->it->options->retried(known->it->options->data, old, true);
}

static void gone(struct known *known, const struct finding *old)
{
	struct fuzzing *it = known->it;

	if (!same_flags(it, old)) {
		fuzzing_gap(it,
			"%s was not seen again, but with other options than it was found with; 'hotcell findings repro %s' says whether "
			"it is fixed",
			old->id, old->id);
		return;
	}
	if (finding_is_suppressed(old, (int64_t)time(NULL)))
		strings_add(&it->result->gone, old->id);
	else if (old->state != FINDING_FIXED)
		strings_add(&it->result->fixed, old->id);
	if (it->options->retried)
		it->options->retried(it->options->data, old, false);
}

static bool is_met(const struct known *known, const struct finding *old)
{
	return strings_have(&known->place->met, old->id);
}

static bool write_input(struct known *known, const struct finding *old, struct buf *ret)
{
	struct err err = {0};

	if (!base64_read(old->input, strlen(old->input), ret) || ret->len > INPUT_MAX) {
		fuzzing_gap(known->it, "%s was not tried again: its input is none", old->id);
		return false;
	}
	(void)beneath_unlink(known->place->fds[PLACE_INPUT], old->id, 0);
	if (place_write(known->place->fds[PLACE_INPUT], old->id, buf_text(ret), ret->len, &err) == 0)
		return true;
	fuzzing_gap(known->it, "%s was not tried again: %s", old->id, err.text);
	return false;
}

/* ---- one by one ---- */

static void try_one(struct known *known, const struct finding *old)
{
	struct fuzzing *it = known->it;
	own(buf_done) struct buf input = {0};
	bool other = false;

	if (!write_input(known, old, &input))
		return;
	for (unsigned tries = strcmp(old->oracle, "hang") == 0 ? 1 : TRIES; tries > 0; tries--) {
		struct finding now = {0};
		bool wrong = crash_replay(it, known->place, old->id, &now);
		if (wrong && strcmp(now.id, old->id) == 0) {
			still_there(known, old, &now);
			return;
		}
		finding_done(&now);
		other = other || wrong;
		if (it->stopped || clock_now() >= known->ends) {
			known->late += !it->stopped;
			return;
		}
	}
	if (other) /* neither the same nor nothing: it is looked at as any other */
		crash_add(it, known->index, ENGINE_CRASH, &input, "", 0);
	else
		gone(known, old);
}

/* ---- many at once ---- */

static void judge_part(struct known *known, const char *name, size_t name_len, const char *text, size_t len)
{
	struct finding now = {0};
	own(freep) char *id = xfmt("%.*s", (int)name_len, name);
	const struct finding *old = name_len == FINDING_ID_LEN ? store_find(known->it->options->known, id) : NULL;

	if (!old || is_met(known, old) || !is_of(known->place->target, old) || !len ||
		!crash_judge(known->it, known->place, ENGINE_CRASH, text, len, &now))
		return;
	if (strcmp(now.id, old->id) == 0)
		still_there(known, old, &now);
	else
		finding_done(&now);
}

/* Parts begin with a line that names the input; what the target says of itself between them is as good as what it does.
 */
static void judge_all(struct known *known, const char *said, size_t len)
{
	static const char mark[] = PLAN_INPUT_MARK;
	const char *end = said + len, *at = memmem(said, len, mark, sizeof(mark) - 1);

	while (at) {
		const char *name = at + sizeof(mark) - 1, *line = memchr(name, '\n', (size_t)(end - name));
		if (!line)
			return;
		const char *next = memmem(line, (size_t)(end - line), mark, sizeof(mark) - 1);
		judge_part(known, name, (size_t)(line - name), line + 1, (size_t)((next ? next : end) - line - 1));
		at = next;
	}
}

static void try_batch(struct known *known, const struct strings *names)
{
	own(strings_done) struct strings more = {0};
	const struct job_spec spec = {
		.words = &known->place->plan.replay, .more = &more, .small = true, .timeout_ms = BATCH_MS};
	struct job job;
	struct err err = {0};

	for (size_t i = 0; i < names->count; i++) {
		own(freep) char *path = xfmt(FUNCTION_WORK "/input/%s", names->items[i]);
		strings_add(&more, path);
	}
	if (names->count < 2 || job_start(&job, known->it, known->place, &spec, &err) < 0)
		return;
	if (job_wait(&job))
		judge_all(known, buf_text(&job.said), job.said.len);
	job_end(&job);
}

static void try_many(struct known *known)
{
	const struct finding_store *store = known->it->options->known;
	own(strings_done) struct strings names = {0};

	for (size_t i = 0; i < store->count && !known->it->stopped && clock_now() < known->ends; i++) {
		const struct finding *old = &store->items[i];
		own(buf_done) struct buf input = {0};
		if (is_of(known->place->target, old) && strcmp(old->oracle, "exception") == 0 &&
			write_input(known, old, &input))
			strings_add(&names, old->id);
		if (names.count < BATCH)
			continue;
		try_batch(known, &names);
		strings_done(&names);
		names = (struct strings){0};
	}
	if (!known->it->stopped)
		try_batch(known, &names);
}

/* ---- all ---- */

static void try_place(struct fuzzing *it, size_t index, uint64_t ends)
{
	struct known known = {.it = it, .place = &it->places[index], .index = index, .ends = ends};
	const struct finding_store *store = it->options->known;

	if (known.place->plan.replays_many)
		try_many(&known);
	for (size_t i = 0; i < store->count && !it->stopped; i++) {
		const struct finding *old = &store->items[i];
		if (!is_of(known.place->target, old) || is_met(&known, old))
			continue;
		if (clock_now() >= ends)
			known.late++;
		else
			try_one(&known, old);
	}
	if (known.late)
		fuzzing_gap(it, "%zu of what is known of %s was not tried again: a quarter of the time is for that",
			known.late, known.place->target->name);
}

void known_try(struct fuzzing *it)
{
	uint64_t part = it->options->duration_ns ? it->options->duration_ns / KNOWN_PART : KNOWN_OPEN_NS;
	uint64_t ends = clock_now() + (part < KNOWN_LEAST_NS ? KNOWN_LEAST_NS : part);

	for (size_t i = 0; it->options->known && i < it->place_count && !it->stopped; i++)
		if (!it->places[i].out)
			try_place(it, i, ends);
}
