/* A file that may be Go: whatever is found in it lies within it. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/go/go_text.h"
#include "fuzz/function/lang/stats.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct text {
	const char *at, *end;
};

static void check_span(const struct text *text, struct go_span span)
{
	assert(!span.len || (span.at >= text->at && span.at + span.len <= text->end));
}

static bool check_function(void *data, const struct go_function *function)
{
	const struct text *text = data;
	struct go_param params[GO_PARAMS_MAX];
	size_t count = go_params(function->params, params);

	assert(function->name.len);
	check_span(text, function->name);
	check_span(text, function->params);
	for (size_t i = 0; i < count && i < GO_PARAMS_MAX; i++) {
		check_span(text, params[i].name);
		check_span(text, params[i].type);
		(void)go_plain(params[i].type, true);
		(void)go_is_hopeless(params[i].type);
	}
	(void)go_is_fuzz_test(function);
	return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct text text = {(const char *)data, (const char *)data + size};
	struct stats stats = {0};

	check_span(&text, go_package(text.at, size));
	go_functions(text.at, size, check_function, &text);
	(void)go_stats_line(&stats, text.at, size);
	return 0;
}
