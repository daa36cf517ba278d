/* A secret has many spellings, but each is a fixed string, so all of them are looked for at once: the first four bytes
 * at every place choose a short chain of forms, nearly always an empty one, and only those are compared.
 *
 * What is covered by any occurrence of any form becomes stars, overlapping ones included. So the result depends on the
 * whole stream only, not on how it came in pieces: bytes are decided when no form that begins before or at them can
 * still go on. */
#include "redact/scrub.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base64.h"

#define HEAD 4 /* bytes that choose a chain; every form is longer */
#define CHAINS 4096

struct chunk {
	struct chunk *next;
	size_t size, used; /* with this head */
};

struct form {
	char *bytes;
	size_t len;
	uint32_t next; /* in its chain, longest first: 1 + its place in `forms`; 0: none */
};

struct scrub_words {
	struct form *forms; /* longest first */
	size_t count;
	struct chunk *chunks; /* what their bytes are in; the newest first */
	uint32_t chains[CHAINS];
	bool first[256]; /* bytes that a form begins with */
};

/* ---- spellings ---- */

typedef void spell_fn(struct buf *out, unsigned char byte);

static bool is_unreserved(unsigned char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
		(byte && strchr("-._~", byte));
}

static void spell_hex(struct buf *out, unsigned char byte)
{
	buf_fmt(out, "%02x", byte);
}

static void spell_hex_upper(struct buf *out, unsigned char byte)
{
	buf_fmt(out, "%02X", byte);
}

static void spell_percent(struct buf *out, unsigned char byte)
{
	buf_fmt(out, is_unreserved(byte) ? "%c" : "%%%02X", byte);
}

static void spell_percent_lower(struct buf *out, unsigned char byte)
{
	buf_fmt(out, is_unreserved(byte) ? "%c" : "%%%02x", byte);
}

/* As JavaScript's encodeURIComponent, which leaves more as it is. */
static void spell_component(struct buf *out, unsigned char byte)
{
	bool plain = is_unreserved(byte) || (byte && strchr("!*'()", byte));

	buf_fmt(out, plain ? "%c" : "%%%02X", byte);
}

/* As forms are sent. */
static void spell_form(struct buf *out, unsigned char byte)
{
	bool plain = is_unreserved(byte) && byte != '~';

	if (byte == ' ')
		buf_char(out, '+');
	else
		buf_fmt(out, plain || byte == '*' ? "%c" : "%%%02X", byte);
}

static void spell_json(struct buf *out, unsigned char byte)
{
	static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = byte ? strchr(codes, byte) : NULL;

	if (found)
		buf_fmt(out, "\\%c", letters[found - codes]);
	else
		buf_fmt(out, byte < ' ' ? "\\u%04x" : "%c", byte);
}

/* As PHP writes it. */
static void spell_json_slash(struct buf *out, unsigned char byte)
{
	if (byte == '/')
		buf_str(out, "\\/");
	else
		spell_json(out, byte);
}

/* As Go writes it, safe inside HTML. */
static void spell_json_html(struct buf *out, unsigned char byte)
{
	if (byte && strchr("<>&'", byte))
		buf_fmt(out, "\\u%04x", byte);
	else
		spell_json(out, byte);
}

/* As .NET writes it. */
static void spell_json_upper(struct buf *out, unsigned char byte)
{
	if (byte && strchr("\"&'+<>`", byte))
		buf_fmt(out, "\\u%04X", byte);
	else
		spell_json(out, byte);
}

static void html(struct buf *out, unsigned char byte, const char *quote, const char *apostrophe, const char *plus)
{
	switch (byte) {
	case '&': buf_str(out, "&amp;"); break;
	case '<': buf_str(out, "&lt;"); break;
	case '>': buf_str(out, "&gt;"); break;
	case '"': buf_str(out, quote); break;
	case '\'': buf_str(out, apostrophe); break;
	case '+': buf_str(out, plus); break;
	default: buf_char(out, (char)byte); break;
	}
}

static void spell_html(struct buf *out, unsigned char byte)
{
	html(out, byte, "&quot;", "&#39;", "+");
}

