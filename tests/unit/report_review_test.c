#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "report/sarif.h"
#include "cell/cell.h"
#include "report/review.h"
#include "view/review.h"

/* ---- a review of three groups, made up ---- */

static const struct review_attack attacks[] = {
	{.id = "files.one", .technique = "try one", .safe = "refused", .without = "seccomp landlock", .cve = "CVE-2019-5736, CVE-2024-21626"},
	{.id = "files.two", .technique = "try two", .safe = "refused", .by = "the kernel itself", .own_word = true},
	{.id = "files.three", .technique = "try three", .safe = "refused", .wants = "memory-limit"},
};
static char nothing[] = "", hostile[] = "<script>alert(1)</script> & \"quotes\" \x1b[2J", lacking[] = "memory-limit",
	    reason[] = "memory-limit is weaker here";

static void review_make(struct review *ret, enum review_verdict one, enum review_verdict two, enum review_verdict three)
{
	static const struct json_limits limits = {.bytes = 65536, .values = 1000, .depth = 16};
	static const char receipt[] = "{\"backend\":\"native\",\"full\":false,\"protections\":{\"seccomp\":{\"state\":\"on\",\"note\":\"\"},"
				      "\"memory-limit\":{\"state\":\"weaker\",\"note\":\"watched\"}}}";
	const enum review_verdict verdicts[] = {one, two, three};
	struct err err;

	*ret = (struct review){.backend = "native", .root = true, .kernel = "6.18", .machine = "x86_64", .time = "2026-11-16T07:50:58Z"};
	ret->rows = xcalloc(3, sizeof(*ret->rows));
	for (ret->count = 0; ret->count < 3; ret->count++) {
		enum review_verdict verdict = verdicts[ret->count];
		ret->rows[ret->count] = (struct review_row){.group = &review_groups[0], .attack = &attacks[ret->count], .verdict = verdict,
			.reason = xstrdup(verdict == REVIEW_ESCAPED ? hostile : verdict == REVIEW_DEGRADED ? reason : nothing),
			.lacking = xstrdup(verdict == REVIEW_DEGRADED ? lacking : nothing), .tries = 7, .wall_ns = 12345678};
		ret->counts[verdict]++;
	}
	assert_int_equal(json_read(receipt, strlen(receipt), &limits, NULL, &ret->receipt, &err), 0);
}

/* ---- kept ---- */

