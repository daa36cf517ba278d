/* A stranger's program that uses libhotcell: compiled against the installed header and library by
 * tests/system/test_api.py. Prints "ok WHAT" or "not ok WHAT" for each thing that holds or does not.
 *
 *	api bad         what is asked for wrongly is an error
 *	api cell        one cell, and what came of it
 *	api threads     100 cells from several threads, of a process that does other things meanwhile; nothing is left
 *	api reaper      the same for one that waits for every child itself; then for one that ignores SIGCHLD
 *	api stop        ended from another thread, from its watch, and before it began
 *	api fork        used in a child process, and after hotcell_close
 *	api sleep WORD  a cell that stays: to be killed with kill -9
 *	api fuzz TARGET STATE NAME=VALUE...   what was found, a line each */
#include <dirent.h>
#include <errno.h>
#include <hotcell.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define EACH 13

static int bad;

static void check(int holds, const char *what)
{
	printf("%s %s\n", holds ? "ok" : "not ok", what);
	(void)fflush(stdout);
	bad |= !holds;
}

static struct hotcell_job *job_of(struct hotcell *hotcell, const char *const *command)
{
	struct hotcell_job *job = hotcell_job_open(hotcell, HOTCELL_RUN, NULL);

	for (; job && *command; command++)
		if (hotcell_job_add(job, *command, NULL) < 0)
			abort();
	return job;
}

static struct hotcell_result *run(struct hotcell *hotcell, const char *const *command, struct hotcell_error *error)
{
	struct hotcell_job *job = job_of(hotcell, command);
	struct hotcell_result *result = hotcell_job_run(job, error);

	hotcell_job_free(job);
	return result;
}

static unsigned entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

/* ---- bad input ---- */

static int refused(struct hotcell *hotcell, const char *option, const char *value, const char *word)
{
	struct hotcell_error error = {.code = 99};
	struct hotcell_job *job = hotcell_job_open(hotcell, HOTCELL_RUN, &error);
	struct hotcell_result *result = NULL;
	int right = 1;

	if ((!option || hotcell_job_set(job, option, value, &error) == 0) && hotcell_job_add(job, "true", &error) == 0) {
		result = hotcell_job_run(job, &error);
		right = result == NULL;
	}
	right = right && error.code == HOTCELL_E_USAGE && strstr(error.text, word);
	if (!right)
		printf("# %s=%s: code %d, '%s'\n", option, value ? value : "(null)", error.code, error.text);
	hotcell_result_free(result);
	hotcell_job_free(job);
	return right;
}

