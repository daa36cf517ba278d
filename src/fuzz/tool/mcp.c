/* The Model Context Protocol: messages in, messages out. Pure. See target_private.h.
 *
 * What was decided where the protocol leaves it to us:
 * - A line that is no message of the protocol (a log line on stdout) breaks it, but does not hide the answer: it is
 *   counted, told once in the target's remarks, and reading goes on. One that meant to be a message, since it begins
 *   like a map and names "jsonrpc", ends the call as REPLY_BROKEN: waiting for a better one would take until the
 *   deadline.
 * - An answer with an id that was not asked, or asked and answered before, is REPLY_BROKEN, whatever else comes.
 * - What the server asks of us gets an answer at once: ping an empty one, all else an error, since no capability was
 *   offered. */
#include "fuzz/tool/target_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"

#define PAGES_MAX 100u /* of one list */
#define URIS_MAX 100u
#define ID_MAX 1000u /* bytes of an id of the server's */
#define ASKED_BACK_MAX 1000u /* that it may ask of us in one call */

/* The newest first: it is what we offer. */
static const char *const revisions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

void talk_done(struct talk *talk)
{
	buf_done(&talk->out);
	answer_done(&talk->answer);
	value_done(&talk->mcp.uris);
	free(talk->mcp.version);
	talk->mcp.version = NULL;
}

/* ---- what we say ---- */

static void message_open(struct json *json, const char *method)
{
	json_open(json, '{');
	json_put_string(json, "jsonrpc", "2.0");
	if (method)
		json_put_string(json, "method", method);
}

static void message_close(struct talk *talk, struct json *json)
{
	json_close(json, '}');
	buf_add(&talk->out, buf_text(&json->out), json->out.len);
	buf_char(&talk->out, '\n');
	json_done(json);
}

static void request_open(struct talk *talk, struct json *json, const char *method)
{
	talk->mcp.id = ++talk->mcp.last_id;
	message_open(json, method);
	json_put_int(json, "id", talk->mcp.id);
	json_key(json, "params");
	json_open(json, '{');
}

static void request_close(struct talk *talk, struct json *json)
{
	json_close(json, '}');
	message_close(talk, json);
}

enum talk_event mcp_start(struct talk *talk)
{
	struct json json = {0};

	free(talk->mcp.version);
	value_done(&talk->mcp.uris);
	talk->mcp = (struct mcp){.list = talk->subjects ? MCP_TOOLS : MCP_LIST_COUNT, .uris = {.kind = VALUE_LIST}};
	request_open(talk, &json, "initialize");
	json_put_string(&json, "protocolVersion", revisions[0]);
	json_key(&json, "capabilities");
	json_open(&json, '{');
	json_close(&json, '}');
	json_key(&json, "clientInfo");
	json_open(&json, '{');
	json_put_string(&json, "name", "hotcell");
	json_put_string(&json, "version", HOTCELL_VERSION);
	json_close(&json, '}');
	request_close(talk, &json);
	return TALK_WAIT;
}

static void put_literally(struct json *json, const char *key, const char *text, size_t len)
{
	json_key(json, key);
	buf_add(&json->out, text, len);
	json->comma = true;
	json->after_key = false;
}

void mcp_call(struct talk *talk, const struct subject *subject, const char *input, size_t len)
{
	static const char *const methods[] = {
		[SUBJECT_TOOL] = "tools/call", [SUBJECT_RESOURCE] = "resources/read", [SUBJECT_PROMPT] = "prompts/get",
	};
	struct json json = {0};

	talk->asked = true;
	talk->mcp.subject_kind = subject->kind;
	if (subject->kind == SUBJECT_RESOURCE) { /* its arguments are the params */
		talk->mcp.id = ++talk->mcp.last_id;
		message_open(&json, methods[SUBJECT_RESOURCE]);
		json_put_int(&json, "id", talk->mcp.id);
		put_literally(&json, "params", input, len);
		message_close(talk, &json);
		return;
	}
	request_open(talk, &json, methods[subject->kind]);
	json_put_string(&json, "name", subject->called ? subject->called : subject->name);
	put_literally(&json, "arguments", input, len);
	request_close(talk, &json);
}

