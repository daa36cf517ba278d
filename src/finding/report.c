/* Findings as tables and files. See report.h. */
#include "finding/report.h"

static const char *const names[] = {
	[FINDINGS_TABLE] = "table", [FINDINGS_JSON] = "json", [FINDINGS_CSV] = "csv", [FINDINGS_SARIF] = "sarif",
	[FINDINGS_HTML] = "html", [FINDINGS_MD] = "md",
};
_Static_assert(sizeof(names) / sizeof(*names) == FINDING_FORMAT_COUNT, "a format has no name");

const char *finding_format_name(enum finding_format format)
{
	return names[format];
}
