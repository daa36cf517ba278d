/* A ledger in a folder of its own, and what the tests of the ledger put into it. */
#ifndef HOTCELL_TESTS_LEDGER_WORLD_H
#define HOTCELL_TESTS_LEDGER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "campaign/ledger/ledger_private.h"

struct world {
	char folder[64], path[96];
	struct ledger *ledger;
	struct err err;
};

static inline int set_up(void **state)
{
	struct world *world = xcalloc(1, sizeof(*world));

	*state = world;
	(void)snprintf(world->folder, sizeof(world->folder), "/tmp/hotcell-ledger-test-XXXXXX");
	if (!mkdtemp(world->folder))
		return -1;
	(void)snprintf(world->path, sizeof(world->path), "%s/ledger.db", world->folder);
	world->ledger = ledger_open(world->path, LEDGER_CREATE, &world->err);
	return world->ledger ? 0 : -1;
}

static inline int tear_down(void **state)
{
	struct world *world = *state;
	struct err err = {0};

	world->ledger = ledger_free(world->ledger);
	(void)chmod(world->folder, 0755);
	int result = fs_remove_tree(AT_FDCWD, world->folder, &err);
	free(world);
	return result;
}

#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#define assert_done(world, call)                                                                   \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			fail_msg("%s", (world)->err.text);                                         \
	} while (0)

static inline void assert_says(struct world *world, int code, const char *part)
{
	if (world->err.code != code || !strstr(world->err.text, part))
		fail_msg("expected %d and '%s', got %d: %s", code, part, world->err.code,
			world->err.text);
}

/* As another program would. */
static inline void tamper(const struct world *world, const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(
		sqlite3_open_v2(world->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
		SQLITE_OK);
	(void)sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline void close_ledger(struct world *world)
{
	world->ledger = ledger_free(world->ledger);
}

/* ---- samples ---- */

static inline void campaign_sample(struct campaign_record *ret, const char *name)
{
	*ret = (struct campaign_record){
		.name = xstrdup(name),
		.state = CAMPAIGN_PAUSED,
		.plan = {.runs = 500,
			.workers = 16,
			.retries = 2,
			.seed = UINT64_C(1) << 52,
			.rate = 60,
			.stop_after_failures = 9},
		.output = xstrdup("/home/a b/fuzz/runs"),
		.cwd = xstrdup("/home/a b"),
		.words = xcalloc(16, 1),
		.words_len = 9,
		.env_names = xcalloc(8, 1),
		.env_names_len = 4,
		.note = xstrdup("by the user"),
		.memory_limit = UINT64_C(2) << 30,
		.timeout_ms = 900000,
		.active_ms = 77,
		.next = 12,
		.last_seq = 11,
		.marked_seq = 10,
		.holder = 4711,
	};
	memcpy(ret->words, "sh\0-c\0ls\0", 9);
	memcpy(ret->env_names, "KEY\0", 4);
}

static inline struct run_record run_sample(uint64_t number, enum run_state state)
{
	return (struct run_record){
		.number = number,
		.attempt = 2,
		.state = state,
		.outcome = state == RUN_TIMEOUT ? CELL_TIMEOUT : CELL_SIGNALED,
		.exit_code = -1,
		.signal = 11,
		.worker = 3,
		.seed = (UINT64_C(1) << 53) - number,
		.started_ms = 1700000000001,
		.ended_ms = 1700000000002,
		.wall_ns = 1000 * number,
		.setup_ns = 4,
		.user_us = 5,
		.system_us = 6,
		.peak_memory = 7,
		.written_bytes = 8,
		.stdout_bytes = 9,
		.stderr_bytes = 10,
		.refused = 11,
	};
}

static inline int64_t add_campaign(struct world *world, const char *name)
{
	own(campaign_record_done) struct campaign_record campaign = {0};

	campaign_sample(&campaign, name);
	assert_done(world, ledger_campaign_add(world->ledger, &campaign, &world->err));
	return campaign.id;
}

static inline void end_run(
	struct world *world, int64_t campaign, uint64_t number, enum run_state state, uint64_t seq)
{
	struct run_record run = run_sample(number, state);

	assert_done(world, ledger_run_end(world->ledger, campaign, &run, seq, &world->err));
}

/* ---- what is found ---- */

struct listing {
	struct world *world;
	char names[64];
	int stop_at, seen;
};

static inline int list_campaign(void *data, const struct campaign_record *campaign)
{
	struct listing *listing = data;

	(void)strncat(listing->names, campaign->name, 8);
	return ++listing->seen == listing->stop_at ? 42 : 0;
}

static inline int list_run(void *data, const struct run_record *run)
{
	struct listing *listing = data;
	size_t len = strlen(listing->names);

	(void)snprintf(listing->names + len, sizeof(listing->names) - len, "%d", (int)run->number);
	return ++listing->seen == listing->stop_at ? 42 : 0;
}

static inline int list_event(void *data, const struct ledger_event *event)
{
	struct listing *listing = data;
	size_t len = strlen(listing->names);

	(void)snprintf(listing->names + len, sizeof(listing->names) - len, "%s:%d:%s ", event->kind,
		(int)event->run, event->text);
	return ++listing->seen == listing->stop_at ? 42 : event->at_ms > 0 ? 0 : -1;
}

static inline int run_count(struct world *world, struct ledger *ledger, int64_t campaign)
{
	struct listing listing = {0};
	struct ledger_query all = {0};

	assert_done(world, ledger_runs(ledger, campaign, &all, list_run, &listing, &world->err));
	return listing.seen;
}

/* In the order of their ends: 2 3 1 6; 4 is to be done again, 5 runs. */
static inline int64_t six_runs(struct world *world)
{
	int64_t campaign = add_campaign(world, "night"), other = add_campaign(world, "other");
	struct run_record running = run_sample(5, RUN_RUNNING);

	end_run(world, other, 9, RUN_ERROR, 9);
	end_run(world, campaign, 2, RUN_SUCCESS, 1);
	end_run(world, campaign, 3, RUN_ERROR, 2);
	end_run(world, campaign, 1, RUN_TIMEOUT, 3);
	end_run(world, campaign, 6, RUN_SUCCESS, 4);
	end_run(world, campaign, 4, RUN_AGAIN, 0);
	assert_done(world, ledger_run_start(world->ledger, campaign, &running, &world->err));
	return campaign;
}

#endif
