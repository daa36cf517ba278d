/* A policy as data, as the cell sees it, and with what it takes from our environment. */
#include "door/policy/policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fs.h"
#include "base/term.h"
#include "door/policy/policy_private.h"

#define FIRST_ADDRESS 0x7f000100u /* 127.0.1.0; the doors but the proxy follow it */
#define SECRET_PORT 80
#define RULES_SHOWN 6

/* ---- data ---- */

void service_done(struct door_service *service)
{
	free(service->name);
	free(service->target.host);
	free(service->target.path);
	*service = (struct door_service){0};
}

/* The processes that cells are made of are forked from ours, now or later. */
static int secret_keep(struct secret_door *door, const char *value, struct err *err)
{
	size_t size = strlen(value) + 1;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, size, MADV_DONTFORK) < 0) {
		if (memory != MAP_FAILED)
			(void)munmap(memory, size);
		return err_errno(err, errno, "keep the credential of the secret door '%s'", door->name);
	}
	(void)madvise(memory, size, MADV_DONTDUMP);
	memcpy(memory, value, size);
	door->secret = memory;
	door->secret_apart = true;
	return 0;
}

static void wipe(struct secret_door *door)
{
	size_t len = door->secret ? strlen(door->secret) : 0;

	if (door->secret)
		explicit_bzero(door->secret, len);
	if (door->secret_apart)
		(void)munmap(door->secret, len + 1);
	else
		free(door->secret);
	door->secret = NULL;
	door->secret_apart = false;
}

void secret_done(struct secret_door *door)
{
	char *const texts[] = {door->name, door->host, door->path, door->header, door->prefix, door->env, door->base_env,
		door->key_env, door->base_path, door->ca, door->ca_text};

	wipe(door);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	*door = (struct secret_door){0};
}

void policy_done(struct door_policy *policy)
{
	rules_done(&policy->rules);
	for (size_t i = 0; i < policy->service_count; i++)
		service_done(&policy->services[i]);
	free(policy->services);
	for (size_t i = 0; i < policy->secret_count; i++)
		secret_done(&policy->secrets[i]);
	free(policy->secrets);
	prices_done(&policy->prices);
	free(policy->upstream_host);
	free(policy->resolver);
	for (size_t i = 0; i < policy->hidden_count; i++) {
		explicit_bzero(policy->hidden[i], strlen(policy->hidden[i]));
		free(policy->hidden[i]);
	}
	free(policy->hidden);
	*policy = (struct door_policy){0};
}

void policy_hide(struct door_policy *policy, const char *value)
{
	policy->hidden = xrealloc(policy->hidden, policy->hidden_count + 1, sizeof(*policy->hidden));
	policy->hidden[policy->hidden_count++] = xstrdup(value);
}

bool policy_is_empty(const struct door_policy *policy)
{
	return !policy->proxy && policy->service_count == 0 && policy->secret_count == 0;
}

/* ---- from our environment ---- */

/* Where distributions keep the certificates they trust, all in one file. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Gentoo */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem", /* SUSE */
	"/var/lib/ca-certificates/ca-bundle.pem",
	"/etc/ssl/cert.pem", /* Alpine */
};

/* Links are followed: several of the bundles are some. */
static int read_certificates(const char *path, size_t max, struct buf *ret, struct err *err)
{
	own(freep) char *real = realpath(path, NULL);

	if (!real)
		return err_errno(err, errno, "read '%s'", path);
	if (fs_read_small(AT_FDCWD, real, max, ret, err) < 0)
		return -1;
	const char *why = strlen(buf_text(ret)) != ret->len ? "is no text" : certificates_fault(buf_text(ret), max);
	return why ? err_set(err, ERR_USAGE, "'%s' %s", path, why) : 0;
}

static int read_bundle(struct buf *ret, struct err *err)
{
	const char *chosen = getenv("SSL_CERT_FILE");

	if (chosen && chosen[0])
		return read_certificates(chosen, CA_BUNDLE_MAX, ret, err) < 0 ? err_wrap(err, "SSL_CERT_FILE") : 0;
	for (size_t i = 0; i < ARRAY_LEN(bundles); i++) {
		if (read_certificates(bundles[i], CA_BUNDLE_MAX, ret, err) == 0)
			return 0;
		ret->len = 0;
	}
	return err_set(err, ERR_MISSING, "this machine has no certificates to trust: install ca-certificates, set "
					 "SSL_CERT_FILE, or give the secret door ca=FILE");
}

