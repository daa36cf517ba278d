/* What a program of the cell sets out to do: from its call, which waits at the listener, to a record for the supervisor.
 *
 * Init is told of the call's registers. What those point to is in the memory of the caller, which init may read as its
 * tracer might: it has the same user, is above it in the tree of processes and of Landlock's domains. What cannot be read
 * (the caller made itself undumpable, there is no /proc, the pointer is a bad one) is told as unknown, "", and never left
 * out. Nothing here decides whether the call goes on: that is the plain filter's word on the registers, whatever another
 * thread writes into the memory meanwhile.
 *
 * The record is in the socket before the call goes on. The socket holds a few hundred; what does not fit is dropped and
 * counted, and the count is told at once, and again whenever it has doubled, in room that is kept for that and for what
 * else init has to say: so init never waits for a supervisor that does not read.
 *
 * All calls made here are ones that no spec can deny and that are not asked about, or are marked as ours. */
#include "cell/native/inside/effects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM 212992 /* asked for; the kernel doubles it */
#define KEPT_ROOM (64 * 1024) /* for all but effects */
#define KEPT_REST (32 * 1024) /* for all but these and what was dropped */
#define OVERHEAD 1024 /* a message costs the socket more than its bytes */
#define MAX_HEADERS 64 /* of one sendmmsg */
#define FIRST_LOOK 256 /* most names are shorter */

/* The call that is looked at. */
struct looked {
	struct effects *effects;
	const struct seccomp_notif *call;
	int mem; /* the caller's memory; -1: not to be had */
	char cwd[EFFECT_MAX_WHAT + 1]; /* once it was needed */
	bool has_cwd;
	struct buf records; /* messages, each with its length in front */
	struct cell_effect effect; /* `by` and `pid` are its caller's */
};

static void looked_done(struct looked *it)
{
	fd_close(&it->mem);
	buf_done(&it->records);
}

void effects_open(struct effects *effects, int control, bool proc, uint64_t mark)
{
	int room = ROOM;
	socklen_t size = sizeof(room);

	(void)setsockopt(control, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (getsockopt(control, SOL_SOCKET, SO_SNDBUF, &room, &size) < 0 || room < 2 * KEPT_ROOM)
		room = 2 * KEPT_ROOM;
	*effects = (struct effects){ .proc = proc, .control = control, .mark = mark, .room = (size_t)room, .next_note = 1 };
}

/* ---- sending ---- */

static bool has_room(const struct effects *effects, size_t len, size_t keep)
{
	int queued = 0;

	return ioctl(effects->control, SIOCOUTQ, &queued) == 0 && (size_t)queued + 2 * len + OVERHEAD <= effects->room - keep;
}

static bool send_record(const struct effects *effects, const char *data, size_t len, size_t keep)
{
	if (!has_room(effects, len, keep))
		return false;
	return wire_send_marked(effects->control, data, len, NULL, 0, MSG_DONTWAIT, effects->mark) == 0;
}

static void note_dropped(struct effects *effects)
{
	own(buf_done) struct buf message = { 0 };

	if (++effects->dropped < effects->next_note)
		return;
	effect_encode(&message, NULL, effects->dropped);
	if (send_record(effects, message.data, message.len, KEPT_REST))
		effects->next_note = 2 * effects->dropped;
}

void effects_end(struct effects *effects)
{
	own(buf_done) struct buf message = { 0 };

	if (effects->dropped == 0)
		return;
	effect_encode(&message, NULL, effects->dropped);
	(void)send_record(effects, message.data, message.len, KEPT_REST);
}

static void add_record(struct looked *it)
{
	own(buf_done) struct buf message = { 0 };

	effect_encode(&message, &it->effect, it->effects->dropped);
	wire_put_u32(&it->records, (uint32_t)message.len);
	buf_add(&it->records, message.data, message.len);
}

static void send_records(struct looked *it)
{
	struct wire_reader reader = { .data = it->records.data, .len = it->records.len };

	while (reader.pos < reader.len) {
		uint32_t len = wire_get_u32(&reader);
		if (!send_record(it->effects, reader.data + reader.pos, len, KEPT_ROOM))
			note_dropped(it->effects);
		reader.pos += len;
	}
}

/* ---- looking at the caller ---- */

static int open_of(const struct looked *it, const char *what)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", it->call->pid, what);
	return it->effects->proc ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Where a link of its /proc folder leads; "" if that cannot be known. */
static void link_of(const struct looked *it, const char *what, char ret[EFFECT_MAX_WHAT + 1])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", it->call->pid, what);
	ssize_t len = it->effects->proc ? readlink(path, ret, EFFECT_MAX_WHAT) : -1;
	ret[len < 0 ? 0 : len] = '\0';
}

