/* The profiles that every hotcell has, as the YAML a user would write. */
#include "profile/profile.h"

#include <string.h>

const char *const profile_names[] = {"default", "strict", "build", "browser", NULL};

static const struct {
	const char *name, *text;
} builtin[] = {
	{"default", "description: what a cell has when nothing is said\n"},
	{"strict",
		"description: the least that runs a program; no sockets, nothing to run but what the image has\n"
		"syscalls:\n"
		"  deny: [socket, socketpair, connect, bind, listen, accept, accept4, sendto, recvfrom, sendmmsg, recvmmsg,\n"
		"    getsockname, getpeername, setsockopt, getsockopt, shutdown, ptrace, memfd_create, execveat, personality,\n"
		"    seccomp, unshare, mknod, mknodat, shmget, shmat, shmctl, shmdt, semget, semop, semtimedop, semctl, msgget,\n"
		"    msgsnd, msgrcv, msgctl, mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr,\n"
		"    inotify_init, inotify_init1, inotify_add_watch, inotify_rm_watch, mlock, mlock2, mlockall, munlock,\n"
		"    munlockall, mbind, set_mempolicy, get_mempolicy, set_mempolicy_home_node, setuid, setgid, setreuid,\n"
		"    setregid, setresuid, setresgid, setfsuid, setfsgid, setgroups, capset, chown, fchown, lchown, fchownat,\n"
		"    setxattr, lsetxattr, fsetxattr, removexattr, lremovexattr, fremovexattr, splice, tee, vmsplice, io_submit,\n"
		"    io_cancel, io_destroy, io_getevents, io_pgetevents, sched_setscheduler, sched_setparam, sched_setattr,\n"
		"    sched_setaffinity, setpriority, ioprio_set, process_mrelease, pidfd_open, pidfd_send_signal]\n"
		"limits:\n"
		"  memory: 128M\n"
		"  processes: 16\n"
		"  timeout: 30s\n"
		"  tmp-size: 16M\n"
		"  disk: 64M\n"
		"  shm: 1M\n"
		"  file-size: 32M\n"
		"  open-files: 128\n"
		"  max-output: 4M\n"
		"  max-collect: 64M\n"
		"  max-collect-files: 1000\n"
		"workspace-exec: false\n"},
	{"build",
		"description: compilers and package builds; many processes, room, and programs run from /tmp\n"
		"limits:\n"
		"  memory: 4G\n"
		"  cpus: 4\n"
		"  processes: 2000\n"
		"  timeout: 30m\n"
		"  tmp-size: 2G\n"
		"  disk: 3G\n"
		"  file-size: 3G\n"
		"  open-files: 8192\n"
		"  max-output: 256M\n"
		"  max-collect: 2G\n"
		"tmp-exec: true\n"},
	{"browser",
		"description: a headless Chromium or Node; start Chromium with --no-sandbox, the cell is the sandbox\n"
		"limits:\n"
		"  memory: 2G\n"
		"  cpus: 2\n"
		"  processes: 1000\n"
		"  timeout: 5m\n"
		"  tmp-size: 512M\n"
		"  disk: 512M\n"
		"  shm: 512M\n"
		"  open-files: 8192\n"},
};

const char *profile_builtin_text(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(builtin); i++)
		if (strcmp(builtin[i].name, name) == 0)
			return builtin[i].text;
	return NULL;
}
