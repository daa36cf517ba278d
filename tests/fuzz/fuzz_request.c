/* Whatever a cell sends to a door: a request is refused, or it is whole and says the same when it is written and read
 * again; a beginning of it needs more or gets the same verdict. What follows is read as its body, and where it was
 * split makes no difference. */
#include "http_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_prefixes(const char *bytes, size_t size, enum http_read whole, const struct http_head *head)
{
	size_t step = size / PREFIXES + 1;

	for (size_t len = 0; len < size; len += step) {
		struct http_head cut;
		enum http_read read = http_read_request(bytes, len, &cut);
		assert(read == whole || read == HTTP_MORE);
		assert((read == HTTP_DONE) == (whole == HTTP_DONE && len >= head->size));
	}
}

static void check_target(const struct http_head *head)
{
	struct span host, path;
	unsigned port;

	assert(!memchr(head->target.at, ' ', head->target.len) && !memchr(head->target.at, '\t', head->target.len));
	if (head->method.len == 7 && memcmp(head->method.at, "CONNECT", 7) == 0) {
		assert(http_authority(head->target, &host, &port) && host.len);
		assert(head->framing != FRAME_CHUNKED && !head->length);
		return;
	}
	assert(!memchr(head->target.at, '#', head->target.len));
	if (!http_absolute(head->target, &host, &port, &path))
		return;
	assert(host.len && path.len && path.at[0] == '/');
	assert(!memchr(host.at, '@', host.len) && !memchr(host.at, '/', host.len));
}

static void check_again(const struct http_head *head)
{
	own(buf_done) struct buf text = {0};
	struct http_head again;

	buf_add(&text, head->method.at, head->method.len);
	buf_char(&text, ' ');
	buf_add(&text, head->target.at, head->target.len);
	buf_fmt(&text, " HTTP/1.%u\r\n", head->minor);
	write_fields(head, &text);
	if (text.len > HTTP_HEAD_MAX)
		return; /* blanks were added */
	assert(http_read_request(text.data, text.len, &again) == HTTP_DONE && again.size == text.len);
	check_same(head, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(freep) char *bytes = malloc(size ? size : 1); /* exactly, so that a byte too far is seen */
	struct http_head head;

	memcpy(bytes, data, size);
	enum http_read read = http_read_request(bytes, size, &head);
	assert(read != HTTP_MORE || size < HTTP_HEAD_MAX);
	assert((head.why[0] != '\0') == (read == HTTP_BAD || read == HTTP_LARGE));
	check_prefixes(bytes, size, read, &head);
	if (read != HTTP_DONE)
		return 0;
	check_head(&head, bytes, HTTP_HEAD_MAX);
	check_target(&head);
	check_again(&head);
	assert(head.framing != FRAME_CLOSE);
	check_body(&head, bytes + head.size, size - head.size);
	return 0;
}
