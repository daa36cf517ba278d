/* How soon a planted bug is found and made small by src/schema alone, without a process to call:
 *
 *	find BUG SCHEMA [SEED [MOST]]	values until the first that has it, then the smallest, as one line of JSON
 *
 * The bugs are those of planted/bugs.py. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "schema/shrink.h"

#define MOST_DEFAULT 10000000ul

static uint64_t cpu_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- what the predicates look at ---- */

static bool has(const struct value *text, const char *part)
{
	return text && text->kind == VALUE_TEXT && memmem(text->text, text->len, part, strlen(part)) != NULL;
}

static double number(const struct value *value, double otherwise)
{
	return value && value->kind == VALUE_NUMBER ? strtod(value->text, NULL) : otherwise;
}

/* Whether one of the values in it, or it itself, is such a one. */
static bool any(const struct value *value, bool (*is)(const struct value *))
{
	if (is(value))
		return true;
	for (size_t i = 0; i < value->count; i++) {
		if (any(&value->items[i], is))
			return true;
	}
	return false;
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c | 0x20) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* ---- the bugs ---- */

static bool file_traversal(const struct value *args)
{
	const struct value *path = value_get(args, "path");
	own(buf_done) struct buf plain = {0};

	if (has(path, ".."))
		return false;
	for (size_t i = 0; i < path->len; i++) {
		bool coded = path->text[i] == '%' && i + 2 < path->len && hex(path->text[i + 1]) >= 0 && hex(path->text[i + 2]) >= 0;
		buf_char(&plain, coded ? (char)(hex(path->text[i + 1]) * 16 + hex(path->text[i + 2])) : path->text[i]);
		i += coded ? 2 : 0;
	}
	return memmem(buf_text(&plain), plain.len, "../", 3) != NULL;
}

static bool file_quote_zero(const struct value *args)
{
	return has(value_get(args, "path"), "\"") && number(value_get(args, "offset"), 1) == 0;
}

static bool file_offset(const struct value *args)
{
	return number(value_get(args, "offset"), 0) == 65536;
}

static bool grammar_control(const struct value *args)
{
	const struct value *sentence = value_get(args, "sentence");

	for (size_t i = 0; i < sentence->len; i++) {
		unsigned char c = (unsigned char)sentence->text[i];
		bool high = c == 0xc2 && i + 1 < sentence->len && (unsigned char)sentence->text[i + 1] < 0xa0;
		if (c >= ' ' && c != 127 && !high)
			return false;
		i += high;
	}
	return true;
}

static bool grammar_format(const struct value *args)
{
	const struct value *sentence = value_get(args, "sentence");

	for (size_t i = 0; i + 1 < sentence->len; i++) {
		if (sentence->text[i] == '%' && sentence->text[i + 1] >= 'a' && sentence->text[i + 1] <= 'z')
			return true;
	}
	return false;
}

static bool grammar_focus(const struct value *args)
{
	const struct value *focus = value_get(args, "focus"), *student = value_get(args, "student");

	return focus && focus->count >= 3 && student && number(value_get(student, "age"), 0) >= 100;
}

static bool http_splitting(const struct value *args)
{
	const struct value *headers = value_get(args, "headers");

	for (size_t i = 0; headers && i < headers->count; i++) {
		for (size_t j = 0; headers->items[i].kind == VALUE_LIST && j < headers->items[i].count; j++) {
			if (has(&headers->items[i].items[j], "\r"))
				return true;
		}
	}
	return false;
}

static bool http_port(const struct value *args)
{
	const char *at = strstr(value_get(args, "url")->text, "://");

	at = at ? at + 3 + strcspn(at + 3, ":/") : "";
	return *at == ':' && strtol(at + 1, NULL, 10) > 65535;
}

static bool http_traversal(const struct value *args)
{
	return strcasestr(value_get(args, "url")->text, "%2e%2e") != NULL;
}

static bool drops(const struct value *value)
{
	return has(value, "--") && has(value, "DROP");
}

static bool sql_drop(const struct value *args)
{
	return any(value_get(args, "operation"), drops);
}

static bool is_int_limit(const struct value *value)
{
	return number(value, 0) == 2147483648.0;
}

static bool sql_int(const struct value *args)
{
	return any(value_get(args, "operation"), is_int_limit);
}

static bool sql_column_twice(const struct value *args)
{
	const struct value *columns = value_get(value_get(args, "operation"), "columns");

	for (size_t i = 0; columns && i < columns->count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(columns->items[i].text, columns->items[j].text) == 0)
				return true;
		}
	}
	return false;
}

