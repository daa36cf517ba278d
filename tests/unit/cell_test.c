/* The life of a cell, with a backend that does what a script says, and with the one that protects
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fake_backend.h"

struct world {
	struct loop *loop;
	struct cell_pool *pool;
	struct cell_spec spec;
	struct cell_io io;
	/* what `done` saw */
	unsigned done;
	bool in_start; /* done inside cell_start would be seen by this */
	struct cell_result result; /* without what it owns */
	bool free_in_done;
	/* what `listening` saw */
	unsigned listening, listeners;
	bool cancel_in_listening;
	struct cell *cell;
};

static const char *const program[] = {"/bin/true", NULL};

static int open_world(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));
	struct err err = {0};
	world->loop = loop_open(&err);
	world->io = (struct cell_io){.in = -1, .out = -1, .err = -1};
	cell_spec_defaults(&world->spec);
	world->spec.argv = program;
	fake_reset(NULL);
	*state = world;
	return world->loop ? 0 : -1;
}

static int close_world(void **state)
{
	struct world *world = *state;
	world->cell = cell_free(world->cell);
	world->pool = cell_pool_free(world->pool);
	world->loop = loop_free(world->loop);
	fake_reset(NULL);
	free(world);
	return 0;
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct world *world = data;
	assert_false(world->in_start);
	assert_ptr_equal(cell, world->cell);
	world->done++;
	world->result = *result;
	if (world->free_in_done)
		world->cell = cell_free(cell);
}

static void start_on(struct world *world, const struct cell_backend *backend)
{
	struct err err = {0};
	if (!world->pool)
		world->pool = cell_pool_open_with(backend, world->loop, &err);
	assert_non_null(world->pool);
	world->in_start = true;
	world->cell = cell_start(world->pool, &world->spec, &world->io, on_done, world, &err);
	world->in_start = false;
	if (!world->cell)
		fail_msg("%s", err.text);
}

static void start(struct world *world, const struct fake_action *actions)
{
	fake.actions = actions;
	start_on(world, &fake_backend);
}

static void until_done(struct world *world)
{
	uint64_t until = clock_now() + 20 * NS_PER_S;
	while (!world->done && clock_now() < until)
		assert_int_equal(loop_turn(world->loop, 100), 0);
	/* once only */
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(world->loop, 1), 0);
	assert_int_equal(world->done, 1);
}

