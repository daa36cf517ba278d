#include "door/policy/rewrite.h"

#include <string.h>

#include "net/http_bytes.h"

/* ---- requests ---- */

/* Credentials, as various upstreams take them: the placeholder shall not go out beside the real one, nor shall the cell
 * be somebody else's customer there. */
static const char *const credentials[] = { "authorization", "x-api-key", "api-key", "x-goog-api-key" };
/* We answer an Expect ourselves. Of a part of an answer it could not be told whether it is a part of the credential, and
 * in another character set it would not be found. Some servers take another path or method than the one that was judged
 * from fields of their own. */
static const char *const dropped[] = { "host", "expect", "accept-encoding", "accept-charset", "range", "if-range",
	"request-range", "a-im", "x-goog-fieldmask", "x-original-url", "x-rewrite-url",
	"x-http-method-override", "x-http-method", "x-method-override" };

bool rewrite_same_field(struct span name, const char *other)
{
	if (name.len != strlen(other))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if ((name.at[i] == '_' ? '-' : lower(name.at[i])) != (other[i] == '_' ? '-' : lower(other[i])))
			return false;
	return true;
}

static bool among(struct span name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rewrite_same_field(name, names[i]))
			return true;
	return false;
}

void rewrite_request_fields(const struct secret_door *door, const struct http_head *head, struct buf *ret)
{
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		if (http_is_hop(head, field) || among(field->name, dropped, ARRAY_LEN(dropped)) ||
			among(field->name, credentials, ARRAY_LEN(credentials)) ||
			rewrite_same_field(field->name, door->header))
			continue;
		http_put_field(ret, field->name, field->value);
	}
}

static unsigned default_port(const struct secret_door *door)
{
	return door->tls ? 443 : 80;
}

static void add_authority(const struct secret_door *door, struct buf *ret)
{
	bool six = strchr(door->host, ':') != NULL;

	buf_fmt(ret, "%s%s%s", six ? "[" : "", door->host, six ? "]" : "");
	if (door->port != default_port(door))
		buf_fmt(ret, ":%u", door->port);
}

void rewrite_request(const struct secret_door *door, const struct http_head *head, const struct buf *fields, struct buf *ret)
{
	buf_add(ret, head->method.at, head->method.len);
	buf_fmt(ret, " %s", door->path);
	buf_add(ret, head->target.at, head->target.len);
	buf_str(ret, " HTTP/1.1\r\nHost: ");
	add_authority(door, ret);
	buf_str(ret, "\r\nConnection: close\r\nAccept-Encoding: identity\r\n");
	if (head->framing == FRAME_CHUNKED)
		buf_str(ret, "Transfer-Encoding: chunked\r\n");
	buf_add(ret, fields->data, fields->len);
	buf_fmt(ret, "%s: %s%s\r\n\r\n", door->header, door->prefix, door->secret);
}

/* ---- targets ---- */

static int hex(char c)
{
	return is_digit(c) ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

/* What an upstream makes of a path that it decodes: at most as long. */
static struct span decode(struct span path, char *room)
{
	size_t len = 0;

	for (size_t i = 0; i < path.len; i++) {
		bool coded = path.at[i] == '%' && i + 2 < path.len && hex(path.at[i + 1]) >= 0 && hex(path.at[i + 2]) >= 0;
		room[len++] = coded ? (char)(hex(path.at[i + 1]) * 16 + hex(path.at[i + 2])) : path.at[i];
		i += coded ? 2 : 0;
	}
	return (struct span){ room, len };
}

/* Some servers leave out parameters of a segment before they look at it: "..;x" is ".." to them. */
static bool climbs(struct span path)
{
	own(freep) char *room = xcalloc(path.len + 1, 1);
	struct span rest = decode(path, room);

	for (size_t before = path.len; rest.len < before;) { /* one server after the other may decode it once more */
		before = rest.len;
		rest = decode(rest, room);
	}
	for (size_t i = 0; i < rest.len; i++)
		if (rest.at[i] == '\\' || (unsigned char)rest.at[i] < 0x20)
			return true;
	while (rest.len > 0) {
		struct span segment = span_until(rest, '/');
		struct span name = span_until(segment, ';');
		if (span_is(name, ".") || span_is(name, ".."))
			return true;
		rest = span_from(rest, segment.len < rest.len ? segment.len + 1 : segment.len);
	}
	return false;
}

const char *rewrite_refusal(const struct secret_door *door, const struct http_head *head)
{
	if (span_is(head->method, "CONNECT") || span_is(head->method, "TRACE"))
		return "a method that this door does not carry";
	if (head->target.len == 0 || head->target.at[0] != '/' || !span_all(head->target, is_visible))
		return "a target that is no path";
	if (door->path[0] != '\0' && climbs(span_until(head->target, '?')))
		return "a path that may lead out of the door's own";
	return NULL;
}

/* ---- answers ---- */

/* Character sets in which ASCII is ASCII, by how their names begin; those of which nothing else can be made come first. */
static const char *const charsets[] = { "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "iso8859-", "latin", "windows-12",
	"gb", "big5", "shift_jis", "euc-", "koi8-" };
#define CHARSETS_PLAIN 4

static struct span skip_blanks(struct span text)
{
	while (text.len > 0 && (text.at[0] == ' ' || text.at[0] == '\t'))
		text = span_from(text, 1);
	return text;
}

/* Whether every charset that a content type names is one of the first `count`. */
static bool is_in(struct span type, size_t count)
{
	static const char key[] = "charset";
	size_t len = strlen(key);

	for (; type.len >= len; type = span_from(type, 1)) {
		if (!span_is((struct span){ type.at, len }, key))
			continue;
		struct span name = skip_blanks(span_from(type, len));
		bool known = false;
		if (name.len == 0 || name.at[0] != '=')
			continue;
		name = skip_blanks(span_from(name, 1));
		name = name.len > 0 && name.at[0] == '"' ? span_from(name, 1) : name;
		for (size_t i = 0; i < count && !known; i++)
			known = name.len >= strlen(charsets[i]) && span_is((struct span){ name.at, strlen(charsets[i]) }, charsets[i]);
		if (!known)
			return false;
	}
	return true;
}

/* In another one a credential would not be found. */
static bool is_readable(struct span type)
{
	return is_in(type, ARRAY_LEN(charsets));
}

bool rewrite_is_plain(struct span type)
{
	return is_in(type, CHARSETS_PLAIN);
}

const char *rewrite_answer_fault(const struct http_head *head)
{
	if (head->status == 206 || head->status == 226)
		return "its answer is a part of one, though all of it was asked for";
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		/* also if it is only told of (HEAD, 304): its length tells what is repeated */
		if (span_is(field->name, "content-encoding") && !span_is(field->value, "identity"))
			return "its answer is encoded, though it was asked for a plain one";
		if (head->framing != FRAME_NONE && span_is(field->name, "content-type") &&
			!is_readable(field->value))
			return "its answer is in a character set that is not looked through";
	}
	return NULL;
}

