/* A cell's /etc/hosts: what every cell has, or what its image has, and then the names of the cell's doors. */
#include "cell/native/native.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_lines(struct buf *buf, const char *lines)
{
	if (lines != NULL)
		buf_str(buf, lines);
	if (buf->len > 0 && buf->data[buf->len - 1] != '\n')
		buf_char(buf, '\n');
}

void hosts_of_host(const struct template *t, struct buf *ret)
{
	buf_str(ret, "127.0.0.1 localhost cell\n::1 localhost\n");
	add_lines(ret, t->hosts);
}

int hosts_of_image(const struct template *t, int image, struct buf *ret, struct err *err)
{
	own(fd_closep) int etc = openat(image, "etc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct err unreadable;

	if (etc < 0 || fstatat(etc, "hosts", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE,
			"the image '%s' has no file /etc/hosts for the names of the cell's doors: make one, even an empty one",
			t->image);
	if (fs_read_small(etc, "hosts", CELL_MAX_HOSTS, ret, &unreadable) < 0) {
		ret->len = 0;
		hosts_of_host(t, ret);
		return 0;
	}
	add_lines(ret, NULL);
	add_lines(ret, t->hosts);
	return 0;
}