static void bad_input(void)
{
	struct hotcell_error error;
	struct hotcell *hotcell = hotcell_open(&error);
	struct hotcell_job *job = hotcell_job_open(hotcell, HOTCELL_RUN, &error);
	char *huge = malloc(200000);
	struct rlimit files;

	memset(huge, 'a', 199999);
	huge[199999] = '\0';
	check(hotcell && job, "the library opens");
	check(!hotcell_job_open(NULL, HOTCELL_RUN, &error) && error.code == HOTCELL_E_USAGE, "a job needs a library");
	check(!hotcell_job_open(hotcell, 77, &error) && strstr(error.text, "77"), "a job is of a kind that there is");
	check(hotcell_job_set(job, NULL, "x", &error) < 0 && hotcell_job_set(NULL, "memory", "x", &error) < 0 &&
			hotcell_job_add(job, NULL, &error) < 0 && hotcell_job_input(job, NULL, 5, &error) < 0 &&
			hotcell_job_folder(job, NULL, &error) < 0 && !hotcell_job_run(NULL, &error) &&
			error.code == HOTCELL_E_USAGE,
		"NULL is an error where something is needed");
	check(hotcell_job_set(job, "", "x", NULL) < 0 && !hotcell_job_run(NULL, NULL) && !hotcell_job_open(NULL, 0, NULL),
		"an error need not be wanted");
	hotcell_job_free(NULL);
	hotcell_job_stop(NULL);
	hotcell_close(NULL);
	hotcell_result_free(NULL);
	check(hotcell_job_add(job, huge, &error) < 0 && hotcell_job_set(job, "env", huge, &error) < 0 &&
			strstr(error.text, "128 KB"),
		"a word has a length");
	check(hotcell_job_input(job, (void *)8, (size_t)1 << 40, &error) < 0 && error.code == HOTCELL_E_SYSTEM,
		"input that is no memory is an error");
	check(hotcell_job_add(job, "true", NULL) == 0 && hotcell_job_folder(job, "/nonexistent/folder", NULL) == 0 &&
			!hotcell_job_run(job, &error) && error.code == HOTCELL_E_USAGE &&
			strstr(error.text, "/nonexistent/folder"),
		"a folder that is not there is named");
	check(!hotcell_job_run(job, &error) && hotcell_job_set(job, "memory", "1M", &error) < 0 &&
			strstr(error.text, "already"),
		"a job is run once");
	check(refused(hotcell, "memry", "1G", "memory"), "an unknown option is named, with the nearest");
	check(refused(hotcell, "memory", "much", "much") && refused(hotcell, "memory", "9999999T", "--memory") &&
			refused(hotcell, "memory", "", "--memory") && refused(hotcell, "memory", NULL, "--memory"),
		"sizes are sizes");
	check(refused(hotcell, "tmp-exec", "yes", "tmp-exec"), "an option that takes no value gets none");
	check(refused(hotcell, "mount", "/nonexistent/x:/x", "/nonexistent/x"), "a mount that is not there is named");
	check(refused(hotcell, "--memory", "1G", "dashes") && refused(hotcell, "me mory", "1G", "no name") &&
			refused(hotcell, "json", NULL, "own") && refused(hotcell, "help", NULL, "own") &&
			refused(hotcell, "explain", NULL, "own"),
		"what the library says itself is refused");
	hotcell_job_free(job);
	job = hotcell_job_open(hotcell, HOTCELL_RUN, &error);
	check(!hotcell_job_run(job, &error) && error.code == HOTCELL_E_USAGE && *error.text, "a command is needed");
	hotcell_job_free(job);
	job = hotcell_job_open(hotcell, HOTCELL_FUZZ_FUNCTION, &error);
	check(hotcell_job_input(job, "x", 1, &error) < 0 && hotcell_job_add(job, "", &error) < 0,
		"fuzzing has no input, and targets have names");
	check(hotcell_job_add(job, "/nonexistent/t.py:f", &error) == 0 && !hotcell_job_run(job, &error) &&
			error.code == HOTCELL_E_USAGE && strstr(error.text, "/nonexistent/t.py"),
		"a target that is not there is named");
	hotcell_job_free(job);
	job = job_of(hotcell, (const char *const[]){"true", NULL});
	check(getrlimit(RLIMIT_NOFILE, &files) == 0 &&
			setrlimit(RLIMIT_NOFILE, &(struct rlimit){entries("/proc/self/fd") - 1, files.rlim_max}) == 0 &&
			!hotcell_open(&error) && error.code == HOTCELL_E_SYSTEM && !hotcell_job_run(job, &error) &&
			error.code == HOTCELL_E_SYSTEM,
		"descriptors that are used up are an error");
	(void)setrlimit(RLIMIT_NOFILE, &files);
	hotcell_job_free(job);
	hotcell_close(hotcell);
	free(huge);
}

/* ---- one cell ---- */

