/* What a run left is taken: at once or by a child, and whatever happens to that. Workspace and output folder are file
 * systems of their own, as a cell's is, in a mount namespace of this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "cell/collect.h"
#include "fake_backend.h"

#define LONG_NAMES 20 /* folders one in another, so that the report does not fit into its pipe: the child waits for us */
#define LINKS 25
#define FILES 100

static char top[] = "/tmp/hotcell-test-collect-XXXXXX";
static char from_path[64], to_path[64];

struct world {
	struct loop *loop;
	struct cell_pool *pool;
	struct cell *cell;
	struct cell_spec spec;
	struct cell_io io;
	int from, to;
	unsigned done;
	struct cell_result result; /* what it owns is the cell's */
	bool fired;
};

static const char *const program[] = {"/bin/true", NULL};
static const struct fake_action ends[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};

/* ---- the place ---- */

static int write_text(const char *path, const char *text)
{
	own(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* As root as it is; an ordinary user in a user namespace that keeps its number. */
static int own_mounts(void)
{
	own(freep) char *uids = xfmt("%u %u 1", getuid(), getuid());
	own(freep) char *gids = xfmt("%u %u 1", getgid(), getgid());
	bool root = geteuid() == 0;
	if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) < 0)
		return -1;
	if (!root && (write_text("/proc/self/setgroups", "deny") < 0 || write_text("/proc/self/uid_map", uids) < 0 ||
			     write_text("/proc/self/gid_map", gids) < 0))
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int open_place(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	(void)snprintf(from_path, sizeof(from_path), "%s/from", top);
	(void)snprintf(to_path, sizeof(to_path), "%s/to", top);
	return mkdir(from_path, 0755) < 0 || mkdir(to_path, 0755) < 0 || own_mounts() < 0 ? -1 : 0;
}

static int close_place(void **state)
{
	(void)state;
	(void)rmdir(from_path);
	(void)rmdir(to_path);
	return rmdir(top);
}

static int mount_disk(const char *path, const char *size)
{
	own(freep) char *options = xfmt("size=%s,mode=755", size);
	if (mount("test", path, "tmpfs", 0, options) < 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The cell before may still have its own descriptor of the old one. */
static void fresh_output(struct world *world, const char *size)
{
	fd_close(&world->to);
	assert_int_equal(umount2(to_path, MNT_DETACH), 0);
	world->to = world->spec.output_fd = mount_disk(to_path, size);
	assert_true(world->to >= 0);
}

static int open_world(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));
	struct err err = {0};
	world->loop = loop_open(&err);
	world->from = mount_disk(from_path, "64m");
	world->to = mount_disk(to_path, "64m");
	world->io = (struct cell_io){.in = -1, .out = -1, .err = -1};
	cell_spec_defaults(&world->spec);
	world->spec.argv = program;
	world->spec.output_fd = world->to;
	fake_reset(ends);
	fake.workspace = world->from;
	*state = world;
	return world->loop && world->from >= 0 && world->to >= 0 ? 0 : -1;
}

static int close_world(void **state)
{
	struct world *world = *state;
	world->cell = cell_free(world->cell);
	world->pool = cell_pool_free(world->pool);
	world->loop = loop_free(world->loop);
	fd_close(&world->from);
	fd_close(&world->to);
	fake_reset(NULL);
	free(world);
	return umount(from_path) < 0 || umount(to_path) < 0 ? -1 : 0;
}

/* ---- what a run leaves ---- */

static void leave_files(int dir, unsigned count, size_t size)
{
	own(freep) char *bytes = xcalloc(1, size + 1);
	memset(bytes, 'x', size);
	for (unsigned i = 0; i < count; i++) {
		char name[24];
		(void)snprintf(name, sizeof(name), "file-%u", i);
		own(fd_closep) int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, bytes, size), size);
	}
}

static void leave_links(int dir, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char name[24];
		(void)snprintf(name, sizeof(name), "link-%u", i);
		assert_int_equal(symlinkat("/etc/passwd", dir, name), 0);
	}
}

