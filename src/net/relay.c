#include "net/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"

#define CHUNK (64u << 10)
#define PIPE_SIZE (1 << 20)
#define TURN_MAX (1u << 20) /* bytes of one flow before others have their turn */
#define ROOM_MIN 1024
#define PIPES_KEPT 16
#define PIPES_MAX 48 /* below what a user's pipes may hold in all: the others would get small ones */

struct flow { /* one direction */
	int from, to;
	struct buf wait; /* read, not yet written */
	size_t written; /* of it */
	int pipe[2]; /* -1: not borrowed */
	size_t piped; /* bytes in the pipe */
	bool full_before; /* the last read filled the whole chunk: there is much to come */
	bool ended; /* nothing more will be read */
	bool gated; /* by us: whoever sent it may well go on, and the other side is not told of an end */
	bool shut; /* and the other side has been told */
};

struct relay {
	struct loop *loop;
	struct relay_events events;
	struct loop_source *near, *far;
	struct flow up, down;
	relay_answer_fn *answer; /* NULL: what comes down passes as it is */
	uint64_t active_ns;
	bool over;
};

/* ---- pipes are lent, since few tunnels are busy at a time ---- */

static int kept[PIPES_KEPT][2];
static size_t kept_count, pipe_count;

static bool pipe_borrow(struct flow *flow)
{
	if (kept_count > 0) {
		kept_count--;
		flow->pipe[0] = kept[kept_count][0];
		flow->pipe[1] = kept[kept_count][1];
		return true;
	}
	if (pipe_count >= PIPES_MAX || pipe2(flow->pipe, O_NONBLOCK | O_CLOEXEC) < 0) {
		flow->pipe[0] = flow->pipe[1] = -1;
		return false;
	}
	pipe_count++;
	(void)fcntl(flow->pipe[1], F_SETPIPE_SZ, PIPE_SIZE); /* as large as we may */
	return true;
}

static void pipe_return(struct flow *flow)
{
	if (flow->pipe[0] < 0)
		return;
	if (flow->piped == 0 && kept_count < PIPES_KEPT) {
		kept[kept_count][0] = fd_take(&flow->pipe[0]);
		kept[kept_count++][1] = fd_take(&flow->pipe[1]);
		return;
	}
	fd_close(&flow->pipe[0]);
	fd_close(&flow->pipe[1]);
	flow->piped = 0;
	pipe_count--;
}

/* ---- one direction ---- */

