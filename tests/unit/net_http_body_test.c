#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "net/http.h"

static void assert_span(struct span got, const char *expected)
{
	assert_int_equal(got.len, strlen(expected));
	assert_memory_equal(got.at, expected, got.len);
}

/* Feeds all bytes in pieces of `step`; returns how many were used up. */
static size_t feed(struct http_body *body, const char *bytes, size_t len, size_t step, struct buf *out)
{
	size_t used = 0, given = 0;

	while (given < len && !body->done && !body->bad) {
		given = len - given < step ? len : given + step;
		for (size_t took = 1; took && used < given;) {
			struct span data;
			took = http_body_take(body, bytes + used, given - used, &data);
			used += took;
			buf_add(out, data.at, data.len);
		}
	}
	return used;
}

struct chunks {
	const char *bytes, *body;
	bool done, bad;
	size_t left; /* bytes that are not the body's any more; of those that end well */
};

static const struct chunks chunks[] = {
	{"5\r\nhello\r\n0\r\n\r\n", "hello", true, false, 0},
	{"5\r\nhello\r\n1\r\n!\r\n000\r\n\r\nGET", "hello!", true, false, 3},
	{"a;name=value; b=\"c\"\r\n0123456789\r\nA\r\n0123456789\r\n0;x\r\n\r\n", "01234567890123456789", true, false, 0},
	{"0000000000000005\r\nhello\r\n0\r\n\r\n", "hello", true, false, 0},
	{"1\r\nx\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", "x", true, false, 0},
	{"0\r\n\r\n\r\n", "", true, false, 2},
	{"5\r\nhel", "hel", false, false, 0},
	{"5\r\nhello\r\n0\r\n", "hello", false, false, 0},
	{"ffffffffffffffff\r\nx", "x", false, false, 0},
	{"00000000000000005\r\nhello\r\n0\r\n\r\n", "", false, true, 0},
	{"10000000000000000\r\n", "", false, true, 0},
	{"+5\r\nhello\r\n", "", false, true, 0},
	{"-1\r\n", "", false, true, 0},
	{"0x5\r\nhello\r\n", "", false, true, 0},
	{" 5\r\nhello\r\n", "", false, true, 0},
	{"5 \r\nhello\r\n", "", false, true, 0},
	{"5\t;x\r\nhello\r\n", "", false, true, 0},
	{"5_0\r\nhello\r\n", "", false, true, 0},
	{"\r\n", "", false, true, 0},
	{";x\r\n", "", false, true, 0},
	{"5\nhello\r\n", "", false, true, 0},
	{"5\r\r\nhello\r\n", "", false, true, 0},
	{"5\rhello\r\n", "", false, true, 0},
	{"5;x\nhello\r\n", "", false, true, 0},
	{"5;x\ry\r\nhello\r\n", "", false, true, 0},
	{"5;\x01\r\nhello\r\n", "", false, true, 0},
	{"5\r\nhello0\r\n\r\n", "hello", false, true, 0},
	{"5\r\nhello\n0\r\n\r\n", "hello", false, true, 0},
	{"5\r\nhello\rx0\r\n\r\n", "hello", false, true, 0},
	{"0\r\n\n", "", false, true, 0},
	{"0\r\n\rx", "", false, true, 0},
	{"0\r\nGET / HTTP/1.1\r\n\r\n", "", false, true, 0},
	{"0\r\n folded\r\n\r\n", "", false, true, 0},
	{"0\r\n: x\r\n\r\n", "", false, true, 0},
	{"0\r\nX : y\r\n\r\n", "", false, true, 0},
	{"0\r\nX: y\nZ: a\r\n\r\n", "", false, true, 0},
	{"0\r\nX: y\r\rZ: a\r\n\r\n", "", false, true, 0},
	{"0\r\nX: \x7f\r\n\r\n", "", false, true, 0},
};

