#include "redact/sift.h"

#include <string.h>
#include <sys/random.h>

#include "redact/escape.h"
#include "redact/hold.h"

#define SKEWED 12 /* letters at the beginning that an escape in front may have swallowed: as many bytes as it has at most */
#define WITHIN_MAX ((SIFT_LETTERS + SKEWED) * 12 + 3 * BREAK_MAX) /* bytes of text that so few letters have at most */
#define BITS_SHIFT 48 /* a hash has 16 bits */

enum { SEPARATOR = 16, MARK_X, OTHER };

struct sieve { /* one reading of a text */
	const struct sift *sift;
	size_t len; /* of the text */
	struct buf *marks;
	unsigned char *letters; /* what was read; of hexadecimal, digits */
	size_t count;
	size_t run; /* letters since a blank that is not at the beginning of a line: no form goes over one */
	bool indents; /* nothing but blanks since a line has ended */
	uint64_t last; /* letters, the newest lowest */
	bool found;
	size_t steps; /* letters and numbers read, of all readings */
};

static inline size_t hash_of(const struct sift *sift, uint64_t block, bool hex)
{
	uint64_t mixed = (block ^ sift->keys[0]) * (sift->keys[1] | 1);

	mixed = (mixed ^ mixed >> 32 ^ hex) * (sift->keys[2] | 1);
	return (size_t)(mixed >> BITS_SHIFT);
}
_Static_assert(sizeof(((struct sift *)NULL)->bits) * 8 == 1u << (64 - BITS_SHIFT), "every hash has a bit");

void sift_init(struct sift *sift, bool loose, struct sift_row *rows, size_t count)
{
	*sift = (struct sift){.rows = rows, .count = count, .loose = loose};
	if (getrandom(sift->keys, sizeof(sift->keys), 0) != (ssize_t)sizeof(sift->keys))
		abort(); /* never of so few bytes */
	for (size_t i = 0; i < count; i++) {
		struct sift_row *row = &rows[i];
		row->block = 0;
		sift->brief = sift->brief || (!row->hex && row->len < SIFT_LETTERS + SKEWED);
		for (size_t j = row->len - SIFT_LETTERS; j < row->len; j++)
			row->block = row->block << 8 | (unsigned char)row->bytes[j];
		size_t hash = hash_of(sift, row->block, row->hex);
		sift->bits[hash / 8] |= (unsigned char)(1 << hash % 8);
		row->next = sift->chains[hash % SIFT_CHAINS];
		sift->chains[hash % SIFT_CHAINS] = (uint32_t)i + 1;
	}
}

/* ---- what the bits say may be there ---- */

static unsigned digit_at(const struct sift_row *row, size_t at)
{
	return (unsigned char)row->bytes[at / 2] >> (at % 2 ? 0 : 4) & 15;
}

/* Every letter is compared, whichever is the first that differs. */
static bool is_there(const struct sieve *sieve, const struct sift_row *row)
{
	size_t size = row->hex ? 2 * row->len : row->len, most = size < sieve->count ? size : sieve->count;
	size_t skewed = row->hex ? 0 : size - SIFT_LETTERS < SKEWED ? size - SIFT_LETTERS : SKEWED;
	unsigned differs = 0;

	if (most + skewed < size)
		return false;
	for (size_t i = skewed; i < size; i++) {
		unsigned letter = row->hex ? digit_at(row, i) : (unsigned char)row->bytes[i];
		differs |= sieve->letters[sieve->count - size + i] ^ letter;
	}
	return differs == 0;
}

static void mark(struct sieve *sieve, size_t end, size_t reach)
{
	size_t from = end > reach ? end - reach : 0;

	while (sieve->marks->len < sieve->len)
		buf_char(sieve->marks, 0);
	memset(sieve->marks->data + from, 1, end - from);
	sieve->found = true;
}

static inline bool has_bit(const struct sift *sift, uint64_t block, bool hex)
{
	size_t hash = hash_of(sift, block, hex);

	return sift->bits[hash / 8] >> hash % 8 & 1;
}

/* After a letter that ends before `end`. */
static void seek(struct sieve *sieve, size_t end, bool hex)
{
	const struct sift *sift = sieve->sift;
	if (!has_bit(sift, sieve->last, hex))
		return;
	size_t hash = hash_of(sift, sieve->last, hex);
	for (uint32_t i = sift->chains[hash % SIFT_CHAINS]; i; i = sift->rows[i - 1].next) {
		const struct sift_row *row = &sift->rows[i - 1];
		if (row->hex == hex && row->block == sieve->last && is_there(sieve, row))
			mark(sieve, end, row->reach);
	}
}

