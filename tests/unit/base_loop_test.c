#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/loop.h"

/* What the callbacks of one test share. */
struct world {
	struct loop *loop;
	struct loop_source *sources[80];
	int pipes[80][2];
	int calls;
	uint32_t events;
	char order[64];
};

static int set_up(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));
	struct err err = {0};

	world->loop = loop_open(&err);
	for (size_t i = 0; i < ARRAY_LEN(world->pipes); i++)
		if (pipe2(world->pipes[i], O_CLOEXEC | O_NONBLOCK) < 0)
			return -1;
	*state = world;
	return world->loop ? 0 : -1;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	world->loop = loop_free(world->loop);
	for (size_t i = 0; i < ARRAY_LEN(world->pipes); i++) {
		fd_close(&world->pipes[i][0]);
		fd_close(&world->pipes[i][1]);
	}
	free(world);
	return 0;
}

static void feed(struct world *world, size_t pipe)
{
	assert_int_equal(write(world->pipes[pipe][1], "x", 1), 1);
}

static void count_events(void *data, int fd, uint32_t events)
{
	struct world *world = data;

	(void)fd;
	world->calls++;
	world->events = events;
}

static struct loop_source *watch(struct world *world, size_t pipe, loop_fd_fn *fn)
{
	struct loop_source *source =
		loop_add_fd(world->loop, world->pipes[pipe][0], EPOLLIN, fn, world);

	assert_non_null(source);
	world->sources[pipe] = source;
	return source;
}

static void a_descriptor_is_reported_while_it_is_ready_and_until_it_is_removed(void **state)
{
	struct world *world = *state;

	(void)watch(world, 0, count_events);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 0);
	feed(world, 0);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 2);
	assert_int_equal(world->events, EPOLLIN);
	assert_null(loop_remove(world->sources[0]));
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 2);
	assert_null(loop_remove(NULL));
}

static void a_paused_descriptor_is_silent_even_when_it_hangs_up(void **state)
{
	struct world *world = *state;
	struct loop_source *source = watch(world, 0, count_events);

	feed(world, 0);
	loop_set_events(source, 0);
	fd_close(&world->pipes[0][1]);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 0);
	loop_set_events(source, EPOLLIN);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 1);
	assert_int_equal(world->events, EPOLLIN | EPOLLHUP);
	loop_set_events(source, 0);
	(void)loop_remove(source);
}

static void a_source_may_start_paused(void **state)
{
	struct world *world = *state;
	struct loop_source *source =
		loop_add_fd(world->loop, world->pipes[0][1], 0, count_events, world);

	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 0);
	loop_set_events(source, EPOLLOUT);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->events, EPOLLOUT);
}

static void a_descriptor_that_is_none_is_refused(void **state)
{
	struct world *world = *state;

	assert_null(loop_add_fd(world->loop, -1, EPOLLIN, count_events, world));
	assert_int_equal(errno, EBADF);
}

static void remove_oneself(void *data, int fd, uint32_t events)
{
	struct world *world = data;

	count_events(data, fd, events);
	world->sources[0] = loop_remove(world->sources[0]);
}

static void a_callback_may_remove_its_own_source(void **state)
{
	struct world *world = *state;

	(void)watch(world, 0, remove_oneself);
	feed(world, 0);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 1);
}

static void remove_all(void *data, int fd, uint32_t events)
{
	struct world *world = data;

	count_events(data, fd, events);
	for (size_t i = 0; i < ARRAY_LEN(world->sources); i++) {
		world->sources[i] = loop_remove(world->sources[i]);
		fd_close(&world->pipes[i][0]);
	}
}

static void a_source_removed_by_another_is_not_called_though_it_was_ready(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(world->sources); i++) {
		(void)watch(world, i, remove_all);
		feed(world, i);
	}
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 1);
}

/* Removes all, then reuses the descriptor numbers for other sources at once. */
static void replace_all(void *data, int fd, uint32_t events)
{
	struct world *world = data;

	remove_all(data, fd, events);
	for (size_t i = 0; i < 8; i++) {
		fd_close(&world->pipes[i][1]);
		assert_int_equal(pipe2(world->pipes[i], O_CLOEXEC), 0);
		(void)watch(world, i, count_events);
	}
}

static void a_reused_descriptor_number_is_another_source(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < 8; i++) {
		(void)watch(world, i, replace_all);
		feed(world, i);
	}
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 1);
	feed(world, 3);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 2);
}

static void pause_all(void *data, int fd, uint32_t events)
{
	struct world *world = data;

	count_events(data, fd, events);
	loop_set_events(world->sources[0], 0);
	loop_set_events(world->sources[1], 0);
}

static void a_source_paused_by_another_is_not_called_though_it_was_ready(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < 2; i++) {
		(void)watch(world, i, pause_all);
		feed(world, i);
	}
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 1);
}

static void turn_inside(void *data, int fd, uint32_t events)
{
	struct world *world = data;

	count_events(data, fd, events);
	for (size_t i = 0; i < 2; i++)
		world->sources[i] = loop_remove(world->sources[i]);
	assert_int_equal(loop_turn(world->loop, 0), 0);
}

static void a_callback_may_turn_the_loop_itself(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < 2; i++) {
		(void)watch(world, i, turn_inside);
		feed(world, i);
	}
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 1);
}

static void a_regular_file_is_always_ready_until_paused(void **state)
{
	struct world *world = *state;
	own(fd_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct loop_source *source = loop_add_fd(world->loop, fd, EPOLLIN, count_events, world);

	assert_non_null(source);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 2);
	assert_int_equal(world->events, EPOLLIN);
	loop_set_events(source, 0);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 2);
	loop_set_events(source, EPOLLIN);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 3);
	(void)loop_remove(source);
	uint64_t before = clock_now();
	assert_int_equal(loop_turn(world->loop, 20), 0); /* and then it waits again */
	assert_true(clock_now() - before >= 19 * NS_PER_MS);
}

