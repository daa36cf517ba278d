/* What is wrong with an answer: exceptions, traces, its schema, its protocol, and what it took or refused. */
#include <ctype.h>
#include <string.h>

#include "oracle/look.h"

#define ERRORS_TOLD 5
#define PATHS_LOOKED 64 /* in one answer */
#define ENV_DUMPED 3 /* variables with their values are no chance */

static struct span first_line(const char *text)
{
	struct span left = {text ? text : "", text ? strlen(text) : 0}, line = {"", 0};

	while (line_next(&left, &line) && !span_trim(line).len)
		;
	line = span_trim(line);
	return line.len > 200 ? (struct span){line.at, 200} : line;
}

/* ---- exception ---- */

void judge_exception(const struct observation *seen, struct verdicts *ret)
{
	const struct reply *reply = &seen->reply;
	struct span answer = reply_answer(reply), message = {reply->message ? reply->message : "", 0};
	struct span said = {reply->said ? reply->said : "", reply->said ? reply->said_len : 0};

	if (reply->kind != REPLY_FAILED)
		return;
	message.len = strlen(message.at);
	const struct span texts[] = {message, answer, said};
	struct span named = {0};
	for (size_t i = 0; i < ARRAY_LEN(texts) && !named.len; i++)
		named = exception_line(texts[i].at, texts[i].len);
	if (!named.len)
		named = first_line(message.at);
	if (!named.len)
		named = SPAN("it failed with an error that it does not declare");
	struct verdict *verdict = verdict_add(ret, "exception", "%.*s", (int)named.len, named.at);
	if (!verdict)
		return;
	for (size_t i = 0; i < ARRAY_LEN(texts) && !verdict->frames.count && !verdict->file; i++)
		(void)text_trace(texts[i].at, texts[i].len, &verdict->frames, &verdict->file, &verdict->line);
	verdict_quote(verdict, "the answer", answer.at, answer.len, 0, 160);
	if (reply->code)
		verdict_prove(verdict, "its code: %lld", (long long)reply->code);
	if (said.len)
		verdict_quote(verdict, "on stderr", said.at, said.len, said.len > 160 ? said.len - 160 : 0, 160);
}

/* ---- trace ---- */

/* Where a machine keeps its programs and people. The workspace and the scratch of a cell are none. */
static const char *const machine_folders[] = {"/home/", "/root/", "/usr/", "/opt/", "/srv/", "/var/", "/etc/", "/mnt/",
	"/app/", "/Users/", "/nix/", "/data/", NULL};

static const char *machine_folder(struct span at)
{
	for (size_t i = 0; machine_folders[i]; i++)
		if (span_begins(at, machine_folders[i]))
			return machine_folders[i];
	if (at.len > 3 && isalpha((unsigned char)at.at[0]) && at.at[1] == ':' && at.at[2] == '\\' &&
		isalnum((unsigned char)at.at[3 + (at.at[3] == '\\' && at.len > 4)]))
		return "C:\\";
	return NULL;
}

static size_t path_len(struct span at)
{
	size_t len = 0;

	while (len < at.len && len < 1024 &&
		(isalnum((unsigned char)at.at[len]) || strchr("/._-+@:\\~", at.at[len] ? at.at[len] : ' ')))
		len++;
	while (len > 0 && strchr(":.\\", at.at[len - 1]))
		len--;
	return len;
}

/* What the caller does not know of it has two parts at least. Its end is taken off as far as the input holds it. */
static bool is_news(const struct observation *seen, struct span path)
{
	size_t known = path.len, from = path.len, parts = 0;

	while (from > 1) {
		while (from > 0 && path.at[from - 1] != '/' && path.at[from - 1] != '\\')
			from--;
		if (!input_holds(seen, (struct span){path.at + from, path.len - from}))
			break;
		known = from;
		from -= from > 0;
	}
	for (size_t i = 1; i < known; i++)
		parts += path.at[i] != '/' && path.at[i] != '\\' && (path.at[i - 1] == '/' || path.at[i - 1] == '\\');
	return parts >= 2;
}

