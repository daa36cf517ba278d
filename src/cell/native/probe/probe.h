/* Trying this machine for real. Seen only by probe*.c, advice.c and explain.c.
 *
 *	probe.c		the rows of `hotcell doctor`, in order
 *	kernel.c	what a child of its own can try: namespaces, mounts, filter, Landlock
 *	cells.c	what only a real cell shows: limits that hold, and the whole
 *	advice.c	why something is missing, and the command that mends it; pure but for
 *machine_look */
#ifndef HOTCELL_CELL_NATIVE_PROBE_PROBE_H
#define HOTCELL_CELL_NATIVE_PROBE_PROBE_H

#include "cell/native/supervisor/cgroup_paths.h"
#include "cell/native/native.h"

/* ---- trials: each in a child that takes along whatever it made ---- */

#define SAW_MAX 160 /* as cell_probe.detail */

typedef int trial_fn(char saw[SAW_MAX], struct err *err);

struct trial {
	trial_fn *fn;
	int namespaces; /* CLONE_NEW* to be in; an ordinary user's are made in a user namespace */
};
/* 0 with what was seen, or -1. */
MUST_CHECK int trial_run(const struct trial *trial, char saw[SAW_MAX], struct err *err);

extern const struct trial trial_user_ns, trial_namespaces, trial_cgroup_ns, trial_network,
	trial_proc, trial_scratch, trial_overlay, trial_id_map, trial_own_users,
	trial_own_output, trial_filter, trial_landlock;

/* ---- the machine, as far as it explains what is missing ---- */

struct machine {
	unsigned uid;
	bool root, sys_admin; /* sys_admin: the capability is there */
	bool container, systemd, filtered; /* filtered: a system call filter is upon us already */
	long userns_max, userns_clone, userns_apparmor; /* sysctls; -1: there is no such */
	char lsm[120]; /* the security modules that are on; "" if unknown */
	/* cgroups */
	struct cgroup_paths own;
	bool disabled[CONTROLLER_COUNT]; /* when the kernel was booted */
	bool v1_ours[CONTROLLER_COUNT], v2_ours; /* we may make folders there */
	bool read_only; /* the file system is */
	bool v2_has[CONTROLLER_COUNT]; /* delegated to our own cgroup */
	bool v2_root, v2_crowded; /* ours is the root of all; holds other processes too */
	bool v2_top_free; /* /sys/fs/cgroup is the root of all: it may hold processes and children */
	bool manager; /* systemd runs one for our user */
	bool manager_has[CONTROLLER_COUNT]; /* which it can give away */
};
void machine_look(struct machine *ret);
void machine_done(struct machine *machine);

/* Why a controller cannot be had. */
enum lack {
	LACK_NOTHING,
	LACK_DISABLED,
	LACK_FILE_SYSTEM,
	LACK_MOUNT,
	LACK_WRITABLE,
	LACK_V1_FOLDER,
	LACK_V2_FOLDER,
	LACK_V2_CONTROLLER,
	LACK_V2_ALONE,
	LACK_COUNT
};
enum lack machine_lack(const struct machine *machine, enum controller controller);

/* Each writes one sentence or command into ret; never empty. */
#define FIX_MAX 240 /* as cell_probe.fix */
typedef void advice_fn(const struct machine *machine, const struct err *cause, char ret[FIX_MAX]);
advice_fn advice_user_ns, advice_namespaces, advice_proc, advice_scratch, advice_overlay,
	advice_id_map, advice_filter, advice_landlock, advice_cell;
void advice_cgroup(const struct machine *machine, enum controller controller, char ret[FIX_MAX]);
/* "other processes are in /sys/fs/cgroup/x too" */
void lack_text(const struct machine *machine, enum controller controller, char *ret, size_t size);

/* ---- real cells ---- */

struct lab;
struct lab *lab_open(void); /* never fails: what it cannot do its probes tell */
struct lab *lab_free(struct lab *lab);
void lab_memory(struct lab *lab, const struct machine *machine, struct cell_probe *ret);
void lab_cpu(struct lab *lab, const struct machine *machine, struct cell_probe *ret);
void lab_processes(struct lab *lab, const struct machine *machine, struct cell_probe *ret);
void lab_whole(struct lab *lab, const struct machine *machine, struct cell_probe *ret);

#endif
