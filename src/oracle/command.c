/* Programs that were started: by what an argument said ("command"), or only without having been declared ("spawn").
 *
 * Proof that an argument did it: a shell started a program, and what made it do so - a sign that means something to shells,
 * and the program's name behind it - is in the shell's text and in the input alike; a shell started a program with the
 * mark among its words, or wrote a file of that name; the input names the program; or a whole string of the input that
 * begins with a dash became a word of a program that may be started. The input as a part of a shell's text is not enough:
 * it may be quoted well. So is a piece of it as one word of another program's list, which is how it should be done. */
#include <ctype.h>
#include <string.h>

#include "oracle/look.h"

#define PIECE_MIN 4 /* bytes of a word that is in the input not by chance */
#define SHELLS_LOOKED 32 /* of one call */
#define PLACES_LOOKED 8 /* of a name in one text */
#define NAME_LOOKED 255 /* bytes of one */
#define BARE_LOOKED ((size_t)64 << 10) /* bytes of a text or an input that quotes are taken out of */
#define COMM_LEN 15 /* of a process's name, as the kernel keeps it */
#define SHELL_SIGNS ";|&$()`\n\r{}<>\"' \t" /* where a word of a shell's text ends */

static const char *const shells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", NULL};

static bool is_shell(const char *name)
{
	for (size_t i = 0; shells[i]; i++)
		if (strcmp(shells[i], name) == 0)
			return true;
	return false;
}

static const char *name_of(const struct effect *effect)
{
	return path_last(effect->what ? effect->what : "");
}

/* ---- what was declared ---- */

static bool is_allowed(const struct observation *seen, const char *name)
{
	const char *const *spawn = seen->allowed ? seen->allowed->spawn : NULL;

	for (size_t i = 0; spawn && spawn[i]; i++)
		if (strcmp(spawn[i], "*") == 0 || strcmp(path_last(spawn[i]), name) == 0 ||
			(strlen(name) == COMM_LEN && strncmp(path_last(spawn[i]), name, COMM_LEN) == 0))
			return true;
	return false;
}

/* A program that is its work may start its own helpers; a shell may not, or to declare it would be to declare them all.
 */
static bool is_its_work(const struct observation *seen, const struct effect *effect)
{
	return is_allowed(seen, name_of(effect)) || (effect->by && !is_shell(effect->by) && is_allowed(seen, effect->by));
}

/* ---- what the argument did ---- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '/';
}

static bool has_mark(const struct observation *seen, const char *text)
{
	return seen->mark && *seen->mark && text && strstr(text, seen->mark);
}

/* What a shell was given to do: its words are "sh", "-c", the text, and what "$1" stands for. NULL: no text. */
static const char *shell_text(const struct effect *effect)
{
	if (effect->kind != CELL_EFFECT_EXEC || !is_shell(name_of(effect)))
		return NULL;
	for (size_t i = 1; i + 1 < effect->words.count; i++) {
		const char *word = effect->words.items[i];
		if (word[0] == '-' && word[1] != '-' && strchr(word, 'c'))
			return effect->words.items[i + 1];
	}
	return NULL;
}

/* Whether the input holds these bytes with that sign, or the end of a string, behind them. */
static bool is_from_input(const struct observation *seen, const char *from, const char *to, char behind)
{
	own(buf_done) struct buf piece = {0};

	buf_add(&piece, from, (size_t)(to - from));
	buf_char(&piece, behind);
	return behind != '\0' && input_holds(seen, (struct span){piece.data, piece.len});
}

/* Whether a command begins with this name in the text because the input says so: "; name", "$(name", "`name". */
static bool is_begun(const struct observation *seen, const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *at = text;

	for (unsigned looked = 0; len > 0 && len <= NAME_LOOKED && looked < PLACES_LOOKED && (at = strstr(at, name)); looked++, at += len) {
		const char *from = at;
		if (in_word(at[len]))
			continue;
		while (from > text && !strchr(SHELL_SIGNS, from[-1])) /* a path before it, whatever its folders are called */
			from--;
		while (from > text && (from[-1] == ' ' || from[-1] == '\t'))
			from--;
		if (from == text || !strchr(";|&$()`\n\r{}", from[-1]))
			continue;
		if (is_from_input(seen, from - 1, at + len, at[len]))
			return true;
		/* a string of the input may end within the name, and the target's own text go on */
		for (size_t part = len; part > 0; part--)
			if (is_from_input(seen, from - 1, at + part, '"'))
				return true;
	}
	return false;
}

