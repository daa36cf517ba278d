/* What is different from an earlier review. Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "review/review.h"

/* From good to bad. What does not apply says less than what was held, and what could not be tried is worse than what is
 * known to be lacking. */
static const int badness[] = {
	[REVIEW_HELD] = 0,
	[REVIEW_NOT_APPLICABLE] = 1,
	[REVIEW_DEGRADED] = 2,
	[REVIEW_FAILED] = 3,
	[REVIEW_ESCAPED] = 4,
};
_Static_assert(ARRAY_LEN(badness) == REVIEW_VERDICT_COUNT, "a verdict has no rank");

static const char *const states[] = {"on", "weaker", "off"}; /* of a protection, from good to bad */

static void add(struct review_changes *changes, bool worse, char *text)
{
	changes->items = xrealloc(changes->items, changes->count + 1, sizeof(*changes->items));
	changes->items[changes->count++] = (struct review_change){.worse = worse, .text = text};
	changes->worse += worse;
}

static const char *text_of(const struct value *map, const char *key)
{
	const struct value *value = map ? value_get(map, key) : NULL;

	return value && value->text ? value->text : "";
}

static int rank_of(const char *verdict)
{
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++)
		if (strcmp(review_verdict_name(i), verdict) == 0)
			return badness[i];
	return -1;
}

static const struct review_row *row_of(const struct review *review, const char *id)
{
	for (size_t i = 0; i < review->count; i++)
		if (strcmp(review->rows[i].attack->id, id) == 0)
			return &review->rows[i];
	return NULL;
}

static bool in_catalogue(const char *id)
{
	for (const struct review_group *group = review_groups; group->name; group++)
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			if (strcmp(attack->id, id) == 0)
				return true;
	return false;
}

static void compare_attack(const struct value *then, const struct review *now, struct review_changes *ret)
{
	const char *id = text_of(then, "id"), *was = text_of(then, "verdict");
	const struct review_row *row = row_of(now, id);
	int before = rank_of(was);

	if (!row && !in_catalogue(id))
		add(ret, true, xfmt("%s was %s and is no longer tried", id, was));
	if (!row)
		return;
	ret->compared++;
	if (before < 0 || before == badness[row->verdict])
		return;
	add(ret, badness[row->verdict] > before, xfmt("%s was %s and is %s now%s%s", id, was, review_verdict_name(row->verdict),
		*row->reason ? ": " : "", row->reason));
}

static int state_rank(const struct value *protections, const char *name)
{
	const struct value *protection = value_get(protections, name);
	const char *state = protection ? text_of(protection, "state") : "off";

	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (strcmp(states[i], state) == 0)
			return (int)i;
	return ARRAY_LEN(states) - 1;
}

static void compare_receipts(const struct value *then, const struct value *now, struct review_changes *ret)
{
	static const struct value nothing = {.kind = VALUE_MAP};
	const struct value *before = value_get(then, "protections"), *after = value_get(now, "protections");

	before = before && before->kind == VALUE_MAP ? before : &nothing;
	after = after && after->kind == VALUE_MAP ? after : &nothing;
	for (size_t i = 0; i < before->count; i++) {
		const char *name = before->keys[i];
		int was = state_rank(before, name), is = state_rank(after, name);
		const char *note = text_of(value_get(after, name), "note");
		if (was != is)
			add(ret, is > was, xfmt("the protection %s was %s and is %s now%s%s", name, states[was], states[is],
				*note ? ": " : "", note));
	}
}

static char *note_of(const struct value *then, const struct review *now)
{
	const struct {
		const char *key, *now;
	} facts[] = {{"backend", now->backend}, {"image", now->image ? now->image : "host"}, {"user", now->root ? "root" : "ordinary"},
		{"weakened", now->weakened ? now->weakened : ""}};
	struct buf note = {0};

	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		const struct value *was = value_get(then, facts[i].key);
		const char *text = was && was->kind == VALUE_TEXT ? was->text : "";
		if (strcmp(text, facts[i].now) != 0)
			buf_fmt(&note, "%s%s '%s' then and '%s' now", note.len ? ", " : "", facts[i].key, text, facts[i].now);
	}
	return note.data ? buf_take(&note) : xstrdup("");
}

static int worse_first(const void *one, const void *other)
{
	const struct review_change *a = one, *b = other;

	return a->worse != b->worse ? (int)b->worse - (int)a->worse : strcmp(a->text, b->text);
}

void review_compare(const struct value *then, const struct review *now, struct review_changes *ret)
{
	const struct value *attacks = value_get(then, "attacks"), *receipt = value_get(then, "receipt");

	*ret = (struct review_changes){.note = note_of(then, now)};
	for (size_t i = 0; attacks && i < attacks->count; i++)
		compare_attack(&attacks->items[i], now, ret);
	if (receipt)
		compare_receipts(receipt, &now->receipt, ret);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), worse_first);
}

void review_changes_done(struct review_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		free(changes->items[i].text);
	free(changes->items);
	free(changes->note);
	*changes = (struct review_changes){0};
}