static void run_fake(struct world *world, const struct fake_action *actions)
{
	start(world, actions);
	until_done(world);
	assert_int_equal(fake.released, 1);
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* ---- outcomes ---- */

static void a_program_that_ends_is_told_once(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	fake.end = (struct cell_end){.wait_status = 3 << 8, .user_us = 11, .system_us = 12, .peak_memory = 13,
		.processes = 14, .written_bytes = 15, .refused_total = 2, .refused = {{"mount", 2}}};
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_int_equal(world->result.exit_code, 3);
	assert_int_equal(world->result.user_us, 11);
	assert_int_equal(world->result.peak_memory, 13);
	assert_int_equal(world->result.processes, 14);
	assert_int_equal(world->result.written_bytes, 15);
	assert_string_equal(world->result.refused[0].what, "mount");
	assert_true(world->result.setup_ns > 0 && world->result.wall_ns > 0);
	assert_true(cell_receipt_full(&world->result.receipt));
	assert_string_equal(world->result.receipt.backend, "fake");
	assert_int_equal(fake.killed, 0);
}

struct watched {
	unsigned started, ended;
	char id[24];
	struct world *world;
	enum cell_outcome outcome;
};

static void on_watch(void *data, const struct cell *cell, const struct cell_result *result)
{
	struct watched *watched = data;

	if (!result) {
		watched->started++;
		(void)snprintf(watched->id, sizeof(watched->id), "%s", cell_id(cell));
		return;
	}
	watched->ended++;
	watched->outcome = result->outcome;
	assert_string_equal(cell_id(cell), watched->id);
	assert_int_equal(watched->world->done, 0); /* before `done`, which may free it */
}

/* A pool that is watched, and then a cell of it. */
static void start_watched(struct world *world, const struct fake_action *actions, struct watched *watched)
{
	struct err err = {0};

	*watched = (struct watched){.world = world};
	fake.actions = actions;
	world->pool = cell_pool_open_with(&fake_backend, world->loop, &err);
	assert_non_null(world->pool);
	cell_pool_watch(world->pool, on_watch, watched);
	world->cell = cell_start(world->pool, &world->spec, &world->io, on_done, world, &err);
	assert_non_null(world->cell);
	assert_int_equal(watched->started, 1);
	assert_int_equal(watched->ended, 0);
}

static void who_watches_a_pool_is_told_of_each_start_and_end(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	struct watched watched;

	start_watched(world, actions, &watched);
	until_done(world);
	assert_int_equal(watched.started, 1);
	assert_int_equal(watched.ended, 1);
	assert_int_equal(watched.outcome, CELL_EXITED);
}

static void who_watches_a_pool_is_told_of_a_cell_that_was_freed(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	struct watched watched;

	start_watched(world, actions, &watched);
	world->cell = cell_free(world->cell);
	assert_int_equal(world->done, 0);
	assert_int_equal(watched.ended, 1);
	assert_int_equal(watched.outcome, CELL_CANCELLED);
}

static void a_cell_may_be_freed_in_its_done(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	world->free_in_done = true;
	run_fake(world, actions);
	assert_null(world->cell);
}

static void on_listening(void *data, const int *fds, size_t count)
{
	struct world *world = data;
	assert_false(world->in_start);
	assert_int_equal(fake.started, 0);
	assert_int_equal(world->done, 0);
	world->listening++;
	for (size_t i = 0; i < count; i++)
		world->listeners += fcntl(fds[i], F_GETFD) >= 0;
	if (world->cancel_in_listening)
		cell_cancel(world->cell);
}

static void listeners_are_given_once_and_before_the_start(void **state)
{
	static const struct fake_action actions[] = {
		{.kind = FAKE_LISTENING, .count = 3}, {.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	world->io.listening = on_listening;
	run_fake(world, actions);
	assert_int_equal(world->listening, 1);
	assert_int_equal(world->listeners, 3);
}

static void listeners_that_nobody_wants_are_no_harm(void **state)
{
	static const struct fake_action actions[] = {
		{.kind = FAKE_LISTENING, .count = 3}, {.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_EXITED);
}

static void a_cell_may_be_cancelled_when_it_listens(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_LISTENING, .count = 1}, {.kind = FAKE_STARTED},
		{.kind = FAKE_ENDED}};
	struct world *world = *state;
	world->io.listening = on_listening;
	world->cancel_in_listening = true;
	run_fake(world, actions);
	assert_int_equal(world->listening, 1);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
}

static void a_program_beyond_its_time_is_ended(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	world->spec.limits.timeout_ms = 50;
	uint64_t begin = clock_now();
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_TIMEOUT);
	assert_int_equal(world->result.signal, SIGKILL);
	assert_int_equal(cell_result_exit_code(&world->result), 124);
	assert_true(clock_now() - begin >= 50 * NS_PER_MS);
	assert_int_equal(fake.killed, 1);
}

static void a_cell_that_never_comes_up_is_ended(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_FAILED, .text = "no mounts here"}};
	struct world *world = *state;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_SETUP_FAILED);
	assert_string_equal(world->result.err.text, "no mounts here");
	assert_int_equal(world->result.exit_code, -1);
	assert_int_equal(cell_result_exit_code(&world->result), 125);
}

static void a_cancelled_cell_is_ended(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	start(world, actions);
	while (!fake.started)
		assert_int_equal(loop_turn(world->loop, 100), 0);
	cell_cancel(world->cell);
	cell_cancel(world->cell);
	assert_int_equal(world->done, 0);
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_int_equal(fake.killed, 1);
	cell_cancel(world->cell); /* too late: nothing happens */
	assert_int_equal(loop_turn(world->loop, 1), 0);
	assert_int_equal(world->done, 1);
}

static void a_cell_cancelled_before_it_runs_is_cancelled(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STOP}};
	struct world *world = *state;
	start(world, actions);
	cell_cancel(world->cell);
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_int_equal(world->result.err.code, 0);
}

static void the_first_reason_counts(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_WAIT}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	world->spec.limits.timeout_ms = 30;
	fake.deaf = true;
	start(world, actions);
	while (!fake.killed)
		assert_int_equal(loop_turn(world->loop, 10), 0);
	cell_cancel(world->cell);
	assert_int_equal(fake.killed, 1);
	fake.go = true;
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_TIMEOUT);
}

