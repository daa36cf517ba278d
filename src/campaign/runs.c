/* One run, from its folder to its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "campaign/work.h"

#define OUR_TRIES 10 /* of a run whose cell failed by no fault of its own */
#define HOPELESS 12 /* cells in a row that could not be made, and none that could */
#define TAIL_KEPT (16 << 10)

/* ---- how it ended ---- */

static char *signal_text(int number)
{
	const char *name = sigabbrev_np(number);

	return name == NULL ? xfmt("signal %d", number) : xfmt("signal SIG%s", name);
}

/* One line: what people read in lists. */
static char *cause_of(const struct campaign *campaign, const struct cell_result *result)
{
	const struct cell_limits *limits = &campaign->spec.limits;
	char size[24];

	switch (result->outcome) {
	case CELL_EXITED: return xfmt("exit %d", result->exit_code);
	case CELL_SIGNALED: return signal_text(result->signal);
	case CELL_TIMEOUT: return xfmt("timeout after %gs", (double)limits->timeout_ms / 1000);
	case CELL_OOM: return xfmt("out of memory (limit %s)", size_text(limits->memory, size, sizeof(size)));
	case CELL_OUTPUT_LIMIT: return xfmt("too much output (limit %s)", size_text(limits->output, size, sizeof(size)));
	case CELL_DISK_LIMIT: return xfmt("disk full (limit %s)", size_text(limits->disk, size, sizeof(size)));
	case CELL_DENIED: return xstrdup("ended by the system call filter");
	case CELL_SETUP_FAILED: return xstrdup(result->err.text[0] != '\0' ? result->err.text : "its cell could not be made");
	case CELL_CANCELLED: return xstrdup("cancelled");
	case CELL_OUTCOME_COUNT: break;
	}
	return NULL;
}

bool is_passing(int code)
{
	return code == ENOSPC || code == EDQUOT || code == ENOMEM || code == EAGAIN || code == EMFILE || code == ENFILE;
}

static enum run_state judge(struct campaign *campaign, struct worker *worker, const struct cell_result *result)
{
	unsigned tries = campaign->status.campaign.plan.retries + 1;
	struct run_record *run = &worker->run;

	if (result->outcome == CELL_CANCELLED && campaign->cancelling)
		return RUN_AGAIN;
	if (result->err.code != 0 && is_passing(result->err.code))
		return RUN_AGAIN; /* when the machine has room again */
	if (result->lost && worker->ours < OUR_TRIES) {
		worker->ours++;
		return RUN_AGAIN;
	}
	if (result->outcome == CELL_EXITED && result->exit_code == 0)
		return RUN_SUCCESS;
	if (run->attempt < tries && result->outcome != CELL_CANCELLED) {
		run->attempt++;
		worker->ours = 0;
		campaign->status.campaign.sums.retried++;
		return RUN_AGAIN;
	}
	return result->outcome == CELL_TIMEOUT ? RUN_TIMEOUT : RUN_ERROR;
}

static void add_sums(struct campaign_sums *sums, const struct run_record *run, const struct cell_result *result)
{
	sums->outcome[result->outcome]++;
	sums->cells++;
	if (result->outcome == CELL_SETUP_FAILED || result->lost)
		sums->cell_failures++;
	sums->oom_kills += result->oom_kills > 0 ? result->oom_kills : result->outcome == CELL_OOM;
	sums->cancelled += result->outcome == CELL_CANCELLED;
	sums->wall_ns += result->wall_ns;
	sums->user_us += result->user_us;
	sums->system_us += result->system_us;
	sums->written_bytes += result->written_bytes;
	sums->peak_sum += result->peak_memory;
	if (result->peak_memory > sums->peak_max)
		sums->peak_max = result->peak_memory;
	sums->weaker += result->outcome != CELL_SETUP_FAILED && !cell_receipt_full(&result->receipt);
	if (run_state_final(run->state))
		sums->state[run->state]++;
}

static void copy_result(struct run_record *run, const struct cell_result *result)
{
	run->outcome = result->outcome;
	run->exit_code = result->exit_code;
	run->signal = result->signal;
	run->ended_ms = batch_now_ms();
	run->wall_ns = result->wall_ns;
	run->setup_ns = result->setup_ns;
	run->user_us = result->user_us;
	run->system_us = result->system_us;
	run->peak_memory = result->peak_memory;
	run->written_bytes = result->written_bytes;
	run->stdout_bytes = result->stdout_bytes;
	run->stderr_bytes = result->stderr_bytes;
	run->refused = result->refused_total;
}

