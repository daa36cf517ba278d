/* Functions in the text of a C or C++ file. Comments and texts are skipped; braces are followed, and what stands before
 * one tells what it opens. Each byte is looked at once, but for a few words behind the brackets of a function. */
#include "fuzz/function/lang/c/c_text.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 64
#define RESULT_MAX 256 /* of a type behind "->", and of what is in brackets behind a function's */
#define BETWEEN_MAX 8 /* words between a function's brackets and its body */

enum scope_kind { SCOPE_HIDDEN, SCOPE_OPEN, SCOPE_TYPE };

struct scope {
	enum scope_kind kind;
	size_t prefix; /* what the names within begin with: so much of scan.prefix */
	bool is_private; /* what comes now, of a type */
	bool member; /* all of it are, as struct c_function has it */
};

enum stmt_kind { STMT_OTHER, STMT_LINKAGE, STMT_NAMESPACE, STMT_TYPE };

/* What was read since the last brace or semicolon. */
struct stmt {
	enum stmt_kind kind;
	char name[C_NAME_MAX]; /* the last one, with nothing but blanks behind it: "app::parse" */
	char opens[C_NAME_MAX]; /* of a type: its name */
	bool joined; /* "::" was just read, behind the name */
	bool lost; /* likewise, behind what is none: "list<int>::" */
	bool external; /* "extern" was just read */
	bool closed; /* there is no function in the rest of it */
	bool is_class, is_enum, is_template, is_static;
	bool access, is_public; /* a word was read that says so, if ':' is behind it */
};

struct scan {
	const char *at, *end;
	struct scope scopes[DEPTH_MAX];
	unsigned depth; /* may be more: what is beyond is hidden */
	char prefix[C_NAME_MAX]; /* "app::v1::" */
	struct stmt stmt;
	c_function_fn *fn;
	void *data;
};

bool c_span_is(struct c_span span, const char *word)
{
	return span.len == strlen(word) && memcmp(span.at, word, span.len) == 0;
}

static bool in_list(struct c_span word, const char *const *list)
{
	for (; *list; list++)
		if (c_span_is(word, *list))
			return true;
	return false;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct c_span word_at(const char *at, const char *end)
{
	struct c_span word = {at, 0};

	while (at + word.len < end && in_name(at[word.len]))
		word.len++;
	return word;
}

/* Behind the comment, the text or the line of the preprocessor that is here; here, if there is none. */
static const char *other_end(const char *at, const char *end)
{
	if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
		const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
		return close ? close + 2 : end;
	}
	if (*at == '#' || (end - at >= 2 && at[0] == '/' && at[1] == '/')) {
		while (at < end && (*at != '\n' || at[-1] == '\\'))
			at++;
	} else if (*at == '"' || *at == '\'') {
		char quote = *at++;
		while (at < end && *at != quote && *at != '\n')
			at += *at == '\\' && end - at > 1 ? 2 : 1;
		at += at < end;
	}
	return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end) {
		const char *next = isspace((unsigned char)*at) ? at + 1 : *at == '/' || *at == '#' ? other_end(at, end) : at;
		if (next == at)
			break;
		at = next;
	}
	return at;
}

/* ---- scopes ---- */

static struct scope scope_now(const struct scan *scan)
{
	if (scan->depth > DEPTH_MAX)
		return (struct scope){.kind = SCOPE_HIDDEN};
	return scan->depth ? scan->scopes[scan->depth - 1] : (struct scope){.kind = SCOPE_OPEN};
}

/* What a name is put behind in this scope; false: it is too long, or there is none. */
static bool prefix_put(struct scan *scan, struct scope *scope, const char *name)
{
	size_t len = strlen(name);

	if (!len || scope->prefix + len + 2 >= sizeof(scan->prefix))
		return false;
	memcpy(scan->prefix + scope->prefix, name, len);
	memcpy(scan->prefix + scope->prefix + len, "::", 3);
	scope->prefix += len + 2;
	return true;
}

/* What this brace opens, by what stands before it. */
static struct scope scope_opened(struct scan *scan)
{
	const struct stmt *stmt = &scan->stmt;
	struct scope scope = scope_now(scan), hidden = {.kind = SCOPE_HIDDEN};

	if (scope.kind == SCOPE_HIDDEN)
		return hidden;
	if (stmt->kind == STMT_LINKAGE)
		return scope;
	if (stmt->kind == STMT_NAMESPACE) /* one without a name is seen by the file that it is in */
		return !*stmt->name || prefix_put(scan, &scope, stmt->name) ? scope : hidden;
	if (stmt->kind != STMT_TYPE || !prefix_put(scan, &scope, *stmt->opens ? stmt->opens : stmt->name))
		return hidden;
	scope.member = scope.member || scope.is_private || stmt->is_template;
	scope.kind = SCOPE_TYPE;
	scope.is_private = stmt->is_class;
	return scope;
}

