#include "door/doord/doord.h"

int main(void)
{
	return doord_main();
}
