/* Arguments of a Rust function from bytes or a document, by the text of its parameters. What is made is inferred by the compiler from
 * the call; here it is only decided how, and whether it can be at all. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "fuzz/function/lang/rust/rust_text.h"
#include "fuzz/function/lang/rust/rust_token.h"

#define PARAMS_MAX 16
#define TYPE_MAX 200
#define DEPTH_MAX 12

struct param {
	char name[64];
	char type[TYPE_MAX]; /* without blanks and lifetimes: "&mut Vec<u8>" */
	bool bad; /* it is too long, or must live for ever */
};

struct text {
	const char *at, *end;
	bool serve; /* it is called with documents */
};

/* ---- reading ---- */

static void type_put(struct param *param, struct rust_token token)
{
	size_t used = strlen(param->type);
	bool blank = used && token_is_word(token) &&
		(isalnum((unsigned char)param->type[used - 1]) || param->type[used - 1] == '_');

	if (*token.at == '\'' && token.len > 1) {
		param->bad = param->bad || token_is(token, "'static");
		return;
	}
	if (used + token.len + 2 > sizeof(param->type)) {
		param->bad = true;
		return;
	}
	(void)snprintf(
		param->type + used, sizeof(param->type) - used, "%s%.*s", blank ? " " : "", (int)token.len, token.at);
}

/* More than PARAMS_MAX: there are too many. */
static size_t params_read(const struct rust_function *function, struct param *ret)
{
	struct rust_reader reader = {function->params, function->params, function->params + function->params_len};
	struct rust_token token;
	size_t count = 0;
	unsigned depth = 0;
	bool typed = false, arrow = false, colon = false, begun = false;

	while (rust_next(&reader, &token)) {
		char c = token.len == 1 ? *token.at : 0;
		depth += c == '(' || c == '[' || c == '<' || c == '{';
		depth -= (c == ')' || c == ']' || (c == '>' && !arrow) || c == '}') && depth;
		arrow = c == '-';
		if (c == ',' && !depth) {
			count += begun;
			begun = typed = false;
			continue;
		}
		if (count == PARAMS_MAX)
			return PARAMS_MAX + 1;
		struct param *param = &ret[count];
		if (!begun)
			*param = (struct param){0};
		begun = true;
		bool single = c == ':' && !colon && !typed && !depth;
		colon = c == ':';
		if (single)
			typed = true;
		else if (typed)
			type_put(param, token);
		else if (token_is_word(token) && !token_is(token, "mut") && !token_is(token, "ref"))
			(void)snprintf(param->name, sizeof(param->name), "%.*s", (int)token.len, token.at);
	}
	return count + begun;
}

/* ---- what can be made ---- */

static const char *const no_documents[] = {"Duration", "Result", "Range", NULL}; /* of the two lists below */

static const char *const plain[] = {"u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
	"isize", "f32", "f64", "bool", "char", "String", "Duration", "PathBuf", "OsString", NULL};
static const char *const holders[] = {"Option", "Vec", "Box", "Rc", "Arc", "VecDeque", "BTreeMap", "BTreeSet",
	"HashMap", "HashSet", "Result", "Cell", "RefCell", "LinkedList", "BinaryHeap", "Cow", "Wrapping", "Range",
	NULL};

static bool in_list(const char *at, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && memcmp(*list, at, len) == 0)
			return true;
	return false;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* "struct Name" or "enum Name" behind a derive with Arbitrary, or "Arbitrary<..> for Name". */
static bool is_derived(const struct text *text, const char *name, size_t len)
{
	struct rust_reader reader = {text->at, text->at, text->end};
	struct rust_token token, before = {0};
	bool arbitrary = false, implemented = false;

	while (rust_next(&reader, &token)) {
		if (token_is(token, "Arbitrary"))
			arbitrary = true;
		else if (token_is(token, "for"))
			implemented = arbitrary && !text->serve; /* that is from bytes */
		bool named = token.len == len && memcmp(token.at, name, len) == 0;
		if (named && arbitrary && (implemented || token_is(before, "struct") || token_is(before, "enum")))
			return true;
		if (token_is(token, ";") || token_is(token, "}") || token_is(token, "{"))
			arbitrary = implemented = false;
		before = token;
	}
	return false;
}

static bool type_ok(const char **at, const struct text *text, unsigned depth);

/* Types until the bracket that closes them. */
static bool types_ok(const char **at, char close, const struct text *text, unsigned depth)
{
	while (**at && **at != close) {
		if (!type_ok(at, text, depth))
			return false;
		if (**at == ',')
			++*at;
		else if (**at != close)
			return false;
	}
	if (**at != close)
		return false;
	++*at;
	return true;
}

static bool path_ok(const char **at, const struct text *text, unsigned depth)
{
	const char *from = *at;

	while (in_name(**at) || **at == ':') {
		if (**at == ':')
			from = *at + 1;
		++*at;
	}
	size_t len = (size_t)(*at - from);
	if (!len || strncmp(from, "dyn ", 4) == 0 || strncmp(from, "impl ", 5) == 0)
		return false;
	if (text->serve && in_list(from, len, no_documents))
		return false;
	if (**at != '<')
		return in_list(from, len, plain) || is_derived(text, from, len);
	++*at;
	return in_list(from, len, holders) && types_ok(at, '>', text, depth + 1);
}

