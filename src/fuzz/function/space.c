/* What a target, its engine and its build can write to: file systems with a size, in memory (cell_space), and never the host's disk.
 *
 * A place has one for all that is written while it is fuzzed: corpus, crashes, smaller inputs, what a merge leaves, cores. It lives as
 * long as the run does; all cells of the target share it, and we read it while they write. What is built is written to another one, which
 * is lent to one build, or one measurement, at a time: what a build left is copied to the host by us, counted, and shown read-only to
 * everything that follows. The cache of a language's builds is one for the run, filled from what is kept and copied back when all is built:
 * what is new comes along, and nothing that was there is changed.
 *
 * So what has no name any more, holes, links, folders in folders and names without content are all bounded by what they are in. Without
 * cells (`bare`) there are no such file systems: folders are the host's, and only what has a name is counted. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/size.h"
#include "base/weaken.h"
#include "fuzz/function/run.h"

#define SPACE_FILES 200000u
#define FILES_PARTS 64u /* that many times as many, at most */
#define DEPTH_MAX 60u
#define CACHE_MAX ((uint64_t)2 << 30) /* more of one is begun anew */
#define FREE_LEAST ((uint64_t)256 << 20) /* of the state's disk, or a fiftieth of a small one */
#define FREE_PART 50u
#define WEIGHT_PART 8u /* of a cell's memory: that much of it is worth a word */

const char *const place_folder_names[] = {
	[PLACE_WORK] = "work",
	[PLACE_CORPUS] = "corpus",
	[PLACE_CRASHES] = "crashes",
	[PLACE_INPUT] = "input",
	[PLACE_OUT] = "out",
	[PLACE_MERGED] = "merged",
	[PLACE_CORE] = "core",
};
_Static_assert(sizeof(place_folder_names) / sizeof(*place_folder_names) == PLACE_FOLDER_COUNT, "a folder has no name");

/* ---- how much ---- */

static uint64_t at_most(uint64_t size, unsigned part)
{
	struct sysinfo info;
	uint64_t all = sysinfo(&info) < 0 ? 0 : (uint64_t)info.totalram * info.mem_unit;

	return all && all / part < size ? all / part : size;
}

uint64_t function_corpus_max(const struct function_options *options)
{
	return options->corpus_max ? options->corpus_max : at_most(FUNCTION_CORPUS_MAX, 4);
}

uint64_t function_build_max(const struct function_options *options)
{
	return options->build_max ? options->build_max : at_most(FUNCTION_BUILD_MAX, 2);
}

/* Names go with the size: for more than a GB there are more. */
static unsigned corpus_files(const struct fuzzing *it)
{
	uint64_t parts = function_corpus_max(it->options) / FUNCTION_CORPUS_MAX;

	return parts > 1 ? (unsigned)(parts < FILES_PARTS ? parts : FILES_PARTS) * SPACE_FILES : SPACE_FILES;
}

/* What of the state's disk is not to be taken, and how much there is besides. */
static uint64_t disk_left(const struct fuzzing *it, uint64_t *ret_least)
{
	struct statvfs fs;

	*ret_least = 0;
	if (fstatvfs(it->folder_fd, &fs) < 0)
		return UINT64_MAX;
	uint64_t all = (uint64_t)fs.f_blocks * fs.f_frsize;
	*ret_least = all / FREE_PART < FREE_LEAST ? all / FREE_PART : FREE_LEAST;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* At most so many bytes, and what leaves the disk its least. */
static uint64_t disk_room(const struct fuzzing *it, uint64_t bytes)
{
	uint64_t least, left = disk_left(it, &least);

	left = left > least ? left - least : 0;
	return bytes < left ? bytes : left;
}

/* ---- of a place ---- */

bool place_in_space(const struct place *place, enum place_folder folder)
{
	return place->space && folder != PLACE_WORK && folder != PLACE_INPUT && folder != PLACE_CORE;
}

/* Cells may have another user than we: nobody else can reach it. */
static int folder_make(const struct cell_space *space, const char *name, int *ret, struct err *err)
{
	*ret = beneath_mkdir(cell_space_top(space), name, 0700, err);
	if (*ret >= 0 && fchmod(*ret, 0777) < 0)
		return err_errno(err, errno, "open the folder '%s'", name);
	return *ret < 0 ? -1 : 0;
}

int place_space_open(struct fuzzing *it, struct place *place, struct err *err)
{
	own(fd_closep) int core = -1;

	if (it->options->bare)
		return 0;
	uint64_t bytes = weakened("corpus-size") ? FUNCTION_CORPUS_MAX : function_corpus_max(it->options);
	place->space = cell_space_open(it->pool, bytes, corpus_files(it), err);
	if (!place->space)
		return -1;
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++)
		if (place_in_space(place, i) && folder_make(place->space, place_folder_names[i], &place->fds[i], err) < 0)
			return -1;
	return folder_make(place->space, place_folder_names[PLACE_CORE], &core, err);
}

