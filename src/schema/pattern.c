#define PCRE2_CODE_UNIT_WIDTH 8
#include "schema/pattern.h"

#include <pcre2.h>
#include <string.h>

#include "base/utf8.h"

/* Each is generous for an expression that means well; together they end one that does not in some milliseconds. */
#define MATCH_LIMIT 200000
#define DEPTH_LIMIT 5000
#define HEAP_LIMIT_KB 16384
#define SAMPLED_TO 0x3100u /* the scripts in everyday use */

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	struct ecma *tree;
	const char *text;
};

static int code_make(struct pattern *pattern, const struct buf *text, struct err *err)
{
	int code;
	PCRE2_SIZE at;
	PCRE2_UCHAR sentence[160];

	pattern->code = pcre2_compile((PCRE2_SPTR)buf_text(text), text->len,
		PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
		&code, &at, NULL);
	if (pattern->code)
		return 0;
	if (pcre2_get_error_message(code, sentence, sizeof(sentence)) < 0)
		sentence[0] = '\0';
	return err_set(err, ERR_USAGE, "PCRE2 cannot match it: %s", (const char *)sentence);
}

struct pattern *pattern_open(const char *text, size_t len, struct arena *arena, struct err *err)
{
	own(buf_done) struct buf translated = {0};
	struct ecma *tree = ecma_parse(text, len, arena, err);

	if (!tree)
		return NULL;
	ecma_write(tree, &translated);
	struct pattern *pattern = xcalloc(1, sizeof(*pattern));
	pattern->tree = tree;
	pattern->text = arena_text(arena, text, len);
	if (code_make(pattern, &translated, err) < 0)
		return pattern_free(pattern);
	pattern->data = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	if (!pattern->data || !pattern->context) {
		(void)err_set(err, ERR_LIMIT, "there is no memory for it");
		return pattern_free(pattern);
	}
	(void)pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KB);
	return pattern;
}

struct pattern *pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return NULL;
	pcre2_code_free(pattern->code);
	pcre2_match_data_free(pattern->data);
	pcre2_match_context_free(pattern->context);
	free(pattern);
	return NULL;
}

static enum pattern_verdict match(const struct pattern *pattern, const char *bytes, size_t len)
{
	int result = pcre2_match(pattern->code, (PCRE2_SPTR)bytes, len, 0, 0, pattern->data, pattern->context);

	if (result >= 0)
		return PATTERN_YES;
	bool limit = result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT || result == PCRE2_ERROR_HEAPLIMIT ||
		result == PCRE2_ERROR_NOMEMORY;
	return limit ? PATTERN_GAVE_UP : PATTERN_NO; /* no match, or no UTF-8 */
}

/* Halves of surrogate pairs are characters to ECMA-262 and none to PCRE2: both sides see others in their place. */
static enum pattern_verdict match_halves(const struct pattern *pattern, const char *bytes, size_t len)
{
	own(buf_done) struct buf text = {0};
	char wide[4];

	for (size_t i = 0; i < len; i++) {
		const unsigned char *at = (const unsigned char *)bytes + i;
		if (len - i < 3 || at[0] != 0xed || at[1] < 0xa0) {
			buf_char(&text, bytes[i]);
			continue;
		}
		uint32_t code = 0xd000u | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
		buf_add(&text, wide, utf8_put(code - 0xd800 + ECMA_HALVES, wide));
		i += 2;
	}
	return match(pattern, buf_text(&text), text.len);
}

enum pattern_verdict pattern_match(const struct pattern *pattern, const char *bytes, size_t len)
{
	const char *at = bytes;

	while (len && (at = memchr(at, 0xed, (size_t)(bytes + len - at)))) {
		if (at + 1 < bytes + len && (unsigned char)at[1] >= 0xa0)
			return match_halves(pattern, bytes, len);
		at++;
	}
	return match(pattern, bytes ? bytes : "", len);
}

struct ecma *pattern_tree(const struct pattern *pattern)
{
	return pattern->tree;
}

static bool code_matches(const struct pattern *pattern, uint32_t code)
{
	char bytes[4];

	return (code < 0xd800 || code > 0xdfff) && pattern_match(pattern, bytes, utf8_put(code, bytes)) == PATTERN_YES;
}

void pattern_sample(struct ecma *set, struct arena *arena)
{
	own(buf_done) struct buf text = {0}, found = {0};
	struct pattern pattern = {0};
	struct err err;

	if (set->samples)
		return;
	set->samples = arena_zeroed(arena, 1, sizeof(*set->samples));
	ecma_write(set, &text);
	pattern.data = pcre2_match_data_create(1, NULL);
	if (pattern.data && code_make(&pattern, &text, &err) == 0) {
		for (uint32_t code = 0; code < SAMPLED_TO; code++) {
			struct ecma_range range = {code, code};
			if (!code_matches(&pattern, code))
				continue;
			while (range.high + 1 < SAMPLED_TO && code_matches(&pattern, range.high + 1))
				range.high++;
			code = range.high;
			buf_add(&found, &range, sizeof(range));
		}
		set->samples = (struct ecma_range *)(void *)arena_text(arena, buf_text(&found), found.len);
		set->sample_count = found.len / sizeof(struct ecma_range);
	}
	pcre2_code_free(pattern.code);
	pcre2_match_data_free(pattern.data);
}

size_t pattern_size(const struct pattern *pattern)
{
	size_t size = 0;

	(void)pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &size);
	return size;
}

const char *pattern_text(const struct pattern *pattern)
{
	return pattern->text;
}
