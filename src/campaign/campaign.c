/* A campaign at work. Theory of operation.
 *
 *	schedule	frees what has ended and starts what may start, as the scheduler says
 *	flush	writes what has happened, in batches (batch.c)
 *	heartbeat	twice a second: what others see of us, wishes of others, alerts
 *
 * All three are timers on the caller's loop; cells end on the same loop. Nothing is started or freed from
 * within a cell's own callback.
 *
 * What cannot be written blocks: nothing is started, and the write is tried again every second until it
 * works or the user gives up. Giving up loses nothing but the work: what is not in the ledger is done again
 * by whoever resumes. */
#include "campaign/campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "project/state.h"
#include "campaign/work.h"

#define HEARTBEAT_NS (500 * NS_PER_MS)
#define BLOCK_NS NS_PER_S
#define ORPHANS_EVERY_NS (10 * NS_PER_S)
#define MAX_WARM 16
#define GRID_READ_MAX 100000 /* runs begun beyond which an old grid is not read back */

/* ---- telling ---- */

void campaign_say(struct campaign *campaign, const char *format, ...)
{
	char text[500];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	redact_line(campaign->redactor, text);
	campaign->events.said(campaign->events.data, text);
}

void campaign_grid_set(struct campaign *campaign, uint64_t number, enum run_state state)
{
	static const uint8_t rank[] = { [RUN_SUCCESS] = 1, [RUN_RUNNING] = 2, [RUN_AGAIN] = 3, [RUN_TIMEOUT] = 4,
		[RUN_ERROR] = 5 };
	uint64_t runs = campaign->status.campaign.plan.runs;

	if (campaign->grid == NULL || number == 0 || number > runs)
		return;
	uint8_t *cell = &campaign->grid[(number - 1) * campaign->grid_count / runs];
	/* one that stands for many shows the worst that has come to an end */
	bool shared = runs > campaign->grid_count && *cell != RUN_NOT_BEGUN;
	if (!shared || *cell == RUN_RUNNING || rank[state] > rank[*cell])
		*cell = (uint8_t)state;
}

/* A cause is said once, however often it is met before things go on. */
void campaign_block(struct campaign *campaign, const struct err *err)
{
	bool news = strcmp(campaign->blocked_said, err->text) != 0;

	(void)snprintf(campaign->blocked_said, sizeof(campaign->blocked_said), "%s", err->text);
	campaign->blocked = true;
	campaign->blocked_until_ns = clock_now() + BLOCK_NS;
	if (news)
		campaign_say(campaign, "nothing is started for now: %s; trying again every second", err->text);
	campaign_tend_soon(campaign);
}

static void unblocked(struct campaign *campaign)
{
	if (campaign->blocked || campaign->blocked_said[0] == '\0')
		return;
	campaign->blocked_said[0] = '\0';
	campaign_say(campaign, "going on");
}

/* ---- tending ---- */

static void on_schedule(void *data);

static void tend_at(struct campaign *campaign, uint64_t at_ns)
{
	campaign->wake = loop_remove(campaign->wake);
	campaign->wake = loop_add_timer(campaign->loop, at_ns, on_schedule, campaign);
}

void campaign_tend_soon(struct campaign *campaign)
{
	if (campaign->schedule == NULL)
		campaign->schedule = loop_add_timer(campaign->loop, clock_now(), on_schedule, campaign);
}

static struct worker *free_worker(struct campaign *campaign)
{
	for (unsigned i = 0; i < campaign->status.campaign.plan.workers; i++)
		if (!campaign->workers[i].busy)
			return &campaign->workers[i];
	return NULL;
}

/* Cells are kept ready only as long as there are runs for them. */
static void keep_warm(struct campaign *campaign)
{
	const struct sched *sched = &campaign->sched;
	uint64_t left = sched->draining || sched->paused ? 0 : sched->plan.runs + 1 - sched->next;
	unsigned want = sched->plan.workers < MAX_WARM ? sched->plan.workers : MAX_WARM;
	bool warm = left > want && sched->plan.rate == 0;
	struct cell_spec spec = campaign->spec;
	struct err err;

	if (warm == campaign->warm)
		return;
	campaign->warm = warm;
	spec.output_fd = campaign->sessions; /* cells whose workspace is to be collected are another kind */
	(void)!cell_pool_warm(campaign->pool, &spec, warm ? want : 0, &err); /* what fails fails at the start, too */
}

