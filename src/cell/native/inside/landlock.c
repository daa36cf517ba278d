/* Landlock: from ABI 6 on it keeps signals and abstract sockets inside, which costs a program nothing.
 *
 * It also states where a cell may write: a second time, the mounts do so first; and alone for what a read-only mount lets through,
 * FIFOs that are made in it later, and files whose descriptor somebody sends over a socket that is. But a ruleset that rules any
 * right to files, be it one that no program uses, makes each open() and close() take a twelfth longer. So a cell goes without
 * these rules that is shown nothing but the host's own programs and single files, and has a user namespace which owns none of
 * its mounts (root_look.c has looked at each of them). Reading and truncating are left to the mounts in any case: a rule for one of
 * them costs every open() a walk up its path. */
#include "cell/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WRITES                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
		LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
		LANDLOCK_ACCESS_FS_MAKE_SYM)
#define REFER (1ULL << 13) /* ABI 2 */
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)

/* As the kernel of ABI 6 has it; older ones take the shorter size. */
struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

int landlock_abi(void)
{
	if (pretend("no-landlock"))
		return 0;
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return abi < 0 ? 0 : abi;
}

/* `file`: the rights that a file can have; others are a folder's alone. */
static int allow_of(int ruleset, const char *path, uint64_t access, uint64_t file, struct err *err)
{
	own(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(err, errno, "open '%s' for a Landlock rule", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at '%s' for a Landlock rule", path);
	if (!S_ISDIR(st.st_mode))
		access &= file;
	if (access == 0)
		return 0;
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_errno(err, errno, "allow writing below '%s'", path);
	return 0;
}

static int allow(int ruleset, const char *path, uint64_t access, struct err *err)
{
	return allow_of(ruleset, path, access, LANDLOCK_ACCESS_FS_WRITE_FILE, err);
}

bool landlock_rules_files(const struct cell_spec *spec, bool user_ns)
{
	struct stat st;

	if (landlock_abi() < 6 || !user_ns || spec->path_count > 0 || strcmp(spec->image, "host") != 0)
		return true;
	for (size_t i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].space != NULL || stat(spec->mounts[i].source, &st) < 0 || !S_ISREG(st.st_mode))
			return true;
	return false;
}

const char *landlock_keeps(bool files)
{
	if (landlock_abi() < 6)
		return "files";
	return files ? "signals, sockets, files" : "signals, sockets";
}

int landlock_rules(const struct template *t, struct err *err)
{
	int abi = landlock_abi();
	uint64_t access = t->rule_files ? WRITES | (abi >= 2 ? REFER : 0) : 0;
	struct ruleset_attr attr = { .handled_access_fs = access,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0 };
	size_t size = abi >= 6 ? sizeof(attr) : sizeof(uint64_t);
	own(fd_closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	static const char *const writable[] = { "/tmp", CELL_WORKSPACE, "/dev" };

	if (ruleset < 0)
		return err_errno(err, errno, "make a Landlock ruleset");
	if (!t->rule_files)
		return fd_take(&ruleset);
	for (size_t i = 0; i < ARRAY_LEN(writable); i++)
		if (allow(ruleset, writable[i], access, err) < 0)
			return -1;
	for (size_t i = 0; i < t->mount_count; i++)
		if (t->mounts[i].writable && allow(ruleset, t->mounts[i].target, access, err) < 0)
			return -1;
	return fd_take(&ruleset);
}

/* ---- a profile's paths ---- */

#define TRUNCATE (1ULL << 14) /* ABI 3 */
#define IOCTL_DEV (1ULL << 15) /* ABI 5 */

static const struct {
	uint64_t access;
	int abi; /* the first that knows it */
} rights[CELL_RIGHT_COUNT] = {
	[CELL_READ] = { LANDLOCK_ACCESS_FS_READ_FILE, 1 },
	[CELL_LIST] = { LANDLOCK_ACCESS_FS_READ_DIR, 1 },
	[CELL_EXECUTE] = { LANDLOCK_ACCESS_FS_EXECUTE, 1 },
	[CELL_WRITE] = { LANDLOCK_ACCESS_FS_WRITE_FILE, 1 },
	[CELL_TRUNCATE] = { TRUNCATE, 3 },
	[CELL_MAKE_FILE] = { LANDLOCK_ACCESS_FS_MAKE_REG, 1 },
	[CELL_MAKE_DIR] = { LANDLOCK_ACCESS_FS_MAKE_DIR, 1 },
	[CELL_MAKE_SYMLINK] = { LANDLOCK_ACCESS_FS_MAKE_SYM, 1 },
	[CELL_MAKE_SOCKET] = { LANDLOCK_ACCESS_FS_MAKE_SOCK, 1 },
	[CELL_MAKE_FIFO] = { LANDLOCK_ACCESS_FS_MAKE_FIFO, 1 },
	[CELL_REMOVE_FILE] = { LANDLOCK_ACCESS_FS_REMOVE_FILE, 1 },
	[CELL_REMOVE_DIR] = { LANDLOCK_ACCESS_FS_REMOVE_DIR, 1 },
	[CELL_REFER] = { REFER, 2 },
	[CELL_IOCTL] = { IOCTL_DEV, 5 },
};
#define OF_FILES \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE | IOCTL_DEV)

static uint64_t access_of(uint32_t bits, int abi)
{
	uint64_t access = 0;

	for (unsigned i = 0; i < CELL_RIGHT_COUNT; i++)
		if ((bits & CELL_RIGHT(i)) != 0 && abi >= rights[i].abi)
			access |= rights[i].access;
	return access;
}

/* Writing is always ruled; the others only if some path names them. */
static uint64_t handled(const struct template *t, int abi)
{
	const uint32_t by_name = CELL_RIGHT(CELL_READ) | CELL_RIGHT(CELL_LIST) | CELL_RIGHT(CELL_EXECUTE) | CELL_RIGHT(CELL_IOCTL);
	uint32_t named = 0;

	for (size_t i = 0; i < t->path_count; i++)
		named |= t->paths[i].rights;
	return access_of((CELL_RIGHT(CELL_RIGHT_COUNT) - 1) & (~by_name | named), abi) | WRITES;
}

/* A second layer: the kernel lets through what both allow. /proc and the devices are the cell's own, and init's. */
int landlock_paths(const struct template *t, struct err *err)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
		"/dev/ptmx", "/dev/pts" };
	int abi = landlock_abi();
	uint64_t all = handled(t, abi), reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	uint64_t device = (OF_FILES | LANDLOCK_ACCESS_FS_READ_DIR) & all & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE;
	struct ruleset_attr attr = { .handled_access_fs = all };
	own(fd_closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(uint64_t), 0);

	if (ruleset < 0)
		return err_errno(err, errno, "make a Landlock ruleset");
	if (allow_of(ruleset, "/proc", reading & all, OF_FILES, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (allow_of(ruleset, devices[i], device, OF_FILES, err) < 0)
			return -1;
	for (size_t i = 0; i < t->path_count; i++)
		if (allow_of(ruleset, t->paths[i].path, access_of(t->paths[i].rights, abi), OF_FILES, err) < 0)
			return -1;
	return fd_take(&ruleset);
}

int landlock_enter(int ruleset, struct err *err)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_errno(err, errno, "enter the Landlock ruleset");
	return 0;
}
