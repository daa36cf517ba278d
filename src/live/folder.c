/* A control socket's address, and who is at its other end.
 *
 * Our user's id is no proof: an ordinary user's cells have it too, and one that was shown this folder could connect to a supervisor, or
 * listen here in the place of one. A cell has a pid namespace of its own; so both sides speak only to processes of
 * the one that they are in themselves. The kernel keeps who connected (or listened) with the socket: to pass that on helps nobody. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/weaken.h"
#include "live/proto.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define FDINFO_MAX 4096

struct sockaddr_un live_address(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	return address;
}

/* Linux 6.5. Before that the process must be found by its number, which may be another's once it is dead. */
static int peer_pidfd(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* In how many pid namespaces it has a number, from that of /proc on down to its own; 0: it is dead, or in none of those. */
static unsigned pid_depth(int pidfd)
{
	own(freep) char *path = xfmt("/proc/self/fdinfo/%d", pidfd);
	own(buf_done) struct buf info = {0};
	struct err none;
	unsigned depth = 0;
	if (fs_read_small(AT_FDCWD, path, FDINFO_MAX, &info, &none) < 0)
		return 0;
	char *line = strstr(buf_text(&info), "\nNSpid:");
	if (!line)
		return 0;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	for (char *at = line, *tab; (tab = strchr(at, '\t')); at = tab + 1, depth++)
		if (strtol(tab + 1, NULL, 10) <= 0)
			return 0;
	return depth;
}

/* A number that we can see, and as many of them as we have ourselves: that is our own namespace. */
static bool peer_is_beside_us(int fd, pid_t pid)
{
	own(fd_closep) int theirs = pid > 0 ? peer_pidfd(fd, pid) : -1;
	own(fd_closep) int ours = theirs < 0 ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
	unsigned depth = ours < 0 ? 0 : pid_depth(theirs);
	return depth > 0 && depth == pid_depth(ours);
}

bool live_peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	if (weakened("control-peer"))
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || (peer.uid != geteuid() && peer.uid != 0))
		return false;
	return peer_is_beside_us(fd, peer.pid);
}
