/* Speaking with real programs, good and bad ones. Their cells are those of the backend that protects nothing, or of the one
 * that HOTCELL_TEST_BACKEND names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuzz/tool/target.h"

/* One file, a way to misbehave a word. */
static const char servers[] =
"import sys, os, json, time, signal\n"
"mode = sys.argv[1]\n"
"out = sys.stdout.buffer\n"
"def say(data):\n"
"    out.write(data if isinstance(data, bytes) else (json.dumps(data) + '\\n').encode()); out.flush()\n"
"def lines():\n"
"    while True:\n"
"        line = sys.stdin.readline()\n"
"        if not line: return\n"
"        yield json.loads(line)\n"
"def echo():\n"
"    for value in lines(): say({'echo': value})\n"
"def hang():\n"
"    for value in lines(): time.sleep(1000)\n"
"def crash():\n"
"    for value in lines():\n"
"        if value.get('a') == 'crash':\n"
"            out.write(b'{\"ec'); out.flush(); os.kill(os.getpid(), signal.SIGSEGV)\n"
"        say({'echo': value})\n"
"def exit3():\n"
"    for value in lines(): print('no more', file=sys.stderr); sys.exit(3)\n"
"def after():\n"
"    for value in lines():\n"
"        say({'echo': value}); os.kill(os.getpid(), signal.SIGSEGV)\n"
"def once():\n"
"    for value in lines():\n"
"        say({'echo': value}); sys.exit(0)\n"
"def flood():\n"
"    for value in lines():\n"
"        while True: say(b'{}\\n' * 1000)\n"
"def logs():\n"
"    sys.stdin.readline()\n"
"    while True: say(b'log line\\n' * 1000)\n"
"def huge():\n"
"    for value in lines(): say(b'\"' + b'x' * 10000000 + b'\"\\n')\n"
"def utf8():\n"
"    for value in lines(): say(b'{\"a\": \"\\xff\\xfe\"}\\n')\n"
"def text():\n"
"    for value in lines(): say(b'hello \\x1b[31m\\n')\n"
"def before():\n"
"    say(b'welcome\\n'); echo()\n"
"def twice():\n"
"    for value in lines(): say(b'{}\\n{}\\n')\n"
"def deaf():\n"
"    time.sleep(1000)\n"
"def closes():\n"
"    for value in lines(): os.close(1); time.sleep(1000)\n"
"def forks():\n"
"    for value in lines():\n"
"        if os.fork() == 0: time.sleep(1000)\n"
"        os._exit(7)\n"
"def noisy():\n"
"    if os.fork() == 0:\n"
"        while True: os.write(2, b'noise ' * 1000)\n"
"    echo()\n"
"def spawns():\n"
"    os.system('true at-start')\n"
"    for value in lines():\n"
"        if value.get('a'): os.system('true ' + value['a'])\n"
"        say({})\n"
"def says():\n"
"    for value in lines(): print('about', value, file=sys.stderr, flush=True); say({})\n"
"def rejects():\n"
"    for value in lines(): say({'error': 'a is too long'} if value['a'] else {'error': 'Traceback (most recent call last):\\n  File \"x.py\", line 3, in f\\nKeyError: 1'})\n"
"def fails():\n"
"    sys.stderr.write('cannot \\x1b[1mopen my files\\n'); sys.exit(4)\n"
"def once_exec():\n"
"    value = json.loads(sys.stdin.read())\n"
"    a = value.get('a')\n"
"    if a == 'no': sys.stderr.write('a must not be no\\n'); sys.exit(2)\n"
"    if a == 'raise': raise KeyError('x')\n"
"    if a == 'signal': os.kill(os.getpid(), signal.SIGABRT)\n"
"    if a == 'sleep': time.sleep(1000)\n"
"    if a == 'text': print('done')\n"
"    elif a == 'error': print(json.dumps({'error': 'it is wrong'}))\n"
"    else: print(json.dumps({'got': value}))\n"
"def args():\n"
"    print(json.dumps(sys.argv[2:]))\n"
"TOOLS = [{'name': 'echo', 'description': 'says it again', 'inputSchema': {'type': 'object', 'properties': {'a': {'type': 'string'}}, 'required': ['a']},\n"
"   'outputSchema': {'type': 'object'}},\n"
"  {'name': 'loop\\x1b', 'inputSchema': {'$ref': '#'}},\n"
"  {'name': 'endless', 'inputSchema': {'type': 'object', 'properties': {'a': {'$ref': '#'}}, 'required': ['a']}},\n"
"  {'name': 'echo', 'inputSchema': {}}, {'name': 'half\\ud800', 'inputSchema': {}}, {'name': 'none'}, {'inputSchema': {}}, 7]\n"
"def mcp():\n"
"    how = sys.argv[2] if len(sys.argv) > 2 else ''\n"
"    asked = 0\n"
"    for m in lines():\n"
"        method, id, p = m.get('method'), m.get('id'), m.get('params') or {}\n"
"        def result(value): say({'jsonrpc': '2.0', 'id': id, 'result': value})\n"
"        if method == 'initialize':\n"
"            if how == 'old': result({'protocolVersion': '1999-01-01', 'capabilities': {}})\n"
"            elif how == 'nothing': result({'protocolVersion': '2024-11-05', 'capabilities': {}, 'serverInfo': {'name': 'x'}})\n"
"            else: result({'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}, 'resources': {}, 'prompts': {}}, 'serverInfo': {'name': 'test', 'version': '1.2'}})\n"
"        elif method == 'notifications/initialized':\n"
"            say({'jsonrpc': '2.0', 'id': 'p', 'method': 'ping'}); say({'jsonrpc': '2.0', 'id': 8, 'method': 'roots/list'})\n"
"        elif method == 'tools/list':\n"
"            if how == 'many': result({'tools': [{'name': 't%d' % i, 'inputSchema': {}} for i in range(1500)]})\n"
"            elif how == 'pages': result({'tools': [], 'nextCursor': 'again'})\n"
"            elif p.get('cursor') == 'two': result({'tools': TOOLS[1:]})\n"
"            else: result({'tools': TOOLS[:1], 'nextCursor': 'two'})\n"
"        elif method == 'resources/list': result({'resources': [{'uri': 'file:///a.txt', 'name': 'a'}]})\n"
"        elif method == 'resources/templates/list': result({'resourceTemplates': [{'uriTemplate': 'file:///{path}', 'name': 'a'}]})\n"
"        elif method == 'resources/read': say({'jsonrpc': '2.0', 'id': id, 'error': {'code': -32002, 'message': 'no such resource'}})\n"
"        elif method == 'prompts/list': result({'prompts': [{'name': 'ask', 'arguments': [{'name': 'q', 'required': True}, {'name': 'r'}]},\n"
"            {'name': 'echo', 'arguments': [{'name': 'q', 'required': True}]}]})\n"
"        elif method == 'prompts/get' and p['name'] not in ('ask', 'echo'): say({'jsonrpc': '2.0', 'id': id, 'error': {'code': -32602, 'message': 'no such prompt'}})\n"
"        elif method == 'prompts/get': result({'messages': [{'role': 'user', 'content': {'type': 'text', 'text': p['arguments']['q']}}]})\n"
"        elif method is None: asked += 1; sys.stderr.write(json.dumps(m) + '\\n'); sys.stderr.flush()\n"
"        elif method == 'tools/call':\n"
"            a = p['arguments'].get('a')\n"
"            ok = {'content': [{'type': 'text', 'text': 'hi'}], 'structuredContent': {'asked': asked, 'a': a}}\n"
"            if a == 'log': say(b'a log line\\n'); say({'jsonrpc': '2.0', 'method': 'notifications/message'}); result(ok)\n"
"            elif a == 'twice': say(b'' .join([(json.dumps({'jsonrpc': '2.0', 'id': id, 'result': ok}) + '\\n').encode()] * 2))\n"
"            elif a == 'wrong': say({'jsonrpc': '2.0', 'id': 7777, 'result': ok})\n"
"            elif a == 'bad': say(b'{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\\n')\n"
"            elif a == 'error': result({'content': [{'type': 'text', 'text': 'a is wrong'}], 'isError': True})\n"
"            elif a == 'failed': result({'content': [{'type': 'text', 'text': 'Traceback (most recent call last):\\n  File \"a.py\", line 1, in f\\nKeyError: 1'}], 'isError': True})\n"
"            elif a == 'params': say({'jsonrpc': '2.0', 'id': id, 'error': {'code': -32602, 'message': 'a is wrong'}})\n"
"            elif a == 'internal': say({'jsonrpc': '2.0', 'id': id, 'error': {'code': -32603, 'message': 'oops'}})\n"
"            elif a == 'method': say({'jsonrpc': '2.0', 'id': id, 'error': {'code': -32601, 'message': 'oops'}})\n"
"            elif a == 'content': result({'content': 'text'})\n"
"            else: result(ok)\n"
"def http():\n"
"    from http.server import BaseHTTPRequestHandler, HTTPServer\n"
"    port, how = int(sys.argv[2]), sys.argv[3]\n"
"    class Handler(BaseHTTPRequestHandler):\n"
"        protocol_version = 'HTTP/1.1'\n"
"        def log_message(self, *args): pass\n"
"        def send(self, status, body, type='application/json'):\n"
"            self.send_response(status); self.send_header('Content-Type', type)\n"
"            self.send_header('Mcp-Session-Id', 'abc')\n"
"            self.send_header('Content-Length', str(len(body)))\n"
"            if how == 'close': self.send_header('Connection', 'close')\n"
"            self.end_headers(); self.wfile.write(body); self.wfile.flush()\n"
"        def do_POST(self):\n"
"            m = json.loads(self.rfile.read(int(self.headers['Content-Length'])))\n"
"            method, id, p = m.get('method'), m.get('id'), m.get('params') or {}\n"
"            if method != 'initialize' and self.headers['Mcp-Session-Id'] != 'abc': return self.send(404, b'')\n"
"            if id is None: return self.send(202, b'')\n"
"            a = p.get('arguments', {}).get('a')\n"
"            if a == 'status': return self.send(500, b'it broke')\n"
"            if a == 'refuse': return self.send(422, b'a is wrong')\n"
"            if a == 'crash': os.kill(os.getpid(), signal.SIGSEGV)\n"
"            if a == 'junk': self.wfile.write(b'junk\\r\\n\\r\\n'); return\n"
"            if a == 'spawn': os.system('true spawned')\n"
"            r = {'initialize': {'protocolVersion': '2025-03-26', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'h', 'version': '2'}},\n"
"                 'tools/list': {'tools': TOOLS[:1]}}.get(method) or {'content': [], 'structuredContent': {'a': a}}\n"
"            body = json.dumps({'jsonrpc': '2.0', 'id': id, 'result': r}).encode()\n"
"            if how != 'sse': return self.send(200, body)\n"
"            self.send_response(200); self.send_header('Content-Type', 'text/event-stream'); self.send_header('Mcp-Session-Id', 'abc')\n"
"            self.send_header('Transfer-Encoding', 'chunked'); self.end_headers()\n"
"            for part in (b': hello\\n\\nevent: message\\ndata: ' + body[:9], body[9:] + b'\\n\\n', b''):\n"
"                self.wfile.write(b'%x\\r\\n%s\\r\\n' % (len(part), part)); self.wfile.flush()\n"
"    time.sleep(0.2); HTTPServer(('127.0.0.1', port), Handler).serve_forever()\n"
"globals()[mode]()\n";

