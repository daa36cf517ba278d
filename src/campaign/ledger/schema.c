/* The tables, and how a record becomes a row and a row a record.
 *
 * States and outcomes are written as words: people open this file with sqlite3, and a number would
 * change its meaning with the order of an enum. Sums are columns for the same reason. A ledger may
 * have been tampered with, so nothing that is read back is believed: a word that is not known, a
 * negative count or a NUL in a text is damage. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "campaign/ledger/ledger_private.h"

/* ---- columns ---- */

#define CAMPAIGN(member) offsetof(struct campaign_record, member)
#define RUN(member) offsetof(struct run_record, member)
#define BACK true /* is written back */
#define START true /* is known at the start */
#define DOORS 2 /* the format in which doors came */
#define SHOWN 3 /* and a command line for people */

static const struct ledger_field campaign_fields[] = {
	{"name", FIELD_TEXT, CAMPAIGN(name)},
	{"uuid", FIELD_TEXT, CAMPAIGN(uuid)},
	{"state", FIELD_CAMPAIGN_STATE, CAMPAIGN(state), 0, BACK},
	{"note", FIELD_TEXT, CAMPAIGN(note), 0, BACK},
	{"runs", FIELD_U64, CAMPAIGN(plan.runs)},
	{"workers", FIELD_UINT, CAMPAIGN(plan.workers), 0, BACK},
	{"retries", FIELD_UINT, CAMPAIGN(plan.retries)},
	{"seed", FIELD_U64, CAMPAIGN(plan.seed)},
	{"rate", FIELD_U64, CAMPAIGN(plan.rate)},
	{"stop_after_failures", FIELD_U64, CAMPAIGN(plan.stop_after_failures)},
	{"output", FIELD_TEXT, CAMPAIGN(output)},
	{"cwd", FIELD_TEXT, CAMPAIGN(cwd)},
	{"words", FIELD_BYTES, CAMPAIGN(words), CAMPAIGN(words_len)},
	{"env_names", FIELD_BYTES, CAMPAIGN(env_names), CAMPAIGN(env_names_len)},
	{"memory_limit", FIELD_U64, CAMPAIGN(memory_limit)},
	{"timeout_ms", FIELD_U64, CAMPAIGN(timeout_ms)},
	{"created_ms", FIELD_U64, CAMPAIGN(created_ms)},
	{"updated_ms", FIELD_U64, CAMPAIGN(updated_ms), 0, BACK},
	{"ended_ms", FIELD_U64, CAMPAIGN(ended_ms), 0, BACK},
	{"active_ms", FIELD_U64, CAMPAIGN(active_ms), 0, BACK},
	{"next", FIELD_U64, CAMPAIGN(next), 0, BACK},
	{"last_seq", FIELD_U64, CAMPAIGN(last_seq), 0, BACK},
	{"marked_seq", FIELD_U64, CAMPAIGN(marked_seq), 0, BACK},
	{"holder", FIELD_INT, CAMPAIGN(holder), 0, BACK},
	{"runs_success", FIELD_U64, CAMPAIGN(sums.state[RUN_SUCCESS]), 0, BACK},
	{"runs_error", FIELD_U64, CAMPAIGN(sums.state[RUN_ERROR]), 0, BACK},
	{"runs_timeout", FIELD_U64, CAMPAIGN(sums.state[RUN_TIMEOUT]), 0, BACK},
	{"cells_exited", FIELD_U64, CAMPAIGN(sums.outcome[CELL_EXITED]), 0, BACK},
	{"cells_signaled", FIELD_U64, CAMPAIGN(sums.outcome[CELL_SIGNALED]), 0, BACK},
	{"cells_timeout", FIELD_U64, CAMPAIGN(sums.outcome[CELL_TIMEOUT]), 0, BACK},
	{"cells_oom", FIELD_U64, CAMPAIGN(sums.outcome[CELL_OOM]), 0, BACK},
	{"cells_output_limit", FIELD_U64, CAMPAIGN(sums.outcome[CELL_OUTPUT_LIMIT]), 0, BACK},
	{"cells_disk_limit", FIELD_U64, CAMPAIGN(sums.outcome[CELL_DISK_LIMIT]), 0, BACK},
	{"cells_denied", FIELD_U64, CAMPAIGN(sums.outcome[CELL_DENIED]), 0, BACK},
	{"cells_setup_failed", FIELD_U64, CAMPAIGN(sums.outcome[CELL_SETUP_FAILED]), 0, BACK},
	{"cells_cancelled", FIELD_U64, CAMPAIGN(sums.outcome[CELL_CANCELLED]), 0, BACK},
	{"cells", FIELD_U64, CAMPAIGN(sums.cells), 0, BACK},
	{"cell_failures", FIELD_U64, CAMPAIGN(sums.cell_failures), 0, BACK},
	{"cleanup_failures", FIELD_U64, CAMPAIGN(sums.cleanup_failures), 0, BACK},
	{"orphans", FIELD_U64, CAMPAIGN(sums.orphans), 0, BACK},
	{"retried", FIELD_U64, CAMPAIGN(sums.retried), 0, BACK},
	{"cancelled", FIELD_U64, CAMPAIGN(sums.cancelled), 0, BACK},
	{"wall_ns", FIELD_U64, CAMPAIGN(sums.wall_ns), 0, BACK},
	{"user_us", FIELD_U64, CAMPAIGN(sums.user_us), 0, BACK},
	{"system_us", FIELD_U64, CAMPAIGN(sums.system_us), 0, BACK},
	{"written_bytes", FIELD_U64, CAMPAIGN(sums.written_bytes), 0, BACK},
	{"peak_sum", FIELD_U64, CAMPAIGN(sums.peak_sum), 0, BACK},
	{"peak_max", FIELD_U64, CAMPAIGN(sums.peak_max), 0, BACK},
	{"oom_kills", FIELD_U64, CAMPAIGN(sums.oom_kills), 0, BACK},
	{"weaker", FIELD_U64, CAMPAIGN(sums.weaker), 0, BACK},
	{"budget", FIELD_TEXT, CAMPAIGN(budget), 0, false, DOORS}, /* whoever raises it writes it, see ledger_campaign_budget */
	{"net_connections", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_CONNECTIONS]), 0, BACK, DOORS},
	{"net_requests", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_REQUESTS]), 0, BACK, DOORS},
	{"net_refused", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_REFUSED]), 0, BACK, DOORS},
	{"net_failed", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_FAILED]), 0, BACK, DOORS},
	{"net_sent", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_SENT]), 0, BACK, DOORS},
	{"net_received", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_RECEIVED]), 0, BACK, DOORS},
	{"net_tokens_in", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_TOKENS_IN]), 0, BACK, DOORS},
	{"net_tokens_out", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_TOKENS_OUT]), 0, BACK, DOORS},
	{"net_microdollars", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_MICRODOLLARS]), 0, BACK, DOORS},
	{"net_unpriced", FIELD_U64, CAMPAIGN(sums.network.count[COUNT_UNPRICED]), 0, BACK, DOORS},
	{"shown", FIELD_BYTES, CAMPAIGN(shown), CAMPAIGN(shown_len), false, SHOWN},
};
_Static_assert(RUN_STATE_COUNT - RUN_SUCCESS == 3,
	"a final state has no column; LEDGER_FORMAT changes with it");
