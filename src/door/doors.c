#include "door/doors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/sanitized.h"
#include "base/term.h"
#include "base/weaken.h"
#include "door/doord_image.h"
#include "door/proto.h"

#define CLOSE_NS (2 * NS_PER_S)
#define AGAIN_NS (NS_PER_S / 5) /* before another one is started */
#define READY_MS 10000 /* for the first one */
#define TELL_S 1 /* for one that does not listen */
#define ROOM_SIZE ((size_t)4 << 20) /* for a policy without certificates */
#define SAID_MAX 300

struct doors_run {
	struct doors *doors;
	uint64_t id, number;
	uint32_t index; /* of its totals */
	int log, record, replay, listeners[DOORS_MAX];
	size_t listener_count;
	bool closing;
	struct loop_source *timer;
	doors_closed_fn *fn;
	void *data;
	struct doors_run *next;
};

struct doors {
	struct loop *loop;
	const struct door_policy *policy;
	struct doors_events events;
	int totals_fd, socket; /* socket -1: doord is not there */
	pid_t pid;
	struct door_account *accounts;
	bool *taken; /* entries of accounts */
	struct loop_source *source, *again;
	struct doors_run *runs;
	uint64_t next_id;
	unsigned deaths;
	bool ready;
};

/* ---- starting it ---- */

/* A memory file with the program, executed from there: it needs no path, and cannot be another one. */
static int image_open(struct err *err)
{
	own(fd_closep) int fd = (int)syscall(SYS_memfd_create, "hotcell-doord", MFD_CLOEXEC | 0x0010u /* MFD_EXEC */);
	size_t len = (size_t)(doord_image_end - doord_image);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 every one may be executed */
		fd = memfd_create("hotcell-doord", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "make memory for the process that serves doors");
	for (size_t done = 0; done < len;) {
		ssize_t wrote = write(fd, doord_image + done, len - done);
		if (wrote <= 0)
			return err_errno(err, errno, "make memory for the process that serves doors");
		done += (size_t)wrote;
	}
	return fd_take(&fd);
}

