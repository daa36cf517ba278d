#include "cell/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include "base/clock.h"
#include "base/weaken.h"

#define CHUNK 65536
/* What is left in a pipe whose writers are dead is at most its capacity; a writer that is not dead
 * (only possible without a sandbox) must not keep us. */
#define DRAIN_MAX (4u << 20)
/* A short program prints and ends before this, and is read once, at its end, without the loop. */
#define DELAY_NS (2 * NS_PER_MS)

enum sink_kind {
	SINK_DIRECT, /* a file, a device, or non-blocking */
	SINK_SOCKET,
	SINK_POLLED, /* blocking and not to be reopened: small writes, each asked for first */
};

static void sink_ready(void *data, int fd, uint32_t events);
static void stream_ready(void *data, int fd, uint32_t events);
static void input_ready(void *data, int fd, uint32_t events);
static void input_writable(void *data, int fd, uint32_t events);

/* ---- sinks ---- */

/* The flags of an open file are shared with whoever gave it to us (a shell, its terminal), so it is
 * not made non-blocking but opened again. */
static int sink_reopen(struct pump_sink *sink)
{
	char path[40];
	int flags = fcntl(sink->given, F_GETFL);
	sink->kind = SINK_DIRECT;
	if (flags >= 0 && (flags & O_NONBLOCK))
		return fcntl(sink->given, F_DUPFD_CLOEXEC, 3);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", sink->given);
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	sink->kind = SINK_POLLED;
	return fcntl(sink->given, F_DUPFD_CLOEXEC, 3);
}

static void sink_open(struct pump_sink *sink)
{
	struct stat st;
	if (fstat(sink->given, &st) < 0) {
		sink->gone = true;
		return;
	}
	sink->terminal = S_ISCHR(st.st_mode) && isatty(sink->given);
	if (S_ISFIFO(st.st_mode) || sink->terminal) {
		sink->fd = sink_reopen(sink);
	} else {
		sink->kind = S_ISSOCK(st.st_mode) ? SINK_SOCKET : SINK_DIRECT;
		sink->fd = fcntl(sink->given, F_DUPFD_CLOEXEC, 3);
	}
	if (sink->fd < 0)
		sink->gone = true;
}

