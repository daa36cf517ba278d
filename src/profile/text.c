/* A profile for people and machines. */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "base/utf8.h"

#define LINE_WIDTH 110
#define SHOWN_MAX 200

/* ---- quantities as they would be written ---- */

static void put_size(struct buf *out, uint64_t bytes)
{
	static const char units[] = "kMGT";
	int unit = -1;

	while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	buf_fmt(out, "%" PRIu64, bytes);
	if (unit >= 0)
		buf_char(out, units[unit]);
}

static void put_limit(struct buf *out, const struct profile *profile, size_t at)
{
	const struct profile_limit *limit = &profile_limits[at];
	uint32_t milli = profile->limits.cpus_milli;
	uint64_t value = 0;

	if (limit->kind != PROFILE_CPUS)
		memcpy(&value, (const char *)&profile->limits + limit->offset, sizeof(value));
	switch (limit->kind) {
	case PROFILE_SIZE: put_size(out, value); break;
	case PROFILE_COUNT: buf_fmt(out, "%" PRIu64, value); break;
	case PROFILE_DURATION:
		buf_fmt(out, "%" PRIu64 "%s", value % 1000 ? value : value / 1000, value % 1000 ? "ms" : "s");
		break;
	case PROFILE_CPUS: buf_fmt(out, milli % 1000 ? "%u.%03u" : "%u", milli / 1000, milli % 1000); break;
	}
}

/* ---- YAML ---- */

