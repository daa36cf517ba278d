#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "review/observe/scene.h"

/* ---- a world: a real scene, and a try whose end is made up ---- */

static struct review_options options = {.hotcell = "/bin/false", .backend = "native"};
static struct scene *scene;

static int world_open(void **state)
{
	struct err err = {0};

	(void)state;
	scene = scene_open(&options, &err);
	if (!scene)
		fprintf(stderr, "%s\n", err.text);
	return scene ? 0 : -1;
}

static int world_close(void **state)
{
	(void)state;
	scene = scene_free(scene);
	return 0;
}

static struct review_try try_of(const struct review_attack *attack, const char *out, const char *result)
{
	static const struct json_limits limits = {.bytes = 65536, .values = 1000, .depth = 16};
	struct review_try try = {.attack = attack, .options = &options, .scene = scene, .mark = "@review-unit-test",
		.until = clock_now() + 60 * NS_PER_S};
	struct err err = {0};

	buf_str(&try.out, out);
	if (result)
		assert_int_equal(json_read(result, strlen(result), &limits, NULL, &try.result, &err), 0);
	return try;
}

#define FINE "{\"outcome\":\"exited\",\"exit_code\":0}"

/* Judges it; the verdict and the reason must be these ("" : any). */
static void expect(struct review_try try, enum review_verdict verdict, const char *reason)
{
	try_judge(&try);
	if (try.verdict != verdict)
		fail_msg("%s, not %s: %s", review_verdict_name(try.verdict), review_verdict_name(verdict), try.reason ? try.reason : "");
	if (*reason && (!try.reason || !strstr(try.reason, reason)))
		fail_msg("'%s' is not in '%s'", reason, try.reason ? try.reason : "");
	try_done(&try);
}

/* ---- what the program said and how it ended ---- */

static void an_attack_that_was_refused_and_ended_well_is_held(void **state)
{
	static const struct review_attack attack = {.id = "x.y", .tries = 2};

	(void)state;
	expect(try_of(&attack, "one EPERM\ntwo ENOSYS\n", FINE), REVIEW_HELD, "");
}

static void what_worked_is_an_escape_unless_it_may(void **state)
{
	static const struct review_attack strict = {.id = "x.y"}, lenient = {.id = "x.y", .but = "other tw*"};

	(void)state;
	expect(try_of(&strict, "one EPERM\ntwo ok\n", FINE), REVIEW_ESCAPED, "'two' worked");
	expect(try_of(&lenient, "one EPERM\ntwo ok\n", FINE), REVIEW_HELD, "");
	expect(try_of(&lenient, "one ok\ntwo ok\n", FINE), REVIEW_ESCAPED, "'one' worked");
}

static void an_attack_that_tried_too_little_has_failed(void **state)
{
	static const struct review_attack plain = {.id = "x.y", .tries = 3}, outcomes = {.id = "x.y", .tries = 3, .outcomes = "exited oom"};

	(void)state;
	expect(try_of(&plain, "one EPERM\n", FINE), REVIEW_FAILED, "1 tries, not of 3");
	expect(try_of(&plain, "", FINE), REVIEW_FAILED, "0 tries, not of 3");
	expect(try_of(&outcomes, "one EPERM\n", FINE), REVIEW_FAILED, "1 tries, not of 3");
}

static void a_program_that_crashed_has_held_nothing(void **state)
{
	static const struct review_attack plain = {.id = "x.y"}, outcomes = {.id = "x.y", .outcomes = "exited signaled"},
					  crashes = {.id = "x.y", .outcomes = "signaled crashed"};
	static const char *const crash = "{\"outcome\":\"signaled\",\"exit_code\":null,\"signal\":11}",
				*const killed = "{\"outcome\":\"signaled\",\"exit_code\":null,\"signal\":9}";

	(void)state;
	expect(try_of(&plain, "one EPERM\n", crash), REVIEW_FAILED, "crashed");
	expect(try_of(&outcomes, "one EPERM\n", crash), REVIEW_FAILED, "crashed");
	expect(try_of(&crashes, "one EPERM\n", crash), REVIEW_HELD, "");
	expect(try_of(&outcomes, "one EPERM\n", killed), REVIEW_HELD, "");
	expect(try_of(&plain, "one EPERM\n", killed), REVIEW_FAILED, "signaled");
}