_Static_assert(CELL_OUTCOME_COUNT == 9, "an outcome has no column; LEDGER_FORMAT changes with it");
_Static_assert(DOOR_COUNTS == 10, "a count of doors has no column; LEDGER_FORMAT changes with it");
_Static_assert(sizeof(struct campaign_sums) == (28 + DOOR_COUNTS) * sizeof(uint64_t),
	"a sum has no column; LEDGER_FORMAT changes with it");

static const struct ledger_field run_fields[] = {
	{"number", FIELD_U64, RUN(number), 0, START},
	{"attempt", FIELD_UINT, RUN(attempt), 0, START},
	{"state", FIELD_RUN_STATE, RUN(state), 0, START},
	{"outcome", FIELD_OUTCOME, RUN(outcome)},
	{"exit_code", FIELD_INT, RUN(exit_code), 0, START},
	{"signal", FIELD_INT, RUN(signal)},
	{"worker", FIELD_UINT, RUN(worker), 0, START},
	{"seed", FIELD_U64, RUN(seed), 0, START},
	{"started_ms", FIELD_U64, RUN(started_ms), 0, START},
	{"ended_ms", FIELD_U64, RUN(ended_ms)},
	{"wall_ns", FIELD_U64, RUN(wall_ns)},
	{"setup_ns", FIELD_U64, RUN(setup_ns)},
	{"user_us", FIELD_U64, RUN(user_us)},
	{"system_us", FIELD_U64, RUN(system_us)},
	{"peak_memory", FIELD_U64, RUN(peak_memory)},
	{"written_bytes", FIELD_U64, RUN(written_bytes)},
	{"stdout_bytes", FIELD_U64, RUN(stdout_bytes)},
	{"stderr_bytes", FIELD_U64, RUN(stderr_bytes)},
	{"refused", FIELD_U64, RUN(refused)},
	{"cause", FIELD_LINE, RUN(cause)},
	{"cell", FIELD_LINE, RUN(cell), 0, START},
	{"net_connections", FIELD_U64, RUN(network.count[COUNT_CONNECTIONS]), 0, false, DOORS},
	{"net_requests", FIELD_U64, RUN(network.count[COUNT_REQUESTS]), 0, false, DOORS},
	{"net_refused", FIELD_U64, RUN(network.count[COUNT_REFUSED]), 0, false, DOORS},
	{"net_failed", FIELD_U64, RUN(network.count[COUNT_FAILED]), 0, false, DOORS},
	{"net_sent", FIELD_U64, RUN(network.count[COUNT_SENT]), 0, false, DOORS},
	{"net_received", FIELD_U64, RUN(network.count[COUNT_RECEIVED]), 0, false, DOORS},
	{"net_tokens_in", FIELD_U64, RUN(network.count[COUNT_TOKENS_IN]), 0, false, DOORS},
	{"net_tokens_out", FIELD_U64, RUN(network.count[COUNT_TOKENS_OUT]), 0, false, DOORS},
	{"net_microdollars", FIELD_U64, RUN(network.count[COUNT_MICRODOLLARS]), 0, false, DOORS},
	{"net_unpriced", FIELD_U64, RUN(network.count[COUNT_UNPRICED]), 0, false, DOORS},
};

