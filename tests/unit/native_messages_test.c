#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cell/native/native.h"

/* ---- templates ---- */

static struct cell_mount some_mounts[] = {
	{"/home/me/project", "/project", false},
	{"/var/data with a space", "/data", true},
};
static struct cell_listener some_listeners[] = {{0x7f000001, 3128}, {0x7f000101, 65535}};
static const char *const some_globs[] = {".git", "*.pem", NULL};

static struct template some_template(void)
{
	return (struct template){.image = "/images/small",
		.image_id = {2049, UINT64_C(1) << 40},
		.mounts = some_mounts,
		.mount_count = 2,
		.hide = some_globs,
		.uid = 1000,
		.gid = 65534,
		.tmp = 1,
		.disk = UINT64_MAX,
		.shm = 3,
		.file_size = UINT64_C(1) << 50,
		.open_files = 5,
		.processes = 6,
		.watch_memory = 7,
		.pin_cpus = 8,
		.nice = 9,
		.limit_tasks = true,
		.landlock = true,
		.rule_files = true,
		.tty = true,
		.listeners = some_listeners,
		.listener_count = 2,
		.hosts = "127.0.0.1 db\n"};
}

static void same_list(const char *const *a, const char *const *b)
{
	for (; *a != NULL; a++, b++)
		assert_string_equal(*a, *b);
	assert_null(*b);
}

static void a_template_comes_back_as_it_was(void **state)
{
	own(buf_done) struct buf bytes = {0};
	const struct template t = some_template();
	own(template_done) struct template back = {0};
	struct err err;

	(void)state;
	template_encode(&t, &bytes);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(template_decode(&back, &reader, &err), 0);
	assert_int_equal(reader.pos, reader.len);
	assert_string_equal(back.image, t.image);
	assert_true(back.image_id.device == 2049 && back.image_id.inode == UINT64_C(1) << 40);
	same_list(t.hide, back.hide);
	assert_int_equal(back.mount_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(back.mounts[i].source, some_mounts[i].source);
		assert_string_equal(back.mounts[i].target, some_mounts[i].target);
		assert_int_equal(back.mounts[i].writable, some_mounts[i].writable);
	}
	assert_int_equal(back.listener_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(back.listeners[i].address, some_listeners[i].address);
		assert_int_equal(back.listeners[i].port, some_listeners[i].port);
	}
	assert_string_equal(back.hosts, "127.0.0.1 db\n");
	assert_true(back.uid == 1000 && back.gid == 65534 && back.tmp == 1 &&
		back.disk == UINT64_MAX && back.shm == 3);
	assert_true(
		back.file_size == UINT64_C(1) << 50 && back.open_files == 5 && back.processes == 6);
	assert_true(back.watch_memory == 7 && back.pin_cpus == 8 && back.nice == 9);
	assert_true(back.limit_tasks && back.landlock && back.rule_files && back.tty);
	assert_false(back.user_ns || back.overlay || back.tmp_exec || back.want_workspace);
}

#define VARIATIONS 39

static void vary(struct template *t, int which)
{
	static struct cell_mount read_write[] = {
		{"/home/me/project", "/project", true}, {"/var/data with a space", "/data", true}};
	static struct cell_mount elsewhere[] = {
		{"/home/me/project", "/p", false}, {"/var/data with a space", "/data", true}};
	static const char *const fewer[] = {".git", NULL};
	static struct cell_listener other_port[] = {{0x7f000001, 3129}, {0x7f000101, 65535}};
	static const char *const some_calls[] = {"ptrace", "socket", NULL}, *const fewer_calls[] = {"ptrace", NULL};
	static struct cell_path some_paths[] = {{"/tmp", 1}, {"/workspace", 8}}, other_rights[] = {{"/tmp", 3}},
				other_path[] = {{"/tmp/a", 1}};
	static struct cell_listener other_address[] = {{0x7f000002, 3128}, {0x7f000101, 65535}};

	switch (which) {
	case 0: t->image = "host"; break;
	case 1: t->mounts = read_write; break;
	case 2: t->mounts = elsewhere; break;
	case 3: t->mount_count = 1; break;
	case 4: t->hide = fewer; break;
	case 5: t->uid++; break;
	case 6: t->gid++; break;
	case 7: t->tmp++; break;
	case 8: t->disk--; break;
	case 9: t->shm++; break;
	case 10: t->file_size++; break;
	case 11: t->open_files++; break;
	case 12: t->processes++; break;
	case 13: t->watch_memory++; break;
	case 14: t->pin_cpus++; break;
	case 15: t->limit_tasks = false; break;
	case 16: t->user_ns = true; break;
	case 17: t->landlock = false; break;
	case 18: t->overlay = true; break;
	case 19: t->tmp_exec = true; break;
	case 20: t->tty = false; break;
	case 21: t->listeners = other_port; break;
	case 22: t->listeners = other_address; break;
	case 23: t->listener_count = 1; break;
	case 24: t->hosts = "127.0.0.1 api\n"; break;
	case 25: t->hosts = NULL; break;
	case 26: t->calls_deny = some_calls; break;
	case 27: t->calls_deny = fewer_calls; break;
	case 28: t->calls_allow = some_calls; break;
	case 29: t->paths = some_paths, t->path_count = 2; break;
	case 30: t->paths = other_rights, t->path_count = 1; break;
	case 31: t->paths = other_path, t->path_count = 1; break;
	case 32: t->no_exec = true; break;
	case 33: t->observe = true; break;
	case 34: t->effects = true; break;
	case 35: t->nice++; break;
	case 36: t->rule_files = false; break;
	case 37: t->image_id.device++; break;
	case 38: t->image_id.inode++; break;
	default: break; /* as it is */
	}
}

