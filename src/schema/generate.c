/* A value is made from the root down. Each part that may turn out wrong is checked when it is made, and made anew a few
 * times; only the choices of the last time stay in the record. While a record is replayed nothing is made anew: what was
 * recorded came out right the first time, and what somebody changed is worth nothing if it does not. */
#include "schema/generate.h"

#include <string.h>

#include "base/utf8.h"
#include "schema/dict.h"
#include "schema/make.h"

#define PART_TRIES 8
#define WHOLE_TRIES 60
#define CALIBRATION 12 /* values made to find the first mode */
#define DEFAULT_DEPTH 6
#define DEEP_DEPTH 100
#define DEEP_VALUES 400 /* of one that is deep: it is to be narrow */
#define DEEP_ODDS 32
#define DEPTH_MAX 200 /* of values; recursion */
#define VALUE_STEPS 16 /* that making a value costs */
#define BYTES_A_STEP 4

/* Ways to make a value, from the richest to the one with the best chance. The first choice of every record. */
enum mode { MODE_FREE, MODE_STRICT, MODE_STRICT_MINIMAL, MODE_MINIMAL, MODE_COUNT };

bool make_is_minimal(const struct generator *generator, unsigned depth)
{
	if (generator->deep)
		return depth >= DEEP_DEPTH || generator->values > DEEP_VALUES;
	return generator->minimal || depth >= generator->options.depth || generator->values > MADE_VALUES_MAX;
}

bool make_spend(struct generator *generator, uint64_t cost)
{
	uint64_t *left = &generator->shapes.left;

	if (cost < *left) {
		*left -= cost;
		return true;
	}
	*left = 0;
	generator->failures = MADE_FAILURES_MAX;
	return false;
}

/* What it costs to write a value that the schema has. */
static uint64_t value_cost(const struct value *value)
{
	uint64_t cost = 1 + value->len / BYTES_A_STEP;

	for (size_t i = 0; i < value->count; i++)
		cost += value_cost(&value->items[i]) + (value->kind == VALUE_MAP ? value->key_lens[i] / BYTES_A_STEP : 0);
	return cost;
}

/* ---- one part ---- */

/* The branch with the lowest value that is not dead, without a choice. */
static struct shape *lowest_branch(struct generator *generator, struct shape *shape)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < shape->branch_count; i++) {
		if (!shape_branch(&generator->shapes, shape, i))
			continue;
		if (best == SIZE_MAX || shape->branches[i].height < shape->branches[best].height)
			best = i;
	}
	return best == SIZE_MAX ? NULL : shape->branches[best].next;
}

/* Takes branches until the goal is closed. Which branches are dead is a fact about the schema, so the same choice
 * leads to the same one whatever was made before. */
static struct shape *close_goal(struct generator *generator, struct shape *shape, bool low)
{
	while (shape && shape->branches) {
		if (low) {
			shape = lowest_branch(generator, shape);
			continue;
		}
		size_t from = (size_t)draw_below(generator->draw, shape->branch_count);
		struct shape *next = NULL;
		for (size_t i = 0; i < shape->branch_count && !next; i++)
			next = shape_branch(&generator->shapes, shape, (from + i) % shape->branch_count);
		shape = next;
	}
	return shape && !shape->dead ? shape : NULL;
}

static unsigned type_choose(struct generator *generator, unsigned types, bool minimal)
{
	static const unsigned order[] = {TYPE_NULL, TYPE_BOOL, TYPE_NUMBER, TYPE_TEXT, TYPE_LIST, TYPE_MAP};
	unsigned possible[ARRAY_LEN(order)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (types & order[i])
			possible[count++] = order[i];
	}
	return count == 1 || minimal ? possible[0] : possible[draw_below(generator->draw, count)];
}

static bool closed_make(struct generator *generator, struct shape *shape, unsigned depth, unsigned hints, bool minimal,
	struct value *ret)
{
	if (shape->has_given) {
		*ret = *shape->given[minimal || shape->given_count == 1 ? 0 : draw_below(generator->draw, shape->given_count)];
		return make_spend(generator, value_cost(ret));
	}
	if (shape->hinted_count && !minimal && draw_rarely(generator->draw, 10)) {
		*ret = *shape->hinted[draw_below(generator->draw, shape->hinted_count)];
		return make_spend(generator, value_cost(ret));
	}
	switch (type_choose(generator, shape->types, minimal)) {
	case TYPE_NULL:
		*ret = (struct value){.kind = VALUE_NULL};
		return true;
	case TYPE_BOOL:
		*ret = (struct value){.kind = VALUE_BOOL, .truth = draw_below(generator->draw, 2)};
		return true;
	case TYPE_NUMBER:
		return make_number(generator, shape, ret);
	case TYPE_TEXT:
		return make_text(generator, shape, hints, ret) && make_spend(generator, ret->len / BYTES_A_STEP);
	case TYPE_LIST:
		return make_list(generator, shape, depth, ret);
	default:
		return make_map(generator, shape, depth, ret);
	}
}

