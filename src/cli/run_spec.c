#include "cli/run_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/size.h"
#include "base/term.h"
#include "base/weaken.h"
#include "cli/run_guard.h"
#include "door/policy/credential.h"

#define MAX_ENV 4096
#define ID_MAX 65534 /* the last id every kernel can show inside a user namespace as itself */

void run_options_defaults(void *options)
{
	struct run_options *run = options;
	struct cell_spec spec;

	cell_spec_defaults(&spec);
	run->limits = spec.limits;
	run->uid = spec.uid;
	run->gid = spec.gid;
	run->image = spec.image;
}

int run_uid_set(void *options, const char *value, struct err *err)
{
	struct run_options *run = options;
	own(freep) char *copy = xstrdup(value);
	char *colon = strchr(copy, ':');
	uint64_t uid, gid;

	if (colon)
		*colon = '\0';
	if (count_parse(copy, "--uid", 0, ID_MAX, &uid, err) < 0)
		return -1;
	gid = uid;
	if (colon && count_parse(colon + 1, "the group of --uid", 0, ID_MAX, &gid, err) < 0)
		return -1;
	run->uid = (uint32_t)uid;
	run->gid = (uint32_t)gid;
	return 0;
}

/* The spec's strings live as long as it does. */
static char *keep(struct run_spec *run, char *text)
{
	run->texts = xrealloc(run->texts, run->text_count + 1, sizeof(*run->texts));
	run->texts[run->text_count++] = text;
	return text;
}

static int usage_quoting(struct err *err, const char *before, const char *quoted, const char *after)
{
	own(buf_done) struct buf shown = {0};
	term_line(quoted, strlen(quoted), 120, &shown);
	return err_set(err, ERR_USAGE, "%s'%s'%s", before, buf_text(&shown), after);
}

/* ---- paths ---- */

/* An absolute path to the same place. The last step stays as it was typed: whether it may be a
 * symbolic link is for the cell to judge, not for us to hide. */