/* A field that the bytes leave out would make cells of two kinds share one yard. */
static void templates_that_differ_have_different_bytes(void **state)
{
	struct buf bytes[VARIATIONS + 1] = {{0}};

	(void)state;
	for (int i = 0; i <= VARIATIONS; i++) {
		struct template t = some_template();
		vary(&t, i);
		template_encode(&t, &bytes[i]);
		for (int j = 0; j < i; j++)
			assert_false(bytes[i].len == bytes[j].len &&
				memcmp(bytes[i].data, bytes[j].data, bytes[i].len) == 0);
	}
	for (int i = 0; i <= VARIATIONS; i++)
		buf_done(&bytes[i]);
}

static void a_template_cut_anywhere_is_refused(void **state)
{
	own(buf_done) struct buf bytes = {0};
	const struct template t = some_template();

	(void)state;
	template_encode(&t, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		own(freep) char *cut =
			malloc(len == 0 ? 1 : len); /* exactly, so that a byte too far is seen */
		own(template_done) struct template back = {0};
		struct wire_reader reader = {.data = cut, .len = len};
		struct err err;
		memcpy(cut, bytes.data, len);
		assert_int_equal(template_decode(&back, &reader, &err), -1);
		assert_int_equal(err.code, EPROTO);
	}
}

static void check_refused(const struct template *t)
{
	own(buf_done) struct buf bytes = {0};
	own(template_done) struct template back = {0};
	struct err err;

	template_encode(t, &bytes);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(template_decode(&back, &reader, &err), -1);
	assert_int_equal(err.code, EPROTO);
}

static void mounts_of_spaces_come_back_with_theirs(void **state)
{
	static const struct cell_space a = {.id = 7}, b = {.id = 9};
	struct cell_mount mounts[] = {{"x", "/x", true, &a}, {"/y", "/y", false, NULL}, {"z", "/z", true, &b}, {"w", "/w", false, &a}};
	own(buf_done) struct buf bytes = {0};
	own(template_done) struct template back = {0};
	const struct cell_space *spaces[CELL_MAX_SPACES];
	struct template t = some_template();
	struct err err;
	size_t count;

	(void)state;
	t.mounts = mounts;
	t.mount_count = ARRAY_LEN(mounts);
	template_encode(&t, &bytes);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(template_decode(&back, &reader, &err), 0);
	assert_int_equal(back.space_count, 2);
	assert_ptr_equal(back.mounts[0].space, &back.spaces[0]);
	assert_null(back.mounts[1].space);
	assert_int_equal(back.mounts[2].space->id, 9);
	assert_ptr_equal(back.mounts[3].space, &back.spaces[0]);
	assert_int_equal(template_spaces(mounts, ARRAY_LEN(mounts), spaces, &count, &err), 0);
	assert_true(count == 2 && spaces[0] == &a && spaces[1] == &b);
}

