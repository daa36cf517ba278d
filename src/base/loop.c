/* epoll for descriptors, a binary heap for timers, a signalfd for signals.
 *
 * A source may vanish while the batch that epoll returned still points at it, so a source removed
 * inside loop_turn only loses its registration and is marked dead; its memory goes when the
 * outermost turn ends. For the same reason nothing here looks a source up by descriptor: the
 * number may already belong to somebody else. */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "base/buf.h"
#include "base/clock.h"

#define BATCH 64
#define HEAR_FIRST 8 /* turns at most */
#define NOT_IN_HEAP SIZE_MAX

enum source_kind {
	SOURCE_FD,
	SOURCE_ALWAYS, /* a descriptor that epoll refuses */
	SOURCE_TIMER,
};

struct loop_source {
	struct loop *loop;
	enum source_kind kind;
	bool dead;
	int fd;
	uint32_t events; /* 0: not registered with epoll */
	union {
		loop_fd_fn *on_fd;
		loop_timer_fn *on_timer;
	};
	void *data;
	uint64_t at, order; /* timer: when, and which of equals came first */
	size_t heap_index;
	struct loop_source *next, **link; /* the list it is in */
	struct loop_source *next_dead;
};

struct loop {
	unsigned heard; /* turns in a row in which descriptors were ready and timers waited */
	int epoll_fd, signal_fd;
	struct loop_source *sources, *always, *dead;
	struct loop_source **heap;
	size_t heap_len, heap_cap;
	uint64_t next_order;
	unsigned depth; /* turns on the stack */
	unsigned ready; /* SOURCE_ALWAYS sources with events */
	loop_signal_fn *on_signal;
	void *signal_data;
};

/* Lists */

static void list_push(struct loop_source **head, struct loop_source *source)
{
	source->next = *head;
	source->link = head;
	if (source->next)
		source->next->link = &source->next;
	*head = source;
}

static void list_unlink(struct loop_source *source)
{
	*source->link = source->next;
	if (source->next)
		source->next->link = source->link;
}

/* Timers */