static void a_cell_whose_end_nobody_saw_is_lost(void **state)
{
	static const struct fake_action ended[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	fake.end = (struct cell_end){.wait_status = SIGKILL, .lost = true};
	run_fake(world, ended);
	assert_int_equal(world->result.outcome, CELL_SIGNALED);
	assert_true(world->result.lost);
	assert_int_equal(world->result.err.code, ERR_LOST);
}

static void a_cell_that_was_never_made_because_its_maker_died_is_lost(void **state)
{
	static const struct fake_action failed[] = {{.kind = FAKE_FAILED, .text = "gone"}};
	struct world *world = *state;
	fake.fail_code = ERR_LOST;
	run_fake(world, failed);
	assert_int_equal(world->result.outcome, CELL_SETUP_FAILED);
	assert_true(world->result.lost);
}

static void what_we_ended_ourselves_is_not_lost(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_WAIT}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	fake.end = (struct cell_end){.wait_status = SIGKILL, .lost = true};
	fake.deaf = true;
	start(world, actions);
	while (!fake.started)
		assert_int_equal(loop_turn(world->loop, 10), 0);
	cell_cancel(world->cell);
	fake.go = true;
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_false(world->result.lost);
	assert_int_equal(world->result.err.code, 0);
}

static void a_receipt_without_what_is_required_ends_the_cell(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	static const char *const full[] = {"full", NULL};
	struct world *world = *state;
	world->spec.require = full;
	fake.off = 1u << CELL_LANDLOCK;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_SETUP_FAILED);
	assert_non_null(strstr(world->result.err.text, "landlock"));
}

static void a_full_receipt_satisfies_every_requirement(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	static const char *const full[] = {"full", NULL};
	struct world *world = *state;
	world->spec.require = full;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_EXITED);
}

static void a_refused_start_is_an_error_and_leaves_nothing(void **state)
{
	struct world *world = *state;
	struct err err = {0};
	char folder[64];
	(void)snprintf(folder, sizeof(folder), "/tmp/hotcell-cell-test-%d", (int)getpid());
	world->pool = cell_pool_open_with(&fake_backend, world->loop, &err);
	unsigned before = open_descriptors();
	fake.refuse = "not today";
	world->spec.output_dir = folder;
	assert_null(cell_start(world->pool, &world->spec, &world->io, on_done, world, &err));
	assert_string_equal(err.text, "not today");
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(access(folder, F_OK), -1);
	world->spec.argv = NULL;
	assert_null(cell_start(world->pool, &world->spec, &world->io, on_done, world, &err));
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(open_descriptors(), before);
}

static void freeing_a_running_cell_ends_it_and_tells_nobody(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	unsigned before = 0;
	start(world, actions);
	while (!fake.started)
		assert_int_equal(loop_turn(world->loop, 100), 0);
	before = open_descriptors();
	world->cell = cell_free(world->cell);
	assert_int_equal(fake.killed, 1);
	assert_int_equal(fake.released, 1);
	assert_int_equal(world->done, 0);
	assert_true(open_descriptors() < before);
}

static void freeing_a_pool_ends_its_cells_first(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	start(world, actions);
	world->pool = cell_pool_free(world->pool);
	assert_int_equal(world->done, 1);
	assert_int_equal(world->result.outcome, CELL_CANCELLED);
	assert_int_equal(fake.closed, 1);
	assert_true(strlen(cell_id(world->cell)) >= 7); /* can still be read */
}

static void ids_of_live_cells_differ(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	struct cell *cells[100];
	start(world, actions);
	cells[0] = world->cell;
	for (int i = 1; i < 100; i++) {
		struct err err = {0};
		cells[i] = cell_start(world->pool, &world->spec, &world->io, on_done, world, &err);
		assert_non_null(cells[i]);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(cell_id(cells[i]), cell_id(cells[j]));
	}
	assert_int_equal(cell_id(cells[0])[0], 'c');
	assert_int_equal(cell_memory(cells[0]), 12345678);
	assert_int_equal(cell_pid(cells[0]), 4242);
	for (int i = 0; i < 100; i++)
		(void)cell_free(cells[i]);
	world->cell = NULL;
}

/* ---- output ---- */

static int make_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC);
}

static void read_all(int fd, struct buf *ret)
{
	char chunk[4096];
	for (ssize_t got; (got = read(fd, chunk, sizeof(chunk))) > 0;)
		buf_add(ret, chunk, (size_t)got);
}

