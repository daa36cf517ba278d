/* Of a cell's root: what each cell adds that is its own: /tmp, /workspace, /dev/shm, terminals and /proc; and an ordinary user's mount
 * namespace itself. */
#include "cell/native/maker/root.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/weaken.h"

const char *const root_scratch_paths[SCRATCH_COUNT] = { "/tmp", "/dev/shm", CELL_WORKSPACE };

int root_scratch(const struct birth *birth, enum scratch which, struct err *err)
{
	const struct template *t = birth->t;
	const struct {
		uint64_t size;
		const char *mode;
		unsigned long flags;
	} places[SCRATCH_COUNT] = {
		[SCRATCH_TMP] = { t->tmp, "1777", t->tmp_exec || weakened("tmp-noexec") ? 0 : MS_NOEXEC },
		[SCRATCH_SHM] = { t->shm, "1777", MS_NOEXEC },
		[SCRATCH_WORKSPACE] = { t->disk, "0755", t->no_exec ? MS_NOEXEC : 0 },
	};
	uint64_t size = places[which].size, inodes = size / 4096 + 64;
	char options[160];

	if (which == SCRATCH_TMP && weakened("private-tmp"))
		return 0;
	(void)snprintf(options, sizeof(options), "mode=%s,size=%llu,nr_inodes=%llu",
		places[which].mode, (unsigned long long)size, (unsigned long long)(inodes > 262144 ? 262144 : inodes));
	/* noatime: whoever only looks into it leaves no trace, the collector of output included */
	if (mount("hotcell", root_scratch_paths[which], "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME | places[which].flags,
		    options) < 0)
		return err_errno(err, errno, "mount the cell's own %s", root_scratch_paths[which]);
	/* not by an option, which the list of mounts shows: runs in different slots look alike */
	if (birth->outer_uid != 0 && chown(root_scratch_paths[which], birth->outer_uid, birth->outer_gid) < 0)
		return err_errno(err, errno, "give the cell its own %s", root_scratch_paths[which]);
	/* a moment later than it was mounted: who is in it would take that for the trace of an earlier cell */
	if (birth->outer_uid != 0 && utimensat(AT_FDCWD, root_scratch_paths[which], NULL, 0) < 0)
		return err_errno(err, errno, "date the cell's own %s", root_scratch_paths[which]);
	return 0;
}

#define INPUT_DEVICES "/proc/bus/input/devices"
#define INPUT_DEVICES_MAX (64 * 1024)

/* What tells of the kernel; and what names this machine: serial numbers and addresses of its devices
 * and processors of graphics, the servers and accounts of its shares, its pools of disks. */
static const struct {
	const char *path;
	bool is_dir;
} told_by_proc[] = { { "/proc/kcore" }, { "/proc/kallsyms" }, { "/proc/keys" }, { "/proc/key-users" },
	{ "/proc/timer_list" }, { "/proc/sysrq-trigger" }, { "/proc/cmdline" }, { "/proc/scsi/scsi" },
	{ "/proc/acpi/wakeup" }, { INPUT_DEVICES },
	{ "/proc/driver/nvidia", true }, { "/proc/fs/cifs", true }, { "/proc/spl", true } };
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* Most machines have input devices, few have one with a number of its own: every cell pays for every
 * cover. */
static bool names_an_input_device(int host_proc)
{
	own(buf_done) struct buf text = { 0 };
	struct err none;

	if (fs_read_small(host_proc, INPUT_DEVICES + strlen("/proc/"), INPUT_DEVICES_MAX, &text, &none) < 0)
		return true; /* too many to say */
	for (const char *at = buf_text(&text); (at = strstr(at, "Uniq=")) != NULL;)
		if (*(at += strlen("Uniq=")) != '\n' && *at != '\0')
			return true;
	return false;
}

/* Which of those anybody may read here; root's alone need no cover, the cell's user being nobody. */
uint32_t root_covers(int host_proc)
{
	uint32_t covers = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(told_by_proc); i++)
		if (fstatat(host_proc, told_by_proc[i].path + strlen("/proc/"), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			(st.st_mode & (told_by_proc[i].is_dir ? S_IXOTH : S_IROTH)) != 0 &&
			(strcmp(told_by_proc[i].path, INPUT_DEVICES) != 0 || names_an_input_device(host_proc)))
			covers |= 1u << i;
	return covers;
}

