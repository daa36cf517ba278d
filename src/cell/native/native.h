/* The native backend's own processes and what they say to each other. See README.md.
 *
 *	supervisor --TEMPLATE--> zygote --fork--> template zygote ("yard")
 *	supervisor --MAKE------> yard   --fork--> stall (one a slot)
 *	supervisor --MAKE------> stall  --clone-> cell init (pid 1) --vfork-> program (pid 2)
 *	supervisor <--control--> cell init	(until the cell ends)
 */
#ifndef HOTCELL_CELL_NATIVE_NATIVE_H
#define HOTCELL_CELL_NATIVE_NATIVE_H

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/wire.h"
#include "cell/backend.h"
#include "cell/cell.h"

/* ---- what this machine is made to look like (tests) ---- */

bool pretend(const char *what); /* HOTCELL_PRETEND names it: "no-cgroup", "no-landlock", ... */

/* ---- the template: everything that cells of one kind share ---- */

struct template {
	const char *image;
	struct fs_id image_id; /* of its folder; 0: the host's */
	struct cell_mount *mounts;
	size_t mount_count;
	const char *const *hide;
	const char *const *forbid;
	uint32_t uid, gid; /* inside */
	uint64_t tmp, disk, shm, file_size, open_files, processes;
	uint64_t watch_memory; /* bytes: init watches, for want of a cgroup; 0: no need */
	uint32_t pin_cpus; /* CPUs to pin to, for want of a cgroup; 0: no need */
	uint32_t nice;
	bool limit_tasks; /* RLIMIT_NPROC, for want of a cgroup */
	bool user_ns, landlock, overlay; /* to be used */
	bool own_user; /* outside, if it can be had */
	bool rule_files; /* by Landlock */
	bool tmp_exec, tty, want_workspace;
	struct cell_listener *listeners;
	size_t listener_count;
	const char *hosts; /* may be NULL */
	const char *const *calls_deny, *const *calls_allow; /* may be NULL before they are sent */
	struct cell_path *paths;
	size_t path_count;
	bool no_exec, observe, effects;
	/* What mounts' `space` points to, once it is decoded: ids as they were sent, views that came along. */
	struct cell_space spaces[CELL_MAX_SPACES];
	size_t space_count;
	struct fs_id *runtime; /* folders that no cell is shown */
	size_t runtime_count;
};
/* The different spaces of mounts, in their order. Errors are ERR_USAGE. */
MUST_CHECK int template_spaces(const struct cell_mount *mounts, size_t count, const struct cell_space *ret[CELL_MAX_SPACES],
	size_t *ret_count, struct err *err);
void template_encode(const struct template *t, struct buf *buf);
/* Strings point into the message; the arrays are the caller's (template_done). */
MUST_CHECK int template_decode(struct template *ret, struct wire_reader *reader, struct err *err);
void template_done(struct template *t);

/* ---- messages ---- */

enum native_message {
	/* supervisor -> zygote: a yard for the template in the memfd, whether we are to read the
	 * workspace of another user's cell; fds: yard's socket, memfd, views of its spaces */
	MSG_TEMPLATE = 1,
	MSG_CGROUPS, /* the cgroups that it removes after our death */
	MSG_ABOUT, /* a question; back comes whether root's user namespaces work */
	/* supervisor -> yard: slot, flags, the user outside; fds: control, the stall's socket, cgroup descriptors...
	 * supervisor -> stall: flags; fds: control */
	MSG_MAKE,
	/* yard -> supervisor */
	MSG_READY, /* how mounts were hidden (u32 enum hide_how); fd, where programs are forbidden: a memfd with what was covered */
	MSG_MADE, /* slot, pid; fds: pidfd, the cell's listeners */
	MSG_FAILED, /* slot or NO_SLOT, err */
	/* supervisor -> init */
	MSG_JOB, /* 0, job; fds: stdin, stdout, stderr, as far as it is given them */
	MSG_KILL,
	MSG_EXEC, /* id, job; fds likewise */
	/* init -> supervisor (MSG_FAILED too) */
	MSG_STARTED, /* facts: what took effect (enum fact bits), when; fd: the terminal's master, if any */
	MSG_REPORT, /* facts, how it ended; fd: the workspace, if wanted. Comes without MSG_STARTED after a short run */
	MSG_EXEC_DONE, /* id, wait status */
	MSG_SPACE, /* supervisor -> zygote: bytes, files; fd: where what space_main makes is sent to */
	MSG_EFFECT, /* kind, how many were dropped so far, and what it is (effects.h) */
};
#define NO_SLOT UINT32_MAX
/* Flags of a report: the calls that were made follow, a bit each; << enum scratch: something was written there. */
#define OBSERVED 1u
#define OBSERVED_WROTE 2u
#define MAKE_FRESH_NET 1u
#define MAKE_CGROUP_V2 2u /* the cgroup descriptor is a v2 folder to be born in */
#define MAKE_FRESH_IPC 4u
#define MAX_MESSAGE 16384
#define MAX_JOB_BYTES (UINT64_C(8) << 20)

