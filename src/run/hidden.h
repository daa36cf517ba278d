/* What hotcell was given as a secret, for everything this process says and writes about it. One a process: set as soon as
 * more is known, asked for by every writer. */
#ifndef HOTCELL_RUN_HIDDEN_H
#define HOTCELL_RUN_HIDDEN_H

#include "run/secrets.h"

/* The values of --env and --pass-env anywhere among the words of a command line, with --secret-env: before it is read, so
 * that what is wrong with it is said without them. Without any, what was set stays. */
void hidden_words(const char *const *words, size_t count);
/* Replaces what was set before. After a fork the child sets it anew: secrets are not handed on. */
void hidden_set(const struct secrets *secrets);
void hidden_nothing(void); /* wipes it */
const struct redactor *hidden_redactor(void); /* NULL: nothing is set */
char *hidden_command(const char *const *argv); /* a command as 'hotcell ps' may show it; the caller frees */

#endif