/* Returns how many of the bytes can be read. */
static size_t peek(const struct looked *it, uint64_t at, void *ret, size_t len)
{
	ssize_t got = it->mem < 0 || at == 0 ? -1 : pread(it->mem, ret, len, (off_t)at);

	return got < 0 ? 0 : (size_t)got;
}

static bool peek_all(const struct looked *it, uint64_t at, void *ret, size_t len)
{
	return peek(it, at, ret, len) == len;
}

/* A text of at most `max` bytes; longer ones are cut. False if it cannot be read to its end. */
static bool peek_text(const struct looked *it, uint64_t at, char *ret, size_t max)
{
	size_t len = 0;

	while (len < max) {
		size_t want = len == 0 && max > FIRST_LOOK ? FIRST_LOOK : max - len;
		size_t got = peek(it, at + len, ret + len, want);
		if (memchr(ret + len, '\0', got) != NULL)
			return true;
		len += got;
		if (got < want)
			break;
	}
	ret[len < max ? 0 : max] = '\0';
	return len == max;
}

static const char *cwd_of(struct looked *it)
{
	if (!it->has_cwd)
		link_of(it, "cwd", it->cwd);
	it->has_cwd = true;
	return it->cwd;
}

/* ---- forms ---- */

static void tell_path(struct looked *it, enum cell_effect_kind kind, int folder, int path)
{
	own(buf_done) struct buf whole = { 0 };
	char name[EFFECT_MAX_WHAT + 1] = "", base[EFFECT_MAX_WHAT + 1] = "", link[32];
	const __u64 *args = it->call->data.args;
	int fd = folder < 0 ? AT_FDCWD : (int)args[folder];

	bool known = path < 0;
	if (!known && args[path] == 0)
		known = fd != AT_FDCWD; /* the descriptor itself (utimensat) */
	else if (!known)
		known = peek_text(it, args[path], name, EFFECT_MAX_WHAT);
	if (known && name[0] != '/' && fd != AT_FDCWD) {
		(void)snprintf(link, sizeof(link), "fd/%d", fd);
		link_of(it, link, base);
	}
	if (known)
		effect_path(fd == AT_FDCWD && name[0] != '/' ? cwd_of(it) : base, name, &whole);
	it->effect.kind = kind;
	it->effect.what = buf_text(&whole);
	add_record(it);
}

static void tell_open_how(struct looked *it, const struct effect_call *call)
{
	uint64_t flags = 0;

	if (peek_all(it, it->call->data.args[call->extra] + offsetof(struct open_how, flags), &flags, sizeof(flags)) &&
		!effect_opens_for_writing(flags))
		return;
	tell_path(it, call->kind, call->folder, call->path);
}

/* The words that can be read, as many as there is room for. */
static void read_words(const struct looked *it, uint64_t at, char room[EFFECT_MAX_WORD_BYTES],
	const char *words[EFFECT_MAX_WORDS + 1])
{
	uint64_t pointers[EFFECT_MAX_WORDS];
	size_t count = peek(it, at, pointers, sizeof(pointers)) / sizeof(*pointers), used = 0, kept = 0;

	while (kept < count && pointers[kept] != 0 && used + 1 < EFFECT_MAX_WORD_BYTES) {
		if (!peek_text(it, pointers[kept], room + used, EFFECT_MAX_WORD_BYTES - used - 1))
			break;
		words[kept++] = room + used;
		used += strlen(room + used) + 1;
	}
	words[kept] = NULL;
}

static void tell_exec(struct looked *it, const struct effect_call *call)
{
	static char room[EFFECT_MAX_WORD_BYTES];
	const char *words[EFFECT_MAX_WORDS + 1];

	read_words(it, it->call->data.args[call->extra], room, words);
	it->effect.words = words;
	tell_path(it, call->kind, call->folder, call->path);
	it->effect.words = NULL;
}

