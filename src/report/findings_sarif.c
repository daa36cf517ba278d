/* Findings as SARIF, within what GitHub's code scanning takes: a rule for every oracle, a result for each finding that is
 * not fixed. */
#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "base/own.h"
#include "report/sarif.h"
#include "base/utf8.h"
#include "report/findings_private.h"

#define RESULTS_MAX 25000 /* of a run; more and the whole file is refused */
/* A file of more than 10 MB is refused, counted when it is packed. What is below that unpacked is so however badly it packs. */
#define BYTES_MAX ((size_t)9900 << 10)
#define MESSAGE_MAX 800
#define REASON_MAX 800
#define PATH_BYTES 1000
#define LINE_MAX_KNOWN 0x7fffffffu /* readers count lines with 32 bits and a sign */
#define RULES_MAX 64
#define NOTES_MAX 100
#define NOTE_MAX 600

/* ---- texts ---- */

/* A reader takes [text](place) for a link, and {0} for a place to fill in: no stranger puts one there. */
static void put_plain(struct buf *out, const char *text, size_t max)
{
	size_t len = text_cut(text, max);

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c == 0x7f)
			buf_char(out, ' ');
		else
			buf_char(out, (char)c);
		if ((c == ']' && text[i + 1] == '(') || (c == '{' && text[i + 1] >= '0' && text[i + 1] <= '9'))
			buf_char(out, ' ');
	}
	if (text[len])
		buf_str(out, "...");
}

static void end_sentence(struct buf *out)
{
	if (out->len == 0 || !strchr(".!?", out->data[out->len - 1]))
		buf_char(out, '.');
}

/* The first sentence is what a list of results shows. */
static void message_text(const struct finding *finding, struct buf *out)
{
	own(buf_done) struct buf again = {0}, reproduced = {0};

	put_plain(out, finding->subject, MESSAGE_MAX / 4);
	buf_str(out, ": ");
	put_plain(out, finding->message, MESSAGE_MAX);
	end_sentence(out);
	finding_reproduced(finding, &reproduced);
	finding_command(finding, NULL, &again);
	buf_fmt(out, " Reproduced %s. To reproduce it: '%s'.", buf_text(&reproduced), buf_text(&again));
}

/* ---- places ---- */

/* From the top of the repository, and nowhere else. */
static bool is_inside(const char *path)
{
	if (*path == '/' || !*path || strlen(path) > PATH_BYTES)
		return false;
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
			return false;
	}
	return true;
}

static void place_uri(const struct finding *finding, const char *folder, struct buf *out)
{
	const char *file = finding->file;
	own(buf_done) struct buf capsule = {0};

	if (!file || !is_inside(file)) {
		finding_capsule(finding, folder && is_inside(folder) ? folder : NULL, &capsule);
		file = buf_text(&capsule);
	}
	while (strncmp(file, "./", 2) == 0)
		file += 2 + strspn(file + 2, "/");
	html_path(out, file);
}

/* ---- rules ---- */

/* A rule's texts, which it borrows. */
struct rule_texts {
	char *id, *name, *summary, *help, *markdown, *uri, *cwe;
	const char *tags[4];
};

static enum sarif_level level_of(enum severity severity)
{
	const char *level = severity_level(severity);

	return strcmp(level, "error") == 0 ? SARIF_ERROR : strcmp(level, "warning") == 0 ? SARIF_WARNING : SARIF_NOTE;
}

static void rule_make(const struct finding_rule *from, struct rule_texts *texts, struct sarif_rule *ret)
{
	texts->id = xfmt("hotcell/%s", from->oracle);
	texts->name = sarif_name(from->oracle);
	texts->summary = xfmt("%s.", from->title);
	texts->help = xfmt("%s Severity: %s, since %s. 'hotcell findings show ID' prints all of one; 'hotcell findings repro ID' reproduces it.",
		from->help, severity_name(from->severity), from->why);
	texts->markdown = xfmt("%s\n\n**Severity:** %s, since %s.\n\n- `hotcell findings show ID` tells all of one.\n"
			       "- `hotcell findings repro ID` reproduces it.\n- `hotcell findings suppress ID --reason TEXT` says why it may stay.\n",
		from->help, severity_name(from->severity), from->why);
	texts->uri = from->cwe ? xfmt("https://cwe.mitre.org/data/definitions/%d.html", from->cwe) : NULL;
	texts->cwe = from->cwe ? xfmt("external/cwe/cwe-%03d", from->cwe) : NULL;
	texts->tags[0] = "security";
	texts->tags[1] = "fuzzing";
	texts->tags[2] = texts->cwe;
	*ret = (struct sarif_rule){.id = texts->id, .name = texts->name, .summary = texts->summary, .description = from->help,
		.help = texts->help, .help_markdown = texts->markdown, .help_uri = texts->uri, .level = level_of(from->severity),
		.severity = severity_score(from->severity), .tags = texts->tags};
}

