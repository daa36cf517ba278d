#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "door/policy/rules.h"

static struct door_rules rules_of(const char *const *texts)
{
	struct door_rules rules = {0};
	struct err err = {0};

	for (; *texts; texts++)
		if (rules_add(&rules, *texts, &err) < 0)
			fail_msg("'%s' was refused: %s", *texts, err.text);
	return rules;
}
#define RULES(...) rules_of((const char *const[]){__VA_ARGS__, NULL})

/* ---- reading rules ---- */

static void a_rule_is_understood_in_one_form(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"example.com", "example.com:443"},
		{"example.com:443", "example.com:443"},
		{"EXAMPLE.Com.:443", "example.com:443"},
		{"example.com:80", "example.com:80"},
		{"example.com:1", "example.com:1"},
		{"example.com:65535", "example.com:65535"},
		{"example.com,private", "example.com:443,private"},
		{"example.com:8080,private", "example.com:8080,private"},
		{"*.example.com", "*.example.com:443"},
		{"*.Example.COM.:80,private", "*.example.com:80,private"},
		{"*.a.b.c.d", "*.a.b.c.d:443"},
		{"localhost:8080,private", "localhost:8080,private"},
		{"db", "db:443"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example:443"},
		{"1password.com", "1password.com:443"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(rules_done) struct door_rules rules = RULES(cases[i].text);
		own(rules_done) struct door_rules again = {0};
		own(buf_done) struct buf text = {0}, text_again = {0};
		struct err err;
		assert_int_equal(rules.count, 1);
		rule_text(&rules.items[0], &text);
		assert_string_equal(buf_text(&text), cases[i].expected);
		assert_int_equal(rules_add(&again, buf_text(&text), &err), 0);
		rule_text(&again.items[0], &text_again);
		assert_string_equal(buf_text(&text_again), buf_text(&text));
	}
}

static void what_is_no_rule_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "no host name"},
		{".", "no host name"},
		{":443", "no host name"},
		{",private", "no host name"},
		{"-a.example.com", "no host name"},
		{"a..example.com", "no host name"},
		{"example.com..", "no host name"},
		{"exam ple.com", "no host name"},
		{" example.com", "no host name"},
		{"example.com\n", "no host name"},
		{"example.com%00", "no host name"},
		{"b\xc3\xbc" "cher.example", "xn-- form"},
		{"\x1b[31mexample.com", "no host name"},
		{"*.-a.com", "no host name"},
		{"*..com", "no host name"},
		{"*", "no rule allows everything"},
		{"*:443", "no rule allows everything"},
		{"*.", "fewer than two labels"},
		{"*.:443", "fewer than two labels"},
		{"*.com", "fewer than two labels"},
		{"*.com.", "fewer than two labels"},
		{"*.COM:80,private", "fewer than two labels"},
		{"*.localhost", "fewer than two labels"},
		{"*.*.com", "the first labels alone"},
		{"*example.com", "the first labels alone"},
		{"a.*.example.com", "the first labels alone"},
		{"example.*", "the first labels alone"},
		{"**.example.com", "the first labels alone"},
		{"*.xn--bcher-kva.example", "one by one"},
		{"*.example.xn--p1ai", "one by one"},
		{"127.0.0.1", "--service"},
		{"127.0.0.1:443", "--service"},
		{"10.0.0.1,private", "--service"},
		{"0x7f000001", "--service"},
		{"2130706433", "--service"},
		{"0", "--service"},
		{"127.1.:80", "--service"},
		{"*.0.0.1", "--service"},
		{"::1", "--service"},
		{"[::1]", "--service"},
		{"[::1]:443", "--service"},
		{"::ffff:127.0.0.1", "--service"},
		{"fe80::1,private", "--service"},
		{"example.com:", "a port from 1 to 65535"},
		{"example.com:0", "a port from 1 to 65535"},
		{"example.com:65536", "a port from 1 to 65535"},
		{"example.com:99999999999999999999999", "a port from 1 to 65535"},
		{"example.com:-1", "a port from 1 to 65535"},
		{"example.com:+1", "a port from 1 to 65535"},
		{"example.com:0x50", "a port from 1 to 65535"},
		{"example.com:https", "a port from 1 to 65535"},
		{"example.com:*", "a port from 1 to 65535"},
		{"example.com:80-90", "a port from 1 to 65535"},
		{"example.com: 80", "a port from 1 to 65535"},
		{"example.com:80:90", "no host name"},
		{"example.com,", "nothing but 'private'"},
		{"example.com,Private", "nothing but 'private'"},
		{"example.com,private,private", "nothing but 'private'"},
		{"example.com,public", "nothing but 'private'"},
		{"example.com,example.org", "nothing but 'private'"},
		{"example.com,private:80", "nothing but 'private'"},
		{"https://example.com", "without a scheme or a path"},
		{"https://example.com:443/", "without a scheme or a path"},
		{"example.com/v1", "without a scheme or a path"},
		{"user@example.com", "no user"},
		{"@", "there are @anthropic, @openai"},
		{"@nobody", "there are @anthropic, @openai"},
		{"@Anthropic", "there is no such preset"},
		{"@anthropic,private", "there is no such preset"},
		{"@anthropic:80", "there is no such preset"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(rules_done) struct door_rules rules = {0};
		struct err err = {0};
		if (rules_add(&rules, cases[i].text, &err) == 0)
			fail_msg("'%s' was taken", cases[i].text);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(strncmp(err.text, "--allow '", 9), 0);
		if (!strstr(err.text, cases[i].why))
			fail_msg("'%s' was refused with: %s", cases[i].text, err.text);
		assert_null(strpbrk(err.text, "\x1b\n"));
		assert_int_equal(rules.count, 0);
	}
}