enum hide_how { HIDE_NOTHING, HIDE_OVERLAY, HIDE_MASKS };

/* What a cell's init and program did on themselves, as bits. */
enum fact {
	FACT_USER_NS = 1 << 0,
	FACT_LANDLOCK = 1 << 1,
	FACT_SECCOMP = 1 << 2,
	FACT_SECCOMP_COUNTED = 1 << 3,
	FACT_PROC = 1 << 4,
	FACT_NPROC = 1 << 5,
	FACT_PINNED = 1 << 6,
	FACT_CGROUP_NS = 1 << 7,
	FACT_NO_CAPS = 1 << 8,
	FACT_WATCHED = 1 << 9,
	FACT_LANDLOCK_FILES = 1 << 10,
	FACT_OWN_USER = 1 << 11, /* outside */
};

void message_put_err(struct buf *buf, const struct err *err);
void message_send_failed(int socket, uint32_t slot, const struct err *err); /* MSG_FAILED */
void message_get_err(struct wire_reader *reader, struct err *err);

/* A program to run. */
struct job {
	const char **argv, **env; /* arrays owned; strings point into the message, or into `bytes` */
	const char *cwd;
	bool tty;
	unsigned short rows, columns; /* of the terminal; 0: not known */
	uint64_t backstop_ms; /* init ends the cell by itself this long after its start; 0: never */
	uint32_t need; /* facts without which it must not run */
	uint32_t given; /* a bit for each of stdin, stdout and stderr that came with it */
	struct buf bytes;
};
/* Encodes all but `given` and `bytes`. */
void job_encode(struct buf *buf, const struct job *job);
MUST_CHECK int job_decode(struct job *ret, struct wire_reader *reader, struct err *err);
void job_done(struct job *job);
/* Sends kind, id and the job; what does not fit into a message goes as a memfd, the first descriptor. stdio: -1 is not sent. */
MUST_CHECK int job_send(int socket, uint32_t kind, uint32_t id, const struct buf *job, const int stdio[3], struct err *err);
/* The other side: *fds and *count are left with the rest. */
MUST_CHECK int job_receive(struct job *ret, struct wire_reader *reader, const int **fds, size_t *count,
	struct err *err);

/* ---- the users of cells outside (users.c) ---- */

/* Root's cells are nobody's outside, and nobody else's: every slot has a number of its own, since the kernel counts much of what a
 * cell can take by the user: inotify instances, descriptors in flight, pipe memory, epoll watches. */
#define USERS_SPAN 1024u /* for each supervisor; slots beyond that share */
/* The first of our numbers. *ret_lock: keeps other hotcells from them while it is open; -1: they are only unlikely to have them. */
uint32_t users_take(int *ret_lock);
/* An ordinary user's cells have numbers of his own, if he has such and nothing of his is mounted into
 * them that would want his rights (users_own.c); else that user's number. What can be capped of what the kernel counts by it is: what all cells
 * together take leaves half to the user's own programs. */
