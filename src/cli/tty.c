#include "cli/tty.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* There is one controlling terminal, and atexit takes no argument. */
static struct termios saved;
static bool is_raw;

void tty_restore(void)
{
	if (is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	is_raw = false;
}

bool tty_raw(void)
{
	static bool registered;
	struct termios raw;

	if (is_raw)
		return true;
	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return false;
	raw = saved;
	cfmakeraw(&raw);
	if (!registered)
		registered = atexit(tty_restore) == 0;
	if (!registered || tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return false;
	is_raw = true;
	return true;
}

bool tty_size(unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 &&
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return false;
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
	return size.ws_row > 0 && size.ws_col > 0;
}
