/* Whether two surprises are the same one. */
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "base/sha256.h"
#include "finding/finding.h"

#define NORMAL_MAX 512 /* bytes of a normalised message: what comes later seldom tells two apart */
#define FRAMES_COUNTED 3
#define CUT_MIN 60

static bool is_word(unsigned char c)
{
	return isalnum(c) || c == '_' || c >= 0x80;
}

/* A quoted text is what the input said. */
static size_t quoted(const char *at)
{
	char quote = *at;
	const char *end = at + 1;

	if (quote != '\'' && quote != '"' && quote != '`')
		return 0;
	while (*end && *end != quote && *end != '\n')
		end += *end == '\\' && end[1] ? 2 : 1;
	if (*end == quote)
		return (size_t)(end - at + 1);
	/* a long one that does not end was cut off with its message */
	return !*end && end - at > CUT_MIN ? (size_t)(end - at) : 0;
}

/* "/a/b/c.py" stands for c.py: where the tree lies differs from machine to machine. */
static size_t folders(const char *at)
{
	size_t last = 0;

	if (*at != '/' || !is_word((unsigned char)at[1]))
		return 0;
	for (size_t i = 0; at[i] == '/' || at[i] == '.' || at[i] == '-' || is_word((unsigned char)at[i]); i++)
		if (at[i] == '/')
			last = i + 1;
	return last;
}

/* A word with a digit in it: numbers, addresses, hashes, identifiers; but not names such as "utf8". */
static size_t varying(const char *at)
{
	size_t len = 0, digits = 0;

	while (is_word((unsigned char)at[len]) || (len > 0 && at[len] == '-' && is_word((unsigned char)at[len + 1])) ||
		(len > 0 && at[len] == '.' && isdigit((unsigned char)at[len + 1]))) {
		digits += isdigit((unsigned char)at[len]) != 0;
		len++;
	}
	bool hexadecimal = strspn(at, "0123456789abcdefABCDEF-") >= len && len >= 8 && digits > 0;
	return isdigit((unsigned char)*at) || hexadecimal || digits >= 6 ? len : 0;
}

void message_normalise(const char *message, struct buf *ret)
{
	bool inside = false; /* a word */
	size_t begun = ret->len;

	while (*message && ret->len - begun < NORMAL_MAX) {
		size_t skip = quoted(message);
		if (skip && !inside) {
			buf_str(ret, "''");
		} else if (!inside && (skip = folders(message))) {
			/* nothing stands for it */
		} else if (!inside && (skip = varying(message))) {
			buf_char(ret, '#');
		} else {
			skip = 1;
			unsigned char c = (unsigned char)*message;
			bool blank = isspace(c) || c < 0x20;
			if (!blank)
				buf_char(ret, (char)c);
			else if (ret->len > begun && ret->data[ret->len - 1] != ' ')
				buf_char(ret, ' ');
		}
		message += skip;
		inside = is_word((unsigned char)message[-1]);
	}
	while (ret->len > begun && ret->data[ret->len - 1] == ' ')
		ret->data[--ret->len] = '\0';
}

static void put_part(struct buf *all, const char *part)
{
	buf_str(all, part ? part : "");
	buf_char(all, '\0'); /* which no part holds: two parts are never one */
}

void finding_identify(struct finding *finding)
{
	own(buf_done) struct buf all = {0};
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 hash;

	put_part(&all, FINDING_FORMAT);
	put_part(&all, finding->oracle);
	put_part(&all, finding->target);
	put_part(&all, finding->subject);
	for (size_t i = 0; i < finding->frames.count && i < FRAMES_COUNTED; i++)
		put_part(&all, finding->frames.items[i]);
	if (finding->frames.count == 0) {
		message_normalise(finding->message ? finding->message : "", &all);
		buf_char(&all, '\0');
	}
	sha256_init(&hash);
	sha256_add(&hash, all.data, all.len);
	sha256_end(&hash, sum);
	sha256_hex(sum, hex);
	memcpy(finding->id, hex, FINDING_ID_LEN);
	finding->id[FINDING_ID_LEN] = '\0';
}
