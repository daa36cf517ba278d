/* Where control sockets are. Somebody else's folder must never be taken for ours: in /tmp anybody can
 * make one beforehand. */
#include "base/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define KEEP_TRIES 5

static char *folder_in(const char *base)
{
	struct stat st;
	/* Not one that sudo left in the environment: whoever owns it could swap what is in it. */
	if (!base || base[0] != '/' || lstat(base, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return xstrdup("");
	return xfmt("%s/hotcell", base);
}

static char *session_folder(void)
{
	return folder_in(getenv("XDG_RUNTIME_DIR"));
}

/* That of a login, for who was not told of it: from cron, say. */
static char *login_folder(void)
{
	own(freep) char *base = xfmt("/run/user/%u", (unsigned)geteuid());
	own(freep) char *session = session_folder();
	char *folder = folder_in(base);
	if (strcmp(folder, session) == 0)
		folder[0] = '\0'; /* it was said already */
	return folder;
}

char *runtime_folder(unsigned index)
{
	switch (index) {
	case 0: return session_folder();
	case 1: return xstrdup(geteuid() == 0 ? "/run/hotcell" : "");
	case 2: return xfmt("/tmp/hotcell-%u", (unsigned)geteuid());
	case 3: return login_folder();
	default: return NULL;
	}
}

int runtime_folder_open(const char *path, bool make, struct err *err)
{
	struct stat st;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(err, errno, "make '%s'", path);
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "open '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at '%s'", path);
	if (st.st_uid != geteuid())
		return err_set(err, EPERM, "'%s' belongs to user %u: it is not used", path, (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return err_set(err, EPERM, "'%s' is open to others: it is not used; make it 'chmod 700'", path);
	return fd_take(&fd);
}

void runtime_folder_sweep(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char *end = NULL;
		long pid = strtol(entry->d_name, &end, 10);
		bool ours = pid > 0 && pid <= INT32_MAX && (strcmp(end, ".sock") == 0 || strcmp(end, ".keep") == 0);
		if (ours && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(folder, entry->d_name, 0);
	}
	if (dir)
		(void)closedir(dir);
}

/* ---- holding ---- */

void runtime_hold_init(struct runtime_hold *hold)
{
	*hold = (struct runtime_hold){.count = 0};
	for (size_t i = 0; i < RUNTIME_OWN; i++)
		hold->kept[i] = -1;
}

static void add(struct runtime_hold *hold, const struct stat *st)
{
	if (hold->count < RUNTIME_MAX)
		hold->ids[hold->count++] = (struct fs_id){st->st_dev, st->st_ino};
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether going up from the folder that `path` lies in leads to one of the sources. */
static bool lies_below(const char *path, const char *const *sources)
{
	own(freep) char *parent = xfmt("%.*s", (int)(strrchr(path, '/') - path + 1), path);
	own(fd_closep) int at = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st, last = {0}, source;

	while (at >= 0 && fstat(at, &st) == 0 && !is_same(&st, &last)) {
		for (size_t i = 0; sources[i]; i++)
			if (stat(sources[i], &source) == 0 && is_same(&st, &source))
				return true;
		last = st;
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = up;
	}
	return false;
}

static char *keep_name(void)
{
	return xfmt("%d.keep", (int)getpid());
}

/* Who leaves a folder last removes it: not while this file is in it. False: it was removed just now. */
static bool keep(struct runtime_hold *hold, unsigned index, int folder)
{
	own(freep) char *name = keep_name();
	own(fd_closep) int file = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (file >= 0)
		hold->kept[index] = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	return file >= 0 || errno != ENOENT;
}

/* Opens one of ours; if it lies below a source it is made, and stays. -1: it is not there. */
static int hold_one(struct runtime_hold *hold, unsigned index, const char *path, bool below)
{
	struct err none;

	for (int i = 0; i < KEEP_TRIES; i++) {
		own(fd_closep) int folder = runtime_folder_open(path, below, &none);
		if (folder < 0 || !below || hold->kept[index] >= 0)
			return fd_take(&folder);
		runtime_folder_sweep(folder);
		if (keep(hold, index, folder))
			return fd_take(&folder);
	}
	return -1;
}

/* Every user's, which root could show to a cell. */
static void add_others(struct runtime_hold *hold)
{
	glob_t found = {0};
	struct stat st;

	(void)glob("/run/user/*/hotcell", GLOB_NOSORT, NULL, &found);
	(void)glob("/tmp/hotcell-[0-9]*", GLOB_NOSORT | GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (lstat(found.gl_pathv[i], &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid != geteuid())
			add(hold, &st);
	globfree(&found);
}

static bool is_looked_for(struct runtime_hold *hold, const char *const *sources)
{
	own(buf_done) struct buf wanted = {0};
	uint64_t now = clock_now();

	for (size_t i = 0; sources[i]; i++)
		buf_add(&wanted, sources[i], strlen(sources[i]) + 1);
	bool same = hold->looked_ns != 0 && wanted.len == hold->looked_for.len &&
		    (wanted.len == 0 || memcmp(wanted.data, hold->looked_for.data, wanted.len) == 0);
	if (same && now - hold->looked_ns < NS_PER_S)
		return true;
	hold->looked_ns = now;
	buf_done(&hold->looked_for);
	hold->looked_for = wanted;
	wanted = (struct buf){0};
	return false;
}

void runtime_hold_look(struct runtime_hold *hold, const char *const *sources)
{
	char *path;
	struct stat st;

	if (is_looked_for(hold, sources))
		return;
	hold->count = 0;
	for (unsigned i = 0; i < RUNTIME_OWN && (path = runtime_folder(i)); i++) {
		own(fd_closep) int folder = path[0] ? hold_one(hold, i, path, lies_below(path, sources)) : -1;
		if (folder >= 0 && fstat(folder, &st) == 0)
			add(hold, &st);
		free(path);
	}
	if (geteuid() == 0)
		add_others(hold);
}

void runtime_hold_done(struct runtime_hold *hold)
{
	own(freep) char *name = keep_name();

	buf_done(&hold->looked_for);
	for (unsigned i = 0; i < RUNTIME_OWN; i++) {
		own(freep) char *path = hold->kept[i] < 0 ? NULL : runtime_folder(i);
		if (!path)
			continue;
		(void)unlinkat(hold->kept[i], name, 0);
		fd_close(&hold->kept[i]);
		if (path[0])
			(void)rmdir(path); /* if nothing of another's is there */
	}
}
