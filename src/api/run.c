/* Doing a job: hotcell as a child, what it tells on the way, and its end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "api/pick.h"
#include "api/private.h"

#define WATCH_MS 200
#define STOP_MS 30000 /* after which it is killed, and everything in its cells with it */
#define LINE_MAX_BYTES (256u << 20)
#define SAID_MAX (1u << 20)

struct doing {
	struct hotcell_job *job;
	struct child child;
	int fds[CHILD_FDS];
	int told; /* the other end of its stdout, when that is a pipe; -1 */
	struct bytes line, last; /* being read; the latest that is whole */
	size_t room; /* of line */
	bool lost; /* a line was too long, or there was no memory for it */
	struct hotcell_progress progress;
	uint64_t began, stopped; /* ms; 0: it was not */
	bool killed;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void doing_done(struct doing *doing)
{
	for (int i = 0; i < CHILD_FDS; i++)
		fd_close(&doing->fds[i]);
	fd_close(&doing->told);
	free(doing->line.data);
	free(doing->last.data);
}

/* ---- before ---- */

static int open_fds(struct doing *doing, struct hotcell_error *error)
{
	bool cell = doing->job->kind == HOTCELL_RUN;
	int pipe[2] = {-1, -1};

	if (!cell && pipe2(pipe, O_CLOEXEC) < 0)
		return api_errno(error, errno, "make a pipe");
	doing->told = high_fd(pipe[0]);
	doing->fds[CHILD_OUT] = high_fd(pipe[1]);
	for (int i = 0; i < CHILD_FDS; i++) {
		if (i == CHILD_OUT && !cell)
			;
		else if (i == CHILD_IN && doing->job->input >= 0)
			doing->fds[i] = fcntl(doing->job->input, F_DUPFD_CLOEXEC, CHILD_FDS);
		else if (i == CHILD_IN || (!cell && i != CHILD_SAID && i != CHILD_WORDS))
			doing->fds[i] = high_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
		else
			doing->fds[i] = memory_fd("hotcell-output", 0);
		if (doing->fds[i] < 0)
			return api_errno(error, errno, "make descriptors for hotcell");
	}
	if (!cell && (doing->told < 0 || fcntl(doing->told, F_SETFL, O_NONBLOCK) < 0))
		return api_errno(error, errno, "make a pipe");
	return 0;
}

static int add_words(struct words *all, const char *const *more)
{
	for (; more && *more; more++)
		if (words_take(all, strdup(*more)) < 0)
			return -1;
	return 0;
}

static int words_of(const struct hotcell_job *job, struct words *ret)
{
	static const char *const run[] = {
		"run", "--quiet", "--json-file=/proc/self/fd/3", "--stderr=/proc/self/fd/4", NULL};
	static const char *const fuzz[] = {"fuzz", "function", "--quiet", "--json", "--stats-json", NULL};
	static const char *const dashes[] = {"--", NULL};
	bool cell = job->kind == HOTCELL_RUN;

	_Static_assert(CHILD_JSON == 3 && CHILD_ERR == 4, "the words above say so");
	if (add_words(ret, cell ? run : fuzz) < 0 || add_words(ret, (const char *const *)job->options.list) < 0 ||
		(cell && add_words(ret, dashes) < 0) || add_words(ret, (const char *const *)job->words.list) < 0)
		return -1;
	return 0;
}

/* One after another, with the NUL behind each. */
static int write_words(const struct words *words, int fd, struct hotcell_error *error)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *at = words->list[i];
		for (size_t left = strlen(at) + 1; left;) {
			ssize_t put = write(fd, at, left);
			if (put < 0 && errno == EINTR)
				continue;
			if (put <= 0)
				return api_errno(error, put < 0 ? errno : ENOSPC, "hand hotcell its words");
			at += put;
			left -= (size_t)put;
		}
	}
	return 0;
}

/* ---- meanwhile ---- */

static bool stop_wanted(const struct hotcell_job *job)
{
	struct pollfd asked = {.fd = job->stop, .events = POLLIN};

	return poll(&asked, 1, 0) > 0;
}

static void stop(struct doing *doing)
{
	if (doing->stopped)
		return;
	doing->stopped = now_ms();
	child_signal(&doing->child, doing->job->kind == HOTCELL_RUN ? SIGTERM : SIGINT);
}

