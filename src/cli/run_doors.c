#include "cli/run_doors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "door/policy/totals.h"
#include "run/secrets.h"

static const char *const kept_names[] = {NETWORK_LOG, NETWORK_EXCHANGES, NULL};

bool run_doors_any(const struct run_doors *doors)
{
	return !policy_is_empty(&doors->policy);
}

int run_doors_build(struct run_doors *doors, const struct run_options *options, const char *backend, struct run_spec *built,
	bool load, struct err *err)
{
	doors->quiet = options->quiet;
	if (door_options_policy(&doors->policy, &options->doors, backend, err) < 0)
		return -1;
	if (options->doors.record && !options->output)
		return err_set(err, ERR_USAGE, "--network-record keeps " NETWORK_EXCHANGES " in the folder of --output: give one");
	run_spec_doors(built, &doors->policy);
	secrets_hide(&(struct secrets){.env = built->spec.env, .names = options->secret_env.items}, &doors->policy);
	if (!load)
		return 0;
	return policy_load(&doors->policy, err) < 0 ? -1 : run_spec_check_secrets(built, &doors->policy, err);
}

/* ---- files ---- */

static int log_open(int folder, const char *name, struct err *err)
{
	if (folder >= 0) /* that of --output */
		return beneath_open(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644, err);
	int fd = fs_open_named(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK, 0644, err);

	if (fd < 0 && err->code == ENXIO)
		return err_set(err, ENXIO, "'%s' is a FIFO or a socket that nobody reads: start its reader first", name);
	return fd;
}

static int replay_open(const char *folder, struct err *err)
{
	own(fd_closep) int held = beneath_root(folder, err);
	int fd = held < 0 ? -1 : beneath_open(held, NETWORK_EXCHANGES, O_RDONLY, 0, err);

	return fd < 0 ? err_wrap(err, "--network-replay") : fd;
}

/* It was checked to be new or empty; the cell then gets it open, and takes over nothing with our names. */
static int output_open(struct run_doors *doors, struct cell_spec *spec, struct err *err)
{
	doors->output = beneath_root_make(spec->output_dir, 0755, NULL, err);
	if (doors->output < 0)
		return err_wrap(err, "make the output folder");
	spec->output_dir = NULL;
	spec->output_fd = doors->output;
	spec->output_reserved = kept_names;
	return 0;
}

int run_doors_files(struct run_doors *doors, const struct run_options *options, struct cell_spec *spec, struct err *err)
{
	if (!run_doors_any(doors))
		return 0;
	if (spec->output_dir && output_open(doors, spec, err) < 0)
		return -1;
	if (options->doors.replay && (doors->replay = replay_open(options->doors.replay, err)) < 0)
		return -1;
	if (options->doors.log)
		doors->log = log_open(AT_FDCWD, options->doors.log, err);
	else if (doors->output >= 0)
		doors->log = log_open(doors->output, NETWORK_LOG, err);
	if (doors->log < 0 && (options->doors.log || doors->output >= 0))
		return err_wrap(err, "--network-log");
	if (options->doors.record)
		doors->record = log_open(doors->output, NETWORK_EXCHANGES, err);
	return options->doors.record && doors->record < 0 ? -1 : 0;
}

/* ---- life ---- */

static void on_spent(void *data, uint64_t run, const char *sentence, bool over)
{
	struct run_doors *doors = data;

	(void)run;
	(void)over;
	if (!doors->spent)
		doors->spent = xstrdup(sentence);
}

static void on_said(void *data, const char *text)
{
	const struct run_doors *doors = data;

	if (!doors->quiet)
		cli_say("%s", text);
}

static void on_verdict(void *data, uint64_t run, const struct doors_verdict *verdict)
{
	const struct run_doors *doors = data;

	(void)run;
	run_audit_verdict(doors->audit, verdict);
}

int run_doors_open(struct run_doors *doors, struct loop *loop, struct err *err)
{
	const struct doors_events events = {.spent = on_spent, .said = on_said, .data = doors,
		.verdict = doors->audit && doors->audit->audit ? on_verdict : NULL};

	if (!run_doors_any(doors))
		return 0;
	doors->doors = doors_open(loop, &doors->policy, NULL, &events, err);
	if (!doors->doors)
		return -1;
	doors->run = doors_run_open(doors->doors, 1, NULL, doors->log, doors->record, doors->replay);
	return 0;
}

void run_doors_done(struct run_doors *doors)
{
	doors->doors = doors_free(doors->doors);
	doors->run = NULL;
	policy_done(&doors->policy);
	fd_close(&doors->log);
	fd_close(&doors->record);
	fd_close(&doors->replay);
	fd_close(&doors->output);
	free(doors->spent);
	doors->spent = NULL;
}

/* ---- telling ---- */

void run_doors_json(const struct run_doors *doors, struct json *json)
{
	if (!run_doors_any(doors))
		return;
	json_key(json, "network");
	json_open(json, '{');
	network_json(&doors->totals, json);
	json_put_string(json, "budget", doors->spent);
	json_close(json, '}');
}

static void put_count(struct buf *out, uint64_t count, const char *what)
{
	if (count > 0)
		buf_fmt(out, "%s%" PRIu64 " connection%s %s", out->len ? "; " : "", count, count == 1 ? "" : "s", what);
}

bool run_doors_verdict(const struct run_doors *doors, bool verbose, struct buf *ret)
{
	if (!run_doors_any(doors))
		return false;
	if (verbose) {
		buf_str(ret, "doors: ");
		network_text(&doors->totals, ret);
	} else {
		put_count(ret, doors->totals.count[COUNT_REFUSED], "refused at the doors");
		put_count(ret, doors->totals.count[COUNT_FAILED], "let out, but nothing was reached");
		if (ret->len > 0 && doors->log < 0)
			buf_str(ret, " (--network-log FILE keeps which and why)");
	}
	if (doors->spent)
		buf_fmt(ret, "%s%s", ret->len ? "; " : "", doors->spent);
	return ret->len > 0;
}

void run_doors_list(const struct run_doors *doors, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "campaign", NULL);
	json_put_string(json, "budget", doors->spent);
	json_key(json, "network");
	doors_list(doors->doors, json);
	json_close(json, '}');
}
