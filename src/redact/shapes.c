/* Each shape is a row or a function of its own. All are tried at places where a word begins, so text costs little.
 *
 * A shape must not match what people need to read in a log: the tables of cases in the tests say what has to stay. */
#include "redact/shapes.h"

#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 64 /* of a key in front of a value */
#define GAP_MAX 16 /* blanks around '=' or ':' */
#define USERINFO_MAX 256
#define RANDOM_MIN 24 /* letters of three kinds */
#define RANDOM_MIN_TWO 36 /* of two: shorter ones are names of packages and builds */

/* What a byte may be part of: asked several times for every byte there is. */
enum { UPPER = 1, LOWER = 2, DIGIT = 4, HEX = 8, WORD = 16, RUN = 32, VALUE = 64 };
#define LETTER_OF_ALL (WORD | RUN | VALUE)
static const unsigned char kinds[256] = {
	['!'] = VALUE, ['#' ... '%'] = VALUE, ['*'] = VALUE, ['+'] = RUN | VALUE, ['-'] = WORD | RUN | VALUE, ['.'] = WORD | VALUE,
	['/'] = RUN | VALUE, ['0' ... '9'] = DIGIT | HEX | LETTER_OF_ALL, [':'] = VALUE, ['='] = RUN | VALUE, ['?' ... '@'] = VALUE,
	['A' ... 'F'] = UPPER | HEX | LETTER_OF_ALL, ['G' ... 'Z'] = UPPER | LETTER_OF_ALL, ['^'] = VALUE, ['_'] = LETTER_OF_ALL,
	['a' ... 'f'] = LOWER | HEX | LETTER_OF_ALL, ['g' ... 'z'] = LOWER | LETTER_OF_ALL, ['~'] = VALUE, [0x80 ... 0xff] = VALUE,
};

static bool is_upper(unsigned char byte)
{
	return kinds[byte] & UPPER;
}

static bool is_lower(unsigned char byte)
{
	return kinds[byte] & LOWER;
}

static bool is_digit(unsigned char byte)
{
	return kinds[byte] & DIGIT;
}

static bool is_alnum(unsigned char byte)
{
	return kinds[byte] & (UPPER | LOWER | DIGIT);
}

static bool is_blank(unsigned char byte)
{
	return byte == ' ' || byte == '\t';
}

bool shape_is_word(unsigned char byte)
{
	return is_alnum(byte) || byte == '_';
}

bool shape_goes_on(enum redact_class class, unsigned char byte)
{
	switch (class) {
	case REDACT_WORD: return kinds[byte] & WORD;
	case REDACT_RUN: return kinds[byte] & RUN;
	case REDACT_VALUE: return kinds[byte] & VALUE;
	case REDACT_SINGLE: return byte != '\'' && byte != '\n';
	case REDACT_DOUBLE: return byte != '"' && byte != '\n';
	case REDACT_CLOSED:
	case REDACT_PEM: break;
	}
	return false;
}

static size_t run_of(const char *at, size_t len, enum redact_class class)
{
	size_t size = 0;

	while (size < len && shape_goes_on(class, (unsigned char)at[size]))
		size++;
	return size;
}

static bool begins(const char *at, size_t len, const char *text)
{
	size_t size = strlen(text);

	return len >= size && memcmp(at, text, size) == 0;
}

static bool begins_any_case(const char *at, size_t len, const char *text)
{
	size_t size = strlen(text);

	return len >= size && strncasecmp(at, text, size) == 0;
}

/* ---- keys by their beginning ---- */

enum judge { ANY, MIXED /* words are no keys: digits, and capitals or many digits */ };

