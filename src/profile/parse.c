/* From a tree of values to a profile. The text may be a hostile repository's: base/yaml bounds its bytes, depth and values,
 * and everything in it is either understood or refused. */
#include "profile/profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/term.h"
#include "base/yaml.h"

#define SHOWN_MAX 60 /* bytes of the file repeated in an error */

const char *const profile_list_names[PROFILE_LISTS] = {
	[PROFILE_ALLOW] = "allow",
	[PROFILE_SERVICE] = "service",
	[PROFILE_SECRET] = "secret-door",
	[PROFILE_HIDE] = "hide",
	[PROFILE_FORBID] = "forbid",
	[PROFILE_REQUIRE] = "require",
};

#define LIMIT(field) offsetof(struct cell_limits, field)
const struct profile_limit profile_limits[PROFILE_LIMITS] = {
	{"memory", PROFILE_SIZE, LIMIT(memory), 0},
	{"cpus", PROFILE_CPUS, LIMIT(cpus_milli), 0},
	{"processes", PROFILE_COUNT, LIMIT(processes), 4194304},
	{"timeout", PROFILE_DURATION, LIMIT(timeout_ms), 0},
	{"tmp-size", PROFILE_SIZE, LIMIT(tmp), 0},
	{"disk", PROFILE_SIZE, LIMIT(disk), 0},
	{"shm", PROFILE_SIZE, LIMIT(shm), 0},
	{"file-size", PROFILE_SIZE, LIMIT(file_size), 0},
	{"open-files", PROFILE_COUNT, LIMIT(open_files), 1048576},
	{"max-output", PROFILE_SIZE, LIMIT(output), 0},
	{"max-collect", PROFILE_SIZE, LIMIT(collect), 0},
	{"max-collect-files", PROFILE_COUNT, LIMIT(collect_files), 100000000},
};

struct reader {
	struct profile *profile;
	const char *name;
	bool ours; /* a built-in text, which may name calls that only other processors have */
	struct err *err;
};

/* ---- errors ---- */

static int fail(struct reader *reader, unsigned line, const char *format, ...) PRINTF_LIKE(3, 4);

static int fail(struct reader *reader, unsigned line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int failed = value_fail(reader->err, reader->name, line, format, args);
	va_end(args);
	return failed;
}

static int wrong_kind(struct reader *reader, const struct value *value, const char *path, const char *wanted)
{
	return fail(reader, value->line, "'%s' must be %s, not %s", path, wanted, value_kind_name(value->kind));
}

/* What stood there, safe to be repeated; the caller frees. */
static char *shown(const char *text)
{
	struct buf buf = {0};

	term_line(text, strlen(text), SHOWN_MAX, &buf);
	return buf.len > 0 ? buf_take(&buf) : xstrdup("");
}

static int unknown_key(struct reader *reader, const struct value *map, size_t at, const char *within, const char *expected)
{
	own(freep) char *key = shown(map->keys[at]);

	return fail(reader, map->key_lines[at], "unknown key '%s%s%s'; expected %s", within, *within ? "." : "", key, expected);
}

static bool is_text(const struct value *value)
{
	return value->kind == VALUE_TEXT || value->kind == VALUE_NUMBER;
}

/* ---- lists of text ---- */

typedef int item_fn(struct reader *reader, const struct value *item, const char *path, void *data);

/* A list, or one text. */
static int each(struct reader *reader, const struct value *value, const char *path, item_fn *fn, void *data)
{
	const struct value *items = value->kind == VALUE_LIST ? value->items : value;
	size_t count = value->kind == VALUE_LIST ? value->count : 1;

	if (count > PROFILE_MAX_ITEMS)
		return fail(reader, value->line, "'%s' has %zu items; at most %d are taken", path, count, PROFILE_MAX_ITEMS);
	for (size_t i = 0; i < count; i++) {
		if (!is_text(&items[i]))
			return wrong_kind(reader, &items[i], path, items == value ? "a string or an array of strings" : "an array of strings");
		if (!items[i].text[0] || strlen(items[i].text) > PROFILE_MAX_TEXT)
			return fail(reader, items[i].line, "an item of '%s' is empty or longer than %d bytes", path, PROFILE_MAX_TEXT);
		if (fn(reader, &items[i], path, data) < 0)
			return -1;
	}
	return 0;
}

