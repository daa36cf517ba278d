/* From what came back to a reply's kind. Pure. See target_private.h.
 *
 * The line that matters is between REPLY_REJECTED (it says what it does not take, as it should) and REPLY_FAILED (an
 * exception that nobody caught, told in the clothes of an answer): text_is_exception draws it. */
#include "fuzz/tool/target_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"

#define MESSAGE_MAX 4096u /* bytes of a message that are kept */
#define QUOTE_MAX 120u

const struct json_limits answer_limits = {
	.bytes = TARGET_LINE_MAX, .values = (size_t)1 << 20, .depth = 256, .any_text = true,
};

void answer_done(struct answer *answer)
{
	buf_done(&answer->message);
	value_done(&answer->document);
	*answer = (struct answer){0};
}

/* ---- messages ---- */

static void message_set(struct answer *answer, const char *text, size_t len)
{
	answer->message.len = 0;
	buf_add(&answer->message, text, len < MESSAGE_MAX ? len : MESSAGE_MAX);
}

void answer_broken(struct answer *answer, bool lost, const char *format, ...)
{
	char text[800];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	answer->kind = REPLY_BROKEN;
	answer->lost = answer->lost || lost;
	message_set(answer, text, len < 0 ? 0 : (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void answer_broken_quote(struct answer *answer, const char *sentence, const char *text, size_t len)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, len, QUOTE_MAX, &shown);
	answer_broken(answer, true, "%s: '%s'", sentence, buf_text(&shown));
}

/* A text as it is, anything else as JSON. */
static void message_value(struct answer *answer, const struct value *value)
{
	if (value->kind == VALUE_TEXT) {
		message_set(answer, value->text, value->len);
		return;
	}
	struct json json = {0};
	json_value(&json, value, false);
	message_set(answer, buf_text(&json.out), json.out.len);
	json_done(&json);
}

/* An error as people write them: a text, or a map with a text for people in it. */
static const struct value *error_text(const struct value *error)
{
	static const char *const members[] = {"message", "error", "detail", "reason", "msg", "description"};

	if (error->kind != VALUE_MAP)
		return error;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct value *text = value_get(error, members[i]);
		if (text && text->kind == VALUE_TEXT)
			return text;
	}
	return error;
}

/* The answer declares an error, with this to say of it. */
static void answer_error(struct answer *answer, const struct value *error, bool failed)
{
	message_value(answer, error_text(error));
	const char *text = buf_text(&answer->message);
	answer->kind = failed || text_is_exception(text, answer->message.len) ? REPLY_FAILED : REPLY_REJECTED;
}

/* ---- tools ---- */

/* What in a tool's answer declares an error, by convention. The first that is there counts. */
struct convention {
	const char *member;
	const char *value; /* a text that it has to be; NULL: anything but null and false; "true": the truth */
	enum reply_kind kind;
};
static const struct convention conventions[] = {
	{"traceback", NULL, REPLY_FAILED},
	{"exception", NULL, REPLY_FAILED},
	{"status", "exception", REPLY_FAILED},
	{"status", "internal_error", REPLY_FAILED},
	{"status", "crash", REPLY_FAILED},
	{"error", NULL, REPLY_REJECTED},
	{"errors", NULL, REPLY_REJECTED},
	{"rejected", NULL, REPLY_REJECTED},
	{"status", "rejected", REPLY_REJECTED},
	{"status", "error", REPLY_REJECTED},
	{"status", "invalid", REPLY_REJECTED},
	{"isError", "true", REPLY_REJECTED},
};

static bool is_something(const struct value *value)
{
	return value->kind != VALUE_NULL && !(value->kind == VALUE_BOOL && !value->truth);
}

static bool convention_holds(const struct convention *convention, const struct value *value)
{
	if (!convention->value)
		return is_something(value) && !(value->kind == VALUE_LIST && value->count == 0);
	if (strcmp(convention->value, "true") == 0)
		return value->kind == VALUE_BOOL && value->truth;
	return value->kind == VALUE_TEXT && strcmp(value->text, convention->value) == 0;
}

/* What an answer that declares an error by `member` says of it: the member, or where that is but a word, the
 * sentence. */
static const struct value *declared_text(const struct value *document, const struct value *member)
{
	static const char *const sentences[] = {"error", "message", "reason", "detail", "errors", "content"};

	for (size_t i = 0; (member->kind == VALUE_BOOL || member->kind == VALUE_TEXT) && i < ARRAY_LEN(sentences); i++) {
		const struct value *sentence = value_get(document, sentences[i]);
		if (sentence && sentence != member && is_something(sentence) && sentence->kind != VALUE_BOOL &&
			(member->kind == VALUE_BOOL || !strchr(member->text, ' ')))
			return sentence;
	}
	return member;
}

