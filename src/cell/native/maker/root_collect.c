/* Of a cell's root: what is to be placed in it, taken from the host or an image while the host's tree is still in place. */
#include "cell/native/maker/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/weaken.h"

#define COPY_MAX (128 * 1024)
#define COPY_TREE_MAX 4 /* entries: a folder as small is copied, since every cell pays for every mount */

/* What a host image shows of /etc: nothing with secrets, enough for ordinary programs to start. */
const char *const native_etc[] = { "ld.so.cache", "alternatives", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs",
	"pki/ca-trust", "crypto-policies", "localtime", "mime.types", "services", "protocols", "nsswitch.conf",
	"os-release", "fonts", "perl", "python3", "python3.11", "python3.12", "python3.13", "java-17-openjdk",
	"java-21-openjdk", NULL };

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

void piece_done(struct piece *piece)
{
	free(piece->target);
	free(piece->link);
	free(piece->text);
	free(piece->above);
	fd_close(&piece->copy);
	fd_close(&piece->tree);
}

/* ---- what is placed ---- */

/* Through a mount that is read-only no time of reading is ever written, but without noatime each read works it out: a fifteenth of a
 * small one. Of a mount of another user's namespace this cannot be changed. */
static int restrict_tree(int tree, uint64_t attributes)
{
	static bool atime_locked;
	struct mount_attr attr = { .attr_set = attributes | MOUNT_ATTR_NOATIME, .attr_clr = MOUNT_ATTR__ATIME };

	if ((attributes & MOUNT_ATTR_RDONLY) != 0 && !atime_locked) {
		if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) == 0)
			return 0;
		atime_locked = true;
	}
	attr = (struct mount_attr){ .attr_set = attributes };
	return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
}

int tree_open(int dir, const char *path, uint64_t attributes, struct err *err)
{
	own(fd_closep) int tree = open_tree(dir, path,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (weakened("mount-links") ? 0 : AT_SYMLINK_NOFOLLOW) | AT_RECURSIVE | AT_EMPTY_PATH);

	if (tree < 0)
		return err_errno(err, errno, "bind '%s'", path);
	if (attributes != 0 && restrict_tree(tree, attributes) < 0)
		return err_errno(err, errno, "restrict the mount of '%s'", path);
	return fd_take(&tree);
}

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
	const struct fs_ids runtime = root_runtime(b->t);
	if ((!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) || fs_ids_have(&runtime, st.st_dev, st.st_ino))
		return 0;
	int tree = tree_open(dir, name, weakened("read-only-root") ? root_nothing_special() : RO, err);
	if (tree < 0)
		return -1;
	struct piece *piece = piece_add(b, target);
	piece->tree = tree;
	piece->is_dir = S_ISDIR(st.st_mode);
	piece->of_image = strcmp(b->t->image, "host") != 0;
	piece->writable = weakened("read-only-root");
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
	struct stat now;
	int failed = 0;

	if (image < 0 || fstat(image, &now) < 0)
		return err_errno(err, errno, "open the image '%s'", b->t->image);
	if (!weakened("mount-links") && cell_image_compare(b->t->image, b->t->image_id, &now, err) < 0)
		return -1;
	if (root_refuse_runtime(b->t, image, b->t->image, err) < 0)
		return -1;
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

static void collect_devices(struct builder *b)
{
	static const struct {
		const char *path;
		unsigned minor, major;
	} devices[] = { { "dev/null", 3, 1 }, { "dev/zero", 5, 1 }, { "dev/full", 7, 1 }, { "dev/random", 8, 1 },
		{ "dev/urandom", 9, 1 }, { "dev/tty", 0, 5 } };

	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		piece_add(b, devices[i].path)->device = makedev(devices[i].major, devices[i].minor);
	piece_add(b, "dev/fd")->link = xstrdup("/proc/self/fd");
	piece_add(b, "dev/stdin")->link = xstrdup("/proc/self/fd/0");
	piece_add(b, "dev/stdout")->link = xstrdup("/proc/self/fd/1");
	piece_add(b, "dev/stderr")->link = xstrdup("/proc/self/fd/2");
	piece_add(b, "dev/ptmx")->link = xstrdup("pts/ptmx");
}

/* A user namespace that turns this owner into the cell's; -1: none. */
static int owner_space(const struct builder *b, uid_t uid, gid_t gid)
{
	own(fd_closep) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err none;

	return users_space(proc, uid, gid, b->outer_uid, b->outer_gid, &none);
}

