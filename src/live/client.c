/* The asking side. Answers come from our own user's processes, but are read as if they did not. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/runtime.h"
#include "base/wire.h"
#include "live/live.h"
#include "live/proto.h"

#define ANSWER_S 3
#define MAX_CELLS 100000
#define STALE_S 60

/* ---- asking ---- */

static int live_connect(int folder, const char *name, struct err *err)
{
	struct sockaddr_un address = live_address(folder, name);
	struct timeval wait = {.tv_sec = ANSWER_S};
	own(fd_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(err, errno, "make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, errno, "reach the supervisor at '%s'", name);
	if (!live_peer_is_ours(fd))
		return err_set(err, EPERM, "'%s' belongs to somebody else's process, or to one in a cell or another pid namespace: it is not spoken to",
			name);
	return fd_take(&fd);
}

static int connect_cell(const struct live_cell *cell, struct err *err)
{
	own(fd_closep) int folder = runtime_folder_open(cell->folder, false, err);
	if (folder < 0)
		return -1;
	int fd = live_connect(folder, cell->socket, err);
	if (fd < 0 && (err->code == ECONNREFUSED || err->code == ENOENT))
		return err_set(err, ESRCH, "cell %s is over", cell->id);
	return fd;
}

static int send_request(int fd, const struct buf *request, const int *fds, size_t count, struct err *err)
{
	if (wire_send(fd, request->data, request->len, fds, count) < 0)
		return err_errno(err, errno, "ask the supervisor");
	return 0;
}

/* `text` holds the answer; the reader is after its code, which was 0. *ret_fd: a descriptor that came with it, or -1. */
static int get_answer_fd(int fd, struct buf *text, struct wire_reader *ret, int *ret_fd, struct err *err)
{
	char *answer = xcalloc(1, LIVE_REPLY_MAX);
	size_t fd_count = 0;
	*ret_fd = -1;
	ssize_t got = wire_recv(fd, answer, LIVE_REPLY_MAX, ret_fd, 1, &fd_count, 0);
	int code = errno;
	text->len = 0;
	if (got > 0)
		buf_add(text, answer, (size_t)got);
	free(answer);
	if (got < 0 && code == EAGAIN)
		return err_set(err, ETIMEDOUT, "the supervisor does not answer");
	if (got < 0 && code != ECONNRESET)
		return err_errno(err, code, "hear from the supervisor");
	if (got <= 0)
		return err_set(err, ESRCH, "the supervisor is gone");
	*ret = (struct wire_reader){.data = text->data, .len = text->len};
	uint32_t refused = wire_get_u32(ret);
	const char *why = refused ? wire_get_str(ret) : NULL;
	if (refused && !ret->bad && why)
		return err_set(err, (int)refused, "%s", why);
	if (refused || ret->bad)
		return err_set(err, EPROTO, "the supervisor's answer makes no sense");
	return 0;
}

static int get_answer(int fd, struct buf *text, struct wire_reader *ret, struct err *err)
{
	own(fd_closep) int unasked = -1;
	return get_answer_fd(fd, text, ret, &unasked, err);
}

static void put_head(struct buf *request, enum live_what what)
{
	wire_put_u32(request, LIVE_VERSION);
	wire_put_u32(request, what);
}

/* ---- the list ---- */

static void list_add(struct live_list *list, const struct live_cell *cell)
{
	if ((list->count & (list->count - 1)) == 0)
		list->cells = xrealloc(list->cells, list->count ? list->count * 2 : 1, sizeof(*list->cells));
	list->cells[list->count++] = *cell;
}

/* True while there is more. */
static bool take_page(struct live_list *list, struct wire_reader *reader, const struct live_cell *common,
	uint32_t *from)
{
	uint32_t more = wire_get_u32(reader), count = wire_get_u32(reader);
	for (uint32_t i = 0; i < count && list->count < MAX_CELLS; i++) {
		const char *id = wire_get_str(reader), *command = wire_get_str(reader), *backend = wire_get_str(reader);
		struct live_cell cell = {.supervisor = common->supervisor};
		cell.pid = (int)wire_get_u32(reader);
		cell.age_ns = wire_get_u64(reader);
		cell.memory = wire_get_u64(reader);
		cell.printed = wire_get_u64(reader);
		if (reader->bad || !id || !command)
			return false;
		cell.id = xstrdup(id);
		cell.command = xstrdup(command);
		cell.backend = xstrdup(backend ? backend : "");
		cell.folder = xstrdup(common->folder);
		cell.socket = xstrdup(common->socket);
		list_add(list, &cell);
	}
	*from += count;
	return more && count > 0 && !reader->bad && list->count < MAX_CELLS;
}

static int list_one(struct live_list *list, int folder, const struct live_cell *common, struct err *err)
{
	own(buf_done) struct buf text = {0};
	own(fd_closep) int fd = live_connect(folder, common->socket, err);
	uint32_t from = 0;
	bool more = true;
	while (more) {
		own(buf_done) struct buf request = {0};
		struct wire_reader reader;
		put_head(&request, LIVE_LIST);
		wire_put_u32(&request, from);
		if (fd < 0 || send_request(fd, &request, NULL, 0, err) < 0 || get_answer(fd, &text, &reader, err) < 0)
			return -1;
		more = take_page(list, &reader, common, &from);
	}
	return 0;
}

/* ---- doors ---- */

static void doors_add(struct live_doors_list *list, int supervisor, struct buf *json)
{
	if ((list->count & (list->count - 1)) == 0)
		list->items = xrealloc(list->items, list->count ? list->count * 2 : 1, sizeof(*list->items));
	size_t len = json->len;
	list->items[list->count++] = (struct live_doors){.supervisor = supervisor, .json = buf_take(json), .len = len};
}

static int doors_one(struct live_doors_list *list, int folder, const struct live_cell *common, struct err *err)
{
	own(buf_done) struct buf request = {0}, text = {0}, json = {0};
	own(fd_closep) int fd = live_connect(folder, common->socket, err), file = -1;
	struct wire_reader reader;
	put_head(&request, LIVE_DOORS);
	if (fd < 0 || send_request(fd, &request, NULL, 0, err) < 0 || get_answer_fd(fd, &text, &reader, &file, err) < 0)
		return fd >= 0 && err->code == EPROTO ? 0 : -1; /* one of an earlier version has no doors */
	if (wire_get_u32(&reader) == 0 || reader.bad)
		return 0;
	if (file < 0 || wire_from_memfd(file, LIVE_DOORS_MAX, &json, err) < 0 || json.len == 0)
		return err_set(err, EPROTO, "the supervisor's answer makes no sense");
	doors_add(list, common->supervisor, &json);
	return 0;
}

/* ---- every supervisor ---- */

/* What is asked of each: one of them. */
struct asked {
	struct live_list *cells;
	struct live_doors_list *doors;
	unsigned *silent;
};

/* A socket nobody listens on. One that is being made looks the same for a moment, so its maker must be
 * dead or the file old (its number may be another process's by now). */
static void sweep(int folder, const char *name, int pid)
{
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode))
		return;
	bool dead = kill(pid, 0) < 0 && errno == ESRCH;
	if (dead || time(NULL) - st.st_mtime > STALE_S)
		(void)unlinkat(folder, name, 0);
}

