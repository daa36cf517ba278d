#include "review/props.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "review/scene.h"

#define FILE_MAX ((size_t)1 << 20)
#define DEPTH_MAX 200
#define KEPT_MAX 16

char *props_path(const struct review_try *try, const char *name)
{
	return xfmt("%s/%s", try->dir, name);
}

static char *expanded(const struct review_try *try, const char *text)
{
	struct buf full = {0};

	scene_expand(try->scene, try, text, &full);
	return full.data ? buf_take(&full) : xstrdup("");
}

/* ---- making ---- */

void props_folder(struct review_try *try, const char *name)
{
	own(freep) char *path = props_path(try, name);
	struct err err;

	own(fd_closep) int fd = beneath_root_make(path, 0755, NULL, &err);
	if (fd < 0 || fchmod(fd, 0755) < 0)
		try_failed(try, "make the folder '%s': %s", path, strerror(errno));
}

static void folder_of(struct review_try *try, const char *name)
{
	const char *slash = strrchr(name, '/');
	own(freep) char *folder = slash ? xfmt("%.*s", (int)(slash - name), name) : NULL;

	if (folder)
		props_folder(try, folder);
}

static void file_make(struct review_try *try, const char *name, const void *bytes, size_t len, mode_t mode)
{
	own(freep) char *path = props_path(try, name);

	folder_of(try, name);
	own(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || fchmod(fd, mode) < 0)
		try_failed(try, "make '%s': %s", path, strerror(errno));
}

void props_file(struct review_try *try, const char *name, const char *text, mode_t mode)
{
	own(freep) char *full = expanded(try, text);

	file_make(try, name, full, strlen(full), mode);
}

void props_link(struct review_try *try, const char *name, const char *target)
{
	own(freep) char *path = props_path(try, name);
	own(freep) char *full = expanded(try, target);

	folder_of(try, name);
	if (symlink(full, path) < 0)
		try_failed(try, "make the link '%s': %s", path, strerror(errno));
}

void props_program(struct review_try *try, const char *name, mode_t mode)
{
	own(freep) char *from = xfmt("%s/attack", scene_program(try->scene));
	own(buf_done) struct buf bytes = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, from, 64 * FILE_MAX, &bytes, &err) < 0)
		try_failed(try, "%s", err.text);
	else
		file_make(try, name, bytes.data, bytes.len, mode);
}

bool props_record(const struct review_try *try)
{
	return setenv("XDG_STATE_HOME", try->dir, 1) == 0;
}

/* ---- looking ---- */

void props_same(struct review_try *try, const char *name, const char *text, mode_t mode)
{
	own(freep) char *path = props_path(try, name);
	own(freep) char *full = expanded(try, text);
	own(buf_done) struct buf now = {0};
	struct stat st;
	struct err err;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		try_escaped(try, "the host's file '%s' is gone", name);
	else if ((st.st_mode & 07777) != mode || st.st_nlink != 1)
		try_escaped(try, "the host's file '%s' has another mode, or another name", name);
	else if (fs_read_small(AT_FDCWD, path, FILE_MAX, &now, &err) < 0 || strcmp(buf_text(&now), full) != 0)
		try_escaped(try, "the host's file '%s' was written to", name);
}

void props_count(struct review_try *try, const char *name, size_t count)
{
	own(freep) char *path = props_path(try, name);
	DIR *dir = opendir(path);
	size_t is = 0;

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		is += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (dir)
		(void)closedir(dir);
	if (!dir || is != count)
		try_escaped(try, "the host's folder '%s' has %zu entries, not %zu", name, is, count);
}

static bool is_plain_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len;) {
		int size = utf8_char(name + i, len - i);
		if (size <= 0 || utf8_is_control(name + i, size))
			return false;
		i += (size_t)size;
	}
	return true;
}

static void look_at_file(struct review_try *try, int dir, const char *name)
{
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(dir, name, FILE_MAX, &text, &err) == 0 && scene_has_token(try->scene, buf_text(&text), text.len))
		try_escaped(try, "a file that was taken back has the host's token in it: '%s'", name);
}

static size_t look_into(struct review_try *try, int at, const char *name, unsigned depth);

static size_t look_at(struct review_try *try, int dir, const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		try_escaped(try, "what was taken back is no file and no folder: '%s'", name);
	if (!S_ISLNK(st.st_mode) && (st.st_mode & 07000))
		try_escaped(try, "what was taken back has set-id or sticky bits: '%s'", name);
	if (S_ISREG(st.st_mode) && st.st_nlink != 1)
		try_escaped(try, "what was taken back has another name too: '%s'", name);
	if (st.st_uid != geteuid())
		try_escaped(try, "what was taken back belongs to user %u: '%s'", (unsigned)st.st_uid, name);
	if (!is_plain_name(name))
		try_escaped(try, "a name that was taken back has control bytes or is no UTF-8");
	if (S_ISREG(st.st_mode))
		look_at_file(try, dir, name);
	return 1 + (S_ISDIR(st.st_mode) && depth < DEPTH_MAX ? look_into(try, dir, name, depth + 1) : 0);
}

static size_t look_into(struct review_try *try, int at, const char *name, unsigned depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count += look_at(try, fd, entry->d_name, depth);
	if (dir)
		(void)closedir(dir);
	return count;
}

size_t props_taken_back(struct review_try *try, const char *name)
{
	own(freep) char *path = props_path(try, name);

	return look_into(try, AT_FDCWD, path, 0);
}

/* ---- what must stay as it was ---- */

struct kept {
	char *paths[KEPT_MAX];
	struct stat was[KEPT_MAX];
	size_t count;
};

static void kept_forget(struct review_try *try)
{
	struct kept *kept = try->own;

	for (size_t i = 0; kept && i < kept->count; i++)
		free(kept->paths[i]);
	free(kept);
	try->own = NULL;
}

void props_keep(struct review_try *try, char *path)
{
	struct kept *kept = try->own ? try->own : (try->own = xcalloc(1, sizeof(*kept)));

	try->forget = kept_forget;
	if (kept->count < KEPT_MAX && stat(path, &kept->was[kept->count]) == 0)
		kept->paths[kept->count++] = path;
	else
		free(path);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode && a->st_nlink == b->st_nlink &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void props_kept(struct review_try *try)
{
	const struct kept *kept = try->own;
	struct stat now;

	for (size_t i = 0; kept && i < kept->count; i++) {
		if (stat(kept->paths[i], &now) < 0 || !is_same_file(&kept->was[i], &now))
			try_escaped(try, "'%s' on the host was changed", kept->paths[i]);
	}
	if (!kept || !kept->count)
		try_failed(try, "nothing of the host was looked at before");
	kept_forget(try);
}
