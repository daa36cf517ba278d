#include "door/policy/ask.h"

#include <fnmatch.h>
#include <string.h>

#include "base/utf8.h"
#include "net/http_bytes.h"

#define DEPTH_MAX 256
#define NUMBER_MAX UINT64_C(1000000000)
#define TOKENS_MAX UINT64_C(1000000000000)
#define TEXT_MAX 256 /* bytes of a string that are looked at */
#define BASE_TOKENS 64 /* that an interface adds to what was written */
#define TOOLS_TOKENS 2000 /* that it adds to say what tools are */
#define TOOL_TOKENS 1000 /* and for each that it describes itself */

/* ---- models ---- */

static const struct model {
	const char *glob;
	uint64_t context, output;
} models[] = {
	{"claude-*", 1000000, 128000},
	{"gpt-5*", ASK_CONTEXT_DEFAULT, 128000},
	{"gpt-4.1*", 1047576, 32768},
	{"gpt-4o*", 128000, 16384},
	{"gpt-4*", 128000, 32768},
	{"gpt-3.5-turbo*", 16385, 4096},
	{"o1*", 200000, 100000},
	{"o3*", 200000, 100000},
	{"o4*", 200000, 100000},
	{"gemini-*", 2097152, 65536},
};

static const struct model *model_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(models); i++)
		if (fnmatch(models[i].glob, name, 0) == 0)
			return &models[i];
	return NULL;
}

/* ---- interfaces ---- */

enum limits { /* members that an interface heeds: others of the same meaning are ignored there, and here */
	LIMIT_TOKENS = 1, LIMIT_COMPLETION = 2, LIMIT_OUTPUT = 4, LIMIT_SAMPLE = 8, LIMIT_CONFIG = 16
};

static const struct form {
	const char *end; /* of the path */
	unsigned limits;
	bool free, silent; /* silent: it writes no tokens */
	bool streams; /* what it streams tells its usage only when asked to */
	bool in_path; /* the model's name is */
} forms[] = {
	{"/chat/completions", .limits = LIMIT_TOKENS | LIMIT_COMPLETION, .streams = true},
	{"/completions", .limits = LIMIT_TOKENS, .streams = true},
	{"/responses", .limits = LIMIT_OUTPUT},
	{"/messages", .limits = LIMIT_TOKENS},
	{"/complete", .limits = LIMIT_SAMPLE},
	{":generateContent", .limits = LIMIT_CONFIG, .in_path = true},
	{":streamGenerateContent", .limits = LIMIT_CONFIG, .in_path = true},
	{"/embeddings", .silent = true},
	{"/moderations", .silent = true},
	{":embedContent", .silent = true, .in_path = true},
	{":batchEmbedContents", .silent = true, .in_path = true},
	{"/messages/count_tokens", .free = true},
	{":countTokens", .free = true},
	{"/chat"}, /* of interfaces that take a message without a model */
};

/* A path that some server could read as another one is none that we know. */
static bool is_plain(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || (c != '\0' && strchr("/_.:-", c) != NULL);
}

static bool has_dots(struct span path)
{
	while (path.len > 0) {
		struct span segment = span_until(path, '/');
		if (span_is(segment, ".") || span_is(segment, ".."))
			return true;
		path = span_from(path, segment.len < path.len ? segment.len + 1 : segment.len);
	}
	return false;
}

static const struct form *form_find(struct span path)
{
	if (!span_all(path, is_plain) || has_dots(path))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t len = strlen(forms[i].end);
		if (path.len >= len && memcmp(path.at + path.len - len, forms[i].end, len) == 0)
			return &forms[i];
	}
	return NULL;
}

/* Segments of paths behind which work begins that is paid for later. */
static bool is_deferred(struct span path)
{
	static const char *const names[] = {"batches", "batch", "batch_predictions", "batchpredictionjobs", "fine_tuning",
		"fine-tunes", "tunedmodels", "threads", "assistants", "realtime", "evals", "videos", "agents", "sessions"};
	static const char *const verbs[] = {":batchGenerateContent", ":predictLongRunning"};

	while (path.len > 0) {
		struct span whole = span_until(path, '/'), segment = span_until(whole, ';'); /* parameters behind it */
		struct span verb = span_until(segment, ':');
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			if (span_is(segment, names[i]))
				return true;
		for (size_t i = 0; verb.len < segment.len && i < ARRAY_LEN(verbs); i++)
			if (span_is(span_from(segment, verb.len), verbs[i]))
				return true;
		path = span_from(path, whole.len < path.len ? whole.len + 1 : whole.len);
	}
	return false;
}

