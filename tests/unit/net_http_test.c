#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "net/http.h"

#define HOST "Host: a.example\r\n"

static struct span span(const char *text)
{
	return (struct span){text, strlen(text)};
}

static void assert_span(struct span got, const char *expected)
{
	assert_int_equal(got.len, strlen(expected));
	assert_memory_equal(got.at, expected, got.len);
}

static enum http_read read_text(const char *text, struct http_head *ret)
{
	return http_read_request(text, strlen(text), ret);
}

/* ---- heads ---- */

static void a_request_is_read_without_its_blanks(void **state)
{
	static const char text[] = "POST http://a.example/x?y HTTP/1.1\r\nHost: a.example:80\r\n"
				   "X-Empty:\r\nX-Blanks: \t two words \t \r\nContent-Length: 12\r\n\r\nbody";
	struct http_head head;

	(void)state;
	assert_int_equal(read_text(text, &head), HTTP_DONE);
	assert_span(head.method, "POST");
	assert_span(head.target, "http://a.example/x?y");
	assert_int_equal(head.minor, 1);
	assert_int_equal(head.field_count, 4);
	assert_span(http_field(&head, "HOST")->value, "a.example:80");
	assert_span(http_field(&head, "x-empty")->value, "");
	assert_span(http_field(&head, "x-blanks")->value, "two words");
	assert_null(http_field(&head, "x-missing"));
	assert_int_equal(head.size, sizeof(text) - 1 - strlen("body"));
	assert_int_equal(head.framing, FRAME_LENGTH);
	assert_int_equal(head.length, 12);
	assert_false(head.close);
	assert_string_equal(head.why, "");
}

static void what_clients_really_send_is_taken(void **state)
{
	static const char *const heads[] = {
		"GET / HTTP/1.1\r\n" HOST "\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nUser-Agent: curl/8\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.0\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
		"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n", /* refused by the rules, not here */
		"OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
		"GET HTTP://a.example HTTP/1.1\r\n" HOST "\r\n",
		"M-SEARCH /a|b\"{} HTTP/1.1\r\nHost:\r\n\r\n",
		"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:Chunked  \r\n\r\n",
		"GET / HTTP/1.1\r\n" HOST "X-Name: caf\xe9\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct http_head head;
		assert_int_equal(read_text(heads[i], &head), HTTP_DONE);
		assert_int_equal(head.size, strlen(heads[i]));
	}
}

#define START "POST / HTTP/1.1\r\n" HOST

