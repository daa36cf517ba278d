#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/loop.h"
#include "net/relay.h"

#define MUCH (12u << 20)
#define LITTLE 1000

struct fixture {
	struct loop *loop;
	int near[2], far[2]; /* [0]: the relay's side; [1]: ours */
	struct relay *relay;
	uint64_t sent, received, stop_after, gate_left;
	struct buf held;
	bool over, answered;
};

static bool on_passed(void *data, size_t sent, size_t received)
{
	struct fixture *f = data;

	f->sent += sent;
	f->received += received;
	return f->stop_after == 0 || f->sent + f->received < f->stop_after;
}

static size_t on_gate(void *data, const char *bytes, size_t len)
{
	struct fixture *f = data;
	size_t may = len < f->gate_left ? len : (size_t)f->gate_left;

	(void)bytes;
	f->gate_left -= may;
	return may;
}

static void on_over(void *data)
{
	struct fixture *f = data;

	assert_false(f->over);
	f->over = true;
}

static void begin(struct fixture *f, const char *sent, size_t len, bool gated)
{
	struct err err;
	const struct relay_events events = { on_passed, gated ? on_gate : NULL, on_over, f };

	f->loop = loop_open(&err);
	assert_non_null(f->loop);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, f->near), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, f->far), 0);
	f->relay = relay_start(f->loop, f->near[0], f->far[0], sent, len, &events);
}

static void end(struct fixture *f)
{
	f->relay = relay_free(f->relay);
	for (int i = 0; i < 2; i++) {
		fd_close(&f->near[i]);
		fd_close(&f->far[i]);
	}
	f->loop = loop_free(f->loop);
}

static void turn(struct fixture *f)
{
	assert_true(loop_turn(f->loop, 0) >= 0);
}

static char pattern(uint64_t at)
{
	return (char)(at * 31 + (at >> 9));
}

/* One end of it: writes `total` bytes of the pattern, then says so; reads and checks what comes. */
struct end {
	int fd;
	uint64_t total, wrote, got;
	size_t appetite; /* bytes it reads at a time; 0: none now */
	bool ended; /* the other side has ended */
};

static void end_step(struct end *end)
{
	static char bytes[65536];

	if (end->wrote < end->total) {
		size_t len = end->total - end->wrote < sizeof(bytes) ? (size_t)(end->total - end->wrote) : sizeof(bytes);
		for (size_t i = 0; i < len; i++)
			bytes[i] = pattern(end->wrote + i);
		ssize_t wrote = send(end->fd, bytes, len, MSG_NOSIGNAL);
		end->wrote += wrote > 0 ? (uint64_t)wrote : 0;
		if (end->wrote == end->total)
			(void)shutdown(end->fd, SHUT_WR);
	}
	if (end->appetite == 0)
		return;
	ssize_t got = recv(end->fd, bytes, end->appetite, 0);
	for (ssize_t i = 0; i < got; i++)
		assert_int_equal(bytes[i], pattern(end->got + (uint64_t)i));
	end->got += got > 0 ? (uint64_t)got : 0;
	end->ended = end->ended || got == 0;
}

static void every_byte_arrives_in_order_both_ways(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	begin(&f, NULL, 0, false);
	struct end a = { .fd = f.near[1], .total = MUCH, .appetite = 65536 }, b = { .fd = f.far[1], .total = MUCH + 7, .appetite = 4096 };
	while (!(a.ended && b.ended)) {
		end_step(&a);
		end_step(&b);
		turn(&f);
	}
	turn(&f);
	assert_true(f.over);
	assert_int_equal(b.got, MUCH);
	assert_int_equal(a.got, MUCH + 7);
	assert_int_equal(f.sent, MUCH);
	assert_int_equal(f.received, MUCH + 7);
	end(&f);
}

static void what_waits_for_a_slow_reader_is_bounded(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	begin(&f, NULL, 0, false);
	struct end a = { .fd = f.near[1], .total = MUCH }, b = { .fd = f.far[1] };
	for (int i = 0; i < 2000; i++) {
		end_step(&a);
		turn(&f);
	}
	assert_true(f.sent < MUCH / 2); /* the buffers of two sockets and a pipe, not all of it */
	b.appetite = 65536;
	while (!b.ended) {
		end_step(&a);
		end_step(&b);
		turn(&f);
	}
	assert_int_equal(b.got, MUCH);
	end(&f);
}

static size_t little_room(void *data)
{
	(void)data;
	return LITTLE;
}

static bool passed_little(void *data, size_t sent, size_t received)
{
	assert_true(sent <= 1024 && received <= 1024);
	return on_passed(data, sent, received);
}

static void one_of_many_reads_little_at_a_time(void **state)
{
	struct fixture f = { 0 };
	const struct relay_events events = { passed_little, on_gate, on_over, &f, little_room };

	(void)state;
	begin(&f, NULL, 0, false);
	f.relay = relay_free(f.relay);
	f.gate_left = MUCH; /* with a gate nothing goes through a pipe */
	f.relay = relay_start(f.loop, f.near[0], f.far[0], NULL, 0, &events);
	struct end a = { .fd = f.near[1], .total = 200 * LITTLE }, b = { .fd = f.far[1], .appetite = 65536 };
	while (!b.ended) {
		end_step(&a);
		end_step(&b);
		turn(&f);
	}
	assert_int_equal(b.got, 200 * LITTLE);
	end(&f);
}

static void half_a_connection_may_end_before_the_other(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	begin(&f, NULL, 0, false);
	struct end a = { .fd = f.near[1], .total = LITTLE }, b = { .fd = f.far[1], .appetite = 4096 };
	while (!b.ended) {
		end_step(&a);
		end_step(&b);
		turn(&f);
	}
	assert_false(f.over);
	b.total = MUCH;
	a.appetite = 65536;
	while (!a.ended) {
		end_step(&b);
		end_step(&a);
		turn(&f);
	}
	turn(&f);
	assert_true(f.over);
	assert_int_equal(a.got, MUCH);
	end(&f);
}

