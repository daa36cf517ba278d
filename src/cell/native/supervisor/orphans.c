/* What dead supervisors left on this machine: makers of cells that have lost their parent and did not go.
 * There should be none: each ends when its socket does. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cell/native/native.h"

#define GRACE_S 5 /* going takes a moment */
#define LOOK_AT_MOST 64 /* children of process 1 */

struct process {
	char name[20];
	char state;
	int parent;
	double age_s;
};

static double uptime(void)
{
	own(buf_done) struct buf text = { 0 };
	struct err err;

	return fs_read_small(AT_FDCWD, "/proc/uptime", 256, &text, &err) < 0 ? 0 : strtod(buf_text(&text), NULL);
}

/* The name is in brackets and may hold anything; what follows the last one is numbers. */
static bool process_read(const char *pid, double now, struct process *ret)
{
	own(freep) char *path = xfmt("/proc/%s/stat", pid);
	own(buf_done) struct buf text = { 0 };
	struct err err;
	unsigned long long start = 0;

	if (fs_read_small(AT_FDCWD, path, 4096, &text, &err) < 0)
		return false;
	const char *open = strchr(buf_text(&text), '('), *close = strrchr(buf_text(&text), ')');
	if (open == NULL || close == NULL || close < open)
		return false;
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
	if (sscanf(close + 1, " %c %d", &ret->state, &ret->parent) != 2)
		return false;
	for (int field = 3; field <= 22 && close != NULL; field++) {
		close = strchr(close + 1, ' ');
		if (field == 22 && close != NULL)
			start = strtoull(close, NULL, 10);
	}
	ret->age_s = now - (double)start / (double)sysconf(_SC_CLK_TCK);
	return true;
}

static bool is_orphan(const char *pid, double now)
{
	static const char *const supervised[] = { "hotcell-zygote", "hotcell-doord", "hotcell-collect", "hotcell-guard" };
	struct process process, parent;
	char number[24];

	if (!process_read(pid, now, &process) || strncmp(process.name, "hotcell-", strlen("hotcell-")) != 0 ||
		process.state == 'Z' || process.age_s < GRACE_S)
		return false;
	(void)snprintf(number, sizeof(number), "%d", process.parent);
	if (process.parent == 1 || !process_read(number, now, &parent))
		return true;
	/* the parent of these is a supervisor, whatever program that is; the others' are of ours */
	for (size_t i = 0; i < ARRAY_LEN(supervised); i++)
		if (strcmp(process.name, supervised[i]) == 0)
			return false;
	return strncmp(parent.name, "hotcell", strlen("hotcell")) != 0;
}

/* ---- who reaps what we leave ---- */

/* Process 1 waits for signals of dying children, or has said that it does not want to know. */
static bool init_listens(void)
{
	static const char *const masks[] = { "SigBlk:", "SigIgn:", "SigCgt:" }; /* blocked: read from a descriptor */
	own(buf_done) struct buf text = { 0 };
	struct err err;

	if (fs_read_small(AT_FDCWD, "/proc/1/status", 16384, &text, &err) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
		const char *at = strstr(buf_text(&text), masks[i]);
		if (at != NULL && (strtoull(at + strlen(masks[i]), NULL, 16) >> (SIGCHLD - 1) & 1) != 0)
			return true;
	}
	return false;
}

/* It may look after them now and then all the same: then none of ours is there for long. The children are listed from
 * the oldest, so that the first dead one of ours answers for all. */
static bool init_is_slow(void)
{
	own(buf_done) struct buf text = { 0 };
	struct err err;
	struct process process;
	double now = uptime();
	unsigned left = LOOK_AT_MOST;
	char *rest = NULL;

	if (fs_read_small(AT_FDCWD, "/proc/1/task/1/children", 65536, &text, &err) < 0)
		return true;
	for (const char *pid = strtok_r((char *)(uintptr_t)buf_text(&text), " ", &rest); pid != NULL && left-- > 0;
		pid = strtok_r(NULL, " ", &rest))
		if (process_read(pid, now, &process) && process.state == 'Z' &&
			strncmp(process.name, "hotcell-", strlen("hotcell-")) == 0)
			return process.age_s > GRACE_S;
	return false;
}

bool orphans_are_reaped(void)
{
	return init_listens() || !init_is_slow();
}

/* ---- what should not be there ---- */

unsigned native_orphans(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	double now = uptime();
	unsigned count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		count += isdigit((unsigned char)entry->d_name[0]) && is_orphan(entry->d_name, now);
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}
