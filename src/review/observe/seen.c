/* What can be seen of a try: what its program said, hotcell's result, the cell's processes in the host's /proc. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "review/observe/scene.h"

#define LINE_MAX_SHOWN 160

/* ---- its words ---- */

/* "what RESULT", from the end of a line. */
static bool line_split(char *line, char **ret_what, char **ret_result)
{
	char *space = strrchr(line, ' ');

	if (!space || space == line || !space[1])
		return false;
	*space = '\0';
	*ret_what = line, *ret_result = space + 1;
	return true;
}

void try_each_said(const struct review_try *try, try_said_fn *fn, void *data)
{
	own(freep) char *copy = xstrdup(buf_text(&try->out)); /* up to a NUL: what follows one is nothing a program of ours says */
	char *rest = copy;

	for (char *line, *what, *result; (line = strsep(&rest, "\n"));)
		if (line_split(line, &what, &result))
			fn(data, what, result);
}

struct search {
	const char *what;
	char *result; /* of SAID_MAX */
	bool found;
};
#define SAID_MAX sizeof(((struct review_try *)0)->held.said[0])

static void search_fn(void *data, const char *what, const char *result)
{
	struct search *search = data;

	if (strcmp(search->what, what) != 0)
		return;
	search->found = true;
	(void)snprintf(search->result, SAID_MAX, "%s", result);
}

const char *try_said(struct review_try *try, const char *what)
{
	struct search search = {.what = what};

	search.result = try->held.said[try->held.said_next++ % ARRAY_LEN(try->held.said)];
	try_each_said(try, search_fn, &search);
	return search.found ? search.result : NULL;
}

static bool may_be_ok(const char *globs, const char *what)
{
	own(freep) char *copy = xstrdup(globs ? globs : "");
	char *rest = copy;

	for (char *glob; (glob = strsep(&rest, " "));)
		if (*glob && fnmatch(glob, what, 0) == 0)
			return true;
	return false;
}

static void judge_fn(void *data, const char *what, const char *result)
{
	struct review_try *try = data;

	try->tries++;
	if (strcmp(result, "ok") == 0 && !may_be_ok(try->attack->but, what))
		try_escaped(try, "'%.*s' worked", LINE_MAX_SHOWN, what);
}

void try_judge_said(struct review_try *try)
{
	try_each_said(try, judge_fn, try);
}

/* ---- hotcell's result ---- */

const char *try_result(const struct review_try *try, const char *path)
{
	const struct value *value = &try->result;
	char key[64];

	while (value && *path) {
		size_t len = strcspn(path, ".");
		if (value->kind != VALUE_MAP || len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		value = value_get(value, key);
		path += len + (path[len] == '.');
	}
	return value ? value->text : NULL;
}

uint64_t try_result_number(const struct review_try *try, const char *path)
{
	const char *text = try_result(try, path);

	return text && isdigit((unsigned char)*text) ? strtoull(text, NULL, 10) : 0;
}

bool try_outcome_is(const struct review_try *try, const char *outcome)
{
	const char *was = try_result(try, "outcome");

	return was && strcmp(was, outcome) == 0;
}

/* ---- its processes ---- */

bool try_proc(const struct review_try *try, pid_t pid, const char *file, struct buf *ret)
{
	char path[128];
	struct err err;

	(void)try;
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return fs_read_small(AT_FDCWD, path, 1 << 20, ret, &err) == 0;
}

size_t try_processes(const struct review_try *try, pid_t *ret, size_t max)
{
	DIR *proc = opendir("/proc");
	size_t count = 0;

	for (const struct dirent *entry; proc && count < max && (entry = readdir(proc));) {
		own(buf_done) struct buf line = {0};
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || pid == try->hotcell || pid == getpid() || !try_proc(try, pid, "cmdline", &line))
			continue;
		if (line.len > 0 && memmem(line.data, line.len, try->mark, strlen(try->mark) + 1))
			ret[count++] = pid;
	}
	if (proc)
		(void)closedir(proc);
	return count;
}

const char *try_status_line(const struct buf *status, const char *name)
{
	static char values[4][256];
	static unsigned next;
	char *value = values[next++ % ARRAY_LEN(values)];
	size_t len = strlen(name);

	for (const char *line = buf_text(status); line && *line; line = strchr(line, '\n'), line += line != NULL) {
		if (strncmp(line, name, len) != 0 || line[len] != ':')
			continue;
		line += len + 1 + strspn(line + len + 1, " \t");
		(void)snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(line, "\n"), line);
		return value;
	}
	return NULL;
}

bool try_link(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	ssize_t len = readlink(path, ret, size - 1);
	if (len < 0)
		return false;
	ret[len] = '\0';
	return true;
}
