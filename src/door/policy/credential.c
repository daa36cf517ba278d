#include "door/policy/credential.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"

#define TOKEN_MIN 12 /* bytes of a value among others: ordinary texts have shorter ones */
#define WORD_MAX 15 /* letters in a row that ordinary words have */
#define SEPARATORS " ;,"

/* `text` is a copy of ours that ends where the part does. */
static void add(
	struct credential_parts *parts, const struct secret_door *door, const char *text, bool is_word)
{
	if (strlen(text) < SECRET_MIN || strcmp(text, door->secret) == 0 ||
		parts->count == CREDENTIAL_PARTS_MAX)
		return;
	parts->is_word[parts->count] = is_word;
	parts->items[parts->count++] = text;
}

/* Room at the end of the memory, of which there is enough from the beginning: growing would leave
 * copies behind. */
static char *keep(struct credential_parts *parts, const char *bytes, size_t len)
{
	char *copy = parts->memory + parts->size;

	memcpy(copy, bytes, len);
	copy[len] = '\0';
	parts->size += len + 1;
	return copy;
}

static bool has_digit(const char *text)
{
	return strpbrk(text, "0123456789") != NULL;
}

/* A capital right behind a small letter, or more letters in a row than a word has. */
static bool is_jumbled(const char *text)
{
	size_t row = 0;

	for (size_t i = 0; text[i] != '\0'; i++) {
		bool capital = text[i] >= 'A' && text[i] <= 'Z', small = text[i] >= 'a' && text[i] <= 'z';
		if (capital && i > 0 && text[i - 1] >= 'a' && text[i - 1] <= 'z')
			return true;
		row = capital || small ? row + 1 : 0;
		if (row > WORD_MAX)
			return true;
	}
	return false;
}

static void add_basic(
	struct credential_parts *parts, const struct secret_door *door, const char *token)
{
	size_t len = strcspn(token, "="), padding = (4 - len % 4) % 4;
	struct buf plain = { .data = xcalloc(len + 4, 1), .cap = len + 4 };
	char *whole = keep(parts, token, len);

	/* some leave out the padding, and some use the alphabet of URLs */
	for (char *at = whole; *at != '\0'; at++)
		*at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
	memset(whole + len, '=', padding);
	parts->size += padding;
	if (padding < 3 && base64_read(whole, len + padding, &plain) &&
		memchr(plain.data, '\0', plain.len) == NULL) {
		char *pair = keep(parts, plain.data, plain.len), *colon = strchr(pair, ':');
		add(parts, door, pair, false);
		if (colon != NULL)
			add(parts, door, colon + 1, !has_digit(colon + 1) && !is_jumbled(colon + 1));
	}
	explicit_bzero(plain.data, plain.cap);
	buf_done(&plain);
}

/* As they are made by chance and not by people. */
static void add_token(
	struct credential_parts *parts, const struct secret_door *door, const char *text)
{
	if (strlen(text) >= TOKEN_MIN && (has_digit(text) || is_jumbled(text)))
		add(parts, door, text, !has_digit(text));
}

/* As servers say back what browsers sent: "s%3Ab" was "s:b". All copies together are no longer than the
 * credential: a sign that is not in them is in front of each. */
static void add_decoded(
	struct credential_parts *parts, const struct secret_door *door, const char *text)
{
	size_t len = 0;

	if (strchr(text, '%') == NULL)
		return;
	char *copy = keep(parts, text, strlen(text));
	for (const char *at = copy; *at != '\0'; len++) {
		bool coded = *at == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]);
		char digits[] = { coded ? at[1] : '0', coded ? at[2] : '0', '\0' };
		copy[len] = coded ? (char)strtoul(digits, NULL, 16) : *at;
		at += coded ? 3 : 1;
	}
	copy[len] = '\0';
	if (strcmp(copy, text) != 0)
		add_token(parts, door, copy);
}

/* "a=1; b=2", "realm=x, token=\"y\"" */
static void add_values(struct credential_parts *parts, const struct secret_door *door)
{
	char *rest = keep(parts, door->secret, strlen(door->secret)), *at;

	while ((at = strsep(&rest, SEPARATORS)) != NULL) {
		char *value = strchr(at, '=');
		add_token(parts, door, at);
		if (value == NULL)
			continue;
		value += 1 + (value[1] == '"');
		value[strcspn(value, "\"")] = '\0';
		add_token(parts, door, value);
		add_decoded(parts, door, value);
	}
}

/* What follows the scheme, if it is one word: "Bearer TOKEN". */
static const char *behind_scheme(const char *value, const char *scheme)
{
	size_t len = strcspn(value, " ");
	const char *token = value + len + strspn(value + len, " ");

	if (len == 0 || *token == '\0' || strchr(token, ' ') != NULL)
		return NULL;
	bool same = scheme == NULL || (len == strlen(scheme) && strncasecmp(value, scheme, len) == 0);
	return same ? token : NULL;
}

void credential_parts_make(struct credential_parts *ret, const struct secret_door *door)
{
	size_t len = strlen(door->secret), all = strlen(door->prefix) + len + 1;

	*ret = (struct credential_parts){0};
	ret->items = xcalloc(CREDENTIAL_PARTS_MAX, sizeof(*ret->items));
	ret->memory = xcalloc(6 * (all + 4), 1);
	char *value = keep(ret, door->prefix, strlen(door->prefix));
	ret->size--;
	(void)keep(ret, door->secret, len);
	const char *token = behind_scheme(value, NULL), *basic = behind_scheme(value, "Basic");
	if (basic != NULL)
		add_basic(ret, door, basic);
	else if (token != NULL)
		add(ret, door, token, false);
	if (strpbrk(door->secret, SEPARATORS "=") != NULL)
		add_values(ret, door);
}

void credential_parts_done(struct credential_parts *parts)
{
	if (parts->memory != NULL)
		explicit_bzero(parts->memory, parts->size);
	free(parts->memory);
	free(parts->items);
	*parts = (struct credential_parts){ 0 };
}
