/* Leaves the core of a command that fails. Runs inside a cell:
 *
 *     core_of_hotcell FOLDER BELOW faults|aborts COMMAND WORD...
 *
 * The kernel's cores go where the host's administrator wants them, and a cell has none; gdb writes what is only reserved, too,
 * which is terabytes with AddressSanitizer. So the command is traced here until a signal would end it, or it ends with a code
 * that is not 0, and then FOLDER has "core", an ELF core as gdb reads it, and "program", which it is of: one that is below
 * BELOW, or it is not what was built. What a sanitizer or a harness of ours tells becomes an abort, where it
 * happens. "aborts": no other signal counts, since the language makes something else of faults.
 *
 * Its exit code says what became of it; core_dump.c has the words. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum end { END_WHOLE, END_USAGE, END_NOTHING, END_CUT, END_OTHER, END_FULL, END_FAILED };

#define CORE_MAX ((uint64_t)1000 << 20) /* bytes of memory in a core: less than the largest file of a cell, if nobody says otherwise */
#define SMALL ((uint64_t)16 << 20) /* mappings of at most this come first: stacks */
#define MAPS_MAX 60000
#define THREADS_MAX 512
#define PART ((size_t)1 << 20)
#define NAME_FILE 0x46494c45u
#define NAME_SIGINFO 0x53494749u

struct map {
	uint64_t from, to, offset, kept; /* bytes of it that are in the core */
	unsigned flags;
	int rank; /* 0: nothing of it is wanted; 1: its first page; 2: all */
	char *name; /* of a file; NULL: none */
};
static struct map *maps;
static size_t map_count;
static const char *folder;
static pid_t whole; /* the process */

static void fail(const char *what)
{
	int code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? END_FULL : END_FAILED;

	fprintf(stderr, "core: %s: %s\n", what, strerror(errno));
	if (chdir(folder) == 0) {
		unlink("core");
		unlink("program");
	}
	_exit(code);
}

static void *room(void *old, size_t size)
{
	void *new = realloc(old, size);

	if (!new)
		fail("memory");
	return new;
}

/* ---- what is mapped ---- */

static void map_add(const char *line)
{
	unsigned long long from, to, offset;
	char mode[8], name[PATH_MAX] = "";

	if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %4095[^\n]", &from, &to, mode, &offset, name) < 4)
		return;
	if (map_count == MAPS_MAX) {
		errno = E2BIG;
		fail("mappings");
	}
	maps = room(maps, (map_count + 1) * sizeof(*maps));
	struct map *map = &maps[map_count++];
	*map = (struct map){.from = from, .to = to, .offset = offset, .name = *name == '/' ? strdup(name) : NULL};
	map->flags = (mode[0] == 'r' ? PF_R : 0) | (mode[1] == 'w' ? PF_W : 0) | (mode[2] == 'x' ? PF_X : 0);
	if (!(map->flags & PF_R) || strncmp(name, "[vvar", 5) == 0 || strcmp(name, "[vsyscall]") == 0)
		map->rank = 0; /* reserved, or the kernel's */
	else
		map->rank = !map->name ? 2 : offset == 0 ? 1 : 0;
}

/* What is a page of a file and nobody wrote to is in that file; what nobody touched has nothing in it. */
static void map_more(const char *line)
{
	struct map *map = &maps[map_count - 1];
	unsigned long long kb;

	if (sscanf(line, "Rss: %llu", &kb) == 1 && kb == 0)
		map->rank = 0;
	else if (sscanf(line, "Anonymous: %llu", &kb) == 1 && kb > 0 && map->flags & PF_R)
		map->rank = 2;
	else if (strncmp(line, "VmFlags:", 8) == 0 && (strstr(line, " dd") || strstr(line, " io")))
		map->rank = 0; /* it is not to be dumped */
}

