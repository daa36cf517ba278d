/* MANIFEST.json: an object with `format`, `entries`, one a line, and `manifest_sha256`, the sum of these lines.
 *
 * The sum tells a manifest that was edited, or cut, from one whose folder changed. It is made from the entries as they
 * were understood, so blanks and the order of members do not matter to it. It is no signature. */
#include "manifest/manifest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"
#include "base/size.h"
#include "base/term.h"
#include "manifest/name.h"

#define FORMAT "hotcell-manifest-1"
#define SIZE_MAX_TEXT INT64_MAX /* no file is larger */

static const struct json_limits limits = {
	.bytes = MANIFEST_TEXT_MAX,
	.values = (size_t)MANIFEST_ENTRIES_MAX * 11 + 16, /* an entry is a map of at most five */
	.depth = 3,
};

/* ---- writing ---- */

static void entry_write(const struct manifest_entry *entry, struct json *json)
{
	char hex[SHA256_HEX], mode[16];

	json_open(json, '{');
	json_put_string(json, "path", entry->path);
	json_put_string(json, "kind", manifest_kind_names[entry->kind]);
	if (entry->kind != MANIFEST_LINK) {
		(void)snprintf(mode, sizeof(mode), "%04o", entry->mode);
		json_put_string(json, "mode", mode);
	}
	if (entry->kind == MANIFEST_FILE) {
		sha256_hex(entry->sha256, hex);
		json_put_uint(json, "size", entry->size);
		json_put_string(json, "sha256", hex);
	}
	if (entry->target)
		json_put_string(json, entry->kind == MANIFEST_LINK ? "target" : "device", entry->target);
	json_close(json, '}');
}

/* Each entry's line, to `out` (NULL: nowhere) with commas and into the sum without. */
static void entries_write(const struct manifest *manifest, struct buf *out, char ret_sum[SHA256_HEX])
{
	unsigned char bytes[SHA256_SIZE];
	struct sha256 sum;

	sha256_init(&sum);
	for (size_t i = 0; i < manifest->count; i++) {
		own(json_done) struct json json = {0};
		entry_write(&manifest->entries[i], &json);
		sha256_add(&sum, json.out.data, json.out.len);
		sha256_add(&sum, "\n", 1);
		if (!out)
			continue;
		buf_add(out, json.out.data, json.out.len);
		buf_str(out, i + 1 < manifest->count ? ",\n" : "\n");
	}
	sha256_end(&sum, bytes);
	sha256_hex(bytes, ret_sum);
}

void manifest_write(const struct manifest *manifest, struct buf *out)
{
	char sum[SHA256_HEX];

	buf_str(out, "{\n\"format\":\"" FORMAT "\",\n\"entries\":[\n");
	entries_write(manifest, out, sum);
	buf_fmt(out, "],\n\"manifest_sha256\":\"%s\"\n}\n", sum);
}

void manifest_sum(const struct manifest *manifest, char ret[SHA256_HEX])
{
	entries_write(manifest, NULL, ret);
}

/* ---- reading ---- */

struct reading {
	const char *name;
	struct err *err;
};

static int fail(const struct reading *reading, const struct value *at, const char *format, ...) PRINTF_LIKE(3, 4);

static int fail(const struct reading *reading, const struct value *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int failed = value_fail(reading->err, reading->name, at->line, format, args);
	va_end(args);
	return failed;
}

static int fail_path(const struct reading *reading, const struct value *at, const char *path, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(path, strlen(path), 100, &shown);
	return fail(reading, at, "the path '%s' %s", buf_text(&shown), why);
}

/* The text of a member that must be there, or NULL. */
static const char *text_of(const struct reading *reading, const struct value *map, const char *key, enum value_kind kind)
{
	const struct value *value = value_get(map, key);

	if (value && value->kind == kind)
		return value->text;
	(void)fail(reading, value ? value : map, "'%s' must be here, and %s", key, value_kind_name(kind));
	return NULL;
}

static int kind_read(const struct reading *reading, const struct value *map, struct manifest_entry *entry)
{
	const char *text = text_of(reading, map, "kind", VALUE_TEXT);

	if (!text)
		return -1;
	for (int kind = 0; kind < MANIFEST_KINDS; kind++) {
		if (strcmp(manifest_kind_names[kind], text) == 0) {
			entry->kind = (enum manifest_kind)kind;
			return 0;
		}
	}
	return fail(reading, map, "the 'kind' is none that is known");
}

static int mode_read(const struct reading *reading, const struct value *map, struct manifest_entry *entry)
{
	const char *text = text_of(reading, map, "mode", VALUE_TEXT);

	if (!text)
		return -1;
	if (strlen(text) != 4 || strspn(text, "01234567") != 4)
		return fail(reading, map, "the 'mode' must be four octal digits");
	entry->mode = (unsigned)strtoul(text, NULL, 8);
	return 0;
}