static const struct prefix {
	const char *text, *what;
	size_t min, exact; /* bytes behind it; exact: no more and no fewer */
	enum judge judge;
} prefixes[] = {
	{"sk-ant-", "anthropic-key", 16, 0, ANY},
	{"sk-", "api-key", 20, 0, MIXED},
	{"sk_live_", "api-key", 16, 0, ANY},
	{"sk_test_", "api-key", 16, 0, ANY},
	{"rk_live_", "api-key", 16, 0, ANY},
	{"github_pat_", "github-token", 20, 0, ANY},
	{"ghp_", "github-token", 30, 0, ANY},
	{"gho_", "github-token", 30, 0, ANY},
	{"ghu_", "github-token", 30, 0, ANY},
	{"ghs_", "github-token", 30, 0, ANY},
	{"ghr_", "github-token", 30, 0, ANY},
	{"glpat-", "gitlab-token", 16, 0, ANY},
	{"xoxa-", "slack-token", 10, 0, ANY},
	{"xoxb-", "slack-token", 10, 0, ANY},
	{"xoxe-", "slack-token", 10, 0, ANY},
	{"xoxp-", "slack-token", 10, 0, ANY},
	{"xoxr-", "slack-token", 10, 0, ANY},
	{"xoxs-", "slack-token", 10, 0, ANY},
	{"AKIA", "aws-key", 0, 16, ANY},
	{"ASIA", "aws-key", 0, 16, ANY},
	{"AIza", "google-key", 30, 0, ANY},
	{"ya29.", "google-token", 20, 0, ANY},
	{"npm_", "npm-token", 30, 0, ANY},
	{"pypi-", "pypi-token", 40, 0, ANY},
	{"hf_", "huggingface-token", 30, 0, MIXED},
};

static bool is_mixed(const char *at, size_t len)
{
	size_t digits = 0, capitals = 0;

	for (size_t i = 0; i < len; i++) {
		digits += is_digit((unsigned char)at[i]);
		capitals += is_upper((unsigned char)at[i]);
	}
	return digits >= 2 && (capitals >= 2 || digits >= 6);
}

static bool exactly(const char *at, size_t len, size_t exact)
{
	for (size_t i = 0; i < exact; i++)
		if (i >= len || (!is_upper((unsigned char)at[i]) && !is_digit((unsigned char)at[i])))
			return false;
	return exact == len || !shape_is_word((unsigned char)at[exact]);
}

static bool find_prefix(const char *at, size_t len, struct shape_hit *ret)
{
	if (!strchr("srgxAynph", at[0])) /* the first letters of all rows: most words have another one */
		return false;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		const struct prefix *row = &prefixes[i];
		if (row->text[0] != at[0] || len < 2 || row->text[1] != at[1] || !begins(at, len, row->text))
			continue;
		size_t skip = strlen(row->text);
		size_t rest = row->exact ? row->exact : run_of(at + skip, len - skip, REDACT_WORD);
		if (row->exact ? !exactly(at + skip, len - skip, row->exact) : rest < row->min)
			continue;
		if (row->judge == MIXED && !is_mixed(at + skip, rest))
			continue;
		*ret = (struct shape_hit){.len = skip + rest, .what = row->what, .open = row->exact ? REDACT_CLOSED : REDACT_WORD};
		return true;
	}
	return false;
}

/* Three parts, of which the first begins as every JSON object does. */
static bool find_jwt(const char *at, size_t len, struct shape_hit *ret)
{
	if (!begins(at, len, "eyJ"))
		return false;
	size_t size = run_of(at, len, REDACT_WORD);
	const char *dot = memchr(at, '.', size);
	if (!dot || dot - at < 10 || size - (size_t)(dot - at) < 10)
		return false;
	*ret = (struct shape_hit){.len = size, .what = "jwt", .open = REDACT_WORD};
	return true;
}

static bool find_pem(const char *at, size_t len, struct shape_hit *ret)
{
	static const char begin[] = "-----BEGIN ", kind[] = "PRIVATE KEY", dashes[] = "-----";
	size_t size = sizeof(begin) - 1;

	if (!begins(at, len, begin))
		return false;
	for (; size < len && size < 64 && (is_upper((unsigned char)at[size]) || at[size] == ' '); size++)
		if (begins(at + size, len - size, kind)) {
			*ret = (struct shape_hit){.len = size + sizeof(kind) - 1 + sizeof(dashes) - 1, .what = "private-key", .open = REDACT_PEM};
			return ret->len <= len;
		}
	return false;
}

/* ---- values by the name in front of them ---- */

