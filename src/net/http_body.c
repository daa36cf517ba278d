/* Bodies. Chunks are read a byte at a time but for their data: where the bytes were cut makes no difference. */
#include "net/http.h"

#include "net/http_bytes.h"

#define SIZE_DIGITS 16
#define SIZE_LINE_MAX 256 /* with extensions, without its end */
#define TRAILERS_MAX 8192 /* all lines with their ends */

enum chunk {
	CHUNK_SIZE,
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	/* After the last chunk. */
	CHUNK_TRAILER, /* its first byte, or that of the empty line */
	CHUNK_TRAILER_NAME,
	CHUNK_TRAILER_VALUE,
	CHUNK_TRAILER_LF,
	CHUNK_END_LF
};

void http_body_init(struct http_body *body, const struct http_head *head)
{
	*body = (struct http_body){.framing = head->framing, .state = CHUNK_SIZE};
	if (head->framing == FRAME_LENGTH)
		body->left = head->length;
	body->done = head->framing == FRAME_NONE || (head->framing == FRAME_LENGTH && head->length == 0);
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

static bool go(struct http_body *body, enum chunk state)
{
	body->state = (int)state;
	return true;
}

/* All of these: false for a byte that must not be there. */
static bool size_byte(struct http_body *body, char c)
{
	int value = hex_value(c);

	if (value >= 0) {
		body->left = body->left << 4 | (uint64_t)value;
		return ++body->line <= SIZE_DIGITS;
	}
	if (body->line == 0)
		return false;
	body->line++;
	return c == ';' ? go(body, CHUNK_EXTENSION) : c == '\r' && go(body, CHUNK_SIZE_LF);
}

static bool extension_byte(struct http_body *body, char c)
{
	if (c == '\r')
		return go(body, CHUNK_SIZE_LF);
	return is_text(c) && ++body->line <= SIZE_LINE_MAX;
}

static bool size_end(struct http_body *body, char c)
{
	body->line = 0;
	return c == '\n' && go(body, body->left ? CHUNK_DATA : CHUNK_TRAILER);
}

static bool trailer_byte(struct http_body *body, char c)
{
	if (++body->line > TRAILERS_MAX)
		return false;
	switch ((enum chunk)body->state) {
	case CHUNK_TRAILER:
		return c == '\r' ? go(body, CHUNK_END_LF) : is_token(c) && go(body, CHUNK_TRAILER_NAME);
	case CHUNK_TRAILER_NAME:
		return c == ':' ? go(body, CHUNK_TRAILER_VALUE) : is_token(c);
	case CHUNK_TRAILER_VALUE:
		return c == '\r' ? go(body, CHUNK_TRAILER_LF) : is_text(c);
	case CHUNK_TRAILER_LF:
		return c == '\n' && go(body, CHUNK_TRAILER);
	default:
		body->done = c == '\n';
		return body->done;
	}
}

static bool chunk_byte(struct http_body *body, char c)
{
	switch ((enum chunk)body->state) {
	case CHUNK_SIZE:
		return size_byte(body, c);
	case CHUNK_EXTENSION:
		return extension_byte(body, c);
	case CHUNK_SIZE_LF:
		return size_end(body, c);
	case CHUNK_DATA_CR:
		return c == '\r' && go(body, CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		return c == '\n' && go(body, CHUNK_SIZE);
	default:
		return trailer_byte(body, c);
	}
}

/* As many of the bytes as are still of the length or the chunk. */
static size_t data_take(struct http_body *body, struct span bytes, struct span *ret_data)
{
	size_t taken = bytes.len < body->left ? bytes.len : (size_t)body->left;

	*ret_data = (struct span){bytes.at, taken};
	body->left -= taken;
	return taken;
}

static size_t chunks_take(struct http_body *body, struct span bytes, struct span *ret_data)
{
	size_t used = 0;

	while (used < bytes.len && !body->done) {
		if (body->state == CHUNK_DATA) {
			used += data_take(body, span_from(bytes, used), ret_data);
			if (!body->left)
				body->state = CHUNK_DATA_CR;
			return used;
		}
		if (!chunk_byte(body, bytes.at[used])) {
			body->bad = true;
			return used;
		}
		used++;
	}
	return used;
}

size_t http_body_take(struct http_body *body, const char *bytes, size_t len, struct span *ret_data)
{
	struct span given = {bytes, len};
	size_t used;

	*ret_data = (struct span){bytes, 0};
	if (body->done || body->bad)
		return 0;
	switch (body->framing) {
	case FRAME_LENGTH:
		used = data_take(body, given, ret_data);
		body->done = body->left == 0;
		return used;
	case FRAME_CHUNKED:
		return chunks_take(body, given, ret_data);
	case FRAME_CLOSE:
		*ret_data = given;
		return len;
	case FRAME_NONE:
		break;
	}
	return 0;
}

void http_body_end(struct http_body *body)
{
	if (body->framing == FRAME_CLOSE)
		body->done = true;
	else if (!body->done)
		body->bad = true;
}
