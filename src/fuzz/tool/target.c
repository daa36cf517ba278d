/* Opening what is fuzzed. See target.h. */
#include "fuzz/tool/target_private.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/term.h"

#define SESSION_MS (UINT64_C(7) * 24 * 3600 * 1000) /* that a session's cell may live: calls have clocks of their own */

const struct mode modes[] = {
	[TARGET_MCP] = {.kind = "mcp", .start = mcp_start, .call = mcp_call, .message = mcp_message, .unasked = mcp_unasked},
	[TARGET_MCP_HTTP] = {.kind = "mcp-http", .http = true, .start = mcp_start, .call = mcp_call, .message = mcp_message,
		.unasked = mcp_unasked},
	[TARGET_LINES] = {.kind = "tool-lines", .start = tool_start, .call = tool_call, .message = tool_message,
		.unasked = tool_unasked},
	[TARGET_EXEC] = {.kind = "tool-exec", .single = true, .start = tool_start, .call = tool_call},
	[TARGET_ARGS] = {.kind = "tool-args", .single = true, .start = tool_start, .call = tool_call, .words = args_words},
};
_Static_assert(ARRAY_LEN(modes) == TARGET_MODE_COUNT, "a mode has no row");

const char *target_mode_kind(enum target_mode mode)
{
	return modes[mode].kind;
}

bool target_mode_read(const char *kind, enum target_mode *ret)
{
	for (size_t i = 0; i < TARGET_MODE_COUNT; i++) {
		if (strcmp(modes[i].kind, kind) != 0)
			continue;
		*ret = (enum target_mode)i;
		return true;
	}
	return false;
}

/* ---- tools: what they take is in a file ---- */

static int schema_take(const char *text, size_t len, const char *name, struct value *ret, struct err *err)
{
	if (!text)
		return 0;
	return json_read(text, len, &schema_text_limits, name ? name : "the schema", ret, err);
}

/* The user's own schema: what is wrong with it is an error, not a remark. */
static int tool_offer(struct target *target, struct err *err)
{
	const struct target_options *options = &target->options;
	own(value_done) struct value input = {0}, output = {0};
	const char *text = options->subject ? options->subject : target->name;
	const struct value name = {.kind = VALUE_TEXT, .text = (char *)text, .len = strlen(text)};

	if (!options->schema_text)
		return err_set(err, ERR_USAGE, "a %s target needs a schema of what it takes", target->mode->kind);
	if (schema_take(options->schema_text, options->schema_len, options->schema_name, &input, err) < 0 ||
		schema_take(options->output_schema_text, options->output_schema_len, options->output_schema_name, &output, err) < 0)
		return -1;
	struct value *declared = options->output_schema_text ? &output : NULL;
	if (!subjects_add(&target->subjects, &target->remarks, SUBJECT_TOOL, &name, NULL, &input, declared))
		return err_set(err, ERR_USAGE, "the subject's name is empty or too long");
	return 0;
}

static void target_compile(struct target *target)
{
	const struct generator_options options = {.words = target->options.words, .plain = target->options.plain};

	subjects_compile(&target->subjects, &target->remarks, &options);
}

static int tool_check(const struct target *target, struct err *err)
{
	const struct subject *subject = &target->subjects.list[0];
	const struct target_options *options = &target->options;

	if (subject->problem)
		return err_set(err, ERR_USAGE, "%s: %s", options->schema_name ? options->schema_name : "the schema",
			subject->problem);
	if (options->output_schema_text && !subject->output)
		return err_set(err, ERR_USAGE, "%s: %s",
			options->output_schema_name ? options->output_schema_name : "the output schema",
			target->remarks.count ? target->remarks.items[target->remarks.count - 1] : "it is no schema");
	return 0;
}

/* Nobody can say where the start of a line server ends: what it did until its first answer, but not for the same call
 * again, is its start. */
static void startup_learn(struct target *target, struct session *session, const struct exchange *first,
	const struct made *made)
{
	size_t count = first->effect_count;
	struct effect *effects = xcalloc(count + 1, sizeof(*effects));
	struct err ignored;

	for (size_t i = 0; i < count; i++)
		effect_copy(&effects[i], &first->effects[i]);
	const struct exchange *again = session_call(session, &target->subjects.list[0], made->text, made->len, &ignored);
	target->startup = xcalloc(count + 1, sizeof(*effects));
	for (size_t i = 0; i < count; i++) {
		bool both = false;
		for (size_t j = 0; again && j < again->effect_count; j++)
			both = both || effect_same(&effects[i], &again->effects[j]);
		if (both)
			effect_done(&effects[i]);
		else
			target->startup[target->startup_count++] = effects[i];
	}
	free(effects);
}

