/* What of a message is the input's, in whatever way it was written there. See finding.h.
 *
 * A program that says what was wrong often says with what: "bad value ab\x00c", cut after so many bytes, as Python, JSON or a
 * terminal would quote it, and in capitals. So both sides are read as characters, with every escape undone until there is none
 * left, and blanks and what cannot be shown left out; what is then in both, from the beginning of a word to the end of one, is
 * the input's. */
#include <ctype.h>
#include <string.h>

#include "base/json_read.h"
#include "base/own.h"
#include "base/utf8.h"
#include "finding/finding.h"

#define MESSAGE_MAX 512u /* bytes of a message that are looked at */
#define TEXTS_MAX ((size_t)64 << 10) /* characters of an input */
#define ECHO_MIN 3u /* characters; fewer are in both by chance */
#define ECHO_SURE 8u /* so many are no chance, wherever a word begins or ends */
#define KEY_MIN 3u
#define PASSES 4 /* escapes of escapes */
#define BUCKETS 1024u
#define SCHEMA_DEPTH 200u
#define FOREIGN 0x110000u /* any letter that is not of ASCII */

static const struct json_limits input_limits = {.bytes = CAPSULE_MAX, .values = 1000000, .depth = 256, .any_text = true};

/* A character, and where it stands. */
struct unit {
	uint32_t code;
	size_t from, to;
};

struct units {
	struct unit *list;
	size_t count, room;
};

static void units_done(struct units *units)
{
	free(units->list);
}

static void unit_add(struct units *units, uint32_t code, size_t from, size_t to)
{
	if (units->count == units->room) {
		units->room = units->room ? units->room * 2 : 256;
		units->list = xrealloc(units->list, units->room, sizeof(*units->list));
	}
	units->list[units->count++] = (struct unit){code, from, to};
}

static bool is_word(uint32_t code)
{
	return code < 0x80 && isalnum((int)code);
}

/* Blanks, and what is shown in one way here and in another there. */
static bool is_odd(uint32_t code)
{
	return code <= ' ' || (code >= 0x7f && code <= 0xa0) || code == 0xad || (code >= 0x2000 && code <= 0x206f) ||
		(code >= 0xd800 && code < 0xe000) || code == 0xfeff || (code >= 0xfff0 && code <= 0xffff);
}

/* Letters are small; those of all other scripts are one, since what becomes of them in capitals or composed is not known here. */
static uint32_t folded(uint32_t code)
{
	return code < 0x80 ? (uint32_t)tolower((int)code) : is_odd(code) ? code : FOREIGN;
}

/* ---- reading ---- */

static void units_read(struct units *units, const char *text, size_t len, size_t max)
{
	for (size_t i = 0; i < len && units->count < max;) {
		const unsigned char *at = (const unsigned char *)text + i;
		int size = utf8_char(text + i, len - i);
		uint32_t code = size > 0 ? utf8_code(text + i, size) : 0xfffd;
		if (size <= 0 && at[0] == 0xed && len - i >= 3) /* half a surrogate pair, as json_read.h writes it */
			size = 3;
		size = size > 0 ? size : 1;
		unit_add(units, folded(code), i, i + (size_t)size);
		i += (size_t)size;
	}
}

/* Hexadecimal digits from there: how many of `max` there are. */
static size_t read_hex(const struct units *units, size_t at, size_t max, uint32_t *ret)
{
	size_t len = 0;

	for (*ret = 0; len < max && at + len < units->count; len++) {
		uint32_t code = units->list[at + len].code;
		if (code >= 0x80 || !isxdigit((int)code))
			break;
		*ret = *ret * 16 + (isdigit((int)code) ? code - '0' : code - 'a' + 10);
	}
	return len;
}

