/* What the native backend's processes say to each other, as bytes. */
#include "cell/native/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/runtime.h"

#define MAX_HIDE 4096

bool pretend(const char *what)
{
	const char *list = getenv("HOTCELL_PRETEND");
	size_t len = strlen(what);

	for (const char *at = list; at != NULL && *at != '\0';) {
		size_t word = strcspn(at, ",");
		if (word == len && strncmp(at, what, len) == 0)
			return true;
		at += word + (at[word] == ',');
	}
	return false;
}

void message_put_err(struct buf *buf, const struct err *err)
{
	wire_put_u32(buf, (uint32_t)err->code);
	wire_put_str(buf, err->text);
}

void message_send_failed(int socket, uint32_t slot, const struct err *err)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, MSG_FAILED);
	wire_put_u32(&message, slot);
	message_put_err(&message, err);
	(void)!wire_send(socket, message.data, message.len, NULL, 0);
}

void message_get_err(struct wire_reader *reader, struct err *err)
{
	uint32_t code = wire_get_u32(reader);
	const char *text = wire_get_str(reader);

	(void)err_set(err, (int)code, "%s", text == NULL ? "a cell's process sent no reason" : text);
}

int template_spaces(const struct cell_mount *mounts, size_t count, const struct cell_space *ret[CELL_MAX_SPACES],
	size_t *ret_count, struct err *err)
{
	*ret_count = 0;
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (k < *ret_count && mounts[i].space != ret[k])
			k++;
		if (mounts[i].space == NULL || k < *ret_count)
			continue;
		if (k == CELL_MAX_SPACES)
			return err_set(err, ERR_USAGE, "the mounts of a cell are of more than %d spaces", CELL_MAX_SPACES);
		ret[(*ret_count)++] = mounts[i].space;
	}
	return 0;
}

void template_encode(const struct template *t, struct buf *buf)
{
	const uint64_t numbers[] = { t->uid, t->gid, t->tmp, t->disk, t->shm, t->file_size, t->open_files,
		t->processes, t->watch_memory, t->pin_cpus, t->limit_tasks, t->user_ns, t->landlock, t->rule_files, t->overlay,
		t->tmp_exec, t->tty, t->want_workspace, t->no_exec, t->observe, t->effects, t->own_user, t->nice };

	wire_put_str(buf, t->image);
	wire_put_u64(buf, t->image_id.device);
	wire_put_u64(buf, t->image_id.inode);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		wire_put_u64(buf, numbers[i]);
	wire_put_list(buf, t->hide);
	wire_put_list(buf, t->forbid);
	wire_put_list(buf, t->calls_deny);
	wire_put_list(buf, t->calls_allow);
	wire_put_u32(buf, (uint32_t)t->path_count);
	for (size_t i = 0; i < t->path_count; i++) {
		wire_put_str(buf, t->paths[i].path);
		wire_put_u32(buf, t->paths[i].rights);
	}
	wire_put_u32(buf, (uint32_t)t->mount_count);
	for (size_t i = 0; i < t->mount_count; i++) {
		wire_put_str(buf, t->mounts[i].source);
		wire_put_str(buf, t->mounts[i].target);
		wire_put_u32(buf, t->mounts[i].writable);
		wire_put_u64(buf, t->mounts[i].device);
		wire_put_u64(buf, t->mounts[i].inode);
		wire_put_u64(buf, t->mounts[i].space == NULL ? 0 : t->mounts[i].space->id);
	}
	wire_put_u32(buf, (uint32_t)t->listener_count);
	for (size_t i = 0; i < t->listener_count; i++) {
		wire_put_u32(buf, t->listeners[i].address);
		wire_put_u32(buf, t->listeners[i].port);
	}
	wire_put_str(buf, t->hosts);
	wire_put_u32(buf, (uint32_t)t->runtime_count);
	for (size_t i = 0; i < t->runtime_count; i++) {
		wire_put_u64(buf, t->runtime[i].device);
		wire_put_u64(buf, t->runtime[i].inode);
	}
}

