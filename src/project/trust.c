/* The entries of the record: what tells a folder from all others, and their text. */
#include "project/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sha256.h"
#include "project/trust_text.h"

#define FIRST_LINE "hotcell states 1"
#define HANDLE_MAX 128

void trust_entry_done(struct trust_entry *entry)
{
	free(entry->path);
	*entry = (struct trust_entry){0};
}

void trust_list_done(struct trust_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct trust_list){0};
}

/* ---- of a folder ---- */

/* A handle has the inode's generation: another number each time that an inode is used anew. */
static void born_of_handle(int folder, char *ret, size_t len)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} at = {.handle = {.handle_bytes = HANDLE_MAX}};
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 state;
	int mount;

	(void)snprintf(ret, len, "-");
	if (name_to_handle_at(folder, "", &at.handle, &mount, AT_EMPTY_PATH) < 0 || at.handle.handle_bytes > HANDLE_MAX)
		return;
	sha256_init(&state);
	sha256_add(&state, &at.handle.handle_type, sizeof(at.handle.handle_type));
	sha256_add(&state, at.handle.f_handle, at.handle.handle_bytes);
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	(void)snprintf(ret, len, "h%.40s", hex);
}

/* As the kernel names it now, which no link can lead astray. */
static char *path_of(int folder, struct err *err)
{
	char link[40], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	ssize_t len = readlink(link, path, sizeof(path));
	if (len <= 0 || (size_t)len >= sizeof(path) || path[0] != '/') {
		(void)err_errno(err, len < 0 ? errno : ENAMETOOLONG, "find the path of a state folder");
		return NULL;
	}
	path[len] = '\0';
	return xstrdup(path);
}

int trust_entry_of(int folder, struct trust_entry *ret, struct err *err)
{
	struct statx st;

	*ret = (struct trust_entry){.since = time(NULL)};
	if (statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return err_errno(err, errno, "look at a state folder");
	ret->inode = st.stx_ino;
	if ((st.stx_mask & STATX_BTIME) && st.stx_btime.tv_sec != 0)
		(void)snprintf(ret->born, sizeof(ret->born), "%lld.%09u", (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	else
		born_of_handle(folder, ret->born, sizeof(ret->born));
	ret->path = path_of(folder, err);
	return ret->path ? 0 : -1;
}

const struct trust_entry *trust_list_at(const struct trust_list *list, const char *path)
{
	for (size_t i = list->count; i-- > 0;)
		if (strcmp(list->items[i].path, path) == 0)
			return &list->items[i];
	return NULL;
}

bool trust_list_has(const struct trust_list *list, const struct trust_entry *entry)
{
	const struct trust_entry *found = trust_list_at(list, entry->path);

	return found && found->inode == entry->inode && strcmp(found->born, entry->born) == 0;
}

/* ---- text ---- */

/* A path may have any byte, and a line is one path. */
void trust_path_text(const char *path, struct buf *out)
{
	for (const char *c = path; *c; c++) {
		if (*c == '%' || (unsigned char)*c < ' ' || *c == 0x7f)
			buf_fmt(out, "%%%02x", (unsigned char)*c);
		else
			buf_char(out, *c);
	}
}

void trust_list_text(const struct trust_list *list, struct buf *out)
{
	buf_str(out, FIRST_LINE "\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct trust_entry *entry = &list->items[i];
		buf_fmt(out, "%s %" PRId64 " %" PRIu64 " %s ", entry->by_hand ? "trusted" : "made", entry->since, entry->inode, entry->born);
		trust_path_text(entry->path, out);
		buf_char(out, '\n');
	}
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

char *trust_path_read(const char *text)
{
	own(buf_done) struct buf path = {0};

	for (; *text; text++) {
		int high = *text == '%' ? hex_digit(text[1]) : 0, low = *text == '%' && high >= 0 ? hex_digit(text[2]) : 0;
		char c = *text == '%' ? (char)(high * 16 + low) : *text;
		if (high < 0 || low < 0 || !c)
			return NULL;
		buf_char(&path, c);
		text += *text == '%' ? 2 : 0;
	}
	return path.len > 0 && path.len < PATH_MAX && path.data[0] == '/' ? buf_take(&path) : NULL;
}

static bool entry_read(char *line, struct trust_entry *ret)
{
	char *rest = NULL, *how = strtok_r(line, " ", &rest), *since = strtok_r(NULL, " ", &rest);
	char *inode = strtok_r(NULL, " ", &rest), *born = strtok_r(NULL, " ", &rest);

	*ret = (struct trust_entry){0};
	if (!born || !rest || (strcmp(how, "made") != 0 && strcmp(how, "trusted") != 0) || strlen(born) >= sizeof(ret->born) ||
		strspn(since, "0123456789") != strlen(since) || strspn(inode, "0123456789") != strlen(inode))
		return false;
	errno = 0;
	ret->by_hand = *how == 't';
	ret->since = strtoll(since, NULL, 10);
	ret->inode = strtoull(inode, NULL, 10);
	(void)snprintf(ret->born, sizeof(ret->born), "%s", born);
	ret->path = errno ? NULL : trust_path_read(rest);
	return ret->path != NULL;
}

static int damaged(const char *name, unsigned line, struct err *err)
{
	return err_set(err, EINVAL,
		"the record of state folders '%.160s' is not as hotcell writes it (line %u): move it away, and 'hotcell trust' each "
		"state folder again",
		name, line);
}

int trust_list_parse(struct trust_list *ret, const char *text, size_t len, const char *name, struct err *err)
{
	own(trust_list_done) struct trust_list list = {0};
	own(freep) char *copy = xfmt("%.*s", (int)len, text);
	char *rest = copy;
	unsigned number = 1;

	*ret = (struct trust_list){0};
	if (strlen(copy) != len || (len && text[len - 1] != '\n'))
		return damaged(name, 0, err);
	char *line = strsep(&rest, "\n");
	if (strncmp(line, "hotcell states ", 15) == 0 && strcmp(line, FIRST_LINE) != 0)
		return err_set(err, EINVAL, "the record of state folders '%.160s' was written by a newer hotcell: update this one", name);
	if (strcmp(line, FIRST_LINE) != 0)
		return damaged(name, number, err);
	while (rest && *rest) {
		struct trust_entry entry;
		line = strsep(&rest, "\n");
		if (++number > TRUST_ENTRIES_MAX + 1 || !entry_read(line, &entry))
			return damaged(name, number, err);
		list.items = xrealloc(list.items, list.count + 1, sizeof(*list.items));
		list.items[list.count++] = entry;
	}
	*ret = list;
	list = (struct trust_list){0};
	return 0;
}
