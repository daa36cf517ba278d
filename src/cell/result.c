/* What came of a run: its names, its outcome, its JSON, its exit code. No I/O. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cell/backend.h"

/* ---- names ---- */

static const char *const outcome_names[] = {
	[CELL_EXITED] = "exited",
	[CELL_SIGNALED] = "signaled",
	[CELL_TIMEOUT] = "timeout",
	[CELL_OOM] = "oom",
	[CELL_OUTPUT_LIMIT] = "output-limit",
	[CELL_DISK_LIMIT] = "disk-limit",
	[CELL_DENIED] = "denied",
	[CELL_SETUP_FAILED] = "setup-failed",
	[CELL_CANCELLED] = "cancelled",
};
_Static_assert(ARRAY_LEN(outcome_names) == CELL_OUTCOME_COUNT, "an outcome has no name");

struct protection {
	const char *name, *help;
};

static const struct protection protections[] = {
	[CELL_USER_NS] = {"user-namespace", "its users are not users of the host"},
	[CELL_PID_NS] = {"pid-namespace", "it sees and signals only its own processes"},
	[CELL_MOUNT_NS] = {"mount-namespace", "it has a file tree of its own"},
	[CELL_NET_NS] = {"net-namespace", "it has no network but its own loopback"},
	[CELL_IPC_NS] = {"ipc-namespace", "it shares no System V or POSIX queues and segments"},
	[CELL_UTS_NS] = {"uts-namespace", "it has a host name of its own"},
	[CELL_CGROUP_NS] = {"cgroup-namespace", "it does not see where it is in the host's cgroups"},
	[CELL_READ_ONLY_ROOT] = {"read-only-root", "it cannot change programs, libraries or settings"},
	[CELL_PRIVATE_TMP] = {"private-tmp", "/tmp, /dev/shm and the workspace are its own and end with it"},
	[CELL_PRIVATE_PROC] = {"private-proc", "/proc is its own and cannot be written"},
	[CELL_HIDDEN_FILES] = {"hidden-files", "keys, tokens and history vanish from what is mounted"},
	[CELL_NON_ROOT] = {"non-root", "it does not run as root"},
	[CELL_NO_CAPS] = {"no-capabilities", "it holds no capability and can gain none"},
	[CELL_NO_NEW_PRIVS] = {"no-new-privileges", "set-id programs give it nothing"},
	[CELL_SECCOMP] = {"seccomp", "system calls it has no need of are refused"},
	[CELL_LANDLOCK] = {"landlock", "a second fence around its signals and sockets, or what it writes"},
	[CELL_MEMORY_LIMIT] = {"memory-limit", "all its processes together have this much memory, swap included"},
	[CELL_CPU_LIMIT] = {"cpu-limit", "all its processes together have this much CPU"},
	[CELL_PROCESS_LIMIT] = {"process-limit", "it has this many processes and threads"},
	[CELL_DISK_LIMITED] = {"disk-limit", "/tmp and the workspace have a size"},
	[CELL_FILE_LIMITS] = {"file-limits", "single files and open files are limited"},
	[CELL_OUTPUT_LIMITED] = {"output-limit", "it can print this much"},
	[CELL_WALL_CLOCK] = {"wall-clock", "it is ended when its time is over"},
	[CELL_CLEAN_FDS] = {"clean-descriptors", "it inherits no open files"},
	[CELL_CLEAN_ENV] = {"clean-environment", "it inherits no environment"},
	[CELL_OWN_SESSION] = {"own-session", "it has no hold on your terminal"},
	[CELL_KILL_ALL] = {"kill-all", "nothing it started outlives it"},
};
_Static_assert(ARRAY_LEN(protections) == CELL_PROTECTION_COUNT, "a protection has no name");

static const char *const grade_names[] = {
	[CELL_OFF] = "off",
	[CELL_WEAKER] = "weaker",
	[CELL_ON] = "on",
};
_Static_assert(ARRAY_LEN(grade_names) == CELL_ON + 1, "a grade has no name");

static const char *const effect_names[] = {
	[CELL_EFFECT_EXEC] = "exec", [CELL_EFFECT_CONNECT] = "connect", [CELL_EFFECT_WRITE] = "write",
	[CELL_EFFECT_REMOVE] = "remove",
};
_Static_assert(sizeof(effect_names) / sizeof(*effect_names) == CELL_EFFECT_COUNT, "a kind of effect has no name");

