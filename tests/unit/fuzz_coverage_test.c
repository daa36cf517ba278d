#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "view/coverage.h"
#include "report/functions.h"
#include "fuzz/function/cover_history.h"
#include "fuzz/function/core/history.h"
#include "fuzz/function/core/lcov.h"

#define TEST(name) cmocka_unit_test(name)

static void read_lcov(const char *text, struct coverage *ret, struct lcov_left *left)
{
	lcov_read(text, strlen(text), "/target", "/home/u/p", ret, left);
}

/* ---- reading ---- */

static void lcov_of_llvm_is_read(void **state)
{
	own(coverage_done) struct coverage coverage = {0};
	struct lcov_left left;

	(void)state;
	read_lcov("SF:/target/src/w.c\nFN:5,check\nFN:20,w.c:other\nFNDA:12,check\nFNDA:0,w.c:other\nFNF:2\nFNH:1\n"
		  "DA:5,12\nDA:6,12\nDA:7,0\nBRDA:6,0,0,3\nLF:3\nLH:2\nend_of_record\n",
		&coverage, &left);
	assert_int_equal(coverage.count, 1);
	const struct coverage_file *file = &coverage.files[0];
	assert_string_equal(file->name, "src/w.c");
	assert_string_equal(file->root, "/home/u/p");
	assert_int_equal(file->lines, 3);
	assert_int_equal(file->lines_hit, 2);
	assert_int_equal(file->functions, 2);
	assert_int_equal(file->functions_hit, 1);
	assert_string_equal(file->list[0].name, "check");
	assert_int_equal(file->list[0].line, 5);
	assert_true(file->list[0].hit);
	assert_int_equal(file->hit[7], LINE_MISSED);
	assert_int_equal(left.outside + left.beyond, 0);
}

static void other_ways_to_write_lcov_are_read(void **state)
{
	own(coverage_done) struct coverage coverage = {0};
	struct lcov_left left;

	(void)state;
	read_lcov("TN:x\r\nSF:/target/a.js\r\nFN:1,9,std::pair<int, int>\r\nFNDA:1,std::pair<int, int>\r\nDA:1,3,abc=\r\nDA:2,-1\r\nDA:3,99999999999999999999\r\n"
		  "end_of_record\nSF:/target/b.go\nFNF:4\nFNH:9\nDA:2,1\n",
		&coverage, &left);
	assert_int_equal(coverage.count, 2);
	assert_string_equal(coverage.files[0].list[0].name, "std::pair<int, int>");
	assert_int_equal(coverage.files[0].functions_hit, 1);
	assert_int_equal(coverage.files[0].lines, 3);
	assert_int_equal(coverage.files[0].lines_hit, 2);
	assert_int_equal(coverage.files[1].functions, 4);
	assert_int_equal(coverage.files[1].functions_hit, 4);
}

static void what_a_file_reached_twice_is_joined(void **state)
{
	own(coverage_done) struct coverage coverage = {0}, other = {0};
	struct lcov_left left;

	(void)state;
	read_lcov("SF:/target/a.py\nFN:1,f\nFNDA:0,f\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\n"
		  "SF:/target/a.py\nFN:1,f\nFNDA:2,f\nDA:2,1\nDA:9,0\nend_of_record\n",
		&coverage, &left);
	assert_int_equal(coverage.count, 1);
	assert_int_equal(coverage.files[0].lines, 4);
	assert_int_equal(coverage.files[0].lines_hit, 2);
	assert_int_equal(coverage.files[0].functions_hit, 1);
	read_lcov("SF:/target/a.py\nDA:3,1\nend_of_record\nSF:/target/0.py\nDA:1,1\nend_of_record\n", &other, &left);
	coverage_merge(&coverage, &other);
	assert_int_equal(coverage.count, 2);
	assert_string_equal(coverage.files[0].name, "0.py");
	assert_int_equal(coverage.files[1].lines_hit, 3);
	struct coverage_sums sums = coverage_sums(coverage.files, coverage.count);
	assert_int_equal(sums.lines, 5);
	assert_int_equal(sums.lines_hit, 4);
}

static void files_that_are_not_below_the_target_are_left_out(void **state)
{
	static const char *const paths[] = {"/etc/passwd.py", "/target/../etc/x.py", "/target/a/../../x.py", "/target/./x.py", "/target//x.py",
		"/target/", "/target", "/targets/x.py", "target/x.py", "/target/.env", "/target/id_rsa", "/target/x.py/", "/target/a\tb.py",
		"/target/.py", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		own(coverage_done) struct coverage coverage = {0};
		own(freep) char *text = xfmt("SF:%s\nFN:1,f\nFNDA:1,f\nFNF:1\nDA:1,1\nend_of_record\n", paths[i]);
		struct lcov_left left;
		read_lcov(text, &coverage, &left);
		assert_int_equal(coverage.count, 0);
		assert_true(left.outside == 1 || !*paths[i]);
	}
}

