/* The native backend: cells made of namespaces, cgroups, seccomp and Landlock. See README.md. */
#include "cell/native/supervisor/pool.h"

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
#include "cell/native/supervisor/receipt.h"

#define GRACE_NS NS_PER_S
#define BACKSTOP_MS 2000 /* after our own clock should have ended a cell, its init does */

/* ---- the backend ---- */

static void raise_descriptors(struct cell_backend_pool *pool)
{
	struct rlimit limit;

	pool->files_soft = pool->files_hard = RLIM_INFINITY;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		pool->files_soft = limit.rlim_cur;
		pool->files_hard = limit.rlim_max;
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct cell_backend_pool *native_open(struct loop *loop, struct err *err)
{
	struct cell_backend_pool *pool = xcalloc(1, sizeof(*pool));

	pool->loop = loop;
	pool->zygote = pool->outer_lock = -1;
	runtime_hold_init(&pool->runtime);
	if (!native_is_root() && !native_user_ns_works()) {
		(void)err_set(err, ERR_MISSING,
			"this machine lets ordinary users make no user namespace, without which there is no cell: "
			"'hotcell doctor' says how to allow it");
		free(pool);
		return NULL;
	}
	raise_descriptors(pool);
	pool->landlock = landlock_abi() > 0;
	struct err none;
	if (native_is_root())
		pool->outer_id = users_take(&pool->outer_lock);
	else
		(void)!users_take_own(&pool->own, &pool->outer_lock, &none);
	/* It makes itself ready while we look for our cgroups. On v2 those come first: it is to be where we step aside to. */
	bool early = cgroup_v1_mounted();
	if (early && zygote_ensure(pool, err) < 0) {
		fd_close(&pool->outer_lock);
		free(pool);
		return NULL;
	}
	pool->cgroup = cgroup_open(err);
	if (pool->cgroup == NULL || zygote_ensure(pool, err) < 0) {
		zygote_drop(pool);
		pool->cgroup = cgroup_free(pool->cgroup);
		fd_close(&pool->outer_lock);
		free(pool);
		return NULL;
	}
	if (early)
		zygote_tell(pool);
	pool->user_ns = !pretend("no-userns");
	return pool;
}

/* These try for real what was only expected; false if it is not so. */

static bool pool_try_cgroups(struct cell_backend_pool *pool)
{
	bool tried = pool->tried_cgroups;

	pool->tried_cgroups = true;
	return tried || cgroup_make(pool->cgroup);
}

static bool pool_try_user_ns(struct cell_backend_pool *pool)
{
	bool expected = pool->user_ns, works = false;

	if (pool->told)
		return true;
	pool->told = true;
	if (!zygote_told(pool, &works))
		works = native_user_ns_works();
	pool->user_ns = expected && works;
	return pool->user_ns == expected;
}

/* The first kind, if it was asked for what is not there. */
static struct kind *pool_another_kind(struct cell_backend_pool *pool, const struct cell_spec *spec, struct err *err)
{
	struct kind *wrong = pool->kinds;

	pool->kinds = wrong->next;
	(void)kind_free(wrong);
	return kind_get(pool, spec, err);
}

/* The first yard is begun with what is expected, which is tried while it builds the root. */
static struct kind *pool_kind(struct cell_backend_pool *pool, const struct cell_spec *spec, struct err *err)
{
	struct kind *kind = kind_get(pool, spec, err);

	return kind == NULL || pool_try_cgroups(pool) ? kind : pool_another_kind(pool, spec, err);
}

/* One that is stopped would do nothing for us. */
static bool zygote_is_stopped(const struct cell_backend_pool *pool)
{
	siginfo_t info = { 0 };

	return pool->zygote_pid > 0 &&
		waitid(P_PID, (id_t)pool->zygote_pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* Every process below ends when its socket does, and waits for those below it: the zygote goes last, and
 * then the cgroups are empty. It removes them itself, as it does for a supervisor that was killed, if we
 * are leaving: waiting for it would be a fifth of a short run. */
static void native_close(struct cell_backend_pool *pool, bool leaving)
{
	if (pool == NULL)
		return;
	bool wait = !leaving || pool->troubled || strcmp(cgroup_kind(pool->cgroup), "cgroup v2") == 0 ||
		zygote_is_stopped(pool) || !pool->left_to_init;
	if (!wait)
		cgroup_leave(pool->cgroup);
	while (pool->kinds != NULL) {
		struct kind *kind = pool->kinds;
		pool->kinds = kind->next;
		(void)kind_free(kind);
	}
	if (wait)
		zygote_drop(pool);
	fd_close(&pool->zygote);
	runtime_hold_done(&pool->runtime);
	fd_close(&pool->outer_lock);
	pool->cgroup = cgroup_free(pool->cgroup);
	free(pool);
}

static int native_warm(struct cell_backend_pool *pool, const struct cell_spec *spec, unsigned count,
	struct err *err)
{
	(void)pool_try_user_ns(pool);
	struct kind *kind = pool_kind(pool, spec, err);

	if (kind == NULL)
		return -1;
	kind->warm = count;
	kind_pump(kind);
	return 0;
}

static int run_keep_stdio(struct cell_backend_run *run, const int stdio[3], struct err *err)
{
	for (int i = 0; i < 3; i++) {
		if (stdio[i] < 0)
			continue;
		run->stdio[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (run->stdio[i] < 0)
			return err_errno(err, errno, "keep the cell's stdio");
	}
	return 0;
}

/* What its receipt will say, if all goes as it should: enough to refuse before anything runs. */
static int check_required(struct cell_backend_pool *pool, const struct cell_spec *spec,
	const struct cell_receipt *receipt, struct err *err)
{
	struct cell_receipt expected = *receipt;

	(void)pool_try_cgroups(pool);
	(void)pool_try_user_ns(pool);
	uint32_t facts = FACT_SECCOMP | FACT_SECCOMP_COUNTED | FACT_PROC | FACT_NPROC | FACT_PINNED | FACT_CGROUP_NS |
			 FACT_NO_CAPS | FACT_WATCHED | (pool->user_ns ? FACT_USER_NS : 0) |
			 (pool->landlock ? FACT_LANDLOCK : 0);

	char opened[64];

	receipt_fill(&expected, pool->cgroup, facts, HIDE_NOTHING, &spec->limits, spec->uid);
	receipt_user(&expected, WHOSE_USERS); /* a note: what is required goes by grades */
	calls_opened(spec->calls_allow, opened, sizeof(opened));
	receipt_opened(&expected, opened);
	return cell_require_check(cell_required(spec), &expected, err);
}

static void run_take_slot(struct cell_backend_run *run, struct slot *slot)
{
	slot->run = run;
	run->slot = slot;
	if (slot->state == READY)
		slot->state = RUNNING;
	else if (slot->state != MAKING)
		slot->state = WANTED;
}

/* What can be done while the first cell is made. */
static struct cell_backend_run *first_started(struct cell_backend_pool *pool, struct cell_backend_run *run,
	const struct cell_spec *spec, struct err *err)
{
	if (!pool_try_user_ns(pool) && !run->over) { /* root's cell can do without: another yard makes it */
		run->slot->run = NULL;
		struct kind *kind = pool_another_kind(pool, spec, err);
		if (kind == NULL) {
			run_free(run);
			return NULL;
		}
		run_take_slot(run, slot_for_run(kind));
		kind_pump(kind);
	}
	return run;
}

static struct cell_backend_run *native_start(struct cell_backend_pool *pool, const struct cell_spec *spec,
	const int stdio[3], struct cell_receipt *receipt, const struct cell_backend_events *events, struct err *err)
{
	if (spec->require != NULL && check_required(pool, spec, receipt, err) < 0)
		return NULL;
	if (spec->path_count > 0 && !pool->landlock) {
		(void)err_set(err, ERR_MISSING,
			"the profile gives rights to paths, and nothing here would keep the cell to them: this kernel has no Landlock");
		return NULL;
	}
	struct kind *kind = pool_kind(pool, spec, err);
	kinds_tidy(pool);
	if (kind == NULL)
		return NULL;
	struct cell_backend_run *run = xcalloc(1, sizeof(*run));
	*run = (struct cell_backend_run){ .receipt = receipt, .events = *events, .workspace = -1,
		.stdio = { -1, -1, -1 } };
	struct slot *slot = slot_for_run(kind);
	bool ready = slot->state == READY, at_once = ready && slot->listener_count == 0;
	if (!at_once && run_keep_stdio(run, stdio, err) < 0) {
		run_free(run);
		return NULL;
	}
	const struct job job = { .argv = (const char **)(uintptr_t)spec->argv,
		.env = (const char **)(uintptr_t)spec->env,
		.cwd = spec->cwd == NULL ? CELL_WORKSPACE : spec->cwd,
		.tty = spec->tty,
		.rows = (unsigned short)spec->rows,
		.columns = (unsigned short)spec->columns,
		.backstop_ms = spec->limits.timeout_ms + BACKSTOP_MS,
		.need = receipt_needs(cell_required(spec)) };
	job_encode(&run->job, &job);
	run_take_slot(run, slot);
	if (at_once)
		slot_send_job(slot, stdio);
	else if (ready)
		slot_begin_soon(slot);
	kind_pump(kind);
	if (pool->started)
		return run;
	pool->started = true;
	return first_started(pool, run, spec, err);
}

static void on_grace(void *data)
{
	struct slot *slot = data;

	slot->grace = loop_remove(slot->grace);
	slot->kind->pool->troubled = true;
	slot->kind->pool->cleanup_failures++;
	if (slot->pidfd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, slot->pidfd, SIGKILL, NULL, 0);
		return;
	}
	while (slot->state == MAKING && slot_listen(slot)) /* we may have been stopped ourselves */
		;
	if (slot->state == MAKING) { /* its yard hangs: on a dead file system, or because it was stopped */
		struct err err;
		(void)err_set(&err, ERR_LOST, "the cell could not be made: the process that makes cells does not answer");
		slot_yard_hangs(slot, &err);
	}
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
		slot_rest(slot);
		kind_pump(slot->kind);
		return;
	}
	if (slot->state == RUNNING || slot->state == MAKING) {
		/* init exits by itself after its report or failure; if not, it is made to */
		if (slot->grace == NULL)
			slot->grace = loop_add_timer(slot->kind->pool->loop, clock_now() + GRACE_NS, on_grace, slot);
		slot->spoiled = true;
		if (slot->state == RUNNING)
			slot->state = DYING;
	}
}

static uint64_t native_cleanup_failures(const struct cell_backend_pool *pool)
{
	return pool->cleanup_failures;
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
	const struct job wanted = { .argv = (const char **)(uintptr_t)argv,
		.env = (const char **)(uintptr_t)env,
		.cwd = CELL_WORKSPACE,
		.tty = tty };
	job_encode(&job, &wanted);
	if (job_send(slot->control, MSG_EXEC, ++run->next_exec, &job, fds, err) < 0)
		return -1;
	struct waiting_exec *exec = xcalloc(1, sizeof(*exec));
	*exec = (struct waiting_exec){ .id = run->next_exec, .done = done, .data = data, .next = run->execs };
	run->execs = exec;
	return 0;
}

const struct cell_backend cell_native = {
	.name = "native",
	.abilities = CELL_ISOLATES | CELL_MOUNTS | CELL_LISTENS | CELL_HOLDS_RULES | CELL_TELLS_EFFECTS | CELL_OBSERVES | CELL_HAS_SPACES,
	.open = native_open,
	.close = native_close,
	.cleanup_failures = native_cleanup_failures,
	.warm = native_warm,
	.start = native_start,
	.kill = native_kill,
	.release = native_release,
	.memory = native_memory,
	.pid = native_pid,
	.exec = native_exec,
	.effects = run_effects,
	.space_open = native_space_open,
	.space_close = native_space_close,
	.orphans = native_orphans,
	.probe = native_probe,
	.explain = native_explain,
};