static void on_alert(void *data, const struct alert_rule *rule, double value)
{
	struct campaign *campaign = data;

	batch_note(campaign, rule->firing ? "alert" : "alert-over", 0, "%s: %s is %g", rule->name,
		alert_metric_names[rule->metric], value);
	campaign->events.alert(campaign->events.data, rule, value);
}

static void look_at_alerts(struct campaign *campaign)
{
	status_derive(&campaign->status); /* rates are of what is derived */
	alerts_check(&campaign->alerts, &campaign->status, on_alert, campaign);
}

static void count_time(struct campaign *campaign)
{
	uint64_t now = clock_now();

	campaign->status.campaign.active_ms += (now - campaign->heartbeat_ns) / NS_PER_MS;
	campaign->heartbeat_ns = now;
}

static int take_unmarked(void *data, const struct run_record *run)
{
	struct campaign *campaign = data;
	const struct campaign_record *record = &campaign->status.campaign;
	char name[24];
	struct err err;

	(void)plan_session_name(record->plan.runs, run->number, name, sizeof(name));
	if (session_mark(campaign->sessions, name, run, record->timeout_ms, campaign->redactor, &err) < 0) {
		campaign->marks_missing = campaign->marks_missing || is_passing(err.code);
		campaign_say(campaign, "%s", err.text); /* a folder that was removed: the ledger knows it all the same */
	}
	return 0;
}

/* Ends that have no marker yet get one. What a full disk keeps from it is tried again at the end, or by whoever
 * resumes: marked_seq does not move meanwhile. */
static int mark_left(struct campaign *campaign, struct err *err)
{
	struct campaign_record *record = &campaign->status.campaign;
	const struct ledger_query unmarked = { .after_seq = record->marked_seq,
		.states = 1u << RUN_SUCCESS | 1u << RUN_ERROR | 1u << RUN_TIMEOUT };

	campaign->marks_missing = false;
	if (record->last_seq > record->marked_seq &&
		ledger_runs(campaign->ledger, record->id, &unmarked, take_unmarked, campaign, err) < 0)
		return -1;
	if (!campaign->marks_missing)
		record->marked_seq = record->last_seq;
	return 0;
}

static void finish(struct campaign *campaign)
{
	struct campaign_record *record = &campaign->status.campaign;
	uint64_t complete = campaign_sums_complete(&record->sums);
	struct err err;

	if (!campaign->finished) {
		bool all = complete >= record->plan.runs;
		record->state = all ? CAMPAIGN_DONE : campaign->too_many || campaign->hopeless ? CAMPAIGN_FAILED : CAMPAIGN_STOPPED;
		record->ended_ms = batch_now_ms();
		count_time(campaign);
		campaign_count_doors(campaign);
		look_at_alerts(campaign); /* it may have been too short for a heartbeat */
		batch_note(campaign, campaign_state_names[record->state], 0, "%llu of %llu runs complete",
			(unsigned long long)complete, (unsigned long long)record->plan.runs);
		campaign->dirty = campaign->finished = true;
	}
	if (!campaign->blocked && !batch_clean(campaign))
		(void)batch_flush(campaign);
	if (!campaign->blocked && campaign->marks_missing && mark_left(campaign, &err) == 0)
		campaign->dirty = true;
	if (!campaign->blocked && !batch_clean(campaign)) /* marks made just now move marked_seq */
		(void)batch_flush(campaign);
}

