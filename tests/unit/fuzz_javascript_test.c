#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fuzz/function/core/run.h"

#define TEST(name) cmocka_unit_test(name)

static void put_name(void *data, const char *name, size_t len, bool harness)
{
	buf_fmt(data, "%s%.*s ", harness ? "!" : "", (int)len, name);
}

static void names_are(const char *text, const char *expected)
{
	own(buf_done) struct buf names = {0};

	language_javascript.names(text, strlen(text), put_name, &names);
	assert_string_equal(buf_text(&names), expected);
}

static void functions_are_found_where_they_are_declared(void **state)
{
	(void)state;
	names_are("function one(a) {\n  function inner() {}\n}\nasync function* two() {}\nconst three = (x) => x, n = 3;\nlet four = async x => 1;\n"
		  "var five = function () {};\nconst six = 6;\nfunctional(7);\n// function eight() {}\n",
		"one two three four five ");
	names_are("class C {\n\tstatic one(a) {\n\t}\n\tstatic async two() {}\n\tthree() {}\n\tstatic async *four() {}\n}\nfunction five() {}\n",
		"C.one C.two C.four five ");
	names_are("", "");
	names_are("function ", "");
	names_are("export", "");
	names_are("const x =", "");
}

static void functions_are_found_where_they_are_exported(void **state)
{
	(void)state;
	names_are("exports.one = (a) => a;\nmodule.exports.two = two;\nfunction two() {}\n", "one two ");
	names_are("module.exports = { one, two: other, three() { call(x); } };\n", "one two three ");
	names_are("module.exports = {\n  one,\n  // not, this\n  two: (a, b) => {\n    inner(a);\n  },\n  async three(x) {\n  },\n};\nfunction four() {}\n",
		"one two three four ");
	names_are("module.exports = function (a) {};\n", "default ");
	names_are("module.exports = parse;\nfunction parse() {}\n", "parse ");
	names_are("export function one() {}\nexport default async function () {}\nexport const two = (a) => a;\nexport { three, other as four };\n",
		"one default two three four ");
	names_are("export default (x) => x;\n", "default ");
	names_are("module.exports = {", "");
	names_are("exports.", "");
}

static void a_harness_is_what_is_exported_as_fuzz(void **state)
{
	(void)state;
	names_are("module.exports.fuzz = function (data) {};\n", "!fuzz ");
	names_are("export function fuzz(data) {}\n", "!fuzz ");
	names_are("export async function fuzz(data) {}\n", "!fuzz ");
	names_are("function fuzz(data) {}\nmodule.exports = { fuzz };\nexports.fuzz = fuzz;\n", "fuzz !fuzz ");
	names_are("function fuzz(data) {}\n", "fuzz ");
	assert_true(language_javascript.is_harness_file("a/fuzz_x.js") && language_javascript.is_harness_file("x.fuzz.mjs") &&
		language_javascript.is_harness_file("fuzz.js"));
	assert_false(language_javascript.is_harness_file("a/fuzz/x.js") || language_javascript.is_harness_file("fuzzy.js"));
}

static void the_plan_runs_node_and_what_is_expected_is_in_its_file(void **state)
{
	struct function_target target = {.language = "javascript", .root = (char *)"/x", .file = (char *)"a/t.js", .function = (char *)"f",
		.name = (char *)"t.js:f"};
	const char *const expect[] = {"Type\"Error", NULL};
	const struct function_options options = {.expect = expect};
	own(function_plan_done) struct function_plan plan = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(language_javascript.plan(&target, &options, "", 0, &plan, &err), 0);
	assert_string_equal(plan.run.items[2], "ulimit -d 983040; exec node \"$@\"");
	assert_string_equal(plan.run.items[4], "--max-old-space-size=640");
	assert_string_equal(plan.cover.items[plan.cover.count - 1], "cover");
	assert_true(plan.goes_on && plan.build.count);
	const struct plan_file *config = &plan.files[plan.file_count - 1];
	assert_string_equal(config->name, "target.json");
	assert_non_null(strstr(config->text, "\"Type\\\"Error\""));
	assert_non_null(strstr(config->text, "\"engine\":\"\""));
}

static void verdict(const char *report, const char *oracle, const char *message, const char *frames)
{
	const struct function_target target = {.language = "javascript", .root = (char *)"/home/x", .file = (char *)"t.js", .function = (char *)"f",
		.name = (char *)"t.js:f"};
	own(finding_done) struct finding finding = {0};
	own(buf_done) struct buf all = {0};

	assert_true(verdict_read(&target, ENGINE_CRASH, report, strlen(report), &finding));
	for (size_t i = 0; i < finding.frames.count; i++)
		buf_fmt(&all, "%s|", finding.frames.items[i]);
	assert_string_equal(finding.oracle, oracle);
	assert_string_equal(finding.message, message);
	assert_string_equal(buf_text(&all), frames);
}

static void what_the_harness_tells_becomes_a_finding(void **state)
{
	(void)state;
	verdict("noise\n=== Uncaught JavaScript exception: ===\nTypeError: x is not a function\n    at inner (/target/t.js:3:5)\n"
		"    at Array.map (<anonymous>)\n    at f (file:///target/t.js:9:1)\n    at node:internal/x:1:2\n",
		"exception", "TypeError: x is not a function", "TypeError|inner (t.js)|f (t.js)|");
	verdict("=== Jazzer.js bug detector: ===\nCommand Injection: in execSync(): called with 'jaz_zer'\n    at f (/target/t.js:9:1)\n", "command",
		"Command Injection: in execSync(): called with 'jaz_zer'", "Command Injection|f (t.js)|");
	verdict("=== Jazzer.js bug detector: ===\nPrototype Pollution: Prototype of Object changed.\n", "exception",
		"Prototype Pollution: Prototype of Object changed.", "");
	verdict("=== Jazzer.js bug detector: ===\nServer Side Request Forgery (SSRF): connect\n", "network",
		"Server Side Request Forgery (SSRF): connect", "");
	verdict("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n==3== ERROR: libFuzzer: deadly signal\n", "memory",
		"one input took too much memory", "");
	verdict("=== Uncaught JavaScript exception: ===\n", "exception", "it failed without a word", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_found_where_they_are_declared),
		TEST(functions_are_found_where_they_are_exported),
		TEST(a_harness_is_what_is_exported_as_fuzz),
		TEST(the_plan_runs_node_and_what_is_expected_is_in_its_file),
		TEST(what_the_harness_tells_becomes_a_finding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
