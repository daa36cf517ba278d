#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "report/metrics.h"

#define NOW UINT64_C(1700000000000)

/* ---- a reader as strict as Prometheus' own ---- */

#define MAX_SAMPLES 2000

struct sample {
	char series[256]; /* name and labels, as written */
	double value;
};

struct reader {
	struct sample samples[MAX_SAMPLES];
	size_t count;
	char family[80], type[16];
	char families[200][80];
	size_t family_count;
};

static bool is_name_char(char c, bool first)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (!first && c >= '0' && c <= '9');
}

static size_t name_len(const char *at)
{
	size_t len = 0;

	while (is_name_char(at[len], len == 0))
		len++;
	assert_true(len > 0);
	return len;
}

static void begin_family(struct reader *reader, const char *line)
{
	const char *name = line + strlen("# HELP ");
	size_t len = name_len(name);

	assert_int_equal(name[len], ' ');
	assert_true(strlen(name + len + 1) > 5);
	assert_true(len < sizeof(reader->family));
	(void)snprintf(reader->family, sizeof(reader->family), "%.*s", (int)len, name);
	reader->type[0] = '\0';
	for (size_t i = 0; i < reader->family_count; i++)
		if (strcmp(reader->families[i], reader->family) == 0)
			fail_msg("%s comes twice", reader->family);
	(void)snprintf(reader->families[reader->family_count++], 80, "%s", reader->family);
}

static void read_type(struct reader *reader, const char *line)
{
	char name[80], type[16];

	assert_int_equal(sscanf(line, "# TYPE %79s %15s", name, type), 2);
	assert_string_equal(name, reader->family);
	assert_int_equal(reader->type[0], '\0');
	assert_true(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 ||
		strcmp(type, "summary") == 0);
	/* The habit: counters, and nothing else, end so. */
	size_t len = strlen(name);
	assert_int_equal(
		strcmp(type, "counter") == 0, len > 6 && strcmp(name + len - 6, "_total") == 0);
	(void)snprintf(reader->type, sizeof(reader->type), "%s", type);
}

/* From { to behind }. */
static const char *skip_labels(const char *at)
{
	while (*at++ != '}') {
		size_t len = name_len(at);
		assert_int_equal(at[len], '=');
		assert_int_equal(at[len + 1], '"');
		for (at += len + 2; *at != '"';) {
			int size = utf8_char(at, strlen(at));
			assert_true(size > 0);
			if (*at == '\\')
				assert_true(at[1] == '\\' || at[1] == '"' || at[1] == 'n');
			at += *at == '\\' ? 2 : size;
		}
		at++;
		assert_true(*at == ',' || *at == '}');
	}
	return at;
}

static void read_sample(struct reader *reader, const char *line)
{
	struct sample *sample = &reader->samples[reader->count++];
	size_t len = name_len(line), family = strlen(reader->family);
	const char *suffix = line + family;
	char *end;

	assert_true(reader->count <= MAX_SAMPLES);
	assert_true(len >= family && strncmp(line, reader->family, family) == 0);
	if (strcmp(reader->type, "summary") == 0)
		assert_true(strncmp(suffix, "_sum", 4) == 0 || strncmp(suffix, "_count", 6) == 0);
	else
		assert_int_equal(len, family);
	assert_true(reader->type[0] != '\0');
	const char *space = line[len] == '{' ? skip_labels(line + len) : line + len;
	assert_int_equal(*space, ' ');
	(void)snprintf(sample->series, sizeof(sample->series), "%.*s", (int)(space - line), line);
	sample->value = strtod(space + 1, &end);
	assert_true(
		end > space + 1 && *end == '\0' && isfinite(sample->value) && sample->value >= 0);
	for (size_t i = 0; i + 1 < reader->count; i++)
		if (strcmp(reader->samples[i].series, sample->series) == 0)
			fail_msg("%s comes twice", sample->series);
}

static struct reader *read_all(const struct campaign_status *statuses, size_t count)
{
	own(buf_done) struct buf out = {0};
	struct reader *reader = xcalloc(1, sizeof(*reader));

