#include "base/fs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fs_walk.h"
#include "base/term.h"

/* A path for an error text: somebody hostile may have chosen it. */
static int path_errno(struct err *err, int code, const char *doing, const char *path)
{
	own(buf_done) struct buf shown = {0};

	term_line(path, strlen(path), 200, &shown);
	return err_errno(err, code, "%s '%s'", doing, buf_text(&shown));
}

/* Finding */

/* Most are plain names, or begin or end with a star: those are compared, which takes a tenth of what fnmatch does. */
struct part {
	char *text;
	size_t len;
	enum { PART_NAME, PART_BEGIN, PART_END, PART_GLOB } kind;
};

#define LINKS_MAX 40 /* on the way to one file, as the kernel has it */
#define ALIASES_MAX 256
#define TARGETS_MAX 4096 /* as many as a mount can hide: each is compared with all others */
#define PARTS_MAX 8 /* names between slashes; more are as many as these, the last ones */

struct glob {
	char *path; /* from the top, matched as a whole; or */
	struct part parts[PARTS_MAX]; /* the last names of a path, the last one first */
	size_t count;
	bool not; /* "!x": x is no match, whatever matched before */
};

struct globs {
	struct glob *at;
	struct { /* what the last name begins and ends with, in small letters; 0: anything. Few names come further than this */
		unsigned char first, last;
	} *ends;
	size_t count;
};

static void globs_done(struct globs *globs)
{
	for (size_t i = 0; i < globs->count; i++) {
		free(globs->at[i].path);
		for (size_t k = 0; k < globs->at[i].count; k++)
			free(globs->at[i].parts[k].text);
	}
	free(globs->at);
	free(globs->ends);
}

static struct part part_read(const char *text, size_t len)
{
	struct part part = {.text = strndup(text, len), .len = len, .kind = PART_GLOB};
	size_t plain = strcspn(part.text, "*?[\\");

	if (plain == len)
		part.kind = PART_NAME;
	else if (part.text[plain] == '*' && plain + 1 == len)
		part.kind = PART_BEGIN, part.len--;
	else if (plain == 0 && part.text[0] == '*' && strcspn(part.text + 1, "*?[\\") == len - 1)
		part.kind = PART_END, part.len--;
	return part;
}

/* "/x" is x at the top; "x/" is x, because a glob that can match nothing would hide nothing; "a/b" is b in any a. */
static void glob_read(const char *text, struct glob *ret)
{
	*ret = (struct glob){.not = text[0] == '!' && text[1] != '\0'};
	text += ret->not;
	size_t len = strlen(text);
	while (len > 1 && text[len - 1] == '/')
		len--;
	if (text[0] == '/') {
		ret->path = strndup(text + 1, len - 1);
		return;
	}
	while (len > 0 && ret->count < PARTS_MAX) {
		const char *slash = memrchr(text, '/', len);
		const char *name = slash ? slash + 1 : text;
		ret->parts[ret->count++] = part_read(name, len - (size_t)(name - text));
		len = slash ? (size_t)(slash - text) : 0;
	}
}

static struct globs globs_read(const char *const *texts)
{
	struct globs globs = {0};

	while (texts[globs.count])
		globs.count++;
	globs.at = xcalloc(globs.count + 1, sizeof(*globs.at));
	globs.ends = xcalloc(globs.count + 1, sizeof(*globs.ends));
	for (size_t i = 0; i < globs.count; i++) {
		glob_read(texts[i], &globs.at[i]);
		const struct part *part = globs.at[i].count > 0 ? &globs.at[i].parts[0] : NULL;
		if (part && part->len > 0 && (part->kind == PART_NAME || part->kind == PART_BEGIN))
			globs.ends[i].first = (unsigned char)tolower((unsigned char)part->text[0]);
		if (part && (part->kind == PART_NAME || part->kind == PART_END))
			globs.ends[i].last = (unsigned char)tolower((unsigned char)part->text[strlen(part->text) - 1]);
	}
	return globs;
}