static void a_long_text_is_refused_in_a_short_sentence(void **state)
{
	own(rules_done) struct door_rules rules = {0};
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_str(&text, "a.");
	assert_int_equal(rules_add(&rules, buf_text(&text), &err), -1);
	assert_non_null(strstr(err.text, "...': it is no host name"));
}

static void the_same_rule_twice_is_one_and_private_if_either_is(void **state)
{
	own(rules_done) struct door_rules rules = RULES("example.com", "EXAMPLE.com.:443",
		"*.example.com", "example.com:80", "example.com,private", "example.com");

	(void)state;
	assert_int_equal(rules.count, 3);
	assert_true(rules.items[0].private_ok);
	assert_false(rules.items[1].private_ok);
	assert_false(rules.items[2].private_ok);
}

static void a_thousand_rules_are_taken_and_no_more(void **state)
{
	own(rules_done) struct door_rules rules = {0};
	struct err err = {0};
	char text[64];

	(void)state;
	for (int i = 0; i < RULES_MAX - 1; i++) {
		(void)snprintf(text, sizeof(text), "host%d.example.com", i);
		assert_int_equal(rules_add(&rules, text, &err), 0);
	}
	assert_int_equal(rules_add(&rules, "@anthropic", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(rules.count, RULES_MAX - 1); /* nothing of the preset stayed */
	assert_int_equal(rules_add(&rules, "last.example.com", &err), 0);
	assert_int_equal(rules_add(&rules, "one.more.example.com", &err), -1);
	assert_non_null(strstr(err.text, "1000"));
	assert_int_equal(rules_add(&rules, "last.example.com", &err), 0);
	assert_int_equal(rules.count, RULES_MAX);
}

static void every_preset_is_made_of_public_names_that_are_then_allowed(void **state)
{
	(void)state;
	for (const struct rules_preset *preset = rules_presets; preset->name; preset++) {
		own(rules_done) struct door_rules rules = {0};
		own(buf_done) struct buf text = {0}, all = {0};
		struct err err = {0};
		buf_fmt(&text, "@%s", preset->name);
		if (rules_add(&rules, buf_text(&text), &err) < 0)
			fail_msg("%s: %s", buf_text(&text), err.text);
		for (size_t i = 0; i < rules.count; i++) {
			const struct door_rule *rule = &rules.items[i];
			assert_false(rule->below);
			assert_false(rule->private_ok);
			assert_ptr_equal(
				rules_judge(&rules, rule->host, strlen(rule->host), rule->port).rule,
				rule);
			buf_str(&all, i > 0 ? " " : "");
			rule_text(rule, &all);
		}
		/* The table says what is allowed, in full. */
		assert_string_equal(buf_text(&all), preset->rules);
	}
}

static void the_preset_of_anthropic_is_what_its_command_line_needs(void **state)
{
	own(rules_done) struct door_rules rules = RULES("@anthropic");
	static const char *const names[] = {
		"api.anthropic.com", "claude.ai", "statsig.anthropic.com"};

	(void)state;
	assert_int_equal(rules.count, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_non_null(rules_judge(&rules, names[i], strlen(names[i]), 443).rule);
	assert_null(rules_judge(&rules, "anthropic.com", 13, 443).rule);
	assert_null(rules_judge(&rules, "api.anthropic.com", 17, 80).rule);
}

/* ---- verdicts ---- */

struct judged {
	const char *host;
	unsigned port;
	unsigned status; /* 0: allowed */
	const char *canonical;
	const char *reason;
};

static void check(const struct door_rules *rules, const struct judged *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct door_verdict verdict =
			rules_judge(rules, cases[i].host, strlen(cases[i].host), cases[i].port);
		if (verdict.status != cases[i].status)
			fail_msg("'%s' port %u: %u, not %u", cases[i].host, cases[i].port,
				verdict.status, cases[i].status);
		assert_int_equal(verdict.rule != NULL, verdict.status == 0);
		assert_string_equal(verdict.host, cases[i].canonical);
		assert_string_equal(verdict.reason, cases[i].reason);
	}
}

#define NOT_ALLOWED "not on the allowlist"
#define NOT_THIS_PORT "not on the allowlist with this port"
#define ADDRESS "an address, not a name"
#define NO_NAME "not a host name"
#define NO_PORT "not a port"
#define ENCODED "an encoded name (xn--) that no rule names"

static void names_and_ports_on_the_list_are_allowed_in_any_spelling_and_nothing_else_is(
	void **state)
{
	own(rules_done) struct door_rules rules =
		RULES("allowed.com", "plain.org:80", "plain.org:8080", "db:5432");
	static const struct judged cases[] = {
		{"allowed.com", 443, 0, "allowed.com", ""},
		{"allowed.com.", 443, 0, "allowed.com", ""},
		{"ALLOWED.COM", 443, 0, "allowed.com", ""},
		{"AllowED.com.", 443, 0, "allowed.com", ""},
		{"plain.org", 80, 0, "plain.org", ""},
		{"plain.org", 8080, 0, "plain.org", ""},
		{"db", 5432, 0, "db", ""},
		{"plain.org", 443, 403, "plain.org", NOT_THIS_PORT},
		{"allowed.com", 80, 403, "allowed.com", NOT_THIS_PORT},
		{"allowed.com", 22, 403, "allowed.com", NOT_THIS_PORT},
		{"allowed.com", 0, 400, "allowed.com", NO_PORT},
		{"allowed.com", 65535, 403, "allowed.com", NOT_THIS_PORT},
		{"allowed.com", 65536, 400, "allowed.com", NO_PORT},
		{"allowed.com", 65536 + 443, 400, "allowed.com", NO_PORT},
		{"allowed.com", 99999, 400, "allowed.com", NO_PORT},
		{"allowed.com", UINT_MAX, 400, "allowed.com", NO_PORT},
		{"evilallowed.com", 443, 403, "evilallowed.com", NOT_ALLOWED},
		{"evil-allowed.com", 443, 403, "evil-allowed.com", NOT_ALLOWED},
		{"allowed.com.evil", 443, 403, "allowed.com.evil", NOT_ALLOWED},
		{"allowed.com.evil.com", 443, 403, "allowed.com.evil.com", NOT_ALLOWED},
		{"www.allowed.com", 443, 403, "www.allowed.com", NOT_ALLOWED},
		{"llowed.com", 443, 403, "llowed.com", NOT_ALLOWED},
		{"com", 443, 403, "com", NOT_ALLOWED},
		{"allowed", 443, 403, "allowed", NOT_ALLOWED},
		{"allowed.co", 443, 403, "allowed.co", NOT_ALLOWED},
		{"allowed.comm", 443, 403, "allowed.comm", NOT_ALLOWED},
		{"localhost", 443, 403, "localhost", NOT_ALLOWED},
		{"db.", 443, 403, "db", NOT_THIS_PORT},
		{"db.example", 5432, 403, "db.example", NOT_ALLOWED},
	};

	(void)state;
	check(&rules, cases, ARRAY_LEN(cases));
}

static void a_wildcard_is_what_is_below_at_a_label_boundary(void **state)
{
	own(rules_done) struct door_rules rules = RULES("*.allowed.com");
	static const struct judged cases[] = {
		{"a.allowed.com", 443, 0, "a.allowed.com", ""},
		{"A.Allowed.Com.", 443, 0, "a.allowed.com", ""},
		{"a.b.c.allowed.com", 443, 0, "a.b.c.allowed.com", ""},
		{"127.0.0.1.allowed.com", 443, 0, "127.0.0.1.allowed.com", ""},
		{"allowed.com", 443, 403, "allowed.com", NOT_ALLOWED},
		{"evilallowed.com", 443, 403, "evilallowed.com", NOT_ALLOWED},
		{"a.evilallowed.com", 443, 403, "a.evilallowed.com", NOT_ALLOWED},
		{"a.allowed.com.evil", 443, 403, "a.allowed.com.evil", NOT_ALLOWED},
		{"allowed.com.a", 443, 403, "allowed.com.a", NOT_ALLOWED},
		{"a.allowed.com", 80, 403, "a.allowed.com", NOT_THIS_PORT},
		{".allowed.com", 443, 400, "", NO_NAME},
		{"..allowed.com", 443, 400, "", NO_NAME},
		{"*.allowed.com", 443, 400, "", NO_NAME},
		{"xn--llowed-cua.allowed.com", 443, 400, "xn--llowed-cua.allowed.com", ENCODED},
	};

	(void)state;
	check(&rules, cases, ARRAY_LEN(cases));
}

static void no_address_is_allowed_in_any_spelling(void **state)
{
	own(rules_done) struct door_rules rules =
		RULES("*.allowed.com,private", "localhost,private", "allowed.com");
	static const struct judged cases[] = {
		{"127.0.0.1", 443, 403, "", ADDRESS},
		{"127.0.0.1.", 443, 403, "", ADDRESS},
		{"127.1", 443, 403, "", ADDRESS},
		{"0x7f000001", 443, 403, "", ADDRESS},
		{"0X7F000001", 443, 403, "", ADDRESS},
		{"2130706433", 443, 403, "", ADDRESS},
		{"017700000001", 443, 403, "", ADDRESS},
		{"0", 443, 403, "", ADDRESS},
		{"8.8.8.8", 443, 403, "", ADDRESS},
		{"169.254.169.254", 80, 403, "", ADDRESS},
		{"allowed.com.1", 443, 403, "", ADDRESS},
		{"[::1]", 443, 403, "", ADDRESS},
		{"::1", 443, 403, "", ADDRESS},
		{"[::ffff:127.0.0.1]", 443, 403, "", ADDRESS},
		{"2001:4860:4860::8888", 443, 403, "", ADDRESS},
		{"127.0.0.1", 0, 403, "", ADDRESS},
	};

	(void)state;
	check(&rules, cases, ARRAY_LEN(cases));
}

static void what_only_looks_like_an_allowed_name_is_no_name(void **state)
{
	own(rules_done) struct door_rules rules = RULES("allowed.com", "*.allowed.com");
	static const struct judged cases[] = {
		{"", 443, 400, "", NO_NAME},
		{"allowed.com..", 443, 400, "", NO_NAME},
		{"allowed\xef\xbc\x8e" "com", 443, 400, "", NO_NAME},
		{"allowed\xe3\x80\x82" "com", 443, 400, "", NO_NAME},
		{"\xd0\xb0llowed.com", 443, 400, "", NO_NAME},
		{"allowed%2ecom", 443, 400, "", NO_NAME},
		{"%61llowed.com", 443, 400, "", NO_NAME},
		{"evil.com%00.allowed.com", 443, 400, "", NO_NAME},
		{"user@allowed.com", 443, 400, "", NO_NAME},
		{"allowed.com@evil.com", 443, 400, "", NO_NAME},
		{"evil.com@allowed.com", 443, 400, "", NO_NAME},
		{"evil.com#.allowed.com", 443, 400, "", NO_NAME},
		{"evil.com/.allowed.com", 443, 400, "", NO_NAME},
		{"evil.com\\.allowed.com", 443, 400, "", NO_NAME},
		{"evil.com:443.allowed.com", 443, 400, "", NO_NAME},
		{"evil.com\r\n.allowed.com", 443, 400, "", NO_NAME},
		{"allowed.com ", 443, 400, "", NO_NAME},
		{"allowed.com\t", 443, 400, "", NO_NAME},
		{"_x.allowed.com", 443, 400, "", NO_NAME},
		{"xn--llowed-cua.com", 443, 400, "xn--llowed-cua.com", ENCODED},
		{"XN--LLOWED-cua.com", 443, 400, "xn--llowed-cua.com", ENCODED},
	};
	static const char before[] = "evil.com\0.allowed.com", after[] = "allowed.com\0.evil.com";

	(void)state;
	check(&rules, cases, ARRAY_LEN(cases));
	assert_int_equal(rules_judge(&rules, before, sizeof(before) - 1, 443).status, 400);
	assert_int_equal(rules_judge(&rules, after, sizeof(after) - 1, 443).status, 400);
	assert_int_equal(rules_judge(&rules, after, strlen(after) + 1, 443).status, 400);
	assert_null(rules_judge(&rules, before, sizeof(before) - 1, 443).rule);
}

static void every_byte_that_no_name_has_is_answered_400(void **state)
{
	own(rules_done) struct door_rules rules = RULES("*.allowed.com");

	(void)state;
	for (int c = 0; c < 256; c++) {
		char host[] = "a?b.allowed.com";
		host[1] = (char)c;
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '-' || c == '.';
		if (rules_judge(&rules, host, sizeof(host) - 1, 443).status != (fine ? 0u : 400u))
			fail_msg("byte 0x%02x", (unsigned)c);
	}
}

static void an_encoded_name_is_allowed_by_a_rule_that_is_that_name_alone(void **state)
{
	own(rules_done) struct door_rules rules =
		RULES("xn--bcher-kva.example", "*.example.com:8443", "xn--a.example.com:443");
	static const struct judged cases[] = {
		{"xn--bcher-kva.example", 443, 0, "xn--bcher-kva.example", ""},
		{"Xn--Bcher-KVA.example.", 443, 0, "xn--bcher-kva.example", ""},
		{"xn--bcher-kva.example", 80, 403, "xn--bcher-kva.example", NOT_THIS_PORT},
		{"www.xn--bcher-kva.example", 443, 400, "www.xn--bcher-kva.example", ENCODED},
		{"xn--a.example.com", 443, 0, "xn--a.example.com", ""},
		{"xn--a.example.com", 8443, 400, "xn--a.example.com", ENCODED},
		{"xn--b.example.com", 8443, 400, "xn--b.example.com", ENCODED},
		{"b.example.com", 8443, 0, "b.example.com", ""},
	};

	(void)state;
	check(&rules, cases, ARRAY_LEN(cases));
}

static void without_a_rule_nothing_is_allowed(void **state)
{
	struct door_rules rules = {0};
	static const struct judged cases[] = {
		{"example.com", 443, 403, "example.com", NOT_ALLOWED},
		{"localhost", 80, 403, "localhost", NOT_ALLOWED},
		{"a", 1, 403, "a", NOT_ALLOWED},
		{"127.0.0.1", 443, 403, "", ADDRESS},
		{"", 443, 400, "", NO_NAME},
		{"example.com", 0, 400, "example.com", NO_PORT},
	};

	(void)state;
	check(&rules, cases, ARRAY_LEN(cases));
}

static void the_closest_rule_counts_in_whatever_order_they_were_given(void **state)
{
	own(rules_done) struct door_rules forth = RULES("*.example.com,private", "*.a.example.com",
		"x.a.example.com,private", "x.example.com:80");
	own(rules_done) struct door_rules back = RULES("x.example.com:80",
		"x.a.example.com,private", "*.a.example.com", "*.example.com,private");
	static const struct {
		const char *host;
		bool private_ok;
	} cases[] = {
		{"y.example.com", true},
		{"x.example.com", true}, /* the rule that is this name has another port */
		{"a.example.com", true},
		{"y.a.example.com", false},
		{"y.z.a.example.com", false},
		{"x.a.example.com", true},
		{"y.x.a.example.com", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct door_verdict first =
			rules_judge(&forth, cases[i].host, strlen(cases[i].host), 443);
		struct door_verdict second =
			rules_judge(&back, cases[i].host, strlen(cases[i].host), 443);
		assert_non_null(first.rule);
		assert_non_null(second.rule);
		if (first.rule->private_ok != cases[i].private_ok ||
			second.rule->private_ok != cases[i].private_ok)
			fail_msg("%s", cases[i].host);
	}
}

/* ---- addresses ---- */

static bool address_ok(const struct door_rule *rule, const char *text, const char **ret_reason)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return address_allowed((struct sockaddr *)&in, rule->private_ok, ret_reason);
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return address_allowed((struct sockaddr *)&in6, rule->private_ok, ret_reason);
}

static void an_allowed_name_may_be_at_a_public_address_and_at_others_if_its_rule_says_private(
	void **state)
{
	static const struct {
		const char *address;
		bool ok, private_ok;
		const char *reason; /* without private */
	} cases[] = {
		{"8.8.8.8", true, true, ""},
		{"2606:4700::1111", true, true, ""},
		{"127.0.0.1", false, true, "resolves to a loopback address"},
		{"127.255.255.254", false, true, "resolves to a loopback address"},
		{"::1", false, true, "resolves to a loopback address"},
		{"10.1.2.3", false, true, "resolves to a private address"},
		{"172.16.0.1", false, true, "resolves to a private address"},
		{"192.168.1.1", false, true, "resolves to a private address"},
		{"fd00:ec2::254", false, true, "resolves to a private address"},
		{"100.64.0.1", false, true, "resolves to a shared address"},
		{"169.254.169.254", false, true, "resolves to a link-local address"},
		{"fe80::1", false, true, "resolves to a link-local address"},
		{"0.0.0.0", false, true, "resolves to a reserved address"},
		{"::", false, true, "resolves to a reserved address"},
		{"198.18.0.1", false, true, "resolves to a reserved address"},
		{"::ffff:127.0.0.1", false, true, "resolves to an IPv4 address inside an IPv6 one"},
		{"::ffff:8.8.8.8", false, true, "resolves to an IPv4 address inside an IPv6 one"},
		{"64:ff9b::a9fe:a9fe", false, true,
			"resolves to an IPv4 address inside an IPv6 one"},
		{"2002:7f00:1::", false, true, "resolves to an IPv4 address inside an IPv6 one"},
		{"224.0.0.1", false, false, "resolves to a multicast address"},
		{"255.255.255.255", false, false, "resolves to a multicast address"},
		{"ff02::1", false, false, "resolves to a multicast address"},
	};
	struct door_rule rule = {0}, private_rule = {.private_ok = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *reason = NULL, *private_reason = NULL;
		if (address_ok(&rule, cases[i].address, &reason) != cases[i].ok ||
			address_ok(&private_rule, cases[i].address, &private_reason) !=
				cases[i].private_ok)
			fail_msg("%s", cases[i].address);
		assert_string_equal(reason, cases[i].reason);
		assert_string_equal(private_reason, cases[i].private_ok ? "" : cases[i].reason);
	}
}

static void what_is_no_internet_address_is_refused_even_to_a_private_rule(void **state)
{
	struct sockaddr address = {.sa_family = AF_UNIX};
	const char *reason = NULL;

	(void)state;
	assert_false(address_allowed(&address, true, &reason));
	assert_string_equal(reason, "resolves to no internet address");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_understood_in_one_form),
		cmocka_unit_test(what_is_no_rule_is_refused_with_the_reason),
		cmocka_unit_test(a_long_text_is_refused_in_a_short_sentence),
		cmocka_unit_test(the_same_rule_twice_is_one_and_private_if_either_is),
		cmocka_unit_test(a_thousand_rules_are_taken_and_no_more),
		cmocka_unit_test(every_preset_is_made_of_public_names_that_are_then_allowed),
		cmocka_unit_test(the_preset_of_anthropic_is_what_its_command_line_needs),
		cmocka_unit_test(
			names_and_ports_on_the_list_are_allowed_in_any_spelling_and_nothing_else_is),
		cmocka_unit_test(a_wildcard_is_what_is_below_at_a_label_boundary),
		cmocka_unit_test(no_address_is_allowed_in_any_spelling),
		cmocka_unit_test(what_only_looks_like_an_allowed_name_is_no_name),
		cmocka_unit_test(every_byte_that_no_name_has_is_answered_400),
		cmocka_unit_test(an_encoded_name_is_allowed_by_a_rule_that_is_that_name_alone),
		cmocka_unit_test(without_a_rule_nothing_is_allowed),
		cmocka_unit_test(the_closest_rule_counts_in_whatever_order_they_were_given),
		cmocka_unit_test(
			an_allowed_name_may_be_at_a_public_address_and_at_others_if_its_rule_says_private),
		cmocka_unit_test(what_is_no_internet_address_is_refused_even_to_a_private_rule),
	};
	return cmocka_run_group_tests_name("door rules", tests, NULL, NULL);
}
