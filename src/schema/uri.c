#include "schema/uri.h"

#include <string.h>

/* What stands between two marks of a URI; `text` is NULL where the part is missing. */
struct part {
	const char *text;
	size_t len;
};

struct parts {
	struct part scheme, authority, path, query;
};

static bool is_scheme(const char *text, size_t len)
{
	if (!len || !((text[0] | 32) >= 'a' && (text[0] | 32) <= 'z'))
		return false;
	for (size_t i = 1; i < len; i++) {
		char c = text[i];
		if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && !strchr("+-.", c))
			return false;
	}
	return true;
}

/* Without a fragment. */
static struct parts parts_of(const char *text, size_t len)
{
	struct parts parts = {0};
	const char *end = text + len, *colon = memchr(text, ':', len);

	if (colon && is_scheme(text, (size_t)(colon - text))) {
		parts.scheme = (struct part){text, (size_t)(colon - text)};
		text = colon + 1;
	}
	if (end - text >= 2 && memcmp(text, "//", 2) == 0) {
		text += 2;
		size_t size = strcspn(text, "/?#");
		size = size > (size_t)(end - text) ? (size_t)(end - text) : size;
		parts.authority = (struct part){text, size};
		text += size;
	}
	const char *question = memchr(text, '?', (size_t)(end - text));
	parts.path = (struct part){text, (size_t)((question ? question : end) - text)};
	if (question)
		parts.query = (struct part){question + 1, (size_t)(end - question - 1)};
	return parts;
}

/* Takes "." and ".." out of the path in `out` from `start` on. */
static void dots_remove(struct buf *out, size_t start)
{
	own(buf_done) struct buf path = {0};

	if (out->len == start)
		return;
	buf_add(&path, out->data + start, out->len - start);
	out->len = start;
	const char *at = buf_text(&path), *end = at + path.len;
	while (at < end) {
		const char *slash = at + (*at == '/');
		size_t size = strcspn(slash, "/");
		bool last = slash + size == end;
		if (size == 2 && memcmp(slash, "..", 2) == 0) {
			while (out->len > start && out->data[out->len - 1] != '/')
				out->len--;
			out->len -= out->len > start;
			if (last)
				buf_char(out, '/');
		} else if (size == 1 && *slash == '.') {
			if (last)
				buf_char(out, '/');
		} else {
			buf_add(out, at, (size_t)(slash - at) + size);
		}
		at = slash + size;
	}
	buf_str(out, "");
}

static void path_merge(const struct parts *base, const struct part *path, struct buf *out)
{
	size_t start = out->len, keep = base->path.len;

	if (path->len && path->text[0] == '/') {
		buf_add(out, path->text, path->len);
	} else {
		while (keep && base->path.text[keep - 1] != '/')
			keep--;
		if (base->authority.text && !base->path.len)
			buf_char(out, '/');
		buf_add(out, base->path.text, keep);
		buf_add(out, path->text, path->len);
	}
	dots_remove(out, start);
}

static void whole_write(const struct parts *base, const struct parts *ref, struct buf *out)
{
	const struct parts *from = ref->scheme.text ? ref : base;
	bool own_path = ref->scheme.text || ref->authority.text;

	if (from->scheme.text) {
		buf_add(out, from->scheme.text, from->scheme.len);
		buf_char(out, ':');
	}
	from = own_path ? ref : base;
	if (from->authority.text) {
		buf_str(out, "//");
		buf_add(out, from->authority.text, from->authority.len);
	}
	const struct part *query = &ref->query;
	if (own_path) {
		buf_add(out, ref->path.text, ref->path.len);
	} else if (ref->path.len) {
		path_merge(base, &ref->path, out);
	} else {
		buf_add(out, base->path.text, base->path.len);
		query = ref->query.text ? &ref->query : &base->query;
	}
	if (query->text) {
		buf_char(out, '?');
		buf_add(out, query->text, query->len);
	}
}

static int hex_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void fragment_decode(const char *text, struct arena *arena, struct uri *ret)
{
	size_t len = strlen(text), out = 0;
	char *decoded = arena_take(arena, len + 1);

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '%' && i + 2 < len && hex_of(text[i + 1]) >= 0 && hex_of(text[i + 2]) >= 0) {
			decoded[out++] = (char)(hex_of(text[i + 1]) * 16 + hex_of(text[i + 2]));
			i += 2;
		} else {
			decoded[out++] = text[i];
		}
	}
	decoded[out] = '\0';
	ret->fragment = decoded;
	ret->fragment_len = out;
}

struct uri uri_resolve(const char *base, const char *reference, struct arena *arena)
{
	own(buf_done) struct buf out = {0};
	struct uri uri = {0};
	size_t len = strcspn(reference, "#");
	struct parts from = parts_of(base, strlen(base)), to = parts_of(reference, len);

	whole_write(&from, &to, &out);
	uri.whole = arena_text(arena, buf_text(&out), out.len);
	if (reference[len] == '#')
		fragment_decode(reference + len + 1, arena, &uri);
	return uri;
}