/* As Python writes it. */
static void spell_html_hex(struct buf *out, unsigned char byte)
{
	html(out, byte, "&quot;", "&#x27;", "+");
}

/* As Go writes it. */
static void spell_html_numbers(struct buf *out, unsigned char byte)
{
	html(out, byte, "&#34;", "&#39;", "&#43;");
}

/* As term_line of base/term.h shows it: where it is UTF-8, and where it is not. */
static void spell_shown(struct buf *out, unsigned char byte)
{
	if (byte == '\n' || byte == '\t')
		buf_str(out, byte == '\n' ? "\\n" : "\\t");
	else
		buf_fmt(out, byte < ' ' || byte == 0x7f ? "\\x%02x" : "%c", byte);
}

static void spell_shown_bytes(struct buf *out, unsigned char byte)
{
	if (byte < 0x80)
		spell_shown(out, byte);
	else
		buf_fmt(out, "\\x%02x", byte);
}

static void spell_lower(struct buf *out, unsigned char byte)
{
	buf_char(out, (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte));
}

static spell_fn *const text_spellings[] = {
	spell_percent, spell_percent_lower, spell_component, spell_form, spell_json, spell_json_slash, spell_json_html,
	spell_json_upper, spell_html, spell_html_hex, spell_html_numbers,
};

/* UTF-16: some servers let whoever asks choose the character set. */
static void spell_wide(struct buf *out, unsigned char byte)
{
	buf_char(out, '\0');
	buf_char(out, (char)byte);
}

static void spell_wide_little(struct buf *out, unsigned char byte)
{
	buf_char(out, (char)byte);
	buf_char(out, '\0');
}

/* ---- forms ---- */

#define SPELLED_MAX 6 /* bytes that one byte becomes at most: "\u0026" */
#define CHUNK ((size_t)64 << 10)

static void buf_wipe(struct buf *buf)
{
	if (buf->data)
		explicit_bzero(buf->data, buf->cap);
	buf_done(buf);
}

/* All it needs at once: growing would leave what is secret behind in memory that was given back. */
static struct buf buf_of(size_t size)
{
	return (struct buf){.data = xcalloc(size + 1, 1), .cap = size + 1};
}

/* The processes that cells are made of are forked from ours: they find zeros here. */
static char *chunk_room(struct scrub_words *words, size_t len)
{
	if (!words->chunks || words->chunks->size - words->chunks->used < len) {
		size_t size = (len + sizeof(struct chunk) + CHUNK) / CHUNK * CHUNK;
		struct chunk *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (made == MAP_FAILED || madvise(made, size, MADV_WIPEONFORK) < 0) {
			(void)fputs("hotcell: out of memory\n", stderr); /* who cannot hide a secret must not go on */
			abort();
		}
		(void)madvise(made, size, MADV_DONTDUMP);
		*made = (struct chunk){.next = words->chunks, .size = size, .used = sizeof(*made)};
		words->chunks = made;
	}
	char *room = (char *)words->chunks + words->chunks->used;
	words->chunks->used += len;
	return room;
}

static void form_add(struct scrub_words *words, const char *bytes, size_t len)
{
	for (size_t i = 0; i < words->count; i++) {
		if (words->forms[i].len == len && memcmp(words->forms[i].bytes, bytes, len) == 0)
			return;
	}
	words->forms = xrealloc(words->forms, words->count + 1, sizeof(*words->forms));
	struct form *form = &words->forms[words->count++];
	*form = (struct form){.bytes = chunk_room(words, len), .len = len};
	memcpy(form->bytes, bytes, len);
}

static void form_spell(struct scrub_words *words, const char *bytes, size_t len, spell_fn *spell)
{
	own(buf_wipe) struct buf out = buf_of(len * SPELLED_MAX);

	for (size_t i = 0; i < len; i++)
		spell(&out, (unsigned char)bytes[i]);
	form_add(words, out.data, out.len);
}

