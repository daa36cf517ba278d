/* Two programs that do not know each other, but agree on a name: one leaves things under it, the other looks for them. */
#include "review/program/hostile.h"

#include <arpa/inet.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct names {
	key_t key;
	uint16_t port;
	char queue[80], file[4][96];
	struct sockaddr_un abstract;
	socklen_t abstract_len;
};

static struct names names_of(const char *name)
{
	static const char *const folders[] = { "/tmp", "/dev/shm", "/var/tmp", "/run" };
	struct names names = { .key = 0x5f3759 };

	name += *name == '@';
	for (const char *c = name; *c; c++)
		names.key = names.key * 31 + *c;
	names.key &= 0x7fffffff;
	names.port = (uint16_t)(20000 + names.key % 10000);
	snprintf(names.queue, sizeof(names.queue), "/%.64s", name);
	for (size_t i = 0; i < COUNT(folders); i++)
		snprintf(names.file[i], sizeof(names.file[i]), "%s/%.64s", folders[i], name);
	names.abstract.sun_family = AF_UNIX;
	snprintf(names.abstract.sun_path + 1, sizeof(names.abstract.sun_path) - 1, "%.64s", name);
	names.abstract_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(names.abstract.sun_path + 1));
	return names;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

/* leave NAME: until told to end, then nothing of it is left */
static int attack_leave(int argc, char **argv)
{
	struct mq_attr one = { .mq_maxmsg = 1, .mq_msgsize = 8 };

	if (argc != 1)
		return 99;
	struct names names = names_of(argv[0]);
	struct sockaddr_in address = loopback(names.port);
	int local = socket(AF_UNIX, SOCK_STREAM, 0), net = socket(AF_INET, SOCK_STREAM, 0);
	int shm = shmget(names.key, 4096, IPC_CREAT | 0666), sem = semget(names.key, 1, IPC_CREAT | 0666),
	    msg = msgget(names.key, IPC_CREAT | 0666);
	mqd_t queue = mq_open(names.queue, O_CREAT | O_RDWR, 0666, &one);
	got_number("socket", bind(local, (struct sockaddr *)&names.abstract, names.abstract_len) | listen(local, 4));
	got_number("port", bind(net, (struct sockaddr *)&address, sizeof(address)) | listen(net, 4));
	for (size_t i = 0; i < COUNT(names.file); i++) {
		int fd = open(names.file[i], O_CREAT | O_EXCL | O_WRONLY, 0666);
		if (fd >= 0)
			(void)fchmod(fd, 0666);
		got_number(names.file[i], fd);
	}
	got_text("shm", shm < 0 ? "none" : "left");
	got_text("sem", sem < 0 ? "none" : "left");
	got_text("msg", msg < 0 ? "none" : "left");
	got_text("queue", queue == (mqd_t)-1 ? "none" : "left");
	(void)hold();
	(void)shmctl(shm, IPC_RMID, NULL);
	(void)semctl(sem, 0, IPC_RMID);
	(void)msgctl(msg, IPC_RMID, NULL);
	(void)mq_unlink(names.queue);
	for (size_t i = 0; i < COUNT(names.file); i++)
		(void)unlink(names.file[i]);
	return 0;
}

/* find NAME: what the other left */
static int attack_find(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	struct names names = names_of(argv[0]);
	struct sockaddr_in address = loopback(names.port);
	int stream = socket(AF_UNIX, SOCK_STREAM, 0), datagram = socket(AF_UNIX, SOCK_DGRAM, 0),
	    net = socket(AF_INET, SOCK_STREAM, 0);

	got("abstract", connect(stream, (struct sockaddr *)&names.abstract, names.abstract_len));
	got("abstract-send", sendto(datagram, "x", 1, 0, (struct sockaddr *)&names.abstract, names.abstract_len));
	got("port", connect(net, (struct sockaddr *)&address, sizeof(address)));
	got("shm", shmget(names.key, 0, 0));
	got("sem", semget(names.key, 0, 0));
	got("msg", msgget(names.key, 0));
	got("queue", mq_open(names.queue, O_RDONLY));
	for (size_t i = 0; i < COUNT(names.file); i++)
		got(names.file[i], open(names.file[i], O_RDONLY));
	got("key", syscall(SYS_request_key, "user", argv[0], NULL, 0));
	return 0;
}

/* host ABSTRACT PORT SHM: what the host has under these names, in every way */
static int attack_host(int argc, char **argv)
{
	if (argc != 3)
		return 99;
	struct names names = names_of(argv[0]);
	struct sockaddr_in address = loopback((uint16_t)atoi(argv[1]));
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = address.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	static const int kinds[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	static const unsigned spellings[] = { 0x7f000001, 0x7f000002, 0x7fffffff, 0 };
	char what[64];

	for (size_t i = 0; i < COUNT(kinds); i++) {
		int fd = socket(AF_UNIX, kinds[i], 0);
		snprintf(what, sizeof(what), "abstract-%d", kinds[i]);
		got(what, kinds[i] == SOCK_DGRAM ? sendto(fd, "x", 1, 0, (struct sockaddr *)&names.abstract, names.abstract_len)
						 : connect(fd, (struct sockaddr *)&names.abstract, names.abstract_len));
	}
	for (size_t i = 0; i < COUNT(spellings); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		address.sin_addr.s_addr = htonl(spellings[i]);
		snprintf(what, sizeof(what), "tcp-%#x", spellings[i]);
		got(what, connect(fd, (struct sockaddr *)&address, sizeof(address)));
		fd = socket(AF_INET, SOCK_DGRAM, 0); /* whether it came only the host knows */
		snprintf(what, sizeof(what), "udp-%#x", spellings[i]);
		got_text(what, sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)) < 0 ? strerrorname_np(errno) : "sent");
	}
	got("tcp6", connect(socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&six, sizeof(six)));
	char *at = shmat(atoi(argv[2]), NULL, SHM_RDONLY);
	got("shm", at == (void *)-1 ? -1 : 0);
	if (at != (void *)-1)
		printf("shm-says %.64s\n", at);
	return 0;
}

const struct attack neighbour_attacks[] = {
	{ "leave", attack_leave }, { "find", attack_find }, { "host", attack_host },
	{ 0 },
};
