/* What is written comes back.
 *
 *	campaign_ledger_test 1000000	the timing at the end with so many runs
 */
#include "ledger_world.h"

#include "base/clock.h"

static uint64_t timed_runs = 20000;

/* ---- campaigns ---- */

/* Every sum another number, so that no two columns can be taken for each other. */
static void fill_sums(struct campaign_sums *sums, uint64_t from)
{
	uint64_t *values = (uint64_t *)(void *)sums;

	for (size_t i = 0; i < sizeof(*sums) / sizeof(*values); i++)
		values[i] = from + i;
	sums->state[RUN_RUNNING] = sums->state[RUN_AGAIN] = 0;
}

static void assert_same_campaign(const struct campaign_record *a, const struct campaign_record *b)
{
	assert_int_equal(a->id, b->id);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->uuid, b->uuid);
	assert_int_equal(a->state, b->state);
	assert_memory_equal(&a->plan, &b->plan, sizeof(a->plan));
	assert_string_equal(a->output, b->output);
	assert_string_equal(a->cwd, b->cwd);
	assert_int_equal(a->words_len, b->words_len);
	assert_memory_equal(a->words, b->words, a->words_len);
	assert_int_equal(a->env_names_len, b->env_names_len);
	assert_memory_equal(a->env_names, b->env_names, a->env_names_len);
	assert_string_equal(a->note, b->note);
	assert_int_equal(a->memory_limit, b->memory_limit);
	assert_int_equal(a->timeout_ms, b->timeout_ms);
	assert_int_equal(a->created_ms, b->created_ms);
	assert_int_equal(a->updated_ms, b->updated_ms);
	assert_int_equal(a->ended_ms, b->ended_ms);
	assert_int_equal(a->active_ms, b->active_ms);
	assert_int_equal(a->next, b->next);
	assert_int_equal(a->last_seq, b->last_seq);
	assert_int_equal(a->marked_seq, b->marked_seq);
	assert_int_equal(a->holder, b->holder);
	assert_memory_equal(&a->sums, &b->sums, sizeof(a->sums));
}

