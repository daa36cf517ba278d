#include "campaign/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/term.h"
#include "base/weaken.h"
#include "campaign/trust.h"

#define SHOWN_PATH 120 /* bytes of a path in a sentence, so that the way out still fits */

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
static void put_ignore(int folder)
{
	own(fd_closep) int fd = beneath_try(folder, ".gitignore", O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd >= 0)
		(void)!write(fd, "*\n", 2);
}

/* Made if that is asked for, and opened; what is wrong with it is said. */
static int open_state(const char *path, const char *shown, bool may_make, bool *ret_made, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 && errno == ENOENT) {
		if (!may_make)
			return err_set(err, ERR_USAGE,
				"there is no state folder '%s': no campaign was started here; --state names another", shown);
		own(fd_closep) int made = beneath_root_make(path, 0700, ret_made, err);
		if (made < 0)
			return err_wrap(err, "make the state folder '%s'", shown);
	}
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		return err_errno(err, EACCES, "open the state folder '%s'", shown);
	if (fd < 0 && errno != EACCES)
		return err_set(err, ERR_USAGE, "the state folder '%s' is not a folder; --state names another", shown);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return err_set(err, ERR_USAGE,
			"the state folder '%s' belongs to another user, who could have you run what they like: --state names another", shown);
	if (!is_ours(&st))
		return err_set(err, ERR_USAGE,
			"the state folder '%s' can be written by others, who could have you run what they like: make it 'chmod 700', or "
			"--state names another",
			shown);
	return fd_take(&fd);
}

static bool is_empty(int folder)
{
	DIR *dir = beneath_list(folder, ".");
	size_t count = 0;

	if (!dir)
		return false;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return count == 0;
}

/* Recorded before anything is put into it: whoever is killed in between leaves an empty folder, which the next one takes. */
static int take_new(int folder, const struct trust_entry *entry, const char *shown, struct err *err)
{
	own(buf_done) struct buf source = {0};
	struct err none = {0};
	bool removed;

	if (fchmod(folder, 0700) < 0)
		return err_errno(err, errno, "make the state folder '%s'", shown);
	if (trust_add(entry, err) < 0)
		return -1;
	/* only now: who mounts it from here on finds it recorded, and who did before is found here */
	own(freep) char *writer = trust_writer_above(entry->path);
	if (!writer) {
		put_ignore(folder);
		return 0;
	}
	(void)!trust_remove(entry->path, &removed, &none);
	term_line(writer, strlen(writer), SHOWN_PATH, &source);
	return err_set(err, ERR_USAGE,
		"no state folder is made at '%s' while a cell has '%s' mounted read-write, since it could write there: wait until it has "
		"ended, or keep the state elsewhere with --state DIR",
		shown, buf_text(&source));
}

static int refuse(const char *shown, struct err *err)
{
	return err_set(err, ERR_USAGE,
		"hotcell did not create '%s' here (it was cloned, copied, moved or restored), so it is not used: review it with 'hotcell trust "
		"--dry-run %s', accept it with 'hotcell trust', or keep the state elsewhere with --state DIR",
		shown, shown);
}

/* Whether it is one of ours. Looked up again once it was seen not to be empty: another hotcell may just have recorded it. */
static int check_ours(int folder, const struct trust_entry *entry, const char *shown, struct err *err)
{
	for (int i = 0; i < 2; i++) {
		own(trust_list_done) struct trust_list list = {0};
		if (trust_read(&list, err) < 0)
			return err_wrap(err, "use the state folder '%.100s'", shown);
		if (trust_list_has(&list, entry) || (weakened("state-record") && !is_empty(folder)))
			return 0;
		if (i == 0 && is_empty(folder))
			return take_new(folder, entry, shown, err);
		if (i == 1)
			return refuse(shown, err);
	}
	return -1;
}

char *state_folder(const char *given, bool may_make, struct err *err)
{
	own(freep) char *path = choose(given, err);
	own(trust_entry_done) struct trust_entry entry = {0};
	own(buf_done) struct buf shown = {0};

	if (path == NULL)
		return NULL;
	term_line(path, strlen(path), SHOWN_PATH, &shown);
	bool made = false;
	own(fd_closep) int folder = open_state(path, buf_text(&shown), may_make, &made, err);
	if (folder < 0 || trust_entry_of(folder, &entry, err) < 0 ||
		check_ours(folder, &entry, buf_text(&shown), err) < 0) {
		if (made)
			(void)rmdir(path); /* which leaves it alone should something be in it */
		return NULL;
	}
	beneath_hold(entry.path, folder); /* from here on it is this folder, whatever is put at its path */
	return ptr_take(&entry.path);
}

bool state_is_none(const char *given)
{
	struct err err;
	own(freep) char *path = choose(given, &err);
	struct stat st;

	return path && lstat(path, &st) < 0 && errno == ENOENT;
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

int state_campaign_open(const char *state, const char *name, bool make, struct err *err)
{
	own(freep) char *path = xfmt("campaigns/%s", name);
	own(fd_closep) int root = beneath_root(state, err);

	if (root < 0)
		return -1;
	int fd = make ? beneath_mkdirs(root, path, 0755, err) : beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0, err);
	return fd < 0 ? err_wrap(err, "the folder of campaign '%s'", name) : fd;
}

int state_campaign_remove(const char *state, const char *name, struct err *err)
{
	own(freep) char *path = xfmt("campaigns/%s", name);
	own(fd_closep) int root = beneath_root(state, err);

	return root < 0 ? -1 : beneath_remove(root, path, err);
}

bool state_campaign_is_there(const char *state, const char *name)
{
	own(freep) char *path = xfmt("campaigns/%s", name);
	struct err none;
	struct stat st;
	own(fd_closep) int root = beneath_root(state, &none);

	return root >= 0 && beneath_stat(root, path, &st) == 0;
}

/* ---- who is at work ---- */

#define LOCK_FILE "lock"

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
	own(fd_closep) int folder = state_campaign_open(state, name, true, err);
	char pid[24];

	if (folder < 0)
		return -1;
	own(fd_closep) int fd = beneath_open(folder, LOCK_FILE, O_RDWR | O_CREAT, 0600, err);
	if (fd < 0)
		return err_wrap(err, "open the campaign's lock");
	struct flock lock = { .l_type = F_WRLCK };
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_errno(err, errno, "lock campaign '%s'", name);
		return err_set(err, ERR_USAGE,
			"campaign '%s' is held by another hotcell, process %d: 'hotcell status %s' shows it, "
			"'hotcell campaign stop %s' ends it",
			name, await_pid(fd), name, name);
	}
	int len = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) != len)
		return err_errno(err, errno, "write the lock of campaign '%s'", name);
	return fd_take(&fd);
}

int state_holder(const char *state, const char *name)
{
	struct err none;
	own(fd_closep) int folder = state_campaign_open(state, name, false, &none);
	own(fd_closep) int fd = folder < 0 ? -1 : beneath_try(folder, LOCK_FILE, O_RDONLY, 0);

	if (fd < 0)
		return 0;
	struct flock lock = { .l_type = F_WRLCK }; /* asked for, not taken: nobody is kept out meanwhile */
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	int pid = read_pid(fd);
	return pid > 0 ? pid : -1;
}
