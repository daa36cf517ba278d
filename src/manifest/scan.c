/* First the tree is walked and every entry looked at, without opening any; then the regular files are read (hash.c). */
#include "manifest/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fs_walk.h"
#include "base/term.h"
#include "manifest/hash.h"
#include "manifest/name.h"

struct scan {
	struct fs_walk walk;
	struct manifest *into;
	char **raw; /* the paths as they really are, beside into->entries until these are sorted */
	uint64_t bytes;
	struct err *err;
};

static void scan_done(struct scan *scan)
{
	for (size_t i = 0; scan->raw && i < scan->into->count; i++)
		free(scan->raw[i]);
	free(scan->raw);
	fs_walk_done(&scan->walk);
}

static int fail(struct scan *scan, int code, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(buf_text(&scan->walk.path), scan->walk.path.len, 200, &shown);
	return code == ERR_LIMIT ? err_set(scan->err, code, "'%s': %s", buf_text(&shown), why)
				 : err_errno(scan->err, code, "%s '%s'", why, buf_text(&shown));
}

/* ---- one entry ---- */

static const struct {
	mode_t format;
	enum manifest_kind kind;
} kinds[] = {
	{S_IFREG, MANIFEST_FILE},
	{S_IFDIR, MANIFEST_FOLDER},
	{S_IFLNK, MANIFEST_LINK},
	{S_IFIFO, MANIFEST_FIFO},
	{S_IFSOCK, MANIFEST_SOCKET},
	{S_IFCHR, MANIFEST_CHAR_DEVICE},
	{S_IFBLK, MANIFEST_BLOCK_DEVICE},
};
_Static_assert(ARRAY_LEN(kinds) == MANIFEST_KINDS, "a kind has no format");

static enum manifest_kind kind_of(mode_t mode)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(kinds) && kinds[i].format != (mode & S_IFMT))
		i++;
	return kinds[i].kind;
}

static void link_read(int dir, const char *name, struct manifest_entry *entry)
{
	own(buf_done) struct buf target = {0};
	char text[PATH_MAX + 1];
	ssize_t len = readlinkat(dir, name, text, sizeof(text) - 1);

	if (len < 0)
		entry->trouble = errno == EINVAL || errno == ENOENT ? MANIFEST_CHANGING : errno;
	text[len < 0 ? 0 : len] = '\0';
	manifest_name_write(text, &target);
	entry->target = buf_take(&target);
}

static struct manifest_entry *entry_add(struct scan *scan)
{
	struct manifest *into = scan->into;
	size_t at = into->count;

	if ((at & (at - 1)) == 0) {
		size_t room = at ? at * 2 : 1;
		into->entries = xrealloc(into->entries, room, sizeof(*into->entries));
		scan->raw = xrealloc(scan->raw, room, sizeof(*scan->raw));
	}
	own(buf_done) struct buf path = {0};
	manifest_name_write(buf_text(&scan->walk.path), &path);
	scan->raw[at] = xstrdup(buf_text(&scan->walk.path));
	into->entries[at] = (struct manifest_entry){.path = buf_take(&path)};
	into->count++;
	return &into->entries[at];
}

static int enter(struct scan *scan, const char *name, struct manifest_entry *entry)
{
	if (scan->walk.depth == FS_DEPTH_MAX)
		return fail(scan, ERR_LIMIT, "it is too many folders deep");
	int fd = fs_open_across(fs_walk_fd(&scan->walk), name, O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		entry->trouble = errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? MANIFEST_CHANGING : errno;
		return 0;
	}
	return fs_walk_push(&scan->walk, fd, -1) < 0 ? fail(scan, errno, "list") : 0;
}

