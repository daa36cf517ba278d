/* Findings in words. See words.h. */
#include "finding/words.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/own.h"

const char *finding_state_now(const struct finding *finding, int64_t now)
{
	if (finding->state == FINDING_SUPPRESSED && !finding_is_suppressed(finding, now))
		return "expired";
	return finding_state_name(finding->state);
}

void finding_date(int64_t seconds, struct buf *out)
{
	time_t at = (time_t)seconds;
	struct tm tm;
	char text[40];

	/* a capsule may be a stranger's, and say any number */
	if (seconds <= 0 || seconds > INT64_C(253402300799) || !gmtime_r(&at, &tm) ||
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm) == 0)
		buf_str(out, "-");
	else
		buf_str(out, text);
}

void finding_state_text(const struct finding *finding, int64_t now, struct buf *out)
{
	bool holds = finding_is_suppressed(finding, now);

	if (finding->state != FINDING_SUPPRESSED) {
		buf_str(out, finding_state_name(finding->state));
		return;
	}
	buf_str(out, holds ? "suppressed" : "open: its suppression ended");
	if (finding->until) {
		buf_str(out, holds ? " until " : " on ");
		finding_date(finding->until, out);
	}
	if (finding->reason)
		buf_fmt(out, ": %s", finding->reason);
}

void finding_reproduced(const struct finding *finding, struct buf *out)
{
	if (finding->tried == 0) {
		buf_str(out, "not tried");
		return;
	}
	buf_fmt(out, "%u of %u times", finding->seen, finding->tried);
	if (finding_is_flaky(finding))
		buf_str(out, " (flaky)");
}

size_t text_cut(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	len = max;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return max - len < 4 ? len : max; /* more in a row are no character at all */
}

/* ---- counts ---- */

void findings_count(const struct findings *findings, struct finding_counts *ret)
{
	*ret = (struct finding_counts){0};
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->list[i];
		bool suppressed = finding_is_suppressed(finding, findings->now);
		ret->all[finding_severity(finding)]++;
		ret->suppressed += suppressed;
		ret->expired += finding->state == FINDING_SUPPRESSED && !suppressed;
		ret->fixed += finding->state == FINDING_FIXED;
		ret->open += finding->state != FINDING_FIXED && !suppressed;
	}
}

void findings_summary(const struct findings *findings, struct buf *out)
{
	struct finding_counts counts;
	const char *between = ": ";

	findings_count(findings, &counts);
	if (findings->count == 0) {
		buf_str(out, "no findings");
		return;
	}
	buf_fmt(out, "%zu finding%s", findings->count, findings->count == 1 ? "" : "s");
	for (int i = SEVERITY_COUNT - 1; i >= 0; i--) {
		if (!counts.all[i])
			continue;
		buf_fmt(out, "%s%zu %s", between, counts.all[i], severity_name((enum severity)i));
		between = ", ";
	}
	if (counts.suppressed)
		buf_fmt(out, "; %zu suppressed", counts.suppressed);
	if (counts.expired)
		buf_fmt(out, "; %zu whose suppression has ended", counts.expired);
	if (counts.fixed)
		buf_fmt(out, "; %zu fixed", counts.fixed);
}

/* ---- how to reproduce it ---- */

static void put_word(const char *word, struct buf *out)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";

	if (*word && strspn(word, safe) == strlen(word)) {
		buf_str(out, word);
		return;
	}
	buf_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_str(out, "'\\''");
		else
			buf_char(out, *word);
	}
	buf_char(out, '\'');
}

void finding_words(const struct strings *words, struct buf *out)
{
	for (size_t i = 0; i < words->count; i++) {
		if (i > 0)
			buf_char(out, ' ');
		put_word(words->items[i], out);
	}
}

void finding_capsule(const struct finding *finding, const char *folder, struct buf *out)
{
	buf_fmt(out, "%s/%s.json", folder ? folder : FINDING_FOLDER, finding->id);
}

void finding_command(const struct finding *finding, const char *capsule_folder, struct buf *out)
{
	static const char own_folder[] = "/findings";
	size_t len = capsule_folder ? strlen(capsule_folder) : 0, tail = sizeof(own_folder) - 1;

	buf_str(out, "hotcell findings repro ");
	if (capsule_folder && strcmp(capsule_folder, FINDING_FOLDER) != 0 && len > tail &&
		strcmp(capsule_folder + len - tail, own_folder) == 0) {
		own(freep) char *state = xfmt("%.*s", (int)(len - tail), capsule_folder);
		buf_str(out, "--state ");
		put_word(state, out);
		buf_char(out, ' ');
	}
	buf_str(out, finding->id);
}
