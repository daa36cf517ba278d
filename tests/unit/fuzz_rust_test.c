#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "fuzz/function/core/run.h"
#include "fuzz/function/lang/rust/rust_host.h"
#include "fuzz/function/lang/rust/rust_text.h"

static int folders_make(const char *path, struct err *err)
{
	own(fd_closep) int fd = beneath_root_make(path, 0755, NULL, err);

	return fd < 0 ? -1 : 0;
}

#define TEST(name) cmocka_unit_test(name)

/* ---- names ---- */

static void put_name(void *data, const char *name, size_t len, bool harness)
{
	buf_fmt(data, "%s%.*s ", harness ? "!" : "", (int)len, name);
}

static void names_are(const char *text, const char *expected)
{
	own(buf_done) struct buf names = {0};

	language_rust.names(text, strlen(text), put_name, &names);
	assert_string_equal(buf_text(&names), expected);
}

static void functions_are_found_where_they_can_be_called(void **state)
{
	(void)state;
	names_are("pub fn one(a: u8) { fn inner() {} }\npub(crate) unsafe extern \"C\" fn two() -> [u8; 4] { [0; 4] }\n", "one two ");
	names_are("mod a { mod b { fn deep() {} } pub fn near() {} }\nmod c;\nfn top() {}", "a::b::deep a::near top ");
	names_are("struct S;\nimpl S { fn new() {} }\nimpl std::fmt::Display for S { fn fmt() {} }\nimpl<'a> L<'a> { fn lives() {} }", "S::new S::fmt L::lives ");
	names_are("impl<T> G<T> { fn no() {} }\ntrait T { fn no(); fn nor() {} }\nextern \"C\" { fn no(); }\nmacro_rules! m { () => { fn no() {} } }", "");
	names_are("#[cfg(test)]\nmod tests { fn no() {} }\n#[test]\nfn nor() {}\nfn yes() {}\nfn main() {}", "yes ");
	names_are("// fn a() {}\n/* fn b() { /* } */ fn c() {} */ const T: &str = \"fn d() {\"; const R: &str = r#\"fn \"e() {\"#; fn f<'a>(x: &'a str) {} "
		  "const C: char = '{'; const Q: u8 = b'\\''; fn g() {}",
		"f g ");
	names_are("use libfuzzer_sys::fuzz_target;\nfuzz_target!(|data: &[u8]| { x(data) });\nfn helper(x: u8) {}", "helper !fuzz_target ");
	names_are("macro_rules! other { () => { fuzz_target!(x) } }", "");
	names_are("fn cut(", "");
	names_are("}}}} fn a() {}", "a ");
	names_are("", "");
}

/* ---- arguments ---- */

static char *harness_of(const char *text, const char *name, struct err *err)
{
	struct rust_function function;

	assert_true(rust_find(text, strlen(text), name, &function));
	return rust_harness(text, strlen(text), &function, "t.rs:f", false, err);
}