static void scan_brace(struct scan *scan)
{
	if (*scan->at == '{') {
		struct scope scope = scope_opened(scan);
		if (scan->depth < DEPTH_MAX)
			scan->scopes[scan->depth] = scope;
		scan->depth++;
	} else {
		scan->depth -= scan->depth > 0;
	}
	scan->stmt = (struct stmt){0};
}

/* ---- words ---- */

/* Whether there was anything to skip. */
static bool skip_other(struct scan *scan)
{
	const char *from = scan->at;

	scan->at = other_end(from, scan->end);
	if (scan->at != from && *from == '"' && scan->stmt.external)
		scan->stmt.kind = STMT_LINKAGE;
	return scan->at != from;
}

static void name_put(struct stmt *stmt, struct c_span word)
{
	size_t used = stmt->joined ? strlen(stmt->name) : 0;
	const char *between = used ? "::" : "";
	bool fits = used + word.len + 3 <= sizeof(stmt->name);

	if (stmt->lost || !fits)
		stmt->name[0] = '\0';
	stmt->closed = stmt->closed || !fits;
	bool put = fits && !stmt->lost;
	stmt->joined = stmt->lost = false;
	if (!put)
		return;
	memcpy(stmt->name + used, between, strlen(between));
	used += strlen(between);
	memcpy(stmt->name + used, word.at, word.len);
	stmt->name[used + word.len] = '\0';
}

static void scan_word(struct scan *scan)
{
	static const char *const types[] = {"class", "struct", "union", NULL}, *const accesses[] = {"public", "private", "protected", NULL};
	struct c_span word = word_at(scan->at, scan->end);
	struct stmt *stmt = &scan->stmt;

	scan->at += word.len;
	if (stmt->kind == STMT_LINKAGE)
		stmt->kind = STMT_OTHER;
	stmt->external = c_span_is(word, "extern");
	if (c_span_is(word, "namespace")) {
		stmt->kind = STMT_NAMESPACE;
		stmt->name[0] = '\0';
	} else if (c_span_is(word, "operator")) {
		stmt->closed = true;
	} else if (c_span_is(word, "enum")) {
		stmt->is_enum = true;
	} else if (in_list(word, types)) {
		stmt->kind = stmt->is_enum ? STMT_OTHER : STMT_TYPE;
		stmt->is_class = c_span_is(word, "class");
		stmt->name[0] = '\0';
	} else if (c_span_is(word, "template")) {
		stmt->is_template = true;
	} else if (c_span_is(word, "static")) {
		stmt->is_static = true;
	} else if (in_list(word, accesses)) {
		stmt->access = true;
		stmt->is_public = c_span_is(word, "public");
	} else if (!c_span_is(word, "final") && !c_span_is(word, "inline")) { /* "a::inline b" is one name */
		name_put(stmt, word);
	}
}

/* One that is not doubled is behind "public", or before the bases of a type, or before what a constructor sets. */
static void scan_colon(struct scan *scan)
{
	struct stmt *stmt = &scan->stmt;

	if (scan->end - scan->at > 1 && scan->at[1] == ':') {
		stmt->joined = *stmt->name != '\0';
		stmt->lost = !stmt->joined;
		scan->at += 2;
		return;
	}
	scan->at++;
	if (stmt->kind == STMT_TYPE) {
		if (!stmt->closed)
			memcpy(stmt->opens, stmt->name, sizeof(stmt->opens));
		stmt->closed = true;
		return;
	}
	if (stmt->access && scope_now(scan).kind == SCOPE_TYPE && scan->depth <= DEPTH_MAX) {
		scan->scopes[scan->depth - 1].is_private = !stmt->is_public;
		*stmt = (struct stmt){0};
		return;
	}
	stmt->closed = true;
}

/* ---- functions ---- */

/* Behind the bracket that closes this one, and true; or where it is clear that none does. */
static bool closing(const char *at, const char *end, const char **ret)
{
	unsigned depth = 0;

	for (; at < end && *at != '{' && *at != '}' && *at != ';'; at++) {
		const char *next = *at == '/' || *at == '#' || *at == '"' || *at == '\'' ? other_end(at, end) : at;
		if (next > at) {
			at = next - 1;
			continue;
		}
		depth += *at == '(';
		if (*at == ')' && --depth == 0) {
			*ret = at + 1;
			return true;
		}
	}
	*ret = at;
	return false;
}

/* Whether a body is behind these brackets, and what may stand before it; and whether that is said of members that need an
 * object. */
