/* Attacks on processes, descriptors, terminals and signals. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "review/observe/look.h"

#define NONE_WORKSPACE "/tmp/hotcell-none-" /* how the backend without a sandbox names its folders */

/* ---- what /proc tells ---- */

/* The name of the victim, which is nowhere but in the host's /proc. */
static void judge_others(struct review_try *try)
{
	char name[16];
	const char *said = try_said(try, "files");

	if (said && atoi(said) == 0)
		try_not_applicable(try, "this cell has no /proc");
	said = try_said(try, "pids");
	(void)snprintf(name, sizeof(name), "victim-%.8s", scene_token(try->scene));
	if (memmem(buf_text(&try->out), try->out.len, name, strlen(name)))
		try_escaped(try, "it saw a process of the host by its name");
	if (said && atoi(said) > 8)
		try_escaped(try, "it saw %s processes", said);
}

static void judge_environ(struct review_try *try)
{
	if (!memmem(buf_text(&try->out), try->out.len, "PATH=", 5))
		try_failed(try, "it told of no environment");
}

static void check_masked(void *data, const char *what, const char *result)
{
	if (*what == '/' && atoi(result) > 0)
		try_escaped(data, "'%.100s' gave %.20s bytes", what, result);
}

static void judge_masked(struct review_try *try)
{
	own(buf_done) struct buf id = {0};
	struct err err;
	const char *said = try_said(try, "boot-id");

	try_each_said(try, check_masked, try);
	if (fs_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &id, &err) == 0 && said && strlen(said) == 36 &&
		strncmp(buf_text(&id), said, 36) == 0)
		try_escaped(try, "it knows the machine by the id of its boot");
}

/* ---- terminals ---- */

/* Putting words into a terminal's mouth: anything but the filter's answer is the terminal's. */
static void judge_tiocsti(struct review_try *try)
{
	static const unsigned long requests[] = {TIOCSTI, TIOCSTI | 1UL << 32, TIOCLINUX, TIOCLINUX | 1UL << 32};

	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		for (int fd = 0; fd < 3; fd++) {
			char what[64];
			(void)snprintf(what, sizeof(what), "fd%d-%#lx", fd, requests[i]);
			const char *said = try_said(try, what);
			if (said && strncmp(said, "EPERM", 5) != 0)
				try_escaped(try, "'%s' reached the terminal: %s", what, said);
		}
	}
}

struct terminal {
	int master, slave; /* neither blocks */
	char name[64];
};

static void terminal_done(struct terminal *terminal)
{
	fd_close(&terminal->master);
	fd_close(&terminal->slave);
}

