/* The supervisor's control socket.
 *
 * One request, one answer; a client that sends nonsense, does not read its answers or is idle for long
 * is closed. Who can connect is our user or root and could do worse than talk to us, but a bug in one
 * of our own clients must not take the supervisor, and with it its cells, down. */
#include "live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "base/wire.h"
#include "live/proto.h"

#define MAX_CLIENTS 64
#define OPEN_TRIES 5
#define IDLE_NS (30 * NS_PER_S)
#define FOLLOW_NS (50 * NS_PER_MS) /* how often a follower's cell is looked at */
#define LIST_PAGE (24 << 10)

struct entry {
	struct cell *cell;
	char *command;
	struct entry *next;
};

struct exec_wait;

struct client {
	struct live *live;
	int fd;
	struct loop_source *source, *timer;
	struct exec_wait *exec; /* running for it */
	const struct entry *follows; /* waits for more of its output */
	uint64_t offset;
	struct client *next, *prev;
};

/* Outlives its client and the whole of `live` if need be: the cell calls back once. */
struct exec_wait {
	struct live_execs execs;
	char *cell;
	struct client *client; /* NULL when it left */
};

struct live {
	struct loop *loop;
	int folder_fd, listen_fd;
	bool bound;
	char *folder, *path;
	char name[24];
	struct loop_source *source;
	struct entry *entries;
	struct client *clients;
	unsigned client_count;
	live_doors_fn *doors; /* NULL: there are none */
	void *doors_data;
	struct live_execs execs;
};

/* ---- clients ---- */

static void client_close(struct client *client)
{
	client->timer = loop_remove(client->timer);
	client->source = loop_remove(client->source);
	fd_close(&client->fd);
	if (client->exec)
		client->exec->client = NULL;
	if (client->next)
		client->next->prev = client->prev;
	if (client->prev)
		client->prev->next = client->next;
	else
		client->live->clients = client->next;
	client->live->client_count--;
	free(client);
}

static void on_idle(void *data)
{
	client_close(data);
}

static void client_set_timer(struct client *client, uint64_t wait_ns, loop_timer_fn *fn)
{
	client->timer = loop_remove(client->timer);
	client->timer = loop_add_timer(client->live->loop, clock_now() + wait_ns, fn, client);
}

/* Answers are smaller than any socket buffer: one that does not fit was not awaited. */
static void client_answer(struct client *client, const struct buf *answer)
{
	if (wire_send(client->fd, answer->data, answer->len, NULL, 0) < 0)
		client_close(client);
	else
		client_set_timer(client, IDLE_NS, on_idle);
}

static void client_refuse(struct client *client, const struct err *err)
{
	own(buf_done) struct buf answer = {0};
	wire_put_u32(&answer, err->code ? (uint32_t)err->code : EINVAL);
	wire_put_str(&answer, err->text);
	client_answer(client, &answer);
}

static struct entry *client_entry(struct client *client, const char *id)
{
	struct err err = {0};
	for (struct entry *entry = client->live->entries; entry; entry = entry->next)
		if (id && strcmp(cell_id(entry->cell), id) == 0)
			return entry;
	(void)err_set(&err, ESRCH, "the cell is over");
	client_refuse(client, &err);
	return NULL;
}

/* ---- what they ask ---- */

static void put_entry(struct buf *answer, const struct entry *entry)
{
	wire_put_str(answer, cell_id(entry->cell));
	wire_put_str(answer, entry->command);
	wire_put_str(answer, cell_receipt(entry->cell)->backend);
	wire_put_u32(answer, (uint32_t)cell_pid(entry->cell));
	wire_put_u64(answer, cell_age_ns(entry->cell));
	wire_put_u64(answer, cell_memory(entry->cell));
	wire_put_u64(answer, cell_printed(entry->cell));
}

static void do_list(struct client *client, struct wire_reader *reader)
{
	own(buf_done) struct buf answer = {0};
	own(buf_done) struct buf cells = {0};
	uint32_t from = wire_get_u32(reader), index = 0, count = 0;
	struct entry *entry = client->live->entries;
	for (; entry && index < from; entry = entry->next)
		index++;
	for (; entry && cells.len < LIST_PAGE; entry = entry->next, count++)
		put_entry(&cells, entry);
	wire_put_u32(&answer, 0);
	wire_put_u32(&answer, entry != NULL);
	wire_put_u32(&answer, count);
	buf_add(&answer, cells.data, cells.len);
	client_answer(client, &answer);
}

