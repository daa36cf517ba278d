#include "cli/cmd/fuzz/function_export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "cli/fuzz_setup.h"
#include "cli/cmd/campaign/run_text.h"

static void put_json(const struct function_commands *commands, struct buf *out)
{
	own(json_done) struct json json = {.pretty = true};
	const struct {
		const char *key;
		const struct strings *texts;
	} lists[] = {{"build", &commands->build}, {"run", &commands->run}, {"environment", &commands->environment}};

	json_open(&json, '{');
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_key(&json, lists[i].key);
		strings_json(lists[i].texts, &json);
	}
	json_put_string(&json, "cwd", commands->cwd);
	json_put_string(&json, "corpus", commands->corpus);
	json_put_string(&json, "crashes", commands->crashes);
	json_close(&json, '}');
	buf_add(out, buf_text(&json.out), json.out.len);
	buf_char(out, '\n');
}

static void put_line(const char *before, const struct strings *words, struct buf *out)
{
	if (!words->count)
		return;
	buf_str(out, before);
	for (size_t i = 0; i < words->count; i++) {
		if (i)
			buf_char(out, ' ');
		run_text_quote(words->items[i], strlen(words->items[i]), out);
	}
	buf_char(out, '\n');
}

static void put_shell(const struct function_commands *commands, struct buf *out)
{
	buf_str(out, "# These run the target's code without a sandbox.\ncd ");
	run_text_quote(commands->cwd, strlen(commands->cwd), out);
	buf_char(out, '\n');
	put_line("export ", &commands->environment, out);
	put_line("", &commands->build, out);
	put_line("", &commands->run, out);
}

int function_export_run(const struct function_setup *setup, const char *folder)
{
	own(function_commands_done) struct function_commands commands = {0};
	own(buf_done) struct buf out = {0};
	own(freep) char *whole = NULL;
	struct err err = {0};

	if (setup->targets.count != 1) {
		(void)err_set(&err, ERR_USAGE, "--export-harness is of one target, and these are %zu; name one",
			setup->targets.count);
		return fuzz_setup_fail(&err);
	}
	own(fd_closep) int held = beneath_root_make(folder, 0755, NULL, &err);
	if (held < 0 || !(whole = realpath(folder, NULL))) {
		if (!err.code)
			(void)err_errno(&err, errno, "'%s'", folder);
		(void)err_wrap(&err, "--export-harness");
		return fuzz_setup_fail(&err);
	}
	struct stat old;
	if (beneath_stat(held, "0", &old) == 0) { /* the first target's */
		(void)err_set(&err, ERR_USAGE, "--export-harness '%s' holds a harness already; name a new folder", folder);
		return fuzz_setup_fail(&err);
	}
	if (function_export(&setup->options, whole, held, &commands, &err) < 0) {
		(void)err_wrap(&err, "--export-harness '%s'", folder);
		return fuzz_setup_fail(&err);
	}
	if (setup->cli->run.json)
		put_json(&commands, &out);
	else
		put_shell(&commands, &out);
	return cli_print(&out);
}