/* So much that it is copied by a child, which cannot end before we have turned the loop. */
static void leave_much(const struct world *world)
{
	char name[251];
	leave_files(world->from, FILES, 10);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	own(fd_closep) int dir = fcntl(world->from, F_DUPFD_CLOEXEC, 3);
	for (int i = 0; i < LONG_NAMES; i++) {
		assert_int_equal(mkdirat(dir, name, 0755), 0);
		int next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd_close(&dir);
		dir = next;
	}
	leave_links(dir, LINKS);
}

static unsigned entries(int folder)
{
	unsigned count = 0;
	DIR *dir = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return count;
}

/* ---- what happens to it ---- */

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct world *world = data;
	(void)cell;
	world->done++;
	world->result = *result;
}

static void start(struct world *world)
{
	struct err err = {0};
	world->pool = cell_pool_open_with(&fake_backend, world->loop, &err);
	assert_non_null(world->pool);
	world->cell = cell_start(world->pool, &world->spec, &world->io, on_done, world, &err);
	if (!world->cell)
		fail_msg("%s", err.text);
}

static void turn(struct world *world)
{
	assert_int_equal(loop_turn(world->loop, 100), 0);
}

static void until_done(struct world *world)
{
	uint64_t until = clock_now() + 20 * NS_PER_S;
	while (!world->done && clock_now() < until)
		turn(world);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(world->loop, 1), 0);
	assert_int_equal(world->done, 1);
}

/* Our only child, dead ones included; 0: none. */
static pid_t child_pid(void)
{
	own(buf_done) struct buf text = {0};
	struct err err;
	assert_int_equal(fs_read_small(AT_FDCWD, "/proc/thread-self/children", 4096, &text, &err), 0);
	return (pid_t)atoi(buf_text(&text));
}

static bool is_called(pid_t pid, const char *name)
{
	own(buf_done) struct buf text = {0};
	own(freep) char *path = xfmt("/proc/%d/comm", (int)pid);
	struct err err;
	return fs_read_small(AT_FDCWD, path, 64, &text, &err) == 0 && strncmp(buf_text(&text), name, strlen(name)) == 0;
}

/* Until it is there and has been told to die with us. */
static pid_t until_child(struct world *world)
{
	pid_t pid = 0;
	while (!world->done && (pid = child_pid()) == 0)
		turn(world);
	assert_int_equal(world->done, 0);
	for (uint64_t until = clock_now() + 20 * NS_PER_S; !is_called(pid, "hotcell-collect") && clock_now() < until;)
		(void)sched_yield();
	return pid;
}

static void stop(pid_t pid)
{
	int status = 0;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void on_timer(void *data)
{
	struct world *world = data;
	world->fired = true;
}

/* ---- little and much ---- */

static void little_is_copied_at_once(void **state)
{
	struct world *world = *state;
	leave_files(world->from, 3, 10);
	start(world);
	while (!world->done) {
		turn(world);
		assert_int_equal(child_pid(), 0);
	}
	assert_true(world->result.collected);
	assert_int_equal(world->result.collect.files, 3);
	assert_int_equal(entries(world->to), 3);
	assert_int_equal(fake.released, 1);
}

static void what_is_little_is_known_from_the_file_system(void **state)
{
	static const struct {
		unsigned files;
		size_t size;
		bool small;
	} cases[] = {{0, 0, true}, {63, 1, true}, {64, 1, false}, {1, 1 << 20, true}, {1, (1 << 20) + 1, false},
		{60, 40000, false}};
	struct world *world = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fd_close(&world->from);
		assert_int_equal(umount(from_path), 0);
		world->from = mount_disk(from_path, "64m");
		leave_files(world->from, cases[i].files, cases[i].size);
		if (collect_is_small(world->from) != cases[i].small)
			fail_msg("%u files of %zu bytes", cases[i].files, cases[i].size);
	}
	assert_false(collect_is_small(-1));
}

