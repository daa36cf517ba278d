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

	language_java.names(text, strlen(text), put_name, &names);
	assert_string_equal(buf_text(&names), expected);
}

static void public_static_methods_of_the_public_class_are_found(void **state)
{
	(void)state;
	names_are("package a;\npublic final class C {\n\tpublic static int one(byte[] d) { if (x()) { } return 1; }\n"
		  "\tstatic public <T extends X> void two(@A(b = 1) int[] x, String... y) throws E {}\n\tpublic void three() {}\n"
		  "\tstatic void four() {}\n\tpublic static final F f = new F() { public static void no() {} };\n"
		  "\tpublic static class In { public static void five() {} }\n}\nclass D { public static void six() {} }\n",
		"one two ");
	names_are("public class C { // public static void no() {}\n String s = \"{\", t = \"\"\"\n \" { \"\"\"; char c = '\\''; /* { */ public static "
		  "void yes() {} }",
		"yes ");
	names_are("", "");
	names_are("public class C { public static void f(", "");
	names_are("public class C { public static int x = f(3);", "");
	names_are("} } public class C { public static void f() {", "f ");
}

static void a_harness_is_a_method_by_its_name_in_files_that_say_so(void **state)
{
	(void)state;
	names_are("class H { public static void fuzzerTestOneInput(byte[] d) {} public static void other() {} }", "!fuzzerTestOneInput ");
	assert_true(language_java.is_harness_file("a/ParserFuzzer.java") && language_java.is_harness_file("fuzz_x.java"));
	assert_false(language_java.is_harness_file("Fuzz/Parser.java"));
}

static void the_plan_knows_the_class_and_where_its_package_begins(void **state)
{
	struct function_target target = {.language = "java", .root = (char *)"/x", .file = (char *)"src/a/b/C.java", .function = (char *)"f",
		.name = (char *)"C.java:f"};
	const char *const expect[] = {"IOException", "no\nname=1", "a.b.E", NULL};
	const struct function_options options = {.expect = expect};
	const struct function_options documents = {.serve = true};
	own(function_plan_done) struct function_plan plan = {0}, other = {0}, served = {0};
	struct err err = {0};
	static const char text[] = "/* package no; */ package a . b;\npublic class C {}";

	(void)state;
	assert_int_equal(language_java.plan(&target, &options, text, strlen(text), &plan, &err), 0);
	assert_string_equal(plan.files[1].name, "target.properties");
	assert_string_equal(plan.files[1].text, "class=a.b.C\nfunction=f\nexpect=IOException,a.b.E\n");
	assert_non_null(strstr(plan.build.items[5], "/target/src:"));
	assert_string_equal(plan.run.items[3], "-Xmx1024m");
	assert_true(plan.goes_on && plan.replays_as_engine && plan.runs_from_tmp && plan.merge.count);
	assert_true(plan.serve.count == 0 && plan.needs && strcmp(plan.needs->what, "Jazzer") == 0);
	assert_int_equal(language_java.plan(&target, &documents, text, strlen(text), &served, &err), 0);
	assert_true(served.serve.count && !served.needs);
	assert_string_equal(served.files[2].name, "serve_of_hotcell.java");
	assert_string_equal(served.build.items[7], "serve_of_hotcell");
	target.file = (char *)"no name.java";
	assert_int_equal(language_java.plan(&target, &options, "", 0, &other, &err), -1);
	assert_non_null(strstr(err.text, "no name of one"));
}

static void verdict(const char *report, const char *oracle, const char *message, const char *frames, unsigned line)
{
	const struct function_target target = {.language = "java", .root = (char *)"/x", .file = (char *)"a/T.java", .function = (char *)"f",
		.name = (char *)"T.java:f"};
	own(finding_done) struct finding finding = {0};
	own(buf_done) struct buf all = {0};

	assert_true(verdict_read(&target, ENGINE_CRASH, report, strlen(report), &finding));
	assert_string_equal(finding.oracle, oracle);
	assert_string_equal(finding.message, message);
	for (size_t i = 0; i < finding.frames.count; i++)
		buf_fmt(&all, "%s|", finding.frames.items[i]);
	assert_string_equal(buf_text(&all), frames);
	assert_string_equal(finding.file, "/x/a/T.java");
	assert_int_equal(finding.line, line);
}

#define HARNESS_FRAMES \
	"\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)\n\tat harness_of_hotcell.call(harness_of_hotcell.java:226)\n" \
	"\tat harness_of_hotcell.fuzzerTestOneInput(harness_of_hotcell.java:297)\n"

static void what_jazzer_says_becomes_a_finding(void **state)
{
	(void)state;
	verdict("INFO: Seed: 1\n\n== Java Exception: java.lang.IllegalStateException: at 7\n\tat a.T.f(T.java:18)\n" HARNESS_FRAMES
		"== libFuzzer crashing input ==\n",
		"exception", "java.lang.IllegalStateException: at 7", "java.lang.IllegalStateException|a.T.f (T.java)|", 18);
	verdict("== Java Exception: java.lang.NullPointerException\n\tat a.Other.g(Other.java:3)\n\tat a.T.f(T.java:18)\n" HARNESS_FRAMES,
		"exception", "java.lang.NullPointerException", "java.lang.NullPointerException|a.Other.g (Other.java)|a.T.f (T.java)|", 0);
	verdict("== Java Exception: java.lang.OutOfMemoryError: Java heap space\n\tat a.T.f(T.java:18)\n", "memory",
		"one input took too much memory", "", 0);
	verdict("== Java Exception: com.code_intelligence.jazzer.api.FuzzerSecurityIssueCritical: OS Command Injection\nExecuting\n"
		"\tat com.code_intelligence.jazzer.sanitizers.OsCommandInjection.x(O.kt:9)\n\tat a.T.f(T.java:2)\n" HARNESS_FRAMES,
		"command", "OS Command Injection", "OS Command Injection|a.T.f (T.java)|", 2);
	verdict("== Java Exception: com.code_intelligence.jazzer.api.FuzzerSecurityIssueHigh: SQL Injection\n\tat a.T.f(T.java:2)\n",
		"exception", "FuzzerSecurityIssueHigh: SQL Injection", "FuzzerSecurityIssueHigh|a.T.f (T.java)|", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(public_static_methods_of_the_public_class_are_found),
		TEST(a_harness_is_a_method_by_its_name_in_files_that_say_so),
		TEST(the_plan_knows_the_class_and_where_its_package_begins),
		TEST(what_jazzer_says_becomes_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