static int file_read(const struct reading *reading, const struct value *map, struct manifest_entry *entry)
{
	const char *size = text_of(reading, map, "size", VALUE_NUMBER);
	const char *sum = size ? text_of(reading, map, "sha256", VALUE_TEXT) : NULL;
	struct err err;

	if (!sum)
		return -1;
	if (count_parse(size, "size", 0, SIZE_MAX_TEXT, &entry->size, &err) < 0)
		return fail(reading, map, "the 'size' must be a whole number of bytes");
	if (!sha256_parse(sum, entry->sha256))
		return fail(reading, map, "the 'sha256' must be 64 lower-case hexadecimal digits");
	return 0;
}

static int target_read(const struct reading *reading, const struct value *map, struct manifest_entry *entry)
{
	bool link = entry->kind == MANIFEST_LINK;
	const char *text = text_of(reading, map, link ? "target" : "device", VALUE_TEXT);
	unsigned major, minor;
	int end = 0;

	if (!text)
		return -1;
	if (link && !manifest_name_valid(text))
		return fail(reading, map, "the 'target' is not written as targets are");
	if (!link && (strlen(text) > 21 || sscanf(text, "%9u:%9u%n", &major, &minor, &end) != 2 || text[end] ||
		strspn(text, "0123456789:") != strlen(text)))
		return fail(reading, map, "the 'device' must be MAJOR:MINOR");
	entry->target = xstrdup(text);
	return 0;
}

/* How many members an entry of each kind has, and what is read besides path, kind and mode. */
static const struct {
	size_t members;
	bool mode;
	int (*rest)(const struct reading *, const struct value *, struct manifest_entry *);
} shapes[MANIFEST_KINDS] = {
	[MANIFEST_FILE] = {5, true, file_read},
	[MANIFEST_FOLDER] = {3, true, NULL},
	[MANIFEST_LINK] = {3, false, target_read},
	[MANIFEST_FIFO] = {3, true, NULL},
	[MANIFEST_SOCKET] = {3, true, NULL},
	[MANIFEST_CHAR_DEVICE] = {4, true, target_read},
	[MANIFEST_BLOCK_DEVICE] = {4, true, target_read},
};

static int path_read(const struct reading *reading, const struct value *map, const char *before, struct manifest_entry *entry)
{
	const char *path = text_of(reading, map, "path", VALUE_TEXT);

	if (!path)
		return -1;
	if (!manifest_path_valid(path))
		return fail_path(reading, map, path, "is not a relative one that stays in the folder, written as paths are");
	if (strcmp(path, MANIFEST_NAME) == 0)
		return fail_path(reading, map, path, "is the manifest's own");
	if (before && strcmp(before, path) >= 0)
		return fail_path(reading, map, path, "is not after the one before it: they are sorted, each once");
	entry->path = xstrdup(path);
	return 0;
}

static int entry_read(const struct reading *reading, const struct value *map, const char *before, struct manifest_entry *entry)
{
	if (map->kind != VALUE_MAP)
		return fail(reading, map, "an entry must be an object");
	if (path_read(reading, map, before, entry) < 0 || kind_read(reading, map, entry) < 0)
		return -1;
	if (shapes[entry->kind].mode && mode_read(reading, map, entry) < 0)
		return -1;
	if (shapes[entry->kind].rest && shapes[entry->kind].rest(reading, map, entry) < 0)
		return -1;
	if (map->count != shapes[entry->kind].members)
		return fail_path(reading, map, entry->path, "has members that an entry of its kind does not have");
	return 0;
}

static int entries_read(const struct reading *reading, const struct value *list, struct manifest *ret)
{
	if (list->count > MANIFEST_ENTRIES_MAX)
		return fail(reading, list, "there are more than %d entries", MANIFEST_ENTRIES_MAX);
	ret->entries = xcalloc(list->count + 1, sizeof(*ret->entries));
	for (size_t i = 0; i < list->count; i++) {
		ret->count = i + 1;
		if (entry_read(reading, &list->items[i], i > 0 ? ret->entries[i - 1].path : NULL, &ret->entries[i]) < 0)
			return -1;
	}
	return 0;
}

static int whole_read(const struct reading *reading, const struct value *top, struct manifest *ret)
{
	const struct value *list = value_get(top, "entries");
	char sum[SHA256_HEX];

	if (top->kind != VALUE_MAP || top->count != 3 || !list || list->kind != VALUE_LIST)
		return fail(reading, top, "it must be an object of 'format', 'entries', which is an array, and 'manifest_sha256'");
	const char *format = text_of(reading, top, "format", VALUE_TEXT);
	if (!format)
		return -1;
	if (strcmp(format, FORMAT) != 0)
		return fail(reading, top, "its 'format' is not " FORMAT);
	const char *expected = text_of(reading, top, "manifest_sha256", VALUE_TEXT);
	if (!expected || entries_read(reading, list, ret) < 0)
		return -1;
	manifest_sum(ret, sum);
	if (strcmp(sum, expected) != 0)
		return fail(reading, top, "it has been edited: its entries are not those it was written with");
	return 0;
}

int manifest_read(struct manifest *ret, const char *text, size_t len, const char *name, struct err *err)
{
	const struct reading reading = {.name = name, .err = err};
	own(value_done) struct value top = {0};

	*ret = (struct manifest){0};
	if (json_read(text, len, &limits, name, &top, err) < 0)
		return -1;
	if (whole_read(&reading, &top, ret) == 0)
		return 0;
	manifest_done(ret);
	return -1;
}
