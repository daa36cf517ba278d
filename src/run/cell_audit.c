#include "run/cell_audit.h"

#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "run/secrets.h"

/* ---- what was decided ---- */

static void put_limits(struct json *json, const struct cell_limits *limits)
{
	json_key(json, "limits");
	json_open(json, '{');
	json_put_uint(json, "memory", limits->memory);
	json_put_uint(json, "cpus_milli", limits->cpus_milli);
	json_put_uint(json, "timeout_ms", limits->timeout_ms);
	json_put_uint(json, "processes", limits->processes);
	json_put_uint(json, "disk", limits->disk);
	json_put_uint(json, "output", limits->output);
	json_close(json, '}');
}

static void put_mounts(struct audit *audit, const struct cell_spec *spec)
{
	own(buf_done) struct buf text = {0};

	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct cell_mount *mount = &spec->mounts[i];
		buf_fmt(&text, "%s%s %s %s", i ? ", " : "", mount->source, mount->target, mount->writable ? "rw" : "ro");
	}
	if (text.len > 0)
		audit_text(audit, "mounts", buf_text(&text));
}

static void put_env_names(struct audit *audit, const struct cell_spec *spec)
{
	own(buf_done) struct buf text = {0};

	for (size_t i = 0; spec->env && spec->env[i]; i++) {
		if (!secrets_is_given(spec->env[i]))
			continue;
		if (text.len > 0)
			buf_char(&text, ' ');
		buf_add(&text, spec->env[i], strcspn(spec->env[i], "="));
	}
	if (text.len > 0)
		audit_text(audit, "env", buf_text(&text));
}

void cell_audit_policy(struct audit *audit, const char *backend, const struct cell_spec *spec,
	const struct door_policy *policy)
{
	bool unsafe = !cell_backend_can(backend, CELL_ISOLATES);
	own(buf_done) struct buf doors = {0};

	if (unsafe) {
		(void)audit_begin(audit, "unsafe-mode");
		audit_text(audit, "text", "programs run without a sandbox");
		audit_end(audit);
	}
	struct json *json = audit_begin(audit, "policy");
	json_put_string(json, "backend", backend);
	json_put_bool(json, "unsafe", unsafe);
	audit_text(audit, "image", spec->image);
	if (spec->profile)
		audit_text(audit, "profile", spec->profile);
	audit_words(audit, "command", spec->argv);
	put_limits(json, &spec->limits);
	put_mounts(audit, spec);
	put_env_names(audit, spec);
	audit_words(audit, "forbid", spec->forbid);
	audit_words(audit, "require", spec->require);
	if (policy && !policy_is_empty(policy)) {
		policy_explain(policy, &doors);
		audit_text(audit, "doors", buf_text(&doors));
	}
	audit_end(audit);
}

/* ---- what came of it ---- */

static void put_refused(struct json *json, const struct cell_result *result)
{
	json_put_uint(json, "refused_total", result->refused_total);
	if (result->refused_total == 0)
		return;
	json_key(json, "refused");
	json_open(json, '{');
	for (size_t i = 0; i < CELL_REFUSED_KEPT && result->refused[i].what; i++)
		json_put_uint(json, result->refused[i].what, result->refused[i].count);
	json_close(json, '}');
}

static void put_weaker(struct json *json, const struct cell_receipt *receipt)
{
	if (cell_receipt_full(receipt))
		return;
	json_key(json, "weaker");
	json_open(json, '[');
	for (unsigned i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (receipt->grade[i] != CELL_ON)
			json_string(json, cell_protection_name(i));
	json_close(json, ']');
}

void cell_audit_result(struct audit *audit, struct json *json, const struct cell_result *result,
	const struct door_totals *network)
{
	json_put_string(json, "outcome", cell_outcome_name(result->outcome));
	if (result->exit_code >= 0)
		json_put_int(json, "exit_code", result->exit_code);
	if (result->signal)
		json_put_int(json, "signal", result->signal);
	json_put_uint(json, "wall_ms", result->wall_ns / NS_PER_MS);
	put_refused(json, result);
	if (result->outcome != CELL_SETUP_FAILED)
		put_weaker(json, &result->receipt);
	if (result->err.code)
		audit_text(audit, "error", result->err.text);
	if (!network)
		return;
	json_key(json, "doors");
	json_open(json, '{');
	for (unsigned i = 0; i < DOOR_COUNTS; i++)
		json_put_uint(json, door_count_names[i], network->count[i]);
	json_close(json, '}');
}

/* ---- what else happened ---- */

static struct json *begin_exec(struct audit *audit, const char *event, const char *campaign, const char *cell)
{
	struct json *json = audit_begin(audit, event);

	if (campaign)
		json_put_string(json, "campaign", campaign);
	json_put_string(json, "cell", cell);
	return json;
}

void cell_audit_exec(struct audit *audit, const char *campaign, const char *cell, int asker, const char *const *argv)
{
	struct json *json = begin_exec(audit, "exec", campaign, cell);

	if (asker > 0)
		json_put_int(json, "by", asker);
	audit_words(audit, "command", argv);
	audit_end(audit);
}

void cell_audit_exec_end(struct audit *audit, const char *campaign, const char *cell, int wait_status, const struct err *err)
{
	struct json *json = begin_exec(audit, "exec-end", campaign, cell);

	if (err)
		audit_text(audit, "error", err->text);
	else if (WIFSIGNALED(wait_status))
		json_put_int(json, "signal", WTERMSIG(wait_status));
	else
		json_put_int(json, "exit_code", WEXITSTATUS(wait_status));
	audit_end(audit);
}

void cell_audit_refused(struct audit *audit, const char *rule, const char *text)
{
	json_put_string(audit_begin(audit, "refused"), "rule", rule);
	audit_text(audit, "text", text);
	audit_end(audit);
}

void cell_audit_required(struct audit *audit, const struct cell_spec *spec, const struct cell_result *result)
{
	if (result->outcome == CELL_SETUP_FAILED && result->err.code == ERR_MISSING && spec->require && spec->require[0])
		cell_audit_refused(audit, "require", result->err.text);
}

int cell_audit_refusal(const char *path, const struct redactor *redactor, const char *rule, const char *text, struct err *err)
{
	own(audit_freep) struct audit *audit = audit_open(path, redactor, err);

	if (!audit)
		return -1;
	cell_audit_refused(audit, rule, text);
	return audit_flush(audit, err);
}
