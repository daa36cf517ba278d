/* The numbers of campaigns as Prometheus text. */
#ifndef HOTCELL_REPORT_METRICS_H
#define HOTCELL_REPORT_METRICS_H

#include "campaign/status.h"

/* All of these campaigns (label `campaign`), one block of HELP, TYPE and samples a metric. */
void metrics_text(const struct campaign_status *statuses, size_t count, struct buf *out);

#endif