/* ---- lists ---- */

static void take_tool(struct talk *talk, struct value *item)
{
	struct value *input = (struct value *)value_get(item, "inputSchema");
	struct value *output = (struct value *)value_get(item, "outputSchema");

	(void)subjects_add(talk->subjects, talk->remarks, SUBJECT_TOOL, value_get(item, "name"),
		value_get(item, "description"), input, output);
}

static void take_uri(struct talk *talk, const struct value *uri, bool is_template)
{
	if (!uri || uri->kind != VALUE_TEXT || talk->mcp.uris.count >= URIS_MAX)
		return;
	own(buf_done) struct buf text = {0};
	for (const char *at = uri->text; *at && text.len < 4096; at++) {
		size_t inside = is_template && *at == '{' ? strcspn(at, "}") : 0;
		buf_char(&text, inside ? 'a' : *at); /* any value of its variable */
		at += inside && at[inside] ? inside : 0;
	}
	struct value *example = value_add(&talk->mcp.uris, NULL, 0);
	example->kind = VALUE_TEXT;
	example->len = text.len;
	example->text = text.data ? buf_take(&text) : xstrdup("");
}

static void take_resource(struct talk *talk, struct value *item)
{
	take_uri(talk, value_get(item, "uri"), false);
}

static void take_template(struct talk *talk, struct value *item)
{
	take_uri(talk, value_get(item, "uriTemplate"), true);
}

static void schema_of_text(struct json *json, struct value *ret)
{
	struct err ignored;

	if (json_read(buf_text(&json->out), json->out.len, &schema_text_limits, NULL, ret, &ignored) < 0)
		*ret = (struct value){0};
	json_done(json);
}

static bool is_true(const struct value *value)
{
	return value && value->kind == VALUE_BOOL && value->truth;
}

/* A prompt's arguments are texts. */
static void prompt_schema(const struct value *arguments, struct value *ret)
{
	struct json json = {0};
	size_t count = arguments && arguments->kind == VALUE_LIST ? arguments->count : 0;

	json_open(&json, '{');
	json_put_string(&json, "type", "object");
	json_key(&json, "properties");
	json_open(&json, '{');
	for (size_t i = 0; i < count; i++) {
		const struct value *name = value_get(&arguments->items[i], "name");
		const struct value *about = value_get(&arguments->items[i], "description");
		if (!name || name->kind != VALUE_TEXT)
			continue;
		json_key(&json, name->text);
		json_open(&json, '{');
		json_put_string(&json, "type", "string");
		if (about && about->kind == VALUE_TEXT)
			json_put_string(&json, "description", about->text);
		json_close(&json, '}');
	}
	json_close(&json, '}');
	json_key(&json, "required");
	json_open(&json, '[');
	for (size_t i = 0; i < count; i++) {
		const struct value *name = value_get(&arguments->items[i], "name");
		if (name && name->kind == VALUE_TEXT && is_true(value_get(&arguments->items[i], "required")))
			json_string(&json, name->text);
	}
	json_close(&json, ']');
	json_put_bool(&json, "additionalProperties", false);
	json_close(&json, '}');
	schema_of_text(&json, ret);
}

static void take_prompt(struct talk *talk, struct value *item)
{
	own(value_done) struct value schema = {0};

	prompt_schema(value_get(item, "arguments"), &schema);
	(void)subjects_add(talk->subjects, talk->remarks, SUBJECT_PROMPT, value_get(item, "name"),
		value_get(item, "description"), &schema, NULL);
}

static const struct {
	const char *capability, *method, *member;
	void (*take)(struct talk *talk, struct value *item);
} lists[] = {
	[MCP_TOOLS] = {"tools", "tools/list", "tools", take_tool},
	[MCP_RESOURCES] = {"resources", "resources/list", "resources", take_resource},
	[MCP_TEMPLATES] = {"resources", "resources/templates/list", "resourceTemplates", take_template},
	[MCP_PROMPTS] = {"prompts", "prompts/list", "prompts", take_prompt},
};
_Static_assert(ARRAY_LEN(lists) == MCP_LIST_COUNT, "a list is not asked for");

