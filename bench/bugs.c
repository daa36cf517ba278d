/* The bugs of planted/bugs.py, as predicates. */
#include "bugs.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* ---- what the predicates look at ---- */

static bool has(const struct value *text, const char *part)
{
	return text && text->kind == VALUE_TEXT && memmem(text->text, text->len, part, strlen(part)) != NULL;
}

static double number(const struct value *value, double otherwise)
{
	return value && value->kind == VALUE_NUMBER ? strtod(value->text, NULL) : otherwise;
}

/* Whether one of the values in it, or it itself, is such a one. */
static bool any(const struct value *value, bool (*is)(const struct value *))
{
	if (is(value))
		return true;
	for (size_t i = 0; i < value->count; i++) {
		if (any(&value->items[i], is))
			return true;
	}
	return false;
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c | 0x20) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* ---- the bugs ---- */

static bool file_traversal(const struct value *args)
{
	const struct value *path = value_get(args, "path");
	own(buf_done) struct buf plain = {0};

	if (has(path, ".."))
		return false;
	for (size_t i = 0; i < path->len; i++) {
		bool coded = path->text[i] == '%' && i + 2 < path->len && hex(path->text[i + 1]) >= 0 && hex(path->text[i + 2]) >= 0;
		buf_char(&plain, coded ? (char)(hex(path->text[i + 1]) * 16 + hex(path->text[i + 2])) : path->text[i]);
		i += coded ? 2 : 0;
	}
	return memmem(buf_text(&plain), plain.len, "../", 3) != NULL;
}

static bool file_quote_zero(const struct value *args)
{
	return has(value_get(args, "path"), "\"") && number(value_get(args, "offset"), 1) == 0;
}

static bool file_offset(const struct value *args)
{
	return number(value_get(args, "offset"), 0) == 65536;
}

static bool grammar_control(const struct value *args)
{
	const struct value *sentence = value_get(args, "sentence");

	for (size_t i = 0; i < sentence->len; i++) {
		unsigned char c = (unsigned char)sentence->text[i];
		bool high = c == 0xc2 && i + 1 < sentence->len && (unsigned char)sentence->text[i + 1] < 0xa0;
		if (c >= ' ' && c != 127 && !high)
			return false;
		i += high;
	}
	return true;
}

static bool grammar_format(const struct value *args)
{
	const struct value *sentence = value_get(args, "sentence");

	for (size_t i = 0; i + 1 < sentence->len; i++) {
		if (sentence->text[i] == '%' && sentence->text[i + 1] >= 'a' && sentence->text[i + 1] <= 'z')
			return true;
	}
	return false;
}

static bool grammar_focus(const struct value *args)
{
	const struct value *focus = value_get(args, "focus"), *student = value_get(args, "student");

	return focus && focus->count >= 3 && student && number(value_get(student, "age"), 0) >= 100;
}

static bool http_splitting(const struct value *args)
{
	const struct value *headers = value_get(args, "headers");

	for (size_t i = 0; headers && i < headers->count; i++) {
		for (size_t j = 0; headers->items[i].kind == VALUE_LIST && j < headers->items[i].count; j++) {
			if (has(&headers->items[i].items[j], "\r"))
				return true;
		}
	}
	return false;
}

static bool http_port(const struct value *args)
{
	const char *at = strstr(value_get(args, "url")->text, "://");

	at = at ? at + 3 + strcspn(at + 3, ":/") : "";
	return *at == ':' && strtol(at + 1, NULL, 10) > 65535;
}

static bool http_traversal(const struct value *args)
{
	return strcasestr(value_get(args, "url")->text, "%2e%2e") != NULL;
}

static bool drops(const struct value *value)
{
	return has(value, "--") && has(value, "DROP");
}

static bool sql_drop(const struct value *args)
{
	return any(value_get(args, "operation"), drops);
}

static bool is_int_limit(const struct value *value)
{
	return number(value, 0) == 2147483648.0;
}

static bool sql_int(const struct value *args)
{
	return any(value_get(args, "operation"), is_int_limit);
}

static bool sql_column_twice(const struct value *args)
{
	const struct value *columns = value_get(value_get(args, "operation"), "columns");

	for (size_t i = 0; columns && i < columns->count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(columns->items[i].text, columns->items[j].text) == 0)
				return true;
		}
	}
	return false;
}

static unsigned depth(const struct value *node)
{
	const struct value *children = value_get(node, "children");
	unsigned most = 0;

	for (size_t i = 0; children && i < children->count; i++) {
		unsigned below = depth(&children->items[i]);
		most = below > most ? below : most;
	}
	return most + 1;
}

static bool tree_depth(const struct value *args)
{
	return depth(args) >= 10;
}

static double weight(const struct value *node)
{
	const struct value *children = value_get(node, "children");
	double sum = number(value_get(node, "weight"), 0);

	for (size_t i = 0; children && i < children->count; i++)
		sum += weight(&children->items[i]);
	return sum;
}

static bool tree_weight(const struct value *args)
{
	return weight(args) > 2500;
}

static const struct bug bugs[] = {
	{"file-traversal", file_traversal}, {"file-quote-zero", file_quote_zero}, {"file-offset", file_offset},
	{"grammar-control", grammar_control}, {"grammar-format", grammar_format}, {"grammar-focus", grammar_focus},
	{"http-splitting", http_splitting}, {"http-port", http_port}, {"http-traversal", http_traversal},
	{"sql-drop", sql_drop}, {"sql-int", sql_int}, {"sql-column-twice", sql_column_twice},
	{"tree-depth", tree_depth}, {"tree-weight", tree_weight},
};

const struct bug *bug_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(bugs); i++)
		if (strcmp(bugs[i].name, name) == 0)
			return &bugs[i];
	return NULL;
}
