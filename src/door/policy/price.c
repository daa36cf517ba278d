#include <fnmatch.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/term.h"
#include "door/policy/usage.h"

#define PRICE_MAX 1e6 /* dollars for a million tokens */
#define ROWS_MAX 1000
#define GLOB_MAX 80
#define SHOWN_MAX 60
#define BLANKS " \t\r"

/* List prices of November 2026, in dollars for a million tokens. They change; --prices puts others before them. What
 * is dearer at times (long prompts, faster service) and what is cheaper (batches) is not in
 * the table. The first row that matches counts, so the narrower come first; and no row is as wide as to guess at a
 * model that is not out yet: what is unknown is charged as the dearest of all, so that a budget is rather kept too
 * well. A model of one's own that costs nothing is '* 0 0' in a file for --prices. */
static const struct {
	const char *model;
	double input, output, cache_read, cache_write;
} defaults[] = {
	{"claude-fable-5-1*", 10, 50, 0.25, 12.5},
	{"claude-fable-5*", 10, 50, 1, 12.5},
	{"claude-mythos-5-1*", 10, 50, 0.25, 12.5},
	{"claude-mythos-5*", 10, 50, 1, 12.5},
	{"claude-opus-5-5*", 4, 20, 0.2, 5},
	{"claude-opus-5*", 5, 25, 0.5, 6.25},
	{"claude-opus-4-[5-9]*", 5, 25, 0.5, 6.25},
	{"claude-opus-4*", 15, 75, 1.5, 18.75},
	{"claude-sonnet-5*", 2, 10, 0.2, 2.5},
	{"claude-sonnet-4*", 3, 15, 0.3, 3.75},
	{"claude-haiku-5-5*", 0.5, 2.5, 0.05, 0.625}, /* a fifth of it for prompts up to 100,000 tokens */
	{"claude-haiku-4*", 1, 5, 0.1, 1.25},
	{"claude-3-opus*", 15, 75, 1.5, 18.75},
	{"claude-3-7-sonnet*", 3, 15, 0.3, 3.75},
	{"claude-3-5-sonnet*", 3, 15, 0.3, 3.75},
	{"claude-3-sonnet*", 3, 15, 0.3, 3.75},
	{"claude-3-5-haiku*", 0.8, 4, 0.08, 1},
	{"claude-3-haiku*", 0.25, 1.25, 0.03, 0.3},

	{"gpt-6.1-sol*", 2, 10, 0.1, 2.5},
	{"gpt-6.1-terra*", 1, 5, 0.05, 1.25},
	{"gpt-6-sol*", 2, 10, 0.2, 2.5},
	{"gpt-6-luna*", 0.1, 0.5, 0.01, 0.125},
	{"gpt-5.6-terra*", 2, 12, 0.2, 2.5},
	{"gpt-5.6-luna*", 0.2, 1.2, 0.02, 0.25},
	{"gpt-5.6*", 5, 30, 0.5, 6.25},
	{"gpt-5.5-pro*", 30, 180, 30, 30},
	{"gpt-5.5*", 5, 30, 0.5, 5},
	{"gpt-5.4-pro*", 30, 180, 30, 30},
	{"gpt-5.4-mini*", 0.75, 4.5, 0.075, 0.75},
	{"gpt-5.4-nano*", 0.2, 1.25, 0.02, 0.2},
	{"gpt-5.4*", 2.5, 15, 0.25, 2.5},
	{"gpt-5.3*", 1.75, 14, 0.175, 1.75},
	{"gpt-5.2-pro*", 21, 168, 21, 21},
	{"gpt-5.2*", 1.75, 14, 0.175, 1.75},
	{"gpt-5.1-codex-mini*", 0.25, 2, 0.025, 0.25},
	{"gpt-5.1*", 1.25, 10, 0.125, 1.25},
	{"gpt-5-pro*", 15, 120, 15, 15},
	{"gpt-5-mini*", 0.25, 2, 0.025, 0.25},
	{"gpt-5-nano*", 0.05, 0.4, 0.005, 0.05},
	{"gpt-5-*", 1.25, 10, 0.125, 1.25},
	{"gpt-5", 1.25, 10, 0.125, 1.25},
	{"gpt-4.1-mini*", 0.4, 1.6, 0.1, 0.4},
	{"gpt-4.1-nano*", 0.1, 0.4, 0.025, 0.1},
	{"gpt-4.1*", 2, 8, 0.5, 2},
	/* Sound: at the price of the dearest of what they take and make, whatever a token is of. */
	{"gpt-4o-audio*", 40, 80, 40, 40},
	{"gpt-4o-realtime*", 40, 80, 40, 40},
	{"gpt-4o-mini-audio*", 10, 20, 10, 10},
	{"gpt-4o-mini-realtime*", 10, 20, 10, 10},
	{"gpt-4o-transcribe*", 6, 10, 6, 6},
	{"gpt-4o-mini-transcribe*", 3, 5, 3, 3},
	{"gpt-4o-mini-tts*", 0.6, 12, 0.6, 0.6},
	{"gpt-4o-mini*", 0.15, 0.6, 0.075, 0.15},
	{"gpt-4o-2024-05-13", 5, 15, 5, 5},
	{"gpt-4o*", 2.5, 10, 1.25, 2.5},
	{"gpt-4-turbo*", 10, 30, 10, 10},
	{"gpt-4-*", 30, 60, 30, 30},
	{"gpt-4", 30, 60, 30, 30},
	{"gpt-3.5-turbo*", 0.5, 1.5, 0.5, 0.5},
	{"codex-mini*", 1.5, 6, 0.375, 1.5},
	{"o4-mini-deep-research*", 2, 8, 0.5, 2},
	{"o4-mini*", 1.1, 4.4, 0.275, 1.1},
	{"o3-deep-research*", 10, 40, 2.5, 10},
	{"o3-pro*", 20, 80, 20, 20},
	{"o3-mini*", 1.1, 4.4, 0.55, 1.1},
	{"o3-*", 2, 8, 0.5, 2},
	{"o3", 2, 8, 0.5, 2},
	{"o1-mini*", 1.1, 4.4, 0.55, 1.1},
	{"o1-20*", 15, 60, 7.5, 15},
	{"o1", 15, 60, 7.5, 15},
};