/* One subject for all resources: which one is its argument. */
static void add_resources(struct talk *talk)
{
	char text[] = "resources/read";
	const struct value name = {.kind = VALUE_TEXT, .text = text, .len = strlen(text)};
	own(value_done) struct value schema = {0};
	struct json json = {0};

	if (!talk->mcp.offers[MCP_RESOURCES])
		return;
	json_open(&json, '{');
	json_put_string(&json, "type", "object");
	json_key(&json, "properties");
	json_open(&json, '{');
	json_key(&json, "uri");
	json_open(&json, '{');
	json_put_string(&json, "type", "string");
	json_put_string(&json, "format", "uri");
	json_key(&json, "examples");
	json_value(&json, &talk->mcp.uris, false);
	json_close(&json, '}');
	json_close(&json, '}');
	json_key(&json, "required");
	json_open(&json, '[');
	json_string(&json, "uri");
	json_close(&json, ']');
	json_put_bool(&json, "additionalProperties", false);
	json_close(&json, '}');
	schema_of_text(&json, &schema);
	(void)subjects_add(talk->subjects, talk->remarks, SUBJECT_RESOURCE, &name, NULL, &schema, NULL);
}

/* Asks for the next page, or the next list that is on offer. */
static enum talk_event list_on(struct talk *talk, const struct value *cursor)
{
	struct mcp *mcp = &talk->mcp;
	struct json json = {0};

	if (cursor && ++mcp->pages >= PAGES_MAX) {
		remark_add(talk->remarks, "%s has more than %u pages: the rest was not asked for", lists[mcp->list].method,
			PAGES_MAX);
		cursor = NULL;
		mcp->list++;
	}
	if (!cursor) {
		mcp->pages = 0;
		while (mcp->list < MCP_LIST_COUNT && !mcp->offers[mcp->list])
			mcp->list++;
	}
	if (mcp->list == MCP_LIST_COUNT) {
		if (talk->subjects)
			add_resources(talk);
		return TALK_READY;
	}
	request_open(talk, &json, lists[mcp->list].method);
	if (cursor) {
		json_key(&json, "cursor");
		json_bytes(&json, cursor->text, cursor->len);
	}
	request_close(talk, &json);
	return TALK_WAIT;
}

static void list_take(struct talk *talk, const struct value *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].kind == VALUE_MAP)
			lists[talk->mcp.list].take(talk, &list->items[i]);
		else
			remark_add(talk->remarks, "an item of %s is %s instead of an object", lists[talk->mcp.list].method,
				value_kind_name(list->items[i].kind));
	}
}

static enum talk_event list_answer(struct talk *talk, const struct value *result, const struct value *error)
{
	struct mcp *mcp = &talk->mcp;
	const char *method = lists[mcp->list].method;
	const struct value *list = result ? value_get(result, lists[mcp->list].member) : NULL;
	const struct value *cursor = result ? value_get(result, "nextCursor") : NULL;
	own(value_done) struct value kept = {0}; /* asking on empties the answer */

	if (list && list->kind == VALUE_LIST) {
		list_take(talk, list);
	} else if (!error || mcp->list != MCP_TEMPLATES) { /* which few servers have, whatever they say */
		own(buf_done) struct buf shown = {0};
		const struct value *message = error ? value_get(error, "message") : NULL;
		if (message && message->kind == VALUE_TEXT)
			term_line(message->text, message->len, 200, &shown);
		remark_add(talk->remarks, "%s was not answered with an array '%s'%s%s", method, lists[mcp->list].member,
			shown.len ? ": " : "", buf_text(&shown));
	}
	if (cursor && cursor->kind == VALUE_TEXT && list)
		kept = (struct value){.kind = VALUE_TEXT, .text = xstrdup(cursor->text), .len = strlen(cursor->text)};
	else
		mcp->list++;
	return list_on(talk, kept.text ? &kept : NULL);
}

/* ---- beginning ---- */

