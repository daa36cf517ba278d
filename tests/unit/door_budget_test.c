#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "door/policy/budget.h"

#define MIB (UINT64_C(1) << 20)

static struct door_budget budget_of(const char *text)
{
	struct door_budget budget = {0};
	struct err err = {0};

	if (budget_parse(&budget, text, "--budget", &err) < 0)
		fail_msg("'%s' was refused: %s", text, err.text);
	return budget;
}

static void a_budget_is_read_as_people_write_it_and_written_so_that_it_can_be_read_again(
	void **state)
{
	static const struct {
		const char *text;
		struct door_budget expected;
		const char *again;
	} cases[] = {
		{"$20", {{[BUDGET_MICRODOLLARS] = 20000000}}, "$20.00"},
		{"$0.50", {{[BUDGET_MICRODOLLARS] = 500000}}, "$0.50"},
		{"$0.5", {{[BUDGET_MICRODOLLARS] = 500000}}, "$0.50"},
		{"$1.234", {{[BUDGET_MICRODOLLARS] = 1234000}}, "$1.234"},
		{"$0.000001", {{[BUDGET_MICRODOLLARS] = 1}}, "$0.000001"},
		{"$0.05", {{[BUDGET_MICRODOLLARS] = 50000}}, "$0.05"},
		{"$1000000000", {{[BUDGET_MICRODOLLARS] = UINT64_C(1000000000000000)}},
			"$1000000000.00"},
		{"tokens=1", {{[BUDGET_TOKENS] = 1}}, "tokens=1"},
		{"tokens=1M", {{[BUDGET_TOKENS] = 1000000}}, "tokens=1M"},
		{"tokens=1.5M", {{[BUDGET_TOKENS] = 1500000}}, "tokens=1500k"},
		{"tokens=0.000001M", {{[BUDGET_TOKENS] = 1}}, "tokens=1"},
		{"tokens=10k", {{[BUDGET_TOKENS] = 10000}}, "tokens=10k"},
		{"tokens=10K", {{[BUDGET_TOKENS] = 10000}}, "tokens=10k"},
		{"tokens=1.234k", {{[BUDGET_TOKENS] = 1234}}, "tokens=1234"},
		{"tokens=1000000000M", {{[BUDGET_TOKENS] = UINT64_C(1000000000000000)}},
			"tokens=1000000000M"},
		{"requests=1000", {{[BUDGET_REQUESTS] = 1000}}, "requests=1k"},
		{"connections=100", {{[BUDGET_CONNECTIONS] = 100}}, "connections=100"},
		{"sent=10M", {{[BUDGET_SENT] = 10 * MIB}}, "sent=10M"},
		{"sent=1000", {{[BUDGET_SENT] = 1000}}, "sent=1000"},
		{"sent=1.5k", {{[BUDGET_SENT] = 1536}}, "sent=1536"},
		{"received=1G", {{[BUDGET_RECEIVED] = 1024 * MIB}}, "received=1G"},
		{"received=1024T", {{[BUDGET_RECEIVED] = MIB * MIB * 1024}}, "received=1048576G"},
		{"connections=100,received=1G,sent=10M,requests=1000,tokens=1M,$20",
			{{20000000, 1000000, 1000, 10 * MIB, 1024 * MIB, 100}},
			"$20.00,tokens=1M,requests=1k,sent=10M,received=1G,connections=100"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct door_budget budget = budget_of(cases[i].text);
		own(buf_done) struct buf text = {0};
		assert_memory_equal(&budget, &cases[i].expected, sizeof(budget));
		assert_true(budget_is_set(&budget));
		budget_text(&budget, &text);
		assert_string_equal(buf_text(&text), cases[i].again);
		budget = budget_of(buf_text(&text));
		assert_memory_equal(&budget, &cases[i].expected, sizeof(budget));
	}
}

static void what_is_no_budget_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "is no budget"},
		{"20", "is no budget"},
		{"20$", "is no budget"},
		{"20 dollars", "is no budget"},
		{"\xe2\x82\xac" "20", "is no budget"},
		{" $20", "is no budget"},
		{"$20,", "is no budget"},
		{",$20", "is no budget"},
		{"$20,,tokens=1", "is no budget"},
		{"$20, tokens=1", "is no budget"},
		{"$1,000", "is no budget"},
		{"token=1", "is no budget"},
		{"tokens", "is no budget"},
		{"tokens:1", "is no budget"},
		{"Tokens=1", "is no budget"},
		{"refused=1", "is no budget"},
		{"\x1b[31m", "is no budget"},
		{"$", "no sum of dollars"},
		{"$.5", "no sum of dollars"},
		{"$5.", "no sum of dollars"},
		{"$1.2.3", "no sum of dollars"},
		{"$-1", "no sum of dollars"},
		{"$+1", "no sum of dollars"},
		{"$1e3", "no sum of dollars"},
		{"$1k", "no sum of dollars"},
		{"$ 1", "no sum of dollars"},
		{"$20 ", "no sum of dollars"},
		{"$0.0000001", "no sum of dollars"},
		{"$$1", "no sum of dollars"},
		{"$nan", "no sum of dollars"},
		{"tokens=", "no whole number"},
		{"tokens=k", "no whole number"},
		{"tokens=M", "no whole number"},
		{"tokens=1.5", "no whole number"},
		{"tokens=1.2345k", "no whole number"},
		{"tokens=1m", "no whole number"},
		{"tokens=1G", "no whole number"},
		{"tokens=1kk", "no whole number"},
		{"tokens=1KB", "no whole number"},
		{"tokens=-1", "no whole number"},
		{"tokens=0x10", "no whole number"},
		{"tokens= 1", "no whole number"},
		{"tokens==1", "no whole number"},
		{"tokens=$1", "no whole number"},
		{"requests=all", "no whole number"},
		{"sent=", "is not a size"},
		{"sent=-1", "is not a size"},
		{"received=lots", "is not a size"},
		{"received=1025T", "is too large"},
		{"$0", "leaves nothing"},
		{"$0.00", "leaves nothing"},
		{"tokens=0", "leaves nothing"},
		{"tokens=0M", "leaves nothing"},
		{"requests=0", "leaves nothing"},
		{"connections=000", "leaves nothing"},
		{"sent=0", "is no size at all"},
		{"$1000000000.000001", "too large"},
		{"$18446744073709.551616", "too large"},
		{"$99999999999999999999999999", "too large"},
		{"tokens=1000000001M", "too large"},
		{"tokens=18446744073709551616", "too large"},
		{"tokens=18446744073709551615M", "too large"},
		{"tokens=184467440737095517k", "too large"},
		{"$20,$20", "second limit"},
		{"$20,tokens=1,$30", "second limit"},
		{"tokens=1,tokens=1", "second limit"},
		{"sent=1,sent=1", "second limit"},
		{"sent=1,received=1,sent=2", "second limit"},
		{"$20,tokens=x", "no whole number"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct door_budget budget = {{[BUDGET_SENT] = 12345}};
		const struct door_budget before = budget;
		struct err err = {0};
		if (budget_parse(&budget, cases[i].text, "--run-budget", &err) == 0)
			fail_msg("'%s' was taken", cases[i].text);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(strncmp(err.text, "--run-budget: '", 15), 0);
		if (!strstr(err.text, cases[i].why))
			fail_msg("'%s' was refused with: %s", cases[i].text, err.text);
		assert_null(strchr(err.text, '\x1b'));
		assert_memory_equal(&budget, &before, sizeof(budget));
	}
}