static void maps_read(void)
{
	char path[64], line[PATH_MAX + 200];

	snprintf(path, sizeof(path), "/proc/%d/smaps", whole);
	FILE *file = fopen(path, "re");
	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file)) {
		if (strchr("0123456789abcdef", *line))
			map_add(line);
		else if (map_count)
			map_more(line);
	}
	fclose(file);
}

/* Returns whether all of it is in. */
static int maps_choose(uint64_t page)
{
	uint64_t left = CORE_MAX;
	int all = 1;

	for (int large = 0; large < 2; large++) {
		for (size_t i = 0; i < map_count; i++) {
			struct map *map = &maps[i];
			uint64_t size = map->rank == 2 ? map->to - map->from : map->rank ? page : 0;
			if ((size > SMALL) != large)
				continue;
			map->kept = size <= left ? size : 0;
			all = all && map->kept == size;
			left -= map->kept;
		}
	}
	return all;
}

/* ---- notes ---- */

struct bytes {
	char *at;
	size_t len;
};

static void put(struct bytes *out, const void *from, size_t len)
{
	out->at = room(out->at, out->len + len + 8);
	memcpy(out->at + out->len, from, len);
	out->len += len;
}

static void note(struct bytes *out, uint32_t type, const void *from, size_t len)
{
	const Elf64_Nhdr head = {.n_namesz = 5, .n_descsz = (Elf64_Word)len, .n_type = type};

	put(out, &head, sizeof(head));
	put(out, "CORE\0\0\0", 8);
	put(out, from, len);
	put(out, "\0\0\0", (4 - len % 4) % 4);
}

static void note_thread(struct bytes *out, pid_t thread, int number)
{
	struct elf_prstatus status = {.pr_pid = thread, .pr_ppid = getpid(), .pr_cursig = (short)number};
	struct iovec all = {&status.pr_reg, sizeof(status.pr_reg)};
	char floats[4096];
	struct iovec more = {floats, sizeof(floats)};

	status.pr_info.si_signo = number;
	if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &all) < 0)
		return; /* it has ended */
	status.pr_fpvalid = ptrace(PTRACE_GETREGSET, thread, NT_PRFPREG, &more) == 0;
	note(out, NT_PRSTATUS, &status, sizeof(status));
	if (status.pr_fpvalid)
		note(out, NT_PRFPREG, floats, more.iov_len);
}

static void note_process(struct bytes *out, const char *program)
{
	struct elf_prpsinfo info = {.pr_pid = whole, .pr_ppid = getpid(), .pr_sname = 'R'};
	const char *slash = strrchr(program, '/');
	char path[64], auxv[4096];

	snprintf(info.pr_fname, sizeof(info.pr_fname), "%.15s", slash ? slash + 1 : program);
	snprintf(info.pr_psargs, sizeof(info.pr_psargs), "%.70s", program);
	note(out, NT_PRPSINFO, &info, sizeof(info));
	snprintf(path, sizeof(path), "/proc/%d/auxv", whole);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));
	if (got > 0)
		note(out, NT_AUXV, auxv, (size_t)got);
	close(fd);
}

static void note_files(struct bytes *out, uint64_t page)
{
	struct bytes list = {0}, names = {0};
	uint64_t head[2] = {0, page};

	for (size_t i = 0; i < map_count; i++) {
		const uint64_t row[3] = {maps[i].from, maps[i].to, maps[i].offset / page};
		if (!maps[i].name)
			continue;
		head[0]++;
		put(&list, row, sizeof(row));
		put(&names, maps[i].name, strlen(maps[i].name) + 1);
	}
	struct bytes all = {0};
	put(&all, head, sizeof(head));
	put(&all, list.at, list.len);
	put(&all, names.at, names.len);
	note(out, NAME_FILE, all.at, all.len);
}

/* ---- the file ---- */

static void write_at(int fd, const void *from, size_t len, uint64_t at)
{
	for (const char *next = from; len > 0;) {
		ssize_t done = pwrite(fd, next, len, (off_t)at);
		if (done <= 0)
			fail("write");
		next += done;
		len -= (size_t)done;
		at += (uint64_t)done;
	}
}