void prices_defaults(struct prices *ret)
{
	*ret = (struct prices){.items = xcalloc(ARRAY_LEN(defaults), sizeof(*ret->items)), .count = ARRAY_LEN(defaults)};
	for (size_t i = 0; i < ret->count; i++) {
		ret->items[i] = (struct price){.model = xstrdup(defaults[i].model), .input = defaults[i].input,
			.output = defaults[i].output, .cache_read = defaults[i].cache_read,
			.cache_write = defaults[i].cache_write};
	}
}

void prices_done(struct prices *prices)
{
	for (size_t i = 0; i < prices->count; i++)
		free(prices->items[i].model);
	free(prices->items);
	*prices = (struct prices){0};
}

/* ---- reading a file ---- */

static bool number_read(const char *word, double *ret)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(word, digits);
	size_t fraction = word[whole] == '.' ? strspn(word + whole + 1, digits) : 0;
	size_t len = whole + (fraction ? fraction + 1 : 0);

	if (whole == 0 || whole > 9 || fraction > 9 || word[len])
		return false;
	*ret = strtod(word, NULL);
	return *ret <= PRICE_MAX;
}

static bool glob_ok(const char *word)
{
	for (const char *at = word; *at; at++) {
		if (*at <= ' ' || *at > '~')
			return false;
	}
	return strlen(word) <= GLOB_MAX;
}

/* `words` is what the line holds, `count` how many. */
static const char *row_read(char *const *words, size_t count, struct price *ret)
{
	double *fields[] = {&ret->input, &ret->output, &ret->cache_read, &ret->cache_write};

	if (count != 3 && count != 5)
		return "a row is a model, then the prices of input and output or these and of reading and writing the cache";
	if (!glob_ok(words[0]))
		return "the name of a model is at most 80 letters, digits and signs";
	for (size_t i = 1; i < count; i++) {
		if (!number_read(words[i], fields[i - 1]))
			return "a price is dollars for a million tokens, like 3 or 0.25";
	}
	if (count == 3)
		ret->cache_read = ret->cache_write = ret->input;
	ret->model = xstrdup(words[0]);
	return NULL;
}