/* From now on the next one is made while one is spoken with. Without it starting takes longer, and that is all. */
static void keep_ready(struct target *target)
{
	struct err ignored;

	(void)!cell_pool_warm(target->pool, &target->spec, target->mode->single ? 2 : 1, &ignored);
}

/* Calls it with the simplest input. */
static int tool_try(struct target *target, bool *ret_ended, struct err *err)
{
	own(session_freep) struct session *session = session_open(target, err);
	struct draw draw;
	struct made made;

	if (!session)
		return -1;
	keep_ready(target); /* not sooner: two at once would be slower to make than the first */
	draw_init(&draw, 0);
	draw_replay(&draw, (const uint64_t[]){0}, 0);
	int rc = generator_make(target->subjects.list[0].generator, &draw, &made, err);
	draw_done(&draw);
	if (rc < 0) { /* its words are the generator's until it makes another */
		err->code = ERR_USAGE;
		return err_wrap(err, "make an input");
	}
	const struct exchange *seen = session_call(session, &target->subjects.list[0], made.text, made.len, err);
	if (!seen)
		return -1;
	*ret_ended = seen->reply.kind == REPLY_ENDED;
	if (target->spec.effects && !target->mode->single && !seen->ended)
		startup_learn(target, session, seen, &made);
	if (seen->result && seen->result->outcome == CELL_SETUP_FAILED)
		return err_set(err, seen->result->err.code ? seen->result->err.code : EPROTO, "'%s' does not start: %s",
			target->name, seen->result->err.text);
	return 0;
}

/* Whether it starts at all. One that ends in its first call may have a fault that is to be found; or it ends whatever
 * is said, and that is seen when nothing is. */
static int tool_start_check(struct target *target, struct err *err)
{
	bool ended = false;

	if (tool_try(target, &ended, err) < 0)
		return -1;
	if (!ended || target->mode->single)
		return 0;
	own(session_freep) struct session *session = session_open_asking(target, &target->subjects, err);
	return session ? 0 : -1;
}

/* ---- opening ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int target_ask(struct target *target, struct err *err)
{
	bool is_mcp = target->options.mode == TARGET_MCP || target->options.mode == TARGET_MCP_HTTP;

	if (!is_mcp && tool_offer(target, err) < 0)
		return -1;
	if (!is_mcp) {
		target_compile(target);
		return tool_check(target, err) < 0 ? -1 : tool_start_check(target, err);
	}
	own(session_freep) struct session *session = session_open_asking(target, &target->subjects, err);
	if (!session)
		return -1;
	if (target->subjects.count == 0)
		return err_set(err, ERR_MISSING, "'%s' offers no tools, resources or prompts", target->name);
	keep_ready(target);
	target_compile(target);
	return 0;
}

struct target *target_open(const struct target_options *options, struct loop *loop, struct cell_pool *pool,
	struct err *err)
{
	own(target_freep) struct target *target = xcalloc(1, sizeof(*target));
	own(buf_done) struct buf name = {0};

	target->options = *options;
	target->spec = *options->spec;
	target->options.spec = &target->spec;
	target->mode = &modes[options->mode];
	target->loop = loop;
	target->pool = pool;
	const char *shown = options->name ? options->name : last_part(options->spec->argv[0]);
	term_line(shown, strlen(shown), 200, &name);
	target->name = xstrdup(buf_text(&name));
	target->spec.limits.timeout_ms = target->mode->single ? (options->call_ns + NS_PER_MS - 1) / NS_PER_MS : SESSION_MS;
	if ((target->mode->http && bridge_place(target, err) < 0) || target_ask(target, err) < 0)
		return NULL;
	return ptr_take(&target);
}

struct target *target_free(struct target *target)
{
	if (!target)
		return NULL;
	bridge_remove(target);
	for (size_t i = 0; i < target->startup_count; i++)
		effect_done(&target->startup[i]);
	free(target->startup);
	subjects_done(&target->subjects);
	strings_done(&target->remarks);
	free(target->name);
	free(target->about);
	free(target);
	return NULL;
}

void target_freep(struct target **target)
{
	*target = target_free(*target);
}

const struct subjects *target_subjects(const struct target *target)
{
	return &target->subjects;
}

const char *target_name(const struct target *target)
{
	return target->name;
}

const char *target_version(const struct target *target)
{
	return target->about ? target->about : "";
}

enum target_mode target_mode(const struct target *target)
{
	return target->options.mode;
}

const struct cell_spec *target_spec(const struct target *target)
{
	return &target->spec;
}

struct loop *target_loop(const struct target *target)
{
	return target->loop;
}

const struct strings *target_remarks(const struct target *target)
{
	return &target->remarks;
}
