/* Whatever passes: how it is split changes nothing, stars keep the length and only they are new, memory is bounded, and
 * no known value is left in any form. The first line holds the values, separated by blanks; the next byte seeds the
 * splits. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redact/redact.h"
#include "redact/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VALUES_MAX 4

/* What is replaced is replaced by stars: a value of stars would still be there. */
static size_t values_read(char *line, const char *ret[VALUES_MAX])
{
	size_t count = 0;
	char *rest = NULL;

	for (char *at = line; *at; at++)
		*at = *at == '*' ? '+' : *at;
	for (char *word = strtok_r(line, " ", &rest); word && count < VALUES_MAX; word = strtok_r(NULL, " ", &rest))
		ret[count++] = word;
	return count;
}

static size_t pass(const struct redactor *redactor, enum redact_style style, const char *text, size_t len, uint32_t seed,
	struct buf *out)
{
	own(redact_done) struct redact redact = {.style = style};

	for (size_t i = 0; i < len;) {
		size_t piece = seed ? (seed >> 16) % (1 + (seed >> 8) % 2048) : len; /* empty ones too */
		piece = piece < len - i ? piece : len - i;
		redact_take(&redact, redactor, text + i, piece, out);
		assert(redact.held.len <= (size_t)3 * REDACT_AHEAD);
		seed = seed ? (seed * 1664525u + 1013904223u) | 1 : 0;
		i += piece;
	}
	redact_end(&redact, redactor, out);
	assert(redact.held.len == 0);
	return redact.found;
}

static void check(const struct redactor *redactor, enum redact_style style, const char *text, size_t len, uint32_t seed,
	struct buf *out)
{
	own(buf_done) struct buf split = {0};
	size_t found = pass(redactor, style, text, len, 0, out);

	assert(found == pass(redactor, style, text, len, seed, &split));
	assert(out->len == split.len && (out->len == 0 || memcmp(out->data, split.data, out->len) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *values[VALUES_MAX];
	const uint8_t *end = memchr(data, '\n', size);

	if (!end || (size_t)(end - data) > 200 || memchr(data, '\0', (size_t)(end - data)) || end + 1 == data + size)
		return 0;
	own(freep) char *line = strndup((const char *)data, (size_t)(end - data));
	size_t count = values_read(line, values), len = (size_t)(data + size - end) - 2;
	const char *text = (const char *)end + 2;
	struct redactor *redactor = redactor_make(
		&(struct redact_known){.values = values, .count = count, .home = count > 1 ? values[1] : NULL, .user = count ? values[0] : NULL});
	struct scrub_words *words = scrub_words_make(values, count);
	own(buf_done) struct buf named = {0}, stars = {0};

	check(redactor, REDACT_NAMED, text, len, end[1] * 2654435761u | 1, &named);
	check(redactor, REDACT_STARS, text, len, end[1] * 2654435761u | 1, &stars);
	assert(stars.len == len);
	for (size_t i = 0; i < len; i++)
		assert(stars.data[i] == text[i] || stars.data[i] == '*');
	assert(len == 0 || scrub_text(words, stars.data, stars.len) == 0);
	scrub_words_free(words);
	redactor_free(redactor);
	return 0;
}
