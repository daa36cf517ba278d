#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/size.h"

#define REFUSED UINT64_MAX
#define K UINT64_C(1024)

struct row {
	const char *text;
	uint64_t expected; /* or REFUSED */
};

typedef int parse_fn(const char *text, const char *what, uint64_t *ret, struct err *err);

static void check(parse_fn *parse, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 12345;
		struct err err = {0};
		int rc = parse(rows[i].text, "--flag", &value, &err);
		if ((rc == 0) != (rows[i].expected != REFUSED))
			fail_msg("'%s' was %s", rows[i].text, rc ? "refused" : "taken");
		if (rc == 0) {
			assert_int_equal(value, rows[i].expected);
			continue;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(value, 12345);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(strncmp(err.text, "--flag: '", 9), 0);
		assert_null(strchr(err.text, '\x1b'));
	}
}

static void sizes_are_read_as_people_write_them_and_strictly(void **state)
{
	static const struct row rows[] = {
		{"100", 100},
		{"1", 1},
		{"64k", 64 * K},
		{"64K", 64 * K},
		{"512M", 512 * K * K},
		{"1G", K * K * K},
		{"2t", 2 * K * K * K * K},
		{"10B", 10},
		{"1kb", K},
		{"1MiB", K * K},
		{"1gIb", K * K * K},
		{"1.5G", 1536 * K * K},
		{"0.5k", 512},
		{"0.1k", 102},
		{"0001", 1},
		{"1024T", K * K * K * K * K},
		{"1125899906842624", K * K * K * K * K},
		{"1025T", REFUSED},
		{"1125899906842625", REFUSED},
		{"0", REFUSED},
		{"0G", REFUSED},
		{"0.0001k", REFUSED},
		{"-1", REFUSED},
		{"+1", REFUSED},
		{"", REFUSED},
		{"M", REFUSED},
		{"1e3", REFUSED},
		{"0x10", REFUSED},
		{"1P", REFUSED},
		{"1Q", REFUSED},
		{"1 M", REFUSED},
		{" 1M", REFUSED},
		{"1M ", REFUSED},
		{"1MM", REFUSED},
		{"1iB", REFUSED},
		{"1.5", REFUSED},
		{"1.5B", REFUSED},
		{".5G", REFUSED},
		{"5.G", REFUSED},
		{"5.", REFUSED},
		{"1.2.3G", REFUSED},
		{"1,5G", REFUSED},
		{"99999999999999999999", REFUSED},
		{"18446744073709551615T", REFUSED},
		{"18446744073709551616", REFUSED},
		{"0.1234567891G", REFUSED},
		{"\x1b[31mG", REFUSED},
		{"nan", REFUSED},
		{"inf", REFUSED},
	};

	(void)state;
	check(size_parse, rows, ARRAY_LEN(rows));
}

static void durations_are_read_as_people_write_them_and_strictly(void **state)
{
	static const struct row rows[] = {
		{"60s", 60000},
		{"90", 90000},
		{"1.5m", 90000},
		{"2h", 7200000},
		{"1d", 86400000},
		{"250ms", 250},
		{"0.25", 250},
		{"0.001s", 1},
		{"365d", UINT64_C(31536000000)},
		{"366d", REFUSED},
		{"365.1d", REFUSED},
		{"0", REFUSED},
		{"0s", REFUSED},
		{"0.0001s", REFUSED},
		{"-1s", REFUSED},
		{"", REFUSED},
		{"s", REFUSED},
		{"1.5ms", REFUSED},
		{"1S", REFUSED},
		{"1min", REFUSED},
		{"1h30m", REFUSED},
		{"1 s", REFUSED},
		{"1us", REFUSED},
		{"1e1s", REFUSED},
		{"18446744073709551615d", REFUSED},
	};

	(void)state;
	check(duration_parse, rows, ARRAY_LEN(rows));
}

static int count_of_3_to_100(const char *text, const char *what, uint64_t *ret, struct err *err)
{
	return count_parse(text, what, 3, 100, ret, err);
}

