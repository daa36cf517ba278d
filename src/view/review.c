/* A review for people at a terminal. */
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/term.h"
#include "view/review.h"

#define REASON_SHOWN 400

static const char *const colors[] = {
	[REVIEW_HELD] = "\033[32m",
	[REVIEW_ESCAPED] = "\033[1;31m",
	[REVIEW_DEGRADED] = "\033[33m",
	[REVIEW_NOT_APPLICABLE] = "\033[2m",
	[REVIEW_FAILED] = "\033[31m",
};
_Static_assert(ARRAY_LEN(colors) == REVIEW_VERDICT_COUNT, "a verdict has no colour");

static void put_row(const struct review_row *row, bool color, struct buf *out)
{
	buf_fmt(out, "  %s%-14s%s  %-28s  %s\n", color ? colors[row->verdict] : "", review_verdict_name(row->verdict),
		color ? "\033[0m" : "", row->attack->id, row->attack->technique);
	if (!*row->reason)
		return;
	buf_fmt(out, "%18s", "");
	term_line(row->reason, strlen(row->reason), REASON_SHOWN, out);
	buf_char(out, '\n');
}

static size_t held_in(const struct review *review, const struct review_group *group, size_t *ret_count)
{
	size_t held = 0;

	*ret_count = 0;
	for (size_t i = 0; i < review->count; i++) {
		*ret_count += review->rows[i].group == group;
		held += review->rows[i].group == group && review->rows[i].verdict == REVIEW_HELD;
	}
	return held;
}

static void put_group(const struct review *review, const struct review_group *group, bool color, struct buf *out)
{
	size_t count, held = held_in(review, group, &count);

	if (!count)
		return;
	buf_fmt(out, "%s%s%s: %zu of %zu held\n", color ? "\033[1m" : "", group->title, color ? "\033[0m" : "", held, count);
	for (size_t i = 0; i < review->count; i++)
		if (review->rows[i].group == group)
			put_row(&review->rows[i], color, out);
	buf_char(out, '\n');
}

void review_protections(const struct review *review, size_t *ret_on, size_t *ret_count)
{
	const struct value *protections = value_get(&review->receipt, "protections");

	*ret_on = 0;
	*ret_count = protections ? protections->count : 0;
	for (size_t i = 0; i < *ret_count; i++) {
		const struct value *state = value_get(&protections->items[i], "state");
		*ret_on += state && state->text && strcmp(state->text, "on") == 0;
	}
}

/* What an ordinary cell has here; what it lacks, by name. */
static void put_receipt(const struct review *review, struct buf *out)
{
	const struct value *protections = value_get(&review->receipt, "protections");
	size_t on, count;
	bool first = true;

	review_protections(review, &on, &count);
	buf_fmt(out, "An ordinary cell had %zu of %zu protections in full", on, count);
	for (size_t i = 0; i < count && on > 0; i++) {
		const struct value *state = value_get(&protections->items[i], "state");
		if (!state || !state->text || strcmp(state->text, "on") == 0)
			continue;
		buf_fmt(out, "%s%s %s", first ? "; " : ", ", protections->keys[i], state->text);
		first = false;
	}
	buf_str(out, ".\n");
}

void review_text(const struct review *review, bool color, struct buf *out)
{
	char took[32];

	for (const struct review_group *group = review_groups; group->name; group++)
		put_group(review, group, color, out);
	put_receipt(review, out);
	buf_fmt(out, "%zu attacks on the %s backend as %s in %s:", review->count, review->backend,
		review->root ? "root" : "an ordinary user", duration_text(review->wall_ns, took, sizeof(took)));
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++)
		if (review->counts[i] || i == REVIEW_HELD || i == REVIEW_ESCAPED)
			buf_fmt(out, "%s %s%zu %s%s", i ? "," : "", color && review->counts[i] ? colors[i] : "", review->counts[i],
				review_verdict_name(i), color && review->counts[i] ? "\033[0m" : "");
	buf_char(out, '\n');
}