struct world {
	struct loop *loop;
	struct cell_pool *pool;
	struct cell_spec spec;
	struct cell_mount mount;
	char folder[64], script[80];
	bool is_cell; /* it sees the folder elsewhere */
	const char *argv[12];
	struct target_options options;
	struct target *target;
	struct session *session;
	const struct exchange *seen;
};

static int open_world(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));
	const char *backend = getenv("HOTCELL_TEST_BACKEND");
	struct err err = {0};

	(void)snprintf(world->folder, sizeof(world->folder), "/tmp/fuzz-target-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	assert_int_equal(chmod(world->folder, 0755), 0);
	(void)snprintf(world->script, sizeof(world->script), "%s/server.py", world->folder);
	FILE *file = fopen(world->script, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(servers, 1, sizeof(servers) - 1, file), sizeof(servers) - 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(world->script, 0644), 0);
	world->loop = loop_open(&err);
	world->pool = cell_pool_open(backend ? backend : "none", world->loop, &err);
	assert_non_null(world->pool);
	world->is_cell = backend && strcmp(backend, "none") != 0;
	cell_spec_defaults(&world->spec);
	world->mount = (struct cell_mount){.source = world->folder, .target = "/servers"};
	world->spec.mounts = &world->mount;
	world->spec.mount_count = 1;
	world->spec.argv = world->argv;
	*state = world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	world->session = session_free(world->session);
	world->target = target_free(world->target);
	world->pool = cell_pool_free(world->pool);
	world->loop = loop_free(world->loop);
	(void)unlink(world->script);
	assert_int_equal(rmdir(world->folder), 0);
	free(world);
	return 0;
}

