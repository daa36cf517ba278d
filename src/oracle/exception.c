/* Whether a text is an exception that nobody caught, or a sentence that says what is wrong with the input.
 *
 * Names of types decide first: what is called after the input, the file or the network (ValidationError, ToolRejected,
 * FileNotFoundError) is how a tool declares its errors, any other "SomethingError:" is one that came through. Then the
 * sentences that runtimes write by themselves: they stand in answers without their type, where a framework caught them.
 * A plain "Error:" says nothing. */
#include <ctype.h>
#include <string.h>

#include "oracle/look.h"

#define EXCEPTION_LOOK ((size_t)64 << 10) /* bytes of a text that are looked at */
#define LINE_LOOK 2048 /* of a line */
#define LINE_TOLD 300 /* of the line that names it */

/* They begin an exception, whatever follows. */
static const char *const heads[] = {"Traceback (most recent call last)", "Exception in thread ", "panicked at ",
	"AddressSanitizer: ", "LeakSanitizer: ", "MemorySanitizer: ", "ThreadSanitizer: ", ": runtime error: ",
	"Fatal error: Uncaught ", "fatal error: all goroutines", NULL};

static const char *const phrases[] = {
	/* Python */
	"object has no attribute", "object is not subscriptable", "object is not iterable", "object is not callable",
	"'NoneType'", "object does not support item", "unsupported operand type", "index out of range",
	"maximum recursion depth exceeded", "invalid literal for int()", "could not convert string to float",
	"division by zero", "got an unexpected keyword argument", "required positional argument",
	"positional argument but", "positional arguments but", "unhashable type", "not supported between instances of",
	"codec can't decode", "codec can't encode", "surrogates not allowed", "embedded null byte",
	"referenced before assignment", "dictionary changed size during iteration", "too many values to unpack",
	"not enough values to unpack", "indices must be integers",
	/* JavaScript */
	"Cannot read propert", "Cannot set propert", "Cannot destructure property", " is not a function",
	" is not iterable", "Maximum call stack size exceeded", "Converting circular structure", "is not a constructor",
	"Invalid array length", "argument must be of type", "Reduce of empty array",
	/* Go */
	"nil pointer dereference", "slice bounds out of range", "invalid memory address",
	"interface conversion: ", "assignment to entry in nil map", "integer divide by zero", "panic: ",
	/* Rust */
	"called `Option::", "called `Result::", "index out of bounds", "with overflow", "is not a char boundary",
	/* Java, C#, Ruby */
	"NullPointerException", "IndexOutOfBoundsException", "ClassCastException", "StackOverflowError",
	"OutOfMemoryError", "Object reference not set to an instance", "undefined method `", "undefined method '",
	"undefined local variable",
	/* any */
	"Segmentation fault", "segmentation fault", "Internal error", "internal error", "Internal server error",
	"Internal Server Error", "nhandled exception", "nhandled error", "nhandled promise", "Unhandled ", "unhandled ",
	NULL};

/* A type so called says what is wrong with the input, or what the world around the target answered. */
static const char *const declared_types[] = {"Validation", "Rejected", "ToolError", "McpError", "ZodError", "UserError",
	"UsageError", "NotFound", "Denied", "BadRequest", "Permission", "Unauthorized", "Forbidden", "InvalidArgument",
	"InvalidInput", "InvalidParam", "InvalidRequest", "NotADirectory", "IsADirectory", "FileExists", "Timeout",
	"Connect", "HTTP", "URLError", NULL};
static const char *const undeclared_types[] = {"ModuleNotFound", "ClassNotFound", "NoClassDefFound", NULL};
/* So does a line that says so. */
static const char *const declared_lines[] = {"validation error", "Validation error", "Invalid arguments",
	"Invalid params", "Input validation", "ToolRejected", "invalid_type", NULL};

static const char *list_find(const char *const *list, struct span in)
{
	for (size_t i = 0; list[i]; i++) {
		const char *at = span_find(in, list[i], strlen(list[i]));
		if (at)
			return at;
	}
	return NULL;
}

static bool in_name(unsigned char c)
{
	return isalnum(c) || c == '_' || c == '.' || c == '$';
}

/* ---- "TypeError: ..." ---- */

/* The name that ends at `end`, if it is one of a type, and something follows as it does behind one. */
static struct span type_at(struct span line, size_t end, size_t suffix)
{
	size_t from = end, name;

