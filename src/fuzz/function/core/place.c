/* Folders of a target that is fuzzed: making them, writing into them, reading what strangers left there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "fuzz/function/core/deepen.h"
#include "fuzz/function/core/run.h"

#define SEED_DEPTH 8u /* of folders in folders */
#define FULL_BYTES ((uint64_t)1 << 30)
#define FULL_FILES 200000u
#define DICT_MAX ((size_t)4 << 20)

int place_write(int dir, const char *name, const void *bytes, size_t len, struct err *err)
{
	own(fd_closep) int fd = beneath_open(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644, err);
	const char *at = bytes;

	if (fd < 0)
		return -1;
	while (len) {
		ssize_t put = write(fd, at, len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_errno(err, errno, "write '%s'", name);
		at += put;
		len -= (size_t)put;
	}
	return 0;
}

bool place_read(int dir, const char *name, size_t max, struct buf *ret)
{
	own(fd_closep) int fd = beneath_try(dir, name, O_RDONLY, 0);
	struct stat st;
	char part[16384];

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size > max)
		return false;
	for (ssize_t got; (got = read(fd, part, sizeof(part))) != 0;) {
		if (got < 0 || ret->len + (size_t)got > max)
			return false;
		buf_add(ret, part, (size_t)got);
	}
	return true;
}

/* Where a cell has another folder mounted in its work; where there are no cells, a link to it. */
static int mount_point_make(const struct fuzzing *it, const struct place *place, const char *name, struct err *err)
{
	own(freep) char *beside = xfmt("../%s", name);

	if (!it->options->bare) {
		own(fd_closep) int fd = beneath_mkdirs(place->fds[PLACE_WORK], name, 0755, err);
		return fd < 0 ? -1 : 0;
	}
	return symlinkat(beside, place->fds[PLACE_WORK], name) < 0 ? err_errno(err, errno, "make '%s'", name) : 0;
}

int place_points(const struct fuzzing *it, const struct place *place, struct err *err)
{
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++) {
		if (i != PLACE_WORK && mount_point_make(it, place, place_folder_names[i], err) < 0)
			return -1;
	}
	return 0;
}

static int cache_make(const struct fuzzing *it, struct place *place, struct err *err)
{
	own(freep) char *path = place->plan.cache ? xfmt("cache/%s", place->plan.cache) : NULL;

	if (!path)
		return 0;
	own(fd_closep) int root = beneath_root(it->options->state, err);
	place->cache_fd = root < 0 ? -1 : beneath_mkdirs(root, path, 0755, err);
	place->cache = xfmt("%s/%s", it->options->state, path);
	return place->cache_fd < 0 ? -1 : 0;
}

static int folders_make(struct fuzzing *it, struct place *place, size_t index, struct err *err)
{
	if (place_space_open(it, place, err) < 0)
		return -1;
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++) {
		own(freep) char *path = xfmt("%zu/%s", index, place_folder_names[i]);
		if (place_in_space(place, i))
			continue;
		place->folders[i] = xfmt("%s/%s", it->folder, path);
		place->fds[i] = beneath_mkdirs(it->folder_fd, path, 0755, err);
		if (place->fds[i] < 0)
			return -1;
	}
	return place_points(it, place, err);
}

/* ---- what it begins with ---- */

static int inputs_take(struct fuzzing *it, struct place *place, int from, bool named, const char *what, struct err *err)
{
	const struct corpus_caps caps = {
		.files = CORPUS_FILES_MAX, .bytes = CORPUS_BYTES_MAX, .depth = named ? 0 : SEED_DEPTH, .named = named};
	own(corpus_taken_done) struct corpus_taken taken = {0};
	own(buf_done) struct buf told = {0};

	if (corpus_copy(from, place->fds[PLACE_CORPUS], &caps, &taken, err) < 0)
		return place->space && err->code == ENOSPC ? err_set(err, ENOSPC, "%s is larger than --corpus-max", what)
							   : err_wrap(err, "%s", what);
	if (corpus_taken_tell(&taken, &told))
		fuzzing_gap(it, "%s: %s", what, buf_text(&told));
	return 0;
}