bool root_is_public(const struct stat *st, bool writable)
{
	return S_ISREG(st->st_mode) && !writable && ((st->st_mode >> 6) & ~st->st_mode & 05) == 0;
}

/* The mount's owner appears as the cell's user, so that root's private files can be read (and what the
 * cell writes belongs to the owner) without any real user having rights inside. Needs real root;
 * file systems that cannot do it are bound as they are. */
static void map_owner(struct builder *b, int tree)
{
	struct stat st;

	if (b->outer_uid == 0 || fstat(tree, &st) < 0)
		return;
	if (b->owner_ns < 0 || b->owner_uid != st.st_uid || b->owner_gid != st.st_gid) {
		fd_close(&b->owner_ns);
		b->owner_ns = owner_space(b, st.st_uid, st.st_gid);
		b->owner_uid = st.st_uid;
		b->owner_gid = st.st_gid;
	}
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)b->owner_ns };
	if (b->owner_ns >= 0)
		(void)mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
}

static int collect_mount(struct builder *b, const struct cell_mount *mount, struct err *err)
{
	bool writable = mount->writable || weakened("mounts-read-only");
	struct stat st;
	uint64_t attributes = (writable ? root_nothing_special() : RO) | (mount->writable && b->t->no_exec ? MOUNT_ATTR_NOEXEC : 0);
	own(fd_closep) int tree = mount->space != NULL ? space_tree(mount->space, mount->source, attributes, err)
						       : tree_open(AT_FDCWD, mount->source, attributes, err);

	if (tree < 0)
		return err_wrap(err, "mount on '%s'", mount->target);
	if (fstat(tree, &st) < 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return err_set(err, ERR_USAGE, "mount source '%s' is neither a folder nor a regular file",
			mount->source);
	/* fstat asks the file system, and not the mount: the numbers are those of what was checked, or it is something else */
	if (mount->inode != 0 && !weakened("mount-links") && (st.st_ino != mount->inode || st.st_dev != mount->device))
		return cell_mount_replaced(mount, err);
	if (root_refuse_runtime(b->t, tree, mount->source, err) < 0)
		return -1;
	/* a link in it leads to whatever a process of the host has open, past every mount */
	if (fs_is_proc(tree) && !weakened("mount-namespace"))
		return err_set(err, ERR_USAGE,
			"mount source '%s' is of the kernel's list of this machine's processes, which no cell is shown: a cell has a /proc of its own",
			mount->source);
	/* no rules for folders were made: it was a file when the cell was asked for */
	if (S_ISDIR(st.st_mode) && b->t->landlock && !b->t->rule_files)
		return err_set(err, ERR_USAGE, "mount source '%s' has become a folder: try again", mount->source);
	if (!root_is_public(&st, mount->writable))
		map_owner(b, tree);
	struct piece *piece = piece_add(b, mount->target + 1);
	piece->is_dir = S_ISDIR(st.st_mode);
	piece->tree = fd_take(&tree);
	piece->mount = mount;
	piece->above = realpath(mount->source, NULL); /* now: where it lies may be covered when names are looked for */
	piece->writable = writable;
	return 0;
}

/* Whether going up from one folder leads to the other. */
static bool lies_in(int folder, const struct stat *other)
{
	own(fd_closep) int at = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	struct stat st, last = { 0 };

	while (at >= 0 && fstat(at, &st) == 0) {
		if (st.st_dev == other->st_dev && st.st_ino == other->st_ino)
			return true;
		if (st.st_dev == last.st_dev && st.st_ino == last.st_ino)
			return false; /* the top */
		last = st;
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = up;
	}
	return true; /* who knows */
}

/* Whether two folders show the same files: one lies in the other, or they are of two mounts of one file system, of which
 * nobody can say. */
static bool overlap(int a, int b)
{
	struct stat a_st, b_st;
	struct statx a_mount, b_mount;

	if (fstat(a, &a_st) < 0 || fstat(b, &b_st) < 0 || statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &a_mount) < 0 ||
		statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &b_mount) < 0)
		return true;
	if (a_st.st_dev == b_st.st_dev && a_mount.stx_mnt_id != b_mount.stx_mnt_id)
		return true;
	return lies_in(a, &b_st) || lies_in(b, &a_st);
}

/* Whether the way from one folder to another leads through a name that is hidden: what is moved about there is not seen from the
 * first one in any case, since nothing can be moved out of a mount. */
