#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/own.h"
#include "net/name.h"

struct row {
	const char *bytes;
	size_t len; /* 0: up to the NUL */
	enum host_kind kind;
	const char *canonical; /* of a name */
};
#define BYTES(text) text, sizeof(text) - 1
#define LABEL63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"
#define LABEL61 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi"
#define LONGEST LABEL63 "." LABEL63 "." LABEL63 "." LABEL61
_Static_assert(sizeof(LONGEST) == HOST_MAX + 1, "the longest name is as long as any may be");

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = rows[i].len > 0 ? rows[i].len : strlen(rows[i].bytes);
		/* Exactly as long as it is, for AddressSanitizer to see what is read behind it. */
		own(freep) char *bytes = malloc(len > 0 ? len : 1);
		char canonical[HOST_MAX + 1] = "untouched", again[HOST_MAX + 1];
		assert_non_null(bytes);
		memcpy(bytes, rows[i].bytes, len);
		enum host_kind kind = host_canonical(bytes, len, canonical);
		if (kind != rows[i].kind)
			fail_msg("'%s' is of kind %d, not %d", rows[i].bytes, kind, rows[i].kind);
		assert_string_equal(canonical, kind == HOST_NAME ? rows[i].canonical : "untouched");
		if (kind != HOST_NAME)
			continue;
		assert_int_equal(host_canonical(canonical, strlen(canonical), again), HOST_NAME);
		assert_string_equal(again, canonical);
	}
}

