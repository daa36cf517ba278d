#include "run/secrets.h"

#include <string.h>

#include "door/policy/credential.h"

/* The last part of a home where each user has one. */
static const char *user_of(const char *home)
{
	static const char *const above[] = {"/home/", "/Users/"};

	for (size_t i = 0; home && i < ARRAY_LEN(above); i++)
		if (strncmp(home, above[i], strlen(above[i])) == 0 && !strchr(home + strlen(above[i]), '/'))
			return home + strlen(above[i]);
	return NULL;
}

static bool is_named(const char *const *names, const char *pair, size_t len)
{
	for (; names && *names; names++)
		if (strlen(*names) == len && strncmp(*names, pair, len) == 0)
			return true;
	return false;
}

bool secrets_has(const struct secrets *secrets, const char *pair)
{
	size_t len = strcspn(pair, "=");

	if (pair[len] == '\0' || strcmp(pair + len + 1, DOOR_PLACEHOLDER) == 0)
		return false;
	return is_named(secrets->names, pair, len) || redact_is_secret(pair, len, pair + len + 1);
}

bool secrets_is_given(const char *pair)
{
	for (size_t i = 0; cell_default_env[i]; i++)
		if (strcmp(cell_default_env[i], pair) == 0)
			return false;
	return true;
}

struct parts { /* of values, wiped when they are no more needed */
	char **items;
	size_t count;
};

/* The password in a URL, as it is there and as it is meant. */
static void parts_of(struct parts *parts, const char *value)
{
	for (int decoded = 0; decoded < 2; decoded++) {
		char *part = redact_url_password(value, decoded);
		if (!part)
			return;
		parts->items = xrealloc(parts->items, parts->count + 1, sizeof(*parts->items));
		parts->items[parts->count++] = part;
	}
}

static void parts_done(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		explicit_bzero(parts->items[i], strlen(parts->items[i]));
		free(parts->items[i]);
	}
	free(parts->items);
}

struct redactor *secrets_redactor(const struct secrets *secrets, bool all)
{
	struct redact_known known = {.home = getenv("HOME")};
	size_t most = secrets->policy ? secrets->policy->secret_count : 0, doors = most;

	for (size_t i = 0; secrets->env && secrets->env[i]; i++)
		most++;
	size_t room = 3 * most + doors * CREDENTIAL_PARTS_MAX + 1;
	own(freep) const char **values = xcalloc(room, sizeof(*values));
	own(freep) struct credential_parts *taken = xcalloc(doors + 1, sizeof(*taken));
	own(parts_done) struct parts parts = {0};
	for (size_t i = 0; secrets->env && secrets->env[i]; i++) {
		const char *pair = secrets->env[i];
		if (strchr(pair, '=') && ((all && secrets_is_given(pair)) || secrets_has(secrets, pair)))
			values[known.count++] = strchr(pair, '=') + 1;
	}
	for (size_t i = 0; i < known.count; i++)
		parts_of(&parts, values[i]);
	for (size_t i = 0; i < parts.count; i++)
		values[known.count++] = parts.items[i];
	for (size_t i = 0; i < doors; i++) {
		if (!secrets->policy->secrets[i].secret)
			continue;
		values[known.count++] = secrets->policy->secrets[i].secret;
		credential_parts_make(&taken[i], &secrets->policy->secrets[i]);
		for (size_t j = 0; j < taken[i].count; j++)
			values[known.count++] = taken[i].items[j];
	}
	known.values = values;
	known.user = user_of(known.home);
	struct redactor *redactor = redactor_make(&known);
	for (size_t i = 0; i < doors; i++)
		credential_parts_done(&taken[i]);
	if (doors > 0)
		redactor_level(redactor); /* a cell sees how long its output takes to be read */
	return redactor;
}

void secrets_hide(const struct secrets *secrets, struct door_policy *policy)
{
	for (size_t i = 0; secrets->env && secrets->env[i] && policy->hidden_count < HIDDEN_MAX; i++) {
		own(parts_done) struct parts parts = {0};
		if (!secrets_has(secrets, secrets->env[i]))
			continue;
		policy_hide(policy, strchr(secrets->env[i], '=') + 1);
		parts_of(&parts, strchr(secrets->env[i], '=') + 1);
		for (size_t j = 0; j < parts.count && policy->hidden_count < HIDDEN_MAX; j++)
			policy_hide(policy, parts.items[j]);
	}
}

void secrets_result(const struct redactor *redactor, const struct cell_result *result, struct cell_result *ret)
{
	*ret = *result;
	redact_line(redactor, ret->err.text);
	for (unsigned i = 0; i < CELL_PROTECTION_COUNT; i++)
		redact_line(redactor, ret->receipt.note[i]);
	for (size_t i = 0; i < FS_SKIPPED_KEPT; i++)
		if (ret->collect.skipped[i].name)
			ret->collect.skipped[i].name = redact_copy(redactor, REDACT_VALUES, ret->collect.skipped[i].name);
}

void secrets_result_done(struct cell_result *result)
{
	for (size_t i = 0; i < FS_SKIPPED_KEPT; i++)
		free(result->collect.skipped[i].name);
}
