#include "door/doord/replay.h"

#include <string.h>

#include "base/clock.h"

#define PIECES_MAX 65536 /* of one body; what comes after is part of the last */
#define KEPT_MAX (256u << 20) /* bytes of all exchanges under way: what is beyond is cut */
#define RECORDING_MAX (256ll << 20)
#define DELAY_NS (50 * NS_PER_MS)
#define DELAYS_NS (2 * NS_PER_S)

/* ---- keeping ---- */

struct keep {
	struct exchange exchange;
	uint64_t last_ns; /* when the last piece came */
	size_t bytes;
};

static size_t kept; /* bytes of all */

struct keep *keep_open(const char *door, const char *method, const char *path)
{
	struct keep *keep = xcalloc(1, sizeof(*keep));

	keep->exchange = (struct exchange){ .door = xstrdup(door), .method = xstrdup(method), .path = xstrdup(path) };
	return keep;
}

struct keep *keep_free(struct keep *keep)
{
	if (keep == NULL)
		return NULL;
	kept -= keep->bytes;
	exchange_done(&keep->exchange);
	free(keep);
	return NULL;
}

void keep_request_fields(struct keep *keep, const struct buf *fields)
{
	if (keep != NULL && fields->len > 0)
		buf_add(&keep->exchange.request_fields, fields->data, fields->len);
}

/* How much of it is kept. */
static size_t keep_body(struct keep *keep, struct buf *body, const char *bytes, size_t len)
{
	size_t room = body->len < EXCHANGE_BODY_MAX ? EXCHANGE_BODY_MAX - body->len : 0;

	room = KEPT_MAX - kept < room ? KEPT_MAX - kept : room;
	if (len > room) {
		keep->exchange.cut = true;
		len = room;
	}
	if (len > 0)
		buf_add(body, bytes, len);
	keep->bytes += len;
	kept += len;
	return len;
}

void keep_request(struct keep *keep, const char *bytes, size_t len)
{
	if (keep != NULL)
		(void)keep_body(keep, &keep->exchange.request, bytes, len);
}

void keep_answer(struct keep *keep, unsigned status, const struct buf *fields)
{
	if (keep == NULL)
		return;
	keep->exchange.status = status;
	if (fields->len > 0)
		buf_add(&keep->exchange.fields, fields->data, fields->len);
}

void keep_piece(struct keep *keep, const char *bytes, size_t len, uint64_t now_ns)
{
	if (keep == NULL || len == 0)
		return;
	struct exchange *exchange = &keep->exchange;
	size_t count = exchange->piece_count, taken = keep_body(keep, &exchange->body, bytes, len);
	uint64_t ms = count == 0 ? 0 : (now_ns - keep->last_ns) / NS_PER_MS;
	if (taken == 0)
		return;
	keep->last_ns = now_ns;
	if (count == PIECES_MAX) {
		exchange->pieces[count - 1].len += (uint32_t)taken;
		return;
	}
	if ((count & (count - 1)) == 0) /* grows at every power of two */
		exchange->pieces = xrealloc(exchange->pieces, count == 0 ? 1 : 2 * count, sizeof(*exchange->pieces));
	exchange->pieces[exchange->piece_count++] =
		(struct exchange_piece){ .len = (uint32_t)taken, .delay_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX };
}

static void scrub_buf(struct buf *buf, const struct scrub_words *words)
{
	if (buf->len > 0)
		(void)scrub_text(words, buf->data, buf->len);
}

void keep_write(struct keep *keep, int fd, const struct scrub_words *words)
{
	own(buf_done) struct buf line = { 0 };
	struct exchange *exchange = &keep->exchange;

	scrub_buf(&exchange->request_fields, words);
	scrub_buf(&exchange->request, words);
	(void)scrub_text(words, exchange->path, strlen(exchange->path));
	exchange_write(exchange, &line);
	off_t end = lseek(fd, 0, SEEK_END);
	if (end < 0 || end + (long long)line.len > RECORDING_MAX)
		return; /* more than would be read back */
	(void)!write(fd, line.data, line.len); /* a full disk loses recordings, nothing else */
}

/* ---- playing ---- */

/* A recording's haste and pauses are kept, but nobody waits for minutes again. */
static uint64_t delay_of(struct play *play)
{
	const struct exchange *exchange = play->exchange;

	if (play->piece >= exchange->piece_count)
		return 0;
	uint64_t delay = exchange->pieces[play->piece].delay_ms * NS_PER_MS;
	delay = delay < DELAY_NS ? delay : DELAY_NS;
	delay = delay < DELAYS_NS - play->waited_ns ? delay : DELAYS_NS - play->waited_ns;
	play->waited_ns += delay;
	return delay;
}

/* What the pieces leave out of the body comes at the end. */
static void next_piece(struct play *play, uint64_t now_ns)
{
	const struct exchange *exchange = play->exchange;
	size_t rest = exchange->body.len - play->at;
	size_t len = play->piece < exchange->piece_count ? exchange->pieces[play->piece].len : rest;

	play->left = len < rest ? len : rest;
	play->due_ns = now_ns + delay_of(play);
}

void play_begin(struct play *play, const struct exchange *exchange, uint64_t now_ns)
{
	*play = (struct play){ .exchange = exchange };
	next_piece(play, now_ns);
}

bool play_over(const struct play *play)
{
	return play->exchange == NULL || play->at == play->exchange->body.len;
}

bool play_next(struct play *play, uint64_t now_ns, size_t max, struct span *ret)
{
	if (play_over(play) || now_ns < play->due_ns)
		return false;
	while (play->left == 0) { /* an empty piece tells nothing */
		play->piece++;
		next_piece(play, now_ns);
	}
	size_t len = play->left < max ? play->left : max;
	*ret = (struct span){ play->exchange->body.data + play->at, len };
	play->at += len;
	play->left -= len;
	if (play->left == 0 && !play_over(play)) {
		play->piece++;
		next_piece(play, now_ns);
	}
	return true;
}