static void what_is_printed_arrives_and_is_counted(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "hello "},
		{.kind = FAKE_PRINT_ERR, .text = "oops"}, {.kind = FAKE_PRINT, .text = "world"}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	own(buf_done) struct buf errors = {0};
	own(buf_done) struct buf tail = {0};
	int to[2], to_err[2];
	assert_int_equal(make_pipe(to), 0);
	assert_int_equal(make_pipe(to_err), 0);
	world->io = (struct cell_io){.in = -1, .out = to[1], .err = to_err[1], .keep = 1000};
	run_fake(world, actions);
	cell_tail(world->cell, &tail);
	world->cell = cell_free(world->cell);
	fd_close(&to[1]);
	fd_close(&to_err[1]);
	read_all(to[0], &out);
	read_all(to_err[0], &errors);
	assert_string_equal(buf_text(&out), "hello world");
	assert_string_equal(buf_text(&errors), "oops");
	assert_int_equal(tail.len, 15);
	assert_int_equal(world->result.stdout_bytes, 11);
	assert_int_equal(world->result.stderr_bytes, 4);
	assert_int_equal(world->result.dropped_bytes, 0);
	fd_close(&to[0]);
	fd_close(&to_err[0]);
}

/* Neither counted nor limited: it is between the program and whoever speaks with it. */
static void descriptors_given_directly_enter_the_cell_as_they_are(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_READ},
		{.kind = FAKE_PRINT, .text = "answer"}, {.kind = FAKE_PRINT_ERR, .text = "not direct"}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	int to[2], from[2];
	assert_int_equal(make_pipe(to), 0);
	assert_int_equal(make_pipe(from), 0);
	assert_int_equal(write(from[1], "question", 8), 8);
	fd_close(&from[1]);
	world->io = (struct cell_io){.in = from[0], .out = to[1], .err = -1, .direct = true};
	world->spec.limits.output = 10; /* of "not direct", which is counted and dropped */
	run_fake(world, actions);
	assert_true(fcntl(to[1], F_GETFD) >= 0); /* they stay ours */
	fd_close(&to[1]);
	read_all(to[0], &out);
	assert_string_equal(buf_text(&out), "answer");
	assert_string_equal(buf_text(&fake.input), "question");
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_int_equal(world->result.stdout_bytes, 0);
	assert_int_equal(world->result.stderr_bytes, 10);
	fd_close(&to[0]);
	fd_close(&from[0]);
}

static void the_flags_of_a_sink_are_left_alone(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "x"},
		{.kind = FAKE_ENDED}};
	struct world *world = *state;
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	world->io.out = to[1];
	run_fake(world, actions);
	assert_int_equal(fcntl(to[1], F_GETFL) & O_NONBLOCK, 0);
	fd_close(&to[0]);
	fd_close(&to[1]);
}

static void the_tail_keeps_the_latest(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 1000}, {.kind = FAKE_PRINT, .text = "the end"}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	own(buf_done) struct buf tail = {0};
	world->io.keep = 11;
	run_fake(world, actions);
	cell_tail(world->cell, &tail);
	assert_string_equal(buf_text(&tail), "6789the end");
	assert_int_equal(cell_printed(world->cell), 10007);
}

static void a_program_that_prints_too_much_is_ended(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 1 << 20}, {.kind = FAKE_STOP}};
	struct world *world = *state;
	world->spec.limits.output = 100005;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_OUTPUT_LIMIT);
	assert_int_equal(world->result.stdout_bytes, 100005);
	assert_true(world->result.dropped_bytes > 0);
	assert_int_equal(fake.killed, 1);
}

static void printing_too_much_just_before_the_end_counts_too(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789"},
		{.kind = FAKE_ENDED}};
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	world->io.out = to[1];
	world->spec.limits.output = 4;
	run_fake(world, actions);
	fd_close(&to[1]);
	read_all(to[0], &out);
	assert_int_equal(world->result.outcome, CELL_OUTPUT_LIMIT);
	assert_int_equal(world->result.dropped_bytes, 6);
	assert_int_equal(cell_result_exit_code(&world->result), 137);
	assert_string_equal(buf_text(&out), "0123");
	assert_int_equal(fake.killed, 0);
	fd_close(&to[0]);
}

