/* Where the scanner is decides what counts: a "usage" object counts at the top of an answer or event, or directly
 * inside "message" or "response" there. What a model writes is inside strings, or deeper (the input of a tool is an
 * object of the model's making), so it cannot pretend to have used less. */
#include "door/policy/usage_scan.h"

#include <string.h>

#include "base/own.h"

#define FIGURE_MAX (UINT64_C(1) << 53) /* beyond it many writers of JSON round */

/* ---- where figures are ---- */

enum place { IN_LIST, IN_OTHER, IN_TOP, IN_LISTED, IN_WRAPPER, IN_USAGE, IN_DETAILS }; /* all but the first are objects */

enum meaning { ENTERS, IS_MODEL, IS_FIGURE, IS_ROUNDS };

static const struct usage_member {
	enum place in;
	const char *key;
	enum meaning meaning;
	int what; /* the place entered, or the figure */
} members[] = {
	{IN_TOP, "model", IS_MODEL, 0},
	{IN_TOP, "usage", ENTERS, IN_USAGE},
	{IN_TOP, "message", ENTERS, IN_WRAPPER},
	{IN_TOP, "response", ENTERS, IN_WRAPPER},
	{IN_WRAPPER, "model", IS_MODEL, 0},
	{IN_WRAPPER, "usage", ENTERS, IN_USAGE},
	{IN_USAGE, "input_tokens", IS_FIGURE, FIGURE_INPUT},
	{IN_USAGE, "prompt_tokens", IS_FIGURE, FIGURE_INPUT},
	{IN_USAGE, "output_tokens", IS_FIGURE, FIGURE_OUTPUT},
	{IN_USAGE, "completion_tokens", IS_FIGURE, FIGURE_OUTPUT},
	{IN_USAGE, "cache_read_input_tokens", IS_FIGURE, FIGURE_CACHE_READ},
	{IN_USAGE, "cache_creation_input_tokens", IS_FIGURE, FIGURE_CACHE_WRITE},
	{IN_USAGE, "cache_creation", ENTERS, IN_DETAILS},
	{IN_USAGE, "iterations", IS_ROUNDS, 0},
	{IN_USAGE, "prompt_tokens_details", ENTERS, IN_DETAILS},
	{IN_USAGE, "input_tokens_details", ENTERS, IN_DETAILS},
	{IN_TOP, "modelVersion", IS_MODEL, 0},
	{IN_TOP, "usageMetadata", ENTERS, IN_USAGE},
	{IN_LISTED, "modelVersion", IS_MODEL, 0},
	{IN_LISTED, "usageMetadata", ENTERS, IN_USAGE},
	{IN_USAGE, "promptTokenCount", IS_FIGURE, FIGURE_INPUT},
	{IN_USAGE, "candidatesTokenCount", IS_FIGURE, FIGURE_OUTPUT},
	{IN_USAGE, "cachedContentTokenCount", IS_FIGURE, FIGURE_CACHED},
	{IN_USAGE, "toolUsePromptTokenCount", IS_FIGURE, FIGURE_TOOL_INPUT},
	{IN_USAGE, "thoughtsTokenCount", IS_FIGURE, FIGURE_THOUGHTS},
	{IN_DETAILS, "cached_tokens", IS_FIGURE, FIGURE_CACHED},
	{IN_DETAILS, "cache_write_tokens", IS_FIGURE, FIGURE_CACHE_WRITTEN},
	{IN_DETAILS, "ephemeral_1h_input_tokens", IS_FIGURE, FIGURE_CACHE_LONG},
};

enum state {
	AT_VALUE, /* a value must begin */
	AT_FIRST_ITEM, /* or the list ends */
	AT_KEY,
	AT_FIRST_KEY, /* or the object ends */
	AT_COLON,
	AT_COMMA, /* a value has ended */
	IN_STRING, IN_ESCAPE, IN_HEX,
	IN_BARE, /* a number, true, false or null */
	AT_END, /* the whole value has ended */
	IS_BAD /* this is no JSON: nothing is read until the next event */
};

/* ---- what is found ---- */

static void token_put(struct usage_scan *scan, char c)
{
	if (scan->token_len < sizeof(scan->token))
		scan->token[scan->token_len] = c;
	scan->token_len++;
}