static void assert_same_run(const struct run_record *a, const struct run_record *b)
{
	struct run_record x = *a, y = *b;

	assert_string_equal(x.cause ? x.cause : "(none)", y.cause ? y.cause : "(none)");
	assert_string_equal(x.cell ? x.cell : "(none)", y.cell ? y.cell : "(none)");
	x.cause = y.cause = x.cell = y.cell = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void a_campaign_comes_back_as_it_was_added(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record campaign = {0}, back = {0};
	uint64_t before = ledger_now_ms();

	campaign_sample(&campaign, "night");
	campaign.ended_ms = 5;
	fill_sums(&campaign.sums, 1000);
	assert_done(world, ledger_campaign_add(world->ledger, &campaign, &world->err));
	assert_true(campaign.id > 0);
	assert_int_equal(strlen(campaign.uuid), 36);
	assert_true(campaign.created_ms >= before && campaign.created_ms <= ledger_now_ms());
	assert_int_equal(campaign.updated_ms, campaign.created_ms);
	assert_int_equal(campaign.ended_ms, 0);
	assert_done(world, ledger_campaign_get(world->ledger, "night", &back, &world->err));
	assert_same_campaign(&campaign, &back);
}

static void what_was_left_empty_comes_back_as_empty_text(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record campaign = {.name = xstrdup("bare")},
							 back = {0};

	assert_done(world, ledger_campaign_add(world->ledger, &campaign, &world->err));
	assert_done(world, ledger_campaign_get(world->ledger, "bare", &back, &world->err));
	assert_string_equal(back.note, "");
	assert_string_equal(back.output, "");
	assert_string_equal(back.words, "");
	assert_int_equal(back.words_len, 0);
}

static void putting_a_campaign_back_writes_what_changes_and_nothing_else(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record campaign = {0}, back = {0};

	campaign_sample(&campaign, "night");
	assert_done(world, ledger_campaign_add(world->ledger, &campaign, &world->err));
	campaign.state = CAMPAIGN_DONE;
	campaign.note[0] = 'B';
	campaign.plan.workers = 64;
	campaign.updated_ms = 2;
	campaign.ended_ms = 3;
	campaign.active_ms = 4;
	campaign.next = 501;
	campaign.last_seq = 500;
	campaign.marked_seq = 499;
	campaign.holder = 1;
	fill_sums(&campaign.sums, 2000);
	assert_done(world, ledger_campaign_put(world->ledger, &campaign, &world->err));
	assert_done(world, ledger_campaign_get(world->ledger, "night", &back, &world->err));
	assert_same_campaign(&campaign, &back);

	struct campaign_record other = campaign;
	other.plan.seed = other.plan.runs = 1;
	other.output = other.cwd = other.uuid = (char *)"elsewhere";
	other.timeout_ms = other.created_ms = 1;
	other.words_len = 0;
	assert_done(world, ledger_campaign_put(world->ledger, &other, &world->err));
	campaign_record_done(&back);
	assert_done(world, ledger_campaign_get(world->ledger, "night", &back, &world->err));
	assert_same_campaign(&campaign, &back);
}

static void putting_back_a_campaign_that_was_removed_says_so(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record campaign = {0};

	campaign_sample(&campaign, "night");
	assert_done(world, ledger_campaign_add(world->ledger, &campaign, &world->err));
	assert_done(world, ledger_campaign_remove(world->ledger, campaign.id, &world->err));
	assert_int_equal(ledger_campaign_put(world->ledger, &campaign, &world->err), -1);
	assert_says(world, ERR_USAGE, "'night' was removed");
}

static void a_name_is_given_once(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record campaign = {0};

	assert_true(ledger_name_free(world->ledger, "night"));
	(void)add_campaign(world, "night");
	assert_false(ledger_name_free(world->ledger, "night"));
	assert_true(ledger_name_free(world->ledger, "nigh"));
	campaign_sample(&campaign, "night");
	assert_done(world, ledger_begin(world->ledger, &world->err));
	int64_t other = add_campaign(world, "day");
	assert_int_equal(ledger_campaign_add(world->ledger, &campaign, &world->err), -1);
	assert_says(world, ERR_USAGE, "there is a campaign 'night' already");
	/* The batch goes on. */
	end_run(world, other, 1, RUN_SUCCESS, 1);
	assert_done(world, ledger_commit(world->ledger, &world->err));
	assert_false(ledger_name_free(world->ledger, "day"));
}

static void a_name_that_would_leave_its_folder_is_not_added(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record campaign = {0};

	campaign_sample(&campaign, "../x");
	assert_int_equal(ledger_campaign_add(world->ledger, &campaign, &world->err), -1);
	assert_int_equal(world->err.code, ERR_USAGE);
}

static void an_unknown_name_is_answered_with_what_there_is(void **state)
{
	struct world *world = *state;
	struct campaign_record back;
	char name[16];

	assert_int_equal(ledger_campaign_get(world->ledger, "night", &back, &world->err), -1);
	assert_says(world, ERR_USAGE,
		"there is no campaign 'night': no campaign has been started here");
	(void)add_campaign(world, "overnight");
	assert_int_equal(ledger_campaign_get(world->ledger, "x\x1b[2J", &back, &world->err), -1);
	assert_says(world, ERR_USAGE, "there is no campaign 'x\\x1b[2J'; there is: overnight");
	assert_int_equal(ledger_campaign_get(world->ledger, "ovrenight", &back, &world->err), -1);
	assert_says(world, ERR_USAGE, "did you mean 'overnight'?");
	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		(void)add_campaign(world, name);
	}
	assert_int_equal(
		ledger_campaign_get(world->ledger, "something-else", &back, &world->err), -1);
	assert_says(world, ERR_USAGE, "; there are: c4, c3, c2, c1, c0, ...");
	char long_name[300] = {0};
	memset(long_name, 'a', sizeof(long_name) - 1);
	assert_int_equal(ledger_campaign_get(world->ledger, long_name, &back, &world->err), -1);
	assert_says(world, ERR_USAGE, "; there are: c4");
}