/* Open files for each process of a cell: descriptors in flight are held to as many, and those who have more are not kept from theirs.
 * `own`: the cell's user is its own. soft, hard: our limits. */
uint64_t users_open_files(uint64_t wanted, bool own, uint64_t soft, uint64_t hard);
/* Init may have more open than its programs. false: our hard limit is too low for that, and we may not raise it. */
bool users_raise_files(uint64_t open_files, uint64_t *ret_limit);
uint64_t users_open_files_here(uint64_t wanted, bool own); /* what a cell would have, by our limits now */
int users_send_failed(const char *doing, struct err *err); /* -1, with what errno says of a message with descriptors */
void users_halve_limits(void); /* before the zygote makes its user namespace: what the kernel counts for all below it */
/* inotify instances and watches of those in our user namespace, one part of what a user has; before it is given up. */
void users_cap_inotify(int host_proc, unsigned parts);

/* ---- numbers of an ordinary user's own (users_own.c) ---- */

struct users_ids {
	uint32_t first, count; /* count 0: none */
};
/* Pure. The longest range that /etc/subuid gives to this user, by name or number. Lines that are not
 * exactly NAME:FIRST:COUNT are none; nor are ranges that begin below 65536, or hold the user's own
 * number. */
struct users_ids users_ids_find(const char *text, const char *name, uint32_t uid);
/* Pure. From there on 65536 are free, behind all that are given; 0: not so. */
uint32_t users_ids_free(const char *text);
/* Pure. Of the first account with that number. */
bool users_name(const char *passwd, uint32_t uid, char *ret, size_t size);
/* Pure. The part of them that one hotcell uses. */
struct users_ids users_block(struct users_ids all, uint32_t chance);
/* Whether there are newuidmap and numbers; -1 says what is missing, and its fix. Whether they work is
 * only known when they were used. */
MUST_CHECK int users_own_find(struct users_ids *ret, struct err *err);
/* A block of them, as users_take has it. In the zygote's user namespace they are 1 to count. */
MUST_CHECK int users_take_own(struct users_ids *ret, int *ret_lock, struct err *err);
/* A user namespace in which we are 0 and these follow, made beside us. Its end is a descriptor. */
struct users_mapping {
	struct users_ids ids;
	pid_t pid;
	int pidfd, said, tool, proc, ns;
	bool asked;
};
void users_mapping_begin(const struct users_ids *ids, struct users_mapping *ret);
MUST_CHECK int users_mapping_end(struct users_mapping *mapping, struct err *err);
/* For a child that may begin before it is mapped: enters it. Until users_mapped it can make neither
 * files nor user namespaces. */
MUST_CHECK int users_mapping_enter(struct users_mapping *mapping, struct err *err);
/* Waits, in whoever descends from who entered before; exits if it never is mapped. */
void users_mapped(void);
/* Below the zygote: maps one number in the user namespace of a process; `proc`: the host's. */
MUST_CHECK int users_map(int proc, pid_t pid, uint32_t uid, uint32_t gid, uint32_t outer_uid,
	uint32_t outer_gid, struct err *err);
/* A new user namespace with that map. */
MUST_CHECK int users_space(int proc, uint32_t uid, uint32_t gid, uint32_t outer_uid,
	uint32_t outer_gid, struct err *err);
/* Whether a tmpfs of ours can be shown with other owners (Linux 6.3); tried for real. */
bool users_tmpfs_maps(void);

/* ---- processes ---- */

/* Forks the zygote. Returns our end of its socket.
 * nest: it makes a user namespace to have rights in (an ordinary user's has none otherwise), with
 * these numbers in it if it can. */
MUST_CHECK int zygote_start(
	bool nest, const struct users_ids *own, pid_t *ret_pid, struct err *err);
/* For a child: to be killed when this parent of it ends, or has ended. */
void die_with(pid_t parent);
/* The yard's whole life; called by the zygote in a child. */
_Noreturn void yard_main(int socket, int memfd, const int *views, size_t view_count);