static void prepare(struct world *world, enum target_mode mode, const char *server, const char *word)
{
	static const char schema[] = "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}";

	world->argv[0] = "python3";
	world->argv[1] = world->is_cell ? "/servers/server.py" : world->script;
	world->argv[2] = server;
	world->argv[3] = word;
	world->options = (struct target_options){.mode = mode, .spec = &world->spec, .start_ns = 20 * NS_PER_S, .call_ns = 10 * NS_PER_S};
	if (mode == TARGET_MCP || mode == TARGET_MCP_HTTP)
		return;
	world->options.schema_text = schema;
	world->options.schema_len = strlen(schema);
}

static void open_target(struct world *world)
{
	struct err err = {0};

	world->target = target_open(&world->options, world->loop, world->pool, &err);
	if (!world->target)
		fail_msg("%s", err.text);
	world->session = session_open(world->target, &err);
	if (!world->session)
		fail_msg("%s", err.text);
}

static const struct subject *subject_of(const struct world *world, const char *name)
{
	const struct subjects *subjects = target_subjects(world->target);

	for (size_t i = 0; i < subjects->count; i++)
		if (!name || strcmp(subjects->list[i].name, name) == 0)
			return &subjects->list[i];
	fail_msg("there is no subject '%s'", name ? name : "");
	return NULL;
}