/* Pictures and sound: what they cost is in no byte of a form that is sent. */
static bool is_media(struct span path)
{
	while (path.len > 0) {
		struct span whole = span_until(path, '/'), segment = span_until(whole, ';');
		if (span_is(segment, "images") || span_is(segment, "audio"))
			return true;
		path = span_from(path, whole.len < path.len ? whole.len + 1 : whole.len);
	}
	return false;
}

/* ---- what is where in a body ---- */

enum place {
	IN_OTHER, IN_TOP, IN_CONFIG, IN_STREAM, IN_THINKING, IN_CONTEXT, IN_MESSAGE, IN_PART,
	IN_SOURCE, IN_TOOL, IN_EDIT,
	/* lists; an object in their place is like one of theirs */
	OF_MESSAGES, OF_PARTS, OF_TOOLS, OF_EDITS, OF_PROMPTS
};

enum meaning {
	ENTERS = 1,
	IS_MODEL, IS_LIMIT, IS_COUNT, IS_BEST, IS_USAGE, /* no lists or objects */
	IS_STREAM, IS_LATER,
	IS_ELSEWHERE, /* names what is not here */
	IS_URL, /* does, unless it is an image's data */
	IS_OTHERS, /* names of models that may answer instead */
	IS_TIER, /* of service, which may have prices of its own */
	IS_KIND, /* of a source: "base64", "url", "file" */
	IS_MEDIA, IS_TOOL_TYPE, IS_PART_TYPE,
	IS_THOUGHT, /* tokens that may be thought beyond the limit of the answer */
	IS_EDIT, /* of what was said before */
	IS_KEPT, /* for how long, in a cache */
	IS_DEFERRED /* asks for work that is paid for later */
};

#define ONCE 0x100 /* twice is refused: readers differ in which counts */
#define ASKS 0x200 /* only who asks a model writes it */
#define TALKS 0x400 /* and wants an answer in words */