static bool start_next(struct campaign *campaign)
{
	struct err err;
	struct worker *worker = free_worker(campaign);

	/* one whose run ended just now is free after the next tending, which is due then */
	if (campaign->blocked || (worker == NULL && campaign->sched.running < campaign->sched.plan.workers))
		return false;
	struct sched_next next = sched_next(&campaign->sched, clock_now());
	if (next.what == SCHED_WAIT && next.at_ns > 0)
		tend_at(campaign, next.at_ns);
	if (next.what == SCHED_DONE)
		finish(campaign);
	if (next.what != SCHED_START)
		return false;
	if (worker_begin(campaign, worker, &next.run, &err) < 0) {
		campaign_block(campaign, &err);
		return false;
	}
	unblocked(campaign);
	return true;
}

static void on_schedule(void *data)
{
	struct campaign *campaign = data;
	bool started = false;

	campaign->schedule = loop_remove(campaign->schedule);
	campaign->wake = loop_remove(campaign->wake);
	for (unsigned i = 0; i < campaign->status.campaign.plan.workers; i++)
		if (campaign->workers[i].busy && campaign->workers[i].over)
			worker_free(&campaign->workers[i]);
	if (campaign->blocked) {
		if (clock_now() < campaign->blocked_until_ns) {
			tend_at(campaign, campaign->blocked_until_ns);
			return;
		}
		campaign->blocked = false;
		if (!batch_flush(campaign) || campaign->blocked)
			return; /* anew: it has set its own time */
	}
	while (start_next(campaign))
		started = true;
	keep_warm(campaign);
	if (started)
		batch_soon(campaign);
}

/* ---- the heartbeat ---- */

/* How much of this machine's processors was in use since the last time, in thousandths of one. */
static uint64_t cpu_in_use(struct campaign *campaign)
{
	own(buf_done) struct buf text = { 0 };
	struct err err;
	uint64_t total = 0, idle = 0, value;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int used = 0;

	if (fs_read_small(AT_FDCWD, "/proc/stat", 1 << 20, &text, &err) < 0)
		return 0;
	const char *at = buf_text(&text) + strlen("cpu");
	for (int i = 0; i < 8 && sscanf(at, "%lu%n", &value, &used) == 1; i++, at += used) {
		total += value;
		idle += i == 3 || i == 4 ? value : 0; /* idle and iowait */
	}
	uint64_t all = total - campaign->total_before, busy = total - idle - campaign->busy_before;
	bool first = campaign->total_before == 0;
	campaign->total_before = total;
	campaign->busy_before = total - idle;
	return first || all == 0 || busy > all ? 0 : busy * (uint64_t)cpus * 1000 / all;
}

static void fill_live(struct campaign *campaign)
{
	struct ledger_live *live = &campaign->status.live;
	unsigned count = campaign->status.campaign.plan.workers;

	live->at_ms = batch_now_ms();
	live->memory = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct worker *worker = &campaign->workers[i];
		bool running = worker->busy && !worker->over;
		live->workers[i] = (struct ledger_worker){ .worker = i + 1, .number = running ? worker->run.number : 0,
			.since_ms = running ? worker->run.started_ms : 0,
			.memory = running && worker->cell != NULL ? cell_memory(worker->cell) : 0 };
		live->memory += live->workers[i].memory;
	}
	live->worker_count = count;
	campaign->status.running = campaign->sched.running;
}

/* The seconds move on: the last entry counts the one that is going. */
static void shift_seconds(struct campaign *campaign)
{
	uint32_t *done = campaign->status.live.done;
	uint64_t second = clock_now() / NS_PER_S;

	for (; campaign->second < second; campaign->second++) {
		if (second - campaign->second > LEDGER_HEARTBEATS)
			campaign->second = second - LEDGER_HEARTBEATS;
		memmove(done, done + 1, (LEDGER_HEARTBEATS - 1) * sizeof(*done));
		done[LEDGER_HEARTBEATS - 1] = 0;
	}
}

