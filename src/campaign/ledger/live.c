/* What a supervisor shows, what others wish, and what happened. */
#include <string.h>

#include "base/wire.h"
#include "campaign/ledger/ledger_private.h"

/* ---- live: two blobs, numbers little-endian and of fixed width ---- */

#define WORKER_BYTES (4 + 3 * 8)
#define HEARTBEATS_BYTES (4 * LEDGER_HEARTBEATS)

void ledger_live_done(struct ledger_live *live)
{
	free(live->workers);
	free(live->alerts);
	*live = (struct ledger_live){0};
}

static void put_live(const struct ledger_live *live, struct buf *heartbeats, struct buf *workers)
{
	for (size_t i = 0; i < LEDGER_HEARTBEATS; i++)
		wire_put_u32(heartbeats, live->done[i]);
	for (size_t i = 0; i < live->worker_count; i++) {
		wire_put_u32(workers, live->workers[i].worker);
		wire_put_u64(workers, live->workers[i].number);
		wire_put_u64(workers, live->workers[i].since_ms);
		wire_put_u64(workers, live->workers[i].memory);
	}
}

int ledger_live_put(
	struct ledger *ledger, int64_t campaign, const struct ledger_live *live, struct err *err)
{
	own(buf_done) struct buf heartbeats = {0};
	own(buf_done) struct buf workers = {0};
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_LIVE_PUT, err);

	if (!statement)
		return -1;
	put_live(live, &heartbeats, &workers);
	(void)sqlite3_bind_int64(statement, 1, campaign);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)live->at_ms);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)live->memory);
	(void)sqlite3_bind_int64(statement, 4, (int64_t)live->cpu_milli);
	(void)sqlite3_bind_blob64(statement, 5, heartbeats.data, heartbeats.len, SQLITE_STATIC);
	(void)sqlite3_bind_blob64(statement, 6, buf_text(&workers), workers.len, SQLITE_STATIC);
	if (ledger_bind_text(ledger, statement, 7, live->alerts ? live->alerts : "", err) < 0)
		return -1;
	return ledger_step(ledger, statement, err);
}

static struct wire_reader column_reader(sqlite3_stmt *statement, int column)
{
	const char *data = sqlite3_column_blob(statement, column);
	size_t len = (size_t)sqlite3_column_bytes(statement, column);

	return (struct wire_reader){.data = data ? data : "", .len = data ? len : 0};
}

static bool get_workers(struct wire_reader *reader, struct ledger_live *live)
{
	live->worker_count = reader->len / WORKER_BYTES;
	if (reader->len % WORKER_BYTES != 0 || live->worker_count > PLAN_MAX_WORKERS)
		return false;
	live->workers = xcalloc(live->worker_count, sizeof(*live->workers));
	for (size_t i = 0; i < live->worker_count; i++) {
		live->workers[i].worker = wire_get_u32(reader);
		live->workers[i].number = wire_get_u64(reader);
		live->workers[i].since_ms = wire_get_u64(reader);
		live->workers[i].memory = wire_get_u64(reader);
	}
	return !reader->bad;
}

static bool get_live(sqlite3_stmt *statement, struct ledger_live *live)
{
	struct wire_reader heartbeats = column_reader(statement, 3),
			   workers = column_reader(statement, 4);

	live->at_ms = (uint64_t)sqlite3_column_int64(statement, 0);
	live->memory = (uint64_t)sqlite3_column_int64(statement, 1);
	live->cpu_milli = (uint64_t)sqlite3_column_int64(statement, 2);
	live->alerts = ledger_text(statement, 5);
	for (size_t i = 0; i < LEDGER_HEARTBEATS; i++)
		live->done[i] = wire_get_u32(&heartbeats);
	return heartbeats.len == HEARTBEATS_BYTES && live->alerts && get_workers(&workers, live);
}

int ledger_live_get(
	struct ledger *ledger, int64_t campaign, struct ledger_live *ret, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_LIVE_GET, err);

	*ret = (struct ledger_live){0};
	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	int row = ledger_step(ledger, statement, err);
	if (row == 0)
		ret->alerts = xstrdup("");
	if (row > 0 && !get_live(statement, ret)) {
		ledger_live_done(ret);
		return ledger_damaged(ledger, "a campaign's live row makes no sense", err);
	}
	return row < 0 ? -1 : 0;
}

/* ---- wishes ---- */

