#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "door/policy/policy.h"

#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define KEY "sk-test-0123456789"

typedef int add_fn(struct door_policy *policy, const char *text, struct err *err);

static void must_add(add_fn *add, struct door_policy *policy, const char *text)
{
	struct err err = {0};

	if (add(policy, text, &err) < 0)
		fail_msg("'%s' was refused: %s", text, err.text);
}

/* ---- all together ---- */

struct want { /* what a policy is made of */
	bool proxy;
	const char *services[DOORS_MAX + 2], *secrets[DOORS_MAX + 2];
	const char *budget, *run_budget;
	bool record, replay;
};

static void make(struct door_policy *policy, const struct want *want)
{
	struct err err = {0};

	policy->proxy = want->proxy;
	if (want->proxy)
		assert_int_equal(rules_add(&policy->rules, "api.example.com", &err), 0);
	for (size_t i = 0; want->services[i]; i++)
		must_add(policy_add_service, policy, want->services[i]);
	for (size_t i = 0; want->secrets[i]; i++)
		must_add(policy_add_secret, policy, want->secrets[i]);
	if (want->budget)
		assert_int_equal(budget_parse(&policy->budget, want->budget, "--budget", &err), 0);
	if (want->run_budget)
		assert_int_equal(budget_parse(&policy->run_budget, want->run_budget, "--run-budget", &err), 0);
	policy->record = want->record;
	policy->replay = want->replay;
}