static unsigned depth(const struct value *node)
{
	const struct value *children = value_get(node, "children");
	unsigned most = 0;

	for (size_t i = 0; children && i < children->count; i++) {
		unsigned below = depth(&children->items[i]);
		most = below > most ? below : most;
	}
	return most + 1;
}

static bool tree_depth(const struct value *args)
{
	return depth(args) >= 10;
}

static double weight(const struct value *node)
{
	const struct value *children = value_get(node, "children");
	double sum = number(value_get(node, "weight"), 0);

	for (size_t i = 0; children && i < children->count; i++)
		sum += weight(&children->items[i]);
	return sum;
}

static bool tree_weight(const struct value *args)
{
	return weight(args) > 2500;
}

static const struct bug {
	const char *name;
	bool (*has)(const struct value *args);
} bugs[] = {
	{"file-traversal", file_traversal}, {"file-quote-zero", file_quote_zero}, {"file-offset", file_offset},
	{"grammar-control", grammar_control}, {"grammar-format", grammar_format}, {"grammar-focus", grammar_focus},
	{"http-splitting", http_splitting}, {"http-port", http_port}, {"http-traversal", http_traversal},
	{"sql-drop", sql_drop}, {"sql-int", sql_int}, {"sql-column-twice", sql_column_twice},
	{"tree-depth", tree_depth}, {"tree-weight", tree_weight},
};

/* ---- finding ---- */

static struct schema *schema_load(const char *path, struct err *err)
{
	own(buf_done) struct buf text = {0};
	char part[65536];
	FILE *file = fopen(path, "re");
	size_t got;

	while (file && (got = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(&text, part, got);
	if (file)
		(void)fclose(file);
	return schema_read(buf_text(&text), text.len, path, NULL, err);
}

static bool still(void *context, const struct made *made)
{
	const struct bug *bug = context;

	return bug->has(made->value);
}

/* Values until one has the bug; 0: none of so many. */
static unsigned long search(const struct bug *bug, struct generator *generator, struct draw *draw, unsigned long most)
{
	struct made made;
	struct err err;

	for (unsigned long count = 1; count <= most; count++) {
		if (generator_make(generator, draw, &made, &err) == 0 && bug->has(made.value))
			return count;
	}
	return 0;
}

static int find(const struct bug *bug, struct generator *generator, struct draw *draw, unsigned long most, struct err *err)
{
	struct shrink shrinking = {.generator = generator, .still = still, .context = (void *)(uintptr_t)bug};
	uint64_t begun = cpu_now(), *choices = NULL;
	struct made made;
	size_t count;
	unsigned long values = search(bug, generator, draw, most);
	uint64_t found = cpu_now();

	if (!values) {
		(void)printf("{\"bug\": \"%s\", \"values\": null, \"seconds\": %.6f}\n", bug->name, (double)(found - begun) / 1e9);
		return 0;
	}
	if (shrink(&shrinking, draw->choices, draw->count, &choices, &count, err) < 0)
		return -1;
	uint64_t shrunk = cpu_now();
	draw_replay(draw, choices, count);
	int made_again = generator_make(generator, draw, &made, err);
	if (made_again == 0)
		(void)printf("{\"bug\": \"%s\", \"values\": %lu, \"found\": %.6f, \"seconds\": %.6f, \"calls\": %u, "
			     "\"bytes\": %zu, \"example\": %s}\n", bug->name, values, (double)(found - begun) / 1e9,
			(double)(shrunk - begun) / 1e9, shrinking.calls, made.len, made.text);
	free(choices);
	return made_again;
}

int main(int argc, char **argv)
{
	uint64_t seed = strtoull(argc > 3 ? argv[3] : "1", NULL, 10);
	unsigned long most = argc > 4 ? strtoul(argv[4], NULL, 10) : MOST_DEFAULT;
	const struct bug *bug = NULL;
	struct draw draw;
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(bugs) && argc > 2; i++)
		bug = strcmp(bugs[i].name, argv[1]) == 0 ? &bugs[i] : bug;
	if (!bug) {
		(void)fprintf(stderr, "usage: find BUG SCHEMA [SEED [MOST]]\n");
		return 2;
	}
	own(schema_freep) struct schema *schema = schema_load(argv[2], &err);
	own(generator_freep) struct generator *generator = schema ? generator_open(schema, NULL, &err) : NULL;
	draw_init(&draw, seed);
	int status = generator ? find(bug, generator, &draw, most, &err) : -1;
	if (status < 0)
		(void)fprintf(stderr, "%s\n", err.text);
	draw_done(&draw);
	return status < 0;
}