/* Keys in lower case without '_': interfaces take both of maxOutputTokens and max_output_tokens, and some any case. */
static const struct member {
	enum place in;
	const char *key;
	enum meaning meaning;
	unsigned what; /* the place entered, the limit; and ONCE, ASKS */
} members[] = {
	{IN_TOP, "model", IS_MODEL, ONCE | ASKS},
	{IN_TOP, "maxtokens", IS_LIMIT, LIMIT_TOKENS | ONCE},
	{IN_TOP, "maxcompletiontokens", IS_LIMIT, LIMIT_COMPLETION | ONCE},
	{IN_TOP, "maxoutputtokens", IS_LIMIT, LIMIT_OUTPUT | ONCE},
	{IN_TOP, "maxtokenstosample", IS_LIMIT, LIMIT_SAMPLE | ONCE},
	{IN_TOP, "n", IS_COUNT, ONCE},
	{IN_TOP, "bestof", IS_BEST, ONCE},
	{IN_TOP, "stream", IS_STREAM, ONCE},
	{IN_TOP, "streamoptions", ENTERS, IN_STREAM | ONCE},
	{IN_TOP, "background", IS_LATER, ONCE},
	{IN_TOP, "messages", ENTERS, OF_MESSAGES | ONCE | ASKS | TALKS},
	{IN_TOP, "input", ENTERS, OF_MESSAGES | ONCE | ASKS},
	{IN_TOP, "inputs", ENTERS, OF_MESSAGES | ASKS},
	{IN_TOP, "contents", ENTERS, OF_MESSAGES | ONCE | ASKS | TALKS},
	{IN_TOP, "instances", ENTERS, OF_MESSAGES | ASKS},
	{IN_TOP, "inputtext", 0, ASKS},
	{IN_TOP, "system", ENTERS, OF_PARTS},
	{IN_TOP, "systeminstruction", ENTERS, OF_MESSAGES},
	{IN_TOP, "tools", ENTERS, OF_TOOLS | ONCE},
	{IN_TOP, "prompt", ENTERS, OF_PROMPTS | ONCE | ASKS | TALKS},
	{IN_TOP, "generationconfig", ENTERS, IN_CONFIG | ONCE},
	{IN_TOP, "previousresponseid", IS_ELSEWHERE, 0},
	{IN_TOP, "conversation", IS_ELSEWHERE, 0},
	{IN_TOP, "container", IS_ELSEWHERE, 0},
	{IN_TOP, "mcpservers", IS_ELSEWHERE, 0},
	{IN_TOP, "cachedcontent", IS_ELSEWHERE, 0},
	{IN_TOP, "websearchoptions", IS_ELSEWHERE, 0},
	{IN_TOP, "models", IS_OTHERS, 0},
	{IN_TOP, "fallbacks", IS_OTHERS, 0},
	{IN_TOP, "servicetier", IS_TIER, ONCE},
	{IN_TOP, "speed", IS_TIER, ONCE},
	{IN_TOP, "requests", IS_DEFERRED, 0},
	{IN_TOP, "inputfileid", IS_DEFERRED, 0},
	{IN_TOP, "trainingfile", IS_DEFERRED, 0},
	{IN_TOP, "assistantid", IS_DEFERRED, 0},
	{IN_TOP, "thinking", ENTERS, IN_THINKING},
	{IN_TOP, "contextmanagement", ENTERS, IN_CONTEXT},
	{IN_THINKING, "budgettokens", IS_THOUGHT, 0},
	{IN_CONTEXT, "edits", ENTERS, OF_EDITS},
	{IN_CONTEXT, "type", IS_EDIT, 0}, /* where it is itself a list of edits */
	{IN_EDIT, "type", IS_EDIT, 0},
	{IN_CONFIG, "maxoutputtokens", IS_LIMIT, LIMIT_CONFIG | ONCE},
	{IN_CONFIG, "candidatecount", IS_COUNT, ONCE},
	{IN_STREAM, "includeusage", IS_USAGE, ONCE},
	{IN_MESSAGE, "content", ENTERS, OF_PARTS},
	{IN_MESSAGE, "parts", ENTERS, OF_PARTS},
	{IN_MESSAGE, "output", ENTERS, OF_PARTS},
	{IN_MESSAGE, "type", IS_PART_TYPE, 0},
	{IN_MESSAGE, "audio", IS_ELSEWHERE, 0},
	{IN_MESSAGE, "fileid", IS_ELSEWHERE, 0},
	{IN_MESSAGE, "fileurl", IS_ELSEWHERE, 0},
	{IN_MESSAGE, "imageurl", IS_URL, 0},
	{IN_PART, "type", IS_PART_TYPE, 0},
	{IN_PART, "content", ENTERS, OF_PARTS},
	{IN_PART, "source", ENTERS, IN_SOURCE},
	{IN_PART, "file", ENTERS, IN_SOURCE},
	{IN_PART, "inputaudio", IS_ELSEWHERE, 0},
	{IN_PART, "videourl", IS_ELSEWHERE, 0},
	{IN_PART, "inlinedata", ENTERS, IN_SOURCE},
	{IN_PART, "imageurl", IS_URL, IN_SOURCE},
	{IN_PART, "fileid", IS_ELSEWHERE, 0},
	{IN_PART, "fileurl", IS_ELSEWHERE, 0},
	{IN_PART, "filedata", IS_ELSEWHERE, 0},
	{IN_SOURCE, "url", IS_URL, 0},
	{IN_SOURCE, "type", IS_KIND, 0},
	{IN_SOURCE, "mediatype", IS_MEDIA, 0},
	{IN_SOURCE, "mimetype", IS_MEDIA, 0},
	{IN_SOURCE, "content", ENTERS, OF_PARTS},
	{IN_SOURCE, "fileid", IS_ELSEWHERE, 0},
	{IN_SOURCE, "fileuri", IS_ELSEWHERE, 0},
	{IN_SOURCE, "filedata", IS_ELSEWHERE, 0},
	{IN_TOOL, "type", IS_TOOL_TYPE, 0},
	{IN_TOOL, "model", IS_OTHERS, 0}, /* which the provider asks, too */
	{IN_TOOL, "googlesearch", IS_ELSEWHERE, 0},
	{IN_TOOL, "googlesearchretrieval", IS_ELSEWHERE, 0},
	{IN_TOOL, "googlemaps", IS_ELSEWHERE, 0},
	{IN_TOOL, "urlcontext", IS_ELSEWHERE, 0},
	{IN_TOOL, "codeexecution", IS_ELSEWHERE, 0},
	{IN_TOOL, "filesearch", IS_ELSEWHERE, 0},
	{IN_TOOL, "retrieval", IS_ELSEWHERE, 0},
};

/* ---- reading ---- */

struct reading {
	const char *body;
	size_t at, len;
	struct ask *ask;
	const struct form *form;
	uint8_t places[DEPTH_MAX];
	bool lists[DEPTH_MAX];
	size_t depth;
	bool seen[ARRAY_LEN(members)];
	bool asks; /* a model */
	bool talks; /* to it */
	bool others, deferred, elsewhere, streams, usage, has_options, has_usage;
	size_t options_at, options_len, usage_at, usage_len;
	uint64_t limit, thought, count, best, prompts, images, own_tools;
	bool has_limit, has_tools, is_object, compacts;
};

struct token {
	char text[TEXT_MAX];
	size_t len; /* uncut */
};

static bool fail(struct reading *in, const char *why)
{
	if (in->ask->fault == NULL)
		in->ask->fault = why;
	return false;
}

