#include "fuzz/function/lang/rust/rust_token.h"

#include <ctype.h>
#include <string.h>

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

bool token_is(struct rust_token token, const char *word)
{
	return token.len == strlen(word) && memcmp(token.at, word, token.len) == 0;
}

bool token_is_word(struct rust_token token)
{
	return token.len > 0 && in_name(*token.at) && !isdigit((unsigned char)*token.at);
}

static size_t left(const struct rust_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* They may be in one another. */
static void skip_comment(struct rust_reader *reader)
{
	unsigned depth = 0;

	while (left(reader)) {
		if (left(reader) >= 2 && memcmp(reader->at, "/*", 2) == 0) {
			depth++;
			reader->at += 2;
		} else if (left(reader) >= 2 && memcmp(reader->at, "*/", 2) == 0) {
			reader->at += 2;
			if (--depth == 0)
				return;
		} else {
			reader->at++;
		}
	}
}

static void skip_blanks(struct rust_reader *reader)
{
	while (left(reader)) {
		if (isspace((unsigned char)*reader->at)) {
			reader->at++;
		} else if (left(reader) >= 2 && memcmp(reader->at, "//", 2) == 0) {
			const char *end = memchr(reader->at, '\n', left(reader));
			reader->at = end ? end : reader->end;
		} else if (left(reader) >= 2 && memcmp(reader->at, "/*", 2) == 0) {
			skip_comment(reader);
		} else {
			return;
		}
	}
}

static void skip_text(struct rust_reader *reader, char quote)
{
	reader->at++;
	while (left(reader) && *reader->at != quote)
		reader->at += *reader->at == '\\' && left(reader) > 1 ? 2 : 1;
	reader->at += left(reader) > 0;
}

/* r"..", r#".."#: false where it is a name, r#type. */
static bool skip_raw(struct rust_reader *reader)
{
	const char *at = reader->at;
	size_t marks = 0;

	for (; at < reader->end && *at == '#'; at++)
		marks++;
	if (at >= reader->end || *at != '"')
		return false;
	for (at++; at < reader->end; at++) {
		size_t seen = 0;
		while (*at == '"' && seen < marks && at + 1 + seen < reader->end && at[1 + seen] == '#')
			seen++;
		if (*at == '"' && seen == marks) {
			reader->at = at + 1 + marks;
			return true;
		}
	}
	reader->at = reader->end;
	return true;
}

/* 'a' and '\n' are characters, 'a is a lifetime. */
static void read_quote(struct rust_reader *reader, struct rust_token *ret)
{
	const char *at = reader->at + 1;
	size_t size = 1;

	while (at + size < reader->end && ((unsigned char)at[size] & 0xc0) == 0x80) /* the rest of one letter */
		size++;
	if (at < reader->end && (*at == '\\' || (at + size < reader->end && at[size] == '\''))) {
		skip_text(reader, '\'');
		ret->len = 1;
		return;
	}
	while (at < reader->end && in_name(*at))
		at++;
	reader->at = at;
	ret->len = (size_t)(at - ret->at);
}

bool rust_next(struct rust_reader *reader, struct rust_token *ret)
{
	skip_blanks(reader);
	if (!left(reader))
		return false;
	*ret = (struct rust_token){reader->at, 1};
	if (*reader->at == '\'') {
		read_quote(reader, ret);
	} else if (*reader->at == '"') {
		skip_text(reader, '"');
	} else if (in_name(*reader->at)) {
		while (left(reader) && in_name(*reader->at))
			reader->at++;
		ret->len = (size_t)(reader->at - ret->at);
		bool raw = token_is(*ret, "r") || token_is(*ret, "br") || token_is(*ret, "cr");
		bool prefix = token_is(*ret, "b") || token_is(*ret, "c");
		if (left(reader) &&
			((raw && (*reader->at == '"' || *reader->at == '#') && skip_raw(reader)) ||
				(prefix && (*reader->at == '"' || *reader->at == '\'')))) {
			if (prefix)
				skip_text(reader, *reader->at);
			*ret = (struct rust_token){"\"", 1};
		}
	} else {
		reader->at++;
	}
	return true;
}

static char closing(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

bool rust_skip(struct rust_reader *reader, char open)
{
	char close = closing(open);
	struct rust_token token;
	unsigned depth = 1;
	bool arrow = false; /* the '>' of "->" closes nothing */

	while (rust_next(reader, &token)) {
		char c = token.len == 1 ? *token.at : 0;
		if (c == open)
			depth++;
		else if (c == close && !arrow && --depth == 0)
			return true;
		if (open == '<' && (c == ';' || c == '{' || c == '}'))
			return false;
		if (open == '<' && (c == '[' || c == '(') && !rust_skip(reader, c)) /* "[u8; 4]" */
			return false;
		arrow = c == '-';
	}
	return false;
}

bool rust_has_types(const struct rust_reader *reader)
{
	struct rust_reader copy = *reader;
	struct rust_token token;

	while (rust_next(&copy, &token) && !token_is(token, ">"))
		if (token_is_word(token))
			return true;
	return false;
}
