/* Inputs of any shape, as a corpus that a target may have written has them, cut at NUL bytes: what is made of them
 * is as long as it says, and never longer than it may be. Texts of any shape as a source: entries of a dictionary
 * are plain lines. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/core/deepen.h"

#define MAX 200u

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_dict(const char *text, size_t len)
{
	own(buf_done) struct buf dict = {0};

	dict_mine(text, len, &dict);
	assert(dict.len == 0 || dict.data[dict.len - 1] == '\n');
	for (size_t i = 0; i < dict.len; i++)
		assert(dict.data[i] == '\n' || (dict.data[i] >= ' ' && dict.data[i] < 0x7f));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct deepen *it = deepen_open();
	struct deep deep;

	check_dict(at, size);
	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));
		stop = stop ? stop : end;
		deepen_learn(it, at, (size_t)(stop - at));
		at = stop + 1;
	}
	for (size_t count = 0; deepen_next(it, &deep); count++) {
		own(buf_done) struct buf text = {0};
		size_t most = deep_most(&deep, MAX);
		assert(deep.open > 0 && count < 4096);
		deep_write(&deep, most, &text);
		assert(most == 0 || text.len <= MAX);
		assert(text.len == deep.head + deep.middle + deep.tail + most * (deep.open + deep.close));
		deep_done(&deep);
	}
	(void)deepen_free(it);
	return 0;
}
