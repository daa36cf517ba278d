#include "fuzz/function/core/deepen.h"

#include <ctype.h>
#include <string.h>

#define LOOK_MAX 256u /* bytes of an input in which spans begin */
#define SPANS_MAX 64u /* of one input */
#define REPEAT_MAX 24u /* bytes of an input that are repeated */
#define REPEAT_LEN 4u
#define SAMPLES_MAX 64u /* inputs that others are compared with */
#define SAMPLE_MAX 256u
#define WAITING_MAX 4096u
#define CONTEXTS 3u /* in which the same parts are tried */
#define TABLE_SIZE 8192u /* a power of two */
#define OPEN_MAX 256u /* bytes of what is repeated */

enum rank { RANK_SPAN, RANK_LEARNED, RANK_UNCLOSED, RANK_WRAP, RANK_REPEAT, RANK_COUNT };

struct sample {
	char bytes[SAMPLE_MAX];
	size_t len;
};

struct deepen {
	struct deep waiting[RANK_COUNT][WAITING_MAX / RANK_COUNT];
	size_t first[RANK_COUNT], count[RANK_COUNT]; /* all that ever waited; a rank that is full takes no more */
	struct {
		uint64_t key;
		unsigned times;
	} seen[TABLE_SIZE];
	unsigned seen_count;
	struct sample samples[SAMPLES_MAX];
	size_t sample_count;
};

void deep_done(struct deep *deep)
{
	free(deep->bytes);
	*deep = (struct deep){0};
}

size_t deep_most(const struct deep *deep, size_t max)
{
	size_t once = deep->head + deep->middle + deep->tail, each = deep->open + deep->close;

	return each == 0 || once >= max ? 0 : (max - once) / each;
}

void deep_write(const struct deep *deep, size_t times, struct buf *ret)
{
	const char *open = deep->bytes + deep->head, *middle = open + deep->open, *close = middle + deep->middle;

	buf_add(ret, deep->bytes, deep->head);
	for (size_t i = 0; i < times; i++)
		buf_add(ret, open, deep->open);
	buf_add(ret, middle, deep->middle);
	for (size_t i = 0; i < times && deep->close; i++)
		buf_add(ret, close, deep->close);
	buf_add(ret, close + deep->close, deep->tail);
}

struct deepen *deepen_open(void)
{
	struct deepen *it = xcalloc(1, sizeof(*it));

	deepen_learn(it, "", 0); /* what opens at once may need nothing else */
	deepen_learn(it, "1", 1);
	return it;
}

struct deepen *deepen_free(struct deepen *it)
{
	for (unsigned rank = 0; it && rank < RANK_COUNT; rank++)
		for (size_t i = it->first[rank]; i < it->count[rank]; i++)
			deep_done(&it->waiting[rank][i]);
	free(it);
	return NULL;
}

bool deepen_next(struct deepen *it, struct deep *ret)
{
	for (unsigned rank = 0; rank < RANK_COUNT; rank++) {
		if (it->first[rank] == it->count[rank])
			continue;
		struct deep *deep = &it->waiting[rank][it->first[rank]++];
		*ret = *deep;
		*deep = (struct deep){0};
		return true;
	}
	return false;
}

/* ---- what was tried ---- */

static uint64_t hash_add(uint64_t hash, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return (hash ^ (len + 0x9e37)) * UINT64_C(0x100000001b3);
}

/* Whether the same parts had their chances: a few, since what is around them may matter. */
static bool is_used(struct deepen *it, uint64_t key)
{
	size_t at = key & (TABLE_SIZE - 1);

	key = key ? key : 1;
	while (it->seen[at].key && it->seen[at].key != key)
		at = (at + 1) & (TABLE_SIZE - 1);
	if (!it->seen[at].key) {
		if (it->seen_count >= TABLE_SIZE / 2)
			return true;
		it->seen_count++;
		it->seen[at].key = key;
	}
	return it->seen[at].times++ >= CONTEXTS;
}

/* ---- guesses ---- */

struct part {
	const char *at;
	size_t len;
};

static struct part part(const char *from, const char *to)
{
	return (struct part){from, (size_t)(to - from)};
}

static void add(struct deepen *it, enum rank rank, const struct part parts[5])
{
	uint64_t key = hash_add(hash_add(UINT64_C(0xcbf29ce484222325) + rank, parts[1].at, parts[1].len),
		parts[3].at, parts[3].len);
	size_t total = 0, at = 0;

	if (parts[1].len == 0 || parts[1].len + parts[3].len > OPEN_MAX ||
		it->count[rank] == ARRAY_LEN(it->waiting[rank]) || is_used(it, key))
		return;
	for (int i = 0; i < 5; i++)
		total += parts[i].len;
	struct deep *deep = &it->waiting[rank][it->count[rank]++];
	*deep = (struct deep){.bytes = xcalloc(total + 1, 1),
		.head = parts[0].len,
		.open = parts[1].len,
		.middle = parts[2].len,
		.close = parts[3].len,
		.tail = parts[4].len,
		.rank = rank};
	for (int i = 0; i < 5; i++) {
		memcpy(deep->bytes + at, parts[i].at, parts[i].len);
		at += parts[i].len;
	}
}

