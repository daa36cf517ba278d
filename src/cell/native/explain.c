#include "cell/native/native.h"

void native_explain(const struct cell_spec *spec, struct buf *ret)
{
	(void)spec;
	(void)ret;
}