static void lcov_of_strangers_is_bounded(void **state)
{
	own(buf_done) struct buf text = {0};
	own(coverage_done) struct coverage coverage = {0};
	struct lcov_left left;

	(void)state;
	read_lcov("DA:1,1\nFN:1,f\nSF:/target/a.c\nDA:4294967295,1\nDA:0,1\nDA:1\nDA:,\nDA:x,1\nFN:1\nFN:,\nFNDA:,\nFNDA:1,\nDA:500000,1\n", &coverage,
		&left);
	assert_int_equal(coverage.files[0].lines, 1);
	assert_int_equal(coverage.files[0].functions, 0);
	assert_int_equal(left.beyond, 1);
	coverage_done(&coverage);
	for (int i = 0; i < 5000; i++)
		buf_fmt(&text, "SF:/target/%d.c\nDA:400000,1\nend_of_record\n", i);
	lcov_read(buf_text(&text), text.len, "/target", "/", &coverage, &left);
	assert_int_equal(coverage.count, LCOV_RECORDS_MAX);
	assert_true(left.beyond > 1000);
	size_t lines = 0;
	for (size_t i = 0; i < coverage.count; i++)
		lines += coverage.files[i].hit_count;
	assert_true(lines <= LCOV_LINES_ALL);
}

/* ---- histories ---- */

static struct cover_history *history_of(const char *text, const char *sum)
{
	struct cover_history *history = xcalloc(1, sizeof(*history));
	struct lcov_left left;

	read_lcov(text, &history->coverage, &left);
	for (size_t i = 0; i < history->coverage.count; i++)
		history->coverage.files[i].sha256 = xfmt("%064d", sum[0]);
	memcpy(history->id, "0123456789abcdef", 17);
	history->name = xstrdup("a.py:f");
	history->language = xstrdup("python");
	history->root = xstrdup("/home/u/p");
	history->file = xstrdup("a.py");
	history->function = xstrdup("f");
	history->covered_ms = history->ended_ms = 1700000000123;
	return history;
}

static void history_freep(struct cover_history **history)
{
	if (*history)
		cover_history_done(*history);
	free(*history);
}

static void what_changed_since_the_last_time_is_counted_and_marked(void **state)
{
	own(history_freep) struct cover_history *before = history_of("SF:/target/a.py\nDA:1,1\nDA:2,1\nDA:3,0\nSF:/target/gone.py\nDA:1,1\nDA:2,0\n", "a");
	own(history_freep) struct cover_history *now =
		history_of("SF:/target/a.py\nDA:1,1\nDA:2,0\nDA:3,1\nDA:4,1\nSF:/target/new.py\nDA:7,1\n", "a");

	(void)state;
	cover_history_compare(before, now);
	assert_true(now->change.known);
	assert_int_equal(now->change.more, 3);
	assert_int_equal(now->change.less, 2);
	assert_int_equal(now->change.edited, 0);
	assert_memory_equal(now->coverage.files[0].hit + 1, "\2\4\3\3", 4);
	/* what is fresh once is nothing new the next time */
	own(history_freep) struct cover_history *again =
		history_of("SF:/target/a.py\nDA:1,1\nDA:2,0\nDA:3,1\nDA:4,1\nSF:/target/new.py\nDA:7,1\n", "a");
	cover_history_compare(now, again);
	assert_true(again->change.known);
	assert_int_equal(again->change.more + again->change.less, 0);
}

static void lines_of_an_edited_file_are_not_compared(void **state)
{
	own(history_freep) struct cover_history *before = history_of("SF:/target/a.py\nDA:1,1\nDA:2,0\n", "a");
	own(history_freep) struct cover_history *now = history_of("SF:/target/a.py\nDA:1,0\nDA:2,1\n", "b");
	own(history_freep) struct cover_history *unmeasured = history_of("", "b");

	(void)state;
	cover_history_compare(before, now);
	assert_int_equal(now->change.edited, 1);
	assert_int_equal(now->change.more + now->change.less, 0);
	unmeasured->covered_ms = 0;
	cover_history_compare(unmeasured, now);
	assert_false(now->change.known);
}