/* A text as it is, and as it is inside a URL or a JSON string. */
static void text_add(struct scrub_words *words, const char *bytes, size_t len)
{
	form_add(words, bytes, len);
	for (size_t i = 0; i < ARRAY_LEN(text_spellings); i++)
		form_spell(words, bytes, len, text_spellings[i]);
}

/* Inside something longer that is encoded as a whole, with `before` (mod 3) bytes in front of it. The letters at both
 * ends that stand for bits of its neighbours as well are left out. */
static void base64_add(struct scrub_words *words, const char *secret, size_t len, size_t before)
{
	static const size_t shared[] = {0, 2, 3};
	own(buf_wipe) struct buf plain = buf_of(len + 2);
	own(buf_wipe) struct buf out = buf_of(2 * len + 8);

	buf_add(&plain, "\0\0", before);
	buf_add(&plain, secret, len);
	base64_write(plain.data, plain.len, &out);
	char *letters = out.data + shared[before];
	size_t count = plain.len * 8 / 6 - shared[before];
	text_add(words, letters, count);
	for (size_t i = 0; i < count; i++)
		letters[i] = letters[i] == '+' ? '-' : letters[i] == '/' ? '_' : letters[i];
	text_add(words, letters, count);
}

static uint32_t chain_of(const char *bytes)
{
	uint32_t head;

	memcpy(&head, bytes, sizeof(head));
	return head * UINT32_C(2654435761) >> 20;
}
_Static_assert(CHAINS == 1 << (32 - 20), "every chain has a number");
_Static_assert(HEAD == sizeof(uint32_t), "a head is one word");

static int form_compare(const void *a, const void *b)
{
	size_t first = ((const struct form *)a)->len, second = ((const struct form *)b)->len;

	return first < second ? 1 : first > second ? -1 : 0;
}

struct scrub_words *scrub_words_make(const char *const *secrets, size_t count)
{
	struct scrub_words *words = xcalloc(1, sizeof(*words));

	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(secrets[i]);
		if (len < SCRUB_MIN)
			continue;
		text_add(words, secrets[i], len);
		form_spell(words, secrets[i], len, spell_lower);
		form_spell(words, secrets[i], len, spell_shown);
		form_spell(words, secrets[i], len, spell_shown_bytes);
		for (size_t before = 0; before < 3; before++)
			base64_add(words, secrets[i], len, before);
		form_spell(words, secrets[i], len, spell_hex);
		form_spell(words, secrets[i], len, spell_hex_upper);
		form_spell(words, secrets[i], len, spell_wide);
		form_spell(words, secrets[i], len, spell_wide_little);
	}
	if (words->count)
		qsort(words->forms, words->count, sizeof(*words->forms), form_compare);
	for (size_t i = words->count; i > 0; i--) {
		uint32_t *chain = &words->chains[chain_of(words->forms[i - 1].bytes)];
		words->forms[i - 1].next = *chain;
		*chain = (uint32_t)i;
		words->first[(unsigned char)words->forms[i - 1].bytes[0]] = true;
	}
	return words;
}

struct scrub_words *scrub_words_free(struct scrub_words *words)
{
	if (!words)
		return NULL;
	for (struct chunk *chunk = words->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		size_t size = chunk->size;
		explicit_bzero(chunk, chunk->used);
		(void)munmap(chunk, size);
	}
	free(words->forms);
	free(words);
	return NULL;
}

size_t scrub_longest(const struct scrub_words *words)
{
	return words->count ? words->forms[0].len : 0;
}

/* ---- looking ---- */

enum sight { SEES_NOTHING, SEES_FORM, SEES_BEGINNING /* all that is left begins a form */ };

/* What is at the beginning of `bytes`. A form that is whole is the longest there. */
static enum sight look(const struct scrub_words *words, const char *bytes, size_t left, bool last, size_t *ret_len)
{
	for (uint32_t i = words->chains[chain_of(bytes)]; i; i = words->forms[i - 1].next) {
		const struct form *form = &words->forms[i - 1];
		size_t size = form->len < left ? form->len : left;
		if ((form->len > left && last) || memcmp(form->bytes, bytes, size) != 0)
			continue;
		*ret_len = form->len;
		return form->len > left ? SEES_BEGINNING : SEES_FORM;
	}
	return SEES_NOTHING;
}

