/* A cell's file system. The yard builds what all cells of a template share, once: a small read-only
 * tmpfs as root, the image's folders bound into it read-only, devices, the user's mounts. Each cell
 * then adds what is its own: /tmp, /workspace, /dev/shm and /proc.
 *
 * Every source is opened (and thereby pinned) before anything is moved, but for devices, which are
 * known by their numbers; every target is walked one component at a time without following links, so
 * that no name an attacker swaps in between leads elsewhere (CVE-2021-30465). The old root is gone when we return: no path leads back to the host,
 * but through the /proc that is lent to an ordinary user's root until the yard takes it back. */
#include "cell/native/maker/root.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/weaken.h"

#define HIDE_MAX_WALK 2000000
#define HIDE_MAX_MATCHES 4096
#define MOUNTINFO_MAX (16u << 20)
#define STAGE "/tmp" /* covered in our own mount namespace only */

uint64_t root_nothing_special(void)
{
	return (weakened("mount-nosuid") ? 0 : MOUNT_ATTR_NOSUID) | (weakened("mount-nodev") ? 0 : MOUNT_ATTR_NODEV);
}

static void folder_leave(struct builder *b)
{
	struct folder *folder = &b->way[--b->depth];

	free(folder->name);
	fd_close(&folder->fd);
}

static void builder_done(struct builder *b)
{
	for (size_t i = 0; i < b->count; i++)
		piece_done(&b->pieces[i]);
	free(b->pieces);
	while (b->depth > 0)
		folder_leave(b);
	free(b->way);
	fd_close(&b->owner_ns);
}

/* ---- placing, in the new root (our working directory) ---- */

