#ifndef HOTCELL_CLI_CONFIG_H
#define HOTCELL_CLI_CONFIG_H
#include "cli/cli.h"
struct config_words { char **words; size_t count; char **command; };
int config_read(const struct cli_verb *verb, const char *path, struct config_words *ret, struct err *err);
void config_words_done(struct config_words *words);
#endif
