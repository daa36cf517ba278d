#include "review/observe/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define CELL_MAX 64
#define OWN_CGROUP "/hotcell-" /* how cells name theirs: nobody else is killed for being in one */
#define GONE_MS 3000 /* as for the processes that are found by their mark */

/* ---- who ---- */

bool look_stat(pid_t pid, struct look_stat *ret)
{
	own(buf_done) struct buf text = {0};
	unsigned long long start;

	if (!try_proc(NULL, pid, "stat", &text))
		return false;
	const char *rest = strrchr(buf_text(&text), ')'); /* a name may hold anything */
	if (!rest || sscanf(rest + 1, " %c %d %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %*s %llu", &ret->state,
			     &ret->parent, &ret->group, &ret->session, &ret->terminal, &ret->nice, &start) != 7)
		return false;
	ret->start = start;
	ret->policy = 0;
	int field = 2;
	for (rest++; *rest && field < 41; rest++)
		field += *rest == ' ';
	ret->policy = (unsigned)strtoul(rest, NULL, 10);
	return true;
}

/* Parents of everybody, from one pass over /proc. */
struct family {
	struct look_process *items;
	pid_t *parents;
	size_t count;
};

static void family_done(struct family *family)
{
	free(family->items);
	free(family->parents);
}

static void family_read(struct family *ret)
{
	DIR *proc = opendir("/proc");

	for (const struct dirent *entry; proc && (entry = readdir(proc));) {
		struct look_stat stat;
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || !look_stat(pid, &stat))
			continue;
		ret->items = xrealloc(ret->items, ret->count + 1, sizeof(*ret->items));
		ret->parents = xrealloc(ret->parents, ret->count + 1, sizeof(*ret->parents));
		ret->items[ret->count] = (struct look_process){pid, stat.start};
		ret->parents[ret->count++] = stat.parent;
	}
	if (proc)
		(void)closedir(proc);
}

