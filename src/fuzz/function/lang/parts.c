#include "fuzz/function/lang/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fs.h"

#define FOLDER "parts"
#define MOUNTED_MAX 200u /* folders; a cell takes CELL_MAX_MOUNTS with the others' */
#define COPIED_BYTES ((uint64_t)1 << 30)
#define COPIED_ENTRIES 200000u
#define COPIED_DEPTH 32u

void parts_done(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		free(parts->list[i].name);
		free(parts->list[i].source);
		free(parts->list[i].text);
	}
	free(parts->list);
	free(parts->seed);
	*parts = (struct parts){0};
}

static struct part *part_add(struct parts *parts, const char *name)
{
	for (size_t i = 0; i < parts->count; i++)
		if (strcmp(parts->list[i].name, name) == 0)
			return NULL;
	parts->list = xrealloc(parts->list, parts->count + 1, sizeof(*parts->list));
	parts->list[parts->count] = (struct part){.name = xstrdup(name)};
	return &parts->list[parts->count++];
}

void parts_add_folder(struct parts *parts, const char *name, const char *source)
{
	struct stat st;
	struct part *part = lstat(source, &st) == 0 && S_ISDIR(st.st_mode) ? part_add(parts, name) : NULL;

	if (part)
		part->source = xstrdup(source);
}

void parts_add_file(struct parts *parts, const char *name, const struct buf *text)
{
	struct part *part = part_add(parts, name);

	if (part)
		part->text = xfmt("%.*s", (int)text->len, buf_text(text));
}

/* ---- as cells see them ---- */

void parts_shown_done(struct parts_shown *shown)
{
	free(shown->mounts);
	strings_done(&shown->own);
	*shown = (struct parts_shown){0};
}

static int file_make(int dir, const struct part *part, struct err *err)
{
	own(freep) char *folder = NULL;
	own(freep) char *name = beneath_split(part->name, &folder);
	own(fd_closep) int above = beneath_mkdirs(dir, folder, 0755, err);
	size_t len = strlen(part->text);

	if (above < 0)
		return -1;
	own(fd_closep) int fd = beneath_try(above, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || write(fd, part->text, len) != (ssize_t)len)
		return err_errno(err, fd < 0 ? errno : ENOSPC, "write '%.150s'", part->name);
	return 0;
}

static void mount_add(struct parts_shown *ret, const char *source, const char *target)
{
	strings_add(&ret->own, source);
	strings_add(&ret->own, target);
	ret->count++;
}

/* When all of them are there: the list of texts moves while it grows. */
static void mounts_fill(struct parts_shown *ret)
{
	ret->mounts = xcalloc(ret->count + 1, sizeof(*ret->mounts));
	for (size_t i = 0; i < ret->count; i++)
		ret->mounts[i] = (struct cell_mount){.source = ret->own.items[2 * i], .target = ret->own.items[2 * i + 1]};
}

static int folder_copy(const struct part *part, int to, struct err *err)
{
	static const struct fs_caps caps = {.bytes = COPIED_BYTES, .entries = COPIED_ENTRIES, .depth = COPIED_DEPTH};
	own(fs_copy_report_done) struct fs_copy_report report = {0};
	own(fd_closep) int from = open(part->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return from < 0 ? 0 : fs_copy_tree(from, to, &caps, &report, err); /* the build says what it lacks */
}

static int folder_show(const struct parts *parts, const struct part *part, int dir, struct parts_shown *ret, struct err *err)
{
	own(fd_closep) int point = beneath_mkdirs(dir, part->name, 0755, err);
	own(freep) char *target = xfmt("%s/%s", parts->top, part->name);

	if (point < 0)
		return -1;
	if (ret->count <= MOUNTED_MAX)
		mount_add(ret, part->source, target);
	else if (folder_copy(part, point, err) < 0)
		return err_wrap(err, "copy '%.150s' for the build", part->source);
	return 0;
}

int parts_show(const struct parts *parts, const char *folder, int dir, struct parts_shown *ret, struct err *err)
{
	own(freep) char *top = xfmt("%s/" FOLDER, folder);

	if (parts->seed)
		mount_add(ret, parts->seed, FUNCTION_CACHE_SEED);
	own(fd_closep) int fd = parts->count ? beneath_mkdirs(dir, FOLDER, 0755, err) : -1;
	if (parts->count && fd < 0)
		return -1;
	if (parts->count)
		mount_add(ret, top, parts->top);
	for (size_t i = 0; i < parts->count; i++) {
		const struct part *part = &parts->list[i];
		if ((part->source ? folder_show(parts, part, fd, ret, err) : file_make(fd, part, err)) < 0)
			return -1;
	}
	mounts_fill(ret);
	return 0;
}
