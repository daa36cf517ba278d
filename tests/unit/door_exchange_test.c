#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "door/policy/exchange.h"

static void set(struct exchange *exchange, const char *path, const char *request, const char *body)
{
	*exchange = (struct exchange){.door = xstrdup("anthropic"), .method = xstrdup("POST"), .path = xstrdup(path),
		.status = 200};
	buf_str(&exchange->request_fields, "Content-Type: application/json\r\n");
	buf_str(&exchange->request, request);
	buf_str(&exchange->fields, "content-type: text/event-stream\r\n");
	buf_str(&exchange->body, body);
	exchange->pieces = xcalloc(1, sizeof(*exchange->pieces));
	exchange->pieces[0] = (struct exchange_piece){.len = (uint32_t)strlen(body), .delay_ms = 12};
	exchange->piece_count = 1;
}

static void an_exchange_is_a_line_of_json(void **state)
{
	own(exchange_done) struct exchange exchange = {0};
	own(buf_done) struct buf line = {0};

	(void)state;
	set(&exchange, "/v1/messages", "{\"a\":1}\n", "data: \xc3\xa9\n\n");
	exchange_write(&exchange, &line);
	assert_string_equal(buf_text(&line),
		"{\"door\":\"anthropic\",\"method\":\"POST\",\"path\":\"/v1/messages\",\"request\":{\"headers\":"
		"{\"Content-Type\":\"application/json\"},\"body\":\"{\\\"a\\\":1}\\n\"},\"status\":200,\"headers\":"
		"{\"content-type\":\"text/event-stream\"},\"body\":\"data: \xc3\xa9\\n\\n\",\"delays_ms\":[12],\"pieces\":[10]}\n");
}

static void compare(const struct exchange *a, const struct exchange *b)
{
	const struct buf *first[] = {&a->request_fields, &a->request, &a->fields, &a->body};
	const struct buf *second[] = {&b->request_fields, &b->request, &b->fields, &b->body};

	assert_string_equal(a->door, b->door);
	assert_string_equal(a->method, b->method);
	assert_string_equal(a->path, b->path);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->cut, b->cut);
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		assert_int_equal(first[i]->len, second[i]->len);
		assert_memory_equal(buf_text(first[i]), buf_text(second[i]), first[i]->len);
	}
	assert_int_equal(a->piece_count, b->piece_count);
	if (a->piece_count)
		assert_memory_equal(a->pieces, b->pieces, a->piece_count * sizeof(*a->pieces));
}

static void what_was_written_is_read_back(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bodies[] = {
		{"", 0}, {"text", 4}, {"a\0b", 3}, {"\xff\xfe", 2}, {"\x01\x1f\x7f\"\\\r\n", 7}, {"\xf0\x9f\x98\x80", 4},
		{"\xed\xa0\x80", 3}, {"{\"base64\":\"x\"}", 14},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		own(exchange_done) struct exchange exchange = {0}, again = {0};
		own(buf_done) struct buf line = {0};
		struct err err = {0};
		set(&exchange, "/", "", "");
		buf_add(&exchange.request, bodies[i].bytes, bodies[i].len);
		buf_add(&exchange.body, bodies[i].bytes, bodies[i].len);
		exchange.pieces[0].len = (uint32_t)bodies[i].len;
		buf_str(&exchange.fields, "set-cookie: a=1\r\nset-cookie: b=\xff\r\nempty: \r\nx: a: b\tc\r\n");
		exchange_write(&exchange, &line);
		if (exchange_read(&again, line.data, line.len - 1, &err) < 0)
			fail_msg("%s: %s", line.data, err.text);
		compare(&exchange, &again);
	}
}

static void a_name_that_is_there_twice_is_a_list_in_either_case(void **state)
{
	own(exchange_done) struct exchange exchange = {0}, again = {0};
	own(buf_done) struct buf line = {0};
	struct err err = {0};

	(void)state;
	set(&exchange, "/", "", "");
	exchange.fields.len = 0;
	buf_str(&exchange.fields, "Set-Cookie: a\r\nx: y\r\nset-cookie: b\r\n");
	exchange_write(&exchange, &line);
	assert_non_null(strstr(line.data, "\"headers\":{\"Set-Cookie\":[\"a\",\"b\"],\"x\":\"y\"}"));
	assert_int_equal(exchange_read(&again, line.data, line.len - 1, &err), 0);
	assert_string_equal(again.fields.data, "Set-Cookie: a\r\nSet-Cookie: b\r\nx: y\r\n");
}

