/* A stranger's JavaScript, in which names of functions are looked for: each of them is in the text, or made of it. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/language.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void on_name(void *data, const char *name, size_t len, bool harness)
{
	(void)data;
	assert(len > 0 && !memchr(name, ' ', len) && !memchr(name, '\n', len));
	assert(!harness || (len == 4 && memcmp(name, "fuzz", 4) == 0));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	language_javascript.names((const char *)data, size, on_name, NULL);
	return 0;
}
