/* What a finding says of a surprise: what was wrong, and how to do it again. See explorer.h. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sha256.h"
#include "fuzz/tool/explorer.h"

#define EVIDENCE_MAX 64u /* lines */
#define PROGRAM_MAX ((uint64_t)1 << 30) /* bytes that are summed */

/* ---- which program it was ---- */

/* A path of the cell as the host has it, as far as the mounts tell. */
static char *host_path(const struct cell_spec *spec, const char *path)
{
	const struct cell_mount *best = NULL;

	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct cell_mount *mount = &spec->mounts[i];
		size_t len = strlen(mount->target);
		if (strncmp(path, mount->target, len) == 0 && (path[len] == '/' || !path[len]) &&
			(!best || len > strlen(best->target)))
			best = mount;
	}
	if (best)
		return xfmt("%s%s", best->source, path + strlen(best->target));
	return spec->image && strcmp(spec->image, "host") != 0 ? xfmt("%s%s", spec->image, path) : xstrdup(path);
}

static char *file_sum(const char *path)
{
	own(fd_closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	struct sha256 sum;
	unsigned char result[SHA256_SIZE];
	char block[65536], hex[SHA256_HEX];
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > PROGRAM_MAX)
		return NULL;
	sha256_init(&sum);
	while ((got = read(fd, block, sizeof(block))) > 0)
		sha256_add(&sum, block, (size_t)got);
	if (got < 0)
		return NULL;
	sha256_end(&sum, result);
	sha256_hex(result, hex);
	return xstrdup(hex);
}

static char *sum_in_cell(const struct cell_spec *spec, const char *folder, const char *name)
{
	own(freep) char *inside = name[0] == '/' ? xstrdup(name) : xfmt("%s/%s", folder, name);
	own(freep) char *path = host_path(spec, inside);

	return file_sum(path);
}

/* A script that an interpreter was given tells more than the interpreter. */
static char *target_sum(const struct cell_spec *spec)
{
	static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
	const char *cwd = spec->cwd ? spec->cwd : CELL_WORKSPACE;
	char *sum = NULL;

	if (!spec->argv || !spec->argv[0])
		return NULL;
	for (size_t i = 1; spec->argv[i] && !sum; i++) {
		if (spec->argv[i][0] && spec->argv[i][0] != '-')
			sum = sum_in_cell(spec, cwd, spec->argv[i]);
	}
	if (!sum && strchr(spec->argv[0], '/'))
		sum = sum_in_cell(spec, cwd, spec->argv[0]);
	for (size_t i = 0; i < ARRAY_LEN(folders) && !sum && !strchr(spec->argv[0], '/'); i++)
		sum = sum_in_cell(spec, folders[i], spec->argv[0]);
	return sum;
}

/* ---- all of it ---- */

void finding_make(struct explorer *explorer, const struct steps *steps, const struct verdict *verdict, struct finding *ret)
{
	const struct fuzz_options *options = explorer->options;
	const struct cell_spec *spec = target_spec(options->target);
	int64_t now = (int64_t)time(NULL);

	if (!explorer->sha256_known && spec)
		explorer->sha256 = target_sum(spec);
	explorer->sha256_known = true;
	*ret = (struct finding){.oracle = xstrdup(verdict->oracle),
		.subject = xstrdup(steps->list[steps->count - 1].subject->name),
		.target = xstrdup(target_name(options->target)),
		.message = xstrdup(verdict->message ? verdict->message : ""),
		.line = verdict->file ? verdict->line : 0,
		.input = steps_text(steps),
		.kind = xstrdup(target_mode_kind(explorer->mode)),
		.seed = options->seed,
		.first_seen = now,
		.last_seen = now,
		.times = 1};
	const char *file = verdict->file ? verdict->file : options->declared;
	ret->file = file ? xstrdup(file) : NULL;
	ret->shape = verdict->shape ? xstrdup(verdict->shape) : NULL;
	ret->profile = options->profile ? xstrdup(options->profile) : NULL;
	ret->target_sha256 = explorer->sha256 ? xstrdup(explorer->sha256) : NULL;
	strings_copy(&ret->frames, &verdict->frames, SIZE_MAX);
	strings_copy(&ret->evidence, &verdict->evidence, EVIDENCE_MAX);
	if (steps_repeat(steps)) {
		own(freep) char *often = steps->count == 1 ? xfmt("the same call %u times in a row", steps->list[0].times)
			: xfmt("%zu calls, each %u times in a row", steps->count, steps->list[0].times);
		strings_add(&ret->evidence, often);
	}
	strings_copy(&ret->flags, options->flags, SIZE_MAX);
	strings_copy(&ret->environment, options->environment_names, SIZE_MAX);
	for (size_t i = 0; spec && spec->argv && spec->argv[i]; i++)
		strings_add(&ret->command, spec->argv[i]);
	finding_identify(ret);
}