static bool is_hidden_below(int folder, int other, const char *const *hide)
{
	char from[PATH_MAX], to[PATH_MAX], path[40];
	ssize_t from_len, to_len;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	from_len = readlink(path, from, sizeof(from));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", other);
	to_len = readlink(path, to, sizeof(to) - 1);
	if (from_len <= 1 || to_len <= from_len + 1 || memcmp(from, to, (size_t)from_len) != 0 || to[from_len] != '/')
		return false;
	to[from_len] = to[to_len] = '\0';
	return fs_is_hidden(hide, to, to + from_len + 1);
}

/* The folder that is at a mount's source by its name; -1 with errno, ESTALE if it is not what was checked. */
static int source_open(const struct cell_mount *mount)
{
	own(fd_closep) int fd = open(mount->source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || mount->inode == 0)
		return fd_take(&fd);
	if (fstat(fd, &st) == 0 && st.st_ino == mount->inode && st.st_dev == mount->device)
		return fd_take(&fd);
	errno = ESTALE;
	return -1;
}

bool root_is_rearranged(const struct cell_mount *source, const struct cell_mount *mounts, size_t count, const char *const *hide)
{
	own(fd_closep) int folder = -1;

	for (size_t i = 0; i < count; i++) {
		if (!mounts[i].writable || mounts[i].space != NULL) /* nothing of the host's is in a space */
			continue;
		own(fd_closep) int other = source_open(&mounts[i]);
		if (other < 0 && errno == ENOTDIR)
			continue; /* a file alone cannot be moved */
		if (folder < 0)
			folder = source_open(source);
		if (folder < 0 || other < 0 || (overlap(folder, other) && !is_hidden_below(folder, other, hide)))
			return true;
	}
	return false;
}

/* What can be moved by one mount comes back through another, if that hides it by its path. */
static void find_rearranged(struct builder *b)
{
	for (size_t i = 0; i < b->count; i++) {
		struct piece *piece = &b->pieces[i];
		if (!piece->is_dir || (piece->mount == NULL && !piece->of_image) || (piece->mount != NULL && piece->mount->space != NULL))
			continue;
		own(freep) char *part = piece->mount != NULL ? NULL : xfmt("%s/%s", b->t->image, piece->target);
		const struct cell_mount of_image = { .source = part };
		piece->rearranged = root_is_rearranged(piece->mount != NULL ? piece->mount : &of_image, b->t->mounts, b->t->mount_count,
			piece->mount != NULL ? b->t->hide : (const char *const[]){ NULL });
	}
}

static int collect_boot_id(struct builder *b, struct err *err)
{
	struct buf text = { 0 };
	uint32_t random[4];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_errno(err, errno, "make an id of the boot for the cells");
	buf_fmt(&text, "%08x-%04x-4%03x-%04x-%04x%08x\n", random[0], random[1] >> 16, random[1] & 0xfff, (random[2] >> 16 & 0x3fff) | 0x8000,
		random[2] & 0xffff, random[3]);
	piece_text(b, ROOT_BOOT_ID, &text);
	return 0;
}

/* A folder of the host's in a place that is the cell's own. */
static int collect_lent(struct builder *b, const char *name, bool writable, struct err *err)
{
	own(freep) char *path = xfmt("/%s", name);
	int tree = tree_open(AT_FDCWD, path, writable ? 0 : RO, err);

	if (tree < 0)
		return -1;
	struct piece *piece = piece_add(b, name);
	piece->tree = tree;
	piece->is_dir = true;
	piece->writable = writable;
	return 0;
}

int root_collect(struct builder *b, bool need_visible_proc, struct err *err)
{
	const struct template *t = b->t;

	if ((strcmp(t->image, "host") == 0 ? collect_host(b, err) : collect_image(b, err)) < 0)
		return -1;
	collect_devices(b);
	if (collect_boot_id(b, err) < 0)
		return -1;
	for (size_t i = 0; i < t->mount_count; i++)
		if (collect_mount(b, &t->mounts[i], err) < 0)
			return -1;
	find_rearranged(b);
	if (weakened("private-tmp") && collect_lent(b, "tmp", true, err) < 0)
		return -1;
	struct err none;
	if (need_visible_proc || weakened("private-proc"))
		(void)!collect_lent(b, "proc", weakened("private-proc"), &none);
	return 0;
}
