/* Campaigns. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/term.h"
#include "campaign/ledger/ledger_private.h"

#define LISTED 5 /* names in a sentence */
#define COMPARED 1000 /* names that a mistyped one is compared with, the newest */
#define PURGED "20000" /* runs removed in one transaction: others get their turn in between */

/* ---- one ---- */

static char *new_uuid(void)
{
	unsigned char b[16];

	while (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		continue;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	return xfmt("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
		b[14], b[15]);
}

/* It is shown, and names whose a folder is: of nothing but what new_uuid makes. */
static bool is_uuid(const char *text)
{
	return text && strlen(text) == 36 && strspn(text, "0123456789abcdef-") == 36;
}

int ledger_campaign_add(struct ledger *ledger, struct campaign_record *campaign, struct err *err)
{
	if (plan_name_check(campaign->name, err) < 0)
		return -1;
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_CAMPAIGN_ADD, err);
	if (!statement)
		return -1;
	free(campaign->uuid);
	campaign->uuid = new_uuid();
	campaign->created_ms = campaign->updated_ms = ledger_now_ms();
	campaign->ended_ms = 0;
	if (ledger_bind(ledger, &campaigns_table, false, statement, 1, campaign, err) < 0)
		return -1;
	int code = sqlite3_step(statement);
	if (code == SQLITE_CONSTRAINT_UNIQUE)
		return err_set(err, ERR_USAGE,
			"there is a campaign '%s' already: choose another --name, or continue it with: hotcell campaign "
			"resume %s",
			campaign->name, campaign->name);
	if (code != SQLITE_DONE)
		return ledger_failed(ledger, err);
	campaign->id = sqlite3_last_insert_rowid(ledger->db);
	return 0;
}

/* The numbers bound what is allocated and looped over, the name becomes part of a path. */
static bool makes_sense(const struct campaign_record *campaign)
{
	return campaign->plan.runs <= PLAN_MAX_RUNS && campaign->plan.workers <= PLAN_MAX_WORKERS &&
		campaign->next <= PLAN_MAX_RUNS + 1 && campaign->marked_seq <= campaign->last_seq &&
		plan_name_check(campaign->name, NULL) == 0 && is_uuid(campaign->uuid);
}

/* Of the row where the statement stands: id, then the fields. */
static int campaign_read(struct ledger *ledger, sqlite3_stmt *statement,
	struct campaign_record *ret, struct err *err)
{
	*ret = (struct campaign_record){.id = sqlite3_column_int64(statement, 0)};
	int result = ledger_read(ledger, &campaigns_table, statement, 1, ret, err);
	if (result == 0 && !makes_sense(ret))
		result = ledger_damaged(ledger, "a campaign's row makes no sense", err);
	if (result < 0)
		campaign_record_done(ret);
	return result;
}

int ledger_campaign_put(
	struct ledger *ledger, const struct campaign_record *campaign, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_CAMPAIGN_PUT, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign->id);
	if (ledger_bind(ledger, &campaigns_table, true, statement, 2, campaign, err) < 0 ||
		ledger_step(ledger, statement, err) < 0)
		return -1;
	if (sqlite3_changes(ledger->db) == 0)
		return err_set(err, ERR_USAGE,
			"the campaign '%s' was removed from the ledger '%s' meanwhile",
			campaign->name, ledger->shown);
	return 0;
}

int ledger_campaign_budget(struct ledger *ledger, int64_t id, const char *budget, struct err *err)
{
	own(statement_finalizep) sqlite3_stmt *statement =
		ledger_prepare(ledger, "UPDATE campaigns SET budget = ?2 WHERE id = ?1", err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, id);
	if (ledger_bind_text(ledger, statement, 2, budget, err) < 0)
		return -1;
	return ledger_step(ledger, statement, err);
}

bool ledger_name_free(struct ledger *ledger, const char *name)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_CAMPAIGN_NAMED, NULL);

	if (!statement)
		return true;
	(void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	return sqlite3_step(statement) != SQLITE_ROW;
}

/* ---- one that is not there ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Edits between two names, neither longer than PLAN_MAX_NAME. */
static size_t distance(const char *a, const char *b)
{
	size_t row[PLAN_MAX_NAME + 1], b_len = strlen(b);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[b_len];
}

struct names {
	struct buf listed;
	char nearest[PLAN_MAX_NAME + 1];
	size_t nearest_edits, count;
};

static void names_done(struct names *names)
{
	buf_done(&names->listed);
}

static void names_add(struct names *names, const char *typed, const char *name)
{
	if (names->count++ < LISTED)
		buf_fmt(&names->listed, "%s%s", names->count > 1 ? ", " : "", name);
	if (strlen(typed) > PLAN_MAX_NAME)
		return;
	size_t edits = distance(typed, name);
	if (edits < names->nearest_edits) {
		names->nearest_edits = edits;
		(void)snprintf(names->nearest, sizeof(names->nearest), "%s", name);
	}
}