static void do_kill(struct client *client, struct wire_reader *reader)
{
	own(buf_done) struct buf answer = {0};
	struct entry *entry = client_entry(client, wire_get_str(reader));
	if (!entry)
		return;
	cell_cancel(entry->cell);
	wire_put_u32(&answer, 0);
	client_answer(client, &answer);
}

static void answer_tail(struct client *client, const struct entry *entry, uint64_t offset, bool over)
{
	own(buf_done) struct buf answer = {0};
	own(buf_done) struct buf tail = {0};
	uint64_t printed = cell_printed(entry->cell);
	cell_tail(entry->cell, &tail);
	uint64_t fresh = printed > offset ? printed - offset : 0;
	size_t len = fresh < tail.len ? (size_t)fresh : tail.len;
	if (len > LIVE_TAIL_MAX)
		len = LIVE_TAIL_MAX;
	wire_put_u32(&answer, 0);
	wire_put_u32(&answer, over);
	wire_put_u64(&answer, printed);
	wire_put_u32(&answer, (uint32_t)len);
	if (len > 0)
		buf_add(&answer, tail.data + tail.len - len, len);
	client->follows = NULL;
	client_answer(client, &answer);
}

static void on_follow(void *data)
{
	struct client *client = data;
	if (cell_printed(client->follows->cell) > client->offset)
		answer_tail(client, client->follows, client->offset, false);
	else
		client_set_timer(client, FOLLOW_NS, on_follow);
}

static void do_tail(struct client *client, struct wire_reader *reader)
{
	const char *id = wire_get_str(reader);
	uint64_t offset = wire_get_u64(reader);
	bool wait = wire_get_u32(reader) != 0;
	struct entry *entry = client_entry(client, id);
	if (!entry)
		return;
	if (!wait || cell_printed(entry->cell) > offset) {
		answer_tail(client, entry, offset, false);
		return;
	}
	client->follows = entry;
	client->offset = offset;
	client_set_timer(client, FOLLOW_NS, on_follow);
}

static void on_exec_done(void *data, int wait_status, const struct err *err);

static void exec_wait_freep(struct exec_wait **exec)
{
	free((*exec)->cell);
	free(*exec);
}

static int asker_of(const struct client *client)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	return getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

/* Those who are to know of it are told first. */
static int exec_start(struct exec_wait *exec, struct cell *cell, const char *const *argv, const char *const *env,
	const int fds[3], bool tty, struct err *err)
{
	const struct live_execs *execs = &exec->execs;
	if (execs->begins && execs->begins(execs->data, exec->cell, asker_of(exec->client), argv, err) < 0)
		return -1;
	if (cell_exec(cell, argv, env, fds, tty, on_exec_done, exec, err) == 0)
		return 0;
	if (execs->ended)
		execs->ended(execs->data, exec->cell, 0, err);
	return -1;
}

static void on_exec_done(void *data, int wait_status, const struct err *err)
{
	own(exec_wait_freep) struct exec_wait *exec = data;
	own(buf_done) struct buf answer = {0};
	struct client *client = exec->client;
	if (exec->execs.ended)
		exec->execs.ended(exec->execs.data, exec->cell, wait_status, err);
	if (!client)
		return;
	client->exec = NULL;
	if (err) {
		client_refuse(client, err);
		return;
	}
	wire_put_u32(&answer, 0);
	wire_put_u32(&answer, (uint32_t)wait_status);
	client_answer(client, &answer);
}

/* argv and env come in a memory file. Their strings point into `ret_text`. */
static int read_command(int fd, struct buf *ret_text, const char ***ret_argv, const char ***ret_env, struct err *err)
{
	if (wire_from_memfd(fd, LIVE_EXEC_MAX, ret_text, err) < 0)
		return -1;
	struct wire_reader reader = {.data = ret_text->data, .len = ret_text->len};
	*ret_argv = wire_get_list(&reader, CELL_MAX_ARGS);
	*ret_env = wire_get_list(&reader, CELL_MAX_ARGS);
	if (reader.bad)
		return err_set(err, EINVAL, "the command could not be read");
	return 0;
}