static int scan_entry(struct scan *scan, const char *name)
{
	int dir = fs_walk_fd(&scan->walk);
	struct stat st;

	if (scan->walk.depth == 1 && strcmp(name, MANIFEST_NAME) == 0)
		return 0;
	if (scan->into->count >= MANIFEST_ENTRIES_MAX)
		return err_set(scan->err, ERR_LIMIT, "there are more than %d entries in it", MANIFEST_ENTRIES_MAX);
	if (scan->walk.path.len >= PATH_MAX)
		return fail(scan, ERR_LIMIT, "the path is too long");
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(scan, errno, "look at");
	struct manifest_entry *entry = entry_add(scan);
	entry->kind = kind_of(st.st_mode);
	entry->mode = S_ISLNK(st.st_mode) ? 0 : st.st_mode & 07777;
	if (entry->kind == MANIFEST_FILE)
		entry->size = (uint64_t)st.st_size;
	else if (entry->kind == MANIFEST_LINK)
		link_read(dir, name, entry);
	else if (entry->kind == MANIFEST_CHAR_DEVICE || entry->kind == MANIFEST_BLOCK_DEVICE)
		entry->target = xfmt("%u:%u", major(st.st_rdev), minor(st.st_rdev));
	else if (entry->kind == MANIFEST_FOLDER)
		return enter(scan, name, entry);
	return 0;
}

/* ---- the tree ---- */

static int walk_tree(struct scan *scan, int dir)
{
	int top = fs_open_across(dir, ".", O_RDONLY | O_DIRECTORY);

	if (top < 0 || fs_walk_push(&scan->walk, top, -1) < 0)
		return err_errno(scan->err, errno, "list it");
	while (scan->walk.depth > 0) {
		struct dirent *found = fs_walk_next(&scan->walk);
		if (!found && errno)
			return fail(scan, errno, "list");
		if (!found)
			fs_walk_pop(&scan->walk);
		else if (scan_entry(scan, found->d_name) < 0)
			return -1;
	}
	return 0;
}

static int entry_order(const void *a, const void *b)
{
	const struct manifest_entry *first = a, *second = b;

	return strcmp(first->path, second->path);
}

static int key_order(const void *path, const void *entry)
{
	return strcmp(path, ((const struct manifest_entry *)entry)->path);
}

static bool is_to_read(const struct manifest_entry *entry, const struct manifest *expected)
{
	if (entry->kind != MANIFEST_FILE || !expected)
		return entry->kind == MANIFEST_FILE;
	const struct manifest_entry *was =
		expected->count ? bsearch(entry->path, expected->entries, expected->count, sizeof(*was), key_order) : NULL;
	return was && was->kind == MANIFEST_FILE && was->size == entry->size;
}

static int read_files(struct scan *scan, int dir, const struct manifest *expected)
{
	struct manifest *into = scan->into;
	own(freep) struct hash_job *jobs = xcalloc(into->count + 1, sizeof(*jobs));
	size_t count = 0;

	for (size_t i = 0; i < into->count; i++) {
		struct manifest_entry *entry = &into->entries[i];
		if (!is_to_read(entry, expected))
			continue;
		if (entry->size > MANIFEST_BYTES_MAX - scan->bytes)
			return err_set(scan->err, ERR_LIMIT, "its files claim more than %llu bytes", (unsigned long long)MANIFEST_BYTES_MAX);
		scan->bytes += entry->size;
		jobs[count++] = (struct hash_job){.path = scan->raw[i], .entry = entry};
	}
	return hash_files(dir, jobs, count, scan->err);
}

/* A folder that changes while it is listed may give a name twice. */
static void sort_entries(struct manifest *manifest)
{
	struct manifest_entry *entries = manifest->entries;
	size_t kept = 0;

	if (manifest->count > 1)
		qsort(entries, manifest->count, sizeof(*entries), entry_order);
	for (size_t i = 0; i < manifest->count; i++) {
		if (kept > 0 && strcmp(entries[kept - 1].path, entries[i].path) == 0) {
			entries[kept - 1].trouble = MANIFEST_CHANGING;
			free(entries[i].path);
			free(entries[i].target);
		} else {
			entries[kept++] = entries[i];
		}
	}
	manifest->count = kept;
}

int manifest_scan(struct manifest *ret, int dir, const struct manifest *expected, struct err *err)
{
	struct scan scan = {.into = ret, .err = err};

	*ret = (struct manifest){0};
	int rc = walk_tree(&scan, dir) == 0 && read_files(&scan, dir, expected) == 0 ? 0 : -1;
	scan_done(&scan); /* before any entry goes: there is a raw path for each */
	if (rc == 0)
		sort_entries(ret);
	else
		manifest_done(ret);
	return rc;
}
