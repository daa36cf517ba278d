#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "door/policy/rewrite.h"

#define SECRET "sk-real-0123456789abcdef"

static char name[] = "api", host[] = "api.example.com", six[] = "2001:db8::1", header[] = "x-api-key", prefix[] = "",
	    no_path[] = "", path[] = "/v1", secret[] = SECRET;

static const struct secret_door plain = { .name = name, .tls = true, .host = host, .port = 443, .path = no_path,
	.header = header, .prefix = prefix, .secret = secret };
static const struct secret_door below = { .name = name, .tls = true, .host = host, .port = 443, .path = path,
	.header = header, .prefix = prefix, .secret = secret };
static const struct secret_door odd = { .name = name, .tls = false, .host = six, .port = 8080, .path = no_path,
	.header = header, .prefix = prefix, .secret = secret };

/* ---- targets ---- */

static const char *refusal(const struct secret_door *door, const char *method, const char *target)
{
	const struct http_head head = { .method = { method, strlen(method) }, .target = { target, strlen(target) } };

	return rewrite_refusal(door, &head);
}

static void a_path_cannot_leave_the_doors_own(void **state)
{
	static const char *const climbing[] = { "/..", "/../x", "/a/../x", "/.", "/a/./b", "/%2e%2e/x", "/%2E./x", "/.%2e",
		"/a%2f..%2fb", "/a%2F%2E%2E%2Fb", "/a\\..\\b", "/a%5c..%5Cb", "/..;x=y/b", "/%2e%2e;/b", "/a%00", "/a%0ab",
		"/%252e%252e/x", "/%25252e./x", "/a%255c..", "/%25%32%65%2e/x" };
	static const char *const fine[] = { "/", "/a", "/a/b?c=../d", "/...", "/.a/..b/c..", "/%", "/%2", "/%zz", "/a%20b", "//a",
		"/;..", "/a?%2e%2e/x", "/%25", "/a%252fb", "/100%25/x" };

	for (size_t i = 0; i < ARRAY_LEN(climbing); i++) {
		if (refusal(&below, "GET", climbing[i]) == NULL)
			fail_msg("'%s' is taken", climbing[i]);
		assert_null(refusal(&plain, "GET", climbing[i])); /* there is nothing to leave */
	}
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (refusal(&below, "GET", fine[i]) != NULL)
			fail_msg("'%s' is refused", fine[i]);
	(void)state;
}

static void only_paths_are_carried_and_no_request_is_sent_back_as_it_came(void **state)
{
	assert_null(refusal(&plain, "POST", "/x"));
	assert_non_null(refusal(&plain, "GET", "*"));
	assert_non_null(refusal(&plain, "GET", "http://api.example.com/"));
	assert_non_null(refusal(&plain, "GET", "/a b"));
	assert_non_null(refusal(&plain, "GET", "/a\x80"));
	assert_non_null(refusal(&plain, "TRACE", "/"));
	assert_non_null(refusal(&plain, "CONNECT", "/"));
	(void)state;
}

/* ---- requests ---- */

static void read_request(const char *text, struct http_head *ret)
{
	assert_int_equal(http_read_request(text, strlen(text), ret), HTTP_DONE);
}

