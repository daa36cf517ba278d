/* Both ends of a tunnel, for measuring what is between them.
 *
 *	doorload serve PORT                       a server on 127.0.0.1
 *	doorload connects VIA PLACE COUNT AT_ONCE tunnels set up and closed again
 *	doorload bulk     VIA PLACE MB AT_ONCE    megabytes received through tunnels
 *	doorload latency  VIA PLACE COUNT         one byte there and back, one after another
 *	doorload hold     VIA PLACE COUNT         tunnels kept open until the end of stdin
 *
 * VIA is ADDRESS:PORT of a proxy, or "direct"; PLACE is NAME:PORT, or ADDRESS:PORT with direct. Prints one line of JSON.
 *
 * To the server the first byte is a command: 'e' echoes what follows; 's' and 8 bytes send so many bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (256u << 10)
#define STACK (512u << 10)
#define FILES 65536

static const char *via, *place;

static double now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "doorload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void nodelay(int fd)
{
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* ---- the server ---- */

static void serve_bytes(int fd, uint64_t left)
{
	static const char zeros[CHUNK];

	while (left > 0) {
		ssize_t wrote = send(fd, zeros, left < sizeof(zeros) ? left : sizeof(zeros), MSG_NOSIGNAL);
		if (wrote <= 0)
			return;
		left -= (uint64_t)wrote;
	}
}

/* One that wants many bytes gets a thread, since all the others must not wait for it. */
static void *serve_much(void *data)
{
	int fd = (int)(intptr_t)data;
	uint64_t left = 0;

	(void)fcntl(fd, F_SETFL, 0);
	if (recv(fd, &left, sizeof(left), MSG_WAITALL) == sizeof(left))
		serve_bytes(fd, left);
	(void)close(fd);
	return NULL;
}

static void spawn(void *(*fn)(void *), void *data, pthread_t *ret)
{
	pthread_attr_t attr;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(ret, &attr, fn, data) != 0)
		die("start a thread");
}

static void serve_ready(int epoll, int fd, bool *echoes)
{
	char bytes[4096];
	pthread_t thread;
	ssize_t got = recv(fd, bytes, *echoes ? sizeof(bytes) : 1, 0);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got == 1 && !*echoes && bytes[0] == 's') {
		(void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
		spawn(serve_much, (void *)(intptr_t)fd, &thread);
		(void)pthread_detach(thread);
		return;
	}
	bool good = got > 0 && (!*echoes || send(fd, bytes, (size_t)got, MSG_NOSIGNAL) == got);
	*echoes = good;
	if (!good)
		(void)close(fd);
}

static void serve_accept(int epoll, int fd)
{
	for (;;) {
		struct epoll_event event = { .events = EPOLLIN };
		event.data.fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
		if (event.data.fd < 0 || event.data.fd >= FILES)
			return;
		nodelay(event.data.fd);
		(void)epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
	}
}

static int serve(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1, epoll = epoll_create1(0);
	struct epoll_event events[64] = { { .events = EPOLLIN, .data = { .fd = fd } } };
	static bool echoes[FILES];

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4096) < 0)
		die("listen");
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &events[0]);
	(void)printf("listening\n");
	(void)fflush(stdout);
	for (;;) {
		int count = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < count; i++)
			if (events[i].data.fd == fd)
				serve_accept(epoll, fd);
			else
				serve_ready(epoll, events[i].data.fd, &echoes[events[i].data.fd]);
	}
}

/* ---- the client ---- */

