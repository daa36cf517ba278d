/* Landlock: a second, independent statement of where a cell may write. The mounts already say it;
 * this holds even if one of them were writable by mistake. Reading is left to the mounts: a rule for
 * it would cost every open() a walk up its path.
 *
 * From ABI 6 on it also keeps signals and abstract sockets inside. */
#include "cell/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
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

static int allow(int ruleset, const char *path, uint64_t access, struct err *err)
{
	own(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(err, errno, "open '%s' for a Landlock rule", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at '%s' for a Landlock rule", path);
	if (!S_ISDIR(st.st_mode))
		access &= LANDLOCK_ACCESS_FS_WRITE_FILE;
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_errno(err, errno, "allow writing below '%s'", path);
	return 0;
}

int landlock_rules(const struct template *t, struct err *err)
{
	int abi = landlock_abi();
	uint64_t access = WRITES | (abi >= 2 ? REFER : 0);
	struct ruleset_attr attr = { .handled_access_fs = access,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0 };
	size_t size = abi >= 6 ? sizeof(attr) : sizeof(uint64_t);
	own(fd_closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	static const char *const writable[] = { "/tmp", CELL_WORKSPACE, "/dev" };

	if (ruleset < 0)
		return err_errno(err, errno, "make a Landlock ruleset");
	for (size_t i = 0; i < ARRAY_LEN(writable); i++)
		if (allow(ruleset, writable[i], access, err) < 0)
			return -1;
	for (size_t i = 0; i < t->mount_count; i++)
		if (t->mounts[i].writable && allow(ruleset, t->mounts[i].target, access, err) < 0)
			return -1;
	return fd_take(&ruleset);
}

int landlock_enter(int ruleset, struct err *err)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_errno(err, errno, "enter the Landlock ruleset");
	return 0;
}