static void an_exit_code_that_tells_of_a_failure_is_one(void **state)
{
	static const struct review_attack plain = {.id = "x.y"}, outcomes = {.id = "x.y", .outcomes = "exited timeout"};
	static const struct {
		const char *result;
		enum review_verdict plain, outcomes;
	} cases[] = {
		{"{\"outcome\":\"exited\",\"exit_code\":1}", REVIEW_FAILED, REVIEW_HELD},
		{"{\"outcome\":\"exited\",\"exit_code\":99}", REVIEW_FAILED, REVIEW_FAILED}, /* no such attack */
		{"{\"outcome\":\"exited\",\"exit_code\":127}", REVIEW_FAILED, REVIEW_FAILED}, /* no such program */
		{"{\"outcome\":\"timeout\",\"exit_code\":null}", REVIEW_FAILED, REVIEW_HELD},
		{"{\"outcome\":\"oom\",\"exit_code\":null}", REVIEW_FAILED, REVIEW_ESCAPED},
		{"{\"outcome\":\"setup-failed\",\"exit_code\":null}", REVIEW_FAILED, REVIEW_FAILED},
		{NULL, REVIEW_FAILED, REVIEW_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect(try_of(&plain, "", cases[i].result), cases[i].plain, "");
		expect(try_of(&outcomes, "", cases[i].result), cases[i].outcomes, "");
	}
}

static void an_escape_outweighs_a_failure_and_the_first_one_stays(void **state)
{
	struct review_try try = {0};

	(void)state;
	try_not_applicable(&try, "one");
	try_failed(&try, "two");
	try_not_applicable(&try, "three");
	assert_string_equal(try.reason, "two");
	try_escaped(&try, "four");
	try_escaped(&try, "five");
	try_failed(&try, "six");
	assert_int_equal(try.verdict, REVIEW_ESCAPED);
	assert_string_equal(try.reason, "four");
	try_done(&try);
}

static void a_reason_is_one_line_that_no_terminal_obeys(void **state)
{
	struct review_try try = {0};

	(void)state;
	try_escaped(&try, "'%s' worked", "\033]0;title\007\nhotcell: all is well\xff");
	for (const char *at = try.reason; *at; at++)
		assert_in_range((unsigned char)*at, 0x20, 0x7e);
	try_done(&try);
}

static void two_answers_can_be_had_at_once(void **state)
{
	static const struct review_attack attack = {.id = "x.y"};
	struct review_try try = try_of(&attack, "one 1\ntwo 2\none 3\n", NULL);
	struct buf status = {0};

	(void)state;
	const char *one = try_said(&try, "one"), *two = try_said(&try, "two");
	assert_string_equal(one, "3");
	assert_string_equal(two, "2");
	assert_null(try_said(&try, "three"));
	buf_str(&status, "Name:\ta\nSeccomp:\t2\nCapEff:\t0\n");
	const char *first = try_status_line(&status, "Seccomp"), *second = try_status_line(&status, "Name");
	assert_string_equal(first, "2");
	assert_string_equal(second, "a");
	buf_done(&status);
	try_done(&try);
}

/* ---- what the observers saw ---- */

static void the_token_in_what_was_printed_is_an_escape_in_each_spelling(void **state)
{
	static const struct review_attack attack = {.id = "x.y"};
	char hex[65] = "";
	own(freep) char *plain = xfmt("file %s\n", scene_token(scene));

	(void)state;
	for (int i = 0; i < 32; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)scene_token(scene)[i]);
	expect(try_of(&attack, plain, FINE), REVIEW_ESCAPED, "token was read");
	expect(try_of(&attack, hex, FINE), REVIEW_ESCAPED, "token was read");
	struct review_try try = try_of(&attack, "fine EPERM\n", FINE);
	buf_add(&try.err, "\0", 1); /* what follows a NUL is seen too */
	buf_str(&try.err, plain);
	expect(try, REVIEW_ESCAPED, "token was read");
}

