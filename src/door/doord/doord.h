/* doord's inside: what its files share. */
#ifndef HOTCELL_DOOR_DOORD_DOORD_H
#define HOTCELL_DOOR_DOORD_DOORD_H

#include "base/json.h"
#include "base/loop.h"
#include "net/dial.h"
#include "door/doors.h"
#include "door/policy/exchange.h"
#include "door/policy/policy.h"
#include "net/relay.h"
#include "redact/scrub.h"

#define CONNS_MAX 1024 /* of one run at a time; the others wait in its backlog */
#define HEAD_NS (10 * NS_PER_S) /* for everything before bytes pass: a request's head, the client's hello */
#define IDLE_NS (600 * NS_PER_S) /* without a byte either way */

struct tls; /* see tls.h */
struct conn;

struct doord {
	struct loop *loop;
	int control;
	struct loop_source *control_source, *sweep, *writing;
	struct door_policy policy;
	struct door_account *accounts; /* shared; PROTO_TOTALS of them, the first of all together */
	struct resolver *resolver;
	struct scrub_words *words; /* credentials: nothing that goes to a cell has them */
	struct scrub_words *log_words; /* and what else no record may hold */
	struct tls **tls; /* one for each secret door; NULL where it has none */
	struct door_run *runs;
	size_t run_count;
	size_t files; /* descriptors we may have */
	bool told_spent, told_short;
	bool unheard; /* the supervisor does not read: see doord_say */
	bool over;
};

struct open_listener { /* a listener */
	int fd;
	struct loop_source *source;
	struct door_run *run;
	size_t index; /* as in policy_listeners */
};

struct door_run {
	struct doord *doord;
	uint64_t id, number;
	struct door_account *account; /* shared */
	struct open_listener listeners[DOORS_MAX];
	size_t listener_count;
	int log, record;
	struct buf lines; /* of the record, not yet written: see run_write */
	uint64_t log_len;
	bool log_is_file;
	uint64_t lines_lost; /* of a log that is a pipe, since it was last written to */
	struct exchange_book book; /* to answer from */
	struct conn *conns;
	size_t conn_count;
	size_t shaking; /* of them: those that begin TLS, see secret.c */
	bool told_spent, told_short, deaf;
	size_t held; /* bytes of requests that wait until they are whole: see hold.c */
	bool tell; /* the supervisor wants each verdict */
	struct door_run *next;
};

/* What each sort of door does. */
struct door_kind {
	void (*accepted)(struct conn *conn);
	void (*late)(struct conn *conn); /* its deadline has passed; NULL: it is ended */
	void (*ending)(struct conn *conn); /* before its line of the record; may be NULL */
	void (*freed)(struct conn *conn); /* its own part goes; may be NULL */
	void (*describe)(const struct conn *conn, struct json *json); /* more for the record; may be NULL */
	void (*asked)(const struct conn *conn, struct buf *ret); /* what was asked for, without what is secret; may be NULL */
};
extern const struct door_kind door_proxy, door_service, door_secret;

enum verdict { VERDICT_NONE, VERDICT_ALLOWED, VERDICT_REFUSED, VERDICT_FAILED };

/* One connection of a cell. */
struct conn {
	struct door_run *run;
	struct conn *next, **link;
	const struct door_kind *kind;
	const char *door; /* its name */
	const struct door_service *service;
	const struct secret_door *secret;
	size_t secret_index;
	int client, far; /* -1: none yet */
	struct loop_source *source, *far_source; /* until it is relayed */
	struct dial *dial;
	struct relay *relay;
	struct buf head; /* what the client sent first */
	void *own; /* the kind's */
	char host[HOST_MAX + 1];
	unsigned port;
	enum verdict verdict;
	const struct door_rule *rule; /* that allows it; NULL: none */
	char reason[120];
	bool cut;
	uint64_t since_ns, since_ms, deadline_ns;
	uint64_t sent, received;
	size_t discarded; /* while it lingers */
	bool lingering;
};

/* ---- conn.c ---- */

struct conn *conn_new(struct door_run *run, size_t listener, int client);
/* Ends it and writes its line of the record. */
void conn_free(struct conn *conn);
/* A member of its line in the record, without what is secret; *text is changed. */
void conn_put_text(const struct conn *conn, struct json *json, const char *key, struct buf *text);
/* What was allowed does not go on: for the record, and told. */
void conn_cut(struct conn *conn, const char *reason);
/* The verdict, for the record and the totals, and told. The first that refuses or fails stays. */
void conn_judged(struct conn *conn, enum verdict verdict, const char *reason);
/* Bytes passed. False: a budget is used up, and nothing more shall pass. */
bool conn_passed(struct conn *conn, size_t sent, size_t received);
/* Whether anything may begin; else why (the sentence, for the answer), and the verdict is set. */
bool conn_may_begin(struct conn *conn, struct buf *ret_sentence);
/* Reserves the most that a request can cost, in the accounts of its run and of all. False: too little is left; the
 * sentence, and whether there may be more when requests under way are over. */
bool conn_reserve(struct conn *conn, const struct door_totals *most, struct buf *ret_sentence, bool *ret_retry);
/* An answer made up by us, with this body as text (or JSON, where it begins with '{'); then the connection lingers until the client has read it. */
void conn_answer(struct conn *conn, unsigned status, const char *body);
/* Sends what is whole by itself and ends. */
void conn_linger(struct conn *conn);
/* Reads into conn->head. 1: there is more; 0: nothing now; -1: the client has gone (conn is freed). */
int conn_read(struct conn *conn, size_t max);
/* How many bytes may wait for one side of it: of a run with many connections fewer each. */
size_t conn_room(const struct conn *conn);
void conn_relay(struct conn *conn, const char *sent, size_t len, size_t (*gate)(void *, const char *, size_t));
void run_hear(struct door_run *run); /* listens or not, as it may have more connections */
void run_deafen(struct door_run *run, bool deaf);
void run_write(struct door_run *run); /* what is left of its record */

/* ---- doord.c ---- */

void doord_write_soon(struct doord *doord); /* the records of all runs */
/* A verdict. Without effect if the supervisor does not hear us: it finds from the totals that some were not told. */
void doord_say(struct doord *doord, const struct buf *message);
/* short_of: what a request that was refused may cost; 0: it is used up. over: there is no use in asking for more. */
void doord_spent(struct doord *doord, uint64_t number, enum budget_kind kind, uint64_t short_of, bool over);
int doord_main(void);

/* ---- confine.c ---- */

/* Takes away everything but sockets. */
MUST_CHECK int confine(struct err *err);

#endif
