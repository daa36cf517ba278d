/* Runs and the slots they are in: what the cells say, and what is said to them. */
#include "cell/native/supervisor/pool.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/native/inside/effects.h"
#include "cell/native/supervisor/receipt.h"

#define MAX_RESTING 4
#define MAX_IN_VAIN 8
#define MAX_EFFECTS_A_TURN 128 /* taken in at once: others wait for the loop as well */
#define MAX_LAST_WORDS 4096 /* more than its socket holds */
#define MAX_MAKING 8 /* at once: descriptors in flight are limited for ordinary users */

static void slot_over(struct slot *slot);
static void tell_execs(void *data);

/* ---- runs ---- */

static void tell_failed(void *data)
{
	struct cell_backend_run *run = data;

	run->failing = loop_remove(run->failing);
	run->events.failed(run->events.data, &run->err);
}

void run_fail(struct cell_backend_run *run, const struct err *err)
{
	if (run == NULL || run->over)
		return;
	run->over = true;
	run->err = *err;
	/* never from within start: what goes wrong at once is told a turn later */
	run->failing = loop_add_timer(run->slot->kind->pool->loop, clock_now(), tell_failed, run);
}

/* Numbers that were given out twice are nobody's own. */
static enum receipt_whose kind_whose(const struct kind *kind, uint32_t facts)
{
	const struct cell_backend_pool *pool = kind->pool;

	if ((facts & FACT_OWN_USER) != 0 && pool->next_user <= pool_users(pool))
		return pool->outer_id != 0 ? WHOSE_CELLS : WHOSE_CELLS_OF_USER;
	return pool->outer_id == 0 && !kind->apart ? WHOSE_USERS_MOUNTS : WHOSE_USERS;
}

static void run_started(struct cell_backend_run *run, uint32_t facts, uint64_t at_ns, int tty)
{
	struct kind *kind = run->slot->kind;

	if (run->started || run->over) {
		fd_close(&tty);
		return;
	}
	run->started = true;
	run->effects = kind->effects && (facts & FACT_SECCOMP_COUNTED) != 0;
	kind->in_vain = 0;
	receipt_fill(run->receipt, kind->pool->cgroup, facts, kind->hide, &kind->limits, kind->uid);
	receipt_user(run->receipt, kind_whose(kind, facts));
	receipt_opened(run->receipt, kind->opened);
	receipt_doors(run->receipt, kind->listener_count);
	if (kind->forbidden.len > 0 && run->events.forbidden != NULL)
		run->events.forbidden(run->events.data, kind->forbidden.data, kind->forbidden.len);
	run->events.started(run->events.data, at_ns, tty);
}

static void run_ended(struct cell_backend_run *run)
{
	struct slot *slot = run->slot;
	struct cell_end *end = &run->end;
	uint64_t peak = 0, kills = 0, now = 0;

	if (run->over)
		return;
	tell_execs(run);
	run->over = true;
	if (slot->cgroup != NULL)
		cgroup_slot_usage(slot->cgroup, &peak, &kills, &now);
	/* more than what was waited for: a parent may ignore its children's end */
	if (slot->cgroup != NULL)
		(void)cgroup_slot_cpu(slot->cgroup, &end->user_us, &end->system_us);
	if (peak > 0)
		end->peak_memory = peak;
	end->oom_kills = kills;
	if (!run->reported) {
		end->wait_status = SIGKILL;
		end->lost = !run->killed && kills == 0;
	}
	end->filter_killed = WIFSIGNALED(end->wait_status) && WTERMSIG(end->wait_status) == SIGSYS;
	run->events.ended(run->events.data, end, fd_take(&run->workspace));
}

/* What was only kept for sending. */
static void run_sent(struct cell_backend_run *run)
{
	for (int i = 0; i < 3; i++)
		fd_close(&run->stdio[i]);
	if (run->job.data != NULL)
		explicit_bzero(run->job.data, run->job.len);
	buf_done(&run->job);
	run->job = (struct buf){ 0 };
}

void run_free(struct cell_backend_run *run)
{
	struct err gone = { ECANCELED, "the cell has ended" };

	while (run->execs != NULL) {
		struct waiting_exec *exec = run->execs;
		run->execs = exec->next;
		exec->done(exec->data, 0, &gone);
		free(exec);
	}
	run->failing = loop_remove(run->failing);
	run->beginning = loop_remove(run->beginning);
	run->telling_execs = loop_remove(run->telling_execs);
	run_sent(run);
	fd_close(&run->workspace);
	free(run);
}