static void ask_socket(const struct asked *asked, int folder, const char *path, char *name)
{
	char *end = NULL;
	struct err err = {0};
	long pid = strtol(name, &end, 10);
	if (pid <= 0 || pid > INT32_MAX || end == name || strcmp(end, ".sock") != 0)
		return;
	struct live_cell common = {.folder = (char *)(uintptr_t)path, .socket = name, .supervisor = (int)pid};
	int result = asked->cells ? list_one(asked->cells, folder, &common, &err) : doors_one(asked->doors, folder, &common, &err);
	if (result == 0)
		return;
	if (err.code == ECONNREFUSED)
		sweep(folder, name, (int)pid);
	else if (err.code != ENOENT && err.code != ESRCH)
		(*asked->silent)++;
}

static void ask_folder(const struct asked *asked, const char *path)
{
	struct err ignored;
	own(fd_closep) int folder = runtime_folder_open(path, false, &ignored);
	if (folder < 0)
		return;
	int copy = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		fd_close(&copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		ask_socket(asked, folder, path, entry->d_name);
	(void)closedir(dir);
}

static void ask_all(const struct asked *asked)
{
	char *path;
	for (unsigned i = 0; (path = runtime_folder(i)); i++) {
		if (path[0])
			ask_folder(asked, path);
		free(path);
	}
}

static int by_age(const void *left, const void *right)
{
	const struct live_cell *a = left, *b = right;
	return (a->age_ns < b->age_ns) - (a->age_ns > b->age_ns);
}

void live_list(struct live_list *ret)
{
	*ret = (struct live_list){0};
	ask_all(&(struct asked){.cells = ret, .silent = &ret->silent});
	if (ret->count > 1)
		qsort(ret->cells, ret->count, sizeof(*ret->cells), by_age);
}

void live_list_done(struct live_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct live_cell *cell = &list->cells[i];
		free(cell->id);
		free(cell->command);
		free(cell->backend);
		free(cell->folder);
		free(cell->socket);
	}
	free(list->cells);
	*list = (struct live_list){0};
}

void live_doors_list(struct live_doors_list *ret)
{
	*ret = (struct live_doors_list){0};
	ask_all(&(struct asked){.doors = ret, .silent = &ret->silent});
}

void live_doors_list_done(struct live_doors_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].json);
	free(list->items);
	*list = (struct live_doors_list){0};
}

