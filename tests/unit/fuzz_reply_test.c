/* From what came back to a reply's kind: tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "fuzz/tool/target_private.h"

#define TRACE "Traceback (most recent call last):\\n  File \\\"a.py\\\", line 3, in f\\nKeyError: 'x'"
#define TRACE_RAW "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'\n"

struct row {
	const char *text;
	enum reply_kind kind;
	const char *message;
};

static void check(const struct row *row, const struct answer *answer)
{
	if (answer->kind != row->kind || strcmp(buf_text(&answer->message), row->message) != 0)
		fail_msg("%s: it is %s, '%s'", row->text, reply_kind_name(answer->kind), buf_text(&answer->message));
}

static void a_tools_answer_is_of_its_kind(void **state)
{
	static const struct row rows[] = {
		{"{}", REPLY_OK, ""},
		{"[1]", REPLY_OK, ""},
		{"\"error\"", REPLY_OK, ""},
		{"{\"error\": null}", REPLY_OK, ""},
		{"{\"error\": false}", REPLY_OK, ""},
		{"{\"errors\": []}", REPLY_OK, ""},
		{"{\"status\": \"ok\"}", REPLY_OK, ""},
		{"{\"isError\": false}", REPLY_OK, ""},
		{"{\"error\": \"too long\"}", REPLY_REJECTED, "too long"},
		{"{\"error\": {\"message\": \"too long\", \"code\": 3}}", REPLY_REJECTED, "too long"},
		{"{\"errors\": [\"a\"]}", REPLY_REJECTED, "[\"a\"]"},
		{"{\"rejected\": true, \"reason\": \"too long\"}", REPLY_REJECTED, "too long"},
		{"{\"status\": \"rejected\", \"message\": \"too long\"}", REPLY_REJECTED, "too long"},
		{"{\"status\": \"invalid\"}", REPLY_REJECTED, "invalid"},
		{"{\"status\": \"error\", \"error\": \"x\"}", REPLY_REJECTED, "x"},
		{"{\"isError\": true, \"message\": \"no\"}", REPLY_REJECTED, "no"},
		{"{\"error\": \"" TRACE "\"}", REPLY_FAILED, TRACE_RAW},
		{"{\"exception\": \"KeyError\"}", REPLY_FAILED, "KeyError"},
		{"{\"error\": \"x\", \"traceback\": \"y z\"}", REPLY_FAILED, "y z"},
		{"{\"status\": \"internal_error\", \"message\": \"m\"}", REPLY_FAILED, "m"},
		{"{\"status\": \"crash\"}", REPLY_FAILED, "crash"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct answer answer = {0};
		struct row row = rows[i];
		answer_tool(&answer, NULL, row.text, strlen(row.text));
		if (strncmp(row.message, "Traceback", 9) == 0)
			row.message = buf_text(&answer.message); /* its newline at the end is not in the answer */
		check(&row, &answer);
		assert_ptr_equal(answer.output, &answer.document);
		answer_done(&answer);
	}
}

