/* The only file that knows c-ares. It is asked for name servers alone: /etc/hosts is read here, once, since it cannot be
 * opened later; answers are kept for as long as they say, for at most a minute, because each tunnel asks; and many that ask for
 * one name at once are one question: else one cell could drown the name server of all. */
#include "net/resolve.h"

#include <ares.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "net/name.h"

#define HOSTS_MAX (1 << 20)
#define HOSTS_NAMES_MAX 100000
#define CACHE_MAX 256
#define CACHE_TTL_MAX 60
#define ASK_MS 2000 /* a server's first chance to answer */
#define ASK_TRIES 3

struct host { /* a name's addresses */
	char name[HOST_MAX + 1];
	union address found[RESOLVE_MAX];
	size_t count;
	uint64_t until_ns;
};

struct watch { /* a socket of c-ares in our loop */
	struct resolver *resolver;
	int fd;
	struct loop_source *source;
	struct watch *next;
};

struct question { /* what c-ares was asked, and who waits for it */
	struct resolver *resolver;
	char host[HOST_MAX + 1];
	struct lookup *waiting;
	struct question *next;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	struct watch *watches;
	struct loop_source *timer;
	struct host *hosts; /* of /etc/hosts, sorted by name */
	size_t host_count;
	struct host cache[CACHE_MAX];
	size_t cache_next;
	struct question *questions; /* those without an answer */
};

struct lookup {
	struct resolver *resolver;
	char host[HOST_MAX + 1];
	uint16_t port;
	struct loop_source *soon; /* the answer is known, and told from the loop */
	union address found[RESOLVE_MAX];
	size_t count;
	bool asked; /* it waits for a question, whose answer frees it even if it is cancelled */
	struct lookup *next; /* that waits for the same */
	lookup_fn *fn; /* NULL: cancelled */
	void *data;
};

/* ---- /etc/hosts ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct host *)a)->name, ((const struct host *)b)->name);
}

static bool address_parse(const char *text, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1)
		ret->v4.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1)
		ret->v6.sin6_family = AF_INET6;
	return ret->any.sa_family != AF_UNSPEC;
}

static void hosts_add(struct resolver *resolver, const char *name, const union address *address)
{
	struct host *host = NULL;
	char canonical[HOST_MAX + 1];

	if (host_canonical(name, strlen(name), canonical) != HOST_NAME || resolver->host_count >= HOSTS_NAMES_MAX)
		return;
	for (size_t i = resolver->host_count; i-- > 0 && host == NULL && resolver->host_count - i < 8;) /* same name, lines nearby */
		if (strcmp(resolver->hosts[i].name, canonical) == 0)
			host = &resolver->hosts[i];
	if (host == NULL) {
		if ((resolver->host_count & (resolver->host_count - 1)) == 0)
			resolver->hosts = xrealloc(resolver->hosts, resolver->host_count == 0 ? 1 : resolver->host_count * 2,
				sizeof(*resolver->hosts));
		host = &resolver->hosts[resolver->host_count++];
		memset(host, 0, sizeof(*host));
		(void)strcpy(host->name, canonical);
	}
	if (host->count < RESOLVE_MAX)
		host->found[host->count++] = *address;
}

static void hosts_read(struct resolver *resolver)
{
	own(buf_done) struct buf text = { 0 };
	struct err none;
	char *line_rest = NULL, *word_rest = NULL;

	if (fs_read_small(AT_FDCWD, "/etc/hosts", HOSTS_MAX, &text, &none) < 0 || text.data == NULL)
		return;
	for (char *line = strtok_r(text.data, "\n", &line_rest); line != NULL; line = strtok_r(NULL, "\n", &line_rest)) {
		union address address;
		line[strcspn(line, "#")] = '\0';
		const char *word = strtok_r(line, " \t\r", &word_rest);
		if (word == NULL || !address_parse(word, &address))
			continue;
		while ((word = strtok_r(NULL, " \t\r", &word_rest)) != NULL)
			hosts_add(resolver, word, &address);
	}
	if (resolver->host_count > 0)
		qsort(resolver->hosts, resolver->host_count, sizeof(*resolver->hosts), by_name);
}

/* ---- what is known already ---- */

static const struct host *host_known(const struct resolver *resolver, const char *name)
{
	struct host key;
	uint64_t now = clock_now();

	(void)strcpy(key.name, name);
	const struct host *found = resolver->host_count == 0 ? NULL :
		bsearch(&key, resolver->hosts, resolver->host_count, sizeof(*resolver->hosts), by_name);
	for (size_t i = 0; i < CACHE_MAX && found == NULL; i++)
		if (resolver->cache[i].until_ns > now && strcmp(resolver->cache[i].name, name) == 0)
			found = &resolver->cache[i];
	return found;
}