static void tell_address(struct looked *it, uint64_t at, uint64_t len, bool connects)
{
	own(buf_done) struct buf whole = { 0 };
	char address[128];
	size_t size = len < sizeof(address) ? (size_t)len : sizeof(address);
	sa_family_t family = AF_UNSPEC;
	bool known = peek_all(it, at, address, size);

	if (known && size >= sizeof(family))
		memcpy(&family, address, sizeof(family));
	if (known && !effect_address(address, size, connects, family == AF_UNIX ? cwd_of(it) : "", &whole))
		return;
	it->effect.kind = CELL_EFFECT_CONNECT;
	it->effect.what = buf_text(&whole);
	add_record(it);
}

static void tell_header(struct looked *it, uint64_t at)
{
	struct msghdr header;
	bool known = peek_all(it, at, &header, sizeof(header));

	if (!known)
		tell_address(it, 0, 0, false);
	else if (header.msg_name != NULL && header.msg_namelen > 0)
		tell_address(it, (uint64_t)(uintptr_t)header.msg_name, header.msg_namelen, false);
}

static void tell_headers(struct looked *it, uint64_t at, uint64_t count)
{
	count = (uint32_t)count;
	for (uint64_t i = 0; i < count && i < MAX_HEADERS; i++)
		tell_header(it, at + i * sizeof(struct mmsghdr));
	if (count > MAX_HEADERS)
		tell_address(it, 0, 0, false);
}

static void tell_call(struct looked *it, const struct effect_call *call)
{
	const __u64 *args = it->call->data.args;

	switch (call->form) {
	case FORM_OPEN:
		if (!effect_opens_for_writing((uint32_t)args[call->extra]))
			return; /* asked about for another reason */
		/* fall through */
	case FORM_FD:
	case FORM_PATH:
		tell_path(it, call->kind, call->folder, call->path);
		return;
	case FORM_TWO_PATHS:
		tell_path(it, CELL_EFFECT_REMOVE, call->folder, call->path);
		tell_path(it, CELL_EFFECT_WRITE, call->folder2, call->path2);
		return;
	case FORM_OPEN_HOW: tell_open_how(it, call); return;
	case FORM_EXEC: tell_exec(it, call); return;
	case FORM_CONNECT: tell_address(it, args[1], (uint32_t)args[2], true); return;
	case FORM_SENDTO:
		if (args[4] != 0)
			tell_address(it, args[4], (uint32_t)args[5], false);
		return;
	case FORM_SENDMSG: tell_header(it, args[1]); return;
	case FORM_SENDMMSG: tell_headers(it, args[1], args[2]); return;
	}
}

/* ---- the whole ---- */

/* As many as it is sure to have, without a look at memory; 0: not known. */
static unsigned sure_count(const struct effect_call *call, const struct seccomp_notif *notif)
{
	switch (call->form) {
	case FORM_OPEN: return effect_opens_for_writing((uint32_t)notif->data.args[call->extra]);
	case FORM_PATH:
	case FORM_FD:
	case FORM_EXEC: return 1;
	case FORM_TWO_PATHS: return 2;
	default: return 0;
	}
}

/* Whoever sets out to do more than is taken in is not looked at, which is most of the work. */
static bool drop_at_once(struct effects *effects, const struct effect_call *call, const struct seccomp_notif *notif)
{
	unsigned count = sure_count(call, notif);

	if (count == 0 || has_room(effects, 0, KEPT_ROOM))
		return false;
	while (count-- > 0)
		note_dropped(effects);
	return true;
}

bool effects_tell(struct effects *effects, int listener, const struct seccomp_notif *notif)
{
	const struct effect_call *call = effect_call_find(notif->data.nr);
	char status[256] = "", name[64];
	uint64_t id = notif->id;

	if (call == NULL || drop_at_once(effects, call, notif))
		return true;
	own(looked_done) struct looked it = { .effects = effects, .call = notif, .effect = { .pid = (int)notif->pid, .by = name } };
	it.mem = open_of(&it, "mem");
	own(fd_closep) int file = open_of(&it, "status");
	ssize_t len = file < 0 ? -1 : read(file, status, sizeof(status) - 1);
	status[len < 0 ? 0 : len] = '\0';
	effect_status(status, name, sizeof(name), &it.effect.pid);
	tell_call(&it, call);
	/* its number may have become another's while we looked: then all that was another's, and the call is no more */
	bool valid = ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
	if (valid)
		send_records(&it);
	return valid;
}
