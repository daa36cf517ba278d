/* Exhaustion: take as much as there is of one thing, and tell how much that was. */
#include "review/program/hostile.h"

#include <mqueue.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>

#define MB (1024 * 1024L)
#define HOARD 512 /* MB: where nothing counts what we take, the machine must live on */

static long long now_ms(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* memory [MB]: touch that much, or for ever */
static int attack_memory(int argc, char **argv)
{
	long limit = argc > 0 ? atol(argv[0]) : 2048; /* more than any cell of the tests may have */

	ready();
	for (long taken = 0; taken < limit; taken++) {
		char *block = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			return got("mmap", -1), got_number("taken", taken), 1;
		memset(block, 1, MB);
	}
	got_number("taken", limit);
	return 0;
}

/* family: children share the work of taking memory, so that none is large by itself */
static int attack_family(int argc, char **argv)
{
	(void)argc, (void)argv;
	ready();
	for (int i = 0; i < 24; i++) {
		if (fork() == 0) {
			for (int j = 0; j < 8; j++) {
				char *block = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
				if (block != MAP_FAILED)
					memset(block, 1, MB);
			}
			sleep_forever();
		}
	}
	sleep(1);
	return 0;
}

/* locked: memory that cannot be swapped */
static int attack_locked(int argc, char **argv)
{
	long taken = 0;

	(void)argc, (void)argv;
	for (; taken < 4096; taken++) {
		char *block = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED || mlock(block, MB) < 0)
			break;
	}
	got("mlock", -1);
	got_number("taken", taken);
	return 0;
}

/* memfd: a file without a name */
static int attack_memfd(int argc, char **argv)
{
	static char block[MB];
	long taken = 0;
	int fd = memfd_create("hoard", 0);

	(void)argc, (void)argv;
	ready();
	memset(block, 1, sizeof(block));
	while (taken < HOARD && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
		taken++;
	got("memfd", -1);
	got_number("taken", taken);
	return 1;
}

/* sysv: shared memory that outlives its maker */
static int attack_sysv(int argc, char **argv)
{
	long taken = 0;

	(void)argc, (void)argv;
	ready();
	for (; taken < HOARD; taken++) {
		int id = shmget(IPC_PRIVATE, MB, IPC_CREAT | 0600);
		char *block = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (block == (char *)-1)
			break;
		memset(block, 1, MB);
		shmdt(block);
	}
	got("shmget", -1);
	got_number("taken", taken);
	return 1;
}

/* mqueue: messages that stay in the kernel */
static int attack_mqueue(int argc, char **argv)
{
	static char message[8192];
	long taken = 0, queues = 0;

	(void)argc, (void)argv;
	for (; queues < 4096; queues++) {
		char name[32];
		struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = sizeof(message) };

		snprintf(name, sizeof(name), "/hoard-%ld", queues);
		mqd_t queue = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attr);
		if (queue < 0)
			break;
		while (mq_send(queue, message, sizeof(message), 0) == 0)
			taken++;
		mq_close(queue);
	}
	got("mq", -1);
	got_number("taken", taken * 8192);
	return 0;
}

/* forks: as many children as there may be; forkbomb: all of them at it, for ever */
static int attack_forks(int argc, char **argv)
{
	long made = 0;

	(void)argc, (void)argv;
	for (; made < 100000; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0)
			sleep_forever();
	}
	got("fork", -1);
	got_number("made", made);
	return 0;
}

static int attack_forkbomb(int argc, char **argv)
{
	(void)argc, (void)argv;
	ready();
	while (getpid() > 0)
		(void)fork();
	return 0;
}

static void *idle(void *data)
{
	sleep_forever();
	return data;
}

/* threads: as many as there may be */
static int attack_threads(int argc, char **argv)
{
	pthread_attr_t attr;
	long made = 0;

	(void)argc, (void)argv;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (; made < 100000; made++) {
		pthread_t thread;
		int error = pthread_create(&thread, &attr, idle, NULL);

		if (error) {
			errno = error;
			break;
		}
	}
	got("thread", -1);
	got_number("made", made);
	return 0;
}

/* fill FILE: write until it fails */
static int attack_fill(int argc, char **argv)
{
	static char block[MB];
	long long taken = 0;
	ssize_t len;

	if (argc != 1)
		return 99;
	int fd = open(argv[0], O_WRONLY | O_CREAT, 0600);
	memset(block, 1, sizeof(block));
	while ((len = write(fd, block, sizeof(block))) > 0)
		taken += len;
	got("write", -1);
	got_number("taken", taken);
	return 1;
}