static const struct name {
	const char *text; /* how the name ends, in small letters; '_' stands for '-' and for nothing, too */
	const char *what;
	bool strong; /* also with ':' */
	bool loose; /* also without anything between it and what is in front: "PGPASSWORD" */
} names[] = {
	{"password", "password", true, true}, {"passwd", "password", true, true}, {"passphrase", "password", true, true},
	{"pwd", "password", false, false}, {"secret", "secret", true, true}, {"secret_key", "secret", true, true},
	{"secret_access_key", "secret", true, true}, {"private_key", "private-key", true, true}, {"api_key", "api-key", true, true},
	{"access_key", "api-key", true, true}, {"auth_key", "api-key", true, false}, {"access_token", "token", true, true},
	{"auth_token", "token", true, true}, {"refresh_token", "token", true, true}, {"id_token", "token", true, false},
	{"session_token", "token", true, true}, {"bearer_token", "token", true, true}, {"api_token", "token", true, true},
	{"token", "token", false, true}, {"authorization", "authorization", true, false}, {"cookie", "cookie", true, false},
	{"credentials", "secret", false, false},
};

static const char *const schemes[] = {"bearer", "basic", "token", "digest", "negotiate", "apikey"};

static char lower(char byte)
{
	return is_upper((unsigned char)byte) ? (char)(byte + ('a' - 'A')) : byte;
}

/* From the end backwards; a name is a whole word, or the last one of several ("DB_PASSWORD", "dbPassword"). `loose`: or
 * the end of one. */
static bool ends_as(const char *at, size_t len, const char *name, bool loose)
{
	size_t left = strlen(name), pos = len;

	while (left > 0) {
		if (name[left - 1] == '_' && (pos == 0 || (at[pos - 1] != '_' && at[pos - 1] != '-'))) {
			left--;
			continue;
		}
		if (pos == 0 || (lower(at[pos - 1]) != name[left - 1] && !(name[left - 1] == '_' && at[pos - 1] == '-')))
			return false;
		pos--;
		left--;
	}
	return loose || pos == 0 || at[pos - 1] == '_' || at[pos - 1] == '-' || is_digit((unsigned char)at[pos - 1]) ||
		(is_upper((unsigned char)at[pos]) && is_lower((unsigned char)at[pos - 1]));
}

/* Without what counts or dates it: "PASSWORD1", "TOKEN_V2". */
static size_t numberless(const char *at, size_t len)
{
	size_t size = len;

	while (size > 0 && is_digit((unsigned char)at[size - 1]))
		size--;
	if (size == 0 || size == len)
		return len;
	if (size > 2 && lower(at[size - 1]) == 'v' && (at[size - 2] == '_' || at[size - 2] == '-'))
		size--;
	return at[size - 1] == '_' || at[size - 1] == '-' ? size - 1 : size;
}

static const struct name *name_find(const char *at, size_t len)
{
	len = numberless(at, len);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (ends_as(at, len, names[i].text, names[i].loose))
			return &names[i];
	return NULL;
}

/* Names that mean more in an environment than in a log, and of these those that only seem to. */
static const char *const variables[] = {"key", "pass", "pat", "auth", "credential", "creds", "dsn", "jwt"};
static const char *const passes[] = {"compass", "bypass", "trespass", "surpass", "underpass", "overpass", "lowpass", "highpass",
	"bandpass", "multipass", "singlepass", "onepass", "twopass", "firstpass", "secondpass", "lastpass"};

static bool is_pass(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(passes); i++)
		if (ends_as(name, len, passes[i], true))
			return false;
	return ends_as(name, len, "pass", true);
}

bool shape_is_secret_name(const char *name, size_t len)
{
	if (len == 3 && begins_any_case(name, len, "pwd"))
		return false; /* where a shell is */
	len = numberless(name, len);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (ends_as(name, len, variables[i], false))
			return true;
	if (is_pass(name, len) || name_find(name, len))
		return true;
	return len > 1 && lower(name[len - 1]) == 's' && name_find(name, len - 1) != NULL;
}

const char *shape_option_kind(const char *name, size_t len)
{
	const struct name *found = name_find(name, len);

	return found ? found->what : is_pass(name, numberless(name, len)) ? "password" : NULL;
}

static size_t skip_blanks(const char *at, size_t len, size_t pos)
{
	for (size_t i = 0; i < GAP_MAX && pos < len && is_blank((unsigned char)at[pos]); i++)
		pos++;
	return pos;
}

