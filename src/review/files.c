/* Attacks on files and paths. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "review/files.h"
#include "review/props.h"
#include "review/scene.h"

/* ---- a file that is only shown ---- */

static void shown_before(struct review_try *try)
{
	props_file(try, "file", "as it was", 0644);
}

static void shown_judge(struct review_try *try)
{
	props_same(try, "file", "as it was", 0644);
}

static void plain_judge(struct review_try *try)
{
	props_same(try, "only/plain", "as it was", 0644);
	props_count(try, "only", 1);
}

static void stdin_before(struct review_try *try)
{
	if (try->outside)
		try_not_applicable(try, "a program is given a pipe, with a cell or without");
	else
		shown_before(try);
}

/* ---- secrets of the machine ---- */

/* A file that the image itself has is the image's own. */
static bool is_of_image(const struct review_try *try, const char *path)
{
	const char *image = try->options->image;
	own(freep) char *own_path = image && strcmp(image, "host") != 0 ? xfmt("%s%s", image, path) : NULL;
	struct stat st;

	return own_path && !try->outside && lstat(own_path, &st) == 0;
}

static void check_absolute(void *data, const char *what, const char *result)
{
	if (*what == '/' && atoi(result) > 0 && !is_of_image(data, what))
		try_escaped(data, "'%.100s' gave %.20s bytes", what, result);
}

static void absolute_judge(struct review_try *try)
{
	try_each_said(try, check_absolute, try);
}

/* ---- what must stay as it was ---- */

static void programs_before(struct review_try *try)
{
	props_keep(try, xstrdup(try->options->hotcell));
	props_keep(try, xfmt("%s/attack", scene_program(try->scene)));
}

/* What every cell of the host's image is shown. Not folders that others write to while we look. */
static void system_before(struct review_try *try)
{
	static const char *const paths[] = {"/usr/bin/env", "/etc/passwd", "/etc/ld.so.cache", "/usr", "/usr/bin", "/usr/lib",
		"/usr/share", "/usr/local", "/usr/local/bin", "/etc/alternatives", "/etc/ssl"};

	programs_before(try);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		props_keep(try, xstrdup(paths[i]));
}

static void write_before(struct review_try *try)
{
	props_file(try, "folder/file", "as it was", 0666);
	system_before(try);
	props_keep(try, props_path(try, "folder"));
	props_keep(try, props_path(try, "folder/file"));
}

static void ambush_before(struct review_try *try)
{
	if (try->outside)
		try_not_applicable(try, "without a cell there is nothing to enter");
}

static void ambush_judge(struct review_try *try)
{
	const char *seen = try_said(try, "newcomers-seen");

	files_looked(try);
	if (!seen || strcmp(seen, "0") == 0)
		try_failed(try, "it saw nobody come");
}

/* ---- set-id ---- */

static void set_id_before(struct review_try *try)
{
	props_program(try, "set-id", 06755);
	props_program(try, "set-uid", 04755);
}

static void left_judge(struct review_try *try)
{
	static const char *const names[] = {"fchmod", "chmod", "fchmodat", "fchmodat2", "open", "openat", "openat2", "creat", "mknod",
		"mknodat", "tmpfile"};
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		own(freep) char *path = props_path(try, names[i]);
		if (lstat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
			try_escaped(try, "a set-id file of user %u was left on the host by '%s'", (unsigned)st.st_uid, names[i]);
	}
}

static void attributes_before(struct review_try *try)
{
	if (try->outside && geteuid() != 0)
		try_not_applicable(try, "without a cell the kernel holds it: an ordinary user may do none of it");
}

static void attributes_judge(struct review_try *try)
{
	own(freep) char *path = props_path(try, "attributes");
	struct stat st;

	if (lstat(path, &st) < 0)
		try_failed(try, "it made no file");
	else if (st.st_uid != geteuid())
		try_escaped(try, "a file that it made belongs to user %u on the host", (unsigned)st.st_uid);
	if (unlink(path) < 0)
		try_escaped(try, "the host cannot remove a file that it made");
}

/* ---- sockets in a mount ---- */

static void sockets_forget(struct review_try *try)
{
	fd_close(try->own);
	free(try->own);
	try->own = NULL;
}

