/* A review as one page: for an auditor who has nothing but the file. */
#include <string.h>

#include "report/html.h"
#include "report/review.h"
#include "view/review.h"

static const struct {
	const char *class, *tile; /* of a tag; of a tile */
} looks[] = {
	[REVIEW_HELD] = {"held", "success"},
	[REVIEW_ESCAPED] = {"escaped", "error"},
	[REVIEW_DEGRADED] = {"degraded", "timeout"},
	[REVIEW_NOT_APPLICABLE] = {"none", "idle"},
	[REVIEW_FAILED] = {"failed", "error"},
};
_Static_assert(ARRAY_LEN(looks) == REVIEW_VERDICT_COUNT, "a verdict has no look");

/* ---- the head ---- */

static const char *verdict_of_all(const struct review *review, const char **ret_class)
{
	*ret_class = review->counts[REVIEW_ESCAPED] ? "escaped" : review->counts[REVIEW_FAILED] || review->counts[REVIEW_DEGRADED] ? "degraded" : "held";
	if (review->counts[REVIEW_ESCAPED])
		return "ESCAPED";
	if (review->counts[REVIEW_FAILED])
		return "not everything could be tried";
	return review->counts[REVIEW_DEGRADED] ? "held, where this machine can" : "held";
}

static void put_tiles(const struct review *review, struct buf *out)
{
	buf_str(out, "<div class=tiles>\n");
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++) {
		bool empty = review->counts[i] == 0;
		if (empty && i != REVIEW_HELD && i != REVIEW_ESCAPED)
			continue;
		buf_fmt(out, "<div class=%s><b>", empty ? "idle" : looks[i].tile);
		html_count(out, review->counts[i]);
		buf_fmt(out, "</b><small>%s</small></div>\n", review_verdict_name(i));
	}
	buf_str(out, "</div>\n");
}

static void put_facts(const struct review *review, struct buf *out)
{
	buf_str(out, "<div class=soft>");
	html_count(out, review->count);
	buf_fmt(out, " attacks on cells of the %s backend, as %s, ", review->backend, review->root ? "root" : "an ordinary user");
	html_text(out, review->time);
	buf_str(out, ", in ");
	html_duration(out, review->wall_ns);
	buf_str(out, ". Linux ");
	html_text(out, review->kernel);
	buf_char(out, ' ');
	html_text(out, review->machine);
	buf_str(out, ", image ");
	html_text(out, review->image ? review->image : "host");
	if (review->weakened) {
		buf_str(out, ", <b>weakened: ");
		html_text(out, review->weakened);
		buf_str(out, "</b>");
	}
	buf_str(out, ".</div>\n");
}

static bool has_rows(const struct review *review, const struct review_group *group)
{
	for (size_t i = 0; i < review->count; i++)
		if (review->rows[i].group == group)
			return true;
	return false;
}

static void put_header(const struct review *review, struct buf *out)
{
	const char *class, *verdict = verdict_of_all(review, &class);

	buf_fmt(out, "<header><h1>Review <span class=%s>%s</span></h1>\n", class, verdict);
	put_facts(review, out);
	buf_str(out, "<nav>");
	if (review->counts[REVIEW_HELD] + review->counts[REVIEW_NOT_APPLICABLE] < review->count)
		buf_str(out, "<a href=\"#open\">Not held</a>");
	buf_str(out, "<a href=\"#receipt\">Receipt</a>");
	for (const struct review_group *group = review_groups; group->name; group++)
		if (has_rows(review, group))
			buf_fmt(out, "<a href=\"#%s\">%s</a>", group->name, group->title);
	buf_str(out, "</nav>\n");
	put_tiles(review, out);
	buf_str(out, "</header>\n");
}

/* ---- attacks ---- */

static void fact(struct buf *out, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	buf_fmt(out, "<dt>%s</dt><dd>", what);
	html_text(out, text);
	buf_str(out, "</dd>");
}

static void put_evidence(const struct review_row *row, struct buf *out)
{
	buf_str(out, "<dt>Evidence</dt><dd>");
	if (*row->reason)
		html_text(out, row->reason);
	else
		buf_str(out, row->attack->own_word ? "nothing worked, by its own word; no observer saw anything" : "no observer saw anything");
	if (row->tries) {
		buf_str(out, "; ");
		html_count(out, row->tries);
		buf_str(out, row->tries == 1 ? " try" : " tries");
	}
	buf_str(out, "; ");
	html_duration(out, row->wall_ns);
	buf_str(out, "</dd>");
}

static void put_row(const struct review_row *row, struct buf *out)
{
	const struct review_attack *attack = row->attack;
	bool open = row->verdict == REVIEW_ESCAPED;
	own(buf_done) struct buf held_by = {0};

	review_held_by(attack, "", &held_by);
	buf_fmt(out, "<details%s><summary><span class=\"tag %s\">%s</span><span class=\"what columns\"><code>", open ? " open" : "", looks[row->verdict].class,
		review_verdict_name(row->verdict));
	html_text(out, attack->id);
	buf_str(out, "</code> <span>");
	html_text(out, attack->technique);
	buf_str(out, "</span></span></summary>\n<dl>");
	fact(out, "Must come of it", attack->safe);
	fact(out, "Held by", buf_text(&held_by));
	fact(out, "Judged by", review_judged_by(attack));
	fact(out, "CVE", attack->cve);
	fact(out, "Lacking here", row->lacking);
	put_evidence(row, out);
	buf_str(out, "</dl></details>\n");
}

