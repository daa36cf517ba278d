#include "schema/format.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "schema/ecma.h"

/* ---- small readers: each takes what it knows from the front and says whether it was there ---- */

struct text {
	const char *at, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_hex(char c)
{
	return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static bool take(struct text *text, char c)
{
	if (text->at == text->end || *text->at != c)
		return false;
	text->at++;
	return true;
}

static bool take_any(struct text *text, const char *set)
{
	if (text->at == text->end || !*text->at || !strchr(set, *text->at))
		return false;
	text->at++;
	return true;
}

/* Exactly `count` digits, whose value is from `low` to `high`. */
static bool take_number(struct text *text, int count, int low, int high, int *ret)
{
	int value = 0;

	if (text->end - text->at < count)
		return false;
	for (int i = 0; i < count; i++, text->at++) {
		if (!is_digit(*text->at))
			return false;
		value = value * 10 + (*text->at - '0');
	}
	*ret = value;
	return value >= low && value <= high;
}

static size_t skip_digits(struct text *text)
{
	const char *from = text->at;

	while (text->at < text->end && is_digit(*text->at))
		text->at++;
	return (size_t)(text->at - from);
}

static size_t left(const struct text *text)
{
	return (size_t)(text->end - text->at);
}

/* ---- dates and times ---- */

static bool take_date(struct text *text)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year, month, day;

	if (!take_number(text, 4, 0, 9999, &year) || !take(text, '-') || !take_number(text, 2, 1, 12, &month) || !take(text, '-') ||
		!take_number(text, 2, 1, 31, &day))
		return false;
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return day <= days[month - 1] + (leap && month == 2);
}

static bool take_time(struct text *text)
{
	int hour, minute, second, zone_hour = 0, zone_minute = 0, sign = 1;

	if (!take_number(text, 2, 0, 23, &hour) || !take(text, ':') || !take_number(text, 2, 0, 59, &minute) || !take(text, ':') ||
		!take_number(text, 2, 0, 60, &second))
		return false;
	if (take(text, '.') && !skip_digits(text))
		return false;
	if (!take_any(text, "zZ")) {
		sign = text->at < text->end && *text->at == '-' ? -1 : 1;
		if (!take_any(text, "+-") || !take_number(text, 2, 0, 23, &zone_hour) || !take(text, ':') ||
			!take_number(text, 2, 0, 59, &zone_minute))
			return false;
	}
	int utc = (hour * 60 + minute - sign * (zone_hour * 60 + zone_minute) + 2 * 1440) % 1440;
	return second < 60 || utc == 1439; /* a leap second comes at the end of a day */
}

static bool is_date(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};

	return take_date(&text) && !left(&text);
}

static bool is_time(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};

	return take_time(&text) && !left(&text);
}

static bool is_date_time(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};

	return take_date(&text) && take_any(&text, "tT") && take_time(&text) && !left(&text);
}

/* Numbers with units, each at most once and in the order of `units`, without gaps between used ones. */
static bool take_units(struct text *text, const char *units, bool *ret_any)
{
	const char *last = NULL;

	*ret_any = false;
	while (text->at < text->end && is_digit(*text->at)) {
		(void)skip_digits(text);
		const char *unit = text->at < text->end && *text->at ? strchr(units, *text->at) : NULL;
		if (!unit || (last && unit != last + 1))
			return false;
		last = unit;
		text->at++;
		*ret_any = true;
	}
	return true;
}

static bool is_duration(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};
	bool dates, times = false;

	if (!take(&text, 'P'))
		return false;
	struct text weeks = text;
	if (skip_digits(&weeks) && take(&weeks, 'W'))
		return !left(&weeks);
	if (!take_units(&text, "YMD", &dates))
		return false;
	if (take(&text, 'T') && (!take_units(&text, "HMS", &times) || !times))
		return false;
	return (dates || times) && !left(&text);
}

/* ---- names and addresses of machines ---- */

static bool is_ipv4(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};

	for (int i = 0; i < 4; i++) {
		int value = 0;
		const char *from = text.at;
		if (i && !take(&text, '.'))
			return false;
		from = text.at;
		for (; text.at < text.end && is_digit(*text.at) && text.at - from < 3; text.at++)
			value = value * 10 + (*text.at - '0');
		if (text.at == from || value > 255 || (text.at - from > 1 && *from == '0'))
			return false;
	}
	return !left(&text);
}

