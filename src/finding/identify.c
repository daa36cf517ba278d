/* Whether two surprises are the same one. */
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "base/sha256.h"
#include "finding/finding.h"

#define NORMAL_MAX 512 /* bytes of a normalised message: what comes later seldom tells two apart */
#define FRAMES_COUNTED 3
#define CUT_MIN 60
#define WORD_MIN 3 /* letters: fewer are an input's by chance, and tell no two messages apart */

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

/* ---- the words of a message ---- */

/* As `quoted`; what is not ended was cut off with its message. `is_tool' is how some write it. */
static size_t quoted_or_cut(const char *at)
{
	size_t len = 1;

	if (*at != '\'' && *at != '"' && *at != '`')
		return 0;
	while (at[len] && at[len] != *at && !(*at == '`' && at[len] == '\''))
		len += at[len] == '\\' && at[len + 1] ? 2 : 1;
	return at[len] ? len + 1 : len;
}

/* Values that have names; between brackets they are part of a value that is told. */
static bool is_literal(const char *word, size_t len)
{
	static const char *const names[] = {"true", "false", "null", "none", "nil", "undefined", "nan", "inf", "infinity"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strlen(names[i]) == len && strncasecmp(names[i], word, len) == 0)
			return true;
	}
	return false;
}

/* Adds the word, without its digits, and returns how long it is. Of one with '_' in it each part is a word. */
static size_t put_word(const char *at, bool bracketed, struct buf *ret)
{
	size_t len = 0, begun = ret->len, letters = 0, digits = 0;

	for (; is_word((unsigned char)at[len]) && at[len] != '_'; len++)
		digits += isdigit((unsigned char)at[len]) != 0;
	if (digits >= 6 || (bracketed && is_literal(at, len)))
		return len;
	if (begun)
		buf_char(ret, ' ');
	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)at[i]))
			continue;
		buf_char(ret, at[i]);
		letters++;
	}
	if (letters < WORD_MIN && ret->len > begun)
		ret->data[ret->len = begun] = '\0';
	return len;
}

/* The words of a text; `raw`: also those in quotes. True: it was cut off in a quoted text. */
static bool words_of(const char *at, bool raw, struct buf *ret)
{
	unsigned depth = 0;
	bool cut = false;

	while (*at && ret->len < NORMAL_MAX) {
		size_t skip = raw ? 0 : quoted_or_cut(at);
		cut |= skip && !at[skip] && (skip == 1 || at[skip - 1] != *at);
		if (!skip && !raw && !(skip = folders(at)) && (skip = varying(at)) && memchr(at, '_', skip))
			skip = 0;
		if (!skip && is_word((unsigned char)*at)) {
			skip = put_word(at, depth > 0, ret);
			skip += at[skip] == '\'' && (is_word((unsigned char)at[skip + 1]) || at[skip + 1] == ' '); /* "can't" */
		}
		if (!skip) {
			depth += *at == '[' || *at == '{';
			depth -= depth && (*at == ']' || *at == '}');
			skip = 1;
		}
		at += skip;
	}
	return cut;
}

void message_shape(const struct message *message, struct buf *ret)
{
	own(buf_done) struct buf text = {0};

	message_unecho(message, &text);
	(void)words_of(buf_text(&text), false, ret);
}

/* ---- the same message to two inputs ---- */

/* A message, and what may be its shape: at least the words of `least`, at most those of `most`. */
struct bounds {
	struct buf least, most;
	bool cut; /* there may have been more of it */
};

static void bounds_done(struct bounds *bounds)
{
	buf_done(&bounds->least);
	buf_done(&bounds->most);
}

static void bounds_of(const struct message *message, struct bounds *ret)
{
	own(buf_done) struct buf text = {0};
	size_t len = strlen(message->text);

	message_unecho(message, &text);
	ret->cut = words_of(buf_text(&text), false, &ret->least);
	(void)words_of(message->text, true, &ret->most);
	/* it is one line, and that of the input ended it */
	bool lines = message->input && (memmem(message->input, message->len, "\\n", 2) || memmem(message->input, message->len, "\\u000", 5));
	bool full = len > CUT_MIN && text.data[text.len - 1] == ' '; /* of the input, to the last byte */
	ret->cut |= lines || full || (len > 3 && strcmp(message->text + len - 3, "...") == 0);
}

static size_t word_len(const char *at)
{
	return strcspn(at, " ");
}

/* Whether the words of `few` are in `many`, in their order; of one that was cut off, those that come last may be missing. */
static bool has_words(const char *many, const char *few, bool cut)
{
	unsigned found = 0;

	while (*few) {
		size_t len = word_len(few), here = word_len(many);
		bool same = len == here && len > 0 && strncasecmp(few, many, len) == 0;
		if (!*many)
			return cut && found > 0;
		found += same;
		many += here + (many[here] == ' ');
		if (same)
			few += len + (few[len] == ' ');
	}
	return true;
}

bool message_same(const struct message *one, const struct message *other)
{
	own(bounds_done) struct bounds a = {0}, b = {0};

	bounds_of(one, &a);
	bounds_of(other, &b);
	return has_words(buf_text(&a.most), buf_text(&b.least), a.cut) && has_words(buf_text(&b.most), buf_text(&a.least), b.cut);
}

/* ---- ids ---- */

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
	if (finding->frames.count == 0 && finding->shape) {
		put_part(&all, "shape");
		put_part(&all, finding->shape);
	} else if (finding->frames.count == 0) {
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
