/* Calls that can have an effect, and where in their arguments it is told.
 *
 * What acts on a descriptor that is open for writing is not here: opening it was. What changes a file through one that need
 * not be (fchmod, fchown, fsetxattr) is. */
#include "cell/native/inside/effects.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "cell/native/inside/newer_calls.h"

#define WRITE(name, folder, path) { SYS_##name, FORM_PATH, CELL_EFFECT_WRITE, folder, path, -1, -1, -1 }
#define REMOVE(name, folder, path) { SYS_##name, FORM_PATH, CELL_EFFECT_REMOVE, folder, path, -1, -1, -1 }
#define FILE_OF(name) { SYS_##name, FORM_FD, CELL_EFFECT_WRITE, 0, -1, -1, -1, -1 }
#define RENAME(name, a, b, c, d) { SYS_##name, FORM_TWO_PATHS, CELL_EFFECT_REMOVE, a, b, c, d, -1 }
#define TO(name, form, address) { SYS_##name, form, CELL_EFFECT_CONNECT, -1, address, -1, -1, -1 }

static const struct effect_call effect_calls[] = {
	{ SYS_execve, FORM_EXEC, CELL_EFFECT_EXEC, -1, 0, -1, -1, 1 },
	{ SYS_execveat, FORM_EXEC, CELL_EFFECT_EXEC, 0, 1, -1, -1, 2 },
	TO(connect, FORM_CONNECT, 1),
	TO(sendto, FORM_SENDTO, 4),
	TO(sendmsg, FORM_SENDMSG, 1),
	TO(sendmmsg, FORM_SENDMMSG, 1),
	{ SYS_openat, FORM_OPEN, CELL_EFFECT_WRITE, 0, 1, -1, -1, 2 },
	{ SYS_openat2, FORM_OPEN_HOW, CELL_EFFECT_WRITE, 0, 1, -1, -1, 2 },
	RENAME(renameat, 0, 1, 2, 3),
	RENAME(renameat2, 0, 1, 2, 3),
	REMOVE(unlinkat, 0, 1),
	WRITE(mkdirat, 0, 1),
	WRITE(mknodat, 0, 1),
	WRITE(symlinkat, 1, 2),
	WRITE(linkat, 2, 3),
	WRITE(truncate, -1, 0),
	WRITE(fchmodat, 0, 1),
	WRITE(fchownat, 0, 1),
	WRITE(utimensat, 0, 1),
	WRITE(setxattr, -1, 0),
	WRITE(lsetxattr, -1, 0),
	WRITE(removexattr, -1, 0),
	WRITE(lremovexattr, -1, 0),
	FILE_OF(fchmod),
	FILE_OF(fchown),
	FILE_OF(fsetxattr),
	FILE_OF(fremovexattr),
	WRITE(fchmodat2, 0, 1),
#ifdef SYS_open /* older forms */
	{ SYS_open, FORM_OPEN, CELL_EFFECT_WRITE, -1, 0, -1, -1, 1 },
	WRITE(creat, -1, 0),
	RENAME(rename, -1, 0, -1, 1),
	REMOVE(unlink, -1, 0),
	REMOVE(rmdir, -1, 0),
	WRITE(mkdir, -1, 0),
	WRITE(mknod, -1, 0),
	WRITE(symlink, -1, 1),
	WRITE(link, -1, 1),
	WRITE(chmod, -1, 0),
	WRITE(chown, -1, 0),
	WRITE(lchown, -1, 0),
	WRITE(utime, -1, 0),
	WRITE(utimes, -1, 0),
	WRITE(futimesat, 0, 1),
#endif
};

const struct effect_call *effect_call_find(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(effect_calls); i++)
		if (effect_calls[i].nr == nr)
			return &effect_calls[i];
	return NULL;
}

bool effect_opens_for_writing(uint64_t flags)
{
	return (flags & EFFECT_OPEN_FLAGS) != 0;
}