static void a_canary_that_is_not_what_it_was_is_an_escape_and_is_put_right(void **state)
{
	static const struct review_attack attack = {.id = "x.y"};
	const char *path = scene_canary(scene);

	(void)state;
	assert_int_equal(unlink(path), 0);
	expect(try_of(&attack, "", FINE), REVIEW_ESCAPED, "gone");
	expect(try_of(&attack, "", FINE), REVIEW_HELD, "");
	assert_int_equal(chmod(path, 0666), 0);
	expect(try_of(&attack, "", FINE), REVIEW_ESCAPED, "mode");
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	(void)close(fd);
	expect(try_of(&attack, "", FINE), REVIEW_ESCAPED, "written to");
	expect(try_of(&attack, "", FINE), REVIEW_HELD, "");
}

static void a_victim_that_was_touched_is_an_escape(void **state)
{
	static const struct review_attack attack = {.id = "x.y"};

	(void)state;
	while (getsid(scene_victim(scene)) != scene_victim(scene)) /* it has begun, and its handlers come next */
		usleep(1000);
	usleep(50000);
	expect(try_of(&attack, "", FINE), REVIEW_HELD, "");
	assert_int_equal(kill(scene_victim(scene), SIGUSR1), 0);
	usleep(50000);
	expect(try_of(&attack, "", FINE), REVIEW_ESCAPED, "got a signal");
	pid_t before = scene_victim(scene);
	assert_int_equal(kill(before, SIGKILL), 0);
	usleep(50000);
	expect(try_of(&attack, "", FINE), REVIEW_ESCAPED, "was killed");
	assert_int_not_equal(scene_victim(scene), before);
	usleep(50000);
	expect(try_of(&attack, "", FINE), REVIEW_HELD, "");
}

static void who_knocks_at_the_hosts_socket_has_escaped(void **state)
{
	static const struct review_attack attack = {.id = "x.y"};
	struct review_try try = try_of(&attack, "", FINE);
	own(buf_done) struct buf port = {0};

	(void)state;
	scene_expand(scene, &try, "{port}", &port);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)atoi(buf_text(&port)))};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)), 1);
	(void)close(fd);
	expect(try, REVIEW_ESCAPED, "UDP 127.0.0.1");
	expect(try_of(&attack, "", FINE), REVIEW_HELD, "");
}

static void the_hosts_shared_memory_can_be_had_by_its_id_and_goes_with_the_scene(void **state)
{
	static const struct review_attack attack = {.id = "x.y"};
	struct review_try try = try_of(&attack, "", FINE);
	own(buf_done) struct buf id = {0};
	struct shmid_ds about;

	(void)state;
	scene_expand(scene, &try, "{shm}", &id);
	char *at = shmat(atoi(buf_text(&id)), NULL, SHM_RDONLY);
	assert_ptr_not_equal(at, (void *)-1);
	assert_memory_equal(at, scene_token(scene), 32);
	(void)shmdt(at);
	try_done(&try);
	scene = scene_free(scene);
	assert_int_equal(shmctl(atoi(buf_text(&id)), IPC_STAT, &about), -1);
	assert_int_equal(world_open(NULL), 0);
}

/* ---- degraded ---- */

#define LACKING                                                                                                                \
	"{\"outcome\":\"exited\",\"exit_code\":0,\"receipt\":{\"protections\":{\"seccomp\":{\"state\":\"on\",\"note\":\"\"},"  \
	"\"landlock\":{\"state\":\"off\",\"note\":\"no ABI\"},\"memory-limit\":{\"state\":\"weaker\",\"note\":\"\"}}}}"

static void degraded_as(const char *without, bool gentle, const char *out, enum review_verdict verdict, const char *lacking)
{
	const struct review_attack attack = {.id = "x.y", .without = without};
	struct review_try try = try_of(&attack, out, LACKING);

	try.gentle = gentle;
	try_judge(&try);
	own(freep) char *names = review_degrade(&try);
	assert_string_equal(names, lacking);
	assert_int_equal(try.verdict, verdict);
	try_done(&try);
}

static void an_escape_is_degraded_only_where_the_receipt_lacks_what_would_hold_it(void **state)
{
	(void)state;
	degraded_as("landlock", false, "one ok\n", REVIEW_DEGRADED, "landlock");
	degraded_as("memory-limit seccomp landlock", false, "one ok\n", REVIEW_DEGRADED, "memory-limit landlock");
	degraded_as("seccomp", false, "one ok\n", REVIEW_ESCAPED, "");
	degraded_as("land", false, "one ok\n", REVIEW_ESCAPED, "");
	degraded_as(NULL, false, "one ok\n", REVIEW_ESCAPED, "");
	degraded_as("landlock", true, "one ok\n", REVIEW_ESCAPED, ""); /* weakened, or no cell at all */
	degraded_as("landlock", false, "one EPERM\n", REVIEW_HELD, "");
}