static void much_is_copied_by_a_child_while_the_loop_goes_on(void **state)
{
	struct world *world = *state;
	leave_much(world);
	world->spec.limits.timeout_ms = 20;
	start(world);
	pid_t pid = until_child(world);
	stop(pid);
	struct loop_source *timer = loop_add_timer(world->loop, clock_now() + 40 * NS_PER_MS, on_timer, world);
	while (!world->fired) /* the program's clock would have rung */
		turn(world);
	timer = loop_remove(timer);
	assert_int_equal(world->done, 0);
	assert_int_equal(fake.released, 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	until_done(world);
	const struct fs_copy_report *report = &world->result.collect;
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_int_equal(world->result.err.code, 0);
	assert_true(world->result.collected);
	assert_int_equal(report->files, FILES);
	assert_int_equal(report->folders, LONG_NAMES);
	assert_int_equal(report->bytes, FILES * 10);
	assert_int_equal(report->skipped_count, LINKS);
	assert_true(strlen(report->skipped[FS_SKIPPED_KEPT - 1].name) > LONG_NAMES * 251);
	assert_string_equal(report->skipped[0].reason, "symbolic link");
	assert_int_equal(entries(world->to), FILES + 1);
	assert_int_equal(fake.killed, 0);
	assert_int_equal(fake.released, 1);
	assert_int_equal(child_pid(), 0);
}

static void odd_things(int from, int to)
{
	leave_links(from, 1);
	leave_files(from, 1, 7);
	assert_int_equal(mkfifoat(from, "fifo", 0600), 0);
	assert_int_equal(mkdirat(from, "folder", 0700), 0);
	(void)close(openat(from, "mine", O_CREAT | O_WRONLY, 0600));
	(void)close(openat(from, "new\nline", O_CREAT | O_WRONLY, 0600));
	(void)close(openat(from, "taken", O_CREAT | O_WRONLY, 0600));
	(void)close(openat(to, "taken", O_CREAT | O_WRONLY, 0600));
}

static void both_ways_say_the_same(void **state)
{
	static const char *const reserved[] = {"mine", NULL};
	struct world *world = *state;
	own(buf_done) struct buf little = {0};
	own(buf_done) struct buf much = {0};
	const struct err none = {0};
	world->spec.output_reserved = reserved;
	odd_things(world->from, world->to);
	start(world);
	until_done(world);
	collect_report_encode(&world->result.collect, &none, &little);
	assert_int_equal(world->result.collect.skipped_count, 4);
	assert_int_equal(world->result.collect.renamed_count, 1);

	/* in use, and nowhere to be seen */
	own(fd_closep) int hidden = openat(world->from, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(posix_fallocate(hidden, 0, 2 << 20), 0);
	fresh_output(world, "64m");
	(void)close(openat(world->to, "taken", O_CREAT | O_WRONLY, 0600));
	world->cell = cell_free(world->cell);
	world->pool = cell_pool_free(world->pool);
	world->done = 0;
	start(world);
	(void)until_child(world);
	until_done(world);
	collect_report_encode(&world->result.collect, &none, &much);
	assert_int_equal(little.len, much.len);
	assert_memory_equal(little.data, much.data, little.len);
}

static void a_full_disk_is_told_either_way(void **state)
{
	static const struct {
		unsigned files;
		size_t size;
	} cases[] = {{3, 40000}, {FILES, 4000}};
	struct world *world = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fresh_output(world, "64k");
		leave_files(world->from, cases[i].files, cases[i].size);
		assert_int_equal(collect_is_small(world->from), i == 0);
		world->done = 0;
		start(world);
		until_done(world);
		assert_int_equal(world->result.err.code, ENOSPC);
		assert_memory_equal(world->result.err.text, "collect output: write 'file-", 28);
		assert_true(world->result.collected && world->result.collect.files > 0);
		assert_false(world->result.lost);
		assert_int_equal(world->result.outcome, CELL_EXITED);
		world->cell = cell_free(world->cell);
		world->pool = cell_pool_free(world->pool);
	}
	assert_int_equal(child_pid(), 0);
}

/* A run whose output a slow sink takes, and whose files a child does: it is over with the later of the two. */
static void a_slow_sink_and_a_child_are_both_waited_for(void **state)
{
	static const struct fake_action prints[] = {{.kind = FAKE_STARTED},
		{.kind = FAKE_PRINT, .text = "0123456789abcdef", .count = 8192}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	leave_much(world);
	for (int sink_first = 0; sink_first < 2; sink_first++) {
		char chunk[4096];
		int sink[2];
		fresh_output(world, "64m");
		assert_int_equal(pipe2(sink, O_CLOEXEC | O_NONBLOCK), 0);
		fake_reset(prints);
		fake.workspace = world->from;
		world->io.out = sink[1];
		world->done = 0;
		start(world);
		pid_t pid = until_child(world);
		stop(pid);
		uint64_t taken = 0;
		while (sink_first && taken < 131072) {
			ssize_t got = read(sink[0], chunk, sizeof(chunk));
			taken += got > 0 ? (uint64_t)got : 0;
			assert_int_equal(loop_turn(world->loop, 0), 0);
		}
		assert_int_equal(world->done, 0);
		assert_int_equal(kill(pid, SIGCONT), 0);
		while (child_pid() != 0)
			turn(world);
		assert_int_equal(world->done, sink_first);
		for (; !world->done; assert_int_equal(loop_turn(world->loop, 1), 0))
			(void)!read(sink[0], chunk, sizeof(chunk));
		assert_int_equal(world->result.stdout_bytes, 131072);
		assert_true(world->result.collected);
		world->cell = cell_free(world->cell);
		world->pool = cell_pool_free(world->pool);
		fd_close(&sink[0]);
		fd_close(&sink[1]);
	}
}

/* ---- ends of the child ---- */

static void a_run_whose_collecting_was_killed_is_lost(void **state)
{
	struct world *world = *state;
	leave_much(world);
	start(world);
	pid_t child = until_child(world);
	siginfo_t info;
	assert_int_equal(kill(child, SIGKILL), 0);
	/* who waits in a write is woken by room, too, and would end its report: none is made before it is dead */
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_true(world->result.lost);
	assert_int_equal(world->result.err.code, ERR_LOST);
	assert_false(world->result.collected);
	assert_int_equal(cell_result_exit_code(&world->result), 125);
	assert_int_equal(fake.released, 1);
	assert_int_equal(child_pid(), 0);
}

static void a_cell_cancelled_while_it_is_collected_is_cancelled(void **state)
{
	struct world *world = *state;
	leave_much(world);
	start(world);
	(void)until_child(world);
	cell_cancel(world->cell);
	cell_cancel(world->cell);
	assert_int_equal(world->done, 0);
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_false(world->result.lost);
	assert_false(world->result.collected);
	assert_int_equal(world->result.err.code, 0);
	assert_int_equal(fake.killed, 0);
	assert_int_equal(fake.released, 1);
	assert_int_equal(child_pid(), 0);
}

static void a_folder_made_for_what_was_never_copied_goes_again(void **state)
{
	struct world *world = *state;
	own(freep) char *made = xfmt("%s/made", to_path);
	leave_links(world->from, FILES); /* nothing of which is taken, however far the child comes */
	world->spec.output_dir = made;
	start(world);
	assert_int_equal(access(made, F_OK), 0);
	(void)until_child(world);
	cell_cancel(world->cell);
	until_done(world);
	assert_int_equal(access(made, F_OK), -1);
}

static void freeing_a_cell_that_is_collected_ends_the_child(void **state)
{
	struct world *world = *state;
	leave_much(world);
	start(world);
	unsigned before = open_descriptors();
	(void)until_child(world);
	world->cell = cell_free(world->cell);
	assert_int_equal(world->done, 0);
	assert_int_equal(fake.released, 1);
	assert_int_equal(child_pid(), 0);
	assert_true(open_descriptors() < before);
}

static void freeing_a_pool_ends_its_children(void **state)
{
	struct world *world = *state;
	leave_much(world);
	start(world);
	(void)until_child(world);
	world->pool = cell_pool_free(world->pool);
	assert_int_equal(world->done, 1);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_int_equal(fake.released, 1);
	assert_int_equal(fake.closed, 1);
	assert_int_equal(child_pid(), 0);
}

static void a_pool_that_is_freed_begins_no_long_copy(void **state)
{
	static const struct fake_action runs[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	leave_much(world);
	fake.actions = runs;
	start(world);
	while (!fake.started)
		turn(world);
	world->pool = cell_pool_free(world->pool);
	assert_int_equal(world->done, 1);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_false(world->result.collected);
	assert_int_equal(entries(world->to), 0);
}

/* ---- what the child has ---- */

static void check_descriptors(pid_t pid, unsigned *ret_pipes)
{
	own(freep) char *path = xfmt("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	*ret_pipes = 0;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		char target[4096] = "";
		if (entry->d_name[0] == '.')
			continue;
		assert_true(readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0);
#if defined(__SANITIZE_ADDRESS__)
		if (atoi(entry->d_name) <= STDERR_FILENO)
			continue;
#endif
		bool pipe = strncmp(target, "pipe:", 5) == 0;
		*ret_pipes += pipe;
		if (!pipe && strcmp(target, "/dev/null") != 0 && strncmp(target, from_path, strlen(from_path)) != 0 &&
			strncmp(target, to_path, strlen(to_path)) != 0)
			fail_msg("it has %s", target);
	}
	(void)closedir(dir);
}

static void the_child_has_two_folders_a_pipe_and_no_signals_of_ours(void **state)
{
	static const char *const masks[] = {"SigBlk:\t", "SigIgn:\t", "SigCgt:\t"};
	/* the C library keeps 32 and 33 for itself: what our ancestors did with them stays */
	const unsigned long long not_ours = 3ull << 31;
	struct world *world = *state;
	own(buf_done) struct buf status = {0};
	struct err err = {0};
	unsigned pipes = 0;
	int ours[2];
	own(fd_closep) int secret = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pipe2(ours, O_CLOEXEC), 0);
	leave_much(world);
	start(world);
	pid_t pid = until_child(world);
	own(freep) char *path = xfmt("/proc/%d/status", (int)pid);
	/* it waits for us to read once it has copied all */
	for (uint64_t until = clock_now() + 20 * NS_PER_S; entries(world->to) <= FILES && clock_now() < until;)
		;
	stop(pid);
	check_descriptors(pid, &pipes);
	assert_int_equal(pipes, 1);
	assert_int_equal(getsid(pid), pid);
	assert_int_equal(fs_read_small(AT_FDCWD, path, 16384, &status, &err), 0);
	assert_non_null(strstr(buf_text(&status), "Name:\thotcell-collect\n"));
	for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
		const char *mask = strstr(buf_text(&status), masks[i]);
		assert_non_null(mask);
		assert_int_equal(strtoull(mask + strlen(masks[i]), NULL, 16) & ~not_ours, 0);
	}
	assert_int_equal(kill(pid, SIGCONT), 0);
	until_done(world);
	assert_true(world->result.collected);
	fd_close(&ours[0]);
	fd_close(&ours[1]);
}

static void the_child_dies_with_its_supervisor(void **state)
{
	struct world *world = *state;
	pid_t pid = 0;
	int said[2], status = 0;
	leave_much(world);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	pid_t supervisor = fork();
	if (supervisor == 0) {
		start(world);
		pid = until_child(world);
		stop(pid); /* so that nothing else ends it: not that nobody reads its report */
		(void)!write(said[1], &pid, sizeof(pid));
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(said[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
	assert_int_equal(waitpid(pid, &status, 0), pid); /* ours now */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	fd_close(&said[0]);
	fd_close(&said[1]);
}

/* ---- what it says ---- */

static void fill(struct fs_copy_report *report)
{
	*report = (struct fs_copy_report){.files = 1, .folders = UINT64_C(1) << 40, .bytes = 3, .skipped_count = 30,
		.renamed_count = 5, .capped = true, .cap = "entries"};
	for (int i = 0; i < FS_SKIPPED_KEPT; i++)
		report->skipped[i] = (struct fs_skipped){xfmt("%*s\n\xff", i, ""), i == 3 ? "FIFO" : "too deep"};
}

static int decode(const struct buf *bytes, size_t len, struct fs_copy_report *ret, struct err *failed)
{
	own(freep) char *copy = xcalloc(1, len + 1); /* so that a byte too far is seen */
	memcpy(copy, bytes->data, len);
	return collect_report_decode(copy, len, ret, failed);
}

static void a_report_comes_as_it_was_said(void **state)
{
	own(fs_copy_report_done) struct fs_copy_report report, back;
	own(buf_done) struct buf bytes = {0};
	struct err failed = {ENOSPC, "write 'x': No space left on device"}, came;
	(void)state;
	fill(&report);
	collect_report_encode(&report, &failed, &bytes);
	assert_int_equal(decode(&bytes, bytes.len, &back, &came), 0);
	assert_int_equal(came.code, ENOSPC);
	assert_string_equal(came.text, failed.text);
	assert_int_equal(back.folders, report.folders);
	assert_int_equal(back.skipped_count, 30);
	assert_int_equal(back.renamed_count, 5);
	assert_true(back.capped);
	assert_string_equal(back.cap, "entries");
	for (int i = 0; i < FS_SKIPPED_KEPT; i++) {
		assert_string_equal(back.skipped[i].name, report.skipped[i].name);
		assert_string_equal(back.skipped[i].reason, report.skipped[i].reason);
	}
}

static void a_report_that_is_not_whole_is_none(void **state)
{
	own(fs_copy_report_done) struct fs_copy_report report;
	own(buf_done) struct buf bytes = {0};
	struct fs_copy_report back;
	struct err failed = {0};
	(void)state;
	fill(&report);
	collect_report_encode(&report, &failed, &bytes);
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(decode(&bytes, len, &back, &failed), -1);
	buf_char(&bytes, 'x');
	assert_int_equal(decode(&bytes, bytes.len, &back, &failed), -1);
	assert_null(back.skipped[0].name);
}

static void a_report_with_an_impossible_number_is_none(void **state)
{
	/* where its fields are, when it did not fail and skipped one file named "a" */
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
	} cases[] = {{"an error without a text", 0, 5}, {"two caps", 41, 2}, {"no such cap", 45, 4},
		{"more skipped than told", 49, 2}, {"no such reason", 63, 200}, {"a name with a NUL", 61, 0}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fs_copy_report report = {.skipped_count = 1, .skipped = {{(char[]){"a"}, "FIFO"}}}, back;
		own(buf_done) struct buf bytes = {0};
		struct err failed = {0};
		collect_report_encode(&report, &failed, &bytes);
		assert_int_equal(bytes.len, 67);
		assert_int_equal(decode(&bytes, bytes.len, &back, &failed), 0);
		fs_copy_report_done(&back);
		bytes.data[cases[i].at] = (char)cases[i].value;
		if (decode(&bytes, bytes.len, &back, &failed) == 0)
			fail_msg("%s was taken", cases[i].what);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(little_is_copied_at_once),
		TEST(what_is_little_is_known_from_the_file_system),
		TEST(much_is_copied_by_a_child_while_the_loop_goes_on),
		TEST(both_ways_say_the_same),
		TEST(a_full_disk_is_told_either_way),
		TEST(a_slow_sink_and_a_child_are_both_waited_for),
		TEST(a_run_whose_collecting_was_killed_is_lost),
		TEST(a_cell_cancelled_while_it_is_collected_is_cancelled),
		TEST(a_folder_made_for_what_was_never_copied_goes_again),
		TEST(freeing_a_cell_that_is_collected_ends_the_child),
		TEST(freeing_a_pool_ends_its_children),
		TEST(a_pool_that_is_freed_begins_no_long_copy),
		TEST(the_child_has_two_folders_a_pipe_and_no_signals_of_ours),
		TEST(the_child_dies_with_its_supervisor),
		cmocka_unit_test(a_report_comes_as_it_was_said),
		cmocka_unit_test(a_report_that_is_not_whole_is_none),
		cmocka_unit_test(a_report_with_an_impossible_number_is_none),
	};
	return cmocka_run_group_tests(tests, open_place, close_place);
}
