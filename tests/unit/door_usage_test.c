#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "door/policy/usage.h"

#define JSON "application/json"
#define EVENTS "text/event-stream; charset=utf-8"

/* "model in+out r=read w=write", or "-" when no usage was seen. */
static void show(const struct usage *usage, char *ret, size_t len)
{
	(void)snprintf(ret, len, "%s%s %llu+%llu r=%llu w=%llu", usage->seen ? "" : "-", usage->model,
		(unsigned long long)usage->input, (unsigned long long)usage->output,
		(unsigned long long)usage->cache_read, (unsigned long long)usage->cache_write);
}

/* In pieces of `step` bytes. */
static void read_body(const char *type, const char *body, size_t len, size_t step, struct usage *ret)
{
	struct usage_reader *reader = usage_open(type, strlen(type));

	for (size_t i = 0; i < len; i += step)
		usage_take(reader, body + i, len - i < step ? len - i : step);
	usage_get(reader, ret);
	reader = usage_free(reader);
	assert_null(reader);
}

static void check(const char *type, const char *body, const char *expected)
{
	static const size_t steps[] = {SIZE_MAX / 2, 1, 2, 3, 7};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct usage usage;
		char shown[200];
		read_body(type, body, strlen(body), steps[i], &usage);
		show(&usage, shown, sizeof(shown));
		if (strcmp(shown, expected) != 0)
			fail_msg("in pieces of %zu: %s\n%s", steps[i], shown, body);
	}
}

static void whole_answers_tell_what_they_used(void **state)
{
	static const struct {
		const char *body, *expected;
	} rows[] = {
		{"{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{\"type\":"
		 "\"text\",\"text\":\"Hi\"}],\"usage\":{\"input_tokens\":12,\"cache_creation_input_tokens\":3,"
		 "\"cache_read_input_tokens\":40,\"cache_creation\":{\"ephemeral_5m_input_tokens\":3},\"output_tokens\":6,"
		 "\"service_tier\":\"standard\"}}",
			"claude-sonnet-4-5 12+6 r=40 w=3"},
		{"{\"model\":\"gpt-4o-2024-08-06\",\"choices\":[{\"message\":{\"content\":\"Hi\"}}],\"usage\":{\"prompt_tokens\":100,"
		 "\"completion_tokens\":20,\"total_tokens\":120,\"prompt_tokens_details\":{\"cached_tokens\":60,"
		 "\"audio_tokens\":1},\"completion_tokens_details\":{\"reasoning_tokens\":5,\"cached_tokens\":9}}}",
			"gpt-4o-2024-08-06 40+20 r=60 w=0"},
		{"{\"object\":\"response\",\"model\":\"gpt-5\",\"usage\":{\"input_tokens\":50,\"input_tokens_details\":"
		 "{\"cached_tokens\":10,\"cache_write_tokens\":15},\"output_tokens\":7,\"output_tokens_details\":"
		 "{\"reasoning_tokens\":3}}}",
			"gpt-5 25+7 r=10 w=15"},
		{" \r\n\t{ \"usage\" : { \"input_tokens\" : 1 , \"output_tokens\" : 2 } , \"model\" : \"m\" } \n", "m 1+2 r=0 w=0"},
		{"{\"\\u0075sage\":{\"input_tokens\":1,\"output\\u005ftokens\":2},\"model\":\"a\\/b\"}", "a/b 1+2 r=0 w=0"},
		{"{\"usage\":{\"input_tokens\":0,\"output_tokens\":9007199254740992}}", " 0+9007199254740992 r=0 w=0"},
		{"{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":null,\"output_tokens\":1,"
		 "\"prompt_tokens_details\":null}}",
			" 5+1 r=0 w=0"},
		{"{\"usage\":{\"prompt_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":8}}}", " 0+0 r=5 w=0"},
		{"{\"usage\":{\"output_tokens\":1},\"usage\":{\"output_tokens\":2}}", " 0+2 r=0 w=0"},
		/* cut short: what was told is told */
		{"{\"model\":\"m\",\"usage\":{\"input_tokens\":5,\"output_tokens\":7},\"conte", "m 5+7 r=0 w=0"},
		{"{\"usage\":{\"input_tokens\":5,\"output_tokens\":7", " 5+0 r=0 w=0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(JSON, rows[i].body, rows[i].expected);
}

