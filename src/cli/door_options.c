#include "cli/door_options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fs.h"
#include "cli/run_spec.h"

#define PRICES_MAX (1u << 20)

/* ---- each by itself ---- */

int door_allow_check(void *options, const char *value, struct err *err)
{
	own(rules_done) struct door_rules rules = {0};

	(void)options;
	return rules_add(&rules, value, err);
}

int door_service_check(void *options, const char *value, struct err *err)
{
	own(policy_done) struct door_policy policy = {0};

	(void)options;
	return policy_add_service(&policy, value, err);
}

int door_secret_check(void *options, const char *value, struct err *err)
{
	own(policy_done) struct door_policy policy = {0};

	(void)options;
	return policy_add_secret(&policy, value, err);
}

static struct door_options *doors_of(void *options)
{
	struct run_options *run = options; /* what every verb that makes cells begins with */

	return &run->doors;
}

int door_budget_set(void *options, const char *value, struct err *err)
{
	struct door_budget budget;

	doors_of(options)->budget = value;
	return budget_parse(&budget, value, "--budget", err);
}

int door_run_budget_set(void *options, const char *value, struct err *err)
{
	struct door_budget budget;

	doors_of(options)->run_budget = value;
	return budget_parse(&budget, value, "--run-budget", err);
}

int door_upstream_set(void *options, const char *value, struct err *err)
{
	own(policy_done) struct door_policy policy = {0};

	doors_of(options)->upstream = value;
	return policy_set_upstream(&policy, value, err);
}

int door_resolver_set(void *options, const char *value, struct err *err)
{
	own(policy_done) struct door_policy policy = {0};

	doors_of(options)->resolver = value;
	return policy_set_resolver(&policy, value, err);
}

/* ---- all together ---- */

/* Links are followed: the path is the user's own. */
static int read_prices(struct prices *prices, const char *file, struct err *err)
{
	own(buf_done) struct buf text = {0};
	own(freep) char *path = realpath(file, NULL);

	if (!path)
		(void)err_errno(err, errno, "--prices: open '%s'", file);
	if (!path || fs_read_small(AT_FDCWD, path, PRICES_MAX, &text, err) < 0) {
		err->code = ERR_USAGE;
		return -1;
	}
	return prices_read(prices, buf_text(&text), text.len, file, err);
}

static int add_doors(struct door_policy *policy, const struct door_options *options, struct err *err)
{
	policy->proxy = options->allow.count > 0;
	for (size_t i = 0; i < options->allow.count; i++)
		if (rules_add(&policy->rules, options->allow.items[i], err) < 0)
			return -1;
	for (size_t i = 0; i < options->services.count; i++)
		if (policy_add_service(policy, options->services.items[i], err) < 0)
			return -1;
	for (size_t i = 0; i < options->secrets.count; i++)
		if (policy_add_secret(policy, options->secrets.items[i], err) < 0)
			return -1;
	return 0;
}

static int add_rest(struct door_policy *policy, const struct door_options *options, struct err *err)
{
	if (options->budget && budget_parse(&policy->budget, options->budget, "--budget", err) < 0)
		return -1;
	if (options->run_budget && budget_parse(&policy->run_budget, options->run_budget, "--run-budget", err) < 0)
		return -1;
	if (options->upstream && policy_set_upstream(policy, options->upstream, err) < 0)
		return -1;
	if (options->resolver && policy_set_resolver(policy, options->resolver, err) < 0)
		return -1;
	policy->record = options->record;
	policy->replay = options->replay != NULL;
	if (policy->secret_count == 0)
		return options->prices ? err_set(err, ERR_USAGE, "--prices is for what secret doors cost, and there is no --secret-door")
				       : 0;
	prices_defaults(&policy->prices);
	return options->prices ? read_prices(&policy->prices, options->prices, err) : 0;
}

/* What was given to be used with doors is not passed over in silence. */
static int check_needless(const struct door_options *options, struct err *err)
{
	const struct {
		const char *name;
		bool given;
	} all[] = {
		{"--upstream-proxy", options->upstream != NULL},
		{"--resolver", options->resolver != NULL},
		{"--network-log", options->log != NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].given)
			return err_set(err, ERR_USAGE, "%s is for doors, and there is no --allow, --service or --secret-door",
				all[i].name);
	return 0;
}

int door_options_policy(struct door_policy *ret, const struct door_options *options, const char *backend, struct err *err)
{
	*ret = (struct door_policy){0};
	if (add_doors(ret, options, err) < 0 || add_rest(ret, options, err) < 0 || policy_check(ret, err) < 0)
		return -1;
	if (policy_is_empty(ret))
		return check_needless(options, err);
	if (!cell_backend_can(backend, CELL_LISTENS))
		return err_set(err, ERR_USAGE,
			"--backend none has no doors: without a sandbox the program uses this machine's own network, and nothing "
			"would be held to --allow, --service or --secret-door");
	return 0;
}

void door_options_explain(const struct door_policy *policy, const char *first, const char *next, struct buf *ret)
{
	own(buf_done) struct buf lines = {0};
	const char *before = first;

	policy_explain(policy, &lines);
	for (const char *at = buf_text(&lines); *at; before = next) {
		size_t len = strcspn(at, "\n");
		buf_str(ret, before);
		buf_add(ret, at, len);
		buf_char(ret, '\n');
		at += len + (at[len] == '\n');
	}
}
