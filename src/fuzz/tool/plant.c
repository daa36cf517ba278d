/* Canaries: files and variables with tokens that are nowhere else. See fuzz.h.
 *
 * The files lie in a folder that only we can enter, and are mounted one by one, so nothing of the user's lists to
 * hide applies to them. The folder is locked for as long as we live: one that can be locked was left by somebody
 * who was killed, and is removed by the next. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "fuzz/fuzz.h"
#include "fuzz/tool/plant.h"

#define PREFIX "hotcell-plant."
#define STALE_S 60 /* younger ones may be about to be locked */
#define TOKEN_LEN 20
#define FOLDERS_MAX 4 /* of the user's mounts, that words begin with */

enum { FILE_COUNT = 3, VARIABLE_COUNT = 2 };

struct plant {
	struct cell_spec spec;
	char folder[160]; /* "": none */
	int lock;
	char mark[TOKEN_LEN + 1];
	char tokens[FILE_COUNT + VARIABLE_COUNT][TOKEN_LEN + 1];
	char *sources[FILE_COUNT];
	char *wheres[FILE_COUNT + VARIABLE_COUNT];
	struct canary canaries[FILE_COUNT + VARIABLE_COUNT];
	size_t canary_count;
	struct cell_mount *mounts;
	char **env; /* the last ones are ours */
	size_t env_given;
	struct strings words, gaps;
};

/* ---- what is planted ---- */

static void account_text(struct buf *out, const char *token, const struct cell_spec *spec)
{
	buf_fmt(out,
		"root:x:0:0:root:/:/bin/sh\ncell:x:%u:%u:cell:" CELL_WORKSPACE
		":/bin/sh\nbackup:x:34:34:%s:/home/backup:/usr/sbin/nologin\n"
		"nobody:x:65534:65534:nobody:/:/bin/false\n",
		spec->uid, spec->gid, token);
}

static void key_text(struct buf *out, const char *token, const struct cell_spec *spec)
{
	(void)spec;
	buf_fmt(out, "-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----\n", token);
}

static void credentials_text(struct buf *out, const char *token, const struct cell_spec *spec)
{
	(void)spec;
	buf_fmt(out, "{\"user\": \"backup\", \"password\": \"%s\"}\n", token);
}

static const struct {
	const char *path, *name;
	void (*text)(struct buf *out, const char *token, const struct cell_spec *spec);
} files[FILE_COUNT] = {
	{"/etc/passwd", "passwd", account_text},
	{"/home/backup/.ssh/id_ed25519", "key", key_text},
	{"/srv/backup/credentials.json", "credentials", credentials_text},
};

static const char *const variables[VARIABLE_COUNT] = {"BACKUP_KEY", "DATABASE_PASSWORD"};

/* Letters and digits, with a letter first. */
static void token_make(char ret[TOKEN_LEN + 1], uint64_t seed, uint64_t number)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	uint64_t state = (seed ^ number * 0xd6e8feb86659fd93u) + 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < TOKEN_LEN; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint64_t mixed = (state ^ state >> 29) * 0xbf58476d1ce4e5b9u >> 33;
		ret[i] = digits[mixed % (i == 0 ? 26 : 36)];
	}
	ret[TOKEN_LEN] = '\0';
}

/* ---- the folder ---- */

static const char *place(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && tmp[0] == '/' && strlen(tmp) < 100 ? tmp : "/tmp";
}

static void stale_remove(int dir, const char *name)
{
	own(fd_closep) int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct err err;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mtime + STALE_S > time(NULL) ||
		flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	(void)!fs_remove_tree(dir, name, &err); /* the next one tries again */
}