/* Pages of zeros stay holes. */
static void write_memory(int fd, int memory, const struct map *map, uint64_t at, uint64_t page)
{
	static char part[PART], zeros[PART];

	for (uint64_t done = 0; done < map->kept;) {
		size_t want = map->kept - done < PART ? (size_t)(map->kept - done) : PART;
		ssize_t got = pread(memory, part, want, (off_t)(map->from + done));
		if (got <= 0) { /* a page that cannot be read is a hole, too */
			done += page;
			continue;
		}
		for (size_t i = 0; i < (size_t)got; i += page) {
			size_t len = (size_t)got - i < page ? (size_t)got - i : page;
			if (memcmp(part + i, zeros, len) != 0)
				write_at(fd, part + i, len, at + done + i);
		}
		done += (uint64_t)got;
	}
}

static void write_core(const struct bytes *notes, uint64_t page)
{
	char path[PATH_MAX];
	const size_t count = map_count + 1;
	Elf64_Ehdr head = {.e_type = ET_CORE, .e_version = EV_CURRENT, .e_phoff = sizeof(head), .e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = (Elf64_Half)count};
	Elf64_Phdr *rows = room(NULL, count * sizeof(*rows));
	uint64_t at = sizeof(head) + count * sizeof(*rows);

	snprintf(path, sizeof(path), "/proc/%d/exe", whole);
	int program = open(path, O_RDONLY | O_CLOEXEC);
	if (program < 0 || pread(program, &head, EI_NIDENT, 0) != EI_NIDENT || pread(program, &head.e_machine, sizeof(head.e_machine),
									     offsetof(Elf64_Ehdr, e_machine)) != sizeof(head.e_machine))
		fail(path); /* of the same machine */
	close(program);
	rows[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = at, .p_filesz = notes->len};
	at = (at + notes->len + page - 1) / page * page;
	for (size_t i = 0; i < map_count; i++) {
		rows[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = maps[i].flags, .p_offset = at, .p_vaddr = maps[i].from,
			.p_filesz = maps[i].kept, .p_memsz = maps[i].to - maps[i].from, .p_align = page};
		at += maps[i].kept;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", whole);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		fail(path);
	snprintf(path, sizeof(path), "%s/core", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)at) < 0)
		fail(path);
	write_at(fd, &head, sizeof(head), 0);
	write_at(fd, rows, count * sizeof(*rows), sizeof(head));
	write_at(fd, notes->at, notes->len, rows[0].p_offset);
	for (size_t i = 0; i < map_count; i++)
		write_memory(fd, memory, &maps[i], rows[i + 1].p_offset, page);
	if (close(fd) < 0)
		fail(path);
}

static void copy_program(void)
{
	static char part[PART];
	char path[PATH_MAX];
	ssize_t got;
	uint64_t at = 0;

	snprintf(path, sizeof(path), "/proc/%d/exe", whole);
	int from = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/program", folder);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (from < 0 || to < 0)
		fail(path);
	for (; (got = read(from, part, sizeof(part))) > 0; at += (uint64_t)got)
		write_at(to, part, (size_t)got, at);
	if (got < 0 || close(to) < 0)
		fail(path);
}

/* ---- all threads ---- */

