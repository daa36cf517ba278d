/* doord: serves the doors of all cells of one supervisor. Theory of operation.
 *
 * It is a program of its own, inside hotcell's file, started from memory with an empty environment and one descriptor:
 * a socket to the supervisor. From there it gets the policy (with the credentials) once, then for each run the
 * descriptors of its record and of its listeners, and the word that the run is over. When the policy is read, names can
 * be resolved and certificates are known, it gives up everything else: its user, all files, all system calls but those
 * for sockets, memory and time. Then it says READY.
 *
 * One thread, one loop. A connection belongs to one run; each run has at most CONNS_MAX. Every connection has a deadline
 * until bytes pass, and may be idle for IDLE_NS after. What is used up is counted in memory that the supervisor shares,
 * so that it outlives us.
 *
 * When the supervisor is gone, so is the socket: then we end, and with us everything that was open. */
#include "door/doord/doord.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/weaken.h"
#include "door/policy/credential.h"
#include "net/local.h"
#include "door/proto.h"
#include "door/doord/secret.h"

#define SWEEP_NS (NS_PER_S / 2)
#define WRITE_NS (20 * NS_PER_MS) /* a line of a record waits at most */
#define ACCEPTS 64 /* of one listener before others have their turn */
#define RECORDING_MAX (256u << 20)

/* ---- to the supervisor ---- */

static void tell(const struct doord *doord, const struct buf *message)
{
	(void)!wire_send(doord->control, message->data, message->len, NULL, 0); /* if it is gone, so are we */
}

/* Nothing passes that is not told, as long as the supervisor is only slow. One that stands still must not make us: then
 * it would take us for dead. */
void doord_say(struct doord *doord, const struct buf *message)
{
	struct pollfd wait = { .fd = doord->control, .events = POLLOUT };

	for (;;) {
		if (send(doord->control, message->data, message->len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
			doord->unheard = false;
			return;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || doord->unheard || poll(&wait, 1, PROTO_PATIENCE_MS) <= 0) {
			doord->unheard = true;
			return;
		}
	}
}

static void tell_failed(const struct doord *doord, const struct err *err)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, PROTO_FAILED);
	wire_put_u32(&message, (uint32_t)err->code);
	wire_put_str(&message, err->text);
	tell(doord, &message);
}

void doord_spent(struct doord *doord, uint64_t number, enum budget_kind kind, uint64_t short_of, bool over)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, PROTO_SPENT);
	wire_put_u64(&message, number);
	wire_put_u32(&message, kind);
	wire_put_u64(&message, short_of);
	wire_put_u32(&message, over);
	tell(doord, &message);
}

/* ---- runs ---- */

static struct door_run *run_find(const struct doord *doord, uint64_t id)
{
	struct door_run *run = doord->runs;

	while (run != NULL && run->id != id)
		run = run->next;
	return run;
}

static void on_knock(void *data, int fd, uint32_t events)
{
	struct open_listener *listener = data;

	(void)events;
	for (int i = 0; i < ACCEPTS && !listener->run->deaf; i++) {
		int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
			run_deafen(listener->run, true); /* until the next sweep: it would knock without end */
		if (client < 0)
			return;
		struct conn *conn = conn_new(listener->run, listener->index, client);
		conn->kind->accepted(conn);
	}
}

/* What was recorded is answered from; one that cannot be read answers nothing. */
static void read_recording(struct door_run *run, int fd)
{
	own(buf_done) struct buf bytes = { 0 };
	char chunk[65536];
	ssize_t got;
	struct err err;

	while ((got = read(fd, chunk, sizeof(chunk))) > 0 && bytes.len < RECORDING_MAX)
		buf_add(&bytes, chunk, (size_t)got);
	(void)!book_read(&run->book, buf_text(&bytes), bytes.len, "the recording", &err);
}

/* fds: as `flags` say, in their order. Takes what it keeps. */
static void run_open(struct doord *doord, struct wire_reader *reader, int *fds, size_t count)
{
	uint64_t id = wire_get_u64(reader), number = wire_get_u64(reader);
	uint32_t index = wire_get_u32(reader), flags = wire_get_u32(reader);
	size_t at = 0;

	if (reader->bad || index == 0 || index >= PROTO_TOTALS || run_find(doord, id) != NULL)
		return;
	struct door_run *run = xcalloc(1, sizeof(*run));
	*run = (struct door_run){ .doord = doord, .id = id, .number = number, .account = &doord->accounts[index], .log = -1,
		.record = -1, .tell = (flags & PROTO_TELL) != 0, .next = doord->runs };
	doord->runs = run;
	doord->run_count++;
	if ((flags & PROTO_LOG) != 0 && at < count)
		run->log = fd_take(&fds[at++]);
	off_t written = run->log < 0 ? 0 : lseek(run->log, 0, SEEK_END); /* by one of us that died */
	run->log_len = written < 0 ? 0 : (uint64_t)written;
	run->log_is_file = written >= 0; /* else a pipe, which may have a slow reader or none */
	if ((flags & PROTO_RECORD) != 0 && at < count)
		run->record = fd_take(&fds[at++]);
	if ((flags & PROTO_REPLAY) != 0 && at < count)
		read_recording(run, fds[at]);
}

