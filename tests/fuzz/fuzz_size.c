/* Whatever is typed: a parser either refuses with a clean sentence or gives a value in range, and
 * what size_text and duration_text write fits. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
	size_t len = strnlen(err->text, sizeof(err->text));

	assert(err->code == ERR_USAGE);
	assert(len > 0 && len < sizeof(err->text));
	for (size_t i = 0; i < len; i++)
		assert((unsigned char)err->text[i] >= 0x20 && err->text[i] != 0x7f);
}

static void check_texts(uint64_t value)
{
	char short_text[16], longer_text[24];

	assert(strlen(size_text(value, short_text, sizeof(short_text))) < sizeof(short_text) - 1);
	assert(strncmp(short_text, "1024 ", 5) != 0);
	assert(strlen(duration_text(value, longer_text, sizeof(longer_text))) <
		sizeof(longer_text) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	uint64_t value = 0;
	uint32_t milli = 0;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (size_parse(text, "--x", &value, &err) < 0)
		check_refusal(&err);
	else
		assert(value >= 1 && value <= UINT64_C(1) << 50);
	check_texts(value);
	if (duration_parse(text, "--x", &value, &err) < 0)
		check_refusal(&err);
	else
		assert(value >= 1 && value <= UINT64_C(365) * 86400 * 1000);
	if (count_parse(text, "--x", 5, 5000000000, &value, &err) < 0)
		check_refusal(&err);
	else
		assert(value >= 5 && value <= 5000000000 && value == strtoull(text, NULL, 10));
	if (cpus_parse(text, "--x", &milli, &err) < 0)
		check_refusal(&err);
	else
		assert(milli >= 10 && milli <= 4096000);
	if (size >= sizeof(value)) {
		memcpy(&value, data, sizeof(value));
		check_texts(value);
	}
	free(text);
	return 0;
}
