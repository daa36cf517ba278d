/* What of an answer is used in later calls. Pure. See explorer.h.
 *
 * A tool that makes something tells how it is called; another tool takes that name. Neither schema says so:
 * whatever looks like a name, a number or a path is remembered for the rest of the chain, and tried where a schema
 * takes it. */
#include <ctype.h>
#include <string.h>

#include "base/json_read.h"
#include "fuzz/tool/explorer.h"

#define HARVEST_BYTES ((size_t)64 << 10) /* of one answer */
#define HARVEST_VALUES 512 /* of one answer */
#define WORDS_MAX 24 /* of one text */
#define LEAVES_MAX 64 /* of a call that may be replaced */
#define USE_TRIES 4
#define FITS_DEPTH 6 /* of a schema, where members are looked for */
#define FITS_VALUES 512 /* the same */

void chain_forget(struct chain *chain)
{
	chain->count = chain->next = 0;
}

/* ---- out of answers ---- */

static void keep(struct chain *chain, const char *key, size_t key_len, const char *text, size_t len, bool number)
{
	if (len == 0 || len > CHAIN_TEXT_MAX)
		return;
	for (size_t i = 0; i < chain->count; i++) {
		if (chain->list[i].len == len && memcmp(chain->list[i].text, text, len) == 0 && chain->list[i].number == number)
			return;
	}
	struct chain_text *kept = &chain->list[chain->next];
	key_len = key_len < CHAIN_KEY_MAX ? key_len : CHAIN_KEY_MAX - 1;
	*kept = (struct chain_text){.len = len, .number = number};
	memcpy(kept->key, key, key_len);
	memcpy(kept->text, text, len);
	chain->next = (chain->next + 1) % CHAIN_TEXTS;
	chain->count += chain->count < CHAIN_TEXTS;
}

static bool is_number(const char *word, size_t len)
{
	size_t digits = len && word[0] == '-';

	if (digits == len || len > 18 || (word[digits] == '0' && len > digits + 1))
		return false;
	while (digits < len && isdigit((unsigned char)word[digits]))
		digits++;
	return digits == len;
}

/* Words of a sentence that name something: with a digit, a slash or a dash in them, in quotes, or behind a colon. */
static void harvest_words(struct chain *chain, const char *text, size_t len)
{
	static const char apart[] = " \t\r\n,;()[]{}<>\"'`";
	char before = '\0';

	for (size_t at = 0, words = 0; at < len && words < WORDS_MAX;) {
		size_t word = 0;
		while (at + word < len && !(text[at + word] && strchr(apart, text[at + word])) && text[at + word])
			word++;
		size_t end = word;
		while (end > 0 && strchr(".:!?", text[at + end - 1]))
			end--;
		bool named = strchr("\"'`:=", before) && before;
		for (size_t i = 0; i < end && !named; i++)
			named = isdigit((unsigned char)text[at + i]) || (i && strchr("/_-#", text[at + i]));
		if (end > 0 && named) {
			keep(chain, "", 0, text + at, end, is_number(text + at, end));
			words++;
		}
		if (word > 0 && (text[at + word - 1] == ':' || text[at + word - 1] == '='))
			before = ':';
		else if (word > 0)
			before = '\0';
		at += word;
		if (at < len && text[at] != ' ')
			before = text[at];
		at += at < len;
	}
}

static void harvest_text(
	struct chain *chain, const char *text, size_t len, const char *key, size_t key_len, unsigned depth);

static void harvest_value(
	struct chain *chain, const struct value *value, const char *key, size_t key_len, size_t *left, unsigned depth)
{
	static const char *const dull[] = {"jsonrpc", "type", "mimeType", "isError"};

	if (*left == 0 || depth > 8)
		return;
	--*left;
	for (size_t i = 0; i < ARRAY_LEN(dull); i++) {
		if (key_len == strlen(dull[i]) && memcmp(key, dull[i], key_len) == 0)
			return;
	}
	if (value->kind == VALUE_TEXT)
		harvest_text(chain, value->text, value->len, key, key_len, depth + 1);
	else if (value->kind == VALUE_NUMBER)
		keep(chain, key, key_len, value->text, value->len, true);
	for (size_t i = 0; i < value->count; i++) {
		if (value->kind == VALUE_MAP)
			harvest_value(chain, &value->items[i], value->keys[i], value->key_lens[i], left, depth + 1);
		else
			harvest_value(chain, &value->items[i], key, key_len, left, depth + 1);
	}
}

static bool harvest_json(struct chain *chain, const char *text, size_t len, unsigned depth)
{
	static const struct json_limits limits = {.bytes = HARVEST_BYTES, .values = 4096, .depth = 32, .any_text = true};
	own(value_done) struct value value = {0};
	size_t left = HARVEST_VALUES;
	struct err err;

	if (len == 0 || len > HARVEST_BYTES || !strchr("[{", text[0]) || json_read(text, len, &limits, NULL, &value, &err) < 0)
		return false;
	/* the number of a request is nobody's name */
	const struct value *result = value_get(&value, "jsonrpc") ? value_get(&value, "result") : &value;
	if (result)
		harvest_value(chain, result, "", 0, &left, depth);
	return true;
}

