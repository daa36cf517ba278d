#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "fuzz/function/core/deepen.h"
#include "fuzz/function/core/run.h"

#define TEST(name) cmocka_unit_test(name)

/* ---- inputs ---- */

/* All that follows from these inputs, three times deep, a line each. */
static void all_of(const char *const *inputs, struct buf *ret)
{
	struct deepen *it = deepen_open();
	struct deep deep;

	for (; *inputs; inputs++)
		deepen_learn(it, *inputs, strlen(*inputs));
	buf_char(ret, '\n');
	while (deepen_next(it, &deep)) {
		deep_write(&deep, 3, ret);
		buf_char(ret, '\n');
		deep_done(&deep);
	}
	(void)deepen_free(it);
}

static void makes(const char *const *inputs, const char *expected)
{
	own(buf_done) struct buf all = {0};
	own(freep) char *line = xfmt("\n%s\n", expected);

	all_of(inputs, &all);
	if (!strstr(buf_text(&all), line))
		fail_msg("'%s' is not among:%s", expected, buf_text(&all));
}

#define FROM(...) ((const char *const[]){__VA_ARGS__, NULL})

static void what_brackets_hold_is_nested(void **state)
{
	(void)state;
	makes(FROM("f(1)"), "f(((1)))");
	makes(FROM("[]"), "[[[]]]");
	makes(FROM("{\"a\":1}"), "{\"a\":{\"a\":{\"a\":1}}}");
	makes(FROM("[1,2]"), "[1,[1,[1,2]]]");
	makes(FROM("[1,2]"), "[[[1,2],2],2]");
	makes(FROM("x={a:[1]}"), "x={a:{a:{a:[1]}}}");
	makes(FROM("<b>x</b>"), "<b><b><b>x</b></b></b>");
	makes(FROM("<p q=1>x</p>."), "<p q=1><p q=1><p q=1>x</p></p></p>.");
}

static void what_opens_may_stay_open(void **state)
{
	(void)state;
	makes(FROM("a[1]"), "a[[[");
	makes(FROM("{\"a\":1}"), "{\"a\":{\"a\":{\"a\":");
}

static void what_two_inputs_do_not_share_is_learned(void **state)
{
	(void)state;
	makes(FROM("a", "BEGIN a END"), "BEGIN BEGIN BEGIN a END END END");
	makes(FROM("a", "BEGIN a END", "x"), "BEGIN BEGIN BEGIN a END END END");
	makes(FROM("BEGIN a END", "a"), "BEGIN BEGIN BEGIN a END END END");
	makes(FROM("1", "1+1"), "1+1+1+1");
	makes(FROM("x", "not x"), "not not not x");
}

static void a_sign_is_repeated(void **state)
{
	(void)state;
	makes(FROM("-7"), "---7");
	makes(FROM("1-!7"), "1-!-!-!7");
	makes(FROM("\x91"), "\x91\x91\x91");
}

static void brackets_are_tried_around_anything(void **state)
{
	(void)state;
	makes(FROM("zz"), "(((zz)))");
	makes(FROM(NULL), "[[[1]]]");
}

static void brackets_that_do_not_match_do_no_harm(void **state)
{
	static const char *const inputs[] = {
		"[(])", "))))", "((((", "[}", "<a></b>", "</a>", "<", "<>", ">", "<a", NULL};
	own(buf_done) struct buf all = {0};

	(void)state;
	all_of(inputs, &all);
	assert_true(all.len > 0);
}

static void a_deep_one_is_never_longer_than_it_may_be(void **state)
{
	char text[] = "abcdefg";
	const struct deep deep = {.bytes = text, .head = 1, .open = 2, .middle = 1, .close = 2, .tail = 1};
	own(buf_done) struct buf out = {0};

	(void)state;
	assert_int_equal(deep_most(&deep, 100), 24);
	deep_write(&deep, 24, &out);
	assert_int_equal(out.len, 99);
	assert_int_equal(deep_most(&deep, 3), 0);
	assert_int_equal(deep_most(&deep, 6), 0);
	assert_int_equal(deep_most(&deep, 7), 1);
}

static void many_inputs_lead_to_a_bounded_number(void **state)
{
	struct deepen *it = deepen_open();
	struct deep deep;
	size_t count = 0;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		own(freep) char *text = xfmt("{\"k%u\":[%u,(x%u)]}", i, i * 7, i);
		deepen_learn(it, text, strlen(text));
	}
	own(freep) char *large = xcalloc(1, 1 << 20);
	deepen_learn(it, large, 1 << 20);
	for (; deepen_next(it, &deep); count++)
		deep_done(&deep);
	assert_in_range(count, 100, 4096);
	(void)deepen_free(it);
}

static void the_same_parts_are_tried_a_few_times_only(void **state)
{
	struct deepen *it = deepen_open();
	struct deep deep;
	size_t count = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		own(freep) char *text = xfmt("a%u(", i);
		own(freep) char *whole = xfmt("%s1)", text);
		deepen_learn(it, whole, strlen(whole));
	}
	while (deepen_next(it, &deep)) {
		count += deep.rank == 0 && deep.open == 1 && deep.bytes[deep.head] == '(' && deep.close == 1;
		deep_done(&deep);
	}
	assert_int_equal(count, 3);
	(void)deepen_free(it);
}

/* ---- words of a source ---- */

static void mined(const char *source, const char *expected)
{
	own(buf_done) struct buf out = {0};

	dict_mine(source, strlen(source), &out);
	assert_string_equal(buf_text(&out), expected);
}

