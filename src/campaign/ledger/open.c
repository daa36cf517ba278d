/* Opening the file, which may be missing, somebody else's, newer, damaged, a link, or not ours to
 * write. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/term.h"
#include "campaign/ledger/ledger_private.h"

#define SHOWN_PATH 160 /* bytes of a path in a sentence, so that the way out still fits */
#define LOG_KEPT "16777216" /* bytes that the log keeps on disk after a reader has let it grow */

static int no_ledger(struct ledger *ledger, struct err *err)
{
	return err_set(err, ERR_USAGE,
		"there is no ledger at '%s': start a campaign first, or say where it is with --state",
		ledger->shown);
}

/* SQLite wants a path, refuses a link anywhere in it, and somebody's home may well be behind one:
 * so it is given the real path of the folder that we hold. What is at the file's name, and at those
 * that SQLite adds, is looked at beneath it, and opened there (ledger_files.c). */
static int find_file(struct ledger *ledger, struct err *err)
{
	char link[32], real[PATH_MAX];

	ledger->folder = beneath_parent(ledger->path, false, &ledger->name, err);
	if (ledger->folder < 0 && ledger->how != LEDGER_CREATE && (err->code == ENOENT || err->code == ENOTDIR))
		return no_ledger(ledger, err);
	if (ledger->folder < 0)
		return err_wrap(err, "find the folder of the ledger");
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", ledger->folder);
	ssize_t len = readlink(link, real, sizeof(real) - 1);
	if (len <= 0)
		return err_errno(err, errno, "find the folder of the ledger '%s'", ledger->shown);
	real[len] = '\0';
	ledger->file = xfmt("%s/%s", strcmp(real, "/") == 0 ? "" : real, ledger->name);
	return ledger_files_hold(ledger, err);
}

/* SQLite opened the held folder's; but others find it by its path. */
static int check_place(const struct ledger *ledger, struct err *err)
{
	struct stat held, opened;

	if (beneath_stat(ledger->folder, ledger->name, &held) == 0 && lstat(ledger->file, &opened) == 0 && held.st_dev == opened.st_dev &&
		held.st_ino == opened.st_ino)
		return 0;
	return err_set(err, ERR_USAGE, "the ledger '%s' was moved while it was opened: try again", ledger->shown);
}

/* By ourselves, for the mode: SQLite gives its -wal and -shm files the same. An empty file is an
 * empty database to it. Opened and closed only when it is new: closing a file that a connection of
 * this process has open would drop that connection's locks. */
static int make_file(struct ledger *ledger, struct err *err)
{
	own(fd_closep) int fd = beneath_try(ledger->folder, ledger->name, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 && errno != EEXIST)
		return err_set(err, errno,
			"the ledger '%s' cannot be made: %s; give another place with --state",
			ledger->shown, strerror(errno));
	return 0;
}

/* What SQLite keeps beside it. A journal is never ours, since use_log has none made, and one can name any other file, which SQLite
 * removes when it rolls back. */
static int look_beside(const struct ledger *ledger, struct err *err)
{
	static const char *const endings[] = {"-wal", "-shm"};
	own(freep) char *journal = xfmt("%s-journal", ledger->name);
	struct stat status;

	if (beneath_stat(ledger->folder, journal, &status) == 0)
		return err_set(err, ERR_USAGE, "beside the ledger '%s' lies a '%s', which is none of hotcell's: remove it", ledger->shown, journal);
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		own(freep) char *name = xfmt("%s%s", ledger->name, endings[i]);
		if (beneath_stat(ledger->folder, name, &status) == 0 && !S_ISREG(status.st_mode))
			return beneath_fail(ledger->folder, name, EEXIST, "open", err);
	}
	return 0;
}

static int look_at_file(struct ledger *ledger, struct err *err)
{
	struct stat status;

	if (look_beside(ledger, err) < 0)
		return -1;
	if (beneath_stat(ledger->folder, ledger->name, &status) < 0) {
		if (errno != ENOENT)
			return err_errno(err, errno, "look at the ledger '%s'", ledger->shown);
		return ledger->how == LEDGER_CREATE ? make_file(ledger, err)
						    : no_ledger(ledger, err);
	}
	if (S_ISLNK(status.st_mode))
		return err_set(err, ERR_USAGE,
			"the ledger '%s' is a symbolic link, and none is followed: give the real place with --state",
			ledger->shown);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_USAGE,
			"the ledger '%s' is not a file: move it away, or give another with --state",
			ledger->shown);
	return 0;
}

