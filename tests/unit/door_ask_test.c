#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "door/policy/ask.h"
#include "door/policy/strip.h"

#define BASE 64 /* tokens that are added to the bytes of a body */
#define DEFAULT ASK_OUTPUT_DEFAULT
#define CHAT "/v1/chat/completions"

static void read_ask(struct ask *ret, const char *path, const char *body)
{
	own(freep) char *copy = malloc(strlen(body) + 1); /* so that a byte too far is seen */

	memcpy(copy, body, strlen(body));
	ask_read(ret, (struct span){path, strlen(path)}, copy, strlen(body));
}

static void the_output_is_bounded_by_the_member_that_its_interface_heeds(void **state)
{
	static const struct {
		const char *path, *body;
		uint64_t output;
	} rows[] = {
		{CHAT, "{\"model\":\"x\",\"max_tokens\":7}", 7},
		{CHAT, "{\"model\":\"x\",\"max_completion_tokens\":7}", 7},
		{CHAT, "{\"model\":\"x\",\"max_completion_tokens\":7,\"max_tokens\":9}", 9},
		{CHAT, "{\"model\":\"x\",\"max_completion_tokens\":7,\"max_tokens\":null}", 7},
		{CHAT, "{\"model\":\"x\",\"max_tokens\":7,\"n\":3}", 21},
		{CHAT, "{\"model\":\"x\",\"max_tokens\":0}", DEFAULT},
		{CHAT, "{\"model\":\"x\",\"max_output_tokens\":7}", DEFAULT}, /* which chat completions ignore */
		{CHAT, "{\"model\":\"x\",\"metadata\":{\"max_tokens\":7}}", DEFAULT},
		{CHAT, "{\"model\":\"gpt-4o\"}", 16384},
		{CHAT, "{\"model\":\"gpt-4o\",\"max_tokens\":1000000,\"n\":2}", 32768}, /* more is refused there */
		{CHAT "?x=/v1/embeddings", "{\"model\":\"x\",\"max_tokens\":7}", 7},
		{"/openai/deployments/gpt-4o" CHAT, "{\"messages\":[]}", 16384},
		{"/v1/completions", "{\"model\":\"x\",\"max_tokens\":7,\"best_of\":4,\"n\":2}", 28},
		{"/v1/completions", "{\"model\":\"x\",\"max_tokens\":7,\"prompt\":[\"a\",\"b\",\"c\"]}", 21},
		{"/v1/completions", "{\"model\":\"x\",\"max_tokens\":7,\"prompt\":[1,2,3]}", 7},
		{"/v1/completions", "{\"model\":\"x\",\"max_tokens\":7,\"prompt\":[[1,2],[3]]}", 14},
		{"/v1/responses", "{\"model\":\"x\",\"max_output_tokens\":7}", 7},
		{"/v1/responses", "{\"model\":\"x\",\"max_tokens\":7}", DEFAULT},
		{"/v1/messages", "{\"model\":\"claude-x\",\"max_tokens\":7}", 7},
		{"/v1/messages", "{\"model\":\"claude-x\",\"max_tokens\":7,\"thinking\":{\"budget_tokens\":5}}", 7},
		{"/v1/messages", "{\"model\":\"claude-x\",\"max_tokens\":7,\"thinking\":{\"budget_tokens\":2000}}", 2007},
		{"/v1/messages", "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},\"model\":\"claude-x\",\"max_tokens\":7}", 2007},
		{"/v1/messages", "{\"model\":\"claude-x\",\"max_tokens\":7,\"context_management\":{\"edits\":[{\"type\":\"clear_x\"}]}}", 7},
		{"/v1/chat", "{\"message\":\"hello\",\"max_tokens\":7}", DEFAULT},
		{"/api/generate", "{\"model\":\"x\",\"options\":{\"num_predict\":7}}", DEFAULT},
		{"/v1/chat/completions/../embeddings", "{\"model\":\"x\"}", DEFAULT},
		{"/v1/chat/completions/.%2e/messages/count_tokens", "{\"model\":\"x\"}", DEFAULT},
		{"/v1/complete", "{\"model\":\"x\",\"max_tokens_to_sample\":7}", 7},
		{"/v1beta/models/gemini-x:generateContent", "{\"contents\":[],\"generationConfig\":{\"maxOutputTokens\":7}}", 7},
		{"/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
			"{\"contents\":[],\"generation_config\":{\"max_output_tokens\":7,\"candidate_count\":2}}", 14},
		{"/v1/embeddings", "{\"model\":\"x\",\"input\":\"a\"}", 0},
		{"/v1/chat/completions%2fembeddings", "{\"model\":\"x\",\"messages\":[]}", DEFAULT},
		{"/v1/other", "{\"model\":\"x\",\"max_tokens\":7}", DEFAULT}, /* nobody knows what is heeded there */
		{"/v1//chat%2fcompletions", "{\"model\":\"x\",\"max_tokens\":7}", 7},
		{"/v1/chat/completions;/v1/embeddings", "{\"model\":\"x\",\"max_tokens\":7}", DEFAULT},
		{"/v1/chat/completion%73/", "{\"model\":\"x\",\"max_tokens\":7}", 7},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask ask;
		read_ask(&ask, rows[i].path, rows[i].body);
		if (ask.fault != NULL || ask.output != rows[i].output || !ask.is_known)
			fail_msg("%s %s: %llu %s", rows[i].path, rows[i].body, (unsigned long long)ask.output, ask.fault ? ask.fault : "");
		if (ask.input != strlen(rows[i].body) + BASE)
			fail_msg("%s: input %llu", rows[i].body, (unsigned long long)ask.input);
	}
}

