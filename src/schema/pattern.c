#define PCRE2_CODE_UNIT_WIDTH 8
#include "schema/pattern.h"

#include <pcre2.h>

/* Each is generous for an expression that means well; together they end one that does not in some milliseconds. */
#define MATCH_LIMIT 200000
#define DEPTH_LIMIT 5000
#define HEAP_LIMIT_KB 16384

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	const struct ecma *tree;
	const char *text;
};

static int code_make(struct pattern *pattern, const struct buf *text, struct err *err)
{
	int code;
	PCRE2_SIZE at;
	PCRE2_UCHAR sentence[160];

	pattern->code = pcre2_compile((PCRE2_SPTR)buf_text(text), text->len,
		PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_MATCH_INVALID_UTF,
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

enum pattern_verdict pattern_match(const struct pattern *pattern, const char *bytes, size_t len)
{
	int result = pcre2_match(pattern->code, (PCRE2_SPTR)(bytes ? bytes : ""), len, 0, 0, pattern->data, pattern->context);

	return result >= 0 ? PATTERN_YES : result == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_GAVE_UP;
}

const struct ecma *pattern_tree(const struct pattern *pattern)
{
	return pattern->tree;
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
