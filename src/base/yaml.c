/* libyaml turns the text into events; this turns events into values and refuses what a
 * configuration has no use for. The text may be anybody's: recursion ends at YAML_MAX_DEPTH, and
 * every value and byte that is made is counted, copies made for aliases included. libyaml looks
 * ahead no further than a key can be long (1024 characters), so its own work is bounded too. */
#include "base/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/term.h"
#include "base/utf8.h"

#define MAX_ANCHORS 256
#define MAX_TEXT (4 * YAML_MAX_BYTES) /* bytes of all scalars together, aliases included */
#define SHOWN_MAX 60 /* bytes of the file repeated in an error */

struct anchor {
	char *name;
	struct value value; /* a copy: the tree's own values move while it grows */
	unsigned height;
};

struct reader {
	yaml_parser_t yaml;
	const char *text;
	size_t len;
	const char *name;
	size_t lines; /* of the text */
	size_t values, bytes; /* made so far */
	struct anchor anchors[MAX_ANCHORS];
	size_t anchor_count;
	struct err *err;
};

static int node_read(
	struct reader *reader, const yaml_event_t *event, unsigned depth, struct value *ret);

/* ---- errors ---- */

static int fail(struct reader *reader, size_t line, const char *format, ...) PRINTF_LIKE(3, 4);

static int fail(struct reader *reader, size_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int failed = value_fail(reader->err, reader->name, line, format, args);
	va_end(args);
	return failed;
}

/* From 1. To libyaml the end of the text is on a line of its own. */
static size_t line_in(const struct reader *reader, const yaml_mark_t *mark)
{
	return mark->line < reader->lines ? mark->line + 1 : reader->lines;
}

static size_t line_of(const struct reader *reader, const yaml_event_t *event)
{
	return line_in(reader, &event->start_mark);
}

/* From 1, of the byte at `offset`. */
static size_t line_at(const struct reader *reader, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < reader->len; i++)
		line += reader->text[i] == '\n';
	return line;
}

/* A tab comes before the line's first word ("- " may: it indents what follows it). */
static bool tab_indents(const struct reader *reader, size_t line)
{
	const char *at = reader->text, *end = at + reader->len;

	for (; line > 1 && at; line--) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	while (at && at < end && (*at == ' ' || *at == '-'))
		at++;
	return at && at < end && *at == '\t';
}

/* What libyaml says, for those who do not know its words. */
static const char *plainly(const char *problem)
{
	static const struct {
		const char *problem, *says;
	} rows[] = {
		{"mapping values are not allowed in this context",
			"a ':' cannot stand here; indent the line like the ones above, "
			"or put quotes around text that holds ': '"},
		{"found character that cannot start any token",
			"a value cannot begin with this character; put quotes around it"},
		{"could not find expected ':'", "a key is not followed by ':'"},
		{"did not find expected key",
			"a key is expected here; indent the line like the ones above"},
		{"did not find expected '-' indicator",
			"a '-' is expected here; indent the line like the ones above"},
		{"did not find expected ',' or ']'", "a ',' or ']' is missing"},
		{"did not find expected ',' or '}'", "a ',' or '}' is missing"},
		{"found unexpected end of stream", "a quote is opened but not closed"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].problem, problem) == 0)
			return rows[i].says;
	}
	return NULL;
}

static int problem(struct reader *reader)
{
	const yaml_parser_t *yaml = &reader->yaml;
	const char *text = yaml->problem ? yaml->problem : "it cannot be read";
	size_t line = line_in(reader, &yaml->problem_mark);
	size_t begun = line_in(reader, &yaml->context_mark);
	char since[64] = "";

	if (yaml->error == YAML_MEMORY_ERROR)
		return err_errno(reader->err, ENOMEM, "read '%s'", reader->name);
	if (yaml->error == YAML_READER_ERROR)
		return fail(
			reader, line_at(reader, yaml->problem_offset), "this is no YAML: %s", text);
	if (tab_indents(reader, line))
		return fail(reader, line,
			"this line is indented with a tab, and tabs cannot indent YAML; use spaces");
	if (yaml->context && begun < line)
		(void)snprintf(since, sizeof(since), " (in what begins on line %zu)", begun);
	const char *plain = plainly(text);
	if (plain)
		return fail(reader, line, "%s%s", plain, since);
	return fail(reader, line, "this is no YAML: %s%s%s%s", text, yaml->context ? " " : "",
		yaml->context ? yaml->context : "", since);
}