void place_space_close(struct place *place)
{
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++)
		if (place_in_space(place, i))
			fd_close(&place->fds[i]);
	place->space = cell_space_free(place->space);
}

/* There is no room for another input. */
static bool place_is_full(const struct place *place)
{
	uint64_t bytes, files;

	if (!place->space)
		return folder_is_full(place->fds[PLACE_CORPUS]) || folder_is_full(place->fds[PLACE_CRASHES]);
	return cell_space_left(place->space, &bytes, &files) && (bytes < CORPUS_INPUT_MAX || files == 0);
}

static void folder_empty(int folder)
{
	DIR *dir = beneath_list(folder, ".");
	struct err err;

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)!beneath_remove(folder, entry->d_name, &err); /* what stays is gone with the run */
	(void)closedir(dir);
}

/* It is memory, and others are fuzzed on. */
void place_release(struct fuzzing *it, struct place *place)
{
	if (!place->full || place->running || place->kept || !place->space)
		return;
	place_keep(it, place);
	folder_empty(place->fds[PLACE_CORPUS]);
	folder_empty(place->fds[PLACE_CRASHES]);
}

void place_full_tell(struct fuzzing *it, size_t index)
{
	struct place *place = &it->places[index];
	char size[16];

	if (place->out || !place->begun_ns || !place_is_full(place))
		return;
	place->full = true;
	if (!place->space) {
		fuzzing_problem(it, index, "it wrote more than 1 GB, 200,000 files or a folder into its corpus or its crashes");
		return;
	}
	fuzzing_problem(it, index, "it filled its corpus and crashes, which hold %s and %u files: it was ended; --corpus-max gives more",
		size_text(function_corpus_max(it->options), size, sizeof(size)), corpus_files(it));
}

void place_weight_tell(struct fuzzing *it, const struct place *place)
{
	uint64_t bytes, files, taken, max = function_corpus_max(it->options);
	char size[16];

	if (!place->space || !cell_space_left(place->space, &bytes, &files))
		return;
	taken = bytes < max ? max - bytes : 0;
	if (taken < engine_memory(it, place) / WEIGHT_PART)
		return;
	fuzzing_gap(it, "%s: its corpus and crashes take %s, which counts as the memory of the cells that wrote it; --memory gives more",
		place->target->name, size_text(taken, size, sizeof(size)));
}

void space_clear(struct place *place, enum place_folder folder)
{
	own(fd_closep) int there = !place->space ? -1
					     : beneath_try(cell_space_top(place->space), place_folder_names[folder], O_RDONLY | O_DIRECTORY, 0);

	if (there >= 0)
		folder_empty(there);
	folder_empty(place->fds[folder]);
}

bool space_take(struct fuzzing *it, struct place *place, enum place_folder folder, uint64_t bytes)
{
	const struct fs_caps caps = {.bytes = disk_room(it, bytes), .entries = 16, .depth = 1};
	own(fs_copy_report_done) struct fs_copy_report report = {0};
	struct err err = {0};

	if (!place->space)
		return true;
	own(fd_closep) int from = beneath_try(cell_space_top(place->space), place_folder_names[folder], O_RDONLY | O_DIRECTORY, 0);
	return from >= 0 && fs_copy_tree(from, place->fds[folder], &caps, &report, &err) == 0 && !report.capped;
}

/* ---- what is built ---- */

static int copy_in(int from, int to, uint64_t bytes, struct err *err)
{
	const struct fs_caps caps = {.bytes = bytes, .entries = SPACE_FILES, .depth = DEPTH_MAX, .links = true, .anybody = true};
	own(fs_copy_report_done) struct fs_copy_report report = {0};
	mode_t mask = umask(0);
	int rc = fs_copy_tree(from, to, &caps, &report, err);

	(void)umask(mask);
	return rc;
}

/* What is new in it, to the place's on the host; all of it, where that would become too much. */
static void cache_keep(struct fuzzing *it, const struct place *place)
{
	uint64_t bytes, files, size = CACHE_MAX + function_build_max(it->options);
	const struct fs_caps caps = {
		.bytes = disk_room(it, CACHE_MAX), .entries = 2 * SPACE_FILES, .depth = DEPTH_MAX, .merge = true};
	own(fs_copy_report_done) struct fs_copy_report report = {0};
	struct err err = {0};

	if (cell_space_left(it->cache, &bytes, &files) && bytes < size && size - bytes > CACHE_MAX)
		folder_empty(place->cache_fd);
	own(fd_closep) int from = beneath_try(cell_space_top(it->cache), "cache", O_RDONLY | O_DIRECTORY, 0);
	if (from < 0 || fs_copy_tree(from, place->cache_fd, &caps, &report, &err) < 0)
		fuzzing_gap(it, "what was built for %s was not kept for the next run: %s", place->language->title,
			*err.text ? err.text : "its folder cannot be opened");
}

