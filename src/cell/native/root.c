/* A cell's file system. The yard builds what all cells of a template share, once: a small read-only
 * tmpfs as root, the image's folders bound into it read-only, devices, the user's mounts. Each cell
 * then adds what is its own: /tmp, /workspace, /dev/shm and /proc.
 *
 * Every source is opened (and thereby pinned) before anything is moved; every target is walked one
 * component at a time without following links, so that no name an attacker swaps in between leads
 * elsewhere (CVE-2021-30465). The old root is gone when we return: no path leads back to the host. */
#include "cell/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/weaken.h"

#define HIDE_MAX_WALK 2000000
#define HIDE_MAX_MATCHES 4096
#define COPY_MAX (128 * 1024)
#define COPY_TREE_MAX 4 /* entries: a folder as small is copied, since every cell pays for every mount */
#define STAGE "/tmp" /* covered in our own mount namespace only */
#define LAYERS "../layers" /* beside the new root, never in it: an image may hold any name */

/* What a host image shows of /etc: nothing with secrets, enough for ordinary programs to start. */
const char *const native_etc[] = { "ld.so.cache", "alternatives", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs",
	"pki/ca-trust", "crypto-policies", "localtime", "mime.types", "services", "protocols", "nsswitch.conf",
	"os-release", "fonts", "perl", "python3", "python3.11", "python3.12", "python3.13", "java-17-openjdk",
	"java-21-openjdk", NULL };

/* One thing to be placed in the new root. */
struct piece {
	char *target; /* relative to the new root */
	char *link; /* a symbolic link with this text, or */
	char *text; /* a small file with this content, or */
	size_t text_len;
	int copy; /* a copy of this one, as long as that, or */
	bool cover; /* over a file of that name, which the image has */
	int tree; /* a detached mount, or */
	dev_t device; /* a device to be made, where we may; else bound: `tree` is the file itself, no mount yet */
	bool is_dir;
	const struct cell_mount *mount; /* the user's, for which names may be hidden */
};

struct builder {
	const struct template *t;
	uint32_t outer_uid, outer_gid;
	struct piece *pieces;
	size_t count, cap;
	char *parent; /* the folder last placed into, kept open: neighbours come one after another */
	int parent_fd;
	enum hide_how hide;
	unsigned layer;
	bool layers_made;
};

static struct piece *piece_add(struct builder *b, const char *target)
{
	if (b->count == b->cap) {
		b->cap = b->cap == 0 ? 64 : b->cap * 2;
		b->pieces = xrealloc(b->pieces, b->cap, sizeof(*b->pieces));
	}
	struct piece *piece = &b->pieces[b->count++];
	*piece = (struct piece){ .target = xstrdup(target), .copy = -1, .tree = -1 };
	return piece;
}

/* A small file of the root's own; takes the content. */
static void piece_text(struct builder *b, const char *target, struct buf *content)
{
	struct piece *piece = piece_add(b, target);

	piece->text_len = content->len;
	piece->text = buf_take(content);
}

/* A copy of a small file; takes the descriptor. */
static void piece_copy(struct builder *b, const char *target, int *file, size_t size)
{
	struct piece *piece = piece_add(b, target);

	piece->text_len = size;
	piece->copy = fd_take(file);
}

static void piece_done(struct piece *piece)
{
	free(piece->target);
	free(piece->link);
	free(piece->text);
	fd_close(&piece->copy);
	fd_close(&piece->tree);
}

static void builder_done(struct builder *b)
{
	for (size_t i = 0; i < b->count; i++)
		piece_done(&b->pieces[i]);
	free(b->pieces);
	free(b->parent);
	fd_close(&b->parent_fd);
}

/* ---- collecting, while the host's tree is still in place ---- */

