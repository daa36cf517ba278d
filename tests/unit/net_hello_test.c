#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "net/hello.h"

/* From openssl s_client 3.0, with TLS 1.3, and from Python's ssl, with TLS 1.2 at most. */
static const char real_tls13[] =
	"160301013f0100013b030324c552a9f6747618655d40dc5b168ea77c72b6dd8da573fa84d85ba89f19fa2a20991914b3"
	"b332c43f357a57578923ce3427877d968969473bf905e7b2a09f07aa003e130213031301c02cc030009fcca9cca8ccaa"
	"c02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00ff010000b4"
	"00000017001500001272656769737472792e6e706d6a732e6f7267000b000403000102000a00160014001d0017001e00"
	"19001801000101010201030104002300000016000000170000000d002a0028040305030603080708080809080a080b08"
	"0408050806040105010601030303010302040205020602002b0009080304030303020301002d00020101003300260024"
	"001d0020bfd610dfb7ebdf62506d7a346e3340d065138cbaa09cea20e5b0a5b6fbe62738";
static const char real_tls12[] =
	"16030100b1010000ad0303f13191d56ab838f0178cdc4837e7b8b85ac2c48083325aa7eb01ff5c7096469800001ec02c"
	"c030c02bc02fcca9cca8c024c028c023c027009f009e006b006700ff0100006600000010000e00000b4578616d706c65"
	"2e434f4d000b000403000102000a000c000a001d0017001e00190018002300000016000000170000000d002a00280403"
	"05030603080708080809080a080b080408050806040105010601030303010302040205020602";

/* Extensions. */
#define SNI "0000000e000c000009612e6578616d706c65" /* a.example */
#define GROUPS "000a00040002001d"
#define ECH "fe0d0000"
#define OK_PREFIX "0303" RANDOM "00" SUITES "0100" /* no session */
#define RANDOM "5555555555555555555555555555555555555555555555555555555555555555"
#define SUITES "00021301"

static void unhex(const char *hex, struct buf *ret)
{
	for (; hex[0] && hex[1]; hex += 2) {
		unsigned byte;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		buf_char(ret, (char)byte);
	}
}

static void put_number(struct buf *ret, size_t value, unsigned bytes)
{
	while (bytes--)
		buf_char(ret, (char)(value >> 8 * bytes));
}

/* `message` in records of at most `step` bytes. */
static void put_records(struct buf *ret, const char *message, size_t len, size_t step)
{
	for (size_t at = 0; at < len; at += step) {
		size_t size = len - at < step ? len - at : step;
		buf_str(ret, "\x16\x03\x01");
		put_number(ret, size, 2);
		buf_add(ret, message + at, size);
	}
}

/* The handshake message around `prefix`, and `extensions` with their length; NULL: none at all. */
static void make_message(struct buf *ret, const char *prefix, const char *extensions)
{
	own(buf_done) struct buf body = {0};

	unhex(prefix, &body);
	if (extensions) {
		put_number(&body, strlen(extensions) / 2, 2);
		unhex(extensions, &body);
	}
	buf_char(ret, 1);
	put_number(ret, body.len, 3);
	buf_add(ret, body.data, body.len);
}

static enum hello read_buf(const struct buf *bytes, char ret_name[HOST_MAX + 1])
{
	return hello_read((const uint8_t *)bytes->data, bytes->len, ret_name);
}

static enum hello read_hex(const char *hex, char ret_name[HOST_MAX + 1])
{
	own(buf_done) struct buf bytes = {0};

	unhex(hex, &bytes);
	return read_buf(&bytes, ret_name);
}

static enum hello read_hello(const char *prefix, const char *extensions, char ret_name[HOST_MAX + 1])
{
	own(buf_done) struct buf message = {0};
	own(buf_done) struct buf bytes = {0};

	make_message(&message, prefix, extensions);
	put_records(&bytes, message.data, message.len, message.len);
	return read_buf(&bytes, ret_name);
}

static void real_clients_say_whom_they_want(void **state)
{
	char name[HOST_MAX + 1];

	(void)state;
	assert_int_equal(read_hex(real_tls13, name), HELLO_OK);
	assert_string_equal(name, "registry.npmjs.org");
	assert_int_equal(read_hex(real_tls12, name), HELLO_OK);
	assert_string_equal(name, "example.com"); /* was in mixed case */
}

static void every_beginning_of_a_hello_needs_more(void **state)
{
	static const char *const hellos[] = {real_tls13, real_tls12};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hellos); i++) {
		own(buf_done) struct buf bytes = {0};
		char name[HOST_MAX + 1];
		unhex(hellos[i], &bytes);
		for (size_t len = 0; len < bytes.len; len++) {
			assert_int_equal(hello_read((const uint8_t *)bytes.data, len, name), HELLO_MORE);
			assert_string_equal(name, "");
		}
		buf_str(&bytes, "what follows is not looked at");
		assert_int_equal(read_buf(&bytes, name), HELLO_OK);
	}
}

