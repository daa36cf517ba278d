/* From what was seen of a run to the smallest profile that lets it work. */
#include "profile/profile.h"

#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

/* ---- calls ---- */

static void deny_unseen(struct profile *profile, const struct profile_seen *seen)
{
	const struct cell_call *call;

	for (size_t i = 0; (call = cell_call_at(i)); i++) {
		profile->denied[i] = call->kind == CELL_CALL_FREE && !seen->result->observed.calls[i];
		profile->named[i] = call->kind == CELL_CALL_FREE && !profile->denied[i];
	}
	for (size_t i = 0; seen->spec->calls_allow && seen->spec->calls_allow[i]; i++)
		for (size_t k = 0; (call = cell_call_at(k)); k++)
			profile->opened[k] = profile->opened[k] || strcmp(call->name, seen->spec->calls_allow[i]) == 0;
}

static bool made(const struct cell_result *result, const char *const *names)
{
	const struct cell_call *call;

	for (; *names; names++)
		for (size_t i = 0; (call = cell_call_at(i)); i++)
			if (result->observed.calls[i] && strcmp(call->name, *names) == 0)
				return true;
	return false;
}

/* ---- paths ---- */

/* A right of which no call was seen that needs it is not given. Opening and cutting files short are in openat, which every
 * program needs and nobody looks at. */
static uint32_t rights_of(const struct cell_result *result)
{
	static const struct {
		uint32_t rights;
		const char *calls[8];
	} rows[] = {
		{CELL_RIGHT(CELL_MAKE_DIR), {"mkdir", "mkdirat"}},
		{CELL_RIGHT(CELL_MAKE_SYMLINK), {"symlink", "symlinkat"}},
		{CELL_RIGHT(CELL_MAKE_SOCKET), {"bind", "mknod", "mknodat"}},
		{CELL_RIGHT(CELL_MAKE_FIFO), {"mknod", "mknodat"}},
		{CELL_RIGHT(CELL_REMOVE_FILE), {"unlink", "unlinkat", "rename", "renameat", "renameat2"}},
		{CELL_RIGHT(CELL_REMOVE_DIR), {"rmdir", "unlinkat", "rename", "renameat", "renameat2"}},
		{CELL_RIGHT(CELL_MAKE_DIR) | CELL_RIGHT(CELL_MAKE_SYMLINK) | CELL_RIGHT(CELL_REFER),
			{"rename", "renameat", "renameat2", "link", "linkat"}},
	};
	uint32_t rights = CELL_RIGHT(CELL_WRITE) | CELL_RIGHT(CELL_TRUNCATE) | CELL_RIGHT(CELL_MAKE_FILE);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (made(result, rows[i].calls))
			rights |= rows[i].rights;
	return rights;
}

static void path_add(struct profile *profile, const char *path, uint32_t rights)
{
	if (profile->path_count == CELL_MAX_PATHS)
		return;
	profile->paths = xrealloc(profile->paths, profile->path_count + 1, sizeof(*profile->paths));
	profile->paths[profile->path_count++] = (struct cell_path){xstrdup(path), rights};
}

static void propose_paths(struct profile *profile, const struct profile_seen *seen)
{
	const struct cell_observed *observed = &seen->result->observed;
	uint32_t rights = rights_of(seen->result);
	const struct {
		const char *path;
		bool wrote;
	} places[] = {
		{CELL_WORKSPACE, observed->wrote_workspace}, {"/tmp", observed->wrote_tmp}, {"/dev/shm", observed->wrote_shm}};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (places[i].wrote)
			path_add(profile, places[i].path, rights);
	for (size_t i = 0; i < seen->spec->mount_count; i++)
		if (seen->spec->mounts[i].writable)
			path_add(profile, seen->spec->mounts[i].target, rights);
	if (profile->path_count == 0) /* a list must not be empty to count: the devices that it has anyway */
		path_add(profile, "/dev/null", CELL_RIGHT(CELL_WRITE));
}

/* ---- limits ---- */

static uint64_t round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

/* With headroom, and never more than it had. */
static uint64_t within(uint64_t value, uint64_t least, uint64_t had)
{
	value = value < least ? least : value;
	return value > had ? had : value;
}

static void limit_set(struct profile *profile, const char *name)
{
	for (size_t i = 0; i < PROFILE_LIMITS; i++)
		if (strcmp(profile_limits[i].name, name) == 0)
			profile->limit_set[i] = true;
}

