/* Errors, and lists of words. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/private.h"

/* ---- errors ---- */

int api_fail(struct hotcell_error *error, int code, const char *format, ...)
{
	va_list args;

	if (!error)
		return -1;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -1;
}

int api_errno(struct hotcell_error *error, int number, const char *format, ...)
{
	char doing[300];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(doing, sizeof(doing), format, args);
	va_end(args);
	return api_fail(error, HOTCELL_E_SYSTEM, "%s: %s", doing, strerror(number));
}

/* ---- words ---- */

int words_take(struct words *words, char *word)
{
	char **list = word ? realloc(words->list, (words->count + 2) * sizeof(*list)) : NULL;

	if (!list) {
		free(word);
		return -1;
	}
	words->list = list;
	list[words->count++] = word;
	list[words->count] = NULL;
	return 0;
}

void words_free(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->list[i]);
	free(words->list);
	*words = (struct words){0};
}
