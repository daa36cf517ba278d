#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "fuzz/function/core/run.h"

#define TEST(name) cmocka_unit_test(name)

/* ---- statistics ---- */

static void feed(struct stats_reader *reader, const char *text)
{
	stats_feed(reader, text, strlen(text));
}

static void statistics_of_atheris_are_read(void **state)
{
	struct stats_reader reader = {0};

	(void)state;
	feed(&reader, "INFO: Instrumenting wf\n#2\tINITED cov: 5 ft: 5 corp: 1/1b exec/s: 0 rss: 48Mb\n");
	assert_true(reader.now.begun);
	feed(&reader, "#1124\tNEW    cov: 6 ft: 8 corp: 2/2b lim: 14 exec/s: 0 rss: 48Mb L: 1/1 MS: 2 CrossOver-ChangeByte-\n");
	feed(&reader, "#131072\tpulse  cov: 6 ft: 17 corp: 7/16Kb lim: 1290 exec/s: 65536 rss: 48Mb\n");
	assert_int_equal(reader.now.execs, 131072);
	assert_int_equal(reader.now.features, 17);
	assert_int_equal(reader.now.corpus, 7);
	assert_int_equal(reader.now.corpus_bytes, 16384);
	assert_int_equal(reader.now.rate, 65536);
	assert_int_equal(reader.now.memory_mb, 48);
	assert_int_equal(reader.now.news, 1);
	assert_false(reader.now.done);
	feed(&reader, "#404838\tDONE   cov: 6 ft: 18 corp: 8/20b lim: 3964 exec/s: 36803 rss: 48Mb\n");
	assert_true(reader.now.done);
}

static void statistics_are_read_behind_words_that_end_no_line(void **state)
{
	struct stats_reader reader = {0};

	(void)state;
	feed(&reader, "bad input: bad input: #2\tINITED cov: 5 ft: 5 corp: 1/1b exec/s: 0 rss: 48Mb\n");
	assert_true(reader.now.begun);
	assert_int_equal(reader.now.coverage, 5);
	for (int i = 0; i < 100000; i++)
		feed(&reader, "bad # input: ");
	feed(&reader, "#4\tNEW    cov: 6 ft: 8 corp: 2/2b lim: 4 exec/s: 0 rss: 48Mb L: 1/1 MS: 1 ChangeByte-\n");
	assert_int_equal(reader.now.execs, 4);
	assert_int_equal(reader.now.features, 8);
	feed(&reader, "no #99 NEW, issue #12\tnew, ##, #7\tREDUCED, #\n");
	assert_int_equal(reader.now.execs, 4);
	assert_int_equal(reader.now.news, 1);
	feed(&reader, "#9\tNEW cov: 1 ft: 1 bad #6\tREDUCE cov: 7 ft: 9 corp: 2/2b\n");
	assert_int_equal(reader.now.execs, 6); /* the last of a line is the engine's */
	assert_int_equal(reader.now.coverage, 7);
	feed(&reader, "bad input: stat::number_of_executed_units: 1234\n");
	assert_int_equal(reader.now.execs, 1234);
	feed(&reader, "bad: Test unit written to artifact_prefix='/a/'; Test unit written to /a/crash-12\n");
	assert_string_equal(reader.now.artifact, "crash-12");
}

static void the_end_of_a_clang_run_is_read(void **state)
{
	struct stats_reader reader = {0};

	(void)state;
	feed(&reader, "==32241==ABORTING\nMS: 3 EraseBytes-; base unit: 5767e2\n0x61,0x62,0x83,\n"
		      "artifact_prefix='./'; Test unit written to ./crash-178328722bc5b14ac2e6ffeb6190814b14244bb8\n"
		      "stat::number_of_executed_units: 13315\n");
	assert_string_equal(reader.now.artifact, "crash-178328722bc5b14ac2e6ffeb6190814b14244bb8");
	assert_int_equal(reader.now.execs, 13315);
}

