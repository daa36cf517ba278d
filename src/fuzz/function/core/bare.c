/* Without cells nothing is mounted. A plan names the folders that a cell would see (/target, /fuzz, /engine, /tmp): here they
 * become those of the host, in words, in what is set in the environment, and in files that were made for the plan. */
#include <ctype.h>
#include <string.h>

#include "fuzz/function/core/run.h"

/* Of a longer path, or of a word that is none. */
static bool is_name(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || (c != '\0' && strchr("._-+~%@/", c));
}

/* A path begins at `at`: nothing of a name is before it, but for flags that are written together with it, such as -I. */
static bool begins(const char *text, const char *at)
{
	if (at == text || !is_name(at[-1]))
		return true;
	return at - text >= 2 && isalpha((unsigned char)at[-1]) && at[-2] == '-' && (at - text == 2 || !is_name(at[-3]));
}

void bare_put(const char *text, const struct bare_root *roots, struct buf *out)
{
	for (const char *at = text; *at;) {
		const struct bare_root *root = roots;
		size_t len = 0;
		for (; *at == '/' && root->inside; root++) {
			len = strlen(root->inside);
			if (strncmp(at, root->inside, len) == 0 && (at[len] == '/' || !is_name(at[len])) && begins(text, at))
				break;
		}
		if (*at == '/' && root->inside) {
			buf_str(out, root->outside);
			at += len;
		} else {
			buf_char(out, *at++);
		}
	}
}

#define ROOTS_MAX 5

static void roots_of(const struct place *place, struct bare_root ret[ROOTS_MAX])
{
	const struct bare_root all[] = {{FUNCTION_ROOT, place->target->root}, {FUNCTION_WORK, place->folders[PLACE_WORK]},
		{"/tmp", place->folders[PLACE_OUT]}, {FUNCTION_ENGINE, place->plan.engine}};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].outside)
			ret[count++] = all[i];
	ret[count] = (struct bare_root){0};
}

char *place_text(const struct fuzzing *it, const struct place *place, const char *text)
{
	struct bare_root roots[ROOTS_MAX];
	struct buf out = {0};

	if (!it->options->bare)
		return xstrdup(text);
	roots_of(place, roots);
	bare_put(text, roots, &out);
	return out.len ? buf_take(&out) : xstrdup("");
}

/* What a shell, a string of C or JSON would read as something else cannot be put into every plan as it is. */
int place_check_bare(const struct fuzzing *it, const struct place *place, struct err *err)
{
	struct bare_root roots[ROOTS_MAX];

	if (!it->options->bare)
		return 0;
	roots_of(place, roots);
	for (const struct bare_root *root = roots; root->inside; root++)
		for (const char *at = root->outside; *at; at++)
			if (!is_name(*at) && !strchr(",=", *at))
				return err_set(err, ERR_USAGE,
					"without a sandbox '%.160s' cannot be used: a space or sign in its name would be read as something else; "
					"move it, or leave out --no-sandbox", root->outside);
	return 0;
}