static int load_credential(struct secret_door *door, struct err *err)
{
	const char *value = getenv(door->env);

	if (!value || !value[0])
		return err_set(err, ERR_USAGE, "the secret door '%s' takes its credential from $%s, which is %s", door->name,
			door->env, value ? "empty" : "not set");
	const char *why = credential_fault(value);
	if (why)
		return err_set(err, ERR_USAGE, "the secret door '%s': the value of $%s %s", door->name, door->env, why);
	wipe(door);
	return secret_keep(door, value, err);
}

static int load_certificates(struct secret_door *door, struct buf *bundle, struct err *err)
{
	own(buf_done) struct buf file = {0};

	if (!door->tls)
		return 0;
	if (door->ca && read_certificates(door->ca, CA_FILE_MAX, &file, err) < 0)
		return err_wrap(err, "the secret door '%s'", door->name);
	if (!door->ca && bundle->len == 0 && read_bundle(bundle, err) < 0)
		return -1;
	free(door->ca_text);
	door->ca_text = xstrdup(buf_text(door->ca ? &file : bundle));
	return 0;
}

int policy_load(struct door_policy *policy, struct err *err)
{
	own(buf_done) struct buf bundle = {0};

	for (size_t i = 0; i < policy->secret_count && !policy->replay; i++)
		if (load_credential(&policy->secrets[i], err) < 0 ||
			load_certificates(&policy->secrets[i], &bundle, err) < 0)
			return -1;
	return 0;
}

/* ---- what the cell sees ---- */

size_t policy_listeners(const struct door_policy *policy, struct door_listener ret[DOORS_MAX])
{
	size_t count = 0;
	uint32_t address = FIRST_ADDRESS;

	if (policy->proxy)
		ret[count++] = (struct door_listener){INADDR_LOOPBACK, PROXY_PORT, "proxy"};
	for (size_t i = 0; i < policy->service_count && count < DOORS_MAX; i++)
		ret[count++] = (struct door_listener){++address, policy->services[i].port, policy->services[i].name};
	for (size_t i = 0; i < policy->secret_count && count < DOORS_MAX; i++)
		ret[count++] = (struct door_listener){++address, SECRET_PORT, policy->secrets[i].name};
	return count;
}

void policy_hosts(const struct door_policy *policy, struct buf *ret)
{
	struct door_listener doors[DOORS_MAX];
	size_t count = policy_listeners(policy, doors);

	for (size_t i = policy->proxy; i < count; i++) {
		bool secret = i >= policy->proxy + policy->service_count;
		buf_fmt(ret, "127.0.1.%u %s%s\n", doors[i].address - FIRST_ADDRESS, doors[i].name, secret ? ".door" : "");
	}
}

struct env_list {
	const char *const *given; /* by the user; or NULL */
	char ***items;
	size_t *count;
};