static void the_model_is_the_one_that_answers_or_unknown(void **state)
{
	static const struct {
		const char *path, *body, *model;
	} rows[] = {
		{CHAT, "{\"model\":\"gpt-5-nano\"}", "gpt-5-nano"},
		{CHAT, "{\"model\":\"gpt-5-nano \"}", ""},
		{CHAT, "{\"model\":\"gpt-5-nano\\u0000\"}", ""},
		{CHAT, "{\"model\":\"gpt-5-nano\",\"models\":[\"gpt-5-pro\"]}", ""},
		{CHAT, "{\"model\":\"gpt-5-nano\",\"fallbacks\":\"gpt-5-pro\"}", ""},
		{"/openai/deployments/gpt-5-pro" CHAT, "{}", "gpt-5-pro"},
		{"/openai/deployments/gpt-5-pro" CHAT, "{\"model\":\"gpt-5-pro\"}", "gpt-5-pro"},
		{"/openai/deployments/gpt-5-pro" CHAT, "{\"model\":\"gpt-5-nano\"}", ""},
		{"/v1beta/models/gemini-x:generateContent", "{\"model\":\"gpt-5-nano\"}", "gemini-x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask ask;
		read_ask(&ask, rows[i].path, rows[i].body);
		assert_null(ask.fault);
		assert_true(ask.is_known);
		assert_string_equal(ask.model, rows[i].model);
	}
}

static void what_is_not_in_the_bytes_is_counted_by_the_context(void **state)
{
	static const struct {
		const char *body;
		uint64_t more; /* 0: the whole context */
	} rows[] = {
		{"{\"model\":\"gpt-4o\",\"previous_response_id\":\"r\"}", 0},
		{"{\"model\":\"gpt-4o\",\"previous_response_id\":null}", BASE},
		{"{\"model\":\"gpt-4o\",\"conversation\":{\"id\":\"c\"}}", 0},
		{"{\"model\":\"gpt-4o\",\"prompt\":{\"id\":\"p\"}}", 0},
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"image_url\":{\"url\":\"http://x/a.png\"}}]}]}", 0},
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"image_url\":{\"url\":\"data:image/png;base64,AA\"}}]}]}",
			BASE + ASK_IMAGE_TOKENS},
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\"}}]}]}",
			BASE + ASK_IMAGE_TOKENS},
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\"}}]}]}", 0},
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"source\":{\"type\":\"url\"}}]}]}", 0},
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"content\":[{\"source\":{\"type\":\"file\"}}]}]}]}", 0},
		{"{\"model\":\"gpt-4o\",\"input\":[{\"type\":\"item_reference\",\"id\":\"i\"}]}", 0},
		{"{\"model\":\"gpt-4o\",\"input\":[{\"content\":[{\"type\":\"input_file\",\"file_id\":\"f\"}]}]}", 0},
		{"{\"model\":\"gpt-4o\",\"contents\":[{\"parts\":[{\"fileData\":{\"fileUri\":\"f\"}}]}]}", 0},
		{"{\"model\":\"gpt-4o\",\"tools\":[{\"type\":\"web_search_20250305\"}]}", 0},
		{"{\"model\":\"gpt-4o\",\"tools\":[{\"googleSearch\":{}}]}", 0},
		{"{\"model\":\"gpt-4o\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"url\"}}]}", BASE + 2000},
		{"{\"model\":\"gpt-4o\",\"tools\":[{\"type\":\"bash_20250124\"}]}", BASE + 3000},
		/* what a model was told by a tool is text, whatever its keys */
		{"{\"model\":\"gpt-4o\",\"messages\":[{\"content\":[{\"type\":\"tool_use\",\"input\":{\"url\":\"http://x\",\"file_id\":1}}]}]}", BASE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask ask;
		read_ask(&ask, "/v1/messages", rows[i].body);
		uint64_t expected = rows[i].more == 0 ? 128000 : strlen(rows[i].body) + rows[i].more;
		if (ask.fault != NULL || ask.input != expected)
			fail_msg("%s: %llu %s", rows[i].body, (unsigned long long)ask.input, ask.fault ? ask.fault : "");
	}
}

