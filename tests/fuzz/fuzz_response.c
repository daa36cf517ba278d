/* Whatever a server answers: it is refused, or it is whole and says the same when it is written and read again; a
 * beginning of it needs more or gets the same verdict. What follows is read as its body. The first byte says whether
 * the request was HEAD. */
#include "http_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_prefixes(
	const char *bytes, size_t size, bool asked_head, enum http_read whole, const struct http_head *head)
{
	size_t step = size / PREFIXES + 1;

	for (size_t len = 0; len < size; len += step) {
		struct http_head cut;
		enum http_read read = http_read_response(bytes, len, asked_head, &cut);
		assert(read == whole || read == HTTP_MORE);
		assert((read == HTTP_DONE) == (whole == HTTP_DONE && len >= head->size));
	}
}

static void check_again(const struct http_head *head, bool asked_head)
{
	own(buf_done) struct buf text = {0};
	struct http_head again;

	buf_fmt(&text, "HTTP/1.%u %u ", head->minor, head->status);
	buf_add(&text, head->reason.at, head->reason.len);
	buf_str(&text, "\r\n");
	write_fields(head, &text);
	if (text.len > HTTP_ANSWER_MAX)
		return; /* blanks were added */
	assert(http_read_response(text.data, text.len, asked_head, &again) == HTTP_DONE && again.size == text.len);
	check_same(head, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_head head;

	if (size == 0)
		return 0;
	bool asked_head = data[0] & 1;
	size_t len = size - 1;
	own(freep) char *bytes = malloc(len ? len : 1); /* exactly, so that a byte too far is seen */
	memcpy(bytes, data + 1, len);
	enum http_read read = http_read_response(bytes, len, asked_head, &head);
	assert(read != HTTP_MORE || len < HTTP_ANSWER_MAX);
	assert((head.why[0] != '\0') == (read == HTTP_BAD || read == HTTP_LARGE));
	check_prefixes(bytes, len, asked_head, read, &head);
	if (read != HTTP_DONE)
		return 0;
	check_head(&head, bytes, HTTP_ANSWER_MAX);
	assert(head.status >= 100 && head.status <= 999);
	bool bodiless = asked_head || head.status < 200 || head.status == 204 || head.status == 304;
	assert((head.framing == FRAME_NONE) == bodiless);
	assert(head.framing != FRAME_CLOSE || head.close);
	check_again(&head, asked_head);
	check_body(&head, bytes + head.size, len - head.size);
	return 0;
}
