/* A secret has many spellings. Those that are fixed strings are forms of their own. Where each letter may be spelled in
 * several ways (percent signs, backslashes, HTML), or something may stand between letters (lines of base64, blanks in
 * hexadecimal), there is one form, and it is compared letter by letter.
 *
 * All are looked for at once: the first four bytes at every place say by a bit, nearly always unset, whether a head
 * may be there, and only the forms of such heads are compared. Near a byte that begins an escape or ends a line there may be no such head; there
 * the first letter alone chooses.
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
#include "base/utf8.h"
#include "redact/escape.h"
#include "redact/hold.h"
#include "redact/sift.h"

#define HEAD 4 /* bytes that choose a chain; every form is longer */
#define CHAINS 4096
#define HASHES 65536
#define HEADS_MAX 160 /* of one form, at most: 16, and those with something between */

struct chunk {
	struct chunk *next;
	size_t size, used; /* with this head */
};

enum form_kind {
	FORM_EXACT,
	FORM_TEXT, /* each letter may be escaped */
	FORM_BASE64, /* the same, and it may be broken into lines */
	FORM_HEX, /* `bytes` are what the digits stand for */
	FORM_DECIMAL, /* the same, a number for each byte: as lists of bytes are printed */
};

struct form {
	char *bytes;
	size_t len;
	enum form_kind kind;
	bool rough; /* of a secret that sift.h does not read in one way */
	uint32_t next; /* one that may be escaped and has the same first byte: 1 + its place in `forms`; 0: none */
};

struct head { /* the first bytes of a form as they may be in a text */
	uint32_t bytes;
	uint32_t form;
	uint32_t next; /* in its chain: 1 + its place in `heads`; 0: none */
};

struct scrub_words {
	struct form *forms;
	size_t count;
	struct head *heads; /* in a chunk, as what they begin is */
	size_t head_count;
	size_t longest;
	size_t window; /* bytes that are held back at most where what is held back says nothing of the secrets */
	bool odd; /* one of them has other letters than hold.h has a rule for: the whole window is held back */
	bool rough; /* the secret whose forms are added now is not read in one way */
	struct sift *sift; /* NULL: all are looked for at every byte */
	struct scrub_words *others; /* with a sift: those that it does not find; NULL: there are none */
	struct chunk *chunks; /* what must not be handed on; the newest first */
	uint32_t chains[CHAINS];
	unsigned char hashes[HASHES / 8]; /* a bit for each that a head has: few, and near each other in memory */
	uint32_t letters[256]; /* forms that may be escaped, by their first byte */
	bool first[256]; /* bytes that a head begins with */
	bool near[256]; /* bytes that a form may begin with of which one of the first letters is escaped */
};

/* ---- spellings ---- */

typedef void spell_fn(struct buf *out, unsigned char byte);

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

static void spell_upper(struct buf *out, unsigned char byte)
{
	buf_char(out, (char)(byte >= 'a' && byte <= 'z' ? byte - ('a' - 'A') : byte));
}

/* As mails have it: "quoted-printable". */
static void spell_quoted(struct buf *out, unsigned char byte)
{
	buf_fmt(out, byte == '=' || byte >= 0x7f ? "=%02X" : "%c", byte);
}

/* ---- forms ---- */

#define SPELLED_MAX 12 /* bytes that one byte becomes at most: "\u005cu0026" */
#define SPELLED_BASE64_MAX 8 /* a letter of base64, which few escape: "&#x002B;" */
#define CHUNK ((size_t)64 << 10)
#define WINDOW_MIN ((size_t)4096) /* enough for secrets of 300 bytes: who sees it learns no more of its length */
#define WINDOW_AHEAD 16 /* bytes of an escape behind a form that must be read to know that the form is over */

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
	len = (len + 7) / 8 * 8; /* for numbers, too */
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