/* What is wrong, and requests of which nothing else is. */
static const struct {
	const char *why;
	const char *heads[20];
} refused[] = {
	{"Content-Length beside Transfer-Encoding",
		{
			START "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
			START "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		}},
	{"two Content-Length, Transfer-Encoding or Host",
		{
			START "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
			START "Content-Length: 5\r\ncontent-length: 5\r\n\r\n",
			START "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
			START "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
			START HOST "\r\n",
			"GET / HTTP/1.0\r\n" HOST HOST "\r\n",
		}},
	{"a Content-Length that is no number",
		{
			START "Content-Length: +5\r\n\r\n",
			START "Content-Length: -5\r\n\r\n",
			START "Content-Length: 5 5\r\n\r\n",
			START "Content-Length: 5, 5\r\n\r\n",
			START "Content-Length: 5;\r\n\r\n",
			START "Content-Length: 0x5\r\n\r\n",
			START "Content-Length: 05\r\n\r\n",
			START "Content-Length: 5.0\r\n\r\n",
			START "Content-Length:\r\n\r\n",
			START "Content-Length: \"5\"\r\n\r\n",
			START "Content-Length: 9999999999999999999\r\n\r\n",
			START "Content-Length: 18446744073709551621\r\n\r\n",
		}},
	{"a tab beside what delimits the message",
		{
			START "Content-Length:\t5\r\n\r\n",
			START "Transfer-Encoding:\tchunked\r\n\r\n",
			START "Transfer-Encoding: chunked\t\r\n\r\n",
		}},
	{"a field that only looks like one that delimits messages",
		{
			START "Content_Length: 5\r\n\r\n",
			START "Transfer_Encoding: chunked\r\n\r\n",
		}},
	{"a Transfer-Encoding other than chunked",
		{
			START "Transfer-Encoding: chunked, identity\r\n\r\n",
			START "Transfer-Encoding: identity, chunked\r\n\r\n",
			START "Transfer-Encoding: gzip, chunked\r\n\r\n",
			START "Transfer-Encoding: chunked, chunked\r\n\r\n",
			START "Transfer-Encoding: identity\r\n\r\n",
			START "Transfer-Encoding: xchunked\r\n\r\n",
			START "Transfer-Encoding: chunkedx\r\n\r\n",
			START "Transfer-Encoding: chunked;q=1\r\n\r\n",
			START "Transfer-Encoding: \"chunked\"\r\n\r\n",
			START "Transfer-Encoding: ,chunked\r\n\r\n",
			START "Transfer-Encoding: \xa0"
				"chunked\r\n\r\n",
			START "Transfer-Encoding:\r\n\r\n",
		}},
	{"a control byte in the head",
		{
			START "Transfer-Encoding: \x0b"
				"chunked\r\n\r\n",
			START "X: a\x7f\r\n\r\n",
			START "X: \x1b[31m\r\n\r\n",
			"GET /\x01 HTTP/1.1\r\n" HOST "\r\n",
			"\x16\x03\x01\x02",
		}},
	{"a folded line",
		{
			START "Transfer-Encoding:\r\n chunked\r\n\r\n",
			START " Transfer-Encoding: chunked\r\n\r\n",
			START "X: a\r\n folded\r\n\r\n",
			START "X: a\r\n\tfolded\r\n\r\n",
			"GET / HTTP/1.1\r\n " HOST "\r\n",
		}},
	{"a field name that is none",
		{
			START "Transfer-Encoding : chunked\r\n\r\n",
			START "X : a\r\n\r\n",
			START "X\t: a\r\n\r\n",
			START ": a\r\n\r\n",
			START "X(: a\r\n\r\n",
			START "X\xe9: a\r\n\r\n",
		}},
	{"chunks in HTTP/1.0",
		{
			"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		}},
	{"Connection names a field that delimits messages",
		{
			START "Connection: close, Content-Length\r\nContent-Length: 5\r\n\r\n",
			START "Connection: transfer-encoding\r\n\r\n",
			START "Connection: host\r\n\r\n",
		}},
	{"a line feed without a carriage return",
		{
			START "X: a\nY: b\r\n\r\n",
			START "X: a\n\n",
			"GET / HTTP/1.1\n" HOST "\r\n",
		}},
	{"a carriage return without a line feed",
		{
			START "X: a\rY: b\r\n\r\n",
			START "X: a\r\r\n\r\n",
			START "\r\r\n",
		}},
	{"a line without a colon",
		{
			START "X\r\n\r\n",
		}},
	{"a method that is none",
		{
			"\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
			"G(T / HTTP/1.1\r\n" HOST "\r\n",
			" GET / HTTP/1.1\r\n" HOST "\r\n",
			"GET\t/ HTTP/1.1\r\n" HOST "\r\n",
		}},
	{"no Host",
		{
			"GET / HTTP/1.1\r\n\r\n",
		}},
	{"a Host that is none",
		{
			"GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a.example b.example\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: u@a.example\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a.example/x\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a%2eexample\r\n\r\n",
		}},
	{"a method in lower case",
		{
			"get / HTTP/1.1\r\n" HOST "\r\n",
			"Connect a.example:443 HTTP/1.1\r\n" HOST "\r\n",
			"SSH-2.0-OpenSSH_9.2\r\n",
		}},
	{"a target that is empty, or has bytes that none has",
		{
			"GET  / HTTP/1.1\r\n" HOST "\r\n",
			"GET /\tx HTTP/1.1\r\n" HOST "\r\n",
			"GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n",
		}},
	{"neither HTTP/1.0 nor HTTP/1.1",
		{
			"GET /  HTTP/1.1\r\n" HOST "\r\n",
			"GET / x HTTP/1.1\r\n" HOST "\r\n",
			"GET /\r\n" HOST "\r\n",
			"GET / \r\n" HOST "\r\n",
			"GET / HTTP/1.1 \r\n" HOST "\r\n",
			"GET / http/1.1\r\n" HOST "\r\n",
			"GET / HTTP/1.2\r\n" HOST "\r\n",
			"GET / HTTP/0.9\r\n" HOST "\r\n",
			"GET / HTTP/1.10\r\n" HOST "\r\n",
			"GET / HTTP/2.0\r\n" HOST "\r\n",
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		}},
	{"a target that does not fit the method",
		{
			"GET /#x HTTP/1.1\r\n" HOST "\r\n",
			"GET http://a.example/#x HTTP/1.1\r\n" HOST "\r\n",
			"GET http://u@a.example/ HTTP/1.1\r\n" HOST "\r\n",
			"GET http://u:p@a.example/ HTTP/1.1\r\n" HOST "\r\n",
			"GET http://a.example?x HTTP/1.1\r\n" HOST "\r\n",
			"GET http:/// HTTP/1.1\r\n" HOST "\r\n",
			"GET https://a.example/ HTTP/1.1\r\n" HOST "\r\n",
			"GET a.example HTTP/1.1\r\n" HOST "\r\n",
			"GET * HTTP/1.1\r\n" HOST "\r\n",
			"CONNECT / HTTP/1.1\r\n" HOST "\r\n",
			"CONNECT a.example HTTP/1.1\r\n" HOST "\r\n",
			"CONNECT http://a.example:443/ HTTP/1.1\r\n" HOST "\r\n",
		}},
	{"a request without a target",
		{
			"GET\r\n" HOST "\r\n",
		}},
	{"CONNECT with a body",
		{
			"CONNECT a.example:443 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n",
			"CONNECT a.example:443 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
		}},
};

static void what_two_readers_could_understand_differently_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		for (const char *const *text = refused[i].heads; *text; text++) {
			struct http_head head;
			if (read_text(*text, &head) != HTTP_BAD)
				fail_msg("taken: %s", *text);
			assert_string_equal(head.why, refused[i].why);
		}
}

static void a_nul_byte_is_refused_wherever_it_is(void **state)
{
	static const char text[] = "GET /ab HTTP/1.1\r\nHost: a.example\r\nX-Name: value\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char bytes[sizeof(text)];
		struct http_head head;
		memcpy(bytes, text, sizeof(text));
		bytes[i] = '\0';
		assert_int_equal(http_read_request(bytes, sizeof(text) - 1, &head), HTTP_BAD);
	}
}

static void a_head_in_pieces_is_judged_as_it_is_whole(void **state)
{
	static const char *const heads[] = {
		"GET / HTTP/1.1\r\n" HOST "X: y\r\n\r\n",
		START "X: a\r\n folded\r\n\r\n",
		START "X: a\nY: b\r\n\r\n",
		START "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct http_head head;
		enum http_read whole = read_text(heads[i], &head), last = HTTP_MORE;
		for (size_t len = 0; len <= strlen(heads[i]); len++) {
			enum http_read read = http_read_request(heads[i], len, &head);
			assert_true(read == whole || (read == HTTP_MORE && last == HTTP_MORE));
			last = read;
		}
		assert_int_equal(last, whole);
	}
}

/* A head of exactly `size` bytes. */
static void head_of(struct buf *ret, const char *start, size_t size)
{
	buf_str(ret, start);
	buf_str(ret, "X: ");
	while (ret->len < size - 4)
		buf_char(ret, 'x');
	buf_str(ret, "\r\n\r\n");
}

static void a_head_longer_than_its_maximum_is_too_large(void **state)
{
	struct http_head head;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		own(buf_done) struct buf request = {0};
		own(buf_done) struct buf response = {0};
		head_of(&request, START, HTTP_HEAD_MAX + more);
		head_of(&response, "HTTP/1.1 200 OK\r\n", HTTP_ANSWER_MAX + more);
		enum http_read expected = more ? HTTP_LARGE : HTTP_DONE;
		assert_int_equal(http_read_request(request.data, request.len, &head), expected);
		assert_int_equal(http_read_request(request.data, HTTP_HEAD_MAX - 1, &head), HTTP_MORE);
		assert_int_equal(http_read_response(response.data, response.len, false, &head), expected);
		assert_int_equal(http_read_response(response.data, HTTP_ANSWER_MAX - 1, false, &head), HTTP_MORE);
	}
}

static void more_fields_than_the_maximum_are_too_large(void **state)
{
	own(buf_done) struct buf text = {0};
	struct http_head head;

	(void)state;
	buf_str(&text, "GET / HTTP/1.0\r\n");
	for (size_t i = 0; i < HTTP_FIELDS_MAX; i++)
		buf_str(&text, "X: y\r\n");
	size_t len = text.len;
	buf_str(&text, "\r\n");
	assert_int_equal(http_read_request(text.data, text.len, &head), HTTP_DONE);
	assert_int_equal(head.field_count, HTTP_FIELDS_MAX);
	text.len = len;
	buf_str(&text, "X: y\r\n");
	assert_int_equal(http_read_request(text.data, text.len, &head), HTTP_LARGE);
}

static void a_response_says_how_its_body_ends(void **state)
{
	static const struct {
		const char *text;
		bool asked_head;
		enum http_framing framing;
		unsigned status;
		bool close;
		uint64_t length;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\n\r\n", false, FRAME_CLOSE, 200, true, 0},
		{"HTTP/1.1 200 OK\r\n\r\n", true, FRAME_NONE, 200, false, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", false, FRAME_LENGTH, 200, false, 7},
		{"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true, FRAME_NONE, 200, false, 0},
		{"HTTP/1.1 200\r\nContent-Length: 999999999999999999\r\n\r\n", false, FRAME_LENGTH, 200, false,
			UINT64_C(999999999999999999)},
		{"HTTP/1.1 404 \r\nTransfer-Encoding: chunked\r\n\r\n", false, FRAME_CHUNKED, 404, false, 0},
		{"HTTP/1.1 404 Not\t Found\r\nTransfer-Encoding: chunked\r\n\r\n", true, FRAME_NONE, 404, false, 0},
		{"HTTP/1.1 100 Continue\r\n\r\n", false, FRAME_NONE, 100, false, 0},
		{"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", false, FRAME_NONE, 103, false, 0},
		{"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", false, FRAME_NONE, 204, false, 0},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", false, FRAME_NONE, 304, false, 0},
		{"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n", false, FRAME_LENGTH, 200, true, 7},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct http_head head;
		assert_int_equal(http_read_response(cases[i].text, strlen(cases[i].text), cases[i].asked_head, &head),
			HTTP_DONE);
		assert_int_equal(head.framing, cases[i].framing);
		assert_int_equal(head.status, cases[i].status);
		assert_int_equal(head.close, cases[i].close);
		assert_int_equal(head.length, cases[i].length);
		assert_int_equal(head.size, strlen(cases[i].text));
	}
}

static void an_informational_head_ends_before_the_answer_itself(void **state)
{
	static const char first[] = "HTTP/1.1 100 Continue\r\n\r\n";
	static const char both[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\n\r\n";
	struct http_head head;

	(void)state;
	assert_int_equal(http_read_response(both, strlen(both), false, &head), HTTP_DONE);
	assert_int_equal(head.size, strlen(first));
	assert_int_equal(http_read_response(both + head.size, strlen(both) - head.size, false, &head), HTTP_DONE);
	assert_int_equal(head.status, 200);
	assert_span(head.reason, "Fine");
}

static void odd_responses_are_refused(void **state)
{
	static const char *const heads[] = {
		"HTTP/1.1\r\n\r\n",
		"HTTP/1.1 \r\n\r\n",
		"HTTP/1.1 20\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1 +20 OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/1.1\t200 OK\r\n\r\n",
		"HTTP/1.1 200\tOK\r\n\r\n",
		"HTTP/2 200 OK\r\n\r\n",
		"http/1.1 200 OK\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
		"<html>\r\n",
		"HTTP/1.1 200 OK\nX: y\n\n",
		"HTTP/1.1 200 O\x01K\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct http_head head;
		if (http_read_response(heads[i], strlen(heads[i]), false, &head) != HTTP_BAD)
			fail_msg("taken: %s", heads[i]);
	}
}

static void a_connection_is_kept_as_both_versions_say(void **state)
{
	static const struct {
		const char *text;
		bool close;
	} cases[] = {
		{"GET / HTTP/1.1\r\n" HOST "\r\n", false},
		{"GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\n" HOST "Connection: x, Close ,y\r\n\r\n", true},
		{"GET / HTTP/1.1\r\n" HOST "Connection: x\r\nConnection: close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n", false},
		{"GET / HTTP/1.1\r\n" HOST "Connection: close, keep-alive\r\n\r\n", true},
		{"GET / HTTP/1.0\r\n\r\n", true},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: ,keep-alive,\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", true},
		{"GET / HTTP/1.0\r\nKeep-Alive: 5\r\n\r\n", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct http_head head;
		assert_int_equal(read_text(cases[i].text, &head), HTTP_DONE);
		assert_int_equal(head.close, cases[i].close);
	}
}

static void fields_of_one_connection_are_told_from_the_others(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\n" HOST
				   "Connection: X-Mine, close\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\n"
				   "proxy-authorization: x\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\n"
				   "x-mine: y\r\nX-Mine-Too: y\r\nProxy: x\r\nAccept: */*\r\n\r\n";
	static const bool expected[] = {false, true, true, true, true, true, true, true, true, false, false, false};
	struct http_head head;

	(void)state;
	assert_int_equal(read_text(text, &head), HTTP_DONE);
	assert_int_equal(head.field_count, ARRAY_LEN(expected));
	for (size_t i = 0; i < head.field_count; i++)
		assert_int_equal(http_is_hop(&head, &head.fields[i]), expected[i]);
}

/* ---- targets ---- */

static void an_authority_is_a_host_and_a_port(void **state)
{
	static const struct {
		const char *text, *host; /* NULL: none */
		unsigned port;
	} cases[] = {
		{"a.example:443", "a.example", 443},
		{"[::1]:443", "[::1]", 443},
		{"u@a.example:443", "u@a.example", 443},
		{"a:0", "a", 0},
		{"a:65535", "a", 65535},
		{"a:99999", "a", 99999},
		{"a:", "a", 65536},
		{"a:100000", "a", 65536},
		{"a:4294967739", "a", 65536},
		{"a:0443", "a", 65536},
		{"a:+443", "a", 65536},
		{"a:http", "a", 65536},
		{"a:44 3", "a", 65536},
		{"", NULL, 0},
		{"a", NULL, 0},
		{":443", NULL, 0},
		{"a:1:2", NULL, 0},
		{"u:p@a:443", NULL, 0},
		{"::1:443", NULL, 0},
		{"[::1]", NULL, 0},
		{"[::1:443", NULL, 0},
		{"[", NULL, 0},
		{"[::1]443", NULL, 0},
		{"[::1]x:443", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct span host;
		unsigned port;
		bool ok = http_authority(span(cases[i].text), &host, &port);
		assert_int_equal(ok, cases[i].host != NULL);
		if (!ok)
			continue;
		assert_span(host, cases[i].host);
		if (cases[i].port <= 65535)
			assert_int_equal(port, cases[i].port);
		else
			assert_true(port > 65535);
	}
}

static void an_absolute_target_is_a_host_a_port_and_a_path(void **state)
{
	static const struct {
		const char *text, *host; /* NULL: none */
		unsigned port;
		const char *path;
	} cases[] = {
		{"http://a.example/x?y=/@:", "a.example", 80, "/x?y=/@:"},
		{"HTTP://A.example:8080", "A.example", 8080, "/"},
		{"http://a/", "a", 80, "/"},
		{"http://a//b", "a", 80, "//b"},
		{"http://[::1]:80/x", "[::1]", 80, "/x"},
		{"http://[::1]/x", "[::1]", 80, "/x"},
		{"http://a\\b/x", "a\\b", 80, "/x"},
		{"http://", NULL, 0, NULL},
		{"http:///x", NULL, 0, NULL},
		{"http://:80/x", NULL, 0, NULL},
		{"http:/a/x", NULL, 0, NULL},
		{"https://a/x", NULL, 0, NULL},
		{"ftp://a/x", NULL, 0, NULL},
		{"/x", NULL, 0, NULL},
		{"", NULL, 0, NULL},
		{"http://u@a/x", NULL, 0, NULL},
		{"http://u:p@a/x", NULL, 0, NULL},
		{"http://a/x#y", NULL, 0, NULL},
		{"http://a#y", NULL, 0, NULL},
		{"http://a?y", NULL, 0, NULL},
		{"http://a?y/", NULL, 0, NULL},
		{"http://a/ x", NULL, 0, NULL},
		{"http://a/\x01", NULL, 0, NULL},
		{"http://a:1:2/", NULL, 0, NULL},
	};
	struct span host, path;
	unsigned port;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(http_absolute(span(cases[i].text), &host, &port, &path), cases[i].host != NULL);
		if (!cases[i].host)
			continue;
		assert_span(host, cases[i].host);
		assert_int_equal(port, cases[i].port);
		assert_span(path, cases[i].path);
	}
	assert_true(http_absolute(span("http://a:/x"), &host, &port, &path));
	assert_true(port > 65535);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_read_without_its_blanks),
		cmocka_unit_test(what_clients_really_send_is_taken),
		cmocka_unit_test(what_two_readers_could_understand_differently_is_refused),
		cmocka_unit_test(a_nul_byte_is_refused_wherever_it_is),
		cmocka_unit_test(a_head_in_pieces_is_judged_as_it_is_whole),
		cmocka_unit_test(a_head_longer_than_its_maximum_is_too_large),
		cmocka_unit_test(more_fields_than_the_maximum_are_too_large),
		cmocka_unit_test(a_response_says_how_its_body_ends),
		cmocka_unit_test(an_informational_head_ends_before_the_answer_itself),
		cmocka_unit_test(odd_responses_are_refused),
		cmocka_unit_test(a_connection_is_kept_as_both_versions_say),
		cmocka_unit_test(fields_of_one_connection_are_told_from_the_others),
		cmocka_unit_test(an_authority_is_a_host_and_a_port),
		cmocka_unit_test(an_absolute_target_is_a_host_a_port_and_a_path),
	};
	return cmocka_run_group_tests_name("door http", tests, NULL, NULL);
}
