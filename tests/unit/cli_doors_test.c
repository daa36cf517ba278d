/* From the options about doors to a policy, and to what a cell is shown of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "door/policy/totals.h"
#include "cli/run_spec.h"

const struct cli_verb *const cli_verbs[] = {NULL};

#define LIST(text) {.items = (const char *[]){text, NULL}, .count = 1}
#define SECRET "api=https://api.example.com,header=x-api-key,env=HOTCELL_TEST_KEY"

static void doors_that_cannot_be_are_refused_with_the_reason(void **state)
{
	const struct {
		struct door_options options;
		const char *backend, *says; /* NULL: taken */
	} rows[] = {
		{{.log = NULL}, "native", NULL},
		{{.log = NULL}, "none", NULL},
		{{.allow = LIST("example.com")}, "native", NULL},
		{{.allow = LIST("example.com")}, "none", "--backend none has no doors"},
		{{.services = LIST("db:5432=127.0.0.1:5432"), .budget = "sent=1M"}, "native", NULL},
		{{.services = LIST("db:5432=127.0.0.1:5432"), .budget = "$5"}, "native", "secret doors only"},
		{{.secrets = LIST(SECRET), .budget = "$5", .run_budget = "requests=3", .record = true}, "native", NULL},
		{{.secrets = LIST(SECRET), .record = true, .replay = "x"}, "native", "exclude each other"},
		{{.budget = "requests=5"}, "native", "--budget has nothing to count"},
		{{.upstream = "http://proxy:3128"}, "native", "--upstream-proxy is for doors"},
		{{.resolver = "10.0.0.1"}, "native", "--resolver is for doors"},
		{{.log = "x"}, "native", "--network-log is for doors"},
		{{.allow = LIST("example.com"), .prices = "x"}, "native", "--prices is for what secret doors cost"},
		{{.secrets = LIST(SECRET), .prices = "/nowhere/at/all"}, "native", "--prices: open '/nowhere/at/all'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		struct err err = {0};
		int rc = door_options_policy(&policy, &rows[i].options, rows[i].backend, &err);
		if ((rc == 0) != (rows[i].says == NULL))
			fail_msg("row %zu: %s", i, rc < 0 ? err.text : "taken");
		if (rc == 0)
			continue;
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.text, rows[i].says))
			fail_msg("row %zu: '%s'", i, err.text);
	}
}

