/* The files of a ledger, for SQLite, which knows paths only.
 *
 * Whoever can write to the folder that a state folder is in can put another in its place at any
 * moment, and back again: another user, when root works in that user's project. What was checked
 * would then not be what SQLite opens. So its own calls on files are replaced by ours: what lies in
 * the folder of an open ledger is opened, looked at and removed in that folder, which is held, by
 * its last name, and is no link. As long as a ledger is open, SQLite opens and removes nothing else:
 * no temporary file, and nothing that a hostile file names. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/ledger/ledger_private.h"

static struct ledger *first; /* of those that are open; the newest first */

/* The folder that holds this path, or -1; *ret_name is its last step. */
static int folder_of(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	*ret_name = slash ? slash + 1 : path;
	for (const struct ledger *at = slash ? first : NULL; at; at = at->next) {
		size_t own_len = (size_t)(strrchr(at->file, '/') - at->file);
		if (own_len == len && strncmp(at->file, path, len) == 0)
			return at->folder;
	}
	return -1;
}

/* Open for SQLite to sync, if it is the folder of an open ledger; else -1. */
static int open_folder(const char *path)
{
	for (const struct ledger *at = first; at; at = at->next) {
		size_t len = (size_t)(strrchr(at->file, '/') - at->file);
		len = len ? len : 1; /* "/" */
		if (strlen(path) == len && strncmp(at->file, path, len) == 0)
			return openat(at->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	errno = EACCES;
	return -1;
}

/* Where it has its random bytes from, and what it puts on descriptors 0 to 2 where they are free. */
static bool is_device(const char *path)
{
	return strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/null") == 0;
}

static int held_open(const char *path, int flags, int mode)
{
	const char *name;
	int folder = folder_of(path, &name);
	struct stat st;

	if (folder < 0 && (!first || is_device(path)))
		return open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
	if (folder < 0)
		return open_folder(path);
	own(fd_closep) int fd =
		openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		errno = EACCES;
		return -1;
	}
	return fd_take(&fd);
}

static int held_stat(const char *path, struct stat *ret)
{
	const char *name;
	int folder = folder_of(path, &name);

	return folder < 0 ? stat(path, ret) : fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW);
}

static int held_access(const char *path, int mode)
{
	const char *name;
	int folder = folder_of(path, &name);

	return folder < 0 ? access(path, mode) : faccessat(folder, name, mode, 0);
}

static int held_unlink(const char *path)
{
	const char *name;
	int folder = folder_of(path, &name);

	if (folder < 0 && first) {
		errno = EACCES;
		return -1;
	}
	return folder < 0 ? unlink(path) : unlinkat(folder, name, 0);
}

static bool replace_calls(void)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {{"open", (sqlite3_syscall_ptr)held_open},
		{"stat", (sqlite3_syscall_ptr)held_stat},
		{"access", (sqlite3_syscall_ptr)held_access},
		{"unlink", (sqlite3_syscall_ptr)held_unlink}};
	static bool done;
	sqlite3_vfs *vfs = done ? NULL : sqlite3_vfs_find(NULL);

	for (size_t i = 0; vfs && i < ARRAY_LEN(calls); i++)
		if (vfs->iVersion < 3 || !vfs->xSetSystemCall ||
			vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call) != SQLITE_OK)
			return false;
	done = done || vfs;
	return done;
}

int ledger_files_hold(struct ledger *ledger, struct err *err)
{
	if (!replace_calls())
		return err_set(err, ENOTSUP,
			"open the ledger '%s': this SQLite takes no calls of ours", ledger->shown);
	ledger->next = first;
	first = ledger;
	return 0;
}

void ledger_files_leave(const struct ledger *ledger)
{
	for (struct ledger **at = &first; *at; at = &(*at)->next) {
		if (*at == ledger) {
			*at = ledger->next;
			return;
		}
	}
}
