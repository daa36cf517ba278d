/* Between libFuzzer and the harness in Go. Runs inside a cell.
 *
 * What Go cannot recover from (fatal errors, os.Exit, panics of other goroutines) ends a process without a word to libFuzzer,
 * and with it the input that did it. So the process is two from its first moment on: the engine, which keeps its input in
 * memory that both have, and this one, which waits, and writes the input where the engine ends otherwise than it meant to. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define INPUT_MAX (1u << 20)

struct shared {
	uint32_t told, begun;
	uint64_t len;
	unsigned char bytes[INPUT_MAX];
};
static struct shared *shared;

void HotcellStart(void *begun, void *told);
void HotcellOne(void *data, uint64_t size);

static const char *flag(char **argv, const char *prefix)
{
	for (; *argv; argv++)
		if (strncmp(*argv, prefix, strlen(prefix)) == 0)
			return *argv + strlen(prefix);
	return NULL;
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
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, shared->bytes, shared->len) != (ssize_t)shared->len)
		return;
	close(fd);
	fprintf(stderr, "Test unit written to %s\n", path);
}

static void judge(int status, char **argv)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	const char *prefix = flag(argv, "-artifact_prefix="), *exact = flag(argv, "-exact_artifact_path=");

	if (shared->told)
		_exit(code);
	if (!shared->begun) {
		fprintf(stderr, "it ended before its function was called, with exit code %d\n", code);
		_exit(1);
	}
	if (WIFEXITED(status))
		fprintf(stderr, "\n==1== ERROR: libFuzzer: fuzz target exited (exit code %d)\n", code);
	else
		fprintf(stderr, "\n==1== ERROR: libFuzzer: deadly signal (%d)\n", WTERMSIG(status));
	if (prefix || exact)
		keep(prefix, exact);
	_exit(code == 71 ? 71 : 77);
}

/* Before Go begins: it has threads then. */
__attribute__((constructor(101))) static void divide(int argc, char **argv)
{
	int status = 0;
	pid_t parent = getpid();

	(void)argc;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = shared == MAP_FAILED ? -1 : getenv("HOTCELL_CORE") ? 0 : fork();
	if (child < 0) {
		perror("the engine cannot be begun");
		_exit(1);
	}
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

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	atexit(at_end);
	HotcellStart(&shared->begun, &shared->told);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size < INPUT_MAX ? size : INPUT_MAX;

	memcpy(shared->bytes, data, len);
	shared->len = len;
	HotcellOne((void *)data, len);
	return 0;
}