static void campaigns_are_listed_newest_first_until_told_to_stop(void **state)
{
	struct world *world = *state;
	struct listing all = {0}, some = {.stop_at = 2};

	(void)add_campaign(world, "a");
	(void)add_campaign(world, "b");
	(void)add_campaign(world, "c");
	assert_int_equal(ledger_campaigns(world->ledger, list_campaign, &all, &world->err), 0);
	assert_string_equal(all.names, "cba");
	assert_int_equal(ledger_campaigns(world->ledger, list_campaign, &some, &world->err), 42);
	assert_string_equal(some.names, "cb");
}

static int remove_campaign(void *data, const struct campaign_record *campaign)
{
	struct world *world = data;

	return ledger_campaign_remove(world->ledger, campaign->id, &world->err);
}

static void a_callback_may_use_the_ledger(void **state)
{
	struct world *world = *state;
	struct listing left = {0};

	(void)add_campaign(world, "a");
	end_run(world, add_campaign(world, "b"), 1, RUN_ERROR, 1);
	assert_done(world, ledger_campaigns(world->ledger, remove_campaign, world, &world->err));
	assert_done(world, ledger_campaigns(world->ledger, list_campaign, &left, &world->err));
	assert_int_equal(left.seen, 0);
}

static int count_event(void *data, const struct ledger_event *event)
{
	(void)event;
	++*(int *)data;
	return 0;
}

static void a_removed_campaign_leaves_nothing_and_takes_nothing_else_along(void **state)
{
	struct world *world = *state;
	int64_t gone = add_campaign(world, "gone"), kept = add_campaign(world, "kept");
	struct ledger_live live = {.at_ms = 1};
	int events = 0;

	for (uint64_t i = 1; i <= 3; i++) {
		end_run(world, gone, i * 50000, RUN_SUCCESS, i);
		end_run(world, kept, i, RUN_SUCCESS, i);
	}
	assert_done(world, ledger_event(world->ledger, gone, "started", 0, "", &world->err));
	assert_done(world, ledger_event(world->ledger, kept, "started", 0, "", &world->err));
	assert_done(world, ledger_live_put(world->ledger, gone, &live, &world->err));
	assert_done(world, ledger_wish_put(world->ledger, gone, WISH_STOP, &world->err));
	assert_done(world, ledger_campaign_remove(world->ledger, gone, &world->err));
	assert_true(ledger_name_free(world->ledger, "gone"));
	assert_int_equal(run_count(world, world->ledger, gone), 0);
	assert_int_equal(run_count(world, world->ledger, kept), 3);
	assert_done(
		world, ledger_events(world->ledger, gone, 0, count_event, &events, &world->err));
	assert_int_equal(events, 0);
	assert_done(
		world, ledger_events(world->ledger, kept, 0, count_event, &events, &world->err));
	assert_int_equal(events, 1);
	assert_done(world, ledger_campaign_remove(world->ledger, kept, &world->err));
	assert_true(add_campaign(world, "gone") > kept);
	assert_done(world, ledger_campaign_remove(world->ledger, 12345, &world->err));
}

static void what_an_interrupted_removal_left_goes_with_the_next(void **state)
{
	struct world *world = *state;
	int64_t half = add_campaign(world, "half"), next = add_campaign(world, "next");
	char sql[128];

	end_run(world, half, 1, RUN_SUCCESS, 1);
	(void)snprintf(sql, sizeof(sql),
		"INSERT INTO removed VALUES (%d); DELETE FROM campaigns WHERE id = %d", (int)half,
		(int)half);
	tamper(world, sql);
	assert_int_equal(run_count(world, world->ledger, half), 1);
	assert_done(world, ledger_begin(world->ledger, &world->err));
	assert_done(world, ledger_campaign_remove(world->ledger, next, &world->err));
	assert_done(world, ledger_commit(world->ledger, &world->err));
	assert_int_equal(run_count(world, world->ledger, half), 0);
}

