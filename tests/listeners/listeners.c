/* listeners [OPTION...] -- COMMAND...: cells with listeners, and what came through those. It judges nothing: the
 * verdict is that of tests/system/test_listeners.py. Each cell has its number in CELL.
 *
 *	--listen ADDRESS:PORT	a listener; may be given again
 *	--hosts TEXT  --image DIR  --mount SOURCE:TARGET
 *	--cells N  --at-once N  --warm N
 *	--drop		nobody serves them: every copy that we know of is closed
 *	--later		nobody accepts before all cells are gone, and then whatever waits is
 *	--cancel	each cell is cancelled when it listens
 *	--no-loopback, --twice	no cell: what making the sockets says in a network without loopback; twice the same
 *
 * Whoever connects and says a line is answered with the number of the listener. Lines of output:
 *
 *	cell N listens ADDRESS:PORT...		as the sockets themselves say
 *	cell N door I got TEXT
 *	cell N holders N			processes below us that have one of its listeners; only root sees all
 *	cell N ended OUTCOME CODE NOTE ERROR	the note on its network; the error may be empty
 *	descriptors EARLY LATE			ours, after a tenth of the cells and after all
 *	left PROCESSES DESCRIPTORS		when the pool is closed: there should be 0 and 0 more than before */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/cell.h"
#include "cell/native/native.h"

#define MAX_CELLS 1000

enum serving { SERVE, DROP, LATER, CANCEL };

struct one { /* a cell and its listeners */
	unsigned number;
	struct cell *cell;
	int fds[CELL_MAX_LISTENERS];
	struct loop_source *sources[CELL_MAX_LISTENERS];
	struct listener *listeners;
	size_t count;
	bool looked;
};

struct listener {
	struct one *one;
	size_t index;
};

static struct {
	struct loop *loop;
	struct cell_pool *pool;
	struct cell_spec spec;
	struct cell_listener listeners[CELL_MAX_LISTENERS];
	struct cell_mount mount;
	enum serving serving;
	unsigned cells, at_once, warm, live, started;
	struct one all[MAX_CELLS];
} run = { .cells = 1, .at_once = 1 };

/* ---- looking ---- */

static long entries(const char *path)
{
	DIR *dir = opendir(path);
	long count = 0;

	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

static long parent_of(long pid)
{
	char path[64];
	long parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	FILE *file = fopen(path, "re");
	if (file != NULL && fscanf(file, "%*d (%*[^)]) %*c %ld", &parent) != 1)
		parent = 0;
	if (file != NULL)
		(void)fclose(file);
	return parent;
}

static bool is_below_us(long pid)
{
	for (int depth = 0; pid > 1 && depth < 10; depth++) {
		pid = parent_of(pid);
		if (pid == getpid())
			return true;
	}
	return false;
}

static bool holds(long pid, ino_t inode)
{
	char path[320], wanted[64], link[64];
	bool found = false;

	(void)snprintf(wanted, sizeof(wanted), "socket:[%lu]", (unsigned long)inode);
	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir != NULL && !found && (entry = readdir(dir)) != NULL;) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		link[len < 0 ? 0 : len] = '\0';
		found = strcmp(link, wanted) == 0;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}

/* Processes below us, all or those that have one of the cell's listeners. */
static unsigned below(const struct one *one)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		long pid = atol(entry->d_name);
		bool counts = pid > 1 && is_below_us(pid), holder = one == NULL;
		for (size_t i = 0; counts && one != NULL && i < one->count; i++) {
			struct stat st;
			holder = holder || (fstat(one->fds[i], &st) == 0 && holds(pid, st.st_ino));
		}
		count += counts && holder;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

/* ---- serving ---- */