static const struct reply *call(struct world *world, const char *input)
{
	struct err err = {0};

	world->seen = session_call(world->session, subject_of(world, NULL), input, strlen(input), &err);
	if (!world->seen)
		fail_msg("%s", err.text);
	return &world->seen->reply;
}

static void expect(struct world *world, const char *input, enum reply_kind kind, const char *message)
{
	const struct reply *reply = call(world, input);

	if (reply->kind != kind || !strstr(reply->message, message))
		fail_msg("%s: it is %s, '%s'", input, reply_kind_name(reply->kind), reply->message);
}

static void speak(struct world *world, const char *server)
{
	prepare(world, TARGET_LINES, server, NULL);
	open_target(world);
}

/* ---- lines ---- */

static void a_line_server_answers_many_calls(void **state)
{
	struct world *world = *state;

	speak(world, "echo");
	for (int i = 0; i < 100; i++) {
		const struct reply *reply = call(world, "{\"a\": \"x\"}");
		assert_int_equal(reply->kind, REPLY_OK);
		assert_string_equal(reply->text, "{\"echo\": {\"a\": \"x\"}}");
		assert_int_equal(reply->len, strlen(reply->text));
		assert_non_null(value_get(reply->output, "echo"));
		assert_true(reply->ns > 0);
	}
	assert_int_equal(world->seen->calls, 100);
	assert_false(world->seen->ended);
	assert_true(world->seen->memory_count >= 6);
	assert_int_equal(session_restarts(world->session), 0);
	session_restart(world->session);
	assert_int_equal(call(world, "{}")->kind, REPLY_OK);
	assert_int_equal(world->seen->calls, 1);
	assert_int_equal(session_restarts(world->session), 1);
}

static void a_call_of_a_megabyte_is_written_as_it_can_be(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf input = {0};

	speak(world, "echo");
	buf_str(&input, "{\"a\": \"");
	for (int i = 0; i < 1 << 20; i++)
		buf_char(&input, 'x');
	buf_str(&input, "\"}");
	assert_int_equal(call(world, buf_text(&input))->kind, REPLY_OK);
	assert_int_equal(world->seen->reply.len, input.len + strlen("{\"echo\": }"));
}

static void what_does_not_answer_is_late_and_made_anew(void **state)
{
	static const char *const servers_that_wait[] = {"hang", "deaf"};
	struct world *world = *state;
	own(buf_done) struct buf large = {0};

	buf_char(&large, '"'); /* more than a pipe holds */
	for (int i = 0; i < 300000; i++)
		buf_char(&large, 'x');
	buf_char(&large, '"');
	for (size_t i = 0; i < ARRAY_LEN(servers_that_wait); i++) {
		prepare(world, TARGET_LINES, servers_that_wait[i], NULL);
		world->options.call_ns = 200 * NS_PER_MS;
		open_target(world);
		expect(world, "{}", REPLY_LATE, "it did not answer within 200 ms");
		assert_true(world->seen->ended);
		assert_non_null(world->seen->result);
		assert_int_equal(world->seen->result->outcome, CELL_CANCELLED);
		expect(world, buf_text(&large), REPLY_LATE, "it did not answer within 200 ms");
		assert_int_equal(session_restarts(world->session), 1);
		world->session = session_free(world->session);
		world->target = target_free(world->target);
	}
}

