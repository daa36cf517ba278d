/* The library, and what is asked for. How a job is done is in run.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "api/private.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#define WORDS_MAX 65536
#define WORD_BYTES_MAX (128u << 10) /* as the kernel takes one */

unsigned hotcell_api(void)
{
	return HOTCELL_API;
}

const char *hotcell_version(void)
{
	return HOTCELL_VERSION;
}

static int no_memory(struct hotcell_error *error)
{
	return api_fail(error, HOTCELL_E_SYSTEM, "there is no memory left");
}

/* What is right is not told by the error, so it begins clean. */
static void begin(struct hotcell_error *error)
{
	if (error)
		*error = (struct hotcell_error){0};
}

/* ---- the library ---- */

static int write_all(int fd, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t wrote = write(fd, (const char *)bytes + done, len - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return -1;
		done += (size_t)wrote;
	}
	return 0;
}

struct hotcell *hotcell_open(struct hotcell_error *error)
{
	own(freep) struct hotcell *hotcell = calloc(1, sizeof(*hotcell));
	own(fd_closep) int image = memory_fd("hotcell", MFD_EXEC | MFD_ALLOW_SEALING);

	begin(error);
	if (image < 0 && errno == EINVAL) /* before Linux 6.3 every one may be executed */
		image = memory_fd("hotcell", MFD_ALLOW_SEALING);
	if (!hotcell) {
		(void)no_memory(error);
		return NULL;
	}
	if (image < 0 || write_all(image, hotcell_image, (size_t)(hotcell_image_end - hotcell_image)) < 0 ||
		fcntl(image, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
		(void)api_errno(error, errno, "make memory for the program hotcell");
		return NULL;
	}
	atomic_init(&hotcell->users, 1);
	hotcell->image = fd_take(&image);
	return ptr_take(&hotcell);
}

void hotcell_unuse(struct hotcell *hotcell)
{
	if (!hotcell || atomic_fetch_sub(&hotcell->users, 1) != 1)
		return;
	fd_close(&hotcell->image);
	free(hotcell);
}

void hotcell_close(struct hotcell *hotcell)
{
	hotcell_unuse(hotcell);
}

/* ---- words ---- */

static int word_check(const struct hotcell_job *job, const char *word, struct hotcell_error *error)
{
	if (strlen(word) >= WORD_BYTES_MAX)
		return api_fail(
			error, HOTCELL_E_USAGE, "'%.40s...' is longer than a word of a command may be, which is 128 KB", word);
	if (job->options.count + job->words.count >= WORDS_MAX)
		return api_fail(error, HOTCELL_E_USAGE, "a job has at most %d words", WORDS_MAX);
	return 0;
}

/* ---- jobs ---- */

struct hotcell_job *hotcell_job_open(struct hotcell *hotcell, int kind, struct hotcell_error *error)
{
	begin(error);
	if (!hotcell) {
		(void)api_fail(error, HOTCELL_E_USAGE, "hotcell_job_open needs what hotcell_open gave, not NULL");
		return NULL;
	}
	if (kind != HOTCELL_RUN && kind != HOTCELL_FUZZ_FUNCTION) {
		(void)api_fail(
			error, HOTCELL_E_USAGE, "there is no kind of job %d; say HOTCELL_RUN or HOTCELL_FUZZ_FUNCTION", kind);
		return NULL;
	}
	struct hotcell_job *job = calloc(1, sizeof(*job));
	if (!job) {
		(void)no_memory(error);
		return NULL;
	}
	*job = (struct hotcell_job){.kind = kind, .input = -1, .stop = high_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
	if (job->stop < 0) {
		(void)api_errno(error, errno, "make a descriptor to stop the job by");
		free(job);
		return NULL;
	}
	(void)atomic_fetch_add(&hotcell->users, 1);
	job->hotcell = hotcell;
	return job;
}

void hotcell_job_free(struct hotcell_job *job)
{
	if (!job)
		return;
	words_free(&job->options);
	words_free(&job->words);
	free(job->folder);
	fd_close(&job->input);
	fd_close(&job->stop);
	hotcell_unuse(job->hotcell);
	free(job);
}

static int job_check(const struct hotcell_job *job, const void *argument, const char *what, struct hotcell_error *error)
{
	begin(error);
	if (!job)
		return api_fail(error, HOTCELL_E_USAGE, "a job is needed, not NULL");
	if (!argument)
		return api_fail(error, HOTCELL_E_USAGE, "%s is needed, not NULL", what);
	if (job->ran)
		return api_fail(error, HOTCELL_E_USAGE, "the job has been run already; make another one");
	return 0;
}

/* What the library says itself, or what would print something else than a result. */
static bool is_ours(const char *option)
{
	static const char *const ours[] = {"json", "json-file", "stats-json", "stdin", "stderr", "tty", "raw", "explain",
		"quiet", "verbose", "help", "target"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(ours[i], option) == 0)
			return true;
	return false;
}

static int option_check(const char *option, struct hotcell_error *error)
{
	size_t len = strspn(option, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (!len || option[len] || len > 64 || option[0] == '-')
		return api_fail(error, HOTCELL_E_USAGE,
			"'%.80s' is no name of an option; write it as the manual does, without the dashes before it", option);
	if (is_ours(option))
		return api_fail(error, HOTCELL_E_USAGE, "the option '%s' is the library's own; leave it out", option);
	return 0;
}

int hotcell_job_set(struct hotcell_job *job, const char *option, const char *value, struct hotcell_error *error)
{
	char *word = NULL;

	if (job_check(job, option, "the name of an option", error) < 0 || option_check(option, error) < 0 ||
		word_check(job, value ? value : "", error) < 0)
		return -1;
	if (asprintf(&word, "--%s%s%s", option, value ? "=" : "", value ? value : "") < 0)
		return no_memory(error);
	return words_take(&job->options, word) < 0 ? no_memory(error) : 0;
}

int hotcell_job_add(struct hotcell_job *job, const char *word, struct hotcell_error *error)
{
	if (job_check(job, word, "a word", error) < 0 || word_check(job, word, error) < 0)
		return -1;
	if (job->kind == HOTCELL_RUN)
		return words_take(&job->words, strdup(word)) < 0 ? no_memory(error) : 0;
	char *target = NULL;
	if (!*word)
		return api_fail(error, HOTCELL_E_USAGE, "a target has a name: FILE:FUNCTION, a harness's file, or a folder");
	if (asprintf(&target, "--target=%s", word) < 0) /* never taken for an option */
		return no_memory(error);
	return words_take(&job->words, target) < 0 ? no_memory(error) : 0;
}

int hotcell_job_input(struct hotcell_job *job, const void *bytes, size_t len, struct hotcell_error *error)
{
	if (job_check(job, bytes ? bytes : len ? NULL : "", "the input", error) < 0)
		return -1;
	if (job->kind != HOTCELL_RUN)
		return api_fail(error, HOTCELL_E_USAGE, "what is fuzzed has no stdin; leave hotcell_job_input out");
	own(fd_closep) int fd = memory_fd("hotcell-input", 0);
	if (fd < 0 || write_all(fd, bytes, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return api_errno(error, errno, "keep %zu bytes of input", len);
	fd_close(&job->input);
	job->input = fd_take(&fd);
	return 0;
}

int hotcell_job_folder(struct hotcell_job *job, const char *folder, struct hotcell_error *error)
{
	if (job_check(job, folder, "a folder", error) < 0)
		return -1;
	char *copy = strdup(folder);
	if (!copy)
		return no_memory(error);
	free(job->folder);
	job->folder = copy;
	return 0;
}

int hotcell_job_watch(struct hotcell_job *job, hotcell_watch_fn *watch, void *data, struct hotcell_error *error)
{
	if (job_check(job, "", "", error) < 0)
		return -1;
	job->watch = watch;
	job->watch_data = data;
	return 0;
}

void hotcell_job_stop(struct hotcell_job *job)
{
	int before = errno;

	if (job)
		(void)!write(job->stop, &(uint64_t){1}, sizeof(uint64_t)); /* full means that it was said already */
	errno = before;
}
