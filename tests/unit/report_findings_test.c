#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/own.h"
#include "base/utf8.h"
#include "report/findings.h"
#include "view/findings.h"

#define TEST(name) cmocka_unit_test(name)
#define NOW INT64_C(1800000000)

/* What a target would say if it could choose where it is shown. */
static const char hostile[] = "=cmd|'/C calc'!A0 \033]0;own\007 \x9b\xff\xc3 line\r\nnext </pre></script><img src=x onerror=alert(1)> "
			      "`````` ~~~ @everyone #1 [x](http://a) {0} \"q\", \xe2\x80\xae | <!-- &amp;";

static struct finding example(const char *oracle, const char *subject, const char *message)
{
	struct finding finding = {.oracle = xstrdup(oracle), .target = xstrdup("files"), .subject = xstrdup(subject),
		.message = xstrdup(message), .input = xstrdup("{\"path\": \"..\"}"), .kind = xstrdup("mcp"), .seed = UINT64_MAX, .seen = 5,
		.tried = 5, .first_seen = 1000, .last_seen = 2000, .times = 1};

	strings_add(&finding.command, "python3");
	strings_add(&finding.command, "my server.py");
	strings_add(&finding.evidence, "the token is in the answer");
	strings_add(&finding.environment, "API_KEY");
	finding_identify(&finding);
	return finding;
}

static struct finding hostile_example(void)
{
	struct finding finding = example("trace", hostile, hostile);

	free(finding.target);
	free(finding.input);
	finding.target = xstrdup(hostile);
	finding.input = xstrdup(hostile);
	finding.found = xstrdup(hostile);
	finding.file = xstrdup(hostile);
	finding.profile = xstrdup(hostile);
	finding.reason = xstrdup(hostile);
	finding.state = FINDING_SUPPRESSED;
	strings_add(&finding.evidence, hostile);
	strings_add(&finding.frames, hostile);
	strings_add(&finding.command, hostile);
	strings_add(&finding.flags, hostile);
	strings_add(&finding.environment, hostile);
	finding_identify(&finding);
	return finding;
}

static struct findings several(const struct finding *const *list, size_t count)
{
	return (struct findings){.list = list, .count = count, .title = "hotcell fuzz", .version = "0.1.0", .now = NOW};
}

static void write_one(const struct finding *finding, enum finding_format format, struct buf *out)
{
	const struct finding *const list[] = {finding};
	struct findings findings = several(list, 1);

	findings_write(&findings, format, out);
}

static void assert_has(const struct buf *out, const char *text)
{
	if (!strstr(buf_text(out), text))
		fail_msg("no '%s' in: %.3000s", text, buf_text(out));
}

static void assert_has_not(const struct buf *out, const char *text)
{
	if (strstr(buf_text(out), text))
		fail_msg("'%s' is in: %.3000s", text, buf_text(out));
}

static void assert_is_text(const struct buf *out, const char *controls)
{
	for (size_t at = 0; at < out->len;) {
		int size = utf8_char(out->data + at, out->len - at);
		if (size <= 0 || (utf8_is_control(out->data + at, size) && !strchr(controls, out->data[at])))
			fail_msg("byte %zu, 0x%02x, is not for anybody's eyes", at, (unsigned char)out->data[at]);
		at += (size_t)size;
	}
}

