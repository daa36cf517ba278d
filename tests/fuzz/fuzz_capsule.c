/* A capsule is a stranger's. What is read can be written and read again, and is the same then. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "finding/finding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(finding_done) struct finding first = {0}, second = {0};
	own(json_done) struct json json = {0}, again = {0};
	own(buf_done) struct buf text = {0}, normal = {0};
	struct err err = {0};

	buf_add(&text, data, size);
	message_normalise(buf_text(&text), &normal);
	if (capsule_read(&first, buf_text(&text), text.len, "input", &err) < 0) {
		assert(err.code && err.text[0]);
		return 0;
	}
	capsule_write(&first, &json);
	assert(capsule_read(&second, json.out.data, json.out.len, "again", &err) == 0);
	capsule_write(&second, &again);
	assert(json.out.len == again.out.len && memcmp(json.out.data, again.out.data, json.out.len) == 0);
	return 0;
}