static void a_request_is_sent_with_the_doors_fields_in_place_of_the_cells(void **state)
{
	struct http_head head;
	own(buf_done) struct buf fields = { 0 }, request = { 0 };

	read_request("PUT /x?y HTTP/1.1\r\nHost: api.door\r\nTransfer-Encoding: chunked\r\nRange: bytes=0-3\r\nIf-Range: x\r\nRequest-Range: bytes=4-7\r\nA-IM: gzip\r\nX-Goog-FieldMask: id\r\n"
		"AUTHORIZATION: a\r\nX-API-Key: b\r\nX_api_key: c\r\nApi-Key: d\r\nExpect: 100-continue\r\nAccept-Encoding: br\r\n"
		"Proxy-Authorization: e\r\nAccept-Charset: utf-16\r\nX-Original-URL: /admin\r\nX-Rewrite-Url: /admin\r\nX-HTTP-Method-Override: POST\r\nX_Http_Method: POST\r\nCookie: f\r\nTE: trailers\r\nUpgrade: h2c\r\nConnection: upgrade\r\nX-Api-Keys: g\r\n\r\n", &head);
	rewrite_request_fields(&below, &head, &fields);
	assert_string_equal(buf_text(&fields), "Cookie: f\r\nX-Api-Keys: g\r\n");
	rewrite_request(&below, &head, &fields, &request);
	assert_string_equal(buf_text(&request), "PUT /v1/x?y HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n"
		"Accept-Encoding: identity\r\nTransfer-Encoding: chunked\r\nCookie: f\r\nX-Api-Keys: g\r\nx-api-key: " SECRET "\r\n\r\n");
	(void)state;
}

static void a_host_that_is_an_address_with_a_port_is_named_as_such(void **state)
{
	struct http_head head;
	own(buf_done) struct buf fields = { 0 }, request = { 0 };

	read_request("GET / HTTP/1.1\r\nHost: api.door\r\n\r\n", &head);
	rewrite_request(&odd, &head, &fields, &request);
	assert_non_null(strstr(buf_text(&request), "\r\nHost: [2001:db8::1]:8080\r\n"));
	(void)state;
}

/* ---- answers ---- */

static void answer_fields(const struct secret_door *door, const char *field, struct buf *ret)
{
	static const char *const secrets[] = { SECRET };
	struct scrub_words *words = scrub_words_make(secrets, 1);
	own(freep) char *text = xfmt("HTTP/1.1 200 OK\r\n%s\r\n\r\n", field);
	struct http_head head;

	assert_int_equal(http_read_response(text, strlen(text), false, &head), HTTP_DONE);
	rewrite_answer_fields(door, &head, words, ret);
	scrub_words_free(words);
}

static const char *type_fault(const char *type)
{
	own(freep) char *text = xfmt("HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n", type);
	struct http_head head;

	assert_int_equal(http_read_response(text, strlen(text), false, &head), HTTP_DONE);
	return rewrite_answer_fault(&head);
}

static void an_answer_in_which_no_credential_would_be_found_is_none(void **state)
{
	static const char *const fine[] = { "application/json", "text/html; charset=UTF-8", "text/plain;charset=\"utf-8\"", "",
		"text/plain; charset=iso-8859-1", "text/html;charset=Windows-1252", "multipart/form-data; boundary=charset" };
	static const char *const wrong[] = { "text/plain; charset=utf-16", "text/plain;CHARSET=\"UTF-16LE\"", "text/plain; charset=IBM037",
		"application/json; charset=utf-32", "text/plain; charset=utf-7", "text/plain; charset=", "a/b;charset=utf-8;charset=utf-16" };

	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (type_fault(fine[i]) != NULL)
			fail_msg("'%s' is refused", fine[i]);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (type_fault(wrong[i]) == NULL)
			fail_msg("'%s' is taken", wrong[i]);
	(void)state;
}