static bool starts(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0 || in_name((*at)[len]))
		return false;
	*at += len;
	return true;
}

/* One type that is within another, or is given whole. */
static bool type_ok(const char **at, const struct text *text, unsigned depth)
{
	if (depth > DEPTH_MAX)
		return false;
	if (starts(at, "&[u8]") || starts(at, "&str") || starts(at, "str") || starts(at, "[u8]"))
		return depth > 0;
	if (**at == '(') {
		++*at;
		return types_ok(at, ')', text, depth + 1);
	}
	if (**at == '[') {
		++*at;
		if (!type_ok(at, text, depth + 1) || **at != ';')
			return false;
		*at += strcspn(*at, "]");
		return *(*at)++ == ']';
	}
	return path_ok(at, text, depth);
}

/* ---- how it is made ---- */

/* A type that is given whole and how it is made; "%s" tells whether it takes all that is left, or of a document which one
 * it is. */
static const struct {
	const char *type, *make, *give;
} known[] = {
	{"&[u8]", "u.bytes(%s)", "p%zu"},
	{"&mut [u8]", "u.bytes(%s).to_vec()", "&mut p%zu[..]"},
	{"Vec<u8>", "u.bytes(%s).to_vec()", "p%zu"},
	{"&Vec<u8>", "u.bytes(%s).to_vec()", "&p%zu"},
	{"&mut Vec<u8>", "u.bytes(%s).to_vec()", "&mut p%zu"},
	{"Box<[u8]>", "u.bytes(%s).to_vec()", "p%zu.into_boxed_slice()"},
	{"&str", "u.text(%s)", "&p%zu[..]"},
	{"String", "u.text(%s)", "p%zu"},
	{"&String", "u.text(%s)", "&p%zu"},
	{"&mut String", "u.text(%s)", "&mut p%zu"},
	{"&Path", "u.text(%s)", "self::std::path::Path::new(&p%zu)"},
	{"&OsStr", "u.text(%s)", "self::std::ffi::OsStr::new(&p%zu)"},
	{"impl AsRef<[u8]>", "u.bytes(%s)", "p%zu"},
	{"impl AsRef<str>", "u.text(%s)", "p%zu"},
	{"impl Into<String>", "u.text(%s)", "p%zu"},
	{"impl Into<Vec<u8>>", "u.bytes(%s)", "p%zu"},
	{"impl AsRef<Path>", "u.text(%s)", "p%zu"},
	{"impl Read", "u.bytes(%s)", "p%zu"},
	{"impl BufRead", "u.bytes(%s)", "p%zu"},
	{"&mut impl Read", "u.bytes(%s)", "&mut p%zu"},
	{"&mut impl BufRead", "u.bytes(%s)", "&mut p%zu"},
	{"impl Iterator<Item=u8>", "u.bytes(%s)", "p%zu.iter().copied()"},
};

static size_t known_row(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].type, type) == 0)
			return i;
	return ARRAY_LEN(known);
}

struct making {
	struct buf first, last, call, names;
	bool serve;
};

static void making_done(struct making *making)
{
	buf_done(&making->first);
	buf_done(&making->last);
	buf_done(&making->call);
	buf_done(&making->names);
}

static void put_known(struct making *making, size_t row, size_t place, bool last)
{
	struct buf *to = last ? &making->last : &making->first; /* what takes the rest comes when all else is made */
	const char *share = strstr(known[row].make, "%s"), *give = strstr(known[row].give, "%zu");

	buf_fmt(to, "let mut p%zu = ", place);
	buf_add(to, known[row].make, (size_t)(share - known[row].make));
	if (making->serve)
		buf_fmt(to, "%zu%s; ", place, share + 2);
	else
		buf_fmt(to, "%s%s; ", last ? "true" : "false", share + 2);
	buf_add(&making->call, known[row].give, (size_t)(give - known[row].give));
	buf_fmt(&making->call, "%zu%s", place, give + 3);
}

/* "T", "&T", "&mut T", "&[T]" of something that Arbitrary makes. */
static bool put_value(struct making *making, const struct text *text, const char *type, size_t place)
{
	const char *at = type, *before = "", *behind = "", *as = "";

	if (*at == '&') {
		at++;
		before = "&";
		if (strncmp(at, "mut ", 4) == 0 || strncmp(at, "mut[", 4) == 0 || strncmp(at, "mut(", 4) == 0) {
			at += at[3] == ' ' ? 4 : 3;
			before = "&mut ";
		}
		if (*at == '[' && !strchr(at, ';')) {
			at++;
			as = ": self::std::vec::Vec<_>";
			behind = "[..]";
			if (!type_ok(&at, text, 1) || strcmp(at, "]") != 0)
				return false;
			at = "";
		}
	}
	if (*at && (!type_ok(&at, text, 0) || *at))
		return false;
	buf_fmt(&making->first, "let mut p%zu%s = match u.make(", place, as);
	if (making->serve)
		buf_fmt(&making->first, "%zu", place);
	buf_str(&making->first, ") { self::std::option::Option::Some(v) => v, _ => return -1 }; ");
	buf_fmt(&making->call, "%sp%zu%s", before, place, behind);
	return true;
}

