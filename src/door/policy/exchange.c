#include "door/policy/exchange.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/size.h"
#include "base/term.h"
#include "base/utf8.h"

#define FIELDS_MAX 65536 /* bytes of all fields of one side */

static const struct json_limits limits = {
	.bytes = (size_t)2 * 6 * EXCHANGE_BODY_MAX + ((size_t)4 << 20), /* were every byte of both bodies written as \u0001 */
	.values = (size_t)2 * EXCHANGE_PIECES_MAX + 4096,
	.depth = 6,
};

void exchange_done(struct exchange *exchange)
{
	free(exchange->door);
	free(exchange->method);
	free(exchange->path);
	buf_done(&exchange->request_fields);
	buf_done(&exchange->request);
	buf_done(&exchange->fields);
	buf_done(&exchange->body);
	free(exchange->pieces);
	*exchange = (struct exchange){0};
}

/* ---- writing ---- */

static bool is_text(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		int size = utf8_char(bytes + i, len - i);
		if (size <= 0 || bytes[i] == '\0')
			return false;
		i += (size_t)size;
	}
	return true;
}

static void bytes_write(struct json *json, const char *bytes, size_t len)
{
	own(buf_done) struct buf encoded = {0};

	if (is_text(bytes, len)) {
		json_bytes(json, bytes, len);
		return;
	}
	base64_write(bytes, len, &encoded);
	json_open(json, '{');
	json_put_string(json, "base64", buf_text(&encoded));
	json_close(json, '}');
}

struct field {
	const char *name, *value;
	size_t name_len, value_len;
	size_t size; /* of the whole line; 0: there is none */
};

static struct field field_at(const struct buf *fields, size_t at)
{
	const char *line = fields->data + at;
	const char *end = at < fields->len ? memmem(line, fields->len - at, "\r\n", 2) : NULL;
	const char *colon = end ? memchr(line, ':', (size_t)(end - line)) : NULL;

	if (!colon)
		return (struct field){0};
	struct field field = {.name = line, .name_len = (size_t)(colon - line), .value = colon + 1};
	field.value += field.value < end && *field.value == ' ';
	field.value_len = (size_t)(end - field.value);
	field.size = (size_t)(end - line) + 2;
	return field;
}

static bool same_name(const struct field *a, const struct field *b)
{
	return a->name_len == b->name_len && strncasecmp(a->name, b->name, a->name_len) == 0;
}

/* How many fields from `at` on have this name. */
static size_t name_count(const struct buf *fields, size_t at, const struct field *field)
{
	size_t count = 0;

	for (struct field next = field_at(fields, at); next.size; next = field_at(fields, at)) {
		count += same_name(&next, field);
		at += next.size;
	}
	return count;
}

static void field_write(struct json *json, const struct buf *fields, size_t at, const struct field *field)
{
	own(buf_done) struct buf name = {0};
	bool list = name_count(fields, at, field) > 1;

	buf_add(&name, field->name, field->name_len);
	json_key(json, name.data);
	if (list)
		json_open(json, '[');
	for (struct field next = field_at(fields, at); next.size; next = field_at(fields, at)) {
		if (same_name(&next, field))
			bytes_write(json, next.value, next.value_len);
		at += next.size;
	}
	if (list)
		json_close(json, ']');
}

/* A name is a key once: what stands under it later is written with the first. */
static void fields_write(struct json *json, const struct buf *fields)
{
	size_t at = 0;

	json_key(json, "headers");
	json_open(json, '{');
	for (struct field field = field_at(fields, at); field.size; field = field_at(fields, at)) {
		if (name_count(fields, 0, &field) == name_count(fields, at, &field))
			field_write(json, fields, at, &field);
		at += field.size;
	}
	json_close(json, '}');
}

static void body_write(struct json *json, const struct buf *body)
{
	json_key(json, "body");
	bytes_write(json, buf_text(body), body->len);
}

