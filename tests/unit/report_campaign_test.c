#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "report/campaign.h"
#include "report/campaign_private.h"

static int folders_make(const char *path, struct err *err)
{
	own(fd_closep) int fd = beneath_root_make(path, 0755, NULL, err);

	return fd < 0 ? -1 : 0;
}

#define NOW UINT64_C(1700000000000)
#define MB (UINT64_C(1) << 20)

/* ---- a ledger that makes up its runs ---- */

static uint64_t made_runs; /* how many began */
static void (*make_run)(struct run_record *run);
static bool ledger_breaks;

int ledger_runs(struct ledger *ledger, int64_t campaign, const struct ledger_query *query,
	ledger_run_fn *fn, void *data, struct err *err)
{
	(void)ledger;
	assert_int_equal(campaign, 17);
	assert_int_equal(query->order, LEDGER_BY_NUMBER);
	if (ledger_breaks)
		return err_set(err, EIO, "the ledger is broken");
	for (uint64_t number = 1; number <= made_runs; number++) {
		struct run_record run = {.number = number,
			.attempt = 1,
			.worker = (unsigned)((number - 1) % 3 + 1),
			.seed = number * 11,
			.started_ms = NOW + number * 1000,
			.ended_ms = NOW + number * 1000 + 900,
			.wall_ns = 900 * NS_PER_MS,
			.state = RUN_SUCCESS,
			.peak_memory = 5 * MB};
		make_run(&run);
		int rc = fn(data, &run);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Runs 2, 12, 22 ... exit with 3, 5, 25, 45 ... time out; run 7 was slow. */
static void ordinary(struct run_record *run)
{
	static char exits[] = "exit 3", late[] = "timeout after 60s";

	if (run->number % 10 == 2)
		run->state = RUN_ERROR, run->exit_code = 3, run->cause = exits;
	if (run->number % 20 == 5)
		run->state = RUN_TIMEOUT, run->outcome = CELL_TIMEOUT, run->cause = late;
	if (run->number == 7)
		run->wall_ns = 42300 * NS_PER_MS;
}

/* ---- a campaign, and its page ---- */

static char name[] = "nightly", note[] = "", cwd[] = "/p/q r";
static char words[] = "--runs=30\0--workers=3\0--memory=64M\0--\0sh\0-c\0echo 'a' <b>";
static char env_names[] = "API_KEY";
static char folder[] = "/tmp/hotcell-report-XXXXXX";
static char sessions[sizeof(folder) + 32];

static struct campaign_status campaign_of(uint64_t runs)
{
	struct campaign_status status = {
		.campaign = {.id = 17,
			.name = name,
			.note = note,
			.cwd = cwd,
			.output = sessions,
			.words = words,
			.words_len = sizeof(words),
			.env_names = env_names,
			.env_names_len = sizeof(env_names),
			.state = CAMPAIGN_STOPPED,
			.plan = {.runs = runs, .workers = 3, .seed = 99},
			.timeout_ms = 60000,
			.memory_limit = 64 * MB,
			.created_ms = NOW,
			.updated_ms = NOW + 40000,
			.active_ms = 40000,
			.sums = {.cells = 20,
				.weaker = 4,
				.wall_ns = 20 * NS_PER_S,
				.state = {[RUN_SUCCESS] = 17, [RUN_ERROR] = 2, [RUN_TIMEOUT] = 1}}},
		.now_ms = NOW + 50000,
	};

	status_derive(&status);
	return status;
}

static void page_of(const struct campaign_status *status, const char *file, struct buf *out)
{
	struct err err = {0};

	if (report_html_at(NULL, status, file, NULL, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_has(const struct buf *out, const char *text)
{
	if (!out->data || !strstr(out->data, text))
		fail_msg("no '%s'", text);
}

static void assert_has_not(const struct buf *out, const char *text)
{
	const char *at = strstr(buf_text(out), text);

	if (at)
		fail_msg("'%s' in ...%.60s", text, at > out->data + 20 ? at - 20 : at);
}

static unsigned count_of(const struct buf *out, const char *text)
{
	unsigned count = 0;

	for (const char *at = buf_text(out); (at = strstr(at, text)); at += strlen(text))
		count++;
	return count;
}

/* Nothing is loaded by it, run by it, or styled by it. */
static void check_attributes(const char *tag, const char *end)
{
	static const char *const never[] = {
		"src=", "srcset", "http:", "https:", "data:", "script:", "url(", " on", " style="};
	size_t len = (size_t)(end - tag);

	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (memmem(tag, len, never[i], strlen(never[i])))
			fail_msg("'%s' in <%.*s>", never[i], (int)len, tag);
}

/* Tags as a browser sees them: every one that is opened is closed in its turn, and none is there
 * but ours. */
static void check_tags(const struct buf *out)
{
	static const char *const alone[] = {"meta", "!DOCTYPE", "rect", "line"};
	static const char *const known[] = {"html", "head", "title", "style", "body", "header",
		"h1", "h2", "span", "div", "nav", "a", "i", "b", "p", "small", "svg", "g", "text",
		"main", "section", "table", "tr", "th", "td", "details", "summary", "pre", "code",
		"footer"};
	char stack[32][12];
	size_t depth = 0;

	for (const char *at = buf_text(out); (at = strchr(at, '<')); at++) {
		bool closes = at[1] == '/';
		const char *tag = at + 1 + closes;
		size_t len = strcspn(tag, " />\n");
		const char *end = strchr(tag, '>');
		char text[12];
		bool found = false, is_alone = false;
		assert_true(len > 0 && len < sizeof(text));
		assert_non_null(end);
		(void)snprintf(text, sizeof(text), "%.*s", (int)len, tag);
		check_attributes(tag, end);
		for (size_t i = 0; i < ARRAY_LEN(alone); i++)
			is_alone = is_alone || strcmp(text, alone[i]) == 0;
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			found = found || strcmp(text, known[i]) == 0;
		if (!found && !is_alone)
			fail_msg("<%s> is none of ours", text);
		if (closes) {
			assert_true(depth > 0);
			if (strcmp(stack[--depth], text) != 0)
				fail_msg("</%s> closes <%s>", text, stack[depth]);
		} else if (end[-1] != '/' && (!is_alone || strcmp(text, "rect") == 0)) {
			assert_true(depth < ARRAY_LEN(stack));
			(void)snprintf(stack[depth++], sizeof(stack[0]), "%s", text);
		}
	}
	assert_int_equal(depth, 0);
}

/* It loads nothing, runs nothing, and every byte of it can be shown. */
static void check_page(const struct buf *out)
{
	static const char *const never[] = {"url(", "@import", "http", "javascript"};

	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		assert_null(strstr(html_style, never[i]));
	assert_has(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">");
	assert_int_equal(strlen(buf_text(out)), out->len);
	for (size_t at = 0; at < out->len;) {
		int size = utf8_char(out->data + at, out->len - at);
		assert_true(size > 0);
		if (utf8_is_control(out->data + at, size))
			assert_true(out->data[at] == '\n' || out->data[at] == '\t');
		at += (size_t)size;
	}
	check_tags(out);
}

static void write_log(const char *session, const char *file, const void *bytes, size_t len)
{
	own(freep) char *dir = xfmt("%s/%s", sessions, session), *path = xfmt("%s/%s", dir, file);
	struct err err;

	assert_int_equal(folders_make(dir, &err), 0);
	own(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
}

/* ---- promises ---- */

static void the_page_tells_what_happened(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = campaign_of(30);

	(void)state;
	made_runs = 20;
	make_run = ordinary;
	page_of(&status, NULL, &out);
	check_page(&out);
	assert_has(&out, "<h1>nightly <span class=stopped>stopped</span></h1>");
	assert_has(
		&out, "20 of 30 runs complete, begun 2023-11-14 22:13:20 UTC, at work for 40.0 s.");
	assert_has(&out, "<b>17</b><small>succeeded, 56.7%");
	assert_has(&out, "<b>10</b><small>to do, 33.3%");
	assert_int_equal(count_of(&out, ": not begun\"></i>"), 10);
	assert_int_equal(count_of(&out, "<a class=success title="), 17);
	assert_has(&out, "<a class=error title=\"2: error\" href=\"");
	assert_has(&out, "<td class=n>42.3 s</td>");
	assert_has(&out, "longest 42.3 s");
	assert_has(&out, "<b>[002] ✗ Failed: Cell error (exit 3)</b>");
	assert_has(&out, "<b>[005] ✗ Failed: Timeout after 60s</b>");
	assert_has(&out, "<tr><td>exit 3</td><td class=n>2</td><td class=n>66.7%</td>");
	assert_has(&out, "<b>4 of 20 cells lacked a protection.</b>");
	assert_has(&out, "hotcell logs nightly/2</pre>");
	assert_has(&out,
		"cd &#39;/p/q r&#39; &amp;&amp; hotcell run --timeout=60s --env=HOTCELL_RUN=2 "
		"--env=HOTCELL_SEED=22 --env=HOTCELL_CAMPAIGN=nightly --memory=64M -- sh -c "
		"&#39;echo &#39;\\&#39;&#39;a&#39;\\&#39;&#39; &lt;b&gt;&#39;</pre>");
	assert_has(&out, "and the seed 99,");
	assert_has(&out, "API_KEY</code>. Add them.");
}

static void networked(struct run_record *run)
{
	run->network.count[COUNT_REFUSED] = run->number < 4;
}

static void the_page_tells_what_doors_let_through_and_what_they_refused(void **state)
{
	static const char first[] =
		"{\"door\":\"proxy\",\"name\":\"evil.example\",\"port\":443,\"verdict\":\"refused\",\"reason\":\"not on the allowlist\","
		"\"sent\":0,\"received\":0}\n"
		"{\"door\":\"db\",\"name\":\"db\",\"port\":5432,\"verdict\":\"allowed\",\"reason\":\"\",\"sent\":2048,\"received\":1}\n";
	static const char second[] =
		"{\"door\":\"proxy\",\"name\":\"evil.example\",\"port\":443,\"verdict\":\"refused\",\"reason\":\"not on the allowlist\"}\n"
		"{\"door\":\"proxy\",\"name\":\"<script>\",\"port\":-1,\"verdict\":\"failed\",\"reason\":\"\\u001b[31m\"}\n"
		"{\"verdict\":[],\"name\":7}\n[[[[[[\n\nno json\n{\"verdict\":\"refused\"";
	own(buf_done) struct buf out = {0};
	struct campaign_status status = campaign_of(30);

	(void)state;
	made_runs = 20;
	make_run = networked;
	status.campaign.sums.network.count[COUNT_REFUSED] = 3;
	write_log("001", "network.jsonl", first, sizeof(first) - 1);
	write_log("002", "network.jsonl", second, sizeof(second) - 1);
	page_of(&status, NULL, &out);
	check_page(&out);
	assert_has(&out, "<tr><td>evil.example</td><td class=n>443</td><td>proxy</td><td>not on the allowlist</td><td class=n>2</td>");
	assert_has(&out, "<tr><td>&lt;script&gt;</td><td class=n>0</td>");
	assert_has(&out, "<tr><td>db</td><td class=n>5432</td><td>db</td><td class=n>1</td><td class=n>2 KB</td>");
}

static void what_runs_made_is_text_and_nothing_else(void **state)
{
	static const char evil[] =
		"</pre><script>alert(1)</script>\r\n\033[31mred\033[0m \033]0;t\a\0<img src=x onerror=y>"
		"\xff\xc2\x9b"
		"31m \xe2\x80\xae"
		"gpj.exe &amp; \"'\n\ttabbed";
	own(buf_done) struct buf out = {0};
	struct campaign_status status = campaign_of(30);
	char bad_name[] = "a\"><script>x</script>", bad_note[] = "<b onload=x>\033[2J",
	     bad_cwd[] = "/x/$(reboot)'\n",
	     bad_words[] = "--memory=1<script>\0--\0\"><img src=x>\0\x1b[31m";

	(void)state;
	status.campaign.name = bad_name;
	status.campaign.note = bad_note;
	status.campaign.cwd = bad_cwd;
	status.campaign.words = bad_words;
	status.campaign.words_len = sizeof(bad_words);
	write_log("002", "stderr.log", evil, sizeof(evil) - 1);
	made_runs = 20;
	make_run = ordinary;
	page_of(&status, NULL, &out);
	check_page(&out);
	assert_has(&out,
		"&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\nred &#x241b;]0;t&#x2407;&#x2400;&lt;img src=x");
	assert_has(
		&out, "\xef\xbf\xbd\\x9b31m [U+202E]gpj.exe &amp;amp; &quot;&#39;\n\ttabbed</pre>");
	assert_has(&out, "&lt;b onload=x&gt;");
}

static void a_hostile_cause(struct run_record *run)
{
	static char cause[] = "<script>\n\033[2J</td>";

	run->state = RUN_ERROR;
	run->outcome = CELL_SETUP_FAILED;
	run->cause = cause;
}

static void causes_are_text_too(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = campaign_of(5);

	(void)state;
	made_runs = 5;
	make_run = a_hostile_cause;
	page_of(&status, NULL, &out);
	check_page(&out);
	assert_has(&out,
		"<td>&lt;script&gt;&#x240a;&#x241b;[2J&lt;/td&gt;</td><td class=n>5</td><td class=n>100%</td>");
}

static void only_the_end_of_a_log_is_shown(void **state)
{
	own(buf_done) struct buf out = {0}, log = {0};
	struct campaign_status status = campaign_of(30);

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_fmt(&log, "line %d\n", i);
	write_log("002", "stdout.log", log.data, log.len);
	made_runs = 3;
	make_run = ordinary;
	page_of(&status, NULL, &out);
	assert_has(&out, "stdout.log, the end of 28.2 KB");
	assert_has(&out, "line 2999\n</pre>");
	assert_has_not(&out, "line 2400\n");
	assert_true(out.len < 30000);
}

/* What a run could leave where a log should be. */
static void logs_that_are_no_files_are_left_alone(void **state)
{
	own(buf_done) struct buf out = {0};
	own(freep) char *link = xfmt("%s/002/stdout.log", sessions),
			*fifo = xfmt("%s/002/stderr.log", sessions);
	own(freep) char *secret = xfmt("%s/secret", folder), *linked = xfmt("%s/005", sessions);
	own(freep) char *elsewhere = xfmt("%s/elsewhere", folder),
			*log = xfmt("%s/elsewhere/stderr.log", folder);
	struct campaign_status status = campaign_of(30);

	(void)state;
	write_log("002", "x", "", 0);
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	for (int i = 0; i < 2; i++) {
		own(fd_closep) int fd =
			open(i == 0 ? secret : log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, "the secret", 10), 10);
	}
	(void)unlink(link);
	(void)unlink(fifo);
	assert_int_equal(symlink("../../secret", link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink(elsewhere, linked), 0);
	made_runs = 20;
	make_run = ordinary;
	page_of(&status, NULL, &out);
	assert_has_not(&out, "the secret");
	assert_has(&out, "It printed nothing.");
	assert_has(&out, "Its folder is not there any more.");
}

static void links_lead_from_the_page_to_the_sessions(void **state)
{
	struct campaign_status status = campaign_of(30);
	static const struct {
		const char *page, *link;
	} cases[] = {
		{"page.html", "\"s%20%25%20%3Cx/002/\""},
		{"s %% <x/page.html", "\"002/\""},
		{"other/page.html", "\"../s%20%25%20%3Cx/002/\""},
	};
	own(freep) char *other = xfmt("%s/other", folder);
	own(buf_done) struct buf absolute = {0};

	(void)state;
	made_runs = 3;
	make_run = ordinary;
	assert_int_equal(mkdir(other, 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		own(freep) char *page = i == 1 ? xfmt("%s/page.html", sessions)
					       : xfmt("%s/%s", folder, cases[i].page);
		page_of(&status, page, &out);
		if (count_of(&out, cases[i].link) == 0)
			fail_msg("no %s for %s", cases[i].link, page);
	}
	page_of(&status, NULL, &absolute);
	own(freep) char *link = xfmt("href=\"%s/s%%20%%25%%20%%3Cx/002/\"", folder);
	assert_has(&absolute, link);
}

static void a_path_cannot_become_another_host(void **state)
{
	own(buf_done) struct buf out = {0};

	(void)state;
	html_path(&out, "//evil/x:y?q#f\"\xff/");
	assert_string_equal(buf_text(&out), "/evil/x%3Ay%3Fq%23f%22%FF/");
}

static void one_that_has_not_begun_has_a_page_too(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = {.campaign = {.id = 17, .name = name, .plan = {.runs = 3}}};

	(void)state;
	made_runs = 0;
	status_derive(&status);
	page_of(&status, NULL, &out);
	check_page(&out);
	assert_has(&out, "No run has ended yet.");
	assert_has(&out, "No run has begun yet.");
	assert_has(&out, "<p>None.</p>");
}

static void many(struct run_record *run)
{
	static char causes[64][12];
	unsigned kind = (unsigned)(run->number % 64);

	run->worker = (unsigned)(run->number % 100) + 1;
	run->wall_ns = (run->number * 2654435761 % 100000) * 100000 + 1000;
	run->ended_ms = run->started_ms + run->wall_ns / NS_PER_MS;
	if (run->number % 50 != 0)
		return;
	(void)snprintf(causes[kind], sizeof(causes[kind]), "exit %u", kind);
	run->state = RUN_ERROR;
	run->exit_code = (int)kind;
	run->cause = causes[kind];
}

static void a_million_runs_cost_no_more_than_they_show(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = campaign_of(1000000);
	struct rusage before, after;

	(void)state;
	status.campaign.plan.workers = 100;
	status.campaign.updated_ms = NOW + UINT64_C(1000000) * 1000;
	made_runs = 1000000;
	make_run = many;
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	page_of(&status, NULL, &out);
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	assert_true(after.ru_maxrss - before.ru_maxrss < 50 * 1024);
	assert_true(out.len < 4 * MB);
	check_page(&out);
	assert_has(&out, "There are more than 10000 runs: each square is several neighbours");
	assert_has(&out, "There are more than 5000 runs: neighbours are merged");
	assert_has(&out, "The first 64 of 100 workers are shown.");
	assert_has(&out, "And 19,900 more.");
	assert_int_equal(count_of(&out, "<details "), REPORT_FAILURES);
	assert_has(&out, "title=\"1–100: error, first in 50\" href=\"");
	assert_true(count_of(&out, "<rect") < REPORT_BARS + 500);
}

static void durations_are_counted_finely(void **state)
{
	struct report_durations *durations = xcalloc(1, sizeof(*durations));

	(void)state;
	for (uint64_t ns = 1; ns < UINT64_C(1) << 62; ns += ns / 4 + 1) {
		double found = (double)report_step_ns(report_step(ns));
		assert_true(report_step(ns) < REPORT_STEPS);
		assert_true(found > (double)ns * 0.995 && found < (double)ns * 1.005);
		assert_true(report_step(ns + 1) >= report_step(ns));
	}
	assert_true(report_step(UINT64_MAX) < REPORT_STEPS);
	durations->min_ns = NS_PER_S;
	for (uint64_t i = 1; i <= 1000; i++, durations->count++)
		durations->steps[RUN_SUCCESS][report_step(i * NS_PER_S)]++;
	durations->max_ns = 1000 * NS_PER_S;
	assert_true(report_percentile(durations, 500) > 495 * NS_PER_S);
	assert_true(report_percentile(durations, 500) < 505 * NS_PER_S);
	assert_int_equal(report_percentile(durations, 1000), 1000 * NS_PER_S);
	free(durations);
}

/* Whatever the durations are, the picture holds all of them. */
static uint64_t spread_min, spread_max;

static void spread(struct run_record *run)
{
	run->wall_ns = spread_min + (spread_max - spread_min) / 99 * (run->number - 1);
}

static void every_spread_of_durations_has_a_histogram(void **state)
{
	static const struct {
		uint64_t min, max;
		const char *scale;
	} cases[] = {
		{0, 0, "Linear"},
		{0, 5 * NS_PER_S, "Linear"},
		{NS_PER_S, NS_PER_S, "Linear"},
		{10 * NS_PER_S, 10 * NS_PER_S + 990, "Linear"},
		{9 * NS_PER_S, 11 * NS_PER_S, "Linear"},
		{NS_PER_MS, 60 * NS_PER_S, "Logarithmic"},
		{1000, 86400 * NS_PER_S, "Logarithmic"},
		{NS_PER_S, UINT64_MAX / 2, "Logarithmic"},
	};
	struct campaign_status status = campaign_of(100);

	(void)state;
	made_runs = 100;
	make_run = spread;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		unsigned long long in_bucket;
		uint64_t sum = 0;
		spread_min = cases[i].min;
		spread_max = cases[i].max;
		page_of(&status, NULL, &out);
		check_page(&out);
		assert_has(&out, cases[i].scale);
		for (const char *at = buf_text(&out); (at = strstr(at, "<g><title>")); at++) {
			const char *end = strstr(at, " runs, 0 of them failed</title>");
			assert_non_null(end);
			while (end[-1] != ' ')
				end--;
			assert_int_equal(sscanf(end, "%llu", &in_bucket), 1);
			sum += in_bucket;
		}
		assert_int_equal(sum, 100);
	}
}

static void a_broken_ledger_is_an_error(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = campaign_of(3);
	struct err err = {0};

	(void)state;
	ledger_breaks = true;
	assert_int_equal(report_html(NULL, &status, &out, &err), -1);
	assert_string_equal(err.text, "read the runs of campaign 'nightly': the ledger is broken");
	ledger_breaks = false;
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/hotcell-report-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(sessions, sizeof(sessions), "%s/s %% <x", folder);
	return mkdir(sessions, 0700);
}

static int remove_folder(void **state)
{
	struct err err;

	(void)state;
	return fs_remove_tree(AT_FDCWD, folder, &err);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(the_page_tells_what_happened),
		IN_FOLDER(the_page_tells_what_doors_let_through_and_what_they_refused),
		IN_FOLDER(what_runs_made_is_text_and_nothing_else),
		IN_FOLDER(causes_are_text_too),
		IN_FOLDER(only_the_end_of_a_log_is_shown),
		IN_FOLDER(logs_that_are_no_files_are_left_alone),
		IN_FOLDER(links_lead_from_the_page_to_the_sessions),
		cmocka_unit_test(a_path_cannot_become_another_host),
		IN_FOLDER(one_that_has_not_begun_has_a_page_too),
		IN_FOLDER(a_million_runs_cost_no_more_than_they_show),
		cmocka_unit_test(durations_are_counted_finely),
		IN_FOLDER(every_spread_of_durations_has_a_histogram),
		IN_FOLDER(a_broken_ledger_is_an_error),
	};
	return cmocka_run_group_tests_name("campaign report", tests, NULL, NULL);
}
