#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/wire.h"

static struct wire_reader reader_of(const struct buf *buf)
{
	return (struct wire_reader){.data = buf->data, .len = buf->len};
}

static void what_was_put_comes_back(void **state)
{
	static const char *const list[] = {"a", "", "long enough", NULL};
	own(buf_done) struct buf buf = {0};

	(void)state;
	wire_put_u32(&buf, UINT32_MAX);
	wire_put_u64(&buf, UINT64_C(0x0102030405060708));
	wire_put_str(&buf, "text");
	wire_put_str(&buf, "");
	wire_put_str(&buf, NULL);
	wire_put_list(&buf, list);
	wire_put_list(&buf, NULL);
	struct wire_reader reader = reader_of(&buf);
	assert_int_equal(wire_get_u32(&reader), UINT32_MAX);
	assert_int_equal(wire_get_u64(&reader), UINT64_C(0x0102030405060708));
	assert_string_equal(wire_get_str(&reader), "text");
	assert_string_equal(wire_get_str(&reader), "");
	assert_null(wire_get_str(&reader));
	own(freep) const char **back = wire_get_list(&reader, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(back[i], list[i]);
	assert_null(back[3]);
	own(freep) const char **none = wire_get_list(&reader, 0);
	assert_null(none[0]);
	assert_false(reader.bad);
	assert_int_equal(reader.pos, reader.len);
}

static void numbers_are_little_endian(void **state)
{
	own(buf_done) struct buf buf = {0};

	(void)state;
	wire_put_u32(&buf, 0x01020304);
	wire_put_u64(&buf, 5);
	assert_memory_equal(buf.data, "\x04\x03\x02\x01\x05\0\0\0\0\0\0\0", 12);
}

static void a_message_cut_anywhere_is_bad_and_yields_nothing(void **state)
{
	static const char *const list[] = {"one", "two", NULL};
	own(buf_done) struct buf buf = {0};

	(void)state;
	wire_put_u32(&buf, 7);
	wire_put_str(&buf, "text");
	wire_put_list(&buf, list);
	wire_put_u64(&buf, 9);
	for (size_t len = 0; len < buf.len; len++) {
		/* Its own allocation, so that a byte too far is seen by the sanitizer. */
		own(freep) char *cut = malloc(len ? len : 1);
		memcpy(cut, buf.data, len);
		struct wire_reader reader = {.data = cut, .len = len};
		(void)wire_get_u32(&reader);
		const char *text = wire_get_str(&reader);
		assert_true(!strcmp(text, "text") || !strcmp(text, ""));
		own(freep) const char **back = wire_get_list(&reader, 10);
		assert_non_null(back);
		assert_int_equal(wire_get_u64(&reader), 0);
		assert_true(reader.bad);
		assert_int_equal(wire_get_u32(&reader), 0);
		assert_string_equal(wire_get_str(&reader), "");
	}
}

static void a_string_that_lies_about_itself_is_bad(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{"\x05\0\0\0abcd", 8}, /* past the end */
		{"\xff\xff\xff\xff"
		 "abcd",
			8},
		{"\x04\0\0\0abcd", 8}, /* no NUL */
		{"\x04\0\0\0a\0c\0", 8}, /* one too early */
		{"\x01\0\0\0x", 5},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_reader reader = {.data = cases[i].bytes, .len = cases[i].len};
		assert_string_equal(wire_get_str(&reader), "");
		assert_true(reader.bad);
	}
}

static void a_list_that_lies_about_itself_is_bad_and_empty(void **state)
{
	static const struct {
		const char *bytes;
		size_t len, max;
	} cases[] = {
		{"\xff\xff\xff\xff", 4, SIZE_MAX}, /* a count that would take gigabytes */
		{"\x02\0\0\0\x01\0\0\0\0\x01\0\0\0\0", 14, 1}, /* more than the caller takes */
		{"\x01\0\0\0\0\0\0\0\0", 9, 9}, /* NULL as an entry */
		{"\x02\0\0\0\x01\0\0\0\0\x09\0\0\0\0", 14, 9}, /* the second is cut */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_reader reader = {.data = cases[i].bytes, .len = cases[i].len};
		own(freep) const char **list = wire_get_list(&reader, cases[i].max);
		assert_true(reader.bad);
		assert_null(list[0]);
	}
}