static void arguments_are_made_by_the_declaration(void **state)
{
	static const struct {
		const char *params, *made, *call;
	} cases[] = {
		{"data: &[u8]", "let mut p0 = u.bytes(true); ", "f(p0)"},
		{"text: &str", "let mut p0 = u.text(true); ", "f(&p0[..])"},
		{"text: & 'a str,", "u.text(true)", "f(&p0[..])"},
		{"a: String, b: Vec<u8>", "let mut p0 = u.text(false); let mut p1 = u.bytes(true).to_vec(); ", "f(p0, p1)"},
		{"a: &[u8], n: u32", "let mut p1 = match u.make()", "f(p0, p1)"},
		{"mut a: i128, b: f64, c: bool, d: char", "let mut p3 = match", "f(p0, p1, p2, p3)"},
		{"a: Option<&str>, b: Vec<(u8, String)>, c: [u16; 4]", "let mut p2 = match", "f(p0, p1, p2)"},
		{"a: &std::collections::BTreeMap<String, Vec<u8>>", "match u.make()", "f(&p0)"},
		{"a: &mut [u8], b: &[u32]", "let mut p1: self::std::vec::Vec<_> = match", "f(&mut p0[..], &p1[..])"},
		{"a: &mut Vec<u8>", "u.bytes(true).to_vec()", "f(&mut p0)"},
		{"r: impl std::io::Read", "u.bytes(true)", "f(p0)"},
		{"p: &P, q: Option<Box<P>>", "match u.make()", "f(&p0, p1)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(freep) char *text =
			xfmt("#[derive(Debug, Arbitrary)]\nstruct P { x: u8 }\nfn f<'a>(%s) -> Result<(), ()> { Ok(()) } // end\nfn g() {}\n", cases[i].params);
		own(freep) char *made = harness_of(text, "f", &err);
		if (!made)
			print_message("%s: %s\n", cases[i].params, err.text);
		assert_non_null(made);
		if (!strstr(made, cases[i].made) || !strstr(made, cases[i].call))
			print_message("%s:\n%s\n", cases[i].params, made);
		assert_non_null(strstr(made, cases[i].made));
		assert_non_null(strstr(made, cases[i].call));
		assert_non_null(strstr(made, "Ok(()) } #[doc(hidden)]"));
		assert_non_null(strstr(made, " // end\nfn g() {}\n"));
	}
}

static void the_call_stands_in_the_function_s_own_module(void **state)
{
	struct err err = {0};

	(void)state;
	own(freep) char *made = harness_of("mod a { struct T; impl T { fn f(x: u8) {} fn g() {} } }\nfn f(x: u8) {}", "a::T::f", &err);
	assert_non_null(strstr(made, "fn g() {} } #[doc(hidden)]"));
	assert_non_null(strstr(made, "super::T::f(p0)"));
	assert_non_null(strstr(made, " }\nfn f(x: u8) {}"));
}

static void what_cannot_be_made_is_named_with_its_type(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"fn f(a: u8, it: &Thing) {}", "its parameter 2, 'it: &Thing'"},
		{"fn f(it: Vec<Option<Thing>>) {}", "'it: Vec<Option<Thing>>'"},
		{"fn f(it: fn(u8) -> u8) {}", "parameter 1, 'it: fn(u8)->u8'"},
		{"fn f(it: Box<dyn Read>) {}", "'it: Box<dyn Read>'"},
		{"fn f(it: &'static str) {}", "'it: &str'"},
		{"fn f(it: *const u8) {}", "'it: *const u8'"},
		{"fn f(&self, x: u8) {}", "called on a value"},
		{"fn f(self: Box<Self>) {}", "called on a value"},
		{"fn f() {}", "takes nothing"},
		{"fn f<T>(x: T) {}", "type parameters"},
		{"async fn f(x: u8) {}", "is async"},
		{"fn f(a:u8,b:u8,c:u8,d:u8,e:u8,g:u8,h:u8,i:u8,j:u8,k:u8,l:u8,m:u8,n:u8,o:u8,p:u8,q:u8,r:u8) {}", "more parameters"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(freep) char *made = harness_of(cases[i].text, "f", &err);
		if (made || !strstr(err.text, cases[i].said))
			print_message("%s: %s\n", cases[i].text, made ? made : err.text);
		assert_null(made);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, cases[i].said));
	}
}

static char *serve_of(const char *text, struct err *err)
{
	struct rust_function function;

	assert_true(rust_find(text, strlen(text), "f", &function));
	return rust_harness(text, strlen(text), &function, "t.rs:f", true, err);
}

static void arguments_are_made_from_a_document_by_their_names(void **state)
{
	static const char *const parts[] = {"Given::new(&d, data, &[(\"a\", false), (\"b\", true), (\"c\", false), (\"d\", false)]); ",
		"let mut p0 = u.bytes(0); ", "let mut p1 = match u.make(1) {", "let mut p2 = u.text(2); ", "let mut p3: self::std::vec::Vec<_> = match u.make(3) {",
		"f(p0, p1, &p2[..], &p3[..])", NULL};
	struct err err = {0};

	(void)state;
	own(freep) char *made = serve_of("#[derive(Arbitrary)]\nstruct P { x: u8 }\nfn f(a: &[u8], b: Option<P>, c: &str, d: &[HashMap<u8, (char, P)>]) {}", &err);
	assert_non_null(made);
	for (size_t i = 0; parts[i]; i++) {
		if (!strstr(made, parts[i]))
			print_message("%s:\n%s\n", parts[i], made);
		assert_non_null(strstr(made, parts[i]));
	}
}

static void what_no_document_becomes_is_named_with_its_type(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"fn f(a: u8, d: Vec<std::time::Duration>) {}", "parameter 2, 'd: Vec<std::time::Duration>', cannot be made from a document"},
		{"fn f(r: Result<u8, u8>) {}", "'r: Result<u8,u8>', cannot be made from a document"},
		{"struct P; impl<'a> Arbitrary<'a> for P {}\nfn f(p: P) {}", "'p: P', cannot be made from a document"},
		{"fn f() {}", "takes nothing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(freep) char *made = serve_of(cases[i].text, &err);
		if (made || !strstr(err.text, cases[i].said))
			print_message("%s: %s\n", cases[i].text, made ? made : err.text);
		assert_null(made);
		assert_non_null(strstr(err.text, cases[i].said));
	}
}

/* ---- verdicts ---- */

static const struct function_target target = {.language = "rust", .root = (char *)"/home/me/p", .file = (char *)"src/lib.rs",
	.function = (char *)"parse", .name = (char *)"lib.rs:parse"};

