/* A saved review that somebody else wrote: read, and what was read compared with a review of nothing. */
#include <stddef.h>
#include <stdint.h>

#include "review/review.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct review now = {.backend = "native"};
	own(value_done) struct value body = {0};
	own(review_changes_done) struct review_changes changes = {0};
	struct err err = {0};

	if (review_load((const char *)data, size, "fuzz", &body, &err) == 0)
		review_compare(&body, &now, &changes);
	return 0;
}
