#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/yaml.h"

/* One line for a tree: text in quotes, numbers as #1, ~ for null, + and - for true and false. */
static void show(const struct value *value, struct buf *out)
{
	bool is_map = value->kind == VALUE_MAP;

	switch (value->kind) {
	case VALUE_NULL: buf_char(out, '~'); return;
	case VALUE_BOOL: buf_char(out, value->truth ? '+' : '-'); return;
	case VALUE_NUMBER: buf_fmt(out, "#%s", value->text); return;
	case VALUE_TEXT: buf_fmt(out, "'%s'", value->text); return;
	case VALUE_LIST:
	case VALUE_MAP: break;
	}
	buf_char(out, is_map ? '{' : '[');
	for (size_t i = 0; i < value->count; i++) {
		buf_str(out, i ? " " : "");
		if (is_map)
			buf_fmt(out, "%s:", value->keys[i]);
		show(&value->items[i], out);
	}
	buf_char(out, is_map ? '}' : ']');
}

static void check(const char *text, size_t len, const char *expected)
{
	own(value_done) struct value value = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (yaml_parse(text, len, "f.yaml", &value, &err) < 0)
		fail_msg("'%s' is refused: %s", text, err.text);
	show(&value, &out);
	if (strcmp(buf_text(&out), expected) != 0)
		fail_msg("'%s' is %s", text, buf_text(&out));
}

static void refused(const char *text, size_t len, const char *says)
{
	struct value value = {.count = 3};
	struct err err = {0};

	if (yaml_parse(text, len, "f.yaml", &value, &err) == 0)
		fail_msg("'%.200s' is taken", text);
	assert_int_equal(err.code, ERR_USAGE);
	if (strcmp(err.text, says) != 0)
		fail_msg("'%.200s' says: %s", text, err.text);
	assert_int_equal(value.kind, VALUE_NULL);
	assert_int_equal(value.count, 0);
	assert_null(value.items);
	assert_null(value.keys);
}

static void trees_are_read_as_they_are_written(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"", "~"},
		{"# only a comment\n", "~"},
		{"---\n", "~"},
		{"a: 1\nb: two\n", "{a:#1 b:'two'}"},
		{"a:\n- 1\n- x: y\n  z:\n-\n", "{a:[#1 {x:'y' z:~} ~]}"},
		{"{a: [1, 'b'], \"c\": {}}", "{a:[#1 'b'] c:{}}"},
		{"[]", "[]"},
		{"a: |\n  line 1\n  line 2\nb: >-\n  folded\n  text\n", "{a:'line 1\nline 2\n' b:'folded text'}"},
		{"\xef\xbb\xbf" "a: 1\r\nb: 2\r\n", "{a:#1 b:#2}"},
		{"%YAML 1.1\n---\na: b\n...\n", "{a:'b'}"},
		{"a: \"tab\\tquote\\\"\\u00e9\"", "{a:'tab\tquote\"\xc3\xa9'}"},
		{"a:\tb\n", "{a:'b'}"},
		{"key with blanks: v", "{key with blanks:'v'}"},
		{"1: a\n~: b\ntrue: c\n", "{1:'a' ~:'b' true:'c'}"},
		{"a: &x [1, 2]\nb: *x\nc: *x\n", "{a:[#1 #2] b:[#1 #2] c:[#1 #2]}"},
		{"a: &x 1\nb: &x {k: 2}\nc: *x\n", "{a:#1 b:{k:#2} c:{k:#2}}"},
		{"a: http://host:80/x\nb: x:y\n", "{a:'http://host:80/x' b:'x:y'}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].text, strlen(rows[i].text), rows[i].expected);
	check("a: 1\nb: x", 4, "{a:#1}"); /* the length counts, not a NUL */
}

