/* One line of /proc/PID/mountinfo. Pure. */
#ifndef HOTCELL_CELL_NATIVE_MOUNTINFO_H
#define HOTCELL_CELL_NATIVE_MOUNTINFO_H

#include <stdbool.h>

struct mount_line {
	char *root, *point; /* what of its file system is mounted, and where; as they are, without the kernel's escapes */
	char *flags; /* of the mount: "ro,nosuid,..." */
	char *type, *options; /* of the file system */
};
/* Into the line itself, which is changed. False: it is none. */
bool mount_line_read(char *line, struct mount_line *ret);

#endif
