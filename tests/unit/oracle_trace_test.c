/* Real traces of each language, as its runtime prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "oracle/look.h"
#include "oracle/oracle.h"

#define TEST(name) cmocka_unit_test(name)

static const char python_cause[] = "Traceback (most recent call last):\n"
				   "  File \"/srv/tool/app.py\", line 7, in handle\n"
				   "    return Store().load(args[\"path\"])\n"
				   "           ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
				   "  File \"/srv/tool/app.py\", line 4, in load\n"
				   "    return {}[key]\n"
				   "           ~~^^^^^\n"
				   "KeyError: 'x'\n\n"
				   "The above exception was the direct cause of the following exception:\n\n"
				   "Traceback (most recent call last):\n"
				   "  File \"/srv/tool/app.py\", line 13, in <module>\n"
				   "    outer()\n"
				   "  File \"/srv/tool/app.py\", line 11, in outer\n"
				   "    handle({\"path\": \"x\"})\n"
				   "  File \"/srv/tool/app.py\", line 9, in handle\n"
				   "    raise RuntimeError(\"lookup failed\") from e\n"
				   "RuntimeError: lookup failed\n";

static const char python_library[] =
	"Traceback (most recent call last):\n"
	"  File \"/srv/tool/deep.py\", line 8, in <module>\n"
	"    parse(\"{\")\n"
	"  File \"/srv/tool/deep.py\", line 2, in parse\n"
	"    def parse(x): return json.loads(x)\n"
	"                         ^^^^^^^^^^^^^\n"
	"  File \"/usr/lib/python3.11/json/__init__.py\", line 346, in loads\n"
	"    return _default_decoder.decode(s)\n"
	"  File \"/usr/lib/python3.11/json/decoder.py\", line 337, in decode\n"
	"    obj, end = self.raw_decode(s, idx=_w(s, 0).end())\n"
	"json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)\n";

static const char python_installed[] =
	"Traceback (most recent call last):\n"
	"  File \"/usr/lib/python3.11/asyncio/runners.py\", line 190, in run\n"
	"    return runner.run(main)\n"
	"  File \"/venv/lib/python3.11/site-packages/mcp/server/lowlevel/server.py\", line 512, in handler\n"
	"    results = await func(req.params.name, (req.params.arguments or {}))\n"
	"  File \"/venv/lib/python3.11/site-packages/mcp_server_git/server.py\", line 301, in call_tool\n"
	"    repo_path = Path(arguments[\"repo_path\"])\n"
	"KeyError: 'repo_path'\n";

static const char python_deep[] = "Traceback (most recent call last):\n"
				  "  File \"/srv/tool/deep.py\", line 5, in <module>\n"
				  "    if sys.argv[1]==\"r\": rec(0)\n"
				  "                         ^^^^^^\n"
				  "  File \"/srv/tool/deep.py\", line 3, in rec\n"
				  "    def rec(n): return rec(n+1)\n"
				  "                       ^^^^^^^^\n"
				  "  File \"/srv/tool/deep.py\", line 3, in rec\n"
				  "    def rec(n): return rec(n+1)\n"
				  "                       ^^^^^^^^\n"
				  "  File \"/srv/tool/deep.py\", line 3, in rec\n"
				  "    def rec(n): return rec(n+1)\n"
				  "                       ^^^^^^^^\n"
				  "  [Previous line repeated 996 more times]\n"
				  "RecursionError: maximum recursion depth exceeded\n";

static const char python_group[] = "  + Exception Group Traceback (most recent call last):\n"
				   "  |   File \"/srv/tool/deep.py\", line 7, in <module>\n"
				   "  |     raise ExceptionGroup(\"many\", [ValueError(\"a\"), TypeError(\"b\")])\n"
				   "  | ExceptionGroup: many (2 sub-exceptions)\n"
				   "  +-+---------------- 1 ----------------\n"
				   "    | ValueError: a\n";

static const char node[] = "TypeError: Cannot read properties of undefined (reading 'c')\n"
			   "    at Tool.run (/srv/tool/a.js:2:50)\n"
			   "    at async main (file:///srv/tool/b.mjs:3:113)\n"
			   "    at Object.<anonymous> (/srv/tool/a.js:4:1)\n"
			   "    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n"
			   "    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)\n"
			   "    at node:internal/main/run_main_module:28:49\n";

static const char node_parse[] = "/srv/tool/u.js:1\n"
				 "function Anon(){ return (()=>{ throw new TypeError(\"boom\\nsecond\"); })(); }\n"
				 "                               ^\n\n"
				 "TypeError: boom\n"
				 "second\n"
				 "    at /srv/tool/u.js:1:38\n"
				 "    at new Anon (/srv/tool/u.js:1:71)\n"
				 "    at Array.map (<anonymous>)\n"
				 "    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n\n"
				 "Node.js v20.20.2\n";

static const char go[] = "panic: runtime error: index out of range [5] with length 3\n\n"
			 "goroutine 1 [running]:\n"
			 "main.(*Tool).Run(...)\n"
			 "\t/srv/tool/main.go:4\n"
			 "main.main.func1(...)\n"
			 "\t/srv/tool/main.go:6\n"
			 "main.main()\n"
			 "\t/srv/tool/main.go:6 +0x65\n\n"
			 "goroutine 7 [select]:\n"
			 "main.other()\n"
			 "\t/srv/tool/other.go:9 +0x65\n"
			 "exit status 2\n";

static const char rust[] =
	"\nthread 'main' (29313) panicked at src/tool.rs:1:51:\n"
	"index out of bounds: the len is 3 but the index is 5\n"
	"stack backtrace:\n"
	"   0: __rustc::rust_begin_unwind\n"
	"             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5\n"
	"   1: core::panicking::panic_fmt\n"
	"             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:80:14\n"
	"   2: core::panicking::panic_bounds_check\n"
	"             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:271:5\n"
	"   3: tool::inner::pick::h0123456789abcdef\n"
	"             at ./src/tool.rs:1:51\n"
	"   4: tool::handle\n"
	"             at ./src/tool.rs:2:27\n"
	"   5: tool::main\n"
	"             at ./src/tool.rs:3:92\n"
	"   6: core::ops::function::FnOnce::call_once\n"
	"             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/ops/function.rs:250:5\n"
	"note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n";

static const char java[] =
	"Exception in thread \"main\" java.lang.IllegalStateException: tool failed\n"
	"\tat T.handle(T.java:3)\n"
	"\tat T.lambda$main$0(T.java:4)\n"
	"\tat java.base/java.lang.Iterable.forEach(Iterable.java:75)\n"
	"\tat T.main(T.java:4)\n"
	"Caused by: java.lang.NullPointerException: Cannot invoke \"String.trim()\" because the return value of "
	"\"java.util.Map.get(Object)\" is null\n"
	"\tat T$Tool.run(T.java:2)\n"
	"\tat java.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\n"
	"\t... 4 more\n";

static const char aborted[] =
	"==2==ERROR: AddressSanitizer: ABRT on unknown address 0x000000000002 (pc 0x7fbdb86a8eeb)\n"
	"    #0 0x55f131255ce1 in __sanitizer_print_stack_trace (/fuzz/harness+0xe8ce1) (BuildId: 056d0e4f0a025c9c)\n"
	"    #3 0x7fbdb865a04f  (/lib/x86_64-linux-gnu/libc.so.6+0x3c04f) (BuildId: 93ac61ec5a8eb1396f)\n"
	"    #4 0x7fbdb86a8eeb in __pthread_kill_implementation nptl/./nptl/pthread_kill.c:43:17\n"
	"    #5 0x7fbdb8659fb1 in raise signal/../sysdeps/posix/raise.c:26:13\n"
	"    #6 0x7fbdb8644471 in abort stdlib/./stdlib/abort.c:79:7\n"
	"    #7 0x55f131286b80 in word /target/w.c:7:3\n";

static const char sanitizer[] =
	"=================================================================\n"
	"==29998==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x56156982552a bp 0x7ffe04257b10\n"
	"WRITE of size 16 at 0x602000000018 thread T0\n"
	"    #0 0x561569825529 in __asan_memcpy (/srv/tool/x+0xa2529) (BuildId: 300f736ef149ee130efe137dbbfe2cbb296548a2)\n"
	"    #1 0x561569860edd in parse /srv/tool/x.c:3:83\n"
	"    #2 0x561569861013 in handle /srv/tool/x.c:4:28\n"
	"    #3 0x561569861013 in main /srv/tool/x.c:5:93\n"
	"    #4 0x7f0c2a490249 in __libc_start_call_main csu/../sysdeps/nptl/libc_start_call_main.h:58:16\n"
	"    #6 0x5615697a3300 in _start (/srv/tool/x+0x20300) (BuildId: 300f736ef149ee130efe137dbbfe2cbb296548a2)\n\n"
	"0x602000000018 is located 0 bytes to the right of 8-byte region [0x602000000010,0x602000000018)\n"
	"allocated by thread T0 here:\n"
	"    #0 0x56156982614e in __interceptor_malloc (/srv/tool/x+0xa314e) (BuildId: 300f736ef149ee130efe137dbbfe2cbb296548a2)\n"
	"    #1 0x561569860ec0 in elsewhere /srv/tool/x.c:3:72\n\n"
	"SUMMARY: AddressSanitizer: heap-buffer-overflow (/srv/tool/x+0xa2529) in __asan_memcpy\n";

static const char ruby[] = "/srv/tool/app.rb:3:in `load': undefined method `[]' for nil:NilClass (NoMethodError)\n"
			   "\tfrom /srv/tool/app.rb:7:in `handle'\n"
			   "\tfrom /usr/lib/ruby/3.1.0/optparse.rb:1:in `parse'\n"
			   "\tfrom /srv/tool/app.rb:10:in `<main>'\n";

static const char php[] =
	"PHP Fatal error:  Uncaught TypeError: strlen(): Argument #1 ($string) must be of type string, array given in "
	"/srv/tool/app.php:3\n"
	"Stack trace:\n"
	"#0 /srv/tool/app.php(7): load(Array)\n"
	"#1 /srv/tool/app.php(10): Tool->handle('x')\n"
	"#2 {main}\n"
	"  thrown in /srv/tool/app.php on line 3\n";

static const char csharp[] =
	"Unhandled exception. System.NullReferenceException: Object reference not set to an instance of an object.\n"
	"   at Shop.Tool.Run(String key) in /srv/tool/Tool.cs:line 12\n"
	"   at System.Linq.Enumerable.ToList[T](IEnumerable`1 source)\n"
	"   at Shop.Program.Main(String[] args) in /srv/tool/Program.cs:line 5\n";

static const struct {
	const char *name, *text, *frames, *file;
	unsigned line;
} traces[] = {
	{"python, the cause of another", python_cause, "load (app.py)|handle (app.py)", "/srv/tool/app.py", 4},
	{"python, in its library", python_library, "parse (deep.py)|<module> (deep.py)", "/srv/tool/deep.py", 2},
	{"python, installed", python_installed, "call_tool (server.py)",
		"/venv/lib/python3.11/site-packages/mcp_server_git/server.py", 301},
	{"python, a stack that ran out", python_deep, "rec (deep.py)|<module> (deep.py)", "/srv/tool/deep.py", 3},
	{"python, a group", python_group, "<module> (deep.py)", "/srv/tool/deep.py", 7},
	{"node", node, "Tool.run (a.js)|main (b.mjs)|Object.<anonymous> (a.js)", "/srv/tool/a.js", 2},
	{"node, without names", node_parse, "<anonymous> (u.js)|new Anon (u.js)", "/srv/tool/u.js", 1},
	{"go", go, "main.(*Tool).Run (main.go)|main.main.func1 (main.go)|main.main (main.go)", "/srv/tool/main.go", 4},
	{"rust", rust, "tool::inner::pick (tool.rs)|tool::handle (tool.rs)|tool::main (tool.rs)", "./src/tool.rs", 1},
	{"rust, without a trace",
		"thread 'main' panicked at src/tool.rs:3:80:\ncalled `Option::unwrap()` on a `None` value\n", "",
		"src/tool.rs", 3},
	{"rust, before 1.73", "thread 'main' panicked at 'boom', src/tool.rs:3:80\n", "", "src/tool.rs", 3},
	{"java, its root", java, "T$Tool.run (T.java)", "T.java", 2},
	{"an abort", aborted, "word (w.c)", "/target/w.c", 7},
	{"sanitizer", sanitizer, "parse (x.c)|handle (x.c)|main (x.c)", "/srv/tool/x.c", 3},
	{"ruby", ruby, "load (app.rb)|handle (app.rb)|<main> (app.rb)", "/srv/tool/app.rb", 3},
	{"php", php, "load (app.php)|Tool->handle (app.php)", "/srv/tool/app.php", 7},
	{"c#", csharp, "Shop.Tool.Run (Tool.cs)|Shop.Program.Main (Program.cs)", "/srv/tool/Tool.cs", 12},
	{"nothing but the runtime",
		"Error: x\n    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n    at node:internal/main/run_main_module:28:49\n",
		"Module._compile (loader)|<anonymous> (run_main_module)", "node:internal/modules/cjs/loader", 1521},
};

static void check_trace(
	const char *name, const char *text, size_t len, const char *expected, const char *path, unsigned number)
{
	own(strings_done) struct strings frames = {0};
	own(buf_done) struct buf joined = {0};
	own(freep) char *file = NULL;
	unsigned line;

	if (!text_trace(text, len, &frames, &file, &line))
		fail_msg("%s: no trace is seen", name);
	for (size_t i = 0; i < frames.count; i++)
		buf_fmt(&joined, "%s%s", i ? "|" : "", frames.items[i]);
	if (strcmp(buf_text(&joined), expected) != 0 || !file || strcmp(file, path) != 0 || line != number)
		fail_msg("%s: '%s' in %s:%u", name, buf_text(&joined), file ? file : "(null)", line);
}

static void frames_are_the_targets_own_and_innermost_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(traces); i++)
		check_trace(traces[i].name, traces[i].text, strlen(traces[i].text), traces[i].frames, traces[i].file, traces[i].line);
}

static void a_trace_in_a_json_document_is_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
		own(json_done) struct json json = {0};
		json_open(&json, '{');
		json_put_string(&json, "isError", "true");
		json_put_string(&json, "text", traces[i].text);
		json_close(&json, '}');
		check_trace(traces[i].name, json.out.data, json.out.len, traces[i].frames, traces[i].file, traces[i].line);
	}
}

static void every_real_trace_is_an_exception(void **state)
{
	(void)state;
	for (size_t i = 0; i + 1 < ARRAY_LEN(traces); i++)
		if (!text_is_exception(traces[i].text, strlen(traces[i].text)))
			fail_msg("%s: no exception is seen", traces[i].name);
}

static void what_is_no_trace_has_no_frames(void **state)
{
	static const char *const texts[] = {"", "at", "at ", "#", "File \"", "a sentence (with:1:2) in it",
		"meet me at noon", "at 12:30", "File \"x\", line", "#1 the first\n#2 the second",
		"goroutine 1 [running]:", "one\ntwo\nthree", "#0 0x in ", "\\n\\n\\n", "at (", "at )"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(strings_done) struct strings frames = {0};
		own(freep) char *file = NULL;
		unsigned line;
		if (text_trace(texts[i], strlen(texts[i]), &frames, &file, &line))
			fail_msg("'%s' is taken for a trace", texts[i]);
		assert_null(file);
		assert_int_equal(frames.count, 0);
	}
}

static void a_trace_without_end_is_bounded(void **state)
{
	own(buf_done) struct buf text = {0};
	own(strings_done) struct strings frames = {0};
	own(freep) char *file = NULL;
	unsigned line;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_fmt(&text, "    at f%d (/srv/a.js:%d:1)\n", i, i + 1);
	assert_true(text_trace(text.data, text.len, &frames, &file, &line));
	assert_int_equal(frames.count, 32);
	assert_string_equal(frames.items[0], "f0 (a.js)");
}

static void exceptions_are_told_from_sentences(void **state)
{
	static const struct {
		const char *text;
		bool exception;
	} cases[] = {
		{"TypeError: Cannot read properties of undefined (reading 'x')", true},
		{"Cannot read properties of undefined (reading 'x')", true},
		{"Error executing tool f: 'NoneType' object has no attribute 'strip'", true},
		{"KeyError: 'x'", true},
		{"ValueError: too long", true},
		{"Error executing tool f: list index out of range", true},
		{"maximum recursion depth exceeded while decoding", true},
		{"panic: runtime error: invalid memory address or nil pointer dereference", true},
		{"runtime error: index out of range [5] with length 3", true},
		{"invalid literal for int() with base 10: 'a'", true},
		{"float division by zero", true},
		{"Internal error", true},
		{"Internal server error", true},
		{"Unhandled promise rejection", true},
		{"java.lang.NullPointerException", true},
		{"TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be of type string. Received undefined",
			true},
		{"{\"error\":\"RecursionError: maximum recursion depth exceeded\"}", true},
		{"ModuleNotFoundError: No module named 'x'", true},
		{"AssertionError", true},
		{"Error: boom\nTypeError: x.map is not a function", true},
		{"", false},
		{"Error", false},
		{"Error: Access denied - path outside allowed directories: /etc not in /workspace", false},
		{"Invalid path: must be absolute", false},
		{"ValidationError: 1 error", false},
		{"pydantic_core._pydantic_core.ValidationError: 1 validation error for read", false},
		{"1 validation error for readArguments\npath\n  Field required [type=missing, input_value={}, input_type=dict]",
			false},
		{"MCP error -32602: Invalid arguments for tool read: [{\"code\":\"invalid_type\"}]", false},
		{"Input validation error: 5 is not of type 'string'", false},
		{"ToolRejected: no such city", false},
		{"McpError: Invalid timezone", false},
		{"ENOENT: no such file or directory, open '/x'", false},
		{"Error: ENOENT: no such file or directory, open '/x'", false},
		{"FileNotFoundError: [Errno 2] No such file or directory: '/x'", false},
		{"PermissionError: [Errno 13] Permission denied: '/x'", false},
		{"std::Error::from(x)", false},
		{"the file has 3 TypeErrors in it", false},
		{"All good. No error: everything is fine", false},
		{"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nToolRejected: not for you",
			false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (text_is_exception(cases[i].text, strlen(cases[i].text)) != cases[i].exception)
			fail_msg("'%s' is %s", cases[i].text, cases[i].exception ? "an exception" : "none");
}

static void an_exception_is_told_by_its_last_line(void **state)
{
#define TRACED "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    raise Broken: x\n"
	static const struct {
		const char *text, *told;
	} cases[] = {
		{TRACED "ValueError: no such thing\n", "ValueError: no such thing"},
		{TRACED "shop.Broken: no basket\nand more of it\n", "shop.Broken: no basket"},
		{"it failed\n" TRACED "StopIteration\n", "StopIteration"},
		{TRACED, "Traceback (most recent call last):"},
		{TRACED "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" TRACED "Odd: b\n", "Odd: b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct span line = exception_line(cases[i].text, strlen(cases[i].text));
		if (line.len != strlen(cases[i].told) || memcmp(line.at, cases[i].told, line.len) != 0)
			fail_msg("'%s' is told as '%.*s'", cases[i].text, (int)line.len, line.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_are_the_targets_own_and_innermost_first),
		TEST(a_trace_in_a_json_document_is_the_same),
		TEST(every_real_trace_is_an_exception),
		TEST(what_is_no_trace_has_no_frames),
		TEST(a_trace_without_end_is_bounded),
		TEST(exceptions_are_told_from_sentences),
		TEST(an_exception_is_told_by_its_last_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