static int connect_address(const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char host[64];
	unsigned port;

	if (sscanf(text, "%63[^:]:%u", host, &port) != 2 || inet_pton(AF_INET, host, &address.sin_addr) != 1)
		die(text);
	address.sin_port = htons((uint16_t)port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("connect");
	nodelay(fd);
	return fd;
}

/* A tunnel to the place: its answer is read to the last byte. */
static int tunnel(void)
{
	char text[600];
	size_t len = 0;

	if (strcmp(via, "direct") == 0)
		return connect_address(place);
	int fd = connect_address(via);
	int asked = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", place, place);
	if (send(fd, text, (size_t)asked, MSG_NOSIGNAL) != asked)
		die("ask for a tunnel");
	while (len < 4 || memcmp(text + len - 4, "\r\n\r\n", 4) != 0) {
		ssize_t got = recv(fd, text + len, sizeof(text) - 1 - len, 0);
		if (got <= 0 || len + (size_t)got >= sizeof(text) - 1)
			die("the tunnel's answer");
		len += (size_t)got;
	}
	text[len] = '\0';
	if (strncmp(text + 8, " 200", 4) != 0) {
		(void)fprintf(stderr, "doorload: %s", text);
		exit(1);
	}
	return fd;
}

struct part { /* of the work: one thread's */
	unsigned count;
	double *times; /* one for each; NULL: not wanted */
	uint64_t bytes;
	pthread_t thread;
};

static void *connects_part(void *data)
{
	struct part *part = data;

	for (unsigned i = 0; i < part->count; i++) {
		double from = now();
		(void)close(tunnel());
		part->times[i] = now() - from;
	}
	return NULL;
}

static void *bulk_part(void *data)
{
	struct part *part = data;
	char *bytes = malloc(CHUNK);
	uint64_t left = part->bytes;
	int fd = tunnel();

	if (send(fd, "s", 1, 0) != 1 || send(fd, &left, sizeof(left), 0) != sizeof(left))
		die("ask for bytes");
	while (left > 0) {
		ssize_t got = recv(fd, bytes, CHUNK, 0);
		if (got <= 0)
			die("receive");
		left -= (uint64_t)got;
	}
	(void)close(fd);
	free(bytes);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print(double seconds, double rate, double *times, size_t count)
{
	if (count > 0)
		qsort(times, count, sizeof(*times), by_size);
	(void)printf("{\"seconds\":%.6f,\"rate\":%.3f,\"p50_us\":%.2f,\"p99_us\":%.2f}\n", seconds, rate,
		count > 0 ? times[count / 2] * 1e6 : 0, count > 0 ? times[count * 99 / 100] * 1e6 : 0);
}

static void spread(void *(*fn)(void *), unsigned count, unsigned at_once, uint64_t bytes)
{
	struct part *parts = calloc(at_once, sizeof(*parts));
	double *times = calloc(count, sizeof(*times)), from = now();

	for (unsigned i = 0, done = 0; i < at_once; i++) {
		parts[i] = (struct part){ .count = count / at_once, .times = times + done, .bytes = bytes / at_once };
		done += parts[i].count;
		spawn(fn, &parts[i], &parts[i].thread);
	}
	for (unsigned i = 0; i < at_once; i++)
		(void)pthread_join(parts[i].thread, NULL);
	double seconds = now() - from;
	size_t made = bytes > 0 ? 0 : (size_t)count / at_once * at_once;
	print(seconds, bytes > 0 ? (double)bytes / 1e6 / seconds : (double)made / seconds, times, made);
	free(parts);
	free(times);
}

static void latency(unsigned count)
{
	double *times = calloc(count, sizeof(*times)), begin = now();
	int fd = tunnel();
	char byte = 'e';

	(void)!send(fd, &byte, 1, 0);
	for (unsigned i = 0; i < count; i++) {
		double from = now();
		if (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			die("there and back");
		times[i] = now() - from;
	}
	print(now() - begin, count / (now() - begin), times, count);
	free(times);
	(void)close(fd);
}

static void hold(unsigned count)
{
	char byte = 'e';

	for (unsigned i = 0; i < count; i++) {
		int fd = tunnel();
		if (send(fd, &byte, 1, 0) != 1 || send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			die("use a tunnel");
	}
	(void)printf("held\n");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve((uint16_t)atoi(argv[2]));
	if (argc < 5)
		return 2;
	via = argv[2];
	place = argv[3];
	unsigned count = (unsigned)atoi(argv[4]), at_once = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
	if (strcmp(argv[1], "connects") == 0)
		spread(connects_part, count, at_once, 0);
	else if (strcmp(argv[1], "bulk") == 0)
		spread(bulk_part, at_once, at_once, (uint64_t)count * 1000000);
	else if (strcmp(argv[1], "latency") == 0)
		latency(count);
	else if (strcmp(argv[1], "hold") == 0)
		hold(count);
	else
		return 2;
	return 0;
}
