/* Records are compared by length first, then choice by choice from the front: less is simpler. Every pass proposes
 * records that are less than the best one; what the proposal really makes may have another record still, and that is
 * the one that is compared. Passes are repeated until none of them finds anything. */
#include "schema/shrink.h"

#include <string.h>

#define DEFAULT_CALLS 5000u
#define TRIES_PER_CALL 40u /* values made for each that may be looked at */
#define HEAD_MAX 24 /* choices of a part before its first inner part that may be its size */
#define HOIST_MAX 48 /* inner parts of one that are tried in its place */
#define NEAR 6 /* how far apart choices are that are changed together */
#define BYTES_MAX (UINT64_C(64) << 20) /* of values made: one that is long takes its time each time */
#define SEEN_MAX 4096u /* texts that were refused already, by hash */

struct state {
	struct shrink *shrink;
	struct draw draw;
	uint64_t *best;
	size_t count;
	struct draw_span *spans;
	size_t span_count;
	struct buf text; /* of the best value */
	struct buf proposal;
	uint64_t seen[SEEN_MAX];
	unsigned max_calls;
	uint64_t bytes; /* of values made */
};

static void state_done(struct state *state)
{
	draw_done(&state->draw);
	free(state->best);
	free(state->spans);
	buf_done(&state->text);
	buf_done(&state->proposal);
}

static bool is_spent(const struct state *state)
{
	const struct shrink *shrink = state->shrink;

	return shrink->calls >= state->max_calls || shrink->tries / TRIES_PER_CALL >= state->max_calls ||
		state->bytes >= BYTES_MAX || (shrink->over && shrink->over(shrink->context));
}

static bool is_simpler(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
	if (a_count != b_count)
		return a_count < b_count;
	for (size_t i = 0; i < a_count; i++) {
		if (a[i] != b[i])
			return a[i] < b[i];
	}
	return false;
}

static int make(struct state *state, const uint64_t *choices, size_t count, struct made *ret, struct err *err)
{
	struct generator *generator = state->shrink->generator;

	state->shrink->tries++;
	draw_replay(&state->draw, choices, count);
	int rc = state->shrink->malformed ? generator_make_malformed(generator, &state->draw, ret, err)
					  : generator_make(generator, &state->draw, ret, err);
	state->bytes += rc < 0 ? 0 : ret->len;
	return rc;
}

static void best_set(struct state *state, const struct made *made)
{
	const struct draw *draw = &state->draw;

	state->best = xrealloc(state->best, draw->count + 1, sizeof(*state->best));
	memcpy(state->best, draw->choices, draw->count * sizeof(*state->best));
	state->count = draw->count;
	state->spans = xrealloc(state->spans, draw->span_count + 1, sizeof(*state->spans));
	memcpy(state->spans, draw->spans, draw->span_count * sizeof(*state->spans));
	state->span_count = draw->span_count;
	state->text.len = 0;
	buf_add(&state->text, made->text, made->len);
}

static uint64_t text_hash(const char *text, size_t len)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	return hash | 1;
}

/* Whether the proposal is simpler and still does it; then it is the best. */
static bool propose(struct state *state, const uint64_t *choices, size_t count)
{
	struct made made;
	struct err err;

	if (is_spent(state) || make(state, choices, count, &made, &err) < 0 ||
		!is_simpler(state->draw.choices, state->draw.count, state->best, state->count))
		return false;
	bool same = made.len == state->text.len && memcmp(made.text, state->text.data, made.len) == 0;
	uint64_t hash = text_hash(made.text, made.len);
	if (!same) {
		if (state->seen[hash % SEEN_MAX] == hash)
			return false; /* looked at before */
		state->shrink->calls++;
		if (!state->shrink->still(state->shrink->context, &made)) {
			state->seen[hash % SEEN_MAX] = hash;
			return false;
		}
	}
	best_set(state, &made);
	return true;
}

/* The best record with [from, to) replaced by `zeros` zeros, in the proposal. */
static void splice(struct state *state, size_t from, size_t to, size_t zeros)
{
	static const uint64_t zero;

	state->proposal.len = 0;
	buf_add(&state->proposal, state->best, from * sizeof(*state->best));
	for (size_t i = 0; i < zeros; i++)
		buf_add(&state->proposal, &zero, sizeof(zero));
	buf_add(&state->proposal, state->best + to, (state->count - to) * sizeof(*state->best));
}

static uint64_t *proposed(struct state *state)
{
	return (uint64_t *)(void *)state->proposal.data;
}

static bool propose_it(struct state *state)
{
	return propose(state, proposed(state), state->proposal.len / sizeof(uint64_t));
}

/* ---- passes; each returns whether it found something ---- */

/* Whether the j-th part is right below the i-th and can be taken away: what counts it is chosen there, before the first
 * part below. */
static bool is_counted(const struct state *state, size_t i, size_t j)
{
	size_t counted = state->spans[j].counted;

	return counted > state->spans[i].from && counted <= state->spans[i + 1].from;
}

