#include "review/observe/net_serve.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX 2100
#define DNS_PORT 53
#define REFLECT_PORT 8081
#define ENDLESS_PORT 8082 /* the same without a length: the connection's end is the answer's */
#define LATE_US 150000

static const uint16_t ports[] = {22, 25, DNS_PORT, 80, 443, 853, 8080, REFLECT_PORT, ENDLESS_PORT, 8088, 8443};

struct link {
	struct net_call *call; /* NULL: a listener */
	uint16_t port; /* where who came meant to go */
	bool datagrams, answered;
};

struct server {
	struct net_log *log;
	struct pollfd polled[LINKS_MAX]; /* the first is who asks us */
	struct link links[LINKS_MAX];
	size_t count, open;
};

/* ---- names ---- */

/* The name of a question from its wire form, in lower case; where the question ends, or 0. */
static size_t question_read(const unsigned char *bytes, size_t len, char *ret, size_t size)
{
	size_t at = 12, out = 0;

	while (at < len && bytes[at]) {
		size_t label = bytes[at];
		if (label > 63 || at + label + 1 >= len || out + label + 2 > size)
			return 0;
		if (out)
			ret[out++] = '.';
		for (size_t i = 0; i < label; i++)
			ret[out++] = (char)tolower(bytes[at + 1 + i]);
		at += label + 1;
	}
	ret[out] = '\0';
	return at + 5 <= len ? at + 5 : 0;
}

static void put16(struct buf *ret, unsigned number)
{
	buf_char(ret, (char)(number >> 8));
	buf_char(ret, (char)number);
}

/* One record of the name at 12 (a pointer), or of the one at `name`. */
static void put_record(struct buf *ret, unsigned name, unsigned type, const void *data, size_t len)
{
	put16(ret, 0xc000 | name);
	put16(ret, type);
	put16(ret, 1);
	put16(ret, 0), put16(ret, 0); /* for how long: not at all */
	put16(ret, (unsigned)len);
	buf_add(ret, data, len);
}

static bool hex_read(const char *text, size_t digits, unsigned char *ret)
{
	if (strspn(text, "0123456789abcdef") < digits)
		return false;
	for (size_t i = 0; i < digits / 2; i++)
		(void)sscanf(text + 2 * i, "%2hhx", &ret[i]);
	return true;
}

static size_t times_asked(const struct net_log *log, const char *name, unsigned type)
{
	size_t count = 0;

	for (size_t i = 0; i < log->question_count && i < NET_QUESTIONS_MAX; i++)
		count += log->questions[i].type == type && strcmp(log->questions[i].name, name) == 0;
	return count;
}

/* The records of a name, as net.h says; how many. */
static unsigned put_answers(const struct net_log *log, const char *name, unsigned type, struct buf *ret)
{
	unsigned char bytes[16];
	static const unsigned char alias[] = "\1x\5other\4test";
	const char *second = strlen(name) > 11 ? name + 11 : "";

	if (strncmp(name, "q-", 2) == 0 && hex_read(name + 2, 32, bytes))
		return type == 28 ? put_record(ret, 12, 28, bytes, 16), 1 : 0;
	if (type != 1)
		return 0;
	if (strchr("atmcd", name[0]) && name[1] == '-' && hex_read(name + 2, 8, bytes)) {
		if (name[0] == 'd')
			(void)usleep(LATE_US);
		if (name[0] == 't' && times_asked(log, name, type) > 1)
			(void)hex_read(second, 8, bytes);
		if (name[0] == 'c') {
			unsigned at = (unsigned)ret->len + 12;
			put_record(ret, 12, 5, alias, sizeof(alias));
			return put_record(ret, at, 1, bytes, 4), 2;
		}
		put_record(ret, 12, 1, bytes, 4);
		if (name[0] != 'm' || !hex_read(second, 8, bytes))
			return 1;
		return put_record(ret, 12, 1, bytes, 4), 2;
	}
	(void)inet_pton(AF_INET, strstr(name, "evil") ? NET_EVIL : NET_GOOD, bytes);
	return put_record(ret, 12, 1, bytes, 4), 1;
}