static void watch(struct doing *doing, const char *json)
{
	struct hotcell_job *job = doing->job;

	doing->progress.ms = now_ms() - doing->began;
	doing->progress.json = json;
	if (job->watch && job->watch(job->watch_data, &doing->progress) != 0)
		stop(doing);
}

static void line_over(struct doing *doing)
{
	struct pick all = pick_whole(doing->line.data, doing->line.len);
	bool result = pick_get(all, "version").len > 0;

	free(doing->last.data);
	doing->last = doing->line;
	doing->line = (struct bytes){0};
	doing->room = 0;
	if (result)
		return;
	doing->progress.execs = pick_uint(pick_get(all, "execs"), 0);
	doing->progress.execs_per_s = pick_uint(pick_get(all, "execs_per_s"), 0);
	doing->progress.findings = pick_uint(pick_get(all, "findings"), 0);
	watch(doing, doing->last.data);
}

static void take(struct doing *doing, const char *bytes, size_t len)
{
	while (len > 0 && !doing->lost) {
		const char *newline = memchr(bytes, '\n', len);
		size_t part = newline ? (size_t)(newline - bytes) : len;
		if (doing->line.len + part + 1 > doing->room) {
			size_t room = (doing->line.len + part + 1) * 2;
			char *more = room <= LINE_MAX_BYTES ? realloc(doing->line.data, room) : NULL;
			doing->lost = !more;
			if (!more)
				return;
			doing->line.data = more;
			doing->room = room;
		}
		memcpy(doing->line.data + doing->line.len, bytes, part);
		doing->line.len += part;
		doing->line.data[doing->line.len] = '\0';
		if (newline)
			line_over(doing);
		bytes += part + (newline != NULL);
		len -= part + (newline != NULL);
	}
}

