/* An ordinary user's cells as users of their own. Theory of operation.
 *
 * /etc/subuid gives a user numbers that are nobody else's. Only newuidmap, which is set-uid root,
 * may map them into a user namespace. So the zygote has one made by a process that does nothing
 * else, has it mapped from outside (the user himself as 0, a block of his numbers from 1 on), looks
 * whether that is so, and enters it. In there it has the right to map any of the block into the
 * namespace of a slot: newuidmap is asked once for each zygote, and never with anything that a cell
 * has said.
 *
 * What the kernel counts by the number alone (descriptors in flight, pipe memory, epoll watches) is
 * then each slot's own. What it counts up all user namespaces (inotify, pending signals, message
 * queues, locked memory) is the user's as before, and capped: a slot's namespace is made by 0, so
 * that all of them together are held to what the zygote's may have. Nothing is counted by groups:
 * they stay the user's, which saves newgidmap's millisecond. */
#include "cell/native/native.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/weaken.h"

#define FILE_MAX (1u << 20)
#define LINE_MAX_LEN 255
#define LOWEST 65536u /* below that lie accounts */
#define HIGHEST 4294967294u
#define USUAL 65536u /* numbers that useradd gives */
#define OTHERS 2048u /* the first numbers of a range are those that containers use most */
#define SPAN 512u
#define HOLDER_STACK 4096
#define TOOL_PATIENCE_NS (2 * NS_PER_S) /* they take a millisecond or two */

/* ---- the files (pure) ---- */

/* Digits alone, and no more than 32 bits. */
static bool number_read(const char *text, size_t len, uint32_t *ret)
{
	uint64_t value = 0;

	if (len == 0 || len > 10)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = (uint32_t)value;
	return value <= UINT32_MAX;
}

/* The next line of at most LINE_MAX_LEN bytes; NULL: there is none. */
static const char *line_next(const char **at, size_t *ret_len)
{
	while (**at != '\0') {
		const char *line = *at;
		*ret_len = strcspn(line, "\n");
		*at += *ret_len + (line[*ret_len] == '\n');
		if (*ret_len > 0 && *ret_len <= LINE_MAX_LEN)
			return line;
	}
	return NULL;
}

/* "WHO:FIRST:COUNT" */
static bool ids_read(const char *line, size_t len, size_t *ret_who, struct users_ids *ret)
{
	const char *first = memchr(line, ':', len);
	const char *end = line + len, *count = NULL;

	if (first != NULL)
		count = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (count == NULL || first == line)
		return false;
	*ret_who = (size_t)(first - line);
	return number_read(first + 1, (size_t)(count - first - 1), &ret->first) &&
		number_read(count + 1, (size_t)(end - count - 1), &ret->count) && ret->count > 0 &&
		ret->first <= HIGHEST && ret->count - 1 <= HIGHEST - ret->first;
}

/* None that may be an account's, the user's own least of all. */
static bool is_usable(const struct users_ids *ids, uint32_t uid)
{
	return ids->first >= LOWEST && (uid < ids->first || uid - ids->first >= ids->count);
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}

struct users_ids users_ids_find(const char *text, const char *name, uint32_t uid)
{
	struct users_ids best = { 0 }, ids;
	char number[16];
	const char *line;
	size_t len, who;

	(void)snprintf(number, sizeof(number), "%u", uid);
	while ((line = line_next(&text, &len)) != NULL) {
		if (!ids_read(line, len, &who, &ids) || !is_usable(&ids, uid))
			continue;
		bool mine = is_word(line, who, name) || is_word(line, who, number);
		if (mine && ids.count > best.count)
			best = ids;
	}
	return best;
}

uint32_t users_ids_free(const char *text)
{
	uint64_t from = 100000;
	struct users_ids ids;
	const char *line;
	size_t len, who;

	while ((line = line_next(&text, &len)) != NULL)
		if (ids_read(line, len, &who, &ids) && (uint64_t)ids.first + ids.count > from)
			from = (uint64_t)ids.first + ids.count;
	return from + USUAL - 1 > HIGHEST ? 0 : (uint32_t)from;
}

/* "NAME:PASSWORD:NUMBER:..."; the length of the name, 0 if it is none. */
static size_t account_read(const char *line, size_t len, uint32_t *ret)
{
	const char *colon[3], *at = line, *end = line + len;

	for (size_t i = 0; i < ARRAY_LEN(colon); i++) {
		colon[i] = memchr(at, ':', (size_t)(end - at));
		if (colon[i] == NULL)
			return 0;
		at = colon[i] + 1;
	}
	if (!number_read(colon[1] + 1, (size_t)(colon[2] - colon[1] - 1), ret))
		return 0;
	return (size_t)(colon[0] - line);
}

