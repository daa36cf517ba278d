/* Doors as options write them. What somebody typed may hold a credential where none belongs (a password in a URL, a key
 * in place of its variable's name): errors repeat a door's name, never the text. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/term.h"
#include "door/policy/policy_private.h"

#define DNS_PORT 53

struct text { /* some of an option's bytes */
	const char *at;
	size_t len;
};

static int refuse(struct err *err, const char *option, struct text name, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(name.at, name.len, 80, &shown);
	return err_set(err, ERR_USAGE, "%s '%s': %s", option, buf_text(&shown), why);
}

static char *text_dup(struct text text)
{
	return xfmt("%.*s", (int)text.len, text.at);
}

/* The part before the first `c`; *text becomes what follows it. False, and nothing changed: there is none. */
static bool text_cut(struct text *text, char c, struct text *ret)
{
	const char *found = memchr(text->at, c, text->len);

	if (!found)
		return false;
	*ret = (struct text){text->at, (size_t)(found - text->at)};
	*text = (struct text){found + 1, text->len - ret->len - 1};
	return true;
}

/* ---- where ---- */

static bool port_read(struct text text, uint16_t *ret)
{
	unsigned port = 0;

	if (text.len == 0 || text.len > 5)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		port = port * 10 + (unsigned)(text.at[i] - '0');
	}
	*ret = (uint16_t)port;
	return port > 0 && port <= UINT16_MAX;
}

/* An address in its usual form, as inet_ntop writes it; 127.1 and its like are none. */
static char *address_read(int family, struct text text)
{
	char copy[INET6_ADDRSTRLEN] = "", canonical[INET6_ADDRSTRLEN];
	unsigned char address[sizeof(struct in6_addr)];

	if (text.len >= sizeof(copy))
		return NULL;
	memcpy(copy, text.at, text.len);
	if (inet_pton(family, copy, address) != 1 || !inet_ntop(family, address, canonical, sizeof(canonical)))
		return NULL;
	return xstrdup(canonical);
}