/* How many characters stand for one that was escaped; 0: none was. Letters are small by now. */
static size_t escape_at(const struct units *units, size_t at, uint32_t *ret)
{
	static const char from[] = "nrtbfv0ae", to[] = "\n\r\t\b\f\v\0\a\x1b";
	const struct unit *unit = &units->list[at];
	size_t left = units->count - at, len;

	if (unit->code == '[' && left > 7 && unit[1].code == 'u' && unit[2].code == '+') { /* as base/term.h shows it */
		len = read_hex(units, at + 3, 6, ret);
		return len >= 4 && at + 3 + len < units->count && units->list[at + 3 + len].code == ']' ? len + 4 : 0;
	}
	if (unit->code != '\\' || left < 2)
		return 0;
	uint32_t next = unit[1].code;
	size_t digits = next == 'x' ? 2 : next == 'u' ? 4 : 0;
	if (next == 'u' && left > 3 && unit[2].code == '{') {
		len = read_hex(units, at + 3, 6, ret);
		return len && at + 3 + len < units->count && units->list[at + 3 + len].code == '}' ? len + 4 : 0;
	}
	if (digits) {
		if (next == 'u' && read_hex(units, at + 2, 8, ret) == 8 && *ret < 0x110000) /* "\U0001f600" */
			return 10;
		if (read_hex(units, at + 2, digits, ret) != digits)
			return 0;
		if (next == 'x' && *ret >= 0x80)
			*ret = 0xfffd; /* a byte of something */
		return digits + 2;
	}
	const char *known = next && next < 0x80 ? strchr(from, (int)next) : NULL;
	bool plain = next == '\\' || next == '\'' || next == '"' || next == '/' || next == '`';
	*ret = known ? (unsigned char)to[known - from] : next;
	return known || plain ? 2 : 0;
}

static void units_unescape(struct units *units)
{
	bool changed = true;

	for (int pass = 0; pass < PASSES && changed; pass++) {
		size_t kept = 0;
		changed = false;
		for (size_t i = 0; i < units->count;) {
			uint32_t code;
			size_t len = escape_at(units, i, &code);
			struct unit unit = units->list[i];
			if (len) {
				unit.code = folded(code);
				unit.to = units->list[i + len - 1].to;
				changed = true;
			}
			units->list[kept++] = unit;
			i += len ? len : 1;
		}
		units->count = kept;
	}
}

/* ---- what the input says ---- */

/* Its texts, with a 0 behind each. */
struct said {
	uint32_t *codes;
	size_t count, room;
	uint32_t first[BUCKETS], *next; /* places of three characters, plus 1 */
};

static void said_done(struct said *said)
{
	free(said->codes);
	free(said->next);
}

static void said_put(struct said *said, uint32_t code)
{
	if (said->count == said->room) {
		said->room = said->room ? said->room * 2 : 256;
		said->codes = xrealloc(said->codes, said->room, sizeof(*said->codes));
	}
	said->codes[said->count++] = code;
}

static void said_add(struct said *said, const char *text, size_t len)
{
	own(units_done) struct units units = {0};

	if (said->count >= TEXTS_MAX)
		return;
	units_read(&units, text, len, TEXTS_MAX - said->count);
	units_unescape(&units);
	for (size_t i = 0; i < units.count; i++) {
		if (!is_odd(units.list[i].code))
			said_put(said, units.list[i].code);
	}
	said_put(said, 0);
}

static bool declares(const struct value *schema, const char *key, unsigned depth)
{
	if (schema->kind == VALUE_MAP && value_get(schema, key))
		return true;
	for (size_t i = 0; i < schema->count && depth < SCHEMA_DEPTH; i++) {
		if (declares(&schema->items[i], key, depth + 1))
			return true;
	}
	return false;
}

/* The names of members are the tool's own words, but for those that its schema does not have. */
static void said_walk(struct said *said, const struct value *value, const struct value *schema, const char *message)
{
	if (value->kind == VALUE_TEXT)
		said_add(said, value->text, value->len);
	for (size_t i = 0; i < value->count && said->count < TEXTS_MAX; i++) {
		if (value->kind == VALUE_MAP && value->key_lens[i] >= KEY_MIN && strstr(message, value->keys[i]) &&
			!(schema && declares(schema, value->keys[i], 0)))
			said_add(said, value->keys[i], value->key_lens[i]);
		said_walk(said, &value->items[i], schema, message);
	}
}

static size_t bucket(const uint32_t *codes)
{
	return (codes[0] * 31u * 31u + codes[1] * 31u + codes[2]) % BUCKETS;
}

static void said_index(struct said *said)
{
	said->next = xcalloc(said->count + 1, sizeof(*said->next));
	for (size_t i = said->count; i-- > 0;) {
		if (i + ECHO_MIN > said->count)
			continue;
		size_t at = bucket(said->codes + i);
		said->next[i] = said->first[at];
		said->first[at] = (uint32_t)i + 1;
	}
}

