#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "schema/dict.h"
#include "schema/make.h"

#define LONG_TEXT 5000

/* ---- numbers ---- */

static bool number_give(struct generator *generator, const char *text, size_t len, struct value *ret)
{
	*ret = (struct value){.kind = VALUE_NUMBER, .text = arena_text(&generator->arena, text, len), .len = len};
	return true;
}

/* mantissa * 10^scale, scale <= 0. */
static bool scaled_give(struct generator *generator, __int128 mantissa, int scale, struct value *ret)
{
	char digits[64], *at = digits + sizeof(digits);
	bool negative = mantissa < 0;
	unsigned __int128 left = negative ? -(unsigned __int128)mantissa : (unsigned __int128)mantissa;
	int point = -scale;

	while (point > 0 && left % 10 == 0) {
		left /= 10;
		point--;
	}
	for (int written = 0; left || written <= point; written++) {
		if (written == point && point > 0)
			*--at = '.';
		*--at = (char)('0' + (int)(left % 10));
		left /= 10;
	}
	if (negative)
		*--at = '-';
	return number_give(generator, at, (size_t)(digits + sizeof(digits) - at), ret);
}

/* The index-th number of a range, counted from the one nearest to zero. */
static int64_t nearest(int64_t low, int64_t high, uint64_t index)
{
	if (low >= 0)
		return (int64_t)((uint64_t)low + index);
	if (high <= 0)
		return (int64_t)((uint64_t)high - index);
	uint64_t below = -(uint64_t)low, above = (uint64_t)high, both = below < above ? below : above;
	if (index <= 2 * both)
		return index % 2 ? (int64_t)((index + 1) / 2) : -(int64_t)(index / 2);
	return above > below ? (int64_t)(index - both) : -(int64_t)(index - both);
}

/* Where machines and programs have their limits. */
static const int64_t limits[] = {0, 1, -1, 2, 10, 100, 127, 128, 255, 256, 999, 1000, 1024, 32767, 32768, 65535, 65536, 99999,
	1000000, 16777216, 2147483647, 2147483648, -2147483648, -2147483649, 4294967295, 4294967296, 9007199254740991,
	9007199254740992, 9007199254740993, -9007199254740993, INT64_MAX, INT64_MIN};
static const char *const far_limits[] = {"9223372036854775808", "18446744073709551615", "18446744073709551616", "1e21", "1e100",
	"1.7976931348623157e308", "1e309", "1e400", "-1e400", "5e-324", "1e-400", "0.1", "-0.0", "1.0", "1e1", "0.30000000000000004",
	"123456789012345678901234567890", "-9223372036854775809"};

static bool text_number_fits(const struct shape *shape, const char *text)
{
	const struct number_plan *plan = &shape->number;
	struct number number, bound;

	if (!number_parse(text, strlen(text), &number) || !(shape->types & (number_is_whole(&number) ? TYPE_WHOLE : TYPE_FRACTION)))
		return false;
	for (int i = 0; i < 2; i++) {
		if (!plan->bounds[i] || !number_parse(plan->bounds[i], strlen(plan->bounds[i]), &bound))
			continue;
		int order = i ? -number_compare(&number, &bound) : number_compare(&number, &bound);
		if (order < 0 || (order == 0 && plan->outside[i]))
			return false;
	}
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct number_rules *rules = shape->terms[i].holds ? shape->terms[i].node->number : NULL;
		if (rules && rules->has_factor && !(shape->terms[i].breaks && shape->terms[i].broken.part == PART_FACTOR) &&
			!number_is_multiple(&number, &rules->factor))
			return false;
	}
	return true;
}

