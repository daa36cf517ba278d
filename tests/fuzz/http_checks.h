/* What must hold for every HTTP message that was taken. Shared by the harnesses of requests and responses. */
#ifndef HOTCELL_FUZZ_HTTP_CHECKS_H
#define HOTCELL_FUZZ_HTTP_CHECKS_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/http.h"

/* How many prefixes of a long input are tried: each costs as much as the input is long. */
#define PREFIXES 200

static inline void check_span(struct span span, const char *bytes, size_t len)
{
	assert(span.at >= bytes && span.at + span.len <= bytes + len);
	for (size_t i = 0; i < span.len; i++)
		assert(span.at[i] == '\t' || ((unsigned char)span.at[i] >= 0x20 && span.at[i] != 0x7f));
}

static inline void check_head(const struct http_head *head, const char *bytes, size_t max)
{
	assert(head->size >= 4 && head->size <= max && memcmp(bytes + head->size - 4, "\r\n\r\n", 4) == 0);
	assert(head->minor <= 1 && head->field_count <= HTTP_FIELDS_MAX && head->why[0] == '\0');
	size_t lengths = 0, codings = 0;
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];
		check_span(field->name, bytes, head->size);
		check_span(field->value, bytes, head->size);
		assert(field->name.len && !memchr(field->name.at, ' ', field->name.len));
		lengths += span_is(field->name, "content-length");
		codings += span_is(field->name, "transfer-encoding");
		assert(!(span_is(field->name, "content-length") && http_is_hop(head, field)));
	}
	assert(lengths + codings <= 1);
	assert(head->framing != FRAME_LENGTH || lengths);
	assert(head->framing != FRAME_CHUNKED || (codings && head->minor == 1));
	assert(head->framing == FRAME_LENGTH || head->length == 0);
}

/* The head as it was understood; read again it must say the same. */
static inline void write_fields(const struct http_head *head, struct buf *ret)
{
	for (size_t i = 0; i < head->field_count; i++) {
		buf_add(ret, head->fields[i].name.at, head->fields[i].name.len);
		buf_str(ret, ": ");
		buf_add(ret, head->fields[i].value.at, head->fields[i].value.len);
		buf_str(ret, "\r\n");
	}
	buf_str(ret, "\r\n");
}

static inline void check_same(const struct http_head *head, const struct http_head *again)
{
	assert(again->framing == head->framing && again->length == head->length && again->close == head->close);
	assert(again->field_count == head->field_count && again->minor == head->minor);
	assert(again->status == head->status && again->target.len == head->target.len);
	assert(again->method.len == head->method.len && again->reason.len == head->reason.len);
}

static inline uint32_t draw(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

struct body_result {
	struct buf data;
	size_t used;
	bool done, bad;
};

/* In pieces of random length; seed 0: as a whole. A piece is copied, so that a byte too far is seen. */
static inline void take_all(
	const struct http_head *head, const char *bytes, size_t len, uint32_t seed, struct body_result *ret)
{
	struct http_body body;
	size_t given = 0;

	http_body_init(&body, head);
	while (!body.done && !body.bad && (given < len || ret->used < given)) {
		size_t step = seed ? draw(&seed) % 9 + 1 : len;
		given = len - given < step ? len : given + step;
		for (size_t took = 1; took && ret->used < given && !body.done && !body.bad;) {
			size_t size = given - ret->used;
			own(freep) char *piece = malloc(size);
			struct span data;
			memcpy(piece, bytes + ret->used, size);
			took = http_body_take(&body, piece, size, &data);
			assert(took <= size && (took || body.bad));
			assert(data.at >= piece && data.at + data.len <= piece + took);
			buf_add(&ret->data, data.at, data.len);
			ret->used += took;
		}
	}
	assert(!(body.done && body.bad));
	http_body_end(&body);
	assert(body.done != body.bad);
	ret->done = body.done;
	ret->bad = body.bad;
}

static inline void check_body(const struct http_head *head, const char *bytes, size_t len)
{
	struct body_result whole = {0};

	take_all(head, bytes, len, 0, &whole);
	assert(head->framing == FRAME_CLOSE || whole.data.len <= whole.used);
	assert(head->framing != FRAME_LENGTH || whole.data.len <= head->length);
	for (uint32_t seed = 1; seed <= 3; seed++) {
		struct body_result split = {0};
		take_all(head, bytes, len, seed * 2654435761u + (uint32_t)len, &split);
		assert(split.used == whole.used && split.done == whole.done && split.bad == whole.bad);
		assert(split.data.len == whole.data.len);
		assert(memcmp(buf_text(&split.data), buf_text(&whole.data), whole.data.len) == 0);
		buf_done(&split.data);
	}
	buf_done(&whole.data);
}

#endif
