/* Why this machine lacks something, and the exact way to get it. machine_look reads what explains
 * it; everything else is pure: it turns those facts and the error that was seen into one line. */
#include "cell/native/probe/probe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define V2 "/sys/fs/cgroup" /* where every distribution mounts it */

/* ---- looking ---- */

static bool read_text(const char *path, struct buf *ret)
{
	struct err err;

	return fs_read_small(AT_FDCWD, path, 1 << 16, ret, &err) == 0;
}

static long read_sysctl(const char *path)
{
	own(buf_done) struct buf text = {0};

	return read_text(path, &text) ? strtol(buf_text(&text), NULL, 10) : -1;
}

/* The number behind "Key:" in /proc/self/status. */
static uint64_t read_status(const char *key, int base)
{
	own(buf_done) struct buf text = {0};
	const char *at =
		read_text("/proc/self/status", &text) ? strstr(buf_text(&text), key) : NULL;

	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, base);
}

static bool in_container(void)
{
	static const char *const signs[] = {
		"/.dockerenv", "/run/.containerenv", "/run/systemd/container"};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (access(signs[i], F_OK) == 0)
			return true;
	return false;
}

/* "memory 9 62 1": name, hierarchy, number, enabled. A newer kernel has no such file, and all of
 * them. */
static void look_disabled(struct machine *m)
{
	own(buf_done) struct buf text = {0};

	if (!read_text("/proc/cgroups", &text))
		return;
	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		own(freep) char *key = xfmt("\n%s\t", controller_name[c]);
		const char *at = strstr(buf_text(&text), key);
		const char *end = at == NULL ? NULL : strchr(at + 1, '\n');
		m->disabled[c] = end == NULL || end[-1] == '0';
	}
}

static void look_controllers(const char *folder, bool has[CONTROLLER_COUNT])
{
	own(buf_done) struct buf text = {0};
	own(freep) char *path = xfmt("%s/cgroup.controllers", folder);

	(void)read_text(path, &text);
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		has[c] = cgroup_list_has(buf_text(&text), controller_name[c]);
}

static void look_v2(struct machine *m)
{
	own(buf_done) struct buf procs = {0};
	own(freep) char *type = xfmt("%s/cgroup.type", m->own.v2);
	own(freep) char *list = xfmt("%s/cgroup.procs", m->own.v2);
	own(freep) char *manager =
		xfmt(V2 "/user.slice/user-%u.slice/user@%u.service", m->uid, m->uid);

	m->v2_ours = access(m->own.v2, W_OK) == 0 && access(list, W_OK) == 0;
	m->v2_root = access(type, F_OK) < 0;
	(void)read_text(list, &procs);
	const char *first = strchr(buf_text(&procs), '\n');
	m->v2_crowded = !m->v2_root && first != NULL && first[1] != '\0';
	m->v2_top_free = access(V2 "/cgroup.type", F_OK) < 0;
	look_controllers(m->own.v2, m->v2_has);
	m->manager = access(manager, F_OK) == 0;
	if (m->manager)
		look_controllers(manager, m->manager_has);
}

static void look_cgroups(struct machine *m)
{
	struct statvfs fs;

	cgroup_paths_read(&m->own);
	look_disabled(m);
	const char *any = m->own.v2;
	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		const char *path = m->own.v1[c];
		m->v1_ours[c] = path != NULL && access(path, W_OK) == 0;
		any = path != NULL ? path : any;
	}
	m->read_only = any != NULL && statvfs(any, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0;
	if (m->own.v2 != NULL)
		look_v2(m);
}

