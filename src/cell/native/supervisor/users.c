/* The users of cells outside. */
#include "cell/native/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/weaken.h"

/* Behind what systemd gives to containers (up to 1879048191) and what doord takes, before its numbers for foreign images (from
 * 2147352576 on): nobody gives these to anybody. */
#define FIRST 1910000000u
#define BLOCKS 229375u
#define TRIES 16
#define USUAL_OPEN_FILES 1024
#define FEWEST_OPEN_FILES 64

static int lock_block(const char *whose, uint32_t block)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "hotcell-%s-%u", whose, (unsigned)block);
	own(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0)
		return -1;
	return fd_take(&fd);
}

/* By chance, and then locked: the lock is known in one network namespace only, chance goes beyond. Who holds many locks, to have us
 * give up, gains no more than that chance decides. */
uint32_t users_take(int *ret_lock)
{
	uint32_t block = (uint32_t)getpid();

	*ret_lock = -1;
	for (int i = 0; i < TRIES && *ret_lock < 0; i++) {
		(void)!getrandom(&block, sizeof(block), GRND_NONBLOCK);
		block %= BLOCKS;
		*ret_lock = lock_block("users", block);
	}
	return FIRST + block % BLOCKS * USERS_SPAN;
}

/* Likewise, of fewer. A range that is one block is taken by all, locked or not. */
int users_take_own(struct users_ids *ret, int *ret_lock, struct err *err)
{
	struct users_ids all;
	uint32_t chance = (uint32_t)getpid();

	*ret = (struct users_ids){ 0 };
	*ret_lock = -1;
	if (weakened("per-user-limits"))
		return err_set(err, ENODATA, "this build leaves it out");
	if (users_own_find(&all, err) < 0)
		return -1;
	for (int i = 0; i < TRIES && *ret_lock < 0; i++) {
		(void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
		*ret = users_block(all, chance);
		*ret_lock = lock_block("subusers", ret->first);
	}
	return 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The kernel lets nobody send a descriptor while more are in flight, of all processes of that user, than the sender may have open.
 * Half of our hard limit: our own makers of cells go by that. Half of what the user's other programs go by, which is
 * our soft one or less, unless more than the usual was asked for. */
uint64_t users_open_files(uint64_t wanted, bool own, uint64_t soft, uint64_t hard)
{
	if (own || weakened("per-user-limits"))
		return wanted;
	uint64_t most = lesser(hard / 2, wanted > USUAL_OPEN_FILES ? UINT64_MAX : lesser(soft, USUAL_OPEN_FILES) / 2);
	return lesser(wanted, most < FEWEST_OPEN_FILES ? FEWEST_OPEN_FILES : most);
}

/* What a cell has in flight counts for its init too, which sends its workspace: so init may have twice as many as its programs. */
bool users_raise_files(uint64_t open_files, uint64_t *ret_limit)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	rlim_t want = 2 * open_files + 1024;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	*ret_limit = limit.rlim_cur;
	if (limit.rlim_cur >= want)
		return true;
	struct rlimit more = { want, limit.rlim_max < want ? want : limit.rlim_max };
	return setrlimit(RLIMIT_NOFILE, &more) == 0;
}

uint64_t users_open_files_here(uint64_t wanted, bool own)
{
	struct rlimit before = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t limit;

	(void)getrlimit(RLIMIT_NOFILE, &before);
	uint64_t open_files = users_open_files(wanted, own, before.rlim_cur, before.rlim_max);
	if (!own)
		return open_files;
	bool raised = users_raise_files(open_files, &limit);
	(void)setrlimit(RLIMIT_NOFILE, &before);
	return raised ? open_files : users_open_files(open_files, false, limit, limit);
}

int users_send_failed(const char *doing, struct err *err)
{
	if (errno != ETOOMANYREFS)
		return err_errno(err, errno, "%s", doing);
	return err_set(err, ERR_LIMIT,
		"%s: another program of this user has too many descriptors in flight (sent over Unix sockets and not yet received); end it, or "
		"raise 'ulimit -n' for hotcell",
		doing);
}

/* The kernel takes a new namespace's from its maker, and holds to them what all in it add to their user's count. */
void users_halve_limits(void)
{
	if (weakened("per-user-limits"))
		return;
	static const int which[] = { RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK };
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_LEN(which); i++) {
		if (getrlimit((__rlimit_resource_t)which[i], &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
			continue;
		limit.rlim_cur /= 2;
		(void)setrlimit((__rlimit_resource_t)which[i], &limit);
	}
}

/* What a user has on this machine; read once, by the zygote, for all that it forks. 0: not known. */
static uint64_t inotify_of_user[2];

static uint64_t inotify_read(int host_proc, const char *path)
{
	own(buf_done) struct buf text = { 0 };
	struct err none;

	return fs_read_small(host_proc, path, 64, &text, &none) < 0 ? 0 : strtoull(buf_text(&text), NULL, 10);
}

void users_cap_inotify(int host_proc, unsigned parts)
{
	static const struct {
		const char *all, *ours;
		uint64_t least;
	} limits[] = { { "sys/fs/inotify/max_user_instances", "sys/user/max_inotify_instances", 4 },
		{ "sys/fs/inotify/max_user_watches", "sys/user/max_inotify_watches", 256 } };

	for (size_t i = 0; i < ARRAY_LEN(limits) && !weakened("per-user-limits"); i++) {
		char value[24];
		struct err none;
		if (inotify_of_user[i] == 0)
			inotify_of_user[i] = inotify_read(host_proc, limits[i].all);
		uint64_t share = inotify_of_user[i] / parts;
		(void)snprintf(value, sizeof(value), "%llu", (unsigned long long)(share < limits[i].least ? limits[i].least : share));
		if (inotify_of_user[i] > 0)
			(void)!fs_write_value(host_proc, limits[i].ours, value, &none);
	}
}
