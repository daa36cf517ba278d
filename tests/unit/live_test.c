/* Live cells seen from another process: the asking side runs in a child, the supervisor here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "base/wire.h"
#include "fake_backend.h"
#include "live/live.h"
#include "live/proto.h"

struct world {
	struct loop *loop;
	struct cell_pool *pool;
	struct live *live;
	struct cell *cell;
	unsigned done;
	char id[32];
	char folder[40];
};

static const char *const command[] = {"/bin/sleep", "1\n0", NULL};
static const struct fake_action running[] = {
	{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "hello\n"}, {.kind = FAKE_WAIT},
	{.kind = FAKE_PRINT, .text = "bye\n"}, {.kind = FAKE_ENDED}};

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct world *world = data;
	(void)result;
	world->done++;
	live_remove(world->live, cell);
}

static int open_world(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));
	struct err err = {0};
	struct cell_spec spec;
	struct cell_io io = {.in = -1, .out = -1, .err = -1, .keep = 1000};
	strcpy(world->folder, "/tmp/hotcell-live-XXXXXX");
	if (!mkdtemp(world->folder) || setenv("XDG_RUNTIME_DIR", world->folder, 1) < 0)
		return -1;
	fake_reset(running);
	cell_spec_defaults(&spec);
	spec.argv = command;
	world->loop = loop_open(&err);
	world->pool = cell_pool_open_with(&fake_backend, world->loop, &err);
	world->live = live_open(world->loop, &err);
	if (!world->live)
		fail_msg("%s", err.text);
	world->cell = cell_start(world->pool, &spec, &io, on_done, world, &err);
	live_add(world->live, world->cell, command);
	strcpy(world->id, cell_id(world->cell));
	while (cell_printed(world->cell) < 6)
		(void)loop_turn(world->loop, 1);
	*state = world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;
	struct err err;
	own(fd_closep) int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (world->live)
		live_remove(world->live, world->cell);
	world->live = live_free(world->live);
	world->cell = cell_free(world->cell);
	world->pool = cell_pool_free(world->pool);
	world->loop = loop_free(world->loop);
	int rc = fs_remove_tree(tmp, world->folder + 5, &err);
	fake_reset(NULL);
	free(world);
	return rc;
}

/* Runs `ask` in a child while this process serves; its value must be 0. */
static void as_client(struct world *world, int (*ask)(struct world *world))
{
	int status = 0;
	uint64_t until = clock_now() + 20 * NS_PER_S;
	pid_t pid = fork();
	if (pid == 0) {
		alarm(20);
		_exit(ask(world));
	}
	while (waitpid(pid, &status, WNOHANG) == 0 && clock_now() < until)
		assert_int_equal(loop_turn(world->loop, 5), 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the client failed with status %x", status);
}

/* In the child. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition);              \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* The cell of this world among all of this user. */
static const struct live_cell *mine(struct world *world, struct live_list *list)
{
	struct err err = {0};
	live_list(list);
	return live_find(list, world->id, &err);
}

/* ---- the socket ---- */

static void the_socket_is_for_its_user_alone(void **state)
{
	struct world *world = *state;
	struct stat st;
	assert_int_equal(stat(live_path(world->live), &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_memory_equal(live_path(world->live), world->folder, strlen(world->folder));
	char folder[64];
	(void)snprintf(folder, sizeof(folder), "%s/hotcell", world->folder);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void the_socket_goes_with_its_supervisor(void **state)
{
	struct world *world = *state;
	own(freep) char *path = xstrdup(live_path(world->live));
	live_remove(world->live, world->cell);
	world->live = live_free(world->live);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_folder_that_is_not_ours_alone_is_refused(void **state)
{
	struct world *world = *state;
	struct err err = {0};
	char path[64], link[64];
	(void)snprintf(path, sizeof(path), "%s/open", world->folder);
	(void)snprintf(link, sizeof(link), "%s/link", world->folder);
	assert_int_equal(mkdir(path, 0700), 0);
	own(fd_closep) int fine = runtime_folder_open(path, true, &err);
	assert_true(fine >= 0);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(runtime_folder_open(link, true, &err), -1);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(runtime_folder_open(path, true, &err), -1);
	assert_non_null(strstr(err.text, "open to others"));
	if (geteuid() == 0) {
		assert_int_equal(chmod(path, 0700), 0);
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_int_equal(runtime_folder_open(path, true, &err), -1);
		assert_non_null(strstr(err.text, "12345"));
	}
}

/* ---- what can be asked ---- */

static int ask_list(struct world *world)
{
	struct live_list list;
	const struct live_cell *cell = mine(world, &list);
	CHECK(cell);
	CHECK(strcmp(cell->command, "/bin/sleep 1\n0") == 0);
	CHECK(strcmp(cell->backend, "fake") == 0);
	CHECK(cell->pid == 4242 && cell->memory == 12345678 && cell->supervisor == getppid());
	CHECK(cell->age_ns > 0 && cell->printed == 6);
	return 0;
}

static void a_live_cell_is_listed(void **state)
{
	as_client(*state, ask_list);
}

static int ask_many(struct world *world)
{
	struct live_list list;
	size_t count = 0;
	(void)mine(world, &list);
	for (size_t i = 0; i < list.count; i++)
		count += list.cells[i].supervisor == getppid();
	CHECK(count == 1000);
	return 0;
}

static void a_thousand_cells_are_listed_in_pages(void **state)
{
	struct world *world = *state;
	for (int i = 0; i < 999; i++)
		live_add(world->live, world->cell, command);
	as_client(world, ask_many);
	for (int i = 0; i < 999; i++)
		live_remove(world->live, world->cell);
}

static void many_doors(void *data, struct json *json)
{
	const size_t *count = data;
	json_open(json, '[');
	for (size_t i = 0; i < *count; i++)
		json_string(json, "proxy");
	json_close(json, ']');
}

static int ask_doors(struct world *world)
{
	struct live_doors_list list;
	const struct live_doors *found = NULL;
	(void)world;
	live_doors_list(&list);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].supervisor == getppid())
			found = &list.items[i];
	CHECK(found && found->len > 400000 - 1 && found->json[0] == '[');
	live_doors_list_done(&list);
	return 0;
}

static int ask_no_doors(struct world *world)
{
	struct live_doors_list list;
	(void)world;
	live_doors_list(&list);
	for (size_t i = 0; i < list.count; i++)
		CHECK(list.items[i].supervisor != getppid());
	live_doors_list_done(&list);
	return 0;
}

static void doors_are_told_of_however_many_there_are(void **state)
{
	struct world *world = *state;
	size_t count = 50000;
	as_client(world, ask_no_doors);
	live_set_doors(world->live, many_doors, &count);
	as_client(world, ask_doors);
}

static int ask_stale(struct world *world)
{
	struct live_list list;
	char path[80], foreign[80];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(path, sizeof(path), "%s/hotcell/4194301.sock", world->folder);
	(void)snprintf(foreign, sizeof(foreign), "%s/hotcell/notes.txt", world->folder);
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	fd_close(&fd);
	CHECK(close(open(foreign, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
	CHECK(mine(world, &list));
	CHECK(access(path, F_OK) < 0);
	CHECK(access(foreign, F_OK) == 0);
	return 0;
}

static void sockets_of_dead_supervisors_are_swept_away(void **state)
{
	as_client(*state, ask_stale);
}

static void names_may_be_shortened_but_not_doubtful(void **state)
{
	struct live_cell cells[] = {{.id = (char[]){"c123456"}}, {.id = (char[]){"c123456-1"}}, {.id = (char[]){"cff0000"}}};
	struct live_list list = {.cells = cells, .count = 3}, none = {0};
	struct err err = {0};
	(void)state;
	assert_ptr_equal(live_find(&list, "cff", &err), &cells[2]);
	assert_ptr_equal(live_find(&list, "c123456", &err), &cells[0]);
	assert_ptr_equal(live_find(&list, "c123456-", &err), &cells[1]);
	assert_null(live_find(&list, "c12", &err));
	assert_non_null(strstr(err.text, "c123456, c123456-1"));
	assert_null(strstr(err.text, "cff0000"));
	assert_null(live_find(&list, "x", &err));
	assert_non_null(strstr(err.text, "live: c123456, c123456-1, cff0000"));
	assert_null(live_find(&list, "", &err));
	assert_null(live_find(&none, "x", &err));
	assert_non_null(strstr(err.text, "none is live"));
}

static int ask_kill(struct world *world)
{
	struct live_list list;
	struct err err = {0};
	const struct live_cell *cell = mine(world, &list);
	CHECK(cell);
	CHECK(live_kill(cell, &err) == 0);
	while (live_kill(cell, &err) == 0)
		;
	CHECK(err.code == ESRCH);
	return 0;
}

static void a_live_cell_can_be_killed(void **state)
{
	struct world *world = *state;
	as_client(world, ask_kill);
	assert_int_equal(world->done, 1);
	assert_int_equal(fake.killed, 1);
}

static int ask_tail(struct world *world)
{
	struct live_list list;
	struct err err = {0};
	own(buf_done) struct buf text = {0};
	uint64_t offset = 0;
	struct live_tail *tail = live_tail_open(mine(world, &list), &err);
	CHECK(tail);
	CHECK(live_tail_ask(tail, 0, false, &err) == 0 && live_tail_get(tail, &offset, &text, &err) == 1);
	CHECK(strcmp(buf_text(&text), "hello\n") == 0 && offset == 6);
	CHECK(live_tail_ask(tail, 3, false, &err) == 0 && live_tail_get(tail, &offset, &text, &err) == 1);
	CHECK(strcmp(buf_text(&text), "hello\nlo\n") == 0 && offset == 6);
	CHECK(live_tail_ask(tail, 99, false, &err) == 0 && live_tail_get(tail, &offset, &text, &err) == 1);
	CHECK(text.len == 9 && offset == 6);
	(void)live_tail_free(tail);
	return 0;
}

static void the_latest_output_can_be_read(void **state)
{
	as_client(*state, ask_tail);
}

static int ask_follow(struct world *world)
{
	struct live_list list;
	struct err err = {0};
	own(buf_done) struct buf text = {0};
	uint64_t offset = 6;
	struct live_tail *tail = live_tail_open(mine(world, &list), &err);
	CHECK(tail);
	CHECK(live_tail_ask(tail, offset, true, &err) == 0);
	CHECK(kill(getppid(), SIGUSR1) == 0); /* lets the program go on */
	int more = 1;
	while (more == 1) {
		more = live_tail_get(tail, &offset, &text, &err);
		if (more == 1)
			CHECK(live_tail_ask(tail, offset, true, &err) == 0);
	}
	CHECK(more == 0);
	CHECK(strcmp(buf_text(&text), "bye\n") == 0);
	return 0;
}

static void let_go(int number)
{
	(void)number;
	fake.go = true;
}

static void a_follower_gets_the_last_output_and_the_end(void **state)
{
	(void)signal(SIGUSR1, let_go);
	as_client(*state, ask_follow);
	(void)signal(SIGUSR1, SIG_DFL);
	assert_int_equal(((struct world *)*state)->done, 1);
}

static int ask_exec(struct world *world)
{
	static const char *const argv[] = {"sh", "-c", "x", NULL}, *const env[] = {"A=B", NULL};
	struct live_list list;
	struct err err = {0};
	int status = 0, ends[2];
	char got[8] = {0};
	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	int fds[3] = {ends[1], ends[1], ends[1]};
	int fd = live_exec(mine(world, &list), argv, env, fds, true, &err);
	CHECK(fd >= 0);
	CHECK(read(ends[0], got, sizeof(got)) == 2 && strcmp(got, "hi") == 0);
	CHECK(live_exec_result(fd, &status, &err) == 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	return 0;
}

/* The fake's program: prints to what it was given and exits 7. */
static void finish_exec(void *data)
{
	struct world *world = data;
	if (!fake.execs) {
		(void)loop_add_timer(world->loop, clock_now() + 5 * NS_PER_MS, finish_exec, world);
		return;
	}
	assert_int_equal(write(fake.exec_fds[1], "hi", 2), 2);
	fake.exec_done(fake.exec_data, 7 << 8, NULL);
}

static void a_program_can_be_run_in_a_live_cell(void **state)
{
	struct world *world = *state;
	(void)loop_add_timer(world->loop, clock_now(), finish_exec, world);
	as_client(world, ask_exec);
	assert_int_equal(fake.execs, 1);
	assert_true(fake.exec_tty);
	assert_string_equal(fake.exec_command, "sh");
}

static int ask_exec_and_leave(struct world *world)
{
	static const char *const argv[] = {"sh", NULL}, *const env[] = {NULL};
	struct live_list list;
	struct err err = {0};
	int fds[3] = {0, 1, 2};
	CHECK(live_exec(mine(world, &list), argv, env, fds, false, &err) >= 0);
	(void)usleep(100000); /* who is dead before it is heard lives nowhere, and is not heard */
	return 0;
}

static void a_client_that_leaves_its_program_is_no_fault(void **state)
{
	struct world *world = *state;
	as_client(world, ask_exec_and_leave);
	for (int i = 0; i < 5; i++)
		(void)loop_turn(world->loop, 5);
	assert_int_equal(fake.execs, 1);
	live_remove(world->live, world->cell);
	world->live = live_free(world->live);
	fake.exec_done(fake.exec_data, 0, NULL); /* after all are gone */
}

static int connect_raw(struct world *world)
{
	char name[24], path[64];
	struct err err = {0};
	(void)snprintf(name, sizeof(name), "%d.sock", (int)getppid());
	(void)snprintf(path, sizeof(path), "%s/hotcell", world->folder);
	own(fd_closep) int folder = runtime_folder_open(path, false, &err);
	struct sockaddr_un address = live_address(folder, name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : fd;
}

/* Every prefix of every request, with every byte changed once, and wrong descriptors. */
static int ask_nonsense(struct world *world)
{
	char answer[LIVE_REPLY_MAX];
	for (uint32_t what = 0; what <= LIVE_WHAT_COUNT; what++) {
		if (what == LIVE_KILL)
			continue;
		own(buf_done) struct buf request = {0};
		wire_put_u32(&request, LIVE_VERSION);
		wire_put_u32(&request, what);
		wire_put_str(&request, world->id);
		wire_put_u64(&request, 0);
		for (size_t len = 1; len <= request.len; len++) {
			own(fd_closep) int fd = connect_raw(world);
			int fds[2] = {0, 1};
			CHECK(fd >= 0);
			request.data[len - 1] ^= 0x41;
			CHECK(wire_send(fd, request.data, len, fds, len % 3) == 0);
			CHECK(wire_recv(fd, answer, sizeof(answer), NULL, 0, NULL, 0) >= 0);
			request.data[len - 1] ^= 0x41;
		}
	}
	own(fd_closep) int fd = connect_raw(world);
	char big[LIVE_REQUEST_MAX + 1] = {0};
	CHECK(wire_send(fd, big, sizeof(big), NULL, 0) == 0);
	CHECK(wire_recv(fd, answer, sizeof(answer), NULL, 0, NULL, 0) <= 0); /* hung up */
	return ask_list(world);
}

static void nonsense_is_refused_and_survived(void **state)
{
	as_client(*state, ask_nonsense);
}

static int ask_crowd(struct world *world)
{
	int fds[80];
	for (int i = 0; i < 80; i++)
		CHECK((fds[i] = connect_raw(world)) >= 0);
	char byte;
	CHECK(recv(fds[79], &byte, 1, 0) == 0); /* one too many: hung up */
	for (int i = 0; i < 80; i++)
		fd_close(&fds[i]);
	(void)usleep(100000);
	return ask_list(world);
}

static void a_crowd_of_clients_is_bounded(void **state)
{
	as_client(*state, ask_crowd);
}

/* ---- who lives in a cell ---- */

/* Runs it as process 1 of a pid namespace, with our user's id. */
static int as_in_a_cell(struct world *world, int (*ask)(struct world *world))
{
	int status = 0;
	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(20);
		_exit(ask(world));
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int knock(struct world *world)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char byte;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", live_path(world->live));
	own(fd_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(recv(fd, &byte, 1, 0) == 0); /* hung up before we said a word */
	return 0;
}

static int knock_from_a_cell(struct world *world)
{
	return as_in_a_cell(world, knock);
}

static void who_lives_in_a_cell_is_hung_up_on(void **state)
{
	as_client(*state, knock_from_a_cell);
}

/* Listens as a supervisor would, until the folder has a file "heard". */
static int listen_in_a_cell(struct world *world)
{
	own(freep) char *path = xfmt("%s/hotcell/1.sock", world->folder);
	own(freep) char *heard = xfmt("%s/heard", world->folder);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/made", world->folder);
	own(fd_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 4) == 0);
	CHECK(rename(address.sun_path, path) == 0); /* it listens before it is seen */
	for (int i = 0; i < 1000 && access(heard, F_OK) < 0; i++)
		(void)usleep(10000);
	own(fd_closep) int came = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	char byte;
	CHECK(came >= 0);
	CHECK(recv(came, &byte, 1, 0) == 0); /* it came, and told us nothing */
	return 0;
}

static int ask_the_false_one(struct world *world)
{
	struct live_list list;
	own(freep) char *heard = xfmt("%s/heard", world->folder), *path = xfmt("%s/hotcell/1.sock", world->folder);
	pid_t pid = fork();
	int status = 0;
	if (pid == 0)
		_exit(as_in_a_cell(world, listen_in_a_cell));
	for (int i = 0; i < 1000 && access(path, F_OK) < 0; i++)
		(void)usleep(10000);
	live_list(&list);
	unsigned true_one = 0, false_one = 0;
	for (size_t i = 0; i < list.count; i++) { /* other hotcells of this user may live, too */
		bool here = strncmp(list.cells[i].folder, world->folder, strlen(world->folder)) == 0;
		true_one += here && list.cells[i].supervisor != 1;
		false_one += here && list.cells[i].supervisor == 1;
	}
	CHECK(list.silent >= 1 && true_one == 1 && false_one == 0);
	live_list_done(&list);
	own(fd_closep) int fd = open(heard, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

static void a_supervisor_that_lives_in_a_cell_is_told_nothing(void **state)
{
	as_client(*state, ask_the_false_one);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_socket_is_for_its_user_alone),
		TEST(the_socket_goes_with_its_supervisor),
		TEST(a_folder_that_is_not_ours_alone_is_refused),
		TEST(a_live_cell_is_listed),
		TEST(a_thousand_cells_are_listed_in_pages),
		TEST(doors_are_told_of_however_many_there_are),
		TEST(sockets_of_dead_supervisors_are_swept_away),
		cmocka_unit_test(names_may_be_shortened_but_not_doubtful),
		TEST(a_live_cell_can_be_killed),
		TEST(the_latest_output_can_be_read),
		TEST(a_follower_gets_the_last_output_and_the_end),
		TEST(a_program_can_be_run_in_a_live_cell),
		TEST(a_client_that_leaves_its_program_is_no_fault),
		TEST(who_lives_in_a_cell_is_hung_up_on),
		TEST(a_supervisor_that_lives_in_a_cell_is_told_nothing),
		TEST(nonsense_is_refused_and_survived),
		TEST(a_crowd_of_clients_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
