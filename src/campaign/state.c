#include "campaign/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/fs.h"

/* Ours alone: whoever else may write to it could have us run what they like when we resume. */
static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 022) == 0;
}

/* The nearest of ours here or above; NULL if there is none. Somebody else's is passed by. */
static char *find_above(const char *cwd)
{
	own(freep) char *at = xstrdup(cwd);
	struct stat st;

	for (;;) {
		own(freep) char *path = xfmt("%s/%s", strcmp(at, "/") == 0 ? "" : at, STATE_FOLDER);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_ours(&st))
			return ptr_take(&path);
		char *slash = strrchr(at, '/');
		if (slash == NULL || strcmp(at, "/") == 0)
			return NULL;
		slash[slash == at ? 1 : 0] = '\0';
	}
}

static char *choose(const char *given, struct err *err)
{
	char cwd[PATH_MAX];

	if (given == NULL)
		given = getenv("HOTCELL_STATE");
	if (given != NULL && given[0] == '/')
		return xstrdup(given);
	if (getcwd(cwd, sizeof(cwd)) == NULL) {
		(void)err_errno(err, errno, "find the current folder");
		return NULL;
	}
	if (given != NULL && given[0] != '\0')
		return xfmt("%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, given);
	char *found = find_above(cwd);
	return found != NULL ? found : xfmt("%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, STATE_FOLDER);
}

/* Kept out of version control by itself: it holds logs and prompts. */
static int make(const char *path, struct err *err)
{
	own(freep) char *ignore = xfmt("%s/.gitignore", path);

	if (fs_mkdirs(path, err) < 0)
		return err_wrap(err, "make the state folder '%s'", path);
	(void)chmod(path, 0700);
	own(fd_closep) int fd = open(ignore, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0)
		(void)!write(fd, "*\n", 2);
	return 0;
}

char *state_folder(const char *given, bool may_make, struct err *err)
{
	own(freep) char *path = choose(given, err);
	struct stat st;

	if (path == NULL)
		return NULL;
	if (lstat(path, &st) < 0 && errno == ENOENT) {
		if (!may_make) {
			(void)err_set(err, ERR_USAGE,
				"there is no state folder '%s': no campaign was started here; --state names another", path);
			return NULL;
		}
		return make(path, err) < 0 ? NULL : ptr_take(&path);
	}
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		(void)err_set(err, ERR_USAGE, "the state folder '%s' is not a folder; --state names another", path);
		return NULL;
	}
	if (!is_ours(&st)) {
		(void)err_set(err, ERR_USAGE,
			st.st_uid == geteuid() ? "the state folder '%s' can be written by others, who could have you run what "
						 "they like: make it 'chmod 700', or --state names another"
					       : "the state folder '%s' belongs to another user, who could have you run what they "
						 "like: --state names another",
			path);
		return NULL;
	}
	return ptr_take(&path);
}

char *state_ledger(const char *state)
{
	return xfmt("%s/ledger.db", state);
}

char *state_audit(const char *state)
{
	return xfmt("%s/audit.jsonl", state);
}

char *state_campaign(const char *state, const char *name)
{
	return xfmt("%s/campaigns/%s", state, name);
}

/* ---- who is at work ---- */

static char *lock_path(const char *state, const char *name)
{
	return xfmt("%s/campaigns/%s/lock", state, name);
}

static int read_pid(int fd)
{
	char text[24] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

/* Who has just taken it may not have said so yet: what is written is then the last one's. */
static int await_pid(int fd)
{
	struct timespec step = { .tv_nsec = 20 * 1000 * 1000 };
	int pid = read_pid(fd);

	for (int i = 0; i < 25 && (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH)); i++) {
		(void)nanosleep(&step, NULL);
		pid = read_pid(fd);
	}
	return pid;
}

int state_lock(const char *state, const char *name, struct err *err)
{
	own(freep) char *folder = state_campaign(state, name);
	own(freep) char *path = lock_path(state, name);
	char pid[24];

	if (fs_mkdirs(folder, err) < 0)
		return err_wrap(err, "make the campaign's folder");
	own(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		return err_set(err, EINVAL, "the campaign's lock '%s' is not a file: remove it", path);
	if (fd < 0)
		return err_errno(err, errno, "open the campaign's lock '%s'", path);
	struct flock lock = { .l_type = F_WRLCK };
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_errno(err, errno, "lock '%s'", path);
		return err_set(err, ERR_USAGE,
			"campaign '%s' is held by another hotcell, process %d: 'hotcell status %s' shows it, "
			"'hotcell campaign stop %s' ends it",
			name, await_pid(fd), name, name);
	}
	int len = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) != len)
		return err_errno(err, errno, "write the campaign's lock '%s'", path);
	return fd_take(&fd);
}

int state_holder(const char *state, const char *name)
{
	own(freep) char *path = lock_path(state, name);
	own(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return 0;
	struct flock lock = { .l_type = F_WRLCK }; /* asked for, not taken: nobody is kept out meanwhile */
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	int pid = read_pid(fd);
	return pid > 0 ? pid : -1;
}