static void chunks_are_read_the_same_however_they_are_split(void **state)
{
	static const struct http_head head = {.framing = FRAME_CHUNKED};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		size_t len = strlen(chunks[i].bytes);
		for (size_t step = 1; step <= len; step++) {
			own(buf_done) struct buf out = {0};
			struct http_body body;
			http_body_init(&body, &head);
			size_t used = feed(&body, chunks[i].bytes, len, step, &out);
			assert_string_equal(buf_text(&out), chunks[i].body);
			assert_int_equal(body.done, chunks[i].done);
			assert_int_equal(body.bad, chunks[i].bad);
			if (!chunks[i].bad)
				assert_int_equal(len - used, chunks[i].left);
			http_body_end(&body);
			assert_int_equal(body.done, chunks[i].done);
			assert_int_equal(body.bad, !chunks[i].done);
		}
	}
}

/* Whether START, `count` times FILL and END are a body. */
static bool chunked_ok(const char *start, char fill, size_t count, const char *end)
{
	static const struct http_head head = {.framing = FRAME_CHUNKED};
	own(buf_done) struct buf text = {0};
	own(buf_done) struct buf out = {0};
	struct http_body body;

	buf_str(&text, start);
	for (size_t i = 0; i < count; i++)
		buf_char(&text, fill);
	buf_str(&text, end);
	http_body_init(&body, &head);
	(void)feed(&body, text.data, text.len, text.len, &out);
	assert_true(body.done != body.bad);
	return body.done;
}

static void extensions_and_trailers_are_bounded(void **state)
{
	(void)state;
	assert_true(chunked_ok("0;", 'x', 256 - 2, "\r\n\r\n"));
	assert_false(chunked_ok("0;", 'x', 256 - 1, "\r\n\r\n"));
	assert_true(chunked_ok("0\r\nX:", 'x', 8192 - 6, "\r\n\r\n"));
	assert_false(chunked_ok("0\r\nX:", 'x', 8192 - 5, "\r\n\r\n"));
	assert_false(chunked_ok("0\r\nX:y\r\nX:", 'x', 8192 - 6, "\r\n\r\n")); /* all of them together */
}

static void a_body_with_a_length_ends_after_it(void **state)
{
	static const struct http_head head = {.framing = FRAME_LENGTH, .length = 5};
	own(buf_done) struct buf out = {0};
	struct http_body body;
	struct span data;

	(void)state;
	http_body_init(&body, &head);
	assert_int_equal(http_body_take(&body, "hel", 3, &data), 3);
	assert_false(body.done);
	assert_int_equal(http_body_take(&body, "loGET", 5, &data), 2);
	assert_span(data, "lo");
	assert_true(body.done);
	assert_int_equal(http_body_take(&body, "GET", 3, &data), 0);
	assert_int_equal(data.len, 0);
	http_body_end(&body);
	assert_true(body.done && !body.bad);

	http_body_init(&body, &head);
	assert_int_equal(feed(&body, "hell", 4, 4, &out), 4);
	http_body_end(&body);
	assert_true(body.bad && !body.done);
}

static void a_body_without_end_ends_with_the_connection(void **state)
{
	static const struct http_head head = {.framing = FRAME_CLOSE};
	struct http_body body;
	struct span data;

	(void)state;
	http_body_init(&body, &head);
	assert_int_equal(http_body_take(&body, "hello", 5, &data), 5);
	assert_span(data, "hello");
	assert_false(body.done);
	http_body_end(&body);
	assert_true(body.done && !body.bad);
}

static void no_body_is_done_at_once(void **state)
{
	static const struct http_head heads[] = {{.framing = FRAME_NONE}, {.framing = FRAME_LENGTH, .length = 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct http_body body;
		struct span data;
		http_body_init(&body, &heads[i]);
		assert_true(body.done && !body.bad);
		assert_int_equal(http_body_take(&body, "GET", 3, &data), 0);
		http_body_end(&body);
		assert_true(body.done && !body.bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_read_the_same_however_they_are_split),
		cmocka_unit_test(extensions_and_trailers_are_bounded),
		cmocka_unit_test(a_body_with_a_length_ends_after_it),
		cmocka_unit_test(a_body_without_end_ends_with_the_connection),
		cmocka_unit_test(no_body_is_done_at_once),
	};
	return cmocka_run_group_tests_name("door http body", tests, NULL, NULL);
}