static void a_slow_sink_gets_everything(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 60000}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	char chunk[777];
	size_t total = 0;
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	(void)fcntl(to[0], F_SETFL, O_RDONLY | O_NONBLOCK);
	world->io.out = to[1];
	start(world, actions);
	while (!world->done) {
		ssize_t got = read(to[0], chunk, sizeof(chunk));
		for (ssize_t i = 0; i < got; i++, total++)
			assert_int_equal(chunk[i], '0' + (int)(total % 10));
		assert_int_equal(loop_turn(world->loop, 0), 0);
	}
	for (ssize_t got; (got = read(to[0], chunk, sizeof(chunk))) > 0;)
		total += (size_t)got;
	assert_int_equal(total, 600000);
	assert_int_equal(world->result.stdout_bytes, 600000);
	fd_close(&to[0]);
	fd_close(&to[1]);
}

static void a_socket_that_is_full_is_no_reason_to_block(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 200000}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	int to[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to), 0);
	world->io.out = to[1];
	world->spec.limits.timeout_ms = 200;
	start(world, actions);
	until_done(world); /* nobody reads: it waits, the clock ends it, and the rest is given up */
	assert_int_equal(world->result.outcome, CELL_TIMEOUT);
	fd_close(&to[0]);
	fd_close(&to[1]);
}

static void who_watches_a_pool_is_told_of_a_cell_that_was_freed_while_its_sink_was_slow(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 10000}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	struct watched watched;
	int to[2];

	assert_int_equal(make_pipe(to), 0);
	world->io.out = to[1];
	start_watched(world, actions, &watched);
	uint64_t until = clock_now() + 100 * NS_PER_MS;
	while (clock_now() < until)
		assert_int_equal(loop_turn(world->loop, 10), 0);
	world->cell = cell_free(world->cell);
	assert_int_equal(watched.ended, 1);
	fd_close(&to[0]);
	fd_close(&to[1]);
}

static void cancelling_gives_up_a_sink_that_takes_nothing(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 10000}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	world->io.out = to[1];
	start(world, actions);
	uint64_t until = clock_now() + 100 * NS_PER_MS;
	while (clock_now() < until)
		assert_int_equal(loop_turn(world->loop, 10), 0);
	assert_int_equal(world->done, 0);
	cell_cancel(world->cell);
	assert_int_equal(world->done, 0);
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_EXITED); /* it had ended by itself */
	fd_close(&to[0]);
	fd_close(&to[1]);
}

static void a_sink_that_goes_away_is_gone_for_the_program_and_no_fault(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 100000}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	fd_close(&to[0]);
	world->io.out = to[1];
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_in_range(world->result.stdout_bytes, 1, 999999); /* the rest found nobody */
	assert_int_equal(world->result.err.code, 0);
	fd_close(&to[1]);
}

static void a_full_disk_is_told(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT, .text = "0123456789",
		.count = 100000}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	own(fd_closep) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	world->io.out = full;
	run_fake(world, actions);
	assert_int_equal(world->result.err.code, ENOSPC);
	assert_int_equal(world->result.stdout_bytes, 1000000);
	assert_int_equal(cell_result_exit_code(&world->result), 125);
}

static void print_escapes(struct world *world, int out, int from, struct buf *ret)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_PRINT,
		.text = "a\033]0;title\007b\033[31mred"}, {.kind = FAKE_PRINT, .text = "\033["}, {.kind = FAKE_ENDED}};
	char chunk[1000];
	world->io.out = out;
	world->io.filter = true;
	run_fake(world, actions);
	assert_int_equal(world->result.stdout_bytes, 22);
	ssize_t got = read(from, chunk, sizeof(chunk));
	assert_true(got > 0);
	buf_add(ret, chunk, (size_t)got);
}

static void escapes_are_made_harmless_for_a_terminal(void **state)
{
	own(buf_done) struct buf out = {0};
	int master, slave;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	print_escapes(*state, slave, master, &out);
	assert_null(strstr(buf_text(&out), "\033]"));
	assert_non_null(strstr(buf_text(&out), "\033[31mred"));
	assert_non_null(strstr(buf_text(&out), "red\\x1b"));
	fd_close(&master);
	fd_close(&slave);
}

