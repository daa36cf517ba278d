#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fuzz/function/lang/go/go_text.h"
#include "fuzz/function/core/run.h"

#define TEST(name) cmocka_unit_test(name)

/* ---- texts ---- */

static void put_name(void *data, const char *name, size_t len, bool harness)
{
	buf_fmt(data, "%s%.*s ", harness ? "!" : "", (int)len, name);
}

static void functions_are_found_and_methods_are_not(void **state)
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{"package p\nfunc One(a int) {}\nfunc (t *T) Method(a int) {}\nfunc two(b []byte) (int, error) { return func(x int) int { return x }(1), nil }\n",
			"One two "},
		{"package p\n// func no(a int) {}\n/*\nfunc no(a int) {}\n*/\nvar s = `\nfunc no(a int) {\n`\nvar r = '{'\nfunc yes(a int) {}\n", "yes "},
		{"package p\nvar f = func(a int) {}\ntype g func(a int)\nfunc init() {}\nfunc main() {}\nfunc _(a int) {}\n", ""},
		{"package p\nfunc Map[K comparable, V any](m map[K]V) {}\n", "Map "},
		{"package p\nfunc FuzzX(f *testing.F) {}\nfunc Fuzzy(f *testing.F) {}\nfunc FuzzY(a int) {}\nfunc Fuzz(x *testing.F) {}\n",
			"!FuzzX Fuzzy FuzzY !Fuzz "},
		{"package p\nfunc TestX(t *testing.T) {}\nfunc BenchmarkX(b *testing.B) {}\nfunc help(t *testing.T) {}\n", "help "},
		{"func", ""}, {"func a", ""}, {"func a(", ""}, {"func a[", ""}, {"func a(b [", ""}, {")))\nfunc a(b int)", "a "}, {"", ""},
		{"func (", ""}, {"'", ""}, {"\"\\", ""}, {"/*", ""}, {"`", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf names = {0};
		language_go.names(cases[i].text, strlen(cases[i].text), put_name, &names);
		if (strcmp(buf_text(&names), cases[i].names) != 0)
			print_message("%s\n", cases[i].text);
		assert_string_equal(buf_text(&names), cases[i].names);
	}
}

static void the_package_is_the_first_clause(void **state)
{
	static const struct {
		const char *text, *package;
	} cases[] = {{"package p\n", "p"}, {"//go:build linux\n\n/* package no */ // x\npackage main // import \"x\"", "main"},
		{"package\tp_test\n", "p_test"}, {"func x() {}\npackage p\n", ""}, {"", ""}, {"package", ""}, {"/", ""}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct go_span package = go_package(cases[i].text, strlen(cases[i].text));
		assert_int_equal(package.len, strlen(cases[i].package));
		assert_memory_equal(package.len ? package.at : "", cases[i].package, package.len);
	}
}

