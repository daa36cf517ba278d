/* Each family of spellings has a reader that goes back from the end while the bytes may still be of one spelling. The
 * longest wins. All of them may take too much, which costs a little delay; none may take too little. */
#include "redact/hold.h"

#include <string.h>

#include "redact/escape.h"

#define BRACED_MAX 6 /* digits in "\u{1f511}" */
#define ESCAPE_MAX 12 /* bytes that one escape has at most */

static bool is_ink(char byte)
{
	return byte > ' ' && byte < 0x7f;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool hold_rules(const char *secret)
{
	while (is_ink(*secret))
		secret++;
	return *secret == '\0';
}

/* As it is, in small letters or capitals, or with any letter escaped: no blank is in it. */
static size_t tail_text(const char *bytes, size_t len)
{
	size_t at = len;

	while (at > 0 && is_ink(bytes[at - 1]))
		at--;
	return len - at;
}

/* UTF-16: every other byte is zero. */
static size_t tail_wide(const char *bytes, size_t len)
{
	size_t at = len;

	while (at > 0 && (is_ink(bytes[at - 1]) || bytes[at - 1] == '\0') &&
		(at == len || (bytes[at - 1] == '\0') != (bytes[at] == '\0')))
		at--;
	return len - at;
}

/* ---- what may go over the end of a line ---- */

struct ends {
	size_t lf, cr;
};

/* False: it would be a blank line. */
static bool ends_take(struct ends *ends, char byte)
{
	ends->lf += byte == '\n';
	ends->cr += byte == '\r';
	return ends->lf <= 1 && ends->cr <= 1;
}

static size_t tail_hex(const char *bytes, size_t len)
{
	struct ends ends = {0};
	size_t at = len, from = len, between = 0;
	size_t digits = 1; /* in a row: one of a pair may still come */

	for (; at > 0; at--) {
		char byte = bytes[at - 1];
		if (escape_digit(byte) >= 0) {
			from = ++digits > 1 ? at - 1 : from;
			between = 0;
			ends = (struct ends){0};
			continue;
		}
		if (byte == '\0' || !strchr(BETWEEN "xX", byte) || ++between > BETWEEN_MAX + 1 || !ends_take(&ends, byte))
			break;
		digits = 0;
	}
	return len - from;
}

/* Of base64, or of an escape that stands for one of its letters or for the end of a line. */
static bool is_letter(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		(byte && strchr("+/-_%\\&#;", byte));
}

/* The bytes of "\u{41}" or of its beginning that end here; 0: there is none. */
static size_t braced(const char *bytes, size_t len)
{
	size_t at = len > 0 && bytes[len - 1] == '}' ? len - 1 : len, digits = at;

	while (at > 0 && digits - at < BRACED_MAX && escape_digit(bytes[at - 1]) >= 0)
		at--;
	return at >= 3 && memcmp(bytes + at - 3, "\\u{", 3) == 0 ? len - at + 3 : 0;
}

/* Whether the line may have ended before `len`, by an escape. */
static bool has_escaped_end(const char *bytes, size_t len)
{
	size_t from = len > ESCAPE_MAX ? len - ESCAPE_MAX : 0;

	for (size_t i = from; i < len; i++)
		if (escape_begins((unsigned char)bytes[i]))
			return true;
	return false;
}

/* What stands between two lines, all of it at the end of `bytes`; 0: that cannot stand there. */
static size_t gap(const char *bytes, size_t len)
{
	struct ends ends = {0};
	size_t at = len;

	while (at > 0 && is_blank(bytes[at - 1])) {
		if (!ends_take(&ends, bytes[at - 1]) || len - at == BREAK_MAX)
			return 0;
		at--;
	}
	bool ended = at < len && (bytes[at] == '\n' || bytes[at] == '\r');
	return ended || has_escaped_end(bytes, at) ? len - at : 0;
}

static size_t tail_base64(const char *bytes, size_t len)
{
	size_t at = len, from = len;
	size_t letters = BREAK_EVERY; /* since the last gap that was met; that one may be the form's first */

	while (at > 0) {
		size_t size = is_letter(bytes[at - 1]) ? 1 : braced(bytes, at);
		if (size > 0) {
			bool escapes = size > 1 || escape_begins((unsigned char)bytes[at - 1]);
			letters = escapes ? BREAK_EVERY : letters + 1; /* who knows what it stands for */
			at = from = at - size;
			continue;
		}
		size = letters >= BREAK_EVERY ? gap(bytes, at) : 0;
		if (size == 0)
			break;
		at -= size;
		letters = 0;
	}
	return len - from;
}

size_t hold_tail(const char *bytes, size_t len)
{
	static size_t (*const tails[])(const char *, size_t) = {tail_text, tail_wide, tail_hex, tail_base64};
	size_t longest = 0;

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		size_t size = tails[i](bytes, len);
		longest = size > longest ? size : longest;
	}
	return longest;
}
