/* Which functions call each other without end. Pure.
 *
 * A stack that ran out is full of the same few functions; which of them was on top, or whether they had called
 * something small just then, is chance, and differs with the length of the environment. So the finding's frames are
 * those that are there again and again, in the order of their names. */
#include <stdio.h>
#include <string.h>

#include "fuzz/function/core/run.h"
#include "oracle/oracle.h"

#define LINES_MAX 2000u
#define NAMES_MAX 64u
#define AGAIN 3u /* times that make it one of them */
#define CYCLE_MAX 8u

static const char *const marks[] = {"stack-overflow", "stack overflow", "RecursionError",
	"Maximum call stack size exceeded", "StackOverflowError", "overflowed its stack", "stack exceeds"};

bool message_is_recursion(const char *message)
{
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(message, marks[i]))
			return true;
	return false;
}

struct named {
	char *name, *file;
	unsigned line, times;
};

struct names {
	struct named list[NAMES_MAX];
	size_t count;
	struct named *last;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->list[i].name);
		free(names->list[i].file);
	}
}

static void count_frame(struct names *names, const char *name, char *file, unsigned line)
{
	size_t i = 0;

	while (i < names->count && strcmp(names->list[i].name, name) != 0)
		i++;
	if (i == NAMES_MAX) {
		free(file);
		return;
	}
	if (i == names->count)
		names->list[names->count++] = (struct named){.name = xstrdup(name), .file = file, .line = line};
	else
		free(file);
	names->last = &names->list[i];
	names->last->times++;
}

/* A frame on this line, alone or with the one before it, as some languages write them. */
static bool read_line(struct names *names, const char *before, const char *line, const char *end)
{
	const char *const from[] = {line, before};

	for (size_t i = 0; i < ARRAY_LEN(from) && from[i]; i++) {
		own(strings_done) struct strings frames = {0};
		char *file = NULL;
		unsigned number = 0;
		if (text_trace(from[i], (size_t)(end - from[i]), &frames, &file, &number) && frames.count) {
			count_frame(names, frames.items[0], file, number);
			return true;
		}
		free(file);
	}
	return false;
}

/* Python's way to shorten: "[Previous line repeated 970 more times]" */
static void read_repeated(struct names *names, const char *line, const char *end)
{
	static const char words[] = "[Previous line repeated ";
	const char *at = memmem(line, (size_t)(end - line), words, sizeof(words) - 1);

	if (at && names->last)
		names->last->times += AGAIN;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

void recursion_frames(const char *report, size_t len, struct finding *ret)
{
	own(names_done) struct names names = {0};
	const char *end = report + len, *before = NULL;
	unsigned lines = 0;

	for (const char *line = report, *next; line < end && lines++ < LINES_MAX; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		bool read = read_line(&names, before, line, stop);
		if (!read)
			read_repeated(&names, line, stop);
		before = read ? NULL : line; /* what was read is not read twice */
	}
	qsort(names.list, names.count, sizeof(*names.list), by_name);
	own(strings_done) struct strings cycle = {0};
	const struct named *first = NULL;
	for (size_t i = 0; i < names.count && cycle.count < CYCLE_MAX; i++) {
		if (names.list[i].times < AGAIN)
			continue;
		first = first ? first : &names.list[i];
		strings_add(&cycle, names.list[i].name);
	}
	if (!first)
		return;
	strings_done(&ret->frames);
	strings_copy(&ret->frames, &cycle, SIZE_MAX);
	free(ret->file);
	ret->file = first->file ? xstrdup(first->file) : NULL;
	ret->line = first->line;
}