/* False: it is no more, or does not stop. */
static int hold(pid_t thread)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int status;

	if (syscall(SYS_tgkill, whole, thread, SIGSTOP) < 0)
		return 0;
	for (int tries = 0; tries < 1000; tries++) {
		pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
		if (got == thread)
			return WIFSTOPPED(status);
		if (got < 0)
			return 0;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static void note_others(struct bytes *out, pid_t first)
{
	char path[64];
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", whole);
	DIR *dir = opendir(path);
	for (struct dirent *each; dir && count < THREADS_MAX && (each = readdir(dir));) {
		pid_t thread = (pid_t)atoi(each->d_name);
		if (thread <= 0 || thread == first || !hold(thread))
			continue;
		note_thread(out, thread, 0);
		count++;
	}
	if (dir)
		closedir(dir);
}

/* `thread` has stopped; by a signal, or where it is 0 because it ends, and all others with it. */
static void leave(pid_t thread, int number, const char *below)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct bytes notes = {0};
	char path[64], program[PATH_MAX];
	siginfo_t info;

	snprintf(path, sizeof(path), "/proc/%d/exe", whole);
	ssize_t len = readlink(path, program, sizeof(program) - 1);
	program[len > 0 ? len : 0] = '\0';
	if (strncmp(program, below, strlen(below)) != 0 || program[strlen(below)] != '/')
		_exit(END_OTHER);
	note_thread(&notes, thread, number);
	note_process(&notes, program);
	if (number && ptrace(PTRACE_GETSIGINFO, thread, NULL, &info) == 0)
		note(&notes, NAME_SIGINFO, &info, sizeof(info));
	if (number)
		note_others(&notes, thread);
	maps_read();
	int all = maps_choose(page);
	note_files(&notes, page);
	write_core(&notes, page);
	copy_program();
	_exit(all ? END_WHOLE : END_CUT);
}

/* ---- what it does ---- */

static int is_deadly(int number, int faults)
{
	if (number == SIGABRT)
		return 1;
	return faults && (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE || number == SIGSYS || number == SIGTRAP);
}

static void watch(int faults, const char *below)
{
	for (;;) {
		unsigned long code = 0;
		int status = 0, number = 0;
		pid_t thread = waitpid(-1, &status, __WALL);

		if (thread < 0 || (thread == whole && !WIFSTOPPED(status)))
			_exit(END_NOTHING);
		if (!WIFSTOPPED(status))
			continue;
		if (status >> 16 == PTRACE_EVENT_EXIT) {
			if (ptrace(PTRACE_GETEVENTMSG, thread, NULL, &code) == 0 && WIFEXITED((int)code) && WEXITSTATUS((int)code))
				leave(thread, 0, below);
		} else if (status >> 16 == 0) {
			number = WSTOPSIG(status);
			if (is_deadly(number, faults))
				leave(thread, number, below);
			number = number == SIGSTOP ? 0 : number; /* a thread's first */
		}
		(void)ptrace(PTRACE_CONT, thread, NULL, (void *)(long)number);
	}
}

static void add_options(const char *name, const char *more)
{
	const char *old = getenv(name);
	char text[4096];

	snprintf(text, sizeof(text), "%s%s%s", old ? old : "", old && *old ? ":" : "", more);
	setenv(name, text, 1);
}

int main(int argc, char **argv)
{
	static const char *const sanitizers[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "MSAN_OPTIONS"};
	int status;

	if (argc < 5)
		return END_USAGE;
	folder = argv[1];
	signal(SIGXFSZ, SIG_IGN); /* told as an error */
	whole = fork();
	if (whole == 0) {
		for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++)
			add_options(sanitizers[i], "abort_on_error=1:symbolize=0");
		setenv("GOTRACEBACK", "crash", 1);
		setenv("HOTCELL_CORE", "1", 1);
		signal(SIGXFSZ, SIG_DFL);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 && raise(SIGSTOP) == 0)
			execvp(argv[4], argv + 4);
		_exit(END_FAILED);
	}
	if (whole < 0 || waitpid(whole, &status, 0) != whole || !WIFSTOPPED(status) ||
		ptrace(PTRACE_SETOPTIONS, whole, NULL,
			(void *)(long)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)) < 0)
		fail("trace it");
	if (ptrace(PTRACE_CONT, whole, NULL, NULL) < 0)
		fail("begin");
	watch(strcmp(argv[3], "faults") == 0, argv[2]);
}
