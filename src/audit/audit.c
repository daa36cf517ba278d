/* The writer.
 *
 * Where the chain goes on is read from the end of the file, unless it is as we left it. If the head beside it, or our
 * own memory, knows of later lines than the file has, those are gone: we go on behind them, and the gap stays for
 * everybody to see.
 *
 * A writer that is killed may leave a piece of a line. Nothing is ever taken out: the next one ends that piece with a
 * newline and says in its own first line what it was, so that it cannot be anything but that. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/chain.h"
#include "base/base64.h"
#include "base/beneath.h"
#include "base/utf8.h"

#define TAIL_MAX (CHAIN_LINE_MAX / 2) /* a torn piece and the last line before it */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 2000000

struct audit {
	char *path;
	const struct redactor *redactor;
	struct json json; /* the event that is being made */
	struct buf waiting; /* members of events, a line each */
	struct audit_head head;
	off_t size; /* of the file when we last wrote; -1: never */
	ino_t inode;
};

/* ---- the file ---- */

static int file_open(const struct audit *audit, struct stat *ret, struct err *err)
{
	own(freep) char *name = NULL;
	own(fd_closep) int folder = beneath_parent(audit->path, false, &name, err);
	own(fd_closep) int fd = folder < 0 ? -1 : beneath_open(folder, name, O_RDWR | O_CREAT | O_APPEND, 0600, err);

	if (fd < 0)
		return err_wrap(err, "open the audit log");
	if (fstat(fd, ret) < 0)
		return err_errno(err, errno, "open the audit log '%s'", audit->path);
	return fd_take(&fd);
}

/* Held by others for a moment only: who is stopped while holding it must not stop us. */
static int file_lock(const struct audit *audit, int fd, struct err *err)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(err, errno, "lock the audit log '%s'", audit->path);
		(void)nanosleep(&pause, NULL);
	}
	return err_set(err, EAGAIN, "the audit log '%s' is locked by another process", audit->path);
}

static int tail_load(const struct audit *audit, int fd, off_t size, struct buf *ret, struct err *err)
{
	off_t from = size > (off_t)TAIL_MAX ? size - (off_t)TAIL_MAX : 0;
	char bytes[16384];

	while (from < size) {
		size_t want = (size_t)(size - from) < sizeof(bytes) ? (size_t)(size - from) : sizeof(bytes);
		ssize_t got = pread(fd, bytes, want, from);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_errno(err, got < 0 ? errno : EIO, "read the audit log '%s'", audit->path);
		buf_add(ret, bytes, (size_t)got);
		from += got;
	}
	return 0;
}

/* ---- where the chain goes on ---- */

struct place {
	struct audit_head head;
	struct buf torn; /* what stands behind the last record */
	bool unended; /* the file does not end with a newline */
};

static void place_done(struct place *place)
{
	buf_done(&place->torn);
}

/* The last whole record in `tail`, from the end backwards. False: there is none. */
static bool last_record(const struct buf *tail, struct place *place)
{
	size_t end = tail->len;

	while (end > 0) {
		size_t stop = tail->data[end - 1] == '\n' ? end - 1 : end, start = stop;
		struct chain_line line;
		while (start > 0 && tail->data[start - 1] != '\n')
			start--;
		if (chain_read(tail->data + start, stop - start, &line)) {
			chain_head_of(tail->data + start, stop - start, line.seq, &place->head);
			value_done(&line.value);
			buf_add(&place->torn, tail->data + end, tail->len - end);
			return true;
		}
		end = start;
	}
	return false;
}

static int place_find(const struct audit *audit, int fd, off_t size, struct place *ret, struct err *err)
{
	own(buf_done) struct buf tail = {0};
	struct audit_head beside;

	if (size > 0 && tail_load(audit, fd, size, &tail, err) < 0)
		return -1;
	ret->unended = tail.len > 0 && tail.data[tail.len - 1] != '\n';
	if (tail.len > 0 && !last_record(&tail, ret)) {
		if (size > (off_t)tail.len || !chain_begins(tail.data, tail.len))
			return err_set(err, ERR_USAGE, "'%s' does not end as an audit log does: move it away, or name another file",
				audit->path);
		buf_add(&ret->torn, tail.data, tail.len);
	}
	int rc = chain_head_load(audit->path, &beside, err);
	if (rc < 0)
		return -1;
	if (rc == 0 && beside.seq > ret->head.seq)
		ret->head = beside;
	if (audit->head.seq > ret->head.seq)
		ret->head = audit->head;
	return 0;
}

/* ---- events ---- */

static void put_time(struct json *json)
{
	struct timespec now;
	struct tm parts;
	char text[40], whole[64];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(whole, sizeof(whole), "%s.%03ldZ", text, now.tv_nsec / 1000000);
	json_put_string(json, "time", whole);
}

static void event_begin(struct json *json, const char *event)
{
	json_open(json, '{');
	put_time(json);
	json_put_string(json, "event", event);
}

struct json *audit_begin(struct audit *audit, const char *event)
{
	event_begin(&audit->json, event);
	return &audit->json;
}

