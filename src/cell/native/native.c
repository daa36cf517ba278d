/* The native backend, from the supervisor's side: templates, slots, runs.
 *
 * A template is everything that cells of one kind share; it has a yard (a process that makes them). A
 * slot is a place for one cell at a time: a cgroup here, a network and a user namespace in the yard.
 * A run takes a slot whose cell is ready, or has one made; when its cell is gone the slot is used
 * again, and made ready at once if the template is to be kept warm.
 *
 *	slot:	EMPTY -> WANTED -> MAKING -> READY -> RUNNING -> DYING -> EMPTY
 *
 * A job may be sent before its cell exists: it waits in the socket. */
#include "cell/backend.h"
#include "cell/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/native/receipt.h"

#define MAX_MAKING 8 /* at once: descriptors in flight are limited for ordinary users */
#define GRACE_NS NS_PER_S
#define OUTER_USER_BASE 1900000000u /* numbers that no system gives to anybody */
#define OUTER_USER_SPAN 100000000u

enum slot_state { EMPTY, WANTED, MAKING, READY, RUNNING, DYING };

struct slot {
	struct kind *kind;
	unsigned index;
	enum slot_state state;
	struct cgroup_slot *cgroup;
	int control, pidfd;
	struct loop_source *control_source, *pidfd_source, *grace;
	pid_t pid;
	bool fresh_net;
	struct cell_backend_run *run;
	struct slot *next;
};

struct kind { /* a template and its yard */
	struct cell_backend_pool *pool;
	struct buf key;
	struct cell_limits limits;
	int yard;
	struct loop_source *source;
	bool ready, dead;
	enum hide_how hide;
	struct err err;
	unsigned making, warm;
	struct slot *slots;
	struct kind *next;
};

struct cell_backend_pool {
	struct loop *loop;
	struct cgroup_host *cgroup;
	bool user_ns, landlock;
	int zygote;
	pid_t zygote_pid;
	uint32_t outer_id;
	unsigned next_slot;
	struct kind *kinds;
};

struct waiting_exec {
	uint32_t id;
	cell_exec_fn *done;
	void *data;
	struct waiting_exec *next;
};

struct cell_backend_run {
	struct slot *slot;
	struct cell_receipt *receipt;
	struct cell_backend_events events;
	struct buf job; /* until it is sent */
	int stdio[3]; /* until then */
	bool tty, started, over, reported, killed;
	struct cell_end end;
	int workspace;
	struct waiting_exec *execs;
	uint32_t next_exec;
};

static void slot_make(struct slot *slot);
static void kind_pump(struct kind *kind);
static void slot_over(struct slot *slot);

/* ---- runs ---- */

static void run_fail(struct cell_backend_run *run, const struct err *err)
{
	if (run == NULL || run->over)
		return;
	run->over = true;
	run->events.failed(run->events.data, err);
}

static void run_started(struct cell_backend_run *run, uint32_t facts, int tty)
{
	const struct kind *kind = run->slot->kind;

	if (run->started || run->over) {
		fd_close(&tty);
		return;
	}
	run->started = true;
	receipt_fill(run->receipt, kind->pool->cgroup, facts, kind->hide, &kind->limits);
	run->events.started(run->events.data, tty);
}

