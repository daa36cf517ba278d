/* The plain lines, for pipes and files. What stands before a reason is the requirement's own
 * wording, which scripts look for. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/term.h"
#include "view/campaign.h"

#define CAUSE_MAX 200

static void put_session(const char *session, struct buf *out)
{
	buf_char(out, '[');
	term_line(session, strlen(session), 24, out);
	buf_str(out, "] ");
}

/* 900s, but 1.5s. */
static void put_seconds(uint64_t ms, struct buf *out)
{
	unsigned places = ms % 1000 == 0 ? 0 : ms % 100 == 0 ? 1 : ms % 10 == 0 ? 2 : 3;

	buf_fmt(out, "%.*fs", (int)places, (double)ms / 1000);
}

static void put_signal(int number, struct buf *out)
{
	const char *name = sigabbrev_np(number);

	if (name)
		buf_fmt(out, "signal SIG%s", name);
	else
		buf_fmt(out, "signal %d", number);
}

static void put_reason(const struct run_record *run, uint64_t timeout_ms, struct buf *out)
{
	static const char *const reasons[CELL_OUTCOME_COUNT] = {
		[CELL_EXITED] = "what it left could not be kept",
		[CELL_OOM] = "out of memory",
		[CELL_OUTPUT_LIMIT] = "printed more than it may",
		[CELL_DISK_LIMIT] = "its scratch space was full",
		[CELL_DENIED] = "ended by the system call filter",
		[CELL_SETUP_FAILED] = "the cell could not be made",
		[CELL_CANCELLED] = "cancelled",
	};

	if (run->outcome == CELL_TIMEOUT || run->state == RUN_TIMEOUT) {
		buf_str(out, "Timeout after ");
		put_seconds(timeout_ms, out);
	} else if (run->outcome == CELL_EXITED && run->exit_code != 0) {
		buf_fmt(out, "Cell error (exit %d)", run->exit_code);
	} else if (run->outcome == CELL_SIGNALED) {
		buf_str(out, "Cell error (");
		put_signal(run->signal, out);
		buf_char(out, ')');
	} else if (run->cause && run->cause[0]) {
		term_line(run->cause, strlen(run->cause), CAUSE_MAX, out);
	} else {
		buf_str(out, reasons[run->outcome] ? reasons[run->outcome] : "not known");
	}
}

void view_started(const char *session, struct buf *out)
{
	put_session(session, out);
	buf_str(out, "Starting...");
}

void view_ended(
	const char *session, const struct run_record *run, uint64_t timeout_ms, struct buf *out)
{
	uint64_t tenths =
		run->wall_ns / (NS_PER_S / 10) + (run->wall_ns % (NS_PER_S / 10) >= NS_PER_S / 20);

	put_session(session, out);
	if (run->state == RUN_SUCCESS) {
		buf_fmt(out, "✓ Done (%" PRIu64 ".%" PRIu64 "s)", tenths / 10, tenths % 10);
		return;
	}
	buf_str(out, run->state == RUN_AGAIN ? "↻ Again: " : "✗ Failed: ");
	put_reason(run, timeout_ms, out);
}

void view_progress(uint64_t complete, uint64_t runs, struct buf *out)
{
	buf_fmt(out, "Progress: %" PRIu64 "/%" PRIu64 " complete", complete, runs);
}