static void host_keep(struct resolver *resolver, const char *name, const union address *found, size_t count, int ttl)
{
	struct host *host = &resolver->cache[resolver->cache_next];

	if (ttl <= 0)
		return;
	resolver->cache_next = (resolver->cache_next + 1) % CACHE_MAX;
	(void)strcpy(host->name, name);
	memcpy(host->found, found, count * sizeof(*found));
	host->count = count;
	host->until_ns = clock_now() + (uint64_t)(ttl < CACHE_TTL_MAX ? ttl : CACHE_TTL_MAX) * NS_PER_S;
}

/* ---- c-ares in our loop ---- */

static void on_timer(void *data);

static void timer_set(struct resolver *resolver)
{
	struct timeval most = { 1, 0 }, ours;

	resolver->timer = loop_remove(resolver->timer);
	if (resolver->watches == NULL)
		return;
	const struct timeval *left = ares_timeout(resolver->channel, &most, &ours); /* either of them */
	resolver->timer = loop_add_timer(resolver->loop,
		clock_now() + (uint64_t)left->tv_sec * NS_PER_S + (uint64_t)left->tv_usec * 1000 + NS_PER_MS, on_timer, resolver);
}

static void on_timer(void *data)
{
	struct resolver *resolver = data;

	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	timer_set(resolver);
}

static void on_socket(void *data, int fd, uint32_t events)
{
	struct watch *watch = data;
	struct resolver *resolver = watch->resolver;

	ares_process_fd(resolver->channel, (events & ~(uint32_t)EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD,
		(events & EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
	timer_set(resolver);
}

static void on_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct resolver *resolver = data;
	uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);
	struct watch **at = &resolver->watches;

	while (*at != NULL && (*at)->fd != fd)
		at = &(*at)->next;
	if (events == 0 && *at != NULL) { /* about to be closed */
		struct watch *gone = *at;
		*at = gone->next;
		gone->source = loop_remove(gone->source);
		free(gone);
	} else if (*at != NULL) {
		loop_set_events((*at)->source, events);
	} else if (events != 0) {
		struct watch *watch = xcalloc(1, sizeof(*watch));
		*watch = (struct watch){ resolver, fd, loop_add_fd(resolver->loop, fd, events, on_socket, watch), resolver->watches };
		resolver->watches = watch;
	}
}

static const char *why_not(int status)
{
	switch (status) {
	case ARES_ENOTFOUND: return "no such name";
	case ARES_ENODATA: return "the name has no address";
	case ARES_ETIMEOUT: return "the name servers do not answer";
	default: return "the name could not be resolved";
	}
}

static void tell(struct lookup *lookup, const union address *found, size_t count, const char *why)
{
	union address copy[RESOLVE_MAX];
	lookup_fn *fn = lookup->fn;
	void *data = lookup->data;

	for (size_t i = 0; i < count; i++) {
		copy[i] = found[i];
		if (copy[i].any.sa_family == AF_INET6)
			copy[i].v6.sin6_port = htons(lookup->port);
		else
			copy[i].v4.sin_port = htons(lookup->port);
	}
	lookup->soon = loop_remove(lookup->soon);
	free(lookup);
	if (fn != NULL)
		fn(data, copy, count, why);
}

static void on_answer(void *data, int status, int timeouts, struct ares_addrinfo *info)
{
	struct question *question = data, **at = &question->resolver->questions;
	union address found[RESOLVE_MAX];
	size_t count = 0;
	int ttl = CACHE_TTL_MAX;

	(void)timeouts;
	memset(found, 0, sizeof(found));
	for (const struct ares_addrinfo_node *node = info == NULL ? NULL : info->nodes; node != NULL && count < RESOLVE_MAX;
		node = node->ai_next) {
		if ((size_t)node->ai_addrlen > sizeof(found[count]) || (node->ai_family != AF_INET && node->ai_family != AF_INET6))
			continue;
		memcpy(&found[count++], node->ai_addr, (size_t)node->ai_addrlen);
		ttl = node->ai_ttl < ttl ? node->ai_ttl : ttl;
	}
	if (info != NULL)
		ares_freeaddrinfo(info);
	if (count > 0 && status == ARES_SUCCESS)
		host_keep(question->resolver, question->host, found, count, ttl);
	while (*at != question)
		at = &(*at)->next;
	*at = question->next; /* who asks from now on asks anew */
	for (struct lookup *lookup = question->waiting, *next; lookup != NULL; lookup = next) {
		next = lookup->next;
		tell(lookup, found, count, count > 0 ? "" : why_not(status));
	}
	free(question);
}

/* ---- asking ---- */

static void question_ask(struct resolver *resolver, struct lookup *lookup)
{
	struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NOSORT };
	struct question *question = xcalloc(1, sizeof(*question));

	*question = (struct question){ .resolver = resolver, .waiting = lookup, .next = resolver->questions };
	(void)strcpy(question->host, lookup->host);
	resolver->questions = question;
	ares_getaddrinfo(resolver->channel, question->host, NULL, &hints, on_answer, question);
	timer_set(resolver);
}

