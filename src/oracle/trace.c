/* Stack traces in texts: one row a language.
 *
 * A frame is told as "function (file)": without the line, which changes with every edit, and without the folder, which
 * changes with the machine, so that the same fault has the same frames tomorrow and elsewhere. The runtime's own frames
 * are left out, and so are those of the frameworks that carry a call to the target's code; where nothing else is left,
 * they are better than none.
 *
 * A text may hold several traces. The last is what ended the work, except where the language tells the cause first. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/term.h"
#include "oracle/look.h"

#define TRACE_LOOK ((size_t)1 << 20) /* bytes of a text that are looked at */
#define LINE_LOOK 2048 /* of a line */
#define SECTION_FRAMES 64
#define FRAMES_KEPT 32
#define FRAME_SHOWN 160 /* bytes of one, as it is told */

struct frame {
	struct span function, file;
	unsigned line;
};

struct language {
	const char *name;
	/* The line, trimmed, and the one before it. */
	bool (*read)(struct span line, struct span before, struct frame *ret);
	bool innermost_last;
	bool loose; /* other lines stand between its frames */
	bool cause_first; /* of several, the first is what it began with */
	const char *head; /* a line that begins another trace; may be NULL */
	const char *const *files; /* of the runtime: parts of paths */
	const char *const *functions; /* of the runtime: their beginnings */
};

/* ---- parts of lines ---- */

static bool read_number(struct span text, unsigned *ret, size_t *used)
{
	unsigned long number = 0;

	*used = 0;
	while (*used < text.len && isdigit((unsigned char)text.at[*used]) && *used < 9)
		number = number * 10 + (unsigned long)(text.at[(*used)++] - '0');
	*ret = (unsigned)number;
	return *used > 0;
}

static struct span skip(struct span text, size_t count)
{
	return (struct span){text.at + count, text.len - count};
}

static struct span until(struct span text, const char *at)
{
	return (struct span){text.at, (size_t)(at - text.at)};
}

/* "path:12:5" or, with one number, "path:12". */
static bool read_place(struct span text, unsigned numbers, struct frame *ret)
{
	for (unsigned i = 0; i < numbers; i++) {
		size_t end = text.len, used;
		while (end > 0 && isdigit((unsigned char)text.at[end - 1]))
			end--;
		if (end < 2 || end == text.len || text.at[end - 1] != ':')
			return false;
		(void)read_number(skip(text, end), &ret->line, &used);
		text.len = end - 1;
	}
	ret->file = span_begins(text, "file://") ? skip(text, 7) : text;
	return ret->file.len > 0;
}

static const char *find_last(struct span text, char c)
{
	return text.len ? memrchr(text.at, c, text.len) : NULL;
}

/* ---- languages ---- */

static bool read_python(struct span line, struct span before, struct frame *ret)
{
	size_t used;

	(void)before;
	while (line.len && (*line.at == '|' || *line.at == ' ')) /* in a group of exceptions */
		line = skip(line, 1);
	if (!span_begins(line, "File "))
		return false;
	line = skip(line, 5);
	while (line.len && *line.at == '\\')
		line = skip(line, 1);
	if (!line.len || *line.at != '"')
		return false;
	line = skip(line, 1);
	const char *end = span_find(line, "\", line ", 8);
	if (!end)
		return false;
	ret->file = until(line, end);
	while (ret->file.len && ret->file.at[ret->file.len - 1] == '\\')
		ret->file.len--;
	line = skip(line, (size_t)(end - line.at) + 8);
	if (!read_number(line, &ret->line, &used) || !span_begins(skip(line, used), ", in "))
		return false;
	ret->function = span_trim(skip(line, used + 5));
	return true;
}

/* "at Tool.run (/a.js:2:50)", "at async /a.js:4:47", "at JSON.parse (<anonymous>)" */
static bool read_node(struct span line, struct span before, struct frame *ret)
{
	(void)before;
	if (!span_begins(line, "at "))
		return false;
	line = skip(line, span_begins(line, "at async ") ? 9 : 3);
	const char *open = line.len && line.at[line.len - 1] == ')' ? span_find(line, " (", 2) : NULL;
	if (!open)
		return read_place(line, 2, ret);
	struct span place = skip(line, (size_t)(open - line.at) + 2);
	place.len--;
	ret->function = until(line, open);
	const char *as = span_find(ret->function, " [as ", 5);
	if (as)
		ret->function = until(ret->function, as);
	if (span_begins(place, "<anonymous>") || span_begins(place, "native")) {
		ret->file = place;
		return true;
	}
	return read_place(place, 2, ret);
}