static void propose_limits(struct profile *profile, const struct profile_seen *seen, struct buf *notes)
{
	const struct cell_limits *had = &seen->spec->limits;
	const struct cell_result *result = seen->result;
	struct cell_limits *limits = &profile->limits;
	uint64_t wall_ms = result->wall_ns / 1000000, printed = result->stdout_bytes + result->stderr_bytes;

	*limits = *had;
	if (result->peak_memory > 0)
		limits->memory = within(round_up(result->peak_memory * 3 / 2, 8 * MIB), 32 * MIB, had->memory);
	else
		buf_str(notes, "memory, which this machine does not measure: its limit stays\n");
	limits->processes = within(result->processes * 3 / 2 + 4, 8, had->processes);
	limits->timeout_ms = within(round_up(wall_ms * 4, 1000), 10000, had->timeout_ms);
	limits->output = within(round_up(printed * 2, 64 * KIB), 64 * KIB, had->output);
	for (size_t i = 0; i < PROFILE_LIMITS; i++)
		profile->limit_set[i] = false;
	static const char *const ruled[] = {"memory", "processes", "timeout", "max-output", "cpus", "tmp-size", "disk", "shm",
		"file-size", "open-files"};
	for (size_t i = 0; i < ARRAY_LEN(ruled); i++)
		limit_set(profile, ruled[i]);
	buf_str(notes, "how much of cpus, tmp-size, disk, shm, file-size and open-files it needs: these limits stay as they "
		       "were\n");
	buf_str(notes, "how many processes there were at once: those ever made were counted\n");
}

/* ---- all of it ---- */

static void items_add(struct profile_items *list, const char *const *texts)
{
	for (; texts && *texts; texts++) {
		list->items = xrealloc(list->items, list->count + 1, sizeof(*list->items));
		list->items[list->count++] = (struct profile_item){xstrdup(*texts), 0};
	}
}

void profile_propose(struct profile *ret, const struct profile_seen *seen, struct buf *ret_notes)
{
	*ret = (struct profile){.name = xstrdup("learned"), .extends = xstrdup("default"), .drops = true};
	deny_unseen(ret, seen);
	propose_paths(ret, seen);
	propose_limits(ret, seen, ret_notes);
	ret->tmp_exec = seen->spec->tmp_exec;
	ret->no_exec = seen->spec->no_exec;
	items_add(&ret->lists[PROFILE_ALLOW], seen->allow);
	items_add(&ret->lists[PROFILE_SERVICE], seen->others[0]);
	items_add(&ret->lists[PROFILE_SECRET], seen->others[1]);
	items_add(&ret->lists[PROFILE_FORBID], seen->spec->forbid);
	buf_str(ret_notes, "paths of single files: places that were written to are known, and rights by the calls that were made; "
			   "writable mounts are taken as written to, and reading is not limited\n");
	buf_str(ret_notes, "calls that every program needs to start, which cannot be denied anyway\n");
	buf_str(ret_notes, "what other input would make it do\n");
}

size_t profile_relent(struct profile *profile, const struct cell_result *result)
{
	const struct cell_call *call;
	size_t count = 0;

	for (size_t i = 0; i < CELL_REFUSED_KEPT && result->refused[i].what; i++)
		for (size_t k = 0; (call = cell_call_at(k)); k++)
			if (profile->denied[k] && strcmp(call->name, result->refused[i].what) == 0) {
				profile->denied[k] = false;
				profile->named[k] = true;
				count++;
			}
	return count;
}

void profile_widen(struct profile *profile, const struct cell_spec *had)
{
	static const char *const places[] = {CELL_WORKSPACE, "/tmp", "/dev/shm"};
	const uint32_t reading = CELL_RIGHT(CELL_READ) | CELL_RIGHT(CELL_LIST) | CELL_RIGHT(CELL_EXECUTE) | CELL_RIGHT(CELL_IOCTL);
	const uint32_t writing = (CELL_RIGHT(CELL_RIGHT_COUNT) - 1) & ~reading;

	profile->limits = had->limits;
	profile_paths_done(profile);
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		path_add(profile, places[i], writing);
	for (size_t i = 0; i < had->mount_count; i++)
		if (had->mounts[i].writable)
			path_add(profile, had->mounts[i].target, writing);
}