static void do_exec(struct client *client, struct wire_reader *reader, const int *fds, size_t fd_count)
{
	own(buf_done) struct buf text = {0};
	own(freep) const char **argv = NULL;
	own(freep) const char **env = NULL;
	struct err err = {0};
	const char *id = wire_get_str(reader);
	bool tty = wire_get_u32(reader) != 0;
	struct entry *entry = client_entry(client, id);
	if (!entry)
		return;
	if (reader->bad || fd_count != LIVE_EXEC_FDS) {
		(void)err_set(&err, EINVAL, "the request has not the descriptors it needs");
		client_refuse(client, &err);
		return;
	}
	struct exec_wait *exec = xcalloc(1, sizeof(*exec));
	*exec = (struct exec_wait){.client = client, .execs = client->live->execs, .cell = xstrdup(cell_id(entry->cell))};
	if (read_command(fds[0], &text, &argv, &env, &err) < 0 ||
		exec_start(exec, entry->cell, argv, env, fds + 1, tty, &err) < 0) {
		exec_wait_freep(&exec);
		client_refuse(client, &err);
		return;
	}
	client->exec = exec;
	client->timer = loop_remove(client->timer);
}

static void do_doors(struct client *client)
{
	const struct live *live = client->live;
	own(json_done) struct json json = {0};
	own(buf_done) struct buf answer = {0};
	struct err err = {0};
	if (live->doors)
		live->doors(live->doors_data, &json);
	own(fd_closep) int file = live->doors ? wire_to_memfd(&json.out, &err) : -1;
	if (live->doors && file < 0) {
		client_refuse(client, &err);
		return;
	}
	wire_put_u32(&answer, 0);
	wire_put_u32(&answer, file >= 0);
	if (wire_send(client->fd, answer.data, answer.len, &file, file >= 0) < 0)
		client_close(client);
	else
		client_set_timer(client, IDLE_NS, on_idle);
}

static void client_serve(struct client *client, struct wire_reader *reader, const int *fds, size_t fd_count)
{
	uint32_t version = wire_get_u32(reader), what = wire_get_u32(reader);
	struct err err = {0};
	if (version != LIVE_VERSION || what >= LIVE_WHAT_COUNT) {
		(void)err_set(&err, EPROTO, "this supervisor is of another version of hotcell");
		client_refuse(client, &err);
		return;
	}
	switch ((enum live_what)what) {
	case LIVE_LIST: do_list(client, reader); return;
	case LIVE_KILL: do_kill(client, reader); return;
	case LIVE_TAIL: do_tail(client, reader); return;
	case LIVE_EXEC: do_exec(client, reader, fds, fd_count); return;
	case LIVE_DOORS: do_doors(client); return;
	case LIVE_WHAT_COUNT: return;
	}
}