const char *cell_effect_name(enum cell_effect_kind kind)
{
	return effect_names[kind];
}

const char *cell_outcome_name(enum cell_outcome outcome)
{
	return (unsigned)outcome < CELL_OUTCOME_COUNT ? outcome_names[outcome] : "unknown";
}

const char *cell_protection_name(enum cell_protection protection)
{
	return (unsigned)protection < CELL_PROTECTION_COUNT ? protections[protection].name : "unknown";
}

const char *cell_protection_help(enum cell_protection protection)
{
	return (unsigned)protection < CELL_PROTECTION_COUNT ? protections[protection].help : "";
}

bool cell_receipt_full(const struct cell_receipt *receipt)
{
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (receipt->grade[i] != CELL_ON)
			return false;
	return true;
}

/* ---- the outcome ---- */

static const enum cell_outcome reason_outcomes[] = {
	[CELL_REASON_NONE] = CELL_EXITED, /* not used: decided by how it ended */
	[CELL_REASON_CANCEL] = CELL_CANCELLED,
	[CELL_REASON_TIMEOUT] = CELL_TIMEOUT,
	[CELL_REASON_OUTPUT] = CELL_OUTPUT_LIMIT,
	[CELL_REASON_SETUP] = CELL_SETUP_FAILED,
};
_Static_assert(ARRAY_LEN(reason_outcomes) == CELL_REASON_COUNT, "a reason has no outcome");

enum cell_outcome cell_decide(const struct cell_end *end, enum cell_reason reason)
{
	int status = end->wait_status;
	bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	if (reason != CELL_REASON_NONE)
		return reason_outcomes[reason];
	if (end->timed_out)
		return CELL_TIMEOUT;
	if ((end->oom_kills > 0 || end->memory_killed) && !succeeded)
		return CELL_OOM;
	if (end->filter_killed)
		return CELL_DENIED;
	if ((end->disk_full && !succeeded) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ))
		return CELL_DISK_LIMIT;
	return WIFSIGNALED(status) ? CELL_SIGNALED : CELL_EXITED;
}

int cell_result_exit_code(const struct cell_result *result)
{
	switch (result->outcome) {
	case CELL_TIMEOUT: return 124;
	case CELL_SETUP_FAILED: return 125;
	case CELL_CANCELLED: return 128 + SIGINT;
	case CELL_EXITED:
		/* It was fine but its output is not where it should be: not a success either. */
		return result->exit_code == 0 && result->err.code != 0 ? 125 : result->exit_code;
	default: break;
	}
	if (result->signal > 0)
		return 128 + result->signal;
	/* It was over a limit but ended by itself: never a success. */
	return result->exit_code > 0 ? result->exit_code : 128 + SIGKILL;
}

/* ---- JSON ---- */

static void put_refused(const struct cell_result *result, struct json *json)
{
	json_key(json, "refused");
	json_open(json, '{');
	json_put_uint(json, "total", result->refused_total);
	json_key(json, "calls");
	json_open(json, '{');
	for (size_t i = 0; i < CELL_REFUSED_KEPT && result->refused[i].what; i++)
		json_put_uint(json, result->refused[i].what, result->refused[i].count);
	json_close(json, '}');
	json_close(json, '}');
}

