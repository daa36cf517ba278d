#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "fuzz/function/corpus.h"
#include "fuzz/function/core/power.h"

static int folders_make(const char *path, struct err *err)
{
	own(fd_closep) int fd = beneath_root_make(path, 0755, NULL, err);

	return fd < 0 ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
#define ONE "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" /* SHA-256 of "1" */

/* ---- a project: t.py, a folder of inputs, a state folder ---- */

struct world {
	char folder[64], state[96], inputs[96];
	struct function_target target;
	struct corpus_about about;
	int from;
};

static void put_file(const char *folder, const char *name, const char *text)
{
	own(freep) char *path = xfmt("%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int world_make(void **state)
{
	static struct world world;

	world = (struct world){0};
	(void)snprintf(world.folder, sizeof(world.folder), "/tmp/corpus-test.XXXXXX");
	if (!mkdtemp(world.folder))
		return -1;
	(void)snprintf(world.state, sizeof(world.state), "%s/.hotcell", world.folder);
	(void)snprintf(world.inputs, sizeof(world.inputs), "%s/inputs", world.folder);
	if (mkdir(world.state, 0700) < 0 || mkdir(world.inputs, 0700) < 0)
		return -1;
	world.target = (struct function_target){.language = "python",
		.root = world.folder,
		.file = (char *)"t.py",
		.function = (char *)"parse",
		.name = (char *)"t.py:parse"};
	corpus_identify(world.state, &world.target, &world.about);
	world.from = open(world.inputs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &world;
	return world.from < 0 ? -1 : 0;
}

static int world_remove(void **state)
{
	struct world *world = *state;
	struct err err;

	corpus_about_done(&world->about);
	fd_close(&world->from);
	return fs_remove_tree(AT_FDCWD, world->folder, &err);
}

static void keep(const struct world *world, const struct corpus_names *instead, struct corpus_taken *ret)
{
	struct err err = {0};

	if (corpus_keep(world->state, &world->about, world->from, 4, instead, 1, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static struct corpus_about only(const struct world *world)
{
	own(corpora_done) struct corpora all = {0};
	struct err err = {0};

	assert_int_equal(corpora_read(world->state, &all, &err), 0);
	assert_int_equal(all.count, 1);
	struct corpus_about about = all.list[0];
	about.language = about.file = about.function = NULL;
	return about;
}

/* ---- what it is of ---- */

static void a_project_that_moves_keeps_its_corpora(void **state)
{
	const struct world *world = *state;
	own(freep) char *there = xfmt("%s/elsewhere", world->folder), *other_state = xfmt("%s/.hotcell", there);
	own(corpus_about_done) struct corpus_about moved = {0}, outside = {0}, other = {0};
	struct function_target target = world->target;

	assert_string_equal(world->about.file, "t.py");
	assert_int_equal(mkdir(there, 0700), 0);
	assert_int_equal(mkdir(other_state, 0700), 0);
	target.root = there;
	corpus_identify(other_state, &target, &moved);
	assert_string_equal(moved.id, world->about.id);
	target.root = (char *)"/usr";
	corpus_identify(world->state, &target, &outside);
	assert_string_equal(outside.file, "/usr/t.py");
	target = world->target;
	target.function = (char *)"other";
	corpus_identify(world->state, &target, &other);
	assert_string_not_equal(other.id, world->about.id);
}

static void what_it_is_of_is_read_as_it_was_written(void **state)
{
	const struct world *world = *state;
	own(json_done) struct json json = {0};
	own(corpus_about_done) struct corpus_about read = {0};
	struct corpus_about about = world->about;
	struct err err = {0};

	about.runs = 7;
	about.first = 1700000000;
	about.last = 1700000001;
	about.harness = true;
	corpus_about_write(&about, &json);
	assert_int_equal(corpus_about_read(buf_text(&json.out), json.out.len, "x", &read, &err), 0);
	assert_string_equal(read.id, about.id);
	assert_int_equal(read.runs, 7);
	assert_int_equal(read.last, about.last);
	assert_true(read.harness);
}

static void what_is_none_is_refused_by_name(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "about.json"},
		{"[]", "'format'"},
		{"{\"format\": \"hotcell-corpus-1\"}", "of which function"},
		{"{\"format\": \"hotcell-corpus-1\", \"language\": \"cobol\", \"file\": \"a\", \"function\": \"b\"}", "of which function"},
		{"{\"format\": \"hotcell-corpus-1\", \"language\": \"c\", \"file\": \"a\", \"function\": \"b\", \"first\": -1}", "a number"},
		{"{\"format\": \"hotcell-corpus-1\", \"id\": \"0123\", \"language\": \"c\", \"file\": \"a\", \"function\": \"b\", \"first\": 1, "
		 "\"last\": 1, \"runs\": 1, \"count\": 1, \"bytes\": 1}",
			"changed by hand"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct corpus_about read;
		struct err err = {0};
		assert_int_equal(corpus_about_read(cases[i].text, strlen(cases[i].text), "about.json", &read, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

/* ---- what is in it ---- */

static void inputs_are_kept_once_under_the_name_of_their_content(void **state)
{
	const struct world *world = *state;
	own(corpus_taken_done) struct corpus_taken first = {0}, second = {0};
	own(freep) char *one = xfmt("%s/corpus/%s/" ONE, world->state, world->about.id);
	struct stat st;

	put_file(world->inputs, "a", "1");
	put_file(world->inputs, "b", "1");
	put_file(world->inputs, "c", "22");
	keep(world, NULL, &first);
	assert_int_equal(first.files, 2);
	assert_int_equal(first.known, 1);
	assert_int_equal(first.bytes, 3);
	assert_int_equal(stat(one, &st), 0);
	keep(world, NULL, &second);
	assert_int_equal(second.files, 0);
	struct corpus_about about = only(world);
	assert_int_equal(about.count, 2);
	assert_int_equal(about.bytes, 3);
	assert_int_equal(about.runs, 2);
}

static void what_is_no_input_is_left_out_and_told(void **state)
{
	const struct world *world = *state;
	own(corpus_taken_done) struct corpus_taken taken = {0};
	own(freep) char *fifo = xfmt("%s/fifo", world->inputs), *link = xfmt("%s/link", world->inputs), *big = xfmt("%s/big", world->inputs),
		*below = xfmt("%s/below", world->inputs);
	own(buf_done) struct buf told = {0};

	put_file(world->folder, "secret", "not to be read");
	put_file(world->inputs, "good", "1");
	put_file(world->inputs, ".hidden", "2");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("../secret", link), 0);
	put_file(world->inputs, "big", "");
	assert_int_equal(truncate(big, (off_t)1 << 40), 0); /* a hole: it takes no room, and must take no time */
	assert_int_equal(mkdir(below, 0700), 0);
	put_file(below, "more", "3");
	keep(world, NULL, &taken);
	assert_int_equal(taken.files, 2);
	assert_int_equal(taken.left_out, 3);
	assert_true(corpus_taken_tell(&taken, &told));
	assert_non_null(strstr(buf_text(&told), "3 of its files were left out"));
	assert_non_null(strstr(buf_text(&told), "'fifo' is a FIFO"));
	assert_non_null(strstr(buf_text(&told), "'link' is a symbolic link"));
	assert_non_null(strstr(buf_text(&told), "'big' is larger than 1 MB"));
}

static int opened(const struct world *world)
{
	struct err err = {0};
	int fd = -1;

	assert_int_equal(corpus_open(world->state, world->about.id, &fd, &err), 0);
	return fd;
}

static void what_is_no_folder_is_no_corpus_that_is_not_there(void **state)
{
	const struct world *world = *state;
	own(freep) char *folder = corpus_folder(world->state, world->about.id), *above = corpus_folder(world->state, "");
	struct err err = {0};
	int fd = -1;

	assert_int_equal(opened(world), -1);
	assert_int_equal(folders_make(above, &err), 0);
	assert_int_equal(symlink("/tmp", folder), 0);
	assert_int_equal(corpus_open(world->state, world->about.id, &fd, &err), -1);
	assert_non_null(strstr(err.text, "is a symbolic link"));
	assert_int_equal(unlink(folder), 0);
	put_file(above, world->about.id, "a file");
	assert_int_equal(corpus_open(world->state, world->about.id, &fd, &err), -1);
	assert_non_null(strstr(err.text, "is a file, and no folder"));
	assert_int_equal(fd, -1);
}

static void files_that_are_not_what_they_are_called_are_not_given_to_an_engine(void **state)
{
	const struct world *world = *state;
	const struct corpus_caps caps = {.files = 100, .bytes = 1000, .named = true};
	own(corpus_taken_done) struct corpus_taken kept = {0}, taken = {0};
	own(freep) char *folder = corpus_folder(world->state, world->about.id), *to = xfmt("%s/to", world->folder),
		*link = xfmt("%s/%.63s0", folder, ONE);
	struct err err = {0};

	put_file(world->inputs, "a", "1");
	keep(world, NULL, &kept);
	put_file(folder, "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4c", "another");
	put_file(folder, "name", "no sum");
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(mkdir(to, 0700), 0);
	own(fd_closep) int from = opened(world), out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(corpus_copy(from, out, &caps, &taken, &err), 0);
	assert_int_equal(taken.files, 1);
	assert_int_equal(taken.left_out, 3);
	assert_int_equal(only(world).count, 2); /* the link is no input; what has a wrong name is one until it is read */
}

static void a_corpus_has_an_end(void **state)
{
	const struct world *world = *state;
	const struct corpus_caps caps = {.files = 2, .bytes = 1000}, small = {.files = 100, .bytes = 3};
	own(corpus_taken_done) struct corpus_taken taken = {0}, less = {0};
	own(freep) char *to = xfmt("%s/to", world->folder), *again = xfmt("%s/again", world->folder);
	struct err err = {0};

	put_file(world->inputs, "a", "11");
	put_file(world->inputs, "b", "22");
	put_file(world->inputs, "c", "33");
	assert_int_equal(mkdir(to, 0700) | mkdir(again, 0700), 0);
	own(fd_closep) int out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC), other = open(again, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(corpus_copy(world->from, out, &caps, &taken, &err), 0);
	assert_int_equal(taken.files, 2);
	assert_true(taken.full);
	assert_int_equal(corpus_copy(world->from, other, &small, &less, &err), 0);
	assert_int_equal(less.files, 1);
	assert_true(less.full);
}

static void what_is_made_of_it_takes_its_place_and_what_others_added_stays(void **state)
{
	const struct world *world = *state;
	own(corpus_taken_done) struct corpus_taken first = {0}, second = {0}, third = {0};
	own(corpus_names_done) struct corpus_names had = {0}, now = {0};
	own(freep) char *b = xfmt("%s/b", world->inputs), *c = xfmt("%s/c", world->inputs);

	put_file(world->inputs, "a", "1");
	put_file(world->inputs, "b", "22");
	keep(world, NULL, &first);
	own(fd_closep) int corpus = opened(world);
	corpus_names_read(corpus, &had);
	assert_int_equal(had.count, 2);
	put_file(world->inputs, "c", "of another run");
	keep(world, NULL, &second);
	assert_int_equal(unlink(b) | unlink(c), 0); /* the engine left a alone */
	keep(world, &had, &third);
	corpus_names_read(corpus, &now);
	assert_int_equal(now.count, 2);
	assert_true(corpus_names_have(&now, ONE));
}

static void two_at_once_both_add(void **state)
{
	const struct world *world = *state;
	own(corpus_names_done) struct corpus_names now = {0};
	pid_t children[4];

	for (size_t i = 0; i < ARRAY_LEN(children); i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] > 0)
			continue;
		own(freep) char *mine = xfmt("%s/in-%zu", world->folder, i);
		if (mkdir(mine, 0700) < 0)
			_exit(1);
		for (int k = 0; k < 50; k++) {
			own(freep) char *name = xfmt("%d", k), *text = xfmt("%zu-%d", k % 2 ? i : 99, k); /* half of them are the same */
			put_file(mine, name, text);
		}
		int from = open(mine, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct corpus_taken taken;
		struct err err = {0};
		_exit(corpus_keep(world->state, &world->about, from, 0, NULL, 1, &taken, &err) < 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(children); i++) {
		int status;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	own(fd_closep) int corpus = opened(world);
	corpus_names_read(corpus, &now);
	assert_int_equal(now.count, 25 + 4 * 25);
	assert_int_equal(only(world).runs, 4);
}

static void folders_that_are_no_corpora_are_left_alone(void **state)
{
	const struct world *world = *state;
	own(corpus_taken_done) struct corpus_taken taken = {0};
	own(corpora_done) struct corpora all = {0};
	own(freep) char *other = xfmt("%s/corpus/0123456789abcdef", world->state), *link = xfmt("%s/corpus/fedcba9876543210", world->state);
	struct err err = {0};

	put_file(world->inputs, "a", "1");
	keep(world, NULL, &taken);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(symlink("/etc", link), 0);
	assert_int_equal(corpora_read(world->state, &all, &err), 0);
	assert_int_equal(all.count, 1);
	assert_int_equal(all.unread.count, 2);
	assert_non_null(corpora_find(&all, world->about.id));
	assert_null(corpora_find(&all, "zz"));
	assert_null(corpora_find(&all, ""));
}

/* ---- power ---- */

/* What becomes of so many turns where a target gives so much a second of each. */
static void turns(struct power_target *targets, size_t count, const double *gives, unsigned how_many)
{
	for (unsigned i = 0; i < how_many; i++) {
		size_t next = power_next(targets, count);
		assert_true(next < count);
		uint64_t seconds = power_slice(targets, count, 1, 1000000);
		targets[next].begun = true;
		targets[next].spent_s += (double)seconds;
		targets[next].yield = power_yield(targets[next].yield, (uint64_t)(gives[next] * (double)seconds), (double)seconds);
	}
}

static void a_barren_target_gets_clearly_less_than_a_fertile_one(void **state)
{
	struct power_target targets[3] = {0};
	const double gives[] = {0, 20, 5};

	(void)state;
	turns(targets, 3, gives, 300);
	double all = targets[0].spent_s + targets[1].spent_s + targets[2].spent_s;
	assert_true(targets[1].spent_s > 8 * targets[0].spent_s);
	assert_true(targets[1].spent_s > 2 * targets[2].spent_s);
	assert_true(targets[2].spent_s > 2 * targets[0].spent_s);
	assert_true(targets[0].spent_s > 0.03 * all); /* and is never forgotten: it may give something yet */
}

static void targets_that_give_the_same_get_the_same(void **state)
{
	struct power_target targets[4] = {0};
	const double gives[] = {0, 0, 0, 0};

	(void)state;
	turns(targets, 4, gives, 100);
	for (size_t i = 0; i < 4; i++)
		assert_true(targets[i].spent_s == targets[0].spent_s);
}

static void one_that_begins_to_give_gets_more(void **state)
{
	struct power_target targets[2] = {0};
	const double first[] = {10, 0}, then[] = {0, 10};

	(void)state;
	turns(targets, 2, first, 40);
	assert_true(targets[0].spent_s > 5 * targets[1].spent_s);
	double before[] = {targets[0].spent_s, targets[1].spent_s};
	turns(targets, 2, then, 400);
	assert_true(targets[1].spent_s - before[1] > 3 * (targets[0].spent_s - before[0]));
}

static void what_cannot_be_fuzzed_gets_nothing(void **state)
{
	struct power_target targets[] = {{.out = true}, {.begun = true, .spent_s = 900}, {.out = true, .yield = 9}};

	(void)state;
	assert_int_equal(power_next(targets, 3), 1);
	assert_true(power_share(targets, 3, 1) == 1);
	assert_true(power_share(targets, 3, 2) == 0);
	targets[1].out = true;
	assert_int_equal(power_next(targets, 3), 3);
}

static void turns_are_as_long_as_there_is_time_for(void **state)
{
	const struct power_target targets[] = {{0}, {0}, {0}, {.out = true}};

	(void)state;
	assert_int_equal(power_slice(targets, 1, 1, 60), 60); /* alone: to the end */
	assert_int_equal(power_slice(targets, 1, 1, 0), 0);
	assert_int_equal(power_slice(targets, 4, 1, 0), 30);
	assert_int_equal(power_slice(targets, 4, 1, 9), 3); /* three have a turn each */
	assert_int_equal(power_slice(targets, 4, 1, 1), 1);
	assert_int_equal(power_slice(targets, 4, 3, 60), 15);
	assert_int_equal(power_slice(targets, 4, 1, 100000), 30);
	assert_int_equal(power_slice(targets, 4, 8, 2), 2);
}

static void two_workers_do_not_go_for_the_same_while_another_waits(void **state)
{
	struct power_target targets[] = {{.begun = true, .running = 1}, {.begun = true}};

	(void)state;
	assert_int_equal(power_next(targets, 2), 1);
	targets[0].yield = 100; /* but they do where it is worth it */
	targets[0].spent_s = 10;
	targets[1].spent_s = 10;
	assert_int_equal(power_next(targets, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_project_that_moves_keeps_its_corpora),
		TEST(what_it_is_of_is_read_as_it_was_written),
		TEST(what_is_none_is_refused_by_name),
		TEST(inputs_are_kept_once_under_the_name_of_their_content),
		TEST(what_is_no_input_is_left_out_and_told),
		TEST(files_that_are_not_what_they_are_called_are_not_given_to_an_engine),
		TEST(what_is_no_folder_is_no_corpus_that_is_not_there),
		TEST(a_corpus_has_an_end),
		TEST(what_is_made_of_it_takes_its_place_and_what_others_added_stays),
		TEST(two_at_once_both_add),
		TEST(folders_that_are_no_corpora_are_left_alone),
		cmocka_unit_test(a_barren_target_gets_clearly_less_than_a_fertile_one),
		cmocka_unit_test(targets_that_give_the_same_get_the_same),
		cmocka_unit_test(one_that_begins_to_give_gets_more),
		cmocka_unit_test(what_cannot_be_fuzzed_gets_nothing),
		cmocka_unit_test(turns_are_as_long_as_there_is_time_for),
		cmocka_unit_test(two_workers_do_not_go_for_the_same_while_another_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