static void a_panic_becomes_a_finding(void **state)
{
	static const char report[] = "\nthread 'main' panicked at /target/src/lib.rs:3:9:\nindex out of bounds: the len is 3 but the index is 7\n"
				     "stack backtrace:\n   0: my::parse\n             at /target/src/lib.rs:3:9\n";
	static const char other[] = "\nthread 'main' panicked at /target/src/lib.rs:4:9:\npanic: a word of its own\n"
				    "stack backtrace:\n   0: my::parse\n             at /target/src/lib.rs:4:9\n";
	struct finding finding = {0}, second = {0};

	(void)state;
	assert_true(verdict_read(&target, ENGINE_CRASH, report, strlen(report), &finding));
	assert_string_equal(finding.oracle, "exception");
	assert_string_equal(finding.message, "index out of bounds: the len is 3 but the index is 7");
	assert_string_equal(finding.file, "/home/me/p/src/lib.rs");
	assert_int_equal(finding.line, 3);
	assert_int_equal(finding.frames.count, 2);
	assert_string_equal(finding.frames.items[0], "index out of bounds");
	assert_string_equal(finding.frames.items[1], "my::parse (lib.rs)");
	assert_true(verdict_read(&target, ENGINE_CRASH, other, strlen(other), &second));
	assert_string_equal(second.message, "panic: a word of its own");
	assert_string_not_equal(finding.id, second.id);
	finding_done(&finding);
	finding_done(&second);
}

static void the_end_of_the_stack_is_told_by_the_target_s_frames(void **state)
{
	static const char report[] =
		"==2==ERROR: UndefinedBehaviorSanitizer: stack-overflow on address 0x7ffc7e123ff8 (pc 0x5 bp 0x2 sp 0x7 T2)\n"
		"    #0 0x564101e7fba9 in alloc::vec::Vec$LT$T$GT$::push::h0123456789abcdef /rustc/5/library/alloc/src/vec/mod.rs:9:1\n"
		"    #1 0x564101e7e460 in so::endless::h0123456789abcdef /target/src/lib.rs:4:63\n"
		"    #2 0x564101e7e483 in so::endless::h0123456789abcdef /target/src/lib.rs:4:85\n";
	struct finding finding = {0};

	(void)state;
	assert_true(verdict_read(&target, ENGINE_CRASH, report, strlen(report), &finding));
	assert_string_equal(finding.oracle, "crash");
	assert_string_equal(finding.message, "stack-overflow");
	assert_int_equal(finding.frames.count, 2);
	assert_string_equal(finding.frames.items[1], "so::endless (lib.rs)");
	finding_done(&finding);
}

/* ---- packages ---- */

struct world {
	char folder[64];
};

static int world_make(void **state)
{
	static struct world world;
	static const struct {
		const char *name, *text;
	} files[] = {{"Cargo.toml", "[package]\nname = \"my-crate\"\n"}, {"src/lib.rs", "pub fn f(x: u8) {}\nmod inner { fn g(x: u8) {} }\nmod deep;\n"},
		{"src/deep/mod.rs", "mod most;"}, {"src/deep/most.rs", "struct T;\nimpl T { fn h(x: u8) {} }\n"}, {"src/bin/tool.rs", "fn i(x: u8) {}"},
		{"lone.rs", "fn j(x: u8) {}"}, {"fuzz/Cargo.toml", "[package]\nname = \"my-fuzz\"\n"},
		{"fuzz/fuzz_targets/one.rs", "fuzz_target!(|data: &[u8]| {});"}, {"main/Cargo.toml", "[package]\nname = \"m\"\n"},
		{".git/HEAD", ""}, {"main/src/main.rs", "mod part;\nfn main() {}\n"}, {"main/src/part.rs", "fn k(x: u8) {}"}};
	struct err err;

	(void)snprintf(world.folder, sizeof(world.folder), "/tmp/rust-test.XXXXXX");
	if (!mkdtemp(world.folder))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		own(freep) char *path = xfmt("%s/%s", world.folder, files[i].name), *folder = xstrdup(path);
		*strrchr(folder, '/') = '\0';
		if (folders_make(folder, &err) < 0)
			return -1;
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

static void targets_are_read_by_file_and_by_path(void **state)
{
	static const struct {
		const char *typed, *file, *function, *manifest, *root;
	} cases[] = {
		{"::f", "src/lib.rs", "f", ".", "lib"},
		{"::inner::g", "src/lib.rs", "inner::g", ".", "lib"},
		{"::deep::most::T::h", "src/deep/most.rs", "T::h", ".", "lib"},
		{"/src/deep/most.rs:T::h", "src/deep/most.rs", "T::h", ".", "lib"},
		{"/src/bin/tool.rs:i", "src/bin/tool.rs", "i", ".", "src/bin/tool.rs"},
		{"/lone.rs:j", "lone.rs", "j", "-", "lone.rs"},
		{"/fuzz", "fuzz/fuzz_targets/one.rs", "fuzz_target", "fuzz", "fuzz/fuzz_targets/one.rs"},
		{"/fuzz/fuzz_targets/one.rs", "fuzz/fuzz_targets/one.rs", "fuzz_target", "fuzz", "fuzz/fuzz_targets/one.rs"},
		{"/main::part::k", "main/src/part.rs", "k", "main", "main/src/main.rs"},
	};
	const struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(function_targets_done) struct function_targets targets = {0};
		own(rust_place_done) struct rust_place place = {0};
		own(freep) char *typed = xfmt("%s%s", world->folder, cases[i].typed);
		struct err err = {0};
		if (function_targets_read(typed, &targets, &err) < 0)
			print_message("%s: %s\n", cases[i].typed, err.text);
		assert_int_equal(targets.count, 1);
		assert_string_equal(targets.list[0].root, world->folder);
		assert_string_equal(targets.list[0].file, cases[i].file);
		assert_string_equal(targets.list[0].function, cases[i].function);
		rust_place_find(&targets.list[0], &place);
		assert_string_equal(place.manifest, cases[i].manifest);
		assert_string_equal(place.root, cases[i].root);
	}
}

