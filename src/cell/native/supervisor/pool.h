/* The supervisor's side of the native backend: kinds, slots, runs.
 *
 * A kind is a template with its yard, the process that makes cells of it. A slot is a place for one
 * cell at a time: a cgroup here, a network and a user namespace in the yard. A run takes a slot whose
 * cell is ready, or has one made; when its cell is gone the slot is used again, and made ready at once
 * if its kind is to be kept warm.
 *
 *	slot:	EMPTY -> WANTED -> MAKING -> READY -> RUNNING -> DYING -> EMPTY
 *
 * A job is sent as soon as there is an init: it waits in the socket until that is sealed. */
#ifndef HOTCELL_CELL_NATIVE_SUPERVISOR_POOL_H
#define HOTCELL_CELL_NATIVE_SUPERVISOR_POOL_H

#include "base/runtime.h"
#include "cell/backend.h"
#include "cell/native/native.h"

enum slot_state { EMPTY, WANTED, MAKING, READY, RUNNING, DYING };

struct slot {
	struct kind *kind;
	unsigned index;
	uint32_t outer; /* its cells' user outside, once it was asked for; 0: our own */
	enum slot_state state;
	struct cgroup_slot *cgroup;
	int control, pidfd;
	int stall; /* the slot's own process, to be asked for cells; -1: none yet */
	int yard; /* the slot's own; -1: its kind's, or none yet */
	struct loop_source *yard_source;
	int listeners[CELL_MAX_LISTENERS]; /* of its cell, until a run has taken them */
	size_t listener_count;
	struct loop_source *control_source, *pidfd_source, *grace;
	pid_t pid;
	bool fresh_net, fresh_ipc; /* what the last cell left is not to be seen by the next */
	bool spoiled; /* its job went to a run that is gone: not to be used */
	struct cell_backend_run *run;
	struct slot *next;
};

struct kind { /* a template and its yard */
	struct cell_backend_pool *pool;
	struct buf key;
	struct cell_limits limits;
	uint32_t uid; /* inside */
	char opened[64]; /* calls that its filter lets through and others' do not */
	size_t listener_count; /* of each of its cells */
	const struct cell_space *spaces[CELL_MAX_SPACES]; /* those that its cells are shown: without one of them it dies */
	size_t space_count;
	bool effects; /* they are told */
	/* Its root is one user's, whose number is in its mounts: each slot but the first has a yard, and hence a root, of its own. */
	bool narrow;
	bool own_user; /* each slot is to have its own outside */
	bool apart; /* as kind_is_apart has it */
	bool collects; /* its cells' workspaces are sent */
	/* the user of its first slot outside, for which the yard prepares itself; 0: our own */
	uint32_t outer;
	const struct slot *first; /* that was asked for of the yard; NULL: none yet */
	int yard;
	struct loop_source *source;
	bool ready, dead;
	enum hide_how hide;
	struct buf forbidden; /* as cell_forbidden_next reads it */
	struct err err;
	unsigned making, warm;
	unsigned in_vain; /* cells that died unasked for since a program last started */
	struct slot *slots;
	struct kind *next;
};

struct cell_backend_pool {
	struct loop *loop;
	struct cgroup_host *cgroup;
	bool user_ns, landlock;
	bool tried_cgroups, started; /* until then cgroups, and root's user namespaces, are only expected */
	uint64_t cleanup_failures;
	bool told; /* the zygote was asked what it found: user_ns is known */
	bool looked, left_to_init; /* whether process 1 reaps what we leave to it, once we have looked */
	bool troubled; /* something below us did not answer: see to its end */
	int zygote;
	pid_t zygote_pid;
	/* the first of its cells' users outside, for root; 0: they are our own user, or one of `own` */
	uint32_t outer_id;
	struct users_ids own; /* an ordinary user's numbers, if newuidmap maps them */
	int outer_lock;
	uint64_t files_soft, files_hard; /* open files, as we were started */
	uint32_t next_user; /* how many of them were given out */
	unsigned next_slot;
	struct runtime_hold runtime; /* folders that its cells are not shown */
	struct kind *kinds;
};

struct waiting_exec {
	uint32_t id;
	cell_exec_fn *done;
	void *data;
	bool ended; /* with `status`, to be told from the loop */
	int status;
	struct waiting_exec *next;
};

struct cell_backend_run {
	struct slot *slot;
	struct cell_receipt *receipt;
	struct cell_backend_events events;
	struct buf job; /* until it is sent */
	int stdio[3]; /* until then */
	bool started, over, reported, killed;
	bool effects; /* are told, as far as is known */
	struct cell_end end;
	struct err err; /* why it never ran */
	struct loop_source *failing; /* tells so, from the loop */
	struct loop_source *beginning; /* begins it, from the loop */
	int workspace;
	struct waiting_exec *execs;
	struct loop_source *telling_execs; /* of those that ended, from the loop */
	uint32_t next_exec;
};

/* ---- slots.c ---- */

void run_fail(struct cell_backend_run *run, const struct err *err);
void run_free(struct cell_backend_run *run);
/* Takes the descriptors: its pidfd, its listeners. */
void slot_made(struct slot *slot, pid_t pid, int *fds, size_t count);
void slot_unmade(struct slot *slot);
void slot_rest(struct slot *slot); /* it is empty now */
void slot_fail(struct slot *slot, const struct err *err);
void slot_send_job(struct slot *slot, const int *stdio);
void slot_begin_soon(struct slot *slot); /* from the loop: its listeners are handed out, then its job is sent */
struct slot *slot_for_run(struct kind *kind); /* ready, being made for nobody, empty or new */
void kind_pump(struct kind *kind); /* makes what is wanted, and keeps the warm ones up */

bool run_effects(struct cell_backend_run *run); /* tells what waits to be told; false: none are */

/* ---- space.c ---- */

MUST_CHECK int native_space_open(struct cell_backend_pool *pool, uint64_t bytes, uint64_t files, struct cell_space *ret,
	struct err *err);
void native_space_close(struct cell_backend_pool *pool, const struct cell_space *space);

/* ---- kinds.c ---- */

struct kind *kind_get(struct cell_backend_pool *pool, const struct cell_spec *spec, struct err *err);
struct kind *kind_free(struct kind *kind);
/* Whether its cells can have users of their own: not if something is mounted that an ordinary user's
 * rights are needed for. */
bool kind_is_apart(const struct cell_spec *spec);
/* How many there are for its cells; 0: none but our own. */
uint32_t pool_users(const struct cell_backend_pool *pool);
/* Those whose cells are shown the space make no more of them. */
void kinds_leave(struct cell_backend_pool *pool, const struct cell_space *space);
bool slot_listen(struct slot *slot); /* takes a message of the yard that makes its cells; false when there is none */
/* The one that is to make its cells, and as which user. -1: none could be had. */
MUST_CHECK int slot_yard(struct slot *slot, struct err *err);
void slot_close_yard(struct slot *slot);
void slot_yard_hangs(struct slot *slot, const struct err *err); /* the one that makes its cells is of no more use */
void kinds_tidy(struct cell_backend_pool *pool); /* frees those whose yard and cells are gone */
MUST_CHECK int zygote_ensure(struct cell_backend_pool *pool, struct err *err);
void zygote_tell(struct cell_backend_pool *pool); /* of our cgroups, once they are known */
/* What it found while we did other things: waits for it, not for long. False: it has said nothing. */
bool zygote_told(struct cell_backend_pool *pool, bool *ret_user_ns);
void zygote_drop(struct cell_backend_pool *pool);

#endif