	metrics_text(statuses, count, &out);
	assert_true(out.len > 0 && out.data[out.len - 1] == '\n');
	for (char *line = out.data, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (strncmp(line, "# HELP ", 7) == 0)
			begin_family(reader, line);
		else if (strncmp(line, "# TYPE ", 7) == 0)
			read_type(reader, line);
		else
			read_sample(reader, line);
	}
	return reader;
}

static void check(const struct reader *reader, const char *series, double value)
{
	for (size_t i = 0; i < reader->count; i++) {
		if (strcmp(reader->samples[i].series, series) != 0)
			continue;
		if (fabs(reader->samples[i].value - value) > 1e-9)
			fail_msg("%s is %g", series, reader->samples[i].value);
		return;
	}
	fail_msg("no %s", series);
}

/* ---- what it must say ---- */

static char night[] = "night", day[] = "day", alerts[] = "resource_exhaustion,cleanup_failures",
	    none[] = "";
static struct ledger_worker busy[] = {{.worker = 1, .number = 9}, {.worker = 2, .number = 10}};

static void two_campaigns(struct campaign_status statuses[2])
{
	statuses[0] = (struct campaign_status){
		.campaign = {.name = night,
			.state = CAMPAIGN_RUNNING,
			.plan = {.runs = 100, .workers = 2},
			.active_ms = 1500,
			.sums = {.state = {[RUN_SUCCESS] = 5, [RUN_ERROR] = 2, [RUN_TIMEOUT] = 1},
				.outcome = {[CELL_EXITED] = 6,
					[CELL_TIMEOUT] = 1,
					[CELL_OOM] = 2,
					[CELL_SETUP_FAILED] = 1},
				.cells = 10,
				.cell_failures = 1,
				.cleanup_failures = 3,
				.orphans = 4,
				.retried = 2,
				.cancelled = 1,
				.wall_ns = 4500 * NS_PER_MS,
				.user_us = 250000,
				.system_us = 50000,
				.written_bytes = UINT64_C(5) << 40,
				.peak_sum = 900,
				.peak_max = 300,
				.weaker = 7}},
		.live = {.at_ms = NOW,
			.memory = 4096,
			.cpu_milli = 1250,
			.alerts = alerts,
			.workers = busy,
			.worker_count = 2},
		.held = true,
		.now_ms = NOW,
	};
	statuses[1] = (struct campaign_status){
		.campaign = {.name = day,
			.state = CAMPAIGN_DONE,
			.plan = {.runs = 3, .workers = 1},
			.sums = {.state = {[RUN_SUCCESS] = 3},
				.outcome = {[CELL_EXITED] = 3},
				.cells = 3,
				.wall_ns = NS_PER_S,
				.peak_sum = 1000,
				.peak_max = 700}},
		.live = {.at_ms = NOW,
			.memory = 99,
			.alerts = alerts,
			.workers = busy,
			.worker_count = 2},
		.now_ms = NOW,
	};
	status_derive(&statuses[0]);
	status_derive(&statuses[1]);
}

