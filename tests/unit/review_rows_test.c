/* What single rows of the catalogue make of what their programs said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_read.h"
#include "review/observe/props.h"
#include "review/observe/scene.h"

#define MARK "review-unit-test"

static struct review_options options = {.hotcell = "/bin/false", .backend = "native"};

static const struct review_attack *row(const char *id)
{
	for (const struct review_group *group = review_groups; group->name; group++)
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			if (strcmp(attack->id, id) == 0)
				return attack;
	fail_msg("there is no row '%s'", id);
	return NULL;
}

/* The row's own judge alone. */
static void expect(const char *id, const char *out, enum review_verdict verdict, const char *reason)
{
	struct review_try try = {.attack = row(id), .options = &options, .mark = "@" MARK};

	buf_str(&try.out, out);
	try.attack->judge(&try);
	if (try.verdict != verdict || (*reason && (!try.reason || !strstr(try.reason, reason))))
		fail_msg("%s: '%s' is %s: %s", id, out, review_verdict_name(try.verdict), try.reason ? try.reason : "");
	try_done(&try);
}

static void a_secret_of_the_machine_that_can_be_read_is_an_escape(void **state)
{
	(void)state;
	expect("files.absolute", "/etc/shadow ENOENT\n/proc/1/environ EACCES\n/run/utmp 0\n", REVIEW_HELD, "");
	expect("files.absolute", "/etc/shadow ENOENT\n/etc/machine-id 33\n", REVIEW_ESCAPED, "/etc/machine-id");
}

static void what_an_image_brings_along_is_no_secret_of_the_machine(void **state)
{
	char image[] = "/tmp/review-rows-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(image));
	own(freep) char *etc = xfmt("%s/etc", image), *group = xfmt("%s/etc/gshadow", image);
	assert_int_equal(mkdir(etc, 0755), 0);
	assert_int_equal(mkdir(group, 0755), 0);
	options.image = image;
	expect("files.absolute", "/etc/gshadow 12\n", REVIEW_HELD, "");
	expect("files.absolute", "/etc/shadow 12\n", REVIEW_ESCAPED, "/etc/shadow");
	options.image = NULL;
	assert_int_equal(rmdir(group) | rmdir(etc) | rmdir(image), 0);
}

static void who_left_nothing_behind_has_failed(void **state)
{
	(void)state;
	expect("proc.daemon", "daemons 1\n", REVIEW_HELD, "");
	expect("proc.daemon", "daemons 0\n", REVIEW_FAILED, "no process");
	expect("proc.daemon", "fork EAGAIN\n", REVIEW_FAILED, "no process");
}

static void a_neighbour_that_has_nothing_to_find_proves_nothing(void **state)
{
	static const char all[] = "socket 0\nport 0\nshm left\nsem left\nmsg left\nqueue none\n/tmp/" MARK " 5\n";
	static const char *const things[] = {"socket 0", "port 0", "shm left", "sem left", "msg left", "/tmp/" MARK " 5"};

	(void)state;
	expect("kernel.neighbour", all, REVIEW_HELD, "");
	for (size_t i = 0; i < ARRAY_LEN(things); i++) {
		own(freep) char *without = xstrdup(all);
		strstr(without, things[i])[0] = 'X';
		expect("kernel.neighbour", without, REVIEW_FAILED, "the first cell left no");
	}
}

/* Between what a row does before and how it judges, somebody comes. */
static void look_before_and_after(const char *id, void (*change)(const char *dir), enum review_verdict verdict)
{
	char dir[] = "/tmp/review-rows-XXXXXX";
	struct err err = {0};
	own(scene_freep) struct scene *scene = scene_open(&options, &err);
	struct review_try try = {.attack = row(id), .options = &options, .scene = scene, .mark = "@" MARK};

	assert_non_null(scene);
	assert_non_null(mkdtemp(dir));
	try.dir = xstrdup(dir);
	try.attack->before(&try);
	assert_int_equal(try.verdict, REVIEW_HELD);
	change(dir);
	try.attack->judge(&try);
	assert_int_equal(try.verdict, verdict);
	try_done(&try);
}