/* The user's words, and those of the target's source. */
static int dict_take(struct fuzzing *it, struct place *place, const struct buf *source, struct err *err)
{
	own(buf_done) struct buf dict = {0};

	if (it->options->dict && fs_read_small(AT_FDCWD, it->options->dict, DICT_MAX, &dict, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--dict");
	}
	if (dict.len)
		buf_char(&dict, '\n');
	if (!it->options->no_deepen)
		dict_mine(buf_text(source), source->len, &dict);
	place->dict = dict.len > 0;
	return place->dict ? place_write(place->fds[PLACE_WORK], "dict", buf_text(&dict), dict.len, err) : 0;
}

static int seeds_take(struct fuzzing *it, struct place *place, const struct buf *source, struct err *err)
{
	own(freep) char *what = xfmt("the corpus of %s", place->target->name);

	if (it->plain)
		return 0;
	corpus_identify(it->options->state, place->target, &place->about);
	own(fd_closep) int old = -1;
	if (corpus_open(it->options->state, place->about.id, &old, err) < 0)
		return err_wrap(err, "its corpus");
	if (old >= 0 && inputs_take(it, place, old, true, what, err) < 0)
		return -1;
	corpus_names_read(place->fds[PLACE_CORPUS], &place->had);
	own(fd_closep) int seeds =
		it->options->seed_corpus ? open(it->options->seed_corpus, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (it->options->seed_corpus && seeds < 0) {
		(void)err_errno(err, errno, "open");
		return err_wrap(err, "--seed-corpus");
	}
	if (seeds >= 0 && inputs_take(it, place, seeds, false, "--seed-corpus", err) < 0)
		return -1;
	return dict_take(it, place, source, err);
}

/* A seed that makes the target fail would do so whenever an engine begins. */
bool place_drop(struct place *place, const struct buf *input)
{
	DIR *dir = beneath_list(place->fds[PLACE_CORPUS], ".");
	bool dropped = false;
	struct stat st;

	if (!dir)
		return false;
	int copy = dirfd(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		own(buf_done) struct buf other = {0};
		if (beneath_stat(copy, entry->d_name, &st) < 0 || !S_ISREG(st.st_mode) ||
			(uint64_t)st.st_size != input->len)
			continue;
		if (place_read(copy, entry->d_name, INPUT_MAX, &other) && other.len == input->len &&
			memcmp(buf_text(&other), buf_text(input), input->len) == 0)
			dropped = beneath_unlink(copy, entry->d_name, 0) == 0 || dropped;
	}
	(void)closedir(dir);
	return dropped;
}

/* ---- the target's file ---- */

static char *sum_of(const struct buf *text)
{
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, buf_text(text), text->len);
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	return xstrdup(hex);
}

bool place_is_changed(struct fuzzing *it, struct place *place, char **ret_sum)
{
	own(freep) char *path = xfmt("%s/%s", place->target->root, place->target->file);
	own(buf_done) struct buf text = {0};
	struct err err = {0};
	own(freep) char *now = fs_read_small(AT_FDCWD, path, FUNCTION_SOURCE_MAX, &text, &err) < 0 ? NULL : sum_of(&text);
	bool changed = place->sum && (!now || strcmp(now, place->sum) != 0);

	if (changed)
		fuzzing_gap(it, "%s changed while it was fuzzed; what was found before that is of the older one", place->target->name);
	if (ret_sum)
		*ret_sum = ptr_take(&now);
	return changed;
}

/* ---- all of it ---- */

static int place_show_parts(const struct fuzzing *it, struct place *place, size_t index, struct err *err)
{
	own(freep) char *name = xfmt("%zu", index), *folder = xfmt("%s/%s", it->folder, name);
	own(fd_closep) int dir = beneath_open(it->folder_fd, name, O_RDONLY | O_DIRECTORY, 0, err);

	if (dir < 0)
		return -1;
	return parts_show(&place->plan.parts, folder, dir, &place->shown, err);
}

int place_open(struct fuzzing *it, size_t index, struct err *err)
{
	struct place *place = &it->places[index];
	const struct function_target *target = place->target;
	own(buf_done) struct buf text = {0};
	own(freep) char *path = xfmt("%s/%s", target->root, target->file);

	const char *engine = function_engine(it->options->engines, target->language);

	place->plan.engine = engine ? xstrdup(engine) : NULL;
	if (fs_read_small(AT_FDCWD, path, FUNCTION_SOURCE_MAX, &text, err) < 0 ||
		place->language->plan(target, it->options, buf_text(&text), text.len, &place->plan, err) < 0)
		return -1;
	place->sum = sum_of(&text);
	if (cache_make(it, place, err) < 0 || folders_make(it, place, index, err) < 0 || place_check_bare(it, place, err) < 0 || seeds_take(it, place, &text, err) < 0)
		return -1;
	if (!it->options->bare && place_show_parts(it, place, index, err) < 0)
		return -1;
	for (size_t i = 0; i < place->plan.file_count; i++) {
		const struct plan_file *file = &place->plan.files[i];
		own(freep) char *bytes = place_text(it, place, file->text);
		if (place_write(place->fds[PLACE_WORK], file->name, bytes, strlen(bytes), err) < 0)
			return -1;
	}
	return 0;
}

void place_done(struct place *place)
{
	function_plan_done(&place->plan);
	place_space_close(place);
	free(place->cache);
	fd_close(&place->cache_fd);
	parts_shown_done(&place->shown);
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++) {
		free(place->folders[i]);
		fd_close(&place->fds[i]);
	}
	strings_done(&place->taken);
	strings_done(&place->met);
	place->learned = learned_free(place->learned);
	corpus_about_done(&place->about);
	corpus_names_done(&place->had);
	free(place->sum);
	free(place->series);
	coverage_done(&place->coverage);
}

/* Files at the top of a folder, as `du` counts them. What is below folders that it made counts for nothing, and is bounded by
 * the number of files that it may open at once only: so a folder is as bad as too much. */
bool folder_is_full(int fd)
{
	DIR *dir = beneath_list(fd, ".");
	uint64_t bytes = 0, files = 0;
	bool folder = false;
	struct stat st;

	if (!dir)
		return false;
	for (struct dirent *entry; !folder && files <= FULL_FILES && bytes <= FULL_BYTES && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		files++;
		if (beneath_stat(dirfd(dir), entry->d_name, &st) == 0) {
			bytes += (uint64_t)st.st_blocks * 512;
			folder = S_ISDIR(st.st_mode);
		}
	}
	(void)closedir(dir);
	return folder || bytes > FULL_BYTES || files > FULL_FILES;
}
