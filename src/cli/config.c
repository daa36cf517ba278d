#include "cli/config.h"

int config_read(const struct cli_verb *verb, const char *path, struct config_words *ret, struct err *err)
{
	(void)verb;
	(void)ret;
	return err_set(err, ERR_USAGE, "%s: campaign files are not read yet", path);
}

void config_words_done(struct config_words *words)
{
	*words = (struct config_words){0};
}
