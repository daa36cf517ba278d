/* The pure parts of the verbs around campaigns, and the parts that touch files but no ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "view/campaign.h"
#include "cli/campaign_reach.h"
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/campaign/files.h"
#include "view/grid_read.h"
#include "base/out_file.h"
#include "cli/core/redraw.h"
#include "cli/cmd/campaign/run_text.h"
#include "cli/cmd/verbs.h"

const struct cli_verb *const cli_verbs[] = {NULL};

#define UUID "0f8fad5b-d9cb-469f-a165-70867728950e"

/* ---- words ---- */

static void a_campaign_or_one_of_its_runs_can_be_named(void **state)
{
	static const struct {
		const char *word, *name; /* name NULL: refused */
		uint64_t run;
	} rows[] = {
		{"night", "night", 0},
		{"night/7", "night", 7},
		{"night/007", "night", 7},
		{"a.b-c_1/1000000000", "a.b-c_1", 1000000000},
		{"night/", NULL, 0},
		{"night/0", NULL, 0},
		{"night/-1", NULL, 0},
		{"night/1000000001", NULL, 0},
		{"night/7/8", NULL, 0},
		{"night/7 ", NULL, 0},
		{"/7", NULL, 0},
		{"", NULL, 0},
		{"..", NULL, 0},
		{"../7", NULL, 0},
		{"ni\nght", NULL, 0},
		{"a123456789012345678901234567890123456789012345678901234567890123456789", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct campaign_target target;
		struct err err = {0};
		int rc = campaign_target_parse(rows[i].word, &target, &err);
		if ((rc == 0) != (rows[i].name != NULL))
			fail_msg("'%s' was %s", rows[i].word, rc ? "refused" : "taken");
		if (rc < 0) {
			assert_int_equal(err.code, ERR_USAGE);
			assert_null(strchr(err.text, '\n'));
			continue;
		}
		assert_string_equal(target.name, rows[i].name);
		assert_int_equal(target.run, rows[i].run);
	}
}

/* ---- what a file may say ---- */

static void every_option_that_a_file_may_have_is_judged(void **state)
{
	(void)state;
	for (const struct cli_option *option = verb_campaign_run.options; option->name; option++)
		if (!option->not_in_file && !campaign_reach_known(option->name))
			fail_msg("'%s' has no row in campaign_reach.c: does it reach outside of cells?", option->name);
}

static void what_has_no_row_or_opens_the_cell_needs_trust(void **state)
{
	static const struct {
		const char *word;
		enum campaign_reach reach;
	} rows[] = {
		{"--no-such-option", REACH_OUT},
		{"--no-such-option=1", REACH_OUT},
		{"--run", REACH_OUT},
		{"--runs-more=1", REACH_OUT},
		{"--tmp-exec", REACH_OUT},
		{"--on-alert=true", REACH_OUT},
		{"--runs=1", REACH_CELL},
		{"--network-record", REACH_CELL},
		{"--forbid=sh", REACH_CELL},
		{"--profile=strict", REACH_SAID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (campaign_reach(rows[i].word) != rows[i].reach)
			fail_msg("%s", rows[i].word);
}

/* ---- doing a run again ---- */

static const struct cli_option many_options[] = {
	{.name = "runs", .letter = 'n', .value = "N", .kind = CLI_COUNT},
	{.name = "memory", .letter = 'm', .value = "SIZE", .kind = CLI_SIZE},
	{.name = "mount", .value = "SRC:DST", .kind = CLI_LIST},
	{.name = "tmp-exec", .kind = CLI_FLAG},
	{.name = "output", .value = "DIR", .kind = CLI_TEXT},
	{0},
};
static const struct cli_option one_options[] = {
	{.name = "memory", .letter = 'm', .value = "SIZE", .kind = CLI_SIZE},
	{.name = "mount", .value = "SRC:DST", .kind = CLI_LIST},
	{.name = "tmp-exec", .kind = CLI_FLAG},
	{.name = "output", .value = "DIR", .kind = CLI_TEXT},
	{0},
};
static const struct cli_verb many = {.name = "many", .options = many_options};
static const struct cli_verb one = {.name = "one", .options = one_options};

static void again(const char *words, size_t len, const char *env_names, size_t env_len, const char *expected)
{
	own(buf_done) struct buf out = {0};
	const struct campaign_record campaign = {
		.name = (char[]){"night"},
		.cwd = (char[]){"/home/me/my project"},
		.words = (char *)(uintptr_t)words,
		.words_len = len,
		.env_names = (char *)(uintptr_t)env_names,
		.env_names_len = env_len,
		.plan = {.runs = 100},
		.timeout_ms = 900000,
	};
	const struct run_record run = {.number = 7, .seed = 123};

	run_text_again(&campaign, &run, &many, &one, &out);
	assert_string_equal(buf_text(&out), expected);
}

#define HEAD                                                                                       \
	"cd '/home/me/my project' && hotcell one --env HOTCELL_CAMPAIGN=night --env HOTCELL_RUN=7" \
	" --env HOTCELL_SEED=123 --timeout=900000ms"
#define AGAIN(words, names, expected) again(words, sizeof(words), names, sizeof(names) - 1, HEAD expected)

static void a_run_is_done_again_by_what_both_verbs_take(void **state)
{
	(void)state;
	AGAIN("--runs=9\0--memory=1G\0--\0true", "", " --memory=1G -- true");
	AGAIN("--runs\0009\0-m\0001G\0-n9\0--\0true", "", " -m 1G -- true");
	AGAIN("--mount=/a:/b\0--mount=/c:/d\0--tmp-exec\0--output=x\0--\0sh\0-c\0a 'b' $c", "",
		" --mount=/a:/b --mount=/c:/d --tmp-exec -- sh -c 'a '\\''b'\\'' $c'");
	AGAIN("--output\0--memory=9\0--unknown=1\0file.yaml\0--\0--memory=1G", "", " -- --memory=1G");
	AGAIN("--\0true", "TOKEN\0KEY\0", " --pass-env TOKEN --pass-env KEY -- true");
	again(NULL, 0, NULL, 0, HEAD " --");
}

static void words_are_quoted_only_where_a_shell_needs_it(void **state)
{
	static const struct {
		const char *word, *quoted;
	} rows[] = {
		{"plain", "plain"},
		{"/a/b.c:ro", "/a/b.c:ro"},
		{"--x=1", "--x=1"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", "'it'\\''s'"},
		{"$HOME", "'$HOME'"},
		{"*", "'*'"},
		{"~", "'~'"},
		{"\xc3\xa9", "'\xc3\xa9'"},
		{"a\nb'c\\", "$'a\\nb\\'c\\\\'"},
		{"\033[2J\t", "$'\\033[2J\\011'"},
		{"\xff" "1", "$'\\3771'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf out = {0};
		run_text_quote(rows[i].word, strlen(rows[i].word), &out);
		assert_string_equal(buf_text(&out), rows[i].quoted);
	}
}

static void nothing_a_run_caused_reaches_the_terminal_as_it_is(void **state)
{
	own(buf_done) struct buf out = {0};
	const struct campaign_record campaign = {.plan = {.runs = 5000}};
	const struct run_record run = {
		.number = 12, .state = RUN_ERROR, .wall_ns = UINT64_C(42300000000), .cause = (char[]){"exit 3\n\033[2J"}};

	(void)state;
	run_text_line(&campaign, &run, &out);
	assert_string_equal(buf_text(&out), "  [0012]     42.3 s  error    exit 3\\n\\x1b[2J\n");
}

/* ---- the grid ---- */

static void every_run_has_a_cell_and_neighbours_share_one(void **state)
{
	static const uint64_t sizes[] = {1, 2, 100, 4096, 4097, 1000000, 1000000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		own(grid_done) struct grid grid = {0};
		grid_init(&grid, sizes[i]);
		assert_int_equal(grid.count, sizes[i] < GRID_CELLS ? sizes[i] : GRID_CELLS);
		assert_int_equal(grid_cell(&grid, 1), 0);
		assert_int_equal(grid_cell(&grid, sizes[i]), grid.count - 1);
		assert_int_equal(grid_cell(&grid, sizes[i] + 1), grid.count - 1);
		assert_int_equal(grid.cells[0], RUN_NOT_BEGUN);
	}
}

struct campaign_at {
	struct ledger *ledger;
	struct campaign_status status;
};

static void begun(struct campaign_at *at, uint64_t number)
{
	const struct run_record run = {.number = number, .attempt = 1, .state = RUN_RUNNING, .exit_code = -1};
	struct err err = {0};

	assert_int_equal(ledger_run_start(at->ledger, at->status.campaign.id, &run, &err), 0);
	if (number >= at->status.campaign.next)
		at->status.campaign.next = number + 1;
}

static void ended(struct campaign_at *at, uint64_t number, enum run_state state)
{
	const struct run_record run = {.number = number, .attempt = 1, .state = state, .ended_ms = 1};
	struct campaign_record *campaign = &at->status.campaign;
	uint64_t seq = run_state_final(state) ? ++campaign->last_seq : 0;
	struct err err = {0};

	assert_int_equal(ledger_run_end(at->ledger, campaign->id, &run, seq, &err), 0);
	if (seq > 0)
		campaign->sums.state[state]++;
}

static void assert_cells(struct campaign_at *at, struct grid *grid, const char *expected)
{
	static const char letters[] = {[RUN_RUNNING] = 'r', [RUN_AGAIN] = 'a', [RUN_SUCCESS] = 's', [RUN_ERROR] = 'x',
		[RUN_TIMEOUT] = 't'};
	char got[16] = "";
	struct err err = {0};

	assert_int_equal(grid_read(grid, at->ledger, &at->status, &err), 0);
	for (size_t i = 0; expected[i]; i++)
		got[i] = grid->cells[i] == RUN_NOT_BEGUN ? '.' : letters[grid->cells[i]];
	assert_string_equal(got, expected);
}

static void campaign_begin(struct campaign_at *ret, const char *folder, uint64_t runs)
{
	own(freep) char *path = xfmt("%s/ledger.db", folder);
	struct err err = {0};

	*ret = (struct campaign_at){.ledger = ledger_open(path, LEDGER_CREATE, &err), .status = {.held = true}};
	assert_non_null(ret->ledger);
	struct campaign_record *campaign = &ret->status.campaign;
	campaign->name = xfmt("c%d", (int)(runs % 1000));
	campaign->output = xstrdup("/out");
	campaign->cwd = xstrdup("/");
	campaign->note = xstrdup("");
	campaign->plan = (struct campaign_plan){.runs = runs, .workers = 2};
	assert_int_equal(ledger_campaign_add(ret->ledger, campaign, &err), 0);
	campaign->next = 1;
}

static void campaign_end(struct campaign_at *at)
{
	status_done(&at->status);
	at->ledger = ledger_free(at->ledger);
}

static void the_grid_follows_the_ledger(const char *folder)
{
	struct campaign_at at;
	own(grid_done) struct grid grid = {0};

	campaign_begin(&at, folder, 6);
	grid_init(&grid, 6);
	assert_cells(&at, &grid, "......");
	begun(&at, 1);
	begun(&at, 2);
	assert_cells(&at, &grid, "rr....");
	ended(&at, 2, RUN_ERROR);
	begun(&at, 3);
	assert_cells(&at, &grid, "rxr...");
	ended(&at, 1, RUN_SUCCESS);
	ended(&at, 3, RUN_AGAIN);
	begun(&at, 4);
	ended(&at, 4, RUN_TIMEOUT);
	assert_cells(&at, &grid, "sxrt..");
	at.status.held = false;
	assert_cells(&at, &grid, "sx.t..");
	own(grid_done) struct grid fresh = {0};
	grid_init(&fresh, 6);
	assert_cells(&at, &fresh, "sx.t..");
	campaign_end(&at);
}

static void a_cell_of_many_shows_the_worst(const char *folder)
{
	struct campaign_at at;
	own(grid_done) struct grid grid = {0};

	campaign_begin(&at, folder, GRID_CELLS * 3);
	grid_init(&grid, GRID_CELLS * 3);
	for (uint64_t number = 1; number <= 7; number++)
		begun(&at, number);
	ended(&at, 1, RUN_SUCCESS);
	ended(&at, 2, RUN_TIMEOUT);
	ended(&at, 3, RUN_ERROR);
	ended(&at, 4, RUN_SUCCESS);
	ended(&at, 5, RUN_SUCCESS);
	ended(&at, 6, RUN_SUCCESS);
	assert_cells(&at, &grid, "xsr..");
	begun(&at, 8);
	ended(&at, 8, RUN_TIMEOUT);
	assert_cells(&at, &grid, "xst..");
	campaign_end(&at);
}

/* ---- the picture on a terminal ---- */

static void rows_are_counted_as_a_narrower_terminal_breaks_them(void **state)
{
	static const struct {
		const char *text;
		unsigned columns, rows;
	} cases[] = {
		{"", 80, 0},
		{"a\n", 80, 1},
		{"a\nb\n", 80, 2},
		{"\n", 80, 1},
		{"12345\n", 5, 1},
		{"123456\n", 5, 2},
		{"\033[1;31m12345\033[0m\n", 5, 1},
		{"\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\n", 3, 1},
		{"\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\n", 2, 2},
		{"1234567890\nab\n", 3, 5},
		{"1234567890\n", 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(redraw_rows(cases[i].text, strlen(cases[i].text), cases[i].columns), cases[i].rows);
}

/* What a frame wrote, through a pipe. */
static void frame(int from, const char *text, const char *expected)
{
	own(buf_done) struct buf buf = {0};
	char got[256];

	buf_str(&buf, text);
	assert_int_equal(redraw_frame(&buf, 80), 0);
	ssize_t len = read(from, got, sizeof(got) - 1);
	assert_true(len > 0);
	got[len] = '\0';
	assert_string_equal(got, expected);
}

static void a_frame_is_drawn_over_the_last_and_the_cursor_comes_back(void **state)
{
	int ends[2];
	char got[64] = "";

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	redraw_begin(ends[1]);
	assert_int_equal(read(ends[0], got, sizeof(got) - 1), 6);
	assert_string_equal(got, "\033[?25l");
	frame(ends[0], "one\ntwo\n", "\r\033[2Kone\n\033[2Ktwo\n\033[J");
	frame(ends[0], "three\n", "\r\033[2A\033[2Kthree\n\033[J");
	frame(ends[0], "four\n", "\r\033[1A\033[2Kfour\n\033[J");
	assert_int_equal(redraw_clear(80), 0);
	memset(got, 0, sizeof(got));
	assert_int_equal(read(ends[0], got, sizeof(got) - 1), 8);
	assert_string_equal(got, "\r\033[1A\033[J");
	redraw_end();
	redraw_end();
	memset(got, 0, sizeof(got));
	assert_int_equal(read(ends[0], got, sizeof(got) - 1), 6);
	assert_string_equal(got, "\033[?25h");
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* ---- files ---- */

struct place {
	char path[64];
	int fd;
};

static int place_make(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	(void)snprintf(place->path, sizeof(place->path), "/tmp/hotcell-test-unit.XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd >= 0);
	*state = place;
	return 0;
}

static int place_remove(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	char *slash = strrchr(place->path, '/');

	(void)close(place->fd);
	own(fd_closep) int parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fs_remove_tree(parent, slash + 1, &err);
	free(place);
	return rc;
}

static void put_file(int dir, const char *name, const char *text)
{
	own(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void assert_file(int dir, const char *name, const char *text)
{
	own(buf_done) struct buf got = {0};
	struct err err = {0};
	assert_int_equal(fs_read_small(dir, name, 4096, &got, &err), 0);
	assert_string_equal(buf_text(&got), text);
}

static unsigned count_entries(const struct place *place)
{
	own(freep) char *command = xfmt("ls -A '%s' | wc -l", place->path);
	FILE *out = popen(command, "re");
	unsigned count = 999;
	assert_int_equal(fscanf(out, "%u", &count), 1);
	(void)pclose(out);
	return count;
}

static int out(const struct place *place, const char *name, const char *text, bool replace, struct err *err)
{
	own(freep) char *path = xfmt("%s/%s", place->path, name);
	own(buf_done) struct buf buf = {0};

	buf_str(&buf, text);
	return out_file_write(path, &buf, replace, err);
}

static void a_file_is_written_whole_and_only_over_a_file(void **state)
{
	const struct place *place = *state;
	struct err err = {0};
	struct stat st;

	assert_int_equal(out(place, "new", "one", false, &err), 0);
	assert_file(place->fd, "new", "one");
	assert_int_equal(out(place, "new", "two", false, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_file(place->fd, "new", "one");
	assert_int_equal(out(place, "new", "two", true, &err), 0);
	assert_file(place->fd, "new", "two");
	assert_int_equal(symlinkat("new", place->fd, "link"), 0);
	assert_int_equal(mkdirat(place->fd, "folder", 0755), 0);
	assert_int_equal(mkfifoat(place->fd, "fifo", 0644), 0);
	assert_int_equal(symlinkat("nowhere", place->fd, "dangling"), 0);
	static const char *const bad[] = {"link", "folder", "fifo", "dangling", "missing/x"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (out(place, bad[i], "three", true, &err) != -1)
			fail_msg("'%s' was written", bad[i]);
	assert_file(place->fd, "new", "two");
	assert_int_equal(fstatat(place->fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(count_entries(place), 5); /* no draft is left */
}

static void a_name_is_a_session_only_as_the_campaign_writes_it(void **state)
{
	static const struct {
		uint64_t runs;
		const char *name;
		uint64_t number;
	} rows[] = {
		{100, "001", 1}, {100, "100", 100}, {100, "101", 0}, {100, "000", 0}, {100, "1", 0}, {100, "0001", 0},
		{100, "+01", 0}, {100, " 01", 0}, {100, "0x1", 0}, {100, ".", 0}, {100, "..", 0}, {100, "", 0},
		{100, ".hotcell-campaign", 0}, {5000, "0007", 7}, {5000, "007", 0}, {5000, "5000", 5000}, {3, "01a", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct campaign_record campaign = {.plan = {.runs = rows[i].runs}};
		uint64_t number = campaign_files_number(&campaign, rows[i].name);
		if (number != rows[i].number)
			fail_msg("'%s' of %d is %d", rows[i].name, (int)rows[i].runs, (int)number);
	}
}

static int count_one(void *data, int sessions, const char *name, uint64_t number, struct err *err)
{
	(void)sessions;
	(void)name;
	(void)err;
	*(uint64_t *)data += number;
	return 0;
}

static void only_the_campaigns_own_folder_is_ever_opened(void **state)
{
	struct place *place = *state;
	own(fd_closep) int sessions = -1;
	own(freep) char *link = xfmt("%s/link", place->path), *folder = xfmt("%s/out", place->path);
	struct campaign_record campaign = {.output = folder, .uuid = (char[]){UUID}, .plan = {.runs = 100}};
	struct err err = {0};
	uint64_t sum = 0, budget = 100, bytes = 0;
	bool left;

	assert_int_equal(campaign_files_open(&campaign, &sessions, &err), 0); /* missing */
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(campaign_files_open(&campaign, &sessions, &err), 0); /* nobody's */
	own(fd_closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static const char *const others[] = {"", "\n", UUID "0\n", UUID " x", "0f8fad5b", "../../etc"};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		put_file(dir, ".hotcell-campaign", others[i]);
		if (campaign_files_open(&campaign, &sessions, &err) != 0)
			fail_msg("taken for its own: '%s'", others[i]);
	}
	put_file(dir, ".hotcell-campaign", UUID "\n");
	assert_int_equal(symlink("out", link), 0);
	campaign.output = link;
	assert_int_equal(campaign_files_open(&campaign, &sessions, &err), 0); /* a link */
	campaign.output = folder;
	assert_int_equal(campaign_files_open(&campaign, &sessions, &err), 1);

	assert_int_equal(mkdirat(dir, "001", 0755), 0);
	assert_int_equal(mkdirat(dir, "040", 0755), 0);
	assert_int_equal(mkdirat(dir, "notes", 0755), 0);
	put_file(dir, "001/stdout.log", "hello");
	assert_int_equal(symlinkat("/usr", dir, "001/usr"), 0);
	assert_int_equal(campaign_files_each(sessions, &campaign, count_one, &sum, &err), 0);
	assert_int_equal(sum, 41);
	assert_true(campaign_files_size(sessions, "001", &budget, &bytes));
	assert_int_equal(budget, 98); /* the link was not gone into */
	assert_true(bytes < 1 << 20);
	budget = 1;
	assert_false(campaign_files_size(sessions, "001", &budget, &bytes));
	assert_int_equal(campaign_files_finish(sessions, &campaign, &left, &err), 0);
	assert_true(left);
	assert_int_equal(campaign_files_open(&campaign, &sessions, &err), 0);
}

static void the_grid_is_read_from_the_ledger(void **state)
{
	const struct place *place = *state;

	the_grid_follows_the_ledger(place->path);
	a_cell_of_many_shows_the_worst(place->path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_campaign_or_one_of_its_runs_can_be_named),
		cmocka_unit_test(every_option_that_a_file_may_have_is_judged),
		cmocka_unit_test(what_has_no_row_or_opens_the_cell_needs_trust),
		cmocka_unit_test(a_run_is_done_again_by_what_both_verbs_take),
		cmocka_unit_test(words_are_quoted_only_where_a_shell_needs_it),
		cmocka_unit_test(nothing_a_run_caused_reaches_the_terminal_as_it_is),
		cmocka_unit_test(every_run_has_a_cell_and_neighbours_share_one),
		cmocka_unit_test_setup_teardown(the_grid_is_read_from_the_ledger, place_make, place_remove),
		cmocka_unit_test(rows_are_counted_as_a_narrower_terminal_breaks_them),
		cmocka_unit_test(a_frame_is_drawn_over_the_last_and_the_cursor_comes_back),
		cmocka_unit_test_setup_teardown(a_file_is_written_whole_and_only_over_a_file, place_make, place_remove),
		cmocka_unit_test(a_name_is_a_session_only_as_the_campaign_writes_it),
		cmocka_unit_test_setup_teardown(only_the_campaigns_own_folder_is_ever_opened, place_make, place_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