/* ---- runs ---- */

static void a_run_comes_back_as_it_ended(void **state)
{
	struct world *world = *state;
	int64_t campaign = add_campaign(world, "night");
	struct run_record run = run_sample(7, RUN_TIMEOUT);
	own(run_record_done) struct run_record back = {0}, bare = {0};

	run.cause = (char *)"SIGSEGV \xff";
	run.cell = (char *)"c4f1a02";
	assert_int_equal(ledger_run_get(world->ledger, campaign, 7, &back, &world->err), 0);
	assert_done(world, ledger_run_end(world->ledger, campaign, &run, 1, &world->err));
	assert_int_equal(ledger_run_get(world->ledger, campaign, 7, &back, &world->err), 1);
	assert_same_run(&run, &back);

	run.cause = run.cell = NULL;
	run.peak_memory = UINT64_MAX; /* more than the file can hold: the most it can */
	assert_done(world, ledger_run_end(world->ledger, campaign, &run, 2, &world->err));
	assert_int_equal(ledger_run_get(world->ledger, campaign, 7, &bare, &world->err), 1);
	run.peak_memory = INT64_MAX;
	assert_same_run(&run, &bare);
	assert_int_equal(ledger_run_get(world->ledger, campaign + 1, 7, &bare, &world->err), 0);
	assert_done(world, ledger_run_remove(world->ledger, campaign, 7, &world->err));
	assert_int_equal(ledger_run_get(world->ledger, campaign, 7, &bare, &world->err), 0);
}

static void a_run_that_begins_again_forgets_how_it_ended(void **state)
{
	struct world *world = *state;
	int64_t campaign = add_campaign(world, "night");
	struct run_record run = run_sample(7, RUN_AGAIN);
	own(run_record_done) struct run_record back = {0};

	run.cause = (char *)"exit 3";
	assert_done(world, ledger_run_end(world->ledger, campaign, &run, 0, &world->err));
	run.attempt = 3;
	run.cell = (char *)"c000001";
	assert_done(world, ledger_run_start(world->ledger, campaign, &run, &world->err));
	assert_int_equal(ledger_run_get(world->ledger, campaign, 7, &back, &world->err), 1);
	struct run_record expected = {
		.number = 7,
		.attempt = 3,
		.state = RUN_RUNNING,
		.exit_code = -1,
		.worker = 3,
		.seed = run.seed,
		.started_ms = run.started_ms,
		.cell = run.cell,
	};
	assert_same_run(&expected, &back);
}

static void runs_are_found_by_state_by_order_and_by_when_they_ended(void **state)
{
	static const unsigned failed = 1u << RUN_ERROR | 1u << RUN_TIMEOUT;
	static const unsigned unfinished = 1u << RUN_RUNNING | 1u << RUN_AGAIN;
	static const struct {
		struct ledger_query query;
		const char *expected;
	} rows[] = {
		{{0}, "123456"},
		{{.from = 3}, "3456"},
		{{.from = 3, .limit = 2}, "34"},
		{{.limit = 1}, "1"},
		{{.states = failed}, "13"},
		{{.states = failed, .from = 2}, "3"},
		{{.states = unfinished}, "45"},
		{{.states = unfinished, .from = 5}, "5"},
		{{.states = 1u << RUN_RUNNING}, "5"},
		{{.states = unfinished, .after_seq = 1}, ""},
		{{.states = unfinished | failed}, "1345"},
		{{.states = 1u << RUN_STATE_COUNT}, "123456"},
		{{.after_seq = 2}, "16"},
		{{.after_seq = 2, .states = failed}, "1"},
		{{.after_seq = 4}, ""},
		{{.after_seq = UINT64_MAX}, ""},
		{{.order = LEDGER_LATEST}, "6132"},
		{{.order = LEDGER_LATEST, .limit = 2}, "61"},
		{{.order = LEDGER_LATEST, .states = failed, .from = 5}, "13"},
		{{.order = LEDGER_LATEST, .after_seq = 1, .states = failed}, "13"},
		{{.order = LEDGER_SLOWEST, .limit = 3}, "643"},
		{{.order = LEDGER_SLOWEST, .states = failed}, "31"},
	};
	struct world *world = *state;
	int64_t campaign = six_runs(world);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct listing listing = {0};
		assert_int_equal(ledger_runs(world->ledger, campaign, &rows[i].query, list_run,
					 &listing, &world->err),
			0);
		if (strcmp(listing.names, rows[i].expected) != 0)
			fail_msg(
				"row %zu: expected %s, got %s", i, rows[i].expected, listing.names);
	}
	struct listing some = {.stop_at = 2};
	assert_int_equal(
		ledger_runs(world->ledger, campaign, &rows[0].query, list_run, &some, &world->err),
		42);
	assert_string_equal(some.names, "12");
}