static void lines_are_written_as_ranges_and_read_back(void **state)
{
	static const char *const bad[] = {"0", "a", "1-", "-1", "2-1", "1,,2", "1,", ",1", "1-2-3", "999999999", "500001", "3,2", "1-5,5", " 1"};
	struct coverage_file file = {0};
	own(buf_done) struct buf text = {0};

	(void)state;
	assert_true(lines_read(&file, "1-3,5,100-101", LINE_REACHED));
	assert_true(lines_read(&file, "4", LINE_MISSED));
	lines_text(&file, LINE_REACHED, LINE_REACHED, &text);
	assert_string_equal(buf_text(&text), "1-3,5,100-101");
	buf_char(&text, ' ');
	lines_text(&file, LINE_REACHED, LINE_MISSED, &text);
	assert_string_equal(buf_text(&text), "1-3,5,100-101 1-5,100-101");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(lines_read(&file, bad[i], LINE_REACHED));
	coverage_file_done(&file);
}

static void a_history_is_read_back_as_it_was_written(void **state)
{
	own(history_freep) struct cover_history *history =
		history_of("SF:/target/a.py\nFN:1,f\nFNDA:1,f\nFN:9,g\nDA:1,1\nDA:2,1\nDA:10,0\n", "a");
	own(json_done) struct json json = {0}, again = {0};
	own(cover_history_done) struct cover_history read = {0};
	struct err err = {0};

	(void)state;
	history->totals = (struct target_progress){.execs = 1234567, .features = 33, .corpus = 9, .crashes = 1, .rate = 4321};
	history->change = (struct function_change){true, 1, 2, 3};
	history->coverage.files[0].hit[2] = LINE_FRESH;
	for (uint64_t i = 0; i < 3; i++)
		cover_series_add(&history->series, &(struct series_point){i * 1000, i, i, i}, false);
	cover_history_write(history, &json);
	assert_int_equal(cover_history_read(&read, buf_text(&json.out), json.out.len, "x.json", &err), 0);
	cover_history_write(&read, &again);
	assert_string_equal(buf_text(&json.out), buf_text(&again.out));
	assert_int_equal(read.coverage.files[0].functions_hit, 1);
	assert_int_equal(read.change.less, 2);
	assert_int_equal(read.series.count, 3);
}

static void histories_of_strangers_are_refused_by_the_member(void **state)
{
	static const char good[] = "{\"format\":\"hotcell-function-1\",\"name\":\"n\",\"language\":\"c\",\"root\":\"/r\",\"file\":\"a.c\","
				   "\"function\":\"f\",\"files\":[%s]}";
	static const char *const files[] = {"{}", "1", "{\"name\":\"../a.c\"}", "{\"name\":\"/etc/passwd\"}", "{\"name\":\".env\"}",
		"{\"name\":\"a.c\",\"reached\":\"9-1\"}", "{\"name\":\"a.c\",\"lines\":1,\"lines_hit\":2}",
		"{\"name\":\"a.c\",\"functions\":0,\"functions_hit\":2}"};
	struct cover_history read;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i <= ARRAY_LEN(files); i++) {
		own(buf_done) struct buf text = {0};
		bool fine = i == ARRAY_LEN(files);
		buf_fmt(&text, good, fine ? "{\"name\":\"a.c\",\"reached\":\"1-2\",\"series\":1,\"list\":[1,[\"f\"]]}" : files[i]);
		assert_int_equal(cover_history_read(&read, buf_text(&text), text.len, "x.json", &err), fine ? 0 : -1);
		assert_true(fine || strstr(err.text, "x.json: 'files'"));
	}
	assert_int_equal(read.coverage.files[0].lines_hit, 2);
	cover_history_done(&read);
	assert_int_equal(cover_history_read(&read, "[]", 2, "x.json", &err), -1);
	assert_int_equal(cover_history_read(&read, "{\"format\":1}", 12, "x.json", &err), -1);
}

static void a_series_stays_short_and_even_however_long_it_goes_on(void **state)
{
	struct cover_series series = {0};

	(void)state;
	for (uint64_t ms = 0; ms < 3600000; ms += 100)
		cover_series_add(&series, &(struct series_point){ms, ms, 0, 0}, false);
	cover_series_add(&series, &(struct series_point){3600001, 1, 2, 3}, true);
	assert_true(series.count > COVER_SERIES_MAX / 3 && series.count <= COVER_SERIES_MAX);
	assert_int_equal(series.points[0].ms, 0);
	assert_int_equal(series.points[series.count - 1].ms, 3600001);
	for (size_t i = 2; i + 1 < series.count; i++)
		assert_true(series.points[i].ms - series.points[i - 1].ms <= 2 * series.step_ms);
}

/* ---- files ---- */

struct folder {
	char path[40];
};