	while (from > 0 && in_name((unsigned char)line.at[from - 1]))
		from--;
	name = from;
	for (size_t i = from; i < end; i++)
		if (line.at[i] == '.')
			name = i + 1;
	bool alone = from == 0 && end == line.len;
	bool named = end < line.len && line.at[end] == ':' && (end + 1 == line.len || line.at[end + 1] != ':');
	bool coded = end + 1 < line.len && line.at[end] == ' ' && line.at[end + 1] == '[';
	if (end - name <= suffix || !isupper((unsigned char)line.at[name]) || !(alone || named || coded))
		return (struct span){0};
	return (struct span){line.at + from, end - from};
}

static struct span type_find(struct span line)
{
	static const char *const suffixes[] = {"Error", "Exception", "Rejected"};

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		size_t len = strlen(suffixes[i]), from = 0;
		const char *at;
		while ((at = span_find((struct span){line.at + from, line.len - from}, suffixes[i], len))) {
			struct span type = type_at(line, (size_t)(at - line.at) + len, len);
			if (type.len)
				return type;
			from = (size_t)(at - line.at) + len;
		}
	}
	return (struct span){0};
}

/* ---- lines ---- */

enum line_kind { LINE_PLAIN, LINE_DECLARED, LINE_HEAD, LINE_EXCEPTION };

static enum line_kind line_judge(struct span line, const char **at)
{
	struct span type = type_find(line);

	*at = line.at;
	if (list_find(declared_lines, line))
		return LINE_DECLARED;
	if (type.len && list_find(declared_types, type) && !list_find(undeclared_types, type))
		return LINE_DECLARED;
	if (type.len) {
		*at = type.at;
		return LINE_EXCEPTION;
	}
	if (list_find(heads, line))
		return span_has(line, "Traceback") ? LINE_HEAD : LINE_EXCEPTION;
	const char *phrase = list_find(phrases, line);
	if (!phrase)
		return LINE_PLAIN;
	/* in a JSON document the sentence begins behind its quote */
	for (const char *back = phrase; back > line.at; back--) {
		if (back[-1] == '"' && (back - 1 == line.at || back[-2] != '\\')) {
			*at = back;
			break;
		}
	}
	return LINE_EXCEPTION;
}

/* From there to the end of the line, or of the string of a JSON document that it is in. */
static struct span line_told(struct span line, const char *at, bool document)
{
	struct span told = {at, line.len - (size_t)(at - line.at)};

	for (size_t i = 0; document && i < told.len; i++)
		if (told.at[i] == '"' && (i == 0 || told.at[i - 1] != '\\'))
			told.len = i;
	return span_trim(told.len > LINE_TOLD ? (struct span){told.at, LINE_TOLD} : told);
}

/* "StopIteration", "shop.Broken: no such basket": what ends a traceback, whatever its type is called. */
static bool is_type_line(struct span line)
{
	size_t name = 0;

	while (name < line.len && in_name((unsigned char)line.at[name]))
		name++;
	return name > 0 && !isdigit((unsigned char)line.at[0]) && (name == line.len || line.at[name] == ':');
}

struct span exception_line(const char *text, size_t len)
{
	struct span left = {text, len < EXCEPTION_LOOK ? len : EXCEPTION_LOOK}, line, found = {0}, head = {0}, last = {0};
	bool declared = false, document = len > 0 && (*text == '{' || *text == '[');

	while (line_next(&left, &line)) {
		const char *at;
		bool indented = line.len && (*line.at == ' ' || *line.at == '\t');
		line = span_trim(line.len > LINE_LOOK ? (struct span){line.at, LINE_LOOK} : line);
		/* what led to the rest was told first: see trace.c */
		if (found.len && span_has(line, "The above exception was the direct cause of"))
			break;
		switch (line_judge(line, &at)) {
		case LINE_HEAD:
			head = line_told(line, span_find(line, "Traceback", 9), document);
			found = last = (struct span){0};
			declared = false;
			break;
		case LINE_DECLARED: declared = declared || !found.len; break;
		case LINE_EXCEPTION:
			/* below "Traceback", what is indented is source code */
			if (!found.len && !declared && !(head.len && indented))
				found = line_told(line, at, document);
			break;
		case LINE_PLAIN:
			if (head.len && !last.len && !indented && is_type_line(line))
				last = line_told(line, line.at, document);
			break;
		}
	}
	return found.len || declared ? found : last.len ? last : head;
}

bool text_is_exception(const char *text, size_t len)
{
	return text && exception_line(text, len).len > 0;
}
