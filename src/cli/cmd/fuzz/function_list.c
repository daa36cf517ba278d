#include "cli/cmd/fuzz/function_list.h"

#include <string.h>

#include "base/term.h"

#define SAID_MAX 50u
#define NAME_SHOWN 120u

static const char *kind_of(const struct function_target *target)
{
	return target->harness ? "harness" : "function";
}

void function_list_table(const struct function_targets *targets, struct buf *out)
{
	size_t width = strlen("TARGET");

	for (size_t i = 0; i < targets->count; i++) {
		own(buf_done) struct buf name = {0};
		term_line(targets->list[i].name, strlen(targets->list[i].name), NAME_SHOWN, &name);
		width = name.len > width ? name.len : width;
	}
	buf_fmt(out, "%-*s  %-10s  %s\n", (int)width, "TARGET", "LANGUAGE", "KIND");
	for (size_t i = 0; i < targets->count; i++) {
		own(buf_done) struct buf name = {0};
		term_line(targets->list[i].name, strlen(targets->list[i].name), NAME_SHOWN, &name);
		buf_fmt(out, "%-*s  %-10s  %s\n", (int)width, buf_text(&name), targets->list[i].language, kind_of(&targets->list[i]));
	}
	buf_fmt(out, "%zu target%s\n", targets->count, targets->count == 1 ? "" : "s");
}

void function_list_json(const struct function_targets *targets, struct json *json)
{
	json_open(json, '{');
	json_key(json, "targets");
	json_open(json, '[');
	for (size_t i = 0; i < targets->count; i++) {
		const struct function_target *target = &targets->list[i];
		json_open(json, '{');
		json_put_string(json, "name", target->name);
		json_put_string(json, "language", target->language);
		json_put_string(json, "root", target->root);
		json_put_string(json, "file", target->file);
		json_put_string(json, "function", target->function);
		json_put_bool(json, "harness", target->harness);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

int function_list_run(const struct function_targets *targets, bool wants_json)
{
	own(json_done) struct json json = {.pretty = true};
	own(buf_done) struct buf out = {0};

	if (!wants_json) {
		function_list_table(targets, &out);
		return cli_print(&out);
	}
	function_list_json(targets, &json);
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

void function_list_say(const struct function_targets *targets)
{
	for (size_t i = 0; targets->count > 1 && i < targets->count && i < SAID_MAX; i++) {
		own(buf_done) struct buf name = {0};
		term_line(targets->list[i].name, strlen(targets->list[i].name), NAME_SHOWN, &name);
		cli_say("target %zu of %zu: %s (%s)", i + 1, targets->count, buf_text(&name), targets->list[i].language);
	}
	if (targets->count > SAID_MAX)
		cli_say("and %zu more; --list has them all", targets->count - SAID_MAX);
}