/* All that there is to read now; what is not to be kept is read all the same, or it would block. */
static void hear(struct doing *doing)
{
	char bytes[16384];

	while (doing->told >= 0) {
		ssize_t got = read(doing->told, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			fd_close(&doing->told);
		if (got <= 0)
			return;
		take(doing, bytes, (size_t)got);
	}
}

static int wait_ms(const struct doing *doing)
{
	if (doing->job->watch)
		return WATCH_MS;
	return doing->stopped && !doing->killed ? WATCH_MS : -1;
}

static void attend(struct doing *doing)
{
	uint64_t watched = doing->began;

	for (;;) {
		struct pollfd of[] = {{.fd = doing->child.pidfd, .events = POLLIN},
			{.fd = doing->stopped ? -1 : doing->job->stop, .events = POLLIN},
			{.fd = doing->told, .events = POLLIN}};
		int ready = poll(of, 3, wait_ms(doing));
		if (ready > 0 && of[2].revents)
			hear(doing);
		if (ready > 0 && of[0].revents)
			break;
		if (ready > 0 && of[1].revents)
			stop(doing);
		if (doing->stopped && !doing->killed && now_ms() - doing->stopped >= STOP_MS) {
			doing->killed = true;
			child_signal(&doing->child, SIGKILL);
		}
		if (doing->job->watch && !doing->stopped && now_ms() - watched >= WATCH_MS) {
			watched = now_ms();
			watch(doing, NULL);
		}
	}
	hear(doing);
	child_wait(&doing->child);
}

/* ---- after ---- */

static int read_memory(int fd, size_t max, struct bytes *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	size_t size = (size_t)st.st_size < max ? (size_t)st.st_size : max;
	char *data = malloc(size + 1);
	*ret = (struct bytes){.data = data};
	while (data && ret->len < size) {
		ssize_t got = pread(fd, data + ret->len, size - ret->len, (off_t)ret->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		ret->len += (size_t)got;
	}
	if (data)
		data[ret->len] = '\0';
	return data ? 0 : -1;
}

/* Why there is no result, from what it said last. */
static int no_result(const struct doing *doing, const char *said, struct hotcell_error *error)
{
	static const char sign[] = "hotcell: ";
	const struct child *child = &doing->child;
	int code = child->status == 2 ? HOTCELL_E_USAGE : doing->stopped ? HOTCELL_E_STOPPED : HOTCELL_E_FAILED;
	const char *last = NULL;

	for (const char *at = said; at; at = strchr(at, '\n'), at += at != NULL)
		if (strncmp(at, sign, sizeof(sign) - 1) == 0)
			last = at + sizeof(sign) - 1;
	if (child->signal && !doing->stopped)
		return api_fail(error, code, "hotcell was killed by signal %d, and there is no result", child->signal);
	if (doing->lost)
		return api_fail(error, HOTCELL_E_SYSTEM, "there was no memory for the result");
	if (last && !child->signal)
		return api_fail(error, code, "%.*s", (int)strcspn(last, "\n"), last);
	if (doing->stopped)
		return api_fail(error, code, "it was stopped before there was a result");
	if (child->known)
		return api_fail(error, code, "hotcell ended with exit code %d, and there is no result", child->status);
	return api_fail(error, code, "hotcell ended, and there is no result");
}

static struct hotcell_result *finish(struct doing *doing, struct hotcell_error *error)
{
	bool cell = doing->job->kind == HOTCELL_RUN;
	struct bytes said = {0}, json = {0}, out = {0}, err = {0};
	struct hotcell_result *result = NULL;

	if (read_memory(doing->fds[CHILD_SAID], SAID_MAX, &said) < 0 ||
		(cell &&
			(read_memory(doing->fds[CHILD_JSON], SIZE_MAX - 1, &json) < 0 ||
				read_memory(doing->fds[CHILD_OUT], SIZE_MAX - 1, &out) < 0 ||
				read_memory(doing->fds[CHILD_ERR], SIZE_MAX - 1, &err) < 0))) {
		(void)api_fail(error, HOTCELL_E_SYSTEM, "there is no memory for what was printed");
	} else {
		if (!cell && pick_get(pick_whole(doing->last.data, doing->last.len), "version").len) {
			json = doing->last;
			doing->last = (struct bytes){0};
		}
		if (!json.len || (cell && json.data[json.len - 1] != '\n')) /* or it was killed while it wrote */
			(void)no_result(doing, said.data, error);
		else
			result = result_read(doing->job->kind, &json.data, json.len, error);
	}
	if (result) {
		result->out = out;
		result->err = err;
		result->said = said.data;
		result->cell.out = out.data;
		result->cell.out_len = out.len;
		result->cell.err = err.data;
		result->cell.err_len = err.len;
		return result;
	}
	free(said.data);
	free(json.data);
	free(out.data);
	free(err.data);
	return NULL;
}

static struct hotcell_result *run(struct hotcell_job *job, struct hotcell_error *error)
{
	own(doing_done) struct doing doing = {.job = job, .fds = {-1, -1, -1, -1, -1, -1}, .told = -1, .began = now_ms()};
	own(words_free) struct words words = {0};

	if (words_of(job, &words) < 0) {
		(void)api_fail(error, HOTCELL_E_SYSTEM, "there is no memory left");
		return NULL;
	}
	if (open_fds(&doing, error) < 0 ||
		write_words(&words, doing.fds[CHILD_WORDS], error) < 0 ||
		child_start(&doing.child, job->hotcell->image, job->folder, doing.fds, error) < 0)
		return NULL;
	if (job->kind != HOTCELL_RUN)
		fd_close(&doing.fds[CHILD_OUT]); /* its end is seen by this */
	attend(&doing);
	return finish(&doing, error);
}

struct hotcell_result *hotcell_job_run(struct hotcell_job *job, struct hotcell_error *error)
{
	int cancel;

	if (error)
		*error = (struct hotcell_error){0};
	if (!job || job->ran) {
		(void)api_fail(error, HOTCELL_E_USAGE,
			job ? "the job has been run already; make another one" : "a job is needed, not NULL");
		return NULL;
	}
	job->ran = true;
	if (stop_wanted(job)) {
		(void)api_fail(error, HOTCELL_E_STOPPED, "it was stopped before it began");
		return NULL;
	}
	/* A thread that was ended here would leave a child and its descriptors. */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	struct hotcell_result *result = run(job, error);
	(void)pthread_setcancelstate(cancel, NULL);
	return result;
}