static void on_soon(void *data)
{
	struct lookup *lookup = data;
	struct question *question = lookup->resolver->questions;

	if (lookup->count > 0) {
		tell(lookup, lookup->found, lookup->count, "");
		return;
	}
	lookup->soon = loop_remove(lookup->soon);
	lookup->asked = true;
	while (question != NULL && strcmp(question->host, lookup->host) != 0)
		question = question->next;
	if (question == NULL) {
		question_ask(lookup->resolver, lookup);
		return;
	}
	lookup->next = question->waiting;
	question->waiting = lookup;
}

struct lookup *lookup_start(struct resolver *resolver, const char *host, uint16_t port, lookup_fn *fn, void *data)
{
	struct lookup *lookup = xcalloc(1, sizeof(*lookup));

	*lookup = (struct lookup){ .resolver = resolver, .port = port, .fn = fn, .data = data };
	(void)strncpy(lookup->host, host, HOST_MAX);
	const struct host *known = host_known(resolver, lookup->host);
	if (address_parse(host, &lookup->found[0])) {
		lookup->count = 1;
	} else if (known != NULL) {
		memcpy(lookup->found, known->found, known->count * sizeof(*known->found));
		lookup->count = known->count;
	}
	lookup->soon = loop_add_timer(resolver->loop, clock_now(), on_soon, lookup);
	return lookup;
}

struct lookup *lookup_cancel(struct lookup *lookup)
{
	if (lookup == NULL)
		return NULL;
	lookup->fn = NULL;
	if (lookup->asked)
		return NULL; /* freed by its answer */
	lookup->soon = loop_remove(lookup->soon);
	free(lookup);
	return NULL;
}

/* ---- opening ---- */

static int server_set(struct resolver *resolver, const char *server, struct err *err)
{
	int status = server == NULL ? ARES_SUCCESS : ares_set_servers_ports_csv(resolver->channel, server);

	return status == ARES_SUCCESS ? 0 : err_set(err, ERR_USAGE, "'%s' is no name server: write ADDRESS or ADDRESS:PORT", server);
}

struct resolver *resolver_open(struct loop *loop, const char *server, struct err *err)
{
	struct resolver *resolver = xcalloc(1, sizeof(*resolver));
	static char dns_only[] = "b";
	struct ares_options options = { .timeout = ASK_MS, .tries = ASK_TRIES, .lookups = dns_only, .sock_state_cb = on_state,
		.sock_state_cb_data = resolver, .ndots = 0, .flags = ARES_FLAG_NOSEARCH };

	int given = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB | ARES_OPT_NDOTS | ARES_OPT_FLAGS;

	resolver->loop = loop;
#ifdef ARES_OPT_QUERY_CACHE /* newer ones keep every answer for as long as it says: a cell could ask for names without end */
	options.qcache_max_ttl = 0;
	given |= ARES_OPT_QUERY_CACHE;
#endif
	int status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status == ARES_SUCCESS)
		status = ares_init_options(&resolver->channel, &options, given);
	if (status != ARES_SUCCESS) {
		(void)err_set(err, EIO, "prepare to resolve names: %s", ares_strerror(status));
		free(resolver);
		return NULL;
	}
	hosts_read(resolver);
	if (server_set(resolver, server, err) < 0)
		return resolver_free(resolver);
	return resolver;
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (resolver == NULL)
		return NULL;
	ares_destroy(resolver->channel); /* answers all that was asked, and closes its sockets */
	resolver->timer = loop_remove(resolver->timer);
	free(resolver->hosts);
	free(resolver);
	ares_library_cleanup();
	return NULL;
}