static bool timer_before(const struct loop_source *a, const struct loop_source *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_put(struct loop *loop, size_t index, struct loop_source *timer)
{
	loop->heap[index] = timer;
	timer->heap_index = index;
}

/* Settles `timer` into the hole at `index`. */
static void heap_settle(struct loop *loop, size_t index, struct loop_source *timer)
{
	while (index > 0 && timer_before(timer, loop->heap[(index - 1) / 2])) {
		heap_put(loop, index, loop->heap[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	for (;;) {
		struct loop_source **heap = loop->heap;
		size_t child = index * 2 + 1;
		if (child + 1 < loop->heap_len && timer_before(heap[child + 1], heap[child]))
			child++;
		if (child >= loop->heap_len || !timer_before(heap[child], timer))
			break;
		heap_put(loop, index, heap[child]);
		index = child;
	}
	heap_put(loop, index, timer);
}

static void heap_remove(struct loop *loop, struct loop_source *timer)
{
	size_t index = timer->heap_index;

	if (index == NOT_IN_HEAP)
		return;
	timer->heap_index = NOT_IN_HEAP;
	struct loop_source *last = loop->heap[--loop->heap_len];
	if (last != timer)
		heap_settle(loop, index, last);
}

/* Sources */

static struct loop_source *source_new(struct loop *loop, enum source_kind kind, void *data)
{
	struct loop_source *source = xcalloc(1, sizeof(*source));

	source->loop = loop;
	source->kind = kind;
	source->fd = -1;
	source->data = data;
	source->heap_index = NOT_IN_HEAP;
	return source;
}

static int source_register(struct loop_source *source, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(source->loop->epoll_fd, operation, source->fd, &event);
}

struct loop *loop_open(struct err *err)
{
	struct loop *loop = xcalloc(1, sizeof(*loop));

	loop->signal_fd = -1;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		(void)err_errno(err, errno, "make an event loop");
		free(loop);
		return NULL;
	}
	return loop;
}

static void list_free(struct loop_source *source)
{
	while (source) {
		struct loop_source *next = source->next;
		free(source);
		source = next;
	}
}

/* No EPOLL_CTL_DEL: after a fork the epoll set is shared, and a child that frees its copy must not
 * take the parent's registrations away. */
struct loop *loop_free(struct loop *loop)
{
	if (!loop)
		return NULL;
	assert(loop->depth == 0);
	list_free(loop->sources);
	list_free(loop->always);
	free(loop->heap);
	fd_close(&loop->signal_fd);
	fd_close(&loop->epoll_fd);
	free(loop);
	return NULL;
}

/* NULL with errno when the kernel takes no more; then nothing was added. */
struct loop_source *loop_add_fd(
	struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *data)
{
	struct loop_source *source = source_new(loop, SOURCE_FD, data);

	source->fd = fd;
	source->on_fd = fn;
	/* Registered even for no events, to learn here whether epoll takes it. */
	if (source_register(source, EPOLL_CTL_ADD, events) < 0) {
		if (errno != EPERM) {
			int saved = errno;
			free(source);
			errno = saved;
			return NULL;
		}
		source->kind = SOURCE_ALWAYS;
	}
	list_push(source->kind == SOURCE_ALWAYS ? &loop->always : &loop->sources, source);
	source->events = events;
	if (source->kind == SOURCE_ALWAYS)
		loop->ready += events != 0;
	else if (!events)
		(void)source_register(source, EPOLL_CTL_DEL, 0);
	return source;
}

/* No events means not registered at all: epoll reports a hangup whatever was asked for, and a
 * source paused for back pressure would spin on it. */
void loop_set_events(struct loop_source *source, uint32_t events)
{
	assert(!source->dead && source->kind != SOURCE_TIMER);
	if (events == source->events)
		return;
	if (source->kind == SOURCE_ALWAYS) {
		source->loop->ready += (events != 0) - (source->events != 0);
	} else {
		int change = source->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
		int rc = source_register(source, events ? change : EPOLL_CTL_DEL, events);
		assert(rc == 0); /* else the descriptor was closed under its source */
		(void)rc;
	}
	source->events = events;
}

struct loop_source *loop_add_timer(struct loop *loop, uint64_t at_ns, loop_timer_fn *fn, void *data)
{
	struct loop_source *timer = source_new(loop, SOURCE_TIMER, data);

	timer->at = at_ns;
	timer->order = loop->next_order++;
	timer->on_timer = fn;
	if (loop->heap_len == loop->heap_cap) {
		loop->heap_cap = loop->heap_cap ? loop->heap_cap * 2 : 16;
		loop->heap = xrealloc(loop->heap, loop->heap_cap, sizeof(*loop->heap));
	}
	loop->heap_len++;
	heap_settle(loop, loop->heap_len - 1, timer);
	list_push(&loop->sources, timer);
	return timer;
}

void loop_hand_over(struct loop_source *source, uint32_t events, loop_fd_fn *fn, void *data)
{
	source->on_fd = fn;
	source->data = data;
	loop_set_events(source, events);
}

struct loop_source *loop_drop(struct loop_source *source)
{
	if (source && source->kind == SOURCE_FD)
		source->events = 0;
	return loop_remove(source);
}

struct loop_source *loop_remove(struct loop_source *source)
{
	if (!source)
		return NULL;
	struct loop *loop = source->loop;
	assert(!source->dead);
	if (source->kind == SOURCE_TIMER) {
		heap_remove(loop, source);
	} else if (source->kind == SOURCE_ALWAYS) {
		loop->ready -= source->events != 0;
	} else if (source->events) {
		/* Sources go before their descriptors are closed: a child may hold the same open
		 * file, and epoll would then report into freed memory. */
		int rc = source_register(source, EPOLL_CTL_DEL, 0);
		assert(rc == 0);
		(void)rc;
	}
	source->dead = true;
	source->events = 0;
	if (loop->depth) {
		source->next_dead = loop->dead;
		loop->dead = source;
	} else {
		list_unlink(source);
		free(source);
	}
	return NULL;
}

/* Signals */

static void on_signal_fd(void *data, int fd, uint32_t events)
{
	struct loop *loop = data;
	struct signalfd_siginfo info[8];

	(void)events;
	ssize_t got = read(fd, info, sizeof(info));
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(*info); i++)
		loop->on_signal(loop->signal_data, (int)info[i].ssi_signo);
}

int loop_take_signals(
	struct loop *loop, const sigset_t *set, loop_signal_fn *fn, void *data, struct err *err)
{
	assert(loop->signal_fd < 0);
	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return err_errno(err, errno, "block signals");
	own(fd_closep) int fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_errno(err, errno, "make a signal descriptor");
	if (!loop_add_fd(loop, fd, EPOLLIN, on_signal_fd, loop))
		return err_errno(err, errno, "wait for signals");
	loop->on_signal = fn;
	loop->signal_data = data;
	loop->signal_fd = fd_take(&fd);
	return 0;
}

/* Turning */

static int turn_timeout(const struct loop *loop, int timeout_ms)
{
	if (loop->ready)
		return 0;
	if (!loop->heap_len)
		return timeout_ms;
	uint64_t now = clock_now();
	uint64_t at = loop->heap[0]->at;
	uint64_t wait = at <= now ? 0 : (at - now) / NS_PER_MS + ((at - now) % NS_PER_MS != 0);
	if (timeout_ms >= 0 && wait > (uint64_t)timeout_ms)
		return timeout_ms;
	return wait > INT_MAX ? INT_MAX : (int)wait;
}

static void turn_fds(const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		struct loop_source *source = events[i].data.ptr;
		/* A callback earlier in this batch may have removed or paused it. */
		uint32_t wanted = events[i].events & (source->events | EPOLLHUP | EPOLLERR);
		if (!source->dead && source->events && wanted)
			source->on_fd(source->data, source->fd, wanted);
	}
}

/* The dead stay linked until the turn ends and new ones go in front, so the walk is safe. */
static void turn_always(struct loop *loop)
{
	for (struct loop_source *source = loop->always; source; source = source->next) {
		uint32_t ready = source->events & (EPOLLIN | EPOLLOUT);
		if (!source->dead && ready)
			source->on_fd(source->data, source->fd, ready);
	}
}

static void turn_timers(struct loop *loop)
{
	if (!loop->heap_len)
		return;
	uint64_t now = clock_now();
	uint64_t end = loop->next_order; /* timers set by these callbacks wait for the next turn */
	while (loop->heap_len && loop->heap[0]->at <= now && loop->heap[0]->order < end) {
		struct loop_source *timer = loop->heap[0];
		heap_remove(loop, timer);
		timer->on_timer(timer->data);
	}
}

static void turn_reap(struct loop *loop)
{
	while (loop->dead) {
		struct loop_source *source = loop->dead;
		loop->dead = source->next_dead;
		list_unlink(source);
		free(source);
	}
}

int loop_turn(struct loop *loop, int timeout_ms)
{
	struct epoll_event events[BATCH];
	int count = epoll_wait(loop->epoll_fd, events, BATCH, turn_timeout(loop, timeout_ms));

	if (count < 0 && errno != EINTR)
		return -1;
	loop->depth++;
	turn_fds(events, count);
	if (loop->ready)
		turn_always(loop);
	/* Who was stopped for a while finds its timers due and its answers unread: what has happened is heard first. */
	if (count <= 0 || ++loop->heard >= HEAR_FIRST) {
		loop->heard = 0;
		turn_timers(loop);
	}
	if (--loop->depth == 0)
		turn_reap(loop);
	return 0;
}