static void a_summary_of_what_was_said_before_costs_as_much_again(void **state)
{
	struct ask ask;

	(void)state;
	read_ask(&ask, "/v1/messages",
		"{\"model\":\"gpt-4o\",\"max_tokens\":7,\"messages\":[],\"context_management\":{\"edits\":[{\"type\":\"compact_20260112\"}]}}");
	assert_null(ask.fault);
	assert_int_equal(ask.input, 256000);
	assert_int_equal(ask.output, 14);
	read_ask(&ask, "/v1/responses",
		"{\"model\":\"gpt-4o\",\"max_output_tokens\":7,\"input\":\"x\",\"context_management\":[{\"type\":\"other\"}]}");
	assert_null(ask.fault);
	assert_int_equal(ask.output, 7);
	read_ask(&ask, "/v1/responses",
		"{\"model\":\"gpt-4o\",\"max_output_tokens\":7,\"input\":\"x\","
		"\"context_management\":[{\"type\":\"compaction\",\"compact_threshold\":9}]}");
	assert_null(ask.fault);
	assert_int_equal(ask.input, 256000);
	assert_int_equal(ask.output, 14);
	read_ask(&ask, "/v1/messages", "{\"model\":\"gpt-4o\",\"messages\":[],\"tools\":[{\"type\":\"advisor_1\",\"model\":\"gpt-4\"}]}");
	assert_null(ask.fault);
	assert_string_equal(ask.model, ""); /* whichever of them is dearer */
	assert_false(ask.is_kept);
	read_ask(&ask, "/v1/messages", "{\"system\":[{\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"5m\"}}]}");
	assert_false(ask.is_kept);
	read_ask(&ask, "/v1/messages", "{\"system\":[{\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}]}");
	assert_true(ask.is_kept);
	read_ask(&ask, "/v1/messages", "{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":null}}");
	assert_false(ask.is_kept);
	read_ask(&ask, "/v1/messages", "{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":3600}}");
	assert_true(ask.is_kept);
}

static void what_readers_could_understand_differently_is_refused(void **state)
{
	static const char *const bodies[] = {
		"", "{", "{}}", "{\"model\":\"x\"", "{\"model\":\"x\",}", "[]", "\"x\"", "nul", "{'model':1}", "{\"a\":nan}", "/**/{}",
		"\xef\xbb\xbf{}", "{\"a\":\"\x01\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "model=x",
		"{\"max_tokens\":1,\"max_tokens\":2}", "{\"max_tokens\":1,\"MAX_TOKENS\":2}", "{\"max_tokens\":1,\"maxTokens\":2}",
		"{\"max_tokens\":1,\"max_to\\u212aens\":2}", "{\"max_tokens\":1,\"max_to\xe2\x84\xaa" "ens\":2}",
		"{\"max_tokens\":1,\"max_token\xc5\xbf\":2}", "{\"max_tokens\":\"1\"}", "{\"max_tokens\":1.0}", "{\"max_tokens\":1e1}",
		"{\"max_tokens\":-1}", "{\"max_tokens\":01}", "{\"max_tokens\":[1]}", "{\"max_tokens\":true}", "{\"n\":\"2\"}",
		"{\"max_tokens\":99999999999999999999}", "{\"model\":\"a\",\"model\":\"b\"}", "{\"model\":[\"a\"]}",
		"{\"messages\":[],\"messages\":[]}", "{\"stream\":false,\"stream\":true}", "{\"stream_options\":[]}",
		"{\"stream_options\":{\"include_usage\":{}}}", "{\"requests\":[]}", "{\"input_file_id\":\"f\"}",
		"{\"service_tier\":\"priority\"}", "{\"speed\":\"fast\"}", "{\"maxTokens\":1}", "{\"MAX_TOKENS\":1}", "{\"Stream_Options\":{}}",
		"{\"max_tokens\":1,\"max_tokens\\u0000x\":2}", "{\"max_tokens\":1,\"max_\xfftokens\":2}", "{\"a\":\"\xc0\x80\"}",
		"{\"a\":\"\xed\xa0\x80\"}", "{\"thinking\":{\"budget_tokens\":\"9\"}}", "{\"thinking\":{\"budget_tokens\":1e9}}",
	};
	struct ask ask;

	(void)state;
	for (size_t i = 1; i < ARRAY_LEN(bodies); i++) {
		read_ask(&ask, CHAT, bodies[i]);
		if (ask.fault == NULL)
			fail_msg("%s", bodies[i]);
	}
	static const char *const paths[] = {"/v1/videos", "/v1/video%73", "/v1/video%2573/", "/v1/videos;x=1", "/v1/eval%73/x/runs",
		"/v1beta/models/g:predictLongRunning", "/v1beta/models/g:generateContent?fields=responseId",
		"/v1beta/models/g:generateContent?a=b&%24fields=responseId"};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		read_ask(&ask, paths[i], "{}");
		if (ask.fault == NULL)
			fail_msg("%s", paths[i]);
	}
	for (size_t depth = 250; depth < 270; depth += 19) {
		own(buf_done) struct buf body = {0};
		buf_str(&body, "{\"a\":");
		for (size_t i = 1; i < depth; i++)
			buf_char(&body, '[');
		for (size_t i = 1; i < depth; i++)
			buf_char(&body, ']');
		buf_char(&body, '}');
		read_ask(&ask, CHAT, buf_text(&body));
		assert_int_equal(ask.fault != NULL, depth > 256);
	}
	read_ask(&ask, "/v1/messages/batches", "{\"a\":1}");
	assert_non_null(ask.fault);
	read_ask(&ask, "/v1/models/x:batchEmbedContents", "{\"requests\":[]}");
	assert_null(ask.fault);
}