/* Whoever wrote the file may have put anything into its schema: no triggers, no views, no functions
 * with side effects, nothing attached, nothing loaded. */
static void harden(sqlite3 *db)
{
	static const int options[][2] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
		{SQLITE_DBCONFIG_DQS_DML, 0},
		{SQLITE_DBCONFIG_DQS_DDL, 0},
	};
	static const int limits[][2] = {
		{SQLITE_LIMIT_LENGTH, LEDGER_MAX_VALUE},
		{SQLITE_LIMIT_SQL_LENGTH, 64 << 10},
		{SQLITE_LIMIT_COLUMN, 100},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 100},
		{SQLITE_LIMIT_EXPR_DEPTH, 32},
		{SQLITE_LIMIT_COMPOUND_SELECT, 4},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)sqlite3_db_config(db, options[i][0], options[i][1], NULL);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		(void)sqlite3_limit(db, limits[i][0], limits[i][1]);
	(void)sqlite3_busy_timeout(db, LEDGER_BUSY_MS);
	(void)sqlite3_extended_result_codes(db, 1);
}

static int open_db(struct ledger *ledger, const char *file, int flags, struct err *err)
{
	int code = sqlite3_open_v2(
		file, &ledger->db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);

	if (!ledger->db)
		return err_errno(err, ENOMEM, "open the ledger '%s'", ledger->shown);
	if (code != SQLITE_OK)
		return ledger_failed(ledger, err);
	harden(ledger->db);
	return ledger_run_sql(
		ledger, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;", err);
}

/* Whose file it is, and of which format; in one statement, as another process may just be making
 * it. *ret_empty: nobody's yet. Writes nothing. */
static int check_identity(struct ledger *ledger, bool *ret_empty, struct err *err)
{
	own(statement_finalizep) sqlite3_stmt *statement = ledger_prepare(ledger,
		"SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
		" FROM pragma_application_id, pragma_user_version",
		err);

	if (!statement || ledger_step(ledger, statement, err) < 0)
		return -1;
	int64_t application = sqlite3_column_int64(statement, 0),
		format = sqlite3_column_int64(statement, 1);
	int64_t tables = sqlite3_column_int64(statement, 2);
	*ret_empty = application == 0 && format == 0 && tables == 0;
	if (*ret_empty)
		return 0;
	if (application != LEDGER_APPLICATION)
		return err_set(err, ERR_USAGE,
			"'%s' is another program's database, not a ledger: move it away, or give another place with --state",
			ledger->shown);
	if (format > LEDGER_FORMAT)
		return err_set(err, ERR_USAGE,
			"the ledger '%s' was written by a newer hotcell (format %lld, this one knows %d): update hotcell or "
			"give --state",
			ledger->shown, (long long)format, LEDGER_FORMAT);
	ledger->format = format;
	return format >= 1 ? 0 : ledger_damaged(ledger, "its format is not known", err);
}

/* Switching to the log is a transaction of the other kind, which has a journal: in memory, so that there is never one beside the
 * ledger. One that has its log already would lose it by this. */
static int journal_in_memory(struct ledger *ledger, struct err *err)
{
	static const char *const pragmas[] = {"PRAGMA journal_mode", "PRAGMA journal_mode = MEMORY"};

	for (size_t i = 0; i < ARRAY_LEN(pragmas); i++) {
		own(statement_finalizep) sqlite3_stmt *statement = ledger_prepare(ledger, pragmas[i], err);
		if (!statement)
			return -1;
		/* busy: then the next one says so */
		if (sqlite3_step(statement) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0)
			return 0;
	}
	return 0;
}

/* Switching to the log is refused at once, not waited for, while another process does the same. */
static int use_log(struct ledger *ledger, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	if (journal_in_memory(ledger, err) < 0)
		return -1;
	for (int tries = LEDGER_BUSY_MS / 10;; tries--) {
		own(statement_finalizep) sqlite3_stmt *statement =
			ledger_prepare(ledger, "PRAGMA journal_mode = WAL", err);
		int code = statement ? sqlite3_step(statement) : SQLITE_ERROR;
		if (!statement)
			return -1;
		if (code == SQLITE_ROW &&
			strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0)
			return 0;
		if (code == SQLITE_ROW)
			return err_set(err, ENOTSUP,
				"the ledger '%s' is on a file system without shared memory: give a place on another with --state",
				ledger->shown);
		if ((code & 0xff) != SQLITE_BUSY || tries <= 0)
			return ledger_failed(ledger, err);
		(void)nanosleep(&pause, NULL);
	}
}

static int make_schema(struct ledger *ledger, struct err *err)
{
	bool empty = false;

	if (ledger_begin(ledger, err) < 0)
		return -1;
	/* Again, now that nobody else can: another process may just have made it, or brought it up to date. */
	if (check_identity(ledger, &empty, err) < 0 || (empty && ledger_schema_make(ledger, err) < 0) ||
		(ledger->format < LEDGER_FORMAT && ledger_schema_update(ledger, err) < 0)) {
		ledger_roll_back(ledger);
		ledger->batch = BATCH_NONE;
		return -1;
	}
	return ledger_commit(ledger, err);
}

static int open_to_write(struct ledger *ledger, struct err *err)
{
	bool empty = false;

	if (open_db(ledger, ledger->file, SQLITE_OPEN_READWRITE, err) < 0)
		return -1;
	/* SQLite opens what it may not write for reading, without a word. */
	if (sqlite3_db_readonly(ledger->db, "main") == 1)
		return err_set(err, EACCES,
			"the ledger '%s' is read-only for you: make it writable, or give another place with --state",
			ledger->shown);
	if (check_identity(ledger, &empty, err) < 0)
		return -1;
	if (empty && ledger->how != LEDGER_CREATE)
		return no_ledger(ledger, err);
	if (use_log(ledger, err) < 0 ||
		ledger_run_sql(ledger,
			"PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = " LOG_KEPT,
			err) < 0)
		return -1;
	return empty || ledger->format < LEDGER_FORMAT ? make_schema(ledger, err) : 0;
}

static char *file_uri(const char *file)
{
	struct buf uri = {0};

	buf_str(&uri, "file:");
	for (const char *at = file; *at; at++)
		if (strchr("%?#", *at))
			buf_fmt(&uri, "%%%02X", (unsigned char)*at);
		else
			buf_char(&uri, *at);
	buf_str(&uri, "?immutable=1");
	return buf_take(&uri);
}

static bool log_is_empty(const struct ledger *ledger)
{
	struct stat status;
	own(freep) char *log = xfmt("%s-wal", ledger->name);

	return beneath_stat(ledger->folder, log, &status) < 0 ? errno == ENOENT : status.st_size == 0;
}

/* Without its -shm file, where none can be made, a database is readable only if SQLite is promised
 * that it does not change; its log would then be passed over, so there must be nothing in it. */
static int open_unchanging(struct ledger *ledger, bool *ret_empty, struct err *err)
{
	own(freep) char *uri = file_uri(ledger->file);

	if (!log_is_empty(ledger))
		return err_set(err, EROFS,
			"the ledger '%s' has changes in its -wal file that cannot be read where nothing can be written: "
			"copy both to where you can write, and give that with --state",
			ledger->shown);
	(void)sqlite3_close(ledger->db);
	ledger->db = NULL;
	if (open_db(ledger, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err) < 0)
		return -1;
	return check_identity(ledger, ret_empty, err);
}

/* SQLite wants to write even to read: it could not. */
static bool could_not_write(const struct ledger *ledger, const struct err *found)
{
	int code = sqlite3_errcode(ledger->db) & 0xff;

	return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || found->code == ENOSPC;
}

static int open_to_read(struct ledger *ledger, struct err *err)
{
	struct err found = {0};
	bool empty = false;

	if (open_db(ledger, ledger->file, SQLITE_OPEN_READONLY, err) < 0)
		return -1;
	int result = check_identity(ledger, &empty, &found);
	if (result < 0 && could_not_write(ledger, &found))
		result = open_unchanging(ledger, &empty, &found);
	if (result < 0 && err)
		*err = found;
	if (result < 0)
		return -1;
	return empty ? no_ledger(ledger, err) : 0;
}

struct ledger *ledger_open(const char *path, enum ledger_how how, struct err *err)
{
	own(ledger_freep) struct ledger *ledger = xcalloc(1, sizeof(*ledger));
	own(buf_done) struct buf shown = {0};

	term_line(path, strlen(path), SHOWN_PATH, &shown);
	ledger->shown = buf_take(&shown);
	ledger->path = xstrdup(path);
	ledger->how = how;
	ledger->folder = -1;
	if (find_file(ledger, err) < 0 || look_at_file(ledger, err) < 0)
		return NULL;
	if ((how == LEDGER_READ ? open_to_read : open_to_write)(ledger, err) < 0 || check_place(ledger, err) < 0)
		return NULL;
	return ptr_take(&ledger);
}