static size_t counted_below(const struct state *state, size_t i)
{
	size_t count = 0;

	for (size_t j = i + 1; j < state->span_count && state->spans[j].from <= state->spans[i].to; j++)
		count += is_counted(state, i, j);
	return count;
}

/* Of those that can be taken away, `size` from the `at`-th. */
static bool take_away(struct state *state, size_t i, size_t at, size_t size)
{
	size_t number = 0, from = 0;

	splice(state, 0, state->count, 0);
	for (size_t j = i + 1; j < state->span_count && state->spans[j].from <= state->spans[i].to; j++) {
		struct draw_span span = state->spans[j];
		if (!is_counted(state, i, j) || number++ < at)
			continue;
		if (number > at + size)
			break;
		buf_add(&state->proposal, state->best + from, (span.from - from) * sizeof(*state->best));
		from = span.to;
		if (proposed(state)[span.counted - 1]-- == 0)
			return false;
	}
	buf_add(&state->proposal, state->best + from, (state->count - from) * sizeof(*state->best));
	return propose_it(state);
}

/* Parts that need not be there: all of them, then halves. One call may do for what each by itself takes many. */
static bool pass_take_away(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i + 1 < state->span_count && !is_spent(state); i++) {
		size_t total = counted_below(state, i);
		for (size_t size = total; size > 0 && !is_spent(state); size /= 2) {
			for (size_t at = total; at > 0;) {
				size_t some = at < size ? at : size;
				at -= some;
				if (!take_away(state, i, at, some))
					continue;
				any = true;
				total = i + 1 < state->span_count ? counted_below(state, i) : 0;
				at = at < total ? at : total;
			}
		}
	}
	return any;
}

/* Every part made as simple as can be, from the largest. How many choices the simplest has is found by making it. */
static bool pass_zero_spans(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i < state->span_count && !is_spent(state); i++) {
		struct draw_span span = state->spans[i];
		struct made made;
		struct err err;
		if (span.from == span.to)
			continue;
		splice(state, span.from, state->count, 0);
		if (make(state, proposed(state), span.from, &made, &err) < 0 || state->draw.span_count <= i ||
			state->draw.spans[i].from != span.from)
			continue;
		splice(state, span.from, span.to, state->draw.spans[i].to - span.from);
		any |= propose_it(state);
	}
	return any;
}

/* A part replaced by one within it: of what is nested, only the innermost may be needed. */
static bool pass_hoist(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i < state->span_count && !is_spent(state); i++) {
		for (size_t j = i + 1, tried = 0; j < state->span_count && tried < HOIST_MAX; j++, tried++) {
			struct draw_span outer = state->spans[i], inner = state->spans[j];
			if (inner.from >= outer.to)
				break;
			if (inner.to - inner.from >= outer.to - outer.from || inner.from == inner.to)
				continue;
			state->proposal.len = 0;
			buf_add(&state->proposal, state->best, outer.from * sizeof(*state->best));
			buf_add(&state->proposal, state->best + inner.from, (inner.to - inner.from) * sizeof(*state->best));
			buf_add(&state->proposal, state->best + outer.to, (state->count - outer.to) * sizeof(*state->best));
			if (propose_it(state)) {
				any = true;
				j = i;
			}
		}
	}
	return any;
}

/* A part taken away, and what says how many there are lowered: that is among the first choices of the part around. */
static bool pass_delete_spans(struct state *state)
{
	bool any = false;

	for (size_t i = state->span_count; i-- > 1 && !is_spent(state);) {
		if (i >= state->span_count)
			continue;
		struct draw_span span = state->spans[i];
		size_t around = i;
		while (around-- > 0 && state->spans[around].to < span.to)
			;
		size_t head = around < state->span_count ? state->spans[around].from : 0;
		bool found = false;
		for (size_t j = head; j < span.from && j < head + HEAD_MAX && !found; j++) {
			if (state->best[j] == 0)
				continue;
			splice(state, span.from, span.to, 0);
			proposed(state)[j]--;
			found = propose_it(state);
		}
		if (!found && span.to > span.from) {
			splice(state, span.from, span.to, 0);
			found = propose_it(state);
		}
		any |= found;
	}
	return any;
}

/* Some choices taken away behind one that is lowered by as much: texts, mostly. Halves first. */
static bool pass_shorten(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i < state->count && !is_spent(state); i++) {
		for (uint64_t size = state->best[i]; size > 0 && i < state->count; size /= 2) {
			size_t at = i + 1;
			while (size <= state->best[i] && at + size <= state->count && at <= i + 1 + state->best[i] && !is_spent(state)) {
				splice(state, at, at + size, 0);
				proposed(state)[i] -= size;
				if (propose_it(state))
					any = true;
				else
					at += size;
				if (i >= state->count)
					break;
			}
			if (i >= state->count || size > state->count)
				continue;
		}
	}
	return any;
}

