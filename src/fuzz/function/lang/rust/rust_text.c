/* Functions in the text of a Rust file. Comments, texts and attributes are skipped; braces are followed, so that what
 * is inside of functions, traits, macros and tests is left out. */
#include "fuzz/function/lang/rust/rust_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/function/lang/rust/rust_token.h"

#define DEPTH_MAX 32

enum scope_kind { SCOPE_OTHER, SCOPE_MODULE, SCOPE_TYPE };

struct scope {
	enum scope_kind kind;
	struct rust_token name;
};

struct scan {
	struct rust_reader reader;
	struct scope scopes[DEPTH_MAX];
	unsigned depth; /* may be more: what is beyond is SCOPE_OTHER */
	bool is_async, hidden; /* said of the item that comes */
	bool harness;
	rust_function_fn *fn;
	void *data;
	struct rust_function *wanted; /* its `after` is not known yet */
	unsigned wanted_depth; /* of the module that it is in */
};

static enum scope_kind scope_now(const struct scan *scan)
{
	return scan->depth == 0           ? SCOPE_MODULE
		: scan->depth > DEPTH_MAX ? SCOPE_OTHER
					  : scan->scopes[scan->depth - 1].kind;
}

static void scope_push(struct scan *scan, enum scope_kind kind, struct rust_token name)
{
	if (scan->hidden)
		kind = SCOPE_OTHER;
	if (scan->depth < DEPTH_MAX)
		scan->scopes[scan->depth] = (struct scope){kind, name};
	scan->depth++;
	scan->hidden = scan->is_async = false;
}

static void scope_pop(struct scan *scan)
{
	scan->depth -= scan->depth > 0;
	scan->hidden = scan->is_async = false;
	if (scan->wanted && scan->wanted->params && scan->depth <= scan->wanted_depth) {
		scan->wanted->after = (size_t)(scan->reader.at - scan->reader.text);
		scan->wanted = NULL;
	}
}

/* Its name with those of its modules, and of its type. */
static bool names_put(const struct scan *scan, struct rust_token name, struct rust_function *ret)
{
	size_t used = 0, local = 0;

	for (unsigned i = 0; i <= scan->depth; i++) {
		bool last = i == scan->depth;
		struct rust_token part = last ? name : scan->scopes[i].name;
		if (used + part.len + 3 > sizeof(ret->name))
			return false;
		if (last || scan->scopes[i].kind == SCOPE_TYPE) {
			(void)snprintf(ret->local + local, sizeof(ret->local) - local, "%s%.*s", local ? "::" : "",
				(int)part.len, part.at);
			local = strlen(ret->local);
		}
		(void)snprintf(
			ret->name + used, sizeof(ret->name) - used, "%s%.*s", used ? "::" : "", (int)part.len, part.at);
		used = strlen(ret->name);
	}
	return true;
}

/* Behind the name of a function: what is in angle brackets, and what it takes. */
static bool read_params(struct scan *scan, struct rust_function *ret)
{
	struct rust_token token;

	if (!rust_next(&scan->reader, &token))
		return false;
	if (token_is(token, "<")) {
		ret->generic = rust_has_types(&scan->reader);
		if (!rust_skip(&scan->reader, '<') || !rust_next(&scan->reader, &token))
			return false;
	}
	if (!token_is(token, "("))
		return false;
	ret->params = scan->reader.at;
	if (!rust_skip(&scan->reader, '('))
		return false;
	ret->params_len = (size_t)(scan->reader.at - ret->params) - 1;
	return true;
}

/* Until its body: false where it has none. */
static bool to_body(struct scan *scan)
{
	struct rust_token token;

	while (rust_next(&scan->reader, &token)) {
		if (token_is(token, "{"))
			return true;
		if (token_is(token, ";") || token_is(token, "}"))
			return false;
		if ((token_is(token, "(") || token_is(token, "[")) && !rust_skip(&scan->reader, *token.at))
			return false;
	}
	return false;
}

static void read_function(struct scan *scan)
{
	struct rust_function function = {.is_async = scan->is_async};
	struct rust_reader before = scan->reader;
	struct rust_token name;
	unsigned depth = scan->depth;

	if (!rust_next(&scan->reader, &name) || !token_is_word(name)) {
		scan->reader = before; /* a type: fn(u8) */
		return;
	}
	bool shown = !scan->hidden && names_put(scan, name, &function) && read_params(scan, &function);
	if (!to_body(scan))
		return;
	scope_push(scan, SCOPE_OTHER, name);
	if (!shown)
		return;
	while (depth > 0 && scan->scopes[depth - 1].kind == SCOPE_TYPE)
		depth--;
	if (scan->wanted && !scan->wanted->params && strcmp(function.name, scan->wanted->name) == 0) {
		*scan->wanted = function;
		scan->wanted_depth = depth;
	}
	if (scan->fn)
		scan->fn(scan->data, &function);
}