static int names_find(struct ledger *ledger, const char *typed, struct names *ret, struct err *err)
{
	own(statement_finalizep) sqlite3_stmt *statement =
		ledger_prepare(ledger, "SELECT name FROM campaigns ORDER BY id DESC", err);
	int row = statement ? 1 : -1;

	ret->nearest_edits = strlen(typed) / 3 + 2; /* more and it is another name */
	while (ret->count < COMPARED && row > 0 &&
		(row = ledger_step(ledger, statement, err)) > 0) {
		own(freep) char *name = ledger_text(statement, 0);
		if (name && plan_name_check(name, NULL) == 0)
			names_add(ret, typed, name);
	}
	return row < 0 ? -1 : 0;
}

static int not_there(struct ledger *ledger, const char *typed, struct err *err)
{
	own(names_done) struct names names = {0};
	own(buf_done) struct buf shown = {0};

	if (names_find(ledger, typed, &names, err) < 0)
		return -1;
	term_line(typed, strlen(typed), 80, &shown);
	if (names.count == 0)
		return err_set(err, ERR_USAGE,
			"there is no campaign '%s': no campaign has been started here",
			buf_text(&shown));
	if (names.nearest[0])
		return err_set(err, ERR_USAGE, "there is no campaign '%s'; did you mean '%s'?",
			buf_text(&shown), names.nearest);
	return err_set(err, ERR_USAGE, "there is no campaign '%s'; there %s: %s%s",
		buf_text(&shown), names.count == 1 ? "is" : "are", buf_text(&names.listed),
		names.count > LISTED ? ", ..." : "");
}

int ledger_campaign_get(
	struct ledger *ledger, const char *name, struct campaign_record *ret, struct err *err)
{
	own(statement_resetp) sqlite3_stmt *statement =
		ledger_statement(ledger, STATEMENT_CAMPAIGN_GET, err);

	*ret = (struct campaign_record){0};
	if (!statement)
		return -1;
	if (ledger_bind_text(ledger, statement, 1, name, err) < 0)
		return -1;
	int row = ledger_step(ledger, statement, err);
	if (row > 0)
		return campaign_read(ledger, statement, ret, err);
	return row < 0 ? -1 : not_there(ledger, name, err);
}

/* ---- all of them ---- */

int ledger_campaigns(struct ledger *ledger, ledger_campaign_fn *fn, void *data, struct err *err)
{
	own(buf_done) struct buf sql = {0};

	buf_str(&sql, "SELECT id, ");
	ledger_columns(ledger, &campaigns_table, &sql);
	buf_str(&sql, " FROM campaigns ORDER BY id DESC");
	own(statement_finalizep) sqlite3_stmt *statement =
		ledger_prepare(ledger, buf_text(&sql), err);
	int result = statement ? 0 : -1;
	while (result == 0) {
		own(campaign_record_done) struct campaign_record campaign = {0};
		int row = ledger_step(ledger, statement, err);
		if (row <= 0)
			return row;
		result = campaign_read(ledger, statement, &campaign, err);
		if (result == 0)
			result = fn(data, &campaign);
	}
	return result;
}

/* ---- removing ---- */

static int run_for(struct ledger *ledger, const char *sql, int64_t campaign, struct err *err)
{
	own(statement_finalizep) sqlite3_stmt *statement = ledger_prepare(ledger, sql, err);

	if (!statement)
		return -1;
	(void)sqlite3_bind_int64(statement, 1, campaign);
	return ledger_step(ledger, statement, err);
}

static int purge(struct ledger *ledger, int64_t campaign, struct err *err)
{
	do {
		if (run_for(ledger,
			    "DELETE FROM runs WHERE campaign = ?1 AND number < " PURGED
			    " + (SELECT min(number) FROM runs WHERE campaign = ?1)",
			    campaign, err) < 0)
			return -1;
	} while (sqlite3_changes(ledger->db) > 0);
	if (run_for(ledger, "DELETE FROM events WHERE campaign = ?1", campaign, err) < 0)
		return -1;
	return run_for(ledger, "DELETE FROM removed WHERE campaign = ?1", campaign, err);
}

static int forget(struct ledger *ledger, int64_t campaign, struct err *err)
{
	static const char *const steps[] = {
		"INSERT OR IGNORE INTO removed (campaign) VALUES (?1)",
		"DELETE FROM campaigns WHERE id = ?1",
		"DELETE FROM live WHERE campaign = ?1",
		"DELETE FROM wishes WHERE campaign = ?1",
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (run_for(ledger, steps[i], campaign, err) < 0)
			return -1;
	return 0;
}

/* Gone at once; its million runs follow by and by, and if we are killed meanwhile, at the next
 * removal. */
int ledger_campaign_remove(struct ledger *ledger, int64_t id, struct err *err)
{
	bool alone = ledger->batch == BATCH_NONE;
	int64_t left = id;

	if (ledger->batch == BATCH_LOST) {
		if (err)
			*err = ledger->lost;
		return -1;
	}
	if (alone && ledger_begin(ledger, err) < 0)
		return -1;
	int result = forget(ledger, id, err);
	if (alone && ledger_commit(ledger, err) < 0)
		return -1;
	while (result == 0 && left != 0) {
		result = purge(ledger, left, err);
		if (result == 0)
			result = ledger_number(
				ledger, "SELECT min(campaign) FROM removed", &left, err);
	}
	return result;
}