static void pieces_write(struct json *json, const struct exchange *exchange)
{
	size_t count = exchange->piece_count;
	size_t shown = count < EXCHANGE_PIECES_MAX ? count : EXCHANGE_PIECES_MAX;
	uint64_t rest = 0;

	for (size_t i = shown; i < count; i++)
		rest += exchange->pieces[i].len;
	json_key(json, "delays_ms");
	json_open(json, '[');
	for (size_t i = 0; i < shown; i++)
		json_uint(json, exchange->pieces[i].delay_ms);
	json_close(json, ']');
	json_key(json, "pieces");
	json_open(json, '[');
	for (size_t i = 0; i < shown; i++)
		json_uint(json, exchange->pieces[i].len + (i + 1 == shown ? rest : 0));
	json_close(json, ']');
}

void exchange_write(const struct exchange *exchange, struct buf *ret)
{
	own(json_done) struct json json = {0};

	assert(exchange->request.len <= EXCHANGE_BODY_MAX && exchange->body.len <= EXCHANGE_BODY_MAX);
	json_open(&json, '{');
	json_put_string(&json, "door", exchange->door);
	json_put_string(&json, "method", exchange->method);
	json_put_string(&json, "path", exchange->path);
	json_key(&json, "request");
	json_open(&json, '{');
	fields_write(&json, &exchange->request_fields);
	body_write(&json, &exchange->request);
	json_close(&json, '}');
	json_put_uint(&json, "status", exchange->status);
	fields_write(&json, &exchange->fields);
	body_write(&json, &exchange->body);
	pieces_write(&json, exchange);
	if (exchange->cut)
		json_put_bool(&json, "cut", true);
	json_close(&json, '}');
	buf_add(ret, json.out.data, json.out.len);
	buf_char(ret, '\n');
}

/* ---- reading ---- */

/* The member, of the kind it must have; NULL, with the error told, if it has not. */
static const struct value *member(const struct value *map, const char *key, enum value_kind kind, struct err *err)
{
	const struct value *value = value_get(map, key);

	if (value && value->kind == kind)
		return value;
	(void)err_set(err, ERR_USAGE, "'%s' is %s and must be %s", key, value ? value_kind_name(value->kind) : "not there",
		value_kind_name(kind));
	return NULL;
}

/* A text that becomes part of a line of HTTP: none of it may end that line or the word. */
static int word_read(const struct value *map, const char *key, char **ret, struct err *err)
{
	const struct value *value = member(map, key, VALUE_TEXT, err);

	if (!value)
		return -1;
	for (const char *at = value->text; *at; at++) {
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return err_set(err, ERR_USAGE, "'%s' holds a blank or a control character", key);
	}
	if (!*value->text)
		return err_set(err, ERR_USAGE, "'%s' is empty", key);
	*ret = xstrdup(value->text);
	return 0;
}

/* Text, or {"base64":"..."}. */
static int bytes_read(const struct value *value, const char *key, size_t max, struct buf *ret, struct err *err)
{
	const struct value *encoded = value_get(value, "base64");
	bool good = false;

	if (value->kind == VALUE_TEXT) {
		buf_str(ret, value->text);
		good = true;
	} else if (value->kind == VALUE_MAP && value->count == 1 && encoded && encoded->kind == VALUE_TEXT) {
		good = base64_read(encoded->text, strlen(encoded->text), ret);
	}
	if (!good)
		return err_set(err, ERR_USAGE, "'%s' must be a string or {\"base64\":\"...\"}", key);
	if (ret->len > max)
		return err_set(err, ERR_USAGE, "'%s' is longer than %zu bytes", key, max);
	return 0;
}

static int body_read(const struct value *map, struct buf *ret, struct err *err)
{
	const struct value *body = value_get(map, "body");

	if (!body)
		return err_set(err, ERR_USAGE, "'body' is not there");
	return bytes_read(body, "body", EXCHANGE_BODY_MAX, ret, err);
}