static void sockets_before(struct review_try *try)
{
	own(freep) char *path = props_path(try, "agent.sock");
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	own(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(path) >= sizeof(name.sun_path)) {
		try_failed(try, "'%s' is too long for a socket's path", path);
		return;
	}
	memcpy(name.sun_path, path, strlen(path) + 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 4) < 0 || chmod(path, 0777) < 0) {
		try_failed(try, "listen on '%s'", path);
		return;
	}
	try->own = xcalloc(1, sizeof(int));
	*(int *)try->own = fd_take(&fd);
	try->forget = sockets_forget;
}

static void sockets_judge(struct review_try *try)
{
	own(fd_closep) int came = accept4(*(const int *)try->own, NULL, NULL, SOCK_CLOEXEC);

	if (came >= 0)
		try_escaped(try, "it reached a socket of the host in a folder that it was shown");
	sockets_forget(try);
}

/* ---- control sockets ---- */

static bool control_enter(const struct review_try *try)
{
	return setenv("XDG_RUNTIME_DIR", try->dir, 1) == 0;
}

/* Its supervisor's socket is in {dir}/hotcell, made after the mount. */
static void control_before(struct review_try *try)
{
	if (chmod(try->dir, 0700) < 0)
		try_failed(try, "cannot close '%s' to others", try->dir);
	try->enter = control_enter;
}

/* ---- cells side by side ---- */

/* Who left nothing proves nothing. */
static void shared_left(struct review_try *try)
{
	static const char *const folders[] = {"/tmp", "/dev/shm"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		own(freep) char *path = xfmt("%s/%s", folders[i], try->mark + 1);
		const char *said = try_said(try, path);
		if (!said || strcmp(said, "made") != 0)
			try_failed(try, "the first cell left no '%s': %s", folders[i], said ? said : "it said nothing of it");
	}
}

static void shared_alone(struct review_try *try)
{
	own(freep) char *program = xfmt("shown leave %s {shown}/go", try->mark + 1);
	const struct try_command leave = {.flags = "--mount {dir}:/shown", .program = program, .during = files_shared_during};
	const struct try_command look = {.program = "paths list /tmp /dev/shm"}; /* without a cell nothing is left there */

	if (try_run(try, try->outside ? &look : &leave) < 0)
		return;
	try_judge(try);
	if (!try->outside) {
		files_looked(try);
		shared_left(try);
	}
	if (try->outside && strstr(buf_text(&try->out), " entry"))
		try_escaped(try, "it sees what others have in /tmp and /dev/shm");
}