static void a_regular_file_may_be_removed_by_its_own_callback(void **state)
{
	struct world *world = *state;
	own(fd_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	world->sources[1] = loop_add_fd(world->loop, fd, EPOLLIN, count_events, world);
	world->sources[0] = loop_add_fd(world->loop, fd, EPOLLIN, remove_oneself, world);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 2);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 3);
}

static struct world *timer_world;

static void note(char c)
{
	size_t len = strlen(timer_world->order);

	if (len + 1 < sizeof(timer_world->order))
		timer_world->order[len] = c;
}

static void note_letter(void *data)
{
	note(*(const char *)data);
}

static void timers_fire_in_order_once_and_not_early(void **state)
{
	static char letters[] = "abcdefgh";
	static const unsigned at_ms[] = {12, 3, 6, 3, 0, 9, 1, 15}; /* e g b d c f a h */
	struct world *world = *state;
	uint64_t start = clock_now();

	timer_world = world;
	for (size_t i = 0; i < ARRAY_LEN(at_ms); i++)
		(void)loop_add_timer(
			world->loop, start + at_ms[i] * NS_PER_MS, note_letter, &letters[i]);
	while (strlen(world->order) < 8)
		assert_int_equal(loop_turn(world->loop, 1000), 0);
	assert_true(clock_now() - start >= 15 * NS_PER_MS);
	assert_true(clock_now() - start < 900 * NS_PER_MS);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_string_equal(world->order, "egbdcfah");
}

static void a_removed_timer_does_not_fire_and_a_fired_one_can_be_removed(void **state)
{
	struct world *world = *state;
	struct loop_source *timers[200];
	char letter = 'x';

	timer_world = world;
	for (size_t i = 0; i < ARRAY_LEN(timers); i++)
		timers[i] = loop_add_timer(world->loop, (i * 7919) % 200, note_letter, &letter);
	for (size_t i = 0; i < ARRAY_LEN(timers); i++)
		if (i % 20)
			timers[i] = loop_remove(timers[i]);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_string_equal(world->order, "xxxxxxxxxx");
	for (size_t i = 0; i < ARRAY_LEN(timers); i += 20)
		timers[i] = loop_remove(timers[i]);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_string_equal(world->order, "xxxxxxxxxx");
}

static void add_again(void *data)
{
	struct world *world = data;

	world->calls++;
	world->sources[0] = loop_remove(world->sources[0]);
	world->sources[0] = loop_add_timer(world->loop, 0, add_again, world);
}

static void a_timer_that_sets_itself_again_does_not_hold_up_the_turn(void **state)
{
	struct world *world = *state;

	world->sources[0] = loop_add_timer(world->loop, 0, add_again, world);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 1);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_int_equal(world->calls, 2);
}

static void the_timeout_bounds_the_wait_for_a_later_timer(void **state)
{
	struct world *world = *state;
	uint64_t start = clock_now();
	char letter = 'x';

	timer_world = world;
	(void)loop_add_timer(world->loop, start + 3600 * NS_PER_S, note_letter, &letter);
	(void)loop_add_timer(world->loop, UINT64_MAX, note_letter, &letter);
	assert_int_equal(loop_turn(world->loop, 10), 0);
	assert_true(clock_now() - start < 900 * NS_PER_MS);
	assert_string_equal(world->order, "");
}

static void note_signal(void *data, int number)
{
	timer_world = data;
	note(number == SIGUSR1 ? '1' : number == SIGUSR2 ? '2' : '?');
}

static void signals_are_delivered_to_the_loop_only(void **state)
{
	struct world *world = *state;
	struct err err = {0};
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGUSR2);
	assert_int_equal(loop_take_signals(world->loop, &set, note_signal, world, &err), 0);
	(void)raise(SIGUSR2);
	(void)raise(SIGUSR1);
	(void)raise(SIGUSR1);
	assert_int_equal(loop_turn(world->loop, -1), 0);
	assert_string_equal(world->order, "12"); /* pending signals do not queue */
}

static void a_child_that_frees_its_copy_leaves_the_parents_sources_alone(void **state)
{
	struct world *world = *state;
	int status = 0;

	(void)watch(world, 0, count_events);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)loop_free(world->loop);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	feed(world, 0);
	assert_int_equal(loop_turn(world->loop, 0), 0);
	assert_int_equal(world->calls, 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_descriptor_is_reported_while_it_is_ready_and_until_it_is_removed),
		test(a_paused_descriptor_is_silent_even_when_it_hangs_up),
		test(a_source_may_start_paused),
		test(a_descriptor_that_is_none_is_refused),
		test(a_callback_may_remove_its_own_source),
		test(a_source_removed_by_another_is_not_called_though_it_was_ready),
		test(a_reused_descriptor_number_is_another_source),
		test(a_source_paused_by_another_is_not_called_though_it_was_ready),
		test(a_callback_may_turn_the_loop_itself),
		test(a_regular_file_is_always_ready_until_paused),
		test(a_regular_file_may_be_removed_by_its_own_callback),
		test(timers_fire_in_order_once_and_not_early),
		test(a_removed_timer_does_not_fire_and_a_fired_one_can_be_removed),
		test(a_timer_that_sets_itself_again_does_not_hold_up_the_turn),
		test(the_timeout_bounds_the_wait_for_a_later_timer),
		test(signals_are_delivered_to_the_loop_only),
		test(a_child_that_frees_its_copy_leaves_the_parents_sources_alone),
	};
	return cmocka_run_group_tests_name("base loop", tests, NULL, NULL);
}
