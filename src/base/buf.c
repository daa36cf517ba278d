#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* 125 is what the command line promises for a failure of our own. */
static __attribute__((noreturn)) void memory_is_out(void)
{
	static const char text[] = "hotcell: out of memory\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(125);
	_exit(125);
}

void *xrealloc(void *old, size_t count, size_t size)
{
	void *grown = reallocarray(old, count ? count : 1, size ? size : 1);

	if (!grown)
		memory_is_out();
	return grown;
}

void *xcalloc(size_t count, size_t size)
{
	void *zeroed = calloc(count ? count : 1, size ? size : 1);

	if (!zeroed)
		memory_is_out();
	return zeroed;
}

char *xstrdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		memory_is_out();
	return copy;
}

char *xfmt(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		memory_is_out();
	return text;
}

/* Room for `more` bytes and the NUL after them. */
static void buf_grow(struct buf *buf, size_t more)
{
	if (more > SIZE_MAX / 2 || buf->len > SIZE_MAX / 2 - more - 1)
		memory_is_out();
	size_t need = buf->len + more + 1;
	if (need <= buf->cap)
		return;
	size_t cap = buf->cap < 64 ? 64 : buf->cap;
	while (cap < need)
		cap = cap <= SIZE_MAX / 4 ? cap * 2 : need;
	buf->data = xrealloc(buf->data, cap, 1);
	buf->cap = cap;
}

void buf_done(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
	buf_grow(buf, len);
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_str(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_fmt(struct buf *buf, const char *format, ...)
{
	char small[256];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (len < 0)
		memory_is_out();
	if ((size_t)len < sizeof(small)) {
		buf_add(buf, small, (size_t)len);
		return;
	}
	buf_grow(buf, (size_t)len);
	va_start(args, format);
	(void)vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
}

const char *buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

char *buf_take(struct buf *buf)
{
	char *taken = buf->data ? buf->data : xstrdup("");

	*buf = (struct buf){0};
	return taken;
}
