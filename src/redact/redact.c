/* One pass, byte by byte. At each place it is asked: is this inside something that goes already; does a known value
 * begin here; does a shape? All three look ahead only, by a number of bytes that does not depend on how the text was
 * split: a byte is decided when that many follow it, or the text has ended.
 *
 * Known values are looked for at every byte, also inside what goes already: they may reach further than it. */
#include "redact/redact.h"

#include <string.h>

#include "redact/scrub.h"
#include "redact/shapes.h"

#define PEM_MAX 16384 /* a key without an end takes no more with it */
#define PEM_END "-----END "
#define USER_MIN 3
#define CUT "..." /* what term_line puts where it stops */

struct redactor {
	struct scrub_words *values; /* what was given to us */
	struct scrub_words *words; /* and the home */
	char *user; /* NULL: none */
	size_t ahead;
};

/* Names that say nothing of anybody. */
static const char *const nobody[] = {"root", "user", "nobody", "admin", "ubuntu", "runner", "build", "test", "daemon"};

static bool is_somebody(const char *user)
{
	for (size_t i = 0; user && i < ARRAY_LEN(nobody); i++)
		if (strcmp(user, nobody[i]) == 0)
			return false;
	return user && strlen(user) >= USER_MIN && strlen(user) < REDACT_AHEAD;
}

struct redactor *redactor_make(const struct redact_known *known)
{
	struct redactor *redactor = xcalloc(1, sizeof(*redactor));
	own(freep) const char **values = xcalloc(known->count + 1, sizeof(*values));
	size_t count = 0;

	for (; count < known->count; count++)
		values[count] = known->values[count];
	redactor->values = scrub_words_make(values, count);
	if (known->home)
		values[count++] = known->home;
	redactor->words = scrub_words_make(values, count);
	redactor->user = is_somebody(known->user) ? xstrdup(known->user) : NULL;
	size_t longest = scrub_longest(redactor->words);
	redactor->ahead = longest > REDACT_AHEAD ? longest : REDACT_AHEAD;
	return redactor;
}

struct redactor *redactor_free(struct redactor *redactor)
{
	if (!redactor)
		return NULL;
	redactor->values = scrub_words_free(redactor->values);
	redactor->words = scrub_words_free(redactor->words);
	free(redactor->user);
	free(redactor);
	return NULL;
}

void redactor_freep(struct redactor **redactor)
{
	*redactor = redactor_free(*redactor);
}

/* ---- one byte ---- */

static void span_begin(struct redact *redact, size_t len, const char *what, struct buf *out)
{
	bool inside = redact->cover > 0;

	if (len > redact->cover)
		redact->cover = len;
	if (inside)
		return;
	redact->found++;
	if (redact->style == REDACT_NAMED)
		buf_fmt(out, "[redacted:%s]", what);
}

static bool is_user(const struct redactor *redactor, const char *at, size_t left, unsigned char before)
{
	size_t size = redactor->user ? strlen(redactor->user) : 0;

	return size && size <= left && !shape_is_word(before) && memcmp(at, redactor->user, size) == 0 &&
		(size == left || !shape_is_word((unsigned char)at[size]));
}

/* What was not seen to end goes on, or has ended. */
static void go_on(struct redact *redact, const char *at, size_t left)
{
	if (redact->open != REDACT_PEM) {
		redact->cover = shape_goes_on(redact->open, (unsigned char)*at);
	} else if (left >= sizeof(PEM_END) - 1 && memcmp(at, PEM_END, sizeof(PEM_END) - 1) == 0) {
		size_t size = sizeof(PEM_END) - 1;
		while (size < left && size < 64 && ((at[size] >= 'A' && at[size] <= 'Z') || at[size] == ' '))
			size++;
		while (size < left && size < 80 && at[size] == '-')
			size++;
		redact->cover = size;
		redact->pem_left = 0;
		redact->open = REDACT_CLOSED;
		return;
	} else {
		redact->cover = redact->pem_left > 0;
		redact->pem_left -= redact->pem_left > 0;
	}
	if (!redact->cover)
		redact->open = REDACT_CLOSED;
}

static void find_shape(struct redact *redact, const struct redactor *redactor, const char *at, size_t left, struct buf *out)
{
	size_t window = left < REDACT_AHEAD ? left : REDACT_AHEAD;
	struct shape_hit hit;

	if (!shape_find(at, window, redact->before, redactor->words, &hit))
		return;
	bool open = hit.open == REDACT_PEM || hit.from + hit.len == window;
	redact->pending_open = open ? hit.open : REDACT_CLOSED;
	redact->pem_left = PEM_MAX;
	redact->wait = hit.from;
	redact->pending = hit.len;
	redact->what = hit.what;
	if (redact->wait > 0)
		return;
	span_begin(redact, hit.len, hit.what, out);
	redact->open = redact->pending_open;
	redact->pending = 0;
}