static void put_text(struct audit *audit, const char *key, struct buf *text)
{
	size_t size = 0;

	while (size < text->len && size < AUDIT_TEXT_MAX) {
		int step = utf8_char(text->data + size, text->len - size);
		size += step > 0 ? (size_t)step : 1;
	}
	json_key(&audit->json, key);
	if (size < text->len) {
		text->len = size;
		buf_str(text, "...");
	}
	json_bytes(&audit->json, buf_text(text), text->len);
}

void audit_text(struct audit *audit, const char *key, const char *text)
{
	own(buf_done) struct buf out = {0};

	if (!text)
		return;
	redact_show(audit->redactor, REDACT_ALL, text, strlen(text), &out);
	put_text(audit, key, &out);
}

void audit_words(struct audit *audit, const char *key, const char *const *words)
{
	own(buf_done) struct buf out = {0};

	if (!words)
		return;
	redact_command(audit->redactor, words, &out);
	put_text(audit, key, &out);
}

void audit_end(struct audit *audit)
{
	json_close(&audit->json, '}');
	buf_add(&audit->waiting, audit->json.out.data + 1, audit->json.out.len - 1); /* without its bracket */
	buf_char(&audit->waiting, '\n');
	json_done(&audit->json);
	audit->json = (struct json){0};
}

bool audit_clean(const struct audit *audit)
{
	return audit->waiting.len == 0;
}

/* ---- appending ---- */

/* `members`: of an event, as audit_end leaves them, without the newline. */
static void line_add(struct buf *out, const char *members, size_t len, struct audit_head *head)
{
	char sum[SHA256_HEX];
	size_t from = out->len;

	sha256_hex(head->sum, sum);
	buf_fmt(out, "{\"seq\":%llu,\"prev\":\"%s\",", (unsigned long long)(head->seq + 1), sum);
	buf_add(out, members, len);
	chain_head_of(out->data + from, out->len - from, head->seq + 1, head);
	buf_char(out, '\n');
}

static void torn_add(struct buf *out, const struct buf *torn, struct audit_head *head)
{
	own(json_done) struct json json = {0};
	own(buf_done) struct buf text = {0};

	event_begin(&json, "torn");
	base64_write(torn->data, torn->len, &text);
	json_put_string(&json, "torn", buf_text(&text));
	json_close(&json, '}');
	line_add(out, json.out.data + 1, json.out.len - 1, head);
}

static void lines_make(const struct audit *audit, const struct place *place, struct buf *out, struct audit_head *head)
{
	const struct buf *waiting = &audit->waiting;

	if (place->unended)
		buf_char(out, '\n');
	if (place->torn.len > 0)
		torn_add(out, &place->torn, head);
	for (size_t at = 0; at < waiting->len;) {
		const char *end = memchr(waiting->data + at, '\n', waiting->len - at);
		size_t len = (size_t)(end - (waiting->data + at));
		line_add(out, waiting->data + at, len, head);
		at += len + 1;
	}
}

static int append(const struct audit *audit, int fd, off_t size, const struct buf *text, struct err *err)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(fd, text->data + done, text->len - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			int code = wrote < 0 ? errno : EIO;
			(void)!ftruncate(fd, size); /* half a batch is worth nothing; if it stays, it is a torn piece */
			return err_errno(err, code, "write the audit log '%s'", audit->path);
		}
		done += (size_t)wrote;
	}
	return 0;
}

int audit_flush(struct audit *audit, struct err *err)
{
	own(place_done) struct place place = {.head = audit->head};
	own(buf_done) struct buf text = {0};
	struct stat st;

	if (audit_clean(audit))
		return 0;
	own(fd_closep) int fd = file_open(audit, &st, err);
	if (fd < 0 || file_lock(audit, fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at the audit log '%s'", audit->path);
	if ((st.st_size != audit->size || st.st_ino != audit->inode) && place_find(audit, fd, st.st_size, &place, err) < 0)
		return -1;
	struct audit_head head = place.head;
	lines_make(audit, &place, &text, &head);
	if (append(audit, fd, st.st_size, &text, err) < 0)
		return -1;
	audit->waiting.len = 0;
	audit->head = head;
	audit->size = st.st_size + (off_t)text.len;
	audit->inode = st.st_ino;
	return chain_head_store(audit->path, &head, err);
}

/* ---- its life ---- */

struct audit *audit_open(const char *path, const struct redactor *redactor, struct err *err)
{
	own(audit_freep) struct audit *audit = xcalloc(1, sizeof(*audit));
	own(place_done) struct place place = {0};
	struct stat st;

	audit->path = xstrdup(path);
	audit->redactor = redactor;
	audit->size = -1;
	own(fd_closep) int fd = file_open(audit, &st, err);
	if (fd < 0 || place_find(audit, fd, st.st_size, &place, err) < 0)
		return NULL;
	return ptr_take(&audit);
}

struct audit *audit_free(struct audit *audit)
{
	if (!audit)
		return NULL;
	free(audit->path);
	json_done(&audit->json);
	buf_done(&audit->waiting);
	free(audit);
	return NULL;
}

void audit_freep(struct audit **audit)
{
	*audit = audit_free(*audit);
}