/* ---- the same without quotes ---- */

/* What a shell takes away before it looks for a program: "|'/x y'" starts "/x y". */
static void text_bare(const char *text, struct buf *ret)
{
	for (; *text; text++)
		if (!strchr("'\"\\", *text))
			buf_char(ret, *text);
	buf_char(ret, '\0');
}

/* The quotes around strings of JSON stay: they say where a string of the input ends. */
static void input_bare(const struct observation *seen, struct buf *ret)
{
	for (size_t i = 0; i < seen->len; i++) {
		bool taken = seen->input[i] == '\\' && i + 1 < seen->len && strchr("\"\\", seen->input[i + 1]);
		if (!taken && seen->input[i] != '\'')
			buf_char(ret, seen->input[i]);
		i += taken;
	}
}

static bool is_begun_bare(const struct observation *seen, const char *text, const char *typed)
{
	own(buf_done) struct buf input = {0}, bare = {0}, name = {0};
	struct observation without = *seen;

	if (!strpbrk(text, "'\"\\") || seen->len > BARE_LOOKED || strlen(text) > BARE_LOOKED)
		return false;
	input_bare(seen, &input);
	text_bare(text, &bare);
	text_bare(typed, &name);
	without.input = input.data;
	without.len = input.len;
	return is_begun(&without, bare.data, name.data);
}

/* A program that a shell started, or a file that it wrote, because the input says so. */
static bool is_shells_doing(const struct observation *seen, const struct effect *effect)
{
	if (!effect->by || !is_shell(effect->by))
		return false;
	for (size_t i = 0; i < effect->words.count; i++)
		if (has_mark(seen, effect->words.items[i]))
			return true;
	if (effect->kind != CELL_EFFECT_EXEC)
		return effect->kind == CELL_EFFECT_WRITE && has_mark(seen, effect->what);
	unsigned looked = 0;
	const char *typed = effect->words.count ? effect->words.items[0] : ""; /* as it is in the text: "./x/" */
	for (size_t i = 0; i < seen->effect_count && looked < SHELLS_LOOKED; i++) {
		const char *text = shell_text(&seen->effects[i]);
		looked += text != NULL;
		if (text && (is_begun(seen, text, name_of(effect)) || is_begun(seen, text, typed) || is_begun_bare(seen, text, typed)))
			return true;
	}
	return false;
}

/* A string of the input that begins with a dash, whole, as a word before "--". */
static const char *option_of(const struct observation *seen, const struct effect *effect)
{
	for (size_t i = 1; i < effect->words.count; i++) {
		const char *word = effect->words.items[i];
		own(buf_done) struct buf quoted = {0};
		if (strcmp(word, "--") == 0)
			return NULL;
		if (word[0] != '-' || strlen(word) < PIECE_MIN)
			continue;
		buf_fmt(&quoted, "\"%s\"", word);
		if (input_holds(seen, (struct span){quoted.data, quoted.len}))
			return word;
	}
	return NULL;
}

/* The name and no part of a longer one. */
static bool input_has_word(const struct observation *seen, const char *name, size_t len)
{
	struct span left = {seen->input ? seen->input : "", seen->input ? seen->len : 0};
	const char *at, *begin = left.at, *end = left.at + left.len;

	while ((at = span_find(left, name, len))) {
		if ((at == begin || !in_word(at[-1])) && (at + len == end || !in_word(at[len])))
			return true;
		left = (struct span){at + len, (size_t)(end - at) - len};
	}
	return false;
}

static bool is_chosen(const struct observation *seen, const struct effect *effect)
{
	const char *name = name_of(effect);

	if (seen->mark && *seen->mark && strstr(name, seen->mark))
		return true;
	return strlen(name) >= PIECE_MIN && !is_shell(name) && input_has_word(seen, name, strlen(name));
}

enum injection { INJECTED_NOT, INJECTED_OPTION, INJECTED_SHELL, INJECTED_PROGRAM };

static enum injection injection_of(const struct observation *seen, const struct effect *effect)
{
	if (effect->kind == CELL_EFFECT_EXEC) {
		if (option_of(seen, effect))
			return INJECTED_OPTION;
		if (is_its_work(seen, effect))
			return INJECTED_NOT;
	}
	if (is_shells_doing(seen, effect))
		return INJECTED_SHELL;
	return effect->kind == CELL_EFFECT_EXEC && is_chosen(seen, effect) ? INJECTED_PROGRAM : INJECTED_NOT;
}

