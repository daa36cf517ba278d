/* hotcell profile list, show, check: what profiles there are, what one means, and whether it is right. */
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "cli/profile_options.h"
#include "cli/cmd/verbs.h"

static void put_safe(struct buf *out, const char *text)
{
	term_line(text, strlen(text), 4096, out);
}

struct json_options {
	bool json, calls;
};

/* ---- list ---- */

static int list_run(void *data, const struct cli_args *args)
{
	const struct json_options *options = data;
	own(buf_done) struct buf out = {0};
	own(json_done) struct json json = {0};

	(void)args;
	json_open(&json, '[');
	for (const char *const *name = profile_names; *name; name++) {
		own(profile_done) struct profile profile = {0};
		struct err err = {0};
		if (profile_builtin(&profile, *name, &err) < 0)
			return cli_fail(&err);
		buf_fmt(&out, "%-10s %s\n", *name, profile.description);
		json_open(&json, '{');
		json_put_string(&json, "name", *name);
		json_put_string(&json, "description", profile.description);
		json_put_string(&json, "sha256", profile.sum);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	buf_char(&json.out, '\n');
	return cli_print(options->json ? &json.out : &out);
}

/* ---- show ---- */

static const char *const kind_words[] = {
	[CELL_CALL_FREE] = "allowed",
	[CELL_CALL_KEPT] = "kept",
	[CELL_CALL_CLOSED] = "refused",
	[CELL_CALL_NEVER] = "never",
};

/* Every call and what this profile makes of it. */
static void put_calls(const struct profile *profile, struct buf *out)
{
	const struct cell_call *call;

	for (size_t i = 0; (call = cell_call_at(i)); i++) {
		const char *word = profile->denied[i] ? "denied" : profile->opened[i] ? "opened" : kind_words[call->kind];
		buf_fmt(out, "%-8s %s%s%s\n", word, call->name, call->why ? ": " : "", call->why ? call->why : "");
	}
}

static int show_run(void *data, const struct cli_args *args)
{
	const struct json_options *options = data;
	own(profile_done) struct profile profile = {0};
	own(json_done) struct json json = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (profile_load(&profile, args->word_count > 0 ? args->words[0] : "default", &err) < 0)
		return cli_fail(&err);
	if (options->calls) {
		put_calls(&profile, &out);
		return cli_print(&out);
	}
	if (options->json) {
		profile_json(&profile, &json);
		buf_char(&json.out, '\n');
		return cli_print(&json.out);
	}
	buf_str(&out, "# ");
	profile_explain(&profile, &out);
	buf_char(&out, '\n');
	profile_yaml(&profile, &out);
	return cli_print(&out);
}

/* ---- check ---- */

/* Whether a cell could be asked for with it: sizes within their ranges, doors that go together. */
static int judge(struct profile *profile, struct err *err)
{
	own(policy_done) struct door_policy policy = {0};
	own(run_spec_done) struct run_spec built = {0};
	own(buf_done) struct buf text = {0};
	char *command[] = {(char[]){"true"}, NULL};
	const struct cli_args args = {.command = command};
	own(profiled_done) struct profiled it = {0};

	profile_yaml(profile, &text);
	if (profiled_text(&it, &verb_run, &text, &args, err) < 0)
		return -1;
	const struct run_options *options = it.options;
	if (run_spec_build(&built, options, command, err) < 0 ||
		door_options_policy(&policy, &options->doors, "native", err) < 0)
		return -1;
	run_spec_doors(&built, &policy);
	return cell_spec_check(&built.spec, err);
}

static void put_warnings_json(struct json *json, const struct buf *warnings)
{
	json_key(json, "warnings");
	json_open(json, '[');
	for (const char *at = buf_text(warnings); *at; at += strcspn(at, "\n") + 1)
		json_bytes(json, at, strcspn(at, "\n"));
	json_close(json, ']');
}

static int check_run(void *data, const struct cli_args *args)
{
	const struct json_options *options = data;
	own(profile_done) struct profile profile = {0};
	own(buf_done) struct buf warnings = {0}, out = {0};
	own(json_done) struct json json = {0};
	struct err err = {0};

	if (profile_load(&profile, args->words[0], &err) < 0)
		return cli_fail(&err);
	if (judge(&profile, &err) < 0) {
		(void)err_wrap(&err, "%s", args->words[0]);
		return cli_fail(&err);
	}
	size_t count = profile_warnings(&profile, &warnings);
	if (options->json) {
		json_open(&json, '{');
		json_put_string(&json, "name", profile.name);
		json_put_string(&json, "sha256", profile.sum);
		put_warnings_json(&json, &warnings);
		json_close(&json, '}');
		buf_char(&json.out, '\n');
		return cli_print(&json.out);
	}
	profile_explain(&profile, &out);
	buf_fmt(&out, ": valid, %zu warning%s\n", count, count == 1 ? "" : "s");
	for (const char *at = buf_text(&warnings); *at; at += strcspn(at, "\n") + 1)
		buf_fmt(&out, "warning: %.*s\n", (int)strcspn(at, "\n"), at);
	buf_str(&out, "to use this text and no other: --profile ");
	put_safe(&out, profile.name);
	buf_fmt(&out, "@sha256:%s\n", profile.sum);
	return cli_print(&out);
}

/* ---- the tables ---- */

static const struct cli_option json_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct json_options, json), .help = "print JSON"},
	{0},
};

static const struct cli_option show_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct json_options, json), .help = "print a JSON object"},
	{.name = "calls", .kind = CLI_FLAG, CLI_INTO(struct json_options, calls),
		.help = "list every system call that cells know, and what the profile makes of it"},
	{0},
};

const struct cli_verb verb_profile_list = {
	.name = "profile list",
	.summary = "list the built-in security profiles",
	.usage = "[options]",
	.options = json_table,
	.options_size = sizeof(struct json_options),
	.run = list_run,
};

const struct cli_verb verb_profile_show = {
	.name = "profile show",
	.summary = "print a security profile as it takes effect",
	.usage = "[options] [NAME|FILE]",
	.details = "What is printed is a profile itself, complete and independent of the built-in ones.\n",
	.options = show_table,
	.options_size = sizeof(struct json_options),
	.words_max = 1,
	.word = "NAME or FILE",
	.word_hint = CLI_HINT_FILE,
	.run = show_run,
};

const struct cli_verb verb_profile_check = {
	.name = "profile check",
	.summary = "say what is wrong with a security profile, and what it opens",
	.usage = "[options] NAME|FILE",
	.details = "Exit code: 0 it can be used, perhaps with warnings; 2 it cannot.\n",
	.options = json_table,
	.options_size = sizeof(struct json_options),
	.words_min = 1,
	.words_max = 1,
	.word = "NAME or FILE",
	.word_hint = CLI_HINT_FILE,
	.run = check_run,
};