static bool lower_to(struct state *state, size_t index, uint64_t choice)
{
	splice(state, state->count, state->count, 0);
	proposed(state)[index] = choice;
	return propose_it(state);
}

/* Down to where a kind of characters begins, the simplest kind first: the next one after a control character that does it is
 * mostly another one, and each that does it may cost a process. *low: what does not. */
static bool lower_to_kind(struct state *state, size_t index, uint64_t *low)
{
	for (size_t i = 0; i < ARRAY_LEN(generator_kinds) && state->best[index] > generator_kinds[i]; i++) {
		if (lower_to(state, index, generator_kinds[i]))
			return true;
		*low = generator_kinds[i];
	}
	return false;
}

/* Each choice: 0, else halfway down as long as that holds, else one less. */
static bool pass_lower(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i < state->count && !is_spent(state); i++) {
		uint64_t low = 0; /* does not do it any more */
		if (state->best[i] == 0)
			continue;
		if (lower_to(state, i, 0)) {
			any = true;
			continue;
		}
		bool leapt = lower_to_kind(state, i, &low);
		any |= leapt;
		while (i < state->count && state->best[i] > low + 1 && !is_spent(state)) {
			uint64_t middle = low + (state->best[i] - low) / 2;
			/* numbers alternate between above and below zero: the neighbour has the other sign */
			if (!lower_to(state, i, middle) && (middle <= low + 1 || !lower_to(state, i, middle - 1))) {
				low = middle;
				continue;
			}
			any = true;
			/* once: maybe all do from here down to what did not */
			if (!leapt && i < state->count && state->best[i] > low + 1 && !lower_to(state, i, low + 1))
				low++;
			leapt = true;
		}
		for (uint64_t less = 1; less <= 2 && i < state->count && state->best[i] > less; less++)
			any |= lower_to(state, i, state->best[i] - less);
	}
	return any;
}

/* A choice at 0, and the next one large instead: a way of making something is given up for a simpler one that can say
 * the same. */
static bool pass_trade(struct state *state)
{
	static const uint64_t large[] = {2047, 2048, 131071, 131072, ((uint64_t)1 << 33) - 1, (uint64_t)1 << 33, ((uint64_t)1 << 53) - 1,
		(uint64_t)1 << 53, UINT64_MAX};
	bool any = false;

	for (size_t i = 0; i + 1 < state->count && !is_spent(state); i++) {
		for (size_t j = 0; j < ARRAY_LEN(large) && i + 1 < state->count && state->best[i]; j++) {
			splice(state, state->count, state->count, 0);
			proposed(state)[i] = 0;
			proposed(state)[i + 1] = large[j];
			any |= propose_it(state);
		}
	}
	return any;
}

/* Neighbours in order. */
static bool pass_sort(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i + 1 < state->count && !is_spent(state); i++) {
		for (size_t j = i + 1; j < state->count && j <= i + NEAR; j++) {
			if (state->best[i] <= state->best[j])
				continue;
			splice(state, state->count, state->count, 0);
			proposed(state)[i] = state->best[j];
			proposed(state)[j] = state->best[i];
			any |= propose_it(state);
			if (i >= state->count)
				break;
		}
	}
	return any;
}

/* What one choice loses a later one gains: for sums. */
static bool pass_redistribute(struct state *state)
{
	bool any = false;

	for (size_t i = 0; i < state->count && !is_spent(state); i++) {
		for (size_t j = i + 1; i < state->count && j < state->count && j <= i + NEAR && state->best[i]; j++) {
			for (uint64_t moved = state->best[i]; moved > 0; moved /= 2) {
				splice(state, state->count, state->count, 0);
				proposed(state)[i] -= moved;
				proposed(state)[j] += moved;
				if (propose_it(state)) {
					any = true;
					break;
				}
				if (i >= state->count || j >= state->count || moved > state->best[i])
					break;
			}
		}
	}
	return any;
}

static void passes(struct state *state)
{
	static bool (*const all[])(struct state *) = {
		pass_take_away, pass_zero_spans, pass_hoist, pass_delete_spans, pass_shorten, pass_lower, pass_trade, pass_sort, pass_redistribute};
	bool any = true;

	while (any && !is_spent(state)) {
		any = false;
		for (size_t i = 0; i < ARRAY_LEN(all); i++)
			any |= all[i](state);
	}
}

int shrink(struct shrink *shrink, const uint64_t *choices, size_t count, uint64_t **ret_choices, size_t *ret_count, struct err *err)
{
	own(state_done) struct state state = {.shrink = shrink, .max_calls = shrink->max_calls ? shrink->max_calls : DEFAULT_CALLS};
	struct made made;

	shrink->calls = shrink->tries = 0;
	draw_init(&state.draw, 0);
	if (make(&state, choices, count, &made, err) < 0)
		return -1;
	best_set(&state, &made);
	passes(&state);
	*ret_count = state.count;
	*ret_choices = ptr_take(&state.best);
	return 0;
}
