/* The process that answers in the network of net.h. Seen only by net.c and net_serve.c. */
#ifndef HOTCELL_REVIEW_OBSERVE_NET_SERVE_H
#define HOTCELL_REVIEW_OBSERVE_NET_SERVE_H

#include "review/observe/net.h"

#define NET_CALLS_MAX 2048 /* those beyond are counted, and heard by nobody */
#define NET_QUESTIONS_MAX 4096

struct net_log { /* shared memory; only the process that serves writes, and only what it has heard is read */
	size_t call_count, question_count, at_once;
	struct net_call calls[NET_CALLS_MAX];
	struct net_question {
		char name[256];
		unsigned type;
	} questions[NET_QUESTIONS_MAX];
};

/* Says one byte on `asked` when all listen, and one whenever it is asked and has heard everything. Returns if it cannot
 * listen; ends the process when nobody asks any more. */
void net_serve(int asked, struct net_log *log, struct err *err);

#endif