static bool bad(struct reading *in)
{
	return fail(in, "the request body is not strict JSON");
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct reading *in)
{
	while (in->at < in->len && is_space(in->body[in->at]))
		in->at++;
}

static bool next_is(struct reading *in, char c)
{
	skip_blanks(in);
	if (in->at >= in->len || in->body[in->at] != c)
		return false;
	in->at++;
	return true;
}

static void token_put(struct token *token, char c)
{
	if (token->len < sizeof(token->text))
		token->text[token->len] = c;
	token->len++;
}

static int hex_value(char c)
{
	return is_digit(c) ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

/* Two letters beyond ASCII are k and s to readers that ignore case. */
static char letter_of(unsigned code)
{
	return code < 0x80 ? (char)code : code == 0x212a ? 'k' : code == 0x17f ? 's' : '\x7f';
}

static bool escape_read(struct reading *in, struct token *ret)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = in->at < in->len ? in->body[in->at++] : '\0';
	const char *found = c != '\0' ? strchr(letters, c) : NULL;
	unsigned code = 0;

	if (found != NULL) {
		token_put(ret, meant[found - letters]);
		return true;
	}
	for (int i = 0; c == 'u' && i < 4; i++) {
		int value = in->at < in->len ? hex_value(in->body[in->at++]) : -1;
		if (value < 0)
			return bad(in);
		code = code * 16 + (unsigned)value;
	}
	token_put(ret, letter_of(code));
	return c == 'u' ? true : bad(in);
}

/* From behind its first quote. */
static bool string_read(struct reading *in, struct token *ret)
{
	ret->len = 0;
	while (in->at < in->len) {
		char c = in->body[in->at++];
		if (c == '"')
			return true;
		if ((unsigned char)c < ' ')
			return bad(in);
		if (c != '\\')
			token_put(ret, c);
		else if (!escape_read(in, ret))
			return false;
	}
	return bad(in);
}

static void key_fold(struct token *key)
{
	size_t len = 0, size = key->len < sizeof(key->text) ? key->len : sizeof(key->text);

	for (size_t i = 0; i < size; i++) {
		if (i + 2 < size && memcmp(key->text + i, "\xe2\x84\xaa", 3) == 0) {
			key->text[len++] = 'k';
			i += 2;
		} else if (i + 1 < size && memcmp(key->text + i, "\xc5\xbf", 2) == 0) {
			key->text[len++] = 's';
			i += 1;
		} else if (key->text[i] != '_') {
			key->text[len++] = (char)lower(key->text[i]);
		}
	}
	key->len = len;
}

static bool token_is(const struct token *token, const char *text)
{
	return token->len == strlen(text) && memcmp(token->text, text, token->len) == 0;
}

static bool token_begins(const struct token *token, const char *text)
{
	return token->len >= strlen(text) && memcmp(token->text, text, strlen(text)) == 0;
}

/* As "max_tokens"; in places where both are read, also as "maxOutputTokens". A reader that ignores others would not heed it. */
static bool is_spelled(const struct token *raw, bool camel)
{
	static const char *const exact[] = {"model", "max_tokens", "max_completion_tokens", "max_output_tokens",
		"max_tokens_to_sample", "n", "best_of", "stream", "stream_options", "background", "messages", "input", "contents",
		"tools", "prompt", "generationConfig", "generation_config", "service_tier", "speed", "candidate_count", "include_usage"};

	for (size_t i = 0; i < ARRAY_LEN(exact); i++)
		if (token_is(raw, exact[i]))
			return true;
	return camel && (token_is(raw, "maxOutputTokens") || token_is(raw, "candidateCount"));
}

/* The member that a key names; NULL: none that counts. *ret_ok: it may be there. */
static const struct member *member_find(struct reading *in, struct token *key, bool *ret_ok)
{
	/* in whatever may be kept */
	static const struct member ttl = {IN_OTHER, "ttl", IS_KEPT, 0};
	struct token raw = *key;

	*ret_ok = true;
	size_t size = raw.len < sizeof(raw.text) ? raw.len : sizeof(raw.text);
	if (memchr(raw.text, '\0', size) != NULL) { /* where some stop reading */
		*ret_ok = fail(in, "a member of the request body has a zero byte in its name");
		return NULL;
	}
	key_fold(key);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct member *member = &members[i];
		if (member->in != in->places[in->depth - 1] || !token_is(key, member->key))
			continue;
		if (in->seen[i] && (member->what & ONCE) != 0)
			*ret_ok = fail(in, "a member of the request body that decides its cost is there twice");
		if ((member->what & ONCE) != 0 && !is_spelled(&raw, member->in == IN_CONFIG))
			*ret_ok = fail(in, "a member of the request body that decides its cost is spelled as no interface has it");
		in->seen[i] = true;
		in->asks = in->asks || (member->what & ASKS) != 0;
		in->talks = in->talks || (member->what & TALKS) != 0;
		return member;
	}
	return token_is(key, ttl.key) ? &ttl : NULL;
}