static void stale_find(void)
{
	DIR *dir = opendir(place());
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			stale_remove(dirfd(dir), entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

static int folder_make(struct plant *plant, struct err *err)
{
	char path[sizeof(plant->folder)];

	(void)snprintf(path, sizeof(path), "%s/" PREFIX "XXXXXX", place());
	if (!mkdtemp(path))
		return err_errno(err, errno, "make a folder for canaries in '%s'", place());
	memcpy(plant->folder, path, sizeof(path));
	plant->lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (plant->lock < 0 || flock(plant->lock, LOCK_EX | LOCK_NB) < 0)
		return err_errno(err, errno, "lock the folder of canaries '%s'", path);
	return 0;
}

static int file_make(struct plant *plant, const char *name, const struct buf *text, char **ret_path, struct err *err)
{
	own(fd_closep) int fd = openat(plant->lock, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd < 0 || write(fd, text->data, text->len) != (ssize_t)text->len || fchmod(fd, 0444) < 0)
		return err_errno(err, errno, "write the canary '%s/%s'", plant->folder, name);
	*ret_path = xfmt("%s/%s", plant->folder, name);
	return 0;
}

/* ---- into a spec ---- */

static bool is_at_or_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/' || (len && folder[len - 1] == '/'));
}

/* In an image only what is there can be covered, and its accounts are its own. */
static bool can_cover_any(struct plant *plant)
{
	const struct cell_spec *spec = &plant->spec;

	if (!spec->image || strcmp(spec->image, "host") != 0)
		strings_add(&plant->gaps, "nothing is planted in files: those of an image are its own");
	else if (spec->mount_count + FILE_COUNT > CELL_MAX_MOUNTS)
		strings_add(&plant->gaps, "nothing is planted in files: there are too many mounts");
	return plant->gaps.count == 0;
}

static bool can_cover(struct plant *plant, const char *path)
{
	const struct cell_spec *spec = &plant->spec;

	for (size_t i = 0; i < spec->mount_count; i++) {
		if (!is_at_or_below(path, spec->mounts[i].target) && !is_at_or_below(spec->mounts[i].target, path))
			continue;
		own(freep) char *gap = xfmt("nothing is planted in %s: a mount is there", path);
		strings_add(&plant->gaps, gap);
		return false;
	}
	return true;
}

static void canary_add(struct plant *plant, const char *token, char *where, bool secret)
{
	plant->wheres[plant->canary_count] = where;
	plant->canaries[plant->canary_count++] = (struct canary){.token = token, .where = where, .secret = secret};
}

static int files_plant(struct plant *plant, struct err *err)
{
	size_t count = plant->spec.mount_count;

	plant->mounts = xcalloc(count + FILE_COUNT, sizeof(*plant->mounts));
	if (count)
		memcpy(plant->mounts, plant->spec.mounts, count * sizeof(*plant->mounts));
	bool any = can_cover_any(plant);
	for (size_t i = 0; any && i < FILE_COUNT; i++) {
		own(buf_done) struct buf text = {0};
		if (!can_cover(plant, files[i].path))
			continue;
		files[i].text(&text, plant->tokens[i], &plant->spec);
		if (file_make(plant, files[i].name, &text, &plant->sources[i], err) < 0)
			return -1;
		plant->mounts[count++] = (struct cell_mount){.source = plant->sources[i], .target = files[i].path};
		canary_add(plant, plant->tokens[i], xstrdup(files[i].path), false);
	}
	plant->spec.mounts = plant->mounts;
	plant->spec.mount_count = count;
	return 0;
}

static bool has_variable(const struct cell_spec *spec, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; spec->env && spec->env[i]; i++) {
		if (strncmp(spec->env[i], name, len) == 0 && spec->env[i][len] == '=')
			return true;
	}
	return false;
}

