#include "review/observe/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/fs.h"
#include "review/observe/net_serve.h"

struct net {
	pid_t pid;
	int asked; /* a socket to it */
	int user_fd, net_fd; /* its namespaces; user_fd: -1 for root */
	struct net_log *log; /* shared with it */
};

/* ---- making it ---- */

static int loopback_up(void)
{
	own(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};

	return fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &request);
}

static int route_change(const void *ask, size_t len)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer = {0};
	own(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || send(fd, ask, len, 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < (ssize_t)sizeof(answer.head))
		return -1;
	errno = -answer.error.error;
	return errno ? -1 : 0;
}

/* ip route add local default dev lo */
static int all_is_local(int family)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr out;
		int32_t index;
	} ask = {
		.head = {sizeof(ask), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0},
		.route = {.rtm_family = (unsigned char)family, .rtm_table = RT_TABLE_LOCAL, .rtm_protocol = RTPROT_BOOT,
			.rtm_scope = RT_SCOPE_HOST, .rtm_type = RTN_LOCAL},
		.out = {RTA_LENGTH(sizeof(int32_t)), RTA_OIF},
		.index = 1,
	};

	return route_change(&ask, sizeof(ask));
}

/* ip addr add NET_OWN/32 dev lo: one that is this machine's more than all others are. */
static int add_own(void)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg address;
		struct rtattr local;
		struct in_addr bytes;
	} ask = {
		.head = {sizeof(ask), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0},
		.address = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1},
		.local = {RTA_LENGTH(sizeof(struct in_addr)), IFA_LOCAL},
	};

	(void)inet_pton(AF_INET, NET_OWN, &ask.bytes);
	return route_change(&ask, sizeof(ask));
}

static int map_ourselves(uid_t uid, gid_t gid, struct err *err)
{
	char text[64];

	if (fs_write_value(AT_FDCWD, "/proc/self/setgroups", "deny", err) < 0)
		return -1;
	(void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (fs_write_value(AT_FDCWD, "/proc/self/uid_map", text, err) < 0)
		return -1;
	(void)snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return fs_write_value(AT_FDCWD, "/proc/self/gid_map", text, err);
}

static int make(struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNET | (uid == 0 ? 0 : CLONE_NEWUSER)) < 0)
		return err_errno(err, errno, "make a network namespace");
	if (uid != 0 && map_ourselves(uid, gid, err) < 0)
		return -1;
	if (loopback_up() < 0 || all_is_local(AF_INET) < 0 || add_own() < 0)
		return err_errno(err, errno, "make all addresses local");
	(void)!all_is_local(AF_INET6); /* a kernel without IPv6 has nobody to reach there */
	return fs_write_value(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", err);
}

_Noreturn static void child_main(int asked, struct net_log *log)
{
	struct err err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "review-net");
	fs_close_others(&asked, 1, 3);
	if (make(&err) == 0)
		net_serve(asked, log, &err);
	(void)!send(asked, err.text, strlen(err.text), MSG_NOSIGNAL);
	_exit(1);
}

static int open_namespace(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool enter(const struct review_try *try)
{
	const struct net *net = try->own;

	return (net->user_fd < 0 || setns(net->user_fd, CLONE_NEWUSER) == 0) && setns(net->net_fd, CLONE_NEWNET) == 0;
}

static int start(struct net *net, struct err *err)
{
	int pair[2];
	char said[sizeof(err->text)] = "";

	net->log = mmap(NULL, sizeof(*net->log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (net->log == MAP_FAILED) {
		net->log = NULL;
		return err_errno(err, errno, "memory for what is heard");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket");
	net->asked = pair[0];
	net->pid = fork();
	if (net->pid == 0)
		child_main(pair[1], net->log);
	(void)close(pair[1]);
	if (net->pid < 0)
		return err_errno(err, errno, "make a process");
	ssize_t len = recv(net->asked, said, sizeof(said) - 1, 0);
	if (len != 1)
		return err_set(err, EIO, "make a network for doors: %s", len > 0 ? said : "its process ended");
	net->net_fd = open_namespace(net->pid, "net");
	net->user_fd = geteuid() == 0 ? -1 : open_namespace(net->pid, "user");
	return net->net_fd < 0 ? err_errno(err, errno, "open a network namespace") : 0;
}

struct net *net_open(struct review_try *try)
{
	own(net_freep) struct net *net = xcalloc(1, sizeof(*net));
	struct err err = {0};

	net->asked = net->user_fd = net->net_fd = -1;
	if (start(net, &err) < 0) {
		try_failed(try, "%s", err.text);
		return NULL;
	}
	try->own = net;
	try->enter = enter;
	return ptr_take(&net);
}

struct net *net_free(struct net *net)
{
	if (!net)
		return NULL;
	fd_close(&net->asked);
	if (net->pid > 0) {
		(void)kill(net->pid, SIGKILL);
		(void)waitpid(net->pid, NULL, 0);
	}
	fd_close(&net->user_fd);
	fd_close(&net->net_fd);
	if (net->log)
		(void)munmap(net->log, sizeof(*net->log));
	free(net);
	return NULL;
}

/* ---- what was heard ---- */

void net_settle(struct net *net)
{
	char byte = 0;

	if (send(net->asked, &byte, 1, MSG_NOSIGNAL) == 1)
		(void)!recv(net->asked, &byte, 1, 0);
}

size_t net_calls(const struct net *net)
{
	return net->log->call_count < NET_CALLS_MAX ? net->log->call_count : NET_CALLS_MAX;
}

const struct net_call *net_call(const struct net *net, size_t which)
{
	return &net->log->calls[which];
}

bool net_overflowed(const struct net *net)
{
	return net->log->call_count > NET_CALLS_MAX || net->log->question_count > NET_QUESTIONS_MAX;
}

size_t net_at_once(const struct net *net)
{
	return net->log->at_once;
}

size_t net_questions(const struct net *net)
{
	return net->log->question_count < NET_QUESTIONS_MAX ? net->log->question_count : NET_QUESTIONS_MAX;
}

const char *net_question(const struct net *net, size_t which)
{
	return net->log->questions[which].name;
}
