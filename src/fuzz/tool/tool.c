/* Tools: one JSON document a line, or a process a call. Pure. See target_private.h.
 *
 * Of a line server everything is an answer: the first line after a call is its. A line that comes when nothing was
 * asked, or a second one behind the answer, breaks that for good, since nobody can say what the next line will belong
 * to: the call is REPLY_BROKEN and the process is made anew. */
#include "fuzz/tool/target_private.h"

#include <stdio.h>
#include <string.h>

/* What the kernel takes as one argument and as all of them, with room for the rest. What is longer is cut. */
#define WORD_BYTES_MAX (((size_t)128 << 10) - 1)
#define WORDS_BYTES_MAX ((size_t)1 << 20)

enum talk_event tool_start(struct talk *talk)
{
	(void)talk;
	return TALK_READY;
}

void tool_call(struct talk *talk, const struct subject *subject, const char *input, size_t len)
{
	(void)subject;
	talk->asked = true;
	buf_add(&talk->out, input, len);
	buf_char(&talk->out, '\n');
}

enum talk_event tool_message(struct talk *talk, const char *text, size_t len)
{
	talk->asked = false;
	answer_tool(&talk->answer, talk->options->reject_member, text, len);
	return TALK_ANSWERED;
}

void tool_unasked(struct talk *talk, const char *text, size_t len)
{
	answer_broken_quote(&talk->answer, "it said something that was not asked for", text, len);
}

/* ---- words ---- */

/* The member of a map, or item of a list, that one step of a pointer names. */
static const struct value *step(const struct value *value, const char *name, size_t len)
{
	if (value->kind == VALUE_LIST) {
		char digits[12], *end = NULL;
		if (len == 0 || len >= sizeof(digits))
			return NULL;
		memcpy(digits, name, len);
		digits[len] = '\0';
		unsigned long index = strtoul(digits, &end, 10);
		return *end || digits[0] < '0' || digits[0] > '9' || index >= value->count ? NULL : &value->items[index];
	}
	for (size_t i = 0; value->kind == VALUE_MAP && i < value->count; i++)
		if (value->key_lens[i] == len && memcmp(value->keys[i], name, len) == 0)
			return &value->items[i];
	return NULL;
}

/* "/a/0/b~1c", as RFC 6901 has it. */
static const struct value *follow(const struct value *value, const char *pointer, size_t len)
{
	const char *end = pointer + len;

	while (value && pointer < end) {
		own(buf_done) struct buf name = {0};
		for (pointer++; pointer < end && *pointer != '/'; pointer++) {
			bool escape = *pointer == '~' && pointer + 1 < end && (pointer[1] == '0' || pointer[1] == '1');
			buf_char(&name, !escape ? *pointer : pointer[1] == '0' ? '~' : '/');
			pointer += escape;
		}
		value = step(value, buf_text(&name), name.len);
	}
	return value;
}

/* A text is the word itself, up to a NUL, which no argument can hold; anything else is its JSON. */
static void word_value(const struct value *value, struct buf *out)
{
	if (value->kind == VALUE_TEXT) {
		buf_str(out, value->text);
		return;
	}
	struct json json = {0};
	json_value(&json, value, false);
	buf_add(out, buf_text(&json.out), json.out.len);
	json_done(&json);
}

struct document {
	struct value value;
	const char *text;
	size_t len;
};

/* False: the word is nothing but a place for a value that the document does not have. */
static bool word_fill(const char *word, const struct document *document, struct buf *out)
{
	for (const char *at = word; *at;) {
		size_t inside = *at == '{' ? strcspn(at + 1, "{}") : 0;
		if (*at != '{' || at[1 + inside] != '}') {
			buf_char(out, *at++);
			continue;
		}
		const char *name = at + 1;
		const struct value *value =
			*name == '/' ? follow(&document->value, name, inside) : step(&document->value, name, inside);
		at += inside + 2;
		if (inside == 0)
			buf_add(out, document->text, document->len);
		else if (value)
			word_value(value, out);
		else if (name == word + 1 && !*at)
			return false;
	}
	return true;
}

char **args_words(const struct target_options *options, const char *input, size_t len)
{
	static const struct json_limits limits = {.bytes = (size_t)1 << 26, .values = (size_t)1 << 24, .depth = 2000,
		.any_text = true};
	struct document document = {.text = input, .len = len};
	struct err ignored;
	size_t count = 0, kept = 0, left = WORDS_BYTES_MAX;

	(void)!json_read(input, len, &limits, NULL, &document.value, &ignored);
	while (options->spec->argv[count])
		count++;
	char **words = xcalloc(count + 1, sizeof(*words));
	for (size_t i = 0; i < count; i++) {
		own(buf_done) struct buf word = {0};
		if (!word_fill(options->spec->argv[i], &document, &word))
			continue;
		size_t room = left < WORD_BYTES_MAX ? left : WORD_BYTES_MAX;
		words[kept++] = xfmt("%.*s", (int)(word.len < room ? word.len : room), buf_text(&word));
		left -= word.len < room ? word.len : room;
	}
	value_done(&document.value);
	return words;
}

void words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}
