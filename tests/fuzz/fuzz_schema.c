/* Whatever the schema: it is refused with a sentence, or compiled; then values are made that fit when they are read
 * back, and their records make them again, or there is a sentence that says why not. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/json_read.h"
#include "schema/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_made(const struct schema *schema, const struct made *made, enum schema_verdict expected)
{
	static const struct json_limits limits = {.bytes = (size_t)1 << 26, .values = (size_t)1 << 24, .depth = 2000, .any_text = true};
	own(value_done) struct value value = {0};
	own(schema_errors_done) struct schema_errors errors = {0};
	struct err err = {0};

	assert(json_read(made->text, made->len, &limits, NULL, &value, &err) == 0);
	assert(schema_check(schema, &value, &errors, &err) == expected);
	assert(expected == SCHEMA_VALID ? errors.count == 0 : errors.count == 1);
}

static void check_generator(const struct schema *schema, struct generator *generator)
{
	struct err err = {0};
	struct draw draw, again;
	struct made made;

	draw_init(&draw, 1);
	draw_init(&again, 2);
	for (int i = 0; i < 3 && generator_make(generator, &draw, &made, &err) == 0; i++) {
		own(freep) char *text = xstrdup(made.text);
		check_made(schema, &made, SCHEMA_VALID);
		draw_replay(&again, draw.choices, draw.count);
		assert(generator_make(generator, &again, &made, &err) == 0 && strcmp(made.text, text) == 0);
	}
	if (generator_make_malformed(generator, &draw, &made, &err) == 0)
		check_made(schema, &made, SCHEMA_INVALID);
	draw_done(&draw);
	draw_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct schema_options options = {.draft = size ? data[0] % 3 : SCHEMA_2020_12, .assert_format = size && data[0] % 2};
	own(schema_freep) struct schema *schema = schema_read((const char *)data, size, NULL, &options, &err);

	if (!schema) {
		assert(err.code && err.text[0]);
		return 0;
	}
	own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
	if (generator)
		check_generator(schema, generator);
	else
		assert(err.text[0]);
	return 0;
}
