#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json_read.h"
#include "fuzz/tool/explorer.h"

#define TEST(name) cmocka_unit_test(name)

/* ---- the set ---- */

static void a_set_knows_what_it_has_and_is_bounded(void **state)
{
	own(novelty_done) struct novelty novelty = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(novelty_add(&novelty, i * 0x9e3779b97f4a7c15u));
	for (uint64_t i = 0; i < 1000; i++)
		assert_false(novelty_add(&novelty, i * 0x9e3779b97f4a7c15u));
	for (uint64_t i = 0; i < 2 * NOVELTY_MAX; i++)
		(void)novelty_add(&novelty, i * 2 * 0xd6e8feb86659fd93u);
	assert_int_equal(novelty.count, NOVELTY_MAX);
	assert_false(novelty_add(&novelty, 12345));
}

/* ---- signatures ---- */

struct answer {
	enum reply_kind kind;
	int64_t code;
	const char *text, *output, *message, *said, *input;
	uint64_t ns;
};

static uint64_t signature_of(const struct answer *answer)
{
	static const struct json_limits limits = {.bytes = 1 << 20, .values = 10000, .depth = 60};
	own(value_done) struct value output = {0};
	own(buf_done) struct buf scratch = {0};
	struct err err;
	const char *text = answer->text ? answer->text : "", *said = answer->said ? answer->said : "", *input = answer->input ? answer->input : "{}";

	if (answer->output)
		assert_int_equal(json_read(answer->output, strlen(answer->output), &limits, NULL, &output, &err), 0);
	struct reply reply = {.kind = answer->kind, .code = answer->code, .text = text, .len = strlen(text), .output = answer->output ? &output : NULL,
		.message = answer->message ? answer->message : "", .said = said, .said_len = strlen(said), .ns = answer->ns};
	return novelty_signature(&reply, NULL, 0, input, strlen(input), &scratch);
}

