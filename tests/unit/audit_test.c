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
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/base64.h"
#include "base/fs.h"
#include "run/cell_audit.h"

struct fixture {
	char folder[64];
	char path[96];
	struct redactor *redactor;
};

static int setup(void **state)
{
	static const char *const values[] = {"open sesame!"};
	struct fixture *it = xcalloc(1, sizeof(*it));

	(void)snprintf(it->folder, sizeof(it->folder), "/tmp/hotcell-audit-XXXXXX");
	assert_non_null(mkdtemp(it->folder));
	(void)snprintf(it->path, sizeof(it->path), "%s/audit.jsonl", it->folder);
	it->redactor = redactor_make(&(struct redact_known){.values = values, .count = 1});
	*state = it;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *it = *state;
	struct err err;

	assert_int_equal(fs_remove_tree(AT_FDCWD, it->folder, &err), 0);
	redactor_free(it->redactor);
	free(it);
	return 0;
}

static struct audit *open_log(const struct fixture *it)
{
	struct err err = {0};
	struct audit *audit = audit_open(it->path, it->redactor, &err);

	if (!audit)
		fail_msg("%s", err.text);
	return audit;
}

static void add(struct audit *audit, const char *event, const char *text)
{
	struct json *json = audit_begin(audit, event);

	json_put_uint(json, "run", 7);
	audit_text(audit, "text", text);
	audit_end(audit);
}

static void flush(struct audit *audit)
{
	struct err err = {0};

	if (audit_flush(audit, &err) < 0)
		fail_msg("%s", err.text);
}

static void add_some(const struct fixture *it, int count)
{
	own(audit_freep) struct audit *audit = open_log(it);

	for (int i = 0; i < count; i++)
		add(audit, "cell-start", "x");
	flush(audit);
	assert_true(audit_clean(audit));
}

