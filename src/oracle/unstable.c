/* Whether two answers to the same call differ in more than times and identifiers. */
#include <ctype.h>
#include <string.h>

#include "oracle/look.h"

#define NORMAL_MAX ((size_t)1 << 20) /* bytes of an answer that are compared */

/* Names that come with times. */
static bool is_calendar(const char *word, size_t len)
{
	static const char *const names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr",
		"May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "AM", "PM", NULL};

	for (size_t i = 0; names[i]; i++)
		if (strlen(names[i]) == len && strncmp(names[i], word, len) == 0)
			return true;
	return false;
}

static bool is_unit(struct span after)
{
	static const char *const units[] = {"ms", "us", "ns", "s", "sec", "seconds", "milliseconds", "\xc2\xb5s"};

	while (after.len && *after.at == ' ')
		after = (struct span){after.at + 1, after.len - 1};
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t len = strlen(units[i]);
		if (span_begins(after, units[i]) && (after.len == len || !isalnum((unsigned char)after.at[len])))
			return true;
	}
	return false;
}

/* The length of a word that varies from one time to the next, 0: it does not. Dates, times, long numbers, sums,
 * identifiers, addresses, durations; not small numbers, which are what an answer is about. */
static size_t varying(struct span at)
{
	size_t len = 0, digits = 0, hex = 0, marks = 0;

	while (len < at.len && len < 256 &&
		(isalnum((unsigned char)at.at[len]) || (len > 0 && strchr("-:.+_", at.at[len] ? at.at[len] : ' ')))) {
		digits += isdigit((unsigned char)at.at[len]) != 0;
		hex += isxdigit((unsigned char)at.at[len]) != 0;
		marks += !isalnum((unsigned char)at.at[len]);
		len++;
	}
	while (len > 0 && !isalnum((unsigned char)at.at[len - 1]))
		len--, marks--;
	if (is_calendar(at.at, len)) { /* and the day of the month behind it */
		size_t day = len + (len < at.len && at.at[len] == ' ');
		while (day < at.len && day < len + 3 && isdigit((unsigned char)at.at[day]))
			day++;
		return day > len + 1 ? day : len;
	}
	if (digits >= 1 && len > 2 && span_begins(at, "0x"))
		return len;
	bool times = isdigit((unsigned char)*at.at) && digits >= 4 && marks >= 2;
	bool sums = digits >= 1 && len >= 8 && hex + marks == len;
	bool mixed = digits >= 3 && len >= 12;
	return times || sums || mixed ||
			(digits && digits + marks == len && is_unit((struct span){at.at + len, at.len - len}))
		? len
		: 0;
}

/* The places of what stays are kept, to be quoted. */
static void normalise(struct span text, struct buf *ret, size_t **places)
{
	bool inside = false;
	size_t count = 0;

	*places = xcalloc(text.len + 1, sizeof(**places));
	for (size_t i = 0; i < text.len;) {
		size_t skip = inside ? 0 : varying((struct span){text.at + i, text.len - i});
		(*places)[count++] = i;
		buf_char(ret, skip ? '#' : text.at[i]);
		i += skip ? skip : 1;
		inside = isalnum((unsigned char)text.at[i - 1]);
	}
	(*places)[count] = text.len;
}

static struct span bounded(const char *text, size_t len)
{
	return (struct span){text, len < NORMAL_MAX ? len : NORMAL_MAX};
}

void judge_unstable(const struct observation *seen, struct verdicts *ret)
{
	own(buf_done) struct buf now = {0}, then = {0};
	own(freep) size_t *now_at = NULL, *then_at = NULL;
	const struct reply *reply = &seen->reply;

	if (!seen->before || !reply->text || reply->cut || (reply->kind != REPLY_OK && reply->kind != REPLY_REJECTED))
		return;
	struct span texts[] = {bounded(reply->text, reply->len), bounded(seen->before, seen->before_len)};
	normalise(texts[0], &now, &now_at);
	normalise(texts[1], &then, &then_at);
	size_t same = 0, least = now.len < then.len ? now.len : then.len;
	while (same < least && now.data[same] == then.data[same])
		same++;
	/* where both were cut off, that they end at different places says nothing */
	if ((same == now.len && same == then.len) ||
		(same == least && (texts[0].len == NORMAL_MAX || texts[1].len == NORMAL_MAX)))
		return;
	struct verdict *verdict = verdict_add(ret, "unstable", "the same input has another answer on another fresh session");
	verdict_quote(verdict, "this answer", texts[0].at, texts[0].len, now_at[same], 80);
	verdict_quote(verdict, "the other", texts[1].at, texts[1].len, then_at[same], 80);
}
