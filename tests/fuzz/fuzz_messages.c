/* Whatever arrives at a yard, an init or a supervisor: a template, a job or an effect is either refused or comes out whole,
 * with its strings inside the message, and says the same when it is written and read again. And whatever is in a program's
 * memory: it is told within bounds. The
 * first byte chooses which. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cell/native/inside/effects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const struct wire_reader *reader, const char *text)
{
	assert(text >= reader->data && text + strlen(text) < reader->data + reader->len);
}

static void check_list(const struct wire_reader *reader, const char *const *list, size_t max)
{
	size_t count = 0;

	for (; list[count] != NULL; count++)
		check_inside(reader, list[count]);
	assert(count <= max);
}

static void check_template(const struct wire_reader *reader, const struct template *t)
{
	check_inside(reader, t->image);
	check_list(reader, t->hide, 4096);
	check_list(reader, t->calls_deny, CELL_MAX_CALLS);
	check_list(reader, t->calls_allow, CELL_MAX_CALLS);
	assert(t->path_count <= CELL_MAX_PATHS);
	for (size_t i = 0; i < t->path_count; i++)
		check_inside(reader, t->paths[i].path);
	assert(t->mount_count <= CELL_MAX_MOUNTS);
	for (size_t i = 0; i < t->mount_count; i++) {
		check_inside(reader, t->mounts[i].source);
		check_inside(reader, t->mounts[i].target);
	}
	assert(t->listener_count <= CELL_MAX_LISTENERS);
	if (t->hosts != NULL)
		check_inside(reader, t->hosts);
}

static void read_template(struct wire_reader *reader)
{
	own(template_done) struct template t = {0}, again = {0};
	own(buf_done) struct buf first = {0}, second = {0};
	struct err err = {0};

	if (template_decode(&t, reader, &err) < 0) {
		assert(err.code != 0 && err.text[0] != '\0');
		return;
	}
	check_template(reader, &t);
	template_encode(&t, &first);
	struct wire_reader back = {.data = first.data, .len = first.len};
	assert(template_decode(&again, &back, &err) == 0 && back.pos == back.len);
	template_encode(&again, &second);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

static void read_job(struct wire_reader *reader)
{
	own(job_done) struct job job = {0}, again = {0};
	own(buf_done) struct buf first = {0}, second = {0};
	struct err err = {0};

	if (job_decode(&job, reader, &err) < 0) {
		assert(err.code != 0 && err.text[0] != '\0');
		return;
	}
	assert(job.argv[0] != NULL);
	check_list(reader, job.argv, CELL_MAX_ARGS);
	check_list(reader, job.env, CELL_MAX_ARGS);
	if (job.cwd != NULL)
		check_inside(reader, job.cwd);
	job_encode(&first, &job);
	struct wire_reader back = {.data = first.data, .len = first.len};
	assert(job_decode(&again, &back, &err) == 0 && back.pos == back.len);
	job_encode(&second, &again);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

static void read_received(struct wire_reader *reader)
{
	own(job_done) struct job job = {0};
	const int *fds = NULL;
	size_t count = 0;
	struct err err = {0};

	if (job_receive(&job, reader, &fds, &count, &err) == 0)
		check_list(reader, job.argv, CELL_MAX_ARGS);
}

static void read_err(struct wire_reader *reader)
{
	struct err err;

	message_get_err(reader, &err);
	assert(strnlen(err.text, sizeof(err.text)) < sizeof(err.text));
}

static void read_effect(struct wire_reader *reader)
{
	own(freep) const char **words = NULL, **more = NULL;
	own(buf_done) struct buf first = {0}, second = {0};
	struct cell_effect effect, again;
	uint64_t dropped = 0;
	bool any = false;

	if (!effect_decode(reader, &effect, &words, &any, &dropped))
		return;
	if (any) {
		check_inside(reader, effect.what);
		check_inside(reader, effect.by);
		check_list(reader, words, EFFECT_MAX_WORDS);
		assert((effect.words != NULL) == (effect.kind == CELL_EFFECT_EXEC));
	}
	effect_encode(&first, any ? &effect : NULL, dropped);
	struct wire_reader back = {.data = first.data, .len = first.len};
	assert(wire_get_u32(&back) == MSG_EFFECT && effect_decode(&back, &again, &more, &any, &dropped));
	effect_encode(&second, any ? &again : NULL, dropped);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

/* Bytes of a program's memory: a path, and the folder it begins at. */
static void tell_path(struct wire_reader *reader)
{
	own(buf_done) struct buf text = {0}, again = {0};
	const char *base = wire_get_str(reader), *path = wire_get_str(reader);

	if (reader->bad || path == NULL)
		return;
	effect_path(base, path, &text);
	const char *said = buf_text(&text);
	assert(strlen(said) == text.len && text.len <= EFFECT_MAX_WHAT && (text.len == 0 || said[0] == '/'));
	assert(strstr(said, "//") == NULL && strstr(said, "/../") == NULL && strstr(said, "/./") == NULL);
	effect_path(NULL, said, &again);
	if (text.len > 0 && text.len < EFFECT_MAX_WHAT)
		assert(strcmp(buf_text(&again), said) == 0);
}

static void tell_address(struct wire_reader *reader)
{
	own(buf_done) struct buf text = {0};

	for (int connects = 0; connects < 2; connects++)
		if (effect_address(reader->data, reader->len, connects, "/tmp", &text))
			assert(text.len <= EFFECT_MAX_WHAT && strlen(buf_text(&text)) == text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(struct wire_reader *) = {
		read_template, read_job, read_received, read_err, read_effect, tell_path, tell_address};

	if (size == 0)
		return 0;
	own(freep) char *message =
		malloc(size > 1 ? size - 1 : 1); /* exactly, so that a byte too far is seen */
	struct wire_reader reader = {.data = message, .len = size - 1};
	memcpy(message, data + 1, size - 1);
	readers[data[0] % ARRAY_LEN(readers)](&reader);
	return 0;
}