static const char *absolute(
	struct run_spec *run, const char *path, const char *flag, struct err *err)
{
	own(freep) char *above = NULL;
	own(freep) char *last = beneath_split(path, &above);
	if (*path == '/' && strcmp(last, "/") == 0)
		return path;
	if (*path == '/')
		return keep(run, xfmt("%s/%s", strcmp(above, "/") == 0 ? "" : above, last));
	bool whole = strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
	own(freep) char *folder = realpath(whole ? path : above, NULL);
	if (!folder) {
		own(freep) char *cause = xfmt(": %s", strerror(errno));
		own(freep) char *before = xfmt("%s: ", flag);
		(void)usage_quoting(err, before, path, cause);
		return NULL;
	}
	if (whole)
		return keep(run, ptr_take(&folder));
	return keep(run, xfmt("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, last));
}

/* A folder is the one that is there now, for all cells of this command: what is decided of it, such as what it hides, is decided
 * once. A file is looked at for each cell: editors put another in its place whenever they save. */
static struct fs_id folder_id(const char *path)
{
	own(fd_closep) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) /* then it is for the cell to judge */
		return (struct fs_id){0};
	return (struct fs_id){st.st_dev, st.st_ino};
}

/* SRC:DST[:ro|rw] */
static int mount_add(struct run_spec *run, const char *text, struct err *err)
{
	struct cell_mount *mount = &run->mounts[run->spec.mount_count];
	char *copy = keep(run, xstrdup(text)), *colon = strchr(copy, ':'), *mode;

	if (!colon || colon == copy || !colon[1])
		return usage_quoting(err, "--mount ", text, " is not SRC:DST or SRC:DST:rw");
	*colon = '\0';
	mount->target = colon + 1;
	mode = strchr(colon + 1, ':');
	if (mode) {
		*mode++ = '\0';
		mount->writable = strcmp(mode, "rw") == 0;
		if (!mount->writable && strcmp(mode, "ro") != 0)
			return usage_quoting(err, "--mount ", text,
				" must end in :ro, :rw or neither (a path cannot hold a colon)");
	}
	mount->source = absolute(run, copy, "--mount", err);
	if (!mount->source)
		return -1;
	const struct fs_id id = folder_id(mount->source);
	mount->device = id.device;
	mount->inode = id.inode;
	run->spec.mount_count++;
	return 0;
}

static int mounts_build(struct run_spec *run, const struct run_options *options, struct err *err)
{
	if (options->mounts.count > CELL_MAX_MOUNTS)
		return err_set(err, ERR_USAGE,
			"%zu mounts are more than the %d a cell can have; mount a folder that holds them",
			options->mounts.count, CELL_MAX_MOUNTS);
	run->mounts = xcalloc(options->mounts.count + 1, sizeof(*run->mounts));
	for (size_t i = 0; i < options->mounts.count; i++) {
		if (mount_add(run, options->mounts.items[i], err) < 0)
			return -1;
	}
	run->spec.mounts = run->mounts;
	return 0;
}

static int paths_build(struct run_spec *run, const struct run_options *options, struct err *err)
{
	run->spec.image = options->image;
	if (strcmp(options->image, "host") != 0) {
		run->spec.image = absolute(run, options->image, "--image", err);
		run->spec.image_id = run->spec.image ? folder_id(run->spec.image) : (struct fs_id){0};
	}
	if (options->output)
		run->spec.output_dir = absolute(run, options->output, "--output", err);
	return run->spec.image && (!options->output || run->spec.output_dir) ? 0 : -1;
}

/* ---- environment ---- */

/* A later value of the same name replaces an earlier one. */
static void env_put(const char **env, size_t *count, const char *pair)
{
	size_t name = strcspn(pair, "=") + 1;

	for (size_t i = 0; i < *count; i++) {
		if (strncmp(env[i], pair, name) == 0) {
			env[i] = pair;
			return;
		}
	}
	env[(*count)++] = pair;
}

/* Inside a filtered terminal only text and colour get through, and a program that knows it has a
 * dumb terminal does not try more. */
static void env_term(struct run_spec *run, const struct run_options *options, size_t *count)
{
	const char *term = getenv("TERM");

	if (options->tty)
		env_put(run->env, count,
			keep(run, xfmt("TERM=%s", options->raw && term ? term : "dumb")));
}

static int env_build(struct run_spec *run, const struct run_options *options, struct err *err)
{
	size_t count = 0, given = options->env.count + options->pass_env.count, defaults = 0;

	if (given > MAX_ENV)
		return err_set(err, ERR_USAGE,
			"%zu environment variables are more than the %d taken", given, MAX_ENV);
	while (cell_default_env[defaults])
		defaults++;
	run->env = xcalloc(defaults + given + 3, sizeof(*run->env));
	if (weakened("clean-environment"))
		env_put(run->env, &count, keep(run, xfmt("REVIEW_TOKEN=%s", getenv("REVIEW_TOKEN") ?: "")));
	for (size_t i = 0; i < defaults; i++)
		env_put(run->env, &count, cell_default_env[i]);
	env_term(run, options, &count);
	for (size_t i = 0; i < options->pass_env.count; i++) {
		const char *name = options->pass_env.items[i], *value = getenv(name);
		if (strchr(name, '='))
			return err_set(err, ERR_USAGE,
				"--pass-env takes the name of a variable only; --env takes NAME=VALUE");
		if (value)
			env_put(run->env, &count, keep(run, xfmt("%s=%s", name, value)));
		else if (!options->quiet)
			cli_say("--pass-env: '%s' is not set here, so it is not set in the cell",
				name);
	}
	for (size_t i = 0; i < options->env.count; i++) {
		const char *pair = options->env.items[i];
		if (*pair == '=' || !strchr(pair, '=')) /* not repeated: it may be a secret */
			return err_set(err, ERR_USAGE,
				"--env takes NAME=VALUE, and one of those given is not; "
				"--pass-env NAME takes the value from your own environment");
		env_put(run->env, &count, pair);
	}
	run->spec.env = run->env;
	return 0;
}

/* ---- lists ---- */

static void hide_build(struct run_spec *run, const struct run_options *options)
{
	size_t count = 0, defaults = 0;

	while (!options->no_default_hide && cell_default_hide[defaults])
		defaults++;
	run->hide = xcalloc(defaults + options->hide.count + 1, sizeof(*run->hide));
	for (size_t i = 0; i < defaults; i++)
		run->hide[count++] = cell_default_hide[i];
	for (size_t i = 0; i < options->hide.count; i++)
		run->hide[count++] = options->hide.items[i];
	run->spec.hide = run->hide;
}

/* After all that the options say: no option shows these. */
static int hide_guarded(struct run_spec *run, struct err *err)
{
	own(cli_names_done) struct cli_names names = {0};
	size_t count = 0;

	if (run_guard(run->mounts, run->spec.mount_count, &names, err) < 0)
		return -1;
	while (run->hide[count])
		count++;
	run->hide = xrealloc(run->hide, count + names.count + 1, sizeof(*run->hide));
	for (size_t i = 0; i < names.count; i++)
		run->hide[count++] = keep(run, ptr_take(&names.items[i]));
	run->hide[count] = NULL;
	run->spec.hide = run->hide;
	return 0;
}

static const char *protection_name(const void *data, size_t index)
{
	(void)data;
	return index < CELL_PROTECTION_COUNT ? cell_protection_name((enum cell_protection)index)
					     : NULL;
}

static int require_add(struct run_spec *run, size_t *count, const char *name, struct err *err)
{
	run->require = xrealloc(run->require, *count + 2, sizeof(*run->require));
	run->require[(*count)++] = name;
	run->require[*count] = NULL;
	if (strcmp(name, "full") == 0)
		return 0;
	for (size_t i = 0; i < CELL_PROTECTION_COUNT; i++) {
		if (strcmp(name, protection_name(NULL, i)) == 0)
			return 0;
	}
	const char *near = cli_nearest(name, protection_name, NULL);
	own(freep) char *hint = near
		? xfmt(" is no protection; did you mean '%s'?", near)
		: xstrdup(" is no protection; 'man hotcell-run' lists them, and 'full' is all");
	return usage_quoting(err, "--require: ", name, hint);
}

static int require_build(struct run_spec *run, const struct run_options *options, struct err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < options->require.count; i++) {
		char *rest = keep(run, xstrdup(options->require.items[i])), *name;
		while ((name = strsep(&rest, ","))) {
			if (count > CELL_PROTECTION_COUNT * 4)
				return err_set(err, ERR_USAGE,
					"--require names more protections than there are");
			if (*name && require_add(run, &count, name, err) < 0)
				return -1;
		}
	}
	run->spec.require = run->require;
	return 0;
}