/* ---- readings ---- */

static inline void take_letter(struct sieve *sieve, uint32_t code, size_t end)
{
	sieve->steps++;
	if (!sift_counts(sieve->sift->loose, code)) {
		bool blank = code == ' ' || code == '\t';
		sieve->indents = sieve->indents || code == '\r' || code == '\n';
		sieve->run = blank && !sieve->indents && !sieve->sift->loose ? 0 : sieve->run;
		return;
	}
	sieve->indents = false;
	sieve->letters[sieve->count++] = (unsigned char)code;
	sieve->last = sieve->last << 8 | sieve->letters[sieve->count - 1];
	if (++sieve->run >= SIFT_LETTERS)
		seek(sieve, end, false);
}

/* As take_letter for every byte, with all that changes in registers: most of the time is spent here. */
static void read_plain(struct sieve *sieve, const char *text)
{
	const struct sift *sift = sieve->sift;
	size_t count = 0, run = 0;
	uint64_t last = 0;
	bool indents = false, loose = sift->loose;

	for (size_t i = 0; i < sieve->len; i++) {
		unsigned char byte = (unsigned char)text[i];
		if (!sift_counts(loose, byte)) {
			indents = indents || byte == '\r' || byte == '\n';
			run = (byte == ' ' || byte == '\t') && !indents && !loose ? 0 : run;
			continue;
		}
		indents = false;
		sieve->letters[count++] = byte;
		last = last << 8 | byte;
		if (++run < SIFT_LETTERS || !has_bit(sift, last, false))
			continue;
		sieve->count = count;
		sieve->last = last;
		seek(sieve, i + 1, false);
	}
	sieve->steps += sieve->len;
}

/* Returns where the next letter begins. */
static size_t read_letter(struct sieve *sieve, const char *text, size_t at, enum escape_kind kind)
{
	uint32_t code = (unsigned char)text[at];
	int size = escape_begins((unsigned char)text[at]) ? escape_read(kind, text + at, sieve->len - at, &code) : 0;

	if (size <= 0)
		code = (unsigned char)text[at];
	at += size > 0 ? (size_t)size : 1;
	take_letter(sieve, code, at);
	return at;
}

/* A form may begin inside of what looks like an escape: "%" in front of "de%61db%65ef". */
static void read_within(struct sieve *whole, const char *text, size_t from, size_t to, enum escape_kind kind)
{
	for (; from < to; from++) {
		unsigned char letters[SIFT_LETTERS + SKEWED];
		struct sieve sieve = {.sift = whole->sift, .len = whole->len, .marks = whole->marks, .letters = letters};
		for (size_t at = from; at < whole->len && at - from < WITHIN_MAX && sieve.count < sizeof(letters);)
			at = read_letter(&sieve, text, at, kind);
		whole->found = whole->found || sieve.found;
		whole->steps += sieve.steps;
		explicit_bzero(letters, sizeof(letters));
	}
}

static void read_escaped(struct sieve *sieve, const char *text, enum escape_kind kind)
{
	sieve->count = sieve->run = 0;
	sieve->last = 0;
	sieve->indents = false;
	for (size_t i = 0; i < sieve->len;) {
		size_t next = read_letter(sieve, text, i, kind);
		if (sieve->sift->brief && next - i > 1)
			read_within(sieve, text, i + 1, next, kind);
		i = next;
	}
}

static const unsigned char *digits_table(void)
{
	static unsigned char table[256];

	if (table[(unsigned char)'z'] == OTHER)
		return table;
	for (unsigned byte = 0; byte < 256; byte++) {
		int digit = escape_digit((char)byte);
		bool between = byte && strchr(BETWEEN, (char)byte);
		table[byte] = (unsigned char)(digit >= 0 ? digit : between ? SEPARATOR : byte == 'x' || byte == 'X' ? MARK_X : OTHER);
	}
	return table;
}

/* Digits and what may be between them, from the first to the last. */
static void read_digits(struct sieve *sieve, const unsigned char *table, const char *text, size_t from, size_t to)
{
	uint64_t before = 0; /* the digits without the last one */

	sieve->count = 0;
	sieve->last = 0;
	for (size_t i = from; i < to; i++) {
		unsigned char digit = table[(unsigned char)text[i]];
		if (digit < SEPARATOR) {
			before = sieve->last;
			sieve->letters[sieve->count++] = digit;
			sieve->last = sieve->last << 4 | digit;
			if (sieve->count >= 2 * SIFT_LETTERS)
				seek(sieve, i + 1, true);
		} else if (digit == MARK_X && sieve->count > 0 && sieve->letters[sieve->count - 1] == 0) {
			sieve->last = before; /* of "0x" nothing counts */
			sieve->count--;
		}
	}
}

