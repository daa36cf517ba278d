/* What the supervisor and doord say to each other: one message each over a SOCK_SEQPACKET, u32 what, then fields.
 *
 *	POLICY	-; descriptors: memory file of the policy, shared memory of the totals
 *	OPEN	u64 id, u64 number, u32 index of its totals, u32 descriptors that follow (PROTO_LOG ...) and wishes (PROTO_TELL)
 *	LISTEN	u64 id; descriptors: the listeners
 *	CLOSE	u64 id
 *	BUDGET	u64 limit of all runs together, for each kind: it is that from now on
 *
 *	READY	-
 *	FAILED	u32 code, str text		it cannot serve; it ends
 *	CLOSED	u64 id
 *	SPENT	u64 number (0: all), u32 budget kind, u64 what was refused for it (0: it is used up), u32 whether it is over
 *	VERDICT	u64 id, u32 verdict, u32 port, str door, str name, str reason, str rule, str request; of runs that were opened
 *		with PROTO_TELL. All are sent before CLOSED */
#ifndef HOTCELL_DOOR_PROTO_H
#define HOTCELL_DOOR_PROTO_H

#define PROTO_MESSAGE_MAX 2048
#define PROTO_PATIENCE_MS 300 /* for a supervisor that does not read; less than it has with doord */
#define PROTO_POLICY_MAX (16u << 20)
#define PROTO_TOTALS 16384 /* entries: all together first, then one for each live run */
#define DOORD_CONTROL 3 /* the only descriptor it is started with, but for 0, 1 and 2 */

enum proto_what {
	PROTO_POLICY = 1, PROTO_OPEN, PROTO_LISTEN, PROTO_CLOSE, PROTO_READY, PROTO_FAILED, PROTO_CLOSED, PROTO_SPENT,
	PROTO_VERDICT, PROTO_BUDGET
};

enum { PROTO_LOG = 1, PROTO_RECORD = 2, PROTO_REPLAY = 4, PROTO_TELL = 8 };

#endif
