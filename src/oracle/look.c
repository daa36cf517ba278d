/* Pieces of texts and paths. See look.h. */
#include "oracle/look.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

#define UNESCAPED_MAX 4096 /* bytes of an input */
#define PARTS_MAX 64 /* of a path's end that are looked for in the input */

/* ---- pieces ---- */

bool span_begins(struct span span, const char *with)
{
	size_t len = strlen(with);

	return span.len >= len && memcmp(span.at, with, len) == 0;
}

const char *span_find(struct span in, const char *what, size_t len)
{
	return len > 0 && in.len >= len ? memmem(in.at, in.len, what, len) : NULL;
}

bool span_has(struct span in, const char *word)
{
	return span_find(in, word, strlen(word)) != NULL;
}

struct span span_trim(struct span span)
{
	while (span.len && (isspace((unsigned char)*span.at) || span_begins(span, "\\t"))) {
		size_t skip = *span.at == '\\' ? 2 : 1;
		span = (struct span){span.at + skip, span.len - skip};
	}
	while (span.len && (isspace((unsigned char)span.at[span.len - 1]) || span.at[span.len - 1] == '\\'))
		span.len--;
	return span;
}

bool line_next(struct span *left, struct span *line)
{
	size_t end = 0, skip = 0;

	if (left->len == 0)
		return false;
	while (end < left->len && !skip) {
		if (left->at[end] == '\n')
			skip = 1;
		else if (left->at[end] == '\\' && end + 1 < left->len && left->at[end + 1] == 'n')
			skip = 2;
		else
			end++;
	}
	*line = (struct span){left->at, end};
	*left = (struct span){left->at + end + skip, left->len - end - skip};
	return true;
}

/* ---- escapes ---- */

static bool hex4(const char *at, size_t len, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < 4; i++) {
		if (i >= len || !isxdigit((unsigned char)at[i]))
			return false;
		*ret = *ret * 16 + (uint32_t)(isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
	}
	return true;
}

/* At a backslash; returns how much was read. */
static size_t unescape_one(struct span at, struct buf *ret)
{
	static const char from[] = "nrtbf\"\\/", to[] = "\n\r\t\b\f\"\\/";
	const char *known = at.len > 1 && at.at[1] ? strchr(from, at.at[1]) : NULL;
	uint32_t code, low;
	size_t used = 6;
	char bytes[4];

	if (known) {
		buf_char(ret, to[known - from]);
		return 2;
	}
	if (at.len < 6 || at.at[1] != 'u' || !hex4(at.at + 2, at.len - 2, &code)) {
		buf_char(ret, '\\');
		return 1;
	}
	if (code >= 0xd800 && code < 0xdc00 && at.len >= 12 && at.at[6] == '\\' && at.at[7] == 'u' &&
		hex4(at.at + 8, at.len - 8, &low) && low >= 0xdc00 && low < 0xe000) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		used = 12;
	}
	buf_add(ret, bytes, utf8_put(code, bytes));
	return used;
}

void text_unescape(struct span text, struct buf *ret)
{
	while (text.len) {
		const char *next = memchr(text.at, '\\', text.len);
		size_t plain = next ? (size_t)(next - text.at) : text.len;
		buf_add(ret, text.at, plain);
		text = (struct span){text.at + plain, text.len - plain};
		if (text.len) {
			size_t used = unescape_one(text, ret);
			text = (struct span){text.at + used, text.len - used};
		}
	}
}

/* ---- what the input said ---- */

bool input_holds(const struct observation *seen, struct span bytes)
{
	struct span input = {seen->input, seen->len};
	own(json_done) struct json escaped = {0};

	if (span_find(input, bytes.at, bytes.len))
		return true;
	if (!bytes.len || !input.len || !memchr(input.at, '\\', input.len))
		return false;
	json_bytes(&escaped, bytes.at, bytes.len); /* with its quotes */
	if (escaped.out.len > bytes.len + 2 && span_find(input, escaped.out.data + 1, escaped.out.len - 2))
		return true;
	/* there are other ways to escape the same; a long input is not undone again for every piece that is looked for */
	if (input.len > UNESCAPED_MAX)
		return false;
	own(buf_done) struct buf plain = {0};
	text_unescape(input, &plain);
	return span_find((struct span){plain.data, plain.len}, bytes.at, bytes.len) != NULL;
}

/* Parts that are in many paths and many inputs by chance. */
static bool is_common(struct span part)
{
	static const char *const common[] = {"data", "file", "files", "test", "temp", "name", "path", "text", "true",
		"false", "null", "main", "home", "root", "user", "utf-8", "string", "number", "object", "value",
		"index", "default", "config", NULL};

	for (size_t i = 0; common[i]; i++)
		if (strlen(common[i]) == part.len && strncasecmp(common[i], part.at, part.len) == 0)
			return true;
	return false;
}

bool input_names(const struct observation *seen, const char *path)
{
	size_t len = strlen(path), from = len;

	if (seen->mark && *seen->mark && strstr(path, seen->mark))
		return true;
	/* a longer end of it is only there if the shorter one is */
	for (unsigned parts = 0; from > 0 && parts < PARTS_MAX; parts++) {
		while (from > 0 && path[from - 1] != '/')
			from--;
		struct span end = {path + from, len - from};
		if (!input_holds(seen, end))
			return false;
		if (end.len >= 4 && !is_common(end))
			return true;
		from -= from > 0;
	}
	return false;
}

struct span reply_answer(const struct reply *reply)
{
	if (reply->text && reply->len)
		return (struct span){reply->text, reply->len};
	return reply->message ? (struct span){reply->message, strlen(reply->message)} : (struct span){"", 0};
}

/* ---- paths ---- */

void path_clean(const char *path, size_t len, struct buf *ret)
{
	size_t begun = ret->len;

	for (size_t i = 0; i < len;) {
		size_t part = 0;
		while (i + part < len && path[i + part] != '/' && path[i + part])
			part++;
		if (part == 2 && path[i] == '.' && path[i + 1] == '.') {
			while (ret->len > begun && ret->data[--ret->len] != '/')
				;
		} else if (part > 1 || (part == 1 && path[i] != '.')) {
			buf_char(ret, '/');
			buf_add(ret, path + i, part);
		}
		i += part + 1;
	}
	if (ret->len == begun)
		buf_char(ret, '/');
	ret->data[ret->len] = '\0';
}

bool path_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	while (len > 0 && folder[len - 1] == '/')
		len--;
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len]);
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