static bool is_among(const struct look_processes *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

void look_below(pid_t top, struct look_processes *ret)
{
	own(family_done) struct family family = {0};
	size_t before;

	ret->count = 0;
	family_read(&family);
	do { /* numbers wrap: a child may come before its parent */
		before = ret->count;
		for (size_t i = 0; i < family.count && ret->count < LOOK_MAX; i++) {
			bool below = family.parents[i] == top || is_among(ret, family.parents[i]);
			if (below && !is_among(ret, family.items[i].pid))
				ret->items[ret->count++] = family.items[i];
		}
	} while (ret->count > before);
}

static size_t count_left(const struct look_processes *were, bool end)
{
	struct look_stat now;
	size_t left = 0;

	for (size_t i = 0; i < were->count; i++) {
		if (!look_stat(were->items[i].pid, &now) || now.start != were->items[i].start || now.state == 'Z' || now.state == 'X')
			continue;
		left++;
		if (end)
			(void)kill(were->items[i].pid, SIGKILL);
	}
	return left;
}

char *look_cgroup(struct review_try *try)
{
	own(buf_done) struct buf its = {0}, ours = {0};
	pid_t pids[CELL_MAX];

	if (!try_processes(try, pids, CELL_MAX) || !try_proc(try, pids[0], "cgroup", &its) ||
		!try_proc(try, try->hotcell, "cgroup", &ours)) {
		try_failed(try, "the cgroup of its processes cannot be seen");
		return NULL;
	}
	if (strcmp(buf_text(&its), buf_text(&ours)) != 0)
		return buf_take(&its);
	if (!try->reason && !try->outside)
		try->reason = xstrdup("all was looked at but its cgroup: it has none of its own here");
	return NULL;
}

/* Whoever is there, found by nothing but where the kernel accounts for it. A zombie is still told of there. */
static size_t count_in(const char *cgroup, bool end)
{
	own(family_done) struct family all = {0};
	size_t count = 0;

	family_read(&all);
	for (size_t i = 0; cgroup && i < all.count; i++) {
		own(buf_done) struct buf its = {0};
		struct look_stat now;
		if (!try_proc(NULL, all.items[i].pid, "cgroup", &its) || strcmp(buf_text(&its), cgroup) != 0 ||
			!look_stat(all.items[i].pid, &now) || now.state == 'Z' || now.state == 'X')
			continue;
		count++;
		if (end && strstr(cgroup, OWN_CGROUP))
			(void)kill(all.items[i].pid, SIGKILL);
	}
	return count;
}

void look_gone(struct review_try *try, const struct look_processes *were)
{
	uint64_t until = clock_now() + GONE_MS * NS_PER_MS;

	while (count_left(were, false) > 0 || count_in(were->cgroup, false) > 0) {
		if (clock_now() < until) {
			(void)poll(NULL, 0, 10);
			continue;
		}
		size_t left = count_left(were, true);
		if (left > 0)
			try_escaped_for(try, "pid-namespace", "%zu of the processes that were below hotcell are still on the host", left);
		left = count_in(were->cgroup, true);
		if (left > 0)
			try_escaped_for(try, "pid-namespace", "%zu processes are still in the cell's cgroup", left);
		return;
	}
}

size_t look_cell(struct review_try *try, pid_t *ret, size_t max)
{
	size_t count = try_processes(try, ret, max);
	struct look_processes below;

	if (!count) {
		try_failed(try, "its processes were not found on the host");
		return 0;
	}
	look_below(try->hotcell, &below);
	for (size_t i = 0, marked = count; i < marked && count < max; i++) {
		struct look_stat stat;
		bool known = !look_stat(ret[i], &stat) || !is_among(&below, stat.parent);
		for (size_t k = 0; k < count; k++)
			known = known || ret[k] == stat.parent;
		if (!known)
			ret[count++] = stat.parent;
	}
	return count;
}

void look_release(struct review_try *try)
{
	pid_t pids[CELL_MAX];
	size_t count = try_processes(try, pids, CELL_MAX);

	for (size_t i = 0; i < count; i++)
		(void)kill(pids[i], SIGTERM);
}

/* The cell's init is undumpable, and has what it is to the kernel from before it entered any namespace: none but root sees
 * its descriptors, environment and namespaces, not from inside its user namespace either. So a row that is held says what
 * it knows nothing of. */
static void unseen(struct review_try *try, const char *what)
{
	if (geteuid() == 0)
		try_failed(try, "the %s of the cell's init cannot be seen: %s", what, strerror(errno));
	else if (!try->reason)
		try->reason = xfmt("all was looked at but the %s of hotcell's own processes in the cell, which only root can see", what);
}

/* ---- namespaces ---- */

static const char *const spaces[] = {"ns/pid", "ns/mnt", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup"},
			*const makers[] = {"pid-namespace", "mount-namespace", "net-namespace", "ipc-namespace", "uts-namespace",
				"cgroup-namespace"};

/* The inode of the user namespace that owns this one; 0 if we may not know: it is then one above ours, as EPERM tells. */
static ino_t owner_of(struct review_try *try, pid_t pid, const char *space)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, space);
	own(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	own(fd_closep) int owner = fd < 0 ? -1 : ioctl(fd, NS_GET_USERNS);
	if (owner >= 0 && fstat(owner, &st) == 0)
		return st.st_ino;
	if (fd < 0 || errno != EPERM)
		try_failed(try, "who owns its %s namespace cannot be seen: %s", space + strlen("ns/"), strerror(errno));
	return 0;
}

static void check_owner(struct review_try *try, pid_t pid)
{
	char path[64];
	struct stat user;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (stat(path, &user) < 0) {
		try_failed(try, "its user namespace cannot be seen: %s", strerror(errno));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (owner_of(try, pid, spaces[i]) == user.st_ino)
			try_escaped_for(try, "user-namespace", "its user namespace owns its %s namespace", spaces[i] + strlen("ns/"));
}

void look_namespaces(struct review_try *try)
{
	pid_t pids[CELL_MAX];
	size_t marked = try_processes(try, pids, CELL_MAX), count = look_cell(try, pids, CELL_MAX);
	char its[64], ours[64];

	for (size_t i = 0; i < count; i++) {
		bool seen = try_link(pids[i], "ns/user", its, sizeof(its)) && try_link(getpid(), "ns/user", ours, sizeof(ours));
		if (!seen && i < marked)
			try_failed(try, "its namespaces cannot be seen: %s", strerror(errno));
		else if (!seen)
			unseen(try, "namespaces");
		if (seen && strcmp(its, ours) == 0)
			try_escaped_for(try, "user-namespace", "it is in the host's user namespace");
		for (size_t k = 0; seen && k < ARRAY_LEN(spaces); k++)
			if (try_link(pids[i], spaces[k], its, sizeof(its)) && try_link(getpid(), spaces[k], ours, sizeof(ours)) &&
				strcmp(its, ours) == 0)
				try_escaped_for(try, makers[k], "it is in the host's %s namespace", spaces[k] + strlen("ns/"));
		if (seen)
			check_owner(try, pids[i]);
	}
	look_release(try);
}

/* ---- credentials ---- */

/* What a number of ours is inside; -1 if nothing. */
static long inside_of(const struct review_try *try, pid_t pid, const char *map, long outer)
{
	own(buf_done) struct buf text = {0};
	long from, to, count;
	int used;

	if (!try_proc(try, pid, map, &text))
		return -1;
	for (const char *at = buf_text(&text); sscanf(at, " %ld %ld %ld%n", &from, &to, &count, &used) == 3; at += used)
		if (outer >= to && outer - to < count)
			return from + (outer - to);
	return -1;
}

static void check_ids(struct review_try *try, pid_t pid, const struct buf *status)
{
	static const char *const names[][2] = {{"Uid", "uid_map"}, {"Gid", "gid_map"}};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *line = try_status_line(status, names[i][0]);
		char *at = (char *)(uintptr_t)line;
		for (int k = 0; line && k < 4; k++) {
			long id = strtol(at, &at, 10);
			if (id == 0)
				try_escaped_for(try, "non-root", "it is root on the host (%s)", names[i][0]);
			else if (inside_of(try, pid, names[i][1], id) == 0)
				try_escaped_for(try, "non-root", "it is root in its user namespace (%s)", names[i][0]);
		}
	}
}

static void check_status(struct review_try *try, const struct buf *status)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapAmb"};

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *line = try_status_line(status, sets[i]);
		if (!line || strtoull(line, NULL, 16) != 0)
			try_escaped_for(try, "no-capabilities", "it has capabilities: %s %s", sets[i], line ? line : "unknown");
	}
	const char *line = try_status_line(status, "NoNewPrivs");
	if (!line || strcmp(line, "1") != 0)
		try_escaped_for(try, "no-new-privileges", "it may gain privileges by executing a program");
	line = try_status_line(status, "Seccomp");
	if (!line || strcmp(line, "2") != 0)
		try_escaped_for(try, "seccomp", "no filter is upon its system calls");
}

