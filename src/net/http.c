/* A head is read in one pass, line by line, and every verdict depends on nothing but the bytes before it: one that
 * arrives in pieces is judged as it would be whole. */
#include "net/http.h"

#include <string.h>

#include "base/weaken.h"
#include "net/http_bytes.h"

#define NO_PORT 65536u /* what was written is no port */
#define LENGTH_DIGITS 18 /* stays below 2^63: some readers are signed */

bool span_is(struct span span, const char *text)
{
	return span_same(span, span_of(text));
}

/* ---- lines ---- */

struct lines {
	struct span rest;
	bool full; /* no more bytes would be looked at */
};

static enum http_read refuse(struct http_head *head, const char *why)
{
	head->why = why;
	return HTTP_BAD;
}

static enum http_read too_large(struct http_head *head, const char *why)
{
	head->why = why;
	return HTTP_LARGE;
}

/* The next line, without its end. */
static enum http_read line_next(struct lines *lines, struct http_head *head, struct span *ret)
{
	struct span rest = lines->rest;
	size_t len = 0;

	while (len < rest.len && is_text(rest.at[len]))
		len++;
	if (len + 1 < rest.len && rest.at[len] == '\r' && rest.at[len + 1] == '\n') {
		*ret = (struct span){rest.at, len};
		lines->rest = span_from(rest, len + 2);
		return HTTP_DONE;
	}
	if (len < rest.len && rest.at[len] == '\n')
		return refuse(head, "a line feed without a carriage return");
	if (len + 1 < rest.len && rest.at[len] == '\r')
		return refuse(head, "a carriage return without a line feed");
	if (len < rest.len && rest.at[len] != '\r')
		return refuse(head, "a control byte in the head");
	return lines->full ? too_large(head, "the head is too long") : HTTP_MORE;
}

/* ---- fields ---- */

/* Fields on which framing or routing depends: once at most, spelled as everybody spells them. */
static const char *const singles[] = {"content-length", "transfer-encoding", "host"};

const struct http_field *http_field(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (span_is(head->fields[i].name, name))
			return &head->fields[i];
	return NULL;
}

/* Gateways that make variables of fields take _ for -. */
static bool looks_like(struct span name, const char *single)
{
	if (name.len != strlen(single))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (lower(name.at[i]) != (unsigned char)single[i] && !(name.at[i] == '_' && single[i] == '-'))
			return false;
	return true;
}

/* `raw`: the value with the blanks around it. */
static const char *single_fault(const struct http_head *head, struct span name, struct span raw)
{
	for (size_t i = 0; i < ARRAY_LEN(singles); i++) {
		if (!looks_like(name, singles[i]))
			continue;
		if (!span_is(name, singles[i]))
			return "a field that only looks like one that delimits messages";
		if (http_field(head, singles[i]))
			return "two Content-Length, Transfer-Encoding or Host";
		if (span_has(raw, '\t'))
			return "a tab beside what delimits the message";
	}
	return NULL;
}

static enum http_read field_add(struct http_head *head, struct span line)
{
	struct span name = span_until(line, ':');

	if (is_blank(line.at[0]))
		return refuse(head, "a folded line");
	if (name.len == line.len)
		return refuse(head, "a line without a colon");
	if (!name.len || !span_all(name, is_token))
		return refuse(head, "a field name that is none");
	struct span raw = span_from(line, name.len + 1);
	const char *fault = single_fault(head, name, raw);
	if (fault)
		return refuse(head, fault);
	if (head->field_count == HTTP_FIELDS_MAX)
		return weakened("door-heads") ? HTTP_DONE : too_large(head, "too many fields");
	head->fields[head->field_count++] = (struct http_field){name, span_trim(raw)};
	return HTTP_DONE;
}

/* Takes the next element off a list with commas. */
static bool list_next(struct span *list, struct span *ret)
{
	if (!list->at)
		return false;
	struct span item = span_until(*list, ',');
	*list = item.len < list->len ? span_from(*list, item.len + 1) : (struct span){NULL, 0};
	*ret = span_trim(item);
	return true;
}

static bool connection_names(const struct http_head *head, struct span name)
{
	for (size_t i = 0; i < head->field_count; i++) {
		struct span list = head->fields[i].value, item;
		if (!span_is(head->fields[i].name, "connection"))
			continue;
		while (list_next(&list, &item))
			if (span_same(item, name))
				return true;
	}
	return false;
}

void http_put_field(struct buf *out, struct span name, struct span value)
{
	buf_add(out, name.at, name.len);
	buf_str(out, ": ");
	buf_add(out, value.at, value.len);
	buf_str(out, "\r\n");
}