static void run_listen(struct doord *doord, struct wire_reader *reader, int *fds, size_t count)
{
	struct door_run *run = run_find(doord, wire_get_u64(reader));

	if (run == NULL || reader->bad)
		return;
	for (size_t i = 0; i < count && run->listener_count < DOORS_MAX; i++) {
		struct open_listener *listener = &run->listeners[run->listener_count];
		*listener = (struct open_listener){ .fd = fd_take(&fds[i]), .run = run, .index = run->listener_count };
		(void)fcntl(listener->fd, F_SETFL, O_NONBLOCK);
		listener->source = loop_add_fd(doord->loop, listener->fd, EPOLLIN, on_knock, listener);
		run->listener_count++;
	}
}

static void run_close(struct doord *doord, struct wire_reader *reader)
{
	uint64_t id = wire_get_u64(reader);
	struct door_run **at = &doord->runs;
	own(buf_done) struct buf message = { 0 };

	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	struct door_run *run = *at;
	if (run != NULL) {
		*at = run->next;
		doord->run_count--;
		for (size_t i = 0; i < run->listener_count; i++) {
			run->listeners[i].source = loop_remove(run->listeners[i].source);
			fd_close(&run->listeners[i].fd);
		}
		run->listener_count = 0;
		while (run->conns != NULL)
			conn_free(run->conns);
		run_write(run);
		buf_done(&run->lines);
		fd_close(&run->log);
		fd_close(&run->record);
		book_done(&run->book);
		free(run);
	}
	wire_put_u32(&message, PROTO_CLOSED);
	wire_put_u64(&message, id);
	tell(doord, &message);
}

/* What is open stays open: nothing that was let through is worse for a budget that was raised meanwhile. */
static void take_budget(struct doord *doord, struct wire_reader *reader)
{
	struct door_budget budget = { 0 };

	for (size_t i = 0; i < BUDGET_KINDS; i++)
		budget.limit[i] = wire_get_u64(reader);
	if (reader->bad)
		return;
	doord->policy.budget = budget;
	doord->told_spent = doord->told_short = false;
}

/* ---- time ---- */

static void look_at(struct conn *conn, uint64_t now)
{
	if (conn->relay != NULL && conn->deadline_ns != 0) { /* what passed was judged, and refused */
		conn_free(conn);
		return;
	}
	if (conn->relay != NULL) {
		if (now - relay_active_ns(conn->relay) > IDLE_NS) {
			conn_cut(conn, "cut off: idle for too long");
			conn_free(conn);
		}
		return;
	}
	if (conn->deadline_ns == 0 || now < conn->deadline_ns || weakened("door-deadlines"))
		return;
	if (conn->lingering || conn->kind->late == NULL)
		conn_free(conn);
	else
		conn->kind->late(conn);
}

static void on_sweep(void *data)
{
	struct doord *doord = data;
	uint64_t now = clock_now();

	doord->sweep = loop_remove(doord->sweep);
	doord->sweep = loop_add_timer(doord->loop, now + SWEEP_NS, on_sweep, doord);
	for (struct door_run *run = doord->runs; run != NULL; run = run->next) {
		for (struct conn *conn = run->conns, *next; conn != NULL; conn = next) {
			next = conn->next;
			look_at(conn, now);
		}
		run_hear(run);
	}
}

static void on_write(void *data)
{
	struct doord *doord = data;

	doord->writing = loop_remove(doord->writing);
	for (struct door_run *run = doord->runs; run != NULL; run = run->next)
		run_write(run);
}

void doord_write_soon(struct doord *doord)
{
	if (doord->writing == NULL)
		doord->writing = loop_add_timer(doord->loop, clock_now() + WRITE_NS, on_write, doord);
}

/* ---- life ---- */