void cache_return(struct fuzzing *it)
{
	if (!it->cache)
		return;
	cache_keep(it, it->cached);
	it->cache = cell_space_free(it->cache);
}

/* A cache that cannot be read is none. */
static int cache_lend(struct fuzzing *it, const struct place *place, struct err *err)
{
	own(fd_closep) int new = -1;
	struct err none = {0};

	if (!place->cache || (it->cache && strcmp(it->cached->cache, place->cache) == 0))
		return 0;
	cache_return(it); /* another project's: nothing of it is shown to this one */
	it->cached = place;
	it->cache = cell_space_open(it->pool, CACHE_MAX + function_build_max(it->options), SPACE_FILES, err);
	if (!it->cache || folder_make(it->cache, "cache", &new, err) < 0)
		return -1;
	(void)!copy_in(place->cache_fd, new, CACHE_MAX, &none);
	return 0;
}

int work_lend(struct fuzzing *it, struct place *place, struct err *err)
{
	if (it->options->bare)
		return 0;
	it->lent = cell_space_open(it->pool, function_build_max(it->options), SPACE_FILES, err);
	if (!it->lent || folder_make(it->lent, place_folder_names[PLACE_WORK], &it->lent_work, err) < 0 ||
		copy_in(place->fds[PLACE_WORK], it->lent_work, function_build_max(it->options), err) < 0)
		return -1;
	return cache_lend(it, place, err);
}

void work_full_tell(const struct fuzzing *it, struct buf *said)
{
	uint64_t bytes, files;
	char size[16];

	if (it->lent && cell_space_left(it->lent, &bytes, &files) && (bytes < CORPUS_INPUT_MAX || files == 0))
		buf_fmt(said, "it filled the %s that a build may write; --build-max gives more\n",
			size_text(function_build_max(it->options), size, sizeof(size)));
}

int work_folder(const struct fuzzing *it, const struct place *place)
{
	return it->lent_work >= 0 ? it->lent_work : place->fds[PLACE_WORK];
}

static int left_copy(struct fuzzing *it, int to, struct err *err)
{
	uint64_t max = function_build_max(it->options), left = max > it->built_bytes ? max - it->built_bytes : 0;
	const struct fs_caps caps = {
		.bytes = disk_room(it, left), .entries = SPACE_FILES - it->built_files, .depth = DEPTH_MAX, .links = true};
	own(fs_copy_report_done) struct fs_copy_report report = {0};
	char size[16];

	if (fs_copy_tree(it->lent_work, to, &caps, &report, err) < 0)
		return -1;
	it->built_bytes += report.bytes;
	it->built_files += report.files + report.folders;
	if (!report.capped)
		return 0;
	if (strcmp(report.cap, "depth") == 0)
		return err_set(err, ERR_LIMIT, "its build left more than %u folders in one another", DEPTH_MAX);
	if (caps.bytes < left)
		return err_set(err, ENOSPC, "the disk of the state folder has no room for what was built; make room, or use --state");
	return err_set(err, ERR_LIMIT, "the builds of this run left more than %s or %u files; --build-max gives more",
		size_text(max, size, sizeof(size)), SPACE_FILES);
}

/* Beside what was there, then in its place: what is half copied is never used. */
static int work_replace(struct fuzzing *it, struct place *place, struct err *err)
{
	own(freep) char *old = xfmt("%zu/%s", (size_t)(place - it->places), place_folder_names[PLACE_WORK]), *new = xfmt("%s.new", old);

	if (beneath_remove(it->folder_fd, new, err) < 0)
		return -1;
	own(fd_closep) int to = beneath_mkdir(it->folder_fd, new, 0755, err);
	if (to < 0)
		return -1;
	if (left_copy(it, to, err) < 0) {
		struct err none;
		(void)!beneath_remove(it->folder_fd, new, &none);
		return -1;
	}
	if (beneath_remove(it->folder_fd, old, err) < 0 || beneath_rename(it->folder_fd, new, it->folder_fd, old, err) < 0)
		return -1;
	fd_close(&place->fds[PLACE_WORK]);
	place->fds[PLACE_WORK] = fd_take(&to);
	return place_points(it, place, err);
}

int work_return(struct fuzzing *it, struct place *place, bool keep, struct err *err)
{
	int rc = keep && it->lent && it->lent_work >= 0 ? work_replace(it, place, err) : 0;

	fd_close(&it->lent_work);
	it->lent = cell_space_free(it->lent);
	return rc;
}

/* ---- the disk ---- */

void disk_watch(struct fuzzing *it)
{
	uint64_t least, left = disk_left(it, &least);
	char size[16];

	if (it->disk_told || left >= least)
		return;
	it->disk_told = it->over = it->result->lost = true;
	fuzzing_gap(it, "the disk of the state folder is nearly full (%s left): the run was ended before its time; make room, or use --state",
		size_text(left, size, sizeof(size)));
}