/* The same for the last bytes of a piece, too few to choose a chain. */
static bool begins_form(const struct scrub_words *words, const char *bytes, size_t left)
{
	for (size_t i = 0; words->first[(unsigned char)*bytes] && i < words->count; i++) {
		if (memcmp(words->forms[i].bytes, bytes, left) == 0)
			return true;
	}
	return false;
}

size_t scrub_look(const struct scrub_words *words, const char *bytes, size_t len)
{
	size_t size = 0;

	return len >= HEAD && words->first[(unsigned char)*bytes] && look(words, bytes, len, true, &size) == SEES_FORM ? size : 0;
}

struct cover { /* the occurrences met so far, as far as they overlap */
	size_t from, to;
};

/* Makes stars of what is covered before `end`. Only of what was passed already: what is ahead is still to be read. */
static void cover_fill(const struct cover *cover, char *bytes, size_t end)
{
	size_t to = cover->to < end ? cover->to : end;

	if (cover->from < to)
		memset(bytes + cover->from, '*', to - cover->from);
}

/* Decides as many bytes as can be, in place, and returns how many. *covered: how many of the first bytes an earlier
 * occurrence covers; afterwards, of those that are not decided. */
static size_t scan(const struct scrub_words *words, char *bytes, size_t len, bool last, size_t *covered, size_t *found)
{
	struct cover cover = {.to = *covered};
	size_t i = 0, size = 0;

	for (; len - i >= HEAD; i++) {
		enum sight sight = look(words, bytes + i, len - i, last, &size);
		if (sight == SEES_BEGINNING)
			break;
		if (sight == SEES_NOTHING)
			continue;
		if (i >= cover.to) {
			cover_fill(&cover, bytes, i);
			cover = (struct cover){.from = i};
			(*found)++;
		}
		cover.to = i + size > cover.to ? i + size : cover.to;
	}
	while (i < len && len - i < HEAD && (last || !begins_form(words, bytes + i, len - i)))
		i++;
	cover_fill(&cover, bytes, i);
	*covered = cover.to > i ? cover.to - i : 0;
	return i;
}

static void scrub_pass(struct scrub *scrub, const struct scrub_words *words, bool last, size_t from, struct buf *out)
{
	if (out->len == from)
		return;
	size_t decided = scan(words, out->data + from, out->len - from, last, &scrub->covered, &scrub->found);
	size_t rest = out->len - from - decided;
	scrub->held.len = 0;
	if (rest) {
		buf_add(&scrub->held, out->data + from + decided, rest);
		explicit_bzero(out->data + from + decided, rest);
		out->len -= rest;
	}
}

void scrub_take(struct scrub *scrub, const struct scrub_words *words, const char *bytes, size_t len, struct buf *out)
{
	size_t from = out->len;

	buf_add(out, scrub->held.data, scrub->held.len);
	buf_add(out, bytes, len);
	scrub_pass(scrub, words, false, from, out);
}

void scrub_end(struct scrub *scrub, const struct scrub_words *words, struct buf *out)
{
	size_t from = out->len;

	buf_add(out, scrub->held.data, scrub->held.len);
	scrub_pass(scrub, words, true, from, out);
}

void scrub_done(struct scrub *scrub)
{
	buf_wipe(&scrub->held);
	*scrub = (struct scrub){0};
}

size_t scrub_text(const struct scrub_words *words, char *bytes, size_t len)
{
	size_t covered = 0, found = 0;

	(void)scan(words, bytes, len, true, &covered, &found);
	return found;
}

void scrub_cut(const struct scrub_words *words, char *bytes, size_t len)
{
	size_t size;

	for (size_t i = 0; i + SCRUB_MIN <= len; i++)
		if (look(words, bytes + i, len - i, false, &size) == SEES_BEGINNING) {
			memset(bytes + i, '*', len - i);
			return;
		}
}
