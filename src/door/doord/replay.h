/* Exchanges of secret doors: kept while they happen, and played again. */
#ifndef HOTCELL_DOOR_DOORD_REPLAY_H
#define HOTCELL_DOOR_DOORD_REPLAY_H

#include "door/policy/exchange.h"
#include "redact/scrub.h"

/* ---- keeping ---- */

struct keep;
struct keep *keep_open(const char *door, const char *method, const char *path);
struct keep *keep_free(struct keep *keep); /* NULL is fine; returns NULL */
/* All but the last do nothing to NULL. Of a request anything may be given: it is scrubbed when it is written. Of an
 * answer only what was scrubbed already. */
void keep_request_fields(struct keep *keep, const struct buf *fields);
void keep_request(struct keep *keep, const char *bytes, size_t len);
void keep_answer(struct keep *keep, unsigned status, const struct buf *fields);
void keep_piece(struct keep *keep, const char *bytes, size_t len, uint64_t now_ns);
/* Appends it to the recording. */
void keep_write(struct keep *keep, int fd, const struct scrub_words *words);

/* ---- playing ---- */

struct play {
	const struct exchange *exchange; /* NULL: nothing is played */
	size_t piece, at; /* where in the pieces, and in the body */
	size_t left; /* of the piece that is being played */
	uint64_t due_ns; /* when the next one is */
	uint64_t waited_ns; /* for all before */
};

void play_begin(struct play *play, const struct exchange *exchange, uint64_t now_ns);
/* The next bytes, at most `max`. False: not before due_ns, or nothing more (play_over). */
bool play_next(struct play *play, uint64_t now_ns, size_t max, struct span *ret);
bool play_over(const struct play *play);

#endif