static int add_item(struct reader *reader, const struct value *item, const char *path, void *data)
{
	struct profile_items *list = data;

	if (list->count >= PROFILE_MAX_ITEMS)
		return fail(reader, item->line, "'%s' has more than %d items, with those of what it extends", path,
			PROFILE_MAX_ITEMS);
	list->items = xrealloc(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = (struct profile_item){xstrdup(item->text), item->line};
	return 0;
}

/* ---- system calls ---- */

static int call_of(struct reader *reader, const struct value *item, const char *path, size_t *ret)
{
	const struct cell_call *call;

	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (strcmp(call->name, item->text) == 0) {
			*ret = i;
			return 0;
		}
	own(freep) char *name = shown(item->text);
	return fail(reader, item->line, "%s: '%s' is no system call that cells know; 'hotcell profile show --calls' lists them",
		path, name);
}

static int deny_call(struct reader *reader, const struct value *item, const char *path, void *data)
{
	struct profile *profile = reader->profile;
	bool *denied = data; /* by this list, one by one */
	const struct cell_call *call;
	size_t at;

	if (strcmp(item->text, "all") == 0) {
		for (size_t i = 0; (call = cell_call_at(i)); i++) {
			profile->denied[i] = profile->denied[i] || call->kind == CELL_CALL_FREE;
			profile->opened[i] = false;
		}
		return 0;
	}
	if (reader->ours && !cell_call_find(item->text))
		return 0;
	if (call_of(reader, item, path, &at) < 0)
		return -1;
	call = cell_call_at(at);
	if (call->kind == CELL_CALL_KEPT)
		return fail(reader, item->line, "%s: '%s' cannot be denied: %s", path, call->name, call->why);
	profile->denied[at] = call->kind == CELL_CALL_FREE; /* others are refused anyway */
	profile->opened[at] = false;
	denied[at] = true;
	return 0;
}

static int allow_call(struct reader *reader, const struct value *item, const char *path, void *data)
{
	struct profile *profile = reader->profile;
	const bool *denied = data;
	size_t at;

	if (call_of(reader, item, path, &at) < 0)
		return -1;
	const struct cell_call *call = cell_call_at(at);
	if (call->kind == CELL_CALL_NEVER)
		return fail(reader, item->line, "%s: '%s' can never be allowed in a cell: %s", path, call->name, call->why);
	if (denied[at])
		return fail(reader, item->line, "'%s' is both in syscalls.deny and in syscalls.allow", call->name);
	profile->denied[at] = false;
	profile->opened[at] = call->kind == CELL_CALL_CLOSED;
	profile->named[at] = true;
	return 0;
}

static int take_calls(struct reader *reader, const struct value *map)
{
	bool denied[CELL_MAX_CALLS] = {false};
	const struct value *deny = value_get(map, "deny"), *allow = value_get(map, "allow");

	if (map->kind != VALUE_MAP)
		return wrong_kind(reader, map, "syscalls", "an object with 'allow' and 'deny'");
	for (size_t i = 0; i < map->count; i++)
		if (&map->items[i] != deny && &map->items[i] != allow)
			return unknown_key(reader, map, i, "syscalls", "'allow' or 'deny'");
	/* in this order wherever they stand */
	if (deny && each(reader, deny, "syscalls.deny", deny_call, denied) < 0)
		return -1;
	return allow ? each(reader, allow, "syscalls.allow", allow_call, denied) : 0;
}

/* ---- paths ---- */

#define MAKE                                                                                                   \
	(CELL_RIGHT(CELL_MAKE_FILE) | CELL_RIGHT(CELL_MAKE_DIR) | CELL_RIGHT(CELL_MAKE_SYMLINK) |              \
		CELL_RIGHT(CELL_MAKE_SOCKET) | CELL_RIGHT(CELL_MAKE_FIFO))
#define REMOVE (CELL_RIGHT(CELL_REMOVE_FILE) | CELL_RIGHT(CELL_REMOVE_DIR))

static const struct {
	const char *name;
	uint32_t rights;
} groups[] = {
	{"make", MAKE},
	{"remove", REMOVE},
	{"modify", CELL_RIGHT(CELL_WRITE) | CELL_RIGHT(CELL_TRUNCATE) | MAKE | REMOVE | CELL_RIGHT(CELL_REFER)},
};

const char *profile_right_at(size_t index)
{
	if (index < CELL_RIGHT_COUNT)
		return cell_right_name((unsigned)index);
	index -= CELL_RIGHT_COUNT;
	return index < ARRAY_LEN(groups) ? groups[index].name : NULL;
}

static int take_right(struct reader *reader, const struct value *item, const char *path, void *data)
{
	uint32_t *rights = data;
	own(buf_done) struct buf known = {0};

	for (unsigned i = 0; i < CELL_RIGHT_COUNT; i++) {
		if (strcmp(cell_right_name(i), item->text) == 0) {
			*rights |= CELL_RIGHT(i);
			return 0;
		}
		buf_fmt(&known, "%s, ", cell_right_name(i));
	}
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		if (strcmp(groups[i].name, item->text) == 0) {
			*rights |= groups[i].rights;
			return 0;
		}
	own(freep) char *name = shown(item->text);
	return fail(reader, item->line, "%s: '%s' is no right; expected %sor all of a kind: make, remove, modify", path, name,
		buf_text(&known));
}

/* As the kernel would walk it without surprises. */
static bool is_plain_path(const char *path)
{
	if (path[0] != '/' || strlen(path) >= 4096)
		return false;
	for (const char *at = path; *at && at[1]; at += 1 + strcspn(at + 1, "/")) {
		size_t len = strcspn(at + 1, "/");
		if (len == 0 || len > 255 || (len == 1 && at[1] == '.') || (len == 2 && at[1] == '.' && at[2] == '.'))
			return false;
	}
	return path[1] == '\0' || path[strlen(path) - 1] != '/';
}

static int take_path(struct reader *reader, const struct value *map)
{
	struct profile *profile = reader->profile;
	const struct value *path = value_get(map, "path"), *rights = value_get(map, "rights");
	uint32_t bits = 0;

	if (map->kind != VALUE_MAP)
		return wrong_kind(reader, map, "paths", "an array of objects with 'path' and 'rights'");
	for (size_t i = 0; i < map->count; i++)
		if (&map->items[i] != path && &map->items[i] != rights)
			return unknown_key(reader, map, i, "paths", "'path' and 'rights'");
	if (!path || !rights)
		return fail(reader, map->line, "an item of 'paths' has no '%s'", path ? "rights" : "path");
	if (!is_text(path) || !is_plain_path(path->text))
		return fail(reader, path->line,
			"paths.path must be an absolute path in the cell, without '.', '..', '//' or a '/' at its end");
	if (each(reader, rights, "paths.rights", take_right, &bits) < 0)
		return -1;
	if (bits == 0)
		return fail(reader, rights->line, "'paths.rights' is empty: leave the path out, it then has none");
	for (size_t i = 0; i < profile->path_count; i++)
		if (strcmp(profile->paths[i].path, path->text) == 0)
			return fail(reader, path->line, "this path is given twice");
	if (profile->path_count == CELL_MAX_PATHS)
		return fail(reader, map->line, "there are more than %d paths", CELL_MAX_PATHS);
	profile->paths = xrealloc(profile->paths, profile->path_count + 1, sizeof(*profile->paths));
	profile->paths[profile->path_count++] = (struct cell_path){xstrdup(path->text), bits};
	return 0;
}

void profile_paths_done(struct profile *profile)
{
	for (size_t i = 0; i < profile->path_count; i++)
		free((void *)(uintptr_t)profile->paths[i].path);
	free(profile->paths);
	profile->paths = NULL;
	profile->path_count = 0;
}

static int take_paths(struct reader *reader, const struct value *list)
{
	profile_paths_done(reader->profile); /* what it extends does not add to it */
	if (list->kind != VALUE_LIST)
		return wrong_kind(reader, list, "paths", "an array of objects with 'path' and 'rights'");
	if (list->count == 0)
		return fail(reader, list->line,
			"'paths' is empty, and would rule nothing: leave it out, or name what may be written; /dev/null alone is nowhere");
	for (size_t i = 0; i < list->count; i++)
		if (take_path(reader, &list->items[i]) < 0)
			return -1;
	return 0;
}

/* ---- capabilities ---- */

const char *const profile_capabilities[] = {"all", "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill",
	"setgid", "setuid", "setpcap", "linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw",
	"ipc_lock", "ipc_owner", "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin",
	"sys_boot", "sys_nice", "sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write",
	"audit_control", "setfcap", "mac_override", "mac_admin", "syslog", "wake_alarm", "block_suspend",
	"audit_read", "perfmon", "bpf", "checkpoint_restore", NULL};

static int check_capability(struct reader *reader, const struct value *item, const char *path, void *data)
{
	const char *text = strncasecmp(item->text, "cap_", 4) == 0 ? item->text + 4 : item->text;

	(void)data;
	for (const char *const *known = profile_capabilities; *known; known++)
		if (strcasecmp(*known, text) == 0) {
			reader->profile->drops = true;
			return 0;
		}
	own(freep) char *name = shown(item->text);
	return fail(reader, item->line, "%s: '%s' is no capability; expected names such as CAP_NET_RAW, or all", path, name);
}

static int take_capabilities(struct reader *reader, const struct value *map)
{
	if (map->kind != VALUE_MAP)
		return wrong_kind(reader, map, "capabilities", "an object with 'drop'");
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->keys[i], "drop") != 0) {
			own(freep) char *key = shown(map->keys[i]);
			return fail(reader, map->key_lines[i],
				"'capabilities.%s': a cell has no capabilities and can be given none; expected 'drop', or nothing",
				key);
		}
		if (each(reader, &map->items[i], "capabilities.drop", check_capability, NULL) < 0)
			return -1;
	}
	return 0;
}