static bool is_ipv6(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};
	int groups = 0;
	bool gap = false;

	if (len >= 2 && memcmp(bytes, "::", 2) == 0) {
		gap = true;
		text.at += 2;
	}
	while (left(&text)) {
		const char *from = text.at;
		while (text.at < text.end && is_hex(*text.at) && text.at - from < 4)
			text.at++;
		if (text.at < text.end && *text.at == '.') {
			groups += 2;
			return is_ipv4(from, (size_t)(text.end - from)) && (gap ? groups < 8 : groups == 8);
		}
		if (text.at == from)
			return false;
		groups++;
		if (!left(&text))
			break;
		if (!take(&text, ':') || !left(&text))
			return false;
		if (*text.at == ':') {
			if (gap)
				return false;
			gap = true;
			text.at++;
		}
	}
	return gap ? groups < 8 : groups == 8;
}

static bool is_label(const char *at, size_t len)
{
	if (len == 0 || len > 63 || at[0] == '-' || at[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(at[i]) && !is_letter(at[i]) && at[i] != '-')
			return false;
	}
	/* what has "--" there is no plain name; of those that stand for others only the shape is known here */
	return len < 4 || memcmp(at + 2, "--", 2) != 0 || ((at[0] | 32) == 'x' && (at[1] | 32) == 'n' && len > 4);
}

static bool is_hostname(const char *bytes, size_t len)
{
	size_t from = 0;

	if (len == 0 || len > 253)
		return false;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && bytes[i] != '.')
			continue;
		if (!is_label(bytes + from, i - from))
			return false;
		from = i + 1;
	}
	return true;
}

static bool is_email_domain(const char *bytes, size_t len)
{
	if (len > 2 && bytes[0] == '[' && bytes[len - 1] == ']') {
		if (len > 7 && strncasecmp(bytes + 1, "IPv6:", 5) == 0)
			return is_ipv6(bytes + 6, len - 7);
		return is_ipv4(bytes + 1, len - 2);
	}
	return is_hostname(bytes, len);
}

static bool is_local_char(char c, bool wide)
{
	return is_digit(c) || is_letter(c) || (c && strchr("!#$%&'*+/=?^_`{|}~-", c)) || (wide && (unsigned char)c >= 0x80);
}

static bool is_local_part(const char *at, size_t len, bool wide)
{
	if (len >= 2 && at[0] == '"' && at[len - 1] == '"') {
		for (size_t i = 1; i < len - 1; i++) {
			if (at[i] == '\\' && i + 1 < len - 1)
				i++;
			else if (at[i] == '"' || at[i] == '\\' || (unsigned char)at[i] < ' ' || at[i] == 127)
				return false;
		}
		return true;
	}
	for (size_t i = 0; i < len; i++) {
		bool dot = at[i] == '.' && i > 0 && i + 1 < len && at[i - 1] != '.';
		if (!dot && !is_local_char(at[i], wide))
			return false;
	}
	return len > 0;
}

static bool is_email(const char *bytes, size_t len)
{
	const char *sign = memrchr(bytes, '@', len);

	return sign && is_local_part(bytes, (size_t)(sign - bytes), false) &&
		is_email_domain(sign + 1, (size_t)(bytes + len - sign - 1));
}

static bool is_idn_email(const char *bytes, size_t len)
{
	const char *sign = memrchr(bytes, '@', len);

	if (!sign || !is_local_part(bytes, (size_t)(sign - bytes), true) || sign == bytes + len - 1)
		return false;
	for (const char *at = sign + 1; at < bytes + len; at++) {
		if (!is_digit(*at) && !is_letter(*at) && *at != '-' && *at != '.' && (unsigned char)*at < 0x80)
			return false;
	}
	return true;
}

/* ---- URIs ---- */

/* One character of a URI that is none of its marks; `wide`: of an IRI. */
static bool take_uri_char(struct text *text, const char *more, bool wide)
{
	char c = text->at < text->end ? *text->at : '\0';

	if (c == '%') {
		if (left(text) < 3 || !is_hex(text->at[1]) || !is_hex(text->at[2]))
			return false;
		text->at += 3;
		return true;
	}
	if (wide && (unsigned char)c >= 0x80) {
		int size = utf8_char(text->at, left(text));
		text->at += size > 0 ? size : 0;
		return size > 0;
	}
	if (!c || !(is_digit(c) || is_letter(c) || strchr("-._~!$&'()*+,;=", c) || strchr(more, c)))
		return false;
	text->at++;
	return true;
}

