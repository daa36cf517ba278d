/* What really took effect, from what the cell's own processes and the cgroups report. */
#ifndef HOTCELL_CELL_NATIVE_SUPERVISOR_RECEIPT_H
#define HOTCELL_CELL_NATIVE_SUPERVISOR_RECEIPT_H

#include "cell/native/native.h"

void receipt_fill(struct cell_receipt *receipt, const struct cgroup_host *cgroup, uint32_t facts, enum hide_how hide,
	const struct cell_limits *limits, uint32_t uid);

/* Whose the limits are that the kernel keeps for each user. */
enum receipt_whose {
	WHOSE_CELLS, /* its user outside is its own, and so are all limits */
	WHOSE_CELLS_OF_USER, /* likewise, but for those that count for an ordinary user in any case */
	WHOSE_USERS, /* it is the user himself, since there is no other for it */
	WHOSE_USERS_MOUNTS, /* since it is shown something of his */
	WHOSE_COUNT
};
void receipt_user(struct cell_receipt *receipt, enum receipt_whose whose);
/* Calls that its filter lets through and others' do not; "": none. */
void receipt_opened(struct cell_receipt *receipt, const char *opened);
/* How many ways out of its network it has. */
void receipt_doors(struct cell_receipt *receipt, size_t count);

/* The facts without which the required protections (bits by enum cell_protection) are not there. */
uint32_t receipt_needs(uint32_t required);

#endif
