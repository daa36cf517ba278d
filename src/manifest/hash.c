/* A worker takes the next file until none is left; what it found it puts into memory that all of them share. They are
 * processes and not threads, and each dies with the one that began. A worker that was killed leaves files without an
 * answer: the first process sums them itself, so that losing workers costs time and nothing else. */
#include "manifest/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fs_walk.h"

#define CHUNK ((size_t)256 << 10)
#define WORKERS_MAX 32
#define BYTES_EACH ((uint64_t)8 << 20) /* for less, one more process does not pay */

struct answer {
	_Atomic bool done;
	int trouble;
	unsigned char sha256[SHA256_SIZE];
};

struct board { /* shared */
	_Atomic size_t next;
	struct answer answers[];
};

struct work {
	int dir;
	const struct hash_job *jobs;
	size_t count;
	struct board *board;
	char *chunk;
};

/* ---- one file ---- */

static bool same_file(const struct stat *before, const struct stat *after)
{
	return before->st_size == after->st_size && before->st_mtim.tv_sec == after->st_mtim.tv_sec &&
		before->st_mtim.tv_nsec == after->st_mtim.tv_nsec && before->st_ctim.tv_sec == after->st_ctim.tv_sec &&
		before->st_ctim.tv_nsec == after->st_ctim.tv_nsec;
}

/* 0, an errno or MANIFEST_CHANGING. No more than `size` bytes are read, however fast it grows. */
static int sum_bytes(int fd, char *chunk, uint64_t size, struct sha256 *sum)
{
	for (uint64_t left = size; left > 0;) {
		ssize_t got = read(fd, chunk, left < CHUNK ? (size_t)left : CHUNK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			return MANIFEST_CHANGING;
		sha256_add(sum, chunk, (size_t)got);
		left -= (uint64_t)got;
	}
	return 0;
}

static int sum_file(int dir, const struct hash_job *job, char *chunk, unsigned char ret[SHA256_SIZE])
{
	struct sha256 sum;
	struct stat before, after;
	own(fd_closep) int fd = fs_open_across(dir, job->path, O_RDONLY);

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? MANIFEST_CHANGING : errno;
	if (fstat(fd, &before) < 0)
		return errno;
	if (!S_ISREG(before.st_mode) || (uint64_t)before.st_size != job->entry->size)
		return MANIFEST_CHANGING;
	sha256_init(&sum);
	int trouble = sum_bytes(fd, chunk, job->entry->size, &sum);
	if (trouble)
		return trouble;
	if (fstat(fd, &after) < 0)
		return errno;
	sha256_end(&sum, ret);
	return same_file(&before, &after) ? 0 : MANIFEST_CHANGING;
}

/* ---- many ---- */

static void answer_one(struct work *work, size_t i)
{
	struct answer *answer = &work->board->answers[i];

	answer->trouble = sum_file(work->dir, &work->jobs[i], work->chunk, answer->sha256);
	atomic_store(&answer->done, true);
}

static void take_jobs(struct work *work)
{
	size_t i;

	while ((i = atomic_fetch_add(&work->board->next, 1)) < work->count)
		answer_one(work, i);
}

static pid_t worker_start(struct work *work)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		take_jobs(work);
	_exit(0);
}

static unsigned workers_wanted(const struct hash_job *jobs, size_t count)
{
	cpu_set_t cpus;
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += jobs[i].entry->size;
	unsigned most = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
	if (most > WORKERS_MAX)
		most = WORKERS_MAX;
	uint64_t paying = bytes / BYTES_EACH;
	return paying < most ? (unsigned)paying : most;
}

/* This process is one of them. */
static void work_together(struct work *work)
{
	pid_t workers[WORKERS_MAX];
	unsigned wanted = workers_wanted(work->jobs, work->count), count = 0;

	for (; count + 1 < wanted; count++)
		if ((workers[count] = worker_start(work)) < 0)
			break;
	take_jobs(work);
	for (unsigned i = 0; i < count; i++)
		while (waitpid(workers[i], NULL, 0) < 0 && errno == EINTR)
			;
	for (size_t i = 0; i < work->count; i++)
		if (!atomic_load(&work->board->answers[i].done))
			answer_one(work, i);
}

int hash_files(int dir, const struct hash_job *jobs, size_t count, struct err *err)
{
	size_t size = sizeof(struct board) + count * sizeof(struct answer);
	struct work work = {.dir = dir, .jobs = jobs, .count = count};
	own(freep) char *chunk = count ? xcalloc(CHUNK, 1) : NULL;

	if (count == 0)
		return 0;
	work.board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (work.board == MAP_FAILED)
		return err_errno(err, errno, "share memory for %zu sums", count);
	work.chunk = chunk;
	work_together(&work);
	for (size_t i = 0; i < count; i++) {
		jobs[i].entry->trouble = work.board->answers[i].trouble;
		memcpy(jobs[i].entry->sha256, work.board->answers[i].sha256, SHA256_SIZE);
	}
	(void)munmap(work.board, size);
	return 0;
}