/* The longest that is in both; `whole`: it is all of one text. */
static size_t said_find(const struct said *said, const uint32_t *codes, size_t count, bool *whole)
{
	size_t best = 0;

	*whole = false;
	if (count < ECHO_MIN)
		return 0;
	for (size_t at = said->first[bucket(codes)]; at && !(best == count && *whole); at = said->next[at - 1]) {
		size_t len = 0, from = at - 1;
		while (len < count && from + len < said->count && said->codes[from + len] == codes[len])
			len++;
		bool all = len > 0 && (from == 0 || said->codes[from - 1] == 0) && from + len < said->count && said->codes[from + len] == 0;
		if (len > best || (len == best && all)) {
			best = len;
			*whole = all;
		}
	}
	return best >= ECHO_MIN ? best : 0;
}

static bool said_has(const struct said *said, uint32_t code)
{
	for (size_t i = 0; i < said->count; i++) {
		if (said->codes[i] == code)
			return true;
	}
	return false;
}

/* ---- what of the message that is ---- */

struct reading {
	struct units all; /* of the message */
	uint32_t *codes; /* those that are compared */
	size_t *places; /* of them in `all` */
	size_t count;
};

static void reading_done(struct reading *reading)
{
	units_done(&reading->all);
	free(reading->codes);
	free(reading->places);
}

static void reading_of(struct reading *reading, const char *message, size_t len)
{
	units_read(&reading->all, message, len, len);
	units_unescape(&reading->all);
	reading->codes = xcalloc(reading->all.count + 1, sizeof(*reading->codes));
	reading->places = xcalloc(reading->all.count + 1, sizeof(*reading->places));
	for (size_t i = 0; i < reading->all.count; i++) {
		if (is_odd(reading->all.list[i].code))
			continue;
		reading->codes[reading->count] = reading->all.list[i].code;
		reading->places[reading->count++] = i;
	}
}

static bool in_word(const struct units *all, size_t at) /* and the one before it */
{
	return at > 0 && at < all->count && is_word(all->list[at].code) && is_word(all->list[at - 1].code);
}

/* How much of the run from there is the input's: it ends where a word does. */
static size_t run_len(const struct reading *reading, size_t at, size_t len, bool whole)
{
	bool inside = in_word(&reading->all, reading->places[at]);

	if (len >= ECHO_SURE || whole)
		return len;
	if (inside)
		return 0;
	while (len >= ECHO_MIN && in_word(&reading->all, reading->places[at + len - 1] + 1))
		len--;
	return len >= ECHO_MIN ? len : 0;
}

/* "KeyError: KeyError": what kind of exception it is was not said by the input. */
static size_t type_len(const char *message)
{
	size_t len = strspn(message, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	bool error = len > 5 && memcmp(message + len - 5, "Error", 5) == 0;
	bool exception = len > 9 && memcmp(message + len - 9, "Exception", 9) == 0;

	return (error || exception) && (message[len] == ':' || !message[len]) ? len : 0;
}

static void blank(struct buf *text, const struct unit *from, const struct unit *to)
{
	memset(text->data + from->from, ' ', to->to - from->from);
}

void message_unecho(const struct message *message, struct buf *ret)
{
	own(value_done) struct value value = {0};
	own(said_done) struct said said = {0};
	own(reading_done) struct reading reading = {0};
	size_t size = strlen(message->text), type = type_len(message->text);
	struct err err;

	size = size < MESSAGE_MAX ? size : MESSAGE_MAX;
	type = type < size ? type : size;
	ret->len = 0;
	buf_add(ret, message->text, size);
	reading_of(&reading, message->text + type, size - type);
	if (message->input && json_read(message->input, message->len, &input_limits, NULL, &value, &err) == 0)
		said_walk(&said, &value, message->schema, message->text);
	said_index(&said);
	struct buf rest = {.data = ret->data + type, .len = size - type};
	for (size_t i = 0; i < reading.count;) {
		bool whole;
		size_t run = said_find(&said, reading.codes + i, reading.count - i, &whole);
		run = run ? run_len(&reading, i, run, whole) : 0;
		if (!run && reading.codes[i] == FOREIGN && said_has(&said, FOREIGN))
			run = 1;
		if (run)
			blank(&rest, &reading.all.list[reading.places[i]], &reading.all.list[reading.places[i + run - 1]]);
		i += run ? run : 1;
	}
	for (size_t i = 0; i < reading.all.count; i++) {
		if (is_odd(reading.all.list[i].code))
			blank(&rest, &reading.all.list[i], &reading.all.list[i]);
	}
}