static void an_end_inside_a_call_is_told_with_its_result(void **state)
{
	struct world *world = *state;

	speak(world, "crash");
	assert_int_equal(call(world, "{\"a\": \"x\"}")->kind, REPLY_OK);
	expect(world, "{\"a\": \"crash\"}", REPLY_ENDED, "signal 11");
	assert_true(world->seen->ended);
	assert_int_equal(world->seen->result->signal, 11);
	assert_string_equal(world->seen->reply.text, "{\"ec"); /* as far as it came */
	assert_int_equal(call(world, "{\"a\": \"x\"}")->kind, REPLY_OK);
	assert_int_equal(session_restarts(world->session), 1);
	assert_int_equal(world->seen->calls, 1);
}

static void an_exit_inside_a_call_is_an_end_too(void **state)
{
	struct world *world = *state;

	speak(world, "exit3");
	expect(world, "{}", REPLY_ENDED, "exit code 3");
	assert_non_null(strstr(world->seen->reply.said, "no more"));
}

static void an_end_after_the_answer_is_told_once(void **state)
{
	struct world *world = *state;
	unsigned ended = 0, ok = 0;

	speak(world, "after");
	for (int i = 0; i < 4; i++) {
		const struct reply *reply = call(world, "{}");
		ended += world->seen->ended && world->seen->result->signal == 11;
		ok += reply->kind == REPLY_OK;
		for (int turn = 0; turn < 30; turn++)
			assert_int_equal(loop_turn(world->loop, 10), 0);
	}
	assert_true(ended >= 2);
	assert_true(ok >= 2);
}

static void a_clean_end_between_calls_is_nothing(void **state)
{
	struct world *world = *state;

	speak(world, "once");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(call(world, "{}")->kind, REPLY_OK);
		for (int turn = 0; turn < 30; turn++)
			assert_int_equal(loop_turn(world->loop, 10), 0);
	}
	assert_int_equal(session_restarts(world->session), 2);
}

static void what_breaks_the_protocol_is_said_and_the_next_call_is_clean(void **state)
{
	static const struct {
		const char *server, *message;
	} rows[] = {
		{"flood", "not asked for"},
		{"huge", "a line of more than 4194304 bytes"},
		{"utf8", "its answer is not JSON"},
		{"text", "its answer is not JSON"},
		{"before", "it said something that was not asked for: 'welcome'"},
		{"twice", "it said something that was not asked for: '{}'"},
		{"closes", "it closed its stdout and went on"},
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		prepare(world, TARGET_LINES, rows[i].server, NULL);
		open_target(world);
		for (int turn = 0; turn < 50 && strcmp(rows[i].server, "before") == 0; turn++)
			assert_int_equal(loop_turn(world->loop, 10), 0);
		expect(world, "{}", REPLY_BROKEN, rows[i].message);
		if (strcmp(rows[i].server, "text") == 0)
			assert_null(strchr(world->seen->reply.message, '\033'));
		assert_int_equal(session_restarts(world->session), 0);
		(void)call(world, "{}");
		assert_int_equal(session_restarts(world->session), 1);
		world->session = session_free(world->session);
		world->target = target_free(world->target);
	}
}

static void a_child_that_keeps_stdout_open_does_not_hide_the_end(void **state)
{
	struct world *world = *state;

	speak(world, "forks");
	expect(world, "{}", REPLY_ENDED, "exit code 7");
}

static void a_flood_on_stderr_holds_nobody_up(void **state)
{
	struct world *world = *state;

	speak(world, "noisy");
	for (int i = 0; i < 50; i++)
		assert_int_equal(call(world, "{}")->kind, REPLY_OK);
	assert_true(world->seen->reply.said_len <= TARGET_SAID_MAX);
}

static void stderr_belongs_to_its_call(void **state)
{
	struct world *world = *state;

	speak(world, "says");
	assert_int_equal(call(world, "{\"a\": \"one\"}")->kind, REPLY_OK);
	assert_string_equal(world->seen->reply.said, "about {'a': 'one'}\n");
	assert_int_equal(call(world, "{\"a\": \"two\"}")->kind, REPLY_OK);
	assert_string_equal(world->seen->reply.said, "about {'a': 'two'}\n");
}

static void a_rejection_is_told_from_an_exception(void **state)
{
	struct world *world = *state;

	speak(world, "rejects");
	expect(world, "{\"a\": \"x\"}", REPLY_REJECTED, "a is too long");
	expect(world, "{\"a\": \"\"}", REPLY_FAILED, "KeyError");
}

/* How many programs were started with this among their words. */
static size_t spawned(const struct exchange *seen, const char *word)
{
	size_t count = 0;

	for (size_t i = 0; i < seen->effect_count; i++)
		for (size_t j = 0; j < seen->effects[i].words.count; j++)
			count += seen->effects[i].kind == CELL_EFFECT_EXEC && strstr(seen->effects[i].words.items[j], word) != NULL;
	return count;
}

