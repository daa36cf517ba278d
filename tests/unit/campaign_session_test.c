#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/fs.h"
#include "campaign/session.h"
#include "project/state.h"

struct world {
	char path[64];
	char *sessions;
	int dir;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct err err;

	(void)snprintf(world->path, sizeof(world->path), "/tmp/session-test-XXXXXX");
	assert_non_null(mkdtemp(world->path));
	world->sessions = xfmt("%s/fuzz/runs", world->path);
	assert_int_equal(sessions_open(world->sessions, "uuid-1", &world->dir, &err), 0);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;
	struct err err;
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(fs_remove_tree(tmp, world->path + strlen("/tmp/"), &err), 0);
	(void)close(tmp);
	(void)close(world->dir);
	free(world->sessions);
	free(world);
	return 0;
}

static char *read_file(const struct world *world, const char *name)
{
	struct buf text = {0};
	struct err err;

	if (fs_read_small(world->dir, name, 1 << 20, &text, &err) < 0)
		return NULL;
	return text.data == NULL ? xstrdup("") : buf_take(&text);
}

static void expect_file(const struct world *world, const char *name, const char *want)
{
	char *text = read_file(world, name);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void expect_none(const struct world *world, const char *name)
{
	assert_int_not_equal(faccessat(world->dir, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
}

static void write_file(const struct world *world, const char *name, const char *text)
{
	int fd = openat(world->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static void open_session(const struct world *world, const char *name)
{
	struct session session;
	struct err err;

	assert_int_equal(session_create(&session, world->dir, name, &err), 0);
	session_done(&session);
}

/* ---- the folder of all sessions ---- */

static void a_folder_belongs_to_the_campaign_that_took_it(void **state)
{
	struct world *world = *state;
	struct err err;
	int fd = -1;

	assert_int_equal(sessions_open(world->sessions, "uuid-1", &fd, &err), 0);
	(void)close(fd);
	assert_int_equal(sessions_open(world->sessions, "uuid-2", &fd, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.text, "another campaign"));
	assert_false(sessions_free(world->sessions));
}

static void a_folder_with_other_things_in_it_is_not_taken(void **state)
{
	struct world *world = *state;
	char *path = xfmt("%s/other", world->path), *thing = xfmt("%s/other/thesis.txt", world->path);
	struct err err;
	int fd = -1;

	assert_int_equal(mkdir(path, 0755), 0);
	assert_true(sessions_free(path));
	(void)close(open(thing, O_WRONLY | O_CREAT, 0644));
	assert_false(sessions_free(path));
	assert_int_equal(sessions_open(path, "uuid-1", &fd, &err), -1);
	assert_non_null(strstr(err.text, "thesis.txt"));
	assert_int_equal(access(thing, F_OK), 0);
	free(path);
	free(thing);
}

static void a_symbolic_link_is_not_taken(void **state)
{
	struct world *world = *state;
	char *path = xfmt("%s/link", world->path);
	struct err err;
	int fd = -1;

	assert_int_equal(symlink("/tmp", path), 0);
	assert_int_equal(sessions_open(path, "uuid-1", &fd, &err), -1);
	assert_non_null(strstr(err.text, "symbolic link"));
	free(path);
}

/* ---- one session ---- */

static void a_session_begins_clean_whatever_an_earlier_try_left(void **state)
{
	struct world *world = *state;

	open_session(world, "001");
	write_file(world, "001/SUCCESS", "old\n");
	write_file(world, "001/litter", "x");
	open_session(world, "001");
	expect_none(world, "001/SUCCESS");
	expect_none(world, "001/litter");
	expect_file(world, "001/stdout.log", "");
	expect_file(world, "001/stderr.log", "");
}

static void a_session_marks_what_came_of_it(void **state)
{
	struct world *world = *state;
	static const struct {
		struct run_record run;
		const char *log, *marker, *text;
	} cases[] = {
		{{.state = RUN_SUCCESS, .wall_ns = UINT64_C(42300000000)}, "", "SUCCESS", "Completed in 42.3s\n"},
		{{.state = RUN_TIMEOUT}, "", "TIMEOUT", "Timed out after 900s\n"},
		{{.state = RUN_ERROR, .outcome = CELL_EXITED, .exit_code = 3}, "oh\nno", "ERROR",
			"Exit code: 3\n\nLogs:\noh\nno\n"},
		{{.state = RUN_ERROR, .outcome = CELL_SIGNALED, .exit_code = -1, .signal = 11,
			 .cause = (char *)(uintptr_t) "signal SIGSEGV"},
			"", "ERROR", "Exit code: 139\nCause: signal SIGSEGV\n\nLogs:\n"},
		{{.state = RUN_ERROR, .outcome = CELL_SETUP_FAILED, .exit_code = -1,
			 .cause = (char *)(uintptr_t) "no command 'x'"},
			"", "ERROR", "Unexpected error: no command 'x'\n"},
	};
	static int (*const marks[])(int, const char *, const struct run_record *, uint64_t, const struct redactor *, struct err *) = {
		session_mark, session_mark_own};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(marks); i++) {
		size_t c = i / ARRAY_LEN(marks);
		open_session(world, "007");
		write_file(world, "007/stderr.log", cases[c].log);
		assert_int_equal(marks[i % ARRAY_LEN(marks)](world->dir, "007", &cases[c].run, 900000, NULL, &err), 0);
		char *name = xfmt("007/%s", cases[c].marker);
		expect_file(world, name, cases[c].text);
		expect_none(world, "007/.marker");
		free(name);
	}
}

static void a_marker_that_is_there_is_left_alone(void **state)
{
	struct world *world = *state;
	struct run_record run = {.state = RUN_SUCCESS};
	struct err err;

	open_session(world, "001");
	write_file(world, "001/TIMEOUT", "Timed out after 1s\n");
	assert_int_equal(session_mark(world->dir, "001", &run, 1000, NULL, &err), 0);
	expect_none(world, "001/SUCCESS");
	expect_file(world, "001/TIMEOUT", "Timed out after 1s\n");
}

static void a_log_in_a_marker_has_no_secret_no_key_and_no_home(void **state)
{
	static const char *const values[] = {"correct horse"};
	struct redactor *redactor = redactor_make(&(struct redact_known){.values = values, .count = 1});
	struct world *world = *state;
	struct run_record run = {.state = RUN_ERROR, .outcome = CELL_EXITED, .exit_code = 1};
	struct buf log = {0};
	struct err err;

	open_session(world, "001");
	write_file(world, "001/stderr.log", "a correct horse at /home/bob/x with ghp_" "abcdefghijklmnopqrstuvwxyz0123456789\n");
	assert_int_equal(session_mark(world->dir, "001", &run, 1000, redactor, &err), 0);
	expect_file(world, "001/ERROR", "Exit code: 1\n\nLogs:\na [redacted:value] at [redacted:home]/x with [redacted:github-token]\n");
	open_session(world, "002"); /* cut in the middle of a key, in a line that is longer than what is shown */
	for (int i = 0; i < 4; i++)
		buf_str(&log, "ghp_" "abcdefghijklmnopqrstuvwxyz0123456789 ");
	while (log.len < SESSION_TAIL + 100)
		buf_str(&log, "and so on ");
	write_file(world, "002/stderr.log", buf_text(&log));
	assert_int_equal(session_mark(world->dir, "002", &run, 1000, redactor, &err), 0);
	char *text = read_file(world, "002/ERROR");
	assert_null(strstr(text, "0123456789"));
	free(text);
	buf_done(&log);
	redactor_free(redactor);
}

static void a_log_in_a_marker_is_its_tail_and_obeys_no_terminal(void **state)
{
	struct world *world = *state;
	struct run_record run = {.state = RUN_ERROR, .outcome = CELL_EXITED, .exit_code = 1};
	struct buf log = {0};
	struct err err;

	open_session(world, "001");
	for (int i = 0; i < 2000; i++)
		buf_fmt(&log, "line %d \033]0;title\a\n", i);
	write_file(world, "001/stderr.log", buf_text(&log));
	assert_int_equal(session_mark(world->dir, "001", &run, 1000, NULL, &err), 0);
	char *text = read_file(world, "001/ERROR");
	assert_non_null(strstr(text, "line 1999"));
	assert_null(strstr(text, "line 5 "));
	assert_null(strchr(text, '\033'));
	assert_true(strlen(text) < 4 * SESSION_TAIL);
	free(text);
	buf_done(&log);
}

/* ---- the state folder ---- */

static void a_campaign_is_held_by_one_process_and_free_when_it_is_gone(void **state)
{
	struct world *world = *state;
	struct err err;
	int lock = state_lock(world->path, "night", &err);

	assert_true(lock >= 0);
	assert_int_equal(state_holder(world->path, "night"), getpid());
	assert_int_equal(state_holder(world->path, "other"), 0);
	assert_int_equal(state_lock(world->path, "night", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	char *who = xfmt("process %d", (int)getpid());
	assert_non_null(strstr(err.text, who));
	free(who);
	(void)close(lock);
	assert_int_equal(state_holder(world->path, "night"), 0);
	lock = state_lock(world->path, "night", &err);
	assert_true(lock >= 0);
	(void)close(lock);
}

static void a_state_folder_is_found_above_or_made_here(void **state)
{
	struct world *world = *state;
	struct err err;
	char *deep = xfmt("%s/fuzz", world->path), *want = xfmt("%s/.hotcell", world->path), *was = getcwd(NULL, 0);

	assert_int_equal(chdir(world->path) + setenv("XDG_STATE_HOME", world->path, 1), 0);
	assert_true(state_is_none(NULL));
	assert_null(state_folder(NULL, false, &err));
	assert_int_equal(err.code, ERR_USAGE);
	char *made = state_folder(NULL, true, &err);
	assert_string_equal(made, want);
	assert_int_equal(chdir(deep), 0);
	char *found = state_folder(NULL, false, &err);
	assert_string_equal(found, want);
	assert_int_equal(chdir(was), 0);
	free(made);
	free(found);
	free(deep);
	free(want);
	free(was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_folder_belongs_to_the_campaign_that_took_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_folder_with_other_things_in_it_is_not_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_symbolic_link_is_not_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_session_begins_clean_whatever_an_earlier_try_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_session_marks_what_came_of_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_log_in_a_marker_has_no_secret_no_key_and_no_home, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_marker_that_is_there_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_log_in_a_marker_is_its_tail_and_obeys_no_terminal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_campaign_is_held_by_one_process_and_free_when_it_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_state_folder_is_found_above_or_made_here, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
