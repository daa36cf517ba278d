#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json_read.h"
#include "fuzz/tool/explorer.h"

#define TEST(name) cmocka_unit_test(name)

static const struct json_limits limits = {.bytes = 1 << 20, .values = 10000, .depth = 60, .any_text = true};

static void harvest(struct chain *chain, const char *text, const char *output)
{
	own(value_done) struct value value = {0};
	struct err err;

	if (output)
		assert_int_equal(json_read(output, strlen(output), &limits, NULL, &value, &err), 0);
	struct reply reply = {.text = text ? text : "", .len = text ? strlen(text) : 0, .output = output ? &value : NULL};
	chain_harvest(chain, &reply);
}

static const struct chain_text *kept(const struct chain *chain, const char *text)
{
	for (size_t i = 0; i < chain->count; i++) {
		if (strcmp(chain->list[i].text, text) == 0)
			return &chain->list[i];
	}
	return NULL;
}

static void names_numbers_and_paths_are_taken_out_of_answers(void **state)
{
	static const struct {
		const char *text, *output, *kept, *not_kept;
	} cases[] = {
		{NULL, "{\"id\":\"n-17\",\"size\":42}", "n-17", NULL},
		{NULL, "{\"id\":\"n-17\",\"size\":42}", "42", NULL},
		{NULL, "{\"list\":[{\"uri\":\"file:///a/b\"}]}", "file:///a/b", NULL},
		{"{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"key\\\":\\\"k9\\\"}\"}]}}", NULL, "k9", "text"},
		{"{\"jsonrpc\":\"2.0\",\"id\":93,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"made note-7\"}]}}", NULL, "note-7", "93"},
		{"Created note 8841 in /var/notes/a.txt.", NULL, "8841", "Created"},
		{"Created note 8841 in /var/notes/a.txt.", NULL, "/var/notes/a.txt", "note"},
		{"name: alpha", NULL, "alpha", "name"},
		{"made \"beta\" for you", NULL, "beta", "made"},
		{"token-abc", NULL, "token-abc", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) struct chain *chain = xcalloc(1, sizeof(*chain));
		harvest(chain, cases[i].text, cases[i].output);
		if (!kept(chain, cases[i].kept) || (cases[i].not_kept && kept(chain, cases[i].not_kept)))
			fail_msg("case %zu", i);
	}
}

static void what_is_kept_is_bounded_and_the_newest_stays(void **state)
{
	own(freep) struct chain *chain = xcalloc(1, sizeof(*chain));
	own(freep) char *huge = xcalloc(1, 100001);

	(void)state;
	for (int i = 0; i < 300; i++) {
		own(freep) char *output = xfmt("{\"id\":\"n%d\"}", i);
		harvest(chain, NULL, output);
	}
	assert_int_equal(chain->count, CHAIN_TEXTS);
	assert_non_null(kept(chain, "n299"));
	assert_null(kept(chain, "n0"));
	memset(huge, '[', 100000);
	harvest(chain, huge, NULL);
	chain_forget(chain);
	assert_null(chain_pick(chain, "id", 2, false, 1));
	harvest(chain, "x\x01\xff\xfe 17", NULL);
}

static void a_member_gets_what_had_its_name(void **state)
{
	own(freep) struct chain *chain = xcalloc(1, sizeof(*chain));

	(void)state;
	harvest(chain, NULL, "{\"note_id\":\"n1\",\"colour\":\"red\",\"count\":3}");
	for (uint64_t dice = 1; dice < 4; dice++)
		assert_string_equal(chain_pick(chain, "id", 2, false, dice)->text, "n1");
	assert_string_equal(chain_pick(chain, "anything", 8, true, 0)->text, "3");
	assert_null(chain_pick(&(struct chain){.count = 0}, "id", 2, false, 5));
}

static void a_call_with_something_of_an_answer_still_fits_its_schema(void **state)
{
	static const char schema_text[] =
		"{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\",\"pattern\":\"^n\"},\"mode\":{\"enum\":[\"x\"]},\"n\":{\"type\":\"integer\",\"maximum\":10}}}";
	own(freep) struct chain *chain = xcalloc(1, sizeof(*chain));
	own(buf_done) struct buf out = {0}, before = {0}, after = {0};
	own(value_done) struct value value = {0};
	struct err err;
	struct draw dice;
	own(schema_freep) struct schema *schema = schema_read(schema_text, strlen(schema_text), NULL, NULL, &err);
	bool used_text = false, used_number = false;

	(void)state;
	assert_int_equal(json_read("{\"id\":\"n\",\"mode\":\"x\",\"n\":1}", 27, &limits, NULL, &value, &err), 0);
	value_write(&value, &before);
	draw_init(&dice, 1);
	assert_false(chain_use(chain, schema, &value, &dice, &out));
	harvest(chain, NULL, "{\"id\":\"n17\",\"other\":\"red\",\"n\":7,\"big\":1000}");
	for (int i = 0; i < 200; i++) {
		if (!chain_use(chain, schema, &value, &dice, &out))
			continue;
		own(value_done) struct value made = {0};
		assert_int_equal(json_read(out.data, out.len, &limits, NULL, &made, &err), 0);
		assert_int_equal(schema_check(schema, &made, NULL, &err), SCHEMA_VALID);
		used_text |= strstr(out.data, "n17") != NULL;
		used_number |= strstr(out.data, ":7") != NULL;
	}
	value_write(&value, &after);
	assert_string_equal(before.data, after.data);
	assert_true(used_text && used_number);
	draw_done(&dice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_numbers_and_paths_are_taken_out_of_answers),
		TEST(what_is_kept_is_bounded_and_the_newest_stays),
		TEST(a_member_gets_what_had_its_name),
		TEST(a_call_with_something_of_an_answer_still_fits_its_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