static void take_about(struct talk *talk, const struct value *info)
{
	const struct value *name = info ? value_get(info, "name") : NULL, *version = info ? value_get(info, "version") : NULL;
	own(buf_done) struct buf text = {0};

	if (!name || name->kind != VALUE_TEXT) {
		remark_add(talk->remarks, "its serverInfo has no name");
		return;
	}
	term_line(name->text, name->len, 100, &text);
	if (version && version->kind == VALUE_TEXT) {
		buf_char(&text, ' ');
		term_line(version->text, version->len, 60, &text);
	}
	if (talk->about) {
		free(*talk->about);
		*talk->about = xstrdup(buf_text(&text));
	}
}

static bool revision_known(const struct value *version)
{
	for (size_t i = 0; version && version->kind == VALUE_TEXT && i < ARRAY_LEN(revisions); i++)
		if (strcmp(revisions[i], version->text) == 0)
			return true;
	return false;
}

static enum talk_event greet_answer(struct talk *talk, const struct value *result, const struct value *error)
{
	const struct value *refusal = error ? value_get(error, "message") : NULL;
	const struct value *version = result ? value_get(result, "protocolVersion") : NULL;
	const struct value *capabilities = result ? value_get(result, "capabilities") : NULL;
	struct json json = {0};

	if (refusal && refusal->kind == VALUE_TEXT) {
		answer_broken_quote(&talk->answer, "it refuses 'initialize'", refusal->text, refusal->len);
		return TALK_ANSWERED;
	}
	if (!result || result->kind != VALUE_MAP || !version || version->kind != VALUE_TEXT || !capabilities ||
		capabilities->kind != VALUE_MAP) {
		answer_broken(&talk->answer, true,
			"its answer to 'initialize' is not a result with a string 'protocolVersion' and an object 'capabilities'");
		return TALK_ANSWERED;
	}
	if (!revision_known(version)) {
		answer_broken_quote(&talk->answer, "it wants a revision of the protocol that is not known here", version->text,
			version->len);
		return TALK_ANSWERED;
	}
	talk->mcp.version = xstrdup(version->text);
	for (size_t i = 0; i < MCP_LIST_COUNT; i++)
		talk->mcp.offers[i] = value_get(capabilities, lists[i].capability) != NULL;
	take_about(talk, value_get(result, "serverInfo"));
	talk->mcp.greeted = true;
	message_open(&json, "notifications/initialized");
	message_close(talk, &json);
	return list_on(talk, NULL);
}

/* ---- what it says ---- */

static enum talk_event noise(struct talk *talk, const char *text, size_t len)
{
	static const char sentence[] = "it writes to stdout what is no message of the protocol";
	own(buf_done) struct buf shown = {0};

	talk->noise++;
	if (remarked(talk->remarks, sentence))
		return TALK_WAIT;
	term_line(text, len, 120, &shown);
	remark_add(talk->remarks, "%s, such as: '%s'", sentence, buf_text(&shown));
	return TALK_WAIT;
}

/* What the server asks of us. */
static enum talk_event asked_back(struct talk *talk, const struct value *method, const struct value *id)
{
	struct json json = {0};

	if ((id->kind != VALUE_TEXT && id->kind != VALUE_NUMBER) || id->len > ID_MAX) {
		answer_broken(&talk->answer, true, "it asked something with an id that is neither a number nor a short text");
		return TALK_ANSWERED;
	}
	if (++talk->noise > ASKED_BACK_MAX) {
		answer_broken(&talk->answer, true, "it asked more than %u things back instead of answering", ASKED_BACK_MAX);
		return TALK_ANSWERED;
	}
	message_open(&json, NULL);
	json_key(&json, "id");
	json_value(&json, id, false);
	if (strcmp(method->text, "ping") == 0) {
		json_key(&json, "result");
		json_open(&json, '{');
	} else {
		json_key(&json, "error");
		json_open(&json, '{');
		json_put_int(&json, "code", -32601);
		json_put_string(&json, "message", "this client offers no such method");
	}
	json_close(&json, '}');
	message_close(talk, &json);
	return TALK_WAIT;
}