static _Noreturn void become(int image, int control, pid_t parent)
{
	static char *const argv[] = { (char *)(uintptr_t)"hotcell-doord", NULL };
#if SANITIZED
	static char *const envp[] = { (char *)(uintptr_t)"ASAN_OPTIONS=detect_leaks=0", NULL };
	int last = 1; /* its reports are for people */
#else
#ifdef HOTCELL_WEAKEN
	char *const envp[] = { (char *)(uintptr_t)weaken_variable(), NULL };
#else
	static char *const envp[] = { NULL };
#endif
	int last = 2;
#endif
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	for (int i = 0; i <= last; i++)
		(void)dup2(null, i);
	/* high enough to be out of the way of 3 */
	int copy = fcntl(image, F_DUPFD_CLOEXEC, 10), socket = fcntl(control, F_DUPFD_CLOEXEC, 10);
	(void)dup2(socket, DOORD_CONTROL);
	(void)close_range(DOORD_CONTROL + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid(); /* Ctrl-C is the supervisor's to answer */
	(void)syscall(SYS_execveat, copy, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

/* All the room it needs at once: growing would leave credentials behind in memory that was given back. */
static void make_room(const struct door_policy *policy, struct buf *ret)
{
	size_t size = ROOM_SIZE;

	for (size_t i = 0; i < policy->secret_count; i++)
		size += policy->secrets[i].ca_text != NULL ? strlen(policy->secrets[i].ca_text) : 0;
	for (size_t i = 0; i < policy->hidden_count; i++)
		size += strlen(policy->hidden[i]);
	*ret = (struct buf){ .data = xcalloc(size, 1), .cap = size };
}

static int send_policy(const struct doors *doors, struct err *err)
{
	own(buf_done) struct buf bytes = { 0 }, message = { 0 };

	make_room(doors->policy, &bytes);
	policy_encode(doors->policy, &bytes);
	own(fd_closep) int policy = wire_to_memfd(&bytes, err);
	explicit_bzero(bytes.data, bytes.len);
	if (policy < 0)
		return -1;
	const int fds[2] = { policy, doors->totals_fd };
	wire_put_u32(&message, PROTO_POLICY);
	if (wire_send(doors->socket, message.data, message.len, fds, 2) < 0)
		return err_errno(err, errno, "reach the process that serves doors");
	return 0;
}

static int doord_start(struct doors *doors, struct err *err)
{
	own(fd_closep) int image = image_open(err);
	int pair[2];

	if (image < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	pid_t self = getpid();
	doors->pid = fork();
	if (doors->pid == 0)
		become(image, pair[1], self);
	(void)close(pair[1]);
	const struct timeval patience = { TELL_S, 0 };
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	doors->socket = pair[0];
	doors->ready = false;
	for (size_t i = 0; i < PROTO_TOTALS; i++) /* what one that died had reserved was used, for all we know */
		if (doors->taken[i])
			doors->accounts[i].reserved = (struct door_totals){ 0 };
	if (doors->pid < 0)
		return err_errno(err, errno, "start the process that serves doors");
	return send_policy(doors, err);
}

static void doord_drop(struct doors *doors)
{
	doors->source = loop_remove(doors->source);
	fd_close(&doors->socket);
	doors->ready = false;
	if (doors->pid <= 0)
		return;
	(void)kill(doors->pid, SIGKILL);
	(void)waitpid(doors->pid, NULL, 0);
	doors->pid = 0;
}

/* ---- telling it ---- */

static void on_again(void *data);
static void listen_to(struct doors *doors);

static void doord_lost(struct doors *doors)
{
	doord_drop(doors);
	doors->deaths++;
	if (doors->again == NULL)
		doors->again = loop_add_timer(doors->loop, clock_now() + AGAIN_NS * (doors->deaths < 50 ? doors->deaths : 50), on_again, doors);
}

static void tell(struct doors *doors, const struct buf *message, const int *fds, size_t count)
{
	if (doors->socket < 0)
		return; /* it is told everything when it is there again */
	if (wire_send(doors->socket, message->data, message->len, fds, count) == 0)
		return;
	if (errno == EAGAIN)
		doors->events.said(doors->events.data, "the process that serves doors does not listen; another one takes its place");
	doord_lost(doors);
}

static void tell_open(const struct doors_run *run)
{
	own(buf_done) struct buf message = { 0 };
	const struct {
		int fd;
		uint32_t flag;
	} all[] = { { run->log, PROTO_LOG }, { run->record, PROTO_RECORD }, { run->replay, PROTO_REPLAY } };
	uint32_t flags = 0;
	int fds[3];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].fd >= 0) {
			fds[count++] = all[i].fd;
			flags |= all[i].flag;
		}
	if (run->doors->events.verdict != NULL)
		flags |= PROTO_TELL;
	if (run->replay >= 0)
		(void)lseek(run->replay, 0, SEEK_SET); /* an earlier one may have read it */
	wire_put_u32(&message, PROTO_OPEN);
	wire_put_u64(&message, run->id);
	wire_put_u64(&message, run->number);
	wire_put_u32(&message, run->index);
	wire_put_u32(&message, flags);
	tell(run->doors, &message, fds, count);
}

static void tell_run(const struct doors_run *run, enum proto_what what)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, what);
	wire_put_u64(&message, run->id);
	tell(run->doors, &message, run->listeners, what == PROTO_LISTEN ? run->listener_count : 0);
}

/* Another one, with the same policy and all that was given to the one before. */
static void on_again(void *data)
{
	struct doors *doors = data;
	struct err err;

	doors->again = loop_remove(doors->again);
	if (doord_start(doors, &err) < 0) {
		doors->events.said(doors->events.data, err.text);
		doord_lost(doors);
		return;
	}
	listen_to(doors);
}

/* ---- hearing it ---- */

static void run_free(struct doors_run *run)
{
	struct doors_run **at = &run->doors->runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	run->doors->taken[run->index] = false;
	run->timer = loop_remove(run->timer);
	fd_close(&run->log);
	fd_close(&run->record);
	fd_close(&run->replay);
	for (size_t i = 0; i < run->listener_count; i++)
		fd_close(&run->listeners[i]);
	free(run);
}

static void run_closed(struct doors_run *run)
{
	struct door_totals totals;
	doors_closed_fn *fn = run->fn;
	void *data = run->data;

	doors_run_totals(run, &totals);
	run_free(run);
	if (fn != NULL)
		fn(data, &totals);
}

static void heard_closed(struct doors *doors, uint64_t id)
{
	for (struct doors_run *run = doors->runs; run != NULL; run = run->next)
		if (run->id == id && run->closing) {
			doors->deaths = 0;
			run_closed(run);
			return;
		}
}

