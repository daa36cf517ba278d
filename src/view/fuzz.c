#include "view/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"

#define NAME_WIDTH 24
#define NAME_LEAST 8
#define HEAD_LINES 2
#define MESSAGE_SHOWN 200

/* 1234567 as 1,234,567 */
static void put_count(uint64_t count, struct buf *out)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, count);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_char(out, ',');
		buf_char(out, text[i]);
	}
}

static void put_cell(uint64_t count, int width, struct buf *out)
{
	own(buf_done) struct buf text = {0};

	put_count(count, &text);
	buf_fmt(out, "  %*s", width, buf_text(&text));
}

void fuzz_view_severities(const unsigned *severities, struct buf *out)
{
	bool any = false;

	for (int i = SEVERITY_COUNT - 1; i >= 0; i--) {
		if (!severities[i])
			continue;
		buf_fmt(out, "%s%u %s", any ? ", " : "", severities[i], severity_name((enum severity)i));
		any = true;
	}
	if (!any)
		buf_str(out, "none");
}

/* ---- subjects ---- */

struct column {
	const char *head;
	size_t offset;
};
#define COLUMN(member) {#member, offsetof(struct subject_progress, member)}
static const struct column columns_table[] = {
	COLUMN(calls), COLUMN(ok), COLUMN(rejected), COLUMN(failed), COLUMN(ended), COLUMN(late), COLUMN(broken), COLUMN(kinds),
	COLUMN(findings),
};
#define CELL_LEAST 5

static int width_of(const struct column *column)
{
	size_t len = strlen(column->head);

	return (int)(len > CELL_LEAST + 2 ? len : CELL_LEAST + 2);
}

static size_t numbers_width(void)
{
	size_t width = 0;

	for (size_t i = 0; i < ARRAY_LEN(columns_table); i++)
		width += 2 + (size_t)width_of(&columns_table[i]);
	return width;
}

/* Bytes of a name: what is not ASCII is shown, but may be padded too little. */
static void put_name(const char *name, size_t width, struct buf *out)
{
	size_t before = out->len;

	term_line(name, strlen(name), width > 3 ? width - 3 : width, out);
	while (out->len - before < width)
		buf_char(out, ' ');
}

static void put_row(const struct subject_progress *subject, size_t width, struct buf *out)
{
	put_name(subject->subject->name, width, out);
	for (size_t i = 0; i < ARRAY_LEN(columns_table); i++)
		put_cell(*(const uint64_t *)((const char *)subject + columns_table[i].offset), width_of(&columns_table[i]), out);
	buf_char(out, '\n');
}

void fuzz_view_subjects(const struct fuzz_progress *progress, size_t max, unsigned columns, struct buf *out)
{
	size_t width = NAME_LEAST, shown = max && max < progress->subject_count ? max - 1 : progress->subject_count;

	for (size_t i = 0; i < progress->subject_count; i++) {
		size_t len = strlen(progress->subjects[i].subject->name) + 3;
		width = len > width ? len : width;
	}
	width = width > NAME_WIDTH ? NAME_WIDTH : width;
	if (columns && width + numbers_width() > columns)
		width = columns > numbers_width() + NAME_LEAST ? columns - numbers_width() : NAME_LEAST;
	put_name("tool", width, out);
	for (size_t i = 0; i < ARRAY_LEN(columns_table); i++)
		buf_fmt(out, "  %*s", width_of(&columns_table[i]), columns_table[i].head);
	buf_char(out, '\n');
	for (size_t i = 0; i < shown; i++)
		put_row(&progress->subjects[i], width, out);
	if (shown < progress->subject_count)
		buf_fmt(out, "and %zu more\n", progress->subject_count - shown);
}

/* ---- while it runs ---- */

static void put_time(const struct fuzz_progress *progress, const struct fuzz_look *look, struct buf *out)
{
	buf_fmt(out, "%" PRIu64 "s", progress->ns / NS_PER_S);
	if (look->duration_ns)
		buf_fmt(out, " of %" PRIu64 "s", look->duration_ns / NS_PER_S);
}

static void put_sums(const struct fuzz_progress *progress, const struct fuzz_look *look, struct buf *out)
{
	put_count(progress->calls, out);
	if (look->max_calls) {
		buf_str(out, " of ");
		put_count(look->max_calls, out);
	}
	buf_fmt(out, " calls, %.0f/s, %" PRIu64 " restarts, %" PRIu64 " kept; findings: ", progress->rate, progress->restarts, progress->kept);
	fuzz_view_severities(look->severities, out);
}

void fuzz_view_line(const struct fuzz_progress *progress, const struct fuzz_look *look, struct buf *out)
{
	put_time(progress, look, out);
	buf_str(out, ": ");
	put_sums(progress, look, out);
	if (progress->doing)
		buf_fmt(out, "; %s", progress->doing);
}

/* Each line cut to what fits: one that is wrapped would take two rows. */
static void put_cut(const struct buf *text, const struct fuzz_look *look, struct buf *out)
{
	const char *at = buf_text(text);

	for (unsigned rows = 0; *at && (!look->rows || rows + 1 < look->rows); rows++) {
		size_t len = strcspn(at, "\n"), cut = look->columns && len > look->columns - 1 ? look->columns - 1 : len;
		while (cut < len && cut > 0 && ((unsigned char)at[cut] & 0xc0) == 0x80)
			cut--;
		buf_add(out, at, cut);
		buf_char(out, '\n');
		at += len + (at[len] == '\n');
	}
}

void fuzz_view_block(const struct fuzz_progress *progress, const struct fuzz_look *look, struct buf *out)
{
	own(buf_done) struct buf text = {0};
	size_t room = look->rows > HEAD_LINES + 3 ? look->rows - HEAD_LINES - 2 : 1;

	put_name(look->name, strlen(look->name) < NAME_WIDTH ? strlen(look->name) + 3 : NAME_WIDTH, &text);
	put_time(progress, look, &text);
	buf_fmt(&text, "   %s\n", progress->doing ? progress->doing : "");
	put_sums(progress, look, &text);
	buf_char(&text, '\n');
	fuzz_view_subjects(progress, room, look->columns, &text);
	put_cut(&text, look, out);
}

void fuzz_view_found(const struct finding *finding, const char *what, struct buf *out)
{
	buf_fmt(out, "%s %s  %s  %s in ", what, finding->id, severity_name(finding_severity(finding)), finding->oracle);
	term_line(finding->subject, strlen(finding->subject), NAME_WIDTH * 2, out);
	buf_str(out, ": ");
	term_line(finding->message, strlen(finding->message), MESSAGE_SHOWN, out);
}