static void streams_tell_running_totals_and_the_last_count(void **state)
{
	static const struct {
		const char *body, *expected;
	} rows[] = {
		{"event: message_start\n"
		 "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-opus-4-1\",\"usage\":{\"input_tokens\":25,"
		 "\"cache_creation_input_tokens\":7,\"cache_read_input_tokens\":9,\"output_tokens\":1}}}\n\n"
		 "event: ping\ndata: {\"type\": \"ping\"}\n\n"
		 "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"Hello\"}}\n\n"
		 "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":15}}\n\n"
		 "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			"claude-opus-4-1 25+15 r=9 w=7"},
		{"data: {\"model\":\"gpt-4o\",\"choices\":[{\"delta\":{\"content\":\"Hi\"}}],\"usage\":null}\n\n"
		 "data: {\"model\":\"gpt-4o\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4,"
		 "\"prompt_tokens_details\":{\"cached_tokens\":2}}}\n\n"
		 "data: [DONE]\n\n",
			"gpt-4o 8+4 r=2 w=0"},
		{"event: response.created\n"
		 "data: {\"type\":\"response.created\",\"response\":{\"model\":\"gpt-5\",\"usage\":null}}\n\n"
		 "event: response.completed\n"
		 "data: {\"type\":\"response.completed\",\"response\":{\"model\":\"gpt-5\",\"usage\":{\"input_tokens\":30,"
		 "\"input_tokens_details\":{\"cached_tokens\":20},\"output_tokens\":8}}}\n\n",
			"gpt-5 10+8 r=20 w=0"},
		/* all three ends of a line, a byte order mark, no blank after the colon, comments, other fields */
		{"\xef\xbb\xbf" "data:{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\r\r", " 1+1 r=0 w=0"},
		{"data:{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\r\n\r\n: c\r\nid: 7\r\ndata: "
		 "{\"usage\":{\"output_tokens\":3}}\r\n\r\n",
			" 1+3 r=0 w=0"},
		/* an event of several lines is one text, joined by newlines */
		{"data: {\"usage\":\ndata:{\"input_tokens\"\ndata\ndata: :4,\"output_tokens\":5\ndata:}}\n\n", " 4+5 r=0 w=0"},
		/* what is broken ends with its event */
		{"data: {\"usage\":{]}\n\ndata: {\"usage\":{\"input_tokens\":4,\"output_tokens\":5}}\n\n", " 4+5 r=0 w=0"},
		{"data: {\"usage\"\n\ndata: {\"usage\":{\"input_tokens\":4,\"output_tokens\":5}}\n\n", " 4+5 r=0 w=0"},
		/* no data */
		{"datax: {\"usage\":{\"input_tokens\":4}}\n\n", "- 0+0 r=0 w=0"},
		{" data: {\"usage\":{\"input_tokens\":4}}\n\n", "- 0+0 r=0 w=0"},
		{": data: {\"usage\":{\"input_tokens\":4}}\n\n", "- 0+0 r=0 w=0"},
		{"\xef\xbb" "data: {\"usage\":{\"input_tokens\":4}}\n\n", "- 0+0 r=0 w=0"},
		/* cut short */
		{"data: {\"message\":{\"usage\":{\"input_tokens\":4,\"output_tokens\":1}}}\n\ndata: {\"usa", " 4+1 r=0 w=0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(EVENTS, rows[i].body, rows[i].expected);
}

#define GEMINI(in, out) "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]}}],\"usageMetadata\":{\"promptTokenCount\":" in "," \
	"\"candidatesTokenCount\":" out ",\"totalTokenCount\":9},\"modelVersion\":\"gemini-2.5-pro\"}"

static void gemini_tells_in_its_own_way(void **state)
{
	(void)state;
	check(JSON, GEMINI("4", "5"), "gemini-2.5-pro 4+5 r=0 w=0");
	check(JSON, "[" GEMINI("4", "1") ",\r\n" GEMINI("4", "5") "]", "gemini-2.5-pro 4+5 r=0 w=0");
	check(EVENTS, "data: " GEMINI("4", "1") "\r\n\r\ndata: " GEMINI("4", "5") "\r\n\r\n", "gemini-2.5-pro 4+5 r=0 w=0");
	check(JSON, "{\"usageMetadata\":{\"promptTokenCount\":10,\"cachedContentTokenCount\":4,\"toolUsePromptTokenCount\":3,"
		"\"candidatesTokenCount\":2,\"thoughtsTokenCount\":7}}", " 9+9 r=4 w=0");
	check(JSON, "[[" GEMINI("4", "5") "]]", "- 0+0 r=0 w=0");
	check(JSON, "[{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}]", "- 0+0 r=0 w=0");
}

static void figures_that_are_not_the_last_of_a_stream_are_known_to_be_early(void **state)
{
	static const char start[] = "data: {\"message\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n";
	static const char more[] = "data: {\"type\":\"content_block_delta\"}\n\n";
	static const char end[] = "data: {\"usage\":{\"output_tokens\":7}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
	static const struct {
		int more;
		bool end, early;
	} rows[] = {{0, false, false}, {2, false, false}, {3, false, true}, {100, false, true}, {100, true, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf stream = {0};
		struct usage usage;
		buf_str(&stream, start);
		for (int at = 0; at < rows[i].more; at++)
			buf_str(&stream, more);
		buf_str(&stream, rows[i].end ? end : "");
		read_body(EVENTS, stream.data, stream.len, 5, &usage);
		assert_int_equal(usage.early, rows[i].early);
	}
}

static void what_a_model_writes_is_not_taken_for_usage(void **state)
{
	static const char *const bodies[] = {
		"{\"content\":\"\\\"usage\\\":{\\\"input_tokens\\\":1,\\\"output_tokens\\\":1}\"}",
		"{\"content\":\"\\\\\",\"x\":\"\\\"}, \\\"usage\\\":{\\\"output_tokens\\\":1}\"}",
		"{\"content\":[{\"type\":\"tool_use\",\"input\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}]}",
		"{\"content\":[{\"usage\":{\"output_tokens\":1}}]}",
		"{\"delta\":{\"usage\":{\"output_tokens\":1},\"model\":\"cheap\"}}",
		"{\"message\":{\"content\":{\"usage\":{\"output_tokens\":1}}}}",
		"{\"message\":{\"message\":{\"usage\":{\"output_tokens\":1}}}}",
		"{\"message\":[{\"usage\":{\"output_tokens\":1}}]}",
		"{\"response\":{\"metadata\":{\"usage\":{\"output_tokens\":1},\"model\":\"cheap\"}}}",
		"{\"usage\":[{\"output_tokens\":1}]}",
		"{\"usage\":{\"usage\":{\"output_tokens\":1}}}",
		"{\"usage\":{\"x\":{\"output_tokens\":1},\"y\":[\"output_tokens\",1]}}",
		"[{\"usage\":{\"output_tokens\":1}}]",
		"\"usage\"",
		"{\"usage\":\"{\\\"output_tokens\\\":1}\"}",
		"{\"usagee\":{\"output_tokens\":1},\"usag\":{\"output_tokens\":1},\"Usage\":{\"output_tokens\":1}}",
		"{\"usage\\u0000\":{\"output_tokens\":1},\"\\u0175sage\":{\"output_tokens\":1}}",
		/* no JSON: whatever follows is not believed */
		"{\"a\":\"x\ny\",\"usage\":{\"output_tokens\":1}}",
		"{\"a\":nul,\"usage\":{\"output_tokens\":1}}",
		"{\"a\":\"\\x\",\"usage\":{\"output_tokens\":1}}",
		"{\"a\":\"\\u00g0\",\"usage\":{\"output_tokens\":1}}",
		"{\"a\":[1},\"usage\":{\"output_tokens\":1}}",
		"{\"a\":1]},\"usage\":{\"output_tokens\":1}}",
		"{\"a\",\"usage\":{\"output_tokens\":1}}",
		"{\"a\":1,,\"usage\":{\"output_tokens\":1}}",
		"{,\"usage\":{\"output_tokens\":1}}",
		"{\"a\"::1,\"usage\":{\"output_tokens\":1}}",
		"{a:1,\"usage\":{\"output_tokens\":1}}",
		"{} {\"usage\":{\"output_tokens\":1}}",
		"null,{\"usage\":{\"output_tokens\":1}}",
		"\xef\xbb\xbf{\"usage\":{\"output_tokens\":1}}",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
		check(JSON, bodies[i], "- 0+0 r=0 w=0");
	check(EVENTS, "event: content_block_delta\ndata: {\"delta\":{\"text\":\"\\n\\ndata: {\\\"usage\\\":{\\\"output_tokens\\\":0}}\"}}\n\n",
		"- 0+0 r=0 w=0");
}

static void a_figure_that_is_no_count_makes_the_usage_unknown(void **state)
{
	static const char *const values[] = {
		"-1", "1.0", "1e3", "1E3", "9007199254740993", "18446744073709551617", "01", "00", "-0", "true", "false",
		"\"7\"", "{}", "[]", "[7]", "{\"output_tokens\":7}", "99999999999999999999999999999999999999999999999999999999999"
		"99999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		char body[400];
		(void)snprintf(body, sizeof(body), "{\"usage\":{\"input_tokens\":5,\"output_tokens\":%s}}", values[i]);
		check(JSON, body, "- 5+0 r=0 w=0");
		(void)snprintf(body, sizeof(body), "{\"usage\":{\"output_tokens\":4,\"cache_read_input_tokens\":%s}}", values[i]);
		check(JSON, body, "- 0+4 r=0 w=0");
	}
	check(EVENTS, "data: {\"usage\":{\"output_tokens\":4}}\n\ndata: {\"usage\":{\"output_tokens\":-4}}\n\n", "- 0+0 r=0 w=0");
	check(EVENTS, "data: {\"usage\":{\"output_tokens\":-4}}\n\ndata: {\"usage\":{\"output_tokens\":4}}\n\n", " 0+4 r=0 w=0");
}

static void a_model_is_a_short_printable_name_or_none(void **state)
{
	char longest[80], body[200], expected[120];

	(void)state;
	memset(longest, 'm', 79);
	longest[79] = '\0';
	(void)snprintf(body, sizeof(body), "{\"model\":\"%s\"}", longest);
	(void)snprintf(expected, sizeof(expected), "-%s 0+0 r=0 w=0", longest);
	check(JSON, body, expected);
	(void)snprintf(body, sizeof(body), "{\"model\":\"%sm\"}", longest);
	check(JSON, body, "- 0+0 r=0 w=0");
	check(JSON, "{\"model\":\"a\\u001b[31m\"}", "- 0+0 r=0 w=0");
	check(JSON, "{\"model\":\"a b\"}", "- 0+0 r=0 w=0");
	check(JSON, "{\"model\":\"caf\xc3\xa9\"}", "- 0+0 r=0 w=0");
	check(JSON, "{\"model\":\"caf\\u00e9\"}", "- 0+0 r=0 w=0");
	check(JSON, "{\"model\":\"cheap\",\"model\":\"a\x7f\"}", "- 0+0 r=0 w=0");
	check(JSON, "{\"model\":[\"a\"]}", "- 0+0 r=0 w=0");
}

static void other_kinds_of_answers_are_not_read(void **state)
{
	static const char body[] = "{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}";
	static const struct {
		const char *type;
		bool seen;
	} rows[] = {
		{"application/json", true}, {"Application/JSON; charset=utf-8", true}, {" application/json ", true},
		{"application/problem+json", true}, {"text/event-stream", false}, {"text/plain", false}, {"", false},
		{"application/jsonx", false}, {"application/json-seq", false}, {"xapplication/json", false}, {"+json", false},
		{"application/octet-stream", false}, {";application/json", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].type, body, rows[i].seen ? " 1+1 r=0 w=0" : "- 0+0 r=0 w=0");
}

static void a_long_answer_is_read_to_its_end(void **state)
{
	own(buf_done) struct buf body = {0};
	struct usage usage;

	(void)state;
	buf_str(&body, "{\"content\":[");
	for (size_t i = 0; i < 100000; i++)
		buf_str(&body, "{\"text\":\"a model that \\\"goes on\\\" \\u0061nd on\"},");
	buf_str(&body, "[]],\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}");
	read_body(JSON, body.data, body.len, 16384, &usage);
	assert_true(usage.seen);
	assert_int_equal(usage.output, 4);
}

static void nesting_ends_at_its_limit(void **state)
{
	static const struct {
		size_t depth; /* with the object around it */
		bool seen;
	} rows[] = {{256, true}, {257, false}, {100000, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf body = {0};
		struct usage usage;
		buf_str(&body, "{\"x\":");
		for (size_t j = 1; j < rows[i].depth; j++)
			buf_char(&body, '[');
		for (size_t j = 1; j < rows[i].depth; j++)
			buf_char(&body, ']');
		buf_str(&body, ",\"usage\":{\"output_tokens\":4}}");
		read_body(JSON, body.data, body.len, 1000, &usage);
		assert_int_equal(usage.seen, rows[i].seen);
	}
}

/* ---- prices ---- */

static uint64_t cost(const struct prices *prices, const char *model, uint64_t input, uint64_t output, bool *ret_known)
{
	struct usage usage = {.seen = true, .input = input, .output = output};

	(void)snprintf(usage.model, sizeof(usage.model), "%s", model);
	return prices_cost(prices, &usage, ret_known);
}

static void what_is_kept_for_an_hour_costs_the_input_twice(void **state)
{
	static const char body[] = "{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"cache_creation_input_tokens\":1000000,"
				   "\"cache_creation\":{\"ephemeral_5m_input_tokens\":400000,\"ephemeral_1h_input_tokens\":600000}}}";
	own(prices_done) struct prices prices = {0};
	struct usage usage;
	bool known;

	(void)state;
	prices_defaults(&prices);
	read_body("application/json", body, strlen(body), 5, &usage);
	assert_int_equal(usage.cache_write, 1000000);
	assert_int_equal(usage.cache_long, 600000);
	assert_int_equal(prices_cost(&prices, &usage, &known), 400000 * 375 / 100 + 600000 * 6);
}

static void figures_of_one_of_several_rounds_are_not_all(void **state)
{
	static const struct {
		const char *type, *body;
		bool partial;
	} rows[] = {
		{"application/json", "{\"usage\":{\"output_tokens\":1,\"iterations\":[{\"output_tokens\":1}]}}", false},
		{"application/json", "{\"usage\":{\"output_tokens\":1,\"iterations\":[{\"a\":[{}]},{\"output_tokens\":1}]}}", true},
		{"application/json", "{\"usage\":{\"output_tokens\":1,\"iterations\":[{\"a\":[{},{},{}]}]}}", false},
		{"application/json", "{\"iterations\":[{},{}],\"usage\":{\"output_tokens\":1}}", false},
		{"text/event-stream", "data: {\"usage\":{\"output_tokens\":1,\"iterations\":[{},{}]}}\n\ndata: {\"usage\":{\"output_tokens\":2}}\n\n", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct usage usage;
		read_body(rows[i].type, rows[i].body, strlen(rows[i].body), i + 1, &usage);
		if (!usage.seen || usage.partial != rows[i].partial)
			fail_msg("%s", rows[i].body);
	}
}

static void known_models_cost_what_the_table_says(void **state)
{
	static const struct {
		const char *model;
		uint64_t input, output; /* millionths of a dollar for a million tokens */
	} rows[] = {
		{"claude-opus-4-20250514", 15000000, 75000000}, {"claude-opus-4-1-20250805", 15000000, 75000000},
		{"claude-opus-4-5-20251101", 5000000, 25000000}, {"claude-opus-5-5", 4000000, 20000000},
		{"claude-sonnet-4-5-20250929", 3000000, 15000000}, {"claude-haiku-4-5", 1000000, 5000000},
		{"claude-3-5-haiku-latest", 800000, 4000000}, {"claude-3-haiku-20240307", 250000, 1250000},
		{"gpt-5", 1250000, 10000000}, {"gpt-5-2025-08-07", 1250000, 10000000}, {"gpt-5-mini", 250000, 2000000},
		{"gpt-4.1-nano-2025-04-14", 100000, 400000}, {"gpt-4o-mini", 150000, 600000}, {"gpt-4o", 2500000, 10000000},
		{"gpt-4o-audio-preview", 40000000, 80000000}, {"gpt-4o-mini-audio-preview-2024-12-17", 10000000, 20000000},
		{"gpt-4o-mini-tts", 600000, 12000000}, {"gpt-4o-transcribe", 6000000, 10000000},
		{"o3-2025-04-16", 2000000, 8000000}, {"o3-mini", 1100000, 4400000}, {"o4-mini", 1100000, 4400000},
	};
	own(prices_done) struct prices prices = {0};
	bool known;

	(void)state;
	prices_defaults(&prices);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t input = cost(&prices, rows[i].model, 1000000, 0, &known);
		uint64_t output = cost(&prices, rows[i].model, 0, 1000000, &known);
		if (!known || input != rows[i].input || output != rows[i].output)
			fail_msg("%s: %llu and %llu", rows[i].model, (unsigned long long)input, (unsigned long long)output);
	}
}

static void every_row_of_the_table_can_be_reached(void **state)
{
	own(prices_done) struct prices prices = {0};

	(void)state;
	prices_defaults(&prices);
	for (size_t i = 0; i < prices.count; i++) {
		for (size_t j = 0; j < i; j++) {
			size_t len = strlen(prices.items[j].model);
			/* An earlier row "x*" hides any later one that begins with x. */
			if (prices.items[j].model[len - 1] == '*' &&
				strncmp(prices.items[i].model, prices.items[j].model, len - 1) == 0)
				fail_msg("%s is hidden by %s", prices.items[i].model, prices.items[j].model);
		}
	}
}

static void an_unknown_model_is_charged_as_the_dearest(void **state)
{
	static const char text[] = "cheap 1 1\ninput 9 1\noutput 1 9\n";
	own(prices_done) struct prices prices = {0};
	struct err err;
	bool known = true;

	(void)state;
	assert_int_equal(cost(&prices, "x", 1000, 1000, &known), 0);
	assert_false(known);
	assert_int_equal(prices_read(&prices, text, strlen(text), "f", &err), 0);
	assert_int_equal(cost(&prices, "x", 1000, 0, &known), 9000);
	assert_false(known);
	assert_int_equal(cost(&prices, "", 0, 1000, &known), 9000);
	assert_false(known);
	assert_int_equal(cost(&prices, "cheap", 1000, 1000, &known), 2000);
	assert_true(known);
}

static void rows_of_a_file_come_before_those_that_are_there(void **state)
{
	static const char first[] = "# mine\n\n  my-* 1 2 0.5 4 # comment\r\n*-free\t0\t0";
	own(prices_done) struct prices prices = {0};
	struct usage usage = {.input = 1000, .output = 100, .cache_read = 10, .cache_write = 1, .model = "my-model"};
	struct err err;
	bool known;

	(void)state;
	prices_defaults(&prices);
	size_t before = prices.count;
	assert_int_equal(prices_read(&prices, first, strlen(first), "f", &err), 0);
	assert_int_equal(prices.count, before + 2);
	assert_int_equal(prices_cost(&prices, &usage, &known), 1000 + 200 + 5 + 4);
	assert_true(known);
	assert_int_equal(cost(&prices, "gpt-4o-free", 1000, 1000, &known), 0);
	assert_int_equal(prices_read(&prices, "gpt-4o* 1 1", 11, "f", &err), 0);
	assert_int_equal(cost(&prices, "gpt-4o-free", 1000, 1000, &known), 2000);
	assert_int_equal(prices_read(&prices, "", 0, "f", &err), 0);
	assert_int_equal(prices.count, before + 3);
}

static void without_prices_of_the_cache_its_tokens_cost_as_others(void **state)
{
	own(prices_done) struct prices prices = {0};
	struct usage usage = {.cache_read = 10, .cache_write = 10, .model = "m"};
	struct err err;
	bool known;

	(void)state;
	assert_int_equal(prices_read(&prices, "m 3 15\n", 7, "f", &err), 0);
	assert_int_equal(prices_cost(&prices, &usage, &known), 60);
}

static void costs_are_exact_and_rounded_up(void **state)
{
	static const char text[] = "tenth 0.1 0\ntiny 0.000001 0\nthird 0.333333 0\nhuge 1000000 1000000\n";
	own(prices_done) struct prices prices = {0};
	struct err err;
	bool known;

	(void)state;
	assert_int_equal(prices_read(&prices, text, strlen(text), "f", &err), 0);
	assert_int_equal(cost(&prices, "tenth", 1000, 0, &known), 100);
	assert_int_equal(cost(&prices, "tenth", 1001, 0, &known), 101);
	assert_int_equal(cost(&prices, "tenth", 3, 0, &known), 1);
	assert_int_equal(cost(&prices, "tiny", 1, 0, &known), 1);
	assert_int_equal(cost(&prices, "third", 3000000, 0, &known), 999999);
	assert_int_equal(cost(&prices, "tenth", 0, 0, &known), 0);
	assert_true(cost(&prices, "huge", UINT64_C(1) << 53, UINT64_C(1) << 53, &known) == UINT64_MAX);
}

static void a_bad_row_is_told_with_its_line_and_changes_nothing(void **state)
{
	static const struct {
		const char *row, *says;
	} rows[] = {
		{"m", "a row is a model, then the prices of input and output or these and of reading and writing the cache"},
		{"m 1", "a row is a model, then the prices of input and output or these and of reading and writing the cache"},
		{"m 1 2 3", "a row is a model, then the prices of input and output or these and of reading and writing the cache"},
		{"m 1 2 3 4 5", "a row is a model, then the prices of input and output or these and of reading and writing the cache"},
		{"m 1 -2", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m $1 2", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 2e3", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 0x2", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 inf", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 nan", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 .5", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 5.", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 1,5", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m 1 1000001", "a price is dollars for a million tokens, like 3 or 0.25"},
		{"m\x1b 1 2", "the name of a model is at most 80 letters, digits and signs"},
		{"m\xc3\xa9 1 2", "the name of a model is at most 80 letters, digits and signs"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(prices_done) struct prices prices = {0};
		struct err err = {0};
		char text[200], expected[300];
		assert_int_equal(prices_read(&prices, "a 1 2", 5, "f", &err), 0);
		(void)snprintf(text, sizeof(text), "good 1 2\n%s\n", rows[i].row);
		(void)snprintf(expected, sizeof(expected), "p\\x1b:2: %s", rows[i].says);
		if (prices_read(&prices, text, strlen(text), "p\x1b", &err) == 0)
			fail_msg("'%s' is taken", rows[i].row);
		assert_string_equal(err.text, expected);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(prices.count, 1);
	}
	own(prices_done) struct prices prices = {0};
	struct err err = {0};
	assert_int_equal(prices_read(&prices, "m 1 2\0", 6, "f", &err), -1);
	assert_string_equal(err.text, "f:1: this is no text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_answers_tell_what_they_used),
		cmocka_unit_test(streams_tell_running_totals_and_the_last_count),
		cmocka_unit_test(gemini_tells_in_its_own_way),
		cmocka_unit_test(figures_that_are_not_the_last_of_a_stream_are_known_to_be_early),
		cmocka_unit_test(what_a_model_writes_is_not_taken_for_usage),
		cmocka_unit_test(a_figure_that_is_no_count_makes_the_usage_unknown),
		cmocka_unit_test(a_model_is_a_short_printable_name_or_none),
		cmocka_unit_test(other_kinds_of_answers_are_not_read),
		cmocka_unit_test(a_long_answer_is_read_to_its_end),
		cmocka_unit_test(nesting_ends_at_its_limit),
		cmocka_unit_test(what_is_kept_for_an_hour_costs_the_input_twice),
		cmocka_unit_test(figures_of_one_of_several_rounds_are_not_all),
		cmocka_unit_test(known_models_cost_what_the_table_says),
		cmocka_unit_test(every_row_of_the_table_can_be_reached),
		cmocka_unit_test(an_unknown_model_is_charged_as_the_dearest),
		cmocka_unit_test(rows_of_a_file_come_before_those_that_are_there),
		cmocka_unit_test(without_prices_of_the_cache_its_tokens_cost_as_others),
		cmocka_unit_test(costs_are_exact_and_rounded_up),
		cmocka_unit_test(a_bad_row_is_told_with_its_line_and_changes_nothing),
	};
	return cmocka_run_group_tests_name("door usage", tests, NULL, NULL);
}
