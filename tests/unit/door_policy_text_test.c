#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "door/policy/policy.h"

#define LABEL63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

typedef int add_fn(struct door_policy *policy, const char *text, struct err *err);

static void must_add(add_fn *add, struct door_policy *policy, const char *text)
{
	struct err err = {0};

	if (add(policy, text, &err) < 0)
		fail_msg("'%s' was refused: %s", text, err.text);
}

static void must_refuse(add_fn *add, const char *text)
{
	own(policy_done) struct door_policy policy = {0};
	struct err err = {0};

	if (add(&policy, text, &err) == 0)
		fail_msg("'%s' was taken", text);
	assert_int_equal(err.code, ERR_USAGE);
	assert_true(policy_is_empty(&policy));
	assert_null(policy.upstream_host);
	assert_null(policy.resolver);
	for (const char *at = err.text; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			fail_msg("the refusal of a text has a control byte: %s", err.text);
}

/* ---- services ---- */

static void a_service_is_a_name_a_port_and_where_it_is(void **state)
{
	static const struct {
		const char *text, *name;
		uint16_t port;
		const char *host, *path;
		uint16_t target_port;
	} rows[] = {
		{"db:5432=127.0.0.1:5432", "db", 5432, "127.0.0.1", NULL, 5432},
		{"quest-postgres-test:5432=10.1.2.3:65535", "quest-postgres-test", 5432, "10.1.2.3", NULL, 65535},
		{"DB.Example.:1=Db.Internal:80", "db.example", 1, "db.internal", NULL, 80},
		{"web:80=localhost:8080", "web", 80, "localhost", NULL, 8080},
		{"six:80=[::1]:8080", "six", 80, "::1", NULL, 8080},
		{"six:80=[2001:0DB8::0001]:1", "six", 80, "2001:db8::1", NULL, 1},
		{"db:5432=unix:/run/postgresql/.s.PGSQL.5432", "db", 5432, NULL, "/run/postgresql/.s.PGSQL.5432", 0},
		{"db:5432=unix:/a=b:c", "db", 5432, NULL, "/a=b:c", 0},
		{LABEL63 ":1=h:1", LABEL63, 1, "h", NULL, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		must_add(policy_add_service, &policy, rows[i].text);
		assert_int_equal(policy.service_count, 1);
		const struct door_service *service = &policy.services[0];
		assert_string_equal(service->name, rows[i].name);
		assert_int_equal(service->port, rows[i].port);
		assert_int_equal(service->target.port, rows[i].target_port);
		if (rows[i].host)
			assert_string_equal(service->target.host, rows[i].host);
		else
			assert_null(service->target.host);
		if (rows[i].path)
			assert_string_equal(service->target.path, rows[i].path);
		else
			assert_null(service->target.path);
	}
}

static void what_is_no_service_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "=", ":", "db", "db:1", "db=h:1", "db:1=", "db:1=h", "db:1=:1", "db:1=h:", ":1=h:1",
		"db:0=h:1", "db:65536=h:1", "db:x=h:1", "db:+1=h:1", "db: 1=h:1", "db:000001=h:1", "db:1=h:0", "db:1=h:99999",
		"db:1=h:1 ", " db:1=h:1", "d b:1=h:1", "db\n:1=h:1", "d\x1b[31mb:1=h:1", "db:1=h\x7f:1",
		"10.0.0.1:1=h:1", "[::1]:1=h:1", "127.1:1=h:1", "0x7f000001:1=h:1",
		"localhost:1=h:1", "LOCALHOST.:1=h:1", "a.localhost:1=h:1", "cell:1=h:1",
		"door:1=h:1", "a.door:1=h:1", "A.DOOR.:1=h:1",
		"a" LABEL63 ":1=h:1", "a." LABEL63 ":1=h:1",
		"db:1=127.1:1", "db:1=0x7f000001:1", "db:1=2130706433:1", "db:1=::1:1", "db:1=[::1]", "db:1=[::1:1",
		"db:1=[127.0.0.1]:1", "db:1=[fe80::1%eth0]:1", "db:1=u@h:1", "db:1=http://h:1", "db:1=*.h:1", "db:1=h:1,private",
		"db:1=unix:", "db:1=unix:run/x", "db:1=unix:@x", "db:1=unix:/a\nb",
		"db:1=unix:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		must_refuse(policy_add_service, texts[i]);
}

/* ---- secret doors ---- */

static void a_secret_door_has_what_is_said_and_sensible_defaults(void **state)
{
	static const struct {
		const char *text, *name;
		bool tls;
		const char *host;
		uint16_t port;
		const char *path, *header, *prefix, *env, *base_env, *base_path, *key_env, *ca;
		bool private_ok;
	} rows[] = {
		{"@anthropic", "anthropic", true, "api.anthropic.com", 443, "", "x-api-key", "", "ANTHROPIC_API_KEY",
			"ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY", NULL, false},
		{"@openai", "openai", true, "api.openai.com", 443, "", "authorization", "Bearer ", "OPENAI_API_KEY",
			"OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY", NULL, false},
		{"My-API=HTTPS://API.Example.:8443/v1/,env=K,header=Authorization", "my-api", true, "api.example", 8443, "/v1",
			"authorization", "Bearer ", "K", "MY_API_BASE_URL", "", "K", NULL, false},
		{"a=https://h,header=authorization,env=K,prefix=", "a", true, "h", 443, "", "authorization", "", "K",
			"A_BASE_URL", "", "K", NULL, false},
		{"a=https://h/x/y.z,header=h,env=K,prefix=Token token=,base-env=B,base-path=/p/,key-env=C,ca=a b.pem,private", "a",
			true, "h", 443, "/x/y.z", "h", "Token token=", "K", "B", "/p", "C", "a b.pem", true},
		{"a=https://h,header=h,env=K,base-env=,key-env=", "a", true, "h", 443, "", "h", "", "K", "", "", "", NULL, false},
		{"a=https://10.0.0.1/,header=h,env=K", "a", true, "10.0.0.1", 443, "", "h", "", "K", "A_BASE_URL", "", "K", NULL,
			true},
		{"a=https://[2001:DB8::1]:1,header=h,env=K", "a", true, "2001:db8::1", 1, "", "h", "", "K", "A_BASE_URL", "", "K",
			NULL, true},
		{"a=https://localhost,header=h,env=K", "a", true, "localhost", 443, "", "h", "", "K", "A_BASE_URL", "", "K", NULL,
			true},
		{"a=http://localhost:8080,header=h,env=K", "a", false, "localhost", 8080, "", "h", "", "K", "A_BASE_URL", "", "K",
			NULL, true},
		{"a=http://127.0.0.1,header=h,env=K", "a", false, "127.0.0.1", 80, "", "h", "", "K", "A_BASE_URL", "", "K", NULL,
			true},
		{"a=http://[::1],header=h,env=K", "a", false, "::1", 80, "", "h", "", "K", "A_BASE_URL", "", "K", NULL, true},
		{"a=http://10.0.0.1,header=h,env=K,private", "a", false, "10.0.0.1", 80, "", "h", "", "K", "A_BASE_URL", "", "K",
			NULL, true},
		{"a=http://llm.lan,private,header=h,env=K", "a", false, "llm.lan", 80, "", "h", "", "K", "A_BASE_URL", "", "K",
			NULL, true},
		{"1=https://h,header=h,env=K,base-env=B", "1", true, "h", 443, "", "h", "", "K", "B", "", "K", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		must_add(policy_add_secret, &policy, rows[i].text);
		assert_int_equal(policy.secret_count, 1);
		const struct secret_door *door = &policy.secrets[0];
		assert_string_equal(door->name, rows[i].name);
		assert_int_equal(door->tls, rows[i].tls);
		assert_string_equal(door->host, rows[i].host);
		assert_int_equal(door->port, rows[i].port);
		assert_string_equal(door->path, rows[i].path);
		assert_string_equal(door->header, rows[i].header);
		assert_string_equal(door->prefix, rows[i].prefix);
		assert_string_equal(door->env, rows[i].env);
		assert_string_equal(door->base_env, rows[i].base_env);
		assert_string_equal(door->base_path, rows[i].base_path);
		assert_string_equal(door->key_env, rows[i].key_env);
		assert_int_equal(door->private_ok, rows[i].private_ok);
		assert_int_equal(door->ca != NULL, rows[i].ca != NULL);
		if (rows[i].ca)
			assert_string_equal(door->ca, rows[i].ca);
		assert_null(door->secret);
	}
}

static void what_is_no_secret_door_is_refused(void **state)
{
#define REST ",header=h,env=K"
	static const char *const texts[] = {
		"", "@", "@nobody", "@anthropic,private", "a", "a=", "=https://h" REST, "a=https://h", "a=https://h,header=h",
		"a=https://h,env=K", "a=https://h,", "a=https://h" REST ",", "a=https://h" REST ",x", "a=https://h" REST ",x=y",
		"a=https://h" REST ",header=i", "a=https://h" REST ",env=K", "a=https://h,header=,env=K", "a=https://h,header=h,env=",
		"a.b=https://h" REST, "a.=https://h" REST, "-a=https://h" REST, "a_b=https://h" REST, "localhost=https://h" REST,
		"a" LABEL63 "=https://h" REST, "a\x1b=https://h" REST, "1=https://h" REST,
		"a=h" REST, "a=ftp://h" REST, "a=https:/h" REST, "a=https://" REST, "a=https:///x" REST, "a=https://h:0" REST,
		"a=https://h:99999" REST, "a=https://h:" REST, "a=https://h?q" REST, "a=https://h/?q" REST, "a=https://h/#f" REST,
		"a=https://u@h" REST, "a=https://u:p@h" REST, "a=https://127.1" REST, "a=https://h h" REST, "a=https://::1" REST,
		"a=https://h//" REST, "a=https://h//x" REST, "a=https://h/x//y" REST, "a=https://h/.." REST, "a=https://h/./x" REST,
		"a=https://h/x/../y" REST, "a=https://h/%2e%2e" REST, "a=https://h/a b" REST, "a=https://h/a\\b" REST,
		"a=https://h/a\nb" REST, "a=https://h/\xc3\xa9" REST,
		"a=http://h" REST, "a=http://10.0.0.1" REST, "a=http://8.8.8.8" REST, "a=http://8.8.8.8,private" REST,
		"a=http://169.254.169.254" REST, "a=http://localhost.evil" REST,
		"a=https://h,env=K,header=Host", "a=https://h,env=K,header=content-length", "a=https://h,env=K,header=TE",
		"a=https://h,env=K,header=transfer-encoding", "a=https://h,env=K,header=connection",
		"a=https://h,env=K,header=proxy-authorization", "a=https://h,env=K,header=a b", "a=https://h,env=K,header=a:",
		"a=https://h,env=K,header=a\r", "a=https://h,env=K,header=\xc3\xa9",
		"a=https://h,env=K,header=a" LABEL63 "b",
		"a=https://h" REST ",prefix= x", "a=https://h" REST ",prefix=a\nb", "a=https://h" REST ",prefix=\xc3\xa9",
		"a=https://h" REST ",prefix=" LABEL63 LABEL63 "abc",
		"a=https://h,header=h,env=1K", "a=https://h,header=h,env=K-K", "a=https://h,header=h,env=$K",
		"a=https://h" REST ",base-env=B=C", "a=https://h" REST ",base-env=B B", "a=https://h" REST ",key-env=1",
		"a=https://h" REST ",base-env=X,key-env=X", "a=https://h" REST ",base-path=v1", "a=https://h" REST ",base-path=/a?b",
		"a=https://h" REST ",base-path=/..", "a=https://h" REST ",ca=", "a=https://h" REST ",ca=a\nb",
		"a=http://localhost" REST ",ca=f", "a=https://h" REST ",private=1", "a=https://h" REST ",Private",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		must_refuse(policy_add_secret, texts[i]);
}

static void a_refusal_repeats_nothing_that_could_be_a_credential(void **state)
{
	static const struct {
		add_fn *add;
		const char *text;
	} rows[] = {
		{policy_add_secret, "a=https://h,header=h,env=hunter2-hunter2"},
		{policy_add_secret, "a=https://me:hunter2@h,header=h,env=K"},
		{policy_add_secret, "a=https://h,header=h,env=K,hunter2"},
		{policy_add_secret, "https://me:hunter2@h"},
		{policy_add_secret, "hunter2"},
		{policy_add_secret, "hunter2,header=h"},
		{policy_add_secret, "a=https://h,header=h,hunter2=1,env=K"},
		{policy_add_service, "db:5432=postgres://me:hunter2@h:5432"},
		{policy_set_upstream, "http://me:hunter2@squid:3128"},
		{policy_set_upstream, "me:hunter2@squid:3128"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		struct err err = {0};
		assert_int_equal(rows[i].add(&policy, rows[i].text, &err), -1);
		assert_null(strstr(err.text, "hunter2"));
	}
}

static void a_credential_in_clear_text_is_refused_with_the_way_out(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(policy_add_secret(&policy, "llm=http://llm.example,header=h,env=K", &err), -1);
	assert_non_null(strstr(err.text, "'llm'"));
	assert_non_null(strstr(err.text, "clear text"));
	assert_non_null(strstr(err.text, "private"));
}

/* ---- a proxy of the user's own ---- */

static void an_upstream_proxy_is_a_host_and_a_port(void **state)
{
	static const char *const refused[] = {
		"", "squid", "squid:3128", "http://squid", "https://squid:3128", "socks5://squid:1080", "http://squid:3128/x",
		"http://squid:3128?x", "http://u:p@squid:3128", "http://:3128", "http://127.1:3128", "http://squid:0",
	};
	static const struct {
		const char *text, *host;
		uint16_t port;
	} rows[] = {
		{"http://Squid.Lan:3128", "squid.lan", 3128},
		{"http://127.0.0.1:3128/", "127.0.0.1", 3128},
		{"http://[::1]:1", "::1", 1},
	};
	own(policy_done) struct door_policy policy = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		must_refuse(policy_set_upstream, refused[i]);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		must_add(policy_set_upstream, &policy, rows[i].text);
		assert_string_equal(policy.upstream_host, rows[i].host);
		assert_int_equal(policy.upstream_port, rows[i].port);
	}
	assert_true(policy_is_empty(&policy)); /* it is no door */
}

static void a_name_server_is_an_address_and_a_port(void **state)
{
	static const char *const refused[] = {
		"", "localhost", "dns.example", "dns.example:53", "127.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
		"127.0.0.1:+5", "127.0.0.1: 5", "127.0.0.1:53 ", "127.0.0.1,127.0.0.2", "[::1", "[::1]:", "[127.0.0.1]:53",
		"[fe80::1%eth0]:53", "udp://127.0.0.1", "\x1b[31m",
	};
	static const struct {
		const char *text, *resolver;
	} rows[] = {
		{"127.0.0.1", "127.0.0.1:53"},
		{"127.0.0.1:5353", "127.0.0.1:5353"},
		{"::1", "[::1]:53"},
		{"[::1]", "[::1]:53"},
		{"[2001:DB8::1]:5353", "[2001:db8::1]:5353"},
	};
	own(policy_done) struct door_policy policy = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		must_refuse(policy_set_resolver, refused[i]);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		must_add(policy_set_resolver, &policy, rows[i].text);
		assert_string_equal(policy.resolver, rows[i].resolver);
	}
	assert_true(policy_is_empty(&policy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_is_a_name_a_port_and_where_it_is),
		cmocka_unit_test(what_is_no_service_is_refused),
		cmocka_unit_test(a_secret_door_has_what_is_said_and_sensible_defaults),
		cmocka_unit_test(what_is_no_secret_door_is_refused),
		cmocka_unit_test(a_refusal_repeats_nothing_that_could_be_a_credential),
		cmocka_unit_test(a_credential_in_clear_text_is_refused_with_the_way_out),
		cmocka_unit_test(an_upstream_proxy_is_a_host_and_a_port),
		cmocka_unit_test(a_name_server_is_an_address_and_a_port),
	};
	return cmocka_run_group_tests_name("door policy text", tests, NULL, NULL);
}
