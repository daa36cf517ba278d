/* Kinds of cells: templates, their yards, and the zygote that forks those. */
#include "cell/native/supervisor/pool.h"

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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/weaken.h"

#define ZYGOTE_PATIENCE_MS 3000
#define MAX_IDLE_KINDS 8
#define ABOUT_PATIENCE_MS 200 /* it takes one or two; we can find out by ourselves */

/* ---- yards ---- */

static void kind_die(struct kind *kind, const struct err *err)
{
	kind->dead = kind->pool->troubled = true;
	kind->err = *err;
	kind->source = loop_remove(kind->source);
	fd_close(&kind->yard);
	for (struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->state == WANTED || slot->state == MAKING)
			slot_fail(slot, err);
}

static void yard_ended(struct kind *kind, struct slot *slot, const struct err *err)
{
	if (slot == NULL) {
		kind_die(kind, err);
		return;
	}
	slot_close_yard(slot);
	if (slot->state == MAKING)
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

/* own: the slot whose own yard it is; NULL: the kind's. */
static void take_failed(struct kind *kind, struct slot *own, struct wire_reader *reader)
{
	uint32_t index = wire_get_u32(reader);
	struct err err;

	message_get_err(reader, &err);
	if (index == NO_SLOT)
		yard_ended(kind, own, &err);
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

/* slot: whose own yard it is; NULL: the kind's. */
static bool yard_listen(struct kind *kind, struct slot *slot)
{
	char message[MAX_MESSAGE];
	int fds[1 + CELL_MAX_LISTENERS];
	size_t count = 0;

	if (slot == NULL ? kind->dead : slot->yard < 0)
		return false;
	int yard = slot == NULL ? kind->yard : slot->yard;
	ssize_t len = wire_recv(yard, message, sizeof(message), fds, ARRAY_LEN(fds), &count, MSG_DONTWAIT);
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
		yard_ended(kind, slot, &err);
		return false;
	}
	switch (wire_get_u32(&reader)) {
	case MSG_READY:
		kind->ready = true;
		pool_look(kind->pool);
		kind->hide = (enum hide_how)wire_get_u32(&reader);
		/* a slot's own yard says the same as the kind's */
		if (slot == NULL && count == 1 && wire_from_memfd(fds[0], MAX_JOB_BYTES, &kind->forbidden, &err) < 0)
			kind_die(kind, &err); /* what cannot be told of was not promised */
		break;
	case MSG_MADE:
		take_made(kind, &reader, fds, count);
		break;
	case MSG_FAILED:
		take_failed(kind, slot, &reader);
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
	(void)yard_listen(data, NULL);
}

static void on_slot_yard(void *data, int fd, uint32_t events)
{
	struct slot *slot = data;

	(void)fd;
	(void)events;
	(void)yard_listen(slot->kind, slot);
}

static bool has_own_yard(const struct slot *slot)
{
	return slot->kind->narrow && slot->kind->first != slot;
}

bool slot_listen(struct slot *slot)
{
	return yard_listen(slot->kind, has_own_yard(slot) ? slot : NULL);
}

void slot_close_yard(struct slot *slot)
{
	slot->yard_source = loop_remove(slot->yard_source);
	fd_close(&slot->yard);
}

void slot_yard_hangs(struct slot *slot, const struct err *err)
{
	slot->kind->pool->troubled = true;
	yard_ended(slot->kind, has_own_yard(slot) ? slot : NULL, err);
}

/* ---- users ---- */

/* Whether its mounts hold the number of the user whose cell it is for; all that may not be looked at
 * do. */
static bool carries_user(const struct cell_spec *spec)
{
	struct stat st;

	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct cell_mount *mount = &spec->mounts[i];
		if (mount->space != NULL || lstat(mount->source, &st) < 0 ||
			!root_is_public(&st, mount->writable))
			return true;
	}
	return false;
}

bool kind_is_apart(const struct cell_spec *spec)
{
	return strcmp(spec->image, "host") == 0 && !carries_user(spec);
}

uint32_t pool_users(const struct cell_backend_pool *pool)
{
	return pool->outer_id != 0 ? USERS_SPAN : pool->own.count;
}

/* Root's mounts show every slot's user as their owner. */
static bool wants_own_user(const struct cell_backend_pool *pool, const struct cell_spec *spec)
{
	return pool->outer_id != 0 || (pool->own.count > 0 && kind_is_apart(spec));
}

static uint32_t user_new(struct cell_backend_pool *pool)
{
	uint32_t first = pool->outer_id != 0 ? pool->outer_id : 1;

	return weakened("per-user-limits") ? first : first + pool->next_user++ % pool_users(pool);
}

static void template_from_spec(const struct cell_backend_pool *pool, const struct cell_spec *spec,
	struct template *t)
{
	const struct cell_limits *limits = &spec->limits;
	const bool own = wants_own_user(pool, spec);

	*t = (struct template){ .image = spec->image, .mounts = (struct cell_mount *)spec->mounts,
		.mount_count = spec->mount_count, .hide = spec->hide, .forbid = spec->forbid, .uid = spec->uid, .gid = spec->gid,
		.tmp = limits->tmp, .disk = limits->disk, .shm = limits->shm, .file_size = limits->file_size,
		.own_user = own,
		.open_files = users_open_files(
			limits->open_files, own, pool->files_soft, pool->files_hard),
		.processes = limits->processes, .user_ns = pool->user_ns,
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

/* What no cell may be shown, looked at (and made, if need be) before any root is built. Without mounts there is nothing of the
 * host's to be shown in. */
static void template_keep_runtime(struct cell_backend_pool *pool, const struct cell_spec *spec, struct template *t)
{
	const char *sources[CELL_MAX_MOUNTS + 2];
	size_t count = 0;

	if (spec->mount_count == 0 && strcmp(spec->image, "host") == 0)
		return;
	for (size_t i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].space == NULL)
			sources[count++] = spec->mounts[i].source;
	if (strcmp(spec->image, "host") != 0)
		sources[count++] = spec->image;
	sources[count] = NULL;
	runtime_hold_look(&pool->runtime, sources);
	t->runtime = pool->runtime.ids;
	t->runtime_count = pool->runtime.count;
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
	pool->zygote = zygote_start(pool->outer_id == 0, &pool->own, &pool->zygote_pid, err);
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

/* Returns our end of its socket. */
static int yard_request(struct cell_backend_pool *pool, const struct kind *kind, uint32_t outer, struct err *err)
{
	int pair[2];
	own(buf_done) struct buf message = { 0 }, bytes = { 0 };

	wire_put_u32(&bytes, outer);
	wire_put_u64(&bytes, pool->files_soft);
	wire_put_u64(&bytes, pool->files_hard);
	buf_add(&bytes, kind->key.data, kind->key.len);
	own(fd_closep) int memfd = wire_to_memfd(&bytes, err);
	if (memfd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	wire_put_u32(&message, MSG_TEMPLATE);
	wire_put_u32(&message, kind->own_user && kind->collects);
	int fds[2 + CELL_MAX_SPACES] = { pair[1], memfd };
	for (size_t i = 0; i < kind->space_count; i++)
		fds[2 + i] = kind->spaces[i]->view;
	int sent = -1;
	for (int tries = 0; tries < 2 && sent < 0; tries++) {
		if (zygote_ensure(pool, err) < 0)
			break;
		sent = wire_send(pool->zygote, message.data, message.len, fds, 2 + kind->space_count);
		if (sent < 0) { /* it was killed: another one takes its place */
			(void)users_send_failed("reach the zygote", err);
			zygote_drop(pool);
		}
	}
	(void)close(pair[1]);
	if (sent < 0)
		fd_close(&pair[0]);
	return sent < 0 ? -1 : pair[0];
}

int slot_yard(struct slot *slot, struct err *err)
{
	struct kind *kind = slot->kind;

	if (kind->first == NULL)
		kind->first = slot;
	if (slot->outer == 0 && kind->own_user)
		slot->outer = kind->first == slot ? kind->outer : user_new(kind->pool);
	if (!has_own_yard(slot))
		return kind->yard;
	if (slot->yard < 0) {
		slot->yard = yard_request(kind->pool, kind, slot->outer, err);
		if (slot->yard >= 0)
			slot->yard_source = loop_add_fd(kind->pool->loop, slot->yard, EPOLLIN, on_slot_yard, slot);
	}
	return slot->yard;
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
		slot_close_yard(slot);
		slot->cgroup = cgroup_slot_free(slot->cgroup);
		free(slot);
	}
	buf_done(&kind->key);
	buf_done(&kind->forbidden);
	free(kind);
	return NULL;
}

/* What is at the source now, by its numbers: the yard mounts that and nothing else. A folder that was put there since the last cell
 * is another kind, and not the old one once more. */
static int mount_pin(struct cell_mount *mount, struct err *err)
{
	const int flags = O_PATH | O_CLOEXEC | (weakened("mount-links") ? 0 : O_NOFOLLOW);
	const uint64_t device = mount->device, inode = mount->inode;
	own(fd_closep) int fd = open(mount->source, flags | O_DIRECTORY); /* first, since only so an automount is made */

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		fd = open(mount->source, flags);
	if (fd < 0)
		return err_errno(err, errno, "open the mount source '%s'", mount->source);
	cell_mount_pin(mount, fd);
	return inode != 0 && (inode != mount->inode || device != mount->device) ? cell_mount_replaced(mount, err) : 0;
}

static int mounts_pin(const struct cell_spec *spec, struct cell_mount **ret, struct err *err)
{
	own(freep) struct cell_mount *mounts = xcalloc(spec->mount_count + 1, sizeof(*mounts));

	for (size_t i = 0; i < spec->mount_count; i++) {
		mounts[i] = spec->mounts[i];
		if (mounts[i].space == NULL && mount_pin(&mounts[i], err) < 0)
			return -1;
	}
	*ret = ptr_take(&mounts);
	return 0;
}

/* Likewise the image's folder. */
static int image_pin(const struct cell_spec *spec, struct fs_id *ret, struct err *err)
{
	struct stat st;

	*ret = (struct fs_id){ 0 };
	if (strcmp(spec->image, "host") == 0)
		return 0;
	own(fd_closep) int fd = open(spec->image, O_PATH | O_DIRECTORY | O_CLOEXEC | (weakened("mount-links") ? 0 : O_NOFOLLOW));
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, errno, "open the image '%s'", spec->image);
	*ret = (struct fs_id){ st.st_dev, st.st_ino };
	return cell_image_compare(spec->image, spec->image_id, &st, err);
}

static bool is_idle(const struct kind *kind)
{
	for (const struct slot *slot = kind->slots; slot != NULL; slot = slot->next)
		if (slot->run != NULL || slot->state != EMPTY)
			return false;
	return !kind->dead && kind->warm == 0 && kind->space_count == 0;
}

/* Each has a yard, a stall, cgroups and their descriptors: a cell that may replace a file which is mounted alone would have a new kind
 * for every run. The newest are first. */
static void kinds_rest(struct cell_backend_pool *pool)
{
	struct err err;
	unsigned idle = 0;

	(void)err_set(&err, ERR_LOST, "no cell of its kind was asked for");
	for (struct kind *kind = pool->kinds; kind != NULL; kind = kind->next)
		if (is_idle(kind) && ++idle > MAX_IDLE_KINDS) {
			bool troubled = pool->troubled;
			kind_die(kind, &err);
			pool->troubled = troubled;
		}
}

struct kind *kind_get(struct cell_backend_pool *pool, const struct cell_spec *spec, struct err *err)
{
	own(freep) struct cell_mount *mounts = NULL;
	struct fs_id image;
	struct template t;
	own(buf_done) struct buf key = { 0 };
	const struct cell_limits *limits = &spec->limits;
	const struct cell_space *spaces[CELL_MAX_SPACES];
	size_t space_count = 0;

	if (image_pin(spec, &image, err) < 0 || mounts_pin(spec, &mounts, err) < 0 ||
		template_spaces(spec->mounts, spec->mount_count, spaces, &space_count, err) < 0)
		return NULL;
	template_from_spec(pool, spec, &t);
	t.image_id = image;
	t.mounts = mounts;
	template_keep_runtime(pool, spec, &t);
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
	kinds_rest(pool);
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
	for (kind->space_count = 0; kind->space_count < space_count; kind->space_count++)
		kind->spaces[kind->space_count] = spaces[kind->space_count];
	kind->narrow = pool->outer_id != 0 && (carries_user(spec) || !pool->user_ns);
	kind->own_user = t.own_user;
	kind->apart = kind_is_apart(spec);
	kind->collects = t.want_workspace;
	kind->outer = kind->own_user ? user_new(pool) : 0;
	kind->yard = yard_request(pool, kind, kind->outer, err);
	if (kind->yard < 0)
		return kind_free(kind);
	kind->source = loop_add_fd(pool->loop, kind->yard, EPOLLIN, on_yard, kind);
	kind->next = pool->kinds;
	pool->kinds = kind;
	return kind;
}

/* Its yard has a mount of the space, and keeps it as long as it lives. */
void kinds_leave(struct cell_backend_pool *pool, const struct cell_space *space)
{
	struct err err;

	(void)err_set(&err, ERR_LOST, "what the cell was to be shown is gone");
	for (struct kind *kind = pool->kinds; kind != NULL; kind = kind->next)
		for (size_t i = 0; i < kind->space_count; i++)
			if (kind->spaces[i] == space && !kind->dead) {
				bool troubled = pool->troubled;
				kind_die(kind, &err);
				pool->troubled = troubled;
			}
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