const struct ledger_table campaigns_table = {
	"campaigns", campaign_fields, ARRAY_LEN(campaign_fields)};
const struct ledger_table runs_table = {"runs", run_fields, ARRAY_LEN(run_fields)};

/* ---- kinds ---- */

static const char *run_state_word(unsigned value)
{
	return run_state_names[value];
}

static const char *campaign_state_word(unsigned value)
{
	return campaign_state_names[value];
}

static const char *outcome_word(unsigned value)
{
	return cell_outcome_name((enum cell_outcome)value);
}

static const struct kind {
	const char *sql;
	const char *(*word)(unsigned value); /* of an enum */
	unsigned words;
} kinds[FIELD_KIND_COUNT] = {
	[FIELD_U64] = {"INTEGER NOT NULL DEFAULT 0"},
	[FIELD_UINT] = {"INTEGER NOT NULL DEFAULT 0"},
	[FIELD_INT] = {"INTEGER NOT NULL DEFAULT 0"},
	[FIELD_TEXT] = {"TEXT NOT NULL DEFAULT ''"},
	[FIELD_LINE] = {"TEXT"},
	[FIELD_BYTES] = {"BLOB NOT NULL DEFAULT x''"},
	[FIELD_RUN_STATE] = {"TEXT NOT NULL", run_state_word, RUN_STATE_COUNT},
	[FIELD_CAMPAIGN_STATE] = {"TEXT NOT NULL", campaign_state_word, CAMPAIGN_STATE_COUNT},
	[FIELD_OUTCOME] = {"TEXT", outcome_word, CELL_OUTCOME_COUNT},
};

/* ---- a record becomes a row ---- */

/* These give SQLite's code: a value may be larger than a row can hold. */
static int bind_text(sqlite3_stmt *statement, int parameter, const char *text)
{
	return text ? sqlite3_bind_text(statement, parameter, text, -1, SQLITE_STATIC)
		    : sqlite3_bind_null(statement, parameter);
}

