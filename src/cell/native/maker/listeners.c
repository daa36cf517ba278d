/* A cell's listeners: sockets made in its network and served from outside it. They are made by the stall, which is in
 * that network with the rights over it (a low port needs them), after it has cloned the cell's init: no process of
 * the cell ever has one. The program does not run before they are there, because the supervisor sends no job before
 * it has them. */
#include "cell/native/native.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BACKLOG 128

/* Without it the kernel may bind, but nobody would ever connect. */
static int check_loopback(int fd, struct err *err)
{
	struct ifreq request = { .ifr_name = "lo" };

	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return err_errno(err, errno, "look at the cell's loopback");
	if ((request.ifr_flags & IFF_UP) == 0)
		return err_set(err, ENETDOWN, "the cell's loopback is not up, and without it there are no doors");
	return 0;
}

static int listener_open(const struct cell_listener *wanted, struct err *err)
{
	own(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(wanted->port),
		.sin_addr = { .s_addr = htonl(wanted->address) } };
	char text[INET_ADDRSTRLEN] = "";

	(void)inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
	if (fd < 0)
		return err_errno(err, errno, "make a socket for the cell's door at %s:%u", text, wanted->port);
	if (check_loopback(fd, err) < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
		bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
		return err_errno(err, errno, "listen in the cell at %s:%u", text, wanted->port);
	return fd_take(&fd);
}

int listeners_open(const struct cell_listener *wanted, size_t count, int *ret, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		ret[i] = listener_open(&wanted[i], err);
		if (ret[i] >= 0)
			continue;
		while (i > 0)
			fd_close(&ret[--i]);
		return -1;
	}
	return 0;
}
