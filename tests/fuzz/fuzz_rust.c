/* A file of Rust, by anybody: each function that is found is in the text, is found by its name, and where it can be
 * called the text is the same with something put into it, and no line more. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/rust/rust_text.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct look {
	const char *text;
	size_t len;
	unsigned seen;
};

static size_t lines(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

static void look_at(void *data, const struct rust_function *function)
{
	struct look *look = data;
	struct rust_function found;
	struct err err = {0};

	assert(*function->name && *function->local && strstr(function->name, function->local));
	assert(function->params >= look->text && function->params + function->params_len <= look->text + look->len);
	if (look->seen++ >= 8) /* each is looked for from the beginning */
		return;
	assert(rust_find(look->text, look->len, function->name, &found));
	assert(found.after <= look->len && found.params + found.params_len <= look->text + found.after);
	own(freep) char *made = rust_harness(look->text, look->len, &found, "t.rs:f", look->len % 2 != 0, &err);
	if (!made) {
		assert(*err.text && err.code == ERR_USAGE);
		return;
	}
	size_t more = strlen(made);
	assert(memchr(look->text, '\0', look->len) || more > look->len);
	assert(memchr(look->text, '\0', look->len) || lines(made, more) == lines(look->text, look->len));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct look look = {(const char *)data, size, 0};
	bool harness;

	if (size)
		rust_functions(look.text, size, look_at, &look, &harness);
	return 0;
}