static void obey_wish(struct campaign *campaign)
{
	enum ledger_wish wish = WISH_NONE;
	struct err err;

	if (ledger_wish_take(campaign->ledger, campaign->status.campaign.id, &wish, &err) < 0)
		return; /* asked again at the next heartbeat */
	switch (wish) {
	case WISH_PAUSE: campaign_pause(campaign, true); break;
	case WISH_GO:
		if (campaign_may_go_on(campaign))
			campaign_pause(campaign, false);
		break;
	case WISH_STOP: campaign_drain(campaign); break;
	case WISH_CANCEL: campaign_cancel(campaign); break;
	case WISH_NONE:
	case WISH_COUNT: break;
	}
}

static void heartbeat(struct campaign *campaign)
{
	struct campaign_record *record = &campaign->status.campaign;
	own(buf_done) struct buf firing = { 0 };
	struct err err;

	count_time(campaign);
	shift_seconds(campaign);
	fill_live(campaign);
	campaign->status.live.cpu_milli = cpu_in_use(campaign);
	campaign->status.now_ms = campaign->status.live.at_ms;
	campaign_count_doors(campaign);
	obey_wish(campaign);
	record->sums.cleanup_failures = campaign->failures_before + cell_pool_cleanup_failures(campaign->pool);
	if (clock_now() >= campaign->orphans_due_ns) { /* it looks at every process: not at every heartbeat */
		record->sums.orphans = cell_orphans();
		campaign->orphans_due_ns = clock_now() + ORPHANS_EVERY_NS;
	}
	look_at_alerts(campaign);
	alerts_firing(&campaign->alerts, &firing);
	free(campaign->status.live.alerts);
	campaign->status.live.alerts = xstrdup(buf_text(&firing));
	if (campaign->blocked)
		return;
	if (ledger_live_put(campaign->ledger, record->id, &campaign->status.live, &err) < 0)
		campaign_block(campaign, &err);
	else
		(void)batch_flush(campaign);
}

static void on_heartbeat(void *data)
{
	struct campaign *campaign = data;

	campaign->heartbeat = loop_remove(campaign->heartbeat);
	heartbeat(campaign);
	campaign->heartbeat = loop_add_timer(campaign->loop, clock_now() + HEARTBEAT_NS, on_heartbeat, campaign);
}

/* ---- the user's hand ---- */

bool campaign_over(const struct campaign *campaign)
{
	return campaign->finished && campaign->sched.running == 0 && batch_clean(campaign);
}

void campaign_drain(struct campaign *campaign)
{
	struct campaign_record *record = &campaign->status.campaign;

	if (campaign->sched.draining)
		return;
	campaign->sched.draining = true;
	campaign->sched.paused = false;
	free(record->note);
	record->note = xstrdup("stopped by the user");
	batch_note(campaign, "draining", 0, "%u runs are going", campaign->sched.running);
	campaign->dirty = true;
	campaign_tend_soon(campaign);
}

void campaign_cancel(struct campaign *campaign)
{
	campaign_drain(campaign);
	if (campaign->cancelling)
		return;
	campaign->cancelling = true;
	for (unsigned i = 0; i < campaign->status.campaign.plan.workers; i++)
		if (campaign->workers[i].busy && !campaign->workers[i].over && campaign->workers[i].cell != NULL)
			cell_cancel(campaign->workers[i].cell);
}

void campaign_pause(struct campaign *campaign, bool paused)
{
	struct campaign_record *record = &campaign->status.campaign;

	if (campaign->sched.draining || campaign->sched.paused == paused)
		return;
	campaign->sched.paused = paused;
	record->state = paused ? CAMPAIGN_PAUSED : CAMPAIGN_RUNNING;
	if (!paused) {
		free(record->note);
		record->note = xstrdup("");
	}
	batch_note(campaign, paused ? "paused" : "going", 0, "%u runs are going", campaign->sched.running);
	campaign_count_doors(campaign);
	campaign->dirty = true;
	if (!campaign->blocked) /* whoever hears of it finds it so in the ledger */
		(void)batch_flush(campaign);
	campaign_say(campaign, paused ? "paused: what runs goes on, nothing new is started" : "going on");
	campaign_tend_soon(campaign);
}