static int tree_open(int dir, const char *path, uint64_t attributes, struct err *err)
{
	own(fd_closep) int tree = open_tree(dir, path,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (weakened("mount-links") ? 0 : AT_SYMLINK_NOFOLLOW) | AT_RECURSIVE | AT_EMPTY_PATH);
	struct mount_attr attr = { .attr_set = attributes };

	if (tree < 0)
		return err_errno(err, errno, "bind '%s'", path);
	if (attributes != 0 && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return err_errno(err, errno, "restrict the mount of '%s'", path);
	return fd_take(&tree);
}

/* As all mounts of a cell are, but for those that it may write to. */
static uint64_t nothing_special(void)
{
	return (weakened("mount-nosuid") ? 0 : MOUNT_ATTR_NOSUID) | (weakened("mount-nodev") ? 0 : MOUNT_ATTR_NODEV);
}
#define RO (MOUNT_ATTR_RDONLY | nothing_special())

/* Takes one entry of the image as what it is: a link stays a link, a small file is copied, the rest
 * is bound read-only. */
static int collect_known(struct builder *b, int dir, const char *name, const char *target, const struct stat *known,
	struct err *err)
{
	struct stat st = *known;
	char link[4096];

	if (S_ISLNK(st.st_mode)) {
		ssize_t len = readlinkat(dir, name, link, sizeof(link) - 1);
		if (len < 0)
			return err_errno(err, errno, "read the link '%s'", name);
		link[len] = '\0';
		piece_add(b, target)->link = xstrdup(link);
		return 0;
	}
	if (S_ISREG(st.st_mode) && st.st_size <= COPY_MAX && strcmp(b->t->image, "host") == 0) { /* unreadable: left out */
		own(fd_closep) int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= COPY_MAX)
			piece_copy(b, target, &file, (size_t)st.st_size);
		return 0;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	int tree = tree_open(dir, name, weakened("read-only-root") ? nothing_special() : RO, err);
	if (tree < 0)
		return -1;
	struct piece *piece = piece_add(b, target);
	piece->tree = tree;
	piece->is_dir = S_ISDIR(st.st_mode);
	return 0;
}

/* A missing one is fine. */
static int collect_entry(struct builder *b, int dir, const char *name, const char *target, struct err *err)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : collect_known(b, dir, name, target, &st, err);
}

struct listing {
	_Alignas(struct dirent64) char room[1024]; /* what needs more is not small */
	size_t len;
};

/* The names in a folder, "." and ".." among them; false if they are more than a few. */
static bool list_small(int folder, struct listing *ret)
{
	ssize_t got;

	for (ret->len = 0; (got = getdents64(folder, ret->room + ret->len, sizeof(ret->room) - ret->len)) > 0;
		ret->len += (size_t)got)
		;
	return got == 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static unsigned listing_count(const struct listing *list)
{
	unsigned count = 0;

	for (size_t at = 0; at < list->len; at += ((const struct dirent64 *)(list->room + at))->d_reclen)
		count += !is_dots(((const struct dirent64 *)(list->room + at))->d_name);
	return count;
}

static bool collect_tree(struct builder *b, int dir, const char *name, const char *target, unsigned *left);

/* One of few: a folder as small, a link or a small file, if anybody may read it. */
static bool collect_small(struct builder *b, int folder, const char *name, const char *target, unsigned *left)
{
	own(freep) char *below = xfmt("%s/%s", target, name);
	struct stat st;
	struct err none;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return (st.st_mode & 0005) == 0005 && collect_tree(b, folder, name, below, left);
	return (S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0004) != 0)) && st.st_size <= COPY_MAX &&
		collect_known(b, folder, name, below, &st, &none) == 0;
}

/* Takes what is in a folder as pieces of their own, if that is little and anybody may read it. */
static bool collect_tree(struct builder *b, int dir, const char *name, const char *target, unsigned *left)
{
	own(fd_closep) int folder = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct listing list;

	if (folder < 0 || !list_small(folder, &list))
		return false;
	unsigned count = listing_count(&list);
	if (count == 0 || count > *left) /* an empty folder is no piece */
		return false;
	*left -= count;
	for (size_t at = 0; at < list.len; at += ((struct dirent64 *)(list.room + at))->d_reclen) {
		const char *entry = ((struct dirent64 *)(list.room + at))->d_name;
		if (!is_dots(entry) && !collect_small(b, folder, entry, target, left))
			return false;
	}
	return true;
}