static int any_count(const char *text, const char *what, uint64_t *ret, struct err *err)
{
	return count_parse(text, what, 0, UINT64_MAX, ret, err);
}

static void counts_are_whole_numbers_within_their_range(void **state)
{
	static const struct row rows[] = {
		{"3", 3},
		{"100", 100},
		{"0007", 7},
		{"2", REFUSED},
		{"101", REFUSED},
		{"", REFUSED},
		{"1k", REFUSED},
		{"3.0", REFUSED},
		{"-3", REFUSED},
		{"+3", REFUSED},
		{" 3", REFUSED},
		{"3 ", REFUSED},
		{"99999999999999999999999", REFUSED},
	};
	static const struct row wide[] = {{"0", 0}, {"18446744073709551614", UINT64_MAX - 1}};

	(void)state;
	check(count_of_3_to_100, rows, ARRAY_LEN(rows));
	check(any_count, wide, ARRAY_LEN(wide));
}

static int cpus(const char *text, const char *what, uint64_t *ret, struct err *err)
{
	uint32_t milli = 0;

	if (cpus_parse(text, what, &milli, err) < 0)
		return -1;
	*ret = milli;
	return 0;
}

static void cpus_are_read_in_thousandths(void **state)
{
	static const struct row rows[] = {
		{"1", 1000},
		{"0.5", 500},
		{"0.01", 10},
		{"4096", 4096000},
		{"1.2345", 1234},
		{"0.009", REFUSED},
		{"0", REFUSED},
		{"4096.001", REFUSED},
		{"4097", REFUSED},
		{"", REFUSED},
		{"1m", REFUSED},
		{"-1", REFUSED},
		{".5", REFUSED},
		{"all", REFUSED},
	};

	(void)state;
	check(cpus, rows, ARRAY_LEN(rows));
}

static void sizes_are_shown_short_and_never_as_1024_of_anything(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *expected;
	} cases[] = {
		{0, "0 B"},
		{812, "812 B"},
		{1023, "1023 B"},
		{1024, "1 KB"},
		{1536, "1.5 KB"},
		{512 * K * K, "512 MB"},
		{1536 * K * K, "1.5 GB"},
		{K * K - 1, "1 MB"},
		{1023 * K * K + 700 * K, "1 GB"},
		{100 * K + 600, "101 KB"},
		{99 * K + 1000, "100 KB"},
		{99 * K + 900, "99.9 KB"},
		{UINT64_MAX, "16 EB"},
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(
			size_text(cases[i].bytes, text, sizeof(text)), cases[i].expected);
}

static void durations_are_shown_in_the_unit_that_suits_them(void **state)
{
	static const struct {
		uint64_t ns;
		const char *expected;
	} cases[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1 us"},
		{812345, "812 us"},
		{999500, "1.0 ms"},
		{1234567, "1.2 ms"},
		{999 * NS_PER_MS, "999.0 ms"},
		{NS_PER_S - 1, "1.0 s"},
		{42300 * NS_PER_MS, "42.3 s"},
		{59960 * NS_PER_MS, "1m 0s"},
		{200 * NS_PER_S, "3m 20s"},
		{3599500 * NS_PER_MS, "1h 0m"},
		{7500 * NS_PER_S, "2h 5m"},
		{90000 * NS_PER_S, "1d 1h"},
		{UINT64_MAX, "213503d 23h"},
	};
	char text[24];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(
			duration_text(cases[i].ns, text, sizeof(text)), cases[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read_as_people_write_them_and_strictly),
		cmocka_unit_test(durations_are_read_as_people_write_them_and_strictly),
		cmocka_unit_test(counts_are_whole_numbers_within_their_range),
		cmocka_unit_test(cpus_are_read_in_thousandths),
		cmocka_unit_test(sizes_are_shown_short_and_never_as_1024_of_anything),
		cmocka_unit_test(durations_are_shown_in_the_unit_that_suits_them),
	};
	return cmocka_run_group_tests_name("base size", tests, NULL, NULL);
}
