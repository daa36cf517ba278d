/* What a spec may say about system calls and paths. */
#include <string.h>

#include "base/buf.h"
#include "base/term.h"
#include "cell/backend.h"

#define SHOWN_MAX 60

static const char *const right_names[] = {
	[CELL_READ] = "read",
	[CELL_LIST] = "list",
	[CELL_EXECUTE] = "execute",
	[CELL_WRITE] = "write",
	[CELL_TRUNCATE] = "truncate",
	[CELL_MAKE_FILE] = "make-file",
	[CELL_MAKE_DIR] = "make-dir",
	[CELL_MAKE_SYMLINK] = "make-symlink",
	[CELL_MAKE_SOCKET] = "make-socket",
	[CELL_MAKE_FIFO] = "make-fifo",
	[CELL_REMOVE_FILE] = "remove-file",
	[CELL_REMOVE_DIR] = "remove-dir",
	[CELL_REFER] = "refer",
	[CELL_IOCTL] = "ioctl",
};
_Static_assert(ARRAY_LEN(right_names) == CELL_RIGHT_COUNT, "a right has no name");

const char *cell_right_name(enum cell_right right)
{
	return right < CELL_RIGHT_COUNT ? right_names[right] : "?";
}

static int check_call(const char *name, bool deny, struct err *err)
{
	const struct cell_call *call = cell_call_find(name);
	own(buf_done) struct buf shown = {0};

	if (!call) {
		term_line(name, strlen(name), SHOWN_MAX, &shown);
		return err_set(err, ERR_USAGE, "'%s' is no system call that cells know", buf_text(&shown));
	}
	if (deny && call->kind == CELL_CALL_KEPT)
		return err_set(err, ERR_USAGE, "the system call '%s' cannot be denied: %s", name, call->why);
	if (!deny && call->kind == CELL_CALL_NEVER)
		return err_set(err, ERR_USAGE, "the system call '%s' can never be allowed in a cell: %s", name, call->why);
	return 0;
}

static bool has(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static int check_calls(const struct cell_spec *spec, struct err *err)
{
	size_t count = 0;

	for (size_t i = 0; spec->calls_deny && spec->calls_deny[i]; i++, count++)
		if (check_call(spec->calls_deny[i], true, err) < 0)
			return -1;
	for (size_t i = 0; spec->calls_allow && spec->calls_allow[i]; i++, count++) {
		const char *name = spec->calls_allow[i];
		if (check_call(name, false, err) < 0)
			return -1;
		if (has(spec->calls_deny, name))
			return err_set(err, ERR_USAGE, "the system call '%s' is both allowed and denied", name);
	}
	if (count > CELL_MAX_CALLS)
		return err_set(err, ERR_USAGE, "%zu system calls are more than there are", count);
	return 0;
}

int cell_rules_check(const struct cell_spec *spec, struct err *err)
{
	if (spec->path_count > CELL_MAX_PATHS)
		return err_set(err, ERR_USAGE, "%zu paths with rights are more than the %d a cell takes", spec->path_count,
			CELL_MAX_PATHS);
	for (size_t i = 0; i < spec->path_count; i++) {
		if (cell_inside_path_check(spec->paths[i].path, "path", err) < 0)
			return -1;
		if (spec->paths[i].rights == 0 || spec->paths[i].rights >= CELL_RIGHT(CELL_RIGHT_COUNT))
			return err_set(err, ERR_USAGE, "path '%s' has no rights, or unknown ones", spec->paths[i].path);
	}
	return check_calls(spec, err);
}