/* NULL: it is the answer that is waited for. */
static const char *answer_wrong(const struct talk *talk, const struct value *id, struct buf *why)
{
	char *end = NULL;
	int64_t number = id->kind == VALUE_NUMBER ? strtoll(id->text, &end, 10) : 0;

	if (end && !*end && number == talk->mcp.id && number > 0)
		return NULL;
	if (end && !*end && number > 0 && number <= talk->mcp.last_id) {
		buf_fmt(why, "it answered id %" PRId64 " twice", number);
		return buf_text(why);
	}
	buf_str(why, "it answered id ");
	const char *shown = id->text ? id->text : value_kind_name(id->kind);
	term_line(shown, id->text ? id->len : strlen(shown), 60, why);
	buf_str(why, ", which was not asked");
	return buf_text(why);
}

/* An error without an id: the server could not read what we sent. */
static enum talk_event unread(struct talk *talk, const struct value *error)
{
	answer_rpc_error(&talk->answer, error);
	own(freep) char *said = xstrdup(buf_text(&talk->answer.message));
	answer_broken(&talk->answer, true, "it could not read a proper request: %s", said);
	return TALK_ANSWERED;
}

/* A message with a result or an error. What it holds is the answer's from here on. */
static enum talk_event answered(struct talk *talk, struct value *message)
{
	own(buf_done) struct buf why = {0};
	struct answer *answer = &talk->answer;

	value_done(&answer->document);
	answer->document = *message;
	*message = (struct value){0};
	const struct value *id = value_get(&answer->document, "id"), *result = value_get(&answer->document, "result");
	const struct value *error = value_get(&answer->document, "error");
	if ((!id || id->kind == VALUE_NULL) && error)
		return unread(talk, error);
	const char *wrong = id ? answer_wrong(talk, id, &why) : "its answer has no id";
	if (wrong || !result == !error) {
		answer_broken(answer, true, "%s", wrong ? wrong : "its answer has both a result and an error, or neither");
		return TALK_ANSWERED;
	}
	talk->mcp.id = 0;
	if (!talk->mcp.greeted)
		return greet_answer(talk, result, error);
	if (talk->mcp.list != MCP_LIST_COUNT)
		return list_answer(talk, result, error);
	talk->asked = false;
	if (error)
		answer_rpc_error(answer, error);
	else
		answer_mcp_result(answer, talk->mcp.subject_kind, result);
	return TALK_ANSWERED;
}

/* Whether a line that cannot be read meant to be a message. */
static bool meant_message(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at < len && text[at] == '{' && memmem(text, len, "\"jsonrpc\"", 9);
}

enum talk_event mcp_message(struct talk *talk, const char *text, size_t len)
{
	own(value_done) struct value message = {0};
	struct err err = {0};

	if (len == 0)
		return TALK_WAIT;
	if (json_read(text, len, &answer_limits, NULL, &message, &err) < 0) {
		if (!meant_message(text, len))
			return noise(talk, text, len);
		answer_broken(&talk->answer, true, "its answer is not JSON: %s", err.text);
		return TALK_ANSWERED;
	}
	const struct value *version = value_get(&message, "jsonrpc"), *method = value_get(&message, "method");
	const struct value *id = value_get(&message, "id");
	if (message.kind != VALUE_MAP || !version || version->kind != VALUE_TEXT || strcmp(version->text, "2.0") != 0)
		return noise(talk, text, len);
	if (method && method->kind == VALUE_TEXT)
		return id ? asked_back(talk, method, id) : TALK_WAIT;
	return answered(talk, &message);
}

/* Notifications may come at any time; an answer may not. */
void mcp_unasked(struct talk *talk, const char *text, size_t len)
{
	struct answer kept = talk->answer;

	talk->answer = (struct answer){0};
	if (mcp_message(talk, text, len) == TALK_ANSWERED && talk->answer.kind == REPLY_BROKEN) {
		answer_done(&kept);
		return;
	}
	answer_done(&talk->answer);
	talk->answer = kept;
}