bool users_name(const char *passwd, uint32_t uid, char *ret, size_t size)
{
	const char *line;
	size_t len;
	uint32_t found;

	while ((line = line_next(&passwd, &len)) != NULL) {
		size_t name = account_read(line, len, &found);
		if (name == 0 || found != uid)
			continue;
		if (name >= size)
			return false;
		memcpy(ret, line, name);
		ret[name] = '\0';
		return true;
	}
	return false;
}

struct users_ids users_block(struct users_ids all, uint32_t chance)
{
	uint32_t skip = all.count >= 4 * OTHERS ? OTHERS : 0;
	uint32_t blocks = (all.count - skip) / SPAN;

	if (blocks == 0)
		return all;
	skip += chance % blocks * SPAN;
	return (struct users_ids){ .first = all.first + skip, .count = SPAN };
}

/* ---- which of them are to be used ---- */

static bool is_roots(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == 0 && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Nobody but root can have put it there. NULL: there is none. */
static const char *tool_find(void)
{
	static const char *const paths[] = { "/usr/bin/newuidmap", "/run/wrappers/bin/newuidmap" };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (stat(paths[i], &st) == 0 && is_roots(&st))
			return paths[i];
	return NULL;
}

static int tool_look(struct err *err)
{
	if (tool_find() == NULL)
		return err_set(err, ENOENT, "newuidmap is not installed: %s",
			access("/usr/bin/apt-get", X_OK) == 0 ? "sudo apt-get install uidmap"
							     : "install the package uidmap or shadow-utils");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return err_set(err, EPERM,
			"newuidmap cannot work under no_new_privs: start hotcell outside of the sandbox it is in");
	return 0;
}

static int ids_missing(const char *name, const char *text, struct err *err)
{
	uint32_t first = users_ids_free(text);

	if (first == 0)
		return err_set(err, ENODATA, "/etc/subuid has no usable numbers for you: add some");
	return err_set(err, ENODATA,
		"/etc/subuid has no usable numbers for you: sudo usermod --add-subuids %u-%u %s", first,
		first + (USUAL - 1), name);
}

/* A missing file has no lines. */
static void file_read(const char *path, struct buf *ret)
{
	struct err none;

	if (fs_read_small(AT_FDCWD, path, FILE_MAX, ret, &none) < 0)
		ret->len = 0;
}

int users_own_find(struct users_ids *ret, struct err *err)
{
	own(buf_done) struct buf passwd = { 0 }, text = { 0 };
	const uint32_t uid = geteuid();
	char name[LINE_MAX_LEN + 1];

	if (pretend("no-newuidmap"))
		return err_set(err, ENOENT,
			"HOTCELL_PRETEND says there is no newuidmap: take 'no-newuidmap' out of it");
	if (tool_look(err) < 0)
		return -1;
	file_read("/etc/passwd", &passwd);
	file_read("/etc/subuid", &text);
	if (!users_name(buf_text(&passwd), uid, name, sizeof(name)))
		(void)snprintf(name, sizeof(name), "%u", uid);
	*ret = users_ids_find(buf_text(&text), name, uid);
	return ret->count == 0 ? ids_missing(name, buf_text(&text), err) : 0;
}

/* ---- a user namespace, held by a process that does nothing ---- */

/* Lives in its user namespace until killed. It shares our memory: nothing is copied for it, and it
 * touches nothing. */
static int holder_main(void *parent)
{
	die_with((pid_t)(uintptr_t)parent);
	while (pause() < 0)
		; /* no signal is handled: it ends by one */
	return 0;
}

static pid_t holder_start(int *ret_pidfd)
{
	const int flags = CLONE_NEWUSER | CLONE_VM | CLONE_PIDFD | SIGCHLD;
	/* never freed: nobody waits until it is gone, which takes a while */
	char *stack = xcalloc(1, HOLDER_STACK);
	void *self = (void *)(uintptr_t)getpid();
	pid_t child = clone(holder_main, stack + HOLDER_STACK, flags, self, ret_pidfd);

	if (child < 0) {
		*ret_pidfd = -1;
		free(stack);
	}
	return child;
}

static void holder_end(int pidfd)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* Of another process in that user namespace, by who made it. */
static int map_write(
	int proc, pid_t pid, const char *file, uint32_t inside, uint32_t outside, struct err *err)
{
	char path[48], map[64];

	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
	(void)snprintf(map, sizeof(map), "%u %u 1", inside, outside);
	return fs_write_value(proc, path, map, err);
}

int users_map(int proc, pid_t pid, uint32_t uid, uint32_t gid, uint32_t outer_uid,
	uint32_t outer_gid, struct err *err)
{
	if (map_write(proc, pid, "uid_map", uid, outer_uid, err) < 0)
		return -1;
	return map_write(proc, pid, "gid_map", gid, outer_gid, err);
}

static int holder_ns(int proc, pid_t pid, struct err *err)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "%d/ns/user", (int)pid);
	int ns = openat(proc, path, O_RDONLY | O_CLOEXEC);
	return ns < 0 ? err_errno(err, errno, "open a new user namespace") : ns;
}

