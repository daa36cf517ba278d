/* Whatever a recording holds: it is refused with a clean sentence, or each of its exchanges is safe to send, says the
 * same when it is written and read again, and is found by what it holds. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "door/policy/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
	assert(err->code == ERR_USAGE && strnlen(err->text, sizeof(err->text)) < sizeof(err->text));
	for (const char *at = err->text; *at; at++)
		assert((unsigned char)*at >= 0x20 && *at != 0x7f);
}

/* Lines that end where they should, each with a name. */
static void check_fields(const struct buf *fields)
{
	size_t lines = 0;

	for (size_t i = 0; i < fields->len; i++) {
		bool end = fields->data[i] == '\r';
		assert(!end || (i + 1 < fields->len && fields->data[i + 1] == '\n'));
		assert(fields->data[i] != '\n' || (i > 0 && fields->data[i - 1] == '\r'));
		assert(fields->data[i] != '\0');
		lines += end;
	}
	assert(fields->len == 0 || (lines > 0 && fields->data[fields->len - 1] == '\n' && fields->data[0] != ':'));
}

static void check(const struct exchange *exchange)
{
	own(exchange_done) struct exchange again = {0};
	own(buf_done) struct buf first = {0}, second = {0};
	struct err err = {0};
	uint64_t total = 0;

	check_fields(&exchange->request_fields);
	check_fields(&exchange->fields);
	assert(exchange->status >= 100 && exchange->status <= 999);
	for (size_t i = 0; i < exchange->piece_count; i++)
		total += exchange->pieces[i].len;
	assert(total == exchange->body.len || exchange->cut);
	exchange_write(exchange, &first);
	assert(memchr(first.data, '\n', first.len) == first.data + first.len - 1);
	assert(exchange_read(&again, first.data, first.len - 1, &err) == 0);
	assert(again.body.len == exchange->body.len && again.request.len == exchange->request.len);
	exchange_write(&again, &second);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

static void check_found(struct exchange_book *book)
{
	for (size_t i = 0; i < book->count; i++) {
		const struct exchange *item = &book->items[i];
		bool exact = false;
		const struct exchange *found = book_find(book, item->door, item->method, item->path,
			buf_text(&item->request), item->request.len, &exact);
		assert(item->cut ? !found || !found->cut : found && exact);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(freep) char *copy = malloc(size ? size : 1); /* exactly, so that a byte too far is seen */
	own(book_done) struct exchange_book book = {0};
	struct err err = {0};

	if (size > 8192)
		return 0;
	memcpy(copy, data, size);
	if (book_read(&book, copy, size, "f", &err) < 0) {
		check_refusal(&err);
		return 0;
	}
	for (size_t i = 0; i < book.count; i++)
		check(&book.items[i]);
	check_found(&book);
	return 0;
}
