/* Whatever the text: it is refused with a clean sentence that names its line, or gives a profile that a cell can be asked
 * for, that opens no more than the short list, and that says the same when it is written and read again. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
	assert(err->code == ERR_USAGE && strncmp(err->text, "f:", 2) == 0);
	for (const char *at = err->text; *at; at++)
		assert((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_calls(const struct profile *profile)
{
	const struct cell_call *call;

	for (size_t i = 0; (call = cell_call_at(i)); i++) {
		assert(!profile->denied[i] || call->kind == CELL_CALL_FREE);
		assert(!profile->opened[i] || call->kind == CELL_CALL_CLOSED);
	}
}

static void check_spec(struct profile *profile)
{
	const char *const argv[] = {"true", NULL};
	struct cell_spec spec;
	struct err err = {0};

	cell_spec_defaults(&spec);
	spec.argv = argv;
	profile_apply(profile, &spec);
	assert(cell_spec_check(&spec, &err) == 0);
}

static void check_written(const struct profile *profile)
{
	own(buf_done) struct buf first = {0}, second = {0}, lines = {0};
	own(json_done) struct json json = {0};
	own(profile_done) struct profile again = {0};
	struct err err = {0};
	size_t count;

	profile_yaml(profile, &first);
	assert(profile_parse(&again, first.data, first.len, "f", &err) == 0);
	profile_yaml(&again, &second);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	profile_words_free(profile_words(profile, &count));
	profile_json(profile, &json);
	(void)profile_warnings(profile, &lines);
	(void)profile_opens(profile, &lines);
	for (size_t i = 0; i < lines.len; i++)
		assert((unsigned char)lines.data[i] >= 0x20 || lines.data[i] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(freep) char *text = malloc(size ? size : 1); /* exactly, so that a byte too far is seen */
	own(profile_done) struct profile profile = {0};
	struct err err = {0};

	memcpy(text, data, size);
	if (profile_parse(&profile, text, size, "f", &err) < 0) {
		check_refusal(&err);
		assert(!profile.name);
		return 0;
	}
	check_calls(&profile);
	check_spec(&profile);
	check_written(&profile);
	return 0;
}