static void paths_that_lead_nowhere_are_refused(void **state)
{
	static const char *const typed[] = {"/nothing::f", "/src::f", "::nothing", "::deep::nothing::f", "::../../x::f", "::", "/lone.rs:nothing"};
	const struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(typed); i++) {
		own(function_targets_done) struct function_targets targets = {0};
		own(freep) char *text = xfmt("%s%s", world->folder, typed[i]);
		struct err err = {0};
		assert_int_equal(function_targets_read(text, &targets, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static void a_plan_has_all_that_its_build_needs(void **state)
{
	const struct function_options options = {.expect = (const char *const[]){"declared", "also", NULL}};
	struct function_target own_target = {.language = "rust", .root = (char *)"/nonexistent", .file = (char *)"it's.rs", .function = (char *)"f",
		.name = (char *)"it's.rs:f", .alone = true};
	own(function_plan_done) struct function_plan plan = {0};
	own(buf_done) struct buf names = {0};
	struct err err = {0};
	static const char text[] = "fn f(x: u8) {}";

	(void)state;
	assert_int_equal(language_rust.plan(&own_target, &options, text, strlen(text), &plan, &err), 0);
	for (size_t i = 0; i < plan.file_count; i++) {
		buf_fmt(&names, "%s ", plan.files[i].name);
		if (strcmp(plan.files[i].name, "target.sh") == 0)
			assert_string_equal(plan.files[i].text, "file='it'\\''s.rs'\nmanifest='-'\nroot='it'\\''s.rs'\nmade='yes'\nsanitizer='none'\n");
		if (strcmp(plan.files[i].name, "expect") == 0)
			assert_string_equal(plan.files[i].text, "declared\nalso\n");
	}
	assert_string_equal(buf_text(&names), "made.rs target.sh expect rust_build.sh rust_harness.rs rust_arbitrary.rs rust_document.rs rust_derive.rs ");
	assert_true(plan.goes_on && plan.build.count && plan.run.count && plan.replay.count && plan.minimise.count && plan.cover.count);
	assert_int_equal(plan.serve.count, 0);
	const struct function_options documents = {.serve = true};
	own(function_plan_done) struct function_plan served = {0}, bytes = {0};
	assert_int_equal(language_rust.plan(&own_target, &documents, text, strlen(text), &served, &err), 0);
	assert_true(served.serve.count && strcmp(served.build.items[served.build.count - 1], "serve") == 0);
	own_target.harness = true;
	assert_int_equal(language_rust.plan(&own_target, &documents, text, strlen(text), &bytes, &err), 0);
	assert_int_equal(bytes.serve.count, 0); /* it takes bytes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_found_where_they_can_be_called),
		TEST(arguments_are_made_by_the_declaration),
		TEST(the_call_stands_in_the_function_s_own_module),
		TEST(what_cannot_be_made_is_named_with_its_type),
		TEST(arguments_are_made_from_a_document_by_their_names),
		TEST(what_no_document_becomes_is_named_with_its_type),
		TEST(a_panic_becomes_a_finding),
		TEST(the_end_of_the_stack_is_told_by_the_target_s_frames),
		cmocka_unit_test_setup_teardown(targets_are_read_by_file_and_by_path, world_make, world_remove),
		cmocka_unit_test_setup_teardown(paths_that_lead_nowhere_are_refused, world_make, world_remove),
		TEST(a_plan_has_all_that_its_build_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