/* ---- what all values pay ---- */

static int count_one(struct reader *reader, size_t line)
{
	if (++reader->values > YAML_MAX_VALUES)
		return fail(reader, line, "there are more than %d values in it, aliases counted",
			YAML_MAX_VALUES);
	return 0;
}

static int text_copy(struct reader *reader, size_t line, const char *text, size_t len, char **ret)
{
	if (memchr(text, '\0', len))
		return fail(reader, line, "a string cannot hold the character \\0");
	reader->bytes += len;
	if (reader->bytes > MAX_TEXT)
		return fail(reader, line,
			"there are more than %zu MiB of text in it, aliases counted",
			MAX_TEXT >> 20);
	*ret = xcalloc(len + 1, 1);
	memcpy(*ret, text, len);
	return 0;
}

/* ---- anchors and aliases ---- */

static unsigned height_of(const struct value *value)
{
	unsigned highest = 0;

	for (size_t i = 0; i < value->count; i++) {
		unsigned height = height_of(&value->items[i]);
		highest = height > highest ? height : highest;
	}
	return highest + (value->kind == VALUE_LIST || value->kind == VALUE_MAP);
}

/* Depth is the caller's to check. *ret is the caller's to free even on failure. */
static int value_copy(
	struct reader *reader, const struct value *from, size_t line, struct value *ret)
{
	*ret = (struct value){.kind = from->kind, .line = from->line, .truth = from->truth, .len = from->len};
	if (count_one(reader, line) < 0)
		return -1;
	if (from->text && text_copy(reader, line, from->text, strlen(from->text), &ret->text) < 0)
		return -1;
	for (size_t i = 0; i < from->count; i++) {
		char *key = NULL;
		if (from->keys && (count_one(reader, line) < 0 ||
				text_copy(reader, line, from->keys[i], strlen(from->keys[i]),
					&key) < 0))
			return -1;
		struct value *item = value_add(ret, key, key ? from->key_lines[i] : 0);
		if (value_copy(reader, &from->items[i], line, item) < 0)
			return -1;
	}
	return 0;
}

static int anchor_keep(
	struct reader *reader, const yaml_char_t *name, size_t line, const struct value *value)
{
	if (!name)
		return 0;
	if (reader->anchor_count == MAX_ANCHORS)
		return fail(reader, line, "there are more than %d anchors in it", MAX_ANCHORS);
	struct anchor *anchor = &reader->anchors[reader->anchor_count++];
	anchor->name = xstrdup((const char *)name);
	anchor->height = height_of(value);
	return value_copy(reader, value, line, &anchor->value);
}

static int alias_read(
	struct reader *reader, const yaml_event_t *event, unsigned depth, struct value *ret)
{
	const char *name = (const char *)event->data.alias.anchor;

	for (size_t i = reader->anchor_count; i > 0; i--) { /* the latest of a name counts */
		const struct anchor *anchor = &reader->anchors[i - 1];
		if (strcmp(anchor->name, name) != 0)
			continue;
		if (depth + anchor->height > YAML_MAX_DEPTH)
			return fail(reader, line_of(reader, event),
				"values are nested deeper than %d levels", YAML_MAX_DEPTH);
		if (value_copy(reader, &anchor->value, line_of(reader, event), ret) < 0)
			return -1;
		ret->line = (unsigned)line_of(reader, event);
		return 0;
	}
	own(buf_done) struct buf shown = {0};
	term_line(name, strlen(name), SHOWN_MAX, &shown);
	return fail(reader, line_of(reader, event),
		"the alias '*%s' names no value that ended before it", buf_text(&shown));
}

/* ---- scalars ---- */

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(text, *words) == 0)
			return true;
	}
	return false;
}

static bool is_number(const char *text)
{
	static const char digits[] = "0123456789";

	if (strncmp(text, "0x", 2) == 0)
		return text[2] && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")];
	text += *text == '-';
	size_t whole = strspn(text, digits);
	if (whole == 0 || (whole > 1 && *text == '0'))
		return false;
	text += whole;
	if (*text == '.') {
		size_t fraction = strspn(text + 1, digits);
		if (fraction == 0)
			return false;
		text += 1 + fraction;
	}
	if (*text == 'e' || *text == 'E') {
		text += 1 + (text[1] == '+' || text[1] == '-');
		size_t exponent = strspn(text, digits);
		return exponent > 0 && !text[exponent];
	}
	return !*text;
}