/* ---- what a value means ---- */

static void model_set(struct reading *in, const struct token *token)
{
	bool good = token->len < sizeof(in->ask->model);

	for (size_t i = 0; good && i < token->len; i++)
		good = token->text[i] > ' ' && token->text[i] <= '~';
	if (good)
		memcpy(in->ask->model, token->text, token->len);
}

static void url_set(struct reading *in, const struct token *token)
{
	if (token_begins(token, "data:image/"))
		in->images++;
	else
		in->elsewhere = true;
}

static void media_set(struct reading *in, const struct token *token)
{
	if (token_begins(token, "image/"))
		in->images++;
	else if (!token_begins(token, "text/"))
		in->elsewhere = true; /* pages, sounds and films have more in them than bytes */
}

static void part_set(struct reading *in, const struct token *token)
{
	if (token_is(token, "item_reference"))
		in->elsewhere = true;
	else if (token_is(token, "image"))
		in->images++;
}

/* Of the tools that have a type, these are run by whoever asks; others by the provider, who reads what they give. */
static void tool_set(struct reading *in, const struct token *token)
{
	static const char *const ours[] = {"bash_", "text_editor_", "computer_2", "memory_", "local_shell", "apply_patch"};

	if (token_is(token, "function") || token_is(token, "custom"))
		return;
	in->own_tools++;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (token_begins(token, ours[i]))
			return;
	in->elsewhere = true;
}

static void string_means(struct reading *in, const struct member *member, const struct token *token)
{
	switch (member->meaning) {
	case IS_MODEL: model_set(in, token); break;
	case IS_URL: url_set(in, token); break;
	case IS_MEDIA: media_set(in, token); break;
	case IS_PART_TYPE: part_set(in, token); break;
	case IS_TOOL_TYPE: tool_set(in, token); break;
	case IS_KIND: in->elsewhere = in->elsewhere || token_is(token, "url") || token_is(token, "file"); break;
	case IS_ELSEWHERE: in->elsewhere = true; break;
	case IS_STREAM: in->streams = true; break;
	case IS_LATER: in->ask->is_later = true; break;
	case IS_DEFERRED: in->deferred = true; break;
	case IS_OTHERS: in->others = true; break;
	case IS_KEPT: in->ask->is_kept = in->ask->is_kept || !token_is(token, "5m"); break;
	case IS_EDIT: in->compacts = in->compacts || token_begins(token, "compact"); break;
	case IS_TIER:
		if (token_is(token, "priority") || token_is(token, "fast"))
			(void)fail(in, "the request asks for a faster tier, which the price table does not cover: leave out service_tier");
		break;
	case IS_LIMIT:
	case IS_THOUGHT:
	case IS_COUNT:
	case IS_BEST: (void)fail(in, "a limit in the request body, such as max_tokens, is not a whole number"); break;
	default: break;
	}
}

static bool number_read(const struct token *token, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < token->len; i++) {
		if (i >= 10 || !is_digit(token->text[i]))
			return false;
		*ret = *ret * 10 + (uint64_t)(token->text[i] - '0');
	}
	return token->len > 0 && *ret <= NUMBER_MAX && (token->text[0] != '0' || token->len == 1);
}

static bool limit_set(struct reading *in, const struct member *member, uint64_t value)
{
	unsigned heeded = in->form != NULL ? in->form->limits : 0;

	if (member->meaning == IS_COUNT)
		in->count = value > in->count ? value : in->count;
	else if (member->meaning == IS_BEST)
		in->best = value;
	else if (member->meaning == IS_THOUGHT)
		in->thought = value > in->thought ? value : in->thought;
	else if ((member->what & heeded) != 0 && value > 0) { /* 0 is "none" to some */
		in->limit = value > in->limit ? value : in->limit;
		in->has_limit = true;
	}
	return true;
}

static bool bare_means(struct reading *in, const struct member *member, const struct token *token)
{
	bool no = token_is(token, "false");
	uint64_t value;

	if (token_is(token, "null"))
		return true;
	switch (member->meaning) {
	case IS_LIMIT:
	case IS_THOUGHT:
	case IS_COUNT:
	case IS_BEST:
		if (!number_read(token, &value))
			return fail(in, "a limit in the request body, such as max_tokens, is not a whole number");
		return limit_set(in, member, value);
	case IS_STREAM: in->streams = in->streams || !no; return true;
	case IS_LATER: in->ask->is_later = in->ask->is_later || !no; return true;
	case IS_USAGE: in->usage = token_is(token, "true"); return true;
	case IS_KEPT: in->ask->is_kept = true; return true;
	case IS_ELSEWHERE: in->elsewhere = in->elsewhere || !no; return true;
	case IS_DEFERRED: in->deferred = true; return true;
	default: return true;
	}
}

