#include "cell/native/supervisor/cgroup_paths.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cell/native/mountinfo.h"

#define MAX_MOUNTINFO (8u << 20)

const char *const controller_name[CONTROLLER_COUNT] = {
	[MEMORY] = "memory", [CPU] = "cpu", [PIDS] = "pids"};

bool cgroup_list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at != '\0';) {
		size_t size = strcspn(at, ", \n");
		if (size == len && strncmp(at, word, len) == 0)
			return true;
		at += size + (at[size] != '\0');
	}
	return false;
}

uint64_t cgroup_number(const char *text, const char *key)
{
	size_t len = key == NULL ? 0 : strlen(key);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (key == NULL)
			return isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : 0;
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

/* ---- finding ---- */

static char *join(const char *point, const char *below)
{
	char *path = xfmt("%s%s%s", point, *below == '/' || *below == '\0' ? "" : "/", below);

	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	return path;
}

/* What of `path` lies below `root`, or NULL. */
static const char *below_root(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len;
}

/* Where the cgroup `path` (as /proc/self/cgroup names it) is in the file system. */
static char *locate(const char *mountinfo, const char *controller, const char *path)
{
	for (const char *at = mountinfo; *at != '\0';) {
		size_t len = strcspn(at, "\n");
		/* all others are left alone: there may be thousands, and this is done before anything else */
		own(freep) char *line = memmem(at, len, " - cgroup", strlen(" - cgroup")) == NULL ? NULL : strndup(at, len);
		struct mount_line mount;

		at += len + (at[len] == '\n');
		if (line == NULL || !mount_line_read(line, &mount))
			continue;
		bool fits = controller == NULL ? strcmp(mount.type, "cgroup2") == 0
					       : strcmp(mount.type, "cgroup") == 0 &&
				cgroup_list_has(mount.options, controller);
		const char *below = fits ? below_root(path, mount.root) : NULL;
		if (below != NULL)
			return join(mount.point, below);
	}
	return NULL;
}

/* One line of /proc/self/cgroup: "4:cpu,cpuacct:/path"; "0::/path" is v2. */
static void find_line(struct cgroup_paths *ret, char *line, const char *mountinfo)
{
	char *list = strchr(line, ':'), *path = list == NULL ? NULL : strchr(list + 1, ':');

	if (path == NULL || path[1] != '/')
		return;
	*path++ = '\0';
	list++;
	if (*list == '\0' && ret->v2 == NULL)
		ret->v2 = locate(mountinfo, NULL, path);
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		if (cgroup_list_has(list, controller_name[c]) && ret->v1[c] == NULL)
			ret->v1[c] = locate(mountinfo, controller_name[c], path);
}

void cgroup_paths_find(struct cgroup_paths *ret, const char *self_cgroup, const char *mountinfo)
{
	*ret = (struct cgroup_paths){0};
	for (const char *at = self_cgroup; *at != '\0';) {
		size_t len = strcspn(at, "\n");
		own(freep) char *line = strndup(at, len);
		if (line != NULL)
			find_line(ret, line, mountinfo);
		at += len + (at[len] == '\n');
	}
}

void cgroup_paths_read(struct cgroup_paths *ret)
{
	own(buf_done) struct buf cgroup = {0}, mountinfo = {0};
	struct err err;

	*ret = (struct cgroup_paths){0};
	if (fs_read_small(AT_FDCWD, "/proc/self/cgroup", 1 << 16, &cgroup, &err) == 0 &&
		fs_read_small(AT_FDCWD, "/proc/self/mountinfo", MAX_MOUNTINFO, &mountinfo, &err) ==
			0)
		cgroup_paths_find(ret, buf_text(&cgroup), buf_text(&mountinfo));
}

void cgroup_paths_done(struct cgroup_paths *paths)
{
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		free(paths->v1[c]);
	free(paths->v2);
	*paths = (struct cgroup_paths){0};
}