static void form_add(struct scrub_words *words, enum form_kind kind, const char *bytes, size_t len)
{
	for (size_t i = 0; i < words->count; i++) {
		const struct form *form = &words->forms[i];
		if (form->len == len && form->kind == kind && memcmp(form->bytes, bytes, len) == 0)
			return;
	}
	words->forms = xrealloc(words->forms, words->count + 1, sizeof(*words->forms));
	struct form *form = &words->forms[words->count++];
	*form = (struct form){.bytes = chunk_room(words, len + 1), .len = len, .kind = kind, .rough = words->rough};
	memcpy(form->bytes, bytes, len);
}

static void form_spell(struct scrub_words *words, const char *bytes, size_t len, spell_fn *spell)
{
	own(buf_wipe) struct buf out = buf_of(len * SPELLED_MAX);

	for (size_t i = 0; i < len; i++)
		spell(&out, (unsigned char)bytes[i]);
	form_add(words, FORM_EXACT, out.data, out.len);
}

/* UTF-16: some servers let whoever asks choose the character set. What is no UTF-8 is taken byte by byte. */
static void wide_add(struct scrub_words *words, const char *bytes, size_t len, bool little)
{
	own(buf_wipe) struct buf out = buf_of(len * 2);

	for (size_t i = 0; i < len;) {
		int size = utf8_char(bytes + i, len - i);
		uint32_t code = size > 0 ? utf8_code(bytes + i, size) : (unsigned char)bytes[i];
		uint32_t units[] = {code, 0};
		if (code >= 0x10000) {
			units[0] = 0xd800 + ((code - 0x10000) >> 10);
			units[1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
		}
		for (size_t j = 0; j < (code >= 0x10000 ? 2 : 1); j++) {
			buf_char(&out, (char)(little ? units[j] & 0xff : units[j] >> 8));
			buf_char(&out, (char)(little ? units[j] >> 8 : units[j] & 0xff));
		}
		i += size > 0 ? (size_t)size : 1;
	}
	form_add(words, FORM_EXACT, out.data, out.len);
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
	form_add(words, FORM_BASE64, letters, count);
	for (size_t i = 0; i < count; i++)
		letters[i] = letters[i] == '+' ? '-' : letters[i] == '/' ? '_' : letters[i];
	form_add(words, FORM_BASE64, letters, count);
}

static uint32_t hash_of(const char *bytes)
{
	uint32_t head;

	memcpy(&head, bytes, sizeof(head));
	return head * UINT32_C(2654435761) >> 16;
}
_Static_assert(HASHES == 1 << 16 && HASHES % CHAINS == 0, "every hash has a bit and a chain");
_Static_assert(HEAD == sizeof(uint32_t), "a head is one word");

static void head_add(struct scrub_words *words, struct buf *heads, size_t form, const char *bytes)
{
	struct head head = {.form = (uint32_t)form};

	memcpy(&head.bytes, bytes, HEAD);
	buf_add(heads, &head, sizeof(head));
	words->first[(unsigned char)bytes[0]] = true;
}

/* Two digits in either case, and what may follow them: the next byte at once, or behind something. */
static void hex_heads(struct scrub_words *words, struct buf *heads, size_t form)
{
	static const char *const cases[] = {"0123456789abcdef", "0123456789ABCDEF"};
	static const char between[] = BETWEEN;
	static const char *const pairs[] = {", ", "  ", ",\n", ",\r", ",\t", "\r\n", "\n ", "\n\t"};
	const unsigned char *bytes = (const unsigned char *)words->forms[form].bytes;

	for (unsigned mixed = 0; mixed < 16; mixed++) {
		char head[HEAD];
		for (unsigned i = 0; i < HEAD; i++)
			head[i] = cases[mixed >> i & 1][i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4];
		head_add(words, heads, form, head);
		char next = head[2];
		for (size_t i = 0; mixed < 8 && i < sizeof(between) - 1; i++) {
			head[2] = between[i];
			head[3] = next;
			head_add(words, heads, form, head);
			head[3] = '0';
			head_add(words, heads, form, head);
		}
		for (size_t i = 0; mixed < 4 && i < ARRAY_LEN(pairs); i++) {
			memcpy(head + 2, pairs[i], 2);
			head_add(words, heads, form, head);
		}
	}
}

/* The first number, and what may follow it: something between, and the first digit of the next one
 * or more between. */
static void decimal_heads(struct scrub_words *words, struct buf *heads, size_t form)
{
	static const char between[] = BETWEEN, others[] = BETWEEN "123456789";
	const unsigned char *bytes = (const unsigned char *)words->forms[form].bytes;
	char head[HEAD + 1];

	for (size_t i = 0; i < sizeof(between) - 1; i++) {
		int len = snprintf(head, sizeof(head), "%u%c", bytes[0], between[i]);
		for (size_t j = 0; len < HEAD && j < sizeof(others) - 1; j++) {
			head[len] = others[j];
			head_add(words, heads, form, head);
		}
		if (len == HEAD)
			head_add(words, heads, form, head);
	}
}

static bool may_be_escaped(const struct form *form)
{
	return form->kind == FORM_TEXT || form->kind == FORM_BASE64;
}

static size_t spelled_max(const struct form *form)
{
	return form->kind == FORM_BASE64 ? SPELLED_BASE64_MAX : SPELLED_MAX;
}

static size_t form_longest(const struct form *form)
{
	switch (form->kind) {
	case FORM_EXACT: break;
	case FORM_TEXT: return form->len * spelled_max(form);
	case FORM_BASE64: return form->len * spelled_max(form) + (form->len / BREAK_EVERY + 1) * BREAK_MAX;
	case FORM_HEX: return form->len * (BETWEEN_MAX + 4);
	case FORM_DECIMAL: return form->len * (BETWEEN_MAX + 3);
	}
	return form->len;
}

/* Each head once: those of hexadecimal are often the same in both cases. */
static void heads_chain(struct scrub_words *words, const struct head *heads, size_t count)
{
	words->heads = (struct head *)(void *)chunk_room(words, count * sizeof(*heads));
	for (size_t i = 0; i < count; i++) {
		uint32_t hash = hash_of((const char *)&heads[i].bytes), *chain = &words->chains[hash % CHAINS], at = *chain;
		words->hashes[hash / 8] |= (unsigned char)(1 << hash % 8);
		while (at && (words->heads[at - 1].bytes != heads[i].bytes || words->heads[at - 1].form != heads[i].form))
			at = words->heads[at - 1].next;
		if (at)
			continue;
		words->heads[words->head_count] = (struct head){.bytes = heads[i].bytes, .form = heads[i].form, .next = *chain};
		*chain = (uint32_t)++words->head_count;
	}
}

static void words_index(struct scrub_words *words)
{
	own(buf_wipe) struct buf heads = buf_of(words->count * HEADS_MAX * sizeof(struct head));

	for (size_t i = 0; i < words->count; i++) {
		struct form *form = &words->forms[i];
		size_t longest = form_longest(form);
		words->longest = longest > words->longest ? longest : words->longest;
		if (form->kind == FORM_HEX) {
			hex_heads(words, &heads, i);
			continue;
		}
		if (form->kind == FORM_DECIMAL) {
			decimal_heads(words, &heads, i);
			continue;
		}
		head_add(words, &heads, i, form->bytes);
		if (may_be_escaped(form)) {
			form->next = words->letters[(unsigned char)form->bytes[0]];
			words->letters[(unsigned char)form->bytes[0]] = (uint32_t)i + 1;
			words->near[(unsigned char)form->bytes[0]] = true;
		}
	}
	for (unsigned byte = 0; words->count && byte < 256; byte++)
		words->near[byte] = words->near[byte] || escape_begins((unsigned char)byte);
	if (words->count)
		heads_chain(words, (const struct head *)(const void *)heads.data, heads.len / sizeof(struct head));
}

/* A secret that has itself what looks like an escape is read in two ways by those who escape its other letters only. Nobody
 * leaves a backslash as it is among others that escape. */
static bool has_escape(const char *secret, size_t len)
{
	static const enum escape_kind kinds[] = {ESCAPE_PERCENT, ESCAPE_HTML};
	uint32_t code;

	for (size_t i = 0; i < ARRAY_LEN(kinds) * len; i++)
		if (escape_read(kinds[i / len], secret + i % len, len - i % len, &code) > 0)
			return true;
	return false;
}

static size_t count_letters(const struct scrub_words *words, const struct form *form)
{
	size_t count = 0;

	for (size_t i = 0; i < form->len; i++)
		count += sift_counts(words->odd, (unsigned char)form->bytes[i]);
	return count;
}

/* Those of one secret: either all of them are found by sifting, or none. */
static void forms_judge(struct scrub_words *words, size_t from)
{
	bool rough = words->rough;

	for (size_t i = from; i < words->count; i++)
		rough = rough || (words->forms[i].kind != FORM_HEX &&
			count_letters(words, &words->forms[i]) < SIFT_LETTERS);
	for (size_t i = from; i < words->count; i++)
		words->forms[i].rough = rough;
}

struct scrub_words *scrub_words_make(const char *const *secrets, size_t count)
{
	struct scrub_words *words = xcalloc(1, sizeof(*words));

	for (size_t i = 0; i < count; i++)
		if (strlen(secrets[i]) >= SCRUB_MIN && !hold_rules(secrets[i]))
			words->odd = true;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(secrets[i]), from = words->count;
		if (len < SCRUB_MIN)
			continue;
		words->rough = has_escape(secrets[i], len);
		form_add(words, FORM_TEXT, secrets[i], len);
		form_add(words, FORM_HEX, secrets[i], len);
		form_add(words, FORM_DECIMAL, secrets[i], len);
		form_spell(words, secrets[i], len, spell_quoted);
		form_spell(words, secrets[i], len, spell_lower);
		form_spell(words, secrets[i], len, spell_upper);
		form_spell(words, secrets[i], len, spell_shown);
		form_spell(words, secrets[i], len, spell_shown_bytes);
		for (size_t before = 0; before < 3; before++)
			base64_add(words, secrets[i], len, before);
		wide_add(words, secrets[i], len, false);
		wide_add(words, secrets[i], len, true);
		forms_judge(words, from);
	}
	words_index(words);
	for (words->window = WINDOW_MIN; words->window < words->longest + WINDOW_AHEAD;)
		words->window *= 2;
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
	words->others = scrub_words_free(words->others);
	free(words->sift);
	free(words->forms);
	free(words);
	return NULL;
}