/* The span from..to, of which inner..inner_to is of the same kind: what is between them nests. */
static void add_span(struct deepen *it, struct part all, const char *from, const char *to, const char *inner,
	const char *inner_to)
{
	const char *begin = all.at, *end = all.at + all.len;

	add(it, RANK_SPAN,
		(const struct part[5]){part(begin, from), part(from, inner), part(inner, inner_to),
			part(inner_to, to), part(to, end)});
	add(it, RANK_UNCLOSED,
		(const struct part[5]){part(begin, from), part(from, inner), {"", 0}, {"", 0}, {"", 0}});
}

static bool is_between(char c)
{
	return c == ',' || c == ':' || c == ';' || c == '=' || c == '|' || isspace((unsigned char)c);
}

/* from..to with its brackets: its content, and the first and the last word of it, may be such spans themselves. */
static void add_words(struct deepen *it, struct part all, const char *from, const char *to)
{
	const char *inner = from + 1, *end = to - 1, *first = inner, *last = end;

	add_span(it, all, from, to, inner, end);
	while (first < end && !is_between(*first))
		first++;
	while (last > inner && !is_between(last[-1]))
		last--;
	if (first < end && first > inner)
		add_span(it, all, from, to, inner, first);
	if (last > inner && last <= end)
		add_span(it, all, from, to, last, end);
}

static const char opening[] = "([{<", closed[] = ")]}>";

static void learn_brackets(struct deepen *it, struct part all)
{
	struct {
		const char *at;
		const char *inner, *inner_to; /* the last span directly in it */
	} open[SPANS_MAX];
	size_t depth = 0;

	for (const char *at = all.at; at < all.at + all.len && (size_t)(at - all.at) < DEEPEN_INPUT_MAX; at++) {
		const char *row = *at ? strchr(opening, *at) : NULL, *back = *at ? strchr(closed, *at) : NULL;
		if (row && depth < SPANS_MAX && (size_t)(at - all.at) < LOOK_MAX) {
			open[depth].at = at;
			open[depth++].inner = NULL;
		}
		if (!back)
			continue;
		while (depth && *open[depth - 1].at != opening[back - closed])
			depth--; /* it was not closed */
		if (!depth)
			continue;
		depth--;
		add_words(it, all, open[depth].at, at + 1);
		if (open[depth].inner)
			add_span(it, all, open[depth].at, at + 1, open[depth].inner, open[depth].inner_to);
		if (depth) {
			open[depth - 1].inner = open[depth].at;
			open[depth - 1].inner_to = at + 1;
		}
	}
}

/* <name ...> and, somewhere behind it, </name> */
static void learn_tags(struct deepen *it, struct part all)
{
	const char *end = all.at + all.len;

	for (const char *at = all.at; at < end && (size_t)(at - all.at) < LOOK_MAX; at++) {
		const char *name = at + 1, *stop = name, *inner;
		if (*at != '<')
			continue;
		while (stop < end && (isalnum((unsigned char)*stop) || *stop == '_' || *stop == '-'))
			stop++;
		if (stop == name || !(inner = memchr(stop, '>', (size_t)(end - stop))))
			continue;
		inner++;
		own(freep) char *wanted = xfmt("</%.*s>", (int)(stop - name), name);
		const char *close =
			inner < end ? memmem(inner, (size_t)(end - inner), wanted, strlen(wanted)) : NULL;
		if (close)
			add_span(it, all, at, close + strlen(wanted), inner, close);
	}
}

/* What one input has more than another, around a part that both have, may be there many times. */
static void learn_pair(struct deepen *it, struct part small, struct part large)
{
	size_t head = 0, tail = 0;

	while (head < small.len && small.at[head] == large.at[head])
		head++;
	while (tail < small.len - head && small.at[small.len - 1 - tail] == large.at[large.len - 1 - tail])
		tail++;
	const char *from = large.at + head, *to = large.at + large.len - tail, *end = large.at + large.len;
	size_t same = small.len - head - tail;
	const char *inner = same ? memmem(from, (size_t)(to - from), small.at + head, same) : NULL;
	if (inner && inner > from)
		add(it, RANK_LEARNED,
			(const struct part[5]){part(large.at, from), part(from, inner), part(inner, inner + same),
				part(inner + same, to), part(to, end)});
	else if (same == 0)
		add(it, RANK_LEARNED,
			(const struct part[5]){
				part(large.at, from), part(from, to), part(to, end), {"", 0}, {"", 0}});
	if (same == 0 && head > 0 && to - from >= 2) /* half of it may have gone in front of what both have */
		add(it, RANK_LEARNED,
			(const struct part[5]){{"", 0}, part(from, from + (to - from) / 2), part(large.at, from),
				part(from + (to - from) / 2, to), part(to, end)});
}

