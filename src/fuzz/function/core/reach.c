#include "fuzz/function/core/reach.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/homes.h"
#include "base/own.h"

bool reach_is_below(const char *folder, const char *path)
{
	size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* ".git" is a file in a submodule and in a second work tree. */
static bool is_top(const char *folder)
{
	static const char *const marks[] = {".git", ".hg", ".svn", ".jj", ".hotcell", NULL};
	struct stat st;

	for (size_t i = 0; marks[i]; i++) {
		own(freep) char *path = xfmt("%s/%s", folder, marks[i]);
		if (lstat(path, &st) == 0)
			return true;
	}
	return false;
}

void reach_done(struct reach *reach)
{
	free(reach->own);
	free(reach->limit);
	free(reach->named);
	*reach = (struct reach){0};
}

void reach_find(const char *file, const char *named, struct reach *ret)
{
	own(freep) char *at = xstrdup(file), *here = getcwd(NULL, 0);

	*strrchr(at, '/') = '\0';
	*ret = (struct reach){.own = xstrdup(*at ? at : "/"), .named = named && reach_is_below(named, file) ? xstrdup(named) : NULL};
	for (; !ret->limit && *at && !folder_is_shared(at); *strrchr(at, '/') = '\0') {
		ret->repository = is_top(at);
		if (ret->repository || (here && strcmp(at, here) == 0))
			ret->limit = xstrdup(at);
	}
	if (!ret->limit)
		ret->limit = xstrdup(ret->named ? ret->named : ret->own);
}

bool reach_allows(const struct reach *reach, const char *folder)
{
	if (strcmp(folder, reach->own) == 0 || strcmp(folder, reach->limit) == 0)
		return true;
	return reach_is_below(reach->limit, folder) && (reach->repository || (reach->named && reach_is_below(reach->named, folder)));
}
