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
	own(fd_closep) int fd = open(source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct part *part = fd >= 0 && fstat(fd, &st) == 0 ? part_add(parts, name) : NULL;

	if (!part)
		return;
	part->source = xstrdup(source);
	part->id = (struct fs_id){st.st_dev, st.st_ino};
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

static const char *keep(struct parts_shown *ret, const char *text)
{
	strings_add(&ret->own, text);
	return ret->own.items[ret->own.count - 1];
}

static struct cell_mount *mount_add(struct parts_shown *ret, const char *source, const char *target, struct fs_id id)
{
	ret->mounts = xrealloc(ret->mounts, ret->count + 1, sizeof(*ret->mounts));
	ret->mounts[ret->count] = (struct cell_mount){
		.source = keep(ret, source), .target = keep(ret, target), .device = id.device, .inode = id.inode};
	return &ret->mounts[ret->count++];
}

static int folder_copy(const struct part *part, int to, struct err *err)
{
	static const struct fs_caps caps = {.bytes = COPIED_BYTES, .entries = COPIED_ENTRIES, .depth = COPIED_DEPTH};
	own(fs_copy_report_done) struct fs_copy_report report = {0};
	own(fd_closep) int from = open(part->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct fs_ids ids = {&part->id, 1};
	struct stat st;

	if (from < 0)
		return 0; /* the build says what it lacks */
	if (fstat(from, &st) < 0 || !fs_ids_have(&ids, st.st_dev, st.st_ino))
		return err_set(err, ERR_USAGE, "it was replaced after hotcell checked it; start again");
	return fs_copy_tree(from, to, &caps, &report, err);
}

static int folder_show(const struct parts *parts, const struct part *part, int dir, struct parts_shown *ret, struct err *err)
{
	own(fd_closep) int point = beneath_mkdirs(dir, part->name, 0755, err);
	own(freep) char *target = xfmt("%s/%s", parts->top, part->name);

	if (point < 0)
		return -1;
	if (ret->count <= MOUNTED_MAX)
		(void)mount_add(ret, part->source, target, part->id);
	else if (folder_copy(part, point, err) < 0)
		return err_wrap(err, "copy '%.150s' for the build", part->source);
	return 0;
}

int parts_show(const struct parts *parts, const char *folder, int dir, struct parts_shown *ret, struct err *err)
{
	own(freep) char *top = xfmt("%s/" FOLDER, folder);

	if (parts->seed)
		(void)mount_add(ret, parts->seed, FUNCTION_CACHE_SEED, parts->seed_id);
	own(fd_closep) int fd = parts->count ? beneath_mkdirs(dir, FOLDER, 0755, err) : -1;
	if (parts->count && fd < 0)
		return -1;
	if (parts->count)
		cell_mount_pin(mount_add(ret, top, parts->top, (struct fs_id){0}), fd);
	for (size_t i = 0; i < parts->count; i++) {
		const struct part *part = &parts->list[i];
		if ((part->source ? folder_show(parts, part, fd, ret, err) : file_make(fd, part, err)) < 0)
			return -1;
	}
	return 0;
}