static bool is_declared_place(const struct observation *seen, struct span path)
{
	own(buf_done) struct buf clean = {0};

	path_clean(path.at, path.len, &clean);
	for (size_t i = 0; seen->allowed && seen->allowed->write && seen->allowed->write[i]; i++)
		if (path_below(buf_text(&clean), seen->allowed->write[i]))
			return true;
	return path_below(buf_text(&clean), CELL_WORKSPACE);
}

/* Only where it says that something is wrong: an answer of a tool that lists or reads files is full of paths. */
static void judge_paths(const struct observation *seen, struct span answer, struct verdicts *ret)
{
	unsigned looked = 0;

	for (size_t i = 0; i < answer.len && looked < PATHS_LOOKED; i++) {
		struct span at = {answer.at + i, answer.len - i};
		unsigned char before = i ? (unsigned char)answer.at[i - 1] : ' ';
		if ((*at.at != '/' && !(at.len > 2 && at.at[1] == ':')) || isalnum(before) ||
			strchr("/._-~:%", before ? before : ' '))
			continue;
		const char *folder = machine_folder(at);
		if (!folder)
			continue;
		struct span path = {at.at, path_len(at)};
		looked++;
		if (is_news(seen, path) && !is_declared_place(seen, path)) {
			struct verdict *verdict = verdict_once(
				ret, "trace", "a path of the machine is in the answer: below %.*s", (int)strlen(folder) - 1, folder);
			verdict_quote(verdict, "in the answer", answer.at, answer.len, i, path.len);
		}
		i += path.len ? path.len - 1 : 0;
	}
}

/* NAME=VALUE, "NAME": "VALUE" */
static bool is_dumped(struct span answer, const char *entry)
{
	const char *equals = strchr(entry, '='), *at = answer.at;
	size_t name = equals ? (size_t)(equals - entry) : 0, value = equals ? strlen(equals + 1) : 0;

	if (name < 2 || value < 2)
		return false;
	for (unsigned tries = 0; tries < 16; tries++) {
		struct span left = {at, answer.len - (size_t)(at - answer.at)};
		const char *found = span_find(left, entry, name);
		if (!found)
			return false;
		at = found + name;
		left = (struct span){at, answer.len - (size_t)(at - answer.at)};
		if (span_find((struct span){left.at, left.len < value + 8 ? left.len : value + 8}, equals + 1, value))
			return true;
	}
	return false;
}

static void judge_environment(const struct observation *seen, struct span answer, struct verdicts *ret)
{
	own(buf_done) struct buf names = {0};
	unsigned count = 0;

	for (size_t i = 0; seen->environment && seen->environment[i] && i < 4096; i++) {
		const char *entry = seen->environment[i];
		if (!is_dumped(answer, entry))
			continue;
		buf_fmt(&names, "%s%.*s", count++ ? ", " : "", (int)strcspn(entry, "="), entry);
	}
	if (count >= ENV_DUMPED) /* names only: the values may be secrets */
		verdict_prove(verdict_add(ret, "trace", "its environment is in the answer"),
			"variables with their values: %s", buf_text(&names));
}

/* Not where a canary or a secret was told: what stands around it is then a stranger's file, and not the target's
 * workings. */
void judge_trace(const struct observation *seen, struct verdicts *ret)
{
	struct span answer = reply_answer(&seen->reply);
	own(strings_done) struct strings frames = {0};
	own(freep) char *file = NULL;
	unsigned line;

	if (verdict_find(ret, "canary") || verdict_find(ret, "secret"))
		return;
	bool said_so = verdict_find(ret, "exception") || verdict_find(ret, "crash");
	bool traced = text_trace(answer.at, answer.len, &frames, &file, &line) &&
		(frames.count >= 2 || text_is_exception(answer.at, answer.len)) &&
		!(file && input_holds(seen, (struct span){file, strlen(file)}));
	if (traced && !said_so) {
		struct verdict *verdict = verdict_add(ret, "trace", "a stack trace is in the answer");
		struct span named = exception_line(answer.at, answer.len);
		const char *at = named.len ? named.at : answer.at;
		verdict_quote(verdict, "in the answer", answer.at, answer.len, (size_t)(at - answer.at), named.len ? named.len : 160);
		for (size_t i = 0; i < frames.count && i < 3; i++)
			verdict_prove(verdict, "frame %zu: %s", i, frames.items[i]);
		if (verdict) {
			verdict->frames = frames;
			verdict->file = ptr_take(&file);
			verdict->line = line;
			frames = (struct strings){0};
		}
	}
	if (!traced && !said_so && (seen->reply.kind == REPLY_REJECTED || seen->reply.kind == REPLY_FAILED))
		judge_paths(seen, answer, ret);
	judge_environment(seen, answer, ret);
}