static void put_group(const struct review *review, const struct review_group *group, struct buf *out)
{
	if (!has_rows(review, group))
		return;
	buf_fmt(out, "<section id=%s><h2>%s</h2>\n", group->name, group->title);
	for (size_t i = 0; i < review->count; i++)
		if (review->rows[i].group == group)
			put_row(&review->rows[i], out);
	buf_str(out, "</section>\n");
}

/* What somebody must read: worst first. */
static void put_open(const struct review *review, struct buf *out)
{
	static const enum review_verdict order[] = {REVIEW_ESCAPED, REVIEW_FAILED, REVIEW_DEGRADED};

	if (review->counts[REVIEW_HELD] + review->counts[REVIEW_NOT_APPLICABLE] == review->count)
		return;
	buf_str(out, "<section id=open><h2>Not held</h2>\n<table class=verdicts><tr><th>Verdict</th><th>Attack</th><th>What was seen</th></tr>\n");
	for (size_t at = 0; at < ARRAY_LEN(order); at++) {
		for (size_t i = 0; i < review->count; i++) {
			const struct review_row *row = &review->rows[i];
			if (row->verdict != order[at])
				continue;
			buf_fmt(out, "<tr><td><span class=\"tag %s\">%s</span></td><td><code>", looks[row->verdict].class,
				review_verdict_name(row->verdict));
			html_text(out, row->attack->id);
			buf_str(out, "</code></td><td>");
			html_text(out, row->reason);
			buf_str(out, "</td></tr>\n");
		}
	}
	buf_str(out, "</table>\n");
	if (review->counts[REVIEW_DEGRADED])
		buf_str(out, "<p class=note><code>hotcell doctor</code> tells how this machine can have what is lacking.</p>\n");
	buf_str(out, "</section>\n");
}

/* ---- the receipt ---- */

static void put_protection(const char *name, const struct value *protection, struct buf *out)
{
	const struct value *state = value_get(protection, "state"), *note = value_get(protection, "note");
	const char *text = state && state->text ? state->text : "";

	buf_str(out, "<tr><td><code>");
	html_text(out, name);
	buf_fmt(out, "</code></td><td class=%s>", strcmp(text, "on") == 0 ? "success" : strcmp(text, "off") == 0 ? "error" : "timeout");
	html_text(out, text);
	buf_str(out, "</td><td class=soft>");
	html_text(out, note ? note->text : NULL);
	buf_str(out, "</td></tr>\n");
}

static void put_receipt(const struct review *review, struct buf *out)
{
	const struct value *protections = value_get(&review->receipt, "protections");
	size_t on, count, lacking = 0;

	review_protections(review, &on, &count);
	buf_fmt(out, "<section id=receipt><h2>Receipt</h2>\n<details><summary>An ordinary cell had <b>%zu of %zu</b> protections in full",
		on, count);
	for (size_t i = 0; i < count; i++) {
		const struct value *state = value_get(&protections->items[i], "state");
		if (!state || !state->text || strcmp(state->text, "on") == 0)
			continue;
		buf_str(out, lacking++ ? ", " : "; not ");
		html_text(out, protections->keys[i]);
	}
	buf_str(out, ".</summary>\n<table>\n");
	for (size_t i = 0; i < count; i++)
		put_protection(protections->keys[i], &protections->items[i], out);
	buf_str(out, "</table></details>\n</section>\n");
}

/* Whose verdicts they are. */
static void put_footer(const struct review *review, struct buf *out)
{
	size_t told = 0;

	for (size_t i = 0; i < review->count; i++)
		told += review->rows[i].attack->own_word;
	buf_str(out, "<footer>Made by hotcell " HOTCELL_VERSION ". The verdicts are those of observers outside of the cells");
	if (told) {
		buf_str(out, ", but for ");
		html_count(out, told);
		buf_str(out, told == 1 ? " attack that is" : " attacks that are");
		buf_str(out, " judged by its own word: if what holds it were gone, only its program would tell");
	}
	buf_str(out, ". That all attacks were held is evidence, not proof: <code>hotcell review --threats</code> tells what is not "
		     "covered.</footer>\n");
}

void review_html(const struct review *review, struct buf *out)
{
	html_begin(out, "Review");
	put_header(review, out);
	buf_str(out, "<main>\n");
	put_open(review, out);
	put_receipt(review, out);
	for (const struct review_group *group = review_groups; group->name; group++)
		put_group(review, group, out);
	buf_str(out, "</main>\n");
	put_footer(review, out);
	buf_str(out, "</body></html>\n");
}
