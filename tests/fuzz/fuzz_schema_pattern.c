/* Whatever the expression and the text, a newline between them: the expression is refused with a sentence, or read; and
 * what is written for PCRE2 is then an expression to it, but for what PCRE2 refuses by name. Matching ends. What is drawn
 * from an exact one matches. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "schema/make.h"
#include "schema/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_drawn(const struct pattern *pattern, struct arena *arena)
{
	own(buf_done) struct buf out = {0};
	struct draw draw;

	draw_init(&draw, 1);
	for (int i = 0; i < 4; i++) {
		out.len = 0;
		draw_restart(&draw);
		if (ecma_draw(pattern_tree(pattern), &draw, arena, 0, ECMA_FOREVER, &out) && ecma_is_exact(pattern_tree(pattern)))
			assert(pattern_match(pattern, buf_text(&out), out.len) != PATTERN_NO);
	}
	draw_done(&draw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(arena_done) struct arena arena = {0};
	struct err err = {0};
	const char *text = (const char *)data;
	const char *line = size ? memchr(text, '\n', size) : NULL;
	size_t len = line ? (size_t)(line - text) : size;
	struct pattern *pattern = pattern_open(text, len, &arena, &err);

	if (!pattern) {
		assert(err.code && err.text[0]);
		return 0;
	}
	if (line)
		(void)pattern_match(pattern, line + 1, size - len - 1);
	check_drawn(pattern, &arena);
	pattern_free(pattern);
	return 0;
}