static bool answer(const struct one *one, size_t index)
{
	const struct timeval patience = { 10, 0 };
	char text[256] = "";
	size_t len = 0;
	own(fd_closep) int peer = accept4(one->fds[index], NULL, NULL, SOCK_CLOEXEC);

	if (peer < 0)
		return false;
	(void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	for (ssize_t got = 1; got > 0 && len < sizeof(text) - 1 && strchr(text, '\n') == NULL; len += got > 0 ? (size_t)got : 0)
		got = read(peer, text + len, sizeof(text) - 1 - len);
	text[strcspn(text, "\n")] = '\0';
	printf("cell %u door %zu got %s\n", one->number, index, text);
	(void)!dprintf(peer, "door %zu\n", index);
	return true;
}

static void on_connection(void *data, int fd, uint32_t events)
{
	const struct listener *listener = data;
	struct one *one = listener->one;

	(void)fd;
	(void)events;
	if (!one->looked)
		printf("cell %u holders %u\n", one->number, below(one));
	one->looked = true;
	(void)answer(one, listener->index);
}

static void on_listening(void *data, const int *fds, size_t count)
{
	struct one *one = data;

	printf("cell %u listens", one->number);
	for (size_t i = 0; i < count; i++) {
		struct sockaddr_in at = { 0 };
		socklen_t size = sizeof(at);
		int listens = 0;
		if (getsockname(fds[i], (struct sockaddr *)&at, &size) == 0 &&
			getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &(socklen_t){ sizeof(listens) }) == 0 && listens)
			printf(" %s:%u", inet_ntoa(at.sin_addr), ntohs(at.sin_port));
	}
	printf("\n");
	if (run.serving == CANCEL)
		cell_cancel(one->cell);
	if (run.serving == DROP || run.serving == CANCEL)
		return;
	one->count = count;
	one->listeners = xcalloc(count, sizeof(*one->listeners));
	for (size_t i = 0; i < count; i++) {
		one->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		one->listeners[i] = (struct listener){ one, i };
		if (run.serving == SERVE)
			one->sources[i] = loop_add_fd(run.loop, one->fds[i], EPOLLIN, on_connection, &one->listeners[i]);
	}
}

static void one_done(struct one *one)
{
	for (size_t i = 0; i < one->count; i++) {
		one->sources[i] = loop_remove(one->sources[i]);
		while (run.serving == LATER && answer(one, i))
			;
		fd_close(&one->fds[i]);
	}
	one->count = 0;
	free(one->listeners);
	one->listeners = NULL;
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct one *one = data;

	printf("cell %u ended %s %d '%s' %s\n", one->number, cell_outcome_name(result->outcome), result->exit_code,
		result->receipt.note[CELL_NET_NS], result->err.text);
	(void)cell_free(cell);
	run.live--;
	if (run.serving != LATER)
		one_done(one);
}

static void settle(void)
{
	for (int i = 0; i < 30; i++) /* let the last ones be torn down and the warm ones be made */
		(void)loop_turn(run.loop, 10);
}

static int start(void)
{
	const struct cell_io io = { .in = -1, .out = 1, .err = 2, .listening = on_listening };
	struct one *one = &run.all[run.started];
	char number[32];
	const char *const env[] = { cell_default_env[0], number, NULL };
	struct err err;

	one->number = run.started++;
	(void)snprintf(number, sizeof(number), "CELL=%u", one->number);
	run.spec.env = env;
	one->cell = cell_start(run.pool, &run.spec, &io, on_done, one, &err);
	if (one->cell == NULL) {
		printf("refused %s\n", err.text);
		return -1;
	}
	run.live++;
	return 0;
}

static int run_cells(void)
{
	long early = 0;

	while (run.started < run.cells || run.live > 0) {
		while (run.live < run.at_once && run.started < run.cells)
			if (start() < 0)
				return -1;
		(void)loop_turn(run.loop, -1);
		if (run.live == 0 && run.started < run.cells && run.at_once == 1)
			settle(); /* so that the next one has the same slot */
		if (early == 0 && run.started > run.cells / 10 && run.cells >= 10) {
			settle();
			early = entries("/proc/self/fd");
		}
	}
	for (unsigned i = 0; i < run.started && run.serving == LATER; i++)
		one_done(&run.all[i]);
	settle();
	printf("descriptors %ld %ld\n", early, entries("/proc/self/fd"));
	return 0;
}