static int refuse(struct err *err, const char *shown, const struct param *param, size_t place, bool serve)
{
	own(buf_done) struct buf name = {0}, type = {0};

	term_line(param->name, strlen(param->name), 60, &name);
	term_line(param->type, strlen(param->type), 120, &type);
	if (strcmp(param->name, "self") == 0)
		return err_set(err, ERR_USAGE,
			"%s is called on a value of its type, which cannot be made from bytes; write a fuzz_target!",
			shown);
	if (serve)
		return err_set(err, ERR_USAGE,
			"%s: its parameter %zu, '%s: %s', cannot be made from a document; leave the schema out, or derive "
			"Arbitrary for a type of this file",
			shown, place + 1, buf_text(&name), buf_text(&type));
	return err_set(err, ERR_USAGE,
		"%s: its parameter %zu, '%s: %s', cannot be made from bytes; write a fuzz_target!, or derive Arbitrary "
		"for a type of this file",
		shown, place + 1, buf_text(&name), buf_text(&type));
}

/* "&'a mut[u8]" and "std::io::Read" as the table has them. */
static void type_simplify(struct param *param)
{
	static const char *const left_out[] = {
		"std::io::", "io::", "std::path::", "std::string::", "std::vec::", "std::ffi::", NULL};
	char *at = param->type;

	for (size_t i = 0; left_out[i]; i++)
		for (char *found; (found = strstr(param->type, left_out[i]));)
			memmove(found, found + strlen(left_out[i]), strlen(found + strlen(left_out[i])) + 1);
	if (strncmp(at, "&mut[", 5) == 0 && strlen(at) + 2 < sizeof(param->type)) {
		memmove(at + 5, at + 4, strlen(at + 4) + 1);
		at[4] = ' ';
	}
}

static int making_put(struct making *making, const struct text *text, struct param *params, size_t count,
	const char *shown, struct err *err)
{
	size_t last = count;

	for (size_t i = 0; i < count; i++) {
		type_simplify(&params[i]);
		if (known_row(params[i].type) < ARRAY_LEN(known))
			last = i;
	}
	for (size_t i = 0; i < count; i++) {
		size_t row = known_row(params[i].type);
		buf_str(&making->call, i ? ", " : "");
		if (!params[i].bad && row < ARRAY_LEN(known))
			put_known(making, row, i, i == last);
		else if (params[i].bad || !*params[i].type || !put_value(making, text, params[i].type, i))
			return refuse(err, shown, &params[i], i, making->serve);
		buf_fmt(&making->names, "%s(\"%s\", %s)", i ? ", " : "", params[i].name,
			strncmp(params[i].type, "Option<", 7) == 0 ? "true" : "false");
	}
	return 0;
}

/* How the arguments begin: `u` makes them. */
static void put_input(const struct making *making, struct buf *out)
{
	if (making->serve)
		buf_fmt(out,
			"let d = self::libfuzzer_sys::document::read(data); let u = self::libfuzzer_sys::document::Given::new(&d, data, &[%s]); ",
			buf_text(&making->names));
	else
		buf_str(out, "let mut u = self::libfuzzer_sys::Input::new(data); ");
}

char *rust_harness(const char *text, size_t len, const struct rust_function *function, const char *shown, bool serve,
	struct err *err)
{
	own(making_done) struct making making = {.serve = serve};
	struct param params[PARAMS_MAX + 1];
	const struct text whole = {text, text + len, serve};
	struct buf out = {0};
	size_t count = params_read(function, params);

	if (function->generic || function->is_async) {
		(void)err_set(err, ERR_USAGE, "%s %s; write a fuzz_target! that calls it", shown,
			function->generic ? "has type parameters, which nothing tells"
					  : "is async, and there is nothing that runs it");
		return NULL;
	}
	if (count == 0 || count > PARAMS_MAX) {
		(void)err_set(err, ERR_USAGE, "%s takes %s", shown,
			count ? "more parameters than can be made" : "nothing, so there is nothing to fuzz");
		return NULL;
	}
	if (making_put(&making, &whole, params, count, shown, err) < 0)
		return NULL;
	buf_add(&out, text, function->after);
	buf_str(&out,
		" #[doc(hidden)] #[allow(warnings)] mod hotcell_entry { extern crate std; extern crate libfuzzer_sys; use super::*; "
		"self::libfuzzer_sys::hotcell_entry!(|data| { ");
	put_input(&making, &out);
	buf_fmt(&out,
		"%s%s"
		"let _ = unsafe { super::%s(%s) }; 0 }); } ",
		buf_text(&making.first), buf_text(&making.last), function->local, buf_text(&making.call));
	buf_add(&out, text + function->after, len - function->after);
	return buf_take(&out);
}