static void each_text_is_judged_where_it_is_read(void **state)
{
	static const struct {
		cli_set_fn *set;
		const char *good, *bad;
	} rows[] = {
		{door_allow_check, "*.example.com:8443", "10.0.0.1"},
		{door_service_check, "db:5432=127.0.0.1:5432", "db=127.0.0.1"},
		{door_secret_check, "@anthropic", "api=ftp://x"},
		{door_budget_set, "$20,requests=5", "20 bananas"},
		{door_run_budget_set, "tokens=1M", "tokens="},
		{door_upstream_set, "http://proxy:3128", "https://proxy"},
		{door_resolver_set, "127.0.0.1:5353", "ns.example.com"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run_options options = {0};
		struct err err = {0};
		if (rows[i].set(&options, rows[i].good, &err) < 0)
			fail_msg("'%s': %s", rows[i].good, err.text);
		if (rows[i].set(&options, rows[i].bad, &err) == 0)
			fail_msg("'%s' was taken", rows[i].bad);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static const char *const *find(const char *const *list, const char *name)
{
	for (; list && *list; list++)
		if (strncmp(*list, name, strlen(name)) == 0)
			return list;
	return NULL;
}

static void build_with(struct run_spec *spec, struct door_policy *policy, const char *env, const char *credential)
{
	static char program[] = "/bin/true", *command[] = {program, NULL};
	const char *pairs[] = {env, NULL};
	struct run_options options = {0};
	const struct door_options doors = {
		.allow = LIST("example.com"), .services = LIST("db:5432=127.0.0.1:5432"), .secrets = LIST(SECRET)};
	struct err err = {0};

	run_options_defaults(&options);
	options.env = (struct cli_list){.items = pairs, .count = 1};
	assert_int_equal(setenv("HOTCELL_TEST_KEY", credential, 1), 0);
	if (run_spec_build(spec, &options, command, &err) < 0 || door_options_policy(policy, &doors, "native", &err) < 0)
		fail_msg("%s", err.text);
	policy->secrets[0].tls = false; /* no certificates are needed then */
	if (policy_load(policy, &err) < 0)
		fail_msg("%s", err.text);
	run_spec_doors(spec, policy);
}

static void build(struct run_spec *spec, struct door_policy *policy, const char *env)
{
	build_with(spec, policy, env, "sk-0123456789abcdef");
}

static void a_cell_sees_its_doors_and_nothing_of_the_credential(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	own(run_spec_done) struct run_spec spec = {0};
	struct err err = {0};

	(void)state;
	build(&spec, &policy, "no_proxy=mine");
	assert_string_equal(policy.secrets[0].secret, "sk-0123456789abcdef");
	assert_int_equal(spec.spec.listener_count, 3);
	assert_int_equal(spec.spec.listeners[0].port, PROXY_PORT);
	assert_non_null(strstr(spec.spec.hosts, " db\n"));
	assert_non_null(strstr(spec.spec.hosts, " api.door\n"));
	assert_non_null(find(spec.spec.env, "HTTPS_PROXY=http://127.0.0.1:3128"));
	assert_non_null(find(spec.spec.env, "API_BASE_URL=http://api.door"));
	const char *const *own_one = find(spec.spec.env, "no_proxy=");
	assert_string_equal(*own_one, "no_proxy=mine");
	assert_null(find(own_one + 1, "no_proxy="));
	for (const char *const *entry = spec.spec.env; *entry; entry++)
		assert_null(strstr(*entry, "sk-0123456789abcdef"));
	assert_int_equal(run_spec_check_secrets(&spec, &policy, &err), 0);
}

static void a_credential_that_would_be_in_the_cell_is_refused(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	own(run_spec_done) struct run_spec spec = {0};
	struct err err = {0};

	(void)state;
	build(&spec, &policy, "OTHER=Bearer sk-0123456789abcdef");
	assert_int_equal(run_spec_check_secrets(&spec, &policy, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.text, "'api'"));
	assert_null(strstr(err.text, "sk-0123456789abcdef"));
}

/* What Basic encodes, and a password in it; but a program may well say "postgres". */
static void a_password_that_is_a_word_is_no_reason_to_refuse(void **state)
{
	static const struct {
		const char *credential, *env;
		int result;
	} rows[] = {
		{"Basic cm9vdDpwb3N0Z3Jlcw==", "ENGINE=postgres", 0}, /* root:postgres */
		{"Basic cm9vdDpwb3N0Z3Jlcw==", "URL=postgres://root:postgres@db", -1},
		{"Basic cm9vdDpwb3N0Z3Jlcw==", "AUTH=Basic cm9vdDpwb3N0Z3Jlcw==", -1},
		{"Basic cm9vdDpodW50ZXItMg==", "PASS=hunter-2", -1},
		{"Bearer abcdefghij", "TOKEN=abcdefghij", -1},
		{"z=1; sid=qwertzuiopasdfgh", "WORD=qwertzuiopasdfgh", 0},
		{"z=1; sid=0123456789ab", "SID=0123456789ab", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(policy_done) struct door_policy policy = {0};
		own(run_spec_done) struct run_spec spec = {0};
		struct err err = {0};
		build_with(&spec, &policy, rows[i].env, rows[i].credential);
		if (run_spec_check_secrets(&spec, &policy, &err) != rows[i].result)
			fail_msg("'%s' beside '%s': '%s'", rows[i].env, rows[i].credential, err.text);
	}
}

static void without_doors_nothing_is_added(void **state)
{
	own(policy_done) struct door_policy policy = {0};
	own(run_spec_done) struct run_spec spec = {0};
	static char program[] = "/bin/true", *command[] = {program, NULL};
	struct run_options options = {0};
	struct err err = {0};

	(void)state;
	run_options_defaults(&options);
	assert_int_equal(run_spec_build(&spec, &options, command, &err), 0);
	run_spec_doors(&spec, &policy);
	assert_int_equal(spec.spec.listener_count, 0);
	assert_null(spec.spec.hosts);
	assert_null(find(spec.spec.env, "NO_PROXY="));
}

static void what_passed_is_said_in_one_line(void **state)
{
	static const struct {
		struct door_totals totals;
		const char *text;
	} rows[] = {
		{{{0}}, "0 requests, 0 refused, 0 B sent, 0 B received"},
		{{{[COUNT_REQUESTS] = 1, [COUNT_REFUSED] = 3, [COUNT_SENT] = 2048}}, "1 request, 3 refused, 2 KB sent, 0 B received"},
		{{{[COUNT_REQUESTS] = 2, [COUNT_FAILED] = 1, [COUNT_TOKENS_IN] = 900, [COUNT_TOKENS_OUT] = 100,
			 [COUNT_MICRODOLLARS] = 4200}},
			"2 requests, 0 refused, 1 failed, 0 B sent, 0 B received, 1000 tokens, $0.0042"},
		{{{[COUNT_MICRODOLLARS] = 20130000}}, "0 requests, 0 refused, 0 B sent, 0 B received, $20.13"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf out = {0};
		network_text(&rows[i].totals, &out);
		assert_string_equal(buf_text(&out), rows[i].text);
		assert_int_equal(network_used(&rows[i].totals), i > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doors_that_cannot_be_are_refused_with_the_reason),
		cmocka_unit_test(each_text_is_judged_where_it_is_read),
		cmocka_unit_test(a_cell_sees_its_doors_and_nothing_of_the_credential),
		cmocka_unit_test(a_credential_that_would_be_in_the_cell_is_refused),
		cmocka_unit_test(a_password_that_is_a_word_is_no_reason_to_refuse),
		cmocka_unit_test(without_doors_nothing_is_added),
		cmocka_unit_test(what_passed_is_said_in_one_line),
	};
	return cmocka_run_group_tests_name("cli doors", tests, NULL, NULL);
}
