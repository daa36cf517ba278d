/* Whatever passes: how it is split changes nothing, the length is kept, only stars are new, and no secret is left in
 * any form. What is held back by the even rule does not depend on the secrets: others come out in the same pieces. The first line holds the secrets, separated by blanks; the next byte seeds the splits. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "redact/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRETS_MAX 4

/* What is replaced is replaced by stars: a secret of stars would still be there. */
static size_t secrets_read(char *line, char *ret[SECRETS_MAX])
{
	size_t count = 0;
	char *rest = NULL;

	for (char *at = line; *at; at++)
		*at = *at == '*' ? '+' : *at;
	for (char *word = strtok_r(line, " ", &rest); word && count < SECRETS_MAX; word = strtok_r(NULL, " ", &rest))
		ret[count++] = word;
	return count;
}

/* *moments: how much had come out after each piece. */
static size_t pass(const struct scrub_words *words, const char *text, size_t len, uint32_t seed, bool even, struct buf *out,
	struct buf *moments)
{
	own(scrub_done) struct scrub scrub = {.even = even};
	size_t most = even ? scrub_window(words) + 1 : scrub_longest(words);

	for (size_t i = 0; i < len;) {
		size_t piece = seed ? (seed >> 16) % (1 + (seed >> 8) % 32) : len; /* empty ones too */
		piece = piece < len - i ? piece : len - i;
		scrub_take(&scrub, words, text + i, piece, out);
		assert(scrub.held.len < most || scrub.held.len == 0);
		buf_add(moments, &out->len, sizeof(out->len));
		assert(scrub.covered < scrub_longest(words) || scrub.covered == 0);
		seed = seed ? (seed * 1664525u + 1013904223u) | 1 : 0;
		i += piece;
	}
	scrub_end(&scrub, words, out);
	assert(scrub.held.len == 0 && scrub.covered == 0);
	return scrub.found;
}

static void check_clean(const struct scrub_words *words, const struct buf *out, const char *const *secrets, size_t count)
{
	own(buf_done) struct buf again = {0};

	buf_add(&again, out->data, out->len);
	assert(scrub_text(words, again.data, again.len) == 0);
	for (size_t i = 0; i < count; i++) {
		own(buf_done) struct buf encoded = {0};
		size_t len = strlen(secrets[i]);
		if (len < 8)
			continue;
		assert(!memmem(out->data, out->len, secrets[i], len));
		base64_write(secrets[i], len, &encoded);
		assert(!memmem(out->data, out->len, encoded.data, encoded.len));
	}
}

/* Another secret of the same kind. */
static void secret_change(char *secret)
{
	for (char *at = secret; *at; at++)
		if (*at > ' ' && *at < 0x7f)
			*at = *at == 'z' ? 'A' : *at == '~' ? '!' : (char)(*at + 1 == '*' ? '+' : *at + 1);
}

static void check_even(struct scrub_words *words, char *const *secrets, size_t count, const char *text,
	size_t len, uint32_t seed, const struct buf *whole)
{
	own(buf_done) struct buf one = {0}, other = {0}, moments = {0}, others = {0};

	(void)scrub_words_level(words);
	(void)pass(words, text, len, seed, true, &one, &moments);
	assert(one.len == len && (len == 0 || memcmp(one.data, whole->data, len) == 0));
	for (size_t i = 0; i < count; i++)
		secret_change(secrets[i]);
	struct scrub_words *changed = scrub_words_make((const char *const *)secrets, count);
	(void)pass(changed, text, len, seed, true, &other, &others);
	assert(moments.len == others.len && (moments.len == 0 || memcmp(moments.data, others.data, moments.len) == 0));
	scrub_words_free(changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *secrets[SECRETS_MAX];
	const uint8_t *end = memchr(data, '\n', size);

	if (!end || (size_t)(end - data) > 200 || memchr(data, '\0', (size_t)(end - data)) || end + 1 == data + size)
		return 0;
	own(freep) char *line = strndup((const char *)data, (size_t)(end - data));
	size_t count = secrets_read(line, secrets), len = (size_t)(data + size - end) - 2;
	const char *text = (const char *)end + 2;
	struct scrub_words *words = scrub_words_make((const char *const *)secrets, count);
	own(buf_done) struct buf whole = {0}, split = {0}, moments = {0};
	uint32_t seed = end[1] * 2654435761u | 1;

	size_t found = pass(words, text, len, 0, false, &whole, &moments);
	assert(found == pass(words, text, len, seed, false, &split, &moments));
	assert(whole.len == len && split.len == len && memcmp(whole.data, split.data, len) == 0);
	for (size_t i = 0; i < len; i++)
		assert(whole.data[i] == text[i] || whole.data[i] == '*');
	check_clean(words, &whole, (const char *const *)secrets, count);
	check_even(words, secrets, count, text, len, seed, &whole);
	scrub_words_free(words);
	return 0;
}
