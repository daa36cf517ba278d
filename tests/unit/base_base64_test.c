#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/base64.h"

static void bytes_are_written_and_read_as_the_standard_says(void **state)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"}, {"\xff\xef\xbe", "/+++"}, {"\xff\xff\xff", "////"}, {"\x01", "AQ=="},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf written = {0}, read = {0};
		buf_str(&written, "x");
		buf_str(&read, "x");
		base64_write(rows[i].bytes, strlen(rows[i].bytes), &written);
		assert_string_equal(buf_text(&written) + 1, rows[i].text);
		assert_true(base64_read(rows[i].text, strlen(rows[i].text), &read));
		assert_string_equal(buf_text(&read) + 1, rows[i].bytes);
	}
}

static void every_byte_comes_back(void **state)
{
	own(buf_done) struct buf written = {0}, read = {0};
	unsigned char bytes[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	base64_write(bytes, sizeof(bytes), &written);
	assert_true(base64_read(written.data, written.len, &read));
	assert_int_equal(read.len, sizeof(bytes));
	assert_memory_equal(read.data, bytes, sizeof(bytes));
}

static void what_is_written_in_any_other_way_is_refused(void **state)
{
	static const char *const texts[] = {
		"Z", "Zg", "Zg=", "Zg===", "====", "=", "Zm9vY", "Zm9v\n", "Zm 9", "Zm9-", "Zm9_", "Zh==", "Zm9=", "Zg==Zg==",
		"Z===", "Zm9v====", "\xffm9v",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(buf_done) struct buf read = {0};
		buf_str(&read, "kept");
		if (base64_read(texts[i], strlen(texts[i]), &read))
			fail_msg("'%s' is taken", texts[i]);
		assert_string_equal(buf_text(&read), "kept");
	}
	own(buf_done) struct buf read = {0};
	assert_false(base64_read("Zm\0v", 4, &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_written_and_read_as_the_standard_says),
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(what_is_written_in_any_other_way_is_refused),
	};
	return cmocka_run_group_tests_name("base base64", tests, NULL, NULL);
}
