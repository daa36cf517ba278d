#include "cli/hide.h"

#include <string.h>

static struct redactor *hidden;

static void hide(struct redactor *redactor)
{
	struct redactor *before = hidden;

	hidden = redactor;
	(void)redactor_free(before);
}

void cli_hide(const struct secrets *secrets)
{
	hide(secrets_redactor(secrets, false));
}

void cli_hide_nothing(void)
{
	hide(NULL);
}

const struct redactor *cli_hidden(void)
{
	return hidden;
}

static const char *value_of(const char *word, const char *option)
{
	size_t len = strlen(option);

	return strncmp(word, option, len) == 0 ? word + len : NULL;
}

void cli_hide_words(const char *const *words, size_t count)
{
	own(freep) const char **env = xcalloc(count + 1, sizeof(*env));
	own(freep) const char **names = xcalloc(count + 1, sizeof(*names));
	size_t env_count = 0, name_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (value_of(words[i], "--env="))
			env[env_count++] = value_of(words[i], "--env=");
		else if (value_of(words[i], "--secret-env="))
			names[name_count++] = value_of(words[i], "--secret-env=");
	}
	if (env_count > 0)
		cli_hide(&(struct secrets){.env = env, .names = names});
}

char *cli_hidden_command(const char *const *argv)
{
	struct buf text = {0};

	for (size_t i = 0; argv && argv[i]; i++) {
		if (i > 0)
			buf_char(&text, ' ');
		redact_show(hidden, REDACT_VALUES, argv[i], strlen(argv[i]), &text);
	}
	return text.data ? buf_take(&text) : xstrdup("");
}