/* Where no cell can be made at all, going on would only fill the folders. */
static void check_hope(struct campaign *campaign, const struct run_record *run, const struct cell_result *result)
{
	struct campaign_record *record = &campaign->status.campaign;

	if (result->outcome != CELL_SETUP_FAILED) {
		campaign->lost_in_a_row = 0;
		return;
	}
	campaign->lost_in_a_row++;
	if (campaign->sched.draining || campaign->lost_in_a_row < HOPELESS + record->plan.workers ||
		record->sums.cells > campaign->lost_in_a_row)
		return;
	free(record->note);
	record->note = xfmt("stopped: not one of the first %u cells could be started: %s", campaign->lost_in_a_row, run->cause);
	campaign_say(campaign, "%s", record->note);
	campaign->hopeless = campaign->sched.draining = true;
}

static void count_failure(struct campaign *campaign, const struct run_record *run)
{
	struct campaign_record *record = &campaign->status.campaign;

	if (run->state != RUN_ERROR && run->state != RUN_TIMEOUT)
		return;
	bool draining = campaign->sched.draining;
	if (sched_failure(&campaign->sched) && !draining) {
		free(record->note);
		record->note = xfmt("stopped after %llu failures", (unsigned long long)campaign->sched.failures);
		campaign->too_many = true;
		campaign_say(campaign, "%s; waiting for the runs that are going", record->note);
	}
}

static void run_finish(struct worker *worker, const struct cell_result *result)
{
	struct campaign *campaign = worker->campaign;
	struct campaign_record *record = &campaign->status.campaign;
	struct run_record *run = &worker->run;
	struct err err = { 0 };

	free(run->cause);
	run->cause = cause_of(campaign, result);
	redact_line(campaign->redactor, run->cause);
	copy_result(run, result);
	unsigned attempt = run->attempt;
	run->state = judge(campaign, worker, result);
	bool again = run->state == RUN_AGAIN;
	if (!again &&
		session_result(&worker->session, record, run, result, campaign->doors != NULL, worker->spent, campaign->redactor, &err) < 0) {
		free(run->cause);
		run->cause = xstrdup(err.text);
		run->state = RUN_AGAIN; /* what cannot be written has not been done */
		again = true;
		campaign_block(campaign, &err);
	} else if (again && result->err.code != 0 && is_passing(result->err.code)) {
		campaign_block(campaign, &result->err);
	}
	add_sums(&record->sums, run, result);
	if (again)
		batch_note(campaign, "again", run->number, "attempt %u: %s", attempt, run->cause);
	batch_add(campaign, run, again ? 0 : ++record->last_seq);
	worker_audit_end(worker, result);
	struct sched_run next = { run->number, run->attempt, worker->ours, worker->before };
	totals_add(&next.spent, &run->network);
	sched_ended(&campaign->sched, again ? &next : NULL);
	count_failure(campaign, run);
	check_hope(campaign, run, result);
	campaign_grid_set(campaign, run->number, run->state);
	campaign->status.live.done[LEDGER_HEARTBEATS - 1] += !again;
	worker->over = true;
	batch_soon(campaign);
	campaign->events.ended(campaign->events.data, worker->session.name, run, worker->cell);
	campaign_tend_soon(campaign);
}

/* Its record is whole. */
static void on_closed(void *data, const struct door_totals *totals)
{
	struct worker *worker = data;

	const struct door_account all = { .used = *totals, .reserved = worker->before };

	account_settled(&all, &worker->run.network); /* of this try alone, as its record is */
	campaign_count_doors(worker->campaign);
	run_finish(worker, worker->result);
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct worker *worker = data;

	worker->cell = cell;
	if (worker->doors == NULL) {
		run_finish(worker, result);
		return;
	}
	worker->result = result;
	doors_run_close(worker->doors, on_closed, worker);
	worker->doors = NULL;
}

static void on_listening(void *data, const int *fds, size_t count)
{
	struct worker *worker = data;

	if (worker->doors != NULL)
		doors_run_listen(worker->doors, fds, count);
}

static void on_printed(void *data, unsigned stream, const char *bytes, size_t len, struct buf *out)
{
	struct worker *worker = data;
	const struct scrub_words *words = redactor_words(worker->campaign->redactor);

	worker->scrub[stream].even = worker->campaign->policy != NULL && worker->campaign->policy->secret_count > 0;
	if (len > 0)
		scrub_take(&worker->scrub[stream], words, bytes, len, out);
	else
		scrub_end(&worker->scrub[stream], words, out);
}