static const char *const wish_names[WISH_COUNT] = {
	[WISH_NONE] = "none",
	[WISH_PAUSE] = "pause",
	[WISH_GO] = "go",
	[WISH_STOP] = "stop",
	[WISH_CANCEL] = "cancel",
};
_Static_assert(WISH_COUNT == 5, "a wish has no name");

int ledger_wish_put(struct ledger *ledger, int64_t campaign, enum ledger_wish wish, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_WISH_PUT, err);

	if (!statement)
		return -1;
	ledger->wish_none = false; /* the file's version tells of others' changes only */
	(void)sqlite3_bind_int64(statement, 1, campaign);
	(void)sqlite3_bind_text(statement, 2, wish_names[wish], -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)ledger_now_ms());
	return ledger_step(ledger, statement, err);
}

static int data_version(struct ledger *ledger, int64_t *ret, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_DATA_VERSION, err);

	if (!statement || ledger_step(ledger, statement, err) < 0)
		return -1;
	*ret = sqlite3_column_int64(statement, 0);
	return 0;
}

/* 1: there is one; 0: none; -1: error. */
static int wish_look(struct ledger *ledger, int64_t campaign, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_WISH_LOOK, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	return ledger_step(ledger, statement, err);
}

static int wish_remove(
	struct ledger *ledger, int64_t campaign, enum ledger_wish *ret, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_WISH_TAKE, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	int row = ledger_step(ledger, statement, err);
	if (row <= 0)
		return row;
	const char *word = (const char *)sqlite3_column_text(statement, 0);
	/* A word that is not known may be a newer hotcell's: it is not for us. */
	for (unsigned i = 0; word && i < WISH_COUNT; i++)
		if (strcmp(word, wish_names[i]) == 0)
			*ret = (enum ledger_wish)i;
	return ledger_step(ledger, statement, err);
}

int ledger_wish_take(
	struct ledger *ledger, int64_t campaign, enum ledger_wish *ret, struct err *err)
{
	int64_t version;

	*ret = WISH_NONE;
	if (data_version(ledger, &version, err) < 0)
		return -1;
	if (ledger->wish_none && ledger->wish_campaign == campaign &&
		ledger->wish_version == version)
		return 0;
	int found = wish_look(ledger, campaign, err);
	if (found != 0)
		return found < 0 ? -1 : wish_remove(ledger, campaign, ret, err);
	ledger->wish_none = true;
	ledger->wish_campaign = campaign;
	ledger->wish_version = version;
	return 0;
}

/* ---- events ---- */

int ledger_event(struct ledger *ledger, int64_t campaign, const char *kind, uint64_t run,
	const char *text, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_EVENT_ADD, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)ledger_now_ms());
	(void)sqlite3_bind_int64(statement, 4, (int64_t)run);
	if (ledger_bind_text(ledger, statement, 3, kind, err) < 0 ||
		ledger_bind_text(ledger, statement, 5, text, err) < 0)
		return -1;
	return ledger_step(ledger, statement, err);
}

static int event_tell(struct ledger *ledger, sqlite3_stmt *statement, ledger_event_fn *fn,
	void *data, struct err *err)
{
	own(freep) char *kind = ledger_text(statement, 1);
	own(freep) char *text = ledger_text(statement, 3);
	struct ledger_event event = {
		.at_ms = (uint64_t)sqlite3_column_int64(statement, 0),
		.run = (uint64_t)sqlite3_column_int64(statement, 2),
		.kind = kind,
		.text = text,
	};

	if (!kind || !text || event.run > PLAN_MAX_RUNS)
		return ledger_damaged(ledger, "an event's row makes no sense", err);
	return fn(data, &event);
}

int ledger_events(struct ledger *ledger, int64_t campaign, uint64_t limit, ledger_event_fn *fn,
	void *data, struct err *err)
{
	own(statement_finalizep) sqlite3_stmt *statement = ledger_prepare(ledger,
		"SELECT at_ms, kind, run, text FROM (SELECT * FROM events WHERE campaign = ?1 ORDER BY id DESC LIMIT ?2) "
		"ORDER BY id",
		err);
	int result = statement ? 0 : -1;

	if (statement) {
		(void)sqlite3_bind_int64(statement, 1, campaign);
		(void)sqlite3_bind_int64(
			statement, 2, limit > 0 && limit <= INT64_MAX ? (int64_t)limit : -1);
	}
	while (result == 0) {
		int row = ledger_step(ledger, statement, err);
		if (row <= 0)
			return row;
		result = event_tell(ledger, statement, fn, data, err);
	}
	return result;
}