static void put_names(const struct live_list *list, const char *prefix, struct buf *names)
{
	size_t len = strlen(prefix), shown = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->cells[i].id, prefix, len) != 0)
			continue;
		if (shown++ == 8) {
			buf_str(names, ", ...");
			return;
		}
		buf_fmt(names, "%s%s", names->len ? ", " : "", list->cells[i].id);
	}
}

const struct live_cell *live_find(const struct live_list *list, const char *id, struct err *err)
{
	own(buf_done) struct buf names = {0};
	const struct live_cell *found = NULL;
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->cells[i].id, id) == 0)
			return &list->cells[i];
		if (id[0] && strncmp(list->cells[i].id, id, strlen(id)) == 0) {
			found = &list->cells[i];
			count++;
		}
	}
	if (count == 1)
		return found;
	put_names(list, count > 1 ? id : "", &names);
	if (count > 1)
		(void)err_set(err, ERR_USAGE, "'%s' begins the ids of several cells: %s", id, buf_text(&names));
	else if (list->count == 0)
		(void)err_set(err, ESRCH, "no cell is named '%s': none is live", id);
	else
		(void)err_set(err, ESRCH, "no cell is named '%s'; live: %s", id, buf_text(&names));
	return NULL;
}

/* ---- one cell ---- */

int live_kill(const struct live_cell *cell, struct err *err)
{
	own(buf_done) struct buf request = {0};
	own(buf_done) struct buf text = {0};
	struct wire_reader reader;
	own(fd_closep) int fd = connect_cell(cell, err);
	if (fd < 0)
		return -1;
	put_head(&request, LIVE_KILL);
	wire_put_str(&request, cell->id);
	if (send_request(fd, &request, NULL, 0, err) < 0)
		return -1;
	return get_answer(fd, &text, &reader, err);
}

struct live_tail {
	int fd;
	char *id;
	struct buf text;
};

struct live_tail *live_tail_open(const struct live_cell *cell, struct err *err)
{
	struct timeval forever = {0};
	int fd = connect_cell(cell, err);
	if (fd < 0)
		return NULL;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	struct live_tail *tail = xcalloc(1, sizeof(*tail));
	tail->fd = fd;
	tail->id = xstrdup(cell->id);
	return tail;
}

int live_tail_ask(struct live_tail *tail, uint64_t offset, bool wait, struct err *err)
{
	own(buf_done) struct buf request = {0};
	put_head(&request, LIVE_TAIL);
	wire_put_str(&request, tail->id);
	wire_put_u64(&request, offset);
	wire_put_u32(&request, wait);
	return send_request(tail->fd, &request, NULL, 0, err);
}

int live_tail_get(struct live_tail *tail, uint64_t *ret_offset, struct buf *ret, struct err *err)
{
	struct wire_reader reader;
	if (get_answer(tail->fd, &tail->text, &reader, err) < 0)
		return err->code == ESRCH ? 0 : -1;
	bool over = wire_get_u32(&reader) != 0;
	uint64_t offset = wire_get_u64(&reader);
	uint32_t len = wire_get_u32(&reader);
	if (reader.bad || len != reader.len - reader.pos)
		return err_set(err, EPROTO, "the supervisor's answer makes no sense");
	buf_add(ret, reader.data + reader.pos, len);
	*ret_offset = offset;
	return !over;
}

struct live_tail *live_tail_free(struct live_tail *tail)
{
	if (!tail)
		return NULL;
	fd_close(&tail->fd);
	buf_done(&tail->text);
	free(tail->id);
	free(tail);
	return NULL;
}

int live_exec(const struct live_cell *cell, const char *const *argv, const char *const *env, const int fds[3], bool tty,
	struct err *err)
{
	own(buf_done) struct buf request = {0};
	own(buf_done) struct buf command = {0};
	struct timeval forever = {0};
	wire_put_list(&command, argv);
	wire_put_list(&command, env);
	if (command.len > LIVE_EXEC_MAX)
		return err_set(err, ERR_USAGE, "the command is longer than %d bytes", LIVE_EXEC_MAX);
	own(fd_closep) int file = wire_to_memfd(&command, err);
	if (file < 0)
		return -1;
	own(fd_closep) int fd = connect_cell(cell, err);
	if (fd < 0)
		return -1;
	put_head(&request, LIVE_EXEC);
	wire_put_str(&request, cell->id);
	wire_put_u32(&request, tty);
	const int all[LIVE_EXEC_FDS] = {file, fds[0], fds[1], fds[2]};
	if (send_request(fd, &request, all, LIVE_EXEC_FDS, err) < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	return fd_take(&fd);
}

int live_exec_result(int fd, int *ret_wait_status, struct err *err)
{
	own(buf_done) struct buf text = {0};
	struct wire_reader reader;
	if (get_answer(fd, &text, &reader, err) < 0)
		return -1;
	*ret_wait_status = (int)wire_get_u32(&reader);
	if (reader.bad)
		return err_set(err, EPROTO, "the supervisor's answer makes no sense");
	return 0;
}
