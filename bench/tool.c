/* One of the planted bugs as a native tool: a JSON document a line in, one a line out. Where the bug is, it ends as such
 * programs do: by a signal.
 *
 *	tool BUG */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "bugs.h"

int main(int argc, char **argv)
{
	const struct bug *bug = argc == 2 ? bug_find(argv[1]) : NULL;
	static const char answer[] = "{\"ok\":true}\n";
	static const struct json_limits limits = {.bytes = 1 << 24, .values = 1 << 20, .depth = 1000, .any_text = true};
	char *line = NULL;
	size_t size = 0;

	if (!bug) {
		fputs("usage: tool BUG\n", stderr);
		return 2;
	}
	for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
		own(value_done) struct value args = {0};
		struct err err;
		if (json_read(line, (size_t)len, &limits, NULL, &args, &err) == 0 && bug->has(&args))
			abort();
		if (fwrite(answer, 1, sizeof(answer) - 1, stdout) != sizeof(answer) - 1 || fflush(stdout) != 0)
			return 1;
	}
	free(line);
	return 0;
}