static bool terminal_open(struct review_try *try, struct terminal *ret)
{
	struct termios mode;

	ret->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (ret->master < 0 || grantpt(ret->master) < 0 || unlockpt(ret->master) < 0 ||
		ptsname_r(ret->master, ret->name, sizeof(ret->name)) != 0) {
		try_not_applicable(try, "there are no terminals here: %s", strerror(errno));
		return false;
	}
	ret->slave = open(ret->name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (ret->slave < 0 || tcgetattr(ret->slave, &mode) < 0) {
		try_failed(try, "open '%s': %s", ret->name, strerror(errno));
		return false;
	}
	cfmakeraw(&mode); /* what is put into it can be read at once, and is not echoed */
	(void)tcsetattr(ret->slave, TCSANOW, &mode);
	return true;
}

/* hotcell as a user has it: the terminal is its controlling one, and its stdin. */
static pid_t start_on(struct review_try *try, const struct terminal *terminal)
{
	own(freep) char *backend = xfmt("--backend=%s", try->options->backend);
	own(freep) char *image = xfmt("--image=%s", try->options->image ? try->options->image : "host");
	own(freep) char *mount = xfmt("--mount=%s:/review", scene_program(try->scene));
	own(freep) char *program = try->outside ? xfmt("%s/attack", scene_program(try->scene)) : xstrdup("/review/attack");
	const char *argv[] = {try->options->hotcell, "run", backend, image, try->gentle ? "--env=ATTACK_GENTLE=1" : "--env=A=1",
		try->outside ? "--env=B=1" : mount, "--timeout=10s", "--", program, try->mark, "procs", "tiocsti", NULL};

	pid_t pid = fork();
	if (pid != 0)
		return pid;
	(void)setsid();
	int slave = open(terminal->name, O_RDWR | O_CLOEXEC); /* our session has no terminal: this becomes it */
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(slave, fd);
	if (try->options->weaken)
		(void)setenv("HOTCELL_WEAKEN", try->options->weaken, 1);
	(void)execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* On the terminal of the user's own shell: what is pushed into it would be typed there. */
static void attack_terminal(struct review_try *try)
{
	own(terminal_done) struct terminal terminal = {-1, -1, ""};
	uint64_t until = clock_now() + TRY_TIMEOUT_MS * NS_PER_MS;
	char bytes[4096];
	ssize_t len;
	int status = 0;

	if (!terminal_open(try, &terminal))
		return;
	pid_t pid = start_on(try, &terminal);
	for (pid_t got = 0; pid > 0 && got == 0; got = waitpid(pid, &status, WNOHANG)) {
		if (clock_now() > until)
			(void)kill(pid, SIGKILL);
		while ((len = read(terminal.master, bytes, sizeof(bytes))) > 0)
			buf_add(&try->out, bytes, (size_t)len);
		(void)usleep(2000);
	}
	while ((len = read(terminal.master, bytes, sizeof(bytes))) > 0)
		buf_add(&try->out, bytes, (size_t)len);
	for (size_t i = 0; i < try->out.len; i++) /* a terminal's lines end otherwise */
		if (try->out.data[i] == '\r')
			try->out.data[i] = '\n';
	if (read(terminal.slave, bytes, sizeof(bytes)) > 0)
		try_escaped(try, "it typed into the terminal that hotcell was started from");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		try_failed(try, "hotcell ended with %d on a terminal: %.200s", status, buf_text(&try->out));
	scene_look(try->scene, try);
	try_judge_said(try);
	judge_tiocsti(try);
	if (try->tries < try->attack->tries)
		try_failed(try, "it told of %u tries, not of %u", try->tries, try->attack->tries);
}

/* ---- signals and ends ---- */

static void judge_everyone(struct review_try *try)
{
	const char *reached = try_said(try, "reached");

	if (reached && atoi(reached) > 1) /* init, which does not listen */
		try_escaped(try, "its signals reached %s processes", reached);
}

static void forget_below(struct review_try *try)
{
	struct look_processes *below = try->own;

	if (below)
		free(below->cgroup);
	free(below);
	try->own = NULL;
}

static void remember_below(struct review_try *try)
{
	struct look_processes *below = xcalloc(1, sizeof(*below));

	look_below(try->hotcell, below);
	below->cgroup = look_cgroup(try);
	forget_below(try);
	try->own = below;
	try->forget = forget_below;
}

static void during_hidden(struct review_try *try)
{
	remember_below(try);
	look_release(try);
}

static void judge_gone(struct review_try *try)
{
	if (!try->own)
		try_failed(try, "its processes were not looked at");
	else
		look_gone(try, try->own);
	forget_below(try);
}

static void judge_daemon(struct review_try *try)
{
	const char *born = try_said(try, "daemons");

	if (!born || strcmp(born, "1") != 0)
		try_failed(try, "it left no process behind");
}

static void during_cancel(struct review_try *try)
{
	remember_below(try);
	(void)kill(try->hotcell, SIGTERM);
}

static void during_kill(struct review_try *try)
{
	remember_below(try);
	(void)kill(try->hotcell, SIGKILL);
}

/* Where there is no cell, nobody is left to remove the folder that the program was started in. */
static void remove_workspace(const struct look_processes *were)
{
	char path[256];
	struct err err;

	for (size_t i = 0; i < were->count; i++)
		if (try_link(were->items[i].pid, "cwd", path, sizeof(path)) && strncmp(path, NONE_WORKSPACE, strlen(NONE_WORKSPACE)) == 0)
			(void)!fs_remove_tree(AT_FDCWD, path, &err);
}

/* Without a supervisor there is no result: only who is left counts. */
static void attack_orphans(struct review_try *try)
{
	const struct try_command command = {.flags = "--timeout=20s", .program = "procs tree", .during = during_kill};
	pid_t left[16];

	if (try_run(try, &command) < 0)
		return;
	if (try->status != -SIGKILL)
		try_failed(try, "hotcell ended with %d before it could be killed", try->status);
	if (try->outside && try->own)
		remove_workspace(try->own);
	judge_gone(try);
	size_t count = try_processes(try, left, ARRAY_LEN(left));
	if (count > 0)
		try_escaped(try, "%zu processes of the attack outlived hotcell", count);
	for (size_t i = 0; i < count; i++)
		(void)kill(left[i], SIGKILL);
	scene_look(try->scene, try);
	try->tries = 1;
}

/* Orphans that have ended must be taken note of by somebody. */
static void during_zombies(struct review_try *try)
{
	uint64_t until = clock_now() + 2 * NS_PER_S;
	struct look_processes below;
	size_t zombies;

	do {
		zombies = 0;
		look_below(try->hotcell, &below);
		for (size_t i = 0; i < below.count; i++) {
			struct look_stat stat;
			zombies += look_stat(below.items[i].pid, &stat) && stat.state == 'Z';
		}
		(void)usleep(20000);
	} while (zombies > 1 && clock_now() < until);
	if (zombies > 1)
		try_escaped(try, "%zu zombies were left standing", zombies);
	look_release(try);
}

/* ---- the catalogue ---- */

const struct review_attack review_proc[] = {
	{
		.id = "proc.namespaces",
		.technique = "be in a namespace of the host's, or in one that owns the cell's others",
		.safe = "all seven are the cell's own; its user namespace owns none; of init too, where root looks",
		.without = "user-namespace pid-namespace net-namespace ipc-namespace uts-namespace cgroup-namespace",
		.program = "gain nothing",
		.tries = 1,
		.during = look_namespaces,
	},
	{
		.id = "proc.credentials",
		.technique = "become root, take capabilities, lay down no_new_privs and the filter",
		.safe = "nobody's user outside, no root inside, no capability, no_new_privs, a filter; of init too",
		.without = "non-root no-capabilities no-new-privileges seccomp",
		.program = "gain ids",
		.tries = 50,
		.but = "keepcaps", /* it has none to keep */
		.during = look_credentials,
	},
	{
		.id = "proc.session",
		.technique = "get a terminal, or stay in the session of who started it",
		.safe = "a session of its own, without a terminal",
		.without = "own-session",
		.program = "gain session",
		.tries = 14,
		.during = look_session,
	},
	{
		.id = "proc.descriptors",
		.technique = "find descriptors that were left open, and folders of the host by them",
		.cve = "CVE-2024-21626",
		.safe = "0, 1 and 2 are open, and are pipes; init has none of the host's, where root looks",
		.without = "clean-descriptors",
		.program = "gain descriptors",
		.tries = 2000,
		.during = look_descriptors,
	},
	{
		.id = "proc.environ",
		.technique = "read its own environment",
		.safe = "nothing of hotcell's is in it",
		.without = "clean-environment",
		.program = "procs env",
		.judge = judge_environ,
	},
	{
		.id = "proc.secrets",
		.technique = "find hotcell's environment and arguments in the processes that make cells",
		.safe = "they have neither; environments are looked at by root only",
		.without = "clean-environment",
		.program = "gain nothing",
		.tries = 1,
		.during = look_secrets,
	},
	{
		.id = "proc.others",
		.technique = "read all that /proc and /sys tell, of everybody",
		.safe = "only the cell's own processes are there, and nothing of the host's",
		.without = "private-proc",
		.flags = "-m 1T", /* without a /proc of its own, who watches a cell's memory there counts the host's */
		.program = "pry read {victim}",
		.tries = 2,
		.judge = judge_others,
	},
	{
		.id = "proc.init",
		.technique = "read the memory, environment, descriptors and root of the cell's first process",
		.safe = "refused: it is not dumpable",
		.without = "init-hidden",
		.program = "pry init",
		.tries = 24,
		.own_word = true,
	},
	{
		.id = "proc.tamper",
		.technique = "make the cell's first process slow, small and deaf, so that nobody ends the cell",
		.safe = "ended at its time",
		.wants = "pid-namespace wall-clock",
		.flags = "--timeout=1500ms --processes=40",
		.program = "procs tamper",
		.outcomes = "timeout",
		.tries = 8,
		.harsh = true,
	},
	{
		.id = "proc.memory",
		.technique = "read a process of the host: ptrace, process_vm_readv, /proc/PID/mem, pidfd_getfd",
		.safe = "there is no such process",
		.without = "pid-namespace",
		.program = "pry memory {victim}",
		.tries = 25,
		.judge = look_reached,
		.own_word = true,
	},
	{
		.id = "proc.knobs",
		.technique = "open the kernel's knobs for writing: core_pattern, sysrq, modprobe, oom_score_adj and others",
		.cve = "CVE-2022-0492",
		.safe = "refused",
		.by = "the kernel itself: its knobs are root's, who is nobody in a cell; a read-only /proc is beside that",
		.program = "procs tune",
		.tries = 30,
		.but = "/proc/kcore", /* covered by /dev/null */
		.own_word = true,
	},
	{
		.id = "proc.write",
		.technique = "open every file of /proc and /sys for writing, and set its times",
		.safe = "all are read-only",
		.without = "proc-read-only private-proc",
		.flags = "--timeout=20s -m 1T",
		.program = "pry write",
		.tries = 80,
		.during = look_proc,
	},
	{
		.id = "proc.masked",
		.technique = "read what /proc and /sys tell of the kernel and the machine: kcore, kallsyms, keys, timers, slabs, its boot",
		.safe = "nothing comes of it; the id of the boot is another",
		.without = "proc-covers",
		.program = "procs masked",
		.tries = 24,
		.judge = judge_masked,
		.own_word = true,
	},
	{
		.id = "proc.tiocsti",
		.technique = "push characters into a terminal of its own, also with the request's upper half set",
		.cve = "CVE-2017-5226, CVE-2019-10063",
		.safe = "refused by the filter",
		.without = "seccomp seccomp-tiocsti",
		.flags = "--tty",
		.program = "procs tiocsti",
		.tries = 16,
		.but = "open-tty steal-tty", /* its own */
		.judge = judge_tiocsti,
		.own_word = true,
	},
	{
		.id = "proc.terminal",
		.technique = "push characters into the terminal from which hotcell was started",
		.cve = "CVE-2017-5226, CVE-2019-10063",
		.safe = "it has no terminal, and nothing is typed",
		.without = "own-session seccomp seccomp-tiocsti",
		.tries = 16,
		.alone = attack_terminal,
		.own_word = true,
	},
	{
		.id = "proc.signal",
		.technique = "signal a process of the host: kill, tgkill, sigqueue, pidfd, SIGIO, timers; every signal",
		.safe = "there is no such process",
		.without = "pid-namespace",
		.program = "pry signal {victim}",
		.tries = 20,
		.judge = look_reached,
		.own_word = true,
	},
	{
		.id = "proc.kill-everyone",
		.technique = "kill everybody: kill(-1) and every process id",
		.safe = "only the cell's own processes die",
		.wants = "pid-namespace",
		.flags = "--timeout=10s",
		.program = "procs everyone 9",
		.tries = 4,
		.but = "all parent-signalled",
		.harsh = true,
		.judge = judge_everyone,
	},
	{
		.id = "proc.stop-everyone",
		.technique = "stop everybody, hotcell's own processes among them",
		.safe = "only the cell's own processes stop",
		.wants = "pid-namespace",
		.flags = "--timeout=10s",
		.program = "procs everyone 19",
		.tries = 4,
		.but = "all parent-signalled",
		.harsh = true,
		.judge = judge_everyone,
	},
	{
		.id = "proc.stop-itself",
		.technique = "stop itself, to outlast its time",
		.safe = "ended at its time",
		.without = "wall-clock",
		.flags = "--timeout=400ms",
		.program = "procs stop",
		.outcomes = "timeout",
	},
	{
		.id = "proc.stubborn",
		.technique = "ignore every signal, and be ended from outside",
		.safe = "ended at once",
		.by = "the kernel itself: SIGKILL cannot be ignored",
		.flags = "--timeout=20s",
		.program = "procs stubborn",
		.outcomes = "cancelled",
		.during = during_cancel,
		.judge = judge_gone,
	},
	{
		.id = "proc.daemon",
		.technique = "leave a process behind: two forks, a session of its own, no PR_SET_PDEATHSIG",
		.safe = "gone when the program has ended",
		.without = "pid-namespace kill-all",
		.program = "procs daemon",
		.tries = 1,
		.judge = judge_daemon,
	},
	{
		.id = "proc.hide",
		.technique = "leave processes behind that hide: no arguments, no first thread, traced, stopped, in vfork",
		.safe = "gone when the program has ended, and nobody is in the cell's cgroup",
		.without = "pid-namespace kill-all",
		.flags = "--timeout=20s",
		.program = "pry hide",
		.tries = 1,
		.during = during_hidden,
		.judge = judge_gone,
	},
	{
		.id = "proc.orphans",
		.technique = "outlive hotcell, which is killed with SIGKILL",
		.safe = "the cell ends with it, and nobody is in its cgroup",
		.without = "kill-all",
		.tries = 1,
		.alone = attack_orphans,
	},
	{
		.id = "proc.zombies",
		.technique = "hundreds of orphans that end at once",
		.safe = "the cell's init reaps them",
		.by = "the kernel itself: orphans are given to the namespace's first process, which waits for all there are",
		.flags = "--timeout=20s",
		.program = "procs zombies 200 stay",
		.tries = 2,
		.during = during_zombies,
	},
	{0},
};
