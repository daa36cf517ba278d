/* Programs that were started: by what an argument said ("command"), or only without having been declared ("spawn").
 *
 * Proof that an argument did it: a shell was given a text that holds a piece of the input outside of single quotes; a
 * shell that was given such a text started the program; the input names the program; or a whole string of the input
 * that begins with a dash became a word of a program that may be started. A piece of the input as one word of another
 * program's list is how it should be done, and proves nothing. */
#include <ctype.h>
#include <string.h>

#include "oracle/look.h"

#define PIECE_MIN 4 /* bytes of a word that is in the input not by chance */
#define PLAIN_MIN 8 /* of one of small letters only */
#define SHELLS_LOOKED 32 /* of one call */
#define PIECES_LOOKED 32 /* of one text */
#define COMM_LEN 15 /* of a process's name, as the kernel keeps it */

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

/* Words such as "status" are in inputs and in commands by chance. */
static bool is_distinctive(const char *word, size_t len)
{
	size_t small = 0;

	for (size_t i = 0; i < len; i++)
		small += (word[i] >= 'a' && word[i] <= 'z') || word[i] == '-';
	return len >= PIECE_MIN && (small < len || len >= PLAIN_MIN);
}

/* Where the text holds a piece of the input: the mark, or a word of some length. */
static const char *piece_in(const struct observation *seen, const char *text, size_t *ret)
{
	if (seen->mark && *seen->mark) {
		const char *at = strstr(text, seen->mark);
		*ret = strlen(seen->mark);
		if (at)
			return at;
	}
	for (unsigned looked = 0; *text && looked < PIECES_LOOKED; looked++) {
		size_t len = strcspn(text, " \t\n;|&<>()$`'\"");
		if (is_distinctive(text, len) && strncmp(text, "/usr/", 5) != 0 && strncmp(text, "/bin/", 5) != 0 &&
			input_holds(seen, (struct span){text, len})) {
			*ret = len;
			return text;
		}
		text += len + (text[len] != '\0');
	}
	return NULL;
}

/* Inside of single quotes a shell takes everything as it is. */
static bool is_quoted(const char *text, const char *at)
{
	bool single = false, twofold = false;

	for (; text < at; text++) {
		if (*text == '\\' && !single && text + 1 < at)
			text++;
		else if (*text == '\'' && !twofold)
			single = !single;
		else if (*text == '"' && !single)
			twofold = !twofold;
	}
	return single;
}

/* A shell whose text holds a piece of the input. Its words are "sh", "-c", the text, and what "$1" stands for. */
static bool is_shell_fed(const struct observation *seen, const struct effect *effect)
{
	size_t len;

	for (size_t i = 1; i + 1 < effect->words.count; i++) {
		const char *word = effect->words.items[i], *text = effect->words.items[i + 1];
		if (word[0] != '-' || word[1] == '-' || !strchr(word, 'c'))
			continue;
		const char *piece = piece_in(seen, text, &len);
		return piece && !is_quoted(text, piece);
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

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
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

/* `fed`: it is a shell that was given a piece of the input; `any`: there is one. */
static enum injection injection_of(const struct observation *seen, const struct effect *effect, bool fed, bool any)
{
	if (effect->kind != CELL_EFFECT_EXEC)
		return INJECTED_NOT;
	if (option_of(seen, effect))
		return INJECTED_OPTION;
	if (is_its_work(seen, effect))
		return INJECTED_NOT;
	if (fed || (any && effect->by && is_shell(effect->by)))
		return INJECTED_SHELL;
	return is_chosen(seen, effect) ? INJECTED_PROGRAM : INJECTED_NOT;
}

void injections_find(const struct observation *seen, struct injections *ret)
{
	unsigned looked = 0;
	bool any = false;

	*ret = (struct injections){.kinds = xcalloc(seen->effect_count + 1, 1)};
	for (size_t i = 0; i < seen->effect_count && looked < SHELLS_LOOKED; i++) {
		const struct effect *effect = &seen->effects[i];
		bool shell = effect->kind == CELL_EFFECT_EXEC && is_shell(name_of(effect));
		bool fed = shell && is_shell_fed(seen, effect);
		looked += shell;
		any |= fed;
		ret->kinds[i] = fed ? INJECTED_SHELL : INJECTED_NOT;
	}
	for (size_t i = 0; i < seen->effect_count; i++)
		ret->kinds[i] = (unsigned char)injection_of(seen, &seen->effects[i], ret->kinds[i] == INJECTED_SHELL, any);
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
	}
}

bool injections_tell(const struct injections *injected, const struct observation *seen, const struct effect *effect,
	struct verdicts *ret)
{
	struct verdict *verdict = verdict_find(ret, "command");

	if (!verdict || !injected->kinds || !effect->by || !*effect->by)
		return false;
	for (size_t i = 0; i < seen->effect_count; i++) {
		if (injected->kinds[i] == INJECTED_NOT || strncmp(name_of(&seen->effects[i]), effect->by, COMM_LEN) != 0)
			continue;
		verdict_prove(verdict, "then %s: %s %s", effect->by, cell_effect_name(effect->kind),
			effect->what ? effect->what : "");
		return true;
	}
	return false;
}

void judge_spawn(const struct observation *seen, struct verdicts *ret)
{
	own(injections_done) struct injections injected = {0};

	injections_find(seen, &injected);
	for (size_t i = 0; i < seen->effect_count; i++) {
		const struct effect *effect = &seen->effects[i];
		if (effect->kind != CELL_EFFECT_EXEC || injected.kinds[i] != INJECTED_NOT || is_its_work(seen, effect) ||
			injections_tell(&injected, seen, effect, ret))
			continue;
		prove_words(verdict_once(ret, "spawn", "a program was started: %s", name_of(effect)), effect);
	}
}