#define NO_LIMITS                                                                                                              \
	"{\"outcome\":\"exited\",\"exit_code\":0,\"receipt\":{\"protections\":{\"memory-limit\":{\"state\":\"off\",\"note\":\"\"},"  \
	"\"pid-namespace\":{\"state\":\"off\",\"note\":\"\"},\"net-namespace\":{\"state\":\"on\",\"note\":\"\"},"                        \
	"\"private-tmp\":{\"state\":\"off\",\"note\":\"\"}}}}"

static struct review_try judged(const struct review_attack *attack, const char *out)
{
	struct review_try try = try_of(attack, out, NO_LIMITS);

	try_judge(&try);
	return try;
}

static void degraded_to(struct review_try try, enum review_verdict verdict, const char *lacking, const char *reason)
{
	own(freep) char *names = review_degrade(&try);

	assert_string_equal(names, lacking);
	assert_int_equal(try.verdict, verdict);
	assert_non_null(strstr(try.reason, reason));
	try_done(&try);
}

static void what_the_scene_saw_is_never_degraded_for_want_of_a_limit(void **state)
{
	static const struct review_attack limit = {.id = "x.y", .without = "memory-limit"},
					  tmp = {.id = "x.y", .without = "memory-limit private-tmp"};
	own(freep) char *token = xfmt("file %s\n", scene_token(scene));

	(void)state;
	degraded_to(judged(&limit, token), REVIEW_ESCAPED, "", "token was read");
	degraded_to(judged(&tmp, token), REVIEW_DEGRADED, "private-tmp", "token was read");
	assert_int_equal(unlink(scene_canary(scene)), 0);
	degraded_to(judged(&limit, ""), REVIEW_ESCAPED, "", "gone");
	assert_int_equal(kill(scene_victim(scene), SIGKILL), 0);
	usleep(50000);
	degraded_to(judged(&limit, ""), REVIEW_ESCAPED, "", "was killed");
}

static void processes_that_were_left_are_never_degraded_for_want_of_a_limit(void **state)
{
	static const struct review_attack limit = {.id = "x.y", .without = "memory-limit"},
					  space = {.id = "x.y", .without = "memory-limit pid-namespace"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			(void)execl("/bin/sh", "sh", "-c", "while :; do sleep 1; done", "@review-unit-test", NULL);
			_exit(127);
		}
		usleep(50000);
		degraded_to(judged(i ? &space : &limit, ""), i ? REVIEW_DEGRADED : REVIEW_ESCAPED, i ? "pid-namespace" : "", "were left");
		assert_int_equal(waitpid(pid, NULL, 0), pid); /* it was killed */
	}
}