/* ---- messages from inside ---- */

static void take_observed(struct cell_observed *observed, struct wire_reader *reader)
{
	uint32_t flags = wire_get_u32(reader);

	observed->valid = (flags & OBSERVED) != 0;
	observed->wrote_tmp = (flags & OBSERVED_WROTE << SCRATCH_TMP) != 0;
	observed->wrote_shm = (flags & OBSERVED_WROTE << SCRATCH_SHM) != 0;
	observed->wrote_workspace = (flags & OBSERVED_WROTE << SCRATCH_WORKSPACE) != 0;
	for (size_t i = 0; observed->valid && i < CELL_MAX_CALLS; i += 32) {
		uint32_t bits = wire_get_u32(reader);
		for (size_t k = 0; k < 32; k++)
			observed->calls[i + k] = (bits >> k & 1) != 0;
	}
}

static void take_report(struct cell_backend_run *run, struct wire_reader *reader, int *workspace)
{
	struct cell_end end = { 0 };
	size_t kept = 0;

	end.wait_status = (int)wire_get_u32(reader);
	end.started_ns = wire_get_u64(reader);
	end.ended_ns = wire_get_u64(reader);
	end.user_us = wire_get_u64(reader);
	end.system_us = wire_get_u64(reader);
	end.peak_memory = wire_get_u64(reader);
	end.processes = wire_get_u64(reader);
	end.written_bytes = wire_get_u64(reader);
	end.disk_full = wire_get_u32(reader) != 0;
	end.memory_killed = wire_get_u32(reader) != 0;
	end.timed_out = wire_get_u32(reader) != 0;
	run->slot->fresh_net = wire_get_u32(reader) == 0; /* left unclean: not to be used again */
	run->slot->fresh_ipc = wire_get_u32(reader) == 0;
	take_observed(&end.observed, reader);
	while (!reader->bad && reader->pos < reader->len) {
		const struct cell_call *call = cell_call_at(wire_get_u32(reader));
		uint64_t count = wire_get_u64(reader);
		end.refused_total += count;
		if (call != NULL && kept < CELL_REFUSED_KEPT)
			end.refused[kept++] = (struct cell_refused){ call->name, count };
	}
	if (run->reported)
		return;
	run->reported = true;
	run->end = end;
	run->workspace = fd_take(workspace);
}

static void tell_execs(void *data)
{
	struct cell_backend_run *run = data;

	run->telling_execs = loop_remove(run->telling_execs);
	for (struct waiting_exec **at = &run->execs; *at != NULL;) {
		struct waiting_exec *exec = *at;
		if (!exec->ended) {
			at = &exec->next;
			continue;
		}
		*at = exec->next;
		exec->done(exec->data, exec->status, NULL);
		free(exec);
		at = &run->execs; /* it may have begun another */
	}
}

/* From the loop only: who asks for effects is not told of other things meanwhile. */
static void take_exec_done(struct cell_backend_run *run, uint32_t id, int status)
{
	for (struct waiting_exec *exec = run->execs; exec != NULL; exec = exec->next)
		if (exec->id == id && !exec->ended) {
			exec->ended = true;
			exec->status = status;
		}
	if (run->telling_execs == NULL)
		run->telling_execs = loop_add_timer(run->slot->kind->pool->loop, clock_now(), tell_execs, run);
}

static void take_effect(struct cell_backend_run *run, struct wire_reader *reader)
{
	own(freep) const char **words = NULL;
	struct cell_effect effect;
	uint64_t dropped;
	bool any;

	reader->pos = sizeof(uint32_t); /* behind MSG_EFFECT */
	if (effect_decode(reader, &effect, &words, &any, &dropped) && !run->over)
		run->events.effect(run->events.data, any ? &effect : NULL, dropped);
}

static void take_failed(struct slot *slot, struct wire_reader *reader)
{
	struct err err;

	message_get_err(reader, &err);
	if (slot->run != NULL)
		run_fail(slot->run, &err);
	else
		slot->kind->warm = 0; /* do not go on making what fails */
}

/* The cell's end of its socket is gone and nobody has told that there is a cell. Whoever makes one tells so, or
 * why not, before letting go of the socket: if no word of it is on the way, the maker was killed. */
