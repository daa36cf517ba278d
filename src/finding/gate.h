/* Which findings fail a build: gates, and baselines of what was there before. Pure. */
#ifndef HOTCELL_FINDING_GATE_H
#define HOTCELL_FINDING_GATE_H

#include "finding/words.h"

/* Where GitHub looks for the identity of a result, and where we read it again. */
#define SARIF_FINGERPRINT "hotcell/v1"
#define FINDINGS_FORMAT "hotcell-findings-1"

enum finding_gate { GATE_NONE, GATE_ERROR, GATE_WARNING, GATE_NOTE, GATE_ANY };
bool finding_gate_read(const char *text, enum finding_gate *ret); /* "error", "warning", "note", "any", "none" */
#define BASELINE_MAX ((size_t)64 << 20) /* bytes of its file */
/* Ids that were there before: of SARIF (partialFingerprints), of `findings export --format json`, or of capsules. The text is a
 * stranger's. Errors are ERR_USAGE. */
MUST_CHECK int baseline_read(const char *text, size_t len, const char *name, struct strings *ret, struct err *err);
/* How many are open, not suppressed, not in the baseline (NULL: none), and at or above the gate. */
size_t findings_over(const struct findings *findings, enum finding_gate gate, const struct strings *baseline);

#endif