static void pair(int sockets[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
}

static void close_pair(int sockets[2])
{
	fd_close(&sockets[0]);
	fd_close(&sockets[1]);
}

static int open_count(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void descriptors_travel_and_arrive_close_on_exec(void **state)
{
	int sockets[2], fds[WIRE_MAX_FDS], sent[WIRE_MAX_FDS];
	size_t count = 0;
	char data[16];

	(void)state;
	pair(sockets);
	for (size_t i = 0; i < WIRE_MAX_FDS; i++)
		sent[i] = sockets[i % 2];
	assert_int_equal(wire_send(sockets[0], "hello", 5, sent, WIRE_MAX_FDS), 0);
	assert_int_equal(
		wire_recv(sockets[1], data, sizeof(data), fds, WIRE_MAX_FDS, &count, 0), 5);
	assert_memory_equal(data, "hello", 5);
	assert_int_equal(count, WIRE_MAX_FDS);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		fd_close(&fds[i]);
	}
	close_pair(sockets);
}

static void more_descriptors_than_wanted_fail_and_none_leak(void **state)
{
	int sockets[2], fds[2], sent[3];
	size_t count = 99;
	char data[16];

	(void)state;
	pair(sockets);
	sent[0] = sent[1] = sent[2] = sockets[0];
	int before = open_count();
	for (size_t max = 0; max <= 2; max++) {
		assert_int_equal(wire_send(sockets[0], "x", 1, sent, max + 1), 0);
		assert_int_equal(
			wire_recv(sockets[1], data, sizeof(data), fds, max, &count, 0), -1);
		assert_int_equal(errno, EMSGSIZE);
		assert_int_equal(count, 0);
		assert_int_equal(open_count(), before);
	}
	close_pair(sockets);
}

/* A hostile peer need not keep to our WIRE_MAX_FDS. */
static void a_hundred_descriptors_fail_and_none_leak(void **state)
{
	int sockets[2], fds[WIRE_MAX_FDS];
	size_t count;
	union {
		char bytes[CMSG_SPACE(100 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	char data[4] = "x";
	struct iovec iov = {.iov_base = data, .iov_len = 1};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	(void)state;
	*CMSG_FIRSTHDR(&msg) = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(100 * sizeof(int)),
	};
	pair(sockets);
	for (size_t i = 0; i < 100; i++)
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)) + i * sizeof(int), &sockets[0], sizeof(int));
	int before = open_count();
	assert_int_equal(sendmsg(sockets[0], &msg, 0), 1);
	assert_int_equal(
		wire_recv(sockets[1], data, sizeof(data), fds, WIRE_MAX_FDS, &count, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(open_count(), before);
	close_pair(sockets);
}

static void a_message_longer_than_the_buffer_fails_and_closes_its_descriptors(void **state)
{
	int sockets[2], fds[2];
	size_t count = 0;
	char data[4];

	(void)state;
	pair(sockets);
	int before = open_count();
	assert_int_equal(wire_send(sockets[0], "hello", 5, &sockets[0], 1), 0);
	assert_int_equal(wire_recv(sockets[1], data, sizeof(data), fds, 2, &count, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(count, 0);
	assert_int_equal(open_count(), before);
	close_pair(sockets);
}

static void the_end_an_empty_queue_and_a_closed_peer_are_told_apart(void **state)
{
	int sockets[2];
	char data[4];

	(void)state;
	pair(sockets);
	assert_int_equal(
		wire_recv(sockets[1], data, sizeof(data), NULL, 0, NULL, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	fd_close(&sockets[0]);
	assert_int_equal(wire_recv(sockets[1], data, sizeof(data), NULL, 0, NULL, 0), 0);
	assert_int_equal(wire_send(sockets[1], "x", 1, NULL, 0), -1); /* and no SIGPIPE */
	assert_int_equal(errno, EPIPE);
	close_pair(sockets);
}

static void what_could_not_be_received_is_not_sent(void **state)
{
	int sockets[2], fds[WIRE_MAX_FDS + 1] = {0};

	(void)state;
	pair(sockets);
	assert_int_equal(wire_send(sockets[0], "", 0, NULL, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(wire_send(sockets[0], "x", 1, fds, WIRE_MAX_FDS + 1), -1);
	assert_int_equal(errno, EINVAL);
	close_pair(sockets);
}

static void a_memory_file_carries_any_size_and_cannot_be_changed(void **state)
{
	static const size_t sizes[] = {0, 1, 16384, 16385, 5000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		own(buf_done) struct buf buf = {0};
		own(buf_done) struct buf back = {0};
		struct err err = {0};
		for (size_t at = 0; at < sizes[i]; at++)
			buf_char(&buf, (char)(at * 31 >> 3));
		own(fd_closep) int fd = wire_to_memfd(&buf, &err);
		assert_true(fd >= 0);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		assert_int_equal(pwrite(fd, "x", 1, 0), -1);
		assert_int_equal(ftruncate(fd, (off_t)sizes[i] + 1), -1);
		assert_int_equal(wire_from_memfd(fd, sizes[i], &back, &err), 0);
		assert_int_equal(back.len, sizes[i]);
		if (sizes[i])
			assert_memory_equal(back.data, buf.data, sizes[i]);
		if (sizes[i]) {
			assert_int_equal(wire_from_memfd(fd, sizes[i] - 1, &back, &err), -1);
			assert_int_equal(err.code, ERR_LIMIT);
		}
	}
}

static void only_a_regular_file_is_read_as_a_message(void **state)
{
	int pipes[2];
	own(buf_done) struct buf back = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(wire_from_memfd(pipes[0], 100, &back, &err), -1);
	assert_int_equal(wire_from_memfd(-1, 100, &back, &err), -1);
	assert_int_equal(err.code, EBADF);
	close_pair(pipes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_comes_back),
		cmocka_unit_test(numbers_are_little_endian),
		cmocka_unit_test(a_message_cut_anywhere_is_bad_and_yields_nothing),
		cmocka_unit_test(a_string_that_lies_about_itself_is_bad),
		cmocka_unit_test(a_list_that_lies_about_itself_is_bad_and_empty),
		cmocka_unit_test(descriptors_travel_and_arrive_close_on_exec),
		cmocka_unit_test(more_descriptors_than_wanted_fail_and_none_leak),
		cmocka_unit_test(a_hundred_descriptors_fail_and_none_leak),
		cmocka_unit_test(a_message_longer_than_the_buffer_fails_and_closes_its_descriptors),
		cmocka_unit_test(the_end_an_empty_queue_and_a_closed_peer_are_told_apart),
		cmocka_unit_test(what_could_not_be_received_is_not_sent),
		cmocka_unit_test(a_memory_file_carries_any_size_and_cannot_be_changed),
		cmocka_unit_test(only_a_regular_file_is_read_as_a_message),
	};
	return cmocka_run_group_tests_name("base wire", tests, NULL, NULL);
}
