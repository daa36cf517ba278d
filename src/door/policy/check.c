/* What is true of every policy. Options and messages both pass here, so that the process that serves the doors relies on
 * no more than what it has looked at itself. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "door/policy/policy_private.h"

#define ENV_NAME_MAX 255
#define FIELD_NAME_MAX 64
#define PREFIX_MAX 128
#define PATH_PREFIX_MAX 1024
#define FILE_NAME_MAX 4095

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

static bool is_alnum(char c) /* whatever the locale */
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- where ---- */

static bool is_canonical_name(const char *text)
{
	char canonical[HOST_MAX + 1];
	return host_canonical(text, strlen(text), canonical) == HOST_NAME && strcmp(text, canonical) == 0;
}

static bool is_localhost(const char *name)
{
	return strcmp(name, "localhost") == 0;
}

enum address_class said_class(const char *text)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (is_localhost(text))
		return ADDRESS_LOOPBACK;
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return address_classify((const struct sockaddr *)&in);
	if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		return address_classify((const struct sockaddr *)&in6);
	return ADDRESS_OTHER;
}

static bool is_host(const char *host)
{
	return host && (said_class(host) != ADDRESS_OTHER || is_canonical_name(host));
}

static const char *socket_fault(const char *path)
{
	if (path[0] != '/')
		return "a unix socket needs an absolute path: unix:/run/db.sock";
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return "the path of a unix socket has at most 107 bytes";
	if (has_control(path))
		return "the path of a unix socket has a control byte in it";
	return NULL;
}

static const char *target_fault(const struct door_target *target)
{
	if (target->path)
		return target->host || target->port ? "a unix socket has no host and no port" : socket_fault(target->path);
	if (!is_host(target->host))
		return "the target must be HOST:PORT, ADDRESS:PORT or unix:/PATH";
	return target->port ? NULL : "the target needs a port from 1 to 65535";
}

const char *upstream_fault(const char *host, uint16_t port)
{
	if (!host)
		return port ? "a port without a host" : NULL;
	return is_host(host) && port ? NULL : "write it as http://HOST:PORT";
}

/* ---- services ---- */

static const char *service_name_fault(const char *name)
{
	if (!name || !is_canonical_name(name))
		return "its name must be a host name, such as db or db.test";
	if (strlen(name) > DOOR_NAME_MAX)
		return "its name has at most 63 bytes";
	/* Many clients answer these by themselves, and the cell's own name comes first in its /etc/hosts. */
	if (is_localhost(name) || ends_with(name, ".localhost") || strcmp(name, "cell") == 0)
		return "localhost and cell are the cell itself; choose another name";
	if (strcmp(name, "door") == 0 || ends_with(name, ".door"))
		return "names below .door are those of secret doors; choose another name";
	return NULL;
}

const char *service_fault(const struct door_service *service)
{
	const char *why = service_name_fault(service->name);

	if (!why && !service->port)
		why = "needs a port from 1 to 65535";
	return why ? why : target_fault(&service->target);
}

/* ---- secret doors ---- */

static const char *secret_name_fault(const char *name)
{
	char full[DOOR_NAME_MAX + sizeof(".door")];

	if (!name || strlen(name) > DOOR_NAME_MAX || strchr(name, '.'))
		return "its name must be one label of letters, digits and hyphens";
	(void)snprintf(full, sizeof(full), "%s.door", name);
	if (!is_canonical_name(full))
		return "its name must be one label of letters, digits and hyphens";
	return is_localhost(name) ? "localhost is the cell itself; choose another name" : NULL;
}

static bool is_path_prefix(const char *path)
{
	if (!path || strlen(path) > PATH_PREFIX_MAX)
		return false;
	while (*path == '/') {
		size_t len = strspn(path + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
					      "-._~!$&'()*+;=:@");
		bool dots = strspn(path + 1, ".") == len && len <= 2;
		if (dots) /* nothing at all among them */
			return false;
		path += 1 + len;
	}
	return *path == '\0';
}

/* Fields that frame a message, belong to a connection or are written by the door itself. */
static const char *const fixed_fields[] = {
	"host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
	"content-type", "content-encoding", "accept-encoding", "date", "via",
};

static const char *header_fault(const char *header)
{
	if (!header || !header[0])
		return "needs header=NAME, the field that carries the credential";
	if (strlen(header) > FIELD_NAME_MAX)
		return "header= has at most 64 bytes";
	for (const char *at = header; *at; at++)
		if ((!is_alnum(*at) && !strchr("!#$%&'*+-.^_`|~", *at)) || (*at >= 'A' && *at <= 'Z'))
			return "header= is no name of a header field";
	for (size_t i = 0; i < ARRAY_LEN(fixed_fields); i++)
		if (strcmp(header, fixed_fields[i]) == 0)
			return "header= names a field that HTTP itself needs; no credential goes there";
	return strncmp(header, "proxy-", 6) == 0 ? "header= names a field for proxies; no credential goes there" : NULL;
}

static const char *prefix_fault(const char *prefix)
{
	if (!prefix || strlen(prefix) > PREFIX_MAX)
		return "prefix= has at most 128 bytes";
	for (const char *at = prefix; *at; at++)
		if (*at < 0x20 || *at > 0x7e) /* also those above, where char is signed or not */
			return "prefix= has a byte that is no plain text";
	return prefix[0] == ' ' ? "prefix= begins with a blank, which no server would see" : NULL;
}

static bool is_env_name(const char *name)
{
	size_t len = 0;

	for (; name[len]; len++)
		if (!is_alnum(name[len]) && name[len] != '_')
			return false;
	return len > 0 && len <= ENV_NAME_MAX && !(name[0] >= '0' && name[0] <= '9');
}