/* ---- limits ---- */

static int take_limit(struct reader *reader, const struct value *value, size_t at)
{
	const struct profile_limit *limit = &profile_limits[at];
	char *into = (char *)&reader->profile->limits + limit->offset;
	struct err err = {0};
	char what[64];
	int failed;

	(void)snprintf(what, sizeof(what), "limits.%s", limit->name);
	if (!is_text(value))
		return wrong_kind(reader, value, what, "a number, a size such as 512M or a duration such as 15m");
	switch (limit->kind) {
	case PROFILE_SIZE: failed = size_parse(value->text, what, (uint64_t *)(void *)into, &err); break;
	case PROFILE_DURATION: failed = duration_parse(value->text, what, (uint64_t *)(void *)into, &err); break;
	case PROFILE_CPUS: failed = cpus_parse(value->text, what, (uint32_t *)(void *)into, &err); break;
	default: failed = count_parse(value->text, what, 1, limit->max, (uint64_t *)(void *)into, &err); break;
	}
	reader->profile->limit_set[at] = true;
	return failed ? fail(reader, value->line, "%s", err.text) : 0;
}

static int take_limits(struct reader *reader, const struct value *map)
{
	if (map->kind != VALUE_MAP)
		return wrong_kind(reader, map, "limits", "an object, such as {memory: 1G}");
	for (size_t i = 0; i < map->count; i++) {
		own(buf_done) struct buf names = {0};
		size_t at = 0;
		while (at < PROFILE_LIMITS && strcmp(profile_limits[at].name, map->keys[i]) != 0)
			buf_fmt(&names, "%s%s", at ? ", " : "", profile_limits[at].name), at++;
		if (at == PROFILE_LIMITS)
			return unknown_key(reader, map, i, "limits", buf_text(&names));
		if (take_limit(reader, &map->items[i], at) < 0)
			return -1;
	}
	return 0;
}