/* ---- space.c ---- */

/* Makes a file system of that size and sends it: a mount namespace that has it alone, as its root, and its top. The whole life of a
 * child of the zygote's. */
_Noreturn void space_main(int socket, uint64_t bytes, uint64_t files);
/* For the yard, while it is in the host's tree: a mount of its own of a folder at the top of a space. */
MUST_CHECK int space_tree(const struct cell_space *space, const char *name, uint64_t attributes, struct err *err);

/* What a cell's init is born with. */
struct birth {
	const struct template *t;
	/* the cell's user, as the yard's user namespace knows it; an ordinary user's group is always his */
	uint32_t outer_uid, outer_gid;
	int control, user_ns;
	int collect_ns; /* shows the cell's user as ours to who collects its workspace; -1: no need */
	const struct sock_fprog *filter, *filter_plain; /* counting; and without a listener */
	const struct call_set *calls;
	uint32_t slot, covers;
	int first_cpu; /* where the first slot is pinned to, if cells are: another for each hotcell, by chance */
	/* what its stall did already, for all cells of the slot */
	bool limited; /* limits and the cgroup namespace */
	bool ipc; /* the ipc namespace */
	unsigned scratch; /* a bit for each of enum scratch */
	int sockets; /* sockstat of the slot's network; -1: not open */
	int ruleset; /* Landlock's; -1: none yet */
	/* Mount namespaces, where proc may not be mounted just anywhere: one in which it may, which no program ever sees; and that which init
	 * takes its copy of. -1: init is born in a copy, and mounts proc there. */
	int proc_view, mounts;
};
_Noreturn void init_main(const struct birth *birth);
/* The stall's whole life, once it is in its slot's cgroup and network. `yard`: where cells are told of;
 * `socket`: where they are asked for. Called by the yard in a child. */
_Noreturn void stall_main(struct birth *birth, int yard, int socket, int host_proc);

/* Sockets that listen in this process's network, in that order; all or none. */
MUST_CHECK int listeners_open(const struct cell_listener *wanted, size_t count, int *ret, struct err *err);

/* The cell's /etc/hosts; with an image, what that has and then ours (only ours if it is too large or unreadable). */
void hosts_of_host(const struct template *t, struct buf *ret);
MUST_CHECK int hosts_of_image(const struct template *t, int image, struct buf *ret, struct err *err);
/* Builds the template's root in this process's own mount namespace and moves into it. *ret_forbidden: as cell_forbidden_next reads it. */
MUST_CHECK int root_build(const struct template *t, uint32_t outer_uid, uint32_t outer_gid, bool nested, int host_proc,
	enum hide_how *ret_hide, struct buf *ret_forbidden, struct err *err);
/* Whether what `source` shows can be moved about by one of these mounts, those that can be written to and do not lie behind a
 * hidden name of it. */
bool root_is_rearranged(const struct cell_mount *source, const struct cell_mount *mounts, size_t count, const char *const *hide);
/* Whether everybody may do with a mounted file what its owner may: then no cell's user needs to be that. */
bool root_is_public(const struct stat *st, bool writable);
/* Whether process 1 reaps what loses its parent. In a container it may be any program, and every process left to it
 * would stay as a zombie for ever. */
bool orphans_are_reaped(void);
/* Whether the host's /proc is lent to the root while it is built: a user namespace may mount proc only where one is in full view. The yard
 * takes it back before there is a cell, and keeps a mount namespace that has it.
 * nested: we are in a user namespace of our own. */
bool root_proc_lent(bool nested);
uint32_t root_covers(int host_proc); /* for `covers` of a birth: files of /proc to be covered */
/* Space to write into that is the cell's own. */
enum scratch { SCRATCH_TMP, SCRATCH_SHM, SCRATCH_WORKSPACE, SCRATCH_COUNT };
extern const char *const root_scratch_paths[SCRATCH_COUNT];
MUST_CHECK int root_scratch(const struct birth *birth, enum scratch which, struct err *err); /* mounts it */
/* Makes the folders that the template's paths name below scratch space. */
MUST_CHECK int root_paths(const struct birth *birth, struct err *err);
/* The part of the mounts that is each cell's own. */
MUST_CHECK int root_private(const struct birth *birth, bool *ret_proc, struct err *err);