static void a_location_at_the_upstream_becomes_one_at_the_door(void **state)
{
	static const struct {
		const struct secret_door *door;
		const char *from, *to;
	} cases[] = {
		{ &plain, "https://api.example.com/a?b#c", "http://api.door/a?b#c" },
		{ &plain, "HTTPS://API.example.COM:443/a", "http://api.door/a" },
		{ &plain, "https://api.example.com", "http://api.door/" },
		{ &plain, "https://api.example.com?x", "http://api.door/?x" },
		{ &plain, "//api.example.com/a", "http://api.door/a" },
		{ &plain, "/a", "/a" },
		{ &plain, "a/b", "a/b" },
		{ &plain, "", "" },
		{ &plain, "//other.example/a", "//other.example/a" },
		{ &plain, "http://api.example.com/a", "http://api.example.com/a" },
		{ &plain, "https://api.example.com:444/a", "https://api.example.com:444/a" },
		{ &plain, "https://api.example.com.evil/a", "https://api.example.com.evil/a" },
		{ &plain, "https://api.example.com@evil/a", "https://api.example.com@evil/a" },
		{ &below, "https://api.example.com/v1/a", "http://api.door/a" },
		{ &below, "https://api.example.com/v1", "http://api.door/" },
		{ &below, "https://api.example.com/v1?x", "http://api.door/?x" },
		{ &below, "https://api.example.com/v10/a", "https://api.example.com/v10/a" },
		{ &below, "/v1/a", "http://api.door/a" },
		{ &below, "/v1//evil/a", "http://api.door//evil/a" },
		{ &below, "/login", "https://api.example.com/login" },
		{ &odd, "http://[2001:db8::1]:8080/a", "http://api.door/a" },
		{ &odd, "http://[2001:db8::1]/a", "http://[2001:db8::1]/a" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) char *from = xfmt("Location: %s", cases[i].from), *to = xfmt("Location: %s\r\n", cases[i].to);
		own(buf_done) struct buf fields = { 0 };
		answer_fields(cases[i].door, from, &fields);
		assert_string_equal(buf_text(&fields), to);
	}
	(void)state;
}

static void fields_of_the_connection_stay_behind_and_the_credential_does_too(void **state)
{
	own(buf_done) struct buf fields = { 0 };

	answer_fields(&plain, "Set-Cookie: a=b\r\nKeep-Alive: 5\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-Echo: <" SECRET ">\r\n"
		"Transfer-Encoding: chunked", &fields);
	assert_string_equal(buf_text(&fields), "Set-Cookie: a=b\r\nX-Echo: <************************>\r\n");
	(void)state;
}

static void an_answer_that_is_encoded_is_not_passed_on(void **state)
{
	static const struct {
		const char *field;
		bool asked_head, fault;
	} cases[] = {
		{ "X: y", false, false },
		{ "Content-Encoding: identity", false, false },
		{ "Content-Encoding: Identity", false, false },
		{ "Content-Encoding: gzip", false, true },
		{ "content-encoding: identity, br", false, true },
		{ "Content-Encoding: identity\r\nContent-Encoding: zstd", false, true },
		{ "Content-Encoding: ", false, true },
		{ "Content-Encoding: gzip", true, true },
		{ "Content-Type: text/plain; charset=utf-16", true, false },
		{ "Content-Type: text/plain; charset = utf-32", false, true },
	};
	struct http_head head;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) char *text = xfmt("HTTP/1.1 200 OK\r\n%s\r\n\r\n", cases[i].field);
		assert_int_equal(http_read_response(text, strlen(text), cases[i].asked_head, &head), HTTP_DONE);
		assert_int_equal(rewrite_answer_fault(&head) != NULL, cases[i].fault);
	}
	static const char part[] = "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-9/20\r\nContent-Length: 10\r\n\r\n";
	assert_int_equal(http_read_response(part, strlen(part), false, &head), HTTP_DONE);
	assert_non_null(rewrite_answer_fault(&head)); /* of pieces that a cell chose the credential could be put together */
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_cannot_leave_the_doors_own),
		cmocka_unit_test(only_paths_are_carried_and_no_request_is_sent_back_as_it_came),
		cmocka_unit_test(a_request_is_sent_with_the_doors_fields_in_place_of_the_cells),
		cmocka_unit_test(a_host_that_is_an_address_with_a_port_is_named_as_such),
		cmocka_unit_test(an_answer_in_which_no_credential_would_be_found_is_none),
		cmocka_unit_test(a_location_at_the_upstream_becomes_one_at_the_door),
		cmocka_unit_test(fields_of_the_connection_stay_behind_and_the_credential_does_too),
		cmocka_unit_test(an_answer_that_is_encoded_is_not_passed_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
