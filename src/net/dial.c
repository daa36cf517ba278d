#include "net/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/weaken.h"
#include "net/http.h"
#include "net/local.h"
#include "net/name.h"

#define TRY_NS (5 * NS_PER_S) /* for one of several addresses */

struct dial {
	struct loop *loop;
	struct lookup *lookup;
	bool private_ok; /* what its rule says of addresses */
	bool private_only;
	bool through; /* a proxy, which is asked to connect */
	char *host;
	uint16_t port;
	union address found[RESOLVE_MAX];
	size_t count, next;
	int fd;
	struct loop_source *source, *timer;
	struct buf answer; /* of the proxy */
	enum dial_end end;
	const char *why;
	dial_fn *fn;
	void *data;
};

static void dial_free(struct dial *dial)
{
	dial->lookup = lookup_cancel(dial->lookup);
	dial->source = loop_remove(dial->source);
	dial->timer = loop_remove(dial->timer);
	fd_close(&dial->fd);
	buf_done(&dial->answer);
	free(dial->host);
	free(dial);
}

static void finish(struct dial *dial)
{
	int fd = fd_take(&dial->fd);
	struct loop_source *source = ptr_take(&dial->source);
	dial_fn *fn = dial->fn;
	void *data = dial->data;
	enum dial_end end = dial->end;
	const char *why = dial->why;

	dial_free(dial);
	fn(data, fd, source, end, why);
}

static void fail(struct dial *dial, enum dial_end end, const char *why)
{
	dial->source = loop_remove(dial->source);
	fd_close(&dial->fd);
	dial->end = end;
	dial->why = why;
	finish(dial);
}

static const char *cause(int code)
{
	switch (code) {
	case ECONNREFUSED: return "connection refused";
	case ENETUNREACH:
	case EHOSTUNREACH: return "no route there";
	case ETIMEDOUT: return "no answer in time";
	case EACCES:
	case EPERM: return "not permitted";
	case ENOENT: return "no such socket";
	default: return "could not be reached";
	}
}

static void try_next(struct dial *dial);

/* ---- through a proxy ---- */

static void on_answer(void *data, int fd, uint32_t events)
{
	struct dial *dial = data;
	char bytes[1024];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_PEEK);
	struct http_head head;

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		fail(dial, DIAL_FAILED, "the upstream proxy hung up");
		return;
	}
	/* not a byte of what follows the answer is ours */
	for (ssize_t i = 0; i < got; i++) {
		buf_char(&dial->answer, bytes[i]);
		size_t len = dial->answer.len;
		if (len < 4 || memcmp(dial->answer.data + len - 4, "\r\n\r\n", 4) != 0)
			continue;
		(void)!recv(fd, bytes, (size_t)i + 1, 0);
		bool good = http_read_response(dial->answer.data, len, true, &head) == HTTP_DONE && head.status / 100 == 2;
		if (!good) {
			fail(dial, DIAL_FAILED, "refused by the upstream proxy");
			return;
		}
		dial->end = DIAL_OK;
		finish(dial);
		return;
	}
	(void)!recv(fd, bytes, (size_t)got, 0);
	if (dial->answer.len > HTTP_HEAD_MAX)
		fail(dial, DIAL_FAILED, "the upstream proxy's answer is no answer");
}

static void ask_proxy(struct dial *dial)
{
	own(freep) char *text = xfmt("CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", dial->host, dial->port, dial->host, dial->port);
	size_t len = strlen(text);

	if (send(dial->fd, text, len, MSG_NOSIGNAL) != (ssize_t)len) { /* a new socket has room for it */
		fail(dial, DIAL_FAILED, "the upstream proxy hung up");
		return;
	}
	loop_hand_over(dial->source, EPOLLIN, on_answer, dial);
}

/* ---- connecting ---- */

/* Why a public address is none for this rule; NULL: it is. What the user names as private may be this machine. */
static const char *own_fault(const struct dial *dial, const union address *address)
{
	return dial->private_ok || weakened("door-addresses") ? NULL : local_refusal(&address->any);
}