/* Those that sift.h does not find. */
static struct scrub_words *others_make(const struct scrub_words *words)
{
	own(freep) const char **secrets = xcalloc(words->count + 1, sizeof(*secrets));
	size_t count = 0;

	for (size_t i = 0; i < words->count; i++)
		if (words->forms[i].rough && words->forms[i].kind == FORM_TEXT)
			secrets[count++] = words->forms[i].bytes;
	return count > 0 ? scrub_words_make(secrets, count) : NULL;
}

static void row_make(struct scrub_words *words, const struct form *form, struct sift_row *ret)
{
	char *letters = chunk_room(words, form->len);

	*ret = (struct sift_row){
		.bytes = letters, .hex = form->kind == FORM_HEX, .reach = words->longest};
	for (size_t i = 0; i < form->len; i++)
		if (ret->hex || sift_counts(words->odd, (unsigned char)form->bytes[i]))
			letters[ret->len++] = form->bytes[i];
}

/* Forms in UTF-16 are found as those in UTF-8 are, since zeros are left out: but for letters beyond Latin. */
bool scrub_words_level(struct scrub_words *words)
{
	size_t count = 0;

	if (words->sift || words->count == 0)
		return !words->others;
	struct sift_row *rows = (struct sift_row *)(void *)chunk_room(words, words->count * sizeof(*rows));
	for (size_t i = 0; i < words->count; i++) {
		const struct form *form = &words->forms[i];
		bool wide = !words->odd && memchr(form->bytes, '\0', form->len);
		if (form->rough || form->kind == FORM_DECIMAL || wide)
			continue; /* numbers are read as the letters that they stand for */
		row_make(words, form, &rows[count++]);
	}
	words->sift = xcalloc(1, sizeof(*words->sift));
	sift_init(words->sift, words->odd, rows, count);
	words->others = others_make(words);
	return !words->others;
}

