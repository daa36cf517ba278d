/* Whatever passes: how it is split changes nothing, the length is kept, only stars are new, and no secret is left in
 * any form. The first line holds the secrets, separated by blanks; the next byte seeds the splits. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "redact/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRETS_MAX 4

/* What is replaced is replaced by stars: a secret of stars would still be there. */
static size_t secrets_read(char *line, const char *ret[SECRETS_MAX])
{
	size_t count = 0;
	char *rest = NULL;

	for (char *at = line; *at; at++)
		*at = *at == '*' ? '+' : *at;
	for (char *word = strtok_r(line, " ", &rest); word && count < SECRETS_MAX; word = strtok_r(NULL, " ", &rest))
		ret[count++] = word;
	return count;
}

static size_t pass(const struct scrub_words *words, const char *text, size_t len, uint32_t seed, struct buf *out)
{
	own(scrub_done) struct scrub scrub = {0};

	for (size_t i = 0; i < len;) {
		size_t piece = seed ? (seed >> 16) % (1 + (seed >> 8) % 32) : len; /* empty ones too */
		piece = piece < len - i ? piece : len - i;
		scrub_take(&scrub, words, text + i, piece, out);
		assert(scrub.held.len < scrub_longest(words) || scrub.held.len == 0);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *secrets[SECRETS_MAX];
	const uint8_t *end = memchr(data, '\n', size);

	if (!end || (size_t)(end - data) > 200 || memchr(data, '\0', (size_t)(end - data)) || end + 1 == data + size)
		return 0;
	own(freep) char *line = strndup((const char *)data, (size_t)(end - data));
	size_t count = secrets_read(line, secrets), len = (size_t)(data + size - end) - 2;
	const char *text = (const char *)end + 2;
	struct scrub_words *words = scrub_words_make(secrets, count);
	own(buf_done) struct buf whole = {0}, split = {0};

	size_t found = pass(words, text, len, 0, &whole);
	assert(found == pass(words, text, len, end[1] * 2654435761u | 1, &split));
	assert(whole.len == len && split.len == len && memcmp(whole.data, split.data, len) == 0);
	for (size_t i = 0; i < len; i++)
		assert(whole.data[i] == text[i] || whole.data[i] == '*');
	check_clean(words, &whole, secrets, count);
	scrub_words_free(words);
	return 0;
}