int users_space(int proc, uint32_t uid, uint32_t gid, uint32_t outer_uid, uint32_t outer_gid,
	struct err *err)
{
	own(fd_closep) int pidfd = -1;
	int ns = -1;
	pid_t child = holder_start(&pidfd);

	if (child < 0)
		return err_errno(err, errno, "make a user namespace");
	if (users_map(proc, child, uid, gid, outer_uid, outer_gid, err) == 0)
		ns = holder_ns(proc, child, err);
	holder_end(pidfd);
	return ns;
}

/* ---- mapped by newuidmap ---- */

/* With nothing of ours: no environment, no descriptor but /dev/null and where it may complain.
 * *ret_pidfd -1: it is gone already. */
static bool tool_start(pid_t pid, const struct users_ids *ids, int complaints, int *ret_pidfd)
{
	const char *path = tool_find();
	char words[4][16];
	posix_spawn_file_actions_t files;
	pid_t child;

	(void)snprintf(words[0], sizeof(words[0]), "%d", (int)pid);
	(void)snprintf(words[1], sizeof(words[1]), "%u", (unsigned)geteuid());
	(void)snprintf(words[2], sizeof(words[2]), "%u", ids->first);
	(void)snprintf(words[3], sizeof(words[3]), "%u", ids->count);
	char name[] = "newuidmap", zero[] = "0", one[] = "1";
	char *argv[] = { name, words[0], zero, words[1], one, one, words[2], words[3], NULL };
	char *env[] = { NULL };
	if (path == NULL || posix_spawn_file_actions_init(&files) != 0)
		return false;
	bool ok = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
		posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) == 0 &&
		posix_spawn_file_actions_adddup2(&files, complaints, 2) == 0 &&
		posix_spawn(&child, path, &files, NULL, argv, env) == 0;
	(void)posix_spawn_file_actions_destroy(&files);
	*ret_pidfd = ok ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
	return ok;
}

/* One group, our own: for which setgroups has to be forgone. */
static int groups_map(int proc, pid_t pid, struct err *err)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "%d/setgroups", (int)pid);
	if (fs_write_value(proc, path, "deny", err) < 0)
		return -1;
	return map_write(proc, pid, "gid_map", 0, getegid(), err);
}