static void skip_uri_chars(struct text *text, const char *more, bool wide)
{
	while (take_uri_char(text, more, wide))
		;
}

static bool take_literal(struct text *text)
{
	const char *close = memchr(text->at, ']', left(text));

	if (!close)
		return false;
	const char *inside = text->at + 1;
	size_t len = (size_t)(close - inside);
	text->at = close + 1;
	if (len > 2 && (inside[0] | 32) == 'v') {
		const char *dot = memchr(inside, '.', len);
		return dot && dot > inside + 1 && dot < close - 1;
	}
	return is_ipv6(inside, len);
}

/* What follows "//". */
static bool take_authority(struct text *text, bool wide)
{
	struct text user = *text;

	skip_uri_chars(&user, ":", wide);
	if (take(&user, '@'))
		*text = user;
	if (text->at < text->end && *text->at == '[') {
		if (!take_literal(text))
			return false;
	} else {
		skip_uri_chars(text, "", wide);
	}
	if (take(text, ':'))
		(void)skip_digits(text);
	return text->at == text->end || strchr("/?#", *text->at);
}

static bool take_hierarchy(struct text *text, bool wide)
{
	if (left(text) >= 2 && memcmp(text->at, "//", 2) == 0) {
		text->at += 2;
		if (!take_authority(text, wide))
			return false;
	}
	skip_uri_chars(text, ":@/", wide);
	if (take(text, '?'))
		skip_uri_chars(text, ":@/?", wide);
	if (take(text, '#'))
		skip_uri_chars(text, ":@/?", wide);
	return !left(text);
}

static bool take_scheme(struct text *text)
{
	if (text->at == text->end || !is_letter(*text->at))
		return false;
	while (text->at < text->end && (is_letter(*text->at) || is_digit(*text->at) || strchr("+-.", *text->at)) && *text->at)
		text->at++;
	return take(text, ':');
}

static bool uri_is(const char *bytes, size_t len, bool wide, bool relative)
{
	struct text text = {bytes, bytes + len}, with_scheme = text;

	if (take_scheme(&with_scheme))
		return take_hierarchy(&with_scheme, wide);
	if (!relative)
		return false;
	size_t segment = 0;
	while (segment < len && !strchr("/?#:", bytes[segment]))
		segment++;
	return (segment == len || bytes[segment] != ':') && take_hierarchy(&text, wide);
}

static bool is_uri(const char *bytes, size_t len)
{
	return uri_is(bytes, len, false, false);
}

static bool is_uri_reference(const char *bytes, size_t len)
{
	return uri_is(bytes, len, false, true);
}

static bool is_iri(const char *bytes, size_t len)
{
	return uri_is(bytes, len, true, false);
}

static bool is_iri_reference(const char *bytes, size_t len)
{
	return uri_is(bytes, len, true, true);
}

static bool is_variable(const char *at, size_t len)
{
	size_t i = len && strchr("+#./;?&=,!@|", at[0]) ? 1 : 0, from = i;

	for (; i < len; i++) {
		if (is_letter(at[i]) || is_digit(at[i]) || at[i] == '_' || (at[i] == '.' && i > from) || at[i] == '%')
			continue;
		if (i == from || !strchr(",:*", at[i]))
			return false;
		if (at[i] == ',')
			from = i + 1;
	}
	return i > from;
}

static bool is_uri_template(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};

	while (left(&text)) {
		if (take(&text, '{')) {
			const char *close = memchr(text.at, '}', left(&text));
			if (!close || !is_variable(text.at, (size_t)(close - text.at)))
				return false;
			text.at = close + 1;
		} else if (!take_uri_char(&text, ":@/?#[]", true)) {
			return false;
		}
	}
	return true;
}

/* ---- the rest ---- */

static bool is_uuid(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && len == 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? bytes[i] != '-' : !is_hex(bytes[i]))
			return false;
	}
	return len == 36;
}