static void plain_resolve(struct value *value)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {"true", "True", "TRUE", NULL};
	static const char *const falses[] = {"false", "False", "FALSE", NULL};

	value->truth = is_one_of(value->text, trues);
	if (is_one_of(value->text, nulls))
		value->kind = VALUE_NULL;
	else if (value->truth || is_one_of(value->text, falses))
		value->kind = VALUE_BOOL;
	else if (is_number(value->text))
		value->kind = VALUE_NUMBER;
}

static int tag_refuse(struct reader *reader, size_t line, const yaml_char_t *tag)
{
	own(buf_done) struct buf shown = {0};

	if (!tag)
		return 0;
	term_line((const char *)tag, strlen((const char *)tag), SHOWN_MAX, &shown);
	return fail(reader, line, "the tag '%s' is not taken; leave it out", buf_text(&shown));
}

static int scalar_read(struct reader *reader, const yaml_event_t *event, struct value *ret)
{
	size_t len = event->data.scalar.length;

	if (count_one(reader, line_of(reader, event)) < 0 ||
		tag_refuse(reader, line_of(reader, event), event->data.scalar.tag) < 0 ||
		text_copy(reader, line_of(reader, event), (const char *)event->data.scalar.value,
			len, &ret->text) < 0)
		return -1;
	ret->kind = VALUE_TEXT;
	ret->len = len;
	ret->line = (unsigned)line_of(reader, event);
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		plain_resolve(ret);
	return anchor_keep(reader, event->data.scalar.anchor, line_of(reader, event), ret);
}

/* ---- lists and maps ---- */

static int next(struct reader *reader, yaml_event_t *ret)
{
	return yaml_parser_parse(&reader->yaml, ret) ? 0 : problem(reader);
}

static int list_read(struct reader *reader, unsigned depth, struct value *ret)
{
	for (;;) {
		own(yaml_event_delete) yaml_event_t event = {0};
		if (next(reader, &event) < 0)
			return -1;
		if (event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		struct value *item = value_add(ret, NULL, 0);
		if (node_read(reader, &event, depth, item) < 0)
			return -1;
	}
}

/* The map's next key, with its item still missing. */
static int key_read(struct reader *reader, const yaml_event_t *event, struct value *map)
{
	own(value_done) struct value key = {0};

	if (event->type != YAML_SCALAR_EVENT)
		return fail(reader, line_of(reader, event),
			"a key must be a plain or quoted word, not %s",
			event->type == YAML_ALIAS_EVENT                   ? "an alias"
				: event->type == YAML_MAPPING_START_EVENT ? "an object"
									  : "an array");
	if (scalar_read(reader, event, &key) < 0)
		return -1;
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->keys[i], key.text) != 0)
			continue;
		own(buf_done) struct buf shown = {0};
		term_line(key.text, strlen(key.text), SHOWN_MAX, &shown);
		return fail(reader, line_of(reader, event),
			"the key '%s' is given twice (first on line %u)", buf_text(&shown),
			map->key_lines[i]);
	}
	(void)value_add(map, ptr_take(&key.text), (unsigned)line_of(reader, event));
	return 0;
}

static int map_read(struct reader *reader, unsigned depth, struct value *ret)
{
	for (;;) {
		own(yaml_event_delete) yaml_event_t key = {0};
		own(yaml_event_delete) yaml_event_t event = {0};
		if (next(reader, &key) < 0)
			return -1;
		if (key.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (key_read(reader, &key, ret) < 0 || next(reader, &event) < 0 ||
			node_read(reader, &event, depth, &ret->items[ret->count - 1]) < 0)
			return -1;
	}
}

/* `depth` lists and maps are around it. */
static int container_read(
	struct reader *reader, const yaml_event_t *event, unsigned depth, struct value *ret)
{
	bool is_map = event->type == YAML_MAPPING_START_EVENT;
	const yaml_char_t *tag =
		is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	const yaml_char_t *anchor =
		is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;

	ret->kind = is_map ? VALUE_MAP : VALUE_LIST;
	ret->line = (unsigned)line_of(reader, event);
	if (count_one(reader, line_of(reader, event)) < 0 ||
		tag_refuse(reader, line_of(reader, event), tag) < 0)
		return -1;
	if (depth >= YAML_MAX_DEPTH)
		return fail(reader, line_of(reader, event),
			"values are nested deeper than %d levels", YAML_MAX_DEPTH);
	int failed = is_map ? map_read(reader, depth + 1, ret) : list_read(reader, depth + 1, ret);
	return failed ? -1 : anchor_keep(reader, anchor, line_of(reader, event), ret);
}

static int node_read(
	struct reader *reader, const yaml_event_t *event, unsigned depth, struct value *ret)
{
	if (event->type == YAML_SCALAR_EVENT)
		return scalar_read(reader, event, ret);
	if (event->type == YAML_ALIAS_EVENT)
		return alias_read(reader, event, depth, ret);
	return container_read(reader, event, depth, ret);
}

/* ---- the whole ---- */

/* The length of a break that most editors and terminals do not show as one, or 0: it would let keys
 * hide in what looks like a comment. */
static int hidden_break(const char *at, size_t len)
{
	static const char *const breaks[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};

	for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
		size_t size = strlen(breaks[i]);
		if (len >= size && memcmp(at, breaks[i], size) == 0)
			return (int)size;
	}
	return *at == '\r' && (len < 2 || at[1] != '\n');
}

