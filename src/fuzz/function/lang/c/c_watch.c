/* Linked into a harness of C or C++ that libFuzzer drives. Runs inside a cell.
 *
 * What ends its process by _exit, or by a signal that nobody catches, leaves libFuzzer no time to say a word, and the input is
 * lost with it. So the process is two from its first moment on: the engine, which keeps its input in memory that both have, and
 * this one, which waits, and writes the input where the engine ended and left none. To be read as C and as C++. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOTCELL_INPUT_MAX ((size_t)1 << 20)
#define HOTCELL_LOOK_MAX 10000
#ifdef __cplusplus
extern "C" {
#endif

struct hotcell_shared {
	uint32_t told, begun;
	uint64_t len;
	unsigned char bytes[HOTCELL_INPUT_MAX];
};
static struct hotcell_shared *shared;
static int skips; /* the two inputs that libFuzzer always begins with: they are known to fail */

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *flag(char **argv, const char *prefix)
{
	for (; *argv; argv++)
		if (strncmp(*argv, prefix, strlen(prefix)) == 0)
			return *argv + strlen(prefix);
	return NULL;
}

static int is_same(const char *path)
{
	static unsigned char part[65536];
	struct stat about;
	uint64_t at = 0;
	ssize_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return 0;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && (uint64_t)about.st_size == shared->len)
		while (at < shared->len && (got = read(fd, part, sizeof(part))) > 0 && at + (uint64_t)got <= shared->len &&
			memcmp(part, shared->bytes + at, (size_t)got) == 0)
			at += (uint64_t)got;
	else
		at = UINT64_MAX;
	close(fd);
	return at == shared->len;
}

/* Whether libFuzzer has left it: in the file that it was told, or in one that it named beside the others. */
static int is_left(const char *prefix, const char *exact)
{
	const char *slash = prefix ? strrchr(prefix, '/') : NULL;
	char folder[4096], path[4096 + 512];
	int found = 0, looked = 0;

	if (exact)
		return is_same(exact);
	if (!slash)
		return 1; /* nobody wants it */
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - prefix) + 1, prefix);
	DIR *dir = opendir(folder);
	if (!dir)
		return 0;
	for (struct dirent *each; !found && looked++ < HOTCELL_LOOK_MAX && (each = readdir(dir));) {
		if (strncmp(each->d_name, "crash-", 6) != 0 && strncmp(each->d_name, "timeout-", 8) != 0 &&
			strncmp(each->d_name, "oom-", 4) != 0 && strncmp(each->d_name, "leak-", 5) != 0)
			continue;
		snprintf(path, sizeof(path), "%s%s", folder, each->d_name);
		found = is_same(path);
	}
	closedir(dir);
	return found;
}

/* Named by its content, so that the same is there once. */
static void keep(const char *prefix, const char *exact)
{
	uint64_t sum = 14695981039346656037u;
	char path[4096];

	for (uint64_t i = 0; i < shared->len; i++)
		sum = (sum ^ shared->bytes[i]) * 1099511628211u;
	if (exact)
		snprintf(path, sizeof(path), "%s", exact);
	else
		snprintf(path, sizeof(path), "%scrash-%016llx", prefix, (unsigned long long)sum);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return;
	if (write(fd, shared->bytes, shared->len) == (ssize_t)shared->len)
		fprintf(stderr, "artifact_prefix='%s'; Test unit written to %s\n", prefix ? prefix : "", path);
	close(fd);
}

/* One that is given files tries these, leaves nothing, and says itself what it ends with. */
static int is_replay(char **argv)
{
	struct stat about;

	if (flag(argv, "-minimize_crash_internal_step="))
		return 0;
	for (argv++; *argv; argv++)
		if (**argv != '-' && stat(*argv, &about) == 0 && S_ISREG(about.st_mode))
			return 1;
	return 0;
}

static int is_its_own(int code)
{
	return code == 1 || code == 70 || code == 71 || code == 77;
}

static void judge(int status, char **argv)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	const char *prefix = flag(argv, "-artifact_prefix="), *exact = flag(argv, "-exact_artifact_path=");

	if (shared->told || !shared->begun || shared->len > HOTCELL_INPUT_MAX)
		_exit(code);
	if (is_replay(argv) ? is_its_own(code) : is_left(prefix, exact))
		_exit(code);
	if (WIFEXITED(status))
		fprintf(stderr, "\n==1== ERROR: libFuzzer: fuzz target exited (exit code %d)\n", code);
	else if (WTERMSIG(status) != SIGKILL) /* what has too much memory is ended so, and the cell knows it */
		fprintf(stderr, "\n==1== ERROR: libFuzzer: deadly signal (%d)\n", WTERMSIG(status));
	if (!is_replay(argv))
		keep(prefix, exact);
	_exit(77);
}

/* Before the target has threads. */
__attribute__((constructor(101))) static void divide(int argc, char **argv)
{
	int status = 0;
	pid_t parent = getpid();

	(void)argc;
	void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = memory == MAP_FAILED ? -1 : getenv("HOTCELL_CORE") ? 0 : fork();
	if (child < 0) {
		perror("the engine cannot be begun");
		_exit(1);
	}
	shared = (struct hotcell_shared *)memory;
	skips = flag(argv, "--hotcell-skip-first") != NULL;
	if (child == 0 && getenv("HOTCELL_CORE")) /* somebody else watches it */
		return;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		return;
	}
	while (waitpid(child, &status, 0) < 0)
		;
	judge(status, argv);
}

static void at_end(void)
{
	shared->told = 1;
}

/* libFuzzer ends by exit. Of a target that does so it hears before this does, and goes no further. */
__attribute__((constructor(102))) static void end_is_told(void)
{
	atexit(at_end);
}

/* Leaves no frame behind: those of the target, and with them the ids of findings, are as without it. */
__attribute__((no_sanitize("address", "undefined", "memory", "coverage"))) int __wrap_LLVMFuzzerTestOneInput(
	const uint8_t *data, size_t size)
{
	if (skips && (size == 0 || (size == 1 && *data == '\n')))
		return 0;
	shared->begun = 1;
	shared->len = size;
	memcpy(shared->bytes, data, size < HOTCELL_INPUT_MAX ? size : HOTCELL_INPUT_MAX);
	__attribute__((musttail)) return __real_LLVMFuzzerTestOneInput(data, size);
}

#ifdef __cplusplus
}
#endif