static const char *variables_fault(const struct secret_door *door)
{
	if (!door->env || !door->env[0])
		return "needs env=VAR, the variable of yours that holds the credential";
	if (!is_env_name(door->env))
		return "env= is no name of a variable (it takes the name, not the credential)";
	if (!door->base_env || (door->base_env[0] && !is_env_name(door->base_env)))
		return "base-env= is no name of a variable";
	if (!door->key_env || (door->key_env[0] && !is_env_name(door->key_env)))
		return "key-env= is no name of a variable";
	if (door->base_env[0] && strcmp(door->base_env, door->key_env) == 0)
		return "base-env= and key-env= are the same variable";
	return is_path_prefix(door->base_path) ? NULL : "base-path= must be a plain path, such as /v1";
}

static const char *upstream_url_fault(const struct secret_door *door)
{
	if (!is_host(door->host))
		return "the host of its URL is no host name and no address in its usual form";
	if (!door->port)
		return "the port of its URL must be from 1 to 65535";
	if (!is_path_prefix(door->path))
		return "the path of its URL must be plain: no empty parts, dots, percent signs, queries or fragments";
	enum address_class class = said_class(door->host);
	if (!door->tls && (class == ADDRESS_PUBLIC || !door->private_ok))
		return "http:// would send the credential in clear text over a public network; use https://, or add "
		       "',private' if the upstream is in a network of yours";
	if (class != ADDRESS_OTHER && !door->private_ok)
		return "an address or localhost as upstream is let through wherever it is";
	return NULL;
}

static const char *ca_fault(const struct secret_door *door)
{
	if (door->ca && !door->tls)
		return "ca= is for https:// only";
	if (door->ca && (!door->ca[0] || strlen(door->ca) > FILE_NAME_MAX || has_control(door->ca)))
		return "ca= is no name of a file";
	if (door->ca_text && !door->tls)
		return "certificates are for https:// only";
	return door->ca_text ? certificates_fault(door->ca_text, CA_BUNDLE_MAX) : NULL;
}

const char *credential_fault(const char *secret)
{
	size_t len = strlen(secret);

	if (len < SECRET_MIN)
		return "is shorter than 8 bytes, too short for a credential";
	if (len > SECRET_MAX)
		return "is longer than 8192 bytes, too long for a header field";
	if (has_control(secret))
		return "has a control byte in it, perhaps a newline at its end";
	if (secret[0] == ' ' || secret[len - 1] == ' ')
		return "begins or ends with a blank";
	return NULL;
}

const char *certificates_fault(const char *text, size_t max)
{
	if (strlen(text) > max)
		return "has more certificates than are taken";
	return strstr(text, "-----BEGIN CERTIFICATE-----") || strstr(text, "-----BEGIN TRUSTED CERTIFICATE-----") ? NULL :
		"has no certificate in it (PEM)";
}

const char *secret_fault(const struct secret_door *door)
{
	const char *why = secret_name_fault(door->name);

	if (!why)
		why = upstream_url_fault(door);
	if (!why)
		why = header_fault(door->header);
	if (!why)
		why = prefix_fault(door->prefix);
	if (!why)
		why = variables_fault(door);
	if (!why)
		why = ca_fault(door);
	return !why && door->secret ? credential_fault(door->secret) : why;
}

/* ---- all together ---- */

static int check_names(const struct door_policy *policy, struct err *err)
{
	struct door_listener doors[DOORS_MAX];
	size_t count = policy_listeners(policy, doors);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(doors[i].name, doors[j].name) == 0)
				return err_set(err, ERR_USAGE, "two doors are called '%s': each needs a name of its own",
					doors[i].name);
	for (size_t i = 0; i < policy->secret_count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct secret_door *one = &policy->secrets[j], *other = &policy->secrets[i];
			if (one->base_env[0] && strcmp(one->base_env, other->base_env) == 0)
				return err_set(err, ERR_USAGE,
					"the secret doors '%s' and '%s' both set %s: give one another base-env=",
					one->name, other->name, one->base_env);
		}
	return 0;
}

static int check_budget(
	const struct door_policy *policy, const struct door_budget *budget, const char *option, struct err *err)
{
	if (!budget_is_set(budget))
		return 0;
	if (policy_is_empty(policy))
		return err_set(err, ERR_USAGE, "%s has nothing to count: there is no --allow, --service or --secret-door",
			option);
	bool model = budget->limit[BUDGET_MICRODOLLARS] || budget->limit[BUDGET_TOKENS];
	if (model && policy->secret_count == 0)
		return err_set(err, ERR_USAGE,
			"%s: money and tokens are counted at secret doors only, and there is no --secret-door", option);
	return 0;
}

int policy_check(const struct door_policy *policy, struct err *err)
{
	size_t count = (size_t)policy->proxy + policy->service_count + policy->secret_count;

	if (count > DOORS_MAX)
		return err_set(err, ERR_USAGE, "%zu doors are more than a cell can have: at most %d", count, DOORS_MAX);
	if (check_names(policy, err) < 0 || check_budget(policy, &policy->budget, "--budget", err) < 0 ||
		check_budget(policy, &policy->run_budget, "--run-budget", err) < 0)
		return -1;
	if (policy->record && policy->replay)
		return err_set(err, ERR_USAGE, "--network-record and --network-replay exclude each other");
	if ((policy->record || policy->replay) && policy->secret_count == 0)
		return err_set(err, ERR_USAGE, "%s is for the exchanges of secret doors, and there is no --secret-door",
			policy->record ? "--network-record" : "--network-replay");
	return 0;
}