static void put_output(const struct cell_result *result, struct json *json)
{
	const struct fs_copy_report *report = &result->collect;
	json_key(json, "output");
	if (!result->collected) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_uint(json, "files", report->files);
	json_put_uint(json, "folders", report->folders);
	json_put_uint(json, "bytes", report->bytes);
	json_put_uint(json, "skipped", report->skipped_count);
	json_put_uint(json, "renamed", report->renamed_count);
	json_put_string(json, "capped", report->capped ? report->cap : NULL);
	json_key(json, "skipped_first");
	json_open(json, '[');
	for (size_t i = 0; i < FS_SKIPPED_KEPT && report->skipped[i].name; i++) {
		json_open(json, '{');
		json_put_string(json, "name", report->skipped[i].name);
		json_put_string(json, "reason", report->skipped[i].reason);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_receipt(const struct cell_receipt *receipt, struct json *json)
{
	json_key(json, "receipt");
	json_open(json, '{');
	json_put_string(json, "backend", receipt->backend);
	json_put_bool(json, "full", cell_receipt_full(receipt));
	json_key(json, "protections");
	json_open(json, '{');
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		json_key(json, protections[i].name);
		json_open(json, '{');
		json_put_string(json, "state", grade_names[receipt->grade[i] <= CELL_ON ? receipt->grade[i] : 0]);
		json_put_string(json, "note", receipt->note[i]);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_close(json, '}');
}

static void put_int_or_null(struct json *json, const char *key, int value, bool known)
{
	json_key(json, key);
	if (known)
		json_int(json, value);
	else
		json_null(json);
}

static void put_costs(const struct cell_result *result, struct json *json)
{
	json_put_real(json, "wall_ms", (double)result->wall_ns / 1e6, 3);
	json_put_real(json, "setup_ms", (double)result->setup_ns / 1e6, 3);
	json_put_real(json, "user_ms", (double)result->user_us / 1e3, 3);
	json_put_real(json, "system_ms", (double)result->system_us / 1e3, 3);
	json_put_uint(json, "peak_memory", result->peak_memory);
	json_put_uint(json, "oom_kills", result->oom_kills);
	json_put_uint(json, "processes", result->processes);
	json_put_uint(json, "stdout_bytes", result->stdout_bytes);
	json_put_uint(json, "stderr_bytes", result->stderr_bytes);
	json_put_uint(json, "dropped_bytes", result->dropped_bytes);
	json_put_uint(json, "written_bytes", result->written_bytes);
}

/* NAME@sha256:SUM */
static void put_profile(const char *profile, struct json *json)
{
	const char *at = profile ? strstr(profile, "@sha256:") : NULL;

	if (!profile)
		return;
	json_key(json, "profile");
	json_open(json, '{');
	json_key(json, "name");
	json_bytes(json, profile, at ? (size_t)(at - profile) : strlen(profile));
	json_put_string(json, "sha256", at ? at + strlen("@sha256:") : NULL);
	json_close(json, '}');
}

bool cell_forbidden_next(const char *list, size_t len, size_t *at, const char **ret_name, const char **ret_path)
{
	const char *name = *at < len ? list + *at : NULL, *end = name ? memchr(name, '\0', len - *at) : NULL;
	const char *path = end ? end + 1 : NULL, *last = path ? memchr(path, '\0', len - (size_t)(path - list)) : NULL;

	if (!last)
		return false;
	*ret_name = name;
	*ret_path = path;
	*at = (size_t)(last + 1 - list);
	return true;
}

/* {"sh": ["/usr/bin/dash"], "misspelt": []} */
static void put_forbidden(const struct cell_result *result, struct json *json)
{
	const char *name, *path, *before = NULL;

	if (!result->forbidden)
		return;
	json_key(json, "forbidden");
	json_open(json, '{');
	for (size_t at = 0; cell_forbidden_next(result->forbidden, result->forbidden_len, &at, &name, &path); before = name) {
		if (!before || strcmp(before, name) != 0) {
			if (before)
				json_close(json, ']');
			json_key(json, name);
			json_open(json, '[');
		}
		if (*path)
			json_bytes(json, path, strlen(path));
	}
	if (before)
		json_close(json, ']');
	json_close(json, '}');
}

void cell_result_members(const struct cell_result *result, struct json *json)
{
	json_put_string(json, "outcome", cell_outcome_name(result->outcome));
	put_int_or_null(json, "exit_code", result->exit_code, result->exit_code >= 0);
	put_int_or_null(json, "signal", result->signal, result->signal > 0);
	json_put_bool(json, "lost", result->lost);
	put_costs(result, json);
	put_refused(result, json);
	put_output(result, json);
	put_profile(result->profile, json);
	put_forbidden(result, json);
	put_receipt(&result->receipt, json);
	json_put_string(json, "error", result->err.code != 0 ? result->err.text : NULL);
}

void cell_result_json(const struct cell_result *result, struct json *json)
{
	json_open(json, '{');
	cell_result_members(result, json);
	json_close(json, '}');
}

void cell_result_done(struct cell_result *result)
{
	if (result->collected)
		fs_copy_report_done(&result->collect);
	result->collected = false;
	free(result->profile);
	result->profile = NULL;
	free(result->forbidden);
	result->forbidden = NULL;
}