static void read_json(const struct buf *out, struct value *ret)
{
	static const struct json_limits limits = {.bytes = (size_t)1 << 30, .values = 50000000, .depth = 32};
	struct err err = {0};

	if (json_read(buf_text(out), out->len, &limits, "out", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static const struct value *at(const struct value *value, const char *key)
{
	const struct value *found = value_get(value, key);

	if (!found)
		fail_msg("no '%s'", key);
	return found;
}

/* ---- the table, and one ---- */

static void a_table_has_a_row_for_each_and_a_sum(void **state)
{
	own(finding_done) struct finding first = example("canary", "read", "m"), second = example("hang", "wait_for_it", "slow");
	const struct finding *const list[] = {&first, &second};
	struct findings findings = several(list, 2);
	own(buf_done) struct buf out = {0};

	(void)state;
	second.state = FINDING_SUPPRESSED;
	findings_write(&findings, FINDINGS_TABLE, &out);
	own(freep) char *row = xfmt("critical  canary         read         %s  5/5    open        m\n", first.id);
	assert_has(&out, row);
	assert_has(&out, "suppressed  slow\n2 findings: 1 critical, 1 medium; 1 suppressed\n");
	assert_has_not(&out, "\033");
}

static void only_a_terminal_is_coloured(void **state)
{
	own(finding_done) struct finding finding = example("canary", "read", "m");
	const struct finding *const list[] = {&finding};
	struct findings findings = several(list, 1);
	own(buf_done) struct buf out = {0};

	(void)state;
	findings.color = true;
	findings_write(&findings, FINDINGS_TABLE, &out);
	assert_has(&out, "\033[1;31mcritical  \033[0mcanary");
}

static void nothing_found_is_said_in_every_format(void **state)
{
	struct findings findings = several(NULL, 0);

	(void)state;
	for (enum finding_format format = 0; format < FINDING_FORMAT_COUNT; format++) {
		own(buf_done) struct buf out = {0};
		findings_write(&findings, format, &out);
		assert_true(out.len > 10 && out.data[out.len - 1] == '\n');
		if (format == FINDINGS_TABLE)
			assert_string_equal(buf_text(&out), "no findings\n");
	}
}

static void an_ended_suppression_is_told(void **state)
{
	own(finding_done) struct finding finding = example("canary", "read", "m");
	own(buf_done) struct buf out = {0}, whole = {0};

	(void)state;
	finding.state = FINDING_SUPPRESSED;
	finding.until = NOW;
	finding.reason = xstrdup("till the release");
	write_one(&finding, FINDINGS_TABLE, &out);
	assert_has(&out, "expired");
	assert_has(&out, "1 whose suppression has ended");
	finding_write(&finding, NULL, NOW, &whole);
	assert_has(&whole, "open: its suppression ended on 2027-01-15 08:00 UTC: till the release");
	finding.until = NOW + 1;
	whole.len = 0;
	finding_write(&finding, NULL, NOW, &whole);
	assert_has(&whole, "suppressed until 2027-01-15 08:00 UTC: till the release");
}

static void one_finding_is_told_whole(void **state)
{
	own(finding_done) struct finding finding = example("canary", "read", "m");
	own(buf_done) struct buf out = {0};

	(void)state;
	finding.found = xstrdup("{\"path\": \"a/../..\"}");
	finding.file = xstrdup("server.py");
	finding.line = 7;
	finding_write(&finding, ".hotcell/findings", NOW, &out);
	static const char *const parts[] = {"Something outside of its reach was read", "read of files", "critical (9.5): the token is nowhere",
		"CWE-22", "server.py:7", "5 of 5 times", "the token is in the answer", "{\"path\": \"..\"}",
		"{\"path\": \"a/../..\"}", "python3 'my server.py'", "API_KEY", "18446744073709551615", "hotcell findings repro "};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		assert_has(&out, parts[i]);
}

static void the_command_names_the_state_folder_where_that_is_needed(void **state)
{
	own(finding_done) struct finding finding = example("canary", "read", "m");
	static const struct {
		const char *folder, *words;
	} cases[] = {
		{NULL, "hotcell findings repro "},
		{".hotcell/findings", "hotcell findings repro "},
		{"/srv/it/findings", "hotcell findings repro --state /srv/it "},
		{"my own/findings", "hotcell findings repro --state 'my own' "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		own(freep) char *whole = xfmt("%s%s", cases[i].words, finding.id);
		finding_command(&finding, cases[i].folder, &out);
		assert_string_equal(buf_text(&out), whole);
	}
}

/* ---- hostile texts ---- */

static void no_text_steers_a_terminal(void **state)
{
	own(finding_done) struct finding finding = hostile_example();
	own(buf_done) struct buf table = {0}, whole = {0};

	(void)state;
	write_one(&finding, FINDINGS_TABLE, &table);
	assert_is_text(&table, "\n");
	finding_write(&finding, hostile, NOW, &whole);
	assert_is_text(&whole, "\n");
	assert_has(&whole, "\\x1b]0;own\\x07");
}

static void no_text_is_markup_in_a_page(void **state)
{
	own(finding_done) struct finding finding = hostile_example();
	const struct finding *const list[] = {&finding};
	struct findings findings = several(list, 1);
	own(strings_done) struct strings gaps = {0};
	own(buf_done) struct buf out = {0};

	(void)state;
	strings_add(&gaps, hostile);
	findings.gaps = &gaps;
	findings.title = hostile;
	findings.capsule_folder = hostile;
	findings_write(&findings, FINDINGS_HTML, &out);
	assert_is_text(&out, "\n");
	assert_has_not(&out, "<img");
	assert_has_not(&out, "</script");
	assert_has_not(&out, "<!--");
	assert_has_not(&out, "\xe2\x80\xae");
	assert_has(&out, "&lt;img src=x onerror=alert(1)&gt;");
	size_t opened = 0, closed = 0;
	for (const char *tag = out.data; (tag = strstr(tag, "<pre")); tag++)
		opened++;
	for (const char *tag = out.data; (tag = strstr(tag, "</pre>")); tag++)
		closed++;
	assert_int_equal(opened, closed);
}

/* Takes out what is between fences, and between backticks of a line: what is left is what has a meaning. */
static void outside_of_code(const char *md, struct buf *ret)
{
	while (*md) {
		size_t len = strcspn(md, "\n"), fence = strspn(md, "`");
		if (fence >= 3) {
			const char *end = md + len;
			do {
				end = strchr(end, '\n');
				assert_non_null(end);
				end++;
			} while (strspn(end, "`") < fence || end[strspn(end, "`")] != '\n');
			md = end + strcspn(end, "\n") + 1;
			continue;
		}
		for (size_t i = 0; i < len;) {
			size_t ticks = strspn(md + i, "`");
			if (!ticks) {
				buf_char(ret, md[i++]);
				continue;
			}
			for (i += ticks; i < len && strspn(md + i, "`") != ticks; i += md[i] == '`' ? strspn(md + i, "`") : 1)
				;
			assert_true(i < len);
			i += ticks;
		}
		buf_char(ret, '\n');
		md += len + (md[len] == '\n');
	}
}

static void texts_are_code_and_nothing_else_in_markdown(void **state)
{
	static const char *const texts[] = {hostile, "`", "``", "` a `", "ends with `", "```\n```", "    ", "", "\n```\n# Title\n@all\n",
		"``` ```` `````"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(finding_done) struct finding finding = hostile_example();
		own(buf_done) struct buf out = {0}, outside = {0};
		free(finding.message);
		free(finding.input);
		finding.message = xstrdup(texts[i]);
		finding.input = xstrdup(texts[i]);
		strings_add(&finding.evidence, texts[i]);
		write_one(&finding, FINDINGS_MD, &out);
		assert_is_text(&out, "\n");
		outside_of_code(buf_text(&out), &outside);
		assert_has(&outside, "## low: ");
		static const char *const never[] = {"<", "@", "alert", "everyone", "http://a", "Title", "`"};
		for (size_t n = 0; n < ARRAY_LEN(never); n++)
			assert_has_not(&outside, never[n]);
	}
}

static void no_cell_of_a_sheet_is_a_formula(void **state)
{
	static const char *const texts[] = {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", hostile};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(finding_done) struct finding finding = example("canary", texts[i], texts[i]);
		own(buf_done) struct buf out = {0};
		write_one(&finding, FINDINGS_CSV, &out);
		own(freep) char *cell = xfmt(",\"'%c", texts[i][0]), *bare = xfmt(",\"%c", texts[i][0]);
		assert_has(&out, cell);
		assert_has_not(&out, bare);
		assert_has_not(&out, "\xff");
	}
}

static void a_quote_in_a_sheet_is_doubled(void **state)
{
	own(finding_done) struct finding finding = example("canary", "a \"b\", c", "two\nlines");
	own(buf_done) struct buf out = {0};

	(void)state;
	write_one(&finding, FINDINGS_CSV, &out);
	assert_has(&out, ",\"a \"\"b\"\", c\",\"two\nlines\",");
	assert_string_equal(out.data + out.len - 2, "\r\n");
}

/* ---- SARIF ---- */

static const struct value *results_of(const struct value *top)
{
	return at(&at(top, "runs")->items[0], "results");
}

static const struct value *place_of(const struct value *result)
{
	return at(&at(result, "locations")->items[0], "physicalLocation");
}

static void a_place_is_inside_of_the_project(void **state)
{
	static const struct {
		const char *file, *uri;
		unsigned line;
		const char *told;
	} cases[] = {
		{"server.py", "server.py", 17, "17"},
		{"./src/a b.py", "src/a%20b.py", 0, "1"},
		{"src//x?y#z:1.py", "src/x%3Fy%23z%3A1.py", UINT32_MAX, "1"},
		{"..a/b", "..a/b", 2, "2"},
		{"/etc/passwd", NULL, 3, "1"},
		{"../up", NULL, 3, "1"},
		{"a/../../up", NULL, 3, "1"},
		{"a/..", NULL, 3, "1"},
		{"", NULL, 3, "1"},
		{NULL, NULL, 3, "1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(finding_done) struct finding finding = example("canary", "read", "m");
		own(value_done) struct value top = {0};
		own(buf_done) struct buf out = {0};
		own(freep) char *fallback = xfmt(".hotcell/findings/%s.json", finding.id);
		finding.file = cases[i].file ? xstrdup(cases[i].file) : NULL;
		finding.line = cases[i].line;
		write_one(&finding, FINDINGS_SARIF, &out);
		read_json(&out, &top);
		const struct value *place = place_of(&results_of(&top)->items[0]);
		assert_string_equal(at(at(place, "artifactLocation"), "uri")->text, cases[i].uri ? cases[i].uri : fallback);
		assert_string_equal(at(at(place, "region"), "startLine")->text, cases[i].told);
	}
}

static void suppressed_ones_say_why_and_fixed_ones_are_gone(void **state)
{
	own(finding_done) struct finding first = example("canary", "a", "m"), second = example("hang", "b", "m"), third = example("hang", "c", "m");
	const struct finding *const list[] = {&first, &second, &third};
	struct findings findings = several(list, 3);
	own(value_done) struct value top = {0};
	own(buf_done) struct buf out = {0};

	(void)state;
	second.state = FINDING_SUPPRESSED;
	second.reason = xstrdup("slow by design");
	third.state = FINDING_FIXED;
	findings_write(&findings, FINDINGS_SARIF, &out);
	read_json(&out, &top);
	const struct value *results = results_of(&top);
	assert_int_equal(results->count, 2);
	assert_int_equal(at(&results->items[0], "suppressions")->count, 0);
	const struct value *suppression = &at(&results->items[1], "suppressions")->items[0];
	assert_string_equal(at(suppression, "justification")->text, "slow by design");
	assert_string_equal(at(at(&results->items[0], "partialFingerprints"), "hotcell/v1")->text, first.id);
}

static void a_message_is_no_link_and_has_no_end(void **state)
{
	own(freep) char *longest = xcalloc(1, 1000001);
	own(buf_done) struct buf out = {0}, large = {0};
	own(value_done) struct value top = {0};

	(void)state;
	own(finding_done) struct finding finding = example("canary", "read", "go [here](1), fill {0}");
	write_one(&finding, FINDINGS_SARIF, &out);
	read_json(&out, &top);
	const char *text = at(at(&results_of(&top)->items[0], "message"), "text")->text;
	assert_null(strstr(text, "]("));
	assert_null(strstr(text, "{0"));
	memset(longest, 'a', 1000000);
	own(finding_done) struct finding other = example("canary", longest, longest);
	write_one(&other, FINDINGS_SARIF, &large);
	assert_true(large.len < out.len + 3000);
}

#define MANY 30000

static void more_than_a_code_host_takes_is_left_out_and_told(void **state)
{
	own(finding_done) struct finding finding = example("canary", "read", "m");
	own(freep) const struct finding **list = xcalloc(MANY, sizeof(*list));
	own(value_done) struct value top = {0};
	own(buf_done) struct buf out = {0};

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		list[i] = &finding;
	struct findings findings = several(list, MANY);
	findings_write(&findings, FINDINGS_SARIF, &out);
	read_json(&out, &top);
	size_t count = results_of(&top)->count;
	assert_true(count > 5000 && count <= 25000 && out.len < 10u << 20);
	const struct value *notes = at(&at(&at(&top, "runs")->items[0], "invocations")->items[0], "toolExecutionNotifications");
	own(freep) char *said = xfmt("%zu findings are left out, the least severe: there is no room for them in one upload.", MANY - count);
	assert_string_equal(at(at(&notes->items[0], "message"), "text")->text, said);
}

static void gaps_are_told(void **state)
{
	own(strings_done) struct strings gaps = {0};
	struct findings findings = several(NULL, 0);

	(void)state;
	strings_add(&gaps, "tool 'x': its schema cannot be met");
	findings.gaps = &gaps;
	for (enum finding_format format = 0; format < FINDING_FORMAT_COUNT; format++) {
		own(buf_done) struct buf out = {0};
		findings_write(&findings, format, &out);
		if (format != FINDINGS_CSV) /* which has a row for each finding and no place for more */
			assert_has(&out, "its schema cannot be met");
	}
}

static void ten_thousand_are_written_in_every_format(void **state)
{
	own(finding_done) struct finding finding = hostile_example();
	own(freep) const struct finding **list = xcalloc(10000, sizeof(*list));

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		list[i] = &finding;
	struct findings findings = several(list, 10000);
	for (enum finding_format format = 0; format < FINDING_FORMAT_COUNT; format++) {
		own(buf_done) struct buf out = {0};
		findings_write(&findings, format, &out);
		assert_true(out.len > 1000000);
	}
}

/* ---- gates ---- */

static void a_gate_lets_less_severe_ones_pass(void **state)
{
	own(finding_done) struct finding critical = example("canary", "a", "m"), medium = example("hang", "b", "m"),
		low = example("trace", "c", "m"), note = example("refused", "d", "m"), hidden = example("canary", "e", "m"),
		fixed = example("canary", "f", "m"), ended = example("crash", "g", "m");
	const struct finding *const list[] = {&critical, &medium, &low, &note, &hidden, &fixed, &ended};
	struct findings findings = several(list, ARRAY_LEN(list));
	static const struct {
		const char *name;
		size_t over;
	} cases[] = {{"none", 0}, {"error", 2}, {"warning", 3}, {"note", 5}, {"any", 5}};
	enum finding_gate gate;

	(void)state;
	hidden.state = ended.state = FINDING_SUPPRESSED;
	ended.until = NOW;
	fixed.state = FINDING_FIXED;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(finding_gate_read(cases[i].name, &gate));
		assert_int_equal(findings_over(&findings, gate, NULL), cases[i].over);
	}
	assert_false(finding_gate_read("critical", &gate));
	assert_false(finding_gate_read("", &gate));
}

static void read_baseline(const struct buf *text, struct strings *ret)
{
	struct err err = {0};

	if (baseline_read(buf_text(text), text->len, "before", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void what_was_there_before_does_not_count(void **state)
{
	own(finding_done) struct finding old = example("canary", "a", "m"), fresh = example("canary", "b", "m");
	const struct finding *const list[] = {&old, &fresh};
	struct findings findings = several(list, 2);
	own(buf_done) struct buf sarif = {0}, export = {0}, list_of = {0};
	own(json_done) struct json capsule = {0};

	(void)state;
	write_one(&old, FINDINGS_SARIF, &sarif);
	write_one(&old, FINDINGS_JSON, &export);
	capsule_write(&old, &capsule);
	buf_fmt(&list_of, "[%s]", capsule.out.data);
	const struct buf *const texts[] = {&sarif, &export, &capsule.out, &list_of};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(strings_done) struct strings baseline = {0};
		read_baseline(texts[i], &baseline);
		assert_int_equal(baseline.count, 1);
		assert_int_equal(findings_over(&findings, GATE_ANY, &baseline), 1);
	}
}

static void a_baseline_that_is_none_is_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "before:1: "},
		{"nonsense", "before:1: "},
		{"17", "neither SARIF"},
		{"{}", "neither SARIF"},
		{"{\"format\": \"hotcell-findings-2\", \"findings\": []}", "neither SARIF"},
		{"{\"format\": \"hotcell-findings-1\", \"findings\": 1}", "neither SARIF"},
		{"{\"runs\": {}}", "'runs' is not an array"},
		{"{\"runs\": [{\"results\": \"\"}]}", "'results' is not an array"},
		{"{\"runs\": [{\"results\": [{\"partialFingerprints\": {\"hotcell/v1\": 1}}]}]}", "no id"},
		{"[1]", "no finding"},
		{"[{\"format\": \"hotcell-finding-1\"}]", "no id"},
		{"{\"format\": \"hotcell-finding-1\", \"id\": \"0123456789ABCDEF\"}", "no id"},
		{"{\"format\": \"hotcell-finding-1\", \"id\": \"0123456789abcde\"}", "no id"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(strings_done) struct strings ids = {0};
		struct err err = {0};
		assert_int_equal(baseline_read(cases[i].text, strlen(cases[i].text), "before", &ids, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(ids.count, 0);
		if (!strstr(err.text, cases[i].says))
			fail_msg("'%s' is not in '%s'", cases[i].says, err.text);
	}
}

static void results_of_other_tools_are_passed_by(void **state)
{
	static const char text[] = "{\"runs\": [{}, 1, {\"results\": null}, {\"results\": [1, {}, {\"partialFingerprints\": {\"x\": \"y\"}}, "
				   "{\"partialFingerprints\": {\"hotcell/v1\": \"0123456789abcdef\"}}]}]}";
	own(strings_done) struct strings ids = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(baseline_read(text, strlen(text), "before", &ids, &err), 0);
	assert_int_equal(ids.count, 1);
	assert_string_equal(ids.items[0], "0123456789abcdef");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_table_has_a_row_for_each_and_a_sum),
		TEST(only_a_terminal_is_coloured),
		TEST(nothing_found_is_said_in_every_format),
		TEST(an_ended_suppression_is_told),
		TEST(one_finding_is_told_whole),
		TEST(the_command_names_the_state_folder_where_that_is_needed),
		TEST(no_text_steers_a_terminal),
		TEST(no_text_is_markup_in_a_page),
		TEST(texts_are_code_and_nothing_else_in_markdown),
		TEST(no_cell_of_a_sheet_is_a_formula),
		TEST(a_quote_in_a_sheet_is_doubled),
		TEST(a_place_is_inside_of_the_project),
		TEST(suppressed_ones_say_why_and_fixed_ones_are_gone),
		TEST(a_message_is_no_link_and_has_no_end),
		TEST(more_than_a_code_host_takes_is_left_out_and_told),
		TEST(gaps_are_told),
		TEST(ten_thousand_are_written_in_every_format),
		TEST(a_gate_lets_less_severe_ones_pass),
		TEST(what_was_there_before_does_not_count),
		TEST(a_baseline_that_is_none_is_refused_with_a_sentence),
		TEST(results_of_other_tools_are_passed_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
