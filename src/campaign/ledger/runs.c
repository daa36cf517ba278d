/* Runs: written by the thousand a second, read by the million. */
#include <assert.h>
#include <inttypes.h>

#include "campaign/ledger/ledger_private.h"

#define FINAL_STATES (1u << RUN_SUCCESS | 1u << RUN_ERROR | 1u << RUN_TIMEOUT)
#define ALL_STATES ((1u << RUN_STATE_COUNT) - 1)

static int run_write(struct ledger *ledger, enum ledger_statement which, int64_t campaign,
	uint64_t seq, const struct run_record *run, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement = ledger_statement(ledger, which, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)seq);
	if (ledger_bind(ledger, &runs_table, which == STATEMENT_RUN_START, statement, 3, run, err) <
		0)
		return -1;
	return ledger_step(ledger, statement, err);
}

int ledger_run_start(
	struct ledger *ledger, int64_t campaign, const struct run_record *run, struct err *err)
{
	struct run_record started = *run;

	started.state = RUN_RUNNING;
	started.exit_code = -1;
	return run_write(ledger, STATEMENT_RUN_START, campaign, 0, &started, err);
}

int ledger_run_end(struct ledger *ledger, int64_t campaign, const struct run_record *run,
	uint64_t seq, struct err *err)
{
	assert(run_state_final(run->state) == (seq > 0)); /* by its seq a run is found to be over */
	return run_write(ledger, STATEMENT_RUN_END, campaign, seq, run, err);
}

static int run_read(
	struct ledger *ledger, sqlite3_stmt *statement, struct run_record *ret, struct err *err)
{
	int result = ledger_read(ledger, &runs_table, statement, 0, ret, err);

	if (result == 0 && (ret->number < 1 || ret->number > PLAN_MAX_RUNS))
		result = ledger_damaged(ledger, "a run's number makes no sense", err);
	if (result < 0)
		run_record_done(ret);
	return result;
}

int ledger_run_get(struct ledger *ledger, int64_t campaign, uint64_t number, struct run_record *ret,
	struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_RUN_GET, err);

	*ret = (struct run_record){0};
	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)number);
	int row = ledger_step(ledger, statement, err);
	if (row > 0 && run_read(ledger, statement, ret, err) < 0)
		return -1;
	return row;
}

int ledger_run_remove(struct ledger *ledger, int64_t campaign, uint64_t number, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_RUN_REMOVE, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)number);
	return ledger_step(ledger, statement, err);
}

/* ---- many ---- */

static void sql_states(unsigned states, struct buf *sql)
{
	const char *before = " AND state IN (";

	for (unsigned i = 0; i < RUN_STATE_COUNT; i++)
		if (states & 1u << i) {
			buf_fmt(sql, "%s'%s'", before, run_state_names[i]);
			before = ", ";
		}
	buf_str(sql, ")");
}

/* What is asked of seq goes by its index: by number alone it would be found only after looking at
 * every run. SQLite keeps no statistics here and could not know. */
static void sql_runs(const struct ledger *ledger, const struct ledger_query *query, struct buf *sql)
{
	static const char *const orders[] = {
		[LEDGER_BY_NUMBER] = "number",
		[LEDGER_SLOWEST] = "wall_ns DESC, number",
		[LEDGER_LATEST] = "seq DESC",
	};
	unsigned states = query->states & ALL_STATES;
	bool unfinished = states != 0 && (states & FINAL_STATES) == 0;
	bool ended = query->after_seq > 0 || query->order == LEDGER_LATEST;

	buf_str(sql, "SELECT ");
	ledger_columns(ledger, &runs_table, sql);
	buf_fmt(sql, " FROM runs %s WHERE campaign = ?1",
		unfinished || ended ? "INDEXED BY runs_by_seq" : "");
	if (unfinished)
		buf_str(sql, " AND seq = 0");
	if (ended)
		buf_fmt(sql, " AND seq > %" PRId64, (int64_t)(query->after_seq & INT64_MAX));
	if (states != 0)
		sql_states(states, sql);
	if (query->from > 0 && query->order == LEDGER_BY_NUMBER)
		buf_fmt(sql, " AND number >= %" PRId64, (int64_t)(query->from & INT64_MAX));
	buf_fmt(sql, " ORDER BY %s", orders[query->order]);
	if (query->limit > 0)
		buf_fmt(sql, " LIMIT %" PRId64, (int64_t)(query->limit & INT64_MAX));
}

int ledger_runs(struct ledger *ledger, int64_t campaign, const struct ledger_query *query,
	ledger_run_fn *fn, void *data, struct err *err)
{
	own(buf_done) struct buf sql = {0};

	sql_runs(ledger, query, &sql);
	own(statement_finalizep) sqlite3_stmt *statement =
		ledger_prepare(ledger, buf_text(&sql), err);
	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	for (int result = 0; result == 0;) {
		own(run_record_done) struct run_record run = {0};
		int row = ledger_step(ledger, statement, err);
		if (row <= 0)
			return row;
		result = run_read(ledger, statement, &run, err);
		if (result == 0)
			result = fn(data, &run);
		if (result != 0)
			return result;
	}
	return 0;
}
