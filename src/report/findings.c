/* Findings as tables and files: what the formats have in common. See findings.h. */
#include "report/findings.h"

#include "base/own.h"
#include "report/findings_private.h"
#include "view/findings.h"

static const struct {
	const char *name;
	void (*write)(const struct findings *findings, struct buf *out);
} formats[] = {
	[FINDINGS_TABLE] = {"table", findings_table},
	[FINDINGS_JSON] = {"json", findings_json},
	[FINDINGS_CSV] = {"csv", findings_csv},
	[FINDINGS_SARIF] = {"sarif", findings_sarif},
	[FINDINGS_HTML] = {"html", findings_html},
	[FINDINGS_MD] = {"md", findings_md},
};
_Static_assert(ARRAY_LEN(formats) == FINDING_FORMAT_COUNT, "a format has no name");

const char *finding_format_name(enum finding_format format)
{
	return formats[format].name;
}

void findings_write(const struct findings *findings, enum finding_format format, struct buf *out)
{
	formats[format].write(findings, out);
}