size_t scrub_longest(const struct scrub_words *words)
{
	return words->longest;
}

size_t scrub_window(const struct scrub_words *words)
{
	return words->window;
}

/* ---- comparing ---- */

#define CUT (-1) /* all that is left begins it */

/* Each of these: the length of a form at the beginning of `text`; 0: it is not there; or CUT, unless it is the last text. */

static ssize_t match_exact(const struct form *form, const char *text, size_t left, bool last)
{
	size_t size = form->len < left ? form->len : left;

	if ((form->len > left && last) || memcmp(form->bytes, text, size) != 0)
		return 0;
	return form->len > left ? CUT : (ssize_t)form->len;
}

/* What stands between two bytes in hexadecimal. */
static size_t between(const char *text, size_t left)
{
	size_t lf = 0, cr = 0, at = 0;

	for (; at < left && at < BETWEEN_MAX && text[at] && strchr(BETWEEN, text[at]); at++) {
		lf += text[at] == '\n';
		cr += text[at] == '\r';
		if (lf > 1 || cr > 1)
			break;
	}
	return at;
}

static ssize_t match_hex(const struct form *form, const char *text, size_t left, bool last)
{
	size_t at = 0;

	for (size_t i = 0; i < form->len; i++, at += 2) {
		unsigned char byte = (unsigned char)form->bytes[i];
		at += i > 0 ? between(text + at, left - at) : 0;
		if (i > 0 && left - at >= 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X'))
			at += 2;
		if (left - at >= 1 && escape_digit(text[at]) != byte >> 4 && !(left - at == 1 && i > 0 && text[at] == '0'))
			return 0;
		if (left - at < 2)
			return last ? 0 : CUT;
		if (escape_digit(text[at + 1]) != (byte & 15))
			return 0;
	}
	return (ssize_t)at;
}

static ssize_t match_decimal(const struct form *form, const char *text, size_t left, bool last)
{
	size_t at = 0;

	for (size_t i = 0; i < form->len; i++) {
		char number[4];
		unsigned char byte = (unsigned char)form->bytes[i];
		size_t len = (size_t)snprintf(number, sizeof(number), "%u", byte);
		size_t gap = i > 0 ? between(text + at, left - at) : 0, rest = left - at - gap;
		if (i > 0 && gap == 0 && rest > 0)
			return 0;
		at += gap;
		if (memcmp(text + at, number, rest < len ? rest : len) != 0)
			return 0;
		if (rest < len)
			return last ? 0 : CUT;
		at += len;
	}
	if (at == left)
		return last ? (ssize_t)at : CUT;
	return text[at] >= '0' && text[at] <= '9' ? 0 : (ssize_t)at; /* of a longer number */
}

/* How many bytes of the form an escape of `size` bytes stands for. */
static size_t meets(const struct form *form, size_t from, uint32_t code, size_t size)
{
	char bytes[4];
	size_t count = code <= 0x10ffff ? utf8_put(code, bytes) : 0, most = spelled_max(form);

	if (count && count <= form->len - from && size <= count * most && memcmp(form->bytes + from, bytes, count) == 0)
		return count;
	return code < 256 && size <= most && (unsigned char)form->bytes[from] == code;
}

struct gap { /* between two lines */
	size_t size, letters; /* of it, and since the last one */
	size_t lf, cr; /* in it: a blank line ends a text, and a stream of events has one after each */
};

static bool gap_takes(struct gap *gap, uint32_t code, size_t size)
{
	if (code != '\n' && code != '\r' && !(gap->size > 0 && (code == ' ' || code == '\t')))
		return false;
	if (gap->size + size > BREAK_MAX || (gap->size == 0 && gap->letters < BREAK_EVERY))
		return false;
	gap->size += size;
	gap->letters = 0;
	gap->lf += code == '\n';
	gap->cr += code == '\r';
	return gap->lf <= 1 && gap->cr <= 1;
}

/* One kind of escape at a time, as whoever wrote it had: there, what begins an escape is always escaped itself, so that
 * nothing is to be tried in two ways. Only percent signs and HTML are left as they are by some who escape other letters. */
static ssize_t match_text(const struct form *form, enum escape_kind kind, const char *text, size_t left, bool last)
{
	struct gap gap = {.letters = BREAK_EVERY};
	size_t at = 0;

	for (size_t i = 0; i < form->len;) {
		if (at == left)
			return last ? 0 : CUT;
		uint32_t code = (unsigned char)text[at];
		int size = escape_read(kind, text + at, left - at, &code);
		if (size < 0 && !last)
			return CUT;
		size_t met = size > 0 ? meets(form, i, code, (size_t)size) : 0;
		bool blank = kind == ESCAPE_PERCENT && text[at] == '+' && form->bytes[i] == ' '; /* as forms are sent */
		bool same = text[at] == form->bytes[i] && !(size > 0 && text[at] == '\\');
		if (!met && (same || blank))
			met = (size_t)(size = 1);
		if (met) {
			i += met;
			gap = (struct gap){.letters = gap.letters + 1};
		} else {
			code = size > 0 ? code : (unsigned char)text[at];
			size = size > 0 ? size : 1;
			if (form->kind != FORM_BASE64 || i == 0 || !gap_takes(&gap, code, (size_t)size))
				return 0;
		}
		at += (size_t)size;
	}
	return (ssize_t)at;
}

/* ---- looking ---- */

enum sight { SEES_NOTHING, SEES_FORM, SEES_BEGINNING /* all that is left begins a form */ };

/* False: it is cut. */
static bool longer(ssize_t size, size_t *longest)
{
	if (size > 0 && (size_t)size > *longest)
		*longest = (size_t)size;
	return size != CUT;
}

static bool form_look(const struct form *form, const char *bytes, size_t left, bool last, size_t *longest)
{
	if (form->kind == FORM_EXACT)
		return longer(match_exact(form, bytes, left, last), longest);
	if (form->kind == FORM_HEX)
		return longer(match_hex(form, bytes, left, last), longest);
	if (form->kind == FORM_DECIMAL)
		return longer(match_decimal(form, bytes, left, last), longest);
	for (enum escape_kind kind = ESCAPE_NONE; kind < ESCAPE_KINDS; kind++)
		if (!longer(match_text(form, kind, bytes, left, last), longest))
			return false;
	return true;
}

/* Bytes that make others "near": they begin an escape, or end a line. */
static const bool nears[256] = {['%'] = true, ['\\'] = true, ['&'] = true, ['\n'] = true, ['\r'] = true};

/* Whether the second letter, which is there as it is, is another one: as it nearly always is. */
static bool is_other(const struct form *form, const char *bytes, size_t left)
{
	return left > 1 && bytes[1] != form->bytes[1] && bytes[1] != '+' && !nears[(unsigned char)bytes[1]];
}

static bool letter_look(const struct scrub_words *words, unsigned char letter, enum escape_kind kind, const char *bytes,
	size_t left, bool last, size_t *longest)
{
	for (uint32_t i = words->letters[letter]; i; i = words->forms[i - 1].next)
		if (!longer(match_text(&words->forms[i - 1], kind, bytes, left, last), longest))
			return false;
	return true;
}

/* Forms of which one of the first letters may be escaped, or the last of its line. */
static bool near_look(const struct scrub_words *words, const char *bytes, size_t left, bool last, size_t *longest)
{
	unsigned char letter = (unsigned char)bytes[0];

	if (!words->near[letter])
		return true;
	for (uint32_t i = escape_begins(letter) ? 0 : words->letters[letter]; i; i = words->forms[i - 1].next)
		if (!is_other(&words->forms[i - 1], bytes, left) && !form_look(&words->forms[i - 1], bytes, left, last, longest))
			return false;
	if (!escape_begins(letter))
		return true;
	for (enum escape_kind kind = ESCAPE_NONE; kind < ESCAPE_KINDS; kind++) {
		uint32_t code = 0;
		char lead[4];
		int size = escape_read(kind, bytes, left, &code);
		if ((size < 0 && !last) || !letter_look(words, letter, kind, bytes, left, last, longest))
			return false;
		if (size <= 0 || code > 0x10ffff)
			continue;
		(void)utf8_put(code, lead);
		if (!letter_look(words, (unsigned char)lead[0], kind, bytes, left, last, longest) ||
			(code >= 0x80 && code < 256 && !letter_look(words, (unsigned char)code, kind, bytes, left, last, longest)))
			return false;
	}
	return true;
}

static bool may_begin(const struct scrub_words *words, const char *bytes)
{
	uint32_t hash = hash_of(bytes);

	return words->hashes[hash / 8] >> hash % 8 & 1;
}

/* What is at the beginning of `bytes`. A form that is whole is the longest there. `near`: one of the first bytes is of
 * those that may be in a form without being of its letters. */
static enum sight look(const struct scrub_words *words, const char *bytes, size_t left, bool near, bool last, size_t *ret_len)
{
	bool may = may_begin(words, bytes);
	uint32_t head;

	if (!may && !near)
		return SEES_NOTHING;
	memcpy(&head, bytes, sizeof(head));
	*ret_len = 0;
	for (uint32_t i = may ? words->chains[hash_of(bytes) % CHAINS] : 0; i; i = words->heads[i - 1].next)
		if (words->heads[i - 1].bytes == head &&
			!form_look(&words->forms[words->heads[i - 1].form], bytes, left, last, ret_len))
			return SEES_BEGINNING;
	if (near && !near_look(words, bytes, left, last, ret_len))
		return SEES_BEGINNING;
	return *ret_len ? SEES_FORM : SEES_NOTHING;
}

/* The same for the last bytes of a piece, too few to choose a chain. */
static bool begins_form(const struct scrub_words *words, const char *bytes, size_t left)
{
	size_t longest = 0;

	for (size_t i = 0; words->first[(unsigned char)*bytes] && i < words->head_count; i++) {
		if (memcmp(&words->heads[i].bytes, bytes, left) == 0)
			return true;
	}
	return !near_look(words, bytes, left, false, &longest);
}

static bool is_near(const char *bytes)
{
	const unsigned char *at = (const unsigned char *)bytes;

	return nears[at[0]] || nears[at[1]] || nears[at[2]] || nears[at[3]];
}

size_t scrub_look(const struct scrub_words *words, const char *bytes, size_t len)
{
	unsigned char letter = (unsigned char)*bytes;
	size_t size = 0;

	if (len < HEAD || !(words->first[letter] || words->near[letter]))
		return 0;
	return look(words, bytes, len, is_near(bytes), true, &size) == SEES_FORM ? size : 0;
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

/* Decides as many bytes as can be, in place, but none from `stop` on, and returns how many. *covered: how many of the first
 * bytes an earlier occurrence covers; afterwards, of those that are not decided. `last`: no form goes on behind the end, or
 * none that begins before `stop`. `marks`: where a form may begin; NULL: anywhere. */
static size_t scan(const struct scrub_words *words, const char *marks, char *bytes, size_t len, size_t stop, bool last,
	size_t *covered, size_t *found)
{
	struct cover cover = {.to = *covered};
	size_t i = 0, size = 0;
	unsigned near = 0; /* a bit for each of the next four bytes */

	for (size_t j = 0; j < HEAD - 1 && j < len; j++)
		near = near << 1 | nears[(unsigned char)bytes[j]];
	for (; i < stop && len - i >= HEAD; i++) {
		near = (near << 1 | nears[(unsigned char)bytes[i + HEAD - 1]]) & ((1u << HEAD) - 1);
		if (marks && !marks[i])
			continue;
		if (!may_begin(words, bytes + i) && !(near && words->near[(unsigned char)bytes[i]]))
			continue; /* as nearly all are */
		enum sight sight = look(words, bytes + i, len - i, near != 0, last, &size);
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
	while (i < stop && len - i < HEAD && (last || !begins_form(words, bytes + i, len - i)))
		i++;
	cover_fill(&cover, bytes, i);
	*covered = cover.to > i ? cover.to - i : 0;
	return i;
}

/* How many of the first bytes go on now, by a rule that does not know the secrets. Behind them no form goes on that begins
 * in them: hold_tail has seen to that, or the window is longer than any form. */
static size_t even_stop(const struct scrub_words *words, const char *bytes, size_t len)
{
	size_t most = len < words->window ? len : words->window;

	if (words->count == 0)
		return len;
	return len - (words->odd ? most : hold_tail(bytes + len - most, most));
}

/* Marks where others than those of the sift begin. */
static bool mark_others(const struct scrub_words *words, const char *bytes, size_t len, size_t stop, struct buf *marks)
{
	bool found = false;

	for (size_t i = 0; i < stop; i++) {
		if (scrub_look(words, bytes + i, len - i) == 0)
			continue;
		while (marks->len < len)
			buf_char(marks, 0);
		marks->data[i] = 1;
		found = true;
	}
	return found;
}

/* All bytes before `stop` are decided, and none after it. */
static void scan_even(const struct scrub_words *words, char *bytes, size_t len, size_t stop, size_t *covered, size_t *found)
{
	own(buf_wipe) struct buf marks = {0};

	if (stop == 0)
		return;
	if (words->sift) { /* all is done whether something was found or not: the last letters alone would be seen otherwise */
		marks = (struct buf){.data = xcalloc(len + 1, 1), .len = len, .cap = len + 1};
		(void)sift_find(words->sift, bytes, len, &marks, NULL);
	}
	if (words->others)
		(void)mark_others(words->others, bytes, len, stop, &marks);
	(void)scan(words, marks.data, bytes, len, stop, true, covered, found);
}

static void scrub_pass(struct scrub *scrub, const struct scrub_words *words, bool last, size_t from, struct buf *out)
{
	if (out->len == from)
		return;
	size_t len = out->len - from, decided = scrub->even && !last ? even_stop(words, out->data + from, len) : len;
	if (scrub->even)
		scan_even(words, out->data + from, len, decided, &scrub->covered, &scrub->found);
	else
		decided = scan(words, NULL, out->data + from, len, len, last, &scrub->covered, &scrub->found);
	size_t rest = len - decided;
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

	scan_even(words, bytes, len, len, &covered, &found);
	return found;
}

void scrub_cut(const struct scrub_words *words, char *bytes, size_t len)
{
	size_t size;

	for (size_t i = 0; i + SCRUB_MIN <= len; i++)
		if (look(words, bytes + i, len - i, is_near(bytes + i), false, &size) == SEES_BEGINNING) {
			memset(bytes + i, '*', len - i);
			return;
		}
}