/* ---- live, wishes, events ---- */

static void what_a_supervisor_shows_comes_back(void **state)
{
	struct world *world = *state;
	struct ledger_worker workers[] = {{1, 17, UINT64_C(1) << 40, 4096}, {2, 0, 5, UINT64_MAX}};
	struct ledger_live live = {
		.at_ms = 1700000000000,
		.memory = UINT64_C(3) << 32,
		.cpu_milli = 1999,
		.workers = workers,
		.worker_count = 2,
		.alerts = (char *)"memory,orphans",
	};
	own(ledger_live_done) struct ledger_live back = {0}, again = {0};

	for (uint32_t i = 0; i < LEDGER_HEARTBEATS; i++)
		live.done[i] = UINT32_MAX - i;
	assert_done(world, ledger_live_get(world->ledger, 1, &back, &world->err));
	assert_int_equal(back.at_ms, 0);
	assert_int_equal(back.worker_count, 0);
	assert_string_equal(back.alerts, "");
	ledger_live_done(&back);
	assert_done(world, ledger_live_put(world->ledger, 1, &live, &world->err));
	assert_done(world, ledger_live_get(world->ledger, 1, &back, &world->err));
	assert_int_equal(back.at_ms, live.at_ms);
	assert_int_equal(back.memory, live.memory);
	assert_int_equal(back.cpu_milli, live.cpu_milli);
	assert_memory_equal(back.done, live.done, sizeof(live.done));
	assert_int_equal(back.worker_count, 2);
	for (size_t i = 0; i < ARRAY_LEN(workers); i++) {
		assert_int_equal(back.workers[i].worker, workers[i].worker);
		assert_int_equal(back.workers[i].number, workers[i].number);
		assert_int_equal(back.workers[i].since_ms, workers[i].since_ms);
		assert_int_equal(back.workers[i].memory, workers[i].memory);
	}
	assert_string_equal(back.alerts, "memory,orphans");
	live = (struct ledger_live){.at_ms = 2};
	assert_done(world, ledger_live_put(world->ledger, 1, &live, &world->err));
	assert_done(world, ledger_live_get(world->ledger, 1, &again, &world->err));
	assert_int_equal(again.at_ms, 2);
	assert_int_equal(again.worker_count, 0);
}

static enum ledger_wish take(struct world *world, int64_t campaign)
{
	enum ledger_wish wish = WISH_COUNT;

	assert_done(world, ledger_wish_take(world->ledger, campaign, &wish, &world->err));
	return wish;
}

static void a_wish_is_taken_once_and_the_last_one_counts(void **state)
{
	struct world *world = *state;
	own(ledger_freep) struct ledger *other =
		ledger_open(world->path, LEDGER_WRITE, &world->err);

	assert_non_null(other);
	assert_int_equal(take(world, 1), WISH_NONE);
	assert_int_equal(take(world, 1), WISH_NONE);
	assert_done(world, ledger_wish_put(other, 1, WISH_PAUSE, &world->err));
	assert_done(world, ledger_wish_put(other, 1, WISH_CANCEL, &world->err));
	assert_int_equal(take(world, 2), WISH_NONE);
	assert_int_equal(take(world, 1), WISH_CANCEL);
	assert_int_equal(take(world, 1), WISH_NONE);
	for (int i = WISH_PAUSE; i < WISH_COUNT; i++) {
		assert_done(world, ledger_wish_put(other, 1, (enum ledger_wish)i, &world->err));
		assert_int_equal(take(world, 1), i);
	}
	/* One's own is seen too. */
	assert_int_equal(take(world, 1), WISH_NONE);
	assert_done(world, ledger_wish_put(world->ledger, 1, WISH_GO, &world->err));
	assert_int_equal(take(world, 1), WISH_GO);
}

