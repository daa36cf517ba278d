/* Kinds of cells: templates, their yards, and the zygote that forks those. */
#include "cell/native/pool.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include "base/weaken.h"

#define ZYGOTE_PATIENCE_MS 3000
#define ABOUT_PATIENCE_MS 200 /* it takes one or two; we can find out by ourselves */

/* ---- yards ---- */

void kind_die(struct kind *kind, const struct err *err)
{
	kind->dead = kind->pool->troubled = true;
	kind->err = *err;
	kind->source = loop_remove(kind->source);
	fd_close(&kind->yard);
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->state == WANTED || slot->state == MAKING)
			slot_fail(slot, err);
}

static void take_made(struct kind *kind, struct wire_reader *reader, int *fds, size_t count)
{
	uint32_t index = wire_get_u32(reader);
	uint32_t pid = wire_get_u32(reader);

	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->index == index && slot->state == MAKING && count == 1 + kind->listener_count)
			slot_made(slot, (pid_t)pid, fds, count);
	kind_pump(kind);
}

static void take_failed(struct kind *kind, struct wire_reader *reader)
{
	uint32_t index = wire_get_u32(reader);
	struct err err;

	message_get_err(reader, &err);
	if (index == NO_SLOT)
		kind_die(kind, &err);
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->index == index && slot->state == MAKING)
			slot_fail(slot, &err);
	kind_pump(kind);
}

/* While the first cell is made, and there is nothing for us to do. */
static void pool_look(struct cell_backend_pool *pool)
{
	if (!pool->looked)
		pool->left_to_init = orphans_are_reaped();
	pool->looked = true;
}

bool kind_listen(struct kind *kind)
{
	char message[MAX_MESSAGE];
	int fds[1 + CELL_MAX_LISTENERS];
	size_t count = 0;

	if (kind->dead)
		return false;
	ssize_t len = wire_recv(kind->yard, message, sizeof(message), fds, ARRAY_LEN(fds), &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	struct err err;
	if (len < 0 && (errno == EINTR || errno == ECONNRESET))
		return true; /* died with a message of ours unread: what it said comes after this */
	if (len < 0 && errno == EAGAIN)
		return false;
	if (len <= 0) {
		if (len < 0 && errno == EMSGSIZE)
			(void)err_set(&err, ERR_LIMIT, "this process has no descriptors left for a cell: see 'ulimit -n'");
		else
			(void)err_set(&err, ERR_LOST, "the process that makes cells was killed from outside");
		kind_die(kind, &err);
		return false;
	}
	switch (wire_get_u32(&reader)) {
	case MSG_READY:
		kind->ready = true;
		pool_look(kind->pool);
		kind->hide = (enum hide_how)wire_get_u32(&reader);
		break;
	case MSG_MADE:
		take_made(kind, &reader, fds, count);
		break;
	case MSG_FAILED:
		take_failed(kind, &reader);
		break;
	default:
		break;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]); /* what was not taken */
	return true;
}

static void on_yard(void *data, int fd, uint32_t events)
{
	(void)fd;
	(void)events;
	(void)kind_listen(data);
}

static void template_from_spec(const struct cell_backend_pool *pool, const struct cell_spec *spec,
	struct template *t)
{
	const struct cell_limits *limits = &spec->limits;

	*t = (struct template){ .image = spec->image, .mounts = (struct cell_mount *)spec->mounts,
		.mount_count = spec->mount_count, .hide = spec->hide, .forbid = spec->forbid, .uid = spec->uid, .gid = spec->gid,
		.tmp = limits->tmp, .disk = limits->disk, .shm = limits->shm, .file_size = limits->file_size,
		.open_files = limits->open_files, .processes = limits->processes, .user_ns = pool->user_ns,
		.landlock = pool->landlock, .rule_files = landlock_rules_files(spec, pool->user_ns), .overlay = !pretend("no-overlay"), .tmp_exec = spec->tmp_exec,
		.tty = spec->tty, .want_workspace = cell_spec_collects(spec),
		.listeners = (struct cell_listener *)spec->listeners, .listener_count = spec->listener_count,
		.hosts = spec->hosts != NULL && spec->hosts[0] != '\0' ? spec->hosts : NULL,
		.calls_deny = spec->calls_deny, .calls_allow = spec->calls_allow,
		.paths = (struct cell_path *)spec->paths, .path_count = spec->path_count, .no_exec = spec->no_exec,
		.observe = spec->observe, .effects = spec->effects, .nice = limits->nice };
	if (!cgroup_memory(pool->cgroup) && !weakened("private-tmp")) /* which would count the host's files */
		t->watch_memory = limits->memory;
	if (!cgroup_cpu(pool->cgroup))
		t->pin_cpus = (limits->cpus_milli + 999) / 1000;
	if (!cgroup_pids(pool->cgroup))
		t->limit_tasks = true;
}

