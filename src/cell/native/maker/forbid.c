/* Programs that a cell shall not have, by what their names lead to. A name may be a link (sh to dash, awk to /etc/alternatives/awk
 * to mawk, links in the middle of the way): each is followed as in the cell, inside its root. The file at the end, every other
 * name of that file and every copy of it are covered by an empty one that nobody may read. What can be neither run nor
 * read cannot be copied, started by the loader, or be a script's interpreter. What a run brings along or compiles by itself is another
 * program. A folder that cannot be listed, but in which a program could be run by who knows its name, is covered as a whole.
 *
 * When all is covered every name is followed once more: one that still leads to a program makes the cell fail. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/term.h"
#include "base/weaken.h"
#include "cell/native/maker/root.h"

#define MAX_WALK 5000000
#define MAX_COVERS 2000

struct file {
	unsigned rule; /* of the template's forbidden names */
	char *path; /* relative to the root */
	struct stat st, below; /* an overlay shows files as of a device of its own: `below` is what is below it */
	bool is_dir;
};

struct files {
	struct file *at;
	size_t count;
};

struct search {
	const struct builder *b;
	int root;
	const char *const *names;
	struct files ways; /* names that match; links, too */
	struct files programs; /* what they lead to */
	struct files covers; /* those, their other names and copies, and folders */
};

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->at[i].path);
	free(files->at);
}

static void search_done(struct search *search)
{
	files_done(&search->ways);
	files_done(&search->programs);
	files_done(&search->covers);
}

static int add(struct files *files, const struct file *file, struct err *err)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->at[i].rule == file->rule && strcmp(files->at[i].path, file->path) == 0)
			return 0;
	if (files->count == MAX_COVERS)
		return err_set(err, ERR_LIMIT, "more than %d programs are forbidden by these names: give narrower ones", MAX_COVERS);
	files->at = xrealloc(files->at, files->count + 1, sizeof(*files->at));
	files->at[files->count] = *file;
	files->at[files->count++].path = xstrdup(file->path);
	return 0;
}

/* ---- where a name leads ---- */

static int see_below(const struct builder *b, struct file *file)
{
	const struct piece *piece = NULL;
	const char *path = file->path;
	size_t len = 0;

	file->below = file->st;
	for (size_t i = 0; i < b->count; i++) {
		size_t here = strlen(b->pieces[i].target);
		if (here >= len && strncmp(path, b->pieces[i].target, here) == 0 && (path[here] == '/' || path[here] == '\0')) {
			piece = &b->pieces[i];
			len = here;
		}
	}
	if (piece == NULL || !piece->overlaid)
		return 0;
	return fstatat(piece->tree, path + len + 1, &file->below, AT_SYMLINK_NOFOLLOW);
}

/* As a program in the cell would come there: no link leaves the root. -1: nowhere. */
static int follow(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Its path without links, relative to the root; NULL if it has none. */
static char *path_of(int root, int fd)
{
	char top[PATH_MAX], path[PATH_MAX], link[40];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
	ssize_t top_len = readlink(link, top, sizeof(top));
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (top_len < 1 || len <= top_len + 1 || len == sizeof(path) - 1 || memcmp(top, path, (size_t)top_len) != 0 || path[top_len] != '/')
		return NULL;
	path[len] = '\0';
	return xstrdup(path + top_len + 1);
}

static int not_covered(const char *path, const char *why, struct err *err)
{
	own(buf_done) struct buf shown = { 0 };

	term_line(path, strlen(path), 100, &shown);
	return err_set(err, ERR_MISSING, "'/%s' leads to a program that cannot be forbidden: %s", buf_text(&shown), why);
}

/* What this way leads to, if that is a program. */
static int add_way(struct search *search, unsigned rule, const char *path, struct err *err)
{
	struct file way = { .rule = rule, .path = (char *)path }, program = { .rule = rule };
	own(fd_closep) int fd = follow(search->root, path);

	/* of the kernel's own every cell gets another: nothing there is a program of the cell's */
	if (fd < 0 || fstat(fd, &program.st) < 0 || fs_is_proc(fd))
		return 0;
	if (S_ISDIR(program.st.st_mode) && search->names[rule][0] == '/')
		return err_set(err, ERR_USAGE, "cannot forbid '%s': it is a folder, and only programs can be forbidden", search->names[rule]);
	if (!S_ISREG(program.st.st_mode))
		return 0;
	own(freep) char *real = path_of(search->root, fd);
	program.path = real;
	if (real == NULL || see_below(search->b, &program) < 0)
		return not_covered(path, "its path is not known", err);
	if (add(&search->ways, &way, err) < 0 || add(&search->programs, &program, err) < 0)
		return -1;
	return add(&search->covers, &program, err);
}

static int by_name(void *data, int dir, const char *name, const char *path, struct err *err)
{
	struct search *search = data;

	(void)dir;
	for (unsigned i = 0; search->names[i] != NULL; i++)
		if (search->names[i][0] != '/' && fnmatch(search->names[i], name, 0) == 0 && add_way(search, i, path, err) < 0)
			return -1;
	return 0;
}

static int closed(void *data, const char *path, bool is_dir, struct err *err)
{
	struct search *search = data;

	(void)is_dir;
	for (unsigned i = 0; search->names[i] != NULL; i++)
		if (add(&search->covers, &(struct file){ .rule = i, .path = (char *)path, .is_dir = true }, err) < 0)
			return -1;
	return 0;
}

/* ---- the same under other names ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* As the cell's user, or as ourselves: what the cell may run but not read is a program, too. */
static int open_bytes(const struct search *search, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, search->root, path, &how, sizeof(how));

	if (fd >= 0 || errno != EACCES)
		return fd;
	root_look_as_ourselves(search->b);
	fd = (int)syscall(SYS_openat2, search->root, path, &how, sizeof(how));
	int cause = errno;
	root_look_as_cell(search->b);
	errno = cause;
	return fd;
}