static void nobody(const char *dir)
{
	(void)dir;
}

static void make_and_remove(const char *dir)
{
	own(freep) char *path = xfmt("%s/folder/short-lived", dir);

	(void)usleep(20000); /* times of files are as coarse as the kernel's ticks */
	assert_int_equal(mkdir(path, 0700) | rmdir(path), 0);
}

static void write_to_plain(const char *dir)
{
	own(freep) char *path = xfmt("%s/only/plain", dir);

	assert_int_equal(truncate(path, 3), 0);
}

static void what_changed_on_the_host_is_an_escape_though_nobody_told(void **state)
{
	(void)state;
	look_before_and_after("files.write", nobody, REVIEW_HELD);
	look_before_and_after("files.write", make_and_remove, REVIEW_ESCAPED);
	look_before_and_after("files.shell", nobody, REVIEW_HELD);
	look_before_and_after("files.shell", write_to_plain, REVIEW_ESCAPED);
}

/* What was taken back of archives, made up: `extra` is one more file somewhere. */
static void judge_archives(const char *extra, const char *capped, enum review_verdict verdict)
{
	static const char *const names[] = {
		"slip.tar", "absolute.tar", "through.tar", "hard.tar", "twice.tar", "bomb.tar", "slip.zip", "bomb.zip"};
	static const struct json_limits limits = {.bytes = 65536, .values = 1000, .depth = 16};
	char dir[] = "/tmp/review-rows-XXXXXX";
	struct err err = {0};
	own(scene_freep) struct scene *scene = scene_open(&options, &err);
	struct review_try try = {.attack = row("output.archives"), .options = &options, .scene = scene, .mark = "@" MARK};
	own(freep) char *result = xfmt("{\"outcome\":\"exited\",\"output\":{\"files\":%d,\"folders\":0,\"skipped\":1,\"bytes\":40,"
				       "\"capped\":\"%s\"}}",
		extra && strncmp(extra, "out/", 4) == 0 ? 9 : 8, capped);

	assert_non_null(scene);
	assert_non_null(mkdtemp(dir));
	try.dir = xstrdup(dir);
	try.attack->before(&try);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		own(freep) char *name = xfmt("out/%s", names[i]);
		props_file(&try, name, "ustar", 0644);
		buf_fmt(&try.out, "%s 5\n", names[i]);
	}
	buf_str(&try.out, "large.tar 4195840\n");
	if (extra)
		props_file(&try, extra, "unpacked", 0644);
	assert_int_equal(json_read(result, strlen(result), &limits, NULL, &try.result, &err), 0);
	try.attack->judge(&try);
	if (try.verdict != verdict)
		fail_msg("with '%s' it is %s: %s", extra ? extra : "", review_verdict_name(try.verdict), try.reason ? try.reason : "");
	try_done(&try);
}

static void an_archive_that_was_unpacked_is_an_escape(void **state)
{
	(void)state;
	judge_archives(NULL, "bytes", REVIEW_HELD);
	judge_archives("slipped", "bytes", REVIEW_ESCAPED);
	judge_archives("out/zeros", "bytes", REVIEW_ESCAPED);
	judge_archives("out/large.tar", "bytes", REVIEW_ESCAPED);
	judge_archives(NULL, "", REVIEW_ESCAPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_of_the_machine_that_can_be_read_is_an_escape),
		cmocka_unit_test(what_an_image_brings_along_is_no_secret_of_the_machine),
		cmocka_unit_test(who_left_nothing_behind_has_failed),
		cmocka_unit_test(a_neighbour_that_has_nothing_to_find_proves_nothing),
		cmocka_unit_test(what_changed_on_the_host_is_an_escape_though_nobody_told),
		cmocka_unit_test(an_archive_that_was_unpacked_is_an_escape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
