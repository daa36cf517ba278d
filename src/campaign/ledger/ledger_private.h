/* What the ledger's own files share. Nobody else includes this, or sqlite3.h. */
#ifndef HOTCELL_CAMPAIGN_LEDGER_LEDGER_PRIVATE_H
#define HOTCELL_CAMPAIGN_LEDGER_LEDGER_PRIVATE_H

#include <sqlite3.h>

#include "base/buf.h"
#include "campaign/ledger/ledger.h"

#define LEDGER_APPLICATION 0x686f7463 /* "hotc", at byte 68 of the file */
#define LEDGER_FORMAT 3 /* the file's user_version */
#define LEDGER_BUSY_MS 5000
#define LEDGER_MAX_VALUE (8 << 20) /* bytes of a row: a command line has at most 2 MiB */

enum ledger_statement {
	STATEMENT_BEGIN_WRITE, STATEMENT_BEGIN_READ, STATEMENT_COMMIT,
	STATEMENT_CAMPAIGN_ADD, STATEMENT_CAMPAIGN_GET, STATEMENT_CAMPAIGN_PUT, STATEMENT_CAMPAIGN_NAMED,
	STATEMENT_RUN_START, STATEMENT_RUN_END, STATEMENT_RUN_GET, STATEMENT_RUN_REMOVE,
	STATEMENT_LIVE_PUT, STATEMENT_LIVE_GET,
	STATEMENT_WISH_PUT, STATEMENT_WISH_LOOK, STATEMENT_WISH_TAKE, STATEMENT_DATA_VERSION,
	STATEMENT_EVENT_ADD,
	STATEMENT_COUNT
};

enum ledger_batch {
	BATCH_NONE,
	BATCH_OPEN,
	BATCH_LOST, /* rolled back, and the caller has not seen that from its commit yet */
};

struct ledger {
	sqlite3 *db;
	char *path; /* as given */
	int folder; /* it is in, held */
	char *name; /* in that */
	char *file; /* the path with that folder resolved: SQLite follows no link at all */
	char *shown; /* the path for a sentence: escaped, and not too long */
	enum ledger_how how;
	int64_t format; /* of the file: an older one is brought up to date when it is opened to write, and read as it is else */
	enum ledger_batch batch;
	struct err lost; /* why the batch is */
	sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared when first used */
	struct ledger *next; /* ledger_files.c's */
	bool wish_none; /* there was none for this campaign at this version of the file */
	int64_t wish_campaign, wish_version;
};

/* ---- ledger.c ---- */

/* What SQLite last said as an error; an open batch is lost. Returns -1. */
int ledger_failed(struct ledger *ledger, struct err *err);
void ledger_roll_back(struct ledger *ledger);
/* What was read makes no sense; the same. */
int ledger_damaged(struct ledger *ledger, const char *what, struct err *err);

/* A statement that is kept; whoever gets it resets it before returning, so that a callback of one function
 * may call any other. NULL if it cannot be had. */
MUST_CHECK sqlite3_stmt *ledger_statement(struct ledger *ledger, enum ledger_statement which, struct err *err);
/* One that the caller finalizes. */
MUST_CHECK sqlite3_stmt *ledger_prepare(struct ledger *ledger, const char *sql, struct err *err);
/* 1: a row; 0: no more; -1: error. */
MUST_CHECK int ledger_step(struct ledger *ledger, sqlite3_stmt *statement, struct err *err);
/* The first column of the only row. */
MUST_CHECK int ledger_number(struct ledger *ledger, const char *sql, int64_t *ret, struct err *err);
MUST_CHECK int ledger_run_sql(struct ledger *ledger, const char *sql, struct err *err);
void statement_resetp(sqlite3_stmt **statement);
void statement_finalizep(sqlite3_stmt **statement);
uint64_t ledger_now_ms(void);

/* For tests: the file grows no further than so many pages, as if the disk were full. 0: as it was. */
MUST_CHECK int ledger_limit_pages(struct ledger *ledger, unsigned pages, struct err *err);

/* ---- files.c ---- */

/* From here on SQLite finds the files of its folder in the one that is held, whatever is at the
 * path. */
MUST_CHECK int ledger_files_hold(struct ledger *ledger, struct err *err);
void ledger_files_leave(const struct ledger *ledger);

/* ---- schema.c ---- */

/* One column and the member that it holds. */
enum field_kind {
	FIELD_U64, FIELD_UINT, FIELD_INT,
	FIELD_TEXT, /* NULL is written as "" */
	FIELD_LINE, /* may be NULL */
	FIELD_BYTES, /* its length is at `len_at` */
	FIELD_RUN_STATE, FIELD_CAMPAIGN_STATE,
	FIELD_OUTCOME, /* the column may be NULL: there is none yet */
	FIELD_KIND_COUNT
};
struct ledger_field {
	const char *name;
	enum field_kind kind;
	size_t at, len_at;
	bool part; /* campaigns: is written back; runs: is known when it starts */
	int since; /* the format that brought it; 0: the first */
};
struct ledger_table {
	const char *name;
	const struct ledger_field *fields;
	size_t count;
};
extern const struct ledger_table campaigns_table, runs_table;

/* Binds from parameter `first` on, all fields or those that are `part`. What is bound must outlive the step. */
MUST_CHECK int ledger_bind(struct ledger *ledger, const struct ledger_table *table, bool part, sqlite3_stmt *statement,
	int first, const void *record, struct err *err);
MUST_CHECK int ledger_bind_text(struct ledger *ledger, sqlite3_stmt *statement, int parameter, const char *text,
	struct err *err);
/* Reads all fields from column `first` on. `record` is zeroed before, and the caller's to free even on error. */
MUST_CHECK int ledger_read(struct ledger *ledger, const struct ledger_table *table, sqlite3_stmt *statement, int first,
	void *record, struct err *err);
/* "name, uuid, ..."; what the file has not yet is read as its default. */
void ledger_columns(const struct ledger *ledger, const struct ledger_table *table, struct buf *sql);
/* A text column as a string that the caller frees; NULL if it is NULL or has a NUL within. */
char *ledger_text(sqlite3_stmt *statement, int column);

void ledger_sql(const struct ledger *ledger, enum ledger_statement which, struct buf *sql);
/* Makes the tables where there are none, and says whose file it is. Inside a transaction. */
MUST_CHECK int ledger_schema_make(struct ledger *ledger, struct err *err);
/* Gives an older file what it has not yet. Inside a transaction. */
MUST_CHECK int ledger_schema_update(struct ledger *ledger, struct err *err);

#endif
