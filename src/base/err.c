#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROOM (sizeof(((struct err *)0)->text) - 1)

/* Writes "head: tail". When both do not fit the head is cut, because the cause is in the tail. */
static void err_join(struct err *err, const char *head, const char *tail)
{
	const char *colon = ": ";
	size_t head_len = strlen(head);
	size_t tail_len = strlen(tail);

	if (head_len + 2 + tail_len > ROOM) {
		size_t kept = tail_len + 5 < ROOM - ROOM / 3 ? ROOM - 5 - tail_len : ROOM / 3;
		head_len = head_len < kept ? head_len : kept;
		colon = "...: ";
	}
	memcpy(err->text, head, head_len);
	size_t at = head_len + strlen(colon);
	memcpy(err->text + head_len, colon, strlen(colon));
	if (tail_len > ROOM - at)
		tail_len = ROOM - at;
	memcpy(err->text + at, tail, tail_len);
	err->text[at + tail_len] = '\0';
}

int err_errno(struct err *err, int code, const char *format, ...)
{
	char head[sizeof(err->text)];
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	(void)vsnprintf(head, sizeof(head), format, args);
	va_end(args);
	err->code = code;
	err_join(err, head, strerror(code));
	return -1;
}

int err_set(struct err *err, int code, const char *format, ...)
{
	char text[sizeof(err->text)]; /* apart, so that the arguments may quote err->text */
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err->code = code;
	memcpy(err->text, text, strlen(text) + 1);
	return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
	char head[sizeof(err->text)];
	char tail[sizeof(err->text)];
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	(void)vsnprintf(head, sizeof(head), format, args);
	va_end(args);
	memcpy(tail, err->text, sizeof(tail));
	tail[sizeof(tail) - 1] = '\0';
	err_join(err, head, tail);
	return -1;
}
