#include "fuzz/function/lang/go/go_text.h"

#include <ctype.h>
#include <string.h>

struct scan {
	const char *at, *end;
};

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_word(struct go_span span, const char *word)
{
	return span.len == strlen(word) && memcmp(span.at, word, span.len) == 0;
}

static bool begins(struct go_span span, const char *word)
{
	return span.len >= strlen(word) && memcmp(span.at, word, strlen(word)) == 0;
}

static struct go_span trim(struct go_span span)
{
	while (span.len && isspace((unsigned char)*span.at))
		span.at++, span.len--;
	while (span.len && isspace((unsigned char)span.at[span.len - 1]))
		span.len--;
	return span;
}

/* A comment or a text: whether one was there, and is behind. */
static bool skip_other(struct scan *scan)
{
	const char *at = scan->at, *end = scan->end, *close;
	size_t left = (size_t)(end - at);

	if (left >= 2 && at[0] == '/' && at[1] == '*') {
		close = memmem(at + 2, left - 2, "*/", 2);
		scan->at = close ? close + 2 : end;
	} else if (left >= 2 && at[0] == '/' && at[1] == '/') {
		close = memchr(at, '\n', left);
		scan->at = close ? close : end;
	} else if (*at == '`') {
		close = memchr(at + 1, '`', left - 1);
		scan->at = close ? close + 1 : end;
	} else if (*at == '"' || *at == '\'') {
		for (at++; at < end && *at != *scan->at && *at != '\n';)
			at += *at == '\\' && end - at > 1 ? 2 : 1;
		scan->at = at < end ? at + 1 : end;
	} else {
		return false;
	}
	return true;
}

static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && (isspace((unsigned char)*scan->at) || (*scan->at == '/' && skip_other(scan))))
		if (scan->at < scan->end && isspace((unsigned char)*scan->at))
			scan->at++;
}

static struct go_span read_word(struct scan *scan)
{
	struct go_span word = {scan->at, 0};

	while (scan->at < scan->end && in_name(*scan->at))
		scan->at++;
	word.len = (size_t)(scan->at - word.at);
	return word;
}

/* From an opening bracket to behind the one that closes it: what is between them. */
static struct go_span read_brackets(struct scan *scan)
{
	const char *from = scan->at + 1;
	unsigned depth = 0;

	while (scan->at < scan->end) {
		if (skip_other(scan))
			continue;
		char c = *scan->at++;
		depth += c && strchr("([{", c);
		if (c && strchr(")]}", c) && --depth == 0)
			return (struct go_span){from, (size_t)(scan->at - 1 - from)};
	}
	return (struct go_span){0};
}

struct go_span go_package(const char *text, size_t len)
{
	struct scan scan = {text, text + len};

	skip_blanks(&scan);
	if (!is_word(read_word(&scan), "package"))
		return (struct go_span){0};
	skip_blanks(&scan);
	return read_word(&scan);
}

/* Behind "func": false: it is no function that can be named. */
static bool read_function(struct scan *scan, struct go_function *ret)
{
	*ret = (struct go_function){0};
	skip_blanks(scan);
	ret->name = read_word(scan); /* a method has none here */
	skip_blanks(scan);
	if (ret->name.len && scan->at < scan->end && *scan->at == '[') {
		ret->generic = true;
		(void)read_brackets(scan);
		skip_blanks(scan);
	}
	if (!ret->name.len || scan->at == scan->end || *scan->at != '(')
		return false;
	ret->params = read_brackets(scan);
	return ret->params.at && !is_word(ret->name, "main") && !is_word(ret->name, "init") && !is_word(ret->name, "_");
}

void go_functions(const char *text, size_t len, bool (*fn)(void *data, const struct go_function *function), void *data)
{
	struct scan scan = {text, text + len};
	struct go_function function;

	while (scan.at < scan.end) {
		if (skip_other(&scan))
			continue;
		if (*scan.at == '(' || *scan.at == '[' || *scan.at == '{') {
			(void)read_brackets(&scan);
			continue;
		}
		if (!in_name(*scan.at)) {
			scan.at++;
			continue;
		}
		bool first = scan.at == text || scan.at[-1] == '\n' || scan.at[-1] == ';';
		if (is_word(read_word(&scan), "func") && first && read_function(&scan, &function) && !fn(data, &function))
			return;
	}
}