/* ---- the whole ---- */

int run_spec_build(struct run_spec *ret, const struct run_options *options, char *const *command,
	struct err *err)
{
	*ret = (struct run_spec){0};
	cell_spec_defaults(&ret->spec);
	ret->spec.argv = (const char *const *)command;
	ret->spec.cwd = options->workdir;
	if (options->used)
		profile_apply(options->used, &ret->spec);
	ret->spec.uid = options->uid;
	ret->spec.gid = options->gid;
	ret->spec.tmp_exec = options->tmp_exec;
	ret->spec.tty = options->tty;
	ret->spec.limits = options->limits;
	ret->spec.forbid = options->forbid.items;
	hide_build(ret, options);
	if (mounts_build(ret, options, err) < 0 || hide_guarded(ret, err) < 0 || paths_build(ret, options, err) < 0 ||
		env_build(ret, options, err) < 0 || require_build(ret, options, err) < 0)
		return -1;
	return cell_spec_check(&ret->spec, err);
}

/* ---- doors ---- */

void run_spec_doors(struct run_spec *run, const struct door_policy *policy)
{
	struct door_listener doors[DOORS_MAX];
	size_t count = policy_listeners(policy, doors), had = 0, more = 0;
	struct buf hosts = {0};
	own(freep) char **env = NULL;

	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		run->listeners[i] = (struct cell_listener){.address = doors[i].address, .port = doors[i].port};
	run->spec.listeners = run->listeners;
	run->spec.listener_count = count;
	policy_hosts(policy, &hosts);
	run->spec.hosts = keep(run, hosts.data ? buf_take(&hosts) : xstrdup(""));
	policy_env(policy, run->env, &env, &more);
	while (run->env[had])
		had++;
	run->env = xrealloc(run->env, had + more + 1, sizeof(*run->env));
	for (size_t i = 0; i < more; i++)
		run->env[had + i] = keep(run, env[i]);
	run->env[had + more] = NULL;
	run->spec.env = run->env;
}

static bool has_secret(const char *const *texts, const char *secret)
{
	for (; texts && *texts; texts++)
		if (strstr(*texts, secret))
			return true;
	return false;
}

/* Or one of its parts, which are as good, but for what may be an ordinary word ("postgres"). */
static bool has_credential(const char *const *texts, const struct secret_door *door)
{
	struct credential_parts parts = {0};
	bool has = door->secret && has_secret(texts, door->secret);

	if (door->secret)
		credential_parts_make(&parts, door);
	for (size_t i = 0; i < parts.count && !has; i++)
		has = !parts.is_word[i] && has_secret(texts, parts.items[i]);
	credential_parts_done(&parts);
	return has;
}

int run_spec_check_secrets(const struct run_spec *run, const struct door_policy *policy, struct err *err)
{
	for (size_t i = 0; i < policy->secret_count; i++) {
		const struct secret_door *door = &policy->secrets[i];
		bool env = has_credential(run->spec.env, door);
		if (env || has_credential(run->spec.argv, door))
			return err_set(err, ERR_USAGE,
				"the credential of the secret door '%s' would be in the cell's %s: leave it out there, the door adds it "
				"outside",
				door->name, env ? "environment (--env or --pass-env)" : "command line");
	}
	return 0;
}

void run_spec_done(struct run_spec *run)
{
	for (size_t i = 0; i < run->text_count; i++) {
		explicit_bzero(run->texts[i], strlen(run->texts[i])); /* some were secrets */
		free(run->texts[i]);
	}
	free(run->texts);
	free(run->mounts);
	free(run->env);
	free(run->hide);
	free(run->require);
	*run = (struct run_spec){0};
}