bool make_value(struct generator *generator, struct shape *goal, unsigned depth, unsigned hints, struct value *ret)
{
	struct draw *draw = generator->draw;
	size_t span = draw_open(draw), count = draw->count, spans = draw->span_count;
	struct arena_mark mark = arena_mark(&generator->arena);

	if (depth > DEPTH_MAX) { /* what is to be broken may be below itself for ever */
		generator->why = "it would have to be nested deeper than any value that is made";
		return false;
	}
	if (!make_spend(generator, VALUE_STEPS))
		return false;
	unsigned values = ++generator->values;
	for (int i = 0; i < (draw->replaying ? 1 : PART_TRIES) && generator->failures < MADE_FAILURES_MAX; i++) {
		bool minimal = make_is_minimal(generator, depth);
		struct shape *shape = close_goal(generator, goal, minimal);
		if (shape && closed_make(generator, shape, depth, hints, minimal, ret) &&
			(!shape->risky || shape_fits(&generator->shapes, goal, ret))) {
			draw_close(draw, span);
			return true;
		}
		generator->failures++;
		if (draw->replaying)
			return false;
		draw_rewind(draw, count, spans);
		generator->values = values; /* as when it is replayed */
		arena_rewind(&generator->arena, mark);
	}
	return false;
}

/* ---- as JSON ---- */