/* ---- the rest ---- */

static int take_doors(struct reader *reader, const struct value *map)
{
	if (map->kind != VALUE_MAP)
		return wrong_kind(reader, map, "doors", "an object with 'allow', 'service' and 'secret-door'");
	for (size_t i = 0; i < map->count; i++) {
		size_t at = PROFILE_ALLOW;
		while (at <= PROFILE_SECRET && strcmp(profile_list_names[at], map->keys[i]) != 0)
			at++;
		if (at > PROFILE_SECRET)
			return unknown_key(reader, map, i, "doors", "'allow', 'service' or 'secret-door'");
		own(freep) char *path = xfmt("doors.%s", profile_list_names[at]);
		if (each(reader, &map->items[i], path, add_item, &reader->profile->lists[at]) < 0)
			return -1;
	}
	return 0;
}

static int take_description(struct reader *reader, const struct value *value)
{
	if (!is_text(value) || strlen(value->text) > PROFILE_MAX_TEXT)
		return fail(reader, value->line, "'description' must be a string of at most %d bytes", PROFILE_MAX_TEXT);
	free(reader->profile->description);
	reader->profile->description = xstrdup(value->text);
	return 0;
}

static int take_flag(struct reader *reader, const struct value *value, const char *path, bool *ret)
{
	if (value->kind != VALUE_BOOL)
		return wrong_kind(reader, value, path, "true or false");
	*ret = value->truth;
	return 0;
}

