#include "view/cell_result.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/term.h"

#define QUOTED_MAX 120 /* of a name or a note */
#define CAUSE_MAX 380 /* of our own sentence */

/* A size as it would be written after a flag. */
static void flag_size(struct buf *out, const char *flag, uint64_t bytes)
{
	static const char units[] = "kMGT";
	int unit = -1;

	while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	buf_fmt(out, "--%s %llu", flag, (unsigned long long)bytes);
	if (unit >= 0)
		buf_char(out, units[unit]);
}

static void flag_duration(struct buf *out, const char *flag, uint64_t ms)
{
	if (ms % 1000 == 0)
		buf_fmt(out, "--%s %llus", flag, (unsigned long long)(ms / 1000));
	else
		buf_fmt(out, "--%s %llums", flag, (unsigned long long)ms);
}

static void signal_words(struct buf *out, int number)
{
	const char *name = sigabbrev_np(number), *description = sigdescr_np(number);

	if (name)
		buf_fmt(out, "SIG%s (%s)", name, description);
	else
		buf_fmt(out, "signal %d", number);
}

static void after(struct buf *out, uint64_t ns)
{
	char text[24];
	buf_fmt(out, " after %s", duration_text(ns, text, sizeof(text)));
}

static void quoted(struct buf *out, const char *text)
{
	term_line(text, strlen(text), QUOTED_MAX, out);
}

static void refused_words(struct buf *out, const struct cell_result *result)
{
	const char *separator = "";

	for (size_t i = 0; i < CELL_REFUSED_KEPT && result->refused[i].what; i++) {
		buf_fmt(out, "%s%s", separator, result->refused[i].what);
		if (result->refused[i].count > 1)
			buf_fmt(out, " x%llu", (unsigned long long)result->refused[i].count);
		separator = ", ";
	}
}

static void output_limit(
	struct buf *out, const struct cell_result *result, const struct cell_limits *limits)
{
	char text[16];

	buf_str(out, "printed too much and was ended");
	after(out, result->wall_ns);
	buf_fmt(out, "; %s dropped (limit ", size_text(result->dropped_bytes, text, sizeof(text)));
	flag_size(out, "max-output", limits->output);
	buf_char(out, ')');
}

static void disk_limit(struct buf *out, const struct cell_limits *limits)
{
	buf_str(out, "failed with its disk space used up (limits ");
	flag_size(out, "disk", limits->disk);
	buf_str(out, ", ");
	flag_size(out, "tmp-size", limits->tmp);
	buf_str(out, ", ");
	flag_size(out, "shm", limits->shm);
	buf_str(out, ", ");
	flag_size(out, "file-size", limits->file_size);
	buf_char(out, ')');
}

static void denied(struct buf *out, const struct cell_result *result)
{
	buf_str(out, "ended by the signal of the system call filter"); /* which it can send itself as well */
	after(out, result->wall_ns);
	if (!result->refused_total)
		return;
	buf_str(out, " (refused before: ");
	refused_words(out, result);
	buf_char(out, ')');
}

static void cancelled(struct buf *out, const struct cell_result *result, int cancel_signal)
{
	if (cancel_signal)
		signal_words(out, cancel_signal);
	else
		buf_str(out, "'hotcell kill' or a lost terminal");
	buf_str(out, " ended it");
	after(out, result->wall_ns);
}

bool verdict_line(const struct cell_result *result, const struct cell_limits *limits,
	int cancel_signal, struct buf *out)
{
	if (result->outcome == CELL_EXITED)
		return false;
	buf_fmt(out, "%s: ", cell_outcome_name(result->outcome));
	switch (result->outcome) {
	case CELL_SIGNALED:
		signal_words(out, result->signal);
		buf_str(out, " ended it");
		after(out, result->wall_ns);
		break;
	case CELL_TIMEOUT:
		buf_str(out, "ended");
		after(out, result->wall_ns);
		buf_str(out, " (limit ");
		flag_duration(out, "timeout", limits->timeout_ms);
		buf_char(out, ')');
		break;
	case CELL_OOM:
		buf_str(out, "went beyond its memory");
		after(out, result->wall_ns);
		buf_str(out, " (limit ");
		flag_size(out, "memory", limits->memory);
		buf_char(out, ')');
		break;
	case CELL_OUTPUT_LIMIT: output_limit(out, result, limits); break;
	case CELL_DISK_LIMIT: disk_limit(out, limits); break;
	case CELL_DENIED: denied(out, result); break;
	case CELL_SETUP_FAILED:
		term_line(result->err.text, strlen(result->err.text), CAUSE_MAX, out);
		break;
	case CELL_CANCELLED: cancelled(out, result, cancel_signal); break;
	case CELL_EXITED:
	case CELL_OUTCOME_COUNT: break;
	}
	return true;
}