/* A quote, maybe escaped once more. */
static size_t skip_quote(const char *at, size_t len, size_t pos, char *ret_quote)
{
	size_t next = pos + (pos < len && at[pos] == '\\');

	*ret_quote = '\0';
	if (next >= len || (at[next] != '"' && at[next] != '\''))
		return pos;
	*ret_quote = next > pos ? '\\' : at[next];
	return next + 1;
}

static size_t skip_scheme(const char *at, size_t len, size_t pos)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t size = strlen(schemes[i]);
		if (begins_any_case(at + pos, len - pos, schemes[i]) && pos + size < len && is_blank((unsigned char)at[pos + size]))
			return skip_blanks(at, len, pos + size);
	}
	return pos;
}

static size_t quoted_len(const char *at, size_t len, char quote)
{
	size_t size = 0;

	for (; size < len && at[size] != quote && at[size] != '\n'; size++)
		size += quote != '\\' && at[size] == '\\' && size + 1 < len;
	return size;
}

static bool value_at(const char *at, size_t len, size_t pos, char quote, const char *what, struct shape_hit *ret)
{
	enum redact_class class = quote == '"' ? REDACT_DOUBLE : quote == '\'' ? REDACT_SINGLE : REDACT_VALUE;
	size_t size = class == REDACT_VALUE ? run_of(at + pos, len - pos, class) : quoted_len(at + pos, len - pos, quote);

	if (size == 0 || at[pos] == '*' || begins(at + pos, len - pos, "[redacted:"))
		return false;
	*ret = (struct shape_hit){.from = pos, .len = size, .what = what, .open = class};
	return true;
}

static bool find_pair(const char *at, size_t len, struct shape_hit *ret)
{
	size_t pos = 0;
	char quote;

	while (pos < len && pos <= NAME_MAX_LEN && (shape_is_word((unsigned char)at[pos]) || at[pos] == '-'))
		pos++;
	size_t name_len = pos;
	pos = skip_blanks(at, len, skip_quote(at, len, pos, &quote));
	if (name_len < 3 || name_len > NAME_MAX_LEN || pos >= len || (at[pos] != '=' && at[pos] != ':'))
		return false;
	const struct name *name = name_find(at, name_len);
	if (!name || (at[pos] == ':' && !name->strong && !quote))
		return false;
	if (at[pos] == '=' && pos + 1 < len && at[pos + 1] == '=')
		return false; /* a comparison */
	pos = skip_quote(at, len, skip_blanks(at, len, pos + 1), &quote);
	if (!quote && strcmp(name->what, "cookie") == 0)
		quote = '"'; /* several, with blanks between them: to the end of the line */
	return pos < len && value_at(at, len, skip_scheme(at, len, pos), quote, name->what, ret);
}

static bool find_bearer(const char *at, size_t len, struct shape_hit *ret)
{
	size_t from = lower(at[0]) == 'b' && begins_any_case(at, len, "bearer") ? skip_blanks(at, len, 6) : 0;

	if (from <= 6)
		return false;
	size_t size = run_of(at + from, len - from, REDACT_RUN);
	bool digit = false;
	for (size_t i = 0; i < size; i++)
		digit = digit || is_digit((unsigned char)at[from + i]);
	*ret = (struct shape_hit){.from = from, .len = size, .what = "authorization", .open = REDACT_RUN};
	return size >= 16 && digit;
}

/* "://USER:PASSWORD@". A short name alone is no secret: git@, www-data@. */
static bool find_userinfo(const char *at, size_t len, struct shape_hit *ret)
{
	size_t size = 3;
	bool colon = false;

	if (!begins(at, len, "://"))
		return false;
	while (size < len && size < USERINFO_MAX && at[size] != '@' &&
		shape_goes_on(REDACT_VALUE, (unsigned char)at[size]) && !strchr("/?#", at[size]))
		colon = at[size++] == ':' || colon;
	*ret = (struct shape_hit){.from = 3, .len = size - 3, .what = "userinfo", .open = REDACT_CLOSED};
	return size > 3 && size < len && at[size] == '@' && (colon || size >= 3 + 12);
}

/* ---- homes ---- */