void users_mapping_begin(const struct users_ids *ids, struct users_mapping *ret)
{
	own(fd_closep) int theirs = -1;
	int pair[2];
	struct err none;

	*ret = (struct users_mapping){ .ids = *ids, .pid = -1, .pidfd = -1, .said = -1, .tool = -1,
		.proc = -1, .ns = -1 };
	if (ids->count == 0)
		return;
	ret->pid = holder_start(&ret->pidfd); /* before the pipe, which it would keep open */
	if (ret->pid < 0 || pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	ret->said = pair[0];
	theirs = pair[1];
	ret->asked = tool_start(ret->pid, ids, theirs, &ret->tool);
	ret->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->asked = ret->asked && ret->proc >= 0 && groups_map(ret->proc, ret->pid, &none) == 0;
	ret->ns = ret->asked ? holder_ns(ret->proc, ret->pid, &none) : -1;
	ret->asked = ret->ns >= 0;
}

/* Until it is gone. What it complains of goes into `ret`. */
static bool tool_wait(const struct users_mapping *mapping, char *ret, size_t size)
{
	const uint64_t until = clock_now() + TOOL_PATIENCE_NS;
	size_t len = 0;

	for (uint64_t now = clock_now(); now < until; now = clock_now()) {
		struct pollfd said = { .fd = mapping->said, .events = POLLIN };
		char text[256];
		(void)poll(&said, 1, (int)((until - now) / NS_PER_MS) + 1);
		ssize_t got = read(mapping->said, text, sizeof(text));
		if (got == 0)
			return true;
		for (ssize_t i = 0; i < got && len + 1 < size; i++)
			ret[len++] = text[i];
		ret[len] = '\0';
	}
	return false;
}

/* What the kernel says, and not what newuidmap does. */
static bool is_mapped(const struct users_mapping *mapping)
{
	own(buf_done) struct buf text = { 0 };
	const unsigned want[6] = { 0, geteuid(), 1, 1, mapping->ids.first, mapping->ids.count };
	unsigned got[6] = { 0 };
	struct err none;
	char path[48], more;

	(void)snprintf(path, sizeof(path), "%d/uid_map", (int)mapping->pid);
	return fs_read_small(mapping->proc, path, 1024, &text, &none) == 0 &&
		sscanf(buf_text(&text), "%u %u %u %u %u %u %c", &got[0], &got[1], &got[2], &got[3],
			&got[4], &got[5], &more) == 6 &&
		memcmp(got, want, sizeof(want)) == 0;
}

static int mapping_take(struct users_mapping *mapping, struct err *err)
{
	char complaint[120] = "";

	if (!mapping->asked)
		return err_set(err, EPERM, "newuidmap cannot be started");
	if (!tool_wait(mapping, complaint, sizeof(complaint)))
		return err_set(err, ETIMEDOUT, "newuidmap does not end");
	complaint[strcspn(complaint, "\n")] = '\0';
	if (!is_mapped(mapping))
		return err_set(err, EPERM, "newuidmap refuses the numbers of /etc/subuid: %s",
			complaint[0] == '\0' ? "it does not say why" : complaint);
	return fd_take(&mapping->ns);
}

int users_mapping_end(struct users_mapping *mapping, struct err *err)
{
	int ns = mapping_take(mapping, err);

	holder_end(mapping->tool); /* one that hangs is still the user's to kill */
	holder_end(mapping->pidfd);
	fd_close(&mapping->tool);
	fd_close(&mapping->pidfd);
	fd_close(&mapping->said);
	fd_close(&mapping->proc);
	fd_close(&mapping->ns);
	return ns;
}

/* Of a namespace that we have entered before it was mapped: ends with newuidmap; -1: there is
 * nothing to wait for. */
static int awaited = -1;

int users_mapping_enter(struct users_mapping *mapping, struct err *err)
{
	if (setns(mapping->ns, CLONE_NEWUSER) < 0)
		return err_errno(err, errno, "enter a user namespace that newuidmap maps");
	awaited = fd_take(&mapping->said);
	fd_close(&mapping->pidfd);
	fd_close(&mapping->tool);
	fd_close(&mapping->proc);
	fd_close(&mapping->ns);
	return 0;
}

void users_mapped(void)
{
	own(buf_done) struct buf text = { 0 };
	struct pollfd said = { .fd = awaited }; /* of it only its end */
	struct err none;

	if (awaited < 0)
		return;
	while (poll(&said, 1, (int)(TOOL_PATIENCE_NS / NS_PER_MS)) < 0 && errno == EINTR)
		;
	fd_close(&awaited);
	if (fs_read_small(AT_FDCWD, "/proc/self/uid_map", 1024, &text, &none) < 0 || text.len == 0)
		_exit(0); /* who forked us sees it too, and forks another */
}

/* ---- file systems of a user namespace whose owners are mapped ---- */

struct mapped_trial {
	int ns;
	bool works;
};

/* Shares our memory while we wait. */
static int tmpfs_tries(void *data)
{
	struct mapped_trial *trial = data;
	own(fd_closep) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	own(fd_closep) int tree = -1;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)trial->ns };

	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		tree = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	trial->works =
		tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0;
	return 0;
}

bool users_tmpfs_maps(void)
{
	_Alignas(16) char stack[16384];
	own(fd_closep) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err none;
	struct mapped_trial trial = { .ns = users_space(proc, 1, 0, 0, 0, &none) };
	const int flags = CLONE_NEWNS | CLONE_VM | CLONE_VFORK | SIGCHLD;

	if (trial.ns < 0)
		return false;
	bool tried = clone(tmpfs_tries, stack + sizeof(stack), flags, &trial) > 0;
	fd_close(&trial.ns);
	return tried && trial.works;
}