/* An entry of /etc, bound as a whole or taken apart. */
static int collect_etc(struct builder *b, int root, const char *path, struct err *err)
{
	unsigned left = COPY_TREE_MAX;
	size_t before = b->count;
	struct stat st;

	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	/* a large one is not even listed: it is as large as it once was, on most file systems */
	if (S_ISDIR(st.st_mode) && st.st_size <= 4096 && collect_tree(b, root, path, path, &left))
		return 0;
	while (b->count > before)
		piece_done(&b->pieces[--b->count]);
	return collect_known(b, root, path, path, &st, err);
}

static int collect_host(struct builder *b, struct err *err)
{
	static const char *const top[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
	own(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LEN(top); i++)
		if (collect_entry(b, root, top[i], top[i], err) < 0)
			return -1;
	for (size_t i = 0; native_etc[i] != NULL; i++) {
		own(freep) char *path = xfmt("etc/%s", native_etc[i]);
		if (collect_etc(b, root, path, err) < 0)
			return -1;
	}
	/* without a user namespace the cell's user has its outer number inside too */
	uint32_t uid = b->t->user_ns ? b->t->uid : b->outer_uid, gid = b->t->user_ns ? b->t->gid : b->outer_gid;
	struct buf passwd = { 0 }, group = { 0 }, hosts = { 0 }, hostname = { 0 }, resolv = { 0 };
	buf_fmt(&passwd,
		"root:x:0:0:root:/:/bin/sh\ncell:x:%u:%u:cell:" CELL_WORKSPACE ":/bin/sh\n"
		"nobody:x:65534:65534:nobody:/:/bin/false\n",
		uid, gid);
	buf_fmt(&group, "root:x:0:\ncell:x:%u:\nnogroup:x:65534:\n", gid);
	hosts_of_host(b->t, &hosts);
	buf_str(&hostname, "cell\n");
	piece_text(b, "etc/passwd", &passwd);
	piece_text(b, "etc/group", &group);
	piece_text(b, "etc/hosts", &hosts);
	piece_text(b, "etc/hostname", &hostname);
	piece_text(b, "etc/resolv.conf", &resolv);
	piece_add(b, "var/tmp")->link = xstrdup("/tmp");
	piece_add(b, "var/run")->link = xstrdup("/run");
	return 0;
}

/* Places that every cell has as its own, whatever the image holds there. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = { "dev", "proc", "sys", "tmp", "run", "workspace" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

static int collect_image_hosts(struct builder *b, int image, struct err *err)
{
	own(buf_done) struct buf hosts = { 0 };

	if (hosts_of_image(b->t, image, &hosts, err) < 0)
		return -1;
	piece_text(b, "etc/hosts", &hosts);
	b->pieces[b->count - 1].cover = true;
	return 0;
}

static int collect_image(struct builder *b, struct err *err)
{
	own(fd_closep) int image = open(b->t->image, O_RDONLY | O_DIRECTORY | (weakened("mount-links") ? 0 : O_NOFOLLOW) | O_CLOEXEC);
	struct dirent *entry;
	int failed = 0;

	if (image < 0)
		return err_errno(err, errno, "open the image '%s'", b->t->image);
	DIR *dir = fdopendir(dup(image));
	if (dir == NULL)
		return err_errno(err, errno, "list the image '%s'", b->t->image);
	while (failed == 0 && (entry = readdir(dir)) != NULL) {
		const char *name = entry->d_name;
		struct stat st;
		if (is_dots(name))
			continue;
		if (!is_ours(name))
			failed = collect_entry(b, image, name, name, err);
		else if (fstatat(image, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) && !weakened("mount-links"))
			failed = err_set(err, ERR_USAGE,
				"the image '%s' has a '/%s' that is not a folder: a cell does not start on it",
				b->t->image, name);
	}
	(void)closedir(dir);
	return failed == 0 && b->t->hosts != NULL ? collect_image_hosts(b, image, err) : failed;
}

static int collect_devices(struct builder *b, struct err *err)
{
	static const struct {
		const char *path;
		unsigned minor, major;
	} devices[] = { { "dev/null", 3, 1 }, { "dev/zero", 5, 1 }, { "dev/full", 7, 1 }, { "dev/random", 8, 1 },
		{ "dev/urandom", 9, 1 }, { "dev/tty", 0, 5 } };
	own(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		struct stat st;
		own(fd_closep) int device = openat(root, devices[i].path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (device < 0)
			return err_errno(err, errno, "open '/%s'", devices[i].path);
		/* what was opened must be the device itself, not something put in its place (CVE-2025-31133) */
		if (fstat(device, &st) < 0 || !S_ISCHR(st.st_mode) ||
			st.st_rdev != makedev(devices[i].major, devices[i].minor))
			return err_set(err, EINVAL, "'/%s' is not the device it should be", devices[i].path);
		struct piece *piece = piece_add(b, devices[i].path);
		piece->tree = fd_take(&device);
		piece->device = st.st_rdev;
	}
	piece_add(b, "dev/fd")->link = xstrdup("/proc/self/fd");
	piece_add(b, "dev/stdin")->link = xstrdup("/proc/self/fd/0");
	piece_add(b, "dev/stdout")->link = xstrdup("/proc/self/fd/1");
	piece_add(b, "dev/stderr")->link = xstrdup("/proc/self/fd/2");
	piece_add(b, "dev/ptmx")->link = xstrdup("pts/ptmx");
	return 0;
}