static void parameters_have_names_and_types(void **state)
{
	static const struct {
		const char *text, *told;
	} cases[] = {
		{"a int, b string", "a:int b:string "},
		{"a, b int, c []byte,", "a:int b:int c:[]byte "},
		{"int, []string", ":int :[]string "},
		{"f func(a, b int) error, m map[string]int", "f:func(a, b int) error m:map[string]int "},
		{"chan int, pkg.Type", ":chan int :pkg.Type "},
		{"opts ...string", "opts:...string "},
		{"s struct{ a, b int }", "s:struct{ a, b int } "},
		{" ", ""}, {",", ""}, {"(", ":( "}, {"a, b", ":a :b "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct go_param params[GO_PARAMS_MAX];
		own(buf_done) struct buf told = {0};
		size_t count = go_params((struct go_span){cases[i].text, strlen(cases[i].text)}, params);
		for (size_t k = 0; k < count; k++)
			buf_fmt(&told, "%.*s:%.*s ", (int)params[k].name.len, params[k].name.at, (int)params[k].type.len, params[k].type.at);
		assert_string_equal(buf_text(&told), cases[i].told);
	}
}

/* ---- plans ---- */

static char *registered(const char *text, const char *function, bool harness, struct err *err)
{
	struct function_target target = {.language = "go", .root = (char *)"/nonexistent", .file = (char *)(harness ? "d/t_test.go" : "d/t.go"),
		.function = (char *)function, .harness = harness, .name = (char *)"t.go:f"};
	const struct function_options options = {0};
	own(function_plan_done) struct function_plan plan = {0};

	if (language_go.plan(&target, &options, text, strlen(text), &plan, err) < 0)
		return NULL;
	assert_string_equal(plan.files[0].name, "register.go");
	assert_string_equal(plan.files[1].name, "target.sh");
	assert_non_null(strstr(plan.files[1].text, "DIR='d'\n"));
	assert_int_equal(plan.cover.count, 0);
	assert_int_equal(plan.parts.count, 0);
	return xstrdup(plan.files[0].text);
}

static void plain_parameters_are_made_by_a_direct_call(void **state)
{
	static const struct {
		const char *text, *has;
	} cases[] = {
		{"package p\nfunc f(data []byte) {}", "hotcell0 := hotcellData.Part(true)\n\t\tf(hotcell0)"},
		{"package p\nfunc f(a string, n int8, b []byte) {}",
			"hotcell1 := int8(hotcellData.Number(1))\n\t\thotcell0 := string(hotcellData.Part(false))\n\t\thotcell2 := hotcellData.Part(true)\n"
			"\t\tf(hotcell0, hotcell1, hotcell2)"},
		{"package p\nfunc f(a, b float64, ok bool) {}", "hotcell1 := hotcellData.Float64()\n"},
		{"package p\nfunc f(level Level) {}", "Function(\"f\", f, nil)"},
		{"package p\nfunc f(list ...string) {}", "Function(\"f\", f, nil)"},
		{"package main\nfunc f(a int /* of them */) {}", "Function(\"f\", f, nil)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(freep) char *made = registered(cases[i].text, "f", false, &err);
		assert_non_null(made);
		if (!strstr(made, cases[i].has))
			print_message("%s\n", made);
		assert_non_null(strstr(made, cases[i].has));
	}
	struct err err = {0};
	own(freep) char *made = registered("package p_test\nfunc FuzzX(f *testing.F) {}", "FuzzX", true, &err);
	assert_non_null(strstr(made, "package p_test\n"));
	assert_non_null(strstr(made, "Fuzz(\"FuzzX\", \"/target/d\", FuzzX)"));
}

static void for_documents_the_names_of_parameters_are_told(void **state)
{
	static const struct {
		const char *text, *has;
	} cases[] = {
		{"package p\nfunc f(a, b string, list ...Level) {}", "Serve(\"f\", f, \"a\", \"b\", \"list\")\n"},
		{"package p\nfunc f([]byte) {}", "Serve(\"f\", f, \"_\")\n"},
		{"package p\nfunc f(a int, _ string) {}", "parameter 2 without a name"},
		{"package p\nfunc f(a int, done chan int) {}", "its parameter 2, done, of type 'chan int', cannot be made from a document"},
	};
	struct function_target target = {.language = "go", .root = (char *)"/nonexistent", .file = (char *)"t.go", .function = (char *)"f",
		.name = (char *)"t.go:f"};
	const struct function_options options = {.serve = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(function_plan_done) struct function_plan plan = {0};
		struct err err = {0};
		int rc = language_go.plan(&target, &options, cases[i].text, strlen(cases[i].text), &plan, &err);
		assert_non_null(strstr(rc < 0 ? err.text : plan.files[0].text, cases[i].has));
		assert_true(rc < 0 || (plan.serve.count && strcmp(plan.build.items[2], "build_serve") == 0));
	}
	own(function_plan_done) struct function_plan plan = {0};
	struct err err = {0};
	target.harness = true;
	target.file = (char *)"t_test.go";
	static const char text[] = "package p\nfunc f(f *testing.F) {}";
	assert_int_equal(language_go.plan(&target, &options, text, strlen(text), &plan, &err), 0);
	assert_int_equal(plan.serve.count, 0);
}

static void what_cannot_be_called_is_refused_with_its_parameter(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"package p\nfunc f(in []byte, done chan int) {}", "its parameter 2, done, of type 'chan int', cannot be made"},
		{"package p\nfunc f(func(int)) {}", "its parameter 1, of type 'func(int)'"},
		{"package p\nfunc f() {}", "takes nothing"},
		{"package p\nfunc f[T any](x T) {}", "has parameters of types"},
		{"package p\nfunc g(x int) {}", "its function was not found"},
		{"func f(x int) {}", "its package clause was not found"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(freep) char *made = registered(cases[i].text, "f", false, &err);
		assert_null(made);
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.text, cases[i].says))
			print_message("%s\n", err.text);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static void paths_that_would_end_a_quote_are_refused(void **state)
{
	static const char *const paths[] = {"a'b.go", "a\"b/t.go", "a\\b.go", "$(x).go", "a\nb.go", "x_test.go"};
	const struct function_options options = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct function_target target = {.language = "go", .root = (char *)"/x", .file = (char *)paths[i], .function = (char *)"f", .name = (char *)"f"};
		own(function_plan_done) struct function_plan plan = {0};
		struct err err = {0};
		assert_int_equal(language_go.plan(&target, &options, "package p\nfunc f(x int) {}", 26, &plan, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

/* ---- statistics ---- */

static void statistics_of_go_test_are_read(void **state)
{
	struct stats_reader reader = {0};
	static const char text[] = "fuzz: elapsed: 0s, gathering baseline coverage: 0/192 completed\n"
				   "fuzz: elapsed: 3s, execs: 325017 (108336/sec), new interesting: 11 (total: 202)\n";

	(void)state;
	stats_feed(&reader, text, strcspn(text, "\n") + 1);
	assert_false(reader.now.begun);
	stats_feed(&reader, text, sizeof(text) - 1);
	assert_true(reader.now.begun);
	assert_int_equal(reader.now.execs, 325017);
	assert_int_equal(reader.now.rate, 108336);
	assert_int_equal(reader.now.news, 11);
	assert_int_equal(reader.now.corpus, 202);
}

static void hostile_statistics_of_go_test_do_no_harm(void **state)
{
	static const char *const lines[] = {"fuzz: elapsed: ", "fuzz: elapsed: , execs: ", "fuzz: elapsed: 3s, execs: -1 (x", "fuzz: elapsed: 1s, execs: (",
		"fuzz: elapsed: x, execs: 99999999999999999999999 (99999999999999999999999/sec), new interesting: "};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct stats stats = {0};
		(void)go_stats_line(&stats, lines[i], strlen(lines[i]));
		assert_true(stats.execs == 0 || stats.execs == UINT64_MAX);
	}
}

/* ---- verdicts ---- */

static void check_verdict(const char *report, const char *oracle, const char *message, const char *frame)
{
	static const struct function_target target = {.language = "go", .root = (char *)"/home/me/p", .file = (char *)"t.go", .function = (char *)"f",
		.name = (char *)"t.go:f"};
	struct finding finding = {0};

	assert_true(verdict_read(&target, ENGINE_CRASH, report, strlen(report), &finding));
	assert_string_equal(finding.oracle, oracle);
	assert_string_equal(finding.message, message);
	if (frame) {
		assert_string_equal(finding.frames.items[1], frame);
		assert_string_equal(finding.file, "/home/me/p/t.go");
		for (size_t i = 0; i < finding.frames.count; i++)
			assert_null(strstr(finding.frames.items[i], "of_hotcell"));
	}
	finding_done(&finding);
}

static void panics_and_fatal_errors_become_findings(void **state)
{
	(void)state;
	check_verdict("\npanic: runtime error: index out of range [7] with length 7\n\ngoroutine 1 [running]:\nruntime.goPanicIndex(...)\n\t/usr/local/go/src/runtime/panic.go:115\nx/p.check(...)\n\t/target/t.go:26\n",
		"exception", "panic: runtime error: index out of range [7] with length 7", "x/p.check (t.go)");
	check_verdict("runtime: goroutine stack exceeds 268435456-byte limit\nruntime: sp=0xc0 stack=[0xc0, 0xc1]\nfatal error: stack overflow\n\nruntime stack:\nruntime.throw({0x5, 0xe})\n\t/usr/local/go/src/runtime/panic.go:1023 +0x5c\n\ngoroutine 17 [running]:\nx/p.f(0x1)\n\t/target/t.go:5 +0x4a\nx/p.init.0.func1(...)\n\t/target/harness_of_hotcell.go:9 +0x1\n\n==1== ERROR: libFuzzer: fuzz target exited (exit code 2)\n",
		"crash", "fatal error: stack overflow", "x/p.f (t.go)");
	check_verdict("fatal error: all\n\nfatal error: runtime: out of memory\n", "memory", "one input took too much memory", NULL);
	check_verdict("\npanic: bad [recovered, repanicked]\n\ngoroutine 9 [running]:\ntesting.tRunner.func1.2({0x5, 0x5})\n\t/usr/local/go/src/testing/testing.go:1 +0x1\npanic({0x5, 0x5})\n\t/usr/local/go/src/runtime/panic.go:792 +0x132\nx/p.f(...)\n\t/target/t.go:5\n",
		"exception", "panic: bad", "x/p.f (t.go)");
	check_verdict("\n--- FAIL: not the same\n\ngoroutine 1 [running]:\nFuzzX(...)\n\t/target/t.go:7\n", "exception", "failed: not the same",
		"FuzzX (t.go)");
	check_verdict("\n==1== ERROR: libFuzzer: fuzz target exited (exit code 0)\n", "crash", "it ended the process", NULL);
}

static void kinds_of_checked_errors_are_told_apart_and_their_numbers_are_not(void **state)
{
	static const char *const reports[] = {
		"\npanic: runtime error: index out of range [7] with length 7\n\ngoroutine 1 [running]:\nx/p.f(...)\n\t/target/t.go:26\n",
		"\npanic: runtime error: index out of range [1] with length 0\n\ngoroutine 1 [running]:\nx/p.f(...)\n\t/target/t.go:27\n",
		"\npanic: runtime error: integer divide by zero\n\ngoroutine 1 [running]:\nx/p.f(...)\n\t/target/t.go:26\n",
	};
	static const struct function_target target = {.language = "go", .root = (char *)"/p", .file = (char *)"t.go", .function = (char *)"f", .name = (char *)"f"};
	struct finding found[3] = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_true(verdict_read(&target, ENGINE_CRASH, reports[i], strlen(reports[i]), &found[i]));
	assert_string_equal(found[0].id, found[1].id);
	assert_string_not_equal(found[0].id, found[2].id);
	for (size_t i = 0; i < 3; i++)
		finding_done(&found[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_found_and_methods_are_not),
		TEST(the_package_is_the_first_clause),
		TEST(parameters_have_names_and_types),
		TEST(plain_parameters_are_made_by_a_direct_call),
		TEST(for_documents_the_names_of_parameters_are_told),
		TEST(what_cannot_be_called_is_refused_with_its_parameter),
		TEST(paths_that_would_end_a_quote_are_refused),
		TEST(statistics_of_go_test_are_read),
		TEST(hostile_statistics_of_go_test_do_no_harm),
		TEST(panics_and_fatal_errors_become_findings),
		TEST(kinds_of_checked_errors_are_told_apart_and_their_numbers_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