static int char_check(struct reader *reader, size_t offset, int size)
{
	const char *at = reader->text + offset;

	if (size <= 0)
		return fail(reader, line_at(reader, offset), "this line is not UTF-8 text");
	if (hidden_break(at, reader->len - offset))
		return fail(reader, line_at(reader, offset),
			"this line holds a line break that is none to most programs; "
			"end lines with a newline");
	if (utf8_is_control(at, size) && *at != '\n' && *at != '\r' && *at != '\t')
		return fail(reader, line_at(reader, offset),
			"this line holds the control character 0x%02x; "
			"inside double quotes it can be written as \\x%02x",
			(unsigned char)at[size - 1], (unsigned char)at[size - 1]);
	return 0;
}

/* libyaml names characters by their number; this names them by their line, and before all else.
 * What passes has no mark of another encoding either, so libyaml takes it for the UTF-8 it is. */
static int bytes_check(struct reader *reader)
{
	size_t len = reader->len;

	if (len > YAML_MAX_BYTES)
		return fail(reader, 1, "the file is larger than the %zu MiB that are read",
			YAML_MAX_BYTES >> 20);
	for (size_t i = 0; i < len;) {
		int size = utf8_char(reader->text + i, len - i);
		if (char_check(reader, i, size) < 0)
			return -1;
		i += (size_t)size;
	}
	reader->lines = line_at(reader, len > 0 ? len - 1 : 0);
	return 0;
}

static int document_read(struct reader *reader, struct value *ret)
{
	own(yaml_event_delete) yaml_event_t stream = {0};
	own(yaml_event_delete) yaml_event_t start = {0};
	own(yaml_event_delete) yaml_event_t root = {0};
	own(yaml_event_delete) yaml_event_t end = {0};
	own(yaml_event_delete) yaml_event_t after = {0};

	if (next(reader, &stream) < 0 || next(reader, &start) < 0)
		return -1;
	if (start.type == YAML_STREAM_END_EVENT) {
		*ret = (struct value){.kind = VALUE_NULL, .line = 1, .text = xstrdup("")};
		return 0;
	}
	if (next(reader, &root) < 0 || node_read(reader, &root, 0, ret) < 0 ||
		next(reader, &end) < 0 || next(reader, &after) < 0)
		return -1;
	if (after.type != YAML_STREAM_END_EVENT)
		return fail(reader, line_of(reader, &after),
			"a second document begins here; a file holds only one");
	return 0;
}

static void reader_free(struct reader **reader)
{
	for (size_t i = 0; *reader && i < (*reader)->anchor_count; i++) {
		free((*reader)->anchors[i].name);
		value_done(&(*reader)->anchors[i].value);
	}
	if (*reader)
		yaml_parser_delete(&(*reader)->yaml);
	free(*reader);
	*reader = NULL;
}

int yaml_parse(const char *text, size_t len, const char *name, struct value *ret, struct err *err)
{
	own(reader_free) struct reader *reader = xcalloc(1, sizeof(*reader));

	*ret = (struct value){0};
	reader->text = text;
	reader->len = len;
	reader->name = name;
	reader->err = err;
	if (!yaml_parser_initialize(&reader->yaml))
		return err_errno(err, ENOMEM, "read '%s'", name);
	if (bytes_check(reader) < 0)
		return -1;
	yaml_parser_set_input_string(&reader->yaml, (const unsigned char *)text, len);
	if (document_read(reader, ret) == 0)
		return 0;
	value_done(ret);
	return -1;
}