static void heard_spent(struct doors *doors, uint64_t number, uint32_t kind, uint64_t short_of, bool over)
{
	const struct door_budget *budget = number == 0 ? &doors->policy->budget : &doors->policy->run_budget;
	own(buf_done) struct buf sentence = { 0 };
	struct door_totals most = { 0 };

	if (kind >= BUDGET_KINDS)
		return;
	struct door_account account = doors->accounts[0];
	for (const struct doors_run *run = doors->runs; run != NULL && number != 0; run = run->next)
		if (run->number == number)
			account = doors->accounts[run->index];
	most.count[kind == BUDGET_MICRODOLLARS ? COUNT_MICRODOLLARS : COUNT_TOKENS_IN] = short_of;
	if (short_of > 0)
		budget_short_sentence(budget, &account, (enum budget_kind)kind, &most, &sentence);
	else
		budget_sentence(budget, &account.used, (enum budget_kind)kind, &sentence);
	doors->events.spent(doors->events.data, number, buf_text(&sentence), over);
}

const char *const doors_judged_names[] = {
	[DOORS_ALLOWED] = "allowed", [DOORS_REFUSED] = "refused", [DOORS_FAILED] = "failed", [DOORS_CUT] = "cut off",
};

static const char *get_text(struct wire_reader *reader)
{
	const char *text = wire_get_str(reader);

	return text == NULL ? "" : text;
}

/* Of a run that is over nobody wants to know: it was closed without waiting. */
static void heard_verdict(struct doors *doors, struct wire_reader *reader)
{
	uint64_t id = wire_get_u64(reader);
	uint32_t judged = wire_get_u32(reader);
	struct doors_verdict verdict = { .judged = (enum doors_judged)judged, .port = wire_get_u32(reader) };
	const struct doors_run *run = doors->runs;

	verdict.door = get_text(reader);
	verdict.name = get_text(reader);
	verdict.reason = get_text(reader);
	verdict.rule = get_text(reader);
	verdict.request = get_text(reader);
	while (run != NULL && run->id != id)
		run = run->next;
	if (run != NULL && !reader->bad && judged < DOORS_JUDGED_COUNT && doors->events.verdict != NULL)
		doors->events.verdict(doors->events.data, run->number, &verdict);
}

static void heard_failed(struct doors *doors, struct wire_reader *reader)
{
	uint32_t code = wire_get_u32(reader);
	const char *text = wire_get_str(reader);
	own(buf_done) struct buf shown = { 0 };
	struct err err;

	text = text == NULL || reader->bad ? "" : text;
	term_line(text, strlen(text), SAID_MAX, &shown); /* nothing it says is believed to be fit for a terminal */
	(void)err_set(&err, (int)code, "doors cannot be served: %s", buf_text(&shown));
	doors->events.said(doors->events.data, err.text);
	doord_lost(doors);
}

static void on_word(void *data, int fd, uint32_t events)
{
	struct doors *doors = data;
	char message[PROTO_MESSAGE_MAX];
	size_t count = 0;
	ssize_t len = wire_recv(fd, message, sizeof(message), NULL, 0, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		if (doors->ready)
			doors->events.said(doors->events.data, "the process that serves doors died; another one takes its place");
		doord_lost(doors);
		return;
	}
	switch (wire_get_u32(&reader)) {
	case PROTO_READY: doors->ready = true; break;
	case PROTO_FAILED: heard_failed(doors, &reader); break;
	case PROTO_CLOSED: heard_closed(doors, wire_get_u64(&reader)); break;
	case PROTO_SPENT: {
		uint64_t number = wire_get_u64(&reader);
		uint32_t kind = wire_get_u32(&reader);
		uint64_t short_of = wire_get_u64(&reader);
		uint32_t over = wire_get_u32(&reader);
		if (!reader.bad)
			heard_spent(doors, number, kind, short_of, over != 0);
		break;
	}
	case PROTO_VERDICT: heard_verdict(doors, &reader); break;
	default: break;
	}
}

static void listen_to(struct doors *doors)
{
	doors->source = loop_add_fd(doors->loop, doors->socket, EPOLLIN, on_word, doors);
	for (const struct doors_run *run = doors->runs; run != NULL; run = run->next) {
		if (run->closing)
			continue;
		tell_open(run);
		tell_run(run, PROTO_LISTEN);
	}
}

