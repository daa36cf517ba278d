/* hotcell ps: the live cells of this user. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/size.h"
#include "base/term.h"
#include "cli/cmd/verbs.h"
#include "live/live.h"

#define COMMAND_SHOWN 120

struct ps_options {
	bool json;
};

static void put_json(const struct live_list *list, struct buf *out)
{
	own(json_done) struct json json = {0};
	json_open(&json, '[');
	for (size_t i = 0; i < list->count; i++) {
		const struct live_cell *cell = &list->cells[i];
		json_open(&json, '{');
		json_put_string(&json, "id", cell->id);
		json_put_int(&json, "pid", cell->pid);
		json_put_int(&json, "supervisor", cell->supervisor);
		json_put_string(&json, "backend", cell->backend);
		json_put_real(&json, "age_ms", (double)cell->age_ns / (double)NS_PER_MS, 3);
		json_key(&json, "memory");
		if (cell->memory > 0)
			json_uint(&json, cell->memory);
		else
			json_null(&json);
		json_put_uint(&json, "output_bytes", cell->printed);
		json_put_string(&json, "command", cell->command);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	buf_add(out, json.out.data, json.out.len);
	buf_char(out, '\n');
}

static void put_table(const struct live_list *list, struct buf *out)
{
	buf_fmt(out, "%-12s %8s %10s %10s  %s\n", "ID", "PID", "AGE", "MEMORY", "COMMAND");
	for (size_t i = 0; i < list->count; i++) {
		const struct live_cell *cell = &list->cells[i];
		char age[32], memory[32], pid[16];
		(void)snprintf(pid, sizeof(pid), "%d", cell->pid);
		buf_fmt(out, "%-12s %8s %10s %10s  ", cell->id, cell->pid > 0 ? pid : "-",
			duration_text(cell->age_ns, age, sizeof(age)),
			cell->memory > 0 ? size_text(cell->memory, memory, sizeof(memory)) : "-");
		term_line(cell->command, strlen(cell->command), COMMAND_SHOWN, out);
		buf_char(out, '\n');
	}
}

static int run(void *data, const struct cli_args *args)
{
	const struct ps_options *options = data;
	own(live_list_done) struct live_list list;
	own(buf_done) struct buf out = {0};

	(void)args;
	live_list(&list);
	if (list.silent > 0)
		cli_say("%u other hotcell process%s did not answer", list.silent, list.silent == 1 ? "" : "es");
	if (options->json)
		put_json(&list, &out);
	else
		put_table(&list, &out);
	return cli_print(&out);
}

static const struct cli_option options_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct ps_options, json), .help = "print a JSON array"},
	{0},
};

const struct cli_verb verb_ps = {
	.name = "ps",
	.summary = "list live cells",
	.usage = "[options]",
	.options = options_table,
	.options_size = sizeof(struct ps_options),
	.run = run,
};