/* Read-only as a whole, so that nothing below /proc/sys can be written. */
static int make_proc(struct err *err)
{
	own(fd_closep) int fs = fsopen("proc", FSOPEN_CLOEXEC);
	int made = fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
		? -1
		: fsmount(fs, FSMOUNT_CLOEXEC, (weakened("proc-read-only") ? root_nothing_special() : RO) | MOUNT_ATTR_NOEXEC);

	return made < 0 ? err_errno(err, errno, "mount the cell's own /proc") : made;
}

/* What tells of the host's kernel is covered. The id of its boot, by which two cells, or a cell and a program of the host, would know
 * that they share a machine, is another one: programs read it and expect one. It lies below /proc in the root, out of sight. */
static int place_proc(uint32_t covers, int proc, struct err *err)
{
	own(fd_closep) int id = open_tree(AT_FDCWD, "/" ROOT_BOOT_ID, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (move_mount(proc, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_errno(err, errno, "place the cell's own /proc");
	if (!weakened("proc-covers") && (id < 0 || move_mount(id, "", AT_FDCWD, BOOT_ID, MOVE_MOUNT_F_EMPTY_PATH) < 0) && errno != ENOENT)
		return err_errno(err, errno, "cover %s", BOOT_ID);
	for (size_t i = 0; i < ARRAY_LEN(told_by_proc); i++)
		if ((covers & 1u << i) != 0 && !weakened("proc-covers") &&
			mount(told_by_proc[i].is_dir ? "/run" : "/dev/null", told_by_proc[i].path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			return err_errno(err, errno, "cover %s", told_by_proc[i].path);
	return 0;
}

/* Mounts of the cell's own, and a /proc that is not placed yet; -1: it comes later, or no_proc says why there is none. */
static int take_mounts(const struct birth *birth, int *ret_proc, struct err *no_proc, struct err *err)
{
	if (birth->proc_view < 0)
		return 0;
	if (setns(birth->proc_view, CLONE_NEWNS) < 0)
		return err_errno(err, errno, "enter the mounts that have a /proc");
	*ret_proc = make_proc(no_proc);
	if (setns(birth->mounts, CLONE_NEWNS) < 0 || unshare(CLONE_NEWNS) < 0)
		return err_errno(err, errno, "take a copy of the slot's mounts");
	return 0;
}

int root_private(const struct birth *birth, bool *ret_proc, struct err *err)
{
	const struct template *t = birth->t;
	own(fd_closep) int proc = -1;
	struct err no_proc;

	if (take_mounts(birth, &proc, &no_proc, err) < 0)
		return -1;
	for (enum scratch which = 0; which < SCRATCH_COUNT; which++)
		if ((birth->scratch & 1u << which) == 0 && root_scratch(birth, which, err) < 0)
			return -1;
	if (t->tty && mount("hotcell", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			      "newinstance,ptmxmode=0666,mode=0620") < 0)
		return err_errno(err, errno, "mount the cell's own terminals");
	/* A host whose /proc is itself masked (a container) lets nobody mount a new one: then there is
	 * none, which shows nothing of the host, and the receipt says so. */
	if (birth->proc_view < 0 && !weakened("private-proc"))
		proc = make_proc(&no_proc);
	*ret_proc = weakened("private-proc") || proc >= 0;
	if (!*ret_proc && no_proc.code != EPERM) {
		*err = no_proc;
		return -1;
	}
	if (!*ret_proc && mount("/run", "/proc", NULL, MS_BIND, NULL) < 0) /* empty, as what lies in the root below /proc is not */
		return err_errno(err, errno, "empty /proc");
	return proc >= 0 ? place_proc(birth->covers, proc, err) : 0;
}

/* Scratch space is new: what is on the way is a folder that we made. */
static int folders_make(const char *path, size_t top, const struct birth *birth, struct err *err)
{
	own(freep) char *copy = xstrdup(path);

	for (size_t at = top + 1; at <= strlen(path); at++) {
		if (copy[at] != '/' && copy[at] != '\0')
			continue;
		copy[at] = '\0';
		if (mkdir(copy, 0755) == 0 ? lchown(copy, birth->outer_uid, birth->outer_gid) < 0 : errno != EEXIST)
			return err_errno(err, errno, "make the folder '%s' of the profile", copy);
		copy[at] = path[at];
	}
	return 0;
}

int root_paths(const struct birth *birth, struct err *err)
{
	for (size_t i = 0; i < birth->t->path_count; i++)
		for (enum scratch which = 0; which < SCRATCH_COUNT; which++) {
			const char *path = birth->t->paths[i].path;
			size_t top = strlen(root_scratch_paths[which]);
			if (strncmp(path, root_scratch_paths[which], top) == 0 && path[top] == '/' &&
				folders_make(path, top, birth, err) < 0)
				return -1;
		}
	return 0;
}