static void plain_scalars_have_kinds_and_quoted_ones_are_text(void **state)
{
	static const struct {
		const char *text;
		enum value_kind kind;
	} rows[] = {
		{"true", VALUE_BOOL}, {"False", VALUE_BOOL}, {"TRUE", VALUE_BOOL}, {"tRUE", VALUE_TEXT},
		{"yes", VALUE_TEXT}, {"no", VALUE_TEXT}, {"on", VALUE_TEXT}, {"off", VALUE_TEXT},
		{"y", VALUE_TEXT}, {"~", VALUE_NULL}, {"null", VALUE_NULL}, {"Null", VALUE_NULL},
		{"nul", VALUE_TEXT}, {"0", VALUE_NUMBER}, {"-1", VALUE_NUMBER}, {"10.25", VALUE_NUMBER},
		{"1e9", VALUE_NUMBER}, {"1.5E-3", VALUE_NUMBER}, {"0x1F", VALUE_NUMBER}, {"0x", VALUE_TEXT},
		{"0xg", VALUE_TEXT}, {"007", VALUE_TEXT}, {"+1", VALUE_TEXT}, {".5", VALUE_TEXT},
		{"5.", VALUE_TEXT}, {"1e", VALUE_TEXT}, {"1e+", VALUE_TEXT}, {"1_000", VALUE_TEXT},
		{"--", VALUE_TEXT}, {".inf", VALUE_TEXT}, {"2g", VALUE_TEXT}, {"12:30:45", VALUE_TEXT},
		{"2001-01-01", VALUE_TEXT}, {"'1'", VALUE_TEXT}, {"\"true\"", VALUE_TEXT}, {"''", VALUE_TEXT},
		{"|\n 1", VALUE_TEXT}, {">\n null", VALUE_TEXT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(value_done) struct value value = {0};
		struct err err = {0};
		if (yaml_parse(rows[i].text, strlen(rows[i].text), "f", &value, &err) < 0)
			fail_msg("'%s': %s", rows[i].text, err.text);
		if (value.kind != rows[i].kind)
			fail_msg("'%s' is %s", rows[i].text, value_kind_name(value.kind));
		assert_non_null(value.text);
	}
}

static void values_know_their_lines(void **state)
{
	static const char text[] = "# first\na: 1\nlist:\n  - x\n\n  - &n\n    k: v\nagain: *n\n";
	own(value_done) struct value value = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(yaml_parse(text, strlen(text), "f", &value, &err), 0);
	assert_int_equal(value.line, 2);
	assert_int_equal(value.key_lines[1], 3);
	const struct value *list = value_get(&value, "list");
	assert_int_equal(list->line, 4);
	assert_int_equal(list->items[0].line, 4);
	assert_int_equal(value_get(&list->items[1], "k")->line, 7);
	assert_int_equal(value_get(&value, "again")->line, 8);
	assert_null(value_get(&value, "b"));
	assert_null(value_get(list, "k"));
	assert_string_equal(value_kind_name(value.kind), "an object");
}

static void what_is_refused_is_told_with_its_line_and_the_way_out(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"a: 1\n\nruns: 1\nb: 2\nruns: 2\n", "f.yaml:5: the key 'runs' is given twice (first on line 3)"},
		{"x: {a: 1, 'a': 2}", "f.yaml:1: the key 'a' is given twice (first on line 1)"},
		{"a: 1\n---\nb: 2\n", "f.yaml:2: a second document begins here; a file holds only one"},
		{"a: 1\n...\n---\n", "f.yaml:3: a second document begins here; a file holds only one"},
		{"a: 1\n? [x, y]\n: 2\n", "f.yaml:2: a key must be a plain or quoted word, not an array"},
		{"{a: 1}: 2\n", "f.yaml:1: a key must be a plain or quoted word, not an object"},
		{"a: &x b\n*x : 2\n", "f.yaml:2: a key must be a plain or quoted word, not an alias"},
		{"a: !!python/object x\n", "f.yaml:1: the tag 'tag:yaml.org,2002:python/object' is not taken; leave it out"},
		{"a: !x [1]\n", "f.yaml:1: the tag '!x' is not taken; leave it out"},
		{"a: ! {b: 1}\n", "f.yaml:1: the tag '!' is not taken; leave it out"},
		{"!!str a: 1\n", "f.yaml:1: the tag 'tag:yaml.org,2002:str' is not taken; leave it out"},
		{"a: *nobody\n", "f.yaml:1: the alias '*nobody' names no value that ended before it"},
		{"a: &x [1, *x]\n", "f.yaml:1: the alias '*x' names no value that ended before it"},
		{"a:\n\tb: 1\n",
			"f.yaml:2: this line is indented with a tab, and tabs cannot indent YAML; use spaces"},
		{"a:\n  b: 1\n\tc: 2\n",
			"f.yaml:3: this line is indented with a tab, and tabs cannot indent YAML; use spaces"},
		{"a:\n  \tb: 1\n",
			"f.yaml:2: this line is indented with a tab, and tabs cannot indent YAML; use spaces"},
		{"a:\n-\t- x: 1\n",
			"f.yaml:2: this line is indented with a tab, and tabs cannot indent YAML; use spaces"},
		{"a: \"x\\0y\"\n", "f.yaml:1: a string cannot hold the character \\0"},
		{"a: b\n\x1b[2J: c\n",
			"f.yaml:2: this line holds the control character 0x1b; inside double quotes it can be written as \\x1b"},
		{"a: \xc2\x9b\n",
			"f.yaml:1: this line holds the control character 0x9b; inside double quotes it can be written as \\x9b"},
		{"a: 1\n# harmless\xe2\x80\xa8" "b: 2\n",
			"f.yaml:2: this line holds a line break that is none to most programs; end lines with a newline"},
		{"# harmless\rb: 2\n",
			"f.yaml:1: this line holds a line break that is none to most programs; end lines with a newline"},
		{"a: 1\nb: \xff\xfe\n", "f.yaml:2: this line is not UTF-8 text"},
		{"a: 1\nb: \xc3", "f.yaml:2: this line is not UTF-8 text"},
		{"a: 1\nb: c: d\n",
			"f.yaml:2: a ':' cannot stand here; indent the line like the ones above, or put quotes around text that holds ': '"},
		{"a: 1\nb: @x\n", "f.yaml:2: a value cannot begin with this character; put quotes around it"},
		{"a: [1,\n  2\nb: 3\n", "f.yaml:3: a ',' or ']' is missing (in what begins on line 1)"},
		{"a: {x: 1\n\n", "f.yaml:2: a ',' or '}' is missing (in what begins on line 1)"},
		{"a: 1\n\nb: 'x\n\nc: 2\n", "f.yaml:5: a quote is opened but not closed (in what begins on line 3)"},
		{"a: 1\nb\nc: 2\n", "f.yaml:3: a key is not followed by ':' (in what begins on line 2)"},
		{"- a\nb: 1\n", "f.yaml:2: a '-' is expected here; indent the line like the ones above (in what begins on line 1)"},
		{"a: 1\n b: 2\n",
			"f.yaml:2: a ':' cannot stand here; indent the line like the ones above, or put quotes around text that holds ': '"},
		{"a:\n  b: 1\n c: 2\n",
			"f.yaml:3: a key is expected here; indent the line like the ones above (in what begins on line 1)"},
		{"a: \"\\q\"\n", "f.yaml:1: this is no YAML: found unknown escape character while parsing a quoted scalar"},
		{"%YAML 2.0\n--- a\n", "f.yaml:1: this is no YAML: found incompatible YAML document"},
		{"a: 1\nb: \xef\xbf\xbf\n", "f.yaml:2: this is no YAML: control characters are not allowed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refused(rows[i].text, strlen(rows[i].text), rows[i].says);
	refused("a: 1\nb: \0", 9,
		"f.yaml:2: this line holds the control character 0x00; inside double quotes it can be written as \\x00");
}

static void the_files_name_is_shown_escaped_and_short(void **state)
{
	struct value value;
	struct err err = {0};
	char name[600];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[0] = '\x1b';
	assert_int_equal(yaml_parse("a: *b", 5, name, &value, &err), -1);
	assert_null(strchr(err.text, '\x1b'));
	assert_non_null(strstr(err.text, "names no value"));
}

/* `open` opens `depth` times, then come "1" and the closings. */
static void nest(struct buf *out, const char *open, const char *close, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		buf_str(out, open);
	buf_char(out, '1');
	for (unsigned i = 0; i < depth; i++)
		buf_str(out, close);
}

static void nesting_ends_at_its_limit_however_it_is_made(void **state)
{
	static const char too_deep[] = "f.yaml:1: values are nested deeper than 32 levels";
	static const struct {
		const char *open, *close;
	} kinds[] = {{"[", "]"}, {"{a: ", "}"}, {"- ", ""}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		static const unsigned beyond[] = {YAML_MAX_DEPTH + 1, 1000, 100000};
		own(buf_done) struct buf fits = {0};
		own(value_done) struct value value = {0};
		struct err err = {0};
		nest(&fits, kinds[i].open, kinds[i].close, YAML_MAX_DEPTH);
		assert_int_equal(yaml_parse(fits.data, fits.len, "f", &value, &err), 0);
		for (size_t j = 0; j < ARRAY_LEN(beyond); j++) {
			own(buf_done) struct buf deep = {0};
			nest(&deep, kinds[i].open, kinds[i].close, beyond[j]);
			refused(deep.data, deep.len, too_deep);
		}
	}
	/* Every alias is one level deeper than what it stands for. */
	own(buf_done) struct buf chain = {0};
	buf_str(&chain, "[&a0 [1]");
	for (int i = 1; i <= YAML_MAX_DEPTH; i++)
		buf_fmt(&chain, ", &a%d [*a%d]", i, i - 1);
	buf_char(&chain, ']');
	refused(chain.data, chain.len, too_deep);
}

static void bombs_are_refused_at_once(void **state)
{
	static const char laughs[] =
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
	own(buf_done) struct buf large = {0}, many = {0}, anchors = {0}, long_texts = {0};

	(void)state;
	refused(laughs, strlen(laughs), "f.yaml:5: there are more than 20000 values in it, aliases counted");

	while (large.len <= YAML_MAX_BYTES)
		buf_str(&large, "# comment\n");
	refused(large.data, large.len, "f.yaml:1: the file is larger than the 1 MiB that are read");

	for (int i = 0; i < YAML_MAX_VALUES; i++)
		buf_str(&many, "- 1\n");
	refused(many.data, many.len, "f.yaml:20000: there are more than 20000 values in it, aliases counted");

	for (int i = 0; i < 300; i++)
		buf_fmt(&anchors, "- &a%d 1\n", i);
	refused(anchors.data, anchors.len, "f.yaml:257: there are more than 256 anchors in it");

	buf_str(&long_texts, "- &a ");
	for (int i = 0; i < 800000; i++)
		buf_char(&long_texts, 'x');
	for (int i = 0; i < 10000; i++)
		buf_str(&long_texts, "\n- *a");
	refused(long_texts.data, long_texts.len,
		"f.yaml:5: there are more than 4 MiB of text in it, aliases counted");
}

static void a_large_honest_file_is_read(void **state)
{
	own(buf_done) struct buf text = {0};
	own(value_done) struct value value = {0};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < 9000; i++)
		buf_fmt(&text, "key%d: value\n", i);
	assert_int_equal(yaml_parse(text.data, text.len, "f", &value, &err), 0);
	assert_int_equal(value.count, 9000);
	assert_string_equal(value_get(&value, "key8999")->text, "value");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_read_as_they_are_written),
		cmocka_unit_test(plain_scalars_have_kinds_and_quoted_ones_are_text),
		cmocka_unit_test(values_know_their_lines),
		cmocka_unit_test(what_is_refused_is_told_with_its_line_and_the_way_out),
		cmocka_unit_test(the_files_name_is_shown_escaped_and_short),
		cmocka_unit_test(nesting_ends_at_its_limit_however_it_is_made),
		cmocka_unit_test(bombs_are_refused_at_once),
		cmocka_unit_test(a_large_honest_file_is_read),
	};
	return cmocka_run_group_tests_name("base yaml", tests, NULL, NULL);
}