/* The run of digits that begins here, as a number; what is too large is of no form. Returns where it
 * ends. */
static size_t read_number(
	const unsigned char *table, const char *text, size_t from, size_t to, uint32_t *ret)
{
	*ret = 0;
	for (; from < to && table[(unsigned char)text[from]] < 10; from++)
		*ret = *ret < 256 ? *ret * 10 + table[(unsigned char)text[from]] : *ret;
	return from;
}

/* A form may begin inside of what looks like a longer number: "6" in front of "97, 98". Numbers that
 * stand for no letter do not count: only the bound ends a text of them. */
static void numbers_within(struct sieve *whole, const unsigned char *table, const char *text,
	size_t from, size_t to)
{
	unsigned char letters[SIFT_LETTERS + SKEWED];
	struct sieve sieve = {.sift = whole->sift, .len = whole->len, .marks = whole->marks, .letters = letters};
	uint32_t value;

	to = to - from < WITHIN_MAX ? to : from + WITHIN_MAX;
	while (from < to && sieve.count < sizeof(letters)) {
		size_t end = read_number(table, text, from, to, &value);
		if (end > from)
			take_letter(&sieve, value, end);
		from = end > from ? end : from + 1;
	}
	whole->found = whole->found || sieve.found;
	whole->steps += sieve.steps;
	explicit_bzero(letters, sizeof(letters));
}

/* Numbers, and what may be between them, as the letters that they stand for. */
static void read_numbers(struct sieve *sieve, const unsigned char *table, const char *text,
	size_t from, size_t to)
{
	uint32_t value;

	sieve->count = sieve->run = 0;
	sieve->last = 0;
	sieve->indents = false;
	while (from < to) {
		size_t end = read_number(table, text, from, to, &value);
		if (end > from)
			take_letter(sieve, value, end);
		size_t most = sieve->sift->brief ? 3 : 0;
		for (size_t digits = 2; digits <= most && digits < end - from; digits++)
			numbers_within(sieve, table, text, end - digits, to);
		from = end > from ? end : from + 1;
	}
}

/* Where one of so many bytes is of no form in digits there is none, and most need not be read. */
static void read_figures(struct sieve *sieve, const char *text)
{
	const unsigned char *table = digits_table();
	const size_t least = (size_t)2 * SIFT_LETTERS;

	for (size_t i = 0; i + least <= sieve->len;) {
		size_t from = i + least;
		while (from > i && table[(unsigned char)text[from - 1]] != OTHER)
			from--;
		if (from > i) {
			i = from;
			continue;
		}
		size_t to = i + least;
		while (to < sieve->len && table[(unsigned char)text[to]] != OTHER)
			to++;
		read_digits(sieve, table, text, i, to);
		read_numbers(sieve, table, text, i, to);
		i = to;
	}
}

/* Whether an escape stands for a backslash, which may begin another one: "\\", "\u005c". */
static bool has_backslash_twice(const char *text, size_t len)
{
	const char *end = text + len, *at = text;
	uint32_t code;

	while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
		if (escape_read(ESCAPE_BACKSLASH, at, (size_t)(end - at), &code) > 0 && code == '\\')
			return true;
		at++;
	}
	return false;
}

bool sift_find(const struct sift *sift, const char *text, size_t len, struct buf *marks, size_t *ret_steps)
{
	struct sieve sieve = {.sift = sift, .len = len, .marks = marks};

	if (ret_steps)
		*ret_steps = 0;
	if (len < SIFT_LETTERS || sift->count == 0)
		return false;
	sieve.letters = xcalloc(len, 1);
	read_plain(&sieve, text);
	if (memchr(text, '%', len)) {
		read_escaped(&sieve, text, ESCAPE_PERCENT);
		if (memmem(text, len, "%25", 3))
			read_escaped(&sieve, text, ESCAPE_PERCENT_TWICE);
	}
	if (memchr(text, '\\', len)) {
		read_escaped(&sieve, text, ESCAPE_BACKSLASH);
		if (has_backslash_twice(text, len))
			read_escaped(&sieve, text, ESCAPE_BACKSLASH_TWICE);
	}
	if (memchr(text, '&', len))
		read_escaped(&sieve, text, ESCAPE_HTML);
	read_figures(&sieve, text);
	explicit_bzero(sieve.letters, len);
	free(sieve.letters);
	if (ret_steps)
		*ret_steps = sieve.steps;
	return sieve.found;
}