/* The mount's owner appears as the cell's user, so that root's private files can be read (and what the
 * cell writes belongs to the owner) without any real user having rights inside. Needs real root;
 * file systems that cannot do it are bound as they are. */
static void map_owner(struct builder *b, int tree)
{
	struct stat st;
	char map[64];
	struct err err;

	if (b->outer_uid == 0 || fstat(tree, &st) < 0)
		return;
	pid_t self = getpid(), child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		die_with(self);
		for (;;)
			(void)pause();
	}
	if (child < 0)
		return;
	own(freep) char *uid_map = xfmt("/proc/%d/uid_map", (int)child);
	own(freep) char *gid_map = xfmt("/proc/%d/gid_map", (int)child);
	own(freep) char *ns_path = xfmt("/proc/%d/ns/user", (int)child);
	(void)snprintf(map, sizeof(map), "%u %u 1", (unsigned)st.st_uid, b->outer_uid);
	bool ok = fs_write_value(AT_FDCWD, uid_map, map, &err) == 0;
	(void)snprintf(map, sizeof(map), "%u %u 1", (unsigned)st.st_gid, b->outer_gid);
	ok = ok && fs_write_value(AT_FDCWD, gid_map, map, &err) == 0;
	own(fd_closep) int ns = ok ? open(ns_path, O_RDONLY | O_CLOEXEC) : -1;
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)ns };
	if (ns >= 0)
		(void)mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
}

