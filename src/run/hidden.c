#include "run/hidden.h"

#include <string.h>

static struct redactor *hidden;

static void hide(struct redactor *redactor)
{
	struct redactor *before = hidden;

	hidden = redactor;
	(void)redactor_free(before);
}

void hidden_set(const struct secrets *secrets)
{
	hide(secrets_redactor(secrets, false));
}

void hidden_nothing(void)
{
	hide(NULL);
}

const struct redactor *hidden_redactor(void)
{
	return hidden;
}

/* What an option is given: behind its '=', or as the next word. NULL: this is another one, or nothing follows. */
static const char *value_of(const char *const *words, size_t count, size_t at, const char *option)
{
	size_t len = strlen(option);

	if (strncmp(words[at], option, len) != 0)
		return NULL;
	return words[at][len] == '=' ? words[at] + len + 1 : words[at][len] == '\0' && at + 1 < count ? words[at + 1] : NULL;
}

void hidden_words(const char *const *words, size_t count)
{
	own(freep) const char **env = xcalloc(count + 1, sizeof(*env));
	own(freep) const char **names = xcalloc(count + 1, sizeof(*names));
	own(freep) char **passed = xcalloc(count + 1, sizeof(*passed));
	size_t env_count = 0, name_count = 0, passed_count = 0;

	for (size_t i = 0; i < count; i++) {
		const char *pair = value_of(words, count, i, "--env"), *secret = value_of(words, count, i, "--secret-env");
		const char *own_name = value_of(words, count, i, "--pass-env"), *own_value = own_name ? getenv(own_name) : NULL;
		if (pair)
			env[env_count++] = pair;
		if (secret)
			names[name_count++] = secret;
		if (own_value)
			env[env_count++] = passed[passed_count++] = xfmt("%s=%s", own_name, own_value);
	}
	if (env_count > 0)
		hidden_set(&(struct secrets){.env = env, .names = names});
	for (size_t i = 0; i < passed_count; i++) {
		explicit_bzero(passed[i], strlen(passed[i]));
		free(passed[i]);
	}
}

char *hidden_command(const char *const *argv)
{
	struct buf text = {0};

	for (size_t i = 0; argv && argv[i]; i++) {
		if (i > 0)
			buf_char(&text, ' ');
		redact_show(hidden, REDACT_VALUES, argv[i], strlen(argv[i]), &text);
	}
	return text.data ? buf_take(&text) : xstrdup("");
}