static void each_campaign_has_its_numbers(void **state)
{
	struct campaign_status statuses[2];

	(void)state;
	two_campaigns(statuses);
	own(freep) struct reader *reader = read_all(statuses, 2);
	check(reader, "hotcell_campaign_up{campaign=\"night\"}", 1);
	check(reader, "hotcell_campaign_up{campaign=\"day\"}", 0);
	check(reader, "hotcell_campaign_state{campaign=\"day\",state=\"done\"}", 1);
	check(reader, "hotcell_campaign_state{campaign=\"day\",state=\"running\"}", 0);
	check(reader, "hotcell_campaign_active_seconds_total{campaign=\"night\"}", 1.5);
	check(reader, "hotcell_runs_planned{campaign=\"night\"}", 100);
	check(reader, "hotcell_runs{campaign=\"night\",state=\"success\"}", 5);
	check(reader, "hotcell_runs{campaign=\"night\",state=\"error\"}", 2);
	check(reader, "hotcell_runs{campaign=\"night\",state=\"timeout\"}", 1);
	check(reader, "hotcell_runs{campaign=\"night\",state=\"running\"}", 2);
	check(reader, "hotcell_runs{campaign=\"night\",state=\"queued\"}", 90);
	check(reader, "hotcell_cells_total{campaign=\"night\"}", 10);
	check(reader, "hotcell_cell_failures_total{campaign=\"night\"}", 1);
	check(reader, "hotcell_cell_outcomes_total{campaign=\"night\",outcome=\"oom\"}", 2);
	check(reader, "hotcell_cell_outcomes_total{campaign=\"night\",outcome=\"timeout\"}", 1);
	check(reader, "hotcell_cell_lifetime_seconds_sum{campaign=\"night\"}", 4.5);
	check(reader, "hotcell_cell_lifetime_seconds_count{campaign=\"night\"}", 9);
	check(reader, "hotcell_cell_cpu_seconds_total{campaign=\"night\",mode=\"user\"}", 0.25);
	check(reader, "hotcell_cell_cpu_seconds_total{campaign=\"night\",mode=\"system\"}", 0.05);
	check(reader, "hotcell_cell_memory_peak_bytes_sum{campaign=\"night\"}", 900);
	check(reader, "hotcell_cell_memory_peak_max_bytes{campaign=\"night\"}", 300);
	check(reader, "hotcell_cell_written_bytes_total{campaign=\"night\"}", 5497558138880.0);
	check(reader, "hotcell_cell_cleanup_failures_total{campaign=\"night\"}", 3);
	check(reader, "hotcell_orphans{campaign=\"night\"}", 4);
	check(reader, "hotcell_cells_weaker_total{campaign=\"night\"}", 7);
	check(reader, "hotcell_run_retries_total{campaign=\"night\"}", 2);
	check(reader, "hotcell_memory_bytes{campaign=\"night\"}", 4096);
	check(reader, "hotcell_cpu_cores{campaign=\"night\"}", 1.25);
	/* Nobody holds it: what its last pulse said is over. */
	check(reader, "hotcell_memory_bytes{campaign=\"day\"}", 0);
	check(reader, "hotcell_runs{campaign=\"day\",state=\"running\"}", 0);
	check(reader, "hotcell_alert_firing{campaign=\"night\",alert=\"cleanup_failures\"}", 1);
}

static void all_together_are_sums_under_names_of_their_own(void **state)
{
	struct campaign_status statuses[2];

	(void)state;
	two_campaigns(statuses);
	own(freep) struct reader *reader = read_all(statuses, 2);
	check(reader, "hotcell_all_campaigns", 2);
	check(reader, "hotcell_all_campaign_up", 1);
	check(reader, "hotcell_all_cells_total", 13);
	check(reader, "hotcell_all_runs{state=\"success\"}", 8);
	check(reader, "hotcell_all_cell_lifetime_seconds_sum", 5.5);
	check(reader, "hotcell_all_cell_lifetime_seconds_count", 12);
	check(reader, "hotcell_all_cell_memory_peak_max_bytes", 700);
	check(reader, "hotcell_all_cell_outcomes_total{outcome=\"exited\"}", 9);
}

static void an_empty_ledger_is_zeros(void **state)
{
	(void)state;
	own(freep) struct reader *reader = read_all(NULL, 0);
	check(reader, "hotcell_all_campaigns", 0);
	check(reader, "hotcell_all_cells_total", 0);
	for (size_t i = 0; i < reader->count; i++)
		assert_null(strstr(reader->samples[i].series, "campaign=\""));
}

static void labels_cannot_be_broken_out_of(void **state)
{
	char hostile[] = "a\"} 1\nhotcell_up{x=\"\\\xff\xc3\xa4";
	struct campaign_status status = {
		.campaign = {.name = hostile}, .live = {.alerts = none}, .held = true};

	(void)state;
	status_derive(&status);
	own(freep) struct reader *reader = read_all(&status, 1);
	check(reader,
		"hotcell_campaign_up{campaign=\"a\\\"} 1\\nhotcell_up{x=\\\"\\\\\xef\xbf\xbd\xc3\xa4\"}",
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_campaign_has_its_numbers),
		cmocka_unit_test(all_together_are_sums_under_names_of_their_own),
		cmocka_unit_test(an_empty_ledger_is_zeros),
		cmocka_unit_test(labels_cannot_be_broken_out_of),
	};
	return cmocka_run_group_tests_name("campaign metrics", tests, NULL, NULL);
}
