/* A plan's folders where there are no cells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fuzz/function/core/run.h"

#define SECOND UINT64_C(1000000000)

static const struct bare_root roots[] = {
	{"/target", "/home/me/project"}, {"/fuzz", "/state/work"}, {"/engine", "/opt/venv"}, {"/tmp", "/state/out"}, {0}};

static void paths_of_cells_become_those_of_the_host(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"/target", "/home/me/project"},
		{"/target/a.py", "/home/me/project/a.py"},
		{"-I/target/include", "-I/home/me/project/include"},
		{"-artifact_prefix=/fuzz/crashes/", "-artifact_prefix=/state/work/crashes/"},
		{"#include \"/target/w.c\"\n", "#include \"/home/me/project/w.c\"\n"},
		{"{\"root\":\"/target\",\"file\":\"a/target/b.py\"}", "{\"root\":\"/home/me/project\",\"file\":\"a/target/b.py\"}"},
		{"PATH=/engine/bin:/usr/bin:/engine", "PATH=/opt/venv/bin:/usr/bin:/opt/venv"},
		{"cd /fuzz && go build -o /fuzz/x .", "cd /state/work && go build -o /state/work/x ."},
		{"echo x >/tmp/f.c", "echo x >/state/out/f.c"},
		{"/target/target/fuzz", "/home/me/project/target/fuzz"}, /* once, from the left */
		{"/targets /target2 /target-x /target.c", "/targets /target2 /target-x /target.c"},
		{"/usr/target x/target ./fuzz ../fuzz", "/usr/target x/target ./fuzz ../fuzz"},
		{"--corpus-I/target", "--corpus-I/target"},
		{"", ""},
		{"/", "/"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		bare_put(cases[i].text, roots, &out);
		assert_string_equal(buf_text(&out), cases[i].expected);
	}
}

static void folders_that_a_shell_would_read_otherwise_are_refused_without_cells(void **state)
{
	static const struct {
		const char *root;
		bool fine;
	} cases[] = {{"/home/me/project-1.0", true}, {"/home/m\xc3\xbc/x", true}, {"/home/me/my project", false}, {"/a\"b", false}, {"/a'b", false},
		{"/a$b", false}, {"/a\\b", false}, {"/a\nb", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct function_target target = {.root = (char *)cases[i].root};
		struct place place = {.target = &target};
		struct function_options options = {.bare = true};
		const struct fuzzing it = {.options = &options};
		struct err err = {0};
		assert_int_equal(place_check_bare(&it, &place, &err), cases[i].fine ? 0 : -1);
		options.bare = false;
		assert_int_equal(place_check_bare(&it, &place, &err), 0);
	}
}

static void a_running_count_goes_on_between_the_powers_of_two(void **state)
{
	struct place place = {.plan = {.stats = STATS_LIBFUZZER}};
	const struct fuzzing it = {.places = &place};
	struct worker worker = {
		.ready_ns = SECOND, .told_ns = 11 * SECOND, .job = {.stats = {.now = {.execs = 1000, .rate = 7, .begun = true}}}};

	(void)state;
	assert_true(worker_rate(&it, &worker) == 100);
	assert_int_equal(worker_execs(&it, &worker, 11 * SECOND), 1000);
	assert_int_equal(worker_execs(&it, &worker, 11 * SECOND + SECOND / 10), 1010);
	assert_int_equal(worker_execs(&it, &worker, 100 * SECOND), 1023); /* at 1024 it would have said so */
	worker.job.done = true;
	assert_int_equal(worker_execs(&it, &worker, 100 * SECOND), 1000); /* its last word */
	worker = (struct worker){
		.ready_ns = SECOND, .told_ns = 2 * SECOND, .job = {.stats = {.now = {.execs = 1000, .begun = true}}}};
	assert_int_equal(worker_execs(&it, &worker, 3 * SECOND), 2000); /* too early for it to say so */
	worker.told_ns = worker.ready_ns;
	place.done_execs = 5000;
	place.fuzzed_ns = 10 * SECOND;
	assert_true(worker_rate(&it, &worker) == 500);
	worker.told_ns = 2 * SECOND;
	place.plan.stats = STATS_GO_TEST;
	assert_int_equal(worker_execs(&it, &worker, 3 * SECOND), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_cells_become_those_of_the_host),
		cmocka_unit_test(folders_that_a_shell_would_read_otherwise_are_refused_without_cells),
		cmocka_unit_test(a_running_count_goes_on_between_the_powers_of_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