static char *host_read(struct text text)
{
	char name[HOST_MAX + 1];

	if (text.len >= 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
		return address_read(AF_INET6, (struct text){text.at + 1, text.len - 2});
	if (host_canonical(text.at, text.len, name) == HOST_NAME)
		return xstrdup(name);
	return address_read(AF_INET, text);
}

/* HOST:PORT, or HOST alone where there is a default port (else 0). NULL, or why not. */
static const char *authority_read(struct text text, uint16_t port, char **ret_host, uint16_t *ret_port)
{
	const char *colon = memrchr(text.at, ':', text.len);
	struct text host = text;

	if (colon && text.at[text.len - 1] == ']') /* it is the address's */
		colon = NULL;
	*ret_port = port;
	if (colon) {
		host.len = (size_t)(colon - text.at);
		if (!port_read((struct text){colon + 1, text.len - host.len - 1}, ret_port))
			return "a port is a number from 1 to 65535";
	}
	if (*ret_port == 0)
		return "needs a port: HOST:PORT";
	*ret_host = host_read(host);
	return *ret_host ? NULL : "what should be a host is no name and no address in its usual form "
				  "(such as db.test, 10.0.0.5 or [::1])";
}

struct url {
	bool tls;
	char *host;
	uint16_t port;
	char *path; /* without a slash at its end */
};

static void url_done(struct url *url)
{
	free(url->host);
	free(url->path);
}

static bool has_scheme(struct text *text, const char *scheme)
{
	size_t len = strlen(scheme);

	if (text->len < len || strncasecmp(text->at, scheme, len) != 0)
		return false;
	*text = (struct text){text->at + len, text->len - len};
	return true;
}

/* NULL, or why not. */
static const char *url_read(struct text text, bool need_port, struct url *ret)
{
	ret->tls = has_scheme(&text, "https://");
	if (!ret->tls && !has_scheme(&text, "http://"))
		return "a URL begins with https:// or http://";
	const char *slash = memchr(text.at, '/', text.len);
	struct text authority = {text.at, slash ? (size_t)(slash - text.at) : text.len};
	struct text path = {text.at + authority.len, text.len - authority.len};
	if (memchr(authority.at, '@', authority.len))
		return "a user name or password in a URL is not taken";
	if (memchr(text.at, '?', text.len) || memchr(text.at, '#', text.len))
		return "a URL with a query or a fragment is not taken";
	uint16_t port = need_port ? 0 : ret->tls ? 443 : 80;
	const char *why = authority_read(authority, port, &ret->host, &ret->port);
	if (why)
		return why;
	if (path.len > 0 && path.at[path.len - 1] == '/')
		path.len--;
	ret->path = text_dup(path);
	return NULL;
}

/* ---- services ---- */

static const char *target_read(struct text text, struct door_target *ret)
{
	if (text.len < 5 || strncmp(text.at, "unix:", 5) != 0)
		return authority_read(text, 0, &ret->host, &ret->port);
	ret->path = text_dup((struct text){text.at + 5, text.len - 5});
	return NULL;
}

static const char *service_read(struct text text, struct door_service *ret)
{
	static const char form[] = "write it as NAME:PORT=TARGET, TARGET being HOST:PORT or unix:/PATH";
	char name[HOST_MAX + 1];
	struct text inside, host;

	if (!text_cut(&text, '=', &inside) || !text_cut(&inside, ':', &host))
		return form;
	if (!port_read(inside, &ret->port))
		return "a port is a number from 1 to 65535";
	if (host_canonical(host.at, host.len, name) != HOST_NAME)
		return "its name must be a host name, such as db or db.test";
	ret->name = xstrdup(name);
	return target_read(text, &ret->target);
}

int policy_add_service(struct door_policy *policy, const char *text, struct err *err)
{
	own(service_done) struct door_service service = {0};
	const char *why = service_read((struct text){text, strlen(text)}, &service);

	if (!why)
		why = service_fault(&service);
	if (why)
		return refuse(err, "--service", (struct text){text, strcspn(text, "=/@")}, why);
	policy->services = xrealloc(policy->services, policy->service_count + 1, sizeof(service));
	policy->services[policy->service_count++] = service;
	service = (struct door_service){0};
	return 0;
}

/* ---- secret doors ---- */

static const struct {
	const char *name, *text;
} presets[] = {
	{"@anthropic", "anthropic=https://api.anthropic.com,header=x-api-key,env=ANTHROPIC_API_KEY"},
	{"@openai", "openai=https://api.openai.com,header=authorization,env=OPENAI_API_KEY,base-path=/v1"},
};

#define MEMBER(name) offsetof(struct secret_door, name)
static const struct {
	const char *key;
	size_t member;
} keys[] = {
	{"header", MEMBER(header)},
	{"prefix", MEMBER(prefix)},
	{"env", MEMBER(env)},
	{"base-env", MEMBER(base_env)},
	{"base-path", MEMBER(base_path)},
	{"key-env", MEMBER(key_env)},
	{"ca", MEMBER(ca)},
};

static bool text_is(struct text text, const char *other)
{
	return text.len == strlen(other) && memcmp(text.at, other, text.len) == 0;
}

/* One of what follows the URL. */
static const char *secret_part_read(struct text part, struct secret_door *door, bool *private)
{
	struct text key;

	if (text_is(part, "private")) {
		*private = true;
		return NULL;
	}
	if (!text_cut(&part, '=', &key))
		return "after the URL come header=, env=, prefix=, base-env=, base-path=, key-env=, ca= and private";
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!text_is(key, keys[i].key))
			continue;
		char **member = (char **)(void *)((char *)door + keys[i].member);
		if (*member)
			return "one of its parts is given twice";
		*member = text_dup(part);
		return NULL;
	}
	return "it knows header=, env=, prefix=, base-env=, base-path=, key-env=, ca= and private, and nothing else";
}

static char *base_env_default(const char *name)
{
	char *ret = xfmt("%s_BASE_URL", name);

	for (char *at = ret; *at; at++)
		*at = *at == '-' ? '_' : *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
	return ret;
}

static void secret_defaults(struct secret_door *door)
{
	for (char *at = door->header; at && *at; at++)
		*at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
	if (!door->prefix)
		door->prefix = xstrdup(door->header && strcmp(door->header, "authorization") == 0 ? "Bearer " : "");
	if (!door->base_env)
		door->base_env = base_env_default(door->name);
	if (!door->base_path)
		door->base_path = xstrdup("");
	size_t len = strlen(door->base_path);
	if (len > 0 && door->base_path[len - 1] == '/')
		door->base_path[len - 1] = '\0';
	if (!door->key_env && door->env)
		door->key_env = xstrdup(door->env);
}

