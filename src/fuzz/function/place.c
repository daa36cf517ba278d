/* Folders of a target that is fuzzed: making them, writing into them, reading what strangers left there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "fuzz/function/run.h"

#define KEPT_BYTES ((uint64_t)256 << 20) /* of a target's corpus between runs */
#define KEPT_FILES 50000u
#define FULL_BYTES ((uint64_t)1 << 30)
#define FULL_FILES 200000u
#define DICT_MAX ((size_t)4 << 20)

static const char *const folder_names[] = {
	[PLACE_WORK] = "work",
	[PLACE_CORPUS] = "corpus",
	[PLACE_CRASHES] = "crashes",
	[PLACE_INPUT] = "input",
	[PLACE_OUT] = "out",
};
_Static_assert(sizeof(folder_names) / sizeof(*folder_names) == PLACE_FOLDER_COUNT, "a folder has no name");

int place_write(int dir, const char *name, const void *bytes, size_t len, struct err *err)
{
	own(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	const char *at = bytes;

	if (fd < 0)
		return err_errno(err, errno, "write '%s'", name);
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
	own(fd_closep) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char part[16384];

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > max)
		return false;
	for (ssize_t got; (got = read(fd, part, sizeof(part))) != 0;) {
		if (got < 0 || ret->len + (size_t)got > max)
			return false;
		buf_add(ret, part, (size_t)got);
	}
	return true;
}

static int folder_open(const char *path, int *ret, struct err *err)
{
	if (fs_mkdirs(path, err) < 0)
		return -1;
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? err_errno(err, errno, "open '%s'", path) : 0;
}

static int folders_make(struct fuzzing *it, struct place *place, size_t index, struct err *err)
{
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++) {
		place->folders[i] = xfmt("%s/%zu/%s", it->folder, index, folder_names[i]);
		if (folder_open(place->folders[i], &place->fds[i], err) < 0)
			return -1;
		if (i == PLACE_WORK)
			continue;
		own(freep) char *mount_point = xfmt("%s/%s", place->folders[PLACE_WORK], folder_names[i]);
		if (fs_mkdirs(mount_point, err) < 0)
			return -1;
	}
	return 0;
}

/* A corpus is kept by what it is of, whatever folder that was called from. */
static char *kept_folder(const struct fuzzing *it, const struct place *place)
{
	own(freep) char *what =
		xfmt("%s\n%s\n%s\n%s", place->language->name, place->target->root, place->target->file, place->target->function);
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, what, strlen(what));
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	return xfmt("%s/corpus/%.16s", it->options->state, hex);
}

static int copy_capped(int from, int to, struct err *err)
{
	const struct fs_caps caps = {.bytes = KEPT_BYTES, .entries = KEPT_FILES, .depth = 1};
	struct fs_copy_report report = {0};
	int rc = fs_copy_tree(from, to, &caps, &report, err);

	fs_copy_report_done(&report);
	return rc;
}

static int seeds_take(struct fuzzing *it, struct place *place, struct err *err)
{
	own(freep) char *kept = kept_folder(it, place);
	own(fd_closep) int old = open(kept, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own(buf_done) struct buf dict = {0};

	if (old >= 0 && copy_capped(old, place->fds[PLACE_CORPUS], err) < 0)
		return -1;
	own(fd_closep) int seeds =
		it->options->seed_corpus ? open(it->options->seed_corpus, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (it->options->seed_corpus && (seeds < 0 || copy_capped(seeds, place->fds[PLACE_CORPUS], err) < 0)) {
		if (seeds < 0)
			(void)err_errno(err, errno, "open");
		return err_wrap(err, "--seed-corpus");
	}
	place->dict = it->options->dict != NULL;
	if (!place->dict)
		return 0;
	if (fs_read_small(AT_FDCWD, it->options->dict, DICT_MAX, &dict, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--dict");
	}
	return place_write(place->fds[PLACE_WORK], "dict", buf_text(&dict), dict.len, err);
}

void place_keep(struct fuzzing *it, struct place *place)
{
	own(freep) char *kept = kept_folder(it, place);
	own(fd_closep) int to = -1;
	struct err err = {0};

	if (place->fds[PLACE_CORPUS] < 0 || !place->begun_ns)
		return;
	if (folder_open(kept, &to, &err) < 0 || copy_capped(place->fds[PLACE_CORPUS], to, &err) < 0)
		fuzzing_gap(it, "the corpus of %s was not kept: %s", place->target->name, err.text);
}

/* A seed that makes the target fail would do so whenever an engine begins. */
bool place_drop(struct place *place, const struct buf *input)
{
	int copy = openat(place->fds[PLACE_CORPUS], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	bool dropped = false;
	struct stat st;

	if (!dir) {
		fd_close(&copy);
		return false;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		own(buf_done) struct buf other = {0};
		if (fstatat(copy, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
			(uint64_t)st.st_size != input->len)
			continue;
		if (place_read(copy, entry->d_name, INPUT_MAX, &other) && other.len == input->len &&
			memcmp(buf_text(&other), buf_text(input), input->len) == 0)
			dropped = unlinkat(copy, entry->d_name, 0) == 0 || dropped;
	}
	(void)closedir(dir);
	return dropped;
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
	if (folders_make(it, place, index, err) < 0 || seeds_take(it, place, err) < 0)
		return -1;
	for (size_t i = 0; i < place->plan.file_count; i++) {
		const struct plan_file *file = &place->plan.files[i];
		if (place_write(place->fds[PLACE_WORK], file->name, file->text, strlen(file->text), err) < 0)
			return -1;
	}
	return 0;
}

void place_done(struct place *place)
{
	function_plan_done(&place->plan);
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++) {
		free(place->folders[i]);
		fd_close(&place->fds[i]);
	}
	texts_done(&place->taken);
	texts_done(&place->met);
}

/* Files at the top of a folder, as `du` counts them. What is below folders that it made counts for nothing, and is bounded by
 * the number of files that it may open at once only: so a folder is as bad as too much. */
static bool folder_is_full(int fd)
{
	own(fd_closep) int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	uint64_t bytes = 0, files = 0;
	bool folder = false;
	struct stat st;

	if (!dir)
		return false;
	(void)fd_take(&copy);
	for (struct dirent *entry; !folder && files <= FULL_FILES && bytes <= FULL_BYTES && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		files++;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			bytes += (uint64_t)st.st_blocks * 512;
			folder = S_ISDIR(st.st_mode);
		}
	}
	(void)closedir(dir);
	return folder || bytes > FULL_BYTES || files > FULL_FILES;
}

bool place_is_full(const struct place *place)
{
	return folder_is_full(place->fds[PLACE_CORPUS]) || folder_is_full(place->fds[PLACE_CRASHES]);
}