void zygote_tell(struct cell_backend_pool *pool)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, MSG_CGROUPS);
	cgroup_encode(&message, pool->cgroup);
	(void)!wire_send(pool->zygote, message.data, message.len, NULL, 0); /* to a dead one we speak again, through another */
}

bool zygote_told(struct cell_backend_pool *pool, bool *ret_user_ns)
{
	const uint32_t question = htole32(MSG_ABOUT);
	struct pollfd said = { .fd = pool->zygote, .events = POLLIN };
	char message[64];
	size_t count = 0;

	if (wire_send(pool->zygote, &question, sizeof(question), NULL, 0) < 0 ||
		poll(&said, 1, ABOUT_PATIENCE_MS) != 1) /* somebody has stopped it, or keeps it from running */
		return false;
	ssize_t len = wire_recv(pool->zygote, message, sizeof(message), NULL, 0, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	bool about = wire_get_u32(&reader) == MSG_ABOUT;

	*ret_user_ns = wire_get_u32(&reader) != 0;
	return about && !reader.bad;
}

int zygote_ensure(struct cell_backend_pool *pool, struct err *err)
{
	if (pool->zygote >= 0)
		return 0;
	pool->zygote = zygote_start(pool->outer_id == 0, &pool->zygote_pid, err);
	if (pool->zygote >= 0 && pool->cgroup != NULL)
		zygote_tell(pool);
	return pool->zygote < 0 ? -1 : 0;
}

/* It ends by itself once its yards have; one that hangs is killed, and takes all with it. */
void zygote_drop(struct cell_backend_pool *pool)
{
	fd_close(&pool->zygote);
	if (pool->zygote_pid <= 0)
		return;
	own(fd_closep) int pidfd = (int)syscall(SYS_pidfd_open, pool->zygote_pid, 0);
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };
	if (pidfd >= 0 && poll(&gone, 1, ZYGOTE_PATIENCE_MS) == 0)
		(void)kill(pool->zygote_pid, SIGKILL);
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

struct kind *kind_free(struct kind *kind)
{
	kind->source = loop_remove(kind->source);
	fd_close(&kind->yard);
	while (kind->slots != NULL) {
		struct slot *slot = kind->slots;
		kind->slots = slot->next;
		slot_unmade(slot);
		fd_close(&slot->stall);
		slot->cgroup = cgroup_slot_free(slot->cgroup);
		free(slot);
	}
	buf_done(&kind->key);
	free(kind);
	return NULL;
}

struct kind *kind_get(struct cell_backend_pool *pool, const struct cell_spec *spec, struct err *err)
{
	struct template t;
	own(buf_done) struct buf key = { 0 };
	const struct cell_limits *limits = &spec->limits;

	template_from_spec(pool, spec, &t);
	template_encode(&t, &key);
	unsigned warm = 0;
	for (struct kind *kind = pool->kinds; kind != NULL; kind = kind->next) {
		if (kind->limits.memory != limits->memory || kind->limits.cpus_milli != limits->cpus_milli ||
			kind->key.len != key.len || memcmp(kind->key.data, key.data, key.len) != 0)
			continue;
		if (!kind->dead)
			return kind;
		warm = kind->warm; /* another one takes its place, in this too; older ones are all dead */
		break;
	}
	struct kind *kind = xcalloc(1, sizeof(*kind));
	kind->pool = pool;
	kind->warm = warm;
	kind->yard = -1;
	kind->limits = *limits;
	kind->uid = spec->uid;
	calls_opened(spec->calls_allow, kind->opened, sizeof(kind->opened));
	kind->listener_count = spec->listener_count;
	kind->effects = spec->effects;
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
void kinds_tidy(struct cell_backend_pool *pool)
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