static bool find_home(const char *at, size_t len, unsigned char before, struct shape_hit *ret)
{
	static const char *const homes[] = {"/home/", "/Users/"};
	size_t size;

	if (is_alnum(before) || (before && strchr("._~-/", before)))
		return false;
	*ret = (struct shape_hit){.len = 5, .what = "home", .place = true, .open = REDACT_CLOSED};
	if (begins(at, len, "/root") && (len == 5 || !(shape_is_word((unsigned char)at[5]) || strchr("-.", at[5]))))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		size_t skip = strlen(homes[i]);
		if (!begins(at, len, homes[i]))
			continue;
		for (size = skip; size < len && size < 64 && (shape_is_word((unsigned char)at[size]) || at[size] == '-' ||
			at[size] == '.' || (unsigned char)at[size] >= 0x80);)
			size++;
		ret->len = size;
		return size > skip;
	}
	return false;
}

/* ---- random ---- */

struct census {
	size_t count, upper, lower, digits, changes;
	bool hex;
};

static int kind_of(unsigned char byte)
{
	return is_upper(byte) ? 1 : is_lower(byte) ? 2 : 3;
}

static struct census take_census(const char *at, size_t len)
{
	struct census census = {.count = len, .hex = true};

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)at[i];
		census.upper += is_upper(byte);
		census.lower += is_lower(byte);
		census.digits += is_digit(byte);
		census.changes += i > 0 && kind_of(byte) != kind_of((unsigned char)at[i - 1]);
		census.hex = census.hex && kinds[byte] & HEX;
	}
	census.hex = census.hex && (census.upper == 0 || census.lower == 0);
	return census;
}

/* Letters and digits without any capitals (or only those): as a whole, and changing often between both. */
static bool is_random_two(const struct census *one)
{
	return one->count >= RANDOM_MIN_TWO && !one->hex && (one->upper == 0 || one->lower == 0) && one->digits >= 4 &&
		one->changes * 4 >= one->count;
}

/* In random text two neighbours are of different kinds 62 times in 100, in names of several words 30 times. Parts that
 * are hexadecimal do not count: an identifier may be among words. */
static bool find_random(const char *at, size_t len, unsigned char before, struct shape_hit *ret)
{
	size_t size = shape_goes_on(REDACT_RUN, before) ? 0 : run_of(at, len, REDACT_RUN);
	struct census all = {0};
	bool two = false;

	if (size < RANDOM_MIN || begins(at, len, "_Z"))
		return false;
	for (size_t i = 0, part; i < size; i += part + 1) {
		for (part = 0; i + part < size && is_alnum((unsigned char)at[i + part]);)
			part++;
		struct census one = take_census(at + i, part);
		two = two || is_random_two(&one);
		if (one.hex)
			continue;
		all.count += one.count;
		all.upper += one.upper;
		all.lower += one.lower;
		all.digits += one.digits;
		all.changes += one.changes;
	}
	*ret = (struct shape_hit){.len = size, .what = "random", .open = REDACT_RUN};
	return two || (all.count >= RANDOM_MIN && all.upper >= 2 && all.lower >= 2 && all.digits >= 3 &&
		all.digits * 12 >= all.count && all.changes * 5 >= all.count * 2);
}

static bool find_encoded(const char *at, size_t len, unsigned char before, const struct scrub_words *known,
	struct shape_hit *ret)
{
	*ret = (struct shape_hit){.what = "encoded", .open = REDACT_RUN};
	return decode_find(at, len, before, known, &ret->len);
}

bool shape_may_begin(unsigned char before, unsigned char byte)
{
	return shape_is_word(byte) ? !shape_is_word(before) : byte == ':' || byte == '/' || byte == '-';
}

bool shape_find(const char *at, size_t len, unsigned char before, const struct scrub_words *known, struct shape_hit *ret)
{
	if (at[0] == ':')
		return find_userinfo(at, len, ret);
	if ((at[0] == '/' && find_home(at, len, before, ret)) || (at[0] == '-' && find_pem(at, len, ret)))
		return true;
	bool begins_word = shape_is_word((unsigned char)at[0]) && !shape_is_word(before);
	if (begins_word && is_alnum((unsigned char)at[0]) && (find_prefix(at, len, ret) || find_jwt(at, len, ret)))
		return true;
	if (begins_word && (find_pair(at, len, ret) || find_bearer(at, len, ret)))
		return true;
	return known && (find_encoded(at, len, before, known, ret) || find_random(at, len, before, ret));
}