static void statistics_that_a_target_makes_up_do_no_harm(void **state)
{
	static const char *const lines[] = {"#99999999999999999999999999 NEW cov: 99999999999999999999999 corp: 1/99999999999999999999Gb",
		"Test unit written to /fuzz/crashes/../../etc/passwd\n", "Test unit written to /fuzz/crashes/..\n",
		"Test unit written to /fuzz/crashes/a b\n", "Test unit written to \n", "#\n", "# NEW\n", "#1 EVIL cov: 3\n", "#1 NEW cov:\n", NULL};

	(void)state;
	for (size_t i = 0; lines[i]; i++) {
		struct stats_reader reader = {0};
		feed(&reader, lines[i]);
		feed(&reader, "\n");
		assert_true(strcmp(reader.now.artifact, "") == 0 || strcmp(reader.now.artifact, "passwd") == 0);
		assert_true(i == 0 || reader.now.coverage == 0);
	}
	struct stats_reader reader = {0};
	for (int i = 0; i < 5000; i++)
		feed(&reader, "x");
	feed(&reader, "\n#7 pulse cov: 1\n");
	assert_int_equal(reader.now.execs, 7);
}

static void ends_of_engines_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(engine_end(0), ENGINE_DONE);
	assert_int_equal(engine_end(77), ENGINE_CRASH);
	assert_int_equal(engine_end(1), ENGINE_CRASH);
	assert_int_equal(engine_end(70), ENGINE_HANG);
	assert_int_equal(engine_end(71), ENGINE_MEMORY);
	assert_int_equal(engine_end(3), ENGINE_OTHER);
}

/* ---- names ---- */

static void put_name(void *data, const char *name, size_t len, bool harness)
{
	buf_fmt(data, "%s%.*s ", harness ? "!" : "", (int)len, name);
}

static void names_are(const struct language *language, const char *text, const char *expected)
{
	own(buf_done) struct buf names = {0};

	language->names(text, strlen(text), put_name, &names);
	assert_string_equal(buf_text(&names), expected);
}

static void functions_of_python_are_found(void **state)
{
	(void)state;
	names_are(&language_python, "import x\ndef one(a):\n  def inner(): pass\nasync def two(): pass\nclass C:\n    @staticmethod\n    def three(x):\n        pass\n    def four(self): pass\ndefault = 3\n",
		"one two C.three ");
	names_are(&language_python, "import atheris\ndef TestOneInput(data):\n pass\n", "!TestOneInput ");
	names_are(&language_python, "def TestOneInput(data):\n pass", "TestOneInput ");
	names_are(&language_python, "", "");
	names_are(&language_python, "def ", "");
}

static void functions_of_c_are_found(void **state)
{
	(void)state;
	names_are(&language_c, "int declared(int);\nstatic int one(const char *s)\n{ if (s) { call(s); } return 0; }\n"
			       "/* int no(void) { */ // int neither(int) {\n#define M(x) int m(int) { \\\n }\nchar *t = \"int not(int) {\";\n"
			       "void two(int (*f)(int), int n) { for (;;) {} }\nstruct s { int a; };\nint main(void) { return 0; }\n",
		"one two ");
	names_are(&language_cxx, "extern \"C\" {\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return 0; }\n}\nint after(int x) { return x; }",
		"!LLVMFuzzerTestOneInput after ");
	names_are(&language_cxx, "extern \"C\" int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return 0; }", "!LLVMFuzzerTestOneInput ");
	names_are(&language_c, "}}}} int a(int x) { return x; }", "a ");
	names_are(&language_c, "int a(int x", "");
}