/* ---- life ---- */

/* What is wrong with the first one is an error of whoever asked for doors. */
static int await_ready(struct doors *doors, struct err *err)
{
	char message[PROTO_MESSAGE_MAX];
	size_t count = 0;
	const struct timeval patience = { READY_MS / 1000, 0 }, for_ever = { 0, 0 };

	(void)setsockopt(doors->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ssize_t len = wire_recv(doors->socket, message, sizeof(message), NULL, 0, &count, 0);
	(void)setsockopt(doors->socket, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever));
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	uint32_t what = len > 0 ? wire_get_u32(&reader) : 0;
	if (what == PROTO_FAILED) {
		uint32_t code = wire_get_u32(&reader);
		const char *text = wire_get_str(&reader);
		return err_set(err, (int)code, "%s", text == NULL ? "doors cannot be served" : text);
	}
	if (what != PROTO_READY)
		return err_set(err, EIO, "the process that serves doors does not start");
	doors->ready = true;
	return 0;
}

static int totals_make(struct doors *doors, const struct door_totals *before, struct err *err)
{
	size_t len = PROTO_TOTALS * sizeof(*doors->accounts);

	doors->totals_fd = memfd_create("hotcell-totals", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* sealed, or whoever made it shorter would end us where we read it */
	if (doors->totals_fd < 0 || ftruncate(doors->totals_fd, (off_t)len) < 0 ||
		fcntl(doors->totals_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_errno(err, errno, "make shared memory");
	doors->accounts = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, doors->totals_fd, 0);
	if (doors->accounts == MAP_FAILED) {
		doors->accounts = NULL;
		return err_errno(err, errno, "map shared memory");
	}
	(void)madvise(doors->accounts, len, MADV_DONTFORK); /* no cell's business */
	doors->taken = xcalloc(PROTO_TOTALS, sizeof(*doors->taken));
	doors->taken[0] = true;
	if (before != NULL)
		doors->accounts[0].used = *before;
	return 0;
}

struct doors *doors_open(struct loop *loop, const struct door_policy *policy, const struct door_totals *before,
	const struct doors_events *events, struct err *err)
{
	struct doors *doors = xcalloc(1, sizeof(*doors));

	*doors = (struct doors){ .loop = loop, .policy = policy, .events = *events, .totals_fd = -1, .socket = -1 };
	if (totals_make(doors, before, err) < 0 || doord_start(doors, err) < 0 || await_ready(doors, err) < 0) {
		(void)err_wrap(err, "open doors");
		return doors_free(doors);
	}
	listen_to(doors);
	return doors;
}

void doors_renew(struct doors *doors)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, PROTO_BUDGET);
	for (size_t i = 0; i < BUDGET_KINDS; i++)
		wire_put_u64(&message, doors->policy->budget.limit[i]);
	tell(doors, &message, NULL, 0);
}

struct doors *doors_free(struct doors *doors)
{
	if (doors == NULL)
		return NULL;
	while (doors->runs != NULL)
		run_free(doors->runs);
	doors->again = loop_remove(doors->again);
	doord_drop(doors);
	if (doors->accounts != NULL)
		(void)munmap(doors->accounts, PROTO_TOTALS * sizeof(*doors->accounts));
	fd_close(&doors->totals_fd);
	free(doors->taken);
	free(doors);
	return NULL;
}

/* ---- runs ---- */

static int copy_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

struct doors_run *doors_run_open(struct doors *doors, uint64_t number,
	const struct door_totals *before, int log, int record, int replay)
{
	struct doors_run *run = xcalloc(1, sizeof(*run));
	uint32_t index = 1;

	while (index < PROTO_TOTALS - 1 && doors->taken[index])
		index++;
	*run = (struct doors_run){ .doors = doors, .id = ++doors->next_id, .number = number, .index = index, .log = copy_fd(log),
		.record = copy_fd(record), .replay = copy_fd(replay), .next = doors->runs };
	doors->taken[index] = true;
	memset(&doors->accounts[index], 0, sizeof(doors->accounts[index]));
	if (before != NULL)
		doors->accounts[index].used = *before;
	doors->runs = run;
	tell_open(run);
	return run;
}

void doors_run_listen(struct doors_run *run, const int *fds, size_t count)
{
	for (size_t i = 0; i < count && run->listener_count < DOORS_MAX; i++)
		run->listeners[run->listener_count++] = copy_fd(fds[i]);
	tell_run(run, PROTO_LISTEN);
}

