/* What every `hotcell fuzz` keeps and tells of its findings, whatever it fuzzes: the project's store, what was seen this time, the
 * gate, the SARIF log, the audit log. */
#ifndef HOTCELL_CLI_FUZZ_KEPT_H
#define HOTCELL_CLI_FUZZ_KEPT_H

#include "audit/audit.h"
#include "cli/fuzz_cells.h"
#include "report/findings.h"

struct fuzz_kept {
	struct finding_store store; /* what is written to */
	struct strings seen, fresh; /* ids of this time; those that the store did not have */
	struct strings baseline;
	enum finding_gate gate;
	unsigned severities[SEVERITY_COUNT]; /* of what was seen */
	struct err failed; /* the store could not be written: told when it happens, and in the end by the exit code */
	char *elsewhere; /* where the capsules of those are that could not be written to it; NULL: there are none */
	int elsewhere_fd; /* it, if `elsewhere` is not NULL */
};

void fuzz_kept_done(struct fuzz_kept *kept);
/* Reads --baseline, and sees that the SARIF log can be written; both may be NULL. Before anything is run. */
MUST_CHECK int fuzz_kept_gate(struct fuzz_kept *kept, const char *fail_on, const char *baseline, const char *sarif, struct err *err);
/* Opens the store, and says what in it is no finding. */
MUST_CHECK int fuzz_kept_open(struct fuzz_kept *kept, const char *folder, struct err *err);

/* Once a finding and run: it may come again when it is made smaller. True: for the first time. */
bool fuzz_kept_count(struct fuzz_kept *kept, const struct finding *finding);
/* Writes a finished one to the store. True: the store did not have it. */
bool fuzz_kept_add(struct fuzz_kept *kept, struct finding *finding, bool first);
/* One that was known and was tried first. True: it is fixed now, and was open. */
bool fuzz_kept_retried(struct fuzz_kept *kept, const struct finding *finding, bool still);
void fuzz_kept_fail(struct fuzz_kept *kept, const struct err *err);

/* What was seen this time, as the store has it, by severity. The caller frees the list. */
const struct finding **fuzz_kept_list(const struct fuzz_kept *kept, size_t *ret_count);
struct findings fuzz_findings(const struct finding *const *list, size_t count, const char *title, const struct strings *gaps,
	const char *folder);
/* The table, and how to see each again; nothing where there is none. `folder` is the store's. */
void fuzz_put_findings(const struct findings *findings, struct buf *out);
/* The text for people: to stdout, or to stderr where that is a document's, since one of the files (NULL: none) is "-". Returns 0, or the
 * exit code of our failure. */
int fuzz_print(const struct buf *text, const char *file, const char *other);
/* To a file, or to stdout for "-". Returns 0, or the exit code of our failure. */
int fuzz_write_sarif(const struct findings *findings, const char *path);

/* ---- the audit log ---- */

MUST_CHECK int fuzz_log_start(
	struct audit *audit, const char *target, const char *kind, size_t tools, size_t known, struct err *err);
MUST_CHECK int fuzz_log_end(struct audit *audit, const char *target, uint64_t calls, size_t findings, size_t fresh, size_t fixed, int code,
	const struct fuzz_cells *cells, struct err *err);
/* What came of trying a finding again: event "repro" or "minimise". */
MUST_CHECK int fuzz_log_again(struct audit *audit, const char *event, const struct finding *finding, const char *verdict, struct err *err);

#endif