static const char *secret_url_read(struct text text, bool private, struct secret_door *door)
{
	own(url_done) struct url url = {0};
	const char *why = url_read(text, false, &url);

	if (why)
		return why;
	door->tls = url.tls;
	door->host = ptr_take(&url.host);
	door->port = url.port;
	door->path = ptr_take(&url.path);
	/* An address was said by the user. For clear text beyond this machine that is not enough. */
	enum address_class class = said_class(door->host);
	door->private_ok = private || class == ADDRESS_LOOPBACK || (class != ADDRESS_OTHER && door->tls);
	return NULL;
}

static const char *secret_read(struct text text, struct secret_door *door)
{
	struct text rest = text, first, name, part;
	bool private = false, more = text_cut(&rest, ',', &first);
	const char *why = NULL;

	if (!more)
		first = text;
	if (!text_cut(&first, '=', &name))
		return "write it as NAME=URL,header=FIELD,env=VAR";
	while (more && !why) {
		more = text_cut(&rest, ',', &part);
		why = secret_part_read(more ? part : rest, door, &private);
	}
	if (!why)
		why = secret_url_read(first, private, door);
	if (why)
		return why;
	char label[DOOR_NAME_MAX + sizeof(".door")], canonical[HOST_MAX + 1];
	int len = name.len > DOOR_NAME_MAX ? -1 : snprintf(label, sizeof(label), "%.*s.door", (int)name.len, name.at);
	if (len < 0 || host_canonical(label, (size_t)len, canonical) != HOST_NAME)
		return "its name must be one label of letters, digits and hyphens";
	door->name = text_dup((struct text){canonical, name.len});
	secret_defaults(door);
	return secret_fault(door);
}

static const char *preset_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(presets); i++)
		if (strcmp(presets[i].name, name) == 0)
			return presets[i].text;
	return NULL;
}

int policy_add_secret(struct door_policy *policy, const char *text, struct err *err)
{
	own(secret_done) struct secret_door door = {0};
	const char *preset = text[0] == '@' ? preset_find(text) : text;
	const char *why = preset ? secret_read((struct text){preset, strlen(preset)}, &door) :
				   "is none of the presets @anthropic and @openai";

	if (why && text[0] != '@' && text[strcspn(text, "=,:")] != '=') /* it has no name: it may be a credential as a whole */
		return err_set(err, ERR_USAGE, "--secret-door: %s", why);
	if (why) /* up to the URL: after it there may be anything */
		return refuse(err, "--secret-door", (struct text){text, strcspn(text, "=,:")}, why);
	policy->secrets = xrealloc(policy->secrets, policy->secret_count + 1, sizeof(door));
	policy->secrets[policy->secret_count++] = door;
	door = (struct secret_door){0};
	return 0;
}

/* ---- a proxy of the user's own ---- */

int policy_set_upstream(struct door_policy *policy, const char *text, struct err *err)
{
	own(url_done) struct url url = {0};
	const char *why = url_read((struct text){text, strlen(text)}, true, &url);

	if (!strstr(text, "://"))
		why = "write it as http://HOST:PORT";
	if (!why && url.tls)
		why = "a proxy is spoken to in plain HTTP: http://HOST:PORT";
	if (!why && url.path[0])
		why = "a proxy has no path: write it as http://HOST:PORT";
	if (!why)
		why = upstream_fault(url.host, url.port);
	if (why)
		return err_set(err, ERR_USAGE, "--upstream-proxy: %s", why);
	free(policy->upstream_host);
	policy->upstream_host = ptr_take(&url.host);
	policy->upstream_port = url.port;
	return 0;
}

/* ---- a name server of the user's own ---- */

char *resolver_canonical(const char *text)
{
	struct text all = {text, strlen(text)};
	own(freep) char *bare = address_read(AF_INET6, all); /* has colons, and no port without brackets */
	own(freep) char *host = NULL;
	uint16_t port = DNS_PORT;

	if (!bare && (authority_read(all, DNS_PORT, &host, &port) || said_class(host) == ADDRESS_OTHER ||
			     strcmp(host, "localhost") == 0))
		return NULL;
	const char *address = bare ? bare : host;
	return xfmt(strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, port);
}

int policy_set_resolver(struct door_policy *policy, const char *text, struct err *err)
{
	char *resolver = resolver_canonical(text);

	if (!resolver)
		return err_set(err, ERR_USAGE,
			"--resolver: write a name server as ADDRESS or ADDRESS:PORT, such as 127.0.0.1:5353 or [::1]:53");
	free(policy->resolver);
	policy->resolver = resolver;
	return 0;
}