static ssize_t sink_write(const struct pump_sink *sink, const char *bytes, size_t len)
{
	if (sink->kind == SINK_SOCKET)
		return send(sink->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sink->kind == SINK_POLLED) {
		struct pollfd ask = {.fd = sink->fd, .events = POLLOUT};
		if (poll(&ask, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		if (len > 4096) /* a pipe that is ready takes PIPE_BUF bytes without waiting */
			len = 4096;
	}
	return write(sink->fd, bytes, len);
}

static void sink_close(struct pump_sink *sink)
{
	sink->source = loop_remove(sink->source);
	buf_done(&sink->pending);
	sink->pending = (struct buf){0};
	sink->pending_pos = 0;
	fd_close(&sink->fd);
}

static void sink_fail(struct pump *pump, struct pump_sink *sink, int code)
{
	sink_close(sink);
	sink->gone = true;
	sink->went_away = code == EPIPE || code == ECONNRESET;
	if (!sink->went_away && pump->err.code == 0)
		(void)err_errno(&pump->err, code, "pass on the program's output");
}

/* Returns how many bytes were taken, all of them when the sink is gone. */
static size_t sink_try(struct pump *pump, struct pump_sink *sink, const char *bytes, size_t len)
{
	size_t done = 0;
	while (done < len && !sink->gone) {
		ssize_t got = sink_write(sink, bytes + done, len - done);
		if (got >= 0)
			done += (size_t)got;
		else if (errno == EAGAIN)
			return done;
		else if (errno != EINTR)
			sink_fail(pump, sink, errno);
	}
	return len;
}

static bool sink_is_waiting(const struct pump_sink *sink)
{
	return sink->pending.len > sink->pending_pos;
}

static struct pump_stream *stream_beside(struct pump_stream *stream)
{
	return &stream->pump->out[stream == &stream->pump->out[0]];
}

/* Two terminals may be one under two names. There each stream waits until what was begun for the other is whole: the text of
 * one would else end half a sequence of the other, and no longer as a colour. */
static bool sink_must_wait(struct pump_stream *stream)
{
	const struct pump_sink *beside = &stream_beside(stream)->sink;
	return stream->sink.terminal && beside->terminal && beside->source;
}

static void sink_listen(struct pump_stream *stream)
{
	struct pump_sink *sink = &stream->sink;
	if (sink->source || sink_must_wait(stream))
		return;
	sink->source = loop_add_fd(stream->pump->loop, sink->fd, EPOLLOUT, sink_ready, stream);
	if (!sink->source)
		sink_fail(stream->pump, sink, errno);
}

static void sink_put(struct pump_stream *stream, const char *bytes, size_t len)
{
	struct pump_sink *sink = &stream->sink;
	bool wait = sink_is_waiting(sink) || sink_must_wait(stream);
	size_t done = wait ? 0 : sink_try(stream->pump, sink, bytes, len);
	if (sink->gone || done == len)
		return;
	buf_add(&sink->pending, bytes + done, len - done);
	sink_listen(stream);
}

/* ---- output ---- */

static void stream_listen(struct pump_stream *stream)
{
	if (stream->fd < 0 || stream->source)
		return;
	stream->source = loop_add_fd(stream->pump->loop, stream->fd, EPOLLIN, stream_ready, stream);
	if (!stream->source) {
		(void)err_errno(&stream->pump->err, errno, "wait for the program's output");
		fd_close(&stream->fd);
	}
}

/* Whoever read it has gone: so has the pipe, for the program, as if nothing were between. A terminal of its own it keeps. */
static bool stream_lost(struct pump_stream *stream)
{
	if (!stream->sink.went_away || stream->pump->tty)
		return false;
	stream->source = loop_remove(stream->source);
	fd_close(&stream->fd);
	return true;
}

static void stream_go_on(struct pump_stream *stream)
{
	if (!stream_lost(stream))
		stream_listen(stream);
}

static void sink_ready(void *data, int fd, uint32_t events)
{
	struct pump_stream *stream = data;
	struct pump *pump = stream->pump;
	struct pump_sink *sink = &stream->sink;
	struct pump_stream *beside = stream_beside(stream);
	(void)fd;
	(void)events;
	sink->pending_pos += sink_try(pump, sink, sink->pending.data + sink->pending_pos,
		sink->pending.len - sink->pending_pos);
	if (!sink->gone && sink_is_waiting(sink))
		return;
	sink->source = loop_remove(sink->source);
	sink->pending.len = sink->pending_pos = 0;
	if (sink_is_waiting(&beside->sink))
		sink_listen(beside); /* it may have waited for us */
	if (!pump->ended) {
		stream_go_on(stream);
		if (beside->sink.gone)
			stream_go_on(beside);
	} else if (!sink_is_waiting(&pump->out[0].sink) && !sink_is_waiting(&pump->out[1].sink)) {
		pump->events.flushed(pump->events.data);
	}
}

static void ring_add(struct pump *pump, const char *bytes, size_t len)
{
	pump->total += len;
	if (pump->ring_size == 0 || len == 0)
		return;
	if (!pump->ring)
		pump->ring = xcalloc(1, pump->ring_size);
	if (len > pump->ring_size) {
		bytes += len - pump->ring_size;
		len = pump->ring_size;
	}
	size_t at = (size_t)((pump->total - len) % pump->ring_size);
	size_t first = pump->ring_size - at < len ? pump->ring_size - at : len;
	memcpy(pump->ring + at, bytes, first);
	memcpy(pump->ring, bytes + first, len - first);
}

static void stream_pass(struct pump_stream *stream, const char *bytes, size_t len)
{
	struct pump_sink *sink = &stream->sink;
	if (sink->given < 0 || len == 0)
		return;
	if (sink->fd < 0 && !sink->gone)
		sink_open(sink);
	if (!stream->pump->filter || !sink->terminal) {
		sink_put(stream, bytes, len);
		return;
	}
	struct buf safe = {0};
	term_filter(&stream->filter, bytes, len, &safe);
	sink_put(stream, safe.data, safe.len);
	buf_done(&safe);
}

/* What was printed, or its end, to where it is kept and to where it goes. */
static void stream_hand_on(struct pump_stream *stream, const char *bytes, size_t len)
{
	struct pump *pump = stream->pump;
	struct buf changed = {0};
	if (pump->change)
		pump->change(pump->change_data, stream == &pump->out[1], bytes, len, &changed);
	const char *kept = pump->change ? changed.data : bytes;
	size_t kept_len = pump->change ? changed.len : len;
	ring_add(pump, kept, kept_len);
	if (pump->pass_unchanged)
		stream_pass(stream, bytes, len);
	else
		stream_pass(stream, kept, kept_len);
	buf_done(&changed);
}

/* Takes what was printed: what the limit allows goes on, the rest is counted. */
static void stream_take(struct pump_stream *stream, const char *bytes, size_t len)
{
	struct pump *pump = stream->pump;
	uint64_t room = pump->limit - pump->out[0].bytes - pump->out[1].bytes; /* which never pass the limit */
	size_t taken = len < room ? len : (size_t)room;
	stream->bytes += taken;
	pump->dropped += len - taken;
	if (taken > 0) {
		stream->last = bytes[taken - 1];
		stream_hand_on(stream, bytes, taken);
	}
	if (taken < len && !pump->over) {
		pump->over = true;
		pump->events.over(pump->events.data);
	}
}

static void stream_end(struct pump_stream *stream)
{
	stream->source = loop_remove(stream->source);
	fd_close(&stream->fd);
	if (stream->pump->change && stream->bytes > 0)
		stream_hand_on(stream, "", 0);
	if (stream->filter.pending_len == 0)
		return;
	struct buf rest = {0};
	term_filter_end(&stream->filter, &rest);
	sink_put(stream, buf_text(&rest), rest.len);
	buf_done(&rest);
}

/* One read. False at the end or when there is nothing now. */
static bool stream_read(struct pump_stream *stream)
{
	static char chunk[CHUNK]; /* on the stack each of its pages would be touched, for a word or two */
	ssize_t got = read(stream->fd, chunk, sizeof(chunk));
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0) { /* EIO is how a terminal says that nobody holds its other side */
		stream_end(stream);
		return false;
	}
	stream_take(stream, chunk, (size_t)got);
	return !stream_lost(stream);
}

static void stream_ready(void *data, int fd, uint32_t events)
{
	struct pump_stream *stream = data;
	(void)fd;
	(void)events;
	(void)stream_read(stream);
	/* Removed, not masked: a hang-up is reported whatever the mask, again and again. */
	if (sink_is_waiting(&stream->sink))
		stream->source = loop_remove(stream->source);
}

static void stream_drain(struct pump_stream *stream)
{
	uint64_t before = stream->bytes + stream->pump->dropped;
	while (stream->fd >= 0 && stream->bytes + stream->pump->dropped - before < DRAIN_MAX)
		if (!stream_read(stream))
			break;
	if (stream->fd >= 0)
		stream_end(stream);
}

/* ---- input ---- */

static void input_close(struct pump_input *in)
{
	in->from_source = loop_remove(in->from_source);
	in->to_source = loop_remove(in->to_source);
	in->from = -1;
	fd_close(&in->to);
	free(in->data);
	in->data = NULL;
}

static void input_listen(struct pump *pump)
{
	struct pump_input *in = &pump->in;
	if (in->from < 0 || in->to < 0 || in->from_source)
		return;
	in->from_source = loop_add_fd(pump->loop, in->from, EPOLLIN, input_ready, pump);
	if (!in->from_source) {
		(void)err_errno(&pump->err, errno, "wait for input to pass on");
		input_close(in);
	}
}

/* A terminal has no end of file; it is typed. Inside a line the first one only ends the line. */
static void input_end(struct pump *pump)
{
	struct pump_input *in = &pump->in;
	if (pump->tty && in->to >= 0) {
		bool in_line = in->last != '\0' && in->last != '\n';
		ssize_t unused = write(in->to, "\4\4", in_line ? 2 : 1);
		(void)unused;
	}
	input_close(in);
}

/* True when everything read so far is in the cell. */
static bool input_push(struct pump *pump)
{
	struct pump_input *in = &pump->in;
	while (in->pos < in->len) {
		ssize_t put = write(in->to, in->data + in->pos, in->len - in->pos);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && errno == EAGAIN)
			return false;
		if (put < 0) { /* the program does not read any more: no fault of its */
			input_close(in);
			return false;
		}
		in->pos += (size_t)put;
	}
	return true;
}