static void a_body_in_very_many_pieces_ends_in_one(void **state)
{
	own(exchange_done) struct exchange exchange = {0}, again = {0};
	own(buf_done) struct buf line = {0};
	struct err err = {0};

	(void)state;
	set(&exchange, "/", "", "");
	exchange.piece_count = EXCHANGE_PIECES_MAX + 2;
	exchange.pieces = xrealloc(exchange.pieces, exchange.piece_count, sizeof(*exchange.pieces));
	for (size_t i = 0; i < exchange.piece_count; i++) {
		exchange.pieces[i] = (struct exchange_piece){.len = 1};
		buf_char(&exchange.body, 'x');
	}
	exchange_write(&exchange, &line);
	assert_int_equal(exchange_read(&again, line.data, line.len - 1, &err), 0);
	assert_int_equal(again.piece_count, EXCHANGE_PIECES_MAX);
	assert_int_equal(again.pieces[EXCHANGE_PIECES_MAX - 2].len, 1);
	assert_int_equal(again.pieces[EXCHANGE_PIECES_MAX - 1].len, 3);
}

#define HEAD "\"door\":\"d\",\"method\":\"GET\",\"path\":\"/\","
#define REQUEST "\"request\":{\"headers\":{},\"body\":\"\"},"
#define TAIL "\"delays_ms\":[],\"pieces\":[]"

static void what_is_no_exchange_is_refused(void **state)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"", "the text ends where a value should be"},
		{"[]", "an exchange must be an object, not an array"},
		{"{}", "'request' is not there and must be an object"},
		{"{" HEAD "\"request\":{\"headers\":{},\"body\":\"\"}}", "'status' is not there and must be a number"},
		{"{" HEAD REQUEST "\"status\":\"200\"}", "'status' is a string and must be a number"},
		{"{" REQUEST "\"status\":200}", "'door' is not there and must be a string"},
		{"{\"door\":\"\"," REQUEST "\"status\":200}", "'door' is empty"},
		{"{\"door\":\"d\",\"method\":\"GET /\"," REQUEST "\"status\":200}",
			"'method' holds a blank or a control character"},
		{"{\"door\":\"d\",\"method\":\"GET\",\"path\":\"/\\r\\n\"," REQUEST "\"status\":200}",
			"'path' holds a blank or a control character"},
		{"{" HEAD "\"request\":{\"headers\":[],\"body\":\"\"},\"status\":200}", "'headers' is an array and must be an object"},
		{"{" HEAD "\"request\":{\"headers\":{}},\"status\":200}", "'body' is not there"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"a b\":\"c\"}}", "'headers' has a name that is none"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"\":\"c\"}}", "'headers' has a name that is none"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"a:\":\"c\"}}", "'headers' has a name that is none"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"a\":\"b\\r\\nc: d\"}}",
			"'headers' has a value with control characters or blanks around it"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"a\":{\"base64\":\"DQo=\"}}}",
			"'headers' has a value with control characters or blanks around it"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"a\":[\"b\",\" c\"]}}",
			"'headers' has a value with control characters or blanks around it"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{\"a\":7}}", "'headers' must be a string or {\"base64\":\"...\"}"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":null}", "'body' must be a string or {\"base64\":\"...\"}"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":{\"base64\":\"x\"}}",
			"'body' must be a string or {\"base64\":\"...\"}"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":{\"base64\":\"\",\"x\":1}}",
			"'body' must be a string or {\"base64\":\"...\"}"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":\"x\"," TAIL "}",
			"'pieces' are not those of a body of 1 bytes"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":\"x\",\"delays_ms\":[0],\"pieces\":[2]}",
			"'pieces' are not those of a body of 1 bytes"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":\"x\",\"delays_ms\":[],\"pieces\":[1]}",
			"'pieces' and 'delays_ms' must be as long as each other, and at most 65536"},
		{"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":\"\"," TAIL ",\"cut\":1}",
			"'cut' is a number and must be true or false"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct exchange exchange = {.status = 7};
		struct err err = {0};
		if (exchange_read(&exchange, rows[i].line, strlen(rows[i].line), &err) == 0)
			fail_msg("%s is taken", rows[i].line);
		assert_string_equal(err.text, rows[i].says);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(exchange.status, 0);
		assert_null(exchange.door);
	}
}

