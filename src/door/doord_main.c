#include "door/doord.h"

int main(void)
{
	return doord_main();
}