const struct review_attack review_files[] = {
	{
		.id = "files.absolute",
		.technique = "read a file of the host by its path, and others that hold secrets",
		.safe = "nothing can be read but what an image brings along itself",
		.without = "private-tmp",
		.program = "paths read {canary} /etc/shadow /etc/gshadow /root/.ssh/id_rsa /etc/ssh/ssh_host_rsa_key /proc/1/environ "
			   "/var/lib/dpkg/status /run/utmp /etc/machine-id",
		.judge = absolute_judge,
		.tries = 9,
	},
	{
		.id = "files.climb",
		.technique = "read a file of the host by chains of '..' and other ways up",
		.safe = "every way ends inside the cell",
		.without = "private-tmp",
		.program = "paths climb {canary}",
		.tries = 10,
	},
	{
		.id = "files.spelling",
		.technique = "read a file of the host by other spellings of its path, and from each process's root, folder and descriptors",
		.safe = "every way ends inside the cell",
		.without = "private-tmp",
		.program = "reach spell {canary}",
		.tries = 60,
	},
	{
		.id = "files.write",
		.technique = "make a file in every folder of the first levels, and at every mount",
		.safe = "refused but in the cell's own scratch space; the host's folders are as they were",
		.without = "mounts-read-only",
		.flags = "--mount {dir}:/shown",
		.program = "paths write",
		.before = write_before,
		.judge = props_kept,
		.but = "/tmp /workspace /dev/shm",
		.tries = 20,
		.own_word = true,
	},
	{
		.id = "files.system",
		.technique = "open for writing, truncate, rename, change the mode and times of programs and files of the machine that are shown",
		.safe = "refused, and on the host nothing is changed",
		.without = "mounts-read-only",
		.program = "paths system /usr/bin/env /etc/passwd {review}/attack /usr /etc/ld.so.cache",
		.before = system_before,
		.judge = props_kept,
		.tries = 5,
		.own_word = true,
	},
	{
		.id = "files.shown",
		.technique = "append to, truncate, rename, remove, change the mode of a file in a read-only mount",
		.safe = "refused, and nothing is changed",
		.without = "mounts-read-only",
		.flags = "--mount {dir}:/shown",
		.program = "paths overwrite {shown}/file",
		.before = shown_before,
		.judge = shown_judge,
		.tries = 5,
	},
	{
		.id = "files.late-fifo",
		.technique = "write to a FIFO that somebody makes in a read-only mount while the cell is there",
		.safe = "refused: nobody on the host reads it",
		.without = "landlock",
		.flags = "--mount {dir}:/shown",
		.program = "reach late {shown}/go {shown}/late",
		.during = files_fifo_during,
		.judge = files_looked,
		.tries = 3,
	},
	{
		.id = "files.leases",
		.technique = "make others wait for a file in a read-only mount: leases, delegations, notices, each also with its upper half set",
		.safe = "refused: the host writes to it without waiting",
		.without = "seccomp seccomp-leases",
		.flags = "--mount {dir}:/shown",
		.program = "shown leases {shown}/file {shown}/go",
		.before = shown_before,
		.during = files_leases_during,
		.judge = files_looked,
		.tries = 8,
	},
	{
		.id = "files.page-cache",
		.technique = "write to a file in a read-only mount through its pages: maps, /proc/self/mem and map_files, pipes, reopening",
		.cve = "CVE-2016-5195, CVE-2022-0847",
		.safe = "nothing is changed",
		.by = "the kernel itself: pages of a file that is not open for writing are nobody's to write",
		.flags = "--mount {dir}:/shown",
		.program = "reach page-cache {shown}/file",
		.before = shown_before,
		.judge = shown_judge,
		.tries = 15,
	},
	{
		.id = "files.stdin",
		.technique = "open the file behind stdin anew, for writing",
		.safe = "there is no file behind it",
		.by = "stdin is always a pipe: no cell is ever given the file behind it",
		.flags = "--stdin {dir}/file",
		.program = "reach stdin",
		.before = stdin_before,
		.judge = shown_judge,
		.tries = 3,
	},
	{
		.id = "files.mounts",
		.technique = "find a mount that is writable, honours set-id bits or devices, or shows the host's root",
		.safe = "none: the host reads the flags of the cell's mounts in its own /proc",
		.without = "mount-namespace read-only-root mount-nosuid mount-nodev mounts-read-only proc-read-only tmp-noexec",
		.flags = "--mount {dir}:/shown",
		.program = "shown flags {shown}/go",
		.during = files_mounts_during,
		.judge = files_looked,
		.tries = 5,
	},
	{
		.id = "files.descriptors",
		.technique = "go to the host by a descriptor that was left open: fchdir, openat, opening anew",
		.cve = "CVE-2024-21626, CVE-2016-9962",
		.safe = "no descriptor leads out",
		.without = "clean-descriptors",
		.program = "reach descriptors {canary}",
		.tries = 10,
	},
	{
		.id = "files.workdir",
		.technique = "start in a folder that is a link of /proc to a descriptor or a process's root",
		.cve = "CVE-2024-21626",
		.safe = "refused, or inside the cell",
		.without = "private-tmp clean-descriptors",
		.outcomes = "exited setup-failed",
		.alone = files_workdir,
	},
	{
		.id = "files.exe",
		.technique = "overwrite what started us: /proc/self/exe, /proc/1/exe, its memory",
		.cve = "CVE-2019-5736",
		.safe = "refused, and our programs are what they were",
		.without = "init-hidden",
		.program = "paths exe",
		.before = programs_before,
		.judge = props_kept,
		.tries = 8,
		.own_word = true,
	},
	{
		.id = "files.ambush",
		.technique = "lie in wait for who enters the cell (hotcell exec): its program, memory, root, descriptors, environment",
		.cve = "CVE-2019-5736, CVE-2016-9962",
		.safe = "nothing of it leads out of the cell",
		.without = "private-tmp",
		.flags = "--mount {dir}:/shown",
		.program = "reach ambush {canary} {shown}/go",
		.before = ambush_before,
		.during = files_ambush_during,
		.judge = ambush_judge,
		.tries = 2,
	},
	{
		.id = "files.target-links",
		.technique = "a link in one mount where another is to be mounted",
		.cve = "CVE-2021-30465",
		.safe = "refused",
		.without = "mount-links",
		.outcomes = "setup-failed",
		.alone = files_target_links,
	},
	{
		.id = "files.image-links",
		.technique = "an image whose /dev, /proc, /sys, /tmp, /run or /workspace is a link or a file",
		.cve = "CVE-2019-19921",
		.safe = "refused",
		.without = "mount-links",
		.outcomes = "setup-failed",
		.alone = files_image_links,
	},
	{
		.id = "files.image-devices",
		.technique = "an image with links for /dev/null, /dev/console and what hides other files",
		.cve = "CVE-2025-31133, CVE-2025-52565",
		.safe = "the cell has its own devices, and every link ends inside",
		.without = "private-tmp hidden-files",
		.outcomes = "exited",
		.alone = files_image_devices,
	},
	{
		.id = "files.fake-proc",
		.technique = "mount folders of the caller's over /proc, /dev and their parts, so that writes of the runtime go there",
		.cve = "CVE-2025-52881, CVE-2019-19921",
		.safe = "refused, or /proc is still the kernel's; the folder is as it was",
		.by = "the cell's own /proc and /dev are mounted last, over whatever is there; that such a mount is refused comes before it",
		.outcomes = "exited setup-failed",
		.alone = files_fake_proc,
	},
	{
		.id = "files.swapped",
		.technique = "a folder that is kept between runs is replaced by a link: as mount, image, output, log",
		.cve = "CVE-2024-42472",
		.safe = "the link is not followed",
		.without = "mount-links",
		.outcomes = "exited setup-failed",
		.alone = files_swapped,
	},
	{
		.id = "files.devices",
		.technique = "make and open devices: well-known ones, all that the kernel tells of, and those of a mounted /dev",
		.safe = "refused",
		.without = "mount-nodev",
		.flags = "--mount /dev:/devices",
		.program = "paths mknod",
		.tries = 30,
		.own_word = true,
	},
	{
		.id = "files.set-id",
		.technique = "run set-id programs: of our own making, in a mount, the machine's; and setuid itself",
		.safe = "no rights are gained",
		.without = "no-new-privileges non-root",
		.flags = "--mount {dir}:/shown",
		.program = "reach set-id {shown}/go {shown}",
		.before = set_id_before,
		.during = files_set_id_during,
		.judge = files_looked,
		.tries = 3,
	},
	{
		.id = "files.set-id-left",
		.technique = "leave set-id files in a writable mount, by every call that takes a mode, also in its upper half",
		.safe = "none is left",
		.without = "seccomp seccomp-setid",
		.flags = "--mount {dir}:/shown:rw",
		.program = "paths suid {shown}",
		.but = "*", /* the observer's to say */
		.judge = left_judge,
		.tries = 12,
	},
	{
		.id = "files.attributes",
		.technique = "leave files in a writable mount that the host cannot remove, or would trust: flags, attributes, owners, devices",
		.safe = "refused; they belong to the folder's owner",
		.without = "non-root",
		.flags = "--mount {dir}:/shown:rw",
		.program = "shown attributes {shown}",
		.before = attributes_before,
		.judge = attributes_judge,
		.tries = 12,
	},
	{
		.id = "files.handles",
		.technique = "open a file of the host by its handle: the canary's own, and guessed ones",
		.safe = "refused",
		.without = "seccomp seccomp-handles",
		.alone = files_handles,
		.own_word = true,
	},
	{
		.id = "files.mount",
		.technique = "mount, bind, remount, move, and every new call of that family",
		.cve = "CVE-2021-41133, CVE-2022-0185, CVE-2021-22555",
		.safe = "refused",
		.without = "seccomp seccomp-mounts",
		.program = "paths mount",
		.tries = 3,
		.own_word = true,
	},
	{
		.id = "files.uncover",
		.technique = "unmount everything to see what it covers, and read what /proc tells of the kernel",
		.safe = "refused, and nothing is told",
		.without = "proc-covers",
		.alone = files_uncover,
		.own_word = true,
	},
	{
		.id = "files.knobs",
		.technique = "write to our own entries of /proc",
		.safe = "refused: /proc is read-only as a whole",
		.without = "proc-read-only",
		.flags = "--mount {dir}:/shown",
		.program = "shown knobs {shown}/go",
		.during = files_knobs_during,
		.judge = files_looked,
		.tries = 8,
	},
	{
		.id = "files.run-from",
		.technique = "run a program from /tmp and /dev/shm: by name, descriptor, loader, map",
		.safe = "refused",
		.without = "tmp-noexec",
		.alone = files_run_from,
		.own_word = true,
	},
	{
		.id = "files.shared",
		.technique = "leave files where another cell or the host might look: /tmp, /dev/shm, /run",
		.safe = "nobody else sees them",
		.without = "private-tmp",
		.but = "/tmp /dev/shm",
		.alone = shared_alone,
	},
	{
		.id = "files.runtime-folder",
		.technique = "find hotcell's control sockets in a folder that holds them and is mounted, whether or not they are there yet",
		.safe = "the folder they are in is not there, or empty",
		.without = "runtime-folder",
		.flags = "--mount {dir}:/shown",
		.program = "shown control {shown}",
		.before = control_before,
		.but = "answered",
		.tries = 2,
		.own_word = true,
	},
	{
		.id = "files.control-socket",
		.technique = "ask a supervisor for its cells, through a control socket that the cell was shown",
		.safe = "nobody answers who lives in a cell",
		.without = "control-peer",
		.flags = "--mount {dir}:/shown:rw",
		.program = "shown control {shown}",
		.before = control_before,
		.but = "seen",
		.tries = 2,
		.own_word = true,
	},
	{
		.id = "files.hidden",
		.technique = "read secrets in a mount by their usual names, in any case, and after renaming what they lie in",
		.safe = "they are not there",
		.without = "hidden-files",
		.alone = files_hidden,
	},
	{
		.id = "files.state",
		.technique = "read, in a folder mounted read-write, a state folder that decides what hotcell runs, and the record of such folders",
		.safe = "neither is shown",
		.without = "hidden-files state-guard",
		.alone = files_state,
	},
	{
		.id = "files.state-made",
		.technique = "leave a state folder in a project that is mounted read-write, for the user's next "
			     "command there",
		.safe = "it is refused: hotcell did not make it",
		.without = "state-record",
		.alone = files_state_made,
	},
	{
		.id = "files.sockets",
		.technique = "connect to a socket of the host that lies in a mounted folder",
		.safe = "it is not there",
		.without = "hidden-files",
		.flags = "--mount {dir}:/shown",
		.program = "shown sockets {shown}/agent.sock",
		.before = sockets_before,
		.judge = sockets_judge,
		.tries = 3,
	},
	{
		.id = "files.watch",
		.technique = "be told of others' files by fanotify, in every class, also with the upper half of the flags set",
		.safe = "refused",
		.without = "seccomp",
		.program = "reach watch",
		.tries = 10,
		.own_word = true,
	},
	{
		.id = "files.shell",
		.technique = "as a shell script: cat, find, cp, ln, tar of the canary and of hidden secrets; write to what is only shown",
		.safe = "nothing is read, and nothing on the host is changed",
		.without = "hidden-files mounts-read-only private-tmp",
		.flags = "--mount {dir}:/shown --mount {dir}/only:/shown/only",
		.shell = files_shell,
		.before = files_shell_before,
		.judge = plain_judge,
		.tries = 20,
	},
	{
		.id = "files.forbidden",
		.technique = "run, read or copy a forbidden program: by links to it, its other names, its copies, as a script, over PATH",
		.safe = "it can be neither run nor read",
		.without = "forbidden",
		.flags = "--mount {dir}:/shown --forbid link",
		.shell = files_forbidden,
		.before = files_forbidden_before,
		.tries = 29,
	},
	{
		.id = "files.python",
		.technique = "as a Python script: os.walk, shutil, dir_fd, mount and unshare by ctypes; write to what is only shown",
		.safe = "nothing is read, and nothing on the host is changed",
		.without = "hidden-files mounts-read-only private-tmp",
		.flags = "--mount {dir}:/shown --mount {dir}/only:/shown/only",
		.python = files_python,
		.before = files_python_before,
		.judge = plain_judge,
		.tries = 45,
	},
	{0},
};