static void one_cell(void)
{
	static const char *const script[] = {"sh", "-c", "cat; echo \"$WORD\" >&2; cat /m/file; id -u; exit 7", NULL};
	struct hotcell_error error = {0};
	struct hotcell *hotcell = hotcell_open(&error);
	struct hotcell_job *job = job_of(hotcell, script);
	char mount[4200], here[4096];

	FILE *file = fopen("file", "w");
	if (!file || fputs("mounted\n", file) < 0 || fclose(file) || !getcwd(here, sizeof(here)))
		abort();
	(void)snprintf(mount, sizeof(mount), "%s:/m", here);
	check(hotcell_job_set(job, "env", "WORD=said", &error) == 0 && hotcell_job_set(job, "mount", mount, &error) == 0 &&
			hotcell_job_set(job, "timeout", "20s", &error) == 0 &&
			hotcell_job_input(job, "in\0put\n", 7, &error) == 0,
		"a job takes what it is given");
	struct hotcell_result *result = hotcell_job_run(job, &error);
	const struct hotcell_cell *cell = hotcell_result_cell(result);
	if (!cell) {
		printf("# %s\n", error.text);
		check(0, "a cell has a result");
		return;
	}
	check(cell->outcome == HOTCELL_EXITED && strcmp(cell->outcome_name, "exited") == 0 && cell->exit_code == 7 &&
			cell->signal == 0,
		"the outcome is told");
	check(cell->out_len >= 15 && memcmp(cell->out, "in\0put\nmounted\n", 15) == 0, "stdout is there, NULs too");
	check(cell->err_len == 5 && strcmp(cell->err, "said\n") == 0, "stderr is there, and nothing else in it");
	check(cell->wall_ms > 0 && cell->setup_ms > 0, "durations are told");
	check(cell->full == (cell->gap_count == 0) && strstr(cell->receipt, "\"seccomp\""),
		"the receipt says what was isolated");
	check(strstr(hotcell_result_json(result), "\"outcome\":\"exited\"") != NULL, "the JSON is there");
	for (size_t i = 0; i < cell->gap_count; i++)
		printf("# gap: %s %s %s\n", cell->gaps[i].protection, cell->gaps[i].state, cell->gaps[i].note);
	hotcell_result_free(result);
	hotcell_job_free(job);
	hotcell_close(hotcell);
	check(hotcell_api() == HOTCELL_API && *hotcell_version(), "versions are told");
}

/* ---- many ---- */

static atomic_int busy = 1;
static unsigned good_cells;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void *other_things(
	void *data) /* whoever forked and went on in our memory would find the lock of malloc held, at times */
{
	(void)data;
	while (busy)
		free(malloc(100000));
	return NULL;
}

static void *some_cells(void *data)
{
	struct hotcell *hotcell = data;

	for (int i = 0; i < EACH; i++) {
		char word[40], expected[44];
		struct hotcell_error error = {0};
		(void)snprintf(word, sizeof(word), "cell-%d-%lx", i, (unsigned long)pthread_self());
		int len = snprintf(expected, sizeof(expected), "%s\n", word);
		struct hotcell_result *result = run(hotcell, (const char *const[]){"echo", word, NULL}, &error);
		const struct hotcell_cell *cell = hotcell_result_cell(result);
		int good = cell && cell->outcome == HOTCELL_EXITED && cell->exit_code == 0 && cell->out_len == (size_t)len &&
			memcmp(cell->out, expected, (size_t)len) == 0;
		if (!good)
			printf("# %s: %s\n", word, cell ? hotcell_result_json(result) : error.text);
		hotcell_result_free(result);
		(void)pthread_mutex_lock(&counting);
		good_cells += (unsigned)good;
		(void)pthread_mutex_unlock(&counting);
	}
	return NULL;
}