static void a_member_of_the_users_replaces_the_customs(void **state)
{
	static const struct row rows[] = {
		{"{\"error\": \"a result, here\"}", REPLY_OK, ""},
		{"{\"refused\": null}", REPLY_REJECTED, "null"},
		{"{\"refused\": \"too long\"}", REPLY_REJECTED, "too long"},
		{"{\"exception\": \"KeyError\"}", REPLY_FAILED, "KeyError"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct answer answer = {0};
		answer_tool(&answer, "refused", rows[i].text, strlen(rows[i].text));
		check(&rows[i], &answer);
		answer_done(&answer);
	}
}

static void what_is_not_json_is_broken(void **state)
{
	static const char *const texts[] = {"", "hello", "{", "{} {}", "{\"a\": \"\xff\"}", "{\"a\": 1, \"a\": 2}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct answer answer = {0};
		answer_tool(&answer, NULL, texts[i], strlen(texts[i]));
		assert_int_equal(answer.kind, REPLY_BROKEN);
		assert_true(answer.lost);
		assert_null(answer.output);
		assert_memory_equal(buf_text(&answer.message), "its answer is not JSON: ", 24);
		answer_done(&answer);
	}
}

static void a_process_is_judged_by_its_end(void **state)
{
	static const struct {
		struct cell_result result;
		const char *out, *said;
		bool cut;
		enum reply_kind kind;
		const char *message;
		int64_t code;
		bool output;
	} rows[] = {
		{{.outcome = CELL_EXITED}, "{}", "", false, REPLY_OK, "", 0, true},
		{{.outcome = CELL_EXITED}, "text", "a warning", false, REPLY_OK, "", 0, false},
		{{.outcome = CELL_EXITED}, "{\"error\": \"e\"}", "", false, REPLY_REJECTED, "e", 0, true},
		{{.outcome = CELL_EXITED}, "x", "", true, REPLY_BROKEN, "it said more than 4194304 bytes", 0, false},
		{{.outcome = CELL_EXITED, .exit_code = 2}, "", "usage: x", false, REPLY_REJECTED, "usage: x", 2, false},
		{{.outcome = CELL_EXITED, .exit_code = 2}, "", "", false, REPLY_REJECTED, "it ended with exit code 2", 2, false},
		{{.outcome = CELL_EXITED, .exit_code = 1}, "", TRACE_RAW, false, REPLY_FAILED, TRACE_RAW, 1, false},
		{{.outcome = CELL_SIGNALED, .signal = 11}, "{}", "", false, REPLY_ENDED, "signal 11 (Segmentation fault) ended it", 139, true},
		{{.outcome = CELL_OOM}, "", "", false, REPLY_ENDED, "it needed more memory than it may have", 0, false},
		{{.outcome = CELL_TIMEOUT}, "", "", false, REPLY_LATE, "it ended: timeout", 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct answer answer = {0};
		const struct process_end end = {.result = &rows[i].result, .out = rows[i].out, .out_len = strlen(rows[i].out),
			.said = rows[i].said, .said_len = strlen(rows[i].said), .cut = rows[i].cut};
		answer_process(&answer, NULL, &end);
		check(&(struct row){rows[i].said, rows[i].kind, rows[i].message}, &answer);
		assert_int_equal(answer.code, rows[i].code);
		assert_int_equal(answer.output != NULL, rows[i].output);
		answer_done(&answer);
	}
}

static void read_into(struct answer *answer, const char *text)
{
	struct err err = {0};

	if (json_read(text, strlen(text), &answer_limits, NULL, &answer->document, &err) < 0)
		fail_msg("%s: %s", text, err.text);
}

static void an_error_of_the_protocol_is_judged_by_its_code(void **state)
{
	static const struct row rows[] = {
		{"{\"code\": -32602, \"message\": \"a must be text\"}", REPLY_REJECTED, "a must be text"},
		{"{\"code\": -32602, \"message\": \"" TRACE "\"}", REPLY_FAILED, NULL},
		{"{\"code\": -32002, \"message\": \"not there\"}", REPLY_REJECTED, "not there"},
		{"{\"code\": -32603, \"message\": \"oops\"}", REPLY_FAILED, "oops"},
		{"{\"code\": 1, \"message\": \"oops\"}", REPLY_FAILED, "oops"},
		{"{\"code\": -32601, \"message\": \"m\"}", REPLY_BROKEN, "it answered a proper request with error -32601: m"},
		{"{\"code\": -32700, \"message\": \"m\"}", REPLY_BROKEN, "it answered a proper request with error -32700: m"},
		{"{\"code\": \"x\", \"message\": \"m\"}", REPLY_BROKEN, NULL},
		{"{\"code\": 1.5, \"message\": \"m\"}", REPLY_BROKEN, NULL},
		{"{\"code\": 1}", REPLY_BROKEN, NULL},
		{"7", REPLY_BROKEN, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct answer answer = {0};
		read_into(&answer, rows[i].text);
		answer_rpc_error(&answer, &answer.document);
		assert_true(answer.message.len > 0);
		check(&(struct row){rows[i].text, rows[i].kind, rows[i].message ? rows[i].message : buf_text(&answer.message)}, &answer);
		assert_false(answer.lost); /* it was an answer all the same */
		answer_done(&answer);
	}
}

static void a_result_of_a_call_has_its_structure(void **state)
{
	static const struct {
		unsigned kind;
		struct row row;
		bool output;
	} rows[] = {
		{SUBJECT_TOOL, {"{\"content\": []}", REPLY_OK, ""}, false},
		{SUBJECT_TOOL, {"{\"content\": [{\"type\": \"text\", \"text\": \"x\"}], \"structuredContent\": {}}", REPLY_OK, ""}, true},
		{SUBJECT_TOOL, {"{\"content\": [{\"type\": \"text\", \"text\": \"x\"}, {\"type\": \"text\", \"text\": \"y\"}], \"isError\": true}", REPLY_REJECTED, "x\ny"}, false},
		{SUBJECT_TOOL, {"{\"content\": [{\"type\": \"image\", \"data\": \"\"}, {\"type\": \"resource\", \"resource\": {}}, {\"type\": \"resource_link\", \"uri\": \"a:b\"}]}", REPLY_OK, ""}, false},
		{SUBJECT_TOOL, {"{\"content\": [{\"type\": \"text\"}]}", REPLY_BROKEN, "an item of its content lacks what its type must have"}, false},
		{SUBJECT_TOOL, {"{\"content\": [{\"type\": \"smell\"}]}", REPLY_BROKEN, "an item of its content has a type that the protocol does not know"}, false},
		{SUBJECT_TOOL, {"{\"content\": [7]}", REPLY_BROKEN, "an item of its content is not an object with a string 'type'"}, false},
		{SUBJECT_TOOL, {"{\"content\": [], \"isError\": 1}", REPLY_BROKEN, "its 'isError' is neither true nor false"}, false},
		{SUBJECT_TOOL, {"{\"content\": [], \"structuredContent\": 1}", REPLY_BROKEN, "its 'structuredContent' is not an object"}, false},
		{SUBJECT_TOOL, {"{}", REPLY_BROKEN, "its result is not an object with an array 'content'"}, false},
		{SUBJECT_TOOL, {"7", REPLY_BROKEN, "its result is not an object with an array 'content'"}, false},
		{SUBJECT_RESOURCE, {"{\"contents\": []}", REPLY_OK, ""}, false},
		{SUBJECT_RESOURCE, {"{\"content\": []}", REPLY_BROKEN, "its result is not an object with an array 'contents'"}, false},
		{SUBJECT_PROMPT, {"{\"messages\": []}", REPLY_OK, ""}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct answer answer = {0};
		read_into(&answer, rows[i].row.text);
		answer_mcp_result(&answer, rows[i].kind, &answer.document);
		check(&rows[i].row, &answer);
		assert_int_equal(answer.output != NULL, rows[i].output);
		answer_done(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tools_answer_is_of_its_kind),
		cmocka_unit_test(a_member_of_the_users_replaces_the_customs),
		cmocka_unit_test(what_is_not_json_is_broken),
		cmocka_unit_test(a_process_is_judged_by_its_end),
		cmocka_unit_test(an_error_of_the_protocol_is_judged_by_its_code),
		cmocka_unit_test(a_result_of_a_call_has_its_structure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