void machine_look(struct machine *m)
{
	own(buf_done) struct buf lsm = {0};

	*m = (struct machine){
		.uid = geteuid(), .root = geteuid() == 0, .container = in_container()};
	m->sys_admin = (read_status("CapEff:", 16) >> CAP_SYS_ADMIN & 1) != 0;
	m->filtered = read_status("Seccomp:", 10) != 0;
	m->systemd = access("/run/systemd/system", F_OK) == 0;
	m->userns_max = read_sysctl("/proc/sys/user/max_user_namespaces");
	m->userns_clone = read_sysctl("/proc/sys/kernel/unprivileged_userns_clone");
	m->userns_apparmor = read_sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	(void)read_text("/sys/kernel/security/lsm", &lsm);
	(void)snprintf(
		m->lsm, sizeof(m->lsm), "%.*s", (int)strcspn(buf_text(&lsm), "\n"), buf_text(&lsm));
	look_cgroups(m);
}

void machine_done(struct machine *m)
{
	cgroup_paths_done(&m->own);
}

/* ---- saying ---- */

static void PRINTF_LIKE(2, 3) say(char ret[FIX_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int len = vsnprintf(ret, FIX_MAX, format, args);
	va_end(args);
	/* half a command is worse than none; only the path of a cgroup can make one that long */
	if (len >= FIX_MAX)
		(void)snprintf(ret, FIX_MAX,
			"make a folder of this user's own below our cgroup, which /proc/self/cgroup names, and start hotcell in it");
}

static const char *sudo(const struct machine *m)
{
	return m->root ? "" : "sudo ";
}

static void say_sysctl(const struct machine *m, const char *setting, char ret[FIX_MAX])
{
	say(ret, "echo %s | %stee /etc/sysctl.d/60-hotcell.conf && %ssysctl --system", setting,
		sudo(m), sudo(m));
}

#define CONTAINER "start the container with: docker run "
#define UNCONFINED "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"

void advice_user_ns(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (m->userns_max == 0 || cause->code == ENOSPC)
		say_sysctl(m, "user.max_user_namespaces=15000", ret);
	else if (!m->root && m->userns_clone == 0)
		say_sysctl(m, "kernel.unprivileged_userns_clone=1", ret);
	else if (!m->root && m->userns_apparmor == 1)
		say_sysctl(m, "kernel.apparmor_restrict_unprivileged_userns=0", ret);
	else if (cause->code == EINVAL || cause->code == ENOSYS)
		say(ret, "use a kernel built with CONFIG_USER_NS=y");
	else if (m->container)
		say(ret, CONTAINER UNCONFINED " ...");
	else if (m->filtered)
		say(ret,
			"run hotcell outside the sandbox whose system call filter is upon this process");
	else
		say(ret,
			"allow user namespaces in this machine's security policy, or run hotcell as root");
}

void advice_namespaces(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code == ENOSPC)
		say(ret,
			"%ssh -c 'for f in /proc/sys/user/max_*_namespaces; do echo 15000 >$f; done'",
			sudo(m));
	else if (cause->code == EINVAL || cause->code == ENOSYS)
		say(ret,
			"use a kernel built with CONFIG_NAMESPACES=y and its PID_NS, IPC_NS, UTS_NS and NET_NS");
	else if (!m->root)
		advice_user_ns(m, cause, ret);
	else if (m->container)
		say(ret, CONTAINER "--cap-add SYS_ADMIN --cap-add NET_ADMIN " UNCONFINED " ...");
	else if (!m->sys_admin)
		say(ret, "run hotcell with CAP_SYS_ADMIN, or as an ordinary user");
	else
		say(ret, "run hotcell outside the sandbox that refuses it");
}

void advice_proc(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code != EPERM)
		advice_namespaces(m, cause, ret);
	else if (m->container)
		say(ret,
			CONTAINER
			"--security-opt systempaths=unconfined ... (podman: --security-opt unmask=ALL)");
	else
		say(ret,
			"take away what is mounted over parts of /proc; 'grep \" /proc/\" /proc/mounts' names it");
}

void advice_scratch(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code == ENODEV)
		say(ret, "use a kernel built with CONFIG_TMPFS=y");
	else
		advice_namespaces(m, cause, ret);
}

void advice_overlay(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code == ENODEV)
		say(ret, "%smodprobe overlay", sudo(m));
	else if (cause->code == EPERM && !m->root)
		say(ret, "use Linux 5.11 or newer, or run hotcell as root");
	else
		advice_namespaces(m, cause, ret);
}

