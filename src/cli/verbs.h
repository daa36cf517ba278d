/* The verbs: each is one file and one constant; their order in the help is in main.c. */
#ifndef HOTCELL_CLI_VERBS_H
#define HOTCELL_CLI_VERBS_H

#include "cli/cli.h"

extern const struct cli_verb verb_run, verb_exec, verb_ps, verb_kill, verb_logs, verb_doctor,
	verb_campaign_run, verb_campaign_resume, verb_help, verb_version, verb_completion, verb_internal_man;

#endif