static void functions_of_cxx_have_the_names_of_their_namespaces(void **state)
{
	(void)state;
	names_are(&language_cxx, "namespace a { namespace b { int f(int x) { return x; } }\nint g(int x) { { } return x; } }\nint h(int x) { return x; }",
		"a::b::f a::g h ");
	names_are(&language_cxx, "namespace a::b { int f(int x) { } }\ninline namespace v1 { int g(int x) { } }\nnamespace a::inline v2 { int h(int x) { } }",
		"a::b::f v1::g a::v2::h ");
	names_are(&language_cxx, "namespace { int f(int x) { } }\nnamespace a { namespace { extern \"C\" { int g(int x) { } } } }\nusing namespace std;\n"
				 "namespace c = a::b;\nint h(int x) { }",
		"f a::g h ");
	names_are(&language_cxx, "int a::f(int x) { }\nstd::string a :: g(int x) { }\nlist<int>::size_type h(int x) { }\nint list<int>::no(int x) { }", "a::f a::g h ");
	names_are(&language_cxx, "namespace md5 { std::string md5(const char *s) { } int main(int x) { } }", "md5::md5 ");
	names_are(&language_cxx, "namespace a {\nextern \"C\" int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return 0; } }", "!LLVMFuzzerTestOneInput ");
	names_are(&language_cxx, "namespace a { int f(int x", "");
	names_are(&language_c, "struct s { int a; } v = { 1 };\nstruct s *f(int x) { }\nenum e g(int x /* ; { */) // why\n{ }\nstruct t h(int x) { struct u { int b; } c; }",
		"f g h ");
}

static void functions_of_types_are_found_where_their_names_call_them(void **state)
{
	(void)state;
	names_are(&language_cxx, "namespace a { struct T { static int f(int x) { } int no(int x) { } private: static int nor(int x) { } }; }", "a::T::f ");
	names_are(&language_cxx, "class T : public B<int>, C { static int no(int x) { } public: T(int x) : a(x), b{x} { } ~T() { }\n"
				 "static auto f(int x) noexcept -> std::vector<int> { } bool operator==(int x) { } operator bool() { } protected: static int no(int) { } };",
		"T::f ");
	names_are(&language_cxx, "class T { struct P { static int no(int x) { } }; };\ntemplate <class X> struct G { static int no(X x) { } };\n"
				 "enum class E { a };\nint T::no(int x) const noexcept { }\nT::T(int x) : a(x) { }\nT::~T() { }\nint f(int x) { }",
		"f ");
}

static void a_text_that_opens_without_end_is_read_once(void **state)
{
	static const char *const parts[] = {"(", "f(", "f() noexcept() ", "f()->x ", "namespace a {", "class a {", "{", "a::", "f()/**/", NULL};

	(void)state;
	for (size_t i = 0; parts[i]; i++) {
		own(buf_done) struct buf text = {0}, names = {0};
		while (text.len < 1u << 20)
			buf_str(&text, parts[i]);
		language_cxx.names(buf_text(&text), text.len, put_name, &names);
		assert_string_equal(buf_text(&names), "");
	}
}

static void languages_are_known_by_suffix(void **state)
{
	(void)state;
	assert_ptr_equal(language_of_file("a/b.py"), &language_python);
	assert_ptr_equal(language_of_file("b.cpp"), &language_cxx);
	assert_null(language_of_file("a/.py"));
	assert_null(language_of_file("py"));
	assert_true(path_is_harness("a/fuzz_x.c") && path_is_harness("x_fuzzer.cc") && path_is_harness("x_fuzz.py"));
	assert_false(path_is_harness("fuzz/x.c") || path_is_harness("fuzzy.py"));
}

/* ---- harnesses in C ---- */

static char *harness_of(const char *text, const char *function, const char *language, struct err *err)
{
	struct function_target target = {.language = language, .root = (char *)"/x", .file = (char *)"t.c", .function = (char *)function,
		.name = (char *)"t.c:f"};
	const struct function_options options = {0};
	own(function_plan_done) struct function_plan plan = {0};

	if (language_find(language)->plan(&target, &options, text, strlen(text), &plan, err) < 0)
		return NULL;
	return xstrdup(plan.files[0].text);
}