/* ---- sealing ---- */

/* What every cell of this template is kept to; a ruleset descriptor, or -1 with err. */
MUST_CHECK int landlock_rules(const struct template *t, struct err *err);
/* Those of the template's own paths, if it has any; they are entered on top of the others. */
MUST_CHECK int landlock_paths(const struct template *t, struct err *err);
MUST_CHECK int landlock_enter(int ruleset, struct err *err);
int landlock_abi(void); /* 0: none */
bool landlock_rules_files(const struct cell_spec *spec, bool user_ns); /* whether its cells need rules for files, too */
const char *landlock_keeps(bool files); /* what all rules upon a cell are about */

/* The system call filter: a decision tree, built once. */
enum filter_want {
	FILTER_COUNTED = 1, /* refused calls go to a listener that counts them */
	FILTER_PINNED = 2, /* changing CPUs is refused */
	FILTER_NO_SET_ID = 4, /* making set-id files is refused */
	FILTER_NO_HIDDEN_MEMORY = 8, /* memory that no process maps is refused */
	FILTER_NOTHING_LASTS = 16, /* it can write to nothing but scratch space */
};
unsigned filter_want_of(const struct cell_mount *mounts, size_t count); /* by what may be written to */
MUST_CHECK int filter_build(unsigned want, struct sock_filter **ret, size_t *ret_len, struct err *err);
/* What a spec changes of it, by call number. */
#define FILTER_MAX_NR 512
struct call_set {
	bool denied[FILTER_MAX_NR]; /* refused with EPERM, whatever the arguments */
	bool observed[FILTER_MAX_NR]; /* the listener is asked first */
	bool opened[FILTER_MAX_NR]; /* allowed, and else refused */
	/* By enum effect_test: the listener is asked first, where there is one. But not about calls of init's own, which has
	 * nobody to answer it: those carry `mark` in their sixth argument, which these calls do not have. No program ever sees
	 * it: init's registers and memory can be looked at by nobody in the cell, and it starts no program with it. */
	unsigned char effects[FILTER_MAX_NR];
	uint64_t mark;
};
enum effect_test {
	EFFECT_NOT,
	EFFECT_ALWAYS,
	EFFECT_UNMARKED,
	EFFECT_OPEN1, /* the second argument has EFFECT_OPEN_FLAGS */
	EFFECT_OPEN2_UNMARKED, /* the third has */
	EFFECT_ADDRESSED, /* the fifth is not NULL */
	EFFECT_TEST_COUNT
};
#define EFFECT_OPEN_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
MUST_CHECK int filter_build_set(unsigned want, const struct call_set *set, struct sock_filter **ret, size_t *ret_len,
	struct err *err);
/* What such a program says of a call: SECCOMP_RET_ALLOW or another. */
uint32_t filter_judge(const struct sock_fprog *program, const struct seccomp_data *data);
/* By index of filter_name: its number, and whether it is refused whatever its arguments. */
int filter_number(unsigned index);
bool filter_is_refused(unsigned index);
int filter_allowed(size_t index, const char **ret_name); /* the numbers and names of allowed ones; -1 at the end */

/* ---- calls by name (calls.c) ---- */
int calls_index(int nr); /* of cell_call_at, or -1 */
void calls_set(const struct template *t, struct call_set *ret);
/* The names among these that are refused without them, as "a, b"; "" if none is. */
void calls_opened(const char *const *allow, char *ret, size_t size);
/* For the listener: the errno a refused call gets, and its name. */
int filter_refusal(int nr, const char **ret_name);
const char *filter_name(unsigned index); /* names of refused calls by index; NULL at the end */
int filter_index(int nr); /* of a refused call, or -1 */
bool filter_is_noticed(int nr); /* allowed, the listener being told: it leaves something in the ipc namespace */
unsigned filter_when(unsigned index); /* enum filter_want: refused only then; 0: always */
#define FILTER_MAX_REFUSED CELL_MAX_CALLS