void advice_id_map(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code == EPERM || cause->code == ENOSPC)
		advice_user_ns(m, cause, ret);
	else
		say(ret, "use Linux 5.12 or newer, and mount folders of ext4, xfs or btrfs");
}

void advice_filter(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code == EBUSY)
		say(ret,
			"run hotcell outside the sandbox that already listens to its system calls");
	else if (m->container)
		say(ret, CONTAINER "--security-opt seccomp=unconfined ...");
	else
		say(ret, "use a kernel built with CONFIG_SECCOMP_FILTER=y");
}

void advice_landlock(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	if (cause->code == EOPNOTSUPP && m->lsm[0] != '\0')
		say(ret,
			"add lsm=landlock,%s to GRUB_CMDLINE_LINUX in /etc/default/grub; %supdate-grub; %sreboot",
			m->lsm, sudo(m), sudo(m));
	else if (cause->code == EOPNOTSUPP)
		say(ret,
			"boot the kernel with lsm=landlock,... before the modules /sys/kernel/security/lsm names");
	else if (cause->code == EPERM && m->container)
		say(ret, CONTAINER "--security-opt seccomp=unconfined ...");
	else
		say(ret, "use Linux 5.13 or newer built with CONFIG_SECURITY_LANDLOCK=y");
}

void advice_cell(const struct machine *m, const struct err *cause, char ret[FIX_MAX])
{
	(void)m;
	if (cause->code == ENOENT)
		say(ret,
			"the command is not where cells look for it: give a root file system with --image DIR");
	else
		say(ret,
			"fix what is missing above; then 'hotcell run -v -- true' shows what is left");
}

/* ---- cgroups ---- */

enum lack machine_lack(const struct machine *m, enum controller c)
{
	bool v1 = false;

	for (int i = 0; i < CONTROLLER_COUNT; i++)
		v1 = v1 || m->own.v1[i] != NULL;
	if (m->disabled[c])
		return LACK_DISABLED;
	if (!v1 && m->own.v2 == NULL)
		return LACK_FILE_SYSTEM;
	if (v1 && m->own.v1[c] == NULL)
		return LACK_MOUNT;
	if (m->read_only)
		return LACK_WRITABLE;
	if (v1)
		return m->v1_ours[c] ? LACK_NOTHING : LACK_V1_FOLDER;
	if (!m->v2_ours)
		return LACK_V2_FOLDER;
	if (!m->v2_has[MEMORY] || !m->v2_has[CPU] || !m->v2_has[PIDS])
		return LACK_V2_CONTROLLER;
	return m->v2_crowded ? LACK_V2_ALONE : LACK_NOTHING;
}

void lack_text(const struct machine *m, enum controller c, char *ret, size_t size)
{
	const char *name = controller_name[c],
		   *path = m->own.v1[c] != NULL ? m->own.v1[c] : m->own.v2;

	switch (machine_lack(m, c)) {
	case LACK_DISABLED:
		(void)snprintf(ret, size, "the kernel's %s controller is off", name);
		break;
	case LACK_FILE_SYSTEM: (void)snprintf(ret, size, "no cgroup file system is mounted"); break;
	case LACK_MOUNT: (void)snprintf(ret, size, "the %s controller is not mounted", name); break;
	case LACK_WRITABLE: (void)snprintf(ret, size, "%s is read-only", path); break;
	case LACK_V1_FOLDER:
	case LACK_V2_FOLDER: (void)snprintf(ret, size, "we may not write to %s", path); break;
	case LACK_V2_CONTROLLER:
		(void)snprintf(ret, size, "memory, cpu and pids are not all delegated to %s", path);
		break;
	case LACK_V2_ALONE: (void)snprintf(ret, size, "other processes are in %s too", path); break;
	case LACK_NOTHING:
	case LACK_COUNT: (void)snprintf(ret, size, "no cgroup"); break;
	}
}