static void question_answer(struct net_log *log, int fd, unsigned char *bytes, size_t len, const struct sockaddr *to,
	socklen_t to_len)
{
	char name[256];
	own(buf_done) struct buf answer = {0};
	size_t end = len > 17 ? question_read(bytes, len, name, sizeof(name)) : 0;

	if (!end)
		return;
	unsigned type = (unsigned)bytes[end - 4] << 8 | bytes[end - 3];
	if (log->question_count < NET_QUESTIONS_MAX) {
		struct net_question *question = &log->questions[log->question_count];
		(void)snprintf(question->name, sizeof(question->name), "%s", name);
		question->type = type;
	}
	log->question_count++;
	buf_add(&answer, bytes, end);
	unsigned count = put_answers(log, name, type, &answer);
	answer.data[2] = (char)0x81, answer.data[3] = (char)0x80; /* an answer, no error */
	memset(answer.data + 6, 0, 6);
	answer.data[7] = (char)count;
	(void)!sendto(fd, answer.data, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL, to, to_len);
}

/* ---- who comes ---- */

static uint16_t address_text(const struct sockaddr_storage *address, const char *prefix, char *ret, size_t size)
{
	char text[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;
	bool is_six = address->ss_family == AF_INET6;
	uint16_t port = ntohs(is_six ? six->sin6_port : four->sin_port);

	(void)inet_ntop(address->ss_family, is_six ? (const void *)&six->sin6_addr : &four->sin_addr, text, sizeof(text));
	(void)snprintf(ret, size, is_six ? "%s[%s]:%u" : "%s%s:%u", prefix, text, port);
	return port;
}

static struct net_call *call_new(struct net_log *log)
{
	static struct net_call beyond;
	size_t which = log->call_count++;

	return which < NET_CALLS_MAX ? &log->calls[which] : &beyond;
}

static void call_hear(struct net_call *call, const char *bytes, size_t len)
{
	size_t have = call->heard_bytes < NET_HEARD_MAX ? call->heard_bytes : NET_HEARD_MAX;
	size_t room = NET_HEARD_MAX - have;

	memcpy(call->heard + have, bytes, len < room ? len : room);
	call->heard_bytes += len;
}

static void drop(struct server *server, size_t which)
{
	(void)close(server->polled[which].fd);
	server->open--;
	server->count--;
	server->polled[which] = server->polled[server->count];
	server->links[which] = server->links[server->count];
}

static void add(struct server *server, int fd, struct link link)
{
	server->polled[server->count] = (struct pollfd){.fd = fd, .events = POLLIN};
	server->links[server->count++] = link;
}

static void come(struct server *server, int listener)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	struct net_call *call = call_new(server->log);
	(void)getsockname(fd, (struct sockaddr *)&at, &len);
	uint16_t port = address_text(&at, "", call->to, sizeof(call->to));
	if (server->count == LINKS_MAX) {
		(void)close(fd);
		return;
	}
	add(server, fd, (struct link){.call = call, .port = port});
	if (++server->open > server->log->at_once)
		server->log->at_once = server->open;
}

/* A datagram: where it was meant to go is in its ancillary data. The door's resolver is no caller. */
static void datagram(struct server *server, int fd, uint16_t port)
{
	char bytes[2048], control[256];
	struct sockaddr_storage from = {0}, to = {0};
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(fd, &message, MSG_DONTWAIT);

	if (len < 0)
		return;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
		if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO)
			*(struct sockaddr_in *)&to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port),
				.sin_addr = ((struct in_pktinfo *)(void *)CMSG_DATA(head))->ipi_addr};
	}
	if (port == DNS_PORT && ((struct sockaddr_in *)&to)->sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
		question_answer(server->log, fd, (unsigned char *)bytes, (size_t)len, message.msg_name, message.msg_namelen);
		return;
	}
	struct net_call *call = call_new(server->log);
	(void)address_text(&to, "udp ", call->to, sizeof(call->to));
	call_hear(call, bytes, (size_t)len);
}