static bool is_named(const char *entry, const char *name)
{
	size_t len = strlen(name);
	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static void env_put(const struct env_list *list, const char *name, const char *value)
{
	for (const char *const *at = list->given; at && *at; at++)
		if (is_named(*at, name))
			return;
	for (size_t i = 0; i < *list->count; i++)
		if (is_named((*list->items)[i], name))
			return;
	*list->items = xrealloc(*list->items, *list->count + 2, sizeof(**list->items));
	(*list->items)[(*list->count)++] = xfmt("%s=%s", name, value);
	(*list->items)[*list->count] = NULL;
}

static void env_put_proxy(const struct env_list *list)
{
	static const char *const names[] = {
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"};
	own(freep) char *url = xfmt("http://127.0.0.1:%d", PROXY_PORT);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		env_put(list, names[i], url);
	env_put(list, "NODE_USE_ENV_PROXY", "1"); /* else Node's fetch passes them over */
}

void policy_env(const struct door_policy *policy, const char *const *env, char ***ret, size_t *ret_count)
{
	const struct env_list list = {env, ret, ret_count};
	own(buf_done) struct buf direct = {0};

	if (policy_is_empty(policy))
		return;
	if (policy->proxy)
		env_put_proxy(&list);
	buf_str(&direct, "localhost,127.0.0.1,::1,.door");
	for (size_t i = 0; i < policy->service_count; i++)
		buf_fmt(&direct, ",%s", policy->services[i].name);
	env_put(&list, "NO_PROXY", buf_text(&direct));
	env_put(&list, "no_proxy", buf_text(&direct));
	for (size_t i = 0; i < policy->secret_count; i++) {
		const struct secret_door *door = &policy->secrets[i];
		own(freep) char *url = xfmt("http://%s.door%s", door->name, door->base_path);
		if (door->base_env[0])
			env_put(&list, door->base_env, url);
		if (door->key_env[0])
			env_put(&list, door->key_env, DOOR_PLACEHOLDER);
	}
}

/* ---- for people ---- */

static void put_host(struct buf *ret, const char *host)
{
	buf_fmt(ret, strchr(host, ':') ? "[%s]" : "%s", host);
}

static void explain_proxy(const struct door_policy *policy, struct buf *ret)
{
	size_t count = policy->rules.count;

	if (count == 0)
		buf_str(ret, "nothing: no name is allowed");
	for (size_t i = 0; i < count && i < RULES_SHOWN; i++) {
		buf_str(ret, i ? " " : "");
		rule_text(&policy->rules.items[i], ret);
	}
	if (count > RULES_SHOWN)
		buf_fmt(ret, " and %zu more", count - RULES_SHOWN);
}

static void explain_service(const struct door_target *target, struct buf *ret)
{
	if (target->path) {
		buf_str(ret, "unix:");
		term_line(target->path, strlen(target->path), 256, ret);
		return;
	}
	put_host(ret, target->host);
	buf_fmt(ret, ":%u", target->port);
}

static void explain_secret(const struct door_policy *policy, const struct secret_door *door, struct buf *ret)
{
	if (policy->replay) {
		buf_str(ret, "answers from a recording");
		return;
	}
	buf_str(ret, door->tls ? "https://" : "http://");
	put_host(ret, door->host);
	if (door->port != (door->tls ? 443 : 80))
		buf_fmt(ret, ":%u", door->port);
	buf_fmt(ret, "%s, %s: credential from $%s", door->path, door->header, door->env);
	if (door->ca) {
		buf_str(ret, ", trusting ");
		term_line(door->ca, strlen(door->ca), 256, ret);
	}
}

/* "service db:5432": its first two columns, by its place among the listeners. */
static char *explain_inside(const struct door_policy *policy, const struct door_listener *door, size_t i)
{
	if (i < policy->proxy)
		return xfmt("%-8s 127.0.0.1:%d", "proxy", PROXY_PORT);
	if (i < policy->proxy + policy->service_count)
		return xfmt("%-8s %s:%u", "service", door->name, door->port);
	return xfmt("%-8s http://%s.door/", "secret", door->name);
}

void policy_explain(const struct door_policy *policy, struct buf *ret)
{
	struct door_listener doors[DOORS_MAX];
	size_t count = policy_listeners(policy, doors), width = 0;
	char *inside[DOORS_MAX];

	for (size_t i = 0; i < count; i++) {
		inside[i] = explain_inside(policy, &doors[i], i);
		size_t len = strlen(inside[i]);
		width = len > width ? len : width;
	}
	for (size_t i = 0; i < count; i++) {
		size_t service = i - policy->proxy, secret = service - policy->service_count;
		buf_fmt(ret, "%-*s  ", (int)width, inside[i]);
		if (i < policy->proxy)
			explain_proxy(policy, ret);
		else if (service < policy->service_count)
			explain_service(&policy->services[service].target, ret);
		else
			explain_secret(policy, &policy->secrets[secret], ret);
		if (policy->upstream_host && (i < policy->proxy || service >= policy->service_count) && !policy->replay) {
			buf_str(ret, ", by way of ");
			put_host(ret, policy->upstream_host);
			buf_fmt(ret, ":%u", policy->upstream_port);
		}
		buf_char(ret, '\n');
		free(inside[i]);
	}
}