static void a_name_has_one_form_whatever_its_case_and_with_or_without_a_last_dot(void **state)
{
	static const struct row rows[] = {
		{"example.com", 0, HOST_NAME, "example.com"},
		{"example.com.", 0, HOST_NAME, "example.com"},
		{"EXAMPLE.com", 0, HOST_NAME, "example.com"},
		{"eXaMpLe.CoM.", 0, HOST_NAME, "example.com"},
		{"localhost", 0, HOST_NAME, "localhost"},
		{"a", 0, HOST_NAME, "a"},
		{"a-b.c--d.e", 0, HOST_NAME, "a-b.c--d.e"},
		{"XN--BCHER-KVA.example", 0, HOST_NAME, "xn--bcher-kva.example"},
		{"1password.com", 0, HOST_NAME, "1password.com"},
		{"1.2.3.4.example", 0, HOST_NAME, "1.2.3.4.example"},
		{"127.0.0.1.nip.io", 0, HOST_NAME, "127.0.0.1.nip.io"},
		{"0xg", 0, HOST_NAME, "0xg"},
		{"0x7f.0x7f000001z", 0, HOST_NAME, "0x7f.0x7f000001z"},
		{"7f000001", 0, HOST_NAME, "7f000001"},
		{"x0", 0, HOST_NAME, "x0"},
		{"1-2", 0, HOST_NAME, "1-2"},
		{LABEL63, 0, HOST_NAME, LABEL63},
		{LONGEST, 0, HOST_NAME, LONGEST},
		{LONGEST ".", 0, HOST_NAME, LONGEST},
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void an_address_is_one_in_every_spelling(void **state)
{
	static const struct row rows[] = {
		{"127.0.0.1", 0, HOST_LITERAL},
		{"127.0.0.1.", 0, HOST_LITERAL},
		{"127.1", 0, HOST_LITERAL},
		{"127.0.1", 0, HOST_LITERAL},
		{"0x7f000001", 0, HOST_LITERAL},
		{"0X7F000001", 0, HOST_LITERAL},
		{"0x7f.1", 0, HOST_LITERAL},
		{"0x7f.0.0.0x1", 0, HOST_LITERAL},
		{"2130706433", 0, HOST_LITERAL},
		{"2130706433.", 0, HOST_LITERAL},
		{"017700000001", 0, HOST_LITERAL},
		{"0177.0.0.01", 0, HOST_LITERAL},
		{"0", 0, HOST_LITERAL},
		{"0.", 0, HOST_LITERAL},
		{"00000000000000000000000000", 0, HOST_LITERAL},
		{"0x", 0, HOST_LITERAL},
		{"0x0", 0, HOST_LITERAL},
		{"0.0.0.0", 0, HOST_LITERAL},
		{"08.08.08.08", 0, HOST_LITERAL},
		{"8.8.8.8", 0, HOST_LITERAL},
		{"256.256.256.256", 0, HOST_LITERAL},
		{"1.2.3.4.5", 0, HOST_LITERAL},
		{"99999999999999999999", 0, HOST_LITERAL},
		{"169.254.169.254", 0, HOST_LITERAL},
		{"0xa9fea9fe", 0, HOST_LITERAL},
		{"2852039166", 0, HOST_LITERAL},
		{"example.1", 0, HOST_LITERAL},
		{"example.0x1f", 0, HOST_LITERAL},
		{"::", 0, HOST_LITERAL},
		{"::1", 0, HOST_LITERAL},
		{"[::1]", 0, HOST_LITERAL},
		{"[::]", 0, HOST_LITERAL},
		{"[0:0:0:0:0:0:0:1]", 0, HOST_LITERAL},
		{"[::ffff:127.0.0.1]", 0, HOST_LITERAL},
		{"::ffff:7f00:1", 0, HOST_LITERAL},
		{"[64:ff9b::127.0.0.1]", 0, HOST_LITERAL},
		{"2001:4860:4860::8888", 0, HOST_LITERAL},
		{"[FE80::1]", 0, HOST_LITERAL},
		{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", 0, HOST_LITERAL},
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void what_has_a_byte_that_no_name_has_is_neither(void **state)
{
	static const struct row rows[] = {
		{"", 0, HOST_BAD},
		{".", 0, HOST_BAD},
		{"..", 0, HOST_BAD},
		{".example.com", 0, HOST_BAD},
		{"example..com", 0, HOST_BAD},
		{"example.com..", 0, HOST_BAD},
		{"127.0.0.1..", 0, HOST_BAD},
		{"-example.com", 0, HOST_BAD},
		{"example-.com", 0, HOST_BAD},
		{"example.-", 0, HOST_BAD},
		{"-1", 0, HOST_BAD},
		{"exa_mple.com", 0, HOST_BAD},
		{"*.example.com", 0, HOST_BAD},
		{"*", 0, HOST_BAD},
		{"example.com ", 0, HOST_BAD},
		{" example.com", 0, HOST_BAD},
		{"exam ple.com", 0, HOST_BAD},
		{"example.com\t", 0, HOST_BAD},
		{"example.com\r\n", 0, HOST_BAD},
		{"example.com\nevil.com", 0, HOST_BAD},
		{"127.0.0.1 x", 0, HOST_BAD},
		{"user@example.com", 0, HOST_BAD},
		{"user:word@example.com", 0, HOST_BAD},
		{"example.com@evil.com", 0, HOST_BAD},
		{"example.com:443", 0, HOST_BAD},
		{"example.com/", 0, HOST_BAD},
		{"http://example.com", 0, HOST_BAD},
		{"example.com#", 0, HOST_BAD},
		{"example.com?", 0, HOST_BAD},
		{"example.com\\", 0, HOST_BAD},
		{"example%2ecom", 0, HOST_BAD},
		{"%65xample.com", 0, HOST_BAD},
		{"example.com%00", 0, HOST_BAD},
		{"example\xef\xbc\x8e" "com", 0, HOST_BAD}, /* a full-width dot */
		{"example\xe3\x80\x82" "com", 0, HOST_BAD}, /* an ideographic one */
		{"example\xef\xbd\xa1" "com", 0, HOST_BAD}, /* and a half-width one of these */
		{"\xef\xbd\x85xample.com", 0, HOST_BAD}, /* a full-width e */
		{"ex\xd0\xb0mple.com", 0, HOST_BAD}, /* a Cyrillic a */
		{"b\xc3\xbc" "cher.example", 0, HOST_BAD},
		{"\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.1", 0, HOST_BAD}, /* circled digits */
		{"example\xc2\xad.com", 0, HOST_BAD}, /* a soft hyphen */
		{"example.com\xe2\x80\x8b", 0, HOST_BAD}, /* of no width */
		{"ex\xe2\x80\xae" "ample.com", 0, HOST_BAD}, /* right to left */
		{"\xe2\x84\xaa.com", 0, HOST_BAD}, /* a Kelvin sign, whose lower case is k */
		{"\xff\xfe", 0, HOST_BAD},
		{BYTES("evil.com\0.example.com"), HOST_BAD},
		{BYTES("example.com\0"), HOST_BAD},
		{BYTES("example.com\0.evil.com"), HOST_BAD},
		{BYTES("\0example.com"), HOST_BAD},
		{BYTES("\0"), HOST_BAD},
		{BYTES("127.0.0.1\0"), HOST_BAD},
		{BYTES("::1\0"), HOST_BAD},
		{"[::1", 0, HOST_BAD},
		{"::1]", 0, HOST_BAD},
		{"[]", 0, HOST_BAD},
		{"[", 0, HOST_BAD},
		{"[[::1]]", 0, HOST_BAD},
		{"[127.0.0.1]", 0, HOST_BAD},
		{"[example.com]", 0, HOST_BAD},
		{"[::1].", 0, HOST_BAD},
		{"[::1]:443", 0, HOST_BAD},
		{"[fe80::1%eth0]", 0, HOST_BAD},
		{"[fe80::1%25eth0]", 0, HOST_BAD},
		{"fe80::1%1", 0, HOST_BAD},
		{"[v1.x]", 0, HOST_BAD},
		{":", 0, HOST_BAD},
		{":::", 0, HOST_BAD},
		{LABEL63 "l", 0, HOST_BAD},
		{LABEL63 "l.com", 0, HOST_BAD},
		{LONGEST "j", 0, HOST_BAD},
		{LONGEST "j.", 0, HOST_BAD},
		{LONGEST "..", 0, HOST_BAD},
		{LABEL63 "." LABEL63 "." LABEL63 "." LABEL63 "." LABEL63 "." LABEL63, 0, HOST_BAD},
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void no_byte_but_letters_digits_hyphens_and_dots_is_in_a_name(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char name[] = "exa?ple.com", canonical[HOST_MAX + 1];
		name[3] = (char)c;
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '-' || c == '.';
		if ((host_canonical(name, sizeof(name) - 1, canonical) == HOST_NAME) != fine)
			fail_msg("byte 0x%02x was %s", (unsigned)c, fine ? "refused" : "taken");
	}
}

static void an_encoded_name_is_told_by_any_of_its_labels(void **state)
{
	static const struct {
		const char *name;
		bool encoded;
	} cases[] = {
		{"xn--bcher-kva.example", true},
		{"www.xn--bcher-kva.example", true},
		{"example.xn--p1ai", true},
		{"xn--", true},
		{"axn--b.example", false},
		{"xn-a.example", false},
		{"example.com", false},
		{"xn", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (host_is_encoded(cases[i].name) != cases[i].encoded)
			fail_msg("'%s'", cases[i].name);
}

static enum address_class classify(const char *text)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		address.ss_family = AF_INET;
		return address_classify((struct sockaddr *)&address);
	}
	memset(&address, 0, sizeof(address));
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) != 1)
		fail_msg("'%s' is no address", text);
	address.ss_family = AF_INET6;
	return address_classify((struct sockaddr *)&address);
}

struct place {
	const char *address;
	enum address_class class;
};

static void check_places(const struct place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum address_class class = classify(places[i].address);
		if (class != places[i].class)
			fail_msg("%s is %s, not %s", places[i].address, address_class_name(class),
				address_class_name(places[i].class));
	}
}

static void every_range_of_ipv4_that_is_not_public_ends_where_it_ends(void **state)
{
	static const struct place places[] = {
		{"0.0.0.0", ADDRESS_RESERVED},
		{"0.0.0.1", ADDRESS_RESERVED},
		{"0.255.255.255", ADDRESS_RESERVED},
		{"1.0.0.0", ADDRESS_PUBLIC},
		{"1.1.1.1", ADDRESS_PUBLIC},
		{"8.8.8.8", ADDRESS_PUBLIC},
		{"9.255.255.255", ADDRESS_PUBLIC},
		{"10.0.0.0", ADDRESS_PRIVATE},
		{"10.255.255.255", ADDRESS_PRIVATE},
		{"11.0.0.0", ADDRESS_PUBLIC},
		{"100.63.255.255", ADDRESS_PUBLIC},
		{"100.64.0.0", ADDRESS_SHARED},
		{"100.100.100.200", ADDRESS_SHARED}, /* a metadata service */
		{"100.127.255.255", ADDRESS_SHARED},
		{"100.128.0.0", ADDRESS_PUBLIC},
		{"126.255.255.255", ADDRESS_PUBLIC},
		{"127.0.0.0", ADDRESS_LOOPBACK},
		{"127.0.0.1", ADDRESS_LOOPBACK},
		{"127.255.255.255", ADDRESS_LOOPBACK},
		{"128.0.0.0", ADDRESS_PUBLIC},
		{"168.63.129.15", ADDRESS_PUBLIC},
		{"168.63.129.16", ADDRESS_LINK},
		{"168.63.129.17", ADDRESS_PUBLIC},
		{"169.253.255.255", ADDRESS_PUBLIC},
		{"169.254.0.0", ADDRESS_LINK},
		{"169.254.169.254", ADDRESS_LINK},
		{"169.254.170.2", ADDRESS_LINK},
		{"169.254.255.255", ADDRESS_LINK},
		{"169.255.0.0", ADDRESS_PUBLIC},
		{"172.15.255.255", ADDRESS_PUBLIC},
		{"172.16.0.0", ADDRESS_PRIVATE},
		{"172.31.255.255", ADDRESS_PRIVATE},
		{"172.32.0.0", ADDRESS_PUBLIC},
		{"191.255.255.255", ADDRESS_PUBLIC},
		{"192.0.0.0", ADDRESS_RESERVED},
		{"192.0.0.192", ADDRESS_RESERVED}, /* a metadata service */
		{"192.0.0.255", ADDRESS_RESERVED},
		{"192.0.1.0", ADDRESS_PUBLIC},
		{"192.0.1.255", ADDRESS_PUBLIC},
		{"192.0.2.0", ADDRESS_RESERVED},
		{"192.0.2.255", ADDRESS_RESERVED},
		{"192.0.3.0", ADDRESS_PUBLIC},
		{"192.88.98.255", ADDRESS_PUBLIC},
		{"192.88.99.0", ADDRESS_RESERVED},
		{"192.88.99.255", ADDRESS_RESERVED},
		{"192.88.100.0", ADDRESS_PUBLIC},
		{"192.167.255.255", ADDRESS_PUBLIC},
		{"192.168.0.0", ADDRESS_PRIVATE},
		{"192.168.255.255", ADDRESS_PRIVATE},
		{"192.169.0.0", ADDRESS_PUBLIC},
		{"198.17.255.255", ADDRESS_PUBLIC},
		{"198.18.0.0", ADDRESS_RESERVED},
		{"198.19.255.255", ADDRESS_RESERVED},
		{"198.20.0.0", ADDRESS_PUBLIC},
		{"198.51.99.255", ADDRESS_PUBLIC},
		{"198.51.100.0", ADDRESS_RESERVED},
		{"198.51.100.255", ADDRESS_RESERVED},
		{"198.51.101.0", ADDRESS_PUBLIC},
		{"203.0.112.255", ADDRESS_PUBLIC},
		{"203.0.113.0", ADDRESS_RESERVED},
		{"203.0.113.255", ADDRESS_RESERVED},
		{"203.0.114.0", ADDRESS_PUBLIC},
		{"223.255.255.255", ADDRESS_PUBLIC},
		{"224.0.0.0", ADDRESS_MULTICAST},
		{"239.255.255.255", ADDRESS_MULTICAST},
		{"240.0.0.0", ADDRESS_RESERVED},
		{"255.255.255.254", ADDRESS_RESERVED},
		{"255.255.255.255", ADDRESS_MULTICAST},
	};

	(void)state;
	check_places(places, ARRAY_LEN(places));
}

static void every_range_of_ipv6_that_is_not_public_ends_where_it_ends(void **state)
{
	static const struct place places[] = {
		{"::", ADDRESS_RESERVED},
		{"::1", ADDRESS_LOOPBACK},
		{"100::", ADDRESS_RESERVED},
		{"100::ffff:ffff:ffff:ffff", ADDRESS_RESERVED},
		{"100:0:0:1::", ADDRESS_RESERVED},
		{"1fff:ffff::", ADDRESS_RESERVED},
		{"2000::", ADDRESS_PUBLIC},
		{"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PUBLIC},
		{"2001:1::1", ADDRESS_RESERVED},
		{"2001:2::", ADDRESS_RESERVED},
		{"2001:10::", ADDRESS_RESERVED},
		{"2001:20::", ADDRESS_RESERVED},
		{"2001:1ff:ffff::", ADDRESS_RESERVED},
		{"2001:200::", ADDRESS_PUBLIC},
		{"2001:db7:ffff::", ADDRESS_PUBLIC},
		{"2001:db8::", ADDRESS_RESERVED},
		{"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED},
		{"2001:db9::", ADDRESS_PUBLIC},
		{"2001:4860:4860::8888", ADDRESS_PUBLIC},
		{"2003::", ADDRESS_PUBLIC},
		{"2606:4700::1111", ADDRESS_PUBLIC},
		{"3ffe:ffff::", ADDRESS_PUBLIC},
		{"3fff::", ADDRESS_RESERVED},
		{"3fff:fff:ffff::", ADDRESS_RESERVED},
		{"3fff:1000::", ADDRESS_PUBLIC},
		{"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PUBLIC},
		{"4000::", ADDRESS_RESERVED},
		{"5f00::1", ADDRESS_RESERVED},
		{"fbff:ffff::", ADDRESS_RESERVED},
		{"fc00::", ADDRESS_PRIVATE},
		{"fd00:ec2::254", ADDRESS_PRIVATE}, /* a metadata service */
		{"fd20:ce::254", ADDRESS_PRIVATE}, /* and another */
		{"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PRIVATE},
		{"fe00::", ADDRESS_RESERVED},
		{"fe7f:ffff::", ADDRESS_RESERVED},
		{"fe80::", ADDRESS_LINK},
		{"fe80::a9fe:a9fe", ADDRESS_LINK},
		{"febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_LINK},
		{"fec0::", ADDRESS_PRIVATE},
		{"feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PRIVATE},
		{"ff00::", ADDRESS_MULTICAST},
		{"ff02::1", ADDRESS_MULTICAST},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_MULTICAST},
	};

	(void)state;
	check_places(places, ARRAY_LEN(places));
}

static void an_ipv4_address_inside_an_ipv6_one_is_never_public(void **state)
{
	static const struct place places[] = {
		{"::2", ADDRESS_MAPPED},
		{"::7f00:1", ADDRESS_MAPPED},
		{"::127.0.0.1", ADDRESS_MAPPED},
		{"::8.8.8.8", ADDRESS_MAPPED},
		{"::ffff:ffff", ADDRESS_MAPPED},
		{"::1:0:0", ADDRESS_RESERVED},
		{"::fffe:ffff:ffff", ADDRESS_RESERVED},
		{"::ffff:0:0", ADDRESS_MAPPED},
		{"::ffff:127.0.0.1", ADDRESS_MAPPED},
		{"::ffff:10.0.0.1", ADDRESS_MAPPED},
		{"::ffff:169.254.169.254", ADDRESS_MAPPED},
		{"::ffff:8.8.8.8", ADDRESS_MAPPED},
		{"::ffff:255.255.255.255", ADDRESS_MAPPED},
		{"::1:0:0:0", ADDRESS_RESERVED},
		{"::ffff:0:127.0.0.1", ADDRESS_MAPPED},
		{"::ffff:1:0:0", ADDRESS_RESERVED},
		{"64:ff9a:ffff::", ADDRESS_RESERVED},
		{"64:ff9b::", ADDRESS_MAPPED},
		{"64:ff9b::127.0.0.1", ADDRESS_MAPPED},
		{"64:ff9b::255.255.255.255", ADDRESS_MAPPED},
		{"64:ff9b::1:0:0", ADDRESS_RESERVED},
		{"64:ff9b:1::10.0.0.1", ADDRESS_MAPPED},
		{"64:ff9b:1:ffff:ffff:ffff:ffff:ffff", ADDRESS_MAPPED},
		{"64:ff9b:2::", ADDRESS_RESERVED},
		{"2001::", ADDRESS_MAPPED},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", ADDRESS_MAPPED},
		{"2001:0:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_MAPPED},
		{"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PUBLIC},
		{"2002::", ADDRESS_MAPPED},
		{"2002:7f00:1::", ADDRESS_MAPPED},
		{"2002:a9fe:a9fe::1", ADDRESS_MAPPED},
		{"2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_MAPPED},
		{"2606:4700::5efe:127.0.0.1", ADDRESS_MAPPED},
		{"2606:4700::200:5efe:10.0.0.1", ADDRESS_MAPPED},
		{"2606:4700::100:5efe:10.0.0.1", ADDRESS_PUBLIC},
		{"2606:4700::5eff:10.0.0.1", ADDRESS_PUBLIC},
		{"fe80::5efe:10.0.0.1", ADDRESS_LINK},
	};

	(void)state;
	check_places(places, ARRAY_LEN(places));
}

static void what_is_no_internet_address_is_told_apart(void **state)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
	struct sockaddr nothing = {.sa_family = AF_UNSPEC};

	(void)state;
	assert_int_equal(address_classify((struct sockaddr *)&path), ADDRESS_OTHER);
	assert_int_equal(address_classify(&nothing), ADDRESS_OTHER);
}

static void every_class_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < ADDRESS_CLASS_COUNT; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(address_class_name((enum address_class)i),
				address_class_name((enum address_class)j));
	assert_string_equal(address_class_name(ADDRESS_LINK), "link-local");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_name_has_one_form_whatever_its_case_and_with_or_without_a_last_dot),
		cmocka_unit_test(an_address_is_one_in_every_spelling),
		cmocka_unit_test(what_has_a_byte_that_no_name_has_is_neither),
		cmocka_unit_test(no_byte_but_letters_digits_hyphens_and_dots_is_in_a_name),
		cmocka_unit_test(an_encoded_name_is_told_by_any_of_its_labels),
		cmocka_unit_test(every_range_of_ipv4_that_is_not_public_ends_where_it_ends),
		cmocka_unit_test(every_range_of_ipv6_that_is_not_public_ends_where_it_ends),
		cmocka_unit_test(an_ipv4_address_inside_an_ipv6_one_is_never_public),
		cmocka_unit_test(what_is_no_internet_address_is_told_apart),
		cmocka_unit_test(every_class_has_a_name_of_its_own),
	};
	return cmocka_run_group_tests_name("door name", tests, NULL, NULL);
}
