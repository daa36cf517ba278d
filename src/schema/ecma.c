#include "schema/ecma.h"

#include <string.h>

#include "base/utf8.h"

#define GROUPS_MAX 256
#define CODE_MAX 0x10ffffu

struct reader {
	const char *at, *end;
	struct arena *arena;
	struct err *err;
	unsigned groups; /* opened so far */
	unsigned group_total;
	struct {
		const char *name;
		size_t len;
	} names[GROUPS_MAX]; /* of groups, from 1 */
};

/* A growing list of tree nodes or ranges, before it is copied into the arena. */
struct set {
	struct buf ranges, properties;
};

static struct ecma *choice_read(struct reader *reader, unsigned depth);

static struct ecma *fail(struct reader *reader, const char *sentence)
{
	(void)err_set(reader->err, ERR_USAGE, "%s", sentence);
	return NULL;
}

static struct ecma *node_new(struct reader *reader, enum ecma_kind kind)
{
	struct ecma *node = arena_zeroed(reader->arena, 1, sizeof(*node));

	node->kind = kind;
	return node;
}

static bool next_is(const struct reader *reader, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(reader->end - reader->at) >= len && memcmp(reader->at, text, len) == 0;
}

static bool take(struct reader *reader, const char *text)
{
	if (!next_is(reader, text))
		return false;
	reader->at += strlen(text);
	return true;
}