static void read_log(const struct fixture *it, struct buf *ret)
{
	struct err err = {0};

	ret->len = 0;
	if (fs_read_small(AT_FDCWD, it->path, 1 << 20, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void write_log(const struct fixture *it, const void *bytes, size_t len)
{
	FILE *file = fopen(it->path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

struct found {
	uint64_t line;
	char text[400];
};

static void on_problem(void *data, uint64_t line, const char *text)
{
	struct found *found = data;

	if (found->line != 0)
		return; /* the first one counts */
	found->line = line;
	(void)snprintf(found->text, sizeof(found->text), "%s", text);
}

static struct audit_report verify(const struct fixture *it, const struct audit_head *outside, struct found *ret)
{
	struct audit_report report;
	struct err err = {0};

	*ret = (struct found){0};
	if (audit_verify(it->path, outside, on_problem, ret, &report, &err) < 0)
		fail_msg("%s", err.text);
	return report;
}

static void expect_good(const struct fixture *it, uint64_t lines)
{
	struct found found;
	struct audit_report report = verify(it, NULL, &found);

	if (report.problems)
		fail_msg("line %llu %s", (unsigned long long)found.line, found.text);
	assert_int_equal(report.lines, lines);
}

static void expect_bad(const struct fixture *it, uint64_t line, const char *text)
{
	struct found found;
	struct audit_report report = verify(it, NULL, &found);

	if (report.problems == 0 || found.line != line || !strstr(found.text, text))
		fail_msg("%llu problems; line %llu '%s', not line %llu '%s'", (unsigned long long)report.problems,
			(unsigned long long)found.line, found.text, (unsigned long long)line, text);
}

/* Where line `number` begins; one behind the last is the end. */
static size_t line_at(const struct buf *text, int number)
{
	size_t at = 0;

	for (; number > 1; number--)
		at = (size_t)((char *)memchr(text->data + at, '\n', text->len - at) - text->data) + 1;
	return at;
}

static void a_log_that_nobody_touched_is_good(void **state)
{
	const struct fixture *it = *state;
	struct stat st;

	add_some(it, 3);
	add_some(it, 2);
	expect_good(it, 5);
	assert_int_equal(stat(it->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void each_line_carries_the_sum_of_the_one_before(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX], expected[128];
	struct sha256 sha;

	add_some(it, 2);
	read_log(it, &text);
	size_t second = line_at(&text, 2);
	assert_memory_equal(text.data, "{\"seq\":1,\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"time\":\"20", 88);
	sha256_init(&sha);
	sha256_add(&sha, text.data, second - 1);
	sha256_end(&sha, sum);
	sha256_hex(sum, hex);
	(void)snprintf(expected, sizeof(expected), "{\"seq\":2,\"prev\":\"%s\",", hex);
	assert_memory_equal(text.data + second, expected, strlen(expected));
}

static void an_edited_line_is_named(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};

	add_some(it, 5);
	for (int line = 1; line <= 5; line++) {
		read_log(it, &text);
		char *run = strstr(text.data + line_at(&text, line), "\"run\":7");
		run[6] = '8';
		write_log(it, text.data, text.len);
		expect_bad(it, (uint64_t)line, "was edited");
		run[6] = '7';
		write_log(it, text.data, text.len);
		expect_good(it, 5);
	}
}

static void a_dropped_line_is_named(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};

	add_some(it, 5);
	read_log(it, &text);
	for (int line = 1; line < 5; line++) {
		own(buf_done) struct buf less = {0};
		buf_add(&less, text.data, line_at(&text, line));
		buf_add(&less, text.data + line_at(&text, line + 1), text.len - line_at(&text, line + 1));
		write_log(it, less.data, less.len);
		expect_bad(it, (uint64_t)line, "dropped");
	}
}

static void lines_out_of_order_are_named(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0}, other = {0};

	add_some(it, 4);
	read_log(it, &text);
	buf_add(&other, text.data, line_at(&text, 2));
	buf_add(&other, text.data + line_at(&text, 3), line_at(&text, 4) - line_at(&text, 3));
	buf_add(&other, text.data + line_at(&text, 2), line_at(&text, 3) - line_at(&text, 2));
	buf_add(&other, text.data + line_at(&text, 4), text.len - line_at(&text, 4));
	write_log(it, other.data, other.len);
	expect_bad(it, 2, "dropped");
	write_log(it, text.data, text.len);
	buf_add(&text, text.data + line_at(&text, 2), line_at(&text, 3) - line_at(&text, 2));
	write_log(it, text.data, text.len);
	expect_bad(it, 5, "out of order");
}

static void an_end_that_was_cut_off_is_seen_by_the_head(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};
	own(freep) char *head = audit_head_path(it->path);

	add_some(it, 5);
	read_log(it, &text);
	for (int line = 1; line <= 5; line++) {
		write_log(it, text.data, line_at(&text, line));
		expect_bad(it, (uint64_t)line - 1, "cut off");
	}
	write_log(it, text.data, line_at(&text, 5));
	add_some(it, 1); /* a later writer does not wash it out */
	expect_bad(it, 5, "dropped");
	assert_int_equal(unlink(head), 0);
	write_log(it, text.data, text.len);
	expect_bad(it, 5, "head beside it is missing");
}

static void a_log_without_lines_and_without_its_head_was_cut_off(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};
	own(freep) char *head = audit_head_path(it->path);
	struct audit_head outside;
	struct found found;

	add_some(it, 3);
	outside = verify(it, NULL, &found).head;
	read_log(it, &text);
	assert_int_equal(unlink(head), 0);
	write_log(it, "", 0);
	expect_bad(it, 0, "is empty, and the head beside it is missing");
	assert_int_equal(verify(it, &outside, &found).problems, 1);
	assert_non_null(strstr(found.text, "the head you gave says 3"));
	write_log(it, text.data, 20);
	expect_bad(it, 1, "the head beside it is missing, too");
	assert_int_equal(verify(it, NULL, &found).torn_end, 20);
	add_some(it, 1); /* a writer accounts for the piece, and begins anew */
	expect_good(it, 2);
}

static void a_head_kept_elsewhere_tells_a_log_that_was_made_up(void **state)
{
	const struct fixture *it = *state;
	own(freep) char *beside = audit_head_path(it->path);
	struct audit_head kept;
	struct found found;
	char text[AUDIT_HEAD_TEXT];

	add_some(it, 3);
	struct audit_report report = verify(it, NULL, &found);
	audit_head_text(&report.head, text);
	assert_true(audit_head_parse(text, &kept));
	add_some(it, 2);
	assert_int_equal(verify(it, &kept, &found).problems, 0);
	assert_int_equal(unlink(it->path), 0);
	assert_int_equal(unlink(beside), 0);
	own(audit_freep) struct audit *forged = open_log(it);
	for (int i = 0; i < 5; i++)
		add(forged, "cell-start", "something else"); /* the same in the same millisecond would be the same log */
	flush(forged);
	expect_good(it, 5);
	assert_int_equal(verify(it, &kept, &found).problems, 1);
	assert_int_equal(found.line, 3);
}

static void a_torn_line_is_told_and_then_kept(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0}, now = {0};
	struct found found;

	add_some(it, 3);
	read_log(it, &text);
	size_t last = line_at(&text, 3);
	struct audit_head head = {.seq = 2}; /* its writer was killed before it moved the head */
	own(freep) char *beside = audit_head_path(it->path);
	for (size_t cut = last + 1; cut < text.len - 1; cut += 13) {
		write_log(it, text.data, last);
		assert_int_equal(unlink(beside), 0);
		head = verify(it, &head, &found).head;
		write_log(it, text.data, cut);
		struct audit_report report = verify(it, &head, &found);
		assert_int_equal(report.torn_end, cut - last);
		assert_int_equal(report.problems, 0);
		add_some(it, 2);
		report = verify(it, NULL, &found);
		if (report.problems)
			fail_msg("cut at %zu: line %llu %s", cut - last, (unsigned long long)found.line, found.text);
		assert_int_equal(report.torn, 1);
		assert_int_equal(report.lines, 5); /* two, the one that tells, two */
		read_log(it, &now);
		now.data[last + 1] ^= 1; /* the piece itself is protected, too */
		write_log(it, now.data, now.len);
		expect_bad(it, 3, "is no record");
	}
}

static void a_repair_that_was_torn_is_repaired(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};
	own(freep) char *beside = audit_head_path(it->path);
	struct found found;

	add_some(it, 2);
	read_log(it, &text);
	buf_str(&text, "{\"seq\":3,\"pr\n{\"seq\":3,\"prev\":\"00");
	write_log(it, text.data, text.len);
	add_some(it, 1);
	struct audit_report report = verify(it, NULL, &found);
	assert_int_equal(report.problems, 0);
	assert_int_equal(report.torn, 1);
	assert_int_equal(report.lines, 4);
	write_log(it, "{\"seq\":1,", 9); /* the very first */
	assert_int_equal(unlink(beside), 0);
	add_some(it, 1);
	expect_good(it, 2);
}