static void folder_done(struct folder *folder)
{
	struct err err;

	assert_int_equal(fs_remove_tree(AT_FDCWD, folder->path, &err), 0);
}

static void put(const struct folder *folder, const char *name, const char *text)
{
	own(freep) char *path = xfmt("%s/%s", folder->path, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static void histories_are_kept_in_the_state_and_found_there(void **state)
{
	own(folder_done) struct folder folder = {"/tmp/hotcell-cover-XXXXXX"};
	own(history_freep) struct cover_history *history = history_of("SF:/target/a.py\nDA:1,1\n", "a");
	own(cover_histories_done) struct cover_histories all = {0};
	own(cover_history_done) struct cover_history read = {0};
	struct err err = {0};

	(void)state;
	assert_non_null(mkdtemp(folder.path));
	assert_int_equal(cover_history_load(folder.path, history->id, &read, &err), -1);
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(cover_histories_open(folder.path, &all, &err), 0);
	assert_int_equal(all.count, 0);
	assert_int_equal(cover_history_save(folder.path, history, &err), 0);
	assert_int_equal(cover_history_load(folder.path, history->id, &read, &err), 0);
	assert_string_equal(read.id, history->id);
	put(&folder, "functions/00000000000000ff.json", "{");
	put(&folder, "functions/other.json", "{");
	assert_int_equal(cover_histories_open(folder.path, &all, &err), 0);
	assert_int_equal(all.count, 1);
	assert_int_equal(all.unread.count, 1);
}

static void sources_are_read_below_their_root_and_through_no_link(void **state)
{
	own(folder_done) struct folder folder = {"/tmp/hotcell-cover-XXXXXX"};
	own(buf_done) struct buf text = {0};
	char sum[65];

	(void)state;
	assert_non_null(mkdtemp(folder.path));
	put(&folder, "a.py", "x = 1\n");
	put(&folder, "key.pem", "secret");
	own(freep) char *link = xfmt("%s/link.py", folder.path), *inner = xfmt("%s/inner", folder.path);
	assert_int_equal(symlink("a.py", link), 0);
	assert_int_equal(symlink("/tmp", inner), 0);
	assert_true(cover_source_read(folder.path, "a.py", &text, sum));
	assert_string_equal(buf_text(&text), "x = 1\n");
	assert_int_equal(strlen(sum), 64);
	own(freep) char *around = xfmt("inner/%s/a.py", folder.path + 5);
	const char *const bad[] = {"link.py", "key.pem", around, "../a.py", "none.py", ""};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(cover_source_read(folder.path, bad[i], &text, sum));
}

/* ---- shown ---- */

static struct function_result result_of(struct coverage *coverage, struct coverage_sums *covered, struct function_change *change)
{
	*covered = coverage_sums(coverage->files, coverage->count);
	return (struct function_result){.target_count = 1, .coverage = coverage->files, .coverage_count = coverage->count,
		.covered = covered, .changes = change};
}

static void coverage_is_told_as_a_table_as_json_and_as_lcov(void **state)
{
	own(coverage_done) struct coverage coverage = {0}, back = {0};
	own(buf_done) struct buf table = {0}, lcov = {0};
	own(json_done) struct json json = {0};
	struct function_change change = {true, 12, 0, 1};
	struct coverage_sums sums;
	struct lcov_left left;

	(void)state;
	read_lcov("SF:/target/a.py\nFN:1,f\nFNDA:1,f\nFN:5,g\nDA:1,1\nDA:2,1\nDA:6,0\nDA:7,0\nSF:/target/\033[1m.py\nDA:1,1\nSF:/target/b.py\nDA:1,1\n",
		&coverage, &left);
	const struct function_result result = result_of(&coverage, &sums, &change);
	coverage_put_table(&result, "/home/u", &table);
	assert_non_null(strstr(buf_text(&table), "p/a.py      "));
	assert_non_null(strstr(buf_text(&table), "2/4   50.0 %"));
	assert_non_null(strstr(buf_text(&table), "1/2   50.0 %"));
	assert_non_null(strstr(buf_text(&table), "\nall "));
	assert_non_null(strstr(buf_text(&table), "since the last run: +12 lines reached, -0; 1 file edited since"));
	json_open(&json, '{');
	coverage_put_json(&result, &json);
	json_close(&json, '}');
	assert_non_null(strstr(buf_text(&json.out), "{\"coverage\":{\"lines\":5,\"lines_hit\":3,\"functions\":2,\"functions_hit\":1,\"change\":{\"more\":12"));
	assert_non_null(strstr(buf_text(&json.out), "\"missed\":[[6,7]]"));
	coverage_put_lcov(&result, &lcov);
	assert_non_null(strstr(buf_text(&lcov), "SF:/home/u/p/a.py\nFN:1,f\nFN:5,g\nFNDA:1,f\nFNDA:0,g\nFNF:2\nFNH:1\nDA:1,1\n"));
	lcov_read(buf_text(&lcov), lcov.len, "/home/u/p", "/home/u/p", &back, &left);
	struct coverage_sums again = coverage_sums(back.files, back.count);
	assert_memory_equal(&again, &sums, sizeof(sums));
}

static void nothing_is_told_where_nothing_was_measured(void **state)
{
	const struct function_result result = {0};
	own(buf_done) struct buf table = {0};

	(void)state;
	coverage_put_table(&result, NULL, &table);
	assert_int_equal(table.len, 0);
}

static void a_page_shows_sources_escaped_and_only_as_they_were_measured(void **state)
{
	own(folder_done) struct folder folder = {"/tmp/hotcell-cover-XXXXXX"};
	own(buf_done) struct buf text = {0}, page = {0}, other = {0};
	struct cover_history *history = history_of("SF:/target/a.py\nFN:1,<i>f\nFNDA:1,<i>f\nFN:3,never\nDA:1,1\nDA:2,0\n", "a");
	own(cover_histories_done) struct cover_histories all = {.list = history, .count = 1};
	const struct findings none = {.now = 1700000000};
	char sum[65];

	(void)state;
	assert_non_null(mkdtemp(folder.path));
	put(&folder, "a.py", "print(\"<script>alert(1)</script>\")\nx = '\033]0;y\a'\n");
	assert_true(cover_source_read(folder.path, "a.py", &text, sum));
	struct coverage_file *file = &history->coverage.files[0];
	free(file->root);
	file->root = xstrdup(folder.path);
	free(file->sha256);
	file->sha256 = xstrdup(sum);
	free(history->name);
	history->name = xstrdup("</code><b>x");
	for (uint64_t i = 0; i < 20; i++)
		cover_series_add(&history->series, &(struct series_point){i * 500, i * 1000, i * 3, i}, false);
	char oracle[] = "exception", word[] = "f", path[] = "x/a.py";
	const struct finding finding = {.id = "0123456789abcdef", .oracle = oracle, .target = history->name, .subject = word,
		.message = word, .input = word, .kind = word, .file = path, .line = 2};
	const struct finding *const list[] = {&finding};
	const struct findings found = {.list = list, .count = 1, .now = 1700000000, .capsule_folder = "x"};
	functions_html(&all, &found, &page);
	assert_null(strstr(buf_text(&page), "<script"));
	assert_null(strstr(buf_text(&page), "\033"));
	assert_null(strstr(buf_text(&page), "<b>x"));
	assert_null(strstr(buf_text(&page), "<i>f"));
	assert_non_null(strstr(buf_text(&page), "<span class=\"hit\"><i>1  </i>print(&quot;&lt;script&gt;"));
	assert_non_null(strstr(buf_text(&page), "<span class=\"missed\"><i>2 !</i>"));
	assert_non_null(strstr(buf_text(&page), "<path class=running d=\"M64 "));
	assert_non_null(strstr(buf_text(&page), "<code>never</code> (3)"));
	assert_non_null(strstr(buf_text(&page), " <a href=\"#f-0123456789abcdef\">medium: exception</a></span>"));
	put(&folder, "a.py", "another text\n");
	functions_html(&all, &none, &other);
	assert_null(strstr(buf_text(&other), "another text"));
	assert_non_null(strstr(buf_text(&other), "its source has changed since it was measured"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lcov_of_llvm_is_read),
		TEST(other_ways_to_write_lcov_are_read),
		TEST(what_a_file_reached_twice_is_joined),
		TEST(files_that_are_not_below_the_target_are_left_out),
		TEST(lcov_of_strangers_is_bounded),
		TEST(what_changed_since_the_last_time_is_counted_and_marked),
		TEST(lines_of_an_edited_file_are_not_compared),
		TEST(lines_are_written_as_ranges_and_read_back),
		TEST(a_history_is_read_back_as_it_was_written),
		TEST(histories_of_strangers_are_refused_by_the_member),
		TEST(a_series_stays_short_and_even_however_long_it_goes_on),
		TEST(histories_are_kept_in_the_state_and_found_there),
		TEST(sources_are_read_below_their_root_and_through_no_link),
		TEST(coverage_is_told_as_a_table_as_json_and_as_lcov),
		TEST(nothing_is_told_where_nothing_was_measured),
		TEST(a_page_shows_sources_escaped_and_only_as_they_were_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