/* The character at the reader; what is no UTF-8 is taken byte by byte, halves of surrogate pairs as what they are. */
static uint32_t char_take(struct reader *reader)
{
	const unsigned char *at = (const unsigned char *)reader->at;
	size_t left = (size_t)(reader->end - reader->at);
	int size = utf8_char(reader->at, left);

	if (size <= 0 && left >= 3 && at[0] == 0xed)
		size = 3;
	if (size <= 0)
		size = 1;
	reader->at += size;
	uint32_t code = size == 1 ? at[0] : at[0] & (0x7fu >> size);
	for (int i = 1; i < size; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

/* ---- sets of characters ---- */

static const struct ecma_range digit_ranges[] = {{'0', '9'}};
static const struct ecma_range word_ranges[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct ecma_range space_ranges[] = {{9, 13}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a},
	{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
static const struct ecma_range line_ranges[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

static void set_done(struct set *set)
{
	buf_done(&set->ranges);
	buf_done(&set->properties);
}

static void set_add(struct set *set, uint32_t low, uint32_t high)
{
	struct ecma_range range = {low, high};

	buf_add(&set->ranges, &range, sizeof(range));
}

static void set_add_all(struct set *set, const struct ecma_range *ranges, size_t count, bool negated)
{
	uint32_t from = 0;

	for (size_t i = 0; i < count; i++) {
		if (!negated)
			set_add(set, ranges[i].low, ranges[i].high);
		else if (ranges[i].low > from)
			set_add(set, from, ranges[i].low - 1);
		from = ranges[i].high + 1;
	}
	if (negated && from <= CODE_MAX)
		set_add(set, from, CODE_MAX);
}

static int range_compare(const void *a, const void *b)
{
	const struct ecma_range *left = a, *right = b;

	return (left->low > right->low) - (left->low < right->low);
}

/* A node of what was gathered, ranges sorted and joined; where there are no properties, a negation is carried out. */
static struct ecma *set_node(struct reader *reader, struct set *set, bool negated)
{
	struct ecma *node = node_new(reader, ECMA_SET);
	struct ecma_range *ranges = (struct ecma_range *)(void *)set->ranges.data;
	size_t count = set->ranges.len / sizeof(*ranges), kept = 0;

	if (count)
		qsort(ranges, count, sizeof(*ranges), range_compare);
	for (size_t i = 0; i < count; i++) {
		if (kept && ranges[i].low <= ranges[kept - 1].high + 1) {
			if (ranges[i].high > ranges[kept - 1].high)
				ranges[kept - 1].high = ranges[i].high;
		} else {
			ranges[kept++] = ranges[i];
		}
	}
	own(set_done) struct set other = {0};
	if (negated && !set->properties.len) {
		set_add_all(&other, ranges, kept, true);
		ranges = (struct ecma_range *)(void *)other.ranges.data;
		kept = other.ranges.len / sizeof(*ranges);
		negated = false;
	}
	node->ranges = (struct ecma_range *)(void *)arena_text(reader->arena, (const char *)ranges, kept * sizeof(*ranges));
	node->range_count = kept;
	node->properties = (struct ecma_property *)(void *)arena_text(
		reader->arena, buf_text(&set->properties), set->properties.len);
	node->property_count = set->properties.len / sizeof(struct ecma_property);
	node->negated = negated;
	node->least = node->most = 1;
	return node;
}

/* ---- escapes ---- */

static int hex_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex_take(struct reader *reader, int digits, uint32_t *ret)
{
	uint32_t code = 0;

	if (reader->end - reader->at < digits)
		return false;
	for (int i = 0; i < digits; i++) {
		int digit = hex_of(reader->at[i]);
		if (digit < 0)
			return false;
		code = code * 16 + (uint32_t)digit;
	}
	reader->at += digits;
	*ret = code;
	return true;
}

/* What follows "\u". */
static bool unicode_take(struct reader *reader, uint32_t *ret)
{
	uint32_t low;

	if (take(reader, "{")) {
		uint32_t code = 0;
		int digits = 0;
		for (; reader->at < reader->end && hex_of(*reader->at) >= 0 && code <= CODE_MAX; digits++)
			code = code * 16 + (uint32_t)hex_of(*reader->at++);
		*ret = code;
		return digits && code <= CODE_MAX && take(reader, "}");
	}
	if (!hex_take(reader, 4, ret))
		return false;
	const char *behind = reader->at;
	if (*ret >= 0xd800 && *ret < 0xdc00 && take(reader, "\\u")) {
		if (hex_take(reader, 4, &low) && low >= 0xdc00 && low < 0xe000)
			*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
		else
			reader->at = behind;
	}
	return true;
}

/* General categories by their long names; PCRE2 knows the short ones only. */
static const char *const categories[][2] = {{"Letter", "L"}, {"Cased_Letter", "L&"}, {"LC", "L&"}, {"Uppercase_Letter", "Lu"},
	{"Lowercase_Letter", "Ll"}, {"Titlecase_Letter", "Lt"}, {"Modifier_Letter", "Lm"}, {"Other_Letter", "Lo"}, {"Mark", "M"},
	{"Nonspacing_Mark", "Mn"}, {"Spacing_Mark", "Mc"}, {"Enclosing_Mark", "Me"}, {"Number", "N"}, {"Decimal_Number", "Nd"},
	{"digit", "Nd"}, {"Letter_Number", "Nl"}, {"Other_Number", "No"}, {"Punctuation", "P"}, {"punct", "P"},
	{"Connector_Punctuation", "Pc"}, {"Dash_Punctuation", "Pd"}, {"Open_Punctuation", "Ps"}, {"Close_Punctuation", "Pe"},
	{"Initial_Punctuation", "Pi"}, {"Final_Punctuation", "Pf"}, {"Other_Punctuation", "Po"}, {"Symbol", "S"},
	{"Math_Symbol", "Sm"}, {"Currency_Symbol", "Sc"}, {"Modifier_Symbol", "Sk"}, {"Other_Symbol", "So"}, {"Separator", "Z"},
	{"Space_Separator", "Zs"}, {"Line_Separator", "Zl"}, {"Paragraph_Separator", "Zp"}, {"Other", "C"}, {"Control", "Cc"},
	{"cntrl", "Cc"}, {"Format", "Cf"}, {"Surrogate", "Cs"}, {"Private_Use", "Co"}, {"Unassigned", "Cn"}};

static const char *property_name(struct reader *reader, const char *name, size_t len)
{
	static const char *const prefixes[][2] = {{"General_Category=", ""}, {"gc=", ""}, {"Script=", "sc:"}, {"sc=", "sc:"},
		{"Script_Extensions=", "scx:"}, {"scx=", "scx:"}};
	const char *prefix = "";

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		size_t skip = strlen(prefixes[i][0]);
		if (len > skip && memcmp(name, prefixes[i][0], skip) == 0) {
			prefix = prefixes[i][1];
			name += skip;
			len -= skip;
			break;
		}
	}
	for (size_t i = 0; !*prefix && i < ARRAY_LEN(categories); i++) {
		if (strlen(categories[i][0]) == len && memcmp(categories[i][0], name, len) == 0)
			return categories[i][1];
	}
	char *whole = arena_take(reader->arena, strlen(prefix) + len + 1);
	(void)stpcpy(stpcpy(whole, prefix), "");
	memcpy(whole + strlen(prefix), name, len);
	whole[strlen(prefix) + len] = '\0';
	return whole;
}

/* What follows "\p" or "\P". */
static bool property_take(struct reader *reader, bool negated, struct set *set)
{
	const char *name = reader->at + 1;

	if (!take(reader, "{"))
		return false;
	while (reader->at < reader->end && (hex_of(*reader->at) >= 0 || strchr("_=", *reader->at) ||
			(*reader->at >= 'A' && *reader->at <= 'Z') || (*reader->at >= 'a' && *reader->at <= 'z')))
		reader->at++;
	size_t len = (size_t)(reader->at - name);
	if (!len || !take(reader, "}"))
		return false;
	struct ecma_property property = {property_name(reader, name, len), negated};
	buf_add(&set->properties, &property, sizeof(property));
	return true;
}

/* A class such as \d into the set; false if the letter is none. */
static bool class_take(struct reader *reader, char letter, struct set *set, bool *ret_bad)
{
	static const struct {
		char letter;
		bool negated;
		const struct ecma_range *ranges;
		size_t count;
	} classes[] = {
		{'d', false, digit_ranges, ARRAY_LEN(digit_ranges)}, {'D', true, digit_ranges, ARRAY_LEN(digit_ranges)},
		{'w', false, word_ranges, ARRAY_LEN(word_ranges)}, {'W', true, word_ranges, ARRAY_LEN(word_ranges)},
		{'s', false, space_ranges, ARRAY_LEN(space_ranges)}, {'S', true, space_ranges, ARRAY_LEN(space_ranges)},
	};

	if (letter == 'p' || letter == 'P') {
		*ret_bad = !property_take(reader, letter == 'P', set);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		if (classes[i].letter == letter) {
			set_add_all(set, classes[i].ranges, classes[i].count, classes[i].negated);
			return true;
		}
	}
	return false;
}

/* An escape that stands for one character; the backslash and `letter` are taken. */
static bool escape_char(struct reader *reader, char letter, uint32_t *ret)
{
	static const char letters[] = "tnvfr", meant[] = "\t\n\v\f\r";
	const char *found = letter ? strchr(letters, letter) : NULL;

	if (found)
		*ret = (unsigned char)meant[found - letters];
	else if (letter == 'x')
		return hex_take(reader, 2, ret);
	else if (letter == 'u')
		return unicode_take(reader, ret);
	else if (letter == '0' && (reader->at == reader->end || *reader->at < '0' || *reader->at > '9'))
		*ret = 0;
	else if (letter == 'c') {
		if (reader->at == reader->end || !((*reader->at | 32) >= 'a' && (*reader->at | 32) <= 'z'))
			return false;
		*ret = (uint32_t)(*reader->at++ & 31);
	} else if ((letter >= '0' && letter <= '9') || ((letter | 32) >= 'a' && (letter | 32) <= 'z'))
		return false; /* a letter without a meaning: another dialect's, most likely */
	else {
		reader->at--;
		*ret = char_take(reader);
	}
	return true;
}

/* One member of a bracket expression: a character into *ret, or a class into the set with *ret_class. */
static bool member_take(struct reader *reader, struct set *set, uint32_t *ret, bool *ret_class)
{
	bool bad = false;

	*ret_class = false;
	if (!take(reader, "\\")) {
		*ret = char_take(reader);
		return true;
	}
	if (reader->at == reader->end)
		return false;
	char letter = *reader->at++;
	if (letter == 'b') {
		*ret = '\b';
		return true;
	}
	if (class_take(reader, letter, set, &bad)) {
		*ret_class = true;
		return !bad;
	}
	return escape_char(reader, letter, ret);
}

/* What follows '['. */
static struct ecma *bracket_read(struct reader *reader)
{
	own(set_done) struct set set = {0};
	bool negated = take(reader, "^");

	while (!take(reader, "]")) {
		uint32_t low, high;
		bool class, other;
		if (reader->at == reader->end)
			return fail(reader, "a '[' is not closed");
		if (!member_take(reader, &set, &low, &class))
			return fail(reader, "a backslash in brackets is followed by what ECMA-262 gives no meaning");
		if (!next_is(reader, "-") || next_is(reader, "-]")) {
			if (!class)
				set_add(&set, low, low);
			continue;
		}
		reader->at++;
		if (reader->at == reader->end || !member_take(reader, &set, &high, &other))
			return fail(reader, "a range in brackets has no end");
		if (class || other) { /* as the web has it: the '-' is itself */
			set_add(&set, '-', '-');
			if (!class)
				set_add(&set, low, low);
			if (!other)
				set_add(&set, high, high);
		} else if (low > high) {
			return fail(reader, "a range in brackets ends before it begins");
		} else {
			set_add(&set, low, high);
		}
	}
	return set_node(reader, &set, negated);
}

static struct ecma *char_node(struct reader *reader, uint32_t code)
{
	own(set_done) struct set set = {0};

	set_add(&set, code, code);
	return set_node(reader, &set, false);
}

static struct ecma *back_read(struct reader *reader, unsigned index)
{
	if (index == 0 || index > reader->group_total)
		return fail(reader, "it refers back to a group that is not there");
	struct ecma *node = node_new(reader, ECMA_BACK);
	node->index = index;
	node->most = ECMA_FOREVER;
	return node;
}

static struct ecma *named_back_read(struct reader *reader)
{
	const char *name = reader->at + 1;
	const char *close = reader->at < reader->end ? memchr(reader->at, '>', (size_t)(reader->end - reader->at)) : NULL;

	if (!close || *reader->at != '<')
		return fail(reader, "\\k is not followed by the name of a group");
	reader->at = close + 1;
	for (unsigned i = 1; i < GROUPS_MAX; i++) {
		if (reader->names[i].name && reader->names[i].len == (size_t)(close - name) &&
			memcmp(reader->names[i].name, name, reader->names[i].len) == 0)
			return back_read(reader, i);
	}
	return fail(reader, "it refers back to a group that is not there");
}

/* What follows a backslash outside of brackets. */
static struct ecma *escape_read(struct reader *reader)
{
	own(set_done) struct set set = {0};
	bool bad = false;
	uint32_t code;

	if (reader->at == reader->end)
		return fail(reader, "it ends in a backslash");
	char letter = *reader->at++;
	if (letter == 'b' || letter == 'B') {
		struct ecma *node = node_new(reader, ECMA_WORD);
		node->negated = letter == 'B';
		return node;
	}
	if (letter == 'k')
		return named_back_read(reader);
	if (letter >= '1' && letter <= '9') {
		unsigned index = (unsigned)(letter - '0');
		while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' && index < GROUPS_MAX)
			index = index * 10 + (unsigned)(*reader->at++ - '0');
		return back_read(reader, index);
	}
	if (class_take(reader, letter, &set, &bad))
		return bad ? fail(reader, "\\p is not followed by a property in braces") : set_node(reader, &set, false);
	if (!escape_char(reader, letter, &code))
		return fail(reader, "a backslash is followed by what ECMA-262 gives no meaning");
	return char_node(reader, code);
}

/* ---- groups, counts, sequences ---- */

static struct ecma *wrap(struct reader *reader, enum ecma_kind kind, struct ecma *child)
{
	struct ecma *node = node_new(reader, kind);

	node->children = arena_take(reader->arena, sizeof(*node->children));
	node->children[0] = child;
	node->count = 1;
	node->least = child->least;
	node->most = child->most;
	return node;
}

static struct ecma *close_group(struct reader *reader, struct ecma *inside)
{
	if (inside && !take(reader, ")"))
		return fail(reader, "a '(' is not closed");
	return inside;
}

static struct ecma *look_read(struct reader *reader, bool behind, bool negated, unsigned depth)
{
	struct ecma *inside = close_group(reader, choice_read(reader, depth));

	if (!inside)
		return NULL;
	struct ecma *node = wrap(reader, ECMA_LOOK, inside);
	node->behind = behind;
	node->negated = negated;
	node->least = node->most = 0;
	return node;
}

/* What follows '('. */
static struct ecma *group_read(struct reader *reader, unsigned depth)
{
	if (depth >= ECMA_DEPTH_MAX)
		return fail(reader, "its groups are nested too deep");
	if (take(reader, "?:"))
		return close_group(reader, choice_read(reader, depth + 1));
	if (take(reader, "?="))
		return look_read(reader, false, false, depth + 1);
	if (take(reader, "?!"))
		return look_read(reader, false, true, depth + 1);
	if (take(reader, "?<="))
		return look_read(reader, true, false, depth + 1);
	if (take(reader, "?<!"))
		return look_read(reader, true, true, depth + 1);
	unsigned index = ++reader->groups;
	if (take(reader, "?<")) {
		const char *close = memchr(reader->at, '>', (size_t)(reader->end - reader->at));
		if (!close || close == reader->at)
			return fail(reader, "the name of a group is not closed");
		reader->at = close + 1; /* names were gathered beforehand */
	} else if (next_is(reader, "?")) {
		return fail(reader, "'(?' is followed by what ECMA-262 gives no meaning");
	}
	struct ecma *inside = close_group(reader, choice_read(reader, depth + 1));
	if (!inside)
		return NULL;
	struct ecma *node = wrap(reader, ECMA_GROUP, inside);
	node->index = index;
	return node;
}

static bool count_take(struct reader *reader, uint32_t *ret)
{
	const char *from = reader->at;
	uint64_t count = 0;

	for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
		count = count > ECMA_FOREVER ? count : count * 10 + (uint64_t)(*reader->at - '0');
	*ret = count >= ECMA_FOREVER ? ECMA_FOREVER - 1 : (uint32_t)count;
	return reader->at > from;
}

/* "{2}", "{2,}", "{2,5}"; false and nothing taken if it is not one of them. */
static bool braces_take(struct reader *reader, uint32_t *min, uint32_t *max)
{
	const char *from = reader->at;

	if (take(reader, "{") && count_take(reader, min)) {
		*max = *min;
		if (take(reader, ",") && !count_take(reader, max))
			*max = ECMA_FOREVER;
		if (take(reader, "}"))
			return true;
	}
	reader->at = from;
	return false;
}

static uint32_t times(uint32_t a, uint32_t b)
{
	uint64_t product = (uint64_t)a * b;

	return a == 0 || b == 0 ? 0 : a == ECMA_FOREVER || b == ECMA_FOREVER || product >= ECMA_FOREVER ? ECMA_FOREVER
													: (uint32_t)product;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
	return a == ECMA_FOREVER || b >= ECMA_FOREVER - a ? ECMA_FOREVER : a + b;
}

static struct ecma *counted(struct reader *reader, struct ecma *term)
{
	uint32_t min, max;

	if (take(reader, "*"))
		min = 0, max = ECMA_FOREVER;
	else if (take(reader, "+"))
		min = 1, max = ECMA_FOREVER;
	else if (take(reader, "?"))
		min = 0, max = 1;
	else if (!braces_take(reader, &min, &max))
		return term;
	if (min > max)
		return fail(reader, "a count in braces ends before it begins");
	if (term->kind == ECMA_START || term->kind == ECMA_END || term->kind == ECMA_WORD)
		return fail(reader, "a count follows what matches no character");
	struct ecma *node = wrap(reader, ECMA_REPEAT, term);
	node->min = min;
	node->max = max;
	node->lazy = take(reader, "?");
	node->least = times(term->least, min);
	node->most = times(term->most, max);
	return node;
}

static struct ecma *term_read(struct reader *reader, unsigned depth)
{
	own(set_done) struct set set = {0};

	if (take(reader, "("))
		return group_read(reader, depth);
	if (take(reader, "["))
		return bracket_read(reader);
	if (take(reader, "\\"))
		return escape_read(reader);
	if (take(reader, "^"))
		return node_new(reader, ECMA_START);
	if (take(reader, "$"))
		return node_new(reader, ECMA_END);
	if (take(reader, ".")) {
		set_add_all(&set, line_ranges, ARRAY_LEN(line_ranges), true);
		return set_node(reader, &set, false);
	}
	if (next_is(reader, "*") || next_is(reader, "+") || next_is(reader, "?"))
		return fail(reader, "a count follows nothing");
	return char_node(reader, char_take(reader));
}

static struct ecma *list_node(struct reader *reader, enum ecma_kind kind, const struct buf *list)
{
	struct ecma *node = node_new(reader, kind);

	node->count = list->len / sizeof(struct ecma *);
	node->children = (struct ecma **)(void *)arena_text(reader->arena, buf_text(list), list->len);
	node->least = kind == ECMA_CHOICE ? ECMA_FOREVER : 0;
	for (size_t i = 0; i < node->count; i++) {
		const struct ecma *child = node->children[i];
		if (kind == ECMA_SEQUENCE) {
			node->least = plus(node->least, child->least);
			node->most = plus(node->most, child->most);
		} else {
			node->least = child->least < node->least ? child->least : node->least;
			node->most = child->most > node->most ? child->most : node->most;
		}
	}
	return node;
}

static struct ecma *sequence_read(struct reader *reader, unsigned depth)
{
	own(buf_done) struct buf list = {0};

	while (reader->at < reader->end && *reader->at != '|' && *reader->at != ')') {
		struct ecma *term = term_read(reader, depth);
		if (term)
			term = counted(reader, term);
		if (!term)
			return NULL;
		buf_add(&list, &term, sizeof(term));
	}
	return list_node(reader, ECMA_SEQUENCE, &list);
}

static struct ecma *choice_read(struct reader *reader, unsigned depth)
{
	own(buf_done) struct buf list = {0};
	struct ecma *branch;

	do {
		branch = sequence_read(reader, depth);
		if (!branch)
			return NULL;
		buf_add(&list, &branch, sizeof(branch));
	} while (take(reader, "|"));
	return list.len == sizeof(branch) ? branch : list_node(reader, ECMA_CHOICE, &list);
}

/* Groups are numbered and named before anything is read, since a reference may come before its group. */
static bool groups_gather(struct reader *reader)
{
	bool brackets = false;

	for (const char *at = reader->at; at < reader->end; at++) {
		if (*at == '\\')
			at++;
		else if (brackets || *at == '[')
			brackets = *at != ']';
		else if (*at == '(' && (reader->end - at < 3 || at[1] != '?' ||
				(at[2] == '<' && reader->end - at > 3 && at[3] != '=' && at[3] != '!'))) {
			if (++reader->group_total >= GROUPS_MAX)
				return false;
			if (reader->end - at < 4 || at[1] != '?')
				continue;
			const char *close = memchr(at, '>', (size_t)(reader->end - at));
			reader->names[reader->group_total].name = at + 3;
			reader->names[reader->group_total].len = close ? (size_t)(close - at - 3) : 0;
		}
	}
	return true;
}

struct ecma *ecma_parse(const char *text, size_t len, struct arena *arena, struct err *err)
{
	struct reader reader = {.at = text, .end = text + len, .arena = arena, .err = err};

	if (len > ECMA_TEXT_MAX || !groups_gather(&reader)) {
		(void)err_set(err, ERR_LIMIT, "it is longer than %u bytes or has more than %d groups", ECMA_TEXT_MAX,
			GROUPS_MAX - 1);
		return NULL;
	}
	struct ecma *tree = choice_read(&reader, 0);
	if (tree && reader.at < reader.end)
		return fail(&reader, "a ')' closes nothing");
	return tree;
}

/* ---- writing ---- */

static void range_write(const struct ecma_range *range, struct buf *out)
{
	bool plain = range->low == range->high && range->low < 128 &&
		((range->low >= '0' && range->low <= '9') || ((range->low | 32) >= 'a' && (range->low | 32) <= 'z'));

	if (plain)
		buf_char(out, (char)range->low);
	else
		buf_fmt(out, "\\x{%x}", range->low);
	if (range->high > range->low)
		buf_fmt(out, "-\\x{%x}", range->high);
}

/* A range without the halves of surrogate pairs, which are written as what stands for them. */
static void range_write_apart(const struct ecma_range *range, struct buf *out)
{
	uint32_t low = range->low > 0xd800 ? range->low : 0xd800, high = range->high < 0xdfff ? range->high : 0xdfff;
	const struct ecma_range below = {range->low, 0xd7ff}, above = {0xe000, range->high};
	const struct ecma_range halves = {low - 0xd800 + ECMA_HALVES, high - 0xd800 + ECMA_HALVES};

	if (low > high) {
		range_write(range, out);
		return;
	}
	if (range->low < 0xd800)
		range_write(&below, out);
	if (range->high > 0xdfff)
		range_write(&above, out);
	range_write(&halves, out);
}

static void set_write(const struct ecma *set, struct buf *out)
{
	bool one = set->range_count == 1 && set->ranges->low == set->ranges->high && !set->property_count && !set->negated;

	if (!set->range_count && !set->property_count) {
		buf_str(out, "(?!)");
		return;
	}
	if (!one)
		buf_str(out, set->negated ? "[^" : "[");
	for (size_t i = 0; i < set->range_count; i++)
		range_write_apart(&set->ranges[i], out);
	for (size_t i = 0; i < set->property_count; i++)
		buf_fmt(out, "\\%c{%s}", set->properties[i].negated ? 'P' : 'p', set->properties[i].name);
	if (!one)
		buf_char(out, ']');
}

static void children_write(const struct ecma *node, const char *open, const char *between, struct buf *out)
{
	buf_str(out, open);
	for (size_t i = 0; i < node->count; i++) {
		if (i)
			buf_str(out, between);
		ecma_write(node->children[i], out);
	}
	buf_char(out, ')');
}

static void repeat_write(const struct ecma *node, struct buf *out)
{
	children_write(node, "(?:", "", out);
	if (node->max == ECMA_FOREVER)
		buf_fmt(out, "{%u,}", node->min);
	else
		buf_fmt(out, "{%u,%u}", node->min, node->max);
	if (node->lazy)
		buf_char(out, '?');
}

void ecma_write(const struct ecma *node, struct buf *out)
{
	switch (node->kind) {
	case ECMA_SET:
		set_write(node, out);
		break;
	case ECMA_SEQUENCE:
		for (size_t i = 0; i < node->count; i++)
			ecma_write(node->children[i], out);
		break;
	case ECMA_CHOICE:
		children_write(node, "(?:", "|", out);
		break;
	case ECMA_REPEAT:
		repeat_write(node, out);
		break;
	case ECMA_GROUP:
		children_write(node, "(", "", out);
		break;
	case ECMA_BACK:
		buf_fmt(out, "\\g{%u}", node->index);
		break;
	case ECMA_START:
		buf_str(out, "\\A");
		break;
	case ECMA_END:
		buf_str(out, "\\z");
		break;
	case ECMA_WORD:
		buf_str(out, node->negated ? "\\B" : "\\b");
		break;
	case ECMA_LOOK:
		children_write(node, node->behind ? node->negated ? "(?<!" : "(?<=" : node->negated ? "(?!" : "(?=", "", out);
		break;
	}
}