static int runtime_decode(struct template *t, struct wire_reader *reader, struct err *err)
{
	t->runtime_count = wire_get_u32(reader);
	if (reader->bad || t->runtime_count > RUNTIME_MAX)
		return err_set(err, EPROTO, "the template's message is damaged");
	t->runtime = xcalloc(t->runtime_count + 1, sizeof(*t->runtime));
	for (size_t i = 0; i < t->runtime_count; i++) {
		t->runtime[i].device = wire_get_u64(reader);
		t->runtime[i].inode = wire_get_u64(reader);
	}
	return reader->bad ? err_set(err, EPROTO, "the template's message is damaged") : 0;
}

static int listeners_decode(struct template *t, struct wire_reader *reader, struct err *err)
{
	t->listener_count = wire_get_u32(reader);
	if (reader->bad || t->listener_count > CELL_MAX_LISTENERS)
		return err_set(err, EPROTO, "the template's message is damaged");
	t->listeners = xcalloc(t->listener_count + 1, sizeof(*t->listeners));
	for (size_t i = 0; i < t->listener_count; i++) {
		t->listeners[i].address = wire_get_u32(reader);
		t->listeners[i].port = (uint16_t)wire_get_u32(reader);
	}
	t->hosts = wire_get_str(reader);
	return reader->bad ? err_set(err, EPROTO, "the template's message is damaged") : 0;
}

static int paths_decode(struct template *t, struct wire_reader *reader, struct err *err)
{
	t->path_count = wire_get_u32(reader);
	if (reader->bad || t->path_count > CELL_MAX_PATHS)
		return err_set(err, EPROTO, "the template's message is damaged");
	t->paths = xcalloc(t->path_count + 1, sizeof(*t->paths));
	for (size_t i = 0; i < t->path_count; i++) {
		t->paths[i].path = wire_get_str(reader);
		t->paths[i].rights = wire_get_u32(reader);
		if (reader->bad || t->paths[i].path == NULL)
			return err_set(err, EPROTO, "the template's message is damaged");
	}
	return 0;
}

/* The template's own of that id, which it is given in the order of its mounts. */
static const struct cell_space *space_of(struct template *t, uint64_t id, bool *bad)
{
	size_t i = 0;

	if (id == 0)
		return NULL;
	while (i < t->space_count && t->spaces[i].id != id)
		i++;
	*bad = *bad || i == CELL_MAX_SPACES;
	if (*bad)
		return NULL;
	if (i == t->space_count)
		t->spaces[t->space_count++] = (struct cell_space){ .id = id, .view = -1, .top = -1 };
	return &t->spaces[i];
}

int template_decode(struct template *t, struct wire_reader *reader, struct err *err)
{
	*t = (struct template){ .image = wire_get_str(reader) };
	t->image_id.device = wire_get_u64(reader);
	t->image_id.inode = wire_get_u64(reader);
	t->uid = (uint32_t)wire_get_u64(reader);
	t->gid = (uint32_t)wire_get_u64(reader);
	uint64_t *const sizes[] = { &t->tmp, &t->disk, &t->shm, &t->file_size, &t->open_files, &t->processes,
		&t->watch_memory };
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		*sizes[i] = wire_get_u64(reader);
	t->pin_cpus = (uint32_t)wire_get_u64(reader);
	bool *const flags[] = { &t->limit_tasks, &t->user_ns, &t->landlock, &t->rule_files, &t->overlay, &t->tmp_exec, &t->tty,
		&t->want_workspace, &t->no_exec, &t->observe, &t->effects, &t->own_user };
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		*flags[i] = wire_get_u64(reader) != 0;
	t->nice = (uint32_t)wire_get_u64(reader);
	t->hide = wire_get_list(reader, MAX_HIDE);
	t->forbid = wire_get_list(reader, MAX_HIDE);
	t->calls_deny = wire_get_list(reader, CELL_MAX_CALLS);
	t->calls_allow = wire_get_list(reader, CELL_MAX_CALLS);
	if (paths_decode(t, reader, err) < 0)
		return -1;
	t->mount_count = wire_get_u32(reader);
	if (reader->bad || t->image == NULL || t->mount_count > CELL_MAX_MOUNTS)
		return err_set(err, EPROTO, "the template's message is damaged");
	t->mounts = xcalloc(t->mount_count + 1, sizeof(*t->mounts));
	for (size_t i = 0; i < t->mount_count; i++) {
		t->mounts[i].source = wire_get_str(reader);
		t->mounts[i].target = wire_get_str(reader);
		t->mounts[i].writable = wire_get_u32(reader) != 0;
		t->mounts[i].device = wire_get_u64(reader);
		t->mounts[i].inode = wire_get_u64(reader);
		t->mounts[i].space = space_of(t, wire_get_u64(reader), &reader->bad);
		if (reader->bad || t->mounts[i].source == NULL || t->mounts[i].target == NULL)
			return err_set(err, EPROTO, "the template's message is damaged");
	}
	return listeners_decode(t, reader, err) < 0 ? -1 : runtime_decode(t, reader, err);
}