bool http_is_hop(const struct http_head *head, const struct http_field *field)
{
	static const char *const names[] = {
		"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"};
	static const char proxy[] = "proxy-";

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_is(field->name, names[i]))
			return true;
	if (field->name.len >= strlen(proxy) && span_is((struct span){field->name.at, strlen(proxy)}, proxy))
		return true;
	return connection_names(head, field->name);
}

/* ---- framing ---- */

static bool length_read(struct span text, uint64_t *ret)
{
	*ret = 0;
	if (!text.len || text.len > LENGTH_DIGITS || !span_all(text, is_digit))
		return false;
	if (text.at[0] == '0' && text.len > 1)
		return false; /* octal to some */
	for (size_t i = 0; i < text.len; i++)
		*ret = *ret * 10 + (uint64_t)(text.at[i] - '0');
	return true;
}

/* What the fields say about the message's end and the connection's. */
static enum http_read frame(struct http_head *head)
{
	const struct http_field *length = http_field(head, "content-length");
	const struct http_field *coding = http_field(head, "transfer-encoding");

	if (length && coding)
		return refuse(head, "Content-Length beside Transfer-Encoding");
	if (length && !length_read(length->value, &head->length))
		return refuse(head, "a Content-Length that is no number");
	if (coding && !span_is(coding->value, "chunked"))
		return refuse(head, "a Transfer-Encoding other than chunked");
	if (coding && head->minor == 0)
		return refuse(head, "chunks in HTTP/1.0");
	/* Whoever believed it would take the length away and leave the body. */
	for (size_t i = 0; i < ARRAY_LEN(singles); i++)
		if (connection_names(head, span_of(singles[i])))
			return refuse(head, "Connection names a field that delimits messages");
	head->framing = length ? FRAME_LENGTH : coding ? FRAME_CHUNKED : FRAME_NONE;
	head->close = connection_names(head, span_of("close")) ||
		(head->minor == 0 && !connection_names(head, span_of("keep-alive")));
	return HTTP_DONE;
}

typedef enum http_read first_line_fn(struct http_head *head, struct span line);

static enum http_read head_read(
	const char *bytes, size_t len, size_t max, first_line_fn *first, struct http_head *head)
{
	struct lines lines = {.rest = {bytes, len < max ? len : max}, .full = len >= max};
	struct span line;

	*head = (struct http_head){.why = ""};
	enum http_read read = line_next(&lines, head, &line);
	if (read == HTTP_DONE)
		read = first(head, line);
	while (read == HTTP_DONE) {
		read = line_next(&lines, head, &line);
		if (read != HTTP_DONE)
			break;
		if (!line.len) {
			head->size = (size_t)(lines.rest.at - bytes);
			return frame(head);
		}
		read = field_add(head, line);
	}
	return read;
}

static bool version_read(struct span text, unsigned *ret_minor)
{
	static const char version[] = "HTTP/1.";
	size_t len = strlen(version);

	if (text.len != len + 1 || memcmp(text.at, version, len) != 0)
		return false;
	*ret_minor = text.at[len] == '1';
	return text.at[len] == '0' || text.at[len] == '1';
}

/* ---- requests ---- */

static bool is_method(char c)
{
	return is_token(c) && !(c >= 'a' && c <= 'z');
}

static bool method_is(const struct http_head *head, const char *method)
{
	return head->method.len == strlen(method) && memcmp(head->method.at, method, head->method.len) == 0;
}

static bool target_fits(const struct http_head *head)
{
	struct span host, path, target = head->target;
	unsigned port;

	if (method_is(head, "CONNECT"))
		return http_authority(target, &host, &port);
	if (target.at[0] == '/')
		return !span_has(target, '#');
	if (span_is(target, "*"))
		return method_is(head, "OPTIONS");
	return http_absolute(target, &host, &port, &path);
}

static enum http_read request_line(struct http_head *head, struct span line)
{
	head->method = span_until(line, ' ');
	if (!head->method.len || !span_all(head->method, is_token))
		return refuse(head, "a method that is none");
	/* Methods differ by case, but not to everybody. */
	if (!span_all(head->method, is_method))
		return refuse(head, "a method in lower case");
	if (head->method.len == line.len)
		return refuse(head, "a request without a target");
	line = span_from(line, head->method.len + 1);
	head->target = span_until(line, ' ');
	if (!head->target.len || !span_all(head->target, is_visible))
		return refuse(head, "a target that is empty, or has bytes that none has");
	if (head->target.len == line.len || !version_read(span_from(line, head->target.len + 1), &head->minor))
		return refuse(head, "neither HTTP/1.0 nor HTTP/1.1");
	if (!target_fits(head))
		return refuse(head, "a target that does not fit the method");
	return HTTP_DONE;
}

