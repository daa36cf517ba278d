/* Whatever a cell sends into a tunnel: a beginning of it needs more or gets the same verdict, one that is taken has a
 * canonical name, and neither how a message is cut into records nor what follows it makes a difference. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "net/hello.h"

#define PREFIXES 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From a copy of exactly that size, so that a byte too far is seen. */
static enum hello read_exactly(const uint8_t *data, size_t size, char ret_name[HOST_MAX + 1])
{
	own(freep) uint8_t *bytes = malloc(size ? size : 1);

	memcpy(bytes, data, size);
	return hello_read(bytes, size, ret_name);
}

static void check_prefixes(const uint8_t *data, size_t size, enum hello whole, const char *name)
{
	bool decided = false;

	for (size_t len = 0; len < size; len += size / PREFIXES + 1) {
		char cut[HOST_MAX + 1];
		enum hello hello = read_exactly(data, len, cut);
		assert(hello == whole || (hello == HELLO_MORE && !decided));
		assert(hello != HELLO_OK || strcmp(cut, name) == 0);
		decided |= hello != HELLO_MORE;
	}
}

/* The payloads of whole records together, up to the end of the message. */
static void gather(const uint8_t *data, size_t size, struct buf *ret)
{
	for (size_t at = 0; at + 5 <= size;) {
		size_t len = (size_t)data[at + 3] << 8 | data[at + 4];
		at += 5;
		buf_add(ret, data + at, len < size - at ? len : size - at);
		at += len;
		const uint8_t *got = (const uint8_t *)ret->data;
		if (ret->len >= 4 && ret->len >= 4 + ((size_t)got[1] << 16 | (size_t)got[2] << 8 | got[3]))
			return;
	}
}

static void check_records(const uint8_t *data, size_t size, enum hello whole, const char *name)
{
	own(buf_done) struct buf message = {0};
	own(buf_done) struct buf records = {0};
	char again[HOST_MAX + 1];

	gather(data, size, &message);
	size_t step = message.len % 97 + 5;
	for (size_t at = 0; at < message.len; at += step) {
		size_t len = message.len - at < step ? message.len - at : step;
		buf_str(&records, "\x16\x03\x03");
		buf_char(&records, (char)(len >> 8));
		buf_char(&records, (char)len);
		buf_add(&records, message.data + at, len);
	}
	if (records.len > HELLO_MAX)
		return; /* headers were added */
	assert(read_exactly((const uint8_t *)records.data, records.len, again) == whole);
	assert(strcmp(again, name) == 0);
	buf_str(&records, "more");
	assert(read_exactly((const uint8_t *)records.data, records.len, again) == whole);
}

/* How it is cut changes nothing, and what is held is bounded. */
static void check_watch(const uint8_t *data, size_t size, const char *name)
{
	struct hello_watch whole = {0}, cut = {0};
	enum hello_watched all = hello_watch_first(&whole, name, data, size), watched = WATCH_ON;
	size_t first = 1;

	while (first < size && hello_watch_first(&cut, name, data, first) == WATCH_BAD)
		first++;
	assert(cut.held.len == 0);
	for (size_t at = first, step = 1 + data[size - 1] % 50; at < size && watched == WATCH_ON; at += step) {
		watched = hello_watch(&cut, name, data + at, size - at < step ? size - at : step);
		assert(cut.held.len <= HELLO_MAX + 50);
	}
	assert(watched == all);
	hello_watch_done(&whole);
	hello_watch_done(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HOST_MAX + 1], canonical[HOST_MAX + 1];
	enum hello hello = read_exactly(data, size, name);

	assert((hello_reason(hello)[0] == '\0') == (hello == HELLO_OK));
	assert((name[0] != '\0') == (hello == HELLO_OK));
	assert(hello != HELLO_MORE || size < HELLO_MAX);
	check_prefixes(data, size, hello, name);
	if (hello == HELLO_OK) {
		assert(host_canonical(name, strlen(name), canonical) == HOST_NAME);
		assert(strcmp(canonical, name) == 0);
		check_watch(data, size, name);
	}
	if (hello == HELLO_OK || hello == HELLO_NO_NAME || hello == HELLO_TWO_NAMES || hello == HELLO_HIDDEN)
		check_records(data, size, hello, name);
	return 0;
}
