/* Copies a tree that somebody hostile made, and that may still change under us.
 *
 * Every entry is looked at before it is opened, so that no FIFO or device is; the open names one
 * component, follows nothing and does not block; and what was opened is looked at again, because
 * the name may have been given to something else in between. */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs_walk.h"
#include "base/utf8.h"
#include "base/weaken.h"

#define CHUNK ((size_t)256 * 1024)

struct copy {
	const struct fs_caps *caps;
	struct fs_copy_report *report;
	struct err *err;
	struct fs_walk walk;
	struct buf name; /* of the entry at the destination */
	char *chunk; /* NULL until there is something to copy */
	uint64_t length; /* of all files so far, with their holes */
	bool stop; /* a cap ends the copy */
};

enum copied {
	COPIED_ALL,
	COPIED_FAILED = -1, /* the destination: err is set */
	COPIED_UNREADABLE = -2, /* the source */
	COPIED_OVER = -3, /* more data than the cap leaves */
};

static void copy_skip(struct copy *copy, const char *reason)
{
	struct fs_copy_report *report = copy->report;

	if (report->skipped_count < FS_SKIPPED_KEPT)
		report->skipped[report->skipped_count] = (struct fs_skipped){
			.name = xstrdup(buf_text(&copy->walk.path)),
			.reason = reason,
		};
	report->skipped_count++;
	if (report->skipped_count > copy->caps->entries) { /* skipping costs time too */
		report->cap = report->capped ? report->cap : "entries";
		report->capped = copy->stop = true;
	}
}

static void copy_cap(struct copy *copy, const char *cap, const char *reason)
{
	copy->report->cap = copy->report->capped ? copy->report->cap : cap;
	copy->report->capped = true;
	copy_skip(copy, reason);
}

/* A failure at the destination: true when only this name is at fault and was skipped. */
static bool copy_skip_name(struct copy *copy, int code)
{
	if (code == EEXIST)
		copy_skip(copy, "exists");
	else if (code == ENAMETOOLONG)
		copy_skip(copy, "name too long");
	else if (code == EINVAL || code == EILSEQ)
		copy_skip(copy, "name not possible here");
	else
		return false;
	return true;
}

/* Fills copy->name; control characters and what is not UTF-8 become %NN. */
static bool copy_rename(struct copy *copy, const char *name)
{
	bool changed = false;
	size_t len = strlen(name);

	copy->name.len = 0;
	for (size_t i = 0; i < len;) {
		int size = utf8_char(name + i, len - i);
		size_t read = size > 0 ? (size_t)size : 1;
		if ((size > 0 && !utf8_is_control(name + i, size)) || weakened("collect-names")) {
			buf_add(&copy->name, name + i, read);
		} else {
			for (size_t k = 0; k < read; k++)
				buf_fmt(&copy->name, "%%%02X", (unsigned char)name[i + k]);
			changed = true;
		}
		i += read;
	}
	return changed;
}

/* Somebody else's at the destination, whether or not it is there already. */
static bool copy_is_reserved(struct copy *copy, const char *name)
{
	if (copy->walk.depth > 1 || !copy->caps->reserved)
		return false;
	(void)copy_rename(copy, name);
	for (const char *const *reserved = copy->caps->reserved; *reserved; reserved++)
		if (strcmp(name, *reserved) == 0 || strcmp(buf_text(&copy->name), *reserved) == 0)
			return true;
	return false;
}

static int copy_fail(struct copy *copy, int code, const char *doing)
{
	return err_errno(copy->err, code, "%s '%s'", doing, buf_text(&copy->name));
}

/* The first `len` bytes of the chunk. */
static int copy_write(struct copy *copy, int to, size_t len, off_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t put = pwrite(to, copy->chunk + done, len - done, at + (off_t)done);
		if (put < 0 && errno != EINTR)
			return copy_fail(copy, errno, "write");
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

/* One run of data. Returns how far it came: less than `end` when the file shrank meanwhile; or
 * one of enum copied. */
static off_t copy_range(struct copy *copy, int from, int to, off_t at, off_t end, uint64_t *bytes)
{
	while (at < end) {
		size_t want = (uint64_t)(end - at) < CHUNK ? (size_t)(end - at) : CHUNK;
		if (!copy->chunk)
			copy->chunk = xcalloc(1, CHUNK);
		ssize_t got = pread(from, copy->chunk, want, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return COPIED_UNREADABLE;
		if (got == 0)
			break;
		if ((uint64_t)got > copy->caps->bytes - copy->report->bytes - *bytes)
			return COPIED_OVER;
		if (copy_write(copy, to, (size_t)got, at) < 0)
			return COPIED_FAILED;
		at += got;
		*bytes += (uint64_t)got;
	}
	return at;
}

/* Gives the copy its length where the source ends in a hole; never more than the source has now. */
static enum copied copy_length(struct copy *copy, int from, int to, off_t size)
{
	struct stat now;

	if (fstat(from, &now) < 0)
		return COPIED_UNREADABLE;
	if (ftruncate(to, now.st_size < size ? now.st_size : size) < 0)
		return copy_fail(copy, errno, "set the length of");
	return COPIED_ALL;
}

/* Data up to the length the file had when we looked; growth since is not ours to follow. */
static enum copied copy_data(struct copy *copy, int from, int to, off_t size, uint64_t *bytes)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
		if (data < 0 && errno == ENXIO) /* only a hole is left */
			return copy_length(copy, from, to, size);
		if (data < 0 || hole < 0) { /* a file system without holes */
			data = at;
			hole = size;
		}
		if (data >= size)
			return copy_length(copy, from, to, size);
		off_t end = hole < size ? hole : size;
		at = copy_range(copy, from, to, data, end, bytes);
		if (at < 0)
			return (enum copied)at;
		if (at < end)
			return COPIED_ALL; /* it shrank */
	}
	return COPIED_ALL;
}