/* "at java.base/java.lang.Iterable.forEach(Iterable.java:75)" */
static bool read_java(struct span line, struct span before, struct frame *ret)
{
	size_t used;

	(void)before;
	if (!span_begins(line, "at ") || line.at[line.len - 1] != ')')
		return false;
	line = skip(line, 3);
	const char *open = find_last(line, '(');
	ret->function = open ? until(line, open) : (struct span){0};
	if (!ret->function.len || memchr(ret->function.at, ' ', ret->function.len))
		return false;
	const char *module = find_last(ret->function, '/');
	if (module)
		ret->function = skip(ret->function, (size_t)(module + 1 - ret->function.at));
	ret->file = skip(line, (size_t)(open + 1 - line.at));
	ret->file.len--;
	const char *colon = find_last(ret->file, ':');
	if (!colon)
		return span_begins(ret->file, "Native Method") || span_begins(ret->file, "Unknown Source") ||
			span_has(ret->file, ".java");
	if (!read_number(skip(ret->file, (size_t)(colon + 1 - ret->file.at)), &ret->line, &used))
		return false;
	ret->file = until(ret->file, colon);
	return ret->file.len && !memchr(ret->file.at, '/', ret->file.len) && memchr(ret->file.at, '.', ret->file.len);
}

/* "at Shop.Tool.Run(String key) in /src/Tool.cs:line 12" */
static bool read_csharp(struct span line, struct span before, struct frame *ret)
{
	size_t used;

	(void)before;
	const char *in = span_begins(line, "at ") ? span_find(line, ") in ", 5) : NULL, *open;
	if (!in || !(open = memchr(line.at, '(', line.len)) || open > in)
		return false;
	ret->function = until(skip(line, 3), open);
	struct span place = skip(line, (size_t)(in + 5 - line.at));
	const char *number = span_find(place, ":line ", 6);
	if (!number || !read_number(skip(place, (size_t)(number + 6 - place.at)), &ret->line, &used))
		return false;
	ret->file = until(place, number);
	return true;
}

/* "main.(*Tool).Run(...)", then "	/src/main.go:4 +0x65" */
static bool read_go(struct span line, struct span before, struct frame *ret)
{
	const char *space = line.len ? memchr(line.at, ' ', line.len) : NULL, *open = find_last(before, '(');

	if (space)
		line = until(line, space);
	if (!span_has(line, ".go:") || !open || open == before.at || span_begins(before, "created by "))
		return false;
	ret->function = until(before, open);
	return read_place(line, 1, ret);
}

/* Its hash, which changes with the compiler: "::h" and 16 digits. */
static struct span without_hash(struct span function)
{
	if (function.len > 19 && memcmp(function.at + function.len - 19, "::h", 3) == 0)
		function.len -= 19;
	return function;
}

/* "   3: tool::inner::pick", then "             at ./src/tool.rs:1:51" */
static bool read_rust(struct span line, struct span before, struct frame *ret)
{
	unsigned number;
	size_t used;

	before = span_trim(before);
	if (!span_begins(line, "at ") || !read_number(before, &number, &used) || !span_begins(skip(before, used), ": "))
		return false;
	ret->function = without_hash(span_trim(skip(before, used + 2)));
	return read_place(skip(line, 3), 2, ret);
}

/* "#1 0x561569860edd in parse /src/x.c:3:83", "#0 0x5615 in __asan_memcpy (/bin/x+0xa2529) (BuildId: 300f)" */
static bool read_sanitizer(struct span line, struct span before, struct frame *ret)
{
	unsigned number;
	size_t used;

	(void)before;
	if (!span_begins(line, "#") || !read_number(skip(line, 1), &number, &used) ||
		!span_begins(skip(line, used + 1), " 0x"))
		return false;
	const char *in = span_find(line, " in ", 4);
	if (!in)
		return false;
	line = skip(line, (size_t)(in + 4 - line.at));
	const char *module = span_find(line, " (/", 3), *space;
	if (module) {
		ret->function = without_hash(until(line, module));
		return ret->function.len > 0;
	}
	if (!(space = find_last(line, ' ')))
		return false;
	ret->function = without_hash(until(line, space));
	struct span place = skip(line, (size_t)(space + 1 - line.at));
	if (read_place(place, 2, ret) || read_place(place, 1, ret))
		return true;
	ret->file = place; /* where the compiler has made one of several lines */
	return span_begins(place, "/");
}

/* "app.rb:3:in `run': message", "from app.rb:7:in `<main>'" */
static bool read_ruby(struct span line, struct span before, struct frame *ret)
{
	(void)before;
	if (span_begins(line, "from "))
		line = skip(line, 5);
	const char *in = span_find(line, ":in `", 5);
	if (!in)
		in = span_find(line, ":in '", 5);
	if (!in || !read_place(until(line, in), 1, ret))
		return false;
	const char *quote = find_last(ret->file, '"'); /* of a JSON document, whose first line this is */
	if (quote)
		ret->file = skip(ret->file, (size_t)(quote + 1 - ret->file.at));
	line = skip(line, (size_t)(in + 5 - line.at));
	const char *end = line.len ? memchr(line.at, '\'', line.len) : NULL;
	if (!end)
		return false;
	ret->function = until(line, end);
	return true;
}