static void what_came_before_goes_first(void **state)
{
	struct fixture f = { 0 };
	char first[LITTLE], got[2 * LITTLE];
	size_t len = 0;

	(void)state;
	memset(first, 'a', sizeof(first));
	begin(&f, first, sizeof(first), false);
	assert_int_equal(send(f.near[1], "later", 5, 0), 5);
	for (int i = 0; i < 100 && len < LITTLE + 5; i++) {
		turn(&f);
		ssize_t now = recv(f.far[1], got + len, sizeof(got) - len, 0);
		len += now > 0 ? (size_t)now : 0;
	}
	assert_int_equal(len, LITTLE + 5);
	assert_memory_equal(got, first, LITTLE);
	assert_memory_equal(got + LITTLE, "later", 5);
	assert_int_equal(f.sent, 5); /* what it was given is the caller's to count */
	end(&f);
}

static void nothing_passes_a_closed_gate_and_the_other_side_is_not_told_of_an_end(void **state)
{
	struct fixture f = { .gate_left = 10 };
	char got[64];

	(void)state;
	begin(&f, NULL, 0, true);
	assert_int_equal(send(f.near[1], "0123456789 and more", 19, 0), 19);
	for (int i = 0; i < 20; i++)
		turn(&f);
	assert_int_equal(recv(f.far[1], got, sizeof(got), 0), 10);
	assert_memory_equal(got, "0123456789", 10);
	assert_int_equal(send(f.near[1], "x", 1, MSG_NOSIGNAL), 1);
	for (int i = 0; i < 20; i++)
		turn(&f);
	assert_int_equal(recv(f.far[1], got, sizeof(got), 0), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(send(f.far[1], "answer", 6, 0), 6);
	for (int i = 0; i < 20; i++)
		turn(&f);
	assert_int_equal(recv(f.near[1], got, sizeof(got), 0), 6);
	assert_int_equal(shutdown(f.far[1], SHUT_WR), 0);
	for (int i = 0; i < 20; i++)
		turn(&f);
	assert_true(f.over);
	end(&f);
}

/* Holds everything up to a '.', and writes it in brackets. */
static bool on_answer(void *data, const char *bytes, size_t len, struct buf *out)
{
	struct fixture *f = data;
	const char *dot = len > 0 ? memchr(bytes, '.', len) : NULL;

	assert_false(f->answered);
	if (len > 0)
		buf_add(&f->held, bytes, dot != NULL ? (size_t)(dot - bytes) : len);
	if (dot == NULL && len > 0)
		return true;
	f->answered = true;
	buf_fmt(out, "[%s]%.*s", buf_text(&f->held), dot != NULL ? (int)(len - (size_t)(dot - bytes)) : 0, dot != NULL ? dot : "");
	buf_done(&f->held);
	return false;
}

static void the_beginning_of_an_answer_can_be_changed_and_the_rest_passes(void **state)
{
	static const struct {
		const char *pieces[3], *want;
	} cases[] = {
		{ { "abc", "d.e", "f.g" }, "[abcd].ef.g" },
		{ { "." }, "[]." },
		{ { "abc", "d" }, "[abcd]" }, /* it ended before */
		{ { NULL }, "[]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f = { 0 };
		char got[64] = "";
		begin(&f, NULL, 0, false);
		relay_on_answer(f.relay, on_answer);
		for (size_t j = 0; j < 3 && cases[i].pieces[j] != NULL; j++) {
			assert_true(send(f.far[1], cases[i].pieces[j], strlen(cases[i].pieces[j]), 0) > 0);
			turn(&f);
		}
		assert_int_equal(shutdown(f.far[1], SHUT_WR), 0);
		size_t len = 0;
		for (ssize_t now = -1; now != 0; len += now > 0 ? (size_t)now : 0) {
			turn(&f);
			now = recv(f.near[1], got + len, sizeof(got) - 1 - len, 0);
		}
		assert_string_equal(got, cases[i].want);
		end(&f);
	}
}

static void it_ends_when_it_is_told_to(void **state)
{
	struct fixture f = { .stop_after = 2000000 };

	(void)state;
	begin(&f, NULL, 0, false);
	struct end a = { .fd = f.near[1], .total = MUCH }, b = { .fd = f.far[1], .appetite = 65536 };
	for (int i = 0; i < 5000 && !f.over; i++) {
		end_step(&a);
		end_step(&b);
		turn(&f);
	}
	assert_true(f.over);
	assert_true(f.sent < 2000000 + (2u << 20));
	end(&f);
}

static void a_side_that_vanishes_ends_it(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	begin(&f, NULL, 0, false);
	fd_close(&f.far[1]);
	assert_int_equal(send(f.near[1], "hello", 5, 0), 5);
	fd_close(&f.near[1]);
	for (int i = 0; i < 50 && !f.over; i++)
		turn(&f);
	assert_true(f.over);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_arrives_in_order_both_ways),
		cmocka_unit_test(what_waits_for_a_slow_reader_is_bounded),
		cmocka_unit_test(one_of_many_reads_little_at_a_time),
		cmocka_unit_test(half_a_connection_may_end_before_the_other),
		cmocka_unit_test(what_came_before_goes_first),
		cmocka_unit_test(nothing_passes_a_closed_gate_and_the_other_side_is_not_told_of_an_end),
		cmocka_unit_test(the_beginning_of_an_answer_can_be_changed_and_the_rest_passes),
		cmocka_unit_test(it_ends_when_it_is_told_to),
		cmocka_unit_test(a_side_that_vanishes_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