/* ---- values ---- */

static enum place place_of(const struct reading *in, const struct member *member, bool list)
{
	static const enum place of[] = {[OF_MESSAGES] = IN_MESSAGE, [OF_PARTS] = IN_PART, [OF_TOOLS] = IN_TOOL,
		[OF_EDITS] = IN_EDIT, [OF_PROMPTS] = IN_OTHER};
	enum place place = IN_OTHER;

	if (in->depth == 0)
		return list ? IN_OTHER : IN_TOP;
	if (in->lists[in->depth - 1] && !list)
		place = (enum place)in->places[in->depth - 1];
	else if (member != NULL && (member->meaning == ENTERS || member->meaning == IS_URL))
		place = (enum place)(member->what & 0xff);
	return place >= OF_MESSAGES && !list ? of[place] : place;
}

static bool open_value(struct reading *in, const struct member *member, bool list)
{
	enum place place = place_of(in, member, list);

	if (in->depth == DEPTH_MAX)
		return fail(in, "the request body is nested too deeply");
	if (member != NULL) {
		in->elsewhere = in->elsewhere || member->meaning == IS_ELSEWHERE ||
			(!list && (member->what & 0xff) == OF_PROMPTS && member->meaning == ENTERS); /* one that is kept there */
		in->deferred = in->deferred || member->meaning == IS_DEFERRED;
		in->others = in->others || member->meaning == IS_OTHERS;
		in->has_tools = in->has_tools || (member->what & 0xff) == OF_TOOLS;
		if (member->meaning >= IS_MODEL && member->meaning <= IS_USAGE)
			return fail(in, "a member of the request body that decides its cost is an array or an object");
		if (list && (member->what & 0xff) == IN_STREAM && member->meaning == ENTERS)
			return fail(in, "stream_options is not an object");
		in->streams = in->streams || member->meaning == IS_STREAM;
		in->ask->is_later = in->ask->is_later || member->meaning == IS_LATER;
	}
	in->is_object = in->is_object || place == IN_TOP;
	in->places[in->depth] = (uint8_t)place;
	in->lists[in->depth++] = list;
	return true;
}

static bool is_bare(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || c == 'E' || c == '-' || c == '+' || c == '.';
}

static bool bare_read(struct reading *in, struct token *ret)
{
	ret->len = 0;
	while (in->at < in->len && is_bare(in->body[in->at]))
		token_put(ret, in->body[in->at++]);
	if (ret->len == 0)
		return bad(in);
	if (ret->text[0] >= 'a')
		return token_is(ret, "true") || token_is(ret, "false") || token_is(ret, "null") || bad(in);
	return true;
}

/* An item of a list of prompts: each is answered; but numbers are the tokens of one. */
static void prompt_counts(struct reading *in)
{
	if (in->depth > 0 && in->lists[in->depth - 1] && in->places[in->depth - 1] == OF_PROMPTS &&
		!is_digit(in->body[in->at]))
		in->prompts++;
}

/* A string, a word or a number, or the beginning of a list or an object. */
static bool value_begin(struct reading *in, const struct member *member)
{
	struct token token;

	skip_blanks(in);
	if (in->at >= in->len)
		return bad(in);
	prompt_counts(in);
	char c = in->body[in->at];
	if (c == '{' || c == '[') {
		in->at++;
		return open_value(in, member, c == '[');
	}
	if (c == '"') {
		in->at++;
		if (!string_read(in, &token))
			return false;
		if (member != NULL)
			string_means(in, member, &token);
		return in->ask->fault == NULL;
	}
	return bare_read(in, &token) && (member == NULL || bare_means(in, member, &token));
}

/* Where the value of a member that may be changed is. */
static void note_span(struct reading *in, const struct member *member, size_t from)
{
	if (member == NULL)
		return;
	if (member->meaning == IS_USAGE) {
		in->has_usage = true;
		in->usage_at = from;
		in->usage_len = in->at - from;
	} else if (member->meaning == ENTERS && (member->what & 0xff) == IN_STREAM) {
		in->has_options = true;
		in->options_at = from;
		in->options_len = in->at - from; /* up to its first byte, if it is an object */
	}
}

static bool member_read(struct reading *in)
{
	const struct member *member;
	struct token key;
	bool ok;

	if (!next_is(in, '"'))
		return bad(in);
	if (!string_read(in, &key))
		return false;
	member = member_find(in, &key, &ok);
	if (!ok)
		return false;
	if (!next_is(in, ':'))
		return bad(in);
	skip_blanks(in);
	size_t from = in->at;
	if (!value_begin(in, member))
		return false;
	note_span(in, member, from);
	return true;
}