bool go_is_fuzz_test(const struct go_function *function)
{
	struct go_param params[GO_PARAMS_MAX];

	return begins(function->name, "Fuzz") && (function->name.len == 4 || !islower((unsigned char)function->name.at[4])) &&
		go_params(function->params, params) == 1 && is_word(params[0].type, "*testing.F");
}

/* ---- parameters ---- */

static bool is_keyword(struct go_span word)
{
	static const char *const words[] = {"chan", "func", "interface", "map", "struct"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_word(word, words[i]))
			return true;
	return false;
}

/* "name type": where there is a name, the rest is the type. */
static struct go_param divide(struct go_span piece)
{
	struct scan scan = {piece.at, piece.at + piece.len};
	struct go_param param = {.type = piece};
	struct go_span word = read_word(&scan);

	if (!word.len || is_keyword(word) || scan.at == scan.end || !(isspace((unsigned char)*scan.at)))
		return param;
	param.name = word;
	param.type = trim((struct go_span){scan.at, (size_t)(scan.end - scan.at)});
	return param;
}

size_t go_params(struct go_span text, struct go_param *ret)
{
	struct scan scan = {text.at, text.at + text.len};
	const char *from = scan.at;
	size_t count = 0;
	bool named = false;

	for (;;) {
		while (scan.at < scan.end && *scan.at != ',')
			if (*scan.at == '(' || *scan.at == '[' || *scan.at == '{')
				(void)read_brackets(&scan);
			else if (!skip_other(&scan))
				scan.at++;
		struct go_span piece = trim((struct go_span){from, (size_t)(scan.at - from)});
		if (piece.len && count == GO_PARAMS_MAX)
			return GO_PARAMS_MAX + 1;
		if (piece.len) {
			ret[count] = divide(piece);
			named |= ret[count++].name.len > 0;
		}
		if (scan.at >= scan.end)
			break;
		from = ++scan.at;
	}
	for (size_t i = count; named && i-- > 0;) /* "a, b int": the type is said once */
		if (!ret[i].name.len)
			ret[i] = (struct go_param){ret[i].type, i + 1 < count ? ret[i + 1].type : (struct go_span){0}};
	return count;
}

static const struct {
	const char *type, *made, *last;
} plain[] = {
	{"[]byte", "hotcellData.Part(false)", "hotcellData.Part(true)"},
	{"[]uint8", "hotcellData.Part(false)", "hotcellData.Part(true)"},
	{"string", "string(hotcellData.Part(false))", "string(hotcellData.Part(true))"},
	{"bool", "hotcellData.Bool()", NULL},
	{"byte", "byte(hotcellData.Number(1))", NULL},
	{"rune", "rune(hotcellData.Number(4))", NULL},
	{"int", "int(hotcellData.Number(8))", NULL},
	{"int8", "int8(hotcellData.Number(1))", NULL},
	{"int16", "int16(hotcellData.Number(2))", NULL},
	{"int32", "int32(hotcellData.Number(4))", NULL},
	{"int64", "int64(hotcellData.Number(8))", NULL},
	{"uint", "uint(hotcellData.Number(8))", NULL},
	{"uint8", "uint8(hotcellData.Number(1))", NULL},
	{"uint16", "uint16(hotcellData.Number(2))", NULL},
	{"uint32", "uint32(hotcellData.Number(4))", NULL},
	{"uint64", "uint64(hotcellData.Number(8))", NULL},
	{"float32", "hotcellData.Float32()", NULL},
	{"float64", "hotcellData.Float64()", NULL},
};

const char *go_plain(struct go_span type, bool last)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (is_word(type, plain[i].type))
			return last && plain[i].last ? plain[i].last : plain[i].made;
	return NULL;
}

bool go_is_text(struct go_span type)
{
	return is_word(type, "string") || is_word(type, "[]byte") || is_word(type, "[]uint8");
}

bool go_is_hopeless(struct go_span type)
{
	return begins(type, "chan ") || begins(type, "<-chan") || begins(type, "chan<-") || begins(type, "func(") ||
		begins(type, "func (") || is_word(type, "unsafe.Pointer");
}