/* ---- what the sockets' maker says ---- */

static int in_a_network_of_our_own(bool loopback)
{
	int fds[2];
	struct err err = { 0 };
	const struct cell_listener twice[] = { { 0x7f000001, 3128 }, { 0x7f000001, 3128 } };
	long before = entries("/proc/self/fd");

	if (unshare((geteuid() == 0 ? 0 : CLONE_NEWUSER) | CLONE_NEWNET) < 0)
		return 1;
	own(fd_closep) int control = loopback ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	if (loopback && ioctl(control, SIOCSIFFLAGS, &(struct ifreq){ .ifr_name = "lo", .ifr_flags = IFF_UP }) < 0)
		return 1;
	fd_close(&control);
	printf("made %d %s\n", listeners_open(twice, 2, fds, &err), err.text);
	printf("left 0 %ld\n", entries("/proc/self/fd") - before);
	return 0;
}

/* ---- options ---- */

static void add_listener(char *text)
{
	char *port = strrchr(text, ':');
	struct in_addr address;

	if (port == NULL || (*port++ = '\0', inet_pton(AF_INET, text, &address) != 1) ||
		run.spec.listener_count == CELL_MAX_LISTENERS)
		exit(99);
	run.listeners[run.spec.listener_count++] = (struct cell_listener){ ntohl(address.s_addr), (uint16_t)atoi(port) };
}

static void add_mount(char *text)
{
	char *colon = strchr(text, ':');

	if (colon == NULL)
		exit(99);
	*colon = '\0';
	run.mount = (struct cell_mount){ text, colon + 1, false };
	run.spec.mounts = &run.mount;
	run.spec.mount_count = 1;
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = { { "listen", 1, NULL, 'l' }, { "hosts", 1, NULL, 'h' },
		{ "image", 1, NULL, 'i' }, { "mount", 1, NULL, 'm' }, { "cells", 1, NULL, 'c' }, { "at-once", 1, NULL, 'a' },
		{ "warm", 1, NULL, 'w' }, { "drop", 0, NULL, 'd' }, { "later", 0, NULL, 'k' }, { "cancel", 0, NULL, 'x' },
		{ "no-loopback", 0, NULL, 'n' }, { "twice", 0, NULL, 't' }, { NULL, 0, NULL, 0 } };

	for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
		switch (c) {
		case 'l': add_listener(optarg); break;
		case 'h': run.spec.hosts = optarg; break;
		case 'i': run.spec.image = optarg; break;
		case 'm': add_mount(optarg); break;
		case 'c': run.cells = (unsigned)atoi(optarg); break;
		case 'a': run.at_once = (unsigned)atoi(optarg); break;
		case 'w': run.warm = (unsigned)atoi(optarg); break;
		case 'd': run.serving = DROP; break;
		case 'k': run.serving = LATER; break;
		case 'x': run.serving = CANCEL; break;
		case 'n': exit(in_a_network_of_our_own(false));
		case 't': exit(in_a_network_of_our_own(true));
		default: exit(99);
		}
	}
	if (run.cells > MAX_CELLS)
		exit(99);
	run.spec.argv = (const char *const *)argv + optind;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	cell_spec_defaults(&run.spec);
	run.spec.listeners = run.listeners;
	read_options(argc, argv);
	long before = entries("/proc/self/fd");
	run.loop = loop_open(&err);
	run.pool = run.loop == NULL ? NULL : cell_pool_open("native", run.loop, &err);
	if (run.pool == NULL || (run.warm > 0 && cell_pool_warm(run.pool, &run.spec, run.warm, &err) < 0)) {
		printf("refused %s\n", err.text);
		return 1;
	}
	if (run.warm > 0)
		settle();
	int failed = run_cells();
	run.pool = cell_pool_free(run.pool);
	run.loop = loop_free(run.loop);
	printf("left %u %ld\n", below(NULL), entries("/proc/self/fd") - before);
	return failed < 0;
}
