/* Words for the generator that lead to canaries and that leave a mark. Pure. See plant.h.
 *
 * Words are drawn evenly, so each has to earn its place: one for each way in which programs get it wrong, none for
 * the fun. The top of a cell is its own parent: eight steps up are enough from anywhere, and no step too many. */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz/tool/plant.h"

#define STEPS 8

static void add(struct strings *words, struct buf *word)
{
	strings_add(words, buf_text(word));
	word->len = 0;
}

/* `up` so often, then the path with its slashes written as `slash`. */
static void climb(struct strings *words, const char *up, unsigned steps, const char *slash, const char *path)
{
	own(buf_done) struct buf word = {0};

	for (unsigned i = 0; i < steps; i++)
		buf_str(&word, up);
	for (path++; *path; path++) {
		if (*path == '/')
			buf_str(&word, slash);
		else
			buf_char(&word, *path);
	}
	add(words, &word);
}

/* Every byte but letters and digits as %NN, or as %25NN. */
static void percent(struct strings *words, const char *prefix, const char *path)
{
	own(buf_done) struct buf word = {0};

	for (unsigned i = 0; i < STEPS; i++)
		buf_fmt(&word, "%s2e%s2e%s2f", prefix, prefix, prefix);
	for (path++; *path; path++) {
		if (isalnum((unsigned char)*path))
			buf_char(&word, *path);
		else
			buf_fmt(&word, "%s%02x", prefix, (unsigned char)*path);
	}
	add(words, &word);
}

void words_path(struct strings *words, const char *path, bool all)
{
	own(buf_done) struct buf word = {0};

	strings_add(words, path);
	climb(words, "../", STEPS, "/", path);
	if (!all)
		return;
	for (unsigned i = 1; i <= 4; i++)
		climb(words, "../", i, "/", path);
	climb(words, "..%2f", STEPS, "%2f", path);
	percent(words, "%", path);
	percent(words, "%25", path);
	climb(words, "....//", STEPS, "/", path); /* where "../" is taken out once */
	climb(words, "..\\", STEPS, "\\", path);
	buf_fmt(&word, "file://%s", path);
	add(words, &word);
	buf_fmt(&word, "%s%%00.txt", path);
	add(words, &word);
	buf_fmt(&word, "/proc/self/root%s", path);
	add(words, &word);
}

void words_below(struct strings *words, const char *folder, const char *path)
{
	own(buf_done) struct buf word = {0};

	buf_fmt(&word, "%s/", folder);
	for (const char *at = folder; *at; at++) {
		if (*at == '/')
			buf_str(&word, "../");
	}
	buf_str(&word, path + 1);
	add(words, &word);
}

void words_variable(struct strings *words, const char *name)
{
	static const char *const around[][2] = {{"", ""}, {"$", ""}, {"${", "}"}, {"%", "%"}, {"{{env.", "}}"}};

	for (size_t i = 0; i < ARRAY_LEN(around); i++) {
		own(buf_done) struct buf word = {0};
		buf_fmt(&word, "%s%s%s", around[i][0], name, around[i][1]);
		add(words, &word);
	}
}

void words_commands(struct strings *words, const char *mark)
{
	static const char *const commands[] = {
		"; touch /tmp/%s",
		"| touch /tmp/%s",
		"&& touch /tmp/%s",
		"\ntouch /tmp/%s\n",
		"$(touch /tmp/%s)",
		"`touch /tmp/%s`",
		"'; touch /tmp/%s; '",
		"\"; touch /tmp/%s; \"",
		";touch${IFS}/tmp/%s;",
		"--output=/tmp/%s",
		"--upload-pack=touch /tmp/%s",
		"-o/tmp/%s",
		"__import__('os').system('touch /tmp/%s')",
		"require('child_process').execSync('touch /tmp/%s')",
	};

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		own(buf_done) struct buf word = {0};
		const char *at = strstr(commands[i], "%s");
		buf_add(&word, commands[i], (size_t)(at - commands[i]));
		buf_str(&word, mark);
		buf_str(&word, at + 2);
		add(words, &word);
	}
}