static void look(struct redact *redact, const struct redactor *redactor, const char *at, size_t left, struct buf *out)
{
	size_t known = scrub_look(redactor->words, at, left < redactor->ahead ? left : redactor->ahead);

	if (redact->cover == 0 && redact->open != REDACT_CLOSED)
		go_on(redact, at, left < REDACT_AHEAD ? left : REDACT_AHEAD);
	if (known)
		span_begin(redact, known, "value", out);
	if (redact->pending && redact->wait == 0) {
		span_begin(redact, redact->pending, redact->what, out);
		redact->open = redact->pending_open;
		redact->pending = 0;
	}
	if (redact->cover > 0 || redact->pending)
		return;
	if (shape_is_word(redact->before) && shape_is_word((unsigned char)*at))
		return; /* inside a word nothing begins */
	if (is_user(redactor, at, left < REDACT_AHEAD ? left : REDACT_AHEAD, redact->before))
		span_begin(redact, strlen(redactor->user), "user", out);
	else
		find_shape(redact, redactor, at, left, out);
}

static void decide(struct redact *redact, const struct redactor *redactor, const char *at, size_t left, struct buf *out)
{
	look(redact, redactor, at, left, out);
	if (redact->cover == 0)
		buf_char(out, *at);
	else if (redact->style == REDACT_STARS)
		buf_char(out, '*');
	redact->before = redact->cover ? 0 : (unsigned char)*at; /* behind what goes, everything may begin */
	redact->cover -= redact->cover > 0;
	redact->wait -= redact->wait > 0;
}

/* ---- the stream ---- */

static void held_drop(struct buf *held, size_t count)
{
	size_t rest = held->len - count;

	if (!count)
		return;
	memmove(held->data, held->data + count, rest);
	explicit_bzero(held->data + rest, count);
	held->len = rest;
}

static void pass(struct redact *redact, const struct redactor *redactor, size_t keep, struct buf *out)
{
	size_t i = 0;

	for (; redact->held.len - i > keep; i++)
		decide(redact, redactor, redact->held.data + i, redact->held.len - i, out);
	held_drop(&redact->held, i);
}

void redact_take(struct redact *redact, const struct redactor *redactor, const char *bytes, size_t len, struct buf *out)
{
	while (len > 0) { /* in pieces: what is held is bounded whatever comes */
		size_t piece = len < redactor->ahead ? len : redactor->ahead;
		buf_add(&redact->held, bytes, piece);
		bytes += piece;
		len -= piece;
		if (redact->held.len >= 2 * redactor->ahead) /* not for every byte: what is left is moved each time */
			pass(redact, redactor, redactor->ahead, out);
	}
}

void redact_end(struct redact *redact, const struct redactor *redactor, struct buf *out)
{
	pass(redact, redactor, 0, out);
	redact->open = REDACT_CLOSED;
	redact->cover = redact->wait = redact->pending = 0;
	redact->before = 0;
}

void redact_done(struct redact *redact)
{
	if (redact->held.data)
		explicit_bzero(redact->held.data, redact->held.cap);
	buf_done(&redact->held);
	*redact = (struct redact){0};
}

size_t redact_text(const struct redactor *redactor, enum redact_style style, const char *bytes, size_t len, struct buf *out)
{
	own(redact_done) struct redact redact = {.style = style};

	redact_take(&redact, redactor, bytes, len, out);
	redact_end(&redact, redactor, out);
	return redact.found;
}

/* ---- shown or stored ---- */

bool redact_is_secret(const char *name, size_t name_len, const char *value)
{
	size_t len = strlen(value);
	struct shape_hit hit;

	if (shape_is_secret_name(name, name_len))
		return true;
	for (size_t i = 0; i < len; i++)
		if (shape_find(value + i, len - i < REDACT_AHEAD ? len - i : REDACT_AHEAD, i ? (unsigned char)value[i - 1] : 0, NULL, &hit) &&
			!hit.place)
			return true;
	return false;
}

void redact_show(const struct redactor *redactor, enum redact_depth depth, const char *text, size_t len, struct buf *out)
{
	size_t from = out->len;

	if (depth == REDACT_ALL) {
		struct redactor *nothing = redactor ? NULL : redactor_make(&(struct redact_known){0});
		(void)redact_text(redactor ? redactor : nothing, REDACT_NAMED, text, len, out);
		(void)redactor_free(nothing);
		return;
	}
	buf_add(out, text, len);
	if (redactor && len > 0)
		(void)scrub_text(redactor->values, out->data + from, len);
}

char *redact_copy(const struct redactor *redactor, enum redact_depth depth, const char *text)
{
	struct buf out = {0};

	redact_show(redactor, depth, text, strlen(text), &out);
	return out.data ? buf_take(&out) : xstrdup("");
}

void redact_line(const struct redactor *redactor, char *text)
{
	if (!redactor)
		return;
	(void)scrub_text(redactor->values, text, strlen(text));
	for (char *cut = strstr(text, CUT); cut; cut = strstr(cut + 1, CUT))
		scrub_cut(redactor->values, text, (size_t)(cut - text));
	scrub_cut(redactor->values, text, strlen(text)); /* a message has room for so much only */
}

bool redactor_knows(const struct redactor *redactor)
{
	return redactor && scrub_longest(redactor->values) > 0;
}

const struct scrub_words *redactor_words(const struct redactor *redactor)
{
	return redactor->values;
}
