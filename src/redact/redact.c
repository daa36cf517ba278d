/* One pass, byte by byte. At each place it is asked: is this inside something that goes already; does a known value
 * begin here; does a shape? All three look ahead only, by a number of bytes that does not depend on how the text was
 * split: a byte is decided when that many follow it, or the text has ended.
 *
 * Known values are looked for at every byte, also inside what goes already: they may reach further than it. */
#include "redact/redact.h"

#include <string.h>

#include "redact/escape.h"
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

void redactor_level(struct redactor *redactor)
{
	(void)scrub_words_level(redactor->values);
	(void)scrub_words_level(redactor->words);
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

/* "MAX_TOKENS=4096" */
static bool is_count(const char *name, size_t name_len, const char *value)
{
	return name_len > 0 && (name[name_len - 1] | 0x20) == 's' && value[strspn(value, "0123456789")] == '\0';
}

/* The last '@' of the part with the host ends it: passwords have them, too. */
static const char *url_password(const char *value, size_t *ret_len)
{
	const char *at = strstr(value, "://"), *end = NULL;

	if (!at)
		return NULL;
	at += 3;
	for (const char *next = at; *next && !strchr("/?#", *next); next++)
		end = *next == '@' ? next : end;
	const char *colon = end ? memchr(at, ':', (size_t)(end - at)) : NULL;
	if (!colon || colon + 1 == end)
		return NULL;
	*ret_len = (size_t)(end - colon - 1);
	return colon + 1;
}

char *redact_url_password(const char *value, bool decoded)
{
	size_t len = 0, made = 0;
	const char *password = url_password(value, &len);

	if (!password)
		return NULL;
	char *out = xcalloc(len + 1, 1);
	for (size_t i = 0; i < len;) {
		uint32_t code = 0;
		int size = decoded ? escape_read(ESCAPE_PERCENT, password + i, len - i, &code) : 0;
		out[made++] = size > 0 && code > 0 ? (char)code : password[i];
		i += size > 0 ? (size_t)size : 1;
	}
	return out;
}

bool redact_is_secret(const char *name, size_t name_len, const char *value)
{
	size_t len = strlen(value), part_len;
	struct shape_hit hit;

	if (shape_is_secret_name(name, name_len))
		return !is_count(name, name_len, value);
	if (url_password(value, &part_len))
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

/* ---- commands ---- */

/* The name that is left without dashes in front. */
static const char *kind_of_name(const char *name, size_t len)
{
	for (; len > 0 && *name == '-'; len--)
		name++;
	for (size_t i = 0; i < len; i++)
		if (!shape_is_word((unsigned char)name[i]) && name[i] != '-' && name[i] != '.')
			return NULL;
	return len > 0 ? shape_option_kind(name, len) : NULL;
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; word && i < count; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

/* "NAME:PASSWORD" behind "-u"; "1000:1000" is a user and a group. */
static size_t user_len(const char *word)
{
	size_t len = strcspn(word, ":");

	if (word[len] == '\0' || len == 0 || word[len + 1] == '\0' || word[len + 1] == '/')
		return 0;
	return word[len + 1 + strspn(word + len + 1, "0123456789")] == '\0' ? 0 : len + 1;
}

/* How much of the word stays, if the rest is a secret; *ret_what: of which kind, or NULL. */
static size_t word_stays(const char *before, const char *word, const char **ret_what)
{
	static const char *const users[] = {"-u", "--user", "-U", "--proxy-user"}, *const headers[] = {"-H", "--header"};
	static const char user[] = "--user=";
	size_t len = strcspn(word, "="), colon = strcspn(word, ":"), size;

	bool follows = before && before[0] == '-' && word[0] != '-' && !strchr(before, '=');
	*ret_what = follows ? kind_of_name(before, strlen(before)) : NULL;
	if (*ret_what)
		return 0;
	*ret_what = word[len] ? kind_of_name(word, len) : NULL;
	if (*ret_what)
		return len + 1;
	size = colon + 1;
	if (word[colon] && (word[colon + 1] == ' ' || is_one_of(before, headers, ARRAY_LEN(headers)))) {
		*ret_what = kind_of_name(word, colon);
		size += strspn(word + size, " ");
	}
	if (*ret_what)
		return size;
	*ret_what = "password";
	if (is_one_of(before, users, ARRAY_LEN(users)) && user_len(word))
		return user_len(word);
	if (strncmp(word, user, sizeof(user) - 1) == 0 && user_len(word + sizeof(user) - 1))
		return sizeof(user) - 1 + user_len(word + sizeof(user) - 1);
	if (word[0] == '-' && word[1] == 'u' && word[2] && user_len(word + 2))
		return 2 + user_len(word + 2);
	*ret_what = NULL;
	return 0;
}

void redact_command(const struct redactor *redactor, const char *const *words, struct buf *out)
{
	struct buf text = {0};

	for (size_t i = 0; words && words[i]; i++) {
		const char *what;
		size_t stays = word_stays(i > 0 ? words[i - 1] : NULL, words[i], &what);
		if (i > 0)
			buf_char(&text, ' ');
		if (what && words[i][stays])
			buf_add(&text, words[i], stays);
		else
			buf_str(&text, words[i]);
		if (what && words[i][stays])
			buf_fmt(&text, "[redacted:%s]", what);
	}
	redact_show(redactor, REDACT_ALL, buf_text(&text), text.len, out);
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_done(&text);
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