/* One after another, without a stack of ours: false ends it. */
static bool step(struct reading *in, bool *fresh)
{
	bool list = in->lists[in->depth - 1];
	size_t depth = in->depth;

	if (next_is(in, list ? ']' : '}')) {
		in->depth--;
		*fresh = false;
		return true;
	}
	if (!*fresh && !next_is(in, ','))
		return bad(in);
	if (!(list ? value_begin(in, NULL) : member_read(in)))
		return false;
	*fresh = in->depth > depth;
	return true;
}

static bool body_read(struct reading *in)
{
	bool fresh = true;

	if (!value_begin(in, NULL))
		return false;
	while (in->depth > 0)
		if (!step(in, &fresh))
			return false;
	skip_blanks(in);
	return in->at == in->len || bad(in);
}

/* ---- what comes of it ---- */

/* "models/NAME:verb", "deployments/NAME/..." */
static void model_from_path(struct ask *ask, struct span path, bool in_path)
{
	struct span before = {0};

	while (path.len > 0) {
		struct span segment = span_until(path, '/');
		if (span_is(before, "models") || span_is(before, "deployments")) {
			struct span name = span_until(segment, ':');
			bool fits = name.len > 0 && name.len < sizeof(ask->model);
			bool same = strlen(ask->model) == name.len && memcmp(ask->model, name.at, name.len) == 0;
			bool takes = fits && (in_path || ask->model[0] == '\0');
			if (!same) /* which of two counts is not known: then it is the dearest */
				memset(ask->model, 0, sizeof(ask->model));
			if (takes)
				memcpy(ask->model, name.at, name.len);
			return;
		}
		before = segment;
		path = span_from(path, segment.len < path.len ? segment.len + 1 : segment.len);
	}
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return b > 0 && a > TOKENS_MAX / b ? TOKENS_MAX : a * b;
}

static uint64_t at_least_one(uint64_t count)
{
	return count > 0 ? count : 1;
}

static void bound(struct reading *in)
{
	struct ask *ask = in->ask;
	const struct model *model = model_find(ask->model);
	uint64_t context = model != NULL ? model->context : ASK_CONTEXT_DEFAULT;
	uint64_t most = model != NULL ? model->output : ASK_OUTPUT_DEFAULT;
	uint64_t answers = in->best > in->count ? in->best : in->count;

	ask->input = in->len + BASE_TOKENS + (in->has_tools ? TOOLS_TOKENS : 0) + times(TOOL_TOKENS, in->own_tools) +
		times(ASK_IMAGE_TOKENS, in->images);
	if (in->elsewhere && ask->input < context)
		ask->input = context;
	else if (model != NULL && in->prompts <= 1 && ask->input > context)
		ask->input = context; /* it takes no more */
	if (in->thought > in->limit) /* between calls of tools it may be more */
		in->limit += in->thought;
	ask->output = !in->has_limit || (model != NULL && in->limit > most) ? most : in->limit;
	if (in->compacts) { /* the model is asked once more, for a summary of all there is */
		ask->input = times(2, ask->input > context ? ask->input : context);
		ask->output = times(2, ask->output);
	}
	ask->output = times(times(ask->output, at_least_one(answers)), at_least_one(in->prompts));
	if (in->form != NULL && in->form->silent && !in->talks)
		ask->output = 0;
}

static void edit_choose(struct reading *in)
{
	struct ask *ask = in->ask;

	if (in->form == NULL || !in->form->streams || !in->streams || in->usage)
		return;
	ask->edit = ASK_ADD;
	if (in->has_usage) {
		ask->edit = ASK_SET;
		ask->edit_at = in->usage_at;
		ask->edit_len = in->usage_len;
	} else if (in->has_options) {
		ask->edit = in->body[in->options_at] == '{' ? ASK_PUT : ASK_REPLACE;
		ask->edit_at = in->options_at;
		ask->edit_len = in->options_len;
	}
}

/* Whether some reader might take it for JSON: then it must be. */
static bool looks_like_json(const char *body, size_t len)
{
	size_t at = 0;

	while (at < len && (is_space(body[at]) || body[at] == '\v' || body[at] == '\f'))
		at++;
	return at < len && (body[at] == '\0' || strchr("{[\"/\xef\xfe\xff", body[at]) != NULL);
}

/* What is not is left out by some readers, which makes another name of "max_\xfftokens". */
static bool utf8_is_valid(const char *body, size_t len)
{
	for (size_t i = 0; i < len;) {
		int size = (unsigned char)body[i] < 0x80 ? 1 : utf8_char(body + i, len - i);
		if (size <= 0)
			return false;
		i += (size_t)size;
	}
	return true;
}