void look_credentials(struct review_try *try)
{
	pid_t pids[CELL_MAX];
	size_t count = look_cell(try, pids, CELL_MAX);

	for (size_t i = 0; i < count; i++) {
		own(buf_done) struct buf status = {0};
		if (!try_proc(try, pids[i], "status", &status))
			continue;
		check_ids(try, pids[i], &status);
		check_status(try, &status);
	}
	look_release(try);
}

/* Each process of the cell beside hotcell's. */
static void each_stat(struct review_try *try, void (*judge)(struct review_try *, const struct look_stat *, const struct look_stat *))
{
	pid_t pids[CELL_MAX];
	size_t count = look_cell(try, pids, CELL_MAX);
	struct look_stat its, ours;

	for (size_t i = 0; i < count; i++)
		if (look_stat(pids[i], &its) && look_stat(try->hotcell, &ours))
			judge(try, &its, &ours);
	look_release(try);
}

static void judge_session(struct review_try *try, const struct look_stat *its, const struct look_stat *ours)
{
	if (its->session == ours->session)
		try_escaped(try, "it is in the session of hotcell");
	if (its->terminal != 0)
		try_escaped(try, "it has a controlling terminal, %d:%d", its->terminal >> 8, its->terminal & 255);
}

void look_session(struct review_try *try)
{
	each_stat(try, judge_session);
}

static void judge_priority(struct review_try *try, const struct look_stat *its, const struct look_stat *ours)
{
	if (its->policy == 1 || its->policy == 2 || its->policy == 6)
		try_escaped(try, "it is scheduled before everybody else (policy %u)", its->policy);
	if (its->nice < ours->nice)
		try_escaped(try, "its nice value is %ld, below hotcell's", its->nice);
}

void look_priority(struct review_try *try)
{
	each_stat(try, judge_priority);
}

/* ---- descriptors ---- */

typedef void link_fn(struct review_try *try, pid_t pid, int fd, const char *target);

/* false: they cannot be seen (errno says why), or there are none: no process of a cell is without. */
static bool each_link(struct review_try *try, pid_t pid, link_fn *fn)
{
	char path[64], target[512];
	unsigned seen = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		(void)snprintf(path, sizeof(path), "fd/%.20s", entry->d_name);
		if (entry->d_name[0] == '.' || !try_link(pid, path, target, sizeof(target)))
			continue;
		fn(try, pid, atoi(entry->d_name), target);
		seen++;
	}
	if (dir)
		(void)closedir(dir);
	return seen > 0;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void check_plain(struct review_try *try, pid_t pid, int fd, const char *target)
{
	(void)pid;
	if (fd > 2)
		try_escaped(try, "its descriptor %d is open: '%s'", fd, target);
	else if (!begins(target, "pipe:") && !begins(target, "socket:") && strcmp(target, "/dev/null") != 0)
		try_escaped(try, "its descriptor %d is '%s'", fd, target);
}

static void check_host_file(struct review_try *try, pid_t pid, int fd, const char *target)
{
	(void)pid;
	if (begins(target, scene_folder(try->scene)))
		try_escaped(try, "descriptor %d of the cell's init is a file of the host, '%s'", fd, target);
}

