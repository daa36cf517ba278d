/* Effects as texts and as bytes. Everything in them is a hostile program's, but for the numbers. */
#include "cell/native/inside/effects.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static void cut(struct buf *buf, size_t len)
{
	if (buf->data == NULL || len > buf->len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

/* ---- paths ---- */

/* Adds one name after another to what begins with "/" and ends without. */
static void fold(struct buf *ret, const char *path)
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");
		if (len == 2 && memcmp(path, "..", 2) == 0) {
			size_t up = ret->len;
			while (up > 0 && ret->data[--up] != '/')
				;
			cut(ret, up);
		} else if (len > 0 && !(len == 1 && *path == '.')) {
			buf_add(ret, "/", 1);
			buf_add(ret, path, len);
		}
		path += len + (path[len] == '/');
	}
}

void effect_path(const char *base, const char *path, struct buf *ret)
{
	cut(ret, 0);
	if (path[0] != '/' && (base == NULL || base[0] == '\0'))
		return;
	if (path[0] != '/')
		fold(ret, base);
	fold(ret, path);
	if (ret->len == 0)
		buf_str(ret, "/");
	cut(ret, EFFECT_MAX_WHAT);
}

/* ---- addresses ---- */

static void unix_address(const char *path, size_t len, const char *base, struct buf *ret)
{
	char text[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1] = "";
	own(buf_done) struct buf whole = { 0 };

	memcpy(text, path, len);
	text[len] = '\0';
	buf_str(ret, "unix:");
	if (len == 0)
		return;
	if (text[0] != '\0') {
		effect_path(base, text, &whole);
		buf_add(ret, whole.data, whole.len);
		return;
	}
	for (size_t i = 0; i < len; i++) /* abstract: any bytes, NUL among them */
		buf_add(ret, text[i] == '\0' ? "@" : &text[i], 1);
}

static void inet_address(const struct sockaddr_in *in, struct buf *ret)
{
	char text[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	buf_fmt(ret, "%s:%u", text, ntohs(in->sin_port));
}

bool effect_address(const void *address, size_t len, bool connects, const char *base, struct buf *ret)
{
	union {
		sa_family_t family;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		char bytes[128];
	} at = { 0 };
	char text[INET6_ADDRSTRLEN] = "";

	cut(ret, 0);
	if (len > sizeof(at.un))
		len = sizeof(at.un);
	if (len < sizeof(at.family))
		return true; /* nothing to tell, and the kernel will not take it */
	memcpy(&at, address, len);
	if (at.family == AF_UNSPEC && connects)
		return false;
	/* sending without connection, the kernel takes one for an address of IPv4 */
	if ((at.family == AF_INET || at.family == AF_UNSPEC) && len >= sizeof(at.in)) {
		inet_address(&at.in, ret);
	} else if (at.family == AF_INET6 && len >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		(void)inet_ntop(AF_INET6, &at.in6.sin6_addr, text, sizeof(text));
		buf_fmt(ret, "[%s]:%u", text, ntohs(at.in6.sin6_port));
	} else if (at.family == AF_UNIX) {
		unix_address(at.un.sun_path, len - offsetof(struct sockaddr_un, sun_path), base, ret);
	} else {
		buf_fmt(ret, "family:%u", at.family);
	}
	cut(ret, EFFECT_MAX_WHAT);
	return true;
}

/* ---- who ---- */

void effect_status(const char *text, char *ret_name, size_t size, int *ret_pid)
{
	const char *tgid = strstr(text, "\nTgid:\t"); /* in a name, the kernel writes "\n" with two characters */

	(void)snprintf(ret_name, size, "%s", "");
	if (strncmp(text, "Name:\t", 6) == 0)
		(void)snprintf(ret_name, size, "%.*s", (int)strcspn(text + 6, "\n"), text + 6);
	if (tgid != NULL)
		*ret_pid = atoi(tgid + 7);
}

/* ---- bytes ---- */

void effect_encode(struct buf *buf, const struct cell_effect *effect, uint64_t dropped)
{
	static const char *const none[] = { NULL };

	wire_put_u32(buf, MSG_EFFECT);
	wire_put_u32(buf, effect == NULL ? EFFECT_NONE : (uint32_t)effect->kind);
	wire_put_u64(buf, dropped);
	if (effect == NULL)
		return;
	wire_put_u32(buf, (uint32_t)effect->pid);
	wire_put_str(buf, effect->by);
	wire_put_str(buf, effect->what);
	wire_put_list(buf, effect->words == NULL ? none : effect->words);
}

bool effect_decode(struct wire_reader *reader, struct cell_effect *ret, const char ***ret_words, bool *ret_any,
	uint64_t *ret_dropped)
{
	uint32_t kind = wire_get_u32(reader);

	*ret = (struct cell_effect){ 0 };
	*ret_words = NULL;
	*ret_dropped = wire_get_u64(reader);
	*ret_any = kind != EFFECT_NONE;
	if (!*ret_any)
		return !reader->bad && reader->pos == reader->len;
	ret->kind = (enum cell_effect_kind)kind;
	ret->pid = (int)wire_get_u32(reader);
	ret->by = wire_get_str(reader);
	ret->what = wire_get_str(reader);
	*ret_words = wire_get_list(reader, EFFECT_MAX_WORDS);
	ret->words = kind == CELL_EFFECT_EXEC ? *ret_words : NULL;
	return !reader->bad && reader->pos == reader->len && kind < CELL_EFFECT_COUNT && ret->by != NULL && ret->what != NULL &&
		strlen(ret->what) <= EFFECT_MAX_WHAT;
}
