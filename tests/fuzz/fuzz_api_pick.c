/* Whatever the text is: nothing is read behind its end, what is picked lies within it, and a result is whole or none. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/pick.h"
#include "api/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_result(int kind, const uint8_t *data, size_t size)
{
	char *json = malloc(size ? size : 1);

	memcpy(json, data, size);
	struct hotcell_result *result = result_read(kind, &json, size, NULL);
	assert(!json);
	const struct hotcell_fuzz *fuzz = hotcell_result_fuzz(result);
	const struct hotcell_cell *cell = hotcell_result_cell(result);
	for (size_t i = 0; fuzz && i < fuzz->finding_count; i++)
		assert(fuzz->findings[i].id && fuzz->findings[i].input && strlen(fuzz->findings[i].message) <= size);
	for (size_t i = 0; cell && i < cell->gap_count; i++)
		assert(cell->gaps[i].protection && cell->gaps[i].note);
	assert(!cell || (cell->exit_code >= -1 && cell->exit_code <= 255));
	hotcell_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pick all = pick_whole((const char *)data, size), key, item;

	for (size_t place = 0, before = 0; pick_next(all, &place, &key, &item); before = place) {
		assert(place > before && place <= all.len);
		assert(item.at >= (const char *)data && item.at + item.len <= (const char *)data + size);
		free(pick_text(item));
		free(pick_text(key));
		free(pick_copy(item));
	}
	check_result(HOTCELL_RUN, data, size);
	check_result(HOTCELL_FUZZ_FUNCTION, data, size);
	return 0;
}