static void an_effect_belongs_to_its_call(void **state)
{
	struct world *world = *state;

	prepare(world, TARGET_LINES, "spawns", NULL);
	world->spec.effects = true;
	open_target(world);
	assert_int_equal(session_sees_effects(world->session), world->is_cell); /* a cell's, on kernels that are supported */
	for (int i = 0; i < 2; i++) {
		expect(world, "{\"a\": \"one\"}", REPLY_OK, "");
		assert_int_equal(spawned(world->seen, "one") > 0, world->is_cell);
		assert_int_equal(spawned(world->seen, "at-start"), 0);
		expect(world, "{}", REPLY_OK, "");
		assert_int_equal(world->seen->effect_count, 0);
		session_restart(world->session);
	}
}

/* ---- opening ---- */

static void what_does_not_start_is_a_sentence(void **state)
{
	static const struct {
		enum target_mode mode;
		const char *program, *server, *word, *text;
	} rows[] = {
		{TARGET_LINES, NULL, "fails", NULL, "it ended with exit code 4; the end of its stderr: 'cannot \\x1b[1mopen my files'"},
		{TARGET_MCP, NULL, "fails", NULL, "it ended with exit code 4; the end of its stderr: 'cannot \\x1b[1mopen my files'"},
		{TARGET_LINES, "/nowhere/program", "x", NULL, "/nowhere/program"},
		{TARGET_EXEC, "/nowhere/program", "x", NULL, "/nowhere/program"},
		{TARGET_MCP, NULL, "mcp", "old", "it wants a revision of the protocol that is not known here: '1999-01-01'"},
		{TARGET_MCP, NULL, "mcp", "nothing", "offers no tools"},
		{TARGET_MCP, NULL, "logs", NULL, "lines"},
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		prepare(world, rows[i].mode, rows[i].server, rows[i].word);
		if (rows[i].program)
			world->argv[0] = rows[i].program;
		world->target = target_open(&world->options, world->loop, world->pool, &err);
		assert_null(world->target);
		if (!strstr(err.text, rows[i].text))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void a_schema_of_the_users_is_checked_first(void **state)
{
	static const char *const wrong[] = {"{", "{\"type\": 7}", "false"};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err err = {0};
		prepare(world, TARGET_LINES, "echo", NULL);
		world->options.schema_text = wrong[i];
		world->options.schema_len = strlen(wrong[i]);
		world->options.schema_name = "in.json";
		assert_null(target_open(&world->options, world->loop, world->pool, &err));
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, "in.json"));
	}
}

/* ---- a process a call ---- */

static void a_process_a_call_is_judged_by_its_end(void **state)
{
	struct world *world = *state;

	prepare(world, TARGET_EXEC, "once_exec", NULL);
	world->options.call_ns = 3 * NS_PER_S;
	open_target(world);
	expect(world, "{\"a\": \"x\"}", REPLY_OK, "");
	assert_non_null(value_get(world->seen->reply.output, "got"));
	assert_false(world->seen->ended);
	expect(world, "{\"a\": \"text\"}", REPLY_OK, "");
	assert_null(world->seen->reply.output);
	expect(world, "{\"a\": \"error\"}", REPLY_REJECTED, "it is wrong");
	expect(world, "{\"a\": \"no\"}", REPLY_REJECTED, "a must not be no");
	assert_int_equal(world->seen->reply.code, 2);
	expect(world, "{\"a\": \"raise\"}", REPLY_FAILED, "KeyError");
	expect(world, "{\"a\": \"signal\"}", REPLY_ENDED, "signal 6");
	assert_int_equal(world->seen->result->signal, 6);
	expect(world, "{\"a\": \"sleep\"}", REPLY_LATE, "");
	expect(world, "{}", REPLY_OK, "");
	assert_int_equal(session_restarts(world->session), 0);
}

static void words_are_filled_from_the_document(void **state)
{
	struct world *world = *state;

	prepare(world, TARGET_ARGS, "args", NULL);
	world->argv[3] = "--a={a}";
	world->argv[4] = "{/l/1/x~1y}";
	world->argv[5] = "{absent}";
	world->argv[6] = "x{absent}y{";
	world->argv[7] = "{l}";
	world->argv[8] = "{}";
	open_target(world);
	assert_int_equal(call(world, "{\"a\":\"q r\\u0000s\",\"l\":[1,{\"x/y\":\"z\"}]}")->kind, REPLY_OK);
	assert_string_equal(world->seen->reply.text,
		"[\"--a=q r\", \"z\", \"xy{\", \"[1,{\\\"x/y\\\":\\\"z\\\"}]\", \"{\\\"a\\\":\\\"q r\\\\u0000s\\\",\\\"l\\\":[1,{\\\"x/y\\\":\\\"z\\\"}]}\"]\n");
}

