#include "report/sarif.h"

#include <ctype.h>

static const char *const level_names[] = {
	[SARIF_NONE] = "none",
	[SARIF_NOTE] = "note",
	[SARIF_WARNING] = "warning",
	[SARIF_ERROR] = "error",
};

char *sarif_name(const char *id)
{
	struct buf name = {0};
	bool upper = true;

	for (; *id; id++) {
		if (isalnum((unsigned char)*id))
			buf_char(&name, (char)(upper ? toupper((unsigned char)*id) : *id));
		upper = !isalnum((unsigned char)*id);
	}
	return name.data ? buf_take(&name) : xstrdup("");
}

static void put_text(struct json *json, const char *key, const char *text, const char *markdown)
{
	json_key(json, key);
	json_open(json, '{');
	json_put_string(json, "text", text);
	if (markdown)
		json_put_string(json, "markdown", markdown);
	json_close(json, '}');
}

static void put_optional(struct json *json, const char *key, const char *text)
{
	if (text)
		json_put_string(json, key, text);
}

static void put_tags(struct json *json, const char *const *tags)
{
	if (!tags || !*tags)
		return;
	json_key(json, "tags");
	json_open(json, '[');
	for (; *tags; tags++)
		json_string(json, *tags);
	json_close(json, ']');
}

/* What code hosts read beyond the standard. */
static void put_properties(struct json *json, const struct sarif_rule *rule)
{
	json_key(json, "properties");
	json_open(json, '{');
	put_optional(json, "security-severity", rule->severity);
	json_put_string(json, "precision", "very-high");
	json_put_string(json, "problem.severity", rule->level == SARIF_ERROR ? "error" : "warning");
	put_tags(json, rule->tags);
	json_close(json, '}');
}

static void put_rule(struct json *json, const struct sarif_rule *rule)
{
	json_open(json, '{');
	json_put_string(json, "id", rule->id);
	json_put_string(json, "name", rule->name);
	put_text(json, "shortDescription", rule->summary, NULL);
	put_text(json, "fullDescription", rule->description, NULL);
	if (rule->help)
		put_text(json, "help", rule->help, rule->help_markdown);
	put_optional(json, "helpUri", rule->help_uri);
	json_key(json, "defaultConfiguration");
	json_open(json, '{');
	json_put_string(json, "level", level_names[rule->level]);
	json_close(json, '}');
	put_properties(json, rule);
	json_close(json, '}');
}

static void put_tool(struct json *json, const struct sarif_tool *tool, const struct sarif_rule *rules, size_t count)
{
	json_key(json, "tool");
	json_open(json, '{');
	json_key(json, "driver");
	json_open(json, '{');
	json_put_string(json, "name", tool->name);
	json_put_string(json, "version", tool->version);
	json_put_string(json, "semanticVersion", tool->version);
	put_optional(json, "informationUri", tool->uri);
	json_key(json, "rules");
	json_open(json, '[');
	for (size_t i = 0; i < count; i++)
		put_rule(json, &rules[i]);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
}

void sarif_begin(struct json *json, const struct sarif_tool *tool, const struct sarif_rule *rules, size_t count)
{
	json_open(json, '{');
	json_put_string(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_put_string(json, "version", "2.1.0");
	json_key(json, "runs");
	json_open(json, '[');
	json_open(json, '{');
	put_tool(json, tool, rules, count);
	json_put_string(json, "columnKind", "unicodeCodePoints");
	json_key(json, "results");
	json_open(json, '[');
}

static void put_physical(struct json *json, const struct sarif_result *result)
{
	json_key(json, "physicalLocation");
	json_open(json, '{');
	json_key(json, "artifactLocation");
	json_open(json, '{');
	json_put_string(json, "uri", result->path);
	json_close(json, '}');
	json_key(json, "region");
	json_open(json, '{');
	json_put_uint(json, "startLine", result->line);
	json_close(json, '}');
	json_close(json, '}');
}

static void put_logical(struct json *json, const char *name)
{
	json_key(json, "logicalLocations");
	json_open(json, '[');
	json_open(json, '{');
	json_put_string(json, "fullyQualifiedName", name);
	json_close(json, '}');
	json_close(json, ']');
}

/* As CodeQL writes it: the hash, and which of those that share it. */
static void put_line_hash(struct json *json, const char *hash)
{
	own(freep) char *text = xfmt("%s:1", hash);

	json_put_string(json, "primaryLocationLineHash", text);
}

static void put_suppressions(struct json *json, const char *why)
{
	json_key(json, "suppressions");
	json_open(json, '[');
	if (why) {
		json_open(json, '{');
		json_put_string(json, "kind", "external");
		json_put_string(json, "status", "accepted");
		json_put_string(json, "justification", why);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void sarif_result(struct json *json, const struct sarif_result *result)
{
	json_open(json, '{');
	json_put_string(json, "ruleId", result->rule);
	json_put_uint(json, "ruleIndex", result->rule_index);
	json_put_string(json, "level", level_names[result->level]);
	put_text(json, "message", result->message, NULL);
	json_key(json, "locations");
	json_open(json, '[');
	json_open(json, '{');
	put_physical(json, result);
	if (result->logical)
		put_logical(json, result->logical);
	json_close(json, '}');
	json_close(json, ']');
	json_key(json, "partialFingerprints");
	json_open(json, '{');
	json_put_string(json, "hotcell/v1", result->fingerprint);
	if (result->line_hash)
		put_line_hash(json, result->line_hash);
	json_close(json, '}');
	if (result->tells_suppression)
		put_suppressions(json, result->suppressed);
	if (result->severity) {
		json_key(json, "properties");
		json_open(json, '{');
		json_put_string(json, "security-severity", result->severity);
		put_tags(json, result->tags);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_notes(struct json *json, const char *const *notes, size_t count)
{
	json_key(json, "invocations");
	json_open(json, '[');
	json_open(json, '{');
	json_put_bool(json, "executionSuccessful", true);
	json_key(json, "toolExecutionNotifications");
	json_open(json, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, '{');
		json_put_string(json, "level", level_names[SARIF_WARNING]);
		put_text(json, "message", notes[i], NULL);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, ']');
}

void sarif_end(struct json *json)
{
	sarif_end_noting(json, NULL, 0);
}

void sarif_end_noting(struct json *json, const char *const *notes, size_t count)
{
	json_close(json, ']');
	if (count > 0)
		put_notes(json, notes, count);
	json_close(json, '}');
	json_close(json, ']');
	json_close(json, '}');
}