/* ---- how it begins ---- */

/* A descriptor of its own, so that each reads from the beginning. */
static int stdin_open(const struct campaign *campaign, int *ret, struct err *err)
{
	char path[40];

	*ret = -1;
	if (campaign->stdin_fd < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", campaign->stdin_fd);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? err_errno(err, errno, "open the stdin of the runs") : 0;
}

static void fill_record(struct campaign *campaign, struct worker *worker, const struct sched_run *run)
{
	struct campaign_record *record = &campaign->status.campaign;

	run_record_done(&worker->run);
	worker->run = (struct run_record){ .number = run->number, .attempt = run->attempt, .state = RUN_RUNNING,
		.exit_code = -1, .worker = worker->index, .seed = plan_seed(record->plan.seed, run->number),
		.started_ms = batch_now_ms() };
	worker->ours = run->ours;
	door_audit_done(&worker->verdicts);
	if (run->number >= record->next)
		record->next = run->number + 1;
}

static struct cell *start_cell(struct campaign *campaign, struct worker *worker, struct err *err)
{
	struct cell_spec spec = campaign->spec;
	char number[48], seed[48];
	own(freep) char *name = xfmt("HOTCELL_CAMPAIGN=%s", campaign->status.campaign.name);
	struct cell_io io = { .in = worker->in, .out = worker->session.out, .err = worker->session.err, .keep = TAIL_KEPT,
		.listening = on_listening, .change = redactor_knows(campaign->redactor) ? on_printed : NULL };

	(void)snprintf(number, sizeof(number), "HOTCELL_RUN=%llu", (unsigned long long)worker->run.number);
	(void)snprintf(seed, sizeof(seed), "HOTCELL_SEED=%llu", (unsigned long long)worker->run.seed);
	const char **ours = campaign->env + campaign->env_count;
	ours[0] = number;
	ours[1] = seed;
	ours[2] = name;
	ours[3] = NULL;
	spec.env = campaign->env;
	spec.output_fd = worker->session.dir;
	spec.output_reserved = session_reserved;
	struct cell *cell = cell_start(campaign->pool, &spec, &io, on_done, worker, err);
	ours[0] = NULL;
	return cell;
}

/* It could not even be asked for: a result all the same. */
static void refused(struct worker *worker, const struct err *err)
{
	struct cell_result result = { .outcome = CELL_SETUP_FAILED, .exit_code = -1, .err = *err };

	result.receipt.backend = worker->campaign->backend;
	if (worker->doors != NULL)
		doors_run_close(worker->doors, NULL, NULL);
	worker->doors = NULL;
	run_finish(worker, &result);
}

int worker_begin(struct campaign *campaign, struct worker *worker, const struct sched_run *run, struct err *err)
{
	char name[24];

	worker->before = run->spent;
	(void)plan_session_name(campaign->status.campaign.plan.runs, run->number, name, sizeof(name));
	if (stdin_open(campaign, &worker->in, err) < 0 || session_create(&worker->session, campaign->sessions, name, err) < 0 ||
		worker_open_doors(worker, run->number, err) < 0) {
		session_done(&worker->session);
		fd_close(&worker->in);
		sched_ended(&campaign->sched, run);
		return -1;
	}
	fill_record(campaign, worker, run);
	worker->busy = true;
	worker->over = worker->recorded = false;
	worker->cell = start_cell(campaign, worker, err);
	if (worker->cell == NULL) {
		refused(worker, err);
		return 0;
	}
	worker->run.cell = xstrdup(cell_id(worker->cell));
	worker_audit_start(worker);
	campaign_grid_set(campaign, run->number, RUN_RUNNING);
	campaign->dirty = true;
	campaign->events.started(campaign->events.data, worker->session.name, &worker->run, worker->cell);
	return 0;
}

/* Its doors may still be closing: then nobody waits for that any more. */
void worker_free(struct worker *worker)
{
	if (worker->doors != NULL)
		doors_run_close(worker->doors, NULL, NULL);
	worker->doors = NULL;
	worker->result = NULL;
	door_audit_done(&worker->verdicts);
	free(worker->spent);
	worker->spent = NULL;
	worker->cell = cell_free(worker->cell);
	session_done(&worker->session);
	fd_close(&worker->in);
	scrub_done(&worker->scrub[0]);
	scrub_done(&worker->scrub[1]);
	worker->busy = worker->over = worker->recorded = false;
}