static int take_tmp_exec(struct reader *reader, const struct value *value)
{
	return take_flag(reader, value, "tmp-exec", &reader->profile->tmp_exec);
}

static int take_workspace_exec(struct reader *reader, const struct value *value)
{
	bool may = false;

	if (take_flag(reader, value, "workspace-exec", &may) < 0)
		return -1;
	reader->profile->no_exec = !may;
	return 0;
}

static int take_hide(struct reader *reader, const struct value *value)
{
	return each(reader, value, "hide", add_item, &reader->profile->lists[PROFILE_HIDE]);
}

static int take_forbid(struct reader *reader, const struct value *value)
{
	return each(reader, value, "forbid", add_item, &reader->profile->lists[PROFILE_FORBID]);
}

static int take_require(struct reader *reader, const struct value *value)
{
	return each(reader, value, "require", add_item, &reader->profile->lists[PROFILE_REQUIRE]);
}

static int extends_taken(struct reader *reader, const struct value *value)
{
	(void)reader;
	(void)value; /* before all others */
	return 0;
}

static const struct {
	struct profile_key key;
	int (*take)(struct reader *reader, const struct value *value);
} keys[] = {
	{{"extends", "the built-in profile that this one begins with", PROFILE_IS_BASE}, extends_taken},
	{{"description", "what it is for", PROFILE_IS_TEXT}, take_description},
	{{"syscalls", "system calls that are refused or let through, besides what every cell refuses", PROFILE_IS_CALLS}, take_calls},
	{{"paths", "what may be written; if there is any, nothing else can be", PROFILE_IS_PATHS}, take_paths},
	{{"capabilities", "a cell has none: this says so, and nothing can be added", PROFILE_IS_CAPABILITIES}, take_capabilities},
	{{"limits", "limits of the cell, by the names of the options of 'hotcell run'", PROFILE_IS_LIMITS}, take_limits},
	{{"doors", "ways out of the cell's network, each as after the option of that name", PROFILE_IS_DOORS}, take_doors},
	{{"tmp-exec", "whether programs may be run from /tmp", PROFILE_IS_FLAG}, take_tmp_exec},
	{{"workspace-exec", "whether programs may be run from /workspace or a writable mount", PROFILE_IS_FLAG},
		take_workspace_exec},
	{{"hide", "names that vanish from mounts, besides .git, .env, *.pem and such", PROFILE_IS_LIST}, take_hide},
	{{"forbid", "programs that can be neither run nor read in the cell, wherever they are", PROFILE_IS_LIST}, take_forbid},
	{{"require", "protections without which nothing is started; 'full' is all", PROFILE_IS_LIST}, take_require},
};

const struct profile_key *profile_key_at(size_t index)
{
	return index < ARRAY_LEN(keys) ? &keys[index].key : NULL;
}