static void on_control(void *data, int fd, uint32_t events)
{
	struct doord *doord = data;
	char message[PROTO_MESSAGE_MAX];
	int fds[WIRE_MAX_FDS];
	size_t count = 0;
	ssize_t len = wire_recv(fd, message, sizeof(message), fds, WIRE_MAX_FDS, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		doord->over = true;
		return;
	}
	switch (wire_get_u32(&reader)) {
	case PROTO_OPEN: run_open(doord, &reader, fds, count); break;
	case PROTO_LISTEN: run_listen(doord, &reader, fds, count); break;
	case PROTO_CLOSE: run_close(doord, &reader); break;
	case PROTO_BUDGET: take_budget(doord, &reader); break;
	default: break;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]);
}

static int take_policy(struct doord *doord, struct err *err)
{
	char message[PROTO_MESSAGE_MAX];
	int fds[2] = { -1, -1 };
	size_t count = 0;
	own(buf_done) struct buf bytes = { 0 };
	ssize_t len = wire_recv(doord->control, message, sizeof(message), fds, 2, &count, 0);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	if (len <= 0 || wire_get_u32(&reader) != PROTO_POLICY || count != 2)
		return err_set(err, EPROTO, "the policy did not come");
	own(fd_closep) int policy = fds[0], totals = fds[1];
	if (wire_from_memfd(policy, PROTO_POLICY_MAX, &bytes, err) < 0)
		return -1;
	reader = (struct wire_reader){ .data = bytes.data, .len = bytes.len };
	int decoded = policy_decode(&doord->policy, &reader, err);
	explicit_bzero(bytes.data, bytes.len);
	doord->accounts = mmap(NULL, PROTO_TOTALS * sizeof(*doord->accounts), PROT_READ | PROT_WRITE, MAP_SHARED, totals, 0);
	if (decoded == 0 && doord->accounts == MAP_FAILED)
		return err_errno(err, errno, "map the totals");
	return decoded;
}

static void take_secrets(struct doord *doord)
{
	const struct door_policy *policy = &doord->policy;
	size_t most = policy->secret_count * (1 + CREDENTIAL_PARTS_MAX) + policy->hidden_count;
	size_t count = 0;
	const char **secrets = xcalloc(most + 1, sizeof(*secrets));
	struct credential_parts *parts = xcalloc(policy->secret_count + 1, sizeof(*parts));

	for (size_t i = 0; i < policy->secret_count; i++) {
		if (policy->secrets[i].secret == NULL) /* a replay has none */
			continue;
		secrets[count++] = policy->secrets[i].secret;
		credential_parts_make(&parts[i], &policy->secrets[i]);
		for (size_t j = 0; j < parts[i].count; j++)
			secrets[count++] = parts[i].items[j];
	}
	doord->words = scrub_words_make(secrets, weakened("door-scrub") ? 0 : count);
	(void)scrub_words_level(doord->words); /* cells have clocks */
	for (size_t i = 0; i < policy->hidden_count; i++)
		secrets[count++] = policy->hidden[i];
	doord->log_words = scrub_words_make(secrets, count);
	(void)scrub_words_level(doord->log_words);
	for (size_t i = 0; i < policy->secret_count; i++)
		credential_parts_done(&parts[i]);
	free(parts);
	free(secrets);
}

static int prepare(struct doord *doord, struct err *err)
{
	doord->loop = loop_open(err);
	if (doord->loop == NULL || take_policy(doord, err) < 0)
		return -1;
	take_secrets(doord);
	doord->resolver = resolver_open(doord->loop, doord->policy.resolver, err);
	if (doord->resolver == NULL || secrets_prepare(doord, err) < 0)
		return -1;
	local_prepare();
	struct rlimit limit = { 1024, 1024 };
	(void)getrlimit(RLIMIT_NOFILE, &limit); /* confine takes all there may be */
	doord->files = limit.rlim_max > 1u << 20 ? 1u << 20 : (size_t)limit.rlim_max;
	return confine(err);
}

int doord_main(void)
{
	struct doord doord = { .control = DOORD_CONTROL };
	own(buf_done) struct buf ready = { 0 };
	struct err err;

	(void)prctl(PR_SET_NAME, "hotcell-doord", 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	if (prepare(&doord, &err) < 0) {
		tell_failed(&doord, &err);
		return 1;
	}
	wire_put_u32(&ready, PROTO_READY);
	tell(&doord, &ready);
	doord.control_source = loop_add_fd(doord.loop, doord.control, EPOLLIN, on_control, &doord);
	doord.sweep = loop_add_timer(doord.loop, clock_now() + SWEEP_NS, on_sweep, &doord);
	while (!doord.over)
		(void)loop_turn(doord.loop, -1);
	return 0; /* what is open ends with us */
}