const struct campaign_status *campaign_status(struct campaign *campaign)
{
	fill_live(campaign);
	shift_seconds(campaign);
	campaign_count_doors(campaign);
	campaign->status.now_ms = batch_now_ms();
	status_derive(&campaign->status);
	return &campaign->status;
}

const struct campaign_record *campaign_record(const struct campaign *campaign)
{
	return &campaign->status.campaign;
}

uint64_t campaign_alerts(const struct campaign *campaign)
{
	return campaign->alerts.fired;
}

const uint8_t *campaign_grid(const struct campaign *campaign, size_t *ret_count)
{
	*ret_count = campaign->grid_count;
	return campaign->grid;
}

/* ---- beginning, or beginning again ---- */

static int take_unfinished(void *data, const struct run_record *run)
{
	struct campaign *campaign = data;
	const struct sched_run again = { .number = run->number, .attempt = run->attempt };

	sched_add_again(&campaign->sched, &again);
	return 0;
}

static int take_state(void *data, const struct run_record *run)
{
	campaign_grid_set(data, run->number, run->state);
	return 0;
}

/* What an earlier life left: ends without markers, runs without ends. */
static int mend(struct campaign *campaign, struct err *err)
{
	struct campaign_record *record = &campaign->status.campaign;
	const struct ledger_query unfinished = { .states = 1u << RUN_RUNNING | 1u << RUN_AGAIN };
	const struct ledger_query all = { 0 };

	if (record->next == 0)
		record->next = 1;
	if (mark_left(campaign, err) < 0)
		return -1;
	sched_init(&campaign->sched, &record->plan, record->next, 0);
	if (record->next == 1)
		return 0;
	if (ledger_runs(campaign->ledger, record->id, &unfinished, take_unfinished, campaign, err) < 0)
		return -1;
	if (record->next <= GRID_READ_MAX)
		return ledger_runs(campaign->ledger, record->id, &all, take_state, campaign, err);
	return 0;
}

static void take_env(struct campaign *campaign, const struct cell_spec *spec)
{
	while (spec->env != NULL && spec->env[campaign->env_count] != NULL)
		campaign->env_count++;
	campaign->env = xcalloc(campaign->env_count + 4, sizeof(*campaign->env));
	for (size_t i = 0; i < campaign->env_count; i++)
		campaign->env[i] = spec->env[i];
	campaign->spec = *spec;
	campaign->spec.env = campaign->env;
	campaign->spec.output_dir = NULL;
}

static void make_room(struct campaign *campaign)
{
	const struct campaign_plan *plan = &campaign->status.campaign.plan;

	campaign->workers = xcalloc(plan->workers, sizeof(*campaign->workers));
	campaign->status.live.workers = xcalloc(plan->workers, sizeof(*campaign->status.live.workers));
	for (unsigned i = 0; i < plan->workers; i++)
		campaign->workers[i] = (struct worker){ .campaign = campaign, .index = i + 1, .in = -1,
			.session = { .dir = -1, .out = -1, .err = -1 } };
	campaign->grid_count = plan->runs < GRID_MAX ? plan->runs : GRID_MAX;
	campaign->grid = xcalloc(campaign->grid_count, 1);
	memset(campaign->grid, RUN_NOT_BEGUN, campaign->grid_count);
}

static void on_warning(void *data, const char *sentence)
{
	campaign_say(data, "%s", sentence);
}

