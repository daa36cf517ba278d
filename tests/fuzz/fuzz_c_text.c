/* A file of C or C++, by anybody: what each function takes is in the text, its name is of words of the text, fits itself
 * and what is left of it, and where it can be called a harness is made, or a sentence. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/c/c_text.h"
#include "fuzz/function/lang/language.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct look {
	const char *text;
	size_t len;
	unsigned seen;
};

static void look_at(void *data, const struct c_function *function)
{
	struct look *look = data;
	const char *last = c_last_part(function->name);
	struct function_target target = {.language = "c++", .root = (char *)"/x", .file = (char *)"t.cc",
		.function = (char *)function->name, .name = (char *)"t.cc:f"};
	const struct function_options options = {.serve = look->len % 2 != 0};
	own(function_plan_done) struct function_plan plan = {0};
	struct err err = {0};

	assert(*function->name && strlen(function->name) < sizeof(function->name));
	assert(*last && memmem(look->text, look->len, last, strlen(last)));
	assert(c_name_fits(function->name, function->name) && c_name_fits(function->name, last));
	assert(function->params.at > look->text && function->params.at + function->params.len < look->text + look->len);
	if (function->member)
		assert(look->seen >= 8 || c_is_member(look->text, look->len, function->name));
	if (look->seen++ >= 8 || function->member) /* each is looked for from the beginning */
		return;
	if (language_cxx.plan(&target, &options, look->text, look->len, &plan, &err) < 0)
		assert(*err.text && err.code == ERR_USAGE);
	else
		assert(strstr(plan.files[0].text, function->name));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct look look = {(const char *)data, size, 0};

	if (size)
		c_functions(look.text, size, look_at, &look);
	return 0;
}
