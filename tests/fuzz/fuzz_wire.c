/* Whatever arrives: a reader stays inside the message, keeps its word once it is bad, and what it
 * read without complaint writes back as the same bytes. The first bytes choose what is read. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_number(struct wire_reader *reader, struct buf *back, bool wide)
{
	uint64_t value = wide ? wire_get_u64(reader) : wire_get_u32(reader);

	assert(!reader->bad || value == 0);
	if (wide)
		wire_put_u64(back, value);
	else
		wire_put_u32(back, (uint32_t)value);
}

static void check_inside(const struct wire_reader *reader, const char *text)
{
	if (reader->bad)
		return;
	assert(text >= reader->data && text + strlen(text) < reader->data + reader->pos);
}

static void read_str(struct wire_reader *reader, struct buf *back)
{
	const char *text = wire_get_str(reader);

	assert(!reader->bad || (text && !*text));
	if (text)
		check_inside(reader, text);
	wire_put_str(back, text);
}

static void read_list(struct wire_reader *reader, struct buf *back)
{
	const char **list = wire_get_list(reader, 50);
	size_t count = 0;

	assert(list);
	for (; list[count]; count++)
		check_inside(reader, list[count]);
	assert(count <= 50 && (!reader->bad || count == 0));
	wire_put_list(back, list);
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(buf_done) struct buf back = {0};
	size_t plan = size < 8 ? size : 8;
	size_t len = size - plan;
	char *message = malloc(len ? len : 1); /* exactly, so that a byte too far is seen */
	struct wire_reader reader = {.data = message, .len = len};

	memcpy(message, data + plan, len);
	for (size_t i = 0; i < plan; i++) {
		size_t before = reader.pos;
		bool was_bad = reader.bad;
		switch (data[i] % 4) {
		case 0:
		case 1: read_number(&reader, &back, data[i] % 4); break;
		case 2: read_str(&reader, &back); break;
		default: read_list(&reader, &back);
		}
		assert(reader.pos >= before && reader.pos <= reader.len);
		assert(reader.bad || !was_bad);
		if (!reader.bad)
			assert(back.len == reader.pos &&
				!memcmp(buf_text(&back), message, back.len));
	}
	free(message);
	return 0;
}
