/* When an answer is of a new kind. Pure. See explorer.h.
 *
 * A target is any program in any language, seen from outside: few report coverage, and are led by it then. What the
 * others answer tells which way they went: another error, another member, another effect. A signature leaves out what varies
 * without meaning anything; one that told too much apart would call every answer new, and exploring would be led by
 * noise. */
#include <ctype.h>
#include <string.h>

#include "fuzz/tool/explorer.h"

#define LOOKED_AT ((size_t)64 << 10) /* bytes of an answer */
#define MEMBERS_MAX 128 /* paths told apart in one answer */
#define MEMBERS_DEPTH 5
#define ITEMS_MAX 4 /* of a list: the others are like them */
#define SHAPE_MAX 240 /* bytes of a message */
#define PLACES_MAX 4096 /* of one report */
#define ECHO_MIN 3 /* letters of a word that is looked for in the input */

/* ---- the set ---- */

void novelty_done(struct novelty *novelty)
{
	free(novelty->seen);
	*novelty = (struct novelty){0};
}

static bool put(uint64_t *seen, size_t room, uint64_t signature)
{
	size_t at = signature & (room - 1);

	while (seen[at] && seen[at] != signature)
		at = (at + 1) & (room - 1);
	bool is_new = !seen[at];
	seen[at] = signature;
	return is_new;
}

static void grow(struct novelty *novelty)
{
	size_t room = novelty->room ? novelty->room * 2 : 64;
	uint64_t *seen = xcalloc(room, sizeof(*seen));

	for (size_t i = 0; i < novelty->room; i++) {
		if (novelty->seen[i])
			(void)put(seen, room, novelty->seen[i]);
	}
	free(novelty->seen);
	novelty->seen = seen;
	novelty->room = room;
}

bool novelty_add(struct novelty *novelty, uint64_t signature)
{
	signature |= 1; /* 0 is a free place */
	if (novelty->count >= NOVELTY_MAX)
		return false;
	if (novelty->count * 2 >= novelty->room)
		grow(novelty);
	if (!put(novelty->seen, novelty->room, signature))
		return false;
	novelty->count++;
	return true;
}

/* ---- signatures ---- */

static uint64_t mix(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
	return mix(hash, len);
}

static unsigned band(uint64_t size) /* four times as much is another */
{
	unsigned bits = 0;

	for (; size; size >>= 2)
		bits++;
	return bits;
}

struct members {
	uint64_t list[MEMBERS_MAX];
	size_t count;
};

/* A set: how often a path is there, and in which order, is not looked at. */
static void members_add(struct members *members, uint64_t hash)
{
	if (members->count == MEMBERS_MAX)
		return;
	for (size_t i = 0; i < members->count; i++) {
		if (members->list[i] == hash)
			return;
	}
	members->list[members->count++] = hash;
}

static void members_walk(struct members *members, const struct value *value, uint64_t path, unsigned depth)
{
	bool empty = value->kind == VALUE_TEXT ? value->len == 0 : value->kind >= VALUE_LIST && value->count == 0;

	path = mix(path, value->kind * 2u + empty + (value->kind == VALUE_BOOL && value->truth ? 64 : 0));
	members_add(members, path);
	if (depth >= MEMBERS_DEPTH)
		return;
	for (size_t i = 0; i < value->count && members->count < MEMBERS_MAX; i++) {
		if (value->kind == VALUE_MAP)
			members_walk(members, &value->items[i], hash_bytes(path, value->keys[i], value->key_lens[i]), depth + 1);
		else if (i < ITEMS_MAX)
			members_walk(members, &value->items[i], mix(path, '['), depth + 1);
	}
}

static uint64_t members_sum(const struct members *members)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < members->count; i++)
		sum += mix(0, members->list[i]);
	return sum;
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A message without what varies, and without the words that are the input's. */
static uint64_t hash_shape(uint64_t hash, const char *text, const char *input, size_t len, struct buf *scratch)
{
	scratch->len = 0;
	message_normalise(text, scratch);
	const char *at = buf_text(scratch), *end = at + (scratch->len < SHAPE_MAX ? scratch->len : SHAPE_MAX);
	while (at < end) {
		size_t word = 0;
		while (at + word < end && is_letter(at[word]))
			word++;
		bool echoed = word >= ECHO_MIN && memmem(input, len, at, word);
		if (!echoed)
			hash = hash_bytes(hash, at, word ? word : 1);
		at += word ? word : 1;
	}
	return hash;
}

