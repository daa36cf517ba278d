/* Programs that a cell shall not have, whatever their path: each file of that name, in the image and in the
 * user's mounts, and every other name of the same file is covered by an empty one that nobody may read. A
 * symbolic link leads to what is covered; a copy cannot be made of what cannot be read. What a run brings along
 * or compiles by itself is another program. A folder that cannot be listed, but in which a program could be run by who knows
 * its name, is covered as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cell/native/root.h"

#define MAX_WALK 5000000
#define MAX_COVERS 2000

struct file {
	char *path; /* relative to the root */
	dev_t device;
	ino_t inode;
	bool is_dir;
};

struct search {
	const struct builder *b;
	const char *const *names;
	struct file *files;
	size_t count, named; /* the first `named` were found by their names */
	bool linked; /* one of them has further names */
};

static void search_done(struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		free(search->files[i].path);
	free(search->files);
}

static int add(struct search *search, const char *path, const struct stat *st, struct err *err)
{
	if (search->count == MAX_COVERS)
		return err_set(err, ERR_LIMIT, "more than %d programs are forbidden by these names: give narrower ones", MAX_COVERS);
	search->files = xrealloc(search->files, search->count + 1, sizeof(*search->files));
	search->files[search->count++] = (struct file){ xstrdup(path), st->st_dev, st->st_ino, S_ISDIR(st->st_mode) };
	return 0;
}

/* An overlay shows files as of a device of its own: their other names are found by what is below it. */
static void see_below(const struct builder *b, const char *path, struct stat *st)
{
	const struct piece *piece = NULL;
	size_t len = 0;
	struct stat below;

	for (size_t i = 0; i < b->count; i++) {
		size_t here = strlen(b->pieces[i].target);
		if (here >= len && strncmp(path, b->pieces[i].target, here) == 0 && (path[here] == '/' || path[here] == '\0')) {
			piece = &b->pieces[i];
			len = here;
		}
	}
	if (piece != NULL && piece->overlaid && fstatat(piece->tree, path + len + 1, &below, AT_SYMLINK_NOFOLLOW) == 0)
		*st = below;
}

/* Of these the cell gets its own; what is there now is the host's or nothing. */
static const char *const not_searched[] = { "proc", "dev", NULL };

static int by_name(void *data, int dir, const char *name, const char *path, struct err *err)
{
	struct search *search = data;
	struct stat st;

	for (size_t i = 0; search->names[i] != NULL; i++) {
		if (fnmatch(search->names[i], name, 0) != 0)
			continue;
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			return 0;
		see_below(search->b, path, &st);
		search->linked = search->linked || st.st_nlink > 1;
		return add(search, path, &st, err);
	}
	return 0;
}

static int closed(void *data, const char *path, bool is_dir, struct err *err)
{
	(void)is_dir;
	return add(data, path, &(struct stat){ .st_mode = S_IFDIR }, err);
}

static int closed_already(void *data, const char *path, bool is_dir, struct err *err)
{
	(void)data, (void)path, (void)is_dir, (void)err;
	return 0;
}

static int by_inode(void *data, int dir, const char *name, const char *path, struct err *err)
{
	struct search *search = data;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_nlink < 2)
		return 0;
	see_below(search->b, path, &st);
	bool same = false;
	for (size_t i = 0; i < search->named; i++) {
		const struct file *file = &search->files[i];
		if (strcmp(file->path, path) == 0)
			return 0; /* known already */
		same = same || (file->device == st.st_dev && file->inode == st.st_ino);
	}
	return same ? add(search, path, &st, err) : 0;
}

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

static int find_all(struct search *search, int root, struct err *err)
{
	if (fs_each_file(root, not_searched, MAX_WALK, by_name, closed, search, err) < 0)
		return err_wrap(err, "look for forbidden programs");
	search->named = search->count;
	if (search->linked && fs_each_file(root, not_searched, MAX_WALK, by_inode, closed_already, search, err) < 0)
		return err_wrap(err, "look for further names of forbidden programs");
	return 0;
}

int forbid_programs(const struct builder *b, int root, struct err *err)
{
	own(search_done) struct search search = { .b = b, .names = b->t->forbid };

	root_look_as_cell(b);
	int found = find_all(&search, root, err);
	root_look_as_ourselves(b);
	for (size_t i = 0; found == 0 && i < search.count; i++)
		found = cover_one(b, root, &search.files[i], err);
	return found;
}
