/* What a target offers: subjects, their schemas, remarks. See target_private.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/term.h"
#include "base/utf8.h"
#include "fuzz/tool/target_private.h"

#define REMARKS_MAX 100u
#define NAME_BYTES_MAX 1024u
#define COMPILE_NS (30 * NS_PER_S) /* for all schemas together */

bool remarked(const struct strings *remarks, const char *beginning)
{
	for (size_t i = 0; i < remarks->count; i++)
		if (strncmp(remarks->items[i], beginning, strlen(beginning)) == 0)
			return true;
	return false;
}

void remark_add(struct strings *remarks, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (remarks->count < REMARKS_MAX && !remarked(remarks, text))
		strings_add(remarks, text);
}

static void value_move(struct value *to, struct value *from)
{
	if (!from)
		return;
	*to = *from;
	*from = (struct value){0};
}

static const struct subject *subject_find(const struct subjects *subjects, const char *name)
{
	for (size_t i = 0; i < subjects->count; i++)
		if (strcmp(subjects->list[i].name, name) == 0)
			return &subjects->list[i];
	return NULL;
}

/* Tools, resources and prompts have names of their own: what is called like a tool is told apart by what it is. */
static char *name_apart(const struct subjects *subjects, unsigned kind, const char *name)
{
	static const char *const kinds[] = {[SUBJECT_TOOL] = "tool", [SUBJECT_RESOURCE] = "resource", [SUBJECT_PROMPT] = "prompt"};
	const struct subject *same = subject_find(subjects, name);

	return same && same->kind != kind ? xfmt("%s (%s)", name, kinds[kind]) : xstrdup(name);
}

/* Half a surrogate pair can be in a text of JSON, and in no capsule, SARIF log or call of ours. */
static bool is_unicode(const char *text, size_t len)
{
	for (int size = 0; len > 0; text += size, len -= (size_t)size) {
		size = utf8_char(text, len);
		if (size <= 0)
			return false;
	}
	return true;
}

bool subjects_add(struct subjects *subjects, struct strings *remarks, unsigned kind, const struct value *name,
	const struct value *description, struct value *input, struct value *output)
{
	own(buf_done) struct buf shown = {0};

	if (!name || name->kind != VALUE_TEXT || name->len == 0 || strlen(name->text) != name->len ||
		name->len > NAME_BYTES_MAX) {
		remark_add(remarks, "something on offer has no name, or one that is empty, too long or holds a NUL: it was left out");
		return false;
	}
	if (subjects->count >= TARGET_SUBJECTS_MAX) {
		remark_add(remarks, "it offers more than %u things: the rest was left out", TARGET_SUBJECTS_MAX);
		return false;
	}
	term_line(name->text, name->len, 100, &shown);
	if (!is_unicode(name->text, name->len)) {
		remark_add(remarks, "'%s' was left out: its name is no text of Unicode", buf_text(&shown));
		return false;
	}
	own(freep) char *apart = name_apart(subjects, kind, name->text);
	if (subject_find(subjects, apart)) {
		remark_add(remarks, "it offers '%s' twice: the second was left out", buf_text(&shown));
		return false;
	}
	if ((subjects->count & (subjects->count - 1)) == 0)
		subjects->list = xrealloc(subjects->list, subjects->count ? subjects->count * 2 : 1, sizeof(*subjects->list));
	struct subject *subject = &subjects->list[subjects->count++];
	*subject = (struct subject){.kind = kind};
	subject->called = strcmp(apart, name->text) == 0 ? NULL : xstrdup(name->text);
	subject->name = ptr_take(&apart);
	if (description && description->kind == VALUE_TEXT)
		subject->description = xstrdup(description->text);
	if (!input) {
		subject->problem = xstrdup("it declares no input schema");
		remark_add(remarks, "'%s' declares no input schema", buf_text(&shown));
	}
	value_move(&subject->input_value, input);
	value_move(&subject->output_value, output);
	return true;
}

static void subject_done(struct subject *subject)
{
	subject->generator = generator_free(subject->generator);
	subject->input = schema_free(subject->input);
	subject->output = schema_free(subject->output);
	value_done(&subject->input_value);
	value_done(&subject->output_value);
	free(subject->name);
	free(subject->called);
	free(subject->description);
	free(subject->problem);
}

void subjects_done(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++)
		subject_done(&subjects->list[i]);
	free(subjects->list);
	*subjects = (struct subjects){0};
}

static void subject_compile(struct subject *subject, const struct generator_options *options,
	struct strings *remarks)
{
	own(buf_done) struct buf shown = {0};
	struct err err = {0};

	if (subject->output_value.kind != VALUE_NULL)
		subject->output = schema_open(&subject->output_value, NULL, &err);
	if (subject->output_value.kind != VALUE_NULL && !subject->output) {
		term_line(subject->name, strlen(subject->name), 100, &shown);
		remark_add(remarks, "the output schema of '%s' cannot be used: %s", buf_text(&shown), err.text);
	}
	if (subject->problem)
		return;
	subject->input = schema_open(&subject->input_value, NULL, &err);
	if (subject->input)
		subject->generator = generator_open(subject->input, options, &err);
	if (subject->generator)
		return;
	subject->input = schema_free(subject->input);
	subject->problem = xfmt("its input schema cannot be used: %s", err.text);
}

void subjects_compile(struct subjects *subjects, struct strings *remarks, const struct generator_options *options)
{
	uint64_t until = clock_now() + COMPILE_NS;

	for (size_t i = 0; i < subjects->count; i++) {
		if (clock_now() < until)
			subject_compile(&subjects->list[i], options, remarks);
		else if (!subjects->list[i].problem)
			subjects->list[i].problem = xstrdup("its schema was not looked at: those before it took too long");
	}
}