bool verdict_weaker(const struct cell_receipt *receipt, struct buf *out)
{
	const char *separator = "weaker cell: ";

	if (cell_receipt_full(receipt))
		return false;
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		if (receipt->grade[i] == CELL_ON)
			continue;
		buf_fmt(out, "%s%s (", separator, cell_protection_name((enum cell_protection)i));
		if (receipt->grade[i] == CELL_OFF)
			buf_fmt(out, "off%s", *receipt->note[i] ? ": " : "");
		quoted(out, receipt->note[i]);
		buf_char(out, ')');
		separator = ", ";
	}
	return true;
}

bool verdict_collect(
	const struct cell_result *result, const struct cell_limits *limits, struct buf *out)
{
	const struct fs_copy_report *report = &result->collect;

	if (!result->collected || result->err.code || (!report->capped && !report->skipped_count))
		return false;
	bool stopped = report->capped && report->cap && strcmp(report->cap, "entries") == 0;

	buf_fmt(out, "output: took %llu files", (unsigned long long)report->files);
	if (stopped) {
		buf_fmt(out, ", and looked at no more (limit --max-collect-files %llu)", (unsigned long long)limits->collect_files);
	} else if (report->capped && report->cap && strcmp(report->cap, "depth") == 0) {
		buf_str(out, ", and nothing that is too deep in folders");
	} else if (report->capped) {
		buf_str(out, ", and not more than fits (limit ");
		flag_size(out, "max-collect", limits->collect);
		buf_char(out, ')');
	}
	if (report->skipped_count) {
		buf_fmt(out, "; left %s%llu behind", stopped ? "at least " : "", (unsigned long long)report->skipped_count);
		if (report->skipped[0].name) {
			buf_str(out, ", first '");
			quoted(out, report->skipped[0].name);
			buf_fmt(out, "' (%s)", report->skipped[0].reason);
		}
	}
	return true;
}

static void receipt_lines(const struct cell_receipt *receipt, struct buf *out)
{
	static const char *const words[] = {
		[CELL_OFF] = "off", [CELL_WEAKER] = "weaker", [CELL_ON] = "on"};

	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		buf_fmt(out, "\n  %-18s %s", cell_protection_name((enum cell_protection)i),
			words[receipt->grade[i]]);
		if (*receipt->note[i]) {
			buf_str(out, "  ");
			quoted(out, receipt->note[i]);
		}
	}
}

void verdict_details(const struct cell_result *result, struct buf *out)
{
	char a[24], b[24], c[24], d[24];

	buf_fmt(out, "%s", cell_outcome_name(result->outcome));
	if (result->exit_code >= 0)
		buf_fmt(out, " %d", result->exit_code);
	buf_fmt(out, ": wall %s, setup %s, user %s, system %s\n",
		duration_text(result->wall_ns, a, sizeof(a)),
		duration_text(result->setup_ns, b, sizeof(b)),
		duration_text(result->user_us * 1000, c, sizeof(c)),
		duration_text(result->system_us * 1000, d, sizeof(d)));
	buf_fmt(out, "  peak memory %s, %llu process%s, %s on stdout, %s on stderr",
		result->peak_memory ? size_text(result->peak_memory, a, sizeof(a)) : "unknown",
		(unsigned long long)result->processes, result->processes == 1 ? "" : "es",
		size_text(result->stdout_bytes, b, sizeof(b)),
		size_text(result->stderr_bytes, c, sizeof(c)));
	buf_fmt(out, ", %s left in scratch space\n",
		size_text(result->written_bytes, d, sizeof(d)));
	if (result->refused_total) {
		buf_fmt(out, "  system calls refused: %llu (",
			(unsigned long long)result->refused_total);
		refused_words(out, result);
		buf_str(out, ")\n");
	}
	buf_fmt(out, "  backend %s, %s", result->receipt.backend,
		cell_receipt_full(&result->receipt) ? "every protection on"
						    : "not every protection on");
	receipt_lines(&result->receipt, out);
}
