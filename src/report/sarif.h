/* Writes SARIF 2.1.0, the format that code hosts and editors take findings in. Pure; texts may be anybody's.
 *
 *	sarif_begin(&json, &tool, rules, rule_count);
 *	for (...) sarif_result(&json, &result);
 *	sarif_end(&json);
 */
#ifndef HOTCELL_REPORT_SARIF_H
#define HOTCELL_REPORT_SARIF_H

#include "base/json.h"

enum sarif_level { SARIF_NONE, SARIF_NOTE, SARIF_WARNING, SARIF_ERROR };

struct sarif_tool {
	const char *name, *version; /* the version: semantic */
	const char *uri; /* where it is explained; absolute, or NULL */
};

/* What can be found. All texts but those that may be NULL must be there. */
struct sarif_rule {
	const char *id; /* stable; results name it */
	const char *name; /* for people and machines: PascalCase */
	const char *summary, *description; /* a sentence; a paragraph. They end with a full stop */
	const char *help; /* plain text, what to do about it; or NULL */
	const char *help_markdown; /* the same; or NULL */
	const char *help_uri; /* absolute; or NULL */
	enum sarif_level level; /* of its results, where they say nothing else */
	const char *severity; /* "9.8": 0.0 to 10.0 as CVSS counts, which sorts them at a code host; or NULL */
	const char *const *tags; /* NULL-terminated, or NULL */
};

struct sarif_result {
	const char *rule; /* its id */
	size_t rule_index; /* its place among the rules */
	enum sarif_level level;
	const char *message; /* it ends with a full stop */
	const char *path; /* a relative URI, from the top of the repository; or an absolute one */
	unsigned line; /* from 1 */
	const char *logical; /* the name of what it is about, where that is in no file; or NULL */
	const char *fingerprint; /* the same for what is the same the next time */
	const char *line_hash; /* what GitHub takes for that: 16 hexadecimal digits; NULL: it makes one of the line */
	bool tells_suppression; /* some of the run are suppressed: then each must say whether it is */
	const char *suppressed; /* why it does not count; NULL: it does */
	const char *severity; /* from "0.0" to "10.0", where it differs from its rule's; NULL: its rule's */
	const char *const *tags; /* of this one; NULL-terminated; may be NULL */
};

/* "TwoWords" for "two.words" or "two-words", as a rule's name must be. The caller frees. */
char *sarif_name(const char *id);

void sarif_begin(struct json *json, const struct sarif_tool *tool, const struct sarif_rule *rules, size_t count);
void sarif_result(struct json *json, const struct sarif_result *result);
void sarif_end(struct json *json);
/* The same, with what is to be said of the run as a whole: warnings, each ending with a full stop. */
void sarif_end_noting(struct json *json, const char *const *notes, size_t count);

#endif
