/* Samples and their percentiles. */
#include "bench.h"

#include <stdlib.h>

#include "base/buf.h"

void samples_add(struct samples *samples, uint64_t ns)
{
	if (samples->count == samples->cap) {
		samples->cap = samples->cap == 0 ? 1024 : samples->cap * 2;
		samples->ns = xrealloc(samples->ns, samples->cap, sizeof(*samples->ns));
	}
	samples->ns[samples->count++] = ns;
	samples->sorted = false;
}

void samples_done(struct samples *samples)
{
	free(samples->ns);
	*samples = (struct samples){0};
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t samples_at(struct samples *samples, double share)
{
	if (samples->count == 0)
		return 0;
	if (!samples->sorted)
		qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
	samples->sorted = true;
	return samples->ns[(size_t)(share * (double)(samples->count - 1) + 0.5)];
}

void samples_json(struct samples *samples, struct json *json, const char *key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < samples->count; i++)
		sum += samples->ns[i];
	json_key(json, key);
	json_open(json, '{');
	json_put_uint(json, "count", samples->count);
	json_put_real(json, "sum_us", (double)sum / 1000, 1);
	json_put_real(json, "p10_us", (double)samples_at(samples, 0.10) / 1000, 1);
	json_put_real(json, "p50_us", (double)samples_at(samples, 0.50) / 1000, 1);
	json_put_real(json, "p90_us", (double)samples_at(samples, 0.90) / 1000, 1);
	json_put_real(json, "p99_us", (double)samples_at(samples, 0.99) / 1000, 1);
	json_close(json, '}');
}