/* Of two files of one size. What nobody here may read cannot be compared: it is taken for a copy if it
 * can be run. */
static bool same_bytes(
	const struct search *search, const struct file *program, const struct file *file)
{
	static char a_bytes[65536], b_bytes[65536];
	own(fd_closep) int a = open_bytes(search, program->path);
	own(fd_closep) int b = a < 0 ? -1 : open_bytes(search, file->path);
	ssize_t got;

	if (a < 0 || b < 0)
		return errno == EACCES && (file->st.st_mode & 0111) != 0;
	while ((got = read(a, a_bytes, sizeof(a_bytes))) > 0)
		if (read(b, b_bytes, (size_t)got) != got || memcmp(a_bytes, b_bytes, (size_t)got) != 0)
			return false;
	return got == 0;
}

static int by_content(void *data, int dir, const char *name, const char *path, struct err *err)
{
	struct search *search = data;
	struct file file = { .path = (char *)path };

	if (fstatat(dir, name, &file.st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (see_below(search->b, &file) < 0)
		file.below = file.st;
	for (size_t i = 0; i < search->programs.count; i++) {
		const struct file *program = &search->programs.at[i];
		bool same = same_file(&program->st, &file.st) || same_file(&program->below, &file.below);
		if (!same && (file.st.st_size != program->st.st_size || file.st.st_size == 0 ||
				     !same_bytes(search, program, &file)))
			continue;
		file.rule = program->rule;
		if (add(&search->covers, &file, err) < 0)
			return -1;
	}
	return 0;
}

static int closed_already(void *data, const char *path, bool is_dir, struct err *err)
{
	(void)data, (void)path, (void)is_dir, (void)err;
	return 0;
}

/* Of these the cell gets its own; what is there now is the host's or nothing. */
static const char *const not_searched[] = { "proc", "dev", NULL };

static int find_all(struct search *search, struct err *err)
{
	bool names = false;

	for (unsigned i = 0; search->names[i] != NULL; i++) {
		names = names || search->names[i][0] != '/';
		if (search->names[i][0] == '/' && add_way(search, i, search->names[i] + 1, err) < 0)
			return -1;
	}
	if (names && fs_each_file_or_link(search->root, not_searched, MAX_WALK, by_name, closed, search, err) < 0)
		return err_wrap(err, "look for forbidden programs");
	if (search->programs.count > 0 &&
		fs_each_file(search->root, not_searched, MAX_WALK, by_content, names ? closed_already : closed, search, err) < 0)
		return err_wrap(err, "look for further names of forbidden programs");
	return 0;
}

/* ---- covering ---- */

static int cover_one(const struct builder *b, int root, const struct file *file, struct err *err)
{
	own(fd_closep) int point = root_open_as_either(b, root, file->path);
	own(fd_closep) int cover = open_tree(AT_FDCWD, file->is_dir ? EMPTY_FOLDER : EMPTY_FILE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

	if (point < 0 || cover < 0 || mount_setattr(cover, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
		move_mount(cover, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_errno(err, errno, "forbid '/%s'", file->path);
	return 0;
}

static bool is_covered_already(const struct files *covers, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(covers->at[i].path, covers->at[index].path) == 0)
			return true;
	return false;
}

/* Whatever was overlooked, or changed meanwhile: none of the names may lead to a program now. */
static int look_once_more(const struct search *search, struct err *err)
{
	struct stat empty, st;

	if (stat(EMPTY_FILE, &empty) < 0)
		return err_errno(err, errno, "look at what programs are covered with");
	for (size_t i = 0; i < search->ways.count; i++) {
		own(fd_closep) int fd = follow(search->root, search->ways.at[i].path);
		if (fd >= 0 && (fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && !same_file(&st, &empty))))
			return not_covered(search->ways.at[i].path, "something else is in its place now; try again", err);
	}
	return 0;
}

static int cover_all(const struct search *search, struct err *err)
{
	for (size_t i = 0; i < search->covers.count; i++)
		if (!is_covered_already(&search->covers, i) && cover_one(search->b, search->root, &search->covers.at[i], err) < 0)
			return -1;
	return look_once_more(search, err);
}

static bool is_named_before(const char *const *names, unsigned rule)
{
	for (unsigned i = 0; i < rule; i++)
		if (strcmp(names[i], names[rule]) == 0)
			return true;
	return false;
}

static void report(const struct search *search, struct buf *ret)
{
	for (unsigned rule = 0; search->names[rule] != NULL; rule++) {
		const char *name = search->names[rule];
		bool any = is_named_before(search->names, rule);
		for (size_t i = 0; !is_named_before(search->names, rule) && i < search->covers.count; i++) {
			const struct file *cover = &search->covers.at[i];
			if (cover->rule != rule)
				continue;
			any = true;
			buf_add(ret, name, strlen(name) + 1);
			buf_fmt(ret, "/%s%s", cover->path, cover->is_dir ? "/" : "");
			buf_add(ret, "", 1);
		}
		if (!any) {
			buf_add(ret, name, strlen(name) + 1);
			buf_add(ret, "", 1);
		}
	}
}

int forbid_programs(const struct builder *b, int root, struct buf *ret, struct err *err)
{
	own(search_done) struct search search = { .b = b, .root = root, .names = b->t->forbid };

	root_look_as_cell(b);
	int found = find_all(&search, err);
	root_look_as_ourselves(b);
	if (found == 0 && !weakened("forbidden"))
		found = cover_all(&search, err);
	if (found == 0)
		report(&search, ret);
	return found;
}