/* "impl Type {", "impl Trait for Type {": the type's name. What has parameters cannot be named without them. */
static void read_impl(struct scan *scan)
{
	struct rust_token token, name = {0};
	bool generic = false;

	while (rust_next(&scan->reader, &token) && !token_is(token, "{")) {
		if (token_is(token, "<")) {
			generic = generic || rust_has_types(&scan->reader);
			if (!rust_skip(&scan->reader, '<'))
				return;
		} else if (token_is(token, "(") || token_is(token, "[")) {
			name = (struct rust_token){0};
			if (!rust_skip(&scan->reader, *token.at))
				return;
		} else if (token_is(token, "for")) {
			generic = false;
		} else if (token_is(token, "where")) {
			generic = true;
		} else if (token_is_word(token)) {
			name = token;
		}
	}
	scope_push(scan, name.len && !generic ? SCOPE_TYPE : SCOPE_OTHER, name);
}

static void read_module(struct scan *scan)
{
	struct rust_token name, token;

	if (!rust_next(&scan->reader, &name) || !token_is_word(name) || !rust_next(&scan->reader, &token))
		return;
	if (token_is(token, "{"))
		scope_push(scan, SCOPE_MODULE, name);
	else
		scan->hidden = false;
}

/* #[test], #[cfg(test)]: what follows is not there when it is fuzzed. */
static void read_attribute(struct scan *scan)
{
	struct rust_reader before = scan->reader;
	struct rust_token token;

	if (!rust_next(&scan->reader, &token) || (token_is(token, "!") && !rust_next(&scan->reader, &token)) ||
		!token_is(token, "[")) {
		scan->reader = before;
		return;
	}
	const char *from = scan->reader.at;
	if (!rust_skip(&scan->reader, '['))
		return;
	struct rust_token whole = {from, (size_t)(scan->reader.at - from) - 1};
	if (token_is(whole, "test") || token_is(whole, "cfg(test)") || token_is(whole, "bench"))
		scan->hidden = true;
}

static void read_macro(struct scan *scan)
{
	struct rust_reader before = scan->reader;
	struct rust_token token;

	if (rust_next(&scan->reader, &token) && token_is(token, "!") && scan->depth == 0)
		scan->harness = true;
	else
		scan->reader = before;
}

static void scan_token(struct scan *scan, struct rust_token token)
{
	bool item = scope_now(scan) != SCOPE_OTHER, module = scope_now(scan) == SCOPE_MODULE;

	if (token_is(token, "{")) {
		scope_push(scan, SCOPE_OTHER, token);
	} else if (token_is(token, "}")) {
		scope_pop(scan);
	} else if (token_is(token, ";")) {
		scan->hidden = scan->is_async = false;
	} else if (token_is(token, "#")) {
		read_attribute(scan);
	} else if (!item || !token_is_word(token)) {
		return;
	} else if (token_is(token, "fn")) {
		read_function(scan);
	} else if (module && token_is(token, "mod")) {
		read_module(scan);
	} else if (module && token_is(token, "impl")) {
		read_impl(scan);
	} else if (token_is(token, "async")) {
		scan->is_async = true;
	} else if (token_is(token, "fuzz_target")) {
		read_macro(scan);
	}
}

static void scan_all(struct scan *scan)
{
	struct rust_token token;

	while (rust_next(&scan->reader, &token))
		scan_token(scan, token);
}

void rust_functions(const char *text, size_t len, rust_function_fn *fn, void *data, bool *ret_harness)
{
	struct scan scan = {.reader = {text, text, text + len}, .fn = fn, .data = data};

	scan_all(&scan);
	*ret_harness = scan.harness;
}

bool rust_find(const char *text, size_t len, const char *name, struct rust_function *ret)
{
	struct scan scan = {.reader = {text, text, text + len}, .wanted = ret};

	*ret = (struct rust_function){0};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	scan_all(&scan);
	if (ret->params && !ret->after)
		ret->after = len;
	return ret->params != NULL;
}