static void a_hello_may_be_split_over_records(void **state)
{
	own(buf_done) struct buf real = {0};

	(void)state;
	unhex(real_tls13, &real);
	for (size_t step = 1; step < real.len; step++) {
		own(buf_done) struct buf bytes = {0};
		char name[HOST_MAX + 1];
		put_records(&bytes, real.data + 5, real.len - 5, step);
		for (size_t len = 0; len < bytes.len; len++)
			assert_int_equal(hello_read((const uint8_t *)bytes.data, len, name), HELLO_MORE);
		assert_int_equal(read_buf(&bytes, name), HELLO_OK);
		assert_string_equal(name, "registry.npmjs.org");
	}
}

static void what_is_not_tls_is_known_by_its_first_bytes(void **state)
{
	static const char *const starts[] = {
		"474554", /* GET */
		"53",
		"802e", /* SSL 2 */
		"15", /* an alert */
		"17",
		"1602",
		"160300", /* SSL 3 */
		"160304",
		"16fe", /* DTLS */
	};
	char name[HOST_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		assert_int_equal(read_hex(starts[i], name), HELLO_NOT_TLS);
}

static void damaged_records_are_refused(void **state)
{
	static const char *const starts[] = {
		"1603010000", /* empty */
		"1603014001", /* longer than a record */
		"160301ffff",
		"160301000502", /* a server's hello */
		"160301000500",
		"160301400001ffffff", /* a message longer than we take */
		"1603010009010000040303", /* a record that goes on after its message */
		"1603010001011503010002", /* an alert in the middle */
		"16030100010116030400", /* another version in the middle */
		"16030100010116030300001603", /* an empty one in the middle */
	};
	char name[HOST_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		assert_int_equal(read_hex(starts[i], name), HELLO_BAD);
}

static void extensions_decide(void **state)
{
	static const struct {
		const char *extensions; /* NULL: none at all */
		enum hello expected;
	} cases[] = {
		{SNI, HELLO_OK},
		{GROUPS SNI "00170000", HELLO_OK},
		{NULL, HELLO_NO_NAME},
		{"", HELLO_NO_NAME},
		{GROUPS, HELLO_NO_NAME},
		{SNI SNI, HELLO_TWO_NAMES},
		{SNI GROUPS SNI, HELLO_TWO_NAMES},
		{"0000000a0008000001610000" "0162", HELLO_TWO_NAMES}, /* a and b in one extension */
		{ECH, HELLO_HIDDEN},
		{SNI ECH, HELLO_HIDDEN},
		{ECH SNI, HELLO_HIDDEN},
		{SNI "fe080000", HELLO_HIDDEN},
		{SNI "fe090000", HELLO_HIDDEN},
		{SNI "fe0a0000", HELLO_HIDDEN},
		{SNI "ff020000", HELLO_HIDDEN},
		{SNI "ff080000", HELLO_HIDDEN},
		{SNI "ffce0000", HELLO_HIDDEN},
		{SNI "ff01000100", HELLO_OK}, /* renegotiation */
		{SNI "fafa0000" "0a0a0000", HELLO_OK}, /* meaningless on purpose */
		{SNI GROUPS GROUPS, HELLO_BAD},
		{SNI "fafa0000" "fafa0000", HELLO_BAD},
		{ECH ECH, HELLO_BAD},
		/* names that are none */
		{"00000000", HELLO_BAD},
		{"000000020000", HELLO_BAD},
		{"000000050003000000", HELLO_BAD}, /* empty */
		{"0000000e000c0000093132372e302e302e31", HELLO_BAD}, /* 127.0.0.1 */
		{"0000000800060000033a3a31", HELLO_BAD}, /* ::1 */
		{"0000000800060000033078" "31", HELLO_BAD}, /* 0x1 */
		{"0000000e000c00000961006578616d706c65", HELLO_BAD}, /* a NUL */
		{"0000000e000c000009615f6578616d706c65", HELLO_BAD}, /* a_example */
		{"0000000e000c000009612e6578616dc3a965", HELLO_BAD},
		{"0000000e000c010009612e6578616d706c65", HELLO_BAD}, /* another sort of name */
		/* lengths that lie */
		{"0000000e000d000009612e6578616d706c65", HELLO_BAD},
		{"0000000e000b000009612e6578616d706c65", HELLO_BAD},
		{"0000000e000c00000a612e6578616d706c65", HELLO_BAD},
		{"0000000e000c000008612e6578616d706c65", HELLO_BAD},
		{"0000000f000c000009612e6578616d706c65", HELLO_BAD},
		{"0000000d000c000009612e6578616d706c65", HELLO_BAD},
		{SNI "000a00050002001d", HELLO_BAD},
		{SNI "000a", HELLO_BAD},
		{SNI "00", HELLO_BAD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[HOST_MAX + 1];
		enum hello hello = read_hello(OK_PREFIX, cases[i].extensions, name);
		if (hello != cases[i].expected)
			fail_msg("%s: %s", cases[i].extensions, hello_reason(hello));
		assert_string_equal(name, hello == HELLO_OK ? "a.example" : "");
	}
}

static void what_comes_before_the_extensions_must_be_sound(void **state)
{
	static const struct {
		const char *prefix;
		enum hello expected;
	} cases[] = {
		{"0303" RANDOM "00" SUITES "0100", HELLO_OK},
		{"0301" RANDOM "00" SUITES "0100", HELLO_OK},
		{"0303" RANDOM "20" RANDOM SUITES "0100", HELLO_OK},
		{"0303" RANDOM "00" SUITES "020001", HELLO_OK},
		{"0300" RANDOM "00" SUITES "0100", HELLO_BAD},
		{"0304" RANDOM "00" SUITES "0100", HELLO_BAD},
		{"0203" RANDOM "00" SUITES "0100", HELLO_BAD},
		{"0303" RANDOM "21" RANDOM "00" SUITES "0100", HELLO_BAD},
		{"0303" RANDOM "00" "0000" "0100", HELLO_BAD},
		{"0303" RANDOM "00" "0003130113" "0100", HELLO_BAD},
		{"0303" RANDOM "00" "ffff1301" "0100", HELLO_BAD},
		{"0303" RANDOM "00" SUITES "00", HELLO_BAD},
		{"0303" RANDOM "00" SUITES "ff00", HELLO_BAD},
		{"0303", HELLO_BAD},
		{"", HELLO_BAD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[HOST_MAX + 1];
		assert_int_equal(read_hello(cases[i].prefix, SNI, name), cases[i].expected);
	}
}

static void bytes_after_the_extensions_are_refused(void **state)
{
	own(buf_done) struct buf message = {0};
	own(buf_done) struct buf bytes = {0};
	char name[HOST_MAX + 1];

	(void)state;
	make_message(&message, OK_PREFIX, SNI);
	buf_char(&message, 0);
	message.data[3]++; /* its length */
	put_records(&bytes, message.data, message.len, message.len);
	assert_int_equal(read_buf(&bytes, name), HELLO_BAD);
}

/* A hello that fills `size` bytes with an extension of padding. */
static void make_long(struct buf *ret, size_t size)
{
	own(buf_done) struct buf message = {0};
	own(buf_done) struct buf extensions = {0};

	size_t padding = size - 5 - 4 - strlen(OK_PREFIX) / 2 - 2 - strlen(SNI) / 2 - 4;
	buf_str(&extensions, SNI "0015");
	buf_fmt(&extensions, "%04zx", padding);
	for (size_t i = 0; i < padding; i++)
		buf_str(&extensions, "00");
	make_message(&message, OK_PREFIX, buf_text(&extensions));
	put_records(ret, message.data, message.len, message.len);
	assert_int_equal(ret->len, size);
}

static void a_hello_longer_than_the_maximum_is_refused(void **state)
{
	own(buf_done) struct buf fits = {0};
	own(buf_done) struct buf longer = {0};
	char name[HOST_MAX + 1];

	(void)state;
	make_long(&fits, HELLO_MAX);
	make_long(&longer, HELLO_MAX + 1);
	assert_int_equal(read_buf(&fits, name), HELLO_OK);
	assert_int_equal(read_buf(&longer, name), HELLO_BAD);
	assert_int_equal(hello_read((const uint8_t *)longer.data, HELLO_MAX - 1, name), HELLO_MORE);
	assert_int_equal(hello_read((const uint8_t *)longer.data, HELLO_MAX, name), HELLO_BAD);
}

static void every_verdict_has_a_reason(void **state)
{
	(void)state;
	for (int i = HELLO_MORE; i <= HELLO_BAD; i++)
		assert_int_equal(strlen(hello_reason((enum hello)i)) > 0, i != HELLO_OK);
}

/* ---- a second hello ---- */

#define OTHER_SNI "0000000e000c000009622e6578616d706c65" /* b.example */
#define EARLY "002a0000"
#define CHANGE "140303000101"
#define DATA "170303000568656c6c6f"
#define KEY_EXCHANGE "160303000510000001aa"
#define FINISHED "16030300280100000000000000aabbccddeeff00112233445566778899aabbccddeeff001122334455667788" /* its nonce begins with 1 */

static void put_hello(struct buf *out, const char *extensions, size_t step)
{
	own(buf_done) struct buf message = {0};

	make_message(&message, OK_PREFIX, extensions);
	put_records(out, message.data, message.len, step ? step : message.len);
}

/* The first hello with `first` and then `next`, which is a second hello if it is one's extensions, in pieces of `step`. */
static enum hello_watched watch(const char *first, const char *between, const char *second, size_t records, size_t step)
{
	struct hello_watch watch = {0};
	own(buf_done) struct buf bytes = {0};
	enum hello_watched watched;

	put_hello(&bytes, first, 0);
	size_t hello = bytes.len;
	unhex(between, &bytes);
	if (second)
		put_hello(&bytes, second, records);
	watched = hello_watch_first(&watch, "a.example", (const uint8_t *)bytes.data, hello);
	for (size_t at = hello; at < bytes.len && watched == WATCH_ON; at += step)
		watched = hello_watch(&watch, "a.example", (const uint8_t *)bytes.data + at, bytes.len - at < step ? bytes.len - at : step);
	hello_watch_done(&watch);
	return watched;
}

static void a_second_hello_is_held_to_the_name_of_the_first(void **state)
{
	static const struct {
		const char *first, *between, *second;
		size_t records;
		enum hello_watched watched;
	} rows[] = {
		{SNI, "", SNI, 0, WATCH_OVER},
		{SNI, CHANGE, SNI, 0, WATCH_OVER},
		{SNI, "", OTHER_SNI, 0, WATCH_BAD},
		{SNI, CHANGE, OTHER_SNI, 0, WATCH_BAD},
		{SNI, CHANGE CHANGE, OTHER_SNI, 1, WATCH_BAD}, /* a byte in each record */
		{SNI, CHANGE, OTHER_SNI, 7, WATCH_BAD},
		{SNI, CHANGE, OTHER_SNI, 20, WATCH_BAD},
		{SNI, "15030300020100", OTHER_SNI, 0, WATCH_BAD}, /* after a warning */
		{SNI, "", GROUPS, 0, WATCH_BAD}, /* names nobody */
		{SNI, "", SNI ECH, 0, WATCH_BAD},
		{SNI, DATA, NULL, 0, WATCH_OVER}, /* TLS 1.3 has begun */
		{SNI, CHANGE DATA, NULL, 0, WATCH_OVER},
		{SNI EARLY, DATA, NULL, 0, WATCH_ON},
		{SNI EARLY, DATA DATA CHANGE, OTHER_SNI, 0, WATCH_BAD}, /* early data, and then asked for another one */
		{SNI EARLY, DATA DATA CHANGE, SNI, 0, WATCH_OVER},
		{SNI, KEY_EXCHANGE, NULL, 0, WATCH_OVER}, /* TLS 1.2 goes on */
		{SNI, CHANGE FINISHED, NULL, 0, WATCH_OVER}, /* and where it is resumed */
		{SNI, "4745542f20", NULL, 0, WATCH_BAD}, /* no TLS any more */
		{SNI, "", NULL, 0, WATCH_ON},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 400; step += step < 20 ? 1 : 60) {
			enum hello_watched got = watch(rows[i].first, rows[i].between, rows[i].second, rows[i].records, step);
			if (got != rows[i].watched)
				fail_msg("row %zu in pieces of %zu is %d", i, step, got);
		}
}

static void what_comes_with_the_first_hello_is_watched_as_well(void **state)
{
	static const char *const second[] = {SNI, OTHER_SNI};
	static const enum hello_watched expected[] = {WATCH_OVER, WATCH_BAD};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(second); i++) {
		struct hello_watch watch = {0};
		own(buf_done) struct buf bytes = {0};
		put_hello(&bytes, SNI, 9);
		put_hello(&bytes, second[i], 0);
		assert_int_equal(hello_watch_first(&watch, "a.example", (const uint8_t *)bytes.data, bytes.len), expected[i]);
		hello_watch_done(&watch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_clients_say_whom_they_want),
		cmocka_unit_test(every_beginning_of_a_hello_needs_more),
		cmocka_unit_test(a_hello_may_be_split_over_records),
		cmocka_unit_test(what_is_not_tls_is_known_by_its_first_bytes),
		cmocka_unit_test(damaged_records_are_refused),
		cmocka_unit_test(extensions_decide),
		cmocka_unit_test(what_comes_before_the_extensions_must_be_sound),
		cmocka_unit_test(bytes_after_the_extensions_are_refused),
		cmocka_unit_test(a_hello_longer_than_the_maximum_is_refused),
		cmocka_unit_test(every_verdict_has_a_reason),
		cmocka_unit_test(a_second_hello_is_held_to_the_name_of_the_first),
		cmocka_unit_test(what_comes_with_the_first_hello_is_watched_as_well),
	};
	return cmocka_run_group_tests_name("door hello", tests, NULL, NULL);
}