static void many_cells(const char *what)
{
	unsigned before = entries("/proc/self/fd");
	struct hotcell *hotcell = hotcell_open(NULL);
	pthread_t threads[THREADS], other;
	sigset_t mask_before, mask_after;

	good_cells = 0;
	busy = 1;
	memset(&mask_before, 0, sizeof(mask_before)); /* the kernel fills a part of them */
	memset(&mask_after, 0, sizeof(mask_after));
	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	if (pthread_create(&other, NULL, other_things, NULL))
		abort();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, some_cells, hotcell))
			abort();
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	busy = 0;
	(void)pthread_join(other, NULL);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	hotcell_close(hotcell);
	printf("# %u cells\n", good_cells);
	check(good_cells == THREADS * EACH, what);
	check(entries("/proc/self/fd") == before, "no descriptor is left");
	check(memcmp(&mask_before, &mask_after, sizeof(mask_before)) == 0, "no signal mask was changed");
	check(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD, "no child is left, dead or alive");
}

static void reap_all(int number)
{
	int before = errno;

	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = before;
}

static void with_reaper(void)
{
	struct sigaction now;

	(void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = reap_all}, NULL);
	many_cells("100 cells of a process that waits for every child itself");
	(void)sigaction(SIGCHLD, NULL, &now);
	check(now.sa_handler == reap_all, "its handler is still there");
	(void)signal(SIGCHLD, SIG_IGN);
	many_cells("100 cells of a process that ignores SIGCHLD");
	(void)sigaction(SIGCHLD, NULL, &now);
	check(now.sa_handler == SIG_IGN, "it is still ignored");
}

/* ---- the end ---- */

static const char *const sleeper[] = {"sleep", "600", NULL};

static void *stop_soon(void *job)
{
	(void)usleep(300000);
	hotcell_job_stop(job);
	return NULL;
}

static int watch_calls;

static int stop_third(void *data, const struct hotcell_progress *progress)
{
	(void)data;
	return progress->json == NULL && ++watch_calls >= 3;
}

static int was_cancelled(struct hotcell_result *result)
{
	const struct hotcell_cell *cell = hotcell_result_cell(result);
	int cancelled = cell && cell->outcome == HOTCELL_CANCELLED;

	hotcell_result_free(result);
	return cancelled;
}

static void stopping(void)
{
	struct hotcell *hotcell = hotcell_open(NULL);
	struct hotcell_job *job = job_of(hotcell, sleeper);
	struct hotcell_error error;
	pthread_t thread;

	if (pthread_create(&thread, NULL, stop_soon, job))
		abort();
	check(was_cancelled(hotcell_job_run(job, &error)), "a cell is ended from another thread");
	(void)pthread_join(thread, NULL);
	hotcell_job_free(job);
	job = job_of(hotcell, sleeper);
	check(hotcell_job_watch(job, stop_third, NULL, &error) == 0 && was_cancelled(hotcell_job_run(job, &error)) &&
			watch_calls == 3,
		"a cell is ended by its watch");
	hotcell_job_free(job);
	job = job_of(hotcell, sleeper);
	hotcell_job_stop(job);
	check(!hotcell_job_run(job, &error) && error.code == HOTCELL_E_STOPPED, "a job that was stopped does not begin");
	hotcell_job_free(job);
	hotcell_close(hotcell);
	check(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD, "no child is left, dead or alive");
}

static int echoes(struct hotcell *hotcell)
{
	struct hotcell_result *result = run(hotcell, (const char *const[]){"echo", "here", NULL}, NULL);
	const struct hotcell_cell *cell = hotcell_result_cell(result);
	int good = cell && strcmp(cell->out, "here\n") == 0;

	hotcell_result_free(result);
	return good;
}

static void forking(void)
{
	struct hotcell *hotcell = hotcell_open(NULL);
	int status = -1;

	pid_t pid = fork();
	if (pid == 0)
		_exit(echoes(hotcell) ? 0 : 1);
	check(echoes(hotcell), "a process that has forked makes cells");
	check(waitpid(pid, &status, 0) == pid && status == 0, "and so does the other");
	pid = fork();
	if (pid == 0)
		_exit(close(0) + close(1) + close(2) == 0 && echoes(hotcell) ? 0 : 1);
	check(waitpid(pid, &status, 0) == pid && status == 0, "and one that has closed its first three descriptors");
	struct hotcell_job *job = job_of(hotcell, (const char *const[]){"true", NULL});
	hotcell_close(hotcell);
	struct hotcell_result *result = hotcell_job_run(job, NULL);
	check(hotcell_result_cell(result) && hotcell_result_cell(result)->exit_code == 0,
		"a job outlives the library's handle");
	hotcell_job_free(job);
	hotcell_result_free(result);
}

