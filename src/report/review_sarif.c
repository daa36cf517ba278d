/* A review as SARIF: a rule for every attack that was asked for, a result for each that was not held. */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/sarif.h"
#include "report/review.h"

static const enum sarif_level levels[] = {
	[REVIEW_HELD] = SARIF_NONE,
	[REVIEW_ESCAPED] = SARIF_ERROR,
	[REVIEW_DEGRADED] = SARIF_WARNING,
	[REVIEW_NOT_APPLICABLE] = SARIF_NONE,
	[REVIEW_FAILED] = SARIF_NOTE,
};
_Static_assert(ARRAY_LEN(levels) == REVIEW_VERDICT_COUNT, "a verdict has no level");

/* A rule's texts, which it borrows. */
struct texts {
	char *name, *summary, *description, *help, *uri;
};

static void texts_done(struct texts *texts)
{
	free(texts->name);
	free(texts->summary);
	free(texts->description);
	free(texts->help);
	free(texts->uri);
}

/* A table's line as a sentence. */
static char *sentence(const char *line)
{
	char *text = xfmt("%s.", line);

	if (text[0] >= 'a' && text[0] <= 'z')
		text[0] = (char)(text[0] - 'a' + 'A');
	return text;
}

/* Where the first CVE of a list is told of. */
static char *cve_uri(const char *list)
{
	return list ? xfmt("https://nvd.nist.gov/vuln/detail/%.*s", (int)strcspn(list, ", "), list) : NULL;
}

static void texts_make(const struct review_attack *attack, struct texts *ret)
{
	own(buf_done) struct buf held_by = {0};

	review_held_by(attack, "", &held_by);
	ret->name = sarif_name(attack->id);
	ret->summary = sentence(attack->technique);
	ret->description = xfmt("%s What must come of it: %s.%s%s%s", ret->summary, attack->safe, attack->cve ? " Known as " : "",
		attack->cve ? attack->cve : "", attack->cve ? "." : "");
	ret->help = xfmt("Held by: %s. Judged by: %s. 'hotcell doctor' tells what this machine cannot give and how to get it; 'hotcell review --only %s' "
			 "tries it again.",
		buf_text(&held_by), review_judged_by(attack), attack->id);
	ret->uri = cve_uri(attack->cve);
}

static void put_result(const struct review_row *row, size_t index, const char *where, struct json *json)
{
	own(freep) char *message = xfmt("The attack '%s' is '%s': %s%s", row->attack->id, review_verdict_name(row->verdict), row->reason,
		*row->reason && row->reason[strlen(row->reason) - 1] == '.' ? "" : ".");
	own(buf_done) struct buf uri = {0};

	html_path(&uri, where);
	sarif_result(json, &(struct sarif_result){
		.rule = row->attack->id,
		.rule_index = index,
		.level = levels[row->verdict],
		.message = message,
		.path = buf_text(&uri),
		.line = 1,
		.logical = row->attack->id,
		.fingerprint = row->attack->id,
	});
}

void review_sarif(const struct review *review, const char *where, struct json *json)
{
	static const char *const tags[] = {"security", "sandbox", NULL};
	static const struct sarif_tool tool = {.name = "hotcell review", .version = HOTCELL_VERSION};
	struct texts *texts = xcalloc(review->count, sizeof(*texts));
	own(freep) struct sarif_rule *rules = xcalloc(review->count, sizeof(*rules));

	for (size_t i = 0; i < review->count; i++) {
		texts_make(review->rows[i].attack, &texts[i]);
		rules[i] = (struct sarif_rule){.id = review->rows[i].attack->id, .name = texts[i].name, .summary = texts[i].summary,
			.description = texts[i].description, .help = texts[i].help, .help_uri = texts[i].uri, .level = SARIF_ERROR,
			.severity = "9.0", .tags = tags};
	}
	sarif_begin(json, &tool, rules, review->count);
	for (size_t i = 0; i < review->count; i++)
		if (levels[review->rows[i].verdict] != SARIF_NONE)
			put_result(&review->rows[i], i, where, json);
	sarif_end(json);
	for (size_t i = 0; i < review->count; i++)
		texts_done(&texts[i]);
	free(texts);
}