static void a_file_gets_the_bytes_as_they_are(void **state)
{
	own(buf_done) struct buf out = {0};
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	print_escapes(*state, to[1], to[0], &out);
	assert_string_equal(buf_text(&out), "a\033]0;title\007b\033[31mred\033[");
	fd_close(&to[0]);
	fd_close(&to[1]);
}

/* ---- input ---- */

static void input_is_passed_on_to_its_end(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_READ}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	FILE *file = tmpfile();
	for (int i = 0; i < 50000; i++)
		(void)fprintf(file, "%09d\n", i);
	(void)fflush(file);
	(void)lseek(fileno(file), 0, SEEK_SET);
	world->io.in = fileno(file);
	run_fake(world, actions);
	assert_int_equal(fake.input.len, 500000);
	assert_memory_equal(fake.input.data + 499990, "000049999\n", 10);
	(void)fclose(file);
}

static void no_input_is_an_end_of_file(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_READ}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	run_fake(world, actions);
	assert_int_equal(fake.input.len, 0);
}

static void a_program_that_does_not_read_is_no_fault(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	own(fd_closep) int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	world->io.in = zero;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_int_equal(world->result.err.code, 0);
}

/* ---- collecting ---- */

static void the_workspace_is_collected(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	struct world *world = *state;
	struct err err = {0};
	char from[] = "/tmp/hotcell-from-XXXXXX", path[128], to[64];
	assert_non_null(mkdtemp(from));
	(void)snprintf(to, sizeof(to), "%s-out", from);
	(void)snprintf(path, sizeof(path), "%s/file", from);
	own(fd_closep) int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(file, "data", 4), 4);
	(void)snprintf(path, sizeof(path), "%s/link", from);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	own(fd_closep) int workspace = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fake.workspace = workspace;
	world->spec.output_dir = to;
	run_fake(world, actions);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_true(world->result.collected);
	assert_int_equal(world->result.collect.files, 1);
	assert_int_equal(world->result.collect.skipped_count, 1);
	(void)snprintf(path, sizeof(path), "%s/file", to);
	assert_int_equal(access(path, R_OK), 0);
	own(fd_closep) int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fs_remove_tree(tmp, from + 5, &err), 0);
	assert_int_equal(fs_remove_tree(tmp, to + 5, &err), 0);
}

static void a_folder_in_use_takes_what_is_new_and_not_reserved(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_STARTED}, {.kind = FAKE_ENDED}};
	char from[] = "/tmp/hotcell-from-XXXXXX", to[] = "/tmp/hotcell-to-XXXXXX", name[] = "report";
	const char *reserved[] = {name, NULL};
	struct world *world = *state;
	struct err err = {0};
	assert_non_null(mkdtemp(from));
	assert_non_null(mkdtemp(to));
	own(fd_closep) int workspace = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own(fd_closep) int folder = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		(void)close(openat(workspace, (const char *[]){"report", "ours", "new"}[i], O_CREAT | O_WRONLY, 0600));
	(void)close(openat(folder, "ours", O_CREAT | O_WRONLY, 0600));
	fake.workspace = workspace;
	world->spec.output_fd = folder;
	world->spec.output_reserved = reserved;
	start(world, actions);
	name[0] = 'R'; /* the request need not live on */
	until_done(world);
	assert_true(world->result.collected);
	assert_int_equal(world->result.collect.files, 1);
	assert_int_equal(world->result.collect.skipped_count, 2);
	assert_int_equal(faccessat(folder, "new", F_OK, 0), 0);
	assert_int_equal(faccessat(folder, "report", F_OK, 0), -1);
	assert_int_equal(fcntl(folder, F_GETFD) >= 0, true);
	own(fd_closep) int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fs_remove_tree(tmp, from + 5, &err), 0);
	assert_int_equal(fs_remove_tree(tmp, to + 5, &err), 0);
}

static void a_cell_that_never_ran_leaves_no_output_folder(void **state)
{
	static const struct fake_action actions[] = {{.kind = FAKE_FAILED, .text = "no"}};
	struct world *world = *state;
	char folder[64];
	(void)snprintf(folder, sizeof(folder), "/tmp/hotcell-cell-test-%d", (int)getpid());
	world->spec.output_dir = folder;
	run_fake(world, actions);
	assert_int_equal(access(folder, F_OK), -1);
}

/* ---- the backend none ---- */