/* ---- schema and protocol ---- */

void judge_output_schema(const struct observation *seen, struct verdicts *ret)
{
	own(schema_errors_done) struct schema_errors errors = {0};
	const struct reply *reply = &seen->reply;
	struct span answer = reply_answer(reply);
	struct err err = {0};

	if (!seen->output_schema || reply->kind != REPLY_OK)
		return;
	if (!reply->output) {
		if (reply->cut)
			return;
		struct verdict *verdict = verdict_add(
			ret, "output-schema", "it declares a schema of its output, and gave no structured output");
		if (answer.len)
			verdict_quote(verdict, "the answer", answer.at, answer.len, 0, 160);
		else
			verdict_prove(verdict, "the answer is empty");
		return;
	}
	if (schema_check(seen->output_schema, reply->output, &errors, &err) != SCHEMA_INVALID || !errors.count)
		return;
	struct verdict *verdict = NULL;
	for (size_t i = 0; i < errors.count && i < ERRORS_TOLD; i++) {
		own(buf_done) struct buf text = {0};
		schema_error_text(&errors.list[i], &text);
		if (i == 0)
			verdict = verdict_add(ret, "output-schema", "%s", buf_text(&text));
		verdict_prove(verdict, "%s (%s)", buf_text(&text), errors.list[i].rule ? errors.list[i].rule : "");
	}
	verdict_quote(verdict, "the answer", answer.at, answer.len, 0, 160);
}

void judge_protocol(const struct observation *seen, struct verdicts *ret)
{
	struct span line = first_line(seen->reply.message);

	if (seen->reply.kind != REPLY_BROKEN)
		return;
	struct verdict *verdict = verdict_add(ret, "protocol", "%.*s", line.len ? (int)line.len : 36,
		line.len ? line.at : "what it sent is not what is expected");
	if (seen->reply.len)
		verdict_quote(verdict, "it sent", seen->reply.text, seen->reply.len, 0, 160);
	else
		verdict_prove(verdict, "the reply: %s, without a text", reply_kind_name(seen->reply.kind));
}

/* ---- what it took, what it refused ---- */

void judge_accepted(const struct observation *seen, struct verdicts *ret)
{
	struct span answer = reply_answer(&seen->reply), how = first_line(seen->violation);

	if (!seen->malformed || seen->reply.kind != REPLY_OK)
		return;
	struct verdict *verdict = how.len
		? verdict_add(ret, "accepted", "input that breaks its schema was accepted: %.*s", (int)how.len, how.at)
		: verdict_add(ret, "accepted", "input that breaks its schema was accepted");
	verdict_quote(verdict, "the input", seen->input ? seen->input : "", seen->input ? seen->len : 0, 0, 160);
	verdict_quote(verdict, "the answer", answer.at, answer.len, 0, 160);
}

void judge_refused(const struct observation *seen, struct verdicts *ret)
{
	struct span line = first_line(seen->reply.message);

	if (seen->malformed || seen->reply.kind != REPLY_REJECTED)
		return;
	struct verdict *verdict = line.len
		? verdict_add(ret, "refused", "input that fits its schema was refused: %.*s", (int)line.len, line.at)
		: verdict_add(ret, "refused", "input that fits its schema was refused");
	verdict_quote(verdict, "the input", seen->input ? seen->input : "", seen->input ? seen->len : 0, 0, 160);
	if (line.len)
		verdict_prove(verdict, "it says: %.*s", (int)line.len, line.at);
}
