#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <string.h>

#include "base/buf.h"
#include "base/sha256.h"

typedef void init_fn(struct sha256 *sum);
static init_fn *const inits[] = {sha256_init, sha256_init_plain};

static void the_sums_are_those_of_the_standard(void **state)
{
	static const struct {
		const char *text;
		unsigned times;
		const char *sum;
	} rows[] = {
		{"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(inits); i++) {
		struct sha256 sum;
		unsigned char bytes[SHA256_SIZE], read[SHA256_SIZE];
		char hex[SHA256_HEX];
		inits[i % 2](&sum);
		for (unsigned n = 0; n < rows[i / 2].times; n++)
			sha256_add(&sum, rows[i / 2].text, strlen(rows[i / 2].text));
		sha256_end(&sum, bytes);
		sha256_hex(bytes, hex);
		assert_string_equal(hex, rows[i / 2].sum);
		assert_true(sha256_parse(hex, read));
		assert_memory_equal(read, bytes, sizeof(bytes));
	}
}

/* Every length around the blocks' ends, given in pieces of every size: as another implementation says. */
static void pieces_of_any_size_give_the_same_sum(void **state)
{
	unsigned char bytes[400], expected[SHA256_SIZE], got[SHA256_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 167 + i / 7);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		assert_int_equal(EVP_Digest(bytes, len, expected, NULL, EVP_sha256(), NULL), 1);
		for (size_t piece = 1; piece < 140; piece += 9) {
			struct sha256 sum;
			inits[piece % 2](&sum);
			for (size_t at = 0; at < len; at += piece)
				sha256_add(&sum, bytes + at, len - at < piece ? len - at : piece);
			sha256_end(&sum, got);
			assert_memory_equal(got, expected, sizeof(got));
		}
	}
}

static void a_sum_written_in_any_other_way_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "0", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8555",
		"E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"g3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		" 3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	};
	unsigned char sum[SHA256_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (sha256_parse(texts[i], sum))
			fail_msg("'%s' is taken", texts[i]);
}

static void a_pin_is_cut_from_what_it_pins(void **state)
{
	char pinned[] = "a/b@c@sha256:12", plain[] = "a@sha25:6";

	(void)state;
	assert_string_equal(sha256_pin_cut(pinned), "12");
	assert_string_equal(pinned, "a/b@c");
	assert_null(sha256_pin_cut(plain));
	assert_string_equal(plain, "a@sha25:6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sums_are_those_of_the_standard),
		cmocka_unit_test(pieces_of_any_size_give_the_same_sum),
		cmocka_unit_test(a_sum_written_in_any_other_way_is_refused),
		cmocka_unit_test(a_pin_is_cut_from_what_it_pins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