/* A line without its end. *ret->model stays NULL where there is no row. */
static const char *line_read(const char *line, size_t len, struct price *ret)
{
	own(buf_done) struct buf copy = {0};
	char *words[6], *rest = NULL;
	size_t count = 0;

	if (memchr(line, '\0', len))
		return "this is no text";
	buf_add(&copy, line, len);
	copy.data[strcspn(copy.data, "#")] = '\0';
	for (char *word = strtok_r(copy.data, BLANKS, &rest); word && count < ARRAY_LEN(words);
		word = strtok_r(NULL, BLANKS, &rest))
		words[count++] = word;
	return count ? row_read(words, count, ret) : NULL;
}

static int rows_read(struct prices *rows, const char *text, size_t len, const char *file, struct err *err)
{
	for (size_t at = 0, number = 1; at < len; number++) {
		const char *line = text + at;
		const char *end = memchr(line, '\n', len - at);
		size_t size = end ? (size_t)(end - line) : len - at;
		struct price row = {0};
		const char *wrong = line_read(line, size, &row);
		if (!wrong && row.model && rows->count == ROWS_MAX) {
			free(row.model);
			wrong = "there are more than 1000 rows";
		}
		if (wrong) {
			own(buf_done) struct buf shown = {0};
			term_line(file, strlen(file), SHOWN_MAX, &shown);
			return err_set(err, ERR_USAGE, "%s:%zu: %s", buf_text(&shown), number, wrong);
		}
		if (row.model) {
			rows->items = xrealloc(rows->items, rows->count + 1, sizeof(*rows->items));
			rows->items[rows->count++] = row;
		}
		at += size + 1;
	}
	return 0;
}

int prices_read(struct prices *prices, const char *text, size_t len, const char *file, struct err *err)
{
	own(prices_done) struct prices rows = {0};

	if (rows_read(&rows, text, len, file, err) < 0)
		return -1;
	if (prices->count == 0) {
		prices_done(prices);
		*prices = rows;
	} else {
		rows.items = xrealloc(rows.items, rows.count + prices->count, sizeof(*rows.items));
		memcpy(rows.items + rows.count, prices->items, prices->count * sizeof(*prices->items));
		free(prices->items);
		*prices = (struct prices){.items = rows.items, .count = rows.count + prices->count};
	}
	rows = (struct prices){0};
	return 0;
}

/* ---- what something costs ---- */

/* In whole numbers, so that a thousand tokens at $0.1 cost 100 millionths and not one more. A price in dollars for a
 * million tokens is millionths of a dollar for one; here it is millionths of that. */
static unsigned __int128 share(uint64_t tokens, double price)
{
	return (unsigned __int128)tokens * (uint64_t)(price * 1e6 + 0.5);
}

static uint64_t row_cost(const struct price *row, const struct usage *usage)
{
	unsigned __int128 cost = share(usage->input, row->input) + share(usage->output, row->output) +
		share(usage->cache_read, row->cache_read) + share(usage->cache_write, row->cache_write);

	if (2 * row->input > row->cache_write)
		cost += share(usage->cache_long, 2 * row->input - row->cache_write);

	cost = (cost + 999999) / 1000000;
	return cost > UINT64_MAX ? UINT64_MAX : (uint64_t)cost;
}

uint64_t prices_cost(const struct prices *prices, const struct usage *usage, bool *ret_known)
{
	uint64_t dearest = 0;

	*ret_known = false;
	for (size_t i = 0; i < prices->count; i++) {
		uint64_t cost = row_cost(&prices->items[i], usage);
		if (fnmatch(prices->items[i].model, usage->model, 0) == 0) {
			*ret_known = true;
			return cost;
		}
		dearest = cost > dearest ? cost : dearest;
	}
	return dearest;
}