void template_done(struct template *t)
{
	free(t->mounts);
	free(t->listeners);
	free((void *)t->hide);
	free((void *)t->forbid);
	free((void *)t->calls_deny);
	free((void *)t->calls_allow);
	free(t->paths);
	free(t->runtime);
	*t = (struct template){ 0 };
}

void job_encode(struct buf *buf, const struct job *job)
{
	wire_put_list(buf, job->argv);
	wire_put_list(buf, job->env);
	wire_put_str(buf, job->cwd);
	wire_put_u32(buf, job->tty);
	wire_put_u32(buf, job->rows);
	wire_put_u32(buf, job->columns);
	wire_put_u64(buf, job->backstop_ms);
	wire_put_u32(buf, job->need);
}

int job_decode(struct job *job, struct wire_reader *reader, struct err *err)
{
	job->argv = wire_get_list(reader, CELL_MAX_ARGS);
	job->env = wire_get_list(reader, CELL_MAX_ARGS);
	job->cwd = wire_get_str(reader);
	job->tty = wire_get_u32(reader) != 0;
	job->rows = (unsigned short)wire_get_u32(reader);
	job->columns = (unsigned short)wire_get_u32(reader);
	job->backstop_ms = wire_get_u64(reader);
	job->need = wire_get_u32(reader);
	if (reader->bad || job->argv[0] == NULL)
		return err_set(err, EPROTO, "the job's message is damaged");
	return 0;
}

void job_done(struct job *job)
{
	free(job->argv);
	free(job->env);
	if (job->bytes.data != NULL)
		explicit_bzero(job->bytes.data, job->bytes.len); /* the environment may hold secrets */
	buf_done(&job->bytes);
}

#define JOB_HEAD 16 /* kind, id, whether a memfd holds the rest, and which descriptors come along */

int job_send(int socket, uint32_t kind, uint32_t id, const struct buf *job, const int stdio[3], struct err *err)
{
	own(buf_done) struct buf message = { 0 };
	bool fits = job->len <= MAX_MESSAGE - JOB_HEAD;
	own(fd_closep) int memfd = fits ? -1 : wire_to_memfd(job, err);
	int all[4];
	size_t used = 0;
	uint32_t given = 0;

	if (!fits && memfd < 0)
		return -1;
	wire_put_u32(&message, kind);
	wire_put_u32(&message, id);
	wire_put_u32(&message, !fits);
	if (!fits)
		all[used++] = memfd;
	for (unsigned i = 0; i < 3; i++) {
		if (stdio[i] < 0)
			continue;
		all[used++] = stdio[i];
		given |= 1u << i;
	}
	wire_put_u32(&message, given);
	if (fits)
		buf_add(&message, job->data, job->len);
	if (wire_send(socket, message.data, message.len, all, used) < 0)
		return users_send_failed("send a job to its cell", err);
	return 0;
}

int job_receive(struct job *job, struct wire_reader *reader, const int **fds, size_t *count, struct err *err)
{
	bool boxed = wire_get_u32(reader) != 0;

	*job = (struct job){ .given = wire_get_u32(reader) };
	if (!boxed)
		return job_decode(job, reader, err);
	if (*count == 0)
		return err_set(err, EPROTO, "the job's message is damaged");
	if (wire_from_memfd((*fds)[0], MAX_JOB_BYTES, &job->bytes, err) < 0)
		return -1;
	struct wire_reader inner = { .data = job->bytes.data, .len = job->bytes.len };
	(*fds)++;
	(*count)--;
	return job_decode(job, &inner, err);
}