/* No exec of ours or our children's gains a capability from a file. */
void seal_bounding_set(void);
/* The limits that are the same for all processes below; those that count tasks or CPUs are each cell's own. */
MUST_CHECK int seal_limits(const struct template *t, struct err *err);
/* A hard limit; what is lower already stays. */
MUST_CHECK int seal_limit(int resource, uint64_t value, const char *what, struct err *err);
/* Takes away everything but the right to run, from us and all our children: limits, capabilities,
 * no_new_privs, Landlock, filter. Returns the filter's listener (or -1), and the facts. */
MUST_CHECK int seal_self(const struct birth *birth, int *ret_listener, uint32_t *facts, struct err *err);

/* ---- cgroups (supervisor) ---- */

struct cgroup_host;
struct cgroup_slot;
/* Whether this machine's cgroups are v1, where nobody has to step aside: the zygote may be forked before we know ours. */
bool cgroup_v1_mounted(void);
/* Finds our cgroups and, on v2, steps aside. What it says there is, is only expected on v1 until cgroup_make,
 * which makes the first folders for real, and may come after the zygote was forked; false if less is there than
 * was expected. Neither fails for want of cgroups: see why. */
MUST_CHECK struct cgroup_host *cgroup_open(struct err *err);
bool cgroup_make(struct cgroup_host *host);
void cgroup_sweep_dead(const struct cgroup_host *host); /* what killed supervisors left; on v2 done already */
struct cgroup_host *cgroup_free(struct cgroup_host *host); /* removes what we made */
void cgroup_leave(struct cgroup_host *host); /* to the zygote, to be removed by it: free only frees then */
/* Removes what is empty, for the zygote after our death; true when nothing is left. */
bool cgroup_sweep(const struct cgroup_host *host);
/* As much of it as that needs, as a message's rest. */
void cgroup_encode(struct buf *buf, const struct cgroup_host *host);
struct cgroup_host *cgroup_decode(struct wire_reader *reader); /* free: cgroup_free, which removes what there is */
bool cgroup_memory(const struct cgroup_host *host);
bool cgroup_cpu(const struct cgroup_host *host);
bool cgroup_pids(const struct cgroup_host *host);
const char *cgroup_why(const struct cgroup_host *host); /* why something is missing; "" if nothing is */
const char *cgroup_kind(const struct cgroup_host *host); /* "cgroup v1", "cgroup v2", "" */

MUST_CHECK struct cgroup_slot *cgroup_slot_open(struct cgroup_host *host, unsigned index,
	const struct cell_limits *limits, struct err *err);
struct cgroup_slot *cgroup_slot_free(struct cgroup_slot *slot);
void cgroup_slot_reset(struct cgroup_slot *slot); /* before a new cell: peaks and left-over cache */
size_t cgroup_slot_fds(const struct cgroup_slot *slot, int ret[4], bool *ret_v2);
/* CPU time since the reset; false where no cgroup counts it. */
bool cgroup_slot_cpu(const struct cgroup_slot *slot, uint64_t *ret_user_us, uint64_t *ret_system_us);
void cgroup_slot_usage(const struct cgroup_slot *slot, uint64_t *ret_peak, uint64_t *ret_oom_kills,
	uint64_t *ret_now);

/* ---- probing and explaining ---- */
bool native_user_ns_works(void); /* tried for real, once */
bool native_is_root(void); /* of the machine: root of a user namespace is an ordinary user here */
size_t native_probe(struct cell_probe *ret, size_t max);
unsigned native_orphans(void); /* processes that dead supervisors left */
void native_explain(const struct cell_spec *spec, struct buf *ret);
extern const char *const native_etc[]; /* what of /etc a host image shows; NULL-terminated */

#endif