static void input_ready(void *data, int fd, uint32_t events)
{
	struct pump *pump = data;
	struct pump_input *in = &pump->in;
	(void)events;
	if (!in->data)
		in->data = xrealloc(NULL, 1, CHUNK); /* not zeroed: most of its pages are never touched */
	ssize_t got = read(fd, in->data, CHUNK);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		input_end(pump);
		return;
	}
	in->pos = 0;
	in->len = (size_t)got;
	in->last = in->data[got - 1];
	if (input_push(pump) || in->to < 0)
		return;
	in->from_source = loop_remove(in->from_source);
	in->to_source = loop_add_fd(pump->loop, in->to, EPOLLOUT, input_writable, pump);
	if (!in->to_source) {
		(void)err_errno(&pump->err, errno, "wait for the program to read");
		input_close(in);
	}
}

static void input_writable(void *data, int fd, uint32_t events)
{
	struct pump *pump = data;
	(void)fd;
	(void)events;
	if (!input_push(pump))
		return;
	pump->in.to_source = loop_remove(pump->in.to_source);
	input_listen(pump);
}

/* ---- the whole ---- */

/* Our side must not block: without a sandbox a writer may outlive the run. */
static int make_pipe(int ours, int *ret_ours, int *ret_cell, struct err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe for the program's input and output");
	*ret_ours = ends[ours];
	*ret_cell = ends[!ours];
	/* a cell of another user opens /dev/stdout by name, too; nobody else finds it */
	(void)fchmod(ends[ours], ours == 0 ? 0622 : 0644);
	if (fcntl(*ret_ours, F_SETFL, ours == 0 ? O_RDONLY | O_NONBLOCK : O_WRONLY | O_NONBLOCK) < 0)
		return err_errno(err, errno, "make a pipe non-blocking");
	return 0;
}