static void a_wish_taken_in_a_batch_that_is_lost_is_there_again(void **state)
{
	struct world *world = *state;

	assert_done(world, ledger_wish_put(world->ledger, 1, WISH_STOP, &world->err));
	assert_done(world, ledger_begin(world->ledger, &world->err));
	assert_int_equal(take(world, 1), WISH_STOP);
	assert_int_equal(take(world, 1), WISH_NONE);
	assert_int_equal(ledger_damaged(world->ledger, "as if", &world->err), -1);
	assert_int_equal(ledger_commit(world->ledger, &world->err), -1);
	assert_int_equal(take(world, 1), WISH_STOP);
}

static void a_wish_that_is_not_known_is_passed_over(void **state)
{
	struct world *world = *state;

	tamper(world, "INSERT INTO wishes VALUES (1, 'dance', 5)");
	assert_int_equal(take(world, 1), WISH_NONE);
	assert_int_equal(take(world, 1), WISH_NONE);
}

static void the_latest_events_are_told_oldest_first(void **state)
{
	struct world *world = *state;
	struct listing all = {0}, last = {0}, first = {.stop_at = 1};

	assert_done(world, ledger_event(world->ledger, 1, "a", 0, "", &world->err));
	assert_done(world, ledger_event(world->ledger, 1, "b", 7, "x", &world->err));
	assert_done(world, ledger_event(world->ledger, 2, "z", 7, "x", &world->err));
	assert_done(world, ledger_event(world->ledger, 1, "c", 1000000000, "y", &world->err));
	assert_int_equal(ledger_events(world->ledger, 1, 0, list_event, &all, &world->err), 0);
	assert_string_equal(all.names, "a:0: b:7:x c:1000000000:y ");
	assert_int_equal(ledger_events(world->ledger, 1, 2, list_event, &last, &world->err), 0);
	assert_string_equal(last.names, "b:7:x c:1000000000:y ");
	assert_int_equal(ledger_events(world->ledger, 1, 2, list_event, &first, &world->err), 42);
}

/* ---- how long it takes: told, not judged, as other work may go on here ---- */

static void write_runs(
	struct world *world, struct campaign_record *campaign, uint64_t count, bool in_two)
{
	for (uint64_t from = 1; from <= count; from += 200) {
		uint64_t end = from + 200 <= count ? from + 200 : count + 1;
		assert_done(world, ledger_begin(world->ledger, &world->err));
		for (uint64_t i = from; in_two && i < end; i++) {
			struct run_record run = run_sample(i, RUN_RUNNING);
			run.cell = (char *)"c4f1a02";
			assert_done(world,
				ledger_run_start(world->ledger, campaign->id, &run, &world->err));
		}
		if (in_two) {
			assert_done(world, ledger_commit(world->ledger, &world->err));
			assert_done(world, ledger_begin(world->ledger, &world->err));
		}
		for (uint64_t i = from; i < end; i++)
			end_run(world, campaign->id, i, i % 50 ? RUN_SUCCESS : RUN_ERROR,
				++campaign->last_seq);
		assert_done(world, ledger_campaign_put(world->ledger, campaign, &world->err));
		assert_done(world, ledger_commit(world->ledger, &world->err));
	}
}

static void tell_query(struct world *world, int64_t campaign, const char *what,
	struct ledger_query query, int expected)
{
	struct listing listing = {0};
	uint64_t start = clock_now();

