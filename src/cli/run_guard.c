#include "cli/run_guard.h"

#include <string.h>

#include "base/term.h"
#include "base/weaken.h"
#include "project/trust.h"

/* What of a path is below the folder, "" for the folder itself; NULL: it is not. */
static const char *below(const char *folder, const char *path)
{
	size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	if (strncmp(path, folder, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len + (path[len] == '/');
}

/* That very path, and no pattern. */
static void hide(struct cli_names *ret, const char *path)
{
	struct buf glob = {0};

	buf_char(&glob, '/');
	for (; *path; path++) {
		if (strchr("*?[]\\", *path))
			buf_char(&glob, '\\');
		buf_char(&glob, *path);
	}
	ret->items = xrealloc(ret->items, ret->count + 1, sizeof(*ret->items));
	ret->items[ret->count++] = buf_take(&glob);
}

static int guard_record(const char *source, bool writable, struct cli_names *ret, struct err *err)
{
	struct err none = {0};
	own(freep) char *record = trust_folder(&none);
	own(freep) char *real = record ? realpath(record, NULL) : NULL;
	own(buf_done) struct buf shown = {0};

	/* one that is not there yet would be the cell's to make */
	if (record && !real && writable && below(source, record) && trust_prepare(&none) == 0)
		real = realpath(record, NULL);
	if (!real)
		return 0;
	term_line(source, strlen(source), 160, &shown);
	if (below(real, source))
		return err_set(err, ERR_USAGE,
			"--mount: '%s' is where hotcell records which state folders are yours, and no cell is shown that; mount another folder",
			buf_text(&shown));
	const char *rest = below(source, real);
	if (rest)
		hide(ret, rest);
	return 0;
}

static int guard_states(const char *source, const struct trust_list *list, struct cli_names *ret, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	term_line(source, strlen(source), 160, &shown);
	for (size_t i = 0; i < list->count; i++) {
		const char *rest = below(source, list->items[i].path);
		if (below(list->items[i].path, source))
			return err_set(err, ERR_USAGE, "--mount: '%s' is in a state folder of yours, where no cell may write: mount it read-only",
				buf_text(&shown));
		if (rest)
			hide(ret, rest);
	}
	return 0;
}

int run_guard(const struct cell_mount *mounts, size_t count, struct cli_names *ret, struct err *err)
{
	own(trust_list_done) struct trust_list list = {0};
	struct err none = {0};
	bool writable = false;

	if (weakened("state-guard"))
		return 0;
	for (size_t i = 0; i < count; i++) { /* before anything is looked for: what is made from now on is not made there */
		own(freep) char *source = mounts[i].writable ? realpath(mounts[i].source, NULL) : NULL;
		if (source)
			trust_writer(source);
		writable = writable || mounts[i].writable;
	}
	if (writable && trust_read(&list, &none) < 0)
		list = (struct trust_list){0}; /* then none is believed either */
	for (size_t i = 0; i < count; i++) {
		own(freep) char *source = realpath(mounts[i].source, NULL); /* one that is not there is refused later */
		if (source && guard_record(source, mounts[i].writable, ret, err) < 0)
			return -1;
		if (source && mounts[i].writable && guard_states(source, &list, ret, err) < 0)
			return -1;
	}
	return 0;
}