static void variables_plant(struct plant *plant)
{
	const struct cell_spec *spec = &plant->spec;
	size_t count = 0;

	while (spec->env && spec->env[count])
		count++;
	plant->env_given = count;
	plant->env = xcalloc(count + VARIABLE_COUNT + 1, sizeof(*plant->env));
	if (count)
		memcpy(plant->env, spec->env, count * sizeof(*plant->env)); /* borrowed, never freed */
	for (size_t i = 0; i < VARIABLE_COUNT; i++) {
		const char *token = plant->tokens[FILE_COUNT + i];
		if (has_variable(spec, variables[i]))
			continue;
		plant->env[count++] = xfmt("%s=%s", variables[i], token);
		canary_add(plant, token, xfmt("the environment variable %s", variables[i]), true);
	}
	plant->spec.env = (const char *const *)plant->env;
}

static void words_plant(struct plant *plant, const struct cell_spec *spec)
{
	bool first = true;

	for (size_t i = 0; i < plant->canary_count; i++) {
		if (plant->canaries[i].secret)
			continue;
		words_path(&plant->words, plant->canaries[i].where, first);
		if (first)
			words_below(&plant->words, CELL_WORKSPACE, plant->canaries[i].where);
		for (size_t j = 0; first && j < spec->mount_count && j < FOLDERS_MAX; j++)
			words_below(&plant->words, spec->mounts[j].target, plant->canaries[i].where);
		first = false;
	}
	words_variable(&plant->words, variables[0]); /* one is as good as the other */
	words_path(&plant->words, "/proc/self/environ", false); /* the variables, for whoever reads files */
	words_commands(&plant->words, plant->mark);
}

/* ---- the whole ---- */

struct plant *plant_open(const struct cell_spec *spec, uint64_t seed, struct err *err)
{
	own(plant_freep) struct plant *plant = xcalloc(1, sizeof(*plant));

	plant->lock = -1;
	plant->spec = *spec;
	for (size_t i = 0; i < FILE_COUNT + VARIABLE_COUNT; i++)
		token_make(plant->tokens[i], seed, i + 1);
	token_make(plant->mark, seed, 0);
	stale_find();
	if (folder_make(plant, err) < 0 || files_plant(plant, err) < 0)
		return NULL;
	variables_plant(plant);
	words_plant(plant, spec);
	return ptr_take(&plant);
}

struct plant *plant_free(struct plant *plant)
{
	struct err err;

	if (!plant)
		return NULL;
	if (plant->folder[0])
		(void)!fs_remove_tree(AT_FDCWD, plant->folder, &err); /* what stays is removed by the next one */
	fd_close(&plant->lock);
	for (size_t i = 0; i < FILE_COUNT; i++)
		free(plant->sources[i]);
	for (size_t i = 0; i < plant->canary_count; i++)
		free(plant->wheres[i]);
	for (size_t i = plant->env_given; plant->env && plant->env[i]; i++)
		free(plant->env[i]);
	free(plant->env);
	free(plant->mounts);
	strings_done(&plant->words);
	strings_done(&plant->gaps);
	free(plant);
	return NULL;
}

void plant_freep(struct plant **plant)
{
	*plant = plant_free(*plant);
}

const struct cell_spec *plant_spec(const struct plant *plant)
{
	return &plant->spec;
}

const struct canary *plant_canaries(const struct plant *plant, size_t *ret_count)
{
	*ret_count = plant->canary_count;
	return plant->canaries;
}

const char *const *plant_words(const struct plant *plant)
{
	return (const char *const *)plant->words.items;
}

const char *plant_mark(const struct plant *plant)
{
	return plant->mark;
}

const struct strings *plant_gaps(const struct plant *plant)
{
	return &plant->gaps;
}

void plant_renew(const struct plant *plant, uint64_t seed, char *text, size_t len)
{
	for (size_t i = 0; len && i <= FILE_COUNT + VARIABLE_COUNT; i++) {
		const char *token = i ? plant->tokens[i - 1] : plant->mark;
		char old[TOKEN_LEN + 1];
		token_make(old, seed, i);
		for (char *at = text; (at = memmem(at, (size_t)(text + len - at), old, TOKEN_LEN)); at += TOKEN_LEN)
			memcpy(at, token, TOKEN_LEN);
	}
}
