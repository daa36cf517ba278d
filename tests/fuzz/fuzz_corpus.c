/* What a corpus says of itself is a stranger's. What is read can be written and read again, and is the same then. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/function/corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(corpus_about_done) struct corpus_about first = {0}, second = {0};
	own(json_done) struct json json = {0}, again = {0};
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	buf_add(&text, data, size);
	if (corpus_about_read(buf_text(&text), text.len, "input", &first, &err) < 0) {
		assert(err.code && err.text[0]);
		return 0;
	}
	corpus_about_write(&first, &json);
	assert(corpus_about_read(json.out.data, json.out.len, "again", &second, &err) == 0);
	corpus_about_write(&second, &again);
	assert(json.out.len == again.out.len && memcmp(json.out.data, again.out.data, json.out.len) == 0);
	return 0;
}