/* The opened source into a new file. A part of a file is never left: it would look whole. */
static int copy_file_to(struct copy *copy, int from, const struct stat *st, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int folder = fs_walk_top(&copy->walk)->to;
	bool renamed = copy_rename(copy, name);
	uint64_t bytes = 0;
	mode_t mode = weakened("collect-kinds") ? st->st_mode & 07777 : st->st_mode & S_IXUSR ? 0755 : 0644;
	mode |= !copy->caps->anybody ? 0 : mode & 0100 ? 0777 : 0666;
	own(fd_closep) int to = openat(folder, buf_text(&copy->name), flags, mode);

	if (to < 0)
		return copy_skip_name(copy, errno) ? 0 : copy_fail(copy, errno, "create");
	enum copied copied = copy_data(copy, from, to, st->st_size, &bytes);
	if (copied == COPIED_ALL) {
		copy->report->files++;
		copy->report->bytes += bytes;
		copy->length += (uint64_t)st->st_size;
		copy->report->renamed_count += renamed;
		return 0;
	}
	(void)unlinkat(folder, buf_text(&copy->name), 0);
	if (copied == COPIED_FAILED)
		return -1;
	if (copied == COPIED_UNREADABLE) {
		copy_skip(copy, "not readable");
	} else {
		copy_cap(copy, "bytes", "too large");
		copy->stop = true; /* it was written for nothing; that shall not happen often */
	}
	return 0;
}

/* Data the file holds, as far as its file system tells. */
static uint64_t data_size(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	uint64_t stored = (uint64_t)st->st_blocks * 512;

	return stored < size ? stored : size;
}

static bool same_entry(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
		(a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

static const char *open_reason(int code)
{
	switch (code) {
	case EXDEV: return "mount";
	case ENOENT:
	case ENOTDIR:
	case ELOOP: return "changed meanwhile";
	case EMFILE:
	case ENFILE: return "too many open files";
	default: return "not readable";
	}
}

/* Opens what was looked at, or skips it and returns -1. */
static int copy_open(struct copy *copy, const char *name, int flags, mode_t need, struct stat *st)
{
	struct stat opened;
	own(fd_closep) int fd = fs_open_unlocked(fs_walk_fd(&copy->walk), name, flags, need);

	if (fd < 0) {
		copy_skip(copy, open_reason(errno));
		return -1;
	}
	if (fstat(fd, &opened) < 0 || !same_entry(st, &opened)) {
		copy_skip(copy, "changed meanwhile");
		return -1;
	}
	*st = opened;
	return fd_take(&fd);
}

/* Whoever reads what was taken back reads the holes too: the lengths are bounded in sum, as the data is. */
static bool is_too_long(const struct copy *copy, const struct stat *st)
{
	return !weakened("collect-sparse") && (uint64_t)st->st_size > copy->caps->bytes - copy->length;
}

static int copy_file(struct copy *copy, const char *name, struct stat *st)
{
	if (data_size(st) > copy->caps->bytes - copy->report->bytes) {
		copy_cap(copy, "bytes", "too large");
		return 0;
	}
	if (is_too_long(copy, st)) {
		copy_cap(copy, "bytes", "sparse");
		return 0;
	}
	own(fd_closep) int from = copy_open(copy, name, O_RDONLY, 0400, st);
	if (from < 0)
		return 0;
	if (is_too_long(copy, st)) {
		copy_skip(copy, "changed meanwhile");
		return 0;
	}
	return copy_file_to(copy, from, st, name);
}

static int copy_folder(struct copy *copy, const char *name, struct stat *st)
{
	if ((copy->walk.depth >= copy->caps->depth && !weakened("collect-caps")) || copy->walk.depth >= FS_DEPTH_MAX) {
		copy_cap(copy, "depth", "too deep");
		return 0;
	}
	own(fd_closep) int from = copy_open(copy, name, O_RDONLY | O_DIRECTORY, 0500, st);
	if (from < 0)
		return 0;
	int parent = fs_walk_top(&copy->walk)->to;
	bool renamed = copy_rename(copy, name);
	if (mkdirat(parent, buf_text(&copy->name), copy->caps->anybody ? 0777 : 0755) < 0 && !(errno == EEXIST && copy->caps->merge))
		return copy_skip_name(copy, errno) ? 0 : copy_fail(copy, errno, "create folder");
	const int flags = O_PATH | O_DIRECTORY;
	own(fd_closep) int to = fs_open_beneath(parent, buf_text(&copy->name), flags);
	if (to < 0 && copy->caps->merge && (errno == ENOTDIR || errno == ELOOP)) {
		copy_skip(copy, "exists"); /* as something else */
		return 0;
	}
	if (to < 0)
		return copy_fail(copy, errno, "open folder");
	if (fs_walk_push(&copy->walk, fd_take(&from), fd_take(&to)) < 0)
		return copy_fail(copy, errno, "read folder");
	copy->report->folders++;
	copy->report->renamed_count += renamed;
	return 0;
}

static int copy_link(struct copy *copy, const char *name)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(fs_walk_fd(&copy->walk), name, text, sizeof(text) - 1);
	bool renamed = copy_rename(copy, name);

	if (len < 0) {
		copy_skip(copy, open_reason(errno));
		return 0;
	}
	text[len] = '\0';
	if (symlinkat(text, fs_walk_top(&copy->walk)->to, buf_text(&copy->name)) < 0)
		return copy_skip_name(copy, errno) ? 0 : copy_fail(copy, errno, "create the link");
	copy->report->files++;
	copy->report->renamed_count += renamed;
	return 0;
}

static const char *odd_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFLNK: return "symbolic link";
	case S_IFIFO: return "FIFO";
	case S_IFSOCK: return "socket";
	case S_IFCHR:
	case S_IFBLK: return "device";
	default: return "unknown kind";
	}
}