static int open_below(int dir, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	if (weakened("mount-links")) /* but not out of the cell's root: that would change the machine */
		how = (struct open_how){ .flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* Opens it, and goes there. Only the new root's own file system may be added to: whatever is mounted in it is the user's, and is
 * left as it is. */
static int folder_enter(struct builder *b, const char *name)
{
	struct stat st = { 0 };
	int fd = b->depth == 0 ? open(name, O_PATH | O_DIRECTORY | O_CLOEXEC) : open_below(b->way[b->depth - 1].fd, name, O_PATH | O_DIRECTORY);

	if (fd < 0 || fstat(fd, &st) < 0) {
		int cause = errno;
		fd_close(&fd);
		errno = cause;
		return -1;
	}
	b->way = xrealloc(b->way, b->depth + 1, sizeof(*b->way));
	b->way[b->depth] = (struct folder){ .name = xstrdup(name), .fd = fd, .device = st.st_dev };
	b->way[b->depth].ours = st.st_dev == b->way[0].device;
	b->depth++;
	return 0;
}

static int make_folder(const struct folder *in, const char *name)
{
	if (!in->ours)
		return faccessat(in->fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
	return mkdirat(in->fd, name, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

static int no_mount_point(const char *target, struct err *err)
{
	return err_errno(err, errno, "there is no '/%s' to mount on, in the image or in another mount: make it there, or choose another target", target);
}

/* The folder `target` lies in, with what is missing on the way made; *ret_name is the last component. The folders on the way
 * stay open: neighbours come one after another. What is mounted on lies in the last of them, so none is one that a mount hides. */
static const struct folder *parent_of(struct builder *b, const char *target, const char **ret_name, struct err *err)
{
	const char *at = target, *slash;
	size_t depth = 1; /* behind the root */
	char name[256];

	while ((slash = strchr(at, '/')) != NULL) {
		size_t len = (size_t)(slash - at);
		if (len >= sizeof(name)) {
			(void)err_set(err, ERR_USAGE, "a name in '/%s' is longer than 255 bytes", target);
			return NULL;
		}
		memcpy(name, at, len);
		name[len] = '\0';
		at = slash + 1;
		if (depth < b->depth && strcmp(b->way[depth].name, name) == 0) {
			depth++;
			continue;
		}
		while (b->depth > depth)
			folder_leave(b);
		if (make_folder(&b->way[depth - 1], name) < 0) {
			(void)no_mount_point(target, err);
			return NULL;
		}
		if (folder_enter(b, name) < 0) {
			(void)err_errno(err, errno, "'%s' in '/%s' is not a plain folder of the image", name, target);
			return NULL;
		}
		depth++;
	}
	while (b->depth > depth)
		folder_leave(b);
	*ret_name = at;
	return &b->way[depth - 1];
}

/* In the kernel: the pages of a buffer of ours would cost more than the copy. */
static bool copy_file(int from, int to, size_t size)
{
	ssize_t got = 1;

	while (size > 0 && got > 0) { /* one that has grown shorter since ends it */
		got = sendfile(to, from, NULL, size);
		size -= got > 0 ? (size_t)got : 0;
	}
	return got >= 0;
}

static int place_text(int dir, const char *name, const struct piece *piece, struct err *err)
{
	own(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return errno == EEXIST ? 0 : err_errno(err, errno, "make '/%s' in the image", piece->target);
	if (piece->text != NULL && piece->text_len > 0 && write(fd, piece->text, piece->text_len) != (ssize_t)piece->text_len)
		return err_errno(err, errno, "write '/%s'", piece->target);
	if (piece->copy >= 0 && !copy_file(piece->copy, fd, piece->text_len))
		return err_errno(err, errno, "copy '/%s'", piece->target);
	return 0;
}

static int mount_point(const struct folder *in, const char *name, const struct piece *piece, struct err *err)
{
	if (piece->is_dir || !in->ours) {
		if (make_folder(in, name) < 0)
			return no_mount_point(piece->target, err);
	} else if (place_text(in->fd, name, piece, err) < 0) {
		return -1;
	}
	int point = open_below(in->fd, name, O_PATH);
	if (point < 0)
		return err_errno(err, errno, "'/%s' cannot be mounted on", piece->target);
	return point;
}

static int attach(int tree, int point, const char *target, struct err *err)
{
	if (move_mount(tree, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_errno(err, errno, "mount on '/%s'", target);
	return 0;
}

/* An image is read-only: a file of it is covered by ours. */
static int place_cover(int dir, const char *name, const struct piece *piece, struct err *err)
{
	own(fd_closep) int layers = open(LAYERS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	own(fd_closep) int point = open_below(dir, name, O_PATH);
	struct mount_attr attr = { .attr_set = RO | MOUNT_ATTR_NOEXEC };

	if (layers < 0 || point < 0)
		return err_errno(err, errno, "cover the image's '/%s'", piece->target);
	if (place_text(layers, name, piece, err) < 0)
		return -1;
	own(fd_closep) int cover = open_tree(layers, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (cover < 0 || mount_setattr(cover, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_errno(err, errno, "cover the image's '/%s'", piece->target);
	return attach(cover, point, piece->target, err);
}

/* ---- hiding names in a mount ---- */

void root_look_as_cell(const struct builder *b)
{
	if (b->outer_uid == 0)
		return;
	(void)!setgroups(0, NULL); /* as in the cell */
	(void)setfsgid(b->outer_gid);
	(void)setfsuid(b->outer_uid);
}

void root_look_as_ourselves(const struct builder *b)
{
	if (b->outer_uid == 0)
		return;
	(void)setfsuid(0);
	(void)setfsgid(0);
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	die_with(b->maker); /* both undone by the change of user */
}

int root_open_as_either(const struct builder *b, int dir, const char *path)
{
	int fd = open_below(dir, path, O_PATH);

	if (fd >= 0 || errno != EACCES)
		return fd;
	root_look_as_cell(b);
	fd = open_below(dir, path, O_PATH);
	root_look_as_ourselves(b);
	return fd;
}

struct matches {
	char **path;
	bool *is_dir;
	size_t count;
};

static int match_add(void *data, const char *path, bool is_dir, struct err *err)
{
	struct matches *matches = data;

	if (matches->count == HIDE_MAX_MATCHES)
		return err_set(err, ERR_LIMIT, "more than %d files to hide: mount a smaller folder", HIDE_MAX_MATCHES);
	matches->path = xrealloc(matches->path, matches->count + 1, sizeof(*matches->path));
	matches->is_dir = xrealloc(matches->is_dir, matches->count + 1, sizeof(*matches->is_dir));
	matches->path[matches->count] = xstrdup(path);
	matches->is_dir[matches->count++] = is_dir;
	return 0;
}

static void matches_done(struct matches *matches)
{
	for (size_t i = 0; i < matches->count; i++)
		free(matches->path[i]);
	free(matches->path);
	free(matches->is_dir);
}

/* A layer's folder is shown in the place of the one below it: it has that one's owner and rights, none where they cannot be
 * seen. An ordinary user cannot give it to another: then it is his, with the rights that he has below. Of an access
 * list only what the owner and all others may is taken: the mode has its sum in the place of the group's. */
static int layer_folder(const struct builder *b, int tree, const char *path, const char *folder)
{
	struct stat st;

	if (mkdir(folder, 0) < 0)
		return errno == EEXIST ? 0 : -1;
	own(fd_closep) int below = root_open_as_either(b, tree, path);
	own(freep) char *below_path = xfmt("/proc/self/fd/%d", below);
	if (below < 0 || fstat(below, &st) < 0)
		return 0;
	mode_t mode = st.st_mode & 0777;
	if (getxattr(below_path, "system.posix_acl_access", NULL, 0) > 0)
		mode &= ~(mode_t)S_IRWXG;
	if (b->outer_uid != 0 && chown(folder, st.st_uid, st.st_gid) < 0)
		return -1;
	if (b->outer_uid == 0 && st.st_uid != geteuid())
		mode = (faccessat(below, "", R_OK, AT_EACCESS | AT_EMPTY_PATH) == 0 ? S_IRUSR : 0) |
			(faccessat(below, "", X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0 ? S_IXUSR : 0);
	return chmod(folder, mode);
}

/* A whiteout (device 0:0) in an upper layer makes the name vanish from the overlay. */
static int whiteout(const struct builder *b, int tree, const char *layer, const char *path, struct err *err)
{
	own(freep) char *full = xfmt("%s/%s", layer, path);
	char *below = full + strlen(layer) + 1;

	for (char *slash = below; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (layer_folder(b, tree, below, full) < 0)
			return err_errno(err, errno, "make a layer for '%s'", path);
		*slash = '/';
	}
	if (mknod(full, S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(err, errno, "hide '%s'", path);
	return 0;
}

static int hide_by_overlay(struct builder *b, struct piece *piece, int point, const struct matches *matches,
	struct err *err)
{
	own(freep) char *layer = xfmt(LAYERS "/%u", b->layer);
	own(freep) char *below = xfmt(LAYERS "/%u-below", b->layer);
	own(freep) char *options = xfmt("lowerdir=%s:%s", layer, below);

	b->layer++;
	if (layer_folder(b, piece->tree, ".", layer) < 0 || mkdir(below, 0755) < 0)
		return err_errno(err, errno, "make layers");
	for (size_t i = 0; i < matches->count; i++)
		if (whiteout(b, piece->tree, layer, matches->path[i], err) < 0)
			return -1;
	own(fd_closep) int below_fd = open(below, O_PATH | O_DIRECTORY | O_CLOEXEC);
	own(fd_closep) int copy = open_tree(piece->tree, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			AT_RECURSIVE);
	if (below_fd < 0 || copy < 0 || attach(copy, below_fd, below, err) < 0)
		return err_errno(err, errno, "place the layer below");
	own(freep) char *on = xfmt("/proc/self/fd/%d", point);
	if (mount("overlay", on, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME, options) < 0)
		return err_errno(err, errno, "mount an overlay on '/%s'", piece->target);
	b->hide = b->hide == HIDE_MASKS ? HIDE_MASKS : HIDE_OVERLAY;
	piece->overlaid = true;
	return 0;
}

/* The list without what goes by a path: what is found by its name alone is found under any path. The caller frees. */
static const char **names_alone(const char *const *hide)
{
	size_t count = 0, kept = 0;

	while (hide != NULL && hide[count] != NULL)
		count++;
	const char **names = xcalloc(count + 1, sizeof(*names));
	for (size_t i = 0; i < count; i++)
		if (strchr(hide[i], '/') == NULL)
			names[kept++] = hide[i];
	return names;
}

/* What is mounted on itself can be neither renamed nor removed. */
static int pin(int mounted, const char *path, const struct piece *piece, struct err *err)
{
	own(fd_closep) int point = open_below(mounted, path, O_PATH | O_DIRECTORY);
	own(fd_closep) int same = point < 0 ? -1 : open_tree(point, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (same < 0)
		return err_errno(err, errno, "keep '%s' in '/%s' where it is", path, piece->target);
	return attach(same, point, piece->target, err);
}

/* Where a cell can write, it could move a folder on the way to what is hidden by its path, and the next cell would not know it
 * there. Before anything is covered: a copy of a folder has nothing of what is mounted below. */
static int pin_ways(struct builder *b, int mounted, const struct piece *piece, const struct matches *matches, struct err *err)
{
	own(freep) const char **names = names_alone(b->t->hide);
	own(matches_done) struct matches pinned = { 0 };

	for (size_t i = 0; i < matches->count; i++) {
		own(freep) char *way = xstrdup(matches->path[i]);
		if (fs_is_hidden(names, NULL, way))
			continue;
		for (char *slash = way; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
			bool known = false;
			*slash = '\0';
			for (size_t k = 0; k < pinned.count && !known; k++)
				known = strcmp(pinned.path[k], way) == 0;
			if (!known && (match_add(&pinned, way, true, err) < 0 || pin(mounted, way, piece, err) < 0))
				return -1;
		}
	}
	return 0;
}

/* Without an overlay (writable mounts, old kernels) the name stays and what it names is covered by
 * something empty and unreadable. */
static int hide_by_masks(struct builder *b, const struct piece *piece, const struct matches *matches,
	struct err *err)
{
	const char *name;
	const struct folder *in = parent_of(b, piece->target, &name, err);
	own(fd_closep) int mounted = in == NULL ? -1 : open_below(in->fd, name, O_PATH | O_DIRECTORY);

	if (mounted < 0)
		return err_errno(err, errno, "open '/%s'", piece->target);
	if (piece->mount != NULL && piece->mount->writable && pin_ways(b, mounted, piece, matches, err) < 0)
		return -1;
	for (size_t i = 0; i < matches->count; i++) {
		own(fd_closep) int point = root_open_as_either(b, mounted, matches->path[i]);
		own(fd_closep) int cover = open_tree(AT_FDCWD,
			matches->is_dir[i] ? EMPTY_FOLDER : EMPTY_FILE,
			OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		struct mount_attr attr = { .attr_set = RO | MOUNT_ATTR_NOEXEC };
		if (point < 0 || cover < 0 || mount_setattr(cover, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
			return err_errno(err, errno, "hide '%s' in '/%s'", matches->path[i], piece->target);
		if (attach(cover, point, piece->target, err) < 0)
			return -1;
	}
	b->hide = HIDE_MASKS;
	return 0;
}

static int layers_make(struct builder *b, struct err *err)
{
	if (b->layers_made)
		return 0;
	b->layers_made = true;
	int fd = open(EMPTY_FILE, O_CREAT | O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0 || mkdir(EMPTY_FOLDER, 0) < 0)
		return err_errno(err, errno, "make an empty file to hide others with");
	(void)close(fd);
	return 0;
}

/* What is to be hidden in a piece: of the user's mounts what the list names; of these and of an image sockets and FIFOs,
 * whatever the list: they are ways out. *ret_closed: all of it, since it cannot be listed. */
static int find_hidden(const struct builder *b, const struct piece *piece, struct matches *ret, bool *ret_mounts, bool *ret_closed,
	struct err *err)
{
	static const char *const nothing[] = { NULL };
	bool mount = piece->mount != NULL;

	if (mount && piece->mount->space != NULL) /* it has nothing but what its cells and we put there */
		return 0;
	if (!piece->is_dir || !(mount || piece->of_image) || weakened("hidden-files"))
		return 0;
	own(fd_closep) int source = openat(piece->tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source < 0 && mount)
		return err_errno(err, errno, "read '%s'", piece->mount->source);
	if (source < 0) {
		*ret_closed = faccessat(piece->tree, "", X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
		return 0;
	}
	if (mount)
		root_look_as_cell(b);
	const struct fs_ids runtime = root_runtime(b->t);
	int found = fs_find_ids(source, piece->above, mount ? b->t->hide : nothing, &runtime, HIDE_MAX_WALK, match_add, ret, ret_mounts, NULL, err);
	if (mount)
		root_look_as_ourselves(b);
	if (found < 0 && mount)
		return err_wrap(err, "look for files to hide in '%s'", piece->mount->source);
	return found < 0 ? err_wrap(err, "look for sockets in '%s/%s'", b->t->image, piece->target) : 0;
}

static int place_mount(struct builder *b, struct piece *piece, int point, struct err *err)
{
	own(matches_done) struct matches matches = { 0 };
	bool mounts = false, closed = false;

	if (find_hidden(b, piece, &matches, &mounts, &closed, err) < 0)
		return -1;
	if (closed)
		return 0; /* an empty folder is in its place */
	if (matches.count == 0)
		return attach(piece->tree, point, piece->target, err);
	if (layers_make(b, err) < 0)
		return -1;
	struct err no_overlay;
	/* an overlay hides by path, and would not show the mounts below this one */
	if ((piece->mount == NULL || !piece->mount->writable) && !piece->rearranged && b->t->overlay && !mounts &&
		hide_by_overlay(b, piece, point, &matches, &no_overlay) == 0)
		return 0;
	if (attach(piece->tree, point, piece->target, err) < 0)
		return -1;
	return hide_by_masks(b, piece, &matches, err);
}

/* The host's own: its tree is still in place, but for STAGE. Opened without a way to use it: what it may be used for is decided by
 * the mount. */
static int device_open(const struct piece *piece, struct err *err)
{
	own(freep) char *path = xfmt("/%s", piece->target);
	own(fd_closep) int device = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (device < 0)
		return err_errno(err, errno, "open '%s'", path);
	/* what was opened must be the device itself, not something put in its place (CVE-2025-31133) */
	if (fstat(device, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != piece->device)
		return err_set(err, EINVAL, "'%s' is not the device it should be", path);
	return fd_take(&device);
}

/* Real root makes the device itself: one mount less to copy for every cell. */
static int place_device(const struct builder *b, const struct folder *in, const char *name, const struct piece *piece, struct err *err)
{
	if (b->outer_uid != 0 && mknodat(in->fd, name, S_IFCHR | 0666, piece->device) == 0)
		return 0;
	own(fd_closep) int device = device_open(piece, err);
	/* read-only, which devices can be written to all the same: the times and the mode of the host's own are no cell's to change */
	own(fd_closep) int tree = device < 0 ? -1 : tree_open(device, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	own(fd_closep) int point = tree < 0 ? -1 : mount_point(in, name, piece, err);
	return point < 0 ? -1 : attach(tree, point, piece->target, err);
}

static int place(struct builder *b, struct piece *piece, struct err *err)
{
	const char *name;
	const struct folder *in = parent_of(b, piece->target, &name, err);

	if (in == NULL)
		return -1;
	if (piece->link != NULL) {
		if (symlinkat(piece->link, in->fd, name) < 0 && errno != EEXIST)
			return err_errno(err, errno, "make the link '/%s'", piece->target);
		return 0;
	}
	if (piece->device != 0)
		return place_device(b, in, name, piece, err);
	if (piece->tree < 0)
		return piece->cover ? place_cover(in->fd, name, piece, err) : place_text(in->fd, name, piece, err);
	own(fd_closep) int point = mount_point(in, name, piece, err);
	return point < 0 ? -1 : place_mount(b, piece, point, err);
}

static int make_folders(struct err *err)
{
	static const struct {
		const char *path;
		mode_t mode;
	} folders[] = { { "dev", 0755 }, { "dev/pts", 0755 }, { "dev/shm", 0755 }, { "proc", 0555 },
		{ "tmp", 0755 }, { "run", 0755 }, { "workspace", 0755 } };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (mkdir(folders[i].path, folders[i].mode) < 0 && errno != EEXIST)
			return err_errno(err, errno, "make '/%s' in the cell's root", folders[i].path);
	return 0;
}

static int enter_root(struct err *err)
{
	/* devices are in it where root made them; nothing else is, and nothing can be added */
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOATIME | (weakened("read-only-root") ? 0 : MOUNT_ATTR_RDONLY),
		.attr_clr = MOUNT_ATTR__ATIME };
	bool leave = weakened("mount-namespace");

	if (leave)
		(void)mkdir("mnt", 0755);
	if (syscall(SYS_pivot_root, ".", leave ? "mnt" : ".") < 0)
		return err_errno(err, errno, "make the cell's root the root");
	if (leave)
		(void)umount2("mnt" STAGE, MNT_DETACH); /* ours, over a folder of the host */
	if ((!leave && umount2(".", MNT_DETACH) < 0) || chdir("/") < 0)
		return err_errno(err, errno, "let go of the host's root");
	if (mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
		return err_errno(err, errno, "make the cell's root read-only");
	return 0;
}

/* With the old root in it there is nothing to be said of the new one. */
static int look_again(const struct builder *b, int host_proc, struct err *err)
{
	own(buf_done) struct buf mountinfo = { 0 };

	if (weakened("mount-namespace"))
		return 0;
	if (fs_read_small(host_proc, "self/mountinfo", MOUNTINFO_MAX, &mountinfo, err) < 0)
		return err_wrap(err, "look at the cell's mounts");
	return root_look_again(b, buf_text(&mountinfo), err);
}

/* Once everything is in its place: a program may be in any of the pieces. */
static int forbid(struct builder *b, struct buf *ret, struct err *err)
{
	if (b->t->forbid == NULL || b->t->forbid[0] == NULL)
		return 0;
	own(fd_closep) int root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_errno(err, errno, "open the cell's root");
	return layers_make(b, err) < 0 ? -1 : forbid_programs(b, root, ret, err);
}

bool root_proc_lent(bool nested)
{
	return nested;
}

int root_build(const struct template *t, uint32_t outer_uid, uint32_t outer_gid, bool nested, int host_proc,
	enum hide_how *ret_hide, struct buf *ret_forbidden, struct err *err)
{
	own(builder_done) struct builder b = { .t = t, .outer_uid = outer_uid, .outer_gid = outer_gid, .owner_ns = -1,
		.maker = getppid() };
	struct statfs fs;

	if (fstatfs(host_proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return err_set(err, EINVAL, "/proc on this machine is not procfs");
	if (root_collect(&b, root_proc_lent(nested), err) < 0)
		return -1;
	users_mapped();
	/* one file system for both: a second one would have to be made and removed, too */
	if (mount("hotcell", STAGE, "tmpfs", MS_NOSUID, "mode=0755,size=24m") < 0 || mkdir(STAGE "/root", 0755) < 0 ||
		mkdir(STAGE "/layers", 0755) < 0 || mount(STAGE "/root", STAGE "/root", NULL, MS_BIND, NULL) < 0)
		return err_errno(err, errno, "mount the cell's root");
	if (chdir(STAGE "/root") < 0 || folder_enter(&b, ".") < 0)
		return err_errno(err, errno, "enter the cell's root");
	if (make_folders(err) < 0)
		return -1;
	mode_t mask = umask(0); /* what is made here has the mode it is made with */
	for (size_t i = 0; i < b.count; i++)
		if (place(&b, &b.pieces[i], err) < 0)
			return -1;
	(void)umask(mask);
	if (forbid(&b, ret_forbidden, err) < 0)
		return -1;
	*ret_hide = b.hide;
	return enter_root(err) < 0 ? -1 : look_again(&b, host_proc, err);
}
