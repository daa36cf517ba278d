/* hotcell doctor: what this machine can give a cell, each thing tried for real. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "cell/cell.h"
#include "cli/cmd/verbs.h"
#include "run/environment.h"

#define PROBES_MAX 64

struct doctor_options {
	bool json;
};

static const struct {
	const char *word, *color, *state; /* state: as in a receipt's JSON */
} grades[] = {
	[CELL_OFF] = {"missing", "\033[31m", "off"},
	[CELL_WEAKER] = {"weaker", "\033[33m", "weaker"},
	[CELL_ON] = {"ok", "\033[32m", "on"},
};

static void line(struct buf *out, const char *text)
{
	term_line(text, strlen(text), 1024, out);
	buf_char(out, '\n');
}

static bool can_make_cells(const struct cell_probe *probes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (probes[i].grade == CELL_OFF && strcmp(probes[i].name, CELL_PROBE_WHOLE) == 0)
			return false;
	return true;
}

static void put_table(
	const struct cell_probe *probes, size_t count, size_t lacking, struct buf *out)
{
	bool color = cli_color(STDOUT_FILENO);
	int width = 0;

	for (size_t i = 0; i < count; i++) {
		int len = (int)strlen(probes[i].name);
		width = len > width ? len : width;
	}
	for (size_t i = 0; i < count; i++) {
		const struct cell_probe *probe = &probes[i];
		buf_fmt(out, "%s%-8s%s %-*s  ", color ? grades[probe->grade].color : "",
			grades[probe->grade].word, color ? "\033[0m" : "", width, probe->name);
		line(out, probe->detail);
		if (probe->grade != CELL_ON && *probe->fix) {
			buf_fmt(out, "%*sfix: ", 9 + width + 2, "");
			line(out, probe->fix);
		}
	}
	if (lacking)
		buf_fmt(out, "\n%zu of %zu cannot be had in full here; %s.\n", lacking, count,
			can_make_cells(probes, count) ? "cells are made without and say so" : "no cell can be made until the fixes are done");
	else
		buf_fmt(out, "\nAll %zu are there: cells on this machine have every protection.\n",
			count);
}

static void put_json(const char *backend, const struct cell_probe *probes, size_t count,
	size_t lacking, struct buf *out)
{
	own(json_done) struct json json = {.pretty = true};

	json_open(&json, '{');
	json_put_string(&json, "version", HOTCELL_VERSION);
	json_put_string(&json, "backend", backend);
	json_put_bool(&json, "full", lacking == 0);
	json_key(&json, "probes");
	json_open(&json, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(&json, '{');
		json_put_string(&json, "name", probes[i].name);
		json_put_string(&json, "state", grades[probes[i].grade].state);
		json_put_string(&json, "detail", probes[i].detail);
		json_put_string(&json, "fix", probes[i].fix);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	buf_add(out, json.out.data, json.out.len);
	buf_char(out, '\n');
}

static int run(void *data, const struct cli_args *args)
{
	const struct doctor_options *options = data;
	own(freep) struct cell_probe *probes = xcalloc(PROBES_MAX, sizeof(*probes));
	own(buf_done) struct buf out = {0};
	const char *backend = cell_backends[0];
	size_t lacking = 0;

	(void)args;
	environment_forget();
	size_t count = cell_probe(backend, probes, PROBES_MAX);
	if (count == 0) { /* "all 0 of them work" must never be said */
		cli_say("nothing could be tried with the %s backend", backend);
		return EXIT_OURS;
	}
	for (size_t i = 0; i < count; i++)
		lacking += probes[i].grade != CELL_ON;
	if (options->json)
		put_json(backend, probes, count, lacking, &out);
	else
		put_table(probes, count, lacking, &out);
	int failed = cli_print(&out);
	return failed ? failed : lacking ? EXIT_LESS : 0;
}

static const struct cli_option options_table[] = {
	{.name = "json",
		.kind = CLI_FLAG,
		CLI_INTO(struct doctor_options, json),
		.help = "print one JSON object"},
	{0},
};

const struct cli_verb verb_doctor = {
	.name = "doctor",
	.summary = "tell what this machine can give a cell, and how to get the rest",
	.usage = "[--json]",
	.details =
		"Everything is tried for real. Exit code 0: all of it works; 4: something is missing.\n",
	.options = options_table,
	.options_size = sizeof(struct doctor_options),
	.run = run,
};