static void what_asks_no_model_is_counted_by_its_bytes_and_counting_is_free(void **state)
{
	struct ask ask;

	(void)state;
	read_ask(&ask, "/repos/x/issues", "{\"title\":\"a bug\",\"body\":\"\"}");
	assert_true(ask.fault == NULL && !ask.is_known && !ask.is_free);
	assert_int_equal(ask.input, 27 + 1);
	assert_int_equal(ask.output, ASK_OUTPUT_UNKNOWN);
	read_ask(&ask, "/upload", "--boundary\r\n");
	assert_true(ask.fault == NULL && !ask.is_known && ask.input == 12 + 1 && ask.output == ASK_OUTPUT_UNKNOWN);
	read_ask(&ask, "/upload", "");
	assert_true(ask.fault == NULL && !ask.is_known && ask.input == 1 && ask.output == ASK_OUTPUT_UNKNOWN);
	read_ask(&ask, "/v1/messages/count_tokens", "{\"model\":\"x\"}");
	assert_true(ask.fault == NULL && ask.is_free);
	read_ask(&ask, "/v1/responses", "{\"model\":\"x\",\"background\":true}");
	assert_true(ask.is_later);
}

static void a_stream_is_asked_for_its_usage(void **state)
{
	static const struct {
		const char *path, *body, *sent; /* NULL: as it is */
	} rows[] = {
		{CHAT, "{\"stream\":true}", "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}"},
		{CHAT, " {\"stream\" : true } \n", " {\"stream\" : true ,\"stream_options\":{\"include_usage\":true}} \n"},
		{CHAT, "{\"stream\":1,\"a\":{}}", "{\"stream\":1,\"a\":{},\"stream_options\":{\"include_usage\":true}}"},
		{CHAT, "{\"stream_options\":null,\"stream\":true}", "{\"stream_options\":{\"include_usage\":true},\"stream\":true}"},
		{CHAT, "{\"stream_options\":{},\"stream\":true}", "{\"stream_options\":{\"include_usage\":true},\"stream\":true}"},
		{CHAT, "{\"stream_options\": { } ,\"stream\":true}", "{\"stream_options\": {\"include_usage\":true } ,\"stream\":true}"},
		{CHAT, "{\"stream_options\":{\"a\":1},\"stream\":true}", "{\"stream_options\":{\"include_usage\":true,\"a\":1},\"stream\":true}"},
		{CHAT, "{\"stream_options\":{\"include_usage\":false},\"stream\":true}", "{\"stream_options\":{\"include_usage\":true},\"stream\":true}"},
		{CHAT, "{\"stream_options\":{\"include_usage\": null },\"stream\":true}", "{\"stream_options\":{\"include_usage\": true },\"stream\":true}"},
		{CHAT, "{\"stream_options\":{\"include_usage\":true},\"stream\":true}", NULL},
		{CHAT, "{\"stream\":false}", NULL},
		{CHAT, "{\"stream\":null}", NULL},
		{"/v1/completions", "{\"stream\":true}", "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}"},
		{"/v1/messages", "{\"stream\":true}", NULL},
		{"/v1/responses", "{\"stream\":true}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf sent = {0};
		struct ask ask;
		read_ask(&ask, rows[i].path, rows[i].body);
		assert_null(ask.fault);
		ask_edit(&ask, rows[i].body, strlen(rows[i].body), &sent);
		assert_string_equal(buf_text(&sent), rows[i].sent ? rows[i].sent : rows[i].body);
		assert_int_equal(ask.edit != ASK_AS_IT_IS, rows[i].sent != NULL);
	}
}

#define TEXT "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\n"
#define USAGE "data: {\"id\":\"x\",\"choices\": [ ],\"usage\":{\"prompt_tokens\":1}}\n\n"
#define DONE "data: [DONE]\n\n"

static void the_event_with_the_usage_is_taken_out_of_a_stream(void **state)
{
	static const struct {
		const char *stream, *left;
	} rows[] = {
		{TEXT USAGE DONE, TEXT DONE},
		{TEXT DONE, TEXT DONE},
		{USAGE, ""},
		{TEXT "data: {\"choices\":[],\"usage\":{}}", TEXT}, /* without an end */
		{"data: {\"choices\":[],\"usage\":{}}\r\n\r\n" DONE, "\n" DONE},
		{"event: x\nid: 1\ndata: {\"choices\":[],\ndata: \"usage\":{}}\n\n" DONE, DONE},
		/* all others stay */
		{"data: {\"choices\":[{}],\"usage\":{}}\n\n", NULL},
		{"data: {\"choices\":[],\"usage\":null}\n\n", NULL},
		{"data: {\"choices\":[]}\n\n", NULL},
		{"data: {\"x\":{\"choices\":[],\"usage\":{}}}\n\n", NULL},
		{"data: {\"choices\":[{\"text\":\"\\\"choices\\\":[],\\\"usage\\\":{\"}]}\n\n", NULL},
		{": comment\n\ndata: x", NULL},
		{"\n\n\r\r\n\n", NULL},
	};
	static const size_t steps[] = {1000, 1, 2, 7};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(steps); i++) {
		const char *stream = rows[i / ARRAY_LEN(steps)].stream, *left = rows[i / ARRAY_LEN(steps)].left;
		size_t len = strlen(stream), step = steps[i % ARRAY_LEN(steps)];
		struct strip strip = {0};
		own(buf_done) struct buf out = {0};
		for (size_t at = 0; at < len; at += step)
			strip_take(&strip, stream + at, len - at < step ? len - at : step, &out);
		strip_end(&strip, &out);
		strip_done(&strip);
		assert_string_equal(buf_text(&out), left ? left : stream);
	}
}