static void read_known(struct ask *ask, const struct form *form, struct span path, const char *body, size_t len)
{
	struct reading *in = xcalloc(1, sizeof(*in));

	*in = (struct reading){.body = body, .len = len, .ask = ask, .form = form};
	bool whole = utf8_is_valid(body, len) ? body_read(in)
					      : fail(in, "the request body is not UTF-8");
	if (whole && form != NULL && !in->is_object)
		ask->fault = "a body that is no object, where one is asked for";
	if (whole && in->deferred && (form == NULL || !form->silent))
		ask->fault = "the request asks for work that is paid for later, which no budget can bound";
	bool named = ask->model[0] != '\0';
	model_from_path(ask, path, form != NULL && form->in_path);
	ask->is_known = form != NULL || in->asks || named || ask->model[0] != '\0';
	if (in->others)
		memset(ask->model, 0, sizeof(ask->model));
	if (ask->fault == NULL && ask->is_known)
		bound(in);
	if (ask->fault == NULL)
		edit_choose(in);
	free(in);
}

/* What an upstream may make of it: decoded as often as it can be, without slashes at its end. */
static struct span path_read(struct span path, struct buf *room)
{
	buf_add(room, path.at, path.len);
	for (size_t before = room->len + 1; room->len < before;) {
		size_t len = 0;
		before = room->len;
		for (size_t i = 0; i < before; i++) {
			char *at = room->data + i;
			bool coded = *at == '%' && i + 2 < before && hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0;
			room->data[len++] = coded ? (char)(hex_value(at[1]) * 16 + hex_value(at[2])) : *at;
			i += coded ? 2 : 0;
		}
		room->len = len;
	}
	size_t len = room->len;
	while (len > 1 && room->data[len - 1] == '/')
		len--;
	return (struct span){room->data, len};
}

/* Google's interfaces leave out of an answer what is not asked for, its usage too. */
static bool has_mask(struct span query)
{
	own(buf_done) struct buf room = {0};
	struct span rest = path_read(query, &room);

	while (rest.len > 0) {
		struct span pair = span_until(rest, '&'), name = span_until(pair, '=');
		if (span_is(name, "fields") || span_is(name, "$fields"))
			return true;
		rest = span_from(rest, pair.len < rest.len ? pair.len + 1 : pair.len);
	}
	return false;
}

void ask_read(struct ask *ret, struct span target, const char *body, size_t len)
{
	own(buf_done) struct buf room = {0};
	struct span path = path_read(span_until(target, '?'), &room);
	const struct form *form = form_find(path);

	*ret = (struct ask){.is_free = form != NULL && form->free};
	if (is_deferred(path) && !(form != NULL && form->silent)) {
		ret->fault = "the request asks for work that is paid for later, which no budget can bound";
		return;
	}
	struct span query = span_from(target, span_until(target, '?').len);
	if (query.len > 1 && has_mask(span_from(query, 1))) {
		ret->fault = "the request asks for a part of the answer (fields), which may leave out what it cost";
		return;
	}
	if (ret->is_free)
		return;
	if (len > 0 && (form != NULL || looks_like_json(body, len)))
		read_known(ret, form, path, body, len);
	if (ret->fault == NULL && !ret->is_known) {
		ret->is_known = is_media(path);
		ret->input = len + 1;
		ret->output = ret->is_known ? ASK_OUTPUT_DEFAULT : ASK_OUTPUT_UNKNOWN;
	}
}

void ask_edit(const struct ask *ask, const char *body, size_t len, struct buf *ret)
{
	static const char usage[] = "\"include_usage\":true";
	size_t at = ask->edit_at, rest = at + ask->edit_len;

	switch (ask->edit) {
	case ASK_ADD: /* the object has members: it asks for a stream */
		for (at = len; at > 0 && body[at - 1] != '}';)
			at--;
		rest = --at;
		buf_add(ret, body, at);
		buf_fmt(ret, ",\"stream_options\":{%s}", usage);
		break;
	case ASK_PUT: {
		size_t next = rest;
		while (next < len && is_space(body[next]))
			next++;
		buf_add(ret, body, rest);
		buf_fmt(ret, "%s%s", usage, body[next] == '}' ? "" : ",");
		break;
	}
	case ASK_SET:
		buf_add(ret, body, at);
		buf_str(ret, "true");
		break;
	case ASK_REPLACE:
		buf_add(ret, body, at);
		buf_fmt(ret, "{%s}", usage);
		break;
	case ASK_AS_IT_IS: rest = 0; break;
	}
	buf_add(ret, body + rest, len - rest);
}
