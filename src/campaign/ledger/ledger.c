/* Transactions, statements, and SQLite's errors as sentences.
 *
 * What SQLite does when the disk is full decides the contract of a batch. A statement that fails
 * may or may not take the whole transaction with it; a COMMIT that fails always does. So a batch is
 * rolled back here at the first failure, whichever it was, and its commit says so: the caller has
 * one case, not three. */
#include "campaign/ledger/ledger.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/term.h"
#include "campaign/ledger/ledger_private.h"

/* ---- errors ---- */

/* SQLite may quote from the file, which may hold anything. */
static int explain_damage(struct ledger *ledger, const char *what, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	term_line(what, strlen(what), 80, &shown);
	return err_set(err, EUCLEAN,
		"the ledger '%s' is damaged (%s): move it and its -wal file away and start anew; "
		"the session folders are untouched",
		ledger->shown, buf_text(&shown));
}

/* SQLite keeps the cause of a failed statement, but not of a failed commit; its files do. */
static int last_errno(sqlite3 *db)
{
	sqlite3_file *log = NULL;
	int found = sqlite3_system_errno(db);

	if (found == 0)
		(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (log && log->pMethods)
		(void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &found);
	return found;
}

/* A quota and `ulimit -f` are a full disk to whoever must write. */
static bool is_full(int code, int saved_errno)
{
	return (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE ||
		saved_errno == ENOSPC || saved_errno == EDQUOT || saved_errno == EFBIG;
}

static int explain_access(struct ledger *ledger, int code, int saved_errno, struct err *err)
{
	if (code == SQLITE_CANTOPEN_SYMLINK)
		return err_set(err, ERR_USAGE,
			"the ledger '%s' is a symbolic link, and none is followed", ledger->shown);
	if (ledger->how == LEDGER_READ)
		return err_set(err, saved_errno ? saved_errno : EACCES,
			"the ledger '%s' cannot be read: %s", ledger->shown,
			saved_errno ? strerror(saved_errno) : sqlite3_errstr(code));
	return err_set(err, saved_errno ? saved_errno : EROFS,
		"the ledger '%s' cannot be written%s%s: it and its folder must be writable, or give another with --state",
		ledger->shown, saved_errno ? ", " : "", saved_errno ? strerror(saved_errno) : "");
}

static int explain(struct ledger *ledger, int code, struct err *err)
{
	int primary = code & 0xff;
	bool touched_disk = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
	int saved_errno = touched_disk ? last_errno(ledger->db) : 0;

	if (is_full(code, saved_errno))
		return err_set(err, ENOSPC,
			"the ledger '%s' could not be written: %s; free some space", ledger->shown,
			strerror(saved_errno ? saved_errno : ENOSPC));
	switch (primary) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR:
	case SQLITE_FORMAT:
	case SQLITE_MISMATCH: return explain_damage(ledger, sqlite3_errmsg(ledger->db), err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return err_set(err, EBUSY,
			"another process kept the ledger '%s' for more than %d s: try again",
			ledger->shown, LEDGER_BUSY_MS / 1000);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH: return explain_access(ledger, code, saved_errno, err);
	case SQLITE_TOOBIG:
		return err_set(err, ERR_LIMIT, "the ledger '%s' takes at most %d MB in one row",
			ledger->shown, LEDGER_MAX_VALUE >> 20);
	case SQLITE_NOMEM: return err_errno(err, ENOMEM, "use the ledger '%s'", ledger->shown);
	default:
		return err_set(err, saved_errno ? saved_errno : EIO,
			"the ledger '%s' could not be read or written: %s", ledger->shown,
			saved_errno ? strerror(saved_errno) : sqlite3_errstr(code));
	}
}

void ledger_roll_back(struct ledger *ledger)
{
	if (!sqlite3_get_autocommit(ledger->db))
		(void)sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL);
	ledger->wish_none = false; /* a wish that was taken is there again */
}

/* Hands the error on, and ends the batch that it happened in. */
static int lose_batch(struct ledger *ledger, const struct err *found, struct err *err)
{
	if (ledger->batch == BATCH_OPEN) {
		ledger_roll_back(ledger);
		ledger->batch = BATCH_LOST;
		ledger->lost = *found;
	}
	if (err)
		*err = *found;
	return -1;
}

int ledger_failed(struct ledger *ledger, struct err *err)
{
	struct err found = {0};

	(void)explain(ledger, sqlite3_extended_errcode(ledger->db), &found);
	return lose_batch(ledger, &found, err);
}

int ledger_damaged(struct ledger *ledger, const char *what, struct err *err)
{
	struct err found = {0};

	(void)explain_damage(ledger, what, &found);
	return lose_batch(ledger, &found, err);
}

/* ---- statements ---- */

void statement_resetp(sqlite3_stmt **statement)
{
	(void)sqlite3_reset(*statement); /* says again what the step has said */
}

void statement_finalizep(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

sqlite3_stmt *ledger_prepare(struct ledger *ledger, const char *sql, struct err *err)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK)
		(void)ledger_failed(ledger, err);
	return statement;
}

