/* What every report says of a row in the same words: what holds it, and who says so. */
#include <string.h>

#include "review/review.h"

static void put_names(const char *names, const char *quote, struct buf *out)
{
	for (const char *at = names; *at; at += strcspn(at, " "), at += *at == ' ')
		buf_fmt(out, "%s%s%.*s%s", at == names ? "" : ", ", quote, (int)strcspn(at, " "), at, quote);
}

void review_held_by(const struct review_attack *attack, const char *quote, struct buf *out)
{
	const size_t before = out->len;

	if (attack->without)
		put_names(attack->without, quote, out);
	if (attack->wants) {
		buf_str(out, out->len > before ? "; " : "");
		put_names(attack->wants, quote, out);
		buf_str(out, " (degraded for want of it; no test leaves it out)");
	}
	if (attack->by)
		buf_fmt(out, "%s%s", out->len > before ? "; " : "", attack->by);
	if (out->len == before)
		buf_str(out, "nothing that has a name");
}

const char *review_judged_by(const struct review_attack *attack)
{
	return attack->own_word ? "its own word" : "observers";
}