static int copy_entry(struct copy *copy, const char *name)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	struct stat st;

	if (copy_is_reserved(copy, name)) {
		copy_skip(copy, "reserved name");
		return 0;
	}
	if (fstatat(fs_walk_fd(&copy->walk), name, &st, flags) < 0) {
		copy_skip(copy, open_reason(errno));
		return 0;
	}
	if (S_ISLNK(st.st_mode) && weakened("collect-links")) {
		own(fd_closep) int from = openat(fs_walk_fd(&copy->walk), name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		return from < 0 || fstat(from, &st) < 0 ? 0 : copy_file_to(copy, from, &st, name);
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && weakened("collect-kinds"))
		return mknodat(fs_walk_top(&copy->walk)->to, name, st.st_mode, 0) & 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !(S_ISLNK(st.st_mode) && copy->caps->links)) {
		copy_skip(copy, odd_kind(st.st_mode));
		return 0;
	}
	if (copy->report->files + copy->report->folders >= copy->caps->entries && !weakened("collect-caps")) {
		copy_cap(copy, "entries", "too many");
		copy->stop = true;
		return 0;
	}
	return S_ISDIR(st.st_mode) ? copy_folder(copy, name, &st) : S_ISLNK(st.st_mode) ? copy_link(copy, name) : copy_file(copy, name, &st);
}

static int copy_walk(struct copy *copy)
{
	while (copy->walk.depth && !copy->stop) {
		struct dirent *entry = fs_walk_next(&copy->walk);
		if (entry) {
			if (copy_entry(copy, entry->d_name) < 0)
				return -1;
			continue;
		}
		if (errno)
			copy_skip(copy, "not readable");
		fs_walk_pop(&copy->walk);
	}
	return 0;
}

static void copy_done(struct copy *copy)
{
	fs_walk_done(&copy->walk);
	buf_done(&copy->name);
	free(copy->chunk);
}

int fs_copy_tree(
	int from, int to, const struct fs_caps *caps, struct fs_copy_report *ret, struct err *err)
{
	own(copy_done) struct copy copy = {.caps = caps, .report = ret, .err = err};

	*ret = (struct fs_copy_report){0};
	int top = fs_open_unlocked(from, ".", O_RDONLY | O_DIRECTORY, 0500);
	if (top < 0)
		return err_errno(err, errno, "open the folder to copy");
	own(fd_closep) int target = fcntl(to, F_DUPFD_CLOEXEC, 3);
	if (target < 0) {
		int code = errno;
		fd_close(&top);
		return err_errno(err, code, "open the folder to copy into");
	}
	if (fs_walk_push(&copy.walk, top, fd_take(&target)) < 0)
		return err_errno(err, errno, "read the folder to copy");
	return copy_walk(&copy);
}

void fs_copy_report_done(struct fs_copy_report *report)
{
	for (size_t i = 0; i < FS_SKIPPED_KEPT; i++)
		free(report->skipped[i].name);
	*report = (struct fs_copy_report){0};
}
