#include "cell/native/mountinfo.h"

#include <stddef.h>
#include <string.h>

static bool is_octal(const char *at)
{
	return at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' && at[2] <= '7';
}

/* The kernel writes a space as \040, and so on. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0';) {
		if (at[0] == '\\' && is_octal(at + 1)) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 4;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
}

/* "36 35 0:30 ROOT POINT FLAGS optional... - TYPE source OPTIONS" */
bool mount_line_read(char *line, struct mount_line *ret)
{
	char *save = NULL, *field = strtok_r(line, " ", &save), *first[6] = {0};

	for (size_t i = 0; field != NULL && !(i > 5 && strcmp(field, "-") == 0); i++) {
		if (i < 6)
			first[i] = field;
		field = strtok_r(NULL, " ", &save);
	}
	*ret = (struct mount_line){.root = first[3], .point = first[4], .flags = first[5], .type = strtok_r(NULL, " ", &save)};
	char *source = strtok_r(NULL, " ", &save);
	ret->options = strtok_r(NULL, " ", &save);
	if (field == NULL || source == NULL || ret->options == NULL)
		return false;
	unescape(ret->root);
	unescape(ret->point);
	return true;
}