/* Takes the text off the beginning. */
static bool skip(struct span *span, const char *text)
{
	size_t len = strlen(text);

	if (span->len < len || !span_is((struct span){ span->at, len }, text))
		return false;
	*span = span_from(*span, len);
	return true;
}

/* Takes scheme and authority off, if they are the upstream's. */
static bool skip_origin(const struct secret_door *door, struct span *url)
{
	struct span rest = *url, authority;
	own(buf_done) struct buf host = { 0 };
	own(freep) char *port = xfmt(":%u", door->port);

	if (!skip(&rest, door->tls ? "https://" : "http://") && !skip(&rest, "//"))
		return false;
	size_t len = 0;
	while (len < rest.len && rest.at[len] != '/' && rest.at[len] != '?' && rest.at[len] != '#')
		len++;
	authority = (struct span){ rest.at, len };
	bool six = strchr(door->host, ':') != NULL;
	buf_fmt(&host, "%s%s%s", six ? "[" : "", door->host, six ? "]" : "");
	if (!skip(&authority, buf_text(&host)))
		return false;
	if (!span_is(authority, port) && !(authority.len == 0 && door->port == default_port(door)))
		return false;
	*url = span_from(rest, len);
	return true;
}

/* Takes the door's own path off. */
static bool skip_path(const struct secret_door *door, struct span *path)
{
	struct span rest = *path;
	size_t len = strlen(door->path);

	if (rest.len < len || memcmp(rest.at, door->path, len) != 0)
		return false;
	rest = span_from(rest, len);
	if (rest.len > 0 && rest.at[0] != '/' && rest.at[0] != '?' && rest.at[0] != '#')
		return false;
	*path = rest;
	return true;
}

/* What is at the upstream, but not behind the door, stays or becomes the upstream's: the cell cannot go there, and can
 * see that. Always a whole URL: what is left of a path may begin with two slashes, which would name a host. */
static void add_location(const struct secret_door *door, struct span value, struct buf *ret)
{
	struct span rest = value;
	bool whole = skip_origin(door, &rest);
	bool rooted = value.len > 0 && value.at[0] == '/' && !(value.len > 1 && value.at[1] == '/');

	if (!whole && (!rooted || door->path[0] == '\0')) {
		buf_add(ret, value.at, value.len);
	} else if (skip_path(door, &rest)) {
		buf_fmt(ret, "http://%s.door%s", door->name, rest.len > 0 && rest.at[0] == '/' ? "" : "/");
		buf_add(ret, rest.at, rest.len);
	} else {
		buf_str(ret, door->tls ? "https://" : "http://");
		add_authority(door, ret);
		buf_add(ret, rest.at, rest.len);
	}
}

void rewrite_answer_fields(const struct secret_door *door, const struct http_head *head, const struct scrub_words *words,
	struct buf *ret)
{
	size_t from = ret->len;

	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		if (http_is_hop(head, field))
			continue;
		if (!span_is(field->name, "location")) {
			http_put_field(ret, field->name, field->value);
			continue;
		}
		own(buf_done) struct buf location = { 0 };
		add_location(door, field->value, &location);
		http_put_field(ret, field->name, (struct span){ buf_text(&location), location.len });
	}
	if (ret->len > from)
		(void)scrub_text(words, ret->data + from, ret->len - from);
}
