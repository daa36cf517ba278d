/* A schema and a value, a newline between them: with and without a list of errors the verdict is the same, and where the
 * value does not fit there is at least one error with a sentence. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/json_read.h"
#include "schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(value_done) struct value value = {0};
	own(schema_errors_done) struct schema_errors errors = {0};
	struct err err = {0};
	const char *text = (const char *)data;
	const char *line = size ? memchr(text, '\n', size) : NULL;

	if (!line)
		return 0;
	own(schema_freep) struct schema *schema = schema_read(text, (size_t)(line - text), NULL, NULL, &err);
	if (!schema || json_read(line + 1, size - (size_t)(line - text) - 1, &schema_text_limits, NULL, &value, &err) < 0)
		return 0;
	enum schema_verdict verdict = schema_check(schema, &value, &errors, &err);
	enum schema_verdict quick = schema_check(schema, &value, NULL, &err);
	assert(verdict == quick || verdict == SCHEMA_GAVE_UP || quick == SCHEMA_GAVE_UP);
	assert((verdict == SCHEMA_INVALID) == (errors.count > 0));
	for (size_t i = 0; i < errors.count; i++)
		assert(errors.list[i].text[0] && errors.list[i].where && errors.list[i].rule);
	return 0;
}