static int collect_mount(struct builder *b, const struct cell_mount *mount, struct err *err)
{
	struct stat st;
	own(fd_closep) int tree = tree_open(AT_FDCWD, mount->source,
		nothing_special() | (mount->writable || weakened("mounts-read-only") ? 0 : MOUNT_ATTR_RDONLY) |
			(mount->writable && b->t->no_exec ? MOUNT_ATTR_NOEXEC : 0), err);

	if (tree < 0)
		return err_wrap(err, "mount on '%s'", mount->target);
	if (fstat(tree, &st) < 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return err_set(err, ERR_USAGE, "mount source '%s' is neither a folder nor a regular file",
			mount->source);
	map_owner(b, tree);
	struct piece *piece = piece_add(b, mount->target + 1);
	piece->is_dir = S_ISDIR(st.st_mode);
	piece->tree = fd_take(&tree);
	piece->mount = mount;
	return 0;
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

/* Opens the folder `target` lies in, making what is missing; *ret_name is the last component. */
static int open_parent(const char *target, const char **ret_name, struct err *err)
{
	own(fd_closep) int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *at = target, *slash;
	char name[256];

	while ((slash = strchr(at, '/')) != NULL) {
		size_t len = (size_t)(slash - at);
		if (len >= sizeof(name))
			return err_set(err, ERR_USAGE, "a name in '/%s' is longer than 255 bytes", target);
		memcpy(name, at, len);
		name[len] = '\0';
		if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
			return err_errno(err, errno, "make the folder '%s' of '/%s' in the image", name, target);
		int next = open_below(dir, name, O_PATH | O_DIRECTORY);
		if (next < 0)
			return err_errno(err, errno, "'%s' in '/%s' is not a plain folder of the image", name, target);
		fd_close(&dir);
		dir = next;
		at = slash + 1;
	}
	*ret_name = at;
	return fd_take(&dir);
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

static int mount_point(int dir, const char *name, const struct piece *piece, struct err *err)
{
	if (piece->is_dir) {
		if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
			return err_errno(err, errno,
				"the image has no '/%s' to mount on and is read-only there: choose another target",
				piece->target);
	} else if (place_text(dir, name, piece, err) < 0) {
		return -1;
	}
	int point = open_below(dir, name, O_PATH);
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

/* A whiteout (device 0:0) in an upper layer makes the name vanish from the overlay. */
static int whiteout(const char *layer, const char *path, struct err *err)
{
	own(freep) char *full = xfmt("%s/%s", layer, path);

	for (char *slash = full + strlen(layer) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			return err_errno(err, errno, "make a layer for '%s'", path);
		*slash = '/';
	}
	if (mknod(full, S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(err, errno, "hide '%s'", path);
	return 0;
}

static int hide_by_overlay(struct builder *b, const struct piece *piece, int point, const struct matches *matches,
	struct err *err)
{
	own(freep) char *layer = xfmt(LAYERS "/%u", b->layer);
	own(freep) char *below = xfmt(LAYERS "/%u-below", b->layer);
	own(freep) char *options = xfmt("lowerdir=%s:%s", layer, below);

	b->layer++;
	if (mkdir(layer, 0755) < 0 || mkdir(below, 0755) < 0)
		return err_errno(err, errno, "make layers");
	for (size_t i = 0; i < matches->count; i++)
		if (whiteout(layer, matches->path[i], err) < 0)
			return -1;
	own(fd_closep) int below_fd = open(below, O_PATH | O_DIRECTORY | O_CLOEXEC);
	own(fd_closep) int copy = open_tree(piece->tree, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			AT_RECURSIVE);
	if (below_fd < 0 || copy < 0 || attach(copy, below_fd, below, err) < 0)
		return err_errno(err, errno, "place the layer below");
	own(freep) char *on = xfmt("/proc/self/fd/%d", point);
	if (mount("overlay", on, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options) < 0)
		return err_errno(err, errno, "mount an overlay on '/%s'", piece->target);
	b->hide = b->hide == HIDE_MASKS ? HIDE_MASKS : HIDE_OVERLAY;
	return 0;
}

/* Without an overlay (writable mounts, old kernels) the name stays and what it names is covered by
 * something empty and unreadable. */
static int hide_by_masks(struct builder *b, const struct piece *piece, const struct matches *matches,
	struct err *err)
{
	const char *name;
	own(fd_closep) int parent = open_parent(piece->target, &name, err);
	own(fd_closep) int mounted = parent < 0 ? -1 : open_below(parent, name, O_PATH | O_DIRECTORY);

	if (mounted < 0)
		return err_errno(err, errno, "open '/%s'", piece->target);
	for (size_t i = 0; i < matches->count; i++) {
		own(fd_closep) int point = open_below(mounted, matches->path[i], O_PATH);
		own(fd_closep) int cover = open_tree(AT_FDCWD,
			matches->is_dir[i] ? LAYERS "/empty-folder" : LAYERS "/empty-file",
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
	int fd = open(LAYERS "/empty-file", O_CREAT | O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0 || mkdir(LAYERS "/empty-folder", 0) < 0)
		return err_errno(err, errno, "make an empty file to hide others with");
	(void)close(fd);
	return 0;
}

static int place_mount(struct builder *b, const struct piece *piece, int point, struct err *err)
{
	own(matches_done) struct matches matches = { 0 };
	bool mounts = false;

	if (piece->mount != NULL && piece->is_dir && !weakened("hidden-files")) { /* sockets are hidden whatever the list: they are ways out */
		own(fd_closep) int source = openat(piece->tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (source < 0)
			return err_errno(err, errno, "read '%s'", piece->mount->source);
		if (fs_find(source, b->t->hide, HIDE_MAX_WALK, match_add, &matches, &mounts, err) < 0)
			return err_wrap(err, "look for files to hide in '%s'", piece->mount->source);
	}
	if (matches.count == 0)
		return attach(piece->tree, point, piece->target, err);
	if (layers_make(b, err) < 0)
		return -1;
	struct err no_overlay;
	/* an overlay would not show the mounts below this one */
	if (!piece->mount->writable && b->t->overlay && !mounts &&
		hide_by_overlay(b, piece, point, &matches, &no_overlay) == 0)
		return 0;
	if (attach(piece->tree, point, piece->target, err) < 0)
		return -1;
	return hide_by_masks(b, piece, &matches, err);
}

/* The open parent of `target`; the builder's, not to be closed. */
static int parent_of(struct builder *b, const char *target, const char **ret_name, struct err *err)
{
	const char *slash = strrchr(target, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - target);

	*ret_name = slash == NULL ? target : slash + 1;
	if (b->parent != NULL && strlen(b->parent) == len && strncmp(b->parent, target, len) == 0)
		return b->parent_fd;
	fd_close(&b->parent_fd);
	free(b->parent);
	b->parent = strndup(target, len);
	b->parent_fd = open_parent(target, ret_name, err);
	return b->parent_fd;
}

/* Real root makes the device itself: one mount less to copy for every cell. */
static int place_device(const struct builder *b, int dir, const char *name, const struct piece *piece, struct err *err)
{
	if (b->outer_uid != 0 && mknodat(dir, name, S_IFCHR | 0666, piece->device) == 0)
		return 0;
	/* not bound before it has to be: letting go of a mount that was never used waits for all CPUs (0.1 ms) */
	own(fd_closep) int tree = tree_open(piece->tree, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	own(fd_closep) int point = tree < 0 ? -1 : mount_point(dir, name, piece, err);
	return point < 0 ? -1 : attach(tree, point, piece->target, err);
}

static int place(struct builder *b, const struct piece *piece, struct err *err)
{
	const char *name;
	int dir = parent_of(b, piece->target, &name, err);

	if (dir < 0)
		return -1;
	if (piece->link != NULL) {
		if (symlinkat(piece->link, dir, name) < 0 && errno != EEXIST)
			return err_errno(err, errno, "make the link '/%s'", piece->target);
		return 0;
	}
	if (piece->tree < 0)
		return piece->cover ? place_cover(dir, name, piece, err) : place_text(dir, name, piece, err);
	if (piece->device != 0)
		return place_device(b, dir, name, piece, err);
	own(fd_closep) int point = mount_point(dir, name, piece, err);
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
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | (weakened("read-only-root") ? 0 : MOUNT_ATTR_RDONLY) };
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

static int collect(struct builder *b, bool need_visible_proc, struct err *err)
{
	const struct template *t = b->t;

	if ((strcmp(t->image, "host") == 0 ? collect_host(b, err) : collect_image(b, err)) < 0 ||
		collect_devices(b, err) < 0)
		return -1;
	for (size_t i = 0; i < t->mount_count; i++)
		if (collect_mount(b, &t->mounts[i], err) < 0)
			return -1;
	if (weakened("private-tmp")) {
		int tree = tree_open(AT_FDCWD, "/tmp", 0, err);
		struct piece *piece = piece_add(b, "tmp");
		piece->tree = tree;
		piece->is_dir = true;
	}
	if (need_visible_proc || weakened("private-proc")) {
		struct err none;
		int tree = tree_open(AT_FDCWD, "/proc", 0, &none);
		if (tree >= 0) {
			struct piece *piece = piece_add(b, "proc");
			piece->tree = tree;
			piece->is_dir = true;
		}
	}
	return 0;
}

/* Once everything is in its place: a program may be in any of the pieces. */
static int forbid(struct builder *b, struct err *err)
{
	own(fd_closep) int root = -1;
	size_t count;

	if (b->t->forbid == NULL || b->t->forbid[0] == NULL)
		return 0;
	if (layers_make(b, err) < 0)
		return -1;
	root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_errno(err, errno, "open the cell's root");
	return forbid_programs(b->t->forbid, root, LAYERS "/empty-file", &count, err);
}

/* A user namespace may mount proc only where one is in full view: until each cell has its own. */
static bool is_proc_lent(uint32_t outer_uid)
{
	return outer_uid == 0;
}

int root_build(const struct template *t, uint32_t outer_uid, uint32_t outer_gid, int host_proc,
	enum hide_how *ret_hide, struct err *err)
{
	own(builder_done) struct builder b = { .t = t, .outer_uid = outer_uid, .outer_gid = outer_gid, .parent_fd = -1 };
	struct statfs fs;

	if (fstatfs(host_proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return err_set(err, EINVAL, "/proc on this machine is not procfs");
	if (collect(&b, is_proc_lent(outer_uid), err) < 0)
		return -1;
	if (mount("stage", STAGE, "tmpfs", MS_NOSUID, "mode=0755,size=16m") < 0 || mkdir(STAGE "/root", 0755) < 0 ||
		mkdir(STAGE "/layers", 0755) < 0 ||
		mount("hotcell", STAGE "/root", "tmpfs", MS_NOSUID, "mode=0755,size=8m") < 0)
		return err_errno(err, errno, "mount the cell's root");
	if (chdir(STAGE "/root") < 0)
		return err_errno(err, errno, "enter the cell's root");
	if (make_folders(err) < 0)
		return -1;
	mode_t mask = umask(0); /* what is made here has the mode it is made with */
	for (size_t i = 0; i < b.count; i++)
		if (place(&b, &b.pieces[i], err) < 0)
			return -1;
	(void)umask(mask);
	if (forbid(&b, err) < 0)
		return -1;
	*ret_hide = b.hide;
	return enter_root(err);
}

/* ---- each cell's own ---- */

const char *const root_scratch_paths[SCRATCH_COUNT] = { "/tmp", "/dev/shm", CELL_WORKSPACE };

int root_scratch(const struct birth *birth, enum scratch which, struct err *err)
{
	const struct template *t = birth->t;
	const struct {
		uint64_t size;
		const char *mode;
		unsigned long flags;
	} places[SCRATCH_COUNT] = {
		[SCRATCH_TMP] = { t->tmp, "1777", t->tmp_exec || weakened("tmp-noexec") ? 0 : MS_NOEXEC },
		[SCRATCH_SHM] = { t->shm, "1777", MS_NOEXEC },
		[SCRATCH_WORKSPACE] = { t->disk, "0755", t->no_exec ? MS_NOEXEC : 0 },
	};
	uint64_t size = places[which].size, inodes = size / 4096 + 64;
	char options[160];

	if (which == SCRATCH_TMP && weakened("private-tmp"))
		return 0;
	(void)snprintf(options, sizeof(options), "mode=%s,size=%llu,nr_inodes=%llu,uid=%u,gid=%u",
		places[which].mode, (unsigned long long)size,
		(unsigned long long)(inodes > 262144 ? 262144 : inodes), birth->outer_uid, birth->outer_gid);
	/* noatime: whoever only looks into it leaves no trace, the collector of output included */
	if (mount("hotcell", root_scratch_paths[which], "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME | places[which].flags,
		    options) < 0)
		return err_errno(err, errno, "mount the cell's own %s", root_scratch_paths[which]);
	return 0;
}

static const char *const told_by_proc[] = { "/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/key-users",
	"/proc/timer_list", "/proc/sysrq-trigger" };

/* Which of those anybody may read here; root's alone need no cover, the cell's user being nobody. */
uint32_t root_covers(int host_proc)
{
	uint32_t covers = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(told_by_proc); i++)
		if (fstatat(host_proc, told_by_proc[i] + strlen("/proc/"), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			(st.st_mode & S_IROTH) != 0)
			covers |= 1u << i;
	return covers;
}

/* Read-only as a whole, so that nothing below /proc/sys can be written; and what tells of the host's
 * kernel is covered. */
static int mount_proc(uint32_t covers, bool lent, struct err *err)
{
	own(fd_closep) int fs = fsopen("proc", FSOPEN_CLOEXEC);
	own(fd_closep) int mounted = fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
		? -1
		: fsmount(fs, FSMOUNT_CLOEXEC, (weakened("proc-read-only") ? nothing_special() : RO) | MOUNT_ATTR_NOEXEC);

	int cause = errno;
	if (lent)
		(void)umount2("/proc", MNT_DETACH); /* the host's, for visibility */
	if (mounted < 0)
		return err_errno(err, cause, "mount the cell's own /proc");
	if (move_mount(mounted, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_errno(err, errno, "place the cell's own /proc");
	for (size_t i = 0; i < ARRAY_LEN(told_by_proc); i++)
		if ((covers & 1u << i) != 0 && !weakened("proc-covers") && mount("/dev/null", told_by_proc[i], NULL, MS_BIND, NULL) < 0 &&
			errno != ENOENT)
			return err_errno(err, errno, "cover %s", told_by_proc[i]);
	return 0;
}

int root_private(const struct birth *birth, bool *ret_proc, struct err *err)
{
	const struct template *t = birth->t;
	struct err no_proc;

	for (enum scratch which = 0; which < SCRATCH_COUNT; which++)
		if ((birth->scratch & 1u << which) == 0 && root_scratch(birth, which, err) < 0)
			return -1;
	if (t->tty && mount("hotcell", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			      "newinstance,ptmxmode=0666,mode=0620") < 0)
		return err_errno(err, errno, "mount the cell's own terminals");
	/* A host whose /proc is itself masked (a container) lets nobody mount a new one: then there is
	 * none, which shows nothing of the host, and the receipt says so. */
	*ret_proc = weakened("private-proc") || mount_proc(birth->covers, is_proc_lent(birth->outer_uid), &no_proc) == 0;
	if (!*ret_proc && no_proc.code != EPERM) {
		*err = no_proc;
		return -1;
	}
	return 0;
}

/* Scratch space is new: what is on the way is a folder that we made. */
static int folders_make(const char *path, size_t top, const struct birth *birth, struct err *err)
{
	own(freep) char *copy = xstrdup(path);

	for (size_t at = top + 1; at <= strlen(path); at++) {
		if (copy[at] != '/' && copy[at] != '\0')
			continue;
		copy[at] = '\0';
		if (mkdir(copy, 0755) == 0 ? lchown(copy, birth->outer_uid, birth->outer_gid) < 0 : errno != EEXIST)
			return err_errno(err, errno, "make the folder '%s' of the profile", copy);
		copy[at] = path[at];
	}
	return 0;
}

int root_paths(const struct birth *birth, struct err *err)
{
	for (size_t i = 0; i < birth->t->path_count; i++)
		for (enum scratch which = 0; which < SCRATCH_COUNT; which++) {
			const char *path = birth->t->paths[i].path;
			size_t top = strlen(root_scratch_paths[which]);
			if (strncmp(path, root_scratch_paths[which], top) == 0 && path[top] == '/' &&
				folders_make(path, top, birth, err) < 0)
				return -1;
		}
	return 0;
}