static void a_long_event_does_not_wait_for_its_end(void **state)
{
	struct strip strip = {0};
	own(buf_done) struct buf in = {0}, out = {0};

	(void)state;
	buf_str(&in, "data: {\"choices\":[],\"usage\":{},\"x\":\"");
	while (in.len < 3 * STRIP_EVENT_MAX)
		buf_str(&in, "xxxxxxxx");
	strip_take(&strip, in.data, in.len, &out);
	assert_int_equal(out.len, in.len);
	buf_str(&in, "\"}\n\n" TEXT);
	strip_take(&strip, "\"}\n\n" USAGE TEXT, strlen("\"}\n\n" USAGE TEXT), &out);
	assert_string_equal(buf_text(&out), buf_text(&in));
	strip_done(&strip);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_output_is_bounded_by_the_member_that_its_interface_heeds),
		cmocka_unit_test(the_model_is_the_one_that_answers_or_unknown),
		cmocka_unit_test(what_is_not_in_the_bytes_is_counted_by_the_context),
		cmocka_unit_test(a_summary_of_what_was_said_before_costs_as_much_again),
		cmocka_unit_test(what_readers_could_understand_differently_is_refused),
		cmocka_unit_test(what_asks_no_model_is_counted_by_its_bytes_and_counting_is_free),
		cmocka_unit_test(a_stream_is_asked_for_its_usage),
		cmocka_unit_test(the_event_with_the_usage_is_taken_out_of_a_stream),
		cmocka_unit_test(a_long_event_does_not_wait_for_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
