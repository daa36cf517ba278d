/* A second look at a cell's root, by what the kernel says of each mount in it. */
#include "cell/native/maker/root.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/weaken.h"
#include "cell/native/mountinfo.h"

/* What a mount was meant to be is what the piece was that it is in or below of, the deepest one. */
static bool may_be_written(const struct builder *b, const char *point)
{
	bool writable = weakened("read-only-root");
	size_t deepest = 0;

	for (size_t i = 0; i < b->count && *point == '/'; i++) {
		const struct piece *piece = &b->pieces[i];
		size_t len = strlen(piece->target);
		if (piece->tree < 0 || len < deepest || strncmp(point + 1, piece->target, len) != 0 ||
			(point[1 + len] != '/' && point[1 + len] != '\0'))
			continue;
		deepest = len;
		writable = piece->writable;
	}
	return writable;
}

int root_look_again(const struct builder *b, const char *mountinfo, struct err *err)
{
	size_t seen = 0;

	for (const char *at = mountinfo; *at != '\0'; seen++) {
		size_t len = strcspn(at, "\n");
		own(freep) char *line = xfmt("%.*s", (int)len, at);
		struct mount_line mount;

		at += len + (at[len] == '\n');
		if (!mount_line_read(line, &mount))
			return err_set(err, EINVAL, "the kernel's list of mounts cannot be read");
		if (strncmp(mount.flags, "ro", 2) != 0 && !may_be_written(b, mount.point))
			return err_set(err, EINVAL, "'%s' could be written to in the cell, and was not meant to be", mount.point);
	}
	return seen > 0 ? 0 : err_set(err, EINVAL, "the kernel's list of mounts is empty");
}
