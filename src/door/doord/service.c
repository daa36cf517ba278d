/* A service: one place outside, under a name of the cell's own. Bytes pass as they are. */
#include "door/doord/doord.h"

#include <stdio.h>
#include <sys/socket.h>

/* There is no protocol to say no in: a reset is the clearest answer. */
static void reset(struct conn *conn)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(conn->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	conn_free(conn);
}

static void on_dialled(void *data, int fd, struct loop_source *source, enum dial_end end, const char *why)
{
	struct conn *conn = data;

	conn->dial = NULL;
	conn->far = fd;
	conn->far_source = source;
	if (end != DIAL_OK) {
		conn_judged(conn, VERDICT_FAILED, why);
		reset(conn);
		return;
	}
	conn_relay(conn, NULL, 0, NULL);
}

static void accepted(struct conn *conn)
{
	const struct door_target *target = &conn->service->target;
	const struct dial_place place = { .host = target->host, .path = target->path, .port = target->port, .private_ok = true };
	own(buf_done) struct buf sentence = { 0 };

	(void)snprintf(conn->host, sizeof(conn->host), "%s", conn->service->name);
	conn->port = conn->service->port;
	if (!conn_may_begin(conn, &sentence)) {
		reset(conn);
		return;
	}
	conn_judged(conn, VERDICT_ALLOWED, "");
	conn->dial = dial_start(conn->run->doord->loop, conn->run->doord->resolver, &place, on_dialled, conn);
}

const struct door_kind door_service = { .accepted = accepted };
