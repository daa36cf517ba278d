#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "door/policy/credential.h"

static void what_a_server_takes_a_credential_apart_into_is_known(void **state)
{
	static const struct {
		const char *prefix, *secret, *parts[4];
		bool is_word; /* the first of them */
	} rows[] = {
		{"", "sk-0123456789abcdef", {NULL}},
		{"Bearer ", "sk-0123456789abcdef", {NULL}},
		{"", "Bearer sk-0123456789", {"sk-0123456789", "sk-0123456789"}},
		{"Basic ", "dXNlcjpjb3JyZWN0IGhvcnNl", {"user:correct horse", "correct horse"}},
		{"basic ", "dXNlcjpwYXNzd29yZDE=", {"user:password1", "password1"}},
		{"", "Basic dXNlcjpwYXNzd29yZDE=", {"user:password1", "password1", "dXNlcjpwYXNzd29yZDE="}},
		{"Basic ", "dXNlcjpwYXNzd29yZDE", {"user:password1", "password1"}},
		{"Basic ", "dXNlcjpwYT8_fn4-Pz8=", {"user:pa??~~>??"}},
		{"Basic ", "dXNlcjphYg==", {NULL}}, /* too short to be told from other text */
		{"Basic ", "this is no base64 at all", {NULL}},
		{"Basic ", "abcdefghi", {NULL}},
		{"", "a=accepted; s=0123456789abcdef; t=\"fedcba987654\"", {"s=0123456789abcdef", "0123456789abcdef",
			"fedcba987654"}},
		{"", "connect.sid=s%3AAbC123.sig; x=1", {"s:AbC123.sig", "s%3AAbC123.sig"}},
		{"", "sid=s%3a0123456789%zz%4", {"s:0123456789%zz%4"}},
		{"", "sid=0%41%00123456789abc", {"0%41%00123456789abc"}},
		{"", "a=12; sid=AbcdefghijkL", {"AbcdefghijkL"}, .is_word = true},
		{"", "a=12; sid=qwertzuiopasdfgh", {"qwertzuiopasdfgh"}, .is_word = true},
		{"", "z=America/New_York; t=application/json; s=Strict; v=a-b-c-d-e-f-g-h-i-j", {NULL}},
		{"Basic ", "YTpwb3N0Z3Jlcw==", {"postgres"}, .is_word = true},
		{"Basic ", "YTpwb3N0Z1Jlcw==", {"postgRes"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct secret_door door = {.prefix = (char *)(uintptr_t)rows[i].prefix, .secret = (char *)(uintptr_t)rows[i].secret};
		struct credential_parts parts;
		credential_parts_make(&parts, &door);
		for (size_t j = 0; j < 4 && rows[i].parts[j] != NULL; j++) {
			bool found = false;
			for (size_t k = 0; k < parts.count; k++)
				found = found || (strcmp(parts.items[k], rows[i].parts[j]) == 0 &&
					(j > 0 || parts.is_word[k] == rows[i].is_word));
			if (!found)
				fail_msg("'%s%s': '%s' is not among its %zu parts", rows[i].prefix, rows[i].secret, rows[i].parts[j],
					parts.count);
		}
		if (rows[i].parts[0] == NULL && parts.count > 0)
			fail_msg("'%s%s' has a part '%s'", rows[i].prefix, rows[i].secret, parts.items[0]);
		credential_parts_done(&parts);
	}
}

static void long_credentials_and_many_parts_fit(void **state)
{
	static const char *const prefixes[] = {"", "Basic ", "Bearer "};
	static const char *const fills[] = {"a", "=", "; ", "k=0123456789abc,", "dXNl",
		"k=%41%42cdefghij,", "%41=%41%41%41%41%41%41%41%41%41%41%41%41 ", "=%41;"};
	static char secret[SECRET_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(prefixes) * ARRAY_LEN(fills); i++) {
		const char *fill = fills[i % ARRAY_LEN(fills)];
		struct secret_door door = {.prefix = (char *)(uintptr_t)prefixes[i / ARRAY_LEN(fills)], .secret = secret};
		struct credential_parts parts;
		for (size_t at = 0; at < SECRET_MAX; at++)
			secret[at] = fill[at % strlen(fill)];
		credential_parts_make(&parts, &door);
		assert_true(parts.count <= CREDENTIAL_PARTS_MAX);
		assert_true(parts.size <= 5 * (SECRET_MAX + 12));
		credential_parts_done(&parts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_server_takes_a_credential_apart_into_is_known),
		cmocka_unit_test(long_credentials_and_many_parts_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