/* A folder of the user's own, with the shell that is used from then on inside it. */
static void say_v1_folder(const struct machine *m, enum controller c, char ret[FIX_MAX])
{
	if (m->root && m->container)
		say(ret, CONTAINER "--privileged ...");
	else if (m->root)
		say(ret, "run hotcell with CAP_DAC_OVERRIDE, which root has unless it was taken");
	else
		say(ret,
			"d=%s/hotcell; sudo mkdir -p $d && sudo chown -R %u $d && echo $$ | sudo tee $d/cgroup.procs",
			m->own.v1[c], m->uid);
}

#define SCOPE "--scope -p Delegate=yes -- hotcell ..."
#define ALL "'+memory +cpu +pids'"

/* An ordinary user's: systemd's manager of that user gives one, if it was given all controllers. */
static void say_v2_user(const struct machine *m, char ret[FIX_MAX])
{
	if (!m->systemd)
		say(ret,
			"sudo sh -c 'cd " V2
			"; echo \"+memory +cpu +pids\" >cgroup.subtree_control; mkdir hotcell; "
			"chown -R %u hotcell; echo $$ >hotcell/cgroup.procs; exec su $SUDO_USER -c \"exec hotcell ...\"'",
			m->uid);
	else if (!m->manager)
		say(ret,
			"sudo loginctl enable-linger %u; then: XDG_RUNTIME_DIR=/run/user/%u systemd-run --user " SCOPE,
			m->uid, m->uid);
	else if (!m->manager_has[MEMORY] || !m->manager_has[CPU] || !m->manager_has[PIDS])
		say(ret,
			"d=/etc/systemd/system/user@.service.d; sudo mkdir -p $d; printf '[Service]\\nDelegate=cpu memory "
			"pids\\n' | sudo tee $d/hotcell.conf; sudo systemctl daemon-reload; log in again; "
			"systemd-run --user " SCOPE);
	else
		say(ret, "systemd-run --user " SCOPE);
}

/* Root's: a cgroup with nobody else in it. Only the root of all may have both processes and
 * children with controllers, so below it the others step aside first. */
static void say_v2_root(const struct machine *m, char ret[FIX_MAX])
{
	if (m->systemd)
		say(ret, "systemd-run " SCOPE);
	else
		say(ret,
			"cd " V2 "; mkdir -p hotcell%s; echo " ALL " >cgroup.subtree_control; "
			"sh -c 'echo $$ >hotcell/cgroup.procs; exec hotcell ...'",
			m->v2_top_free ? "" : " rest; xargs -n1 <cgroup.procs >rest/cgroup.procs");
}

void advice_cgroup(const struct machine *m, enum controller c, char ret[FIX_MAX])
{
	const char *name = controller_name[c];

	switch (machine_lack(m, c)) {
	case LACK_DISABLED:
		say(ret, "boot the kernel with cgroup_enable=%s and without cgroup_disable=%s",
			name, name);
		break;
	case LACK_FILE_SYSTEM: say(ret, "%smount -t cgroup2 none " V2, sudo(m)); break;
	case LACK_MOUNT:
		say(ret, "%smkdir -p " V2 "/%s && %smount -t cgroup -o %s none " V2 "/%s", sudo(m),
			name, sudo(m), name, name);
		break;
	case LACK_WRITABLE:
		if (m->container)
			say(ret, CONTAINER "--privileged --cgroupns=private ...");
		else
			say(ret, "%smount -o remount,rw " V2, sudo(m));
		break;
	case LACK_V1_FOLDER: say_v1_folder(m, c, ret); break;
	case LACK_V2_FOLDER:
	case LACK_V2_CONTROLLER:
	case LACK_V2_ALONE:
		if (m->root)
			say_v2_root(m, ret);
		else
			say_v2_user(m, ret);
		break;
	case LACK_NOTHING:
	case LACK_COUNT: say(ret, "'hotcell run -v -- true' says what the cgroup refused"); break;
	}
}