static void a_policy_is_judged_as_a_whole(void **state)
{
#define A "a=https://h,header=h,env=K"
#define B "b=https://h,header=h,env=K"
	static const struct {
		struct want want;
		const char *why; /* a piece of the refusal; NULL: it is taken */
	} rows[] = {
		{{.proxy = false}, NULL},
		{{.proxy = true}, NULL},
		{{.proxy = true, .services = {"db:1=h:1", "web:1=h:1"}, .secrets = {A, B}}, NULL},
		{{.services = {"db:1=h:1", "db:2=h:2"}}, "'db'"},
		{{.services = {"a:1=h:1"}, .secrets = {A}}, "'a'"},
		{{.secrets = {A, "A=https://other,header=h,env=K,base-env=B"}}, "'a'"},
		{{.proxy = true, .services = {"proxy:1=h:1"}}, "'proxy'"},
		{{.services = {"proxy:1=h:1"}}, NULL},
		{{.secrets = {A, B ",base-env=A_BASE_URL"}}, "A_BASE_URL"},
		{{.secrets = {A ",base-env=", B ",base-env="}}, NULL},
		{{.budget = "requests=1"}, "--budget has nothing to count"},
		{{.run_budget = "sent=1M"}, "--run-budget has nothing to count"},
		{{.proxy = true, .budget = "requests=1", .run_budget = "received=1M"}, NULL},
		{{.proxy = true, .budget = "$1"}, "--budget: money"},
		{{.services = {"db:1=h:1"}, .run_budget = "tokens=1000"}, "--run-budget: money and tokens"},
		{{.secrets = {A}, .budget = "$1", .run_budget = "tokens=1000"}, NULL},
		{{.proxy = true, .record = true}, "--network-record"},
		{{.proxy = true, .replay = true}, "--network-replay"},
		{{.secrets = {A}, .record = true}, NULL},
		{{.secrets = {A}, .replay = true}, NULL},
		{{.secrets = {A}, .record = true, .replay = true}, "exclude"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		struct err err = {0};
		make(&policy, &rows[i].want);
		int rc = policy_check(&policy, &err);
		if ((rc == 0) != !rows[i].why || (rc < 0 && !strstr(err.text, rows[i].why)))
			fail_msg("case %zu: %s", i, rc < 0 ? err.text : "taken");
		if (rc < 0)
			assert_int_equal(err.code, ERR_USAGE);
	}
}

static void a_cell_has_at_most_fourteen_doors(void **state)
{
	own(policy_done) struct door_policy policy = {.proxy = true};
	struct door_listener doors[DOORS_MAX];
	struct err err = {0};
	char text[64];

	(void)state;
	for (int i = 1; i < DOORS_MAX; i++) {
		(void)snprintf(text, sizeof(text), "s%d:80=h:80", i);
		must_add(policy_add_service, &policy, text);
	}
	assert_int_equal(policy_check(&policy, &err), 0);
	must_add(policy_add_secret, &policy, A);
	assert_int_equal(policy_check(&policy, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.text, "at most 14"));
	assert_int_equal(policy_listeners(&policy, doors), DOORS_MAX);
}

/* ---- credentials and certificates ---- */

struct folder {
	char path[64], good[80], bad[80], link[80];
};

static void write_file(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	struct folder *folder = xcalloc(1, sizeof(*folder));

	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/policy-test.XXXXXX");
	if (!mkdtemp(folder->path))
		return -1;
	(void)snprintf(folder->good, sizeof(folder->good), "%s/good", folder->path);
	(void)snprintf(folder->bad, sizeof(folder->bad), "%s/bad", folder->path);
	(void)snprintf(folder->link, sizeof(folder->link), "%s/link", folder->path);
	write_file(folder->good, CERTIFICATE, strlen(CERTIFICATE));
	*state = folder;
	return symlink("good", folder->link) | setenv("SSL_CERT_FILE", folder->good, 1) | setenv("POLICY_KEY", KEY, 1) |
		unsetenv("POLICY_MISSING");
}

static int tear_down(void **state)
{
	struct folder *folder = *state;

	(void)unlink(folder->good);
	(void)unlink(folder->bad);
	(void)unlink(folder->link);
	int rc = rmdir(folder->path);
	free(folder);
	return rc;
}

static void a_credential_comes_from_its_variable_and_must_be_one(void **state)
{
	static const struct {
		const char *value, *why;
	} rows[] = {
		{KEY, NULL},
		{"has spaces inside", NULL},
		{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", NULL},
		{NULL, "not set"},
		{"", "empty"},
		{"sk-test-0123456789\n", "control byte"},
		{"sk-test\r\nx-admin: 1", "control byte"},
		{"sk-test-\x7f-012345", "control byte"},
		{" sk-test-01234567", "blank"},
		{"sk-test-01234567 ", "blank"},
		{"1234567", "too short"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		struct err err = {0};
		assert_int_equal(rows[i].value ? setenv("POLICY_KEY", rows[i].value, 1) : unsetenv("POLICY_KEY"), 0);
		must_add(policy_add_secret, &policy, "claude=http://localhost,header=h,env=POLICY_KEY");
		int rc = policy_load(&policy, &err);
		if (!rows[i].why) {
			assert_int_equal(rc, 0);
			assert_string_equal(policy.secrets[0].secret, rows[i].value);
			assert_null(policy.secrets[0].ca_text);
			continue;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, "'claude'"));
		assert_non_null(strstr(err.text, "$POLICY_KEY"));
		assert_non_null(strstr(err.text, rows[i].why));
		assert_null(strstr(err.text, "sk-test"));
		assert_null(policy.secrets[0].secret);
	}
}

static void certificates_come_from_the_file_that_was_named_or_from_the_machine(void **state)
{
	const struct folder *folder = *state;
	own(policy_done) struct door_policy policy = {0};
	own(freep) char *text = xfmt("b=https://h,header=h,env=POLICY_KEY,ca=%s", folder->link);
	struct err err = {0};

	must_add(policy_add_secret, &policy, "a=https://h,header=h,env=POLICY_KEY");
	must_add(policy_add_secret, &policy, text);
	assert_int_equal(policy_load(&policy, &err), 0);
	assert_string_equal(policy.secrets[0].ca_text, CERTIFICATE);
	assert_string_equal(policy.secrets[1].ca_text, CERTIFICATE);
}

static void what_are_no_certificates_is_refused(void **state)
{
	const struct folder *folder = *state;
	own(buf_done) struct buf large = {0};
	static const struct {
		const char *bytes;
		size_t len;
		bool repeat; /* to more than a file may have */
		int code;
	} rows[] = {
		{"", 0, false, ERR_USAGE},
		{"no certificate", 14, false, ERR_USAGE},
		{CERTIFICATE "\0", sizeof(CERTIFICATE), false, ERR_USAGE},
		{CERTIFICATE, sizeof(CERTIFICATE) - 1, true, ERR_LIMIT},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		own(freep) char *text = xfmt("a=https://h,header=h,env=POLICY_KEY,ca=%s", folder->bad);
		struct err err = {0};
		large.len = 0;
		do {
			buf_add(&large, rows[i].bytes, rows[i].len);
		} while (rows[i].repeat && large.len <= 1 << 20);
		write_file(folder->bad, large.data ? large.data : "", large.len);
		must_add(policy_add_secret, &policy, text);
		assert_int_equal(policy_load(&policy, &err), -1);
		assert_int_equal(err.code, rows[i].code);
		assert_non_null(strstr(err.text, "'a'"));
		assert_non_null(strstr(err.text, folder->bad));
		assert_null(policy.secrets[0].ca_text);
	}
}

static void a_file_of_certificates_that_is_not_there_is_an_error(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	struct err err = {0};

	(void)state;
	must_add(policy_add_secret, &policy, "a=https://h,header=h,env=POLICY_KEY");
	assert_int_equal(setenv("SSL_CERT_FILE", "/nonexistent", 1), 0);
	assert_int_equal(policy_load(&policy, &err), -1);
	assert_int_equal(err.code, ENOENT);
	assert_non_null(strstr(err.text, "SSL_CERT_FILE"));
}

static void a_replay_needs_neither_credentials_nor_certificates(void **state)
{
	own(policy_done) struct door_policy policy = {.replay = true};
	struct err err = {0};

	(void)state;
	must_add(policy_add_secret, &policy, "a=https://h,header=h,env=POLICY_MISSING,ca=/nonexistent");
	assert_int_equal(policy_load(&policy, &err), 0);
	assert_null(policy.secrets[0].secret);
}

/* ---- what the cell sees ---- */

static void add_some(struct door_policy *policy)
{
	static const struct want want = {
		.proxy = true,
		.services = {"db:5432=127.0.0.1:5432", "web.test:80=unix:/run/web"},
		.secrets = {"@anthropic", "@openai"},
	};
	make(policy, &want);
}

static void every_door_has_an_address_of_its_own(void **state)
{
	static const struct door_listener with_proxy[] = {
		{0x7f000001, 3128, "proxy"}, {0x7f000101, 5432, "db"}, {0x7f000102, 80, "web.test"},
		{0x7f000103, 80, "anthropic"}, {0x7f000104, 80, "openai"}};
	own(policy_done) struct door_policy policy = {0};
	own(buf_done) struct buf hosts = {0}, again = {0};
	struct door_listener doors[DOORS_MAX];

	(void)state;
	add_some(&policy);
	for (size_t skip = 0; skip < 2; skip++) {
		policy.proxy = skip == 0;
		assert_int_equal(policy_listeners(&policy, doors), ARRAY_LEN(with_proxy) - skip);
		for (size_t i = skip; i < ARRAY_LEN(with_proxy); i++) {
			assert_int_equal(doors[i - skip].address, with_proxy[i].address);
			assert_int_equal(doors[i - skip].port, with_proxy[i].port);
			assert_string_equal(doors[i - skip].name, with_proxy[i].name);
		}
		policy_hosts(&policy, skip ? &again : &hosts);
	}
	assert_string_equal(buf_text(&hosts),
		"127.0.1.1 db\n127.0.1.2 web.test\n127.0.1.3 anthropic.door\n127.0.1.4 openai.door\n");
	assert_string_equal(buf_text(&again), buf_text(&hosts));
}

static void check_env(const struct door_policy *policy, const char *const *given, const char *const *expected)
{
	char **env = NULL;
	size_t count = 0, i = 0;

	policy_env(policy, given, &env, &count);
	for (; expected[i]; i++) {
		assert_true(i < count);
		assert_string_equal(env[i], expected[i]);
		free(env[i]);
	}
	assert_int_equal(count, i);
	if (env)
		assert_null(env[count]);
	free(env);
}

#define PLACEHOLDER "placeholder-credential-is-added-outside-the-cell"

static void a_cells_environment_points_at_its_doors(void **state)
{
	static const char *const all[] = {"HTTP_PROXY=http://127.0.0.1:3128", "HTTPS_PROXY=http://127.0.0.1:3128",
		"ALL_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128",
		"all_proxy=http://127.0.0.1:3128", "NODE_USE_ENV_PROXY=1",
		"NO_PROXY=localhost,127.0.0.1,::1,.door,db,web.test", "no_proxy=localhost,127.0.0.1,::1,.door,db,web.test",
		"ANTHROPIC_BASE_URL=http://anthropic.door", "ANTHROPIC_API_KEY=" PLACEHOLDER,
		"OPENAI_BASE_URL=http://openai.door/v1", "OPENAI_API_KEY=" PLACEHOLDER, NULL};
	static const char *const given[] = {"HTTP_PROXY=x", "https_proxy=", "ALL_PROXYX=y", "ANTHROPIC_API_KEY=mine", NULL};
	static const char *const rest[] = {"HTTPS_PROXY=http://127.0.0.1:3128", "ALL_PROXY=http://127.0.0.1:3128",
		"http_proxy=http://127.0.0.1:3128", "all_proxy=http://127.0.0.1:3128", "NODE_USE_ENV_PROXY=1",
		"NO_PROXY=localhost,127.0.0.1,::1,.door,db,web.test", "no_proxy=localhost,127.0.0.1,::1,.door,db,web.test",
		"ANTHROPIC_BASE_URL=http://anthropic.door", "OPENAI_BASE_URL=http://openai.door/v1",
		"OPENAI_API_KEY=" PLACEHOLDER, NULL};
	static const char *const direct[] = {
		"NO_PROXY=localhost,127.0.0.1,::1,.door,db", "no_proxy=localhost,127.0.0.1,::1,.door,db", NULL};
	static const char *const nothing[] = {NULL};
	own(policy_done) struct door_policy policy = {0}, service = {0}, empty = {0}, quiet = {0};

	(void)state;
	add_some(&policy);
	check_env(&policy, NULL, all);
	check_env(&policy, given, rest);
	must_add(policy_add_service, &service, "db:1=h:1");
	check_env(&service, nothing, direct);
	check_env(&empty, NULL, nothing);
	must_add(policy_add_service, &quiet, "db:1=h:1");
	must_add(policy_add_secret, &quiet, A ",base-env=,key-env=");
	check_env(&quiet, NULL, direct);
}

static void variables_are_added_to_those_already_there(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	char **env = xcalloc(2, sizeof(*env));
	size_t count = 1;

	(void)state;
	env[0] = xstrdup("NO_PROXY=mine");
	must_add(policy_add_service, &policy, "db:1=h:1");
	policy_env(&policy, NULL, &env, &count);
	assert_int_equal(count, 2);
	assert_string_equal(env[0], "NO_PROXY=mine");
	assert_string_equal(env[1], "no_proxy=localhost,127.0.0.1,::1,.door,db");
	assert_null(env[2]);
	free(env[0]);
	free(env[1]);
	free(env);
}

static void doors_are_explained_in_aligned_lines_without_credentials(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	own(buf_done) struct buf text = {0}, replayed = {0};
	struct err err = {0};

	(void)state;
	add_some(&policy);
	must_add(policy_add_service, &policy, "six:1=[::1]:2");
	must_add(policy_add_secret, &policy, "mine=https://[::1]:8443/v1,header=h,env=POLICY_KEY,ca=my.pem");
	must_add(policy_set_upstream, &policy, "http://squid:3128");
	policy.secrets[2].secret = xstrdup(KEY);
	for (int i = 0; i < 6; i++) {
		char rule[32];
		(void)snprintf(rule, sizeof(rule), "*.n%d.example:80", i);
		assert_int_equal(rules_add(&policy.rules, rule, &err), 0);
	}
	policy_explain(&policy, &text);
	assert_string_equal(buf_text(&text),
		"proxy    127.0.0.1:3128          api.example.com:443 *.n0.example:80 *.n1.example:80 *.n2.example:80 "
		"*.n3.example:80 *.n4.example:80 and 1 more, by way of squid:3128\n"
		"service  db:5432                 127.0.0.1:5432\n"
		"service  web.test:80             unix:/run/web\n"
		"service  six:1                   [::1]:2\n"
		"secret   http://anthropic.door/  https://api.anthropic.com, x-api-key: credential from $ANTHROPIC_API_KEY, "
		"by way of squid:3128\n"
		"secret   http://openai.door/     https://api.openai.com, authorization: credential from $OPENAI_API_KEY, "
		"by way of squid:3128\n"
		"secret   http://mine.door/       https://[::1]:8443/v1, h: credential from $POLICY_KEY, trusting my.pem, "
		"by way of squid:3128\n");
	policy.proxy = false;
	policy.replay = true;
	policy_explain(&policy, &replayed);
	assert_non_null(strstr(buf_text(&replayed), "http://mine.door/       answers from a recording\n"));
}

static void an_allowlist_of_nothing_says_so(void **state)
{
	own(policy_done) struct door_policy policy = {.proxy = true};
	own(buf_done) struct buf text = {0};

	(void)state;
	policy_explain(&policy, &text);
	assert_string_equal(buf_text(&text), "proxy    127.0.0.1:3128  nothing: no name is allowed\n");
}

/* ---- as a message ---- */

static void add_everything(struct door_policy *policy)
{
	struct err err = {0};

	add_some(policy);
	must_add(policy_add_secret, policy, "mine=http://llm.lan/v1,header=h,env=K,private,prefix=Key ");
	must_add(policy_set_upstream, policy, "http://squid:3128");
	must_add(policy_set_resolver, policy, "127.0.0.1:5353");
	assert_int_equal(rules_add(&policy->rules, "*.internal.example:8443,private", &err), 0);
	assert_int_equal(budget_parse(&policy->budget, "$20,requests=1000", "--budget", &err), 0);
	assert_int_equal(budget_parse(&policy->run_budget, "tokens=1M", "--run-budget", &err), 0);
	static const char prices[] = "model-a* 3 15 0.3 3.75\nmodel-b 1 2\n";
	assert_int_equal(prices_read(&policy->prices, prices, strlen(prices), "prices", &err), 0);
	policy->record = true;
	policy->secrets[0].secret = xstrdup(KEY);
	policy->secrets[0].ca_text = xstrdup(CERTIFICATE);
	policy_hide(policy, "not for any record");
}

static void a_policy_arrives_as_it_was_sent(void **state)
{
	own(policy_done) struct door_policy policy = {0}, back = {0};
	own(buf_done) struct buf sent = {0}, again = {0}, one = {0}, other = {0};
	struct err err = {0};

	(void)state;
	add_everything(&policy);
	policy_encode(&policy, &sent);
	struct wire_reader reader = {.data = sent.data, .len = sent.len};
	if (policy_decode(&back, &reader, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(reader.pos, sent.len);
	policy_explain(&policy, &one);
	policy_explain(&back, &other);
	assert_string_equal(buf_text(&one), buf_text(&other));
	assert_string_equal(back.secrets[0].secret, KEY);
	assert_string_equal(back.secrets[0].ca_text, CERTIFICATE);
	assert_null(back.secrets[1].secret);
	assert_string_equal(back.secrets[2].prefix, "Key ");
	assert_true(back.record && !back.replay);
	assert_string_equal(back.resolver, "127.0.0.1:5353");
	assert_int_equal(back.hidden_count, 1);
	assert_string_equal(back.hidden[0], "not for any record");
	assert_memory_equal(&back.budget, &policy.budget, sizeof(policy.budget));
	assert_memory_equal(&back.run_budget, &policy.run_budget, sizeof(policy.run_budget));
	assert_int_equal(back.prices.count, policy.prices.count);
	assert_string_equal(back.prices.items[0].model, policy.prices.items[0].model);
	assert_true(back.prices.items[0].output == policy.prices.items[0].output);
	policy_encode(&back, &again);
	assert_int_equal(again.len, sent.len);
	assert_memory_equal(again.data, sent.data, sent.len);
}

static void a_policy_cut_anywhere_is_refused(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	own(buf_done) struct buf sent = {0};

	(void)state;
	add_everything(&policy);
	policy_encode(&policy, &sent);
	for (size_t len = 0; len < sent.len; len++) {
		struct door_policy back = {.proxy = true};
		own(freep) char *bytes = malloc(len ? len : 1); /* exactly, so that a byte too far is seen */
		struct wire_reader reader = {.data = bytes, .len = len};
		struct err err = {0};
		memcpy(bytes, sent.data, len);
		assert_int_equal(policy_decode(&back, &reader, &err), -1);
		assert_int_equal(err.code, EPROTO);
		assert_true(policy_is_empty(&back));
		assert_null(back.rules.items);
	}
}

/* Each changes one thing that no option could have said. */
static void no_private(struct door_policy *p) { p->secrets[2].private_ok = false; }
static void clear_text(struct door_policy *p) { p->secrets[0].tls = false; }
static void no_port(struct door_policy *p) { p->services[0].port = 0; }
static void no_target(struct door_policy *p) { p->services[0].target.port = 0; }
static void upper_case(struct door_policy *p) { p->services[0].name[0] = 'D'; }
static void odd_target(struct door_policy *p) { p->services[0].target.host[0] = '/'; }
static void relative_socket(struct door_policy *p) { p->services[1].target.path[0] = 'x'; }
static void odd_header(struct door_policy *p) { p->secrets[0].header[0] = '\n'; }
static void upper_header(struct door_policy *p) { p->secrets[0].header[0] = 'X'; }
static void odd_env(struct door_policy *p) { p->secrets[0].env[0] = '='; }
static void odd_prefix(struct door_policy *p) { p->secrets[2].prefix[0] = '\n'; }
static void odd_path(struct door_policy *p) { p->secrets[2].path[0] = '?'; }
static void odd_secret(struct door_policy *p) { p->secrets[0].secret[3] = '\n'; }
static void odd_certificates(struct door_policy *p) { p->secrets[0].ca_text[0] = 'x'; }
static void same_name(struct door_policy *p) { memcpy(p->secrets[1].name, "mine", 5); }
static void both_ways(struct door_policy *p) { p->replay = true; }
static void odd_upstream(struct door_policy *p) { p->upstream_host[0] = ' '; }
static void upstream_nowhere(struct door_policy *p) { p->upstream_port = 0; }
static void odd_resolver(struct door_policy *p) { p->resolver[0] = 'x'; }
static void odd_rule(struct door_policy *p) { p->rules.items[0].host[0] = '@'; }
static void odd_model(struct door_policy *p) { p->prices.items[0].model[0] = '\n'; }
static void negative_price(struct door_policy *p) { p->prices.items[0].input = -1; }
static void price_of_nothing(struct door_policy *p) { p->prices.items[0].output = __builtin_nan(""); }
static void price_of_all(struct door_policy *p) { p->prices.items[0].cache_read = __builtin_inf(); }
static void no_base_path(struct door_policy *p) { free(ptr_take(&p->secrets[0].base_path)); }
static void no_name(struct door_policy *p) { free(ptr_take(&p->secrets[0].name)); }
static void no_service_name(struct door_policy *p) { free(ptr_take(&p->services[0].name)); }
static void no_header(struct door_policy *p) { free(ptr_take(&p->secrets[0].header)); }
static void no_host(struct door_policy *p) { free(ptr_take(&p->secrets[0].host)); }

static void a_message_says_nothing_that_an_option_could_not(void **state)
{
	static void (*const changes[])(struct door_policy *) = {no_private, clear_text, no_port, no_target, upper_case,
		odd_target, relative_socket, odd_header, upper_header, odd_env, odd_prefix, odd_path, odd_secret,
		odd_certificates, same_name, both_ways, odd_upstream, upstream_nowhere, odd_resolver, odd_rule, odd_model, negative_price,
		price_of_nothing, price_of_all, no_base_path, no_name, no_service_name, no_header, no_host};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		own(policy_done) struct door_policy policy = {0}, back = {0};
		own(buf_done) struct buf sent = {0};
		struct err err = {0};
		add_everything(&policy);
		changes[i](&policy);
		policy_encode(&policy, &sent);
		struct wire_reader reader = {.data = sent.data, .len = sent.len};
		if (policy_decode(&back, &reader, &err) == 0)
			fail_msg("change %zu was taken", i);
		assert_int_equal(err.code, EPROTO);
		assert_null(strstr(err.text, KEY));
		assert_true(policy_is_empty(&back));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_is_judged_as_a_whole),
		cmocka_unit_test(a_cell_has_at_most_fourteen_doors),
		cmocka_unit_test_setup_teardown(a_credential_comes_from_its_variable_and_must_be_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			certificates_come_from_the_file_that_was_named_or_from_the_machine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_are_no_certificates_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_of_certificates_that_is_not_there_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_replay_needs_neither_credentials_nor_certificates, set_up, tear_down),
		cmocka_unit_test(every_door_has_an_address_of_its_own),
		cmocka_unit_test(a_cells_environment_points_at_its_doors),
		cmocka_unit_test(variables_are_added_to_those_already_there),
		cmocka_unit_test(doors_are_explained_in_aligned_lines_without_credentials),
		cmocka_unit_test(an_allowlist_of_nothing_says_so),
		cmocka_unit_test(a_policy_arrives_as_it_was_sent),
		cmocka_unit_test(a_policy_cut_anywhere_is_refused),
		cmocka_unit_test(a_message_says_nothing_that_an_option_could_not),
	};
	return cmocka_run_group_tests_name("door policy", tests, NULL, NULL);
}
