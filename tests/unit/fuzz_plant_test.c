#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "base/fs.h"
#include "base/own.h"
#include "fuzz/fuzz.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

static int make_folder(void **state)
{
	char *path = xstrdup("/tmp/plant-test.XXXXXX");

	*state = mkdtemp(path);
	return *state && setenv("TMPDIR", path, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct err err;
	int failed = fs_remove_tree(AT_FDCWD, *state, &err);

	free(*state);
	return failed;
}

static const struct cell_mount *mount_on(const struct cell_spec *spec, const char *target)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		if (strcmp(spec->mounts[i].target, target) == 0)
			return &spec->mounts[i];
	}
	return NULL;
}

static bool has_word(const struct plant *plant, const char *word)
{
	for (const char *const *at = plant_words(plant); *at; at++) {
		if (strcmp(*at, word) == 0)
			return true;
	}
	return false;
}

static void files_carry_tokens_and_nothing_else_does(void **state)
{
	struct cell_spec spec;
	struct err err;
	size_t count;

	(void)state;
	cell_spec_defaults(&spec);
	spec.argv = (const char *const[]){"true", NULL};
	own(plant_freep) struct plant *plant = plant_open(&spec, 1, &err);
	assert_non_null(plant);
	const struct cell_spec *planted = plant_spec(plant);
	assert_int_equal(cell_spec_check(planted, &err), 0);
	const struct canary *canaries = plant_canaries(plant, &count);
	assert_int_equal(count, 5);
	size_t files = 0, secrets = 0;
	for (size_t i = 0; i < count; i++) {
		if (canaries[i].secret) {
			secrets++;
			continue;
		}
		own(buf_done) struct buf text = {0};
		const struct cell_mount *mount = mount_on(planted, canaries[i].where);
		struct stat st;
		assert_non_null(mount);
		assert_false(mount->writable);
		assert_int_equal(fs_read_small(AT_FDCWD, mount->source, 4096, &text, &err), 0);
		assert_non_null(strstr(buf_text(&text), canaries[i].token));
		assert_int_equal(stat(mount->source, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0444);
		files++;
		for (const char *const *word = plant_words(plant); *word; word++)
			assert_null(strstr(*word, canaries[i].token));
	}
	assert_int_equal(files, 3);
	assert_int_equal(secrets, 2);
}

static void the_environment_carries_secrets_and_keeps_what_was_there(void **state)
{
	const char *const env[] = {"PATH=/bin", "BACKUP_KEY=mine", NULL};
	struct cell_spec spec;
	struct err err;
	size_t count, i = 0;

	(void)state;
	cell_spec_defaults(&spec);
	spec.env = env;
	own(plant_freep) struct plant *plant = plant_open(&spec, 1, &err);
	assert_non_null(plant);
	const char *const *planted = plant_spec(plant)->env;
	assert_string_equal(planted[0], "PATH=/bin");
	assert_string_equal(planted[1], "BACKUP_KEY=mine");
	assert_int_equal(strncmp(planted[2], "DATABASE_PASSWORD=", 18), 0);
	assert_null(planted[3]);
	const struct canary *canaries = plant_canaries(plant, &count);
	while (i < count && !canaries[i].secret)
		i++;
	assert_string_equal(canaries[i].token, planted[2] + 18);
	assert_string_equal(canaries[i].where, "the environment variable DATABASE_PASSWORD");
}

static void what_the_user_mounts_is_not_covered(void **state)
{
	const struct cell_mount mounts[] = {{.source = "/usr", .target = "/home"}, {.source = "/usr", .target = "/srv/backup/credentials.json/x"}};
	struct cell_spec spec;
	struct err err;
	size_t count;

	(void)state;
	cell_spec_defaults(&spec);
	spec.mounts = mounts;
	spec.mount_count = ARRAY_LEN(mounts);
	own(plant_freep) struct plant *plant = plant_open(&spec, 1, &err);
	assert_non_null(plant);
	assert_int_equal(plant_spec(plant)->mount_count, 3);
	assert_non_null(mount_on(plant_spec(plant), "/etc/passwd"));
	(void)plant_canaries(plant, &count);
	assert_int_equal(count, 3);
	assert_true(has_word(plant, "/home/../etc/passwd"));
	assert_true(has_word(plant, "/workspace/../etc/passwd"));
	const struct strings *gaps = plant_gaps(plant);
	assert_int_equal(gaps->count, 2);
	assert_string_equal(gaps->items[0], "nothing is planted in /home/backup/.ssh/id_ed25519: a mount is there");
	assert_string_equal(gaps->items[1], "nothing is planted in /srv/backup/credentials.json: a mount is there");
}

static void what_an_image_has_is_not_covered_and_that_is_said(void **state)
{
	struct cell_spec spec;
	struct err err;
	size_t count;

	(void)state;
	cell_spec_defaults(&spec);
	own(plant_freep) struct plant *whole = plant_open(&spec, 1, &err);
	assert_int_equal(plant_gaps(whole)->count, 0);
	spec.image = "/srv/image";
	own(plant_freep) struct plant *plant = plant_open(&spec, 1, &err);
	assert_non_null(plant);
	(void)plant_canaries(plant, &count);
	assert_int_equal(count, 2);
	assert_int_equal(plant_gaps(plant)->count, 1);
	assert_non_null(strstr(plant_gaps(plant)->items[0], "those of an image are its own"));
}

static void words_lead_to_canaries_in_many_spellings_and_leave_the_mark(void **state)
{
	static const char *const spellings[] = {"/etc/passwd", "../etc/passwd", "../../../../../../../../etc/passwd",
		"..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", "file:///etc/passwd", "/etc/passwd%00.txt", "/proc/self/environ", "${BACKUP_KEY}",
		"....//....//....//....//....//....//....//....//etc/passwd", "..\\..\\..\\..\\..\\..\\..\\..\\etc\\passwd",
		"%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd"};
	struct cell_spec spec;
	struct err err;
	size_t marked = 0, words = 0;

	(void)state;
	cell_spec_defaults(&spec);
	own(plant_freep) struct plant *plant = plant_open(&spec, 1, &err);
	assert_non_null(plant);
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		if (!has_word(plant, spellings[i]))
			fail_msg("no '%s'", spellings[i]);
	}
	for (const char *const *word = plant_words(plant); *word; word++, words++)
		marked += strstr(*word, plant_mark(plant)) != NULL;
	assert_int_equal(marked, 14);
	assert_true(words < 50);
	own(plant_freep) struct plant *same = plant_open(&spec, 1, &err), *other = plant_open(&spec, 2, &err);
	assert_string_equal(plant_mark(plant), plant_mark(same));
	assert_string_not_equal(plant_mark(plant), plant_mark(other));
}