static void no_budget_is_not_set_not_written_and_never_reached(void **state)
{
	struct door_budget none = {0};
	struct door_totals much;
	own(buf_done) struct buf text = {0};

	(void)state;
	memset(&much, 0xff, sizeof(much));
	assert_false(budget_is_set(&none));
	budget_text(&none, &text);
	assert_int_equal(text.len, 0);
	assert_int_equal(budget_reached(&none, &much), BUDGET_KINDS);
	budget_sentence(&none, &much, BUDGET_KINDS, &text);
	assert_int_equal(text.len, 0);
}

static void a_budget_is_reached_when_what_it_counts_is_used_up_and_not_before(void **state)
{
	static const struct {
		const char *budget;
		struct door_totals totals;
		enum budget_kind reached;
	} cases[] = {
		{"$20", {{[COUNT_MICRODOLLARS] = 19999999}}, BUDGET_KINDS},
		{"$20", {{[COUNT_MICRODOLLARS] = 20000000}}, BUDGET_MICRODOLLARS},
		{"$20", {{[COUNT_MICRODOLLARS] = 20000001}}, BUDGET_MICRODOLLARS},
		{"$20", {{[COUNT_TOKENS_IN] = UINT64_MAX, [COUNT_REQUESTS] = UINT64_MAX}},
			BUDGET_KINDS},
		{"tokens=1k", {{[COUNT_TOKENS_IN] = 999}}, BUDGET_KINDS},
		{"tokens=1k", {{[COUNT_TOKENS_IN] = 999, [COUNT_TOKENS_OUT] = 1}}, BUDGET_TOKENS},
		{"tokens=1k", {{[COUNT_TOKENS_OUT] = 1000}}, BUDGET_TOKENS},
		{"tokens=1k", {{[COUNT_TOKENS_IN] = UINT64_MAX, [COUNT_TOKENS_OUT] = 2}},
			BUDGET_TOKENS},
		{"requests=3", {{[COUNT_REQUESTS] = 2, [COUNT_REFUSED] = 100}}, BUDGET_KINDS},
		{"requests=3", {{[COUNT_REQUESTS] = 3}}, BUDGET_REQUESTS},
		{"connections=3", {{[COUNT_CONNECTIONS] = 2, [COUNT_FAILED] = 9}}, BUDGET_KINDS},
		{"connections=3", {{[COUNT_CONNECTIONS] = 3}}, BUDGET_CONNECTIONS},
		{"sent=1k", {{[COUNT_SENT] = 1023, [COUNT_RECEIVED] = 9999}}, BUDGET_KINDS},
		{"sent=1k", {{[COUNT_SENT] = 1024}}, BUDGET_SENT},
		{"received=1k", {{[COUNT_RECEIVED] = 1023, [COUNT_SENT] = 9999}}, BUDGET_KINDS},
		{"received=1k", {{[COUNT_RECEIVED] = 1024}}, BUDGET_RECEIVED},
		{"requests=3,$1", {{[COUNT_REQUESTS] = 3, [COUNT_MICRODOLLARS] = 1000000}},
			BUDGET_MICRODOLLARS},
		{"requests=3,$1", {{[COUNT_REQUESTS] = 3, [COUNT_MICRODOLLARS] = 999999}},
			BUDGET_REQUESTS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct door_budget budget = budget_of(cases[i].budget);
		if (budget_reached(&budget, &cases[i].totals) != cases[i].reached)
			fail_msg("row %zu: '%s'", i, cases[i].budget);
	}
}

static void a_sentence_says_what_was_allowed_and_what_was_used(void **state)
{
	static const struct {
		const char *budget;
		struct door_totals totals;
		const char *expected;
	} cases[] = {
		{"$20", {{[COUNT_MICRODOLLARS] = 20130412}},
			"the budget of $20.00 is used up ($20.13)"},
		{"$20", {{[COUNT_MICRODOLLARS] = 20000000}},
			"the budget of $20.00 is used up ($20.00)"},
		{"$20", {{[COUNT_MICRODOLLARS] = 20996000}},
			"the budget of $20.00 is used up ($21.00)"},
		{"$0.001", {{[COUNT_MICRODOLLARS] = 1250}},
			"the budget of $0.001 is used up ($0.00125)"},
		{"$1", {{[COUNT_MICRODOLLARS] = UINT64_MAX}},
			"the budget of $1.00 is used up ($18446744073709.55)"},
		{"tokens=1M", {{[COUNT_TOKENS_IN] = 1000000, [COUNT_TOKENS_OUT] = 321}},
			"the budget of 1000000 tokens is used up (1000321)"},
		{"requests=1000", {{[COUNT_REQUESTS] = 1000}},
			"the budget of 1000 requests is used up (1000)"},
		{"sent=10M", {{[COUNT_SENT] = 10 * MIB + MIB / 2}},
			"the budget of 10 MB sent is used up (10.5 MB)"},
		{"received=1G", {{[COUNT_RECEIVED] = 1024 * MIB}},
			"the budget of 1 GB received is used up (1 GB)"},
		{"connections=100", {{[COUNT_CONNECTIONS] = 101}},
			"the budget of 100 connections is used up (101)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct door_budget budget = budget_of(cases[i].budget);
		own(buf_done) struct buf text = {0};
		budget_sentence(&budget, &cases[i].totals,
			budget_reached(&budget, &cases[i].totals), &text);
		assert_string_equal(buf_text(&text), cases[i].expected);
	}
}

static void totals_add_up_and_stop_at_the_most(void **state)
{
	struct door_totals totals = {0}, more;

	(void)state;
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		more.count[i] = i + 1;
	totals_add(&totals, &more);
	totals_add(&totals, &more);
	for (size_t i = 0; i < DOOR_COUNTS; i++) {
		assert_int_equal(totals.count[i], 2 * (i + 1));
		totals.count[i] = UINT64_MAX - i;
	}
	totals_add(&totals, &more);
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		assert_true(totals.count[i] == UINT64_MAX);
	totals_add(&totals, &totals);
	assert_true(totals.count[0] == UINT64_MAX);
}

static void a_newer_budget_changes_what_it_names_and_nothing_else(void **state)
{
	struct door_budget budget = {0}, newer = {0};
	own(buf_done) struct buf text = {0};
	struct err err;

	(void)state;
	assert_int_equal(budget_parse(&budget, "$20,tokens=1M,sent=10M", "x", &err), 0);
	assert_int_equal(budget_parse(&newer, "tokens=2M,requests=5", "x", &err), 0);
	budget_merge(&budget, &newer);
	budget_text(&budget, &text);
	assert_string_equal(buf_text(&text), "$20.00,tokens=2M,requests=5,sent=10M");
}

static void every_count_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(door_count_names[i], door_count_names[j]);
	assert_string_equal(door_count_names[COUNT_CONNECTIONS], "connections");
	assert_string_equal(door_count_names[COUNT_TOKENS_IN], "tokens_in");
	assert_string_equal(door_count_names[COUNT_UNPRICED], "unpriced");
}

static struct door_totals money(uint64_t in, uint64_t out, uint64_t microdollars)
{
	struct door_totals totals = {0};

	totals.count[COUNT_TOKENS_IN] = in;
	totals.count[COUNT_TOKENS_OUT] = out;
	totals.count[COUNT_MICRODOLLARS] = microdollars;
	return totals;
}

static void what_is_reserved_is_used_until_it_is_settled(void **state)
{
	struct door_account account = {0};
	struct door_totals most = money(100, 900, 5000), cost = money(40, 10, 70), settled;
	struct door_budget budget = {0};

	(void)state;
	budget.limit[BUDGET_TOKENS] = 1500;
	assert_int_equal(budget_short(&budget, &account, &most), BUDGET_KINDS);
	account_reserve(&account, &most);
	assert_int_equal(account.used.count[COUNT_TOKENS_OUT], 900);
	account_settled(&account, &settled);
	assert_int_equal(settled.count[COUNT_TOKENS_OUT], 0);
	assert_int_equal(budget_short(&budget, &account, &most), BUDGET_TOKENS);
	assert_int_equal(budget_reached(&budget, &settled), BUDGET_KINDS);
	account_settle(&account, &most, &cost);
	assert_memory_equal(&account.used, &cost, sizeof(cost));
	assert_int_equal(account.reserved.count[COUNT_TOKENS_IN], 0);
	assert_int_equal(budget_short(&budget, &account, &most), BUDGET_KINDS);
	account_settle(&account, &most, &(struct door_totals){0}); /* more than there is takes away no more than there is */
	assert_int_equal(account.used.count[COUNT_MICRODOLLARS], 0);
}

static void a_request_fits_up_to_the_last_millionth(void **state)
{
	struct door_account account = {.used = money(0, 0, 49000)};
	struct door_totals most = money(1, 1, 1000), more = money(1, 1, 1001), huge = money(UINT64_MAX, UINT64_MAX, UINT64_MAX);
	struct door_budget budget = {0};

	(void)state;
	assert_int_equal(budget_short(&budget, &account, &huge), BUDGET_KINDS);
	budget.limit[BUDGET_MICRODOLLARS] = 50000;
	assert_int_equal(budget_short(&budget, &account, &most), BUDGET_KINDS);
	assert_int_equal(budget_short(&budget, &account, &more), BUDGET_MICRODOLLARS);
	assert_int_equal(budget_short(&budget, &account, &huge), BUDGET_MICRODOLLARS);
	assert_true(budget_is_low(&budget, &account, BUDGET_MICRODOLLARS));
	account.used = money(0, 0, 10000);
	assert_false(budget_is_low(&budget, &account, BUDGET_MICRODOLLARS));
}

static void a_sentence_says_what_is_left_and_what_a_request_may_cost(void **state)
{
	struct door_account account = {.used = money(0, 0, 49900), .reserved = money(0, 0, 30000)};
	struct door_totals most = money(100, 900, 1234);
	struct door_budget budget = {0};
	own(buf_done) struct buf text = {0};

	(void)state;
	budget.limit[BUDGET_MICRODOLLARS] = 50000;
	budget_short_sentence(&budget, &account, BUDGET_MICRODOLLARS, &most, &text);
	assert_string_equal(buf_text(&text), "a request that may cost up to $0.001234 was refused: of the budget of $0.05 only $0.0001 is left "
		"($0.03 is reserved by requests under way); a lower max_tokens may fit");
	text.len = 0;
	account = (struct door_account){0};
	budget.limit[BUDGET_TOKENS] = 500;
	budget_short_sentence(&budget, &account, BUDGET_TOKENS, &most, &text);
	assert_string_equal(buf_text(&text), "a request that may cost up to 1000 was refused: of the budget of 500 tokens only 500 is left; a lower "
		"max_tokens may fit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_budget_is_read_as_people_write_it_and_written_so_that_it_can_be_read_again),
		cmocka_unit_test(what_is_no_budget_is_refused_and_changes_nothing),
		cmocka_unit_test(no_budget_is_not_set_not_written_and_never_reached),
		cmocka_unit_test(a_budget_is_reached_when_what_it_counts_is_used_up_and_not_before),
		cmocka_unit_test(a_sentence_says_what_was_allowed_and_what_was_used),
		cmocka_unit_test(totals_add_up_and_stop_at_the_most),
		cmocka_unit_test(a_newer_budget_changes_what_it_names_and_nothing_else),
		cmocka_unit_test(every_count_has_a_name_of_its_own),
		cmocka_unit_test(what_is_reserved_is_used_until_it_is_settled),
		cmocka_unit_test(a_request_fits_up_to_the_last_millionth),
		cmocka_unit_test(a_sentence_says_what_is_left_and_what_a_request_may_cost),
	};
	return cmocka_run_group_tests_name("door budget", tests, NULL, NULL);
}
