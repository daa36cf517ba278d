/* What secret doors need before doord gives everything up. */
#ifndef HOTCELL_DOOR_DOORD_SECRET_H
#define HOTCELL_DOOR_DOORD_SECRET_H

#include "door/doord/doord.h"

/* Reads the certificates of every secret door, into doord->tls. */
MUST_CHECK int secrets_prepare(struct doord *doord, struct err *err);

#endif
