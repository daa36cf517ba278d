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

/* "36 35 0:30 ROOT POINT FLAGS optional... - TYPE source OPTIONS"; a source may be nothing at all */
bool mount_line_read(char *line, struct mount_line *ret)
{
	char *rest = line, *field = strsep(&rest, " "), *first[6] = {0};

	for (size_t i = 0; field != NULL && !(i > 5 && strcmp(field, "-") == 0); i++) {
		if (i < 6)
			first[i] = field;
		field = strsep(&rest, " ");
	}
	*ret = (struct mount_line){.root = first[3], .point = first[4], .flags = first[5], .type = strsep(&rest, " ")};
	(void)strsep(&rest, " ");
	ret->options = strsep(&rest, " ");
	if (field == NULL || ret->options == NULL)
		return false;
	unescape(ret->root);
	unescape(ret->point);
	return true;
}
