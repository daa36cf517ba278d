/* The way to a program that listens. See session_private.h, mcp_http.h and bridge.c.
 *
 * Its cell has a network of its own with nothing but a loopback, so nobody outside can connect: a bridge is started
 * beside it, by cell_exec, from a file of ours that every cell of the target sees. Without a cell (backend none) there
 * is nothing to enter, and we connect ourselves.
 *
 * A connection that ends between answers is made anew when it is needed, and what was not answered is sent again. */
#include "fuzz/tool/session_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuzz/tool/bridge_image.h"

#define AGAIN_NS (5 * NS_PER_MS)
#define LINKS_MAX 3u /* that are lost without an answer */
#define CONNECT_MS 200 /* to our own loopback: only a full queue takes longer than nothing */

static void link_try(void *data);

static void link_later(struct session *session)
{
	session->link_timer = loop_remove(session->link_timer);
	session->link_timer = loop_add_timer(session->target->loop, clock_now() + AGAIN_NS, link_try, session);
}

/* ---- connecting ---- */

static int connect_here(struct session *session, struct err *err)
{
	const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(session->target->options.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {.tv_usec = CONNECT_MS * 1000};
	own(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
		connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, ESRCH, "connect to the target");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	own(fd_closep) int twin = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (twin < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(err, errno, "connect to the target");
	int in = fd_take(&fd), out = fd_take(&twin);
	return streams_add(session, in, out, err);
}

/* As the bridge does, where there is none: see bridge.c. A pipe does not know it, and needs it not. */
void link_hurry(struct session *session)
{
	(void)setsockopt(session->in, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
}

static void on_bridge_end(void *data, int wait_status, const struct err *err)
{
	/* The end of its stdout says the same, to who still listens. */
	(void)data, (void)wait_status, (void)err;
}

static int connect_inside(struct session *session, struct err *err)
{
	char port[8];
	const char *const argv[] = {TARGET_BRIDGE, port, NULL}, *const env[] = {NULL};
	int to[2] = {-1, -1}, from[2] = {-1, -1};
	int rc = -1;

	(void)snprintf(port, sizeof(port), "%u", session->target->options.port);
	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 || fcntl(to[1], F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(from[0], F_SETFL, O_NONBLOCK) < 0)
		rc = err_errno(err, errno, "make a pipe to the target");
	else
		rc = cell_exec(session->life->cell, argv, env, (const int[]){to[0], from[1], -1}, false, on_bridge_end, NULL,
			err);
	if (rc == 0)
		rc = streams_add(session, fd_take(&to[1]), fd_take(&from[0]), err);
	fd_close(&to[0]);
	fd_close(&to[1]);
	fd_close(&from[0]);
	fd_close(&from[1]);
	return rc;
}

/* Not running yet, or not listening yet: later. The deadline of the start or the call ends this. */
static void link_try(void *data)
{
	struct session *session = data;
	struct err err = {0};

	session->link_timer = loop_remove(session->link_timer);
	if (session->out >= 0 || !session->life || session->life->result)
		return;
	int rc = session->target->bridge[0] ? connect_inside(session, &err) : -1;
	if (rc < 0 && (!session->target->bridge[0] || err.code == ENOTSUP))
		rc = connect_here(session, &err);
	if (rc < 0)
		link_later(session);
	else
		session_flush(session);
}

void link_begin(struct session *session)
{
	http_talk_done(&session->http);
	session->wire.len = 0;
	session->links = 0;
	link_later(session);
}

void link_end(struct session *session)
{
	session->link_timer = loop_remove(session->link_timer);
	http_talk_done(&session->http);
	session->wire.len = session->sent = 0;
}

void link_wrap(struct session *session)
{
	const struct target_options *options = &session->target->options;
	struct buf *lines = &session->talk.out;

	for (size_t at = 0; at < lines->len;) {
		const char *end = memchr(lines->data + at, '\n', lines->len - at);
		size_t len = end ? (size_t)(end - lines->data) - at : lines->len - at;
		http_talk_post(&session->http, options->port, options->path ? options->path : "/mcp", session->talk.mcp.version,
			lines->data + at, len, &session->wire);
		at += len + 1;
	}
	lines->len = 0;
	if (session->out < 0 && !session->link_timer && session->wire.len)
		link_later(session); /* the last connection is gone */
}

/* ---- what it says ---- */

struct feeding {
	struct session *session;
	uint64_t generation;
};

static void on_message(void *data, const char *text, size_t len)
{
	struct feeding *feeding = data;

	feeding->session->links = 0;
	message_take(feeding->session, text, len);
}

/* A status instead of a message. A body that is a message all the same is the answer. */
static void on_status(void *data, unsigned status, bool wanted, const char *text, size_t len)
{
	struct feeding *feeding = data;
	struct session *session = feeding->session;
	struct answer *answer = &session->talk.answer;
	bool asked = session->state == STATE_ASKED || session->state == STATE_STARTING;

	if (!wanted) {
		remark_add(&session->target->remarks, "it answered a notification with HTTP status %u", status);
		return;
	}
	if (len && memmem(text, len, "\"jsonrpc\"", 9)) {
		message_take(session, text, len);
		return;
	}
	if (!asked)
		return;
	bool starting = session->state == STATE_STARTING;
	answer_broken(answer, true, "it answered a proper request with HTTP status %u and no message", status);
	if (!starting && (status == 400 || status == 422 || status >= 500)) {
		answer->kind = status >= 500 ? REPLY_FAILED : REPLY_REJECTED;
		answer->lost = false;
		answer->message.len = len ? 0 : answer->message.len;
		buf_add(&answer->message, text, len < 4096 ? len : 4096);
	}
	answer->code = status;
	buf_add(&session->text, text, len);
	session->talk.asked = false;
	session->talk.mcp.id = 0;
	if (answer->lost)
		session_broken(session);
	else
		session_settle(session);
}

static bool on_stop(void *data)
{
	struct feeding *feeding = data;

	return feeding->session->generation != feeding->generation || feeding->session->stale;
}

void link_feed(struct session *session, const char *bytes, size_t len)
{
	struct feeding feeding = {.session = session, .generation = session->generation};
	const struct http_events events = {.message = on_message, .status = on_status, .stop = on_stop, .data = &feeding};
	const char *why = NULL;

	link_hurry(session);
	if (session->stale)
		return;
	if (http_talk_feed(&session->http, bytes, len, &events, &why) == 0 || on_stop(&feeding))
		return;
	answer_broken(&session->talk.answer, true, "its answer is not HTTP: %s", why ? why : "it cannot be read");
	session_broken(session);
}

/* A server that ends in a call closes its connection first: whether it ended is waited for before anything is said. */
void link_lost(struct session *session)
{
	uint64_t generation = session->generation;

	if (session->http.in_body && session->http.body.framing == FRAME_CLOSE)
		link_feed(session, "", 0);
	if (session->generation != generation)
		return;
	streams_drop(session);
	bool asked = session->state == STATE_ASKED || session->state == STATE_STARTING;
	session->wire.len = session->sent = 0;
	bool again = http_talk_again(&session->http, &session->wire) == 0 && ++session->links <= LINKS_MAX;
	if (again && (session->wire.len || asked))
		link_later(session);
	else if (asked)
		session_ending(session, REPLY_ENDED, false);
	else
		session->stale = session->stale || !again;
}

/* ---- the bridge's file ---- */

int bridge_place(struct target *target, struct err *err)
{
	size_t size = (size_t)(bridge_image_end - bridge_image);

	(void)snprintf(target->bridge, sizeof(target->bridge), "/tmp/hotcell-bridge-XXXXXX");
	own(fd_closep) int fd = mkostemp(target->bridge, O_CLOEXEC);
	if (fd < 0) {
		target->bridge[0] = '\0';
		return err_errno(err, errno, "make a file for the bridge");
	}
	for (size_t put = 0; put < size;) {
		ssize_t more = write(fd, bridge_image + put, size - put);
		if (more <= 0)
			return err_errno(err, errno, "write the bridge");
		put += (size_t)more;
	}
	if (fchmod(fd, 0555) < 0)
		return err_errno(err, errno, "write the bridge");
	target->mounts = xcalloc(target->spec.mount_count + 1, sizeof(*target->mounts));
	if (target->spec.mount_count)
		memcpy(target->mounts, target->spec.mounts, target->spec.mount_count * sizeof(*target->mounts));
	target->mounts[target->spec.mount_count++] = (struct cell_mount){.source = target->bridge, .target = TARGET_BRIDGE};
	target->spec.mounts = target->mounts;
	return 0;
}

void bridge_remove(struct target *target)
{
	if (target->bridge[0])
		(void)unlink(target->bridge);
	free(target->mounts);
	target->mounts = NULL;
}

bool bridge_effect(const struct target *target, const struct cell_effect *effect)
{
	char address[32];

	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", target->options.port);
	return (effect->kind == CELL_EFFECT_CONNECT && strcmp(effect->what, address) == 0) ||
		(effect->kind == CELL_EFFECT_EXEC && strcmp(effect->what, TARGET_BRIDGE) == 0);
}
