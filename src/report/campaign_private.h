/* Between the files of the report: what is gathered from the ledger, and what writes HTML. */
#ifndef HOTCELL_REPORT_CAMPAIGN_PRIVATE_H
#define HOTCELL_REPORT_CAMPAIGN_PRIVATE_H

#include "report/html.h"
#include "campaign/status.h"
#include "view/campaign.h"

#define REPORT_SQUARES 10000
#define REPORT_BARS 5000
#define REPORT_LANES 64 /* workers of the timeline */
#define REPORT_SLOWEST 20
#define REPORT_FAILURES 100
#define REPORT_CAUSES 32
#define REPORT_CAUSE_LEN 100
#define REPORT_TAIL 4096
#define REPORT_LOGS 5000 /* runs whose record of doors is read */
#define REPORT_PLACES 512 /* different ones kept */
#define REPORT_PLACES_SHOWN 25

/* ---- durations: counted in steps of less than half a percent, so that a million cost no more than
 * ten ---- */

#define REPORT_STEPS (57 * 256)
struct report_durations {
	uint64_t count, min_ns, max_ns, sum_ns;
	uint64_t steps[RUN_STATE_COUNT][REPORT_STEPS];
};
unsigned report_step(uint64_t ns);
uint64_t report_step_ns(unsigned step); /* its middle */
uint64_t report_percentile(const struct report_durations *durations, unsigned permille);

/* ---- the rest ---- */

struct report_square {
	uint8_t state; /* the worst of its runs, or RUN_NOT_BEGUN */
	uint64_t number; /* the first run that was so bad; 0: none */
};

struct report_bar {
	uint64_t start_ms, end_ms, number;
	unsigned worker;
	uint8_t state;
};

/* Bars while they are few; then cells of equal time, the worst of what ran in them. */
struct report_timeline {
	struct report_bar *bars;
	size_t bar_count;
	uint64_t from_ms, until_ms;
	unsigned lanes, workers; /* shown, and seen */
	uint8_t *cells; /* lanes x columns, RUN_NOT_BEGUN: idle; NULL while bars are enough */
	unsigned columns;
};

struct report_cause {
	char text[REPORT_CAUSE_LEN];
	uint64_t count, example;
};

/* What the doors' records say of one place. */
struct report_place {
	char *door, *name, *reason;
	unsigned port;
	uint64_t count, sent, received, example; /* a run */
};
struct report_places {
	struct report_place items[REPORT_PLACES];
	size_t count;
	uint64_t beyond; /* connections to places that found no place here */
};

struct report {
	const struct campaign_status *status;
	char *links; /* where the folder of the sessions is, percent-encoded, with / at its end */
	int sessions; /* that folder; -1: gone */
	uint64_t states[RUN_STATE_COUNT];
	struct report_square *squares;
	size_t square_count;
	struct report_durations *durations;
	struct report_timeline timeline;
	struct run_record slowest[REPORT_SLOWEST];
	size_t slowest_count;
	struct run_record failures[REPORT_FAILURES];
	size_t failure_count;
	struct report_cause causes[REPORT_CAUSES];
	size_t cause_count;
	uint64_t causes_beyond; /* failures whose cause found no place */
	uint64_t setup_ns, refused, stdout_bytes, stderr_bytes;
	uint64_t *networked; /* numbers of runs at whose doors something happened, the first REPORT_LOGS */
	size_t networked_count;
	uint64_t networked_all;
};
void report_done(struct report *report);
MUST_CHECK int report_gather(struct report *report, struct ledger *ledger, struct err *err);

/* ---- HTML ---- */

void html_session(struct buf *out, const struct report *report, uint64_t number); /* a link to its folder */

/* The class of a state, as the style has it: "success", ... "idle". */
const char *report_class(uint8_t state);

void report_squares(const struct report *report, struct buf *out);
void report_histogram(const struct report *report, struct buf *out);
void report_lanes(const struct report *report, struct buf *out);
void report_failures(const struct report *report, struct buf *out);
void report_network(const struct report *report, struct buf *out);
/* One line of a run's network.jsonl: into `refused`, `allowed`, or neither. Whatever it is, it does no harm. */
void report_network_line(const char *line, size_t len, uint64_t number, struct report_places *allowed,
	struct report_places *refused);
void report_places_done(struct report_places *places);

#endif
