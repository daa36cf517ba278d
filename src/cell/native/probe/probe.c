/* What this machine can give a native cell: each thing made for real, not looked up. */
#include "cell/native/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some systems let the namespace be made and then deny every right in it: use one. */
static int child_tries(void *nothing)
{
	(void)nothing;
	return unshare(CLONE_NEWUTS) == 0 ? 0 : 1; /* which exits */
}

bool native_is_root(void)
{
	static int known = -1;
	own(buf_done) struct buf map = { 0 };
	unsigned inside = 1, outside = 1, count = 0;
	struct err err;

	if (known < 0) { /* the first user namespace maps every number to itself */
		known = geteuid() == 0 && fs_read_small(AT_FDCWD, "/proc/self/uid_map", 4096, &map, &err) == 0 &&
			sscanf(buf_text(&map), "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 &&
			outside == 0 && count == UINT32_MAX;
	}
	return known != 0;
}

/* A child that somebody killed says nothing: another is asked. */
static bool user_ns_tried(void)
{
	_Alignas(16) char stack[8192];
	int status = SIGKILL;

	for (int tries = 0; tries < 3 && WIFSIGNALED(status); tries++) {
		/* shares our memory while we wait: no page is copied */
		pid_t pid = clone(child_tries, stack + sizeof(stack), CLONE_NEWUSER | CLONE_VM | CLONE_VFORK, NULL);
		if (pid < 0 || waitpid(pid, &status, __WCLONE) != pid) /* also where SIGCHLD is ignored */
			return false;
	}
	return status == 0;
}

bool native_user_ns_works(void)
{
	static int known = -1;

	if (known < 0)
		known = !pretend("no-userns") && user_ns_tried();
	return known != 0;
}

/* ---- the rows ---- */

typedef void lab_fn(struct lab *lab, const struct machine *machine, struct cell_probe *ret);

struct row {
	const char *name;
	const struct trial *trial; /* in a child; or */
	lab_fn *cell; /* in a cell */
	advice_fn *advice;
	const char *pretend; /* what HOTCELL_PRETEND calls its absence */
	/* what a cell is where the trial fails; CELL_ON: whole, and its error has the fix */
	enum cell_grade without;
};

/* clang-format off */
static const struct row rows[] = {
	{"user namespaces", &trial_user_ns, NULL, advice_user_ns, "no-userns", CELL_OFF},
	{"pid, mount, ipc and uts namespaces", &trial_namespaces, NULL, advice_namespaces, NULL, CELL_OFF},
	{"network namespace", &trial_network, NULL, advice_namespaces, NULL, CELL_OFF},
	{"cgroup namespace", &trial_cgroup_ns, NULL, advice_namespaces, NULL, CELL_OFF},
	{"private /proc", &trial_proc, NULL, advice_proc, NULL, CELL_WEAKER},
	{"scratch space with a limit", &trial_scratch, NULL, advice_scratch, NULL, CELL_OFF},
	{"hidden files (overlay)", &trial_overlay, NULL, advice_overlay, "no-overlay", CELL_WEAKER},
	{"mounts as the cell's user", &trial_id_map, NULL, advice_id_map, NULL, CELL_WEAKER},
	{"own user for each cell", &trial_own_users, NULL, NULL, NULL, CELL_ON},
	{"system call filter", &trial_filter, NULL, advice_filter, NULL, CELL_OFF},
	{"Landlock", &trial_landlock, NULL, advice_landlock, "no-landlock", CELL_OFF},
	{"memory limit", NULL, lab_memory, NULL, NULL, CELL_OFF},
	{"CPU limit", NULL, lab_cpu, NULL, NULL, CELL_OFF},
	{"process limit", NULL, lab_processes, NULL, NULL, CELL_OFF},
	{CELL_PROBE_WHOLE, NULL, lab_whole, NULL, NULL, CELL_OFF},
};
/* clang-format on */

/* Whose absence it is that we pretend: its own, or that of the user namespace it is made in. */
static const char *pretended(const struct row *row, const struct machine *machine)
{
	if (row->pretend != NULL && pretend(row->pretend))
		return row->pretend;
	if (row->trial->namespaces != 0 && !machine->root && pretend("no-userns"))
		return "no-userns";
	return NULL;
}

static void probe_trial(
	const struct row *row, const struct machine *machine, struct cell_probe *ret)
{
	const char *lie = pretended(row, machine);
	struct err err = {0};

	if (trial_run(row->trial, ret->detail, &err) == 0) {
		ret->grade = CELL_ON;
		return;
	}
	ret->grade = row->without;
	if (ret->grade == CELL_ON) {
		(void)snprintf(ret->detail, sizeof(ret->detail), "no: %.*s", SAW_MAX - 5, err.text);
		return;
	}
	if (row->trial == &trial_filter && err.code == EBUSY)
		ret->grade =
			CELL_WEAKER; /* one that refuses but does not count is one all the same */
	if (err.code == ERR_MISSING && (lie == NULL || lie != row->pretend))
		ret->grade = CELL_OFF; /* without a user namespace there is no cell */
	(void)snprintf(ret->detail, sizeof(ret->detail), "%.*s", SAW_MAX - 1, err.text);
	if (lie != NULL)
		(void)snprintf(ret->fix, sizeof(ret->fix), "take '%s' out of HOTCELL_PRETEND", lie);
	else if (err.code == ERR_MISSING)
		advice_user_ns(machine, &err, ret->fix);
	else
		row->advice(machine, &err, ret->fix);
}

size_t native_probe(struct cell_probe *ret, size_t max)
{
	own(machine_done) struct machine machine = {0};
	size_t count = 0;
	struct lab *lab = NULL;

	machine_look(&machine); /* before there is a pool, which may move us to another cgroup */
	for (; count < ARRAY_LEN(rows) && count < max; count++) {
		const struct row *row = &rows[count];
		ret[count] = (struct cell_probe){.name = row->name};
		if (row->trial != NULL) {
			probe_trial(row, &machine, &ret[count]);
			continue;
		}
		if (lab ==
			NULL) /* after the trials: a machine that fails those may not be able to */
			lab = lab_open();
		row->cell(lab, &machine, &ret[count]);
	}
	if (lab != NULL)
		(void)lab_free(lab);
	return count;
}
