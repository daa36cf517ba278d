/* Whatever is typed, and whatever arrives where the doors are served: a policy is refused with a clean sentence, or it says
 * the same after it was written and read again, shows nothing but text, and no credential. The first byte chooses which. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "door/policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t len, const char *also)
{
	for (size_t i = 0; i < len; i++)
		assert(((unsigned char)text[i] >= 0x20 && text[i] != 0x7f) || (text[i] != '\0' && strchr(also, text[i])));
}

static void check_refusal(const struct err *err, int code)
{
	assert(err->code == code && err->text[0] != '\0');
	check_text(err->text, strlen(err->text), "");
}

static void check_shown(const struct door_policy *policy)
{
	own(buf_done) struct buf hosts = {0}, explained = {0};
	struct door_listener doors[DOORS_MAX];
	char **env = NULL;
	size_t env_count = 0, count = policy_listeners(policy, doors);

	assert(count <= DOORS_MAX && (count == 0) == policy_is_empty(policy));
	for (size_t i = 0; i < count; i++)
		assert(doors[i].port > 0 && doors[i].address >> 24 == 127 && doors[i].name[0] != '\0' &&
			strlen(doors[i].name) <= DOOR_NAME_MAX);
	policy_hosts(policy, &hosts);
	check_text(buf_text(&hosts), hosts.len, "\n");
	policy_explain(policy, &explained);
	check_text(buf_text(&explained), explained.len, "\n");
	policy_env(policy, NULL, &env, &env_count);
	for (size_t i = 0; i < env_count; i++) {
		check_text(env[i], strlen(env[i]), "");
		assert(strchr(env[i], '=') > env[i]);
		free(env[i]);
	}
	free(env);
}

static void check_again(const struct door_policy *policy)
{
	own(policy_done) struct door_policy again = {0};
	own(buf_done) struct buf first = {0}, second = {0};
	struct err err = {0};

	policy_encode(policy, &first);
	struct wire_reader back = {.data = first.data, .len = first.len};
	assert(policy_decode(&again, &back, &err) == 0 && back.pos == back.len);
	policy_encode(&again, &second);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

typedef int add_fn(struct door_policy *policy, const char *text, struct err *err);

static int add_rule(struct door_policy *policy, const char *text, struct err *err)
{
	policy->proxy = true;
	return rules_add(&policy->rules, text, err);
}

/* A line for each option. */
static void read_texts(add_fn *add, char *text)
{
	own(policy_done) struct door_policy policy = {0};
	struct err err = {0};

	for (char *at = text; at; ) {
		char *end = strchr(at, '\n');
		if (end)
			*end = '\0';
		if (add(&policy, at, &err) < 0)
			check_refusal(&err, ERR_USAGE);
		at = end ? end + 1 : NULL;
	}
	if (policy_check(&policy, &err) < 0) {
		check_refusal(&err, ERR_USAGE);
		return;
	}
	check_shown(&policy);
	check_again(&policy);
}

static void read_message(const char *bytes, size_t len)
{
	own(policy_done) struct door_policy policy = {0};
	struct wire_reader reader = {.data = bytes, .len = len};
	struct err err = {0};

	if (policy_decode(&policy, &reader, &err) < 0) {
		check_refusal(&err, EPROTO);
		assert(policy_is_empty(&policy) && !policy.rules.items && !policy.prices.items);
		return;
	}
	assert(policy_check(&policy, &err) == 0);
	check_shown(&policy);
	check_again(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static add_fn *const adds[] = {policy_add_service, policy_add_secret, policy_set_upstream, policy_set_resolver, add_rule};

	if (size == 0)
		return 0;
	size_t choice = data[0] % (ARRAY_LEN(adds) + 1);
	if (choice == ARRAY_LEN(adds)) {
		own(freep) char *message = malloc(size > 1 ? size - 1 : 1); /* exactly, so that a byte too far is seen */
		memcpy(message, data + 1, size - 1);
		read_message(message, size - 1);
		return 0;
	}
	own(freep) char *text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	read_texts(adds[choice], text);
	return 0;
}