static void code_write(uint32_t code, struct buf *out)
{
	if (code >= 0x10000)
		buf_fmt(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
	else
		buf_fmt(out, "\\u%04x", code);
}

static void text_write(const char *text, size_t len, struct buf *out)
{
	static const char short_names[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
	const char *end = text + len;

	buf_char(out, '"');
	while (text < end) {
		const char *from = text;
		while (text < end && (unsigned char)*text >= ' ' && (unsigned char)*text < 127 && *text != '"' && *text != '\\')
			text++;
		if (text > from)
			buf_add(out, from, (size_t)(text - from));
		if (text == end)
			break;
		const unsigned char *at = (const unsigned char *)text;
		int size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
		if (at[0] < sizeof(short_names) && short_names[at[0]]) {
			buf_char(out, '\\');
			buf_char(out, short_names[at[0]]);
		} else {
			uint32_t code = size == 1 ? at[0] : at[0] & (0x7fu >> size);
			for (int i = 1; i < size && text + i < end; i++)
				code = code << 6 | (at[i] & 0x3f);
			code_write(code, out);
		}
		text += size;
	}
	buf_char(out, '"');
}

void value_write(const struct value *value, struct buf *out)
{
	switch (value->kind) {
	case VALUE_NULL:
		buf_add(out, "null", 4);
		return;
	case VALUE_BOOL:
		buf_str(out, value->truth ? "true" : "false");
		return;
	case VALUE_NUMBER:
		buf_add(out, value->text, value->len);
		return;
	case VALUE_TEXT:
		text_write(value->text, value->len, out);
		return;
	case VALUE_LIST: case VALUE_MAP:
		break;
	}
	buf_char(out, value->kind == VALUE_MAP ? '{' : '[');
	for (size_t i = 0; i < value->count; i++) {
		if (i)
			buf_char(out, ',');
		if (value->kind == VALUE_MAP) {
			text_write(value->keys[i], value->key_lens[i], out);
			buf_char(out, ':');
		}
		value_write(&value->items[i], out);
	}
	buf_char(out, value->kind == VALUE_MAP ? '}' : ']');
}

/* ---- the whole ---- */

static struct shape *goal_of(struct generator *generator, enum mode mode, enum sign sign)
{
	literal root = literal_make(generator->schema->root, PART_NODE, sign, 0);

	return shape_get(&generator->shapes, &root, 1, mode == MODE_STRICT || mode == MODE_STRICT_MINIMAL);
}

static bool has_one_error(struct generator *generator, const struct value *value)
{
	own(schema_errors_done) struct schema_errors errors = {0};
	struct err err;

	return schema_check(generator->schema, value, &errors, &err) == SCHEMA_INVALID && make_spend(generator, errors.steps) &&
		errors.count == 1;
}

static bool try_once(struct generator *generator, enum mode mode, enum sign sign, struct value *ret)
{
	struct shape *goal = goal_of(generator, mode, sign);

	arena_reset(&generator->arena);
	generator->values = generator->failures = 0;
	generator->minimal = mode == MODE_MINIMAL || mode == MODE_STRICT_MINIMAL;
	generator->deep = generator->can_be_deep && !generator->minimal && draw_rarely(generator->draw, DEEP_ODDS);
	if (!goal || goal->dead || !make_value(generator, goal, 0, 0, ret))
		return false;
	if (generator->draw->count >= DRAW_MAX)
		return false; /* the record is cut, and would make something else */
	if (sign == HOLDS)
		return node_check(generator->schema->root, ret, &generator->shapes.scratch, &generator->shapes.left) == SCHEMA_VALID;
	return has_one_error(generator, ret);
}

static bool try_modes(struct generator *generator, unsigned first, enum sign sign, struct value *ret)
{
	struct draw *draw = generator->draw;

	draw_restart(draw);
	if (draw->replaying)
		return try_once(generator, (enum mode)draw_below(draw, MODE_COUNT), sign, ret);
	for (unsigned i = 0; i < WHOLE_TRIES && generator->shapes.left; i++) {
		unsigned mode = first + i / 10;
		draw_restart(draw);
		draw_force(draw, mode % MODE_COUNT);
		if (try_once(generator, (enum mode)(mode % MODE_COUNT), sign, ret))
			return true;
	}
	return false;
}

static int make(struct generator *generator, struct draw *draw, unsigned first, enum sign sign, struct made *ret, struct err *err)
{
	struct value *value = &generator->made;

	generator->draw = draw;
	generator->why = NULL;
	generator->shapes.left = MADE_WORK_MAX;
	if (!try_modes(generator, first, sign, value)) {
		const char *why = !generator->shapes.left ? "it would be larger, or take more work, than any value that is made"
			: draw->replaying		  ? "the choices make none"
			: generator->why		  ? generator->why
							  : "what it asks for is too rare, or contradicts itself";
		return err_set(err, ERR_LIMIT, "no value %s: %s",
			sign == HOLDS ? "that fits the schema was found" : "with exactly one violation was found", why);
	}
	generator->out.len = 0;
	value_write(value, &generator->out);
	*ret = (struct made){.value = value, .text = generator->out.data, .len = generator->out.len};
	return 0;
}

int generator_make(struct generator *generator, struct draw *draw, struct made *ret, struct err *err)
{
	return make(generator, draw, generator->first_mode, HOLDS, ret, err);
}

int generator_make_malformed(struct generator *generator, struct draw *draw, struct made *ret, struct err *err)
{
	return make(generator, draw, MODE_FREE, BROKEN_ONCE, ret, err);
}

/* Dictionaries for the whole: a text's own name may say less than what is around it. */
static unsigned about_hints(const struct generator *generator)
{
	const struct node *root = generator->schema->root;
	const char *texts[] = {generator->options.about, root->description};
	unsigned hints = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		hints |= texts[i] ? dict_hints(texts[i], strlen(texts[i])) : 0;
	for (size_t i = 0; root->map && i < root->map->property_count; i++)
		hints |= dict_hints(root->map->properties[i].key.text, root->map->properties[i].key.len);
	return hints;
}

/* The richest mode in which at least every fourth try comes out right: found by trying, with the same choices each time,
 * so that it does not depend on what is made later. */
static void calibrate(struct generator *generator)
{
	struct draw draw;
	struct value value;

	draw_init(&draw, 1);
	generator->draw = &draw;
	for (unsigned mode = 0; mode < MODE_COUNT; mode++) {
		unsigned good = 0;
		generator->shapes.left = MADE_WORK_MAX;
		for (unsigned i = 0; i < CALIBRATION && generator->shapes.left; i++) {
			draw_restart(&draw);
			draw_force(&draw, mode);
			good += try_once(generator, (enum mode)mode, HOLDS, &value);
		}
		generator->first_mode = mode;
		if (good * 4 >= CALIBRATION)
			break;
		generator->first_mode = 0;
	}
	generator->draw = NULL;
	draw_done(&draw);
}

struct generator *generator_open(const struct schema *schema, const struct generator_options *options, struct err *err)
{
	own(generator_freep) struct generator *generator = xcalloc(1, sizeof(*generator));

	generator->schema = schema;
	if (options)
		generator->options = *options;
	generator->can_be_deep = !generator->options.depth && !generator->options.plain;
	if (!generator->options.depth)
		generator->options.depth = DEFAULT_DEPTH;
	generator->about = about_hints(generator);
	while (generator->options.words && generator->options.words[generator->word_count])
		generator->word_count++;
	shapes_init(&generator->shapes, schema);
	if (generator->shapes.heights[schema->root->id] == HEIGHT_NEVER) {
		(void)err_set(err, ERR_USAGE, "no finite value fits the schema: %s",
			schema->root->never ? "it allows nothing" : "what it requires contains itself, or nothing is allowed there");
		return NULL;
	}
	calibrate(generator);
	return ptr_take(&generator);
}

struct generator *generator_free(struct generator *generator)
{
	if (!generator)
		return NULL;
	shapes_done(&generator->shapes);
	arena_done(&generator->arena);
	buf_done(&generator->out);
	buf_done(&generator->text);
	free(generator);
	return NULL;
}

void generator_freep(struct generator **generator)
{
	*generator = generator_free(*generator);
}