static void on_silence(void *data)
{
	struct doors_run *run = data;
	struct doors *doors = run->doors;

	run->timer = loop_remove(run->timer);
	run_closed(run);
	if (doors->socket >= 0) { /* it hangs: nothing of a dead cell shall stay open */
		doors->events.said(doors->events.data, "the process that serves doors does not answer; another one takes its place");
		doord_lost(doors);
	}
}

void doors_run_close(struct doors_run *run, doors_closed_fn *fn, void *data)
{
	run->closing = true;
	run->fn = fn;
	run->data = data;
	for (size_t i = 0; i < run->listener_count; i++)
		fd_close(&run->listeners[i]);
	run->listener_count = 0;
	bool there = run->doors->socket >= 0;
	tell_run(run, PROTO_CLOSE);
	if (fn == NULL) {
		run_free(run);
		return;
	}
	run->timer = loop_add_timer(run->doors->loop, clock_now() + (there ? CLOSE_NS : 0), on_silence, run);
}

void doors_run_totals(const struct doors_run *run, struct door_totals *ret)
{
	*ret = run->doors->accounts[run->index].used;
}

void doors_totals(const struct doors *doors, struct door_totals *ret)
{
	*ret = doors->accounts[0].used;
}

/* ---- for people ---- */

static void list_door(struct json *json, const char *name, const char *kind, const char *target)
{
	json_open(json, '{');
	json_put_string(json, "name", name);
	json_put_string(json, "kind", kind);
	json_put_string(json, "target", target);
	json_close(json, '}');
}

static void list_totals(struct json *json, const struct door_totals *totals)
{
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		json_put_uint(json, door_count_names[i], totals->count[i]);
}

/* As part of the others: for requests under way. */
static void list_reserved(struct json *json, const struct door_account *account)
{
	const uint64_t *count = account->reserved.count;

	json_put_uint(json, "reserved_tokens", count[COUNT_TOKENS_IN] + count[COUNT_TOKENS_OUT]);
	json_put_uint(json, "reserved_microdollars", count[COUNT_MICRODOLLARS]);
}

static void list_run(struct json *json, const struct doors_run *run)
{
	struct door_totals totals;

	doors_run_totals(run, &totals);
	json_open(json, '{');
	json_put_uint(json, "run", run->number);
	list_totals(json, &totals);
	list_reserved(json, &run->doors->accounts[run->index]);
	json_close(json, '}');
}

void doors_list(const struct doors *doors, struct json *json)
{
	const struct door_policy *policy = doors->policy;
	struct door_totals totals;

	doors_totals(doors, &totals);
	json_open(json, '{');
	json_put_bool(json, "served", doors->ready);
	json_key(json, "doors");
	json_open(json, '[');
	for (size_t i = 0; i < policy->rules.count; i++) {
		own(buf_done) struct buf rule = { 0 };
		rule_text(&policy->rules.items[i], &rule);
		list_door(json, "proxy", "allow", buf_text(&rule));
	}
	for (size_t i = 0; i < policy->service_count; i++) {
		const struct door_target *target = &policy->services[i].target;
		own(freep) char *inside = xfmt("%s:%u", policy->services[i].name, policy->services[i].port);
		own(freep) char *outside = target->path != NULL ? xfmt("unix:%s", target->path) :
			
			strchr(target->host, ':') != NULL ? xfmt("[%s]:%u", target->host, target->port) :
							    xfmt("%s:%u", target->host, target->port);
		list_door(json, inside, "service", outside);
	}
	for (size_t i = 0; i < policy->secret_count; i++) {
		const struct secret_door *secret = &policy->secrets[i];
		own(freep) char *inside = xfmt("http://%s.door", secret->name);
		own(freep) char *outside = xfmt("%s://%s:%u%s", secret->tls ? "https" : "http", secret->host, secret->port, secret->path);
		list_door(json, inside, "secret", outside);
	}
	json_close(json, ']');
	json_key(json, "totals");
	json_open(json, '{');
	list_totals(json, &totals);
	list_reserved(json, &doors->accounts[0]);
	json_close(json, '}');
	json_key(json, "runs");
	json_open(json, '[');
	for (const struct doors_run *run = doors->runs; run != NULL; run = run->next)
		list_run(json, run);
	json_close(json, ']');
	json_close(json, '}');
}
