/* Where control sockets are. Somebody else's folder must never be taken for ours: in /tmp anybody can
 * make one beforehand. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "live/proto.h"

static char *runtime_folder(void)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	/* Not one that sudo left in the environment: whoever owns it could swap what is in it. */
	if (!base || base[0] != '/' || lstat(base, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return xstrdup("");
	return xfmt("%s/hotcell", base);
}

char *live_folder(unsigned index)
{
	switch (index) {
	case 0: return runtime_folder();
	case 1: return xstrdup(geteuid() == 0 ? "/run/hotcell" : "");
	case 2: return xfmt("/tmp/hotcell-%u", (unsigned)geteuid());
	default: return NULL;
	}
}

int live_folder_open(const char *path, bool make, struct err *err)
{
	struct stat st;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(err, errno, "make '%s'", path);
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "open '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at '%s'", path);
	if (st.st_uid != geteuid())
		return err_set(err, EPERM, "'%s' belongs to user %u: it is not used", path, (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return err_set(err, EPERM, "'%s' is open to others: it is not used; make it 'chmod 700'", path);
	return fd_take(&fd);
}

void live_folder_sweep(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *end = NULL;
		long pid = strtol(entry->d_name, &end, 10);
		if (pid > 0 && pid <= INT32_MAX && strcmp(end, ".sock") == 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(folder, entry->d_name, 0);
	}
	if (dir)
		(void)closedir(dir);
}

struct sockaddr_un live_address(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	return address;
}

bool live_peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}