static void load(const char *text, size_t len, struct value *ret)
{
	struct err err = {0};

	if (review_load(text, len, "review.json", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void what_was_saved_can_be_loaded_and_is_the_same(void **state)
{
	own(review_done) struct review review = {0};
	own(buf_done) struct buf text = {0};
	own(value_done) struct value body = {0};
	own(review_changes_done) struct review_changes changes = {0};
	char sum[SHA256_HEX];

	(void)state;
	review_make(&review, REVIEW_HELD, REVIEW_ESCAPED, REVIEW_DEGRADED);
	review_save(&review, &text);
	load(text.data, text.len, &body);
	review_sum(&review, sum);
	assert_int_equal(strlen(sum), SHA256_HEX - 1);
	assert_non_null(strstr(buf_text(&text), sum));
	review_compare(&body, &review, &changes);
	assert_int_equal(changes.compared, 3);
	assert_int_equal(changes.count, 0);
	assert_string_equal(changes.note, "");
}

/* Each letter and digit of it, in turn. */
static void a_saved_review_that_was_edited_anywhere_is_refused(void **state)
{
	own(review_done) struct review review = {0};
	own(buf_done) struct buf text = {0};

	(void)state;
	review_make(&review, REVIEW_HELD, REVIEW_ESCAPED, REVIEW_DEGRADED);
	review_save(&review, &text);
	for (size_t i = 0; i < text.len; i++) {
		own(value_done) struct value body = {0};
		struct err err = {0};
		char was = text.data[i];
		if (was == ' ' || was == '\n')
			continue;
		text.data[i] = was == '1' ? '2' : was == 'a' ? 'b' : was == '"' ? '\'' : '1';
		if (review_load(text.data, text.len, "review.json", &body, &err) == 0)
			fail_msg("'%c' of byte %zu can be changed", was, i);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, "review.json"));
		text.data[i] = was;
	}
}

static void a_saved_review_may_be_laid_out_anew(void **state)
{
	static const struct json_limits limits = {.bytes = 1 << 20, .values = 10000, .depth = 16};
	own(review_done) struct review review = {0};
	own(buf_done) struct buf text = {0};
	own(value_done) struct value file = {0}, body = {0};
	own(json_done) struct json compact = {0};
	struct err err;

	(void)state;
	review_make(&review, REVIEW_HELD, REVIEW_HELD, REVIEW_HELD);
	review_save(&review, &text);
	assert_int_equal(json_read(text.data, text.len, &limits, NULL, &file, &err), 0);
	json_value(&compact, &file, true);
	assert_int_not_equal(compact.out.len, text.len);
	load(compact.out.data, compact.out.len, &body);
}

static void what_is_no_saved_review_is_refused(void **state)
{
	static const char *const cases[] = {"", "{}", "[]", "null", "{\"format\":\"hotcell-review 1\"}",
		"{\"format\":\"hotcell-review 1\",\"sum\":\"\",\"review\":{}}", "{\"format\":1,\"sum\":2,\"review\":3}",
		"{\"format\":\"hotcell-review 2\",\"sum\":\"x\",\"review\":{}}",
		/* sums that are right, of bodies that say nothing */
		"{\"format\":\"hotcell-review 1\",\"sum\":\"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\",\"review\":{}}",
		"{\"format\":\"hotcell-review 1\",\"sum\":\"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\",\"review\":[]}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(value_done) struct value body = {0};
		struct err err = {0};
		assert_int_equal(review_load(cases[i], strlen(cases[i]), "x", &body, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

/* ---- compared ---- */

static void compared(enum review_verdict then, enum review_verdict now, size_t worse, size_t better)
{
	own(review_done) struct review before = {0}, after = {0};
	own(buf_done) struct buf text = {0};
	own(value_done) struct value body = {0};
	own(review_changes_done) struct review_changes changes = {0};

	review_make(&before, then, REVIEW_HELD, REVIEW_HELD);
	review_make(&after, now, REVIEW_HELD, REVIEW_HELD);
	review_save(&before, &text);
	load(text.data, text.len, &body);
	review_compare(&body, &after, &changes);
	assert_int_equal(changes.worse, worse);
	assert_int_equal(changes.count - changes.worse, better);
	if (changes.count)
		assert_non_null(strstr(changes.items[0].text, "files.one was "));
}

static void what_was_held_and_is_not_is_worse_and_the_other_way_round_better(void **state)
{
	(void)state;
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++) {
		compared(REVIEW_HELD, i, i != REVIEW_HELD, 0);
		compared(i, REVIEW_HELD, 0, i != REVIEW_HELD);
		compared(i, REVIEW_ESCAPED, i != REVIEW_ESCAPED, 0);
		compared(i, i, 0, 0);
	}
	compared(REVIEW_DEGRADED, REVIEW_FAILED, 1, 0);
	compared(REVIEW_FAILED, REVIEW_DEGRADED, 0, 1);
}

static void replace(struct buf *text, const char *what, const char *by)
{
	char *at = strstr(text->data, what);

	assert_non_null(at);
	assert_int_equal(strlen(what), strlen(by));
	memcpy(at, by, strlen(by));
}

static void an_attack_that_is_no_longer_tried_and_a_weaker_protection_are_worse(void **state)
{
	own(review_done) struct review review = {0};
	own(json_done) struct json json = {0};
	own(value_done) struct value body = {0};
	own(review_changes_done) struct review_changes changes = {0};
	static const struct json_limits limits = {.bytes = 1 << 20, .values = 10000, .depth = 16};
	struct err err;

	(void)state;
	review_make(&review, REVIEW_HELD, REVIEW_HELD, REVIEW_HELD);
	json_open(&json, '{');
	review_json_members(&review, &json);
	json_close(&json, '}');
	replace(&json.out, "files.two", "files.old");
	replace(&json.out, "\"seccomp\":{\"state\":\"on\"", "\"seccump\":{\"state\":\"on\""); /* one that a receipt has no more */
	replace(&json.out, "weaker", "off   ");
	replace(&json.out, "\"user\":\"root\"", "\"user\":\"toor\"");
	assert_int_equal(json_read(json.out.data, json.out.len, &limits, NULL, &body, &err), 0);
	review_compare(&body, &review, &changes);
	assert_int_equal(changes.compared, 2);
	assert_int_equal(changes.worse, 2);
	assert_string_equal(changes.items[0].text, "files.old was held and is no longer tried");
	assert_non_null(strstr(changes.items[1].text, "seccump was on and is off now"));
	assert_non_null(strstr(changes.note, "user 'toor' then and 'root' now"));
}

static void attacks_that_were_not_asked_for_now_are_not_missed(void **state)
{
	own(review_done) struct review review = {0};
	own(buf_done) struct buf text = {0};
	own(value_done) struct value body = {0};
	own(review_changes_done) struct review_changes changes = {0};
	const struct review_attack *real = review_groups[0].attacks;

	(void)state;
	review_make(&review, REVIEW_HELD, REVIEW_HELD, REVIEW_HELD);
	review.rows[0].attack = real; /* one that the catalogue has */
	review_save(&review, &text);
	load(text.data, text.len, &body);
	review.rows[0].attack = &attacks[0];
	review_compare(&body, &review, &changes);
	assert_int_equal(changes.compared, 2);
	assert_int_equal(changes.count, 0);
}

/* ---- told ---- */

static void a_page_obeys_nothing_that_an_attack_said(void **state)
{
	own(review_done) struct review review = {0};
	own(buf_done) struct buf page = {0};

	(void)state;
	review_make(&review, REVIEW_ESCAPED, REVIEW_HELD, REVIEW_DEGRADED);
	review_html(&review, &page);
	assert_null(strstr(page.data, "<script"));
	assert_null(strchr(page.data, '\033'));
	assert_non_null(strstr(page.data, "&lt;script&gt;"));
	assert_non_null(strstr(page.data, "Content-Security-Policy"));
	assert_non_null(strstr(page.data, "CVE-2024-21626"));
	assert_non_null(strstr(page.data, "memory-limit"));
	assert_null(strstr(page.data, "http://"));
	assert_null(strstr(page.data, "https://"));
}

static void sarif_has_a_rule_for_each_attack_and_a_result_for_each_that_was_not_held(void **state)
{
	static const struct json_limits limits = {.bytes = 1 << 20, .values = 10000, .depth = 16};
	static const char *const levels[] = {"error", "warning"};
	own(review_done) struct review review = {0};
	own(json_done) struct json json = {0};
	own(value_done) struct value log = {0};
	struct err err;

	(void)state;
	review_make(&review, REVIEW_ESCAPED, REVIEW_HELD, REVIEW_DEGRADED);
	review_sarif(&review, "a folder/review.json", &json);
	assert_int_equal(json_read(json.out.data, json.out.len, &limits, NULL, &log, &err), 0);
	const struct value *run = &value_get(&log, "runs")->items[0];
	assert_int_equal(value_get(value_get(value_get(run, "tool"), "driver"), "rules")->count, 3);
	const struct value *results = value_get(run, "results");
	assert_int_equal(results->count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(value_get(&results->items[i], "level")->text, levels[i]);
	assert_string_equal(value_get(&results->items[1], "ruleId")->text, "files.three");
	assert_string_equal(value_get(&results->items[1], "ruleIndex")->text, "2");
	assert_non_null(strstr(json.out.data, "a%20folder/review.json"));
}

static void a_rule_is_named_as_the_format_wants_it(void **state)
{
	static const char *const cases[][2] = {{"kernel.io-uring", "KernelIoUring"}, {"a", "A"}, {"", ""}, {"..x..y", "XY"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) char *name = sarif_name(cases[i][0]);
		assert_string_equal(name, cases[i][1]);
	}
}

static void the_text_has_groups_and_a_sum(void **state)
{
	own(review_done) struct review review = {0};
	own(buf_done) struct buf text = {0};

	(void)state;
	review_make(&review, REVIEW_ESCAPED, REVIEW_HELD, REVIEW_DEGRADED);
	review_text(&review, false, &text);
	assert_non_null(strstr(text.data, "Files and paths: 1 of 3 held\n"));
	assert_non_null(strstr(text.data, "1 of 2 protections in full; memory-limit weaker.\n"));
	assert_non_null(strstr(text.data, ": 1 held, 1 ESCAPED, 1 degraded\n"));
	assert_null(strchr(text.data, '\033'));
}

static void every_report_says_what_holds_an_attack_and_who_says_so(void **state)
{
	static const char *const held_by[] = {"seccomp, landlock", "the kernel itself",
		"memory-limit (degraded for want of it; no test leaves it out)"};
	static const char *const judged_by[] = {"observers", "its own word", "observers"};
	own(review_done) struct review review = {0};
	own(buf_done) struct buf page = {0};
	own(json_done) struct json json = {0}, sarif = {0};

	(void)state;
	review_make(&review, REVIEW_HELD, REVIEW_HELD, REVIEW_DEGRADED);
	review_html(&review, &page);
	json_open(&json, '{');
	review_json_members(&review, &json);
	json_close(&json, '}');
	review_sarif(&review, "review.json", &sarif);
	for (size_t i = 0; i < ARRAY_LEN(held_by); i++) {
		own(freep) char *fact = xfmt("<dt>Held by</dt><dd>%s</dd><dt>Judged by</dt><dd>%s</dd>", held_by[i], judged_by[i]);
		own(freep) char *members = xfmt("\"held_by\":\"%s\",\"judged_by\":\"%s\"", held_by[i], judged_by[i]);
		own(freep) char *help = xfmt("Held by: %s. Judged by: %s.", held_by[i], judged_by[i]);
		assert_non_null(strstr(page.data, fact));
		assert_non_null(strstr(json.out.data, members));
		assert_non_null(strstr(sarif.out.data, help));
	}
	assert_non_null(strstr(page.data, "but for 1 attack that is judged by its own word"));
}

/* ---- the catalogue ---- */

static void every_attack_names_what_holds_it_and_all_have_the_same_words_for_it(void **state)
{
	own(buf_done) struct buf text = {0};

	(void)state;
	review_threats(&text);
	for (const struct review_group *group = review_groups; group->name; group++) {
		for (const struct review_attack *attack = group->attacks; attack->id; attack++) {
			own(buf_done) struct buf held_by = {0};
			if (!attack->without && !attack->wants && !attack->by)
				fail_msg("%s does not say what holds it", attack->id);
			review_held_by(attack, "`", &held_by);
			own(freep) char *cells = xfmt(" | %s | %s | ", buf_text(&held_by), review_judged_by(attack));
			if (!strchr(cells, '\\') && !strstr(text.data, cells))
				fail_msg("the threats do not say of %s:%s", attack->id, cells);
		}
	}
}

static void ids_are_unique_and_begin_with_their_group(void **state)
{
	(void)state;
	for (const struct review_group *group = review_groups; group->name; group++) {
		for (const struct review_attack *attack = group->attacks; attack->id; attack++) {
			size_t len = strlen(group->name);
			assert_true(strncmp(attack->id, group->name, len) == 0 && attack->id[len] == '.');
			assert_non_null(attack->technique);
			assert_non_null(attack->safe);
			for (const struct review_attack *other = attack + 1; other->id; other++)
				assert_string_not_equal(attack->id, other->id);
		}
	}
}

static void the_threats_name_every_attack_every_protection_and_what_is_not_covered(void **state)
{
	own(buf_done) struct buf text = {0};

	(void)state;
	review_threats(&text);
	for (const struct review_group *group = review_groups; group->name; group++) {
		for (const struct review_attack *attack = group->attacks; attack->id; attack++) {
			own(freep) char *row = xfmt("| `%s` | ", attack->id);
			assert_non_null(strstr(text.data, row));
			own(freep) char *copy = xstrdup(attack->without ? attack->without : "");
			char *rest = copy;
			for (char *name; (name = strsep(&rest, " "));) { /* each has a line that tells what it is */
				own(freep) char *mechanism = xfmt("\n| `%s` | ", name);
				if (*name && !strstr(text.data, mechanism))
					fail_msg("%s names '%s', which the threats do not explain", attack->id, name);
			}
		}
	}
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		assert_non_null(strstr(text.data, cell_protection_name(i)));
	assert_non_null(strstr(text.data, "## What is not covered"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_saved_can_be_loaded_and_is_the_same),
		cmocka_unit_test(a_saved_review_that_was_edited_anywhere_is_refused),
		cmocka_unit_test(a_saved_review_may_be_laid_out_anew),
		cmocka_unit_test(what_is_no_saved_review_is_refused),
		cmocka_unit_test(what_was_held_and_is_not_is_worse_and_the_other_way_round_better),
		cmocka_unit_test(an_attack_that_is_no_longer_tried_and_a_weaker_protection_are_worse),
		cmocka_unit_test(attacks_that_were_not_asked_for_now_are_not_missed),
		cmocka_unit_test(a_page_obeys_nothing_that_an_attack_said),
		cmocka_unit_test(sarif_has_a_rule_for_each_attack_and_a_result_for_each_that_was_not_held),
		cmocka_unit_test(a_rule_is_named_as_the_format_wants_it),
		cmocka_unit_test(the_text_has_groups_and_a_sum),
		cmocka_unit_test(every_report_says_what_holds_an_attack_and_who_says_so),
		cmocka_unit_test(every_attack_names_what_holds_it_and_all_have_the_same_words_for_it),
		cmocka_unit_test(ids_are_unique_and_begin_with_their_group),
		cmocka_unit_test(the_threats_name_every_attack_every_protection_and_what_is_not_covered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