	assert_done(world,
		ledger_runs(world->ledger, campaign, &query, list_run, &listing, &world->err));
	print_message("# %s: %.2f ms\n", what, (double)(clock_now() - start) / 1e6);
	assert_int_equal(listing.seen, expected);
}

static void tell_rate(
	struct world *world, struct campaign_record *campaign, const char *what, bool in_two)
{
	uint64_t start = clock_now();

	campaign->last_seq = campaign->marked_seq = 0;
	write_runs(world, campaign, timed_runs, in_two);
	double seconds = (double)(clock_now() - start) / 1e9;
	print_message("# %llu runs, %s: %.0f a second\n", (unsigned long long)timed_runs, what,
		(double)timed_runs / seconds);
}

static void runs_are_written_and_the_unfinished_found_fast(void **state)
{
	struct world *world = *state;
	own(campaign_record_done) struct campaign_record one = {.name = xstrdup("one")},
							 two = {.name = xstrdup("two")};
	struct run_record running = run_sample(timed_runs + 1, RUN_RUNNING);

	assert_done(world, ledger_campaign_add(world->ledger, &one, &world->err));
	assert_done(world, ledger_campaign_add(world->ledger, &two, &world->err));
	tell_rate(world, &one, "begun and ended within a batch", false);
	tell_rate(world, &two, "begun in one batch, ended in another", true);
	assert_done(world, ledger_run_start(world->ledger, two.id, &running, &world->err));
	close_ledger(world);

	uint64_t start = clock_now();
	world->ledger = ledger_open(world->path, LEDGER_WRITE, &world->err);
	assert_non_null(world->ledger);
	print_message("# opening: %.2f ms\n", (double)(clock_now() - start) / 1e6);
	tell_query(world, two.id, "the unfinished", (struct ledger_query){.states = 3}, 1);
	tell_query(world, two.id, "ends after",
		(struct ledger_query){.after_seq = timed_runs - 100}, 100);
	tell_query(world, two.id, "the latest",
		(struct ledger_query){.order = LEDGER_LATEST, .limit = 10}, 10);
	tell_query(world, two.id, "the slowest",
		(struct ledger_query){.order = LEDGER_SLOWEST, .limit = 10}, 10);
	start = clock_now();
	for (int i = 0; i < 10000; i++)
		assert_int_equal(take(world, two.id), WISH_NONE);
	print_message("# a wish that is not there: %.2f us\n", (double)(clock_now() - start) / 1e7);
	start = clock_now();
	assert_done(world, ledger_campaign_remove(world->ledger, two.id, &world->err));
	print_message("# removing: %.2f ms\n", (double)(clock_now() - start) / 1e6);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test(a_campaign_comes_back_as_it_was_added),
		test(what_was_left_empty_comes_back_as_empty_text),
		test(putting_a_campaign_back_writes_what_changes_and_nothing_else),
		test(putting_back_a_campaign_that_was_removed_says_so),
		test(a_name_is_given_once),
		test(a_name_that_would_leave_its_folder_is_not_added),
		test(an_unknown_name_is_answered_with_what_there_is),
		test(campaigns_are_listed_newest_first_until_told_to_stop),
		test(a_callback_may_use_the_ledger),
		test(a_removed_campaign_leaves_nothing_and_takes_nothing_else_along),
		test(what_an_interrupted_removal_left_goes_with_the_next),
		test(a_run_comes_back_as_it_ended),
		test(a_run_that_begins_again_forgets_how_it_ended),
		test(runs_are_found_by_state_by_order_and_by_when_they_ended),
		test(what_a_supervisor_shows_comes_back),
		test(a_wish_is_taken_once_and_the_last_one_counts),
		test(a_wish_taken_in_a_batch_that_is_lost_is_there_again),
		test(a_wish_that_is_not_known_is_passed_over),
		test(the_latest_events_are_told_oldest_first),
		test(runs_are_written_and_the_unfinished_found_fast),
	};

	if (argc > 1)
		timed_runs = strtoull(argv[1], NULL, 10);
	return cmocka_run_group_tests_name("campaign ledger", tests, NULL, NULL);
}
