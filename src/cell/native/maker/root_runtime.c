/* The folders of control sockets, which no cell is shown: whoever reaches a socket there commands other cells. Known by device and
 * inode, so that no other name, link or mount leads to one. Those that lie in a mount are covered with the names to be hidden;
 * here are the mounts and images that consist of nothing else. */
#include "cell/native/maker/root.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/weaken.h"

struct fs_ids root_runtime(const struct template *t)
{
	/* who is to be seen at the socket must be able to come there */
	bool left_out = weakened("runtime-folder") || weakened("control-peer");

	return (struct fs_ids){ t->runtime, left_out ? 0 : t->runtime_count };
}

/* Every folder from here to the top is looked at: those that nobody may read, too. */
static bool leads_to(const struct fs_ids *ids, int from)
{
	own(fd_closep) int at = fcntl(from, F_DUPFD_CLOEXEC, 3);
	struct stat st, last = { 0 };

	while (at >= 0 && fstat(at, &st) == 0) {
		if (fs_ids_have(ids, st.st_dev, st.st_ino))
			return true;
		if (st.st_dev == last.st_dev && st.st_ino == last.st_ino)
			return false;
		last = st;
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = up;
	}
	return false;
}

int root_refuse_runtime(const struct template *t, int fd, const char *source, struct err *err)
{
	const struct fs_ids ids = root_runtime(t);
	const char *slash = strrchr(source, '/');
	struct stat st;

	if (ids.count == 0 || fstat(fd, &st) < 0)
		return 0;
	/* a tree of its own has no way up: its source has */
	own(freep) char *parent = S_ISDIR(st.st_mode) || slash == NULL ? xstrdup(source) : xfmt("%.*s", (int)(slash - source + 1), source);
	own(fd_closep) int folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!fs_ids_have(&ids, st.st_dev, st.st_ino) && !leads_to(&ids, folder))
		return 0;
	return err_set(err, ERR_USAGE,
		"'%s' holds the control sockets of hotcell, which command every cell: no cell is shown them; mount another folder", source);
}