/* An address that became ours meanwhile has not been told anything yet. */
static void connected(struct dial *dial)
{
	const char *fault = dial->next > 0 ? own_fault(dial, &dial->found[dial->next - 1]) : NULL;

	if (fault != NULL) {
		fail(dial, DIAL_REFUSED, fault);
		return;
	}
	if (dial->through) {
		ask_proxy(dial);
		return;
	}
	dial->end = DIAL_OK;
	finish(dial);
}

static void on_writable(void *data, int fd, uint32_t events)
{
	struct dial *dial = data;
	int failed = 0;
	socklen_t len = sizeof(failed);

	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) == 0 && failed == 0) {
		connected(dial);
		return;
	}
	dial->end = DIAL_FAILED;
	dial->why = cause(failed);
	try_next(dial);
}

static void on_late(void *data)
{
	struct dial *dial = data;

	dial->timer = loop_remove(dial->timer);
	dial->end = DIAL_FAILED;
	dial->why = "no answer in time";
	try_next(dial);
}

static void connect_to(struct dial *dial, const struct sockaddr *address, socklen_t len)
{
	dial->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (dial->fd >= 0 && (connect(dial->fd, address, len) == 0 || errno == EINPROGRESS)) {
		dial->source = loop_add_fd(dial->loop, dial->fd, EPOLLOUT, on_writable, dial);
		dial->timer = loop_add_timer(dial->loop, clock_now() + TRY_NS, on_late, dial);
		return;
	}
	dial->end = DIAL_FAILED;
	dial->why = dial->fd < 0 ? "no descriptors left" : cause(errno);
	try_next(dial);
}

/* `end` and `why` say what came of the one before. */
static void try_next(struct dial *dial)
{
	const char *why = "";

	dial->source = loop_remove(dial->source);
	dial->timer = loop_remove(dial->timer);
	fd_close(&dial->fd);
	while (dial->next < dial->count) {
		const union address *address = &dial->found[dial->next++];
		bool ok = address_allowed(&address->any, dial->private_ok, &why);
		if (ok && dial->private_only && address_classify(&address->any) == ADDRESS_PUBLIC) {
			ok = false;
			why = "a public address, in clear text";
		}
		const char *fault = ok ? own_fault(dial, address) : NULL;
		if (fault != NULL) {
			ok = false;
			why = fault;
		}
		if (!ok) {
			if (dial->why[0] == '\0') {
				dial->end = DIAL_REFUSED;
				dial->why = why;
			}
			continue;
		}
		connect_to(dial, &address->any, address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4));
		return;
	}
	finish(dial);
}

static void on_found(void *data, const union address *found, size_t count, const char *why)
{
	struct dial *dial = data;

	dial->lookup = NULL;
	dial->count = count;
	if (count > 0)
		memcpy(dial->found, found, count * sizeof(*found));
	dial->end = DIAL_FAILED;
	dial->why = count > 0 ? "" : why;
	try_next(dial);
}

/* ---- unix sockets ---- */

static void on_unix(void *data)
{
	struct dial *dial = data;
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	dial->timer = loop_remove(dial->timer);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", dial->host);
	connect_to(dial, (const struct sockaddr *)&address, sizeof(address));
}

struct dial *dial_start(struct loop *loop, struct resolver *resolver, const struct dial_place *place, dial_fn *fn, void *data)
{
	struct dial *dial = xcalloc(1, sizeof(*dial));
	bool through = place->host != NULL && place->proxy_host != NULL;

	*dial = (struct dial){ .loop = loop, .fd = -1, .fn = fn, .data = data, .why = "", .through = through, .port = place->port,
		.private_only = place->private_only,
		.private_ok = place->private_ok || through };
	dial->host = xstrdup(place->host != NULL ? place->host : place->path);
	if (place->host == NULL)
		dial->timer = loop_add_timer(loop, clock_now(), on_unix, dial);
	else
		dial->lookup = lookup_start(resolver, through ? place->proxy_host : place->host,
			through ? place->proxy_port : place->port, on_found, dial);
	return dial;
}

struct dial *dial_cancel(struct dial *dial)
{
	if (dial != NULL)
		dial_free(dial);
	return NULL;
}