static void answers_of_one_kind_have_one_signature_and_others_another(void **state)
{
	static const struct {
		struct answer one, other;
		bool same;
	} cases[] = {
		{{.kind = REPLY_OK}, {.kind = REPLY_OK}, true},
		{{.kind = REPLY_OK}, {.kind = REPLY_REJECTED}, false},
		{{.code = -32602}, {.code = -32603}, false},
		{{.text = "hello"}, {.text = "world"}, true},
		{{.text = "hello"}, {.text = "hello hello hello hello hello hello hello hello"}, false},
		{{.text = "abcde"}, {.text = "a\nb\nc"}, false},
		{{.output = "{\"a\":1}"}, {.output = "{\"a\":2}"}, true},
		{{.output = "{\"a\":1}"}, {.output = "{\"a\":\"1\"}"}, false},
		{{.output = "{\"a\":1}"}, {.output = "{\"b\":1}"}, false},
		{{.output = "{\"a\":1,\"b\":2}"}, {.output = "{\"b\":2,\"a\":1}"}, true},
		{{.output = "[1,2]"}, {.output = "[1,2,3]"}, true},
		{{.output = "[1,2]"}, {.output = "[1,\"x\"]"}, false},
		{{.output = "[]"}, {.output = "[1]"}, false},
		{{.message = "no file 'a' at 12"}, {.message = "no file 'b' at 999"}, true},
		{{.message = "no file"}, {.message = "no folder"}, false},
		{{.message = "unknown table users", .input = "{\"t\":\"users\"}"}, {.message = "unknown table orders", .input = "{\"t\":\"orders\"}"}, true},
		{{.said = "12:00:01 INFO start\n"}, {.said = "12:00:02 INFO start\n"}, true},
		{{.said = "start\n"}, {.said = "start\nTypeError\n"}, false},
		{{.ns = 1000}, {.ns = 900000}, true},
		{{.ns = 1000}, {.ns = 2000000000}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if ((signature_of(&cases[i].one) == signature_of(&cases[i].other)) != cases[i].same)
			fail_msg("case %zu", i);
	}
}

static void effects_tell_answers_apart_by_kind_and_program(void **state)
{
	char shell[] = "/bin/sh", cat[] = "/usr/bin/cat", other_shell[] = "/usr/bin/sh", a[] = "/tmp/a", b[] = "/tmp/b", by[] = "python3";
	struct effect effects[] = {
		{.kind = CELL_EFFECT_EXEC, .what = shell, .by = by}, {.kind = CELL_EFFECT_EXEC, .what = other_shell, .by = by},
		{.kind = CELL_EFFECT_EXEC, .what = cat, .by = by}, {.kind = CELL_EFFECT_WRITE, .what = a, .by = by},
		{.kind = CELL_EFFECT_WRITE, .what = b, .by = by},
	};
	own(buf_done) struct buf scratch = {0};
	struct reply reply = {.text = "", .message = "", .said = ""};
	uint64_t one[ARRAY_LEN(effects)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(effects); i++)
		one[i] = novelty_signature(&reply, &effects[i], 1, "{}", 2, &scratch);
	assert_true(one[0] == one[1] && one[3] == one[4]);
	assert_true(one[0] != one[2] && one[0] != one[3]);
	assert_true(novelty_signature(&reply, effects, 2, "{}", 2, &scratch) == one[0]);
	assert_true(novelty_signature(&reply, NULL, 0, "{}", 2, &scratch) != one[0]);
}

/* ---- records changed a little ---- */

static void a_changed_record_is_another_and_mostly_like_it(void **state)
{
	uint64_t choices[] = {0, 5, 1, 2, 3, 9, 9}, others[] = {0, 7, 7, 7};
	struct draw_span spans[] = {{0, 7}, {1, 5}, {2, 4}, {5, 7}}, other_spans[] = {{0, 4}, {1, 3}};
	struct record record = {choices, ARRAY_LEN(choices), spans, ARRAY_LEN(spans)}, other = {others, ARRAY_LEN(others), other_spans, ARRAY_LEN(other_spans)};
	own(buf_done) struct buf out = {0};
	struct draw dice;
	unsigned changed = 0, longer = 0, shorter = 0, spliced = 0;

	(void)state;
	draw_init(&dice, 3);
	for (int i = 0; i < 1000; i++) {
		record_mutate(&record, &other, &dice, &out);
		size_t count = out.len / sizeof(uint64_t);
		const uint64_t *made = (const uint64_t *)(const void *)out.data;
		changed += count != record.count || memcmp(made, choices, sizeof(choices)) != 0;
		longer += count > record.count;
		shorter += count < record.count;
		for (size_t j = 0; j + 1 < count; j++)
			spliced += made[j] == 7 && made[j + 1] == 7;
		assert_true(count <= 2 * record.count);
	}
	assert_true(changed > 800 && longer > 50 && shorter > 50 && spliced > 100);
	draw_done(&dice);
}

static void places_that_a_target_reports_are_new_once(void **state)
{
	static const struct {
		const char *text, *said;
		bool is_new;
	} cases[] = {
		{"{\"_meta\":{\"hotcell/coverage\":[1, 2,3]}}", "", true},
		{"{\"_meta\":{\"hotcell/coverage\": [3,2,1]}}", "", false},
		{"{\"_meta\":{\"hotcell/coverage\":[1,4]}}", "", true},
		{"{}", "hotcell/coverage [\"parse:10\"]\n", true},
		{"{}", "hotcell/coverage [\"parse:10\"]\n", false},
		{"hotcell/coverage", "hotcell/coverage [", false},
		{"hotcell/coverage [5", "hotcell/coverage []", true},
		{"", "", false},
	};
	struct novelty novelty = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct reply reply = {.text = cases[i].text, .len = strlen(cases[i].text), .said = cases[i].said,
			.said_len = strlen(cases[i].said), .message = ""};
		assert_int_equal(novelty_coverage(&novelty, &reply), cases[i].is_new);
	}
	novelty_done(&novelty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(places_that_a_target_reports_are_new_once),
		TEST(a_set_knows_what_it_has_and_is_bounded),
		TEST(answers_of_one_kind_have_one_signature_and_others_another),
		TEST(effects_tell_answers_apart_by_kind_and_program),
		TEST(a_changed_record_is_another_and_mostly_like_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
