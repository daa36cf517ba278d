#include "door/secret.h"

static void accepted(struct conn *conn)
{
	conn_answer(conn, 501, "hotcell: secret doors are not served yet");
}

const struct door_kind door_secret = { .accepted = accepted };

int secrets_prepare(struct doord *doord, struct err *err)
{
	(void)doord;
	(void)err;
	return 0;
}
