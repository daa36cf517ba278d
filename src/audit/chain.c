#include "audit/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/fs.h"
#include "base/json_read.h"
#include "base/size.h"

#define HEAD_FILE_MAX 4096

bool chain_begins(const char *bytes, size_t len)
{
	static const char beginning[] = "{\"seq\":";
	size_t size = len < sizeof(beginning) - 1 ? len : sizeof(beginning) - 1;

	return memcmp(bytes, beginning, size) == 0;
}

void chain_sum(const char *bytes, size_t len, unsigned char ret[SHA256_SIZE])
{
	struct sha256 sum;

	sha256_init(&sum);
	sha256_add(&sum, bytes, len);
	sha256_end(&sum, ret);
}

static bool number_of(const struct value *value, uint64_t *ret)
{
	struct err err;

	return value && value->kind == VALUE_NUMBER && count_parse(value->text, "seq", 1, UINT64_MAX, ret, &err) == 0;
}

bool chain_read(const char *bytes, size_t len, struct chain_line *ret)
{
	static const struct json_limits limits = {.bytes = CHAIN_LINE_MAX, .values = 4096, .depth = 8};
	struct err err;

	*ret = (struct chain_line){0};
	if (len == 0 || bytes[0] != '{' || json_read(bytes, len, &limits, NULL, &ret->value, &err) < 0)
		return false;
	const struct value *prev = ret->value.kind == VALUE_MAP ? value_get(&ret->value, "prev") : NULL;
	if (prev && prev->kind == VALUE_TEXT && sha256_parse(prev->text, ret->prev) &&
		number_of(value_get(&ret->value, "seq"), &ret->seq))
		return true;
	value_done(&ret->value);
	return false;
}

bool chain_torn(const struct value *value, struct buf *ret)
{
	const struct value *event = value_get(value, "event"), *torn = value_get(value, "torn");

	return event && torn && event->kind == VALUE_TEXT && torn->kind == VALUE_TEXT && strcmp(event->text, "torn") == 0 &&
		base64_read(torn->text, strlen(torn->text), ret);
}

void chain_head_of(const char *bytes, size_t len, uint64_t seq, struct audit_head *ret)
{
	ret->seq = seq;
	chain_sum(bytes, len, ret->sum);
}

/* ---- heads ---- */

void audit_head_text(const struct audit_head *head, char ret[AUDIT_HEAD_TEXT])
{
	char sum[SHA256_HEX];

	sha256_hex(head->sum, sum);
	(void)snprintf(ret, AUDIT_HEAD_TEXT, "%llu:%s", (unsigned long long)head->seq, sum);
}

bool audit_head_parse(const char *text, struct audit_head *ret)
{
	const char *colon = strchr(text, ':');
	char number[21];
	uint64_t seq;
	struct err err;

	if (!colon || colon - text >= (long)sizeof(number))
		return false;
	(void)snprintf(number, sizeof(number), "%.*s", (int)(colon - text), text);
	if (count_parse(number, "head", 1, UINT64_MAX, &seq, &err) < 0 || !sha256_parse(colon + 1, ret->sum))
		return false;
	ret->seq = seq;
	return true;
}

char *audit_head_path(const char *path)
{
	static const char ending[] = ".jsonl";
	size_t len = strlen(path), cut = sizeof(ending) - 1;
	bool has = len > cut && strcmp(path + len - cut, ending) == 0;

	return xfmt("%.*s.head", (int)(has ? len - cut : len), path);
}

/* It is written over in place: what is read twice is no mixture of two. */
static int read_settled(int folder, const char *name, struct buf *ret, struct err *err)
{
	for (int tries = 0; tries < 8; tries++) {
		own(buf_done) struct buf again = {0};
		ret->len = 0;
		if (beneath_read(folder, name, HEAD_FILE_MAX, ret, err) < 0 ||
			beneath_read(folder, name, HEAD_FILE_MAX, &again, err) < 0)
			return -1;
		if (ret->len == again.len && (ret->len == 0 || memcmp(ret->data, again.data, ret->len) == 0))
			break;
	}
	return 0;
}

int chain_head_load(const char *path, struct audit_head *ret, struct err *err)
{
	own(buf_done) struct buf text = {0};
	own(freep) char *beside = audit_head_path(path), *name = NULL;
	own(fd_closep) int folder = beneath_parent(beside, false, &name, err);

	if (folder < 0 || read_settled(folder, name, &text, err) < 0)
		return err->code == ENOENT || err->code == ERR_LIMIT ? 1 : -1;
	if (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	return audit_head_parse(buf_text(&text), ret) ? 0 : 1;
}

/* In place, which costs a twentieth of a rename: so few bytes are written whole, whoever kills us. False: it is not there yet,
 * or is something else. */
static bool head_overwrite(int folder, const char *name, const char *text, size_t len)
{
	own(fd_closep) int fd = beneath_try(folder, name, O_WRONLY, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 && st.st_size > 0 && st.st_size <= (off_t)len &&
		pwrite(fd, text, len, 0) == (ssize_t)len;
}

/* The lock of the log keeps writers apart. */
int chain_head_store(const char *path, const struct audit_head *head, struct err *err)
{
	own(freep) char *beside = audit_head_path(path), *name = NULL;
	own(fd_closep) int folder = beneath_parent(beside, false, &name, err);
	own(freep) char *fresh = folder < 0 ? NULL : xfmt("%s.new", name);
	char text[AUDIT_HEAD_TEXT + 1];

	audit_head_text(head, text);
	size_t len = strlen(text);
	text[len++] = '\n';
	if (folder < 0)
		return -1;
	if (head_overwrite(folder, name, text, len))
		return 0;
	own(fd_closep) int fd = beneath_open(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600, err);
	if (fd < 0)
		return -1;
	if (write(fd, text, len) != (ssize_t)len)
		return err_errno(err, errno ? errno : EIO, "write '%s'", beside);
	return beneath_rename(folder, fresh, folder, name, err);
}
