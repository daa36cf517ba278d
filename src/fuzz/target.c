/* Opening what is fuzzed. See target.h. */
#include "fuzz/target.h"

#include <string.h>

static const char *const kinds[] = {
	[TARGET_MCP] = "mcp", [TARGET_MCP_HTTP] = "mcp-http", [TARGET_LINES] = "tool-lines", [TARGET_EXEC] = "tool-exec",
	[TARGET_ARGS] = "tool-args",
};
_Static_assert(sizeof(kinds) / sizeof(*kinds) == TARGET_MODE_COUNT, "a mode has no name");

const char *target_mode_kind(enum target_mode mode)
{
	return kinds[mode];
}

bool target_mode_read(const char *kind, enum target_mode *ret)
{
	for (size_t i = 0; i < TARGET_MODE_COUNT; i++) {
		if (strcmp(kinds[i], kind) != 0)
			continue;
		*ret = (enum target_mode)i;
		return true;
	}
	return false;
}