/* Keys of a campaign's file that somebody may expect here, and why they are not. */
static const char *not_here(const char *key)
{
	static const char *const words[] = {"mount", "mounts", "env", "pass-env", "image", "uid", "backend", "no-sandbox",
		"no-default-hide", "command", "output", "stdin"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i], key) == 0)
			return "what of this machine goes into a cell, and what runs in it, is said by who starts it, not by a "
			       "profile";
	return NULL;
}

static int take_key(struct reader *reader, const struct value *root, size_t at)
{
	own(buf_done) struct buf names = {0};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(keys[i].key.name, root->keys[at]) == 0)
			return keys[i].take(reader, &root->items[at]);
		buf_fmt(&names, "%s%s", i ? ", " : "", keys[i].key.name);
	}
	if (not_here(root->keys[at]))
		return fail(reader, root->key_lines[at], "'%s' cannot be in a profile: %s", root->keys[at],
			not_here(root->keys[at]));
	return unknown_key(reader, root, at, "", buf_text(&names));
}

static int parse_into(struct profile *profile, const char *text, size_t len, const char *name, bool nested, struct err *err);

static int take_base(struct reader *reader, const struct value *root)
{
	const struct value *extends = value_get(root, "extends");
	struct profile *profile = reader->profile;
	const char *name = extends ? extends->text : "default";
	const char *text = extends && !is_text(extends) ? NULL : profile_builtin_text(name);

	if (!text)
		return fail(reader, extends ? extends->line : 1, "'extends' must be default, strict, build or browser");
	if (parse_into(profile, text, strlen(text), name, true, reader->err) < 0)
		return -1;
	profile->extends = xstrdup(name);
	free(profile->description);
	profile->description = NULL;
	memset(profile->named, 0, sizeof(profile->named));
	for (size_t i = 0; i < PROFILE_LISTS; i++)
		for (size_t k = 0; k < profile->lists[i].count; k++)
			profile->lists[i].items[k].line = 0;
	return 0;
}

static int parse_into(struct profile *profile, const char *text, size_t len, const char *name, bool nested, struct err *err)
{
	struct reader reader = {.profile = profile, .name = name, .ours = profile_builtin_text(name) == text, .err = err};
	own(value_done) struct value root = {0};

	if (yaml_parse(text, len, name, &root, err) < 0)
		return -1;
	if (root.kind != VALUE_MAP && root.kind != VALUE_NULL)
		return fail(&reader, root.line, "a profile must be an object (key: value), not %s", value_kind_name(root.kind));
	if (!nested && take_base(&reader, &root) < 0)
		return -1;
	for (size_t i = 0; i < root.count; i++)
		if (take_key(&reader, &root, i) < 0)
			return -1;
	return 0;
}

int profile_parse(struct profile *ret, const char *text, size_t len, const char *name, struct err *err)
{
	unsigned char sum[SHA256_SIZE];
	struct sha256 sha;

	*ret = (struct profile){.name = xstrdup(name)};
	sha256_init(&sha);
	sha256_add(&sha, text, len);
	sha256_end(&sha, sum);
	sha256_hex(sum, ret->sum);
	if (parse_into(ret, text, len, name, false, err) == 0)
		return 0;
	profile_done(ret);
	return -1;
}

int profile_builtin(struct profile *ret, const char *name, struct err *err)
{
	const char *text = profile_builtin_text(name);
	own(freep) char *typed = shown(name);

	*ret = (struct profile){0};
	if (!text)
		return err_set(err, ERR_USAGE,
			"there is no profile '%s': name default, strict, build or browser, or a file, FILE.yaml or ./FILE", typed);
	if (profile_parse(ret, text, strlen(text), name, err) < 0)
		return -1;
	ret->builtin = true;
	return 0;
}

void profile_done(struct profile *profile)
{
	for (size_t i = 0; i < PROFILE_LISTS; i++) {
		for (size_t k = 0; k < profile->lists[i].count; k++)
			free(profile->lists[i].items[k].text);
		free(profile->lists[i].items);
	}
	profile_paths_done(profile);
	free(profile->deny);
	free(profile->allow);
	free(profile->label);
	free(profile->extends);
	free(profile->description);
	free(profile->name);
	*profile = (struct profile){0};
}
