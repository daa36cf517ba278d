/* A line in, a line out: the least that a tool can be. */
#include <stdio.h>
#include <string.h>

int main(void)
{
	static char line[1 << 20];
	static const char answer[] = "{\"ok\":true}\n";

	while (fgets(line, sizeof(line), stdin)) {
		if (!strchr(line, '\n'))
			continue; /* the rest of a long one follows */
		if (fwrite(answer, 1, sizeof(answer) - 1, stdout) != sizeof(answer) - 1 || fflush(stdout) != 0)
			return 1;
	}
	return 0;
}