void look_descriptors(struct review_try *try)
{
	pid_t pids[CELL_MAX];
	size_t marked = try_processes(try, pids, CELL_MAX), count = look_cell(try, pids, CELL_MAX);

	for (size_t i = 0; i < count; i++) {
		if (each_link(try, pids[i], i < marked ? check_plain : check_host_file))
			continue;
		if (i >= marked)
			unseen(try, "descriptors");
		else
			try_failed(try, "its descriptors cannot be seen: %s", strerror(errno));
	}
	look_release(try);
}

/* A socket of another process, by its own word to the kernel; -1 if we may not. */
static int socket_option(pid_t pid, int fd, int option)
{
	own(fd_closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	own(fd_closep) int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	int value = -1;
	socklen_t len = sizeof(value);

	return copy < 0 || getsockopt(copy, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

static void check_gain(struct review_try *try, pid_t pid, int fd, const char *target)
{
	static const char *const kinds[] = {"[io_uring]", "[aio]", "[perf_event]", "[userfaultfd]", "bpf-map", "bpf-prog",
		"bpf_link", "[fanotify]", "[fscontext]", "seccomp notify"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (begins(target, "anon_inode:") && strstr(target, kinds[i]))
			try_escaped(try, "it has '%s'", target);
	if (!begins(target, "socket:"))
		return;
	int family = socket_option(pid, fd, SO_DOMAIN), type = socket_option(pid, fd, SO_TYPE);
	if (family >= 0 && family != AF_UNIX && family != AF_INET && family != AF_INET6)
		try_escaped(try, "it has a socket of family %d", family);
	else if (type == SOCK_RAW || type == SOCK_PACKET)
		try_escaped(try, "it has a raw socket");
}

void look_gains(struct review_try *try)
{
	static const char *const kinds[] = {"ns/user", "ns/pid", "ns/mnt", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup", "ns/time"};
	pid_t pids[CELL_MAX];
	size_t marked = try_processes(try, pids, CELL_MAX);
	char first[64], other[64];

	if (!marked)
		try_failed(try, "its processes were not found on the host");
	for (size_t i = 0; i < marked; i++) {
		if (!each_link(try, pids[i], check_gain) && i == 0)
			try_failed(try, "its descriptors cannot be seen: %s", strerror(errno));
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
			if (try_link(pids[0], kinds[k], first, sizeof(first)) && try_link(pids[i], kinds[k], other, sizeof(other)) &&
				strcmp(first, other) != 0)
				try_escaped(try, "it made a %s namespace", kinds[k] + strlen("ns/"));
	}
	look_release(try);
}

/* ---- procfs ---- */

void look_proc(struct review_try *try)
{
	own(buf_done) struct buf mounts = {0};
	pid_t pids[CELL_MAX];
	char point[256], options[256];

	if (!try_processes(try, pids, CELL_MAX) || !try_proc(try, pids[0], "mountinfo", &mounts))
		try_failed(try, "its mounts were not found on the host");
	char *rest = mounts.data;
	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *type = strstr(line, " - ");
		if (type && begins(type + 3, "proc ") && sscanf(line, "%*s %*s %*s %*s %255s %255s", point, options) == 2 &&
			!begins(options, "ro"))
			try_escaped(try, "the procfs on '%s' may be written to", point);
	}
	look_release(try);
}

/* ---- secrets ---- */

void look_secrets(struct review_try *try)
{
	static const char *const files[] = {"environ", "cmdline"};
	struct look_processes below;

	look_below(try->hotcell, &below);
	if (!below.count)
		try_failed(try, "the processes below hotcell were not found");
	for (size_t i = 0; i < below.count; i++) {
		for (size_t k = 0; k < ARRAY_LEN(files); k++) {
			own(buf_done) struct buf text = {0};
			struct look_stat now;
			bool read = try_proc(try, below.items[i].pid, files[k], &text);
			if (!read && look_stat(below.items[i].pid, &now) && now.state != 'Z' && now.state != 'X')
				unseen(try, files[k]);
			if (read && scene_has_token(try->scene, buf_text(&text), text.len))
				try_escaped(try, "a secret of hotcell's is in the %s of process %d", files[k], below.items[i].pid);
		}
	}
	look_release(try);
}

/* ---- words ---- */

static void check_reached(void *data, const char *what, const char *result)
{
	struct review_try *try = data;

	if (begins(result, "reached-"))
		try_escaped(try, "'%.100s' was not refused as it should: '%.40s' is the kernel's answer", what,
			result + strlen("reached-"));
}

void look_reached(struct review_try *try)
{
	try_each_said(try, check_reached, try);
}
