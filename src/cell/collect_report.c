/* What the child that copies a workspace says of it, as bytes. Pure. */
#include <string.h>

#include "base/wire.h"
#include "cell/collect.h"

/* Both tables hold what base/fs_copy.c gives; the first name stands for all that are not here. */
static const char *const reasons[] = {"left out", "symbolic link", "FIFO", "socket", "device", "unknown kind", "sparse",
	"exists", "reserved name", "too large", "too many", "too deep", "name too long", "name not possible here",
	"not readable", "changed meanwhile", "mount", "too many open files"};
static const char *const caps[] = {"size", "bytes", "entries", "depth"};

_Static_assert((uint64_t)FS_SKIPPED_KEPT * (COLLECT_DEPTH + 1) * 256 + 4096 < COLLECT_REPORT_MAX,
	"the longest report does not fit");

static void put_name(struct buf *buf, const char *const *names, size_t count, const char *name)
{
	uint32_t index = 0;
	for (size_t i = 0; name && i < count; i++)
		if (strcmp(names[i], name) == 0)
			index = (uint32_t)i;
	wire_put_u32(buf, index);
}

static const char *get_name(struct wire_reader *reader, const char *const *names, size_t count)
{
	uint32_t index = wire_get_u32(reader);
	if (index < count)
		return names[index];
	reader->bad = true;
	return names[0];
}

static size_t kept_of(const struct fs_copy_report *report)
{
	return report->skipped_count < FS_SKIPPED_KEPT ? (size_t)report->skipped_count : FS_SKIPPED_KEPT;
}

void collect_report_encode(const struct fs_copy_report *report, const struct err *failed, struct buf *ret)
{
	wire_put_u32(ret, (uint32_t)failed->code);
	wire_put_str(ret, failed->text);
	wire_put_u64(ret, report->files);
	wire_put_u64(ret, report->folders);
	wire_put_u64(ret, report->bytes);
	wire_put_u64(ret, report->renamed_count);
	wire_put_u32(ret, report->capped);
	put_name(ret, caps, ARRAY_LEN(caps), report->cap);
	wire_put_u64(ret, report->skipped_count);
	for (size_t i = 0; i < kept_of(report); i++) {
		wire_put_str(ret, report->skipped[i].name);
		put_name(ret, reasons, ARRAY_LEN(reasons), report->skipped[i].reason);
	}
}

static void get_failed(struct wire_reader *reader, struct err *ret)
{
	ret->code = (int)wire_get_u32(reader);
	const char *text = wire_get_str(reader);
	size_t len = text ? strlen(text) : sizeof(ret->text);
	if (len >= sizeof(ret->text) || (ret->code == 0) != (len == 0))
		reader->bad = true;
	else
		memcpy(ret->text, text, len + 1);
}

static void get_skipped(struct wire_reader *reader, struct fs_copy_report *ret)
{
	for (size_t i = 0; i < kept_of(ret) && !reader->bad; i++) {
		const char *name = wire_get_str(reader);
		const char *reason = get_name(reader, reasons, ARRAY_LEN(reasons));
		if (!name)
			reader->bad = true;
		else
			ret->skipped[i] = (struct fs_skipped){xstrdup(name), reason};
	}
}

int collect_report_decode(const char *data, size_t len, struct fs_copy_report *ret, struct err *ret_failed)
{
	struct wire_reader reader = {.data = data, .len = len};
	*ret = (struct fs_copy_report){0};
	*ret_failed = (struct err){0};
	get_failed(&reader, ret_failed);
	ret->files = wire_get_u64(&reader);
	ret->folders = wire_get_u64(&reader);
	ret->bytes = wire_get_u64(&reader);
	ret->renamed_count = wire_get_u64(&reader);
	uint32_t capped = wire_get_u32(&reader);
	const char *cap = get_name(&reader, caps, ARRAY_LEN(caps));
	ret->capped = capped != 0;
	ret->cap = ret->capped ? cap : NULL;
	ret->skipped_count = wire_get_u64(&reader);
	get_skipped(&reader, ret);
	if (!reader.bad && capped <= 1 && reader.pos == reader.len)
		return 0;
	fs_copy_report_done(ret);
	*ret_failed = (struct err){0};
	return -1;
}