/* Bounds too far out for arithmetic here: themselves, or what is next to them in their own way of writing. */
static bool odd_give(struct generator *generator, const struct shape *shape, struct value *ret)
{
	static const char *const ends[] = {"", "1", "e1", "e10", "0", "9"};

	for (int i = 0; i < 2; i++) {
		const char *bound = shape->number.bounds[i];
		for (size_t j = 0; bound && j < ARRAY_LEN(ends); j++) {
			char text[128];
			int len = snprintf(text, sizeof(text), "%s%s", bound, ends[j]);
			if (len > 0 && (size_t)len < sizeof(text) && text_number_fits(shape, text))
				return number_give(generator, text, (size_t)len, ret);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(far_limits); i++) {
		if (text_number_fits(shape, far_limits[i]))
			return number_give(generator, far_limits[i], strlen(far_limits[i]), ret);
	}
	return false;
}

/* Between the steps of the plan: digits are added behind one of its numbers. */
static bool fraction_give(struct generator *generator, const struct shape *shape, int64_t k, struct value *ret)
{
	const struct number_plan *plan = &shape->number;
	uint64_t more = 1 + draw_below(generator->draw, 999);
	__int128 mantissa = (__int128)k * plan->step * 1000;

	/* away from the nearer bound, so that it stays inside */
	mantissa += k < plan->high ? (__int128)more : k > plan->low ? -(__int128)more : 0;
	return scaled_give(generator, mantissa, plan->scale - 3, ret);
}

/* Where `nearest` has it. */
static uint64_t index_of(int64_t low, int64_t high, int64_t k)
{
	uint64_t size = k < 0 ? -(uint64_t)k : (uint64_t)k;

	if (low >= 0)
		return (uint64_t)k - (uint64_t)low;
	if (high <= 0)
		return (uint64_t)high - (uint64_t)k;
	uint64_t below = -(uint64_t)low, above = (uint64_t)high, both = below < above ? below : above;
	if (size > both)
		return size + both;
	return k > 0 ? size * 2 - 1 : size * 2;
}

/* How a number is recorded: the first choice, whatever way led to it. */
enum { NUMBER_STEP, NUMBER_BETWEEN, NUMBER_LIMIT, NUMBER_FAR, NUMBER_WAYS };

static int64_t any_step(struct generator *generator, const struct number_plan *plan, uint64_t way)
{
	struct draw *draw = generator->draw;
	uint64_t size = (uint64_t)plan->high - (uint64_t)plan->low, small = size < 16 ? size : 16;

	if (way >= 6 && way < 8)
		return way == 6 ? plan->low : plan->high;
	if (way >= 8 && way < 12 && plan->scale == 0 && !generator->options.plain) {
		int64_t limit = limits[draw_raw(draw, ARRAY_LEN(limits))] / plan->step;
		if (limit >= plan->low && limit <= plan->high)
			return limit;
	}
	return nearest(plan->low, plan->high, draw_raw(draw, (way == 13 && size < UINT64_MAX ? size : small) + 1));
}

static bool number_made(struct generator *generator, const struct shape *shape, uint64_t way, struct value *ret)
{
	const struct number_plan *plan = &shape->number;
	struct draw *draw = generator->draw;
	uint64_t size = (uint64_t)plan->high - (uint64_t)plan->low;

	if (way == NUMBER_STEP) {
		int64_t k = nearest(plan->low, plan->high, draw_below(draw, size == UINT64_MAX ? size : size + 1));
		return scaled_give(generator, (__int128)k * plan->step, plan->scale, ret);
	}
	if (way == NUMBER_BETWEEN) {
		uint64_t index = draw_below(draw, (size < 16 ? size : 16) + 1);
		return plan->fractions && fraction_give(generator, shape, nearest(plan->low, plan->high, index), ret);
	}
	char text[32];
	const char *far = text;
	if (way == NUMBER_LIMIT)
		(void)snprintf(text, sizeof(text), "%jd", (intmax_t)limits[draw_below(draw, ARRAY_LEN(limits))]);
	else
		far = far_limits[draw_below(draw, ARRAY_LEN(far_limits))];
	return text_number_fits(shape, far) && number_give(generator, far, strlen(far), ret);
}

bool make_number(struct generator *generator, const struct shape *shape, struct value *ret)
{
	const struct number_plan *plan = &shape->number;
	struct draw *draw = generator->draw;
	bool steps = shape->types & TYPE_WHOLE || plan->step > 1 || plan->scale < 0;

	if (plan->odd)
		return odd_give(generator, shape, ret);
	if (draw->replaying || generator->minimal)
		return number_made(generator, shape, draw->replaying ? draw_below(draw, NUMBER_WAYS) : steps ? 0 : 1, ret);
	uint64_t way = draw_raw(draw, 16), other = !steps ? NUMBER_BETWEEN
		: way == 12 && !generator->options.plain  ? NUMBER_FAR
		: way == 11 && !generator->options.plain  ? NUMBER_LIMIT
		: way > 13 && plan->fractions		  ? NUMBER_BETWEEN
							  : NUMBER_STEP;
	draw_force(draw, other);
	size_t count = draw->count;
	if (other != NUMBER_STEP && number_made(generator, shape, other, ret))
		return true;
	if (!steps)
		return false;
	draw_rewind(draw, count - 1, draw->span_count);
	int64_t k = any_step(generator, plan, way);
	draw_force(draw, NUMBER_STEP);
	draw_force(draw, index_of(plan->low, plan->high, k));
	return scaled_give(generator, (__int128)k * plan->step, plan->scale, ret);
}

/* ---- texts ---- */

/* A text is recorded by its length and its characters, whatever way led to it, so that one from a dictionary can be
 * made shorter and simpler like any other. Characters are numbered from the simplest. */
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-."
			       " /:,;=+*()[]{}<>|&%$#@!?'\"\\`~^";
#define PLAIN_COUNT 65 /* of it, for texts without trouble */
#define ASCII_COUNT 128
#define CODE_COUNT 0x110000u
const uint64_t generator_kinds[] = {PLAIN_COUNT, sizeof(alphabet) - 1, ASCII_COUNT};

static uint32_t code_of(uint64_t index)
{
	static const unsigned char controls = 128 - (sizeof(alphabet) - 1);

	if (index < sizeof(alphabet) - 1)
		return (unsigned char)alphabet[index];
	if (index < 128) /* what is left of ASCII: controls, and DEL */
		return index - (sizeof(alphabet) - 1) < (unsigned)(controls - 1) ? (uint32_t)(index - (sizeof(alphabet) - 1)) : 127;
	return (uint32_t)index;
}

static uint64_t index_of_code(uint32_t code)
{
	const char *found = code && code < 128 ? strchr(alphabet, (char)code) : NULL;

	if (code >= 128)
		return code;
	return found ? (uint64_t)(found - alphabet) : code == 127 ? 127 : sizeof(alphabet) - 1 + code;
}

static void code_put(struct buf *out, uint32_t code)
{
	char bytes[4];

	if (halves_meet(out, code))
		code = 'a';
	if (code < 128)
		buf_char(out, (char)code);
	else
		buf_add(out, bytes, utf8_put(code, bytes));
}

static void text_record(struct draw *draw, uint64_t min, const char *text, size_t len)
{
	const char *end = text + len;

	draw_force(draw, text_length(text, len) - min);
	while (text < end) {
		const unsigned char *at = (const unsigned char *)text;
		int size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
		uint32_t code = size == 1 ? at[0] : at[0] & (0x7fu >> size);
		for (int i = 1; i < size && text + i < end; i++)
			code = code << 6 | (at[i] & 0x3f);
		draw_force(draw, index_of_code(code));
		text += size;
	}
}

static bool text_give(struct generator *generator, const char *text, size_t len, struct value *ret)
{
	*ret = (struct value){.kind = VALUE_TEXT, .text = arena_text(&generator->arena, text, len), .len = len};
	return true;
}

/* Given as it is: it outlives the value. */
static bool text_lend(const char *text, size_t len, struct value *ret)
{
	*ret = (struct value){.kind = VALUE_TEXT, .text = (char *)(uintptr_t)text, .len = len};
	return true;
}

/* The text that is recorded next. */
static bool recorded_text(struct generator *generator, const struct text_plan *plan, struct value *ret)
{
	uint64_t most = plan->max < MADE_CHARS_MAX ? plan->max : MADE_CHARS_MAX;
	uint64_t len = plan->min + (most > plan->min ? draw_below(generator->draw, most - plan->min + 1) : draw_below(generator->draw, 1));

	generator->text.len = 0;
	for (uint64_t i = 0; i < len; i++)
		code_put(&generator->text, code_of(draw_below(generator->draw, CODE_COUNT)));
	return text_give(generator, buf_text(&generator->text), generator->text.len, ret);
}

/* Of the first so many characters. */
static bool plain_text(struct generator *generator, const struct text_plan *plan, uint64_t more, uint64_t letters, struct value *ret)
{
	struct draw *draw = generator->draw;
	uint64_t room = plan->max - plan->min < more ? plan->max - plan->min : more;
	uint64_t len = plan->min + (generator->minimal ? 0 : draw_raw(draw, room + 1));
	char *text = arena_take(&generator->arena, len + 1);

	draw_force(draw, len - plan->min);
	for (uint64_t i = 0; i < len; i++)
		text[i] = (char)code_of(draw_below(draw, letters));
	text[len] = '\0';
	*ret = (struct value){.kind = VALUE_TEXT, .text = text, .len = len};
	return true;
}

/* One character over and over, as often as may be. */
static bool long_text(struct generator *generator, const struct text_plan *plan, struct value *ret)
{
	uint64_t most = plan->max < LONG_TEXT ? plan->max : LONG_TEXT;
	uint64_t len = plan->min > most ? plan->min : most;
	char *text = arena_take(&generator->arena, len + 1);

	memset(text, alphabet[draw_raw(generator->draw, PLAIN_COUNT)], len);
	text[len] = '\0';
	text_record(generator->draw, plan->min, text, len);
	*ret = (struct value){.kind = VALUE_TEXT, .text = text, .len = len};
	return true;
}

/* Characters from all over Unicode. */
static bool wide_text(struct generator *generator, const struct text_plan *plan, struct value *ret)
{
	static const uint32_t blocks[] = {0x20, 0xa0, 0x300, 0x370, 0x400, 0x590, 0x600, 0x200b, 0x2028, 0x202a, 0x2066, 0x3040, 0xac00,
		0xd800, 0xdc00, 0xe000, 0xfe00, 0xfeff, 0xff01, 0xfff0, 0x1d400, 0x1f1e6, 0x1f600, 0xe0001, 0x10fff0, 0};
	struct draw *draw = generator->draw;
	uint64_t room = plan->max - plan->min < 6 ? plan->max - plan->min : 6, len = plan->min + draw_raw(draw, room + 1);

	generator->text.len = 0;
	for (uint64_t i = 0; i < len; i++)
		code_put(&generator->text, blocks[draw_raw(draw, ARRAY_LEN(blocks))] + (uint32_t)draw_raw(draw, 16));
	text_record(draw, plan->min, buf_text(&generator->text), generator->text.len);
	return text_give(generator, buf_text(&generator->text), generator->text.len, ret);
}

static bool listed_text(struct generator *generator, const struct shape *shape, unsigned hints, struct value *ret)
{
	size_t known = dict_count(hints), words = generator->word_count;
	/* the caller's are few, and meant for this target */
	bool own_word = words && draw_raw(generator->draw, 2);
	size_t index = own_word ? known + (size_t)draw_raw(generator->draw, words) : (size_t)draw_raw(generator->draw, known);
	struct dict_entry entry = {0};

	if (index < known)
		entry = dict_get(hints, index);
	else
		entry.text = generator->options.words[index - known], entry.len = strlen(entry.text);
	if (!shape_text_fits(shape, entry.text, entry.len))
		return false;
	text_record(generator->draw, shape->text.min, entry.text, entry.len);
	return text_lend(entry.text, entry.len, ret);
}

static bool drawn_length_fits(const struct generator *generator, const struct text_plan *plan)
{
	size_t length;

	if (plan->min == 0 && plan->max >= generator->text.len)
		return true; /* bytes are at least as many as characters */
	length = text_length(buf_text(&generator->text), generator->text.len);
	return length >= plan->min && length <= plan->max;
}

static bool drawn_text(struct generator *generator, const struct shape *shape, struct value *ret)
{
	const struct text_plan *plan = &shape->text;
	uint32_t min = (uint32_t)plan->min, max = plan->max >= ECMA_FOREVER ? ECMA_FOREVER : (uint32_t)plan->max;

	for (int i = 0; i < (generator->draw->replaying ? 1 : 20); i++) {
		size_t count = generator->draw->count;
		generator->text.len = 0;
		if (ecma_draw(plan->tree, generator->draw, &generator->shapes.arena, min, max, &generator->text) &&
			(plan->exact ? drawn_length_fits(generator, plan)
				      : shape_text_fits(shape, buf_text(&generator->text), generator->text.len)))
			return text_give(generator, buf_text(&generator->text), generator->text.len, ret);
		draw_rewind(generator->draw, count, generator->draw->span_count);
	}
	return false;
}

/* What an expression that looks ahead asks for may be in a dictionary. */
static bool searched_text(struct generator *generator, const struct shape *shape, struct value *ret)
{
	for (size_t i = 0; i < dict_count(dict_all); i++) {
		struct dict_entry entry = dict_get(dict_all, i);
		if (!shape_text_fits(shape, entry.text, entry.len))
			continue;
		text_record(generator->draw, shape->text.min, entry.text, entry.len);
		return text_lend(entry.text, entry.len, ret);
	}
	return plain_text(generator, &shape->text, 30, PLAIN_COUNT, ret) && shape_text_fits(shape, ret->text, ret->len);
}

/* Without an expression, or beside it. The first choice, if there is one: 0 drawn from it, 1 as it is recorded. */
static bool free_text(struct generator *generator, const struct shape *shape, unsigned hints, uint64_t way, struct value *ret)
{
	const struct text_plan *plan = &shape->text;

	if (way == 11 || !hints)
		hints |= generator->about;
	if (way >= 10 && way < 14 && listed_text(generator, shape, way == 10 || !hints ? dict_all : hints, ret))
		return true;
	if (plan->tree && way != 15)
		return false;
	if (way == 14)
		(void)wide_text(generator, plan, ret);
	else if (way == 15 && draw_raw(generator->draw, 32) == 0)
		(void)long_text(generator, plan, ret);
	else
		(void)plain_text(generator, plan, way < 9 ? 8 : 24,
			way == 8 ? sizeof(alphabet) - 1 : way == 9 ? ASCII_COUNT : PLAIN_COUNT, ret);
	return !plan->checked || shape_text_fits(shape, ret->text, ret->len);
}

bool make_text(struct generator *generator, const struct shape *shape, unsigned hints, struct value *ret)
{
	const struct text_plan *plan = &shape->text;
	struct draw *draw = generator->draw;
	size_t count = draw->count;

	if (plan->min > MADE_CHARS_MAX) {
		generator->why = "a text has to be longer than any that is made";
		return false;
	}
	if (draw->replaying) {
		if (plan->tree && draw_below(draw, 2) == 0)
			return drawn_text(generator, shape, ret);
		return recorded_text(generator, plan, ret) && (!plan->checked || shape_text_fits(shape, ret->text, ret->len));
	}
	uint64_t way = generator->minimal ? 0 : draw_raw(draw, generator->options.plain ? 6 : 16);
	if (!plan->tree)
		return free_text(generator, shape, hints | plan->hints, way, ret);
	if (way >= 10) {
		draw_force(draw, 1);
		if (free_text(generator, shape, hints | plan->hints, way, ret))
			return true;
		draw_rewind(draw, count, draw->span_count);
	}
	draw_force(draw, 0);
	if (drawn_text(generator, shape, ret))
		return true;
	draw_rewind(draw, count, draw->span_count);
	draw_force(draw, 1);
	return plan->checked && searched_text(generator, shape, ret);
}