/* "#0 /app/tool.php(12): Tool->run('x')" */
static bool read_php(struct span line, struct span before, struct frame *ret)
{
	unsigned number;
	size_t used;

	(void)before;
	if (!span_begins(line, "#") || !read_number(skip(line, 1), &number, &used) || !span_begins(skip(line, used + 1), " /"))
		return false;
	line = skip(line, used + 2);
	const char *call = span_find(line, "): ", 3);
	struct span place = call ? until(line, call) : (struct span){0};
	const char *open = find_last(place, '(');
	if (!open || !read_number(skip(place, (size_t)(open + 1 - place.at)), &ret->line, &used))
		return false;
	ret->file = until(place, open);
	struct span function = skip(line, (size_t)(call + 3 - line.at));
	const char *end = function.len ? memchr(function.at, '(', function.len) : NULL;
	ret->function = end ? until(function, end) : function;
	return true;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct language languages[] = {
	{"python", read_python, .innermost_last = true, .loose = true, .head = "Traceback (most recent call last)",
		.files = LIST("/lib/python3", "<frozen ", "<string>", "/asyncio/", "/anyio/", "/mcp/server/",
			"/mcp/shared/", "/pydantic/", "/pydantic_core/", "/starlette/", "/uvicorn/", "/fastmcp/",
			"/click/", "/atheris/", "/concurrent/futures/")},
	{"java", read_java,
		.functions = LIST("java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.",
			"com.code_intelligence.jazzer.")},
	{"c#", read_csharp, .functions = LIST("System.", "Microsoft.")},
	{"rust", read_rust, .loose = true, .cause_first = true, .head = "panicked at ",
		.files = LIST("/rustc/", "/.cargo/registry/src/"),
		.functions = LIST("core::", "std::", "alloc::", "<core::", "<std::", "<alloc::", "__rust", "rust_",
			"tokio::", "__libc_", "_start")},
	{"go", read_go, .loose = true, .cause_first = true, .head = "goroutine ",
		.files = LIST("/usr/local/go/src/", "/usr/lib/go", "/src/runtime/"),
		.functions = LIST("runtime.", "runtime/", "panic", "reflect.", "testing.", "net/http.", "encoding/",
			"github.com/mark3labs/mcp-go/")},
	{"c", read_sanitizer, .cause_first = true,
		.files = LIST("/compiler-rt/", "../sysdeps/", "/csu/", "sanitizer_common", "../csu/", "/./"), /* the last: Debian's libc */
		.functions = LIST("__asan_", "__interceptor_", "__pthread_kill", "__assert_fail", "__ubsan_", "__msan_", "__sanitizer", "__libc_", "__GI_", "__cxa_", "_Unwind_",
			"_start", "fuzzer::", "core::", "alloc::", "<core::", "<alloc::", "<std::", "operator new", "operator delete", "std::", "malloc", "calloc",
			"realloc",
			"free", "abort", "raise", "memcpy", "memmove", "memset", "strlen", "strcpy", "strdup")},
	{"php", read_php, .cause_first = true},
	{"ruby", read_ruby, .files = LIST("/lib/ruby/", "<internal:")},
	{"node", read_node,
		.files = LIST("node:", "<anonymous>", "native", "internal/", "/@modelcontextprotocol/sdk/",
			"/node_modules/zod/", "/node_modules/express/", "/@jazzer.js/")},
};

/* ---- whose code ---- */

static bool is_runtime(const struct language *language, const struct frame *frame)
{
	bool installed = span_has(frame->file, "site-packages/") || span_has(frame->file, "dist-packages/");

	for (size_t i = 0; language->files && language->files[i]; i++) {
		/* what is installed beside the runtime may be the target */
		if (installed && strcmp(language->files[i], "/lib/python3") == 0)
			continue;
		if (span_has(frame->file, language->files[i]))
			return true;
	}
	for (size_t i = 0; language->functions && language->functions[i]; i++)
		if (span_begins(frame->function, language->functions[i]))
			return true;
	return false;
}

/* ---- reading ---- */

struct section {
	const struct language *language; /* NULL: none */
	struct frame frames[SECTION_FRAMES]; /* as they are written */
	size_t count;
	bool own; /* one is not the runtime's */
};

struct reading {
	struct section now, best;
	struct frame panic; /* where a text says that it happened, without a trace */
	bool done;
};

static void section_end(struct reading *reading)
{
	struct section *now = &reading->now, *best = &reading->best;

	if (now->count && (!best->language || (now->own && !(best->own && best->language->cause_first))))
		*best = *now;
	now->language = NULL;
	now->count = 0;
	now->own = false;
}

static void section_add(struct reading *reading, const struct language *language, const struct frame *frame)
{
	struct section *now = &reading->now;

	if (now->language != language)
		section_end(reading);
	now->language = language;
	now->own |= !is_runtime(language, frame);
	if (now->count == SECTION_FRAMES && !language->innermost_last)
		return;
	if (now->count == SECTION_FRAMES)
		memmove(now->frames, now->frames + 1, --now->count * sizeof(*now->frames));
	now->frames[now->count++] = *frame;
}

static bool read_frame(struct span line, struct span before, const struct language **language, struct frame *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		*ret = (struct frame){0};
		*language = &languages[i];
		if (languages[i].read(line, before, ret))
			return true;
	}
	return false;
}

