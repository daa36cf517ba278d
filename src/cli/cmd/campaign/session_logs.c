#include "cli/cmd/campaign/session_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/term.h"
#include "project/state.h"
#include "cli/cmd/campaign/files.h"

#define STEP_NS (200 * NS_PER_MS)
#define CHUNK 65536

struct log {
	const char *file;
	bool wanted;
	int fd; /* -1: not there (yet) */
	struct term_filter filter;
};

struct reader {
	const struct session_logs *logs;
	struct campaign_place place;
	struct campaign_record campaign;
	uint64_t number;
	unsigned attempt; /* whose folder is open; 0: none */
	struct log files[2];
	bool left; /* whoever read our stdout */
};

static void reader_done(struct reader *reader)
{
	for (size_t i = 0; i < ARRAY_LEN(reader->files); i++)
		fd_close(&reader->files[i].fd);
	campaign_record_done(&reader->campaign);
	campaign_place_done(&reader->place);
}

int session_logs_show(struct term_filter *filter, const char *bytes, size_t len, bool *ret_left)
{
	own(buf_done) struct buf safe = {0};

	if (isatty(STDOUT_FILENO)) {
		term_filter(filter, bytes, len, &safe);
		bytes = buf_text(&safe);
		len = safe.len;
	}
	while (len > 0) {
		ssize_t wrote = write(STDOUT_FILENO, bytes, len);
		if (wrote < 0 && errno == EPIPE)
			*ret_left = true;
		if (wrote < 0 && errno != EINTR)
			return errno == EPIPE ? 0 : -1;
		bytes += wrote > 0 ? wrote : 0;
		len -= wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}

/* ---- the files ---- */

/* A program in the cell had no hand in our logs, but whoever owns the folder may have. */
static int log_open(int session, const char *name)
{
	return beneath_try(session, name, O_RDONLY, 0);
}

/* A further attempt begins in a folder made anew. */
static int logs_open(struct reader *reader, unsigned attempt, struct err *err)
{
	own(fd_closep) int sessions = -1;
	char name[24];
	int found = campaign_files_open(&reader->campaign, &sessions, err);

	if (found < 0)
		return -1;
	plan_session_name(reader->campaign.plan.runs, reader->number, name, sizeof(name));
	own(fd_closep) int session = found ? beneath_try(sessions, name, O_RDONLY | O_DIRECTORY, 0) : -1;
	if (session < 0)
		return err_set(err, ENOENT, "the folder '%s/%s' of run %" PRIu64 " is not there any more",
			reader->campaign.output, name, reader->number);
	reader->attempt = attempt;
	for (size_t i = 0; i < ARRAY_LEN(reader->files); i++) {
		struct log *log = &reader->files[i];
		fd_close(&log->fd);
		log->filter = (struct term_filter){0};
		if (!log->wanted)
			continue;
		log->fd = log_open(session, log->file);
		if (log->fd < 0)
			return err_set(err, ENOENT, "there is no '%s' in the folder '%s/%s'", log->file,
				reader->campaign.output, name);
	}
	return 0;
}

static int log_drain(struct reader *reader, struct log *log, struct err *err)
{
	own(freep) char *chunk = xcalloc(1, CHUNK);
	ssize_t got = 1;

	while (log->fd >= 0 && !reader->left && got > 0) {
		got = read(log->fd, chunk, CHUNK);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got < 0)
			return err_errno(err, errno, "read '%s' of run %" PRIu64, log->file, reader->number);
		else if (session_logs_show(&log->filter, chunk, (size_t)got, &reader->left) < 0)
			return err_errno(err, errno, "write to stdout");
	}
	return 0;
}

static int logs_drain(struct reader *reader, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(reader->files); i++)
		if (log_drain(reader, &reader->files[i], err) < 0)
			return -1;
	return 0;
}

static void logs_end(struct reader *reader)
{
	for (size_t i = 0; i < ARRAY_LEN(reader->files) && !reader->left; i++) {
		own(buf_done) struct buf rest = {0};
		term_filter_end(&reader->files[i].filter, &rest);
		(void)!session_logs_show(&(struct term_filter){0}, buf_text(&rest), rest.len, &reader->left);
	}
}

/* ---- the run ---- */

/* 1: it goes on; 0: it is over, or nobody is at work on it. Asked before the logs are read: what was printed
 * before the end is in them then. */
static int run_look(struct reader *reader, struct err *err)
{
	own(run_record_done) struct run_record run = {0};
	bool held = state_holder(reader->place.state, reader->campaign.name) != 0;
	int found = ledger_run_get(reader->place.ledger, reader->campaign.id, reader->number, &run, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_USAGE, "run %" PRIu64 " of campaign '%s' has not begun", reader->number,
			reader->campaign.name);
	/* While it waits for its next attempt, the folder is still that of the last. */
	if (run.attempt != reader->attempt && (reader->attempt == 0 || run.state != RUN_AGAIN) &&
		logs_open(reader, run.attempt, err) < 0)
		return -1;
	return held && !run_state_final(run.state);
}

static int follow(struct reader *reader, struct err *err)
{
	struct timespec step = {.tv_nsec = STEP_NS};
	int more;

	do {
		more = run_look(reader, err);
		if (more < 0 || logs_drain(reader, err) < 0)
			return -1;
		more = more && reader->logs->follow && !reader->left;
		if (more)
			(void)nanosleep(&step, NULL);
	} while (more);
	logs_end(reader);
	return 0;
}

int session_logs_run(const struct session_logs *logs, const struct campaign_target *target)
{
	bool both = !logs->out && !logs->err;
	own(reader_done) struct reader reader = {
		.logs = logs,
		.number = target->run,
		.files = {{.file = "stdout.log", .wanted = both || logs->out, .fd = -1},
			{.file = "stderr.log", .wanted = both || logs->err, .fd = -1}},
	};
	struct err err = {0};

	if (campaign_place_open(&reader.place, logs->state, LEDGER_READ, &err) < 0 ||
		ledger_campaign_get(reader.place.ledger, target->name, &reader.campaign, &err) < 0)
		return cli_fail(&err);
	if (target->run > reader.campaign.plan.runs) {
		(void)err_set(&err, ERR_USAGE, "campaign '%s' has %" PRIu64 " runs, and no run %" PRIu64, target->name,
			reader.campaign.plan.runs, target->run);
		return cli_fail(&err);
	}
	return follow(&reader, &err) < 0 ? cli_fail(&err) : 0;
}