static bool token_is(const struct usage_scan *scan, const char *text)
{
	return scan->token_len == strlen(text) && memcmp(scan->token, text, scan->token_len) == 0;
}

static const struct usage_member *member_find(const struct usage_scan *scan)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (members[i].in == scan->places[scan->depth - 1] && token_is(scan, members[i].key))
			return &members[i];
	}
	return NULL;
}

/* A name that is cut or odd is none: it will be charged as the dearest. */
static void model_set(struct usage_scan *scan)
{
	bool good = scan->token_len < sizeof(scan->model);

	for (size_t i = 0; good && i < scan->token_len; i++)
		good = scan->token[i] > ' ' && scan->token[i] <= '~';
	memset(scan->model, 0, sizeof(scan->model));
	if (good)
		memcpy(scan->model, scan->token, scan->token_len);
}

/* Digits only: "1e3", "1.0" and "-1" are numbers to JSON, but no interface counts that way. */
static bool whole_number(const struct usage_scan *scan, uint64_t *ret)
{
	*ret = 0;
	if (scan->token_len == 0 || scan->token_len > 16)
		return false;
	if (scan->token[0] == '0' && scan->token_len > 1)
		return false;
	for (size_t i = 0; i < scan->token_len; i++) {
		if (scan->token[i] < '0' || scan->token[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(scan->token[i] - '0');
	}
	return *ret <= FIGURE_MAX;
}

static void figure_spoil(struct usage_scan *scan)
{
	if (!scan->member || scan->member->meaning != IS_FIGURE)
		return;
	scan->known[scan->member->what] = false;
	scan->spoiled[scan->member->what] = true;
}

static void figure_set(struct usage_scan *scan)
{
	uint64_t value;

	if (!scan->member || scan->member->meaning != IS_FIGURE)
		return;
	if (!whole_number(scan, &value)) {
		figure_spoil(scan);
		return;
	}
	scan->figures[scan->member->what] = value;
	scan->told++;
	scan->known[scan->member->what] = true;
	scan->spoiled[scan->member->what] = false;
}

/* ---- JSON ---- */

void usage_scan_begin(struct usage_scan *scan)
{
	scan->state = AT_VALUE;
	scan->depth = scan->rounds_depth = 0;
	scan->member = NULL;
}

static void value_end(struct usage_scan *scan)
{
	scan->member = NULL;
	scan->state = scan->depth ? AT_COMMA : AT_END;
}

static void open_bracket(struct usage_scan *scan, bool object)
{
	const struct usage_member *member = scan->member;
	enum place place = IN_LIST;

	figure_spoil(scan);
	if (object && scan->depth == 0)
		place = IN_TOP;
	else if (object && scan->depth == 1 && scan->places[0] == IN_LIST)
		place = IN_LISTED; /* Gemini streams a list of answers, unless it is asked for events */
	else if (object)
		place = member && member->meaning == ENTERS ? (enum place)member->what : IN_OTHER;
	scan->member = NULL;
	if (scan->depth == USAGE_DEPTH_MAX) {
		scan->state = IS_BAD;
		return;
	}
	if (object && scan->rounds_depth > 0 && scan->depth == scan->rounds_depth) {
		scan->rounds_now++;
		scan->rounds = scan->rounds_now > scan->rounds ? scan->rounds_now : scan->rounds;
	}
	scan->places[scan->depth++] = (uint8_t)place;
	if (!object && member && member->meaning == IS_ROUNDS) {
		scan->rounds_depth = scan->depth;
		scan->rounds_now = 0;
	}
	scan->state = object ? AT_FIRST_KEY : AT_FIRST_ITEM;
}

static void close_bracket(struct usage_scan *scan, bool object)
{
	if (scan->depth == 0 || (scan->places[scan->depth - 1] != IN_LIST) != object) {
		scan->state = IS_BAD;
		return;
	}
	if (scan->depth == scan->rounds_depth)
		scan->rounds_depth = 0;
	scan->depth--;
	value_end(scan);
}

static void string_begin(struct usage_scan *scan, bool is_key)
{
	scan->is_key = is_key;
	scan->token_len = 0;
	scan->state = IN_STRING;
}

static void string_end(struct usage_scan *scan)
{
	if (scan->is_key) {
		scan->member = member_find(scan);
		scan->state = AT_COLON;
		return;
	}
	figure_spoil(scan);
	if (scan->member && scan->member->meaning == IS_MODEL)
		model_set(scan);
	value_end(scan);
}

static bool is_bare(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '-' || c == '+' || c == '.';
}

static void bare_end(struct usage_scan *scan)
{
	bool word = scan->token[0] >= 'a';
	bool null = token_is(scan, "null");

	if (word && !null && !token_is(scan, "true") && !token_is(scan, "false")) {
		scan->state = IS_BAD;
		return;
	}
	if (!null) /* which says nothing about a figure */
		figure_set(scan);
	value_end(scan);
}

static void value_begin(struct usage_scan *scan, char c)
{
	if (c == '{' || c == '[') {
		open_bracket(scan, c == '{');
	} else if (c == '"') {
		string_begin(scan, false);
	} else if (is_bare(c)) {
		scan->token_len = 0;
		token_put(scan, c);
		scan->state = IN_BARE;
	} else {
		scan->state = IS_BAD;
	}
}

static void escape_take(struct usage_scan *scan, char c)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *found = c ? strchr(letters, c) : NULL;

	if (c == 'u') {
		scan->hex = 0;
		scan->hex_left = 4;
		scan->state = IN_HEX;
	} else if (found) {
		token_put(scan, meant[found - letters]);
		scan->state = IN_STRING;
	} else {
		scan->state = IS_BAD;
	}
}

/* No key or model that counts has a character beyond ASCII: one byte that is in none of them stands for all. */
static void hex_take(struct usage_scan *scan, char c)
{
	unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
		: c >= 'a' && c <= 'f'        ? (unsigned)(c - 'a') + 10
		: c >= 'A' && c <= 'F'        ? (unsigned)(c - 'A') + 10
					      : 16;

	if (digit == 16) {
		scan->state = IS_BAD;
		return;
	}
	scan->hex = scan->hex * 16 + digit;
	if (--scan->hex_left > 0)
		return;
	token_put(scan, scan->hex < 0x80 ? (char)scan->hex : '\x7f');
	scan->state = IN_STRING;
}

/* Takes bytes of a string up to the first that ends it or begins an escape. Long texts are most of an answer. */
static size_t string_take(struct usage_scan *scan, const char *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && bytes[i] != '"' && bytes[i] != '\\' && (unsigned char)bytes[i] >= ' ')
		i++;
	if (scan->token_len < sizeof(scan->token)) {
		size_t room = sizeof(scan->token) - scan->token_len;
		memcpy(scan->token + scan->token_len, bytes, i < room ? i : room);
	}
	scan->token_len += i;
	if (i == len)
		return i;
	if (bytes[i] == '"')
		string_end(scan);
	else
		scan->state = bytes[i] == '\\' ? IN_ESCAPE : IS_BAD;
	return i + 1;
}