static void mounts_of_more_spaces_than_a_cell_has_are_refused(void **state)
{
	struct cell_space all[CELL_MAX_SPACES + 1];
	struct cell_mount mounts[CELL_MAX_SPACES + 1];
	const struct cell_space *spaces[CELL_MAX_SPACES];
	struct template t = some_template();
	struct err err;
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		all[i] = (struct cell_space){.id = i + 1};
		mounts[i] = (struct cell_mount){"x", "/x", true, &all[i]};
	}
	t.mounts = mounts;
	t.mount_count = ARRAY_LEN(mounts);
	check_refused(&t);
	assert_int_equal(template_spaces(mounts, ARRAY_LEN(mounts), spaces, &count, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static void a_template_without_image_or_with_too_many_mounts_or_doors_is_refused(void **state)
{
	static struct cell_mount many[CELL_MAX_MOUNTS + 1];
	static struct cell_listener doors[CELL_MAX_LISTENERS + 1];
	struct template t = some_template();

	(void)state;
	t.image = NULL;
	check_refused(&t);
	t.image = "host";
	t.mounts = many;
	t.mount_count = ARRAY_LEN(many);
	for (size_t i = 0; i < t.mount_count; i++)
		many[i] = some_mounts[0];
	check_refused(&t);
	t.mount_count = 0;
	t.listeners = doors;
	t.listener_count = ARRAY_LEN(doors);
	check_refused(&t);
}

/* ---- jobs ---- */

static const char *const some_argv[] = {"sh", "-c", "echo \"$TOKEN\"", "", NULL};
static const char *const some_env[] = {"PATH=/bin", "TOKEN=s3cret", NULL};

static void a_job_comes_back_as_it_was(void **state)
{
	own(buf_done) struct buf bytes = {0};
	own(job_done) struct job job = {0};
	struct err err;

	(void)state;
	job_encode(&bytes, &(struct job){.argv = (const char **)(uintptr_t)some_argv, .env = (const char **)(uintptr_t)some_env,
		.cwd = "/workspace", .tty = true, .rows = 24, .columns = 80});
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(job_decode(&job, &reader, &err), 0);
	same_list(some_argv, job.argv);
	same_list(some_env, job.env);
	assert_string_equal(job.cwd, "/workspace");
	assert_true(job.tty && job.rows == 24 && job.columns == 80);
}

static void a_job_cut_anywhere_is_refused(void **state)
{
	own(buf_done) struct buf bytes = {0};

	(void)state;
	job_encode(&bytes, &(struct job){.argv = (const char **)(uintptr_t)some_argv, .env = (const char **)(uintptr_t)some_env,
		.cwd = NULL, .tty = false, .rows = 0, .columns = 0});
	for (size_t len = 0; len < bytes.len; len++) {
		own(freep) char *cut = malloc(len == 0 ? 1 : len);
		own(job_done) struct job job = {0};
		struct wire_reader reader = {.data = cut, .len = len};
		struct err err;
		memcpy(cut, bytes.data, len);
		assert_int_equal(job_decode(&job, &reader, &err), -1);
		assert_int_equal(err.code, EPROTO);
	}
}

static void a_job_without_a_command_is_refused(void **state)
{
	static const char *const none[] = {NULL};
	own(buf_done) struct buf bytes = {0};
	own(job_done) struct job job = {0};
	struct err err;

	(void)state;
	job_encode(&bytes, &(struct job){.argv = (const char **)(uintptr_t)none, .env = (const char **)(uintptr_t)some_env,
		.cwd = NULL, .tty = false, .rows = 0, .columns = 0});
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(job_decode(&job, &reader, &err), -1);
	assert_int_equal(err.code, EPROTO);
}

/* Sends a job with two descriptors and receives it again. */
static void there_and_back(const char *const *argv)
{
	own(buf_done) struct buf bytes = {0};
	own(job_done) struct job job = {0};
	int pair[2], got[WIRE_MAX_FDS];
	static char message[MAX_MESSAGE];
	size_t count = 0;
	struct err err;

	job_encode(&bytes, &(struct job){.argv = (const char **)(uintptr_t)argv, .env = (const char **)(uintptr_t)some_env,
		.cwd = "/", .tty = false, .rows = 0, .columns = 0});
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	const int fds[3] = {-1, pair[1], pair[0]};
	assert_int_equal(job_send(pair[0], MSG_EXEC, 7, &bytes, fds, &err), 0);
	ssize_t len = wire_recv(pair[1], message, sizeof(message), got, WIRE_MAX_FDS, &count, 0);
	assert_true(len > 0);
	struct wire_reader reader = {.data = message, .len = (size_t)len};
	assert_int_equal(wire_get_u32(&reader), MSG_EXEC);
	assert_int_equal(wire_get_u32(&reader), 7);
	const int *rest = got;
	size_t left = count;
	assert_int_equal(job_receive(&job, &reader, &rest, &left, &err), 0);
	assert_int_equal(left, 2);
	assert_int_equal(job.given, 6);
	assert_ptr_equal(rest, got + count - 2);
	same_list(argv, job.argv);
	same_list(some_env, job.env);
	for (size_t i = 0; i < count; i++)
		(void)close(got[i]);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void a_job_travels_with_its_descriptors(void **state)
{
	(void)state;
	there_and_back(some_argv);
}

static void a_job_larger_than_a_message_travels_in_a_memfd(void **state)
{
	const char *argv[402] = {"/bin/echo"};
	char word[201];

	(void)state;
	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	for (size_t i = 1; i < 401; i++)
		argv[i] = word;
	there_and_back(argv);
}

static void a_job_that_promises_a_memfd_and_brings_none_is_refused(void **state)
{
	own(buf_done) struct buf bytes = {0};
	own(job_done) struct job job = {0};
	const int *fds = NULL;
	size_t count = 0;
	struct err err;

	(void)state;
	wire_put_u32(&bytes, 1);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(job_receive(&job, &reader, &fds, &count, &err), -1);
	assert_int_equal(err.code, EPROTO);
}

static void a_memfd_that_is_none_is_refused(void **state)
{
	own(buf_done) struct buf bytes = {0};
	own(job_done) struct job job = {0};
	own(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int *fds = &null;
	size_t count = 1;
	struct err err;

	(void)state;
	wire_put_u32(&bytes, 1);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	assert_int_equal(job_receive(&job, &reader, &fds, &count, &err), -1);
}

/* ---- errors ---- */

static void an_error_comes_back_as_it_was(void **state)
{
	own(buf_done) struct buf bytes = {0};
	struct err err, back;

	(void)state;
	(void)err_set(&err, ERR_USAGE, "100%% of 'it'");
	message_put_err(&bytes, &err);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	message_get_err(&reader, &back);
	assert_int_equal(back.code, ERR_USAGE);
	assert_string_equal(back.text, "100% of 'it'");
}

static void an_error_whose_text_is_missing_is_an_error_still(void **state)
{
	own(buf_done) struct buf bytes = {0};
	struct err back;

	(void)state;
	wire_put_u32(&bytes, EIO);
	wire_put_str(&bytes, NULL);
	struct wire_reader reader = {.data = bytes.data, .len = bytes.len};
	message_get_err(&reader, &back);
	assert_int_equal(back.code, EIO);
	assert_true(back.text[0] != '\0');
}

/* ---- what is pretended ---- */

static void only_whole_words_are_pretended(void **state)
{
	static const struct {
		const char *list, *word;
		bool is;
	} table[] = {
		{NULL, "no-cgroup", false},
		{"", "no-cgroup", false},
		{"no-cgroup", "no-cgroup", true},
		{"no-landlock,no-cgroup", "no-cgroup", true},
		{"no-cgroup,no-landlock", "no-cgroup", true},
		{"no-cgroups", "no-cgroup", false},
		{"xno-cgroup", "no-cgroup", false},
		{",,no-cgroup,", "no-cgroup", true},
		{"no-cgroup no-landlock", "no-landlock", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (table[i].list == NULL)
			(void)unsetenv("HOTCELL_PRETEND");
		else
			(void)setenv("HOTCELL_PRETEND", table[i].list, 1);
		assert_int_equal(pretend(table[i].word), table[i].is);
	}
	(void)unsetenv("HOTCELL_PRETEND");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_template_comes_back_as_it_was),
		cmocka_unit_test(templates_that_differ_have_different_bytes),
		cmocka_unit_test(a_template_cut_anywhere_is_refused),
		cmocka_unit_test(mounts_of_spaces_come_back_with_theirs),
		cmocka_unit_test(mounts_of_more_spaces_than_a_cell_has_are_refused),
		cmocka_unit_test(a_template_without_image_or_with_too_many_mounts_or_doors_is_refused),
		cmocka_unit_test(a_job_comes_back_as_it_was),
		cmocka_unit_test(a_job_cut_anywhere_is_refused),
		cmocka_unit_test(a_job_without_a_command_is_refused),
		cmocka_unit_test(a_job_travels_with_its_descriptors),
		cmocka_unit_test(a_job_larger_than_a_message_travels_in_a_memfd),
		cmocka_unit_test(a_job_that_promises_a_memfd_and_brings_none_is_refused),
		cmocka_unit_test(a_memfd_that_is_none_is_refused),
		cmocka_unit_test(an_error_comes_back_as_it_was),
		cmocka_unit_test(an_error_whose_text_is_missing_is_an_error_still),
		cmocka_unit_test(only_whole_words_are_pretended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