static void learn_pairs(struct deepen *it, struct part all)
{
	for (size_t i = 0; all.len <= SAMPLE_MAX && i < it->sample_count; i++) {
		struct part other = {it->samples[i].bytes, it->samples[i].len};
		if (other.len < all.len)
			learn_pair(it, other, all);
		else if (other.len > all.len)
			learn_pair(it, all, other);
	}
	if (all.len > SAMPLE_MAX || it->sample_count == SAMPLES_MAX)
		return;
	struct sample *sample = &it->samples[it->sample_count++];
	memcpy(sample->bytes, all.at, all.len);
	sample->len = all.len;
}

static void learn_wraps(struct deepen *it, struct part all)
{
	for (size_t i = 0; i < sizeof(opening) - 1; i++)
		add(it, RANK_WRAP,
			(const struct part[5]){{"", 0}, {&opening[i], 1}, all, {&closed[i], 1}, {"", 0}});
}

static void learn_repeats(struct deepen *it, struct part all)
{
	const char *end = all.at + all.len;

	for (const char *at = all.at; at < end && (size_t)(at - all.at) < REPEAT_MAX; at++)
		for (size_t len = 1; len <= REPEAT_LEN && len <= (size_t)(end - at); len++)
			add(it, RANK_REPEAT,
				(const struct part[5]){
					part(all.at, at), {at, len}, part(at + len, end), {"", 0}, {"", 0}});
}

void deepen_learn(struct deepen *it, const char *bytes, size_t len)
{
	const struct part all = {bytes, len};

	if (len > DEEPEN_INPUT_MAX)
		return;
	learn_brackets(it, all);
	learn_tags(it, all);
	learn_pairs(it, all);
	learn_wraps(it, all);
	learn_repeats(it, all);
}

/* ---- words of a source ---- */

#define WORDS_MAX 256u
#define WORD_MAX 32u

struct word {
	unsigned char bytes[WORD_MAX];
	size_t len;
};

static int hex_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* What stands behind a backslash; how many bytes of it are used. */
static size_t unescape(const char *at, size_t left, unsigned char *ret)
{
	static const char from[] = "ntrbfva0e", to[] = "\n\t\r\b\f\v\a\0\033";
	const char *row = left && *at ? strchr(from, *at) : NULL;

	*ret = left ? (unsigned char)(row ? to[row - from] : *at) : '\\';
	if (left >= 3 && *at == 'x' && hex_of(at[1]) >= 0 && hex_of(at[2]) >= 0) {
		*ret = (unsigned char)(hex_of(at[1]) * 16 + hex_of(at[2]));
		return 3;
	}
	return left ? 1 : 0;
}

/* A text in quotes that begins here; false: it does not end on its line, or is too long to be a word. */
static bool read_quoted(const char **at, const char *end, struct word *ret)
{
	char quote = *(*at)++;
	bool fits = true;

	ret->len = 0;
	while (*at < end && **at != quote && **at != '\n') {
		unsigned char c = (unsigned char)*(*at)++;
		if (c == '\\')
			*at += unescape(*at, (size_t)(end - *at), &c);
		fits = fits && ret->len < WORD_MAX;
		if (fits)
			ret->bytes[ret->len++] = c;
	}
	if (*at >= end || **at != quote)
		return false;
	(*at)++;
	return fits && ret->len > 0;
}

static bool is_there(const struct word *words, size_t count, const struct word *word)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].len == word->len && memcmp(words[i].bytes, word->bytes, word->len) == 0)
			return true;
	return false;
}

void dict_mine(const char *text, size_t len, struct buf *ret)
{
	own(freep) struct word *words = xcalloc(WORDS_MAX, sizeof(*words));
	const char *at = text, *end = text + len;
	size_t count = 0;

	while (at < end && count < WORDS_MAX) {
		if (*at == '\\') {
			at += end - at > 1 ? 2 : 1;
		} else if (*at != '"' && *at != '\'' && *at != '`') {
			at++;
		} else if (read_quoted(&at, end, &words[count]) && !is_there(words, count, &words[count])) {
			buf_char(ret, '"');
			for (size_t i = 0; i < words[count].len; i++)
				buf_fmt(ret, isalnum(words[count].bytes[i]) ? "%c" : "\\x%02x",
					words[count].bytes[i]);
			buf_str(ret, "\"\n");
			count++;
		}
	}
}
