/* Exhaustion: take as much as there is of one thing, and tell how much that was. A number in the arguments is how much is
 * tried for; without one, more than any cell of the tests may have. */
#include "review/program/hostile.h"

#include <dirent.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>

#define MB (1024 * 1024L)
#define HOARD 512 /* MB: where nothing counts what we take, the machine must live on */
#define FEW 200 /* processes and descriptors, where nothing counts them */

static long long now_ms(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static long number(int argc, char **argv, int which, long otherwise)
{
	return argc > which ? atol(argv[which]) : otherwise;
}

/* To be looked at. */
static void stay(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	ready();
	nanosleep(&time, NULL);
}

/* To be looked at from now on: begins on SIGTERM, or after so many milliseconds if nobody looks. */
static void begin(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	sigset_t go;

	sigemptyset(&go);
	sigaddset(&go, SIGTERM);
	sigprocmask(SIG_BLOCK, &go, NULL);
	ready();
	if (ms > 0)
		(void)sigtimedwait(&go, NULL, &time);
}

/* memory [MB [MS]]: touch that much */
static int attack_memory(int argc, char **argv)
{
	long limit = number(argc, argv, 0, 2048);

	begin(number(argc, argv, 1, 0));
	for (long taken = 0; taken < limit; taken++) {
		char *block = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			return got("mmap", -1), got_number("taken", taken), 1;
		memset(block, 1, MB);
	}
	got_number("taken", limit);
	return 0;
}

/* family [CHILDREN [MS]]: they share the work of taking memory, so that none is large by itself */
static int attack_family(int argc, char **argv)
{
	long children = number(argc, argv, 0, 24);

	begin(number(argc, argv, 1, 0));
	for (long i = 0; i < children; i++) {
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

/* locked [MB]: memory that cannot be swapped */
static int attack_locked(int argc, char **argv)
{
	long taken = 0, limit = number(argc, argv, 0, 4096);

	for (; taken < limit; taken++) {
		char *block = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED || mlock(block, MB) < 0)
			break;
	}
	got("mlock", taken < limit ? -1 : 0);
	got_number("taken", taken);
	return 0;
}

/* memfd [MB [MS]]: a file without a name */
static int attack_memfd(int argc, char **argv)
{
	static char block[MB];
	long taken = 0, limit = number(argc, argv, 0, HOARD);
	int fd = memfd_create("hoard", 0);

	begin(number(argc, argv, 1, 0));
	memset(block, 1, sizeof(block));
	while (taken < limit && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
		taken++;
	got("memfd", -1);
	got_number("taken", taken);
	return 1;
}

/* sysv [MB [MS]]: shared memory that outlives its maker; in small, it does not */
static int attack_sysv(int argc, char **argv)
{
	long taken = 0, limit = number(argc, argv, 0, HOARD);

	begin(number(argc, argv, 1, 0));
	for (; taken < limit; taken++) {
		int id = shmget(IPC_PRIVATE, MB, IPC_CREAT | 0600);
		char *block = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (block == (char *)-1)
			break;
		memset(block, 1, MB);
		if (gentle())
			shmctl(id, IPC_RMID, NULL);
		else
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
		if (gentle())
			mq_unlink(name);
		while (mq_send(queue, message, sizeof(message), 0) == 0)
			taken++;
		if (!gentle())
			mq_close(queue);
	}
	got("mq", -1);
	got_number("taken", taken * 8192);
	return 0;
}

/* forks [MAX [MS]]: as many children as there may be, who then stay that long */
static int attack_forks(int argc, char **argv)
{
	long made = 0, max = number(argc, argv, 0, 100000);

	for (; made < max; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0)
			sleep_forever();
	}
	got("fork", made < max ? -1 : 0);
	got_number("made", made);
	if (argc > 1)
		stay(atol(argv[1]));
	return 0;
}

/* forkbomb [MS]: all of them at it, for ever; in small, a few for a while */
static int attack_forkbomb(int argc, char **argv)
{
	atomic_long *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long until = now_ms(CLOCK_MONOTONIC) + 2500;
	pid_t first = getpid();
	sigset_t none;

	begin(number(argc, argv, 0, 0));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	while (!gentle() || now_ms(CLOCK_MONOTONIC) < until) {
		if (gentle() && atomic_fetch_add(made, 1) >= FEW)
			usleep(20000);
		else
			(void)fork();
	}
	if (getpid() == first)
		while (wait(NULL) > 0)
			;
	return 0;
}

static void *idle(void *data)
{
	sleep_forever();
	return data;
}

/* threads [MAX [MS]]: as many as there may be */
static int attack_threads(int argc, char **argv)
{
	pthread_attr_t attr;
	long made = 0, max = number(argc, argv, 0, 100000);

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (; made < max; made++) {
		pthread_t thread;
		int error = pthread_create(&thread, &attr, idle, NULL);

		if (error) {
			errno = error;
			break;
		}
	}
	got("thread", made < max ? -1 : 0);
	got_number("made", made);
	if (argc > 1)
		stay(atol(argv[1]));
	return 0;
}

/* fill FILE [MB]: write until it fails */
static int attack_fill(int argc, char **argv)
{
	static char block[MB];
	long long taken = 0, max = number(argc, argv, 1, 1L << 30) * MB;
	ssize_t len = 0;

	if (argc < 1)
		return 99;
	int fd = open(argv[0], O_WRONLY | O_CREAT, 0600);
	if (gentle())
		unlink(argv[0]);
	memset(block, 1, sizeof(block));
	while (taken < max && (len = write(fd, block, sizeof(block))) > 0)
		taken += len;
	got("write", taken < max ? -1 : 0);
	got_number("taken", taken);
	return 1;
}

static void remove_all(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

/* inodes FOLDER [MAX]: empty files until it fails */
static int attack_inodes(int argc, char **argv)
{
	long made = 0, max = number(argc, argv, 1, 3000000);

	if (argc < 1)
		return 99;
	bool mine = mkdir(argv[0], 0700) == 0;
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
	if (mine && gentle())
		remove_all(argv[0]);
	return made < max;
}

/* longfile FILE: beyond the file size, first politely, then by the signal */
static int attack_longfile(int argc, char **argv)
{
	if (argc < 1)
		return 99;
	char *some[] = { argv[0], "8" };

	signal(SIGXFSZ, SIG_IGN);
	attack_fill(2, some);
	int fd = open(argv[0], O_WRONLY | O_CREAT, 0600);
	got("ftruncate", ftruncate(fd, 1L << 42));
	if (argc > 1) {
		signal(SIGXFSZ, SIG_DFL);
		attack_fill(2, some);
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
	long max = gentle() ? FEW : 1000000;
	while (made < max && open("/dev/null", O_RDONLY) >= 0)
		made++;
	got("open", made < max ? -1 : 0);
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
	(void)!setrlimit(RLIMIT_CORE, &limit); /* which may say that it did */
	getrlimit(RLIMIT_CORE, &limit);
	got_number("hard", (long long)limit.rlim_max);
	pid_t pid = fork();
	if (pid == 0)
		abort();
	waitpid(pid, &status, 0);
	got_number("dumped", WCOREDUMP(status) != 0);
	abort();
}

/* print FD [BYTES]: that much of one letter, or for ever; in small, not much */
static int attack_print(int argc, char **argv)
{
	static char block[65536];
	int fd = argc > 0 ? atoi(argv[0]) : 1;
	long long left = argc > 1 ? atoll(argv[1]) : gentle() ? 4 * MB : INT64_MAX;

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

	ready();
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

/* bursts MS: compute for 10 ms, sleep for 5, so that who looks now and then sees somebody asleep */
static int attack_bursts(int argc, char **argv)
{
	long long end = now_ms(CLOCK_MONOTONIC) + number(argc, argv, 0, 1000);
	pid_t first = getpid();
	long bursts = 0;

	ready();
	for (int i = 1; i < 8; i++)
		if (fork() == 0)
			break;
	for (; now_ms(CLOCK_MONOTONIC) < end; bursts++) {
		burn_until = now_ms(CLOCK_MONOTONIC) + 10;
		burn(NULL);
		usleep(5000);
	}
	if (getpid() != first)
		_exit(0);
	while (wait(NULL) > 0)
		;
	got_number("bursts", bursts);
	return 0;
}

/* swarm MS: children of a few milliseconds, nobody's any more when they compute, none alive for long */
static int attack_swarm(int argc, char **argv)
{
	atomic_long *cpu = mmap(NULL, sizeof(*cpu), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long end = now_ms(CLOCK_MONOTONIC) + number(argc, argv, 0, 1000);
	long swarms = 0;

	ready();
	for (; now_ms(CLOCK_MONOTONIC) < end; swarms++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int i = 0; i < 4; i++) {
				if (fork() == 0) {
					burn_until = now_ms(CLOCK_MONOTONIC) + 20;
					burn(NULL);
					atomic_fetch_add(cpu, (long)now_ms(CLOCK_PROCESS_CPUTIME_ID));
					_exit(0);
				}
			}
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
		usleep(20000);
	}
	got_number("swarms", swarms);
	got_number("cpu", atomic_load(cpu));
	return 0;
}

/* What is no file of a disk: the kernel's own, which would be read for ever. */
static bool is_kernels(const char *name)
{
	return strcmp(name, "proc") == 0 || strcmp(name, "sys") == 0 || strcmp(name, "dev") == 0;
}

static void churn_folder(const char *path, int depth, long long end, long long *bytes)
{
	static char block[256 * 1024];
	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && now_ms(CLOCK_MONOTONIC) < end && (entry = readdir(dir));) {
		char below[4096];
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] == '.' || (!path[1] && is_kernels(entry->d_name)))
			continue;
		if (entry->d_type == DT_DIR && depth < 6)
			churn_folder(below, depth + 1, end, bytes);
		int fd = entry->d_type == DT_REG ? open(below, O_RDONLY | O_CLOEXEC) : -1;
		for (ssize_t got; fd >= 0 && now_ms(CLOCK_MONOTONIC) < end && (got = read(fd, block, sizeof(block))) > 0;)
			*bytes += got;
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* churn MS [MS]: read whatever there is, and write and drop what was written, so that the page cache never rests */
static int attack_churn(int argc, char **argv)
{
	static char block[MB];
	long long bytes = 0;

	begin(number(argc, argv, 1, 0));
	long long end = now_ms(CLOCK_MONOTONIC) + number(argc, argv, 0, 1000);
	pid_t writer = fork();
	if (writer == 0) {
		while (now_ms(CLOCK_MONOTONIC) < end) {
			int fd = open("churned", O_RDWR | O_CREAT | O_TRUNC, 0600);
			for (int i = 0; i < 16 && write(fd, block, sizeof(block)) > 0; i++)
				;
			close(fd);
		}
		_exit(0);
	}
	while (now_ms(CLOCK_MONOTONIC) < end) {
		long long before = bytes;
		churn_folder("/usr", 0, end, &bytes);
		if (bytes == before) /* a small image has nothing there; our own program is a file too */
			churn_folder("/", 0, end, &bytes);
	}
	waitpid(writer, NULL, 0);
	unlink("churned");
	got_number("read", bytes);
	return 0;
}

/* afterlife KEY MB: shared memory that nobody has attached, under a key by which it is found again, and a file */
static int attack_afterlife(int argc, char **argv)
{
	long size = number(argc, argv, 1, 1) * MB;
	static char block[MB];

	if (argc != 2)
		return 99;
	int id = shmget((key_t)strtol(argv[0], NULL, 0), (size_t)size, IPC_CREAT | IPC_EXCL | 0600);
	char *memory = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
	if (memory == (char *)-1)
		return got("shm", -1), 1;
	memset(memory, 1, (size_t)size);
	int file = open("kept", O_WRONLY | O_CREAT, 0600);
	for (long i = 0; i < size / MB && write(file, block, sizeof(block)) > 0; i++)
		;
	got_number("kept", 2 * size);
	return 0;
}

/* pace N: an honest piece of work: files, processes and sums */
static int attack_pace(int argc, char **argv)
{
	long rounds = number(argc, argv, 0, 20);
	unsigned sum = 0;

	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			for (volatile int j = 0; j < 100000; j++)
				;
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			return got("fork", -1), 1;
		int fd = open("piece", O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || write(fd, &i, sizeof(i)) != sizeof(i) || close(fd) < 0 || unlink("piece") < 0)
			return got("file", -1), 1;
		sum += (unsigned)i;
	}
	got_number("healthy", sum);
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
	{ "bursts", attack_bursts },   { "swarm", attack_swarm },	  { "churn", attack_churn },
	{ "afterlife", attack_afterlife }, { "pace", attack_pace },
	{ 0 },
};
