/* What the kernel counts by the user, and whether that is one cell's or everybody's. */
#include "review/program/hostile.h"

#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MANY 253 /* descriptors in a message */

static long send_files(int to, int file, size_t count)
{
	union {
		char bytes[CMSG_SPACE(MANY * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(head) + i * sizeof(int), &file, sizeof(int));
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static long take_flight(void)
{
	long taken = 0;
	int pair[2], file = open("/dev/null", O_RDONLY);

	for (int i = 0; i < 40; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
			break;
		while (taken < 200000 && send_files(pair[0], file, MANY) > 0)
			taken += MANY;
		if (errno == ETOOMANYREFS)
			break;
	}
	return taken;
}

static long take_inotify(void)
{
	long taken = 0;

	while (taken < 4096 && inotify_init1(IN_NONBLOCK) >= 0)
		taken++;
	return taken;
}

static long take_pipes(void)
{
	long taken = 0;
	int ends[2];

	while (taken < 120 && pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= 0)
		taken++;
	return taken;
}

static long take_signals(void)
{
	sigset_t all;
	long taken = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (taken < 200000 && sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }) == 0)
		taken++;
	return taken;
}

/* As much as there is for a user, of everything; kept until we end. */
static void take_all(void)
{
	got_number("taken:signals", take_signals());
	got_number("taken:pipes", take_pipes());
	got_number("taken:inotify", take_inotify());
	got_number("taken:flight", take_flight());
}

static void tell(FILE *out, const char *what, bool ok)
{
	const char *result = ok ? "ok" : strerrorname_np(errno);

	fprintf(out, "%s %s\n", what, result);
	got_text(what, ok ? "had" : result); /* to have what is one's own is no escape */
}

/* What an ordinary program needs of it. */
static void need_all(FILE *out)
{
	sigset_t all;
	int pair[2], ends[2], file = open("/dev/null", O_RDONLY);

	tell(out, "flight", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && send_files(pair[0], file, 3) > 0);
	tell(out, "inotify", inotify_init1(0) >= 0);
	tell(out, "pipe", pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 18) >= 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	tell(out, "signal", sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }) == 0);
}

static bool await(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (int i = 0; i < 1000; i++, usleep(10000))
		if (access(path, F_OK) == 0)
			return true;
	return false;
}

/* run FOLDER COUNT: the first to come takes all; the others then need some, and leave in FOLDER what they got */
static int attack_run(int argc, char **argv)
{
	char path[4096], name[32];
	int number = 0, count = argc == 2 ? atoi(argv[1]) : 0;

	for (; number < count; number++) {
		snprintf(path, sizeof(path), "%s/run-%d", argv[0], number);
		if (mkdir(path, 0777) == 0)
			break;
	}
	if (number >= count)
		return 99;
	snprintf(path, sizeof(path), "%s/%s-%d", argv[0], number == 0 ? "taken" : "got", number);
	if (number == 0)
		take_all();
	else if (!await(argv[0], "taken-0"))
		return 98;
	FILE *out = fopen(path, "w");
	if (!out)
		return 97;
	if (number > 0)
		need_all(out);
	fclose(out);
	for (int i = 1; i < count && number == 0; i++) {
		snprintf(name, sizeof(name), "got-%d", i);
		(void)!await(argv[0], name);
	}
	return 0;
}

/* take FILE: takes all, and keeps it until FILE is there */
static int attack_take(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	take_all();
	wait_for(argv[0]);
	return 0;
}

/* need: some of all, while another keeps what it took */
static int attack_need(int argc, char **argv)
{
	FILE *out = fopen("/dev/null", "w");

	(void)argv;
	if (argc != 0 || !out)
		return 99;
	need_all(out);
	fclose(out);
	return 0;
}

const struct attack share_attacks[] = { { "run", attack_run }, { "take", attack_take }, { "need", attack_need }, { 0 } };