static bool is_token(const char *text)
{
	static const char letters[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	return *text && !text[strspn(text, letters)];
}

/* Nothing in a value may end its line, or be taken for blanks around it. */
static bool is_field_value(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return len == 0 || (!strchr(" \t", bytes[0]) && !strchr(" \t", bytes[len - 1]));
}

static int field_read(const char *name, const struct value *value, struct buf *ret, struct err *err)
{
	own(buf_done) struct buf bytes = {0};

	if (!is_token(name))
		return err_set(err, ERR_USAGE, "'headers' has a name that is none");
	if (bytes_read(value, "headers", FIELDS_MAX, &bytes, err) < 0)
		return -1;
	if (!is_field_value(buf_text(&bytes), bytes.len))
		return err_set(err, ERR_USAGE, "'headers' has a value with control characters or blanks around it");
	buf_fmt(ret, "%s: ", name);
	buf_add(ret, bytes.data, bytes.len);
	buf_str(ret, "\r\n");
	if (ret->len > FIELDS_MAX)
		return err_set(err, ERR_USAGE, "'headers' is longer than %d bytes", FIELDS_MAX);
	return 0;
}

static int fields_read(const struct value *map, struct buf *ret, struct err *err)
{
	const struct value *headers = member(map, "headers", VALUE_MAP, err);

	if (!headers)
		return -1;
	for (size_t i = 0; i < headers->count; i++) {
		const struct value *item = &headers->items[i];
		bool list = item->kind == VALUE_LIST;
		for (size_t j = 0; j < (list ? item->count : 1); j++) {
			if (field_read(headers->keys[i], list ? &item->items[j] : item, ret, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int number_read(const struct value *value, const char *key, uint64_t min, uint64_t max, uint64_t *ret,
	struct err *err)
{
	if (value->kind != VALUE_NUMBER)
		return err_set(err, ERR_USAGE, "'%s' is %s and must be a number", key, value_kind_name(value->kind));
	return count_parse(value->text, key, min, max, ret, err);
}

static int pieces_read(struct exchange *ret, const struct value *map, struct err *err)
{
	const struct value *lengths = member(map, "pieces", VALUE_LIST, err);
	const struct value *delays = lengths ? member(map, "delays_ms", VALUE_LIST, err) : NULL;
	uint64_t total = 0;

	if (!delays)
		return -1;
	if (lengths->count != delays->count || lengths->count > EXCHANGE_PIECES_MAX)
		return err_set(err, ERR_USAGE, "'pieces' and 'delays_ms' must be as long as each other, and at most %d",
			EXCHANGE_PIECES_MAX);
	ret->pieces = xcalloc(lengths->count, sizeof(*ret->pieces));
	for (; ret->piece_count < lengths->count; ret->piece_count++) {
		struct exchange_piece *piece = &ret->pieces[ret->piece_count];
		uint64_t len, delay;
		if (number_read(&lengths->items[ret->piece_count], "pieces", 0, UINT32_MAX, &len, err) < 0 ||
			number_read(&delays->items[ret->piece_count], "delays_ms", 0, UINT32_MAX, &delay, err) < 0)
			return -1;
		*piece = (struct exchange_piece){.len = (uint32_t)len, .delay_ms = (uint32_t)delay};
		total += len;
	}
	if (total != ret->body.len && !ret->cut)
		return err_set(err, ERR_USAGE, "'pieces' are not those of a body of %zu bytes", ret->body.len);
	return 0;
}

static int cut_read(struct exchange *ret, const struct value *map, struct err *err)
{
	const struct value *cut = value_get(map, "cut");

	if (cut && cut->kind != VALUE_BOOL)
		return err_set(err, ERR_USAGE, "'cut' is %s and must be true or false", value_kind_name(cut->kind));
	ret->cut = cut && cut->truth;
	return 0;
}

static int map_read(struct exchange *ret, const struct value *map, struct err *err)
{
	if (map->kind != VALUE_MAP)
		return err_set(err, ERR_USAGE, "an exchange must be an object, not %s", value_kind_name(map->kind));
	const struct value *request = member(map, "request", VALUE_MAP, err);
	const struct value *status = request ? member(map, "status", VALUE_NUMBER, err) : NULL;
	uint64_t number;
	if (!status || number_read(status, "status", 100, 999, &number, err) < 0)
		return -1;
	ret->status = (unsigned)number;
	if (word_read(map, "door", &ret->door, err) < 0 || word_read(map, "method", &ret->method, err) < 0 ||
		word_read(map, "path", &ret->path, err) < 0 || fields_read(request, &ret->request_fields, err) < 0 ||
		body_read(request, &ret->request, err) < 0 || fields_read(map, &ret->fields, err) < 0 ||
		body_read(map, &ret->body, err) < 0 || cut_read(ret, map, err) < 0)
		return -1;
	return pieces_read(ret, map, err);
}

int exchange_read(struct exchange *ret, const char *line, size_t len, struct err *err)
{
	own(value_done) struct value map = {0};

	*ret = (struct exchange){0};
	if (json_read(line, len, &limits, NULL, &map, err) == 0 && map_read(ret, &map, err) == 0)
		return 0;
	exchange_done(ret);
	return -1;
}

/* ---- a book of them ---- */

void book_done(struct exchange_book *book)
{
	for (size_t i = 0; i < book->count; i++)
		exchange_done(&book->items[i]);
	free(book->items);
	free(book->used);
	*book = (struct exchange_book){0};
}

static int lines_read(struct exchange_book *book, const char *bytes, size_t len, const char *file, struct err *err)
{
	for (size_t at = 0, number = 1; at < len; number++) {
		const char *end = memchr(bytes + at, '\n', len - at);
		if (!end)
			break;
		size_t size = (size_t)(end - bytes) - at;
		if ((book->count & (book->count - 1)) == 0)
			book->items = xrealloc(book->items, book->count ? book->count * 2 : 1, sizeof(*book->items));
		if (exchange_read(&book->items[book->count], bytes + at, size, err) < 0) {
			own(buf_done) struct buf shown = {0};
			term_line(file, strlen(file), 160, &shown);
			return err_wrap(err, "%s:%zu", buf_text(&shown), number);
		}
		book->count++;
		at += size + 1;
	}
	return 0;
}

int book_read(struct exchange_book *ret, const char *bytes, size_t len, const char *file, struct err *err)
{
	*ret = (struct exchange_book){0};
	if (lines_read(ret, bytes, len, file, err) < 0) {
		book_done(ret);
		return -1;
	}
	ret->used = xcalloc(ret->count, sizeof(*ret->used));
	return 0;
}

static bool same_body(const struct exchange *item, const char *body, size_t len)
{
	return item->request.len == len && (len == 0 || memcmp(item->request.data, body, len) == 0);
}

const struct exchange *book_find(struct exchange_book *book, const char *door, const char *method, const char *path,
	const char *body, size_t len, bool *ret_exact)
{
	size_t exact = SIZE_MAX, unused = SIZE_MAX, last = SIZE_MAX;

	*ret_exact = false;
	for (size_t i = 0; i < book->count && exact == SIZE_MAX; i++) {
		const struct exchange *item = &book->items[i];
		if (item->cut || strcmp(item->door, door) != 0 || strcmp(item->method, method) != 0 ||
			strcmp(item->path, path) != 0)
			continue;
		last = i;
		if (book->used[i])
			continue;
		unused = unused == SIZE_MAX ? i : unused;
		if (same_body(item, body, len))
			exact = i;
	}
	size_t found = exact != SIZE_MAX ? exact : unused != SIZE_MAX ? unused : last;
	if (found == SIZE_MAX)
		return NULL;
	book->used[found] = true;
	*ret_exact = same_body(&book->items[found], body, len);
	return &book->items[found];
}