/* ---- what is said ---- */

static void say_http(int fd, const struct net_call *call, uint16_t port)
{
	size_t len = call->heard_bytes < NET_HEARD_MAX ? call->heard_bytes : NET_HEARD_MAX;
	bool reflect = port == REFLECT_PORT || port == ENDLESS_PORT;
	own(buf_done) struct buf answer = {0};

	buf_str(&answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n");
	if (port != ENDLESS_PORT)
		buf_fmt(&answer, "Content-Length: %zu\r\n", reflect ? len : 3);
	buf_str(&answer, "\r\n");
	buf_add(&answer, reflect ? call->heard : "yes", reflect ? len : 3);
	(void)!send(fd, answer.data, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
}

static void hear(struct server *server, size_t which)
{
	char bytes[16384];
	struct link *link = &server->links[which];
	int fd = server->polled[which].fd;
	ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (len <= 0) {
		if (len == 0 || errno != EAGAIN)
			drop(server, which);
		return;
	}
	call_hear(link->call, bytes, (size_t)len);
	bool speaks_http = link->port == 80 || link->port == 8088 || link->port == REFLECT_PORT || link->port == ENDLESS_PORT;
	if (!speaks_http) {
		(void)!send(fd, bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else if (!link->answered && memmem(link->call->heard, NET_HEARD_MAX, "\r\n\r\n", 4)) {
		link->answered = true;
		say_http(fd, link->call, link->port);
	}
}

/* ---- serving ---- */

static int listen_at(struct server *server, int family, int kind, uint16_t port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	own(fd_closep) int fd = socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return family == AF_INET6 ? 0 : -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (kind == SOCK_DGRAM)
		(void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one));
	if (bind(fd, family == AF_INET ? (void *)&four : (void *)&six, family == AF_INET ? sizeof(four) : sizeof(six)) < 0 ||
		(kind == SOCK_STREAM && listen(fd, 1024) < 0))
		return -1;
	add(server, fd_take(&fd), (struct link){.port = port, .datagrams = kind == SOCK_DGRAM});
	return 0;
}

static int listen_all(struct server *server)
{
	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		if (listen_at(server, AF_INET, SOCK_STREAM, ports[i]) < 0 || listen_at(server, AF_INET6, SOCK_STREAM, ports[i]) < 0 ||
			listen_at(server, AF_INET, SOCK_DGRAM, ports[i]) < 0)
			return -1;
	return 0;
}

/* One turn over everybody; whether somebody had something to say. */
static bool turn(struct server *server, int wait_ms)
{
	bool any = false;

	if (poll(server->polled, server->count, wait_ms) <= 0)
		return false;
	for (size_t i = server->count; i-- > 1;) { /* from the end: who leaves is replaced by one that had its turn */
		if (!server->polled[i].revents)
			continue;
		any = true;
		if (server->links[i].call)
			hear(server, i);
		else if (server->links[i].datagrams)
			datagram(server, server->polled[i].fd, server->links[i].port);
		else
			come(server, server->polled[i].fd);
	}
	return any;
}

void net_serve(int asked, struct net_log *log, struct err *err)
{
	static struct server server;
	struct rlimit files;
	char byte = 0;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	server.log = log;
	add(&server, asked, (struct link){0});
	if (listen_all(&server) < 0) {
		err_errno(err, errno, "listen in the review's network");
		return;
	}
	(void)!send(asked, &byte, 1, MSG_NOSIGNAL);
	for (;;) {
		(void)turn(&server, -1);
		if (!server.polled[0].revents)
			continue;
		if (recv(asked, &byte, 1, MSG_DONTWAIT) == 0)
			_exit(0);
		while (turn(&server, 20))
			;
		(void)!send(asked, &byte, 1, MSG_NOSIGNAL);
	}
}
