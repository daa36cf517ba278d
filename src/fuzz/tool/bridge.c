/* The bridge: a program in a cell that joins its stdin and stdout to a port of the cell's own loopback, one
 * connection, and ends with it. Carried inside of hotcell's file as bytes; see link.c. hotcell-bridge PORT
 *
 * Two processes, one a direction, so that neither waits for the other. Nothing here is trusted by anybody: whatever it
 * says is what the program in the cell might have said. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define AGAIN_MS 5

/* Until the other side listens, or nobody wants it any more. */
static int join(uint16_t port)
{
	const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	for (;;) {
		struct pollfd input = {.fd = STDOUT_FILENO};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return -1;
		if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		(void)close(fd);
		if (poll(&input, 1, AGAIN_MS) > 0 && (input.revents & (POLLERR | POLLHUP)))
			return -1;
	}
}

/* A server that writes its head and its body one after the other, as many do, holds the body back until the head is
 * acknowledged (Nagle): acknowledged late, that would be 40 ms a call. The kernel forgets this with what is sent and
 * read, so it is said anew each time. */
static void hurry(int connection)
{
	(void)setsockopt(connection, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
}

static void copy(int from, int to, int connection)
{
	static char bytes[65536];
	ssize_t got;

	hurry(connection);
	while ((got = read(from, bytes, sizeof(bytes))) > 0) {
		for (ssize_t put = 0, more; put < got; put += more)
			if ((more = write(to, bytes + put, (size_t)(got - put))) <= 0)
				return;
		hurry(connection);
	}
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	int fd = argc > 1 ? join((uint16_t)atoi(argv[1])) : -1;
	if (fd < 0)
		return 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	pid_t child = fork();
	if (child < 0)
		return 1;
	if (child == 0) {
		(void)close(STDOUT_FILENO);
		copy(STDIN_FILENO, fd, fd);
		(void)shutdown(fd, SHUT_WR);
		_exit(0);
	}
	copy(fd, STDOUT_FILENO, fd);
	(void)kill(child, SIGKILL);
	return 0;
}