static void classify_map(struct answer *answer, const char *reject_member)
{
	const struct value *document = &answer->document;

	for (size_t i = 0; i < ARRAY_LEN(conventions); i++) {
		const struct convention *convention = &conventions[i];
		const struct value *member = value_get(document, convention->member);
		if (reject_member && convention->kind == REPLY_REJECTED)
			continue; /* the user says how this one rejects */
		if (member && convention_holds(convention, member)) {
			answer_error(answer, declared_text(document, member), convention->kind == REPLY_FAILED);
			return;
		}
	}
	const struct value *member = reject_member ? value_get(document, reject_member) : NULL;
	if (member)
		answer_error(answer, declared_text(document, member), false);
}

void answer_tool(struct answer *answer, const char *reject_member, const char *text, size_t len)
{
	struct err err = {0};

	answer->kind = REPLY_OK;
	if (json_read(text, len, &answer_limits, NULL, &answer->document, &err) < 0) {
		answer_broken(answer, true, "its answer is not JSON: %s", err.text);
		return;
	}
	answer->output = &answer->document;
	if (answer->document.kind == VALUE_MAP)
		classify_map(answer, reject_member);
}

/* ---- processes ---- */

void result_say(const struct cell_result *result, struct buf *out)
{
	if (result->outcome == CELL_EXITED)
		buf_fmt(out, "it ended with exit code %d", result->exit_code);
	else if (result->outcome == CELL_SIGNALED)
		buf_fmt(out, "signal %d (%s) ended it", result->signal, strsignal(result->signal));
	else if (result->outcome == CELL_SETUP_FAILED)
		buf_fmt(out, "it did not start: %s", result->err.text);
	else if (result->outcome == CELL_OOM)
		buf_str(out, "it needed more memory than it may have");
	else if (result->outcome == CELL_DENIED)
		buf_str(out, "it made a system call that is forbidden");
	else
		buf_fmt(out, "it ended: %s", cell_outcome_name(result->outcome));
}

static void answer_exit_code(struct answer *answer, const struct process_end *end)
{
	const char *text = end->said_len ? end->said : end->out;
	size_t len = end->said_len ? end->said_len : end->out_len;

	answer->code = end->result->exit_code;
	answer->kind = text_is_exception(end->said, end->said_len) || text_is_exception(end->out, end->out_len) ?
		REPLY_FAILED : REPLY_REJECTED;
	if (len > MESSAGE_MAX) { /* of a trace, what matters is at its end */
		text += len - MESSAGE_MAX;
		len = MESSAGE_MAX;
	}
	message_set(answer, text, len);
	if (len == 0) {
		answer->message.len = 0;
		result_say(end->result, &answer->message);
	}
}

void answer_process(struct answer *answer, const char *reject_member, const struct process_end *end)
{
	const struct cell_result *result = end->result;
	struct err ignored;

	answer->kind = REPLY_OK;
	if (result->outcome != CELL_EXITED) {
		answer->kind = result->outcome == CELL_TIMEOUT ? REPLY_LATE : REPLY_ENDED;
		answer->code = result->signal ? 128 + result->signal : 0;
		answer->message.len = 0;
		result_say(result, &answer->message);
	} else if (result->exit_code != 0) {
		answer_exit_code(answer, end);
	}
	if (end->cut && answer->kind == REPLY_OK) {
		answer_broken(answer, true, "it said more than %zu bytes", TARGET_LINE_MAX);
		return;
	}
	/* Not every program speaks JSON: then there is nothing structured, and that is all. */
	if (json_read(end->out, end->out_len, &answer_limits, NULL, &answer->document, &ignored) < 0)
		return;
	answer->output = &answer->document;
	if (answer->kind == REPLY_OK && answer->document.kind == VALUE_MAP)
		classify_map(answer, reject_member);
}

/* ---- MCP ---- */

/* What an error's number says of who is wrong. */
static const struct {
	int64_t code;
	enum reply_kind kind;
} rpc_codes[] = {
	{-32602, REPLY_REJECTED}, /* invalid params */
	{-32002, REPLY_REJECTED}, /* resource not found */
	{-32601, REPLY_BROKEN}, /* no such method: it was on offer */
	{-32600, REPLY_BROKEN}, /* no valid request: it was one */
	{-32700, REPLY_BROKEN}, /* not JSON: it was */
};