static void words_of_a_source_are_found(void **state)
{
	(void)state;
	mined("if (c == '(' || c == ')') x(\"begin\");", "\"\\x28\"\n\"\\x29\"\n\"begin\"\n");
	mined("a = 'it\\'s'; b = \"\\x00\\n\"", "\"it\\x27s\"\n\"\\x00\\x0a\"\n");
	mined("x('a') y('a') z(\"a\")", "\"a\"\n");
	mined("// don't\nx(\"y\")", "\"y\"\n");
	mined("''\"\"", "");
	mined("\"a text that is far too long to be a word of a grammar\"", "");
	mined("'", "");
	mined("'\\", "");
	mined("\"a\\", "");
}

static void a_source_full_of_words_gives_a_bounded_number(void **state)
{
	own(buf_done) struct buf source = {0}, out = {0};
	size_t lines = 0;

	(void)state;
	for (unsigned i = 0; i < 2000; i++)
		buf_fmt(&source, "'%u',", i);
	dict_mine(buf_text(&source), source.len, &out);
	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	assert_int_equal(lines, 256);
}

/* ---- functions that call each other without end ---- */

static const struct function_target target = {.language = "c",
	.root = (char *)"/src",
	.file = (char *)"p.c",
	.function = (char *)"parse",
	.name = (char *)"p.c:parse"};

static void put_frames(struct buf *out, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_fmt(out, "    #%zu 0x55%zu in %s /target/p.c:%zu:5\n", i, i,
			names[i % 3] ? names[i % 3] : names[0], 10 + i % 3);
}

static void frames_of(const char *top, const char *const *names, struct finding *ret)
{
	own(buf_done) struct buf out = {0};

	buf_str(&out, "==1==ERROR: AddressSanitizer: stack-overflow on address 0x7ff\n");
	if (top)
		buf_fmt(&out, "    #0 0x551 in %s /target/p.c:3:1\n", top);
	put_frames(&out, names, 240);
	assert_true(verdict_read(&target, ENGINE_CRASH, buf_text(&out), out.len, ret));
}

static void where_a_stack_ends_does_not_matter(void **state)
{
	struct finding one = {0}, two = {0}, other = {0};

	(void)state;
	frames_of("blank", FROM("value", "list", "value"), &one);
	frames_of(NULL, FROM("list", "value", "list"), &two);
	frames_of("blank", FROM("value", "sign", "value"), &other);
	assert_string_equal(one.frames.items[0], "AddressSanitizer: stack-overflow");
	assert_string_equal(one.frames.items[1], "list (p.c)");
	assert_string_equal(one.frames.items[2], "value (p.c)");
	assert_int_equal(one.frames.count, 3);
	assert_string_equal(one.id, two.id);
	assert_string_not_equal(one.id, other.id);
	assert_string_equal(one.file, "/src/p.c");
	finding_done(&one);
	finding_done(&two);
	finding_done(&other);
}

static void a_recursion_of_python_is_known_by_what_is_repeated(void **state)
{
	static const char text[] =
		"Traceback (most recent call last):\n  File \"/target/t.py\", line 9, in parse\n    return value(s)\n"
		"  File \"/target/t.py\", line 5, in value\n    return value(s[1:])\n"
		"  [Previous line repeated 990 more times]\n  File \"/target/t.py\", line 2, in skip\n    x()\n"
		"RecursionError: maximum recursion depth exceeded\n";
	struct finding finding = {0};

	(void)state;
	assert_true(verdict_read(&target, ENGINE_CRASH, text, sizeof(text) - 1, &finding));
	assert_int_equal(finding.frames.count, 2);
	assert_string_equal(finding.frames.items[0], "RecursionError");
	assert_string_equal(finding.frames.items[1], "value (t.py)");
	finding_done(&finding);
}

/* ---- folders of runs ---- */

static void what_a_dead_run_left_is_removed_and_what_lives_is_not(void **state)
{
	char above[] = "/tmp/hotcell-unit-XXXXXX";
	char *first = NULL, *second = NULL;
	int first_fd, second_fd;
	struct err err = {0};
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(above));
	own(freep) char *dead = xfmt("%s/fuzz/abcdef", above), *other = xfmt("%s/fuzz/a-folder-of-others", above);
	own(fd_closep) int root = beneath_root(above, &err);
	own(fd_closep) int work = beneath_mkdirs(root, "fuzz/abcdef/0/work", 0755, &err);
	own(fd_closep) int others = beneath_mkdirs(root, "fuzz/a-folder-of-others", 0755, &err);
	assert_true(work >= 0 && others >= 0);
	assert_int_equal(run_folder_open(above, &first, &first_fd, &err), 0);
	assert_int_equal(run_folder_open(above, &second, &second_fd, &err), 0);
	assert_int_equal(stat(dead, &st), -1);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(stat(first, &st), 0);
	assert_string_not_equal(first, second);
	fd_close(&first_fd);
	fd_close(&second_fd);
	assert_int_equal(fs_remove_tree(AT_FDCWD, above, &err), 0);
	free(first);
	free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_brackets_hold_is_nested),
		TEST(what_opens_may_stay_open),
		TEST(what_two_inputs_do_not_share_is_learned),
		TEST(a_sign_is_repeated),
		TEST(brackets_are_tried_around_anything),
		TEST(brackets_that_do_not_match_do_no_harm),
		TEST(a_deep_one_is_never_longer_than_it_may_be),
		TEST(many_inputs_lead_to_a_bounded_number),
		TEST(the_same_parts_are_tried_a_few_times_only),
		TEST(words_of_a_source_are_found),
		TEST(a_source_full_of_words_gives_a_bounded_number),
		TEST(where_a_stack_ends_does_not_matter),
		TEST(a_recursion_of_python_is_known_by_what_is_repeated),
		TEST(what_a_dead_run_left_is_removed_and_what_lives_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