static void what_nothing_explains_does_not_hide_behind_what_is_explained(void **state)
{
	static const struct review_attack attack = {.id = "x.y", .without = "memory-limit pid-namespace net-namespace"};
	static const char *const causes[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
	struct review_try try = try_of(&attack, "", NO_LIMITS);

	(void)state;
	try_escaped(&try, "more memory than it may");
	try_escaped(&try, "again");
	try_escaped_for(&try, "pid-namespace", "a process");
	degraded_to(try, REVIEW_DEGRADED, "memory-limit pid-namespace", "more memory");
	struct review_try worse = try_of(&attack, "", NO_LIMITS);
	try_escaped(&worse, "more memory than it may");
	try_escaped_for(&worse, "net-namespace", "the host's \033 network");
	degraded_to(worse, REVIEW_ESCAPED, "", "network");
	struct review_try many = try_of(&attack, "", NO_LIMITS);
	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		try_escaped_for(&many, causes[i], "%s", causes[i]);
	degraded_to(many, REVIEW_ESCAPED, "", "a");
}

/* ---- running ---- */

/* A hotcell that does as its script says. */
static void with_script(const char *script, void (*fn)(struct review_try *try), const char *name)
{
	static const struct review_attack attack = {.id = "x.y", .program = "paths read /nowhere"};
	own(freep) char *path = xfmt("%s/%s", scene_folder(scene), name);
	const struct review_options fake = {.hotcell = path, .backend = "native"};
	struct review_try try = {.attack = &attack, .options = &fake, .scene = scene, .mark = "@review-unit-test",
		.until = clock_now() + 60 * NS_PER_S};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
	fn(&try);
	try_done(&try);
	assert_int_equal(unlink(path), 0);
}

static const struct try_command command = {.program = "paths read /nowhere"};

static void flood(struct review_try *try)
{
	assert_int_equal(try_run(try, &command), 0);
	assert_int_equal(try->out.len, TRY_OUTPUT_MAX);
	assert_true(try->out_bytes > TRY_OUTPUT_MAX);
	assert_true(try->leaked);
	try_judge(try);
	assert_int_equal(try->verdict, REVIEW_ESCAPED);
}

static void output_is_bounded_and_the_token_is_found_beyond(void **state)
{
	own(freep) char *script = xfmt("head -c 8388600 /dev/zero; printf %.16s; sleep 0.2; printf %s; head -c 100000 /dev/zero",
		scene_token(scene), scene_token(scene) + 16);

	(void)state;
	with_script(script, flood, "flood");
}

static void descriptors_are_lent(struct review_try *try)
{
	assert_int_equal(try_run(try, &command), 0);
	assert_string_equal(buf_text(&try->out), scene_token(try->scene));
	assert_int_equal(try->status, 3);
}

static void hotcell_is_lent_the_canary_and_the_token(void **state)
{
	(void)state;
	with_script("read -r line </proc/self/fd/137; [ \"$line\" = \"$REVIEW_TOKEN\" ] && [ -d /proc/self/fd/138/ ] && printf %s \"$line\"; exit 3",
		descriptors_are_lent, "lent");
}

static void no_time_left(struct review_try *try)
{
	try->until = clock_now();
	assert_int_equal(try_run(try, &command), -1);
	assert_int_equal(try->verdict, REVIEW_FAILED);
	assert_false(try_sleep(try, 1));
}

static void a_row_whose_time_is_over_runs_nothing_more_and_has_failed(void **state)
{
	(void)state;
	with_script("touch \"$TMPDIR/never\"", no_time_left, "late");
}

static int ends[2];

static void stop_now(struct review_try *try)
{
	(void)try;
	assert_int_equal(write(ends[1], "x", 1), 1);
}

static void stops(struct review_try *try)
{
	struct review_options stoppable = *try->options;
	const struct try_command until_ready = {.program = command.program, .during = stop_now};

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	stoppable.stop = &ends[0];
	try->options = &stoppable;
	assert_int_equal(try_run(try, &until_ready), -1);
	assert_true(try->stopped);
	assert_int_equal(try->status, 7); /* it was told by SIGTERM, and tidied up */
	try_judge(try);
	assert_int_equal(try->verdict, REVIEW_HELD); /* nothing is said of what was stopped */
	assert_int_equal(try_run(try, &command), -1);
	(void)close(ends[0]), (void)close(ends[1]);
}

static void a_review_that_is_stopped_lets_hotcell_tidy_up(void **state)
{
	(void)state;
	with_script("trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done", stops, "slow");
}

/* ---- the order ---- */

static char *turns; /* the ids in the order they were tried in */

static void note_turn(void *data, size_t done, size_t count, const struct review_row *next)
{
	char *before = turns;

	(void)data, (void)done, (void)count;
	turns = xfmt("%s%s ", before ? before : "", next ? next->attack->id : "end");
	free(before);
}

static size_t harsh_ids(const char **ret, size_t max)
{
	size_t count = 0;

	for (const struct review_group *group = review_groups; group->name; group++)
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			if (attack->harsh && count < max)
				ret[count++] = attack->id;
	return count;
}

static void where_cells_do_not_hold_nothing_harsh_is_tried(struct review_try *try)
{
	const char *only[32] = {"files.climb", REVIEW_FIRST};
	size_t harsh = harsh_ids(only + 2, ARRAY_LEN(only) - 3);
	const struct review_options fake = {.hotcell = try->options->hotcell, .backend = "native", .only = only, .progress = note_turn};
	own(review_done) struct review review = {0};
	struct err err = {0};

	assert_true(harsh > 3);
	assert_int_equal(review_run(&review, &fake, &err), 0);
	assert_int_equal(review.count, harsh + 2);
	assert_int_equal(strncmp(turns, REVIEW_FIRST " files.climb ", strlen(REVIEW_FIRST " files.climb ")), 0);
	assert_string_equal(turns + strlen(turns) - 4, "end ");
	assert_string_equal(review.rows[0].attack->id, "files.climb"); /* told in the catalogue's order */
	for (size_t i = 0; i < review.count; i++) {
		const struct review_row *row = &review.rows[i];
		assert_int_equal(row->verdict, row->attack->harsh ? REVIEW_NOT_APPLICABLE : REVIEW_FAILED);
		assert_true(!row->attack->harsh || strstr(row->reason, REVIEW_FIRST " was not held"));
	}
	free(turns);
	turns = NULL;
}

static void namespaces_are_tried_first_and_harsh_attacks_only_if_they_hold(void **state)
{
	(void)state;
	with_script("for word; do case $word in --json-file=*) echo '{\"outcome\":\"exited\",\"exit_code\":0,"
		    "\"receipt\":{\"protections\":{}}}' >\"${word#*=}\";; esac; done",
		where_cells_do_not_hold_nothing_harsh_is_tried, "nothing-tried");
}

/* ---- where the scene is ---- */

static void a_folder_that_cells_are_shown_is_refused(void **state)
{
	static const char *const bad[] = {"/usr/local", "/etc", "/proc/self", "/nowhere/at/all"};
	own(freep) char *was = getenv("TMPDIR") ? xstrdup(getenv("TMPDIR")) : NULL;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		err = (struct err){0};
		assert_int_equal(setenv("TMPDIR", bad[i], 1), 0);
		assert_null(scene_open(&options, &err));
		assert_non_null(strstr(err.text, "TMPDIR"));
	}
	const struct review_options image = {.hotcell = "/bin/false", .backend = "native", .image = "/tmp"};
	assert_int_equal(setenv("TMPDIR", "/tmp", 1), 0);
	err = (struct err){0};
	assert_null(scene_open(&image, &err));
	assert_int_equal(err.code, ERR_USAGE);
	if (was)
		(void)setenv("TMPDIR", was, 1);
	else
		(void)unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_attack_that_was_refused_and_ended_well_is_held),
		cmocka_unit_test(what_worked_is_an_escape_unless_it_may),
		cmocka_unit_test(an_attack_that_tried_too_little_has_failed),
		cmocka_unit_test(a_program_that_crashed_has_held_nothing),
		cmocka_unit_test(an_exit_code_that_tells_of_a_failure_is_one),
		cmocka_unit_test(an_escape_outweighs_a_failure_and_the_first_one_stays),
		cmocka_unit_test(a_reason_is_one_line_that_no_terminal_obeys),
		cmocka_unit_test(two_answers_can_be_had_at_once),
		cmocka_unit_test(the_token_in_what_was_printed_is_an_escape_in_each_spelling),
		cmocka_unit_test(a_canary_that_is_not_what_it_was_is_an_escape_and_is_put_right),
		cmocka_unit_test(a_victim_that_was_touched_is_an_escape),
		cmocka_unit_test(who_knocks_at_the_hosts_socket_has_escaped),
		cmocka_unit_test(the_hosts_shared_memory_can_be_had_by_its_id_and_goes_with_the_scene),
		cmocka_unit_test(an_escape_is_degraded_only_where_the_receipt_lacks_what_would_hold_it),
		cmocka_unit_test(what_the_scene_saw_is_never_degraded_for_want_of_a_limit),
		cmocka_unit_test(processes_that_were_left_are_never_degraded_for_want_of_a_limit),
		cmocka_unit_test(what_nothing_explains_does_not_hide_behind_what_is_explained),
		cmocka_unit_test(output_is_bounded_and_the_token_is_found_beyond),
		cmocka_unit_test(hotcell_is_lent_the_canary_and_the_token),
		cmocka_unit_test(a_row_whose_time_is_over_runs_nothing_more_and_has_failed),
		cmocka_unit_test(a_review_that_is_stopped_lets_hotcell_tidy_up),
		cmocka_unit_test(namespaces_are_tried_first_and_harsh_attacks_only_if_they_hold),
		cmocka_unit_test(a_folder_that_cells_are_shown_is_refused),
	};
	return cmocka_run_group_tests(tests, world_open, world_close);
}