/* A leading dot needs no naming, and case is nothing to rely on. */
static bool part_matches(const struct part *part, const char *name, size_t len)
{
	switch (part->kind) {
	case PART_NAME: return len == part->len && strncasecmp(part->text, name, len) == 0;
	case PART_BEGIN: return len >= part->len && strncasecmp(part->text, name, part->len) == 0;
	case PART_END: return len >= part->len && strncasecmp(part->text + 1, name + len - part->len, part->len) == 0;
	default: break;
	}
	if (!strchr("*?[\\", part->text[0]) && (len == 0 || strncasecmp(part->text, name, 1) != 0))
		return false;
	own(freep) char *copy = strndup(name, len);
	return fnmatch(part->text, copy, FNM_CASEFOLD) == 0;
}

/* The name in front of the last `len` bytes of a path; false if there is none. */
static bool name_before(const char *path, size_t *len, const char **ret_name, size_t *ret_len)
{
	while (*len > 0 && path[*len - 1] == '/')
		(*len)--;
	const char *slash = *len > 0 ? memrchr(path, '/', *len) : NULL;
	*ret_name = slash ? slash + 1 : path;
	*ret_len = *len - (size_t)(*ret_name - path);
	*len = (size_t)(*ret_name - path);
	return *ret_len > 0;
}

/* Name by name from the end: first those of the path, whose last one matches, then those of the folder that it is in. */
static bool folders_match(const struct glob *glob, const char *above, const char *path, size_t path_len)
{
	size_t above_len = above ? strlen(above) : 0, len;
	const char *name;

	for (size_t i = 1; i < glob->count; i++)
		if ((!name_before(path, &path_len, &name, &len) && (!above || !name_before(above, &above_len, &name, &len))) ||
			!part_matches(&glob->parts[i], name, len))
			return false;
	return true;
}

static bool globs_match(const struct globs *globs, const char *above, const char *path)
{
	size_t rest = strlen(path), len;
	const char *name;
	bool matches = false, any = name_before(path, &rest, &name, &len);
	int first = any ? tolower((unsigned char)name[0]) : 0, last = any ? tolower((unsigned char)name[len - 1]) : 0;

	for (size_t i = 0; any && i < globs->count; i++) {
		const struct glob *glob = &globs->at[i];
		if ((globs->ends[i].first && globs->ends[i].first != first) || (globs->ends[i].last && globs->ends[i].last != last) ||
			matches != glob->not) /* else it would change nothing */
			continue;
		if (glob->path ? fnmatch(glob->path, path, FNM_CASEFOLD) == 0
			       : glob->count > 0 && part_matches(&glob->parts[0], name, len) && folders_match(glob, above, path, rest))
			matches = !glob->not;
	}
	return matches;
}

static bool is_own(const struct stat *st)
{
	return st->st_uid == (uid_t)setfsuid((uid_t)-1); /* which changes nothing, and says as whom we go */
}

/* A folder that we may not list. What is in it can be reached by name where it may be searched, or once its owner
 * has unlocked it: nobody can say what that is, so it is told of as a whole. What we can do neither with, a
 * cell cannot, which is no more than us. */