static size_t entries(const char *path)
{
	own(freep) char *command = xfmt("ls %s | wc -l", path);
	FILE *pipe = popen(command, "r");
	unsigned count = 999;

	assert_int_equal(fscanf(pipe, "%u", &count), 1);
	(void)pclose(pipe);
	return count;
}

static void nothing_is_left_and_what_the_killed_left_is_removed(void **state)
{
	own(freep) char *left = xfmt("%s/hotcell-plant.killed", (const char *)*state), *inside = xfmt("%s/passwd", left);
	struct utimbuf old = {1000, 1000};
	struct cell_spec spec;
	struct err err;

	cell_spec_defaults(&spec);
	struct plant *live = plant_open(&spec, 1, &err);
	assert_non_null(live);
	own(freep) char *folder = xstrdup(mount_on(plant_spec(live), "/etc/passwd")->source);
	*strrchr(folder, '/') = '\0';
	struct stat st;
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(utime(folder, &old), 0); /* old, but somebody lives in it */
	assert_int_equal(mkdir(left, 0700), 0);
	int fd = open(inside, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(utime(left, &old), 0);
	assert_int_equal(entries(*state), 2);
	struct plant *next = plant_open(&spec, 2, &err);
	assert_int_equal(entries(*state), 2);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(folder, F_OK), 0);
	plant_free(next);
	plant_free(live);
	assert_int_equal(entries(*state), 0);
}

static void tokens_of_another_seed_are_renewed(void **state)
{
	const struct cell_spec spec = {.image = "host"};
	struct err err;
	size_t count, other;

	(void)state;
	own(plant_freep) struct plant *old = plant_open(&spec, 1, &err), *fresh = plant_open(&spec, 2, &err);
	assert_non_null(old);
	assert_non_null(fresh);
	const struct canary *before = plant_canaries(old, &count), *after = plant_canaries(fresh, &other);
	assert_int_equal(count, other);
	own(freep) char *text = xfmt("; touch /tmp/%s; %s%s", plant_mark(old), before[0].token, plant_mark(old));
	own(freep) char *want = xfmt("; touch /tmp/%s; %s%s", plant_mark(fresh), after[0].token, plant_mark(fresh));
	own(freep) char *same = xstrdup(text);
	plant_renew(fresh, 3, text, strlen(text));
	assert_string_equal(text, same);
	plant_renew(fresh, 1, text, strlen(text));
	assert_string_equal(text, want);
	plant_renew(fresh, 1, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_carry_tokens_and_nothing_else_does),
		TEST(the_environment_carries_secrets_and_keeps_what_was_there),
		TEST(what_the_user_mounts_is_not_covered),
		TEST(what_an_image_has_is_not_covered_and_that_is_said),
		TEST(words_lead_to_canaries_in_many_spellings_and_leave_the_mark),
		TEST(tokens_of_another_seed_are_renewed),
		TEST(nothing_is_left_and_what_the_killed_left_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
