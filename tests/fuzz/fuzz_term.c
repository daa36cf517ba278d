/* Whatever a program prints: what reaches the terminal is UTF-8, has no control but newline, tab,
 * carriage return and backspace, and no escape sequence but colour; plain text passes unchanged;
 * and where the bytes were split makes no difference. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/term.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The length of the colour sequence at `at`, or 0. */
static size_t colour(const char *at, size_t len)
{
	size_t i = 2;

	if (len < 3 || at[0] != 0x1b || at[1] != '[')
		return 0;
	while (i < len && strchr("0123456789;:", at[i]) && at[i])
		i++;
	return i < len && at[i] == 'm' ? i + 1 : 0;
}

static void check_safe(const struct buf *out, bool line)
{
	for (size_t i = 0; i < out->len;) {
		const char *at = out->data + i;
		size_t left = out->len - i;
		size_t sequence = line ? 0 : colour(at, left);
		int step = utf8_char(at, left);
		bool layout = !line && *at && strchr("\n\t\r\b", *at);
		assert(step > 0);
		assert(sequence || layout || !utf8_is_control(at, step));
		i += sequence ? sequence : (size_t)step;
	}
}

static void filter_all(const char *bytes, size_t len, size_t step, struct buf *out)
{
	struct term_filter filter = {0};

	for (size_t at = 0; at < len; at += step)
		term_filter(&filter, bytes + at, len - at < step ? len - at : step, out);
	term_filter_end(&filter, out);
	assert(filter.pending_len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	own(buf_done) struct buf whole = {0};
	own(buf_done) struct buf split = {0};
	own(buf_done) struct buf again = {0};
	own(buf_done) struct buf line = {0};

	filter_all(bytes, size, size + 1, &whole);
	check_safe(&whole, false);
	filter_all(bytes, size, size ? data[0] % 7 + 1 : 1, &split);
	assert(split.len == whole.len && !memcmp(buf_text(&split), buf_text(&whole), whole.len));
	filter_all(
		buf_text(&whole), whole.len, whole.len + 1, &again); /* safe text stays as it is */
	assert(again.len == whole.len && !memcmp(buf_text(&again), buf_text(&whole), whole.len));
	term_line(bytes, size, 60, &line);
	check_safe(&line, true);
	assert(line.len <= 63);
	return 0;
}
