/* Whatever a server sends as HTTP, and in whatever pieces: messages and statuses, or a sentence why not; and the same whether it
 * comes at once or byte by byte. The first byte says how many requests it answers. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/tool/mcp_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	struct buf text;
	uint64_t count;
};

static void on_message(void *data, const char *text, size_t len)
{
	struct heard *heard = data;

	heard->count++;
	buf_str(&heard->text, "message ");
	buf_add(&heard->text, text, len);
}

static void on_status(void *data, unsigned status, bool wanted, const char *text, size_t len)
{
	struct heard *heard = data;

	assert(status >= 200 && status <= 999);
	heard->count++;
	buf_fmt(&heard->text, "status %u %d ", status, wanted);
	buf_add(&heard->text, text, len);
}

static bool on_stop(void *data)
{
	(void)data;
	return false;
}

static int feed(const char *bytes, size_t len, size_t piece, unsigned posts, struct heard *heard)
{
	const struct http_events events = {.message = on_message, .status = on_status, .stop = on_stop, .data = heard};
	struct http_talk talk = {0};
	own(buf_done) struct buf out = {0};
	const char *why = NULL;
	int rc = 0;

	for (unsigned i = 0; i < posts; i++) {
		const char *message = i % 2 ? "{\"method\":\"a\"}" : "{\"method\":\"a\",\"id\":1}";
		http_talk_post(&talk, 80, "/mcp", NULL, message, strlen(message), &out);
	}
	for (size_t at = 0; rc == 0 && at < len; at += piece)
		rc = http_talk_feed(&talk, bytes + at, len - at < piece ? len - at : piece, &events, &why);
	if (rc == 0 && talk.in_body)
		rc = http_talk_feed(&talk, "", 0, &events, &why);
	assert(rc == 0 || why);
	own(buf_done) struct buf again = {0};
	(void)!http_talk_again(&talk, &again);
	http_talk_done(&talk);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard whole = {0}, pieces = {0};
	unsigned posts = size ? data[0] % 8 : 0;
	const char *bytes = (const char *)data + (size > 0);
	size_t len = size ? size - 1 : 0;

	int at_once = feed(bytes, len, len ? len : 1, posts, &whole);
	int by_byte = feed(bytes, len, 1, posts, &pieces);
	assert(at_once == by_byte && whole.count == pieces.count && whole.text.len == pieces.text.len);
	assert(whole.text.len == 0 || memcmp(whole.text.data, pieces.text.data, whole.text.len) == 0);
	buf_done(&whole.text);
	buf_done(&pieces.text);
	return 0;
}