static bool would_wait(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static bool flow_idle(const struct flow *flow)
{
	return flow->wait.len == flow->written && flow->piped == 0;
}

/* Writes what waits. -1: the other side failed. */
static int flow_drain(struct flow *flow)
{
	while (flow->written < flow->wait.len) {
		ssize_t wrote = send(flow->to, flow->wait.data + flow->written, flow->wait.len - flow->written, MSG_NOSIGNAL);
		if (wrote < 0)
			return would_wait() ? 0 : -1;
		flow->written += (size_t)wrote;
	}
	if (flow->wait.len > 0) {
		buf_done(&flow->wait);
		flow->written = 0;
	}
	while (flow->piped > 0) {
		ssize_t moved = splice(flow->pipe[0], NULL, flow->to, NULL, flow->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (moved <= 0)
			return moved < 0 && would_wait() ? 0 : -1;
		flow->piped -= (size_t)moved;
	}
	return 0;
}

/* Bytes taken; 0: none now, or the end; -1: the side failed. */
static ssize_t take_spliced(struct flow *flow)
{
	ssize_t moved = splice(flow->from, NULL, flow->pipe[1], NULL, PIPE_SIZE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (moved > 0)
		flow->piped += (size_t)moved;
	flow->full_before = moved >= (ssize_t)CHUNK / 4;
	return moved;
}

/* What comes of it waits, and is written next. */
static void answer_take(struct relay *relay, const char *bytes, size_t len)
{
	if (relay->answer != NULL && (!relay->answer(relay->events.data, bytes, len, &relay->down.wait) || len == 0))
		relay->answer = NULL;
}

static size_t room_of(const struct relay *relay)
{
	size_t room = relay->events.room != NULL ? relay->events.room(relay->events.data) : CHUNK;

	return room < ROOM_MIN ? ROOM_MIN : room < CHUNK ? room : CHUNK;
}

static ssize_t take_copied(struct relay *relay, struct flow *flow)
{
	static char chunk[CHUNK];
	size_t room = room_of(relay);
	ssize_t got = recv(flow->from, chunk, room, 0);

	if (got <= 0)
		return got;
	if (flow == &relay->down && relay->answer != NULL) {
		answer_take(relay, chunk, (size_t)got);
		return got;
	}
	size_t may = (size_t)got, wrote = 0;
	if (flow == &relay->up && relay->events.gate != NULL)
		may = relay->events.gate(relay->events.data, chunk, (size_t)got);
	if (may < (size_t)got)
		flow->ended = flow->gated = true;
	flow->full_before = got == (ssize_t)room;
	while (wrote < may) {
		ssize_t now = send(flow->to, chunk + wrote, may - wrote, MSG_NOSIGNAL);
		if (now < 0 && !would_wait())
			return -1;
		if (now < 0)
			break;
		wrote += (size_t)now;
	}
	if (wrote < may)
		buf_add(&flow->wait, chunk + wrote, may - wrote);
	return (ssize_t)may;
}

/* Reads and writes as much as there is, within a turn. -1: it is over. */
static int flow_run(struct relay *relay, struct flow *flow)
{
	bool up = flow == &relay->up;
	size_t turn = 0;

	for (;;) {
		if (flow_drain(flow) < 0)
			return -1;
		if (!flow_idle(flow) || flow->ended || turn >= TURN_MAX)
			break;
		bool large = flow->full_before && (up ? relay->events.gate == NULL : relay->answer == NULL);
		if (large && flow->pipe[0] < 0 && !pipe_borrow(flow))
			large = false;
		ssize_t got = large ? take_spliced(flow) : take_copied(relay, flow);
		if (got < 0 && !would_wait())
			return -1;
		if (got < 0)
			break;
		if (got == 0) {
			flow->ended = true;
			if (!up)
				answer_take(relay, NULL, 0);
			break;
		}
		turn += (size_t)got;
		if (!relay->events.passed(relay->events.data, up ? (size_t)got : 0, up ? 0 : (size_t)got))
			return -1;
	}
	if (turn > 0)
		relay->active_ns = clock_now();
	if (flow_idle(flow) && (!flow->full_before || flow->ended))
		pipe_return(flow);
	if (flow->ended && flow_idle(flow) && !flow->shut) {
		flow->shut = true;
		if (!flow->gated)
			(void)shutdown(flow->to, SHUT_WR);
	}
	return 0;
}

/* ---- both ---- */

static uint32_t events_of(const struct flow *in, const struct flow *out)
{
	return (in->ended || !flow_idle(in) ? 0 : EPOLLIN) | (flow_idle(out) ? 0 : EPOLLOUT);
}

static void finish(struct relay *relay)
{
	if (relay->over)
		return;
	relay->over = true;
	relay->near = loop_remove(relay->near);
	relay->far = loop_remove(relay->far);
	relay->events.over(relay->events.data);
}

static void on_ready(void *data, int fd, uint32_t events)
{
	struct relay *relay = data;

	(void)fd;
	(void)events; /* reading and writing tell more */
	if (flow_run(relay, &relay->up) < 0 || flow_run(relay, &relay->down) < 0 || (relay->up.shut && relay->down.shut)) {
		finish(relay);
		return;
	}
	uint32_t near = events_of(&relay->up, &relay->down), far = events_of(&relay->down, &relay->up);
	/* One of which nothing is wanted is not listened to at all, or its hanging up would be told without end. */
	loop_set_events(relay->near, near);
	loop_set_events(relay->far, far);
}

void relay_at_once(int fd)
{
	const int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* fails for unix sockets, which never wait */
}

struct relay *relay_start(struct loop *loop, int near, int far, const char *sent, size_t sent_len,
	const struct relay_events *events)
{
	struct relay *relay = xcalloc(1, sizeof(*relay));

	relay->loop = loop;
	relay->events = *events;
	relay->up = (struct flow){ .from = near, .to = far, .pipe = { -1, -1 } };
	relay->down = (struct flow){ .from = far, .to = near, .pipe = { -1, -1 } };
	relay->active_ns = clock_now();
	relay_at_once(near);
	relay_at_once(far);
	if (sent_len > 0)
		buf_add(&relay->up.wait, sent, sent_len);
	/* both are looked at once, in the loop: something may have come already */
	relay->near = loop_add_fd(loop, near, EPOLLIN | EPOLLOUT, on_ready, relay);
	relay->far = loop_add_fd(loop, far, EPOLLIN | EPOLLOUT, on_ready, relay);
	return relay;
}

void relay_open_gate(struct relay *relay)
{
	relay->events.gate = NULL;
}

void relay_on_answer(struct relay *relay, relay_answer_fn *fn)
{
	relay->answer = fn;
}

struct relay *relay_free(struct relay *relay)
{
	if (relay == NULL)
		return NULL;
	relay->over = true;
	relay->near = loop_remove(relay->near);
	relay->far = loop_remove(relay->far);
	pipe_return(&relay->up);
	pipe_return(&relay->down);
	buf_done(&relay->up.wait);
	buf_done(&relay->down.wait);
	free(relay);
	return NULL;
}

uint64_t relay_active_ns(const struct relay *relay)
{
	return relay->active_ns;
}