static void run_none(struct world *world, const char *script, struct buf *out)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	int to[2];
	assert_int_equal(make_pipe(to), 0);
	world->spec.argv = argv;
	world->io.out = to[1];
	start_on(world, &cell_none);
	until_done(world);
	fd_close(&to[1]);
	read_all(to[0], out);
	fd_close(&to[0]);
}

static void without_a_sandbox_the_program_still_runs(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	run_none(world, "pwd; echo $HOME; ulimit -n; env | grep -c SHOULD_NOT; exit 5", &out);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	assert_int_equal(world->result.exit_code, 5);
	char *line = strchr(buf_text(&out), '\n');
	assert_non_null(line);
	assert_memory_equal(out.data, line + 1, (size_t)(line - out.data));
	assert_non_null(strstr(line, "\n1024\n0\n"));
	*line = '\0';
	assert_memory_equal(out.data, "/tmp/hotcell-none-", 18);
	assert_int_equal(access(out.data, F_OK), -1);
}

static void without_a_sandbox_the_receipt_says_so(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	run_none(world, "true", &out);
	const struct cell_receipt *receipt = &world->result.receipt;
	assert_string_equal(receipt->backend, "none");
	assert_false(cell_receipt_full(receipt));
	assert_int_equal(receipt->grade[CELL_SECCOMP], CELL_OFF);
	assert_int_equal(receipt->grade[CELL_MOUNT_NS], CELL_OFF);
	assert_int_equal(receipt->grade[CELL_MEMORY_LIMIT], CELL_OFF);
	assert_int_equal(receipt->grade[CELL_WALL_CLOCK], CELL_ON);
	assert_int_equal(receipt->grade[CELL_KILL_ALL], CELL_WEAKER);
}

static void without_a_sandbox_nothing_can_be_required(void **state)
{
	static const char *const require[] = {"seccomp", NULL};
	struct world *world = *state;
	struct err err = {0};
	world->pool = cell_pool_open("none", world->loop, &err);
	world->spec.require = require;
	assert_null(cell_start(world->pool, &world->spec, &world->io, on_done, world, &err));
	assert_int_equal(err.code, ERR_MISSING);
}

static void without_a_sandbox_the_clock_holds(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	world->spec.limits.timeout_ms = 100;
	uint64_t begin = clock_now();
	run_none(world, "sleep 100 & sleep 100", &out);
	assert_int_equal(world->result.outcome, CELL_TIMEOUT);
	assert_true(clock_now() - begin < 3 * NS_PER_S);
}

static void without_a_sandbox_the_group_is_killed(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	run_none(world, "sleep 100 & echo $!", &out);
	assert_int_equal(world->result.outcome, CELL_EXITED);
	int pid = atoi(buf_text(&out));
	assert_true(pid > 1);
	char path[40];
	own(buf_done) struct buf stat = {0};
	struct err err;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fs_read_small(AT_FDCWD, path, 1000, &stat, &err) == 0)
		assert_non_null(strstr(buf_text(&stat), ") Z ")); /* at most not reaped yet */
}

static void without_a_sandbox_a_missing_command_is_told(void **state)
{
	static const char *const argv[] = {"no-such-command-here", NULL};
	struct world *world = *state;
	world->spec.argv = argv;
	start_on(world, &cell_none);
	until_done(world);
	assert_int_equal(world->result.outcome, CELL_SETUP_FAILED);
	assert_non_null(strstr(world->result.err.text, "no-such-command-here"));
}

static void without_a_sandbox_a_terminal_can_be_had(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf out = {0};
	world->spec.tty = true;
	run_none(world, "test -t 0 && test -t 1 && test -t 2 && cat && echo all", &out);
	assert_int_equal(world->result.exit_code, 0);
	assert_non_null(strstr(buf_text(&out), "all\r\n"));
}

static void without_a_sandbox_there_are_no_doors(void **state)
{
	static const struct cell_listener door = {0x7f000001, 3128};
	struct world *world = *state;
	struct err err = {0};
	own(buf_done) struct buf text = {0};
	world->spec.listeners = &door;
	world->spec.listener_count = 1;
	world->pool = cell_pool_open("none", world->loop, &err);
	assert_non_null(world->pool);
	assert_null(cell_start(world->pool, &world->spec, &world->io, on_done, world, &err));
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.text, "the backend 'none' makes no cell"));
	cell_explain("none", &world->spec, &text);
	assert_non_null(strstr(buf_text(&text), "doors "));
}