/* inodes FOLDER [MAX]: empty files until it fails */
static int attack_inodes(int argc, char **argv)
{
	long made = 0, max = argc > 1 ? atol(argv[1]) : 3000000;

	if (argc < 1)
		return 99;
	for (; made < max; made++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%ld", argv[0], made);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	if (made < max)
		got("create", -1);
	got_number("made", made);
	return made < max;
}

/* longfile FILE: beyond the file size, first politely, then by the signal */
static int attack_longfile(int argc, char **argv)
{
	if (argc < 1)
		return 99;
	signal(SIGXFSZ, SIG_IGN);
	attack_fill(1, argv);
	got("ftruncate", truncate(argv[0], 1L << 42));
	if (argc > 1) {
		signal(SIGXFSZ, SIG_DFL);
		attack_fill(1, argv);
	}
	return 0;
}

/* sparse FILE BYTES: a hole of that length with one byte at its end */
static int attack_sparse(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	int fd = open(argv[0], O_RDWR | O_CREAT, 0600);
	got("ftruncate", ftruncate(fd, atoll(argv[1])));
	got("pwrite", pwrite(fd, "x", 1, atoll(argv[1]) - 1));
	return 0;
}

/* descriptors: open as many as there may be, then try to raise the limit */
static int attack_descriptors(int argc, char **argv)
{
	struct rlimit limit;
	long made = 0;

	(void)argc, (void)argv;
	while (made < 1000000 && open("/dev/null", O_RDONLY) >= 0)
		made++;
	got("open", -1);
	got_number("made", made);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max += 1000;
	got("raise", setrlimit(RLIMIT_NOFILE, &limit));
	return 0;
}

/* core: a child that crashes; is its core kept? */
static int attack_core(int argc, char **argv)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	int status = 0;

	(void)argc, (void)argv;
	got("raise", setrlimit(RLIMIT_CORE, &limit));
	getrlimit(RLIMIT_CORE, &limit);
	got_number("hard", (long long)limit.rlim_max);
	pid_t pid = fork();
	if (pid == 0)
		abort();
	waitpid(pid, &status, 0);
	got_number("dumped", WCOREDUMP(status) != 0);
	abort();
}

/* print FD [BYTES]: that much of one letter, or for ever */
static int attack_print(int argc, char **argv)
{
	static char block[65536];
	int fd = argc > 0 ? atoi(argv[0]) : 1;
	long long left = argc > 1 ? atoll(argv[1]) : INT64_MAX;

	memset(block, 'y', sizeof(block));
	while (left > 0) {
		ssize_t len = write(fd, block, left < (long long)sizeof(block) ? (size_t)left : sizeof(block));

		if (len < 0)
			return 1;
		left -= len;
	}
	return 0;
}

static long long burn_until;

static void *burn(void *data)
{
	volatile unsigned sink = 0;

	while (now_ms(CLOCK_MONOTONIC) < burn_until)
		for (int i = 0; i < 20000; i++)
			sink++;
	return data;
}

/* burn MS THREADS: compute for that long, then tell the CPU time it got */
static int attack_burn(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 1 ? atoi(argv[1]) : 1;
	long long start = now_ms(CLOCK_MONOTONIC);

	burn_until = start + (argc > 0 ? atoi(argv[0]) : 1000);
	for (int i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, burn, NULL) != 0)
			return got("thread", -1), 1;
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	got_number("wall", now_ms(CLOCK_MONOTONIC) - start);
	got_number("cpu", now_ms(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

static int dig(volatile int depth)
{
	volatile char space[4096];

	space[0] = (char)depth;
	return depth < 0 ? 0 : dig(depth + 1) + space[0];
}

/* stack: recursion without end */
static int attack_stack(int argc, char **argv)
{
	(void)argc, (void)argv;
	return dig(0);
}

const struct attack exhaust_attacks[] = {
	{ "memory", attack_memory },   { "family", attack_family },	  { "locked", attack_locked },
	{ "memfd", attack_memfd },     { "sysv", attack_sysv },	  { "mqueue", attack_mqueue },
	{ "forks", attack_forks },     { "forkbomb", attack_forkbomb }, { "threads", attack_threads },
	{ "fill", attack_fill },       { "inodes", attack_inodes },	  { "longfile", attack_longfile },
	{ "sparse", attack_sparse },   { "descriptors", attack_descriptors }, { "core", attack_core },
	{ "print", attack_print },     { "burn", attack_burn },	  { "stack", attack_stack },
	{ 0 },
};