static void slot_unborn(struct slot *slot)
{
	struct err err;

	while (slot->state == MAKING && slot_listen(slot))
		;
	if (slot->state != MAKING)
		return;
	(void)err_set(&err, ERR_LOST, "the process that makes the cell was killed from outside");
	slot_fail(slot, &err);
	kind_pump(slot->kind);
}

/* Takes one message. Returns its kind, 0 when there was none. */
static uint32_t take_message(struct slot *slot)
{
	char message[MAX_MESSAGE];
	own(fd_closep) int given = -1; /* the workspace or a terminal */
	size_t count = 0;
	ssize_t len = wire_recv(slot->control, message, sizeof(message), &given, 1, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	/* a peer that died with a message of ours unread resets us once; what it said is still there */
	if (len < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
		return 0;
	if (len <= 0) { /* init is gone or going: its pidfd tells */
		slot->control_source = loop_remove(slot->control_source);
		if (slot->state == MAKING)
			slot_unborn(slot);
		return 0;
	}
	uint32_t kind = wire_get_u32(&reader), value = wire_get_u32(&reader);
	if (kind == MSG_FAILED)
		take_failed(slot, &reader);
	if (slot->run == NULL)
		return kind;
	if (kind == MSG_EFFECT)
		take_effect(slot->run, &reader);
	if (kind == MSG_STARTED)
		run_started(slot->run, value, wire_get_u64(&reader), fd_take(&given));
	if (kind == MSG_EXEC_DONE)
		take_exec_done(slot->run, value, (int)wire_get_u32(&reader));
	if (kind == MSG_REPORT) {
		slot->control_source = loop_remove(slot->control_source); /* it says no more */
		take_report(slot->run, &reader, &given);
		run_started(slot->run, value, slot->run->end.started_ns, -1);
		run_ended(slot->run);
	}
	return kind;
}

static void on_control(void *data, int fd, uint32_t events)
{
	struct slot *slot = data;

	(void)fd;
	(void)events;
	for (int i = 0; i < MAX_EFFECTS_A_TURN && slot->control_source != NULL && take_message(slot) == MSG_EFFECT; i++)
		;
}

/* The end, and what fails, is for the loop to tell: nothing follows it. */
bool run_effects(struct cell_backend_run *run)
{
	struct slot *slot = run->slot;
	uint32_t kind = 0;

	for (int i = 0; i < MAX_LAST_WORDS && !run->over && slot->run == run && slot->control_source != NULL; i++) {
		if (recv(slot->control, &kind, sizeof(kind), MSG_PEEK | MSG_DONTWAIT) != (ssize_t)sizeof(kind))
			break;
		kind = le32toh(kind);
		if (kind != MSG_EFFECT && kind != MSG_STARTED && kind != MSG_EXEC_DONE)
			break;
		(void)take_message(slot);
	}
	return run->started ? run->effects : slot->kind->effects;
}

/* A cell died that nobody had asked for: where that goes on, no more are kept ready. */
static void kind_doubt(struct kind *kind)
{
	if (++kind->in_vain >= MAX_IN_VAIN)
		kind->warm = 0;
}

/* Init tells that its program runs only after a moment: one that takes all memory before that may take init with it. */
static bool slot_ran_out(const struct slot *slot)
{
	uint64_t peak = 0, kills = 0, now = 0;

	if (slot->cgroup != NULL)
		cgroup_slot_usage(slot->cgroup, &peak, &kills, &now);
	return kills > 0;
}

static void on_gone(void *data, int fd, uint32_t events)
{
	struct slot *slot = data;

	(void)fd;
	(void)events;
	for (int i = 0; i < MAX_LAST_WORDS && slot->control_source != NULL; i++) /* its last words, a report among them */
		(void)take_message(slot);
	struct cell_backend_run *run = slot->run;
	if (run == NULL && !slot->spoiled)
		kind_doubt(slot->kind);
	if (run != NULL && !run->reported)
		slot->fresh_net = true; /* nobody looked whether it was left clean */
	if (run != NULL && !run->over) {
		if (run->started || run->killed || slot_ran_out(slot)) {
			run_ended(run);
		} else {
			struct err err;
			(void)err_set(&err, ERR_LOST, "the cell's init was killed from outside before its program ran");
			run_fail(run, &err);
		}
	}
	slot_over(slot);
}

/* ---- slots ---- */

static int slot_open_cgroup(struct slot *slot, struct err *err)
{
	struct cell_backend_pool *pool = slot->kind->pool;

	if (slot->cgroup != NULL || cgroup_kind(pool->cgroup)[0] == '\0')
		return 0;
	slot->cgroup = cgroup_slot_open(pool->cgroup, slot->index, &slot->kind->limits, err);
	return slot->cgroup == NULL ? -1 : 0;
}

static void slot_close_listeners(struct slot *slot)
{
	while (slot->listener_count > 0)
		fd_close(&slot->listeners[--slot->listener_count]);
}

void slot_unmade(struct slot *slot)
{
	slot->control_source = loop_remove(slot->control_source);
	slot->pidfd_source = loop_remove(slot->pidfd_source);
	slot->grace = loop_remove(slot->grace);
	fd_close(&slot->control);
	fd_close(&slot->pidfd);
	slot_close_listeners(slot);
	slot->pid = 0;
	slot->spoiled = false;
}

/* A burst may have needed many slots at once: those beyond a few give their cgroup back. As many as are kept
 * ready come and go all the time: theirs would only be made again. */
void slot_rest(struct slot *slot)
{
	unsigned empty = 0, few = slot->kind->warm > MAX_RESTING ? slot->kind->warm : MAX_RESTING;

	for (const struct slot *other = slot->kind->slots; other != NULL; other = other->next)
		empty += other->state == EMPTY && other->stall >= 0;
	if (empty <= few)
		return;
	fd_close(&slot->stall);
	slot_close_yard(slot);
	slot->cgroup = cgroup_slot_free(slot->cgroup); /* the folder stays while the stall is in it: swept at the end */
}

/* The slot's cell is gone: it may be used again. */
static void slot_over(struct slot *slot)
{
	slot_unmade(slot);
	if (slot->run != NULL) {
		slot->state = DYING; /* until the run is released */
		return;
	}
	slot->state = EMPTY;
	slot_rest(slot);
	kind_pump(slot->kind);
}

void slot_fail(struct slot *slot, const struct err *err)
{
	if (slot->state == MAKING)
		slot->kind->making--;
	slot_unmade(slot);
	slot->state = slot->run == NULL ? EMPTY : DYING;
	if (err->code == ERR_LOST)
		kind_doubt(slot->kind);
	else
		slot->kind->warm = 0;
	run_fail(slot->run, err);
}

/* The other end of a socket died, perhaps with a message of ours unread. */
static bool is_gone(const struct err *err)
{
	return err->code == EPIPE || err->code == ECONNRESET;
}

/* To the slot's stall, if it has one; else to the yard, which forks it. */
static int send_make(struct slot *slot, int control, struct err *err)
{
	own(buf_done) struct buf message = { 0 };
	own(fd_closep) int theirs = -1;
	int fds[2 + 4] = { control }, pair[2];
	bool v2 = false, fresh_net = slot->fresh_net || slot->kind->listener_count > 0;

	wire_put_u32(&message, MSG_MAKE);
	wire_put_u32(&message, slot->fresh_ipc ? MAKE_FRESH_IPC : 0);
	if (fresh_net)
		fd_close(&slot->stall); /* it goes, and a new one comes into a new network */
	slot->fresh_ipc = false; /* a new one's is new */
	if (slot->stall >= 0 && wire_send(slot->stall, message.data, message.len, fds, 1) == 0)
		return 0;
	fd_close(&slot->stall);
	message.len = 0;
	wire_put_u32(&message, MSG_MAKE);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a slot's socket");
	slot->stall = pair[0];
	fds[1] = theirs = pair[1];
	size_t count = 2 + (slot->cgroup == NULL ? 0 : cgroup_slot_fds(slot->cgroup, fds + 2, &v2));
	int yard = slot_yard(slot, err);
	if (yard < 0)
		return -1;
	wire_put_u32(&message, slot->index);
	wire_put_u32(&message, (fresh_net ? MAKE_FRESH_NET : 0) | (v2 ? MAKE_CGROUP_V2 : 0));
	wire_put_u32(&message, slot->outer);
	slot->fresh_net = false;
	if (wire_send(yard, message.data, message.len, fds, count) < 0)
		return users_send_failed("ask for a cell", err);
	return 0;
}

static int slot_send_make(struct slot *slot, struct err *err)
{
	int control[2];

	if (slot_open_cgroup(slot, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return err_errno(err, errno, "make a cell's socket");
	slot->control = control[0];
	int sent = send_make(slot, control[1], err);
	(void)close(control[1]);
	return sent;
}

void slot_send_job(struct slot *slot, const int *stdio)
{
	struct cell_backend_run *run = slot->run;
	struct err err;

	if (job_send(slot->control, MSG_JOB, 0, &run->job, stdio, &err) < 0 && !is_gone(&err))
		run_fail(run, &err); /* else its init has already told why it is gone, or its pidfd will */
	run_sent(run);
}

/* Who is to serve the cell's listeners has them before its program runs. */
static void slot_begin(struct slot *slot)
{
	struct cell_backend_run *run = slot->run;

	if (slot->listener_count > 0)
		run->events.listening(run->events.data, slot->listeners, slot->listener_count);
	slot_close_listeners(slot);
	if (!run->over && !run->killed) /* it may have been cancelled just now */
		slot_send_job(slot, run->stdio);
}

static void on_begin(void *data)
{
	struct cell_backend_run *run = data;

	run->beginning = loop_remove(run->beginning);
	if (!run->over && !run->killed)
		slot_begin(run->slot);
}

void slot_begin_soon(struct slot *slot)
{
	slot->run->beginning = loop_add_timer(slot->kind->pool->loop, clock_now(), on_begin, slot->run);
}

static void slot_make(struct slot *slot)
{
	struct err err;

	/* a yard that is gone has left word why: it is read from its socket, not guessed here */
	if (slot_send_make(slot, &err) < 0 && !is_gone(&err)) {
		slot->state = WANTED;
		slot_fail(slot, &err);
		return;
	}
	slot->state = MAKING;
	slot->kind->making++;
	slot->control_source = loop_add_fd(slot->kind->pool->loop, slot->control, EPOLLIN, on_control, slot);
}

static struct slot *slot_new(struct kind *kind)
{
	struct slot *slot = xcalloc(1, sizeof(*slot));

	slot->kind = kind;
	slot->index = kind->pool->next_slot++;
	slot->control = slot->pidfd = slot->stall = slot->yard = -1;
	slot->next = kind->slots;
	kind->slots = slot;
	return slot;
}

static struct slot *slot_in_state(const struct kind *kind, enum slot_state state)
{
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->state == state)
			return slot;
	return NULL;
}

/* Makes what is wanted, as many at once as may be, and keeps the warm ones up. */
void kind_pump(struct kind *kind)
{
	unsigned spare = 0;

	if (kind->dead)
		return;
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		spare += slot->run == NULL && (slot->state == READY || slot->state == WANTED ||
						      (slot->state == MAKING && !slot->spoiled));
	while (spare < kind->warm) {
		struct slot *slot = slot_in_state(kind, EMPTY);
		if (slot == NULL)
			slot = slot_new(kind);
		slot->state = WANTED;
		spare++;
	}
	/* what a run waits for comes first */
	for (int with_run = 1; with_run >= 0; with_run--)
		for (struct slot *slot = kind->slots; slot != NULL && kind->making < MAX_MAKING; slot = slot->next)
			if (slot->state == WANTED && (slot->run != NULL) == with_run)
				slot_make(slot);
}

void slot_made(struct slot *slot, pid_t pid, int *fds, size_t count)
{
	struct kind *kind = slot->kind;

	kind->making--;
	slot->pid = pid;
	slot->pidfd = fd_take(&fds[0]);
	for (size_t i = 1; i < count; i++)
		slot->listeners[slot->listener_count++] = fd_take(&fds[i]);
	slot->state = slot->spoiled ? DYING : slot->run == NULL ? READY : RUNNING;
	slot->pidfd_source = loop_add_fd(kind->pool->loop, slot->pidfd, EPOLLIN, on_gone, slot);
	if (slot->cgroup != NULL) /* not before: the stall has let go of what the last one wrote only now */
		cgroup_slot_reset(slot->cgroup);
	if (slot->spoiled || (slot->run != NULL && slot->run->killed))
		(void)syscall(SYS_pidfd_send_signal, slot->pidfd, SIGKILL, NULL, 0);
	else if (slot->run != NULL && !slot->run->over)
		slot_begin(slot);
}

struct slot *slot_for_run(struct kind *kind)
{
	struct slot *slot = slot_in_state(kind, READY);

	if (slot == NULL) /* one that is being made for nobody */
		for (slot = kind->slots; slot != NULL; slot = slot->next)
			if (slot->state == MAKING && slot->run == NULL && !slot->spoiled)
				break;
	if (slot == NULL)
		slot = slot_in_state(kind, EMPTY);
	return slot == NULL ? slot_new(kind) : slot;
}