/* Between values. */
static void mark_take(struct usage_scan *scan, char c)
{
	bool object = scan->depth && scan->places[scan->depth - 1] != IN_LIST;
	enum state state = (enum state)scan->state;

	if (state == AT_VALUE || (state == AT_FIRST_ITEM && c != ']'))
		value_begin(scan, c);
	else if ((state == AT_KEY || state == AT_FIRST_KEY) && c == '"')
		string_begin(scan, true);
	else if (state == AT_COLON && c == ':')
		scan->state = AT_VALUE;
	else if (state == AT_COMMA && c == ',')
		scan->state = object ? AT_KEY : AT_VALUE;
	else if (state != AT_KEY && state != AT_COLON && state != AT_END && (c == '}' || c == ']'))
		close_bracket(scan, c == '}');
	else
		scan->state = IS_BAD;
}

static void byte_take(struct usage_scan *scan, char c)
{
	bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';

	if (scan->state == IN_ESCAPE) {
		escape_take(scan, c);
		return;
	}
	if (scan->state == IN_HEX) {
		hex_take(scan, c);
		return;
	}
	if (scan->state == IN_BARE) {
		if (is_bare(c)) {
			token_put(scan, c);
			return;
		}
		bare_end(scan);
	}
	if (!blank && scan->state != IS_BAD)
		mark_take(scan, c);
}

void usage_scan_take(struct usage_scan *scan, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && scan->state != IS_BAD;) {
		if (scan->state == IN_STRING)
			i += string_take(scan, bytes + i, len - i);
		else
			byte_take(scan, bytes[i++]);
	}
}