static void a_last_line_without_its_newline_is_whole(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};

	add_some(it, 2);
	read_log(it, &text);
	write_log(it, text.data, text.len - 1);
	add_some(it, 1);
	expect_good(it, 3);
}

static void a_file_that_is_no_log_is_left_alone(void **state)
{
	static const char *const texts[] = {"hello\n", "hello", "{\"a\":1}\n", "\n"};
	const struct fixture *it = *state;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(buf_done) struct buf text = {0};
		write_log(it, texts[i], strlen(texts[i]));
		struct audit_report report;
		assert_null(audit_open(it->path, it->redactor, &err));
		assert_int_equal(audit_verify(it->path, NULL, on_problem, NULL, &report, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		read_log(it, &text);
		assert_string_equal(buf_text(&text), texts[i]);
	}
	assert_int_equal(unlink(it->path), 0);
	assert_int_equal(mkfifo(it->path, 0600), 0);
	assert_null(audit_open(it->path, it->redactor, &err));
	assert_int_equal(unlink(it->path), 0);
	assert_int_equal(symlink("/etc/passwd", it->path), 0);
	assert_null(audit_open(it->path, it->redactor, &err));
}

static void what_is_written_is_redacted(void **state)
{
	const struct fixture *it = *state;
	own(audit_freep) struct audit *audit = open_log(it);
	static const char *const words[] = {"curl", "-u", "open sesame!", NULL}, *const split[] = {"open", "sesame!", NULL};
	own(buf_done) struct buf text = {0};

	add(audit, "cell-start", "say open sesame! in /home/bob/\x1b[31m");
	(void)audit_begin(audit, "policy");
	audit_words(audit, "command", words);
	audit_words(audit, "split", split);
	audit_end(audit);
	flush(audit);
	read_log(it, &text);
	assert_null(strstr(text.data, "sesame"));
	assert_null(strstr(text.data, "bob"));
	assert_non_null(strstr(text.data, "say [redacted:value] in [redacted:home]/\\u001b[31m"));
	assert_non_null(strstr(text.data, "\"command\":\"curl -u [redacted:value]\""));
	expect_good(it, 2);
}

static void a_long_text_is_cut_after_it_was_redacted(void **state)
{
	const struct fixture *it = *state;
	own(audit_freep) struct audit *audit = open_log(it);
	own(buf_done) struct buf text = {0}, long_text = {0};

	for (int i = 0; i < AUDIT_TEXT_MAX - 5; i++)
		buf_char(&long_text, '.');
	buf_str(&long_text, "open sesame!");
	add(audit, "cell-end", long_text.data);
	flush(audit);
	read_log(it, &text);
	assert_null(strstr(text.data, "open"));
	assert_non_null(strstr(text.data, "[reda..."));
}

static void several_processes_write_one_chain(void **state)
{
	const struct fixture *it = *state;
	pid_t pids[4];

	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		struct err err;
		struct audit *audit = audit_open(it->path, it->redactor, &err);
		for (int j = 0; audit && j < 50; j++) {
			add(audit, "cell-start", "x");
			add(audit, "cell-end", "y");
			while (audit_flush(audit, &err) < 0 && err.code == EAGAIN)
				continue;
		}
		_exit(audit ? 0 : 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		int status;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	expect_good(it, 400);
}

static void a_log_that_grew_too_little_goes_on_behind_what_is_gone(void **state)
{
	const struct fixture *it = *state;
	own(audit_freep) struct audit *audit = open_log(it);
	own(freep) char *beside = audit_head_path(it->path);

	add(audit, "a", "x");
	add(audit, "b", "x");
	flush(audit);
	assert_int_equal(unlink(it->path), 0);
	assert_int_equal(unlink(beside), 0);
	add(audit, "c", "x");
	flush(audit);
	expect_bad(it, 1, "dropped");
}

static void a_refusal_is_a_line(void **state)
{
	const struct fixture *it = *state;
	own(buf_done) struct buf text = {0};
	struct found found;
	struct err err = {0};

	assert_int_equal(cell_audit_refusal(it->path, NULL, "manifest", "'/home/bob/x' changed", &err), 0);
	assert_int_equal(cell_audit_refusal(it->folder, NULL, "manifest", "x", &err), -1);
	assert_int_equal(verify(it, NULL, &found).lines, 1);
	assert_int_equal(fs_read_small(AT_FDCWD, it->path, 4096, &text, &err), 0);
	assert_non_null(strstr(buf_text(&text), "\"event\":\"refused\",\"rule\":\"manifest\",\"text\":\"'[redacted:home]/x' changed\""));
}

/* It is written over in place; what is there instead is replaced. */
static void a_head_that_is_something_else_is_replaced_and_not_written_through(void **state)
{
	const struct fixture *it = *state;
	own(freep) char *beside = audit_head_path(it->path), *canary = xfmt("%s/canary", it->folder);
	own(buf_done) struct buf text = {0};
	struct audit *audit = open_log(it);
	struct found found;
	struct err err = {0};

	add(audit, "one", "x");
	assert_int_equal(audit_flush(audit, &err), 0);
	assert_int_equal(unlink(beside), 0);
	FILE *file = fopen(canary, "we");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(symlink(canary, beside), 0);
	add(audit, "two", "x");
	assert_int_equal(audit_flush(audit, &err), 0);
	assert_int_equal(fs_read_small(AT_FDCWD, canary, 100, &text, &err), 0);
	assert_int_equal(text.len, 0);
	assert_int_equal(unlink(beside), 0);
	assert_int_equal(link(canary, beside), 0); /* and a second name of it */
	add(audit, "three", "x");
	assert_int_equal(audit_flush(audit, &err), 0);
	assert_int_equal(fs_read_small(AT_FDCWD, canary, 100, &text, &err), 0);
	assert_int_equal(text.len, 0);
	struct audit_report report = verify(it, NULL, &found);
	assert_int_equal(report.problems, 0);
	assert_int_equal(report.unheaded, 0);
	audit_free(audit);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_log_that_nobody_touched_is_good),
		TEST(each_line_carries_the_sum_of_the_one_before),
		TEST(an_edited_line_is_named),
		TEST(a_dropped_line_is_named),
		TEST(lines_out_of_order_are_named),
		TEST(an_end_that_was_cut_off_is_seen_by_the_head),
		TEST(a_log_without_lines_and_without_its_head_was_cut_off),
		TEST(a_head_kept_elsewhere_tells_a_log_that_was_made_up),
		TEST(a_torn_line_is_told_and_then_kept),
		TEST(a_repair_that_was_torn_is_repaired),
		TEST(a_last_line_without_its_newline_is_whole),
		TEST(a_file_that_is_no_log_is_left_alone),
		TEST(what_is_written_is_redacted),
		TEST(a_long_text_is_cut_after_it_was_redacted),
		TEST(several_processes_write_one_chain),
		TEST(a_log_that_grew_too_little_goes_on_behind_what_is_gone),
		TEST(a_refusal_is_a_line),
		TEST(a_head_that_is_something_else_is_replaced_and_not_written_through),
	};
	return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