/* ---- MCP ---- */

static void a_server_says_what_it_offers(void **state)
{
	struct world *world = *state;

	prepare(world, TARGET_MCP, "mcp", NULL);
	open_target(world);
	assert_string_equal(target_version(world->target), "test 1.2");
	assert_int_equal(target_subjects(world->target)->count, 7);
	assert_non_null(subject_of(world, "echo")->generator);
	assert_non_null(subject_of(world, "echo")->output);
	assert_string_equal(subject_of(world, "echo")->description, "says it again");
	assert_non_null(subject_of(world, "endless")->problem);
	assert_null(subject_of(world, "endless")->input);
	assert_non_null(subject_of(world, "none")->problem);
	assert_int_equal(subject_of(world, "resources/read")->kind, SUBJECT_RESOURCE);
	assert_int_equal(subject_of(world, "ask")->kind, SUBJECT_PROMPT);
	assert_non_null(subject_of(world, "ask")->generator);
	assert_int_equal(subject_of(world, "echo")->kind, SUBJECT_TOOL); /* a prompt is called so, too */
	assert_int_equal(subject_of(world, "echo (prompt)")->kind, SUBJECT_PROMPT);
	const struct strings *remarks = target_remarks(world->target);
	assert_true(strings_have(remarks, "it offers 'echo' twice: the second was left out"));
	assert_true(strings_have(remarks, "'half\\xed\\xa0\\x80' was left out: its name is no text of Unicode"));
}

static void an_mcp_answer_is_of_its_kind(void **state)
{
	static const struct {
		const char *input;
		enum reply_kind kind;
		const char *message;
	} rows[] = {
		{"{\"a\": \"x\"}", REPLY_OK, ""},
		{"{\"a\": \"log\"}", REPLY_OK, ""},
		{"{\"a\": \"error\"}", REPLY_REJECTED, "a is wrong"},
		{"{\"a\": \"failed\"}", REPLY_FAILED, "KeyError"},
		{"{\"a\": \"params\"}", REPLY_REJECTED, "a is wrong"},
		{"{\"a\": \"internal\"}", REPLY_FAILED, "oops"},
		{"{\"a\": \"method\"}", REPLY_BROKEN, "error -32601: oops"},
		{"{\"a\": \"content\"}", REPLY_BROKEN, "an array 'content'"},
		{"{\"a\": \"twice\"}", REPLY_BROKEN, "twice"},
		{"{\"a\": \"x\"}", REPLY_OK, ""},
		{"{\"a\": \"wrong\"}", REPLY_BROKEN, "it answered id 7777, which was not asked"},
		{"{\"a\": \"x\"}", REPLY_OK, ""},
		{"{\"a\": \"bad\"}", REPLY_BROKEN, "its answer is not JSON"},
		{"{\"a\": \"x\"}", REPLY_OK, ""},
		{"{\"a\": \"x\"}", REPLY_OK, ""},
	};
	struct world *world = *state;
	struct err err = {0};

	prepare(world, TARGET_MCP, "mcp", NULL);
	open_target(world);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(world, rows[i].input, rows[i].kind, rows[i].message);
	assert_int_equal(session_restarts(world->session), 3);
	assert_string_equal(value_get(world->seen->reply.output, "a")->text, "x");
	assert_string_equal(value_get(world->seen->reply.output, "asked")->text, "2"); /* both of its questions were answered */
	world->seen = session_call(world->session, subject_of(world, "resources/read"), "{\"uri\": \"a:b\"}", 14, &err);
	assert_int_equal(world->seen->reply.kind, REPLY_REJECTED);
	assert_int_equal(world->seen->reply.code, -32002);
	world->seen = session_call(world->session, subject_of(world, "ask"), "{\"q\": \"b\"}", 10, &err);
	assert_int_equal(world->seen->reply.kind, REPLY_OK);
	world->seen = session_call(world->session, subject_of(world, "echo (prompt)"), "{\"q\": \"b\"}", 10, &err);
	assert_int_equal(world->seen->reply.kind, REPLY_OK);
}