static int open_all(struct campaign *campaign, const struct campaign_setup *setup, struct err *err)
{
	struct campaign_record *record = &campaign->status.campaign;
	own(freep) char *path = state_ledger(setup->state);

	campaign->lock = state_lock(setup->state, setup->name, err);
	if (campaign->lock < 0)
		return -1;
	/* before the ledger: what is forked off us shares none of its memory */
	campaign->pool = cell_pool_open(setup->backend, campaign->loop, err);
	if (campaign->pool == NULL)
		return -1;
	cell_pool_warn(campaign->pool, on_warning, campaign);
	campaign->ledger = ledger_open(path, LEDGER_WRITE, err);
	if (campaign->ledger == NULL || ledger_campaign_get(campaign->ledger, setup->name, record, err) < 0)
		return -1;
	if (setup->workers > 0)
		record->plan.workers = setup->workers;
	if (plan_check(&record->plan, err) < 0 ||
		sessions_open(record->output, record->uuid, &campaign->sessions, err) < 0)
		return -1;
	campaign->owner = sessions_lock(campaign->sessions, record->output, err); /* a lock file can be removed, a ledger copied */
	if (campaign->owner < 0)
		return -1;
	make_room(campaign);
	if (campaign_open_audit(campaign, setup, err) < 0 || campaign_open_doors(campaign, setup, err) < 0)
		return -1;
	return mend(campaign, err);
}

/* A wish that was left for an earlier life is not ours. */
static int begin(struct campaign *campaign, struct err *err)
{
	struct campaign_record *record = &campaign->status.campaign;
	enum ledger_wish old;
	bool resumed = record->next > 1;

	if (ledger_wish_take(campaign->ledger, record->id, &old, err) < 0)
		return -1;
	record->state = CAMPAIGN_RUNNING;
	record->holder = (int)getpid();
	record->ended_ms = 0;
	free(record->note);
	record->note = xstrdup("");
	campaign->status.held = true;
	batch_note(campaign, resumed ? "resumed" : "started", 0, "by process %d", record->holder);
	campaign_audit_begin(campaign);
	campaign->failures_before = record->sums.cleanup_failures; /* of earlier lives */
	campaign->heartbeat_ns = clock_now();
	campaign->second = campaign->heartbeat_ns / NS_PER_S;
	if (!batch_flush(campaign))
		return err_set(err, EIO, "%s", campaign->blocked_said);
	campaign->heartbeat = loop_add_timer(campaign->loop, clock_now() + HEARTBEAT_NS / 10, on_heartbeat, campaign);
	campaign_tend_soon(campaign);
	return 0;
}

struct campaign *campaign_open(struct loop *loop, const struct campaign_setup *setup,
	const struct campaign_events *events, struct err *err)
{
	struct campaign *campaign = xcalloc(1, sizeof(*campaign));

	campaign->loop = loop;
	campaign->events = *events;
	campaign->alerts = setup->alerts;
	campaign->backend = setup->backend;
	campaign->redactor = setup->redactor;
	campaign->stop_on_budget = setup->stop_on_budget;
	campaign->stdin_fd = setup->stdin_fd;
	campaign->lock = campaign->sessions = campaign->owner = campaign->replay = -1;
	campaign->ended_end = &campaign->ended;
	campaign->unmarked_end = &campaign->unmarked;
	campaign->notes_end = &campaign->notes;
	campaign->status.live.alerts = xstrdup("");
	take_env(campaign, setup->spec);
	if (open_all(campaign, setup, err) < 0 || begin(campaign, err) < 0)
		return campaign_free(campaign);
	return campaign;
}

struct campaign *campaign_free(struct campaign *campaign)
{
	if (campaign == NULL)
		return NULL;
	campaign->schedule = loop_remove(campaign->schedule);
	campaign->wake = loop_remove(campaign->wake);
	campaign->flush = loop_remove(campaign->flush);
	campaign->heartbeat = loop_remove(campaign->heartbeat);
	for (unsigned i = 0; campaign->workers != NULL && i < campaign->status.campaign.plan.workers; i++) {
		worker_free(&campaign->workers[i]);
		run_record_done(&campaign->workers[i].run);
	}
	campaign_close_doors(campaign);
	cell_pool_leave(campaign->pool);
	batch_done(campaign);
	sched_done(&campaign->sched);
	campaign->ledger = ledger_free(campaign->ledger);
	campaign_close_audit(campaign);
	status_done(&campaign->status);
	free(campaign->workers);
	free(campaign->env);
	free(campaign->grid);
	fd_close(&campaign->owner);
	fd_close(&campaign->sessions);
	fd_close(&campaign->lock);
	free(campaign);
	return NULL;
}