static bool code_read(const struct value *value, int64_t *ret)
{
	char *end = NULL;

	if (!value || value->kind != VALUE_NUMBER)
		return false;
	*ret = strtoll(value->text, &end, 10);
	return end && !*end;
}

void answer_rpc_error(struct answer *answer, const struct value *error)
{
	const struct value *message = value_get(error, "message");

	if (error->kind != VALUE_MAP || !message || message->kind != VALUE_TEXT ||
		!code_read(value_get(error, "code"), &answer->code)) {
		answer_broken(answer, false, "its error is not an object with a whole number 'code' and a string 'message'");
		return;
	}
	message_value(answer, message);
	answer->kind = REPLY_FAILED;
	for (size_t i = 0; i < ARRAY_LEN(rpc_codes); i++)
		if (rpc_codes[i].code == answer->code)
			answer->kind = rpc_codes[i].kind;
	if (answer->kind == REPLY_REJECTED && text_is_exception(message->text, message->len))
		answer->kind = REPLY_FAILED;
	if (answer->kind == REPLY_BROKEN)
		answer_broken(answer, false, "it answered a proper request with error %" PRId64 ": %.*s", answer->code,
			(int)(message->len < 300 ? message->len : 300), message->text);
}

static const struct {
	const char *type;
	const char *member; /* that it must have */
	enum value_kind kind;
} contents[] = {
	{"text", "text", VALUE_TEXT}, {"image", "data", VALUE_TEXT}, {"audio", "data", VALUE_TEXT},
	{"resource", "resource", VALUE_MAP}, {"resource_link", "uri", VALUE_TEXT},
};

/* NULL: it is as it should be. */
static const char *content_wrong(const struct value *item)
{
	const struct value *type = value_get(item, "type");

	if (item->kind != VALUE_MAP || !type || type->kind != VALUE_TEXT)
		return "an item of its content is not an object with a string 'type'";
	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		if (strcmp(contents[i].type, type->text) != 0)
			continue;
		const struct value *member = value_get(item, contents[i].member);
		return member && member->kind == contents[i].kind ? NULL : "an item of its content lacks what its type must have";
	}
	return "an item of its content has a type that the protocol does not know";
}

/* The texts of a result's content, one after the other. */
static void content_texts(const struct value *content, struct buf *out)
{
	for (size_t i = 0; i < content->count && out->len < MESSAGE_MAX; i++) {
		const struct value *text = value_get(&content->items[i], "text");
		if (!text || text->kind != VALUE_TEXT)
			continue;
		if (out->len)
			buf_char(out, '\n');
		buf_add(out, text->text, text->len < MESSAGE_MAX ? text->len : MESSAGE_MAX);
	}
}

static void answer_tool_result(struct answer *answer, const struct value *result, const struct value *content)
{
	const struct value *is_error = value_get(result, "isError"), *structured = value_get(result, "structuredContent");

	for (size_t i = 0; i < content->count; i++) {
		const char *wrong = content_wrong(&content->items[i]);
		if (wrong) {
			answer_broken(answer, false, "%s", wrong);
			return;
		}
	}
	if ((is_error && is_error->kind != VALUE_BOOL) || (structured && structured->kind != VALUE_MAP)) {
		answer_broken(answer, false, is_error && is_error->kind != VALUE_BOOL ?
			"its 'isError' is neither true nor false" : "its 'structuredContent' is not an object");
		return;
	}
	answer->output = structured;
	if (!is_error || !is_error->truth)
		return;
	own(buf_done) struct buf text = {0};
	content_texts(content, &text);
	message_set(answer, buf_text(&text), text.len);
	answer->kind = text_is_exception(buf_text(&text), text.len) ? REPLY_FAILED : REPLY_REJECTED;
}

void answer_mcp_result(struct answer *answer, unsigned subject_kind, const struct value *result)
{
	static const char *const lists[] = {
		[SUBJECT_TOOL] = "content", [SUBJECT_RESOURCE] = "contents", [SUBJECT_PROMPT] = "messages",
	};
	const struct value *list = value_get(result, lists[subject_kind]);

	answer->kind = REPLY_OK;
	/* content may be left out beside structuredContent in drafts of the protocol only: it must be there. */
	if (result->kind != VALUE_MAP || !list || list->kind != VALUE_LIST)
		answer_broken(answer, false, "its result is not an object with an array '%s'", lists[subject_kind]);
	else if (subject_kind == SUBJECT_TOOL)
		answer_tool_result(answer, result, list);
}
