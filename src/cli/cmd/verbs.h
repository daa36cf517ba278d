/* The verbs: each is one file and one constant; their order in the help is in main.c. */
#ifndef HOTCELL_CLI_CMD_VERBS_H
#define HOTCELL_CLI_CMD_VERBS_H

#include "cli/core/cli.h"

extern const struct cli_verb verb_run, verb_exec, verb_ps, verb_kill, verb_logs, verb_doors, verb_doctor,
	verb_help, verb_version, verb_completion, verb_internal_man;
extern const struct cli_verb verb_campaign_run, verb_campaign_resume, verb_campaign_init, verb_campaign_list,
	verb_campaign_show, verb_campaign_pause, verb_campaign_stop, verb_campaign_rm, verb_campaign_schema;
extern const struct cli_verb verb_profile_list, verb_profile_show, verb_profile_check, verb_profile_learn, verb_profile_schema;
extern const struct cli_verb verb_audit_verify, verb_audit_show;
extern const struct cli_verb verb_findings_list, verb_findings_show, verb_findings_export, verb_findings_suppress;
extern const struct cli_verb verb_corpus_list, verb_corpus_merge, verb_corpus_minimise, verb_corpus_export, verb_corpus_import;
extern const struct cli_verb verb_manifest_create, verb_manifest_verify;
#ifdef HOTCELL_WEAKEN
extern const struct cli_verb verb_self_check;
#endif
extern const struct cli_verb verb_review;
extern const struct cli_verb verb_fuzz_mcp, verb_fuzz_tool, verb_fuzz_function, verb_repro, verb_findings_repro, verb_findings_minimise;
extern const struct cli_verb verb_status, verb_report, verb_metrics, verb_clean;
extern const struct cli_verb verb_trust;

#endif