enum http_read http_read_request(const char *bytes, size_t len, struct http_head *ret)
{
	enum http_read read = head_read(bytes, len, HTTP_HEAD_MAX, request_line, ret);

	if (read != HTTP_DONE)
		return read;
	const struct http_field *host = http_field(ret, "host");
	if (!host && ret->minor == 1)
		return refuse(ret, "no Host");
	if (host && !span_all(host->value, is_host))
		return refuse(ret, "a Host that is none");
	/* What follows is the tunnel's, to one reader or the other. */
	if (method_is(ret, "CONNECT") && (ret->framing == FRAME_CHUNKED || ret->length))
		return refuse(ret, "CONNECT with a body");
	return HTTP_DONE;
}

/* ---- responses ---- */

static enum http_read status_line(struct http_head *head, struct span line)
{
	struct span version = span_until(line, ' ');

	if (!version_read(version, &head->minor))
		return refuse(head, "neither HTTP/1.0 nor HTTP/1.1");
	struct span rest = span_from(line, version.len);
	if (rest.len < 4 || !span_all((struct span){rest.at + 1, 3}, is_digit) || rest.at[1] == '0')
		return refuse(head, "a status that is none");
	for (size_t i = 1; i < 4; i++)
		head->status = head->status * 10 + (unsigned)(rest.at[i] - '0');
	rest = span_from(rest, 4);
	if (rest.len && rest.at[0] != ' ')
		return refuse(head, "a status that is none");
	head->reason = rest.len ? span_from(rest, 1) : rest; /* many leave out the blank of an empty one */
	return HTTP_DONE;
}

enum http_read http_read_response(const char *bytes, size_t len, bool asked_head, struct http_head *ret)
{
	enum http_read read = head_read(bytes, len, HTTP_ANSWER_MAX, status_line, ret);
	bool never = ret->status < 200 || ret->status == 204; /* has no body, and no field says otherwise */

	if (read != HTTP_DONE)
		return read;
	if (never && (ret->framing == FRAME_CHUNKED || ret->length))
		return refuse(ret, "a body where none can be");
	if (never || asked_head || ret->status == 304) {
		ret->framing = FRAME_NONE;
		ret->length = 0;
	} else if (ret->framing == FRAME_NONE) {
		ret->framing = FRAME_CLOSE;
		ret->close = true;
	}
	return HTTP_DONE;
}

/* ---- targets ---- */

static unsigned port_read(struct span text)
{
	unsigned port = 0;

	if (!text.len || text.len > 5 || !span_all(text, is_digit) || (text.at[0] == '0' && text.len > 1))
		return NO_PORT;
	for (size_t i = 0; i < text.len; i++)
		port = port * 10 + (unsigned)(text.at[i] - '0');
	return port;
}

/* HOST or HOST:PORT; without a port it is `port`. */
static bool host_port(struct span text, unsigned port, struct span *ret_host, unsigned *ret_port)
{
	struct span host = span_until(text, text.len && text.at[0] == '[' ? ']' : ':');

	if (!host.len)
		return false;
	if (host.at[0] == '[' && host.len++ == text.len)
		return false; /* never closed */
	struct span rest = span_from(text, host.len);
	if (rest.len && (rest.at[0] != ':' || span_has(span_from(rest, 1), ':')))
		return false;
	*ret_host = host;
	*ret_port = rest.len ? port_read(span_from(rest, 1)) : port;
	return true;
}

bool http_authority(struct span target, struct span *ret_host, unsigned *ret_port)
{
	return host_port(target, NO_PORT, ret_host, ret_port) && ret_host->len < target.len;
}

bool http_absolute(struct span target, struct span *ret_host, unsigned *ret_port, struct span *ret_path)
{
	static const char scheme[] = "http://";
	size_t len = strlen(scheme);

	if (target.len < len || !span_is((struct span){target.at, len}, scheme))
		return false;
	struct span rest = span_from(target, len);
	struct span authority = span_until(rest, '/');
	if (!span_all(rest, is_visible) || span_has(rest, '#') || span_has(authority, '?') || span_has(authority, '@'))
		return false;
	*ret_path = authority.len < rest.len ? span_from(rest, authority.len) : span_of("/");
	return host_port(authority, 80, ret_host, ret_port);
}