static void arguments_are_made_by_the_declaration(void **state)
{
	static const struct {
		const char *text, *call;
	} cases[] = {
		{"int f(const uint8_t *data, size_t size) { }", "hotcell_call((uint8_t *)hotcell_p0, (size_t)hotcell_n0)"},
		{"int f(const char *text) { }", "hotcell_call((char *)hotcell_p0)"},
		{"int f(const char *text, int len) { }", "hotcell_call((char *)hotcell_p0, (int)hotcell_n0)"},
		{"int f(const char *text, int flags) { }", "hotcell_call((char *)hotcell_p0, hotcell_p1)"},
		{"int f(const void *buf, unsigned int n, double d) { }", "hotcell_call((void *)hotcell_p0, (unsigned int)hotcell_n0, hotcell_p2)"},
		{"int f(unsigned long long a, bool b) { }", "hotcell_call(hotcell_p0, hotcell_p1)"},
		{"int f(const char *a, const char *b) { }", "hotcell_call((char *)hotcell_p0, (char *)hotcell_p1)"},
		{"int f(int len, const uint8_t *bytes) { }", "hotcell_call((int)hotcell_n0, (uint8_t *)hotcell_p0)"},
		{"int f(int n, const char *text) { }", "hotcell_call(hotcell_p0, (char *)hotcell_p1)"},
		{"int f(char text[]) { }", "hotcell_call((char *)hotcell_p0)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(freep) char *harness = harness_of(cases[i].text, "f", "c", &err);
		assert_non_null(harness);
		if (!strstr(harness, cases[i].call))
			print_message("%s:\n%s\n", cases[i].text, harness);
		assert_non_null(strstr(harness, cases[i].call));
	}
	struct err err = {0};
	own(freep) char *harness = harness_of("int f(const std::string &s, int n) { }", "f", "c++", &err);
	assert_non_null(harness);
	assert_non_null(strstr(harness, "\tf(hotcell_p0, hotcell_p1), hotcell_result();"));
	own(freep) char *within = harness_of("int f(char *s) { }\nnamespace a { int f(int n) { } }", "a::f", "c++", &err);
	assert_non_null(within);
	assert_non_null(strstr(within, "\ta::f(hotcell_p0), hotcell_result();"));
}

static void what_cannot_be_made_is_named(void **state)
{
	static const char *const texts[] = {"int f(struct x *it) { }", "int f(int (*g)(int)) { }", "int f(char **list) { }", "int f(void) { }",
		"int f(const uint8_t *data) { }", "int f(const char *format, ...) { }", "int f(std::vector<int> v) { }"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct err err = {0};
		own(freep) char *harness = harness_of(texts[i], "f", "c", &err);
		if (harness)
			print_message("%s:\n%s\n", texts[i], harness);
		assert_null(harness);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

/* ---- verdicts ---- */

static const struct function_target target = {.language = "python", .root = (char *)"/home/me/p", .file = (char *)"t.py",
	.function = (char *)"parse", .name = (char *)"t.py:parse"};

static void read_verdict(enum engine_end end, const char *report, struct finding *ret)
{
	assert_true(verdict_read(&target, end, report, strlen(report), ret));
}

static void a_traceback_becomes_a_finding(void **state)
{
	struct finding finding = {0}, other = {0};

	(void)state;
	read_verdict(ENGINE_CRASH, "\nTraceback (most recent call last):\n  File \"/target/t.py\", line 6, in parse\n    raise KeyError(1)\nKeyError: 1\n",
		&finding);
	assert_string_equal(finding.oracle, "exception");
	assert_string_equal(finding.message, "KeyError: 1");
	assert_string_equal(finding.file, "/home/me/p/t.py");
	assert_int_equal(finding.line, 6);
	assert_string_equal(finding.kind, "function-python");
	assert_int_equal(finding.frames.count, 2);
	assert_string_equal(finding.frames.items[0], "KeyError");
	read_verdict(ENGINE_CRASH, "\nTraceback (most recent call last):\n  File \"/target/t.py\", line 7, in parse\n    x\nValueError: 1\n", &other);
	assert_string_not_equal(finding.id, other.id);
	finding_done(&finding);
	finding_done(&other);
}

static void a_report_of_a_sanitizer_becomes_a_finding(void **state)
{
	struct finding finding = {0};

	(void)state;
	read_verdict(ENGINE_CRASH,
		"INFO: Seed: 1\n==2==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000054 at pc 0x5\nREAD of size 1 at 0x6\n"
		"    #0 0x555879acaeba in check /target/wf.c:7:21\n    #1 0x555879acaeba in LLVMFuzzerTestOneInput /fuzz/harness_of_hotcell.c:45:8\n"
		"    #2 0x5558799f32f3 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*, unsigned long) (/fuzz/harness+0x422f3)\n"
		"SUMMARY: AddressSanitizer: x\nShadow bytes around\n",
		&finding);
	assert_string_equal(finding.oracle, "crash");
	assert_string_equal(finding.message, "AddressSanitizer: heap-buffer-overflow");
	assert_int_equal(finding.frames.count, 2);
	assert_string_equal(finding.frames.items[1], "check (wf.c)");
	assert_int_equal(finding.line, 7);
	assert_string_equal(finding.evidence.items[finding.evidence.count - 1], "SUMMARY: AddressSanitizer: x");
	finding_done(&finding);
}

static void hangs_memory_and_silence_have_verdicts(void **state)
{
	static const struct {
		enum engine_end end;
		const char *report, *oracle;
	} cases[] = {
		{ENGINE_HANG, "==1== ERROR: libFuzzer: timeout after 10 seconds\n", "hang"},
		{ENGINE_HANG, "", "hang"},
		{ENGINE_MEMORY, "==1== ERROR: libFuzzer: out-of-memory (used: 2049Mb; limit: 2048Mb)\n", "memory"},
		{ENGINE_OTHER, "", "crash"},
		{ENGINE_CRASH, "t.c:3:5: runtime error: signed integer overflow: 1 + 2\n", "crash"},
		{ENGINE_CRASH, " === Uncaught Python exception: ===\nValueError: a\nTraceback (most recent call last):\n  File \"/target/t.py\", line 2, in f\nValueError: a\n", "exception"},
	};
	struct finding none = {0};

	(void)state;
	assert_false(verdict_read(&target, ENGINE_DONE, "x", 1, &none));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct finding finding = {0};
		read_verdict(cases[i].end, cases[i].report, &finding);
		assert_string_equal(finding.oracle, cases[i].oracle);
		assert_true(finding.evidence.count > 0 && *finding.message);
		finding_done(&finding);
	}
}

/* ---- targets ---- */

struct world {
	char folder[64];
};

static int world_make(void **state)
{
	static struct world world;
	char path[128];

	(void)snprintf(world.folder, sizeof(world.folder), "/tmp/function-test.XXXXXX");
	if (!mkdtemp(world.folder))
		return -1;
	static const struct {
		const char *name, *text;
	} files[] = {{"t.py", "def parse(x): pass\n"}, {"fuzz_a.c", "int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }"}, {"plain.c", "int x;"},
		{"t.rs", ""}, {"short.py", "def cb(x): pass\n"}, {"ns.cpp", "namespace app {\nint parse(const char *s) { return 0; }\nstruct T { static int read(int x) { return x; } int run(int x) { return x; } };\n"
			   "inline namespace v1 { int read(int x) { return x; } } }\nint text(int x) { return x; }\nnamespace b { int text(int x) { return x; } }\n"},
		{"vendor/fuzz_b.c", "int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }"},
		{"sub/node_modules/fuzz_c.c", "int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }"},
		{"sub/vendor/x/fuzz_d.c", "int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }"},
		{"sub/myvendor/fuzz_e.c", "int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }"}};
	static const char *const folders[] = {"vendor", "sub", "sub/node_modules", "sub/vendor", "sub/vendor/x", "sub/myvendor"};
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", world.folder, folders[i]);
		if (mkdir(path, 0755) < 0)
			return -1;
	}
	(void)snprintf(path, sizeof(path), "%s/pipe.py", world.folder);
	if (mkfifo(path, 0644) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", world.folder, files[i].name);
		FILE *file = fopen(path, "w");
		if (!file || fputs(files[i].text, file) < 0 || fclose(file) != 0)
			return -1;
	}
	*state = &world;
	return 0;
}

static int world_remove(void **state)
{
	struct err err;

	return fs_remove_tree(-100, ((struct world *)*state)->folder, &err);
}

static void read_target(const struct world *world, const char *word, struct function_targets *ret, struct err *err, bool good)
{
	own(freep) char *text = xfmt("%s/%s", world->folder, word);

	assert_int_equal(function_targets_read(text, ret, err), good ? 0 : -1);
}

static void targets_are_read_as_they_are_named(void **state)
{
	const struct world *world = *state;
	own(function_targets_done) struct function_targets targets = {0};
	struct err err = {0};

	read_target(world, "t.py:parse", &targets, &err, true);
	read_target(world, "fuzz_a.c", &targets, &err, true);
	read_target(world, ".", &targets, &err, true);
	assert_int_equal(targets.count, 4);
	assert_string_equal(targets.list[3].name, "fuzz_e.c"); /* those of others are none of ours */
	assert_string_equal(targets.list[0].name, "t.py:parse");
	assert_string_equal(targets.list[0].file, "t.py");
	assert_false(targets.list[0].harness);
	assert_string_equal(targets.list[1].function, "LLVMFuzzerTestOneInput");
	assert_true(targets.list[2].harness);
}

static void the_file_of_a_word_ends_where_a_function_begins(void **state)
{
	static const struct {
		const char *word;
		size_t file;
	} cases[] = {{"t.py:f", 4}, {"a/t.cc:app::v1::f", 6}, {"t.rs:inner::f", 4}, {"x.rs:/t.c:f", 9}, {"crate::f", 6}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_non_null(function_word_colon(cases[i].word));
		assert_int_equal(function_word_colon(cases[i].word) - cases[i].word, cases[i].file);
	}
	assert_null(function_word_colon("fuzz_t.py"));
	assert_null(function_word_colon("x.rs:/../t.py"));
}

static void a_function_of_cxx_is_named_whole_or_by_what_tells_it_apart(void **state)
{
	static const struct {
		const char *word, *function;
	} cases[] = {{"ns.cpp:app::parse", "app::parse"}, {"ns.cpp:parse", "app::parse"}, {"ns.cpp:T::read", "app::T::read"}, {"ns.cpp:v1::read", "app::v1::read"},
		{"ns.cpp:text", "text"}, {"ns.cpp:b::text", "b::text"}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(function_targets_done) struct function_targets targets = {0};
		struct err err = {0};
		read_target(*state, cases[i].word, &targets, &err, true);
		assert_string_equal(targets.list[0].function, cases[i].function);
		own(freep) char *name = xfmt("ns.cpp:%s", cases[i].function);
		assert_string_equal(targets.list[0].name, name);
	}
}

static void wrong_targets_are_told_apart(void **state)
{
	static const struct {
		const char *word, *says;
	} cases[] = {{"nope.py:f", "No such file"}, {"t.py:prase", "did you mean 'parse'"}, {"t.py:other", "it has parse"}, {"t.py", "holds no harness"},
		{"t.rs:f", "has no function 'f'"}, {"crate::f", "no folder of a Rust package"}, {"plain.c:f", "has no function"},
		{"short.py:en", "it has cb"}, {"short.py:Cb", "did you mean 'cb'"}, {"ns.cpp:app::read", "'app::read' may be app::T::read, app::v1::read: name one"},
		{"ns.cpp:app::prase", "did you mean 'app::parse'"}, {"ns.cpp:T::run", "'T::run' needs an object"}, {"pipe.py:f", "pipe.py' is a FIFO, and no file"}, {"", ""}};

	for (size_t i = 0; *cases[i].word; i++) {
		own(function_targets_done) struct function_targets targets = {0};
		struct err err = {0};
		read_target(*state, cases[i].word, &targets, &err, false);
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.text, cases[i].says))
			print_message("%s: %s\n", cases[i].word, err.text);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

/* ---- parts of the host's caches ---- */

static void inode_is(const struct cell_mount *mount, const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(mount->inode == st.st_ino && mount->device == st.st_dev);
}

static void what_is_shown_of_caches_is_what_was_looked_at(void **state)
{
	const struct world *world = *state;
	own(freep) char *source = xfmt("%s/sub", world->folder), *link = xfmt("%s/link", world->folder), *top = xfmt("%s/parts", world->folder);
	own(freep) char *was = xfmt("%s/was", world->folder);
	own(parts_done) struct parts parts = {.top = FUNCTION_LIBRARIES};
	own(parts_shown_done) struct parts_shown shown = {0};
	struct err err;
	own(fd_closep) int dir = beneath_root(world->folder, &err);

	assert_int_equal(symlink(source, link), 0);
	parts_add_folder(&parts, "a@1", source);
	parts_add_folder(&parts, "b@1", link);
	assert_int_equal(parts.count, 1);
	assert_int_equal(rename(source, was), 0);
	assert_int_equal(mkdir(source, 0755), 0); /* another one, before it is shown */
	assert_int_equal(parts_show(&parts, world->folder, dir, &shown, &err), 0);
	assert_int_equal(shown.count, 2);
	assert_string_equal(shown.mounts[0].source, top);
	inode_is(&shown.mounts[0], top);
	assert_string_equal(shown.mounts[1].source, source);
	assert_string_equal(shown.mounts[1].target, FUNCTION_LIBRARIES "/a@1");
	inode_is(&shown.mounts[1], was);
}

static void what_a_build_s_cache_begins_with_lies_beneath_the_state(void **state)
{
	const struct world *world = *state;
	own(freep) char *cache = xfmt("%s/cache", world->folder), *go = xfmt("%s/go", cache), *was = xfmt("%s/was", world->folder);
	own(parts_done) struct parts none = {0}, parts = {0}, behind = {0};
	own(parts_shown_done) struct parts_shown shown = {0};
	struct err err;
	own(fd_closep) int dir = beneath_root(world->folder, &err);

	parts_seed(world->folder, "go", &none);
	assert_null(none.seed);
	assert_true(mkdir(cache, 0755) == 0 && mkdir(go, 0755) == 0);
	parts_seed(world->folder, "go", &parts);
	assert_string_equal(parts.seed, go);
	assert_true(rename(cache, was) == 0 && symlink(was, cache) == 0);
	parts_seed(world->folder, "go", &behind);
	assert_null(behind.seed);
	assert_int_equal(parts_show(&parts, world->folder, dir, &shown, &err), 0);
	assert_int_equal(shown.count, 1);
	assert_string_equal(shown.mounts[0].target, FUNCTION_CACHE_SEED);
	inode_is(&shown.mounts[0], go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(statistics_of_atheris_are_read),
		TEST(statistics_are_read_behind_words_that_end_no_line),
		TEST(the_end_of_a_clang_run_is_read),
		TEST(statistics_that_a_target_makes_up_do_no_harm),
		TEST(ends_of_engines_are_told_apart),
		TEST(functions_of_python_are_found),
		TEST(functions_of_c_are_found),
		TEST(functions_of_cxx_have_the_names_of_their_namespaces),
		TEST(functions_of_types_are_found_where_their_names_call_them),
		TEST(a_text_that_opens_without_end_is_read_once),
		TEST(languages_are_known_by_suffix),
		TEST(arguments_are_made_by_the_declaration),
		TEST(what_cannot_be_made_is_named),
		TEST(a_traceback_becomes_a_finding),
		TEST(a_report_of_a_sanitizer_becomes_a_finding),
		TEST(hangs_memory_and_silence_have_verdicts),
		cmocka_unit_test_setup_teardown(targets_are_read_as_they_are_named, world_make, world_remove),
		TEST(the_file_of_a_word_ends_where_a_function_begins),
		cmocka_unit_test_setup_teardown(a_function_of_cxx_is_named_whole_or_by_what_tells_it_apart, world_make, world_remove),
		cmocka_unit_test_setup_teardown(wrong_targets_are_told_apart, world_make, world_remove),
		cmocka_unit_test_setup_teardown(what_is_shown_of_caches_is_what_was_looked_at, world_make, world_remove),
		cmocka_unit_test_setup_teardown(what_a_build_s_cache_begins_with_lies_beneath_the_state, world_make, world_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