static int sleeping(const char *word)
{
	struct hotcell *hotcell = hotcell_open(NULL);
	const char *const command[] = {"sh", "-c", "echo started >/m/started; exec sleep 600 # \"$0\"", word, NULL};
	struct hotcell_job *job = job_of(hotcell, command);

	if (hotcell_job_set(job, "mount", ".:/m:rw", NULL) < 0)
		return 1;
	hotcell_result_free(hotcell_job_run(job, NULL));
	hotcell_job_free(job);
	hotcell_close(hotcell);
	return 1;
}

/* ---- fuzzing ---- */

static int count_told(void *data, const struct hotcell_progress *progress)
{
	unsigned *told = data;

	*told += progress->json != NULL && progress->ms > 0;
	return 0;
}

static int fuzzing(int argc, char **argv)
{
	struct hotcell_error error;
	struct hotcell *hotcell = hotcell_open(&error);
	struct hotcell_job *job = hotcell_job_open(hotcell, HOTCELL_FUZZ_FUNCTION, &error);
	unsigned told = 0;

	if (argc < 4 || hotcell_job_add(job, argv[2], &error) < 0 || hotcell_job_set(job, "state", argv[3], &error) < 0 ||
		hotcell_job_watch(job, count_told, &told, &error) < 0)
		return 1;
	for (int i = 4; i < argc; i++) {
		char *equals = strchr(argv[i], '=');
		*equals = '\0';
		if (hotcell_job_set(job, argv[i], equals + 1, &error) < 0)
			return 1;
	}
	struct hotcell_result *result = hotcell_job_run(job, &error);
	const struct hotcell_fuzz *fuzz = hotcell_result_fuzz(result);
	if (!fuzz)
		printf("# %d %s\n", error.code, error.text);
	for (size_t i = 0; fuzz && i < fuzz->problem_count; i++)
		printf("# problem: %s\n", fuzz->problems[i]);
	check(fuzz && strcmp(fuzz->seed, "7") == 0 && fuzz->problem_count == 0, "fuzzing has a result");
	check(told > 0, "progress was told");
	check(fuzz && fuzz->finding_count == 1 && fuzz->findings[0].input_len >= 1 && fuzz->findings[0].input[0] == 'a',
		"what was planted is found, and its input told");
	if (fuzz && fuzz->finding_count) {
		const struct hotcell_finding *finding = &fuzz->findings[0];
		printf("found %s %s %s %s:%u %u/%u: %s\n", finding->severity, finding->oracle, finding->subject, finding->file,
			finding->line, finding->seen, finding->tried, finding->message);
		check(finding->is_new && strstr(finding->json, finding->id), "it is new, and whole");
	}
	hotcell_result_free(result);
	hotcell_job_free(job);
	hotcell_close(hotcell);
	return bad;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "bad") == 0)
		bad_input();
	else if (strcmp(mode, "cell") == 0)
		one_cell();
	else if (strcmp(mode, "threads") == 0)
		many_cells("100 cells from several threads");
	else if (strcmp(mode, "reaper") == 0)
		with_reaper();
	else if (strcmp(mode, "stop") == 0)
		stopping();
	else if (strcmp(mode, "fork") == 0)
		forking();
	else if (strcmp(mode, "sleep") == 0 && argc == 3)
		return sleeping(argv[2]);
	else if (strcmp(mode, "fuzz") == 0)
		return fuzzing(argc, argv);
	else
		return 2;
	return bad;
}
