/* Whatever a list of mounts says: it is taken, or refused with a sentence; and what is taken has no mount that could be written to
 * but below what was meant to be. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cell/native/maker/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct piece pieces[] = {{.target = (char *)"usr"}, {.target = (char *)"out", .writable = true}, {.target = (char *)"out/kept"}};
	const struct builder open = {.pieces = pieces, .count = 3}, closed = {.pieces = pieces, .count = 1};
	struct err err = {0}, closed_err = {0};
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	int result = root_look_again(&open, text, &err), strict = root_look_again(&closed, text, &closed_err);
	assert(result == 0 || (err.code != 0 && err.text[0] != '\0'));
	assert(strict == 0 || closed_err.text[0] != '\0');
	/* what is taken where nothing may be written to is taken where something may */
	assert(strict < 0 || result == 0);
	free(text);
	return 0;
}