static int find_closed(struct fs_walk *walk, const char *name, fs_match_fn *closed, void *data, struct err *err)
{
	const char *path = buf_text(&walk->path);
	int top = fs_walk_fd(walk);
	struct stat st;

	if (fstatat(top, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone, or where we may only list */
	if (closed && (is_own(&st) || faccessat(top, name, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0))
		return closed(data, path, true, err) < 0 ? -1 : 0;
	return is_own(&st) ? path_errno(err, EACCES, "search", path) : 0;
}

bool fs_ids_have(const struct fs_ids *ids, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < ids->count; i++)
		if (ids->id[i].device == device && ids->id[i].inode == inode)
			return true;
	return false;
}

bool fs_is_proc(int fd)
{
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Enters a folder, unless it is gone. `closed` is told of those that cannot be listed; NULL: they are left out, but
 * for our own, which are an error. It is told of those with one of these ids, too, and of the kernel's list of
 * processes, mounted below: its links lead to whatever those have open. */
static int find_enter(struct fs_walk *walk, const char *name, const struct fs_ids *ids, fs_match_fn *closed, void *data,
	bool *ret_mounts, struct err *err)
{
	const char *path = buf_text(&walk->path);
	int top = fs_walk_fd(walk);
	struct stat st;

	if (walk->depth == FS_DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "search: more than %d levels", FS_DEPTH_MAX);
	own(fd_closep) int fd = fs_open_beneath(top, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno == EXDEV) {
		fd = fs_open_across(top, name, O_RDONLY | O_DIRECTORY);
		*ret_mounts = true;
		if (closed && fs_is_proc(fd))
			return closed(data, path, true, err) < 0 ? -1 : 0;
	}
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (fd < 0 && errno != EACCES)
		return path_errno(err, errno, "search", path);
	/* one of our own that can be listed only could be made searchable */
	bool known = fd >= 0 && fstat(fd, &st) == 0;
	if (known && ids->count > 0 && fs_ids_have(ids, st.st_dev, st.st_ino))
		return closed(data, path, true, err) < 0 ? -1 : 0;
	bool locked = known && (st.st_mode & S_IXUSR) == 0 && is_own(&st) &&
		faccessat(top, name, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0;
	if (fd < 0 || locked)
		return find_closed(walk, name, closed, data, err);
	return fs_walk_push(walk, fd_take(&fd), -1) < 0 ? path_errno(err, errno, "search", path) : 0;
}

/* What a walk does with each entry: enters it, or not, or ends the walk with -1. */
typedef int walk_fn(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err);

static int walk_below(int dir, uint64_t max_entries, walk_fn *fn, void *data, struct err *err)
{
	own(fs_walk_done) struct fs_walk walk = {.depth = 0};
	uint64_t seen = 0;
	int top = fs_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY);

	if (top < 0 && errno == EACCES) /* who gave it to us may list it */
		top = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (top < 0 || fs_walk_push(&walk, top, -1) < 0)
		return err_errno(err, errno, "search a folder");
	while (walk.depth) {
		struct dirent *entry = fs_walk_next(&walk);
		if (!entry && errno)
			return path_errno(err, errno, "search", buf_text(&walk.path));
		if (!entry) {
			fs_walk_pop(&walk);
			continue;
		}
		if (++seen > max_entries)
			return err_set(err, ERR_LIMIT, "search a folder: more than %llu entries",
				(unsigned long long)max_entries);
		if (fn(&walk, entry, data, err) < 0)
			return -1;
	}
	return 0;
}

struct finder {
	struct globs globs;
	const char *above;
	const struct fs_ids *ids;
	fs_match_fn *fn;
	void *data;
	bool *mounts;
	int top;
	struct target {
		char *path, *link;
		bool is_dir;
	} *targets; /* of links that matched, and what matches below a link */
	size_t target_count;
	struct alias {
		char *link, *folder;
		uint64_t ways; /* what its path is on the way to */
	} *aliases; /* links on the way to what matches */
	size_t alias_count;
	uint64_t left; /* entries that may still be looked at below those */
};

static void finder_done(struct finder *finder)
{
	globs_done(&finder->globs);
	for (size_t i = 0; i < finder->target_count; i++) {
		free(finder->targets[i].path);
		free(finder->targets[i].link);
	}
	free(finder->targets);
	for (size_t i = 0; i < finder->alias_count; i++) {
		free(finder->aliases[i].link);
		free(finder->aliases[i].folder);
	}
	free(finder->aliases);
}

/* Whether the way to it, or itself, matches. */
static bool is_matched(const struct globs *globs, const char *above, const char *path)
{
	own(freep) char *part = xstrdup(path);
	bool matches = false;

	for (char *slash = part; slash && !matches;) {
		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		matches = globs_match(globs, above, part);
		if (slash)
			*slash++ = '/';
	}
	return matches;
}

/* From the end of a name to the next one, past slashes and "." */
static const char *next_name(const char *at)
{
	while (*at == '/' || (*at == '.' && (at[1] == '/' || at[1] == '\0')))
		at++;
	return at;
}

/* The rest of an absolute path behind that of a folder; NULL: it is not in it. */
static const char *path_below(const char *folder, const char *path)
{
	folder = next_name(folder);
	path = next_name(path);
	while (*folder) {
		size_t len = strcspn(folder, "/");
		if (strcspn(path, "/") != len || strncmp(path, folder, len) != 0)
			return NULL;
		folder = next_name(folder + len);
		path = next_name(path + len);
	}
	return path;
}

/* The rest of a way behind a link with this text, if it stays below the top: from where the link is,
 * or from the top if it is the host's own path. NULL: it leads elsewhere. */
static char *behind_link(const char *above, const char *text, const char *rest, struct buf *done)
{
	if (text[0] == '/') {
		text = above && *above ? path_below(above, text) : NULL;
		done->len = 0;
	}
	return text ? xfmt("%s/%s", text, rest) : NULL;
}

/* Goes to a name of the folder `done`, as the kernel would: true, or false if it is a link, or is not
 * there (*ret_error). */
static bool step_to(const struct finder *finder, const char *name, struct buf *done, struct stat *ret,
	bool *ret_error)
{
	size_t len = done->len;

	*ret_error = false;
	if (!*name || strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		const char *last = len > 0 ? memrchr(done->data, '/', len) : NULL;
		*ret_error = len == 0;
		done->len = last ? (size_t)(last - done->data) : 0;
	} else {
		buf_fmt(done, "%s%s", len > 0 ? "/" : "", name);
		*ret_error = fstatat(finder->top, done->data, ret, AT_SYMLINK_NOFOLLOW) < 0;
	}
	if (done->data)
		done->data[done->len] = '\0';
	return !*ret_error && (strcmp(name, "..") == 0 || !S_ISLNK(ret->st_mode));
}

/* Where a path leads, by whatever links: relative to the top ("" is the top itself) and without
 * any, or NULL if that is outside, or nothing. */
static char *resolve(const struct finder *finder, const char *path, struct stat *ret)
{
	own(freep) char *rest = xstrdup(path);
	own(buf_done) struct buf done = {0};
	char text[4096];
	int links = 0;

	for (char *at = rest; *at;) {
		size_t len = strcspn(at, "/"), before = done.len;
		own(freep) char *name = strndup(at, len);
		bool error;
		at += len + (at[len] == '/');
		if (step_to(finder, name, &done, ret, &error))
			continue;
		ssize_t got = -1;
		if (!error && ++links <= LINKS_MAX)
			got = readlinkat(finder->top, done.data, text, sizeof(text) - 1);
		if (got <= 0)
			return NULL;
		text[got] = '\0';
		done.len = before;
		char *next = behind_link(finder->above, text, at, &done);
		if (!next)
			return NULL;
		done.data[done.len] = '\0';
		free(rest);
		at = rest = next;
	}
	if (fstatat(finder->top, buf_text(&done), ret, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return NULL;
	return xstrdup(buf_text(&done));
}

static bool is_at_or_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return len == 0 ||
		(strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* What matches by itself is found in any case. */
static int add_target(struct finder *finder, const char *path, const char *link, bool is_dir,
	struct err *err)
{
	if (is_matched(&finder->globs, finder->above, path))
		return 0;
	if (finder->target_count == TARGETS_MAX)
		return err_set(err, ERR_LIMIT,
			"search a folder: more than %d files that could be secrets behind links",
			TARGETS_MAX);
	size_t count = finder->target_count++;
	finder->targets = xrealloc(finder->targets, count + 1, sizeof(*finder->targets));
	finder->targets[count] = (struct target){xstrdup(path), xstrdup(link), is_dir};
	return 0;
}

/* Names that files have: a folder behind a link with such a name is something else, such as the
 * virtual environment that `.env` leads to. */
static bool is_name_of_files(const char *path)
{
	static const char *const names[] = {".env*", "*.env", "*.env.local", ".dev.vars*",
		"*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa*",
		"id_dsa*", "id_ecdsa*", "id_ed25519*", ".?*history*", ".*_hist", ".histfile",
		"fish_history", NULL};

	return fs_is_hidden(names, NULL, basename(path));
}

/* A link with such a name leads to a secret under another: that is found, too, unless it is a folder
 * that the link is in, which may be all there is, or one that a file's name leads to. `link` is a
 * path that matches, `path` where the link is. */
static int find_target(struct finder *finder, const char *path, const char *link, struct err *err)
{
	struct stat st;
	own(freep) char *at = resolve(finder, path, &st);
	bool is_dir = at && S_ISDIR(st.st_mode);

	if (!at || (is_dir ? is_at_or_below(path, at) || is_name_of_files(path) : !S_ISREG(st.st_mode)))
		return 0;
	return add_target(finder, at, link, is_dir, err);
}

/* Whether a folder of this path could hold what matches by its path: it may be `a`, where "a/b" is
 * looked for. 0: no; else a sum of all that it could hold, the same for folders that could hold the
 * same. */
static uint64_t on_the_way(const struct globs *globs, const char *above, const char *path)
{
	size_t rest = strlen(path), len;
	const char *name;
	uint64_t sum = 0;

	if (!name_before(path, &rest, &name, &len))
		return 0;
	for (size_t i = 0; i < globs->count; i++)
		for (size_t k = 1; k < globs->at[i].count; k++) {
			const struct glob *glob = &globs->at[i];
			struct glob top = {.count = glob->count - k};
			memcpy(top.parts, glob->parts + k, top.count * sizeof(top.parts[0]));
			if (part_matches(&top.parts[0], name, len) && folders_match(&top, above, path, rest))
				sum = (sum ^ (i * PARTS_MAX + k)) * 1099511628211ULL; /* FNV-1a */
		}
	return sum;
}

/* A link in the place of such a folder: what is in the folder that it leads to goes by this path,
 * too. `link` is that path, `path` where the link is: another, if it is behind a link itself. */
static int find_alias(struct finder *finder, const char *path, const char *link, struct err *err)
{
	uint64_t ways = on_the_way(&finder->globs, finder->above, link);
	struct stat st;

	if (!ways)
		return 0;
	own(freep) char *at = resolve(finder, path, &st);
	if (!at || !S_ISDIR(st.st_mode))
		return 0;
	for (size_t i = 0; i < finder->alias_count; i++) /* links may lead in a circle */
		if (finder->aliases[i].ways == ways && strcmp(finder->aliases[i].folder, at) == 0)
			return 0;
	if (finder->alias_count == ALIASES_MAX)
		return err_set(err, ERR_LIMIT, "search a folder: more than %d links to folders that could hold secrets",
			ALIASES_MAX);
	size_t count = finder->alias_count++;
	finder->aliases = xrealloc(finder->aliases, count + 1, sizeof(*finder->aliases));
	finder->aliases[count] = (struct alias){xstrdup(link), ptr_take(&at), ways};
	return 0;
}

static int find_step(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err)
{
	struct finder *finder = data;
	unsigned char kind = fs_entry_kind(fs_walk_fd(walk), entry);
	bool is_dir = kind == DT_DIR;
	const char *path = buf_text(&walk->path);

	if (kind == DT_SOCK || kind == DT_FIFO || globs_match(&finder->globs, finder->above, path)) {
		if (kind == DT_LNK && find_target(finder, path, path, err) < 0)
			return -1;
		return finder->fn(finder->data, path, is_dir, err) < 0 ? -1 : 0;
	}
	if (kind == DT_LNK)
		return find_alias(finder, path, path, err);
	return is_dir ? find_enter(walk, entry->d_name, finder->ids, finder->fn, finder->data, finder->mounts, err) : 0;
}

struct alias_walk {
	struct finder *finder;
	const char *link, *folder;
	char *above; /* as if it were where the link is */
};

static int told_already(void *data, const char *path, bool is_dir, struct err *err)
{
	(void)data, (void)path, (void)is_dir, (void)err;
	return 0;
}

static int alias_step(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err)
{
	const struct alias_walk *it = data;
	unsigned char kind = fs_entry_kind(fs_walk_fd(walk), entry);
	const char *path = buf_text(&walk->path);

	if (it->finder->left-- == 0)
		return err_set(err, ERR_LIMIT,
			"search a folder: too many entries behind links to folders that could hold secrets");
	bool matches = globs_match(&it->finder->globs, it->above, path);
	if (matches || kind == DT_LNK) {
		own(freep) char *whole = xfmt("%s%s%s", it->folder, *it->folder ? "/" : "", path);
		own(freep) char *link = xfmt("%s/%s", it->link, path);
		if (!matches)
			return find_alias(it->finder, whole, link, err);
		if (kind == DT_LNK && find_target(it->finder, whole, link, err) < 0)
			return -1;
		return add_target(it->finder, whole, link, kind == DT_DIR, err);
	}
	if (kind != DT_DIR || walk->depth >= PARTS_MAX) /* no glob reaches further below the link */
		return 0;
	return find_enter(walk, entry->d_name, &(struct fs_ids){NULL, 0}, told_already, NULL,
		it->finder->mounts, err);
}

static int find_below_links(struct finder *finder, uint64_t max_entries, struct err *err)
{
	finder->left = max_entries;
	for (size_t i = 0; i < finder->alias_count; i++) {
		const struct alias alias = finder->aliases[i]; /* a copy: the walk may add some */
		const char *top = finder->above ? finder->above : "";
		own(freep) char *above = xfmt("%s/%s", top, alias.link);
		struct alias_walk it = {finder, alias.link, alias.folder, above};
		own(fd_closep) int folder =
			fs_open_across(finder->top, *it.folder ? it.folder : ".", O_RDONLY | O_DIRECTORY);
		if (folder >= 0 && walk_below(folder, max_entries, alias_step, &it, err) < 0)
			return -1;
	}
	return 0;
}

/* Each once, and nothing of what is in a folder that is told of itself. */
static bool is_told(const struct finder *finder, size_t index)
{
	const char *path = finder->targets[index].path;

	for (size_t i = 0; i < finder->target_count; i++) {
		const char *other = finder->targets[i].path;
		bool same = strcmp(path, other) == 0;
		if (same ? i < index : finder->targets[i].is_dir && is_at_or_below(path, other))
			return true;
	}
	return false;
}

/* A folder vanishes with all that is in it: who misses it looks for the reason. */
static void tell_link(const struct target *target, struct buf *out)
{
	own(buf_done) struct buf path = {0}, link = {0};

	term_line(target->path, strlen(target->path), 120, &path);
	term_line(target->link, strlen(target->link), 120, &link);
	buf_fmt(out, "'%s' is hidden: '%s' leads to it\n", buf_text(&path), buf_text(&link));
}

int fs_find_ids(int dir, const char *above, const char *const *globs, const struct fs_ids *ids, uint64_t max_entries, fs_match_fn *fn,
	void *data, bool *ret_mounts, struct buf *ret_links, struct err *err)
{
	own(finder_done) struct finder finder = {.globs = globs_read(globs), .above = above, .ids = ids, .fn = fn,
		.data = data, .mounts = ret_mounts, .top = dir};

	*ret_mounts = false;
	if (walk_below(dir, max_entries, find_step, &finder, err) < 0 ||
		find_below_links(&finder, max_entries, err) < 0)
		return -1;
	for (size_t i = 0; i < finder.target_count; i++) {
		const struct target *target = &finder.targets[i];
		if (is_told(&finder, i))
			continue;
		if (ret_links && target->is_dir)
			tell_link(target, ret_links);
		if (fn(data, target->path, target->is_dir, err) < 0)
			return -1;
	}
	return 0;
}

int fs_find(int dir, const char *above, const char *const *globs, uint64_t max_entries, fs_match_fn *fn, void *data,
	bool *ret_mounts, struct err *err)
{
	return fs_find_ids(dir, above, globs, &(struct fs_ids){NULL, 0}, max_entries, fn, data, ret_mounts, NULL, err);
}

bool fs_is_hidden(const char *const *globs, const char *above, const char *path)
{
	own(globs_done) struct globs wanted = globs_read(globs);

	return is_matched(&wanted, above, path);
}

struct each {
	bool links;
	const char *const *skip;
	fs_file_fn *fn;
	fs_match_fn *closed;
	void *data;
};

static bool is_named(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static int each_step(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err)
{
	const struct each *each = data;
	unsigned char kind = fs_entry_kind(fs_walk_fd(walk), entry);
	bool mounts;

	if (kind == DT_REG || (kind == DT_LNK && each->links))
		return each->fn(each->data, fs_walk_fd(walk), entry->d_name, buf_text(&walk->path), err);
	if (kind != DT_DIR || (walk->depth == 1 && is_named(each->skip, entry->d_name)))
		return 0;
	return find_enter(walk, entry->d_name, &(struct fs_ids){NULL, 0}, each->closed, each->data, &mounts, err);
}

int fs_each_file(int dir, const char *const *skip, uint64_t max_entries, fs_file_fn *fn, fs_match_fn *closed, void *data,
	struct err *err)
{
	struct each each = {false, skip, fn, closed, data};

	return walk_below(dir, max_entries, each_step, &each, err);
}

int fs_each_file_or_link(int dir, const char *const *skip, uint64_t max_entries, fs_file_fn *fn, fs_match_fn *closed, void *data,
	struct err *err)
{
	struct each each = {true, skip, fn, closed, data};

	return walk_below(dir, max_entries, each_step, &each, err);
}

/* Removing */

/* A tree may be nested deeper than we may have descriptors. What is too deep is moved up to the
 * top of the tree, whose listing then starts again. */
struct removal {
	struct fs_walk walk;
	unsigned long next_name;
	bool moved;
};

#define REMOVE_DEPTH 64

static int removal_move_up(struct removal *removal, const char *name)
{
	int top = dirfd(removal->walk.levels[0].dir);
	char moved[48];

	do {
		(void)snprintf(moved, sizeof(moved), ".too-deep-%lu", removal->next_name++);
		if (renameat(fs_walk_fd(&removal->walk), name, top, moved) == 0) {
			removal->moved = true;
			return 0;
		}
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return -1;
}

/* -1 with errno. */
static int removal_entry(struct removal *removal, const struct dirent *entry)
{
	struct fs_walk *walk = &removal->walk;
	int dir = fs_walk_fd(walk);
	bool folder = fs_entry_kind(dir, entry) == DT_DIR;

	if (unlinkat(dir, entry->d_name, folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
		return 0;
	if (!folder || (errno != ENOTEMPTY && errno != EEXIST))
		return -1;
	if (walk->depth >= REMOVE_DEPTH)
		return removal_move_up(removal, entry->d_name);
	int fd = fs_open_unlocked(dir, entry->d_name, O_RDONLY | O_DIRECTORY, 0700);
	return fd < 0 ? -1 : fs_walk_push(walk, fd, -1);
}

/* The deepest folder is empty: remove it from the one above. -1 with errno. */
static int removal_leave(struct removal *removal)
{
	struct fs_walk *walk = &removal->walk;

	if (walk->depth == 1 && removal->moved) {
		removal->moved = false;
		rewinddir(walk->levels[0].dir);
		return 0;
	}
	fs_walk_pop(walk);
	if (!walk->depth)
		return 0;
	const char *path = buf_text(&walk->path);
	const char *slash = strrchr(path, '/');
	int rc = unlinkat(fs_walk_fd(walk), slash ? slash + 1 : path, AT_REMOVEDIR);
	return rc < 0 && errno != ENOENT ? -1 : 0;
}

static int removal_walk(struct removal *removal, struct err *err)
{
	while (removal->walk.depth) {
		struct dirent *entry = fs_walk_next(&removal->walk);
		if (!entry && errno)
			return path_errno(err, errno, "list", buf_text(&removal->walk.path));
		if ((entry ? removal_entry(removal, entry) : removal_leave(removal)) < 0)
			return path_errno(err, errno, "remove", buf_text(&removal->walk.path));
	}
	return 0;
}

static void removal_done(struct removal *removal)
{
	fs_walk_done(&removal->walk);
}

static int remove_below(int dir, const char *name, struct err *err)
{
	own(removal_done) struct removal removal = {.moved = false};

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return path_errno(err, errno, "remove", name);
	int fd = fs_open_unlocked(dir, name, O_RDONLY | O_DIRECTORY, 0700);
	if (fd < 0 || fs_walk_push(&removal.walk, fd, -1) < 0)
		return path_errno(err, errno, "remove", name);
	if (removal_walk(&removal, err) < 0)
		return err_wrap(err, "remove a folder");
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return path_errno(err, errno, "remove", name);
	return 0;
}

/* The folders above the last step are ours and may be reached in any way; the step itself and all
 * below it are opened one by one. */
int fs_remove_tree(int dir, const char *name, struct err *err)
{
	own(freep) char *above = xstrdup(name);
	own(freep) char *last = NULL;

	for (size_t len = strlen(above); len > 1 && above[len - 1] == '/'; len--)
		above[len - 1] = '\0';
	char *slash = strrchr(above, '/');
	if (!slash)
		return remove_below(dir, above, err);
	last = xstrdup(slash + 1);
	slash[slash == above] = '\0'; /* "/" stays "/" */
	own(fd_closep) int parent = openat(dir, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return errno == ENOENT ? 0 : path_errno(err, errno, "remove", name);
	return remove_below(parent, last, err);
}

/* Small things */

int fs_open_named(int dir, const char *path, int flags, mode_t mode, struct err *err)
{
	bool special = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
	int fd = openat(dir, path, flags | O_NOCTTY | O_CLOEXEC | (special ? 0 : O_NOFOLLOW), mode);

	if (fd < 0 && errno == ELOOP && !special)
		return err_set(err, ERR_USAGE, "'%s' is a symbolic link: name what it points to", path);
	return fd < 0 ? err_errno(err, errno, "open '%s'", path) : fd;
}

int fs_read_small(int dir, const char *path, size_t max, struct buf *ret, struct err *err)
{
	struct stat st;
	char chunk[4096];
	size_t total = 0;
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	own(fd_closep) int fd = openat(dir, path, flags);

	if (fd < 0 || fstat(fd, &st) < 0)
		return path_errno(err, errno, "read", path);
	if (!S_ISREG(st.st_mode))
		return path_errno(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "read", path);
	for (;;) { /* to the end and not to st_size: files of proc say 0 */
		ssize_t got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return path_errno(err, errno, "read", path);
		if (got == 0)
			return 0;
		total += (size_t)got;
		if (total > max)
			return err_set(err, ERR_LIMIT, "read '%s': more than %zu bytes", path, max);
		buf_add(ret, chunk, (size_t)got);
	}
}

int fs_write_value(int dir, const char *path, const char *value, struct err *err)
{
	size_t len = strlen(value);
	own(fd_closep) int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return path_errno(err, errno, "open", path);
	ssize_t wrote = write(fd, value, len);
	if (wrote < 0)
		return err_errno(err, errno, "write '%s' to '%s'", value, path);
	if ((size_t)wrote != len)
		return err_set(err, EIO, "write '%s' to '%s': only a part was taken", value, path);
	return 0;
}

/* The gaps between them one by one. */
void fs_close_others(const int *fds, size_t count, int first)
{
	for (int next = first;;) {
		int nearest = INT_MAX;
		for (size_t i = 0; i < count; i++)
			if (fds[i] >= next && fds[i] < nearest)
				nearest = fds[i];
		if (nearest > next)
			(void)close_range((unsigned)next, nearest == INT_MAX ? ~0U : (unsigned)nearest - 1, 0);
		if (nearest == INT_MAX)
			return;
		next = nearest + 1;
	}
}