/* SQLite's integers have a sign; no count of ours comes near. */
static int bind_u64(sqlite3_stmt *statement, int parameter, uint64_t value)
{
	return sqlite3_bind_int64(
		statement, parameter, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static int bind_bytes(sqlite3_stmt *statement, int parameter, const char *bytes, size_t len)
{
	return sqlite3_bind_blob64(
		statement, parameter, bytes ? bytes : "", bytes ? len : 0, SQLITE_STATIC);
}

static int bind_word(
	const struct kind *kind, sqlite3_stmt *statement, int parameter, unsigned value)
{
	return bind_text(statement, parameter, value < kind->words ? kind->word(value) : NULL);
}

static int bind_field(const struct ledger_field *field, sqlite3_stmt *statement, int parameter,
	const char *record)
{
	const void *at = record + field->at;
	const char *text = NULL;

	switch (field->kind) {
	case FIELD_U64: return bind_u64(statement, parameter, *(const uint64_t *)at);
	case FIELD_UINT: return bind_u64(statement, parameter, *(const unsigned *)at);
	case FIELD_INT: return sqlite3_bind_int(statement, parameter, *(const int *)at);
	case FIELD_TEXT:
		text = *(char *const *)at;
		return bind_text(statement, parameter, text ? text : "");
	case FIELD_LINE: return bind_text(statement, parameter, *(char *const *)at);
	case FIELD_BYTES:
		text = *(char *const *)at;
		return bind_bytes(statement, parameter, text,
			*(const size_t *)(const void *)(record + field->len_at));
	case FIELD_RUN_STATE:
	case FIELD_CAMPAIGN_STATE:
	case FIELD_OUTCOME:
		return bind_word(&kinds[field->kind], statement, parameter, *(const unsigned *)at);
	case FIELD_KIND_COUNT: break;
	}
	return SQLITE_MISUSE;
}

int ledger_bind(struct ledger *ledger, const struct ledger_table *table, bool part,
	sqlite3_stmt *statement, int first, const void *record, struct err *err)
{
	for (size_t i = 0; i < table->count; i++)
		if (!part || table->fields[i].part)
			if (bind_field(&table->fields[i], statement, first++, record) != SQLITE_OK)
				return ledger_failed(ledger, err);
	return 0;
}

int ledger_bind_text(struct ledger *ledger, sqlite3_stmt *statement, int parameter,
	const char *text, struct err *err)
{
	return bind_text(statement, parameter, text) == SQLITE_OK ? 0 : ledger_failed(ledger, err);
}

/* ---- a row becomes a record ---- */

static bool read_integer(
	sqlite3_stmt *statement, int column, int64_t min, int64_t max, int64_t *ret)
{
	*ret = sqlite3_column_int64(statement, column);
	return sqlite3_column_type(statement, column) == SQLITE_INTEGER && *ret >= min &&
		*ret <= max;
}

char *ledger_text(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	size_t len = (size_t)sqlite3_column_bytes(statement, column);

	return text && strlen(text) == len ? xstrdup(text) : NULL;
}

static bool read_bytes(sqlite3_stmt *statement, int column, char **ret, size_t *ret_len)
{
	const void *bytes = sqlite3_column_blob(statement, column);

	*ret_len = (size_t)sqlite3_column_bytes(statement, column);
	*ret = xcalloc(*ret_len + 1, 1);
	if (*ret_len > 0 && !bytes)
		return false;
	if (*ret_len > 0)
		memcpy(*ret, bytes, *ret_len);
	return true;
}

static bool read_word(const struct kind *kind, sqlite3_stmt *statement, int column, unsigned *ret)
{
	const char *word = (const char *)sqlite3_column_text(statement, column);

	for (unsigned i = 0; word && i < kind->words; i++)
		if (strcmp(word, kind->word(i)) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool read_field(
	const struct ledger_field *field, sqlite3_stmt *statement, int column, char *record)
{
	void *at = record + field->at;
	bool is_null = sqlite3_column_type(statement, column) == SQLITE_NULL, good = false;
	int64_t integer;

	switch (field->kind) {
	case FIELD_U64:
		good = read_integer(statement, column, 0, INT64_MAX, &integer);
		*(uint64_t *)at = (uint64_t)integer;
		return good;
	case FIELD_UINT:
		good = read_integer(statement, column, 0, UINT_MAX, &integer);
		*(unsigned *)at = (unsigned)integer;
		return good;
	case FIELD_INT:
		good = read_integer(statement, column, INT_MIN, INT_MAX, &integer);
		*(int *)at = (int)integer;
		return good;
	case FIELD_TEXT: return (*(char **)at = ledger_text(statement, column)) != NULL;
	case FIELD_LINE: return (*(char **)at = ledger_text(statement, column)) != NULL || is_null;
	case FIELD_BYTES:
		return read_bytes(
			statement, column, at, (size_t *)(void *)(record + field->len_at));
	case FIELD_OUTCOME:
	case FIELD_RUN_STATE:
	case FIELD_CAMPAIGN_STATE:
		return (is_null && field->kind == FIELD_OUTCOME) ||
			read_word(&kinds[field->kind], statement, column, at);
	case FIELD_KIND_COUNT: break;
	}
	return false;
}

int ledger_read(struct ledger *ledger, const struct ledger_table *table, sqlite3_stmt *statement,
	int first, void *record, struct err *err)
{
	char what[64];

	for (size_t i = 0; i < table->count; i++)
		if (!read_field(&table->fields[i], statement, first + (int)i, record)) {
			(void)snprintf(what, sizeof(what), "a row's %s.%s makes no sense",
				table->name, table->fields[i].name);
			return ledger_damaged(ledger, what, err);
		}
	return 0;
}

/* ---- SQL ---- */

/* Each field, or each that is `part`: its name, its parameter (numbered from `first`; 0: none), or
 * both. */
static void sql_fields(
	const struct ledger_table *table, bool part, bool named, int first, struct buf *sql)
{
	const char *before = "";

	for (size_t i = 0; i < table->count; i++) {
		if (part && !table->fields[i].part)
			continue;
		buf_fmt(sql, "%s%s", before, named ? table->fields[i].name : "");
		if (first > 0)
			buf_fmt(sql, "%s?%d", named ? " = " : "", first++);
		before = ", ";
	}
}

static void sql_names(const struct ledger_table *table, struct buf *sql)
{
	sql_fields(table, false, true, 0, sql);
}

void ledger_columns(const struct ledger *ledger, const struct ledger_table *table, struct buf *sql)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct ledger_field *field = &table->fields[i];
		const char *missing = field->kind == FIELD_TEXT ? "''" : "0";
		buf_fmt(sql, "%s%s", i == 0 ? "" : ", ", field->since > ledger->format ? missing : field->name);
	}
}

/* A run's parameters: the campaign, its end's seq, then the fields. What is not given is at its
 * default again, whatever an earlier try has left. */
static void sql_run_write(bool part, struct buf *sql)
{
	buf_str(sql, "REPLACE INTO runs (campaign, seq, ");
	sql_fields(&runs_table, part, true, 0, sql);
	buf_str(sql, ") VALUES (?1, ?2, ");
	sql_fields(&runs_table, part, false, 3, sql);
	buf_str(sql, ")");
}

static void sql_select(const struct ledger *ledger, const struct ledger_table *table, const char *before,
	const char *after, struct buf *sql)
{
	buf_fmt(sql, "SELECT %s", before);
	ledger_columns(ledger, table, sql);
	buf_fmt(sql, " FROM %s %s", table->name, after);
}

static void sql_campaign_add(struct buf *sql)
{
	buf_str(sql, "INSERT INTO campaigns (");
	sql_names(&campaigns_table, sql);
	buf_str(sql, ") VALUES (");
	sql_fields(&campaigns_table, false, false, 1, sql);
	buf_str(sql, ")");
}

static const char *const fixed_sql[STATEMENT_COUNT] = {
	/* At once: a transaction that began as a reader's might not be let write any more. */
	[STATEMENT_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[STATEMENT_BEGIN_READ] = "BEGIN",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_CAMPAIGN_NAMED] = "SELECT 1 FROM campaigns WHERE name = ?1",
	[STATEMENT_RUN_REMOVE] = "DELETE FROM runs WHERE campaign = ?1 AND number = ?2",
	[STATEMENT_LIVE_PUT] =
		"REPLACE INTO live (campaign, at_ms, memory, cpu_milli, done, workers, alerts) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[STATEMENT_LIVE_GET] =
		"SELECT at_ms, memory, cpu_milli, done, workers, alerts FROM live WHERE campaign = ?1",
	[STATEMENT_WISH_PUT] = "REPLACE INTO wishes (campaign, wish, at_ms) VALUES (?1, ?2, ?3)",
	[STATEMENT_WISH_LOOK] = "SELECT 1 FROM wishes WHERE campaign = ?1",
	[STATEMENT_WISH_TAKE] = "DELETE FROM wishes WHERE campaign = ?1 RETURNING wish",
	[STATEMENT_DATA_VERSION] = "PRAGMA data_version",
	[STATEMENT_EVENT_ADD] =
		"INSERT INTO events (campaign, at_ms, kind, run, text) VALUES (?1, ?2, ?3, ?4, ?5)",
};

void ledger_sql(const struct ledger *ledger, enum ledger_statement which, struct buf *sql)
{
	switch (which) {
	case STATEMENT_CAMPAIGN_ADD: sql_campaign_add(sql); return;
	case STATEMENT_CAMPAIGN_GET:
		sql_select(ledger, &campaigns_table, "id, ", "WHERE name = ?1", sql);
		return;
	case STATEMENT_CAMPAIGN_PUT:
		buf_str(sql, "UPDATE campaigns SET ");
		sql_fields(&campaigns_table, true, true, 2, sql);
		buf_str(sql, " WHERE id = ?1");
		return;
	case STATEMENT_RUN_START: sql_run_write(true, sql); return;
	case STATEMENT_RUN_END: sql_run_write(false, sql); return;
	case STATEMENT_RUN_GET:
		sql_select(ledger, &runs_table, "", "WHERE campaign = ?1 AND number = ?2", sql);
		return;
	default: buf_str(sql, fixed_sql[which]); return;
	}
}

/* ---- tables ---- */

static void sql_columns_of(const struct ledger_table *table, struct buf *sql)
{
	for (size_t i = 0; i < table->count; i++)
		buf_fmt(sql, ", %s %s", table->fields[i].name, kinds[table->fields[i].kind].sql);
}

/* A number once given to a campaign is never given again (AUTOINCREMENT), so what is left of a
 * removed one is nobody's. A run that is not over has seq 0: one index serves "what is to be done
 * again" and "what has ended since", both in the order asked for. */
int ledger_schema_make(struct ledger *ledger, struct err *err)
{
	own(buf_done) struct buf sql = {0};

	buf_str(&sql, "CREATE TABLE campaigns (id INTEGER PRIMARY KEY AUTOINCREMENT");
	sql_columns_of(&campaigns_table, &sql);
	buf_str(&sql,
		", UNIQUE (name));"
		"CREATE TABLE runs (campaign INTEGER NOT NULL, seq INTEGER NOT NULL");
	sql_columns_of(&runs_table, &sql);
	buf_str(&sql,
		", PRIMARY KEY (campaign, number)) WITHOUT ROWID;"
		"CREATE INDEX runs_by_seq ON runs (campaign, seq);"
		"CREATE TABLE events (id INTEGER PRIMARY KEY, campaign INTEGER NOT NULL,"
		" at_ms INTEGER NOT NULL, kind TEXT NOT NULL, run INTEGER NOT NULL, text TEXT NOT NULL);"
		"CREATE INDEX events_by_campaign ON events (campaign);"
		"CREATE TABLE live (campaign INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,"
		" memory INTEGER NOT NULL, cpu_milli INTEGER NOT NULL, done BLOB NOT NULL,"
		" workers BLOB NOT NULL, alerts TEXT NOT NULL);"
		"CREATE TABLE wishes (campaign INTEGER PRIMARY KEY, wish TEXT NOT NULL,"
		" at_ms INTEGER NOT NULL);"
		"CREATE TABLE removed (campaign INTEGER PRIMARY KEY);");
	buf_fmt(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", LEDGER_APPLICATION,
		LEDGER_FORMAT);
	if (ledger_run_sql(ledger, buf_text(&sql), err) < 0)
		return -1;
	ledger->format = LEDGER_FORMAT;
	return 0;
}

/* Every field that is newer than the file has a default, so what is there already is right as it is. */
int ledger_schema_update(struct ledger *ledger, struct err *err)
{
	static const struct ledger_table *const tables[] = {&campaigns_table, &runs_table};
	own(buf_done) struct buf sql = {0};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (size_t j = 0; j < tables[i]->count; j++) {
			const struct ledger_field *field = &tables[i]->fields[j];
			if (field->since > ledger->format)
				buf_fmt(&sql, "ALTER TABLE %s ADD COLUMN %s %s;", tables[i]->name, field->name,
					kinds[field->kind].sql);
		}
	buf_fmt(&sql, "PRAGMA user_version = %d;", LEDGER_FORMAT);
	if (ledger_run_sql(ledger, buf_text(&sql), err) < 0)
		return -1;
	ledger->format = LEDGER_FORMAT;
	return 0;
}
