/* A stranger's Java, in which names of methods are looked for: each of them is a word of the text. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/language.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct text {
	const char *at;
	size_t len;
};

static void on_name(void *data, const char *name, size_t len, bool harness)
{
	const struct text *text = data;

	assert(name >= text->at && len > 0 && len <= (size_t)(text->at + text->len - name));
	assert(!memchr(name, ' ', len) && !memchr(name, '\n', len) && !memchr(name, '(', len));
	assert(!harness || (len == 18 && memcmp(name, "fuzzerTestOneInput", 18) == 0));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct text text = {(const char *)data, size};

	language_java.names(text.at, size, on_name, &text);
	return 0;
}
