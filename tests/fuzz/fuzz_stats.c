/* What an engine and its target write on stderr, in pieces of any size. Names that come out of it are plain, and the last
 * byte of each is there. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/stats.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct stats_reader whole = {0}, parts = {0};

	stats_feed(&whole, (const char *)data, size);
	for (size_t at = 0, step = 1; at < size; at += step, step = step * 2 % 127 + 1)
		stats_feed(&parts, (const char *)data + at, step < size - at ? step : size - at);
	assert(memcmp(&whole.now, &parts.now, sizeof(whole.now)) == 0);
	assert(memchr(whole.now.artifact, '\0', sizeof(whole.now.artifact)));
	assert(!strchr(whole.now.artifact, '/') && whole.now.artifact[0] != '.');
	return 0;
}