static void run_ended(struct cell_backend_run *run)
{
	struct slot *slot = run->slot;
	struct cell_end *end = &run->end;
	uint64_t peak = 0, kills = 0, now = 0;

	if (run->over)
		return;
	run->over = true;
	if (slot->cgroup != NULL)
		cgroup_slot_usage(slot->cgroup, &peak, &kills, &now);
	if (peak > 0)
		end->peak_memory = peak;
	end->oom_kills = kills;
	if (!run->reported)
		end->wait_status = SIGKILL;
	end->filter_killed = WIFSIGNALED(end->wait_status) && WTERMSIG(end->wait_status) == SIGSYS;
	run->events.ended(run->events.data, end, run->workspace);
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

static void run_free(struct cell_backend_run *run)
{
	struct err gone = { ECANCELED, "the cell has ended" };

	while (run->execs != NULL) {
		struct waiting_exec *exec = run->execs;
		run->execs = exec->next;
		exec->done(exec->data, 0, &gone);
		free(exec);
	}
	run_sent(run);
	fd_close(&run->workspace);
	free(run);
}

/* ---- messages from inside ---- */

static void take_report(struct cell_backend_run *run, struct wire_reader *reader, int *workspace)
{
	struct cell_end end = { 0 };
	size_t kept = 0;

	end.wait_status = (int)wire_get_u32(reader);
	end.user_us = wire_get_u64(reader);
	end.system_us = wire_get_u64(reader);
	end.peak_memory = wire_get_u64(reader);
	end.processes = wire_get_u64(reader);
	end.written_bytes = wire_get_u64(reader);
	end.disk_full = wire_get_u32(reader) != 0;
	end.memory_killed = wire_get_u32(reader) != 0;
	while (!reader->bad && reader->pos < reader->len && kept < CELL_REFUSED_KEPT) {
		const char *name = filter_name(wire_get_u32(reader));
		uint64_t count = wire_get_u64(reader);
		end.refused_total += count;
		if (name != NULL)
			end.refused[kept++] = (struct cell_refused){ name, count };
	}
	if (run->reported)
		return;
	run->reported = true;
	run->end = end;
	run->workspace = fd_take(workspace);
}

static void take_exec_done(struct cell_backend_run *run, uint32_t id, int status)
{
	for (struct waiting_exec **at = &run->execs; *at != NULL; at = &(*at)->next) {
		struct waiting_exec *exec = *at;
		if (exec->id != id)
			continue;
		*at = exec->next;
		exec->done(exec->data, status, NULL);
		free(exec);
		return;
	}
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

static void on_control(void *data, int fd, uint32_t events)
{
	struct slot *slot = data;
	char message[MAX_MESSAGE];
	own(fd_closep) int given = -1; /* the workspace or a terminal */
	size_t count = 0;
	ssize_t len = wire_recv(fd, message, sizeof(message), &given, 1, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) { /* init is gone or going: its pidfd tells */
		slot->control_source = loop_remove(slot->control_source);
		return;
	}
	uint32_t kind = wire_get_u32(&reader), value = kind == MSG_REPORT ? 0 : wire_get_u32(&reader);
	if (kind == MSG_NET)
		slot->fresh_net = value == 0;
	if (kind == MSG_FAILED)
		take_failed(slot, &reader);
	if (slot->run == NULL)
		return;
	if (kind == MSG_STARTED)
		run_started(slot->run, value, fd_take(&given));
	if (kind == MSG_EXEC_DONE)
		take_exec_done(slot->run, value, (int)wire_get_u32(&reader));
	if (kind == MSG_REPORT) {
		take_report(slot->run, &reader, &given);
		run_ended(slot->run);
	}
}

static void on_gone(void *data, int fd, uint32_t events)
{
	struct slot *slot = data;
	struct cell_backend_run *run = slot->run;

	(void)fd;
	(void)events;
	while (slot->control_source != NULL)
		on_control(slot, slot->control, EPOLLIN);
	run = slot->run;
	if (run != NULL && !run->over) {
		if (run->started || run->killed) {
			run_ended(run);
		} else {
			struct err err;
			(void)err_set(&err, EPIPE, "the cell's init died before its program ran");
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

static void slot_unmade(struct slot *slot)
{
	slot->control_source = loop_remove(slot->control_source);
	slot->pidfd_source = loop_remove(slot->pidfd_source);
	slot->grace = loop_remove(slot->grace);
	fd_close(&slot->control);
	fd_close(&slot->pidfd);
	slot->pid = 0;
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
	kind_pump(slot->kind);
}

static void slot_fail(struct slot *slot, const struct err *err)
{
	if (slot->state == MAKING)
		slot->kind->making--;
	slot_unmade(slot);
	slot->state = slot->run == NULL ? EMPTY : DYING;
	slot->kind->warm = 0;
	run_fail(slot->run, err);
}

static int slot_send_make(struct slot *slot, struct err *err)
{
	own(buf_done) struct buf message = { 0 };
	int control[2], fds[1 + 4];
	bool v2 = false;

	if (slot_open_cgroup(slot, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return err_errno(err, errno, "make a cell's socket");
	slot->control = control[0];
	fds[0] = control[1];
	size_t count = 1;
	if (slot->cgroup != NULL) {
		cgroup_slot_reset(slot->cgroup);
		count += cgroup_slot_fds(slot->cgroup, fds + 1, &v2);
	}
	wire_put_u32(&message, MSG_MAKE);
	wire_put_u32(&message, slot->index);
	wire_put_u32(&message, (slot->fresh_net ? MAKE_FRESH_NET : 0) | (v2 ? MAKE_CGROUP_V2 : 0));
	int sent = wire_send(slot->kind->yard, message.data, message.len, fds, count);
	int cause = errno;
	(void)close(control[1]);
	return sent < 0 ? err_errno(err, cause, "ask for a cell") : 0;
}

static void slot_send_job(struct slot *slot, const int *stdio)
{
	struct cell_backend_run *run = slot->run;
	struct err err;

	if (job_send(slot->control, MSG_JOB, 0, &run->job, stdio, run->tty ? 0 : 3, &err) < 0 && err.code != EPIPE)
		run_fail(run, &err); /* EPIPE: its init has already told why it is gone */
	run_sent(run);
}

static void slot_make(struct slot *slot)
{
	struct err err;

	if (slot_send_make(slot, &err) < 0) {
		slot->state = WANTED;
		slot_fail(slot, &err);
		return;
	}
	slot->state = MAKING;
	slot->kind->making++;
	slot->control_source = loop_add_fd(slot->kind->pool->loop, slot->control, EPOLLIN, on_control, slot);
	if (slot->run != NULL)
		slot_send_job(slot, slot->run->stdio);
}

static struct slot *slot_new(struct kind *kind)
{
	struct slot *slot = xcalloc(1, sizeof(*slot));

	slot->kind = kind;
	slot->index = kind->pool->next_slot++;
	slot->control = slot->pidfd = -1;
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
static void kind_pump(struct kind *kind)
{
	unsigned spare = 0;

	if (kind->dead)
		return;
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		spare += slot->state == READY || ((slot->state == MAKING || slot->state == WANTED) && slot->run == NULL);
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

/* ---- yards ---- */

static void kind_die(struct kind *kind, const struct err *err)
{
	kind->dead = true;
	kind->err = *err;
	kind->source = loop_remove(kind->source);
	fd_close(&kind->yard);
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->state == WANTED || slot->state == MAKING)
			slot_fail(slot, err);
}

static void take_made(struct kind *kind, struct wire_reader *reader, int *pidfd)
{
	uint32_t index = wire_get_u32(reader);
	uint32_t pid = wire_get_u32(reader);

	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next) {
		if (slot->index != index || slot->state != MAKING || *pidfd < 0)
			continue;
		kind->making--;
		slot->pid = (pid_t)pid;
		slot->pidfd = fd_take(pidfd);
		slot->state = slot->run == NULL ? READY : RUNNING;
		slot->pidfd_source = loop_add_fd(kind->pool->loop, slot->pidfd, EPOLLIN, on_gone, slot);
		if (slot->run != NULL && slot->run->killed)
			(void)syscall(SYS_pidfd_send_signal, slot->pidfd, SIGKILL, NULL, 0);
	}
	kind_pump(kind);
}

static void on_yard(void *data, int fd, uint32_t events)
{
	struct kind *kind = data;
	char message[MAX_MESSAGE];
	int pidfd = -1;
	size_t count = 0;
	ssize_t len = wire_recv(fd, message, sizeof(message), &pidfd, 1, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	struct err err;

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		(void)err_set(&err, EPIPE, "the process that makes cells died");
		kind_die(kind, &err);
		return;
	}
	switch (wire_get_u32(&reader)) {
	case MSG_READY:
		kind->ready = true;
		kind->hide = (enum hide_how)wire_get_u32(&reader);
		break;
	case MSG_MADE:
		take_made(kind, &reader, &pidfd);
		break;
	case MSG_FAILED: {
		uint32_t index = wire_get_u32(&reader);
		message_get_err(&reader, &err);
		if (index == NO_SLOT)
			kind_die(kind, &err);
		for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
			if (slot->index == index && slot->state == MAKING)
				slot_fail(slot, &err);
		break;
	}
	default:
		break;
	}
	fd_close(&pidfd);
}

static void template_from_spec(const struct cell_backend_pool *pool, const struct cell_spec *spec,
	struct template *t)
{
	const struct cell_limits *limits = &spec->limits;

	*t = (struct template){ .image = spec->image, .mounts = (struct cell_mount *)spec->mounts,
		.mount_count = spec->mount_count, .hide = spec->hide, .uid = spec->uid, .gid = spec->gid,
		.tmp = limits->tmp, .disk = limits->disk, .shm = limits->shm, .file_size = limits->file_size,
		.open_files = limits->open_files, .processes = limits->processes, .user_ns = pool->user_ns,
		.landlock = pool->landlock, .overlay = !pretend("no-overlay"), .tmp_exec = spec->tmp_exec,
		.tty = spec->tty, .want_workspace = spec->output_dir != NULL };
	if (!cgroup_memory(pool->cgroup))
		t->watch_memory = limits->memory;
	if (!cgroup_cpu(pool->cgroup))
		t->pin_cpus = (limits->cpus_milli + 999) / 1000;
	if (!cgroup_pids(pool->cgroup))
		t->limit_tasks = true;
}

static int zygote_ensure(struct cell_backend_pool *pool, struct err *err)
{
	if (pool->zygote >= 0)
		return 0;
	pool->zygote = zygote_start(pool->cgroup, pool->user_ns, &pool->zygote_pid, err);
	return pool->zygote < 0 ? -1 : 0;
}

static void zygote_drop(struct cell_backend_pool *pool)
{
	fd_close(&pool->zygote);
	if (pool->zygote_pid > 0)
		(void)waitpid(pool->zygote_pid, NULL, 0);
	pool->zygote_pid = 0;
}

static int yard_request(struct cell_backend_pool *pool, struct kind *kind, struct err *err)
{
	int pair[2];
	own(buf_done) struct buf message = { 0 }, bytes = { 0 };

	wire_put_u32(&bytes, pool->outer_id);
	wire_put_u32(&bytes, pool->outer_id);
	buf_add(&bytes, kind->key.data, kind->key.len);
	own(fd_closep) int memfd = wire_to_memfd(&bytes, err);
	if (memfd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	wire_put_u32(&message, MSG_TEMPLATE);
	const int fds[2] = { pair[1], memfd };
	int sent = -1;
	for (int tries = 0; tries < 2 && sent < 0; tries++) {
		if (zygote_ensure(pool, err) < 0)
			break;
		sent = wire_send(pool->zygote, message.data, message.len, fds, 2);
		if (sent < 0) { /* it was killed: another one takes its place */
			(void)err_errno(err, errno, "reach the zygote");
			zygote_drop(pool);
		}
	}
	(void)close(pair[1]);
	kind->yard = pair[0];
	return sent;
}

static struct kind *kind_free(struct kind *kind)
{
	kind->source = loop_remove(kind->source);
	fd_close(&kind->yard);
	while (kind->slots != NULL) {
		struct slot *slot = kind->slots;
		kind->slots = slot->next;
		slot_unmade(slot);
		slot->cgroup = cgroup_slot_free(slot->cgroup);
		free(slot);
	}
	buf_done(&kind->key);
	free(kind);
	return NULL;
}

static struct kind *kind_get(struct cell_backend_pool *pool, const struct cell_spec *spec, struct err *err)
{
	struct template t;
	own(buf_done) struct buf key = { 0 };
	const struct cell_limits *limits = &spec->limits;

	template_from_spec(pool, spec, &t);
	template_encode(&t, &key);
	for (struct kind *kind = pool->kinds; kind != NULL; kind = kind->next)
		if (!kind->dead && kind->limits.memory == limits->memory &&
			kind->limits.cpus_milli == limits->cpus_milli && kind->key.len == key.len &&
			memcmp(kind->key.data, key.data, key.len) == 0)
			return kind;
	struct kind *kind = xcalloc(1, sizeof(*kind));
	kind->pool = pool;
	kind->yard = -1;
	kind->limits = *limits;
	kind->key = key;
	key = (struct buf){ 0 };
	if (yard_request(pool, kind, err) < 0)
		return kind_free(kind);
	kind->source = loop_add_fd(pool->loop, kind->yard, EPOLLIN, on_yard, kind);
	kind->next = pool->kinds;
	pool->kinds = kind;
	return kind;
}

/* Kinds whose yard is gone and whose cells are too. */
static void kinds_tidy(struct cell_backend_pool *pool)
{
	for (struct kind **at = &pool->kinds; *at != NULL;) {
		struct kind *kind = *at;
		bool busy = !kind->dead;
		for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
			busy = busy || slot->run != NULL || slot->pidfd >= 0;
		if (busy) {
			at = &kind->next;
			continue;
		}
		*at = kind->next;
		(void)kind_free(kind);
	}
}

/* ---- the backend ---- */

static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct cell_backend_pool *native_open(struct loop *loop, struct err *err)
{
	struct cell_backend_pool *pool = xcalloc(1, sizeof(*pool));

	pool->loop = loop;
	pool->zygote = -1;
	pool->user_ns = native_user_ns_works();
	if (!pool->user_ns && geteuid() != 0) {
		(void)err_set(err, ERR_MISSING,
			"this machine lets ordinary users make no user namespace, without which there is no cell: "
			"'hotcell doctor' says how to allow it");
		free(pool);
		return NULL;
	}
	raise_descriptors();
	pool->landlock = landlock_abi() > 0;
	pool->outer_id = geteuid() == 0 ? OUTER_USER_BASE + (uint32_t)getpid() % OUTER_USER_SPAN : 0;
	pool->cgroup = cgroup_open(err);
	if (pool->cgroup == NULL || zygote_ensure(pool, err) < 0) {
		pool->cgroup = cgroup_free(pool->cgroup);
		free(pool);
		return NULL;
	}
	return pool;
}

static bool pool_quiet(const struct cell_backend_pool *pool)
{
	for (const struct kind *kind = pool->kinds; kind != NULL; kind = kind->next)
		for (const struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
			if (slot->pidfd >= 0 || slot->state == MAKING)
				return false;
	return true;
}

static void native_close(struct cell_backend_pool *pool)
{
	if (pool == NULL)
		return;
	for (struct kind *kind = pool->kinds; kind != NULL; kind = kind->next) {
		kind->warm = 0;
		for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next) {
			if (slot->state == READY) { /* a cell nobody needed: it ends with its sockets */
				slot->control_source = loop_remove(slot->control_source);
				fd_close(&slot->control);
			}
			if (slot->state == WANTED)
				slot->state = EMPTY;
		}
	}
	for (uint64_t until = clock_now() + 3 * NS_PER_S; !pool_quiet(pool) && clock_now() < until;)
		(void)loop_turn(pool->loop, 50);
	while (pool->kinds != NULL) {
		struct kind *kind = pool->kinds;
		pool->kinds = kind->next;
		(void)kind_free(kind);
	}
	zygote_drop(pool); /* it waits for its yards, and they for their cells: then the cgroups are empty */
	pool->cgroup = cgroup_free(pool->cgroup);
	free(pool);
}

static int native_warm(struct cell_backend_pool *pool, const struct cell_spec *spec, unsigned count,
	struct err *err)
{
	struct kind *kind = kind_get(pool, spec, err);

	if (kind == NULL)
		return -1;
	kind->warm = count;
	kind_pump(kind);
	return 0;
}

static struct slot *slot_for_run(struct kind *kind)
{
	struct slot *slot = slot_in_state(kind, READY);

	if (slot == NULL) /* one that is being made for nobody */
		for (slot = kind->slots; slot != NULL; slot = slot->next)
			if (slot->state == MAKING && slot->run == NULL)
				break;
	if (slot == NULL)
		slot = slot_in_state(kind, EMPTY);
	return slot == NULL ? slot_new(kind) : slot;
}

static int run_keep_stdio(struct cell_backend_run *run, const int stdio[3], struct err *err)
{
	for (int i = 0; i < 3 && !run->tty; i++) {
		run->stdio[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (run->stdio[i] < 0)
			return err_errno(err, errno, "keep the cell's stdio");
	}
	return 0;
}

static struct cell_backend_run *native_start(struct cell_backend_pool *pool, const struct cell_spec *spec,
	const int stdio[3], struct cell_receipt *receipt, const struct cell_backend_events *events, struct err *err)
{
	kinds_tidy(pool);
	struct kind *kind = kind_get(pool, spec, err);
	if (kind == NULL)
		return NULL;
	struct cell_backend_run *run = xcalloc(1, sizeof(*run));
	*run = (struct cell_backend_run){ .receipt = receipt, .events = *events, .workspace = -1,
		.stdio = { -1, -1, -1 }, .tty = spec->tty };
	struct slot *slot = slot_for_run(kind);
	bool ready = slot->state == READY || slot->state == MAKING;
	if (!ready && run_keep_stdio(run, stdio, err) < 0) {
		run_free(run);
		return NULL;
	}
	job_encode(&run->job, spec->argv, spec->env, spec->cwd == NULL ? CELL_WORKSPACE : spec->cwd, spec->tty);
	slot->run = run;
	run->slot = slot;
	if (slot->state == READY)
		slot->state = RUNNING;
	if (ready)
		slot_send_job(slot, stdio);
	else
		slot->state = WANTED;
	kind_pump(kind);
	return run;
}

static void on_grace(void *data)
{
	struct slot *slot = data;

	slot->grace = loop_remove(slot->grace);
	if (slot->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, slot->pidfd, SIGKILL, NULL, 0);
}

static void on_cancelled_early(void *data)
{
	struct slot *slot = data;
	struct err err;

	slot->grace = loop_remove(slot->grace);
	slot->state = DYING;
	(void)err_set(&err, ECANCELED, "it was cancelled before its cell was made");
	run_fail(slot->run, &err);
}

static void native_kill(struct cell_backend_run *run)
{
	struct slot *slot = run->slot;
	own(buf_done) struct buf message = { 0 };

	if (run->over || run->killed)
		return;
	run->killed = true;
	wire_put_u32(&message, MSG_KILL);
	if (slot->state == WANTED) {
		slot->grace = loop_add_timer(slot->kind->pool->loop, clock_now(), on_cancelled_early, slot);
		return;
	}
	if (slot->control >= 0)
		(void)!wire_send(slot->control, message.data, message.len, NULL, 0);
	if (slot->grace == NULL)
		slot->grace = loop_add_timer(slot->kind->pool->loop, clock_now() + GRACE_NS / 2, on_grace, slot);
}

static void native_release(struct cell_backend_run *run)
{
	struct slot *slot = run->slot;

	slot->run = NULL;
	run_free(run);
	if (slot->state == DYING && slot->pidfd < 0) {
		slot->state = EMPTY;
		kind_pump(slot->kind);
		return;
	}
	if (slot->state == RUNNING || slot->state == MAKING) {
		/* init exits by itself after its report or failure; if not, it is made to */
		if (slot->grace == NULL)
			slot->grace = loop_add_timer(slot->kind->pool->loop, clock_now() + GRACE_NS, on_grace, slot);
		if (slot->state == RUNNING)
			slot->state = DYING;
	}
}

static uint64_t native_memory(const struct cell_backend_run *run)
{
	uint64_t peak = 0, kills = 0, now = 0;

	if (run->slot->cgroup != NULL)
		cgroup_slot_usage(run->slot->cgroup, &peak, &kills, &now);
	return now;
}

static int native_pid(const struct cell_backend_run *run)
{
	return (int)run->slot->pid;
}

static int native_exec(struct cell_backend_run *run, const char *const *argv, const char *const *env,
	const int fds[3], bool tty, cell_exec_fn *done, void *data, struct err *err)
{
	own(buf_done) struct buf job = { 0 };
	struct slot *slot = run->slot;

	if (run->over || !run->started || slot->control < 0)
		return err_set(err, ESRCH, "the cell is not running");
	job_encode(&job, argv, env, CELL_WORKSPACE, tty);
	if (job_send(slot->control, MSG_EXEC, ++run->next_exec, &job, fds, 3, err) < 0)
		return -1;
	struct waiting_exec *exec = xcalloc(1, sizeof(*exec));
	*exec = (struct waiting_exec){ run->next_exec, done, data, run->execs };
	run->execs = exec;
	return 0;
}

const struct cell_backend cell_native = {
	.name = "native",
	.open = native_open,
	.close = native_close,
	.warm = native_warm,
	.start = native_start,
	.kill = native_kill,
	.release = native_release,
	.memory = native_memory,
	.pid = native_pid,
	.exec = native_exec,
	.probe = native_probe,
	.explain = native_explain,
};