static void lists_without_end_are_bounded(void **state)
{
	struct world *world = *state;

	prepare(world, TARGET_MCP, "mcp", "many");
	open_target(world);
	assert_int_equal(target_subjects(world->target)->count, TARGET_SUBJECTS_MAX);
	assert_non_null(strstr(target_remarks(world->target)->items[0], "more than 1000 things"));
	world->session = session_free(world->session);
	world->target = target_free(world->target);
	prepare(world, TARGET_MCP, "mcp", "pages");
	open_target(world);
	assert_non_null(strstr(target_remarks(world->target)->items[0], "more than 100 pages"));
}

/* ---- MCP over HTTP ---- */

/* A port that nobody uses now, for the backend that shares the machine's. */
static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	own(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	return ntohs(address.sin_port);
}

static void a_server_that_listens_is_spoken_with(void **state)
{
	static const char *const ways[] = {"json", "sse", "close"};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		char port[8];
		prepare(world, TARGET_MCP_HTTP, "http", port);
		world->argv[4] = ways[i];
		world->options.port = free_port();
		(void)snprintf(port, sizeof(port), "%u", world->options.port);
		struct err err = {0};
		world->target = target_open(&world->options, world->loop, world->pool, &err);
		if (!world->target)
			fail_msg("%s: %s", ways[i], err.text);
		assert_string_equal(target_version(world->target), "h 2");
		world->session = session_open(world->target, &err);
		if (!world->session)
			fail_msg("%s: %s", ways[i], err.text);
		for (int j = 0; j < 20; j++)
			expect(world, "{\"a\": \"x\"}", REPLY_OK, "");
		assert_string_equal(value_get(world->seen->reply.output, "a")->text, "x");
		expect(world, "{\"a\": \"refuse\"}", REPLY_REJECTED, "a is wrong");
		expect(world, "{\"a\": \"status\"}", REPLY_FAILED, "it broke");
		assert_int_equal(session_restarts(world->session), 0);
		expect(world, "{\"a\": \"junk\"}", REPLY_BROKEN, "its answer is not HTTP");
		expect(world, "{\"a\": \"crash\"}", REPLY_ENDED, "signal 11");
		assert_int_equal(world->seen->result->signal, 11);
		expect(world, "{\"a\": \"x\"}", REPLY_OK, "");
		assert_int_equal(session_restarts(world->session), 2);
		world->session = session_free(world->session);
		world->target = target_free(world->target);
	}
}

/* ---- several at once ---- */

static void sessions_wait_beside_each_other(void **state)
{
	struct world *world = *state;
	struct session *sessions[4];
	struct err err = {0};
	unsigned answered = 0;

	speak(world, "echo");
	for (size_t i = 0; i < 4; i++) {
		sessions[i] = session_open(world->target, &err);
		assert_non_null(sessions[i]);
		assert_int_equal(session_begin(sessions[i], subject_of(world, NULL), "{}", 2, &err), 0);
		assert_null(session_poll(sessions[i]));
	}
	uint64_t until = clock_now() + 20 * NS_PER_S;
	while (answered < 4 && clock_now() < until) {
		assert_int_equal(loop_turn(world->loop, 100), 0);
		answered = 0;
		for (size_t i = 0; i < 4; i++)
			answered += session_poll(sessions[i]) != NULL;
	}
	assert_int_equal(answered, 4);
	for (size_t i = 0; i < 4; i++)
		sessions[i] = session_free(sessions[i]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_line_server_answers_many_calls),
		T(a_call_of_a_megabyte_is_written_as_it_can_be),
		T(what_does_not_answer_is_late_and_made_anew),
		T(an_end_inside_a_call_is_told_with_its_result),
		T(an_exit_inside_a_call_is_an_end_too),
		T(an_end_after_the_answer_is_told_once),
		T(a_clean_end_between_calls_is_nothing),
		T(what_breaks_the_protocol_is_said_and_the_next_call_is_clean),
		T(a_child_that_keeps_stdout_open_does_not_hide_the_end),
		T(a_flood_on_stderr_holds_nobody_up),
		T(stderr_belongs_to_its_call),
		T(a_rejection_is_told_from_an_exception),
		T(an_effect_belongs_to_its_call),
		T(what_does_not_start_is_a_sentence),
		T(a_schema_of_the_users_is_checked_first),
		T(a_process_a_call_is_judged_by_its_end),
		T(words_are_filled_from_the_document),
		T(a_server_says_what_it_offers),
		T(an_mcp_answer_is_of_its_kind),
		T(lists_without_end_are_bounded),
		T(a_server_that_listens_is_spoken_with),
		T(sessions_wait_beside_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
