/* What a ready cell costs while it waits: the memory of its processes and of the kernel behind
 * them, from pools that differ in nothing but the number of ready cells. */
#include "bench.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

struct usage {
	double pss, private; /* kB: of all processes below us */
	double ours; /* kB: private memory of this process */
	double kernel; /* kB: of the whole machine */
	unsigned processes;
	bool blind; /* some process could not be read */
};

/* The sum of these fields ("Pss:") of a file of "Name:  123 kB" lines; -1 if it cannot be read. */
static double sum_fields(const char *path, const char *const *fields)
{
	char line[256];
	double sum = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		for (size_t i = 0; fields[i]; i++)
			if (strncmp(line, fields[i], strlen(fields[i])) == 0)
				sum += strtod(line + strlen(fields[i]), NULL);
	}
	(void)fclose(file);
	return sum;
}

static pid_t parent_of(const char *pid)
{
	char path[64], line[512];
	pid_t parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	char *name_end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (name_end)
		(void)sscanf(name_end + 1, " %*c %d", &parent);
	(void)fclose(file);
	return parent;
}

struct family {
	pid_t (*pairs)[2]; /* every process of the machine with its parent */
	size_t count;
};

static void family_read(struct family *ret)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	*ret = (struct family){0};
	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		ret->pairs = xrealloc(ret->pairs, ret->count + 1, sizeof(*ret->pairs));
		ret->pairs[ret->count][0] = (pid_t)strtol(entry->d_name, NULL, 10);
		ret->pairs[ret->count++][1] = parent_of(entry->d_name);
	}
	if (proc)
		(void)closedir(proc);
}

static void add_process(pid_t pid, struct usage *usage)
{
	static const char *const pss_field[] = {"Pss:", NULL};
	static const char *const private_fields[] = {"Private_Clean:", "Private_Dirty:", NULL};
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	double pss = sum_fields(path, pss_field), private = sum_fields(path, private_fields);
	usage->processes++;
	if (pss < 0 || private < 0)
		usage->blind = true;
	else
		usage->pss += pss, usage->private += private;
}

static void add_below(const struct family *family, pid_t parent, struct usage *usage)
{
	for (size_t i = 0; i < family->count; i++) {
		if (family->pairs[i][1] != parent)
			continue;
		add_process(family->pairs[i][0], usage);
		add_below(family, family->pairs[i][0], usage);
	}
}

static void measure_now(struct usage *ret)
{
	static const char *const private_fields[] = {"Private_Clean:", "Private_Dirty:", NULL};
	static const char *const kernel_fields[] = {
		"Slab:", "KernelStack:", "PageTables:", "Percpu:", "Shmem:", NULL};
	struct family family;

	*ret = (struct usage){0};
	family_read(&family);
	add_below(&family, getpid(), ret);
	free(family.pairs);
	ret->ours = sum_fields("/proc/self/smaps_rollup", private_fields);
	ret->kernel = sum_fields("/proc/meminfo", kernel_fields);
}

static int with_slots(
	const struct cell_spec *spec, unsigned count, struct usage *ret, struct err *err)
{
	own(bench_pool_done) struct bench_pool pool = {0};

	if (bench_pool_open(&pool, err) < 0 || bench_pool_warm(&pool, spec, count, err) < 0)
		return -1;
	bench_pool_rest(&pool, 300);
	measure_now(ret);
	return 0;
}

/* Kept as samples of bytes: the percentiles are those of the rounds. */
static void add_delta(struct samples *samples, double many, double few, double slots)
{
	double bytes = (many - few) * 1024 / slots;

	samples_add(samples, bytes > 0 ? (uint64_t)bytes : 0);
}

int measure_idle(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	const char *const inside[] = {BENCH_PROGRAM, NULL};
	unsigned few = (unsigned)options->warm, many = (unsigned)options->most;
	own(samples_done) struct samples pss = {0}, private = {0}, ours = {0}, kernel = {0};
	struct usage low, high;
	struct cell_spec spec;
	struct cell_mount mount;
	double slots = (double)many - (double)few;

	(void)command;
	bench_spec(&spec, &mount, options->program, inside);
	for (unsigned round = 0; round < options->rounds; round++) {
		if (with_slots(&spec, few, &low, err) < 0 ||
			with_slots(&spec, many, &high, err) < 0)
			return -1;
		add_delta(&pss, high.pss, low.pss, slots);
		add_delta(&private, high.private, low.private, slots);
		add_delta(&ours, high.ours, low.ours, slots);
		add_delta(&kernel, high.kernel, low.kernel, slots);
	}
	json_put_uint(json, "few", few);
	json_put_uint(json, "many", many);
	json_put_uint(json, "processes_few", low.processes);
	json_put_uint(json, "processes_many", high.processes);
	json_put_bool(json, "readable", !low.blind && !high.blind);
	json_put_uint(json, "pss_bytes", samples_at(&pss, 0.5));
	json_put_uint(json, "private_bytes", samples_at(&private, 0.5));
	json_put_uint(json, "supervisor_bytes", samples_at(&ours, 0.5));
	json_put_uint(json, "kernel_bytes", samples_at(&kernel, 0.5));
	return 0;
}