static int open_pipes(struct pump *pump, int ret_cell[3], struct err *err)
{
	if (make_pipe(0, &pump->out[0].fd, &ret_cell[1], err) < 0 ||
		make_pipe(0, &pump->out[1].fd, &ret_cell[2], err) < 0)
		return -1;
	return pump->in.from < 0 ? 0 : make_pipe(1, &pump->in.to, &ret_cell[0], err);
}

int pump_open(struct pump *pump, struct loop *loop, const struct cell_io *io, void *io_data, bool tty, uint64_t limit,
	const struct pump_events *events, int ret_cell[3], struct err *err)
{
	*pump = (struct pump){
		.loop = loop,
		.events = *events,
		.tty = tty,
		.filter = io->filter && !weakened("terminal-filter"),
		.pass_unchanged = io->pass_unchanged,
		.change = io->change,
		.change_data = io_data,
		.limit = limit,
		.ring_size = io->keep,
		.out = {{.fd = -1, .sink = {.given = io->out, .fd = -1}},
			{.fd = -1, .sink = {.given = io->err, .fd = -1}}},
		.in = {.from = io->in, .to = -1},
	};
	pump->out[0].pump = pump->out[1].pump = pump;
	ret_cell[0] = ret_cell[1] = ret_cell[2] = -1;
	if (tty)
		return 0;
	if (open_pipes(pump, ret_cell, err) < 0)
		return -1;
	input_listen(pump);
	return 0;
}

static void listen_now(void *data)
{
	struct pump *pump = data;
	pump->delay = loop_remove(pump->delay);
	stream_listen(&pump->out[0]);
	stream_listen(&pump->out[1]);
}

static void start_terminal(struct pump *pump, int master)
{
	int flags = fcntl(master, F_GETFL);
	if (flags < 0 || fcntl(master, F_SETFL, flags | O_NONBLOCK) < 0)
		(void)err_errno(&pump->err, errno, "make the terminal non-blocking");
	pump->out[0].fd = master;
	pump->in.to = fcntl(master, F_DUPFD_CLOEXEC, 3); /* one number can be watched only once */
	if (pump->rows > 0)
		pump_resize(pump, pump->rows, pump->columns);
	if (pump->in.from < 0)
		input_end(pump);
	input_listen(pump);
	listen_now(pump);
}

void pump_started(struct pump *pump, uint64_t at_ns, int tty_master)
{
	if (tty_master >= 0)
		start_terminal(pump, tty_master);
	else
		pump->delay = loop_add_timer(pump->loop, at_ns + DELAY_NS, listen_now, pump);
}

bool pump_ended(struct pump *pump)
{
	pump->ended = true;
	pump->delay = loop_remove(pump->delay);
	input_close(&pump->in);
	stream_drain(&pump->out[0]);
	stream_drain(&pump->out[1]);
	return !sink_is_waiting(&pump->out[0].sink) && !sink_is_waiting(&pump->out[1].sink);
}

static bool sink_is_cut(const struct pump_sink *sink)
{
	return sink->terminal && sink->source;
}

bool pump_is_cut(const struct pump *pump)
{
	return pump->cut || sink_is_cut(&pump->out[0].sink) || sink_is_cut(&pump->out[1].sink);
}

void pump_close(struct pump *pump)
{
	pump->delay = loop_remove(pump->delay);
	input_close(&pump->in);
	for (int i = 0; i < 2; i++) {
		pump->out[i].source = loop_remove(pump->out[i].source);
		fd_close(&pump->out[i].fd);
		if (sink_is_cut(&pump->out[i].sink))
			pump->cut = sink_write(&pump->out[i].sink, TERM_CANCEL, strlen(TERM_CANCEL)) < 1 || pump->cut;
		sink_close(&pump->out[i].sink);
		pump->out[i].sink.gone = true;
	}
}

void pump_done(struct pump *pump)
{
	pump_close(pump);
	free(pump->ring);
	pump->ring = NULL;
}

void pump_tail(const struct pump *pump, struct buf *ret)
{
	if (!pump->ring)
		return;
	if (pump->total <= pump->ring_size) {
		buf_add(ret, pump->ring, (size_t)pump->total);
		return;
	}
	size_t at = (size_t)(pump->total % pump->ring_size);
	buf_add(ret, pump->ring + at, pump->ring_size - at);
	buf_add(ret, pump->ring, at);
}

void pump_resize(struct pump *pump, unsigned rows, unsigned columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	pump->rows = rows;
	pump->columns = columns;
	if (pump->tty && pump->out[0].fd >= 0)
		(void)ioctl(pump->out[0].fd, TIOCSWINSZ, &size);
}