/* "thread 'main' panicked at src/tool.rs:1:51:", and before 1.73 "... panicked at 'message', src/tool.rs:1:51" */
static void read_panic(struct reading *reading, struct span line)
{
	const char *at = span_find(line, "panicked at ", 12);
	struct frame frame = {0};

	if (!at || reading->panic.file.len)
		return;
	line = skip(line, (size_t)(at + 12 - line.at));
	const char *quoted = span_find(line, "', ", 3);
	if (quoted)
		line = skip(line, (size_t)(quoted + 3 - line.at));
	if (line.len && line.at[line.len - 1] == ':')
		line.len--;
	if (read_place(line, 2, &frame))
		reading->panic = frame;
}

static void read_other(struct reading *reading, struct span line)
{
	const struct language *now = reading->now.language;

	/* it says that what was told already led to what follows */
	if (span_has(line, "The above exception was the direct cause of")) {
		section_end(reading);
		reading->done = reading->best.own;
	}
	for (size_t i = 0; i < ARRAY_LEN(languages) && line.len >= 10; i++)
		if (languages[i].head && span_has(line, languages[i].head))
			section_end(reading);
	if (now && !now->loose && !span_begins(line, "at ") && !span_begins(line, "... ") && !span_begins(line, "#"))
		section_end(reading);
	read_panic(reading, line);
}

static void read_all(struct reading *reading, struct span left)
{
	struct span line, before = {"", 0};

	while (!reading->done && line_next(&left, &line)) {
		const struct language *language;
		struct frame frame;
		struct span trimmed = span_trim(line.len > LINE_LOOK ? (struct span){line.at, LINE_LOOK} : line);
		if (trimmed.len > 3 && read_frame(trimmed, before, &language, &frame))
			section_add(reading, language, &frame);
		else
			read_other(reading, trimmed);
		before = trimmed;
	}
	section_end(reading);
}

/* ---- telling ---- */

static void frame_text(const struct frame *frame, struct buf *ret)
{
	struct span name = frame->file;

	for (size_t i = 0; i < frame->file.len; i++)
		if (frame->file.at[i] == '/' || frame->file.at[i] == '\\')
			name = skip(frame->file, i + 1);
	if (frame->function.len)
		term_line(frame->function.at, frame->function.len, FRAME_SHOWN, ret);
	else
		buf_str(ret, "<anonymous>");
	if (name.len) {
		buf_str(ret, " (");
		term_line(name.at, name.len, FRAME_SHOWN, ret);
		buf_char(ret, ')');
	}
}

static void set_place(const struct frame *frame, char **file, unsigned *line)
{
	own(buf_done) struct buf path = {0};

	if (*file || !frame->file.len)
		return;
	term_line(frame->file.at, frame->file.len, 512, &path);
	*file = buf_take(&path);
	*line = frame->line;
}

static void tell(const struct section *section, struct strings *frames, char **file, unsigned *line)
{
	for (size_t i = 0; i < section->count && frames->count < FRAMES_KEPT; i++) {
		own(buf_done) struct buf text = {0};
		const struct frame *frame = &section->frames[section->language->innermost_last ? section->count - 1 - i : i];
		if (section->own && is_runtime(section->language, frame))
			continue;
		frame_text(frame, &text);
		/* how deep it had gone when it ran out of stack is chance */
		if (frames->count && strcmp(frames->items[frames->count - 1], buf_text(&text)) == 0)
			continue;
		strings_add(frames, buf_text(&text));
		set_place(frame, file, line);
	}
}

bool text_trace(const char *text, size_t len, struct strings *frames, char **file, unsigned *line)
{
	struct reading reading;

	memset(&reading, 0, sizeof(reading));
	*file = NULL;
	*line = 0;
	if (!text)
		return false;
	read_all(&reading, (struct span){text, len < TRACE_LOOK ? len : TRACE_LOOK});
	if (reading.best.language)
		tell(&reading.best, frames, file, line);
	set_place(&reading.panic, file, line);
	return reading.best.language || reading.panic.file.len > 0;
}