static bool is_json_pointer(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '~' && (i + 1 == len || (bytes[i + 1] != '0' && bytes[i + 1] != '1')))
			return false;
	}
	return len == 0 || bytes[0] == '/';
}

static bool is_relative_json_pointer(const char *bytes, size_t len)
{
	struct text text = {bytes, bytes + len};
	size_t digits = skip_digits(&text);

	if (digits == 0 || (digits > 1 && bytes[0] == '0'))
		return false;
	return (left(&text) == 1 && *text.at == '#') || is_json_pointer(text.at, left(&text));
}

static bool is_regex(const char *bytes, size_t len)
{
	own(arena_done) struct arena arena = {0};
	struct err err;

	return ecma_parse(bytes, len, &arena, &err) != NULL;
}

static const struct format formats[] = {
	{"date-time", "a date and time such as 2031-05-17T08:30:00Z", is_date_time,
		"^(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-2]):[0-5][0-9])$"},
	{"date", "a date such as 2031-05-17", is_date, "^(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"},
	{"time", "a time such as 08:30:00Z", is_time, "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-2]):[0-5][0-9])$"},
	{"duration", "a duration such as P3DT12H", is_duration, "^P([0-9]{1,3}D(T[0-9]{1,2}H)?|[0-9]{1,2}W|T[0-9]{1,3}M|[0-9]{1,2}Y)$"},
	{"email", "an e-mail address", is_email, "^[a-z0-9]([a-z0-9+_.-]{0,8}[a-z0-9])?@[a-z]([a-z0-9-]{0,6}[a-z0-9])?\\.[a-z]{2,4}$"},
	{"idn-email", "an e-mail address", is_idn_email, "^[a-z0-9\\u00e0-\\u00f6]{1,8}@[a-z]{1,8}\\.[a-z]{2,4}$"},
	{"hostname", "a host name", is_hostname, "^[a-z]([a-z0-9]{0,8}[a-z0-9])?(\\.[a-z]([a-z0-9]{0,6}[a-z0-9])?){0,3}$"},
	{"ipv4", "an IPv4 address", is_ipv4, "^(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}$"},
	{"ipv6", "an IPv6 address", is_ipv6, "^([0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}|::1?|[0-9a-f]{1,4}::[0-9a-f]{1,4})$"},
	{"uri", "an absolute URI", is_uri, "^(https?|ftp|file)://[a-z0-9]{1,10}(\\.[a-z]{2,4})?(:[1-9][0-9]{1,3})?(/[a-zA-Z0-9._~-]{0,8}){0,3}(\\?[a-z]{1,4}=[a-z0-9]{0,6})?(#[a-z]{1,4})?$"},
	{"uri-reference", "a URI or a relative reference", is_uri_reference, "^(https?://[a-z0-9]{1,10}(\\.[a-z]{2,4})?)?(/[a-zA-Z0-9._~-]{0,8}){0,3}(\\?[a-z]{1,4}=[a-z0-9]{0,6})?(#[a-z]{1,4})?$"},
	{"iri", "an absolute IRI", is_iri, "^https?://[a-z\\u00e0-\\u00f6]{1,10}\\.[a-z]{2,4}(/[a-z\\u00e0-\\u00f6]{0,8}){0,3}$"},
	{"iri-reference", "an IRI or a relative reference", is_iri_reference, "^(/[a-z\\u00e0-\\u00f6]{0,8}){0,3}(#[a-z]{1,4})?$"},
	{"uri-template", "a URI template", is_uri_template, "^/[a-z]{1,8}/\\{[a-z]{1,6}\\}$"},
	{"uuid", "a UUID", is_uuid, "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
	{"json-pointer", "a JSON pointer", is_json_pointer, "^(/([a-z0-9]|~[01]){0,6}){0,3}$"},
	{"relative-json-pointer", "a relative JSON pointer", is_relative_json_pointer, "^[0-9](#|(/[a-z0-9]{0,6}){0,3})$"},
	{"regex", "a regular expression", is_regex, "^\\^?[a-z]{0,4}(\\[[a-z0-9]{1,4}\\][*+?]?)?\\$?$"},
};

const struct format *format_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (strlen(formats[i].name) == len && memcmp(formats[i].name, name, len) == 0)
			return &formats[i];
	}
	return NULL;
}