/* The number of a whole character. */
static unsigned code_of(const unsigned char *at, int size)
{
	unsigned code = size == 2 ? at[0] & 0x1f : size == 3 ? at[0] & 0x0f : at[0] & 0x07;

	for (int i = 1; i < size; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

/* Always in double quotes, and all that is not ASCII as its number: whatever it holds, it is one text, and a terminal shows
 * what is there. What is no UTF-8, which no profile that was read holds, becomes U+FFFD. */
static void put_quoted(struct buf *out, const char *text)
{
	buf_char(out, '"');
	for (size_t left = strlen(text); left > 0;) {
		const unsigned char *at = (const unsigned char *)text;
		int size = utf8_char(text, left);
		if (size <= 0)
			buf_str(out, "\\uFFFD");
		else if (size > 1)
			buf_fmt(out, size == 4 ? "\\U%08X" : "\\u%04X", code_of(at, size));
		else if (*at == '"' || *at == '\\')
			buf_fmt(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			buf_fmt(out, "\\x%02x", *at);
		else
			buf_char(out, (char)*at);
		text += size > 0 ? size : 1;
		left -= size > 0 ? (size_t)size : 1;
	}
	buf_char(out, '"');
}

/* Items of a flow list, broken where a line is full. */
struct flow {
	struct buf *out;
	size_t column;
	bool any;
};

static void flow_open(struct flow *flow, struct buf *out, const char *key)
{
	*flow = (struct flow){.out = out, .column = strlen(key) + 4};
	buf_fmt(out, "%s: [", key);
}

static void flow_put(struct flow *flow, const char *word)
{
	size_t len = strlen(word) + 2;

	if (flow->any)
		buf_char(flow->out, ',');
	if (flow->column + len > LINE_WIDTH) {
		buf_str(flow->out, "\n      ");
		flow->column = 6;
	} else if (flow->any) {
		buf_char(flow->out, ' ');
	}
	buf_str(flow->out, word);
	flow->column += len;
	flow->any = true;
}

static size_t calls_count(const bool set[CELL_MAX_CALLS])
{
	size_t count = 0;

	for (size_t i = 0; i < CELL_MAX_CALLS; i++)
		count += set[i];
	return count;
}

static size_t free_count(void)
{
	const struct cell_call *call;
	size_t count = 0;

	for (size_t i = 0; (call = cell_call_at(i)); i++)
		count += call->kind == CELL_CALL_FREE;
	return count;
}

/* All that can be denied, but for a few: these are written instead. */
static bool mostly_denied(const struct profile *profile)
{
	return calls_count(profile->denied) * 2 > free_count();
}

static void put_calls(struct buf *out, const struct profile *profile)
{
	bool most = mostly_denied(profile), allows = calls_count(profile->opened) > 0;
	const struct cell_call *call;
	struct flow flow;

	if (calls_count(profile->denied) == 0 && !allows)
		return;
	buf_str(out, "syscalls:\n");
	if (most)
		buf_str(out, "  deny: [all]\n");
	else if (calls_count(profile->denied) > 0) {
		flow_open(&flow, out, "  deny");
		for (size_t i = 0; (call = cell_call_at(i)); i++)
			if (profile->denied[i])
				flow_put(&flow, call->name);
		buf_str(out, "]\n");
	}
	if (!allows && (!most || calls_count(profile->denied) == free_count()))
		return;
	flow_open(&flow, out, "  allow");
	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (profile->opened[i] || (most && call->kind == CELL_CALL_FREE && !profile->denied[i]))
			flow_put(&flow, call->name);
	buf_str(out, "]\n");
}

static void put_paths(struct buf *out, const struct profile *profile)
{
	if (profile->path_count > 0)
		buf_str(out, "paths:\n");
	for (size_t i = 0; i < profile->path_count; i++) {
		struct flow flow;
		buf_str(out, "  - path: ");
		put_quoted(out, profile->paths[i].path);
		buf_char(out, '\n');
		flow_open(&flow, out, "    rights");
		for (unsigned k = 0; k < CELL_RIGHT_COUNT; k++)
			if ((profile->paths[i].rights & CELL_RIGHT(k)) != 0)
				flow_put(&flow, cell_right_name(k));
		buf_str(out, "]\n");
	}
}

static void put_lists(struct buf *out, const struct profile *profile, size_t from, size_t to, const char *indent)
{
	for (size_t i = from; i <= to; i++) {
		if (profile->lists[i].count > 0)
			buf_fmt(out, "%s%s:\n", indent, profile_list_names[i]);
		for (size_t k = 0; k < profile->lists[i].count; k++) {
			buf_fmt(out, "%s  - ", indent);
			put_quoted(out, profile->lists[i].items[k].text);
			buf_char(out, '\n');
		}
	}
}

static bool has_doors(const struct profile *profile)
{
	return profile->lists[PROFILE_ALLOW].count > 0 || profile->lists[PROFILE_SERVICE].count > 0 ||
		profile->lists[PROFILE_SECRET].count > 0;
}

void profile_yaml(const struct profile *profile, struct buf *ret)
{
	bool limited = false;

	buf_str(ret, "extends: default\n");
	if (profile->description) {
		buf_str(ret, "description: ");
		put_quoted(ret, profile->description);
		buf_char(ret, '\n');
	}
	put_calls(ret, profile);
	put_paths(ret, profile);
	if (profile->drops)
		buf_str(ret, "capabilities:\n  drop: [all]\n");
	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		if (!profile->limit_set[i])
			continue;
		buf_fmt(ret, "%s  %s: ", limited ? "" : "limits:\n", profile_limits[i].name);
		put_limit(ret, profile, i);
		buf_char(ret, '\n');
		limited = true;
	}
	if (has_doors(profile))
		buf_str(ret, "doors:\n");
	put_lists(ret, profile, PROFILE_ALLOW, PROFILE_SECRET, "  ");
	if (profile->tmp_exec)
		buf_str(ret, "tmp-exec: true\n");
	if (profile->no_exec)
		buf_str(ret, "workspace-exec: false\n");
	put_lists(ret, profile, PROFILE_HIDE, PROFILE_REQUIRE, "");
}

/* ---- JSON ---- */

static void json_calls(struct json *json, const char *key, const bool set[CELL_MAX_CALLS])
{
	const struct cell_call *call;

	json_key(json, key);
	json_open(json, '[');
	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (set[i])
			json_string(json, call->name);
	json_close(json, ']');
}

static void json_lists(struct json *json, const struct profile *profile, size_t from, size_t to)
{
	for (size_t i = from; i <= to; i++) {
		json_key(json, profile_list_names[i]);
		json_open(json, '[');
		for (size_t k = 0; k < profile->lists[i].count; k++)
			json_string(json, profile->lists[i].items[k].text);
		json_close(json, ']');
	}
}

static void json_paths(struct json *json, const struct profile *profile)
{
	json_key(json, "paths");
	json_open(json, '[');
	for (size_t i = 0; i < profile->path_count; i++) {
		json_open(json, '{');
		json_put_string(json, "path", profile->paths[i].path);
		json_key(json, "rights");
		json_open(json, '[');
		for (unsigned k = 0; k < CELL_RIGHT_COUNT; k++)
			if ((profile->paths[i].rights & CELL_RIGHT(k)) != 0)
				json_string(json, cell_right_name(k));
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* In bytes, thousandths and milliseconds. */
static void json_limits(struct json *json, const struct profile *profile)
{
	json_key(json, "limits");
	json_open(json, '{');
	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		const struct profile_limit *limit = &profile_limits[i];
		uint64_t value = profile->limits.cpus_milli;
		if (!profile->limit_set[i])
			continue;
		if (limit->kind != PROFILE_CPUS)
			memcpy(&value, (const char *)&profile->limits + limit->offset, sizeof(value));
		own(freep) char *key = xfmt("%s%s", limit->name,
			limit->kind == PROFILE_CPUS ? "_milli" : limit->kind == PROFILE_DURATION ? "_ms" : "");
		json_put_uint(json, key, value);
	}
	json_close(json, '}');
}

void profile_json(const struct profile *profile, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "name", profile->name);
	json_put_string(json, "sha256", profile->sum);
	json_put_string(json, "extends", profile->extends);
	json_put_string(json, "description", profile->description);
	json_key(json, "syscalls");
	json_open(json, '{');
	json_calls(json, "deny", profile->denied);
	json_calls(json, "allow", profile->opened);
	json_close(json, '}');
	json_paths(json, profile);
	json_limits(json, profile);
	json_key(json, "doors");
	json_open(json, '{');
	json_lists(json, profile, PROFILE_ALLOW, PROFILE_SECRET);
	json_close(json, '}');
	json_put_bool(json, "tmp-exec", profile->tmp_exec);
	json_put_bool(json, "workspace-exec", !profile->no_exec);
	json_lists(json, profile, PROFILE_HIDE, PROFILE_REQUIRE);
	json_close(json, '}');
}

void profile_explain(const struct profile *profile, struct buf *ret)
{
	term_line(profile->name, strlen(profile->name), SHOWN_MAX, ret);
	buf_fmt(ret, ", sha256 %s", profile->sum);
	if (!profile->builtin)
		buf_fmt(ret, ", extends %s", profile->extends);
}

/* ---- warnings ---- */

static size_t warn_calls(const struct profile *profile, struct buf *ret)
{
	const struct cell_call *call;
	size_t count = 0;

	for (size_t i = 0; (call = cell_call_at(i)); i++) {
		if (profile->opened[i]) {
			buf_fmt(ret,
				"allows %s, which is refused otherwise: it %s; the receipt says 'seccomp weaker', and --require "
				"full refuses\n",
				call->name, call->why);
			count++;
		}
		if (profile->named[i] && strcmp(call->name, "ptrace") == 0) {
			buf_str(ret, "allows ptrace: programs of the cell can trace and change one another\n");
			count++;
		}
	}
	return count;
}

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

#define READING (CELL_RIGHT(CELL_READ) | CELL_RIGHT(CELL_EXECUTE))

static size_t warn_paths(const struct profile *profile, struct buf *ret)
{
	static const char *const scratch[] = {CELL_WORKSPACE, "/tmp", "/dev"};
	uint32_t named = 0, system = 0;
	size_t count = 0;

	for (size_t i = 0; i < profile->path_count; i++) {
		const struct cell_path *path = &profile->paths[i];
		bool ours = false;
		for (size_t k = 0; k < ARRAY_LEN(scratch); k++)
			ours = ours || below(path->path, scratch[k]);
		named |= path->rights;
		if (strcmp(path->path, "/") == 0 || strcmp(path->path, "/usr") == 0)
			system |= path->rights;
		if (ours || (path->rights & ~(READING | CELL_RIGHT(CELL_LIST) | CELL_RIGHT(CELL_IOCTL))) == 0)
			continue;
		buf_str(ret, "rights to write at ");
		term_line(path->path, strlen(path->path), SHOWN_MAX, ret);
		buf_str(ret, " mean nothing unless a writable mount is there: a profile only takes away\n");
		count++;
	}
	if ((named & READING & ~system) != 0) {
		buf_str(ret, "reading or executing is given to some paths and not to /usr: most programs will not start\n");
		count++;
	}
	return count;
}

static size_t warn_doors(const struct profile *profile, struct buf *ret)
{
	static const char *const says[] = {
		[PROFILE_ALLOW] = "lets it out of its network: ",
		[PROFILE_SERVICE] = "shows it something of this machine or its network: ",
		[PROFILE_SECRET] = "uses a credential of yours: ",
	};
	size_t count = 0;

	for (size_t i = PROFILE_ALLOW; i <= PROFILE_SECRET; i++)
		for (size_t k = 0; k < profile->lists[i].count; k++, count++) {
			const char *text = profile->lists[i].items[k].text;
			buf_str(ret, says[i]);
			term_line(text, strlen(text), SHOWN_MAX, ret);
			buf_char(ret, '\n');
		}
	return count;
}

/* More than a cell has when nothing is said. */
static size_t warn_limits(const struct profile *profile, struct buf *ret)
{
	struct profile usual = {0};
	struct cell_spec spec;
	size_t count = 0;

	cell_spec_defaults(&spec);
	usual.limits = spec.limits;
	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		bool cpus = profile_limits[i].kind == PROFILE_CPUS;
		uint64_t value = profile->limits.cpus_milli, before = usual.limits.cpus_milli;
		if (!cpus) {
			memcpy(&value, (const char *)&profile->limits + profile_limits[i].offset, sizeof(value));
			memcpy(&before, (const char *)&usual.limits + profile_limits[i].offset, sizeof(before));
		}
		if (!profile->limit_set[i] || value <= before)
			continue;
		buf_fmt(ret, "raises %s to ", profile_limits[i].name);
		put_limit(ret, profile, i);
		buf_str(ret, " from ");
		put_limit(ret, &usual, i);
		buf_char(ret, '\n');
		count++;
	}
	return count;
}

size_t profile_warnings(const struct profile *profile, struct buf *ret)
{
	size_t count = warn_calls(profile, ret) + warn_paths(profile, ret) + warn_doors(profile, ret) + warn_limits(profile, ret);

	if (profile->tmp_exec) {
		buf_str(ret, "programs may be run from /tmp\n");
		count++;
	}

	return count;
}

bool profile_opens(const struct profile *profile, struct buf *ret)
{
	const struct cell_call *call;
	size_t before = ret->len;

	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (profile->opened[i])
			buf_fmt(ret, "%scall %s", ret->len > before ? ", " : "", call->name);
	for (size_t i = PROFILE_ALLOW; i <= PROFILE_SECRET; i++)
		for (size_t k = 0; k < profile->lists[i].count; k++) {
			buf_fmt(ret, "%s%s ", ret->len > before ? ", " : "", profile_list_names[i]);
			term_line(profile->lists[i].items[k].text, strlen(profile->lists[i].items[k].text), SHOWN_MAX, ret);
		}
	return ret->len > before;
}