static bool has_body(const char *at, const char *end, bool *ret_object)
{
	static const char *const any[] = {"noexcept", "throw", "__attribute__", NULL};
	static const char *const object[] = {"const", "volatile", "override", "final", NULL};

	*ret_object = false;
	at = skip_blanks(at, end);
	for (unsigned i = 0; i < BETWEEN_MAX; i++) {
		bool said = in_list(word_at(at, end), object);
		if (!said && !in_list(word_at(at, end), any))
			break;
		*ret_object = *ret_object || said;
		at = skip_blanks(at + word_at(at, end).len, end);
		if (at < end && *at == '(' && !closing(at, end - at > RESULT_MAX ? at + RESULT_MAX : end, &at))
			return false;
		at = skip_blanks(at, end);
	}
	if (end - at > 2 && at[0] == '-' && at[1] == '>')
		for (const char *from = at; at < end && at - from < RESULT_MAX && *at != '{' && *at != ';' && *at != '}';)
			at++;
	return at < end && *at == '{';
}

static bool is_constructor(const char *name)
{
	const char *last = c_last_part(name);
	size_t len = strlen(last);

	return last - name >= (ptrdiff_t)len + 2 && memcmp(last - 2 - len, last, len) == 0 &&
		(last - name == (ptrdiff_t)len + 2 || last[-3 - (ptrdiff_t)len] == ':');
}

static void give(const struct scan *scan, struct c_span params, bool object)
{
	static const char *const no_names[] = {"if", "while", "for", "switch", NULL};
	const struct stmt *stmt = &scan->stmt;
	const struct scope scope = scope_now(scan);
	struct c_function function = {.params = params, .member = scope.member || object};
	size_t len = strlen(stmt->name);

	if (stmt->closed || !len || isdigit((unsigned char)*stmt->name) || in_list((struct c_span){stmt->name, len}, no_names) ||
		scope.prefix + len >= sizeof(function.name))
		return;
	memcpy(function.name, scan->prefix, scope.prefix);
	memcpy(function.name + scope.prefix, stmt->name, len + 1);
	if (is_constructor(scope.kind == SCOPE_TYPE ? function.name : stmt->name)) /* a namespace may hold one of its name */
		return;
	if (scope.kind == SCOPE_TYPE)
		function.member = function.member || scope.is_private || !stmt->is_static;
	scan->fn(scan->data, &function);
}

/* At a bracket: a definition is one with a body behind it. */
static void scan_bracket(struct scan *scan)
{
	const char *open = scan->at;
	bool object;

	if (closing(open, scan->end, &scan->at) && has_body(scan->at, scan->end, &object)) {
		give(scan, (struct c_span){open + 1, (size_t)(scan->at - open) - 2}, object);
		scan->stmt.kind = STMT_OTHER; /* "struct s f(...) {" opens no type */
		scan->stmt.closed = true;
	}
	scan->stmt.name[0] = '\0';
}

static void scan_mark(struct scan *scan)
{
	struct stmt *stmt = &scan->stmt;

	switch (*scan->at) {
	case ';':
		*stmt = (struct stmt){0};
		break;
	case '=':
		stmt->kind = STMT_OTHER;
		break;
	case '~':
		stmt->closed = true;
		break;
	default:
		break;
	}
	stmt->name[0] = '\0';
	stmt->joined = stmt->lost = stmt->external = false;
	scan->at++;
}

static void scan_visible(struct scan *scan)
{
	char c = *scan->at;

	if (in_name(c))
		scan_word(scan);
	else if (c == '(')
		scan_bracket(scan);
	else if (c == ':')
		scan_colon(scan);
	else if (isspace((unsigned char)c))
		scan->at++;
	else
		scan_mark(scan);
}

void c_functions(const char *text, size_t len, c_function_fn *fn, void *data)
{
	struct scan scan = {.at = text, .end = text + len, .fn = fn, .data = data};

	while (scan.at < scan.end) {
		char c = *scan.at;
		if ((c == '#' || c == '/' || c == '"' || c == '\'') && skip_other(&scan))
			continue;
		if (c == '{' || c == '}') {
			scan_brace(&scan);
			scan.at++;
		} else if (scope_now(&scan).kind == SCOPE_HIDDEN) {
			scan.at++;
		} else {
			scan_visible(&scan);
		}
	}
}

/* ---- names ---- */

const char *c_last_part(const char *name)
{
	for (const char *next; (next = strstr(name, "::"));)
		name = next + 2;
	return name;
}

static size_t part_len(const char *name)
{
	const char *end = strstr(name, "::");

	return end ? (size_t)(end - name) : strlen(name);
}

bool c_name_fits(const char *name, const char *typed)
{
	for (;;) {
		size_t len = part_len(name), wanted = part_len(typed);
		bool last = !name[len], same = len == wanted && memcmp(name, typed, len) == 0 && last == !typed[wanted];
		if (last)
			return same;
		name += len + 2;
		typed += same ? wanted + 2 : 0;
	}
}

struct look {
	const char *typed;
	bool found;
};

static void look_at(void *data, const struct c_function *function)
{
	struct look *look = data;

	look->found = look->found || (function->member && c_name_fits(function->name, look->typed));
}

bool c_is_member(const char *text, size_t len, const char *typed)
{
	struct look look = {.typed = typed};

	c_functions(text, len, look_at, &look);
	return look.found;
}