static void on_client(void *data, int fd, uint32_t events)
{
	struct client *client = data;
	char request[LIVE_REQUEST_MAX];
	int fds[LIVE_EXEC_FDS];
	size_t fd_count = 0;
	(void)events;
	ssize_t got = wire_recv(fd, request, sizeof(request), fds, LIVE_EXEC_FDS, &fd_count, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return;
	/* A request while another is being served is no client of ours. */
	if (got <= 0 || client->exec || client->follows) {
		client_close(client);
	} else {
		struct wire_reader reader = {.data = request, .len = (size_t)got};
		client_serve(client, &reader, fds, fd_count);
	}
	for (size_t i = 0; i < fd_count; i++)
		fd_close(&fds[i]);
}

static void on_connect(void *data, int fd, uint32_t events)
{
	struct live *live = data;
	(void)events;
	own(fd_closep) int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (peer < 0 || !live_peer_is_ours(peer) || live->client_count >= MAX_CLIENTS)
		return;
	struct client *client = xcalloc(1, sizeof(*client));
	client->live = live;
	client->fd = fd_take(&peer);
	client->next = live->clients;
	if (client->next)
		client->next->prev = client;
	live->clients = client;
	live->client_count++;
	client->source = loop_add_fd(live->loop, client->fd, EPOLLIN, on_client, client);
	if (!client->source)
		client_close(client);
	else
		client_set_timer(client, IDLE_NS, on_idle);
}

/* ---- the socket ---- */

/* The first folder that can be had. */
static int open_folder(struct live *live, struct err *err)
{
	char *path;
	for (unsigned i = 0; live->folder_fd < 0 && (path = runtime_folder(i)); i++) {
		if (path[0] && (live->folder_fd = runtime_folder_open(path, true, err)) >= 0) {
			live->path = xfmt("%s/%s", path, live->name);
			live->folder = ptr_take(&path);
		}
		free(path);
	}
	return live->folder_fd < 0 ? -1 : 0;
}

static int listen_there(struct live *live, struct err *err)
{
	struct sockaddr_un address = live_address(live->folder_fd, live->name);
	live->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (live->listen_fd < 0)
		return err_errno(err, errno, "make a control socket");
	/* What bears our pid was left by a process that is no more. */
	(void)unlinkat(live->folder_fd, live->name, 0);
	/* The folder is closed to others; the mode says it once more. Other umasks are not ours to change. */
	if (fchmod(live->listen_fd, 0600) < 0 ||
		bind(live->listen_fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, errno, "bind the control socket '%s'", live->path);
	live->bound = true;
	if (listen(live->listen_fd, 16) < 0)
		return err_errno(err, errno, "listen on the control socket '%s'", live->path);
	live->source = loop_add_fd(live->loop, live->listen_fd, EPOLLIN, on_connect, live);
	return live->source ? 0 : err_errno(err, errno, "wait on the control socket");
}

static struct live *open_once(struct loop *loop, struct err *err)
{
	struct live *live = xcalloc(1, sizeof(*live));
	live->loop = loop;
	live->folder_fd = live->listen_fd = -1;
	(void)snprintf(live->name, sizeof(live->name), "%d.sock", (int)getpid());
	if (open_folder(live, err) < 0 || listen_there(live, err) < 0)
		return live_free(live);
	runtime_folder_sweep(live->folder_fd);
	return live;
}

/* Who leaves last removes the folder, and may do so between our opening it and our socket in it. */
struct live *live_open(struct loop *loop, struct err *err)
{
	struct live *live = NULL;
	for (int i = 0; i < OPEN_TRIES && !live; i++) {
		live = open_once(loop, err);
		if (!live && err->code != ENOENT)
			break;
	}
	return live;
}

void live_set_execs(struct live *live, const struct live_execs *execs)
{
	live->execs = *execs;
}

struct live *live_free(struct live *live)
{
	if (!live)
		return NULL;
	while (live->entries)
		live_remove(live, live->entries->cell);
	while (live->clients)
		client_close(live->clients);
	live->source = loop_remove(live->source);
	if (live->bound)
		(void)unlinkat(live->folder_fd, live->name, 0);
	fd_close(&live->listen_fd);
	fd_close(&live->folder_fd);
	if (live->folder)
		(void)rmdir(live->folder); /* if no other has a socket there */
	free(live->folder);
	free(live->path);
	free(live);
	return NULL;
}

const char *live_path(const struct live *live)
{
	return live->path;
}

void live_set_doors(struct live *live, live_doors_fn *fn, void *data)
{
	live->doors = fn;
	live->doors_data = data;
}

/* ---- cells ---- */

static char *command_text(const char *const *argv)
{
	struct buf text = {0};
	for (size_t i = 0; argv && argv[i] && text.len < LIVE_COMMAND_MAX; i++) {
		if (i > 0)
			buf_char(&text, ' ');
		buf_add(&text, argv[i], strnlen(argv[i], LIVE_COMMAND_MAX));
	}
	if (text.len > LIVE_COMMAND_MAX)
		text.data[LIVE_COMMAND_MAX] = '\0';
	return text.data ? buf_take(&text) : xstrdup("");
}

void live_add(struct live *live, struct cell *cell, const char *const *argv)
{
	struct entry **at = &live->entries;
	struct entry *entry = xcalloc(1, sizeof(*entry));
	entry->cell = cell;
	entry->command = command_text(argv);
	while (*at)
		at = &(*at)->next;
	*at = entry;
}

static void tell_followers(struct live *live, const struct entry *entry)
{
	for (struct client *client = live->clients, *next; client; client = next) {
		next = client->next;
		if (client->follows == entry)
			answer_tail(client, entry, client->offset, true);
	}
}

void live_remove(struct live *live, const struct cell *cell)
{
	for (struct entry **at = &live->entries; *at; at = &(*at)->next) {
		struct entry *entry = *at;
		if (entry->cell != cell)
			continue;
		tell_followers(live, entry);
		*at = entry->next;
		free(entry->command);
		free(entry);
		return;
	}
}