static uint64_t hash_said(uint64_t hash, const struct reply *reply, const char *input, size_t len, struct buf *scratch)
{
	char last[SHAPE_MAX + 1];
	size_t from, end = reply->said_len;

	while (end > 0 && isspace((unsigned char)reply->said[end - 1]))
		end--;
	for (from = end; from > 0 && end - from < SHAPE_MAX && reply->said[from - 1] != '\n';)
		from--;
	memcpy(last, reply->said + from, end - from);
	last[end - from] = '\0';
	return hash_shape(mix(hash, 's'), last, input, len, scratch);
}

static uint64_t hash_effects(const struct effect *effects, size_t count)
{
	struct members set = {.count = 0};

	for (size_t i = 0; i < count; i++) {
		const char *name = effects[i].by ? effects[i].by : "";
		if (effects[i].kind == CELL_EFFECT_EXEC && effects[i].what) {
			const char *slash = strrchr(effects[i].what, '/');
			name = slash ? slash + 1 : effects[i].what;
		}
		members_add(&set, hash_bytes(effects[i].kind + 1u, name, strlen(name)));
	}
	return members_sum(&set);
}

/* A text without structure: how large, how many lines, and how it begins. */
static uint64_t hash_text(const struct reply *reply)
{
	size_t len = reply->len < LOOKED_AT ? reply->len : LOOKED_AT, lines = 0;
	unsigned char first = len ? (unsigned char)reply->text[0] : 0;

	for (const char *at = reply->text; len && (at = memchr(at, '\n', (size_t)(reply->text + len - at))); at++)
		lines++;
	return mix(band(lines), isalpha(first) ? 'a' : isdigit(first) ? '0' : first);
}

uint64_t novelty_signature(const struct reply *reply, const struct effect *effects, size_t effect_count,
	const char *input, size_t len, struct buf *scratch)
{
	static const uint64_t slow[] = {10000000, 100000000, 1000000000, 10000000000};
	uint64_t hash = mix(reply->kind + 1u, (uint64_t)reply->code);

	len = len < LOOKED_AT ? len : LOOKED_AT;
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		hash = mix(hash, reply->ns >= slow[i]);
	hash = mix(hash, band(reply->len));
	if (reply->output) {
		struct members members = {.count = 0};
		members_walk(&members, reply->output, 0, 0);
		hash = mix(hash, members_sum(&members));
	} else {
		hash = mix(hash, hash_text(reply));
	}
	if (reply->message && reply->message[0])
		hash = hash_shape(hash, reply->message, input, len, scratch);
	if (reply->said_len)
		hash = hash_said(hash, reply, input, len, scratch);
	return effect_count ? mix(hash, hash_effects(effects, effect_count)) : hash;
}

/* ---- coverage that a target reports ---- */

static const char coverage_word[] = "hotcell/coverage";

/* The list behind one word: numbers and short texts, each a place in its code. */
static bool places_add(struct novelty *novelty, const char *at, const char *end)
{
	bool is_new = false;

	while (at < end && (*at == '"' || *at == ':' || *at == ' '))
		at++;
	if (at == end || *at++ != '[')
		return false;
	for (unsigned count = 0; at < end && *at != ']' && count < PLACES_MAX; count++) {
		size_t len = 0;
		while (at + len < end && at[len] != ',' && at[len] != ']')
			len++;
		is_new |= novelty_add(novelty, hash_bytes('c', at, len));
		at += len + (at + len < end && at[len] == ',');
		while (at < end && *at == ' ')
			at++;
	}
	return is_new;
}

static bool coverage_in(struct novelty *novelty, const char *text, size_t len)
{
	const char *end = text + len, *at = text;
	bool is_new = false;

	for (unsigned words = 0; len && words < 8 && (at = memmem(at, (size_t)(end - at), coverage_word, sizeof(coverage_word) - 1)); words++) {
		at += sizeof(coverage_word) - 1;
		is_new |= places_add(novelty, at, end);
	}
	return is_new;
}

bool novelty_coverage(struct novelty *novelty, const struct reply *reply)
{
	size_t len = reply->len < LOOKED_AT ? reply->len : LOOKED_AT;
	bool answered = reply->text && coverage_in(novelty, reply->text, len);

	return (reply->said && coverage_in(novelty, reply->said, reply->said_len)) || answered;
}
