#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void every_setter_returns_minus_one_and_tolerates_no_error_object(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(err_set(&err, 1, "x"), -1);
	assert_int_equal(err_errno(&err, 1, "x"), -1);
	assert_int_equal(err_wrap(&err, "x"), -1);
	assert_int_equal(err_set(NULL, 1, "x"), -1);
	assert_int_equal(err_errno(NULL, 1, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void a_wrapped_error_keeps_its_cause_and_reads_outside_in(void **state)
{
	struct err err = {0};

	(void)state;
	(void)err_errno(&err, ENOENT, "open '%s'", "/x");
	(void)err_wrap(&err, "start %d", 7);
	assert_int_equal(err.code, ENOENT);
	assert_string_equal(err.text, "start 7: open '/x': No such file or directory");
}

static void a_set_error_says_only_what_it_was_told(void **state)
{
	struct err err = {0};

	(void)state;
	(void)err_set(&err, ERR_USAGE, "no such flag '%s'", "--x");
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.text, "no such flag '--x'");
}

static void an_error_may_quote_its_own_text(void **state)
{
	struct err err = {.text = "inner"};

	(void)state;
	(void)err_set(&err, 1, "<%s>", err.text);
	assert_string_equal(err.text, "<inner>");
	(void)err_wrap(&err, "%s again", err.text);
	assert_string_equal(err.text, "<inner> again: <inner>");
}

static void what_does_not_fit_is_cut_in_front_of_the_cause(void **state)
{
	struct err err = {0};
	char longer[1000];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	(void)err_errno(&err, ENOSPC, "write '%s'", longer);
	assert_true(strlen(err.text) < sizeof(err.text));
	assert_non_null(strstr(err.text, "xxx...: No space left on device"));
	(void)err_wrap(&err, "%s", longer);
	(void)err_wrap(&err, "collect");
	assert_true(strlen(err.text) < sizeof(err.text));
	assert_int_equal(strncmp(err.text, "collect", 7), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setter_returns_minus_one_and_tolerates_no_error_object),
		cmocka_unit_test(a_wrapped_error_keeps_its_cause_and_reads_outside_in),
		cmocka_unit_test(a_set_error_says_only_what_it_was_told),
		cmocka_unit_test(an_error_may_quote_its_own_text),
		cmocka_unit_test(what_does_not_fit_is_cut_in_front_of_the_cause),
	};
	return cmocka_run_group_tests_name("base err", tests, NULL, NULL);
}