sqlite3_stmt *ledger_statement(struct ledger *ledger, enum ledger_statement which, struct err *err)
{
	sqlite3_stmt **kept = &ledger->statements[which];

	if (!*kept) {
		own(buf_done) struct buf sql = {0};
		ledger_sql(ledger, which, &sql);
		if (sqlite3_prepare_v3(ledger->db, buf_text(&sql), -1, SQLITE_PREPARE_PERSISTENT,
			    kept, NULL)) {
			(void)ledger_failed(ledger, err);
			return NULL;
		}
	}
	/* After a rollback a further change would stand alone and be committed at once. */
	if (ledger->batch == BATCH_LOST && !sqlite3_stmt_readonly(*kept)) {
		if (err)
			*err = ledger->lost;
		return NULL;
	}
	return *kept;
}

int ledger_step(struct ledger *ledger, sqlite3_stmt *statement, struct err *err)
{
	switch (sqlite3_step(statement)) {
	case SQLITE_ROW: return 1;
	case SQLITE_DONE: return 0;
	default: return ledger_failed(ledger, err);
	}
}

int ledger_number(struct ledger *ledger, const char *sql, int64_t *ret, struct err *err)
{
	own(statement_finalizep) sqlite3_stmt *statement = ledger_prepare(ledger, sql, err);
	int row = statement ? ledger_step(ledger, statement, err) : -1;

	if (row < 0)
		return -1;
	*ret = row > 0 ? sqlite3_column_int64(statement, 0) : 0;
	return 0;
}

int ledger_run_sql(struct ledger *ledger, const char *sql, struct err *err)
{
	return sqlite3_exec(ledger->db, sql, NULL, NULL, NULL) == SQLITE_OK
		? 0
		: ledger_failed(ledger, err);
}

uint64_t ledger_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- batches ---- */

int ledger_begin(struct ledger *ledger, struct err *err)
{
	bool reader = ledger->how == LEDGER_READ;
	int moved = 0;

	if (ledger->batch == BATCH_OPEN)
		ledger_roll_back(ledger);
	ledger->batch = BATCH_NONE;
	/* SQLite would go on writing into a file that nobody will find again. */
	(void)sqlite3_file_control(ledger->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	if (moved && !reader)
		return err_set(err, ENOENT,
			"the ledger '%s' was moved or removed while it was in use", ledger->shown);
	own(statement_resetp) sqlite3_stmt *begin = ledger_statement(
		ledger, reader ? STATEMENT_BEGIN_READ : STATEMENT_BEGIN_WRITE, err);
	if (!begin || ledger_step(ledger, begin, err) < 0)
		return -1;
	ledger->batch = BATCH_OPEN;
	return 0;
}

int ledger_commit(struct ledger *ledger, struct err *err)
{
	assert(ledger->batch != BATCH_NONE);
	if (ledger->batch == BATCH_OPEN) {
		own(statement_resetp) sqlite3_stmt *commit =
			ledger_statement(ledger, STATEMENT_COMMIT, err);
		if (commit && ledger_step(ledger, commit, err) == 0) {
			ledger->batch = BATCH_NONE;
			return 0;
		}
	}
	ledger->batch = BATCH_NONE;
	if (err)
		*err = ledger->lost;
	return -1;
}

/* ---- the rest of its life ---- */

struct ledger *ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return NULL;
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(ledger->statements[i]);
	(void)sqlite3_close(ledger->db); /* rolls back */
	ledger_files_leave(ledger);
	free(ledger->path);
	free(ledger->name);
	fd_close(&ledger->folder);
	free(ledger->file);
	free(ledger->shown);
	free(ledger);
	return NULL;
}

void ledger_freep(struct ledger **ledger)
{
	*ledger = ledger_free(*ledger);
}

const char *ledger_path(const struct ledger *ledger)
{
	return ledger->path;
}

int ledger_limit_pages(struct ledger *ledger, unsigned pages, struct err *err)
{
	char sql[64];
	int64_t now;

	(void)snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %u", pages ? pages : 1073741823);
	return ledger_number(ledger, sql, &now, err);
}
