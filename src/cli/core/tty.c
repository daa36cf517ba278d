#include "cli/core/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/own.h"

/* There is one controlling terminal, and atexit takes no argument. */
static struct termios saved;
static bool is_raw;

void tty_restore(void)
{
	if (is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	is_raw = false;
}

bool tty_raw(void)
{
	static bool registered;
	struct termios raw;

	if (is_raw)
		return true;
	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return false;
	raw = saved;
	cfmakeraw(&raw);
	if (!registered)
		registered = atexit(tty_restore) == 0;
	if (!registered || tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return false;
	is_raw = true;
	return true;
}

bool tty_size(unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 &&
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return false;
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
	return size.ws_row > 0 && size.ws_col > 0;
}

/* ---- a new one ---- */

/* Each mount of devpts is an instance of its own. This one is placed nowhere, and ends with the last end of its terminal. */
static int open_master(void)
{
	own(fd_closep) int fs = fsopen("devpts", FSOPEN_CLOEXEC);
	own(fd_closep) int mounted = fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0600", 0) < 0 ||
			fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
		? -1
		: fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);

	return mounted < 0 ? -1 : openat(mounted, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

struct maker {
	int master, cause;
};

static int maker_main(void *data)
{
	struct maker *maker = data;

	maker->master = open_master();
	maker->cause = errno;
	return 0;
}

/* An ordinary user may mount it only in a user namespace: one of a child's, which shares our descriptors and memory. */
static int open_master_below(void)
{
	static _Alignas(16) char stack[64 * 1024];
	struct maker maker = {.master = -1};
	pid_t pid = clone(maker_main, stack + sizeof(stack),
		CLONE_NEWUSER | CLONE_NEWNS | CLONE_FILES | CLONE_VM | CLONE_VFORK | SIGCHLD, &maker);

	if (pid < 0)
		return -1;
	(void)waitpid(pid, NULL, 0);
	errno = maker.cause;
	return maker.master;
}

int tty_make(int *ret_master, int *ret_slave, struct err *err)
{
	own(fd_closep) int master = open_master();

	if (master < 0 && errno == EPERM)
		master = open_master_below();
	if (master < 0 || ioctl(master, TIOCSPTLCK, &(int){0}) < 0)
		return err_errno(err, errno, "make a terminal");
	*ret_slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_slave < 0)
		return err_errno(err, errno, "open the other end of a terminal");
	*ret_master = fd_take(&master);
	return 0;
}