void injections_find(const struct observation *seen, struct injections *ret)
{
	*ret = (struct injections){.kinds = xcalloc(seen->effect_count + 1, 1)};
	for (size_t i = 0; i < seen->effect_count; i++)
		ret->kinds[i] = (unsigned char)injection_of(seen, &seen->effects[i]);
}

void injections_done(struct injections *injections)
{
	free(injections->kinds);
	*injections = (struct injections){0};
}

/* ---- verdicts ---- */

static void prove_words(struct verdict *verdict, const struct effect *effect)
{
	own(buf_done) struct buf words = {0};

	if (effect->kind != CELL_EFFECT_EXEC) {
		verdict_prove(verdict, "%s: %s %s", effect->by, cell_effect_name(effect->kind), effect->what);
		return;
	}
	for (size_t i = 0; i < effect->words.count && words.len < 1024; i++)
		buf_fmt(&words, "%s\"%s\"", i ? " " : "", effect->words.items[i]);
	verdict_prove(verdict, "%s started %s: %s", effect->by && *effect->by ? effect->by : "it",
		effect->what ? effect->what : "", buf_text(&words));
}

void judge_command(const struct observation *seen, struct verdicts *ret)
{
	own(injections_done) struct injections injected = {0};

	injections_find(seen, &injected);
	for (size_t i = 0; i < seen->effect_count; i++) {
		const struct effect *effect = &seen->effects[i];
		struct verdict *verdict = NULL;
		switch ((enum injection)injected.kinds[i]) {
		case INJECTED_NOT: continue;
		case INJECTED_OPTION:
			verdict = verdict_once(ret, "command", "the argument became an option of %s", name_of(effect));
			break;
		case INJECTED_SHELL: verdict = verdict_once(ret, "command", "the argument reached a shell"); break;
		case INJECTED_PROGRAM:
			verdict = verdict_once(ret, "command", "the argument chose the program that was started");
			break;
		}
		prove_words(verdict, effect);
		for (size_t k = 0; k < i && injected.kinds[i] == INJECTED_SHELL; k++)
			if (shell_text(&seen->effects[k])) /* the text that it comes from */
				prove_words(verdict, &seen->effects[k]);
	}
}

bool injections_tell(const struct injections *injected, const struct observation *seen, const struct effect *effect,
	struct verdicts *ret)
{
	struct verdict *verdict = verdict_find(ret, "command");

	if (!verdict || !injected->kinds || !effect->by || !*effect->by)
		return false;
	for (size_t i = 0; i < seen->effect_count; i++) {
		bool same = strncmp(name_of(&seen->effects[i]), effect->by, COMM_LEN) == 0;
		if (injected->kinds[i] == INJECTED_NOT || (!same && (injected->kinds[i] != INJECTED_SHELL || !is_shell(effect->by))))
			continue;
		verdict_prove(verdict, "then %s: %s %s", effect->by, cell_effect_name(effect->kind),
			effect->what ? effect->what : "");
		return true;
	}
	return false;
}

/* A name that a shell made of a text with signs of the input's in it: "$0/x" starts "x" of a folder "sh". Each input gives another
 * one, and none of them is a fault of its own. */
static bool is_made_up(const struct observation *seen, const struct effect *effect)
{
	bool expands = false;

	if (!effect->by || !is_shell(effect->by))
		return false;
	for (size_t i = 0; i < seen->effect_count; i++) {
		const char *text = shell_text(&seen->effects[i]);
		if (text && strstr(text, name_of(effect)))
			return false;
		for (const char *sign = "$`\\'*?~"; text && *sign; sign++)
			expands |= strchr(text, *sign) && memchr(seen->input, *sign, seen->len);
	}
	return expands;
}

void judge_spawn(const struct observation *seen, struct verdicts *ret)
{
	own(injections_done) struct injections injected = {0};
	bool shell = false; /* one did what the argument says: it is told there */

	injections_find(seen, &injected);
	for (size_t i = 0; i < seen->effect_count; i++)
		shell |= injected.kinds[i] == INJECTED_SHELL;
	for (size_t i = 0; i < seen->effect_count; i++) {
		const struct effect *effect = &seen->effects[i];
		if (effect->kind != CELL_EFFECT_EXEC || injected.kinds[i] != INJECTED_NOT || is_its_work(seen, effect) ||
			(shell && shell_text(effect)) || injections_tell(&injected, seen, effect, ret))
			continue;
		prove_words(verdict_once(ret, "spawn", "a program was started: %s",
			is_made_up(seen, effect) ? "by a name that a shell made" : name_of(effect)), effect);
	}
}