static void numbers_out_of_range_are_refused(void **state)
{
	static const char *const numbers[] = {"99", "1000", "-1", "2e2", "200.0", "18446744073709551816"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct exchange exchange;
		struct err err = {0};
		char line[300];
		(void)snprintf(line, sizeof(line), "{" HEAD REQUEST "\"status\":%s,\"headers\":{},\"body\":\"\"," TAIL "}",
			numbers[i]);
		assert_int_equal(exchange_read(&exchange, line, strlen(line), &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		(void)snprintf(line, sizeof(line),
			"{" HEAD REQUEST "\"status\":200,\"headers\":{},\"body\":\"\",\"delays_ms\":[%s],\"pieces\":[0]}", numbers[i]);
		int taken = exchange_read(&exchange, line, strlen(line), &err);
		assert_int_equal(taken, i < 2 ? 0 : -1);
		exchange_done(&exchange);
	}
}

/* ---- a book ---- */

static void book_of(struct exchange_book *book, const char *const (*rows)[3], size_t count, struct buf *file)
{
	struct err err = {0};

	for (size_t i = 0; i < count; i++) {
		own(exchange_done) struct exchange exchange = {0};
		set(&exchange, rows[i][0], rows[i][1], rows[i][2]);
		exchange_write(&exchange, file);
	}
	if (book_read(book, file->data, file->len, "f", &err) < 0)
		fail_msg("%s", err.text);
}

static void ask(struct exchange_book *book, const char *path, const char *body, const char *answer, bool exact)
{
	bool same = !exact;
	const struct exchange *found = book_find(book, "anthropic", "POST", path, body, strlen(body), &same);

	if (!answer) {
		assert_null(found);
		assert_false(same);
		return;
	}
	assert_non_null(found);
	assert_string_equal(buf_text(&found->body), answer);
	assert_int_equal(same, exact);
}

static void a_request_is_answered_by_what_is_most_like_it(void **state)
{
	static const char *const rows[][3] = {
		{"/a", "1", "first"}, {"/a", "2", "second"}, {"/a", "1", "third"}, {"/b", "", "other"}, {"/a", "3", "fourth"},
	};
	own(book_done) struct exchange_book book = {0};
	own(buf_done) struct buf file = {0};
	bool same;

	(void)state;
	book_of(&book, rows, ARRAY_LEN(rows), &file);
	assert_int_equal(book.count, 5);
	ask(&book, "/a", "2", "second", true);
	ask(&book, "/a", "1", "first", true);
	ask(&book, "/a", "1", "third", true);
	ask(&book, "/a", "new", "fourth", false); /* the first not used */
	ask(&book, "/a", "new", "fourth", false); /* all are used: the last */
	ask(&book, "/a", "3", "fourth", true);
	ask(&book, "/a", "1", "fourth", false);
	ask(&book, "/b", "", "other", true);
	ask(&book, "/c", "", NULL, false);
	assert_null(book_find(&book, "openai", "POST", "/a", "1", 1, &same));
	assert_null(book_find(&book, "anthropic", "GET", "/a", "1", 1, &same));
}

static void an_exchange_that_was_cut_is_not_played(void **state)
{
	own(exchange_done) struct exchange exchange = {0};
	own(book_done) struct exchange_book book = {0};
	own(buf_done) struct buf file = {0};
	struct err err = {0};

	(void)state;
	set(&exchange, "/a", "1", "part");
	exchange.cut = true;
	exchange.pieces[0].len = 100;
	exchange_write(&exchange, &file);
	assert_int_equal(book_read(&book, file.data, file.len, "f", &err), 0);
	assert_int_equal(book.count, 1);
	assert_true(book.items[0].cut);
	ask(&book, "/a", "1", NULL, false);
}

static void a_line_that_was_being_written_is_left_out_and_any_other_must_be_whole(void **state)
{
	static const char *const rows[][3] = {{"/a", "1", "first"}, {"/a", "2", "second"}};
	own(book_done) struct exchange_book book = {0}, bad = {0}, none = {0};
	own(buf_done) struct buf file = {0};
	struct err err = {0};

	(void)state;
	book_of(&book, rows, ARRAY_LEN(rows), &file);
	for (size_t less = 1; less < 20; less++) {
		own(book_done) struct exchange_book torn = {0};
		assert_int_equal(book_read(&torn, file.data, file.len - less, "f", &err), 0);
		assert_int_equal(torn.count, 1);
	}
	buf_str(&file, "{}\n");
	assert_int_equal(book_read(&bad, file.data, file.len, "a\x1b", &err), -1);
	assert_string_equal(err.text, "a\\x1b:3: 'request' is not there and must be an object");
	assert_int_equal(bad.count, 0);
	assert_int_equal(book_read(&none, NULL, 0, "f", &err), 0);
	ask(&none, "/a", "1", NULL, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exchange_is_a_line_of_json),
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(a_name_that_is_there_twice_is_a_list_in_either_case),
		cmocka_unit_test(a_body_in_very_many_pieces_ends_in_one),
		cmocka_unit_test(what_is_no_exchange_is_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(a_request_is_answered_by_what_is_most_like_it),
		cmocka_unit_test(an_exchange_that_was_cut_is_not_played),
		cmocka_unit_test(a_line_that_was_being_written_is_left_out_and_any_other_must_be_whole),
	};
	return cmocka_run_group_tests_name("door exchange", tests, NULL, NULL);
}