static void rule_done(struct rule_texts *texts)
{
	char *const owned[] = {texts->id, texts->name, texts->summary, texts->help, texts->markdown, texts->uri, texts->cwe};

	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		free(owned[i]);
}

/* ---- results ---- */

static void put_result(const struct findings *findings, const struct finding *finding, const struct sarif_rule *rules, size_t rule_count,
	bool tells, struct json *json)
{
	bool suppressed = finding_is_suppressed(finding, findings->now);
	own(buf_done) struct buf message = {0}, uri = {0}, reason = {0}, logical = {0};
	struct finding_weakness weakness = finding_weakness(finding);
	own(freep) char *cwe = weakness.cwe ? xfmt("external/cwe/cwe-%03d", weakness.cwe) : NULL;
	const char *const tags[] = {cwe, NULL};
	size_t index = 0;

	while (index < rule_count && strcmp(finding_rules[index].oracle, finding->oracle) != 0)
		index++;
	if (index == rule_count)
		return;
	message_text(finding, &message);
	place_uri(finding, findings->capsule_folder, &uri);
	put_plain(&logical, finding->subject, MESSAGE_MAX / 4);
	if (suppressed)
		put_plain(&reason, finding->reason ? finding->reason : "", REASON_MAX);
	sarif_result(json, &(struct sarif_result){
		.rule = rules[index].id,
		.rule_index = index,
		.level = level_of(weakness.severity),
		.severity = severity_score(weakness.severity),
		.tags = tags,
		.message = buf_text(&message),
		.path = buf_text(&uri),
		.line = finding->file && is_inside(finding->file) && finding->line && finding->line <= LINE_MAX_KNOWN ? finding->line : 1,
		.logical = logical.len ? buf_text(&logical) : NULL,
		.fingerprint = finding->id,
		.line_hash = finding->id,
		.tells_suppression = tells,
		.suppressed = suppressed ? buf_text(&reason) : NULL,
	});
}

/* Returns how many there was no room for: the last, which are the least severe. */
static size_t put_results(const struct findings *findings, const struct sarif_rule *rules, size_t rule_count, struct json *json)
{
	struct finding_counts counts;
	size_t put = 0, left = 0;

	findings_count(findings, &counts);
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->list[i]->state == FINDING_FIXED)
			continue;
		if (put >= RESULTS_MAX || json->out.len > BYTES_MAX) {
			left++;
			continue;
		}
		put_result(findings, findings->list[i], rules, rule_count, counts.suppressed > 0, json);
		put++;
	}
	return left;
}

static void put_end(const struct findings *findings, size_t left, struct json *json)
{
	size_t gaps = findings->gaps ? findings->gaps->count : 0, count = 0;
	char *notes[NOTES_MAX + 1];

	if (left)
		notes[count++] = xfmt("%zu findings are left out, the least severe: there is no room for them in one upload.", left);
	for (size_t i = 0; i < gaps && count < NOTES_MAX; i++) {
		own(buf_done) struct buf note = {0};
		buf_str(&note, "Limitation: ");
		put_plain(&note, findings->gaps->items[i], NOTE_MAX);
		end_sentence(&note);
		notes[count++] = buf_take(&note);
	}
	sarif_end_noting(json, (const char *const *)notes, count);
	for (size_t i = 0; i < count; i++)
		free(notes[i]);
}

void findings_sarif(const struct findings *findings, struct buf *out)
{
	const struct sarif_tool tool = {.name = "hotcell", .version = findings->version ? findings->version : HOTCELL_VERSION};
	struct rule_texts texts[RULES_MAX] = {0};
	struct sarif_rule rules[RULES_MAX];
	own(json_done) struct json json = {0};
	size_t count = 0;

	for (; finding_rules[count].oracle && count < RULES_MAX; count++)
		rule_make(&finding_rules[count], &texts[count], &rules[count]);
	sarif_begin(&json, &tool, rules, count);
	size_t left = put_results(findings, rules, count, &json);
	put_end(findings, left, &json);
	for (size_t i = 0; i < count; i++)
		rule_done(&texts[i]);
	buf_add(out, json.out.data, json.out.len);
	buf_char(out, '\n');
}
