#include "fake_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"

struct fake fake = {.workspace = -1, .exec_fds = {-1, -1, -1}};

struct cell_backend_pool {
	struct loop *loop;
};

struct cell_backend_run {
	struct cell_backend_pool *pool;
	struct cell_backend_events events;
	const struct fake_action *action;
	size_t printed; /* bytes of the current action */
	int fds[3];
	bool started, over;
	struct loop_source *timer;
};

void fake_reset(const struct fake_action *actions)
{
	buf_done(&fake.input);
	free(fake.exec_command);
	for (int i = 0; i < 3; i++)
		fd_close(&fake.exec_fds[i]);
	fake = (struct fake){.actions = actions, .workspace = -1, .exec_fds = {-1, -1, -1}};
}

static void fake_step(void *data);

static void fake_next(struct cell_backend_run *run)
{
	run->timer = loop_add_timer(run->pool->loop, clock_now(), fake_step, run);
}

static void fake_over(struct cell_backend_run *run)
{
	run->over = true;
	for (int i = 0; i < 3; i++)
		fd_close(&run->fds[i]);
}

/* True when all of it is written; a full pipe is tried again. */
static bool fake_print(struct cell_backend_run *run, int fd)
{
	const char *text = run->action->text;
	size_t len = strlen(text), total = len * (run->action->count ? run->action->count : 1);
	while (run->printed < total) {
		size_t at = run->printed % len;
		ssize_t put = write(fd, text + at, len - at);
		if (put < 0 && errno == EAGAIN)
			return false;
		if (put < 0)
			break;
		run->printed += (size_t)put;
	}
	run->printed = 0;
	return true;
}

static bool fake_read(struct cell_backend_run *run)
{
	char chunk[4096];
	ssize_t got = read(run->fds[0], chunk, sizeof(chunk));
	if (got > 0)
		buf_add(&fake.input, chunk, (size_t)got);
	return got == 0;
}

static int fake_workspace(void)
{
	return fake.workspace < 0 ? -1 : fcntl(fake.workspace, F_DUPFD_CLOEXEC, 3);
}

static void fake_fail(struct cell_backend_run *run, const char *text)
{
	struct err err = {0};
	(void)err_set(&err, fake.fail_code ? fake.fail_code : EIO, "%s", text);
	fake_over(run);
	run->events.failed(run->events.data, &err);
}

static void fake_listening(struct cell_backend_run *run)
{
	int fds[CELL_MAX_LISTENERS];
	for (size_t i = 0; i < run->action->count; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	run->events.listening(run->events.data, fds, run->action->count);
	for (size_t i = 0; i < run->action->count; i++)
		fd_close(&fds[i]);
}

static void fake_step(void *data)
{
	struct cell_backend_run *run = data;
	bool finished = true;
	run->timer = loop_remove(run->timer);
	switch (run->action->kind) {
	case FAKE_STOP:
		return;
	case FAKE_LISTENING:
		fake_listening(run);
		break;
	case FAKE_STARTED:
		run->started = true;
		fake.started++;
		run->events.started(run->events.data, clock_now(), -1);
		break;
	case FAKE_PRINT:
		finished = fake_print(run, run->fds[1]);
		break;
	case FAKE_PRINT_ERR:
		finished = fake_print(run, run->fds[2]);
		break;
	case FAKE_READ:
		finished = fake_read(run);
		break;
	case FAKE_WAIT:
		finished = fake.go;
		break;
	case FAKE_ENDED:
		fake_over(run);
		run->events.ended(run->events.data, &fake.end, fake_workspace());
		return;
	case FAKE_FAILED:
		fake_fail(run, run->action->text);
		return;
	}
	if (run->over)
		return;
	if (finished)
		run->action++;
	fake_next(run);
}

static void fake_die(void *data)
{
	struct cell_backend_run *run = data;
	struct cell_end end = {.wait_status = SIGKILL};
	run->timer = loop_remove(run->timer);
	if (!run->started) {
		fake_fail(run, "killed before it ran");
		return;
	}
	fake_over(run);
	run->events.ended(run->events.data, &end, fake_workspace());
}

static void fake_kill(struct cell_backend_run *run)
{
	fake.killed++;
	if (fake.deaf)
		return;
	run->timer = loop_remove(run->timer);
	run->timer = loop_add_timer(run->pool->loop, clock_now(), fake_die, run);
	run->over = true;
}

static struct cell_backend_run *fake_start(struct cell_backend_pool *pool, const struct cell_spec *spec,
	const int stdio[3], struct cell_receipt *receipt, const struct cell_backend_events *events, struct err *err)
{
	if (fake.refuse) {
		(void)err_set(err, EIO, "%s", fake.refuse);
		return NULL;
	}
	(void)spec;
	struct cell_backend_run *run = xcalloc(1, sizeof(*run));
	run->pool = pool;
	run->events = *events;
	run->action = fake.actions;
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (i != CELL_OUTPUT_LIMITED && i != CELL_WALL_CLOCK)
			receipt->grade[i] = fake.off & (1u << i) ? CELL_OFF : CELL_ON;
	for (int i = 0; i < 3; i++) {
		run->fds[i] = stdio[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (run->fds[i] >= 0 && i > 0)
			(void)fcntl(run->fds[i], F_SETFL, O_WRONLY | O_NONBLOCK);
		if (run->fds[i] >= 0 && i == 0)
			(void)fcntl(run->fds[i], F_SETFL, O_RDONLY | O_NONBLOCK);
	}
	fake_next(run);
	return run;
}

static void fake_release(struct cell_backend_run *run)
{
	fake.released++;
	run->timer = loop_remove(run->timer);
	fake_over(run);
	free(run);
}

static struct cell_backend_pool *fake_open(struct loop *loop, struct err *err)
{
	(void)err;
	struct cell_backend_pool *pool = xcalloc(1, sizeof(*pool));
	pool->loop = loop;
	fake.opened++;
	return pool;
}

static void fake_close(struct cell_backend_pool *pool, bool leaving)
{
	(void)leaving;
	fake.closed++;
	free(pool);
}

static uint64_t fake_memory(const struct cell_backend_run *run)
{
	(void)run;
	return 12345678;
}

static int fake_pid(const struct cell_backend_run *run)
{
	(void)run;
	return 4242;
}

static int fake_exec(struct cell_backend_run *run, const char *const *argv, const char *const *env, const int fds[3],
	bool tty, cell_exec_fn *done, void *data, struct err *err)
{
	(void)run, (void)env, (void)err;
	fake.execs++;
	fake.exec_done = done;
	fake.exec_data = data;
	fake.exec_tty = tty;
	fake.exec_command = xstrdup(argv[0]);
	for (int i = 0; i < 3; i++)
		fake.exec_fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
	return 0;
}

const struct cell_backend fake_backend = {
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.start = fake_start,
	.kill = fake_kill,
	.release = fake_release,
	.memory = fake_memory,
	.pid = fake_pid,
	.exec = fake_exec,
};