static void many_runs_leave_nothing_open(void **state)
{
	static const char *const argv[] = {"true", NULL};
	struct world *world = *state;
	world->spec.argv = argv;
	world->free_in_done = true;
	unsigned before = 0;
	for (int i = 0; i < 20; i++) {
		world->done = 0;
		start_on(world, &cell_none);
		until_done(world);
		assert_int_equal(world->result.exit_code, 0);
		if (i == 0)
			before = open_descriptors();
	}
	assert_int_equal(open_descriptors(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

static void a_backend_is_asked_for_what_it_can_do(void **state)
{
	(void)state;
	assert_true(cell_backend_can(NULL, CELL_ISOLATES)); /* the default */
	assert_true(cell_backend_can("native", CELL_ISOLATES));
	assert_true(cell_backend_can("native", CELL_LISTENS));
	assert_false(cell_backend_can("none", CELL_ISOLATES));
	assert_false(cell_backend_can("none", CELL_MOUNTS));
	assert_false(cell_backend_can("nothing of that name", CELL_ISOLATES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_backend_is_asked_for_what_it_can_do),
		TEST(a_program_that_ends_is_told_once),
		TEST(who_watches_a_pool_is_told_of_each_start_and_end),
		TEST(who_watches_a_pool_is_told_of_a_cell_that_was_freed),
		TEST(a_cell_may_be_freed_in_its_done),
		TEST(listeners_are_given_once_and_before_the_start),
		TEST(listeners_that_nobody_wants_are_no_harm),
		TEST(a_cell_may_be_cancelled_when_it_listens),
		TEST(a_program_beyond_its_time_is_ended),
		TEST(a_cell_that_never_comes_up_is_ended),
		TEST(a_cancelled_cell_is_ended),
		TEST(a_cell_cancelled_before_it_runs_is_cancelled),
		TEST(the_first_reason_counts),
		TEST(a_cell_whose_end_nobody_saw_is_lost),
		TEST(a_cell_that_was_never_made_because_its_maker_died_is_lost),
		TEST(what_we_ended_ourselves_is_not_lost),
		TEST(a_receipt_without_what_is_required_ends_the_cell),
		TEST(a_full_receipt_satisfies_every_requirement),
		TEST(a_refused_start_is_an_error_and_leaves_nothing),
		TEST(freeing_a_running_cell_ends_it_and_tells_nobody),
		TEST(freeing_a_pool_ends_its_cells_first),
		TEST(ids_of_live_cells_differ),
		TEST(what_is_printed_arrives_and_is_counted),
		TEST(descriptors_given_directly_enter_the_cell_as_they_are),
		TEST(the_flags_of_a_sink_are_left_alone),
		TEST(the_tail_keeps_the_latest),
		TEST(a_program_that_prints_too_much_is_ended),
		TEST(printing_too_much_just_before_the_end_counts_too),
		TEST(a_slow_sink_gets_everything),
		TEST(a_socket_that_is_full_is_no_reason_to_block),
		TEST(who_watches_a_pool_is_told_of_a_cell_that_was_freed_while_its_sink_was_slow),
		TEST(cancelling_gives_up_a_sink_that_takes_nothing),
		TEST(a_sink_that_goes_away_is_gone_for_the_program_and_no_fault),
		TEST(a_full_disk_is_told),
		TEST(escapes_are_made_harmless_for_a_terminal),
		TEST(a_file_gets_the_bytes_as_they_are),
		TEST(input_is_passed_on_to_its_end),
		TEST(no_input_is_an_end_of_file),
		TEST(a_program_that_does_not_read_is_no_fault),
		TEST(the_workspace_is_collected),
		TEST(a_folder_in_use_takes_what_is_new_and_not_reserved),
		TEST(a_cell_that_never_ran_leaves_no_output_folder),
		TEST(without_a_sandbox_the_program_still_runs),
		TEST(without_a_sandbox_the_receipt_says_so),
		TEST(without_a_sandbox_nothing_can_be_required),
		TEST(without_a_sandbox_the_clock_holds),
		TEST(without_a_sandbox_the_group_is_killed),
		TEST(without_a_sandbox_a_missing_command_is_told),
		TEST(without_a_sandbox_a_terminal_can_be_had),
		TEST(without_a_sandbox_there_are_no_doors),
		TEST(many_runs_leave_nothing_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