static void harvest_text(
	struct chain *chain, const char *text, size_t len, const char *key, size_t key_len, unsigned depth)
{
	len = len < HARVEST_BYTES ? len : HARVEST_BYTES;
	if (depth < 8 && harvest_json(chain, text, len, depth + 1))
		return;
	bool one_word = len <= CHAIN_TEXT_MAX;
	for (size_t i = 0; i < len && one_word; i++)
		one_word = !isspace((unsigned char)text[i]) && text[i];
	if (one_word || (key_len && len <= CHAIN_TEXT_MAX && (key_len != 4 || memcmp(key, "text", 4) != 0)))
		keep(chain, key, key_len, text, len, false);
	if (!one_word)
		harvest_words(chain, text, len);
}

void chain_harvest(struct chain *chain, const struct reply *reply)
{
	size_t left = HARVEST_VALUES;

	if (reply->output)
		harvest_value(chain, reply->output, "", 0, &left, 0);
	else if (reply->len)
		harvest_text(chain, reply->text, reply->len, "", 0, 0);
}

/* ---- into calls ---- */

/* "id" is like "note_id": one ends with the other. */
static bool is_like(const char *key, size_t len, const char *other)
{
	size_t other_len = strlen(other), shorter = len < other_len ? len : other_len;

	return shorter >= 2 && strncasecmp(key + len - shorter, other + other_len - shorter, shorter) == 0;
}

/* The protocol's own name for what any tool says is no name. */
static bool is_named(const struct chain_text *text, const char *key, size_t len)
{
	return strcmp(text->key, "text") != 0 && is_like(key, len, text->key);
}

static bool fits_member(const struct chain *chain, const char *key, size_t len, const struct buf *input)
{
	for (size_t i = 0; i < chain->count; i++) {
		const struct chain_text *text = &chain->list[i];
		if (is_named(text, key, len) && !(input && memmem(buf_text(input), input->len, text->text, text->len)))
			return true;
	}
	return false;
}

static bool fits_below(
	const struct chain *chain, const struct value *schema, const struct buf *input, size_t *left, unsigned depth)
{
	const struct value *members = schema->kind == VALUE_MAP ? value_get(schema, "properties") : NULL;

	for (size_t i = 0; members && members->kind == VALUE_MAP && i < members->count && *left > 0; i++) {
		--*left;
		if (fits_member(chain, members->keys[i], members->key_lens[i], input))
			return true;
	}
	for (size_t i = 0; depth < FITS_DEPTH && i < schema->count && *left > 0; i++) {
		--*left;
		if (fits_below(chain, &schema->items[i], input, left, depth + 1))
			return true;
	}
	return false;
}

bool chain_fits(const struct chain *chain, const struct value *schema, const struct buf *input)
{
	size_t left = FITS_VALUES;

	return chain->count > 0 && fits_below(chain, schema, input, &left, 0);
}

const struct chain_text *chain_pick(
	const struct chain *chain, const char *key, size_t key_len, bool number, uint64_t dice)
{
	const struct chain_text *like[CHAIN_TEXTS], *all[CHAIN_TEXTS];
	size_t like_count = 0, count = 0;

	for (size_t i = 0; i < chain->count; i++) {
		const struct chain_text *text = &chain->list[i];
		if (number && !text->number)
			continue;
		all[count++] = text;
		if (is_like(key, key_len, text->key))
			like[like_count++] = text;
	}
	if (like_count && dice % 4) /* mostly the one whose name fits */
		return like[dice / 4 % like_count];
	return count ? all[dice / 4 % count] : NULL;
}

struct leaves {
	struct value *list[LEAVES_MAX];
	const char *keys[LEAVES_MAX];
	size_t key_lens[LEAVES_MAX];
	size_t count;
};

static void leaves_find(struct leaves *leaves, struct value *value, const char *key, size_t key_len)
{
	if (leaves->count == LEAVES_MAX)
		return;
	if (value->kind == VALUE_TEXT || value->kind == VALUE_NUMBER) {
		leaves->list[leaves->count] = value;
		leaves->keys[leaves->count] = key;
		leaves->key_lens[leaves->count++] = key_len;
	}
	for (size_t i = 0; i < value->count; i++) {
		bool map = value->kind == VALUE_MAP;
		leaves_find(leaves, &value->items[i], map ? value->keys[i] : key, map ? value->key_lens[i] : key_len);
	}
}

bool chain_use(
	const struct chain *chain, const struct schema *schema, struct value *value, struct draw *dice, struct buf *ret)
{
	struct leaves leaves = {.count = 0};
	bool fits = false;

	leaves_find(&leaves, value, "", 0);
	for (unsigned i = 0; i < USE_TRIES && leaves.count && chain->count && !fits; i++) {
		size_t at = (size_t)draw_raw(dice, leaves.count);
		struct value *leaf = leaves.list[at], was = *leaf;
		const struct chain_text *text =
			chain_pick(chain, leaves.keys[at], leaves.key_lens[at], leaf->kind == VALUE_NUMBER, draw_random(dice) >> 8);
		struct err err;
		if (!text || (text->len == was.len && memcmp(text->text, was.text, was.len) == 0))
			continue;
		leaf->text = (char *)(uintptr_t)text->text;
		leaf->len = text->len;
		fits = schema_check(schema, value, NULL, &err) == SCHEMA_VALID;
		if (fits) {
			ret->len = 0;
			value_write(value, ret);
		}
		*leaf = was; /* a value of the generator's may be the schema's own */
	}
	return fits;
}
